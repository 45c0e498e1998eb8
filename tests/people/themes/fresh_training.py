"""Training as other people write it: state classes, checkpoints, accumulation, schedules, ensembles, inference."""

from ..cell import written

PRELUDE = """
import functools, dataclasses, typing, pathlib, json, pickle
import jax, jax.numpy as jnp, numpy as np
X = jnp.sin(jnp.arange(24.0)).reshape(8, 3)
Y = X @ jnp.array([1.0, -2.0, 0.5]) + 0.1
"""

CELLS = written(
    PRELUDE,
    r"""
### ftr-loss-as-static-argument needs=optax
import optax
@functools.partial(jax.jit, static_argnums=(1, 2))
def step(params, loss_fn, tx, state, xs, ys):
    loss, grads = jax.value_and_grad(loss_fn)(params, xs, ys)
    updates, state = tx.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss
tx = optax.adam(0.05)
params = {"w": jnp.zeros(3), "b": jnp.zeros(())}
state = tx.init(params)
def mse(p, xs, ys):
    return jnp.mean((xs @ p["w"] + p["b"] - ys) ** 2)
---
losses = []
for epoch in range(2):
    for i in range(0, 8, 4):
        params, state, loss = step(params, mse, tx, state, X[i:i + 4], Y[i:i + 4])
        losses.append(loss.item())
print(f"{len(losses)} {losses[-1]:.3f}")
---
params = jax.tree.map(jnp.ones_like, params)

### ftr-accumulate-by-scan needs=optax
import optax
tx = optax.chain(optax.zero_nans(), optax.clip_by_global_norm(1.0), optax.adamw(0.1))
params = jnp.zeros(3)
state = tx.init(params)
grad_fn = jax.value_and_grad(lambda p, b: jnp.mean((b[0] @ p - b[1]) ** 2))
---
micro = jax.tree.map(lambda a: a.reshape(4, 2, *a.shape[1:]), (X, Y))
def add(acc, batch):
    out = grad_fn(params, batch)
    return jax.tree.map(jnp.add, acc, out), None
(loss, grads), _ = jax.lax.scan(add, (jnp.zeros(()), jnp.zeros(3)), micro)
updates, state = tx.update(grads / 4, state, params)
params = optax.apply_updates(params, updates)
loss / 4
---
params = params + 1

### ftr-apply-if-finite needs=optax
import optax
tx = optax.apply_if_finite(optax.sgd(0.1), max_consecutive_errors=2)
params = jnp.ones(3)
state = tx.init(params)
scale = 1.0
---
g = jax.grad(lambda p: jnp.sum(jnp.log(p * scale)))(params)
updates, state = tx.update(g, state, params)
params = optax.apply_updates(params, updates)
bad = int(state.notfinite_count)
bad, params
---
scale = 0.0

### ftr-plateau needs=optax
import optax, optax.contrib
tx = optax.chain(optax.sgd(0.1), optax.contrib.reduce_on_plateau(patience=1, factor=0.5, accumulation_size=1))
params = jnp.zeros(3)
state = tx.init(params)
---
for _ in range(3):
    loss, g = jax.value_and_grad(lambda p: jnp.mean((X @ p - Y) ** 2))(params)
    up, state = tx.update(g, state, params, value=loss)
    params = optax.apply_updates(params, up)
scale = optax.tree.get(state, "scale")
f"{scale:.2f}", loss
---
params = params * 0

### ftr-schedule-joined needs=optax
import optax
sched = optax.join_schedules([optax.linear_schedule(0.0, 1.0, 3), optax.exponential_decay(1.0, 2, 0.5)], [3])
step = 0
---
lrs = [float(sched(step + i)) for i in range(4)]
step += 4
peak = max(lrs)
lr = sched(jnp.asarray(step))
[round(v, 3) for v in lrs], lr
---
step = 0

### ftr-trainstate-with-targets cold needs=flax,optax
import flax.linen as nn, optax
from flax.training.train_state import TrainState
class Learner(TrainState):
    target: typing.Any = None
    updates_done: int = 0
    def sync(self, tau):
        return self.replace(target=optax.incremental_update(self.params, self.target, tau), updates_done=self.updates_done + 1)
net = nn.Sequential([nn.Dense(4), nn.tanh, nn.Dense(1)])
params = net.init(jax.random.key(0), X)
ts = Learner.create(apply_fn=net.apply, params=params, target=params, tx=optax.sgd(0.1))
---
def loss_fn(p):
    goal = jax.lax.stop_gradient(ts.apply_fn(ts.target, X)[:, 0] * 0.9) + Y
    return jnp.mean((ts.apply_fn(p, X)[:, 0] - goal) ** 2)
loss, g = jax.value_and_grad(loss_fn)(ts.params)
ts = ts.apply_gradients(grads=g).sync(0.1)
ts.step, ts.updates_done, loss
---
ts = ts.replace(target=ts.params)

### ftr-linen-mutable-stats needs=flax
import flax.linen as nn
class Net(nn.Module):
    wide: int = 4
    @nn.compact
    def __call__(self, v, train: bool):
        v = nn.Dense(self.wide)(v)
        v = nn.BatchNorm(use_running_average=not train)(v)
        n = self.variable("counts", "calls", lambda: jnp.zeros((), jnp.int32))
        n.value += 1
        return nn.Dropout(0.5, deterministic=not train)(v)
net = Net()
variables = net.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, X, train=False)
---
out, new = net.apply(variables, X, train=True, rngs={"dropout": jax.random.key(2)}, mutable=["batch_stats", "counts"])
variables = {**variables, **new}
variables["counts"]["calls"], out.mean()
---
variables["counts"] = {"calls": jnp.array(7)}

### ftr-linen-lifted-scan needs=flax
import flax.linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, h, _):
        return nn.tanh(nn.Dense(3)(h)), None
---
Deep = nn.scan(nn.remat(Block), variable_axes={"params": 0}, split_rngs={"params": True}, length=3)
deep = Deep()
params = deep.init(jax.random.key(0), X, None)
h, _ = deep.apply(params, X, None)
jax.tree.map(jnp.shape, params), h.sum()
---
X = X * 2

### ftr-nnx-ensemble-split-rngs needs=flax
from flax import nnx
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(3, 2, rngs=rngs)
        self.drop = nnx.Dropout(0.3, rngs=rngs)
    def __call__(self, v):
        return self.drop(nnx.relu(self.lin(v)))
---
@nnx.split_rngs(splits=3)
@nnx.vmap(in_axes=(0,))
def make(rngs):
    return Net(rngs)
nets = make(nnx.Rngs(0))
outs = nnx.vmap(lambda n, v: n(v), in_axes=(0, None))(nets, X)
nets.lin.kernel.shape, outs.mean()
---
X = X + 1

### ftr-nnx-checkpoint-orbax needs=flax,orbax.checkpoint
import orbax.checkpoint as ocp
from flax import nnx
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a, self.b = nnx.Linear(3, 4, rngs=rngs), nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, v):
        return self.b(jnp.tanh(self.a(v)))
net, step = Net(nnx.Rngs(0)), 0
---
graph, state = nnx.split(net)
folder = pathlib.Path(place) / f"ck{step}"
with ocp.StandardCheckpointer() as ck:
    ck.save(folder, state)
    ck.wait_until_finished()
    abstract = nnx.split(nnx.eval_shape(lambda: Net(nnx.Rngs(0))))[1]
    again = nnx.merge(graph, ck.restore(folder, abstract))
same = bool(jnp.allclose(again(X), net(X)))
net.a.kernel.value = net.a.kernel.value * 0.5
step += 1
same, again.b.bias.value
---
net.b.bias.value = net.b.bias.value + 1

### ftr-nnx-own-variable-and-filters needs=flax,optax
import optax
from flax import nnx
class Count(nnx.Variable): pass
class Net(nnx.Module):
    def __init__(self, rngs):
        self.w = nnx.Param(jax.random.normal(rngs.params(), (3,)))
        self.n = Count(jnp.array(0))
        self.layers = nnx.List([nnx.Linear(3, 3, rngs=rngs) for _ in range(2)])
    def __call__(self, v):
        self.n.value += 1
        for layer in self.layers:
            v = layer(v)
        return v @ self.w.value
net = Net(nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.All(nnx.Param, nnx.PathContains("w")))
---
@nnx.jit
def step(net, opt):
    def loss(n):
        return jnp.mean((n(X) - Y) ** 2)
    val, g = nnx.value_and_grad(loss, argnums=nnx.DiffState(0, opt.wrt))(net)
    opt.update(net, g)
    return val
before = step(net, opt)
after = step(net, opt)
net.n.value, bool(after < before), opt.step.value
---
net.w.value = net.w.value * 0

### ftr-eqx-serialise-with-header needs=equinox
import equinox as eqx
hyper = {"width": 4, "depth": 1}
def make(key, width, depth):
    return eqx.nn.MLP(3, "scalar", width, depth, key=key)
def save(file, hyper, model):
    with open(file, "wb") as f:
        f.write((json.dumps(hyper) + "\n").encode())
        eqx.tree_serialise_leaves(f, model)
def load(file):
    with open(file, "rb") as f:
        model = make(jax.random.key(0), **json.loads(f.readline().decode()))
        return eqx.tree_deserialise_leaves(f, model)
model = make(jax.random.key(1), **hyper)
---
save("model.eqx", hyper, model)
again = load("model.eqx")
diff = jnp.abs(jax.vmap(again)(X) - jax.vmap(model)(X)).max()
model = eqx.tree_at(lambda m: m.layers[0].bias, model, replace_fn=lambda b: b + 0.5)
diff, again.width_size
---
model = make(jax.random.key(5), **hyper)

### ftr-eqx-train-loader needs=equinox,optax
import equinox as eqx, optax
def loader(arrays, size, *, key):
    n = arrays[0].shape[0]
    while True:
        key, sub = jax.random.split(key)
        perm = jax.random.permutation(sub, n)
        for i in range(0, n - size + 1, size):
            yield tuple(a[perm[i:i + size]] for a in arrays)
@eqx.filter_jit
def step(model, state, batch):
    @eqx.filter_value_and_grad
    def loss(m):
        return jnp.mean((jax.vmap(m)(batch[0]) - batch[1]) ** 2)
    val, g = loss(model)
    up, state = tx.update(g, state, eqx.filter(model, eqx.is_inexact_array))
    return eqx.apply_updates(model, up), state, val
tx = optax.adam(0.1)
model = eqx.nn.Linear(3, "scalar", key=jax.random.key(0))
state = tx.init(eqx.filter(model, eqx.is_inexact_array))
---
for i, batch in zip(range(5), loader((X, Y), 4, key=jax.random.key(2))):
    model, state, val = step(model, state, batch)
    if i % 2 == 0:
        print(i, f"{val:.3f}")
---
Y = Y * 2

### ftr-eqx-strict-dataclass-field needs=equinox
import equinox as eqx
class Norm(eqx.Module):
    weight: jax.Array = eqx.field(converter=jnp.asarray)
    name: str = eqx.field(static=True, default="norm")
    def __check_init__(self):
        if self.weight.ndim != 1:
            raise ValueError("one axis")
    def __call__(self, v):
        return v / jnp.linalg.norm(v) * self.weight
---
try:
    Norm([[1.0]])
    ok = True
except ValueError as e:
    ok = str(e)
n = Norm([1, 2, 3.0])
y = eqx.filter_vmap(n)(X)
try:
    n.weight = y
except dataclasses.FrozenInstanceError:
    ok += "!"
ok, y.sum()
---
X = X + 2

### ftr-haiku-state-and-rng needs=haiku
import haiku as hk
def forward(v, train):
    v = hk.Linear(4, w_init=hk.initializers.VarianceScaling())(v)
    n = hk.get_state("n", [], jnp.int32, init=jnp.zeros)
    hk.set_state("n", n + 1)
    if train:
        v = hk.dropout(hk.next_rng_key(), 0.5, v)
    return v.sum()
net = hk.transform_with_state(forward)
keys = hk.PRNGSequence(3)
params, state = net.init(next(keys), X, True)
---
for train in (True, False):
    out, state = net.apply(params, state, next(keys), X, train)
shapes = hk.data_structures.to_mutable_dict(jax.tree.map(jnp.shape, params))
state["~"]["n"], shapes, out
---
params = hk.data_structures.map(lambda m, n, v: v * 0, params)

### ftr-numpyro-handlers-by-hand needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro import handlers
def model(v, y=None):
    a = numpyro.sample("a", dist.Normal(0, 1))
    with numpyro.plate("d", v.shape[0]):
        mu = numpyro.deterministic("mu", a * v[:, 0])
        numpyro.sample("y", dist.Normal(mu, 0.5), obs=y)
---
tr = handlers.trace(handlers.substitute(handlers.seed(model, 0), {"a": jnp.float32(2.0)})).get_trace(X, Y)
lp = sum(s["fn"].log_prob(s["value"]).sum() for s in tr.values() if s["type"] == "sample")
with handlers.seed(rng_seed=1), handlers.do(data={"a": 0.0}):
    draws = model(X)
kinds = {k: s["type"] for k, s in tr.items()}
mu = tr["mu"]["value"]
del tr
kinds, lp, draws, mu[:2]
---
Y = Y + 1

### ftr-numpyro-predictive-tree needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro.infer import Predictive
from numpyro.infer.util import log_likelihood
def model(v, y=None):
    w = numpyro.sample("w", dist.Normal(jnp.zeros(3), 1).to_event(1))
    numpyro.sample("y", dist.Normal(v @ w, 0.3), obs=y)
post = {"w": jnp.linspace(0, 1, 12).reshape(4, 3)}
---
pred = Predictive(model, posterior_samples=post)(jax.random.key(0), X)
ll = log_likelihood(model, post, X, Y)["y"].sum(-1)
mean = pred["y"].mean(0)
best = int(ll.argmax())
best, mean.shape, ll
---
post["w"] = post["w"] + 1

### ftr-diffrax-term-class needs=diffrax,equinox
import diffrax, equinox as eqx
class Field(eqx.Module):
    rate: jax.Array
    def __call__(self, t, y, args):
        return -self.rate * y + args["drive"] * jnp.sin(t)
field = Field(jnp.array([0.5, 2.0]))
ts = jnp.linspace(0, 1, 4)
---
@eqx.filter_jit
def solve(field, y0, drive):
    sol = diffrax.diffeqsolve(diffrax.ODETerm(field), diffrax.Heun(), 0.0, 1.0, 0.25, y0,
                              args={"drive": drive}, saveat=diffrax.SaveAt(ts=ts))
    return sol.ys
ys = solve(field, jnp.ones(2), 0.3)
g = eqx.filter_grad(lambda f: solve(f, jnp.ones(2), 0.3).sum())(field)
field = eqx.apply_updates(field, jax.tree.map(lambda v: -0.1 * v, g))
ys[-1]
---
ts = jnp.linspace(0, 1, 3)

### ftr-replay-buffer
class Step(typing.NamedTuple):
    obs: typing.Any
    act: typing.Any
    rew: typing.Any
    def to_numpy(self):
        return Step(*map(np.asarray, self))
class Replay:
    def __init__(self, cap, seed):
        self.cap, self.items, self.rng = cap, [], np.random.default_rng(seed)
    def add(self, s):
        self.items = (self.items + [s.to_numpy()])[-self.cap:]
    def sample(self, n):
        picks = [self.items[i] for i in self.rng.integers(len(self.items), size=n)]
        return Step(*(jnp.stack(f) for f in zip(*picks)))
buf, w = Replay(5, 0), jnp.ones(3)
---
for i in range(3):
    a = int(jnp.argmax(X[i] * w))
    buf.add(Step(X[i], a, float(X[i, a])))
batch = buf.sample(2)
w = w + 0.1 * (batch.obs * batch.rew[:, None]).mean(0)
len(buf.items), batch.act, w
---
w = -w

### ftr-env-rollout-scan
class Env(typing.NamedTuple):
    pos: jax.Array
    t: jax.Array
    def step(self, a):
        new = self._replace(pos=self.pos + a * 0.1, t=self.t + 1)
        return new, -jnp.abs(new.pos), new.t >= 5
def reset(key):
    return Env(jax.random.uniform(key), jnp.int32(0))
theta = jnp.array([0.5, -1.0])
---
def rollout(theta, key):
    def body(carry, k):
        env, alive = carry
        a = theta[0] + theta[1] * env.pos + 0.1 * jax.random.normal(k)
        env, r, done = env.step(a)
        return (env, alive & ~done), jnp.where(alive, r, 0.0)
    k0, *ks = jax.random.split(key, 7)
    (env, _), rs = jax.lax.scan(body, (reset(k0), True), jnp.stack(ks))
    return rs.sum(), env
(ret, end), g = jax.value_and_grad(rollout, has_aux=True)(theta, jax.random.key(0))
theta = theta + 0.1 * g
int(end.t), ret
---
theta = jnp.zeros(2)

### ftr-best-by-deepcopy
import copy
class Model:
    def __init__(self):
        self.p = {"w": jnp.zeros(3)}
    def loss(self, p):
        return jnp.mean((X @ p["w"] - Y) ** 2)
    def fit(self, lr, n):
        best, kept = float("inf"), None
        for _ in range(n):
            val, g = jax.value_and_grad(self.loss)(self.p)
            if val < best:
                best, kept = float(val), copy.deepcopy(self.p)
            self.p = jax.tree.map(lambda a, b: a - lr * b, self.p, g)
        return best, kept
model = Model()
---
best, kept = model.fit(0.3, 3)
print(f"best {best:.4f}")
kept["w"].shape
---
model.p["w"] = jnp.ones(3)
""",
)
