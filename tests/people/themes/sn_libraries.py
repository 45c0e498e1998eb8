"""A tour of what libraries over JAX offer, as their authors and users show it in a notebook."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, functools, itertools, math, operator, os, time, typing
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any, Callable, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr, tree_util as jtu
"""

CELLS = written(
    PRELUDE,
    r"""
### sn-optax-tour-every-optimizer-on-a-banana needs=optax tolerance=2e-3
import optax
def banana(p): return (1 - p[0]) ** 2 + 5 * (p[1] - p[0] ** 2) ** 2
opts = {"sgd": optax.sgd(0.01, momentum=0.9, nesterov=True), "adamw": optax.adamw(0.1), "lion": optax.lion(0.05), "rms": optax.rmsprop(0.05), "ada": optax.adagrad(0.3)}
start, steps = jnp.array([-1.0, 1.0]), 5
---
board = {}
for name, opt in opts.items():
    p, st = start, opt.init(start)
    for _ in range(steps):
        v, g = jax.value_and_grad(banana)(p)
        up, st = opt.update(g, st, p)
        p = optax.apply_updates(p, up)
    board[name] = (banana(p), p, len(jax.tree.leaves(st)))
ranked = sorted(board, key=lambda k: board[k][0])
for k in ranked:
    print(f"{k:>6}: {board[k][0]:.3f} state leaves {board[k][2]}")
print(type(st).__name__, optax.global_norm(g) > 0)
board[ranked[0]][1]
---
opts["sign"] = optax.sign_sgd(0.1)
---
start = jnp.array([0.0, 0.0]); steps = 2

### sn-optax-multi-transform-schedules-inject-and-masks needs=optax tolerance=2e-3
import optax
params = {"enc": {"w": jnp.ones((2, 2)), "b": jnp.zeros(2)}, "head": {"w": jnp.ones((2, 1))}}
sched = optax.join_schedules([optax.linear_schedule(0.0, 0.1, 2), optax.cosine_decay_schedule(0.1, 4)], [2])
labels = jax.tree_util.tree_map_with_path(lambda p, _: "frozen" if p[0].key == "head" else "slow", params)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.multi_transform({"frozen": optax.set_to_zero(), "slow": optax.inject_hyperparams(optax.sgd)(learning_rate=sched)}, labels))
state = tx.init(params)
x = jnp.eye(2)
---
def loss(p): return jnp.sum(jnp.tanh(x @ p["enc"]["w"] + p["enc"]["b"]) @ p["head"]["w"])
before = params["head"]["w"]
lrs = []
for _ in range(3):
    g = jax.grad(loss)(params)
    updates, state = tx.update(g, state, params)
    params = optax.apply_updates(params, updates)
    inner = state[1].inner_states["slow"].inner_state
    lrs.append(float(inner.hyperparams["learning_rate"]))
print([f"{l:.3f}" for l in lrs], int(inner.count), params["head"]["w"] is before, bool((params["head"]["w"] == before).all()))
print(jax.tree.map(lambda v: v.shape, params), sorted(set(jax.tree.leaves(labels))))
params["enc"]["b"], [float(sched(i)) for i in (0, 2, 10)]
---
state = tx.init(params)
---
x = x * 0.1

### sn-equinox-tour-filter-tree-at-partition-modes needs=equinox,optax tolerance=2e-3
import equinox as eqx, optax
class Net(eqx.Module):
    layers: list
    bias: jax.Array
    act: Callable = eqx.field(static=True)
    def __init__(self, key):
        k1, k2 = jr.split(key)
        self.layers = [eqx.nn.Linear(2, 4, key=k1), eqx.nn.Dropout(0.5), eqx.nn.Linear(4, 1, key=k2)]
        self.bias, self.act = jnp.zeros(1), jnp.tanh
    def __call__(self, x, *, key=None):
        x = self.act(self.layers[0](x))
        x = self.layers[1](x, key=key)
        return self.layers[2](x) + self.bias
net, X, key = Net(jr.key(0)), jr.normal(jr.key(1), (6, 2)), jr.key(2)
---
arrays, static = eqx.partition(net, eqx.is_inexact_array)
n_par = sum(v.size for v in jax.tree.leaves(arrays))
@eqx.filter_value_and_grad
def loss(m, X, key):
    return jnp.mean(jax.vmap(lambda x, k: m(x, key=k))(X, jr.split(key, len(X))) ** 2)
l, g = loss(net, X, key)
new = eqx.tree_at(lambda m: m.layers[0].weight, net, replace_fn=lambda w: w * 2)
inf = eqx.nn.inference_mode(new)
out = jax.vmap(inf)(X)
print(n_par, type(g).__name__, g.act is jnp.tanh, inf.layers[1].inference, net.layers[1].inference)
print(eqx.tree_equal(net, eqx.combine(arrays, static)), new.layers[2] is net.layers[2], new.bias is net.bias)
eqx.tree_pprint(g.layers[2], short_arrays=True)
try:
    net.bias = jnp.ones(1)
except dataclasses.FrozenInstanceError as e:
    print("frozen:", type(e).__name__)
l, out.mean(0)
---
net = eqx.tree_at(lambda m: m.layers[1], net, eqx.nn.Dropout(0.0))
---
X = X[:3]; key = jr.key(9)

### sn-equinox-stateful-batchnorm-and-filter-jit-debug needs=equinox tolerance=2e-3
import equinox as eqx
class Block(eqx.Module):
    lin: eqx.nn.Linear
    norm: eqx.nn.BatchNorm
    def __init__(self, key): self.lin, self.norm = eqx.nn.Linear(3, 3, key=key), eqx.nn.BatchNorm(3, axis_name="batch", mode="ema")
    def __call__(self, x, st):
        x, st = self.norm(self.lin(x), st)
        return jax.nn.relu(x), st
model, state = eqx.nn.make_with_state(Block)(jr.key(0))
X, training = jr.normal(jr.key(3), (5, 3)) * 2, True
---
m = model if training else eqx.nn.inference_mode(model)
run = eqx.filter_jit(lambda m, X, st: jax.vmap(m, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(X, st))
for _ in range(2):
    out, state = run(m, X, state)
leaves = [v.shape for v in jax.tree.leaves(state)]
print(sorted(leaves), out.shape, training)
out.mean(0), jax.tree.leaves(eqx.filter(model, eqx.is_array))[0][0]
---
training = False
---
X = X + 10; training = True

### sn-diffrax-tour-solvers-saveat-events-dense needs=diffrax tolerance=2e-3
import diffrax as dfx
def pend(t, y, args):
    th, om = y
    return jnp.array([om, -args["g"] * jnp.sin(th) - args["c"] * om])
args, y0, tol = {"g": 9.8, "c": 0.3}, jnp.array([1.0, 0.0]), 1e-4
---
term = dfx.ODETerm(pend)
ts = jnp.linspace(0, 1, 5)
sols = {}
for S in (dfx.Tsit5, dfx.Heun):
    sols[S.__name__] = dfx.diffeqsolve(term, S(), 0.0, 1.0, 0.01, y0, args=args, saveat=dfx.SaveAt(ts=ts),
                                      stepsize_controller=dfx.PIDController(rtol=tol, atol=tol))
ev = dfx.Event(lambda t, y, a, **k: y[0])
hit = dfx.diffeqsolve(term, dfx.Tsit5(), 0.0, 5.0, 0.01, y0, args=args, event=ev, stepsize_controller=dfx.PIDController(rtol=1e-3, atol=1e-3))
dense = dfx.diffeqsolve(term, dfx.Tsit5(), 0.0, 1.0, 0.05, y0, args=args, saveat=dfx.SaveAt(dense=True))
print({k: (s.ys.shape, s.result == dfx.RESULTS.successful) for k, s in sols.items()}, hit.result == dfx.RESULTS.event_occurred, type(dense.interpolation).__name__)
hit.ts[-1] < 5, sols["Tsit5"].ys[-1], dense.evaluate(0.37)
---
args["c"] = 2.0
---
y0 = jnp.array([0.1, 0.0]); tol = 1e-3

### sn-numpyro-tour-handlers-plates-logdensity-predictive needs=numpyro tolerance=2e-3
import numpyro, numpyro.distributions as dist
from numpyro.handlers import condition, seed, substitute, trace, mask
from numpyro.infer import Predictive
from numpyro.infer.util import log_density
def model(x, y=None):
    a = numpyro.sample("a", dist.Normal(0, 1))
    b = numpyro.sample("b", dist.Normal(0, 1).expand([x.shape[1]]).to_event(1))
    s = numpyro.sample("s", dist.HalfNormal(1.0))
    mu = numpyro.deterministic("mu", a + x @ b)
    with numpyro.plate("n", x.shape[0]):
        return numpyro.sample("y", dist.Normal(mu, s), obs=y)
x = jr.normal(jr.key(0), (6, 2)); y, fix = x @ jnp.array([1.0, -1.0]), {"a": 0.5}
---
tr = trace(seed(condition(model, fix), jr.key(3))).get_trace(x, y)
for k, site in tr.items():
    if site["type"] in ("sample", "deterministic"):
        print(f"{k:4}{site['type']:14}{site['value'].shape if hasattr(site['value'], 'shape') else type(site['value']).__name__} obs={site.get('is_observed')}")
ld, _ = log_density(model, (x,), {"y": y}, {"a": 0.1, "b": jnp.array([1.0, -1.0]), "s": 0.5})
g = jax.grad(lambda a: log_density(model, (x,), {"y": y}, {"a": a, "b": jnp.zeros(2), "s": 1.0})[0])(0.0)
pp = Predictive(model, num_samples=3)(jr.key(1), x)
print({k: v.shape for k, v in sorted(pp.items())})
ld, g, pp["y"].mean()
---
fix["s"] = jnp.float32(1.5)
---
x = x[:4]; y = y[:4]

### sn-nnx-tour-variables-split-merge-optimizer-metrics needs=flax,optax tolerance=2e-3
from flax import nnx
import optax
class Count(nnx.Variable): pass
class MLP(nnx.Module):
    def __init__(self, din, dout, rngs):
        self.l1, self.bn, self.drop = nnx.Linear(din, 8, use_bias=False, rngs=rngs), nnx.BatchNorm(8, rngs=rngs), nnx.Dropout(0.2, rngs=rngs)
        self.l2, self.calls = nnx.Linear(8, dout, rngs=rngs), Count(jnp.array(0))
    def __call__(self, x):
        self.calls[...] += 1
        return self.l2(self.drop(nnx.relu(self.bn(self.l1(x)))))
model = MLP(3, 2, nnx.Rngs(0)); opt = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
metrics = nnx.MultiMetric(acc=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
X, Y = jr.normal(jr.key(1), (8, 3)), jnp.arange(8) % 2
---
def lf(m):
    logits = m(X)
    return optax.softmax_cross_entropy_with_integer_labels(logits, Y).mean(), logits
model.train(); metrics.reset()
for _ in range(2):
    (l, logits), g = nnx.value_and_grad(lf, has_aux=True)(model)
    opt.update(model, g)
    metrics.update(logits=logits, labels=Y, loss=l)
res = metrics.compute()
model.eval()
gd, params, counts, rest = nnx.split(model, nnx.Param, Count, ...)
again = nnx.merge(gd, params, counts, rest)
y1, y2 = model(X), again(X)
print(int(model.calls[...]), int(again.calls[...]), bool(jnp.allclose(y1, y2)), sorted(res), int(opt.step[...]))
print(model.drop.deterministic, model.bn.use_running_average, type(counts).__name__, len(nnx.to_flat_state(params)))
res, y1.mean()
---
model.drop.rate = 0.0
---
X = X * 2; Y = 1 - Y

### sn-linen-tour-tabulate-capture-bind-vmap-scan needs=flax tolerance=2e-3
import flax, flax.linen as nn
class Cell(nn.Module):
    width: int
    @nn.compact
    def __call__(self, c, x):
        h = nn.tanh(nn.Dense(self.width, name="ih")(x) + nn.Dense(self.width, use_bias=False, name="hh")(c))
        self.sow("intermediates", "h", h)
        return h, h.sum(-1)
class RNN(nn.Module):
    width: int = 4
    def setup(self): self.scan = nn.scan(Cell, variable_broadcast="params", variable_axes={"intermediates": 0}, split_rngs={"params": False}, in_axes=1, out_axes=1)(self.width)
    def __call__(self, x): return self.scan(jnp.zeros((x.shape[0], self.width)), x)
x, width = jnp.linspace(0, 1, 12).reshape(2, 3, 2), 4
---
net = RNN(width)
variables = net.init(jr.key(0), x)
shapes = {"/".join(k): v.shape for k, v in flax.traverse_util.flatten_dict(variables["params"]).items()}
(c, outs), mut = net.apply(variables, x, mutable=["intermediates"])
h = jax.tree.leaves(mut)[0]
bound = net.bind(variables)
again = bound(x)[1]
print(shapes, outs.shape, h.shape, net, bool((again == outs).all()))
frozen = flax.core.freeze(variables)
print(type(frozen).__name__, isinstance(frozen, dict), sorted(mut), net.clone(width=2).width)
text = net.tabulate(jr.key(0), x, console_kwargs={"width": 100, "force_terminal": False})
"RNN" in text, c
---
width = 2
---
x = x[:, :2]

### sn-haiku-tour-transform-state-lift-and-names needs=haiku tolerance=2e-3
import haiku as hk
class Counter_(hk.Module):
    def __call__(self):
        n = hk.get_state("n", (), jnp.int32, init=jnp.zeros)
        hk.set_state("n", n + 1)
        return n
def net(x, train):
    c = Counter_(name="cnt")()
    h = hk.Linear(4, name="a")(x)
    h = hk.BatchNorm(True, True, 0.9)(h, train)
    if train: h = hk.dropout(hk.next_rng_key(), 0.3, h)
    return hk.nets.MLP([3, 1])(h), c
f = hk.transform_with_state(net)
x, train = jr.normal(jr.key(0), (4, 2)), True
params, state = f.init(jr.PRNGKey(1), x, True)
---
outs = []
for i in range(2):
    (y, c), state = f.apply(params, state, jr.PRNGKey(i), x, train)
    outs.append((int(c), y.mean()))
g = jax.grad(lambda p: f.apply(p, state, jr.PRNGKey(0), x, train)[0][0].sum())(params)
print([o[0] for o in outs], sorted(params), hk.data_structures.tree_size(params))
nz = hk.data_structures.filter(lambda m, n, v: n == "w" and float(jnp.abs(v).sum()) > 0, g)
print(sorted(nz), type(state).__name__, [f"{m}/{n}" for m, n, _ in hk.data_structures.traverse(state)][:2])
outs[-1][1], state["cnt"]
---
train = False
---
state = f.init(jr.PRNGKey(1), x, True)[1]; x = x[:2]

### sn-orbax-tour-save-restore-latest-and-manager needs=orbax.checkpoint,optax tolerance=2e-3
import orbax.checkpoint as ocp, optax
import shutil
root = Path("ckpts").resolve()
tree, step = {"params": {"w": jnp.arange(4.0)}, "meta": {"epoch": 3, "name": np.int64(7)}}, 0
opt = optax.adam(0.1); ost = opt.init(tree["params"])
keep = 2
---
g = jax.grad(lambda p: jnp.sum((p["w"] - 1) ** 2))(tree["params"])
up, ost = opt.update(g, ost)
tree["params"] = optax.apply_updates(tree["params"], up)
step += 1
with ocp.CheckpointManager(root, options=ocp.CheckpointManagerOptions(max_to_keep=keep, enable_async_checkpointing=False)) as mngr:
    mngr.save(step, args=ocp.args.StandardSave({"params": tree["params"], "count": ost[0].count}))
    mngr.wait_until_finished()
    steps = list(mngr.all_steps())
    latest = mngr.latest_step()
    like = jax.tree.map(ocp.utils.to_shape_dtype_struct, {"params": tree["params"], "count": ost[0].count})
    back = mngr.restore(latest, args=ocp.args.StandardRestore(like))
print(steps, latest, type(back["params"]["w"]).__name__, bool((back["params"]["w"] == tree["params"]["w"]).all()))
back["count"], tree["params"]["w"]
---
keep = 1
---
shutil.rmtree(root); step = 10

### sn-lineax-tour-operators-tags-solvers-and-vjp needs=lineax tolerance=2e-3
import lineax as lx
A = jnp.array([[3.0, 1.0], [1.0, 2.0]]); b, tagged = jnp.array([1.0, 0.0]), True
---
op = lx.MatrixLinearOperator(A, lx.positive_semidefinite_tag if tagged else ())
d = lx.DiagonalLinearOperator(jnp.array([2.0, 4.0]))
comp = op + 2 * d
fn = lx.FunctionLinearOperator(lambda v: A @ v + v, jax.ShapeDtypeStruct((2,), jnp.float32))
solver = lx.CG(rtol=1e-6, atol=1e-6) if lx.is_positive_semidefinite(op) else lx.LU()
s1 = lx.linear_solve(op, b, solver)
s2 = lx.linear_solve(comp, b)
s3 = lx.linear_solve(fn, b, lx.GMRES(1e-6, 1e-6))
print(type(solver).__name__, lx.is_symmetric(op), lx.is_diagonal(d), comp.out_size(), s1.result == lx.RESULTS.successful)
grad_b = jax.grad(lambda b: lx.linear_solve(op, b, lx.AutoLinearSolver(well_posed=True)).value.sum())(b)
s1.value, s2.value, s3.value, fn.as_matrix(), grad_b
---
tagged = False
---
A = A + jnp.eye(2); b = jnp.array([0.0, 5.0])

### sn-optimistix-tour-roots-minimise-fixedpoint-lsq needs=optimistix tolerance=5e-3
import optimistix as optx
args, rtol = 2.0, 1e-4
def fn(y, a): return y ** 2 - a
def rosen(y, a): return (1 - y[0]) ** 2 + a * (y[1] - y[0] ** 2) ** 2
def res(p, d): return d[1] - p["a"] * jnp.exp(-p["k"] * d[0])
t = jnp.linspace(0, 2, 8); data = (t, 3 * jnp.exp(-0.7 * t))
---
root = optx.root_find(fn, optx.Newton(rtol, rtol), jnp.array(1.0), args)
bis = optx.root_find(fn, optx.Bisection(rtol, rtol), jnp.array(1.0), args, options=dict(lower=0.0, upper=5.0))
mini = optx.minimise(rosen, optx.BFGS(rtol, rtol), jnp.zeros(2), args, max_steps=100, throw=False)
fix = optx.fixed_point(lambda y, a: jnp.cos(y) * a / 2, optx.FixedPointIteration(rtol, rtol), jnp.array(0.5), args)
lsq = optx.least_squares(res, optx.LevenbergMarquardt(rtol, rtol), {"a": jnp.array(1.0), "k": jnp.array(1.0)}, data)
dr = jax.grad(lambda a: optx.root_find(fn, optx.Newton(1e-5, 1e-5), jnp.array(1.0), a).value)(args)
print(mini.result == optx.RESULTS.successful, sorted(lsq.value), root.result == optx.RESULTS.successful)
print(f"{root.value:.3f} {bis.value:.2f} {fix.value:.2f}", root.stats["num_steps"] < 20)
lsq.value, dr
---
args = 3.0
---
rtol = 1e-3; data = (t, 2 * jnp.exp(-1.5 * t))

### sn-jaxtyping-annotations-checked-and-shape-error needs=jaxtyping
from jaxtyping import Array, Bool, Float, Int, PyTree, Shaped, jaxtyped
def check(name, v, T):
    ok = isinstance(v, T)
    print(f"{name:8}", "ok" if ok else "BAD", getattr(T, "__name__", T))
    return ok
x, m = jnp.ones((2, 3)), jnp.array([True, False])
---
@jaxtyped(typechecker=None)
def attend(q: Float[Array, "b d"], mask: Bool[Array, "b"]) -> Float[Array, "b"]:
    assert isinstance(q, Float[Array, "b d"]) and isinstance(mask, Bool[Array, "b"])
    return jnp.where(mask, q.sum(-1), 0)
try:
    out = attend(x, m)
except AssertionError:
    out = None
    print("shapes disagree", x.shape, m.shape)
oks = [check("x", x, Float[Array, "2 3"]), check("m", m, Bool[Array, "n"]), check("int", x, Int[Array, "..."]), check("np", np.ones(2), Float[np.ndarray, "2"])]
any_tree = isinstance({"a": x, "b": [m]}, PyTree[Shaped[Array, "..."]])
print(sum(oks), any_tree, Float[Array, "b d"].dim_str)
out
---
m = jnp.array([True, True, False])
---
x = x.astype(jnp.int32)

### sn-chained-libraries-eqx-net-in-diffrax-fitted-by-optax needs=equinox,diffrax,optax tolerance=5e-3
import equinox as eqx, diffrax as dfx, optax
class Field(eqx.Module):
    mlp: eqx.nn.MLP
    def __call__(self, t, y, args): return self.mlp(y)
field_ = Field(eqx.nn.MLP(2, 2, 8, 1, activation=jax.nn.softplus, key=jr.key(0)))
ts, opt = jnp.linspace(0, 1, 4), optax.adam(1e-2)
target = jnp.stack([jnp.cos(ts), -jnp.sin(ts)], -1)
state, y0, iters = opt.init(eqx.filter(field_, eqx.is_array)), jnp.array([1.0, 0.0]), 2
---
@eqx.filter_jit
def solve(f, y0):
    return dfx.diffeqsolve(dfx.ODETerm(f), dfx.Tsit5(), ts[0], ts[-1], 0.1, y0, saveat=dfx.SaveAt(ts=ts)).ys
@eqx.filter_value_and_grad
def loss(f): return jnp.mean((solve(f, y0) - target) ** 2)
hist = []
for i in range(iters):
    l, g = loss(field_)
    up, state = opt.update(g, state, eqx.filter(field_, eqx.is_array))
    field_ = eqx.apply_updates(field_, up)
    hist.append(l)
    print(f"iter {i} loss {l.item():.2f}")
solve(field_, y0)[-1], hist[-1] <= hist[0] * 1.5
---
iters = 1
---
y0 = jnp.array([0.0, 1.0]); target = target[:, ::-1]

### sn-numpyro-mcmc-summary-and-svi-quick needs=numpyro,optax tolerance=1e-2 cold
import numpyro, numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
def model(y):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    with numpyro.plate("d", len(y)):
        numpyro.sample("y", dist.StudentT(4.0, mu, 1.0), obs=y)
y, seed, n = jnp.array([0.5, 1.5, 1.1, 9.0]), 0, 8
---
mcmc = MCMC(NUTS(model), num_warmup=5, num_samples=n, progress_bar=False)
mcmc.run(jr.key(seed), y)
draws = mcmc.get_samples()
guide = AutoNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(0.1), Trace_ELBO())
st = svi.init(jr.key(seed), y)
for _ in range(3):
    st, l = svi.update(st, y)
par = svi.get_params(st)
print({k: v.shape for k, v in draws.items()}, sorted(par), mcmc.num_samples)
jnp.isfinite(draws["mu"]).all(), l, guide.median(par)["mu"]
---
seed = 3
---
y = y[:3]; n = 4

### sn-nnx-lora-surgery-replace-layers-and-count needs=flax tolerance=2e-3
from flax import nnx
class Mlp(nnx.Module):
    def __init__(self, rngs): self.a, self.b = nnx.Linear(3, 4, rngs=rngs), nnx.Linear(4, 2, rngs=rngs)
    def __call__(self, x): return self.b(nnx.gelu(self.a(x)))
model, x, rank = Mlp(nnx.Rngs(0)), jnp.ones((2, 3)), 2
def count(m, kind=nnx.Param): return sum(v.size for v in jax.tree.leaves(nnx.state(m, kind)))
---
base = model(x)
work = nnx.clone(model)
work.a = nnx.LoRA(3, rank, 4, base_module=work.a, rngs=nnx.Rngs(1))
first = work(x)
same = bool(jnp.allclose(first, base))
g = nnx.grad(lambda m: (m(x) ** 2).sum(), argnums=nnx.DiffState(0, nnx.LoRAParam))(work)
work.a.lora_b[...] += 0.1
print(count(model), count(work), count(work, nnx.LoRAParam), same, type(work.a).__name__, type(model.a).__name__)
print([".".join(map(str, p)) for p, _ in nnx.to_flat_state(g)], work.a.base_module is model.a)
work(x) - base
---
rank = 1
---
model.a.kernel[...] = jnp.zeros((3, 4))
""",
)
