"""Trainers, models and meshes as people copy them from READMEs and threads."""

from ..cell import written

PRELUDE = """
import os, io, json, pickle, dataclasses, functools, itertools, collections, contextlib, enum, math, operator, copy, types, warnings
import threading, queue
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Callable, NamedTuple
import jax, jax.numpy as jnp, numpy as np
from jax import lax, tree_util as jtu
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
def toy(n=32, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = (X @ np.arange(1, d + 1, dtype=np.float32) / d + 0.1 * rng.normal(size=n).astype(np.float32))
    return X, y
"""

CELLS = written(
    PRELUDE,
    r"""
### kin-hook-priority-trainer
class Hook:
    priority = 50
    def before_run(self, runner): pass
    def after_iter(self, runner): pass
    def after_epoch(self, runner): pass
HOOKS = {}
def register(cls=None, *, name=None):
    def deco(c):
        HOOKS[name or c.__name__] = c
        return c
    return deco(cls) if cls is not None else deco
X, y = toy()
cfg = {"hooks": ["ema", "LogHook"], "lr": 0.1, "epochs": 2, "bs": 8}
---
@register
class LogHook(Hook):
    priority = 90
    def __init__(self): self.lines = []
    def after_epoch(self, runner):
        self.lines.append(f"e{runner.epoch} loss={float(np.mean(runner.buffer)):.2f}")
        runner.buffer.clear()
@register(name="ema")
class EMAHook(Hook):
    def before_run(self, runner): self.w = runner.w
    def after_iter(self, runner): self.w = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, self.w, runner.w)
class Runner:
    def __init__(self, cfg):
        self.__dict__.update(cfg)
        self.w = {"k": jnp.zeros(4), "b": jnp.zeros(())}
        self.hooks = sorted((HOOKS[h]() for h in cfg["hooks"]), key=lambda h: h.priority)
        self.buffer, self.iter = [], 0
    def call(self, when):
        for h in self.hooks: getattr(h, when)(self)
    def run(self):
        self.call("before_run")
        for self.epoch in range(self.epochs):
            for i in range(0, len(X), self.bs):
                loss, g = jax.value_and_grad(lambda w: jnp.mean((X[i:i+self.bs] @ w["k"] + w["b"] - y[i:i+self.bs]) ** 2))(self.w)
                self.w = jax.tree.map(lambda p, q: p - self.lr * q, self.w, g)
                self.buffer.append(float(loss)); self.iter += 1
                self.call("after_iter")
            self.call("after_epoch")
        return self
runner = Runner(cfg).run()
log = next(h for h in runner.hooks if isinstance(h, LogHook)).lines
ema = [h.w for h in runner.hooks if type(h).__name__ == "EMAHook"]
print(*log, sep="\n")
sorted(HOOKS), runner.iter
---
cfg = {**cfg, "bs": 16, "epochs": 3}
---
cfg["hooks"] = ["LogHook"]
---
X, y = toy(48)

### kin-nnx-trainer-eval-midway needs=flax,optax
from flax import nnx
import optax
class Net(nnx.Module):
    def __init__(self, din, dh, *, rngs):
        self.l1 = nnx.Linear(din, dh, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
        self.l2 = nnx.Linear(dh, 1, rngs=rngs)
    def __call__(self, x):
        return self.l2(self.drop(nnx.gelu(self.l1(x))))[..., 0]
X, y = toy(40)
eval_every, steps = 2, 4
model = Net(4, 8, rngs=nnx.Rngs(0, dropout=1))
opt = nnx.Optimizer(model, optax.adamw(1e-2), wrt=nnx.Param)
---
@nnx.jit
def train_step(model, opt, x, t):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - t) ** 2))(model)
    opt.update(model, grads)
    return loss
@nnx.jit
def evaluate(model, x, t):
    return jnp.mean(jnp.abs(model(x) - t))
curve, best = [], (math.inf, None)
for step in range(steps):
    model.train()
    sl = slice(step * 8 % 32, step * 8 % 32 + 8)
    loss = train_step(model, opt, X[sl], y[sl])
    if (step + 1) % eval_every == 0:
        model.eval()
        mae = float(evaluate(model, X[32:], y[32:]))
        curve.append((step + 1, round(mae, 3)))
        if mae < best[0]:
            best = mae, nnx.state(model, nnx.Param)
model.eval()
curve, int(opt.step.get_value()), model.drop.deterministic
---
eval_every = 1
---
X, y = toy(40, seed=3)
steps = 5

### kin-linen-trainstate-subclass-batchstats needs=flax,optax
import flax.linen as nn, optax
from flax.training import train_state
class TrainState(train_state.TrainState):
    batch_stats: Any = None
    key: Any = None
class BNMLP(nn.Module):
    width: int = 8
    @nn.compact
    def __call__(self, x, train):
        x = nn.Dense(self.width)(x)
        x = nn.BatchNorm(use_running_average=not train, momentum=0.8)(x)
        x = nn.Dropout(0.1, deterministic=not train)(nn.relu(x))
        return nn.Dense(1)(x)[:, 0]
X, y = toy(24)
bs = 8
---
net = BNMLP()
variables = net.init(jax.random.PRNGKey(0), X[:1], train=False)
state = TrainState.create(apply_fn=net.apply, params=variables["params"], tx=optax.sgd(0.05, momentum=0.9),
                          batch_stats=variables["batch_stats"], key=jax.random.PRNGKey(7))
@jax.jit
def step(state, xb, yb):
    dk = jax.random.fold_in(state.key, state.step)
    def loss_fn(p):
        out, upd = state.apply_fn({"params": p, "batch_stats": state.batch_stats}, xb, train=True,
                                  rngs={"dropout": dk}, mutable=["batch_stats"])
        return jnp.mean((out - yb) ** 2), upd
    (loss, upd), g = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    return state.apply_gradients(grads=g, batch_stats=upd["batch_stats"]), {"loss": loss, "gnorm": optax.global_norm(g)}
metrics = defaultdict(list)
for i in range(0, len(X) - bs + 1, bs):
    state, m = step(state, X[i:i+bs], y[i:i+bs])
    for k, v in m.items():
        metrics[k].append(v)
summary = {k: float(jnp.stack(v).mean()) for k, v in metrics.items()}
pred = net.apply({"params": state.params, "batch_stats": state.batch_stats}, X, train=False)
print({k: round(v, 2) for k, v in summary.items()})
---
bs = 6
---
X = X.astype(jnp.bfloat16)

### kin-eqx-readme-rnn-loader needs=equinox,optax
import equinox as eqx, optax
def spirals(n, key):
    t = jnp.linspace(0, 3, 8)
    sign = jnp.where(jnp.arange(n) % 2 == 0, 1.0, -1.0)
    xy = jnp.stack([jnp.cos(t), jnp.sin(t)], -1)[None] * jnp.stack([jnp.ones(n), sign], -1)[:, None]
    return xy + 0.05 * jax.random.normal(key, xy.shape), (sign > 0).astype(jnp.float32)
def dataloader(arrays, bs, *, key):
    n = arrays[0].shape[0]
    while True:
        key, sub = jax.random.split(key)
        perm = jax.random.permutation(sub, n)
        for start in range(0, n - bs + 1, bs):
            yield tuple(a[perm[start:start + bs]] for a in arrays)
class RNN(eqx.Module):
    hidden: int = eqx.field(static=True)
    cell: eqx.nn.GRUCell
    linear: eqx.nn.Linear
    bias: jax.Array
    def __init__(self, i, o, h, *, key):
        ck, lk = jax.random.split(key)
        self.hidden, self.cell, self.linear, self.bias = h, eqx.nn.GRUCell(i, h, key=ck), eqx.nn.Linear(h, o, use_bias=False, key=lk), jnp.zeros(o)
    def __call__(self, xs):
        out, _ = lax.scan(lambda c, x: (self.cell(x, c), None), jnp.zeros(self.hidden), xs)
        return jax.nn.sigmoid(self.linear(out) + self.bias)
seed, bs, steps = 5, 8, 3
---
dk, lk, mk = jax.random.split(jax.random.PRNGKey(seed), 3)
xs, ys = spirals(16, dk)
loader = dataloader((xs, ys), bs, key=lk)
model = RNN(2, 1, 6, key=mk)
@eqx.filter_value_and_grad
def compute_loss(model, x, y):
    p = jax.vmap(model)(x)[:, 0]
    return -jnp.mean(y * jnp.log(p) + (1 - y) * jnp.log(1 - p))
@eqx.filter_jit
def make_step(model, x, y, opt_state):
    loss, grads = compute_loss(model, x, y)
    updates, opt_state = optim.update(grads, opt_state)
    return loss, eqx.apply_updates(model, updates), opt_state
optim = optax.adam(3e-2)
opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
for step, (x, y) in zip(range(steps), loader):
    loss, model, opt_state = make_step(model, x, y, opt_state)
    print(f"step={step}, loss={loss.item():.2f}")
acc = ((jax.vmap(model)(xs)[:, 0] > 0.5) == (ys == 1)).mean()
---
bs = 4
---
steps, seed = 5, 6

### kin-dataclass-pytree-by-hand-keys
@jtu.register_pytree_with_keys_class
@dataclass
class Carry:
    pos: Any
    vel: Any
    name: str = "p"
    def tree_flatten_with_keys(self):
        return ((jtu.GetAttrKey("pos"), self.pos), (jtu.GetAttrKey("vel"), self.vel)), (self.name,)
    @classmethod
    def tree_unflatten(cls, aux, kids):
        return cls(*kids, *aux)
    def __add__(self, other):
        return dataclasses.replace(self, pos=self.pos + other.pos, vel=self.vel + other.vel)
c, dt, k = Carry(jnp.ones(3), jnp.zeros(3)), 0.1, 2.0
---
def rhs(c):
    return Carry(c.vel, -k * c.pos, c.name)
def rk2(c, _):
    mid = jax.tree.map(lambda a, b: a + 0.5 * dt * b, c, rhs(c))
    new = jax.tree.map(lambda a, b: a + dt * b, c, rhs(mid))
    return new, {"e": 0.5 * (k * new.pos @ new.pos + new.vel @ new.vel)}
end, trace = lax.scan(rk2, c, length=6)
names = [jtu.keystr(p) for p, _ in jtu.tree_leaves_with_path(end)]
drift = trace["e"][-1] - trace["e"][0]
both = end + c
old, c = c, dataclasses.replace(end, name=end.name + "'")
print(names, c.name, both.name is old.name)
jax.tree.structure(end) == jax.tree.structure(c)
---
dt = 0.05
---
c = Carry(jnp.arange(2.0), jnp.ones(2), "q"); k = jnp.float32(3)

### kin-fsdp-rules-jit-in-shardings devices=8
X, y = toy(32, 8)
mesh_shape = (4, 2)
RULES = [("kernel", P(None, "model")), ("bias", P("model")), ("", P())]
---
mesh = jax.make_mesh(mesh_shape, ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
k1, k2 = jax.random.split(jax.random.key(0))
params = {"in": {"kernel": jax.random.normal(k1, (8, 16)) * 0.1, "bias": jnp.zeros(16)},
          "out": {"w": jax.random.normal(k2, (16,)) * 0.1}}
def spec_of(path, leaf):
    name = jtu.keystr(path)
    return NamedSharding(mesh, next(spec for pat, spec in RULES if pat in name))
shardings = jtu.tree_map_with_path(spec_of, params)
data = NamedSharding(mesh, P("data"))
params = jax.device_put(params, shardings)
def loss_fn(p, x, t):
    h = jnp.tanh(x @ p["in"]["kernel"] + p["in"]["bias"])
    return jnp.mean((h @ p["out"]["w"] - t) ** 2)
@partial(jax.jit, in_shardings=(shardings, data, data), out_shardings=(shardings, NamedSharding(mesh, P())), donate_argnums=0)
def train(p, x, t):
    l, g = jax.value_and_grad(loss_fn)(p, x, t)
    return jax.tree.map(lambda a, b: a - 0.1 * b, p, g), l
losses = []
for _ in range(3):
    params, l = train(params, jax.device_put(X, data), jax.device_put(y, data))
    losses.append(float(l))
specs = jax.tree.map(lambda a: str(a.sharding.spec), params)
print(specs, losses[0] > losses[-1])
params["in"]["kernel"].addressable_shards[0].data.shape
---
mesh_shape = (2, 4)
---
RULES.insert(0, ("bias", P()))

### kin-shard-map-grads-pmean-with-host-log devices=4
from jax import shard_map
X, y = toy(16)
mesh = Mesh(np.array(jax.devices()[:4]), ("dp",))
w, lr, log = jnp.zeros(4), 0.2, []
---
@jax.jit
@partial(shard_map, mesh=mesh, in_specs=(P(), P("dp"), P("dp")), out_specs=(P(), P(), P("dp")))
def step(w, xb, yb):
    def local(w):
        r = xb @ w - yb
        return jnp.mean(r * r)
    l, g = jax.value_and_grad(local)(jax.lax.pcast(w, "dp", to="varying"))
    g = lax.pmean(g, "dp")
    return w - lr * g, lax.pmean(l, "dp"), l[None]
xs, ys = (jax.device_put(a, NamedSharding(mesh, P("dp"))) for a in (X, y))
for it in range(3):
    w, loss, per_dev = step(w, xs, ys)
    spread = per_dev.max() - per_dev.min()
    log.append({"it": it, "loss": round(float(loss), 2), "worst": int(per_dev.argmax())})
log[-1], per_dev.sharding.spec, w.sharding.is_fully_replicated
---
lr = 0.05; log.clear()
---
w = np.zeros(4, np.float32); X, y = toy(32)

### kin-make-array-from-callback-loader devices=4
mesh = jax.make_mesh((4,), ("batch",), axis_types=(jax.sharding.AxisType.Auto,))
source = np.arange(64, dtype=np.float32).reshape(16, 4)
asked = []
class ShardedLoader:
    def __init__(self, arr, bs, sharding):
        self.arr, self.bs, self.sharding = arr, bs, sharding
    def __len__(self): return len(self.arr) // self.bs
    def __iter__(self):
        for i in range(len(self)):
            part = self.arr[i * self.bs:(i + 1) * self.bs]
            def cb(index, part=part):
                asked.append((index[0].start or 0) + i * self.bs)
                return part[index]
            yield jax.make_array_from_callback(part.shape, self.sharding, cb)
bs = 8
---
loader = ShardedLoader(source, bs, NamedSharding(mesh, P("batch")))
mean = jnp.zeros(4)
for n, batch in enumerate(loader, 1):
    mean = mean + (batch.mean(0) - mean) / n
    rows = [int(s.data[0, 0]) for s in batch.addressable_shards]
centered = batch - mean
asked_sorted = sorted(asked)
asked.clear()
print(n, rows, asked_sorted)
centered.sharding.spec, mean
---
bs = 4
---
source = np.vstack([source, source[::-1]]).astype(np.float16)

### kin-custom-vjp-straight-through-quant
X, y = toy(16)
bits, w = 3, jnp.linspace(-1, 1, 4)
calls = collections.Counter()
---
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def quant(v, bits):
    s = (2 ** bits - 1) / 2
    return jnp.round(v * s) / s
def fwd(v, bits):
    calls["fwd"] += 1
    return quant(v, bits), jnp.abs(v) <= 1
def bwd(bits, inside, ct):
    return (jnp.where(inside, ct, 0.0),)
quant.defvjp(fwd, bwd)
def loss(w):
    return jnp.mean((X @ quant(w, bits) - y) ** 2)
path = [w]
for _ in range(4):
    v, g = jax.value_and_grad(loss)(path[-1])
    path.append(path[-1] - 0.3 * g)
w_q = quant(path[-1], bits)
levels = np.unique(np.asarray(w_q)).size
print(f"{levels} levels, dead={int((g == 0).sum())}")
jnp.stack(path).shape, dict(calls)
---
bits = 2
---
w = 4 * w

### kin-custom-jvp-logsumexp-and-solve
A = jnp.array([[3.0, 1.0], [1.0, 2.0]])
b, temp = jnp.array([1.0, -1.0]), 0.5
---
@jax.custom_jvp
def smax(x, t):
    m = x.max()
    return m + t * jnp.log(jnp.sum(jnp.exp((x - m) / t)))
@smax.defjvp
def _(primals, tangents):
    (x, t), (dx, dt) = primals, tangents
    out, p = smax(x, t), jax.nn.softmax(x / t)
    return out, p @ dx + dt * (out - p @ x) / t
def fixed(theta):
    return lax.custom_linear_solve(lambda v: A @ v, b * theta, lambda mv, r: jnp.linalg.solve(A, r), symmetric=True)
sol = fixed(2.0)
val, (dx, dt) = jax.value_and_grad(smax, argnums=(0, 1))(sol, temp)
jac = jax.jacfwd(lambda th: smax(fixed(th), temp))(1.0)
check = (smax(sol, temp + 1e-2) - smax(sol, temp - 1e-2)) / 2e-2
ok = bool(jnp.allclose(dt, check, atol=1e-2))
ok, jac, type(val).__name__
---
temp = 1
---
temp = jnp.float32(0.25); b = b[::-1]

### kin-scan-with-closed-over-schedule-and-key-kinds
steps, base = 5, 0.1
key = jax.random.key(3)
---
new_style = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
sched = jnp.array([base * 0.5 ** (i // 2) for i in range(steps)])
target = jnp.array([1.0, -2.0])
def langevin(carry, inp):
    th, k = carry
    lr, i = inp
    k, sub = jax.random.split(k)
    noise = jax.random.normal(sub, th.shape)
    th = th - lr * (th - target) + jnp.sqrt(2 * lr) * 0.01 * noise
    return (th, k), (th, lax.cond(i % 2 == 0, lambda: th.sum(), lambda: jnp.float32(jnp.nan)))
(theta, key), (path, sums) = lax.scan(langevin, (jnp.zeros(2), key), (sched, jnp.arange(steps)))
seen = sums[~np.isnan(sums)]
data = jax.random.key_data(key) if new_style else key
print("typed" if new_style else "raw", key.shape, seen.shape)
key.dtype, data.dtype
---
key = jax.random.PRNGKey(3)
---
steps, key = 7, jax.random.key(0, impl="rbg")

### kin-haiku-resume-from-pickle needs=haiku,optax
import haiku as hk, optax
X, y = toy(16)
ckpt = Path("hk.pkl")
def net_fn(x, train):
    x = hk.Linear(6, name="enc")(x)
    x = hk.BatchNorm(True, True, 0.9)(jax.nn.silu(x), is_training=train)
    return hk.nets.MLP([4, 1], name="head")(x)[:, 0]
lr, epochs = 1e-2, 2
---
net = hk.without_apply_rng(hk.transform_with_state(net_fn))
tx = optax.rmsprop(lr)
if ckpt.is_file():
    payload = pickle.loads(ckpt.read_bytes())
    params, bn, start = jax.tree.map(jnp.asarray, payload["params"]), payload["bn"], payload["epoch"]
    msg = f"resumed from {start}"
else:
    (params, bn), start, msg = net.init(jax.random.PRNGKey(0), X, True), 0, "fresh"
opt_state = tx.init(params)
@jax.jit
def update(params, bn, opt_state):
    def loss(p):
        out, new = net.apply(p, bn, X, True)
        return jnp.mean(optax.huber_loss(out, y)), new
    (l, bn2), g = jax.value_and_grad(loss, has_aux=True)(params)
    up, opt_state = tx.update(g, opt_state, params)
    return optax.apply_updates(params, up), bn2, opt_state, l
for epoch in range(start, start + epochs):
    params, bn, opt_state, l = update(params, bn, opt_state)
with ckpt.open("wb") as f:
    pickle.dump({"params": jax.device_get(params), "bn": jax.device_get(bn), "epoch": epoch + 1}, f)
sizes = {f"{m}/{n}": v.size for m, n, v in hk.data_structures.traverse(params)}
msg, sorted(sizes)[0], epoch
---
ckpt.unlink(); lr = 1e-3
---
epochs = 1

### kin-orbax-standard-roundtrip-sharded needs=orbax.checkpoint devices=2
import orbax.checkpoint as ocp, shutil
root = Path("orb").absolute()
state = {"w": jnp.arange(8.0), "opt": {"mu": jnp.zeros(8), "count": jnp.int32(3)}}
tag = 0
---
mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
sh = NamedSharding(mesh, P("x"))
state = {**state, "w": jax.device_put(state["w"] * 2, sh)}
path = root / f"step_{tag}"
if path.exists():
    shutil.rmtree(path)
with ocp.StandardCheckpointer() as ck:
    ck.save(path, state)
    ck.wait_until_finished()
    abstract = jax.tree.map(ocp.utils.to_shape_dtype_struct, state)
    back = ck.restore(path, abstract)
same = jax.tree.map(lambda a, b: bool((a == b).all()) and a.sharding == b.sharding, state, back)
state["opt"]["count"] += 1
tag += 1
print(same, sorted(p.name for p in root.iterdir()))
back["w"].sharding.spec, back["opt"]["count"]
---
tag = 0
---
state["w"] = np.ones(4, np.float32)

### kin-numpyro-regression-laplace-and-predict needs=numpyro,optax
import numpyro, numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO, Predictive
from numpyro.infer.autoguide import AutoLaplaceApproximation, AutoDiagonalNormal
X, y = toy(20, 3)
def model(X, y=None, scale=1.0):
    b = numpyro.sample("b", dist.Normal(0, scale).expand([X.shape[1]]).to_event(1))
    s = numpyro.sample("s", dist.HalfNormal(1.0))
    with numpyro.plate("n", X.shape[0]):
        return numpyro.sample("y", dist.Normal(X @ b, s), obs=y)
Guide, scale = AutoDiagonalNormal, 1.0
---
guide = Guide(model)
svi = SVI(model, guide, numpyro.optim.Adam(0.05), Trace_ELBO(), scale=scale)
st = svi.init(jax.random.PRNGKey(0), X, y)
elbos = []
for i in range(4):
    st, l = svi.update(st, X, y)
    if i % 2: elbos.append(l)
params = svi.get_params(st)
median = guide.median(params)
draws = Predictive(model, guide=guide, params=params, num_samples=5)(jax.random.PRNGKey(1), X[:4])
report = {k: v.shape for k, v in draws.items()}
print(sorted(params), {k: np.round(v, 1).tolist() for k, v in median.items() if k == "s"})
report, jnp.stack(elbos).dtype
---
scale = 10.0
---
Guide = AutoLaplaceApproximation

### kin-cnn-mnist-like-data-augment-linen needs=flax,optax
import flax.linen as nn, optax
rng = np.random.default_rng(0)
images = rng.integers(0, 256, (24, 8, 8, 1), dtype=np.uint8)
labels = rng.integers(0, 3, 24)
class CNN(nn.Module):
    feats: tuple = (4,)
    act: Callable = nn.relu
    @nn.compact
    def __call__(self, x):
        for f in self.feats:
            x = self.act(nn.Conv(f, (3, 3))(x))
            x = nn.avg_pool(x, (2, 2), strides=(2, 2))
        return nn.Dense(3)(x.reshape(x.shape[0], -1))
net, flip = CNN(), True
---
def batches(n, epoch):
    order = np.random.default_rng(epoch).permutation(len(images))
    for idx in np.array_split(order, n):
        x = images[idx].astype(np.float32) / 255.0
        if flip and epoch % 2:
            x = x[:, :, ::-1]
        yield x, labels[idx]
params = net.init(jax.random.key(0), jnp.ones((1, 8, 8, 1)))
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1, nesterov=True, momentum=0.8))
opt = tx.init(params)
conf = np.zeros((3, 3), int)
for epoch in range(2):
    for xb, yb in batches(3, epoch):
        def loss_fn(p):
            logits = net.apply(p, xb)
            return optax.softmax_cross_entropy_with_integer_labels(logits, yb).mean(), logits
        (loss, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
        updates, opt = tx.update(grads, opt, params)
        params = optax.apply_updates(params, updates)
        np.add.at(conf, (yb, np.asarray(logits.argmax(-1))), 1)
print(conf.sum(1).tolist())
loss.shape, conf.dtype
---
flip = False
---
net = CNN(feats=(3, 4), act=nn.tanh)
---
images = images[:20]; labels = labels[:20]

### kin-vae-trainer-class-with-state-dict
X = toy(24, 6)[0]
class VAE:
    def __init__(self, d, z, seed=0):
        ks = jax.random.split(jax.random.key(seed), 3)
        self.p = OrderedDict(enc=jax.random.normal(ks[0], (d, 2 * z)) * 0.1, dec=jax.random.normal(ks[1], (z, d)) * 0.1)
        self.z, self._key, self.step = z, ks[2], 0
    @property
    def key(self):
        self._key, k = jax.random.split(self._key)
        return k
    def elbo(self, p, x, k, beta):
        mu, lv = jnp.split(x @ p["enc"], 2, -1)
        z = mu + jnp.exp(0.5 * lv) * jax.random.normal(k, mu.shape)
        rec = ((z @ p["dec"] - x) ** 2).sum(-1)
        kl = -0.5 * (1 + lv - mu ** 2 - jnp.exp(lv)).sum(-1)
        return (rec + beta * kl).mean(), {"rec": rec.mean(), "kl": kl.mean()}
    def state_dict(self):
        return {"p": {k: np.asarray(v) for k, v in self.p.items()}, "step": self.step}
    def load_state_dict(self, sd, strict=True):
        missing = self.p.keys() - sd["p"].keys()
        if missing and strict: raise KeyError(f"missing {sorted(missing)}")
        self.p.update({k: jnp.asarray(v) for k, v in sd["p"].items()}); self.step = sd["step"]
vae, z_dim, warm = VAE(6, 2), 2, 4
---
if vae.z != z_dim:
    vae = VAE(6, z_dim)
rows = []
for xb in np.split(X, 3):
    beta = min(1.0, vae.step / warm)
    (l, aux), g = jax.value_and_grad(vae.elbo, has_aux=True)(vae.p, xb, vae.key, beta)
    vae.p = OrderedDict((k, v - 0.05 * g[k]) for k, v in vae.p.items())
    vae.step += 1
    rows.append([beta, *(round(float(v), 1) for v in aux.values())])
sd = vae.state_dict()
bad = {"p": {"enc": sd["p"]["enc"]}, "step": 0}
other = VAE(6, z_dim, seed=1)
try:
    other.load_state_dict(bad)
except KeyError as e:
    note = str(e)
    other.load_state_dict(sd)
samples = jax.random.normal(vae.key, (2, z_dim)) @ other.p["dec"]
vae.p.move_to_end("enc")
print(rows, note, list(vae.p))
---
z_dim = 3
---
warm = 1; X = X[:12]

### kin-ppo-gae-rollout-minibatches
GAMMA, LAM, CLIP = 0.95, 0.9, 0.2
key = jax.random.PRNGKey(0)
theta = {"pi": jnp.zeros((3, 2)), "v": jnp.zeros(3)}
class Transition(NamedTuple):
    obs: Any; act: Any; logp: Any; val: Any; rew: Any; done: Any
def env_step(s, a, k):
    s = jnp.tanh(s + 0.3 * (2 * a - 1) * jnp.array([1.0, -1.0, 0.5]) + 0.1 * jax.random.normal(k, (3,)))
    return s, -jnp.abs(s).sum(), jnp.abs(s[0]) > 0.7
T = 8
---
def act(carry, k):
    s, th = carry
    ka, ke = jax.random.split(k)
    logits = s @ th["pi"]
    a = jax.random.categorical(ka, logits)
    s2, r, d = env_step(s, a, ke)
    tr = Transition(s, a, jax.nn.log_softmax(logits)[a], s @ th["v"], r, d)
    return (jnp.where(d, jnp.zeros(3), s2), th), tr
key, k = jax.random.split(key)
(last, _), traj = lax.scan(act, (jnp.ones(3) * 0.1, theta), jax.random.split(k, T))
def gae(c, t):
    g, nv = c
    delta = t.rew + GAMMA * nv * (1 - t.done) - t.val
    g = delta + GAMMA * LAM * (1 - t.done) * g
    return (g, t.val), g
_, adv = lax.scan(gae, (0.0, last @ theta["v"]), traj, reverse=True)
ret = adv + traj.val
def ppo(th, mb):
    t, a, r = mb
    lp = jnp.take_along_axis(jax.nn.log_softmax(t.obs @ th["pi"]), t.act[:, None], 1)[:, 0]
    ratio = jnp.exp(lp - t.logp)
    a = (a - a.mean()) / (a.std() + 1e-8)
    return -jnp.minimum(ratio * a, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * a).mean() + 0.5 * ((t.obs @ th["v"] - r) ** 2).mean()
for epoch in range(2):
    key, k = jax.random.split(key)
    perm = jax.random.permutation(k, T).reshape(2, -1)
    for idx in perm:
        mb = jax.tree.map(lambda x: x[idx], (traj, adv, ret))
        theta = jax.tree.map(lambda p, g: p - 0.1 * g, theta, jax.grad(ppo)(theta, mb))
done_at = np.flatnonzero(traj.done).tolist()
f"{len(done_at)} episodes", type(traj).__name__, adv.dtype
---
T = 12
---
CLIP = 0.05; GAMMA = jnp.float32(0.9)

### kin-transformer-block-kv-cache-decode
d, heads, vocab, n_new, temperature = 8, 2, 11, 4, 0.0
ks = iter(jax.random.split(jax.random.key(42), 8))
W = {n: jax.random.normal(next(ks), s) * 0.3 for n, s in [("emb", (vocab, d)), ("q", (d, d)), ("k", (d, d)), ("v", (d, d)), ("o", (d, d))]}
prompt = [1, 5, 2]
---
def attend(x_t, cache, pos):
    q, k, v = (rearr(x_t @ W[n]) for n in "qkv")
    K = lax.dynamic_update_index_in_dim(cache["K"], k, pos, 0)
    V = lax.dynamic_update_index_in_dim(cache["V"], v, pos, 0)
    s = jnp.einsum("hd,thd->ht", q, K) / math.sqrt(d // heads)
    s = jnp.where(jnp.arange(K.shape[0]) <= pos, s, -jnp.inf)
    out = jnp.einsum("ht,thd->hd", jax.nn.softmax(s), V).reshape(d)
    return x_t + out @ W["o"], {"K": K, "V": V}
rearr = lambda t: t.reshape(heads, d // heads)
L = len(prompt) + n_new
cache = {n: jnp.zeros((L, heads, d // heads)) for n in "KV"}
tokens, key = list(prompt), jax.random.key(0)
for pos in range(L - 1):
    h, cache = attend(W["emb"][tokens[pos]], cache, pos)
    if pos + 1 < len(prompt):
        continue
    logits = h @ W["emb"].T
    if temperature:
        key, sub = jax.random.split(key)
        nxt = int(jax.random.categorical(sub, logits / temperature))
    else:
        nxt = logits.argmax().item()
    tokens.append(nxt)
text = "".join(map(chr, (t + 97 for t in tokens)))
used = int((jnp.abs(cache["K"]).sum((1, 2)) > 0).sum())
print(len(text), used)
tokens[: len(prompt)] == prompt
---
temperature = 0.7
---
prompt = prompt + [3]; n_new = 2

### kin-optax-partition-labels-from-regex needs=optax
import optax, re
params = {"backbone": {"w": jnp.ones((3, 3)), "b": jnp.zeros(3)}, "head": {"w": jnp.full((3,), 0.5)}}
groups = {r"backbone/.*": optax.sgd(0.01), r"head/.*": optax.adam(0.1)}
X, y = toy(16, 3)
---
def label(path, _):
    name = "/".join(k.key for k in path)
    for pat in groups:
        if (m := re.fullmatch(pat, name)):
            return m.re.pattern
    return "frozen"
labels = jtu.tree_map_with_path(label, params)
tx = optax.partition({**groups, "frozen": optax.set_to_zero()}, labels)
st = tx.init(params)
before = params
for i in range(3):
    g = jax.grad(lambda p: jnp.mean((jax.nn.relu(X @ p["backbone"]["w"] + p["backbone"]["b"]) @ p["head"]["w"] - y) ** 2))(params)
    up, st = tx.update(g, st, params)
    params = optax.apply_updates(params, up)
moved = jax.tree.map(lambda a, b: float(jnp.abs(a - b).max()) > 0, params, before)
counts = optax.tree.get_all_with_path(st, "count")
print(moved, labels["head"]["w"], len(counts))
---
groups = {r"head/.*": optax.lion(1e-2)}
---
params = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)

### kin-callback-registry-raises-stop
class StopTraining(Exception): pass
EVENTS = defaultdict(list)
def on(event, every=1):
    def deco(fn):
        EVENTS[event].append((every, fn))
        return fn
    return deco
X, y = toy(16)
patience, limit = 2, 6
---
EVENTS.clear()
history = {"loss": [], "stopped": None}
@on("step_end")
def record(state): history["loss"].append(round(float(state.loss), 3))
@on("step_end", every=2)
def lr_decay(state): state.lr *= 0.5
@on("step_end")
def early(state):
    h = history["loss"]
    if len(h) > patience and min(h[-patience:]) >= h[-patience - 1] - 0.02:
        raise StopTraining(f"no gain after {len(h)}")
state = types.SimpleNamespace(w=jnp.zeros(4), lr=0.3, loss=None, step=0)
def fire(event):
    for every, fn in EVENTS[event]:
        if state.step % every == 0: fn(state)
try:
    while state.step < limit:
        state.step += 1
        state.loss, g = jax.value_and_grad(lambda w: jnp.mean((X @ w - y) ** 2))(state.w)
        state.w = state.w - state.lr * g
        fire("step_end")
except StopTraining as stop:
    history["stopped"] = str(stop)
else:
    history["stopped"] = "limit"
print(history["stopped"], state.step, [fn.__name__ for _, fn in EVENTS["step_end"]])
state.lr
---
patience = 1
---
limit = 12; patience = 3

### kin-nnx-split-merge-npz-state-surgery needs=flax
from flax import nnx
class Block(nnx.Module):
    def __init__(self, n, *, rngs):
        self.lin = nnx.Linear(n, n, rngs=rngs)
        self.gain = nnx.Param(jnp.ones(n))
        self.calls = nnx.BatchStat(jnp.int32(0))
    def __call__(self, x):
        self.calls[...] += 1
        return x + self.gain * jnp.tanh(self.lin(x))
class Stack(nnx.Module):
    def __init__(self, n, depth, *, rngs):
        self.blocks = nnx.List([Block(n, rngs=rngs) for _ in range(depth)])
    def __call__(self, x):
        for b in self.blocks: x = b(x)
        return x
X = toy(4, 3)[0]
model, drop = Stack(3, 2, rngs=nnx.Rngs(0)), ()
---
out = model(X)
graphdef, params, rest = nnx.split(model, nnx.Param, ...)
flat = {"/".join(map(str, k)): np.asarray(v.get_value()) for k, v in nnx.to_flat_state(params)}
np.savez("m.npz", **{k.replace("/", "__"): v for k, v in flat.items() if not k.endswith(tuple(drop) or "\0")})
with np.load("m.npz") as held:
    loaded = {tuple(int(p) if p.isdigit() else p for p in k.split("__")): v for k, v in held.items()}
fresh = Stack(3, 2, rngs=nnx.Rngs(1))
fstate = nnx.to_flat_state(nnx.state(fresh, nnx.Param))
new = {k: v.replace(jnp.asarray(loaded[k])) if k in loaded else v for k, v in fstate}
nnx.update(fresh, nnx.from_flat_state(new))
twin = nnx.merge(graphdef, params, rest)
gap = jnp.abs(fresh(X) - out).max()
counts = [int(b.calls[...]) for b in model.blocks], [int(b.calls[...]) for b in fresh.blocks]
print(sorted(flat)[:2], counts, bool(gap == 0), len(new) - len(loaded))
---
drop = ("gain",)
---
model.blocks[0].gain[...] = jnp.zeros(3); drop = ()

### kin-eqx-ensemble-serialise-header-evaluated needs=equinox
import equinox as eqx
X, y = toy(12)
class Head(eqx.Module):
    layers: list
    scale: jax.Array
    act: Callable = eqx.field(static=True)
    def __init__(self, width, act=jax.nn.softplus, *, key):
        a, b = jax.random.split(key)
        self.layers = [eqx.nn.Linear(4, width, key=a), eqx.nn.LayerNorm(width), eqx.nn.Linear(width, "scalar", key=b)]
        self.scale, self.act = jnp.array(1.0), act
    def __call__(self, x):
        for l in self.layers[:-1]: x = self.act(l(x))
        return self.scale * self.layers[-1](x)
hyper = {"width": 5}
def make(*, key, width): return Head(width, key=key)
n = 3
---
keys = jax.random.split(jax.random.key(0), n)
ens = eqx.filter_vmap(lambda k: make(key=k, **hyper))(keys)
@eqx.filter_jit
def predict(m, X): return jax.vmap(m)(X)
preds = eqx.filter_vmap(predict, in_axes=(eqx.if_array(0), None))(ens, X)
with open("ens.eqx", "wb") as f:
    f.write((json.dumps(hyper) + "\n").encode())
    eqx.tree_serialise_leaves(f, ens)
with open("ens.eqx", "rb") as f:
    like = eqx.filter_eval_shape(eqx.filter_vmap(lambda k: make(key=k, **json.loads(f.readline().decode()))), keys)
    back = eqx.tree_deserialise_leaves(f, like)
one = jax.tree.map(lambda a: a[0] if eqx.is_array(a) else a, back)
frozen = eqx.tree_at(lambda m: (m.scale, m.layers[-1].bias), one, replace_fn=jnp.zeros_like)
same = eqx.tree_equal(ens, back)
print(same, preds.std(0).shape, float(jax.vmap(frozen)(X).sum()))
one.act is jax.nn.softplus, sum(l.size for l in jax.tree.leaves(eqx.filter(one, eqx.is_array)))
---
hyper["width"] = 3
---
n = 2; hyper = {"width": 4}

### kin-mesh-tree-moved-between-layouts devices=8
tree = {"emb": np.arange(32, dtype=np.float32).reshape(8, 4), "ln": (np.ones(4, np.float32), np.zeros(4, np.float32)), "n": 3}
layout = ("fsdp", "tp")
---
mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("fsdp", "tp"))
def to(spec_fn, t):
    return jax.tree.map(lambda a: jax.device_put(a, NamedSharding(mesh, spec_fn(a))) if np.ndim(a) else a, t)
sharded = to(lambda a: P(*layout) if a.ndim == 2 else P(), tree)
flipped = to(lambda a: P(*layout[::-1]) if a.ndim == 2 else P(None), sharded)
with mesh:
    score = jax.jit(lambda t: jnp.einsum("ij,j->i", t["emb"], t["ln"][0]) + t["n"])(flipped)
where = {str(s.device.id): s.index[0].start or 0 for s in flipped["emb"].addressable_shards}
host = jax.tree.map(np.asarray, flipped)
equal = all(np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (tree, host))))
moved = flipped["emb"].sharding == sharded["emb"].sharding
nbytes = sum(s.data.nbytes for s in sharded["emb"].addressable_shards)
tree["n"] += 1
print(equal, moved, nbytes, where["0"], where["7"])
score
---
layout = ("fsdp", None)
---
tree["emb"] = np.ones((16, 4), np.float32); layout = (None, "tp")

### kin-jit-static-config-frozen-dataclass
@dataclass(frozen=True)
class Cfg:
    depth: int = 2
    act: str = "relu"
    residual: bool = True
    def __post_init__(self):
        if self.depth < 1: raise ValueError("depth")
X, y = toy(8)
cfgs = [Cfg(), Cfg(depth=3)]
traces = []
---
@partial(jax.jit, static_argnames=("cfg",))
def forward(w, x, *, cfg):
    traces.append(cfg)
    for i in range(cfg.depth):
        h = getattr(jax.nn, cfg.act)(x @ w[i % len(w)])
        x = x + h if cfg.residual else h
    return x.sum(-1)
ws = [jnp.eye(4) * s for s in (0.1, 0.2)]
table = {}
for cfg in cfgs + cfgs[:1] + [Cfg()]:
    out = forward(ws, X, cfg=cfg)
    table[cfg] = float(jnp.mean((out - y) ** 2))
try:
    dataclasses.replace(cfg, depth=0)
except ValueError as e:
    bad = e.args
winner = min(table, key=table.get)
unique = len(set(traces))
traces.clear()
print(unique, winner, bad, len(table))
---
cfgs = [Cfg(act="tanh", residual=False)]
---
cfgs *= 2; ws = None

### kin-lr-range-test-then-real-run needs=optax
import optax
X, y = toy(32)
lo, hi, n = 1e-3, 2.0, 6
---
def run(tx, steps, w=None):
    w = jnp.zeros(4) if w is None else w
    st = tx.init(w)
    @jax.jit
    def one(w, st):
        l, g = jax.value_and_grad(lambda w: jnp.mean((X @ w - y) ** 2))(w)
        u, st = tx.update(g, st, w)
        return optax.apply_updates(w, u), st, l
    for _ in range(steps):
        w, st, l = one(w, st)
        yield w, st, l
ratio = (hi / lo) ** (1 / (n - 1))
tx = optax.inject_hyperparams(optax.sgd)(learning_rate=lambda c: lo * ratio ** c)
finder = [(float(st.hyperparams["learning_rate"]), float(l)) for _, st, l in run(tx, n)]
best_lr = min(finder, key=lambda p: p[1])[0] / 3
*_, (w, st, final) = run(optax.adam(optax.warmup_cosine_decay_schedule(0, best_lr, 2, 5)), 5)
bars = [f"{lr:7.3f} {'#' * min(10, int(l * 5))}" for lr, l in finder]
print(*bars[:2], sep="\n")
diverged = any(not math.isfinite(l) or l > finder[0][1] for _, l in finder)
diverged, optax.tree.get(st, "mu").shape, len(bars)
---
hi = 50.0
---
n = 4; lo = np.float32(1e-2)

### kin-contrastive-queue-momentum-encoder
rng = np.random.default_rng(2)
views = rng.normal(size=(6, 2, 4, 5)).astype(np.float32)
K, m, tau = 8, 0.9, 0.2
---
enc = {"w": jax.random.normal(jax.random.key(0), (5, 3)) * 0.5}
mom = jax.tree.map(jnp.copy, enc)
q_buf, ptr = deque(maxlen=K), 0
def embed(p, v):
    z = v @ p["w"]
    return z / (jnp.linalg.norm(z, axis=-1, keepdims=True) + 1e-6)
def info_nce(p, a, k, negs):
    q = embed(p, a)
    pos = jnp.sum(q * k, -1, keepdims=True)
    neg = q @ negs.T if len(negs) else jnp.zeros((len(q), 0))
    logits = jnp.concatenate([pos, neg], 1) / tau
    return -jax.nn.log_softmax(logits)[:, 0].mean(), logits.shape[1]
widths = []
for a, b in views:
    k = embed(mom, b)
    negs = jnp.stack(q_buf) if q_buf else jnp.zeros((0, 3))
    (loss, width), g = jax.value_and_grad(info_nce, has_aux=True)(enc, a, k, negs)
    enc = jax.tree.map(lambda p, d: p - 0.1 * d, enc, g)
    mom = jax.tree.map(lambda s, p: m * s + (1 - m) * p, mom, enc)
    q_buf.extend(k)
    ptr = (ptr + len(k)) % K
    widths.append(width)
print(widths, ptr, len(q_buf))
oldest, *_ = q_buf
oldest, type(widths[0])
---
K = 6
---
views = views[:3]; tau = jnp.array(0.5)

### kin-beam-search-with-heapq-and-length-penalty
import heapq
T = jax.random.normal(jax.random.key(1), (6, 6))
beam, max_len, eos, alpha = 2, 4, 5, 0.6
---
logp = jax.nn.log_softmax(T, -1)
@dataclass(order=True)
class Hyp:
    score: float
    toks: tuple = field(compare=False)
    @property
    def done(self): return self.toks[-1] == eos
live, finished, expanded = [Hyp(0.0, (0,))], [], 0
for t in range(max_len):
    pool = []
    for h in live:
        row = logp[h.toks[-1]]
        vals, idx = lax.top_k(row, beam)
        for v, i in zip(vals.tolist(), idx.tolist()):
            heapq.heappush(pool, Hyp(-(h.score - v) if False else h.score + v, h.toks + (i,)))
            expanded += 1
    best = heapq.nlargest(beam, pool)
    finished += [h for h in best if h.done]
    live = [h for h in best if not h.done]
    if not live: break
norm = lambda h: h.score / ((5 + len(h.toks)) / 6) ** alpha
ranked = sorted(finished + live, key=norm, reverse=True)
seqs = ["-".join(map(str, h.toks)) for h in ranked]
greedy = [0]
while greedy[-1] != eos and len(greedy) <= max_len:
    greedy.append(int(logp[greedy[-1]].argmax()))
print(seqs[0], greedy, expanded)
max(len(h.toks) for h in ranked)
---
beam = 3
---
T = T.at[:, eos].add(2.0); alpha = 0

### kin-normalising-flow-coupling-layers-closures
rng = np.random.default_rng(0)
data = rng.normal(size=(32, 2)).astype(np.float32) * [1.0, 0.3] + [0, 1]
n_layers, lr, iters = 2, 0.05, 3
---
def coupling(flip):
    def fwd(p, z):
        a, b = (z[..., ::-1] if flip else z).T
        s, t = jnp.tanh(p["s"][0] * a + p["s"][1]), p["t"][0] * a + p["t"][1]
        out = jnp.stack([a, b * jnp.exp(s) + t], -1)
        return (out[..., ::-1] if flip else out), s
    def inv(p, x):
        a, b = (x[..., ::-1] if flip else x).T
        s, t = jnp.tanh(p["s"][0] * a + p["s"][1]), p["t"][0] * a + p["t"][1]
        out = jnp.stack([a, (b - t) * jnp.exp(-s)], -1)
        return (out[..., ::-1] if flip else out), -s
    return fwd, inv
layers = [coupling(bool(i % 2)) for i in range(n_layers)]
params = [{"s": jnp.zeros(2), "t": jnp.zeros(2)} for _ in layers]
def logprob(params, x):
    ld = 0.0
    for (_, inv), p in reversed(list(zip(layers, params))):
        x, s = inv(p, x)
        ld = ld + s
    return -0.5 * (x ** 2).sum(-1) - math.log(2 * math.pi) + ld
nlls = []
for _ in range(iters):
    l, g = jax.value_and_grad(lambda p: -logprob(p, data).mean())(params)
    params = jax.tree.map(lambda a, b: a - lr * b, params, g)
    nlls.append(l)
z = jax.random.normal(jax.random.key(5), (4, 2))
xs = functools.reduce(lambda v, lp: lp[0][0](lp[1], v)[0], zip(layers, params), z)
print(data.dtype, bool(nlls[-1] < nlls[0]))
nlls[-1].dtype, xs.shape
---
n_layers = 3
---
data = data.astype(np.float32); iters = 2

### kin-haiku-multi-transform-actor-critic needs=haiku
import haiku as hk
obs = toy(6, 3)[0]
sizes = [4]
---
def build():
    torso = hk.nets.MLP(sizes, activate_final=True, name="torso")
    pi, v = hk.Linear(2, name="pi"), hk.Linear(1, w_init=hk.initializers.Constant(0.0), name="v")
    def policy(o): return pi(torso(o))
    def value(o): return v(torso(o))[..., 0]
    def init(o): return policy(o), value(o)
    return init, (policy, value)
net = hk.multi_transform(build)
params = net.init(jax.random.PRNGKey(0), obs)
policy, value = (lambda p, o, f=f: f(p, None, o) for f in net.apply)
def loss(p, adv):
    lp = jax.nn.log_softmax(policy(p, obs))
    return -(lp[:, 0] * adv).mean() + ((value(p, obs) - adv) ** 2).mean()
adv = jnp.asarray(obs).sum(1)
g = jax.grad(loss)(params, adv)
actor, critic = hk.data_structures.partition(lambda m, n, v: m.startswith("pi"), g)
merged = hk.data_structures.merge(actor, critic)
params = jax.tree.map(lambda p, d: p - 0.1 * d, params, merged)
names = [m for m, *_ in hk.data_structures.traverse(params)]
print(sorted(set(names)), hk.data_structures.tree_size(params))
value(params, obs).shape
---
sizes.append(3)
---
obs = jnp.asarray(obs, jnp.bfloat16); sizes = [2]

### kin-orbax-manager-restore-latest-policy needs=orbax.checkpoint
import orbax.checkpoint as ocp
root = Path("mgr").absolute()
w, step, keep, crash = jnp.zeros(4), 0, 2, False
---
with ocp.CheckpointManager(root, options=ocp.CheckpointManagerOptions(max_to_keep=keep, save_interval_steps=2, enable_async_checkpointing=False)) as mgr:
    if (latest := mgr.latest_step()) is not None:
        restored = mgr.restore(latest, args=ocp.args.Composite(state=ocp.args.StandardRestore({"w": w}), meta=ocp.args.JsonRestore()))
        w, step = restored["state"]["w"], restored["meta"]["step"] + 1
    saved = []
    try:
        for step in range(step, step + 4):
            w = w + jnp.arange(4.0) / (step + 1)
            if crash and step % 3 == 2: raise KeyboardInterrupt(step)
            if mgr.save(step, args=ocp.args.Composite(state=ocp.args.StandardSave({"w": w}), meta=ocp.args.JsonSave({"step": step}))):
                saved.append(step)
    except KeyboardInterrupt as e:
        saved.append(-e.args[0])
    steps_kept = sorted(mgr.all_steps())
print("latest", latest, "saved", saved, "kept", steps_kept)
w.sum()
---
crash = True
---
keep, crash = 1, False

### kin-gp-hyperparameters-x64-cholesky x64
rng = np.random.default_rng(4)
Xtr = np.sort(rng.uniform(-2, 2, 10)); ytr = np.sin(Xtr) + 0.05 * rng.normal(size=10)
theta = {"log_l": jnp.zeros(()), "log_n": jnp.array(-2.0)}
kernels = {"rbf": lambda d: jnp.exp(-0.5 * d ** 2), "matern": lambda d: (1 + jnp.sqrt(3.0) * d) * jnp.exp(-jnp.sqrt(3.0) * d)}
kind, iters = "rbf", 3
---
k = kernels[kind]
def gram(a, b, th): return k(jnp.abs(a[:, None] - b) / jnp.exp(th["log_l"]))
def nlml(th):
    K = gram(Xtr, Xtr, th) + jnp.exp(2 * th["log_n"]) * jnp.eye(len(Xtr))
    L, low = jax.scipy.linalg.cho_factor(K, lower=True)
    a = jax.scipy.linalg.cho_solve((L, low), ytr)
    return 0.5 * ytr @ a + jnp.log(jnp.diag(L)).sum()
trace = []
for i in range(iters):
    v, g = jax.value_and_grad(nlml)(theta)
    if (gn := float(jnp.hypot(*g.values()))) < 1e-3: break
    theta = {n: t - 0.02 * g[n] for n, t in theta.items()}
    trace.append((i, gn > 1))
Xs = jnp.linspace(-2, 2, 5)
Ks = gram(Xs, Xtr, theta)
mean = Ks @ jnp.linalg.solve(gram(Xtr, Xtr, theta) + 1e-2 * jnp.eye(len(Xtr)), ytr)
sketch = ["".join("*" if round((m + 1) * 4) == c else "." for c in range(9)) for m in mean.tolist()]
print("\n".join(sketch))
mean.dtype, len(trace)
---
kind = "matern"
---
Xtr, ytr = Xtr.astype(np.float32), ytr.astype(np.float32)

### kin-grad-accumulation-microbatches-remat
X, y = toy(24)
micro, total_steps, use_remat = 4, 2, True
W = [jnp.eye(4) * 0.5, jnp.ones((4, 1)) * 0.1]
---
def net(W, x):
    layer = jax.checkpoint(lambda w, h: jnp.sin(h @ w)) if use_remat else (lambda w, h: jnp.sin(h @ w))
    return layer(W[1], layer(W[0], x))[:, 0]
def micro_grads(W, xb, yb):
    def body(acc, mb):
        l, g = jax.value_and_grad(lambda W: jnp.mean((net(W, mb[0]) - mb[1]) ** 2))(W)
        return jax.tree.map(jnp.add, acc, (l, g)), l
    zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, W))
    split = jax.tree.map(lambda a: a.reshape(micro, -1, *a.shape[1:]), (xb, yb))
    (l, g), each = lax.scan(body, zero, split)
    return jax.tree.map(lambda v: v / micro, (l, g)), each
jitted = jax.jit(micro_grads)
old = list(W)
for s in range(total_steps):
    (loss, G), each = jitted(W, X, y)
    W = [w - 0.2 * g for w, g in zip(W, G)]
text = str(jax.make_jaxpr(micro_grads)(W, X, y))
full = jax.grad(lambda W: jnp.mean((net(W, X) - y) ** 2))(old)
counts = {p: text.count(p + "[") > 0 for p in ("scan", "remat", "checkpoint", "while")}
print(counts, each.shape)
[f.shape for f in full], old[0] is not W[0]
---
micro = 3
---
use_remat = False; W = W[:]

### kin-tree-summary-table-with-paths
params = {"enc": [{"w": jnp.ones((3, 4)), "b": jnp.zeros(4)}, {"w": jnp.ones((4, 2), jnp.bfloat16)}], "step": 3, "name": None}
unit = "B"
---
def human(n):
    for u in ("B", "KB", "MB"):
        if n < 64 or u == unit: return f"{n:g}{u}"
        n /= 64
total = collections.Counter()
rows = []
for path, leaf in jtu.tree_leaves_with_path(params):
    name = jtu.keystr(path, simple=True, separator=".")
    if isinstance(leaf, jax.Array):
        total[str(leaf.dtype)] += leaf.size
        rows.append((name, "x".join(map(str, leaf.shape)), leaf.dtype.name, human(leaf.nbytes), f"{leaf.mean():.2f}"))
    else:
        rows.append((name, "-", type(leaf).__name__, "", repr(leaf)))
widths = [max(map(len, col)) for col in zip(*rows)]
lines = [" | ".join(c.ljust(w) for c, w in zip(r, widths)) for r in rows]
table = "\n".join([*lines, "=" * len(lines[0])])
params["step"] += 1
print(table)
total.most_common(1), params["enc"][0]["w"].mean()
---
unit = "KB"
---
params["enc"].append({"w": np.zeros((2, 2))}); del params["name"]

### kin-pipeline-stages-on-devices-with-queue devices=4
X = toy(8)[0]
stages, splits = 3, 4
---
devs = jax.devices()[:stages]
ws = [jax.device_put(jnp.eye(4) * (i + 1) * 0.5, d) for i, d in enumerate(devs)]
qs = [queue.SimpleQueue() for _ in range(stages + 1)]
for mb in np.array_split(X, splits):
    qs[0].put(jax.device_put(mb, devs[0]))
qs[0].put(None)
hops = collections.Counter()
for i, w in enumerate(ws):
    while (h := qs[i].get()) is not None:
        out = jnp.tanh(h @ w)
        hops[i, out.device.id] += 1
        qs[i + 1].put(jax.device_put(out, devs[i + 1]) if i + 1 < stages else out)
    qs[i + 1].put(None)
res = []
while (r := qs[-1].get()) is not None:
    res.append(r)
y = jnp.concatenate(res)
try:
    clash = ws[0] + ws[-1]
    err = None
except ValueError as e:
    err = type(e).__name__
print(dict(hops), err, y.devices() == {devs[-1]})
y.shape
---
splits = 2
---
stages = 1

### kin-bayes-optimisation-loop-frame needs=pandas
import pandas as pd
def objective(lr, wd): return float((math.log10(lr) + 1.5) ** 2 + 3 * wd)
trials = pd.DataFrame([(0.1, 0.0), (0.001, 0.1)], columns=["lr", "wd"])
trials["score"] = [objective(*r) for r in trials.itertuples(index=False)]
rounds, kappa = 2, 1.0
---
cand = pd.DataFrame(list(itertools.product([1e-3, 1e-2, 1e-1], [0.0, 0.1])), columns=["lr", "wd"])
enc = lambda f: jnp.stack([jnp.log10(f["lr"].to_numpy()), 10 * jnp.asarray(f["wd"].to_numpy())], 1)
def posterior(f, c):
    A, B, t = enc(f), enc(c), jnp.asarray(f["score"].to_numpy())
    k = lambda a, b: jnp.exp(-0.5 * ((a[:, None] - b[None]) ** 2).sum(-1))
    Kinv = jnp.linalg.inv(k(A, A) + 1e-2 * jnp.eye(len(f)))
    Ks = k(B, A)
    return Ks @ Kinv @ (t - t.mean()) + t.mean(), jnp.sqrt(jnp.maximum(1 - jnp.einsum("ij,jk,ik->i", Ks, Kinv, Ks), 1e-6))
for r in range(rounds):
    mu, sd = posterior(trials, cand)
    lcb = (mu - kappa * sd).round(3)
    pick = cand.iloc[int(lcb.argmin())]
    trials.loc[len(trials)] = [*pick, objective(**pick)]
best = trials.nsmallest(1, "score").iloc[0].to_dict()
trials["rank"] = trials["score"].rank(method="first").astype(int)
print(len(trials), best["lr"])
trials = trials.drop(columns="rank")
sd.dtype, list(trials)
---
kappa = 0.0
---
trials = trials.head(3); rounds = 1

### kin-registered-dataclass-agent-saved-by-pickle
@partial(jtu.register_dataclass, data_fields=["q", "visits"], meta_fields=["actions"])
@dataclass
class Agent:
    q: Any
    visits: Any
    actions: tuple = ("l", "r")
    def act(self, s, eps, key):
        k1, k2 = jax.random.split(key)
        return jnp.where(jax.random.uniform(k1) < eps, jax.random.randint(k2, (), 0, len(self.actions)), self.q[s].argmax())
path = Path("agent.pkl")
eps, episodes = 0.3, 2
---
if path.exists():
    agent = jax.tree.map(jnp.asarray, pickle.loads(path.read_bytes()))
else:
    agent = Agent(jnp.zeros((5, 2)), jnp.zeros((5, 2), jnp.int32))
key, lengths, route = jax.random.key(int(agent.visits.sum())), [], []
for ep in range(episodes):
    s, t = 2, 0
    while 0 < s < 4 and t < 6:
        key, sub = jax.random.split(key)
        a = agent.act(s, eps, sub).item()
        s2 = s + (1 if agent.actions[a] == "r" else -1)
        target = float(s2 == 4) + 0.9 * agent.q[s2].max() * (s2 not in (0, 4))
        agent = dataclasses.replace(agent, q=agent.q.at[s, a].add(0.5 * (target - agent.q[s, a])), visits=agent.visits.at[s, a].add(1))
        s, t = s2, t + 1
        route.append(agent.actions[a])
    lengths.append(t)
path.write_bytes(pickle.dumps(jax.device_get(agent)))
policy = "".join(agent.actions[i] for i in agent.q.argmax(1).tolist())
print("".join(route), lengths, policy)
int(agent.visits.sum()) == len(route), agent.q.max()
---
eps = 0.0
---
path.unlink(); episodes = 3

### kin-eval-in-middle-swaps-params-context needs=optax
import optax
X, y = toy(24)
class Averaged:
    def __init__(self, params, decay): self.live, self.decay, self.avg, self.n = params, decay, params, 0
    def update(self, new):
        self.live, self.n = new, self.n + 1
        d = min(self.decay, (1 + self.n) / (10 + self.n))
        self.avg = optax.incremental_update(new, self.avg, 1 - d)
    @contextlib.contextmanager
    def swapped(self):
        backup, self.live = self.live, self.avg
        try: yield self.live
        finally: self.live = backup
decay, fail_at = 0.99, None
---
box = Averaged({"w": jnp.zeros(4)}, decay)
tx = optax.chain(optax.add_decayed_weights(1e-3), optax.trace(0.9), optax.scale_by_learning_rate(0.05))
opt = tx.init(box.live)
loss = lambda p, sl: jnp.mean(jnp.abs(X[sl] @ p["w"] - y[sl]))
evals, errors = {}, []
for step, lo in enumerate(range(0, 16, 4)):
    up, opt = tx.update(jax.grad(loss)(box.live, slice(lo, lo + 4)), opt, box.live)
    box.update(optax.apply_updates(box.live, up))
    if step % 2:
        try:
            with box.swapped() as p:
                if step == fail_at: raise LookupError("eval set is gone")
                evals[step] = loss(p, slice(16, None)), loss(box.live, slice(16, None))
        except LookupError as e:
            errors.append(e.args[0])
pairs = [bool(a == b) for a, b in evals.values()]
gap = jnp.abs(box.avg["w"] - box.live["w"]).max()
print(pairs, errors, box.n, box.live is box.avg)
gap > 0
---
fail_at = 3
---
decay = 0.0

### kin-pallas-free-tiled-matmul-fori-and-at
A = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
B = np.random.default_rng(1).normal(size=(4, 6)).astype(np.float32)
tile, dtype = 2, jnp.float32
---
def tiled(a, b):
    m, k = a.shape
    n = b.shape[1]
    def outer(i, C):
        def inner(j, C):
            def acc(l, s):
                ta = lax.dynamic_slice(a, (i * tile, l * tile), (tile, tile))
                tb = lax.dynamic_slice(b, (l * tile, j * tile), (tile, tile))
                return s + jnp.matmul(ta, tb, preferred_element_type=jnp.float32)
            return lax.dynamic_update_slice(C, lax.fori_loop(0, k // tile, acc, jnp.zeros((tile, tile))), (i * tile, j * tile))
        return lax.fori_loop(0, n // tile, inner, C)
    return lax.fori_loop(0, m // tile, outer, jnp.zeros((m, n)))
a, b = jnp.asarray(A, dtype), jnp.asarray(B, dtype)
C = jax.jit(tiled)(a, b)
ref = a @ b
err = jnp.abs(C - ref).max()
C = C.at[::2].multiply(2).at[0, 0].set(jnp.inf).at[-1].apply(jnp.abs)
good = jnp.isfinite(C).sum().item()
diag = C.at[jnp.arange(3), jnp.arange(3)].get()
try:
    C[0, 0] = 1
except TypeError as e:
    said = str(e)[:30]
print(bool(err < 0.1), good, said)
ref.dtype, diag[1:]
---
dtype = jnp.float16
---
A, tile = np.vstack([A, A]), 1
""",
)
