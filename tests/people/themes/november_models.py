"""Training as it is published: flax, equinox, haiku and optax loops, their layers, states and adversaries."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, functools, itertools, math, operator, random, re, time
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from types import SimpleNamespace
from typing import Any, Callable, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr, tree_util as jtu
"""

CELLS = written(
    PRELUDE,
    r"""
### rn-nnx-iter-graph-spectra-of-layers-into-a-frame needs=flax,pandas tolerance=1e-3
import pandas as pd
from flax import nnx
class Net(nnx.Module):
    def __init__(self, sizes, *, rngs):
        self.blocks = nnx.List([nnx.Linear(a, b, rngs=rngs) for a, b in zip(sizes, sizes[1:])])
        self.norm = nnx.LayerNorm(sizes[-1], rngs=rngs)
    def __call__(self, x):
        for block in self.blocks:
            x = nnx.gelu(block(x))
        return self.norm(x)
class Watcher:
    supported = (nnx.Linear,)
    def __init__(self, model): self.model = model
    def analyze(self):
        data = defaultdict(list)
        for path, node in nnx.iter_graph(self.model):
            if not isinstance(node, self.supported):
                continue
            w = node.kernel[...]
            s = jnp.linalg.svd(w, compute_uv=False)
            data["layer"].append("/".join(map(str, path)))
            data["shape"].append(w.shape)
            data["stable_rank"].append(float((s ** 2).sum() / s[0] ** 2))
            data["top"].append(float(s[0]))
        return pd.DataFrame(data)
model = Net([6, 8, 4], rngs=nnx.Rngs(3))
x = jr.normal(jr.key(0), (5, 6))
---
report = Watcher(model).analyze().set_index("layer").sort_index()
y = model(x)
report["share"] = report.top / report.top.sum()
flagged = report[report.stable_rank < 2.5].index.tolist()
print(report[["shape"]].to_string(), flagged)
y.std(axis=-1), report.stable_rank.round(2).to_dict()
---
model.blocks[0].kernel[...] = model.blocks[0].kernel[...] * 2.0
---
model.blocks.append(nnx.Linear(4, 4, rngs=nnx.Rngs(9)))
---
Watcher.supported = (nnx.Linear, nnx.LayerNorm); Watcher.supported = Watcher.supported[:1]; x = x[:2]

### rn-nnx-steering-alpha-set-on-each-adapter-found needs=flax
from flax import nnx
class Steer(nnx.Module):
    def __init__(self, din, dout, rank, *, rngs):
        self.base = nnx.Linear(din, dout, rngs=rngs)
        self.u = nnx.Param(jr.normal(rngs.params(), (din, rank)) * 0.1)
        self.v = nnx.Param(jr.normal(rngs.params(), (rank, dout)) * 0.1)
        self.alpha = nnx.Variable(jnp.float32(0.0))
    def __call__(self, x): return self.base(x) + self.alpha[...] * (x @ self.u[...] @ self.v[...])
class Stack(nnx.Module):
    def __init__(self, n, *, rngs): self.layers = nnx.List([Steer(4, 4, 2, rngs=rngs) for _ in range(n)])
    def __call__(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x) if i % 2 else jnp.tanh(layer(x))
        return x
def steerable(model): return [m for _, m in nnx.iter_graph(model) if isinstance(m, Steer)]
def set_alpha(model, a):
    for m in steerable(model):
        m.alpha[...] = jnp.float32(a)
@contextlib.contextmanager
def steering(model, a):
    before = [m.alpha[...] for m in steerable(model)]
    set_alpha(model, a)
    try:
        yield model
    finally:
        for m, old in zip(steerable(model), before):
            m.alpha[...] = old
model, x, alphas = Stack(3, rngs=nnx.Rngs(0)), jnp.linspace(-1, 1, 8).reshape(2, 4), (-1.0, 0.0, 2.0)
---
plain = model(x)
curves = {}
for a in alphas:
    with steering(model, a) as m:
        curves[a] = jnp.linalg.norm(m(x) - plain, axis=-1)
assert all(float(m.alpha[...]) == 0.0 for m in steerable(model)) or len(alphas) == 1
largest = max(curves, key=lambda a: curves[a].sum())
print(f"moves most at {largest:+.1f}", len(steerable(model)))
jnp.stack(list(curves.values()))
---
alphas = (0.5, 4.0)
---
model.layers[1].u[...] = jnp.zeros((4, 2))
---
alphas = (3.0,); set_alpha(model, 1.0)

### rn-nnx-linen-block-bridged-with-lazy-init needs=flax,optax
import optax
from flax import nnx, linen as nn
class Block(nn.Module):
    features: int
    @nn.compact
    def __call__(self, x):
        scale = self.param("scale", nn.initializers.ones, (x.shape[-1],))
        return nn.Dense(self.features)(x * scale)
class Hybrid(nnx.Module):
    def __init__(self, rngs):
        self.legacy = nnx.bridge.ToNNX(Block(5), rngs=rngs).lazy_init(jnp.zeros((1, 3)))
        self.head = nnx.Linear(5, 1, rngs=rngs)
    def __call__(self, x): return self.head(nnx.relu(self.legacy(x)))[:, 0]
model = Hybrid(nnx.Rngs(7))
opt = nnx.Optimizer(model, optax.sgd(0.05), wrt=nnx.Param)
X = np.random.default_rng(2).normal(size=(16, 3)).astype("float32")
y = X.sum(1) ** 2 / 4
def loss_fn(m): return ((m(X) - y) ** 2).mean()
steps = 3
---
losses = []
for _ in range(steps):
    loss, grads = nnx.value_and_grad(loss_fn)(model)
    opt.update(model, grads)
    losses.append(loss)
print(" > ".join(f"{v:.2f}" for v in losses))
sizes = jax.tree.map(jnp.size, nnx.to_pure_dict(nnx.state(model, nnx.Param)))
jnp.stack(losses), sizes["head"], opt.step[...]
---
steps = 1
---
y = -y
---
opt = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param); steps = 2

### rn-nnx-patch-transformer-on-sklearn-digits-with-schedule-printed needs=flax,optax,sklearn tolerance=1e-2
import optax
from flax import nnx
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
images, labels = load_digits(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(images[:60] / 16.0, labels[:60], test_size=0.2, random_state=1)
def patches(x, p=4):
    x = jnp.asarray(x, jnp.float32).reshape(-1, 8 // p, p, 8 // p, p)
    return x.transpose(0, 1, 3, 2, 4).reshape(x.shape[0], -1, p * p)
class Encoder(nnx.Module):
    def __init__(self, dim, heads, *, rngs):
        self.ln = nnx.LayerNorm(dim, rngs=rngs)
        self.att = nnx.MultiHeadAttention(heads, dim, decode=False, rngs=rngs)
        self.ff = nnx.Linear(dim, dim, rngs=rngs)
    def __call__(self, x):
        x = x + self.att(self.ln(x))
        return x + nnx.gelu(self.ff(x))
class ViT(nnx.Module):
    def __init__(self, dim=8, depth=1, *, rngs):
        self.embed = nnx.Linear(16, dim, rngs=rngs)
        self.cls = nnx.Param(jnp.zeros((1, 1, dim)))
        self.pos = nnx.Param(jr.normal(rngs.params(), (1, 5, dim)) * 0.02)
        self.blocks = nnx.List([Encoder(dim, 2, rngs=rngs) for _ in range(depth)])
        self.head = nnx.Linear(dim, 10, rngs=rngs)
    def __call__(self, x):
        h = self.embed(patches(x))
        h = jnp.concatenate([jnp.broadcast_to(self.cls[...], (len(h), 1, h.shape[-1])), h], 1) + self.pos[...]
        for b in self.blocks:
            h = b(h)
        return self.head(h[:, 0])
schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 2, 8)
model = ViT(rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adamw(schedule, weight_decay=1e-4), wrt=nnx.Param)
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
@nnx.jit
def train_step(model, optimizer, metrics, x, y):
    def loss_fn(m):
        logits = m(x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), logits
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model)
    metrics.update(loss=loss, logits=logits, labels=y)
    optimizer.update(model, grads)
bs, epochs = 24, 2
---
history = []
for epoch in range(epochs):
    order = np.random.default_rng(epoch).permutation(len(Xtr))
    for start in range(0, len(order) - bs + 1, bs):
        idx = order[start:start + bs]
        train_step(model, optimizer, metrics, Xtr[idx].astype(np.float32), ytr[idx])
    row = {k: float(v) for k, v in metrics.compute().items()}
    metrics.reset()
    history.append({"epoch": epoch, "lr": float(schedule(int(optimizer.step[...]))), **row})
    print("epoch {epoch}: lr {lr:.4f} loss {loss:.2f}".format(**history[-1]))
pred = model(Xte).argmax(-1)
confusion = Counter(zip(yte.tolist(), np.asarray(pred).tolist()))
sum(confusion.values()), pred.shape, history[-1]["epoch"]
---
epochs = 1
---
bs = 12
---
Xtr = Xtr[::-1].copy(); ytr = ytr[::-1].copy()

### rn-nnx-optimizer-moments-read-reset-and-model-cloned needs=flax,optax
import optax
from flax import nnx
class MLP(nnx.Module):
    def __init__(self, rngs):
        self.l1, self.l2 = nnx.Linear(2, 6, rngs=rngs), nnx.Linear(6, 1, rngs=rngs)
    def __call__(self, x): return self.l2(nnx.tanh(self.l1(x)))
model = MLP(nnx.Rngs(1))
opt = nnx.Optimizer(model, optax.adam(3e-2), wrt=nnx.Param)
X = jr.normal(jr.key(5), (10, 2)); Y = X[:, :1] * X[:, 1:]
snapshots, limit = deque(maxlen=2), 2
---
for i in range(limit * 2):
    g = nnx.grad(lambda m: jnp.mean((m(X) - Y) ** 2))(model)
    opt.update(model, g)
    if i % limit == limit - 1:
        snapshots.append(nnx.clone(model))
mu = opt.opt_state[0].mu
norms = {"/".join(map(str, k)): jnp.linalg.norm(v[...]) for k, v in nnx.to_flat_state(mu)}
gap = [jnp.abs(a.l1.kernel[...] - model.l1.kernel[...]).max() for a in snapshots]
averaged = jax.tree.map(lambda *ws: sum(ws) / len(ws), *(nnx.state(m, nnx.Param) for m in snapshots))
print(sorted(norms), len(snapshots), int(opt.step[...]))
gap, norms["l1/kernel"], averaged["l2"]["bias"][...]
---
Y = -Y
---
nnx.update(model, averaged); limit = 1
---
opt = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param); snapshots.clear()

### rn-linen-intercepted-methods-collect-activation-stats needs=flax
from flax import linen as nn
class MLP(nn.Module):
    widths: tuple
    act: Callable = nn.relu
    def setup(self): self.layers = [nn.Dense(w, name=f"d{i}") for i, w in enumerate(self.widths)]
    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = self.act(layer(x))
        return self.layers[-1](x)
stats = OrderedDict()
def watch(next_fun, args, kwargs, context):
    out = next_fun(*args, **kwargs)
    if isinstance(context.module, nn.Dense) and context.method_name == "__call__":
        stats[context.module.name] = (out.mean(), jnp.sqrt(((out - out.mean()) ** 2).mean()))
    return out
def halve(next_fun, args, kwargs, context):
    out = next_fun(*args, **kwargs)
    return out / 2 if context.module.name == "d1" else out
net, x = MLP((4, 4, 2)), jnp.arange(6.0).reshape(2, 3) - 2.5
variables = net.init(jr.PRNGKey(0), x)
layers_off = False
---
stats.clear()
with contextlib.ExitStack() as stack:
    stack.enter_context(nn.intercept_methods(watch))
    if layers_off:
        stack.enter_context(nn.intercept_methods(halve))
    out = net.apply(variables, x)
same = net.apply(variables, x)
for name, (m, s) in stats.items():
    print(f"{name:>4} mean {m:+.3f} std {s:.3f}")
out - same, list(stats)
---
layers_off = True
---
net = net.clone(act=jnp.tanh)
---
variables = jax.tree.map(lambda w: w * 0.5, variables); layers_off = False

### rn-linen-perturb-gives-gradients-of-hidden-activations needs=flax,optax tolerance=1e-3
import optax
from flax import linen as nn
class Net(nn.Module):
    hidden: int = 5
    @nn.compact
    def __call__(self, x, train=False):
        h = nn.Dense(self.hidden)(x)
        h = self.perturb("pre", h)
        self.sow("intermediates", "active", (h > 0).mean(0))
        h = nn.Dropout(0.5, deterministic=not train)(nn.relu(h))
        return nn.Dense(1)(h)[..., 0]
net = Net()
x, y = jr.normal(jr.PRNGKey(0), (6, 3)), jnp.array([0.0, 1, 0, 1, 1, 0])
variables = net.init(jr.PRNGKey(1), x)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1, momentum=0.9))
opt_state = tx.init(variables["params"])
def loss(params, pert, key):
    out, aux = net.apply({"params": params, "perturbations": pert}, x, train=True,
                         rngs={"dropout": key}, mutable=["intermediates"])
    return optax.sigmoid_binary_cross_entropy(out, y).mean(), aux
key, rounds = jr.PRNGKey(9), 2
---
saliency = np.zeros(net.hidden)
params = variables["params"]
for step in range(rounds):
    key, sub = jr.split(key)
    (value, aux), (gp, gh) = jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)(
        params, variables["perturbations"], sub)
    updates, opt_state = tx.update(gp, opt_state, params)
    params = optax.apply_updates(params, updates)
    saliency += np.abs(np.asarray(gh["pre"])).sum(0)
variables = {**variables, "params": params}
(active,) = aux["intermediates"]["active"]
ranked = np.argsort(-saliency, kind="stable")
print(f"loss {value:.3f}", saliency.dtype, active.shape)
jnp.asarray(saliency[ranked]), active
---
rounds = 1
---
y = 1 - y
---
x = x * 2; key = jr.PRNGKey(3)

### rn-linen-two-branch-model-picks-methods-by-name-and-tied-decoder needs=flax
from flax import linen as nn
class Auto(nn.Module):
    vocab: int
    dim: int
    def setup(self):
        self.table = nn.Embed(self.vocab, self.dim)
        self.mix = nn.GRUCell(self.dim)
        self.bias = self.param("bias", nn.initializers.zeros, (self.vocab,))
    def encode(self, ids):
        carry = jnp.zeros((self.dim,))
        for t in range(ids.shape[0]):
            carry, _ = self.mix(carry, self.table(ids[t]))
        return carry
    def decode(self, h): return self.table.attend(h) + self.bias
    def __call__(self, ids): return self.decode(self.encode(ids))
vocab = {c: i for i, c in enumerate("_abcdef")}
back = dict(map(reversed, vocab.items()))
net = Auto(len(vocab), 4)
params = net.init(jr.key(0), jnp.zeros((3,), int))["params"]
words = ["fed", "bad", "cab"]
---
codes = {w: net.apply({"params": params}, jnp.array([vocab[c] for c in w]), method="encode") for w in words}
logits = jax.vmap(lambda h: net.apply({"params": params}, h, method=Auto.decode))(jnp.stack([*codes.values()]))
guess = {w: back[int(i)] for w, i in zip(codes, logits.argmax(-1))}
sims = {(a, b): jnp.vdot(codes[a], codes[b]) / (jnp.linalg.norm(codes[a]) * jnp.linalg.norm(codes[b]))
        for a, b in itertools.combinations(codes, 2)}
closest = max(sims, key=sims.get)
print(guess, "~".join(closest))
jax.nn.logsumexp(logits, -1), sims[closest]
---
words = ["fed", "fee", "deaf"]
---
params = {**params, "bias": params["bias"].at[2].set(5.0)}
---
words.append("a"); words.remove("fee")

### rn-eqx-lowrank-wrapped-linear-layers-trained-then-merged needs=equinox,optax tolerance=1e-3
import equinox as eqx, optax
class LowRank(eqx.Module):
    base: eqx.nn.Linear
    a: jax.Array
    b: jax.Array
    scale: float = eqx.field(static=True)
    def __init__(self, base, rank, scale, *, key):
        self.base, self.scale = base, scale
        self.a = jr.normal(key, (rank, base.in_features)) * 0.1
        self.b = jnp.zeros((base.out_features, rank))
    def __call__(self, x, *, key=None): return self.base(x) + self.scale * (self.b @ (self.a @ x))
    def merged(self):
        return eqx.tree_at(lambda l: l.weight, self.base, self.base.weight + self.scale * self.b @ self.a)
is_linear = lambda m: isinstance(m, eqx.nn.Linear)
is_low = lambda m: isinstance(m, LowRank)
def wrap(model, rank, key):
    keys = iter(jr.split(key, 16))
    return jax.tree.map(lambda m: LowRank(m, rank, 2.0, key=next(keys)) if is_linear(m) else m, model, is_leaf=is_linear)
def merge(model): return jax.tree.map(lambda m: m.merged() if is_low(m) else m, model, is_leaf=is_low)
def spec(model):
    frozen = jax.tree.map(lambda _: False, model)
    pick = lambda m: [l for n in jax.tree.leaves(m, is_leaf=is_low) if is_low(n) for l in (n.a, n.b)]
    return eqx.tree_at(pick, frozen, [True] * len(pick(model)))
base = eqx.nn.MLP(3, 1, 6, 1, key=jr.key(0))
xs = jr.normal(jr.key(1), (12, 3)); ys = jnp.sin(xs.sum(1, keepdims=True))
rank, steps, optim = 2, 3, optax.adam(2e-2)
---
model = wrap(base, rank, jr.key(2))
train, rest = eqx.partition(model, spec(model))
opt_state = optim.init(train)
@eqx.filter_jit
def step(train, opt_state):
    def loss(t): return jnp.mean((jax.vmap(eqx.combine(t, rest))(xs) - ys) ** 2)
    value, grads = eqx.filter_value_and_grad(loss)(train)
    updates, opt_state = optim.update(grads, opt_state)
    return eqx.apply_updates(train, updates), opt_state, value
trace = []
for _ in range(steps):
    train, opt_state, value = step(train, opt_state)
    trace.append(value.item())
merged = merge(eqx.combine(train, rest))
count = sum(x.size for x in jax.tree.leaves(eqx.filter(train, eqx.is_array)))
print(count, trace[-1] < trace[0], eqx.tree_equal(merged, base) is True)
jax.vmap(merged)(xs)[:3] - jax.vmap(eqx.combine(train, rest))(xs)[:3], merged.layers[0].weight
---
rank = 1
---
base = eqx.nn.MLP(3, 1, 6, 2, key=jr.key(8)); steps = 2
---
ys = ys * 0

### rn-eqx-critic-five-times-per-generator-with-clipped-weights needs=equinox,optax tolerance=5e-3
import equinox as eqx, optax
gk, ck = jr.split(jr.PRNGKey(17))
gen = eqx.nn.MLP(2, 2, 8, 1, key=gk)
critic = eqx.nn.MLP(2, "scalar", 8, 1, jax.nn.leaky_relu, key=ck)
g_opt, c_opt = optax.rmsprop(1e-3), optax.rmsprop(5e-3)
g_state, c_state = (o.init(eqx.filter(m, eqx.is_array)) for o, m in ((g_opt, gen), (c_opt, critic)))
def real_batches(seed, n):
    rng = np.random.default_rng(seed)
    while True:
        t = rng.uniform(0, 2 * np.pi, n)
        yield np.stack([np.cos(t), np.sin(t)], 1).astype(np.float32)
@eqx.filter_value_and_grad
def critic_loss(c, g, real, z): return jax.vmap(c)(jax.vmap(g)(z)).mean() - jax.vmap(c)(real).mean()
@eqx.filter_value_and_grad
def gen_loss(g, c, z): return -jax.vmap(c)(jax.vmap(g)(z)).mean()
data, key, n_critic, clip = real_batches(0, 16), jr.PRNGKey(0), 3, 0.05
log = defaultdict(list)
---
for it in range(2):
    for _ in range(n_critic):
        key, sub = jr.split(key)
        cl, grads = critic_loss(critic, gen, next(data), jr.normal(sub, (16, 2)))
        up, c_state = c_opt.update(grads, c_state)
        critic = eqx.apply_updates(critic, up)
        critic = jax.tree.map(lambda w: jnp.clip(w, -clip, clip) if eqx.is_inexact_array(w) else w, critic)
    key, sub = jr.split(key)
    gl, grads = gen_loss(gen, critic, jr.normal(sub, (16, 2)))
    up, g_state = g_opt.update(grads, g_state)
    gen = eqx.apply_updates(gen, up)
    log["w"].append(-cl); log["g"].append(gl)
radius = jnp.linalg.norm(jax.vmap(gen)(jr.normal(key, (8, 2))), axis=1)
print(f"{len(log['w'])} rounds, W={float(log['w'][-1]):.3f}")
radius.mean(), max(float(jnp.abs(w).max()) for w in jax.tree.leaves(eqx.filter(critic, eqx.is_array))) <= clip + 1e-6
---
n_critic = 1
---
data = real_batches(4, 16); clip = 0.1
---
log.clear(); n_critic = 2

### rn-eqx-own-optimizer-as-module-with-filtered-state-and-report needs=equinox
import equinox as eqx
class Lion(eqx.Module):
    lr: float
    b1: float = 0.9
    b2: float = 0.99
    def init(self, params): return jax.tree.map(jnp.zeros_like, params)
    def update(self, g, m, p):
        step = jax.tree.map(lambda g, m: -self.lr * jnp.sign(self.b1 * m + (1 - self.b1) * g), g, m)
        return step, jax.tree.map(lambda g, m: self.b2 * m + (1 - self.b2) * g, g, m)
class Scaler(eqx.Module):
    mean: jax.Array
    std: jax.Array
    @classmethod
    def fit(cls, x): return cls(x.mean(0), x.std(0) + 1e-6)
    def __call__(self, x): return (lax.stop_gradient(x) - self.mean) / self.std
class Net(eqx.Module):
    scaler: Scaler
    body: eqx.nn.Sequential
    tag: str = eqx.field(static=True, default="v1")
    def __call__(self, x): return self.body(self.scaler(x))[0]
x = jr.uniform(jr.key(3), (20, 3)) * jnp.array([1.0, 10.0, 100.0]); y = (x[:, 1] > 5).astype(jnp.float32)
net = Net(Scaler.fit(x), eqx.nn.Sequential([eqx.nn.Linear(3, 4, key=jr.key(0)), eqx.nn.Lambda(jax.nn.silu),
                                            eqx.nn.Linear(4, 1, key=jr.key(1))]))
opt, n = Lion(1e-2), 4
---
params, static = eqx.partition(net, eqx.is_inexact_array)
params = eqx.tree_at(lambda p: p.scaler, params, None)
fixed = net.scaler
def objective(p):
    model = eqx.tree_at(lambda m: m.scaler, eqx.combine(p, eqx.tree_at(lambda s: s.scaler, static, None)), fixed,
                        is_leaf=lambda v: v is None)
    logits = jax.vmap(model)(x)
    return jnp.mean(jnp.logaddexp(0.0, logits) - y * logits)
m = opt.init(params)
for i in range(n):
    value, g = jax.value_and_grad(objective)(params)
    delta, m = opt.update(g, m, params)
    params = jax.tree.map(jnp.add, params, delta)
    if not i & (i - 1):
        print(i, f"{value:.3f}")
net = eqx.tree_at(lambda t: t.body, net, eqx.combine(params, static).body)
value, net.tag, jnp.mean((jax.vmap(net)(x) > 0) == (y > 0.5)) > 0.3
---
opt = Lion(5e-2, b1=0.8)
---
n = 2; y = 1 - y
---
net = eqx.tree_at(lambda t: t.scaler, net, Scaler.fit(x * 2))

### rn-haiku-three-networks-in-one-named-tuple-of-states needs=haiku,optax tolerance=2e-3
import haiku as hk, optax
class Params(NamedTuple):
    rep: Any
    dyn: Any
    pred: Any
class Net(NamedTuple):
    params: Params
    state: Params
def rep_fn(o): return hk.BatchNorm(True, True, 0.9)(hk.Linear(4, with_bias=False)(o), is_training=True)
def dyn_fn(h, a):
    z = jnp.concatenate([h, jax.nn.one_hot(a, 3)], -1)
    seen = hk.get_state("seen", (), jnp.int32, init=jnp.zeros)
    hk.set_state("seen", seen + 1)
    return jnp.tanh(hk.Linear(4)(z)), hk.Linear(1)(z)[..., 0]
def pred_fn(h): return hk.Linear(3)(h), hk.Linear(1)(h)[..., 0]
rep, dyn, pred = (hk.without_apply_rng(hk.transform_with_state(f)) for f in (rep_fn, dyn_fn, pred_fn))
obs = jr.normal(jr.PRNGKey(1), (6, 5)); acts = jnp.array([[0, 1], [2, 2], [1, 0], [0, 0], [1, 1], [2, 0]])
k = jr.split(jr.PRNGKey(0), 3)
pr, sr = rep.init(k[0], obs); pd_, sd = dyn.init(k[1], jnp.zeros((6, 4)), acts[:, 0]); pp, sp = pred.init(k[2], jnp.zeros((6, 4)))
net = Net(Params(pr, pd_, pp), Params(sr, sd, sp))
tx = optax.adam(1e-2); opt_state = tx.init(net.params)
target_v, target_r, unroll = jnp.linspace(-1, 1, 6), jnp.ones((6, 2)) * 0.3, 2
def loss_fn(params, state):
    h, s_rep = rep.apply(params.rep, state.rep, obs)
    s_dyn, total = state.dyn, 0.0
    for t in range(unroll):
        (logits, v), s_pred = pred.apply(params.pred, state.pred, h)
        (h, r), s_dyn = dyn.apply(params.dyn, s_dyn, h, acts[:, t])
        total += ((v - target_v) ** 2).mean() + ((r - target_r[:, t]) ** 2).mean() + 1e-2 * (logits ** 2).mean()
    return total, Params(s_rep, s_dyn, s_pred)
---
for _ in range(2):
    (loss, state), g = jax.value_and_grad(loss_fn, has_aux=True)(net.params, net.state)
    u, opt_state = tx.update(g, opt_state)
    net = Net(optax.apply_updates(net.params, u), state)
print(f"{loss:.3f}", jax.tree.leaves(net.state.dyn)[0], hk.data_structures.tree_size(net.params))
by_net = {name: optax.global_norm(p) for name, p in net.params._asdict().items()}
by_net, net.state.rep
---
unroll = 1
---
target_v = target_v[::-1]
---
net = net._replace(state=net.state._replace(dyn=jax.tree.map(jnp.zeros_like, net.state.dyn))); unroll = 2

### rn-haiku-multi-transform-with-two-methods-and-policy-of-precision needs=haiku,jmp
import haiku as hk, jmp
class Coder(hk.Module):
    def __init__(self, latent, name=None):
        super().__init__(name=name)
        self.enc, self.dec = hk.Linear(latent, name="enc"), hk.nets.MLP([6, 4], name="dec")
    def encode(self, x): return jnp.tanh(self.enc(x))
    def decode(self, z): return self.dec(z)
def build():
    m = Coder(2, name="coder")
    return (lambda x: m.decode(m.encode(x))), (m.encode, m.decode)
policy = jmp.get_policy("params=float32,compute=bfloat16,output=float32")
x = jnp.eye(4) + 0.25
f = hk.without_apply_rng(hk.multi_transform(build))
params = f.init(jr.PRNGKey(2), x)
half = False
---
if half:
    hk.mixed_precision.set_policy(Coder, policy)
    hk.mixed_precision.set_policy(hk.Linear, policy)
try:
    encode, decode = f.apply
    z = encode(params, x)
    back = decode(params, z)
finally:
    for cls in (Coder, hk.Linear):
        hk.mixed_precision.clear_policy(cls)
counts = hk.data_structures.map(lambda m, n, v: v.size, params)
mse = jnp.mean((back - x) ** 2)
print(z.dtype, back.dtype, sorted(counts))
round(float(mse), 2), z.shape
---
half = True
---
params = hk.data_structures.merge(params, {"coder/~/enc": {"w": params["coder/~/enc"]["w"] * 3, "b": params["coder/~/enc"]["b"]}})
---
half = False; x = x * 2
""",
)
