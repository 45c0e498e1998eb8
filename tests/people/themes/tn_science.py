"""Simulations, samplers, finance, environments, tables, figures, and the libraries built on JAX."""

from ..cell import written

PRELUDE = """
import dataclasses, functools, itertools, json, math, os, random, re, sys, time, warnings
from functools import partial
from typing import Any
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
"""

CELLS = written(
    PRELUDE,
    r"""
### tn-heston-paths-with-antithetic-and-barrier-knockout-table
key, S0, K, B = jax.random.key(0), 100.0, 105.0, 130.0
def paths(key, n, steps, dt, kappa=2.0, theta=0.04, xi=0.3, rho=-0.7):
    k1, k2 = jax.random.split(key)
    z1 = jax.random.normal(k1, (steps, n)); z2 = rho * z1 + (1 - rho ** 2) ** 0.5 * jax.random.normal(k2, (steps, n))
    z1, z2 = jnp.concatenate([z1, -z1], 1), jnp.concatenate([z2, -z2], 1)
    def body(c, z):
        s, v = c
        vp = jnp.maximum(v, 0)
        return (s * jnp.exp(-0.5 * vp * dt + jnp.sqrt(vp * dt) * z[0]), v + kappa * (theta - vp) * dt + xi * jnp.sqrt(vp * dt) * z[1]), s
    c, hist = lax.scan(body, (jnp.full(2 * n, S0), jnp.full(2 * n, theta)), (z1, z2))
    return jnp.concatenate([hist, c[0][None]])
---
s = paths(key, 64, 8, 1 / 8)
call = jnp.maximum(s[-1] - K, 0)
alive = (s < B).all(0)
table = {"call": call.mean(), "knock": (call * alive).mean(), "p": alive.mean()}
for k, v in table.items():
    print(f"{k:>6}: {v:8.4f}")
table, s.shape
---
B = 115.0
---
key, K = jax.random.key(5), 90

### tn-double-pendulum-rk4-energy-and-flip-time
def deriv(s):
    a1, a2, w1, w2 = s
    d = a1 - a2
    den = 3 - jnp.cos(2 * d)
    g = 9.8
    dw1 = (-g * 3 * jnp.sin(a1) - g * jnp.sin(a1 - 2 * a2) - 2 * jnp.sin(d) * (w2 ** 2 + w1 ** 2 * jnp.cos(d))) / den
    dw2 = 2 * jnp.sin(d) * (2 * w1 ** 2 + 2 * g * jnp.cos(a1) + w2 ** 2 * jnp.cos(d)) / den
    return jnp.array([w1, w2, dw1, dw2])
def rk4(s, h):
    k1 = deriv(s); k2 = deriv(s + h / 2 * k1); k3 = deriv(s + h / 2 * k2); k4 = deriv(s + h * k3)
    return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
s0, h = jnp.array([0.5, 0.2, 0.0, 0.0]), 0.01
---
traj = lax.scan(lambda s, _: (rk4(s, h),) * 2, s0, None, length=20)[1]
turns = jnp.diff(jnp.sign(traj[:, 2])) != 0
first = int(jnp.argmax(turns)) if turns.any() else None
ends = {f"a{i + 1}": round(float(traj[-1, i]), 4) for i in range(2)}
print(first, ends)
traj[-1]
---
h = 0.005
---
s0 = s0.at[2].set(-1.0)

### tn-blackjax-like-hmc-kernel-init-step-inference-loop
from typing import NamedTuple, Callable
class State(NamedTuple):
    q: Any
    logp: Any
    grad: Any
class Info(NamedTuple):
    accepted: Any
    energy: Any
class Alg(NamedTuple):
    init: Callable
    step: Callable
def hmc(logp, eps, n):
    vg = jax.value_and_grad(logp)
    def init(q): return State(q, *vg(q))
    def step(key, s):
        k1, k2 = jax.random.split(key)
        p = jax.random.normal(k1, s.q.shape)
        h0 = -s.logp + 0.5 * p @ p
        q, g = s.q, s.grad
        for _ in range(n):
            p = p + 0.5 * eps * g
            q = q + eps * p
            l, g = vg(q)
            p = p + 0.5 * eps * g
        h1 = -l + 0.5 * p @ p
        ok = jnp.log(jax.random.uniform(k2)) < h0 - h1
        return jax.tree.map(lambda a, b: jnp.where(ok, a, b), State(q, l, g), s), Info(ok, h1)
    return Alg(init, step)
alg = hmc(lambda q: -0.5 * jnp.sum(q ** 2 * jnp.array([1.0, 4.0])), 0.3, 4)
key = jax.random.key(2)
---
state = alg.init(jnp.array([1.0, -1.0]))
step = jax.jit(alg.step)
infos = []
for k in jax.random.split(key, 5):
    state, info = step(k, state)
    infos.append(info)
stacked = jax.tree.map(lambda *v: jnp.stack(v), *infos)
print(type(stacked).__name__, stacked.accepted.tolist(), state.q.shape)
state.q, stacked.energy
---
key = jax.random.key(9)
---
alg = hmc(lambda q: -jnp.sum(jnp.abs(q)), 0.1, 2)

### tn-molecular-dynamics-cells-neighbour-pairs-and-temperature-log
def lj(r2): return 4 * (r2 ** -6 - r2 ** -3)
def pairs(pos, box, cut):
    n, out = len(pos), []
    p = np.asarray(pos)
    for i in range(n):
        for j in range(i + 1, n):
            d = p[i] - p[j]; d -= box * np.round(d / box)
            if (d @ d) < cut ** 2: out.append((i, j))
    return np.array(out, int).reshape(-1, 2)
def energy(pos, pr, box):
    d = pos[pr[:, 0]] - pos[pr[:, 1]]
    d = d - box * jnp.round(d / box)
    return lj((d ** 2).sum(-1)).sum()
g = jnp.arange(2.0) * 1.5
pos = jnp.stack(jnp.meshgrid(g, g, indexing="ij"), -1).reshape(-1, 2)
vel, box, cut = jnp.zeros((4, 2)).at[0, 0].set(0.1), 4.0, 2.0
---
log = []
for t in range(3):
    pr = pairs(pos, box, cut)
    f = -jax.grad(energy)(pos, pr, box)
    vel = vel + 0.005 * f
    pos = (pos + 0.005 * vel) % box
    log.append({"t": t, "T": float((vel ** 2).mean()), "pairs": len(pr)})
print([r["pairs"] for r in log], f"{log[-1]['T']:.5f}")
pos
---
cut = 1.6
---
vel = vel * 2

### tn-gymnasium-like-cartpole-env-with-wrappers-and-info-dicts
class CartPole:
    def __init__(self, limit=0.2): self.limit = limit
    def reset(self, *, seed=None):
        if seed is not None: self.rng = np.random.default_rng(seed)
        self.s, self.t = jnp.asarray(self.rng.uniform(-0.05, 0.05, 4), jnp.float32), 0
        return self.s, {}
    def step(self, a):
        x, v, th, w = self.s
        f = 10.0 if a else -10.0
        acc = (f + 0.05 * w ** 2 * jnp.sin(th)) / 1.1
        dw = (9.8 * jnp.sin(th) - jnp.cos(th) * acc) / 0.65
        self.s = jnp.stack([x + 0.02 * v, v + 0.02 * acc, th + 0.02 * w, w + 0.02 * dw])
        self.t += 1
        return self.s, 1.0, bool(jnp.abs(self.s[2]) > self.limit), self.t >= 12, {"t": self.t}
class Record:
    def __init__(self, env): self.env, self.returns = env, []
    def __getattr__(self, n): return getattr(self.env, n)
    def reset(self, **k): self.ret = 0.0; return self.env.reset(**k)
    def step(self, a):
        o, r, term, trunc, info = self.env.step(a)
        self.ret += r
        if term or trunc:
            self.returns.append(self.ret); info = {**info, "episode": self.ret}
        return o, r, term, trunc, info
env, w, seed = Record(CartPole()), jnp.array([0.1, 0.2, 1.0, 0.5]), 3
---
obs, _ = env.reset(seed=seed)
done, infos = False, []
while not done:
    a = int(obs @ w > 0)
    obs, r, term, trunc, info = env.step(a)
    done = term or trunc
    infos.append(info)
print(env.returns, len(infos), infos[-1], env.limit)
obs
---
w = -w
---
seed = 11; env.returns.clear()

### tn-wave-equation-fdtd-with-absorbing-edges-and-probe
n, c = 16, 0.5
u0 = jnp.exp(-0.5 * (jnp.arange(n) - 5.0) ** 2)
damp = jnp.ones(n).at[-3:].set(jnp.array([0.9, 0.7, 0.4]))
---
u, prev, probe = u0, u0, []
for t in range(6):
    lap = jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)
    new = (2 * u - prev + c ** 2 * lap) * damp
    new = new.at[0].set(0.0)
    prev, u = u, new
    if t % 2 == 0:
        probe.append(u[8])
e = jnp.sum((u - prev) ** 2)
print(f"{e:.5f}", len(probe), prev is not u)
jnp.stack(probe), u
---
c = 0.9
---
damp = damp.at[8].set(0.0)

### tn-sir-epidemic-fit-by-gauss-newton-with-lists-of-days
days = [0, 2, 4, 6]
obs = jnp.array([0.01, 0.03, 0.08, 0.18])
def sim(theta):
    beta, gamma = jnp.exp(theta)
    def f(c, _):
        s, i, r = c
        new, rec = beta * s * i * 0.5, gamma * i * 0.5
        c = (s - new, i + new - rec, r + rec)
        return c, c[1]
    _, i = lax.scan(f, (0.99, 0.01, 0.0), None, length=2 * max(days) + 1)
    return jnp.concatenate([jnp.array([0.01]), i])[jnp.array(days) * 2]
theta = jnp.log(jnp.array([0.8, 0.2]))
---
hist = []
for it in range(3):
    r = sim(theta) - obs
    J = jax.jacfwd(sim)(theta)
    theta = theta - jnp.linalg.solve(J.T @ J + 1e-4 * jnp.eye(2), J.T @ r)
    hist.append(float(r @ r))
print([f"{h:.2e}" for h in hist], sim(theta).shape)
jnp.exp(theta)
---
days.append(8); obs = jnp.append(obs, 0.3)
---
theta = jnp.zeros(2)

### tn-option-chain-in-pandas-implied-vol-column-by-bisection needs=pandas
import pandas as pd
from jax.scipy.stats import norm
def bs(s, k, t, v):
    d1 = (jnp.log(s / k) + 0.5 * v ** 2 * t) / (v * jnp.sqrt(t))
    return s * norm.cdf(d1) - k * norm.cdf(d1 - v * jnp.sqrt(t))
df = pd.DataFrame({"k": [90.0, 100.0, 110.0], "t": [0.5, 0.5, 1.0], "px": [13.0, 6.5, 5.0]}, index=list("abc"))
spot = 100.0
---
k, t, px = (jnp.asarray(df[c].to_numpy(), jnp.float32) for c in ("k", "t", "px"))
lo, hi = jnp.full(3, 1e-3), jnp.full(3, 2.0)
for _ in range(20):
    mid = 0.5 * (lo + hi)
    high = bs(spot, k, t, mid) > px
    lo, hi = jnp.where(high, lo, mid), jnp.where(high, mid, hi)
df["iv"] = np.asarray(mid).round(4)
df.loc[df.iv > 0.25, "flag"] = "rich"
print(df.to_string())
mid
---
spot = 102.0
---
df = df.drop(columns="flag").assign(px=lambda d: d.px * 0.8)

### tn-pandas-groupby-to-padded-batch-and-scores-merged-back needs=pandas
import pandas as pd
df = pd.DataFrame({"user": [1, 1, 2, 3, 3, 3], "v": np.arange(6.0), "day": pd.date_range("2024-01-01", periods=6)})
w = jnp.array([0.5, 0.3, 0.2])
---
groups = {u: g["v"].to_list() for u, g in df.groupby("user")}
n = max(map(len, groups.values()))
batch = jnp.array([v + [0.0] * (n - len(v)) for v in groups.values()])
score = jnp.tanh(batch @ w[:n])
out = df.merge(pd.Series(np.asarray(score).round(4), index=list(groups), name="score"), left_on="user", right_index=True)
piv = out.pivot_table(index="user", values=["v", "score"], aggfunc="mean")
print(piv.round(3).to_string())
score
---
df = df[df.user != 3]; w = w[:2]
---
df["v"] = df["v"] * 0.1

### tn-matplotlib-loss-curve-axes-properties-read-back needs=matplotlib
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
w, lr = jnp.array([2.0, -1.0]), 0.2
f = lambda w: jnp.sum(w ** 2) + jnp.sin(w).sum()
---
losses = []
for _ in range(4):
    l, g = jax.value_and_grad(f)(w)
    losses.append(l)
    w = w - lr * g
fig, (a, b) = plt.subplots(1, 2, figsize=(4, 2))
a.plot(losses, label="loss")
a.set_yscale("symlog"); a.legend()
b.hist(np.asarray(w), bins=3)
line = a.get_lines()[0].get_ydata()
print(type(line).__name__, [round(float(v), 4) for v in line], a.get_yscale(), len(b.patches))
plt.close(fig)
w
---
lr = 0.01
---
w = jnp.arange(3.0)

### tn-equinox-mlp-filter-jit-with-static-callable-and-partition needs=equinox
import equinox as eqx
class Net(eqx.Module):
    layers: list
    act: Any = eqx.field(static=True)
    temp: float = 1.0
    def __init__(self, key, act):
        k1, k2 = jax.random.split(key)
        self.layers, self.act = [eqx.nn.Linear(2, 4, key=k1), eqx.nn.Linear(4, 1, key=k2)], act
    def __call__(self, x):
        for l in self.layers[:-1]: x = self.act(l(x))
        return self.layers[-1](x)[0] / self.temp
net = Net(jax.random.key(0), jnp.tanh)
x = jnp.linspace(-1, 1, 8).reshape(4, 2)
@eqx.filter_jit
def step(net, x, lr):
    l, g = eqx.filter_value_and_grad(lambda n: jnp.mean((jax.vmap(n)(x) - 1) ** 2))(net)
    return eqx.apply_updates(net, jax.tree.map(lambda v: -lr * v, g)), l
---
for lr in (0.1, 0.05):
    net, l = step(net, x, lr)
arrs, static = eqx.partition(net, eqx.is_array)
small = eqx.tree_at(lambda n: n.layers[0].weight, net, replace_fn=lambda w: w * 0)
n_par = sum(v.size for v in jax.tree.leaves(arrs))
print(n_par, net.temp, static.act is jnp.tanh, float(small(x[0])) == float(small(x[1])))
l, eqx.combine(arrs, static)(x[0])
---
net = eqx.tree_at(lambda n: n.temp, net, 2.0)
---
x = x * 3

### tn-optax-chain-with-schedule-masked-decay-and-clip-states needs=optax
import optax
sched = optax.warmup_cosine_decay_schedule(0.0, 0.1, 2, 6)
mask = lambda p: jax.tree.map(lambda v: v.ndim > 1, p)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(sched, weight_decay=0.1, mask=mask))
params = {"w": jnp.ones((2, 2)), "b": jnp.zeros(2)}
opt = tx.init(params)
x = jnp.array([[1.0, 2.0], [3.0, -1.0]])
---
for _ in range(2):
    l, g = jax.value_and_grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - 1) ** 2))(params)
    up, opt = tx.update(g, opt, params)
    params = optax.apply_updates(params, up)
count = optax.tree.get(opt, "count") if hasattr(optax, "tree") and False else [s.count for s in jax.tree.leaves(opt, is_leaf=lambda s: hasattr(s, "count")) if hasattr(s, "count")]
print([int(c) for c in count], f"{float(sched(int(count[0]))):.4f}", f"{float(optax.global_norm(g)):.3f}")
l, params["b"]
---
x = x * 2
---
opt = tx.init(params)

### tn-nnx-module-with-dropout-and-metrics-updated-in-place needs=flax
from flax import nnx
class M(nnx.Module):
    def __init__(self, rngs):
        self.l1, self.l2 = nnx.Linear(2, 4, rngs=rngs), nnx.Linear(4, 1, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.calls = nnx.Variable(jnp.array(0))
    def __call__(self, x):
        self.calls.value = self.calls.value + 1
        return self.l2(self.drop(jnp.tanh(self.l1(x))))
m = M(nnx.Rngs(0))
x = jnp.linspace(-1, 1, 8).reshape(4, 2)
---
m.train()
a = m(x)
m.eval()
b, c = m(x), m(x)
graph, state = nnx.split(m)
again = nnx.merge(graph, state)
print(int(m.calls.value), bool((b == c).all()), bool((a == b).all()), again is m)
b
---
x = x * 2
---
m = M(nnx.Rngs(3))

### tn-numpyro-trace-handlers-and-logdensity-of-a-regression needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro import handlers
from numpyro.infer.util import log_density
def model(x, y=None):
    b = numpyro.sample("b", dist.Normal(0, 1).expand([2]).to_event(1))
    s = numpyro.sample("s", dist.HalfNormal(1.0))
    with numpyro.plate("n", x.shape[0]):
        return numpyro.sample("y", dist.Normal(x @ b, s), obs=y)
x, y = jnp.linspace(-1, 1, 8).reshape(4, 2), jnp.array([0.0, 1.0, 0.5, 2.0])
seed = 0
---
tr = handlers.trace(handlers.seed(model, seed)).get_trace(x)
point = {k: v["value"] for k, v in tr.items() if v["type"] == "sample" and k != "y"}
lp, _ = log_density(model, (x, y), {}, point)
cond = handlers.substitute(handlers.seed(model, seed), {"b": jnp.zeros(2)})(x)
print(sorted(point), tr["y"]["fn"].batch_shape, cond.shape)
lp, point["s"]
---
seed = 4
---
y = y * 2

### tn-haiku-transform-with-state-ema-and-param-names needs=haiku
import haiku as hk
def net(x, train):
    h = hk.Linear(3, name="enc")(x)
    c = hk.get_state("count", (), init=jnp.zeros)
    if train:
        hk.set_state("count", c + 1)
    return jnp.tanh(h) * hk.get_parameter("gain", (3,), init=jnp.ones)
f = hk.without_apply_rng(hk.transform_with_state(net))
x = jnp.ones((2, 2))
params, state = f.init(jax.random.key(0), x, True)
---
for _ in range(2):
    y, state = f.apply(params, state, x, True)
y2, same = f.apply(params, state, x, False)
names = sorted(f"{m}/{n}" for m, ps in params.items() for n in ps)
print(names, jax.tree.leaves(state), same is state)
y2.sum()
---
x = -x
---
params = jax.tree.map(lambda v: v * 0.5, params)

### tn-diffrax-exponential-decay-with-event-and-dense-output needs=diffrax
import diffrax as dfx
term = dfx.ODETerm(lambda t, y, args: -args * y)
rate, y0 = 0.8, jnp.array([1.0, 2.0])
---
sol = dfx.diffeqsolve(term, dfx.Tsit5(), 0.0, 2.0, 0.1, y0, args=rate, saveat=dfx.SaveAt(ts=jnp.linspace(0, 2, 5), dense=True))
mid = sol.evaluate(1.0)
exact = y0 * jnp.exp(-rate)
print(sol.ys.shape, int(sol.stats["num_steps"]), bool(jnp.allclose(mid, exact, atol=1e-4)))
sol.ys[-1], jax.grad(lambda r: dfx.diffeqsolve(term, dfx.Euler(), 0.0, 1.0, 0.25, y0, args=r).ys[-1].sum())(rate)
---
rate = 0.3
---
y0 = jnp.ones(3)

### tn-custom-vjp-straight-through-rounding-in-a-quantised-layer
@jax.custom_vjp
def ste(x, bits): return jnp.round(x * 2 ** bits) / 2 ** bits
ste.defvjp(lambda x, bits: (ste(x, bits), bits), lambda bits, g: (g, None))
w, x, bits = jnp.array([0.33, -0.77]), jnp.array([[1.0, 2.0], [0.5, -1.0]]), 3
---
q = ste(w, bits)
val, grad = jax.value_and_grad(lambda w: jnp.sum((x @ ste(w, bits)) ** 2))(w)
plain = jax.grad(lambda w: jnp.sum((x @ (jnp.round(w * 8) / 8)) ** 2))(w)
err = jnp.abs(q - w).max()
print(q.tolist(), plain.tolist(), f"{err:.4f}")
val, grad
---
bits = 1
---
w = w * 3

### tn-remat-policies-and-saved-names-in-a-deep-stack
from jax.ad_checkpoint import checkpoint_name
ws = [jnp.eye(3) * s for s in (0.5, 1.0, 1.5)]
x = jnp.linspace(0, 1, 3)
def layer(x, w): return checkpoint_name(jnp.sin(w @ x), "act")
policies = {"none": None, "dots": jax.checkpoint_policies.dots_saveable, "names": jax.checkpoint_policies.save_only_these_names("act")}
---
grads = {}
for name, pol in policies.items():
    f = jax.checkpoint(layer, policy=pol) if pol else layer
    grads[name] = jax.grad(lambda x: functools.reduce(f, ws, x).sum())(x)
close = [bool(jnp.allclose(grads["none"], g)) for g in grads.values()]
print(close, sorted(grads))
grads["names"]
---
ws.append(jnp.ones((3, 3)))
---
policies.pop("dots")

### tn-debug-print-and-callback-order-with-conditional-branches
seen = []
x = jnp.array([1.0, -2.0, 3.0])
@jax.jit
def f(x):
    jax.debug.print("sum {s:.1f}", s=x.sum())
    y = lax.cond(x.sum() > 1, lambda v: v * 2, lambda v: -v, x)
    jax.debug.callback(lambda v: seen.append(float(v)), y.max())
    return y
---
a = f(x)
jax.effects_barrier()
b = f(-x)
jax.effects_barrier()
print(seen[-2:], len(seen))
a + b
---
x = x * 2
---
seen.clear()

### tn-while-loop-newton-with-cond-fun-closure-and-iteration-cap
target, cap = 2.0, 20
def newton(f, x0, tol=1e-6):
    df = jax.grad(f)
    def cond(c): return (jnp.abs(f(c[0])) > tol) & (c[1] < cap)
    def body(c): return c[0] - f(c[0]) / df(c[0]), c[1] + 1
    return lax.while_loop(cond, body, (x0, 0))
---
roots = {}
for name, f in {"sqrt": lambda x: x ** 2 - target, "cos": lambda x: jnp.cos(x) - x, "bad": lambda x: x ** 2 + 1.0}.items():
    r, n = newton(f, jnp.float32(1.5))
    roots[name] = (round(float(r), 3) if n < cap else None, int(n) == cap)
print(roots)
r.dtype, n
---
target = 9.0
---
cap = 3

### tn-pytree-class-registered-with-keys-and-mapped-with-paths
class Box:
    def __init__(self, lo, hi, name): self.lo, self.hi, self.name = lo, hi, name
jax.tree_util.register_pytree_with_keys(Box, lambda b: (((jax.tree_util.GetAttrKey("lo"), b.lo), (jax.tree_util.GetAttrKey("hi"), b.hi)), b.name), lambda n, c: Box(*c, n))
boxes = {"a": Box(jnp.zeros(2), jnp.ones(2), "unit"), "b": [Box(-jnp.ones(1), jnp.ones(1), "sym")]}
---
shrunk = jax.tree_util.tree_map_with_path(lambda p, v: v * (0.5 if "hi" in jax.tree_util.keystr(p) else 1.0), boxes)
vol = jnp.stack([jnp.prod(b.hi - b.lo) for b in jax.tree.leaves(shrunk, is_leaf=lambda n: isinstance(n, Box))])
names = [jax.tree_util.keystr(p) for p, _ in jax.tree_util.tree_leaves_with_path(boxes)]
flat, td = jax.tree.flatten(boxes)
print(names, td.num_leaves, td.unflatten(flat)["a"].name, shrunk["a"] is boxes["a"])
vol
---
boxes["b"].append(Box(jnp.zeros(3), jnp.ones(3) * 2, "big"))
---
boxes["a"].name = "renamed"

### tn-random-key-reuse-guard-folded-per-name-and-step
import zlib
class Keys:
    def __init__(self, seed): self.root, self.used = jax.random.key(seed), set()
    def __call__(self, name, step=0):
        if (name, step) in self.used: raise KeyError(f"{name}@{step} used")
        self.used.add((name, step))
        return jax.random.fold_in(jax.random.fold_in(self.root, zlib.crc32(name.encode()) % 1000), step)
seed, names = 1, ["drop", "noise", "drop"]
---
keys, out = Keys(seed), {}
for i, n in enumerate(names):
    try:
        out[n] = jax.random.uniform(keys(n), (2,))
    except KeyError as e:
        print(e)
        out[n + "2"] = jax.random.uniform(keys(n, i), (2,))
print(len(keys.used), list(out), keys.root.dtype == jax.random.key(0).dtype)
out
---
seed = 2
---
names = ["a", "b"]

### tn-cross-validation-folds-by-index-with-mean-and-std-report
X = jnp.linspace(-1, 1, 24).reshape(12, 2) ** jnp.array([1, 2])
y = X @ jnp.array([1.0, 0.5]) + 0.1
lams, k = [0.0, 0.1, 1.0], 3
def ridge(X, y, lam): return jnp.linalg.solve(X.T @ X + lam * jnp.eye(X.shape[1]) + 1e-6, X.T @ y)
---
folds = np.array_split(np.arange(len(X)), k)
table = {}
for lam in lams:
    errs = []
    for f in folds:
        tr = np.setdiff1d(np.arange(len(X)), f)
        w = ridge(X[tr], y[tr], lam)
        errs.append(jnp.sqrt(jnp.mean((X[f] @ w - y[f]) ** 2)))
    e = jnp.stack(errs)
    table[lam] = f"{e.mean():.3f}±{e.std():.3f}"
best = min(table, key=lambda l: float(table[l].split("±")[0]))
print(table, best)
ridge(X, y, best)
---
k = 4
---
lams = [0.5]; y = y * 2

### tn-beam-search-over-a-table-with-heap-and-strings
import heapq
logits = jax.nn.log_softmax(jax.random.normal(jax.random.key(3), (4, 4)))
alphabet, width, length = "abc$", 2, 3
---
beams = [(0.0, "", 3)]
for _ in range(length):
    cand = []
    for score, text, last in beams:
        if text.endswith("$"):
            cand.append((score, text, last)); continue
        for j, lp in enumerate(logits[last]):
            cand.append((score + float(lp), text + alphabet[j], j))
    beams = heapq.nlargest(width, cand)
best = beams[0][1].rstrip("$")
total = sum(logits[a, b] for a, b in zip([3] + [alphabet.index(c) for c in beams[0][1]], [alphabet.index(c) for c in beams[0][1]]))
print([b[1] for b in beams], best)
total
---
width = 1
---
logits = logits[::-1]

### tn-lanczos-tridiagonal-and-arrays-collected-in-lists
A = jnp.diag(jnp.arange(1.0, 6.0)) + 0.1
v0, m = jnp.ones(5) / 5 ** 0.5, 3
---
V, alpha, beta = [v0], [], []
for j in range(m):
    w = A @ V[-1]
    if j: w = w - beta[-1] * V[-2]
    alpha.append(V[-1] @ w)
    w = w - alpha[-1] * V[-1]
    beta.append(jnp.linalg.norm(w))
    if beta[-1] < 1e-6: break
    V.append(w / beta[-1])
T = jnp.diag(jnp.array(alpha)) + sum(jnp.diag(jnp.array(beta[:-1]), s) for s in (1, -1))
ritz = jnp.linalg.eigvalsh(T)
print(T.shape, len(V), f"{ritz[-1]:.3f}")
ritz
---
m = 2
---
A = A.at[0, 0].set(10.0)
""",
    theme="tn_science",
)
