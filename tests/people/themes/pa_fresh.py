"""Programs as people write them in notebooks: libraries, files, classes, generators, streams of random numbers, loops with logs."""

from ..cell import written

PRELUDE = """
import abc, asyncio, bisect, collections, contextlib, copy, csv, dataclasses, enum, functools, gzip, hashlib, heapq, io
import itertools, json, logging, math, operator, os, pickle, random, re, string, struct, sys, textwrap, types, warnings, zipfile
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace, asdict, astuple
from functools import partial, reduce, wraps, lru_cache, cached_property, total_ordering
from pathlib import Path
from typing import Any, Callable, ClassVar, Generic, NamedTuple, Protocol, TypeVar
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr, tree_util as jtu
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
"""

CELLS = written(
    PRELUDE,
    r"""
### pa-nnx-early-stopping-keeps-the-best-split-state-and-restores-it needs=flax,optax tolerance=2e-3
import optax
from flax import nnx
class Block(nnx.Module):
    def __init__(self, din, dout, *, rngs):
        self.lin = nnx.Linear(din, dout, rngs=rngs)
        self.norm = nnx.LayerNorm(dout, rngs=rngs)
        self.dout = dout
    def __call__(self, x):
        return nnx.gelu(self.norm(self.lin(x)))
class Net(nnx.Module):
    def __init__(self, widths, rngs):
        self.widths = tuple(widths)
        self.blocks = nnx.List([Block(a, b, rngs=rngs) for a, b in itertools.pairwise(widths)])
        self.head = nnx.Linear(widths[-1], 1, rngs=rngs)
    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)[..., 0]
rng = np.random.default_rng(5)
X = rng.normal(size=(40, 3)).astype(np.float32)
y = (np.sin(X[:, 0]) + 0.3 * X[:, 1]).astype(np.float32)
def mse(model, x, y): return jnp.mean((model(x) - y) ** 2)
@nnx.jit
def step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(mse)(model, x, y)
    optimizer.update(model, grads)
    return loss
model = Net((3, 8, 8), nnx.Rngs(1))
optimizer = nnx.Optimizer(model, optax.adam(3e-2), wrt=nnx.Param)
patience, epochs, n_train = 2, 6, 28
---
best, best_state, waited, curve = float("inf"), None, 0, []
for epoch in range(epochs):
    order = np.random.default_rng(epoch).permutation(n_train)
    losses = [step(model, optimizer, X[i], y[i]) for i in np.array_split(order, 3)]
    val = float(mse(model, X[n_train:], y[n_train:]))
    curve.append((epoch, float(np.mean(jnp.stack(losses))), val))
    if val < best - 1e-3:
        best, waited = val, 0
        graphdef, best_state = nnx.split(model)
        best_state = jax.tree.map(jnp.copy, best_state)
    else:
        waited += 1
        if waited >= patience:
            print("stopped after", epoch)
            break
else:
    print("ran through")
if best_state is not None:
    nnx.update(model, best_state)
final = mse(model, X[n_train:], y[n_train:])
print(len(curve), abs(float(final) - best) < 1e-5, [b.dout for b in model.blocks])
jax.tree.map(lambda v: v.shape, nnx.state(model, nnx.Param)), final
---
patience = 1; epochs = 4
---
y = -y
---
optimizer = nnx.Optimizer(model, optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(1e-2)), wrt=nnx.Param)

### pa-nnx-own-variable-type-ema-shadow-and-sown-activations needs=flax
from flax import nnx
class Shadow(nnx.Variable): pass
class Tracked(nnx.Module):
    def __init__(self, n, rngs):
        self.w = nnx.Param(rngs.params.normal((n, n)) * 0.1)
        self.shadow = Shadow(jnp.zeros((n, n)))
        self.seen = nnx.Variable(jnp.array(0))
        self.decay = 0.9
    def __call__(self, x):
        h = jnp.tanh(x @ self.w[...])
        self.sow(nnx.Intermediate, "h_norm", jnp.linalg.norm(h))
        self.seen[...] += x.shape[0]
        return h
    def follow(self):
        self.shadow[...] = self.decay * self.shadow[...] + (1 - self.decay) * self.w[...]
model = Tracked(4, nnx.Rngs(params=0))
x = jnp.linspace(-1, 1, 12).reshape(3, 4)
rounds = 3
---
for r in range(rounds):
    grads = nnx.grad(lambda m: (m(x) ** 2).sum())(model)
    model.w[...] = model.w[...] - 0.1 * grads.w[...]
    model.follow()
norms = nnx.pop(model, nnx.Intermediate)
params, shadows, rest = nnx.state(model, nnx.Param, Shadow, ...)
flat = {"/".join(map(str, path)): v.shape for path, v in nnx.to_flat_state(nnx.state(model))}
print(sorted(flat.items()), int(model.seen[...]), type(model.shadow).__name__)
gap = jnp.abs(model.w[...] - model.shadow[...]).max()
norms, gap, model.decay
---
model.decay = 0.5
---
x = jnp.concatenate([x, x * 2])
---
model.seen[...] = 0; rounds = 1

### pa-eqx-field-converters-abstract-layers-and-tree-at-surgery needs=equinox
import equinox as eqx
class Layer(eqx.Module):
    scale: jax.Array = eqx.field(converter=jnp.asarray)
    name: str = eqx.field(static=True, default="layer")
    @abc.abstractmethod
    def __call__(self, x): ...
class Affine(Layer):
    shift: jax.Array = eqx.field(default=0.0, converter=jnp.asarray)
    def __call__(self, x): return self.scale * x + self.shift
class Gate(Layer):
    inner: Layer | None = None
    def __call__(self, x):
        y = x if self.inner is None else self.inner(x)
        return jax.nn.sigmoid(self.scale) * y
class Stack(eqx.Module):
    layers: list
    act: Callable
    def __call__(self, x):
        for layer in self.layers:
            x = self.act(layer(x))
        return x
stack = Stack([Affine(2.0, "a", 0.5), Gate([0.1, -0.3], "g", Affine([1.0, 3.0], "in"))], jnp.tanh)
x = jnp.array([0.5, -1.5])
where = lambda s: s.layers[1].inner.shift
---
@eqx.filter_value_and_grad
def energy(model, x): return jnp.sum(model(x) ** 2)
value, grads = energy(stack, x)
moved = eqx.tree_at(where, stack, replace_fn=lambda s: s - 0.5 * where(grads))
leaves, treedef = jax.tree.flatten(eqx.filter(moved, eqx.is_inexact_array))
names = [layer.name for layer in moved.layers]
same = eqx.tree_equal(stack, moved), stack.layers[0] is moved.layers[0], moved.act is stack.act
try:
    moved.layers[0].scale = 3.0
except dataclasses.FrozenInstanceError as err:
    refused = str(err)
print(names, same, refused, len(leaves))
eqx.tree_pprint(moved)
summary = {jtu.keystr(path): leaf for path, leaf in jtu.tree_leaves_with_path(grads)}
value, summary
---
where = lambda s: s.layers[0].scale
---
stack = eqx.tree_at(lambda s: s.act, stack, jax.nn.relu)
---
x = jnp.stack([x, x + 1, x - 1])

### pa-optax-partitioned-rates-apply-if-finite-and-schedule-read-back needs=optax tolerance=1e-3
import optax
params = {"embed": {"w": jnp.ones((4, 3)) * 0.1}, "head": {"w": jnp.full((3, 2), 0.2), "b": jnp.zeros(2)}}
labels = {"embed": "slow", "head": {"w": "fast", "b": "frozen"}}
schedule = optax.join_schedules([optax.linear_schedule(0.0, 0.3, 3), optax.cosine_decay_schedule(0.3, 6)], [3])
def make(decay):
    fast = optax.chain(optax.trace(0.9), optax.scale_by_learning_rate(schedule))
    slow = optax.adamw(1e-2, weight_decay=decay, mask=lambda p: jax.tree.map(lambda a: a.ndim > 1, p))
    both = optax.partition({"slow": slow, "fast": fast, "frozen": optax.set_to_zero()}, labels)
    return optax.apply_if_finite(both, max_consecutive_errors=2)
tx = make(1e-2)
opt_state = tx.init(params)
ids, target = np.array([0, 1, 3, 2, 1]), np.array([0, 1, 1, 0, 1])
def loss_fn(p, ids, target, scale):
    logits = p["embed"]["w"][ids] @ p["head"]["w"] + p["head"]["b"]
    return optax.losses.softmax_cross_entropy_with_integer_labels(logits * scale, target).mean()
poison = {2}
---
history = []
for i in range(5):
    scale = jnp.nan if i in poison else 1.0
    loss, grads = jax.value_and_grad(loss_fn)(params, ids, target, scale)
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    history.append({"i": i, "loss": round(float(loss), 4), "skipped": not bool(opt_state.last_finite),
                    "total": int(opt_state.total_notfinite), "lr": float(schedule(i))})
    if math.isnan(history[-1]["loss"]):
        print(f"step {i}: not finite, {int(opt_state.notfinite_count)} in a row")
rows = "\n".join(f"{h['i']:>2} {h['lr']:.3f} {'skip' if h['skipped'] else ''}" for h in history)
print(rows)
norm = optax.global_norm(updates)
params["head"]["b"], norm, optax.tree.get(opt_state, "count", filtering=lambda path, v: "fast" in jtu.keystr(path))
---
poison.add(4)
---
tx = make(0.0); opt_state = tx.init(params)
---
ids = ids[:4]; target = target[:4]

### pa-numpyro-hierarchical-effects-svi-autonormal-and-table needs=numpyro,optax tolerance=2e-2
import numpyro, numpyro.distributions as dist, optax
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
rng = np.random.default_rng(0)
county = np.repeat(np.arange(4), 5)
floor = np.tile([0.0, 1.0, 0.0, 0.0, 1.0], 4)
radon = (rng.normal(size=4)[county] - 0.6 * floor + 0.2 * rng.normal(size=20)).astype(np.float32)
names = np.array(["AITKIN", "ANOKA", "BECKER", "CASS"])
def model(county, floor, radon=None):
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    beta = numpyro.sample("beta", dist.Normal(0.0, 1.0))
    with numpyro.plate("counties", len(names)):
        alpha = numpyro.sample("alpha", dist.Normal(mu, tau))
    sigma = numpyro.sample("sigma", dist.HalfCauchy(1.0))
    with numpyro.plate("data", len(county)):
        numpyro.sample("obs", dist.Normal(alpha[county] + beta * floor, sigma), obs=radon)
guide = AutoNormal(model)
svi = SVI(model, guide, optax.adam(2e-2), Trace_ELBO())
seed, steps = 0, 12
svi.init(jr.key(0), county, floor, radon)  # the guide has looked at the model
---
state = svi.init(jr.key(seed), county, floor, radon)
losses = []
for t in range(steps):
    state, loss = svi.update(state, county, floor, radon)
    losses.append(loss)
    if (t + 1) % 5 == 0:
        print(f"{t + 1:3d} {'down' if losses[-1] < losses[0] else 'up'}")
fitted = svi.get_params(state)
medians = guide.median(fitted)
table = dict(zip(names.tolist(), np.asarray(medians["alpha"]).round(2).tolist()))
drawn = guide.sample_posterior(jr.key(1), fitted, sample_shape=(3,))
losses[-1], {k: v.shape for k, v in sorted(drawn.items())}, medians["beta"]
---
steps = 6; seed = 2
---
radon = radon * 2 + 1
---
floor[:5] = 1 - floor[:5]

### pa-hmc-kernel-of-named-tuples-with-dual-averaging-warmup tolerance=2e-2
class HMCState(NamedTuple):
    position: dict
    logp: jax.Array
    grad: dict
class Info(NamedTuple):
    accept: jax.Array
    moved: jax.Array
class Algorithm(NamedTuple):
    init: Callable
    step: Callable
def hmc(logdensity, step_size, n_leap):
    vag = jax.value_and_grad(logdensity)
    def init(position): return HMCState(position, *vag(position))
    def step(key, state):
        k1, k2 = jr.split(key)
        leaves, treedef = jax.tree.flatten(state.position)
        p = treedef.unflatten([jr.normal(k, l.shape) for k, l in zip(jr.split(k1, len(leaves)), leaves)])
        kin = lambda p: 0.5 * sum(jnp.vdot(a, a) for a in jax.tree.leaves(p))
        q, logp, g, p1 = *state, p
        for _ in range(n_leap):
            p1 = jax.tree.map(lambda p, g: p + 0.5 * step_size * g, p1, g)
            q = jax.tree.map(lambda q, p: q + step_size * p, q, p1)
            logp, g = vag(q)
            p1 = jax.tree.map(lambda p, g: p + 0.5 * step_size * g, p1, g)
        accept = jnp.minimum(1.0, jnp.exp(logp - kin(p1) - state.logp + kin(p)))
        take = jr.uniform(k2) < accept
        new = jax.tree.map(lambda a, b: jnp.where(take, a, b), HMCState(q, logp, g), state)
        return new, Info(accept, take)
    return Algorithm(init, step)
data = np.array([1.2, 0.7, 1.9, 1.4], np.float32)
def logdensity(p): return -0.5 * jnp.sum((data - p["mu"]) ** 2 / jnp.exp(2 * p["logs"])) - 4 * p["logs"] - p["mu"] ** 2 / 50
start = {"mu": jnp.array(0.0), "logs": jnp.array(0.1)}
warm, kept, target = 4, 6, 0.8
key = jr.key(7)
---
step_size, h = 0.2, 0.0
state = hmc(logdensity, step_size, 3).init(start)
key, sub = jr.split(key)
for i, k in enumerate(jr.split(sub, warm), start=1):
    state, info = hmc(logdensity, step_size, 3).step(k, state)
    h += (target - float(info.accept)) / (i + 2)
    step_size = float(np.clip(np.exp(np.log(0.2) - h), 0.05, 0.5))
kernel = hmc(logdensity, step_size, 3)
final, (positions, infos) = lax.scan(lambda s, k: ((lambda n, i: (n, (n.position, i)))(*kernel.step(k, s))), state, jr.split(sub, kept))
rate = infos.moved.mean()
summary = {name: (v.mean(), v.std()) for name, v in positions.items()}
print(type(final).__name__, infos._fields, positions["mu"].shape)
summary, rate
---
start = {"mu": jnp.array(1.0), "logs": jnp.array(-0.3)}; kept = 4
---
data[1] = 3.0
---
def logdensity(p): return -0.5 * p["mu"] ** 2 - 0.5 * p["logs"] ** 2

### pa-diffrax-spiral-neural-ode-lengths-grow-and-loss-printed needs=diffrax,equinox,optax tolerance=5e-3
import diffrax, equinox as eqx, optax
class Func(eqx.Module):
    mlp: eqx.nn.MLP
    out_scale: jax.Array
    def __call__(self, t, y, args): return self.out_scale * self.mlp(y)
class NeuralODE(eqx.Module):
    func: Func
    def __call__(self, ts, y0):
        sol = diffrax.diffeqsolve(diffrax.ODETerm(self.func), diffrax.Heun(), t0=ts[0], t1=ts[-1], dt0=0.2, y0=y0,
                                  saveat=diffrax.SaveAt(ts=ts), max_steps=32)
        return sol.ys
k1, k2 = jr.split(jr.key(3))
model = NeuralODE(Func(eqx.nn.MLP(2, 2, 6, 1, jnp.tanh, key=k1), jnp.array(1.0)))
ts = jnp.linspace(0.0, 2.0, 8)
A = jnp.array([[-0.1, 2.0], [-2.0, -0.1]])
y0s = jr.uniform(k2, (4, 2), minval=-1, maxval=1)
ys = jax.vmap(lambda y0: jax.vmap(lambda t: jax.scipy.linalg.expm(A * t) @ y0)(ts))(y0s)
optim = optax.adabelief(1e-2)
opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
@eqx.filter_jit
def make_step(model, opt_state, ti, yi):
    def loss(m): return jnp.mean((yi - jax.vmap(m, (None, 0))(ti, yi[:, 0])) ** 2)
    value, grads = eqx.filter_value_and_grad(loss)(model)
    updates, opt_state = optim.update(grads, opt_state)
    return value, eqx.apply_updates(model, updates), opt_state
@eqx.filter_jit
def predict(model, ts, y0): return model(ts, y0)
lengths = (1.0,)
---
log = OrderedDict()
for stage, fraction in enumerate(lengths):
    n = max(2, int(len(ts) * fraction))
    for step in range(3):
        value, model, opt_state = make_step(model, opt_state, ts[:n], ys[:, :n])
        log[stage, step] = value
    print(f"stage {stage}: {n} points, {'finite' if jnp.isfinite(value) else 'blown up'}")
pred = predict(model, ts, y0s[0])
err = jnp.linalg.norm(pred - ys[0], axis=-1)
first_bad = next((i for i, e in enumerate(err.tolist()) if e > 0.4), None)
print(list(log), pred.shape)
list(log.values())[-1], err.max(), model.func.out_scale
---
ts = ts * 0.5
---
model = eqx.tree_at(lambda m: m.func.out_scale, model, jnp.array(0.5))
---
ys = ys[::-1]; y0s = y0s[::-1]

### pa-rotating-npz-checkpoints-with-a-json-manifest
class Checkpointer:
    def __init__(self, root, keep=2):
        self.root, self.keep = Path(root), keep
        self.root.mkdir(exist_ok=True)
        self.manifest = self.root / "manifest.json"
    def entries(self): return json.loads(self.manifest.read_text()) if self.manifest.exists() else []
    def save(self, step, tree, **meta):
        flat = {jtu.keystr(path, simple=True, separator="."): np.asarray(leaf) for path, leaf in jtu.tree_leaves_with_path(tree)}
        name = f"step_{step:04d}.npz"
        np.savez_compressed(self.root / name, **flat)
        digest = hashlib.sha256(b"".join(v.round(3).astype(np.float16).tobytes() for v in flat.values())).hexdigest()[:6]
        entries = [e for e in self.entries() if e["step"] != step] + [{"step": step, "file": name, "size": sum(v.size for v in flat.values()), **meta}]
        for old in entries[: -self.keep]:
            (self.root / old["file"]).unlink(missing_ok=True)
        self.manifest.write_text(json.dumps(entries[-self.keep :], indent=1))
        return len(digest)
    def load(self, like, which=-1):
        entry = self.entries()[which]
        with np.load(self.root / entry["file"]) as data:
            leaves = [jnp.asarray(data[jtu.keystr(path, simple=True, separator=".")]) for path, _ in jtu.tree_leaves_with_path(like)]
        return jax.tree.unflatten(jax.tree.structure(like), leaves), entry
ckpt = Checkpointer("ckpt")
params = {"dense": [{"w": jnp.eye(3) * 0.5, "b": jnp.zeros(3)}], "step": jnp.array(0)}
x = jnp.arange(6.0).reshape(2, 3) / 6
@jax.jit
def update(p, x):
    g = jax.grad(lambda d: jnp.sum(jnp.tanh(x @ d["w"] + d["b"]) ** 2))(p["dense"][0])
    return {"dense": [jax.tree.map(lambda a, b: a - 0.1 * b, p["dense"][0], g)], "step": p["step"] + 1}
every, total = 2, 5
---
for _ in range(total):
    params = update(params, x)
    step = int(params["step"])
    if step % every == 0:
        ckpt.save(step, params, norm=round(float(jnp.linalg.norm(params["dense"][0]["w"])), 2))
files = sorted(p.name for p in ckpt.root.glob("*.npz"))
restored, entry = ckpt.load(params)
drift = jax.tree.map(lambda a, b: jnp.abs(a - b).max(), restored, params)
print(files, entry["step"], [e["size"] for e in ckpt.entries()])
params = restored
drift, entry
---
every = 1; ckpt.keep = 3
---
total = 3; x = x - 1.0
---
(ckpt.root / "manifest.json").unlink()

### pa-sweep-resumed-from-a-csv-of-what-is-done
grid = list(itertools.product([0.1, 0.5], [1, 2]))
path = Path("sweep.csv")
fields = ["lr", "depth", "loss", "status"]
data = jnp.linspace(-1, 1, 9)
class Diverged(RuntimeError):
    def __init__(self, lr, depth, at):
        super().__init__(f"lr={lr} depth={depth} diverged at {at}")
        self.at = at
def train(lr, depth, steps=4):
    w = jnp.full(depth, 0.3)
    def loss(w): return jnp.mean((reduce(lambda h, a: jnp.sin(a * h) + h, w, data) - data**2) ** 2)
    for i in range(steps):
        value, g = jax.value_and_grad(loss)(w)
        if value > limit:
            raise Diverged(lr, depth, i)
        w = w - lr * g
    return value
limit = 10.0
---
done = {}
if path.exists():
    with path.open(newline="") as f:
        done = {(float(r["lr"]), int(r["depth"])): r["status"] for r in csv.DictReader(f)}
fresh = 0
with path.open("a", newline="") as f:
    out = csv.DictWriter(f, fieldnames=fields)
    if f.tell() == 0:
        out.writeheader()
    for lr, depth in grid:
        if (lr, depth) in done:
            continue
        row = dict(lr=lr, depth=depth)
        try:
            row |= {"loss": f"{train(lr, depth):.2f}", "status": "ok"}
        except Diverged as err:
            row |= {"loss": "", "status": f"diverged@{err.at}"}
        finally:
            fresh += 1
        out.writerow(row)
lines = path.read_text().splitlines()
print(fresh, len(done), *lines, sep="\n")
statuses = Counter(line.rsplit(",", 1)[1] for line in lines[1:])
statuses
---
grid.append((0.9, 3)); limit = 0.2
---
path.unlink(); limit = 1e-3
---
data = data * 0.5; grid = grid[::-1]; path.write_text("lr,depth,loss,status\r\n0.1,1,0.00,ok\r\n")

### pa-pickled-session-with-reduce-and-shared-references
class Vocab:
    def __init__(self, words): self.words = list(words); self.index = {w: i for i, w in enumerate(self.words)}
    def __reduce__(self): return Vocab, (self.words,)
    def __len__(self): return len(self.words)
    def encode(self, text): return [self.index.setdefault(w, len(self.index)) % len(self.words) for w in text.split()]
class Embedder:
    def __init__(self, vocab, dim, key):
        self.vocab, self.table = vocab, jr.normal(key, (len(vocab), dim))
        self._cache = {}
    def __getstate__(self): return {"vocab": self.vocab, "table": np.asarray(self.table)}
    def __setstate__(self, state): self.__dict__.update(state, table=jnp.asarray(state["table"]), _cache={})
    def __call__(self, text):
        if text not in self._cache:
            self._cache[text] = self.table[jnp.array(self.vocab.encode(text))].mean(0)
        return self._cache[text]
vocab = Vocab("the cat sat on mat".split())
session = {"vocab": vocab, "model": Embedder(vocab, 3, jr.key(0)), "log": []}
texts = ["the cat sat", "on the mat", "the cat sat"]
---
vectors = [session["model"](t) for t in texts]
sims = jnp.array([[jnp.vdot(a, b) / jnp.linalg.norm(a) / jnp.linalg.norm(b) for b in vectors] for a in vectors])
session["log"].append({"n": len(texts), "hits": len(texts) - len(session["model"]._cache)})
blob = pickle.dumps(session)
twin = pickle.loads(blob)
same = jnp.allclose(twin["model"](texts[0]), vectors[0])
print(twin["vocab"] is twin["model"].vocab, vectors[0] is vectors[2], bool(same), len(twin["model"]._cache))
deep = copy.deepcopy(session["model"])
deep.table = deep.table.at[0].set(0.0)
session["log"][-1]["deep"] = float(deep(texts[1]).sum()) != float(vectors[1].sum())
sims.round(3), session["log"]
---
texts.append("dog on the mat")
---
session["model"]._cache.clear(); session["model"].table = session["model"].table * 2
---
vocab.words.append("dog"); session["model"].table = jnp.vstack([session["model"].table, jnp.ones(3)])

### pa-frozen-config-dataclasses-derived-fields-and-registered-state
@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    width: int = 4
    lr: float = 0.1
    tags: tuple[str, ...] = ()
    extra: dict = field(default_factory=dict, hash=False, compare=False)
    @property
    def scale(self): return 1 / math.sqrt(self.width)
    def __post_init__(self):
        if self.width < 1:
            raise ValueError(f"width must be positive, got {self.width}")
@partial(jtu.register_dataclass, data_fields=["w", "m"], meta_fields=["config"])
@dataclass
class State:
    w: jax.Array
    m: jax.Array
    config: Config
    @classmethod
    def create(cls, config, key):
        w = config.scale * jr.normal(key, (config.width,))
        return cls(w, jnp.zeros_like(w), config)
    def apply(self, g):
        m = 0.9 * self.m + g
        return replace(self, w=self.w - self.config.lr * m, m=m)
base = Config(tags=("base",))
variants = {"narrow": dict(width=2), "hot": dict(lr=0.5, tags=("base", "hot"))}
created = []
---
results = {}
for name, change in variants.items():
    config = replace(base, **change, extra={"name": name})
    state = State.create(config, jr.key(len(name)))
    for _ in range(3):
        state = state.apply(jax.grad(lambda w: jnp.sum(jnp.cos(w)))(state.w))
    results[name] = state
    created.append(config)
try:
    replace(base, width=0)
except ValueError as err:
    message = str(err)
grown = jax.tree.map(lambda a: a * 2, results["hot"])
print(message, base == Config(tags=("base",)), len({c for c in created}), grown.config.extra)
norms = {name: jnp.linalg.norm(s.w) for name, s in results.items()}
asdict(created[-1]), norms
---
variants["wide"] = dict(width=6)
---
base = replace(base, lr=0.01)
---
del variants["narrow"]; created.clear()

### pa-one-generator-of-batches-drawn-from-in-every-cell
def stream(x, size, seed):
    rng = np.random.default_rng(seed)
    epoch = 0
    while True:
        order = rng.permutation(len(x))
        for start in range(0, len(x) - size + 1, size):
            got = yield epoch, x[order[start : start + size]]
            if got == "skip":
                break
        epoch += 1
xs = np.linspace(0, 1, 10, dtype=np.float32)
batches = stream(xs, 4, 0)
mean, seen = jnp.zeros(()), 0
---
epoch, batch = next(batches)
seen += len(batch)
mean = mean + (jnp.mean(batch) - mean) * len(batch) / seen
if seen % 3 == 0:
    epoch, batch = batches.send("skip")
spread = jnp.std(batch)
peeked = list(itertools.islice((float(b.max()) for _, b in batches), 1))
print(epoch, batch.shape, seen, batches.gi_frame is not None)
mean, spread, peeked
---
batches = stream(xs * 2, 5, 1)
---
seen = 0; mean = jnp.zeros(())
---
batches.close(); batches = ((i, np.full(3, i, np.float32)) for i in itertools.count())

### pa-closures-over-nonlocal-state-with-getters-and-resets
def make_tracker(beta):
    value, count, hooks = None, 0, []
    def push(x):
        nonlocal value, count
        value = x if value is None else jax.tree.map(lambda a, b: beta * a + (1 - beta) * b, value, x)
        count += 1
        for hook in hooks:
            hook(count, value)
        return value
    def reset():
        nonlocal value, count
        value, count = None, 0
    push.hooks, push.reset, push.count = hooks, reset, lambda: count
    return push
track = make_tracker(0.8)
notes = []
track.hooks.append(lambda n, v: notes.append((n, round(float(v["a"].sum()), 3))))
inputs = [{"a": jnp.arange(3.0) * i, "b": jnp.array(i)} for i in range(3)]
---
for x in inputs:
    latest = track(x)
adders = [lambda y, i=i: y + i for i in range(3)]
late = [lambda y: y + i for i in range(3)]
out = [f(latest["a"])[0] for f in adders + late]
if track.count() > 6:
    track.reset()
print(track.count(), notes[-1][0], len(notes), [c.cell_contents is track.hooks for c in track.__closure__].count(True))
latest, jnp.stack(out)
---
track.hooks.clear()
---
inputs = inputs[:2]; track = make_tracker(jnp.array(0.5))
---
inputs.append({"a": jnp.ones(3, jnp.float16).astype(jnp.float32), "b": jnp.array(2)})

### pa-exit-stack-of-precision-timers-and-patched-settings
events = []
@contextlib.contextmanager
def section(name, level=[0]):
    events.append("  " * level[0] + f"+{name}")
    level[0] += 1
    try:
        yield level[0]
    except ArithmeticError as err:
        events.append(f"swallowed {err}")
    finally:
        level[0] -= 1
        events.append("  " * level[0] + f"-{name}")
class Patched(contextlib.ContextDecorator):
    def __init__(self, target, **new): self.target, self.new = target, new
    def __enter__(self):
        self.old = {k: getattr(self.target, k) for k in self.new}
        for k, v in self.new.items(): setattr(self.target, k, v)
        return self.target
    def __exit__(self, *exc):
        for k, v in self.old.items(): setattr(self.target, k, v)
        return False
settings = types.SimpleNamespace(eps=1e-3, act=jnp.tanh)
def layer(x): return settings.act(x) / (jnp.abs(x).sum() + settings.eps)
x = jnp.array([0.3, -0.7, 1.1])
fail_at = 1
---
outs = []
with contextlib.ExitStack() as stack:
    depth = stack.enter_context(section("outer"))
    stack.callback(events.append, "cleaned")
    stack.enter_context(jax.default_matmul_precision("highest"))
    for i, act in enumerate([jax.nn.relu, jnp.sin]):
        with section(f"inner{i}") as d, Patched(settings, act=act, eps=1e-2 * d):
            outs.append(layer(x) @ jnp.ones((3, 2)))
            if i == fail_at:
                raise ZeroDivisionError(f"at {i}")
@Patched(settings, eps=100.0)
def damped(x): return layer(x)
outs.append(damped(x)[:2])
print(*events, sep="\n")
events.clear()
jnp.stack(outs), settings.eps, settings.act is jnp.tanh
---
fail_at = None
---
settings.eps = 0.5; x = x * 2
---
settings.act = jnp.exp; fail_at = 0

### pa-asyncio-gather-with-semaphore-timeouts-and-results-in-order
async def simulate(name, delay, theta, limit, log):
    async with limit:
        log.append(f"start {name}")
        for _ in range(delay):
            await asyncio.sleep(0)
        if name in broken:
            raise LookupError(name)
        log.append(f"end {name}")
        return jnp.sum(jnp.sin(theta * grid))
async def main(jobs):
    limit, log = asyncio.Semaphore(2), []
    tasks = [asyncio.create_task(simulate(n, d, th, limit, log), name=n) for n, d, th in jobs]
    got = await asyncio.gather(*tasks, return_exceptions=True)
    total = jnp.zeros(())
    async for value in only_good(got):
        total += value
    return got, total, log
async def only_good(items):
    for item in items:
        await asyncio.sleep(0)
        if not isinstance(item, Exception):
            yield item
grid = jnp.linspace(0, 3, 7)
broken = {"b"}
jobs = [("a", 2, 1.0), ("b", 1, 2.0), ("c", 0, jnp.array(0.5)), ("d", 1, 3.0)]
---
got, total, log = asyncio.run(main(jobs))
table = {name: (type(v).__name__ if isinstance(v, Exception) else v) for (name, *_), v in zip(jobs, got, strict=True)}
print(log)
finite = [name for name, v in table.items() if not isinstance(v, str) and v > 0]
rescaled = total / max(len(finite), 1)
table, rescaled
---
broken.clear()
---
jobs[0] = ("a", 0, -1.0); grid = grid * 2
---
jobs = jobs[2:]; broken.update("cd")

### pa-network-spec-of-tuples-and-dicts-built-by-match
@dataclass
class Conv:
    k: int
    out: int = 2
class Kind(enum.Enum):
    RELU = "relu"
    TANH = "tanh"
    @property
    def fn(self): return {"relu": jax.nn.relu, "tanh": jnp.tanh}[self.value]
def build(spec, key):
    match spec:
        case []: return [], lambda ps, x: x
        case [first, *rest]:
            k1, k2 = jr.split(key)
            p, f = build(first, k1)
            ps, g = build(rest, k2)
            return [p, *ps], lambda params, x: g(params[1:], f(params[0], x))
        case {"dense": (int(n), int(m)), **options}:
            w = jr.normal(key, (n, m)) * options.get("scale", 0.1)
            return (w, jnp.zeros(m)) if options.get("bias", True) else (w,), lambda p, x: x @ p[0] + (p[1] if len(p) == 2 else 0)
        case Conv(k=k, out=out) if k % 2 == 1:
            w = jr.normal(key, (out, k)) / k
            return w, lambda p, x: jnp.concatenate([jax.vmap(lambda r: jnp.convolve(r, q, "same"))(x) for q in p], -1)
        case Kind() as kind: return (), lambda p, x: kind.fn(x)
        case "flip" | "reverse": return (), lambda p, x: x[..., ::-1]
        case float(s) | int(s): return jnp.array(float(s)), lambda p, x: p * x
        case _: raise TypeError(f"no layer for {spec!r}")
spec = [{"dense": (4, 3), "scale": 0.5}, Kind.TANH, Conv(3), "flip", 2.0]
x = jnp.ones((2, 4)) * jnp.arange(4)
---
params, forward = build(spec, jr.key(0))
out = forward(params, x)
grads = jax.grad(lambda p: jnp.mean(forward(p, x) ** 2))(params)
count = sum(leaf.size for leaf in jax.tree.leaves(params))
try:
    build([Conv(2)], jr.key(1))
except TypeError as err:
    print("refused:", err)
print(out.shape, count, jax.tree.structure(params))
out, jax.tree.map(jnp.linalg.norm, grads)
---
spec[1] = Kind.RELU
---
spec.insert(1, {"dense": (3, 3), "bias": False})
---
spec = ["reverse", 3, *spec[-1:]]

### pa-structured-particles-sorted-and-collided-in-place
dtype = np.dtype([("id", "u2"), ("pos", "f4", 2), ("vel", "f4", 2), ("alive", "?")])
particles = np.zeros(6, dtype)
particles["id"] = np.arange(6)
particles["pos"] = np.random.default_rng(2).uniform(-1, 1, (6, 2))
particles["vel"] = np.random.default_rng(3).normal(size=(6, 2))
particles["alive"] = True
dt, wall = 0.1, 1.0
@jax.jit
def accelerations(pos, alive):
    d = pos[:, None] - pos[None]
    r2 = jnp.sum(d**2, -1) + 0.05
    return jnp.sum(jnp.where((alive[:, None] & alive)[..., None], d / r2[..., None] ** 1.5, 0.0), axis=1) * 0.05
trail = np.full((3, 6, 2), np.nan, np.float32)
---
for t in range(len(trail)):
    acc = accelerations(particles["pos"], particles["alive"])
    particles["vel"] += dt * np.asarray(acc)
    particles["pos"] += dt * particles["vel"]
    out = np.abs(particles["pos"]) > wall
    particles["vel"][out] *= -1
    np.clip(particles["pos"], -wall, wall, out=particles["pos"])
    trail[t] = particles["pos"]
fast = np.linalg.norm(particles["vel"], axis=1) > 1.6
particles["alive"] &= ~fast
order = np.argsort(~particles["alive"], kind="stable")
particles[:] = particles[order]
energy = 0.5 * jnp.sum(jnp.asarray(particles["vel"]) ** 2)
view = particles[["id", "alive"]]
print(particles["id"], view.dtype.names, particles.dtype.itemsize, bool(out.any()))
record = particles[0]
record["pos"] = 0.0
particles["pos"][0].tolist(), energy, trail[-1].mean(0)
---
wall = 0.5
---
particles = np.sort(particles, order="id")[:5]; trail = trail[:2, :5]
---
dt = -0.1; particles["alive"] = True

### pa-registry-by-init-subclass-with-cooperative-super-and-class-counters
class Transform(abc.ABC):
    registry: ClassVar[dict] = {}
    made: ClassVar[int] = 0
    def __init_subclass__(cls, /, name=None, **kw):
        super().__init_subclass__(**kw)
        Transform.registry[name or cls.__name__.lower()] = cls
    def __new__(cls, *args, **kw):
        Transform.made += 1
        return super().__new__(cls)
    @abc.abstractmethod
    def forward(self, x): ...
    def log_det(self, x): return jnp.log(jnp.abs(jnp.diagonal(jax.jacobian(self.forward)(x)))).sum()
    def __matmul__(self, other): return Chain(self, other)
    def __call__(self, x): return self.forward(x)
class Scale(Transform, name="scale"):
    def __init__(self, s): self.s = jnp.asarray(s)
    def forward(self, x): return x * self.s
class Warp(Scale, name="warp"):
    def __init__(self, s, k=1.0): super().__init__(s); self.k = k
    def forward(self, x): return super().forward(x) + self.k * jnp.tanh(x)
class Chain(Transform):
    def __init__(self, *parts): self.parts = parts
    def forward(self, x): return reduce(lambda h, t: t(h), reversed(self.parts), x)
recipe = [("scale", [2.0]), ("warp", [0.5, 0.3])]
x = jnp.array([0.1, -0.4, 0.9])
---
class Shift(Transform, name="shift"):
    def __init__(self, b): self.b = b
    def forward(self, x): return x + self.b
    def log_det(self, x): return jnp.zeros(())
flow = reduce(operator.matmul, [Transform.registry[n](*args) for n, args in recipe]) @ Shift(0.25)
y = flow(x)
ld = flow.log_det(x)
try:
    Transform()
except TypeError as err:
    abstract = "abstract" in str(err)
parts = [type(p).__name__ for p in flow.parts]
print(sorted(Transform.registry), Transform.made, parts, abstract, isinstance(flow, Chain), Warp.__mro__[1].__name__)
y, ld, flow.parts[0](x)
---
recipe.append(("shift", [jnp.array([1.0, 0.0, -1.0])]))
---
Scale.forward = lambda self, x: x * self.s - 0.1
---
recipe = recipe[1:]; Transform.made = 0

### pa-cached-properties-partial-methods-and-an-ordering-by-score
@total_ordering
class Candidate:
    built = 0
    def __init__(self, name, coef): self.name, self.coef = name, jnp.asarray(coef); Candidate.built += 1
    @cached_property
    def score(self):
        calls.append(self.name)
        return jnp.sum(jnp.polyval(self.coef, points) ** 2)
    def __lt__(self, other): return bool(self.score < other.score)
    def __eq__(self, other): return self.name == other.name
    def __hash__(self): return hash(self.name)
    def scaled(self, factor, label=""): return Candidate(f"{self.name}{label}", self.coef * factor)
    doubled = functools.partialmethod(scaled, 2.0, label="*2")
calls = []
points = np.linspace(-1, 1, 5)
pool = [Candidate("flat", [0.5]), Candidate("line", [1.0, 0.2]), Candidate("bow", [0.3, 0.0, -0.6])]
@lru_cache(maxsize=None)
def basis(n): return jnp.stack([points**i for i in range(n)])
---
pool.append(min(pool).doubled())
ranking = sorted(pool, reverse=True)
by_name = sorted(pool, key=functools.cmp_to_key(lambda a, b: (a.name > b.name) - (a.name < b.name)))
best = max(pool, key=operator.attrgetter("score"))
fit = basis(3) @ jnp.asarray(points)
spread = best.score - min(pool).score
print([c.name for c in ranking], [c.name for c in by_name], calls, Candidate.built, basis.cache_info().misses)
calls.clear()
if len(set(pool)) > 5:
    del pool[3:]
best.name, spread, fit
---
pool[0].__dict__.pop("score", None); pool[0].coef = pool[0].coef * 3
---
points = np.linspace(0, 2, 4); basis.cache_clear()
for c in pool: c.__dict__.pop("score", None)
---
pool = [Candidate("cube", [1.0, 0, 0, 0]), Candidate("zero", [0.0])]

### pa-stacked-decorators-retry-memo-and-attributes-on-functions
def counted(fn):
    @wraps(fn)
    def inner(*args, **kw):
        inner.calls += 1
        return fn(*args, **kw)
    inner.calls = 0
    return inner
def retry(times, on=Exception):
    def deco(fn):
        @wraps(fn)
        def inner(*args, **kw):
            for attempt in range(times):
                try:
                    return fn(*args, attempt=attempt, **kw)
                except on as err:
                    inner.errors.append(f"{attempt}: {err}")
            raise RuntimeError(f"{fn.__name__} gave up after {times}") from None
        inner.errors = []
        return inner
    return deco
def memo(fn):
    cache = {}
    @wraps(fn)
    def inner(a):
        key = tuple(np.asarray(a).ravel().round(3).tolist())
        if key not in cache:
            cache[key] = fn(a)
        return cache[key]
    inner.cache = cache
    return inner
@counted
@retry(3, on=ArithmeticError)
def solve(a, b, attempt=0):
    x = jnp.linalg.solve(a + ridge * attempt * jnp.eye(2), b)
    if not jnp.isfinite(x).all():
        raise ZeroDivisionError(f"singular with ridge {ridge * attempt:.2f}")
    return x
@memo
@counted
def spectrum(a): return jnp.linalg.eigvalsh(a)
ridge = 0.5
mats = [jnp.array([[2.0, 1.0], [1.0, 3.0]]), jnp.zeros((2, 2)), jnp.array([[2.0, 1.0], [1.0, 3.0]])]
b = jnp.array([1.0, 2.0])
---
solutions = [solve(m, b) for m in mats]
eigs = [spectrum(m) for m in mats]
print(solve.calls, solve.__wrapped__.errors, solve.__name__, spectrum.__wrapped__.calls, eigs[0] is eigs[2], list(spectrum.cache))
solve.__wrapped__.errors.clear()
total = sum(solutions)
total, eigs[1]
---
mats[0] = mats[0].at[0, 0].add(1.0)
---
ridge = 0.1; spectrum.cache.clear(); solve.calls = 0
---
mats = mats[:1] + [jnp.full((2, 2), jnp.nan)]

### pa-failing-step-chained-exceptions-and-learning-rate-backoff
class Diverged(ArithmeticError):
    def __init__(self, step, value): super().__init__(step, value); self.step = step
    def __str__(self): return f"step {self.step}"
def loss(w): return jnp.sum((w**2 - target) ** 2)
def run(w, lr, steps):
    for i in range(steps):
        value, g = jax.value_and_grad(loss)(w)
        try:
            if not math.isfinite(value) or value > 200.0:
                raise OverflowError(f"loss over limit in {i}")
            w = w - lr * g
        except OverflowError as err:
            raise Diverged(i, value) from err
    return w
target = np.array([0.5, 1.0, 1.5], np.float32)
w, lr, attempts = jnp.ones(3) * 2.5, 0.4, []
---
while True:
    try:
        w_new = run(w, lr, 6)
    except Diverged as err:
        attempts.append({"lr": lr, "step": err.step, "cause": repr(err.__cause__), "ctx": err.__context__ is err.__cause__})
        lr /= 2
        if lr < 1e-4:
            raise
    else:
        w = w_new
        break
    finally:
        attempts.append(f"tried {len(attempts)}")
notes = [a for a in attempts if isinstance(a, dict)]
residual = jnp.abs(w**2 - target)
print(f"{lr=:.5f}", len(notes), *(f"{n['step']}:{n['cause']}" for n in notes), sep=" | ")
w, residual.max() < 1.0
---
w, lr = w * 3, 0.4; attempts.clear()
---
target = target * 2; attempts = []
---
w = jnp.full(3, 100.0); lr = 3e-4

### pa-cycles-tees-and-groupings-held-open-across-cells
phases = itertools.cycle(["warm", "hot", "cool"])
a, b = itertools.tee(np.linspace(0, 1, 30).tolist())
windows = zip(*[iter(range(24))] * 3)
enum_ = enumerate("abcdefghij", start=5)
factor = {"warm": 1.0, "hot": 2.5, "cool": 0.4}
total = jnp.zeros(3)
---
phase = next(phases)
chunk = next(windows, (0, 0, 0))
ahead = [next(a) for _ in range(2)]
behind = next(b)
n, letter = next(enum_)
total = total + factor[phase] * jnp.array(chunk) + ahead[-1]
scan = list(itertools.accumulate(chunk, lambda h, v: h + v * total[0]))
runs = {k: len(list(g)) for k, g in itertools.groupby((total > 3).tolist())}
pairs = [tuple(p) for p in itertools.pairwise(map(float, total))]
print(phase, chunk, ahead, behind, f"{n}{letter}", runs, len(pairs))
total, scan[-1]
---
factor["hot"] = -1.0
---
phases = itertools.chain(["cool"], itertools.repeat("warm")); total = total * 0
---
windows = iter([(7, 8, 9), (1, 1, 1)])

### pa-numpy-in-place-kit-with-masks-from-jax
img = np.arange(24, dtype=np.float32).reshape(4, 6) % 7
hist = np.zeros(8, np.int64)
out = np.empty_like(img)
lut = np.linspace(0, 1, 8).astype(np.float32)
mask_fn = jax.jit(lambda x, t: x > t)
threshold = 3.0
---
alias = img[1:3]
mask = np.asarray(mask_fn(img, threshold))
np.add.at(hist, img.astype(int).ravel(), 1)
np.multiply(img, 0.5, out=out, where=mask)
np.copyto(out, -1.0, where=~mask)
np.put(img, [0, 5], [9.0, 8.0])
np.place(img, ~mask, [1.5, 2.5])
alias += 1
np.fill_diagonal(img, threshold)
img.partition(2, axis=1)
img.T[0] = lut[:4]
rows = np.take_along_axis(img, np.argmax(img, 1)[:, None], 1)
mean, rest = jnp.mean(img), jnp.asarray(out).min()
hist[hist == hist.max()] //= 2
print(hist, alias.base is img, mask.sum(), out.flags["C_CONTIGUOUS"], rows.ravel().round(2))
img[-1], mean, rest
---
threshold = 1.0
---
img = np.asfortranarray(img[:, :4]); out = np.empty_like(img)
---
mask_fn = lambda x, t: np.asarray(x) < t

### pa-four-streams-of-random-numbers-in-one-loop
class Keys:
    def __init__(self, seed): self._key = jr.key(seed)
    def __iter__(self): return self
    def __next__(self):
        self._key, sub = jr.split(self._key)
        return sub
keys, rng, old = Keys(0), np.random.default_rng([1, 2]), np.random.RandomState(3)
py = random.Random("four")
walkers = jnp.zeros((3, 2))
noise = 0.1
---
path = []
for k, _ in zip(keys, range(2)):
    kick = jr.normal(k, walkers.shape) * noise
    jump = rng.choice([-1.0, 1.0], size=walkers.shape, p=[0.4, 0.6])
    which = py.sample(range(3), k=2)
    walkers = walkers.at[jnp.array(which)].add((kick + jump)[: len(which)])
    path.append((which, old.randint(10), py.gauss(0, 1) > 0))
picked = jr.categorical(next(keys), jnp.log(jnp.array([0.2, 0.8])), shape=(4,))
deck = list("abcde")
py.shuffle(deck)
legacy_state = old.get_state()[2]
print(path, "".join(deck), legacy_state, rng.bit_generator.state["has_uint32"], rng.permutation(4))
walkers, picked, jr.key_data(keys._key)
---
noise = 0.0
---
keys = Keys(9); py.seed(1)
---
rng = np.random.default_rng(5); walkers = walkers[:3] * 0.0

### pa-own-pytree-linked-chain-with-key-paths-and-aux-strings
@jtu.register_pytree_with_keys_class
class Link:
    def __init__(self, value, tail=None, label=""): self.value, self.tail, self.label = value, tail, label
    def tree_flatten_with_keys(self):
        return ((jtu.GetAttrKey("value"), self.value), (jtu.GetAttrKey("tail"), self.tail)), self.label
    @classmethod
    def tree_unflatten(cls, label, children): return cls(*children, label)
    def __iter__(self):
        node = self
        while node is not None:
            yield node
            node = node.tail
    def __len__(self): return sum(1 for _ in self)
    def __repr__(self): return " -> ".join(n.label or "?" for n in self)
def chain(*pairs):
    node = None
    for label, v in reversed(pairs): node = Link(v, node, label)
    return node
c = chain(("a", jnp.arange(3.0)), ("b", jnp.ones(2)), ("c", 2.0))
@jax.jit
def normed(link): return jax.tree.map(lambda v: v / (1 + jnp.sum(jnp.abs(v))), link)
def total(link): return sum(jnp.sum(n.value) for n in link)
---
d = normed(c)
paths = [jtu.keystr(p) for p, _ in jtu.tree_leaves_with_path(d)]
grads = jax.grad(lambda l: total(normed(l)))(c)
big = max(c, key=lambda n: float(jnp.max(n.value)))
big.value = big.value * 0.5
c.tail.tail.tail = Link(jnp.zeros(1), None, f"n{len(c)}") if len(c) < 5 else None
try:
    jax.tree.map(operator.add, c, d)
except ValueError as err:
    mismatch = type(err).__name__
stacked = jnp.stack([jnp.sum(n.value) for n in c])
print(repr(c), repr(d), paths, mismatch, big.label, isinstance(grads, Link))
stacked, grads.value, [n.label for n in grads]
---
c.label = "head"
---
c = chain(("x", jnp.array([1, 2])), ("y", jnp.float32(3)), ("z", jnp.eye(2)))
---
def total(link): return sum(jnp.sum(jnp.sin(n.value)) for n in link)

### pa-params-placed-by-a-table-of-regexes-on-a-two-axis-mesh devices=4
mesh = jax.make_mesh((2, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
rules = [(r"embed", P(None, "model")), (r"w\d$", P("data", "model")), (r".*", P())]
def spec_for(path):
    name = jtu.keystr(path, simple=True, separator="/")
    return next(spec for pattern, spec in rules if re.search(pattern, name))
params = {"embed": jnp.ones((8, 4)), "mlp": {"w1": jnp.full((4, 8), 0.1), "w2": jnp.full((8, 4), 0.2), "b": jnp.zeros(4)}}
tokens = np.arange(8).reshape(4, 2) % 8
lr = 0.1
@jax.jit
def loss_fn(p, t):
    h = p["embed"][t].mean(1)
    h = lax.with_sharding_constraint(h, NamedSharding(mesh, P("data", None)))
    return jnp.mean((jnp.tanh(h @ p["mlp"]["w1"]) @ p["mlp"]["w2"] + p["mlp"]["b"] - 1) ** 2)
---
shardings = jtu.tree_map_with_path(lambda path, _: NamedSharding(mesh, spec_for(path)), params)
placed = jax.device_put(params, shardings)
batch = jax.device_put(tokens, NamedSharding(mesh, P("data")))
losses = []
for _ in range(3):
    value, grads = jax.value_and_grad(loss_fn)(placed, batch)
    placed = jax.tree.map(lambda p, g: p - lr * g, placed, grads)
    losses.append(value)
shapes = jax.tree.map(lambda a: a.addressable_shards[0].data.shape, placed)
where = {jtu.keystr(path, simple=True, separator="/"): str(a.sharding.spec) for path, a in jtu.tree_leaves_with_path(shardings and placed)}
gathered = jax.device_get(placed["mlp"]["b"])
params["mlp"]["b"] = gathered
print(shapes, sorted(where), type(gathered).__name__, losses[0].sharding.is_fully_replicated)
placed["mlp"]["w1"], jnp.stack(losses), placed["embed"].sharding.spec
---
rules[1] = (r"w1$", P("model", None))
---
params = jax.tree.map(lambda p: jnp.asarray(p) * 2, params)
---
mesh = jax.make_mesh((4, 1), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2); lr = 0.01

### pa-shard-map-histogram-psum-and-ring-of-halos devices=4
mesh = Mesh(np.array(jax.devices()[:4]), ("x",))
field_ = jnp.sin(jnp.arange(16.0))
bins = np.linspace(-1, 1, 5)
@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=(P("x"), P()), out_specs=(P("x"), P()))
def smooth(block, edges):
    n = lax.axis_size("x")
    left = lax.ppermute(block[-1:], "x", [(i, (i + 1) % n) for i in range(n)])
    right = lax.ppermute(block[:1], "x", [(i, (i - 1) % n) for i in range(n)])
    padded = jnp.concatenate([left, block, right])
    local = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
    counts = lax.psum(jnp.histogram(local, edges)[0], "x")
    return local, counts
rounds = 2
---
spread = jax.device_put(field_, NamedSharding(mesh, P("x")))
tally = Counter()
for r in range(rounds):
    spread, counts = smooth(spread, bins)
    tally.update({f"bin{i}": int(c) for i, c in enumerate(counts)})
one = jax.device_put(spread, jax.devices()[-1])
per_device = {str(s.index): float(s.data.sum()) > 0 for s in spread.addressable_shards}
mixed = spread + jnp.ones(16)
print(dict(tally), len(per_device), one.devices() == {jax.devices()[-1]})
spread, counts, mixed.sharding == spread.sharding, one[:2]
---
rounds = 1; field_ = jnp.cos(field_)
---
bins = bins[:4]
---
mesh = Mesh(np.array(jax.devices()[:4])[::-1], ("x",))

### pa-logger-adapter-rotating-file-and-a-metric-formatter
from logging.handlers import RotatingFileHandler
class Metrics(logging.Formatter):
    def format(self, record):
        extra = getattr(record, "metrics", {})
        return f"{record.levelname[0]} {record.getMessage()}" + "".join(f" {k}={float(v):.2f}" for k, v in sorted(extra.items()))
logger = logging.Logger("pa.train", logging.DEBUG)
handler = RotatingFileHandler("train.log", maxBytes=160, backupCount=1, delay=True)
handler.setFormatter(Metrics())
logger.addHandler(handler)
class WithStep(logging.LoggerAdapter):
    def process(self, msg, kwargs): return f"[{self.extra['step']:02d}] {msg}", kwargs
log = WithStep(logger, {"step": 0})
w, x = jnp.array([0.5, -0.5]), jnp.array([[1.0, 2.0], [3.0, -1.0]])
level = logging.DEBUG
---
logger.setLevel(level)
for _ in range(3):
    value, g = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1.0) ** 2))(w)
    log.extra["step"] += 1
    log.debug("loss", extra={"metrics": {"loss": value, "g": jnp.linalg.norm(g)}})
    if value > 4.0 and log.isEnabledFor(logging.WARNING):
        log.warning("large %s of %d", "loss", len(g))
    w = w - 0.05 * g
handler.flush()
text = Path("train.log").read_text()
rotated = Path("train.log.1").exists()
print(text.count("loss"), rotated, log.extra, sep=" / ")
w, text.splitlines()[-1][:10]
---
level = logging.WARNING
---
x = x * 4; log.extra = {"step": 90}; level = logging.INFO
---
handler.setFormatter(logging.Formatter("%(name)s %(message)s")); level = logging.DEBUG; x = x / 4

### pa-heap-search-with-jax-heuristic-ties-and-came-from
walls = {(1, 1), (1, 2), (2, 1)}
size, goal = 4, (3, 3)
weights = jnp.array([1.0, 1.2])
@jax.jit
def h(cells, weights): return jnp.abs(cells - jnp.array(goal)) @ weights
def neighbours(c):
    for dx, dy in ((1, 0), (0, 1), (-1, 0), (0, -1)):
        n = (c[0] + dx, c[1] + dy)
        if 0 <= n[0] < size and 0 <= n[1] < size and n not in walls:
            yield n
---
tick = itertools.count()
frontier = [(float(h(jnp.zeros(2), weights)), next(tick), (0, 0))]
came, cost, popped = {(0, 0): None}, {(0, 0): 0}, 0
while frontier:
    _, _, cell = heapq.heappop(frontier)
    popped += 1
    if cell == goal:
        break
    options = [n for n in neighbours(cell) if cost[cell] + 1 < cost.get(n, math.inf)]
    if not options:
        continue
    scores = h(jnp.array(options, jnp.float32), weights)
    for n, s in zip(options, scores):
        cost[n] = cost[cell] + 1
        came[n] = cell
        heapq.heappush(frontier, (cost[n] + round(s.item(), 3), next(tick), n))
else:
    cell = None
route = []
while cell is not None:
    route.append(cell)
    cell = came[cell]
board = np.full((size, size), ".")
for r in route[::-1]: board[r] = "*"
for w_ in walls: board[w_] = "#"
print("\n".join("".join(row) for row in board))
field_ = jax.vmap(lambda c: h(c, weights))(jnp.stack(jnp.meshgrid(*[jnp.arange(size)] * 2, indexing="ij"), -1).reshape(-1, 2))
len(route), field_.reshape(size, size)[0], popped >= len(route)
---
weights = jnp.array([0.0, 0.0])
---
walls.add((3, 1))
---
walls |= {(2, 3), (3, 2)}

### pa-layered-settings-counters-and-moving-windows
defaults = {"window": 3, "alpha": 0.5, "names": ["loss", "acc"]}
user, cli = {"alpha": 0.25}, {}
settings = ChainMap(cli, user, defaults)
meters = defaultdict(lambda: deque(maxlen=settings["window"]))
events = Counter(start=1)
ewma = OrderedDict.fromkeys(settings["names"], jnp.zeros(()))
data = jnp.linspace(0.1, 0.9, 4)
---
for i, d in enumerate(data):
    batch = {"loss": -jnp.log(d), "acc": (d > 0.5).astype(jnp.float32)}
    for name in settings["names"]:
        meters[name].append(batch[name])
        ewma[name] = ewma[name] * (1 - settings["alpha"]) + batch[name] * settings["alpha"]
    events["high" if d > 0.6 else "low"] += 1
    if i == 2:
        settings["window"] = settings["window"] + 1
ewma.move_to_end("loss")
means = {k: jnp.mean(jnp.stack(list(v))) for k, v in meters.items()}
meters["acc"].rotate(1)
child = settings.new_child({"alpha": 1.0})
events.subtract(low=1)
print(events.most_common(2), cli, list(ewma), meters["loss"].maxlen, child["alpha"], +events == events)
means, ewma["loss"], sum(meters["acc"])
---
user["alpha"] = 0.9
---
meters.clear(); cli.clear(); events.clear()
---
defaults["names"].append("acc"); data = data[:2]

### pa-flags-and-named-tuples-with-methods-steer-an-integrator
class Out(enum.Flag):
    NONE = 0
    POS = enum.auto()
    VEL = enum.auto()
    ENERGY = enum.auto()
    ALL = POS | VEL | ENERGY
class Phase(enum.IntEnum):
    HEAT = 1
    COOL = 2
class Body(namedtuple("Body", "q p m")):
    __slots__ = ()
    @property
    def v(self): return self.p / self.m
    def kick(self, f, dt): return self._replace(p=self.p + dt * f)
    def drift(self, dt): return self._replace(q=self.q + dt * self.v)
    def __add__(self, other): return Body(*map(operator.add, self, other))
force = jax.grad(lambda q: -jnp.sum(q**2) / 2 - jnp.sum(q**4) / 10)
body = Body(jnp.array([1.0, 0.0]), jnp.array([0.0, 0.5]), 2.0)
wanted, schedule = Out.POS | Out.ENERGY, [Phase.HEAT] * 2 + [Phase.COOL]
dt = 0.1
---
rows = []
for n, phase in enumerate(schedule, 1):
    body = body.kick(force(body.q), dt / 2).drift(dt)
    body = body.kick(force(body.q), dt / 2)
    match phase:
        case Phase.HEAT: body = body._replace(p=body.p * (1 + 0.1 * phase))
        case Phase.COOL: body = body._replace(p=body.p / phase)
    row = {}
    if Out.POS in wanted: row["q"] = body.q
    if wanted & Out.VEL: row["v"] = body.v
    if Out.ENERGY in wanted: row["e"] = jnp.vdot(body.p, body.v) / 2
    rows.append((n, phase.name, row))
doubled = body + body
q, *_, m = body
print(wanted, [p for _, p, _ in rows], body._fields, m, isinstance(doubled, Body), int(schedule[-1]) + 1)
rows[-1][2], doubled.m, q
---
wanted ^= Out.VEL
---
schedule.reverse(); dt = 0.2
---
body = Body(jnp.zeros(2), jnp.ones(2), jnp.array([1.0, 3.0])); wanted = Out.ALL & ~Out.POS

### pa-binary-records-by-struct-memoryview-and-array-module
import array
header = struct.Struct("<4sHHf")
frames = [np.arange(4, dtype=np.int16) * k for k in (1, 3, -2)]
gain = 0.5
---
with open("tape.bin", "wb") as f:
    for i, frame in enumerate(frames):
        level = jnp.sqrt(jnp.mean(jnp.asarray(frame, jnp.float32) ** 2)) * gain
        f.write(header.pack(b"FRM0", i, len(frame), round(level.item(), 2)))
        f.write(frame.astype("<i2").tobytes())
raw = Path("tape.bin").read_bytes()
view, at, decoded = memoryview(raw), 0, []
while at < len(view):
    magic, idx, n, level = header.unpack_from(view, at)
    at += header.size
    samples = np.frombuffer(view[at : at + 2 * n], dtype="<i2")
    at += 2 * n
    decoded.append((idx, round(level, 2), jnp.asarray(samples, jnp.float32) * level))
buf = array.array("f", [float(d[2].sum()) for d in decoded])
buf.append(gain)
arr = np.frombuffer(buf, np.float32)
ba = bytearray(raw[:4])
ba[3:4] = b"1"
mixed = jnp.concatenate([d[2] for d in decoded]).reshape(len(frames), -1)
print(ba, len(raw), header.size, buf.typecode, [d[:2] for d in decoded], samples.flags.writeable)
mixed, arr.round(2)
---
gain = 2
---
frames.append(np.full(4, 7, np.int16))
---
frames = [f[::2] for f in frames]

### pa-functional-pipeline-of-accumulate-starmap-and-compose
def compose(*fs): return reduce(lambda f, g: lambda x: g(f(x)), fs)
xs = [jnp.array(v) for v in (0.2, -1.0, 3.0, 0.7)]
ops = {"sq": jnp.square, "half": partial(operator.mul, 0.5), "inc": lambda x: x + step}
step, names = 1.0, ["sq", "inc", "half"]
getter = operator.itemgetter(*names)
---
pipe = compose(*getter(ops))
ys = list(map(pipe, xs))
total, *mids = itertools.accumulate(ys, operator.add, initial=jnp.zeros(()))
pairs = list(itertools.starmap(jnp.hypot, zip(xs, ys)))
evens, odds = xs[::2], list(itertools.compress(xs, itertools.cycle([0, 1])))
biggest = max(zip(ys, names + ["none"]), key=lambda t: t[0].item())[1]
until = [float(v) for v in itertools.takewhile(lambda v: v < 3, mids)]
table = {k: f(xs[0]) for k, f in ops.items() if (r := f(xs[-1])) is not None and r.ndim == 0}
a, (b, *c), d = names[0], names, {**ops, "neg": operator.neg}["neg"](xs[1])
print(biggest, len(until), a, b, c, sorted(table), f"{d:.2f}", f"{ys[0]!s:.4}", divmod(7, len(ys)))
sum(pairs), mids[-1], jnp.array(until), table
---
step = 2.5
---
names[:] = ["inc", "inc", "sq"]; getter = operator.itemgetter(*names)
---
ops["sq"] = lambda x, n=3: x**n; xs.append(jnp.array(-0.1))

### pa-training-curves-in-a-figure-with-twin-axis-and-saved-bytes needs=matplotlib,optax tolerance=1e-3
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import optax
x = jnp.linspace(-1, 1, 16)
params = {"a": jnp.array(0.5), "b": jnp.array(-0.2)}
schedule = optax.exponential_decay(0.3, 2, 0.5)
style = {"color": "tab:red", "lw": 1.5}
def fit_loss(p): return jnp.mean((p["a"] * x**2 + p["b"] - jnp.cos(2 * x)) ** 2)
steps = 5
---
hist = {"loss": [], "lr": []}
for i in range(steps):
    value, g = jax.value_and_grad(fit_loss)(params)
    lr = schedule(i)
    params = jax.tree.map(lambda p, d: p - lr * d, params, g)
    hist["loss"].append(value)
    hist["lr"].append(lr)
fig, ax = plt.subplots(figsize=(2, 1.5), dpi=40)
(line,) = ax.plot(hist["loss"], label="loss", **style)
twin = ax.twinx()
twin.step(range(steps), hist["lr"], where="post")
ax.axvline(int(jnp.argmin(jnp.array(hist["loss"]))), ls=":")
ax.set(xlabel="step", title=f"final {hist['loss'][-1] < hist['loss'][0]}")
ax.legend()
buf = io.BytesIO()
fig.savefig(buf, format="png")
ydata = line.get_ydata()
print(len(ax.lines), ax.get_title(), line.get_color(), buf.getvalue()[:4], len(ydata))
plt.close(fig)
del fig, ax, twin, line, buf
params, hist["lr"][-1]
---
style["color"] = "k"; steps = 3
---
schedule = optax.constant_schedule(0.05)
---
x = x[::2]; params = {"a": 1.0, "b": 0.0}

### pa-frame-grouped-standardised-and-regressed-per-group needs=pandas
import pandas as pd
df = pd.DataFrame({"g": list("aabbbcc"), "x": np.arange(7.0), "y": [1.0, 2.0, 2.5, 4.0, 3.0, 6.0, 9.0]})
@jax.jit
def ols(x, y):
    A = jnp.stack([x, jnp.ones_like(x)], 1)
    return jnp.linalg.lstsq(A, y)[0]
min_rows = 2
---
df["z"] = df.groupby("g")["y"].transform(lambda s: (s - s.mean()) / s.std(ddof=0))
fits = {}
for name, part in df.groupby("g"):
    if len(part) < min_rows:
        continue
    slope, bias = ols(part["x"].to_numpy(np.float32), part["y"].to_numpy(np.float32))
    fits[name] = {"slope": float(slope), "bias": float(bias), "n": len(part)}
coefs = pd.DataFrame.from_dict(fits, orient="index")
df = df.assign(pred=lambda d: d["g"].map(coefs["slope"]) * d["x"] + d["g"].map(coefs["bias"]))
resid = jnp.asarray((df["y"] - df["pred"]).dropna().to_numpy(), jnp.float32)
wide = df.melt(id_vars="g", value_vars=["x", "y"]).pivot_table(index="g", columns="variable", values="value")
rms = jnp.sqrt(jnp.mean(resid**2))
print(coefs["n"].to_dict(), df.columns.tolist(), wide.loc["a"].tolist())
df = df.drop(columns=["pred"])
df.loc[len(df)] = ["a", float(len(df)), 5.0, np.nan]
bool(rms < 2.0), coefs.index.tolist()
---
min_rows = 3
---
df.loc[df["g"] == "c", "y"] *= -1
---
df = df.iloc[2:6].reset_index(drop=True); min_rows = 1

### pa-estimator-with-kfold-scores-and-clone needs=sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import KFold
class GDRegressor(RegressorMixin, BaseEstimator):
    def __init__(self, lr=0.1, steps=10, l2=0.0): self.lr, self.steps, self.l2 = lr, steps, l2
    def _loss(self, w, X, y): return jnp.mean((X @ w[:-1] + w[-1] - y) ** 2) + self.l2 * jnp.sum(w[:-1] ** 2)
    def fit(self, X, y):
        w, self.loss_curve_ = jnp.zeros(X.shape[1] + 1), []
        for _ in range(self.steps):
            value, g = jax.value_and_grad(self._loss)(w, X, y)
            w = w - self.lr * g
            self.loss_curve_.append(value)
        self.coef_, self.intercept_ = w[:-1], w[-1]
        return self
    def predict(self, X): return np.asarray(X @ self.coef_ + self.intercept_)
rng = np.random.default_rng(4)
X = rng.normal(size=(18, 2)).astype(np.float32)
y = (X @ [1.5, -0.5] + 0.2).astype(np.float32)
est, folds = GDRegressor(lr=0.2), 3
---
scores, fitted = [], []
for train, test in KFold(folds, shuffle=True, random_state=0).split(X):
    model = clone(est).fit(X[train], y[train])
    fitted.append(model)
    scores.append(model.score(X[test], y[test]))
best = fitted[int(np.argmax(scores))]
mean_coef = jnp.mean(jnp.stack([m.coef_ for m in fitted]), 0)
est.set_params(l2=est.l2 + 0.01)
late = [m.loss_curve_[-1] < m.loss_curve_[0] for m in fitted]
print(est, [bool(v) for v in late], best.get_params()["lr"], len(best.loss_curve_))
mean_coef, best.intercept_
---
est.steps = 4
---
y = y + X[:, 0] ** 2; folds = 2
---
est = GDRegressor(0.05, steps=3, l2=0.5); X = X[:12]; y = y[:12]

### pa-attributes-logged-delegated-and-checked-by-descriptors
class Positive:
    def __set_name__(self, owner, name): self.slot = f"_{name}"
    def __get__(self, obj, owner=None): return self if obj is None else getattr(obj, self.slot)
    def __set__(self, obj, value):
        if not (value > 0):
            raise ValueError(f"{self.slot[1:]} must be positive")
        obj.history.append(self.slot[1:])
        setattr(obj, self.slot, value)
class Kernel:
    length, var = Positive(), Positive()
    def __init__(self, length, var): self.history = []; self.length, self.var = length, var
    def __call__(self, a, b): return self.var * jnp.exp(-0.5 * ((a[:, None] - b) / self.length) ** 2)
class Proxy:
    __slots__ = ("_inner", "reads", "__weakref__")
    def __init__(self, inner): object.__setattr__(self, "_inner", inner); object.__setattr__(self, "reads", Counter())
    def __getattr__(self, name): self.reads[name] += 1; return getattr(self._inner, name)
    def __setattr__(self, name, value): self.reads[f"{name}="] += 1; setattr(self._inner, name, value)
    def __call__(self, *args): return self._inner(*args)
    def __contains__(self, name): return hasattr(self._inner, name)
k = Proxy(Kernel(0.5, 1.0))
x, noise = np.linspace(0, 1, 5, dtype=np.float32), 0.1
f = jnp.sin(6 * x)
---
K = k(x, x) + noise * jnp.eye(len(x))
L = jnp.linalg.cholesky(K)
alpha = jax.scipy.linalg.cho_solve((L, True), f)
logml = -0.5 * f @ alpha - jnp.log(jnp.diagonal(L)).sum()
k.length = k.length * 0.9
k.var += 0.25
try:
    k.var = -1.0
except ValueError as err:
    print(err)
mean = k(jnp.array([0.25, 0.75]), x) @ alpha
print(k.reads.most_common(), k.history[-3:], "length" in k, "nope" in k, type(k.var).__name__)
logml, mean, k.length
---
k.length = jnp.array(0.3)
---
k = Proxy(Kernel(1, 2)); noise = 0.5
---
x = x[:3]; f = f[:3]; k._inner.history.clear()

### pa-q-learning-gridworld-with-numpy-table-and-jax-softmax
class Grid:
    moves = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)])
    def __init__(self, n, rng): self.n, self.rng, self.pos = n, rng, np.zeros(2, int)
    def reset(self): self.pos[:] = 0; return tuple(self.pos)
    def step(self, a):
        if self.rng.random() < slip: a = self.rng.integers(4)
        self.pos += self.moves[a]
        np.clip(self.pos, 0, self.n - 1, out=self.pos)
        done = bool((self.pos == self.n - 1).all())
        return tuple(self.pos), (1.0 if done else -0.05), done
rng = np.random.default_rng(11)
env, Q, slip, episodes, horizon = Grid(3, rng), np.zeros((3, 3, 4)), 0.1, 3, 9
temps = jnp.array([1.0, 0.5, 0.25])
@jax.jit
def policy(q, t): return jax.nn.softmax(q / t)
---
returns = []
for ep in range(episodes):
    s, total = env.reset(), 0.0
    for t in range(horizon):
        p = np.asarray(policy(jnp.asarray(Q[s], jnp.float32), temps[min(ep, len(temps) - 1)]), np.float64)
        a = int(rng.choice(4, p=p / p.sum()))
        s2, r, done = env.step(a)
        Q[s][a] += 0.5 * (r + 0.9 * Q[s2].max() * (not done) - Q[s][a])
        s, total = s2, total + r
        if done:
            break
    else:
        total -= 1
    returns.append((t, round(total, 2)))
greedy = np.array(list(">v<^"))[Q.argmax(-1)]
value = jnp.max(jnp.asarray(Q, jnp.float32), -1)
print(returns, "".join(greedy.ravel()), env.pos.tolist(), sep="\n")
value, jnp.mean(policy(jnp.asarray(Q, jnp.float32), 1.0), (0, 1))
---
slip = 0.5
---
Q[...] = 0; episodes = 2
---
temps = temps[:1] * 0.1; env.n = 2

### pa-warnings-captured-and-promoted-around-a-solver
def cg(A, b, tol, maxiter):
    x, r = jnp.zeros_like(b), b
    p = r
    for k in range(maxiter):
        rs = jnp.vdot(r, r)
        if rs < tol:
            return x, k
        a = rs / jnp.vdot(p, A @ p)
        x, r = x + a * p, r - a * (A @ p)
        p = r + jnp.vdot(r, r) / rs * p
    warnings.warn(f"not converged in {maxiter} iterations", RuntimeWarning, stacklevel=2)
    return x, maxiter
A, b = jnp.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]]), jnp.array([1.0, 2.0, 3.0])
limits = [1, 5]
---
report = []
for n in limits:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x, k = cg(A, b, 1e-6, n)
    report.append((n, k, [f"{w.category.__name__}: {w.message}" for w in caught if issubclass(w.category, RuntimeWarning)]))
with warnings.catch_warnings():
    warnings.simplefilter("error", RuntimeWarning)
    try:
        cg(A, b, 0.0, 2)
        outcome = "fine"
    except RuntimeWarning as err:
        outcome = err.args[0]
with np.errstate(divide="ignore"):
    logs = np.log(np.asarray(jnp.maximum(jnp.abs(A @ x - b), 0.0) > 1e-3, np.float32))
print(*report, outcome, sep="\n")
x, np.isneginf(logs).sum()
---
limits.append(2)
---
A = A + 10 * jnp.eye(3)
---
b = jnp.zeros(3)

### pa-callbacks-from-inside-of-jit-fill-a-list-and-a-custom-rule-counts
seen, rule_calls = [], Counter()
def note(i, v): seen.append((int(i), round(float(v), 2)))
@jax.custom_vjp
def clip_grad(x): return x
def fwd(x): rule_calls["fwd"] += 1; return x, ()
def bwd(res, g): rule_calls["bwd"] += 1; return (jnp.clip(g, -limit, limit),)
clip_grad.defvjp(fwd, bwd)
limit = 0.5
def host_sort(v): return np.sort(v)[::-1].copy()
@jax.jit
def body(x):
    def loop(i, x):
        jax.debug.callback(lambda *args: note(*args), i, x.sum(), ordered=True)
        return x * 0.5 + 1
    x = lax.fori_loop(0, 3, loop, x)
    return jax.pure_callback(host_sort, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
x = jnp.array([3.0, -2.0, 0.5])
---
y = body(x)
jax.effects_barrier()
with jax.named_scope("outer"):
    f = jax.checkpoint(lambda x: jnp.sum(jnp.sin(clip_grad(x)) * 3))
    g = jax.grad(f)(x)
ok = np.all(np.diff(np.asarray(y)) <= 0)
print(seen[-3:], bool(ok), sorted(rule_calls))
if len(seen) > 9:
    seen.clear()
y, g
---
x = x * -1
---
def note(i, v): seen.append(f"{i}:{v:.1f}")
---
clip_grad.defvjp(fwd, lambda res, g: (g * 0,)); x = x + 0.25

### pa-archives-configs-and-templates-written-and-read-back
import configparser, tomllib
Path("exp.toml").write_text('title = "demo"\n[model]\nsizes = [3, 2]\nlr = 0.1\n[model.flags]\nbias = true\n')
tmpl = string.Template("$title after $n steps: $status")
seed = 0
---
conf = tomllib.loads(Path("exp.toml").read_text())
sizes, lr = conf["model"]["sizes"], conf["model"]["lr"]
w = jr.normal(jr.key(seed), sizes)
b = jnp.zeros(sizes[-1]) if conf["model"]["flags"]["bias"] else None
inputs = jnp.ones((2, sizes[0]))
out = inputs @ w * lr + (0 if b is None else b)
ini = configparser.ConfigParser()
ini["run"] = {"norm": f"{jnp.linalg.norm(out):.2f}", "shape": "x".join(map(str, out.shape)), "bias": str(b is not None)}
with open("run.ini", "w") as f:
    ini.write(f)
again = configparser.ConfigParser()
again.read("run.ini")
with gzip.open("w.json.gz", "wt") as f:
    json.dump({"w": np.asarray(w).round(2).tolist(), "meta": {"sizes": sizes}}, f)
with gzip.open("w.json.gz", "rt") as f:
    loaded = json.load(f, object_pairs_hook=OrderedDict)
close = jnp.allclose(jnp.array(loaded["w"]), w, atol=0.01)
os.remove("w.json.gz")
status = textwrap.shorten("all close and well within the tolerance" if close else "off", 20, placeholder="..")
print(tmpl.safe_substitute(title=conf["title"], n=len(sizes), status=status), dict(again["run"]), list(loaded))
out, again.getboolean("run", "bias")
---
Path("exp.toml").write_text('title = "wide"\n[model]\nsizes = [2, 4]\nlr = 2\n[model.flags]\nbias = false\n')
---
seed = 5; tmpl = string.Template("$title/$missing")
---
Path("exp.toml").write_text('title = "x"\n[model]\nsizes = [1, 1]\nlr = -1.5\nflags = {bias = true}\n')

### pa-linen-trainstate-with-metrics-field-and-jitted-eval-loop needs=flax,optax tolerance=2e-3
import flax.linen as nn, optax
from flax import struct
from flax.training import train_state
class MLP(nn.Module):
    feats: tuple
    drop: float = 0.1
    @nn.compact
    def __call__(self, x, train: bool):
        for i, f in enumerate(self.feats[:-1]):
            x = nn.relu(nn.Dense(f, name=f"d{i}")(x))
            x = nn.Dropout(self.drop, deterministic=not train)(x)
        return nn.Dense(self.feats[-1])(x)
@struct.dataclass
class Meter:
    total: jax.Array
    count: int = struct.field(default=0)
    def merge(self, v, n): return self.replace(total=self.total + v * n, count=self.count + n)
    @property
    def mean(self): return self.total / max(self.count, 1)
class TrainState(train_state.TrainState):
    key: jax.Array
    meter: Meter
model = MLP((6, 2))
xs, ys = jnp.linspace(-1, 1, 24).reshape(12, 2), jnp.arange(12) % 2
state = TrainState.create(apply_fn=model.apply, params=model.init(jr.key(0), xs, False)["params"], tx=optax.sgd(0.1, 0.9),
                          key=jr.key(1), meter=Meter(jnp.zeros(())))
@partial(jax.jit, static_argnames="train")
def forward(state, params, x, y, train):
    logits = state.apply_fn({"params": params}, x, train, rngs={"dropout": jr.fold_in(state.key, state.step)})
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), logits
bs = 4
---
for i in range(0, len(xs), bs):
    x, y = xs[i : i + bs], ys[i : i + bs]
    (loss, logits), grads = jax.value_and_grad(forward, argnums=1, has_aux=True)(state, state.params, x, y, train=True)
    state = state.apply_gradients(grads=grads, meter=state.meter.merge(loss, len(x)))
val, logits = forward(state, state.params, xs, ys, train=False)
acc = jnp.mean(logits.argmax(-1) == ys)
epoch_loss, state = state.meter.mean, state.replace(meter=Meter(jnp.zeros(())))
sizes = {k: v["kernel"].shape for k, v in state.params.items()}
print(sizes, int(state.step), type(state.opt_state[0]).__name__, state.meter.count)
val, epoch_loss, acc.dtype
---
bs = 6
---
ys = 1 - ys
---
state = state.replace(key=jr.key(9), tx=optax.adam(0.01), opt_state=optax.adam(0.01).init(state.params))

### pa-generic-protocol-buffer-and-class-getitem-with-typed-dict
from typing import TypedDict, runtime_checkable
T = TypeVar("T")
class Step(TypedDict, total=False):
    obs: Any
    reward: float
    info: dict
@runtime_checkable
class Scorer(Protocol):
    def score(self, step: Step) -> jax.Array: ...
class Ring(Generic[T]):
    def __init__(self, n): self.items: list[T | None] = [None] * n; self.at = 0
    def __len__(self): return min(self.at, len(self.items))
    def __iadd__(self, item): self.items[self.at % len(self.items)] = item; self.at += 1; return self
    def __getitem__(self, i): return [self[j] for j in range(*i.indices(len(self)))] if isinstance(i, slice) else self.items[range(len(self))[i]]
    def __setitem__(self, i, item): self.items[i] = item
    def __reversed__(self): return (self[i] for i in range(len(self) - 1, -1, -1))
class Discounted:
    gamma = 0.9
    def score(self, step): return jnp.sum(step["obs"]) * step.get("reward", 0.0) * self.gamma
class Bad:
    points = 3
ring: Ring[Step] = Ring[Step](4)
scorers = [Discounted(), Bad()]
obs = jnp.arange(3.0)
---
for i in range(3):
    ring += Step(obs=obs + i, reward=float(i) / 2, info={"i": i})
usable = [s for s in scorers if isinstance(s, Scorer)]
scores = [[s.score(st) for st in ring[:]] for s in usable]
newest = next(reversed(ring))
ring[0] = {**ring[0], "obs": ring[0]["obs"] * 2}
G = jnp.zeros(())
for st in reversed(ring):
    G = st["reward"] + usable[0].gamma * G
last = [st["info"]["i"] for st in ring[-2:]]
print(len(ring), ring.at, last, newest["info"], Ring[Step].__origin__ is Ring, ring.__orig_class__ == Ring[Step])
scores, G, newest["obs"]
---
Discounted.gamma = 0.5
---
scorers[1] = type("Late", (Discounted,), {"gamma": jnp.array(0.1)})(); scorers.reverse()
---
ring = Ring(2); obs = obs[:2]

### pa-fails-in-the-middle-of-an-epoch-with-a-half-updated-ledger
class Ledger:
    total = 0
    def __init__(self): self.rows, self.open = [], set()
    def __enter__(self): self.open.add(len(self.rows)); return self
    def __exit__(self, kind, *rest): self.rows.append(kind.__name__ if kind else "done")
    def book(self, v): self.rows.append(v); type(self).total += 1
ledger, buffer, bad = Ledger(), np.zeros(4), [2]
weights = {"w": jnp.ones(2)}
rows = jnp.arange(8.0).reshape(4, 2)
---
for i, row in enumerate(rows):
    with ledger as l:
        buffer[i] = i + 1
        weights["w"] = weights["w"] - 0.1 * jax.grad(lambda w: jnp.sum((row * w) ** 2) / 20)(weights["w"])
        l.book(jnp.sum(weights["w"]))
        if i in bad:
            raise KeyError(f"row {i}", {"norm": round(float(jnp.linalg.norm(row)), 1)})
print(len(ledger.rows), Ledger.total, buffer)
weights
---
bad.clear()
---
bad.append(0); rows = rows * 0.5
---
bad = {3: None}; ledger = Ledger()

### pa-mutable-mapping-over-parameters-with-views-and-dotted-keys
from collections.abc import MutableMapping
class Dotted(MutableMapping):
    def __init__(self, tree): self.tree, self.log = tree, []
    def _walk(self, key):
        *path, last = key.split(".")
        return reduce(lambda t, k: t[k], path, self.tree), last
    def __getitem__(self, key): t, k = self._walk(key); return t[k]
    def __setitem__(self, key, v): t, k = self._walk(key); self.log.append(key); t[k] = v
    def __delitem__(self, key): t, k = self._walk(key); del t[k]
    def __iter__(self):
        stack = [("", self.tree)]
        while stack:
            prefix, t = stack.pop()
            for k, v in t.items():
                if isinstance(v, dict): stack.append((f"{prefix}{k}.", v))
                else: yield f"{prefix}{k}"
    def __len__(self): return sum(1 for _ in self)
params = Dotted({"enc": {"w": jnp.ones((2, 2)), "b": jnp.zeros(2)}, "dec": {"w": jnp.eye(2)}, "scale": jnp.array(2.0)})
x = jnp.array([1.0, -1.0])
rate = 0.1
---
def apply(tree, x): return tree["scale"] * (jnp.tanh(x @ tree["enc"]["w"] + tree["enc"]["b"]) @ tree["dec"]["w"])
grads = Dotted(jax.grad(lambda t: jnp.sum(apply(t, x) ** 2 + x))(params.tree))
for key in params:
    params[key] = params[key] - rate * grads[key]
params.update({"enc.b": jnp.clip(params["enc.b"], -0.05, 0.05)})
removed = params.pop("extra.none", None) if "extra.none".split(".")[0] in params.tree else "nothing"
params.setdefault("step", 0)
params["step"] += 1
big = {k: v for k, v in params.items() if getattr(v, "ndim", 0) == 2}
print(len(params), sorted(params.keys()), removed, params.log[-3:], list(big) == [k for k in params if k.endswith("w")])
apply(params.tree, x), params["step"]
---
rate = 1.0
---
del params["step"]; params.log.clear()
---
params.tree["extra"] = {"none": jnp.ones(1)}; params = Dotted(params.tree)

### pa-array-protocols-and-ndarray-subclass-with-units
class Metres:
    def __init__(self, v): self.v = jnp.asarray(v)
    def __jax_array__(self): return self.v
    def __add__(self, o): return Metres(self.v + jnp.asarray(o))
    __radd__ = __add__
    def __format__(self, spec): return f"{float(self.v.sum()):{spec or '.1f'}} m"
class Tagged(np.ndarray):
    def __new__(cls, data, tag="raw"): obj = np.asarray(data).view(cls); obj.tag = tag; return obj
    def __array_finalize__(self, obj): self.tag = getattr(obj, "tag", "none")
class Lazy:
    calls = 0
    def __init__(self, n): self.n = n
    def __array__(self, dtype=None, copy=None): Lazy.calls += 1; return np.arange(self.n, dtype=dtype or np.float32)
d = Metres([1.0, 2.0, 4.0])
t = Tagged(np.array([3.0, 1.0, 2.0], np.float32), "sensor")
lazy = Lazy(3)
---
total = d + t
s = jnp.sin(total.v) * np.asarray(lazy)
part = t[1:] * 2
t[0] = float(jnp.max(d.v))
part += np.asarray(s[1:])
order = np.argsort(t)
mixed = jnp.concatenate([jnp.asarray(part), jnp.asarray(t[order])])
print(f"{total:.2f} {d}".replace(str(d), "d"), part.tag, t[order].tag, type(part).__name__, Lazy.calls, isinstance(np.asarray(t), Tagged))
mixed, s
---
d = Metres(jnp.zeros(3))
---
t.tag = "fixed"; t[:] = [1, 2, 3]
---
lazy.n = 1

### pa-compiled-ahead-of-time-and-inspected-programs-kept-in-a-table
table = {}
def model(w, x): return jnp.tanh(x @ w).sum(-1)
def compiled_for(fn, *args):
    key = tuple((a.shape, str(a.dtype)) for a in args)
    if key not in table:
        table[key] = jax.jit(fn).lower(*args).compile()
    return table[key]
w, x = jnp.eye(3), jnp.ones((2, 3))
shapes = jax.eval_shape(model, w, x)
---
out = compiled_for(model, w, x)(w, x)
again = compiled_for(model, w, x + 1)(w, x + 1)
jaxpr = jax.make_jaxpr(model)(w, x)
prims = [e.primitive.name for e in jaxpr.eqns]
struct_ = jax.eval_shape(jax.grad(lambda w: model(w, x).sum()), w)
cast = jax.tree.map(lambda a: a.astype(jnp.bfloat16), (w, x))
low = model(*cast)
print(len(table), prims, struct_, shapes.shape, low.dtype, jnp.result_type(low, out))
out, again, low.astype(jnp.float32)
---
x = x[:1]
---
def model(w, x): return jnp.cos(x @ w).sum(-1)
table.clear()
---
w = w.at[0, 1].set(0.5)

### pa-contextvars-steer-layers-and-tokens-reset-them
import contextvars
train_mode, scale = contextvars.ContextVar("train", default=False), contextvars.ContextVar("scale", default=1.0)
def layer(x): return x * scale.get() * (0.5 if train_mode.get() else 1.0)
x = jnp.arange(4.0)
trace = []
---
tok = scale.set(3.0)
a = layer(x)
ctx = contextvars.copy_context()
def inside(v):
    train_mode.set(True)
    trace.append((scale.get(), train_mode.get()))
    return layer(v)
b = ctx.run(inside, x)
scale.reset(tok)
c = layer(x)
print(train_mode.get(), scale.get(), trace[-1], ctx[train_mode], len(trace))
a, b, c
---
x = x + 1
---
train_mode.set(True)
---
scale.set(jnp.array(0.25))

### pa-decimal-fraction-and-dates-beside-arrays
import datetime as dt
from decimal import Decimal
from fractions import Fraction
prices = [Decimal("10.10"), Decimal("9.95"), Decimal("10.40")]
weights = [Fraction(1, 3), Fraction(1, 2), Fraction(1, 6)]
start, step = dt.date(2024, 2, 27), dt.timedelta(days=1)
returns = jnp.array([0.01, -0.02, 0.03])
---
total = sum(p * w.numerator / w.denominator for p, w in zip(prices, weights))
days = [start + i * step for i in range(len(returns))]
curve = jnp.cumprod(1 + returns) * float(total)
weighted = jnp.dot(jnp.array([float(w) for w in weights]), returns)
rows = [f"{d:%d.%m.} {float(c):6.2f}" for d, c in zip(days, curve)]
best = days[int(jnp.argmax(curve))]
prices.append(prices[-1] + Decimal(str(round(float(weighted), 2))))
span = (days[-1] - days[0]).days / max(len(days), 1)
print(*rows, best.isoformat(), total.quantize(Decimal("0.01")), sum(weights), sep="\n")
curve / span, weighted
---
weights = [Fraction(1), Fraction(2), Fraction(0)]
---
step = dt.timedelta(weeks=1); prices = prices[:3]
---
returns = -returns

### pa-ordered-dataclasses-initvars-and-a-merge-of-sorted-streams
@dataclass(order=True)
class Event:
    at: float
    name: str = field(compare=False)
    load: Any = field(compare=False, default=None, repr=False)
@dataclass
class Source:
    rate: float
    n: dataclasses.InitVar[int]
    events: list = field(default_factory=list, init=False)
    key: Any = field(default_factory=lambda: jr.key(3), kw_only=True)
    def __post_init__(self, n):
        gaps = jr.exponential(self.key, (n,)) / self.rate
        self.events = [Event(round(float(t), 3), f"r{self.rate:g}", g) for t, g in zip(jnp.cumsum(gaps), gaps)]
rates, until = [1.0, 2.5], 2.0
queue_len = np.zeros(3, int)
---
sources = [Source(r, 4, key=jr.key(i)) for i, r in enumerate(rates)]
merged = list(heapq.merge(*(s.events for s in sources)))
cut = bisect.bisect_left(merged, Event(until, ""))
by_name = {k: [e.at for e in g] for k, g in itertools.groupby(sorted(merged[:cut], key=lambda e: e.name), key=lambda e: e.name)}
loads = jnp.stack([e.load for e in merged])
mean = loads.mean() if cut else jnp.nan
queue_len[min(cut, 2)] += 1
first, *_, last = merged
swapped = replace(first, load=last.load * 2)
print(merged[0] <= merged[-1], cut, {k: len(v) for k, v in by_name.items()}, queue_len, first == swapped, last.name)
mean, swapped.load, loads[:cut].sum()
---
until = 0.1
---
rates.append(5.0)
---
until = math.inf; rates[:] = [0.5]

### pa-mutable-references-updated-inside-of-jit-and-read-outside
counter = jax.new_ref(jnp.zeros(3))
total = jax.new_ref(jnp.array(0.0))
@jax.jit
def tick(x):
    counter[...] += x
    total[...] = total[...] + jnp.sum(x)
    return counter[...] * 2
xs = [jnp.ones(3), jnp.arange(3.0)]
---
outs = [tick(x) for x in xs]
frozen = counter[...]
counter[0] = -1.0
print([o.shape for o in outs], frozen.shape)
outs[-1], frozen, total[...]
---
xs.append(jnp.full(3, 0.5))
---
total[...] = jnp.array(100.0)
---
xs = xs[:1]

### pa-sparse-steps-with-nditer-views-and-fancy-writes
grid = np.zeros((3, 4), np.float32)
index = np.array([[0, 1], [2, 3], [0, 1]])
@jax.jit
def diffuse(g): return g + 0.1 * (jnp.roll(g, 1, 0) + jnp.roll(g, -1, 0) - 2 * g)
sources = {(0, 0): 1.0, (2, 1): -0.5}
---
for cell, strength in sources.items():
    grid[cell] += strength
grid[tuple(index.T)] *= 2
np.subtract.at(grid, tuple(index.T), 0.25)
with np.nditer(grid, flags=["multi_index"], op_flags=["readwrite"]) as it:
    for v in it:
        if sum(it.multi_index) % 3 == 0:
            v[...] = v + 0.125
new = diffuse(grid)
grid[...] = new
flat = grid.reshape(-1)
flat[::5] = np.abs(flat[::5])
col = grid[:, 1]
col.sort()
rows = [row.sum() for row in grid]
memoryview(grid).cast("B").cast("f")[3] = 7.0
print(grid.base is None, flat.base is grid, np.may_share_memory(col, grid), grid[0, 3], type(rows[0]).__name__)
new.sum(), grid[1], jnp.asarray(rows)
---
sources[1, 1] = 3.0
---
grid = grid[:, ::-1].copy()
---
index = index[:1]

### pa-generators-with-return-values-and-cleanup-driving-a-solver
log = []
def solver(x):
    try:
        while True:
            order = yield jnp.sum(x**2)
            match order:
                case ("scale", k): x = x * k
                case ("shift", d): x = x + d
                case None: x = x * 0.9
                case "stop": return x
    finally:
        log.append("closed")
def outer(x):
    final = yield from solver(x)
    log.append(f"final {final.shape}")
    yield final
orders = [None, ("scale", 2.0), ("shift", -1.0), "stop"]
x = jnp.array([1.0, 2.0, 3.0])
---
gen = outer(x)
energies = [next(gen)]
for order in orders:
    energies.append(gen.send(order))
result = energies.pop()
broken = solver(x)
next(broken)
try:
    broken.throw(ValueError("no"))
except ValueError as err:
    log.append(str(err))
gen.close()
print(log[-4:], len(energies))
drop = [float(a) > float(b) for a, b in itertools.pairwise(energies)]
result, jnp.stack(energies), drop
---
orders.insert(1, ("shift", jnp.array([0.1, 0.2, 0.3])))
---
x = x * 0
---
log.clear(); orders = [("scale", 0.5), "stop"]

### pa-class-with-operators-for-dual-numbers-and-broadcast-rules
class Dual:
    __array_priority__ = 1000
    def __init__(self, a, b=0.0): self.a, self.b = a, b
    @staticmethod
    def of(v): return v if isinstance(v, Dual) else Dual(v)
    def __add__(self, o): o = Dual.of(o); return Dual(self.a + o.a, self.b + o.b)
    def __mul__(self, o): o = Dual.of(o); return Dual(self.a * o.a, self.a * o.b + self.b * o.a)
    def __rmul__(self, o): return self * o
    def __radd__(self, o): return self + o
    def __neg__(self): return -1 * self
    def __sub__(self, o): return self + (-Dual.of(o))
    def __pow__(self, n): return reduce(operator.mul, [self] * n)
    def __getitem__(self, i): return Dual(self.a[i], self.b[i])
    def __bool__(self): return bool(jnp.any(self.a != 0))
    def __matmul__(self, w): return Dual(self.a @ w, self.b @ w)
    def __repr__(self): return f"Dual<{jnp.shape(self.a)}>"
jtu.register_pytree_node(Dual, lambda d: ((d.a, d.b), None), lambda _, c: Dual(*c))
x, n = Dual(jnp.array([1.0, 2.0]), jnp.array([1.0, 0.0])), 3
w = np.array([[1.0, 0.5], [0.0, 2.0]], np.float32)
---
y = 2.0 * x**n - x + 1
z = (y @ w)[1]
f = jax.jit(lambda d: jax.tree.map(jnp.sin, d))(y)
chosen = z if z else Dual(jnp.zeros(()))
check = jax.jvp(lambda a: 2.0 * a**n - a + 1, (x.a,), (x.b,))
same = [bool(jnp.allclose(p, q)) for p, q in zip((y.a, y.b), check)]
acc = sum([x, y], Dual(0.0))
print(y, z, same, chosen is z, len(jax.tree.leaves(acc)))
y.b, z.a, acc
---
n = 2
---
x = Dual(jnp.zeros(2), jnp.ones(2))
---
w = w.T.copy(); x.b = x.b * 3
""",
)
