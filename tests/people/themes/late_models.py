"""Models and training of yet others: flax, equinox, haiku, optax, orbax, numpyro, diffrax, optimistix, and samplers by hand."""

from ..cell import written

PRELUDE = """
import functools, dataclasses, typing, pathlib, json, math, collections, itertools, operator, copy, pickle, os, types, warnings, enum
import jax, jax.numpy as jnp, numpy as np
from jax import lax
import optax
k0 = jax.random.key(0)
X = jax.random.normal(jax.random.key(1), (12, 3))
Y = (X @ jnp.array([1.0, -2.0, 0.5]))[:, None]
"""

CELLS = written(
    PRELUDE,
    r"""
### lmo-nnx-weightnorm-param-get-hook needs=flax
from flax import nnx
class Positive(nnx.Param):
    made = []
    def __init__(self, value, **meta):
        super().__init__(value, **meta)
        Positive.made.append(self)
    def constrained(self): return jax.nn.softplus(self[...])
class Mix(nnx.Module):
    def __init__(self, n, rngs):
        self.raw = Positive(rngs.params.normal((n,)))
        self.lin = nnx.Linear(3, n, rngs=rngs)
    def __call__(self, v): return self.lin(v) * self.raw.constrained()
mix = Mix(2, nnx.Rngs(0))
---
def loss_fn(m): return jnp.mean((m(X).sum(-1, keepdims=True) - Y) ** 2)
for it in range(3):
    loss, g = nnx.value_and_grad(loss_fn)(mix)
    for (path, p), d in zip(nnx.to_flat_state(nnx.state(mix, nnx.Param)), jax.tree.leaves(g)):
        p[...] = p[...] - 0.05 * d
print(len(Positive.made), [type(p).__name__ for p in Positive.made[:1]], mix.raw is Positive.made[0])
float(mix.raw.constrained().min()) > 0
---
mix.raw[...] = mix.raw[...] * 0 - 3
---
mix = Mix(4, nnx.Rngs(5))

### lmo-nnx-rng-stream-fork-and-counts needs=flax
from flax import nnx
rngs = nnx.Rngs(0, dropout=1, noise=2)
drop = nnx.Dropout(0.5, rngs=rngs)
n = 3
---
before = {k: int(s.count[...]) for k, s in (("noise", rngs.noise), ("dropout", rngs.dropout))}
draws = [jax.random.normal(rngs.noise(), (2,)) for _ in range(n)]
forked = rngs.fork(split=2)
h = drop(X)
after = rngs.noise.count[...]
kept = (h != 0).sum()
print(before["noise"] < int(after), draws[0].shape)
---
n = 1
---
drop.rate = 0.1
---
nnx.reseed(drop, dropout=7)

### lmo-nnx-lstm-decode-with-greedy-text needs=flax
from flax import nnx
vocab = list("abcdefg ")
class LM(nnx.Module):
    def __init__(self, h, rngs):
        self.emb = nnx.Embed(len(vocab), h, rngs=rngs)
        self.cell = nnx.GRUCell(h, h, rngs=rngs)
        self.out = nnx.Linear(h, len(vocab), rngs=rngs)
lm = LM(4, nnx.Rngs(3))
start, length = "cab", 5
---
carry = jnp.zeros(4)
for ch in start:
    carry, h = lm.cell(carry, lm.emb(jnp.array(vocab.index(ch))))
text = start
while len(text) < len(start) + length:
    nxt = int(jnp.argmax(lm.out(h)))
    text += vocab[nxt]
    carry, h = lm.cell(carry, lm.emb(jnp.array(nxt)))
    if vocab[nxt] == " ":
        break
print(repr(text))
---
start = "bb"
---
length = 2; lm = LM(4, nnx.Rngs(9))

### lmo-nnx-train-state-subclass-ema needs=flax
from flax import nnx
class EMAOptimizer(nnx.Optimizer):
    def __init__(self, model, tx, decay):
        super().__init__(model, tx, wrt=nnx.Param)
        self.decay = decay
        self.ema = nnx.data(jax.tree.map(jnp.copy, nnx.state(model, nnx.Param)))
    def update(self, model, grads):
        super().update(model, grads)
        new = nnx.state(model, nnx.Param)
        self.ema = nnx.data(jax.tree.map(lambda e, p: self.decay * e + (1 - self.decay) * p, self.ema, new))
model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
opt = EMAOptimizer(model, optax.sgd(0.1, momentum=0.9), 0.5)
---
@nnx.jit
def step(model, opt, x, y):
    def loss_fn(m): return jnp.mean(optax.l2_loss(m(x), y))
    loss, g = nnx.value_and_grad(loss_fn)(model)
    opt.update(model, g)
    return loss
hist = [float(step(model, opt, X, Y)) for _ in range(3)]
gap = jax.tree.map(lambda a, b: jnp.abs(a - b).max(), opt.ema, nnx.state(model, nnx.Param))
hist[0] > hist[-1], opt.step[...], max(jax.tree.leaves(gap))
---
opt.decay = 0.9
---
model.kernel[...] = jnp.zeros((3, 1))

### lmo-nnx-abstract-then-load-pickle needs=flax
from flax import nnx
class MLP(nnx.Module):
    def __init__(self, din, hs, rngs):
        self.layers = nnx.List([nnx.Linear(a, b, rngs=rngs) for a, b in zip((din, *hs), hs)])
    def __call__(self, v):
        for l in self.layers[:-1]:
            v = nnx.relu(l(v))
        return self.layers[-1](v)
hs, path = (4, 1), "mlp.pkl"
src = MLP(3, hs, nnx.Rngs(0))
---
_, st = nnx.split(src)
pathlib.Path(path).write_bytes(pickle.dumps(jax.tree.map(np.asarray, nnx.to_pure_dict(st))))
abs_model = nnx.eval_shape(lambda: MLP(3, hs, nnx.Rngs(1)))
gdef, abs_state = nnx.split(abs_model)
pure = pickle.loads(pathlib.Path(path).read_bytes())
nnx.replace_by_pure_dict(abs_state, pure)
loaded = nnx.merge(gdef, abs_state)
same = bool(jnp.allclose(loaded(X), src(X)))
print(same, loaded.layers[0].kernel.shape, os.path.exists(path))
---
src.layers[0].bias[...] = jnp.ones(4)
---
hs = (2, 2, 1); src = MLP(3, hs, nnx.Rngs(4))

### lmo-nnx-sow-and-capture-activations needs=flax
from flax import nnx
class Block(nnx.Module):
    def __init__(self, rngs):
        self.l = nnx.Linear(3, 3, rngs=rngs)
        self.taps = []
    def __call__(self, v):
        h = jnp.tanh(self.l(v))
        self.sow(nnx.Intermediate, "act", h.mean(0))
        return h + v
b1, b2 = Block(nnx.Rngs(0)), Block(nnx.Rngs(1))
net = nnx.Sequential(b1, b2)
rounds = 2
---
for r in range(rounds):
    out = net(X)
acts = nnx.pop(net, nnx.Intermediate)
flat = {"/".join(map(str, p)): [a.sum() for a in v.get_value()] for p, v in nnx.to_flat_state(acts)}
print(sorted(flat), hasattr(b1, "act"))
len(jax.tree.leaves(acts))
---
rounds = 1
---
b2.l.kernel[...] *= 0

### lmo-nnx-batchnorm-fold-into-linear needs=flax
from flax import nnx
class CB(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(3, 2, rngs=rngs)
        self.bn = nnx.BatchNorm(2, momentum=0.8, rngs=rngs)
    def __call__(self, v): return self.bn(self.lin(v))
m = CB(nnx.Rngs(0))
---
m.train()
for xb in jnp.split(X, 3):
    m(xb * 2 + 1)
m.eval()
ref = m(X)
bn = m.bn
s = bn.scale[...] / jnp.sqrt(bn.var[...] + bn.epsilon)
folded = nnx.Linear(3, 2, rngs=nnx.Rngs(9))
folded.kernel[...] = m.lin.kernel[...] * s
folded.bias[...] = (m.lin.bias[...] - bn.mean[...]) * s + bn.bias[...]
err = jnp.abs(folded(X) - ref).max()
bool(err < 1e-4), bn.use_running_average
---
m.bn.momentum = 0.5
---
m.bn.mean[...] = jnp.full(2, 5.0)

### lmo-nnx-variable-dtype-cast-mixed needs=flax
from flax import nnx
model = nnx.Sequential(nnx.Linear(3, 4, rngs=nnx.Rngs(0)), nnx.relu, nnx.Linear(4, 1, rngs=nnx.Rngs(1)))
half = jnp.bfloat16
---
gdef, params, rest = nnx.split(model, nnx.Param, ...)
low = jax.tree.map(lambda p: p.astype(half), params)
lowmodel = nnx.merge(gdef, low, rest)
pred = lowmodel(X.astype(half))
diff = jnp.abs(pred.astype(jnp.float32) - model(X)).max()
sizes = {str(l.dtype): sum(a.nbytes for a in jax.tree.leaves(low)) for l in jax.tree.leaves(low)}
print(sizes, pred.dtype, bool(diff < 0.2))
---
half = jnp.float16
---
half = "float32"

### lmo-linen-compact-shared-and-reuse needs=flax
import flax.linen as nn
class Tied(nn.Module):
    vocab: int
    d: int
    n: int = 2
    @nn.compact
    def __call__(self, ids, decode=True):
        emb = nn.Embed(self.vocab, self.d, name="tok")
        h = emb(ids)
        dense = nn.Dense(self.d, name="mix")
        for _ in range(self.n):
            h = nn.gelu(dense(h)) + h
        return emb.attend(h) if decode else h
net = Tied(5, 3)
ids = jnp.array([[0, 1, 4], [2, 2, 3]])
variables = net.init(jax.random.key(0), ids)
---
logits = net.apply(variables, ids)
feats = net.apply(variables, ids, decode=False)
deeper = net.clone(n=net.n + 1).apply(variables, ids)
ce = optax.softmax_cross_entropy_with_integer_labels(logits, ids).mean()
print(jax.tree.map(jnp.shape, variables["params"]), net)
ce, bool(jnp.allclose(logits, deeper))
---
net = net.clone(n=1)
---
ids = ids[:1, :2]
---
variables = {"params": {**variables["params"], "mix": jax.tree.map(jnp.zeros_like, variables["params"]["mix"])}}

### lmo-linen-setup-with-dict-of-submodules needs=flax
import flax.linen as nn
class Multi(nn.Module):
    heads: typing.Any
    def setup(self):
        self.trunk = nn.Dense(4)
        self.out = {k: nn.Dense(n, name=f"head_{k}") for k, n in self.heads.items()}
    def __call__(self, v):
        h = nn.tanh(self.trunk(v))
        return {k: f(h) for k, f in self.out.items()}
    def only(self, v, k): return self.out[k](nn.tanh(self.trunk(v)))
heads = {"cls": 3, "reg": 1}
model = Multi(heads)
params = model.init(k0, X)
which = "cls"
---
outs = model.apply(params, X)
one = model.apply(params, X, which, method=model.only)
bound = model.bind(params)
two = bound.only(X, which)
names = sorted(params["params"])
counts = jax.tree_util.tree_map_with_path(lambda p, l: l.size, params)
print(names, sum(jax.tree.leaves(counts)), {k: v.shape for k, v in outs.items()})
bool(jnp.all(one == two))
---
which = "reg"
---
model = Multi({"cls": 2}); params = model.init(k0, X); which = "cls"

### lmo-linen-own-collection-and-put-variable needs=flax
import flax.linen as nn
class RunningMax(nn.Module):
    decay: float = 0.9
    @nn.compact
    def __call__(self, v, train: bool):
        seen = self.variable("stats", "max", jnp.zeros, v.shape[-1:])
        hits = self.variable("stats", "hits", lambda: 0)
        if train and not self.is_initializing():
            seen.value = jnp.maximum(self.decay * seen.value, jnp.abs(v).max(0))
            hits.value += 1
        return v / (seen.value + 1e-3)
m = RunningMax()
vs = m.init(k0, X, True)
train = True
---
out, mut = m.apply(vs, X, train, mutable=["stats"])
vs = {**vs, **mut}
hits = vs["stats"]["hits"]
label = f"seen {hits} times, train={train}"
print(label)
type(hits).__name__
---
train = False
---
vs = m.init(k0, X, True); m = RunningMax(0.0)

### lmo-linen-trainstate-struct-with-callable-field needs=flax
import flax.linen as nn
from flax import struct
from flax.training import train_state
class TS(train_state.TrainState):
    key: jax.Array
    metrics: dict = struct.field(default_factory=dict)
    augment: typing.Callable | None = struct.field(pytree_node=False, default=None)
net = nn.Dense(1)
def jitter(k, v): return v + 0.01 * jax.random.normal(k, v.shape)
ts = TS.create(apply_fn=net.apply, params=net.init(k0, X)["params"], tx=optax.adamw(1e-2), key=jax.random.key(4))
---
for _ in range(2):
    key, sub = jax.random.split(ts.key)
    xb = ts.augment(sub, X) if ts.augment else X
    def loss_fn(p): return jnp.mean((ts.apply_fn({"params": p}, xb) - Y) ** 2)
    val, g = jax.value_and_grad(loss_fn)(ts.params)
    ts = ts.apply_gradients(grads=g).replace(key=key)
    ts.metrics["loss"] = val
    ts.metrics.setdefault("trace", []).append(val)
print(int(ts.step), sorted(ts.metrics), len(ts.metrics["trace"]))
---
ts = ts.replace(augment=jitter)
---
ts = ts.replace(metrics={}, step=0)

### lmo-flax-serialization-roundtrip-msgpack needs=flax
import flax.linen as nn
from flax import serialization, traverse_util
net = nn.Sequential([nn.Dense(4), nn.relu, nn.Dense(1)])
params = net.init(k0, X)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))
opt_state = tx.init(params)
fname = "ckpt.msgpack"
---
g = jax.grad(lambda p: jnp.mean((net.apply(p, X) - Y) ** 2))(params)
up, opt_state = tx.update(g, opt_state, params)
params = optax.apply_updates(params, up)
with open(fname, "wb") as f:
    n = f.write(serialization.to_bytes(jax.tree.map(lambda a: np.round(np.asarray(a, np.float32), 2) + 0.0, {"params": params, "opt": opt_state})))
with open(fname, "rb") as f:
    back = serialization.from_bytes({"params": params, "opt": opt_state}, f.read())
flat = traverse_util.flatten_dict(back["params"], sep="/")
types_ = sorted({type(v).__name__ for v in flat.values()})
print(n > 100, types_, type(back["opt"]).__name__, int(back["opt"][1][0].count))
---
fname = "other.msgpack"
---
params = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params); opt_state = tx.init(params)

### lmo-flax-metrics-collection-clu-like needs=flax
from flax import struct
@struct.dataclass
class Avg:
    total: jax.Array
    count: jax.Array
    @classmethod
    def empty(cls): return cls(total=jnp.zeros(()), count=jnp.zeros((), jnp.int32))
    def merge(self, other): return type(self)(self.total + other.total, self.count + other.count)
    def compute(self): return self.total / self.count
@struct.dataclass
class Metrics:
    loss: Avg
    mae: Avg
    name: str = struct.field(pytree_node=False, default="train")
    def merge(self, o): return self.replace(loss=self.loss.merge(o.loss), mae=self.mae.merge(o.mae))
    def compute(self): return {f"{self.name}_{k}": getattr(self, k).compute() for k in ("loss", "mae")}
w, phase = jnp.ones((3, 1)), "train"
history = collections.defaultdict(list)
---
metrics = Metrics(Avg.empty(), Avg.empty(), name=phase)
for xb, yb in zip(jnp.array_split(X, 3), jnp.array_split(Y, 3)):
    err = xb @ w - yb
    metrics = metrics.merge(Metrics(Avg(jnp.sum(err ** 2), jnp.array(len(err))), Avg(jnp.abs(err).sum(), jnp.array(len(err)))))
for k, v in metrics.compute().items():
    history[k].append(v)
print({k: len(v) for k, v in history.items()}, metrics.name)
jax.tree.structure(metrics)
---
phase = "eval"
---
history.clear(); X = X[:7]; Y = Y[:7]

### lmo-eqx-buffers-via-tree-at-none needs=equinox
import equinox as eqx
class Norm(eqx.Module):
    w: jax.Array
    buf: jax.Array | None = None
    tag: str = eqx.field(static=True, default="n")
    def __call__(self, v):
        v = v if self.buf is None else v - self.buf
        return v * self.w
m = Norm(jnp.ones(3))
---
cal = eqx.tree_at(lambda t: t.buf, m, X.mean(0), is_leaf=lambda t: t is None)
off = eqx.tree_at(lambda t: t.buf, cal, replace=None)
outs = [f(X).mean() for f in (m, cal, off)]
arrs, static = eqx.partition(cal, eqx.is_inexact_array)
again = eqx.combine(arrs, static)
print(eqx.tree_equal(m, off), static.tag, jax.tree.structure(m) == jax.tree.structure(cal))
again.buf is cal.buf
---
m = Norm(jnp.full(3, 2.0), buf=jnp.ones(3))
---
m = dataclasses.replace(m, tag="z")

### lmo-eqx-filter-custom-hook-and-wrapped needs=equinox
import equinox as eqx
class Lin(eqx.Module):
    weight: jax.Array
    bias: jax.Array
    act: typing.Callable
    def __init__(self, n, key, act=jax.nn.relu):
        kw, kb = jax.random.split(key)
        self.weight = jax.random.normal(kw, (n, 3)); self.bias = jax.random.normal(kb, (n,)); self.act = act
    def __check_init__(self):
        if self.weight.shape[0] != self.bias.shape[0]:
            raise ValueError("bad shapes")
    def __call__(self, v): return self.act(self.weight @ v + self.bias)
n, act = 2, jax.nn.relu
problems = []
---
lin = Lin(n, k0, act)
@eqx.filter_value_and_grad
def loss(m, xs): return jax.vmap(m)(xs).sum()
val, g = loss(lin, X)
try:
    eqx.tree_at(lambda t: t.bias, lin, jnp.zeros(n + 1)).__check_init__()
except ValueError as e:
    problems.append(str(e))
print(g.act, problems, g.weight.shape)
lin
---
act = jnp.tanh
---
n = 4; problems.clear()

### lmo-eqx-stateful-batchnorm-and-spectral needs=equinox
import equinox as eqx
class Net(eqx.Module):
    l1: eqx.nn.Linear
    norm: eqx.nn.BatchNorm
    def __init__(self, key):
        self.l1 = eqx.nn.Linear(3, 2, key=key)
        self.norm = eqx.nn.BatchNorm(2, axis_name="batch", mode="ema")
    def __call__(self, v, state):
        return self.norm(self.l1(v), state)
net, state = eqx.nn.make_with_state(Net)(k0)
inference = False
---
m = eqx.nn.inference_mode(net, value=inference)
run = jax.vmap(m, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
for _ in range(2):
    out, state = run(X, state)
n_leaves = len(jax.tree.leaves(state))
print(n_leaves, out.shape, m.norm.inference)
out.std() > 0
---
inference = True
---
inference = False; net, state = eqx.nn.make_with_state(Net)(jax.random.key(3))

### lmo-eqx-jit-inside-callbacks-and-debug needs=equinox
import equinox as eqx
log = []
mlp = eqx.nn.MLP(3, 1, 4, 1, key=k0)
every = 2
---
opt = optax.sgd(0.05)
opt_state = opt.init(eqx.filter(mlp, eqx.is_array))
for step in range(4):
    loss, g = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(X) - Y) ** 2))(mlp)
    up, opt_state = opt.update(g, opt_state)
    mlp = eqx.apply_updates(mlp, up)
    if step % every == 0:
        log.append({"step": step, "loss": loss, "norm": optax.global_norm(g)})
        print(f"{step:>3d} ok={bool(jnp.isfinite(loss))}")
best = min(log, key=lambda r: r["loss"])
best["step"]
---
every = 3
---
mlp = eqx.nn.MLP(3, 1, 2, 2, key=k0)

### lmo-haiku-custom-module-and-getter needs=haiku
import haiku as hk
seen = []
def spy(next_getter, value, context):
    seen.append(context.full_name)
    return next_getter(value) * scale
scale = 1.0
def net(v):
    with hk.custom_getter(spy):
        h = hk.Linear(4, name="a")(v)
    return hk.Linear(1, name="b")(jax.nn.relu(h))
f = hk.without_apply_rng(hk.transform(net))
params = f.init(k0, X)
---
out = f.apply(params, X)
table = {m: {k: p.shape for k, p in ps.items()} for m, ps in params.items()}
big, small = hk.data_structures.partition(lambda m, n, p: p.size > 3, params)
merged = hk.data_structures.merge(big, small)
print(len(seen), sorted(big), hk.data_structures.tree_size(merged))
out.sum()
---
scale = 0.5
---
seen.clear(); params = f.init(jax.random.key(8), X)

### lmo-haiku-lstm-unroll-with-state needs=haiku
import haiku as hk
def fn(seq, reset):
    core = hk.LSTM(3)
    outs, last = hk.dynamic_unroll(core, seq, core.initial_state(seq.shape[1]))
    total = hk.get_state("total", [], init=jnp.zeros)
    hk.set_state("total", jnp.where(reset, 0.0, total) + outs.sum())
    return outs, last
net = hk.transform_with_state(fn)
seq = X.reshape(4, 3, 3)
params, state = net.init(k0, seq, False)
reset = False
---
(outs, last), state = net.apply(params, state, None, seq, reset)
(outs2, _), _ = net.apply(params, state, None, seq[:2], reset)
g = jax.grad(lambda p: net.apply(p, state, None, seq, reset)[0][0].sum())(params)
rows = [(m, n, float(jnp.linalg.norm(v)) > 0) for m, n, v in hk.data_structures.traverse(g)]
print(rows, type(last).__name__)
---
reset = True
---
seq = seq[:3]

### lmo-optax-multi-transform-label-strings
params = {"enc": {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}, "dec": {"w": jnp.ones((2, 1)), "b": jnp.zeros(1)}}
rules = {"dec": optax.adam(1e-2), "enc": optax.sgd(0.1), "frozen": optax.set_to_zero()}
freeze = "b"
---
def label(path, _):
    return "frozen" if path[-1].key == freeze else path[0].key
labels = jax.tree_util.tree_map_with_path(label, params)
tx = optax.multi_transform(rules, labels)
state = tx.init(params)
for _ in range(2):
    g = jax.grad(lambda p: jnp.mean((jnp.tanh(X @ p["enc"]["w"] + p["enc"]["b"]) @ p["dec"]["w"] + p["dec"]["b"] - Y) ** 2))(params)
    up, state = tx.update(g, state, params)
    params = optax.apply_updates(params, up)
print(labels, sorted(state.inner_states))
jax.tree.map(lambda p: p.sum(), params)
---
freeze = "w"
---
rules["enc"] = optax.rmsprop(0.01)

### lmo-optax-inject-hyperparams-plateau-by-hand
params = jnp.zeros((3, 1))
tx = optax.inject_hyperparams(optax.adam)(learning_rate=0.1)
st = tx.init(params)
best, bad, patience, lrs = math.inf, 0, 1, []
---
for _ in range(4):
    loss, g = jax.value_and_grad(lambda w: jnp.mean((X @ w - Y) ** 2))(params)
    if loss < best - 1e-3:
        best, bad = float(loss), 0
    else:
        bad += 1
    if bad > patience:
        st.hyperparams["learning_rate"] = st.hyperparams["learning_rate"] * 0.5
        bad = 0
    lrs.append(st.hyperparams["learning_rate"])
    up, st = tx.update(g, st)
    params = params + up
print(len(lrs), type(lrs[0]).__name__, bad)
round(best, 4) > 0
---
best, patience = 0.0, 0
---
st.hyperparams["learning_rate"] = 0.01

### lmo-optax-lookup-state-and-tree-utils cold
import optax.tree_utils as otu
params = {"a": jnp.ones(3), "b": [jnp.zeros(2), jnp.array(1.5)]}
tx = optax.chain(optax.scale_by_adam(), optax.add_decayed_weights(1e-2), optax.scale_by_schedule(optax.cosine_decay_schedule(0.1, 10)), optax.scale(-1))
opt = tx.init(params)
---
g = jax.grad(lambda p: jnp.sum(p["a"] ** 3) + p["b"][1] ** 2 + jnp.sum(jnp.cos(p["b"][0])))(params)
u, opt = tx.update(g, opt, params)
params = optax.apply_updates(params, u)
mu = otu.tree_get(opt, "mu")
counts = otu.tree_get_all_with_path(opt, "count")
opt2 = otu.tree_set(opt, mu=otu.tree_zeros_like(mu))
cos = otu.tree_vdot(u, g) / (otu.tree_norm(u) * otu.tree_norm(g))
print(len(counts), [int(c) for _, c in counts], bool(cos < 0), type(opt2[0]).__name__)
---
opt = tx.init(params)
---
params = {"a": jnp.arange(2.0), "b": [jnp.ones(2), jnp.array(-1.0)]}; opt = tx.init(params)

### lmo-optax-multisteps-and-schedule-plot
tx = optax.MultiSteps(optax.sgd(optax.linear_schedule(1.0, 0.0, 4)), every_k_schedule=2)
w = jnp.zeros((3, 1)); st = tx.init(w)
batch = 4
fired = []
---
def loss(w, x, y): return jnp.mean((x @ w - y) ** 2)
for i in range(0, len(X), batch):
    g = jax.grad(loss)(w, X[i:i + batch], Y[i:i + batch])
    up, st = tx.update(g, st, w)
    fired.append(tx.has_updated(st))
    w = optax.apply_updates(w, up)
sched = optax.join_schedules([optax.constant_schedule(1e-3), optax.exponential_decay(1e-3, 5, 0.5)], [3])
curve = np.array([sched(i) for i in range(8)])
print([bool(f) for f in fired], curve.dtype, int(st.gradient_step))
---
batch = 3
---
batch = 6; fired = []

### lmo-optax-lbfgs-while-loop
def fun(w): return jnp.sum((w - jnp.arange(3.0)) ** 2) + jnp.sum(w ** 4) * 0.1
solver = optax.lbfgs(memory_size=3)
w0, max_iter, tol = jnp.ones(3), 4, 1e-3
---
vg = optax.value_and_grad_from_state(fun)
def step(c):
    w, s = c
    v, g = vg(w, state=s)
    up, s = solver.update(g, s, w, value=v, grad=g, value_fn=fun)
    return optax.apply_updates(w, up), s
def go_on(c):
    it = optax.tree_utils.tree_get(c[1], "count")
    err = optax.tree_utils.tree_norm(optax.tree_utils.tree_get(c[1], "grad"))
    return (it == 0) | ((it < max_iter) & (err >= tol))
w, s = lax.while_loop(go_on, step, (w0, solver.init(w0)))
iters = int(optax.tree_utils.tree_get(s, "count"))
iters <= max_iter, fun(w) < fun(w0)
---
max_iter = 2
---
w0 = jnp.array([0.1, 0.2, 0.3, 0.4])[:3] * 10

### lmo-orbax-manager-with-extra-json needs=orbax.checkpoint cold
import orbax.checkpoint as ocp
root = pathlib.Path("ck").resolve()
params = {"w": jnp.ones((3, 1)), "step": 0}
keep = 2
---
with ocp.CheckpointManager(root, options=ocp.CheckpointManagerOptions(max_to_keep=keep, create=True)) as mngr:
    first = mngr.latest_step()
    if first is not None:
        got = mngr.restore(first, args=ocp.args.Composite(state=ocp.args.StandardRestore(params), meta=ocp.args.JsonRestore()))
        params, note = got.state, got.meta["note"]
    else:
        note = "fresh"
    for i in range(2):
        params = {"w": params["w"] - 0.1 * jax.grad(lambda w: jnp.mean((X @ w - Y) ** 2))(params["w"]), "step": params["step"] + 1}
        mngr.save(int(params["step"]), args=ocp.args.Composite(state=ocp.args.StandardSave(params), meta=ocp.args.JsonSave({"note": f"after {int(params['step'])}"})))
    mngr.wait_until_finished()
    steps = mngr.all_steps()
print(note, sorted(steps), first)
---
keep = 1
---
params = {"w": jnp.zeros((3, 1)), "step": 40}

### lmo-orbax-standard-to-abstract-sharded needs=orbax.checkpoint devices=4
import orbax.checkpoint as ocp
from jax.sharding import NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
tree = {"w": jax.device_put(jnp.arange(8.0).reshape(4, 2), NamedSharding(mesh, P("d"))), "n": np.int64(3), "name": jnp.zeros(2)}
n = 0
---
ck = ocp.StandardCheckpointer()
where = pathlib.Path(f"shard{n}").resolve()
ck.save(where, {k: v for k, v in tree.items() if k != "n"}, force=True)
ck.wait_until_finished()
abstract = {"w": jax.ShapeDtypeStruct((4, 2), jnp.float32, sharding=NamedSharding(mesh, P(None, None))), "name": jax.ShapeDtypeStruct((2,), jnp.float32, sharding=NamedSharding(mesh, P()))}
back = ck.restore(where, abstract)
total = (back["w"] + tree["w"]).sum() + tree["n"]
print(where.name, back["w"].sharding.spec, type(total).__name__)
ck.close()
---
tree["w"] = tree["w"] * 2
---
n = 1

### lmo-numpyro-hmc-funnel-warmup-state needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS
y = jnp.array([0.3, -0.2, 1.1, 0.7])
scale, n = 1.0, 6
---
def model(y=None):
    mu = numpyro.sample("mu", dist.Normal(0, scale))
    with numpyro.plate("obs", 4):
        numpyro.sample("y", dist.Normal(mu, 1.0), obs=y)
    numpyro.deterministic("twice", 2 * mu)
mcmc = MCMC(NUTS(model), num_warmup=5, num_samples=n, progress_bar=False)
mcmc.run(jax.random.key(0), y=y)
samples = mcmc.get_samples()
mcmc.post_warmup_state = mcmc.last_state
extra = sorted(mcmc.get_extra_fields())
ok = bool(jnp.allclose(samples["twice"], 2 * samples["mu"]))
print(ok, {k: v.shape for k, v in samples.items()}, extra)
---
scale = 5.0
---
n = 3

### lmo-numpyro-mask-scale-and-factor-by-hand needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro import handlers
from numpyro.infer.util import log_density
obs = jnp.array([1.0, np.nan, 2.0, 0.5])
names = []
def model(obs, weight):
    mu = numpyro.sample("mu", dist.Normal(0, 3))
    ok = ~jnp.isnan(obs)
    with numpyro.plate("n", len(obs)), handlers.mask(mask=ok), handlers.scale(scale=weight):
        numpyro.sample("o", dist.StudentT(4.0, mu, 1.0), obs=jnp.where(ok, obs, 0.0))
    numpyro.factor("pull", -0.5 * mu ** 2)
weight = 2.0
---
grid = jnp.linspace(-1, 2, 5)
lp = jax.vmap(lambda m: log_density(model, (obs, weight), {}, {"mu": m})[0])(grid)
tr = handlers.trace(handlers.substitute(handlers.seed(model, 0), {"mu": grid[jnp.argmax(lp)]})).get_trace(obs, weight)
names.extend(k for k, s in tr.items() if s["type"] == "sample" and k not in names)
parts = {k: s["fn"].log_prob(s["value"]).sum() for k, s in tr.items() if s["type"] == "sample"}
print(names, sorted(parts), type(tr["o"]["fn"]).__name__)
---
weight = jnp.array(0.5)
---
obs = obs.at[0].set(jnp.nan)

### lmo-diffrax-fit-vector-field-dense-and-stats needs=diffrax,equinox
import diffrax as dfx, equinox as eqx
class Field(eqx.Module):
    log_k: jax.Array
    def __call__(self, t, y, args): return -jnp.exp(self.log_k) * y + args
field = Field(jnp.zeros(2))
ts = jnp.linspace(0, 1, 5)
target = jnp.exp(-2 * ts)[:, None] * jnp.ones(2)
solver, lr = dfx.Tsit5(), 0.3
---
def solve(f):
    sol = dfx.diffeqsolve(dfx.ODETerm(f), solver, 0.0, 1.0, 0.05, jnp.ones(2), args=jnp.zeros(2), saveat=dfx.SaveAt(ts=ts))
    return sol.ys, sol.stats["num_steps"]
@eqx.filter_value_and_grad(has_aux=True)
def loss(f):
    ys, n = solve(f)
    return jnp.mean((ys - target) ** 2), n
trace = []
for _ in range(3):
    (l, n), g = loss(field)
    field = eqx.apply_updates(field, jax.tree.map(lambda d: -lr * d, g))
    trace.append((float(l), int(n)))
print(trace[-1][1], trace[0][0] >= trace[-1][0])
---
solver = dfx.Heun()
---
field = Field(jnp.array([-1.0, 1.0])); lr = 0.1

### lmo-diffrax-event-bounce-loop needs=diffrax
import diffrax as dfx
t, y, bounces = 0.0, jnp.array([1.0, 0.0]), []
n = 2
---
def f(t, y, args): return jnp.array([y[1], -9.8])
def hit(t, y, args, **kw): return y[0]
for _ in range(n):
    sol = dfx.diffeqsolve(dfx.ODETerm(f), dfx.Tsit5(), t, t + 2.0, 0.01, y, event=dfx.Event(hit, direction=False), max_steps=512)
    if sol.result == dfx.RESULTS.event_occurred:
        t = float(sol.ts[-1])
        y = jnp.array([1e-3, -0.8 * sol.ys[-1, 1]])
        bounces.append(round(t, 1))
    else:
        break
print(bounces, sol.result == dfx.RESULTS.successful)
y.shape
---
n = 1
---
t, y, bounces = 0.0, jnp.array([0.5, 1.0]), []

### lmo-optimistix-fixed-point-and-newton-options needs=optimistix
import optimistix as optx
a = jnp.array([2.0, 3.0])
solver = optx.Newton(rtol=1e-5, atol=1e-5)
tried = {}
---
def f(y, args): return y ** 2 - args
sol = optx.root_find(f, solver, jnp.ones(2), args=a, throw=False, max_steps=20)
fp = optx.fixed_point(lambda y, ar: 0.5 * (y + ar / y), optx.FixedPointIteration(rtol=1e-4, atol=1e-4), jnp.ones(2), args=a)
good = sol.result == optx.RESULTS.successful
tried[type(solver).__name__] = sol.value
sens = jax.grad(lambda ar: optx.root_find(f, solver, jnp.ones(2), args=ar).value.sum())(a)
print(bool(good), sorted(tried), bool(jnp.allclose(fp.value, sol.value, atol=1e-3)))
---
a = a * 4
---
solver = optx.Dogleg(rtol=1e-4, atol=1e-4)

### lmo-jaxtyped-shape-checked-mlp needs=jaxtyping
from jaxtyping import Float, Array, jaxtyped, PyTree
failures = []
class Cfg(typing.NamedTuple):
    hidden: int = 4
    act: str = "tanh"
def init(cfg: Cfg, key) -> PyTree[Float[Array, "..."]]:
    k1, k2 = jax.random.split(key)
    return {"w1": jax.random.normal(k1, (3, cfg.hidden)), "w2": jax.random.normal(k2, (cfg.hidden, 1))}
def check(v: object, spec): return isinstance(v, spec)
cfg = Cfg()
---
p = init(cfg, k0)
h = getattr(jnp, cfg.act)(X @ p["w1"])
for nm, v, spec in (("h", h, Float[Array, "n hidden"]), ("y", h @ p["w2"], Float[Array, "n 1"]), ("bad", h, Float[Array, "n"])):
    if not check(v, spec):
        failures.append((nm, spec.__name__ if hasattr(spec, "__name__") else str(spec)))
print(len(failures), failures[-1][0])
h.shape == (len(X), cfg.hidden)
---
cfg = cfg._replace(hidden=2)
---
cfg = Cfg(act="sin"); X = X.astype(jnp.float16)

### lmo-hmc-by-hand-with-state-class
class HMC:
    def __init__(self, logp, eps, L): self.logp, self.eps, self.L, self.accepted, self.total = logp, eps, L, 0, 0
    def leap(self, q, p):
        g = jax.grad(self.logp)
        p = p + 0.5 * self.eps * g(q)
        for i in range(self.L):
            q = q + self.eps * p
            if i < self.L - 1:
                p = p + self.eps * g(q)
        return q, p + 0.5 * self.eps * g(q)
    def step(self, key, q):
        kp, ku = jax.random.split(key)
        p = jax.random.normal(kp, q.shape)
        q2, p2 = self.leap(q, p)
        la = self.logp(q2) - 0.5 * p2 @ p2 - self.logp(q) + 0.5 * p @ p
        ok = jnp.log(jax.random.uniform(ku)) < la
        self.accepted += ok
        self.total += 1
        return jnp.where(ok, q2, q)
hmc = HMC(lambda q: -0.5 * jnp.sum((q - 1) ** 2), 0.2, 4)
q, chain, key = jnp.zeros(2), [], jax.random.key(2)
---
for _ in range(4):
    key, sub = jax.random.split(key)
    q = hmc.step(sub, q)
    chain.append(q)
rate = hmc.accepted / hmc.total
stacked = jnp.stack(chain)
print(hmc.total, stacked.shape, 0 <= float(rate) <= 1)
rate
---
hmc.eps = 1.5
---
hmc.L = 2; chain.clear()

### lmo-mala-scan-with-namedtuple-state
class State(typing.NamedTuple):
    x: jax.Array
    logp: jax.Array
    grad: jax.Array
class Info(typing.NamedTuple):
    acc: jax.Array
    step: int
def logdensity(x, data): return -0.5 * jnp.sum((data - x) ** 2) - jnp.abs(x).sum()
data, eps, n = Y[:, 0], 0.05, 8
---
vg = jax.value_and_grad(functools.partial(logdensity, data=data))
x0 = jnp.zeros(())
state = State(x0, *vg(x0))
def kernel(s, key):
    k1, k2 = jax.random.split(key)
    prop = s.x + eps * s.grad + jnp.sqrt(2 * eps) * jax.random.normal(k1)
    new = State(prop, *vg(prop))
    fwd = -jnp.sum((prop - s.x - eps * s.grad) ** 2) / (4 * eps)
    bwd = -jnp.sum((s.x - prop - eps * new.grad) ** 2) / (4 * eps)
    acc = jnp.minimum(1.0, jnp.exp(new.logp - s.logp + bwd - fwd))
    take = jax.random.uniform(k2) < acc
    return jax.tree.map(lambda a, b: jnp.where(take, a, b), new, s), (s, Info(acc, 1))
last, (states, infos) = lax.scan(kernel, state, jax.random.split(k0, n))
thin = jax.tree.map(lambda a: a[::2], states)
print(type(last).__name__, type(infos).__name__, infos.step.sum(), thin.x.shape)
---
eps = 0.2
---
data = data[:5]; n = 5

### lmo-gibbs-ising-sweeps-inplace
spins = jnp.where(jax.random.bernoulli(k0, 0.5, (4, 4)), 1, -1)
beta, energies = 0.4, []
key = jax.random.PRNGKey(3)
---
mask = (jnp.indices(spins.shape).sum(0) % 2).astype(bool)
for sweep in range(3):
    for par in (mask, ~mask):
        key, sub = jax.random.split(key)
        nb = sum(jnp.roll(spins, s, ax) for s in (1, -1) for ax in (0, 1))
        up = jax.random.uniform(sub, spins.shape) < jax.nn.sigmoid(2 * beta * nb)
        spins = jnp.where(par, jnp.where(up, 1, -1), spins)
    energies.append(-(spins * nb).sum() // 2)
m = abs(spins.mean())
print(spins.dtype, energies[0].dtype, key.dtype, type(m).__name__)
energies
---
beta = jnp.float32(2.0)
---
spins = spins.astype(jnp.int8); energies = []

### lmo-vae-elbo-with-losses-registry
LOSSES = {}
def register(name):
    def deco(f):
        LOSSES[name] = f
        return f
    return deco
@register("kl")
def kl(p, mu, lv, xs, rec): return 0.5 * jnp.sum(jnp.exp(lv) + mu ** 2 - 1 - lv, -1).mean()
@register("rec")
def rec(p, mu, lv, xs, r): return jnp.sum((xs - r) ** 2, -1).mean()
weights = {"kl": 0.1, "rec": 1.0}
p = {"enc": jnp.full((3, 4), 0.1), "dec": jnp.full((2, 3), 0.2)}
---
def elbo(p, key):
    mu, lv = jnp.split(X @ p["enc"], 2, -1)
    z = mu + jnp.exp(0.5 * lv) * jax.random.normal(key, mu.shape)
    terms = {k: f(p, mu, lv, X, z @ p["dec"]) for k, f in LOSSES.items()}
    return sum(weights.get(k, 0) * v for k, v in terms.items()), terms
curves = {k: [] for k in LOSSES}
for e in range(3):
    (total, terms), g = jax.value_and_grad(elbo, has_aux=True)(p, jax.random.fold_in(k0, e))
    p = jax.tree.map(lambda a, d: a - 0.05 * d, p, g)
    for k, v in terms.items():
        curves[k].append(v)
print({k: len(v) for k, v in curves.items()}, list(LOSSES))
total
---
@register("l2")
def l2(p, *a): return sum(jnp.sum(v ** 2) for v in jax.tree.leaves(p))
weights["l2"] = 0.01
---
del LOSSES["kl"]

### lmo-transformer-kv-cache-decode
d, T = 4, 6
ks = jax.random.split(k0, 5)
P = {n: jax.random.normal(k, (d, d)) * 0.5 for n, k in zip(("q", "k", "v", "o"), ks)}
emb = jax.random.normal(ks[4], (7, d))
cache = {"k": jnp.zeros((T, d)), "v": jnp.zeros((T, d)), "idx": 0}
prompt, eos = [1, 3], 0
---
tokens = list(prompt)
def attend(x, cache):
    i = cache["idx"]
    cache["k"] = cache["k"].at[i].set(x @ P["k"])
    cache["v"] = cache["v"].at[i].set(x @ P["v"])
    cache["idx"] = i + 1
    s = (x @ P["q"]) @ cache["k"].T / d ** 0.5
    s = jnp.where(jnp.arange(T) <= i, s, -jnp.inf)
    return jax.nn.softmax(s) @ cache["v"] @ P["o"] + x
cache = {**cache, "idx": 0}
for t in range(T):
    h = attend(emb[tokens[t]], cache)
    if t + 1 >= len(tokens):
        tokens.append(int((h @ emb.T).argmax()))
        if tokens[-1] == eos:
            break
print(tokens, cache["idx"])
---
prompt = [2, 2, 5]
---
eos = -1; P["o"] = P["o"] * 0

### lmo-reinforce-cartpole-class-env
class Env:
    def __init__(self): self.reset()
    def reset(self):
        self.s, self.t = jnp.array([0.0, 0.02]), 0
        return self.s
    def step(self, a):
        self.t += 1
        self.s = self.s + 0.1 * jnp.array([self.s[1], jnp.where(a == 1, 1.0, -1.0)])
        done = self.t >= 5 or bool(jnp.abs(self.s[0]) > 0.5)
        return self.s, 1.0 - self.s[0] ** 2, done
env, theta, key, gamma = Env(), jnp.zeros((2, 2)), jax.random.key(6), 0.9
returns = collections.deque(maxlen=3)
---
s, done, traj = env.reset(), False, []
while not done:
    key, sub = jax.random.split(key)
    a = jax.random.categorical(sub, s @ theta)
    s2, r, done = env.step(a)
    traj.append((s, a, r)); s = s2
G, out = 0.0, []
for *_, r in reversed(traj):
    G = r + gamma * G
    out.insert(0, G)
S, A, R = jnp.stack([t[0] for t in traj]), jnp.array([t[1] for t in traj]), jnp.array(out)
theta = theta + 0.1 * jax.grad(lambda th: jnp.mean(jax.nn.log_softmax(S @ th)[jnp.arange(len(A)), A] * R))(theta)
returns.append(R[0])
print(len(traj), len(returns), env.t)
---
gamma = 0.5
---
theta = jnp.array([[5.0, -5.0], [0.0, 0.0]])

### lmo-dataloader-class-with-epoch-seed-and-drop-last
class Loader:
    def __init__(self, *arrs, bs, seed=0, drop_last=True):
        self.arrs, self.bs, self.rng, self.drop_last, self.epoch = arrs, bs, np.random.default_rng(seed), drop_last, 0
    def __len__(self): return len(self.arrs[0]) // self.bs if self.drop_last else -(-len(self.arrs[0]) // self.bs)
    def __iter__(self):
        idx = self.rng.permutation(len(self.arrs[0]))
        self.epoch += 1
        for i in range(len(self)):
            sl = idx[i * self.bs:(i + 1) * self.bs]
            yield tuple(a[sl] for a in self.arrs)
loader = Loader(np.asarray(X), np.asarray(Y), bs=5, drop_last=False)
w = jnp.zeros((3, 1))
---
losses = np.zeros(len(loader), np.float32)
for i, (xb, yb) in enumerate(loader):
    losses[i], g = jax.value_and_grad(lambda w: jnp.mean((xb @ w - yb) ** 2))(w)
    w -= 0.1 * g
print(f"epoch {loader.epoch} batches {len(loader)} last batch {xb.shape}")
losses.mean(), type(xb).__name__
---
loader.drop_last = True
---
loader.bs = 4

### lmo-checkpointed-remat-layers-policy
Ws = [jax.random.normal(k, (3, 3)) * 0.5 for k in jax.random.split(k0, 3)]
from jax.ad_checkpoint import checkpoint_name
policy = jax.checkpoint_policies.dots_saveable
use = True
---
def layer(v, W): return jnp.sin(v @ W) + v
f = jax.checkpoint(layer, policy=policy) if use else layer
def net(ws, v): return functools.reduce(lambda h, W: f(h, W), ws, v).sum()
val, grads = jax.value_and_grad(net)(Ws, X)
named = jax.checkpoint(lambda v: jnp.cos(checkpoint_name(jnp.exp(v), "e")).sum(), policy=jax.checkpoint_policies.save_only_these_names("e"))
g2 = jax.grad(named)(X)
Ws = [W - 0.01 * g for W, g in zip(Ws, grads)]
len(grads), val
---
use = False
---
policy = jax.checkpoint_policies.nothing_saveable; use = True
---
Ws = Ws[:2]

### lmo-custom-vjp-straight-through-quantiser-class
class Quant:
    def __init__(self, bits): self.bits, self.uses = bits, 0
    def __call__(self, v):
        self.uses += 1
        return ste(v, self.bits)
@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def ste(v, bits): return jnp.round(v * 2 ** bits) / 2 ** bits
ste.defvjp(lambda v, bits: (ste(v, bits), jnp.abs(v) < 1), lambda bits, res, g: (g * res,))
quant = Quant(2)
w = jnp.array([[0.3], [-1.4], [0.9]])
---
for _ in range(2):
    l, g = jax.value_and_grad(lambda w: jnp.mean((X @ quant(w) - Y) ** 2))(w)
    w = w - 0.1 * g
levels = np.unique(np.asarray(quant(w)))
zero = (g == 0).sum()
print(quant.uses, levels.dtype, int(zero))
levels.shape
---
quant.bits = 4
---
quant = Quant(0)

### lmo-model-zoo-factory-by-config-json
pathlib.Path("cfg.json").write_text(json.dumps({"model": "mlp", "layers": [3, 4, 1], "act": "relu", "lr": 0.1}))
ZOO = {}
class Meta(type):
    def __new__(mcs, name, bases, ns):
        cls = super().__new__(mcs, name, bases, ns)
        if name != "Base":
            ZOO[name.lower()] = cls
        return cls
class Base(metaclass=Meta):
    def __init__(self, cfg, key):
        self.cfg = types.SimpleNamespace(**cfg)
        self.params = [(jax.random.normal(k, (a, b)) / a ** 0.5, jnp.zeros(b)) for k, a, b in zip(jax.random.split(key, 9), self.cfg.layers, self.cfg.layers[1:])]
class MLP(Base):
    def forward(self, ps, v):
        *hid, (w, b) = ps
        for wi, bi in hid:
            v = getattr(jax.nn, self.cfg.act)(v @ wi + bi)
        return v @ w + b
class Linear(Base):
    def forward(self, ps, v): return v @ ps[0][0]
---
cfg = json.loads(pathlib.Path("cfg.json").read_text())
model = ZOO[cfg["model"]](cfg, k0)
def mse(ps): return jnp.mean((model.forward(ps, X) - Y) ** 2)
before = mse(model.params)
model.params = jax.tree.map(lambda p, g: p - cfg["lr"] * g, model.params, jax.grad(mse)(model.params))
after = mse(model.params)
cfg["final"] = round(float(after), 3)
pathlib.Path("out.json").write_text(json.dumps(cfg, indent=1, sort_keys=True))
print(sorted(ZOO), type(model).__name__, bool(after < before))
---
pathlib.Path("cfg.json").write_text(json.dumps({"model": "linear", "layers": [3, 1], "act": "relu", "lr": 0.01}))
---
pathlib.Path("cfg.json").write_text(json.dumps({"model": "mlp", "layers": [3, 2, 2, 1], "act": "tanh", "lr": 0.5}))

### lmo-noisy-teacher-rng-in-closure-early-stop
def make_teacher(seed):
    rng = np.random.default_rng(seed)
    def sample(n):
        xs = rng.normal(size=(n, 3)).astype(np.float32)
        return xs, xs @ np.array([[1.0], [0.5], [-1.0]], np.float32)
    return sample
teacher, w, losses = make_teacher(0), jnp.zeros((3, 1)), []
---
def loss_fn(w, xs, ys): return jnp.mean((xs @ w - ys) ** 2)
for it in range(4):
    loss, g = jax.value_and_grad(loss_fn)(w, *teacher(4))
    w = w - 0.2 * g
    losses.append(float(loss))
    if losses[-1] < 1e-3:
        break
print(it, len(losses))
---
teacher = make_teacher(5)
---
w = jnp.ones((3, 1)); losses = []

### lmo-run-ids-and-seeds-from-object-counter
class Tracker:
    def __init__(self): self.ids, self.seeds, self.rows = itertools.count(100), iter(range(7, 90, 2)), {}
    def new_key(self): return jax.random.key(next(self.seeds))
    def add(self, **kw):
        self.rows[next(self.ids)] = kw
        return kw
tracker = Tracker()
---
w = jax.random.normal(tracker.new_key(), (3, 1)) * 0.1
first = tracker.add(loss=jnp.mean((X @ w - Y) ** 2))
w = w - 0.1 * jax.grad(lambda w: jnp.mean((X @ w - Y) ** 2))(w)
last = tracker.add(loss=jnp.mean((X @ w - Y) ** 2), improved=True)
if last["loss"] > first["loss"]:
    last["improved"] = False
print(list(tracker.rows))
---
tracker = Tracker()
---
X, Y = X[:5], Y[:5]

### lmo-logistic-from-zeros-logsumexp
labels = jnp.array([0, 1, 2] * 4)
lr = 0.5
---
W = jnp.zeros((3, 3))
def nll(W):
    logits = X @ W
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - logits[jnp.arange(len(labels)), labels])
temp = jnp.zeros(())
pull = jax.grad(lambda s: jnp.abs(s).sum() + jax.nn.logsumexp(s * jnp.ones(3)))(temp)
for _ in range(3):
    l, g = jax.value_and_grad(nll)(W)
    W = W - lr * g
J = jax.jacrev(lambda v: jax.nn.softmax(v @ W))(X[0])
acc = jnp.mean(jnp.argmax(X @ W, -1) == labels)
---
lr = 0.1
---
labels = jnp.array([2] * 12)
""",
)
