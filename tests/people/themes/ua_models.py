"""Models and their training as tutorials and repositories write them, over the libraries for it."""

from ..cell import written

PRELUDE = """
import collections, copy, dataclasses, functools, itertools, json, logging, math, os, pickle, random, time
from functools import partial
from typing import Any, Callable, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
import optax
"""

CELLS = written(
    PRELUDE,
    r"""
### ua-schedule-free-adamw-eval-params needs=optax
from optax import contrib
X = jax.random.normal(jax.random.key(0), (16, 3)); y = X @ jnp.array([1.0, -2.0, 0.5])
opt = contrib.schedule_free_adamw(learning_rate=0.05)
params = {"w": jnp.zeros(3)}
state = opt.init(params)
@jax.jit
def step(params, state):
    loss, g = jax.value_and_grad(lambda p: jnp.mean((X @ p["w"] - y) ** 2))(params)
    up, state = opt.update(g, state, params)
    return optax.apply_updates(params, up), state, loss
---
losses = []
for _ in range(5):
    params, state, loss = step(params, state)
    losses.append(loss.item())
ev = contrib.schedule_free_eval_params(state, params)
print(losses[-1] < losses[0], type(state).__name__)
ev["w"] - params["w"]
---
params = {"w": jnp.ones(3)}

### ua-optax-tree-utils-and-losses-zoo needs=optax
import optax.tree_utils as otu
a = {"x": jnp.arange(3.0), "y": [jnp.ones(2)]}
b = jax.tree.map(lambda v: v - 1, a)
logits, labels = jnp.array([[2.0, -1.0, 0.0], [0.1, 0.2, 0.3]]), jnp.array([0, 2])
---
d = otu.tree_sub(a, b)
n = otu.tree_l2_norm(a)
z = otu.tree_zeros_like(a)
v = otu.tree_vdot(a, b)
ce = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
foc = optax.sigmoid_focal_loss(logits, jax.nn.one_hot(labels, 3)).mean()
hub = optax.huber_loss(logits[0], delta=0.5)
cos = optax.cosine_similarity(logits[0], logits[1])
print(z["y"][0].tolist(), ce.shape, float(cos) < 1)
n, v, foc, hub
---
labels = jnp.array([1, 1])

### ua-projected-gradient-onto-simplex-and-box-logged needs=optax
proj = {"simplex": optax.projections.projection_simplex, "box": partial(optax.projections.projection_box,
        lower=-0.1, upper=0.6), "l2": partial(optax.projections.projection_l2_ball, scale=0.5)}
target = jnp.array([0.9, 0.4, -0.3])
---
out = {}
for name, p in proj.items():
    w = jnp.full(3, 1 / 3)
    for it in range(20):
        g = jax.grad(lambda w: jnp.sum((w - target) ** 2))(w)
        new = p(w - 0.3 * g)
        if jnp.linalg.norm(new - w) < 1e-4: break
        w = new
    else:
        it = -1
    out[name] = (it, w)
print({k: v[0] >= -1 for k, v in out.items()}, round(float(out["simplex"][1].sum()), 3))
out["box"][1]
---
target = target * 2
---
del proj["l2"]

### ua-agent-class-epsilon-halflife-with-deque-buffer
class Agent:
    def __init__(self, layer_spec, key, lr=0.05, epsilon=1, epsilon_min=0.2, epsilon_hlife=50, buffer_size=40, **kw):
        self.lr, self.epsilon_min, self.discount = lr, epsilon_min, kw.pop("discount_factor", 0.9)
        self.epsilon = self.epsilon_init = epsilon
        self.epsilon_decay = 2 ** (-1 / epsilon_hlife)
        self.buffer = collections.deque(maxlen=buffer_size)
        self.steps_trained = 0
        ks = jax.random.split(key, len(layer_spec))
        self.params = [(jax.random.normal(k, (n, m)) * 0.3, jnp.zeros(n)) for m, n, k in zip(layer_spec, layer_spec[1:], ks)]
    def predict(self, params, x):
        for w, b in params[:-1]: x = jax.nn.relu(w @ x + b)
        w, b = params[-1]
        return w @ x + b
    def act(self, obs, explore=True):
        if explore and random.random() < self.epsilon: return random.randrange(2)
        return int(jnp.argmax(self.predict(self.params, obs)))
    def train(self, batch):
        obs, act, rew, nxt, done = map(jnp.array, zip(*random.sample(self.buffer, batch)))
        def loss(p):
            q = jax.vmap(self.predict, (None, 0))(p, obs)[jnp.arange(batch), act]
            t = rew + self.discount * jnp.max(jax.vmap(self.predict, (None, 0))(self.params, nxt), 1) * (1 - done)
            return jnp.mean((q - lax.stop_gradient(t)) ** 2)
        l, g = jax.value_and_grad(loss)(self.params)
        self.params = jax.tree.map(lambda p, g: p - self.lr * g, self.params, g)
        self.steps_trained += 1
        self.epsilon = max(self.epsilon * self.epsilon_decay, self.epsilon_min)
        return l
random.seed(3)
agent = Agent([2, 4, 2], jax.random.key(1), discount_factor=0.8)
---
obs, total = np.array([0.1, -0.1], np.float32), 0.0
for t in range(12):
    a = agent.act(jnp.asarray(obs))
    nxt = (obs * 0.9 + (a - 0.5) * 0.2).astype(np.float32)
    r, done = float(-abs(nxt).sum()), t % 5 == 4
    agent.buffer.append((obs, a, r, nxt, float(done)))
    obs, total = nxt, total + r
    if len(agent.buffer) >= 6: last = agent.train(4)
print(agent.steps_trained, len(agent.buffer), f"{agent.epsilon:.4f}")
agent.predict(agent.params, jnp.asarray(obs))
---
agent.lr = 0.01
---
agent.epsilon = agent.epsilon_min

### ua-module-class-with-getparams-setparams-and-pure-forward x64
class Module:
    def __setattr__(self, k, v):
        for reg, t in (("_params", jax.Array), ("_submodules", Module)):
            if isinstance(v, t): self.__dict__.setdefault(reg, {})[k] = v
        object.__setattr__(self, k, v)
    def get_params(self):
        p = dict(self.__dict__.get("_params", {}))
        p.update({k: m.get_params() for k, m in self.__dict__.get("_submodules", {}).items()})
        return p
    def load(self, p):
        for k, v in p.items():
            getattr(self, k).load(v) if isinstance(v, dict) else setattr(self, k, v)
        return self
    def purify(self, method):
        def pure(params, *a):
            old = self.get_params()
            self.load(params)
            try: return method(*a)
            finally: self.load(old)
        return pure
class Linear(Module):
    def __init__(self, k, i, o): self.w, self.b = jax.random.normal(k, (i, o)) * 0.5, jnp.zeros(o)
    def __call__(self, x): return x @ self.w + self.b
class Net(Module):
    def __init__(self, key):
        k1, k2 = jax.random.split(key)
        self.a, self.c, self.g = Linear(k1, 2, 3), Linear(k2, 3, 1), jnp.array(1.0)
    def loss(self, x, y): return jnp.mean((self.c(jnp.tanh(self.a(x)))[:, 0] * self.g - y) ** 2)
net = Net(jax.random.key(0)); x = jnp.array([[0., 1.], [1., 0.], [1., 1.]]); y = jnp.array([1., 1., 0.])
---
f = jax.jit(jax.value_and_grad(net.purify(net.loss)))
for _ in range(4):
    p = net.get_params()
    l, g = f(p, x, y)
    net.load(jax.tree.map(lambda a, b: a - 0.2 * b, p, g))
print(sorted(p), list(p["a"]), net.a.w is net.a._params["w"])
l, net.c.b
---
net.g = jnp.array(2.0)
---
y = 1 - y

### ua-nnx-metrics-welford-and-own-metric-class needs=flax
from flax import nnx
class Extremes(nnx.Metric):
    def __init__(self): self.lo, self.hi = nnx.metrics.MetricState(jnp.inf), nnx.metrics.MetricState(-jnp.inf)
    def reset(self): self.lo[...] = jnp.inf; self.hi[...] = -jnp.inf
    def update(self, *, values, **_):
        self.lo[...] = jnp.minimum(self.lo[...], values.min())
        self.hi[...] = jnp.maximum(self.hi[...], values.max())
    def compute(self): return self.lo[...], self.hi[...]
metrics = nnx.MultiMetric(loss=nnx.metrics.Welford("loss"), avg=nnx.metrics.Average("loss"), ext=Extremes())
rows = [jnp.arange(3.0), jnp.array([-1.0, 4.0])]
---
for r in rows: metrics.update(loss=r, values=r)
res = metrics.compute()
line = f"mean {res['avg']:.3f} std {res['loss'].standard_deviation:.3f} range {[float(v) for v in res['ext']]}"
print(line)
metrics.reset()
res["loss"].mean
---
rows.append(jnp.ones(4) * 7)

### ua-nnx-module-with-list-of-blocks-swapped-and-recompiled needs=flax
from flax import nnx
class Block(nnx.Module):
    def __init__(self, d, rngs): self.lin, self.norm = nnx.Linear(d, d, rngs=rngs), nnx.LayerNorm(d, rngs=rngs)
    def __call__(self, x): return x + jax.nn.gelu(self.norm(self.lin(x)))
class Net(nnx.Module):
    def __init__(self, d, n, rngs): self.blocks = nnx.List([Block(d, rngs) for _ in range(n)])
    def __call__(self, x):
        for b in self.blocks: x = b(x)
        return x
net = Net(3, 2, nnx.Rngs(0))
x = jnp.arange(6.0).reshape(2, 3)
@nnx.jit
def fwd(m, x): return m(x)
---
y = fwd(net, x)
g = nnx.grad(lambda m: jnp.mean(m(x) ** 2))(net)
nnx.update(net, jax.tree.map(lambda p, g: p - 0.1 * g, nnx.state(net, nnx.Param), g))
n = sum(p.size for p in jax.tree.leaves(nnx.state(net, nnx.Param)))
print(n, len(net.blocks), type(net.blocks).__name__)
y - fwd(net, x)
---
net.blocks.append(Block(3, nnx.Rngs(5)))
---
net.blocks[0].lin = net.blocks[1].lin

### ua-linen-sow-perturb-and-intermediate-grads needs=flax
import flax.linen as nn
class Foo(nn.Module):
    features: int = 3
    @nn.compact
    def __call__(self, x):
        h = nn.Dense(self.features)(x)
        h = self.perturb("h", h)
        self.sow("intermediates", "act", jnp.tanh(h))
        return nn.Dense(1, name="out")(jnp.tanh(h)).sum()
model = Foo(); x = jnp.ones((2, 2))
variables = model.init(jax.random.key(0), x)
---
params, pert = variables["params"], variables["perturbations"]
def loss(params, pert):
    out, mods = model.apply({"params": params, "perturbations": pert}, x, mutable=["intermediates"])
    return out ** 2, mods
(l, mods), (gp, gh) = jax.value_and_grad(loss, (0, 1), has_aux=True)(params, pert)
act = mods["intermediates"]["act"][0]
print(sorted(gp), jax.tree.map(jnp.shape, gh), act.shape, type(mods).__name__)
l, gh["h"]
---
x = x * 0.5
---
model = Foo(4); variables = model.init(jax.random.key(2), x)

### ua-linen-train-state-subclass-with-ema-and-dynamic-scale needs=flax
import flax.linen as nn
from flax.training import train_state, dynamic_scale as ds
from flax import struct
class State(train_state.TrainState):
    ema: Any = None
    decay: float = struct.field(pytree_node=False, default=0.9)
    scale: Any = None
    def apply_gradients(self, *, grads, **kw):
        new = super().apply_gradients(grads=grads, **kw)
        return new.replace(ema=optax.incremental_update(new.params, self.ema, 1 - self.decay))
model = nn.Sequential([nn.Dense(4), nn.relu, nn.Dense(1)])
x, y = jnp.linspace(-1, 1, 6)[:, None], jnp.linspace(-1, 1, 6)[:, None] ** 2
p = model.init(jax.random.key(0), x)["params"]
state = State.create(apply_fn=model.apply, params=p, tx=optax.sgd(0.1), ema=p, scale=ds.DynamicScale(growth_interval=2))
---
@jax.jit
def step(state):
    def loss_fn(p): return jnp.mean((state.apply_fn({"params": p}, x) - y) ** 2)
    dyn, fin, loss, grads = state.scale.value_and_grad(loss_fn)(state.params)
    new = state.apply_gradients(grads=grads).replace(scale=dyn)
    return new, {"loss": loss, "finite": fin, "scale": dyn.scale}
hist = []
for _ in range(3):
    state, m = step(state)
    hist.append(jax.tree.map(np.asarray, m))
print(int(state.step), [h["scale"].item() for h in hist], hist[-1]["finite"].dtype)
optax.global_norm(jax.tree.map(jnp.subtract, state.params, state.ema))
---
x = x * 2
---
state = state.replace(decay=0.5)

### ua-eqx-module-with-static-fields-methods-and-error-if needs=equinox
import equinox as eqx
class Attention(eqx.Module):
    q: eqx.nn.Linear
    k: eqx.nn.Linear
    heads: int = eqx.field(static=True)
    name: str = eqx.field(static=True, default="attn")
    def __init__(self, d, heads, *, key):
        k1, k2 = jax.random.split(key)
        self.q, self.k, self.heads = eqx.nn.Linear(d, d, key=k1), eqx.nn.Linear(d, d, key=k2), heads
    def __check_init__(self):
        if self.q.out_features % self.heads: raise ValueError(f"{self.name}: {self.heads} heads do not divide")
    @jax.named_scope("attention")
    def __call__(self, x):
        q, k = (jax.vmap(l)(x).reshape(len(x), self.heads, -1) for l in (self.q, self.k))
        return jnp.einsum("shd,thd->st", jax.nn.softmax(q), k)
    def with_heads(self, n): return dataclasses.replace(self, heads=n) if False else eqx.tree_at(lambda m: m.q.bias, self, self.q.bias * n)
att = Attention(4, 2, key=jax.random.key(0)); x = jnp.eye(4)[:3]
---
out = eqx.filter_jit(att)(x)
try:
    Attention(4, 3, key=jax.random.key(0))
except ValueError as e:
    print(e)
other = att.with_heads(2)
print(eqx.tree_equal(att, other) is not True, other.k is att.k, other.q.weight is att.q.weight)
out + other(x)
---
x = x[:2]
---
att = Attention(4, 4, key=jax.random.key(3))

### ua-eqx-stateful-spectral-norm-and-dropout-inference needs=equinox
import equinox as eqx
class Disc(eqx.Module):
    sn: eqx.nn.SpectralNorm
    drop: eqx.nn.Dropout
    def __init__(self, key):
        a, b = jax.random.split(key)
        self.sn = eqx.nn.SpectralNorm(eqx.nn.Linear(3, 2, key=a), weight_name="weight", key=b)
        self.drop = eqx.nn.Dropout(0.5)
    def __call__(self, x, state, *, key=None):
        y, state = self.sn(x, state)
        return self.drop(y, key=key).sum(), state
model, state = eqx.nn.make_with_state(Disc)(jax.random.key(0))
x, key = jnp.ones(3), jax.random.key(5)
---
for i in range(3):
    key, sub = jax.random.split(key)
    out, state = model(x, state, key=sub)
frozen = eqx.nn.inference_mode(model)
ev, _ = frozen(x, state)
print(frozen.drop.inference, model.drop.inference, type(state).__name__)
ev
---
x = x * 2

### ua-diffusion-cosine-schedule-sampler-yields-frames needs=equinox
import equinox as eqx
T = 5
f = lambda t: jnp.cos((t / T + 0.008) / 1.008 * jnp.pi / 2) ** 2
abar = f(jnp.arange(T + 1)) / f(0)
betas = jnp.clip(1 - abar[1:] / abar[:-1], 0, 0.999)
net = eqx.nn.MLP(3, 2, 8, 1, key=jax.random.key(0))
def eps(x, t): return jax.vmap(net)(jnp.c_[x, jnp.full(len(x), t / T)])
def sample(key, n):
    key, k = jax.random.split(key)
    x = jax.random.normal(k, (n, 2))
    for t in reversed(range(T)):
        key, k = jax.random.split(key)
        z = jax.random.normal(k, x.shape) if t > 0 else 0
        a = 1 - betas[t]
        x = (x - betas[t] / jnp.sqrt(1 - abar[t + 1]) * eps(x, t)) / jnp.sqrt(a) + jnp.sqrt(betas[t]) * z
        yield t, x
key = jax.random.key(1)
---
frames = {t: x for t, x in sample(key, 4) if t % 2 == 0}
*_, (t_last, final) = sample(key, 4)
print(list(frames), t_last, final.shape, bool(jnp.isfinite(final).all()))
final
---
key = jax.random.key(2)
---
T = 5; net = eqx.tree_at(lambda n: n.layers[0].weight, net, replace_fn=lambda w: w * 0)

### ua-two-player-gan-lists-of-dicts-and-alternating-flags needs=optax
def mlp(ps, x):
    for i, p in enumerate(ps): x = p["w"].T @ x if x.ndim == 1 else x @ p["w"] + p["b"]; x = jnp.tanh(x) if i < len(ps) - 1 else x
    return x
def init(key, *sizes):
    return [{"w": jax.random.normal(k, s) * 0.5, "b": jnp.zeros(s[1])} for k, s in
            zip(jax.random.split(key, len(sizes) - 1), itertools.pairwise(sizes))]
kg, kd = jax.random.split(jax.random.key(0))
G, D = init(kg, 2, 4, 1), init(kd, 1, 4, 1)
opts = {"G": optax.adam(1e-2, b1=0.5), "D": optax.adam(1e-2, b1=0.5)}
states = {"G": opts["G"].init(G), "D": opts["D"].init(D)}
def losses(G, D, key):
    z = jax.random.normal(key, (8, 2)); real = jax.random.normal(key, (8, 1)) + 3
    dr, df = mlp(D, real), mlp(D, mlp(G, z))
    return jnp.mean(jax.nn.softplus(-df)), jnp.mean(jax.nn.softplus(-dr) + jax.nn.softplus(df))
key, hist = jax.random.key(9), collections.defaultdict(list)
---
for it in range(4):
    key, sub = jax.random.split(key)
    who = "D" if it % 3 else "G"
    l, g = jax.value_and_grad(lambda G, D: losses(G, D, sub)[who == "D"], argnums=int(who == "D"))(G, D)
    up, states[who] = opts[who].update(g, states[who])
    if who == "G": G = optax.apply_updates(G, up)
    else: D = optax.apply_updates(D, up)
    hist[who].append(float(l))
print({k: len(v) for k, v in hist.items()}, all(math.isfinite(v) for vs in hist.values() for v in vs))
mlp(G, jnp.ones((1, 2)))
---
hist.clear()
---
opts["G"] = optax.sgd(0.1); states["G"] = opts["G"].init(G)

### ua-haiku-lift-and-vq-embedding-update-with-state needs=haiku
import haiku as hk
class VQ(hk.Module):
    def __init__(self, n, d, name=None):
        super().__init__(name)
        self.n, self.d = n, d
    def __call__(self, x, is_training):
        emb = hk.get_state("emb", (self.n, self.d), init=hk.initializers.RandomNormal())
        idx = jnp.argmin(((x[:, None] - emb[None]) ** 2).sum(-1), -1)
        if is_training:
            onehot = jax.nn.one_hot(idx, self.n)
            cnt = onehot.sum(0)[:, None]
            hk.set_state("emb", jnp.where(cnt > 0, 0.9 * emb + 0.1 * (onehot.T @ x) / jnp.maximum(cnt, 1), emb))
        q = emb[idx]
        return x + lax.stop_gradient(q - x), idx
def fwd(x, is_training=True): return VQ(3, 2)(hk.Linear(2)(x), is_training)
f = hk.without_apply_rng(hk.transform_with_state(fwd))
x = jax.random.normal(jax.random.key(1), (4, 2))
params, state = f.init(jax.random.key(0), x)
---
for _ in range(3):
    (q, idx), state = f.apply(params, state, x)
(_, idx2), same = f.apply(params, state, x, is_training=False)
used = sorted(set(idx.tolist()))
print(used, list(state), jax.tree.map(lambda a, b: a is b, state, same))
q
---
x = x * 3

### ua-numpyro-schools-log-density-grad-and-plates needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro import handlers
from numpyro.infer.util import log_density, initialize_model
yobs, sig = jnp.array([28.0, 8.0, -3.0, 7.0]), jnp.array([15.0, 10.0, 16.0, 11.0])
def schools(y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("J", len(sig)):
        eta = numpyro.sample("eta", dist.Normal(0, 1))
        theta = numpyro.deterministic("theta", mu + tau * eta)
        return numpyro.sample("obs", dist.Normal(theta, sig), obs=y)
vals = {"mu": jnp.array(4.0), "tau": jnp.array(2.0), "eta": jnp.zeros(4)}
---
ld, tr = log_density(schools, (yobs,), {}, vals)
g = jax.grad(lambda v: log_density(schools, (yobs,), {}, v)[0])(vals)
prior = handlers.trace(handlers.seed(schools, 0)).get_trace()
shapes = {k: s["value"].shape for k, s in prior.items() if s["type"] in ("sample", "deterministic")}
print(list(shapes.items()), tr["obs"]["is_observed"], prior["tau"]["fn"].__class__.__name__)
vals2 = {k: v + 0.01 * g[k] for k, v in vals.items()}
ld, vals2["eta"]
---
yobs = yobs + 1
---
vals["eta"] = jnp.ones(4)

### ua-diffrax-sir-with-events-args-and-parameter-sweep needs=diffrax
import diffrax as dfx
def sir(t, y, args):
    S, I, R = y
    b, g = args
    return jnp.array([-b * S * I, b * S * I - g * I, g * I])
y0, beta, gamma = jnp.array([0.99, 0.01, 0.0]), 0.9, 0.2
---
res = {}
for b in (beta, beta / 2):
    sol = dfx.diffeqsolve(dfx.ODETerm(sir), dfx.Tsit5(), 0.0, 20.0, 0.5, y0, args=(b, gamma),
                          saveat=dfx.SaveAt(ts=jnp.linspace(0, 20, 5)), stepsize_controller=dfx.PIDController(1e-4, 1e-6))
    res[b] = sol.ys[-1]
    print(f"{b:.2f}", f"{float(sol.ys[:, 1].max()):.3f}", sol.result == dfx.RESULTS.successful)
peak = max(res, key=lambda b: float(res[b][2]))
res[peak]
---
gamma = 0.1
---
y0 = jnp.array([0.9, 0.1, 0.0])

### ua-hmc-sampler-namedtuple-info-adapt-step-in-python
class State(NamedTuple): q: Any; logp: Any; grad: Any
class Info(NamedTuple): accept: Any; dH: Any
logp = lambda q: -0.5 * q @ P @ q
P = jnp.array([[2.0, 0.3], [0.3, 1.0]])
def init(q): return State(q, *jax.value_and_grad(logp)(q))
def kernel(key, s, eps, L):
    k1, k2 = jax.random.split(key)
    p0 = jax.random.normal(k1, s.q.shape)
    def leap(_, c):
        q, p, g = c
        p = p + 0.5 * eps * g; q = q + eps * p; g = jax.grad(logp)(q)
        return q, p + 0.5 * eps * g, g
    q, p, _ = lax.fori_loop(0, L, leap, (s.q, p0, s.grad))
    new = init(q)
    dH = new.logp - 0.5 * p @ p - s.logp + 0.5 * p0 @ p0
    acc = jnp.log(jax.random.uniform(k2)) < dH
    return jax.tree.map(lambda a, b: jnp.where(acc, a, b), new, s), Info(acc, dH)
state, key, eps, samples = init(jnp.array([1.0, -1.0])), jax.random.key(0), 0.3, []
---
samples.clear()
for i in range(6):
    key, sub = jax.random.split(key)
    state, info = kernel(sub, state, eps, 3)
    samples.append(state.q)
    eps *= 1.02 if info.accept else 0.9
xs = np.stack(samples)
print(xs.shape, xs.dtype, round(eps, 4), type(info).__name__, info._fields)
xs.mean(0)
---
P = jnp.eye(2)
---
eps = 0.05

### ua-gp-class-fit-predict-with-cached-cholesky-invalidated
class GP:
    def __init__(self, ls=1.0, noise=1e-2): self.theta, self.noise, self._cache = jnp.log(jnp.array([ls, 1.0])), noise, None
    def k(self, th, a, b): return jnp.exp(th[1]) * jnp.exp(-0.5 * ((a[:, None] - b) / jnp.exp(th[0])) ** 2)
    def nll(self, th, X, y):
        L = jnp.linalg.cholesky(self.k(th, X, X) + self.noise * jnp.eye(len(X)))
        z = jax.scipy.linalg.solve_triangular(L, y, lower=True)
        return 0.5 * z @ z + jnp.log(jnp.diag(L)).sum()
    def fit(self, X, y, steps=5, lr=0.05, verbose=False):
        self._cache = None
        vg = jax.jit(jax.value_and_grad(self.nll))
        for i in range(steps):
            v, g = vg(self.theta, X, y)
            self.theta = self.theta - lr * jnp.clip(g, -1, 1)
            if verbose and i % 2 == 0: print(f"{i} {v:.2f}")
        self.X, self.y = X, y
        return self
    def _chol(self):
        if self._cache is None:
            self._cache = jax.scipy.linalg.cho_factor(self.k(self.theta, self.X, self.X) + self.noise * jnp.eye(len(self.X)))
        return self._cache
    def predict(self, Xs, return_std=False):
        Ks = self.k(self.theta, Xs, self.X)
        mu = Ks @ jax.scipy.linalg.cho_solve(self._chol(), self.y)
        if not return_std: return mu
        return mu, jnp.sqrt(jnp.maximum(jnp.exp(self.theta[1]) - jnp.sum(Ks * jax.scipy.linalg.cho_solve(self._chol(), Ks.T).T, 1), 0))
X = jnp.linspace(0, 3, 6); y = jnp.sin(X); gp = GP()
---
m, s = gp.fit(X, y, verbose=True).predict(jnp.array([0.7, 2.2]), return_std=True)
c = gp._cache
m2 = gp.predict(X)
print(gp._cache is c, c[1])
m, s
---
y = jnp.cos(X)
---
gp.noise = 0.1; gp._cache = None

### ua-vae-elbo-with-annealing-loop-prints-and-stop-iteration needs=optax
D, Z = 4, 2
ks = jax.random.split(jax.random.key(0), 3)
p = dict(enc=jax.random.normal(ks[0], (D, 2 * Z)) * 0.3, dec=jax.random.normal(ks[1], (Z, D)) * 0.3)
data = jax.random.bernoulli(ks[2], 0.4, (12, D)).astype(jnp.float32)
def elbo(p, x, key, beta):
    mu, lv = jnp.split(x @ p["enc"], 2, -1)
    z = mu + jnp.exp(0.5 * lv) * jax.random.normal(key, mu.shape)
    rec = optax.sigmoid_binary_cross_entropy(z @ p["dec"], x).sum(-1)
    kl = -0.5 * (1 + lv - mu ** 2 - jnp.exp(lv)).sum(-1)
    return (rec + beta * kl).mean(), (rec.mean(), kl.mean())
def batches(x, bs, rng):
    perm = rng.permutation(len(x))
    yield from (x[perm[i:i + bs]] for i in range(0, len(x), bs))
rng, opt = np.random.default_rng(0), optax.rmsprop(0.01)
st, step = opt.init(p), 0
---
it = batches(data, 5, rng)
while True:
    try:
        xb = next(it)
    except StopIteration:
        break
    beta = min(1.0, step / 10)
    (l, (r, k)), g = jax.value_and_grad(elbo, has_aux=True)(p, xb, jax.random.fold_in(ks[0], step), beta)
    up, st = opt.update(g, st, p)
    p = optax.apply_updates(p, up)
    step += 1
    print(f"step {step}: elbo={-l:.3f} ({r:.2f}+{beta:.1f}*{k:.2f}) {xb.shape}")
z = data @ p["enc"]
z[:2]
---
step = 100
---
data = data[:7]

### ua-checkpoint-every-n-with-pickle-latest-symlink-and-restore-latest needs=optax
opt = optax.adam(0.1)
params = {"layers": [jnp.ones(2), jnp.zeros(2)]}
state = opt.init(params)
ckdir = os.path.join(os.getcwd(), "ckpts"); os.makedirs(ckdir, exist_ok=True)
def save(step, tree):
    path = os.path.join(ckdir, f"step_{step}.pkl")
    with open(path, "wb") as f: pickle.dump(jax.device_get(tree), f)
    link = os.path.join(ckdir, "latest.pkl")
    if os.path.islink(link): os.remove(link)
    os.symlink(os.path.basename(path), link)
step = 0
---
for _ in range(4):
    g = jax.grad(lambda p: sum(jnp.sum((a - 2) ** 2) for a in p["layers"]))(params)
    up, state = opt.update(g, state)
    params = optax.apply_updates(params, up)
    step += 1
    if step % 2 == 0: save(step, (params, state, step))
with open(os.path.join(ckdir, "latest.pkl"), "rb") as f:
    r_params, r_state, r_step = pickle.load(f)
print(sorted(os.listdir(ckdir))[-1], r_step, type(r_state[0]).__name__, type(r_params["layers"][0]).__name__)
params["layers"][0] - r_params["layers"][0]
---
params = {"layers": [jnp.zeros(2), jnp.ones(2)]}
---
opt = optax.adam(0.5); state = opt.init(params)
""",
)
