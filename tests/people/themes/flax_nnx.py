"""Modules of flax nnx: steps, optimizers, dropout, batch norms, states split and merged, counters of the user's own."""

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
### nnx-forward
model = MLP(nnx.Rngs(0))
---
out = model(x)
out.mean()
---
x = x * 2
---
model.a.kernel.value = model.a.kernel.value * 0

### nnx-train-step
model = MLP(nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
---
loss, grads = nnx.value_and_grad(mse)(model, x, y)
opt.update(model, grads)
loss
---
y = -y

### nnx-jitted-step
model = MLP(nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
@nnx.jit
def step(model, opt, x, y):
    loss, grads = nnx.value_and_grad(mse)(model, x, y)
    opt.update(model, grads)
    return loss
---
losses = [step(model, opt, x, y) for _ in range(3)]
losses[-1]
---
x = x + 1

### nnx-jit-made-in-cell
model = MLP(nnx.Rngs(0))
---
@nnx.jit
def forward(m, x):
    return m(x) * 2
out = forward(model, x)
out.shape
---
x = x * 3

### nnx-loop-prints
model = MLP(nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.adam(5e-2), wrt=nnx.Param)
---
for epoch in range(3):
    loss, grads = nnx.value_and_grad(mse)(model, x, y)
    opt.update(model, grads)
    print(f"{epoch}: {loss:.4f}")
---
y = y + 1

### nnx-split-merge
model = MLP(nnx.Rngs(0))
---
graphdef, state = nnx.split(model)
state = jax.tree.map(lambda v: v * 0.5, state)
half = nnx.merge(graphdef, state)
half(x).sum()
---
x = x * 2

### nnx-update-in-place
model = MLP(nnx.Rngs(0))
---
state = nnx.state(model, nnx.Param)
nnx.update(model, jax.tree.map(lambda v: v + 0.1, state))
out = model(x)
out[0]

### nnx-dropout
class Net(nnx.Module):
    def __init__(self, rngs):
        self.l = nnx.Linear(3, 4, rngs=rngs)
        self.d = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x):
        return self.d(self.l(x))
net = Net(nnx.Rngs(0, dropout=1))
---
out = net(x)
out.sum()
---
net.eval()
---
net.train()

### nnx-batchnorm
bn = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
---
out = bn(x)
m = bn.mean.value
m
---
bn.use_running_average = True
---
x = x * 4

### nnx-calls-counter
class Counted(nnx.Module):
    def __init__(self, rngs):
        self.l = nnx.Linear(3, 2, rngs=rngs)
        self.calls = 0
    def __call__(self, x):
        self.calls += 1
        return self.l(x)
model = Counted(nnx.Rngs(0))
---
out = model(x)
model.calls

### nnx-variable-count
class Count(nnx.Variable): pass
class M(nnx.Module):
    def __init__(self):
        self.n = Count(jnp.zeros((), jnp.int32))
        self.w = nnx.Param(jnp.ones(3))
    def __call__(self, x):
        self.n.value += 1
        return x @ self.w.value
m = M()
---
out = m(x)
m.n.value
---
m.n.value = jnp.array(10)

### nnx-sequential
model = nnx.Sequential(nnx.Linear(3, 4, rngs=nnx.Rngs(0)), nnx.relu, nnx.Linear(4, 2, rngs=nnx.Rngs(1)))
---
out = model(x)
probs = nnx.softmax(out)
probs.sum(axis=1)
---
x = x - 1

### nnx-list-of-layers
class Deep(nnx.Module):
    def __init__(self, n, rngs):
        self.layers = nnx.List([nnx.Linear(3, 3, rngs=rngs) for _ in range(n)])
    def __call__(self, x):
        for layer in self.layers:
            x = jnp.tanh(layer(x))
        return x
model = Deep(3, nnx.Rngs(0))
---
out = model(x)
n = sum(p.size for p in jax.tree.leaves(nnx.state(model, nnx.Param)))
n, out[0, 0]

### nnx-shared-weights
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.emb = nnx.Param(jnp.eye(3))
        self.out = self.emb
    def __call__(self, x):
        return (x @ self.emb.value) @ self.out.value.T
m = Tied(nnx.Rngs(0))
---
z = m(x)
m.emb.value = m.emb.value * 1.1
m.emb is m.out, z.sum()

### nnx-rngs-advance
rngs = nnx.Rngs(0)
---
a = jax.random.normal(rngs.params(), (3,))
b = rngs.params.count.value
a, b
---
rngs = nnx.Rngs(5)
""",
    needs=("flax", "optax"),
)
