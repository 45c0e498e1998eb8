"""Models, optimisers, samplers, frames and checkpoints of libraries, changed in place or in kind between the runs."""

from ..cell import written

PRELUDE = """
import collections, copy, dataclasses, functools, io, itertools, json, math, operator, os, pickle, types
from functools import partial
from pathlib import Path
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, tree_util
"""

CELLS = written(
    PRELUDE,
    r"""
### wa-nnx-model-gets-a-new-head-and-a-reordered-attribute needs=flax
from flax import nnx
class Net(nnx.Module):
    def __init__(self, rngs):
        self.trunk = nnx.Linear(2, 3, rngs=rngs)
        self.head = nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, x): return self.head(nnx.relu(self.trunk(x)))
net = Net(nnx.Rngs(0)); x = jnp.linspace(0, 1, 4).reshape(2, 2)
---
y = net(x)
names = ["/".join(map(str, p)) for p, _ in nnx.to_flat_state(nnx.state(net, nnx.Param))]
own = ",".join(k for k in vars(net) if not k.startswith("_"))
print(names, own)
y
---
net.head = nnx.Linear(3, 2, rngs=nnx.Rngs(1))
---
trunk = net.trunk; del net.trunk; net.trunk = trunk

### wa-nnx-variables-with-metadata-filtered-by-a-tag needs=flax
from flax import nnx
class M(nnx.Module):
    def __init__(self):
        self.a = nnx.Param(jnp.ones(2), tag="slow")
        self.b = nnx.Param(jnp.full(2, 2.0), tag="fast")
m = M()
---
rates = {"slow": 0.1, "fast": 1.0}
g = nnx.grad(lambda m: jnp.sum(m.a[...] ** 2 + m.b[...] ** 3))(m)
for name in ("a", "b"):
    v = getattr(m, name)
    v[...] = v[...] - rates[v.get_metadata()["tag"]] * 0.1 * g[name][...]
tags = [getattr(m, n).get_metadata()["tag"] for n in "ab"]
print(tags)
m.a[...] + m.b[...]
---
m.b.set_metadata(tag="slow")
---
m.a = nnx.Param(jnp.zeros(2), tag="fast")

### wa-nnx-shared-variable-is-split-into-two needs=flax
from flax import nnx
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.emb = nnx.Param(jax.random.normal(rngs.params(), (3, 2)))
        self.out = self.emb
    def __call__(self, i): return self.emb[...][i] @ self.out[...].T
m = Tied(nnx.Rngs(0))
---
logits = m(jnp.array([0, 2]))
n = sum(v.size for v in jax.tree.leaves(nnx.state(m)))
graphdef, state = nnx.split(m)
tied = m.emb is m.out
again = nnx.merge(graphdef, state)
print(n, tied, again.emb is again.out)
logits
---
m.out = nnx.Param(m.emb[...] * 2)
---
m.emb = m.out

### wa-nnx-rngs-counts-and-a-forked-stream needs=flax
from flax import nnx
rngs = nnx.Rngs(0, dropout=1)
drop = nnx.Dropout(0.5, rngs=rngs)
x = jnp.ones(6)
---
y = drop(x)
noise = jax.random.normal(rngs.noise(), (2,))
print(int(rngs.default.count[...]) > 0, drop.deterministic)
y.sum() * 0 + noise.sum().round(4)
---
rngs = nnx.Rngs(3, noise=4)
---
drop.eval()
---
drop.train(); drop.rate = 0.0

### wa-nnx-multimetric-reset-between-epochs-and-history needs=flax
from flax import nnx
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"), acc=nnx.metrics.Accuracy())
history = {"loss": [], "acc": []}
logits = jnp.array([[2.0, 1.0], [0.5, 3.0]]); labels = jnp.array([0, 0])
---
for k in range(2):
    metrics.update(loss=jnp.asarray(0.5 / (k + 1)), logits=logits * (k + 1), labels=labels)
out = metrics.compute()
for name, v in out.items():
    history[name] = [*history[name][-3:], float(v)]
line = " ".join(f"{k}={v:.3f}" for k, v in out.items())
print(line)
out["acc"]
---
metrics.reset()
---
labels = jnp.array([0, 1])

### wa-nnx-optimizer-with-swapped-transform-keeps-counting needs=flax,optax
from flax import nnx
import optax
model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
x, y = jnp.array([[0.0, 1.0], [1.0, 1.0]]), jnp.array([[1.0], [2.0]])
@nnx.jit
def train(model, opt):
    loss, g = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(model)
    opt.update(model, g)
    return loss
---
losses = jnp.stack([train(model, opt) for _ in range(2)])
step = int(opt.step[...])
print(step, losses[1] < losses[0])
losses
---
opt = nnx.Optimizer(model, optax.sgd(0.2, momentum=0.5), wrt=nnx.Param)
---
model.bias[...] = jnp.zeros(1) + 5.0

### wa-nnx-batchnorm-stats-copied-to-an-eval-clone needs=flax
from flax import nnx
bn = nnx.BatchNorm(2, rngs=nnx.Rngs(0), momentum=0.5)
x = jnp.arange(6.0).reshape(3, 2)
---
y = bn(x)
clone = nnx.clone(bn)
clone.eval()
z = clone(x)
stats = nnx.to_pure_dict(nnx.state(bn, nnx.BatchStat))
print(sorted(stats), bn.use_running_average, clone.use_running_average)
z.mean(0) - y.mean(0)
---
bn.mean[...] = jnp.zeros(2)
---
bn.eval()

### wa-nnx-intermediates-sown-and-popped-by-layer needs=flax
from flax import nnx
class Block(nnx.Module):
    def __init__(self, n, rngs): self.lin, self.gain = nnx.Linear(n, n, rngs=rngs), 1.0
    def __call__(self, x):
        h = jnp.tanh(self.lin(x)) * self.gain
        self.sow(nnx.Intermediate, "act", h)
        return x + h
blocks = nnx.List([Block(2, nnx.Rngs(i)) for i in range(2)])
x = jnp.ones(2)
---
h = x
for b in blocks:
    h = b(h)
acts = [nnx.to_pure_dict(nnx.pop(b, nnx.Intermediate)) for b in blocks]
norms = jnp.stack([jnp.linalg.norm(a["act"][0]) for a in acts])
left = [hasattr(b, "act") for b in blocks]
print(left, len(acts))
norms
---
blocks[0].gain = 0
---
blocks.append(Block(2, nnx.Rngs(9)))

### wa-optax-injected-hyperparams-set-by-hand-and-by-schedule needs=optax
import optax
tx = optax.inject_hyperparams(optax.adamw)(learning_rate=0.1, weight_decay=0.01)
w = {"k": jnp.ones(2), "b": jnp.zeros(2)}; state = tx.init(w)
---
g = jax.tree.map(lambda v: 2 * v + 1, w)
upd, state = tx.update(g, state, w)
w = optax.apply_updates(w, upd)
hp = state.hyperparams
shown = " ".join(f"{k}={float(v):.3g}" for k, v in hp.items() if k in ("learning_rate", "weight_decay"))
print(shown, ",".join(w))
w["k"]
---
state.hyperparams["learning_rate"] = jnp.asarray(0.5)
---
tx = optax.inject_hyperparams(optax.adamw)(learning_rate=optax.linear_schedule(0.1, 0.0, 5), weight_decay=0.0)
state = tx.init(w)

### wa-optax-labels-by-path-change-which-params-are-frozen needs=optax
import optax
params = {"enc": {"w": jnp.ones(2)}, "head": {"w": jnp.ones(2), "b": jnp.zeros(1)}}
frozen = {"enc"}
def label(path, _): return "fixed" if path[0].key in frozen else "free"
---
labels = tree_util.tree_map_with_path(label, params)
tx = optax.multi_transform({"free": optax.sgd(0.1), "fixed": optax.set_to_zero()}, labels)
st = tx.init(params)
g = jax.tree.map(jnp.ones_like, params)
upd, st = tx.update(g, st, params)
params = optax.apply_updates(params, upd)
moved = [tree_util.keystr(p) for p, u in tree_util.tree_leaves_with_path(upd) if float(jnp.abs(u).sum()) > 0]
print(moved, list(params))
params["head"]["w"]
---
frozen.add("head")
---
frozen.clear(); params = dict(reversed(params.items()))

### wa-optax-chain-with-own-transformation-noting-shapes needs=optax
import optax
seen = []
def note():
    def init(p): return optax.EmptyState()
    def update(u, s, p=None):
        seen.append(len(jax.tree.leaves(u)))
        return u, s
    return optax.GradientTransformation(init, update)
tx = optax.chain(optax.clip_by_global_norm(1.0), note(), optax.scale(-0.1))
w = (jnp.array([3.0, 4.0]), jnp.zeros(1)); st = tx.init(w)
---
u, st = tx.update(w, st)
w = optax.apply_updates(w, u)
n = seen[-1], type(st).__name__, len(st)
print(n)
w[0]
---
tx = optax.chain(note(), optax.scale(-1)); st = tx.init(w)
---
w = (*w, jnp.ones(2)); st = tx.init(w)

### wa-optax-lookahead-params-and-apply-if-finite-with-nan-gradient needs=optax
import optax
tx = optax.apply_if_finite(optax.sgd(0.1), max_consecutive_errors=2)
w = jnp.ones(2); st = tx.init(w); scale = 1.0
---
g = 2 * w * scale
u, st = tx.update(g, st, w)
w = optax.apply_updates(w, u)
bad = int(st.notfinite_count), bool(st.last_finite)
print(bad)
w
---
scale = math.nan
---
scale = -0.0

### wa-optax-ema-of-params-and-warmup-cosine-over-global-step needs=optax
import optax
sched = optax.warmup_cosine_decay_schedule(0.0, 0.5, 2, 8)
ema = optax.ema(0.9); w = jnp.ones(2); est = ema.init(w); step = 0
---
for _ in range(2):
    w = w - sched(step) * w
    avg, est = ema.update(w, est)
    step += 1
lr = float(sched(step))
print(step, f"{lr:.4f}")
avg
---
step = jnp.asarray(step)
---
sched = lambda s: 0.1; step = 0

### wa-eqx-module-with-static-flag-bool-or-int needs=equinox
import equinox as eqx
class Lin(eqx.Module):
    w: jax.Array
    act: object = eqx.field(static=True)
    flag: object = eqx.field(static=True, default=1)
    def __call__(self, x): return self.act(self.w @ x) * self.flag
m = Lin(jnp.eye(2), jnp.tanh)
---
y = eqx.filter_jit(lambda m, x: m(x))(m, jnp.array([1.0, 2.0]))
told = repr(m.flag), m.act.__name__
text = eqx.tree_pformat(m)
print(told, text)
y
---
m = Lin(m.w, jnp.tanh, True)
---
m = Lin(m.w, jax.nn.relu, 1.0)

### wa-eqx-tree-at-replaces-layers-none-and-activation needs=equinox
import equinox as eqx
mlp = eqx.nn.MLP(2, 1, 3, 1, key=jax.random.key(0))
x = jnp.array([0.5, -0.5])
---
y = mlp(x)
big = eqx.tree_at(lambda m: m.layers[0].weight, mlp, replace_fn=lambda w: w * 2)
bare = eqx.tree_at(lambda m: m.layers[-1].bias, mlp, None)
n = len(jax.tree.leaves(eqx.filter(bare, eqx.is_array)))
print(n, mlp.activation.__class__.__name__, bare.layers[-1].bias)
big(x) - y
---
mlp = eqx.tree_at(lambda m: m.activation, mlp, jnp.tanh)
---
mlp = eqx.nn.MLP(2, 1, 3, 2, use_final_bias=True, key=jax.random.key(1))

### wa-eqx-batchnorm-state-threaded-and-set-to-inference needs=equinox
import equinox as eqx
bn, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(2, "batch", mode="batch")
X = jnp.arange(6.0).reshape(3, 2)
---
run = jax.vmap(bn, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
Y, state = run(X, state)
Z, _ = run(X, state)
print(bn.inference, Y.shape)
Y.mean(0) + Z.std(0)
---
bn = eqx.nn.inference_mode(bn)
---
bn = eqx.nn.inference_mode(bn, False); X = X[::-1] * 2

### wa-eqx-state-index-counter-module-reset needs=equinox
import equinox as eqx
class Counter(eqx.Module):
    index: eqx.nn.StateIndex
    by: float = 1.0
    def __init__(self, by=1.0):
        self.index, self.by = eqx.nn.StateIndex(jnp.array(0.0)), by
    def __call__(self, x, state):
        n = state.get(self.index)
        return x + n, state.set(self.index, n + self.by)
counter, state = eqx.nn.make_with_state(Counter)()
x = jnp.zeros(2)
---
outs = []
for _ in range(2):
    y, state = counter(x, state)
    outs.append(y)
now = state.get(counter.index)
print(type(now).__name__, len(outs))
jnp.stack(outs)
---
counter, state = eqx.nn.make_with_state(Counter)(2.0)
---
state = state.set(counter.index, jnp.array(-5.0))

### wa-eqx-partition-by-a-filter-spec-made-from-names needs=equinox
import equinox as eqx
model = {"w": jnp.ones(2), "b": jnp.zeros(2), "n": 3, "name": "m"}
train = ["w"]
---
spec = {k: k in train for k in model}
diff, static = eqx.partition(model, spec)
def loss(d):
    m = eqx.combine(d, static)
    return jnp.sum((m["w"] * m["n"] + m["b"] - 1) ** 2)
g = eqx.filter_grad(loss)(diff)
kept = "/".join(k for k in static if static[k] is not None)
print(kept, [*g])
jnp.concatenate([v for v in g.values() if v is not None])
---
train.append("b")
---
model = {"b": model["b"], "name": model["name"], "w": model["w"], "n": 2}

### wa-eqx-serialise-leaves-to-bytes-and-size-of-file needs=equinox
import equinox as eqx
net = eqx.nn.Linear(2, 2, key=jax.random.key(0))
---
buf = io.BytesIO()
eqx.tree_serialise_leaves(buf, net)
size = buf.tell()
buf.seek(0)
back = eqx.tree_deserialise_leaves(buf, net)
same = eqx.tree_equal(net, back)
print(size > 0, bool(same), back.use_bias)
back(jnp.ones(2))
---
net = eqx.nn.Linear(2, 2, use_bias=False, key=jax.random.key(1))
---
net = eqx.tree_at(lambda n: n.weight, net, net.weight * -0.0)

### wa-linen-mutable-collections-returned-and-their-order needs=flax
import flax.linen as nn
class Net(nn.Module):
    width: int = 2
    @nn.compact
    def __call__(self, x, train=False):
        h = nn.Dense(self.width, name="inp")(x)
        n = self.variable("stats", "n", lambda: jnp.zeros(()))
        if train:
            n.value = n.value + 1
        self.sow("act", "h", h)
        return nn.Dense(1, name="out")(nn.tanh(h)) + n.value
net = Net(); x = jnp.ones((1, 2)); vs = net.init(jax.random.key(0), x); train = True
---
y, upd = net.apply(vs, x, train=train, mutable=["stats", "act"])
vs = {**vs, "stats": upd["stats"]}
layers = ",".join(vs["params"])
cols = [*upd]
print(layers, cols, len(upd["act"]["h"]))
y
---
vs["params"] = dict(reversed(vs["params"].items()))
---
train = False
---
net = Net(3); vs = net.init(jax.random.key(1), x)

### wa-linen-trainstate-replaced-with-new-tx-and-extra-field needs=flax,optax
import flax.linen as nn, optax
from flax.training import train_state
class TS(train_state.TrainState):
    loss_scale: float = 1.0
net = nn.Dense(1); x = jnp.arange(4.0).reshape(2, 2)
ts = TS.create(apply_fn=net.apply, params=net.init(jax.random.key(0), x), tx=optax.sgd(0.05))
---
def loss(p): return ts.loss_scale * jnp.mean(ts.apply_fn(p, x) ** 2)
val, g = jax.value_and_grad(loss)(ts.params)
ts = ts.apply_gradients(grads=jax.tree.map(lambda v: v / ts.loss_scale, g))
kinds = type(ts.loss_scale).__name__, int(ts.step)
print(kinds)
val
---
ts = ts.replace(loss_scale=8)
---
ts = ts.replace(tx=optax.adam(0.1), opt_state=optax.adam(0.1).init(ts.params), step=0)

### wa-linen-frozen-dict-pretty-repr-and-pop needs=flax
import flax
from flax.core import freeze, unfreeze
p = freeze({"w": jnp.ones(2), "extra": {"k": 1}})
---
q, taken = p.pop("extra")
kind = type(p).__name__, type(unfreeze(p)).__name__
flat = flax.traverse_util.flatten_dict(unfreeze(p), sep="/")
text = " ".join(flat)
w = q["w"] * taken["k"]
print(kind, text, hash(taken) == hash(freeze(dict(taken))))
w
---
p = freeze({"extra": {"k": True}, "w": p["w"]})
---
p = freeze({"w": p["w"] + 1, "extra": {"z": 0, "k": 2.0}})

### wa-numpyro-handlers-condition-block-and-scope-by-names needs=numpyro
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
hidden = ["b"]; data = {"y": jnp.array(0.3)}
def model():
    a = numpyro.sample("a", dist.Normal(0.0, 1.0))
    b = numpyro.sample("b", dist.Normal(a, 0.5))
    numpyro.sample("y", dist.Normal(a + b, 0.1))
---
with handlers.seed(rng_seed=0), handlers.condition(data=data):
    tr = handlers.trace(handlers.block(model, hide=hidden)).get_trace()
sites = [f"{k}{'*' if v['is_observed'] else ''}" for k, v in tr.items()]
lp = sum(v["fn"].log_prob(v["value"]) for v in tr.values())
print(" ".join(sites))
lp
---
hidden.append("a")
---
hidden.clear(); data["b"] = jnp.array(1.0)

### wa-numpyro-log-density-of-reordered-parameters needs=numpyro
import numpyro
import numpyro.distributions as dist
from numpyro.infer.util import log_density
def model(x, y=None):
    w = numpyro.sample("w", dist.Normal(0, 1).expand([2]).to_event(1))
    s = numpyro.sample("s", dist.HalfNormal(1.0))
    with numpyro.plate("n", x.shape[0]):
        numpyro.sample("y", dist.Normal(x @ w, s), obs=y)
x = jnp.arange(6.0).reshape(3, 2) / 5; y = jnp.array([0.1, 0.4, 0.2])
theta = {"w": jnp.array([0.2, 0.1]), "s": jnp.array(0.5)}
---
lp, tr = log_density(model, (x,), {"y": y}, theta)
sites = ",".join(tr)
given = ",".join(theta)
g = jax.grad(lambda t: log_density(model, (x,), {"y": y}, t)[0])(theta)
print(sites, given, len(g))
lp + g["s"]
---
theta = dict(reversed(theta.items()))
---
y = None; theta["y"] = jnp.zeros(3)

### wa-numpyro-predictive-with-posterior-samples-resized needs=numpyro
import numpyro
import numpyro.distributions as dist
from numpyro.infer import Predictive
def model(n=2):
    m = numpyro.sample("m", dist.Normal(0, 1))
    return numpyro.sample("y", dist.Normal(m, 0.1).expand([n]))
post = {"m": jnp.array([0.0, 1.0, 2.0])}; kw = {"n": 2}
---
pred = Predictive(model, post, return_sites=["y"])
out = pred(jax.random.key(0), **kw)
names = [*out]
mean = out["y"].mean(0)
print(names, out["y"].shape)
mean.round(3)
---
kw["n"] = 3
---
post = {"m": post["m"][:1]}

### wa-haiku-params-state-and-a-module-that-prefixes-names needs=haiku
import haiku as hk
def net(x):
    h = hk.Linear(2, name="first")(x)
    n = hk.get_state("calls", (), init=jnp.zeros)
    hk.set_state("calls", n + 1)
    return hk.Linear(1, name="second")(jax.nn.relu(h)) * scale
scale = 1.0
f = hk.transform_with_state(net); x = jnp.ones((1, 2))
params, state = f.init(jax.random.PRNGKey(0), x)
---
y, state = f.apply(params, state, None, x)
names = "/".join(params)
n = hk.data_structures.tree_size(params)
calls = state["~"]["calls"]
print(names, n)
y + calls
---
params = dict(reversed(params.items()))
---
scale = 2
---
state = {"~": {"calls": jnp.asarray(-1.0)}}

### wa-pandas-cells-set-in-place-renamed-and-retyped needs=pandas
import pandas as pd
df = pd.DataFrame({"t": [0.0, 1.0, 2.0], "y": [1, 4, 9], "g": ["a", "b", "a"]})
---
X = jnp.asarray(df[["t", "y"]].to_numpy(np.float32))
cols = "|".join(df)
kinds = [str(k) for k in df.dtypes]
codes, cats = pd.factorize(df["g"])
means = jax.ops.segment_sum(X[:, 1], jnp.asarray(codes), len(cats)) / jnp.bincount(jnp.asarray(codes), length=len(cats))
print(cols, kinds, [*cats])
means
---
df.loc[1, "y"] = 40
---
df = df[["g", "y", "t"]]; df["y"] = df["y"].astype("float64")
---
df.sort_values("g", ascending=False, inplace=True, ignore_index=True)

### wa-pandas-series-map-with-a-jitted-model-and-index-kept needs=pandas
import pandas as pd
s = pd.Series([1.0, 2.0, 3.0], index=list("xyz"), name="v")
@jax.jit
def model(v): return jnp.log1p(v) * gain
gain = 2.0
---
out = pd.Series(np.asarray(model(jnp.asarray(s.to_numpy()))), index=s.index, name=f"{s.name}_hat")
top = out.idxmax()
d = out.round(3).to_dict()
print(out.name, top, d)
jnp.asarray(out.to_numpy()).sum()
---
s.name = "w"; s["y"] = 50.0
---
s = s.iloc[::-1]

### wa-sklearn-scaler-refitted-in-place-then-jax-model needs=sklearn
from sklearn.preprocessing import StandardScaler
X = np.arange(8.0).reshape(4, 2) ** 1.5
sc = StandardScaler().fit(X); w = jnp.array([1.0, -1.0])
def predict(X): return jnp.asarray(sc.transform(X)) @ w
---
p = predict(X)
seen = int(sc.n_samples_seen_), sorted(sc.get_params())[:1]
back = sc.inverse_transform(np.asarray(sc.transform(X)))
print(seen, np.allclose(back, X))
p
---
sc.partial_fit(X * 3)
---
sc.set_params(with_mean=False).fit(X)
---
sc.scale_[0] = 1.0

### wa-sklearn-forest-importances-choose-features-for-jax needs=sklearn
from sklearn.tree import DecisionTreeRegressor
rng = np.random.default_rng(0); X = rng.normal(size=(20, 3)); y = X[:, 1] * 2
tree = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, y)
---
rank = np.argsort(-tree.feature_importances_, kind="stable")
k = int(rank[0])
A = jnp.asarray(X[:, [k]])
coef = jnp.linalg.lstsq(A, jnp.asarray(y))[0]
print(k, tree.get_depth(), tree.n_features_in_)
coef
---
tree.fit(X, X[:, 2])
---
y = X[:, 2] - 1; tree.set_params(max_depth=1).fit(X, y)

### wa-msgpack-state-restored-into-a-template-of-other-order needs=flax
import flax.serialization as fs
target = {"w": jnp.zeros(2), "b": jnp.zeros(1)}
saved = {"b": jnp.ones(1), "w": jnp.arange(2.0)}
---
blob = fs.to_bytes(saved)
got = fs.from_bytes(target, blob)
raw = fs.msgpack_restore(blob)
orders = ["".join(d) for d in (got, raw, fs.to_state_dict(target))]
print(orders, type(got["w"]).__name__, len(blob))
jnp.asarray(got["w"]) * 2
---
target = {"b": target["b"], "w": target["w"]}
---
saved = dict(reversed(saved.items()))

### wa-orbax-save-restore-latest-of-three-steps needs=orbax
import orbax.checkpoint as ocp
root = Path(place) / "ck"
w = {"k": jnp.arange(3.0)}; step = 0
---
step += 1
w = jax.tree.map(lambda v: v * 0.5 + step, w)
with ocp.StandardCheckpointer() as ck:
    ck.save(root / str(step), w, force=True)
    ck.wait_until_finished()
    back = ck.restore(root / str(step), w)
n = len(sorted(p.name for p in root.iterdir() if p.name.isdigit())) >= step
print(step, n, [*back])
back["k"]
---
w = {"k": jnp.ones(3), "b": jnp.zeros(1)}
---
step = 10

### wa-npz-of-a-flat-tree-with-names-as-keys-and-order-of-files
tree = {"layer2": {"w": jnp.ones(2)}, "layer1": {"w": jnp.zeros(2), "b": jnp.ones(1)}}
---
flat = {f"{a}.{b}": np.asarray(v) for a, sub in tree.items() for b, v in sub.items()}
buf = io.BytesIO()
np.savez(buf, **flat)
z = np.load(io.BytesIO(buf.getvalue()))
files = ";".join(z.files)
back = {}
for k in z.files:
    a, b = k.split(".")
    back.setdefault(a, {})[b] = jnp.asarray(z[k])
print(files, [*back])
jnp.concatenate(jax.tree.leaves(back))
---
tree = dict(reversed(tree.items()))
---
tree["layer1"] = {"b": tree["layer1"]["b"]}

### wa-jax-export-of-a-function-with-a-changed-constant
from jax import export
c = np.arange(3.0, dtype=np.float32)
def f(x): return jnp.sin(x) * c
---
exp = export.export(jax.jit(f))(jax.ShapeDtypeStruct((3,), jnp.float32))
blob = exp.serialize()
g = export.deserialize(blob)
y = g.call(jnp.ones(3))
print(exp.fun_name, g.in_avals, len(blob) > 100)
y
---
c = np.ones(3, np.float32)
---
c = 2

### wa-pytree-dataclass-registered-with-meta-fields-changed
@tree_util.register_dataclass
@dataclasses.dataclass
class Box:
    v: jax.Array
    lo: float = dataclasses.field(metadata={"static": True}, default=0.0)
    hi: object = dataclasses.field(metadata={"static": True}, default=1)
box = Box(jnp.array([-1.0, 0.5, 3.0]))
---
out = jax.jit(lambda b: jnp.clip(b.v, b.lo, b.hi))(box)
twice = jax.tree.map(lambda v: v * 2, box)
told = f"{twice.lo!r} {twice.hi!r}", str(jax.tree.structure(box)).count("Box")
print(told)
out
---
box.lo = -0.0
---
box.hi = 1.0
---
box.hi = True; box.v = box.v[:2]

### wa-custom-node-whose-aux-data-is-a-dict-of-options
class Layer:
    def __init__(self, w, **opts): self.w, self.opts = w, opts
tree_util.register_pytree_with_keys(
    Layer, lambda n: (((tree_util.GetAttrKey("w"), n.w),), tuple(n.opts.items())),
    lambda aux, ch: Layer(ch[0], **dict(aux)))
a = Layer(jnp.ones(2), act="tanh", bias=False)
---
b = jax.tree.map(lambda v: v + 1, a)
text = ",".join(b.opts)
same = jax.tree.structure(a) == jax.tree.structure(b)
fn = getattr(jnp, b.opts["act"])
print(text, same, b.opts)
fn(b.w)
---
a.opts = {"bias": False, "act": "tanh"}
---
a.opts["bias"] = 0
---
a.opts["act"] = "sin"

### wa-jitted-step-with-static-config-dataclass-frozen
@dataclasses.dataclass(frozen=True)
class Cfg:
    lr: float = 0.1
    nesterov: object = False
    tags: tuple = ("a",)
cfg = Cfg()
@partial(jax.jit, static_argnames="cfg")
def step(w, m, cfg):
    g = 2 * w
    m = 0.9 * m + g
    return w - cfg.lr * (g + 0.9 * m if cfg.nesterov else m), m
w, m = jnp.ones(2), jnp.zeros(2)
---
w, m = step(w, m, cfg=cfg)
told = repr(cfg)
print(told, hash(cfg) == hash(Cfg()))
w
---
cfg = dataclasses.replace(cfg, nesterov=0)
---
cfg = Cfg(1, True, ("b",))

### wa-scan-over-layers-stacked-from-a-dict-of-layers
layers = {"l0": jnp.eye(2), "l1": jnp.ones((2, 2)) * 0.1}
x = jnp.array([1.0, 2.0])
---
stack = jnp.stack([layers[k] for k in [*layers]])
h, hs = lax.scan(lambda h, w: (jnp.tanh(w @ h + h), h.sum()), x, stack)
first, *_ = layers
order = "".join(layers)
print(order, first, hs.shape)
h
---
layers = {"l1": layers["l1"], "l0": layers["l0"]}
---
layers["l2"] = -jnp.eye(2)

### wa-vmap-over-ensemble-in-a-dict-with-in-axes-from-a-set
ens = {"w": jnp.arange(6.0).reshape(3, 2), "b": jnp.ones(3), "c": jnp.asarray(0.5)}
shared = {"c"}
x = jnp.ones(2)
---
axes = {k: None if k in shared else 0 for k in ens}
f = lambda p, x: p["w"] @ x + p["b"] * p["c"].sum()
y = jax.vmap(f, in_axes=(axes, None))(ens, x)
mapped = [*filter(lambda k: axes[k] is not None, ens)]
print(mapped, len(shared))
y
---
shared.add("b")
---
ens = {"c": jnp.arange(3.0), "b": ens["b"], "w": ens["w"]}; shared.clear()
""",
)
