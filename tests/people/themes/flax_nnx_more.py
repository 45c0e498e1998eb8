"""More of flax nnx: metrics, filters, scans, pruning, loops of the user, small layers."""

from ..cell import written

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np, optax
from flax import nnx
x = jnp.linspace(-1, 1, 12).reshape(4, 3)
y = x.sum(axis=1, keepdims=True)
class MLP(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.b = nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, x):
        return self.b(nnx.relu(self.a(x)))
def mse(model, x, y):
    return jnp.mean((model(x) - y) ** 2)
"""

CELLS = written(
    PRELUDE,
    r"""
### nnx-make-module-in-cell
---
model = MLP(nnx.Rngs(7))
out = model(x)
loss = mse(model, x, y)
loss
---
x = x * 2

### nnx-metrics
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"), acc=nnx.metrics.Accuracy())
logits = jnp.array([[2.0, 1.0], [0.1, 3.0], [1.0, 0.0]])
labels = jnp.array([0, 1, 1])
---
metrics.update(loss=jnp.float32(0.5), logits=logits, labels=labels)
vals = metrics.compute()
print({k: round(float(v), 3) for k, v in vals.items()})
---
metrics.reset()

### nnx-history-dict
model = MLP(nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
history = {"loss": [], "norm": []}
---
loss, grads = nnx.value_and_grad(mse)(model, x, y)
opt.update(model, grads)
history["loss"].append(loss)
history["norm"].append(optax.global_norm(grads))
len(history["loss"])

### nnx-grad-wrt-filter
model = MLP(nnx.Rngs(0))
only_b = lambda path, value: "b" in path
---
diff = nnx.DiffState(0, nnx.All(nnx.Param, only_b))
grads = nnx.grad(mse, argnums=diff)(model, x, y)
len(jax.tree.leaves(grads))

### nnx-vmap-model
model = MLP(nnx.Rngs(0))
xs = jnp.stack([x, x * 2])
---
outs = jax.vmap(lambda v: model(v))(xs)
outs.shape
---
xs = xs + 1

### nnx-scan-over-steps
model = MLP(nnx.Rngs(0))
graphdef, params = nnx.split(model)
---
def body(p, _):
    m = nnx.merge(graphdef, p)
    l, g = nnx.value_and_grad(mse)(m, x, y)
    return jax.tree.map(lambda a, b: a - 0.1 * b, p, nnx.state(g)), l
params, ls = jax.lax.scan(body, params, length=3)
ls

### nnx-state-to-dict
model = MLP(nnx.Rngs(0))
---
flat = nnx.to_flat_state(nnx.state(model)) if hasattr(nnx, "to_flat_state") else nnx.state(model).flat_state()
names = sorted("/".join(map(str, k)) for k, v in list(flat))
total = sum(jnp.sum(v.value) for k, v in list(flat))
names, total

### nnx-lora-replace
model = MLP(nnx.Rngs(0))
---
model.b = nnx.Linear(4, 2, rngs=nnx.Rngs(3))
out = model(x)
out.shape

### nnx-pop-intermediates
class Sow(nnx.Module):
    def __init__(self, rngs):
        self.l = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, x):
        h = self.l(x)
        self.sow(nnx.Intermediate, "h", h)
        return h.sum()
m = Sow(nnx.Rngs(0))
---
s = m(x)
inter = nnx.pop(m, nnx.Intermediate)
s, list(inter)

### nnx-train-eval-accuracy
model = MLP(nnx.Rngs(0))
labels = jnp.array([0, 1, 0, 1])
def loss_fn(m, x, l):
    logits = jnp.concatenate([m(x), -m(x)], axis=1)
    return optax.softmax_cross_entropy_with_integer_labels(logits, l).mean(), logits
---
(loss, logits), g = nnx.value_and_grad(loss_fn, has_aux=True)(model, x, labels)
acc = jnp.mean(jnp.argmax(logits, -1) == labels)
if acc > 0.9:
    print("done")
else:
    print(f"acc {acc:.2f}")
---
labels = 1 - labels

### nnx-print-shapes
model = MLP(nnx.Rngs(0))
---
shapes = jax.tree.map(jnp.shape, nnx.state(model, nnx.Param).to_pure_dict())
print(shapes)
out = model(x)
out.shape

### nnx-partial-step-closure
model = MLP(nnx.Rngs(0))
tx = optax.adam(1e-2)
opt = nnx.Optimizer(model, tx, wrt=nnx.Param)
class Loop:
    def __init__(self, model, opt):
        self.model, self.opt, self.steps, self.best = model, opt, 0, None
    def run(self, n):
        for _ in range(n):
            loss, g = nnx.value_and_grad(mse)(self.model, x, y)
            self.opt.update(self.model, g)
            self.steps += 1
            if self.best is None or loss < self.best:
                self.best = loss
        return loss
loop = Loop(model, opt)
---
last = loop.run(2)
loop.steps, loop.best

### nnx-conv-tiny
conv = nnx.Conv(1, 2, kernel_size=(3, 3), rngs=nnx.Rngs(0))
img = jnp.arange(16.0).reshape(1, 4, 4, 1)
---
f = nnx.avg_pool(nnx.relu(conv(img)), (2, 2), strides=(2, 2))
f.shape, f.mean()
---
img = img * 2

### nnx-embed-lookup
emb = nnx.Embed(5, 3, rngs=nnx.Rngs(0))
tokens = jnp.array([[0, 1], [2, 4]])
---
e = emb(tokens)
sims = emb.attend(e[:, 0])
sims.argmax(-1)
---
tokens = tokens[::-1]
""",
    needs=("flax", "optax"),
)
