"""Corners of the libraries: debugging helpers, cached calls, interceptors, dispatchers, tables, frames and plots."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, functools, io, itertools, json, logging, math, operator, os, random
import sys, time, types, warnings
from functools import partial
from typing import Any, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
"""

CELLS = written(
    PRELUDE,
    r"""
### ua-eqx-assert-max-traces-once-on-a-jitted-step needs=equinox
import equinox as eqx
@eqx.filter_jit
@eqx.debug.assert_max_traces(max_traces=1)
def step(w, x): return w - 0.1 * jax.grad(lambda w: jnp.sum((w * x - 1) ** 2))(w)
w, x = jnp.zeros(3), jnp.arange(3.0)
---
for _ in range(3):
    w = step(w, x)
w
---
x = x + 1

### ua-log-compiles-context-shows-whether-it-compiles-again
f = jax.jit(lambda x: jnp.sin(x) * 2)
x = jnp.ones(3)
f(x)
---
with jax.log_compiles(False):
    y = f(x)
    z = f(y)
y + z
---
x = x * 2

### ua-debug-prints-in-order-with-python-prints-between
def f(x, name):
    jax.debug.print("{n}: {x}", n=len(name), x=x.sum())
    print("python", name, x.shape)
    return x * 2
x = jnp.ones(2)
---
a = f(x, "one")
print("between", float(a[0]))
b = jax.jit(f, static_argnums=1)(a, "two!")
jax.effects_barrier()
b
---
x = x * 3

### ua-visualised-sharding-and-treescope-text needs=treescope
import treescope
tree = {"w": jnp.ones((2, 2)), "cfg": ("adam", 0.1), "f": None}
---
text = treescope.render_to_text(jax.tree.map(lambda a: a.shape, {"w": tree["w"]}), roundtrip_mode=False)
out = {**tree, "w": tree["w"] * 2}
print(text.splitlines()[0], list(out))
out["w"]
---
tree["w"] = jnp.ones(3)

### ua-wadler-lindig-pprint-of-a-dataclass-with-arrays needs=wadler_lindig
import wadler_lindig as wl
@dataclasses.dataclass
class Cfg:
    name: str
    w: Any
    sub: Any = None
c = Cfg("net", jnp.ones((2, 3)), Cfg("in", jnp.arange(3)))
---
s = wl.pformat(c, short_arrays=True)
c.w = c.w @ jnp.ones((3, 1))
t = wl.pformat(c, width=40)
print(s)
print(t)
c.w
---
c.sub = jnp.zeros(1)

### ua-opt-einsum-path-expression-and-contract needs=opt_einsum
import opt_einsum as oe
A, B, C = jnp.ones((2, 3)), jnp.arange(12.0).reshape(3, 4), jnp.ones((4, 2))
---
path, info = oe.contract_path("ij,jk,kl->il", A, B, C)
y = oe.contract("ij,jk,kl->il", A, B, C)
expr = oe.contract_expression("ij,jk->ik", A.shape, B.shape)
z = expr(A, B)
print(path, int(info.opt_cost), type(y).__name__, z.shape)
del expr, info
y + z @ C
---
B = B * 2
---
A = jnp.ones((5, 3))

### ua-multipledispatch-collide-shapes needs=multipledispatch
from multipledispatch import Dispatcher
area = Dispatcher("ua_area")
class Circle:
    def __init__(self, r): self.r = r
class Rect:
    def __init__(self, a, b): self.a, self.b = a, b
@area.register(Circle)
def _(s): return jnp.pi * s.r ** 2
@area.register(Rect)
def _(s): return s.a * s.b
@area.register((float, int))
def _(s): return s * s
shapes = [Circle(jnp.array(1.0)), Rect(jnp.array(2.0), 3.0), 2]
---
areas = [area(s) for s in shapes]
total = sum(areas)
try:
    area("text")
except NotImplementedError as e:
    print(type(e).__name__)
print([type(a).__name__ for a in areas])
total
---
shapes[0].r = jnp.array(2.0)
---
shapes.append(0.5)

### ua-haiku-intercepted-methods-and-custom-creator needs=haiku
import haiku as hk
seen = []
def interceptor(next_f, args, kw, ctx):
    seen.append((ctx.module.module_name, ctx.method_name))
    return next_f(*args, **kw)
def creator(next_creator, shape, dtype, init, ctx):
    return next_creator(shape, dtype, hk.initializers.Constant(scale))
def net(x):
    with hk.experimental.custom_creator(creator) if hasattr(hk.experimental, "custom_creator") else hk.custom_creator(creator):
        return hk.Sequential([hk.Linear(2), jnp.tanh, hk.Linear(1)])(x)
scale, x = 0.5, jnp.ones((1, 3))
---
seen.clear()
with hk.intercept_methods(interceptor):
    f = hk.without_apply_rng(hk.transform(net))
    p = f.init(jax.random.key(0), x)
    y = f.apply(p, x)
names = sorted({n for n, m in seen if m == "__call__"})
print(names, jax.tree.map(jnp.shape, p)["linear"])
del f
y, p["linear"]["w"]
---
scale = 0.1
---
x = x * 2

### ua-nnx-cached-partial-step-in-a-loop needs=flax
from flax import nnx
import optax
model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
X, Y = jnp.arange(8.0).reshape(4, 2) / 8, jnp.ones((4, 1))
@nnx.jit
def train(model, opt, x, y):
    l, g = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(model)
    opt.update(model, g)
    return l
step = nnx.cached_partial(train, model, opt)
---
ls = [step(X, Y) for _ in range(3)]
print(len(ls), bool(ls[-1] < ls[0]), int(opt.step[...]) % 3)
model.kernel[...]
---
Y = Y * 2

### ua-nnx-pop-intermediates-iter-graph-and-eval-shape needs=flax
from flax import nnx
class Net(nnx.Module):
    def __init__(self, rngs): self.a, self.b = nnx.Linear(2, 3, rngs=rngs), nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, x):
        h = jnp.tanh(self.a(x))
        self.sow(nnx.Intermediate, "h", h)
        return self.b(h)
net, x = Net(nnx.Rngs(1)), jnp.ones((2, 2))
---
y = net(x)
inter = nnx.pop(net, nnx.Intermediate)
acts = jax.tree.leaves(inter)
paths = ["/".join(map(str, p)) for p, n in nnx.iter_graph(net) if isinstance(n, nnx.Module)]
abstract = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
print(paths, len(acts), abstract.a.kernel.shape, hasattr(net, "h"))
y + acts[0].sum()
---
x = x * -1
---
net.a = nnx.Linear(2, 3, rngs=nnx.Rngs(7))

### ua-optax-apply-if-finite-lookahead-and-tree-get needs=optax
import optax
opt = optax.apply_if_finite(optax.inject_hyperparams(optax.adam)(learning_rate=0.1), 3)
p = jnp.array([1.0, 2.0])
st = opt.init(p)
bad = {2}
---
for i in range(4):
    g = jax.grad(lambda p: jnp.sum(p ** 2))(p)
    if i in bad: g = g.at[0].set(jnp.nan)
    u, st = opt.update(g, st, p)
    p = optax.apply_updates(p, u)
lr = optax.tree_utils.tree_get(st, "learning_rate")
st = optax.tree_utils.tree_set(st, learning_rate=lr * 0.5)
print(int(st.total_notfinite), bool(st.last_finite), f"{float(lr):.4f}", jnp.isfinite(p).all())
p
---
bad = set()
---
p = jnp.ones(2)

### ua-hypothesis-property-run-inside-a-cell needs=hypothesis
from hypothesis import given, settings, strategies as st
checked = []
@settings(max_examples=5, database=None, derandomize=True, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=3))
def prop(xs):
    a = jnp.array(xs, jnp.float32) * k
    checked.append(len(xs))
    assert jnp.allclose(jnp.sort(a)[::-1], -jnp.sort(-a))
k = 2.0
---
checked.clear()
prop()
y = jnp.float32(min(len(checked), 1)) * k
y
---
k = -1.0

### ua-humanize-tabulate-memory-report needs=humanize,tabulate
import humanize
from tabulate import tabulate
p = {"emb": jnp.ones((100, 8)), "out": jnp.ones((8, 4), jnp.bfloat16)}
---
rows = [(k, "x".join(map(str, v.shape)), str(v.dtype), humanize.naturalsize(v.nbytes, binary=True), float(jnp.abs(v).max())) for k, v in p.items()]
print(tabulate(rows, headers=["name", "shape", "dtype", "size", "max"], tablefmt="github", floatfmt=".2f"))
total = humanize.intcomma(sum(v.size for v in p.values()))
print(total)
p["emb"][0] @ p["out"]
---
p["emb"] = p["emb"] * 0.5

### ua-pandas-rows-appended-by-loc-and-iterrows-scored needs=pandas
import pandas as pd
df = pd.DataFrame({"x": [1.0, 2.0, 4.0], "g": ["a", "b", "a"]})
w = jnp.array(0.5)
---
log = pd.DataFrame(columns=["step", "loss"])
for i, row in df.iterrows():
    l, gr = jax.value_and_grad(lambda w: (w * row.x - 1) ** 2)(w)
    w = w - 0.05 * gr
    log.loc[len(log)] = [i, round(float(l), 4)]
df["score"] = np.asarray(jax.nn.sigmoid(jnp.asarray(df["x"].to_numpy()) * w))
agg = df.groupby("g")["score"].agg(["mean", lambda s: float(jnp.max(s.to_numpy()))])
agg.columns = ["mean", "max"]
wide = df.assign(z=lambda d: np.asarray(jnp.log(d.x.to_numpy())), s2=lambda d: d.score.map(lambda v: round(v, 2)))
print(log.to_string(index=False), list(wide), agg.round(3).to_dict(), sep="\n")
w
---
df.loc[3] = [3.0, "b"] if len(df.columns) == 2 else [3.0, "b", 0.0]
---
w = jnp.array(2.0)

### ua-pandas-fails-after-an-in-place-drop needs=pandas
import pandas as pd
df = pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]})
k = 3
---
df["z"] = np.asarray(jnp.asarray(df["x"].to_numpy()) * 2)
df.drop(columns="y", inplace=True)
m = jnp.asarray(df.to_numpy())
out = m @ jnp.ones(k)
---
k = 4

### ua-sklearn-fails-after-fit-then-refit needs=sklearn
from sklearn.preprocessing import StandardScaler
sc = StandardScaler()
X, k = np.arange(6.0).reshape(3, 2), 2
---
Z = jnp.asarray(sc.fit_transform(X))
y = Z @ jnp.ones(k)
if k > 1: raise ValueError(f"refuse {float(y.sum()):.1f}")
---
X = X * 5

### ua-matplotlib-line-updated-across-runs-and-limits needs=matplotlib
import matplotlib
matplotlib.use("Agg")
import matplotlib.figure
fig = matplotlib.figure.Figure(figsize=(2, 2)); ax = fig.add_subplot()
t = jnp.linspace(0, 1, 5)
(line,) = ax.plot(t, t * 0, label="signal")
phase = 0.0
---
y = jnp.sin(2 * jnp.pi * t + phase)
line.set_ydata(y)
ax.set_ylim(-1, 1 + phase)
ax.set_title(f"phase {phase:.1f}, peak {float(jnp.abs(y).max()):.2f}")
n = len(ax.lines)
yd = line.get_ydata()
print(ax.get_title(), n, type(yd).__name__, [round(v, 1) for v in ax.get_ylim()])
y
---
phase = 0.7
---
line.set_label("new")

### ua-scipy-solve-ivp-with-jitted-rhs-and-root-with-jacobian
from scipy.integrate import solve_ivp
from scipy.optimize import root
rhs = jax.jit(lambda t, y, mu: jnp.array([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]]))
F = lambda z: jnp.array([z[0] ** 2 + z[1] - a, z[0] - z[1] ** 2])
mu, a = 1.0, 3.0
---
sol = solve_ivp(lambda t, y: np.asarray(rhs(t, y, mu)), (0, 2), [1.0, 0.0], t_eval=[0, 1, 2], rtol=1e-3)
r = root(lambda z: np.asarray(F(z), np.float64), [1.0, 1.0], jac=lambda z: np.asarray(jax.jacobian(F)(jnp.asarray(z)), np.float64))
ok = bool(sol.success), r.success
ys = jnp.asarray(sol.y.round(2))
zz = jnp.asarray(r.x.round(3))
del sol, r
print(ok)
ys[:, -1] + zz
---
mu = 0.5
---
a = 5.0

### ua-joblib-dump-load-hash-and-delayed-over-parameters needs=joblib
import joblib
def simulate(seed, n): return np.asarray(jax.random.normal(jax.random.key(seed), (n,)))
seeds = [1, 2]
---
xs = joblib.Parallel(n_jobs=1)(joblib.delayed(simulate)(s, n=3) for s in seeds)
joblib.dump({"xs": xs, "seeds": seeds}, "runs.joblib", compress=3)
back = joblib.load("runs.joblib")
m = jnp.stack([jnp.asarray(x) for x in back["xs"]]).mean(0)
same = joblib.hash(back["xs"]) == joblib.hash(xs)
par = joblib.Parallel(n_jobs=1)(joblib.delayed(jnp.square)(m[i]) for i in range(2))
print(same, [type(p).__name__ for p in par])
m + par[0]
---
seeds = [2, 3]

### ua-eqx-filter-closure-convert-enumeration-and-pprint needs=equinox
import equinox as eqx
class RES(eqx.Enumeration):
    ok = "fine"
    bad = "it diverged"
mlp = eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(0))
x, lim = jnp.ones(2), 10.0
---
conv = eqx.filter_closure_convert(lambda x: mlp(x) * 2, x)
y = conv(x)
res = RES.where(jnp.abs(y[0]) < lim, RES.ok, RES.bad)
txt = eqx.tree_pformat(mlp.layers[0])
del conv
print(res == RES.ok, RES[res], txt.split("(")[0], str(res)[:30])
y
---
lim = 0.0
---
x = x * 5

### ua-refs-in-scan-grad-and-as-arguments-of-jit
def sgd(ref, g): ref[...] = ref[...] - 0.1 * g
@jax.jit
def epoch(ref, xs):
    def body(c, x):
        sgd(ref, jax.grad(lambda w: jnp.sum((w * x - 1) ** 2))(ref[...]))
        return c + 1, jnp.sum(ref[...])
    return lax.scan(body, 0, xs)
state = {"w": jax.new_ref(jnp.zeros(2)), "n": 0}
xs = jnp.arange(6.0).reshape(3, 2) / 6
---
n, tr = epoch(state["w"], xs)
state["n"] += int(n)
snap = state["w"][...]
state["w"][0] = snap[1]
print(state["n"] % 3, tr.shape, state["w"].shape, state["w"].dtype)
snap
---
xs = xs * 2
---
state["w"] = jax.new_ref(jnp.ones(2))

### ua-custom-vjp-made-in-a-class-with-nondiff-and-hooks
class Clip:
    def __init__(self, lo, hi):
        self.lo, self.hi, self.fwd_calls = lo, hi, 0
        @partial(jax.custom_vjp, nondiff_argnums=(1,))
        def f(x, s): return x * s
        def fwd(x, s): return f(x, s), (x,)
        def bwd(s, res, g): return (jnp.clip(g * s, self.lo, self.hi) + 0 * res[0],)
        f.defvjp(fwd, bwd)
        self.f = f
    def __call__(self, x, s=2.0): return self.f(x, s)
c, x = Clip(-0.5, 0.5), jnp.array([1.0, -3.0])
---
g = jax.grad(lambda x: jnp.sum(c(x) ** 2))(x)
h = jax.vmap(jax.grad(lambda x: c(x, 3.0)))(x)
g, h, c(x)
---
c.hi = 5.0
---
c = Clip(-9.0, 9.0)

### ua-jaxtyping-runtime-checked-helper-and-error needs=jaxtyping
from jaxtyping import Float, Int, jaxtyped, Array
def check(x, t): return isinstance(x, t)
x, i = jnp.ones((2, 3)), jnp.arange(3)
---
facts = [check(x, Float[Array, "2 3"]), check(x, Float[Array, "3 2"]), check(i, Int[Array, "n"]), check(i, Float[Array, "n"])]
def mm(a: Float[Array, "m k"], b: Float[Array, "k n"]) -> Float[Array, "m n"]: return a @ b
y = mm(x, x.T)
print(facts, mm.__annotations__["a"].__name__)
y
---
i = i.astype(jnp.float32)
""",
)
