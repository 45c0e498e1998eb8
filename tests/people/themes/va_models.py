"""Models, optimisers, samplers and solvers of the libraries on JAX, by functions of theirs that others seldom use."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, functools, itertools, json, math, operator, pickle, random
from functools import partial
from typing import Any, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
import optax
"""

CELLS = written(
    PRELUDE,
    r"""
### va-nnx-eval-shape-abstract-model-then-filled-by-hand needs=flax
from flax import nnx
class Net(nnx.Module):
    def __init__(self, d, rngs):
        self.l1 = nnx.Linear(3, d, rngs=rngs); self.l2 = nnx.Linear(d, 1, use_bias=False, rngs=rngs)
    def __call__(self, x): return self.l2(jnp.sin(self.l1(x)))
x = jnp.ones((2, 3)); d = 4
---
abstract = nnx.eval_shape(lambda: Net(d, nnx.Rngs(0)))
graphdef, state = nnx.split(abstract)
shapes = {"/".join(map(str, p)): v.get_value().shape for p, v in nnx.to_flat_state(state)}
filled = jax.tree.map(lambda s: jnp.full(s.shape, 0.1, s.dtype), state)
net = nnx.merge(graphdef, filled)
y = net(x)
print(shapes, type(net).__name__, net.l2.bias)
y
---
d = 2
---
x = x * 2

### va-nnx-variable-metadata-hooks-and-own-variable-type needs=flax
from flax import nnx
class Mask(nnx.Variable): pass
seen = []
def on_set(var, value): seen.append(jnp.shape(value)); return jnp.clip(value, 0.0, 1.0)
class Sparse(nnx.Module):
    def __init__(self, rngs):
        self.w = nnx.Param(jax.random.normal(rngs.params(), (4,)), tag="kernel")
        self.m = Mask(jnp.ones(4), on_set_value=on_set)
    def __call__(self, x): return jnp.sum(x * self.w[...] * self.m[...])
    def prune(self, frac):
        thr = jnp.quantile(jnp.abs(self.w[...]), frac)
        self.m.set_value(jnp.where(jnp.abs(self.w[...]) > thr, 2.0, 0.0))
net = Sparse(nnx.Rngs(3)); x = jnp.arange(4.0)
---
before = net(x)
net.prune(0.5)
after = net(x)
g = nnx.grad(lambda n: n(x))(net)
tags = [v.get_metadata().get("tag") for _, v in nnx.to_flat_state(nnx.state(net, nnx.Param))]
print(net.m[...].tolist(), tags, sorted(g), len(seen) > 0)
before - after
---
net.w[...] = jnp.array([1.0, -9.0, 2.0, 3.0])
---
seen.clear(); net.m.set_value(jnp.ones(4))

### va-nnx-cached-partial-train-step-and-iter-graph-counts needs=flax
from flax import nnx
model = nnx.Sequential(nnx.Linear(2, 3, rngs=nnx.Rngs(0)), nnx.relu, nnx.Linear(3, 1, rngs=nnx.Rngs(1)))
opt = nnx.Optimizer(model, optax.sgd(0.05, momentum=0.9), wrt=nnx.Param)
X, y = jnp.array([[0.0, 1.0], [1.0, 1.0], [2.0, -1.0]]), jnp.array([1.0, 2.0, 1.0])
@nnx.jit
def step(model, opt, X, y):
    loss, g = nnx.value_and_grad(lambda m: jnp.mean((m(X)[:, 0] - y) ** 2))(model)
    opt.update(model, g)
    return loss
---
fast = nnx.cached_partial(step, model, opt)
losses = [fast(X, y) for _ in range(4)]
kinds = collections.Counter(type(v).__name__ for _, v in nnx.iter_graph(model))
print(losses[-1] < losses[0], kinds["Param"], opt.step[...].item() > 0)
losses[-1], model.layers[0].kernel[...]
---
y = -y
---
opt = nnx.Optimizer(model, optax.sgd(0.01, momentum=0.9), wrt=nnx.Param)

### va-nnx-bridge-linen-module-inside-nnx-and-back needs=flax
from flax import nnx, linen as nn
from flax.nnx import bridge
class Old(nn.Module):
    feats: int
    @nn.compact
    def __call__(self, x):
        n = self.variable("stats", "n", lambda: jnp.zeros((), int))
        if not self.is_initializing(): n.value += 1
        return nn.Dense(self.feats)(x)
x = jnp.arange(6.0).reshape(2, 3); feats = 2
---
m = bridge.ToNNX(Old(feats), rngs=nnx.Rngs(0)).lazy_init(x)
a = m(x)
b = m(x * 2)
names = sorted(k for k in vars(m) if not k.startswith("_"))
params = nnx.state(m, nnx.Param)
print(len(jax.tree.leaves(params)), a.shape, "stats" in str(names) or len(names) > 0)
b - a
---
feats = 1

### va-linen-bind-put-variable-share-scope-and-clone needs=flax
import flax.linen as nn
class Base(nn.Module):
    d: int = 3
    def setup(self): self.enc = nn.Dense(self.d); self.count = self.variable("c", "n", lambda: jnp.zeros(()))
    def encode(self, x): return jnp.tanh(self.enc(x))
    def __call__(self, x):
        self.put_variable("c", "n", self.get_variable("c", "n") + 1) if self.is_mutable_collection("c") else None
        return self.encode(x).sum(-1)
model = Base(); x = jnp.ones((2, 4)); vs = model.init(jax.random.key(0), x)
---
y, upd = model.apply(vs, x, mutable=["c"])
vs = {**vs, **upd}
bound = model.bind(vs)
h = bound.encode(x)
mod, un = bound.unbind()
wide = model.clone(d=5)
vw = wide.init(jax.random.key(1), x)
print(float(upd["c"]["n"]) == float(vs["c"]["n"]), jax.tree.map(jnp.shape, vw["params"]), mod == model, wide.d)
h - un["params"]["enc"]["bias"], y
---
x = x * 0.5
---
model = Base(d=2); vs = model.init(jax.random.key(2), x)

### va-linen-capture-intermediates-filter-and-tabulated-params needs=flax
import flax.linen as nn
class Deep(nn.Module):
    widths: tuple = (4, 3)
    @nn.compact
    def __call__(self, x, train=False):
        for i, w in enumerate(self.widths):
            x = nn.Dense(w, name=f"d{i}")(x)
            x = nn.Dropout(0.5, deterministic=not train)(nn.gelu(x))
        return x
model = Deep(); x = jnp.ones((1, 2)); v = model.init(jax.random.key(0), x); seed = 0
---
f = lambda mdl, name: isinstance(mdl, nn.Dense) and name == "__call__"
y, st = model.apply(v, x, capture_intermediates=f, mutable=["intermediates"])
acts = {k: s["__call__"][0] for k, s in st["intermediates"].items() if k != "__call__"}
z = model.apply(v, x, train=True, rngs={"dropout": jax.random.key(seed)})
dead = {k: float((a <= 0).mean()) for k, a in acts.items()}
print(sorted(acts), dead, z.shape, float(jnp.mean(z == 0)) >= 0)
y - acts["d1"]
---
seed = 4
---
model = Deep((2,)); v = model.init(jax.random.key(1), x)

### va-flax-traverse-cursor-and-serialization-of-trees needs=flax
from flax import traverse_util, serialization
from flax.core import freeze, unfreeze
from flax.cursor import cursor
params = {"enc": {"w": jnp.ones((2, 2)), "b": jnp.zeros(2)}, "head": {"w": jnp.arange(2.0)}}
---
flat = traverse_util.flatten_dict(params, sep=".")
decay = traverse_util.path_aware_map(lambda p, v: v * 0.9 if p[-1] == "w" else v, params)
cur = cursor(freeze(params))
cur["enc"]["b"] += 1
new = cur.build()
blob = serialization.to_bytes(params)
back = serialization.from_bytes(jax.tree.map(jnp.zeros_like, params), blob)
sd = serialization.to_state_dict(new)
print(list(flat), type(new).__name__, len(blob) > 50, type(back["enc"]["w"]).__name__, sorted(sd))
decay["enc"]["w"] + back["enc"]["w"], new["enc"]["b"]
---
params["head"]["scale"] = jnp.float32(2.0)
---
params["enc"] = unfreeze(new)["enc"]

### va-flax-early-stopping-object-and-dynamic-scale-object needs=flax
from flax.training.early_stopping import EarlyStopping
from flax.training import dynamic_scale as ds
es = EarlyStopping(min_delta=1e-2, patience=1); scale = ds.DynamicScale(growth_interval=2, scale=2.0 ** 4)
X, y = jnp.arange(6.0).reshape(3, 2) / 5, jnp.array([0.0, 1.0, 0.0]); w = jnp.zeros(2)
---
hist = []
for ep in range(8):
    scale, ok, loss, g = scale.value_and_grad(lambda w: jnp.mean((X @ w - y) ** 2))(w)
    w = jnp.where(ok, w - 0.3 * g, w)
    es = es.update(loss)
    hist.append((es.has_improved, es.patience_count))
    if es.should_stop: break
print(ep, hist[-1], type(es.best_metric).__name__, scale.scale.dtype, bool(ok))
es.best_metric, scale.scale
---
es = es.reset()
---
es = EarlyStopping(patience=3); w = jnp.ones(2)

### va-eqx-field-converter-checked-and-abstract-classvar needs=equinox
import equinox as eqx
class Affine(eqx.Module):
    w: jax.Array = eqx.field(converter=jnp.asarray)
    scale: float = eqx.field(static=True, default=2.0)
    name: str = "aff"
    def __check_init__(self):
        if self.w.ndim != 1: raise ValueError(f"ndim {self.w.ndim}")
    @property
    def norm(self): return jnp.linalg.norm(self.w)
    def __call__(self, x): return self.w * x * self.scale
vals = [1.0, 2.0, -1.0]; x = jnp.float32(0.5)
---
m = Affine(vals)
try: Affine(np.ones((2, 2)))
except ValueError as e: msg = str(e)
m2 = eqx.tree_at(lambda t: (t.w, t.name), m, (m.w * 2, "twice"))
m3 = dataclasses.replace(m2, scale=0.5)
g = eqx.filter_grad(lambda m: jnp.sum(m(x) ** 2))(m3)
print(msg, m2.name, m3, g.scale, g.name, eqx.tree_equal(m, m2))
m3.norm, g.w
---
vals.append(4)
---
x = 2

### va-eqx-enumeration-filter-cond-and-checkpointed-while needs=equinox
import equinox as eqx
import equinox.internal as eqxi
class Status(eqx.Enumeration):
    ok = "all good"
    slow = "too many steps"
target, cap = jnp.float32(5.0), 30
---
def cond(c): return (jnp.abs(c[0] ** 2 - target) > 1e-4) & (c[1] < cap)
def body(c): return 0.5 * (c[0] + target / c[0]), c[1] + 1
def root(t):
    x, n = eqxi.while_loop(lambda c: (jnp.abs(c[0] ** 2 - t) > 1e-4) & (c[1] < cap),
                           lambda c: (0.5 * (c[0] + t / c[0]), c[1] + 1), (jnp.float32(1.0), 0),
                           kind="checkpointed", max_steps=32)
    return x, n
(x, n), gx = root(target), jax.grad(lambda t: root(t)[0])(target)
st = Status.where(n < cap, Status.ok, Status.slow)
print(bool(st == Status.ok), Status[st], type(st).__name__, n.dtype)
x, gx * 2 * x
---
target = jnp.float32(50.0)
---
cap = 3

### va-eqx-filter-hessian-jacrev-and-closure-convert-of-bound-method needs=equinox
import equinox as eqx
mlp = eqx.nn.MLP(2, 2, 4, 1, activation=jnp.tanh, key=jax.random.key(0)); x = jnp.array([0.3, -0.2])
---
J = eqx.filter_jacrev(lambda v: mlp(v))(x)
Jf = eqx.filter_jacfwd(mlp)(x)
H = eqx.filter_hessian(lambda v: mlp(v).sum())(x)
arrs, rest = eqx.partition(mlp, eqx.is_inexact_array)
n = sum(a.size for a in jax.tree.leaves(arrs))
lin = lambda v: mlp(x) + J @ (v - x)
frozen = eqx.combine(jax.tree.map(lax.stop_gradient, arrs), rest)
g = eqx.filter_grad(lambda m: m(x).sum())(frozen)
print(n, bool(jnp.allclose(J, Jf, atol=1e-5)), H.shape, type(g).__name__, g.activation)
lin(x + 0.1) - mlp(x + 0.1), jnp.diag(H)
---
mlp = eqx.tree_at(lambda m: m.layers[0].weight, mlp, replace_fn=lambda w: w * 2)
---
x = x * 0

### va-eqx-spectral-and-weight-norm-with-state-threaded needs=equinox
import equinox as eqx
class Disc(eqx.Module):
    sn: eqx.nn.SpectralNorm
    wn: eqx.nn.WeightNorm
    def __init__(self, key):
        k1, k2, k3 = jax.random.split(key, 3)
        self.sn = eqx.nn.SpectralNorm(eqx.nn.Linear(3, 3, key=k1), "weight", key=k2)
        self.wn = eqx.nn.WeightNorm(eqx.nn.Linear(3, 1, key=k3), "weight")
    def __call__(self, x, state):
        x, state = self.sn(x, state)
        return self.wn(jax.nn.leaky_relu(x))[0], state
model, state = eqx.nn.make_with_state(Disc)(jax.random.key(0)); X = jax.random.normal(jax.random.key(1), (4, 3))
---
outs = []
for x in X:
    y, state = model(x, state)
    outs.append(y)
infer = eqx.nn.inference_mode(model)
z, same = infer(X[0], state)
g = eqx.filter_grad(lambda m: m(X[0], state)[0])(model)
print(len(outs), type(state).__name__, g.wn.g.shape if hasattr(g.wn, "g") else None)
z, outs[-1]
---
X = X[:2] * 3
---
model, state = eqx.nn.make_with_state(Disc)(jax.random.key(5))

### va-optax-perturbed-argmax-and-hungarian-matching
scores = jnp.array([[3.0, 1.0, 0.5], [2.0, 2.5, 0.1], [0.2, 0.3, 1.0]])
---
i, j = optax.assignment.hungarian_algorithm(-scores)
match = {int(a): int(b) for a, b in zip(i, j)}
hard = lambda s: jax.nn.one_hot(jnp.argmax(s, -1), s.shape[-1])
soft = optax.perturbations.make_perturbed_fun(hard, num_samples=20, sigma=0.5)
P = soft(jax.random.key(0), scores)
g = jax.grad(lambda s: jnp.sum(soft(jax.random.key(0), s)[:, 0]))(scores)
print(match, P.shape, bool(jnp.allclose(P.sum(-1), 1, atol=1e-4)), g.shape)
scores[i, j].sum(), P
---
scores = scores.T
---
scores = scores.at[0, 0].set(-1.0)

### va-optax-own-extra-args-transform-with-conditional-and-masked-partition
class NoiseState(NamedTuple):
    count: jax.Array
    last: Any
def noisy(scale):
    def init(p): return NoiseState(jnp.zeros((), jnp.int32), jnp.float32(0))
    def update(u, s, params=None, *, loss=None, **_):
        k = jax.random.fold_in(jax.random.key(0), s.count)
        leaves, td = jax.tree.flatten(u)
        u = td.unflatten([l + scale * loss * jax.random.normal(kk, l.shape)
                          for kk, l in zip(jax.random.split(k, len(leaves)), leaves)])
        return u, NoiseState(optax.safe_increment(s.count), loss)
    return optax.GradientTransformationExtraArgs(init, update)
params = {"w": jnp.ones(3), "frozen": {"e": jnp.zeros(2)}}
where = lambda kp, _: "no" if "frozen" in jax.tree_util.keystr(kp) else "go"
labels = lambda p: jax.tree_util.tree_map_with_path(where, p)
opt = optax.chain(noisy(0.01), optax.partition({"go": optax.adam(0.1), "no": optax.set_to_zero()}, labels))
st = opt.init(params)
---
for k in range(3):
    loss, g = jax.value_and_grad(lambda p: sum(jnp.sum((l - 2) ** 2) for l in jax.tree.leaves(p)))(params)
    up, st = opt.update(g, st, params, loss=loss)
    params = optax.apply_updates(params, up)
counts = [l.item() for l in jax.tree.leaves(st) if l.dtype == jnp.int32]
print(counts[0] % 3, len(counts), type(st[0]).__name__, params["frozen"]["e"].tolist())
params["w"], st[0].last
---
params["w"] = params["w"] * 5
---
st = opt.init(params)

### va-optax-schedules-composed-plotted-and-injected-callable
sched = optax.join_schedules([optax.linear_schedule(0.0, 0.2, 3), optax.cosine_decay_schedule(0.2, 5, 0.1),
                              optax.piecewise_constant_schedule(0.02, {2: 0.5})], [3, 8])
opt = optax.inject_hyperparams(optax.sgd)(learning_rate=sched, momentum=0.5)
w = jnp.array([2.0, -1.0]); st = opt.init(w); steps = 4
---
curve = [float(sched(i)) for i in range(0, 12, 3)]
lrs = []
for _ in range(steps):
    up, st = opt.update(jax.grad(lambda w: jnp.sum(w ** 2))(w), st)
    w = optax.apply_updates(w, up)
    lrs.append(st.hyperparams["learning_rate"])
st.hyperparams["momentum"] = jnp.maximum(st.hyperparams["momentum"] * 0.9, 0.1)
arr = jax.vmap(sched)(jnp.arange(12))
print([round(c, 4) for c in curve], int(st.count) % steps, lrs[0].dtype, arr.argmax())
w, jnp.stack(lrs)
---
st = opt.init(w)
---
steps = 2

### va-numpyro-log-density-reparam-and-site-tables needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro import handlers
from numpyro.infer.reparam import LocScaleReparam
from numpyro.infer.util import log_density
y = jnp.array([1.0, 0.5, -0.3])
def model(y=None, tau_scale=1.0):
    mu = numpyro.sample("mu", dist.Normal(0, 2)); tau = numpyro.sample("tau", dist.HalfNormal(tau_scale))
    with numpyro.plate("j", 3):
        th = numpyro.sample("th", dist.Normal(mu, tau))
        numpyro.deterministic("th2", th ** 2)
        numpyro.sample("y", dist.Normal(th, 1.0), obs=y)
---
rep = handlers.reparam(model, config={"th": LocScaleReparam(0)})
tr = handlers.trace(handlers.seed(rep, jax.random.key(0))).get_trace(y)
rows = [(n, s["type"], s.get("is_observed", False), jnp.shape(s["value"])) for n, s in tr.items()
        if s["type"] in ("sample", "deterministic")]
vals = {"mu": 0.1, "tau": 0.8, "th": y * 0.5}
lp, tr2 = log_density(model, (y,), {"tau_scale": 2.0}, vals)
g = jax.grad(lambda m: log_density(model, (y,), {}, {**vals, "mu": m})[0])(0.1)
print([r[0] for r in rows], rows[-1][2:], sorted(tr2))
lp, g
---
y = y * 2
---
vals = None; y = jnp.zeros(3)

### va-numpyro-predictive-hpdi-ess-and-transforms-by-hand needs=numpyro
import numpyro.distributions as dist
from numpyro.distributions import transforms as T, constraints as C, biject_to
from numpyro.diagnostics import hpdi, effective_sample_size, gelman_rubin, autocorrelation
chains = np.asarray(jax.random.normal(jax.random.key(0), (2, 50))).cumsum(1) * 0.1
---
lo, hi = hpdi(chains.ravel(), 0.8)
ess, rh = effective_sample_size(chains), gelman_rubin(chains)
u = jnp.array([0.3, -0.4])
cons = {"simplex": C.simplex, "pos": C.positive, "ord": C.ordered_vector, "int": C.interval(-1, 2)}
maps = {n: biject_to(c) for n, c in cons.items()}
out = {n: t(u) for n, t in maps.items()}
ld = {n: t.log_abs_det_jacobian(u, out[n]).sum() for n, t in maps.items()}
d = dist.TransformedDistribution(dist.Normal(0, 1), [T.AffineTransform(1.0, 2.0), T.ExpTransform()])
print(type(lo).__name__, out["simplex"].sum().round(3), bool(hi > lo), ess.shape, sorted(ld))
d.log_prob(out["pos"]), ld["simplex"], out["ord"]
---
chains = chains[:, :20]

### va-numpyro-scan-ar-model-conditioned-and-forecast needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro import handlers
from numpyro.contrib.control_flow import scan
y = jnp.array([0.5, 0.7, 0.2, -0.1, 0.3]); fut = 2
def model(y, n):
    a = numpyro.sample("a", dist.Uniform(-1, 1)); s = numpyro.sample("s", dist.HalfNormal(1.0))
    def step(prev, _):
        z = numpyro.sample("y", dist.Normal(a * prev, s))
        return z, z
    with handlers.condition(data={"y": y}):
        _, path = scan(step, 0.0, jnp.arange(n))
    return path
---
path = handlers.seed(handlers.substitute(model, {"a": 0.5, "s": jnp.float32(0.3)}), jax.random.key(1))(y, len(y) + fut)
tr = handlers.trace(handlers.seed(model, 2)).get_trace(y, len(y))
lp = sum(s["fn"].log_prob(s["value"]).sum() for s in tr.values() if s["type"] == "sample" and s["is_observed"])
print(path.shape, bool((path[:5] == y).all()), sorted(n for n, s in tr.items() if s["type"] == "sample"))
path[-1], lp
---
fut = 3
---
y = y[:3]

### va-diffrax-manual-stepping-loop-with-solver-state needs=diffrax
import diffrax as dfx
term = dfx.ODETerm(lambda t, y, a: jnp.stack([y[1], -a * y[0]]))
solver, a, y0, dt = dfx.Tsit5(), 2.0, jnp.array([1.0, 0.0]), 0.1
---
t, y = 0.0, y0
st = solver.init(term, t, t + dt, y, a)
log = []
while t < 0.45:
    y, err, dense, st, res = solver.step(term, t, t + dt, y, a, st, made_jump=False)
    t = t + dt
    log.append((round(t, 3), jnp.abs(err).max()))
energy = 0.5 * y[1] ** 2 + 0.5 * a * y[0] ** 2
print(len(log), log[-1][0], sorted(dense)[0], bool(res == dfx.RESULTS.successful))
y, energy
---
a = 5.0
---
solver = dfx.Heun(); dt = 0.05

### va-diffrax-saveat-subs-progress-free-and-stats-table needs=diffrax
import diffrax as dfx
f = dfx.ODETerm(lambda t, y, p: {"u": p["r"] * y["u"] * (1 - y["u"]) - y["v"] * y["u"],
                                 "v": 0.3 * y["u"] * y["v"] - 0.1 * y["v"]})
y0 = {"u": jnp.float32(0.2), "v": jnp.float32(0.5)}; p = {"r": 1.2}
both = dfx.SubSaveAt(ts=jnp.linspace(0, 2, 4), fn=lambda t, y, a: y["u"] + y["v"])
save = dfx.SaveAt(subs=[both, dfx.SubSaveAt(t1=True)])
---
rows = []
for s in (dfx.Heun(), dfx.Tsit5()):
    sol = dfx.diffeqsolve(f, s, 0.0, 2.0, 0.1, y0, p, saveat=save,
                          stepsize_controller=dfx.PIDController(1e-3, 1e-5), max_steps=200)
    tot, last = sol.ys
    rows.append((type(s).__name__, int(sol.stats["num_accepted_steps"]) > 2, tot.shape, sorted(last)))
gr = jax.grad(lambda r: dfx.diffeqsolve(f, dfx.Tsit5(), 0.0, 1.0, 0.1, y0, {"r": r}, max_steps=32).ys["u"][0])(1.2)
print(rows)
jnp.round(tot, 3), jnp.round(gr, 3)
---
p["r"] = 0.5
---
y0["u"] = 0.9

### va-optimistix-bisection-newton-chord-agree-and-results-enumerated needs=optimistix
import optimistix as optx
f = lambda x, a: x ** 3 - a; a = jnp.float32(2.0)
solvers = {"newton": optx.Newton(1e-5, 1e-5), "chord": optx.Chord(1e-4, 1e-4), "bis": optx.Bisection(1e-5, 1e-5)}
---
out = {}
for n, s in solvers.items():
    opts = {"lower": 0.0, "upper": 4.0} if n == "bis" else None
    sol = optx.root_find(f, s, jnp.float32(1.2), a, options=opts, throw=False, max_steps=60)
    out[n] = (sol.value, sol.result == optx.RESULTS.successful, int(sol.stats["num_steps"]))
da = jax.grad(lambda a: optx.root_find(f, solvers["newton"], jnp.float32(1.2), a).value)(a)
print({k: (bool(v[1]), v[2] < 60) for k, v in out.items()})
jnp.stack([v[0] for v in out.values()]), da
---
a = jnp.float32(20.0)
---
del solvers["chord"]

### va-lineax-tridiagonal-diagonal-composed-and-jacobian-operators needs=lineax
import lineax as lx
n = 5; d, lo, up = jnp.full(n, 4.0), jnp.full(n - 1, -1.0), jnp.full(n - 1, -0.5); b = jnp.arange(1.0, n + 1)
---
T = lx.TridiagonalLinearOperator(d, lo, up)
D = lx.DiagonalLinearOperator(d)
sols = [lx.linear_solve(op, b, s).value for op, s in ((T, lx.Tridiagonal()), (D, lx.Diagonal()), (T, lx.LU()),
                                                       (T + 0.5 * D, lx.GMRES(1e-5, 1e-5)),
                                                       (D @ T, lx.AutoLinearSolver(well_posed=True)))]
J = lx.JacobianLinearOperator(lambda x, _: jnp.sin(x) * 0.1 + T.mv(x), b)
step = lx.linear_solve(lx.linearise(J), b, lx.GMRES(1e-5, 1e-5)).value
tags = (lx.is_tridiagonal(T), lx.is_diagonal(D), lx.is_symmetric(T), T.in_size())
print(tags, bool(jnp.allclose(sols[0], sols[2], atol=1e-4)), lx.materialise(T.T).as_matrix()[1, 0])
sols[0] - sols[4] * d, step
---
d = d + jnp.arange(n)
---
b = b[::-1]

### va-haiku-custom-getter-creator-and-name-scopes needs=haiku
import haiku as hk
seen = []
def f(x, half=False):
    def creator(nxt, shape, dtype, init, ctx): seen.append(ctx.full_name); return nxt(shape, dtype, init)
    def getter(nxt, value, ctx): return nxt(value * (0.5 if half else 1.0))
    with hk.custom_creator(creator), hk.custom_getter(getter), hk.name_scope("outer"):
        h = hk.nets.MLP([3, 1], name="m")(x)
        s = hk.get_parameter("s", [], init=hk.initializers.Constant(2.0))
    return h * s + hk.get_state("n", [], init=jnp.zeros)
t = hk.without_apply_rng(hk.transform_with_state(f)); x = jnp.ones((2, 2))
---
params, state = t.init(jax.random.key(0), x)
y, state = t.apply(params, state, x)
yh, _ = t.apply(params, state, x, half=True)
heads, rest = hk.data_structures.partition(lambda m, n, v: n == "b", params)
print(seen[-5:], sorted(params), hk.data_structures.tree_size(heads), len(list(hk.data_structures.traverse(rest))))
y - yh
---
x = x * 3
---
seen.clear()

### va-haiku-vector-quantizer-ema-and-intercepted-methods needs=haiku
import haiku as hk
calls = collections.Counter()
def count(nxt, args, kw, ctx): calls[ctx.method_name] += 1; return nxt(*args, **kw)
def net(x, train):
    with hk.intercept_methods(count):
        z = hk.Linear(2)(x)
        q = hk.nets.VectorQuantizerEMA(2, 3, 0.25, 0.9)(z, is_training=train)
    return q["quantize"], q["loss"], q["encoding_indices"]
t = hk.transform_with_state(net); X = jax.random.normal(jax.random.key(0), (6, 4))
params, state = t.init(jax.random.key(1), X, True)
---
(q, loss, idx), state = t.apply(params, state, None, X, True)
(_, l2, idx2), _ = t.apply(params, state, None, X, False)
use = jnp.bincount(idx, length=3)
print(sorted(calls), int(use.sum()), idx.dtype, len(state))
loss, l2
---
X = X * 2
---
calls.clear(); params, state = t.init(jax.random.key(7), X, True)

### va-orbax-standard-restore-to-abstract-with-shardings needs=orbax.checkpoint devices=4
import orbax.checkpoint as ocp, pathlib
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:4]), ("d",))
tree = {"w": jax.device_put(jnp.arange(8.0), NamedSharding(mesh, P("d"))), "n": 3}
---
path = pathlib.Path("ck").resolve() / "a"
with ocp.StandardCheckpointer() as ck:
    ck.save(path, {"w": tree["w"] * 2, "n": tree["n"]}, force=True)
    ck.wait_until_finished()
    target = {"w": jax.ShapeDtypeStruct((8,), jnp.bfloat16, sharding=NamedSharding(mesh, P())), "n": 0}
    got = ck.restore(path, target)
print(got["w"].dtype, got["w"].sharding.spec, got["n"], type(got["n"]).__name__)
names = sorted(p.name for p in path.parent.iterdir())
got["w"] - tree["w"]
---
tree["n"] = 4
---
tree["w"] = tree["w"] + 1

### va-orbax-manager-best-metric-and-custom-metadata needs=orbax.checkpoint
import orbax.checkpoint as ocp, pathlib
opts = ocp.CheckpointManagerOptions(max_to_keep=2, best_fn=lambda m: m["loss"], best_mode="min", create=True)
w = jnp.array([3.0, -2.0]); base = 0
---
with ocp.CheckpointManager(pathlib.Path("mgr").resolve(), options=opts) as mngr:
    start = (mngr.latest_step() or 0) + 1
    for s in range(start, start + 3):
        w = w - 0.2 * jax.grad(lambda w: jnp.sum(w ** 2))(w)
        mngr.save(s, args=ocp.args.Composite(p=ocp.args.StandardSave({"w": w}), j=ocp.args.JsonSave({"s": s})),
                  metrics={"loss": float(jnp.sum(w ** 2))})
    mngr.wait_until_finished()
    best = mngr.best_step()
    want = ocp.args.Composite(p=ocp.args.StandardRestore({"w": jnp.zeros(2)}), j=ocp.args.JsonRestore())
    back = mngr.restore(best, args=want)
    steps = sorted(mngr.all_steps())
print(start, best, steps, back["j"])
back["p"]["w"] - w
---
w = jnp.array([10.0, 1.0])

### va-jaxtyping-annotations-checked-by-isinstance-and-parsed needs=jaxtyping
from jaxtyping import Array, Float, Int, PyTree, Shaped, jaxtyped
KINDS = {"mat": Float[Array, "a b"], "vec": Float[Array, "a"], "idx": Int[Array, "..."], "np": Float[np.ndarray, "n"]}
def kind(v):
    for n, t in KINDS.items():
        if isinstance(v, t): return n
    return type(v).__name__
@jaxtyped(typechecker=None)
def mv(A: Float[Array, "m n"], x: Float[Array, "n"]) -> Float[Array, "m"]: return A @ x
items = [jnp.ones((2, 3)), jnp.ones(3), jnp.arange(2), np.ones(2), 3.0]
---
kinds = [kind(v) for v in items]
y = mv(items[0], items[1])
k2 = kind(y), kind(y.sum()), kind(y.argmax()), isinstance({"a": y}, PyTree[Float[Array, "m"]])
print(kinds, k2, mv.__annotations__["x"].dim_str)
y
---
items.append(jnp.zeros(0, jnp.bool_))
---
items[1] = jnp.ones(3, jnp.bfloat16)

### va-attrs-frozen-config-evolved-and-tree-of-slots-classes needs=attrs
import attrs
@attrs.frozen
class Cfg:
    lr: float = attrs.field(default=0.1, validator=attrs.validators.gt(0))
    dims: tuple = attrs.field(factory=lambda: (2, 1), converter=tuple)
@attrs.define
class Run:
    cfg: Cfg
    w: Any = attrs.field(init=False, repr=lambda w: str(w.shape), eq=attrs.cmp_using(eq=jnp.array_equal))
    losses: list = attrs.Factory(list)
    def __attrs_post_init__(self): self.w = jnp.full(self.cfg.dims, 0.5)
    def fit(self, X, n):
        for _ in range(n):
            l, g = jax.value_and_grad(lambda w: jnp.mean((X @ w - 1) ** 2))(self.w)
            self.w = self.w - self.cfg.lr * g; self.losses.append(l)
        return self
cfg, X = Cfg(dims=[2, 1]), jnp.array([[1.0, 0.0], [0.5, 2.0]])
---
a = Run(cfg).fit(X, 2)
b = Run(attrs.evolve(cfg, lr=0.3)).fit(X, 2)
try: attrs.evolve(cfg, lr=-1.0)
except ValueError as e: bad = type(e).__name__
print(a == b, bad, repr(a).split("losses")[0], attrs.asdict(b.cfg), len(a.losses))
a.w - b.w, b.losses[-1]
---
cfg = attrs.evolve(cfg, dims=(2, 3))
---
X = X * 0.1

### va-train-loop-with-tqdm-write-and-running-postfix-ema needs=tqdm
from tqdm.auto import trange, tqdm
import io
class Ema:
    def __init__(self, b): self.b, self.v, self.n = b, 0.0, 0
    def __call__(self, x):
        self.n += 1; self.v = self.b * self.v + (1 - self.b) * x
        return self.v / (1 - self.b ** self.n)
ema = Ema(0.9); w = jnp.array([1.0, 2.0]); sink = io.StringIO()
---
with trange(4, file=sink, disable=True, desc="fit") as bar:
    for i in bar:
        loss, g = jax.value_and_grad(lambda w: jnp.sum(jnp.cosh(w)))(w)
        w = w - 0.1 * g
        bar.set_postfix(loss=f"{ema(loss):.3f}", refresh=False)
        if i == 2: tqdm.write(f"at {i}: {float(loss):.3f}", file=sink)
print(bar.disable, sink.getvalue(), ema.n % 4, type(ema.v).__name__)
ema.v, w
---
ema = Ema(0.5)
---
w = w * 3

### va-train-state-subclass-with-extra-fields-and-callable-loss-choice needs=flax
from flax.training import train_state
from flax import struct, linen as nn
class TS(train_state.TrainState):
    ema: Any
    stats: dict = struct.field(pytree_node=False, default_factory=dict)
    beta: float = struct.field(pytree_node=False, default=0.9)
    def apply_gradients(self, *, grads, **kw):
        new = super().apply_gradients(grads=grads, **kw)
        return new.replace(ema=jax.tree.map(lambda e, p: self.beta * e + (1 - self.beta) * p, self.ema, new.params))
model = nn.Dense(1); x = jnp.arange(6.0).reshape(3, 2) / 3; y = jnp.array([[1.0], [0.0], [2.0]])
p = model.init(jax.random.key(0), x)["params"]
st = TS.create(apply_fn=model.apply, params=p, tx=optax.adamw(0.05), ema=p)
loss_name = "l2"
---
losses = {"l2": lambda a, b: optax.l2_loss(a, b).mean(), "huber": lambda a, b: optax.huber_loss(a, b).mean()}
for _ in range(3):
    l, g = jax.value_and_grad(lambda p: losses[loss_name](st.apply_fn({"params": p}, x), y))(st.params)
    st = st.apply_gradients(grads=g)
st.stats[loss_name] = st.stats.get(loss_name, 0) + 1
gap = optax.tree.norm(optax.tree.sub(st.ema, st.params))
print(int(st.step) % 3, sorted(st.stats), type(st.step).__name__, st.beta)
l, gap
---
loss_name = "huber"
---
st = st.replace(beta=0.5)

### va-vit-like-patches-with-einsum-and-positional-table-interpolated
class Params(NamedTuple):
    embed: jax.Array
    pos: jax.Array
    blocks: tuple
    head: jax.Array
def init(key, d=4, n=4, depth=2):
    ks = jax.random.split(key, depth + 3)
    blk = lambda k: {"qkv": jax.random.normal(k, (3, d, d)) * 0.3, "mlp": jax.random.normal(k, (2, d, d)) * 0.3}
    emb, pos = jax.random.normal(ks[0], (4, d)), jax.random.normal(ks[1], (n, d)) * 0.1
    return Params(emb, pos, tuple(blk(k) for k in ks[3:]), jax.random.normal(ks[2], (d, 3)))
def patches(img, p=2):
    H, W = img.shape
    return img.reshape(H // p, p, W // p, p).transpose(0, 2, 1, 3).reshape(-1, p * p)
def forward(P, img):
    x = patches(img) @ P.embed
    pos = P.pos if len(P.pos) == len(x) else jax.image.resize(P.pos, (len(x), P.pos.shape[1]), "linear")
    x = x + pos
    for b in P.blocks:
        q, k, v = jnp.einsum("nd,cde->cne", x, b["qkv"])
        x = x + jax.nn.softmax(q @ k.T / 2.0) @ v
        x = x + jax.nn.gelu(x @ b["mlp"][0]) @ b["mlp"][1]
    return x.mean(0) @ P.head
P = init(jax.random.key(0)); img = jnp.arange(16.0).reshape(4, 4) / 16
---
logits = forward(P, img)
big = forward(P, jnp.kron(img, jnp.ones((2, 2))))
g = jax.grad(lambda P: -jax.nn.log_softmax(forward(P, img))[1])(P)
down = lambda p, g: p - 0.1 * g
P2 = P._replace(head=down(P.head, g.head), blocks=tuple(jax.tree.map(down, *bs) for bs in zip(P.blocks, g.blocks)))
print(type(g).__name__, len(g.blocks), P2.embed is P.embed, logits.argmax().item() in range(3))
logits - big, forward(P2, img)
---
img = img[::-1]
---
P = init(jax.random.key(1), depth=1)
""",
)
