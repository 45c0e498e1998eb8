"""More cells of the world around arrays: devices and shardings, checkpoints, callbacks and contexts, module systems."""

from ..cell import written

PRELUDE = """
import os, sys, io, re, json, csv, math, time, pickle, random, logging, hashlib, copy, dataclasses, functools, itertools
import asyncio, collections, contextlib, contextvars, queue, threading, warnings
from collections import Counter, OrderedDict, defaultdict, deque
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any, Callable, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import io_callback
from jax.sharding import AxisType, Mesh, NamedSharding, SingleDeviceSharding, PartitionSpec as P
"""

CELLS = written(
    PRELUDE,
    r"""
### hc-data-parallel-epochs-with-sharded-eval devices=8
mesh = Mesh(np.array(jax.devices()), ("batch",))
sharded, replicated = NamedSharding(mesh, P("batch")), NamedSharding(mesh, P())
rng = np.random.default_rng(0)
X = rng.normal(size=(48, 3)).astype(np.float32)
y = (X @ np.array([1.0, -2.0, 0.5], np.float32) + 0.3).astype(np.float32)
params = jax.device_put({"w": jnp.zeros(3), "b": jnp.zeros(())}, replicated)
batch_size, lr, history = 16, 0.2, {"train": [], "val": []}
def predict(p, x): return x @ p["w"] + p["b"]
def mse(p, x, y): return jnp.mean((predict(p, x) - y) ** 2)
@jax.jit
def train_step(p, x, y, lr):
    loss, g = jax.value_and_grad(mse)(p, x, y)
    return jax.tree.map(lambda a, b: a - lr * b, p, g), loss
---
n_train = 32
for epoch in range(2):
    perm = np.random.default_rng(epoch).permutation(n_train)
    epoch_loss = 0.0
    for i in range(0, n_train, batch_size):
        idx = perm[i:i + batch_size]
        xb, yb = jax.device_put((X[idx], y[idx]), sharded)
        params, loss = train_step(params, xb, yb, lr)
        epoch_loss += loss * len(idx)
    history["train"].append(epoch_loss / n_train)
    val = mse(params, jax.device_put(X[n_train:], sharded), jax.device_put(y[n_train:], sharded))
    history["val"].append(val)
    print(f"epoch {epoch}: train {history['train'][-1]:.4f} val {val:.4f}")
for name, p in params.items():
    print(name, p.shape, p.sharding.spec, p.sharding.is_equivalent_to(replicated, p.ndim), p.committed)
xb.sharding, [d.id for d in xb.devices()] == list(range(8)), loss.sharding.device_set == params["w"].sharding.device_set
---
lr = 0.05
---
batch_size = 8; history["train"].clear()
---
params = jax.device_put(jax.tree.map(jnp.ones_like, params), replicated)

### hc-pad-uneven-batch-and-mask devices=8
mesh = jax.make_mesh((8,), ("data",), axis_types=(AxisType.Auto,))
split = NamedSharding(mesh, P("data"))
W = jax.device_put(jnp.arange(6.0).reshape(3, 2) / 10, NamedSharding(mesh, P()))
records = np.random.default_rng(1).normal(size=(21, 3)).astype(np.float32)
batch = 10
def pad_to(a, multiple, value=0):
    missing = -len(a) % multiple
    widths = [(0, missing)] + [(0, 0)] * (a.ndim - 1)
    return np.pad(a, widths, constant_values=value), np.arange(len(a) + missing) < len(a)
---
outputs, total, count = [], jnp.zeros(2), 0
for start in range(0, len(records), batch):
    chunk = records[start:start + batch]
    padded, mask = pad_to(chunk, mesh.size)
    xb, mb = jax.device_put(padded, split), jax.device_put(mask, split)
    logits = jnp.tanh(xb @ W)
    total = total + jnp.where(mb[:, None], logits, 0.0).sum(0)
    count += int(mask.sum())
    outputs.append(np.asarray(logits)[: len(chunk)])
    print(start, padded.shape, xb.addressable_shards[0].data.shape, logits.sharding.spec)
scores = np.concatenate(outputs)
mean = total / count
assert scores.shape == (len(records), 2)
assert np.allclose(scores.mean(0), mean, atol=1e-5)
mean, mb.sharding == split, mean.sharding
---
records = records[:9]
---
batch = 21
---
records = np.r_[records, records].astype(np.float16)

### hc-shard-map-ring-all-gather-by-ppermute devices=8
mesh = jax.make_mesh((8,), ("r",), axis_types=(AxisType.Auto,))
spec = P("r")
A = jnp.arange(64.0).reshape(16, 4)
B = jnp.eye(4) + 0.1
shift = 1
def ring_rowsum(block, n):
    def body(carry, _):
        acc, cur = carry
        cur = lax.ppermute(cur, "r", [(i, (i + shift) % n) for i in range(n)])
        return (acc + cur, cur), cur[0, 0]
    (acc, _), seen = lax.scan(body, (block, block), length=n - 1)
    return acc, seen[None]
---
placed = jax.device_put(A, NamedSharding(mesh, spec))
fn = jax.shard_map(lambda b: ring_rowsum(b, mesh.shape["r"]), mesh=mesh, in_specs=spec, out_specs=(spec, spec),
                   check_vma=False)
summed, seen = jax.jit(fn)(placed @ B)
ref = (A @ B).reshape(8, 2, 4).sum(0)
same = all(np.allclose(s.data, ref, atol=1e-3) for s in summed.addressable_shards)
order = seen[:, 0].tolist()
print("all shards equal the sum:", same)
per_device = {s.device.id: s.index[0].start for s in summed.addressable_shards}
print(per_device)
gathered = jax.device_get(summed)
type(gathered), gathered.shape, [round(v, 2) for v in order[:3]]
---
shift = 3
---
A = A[::-1]; B = jnp.eye(4)
---
spec = P("r", None)

### hc-pmap-style-replicas-stacked-and-averaged devices=8
n_dev = jax.local_device_count()
devices = jax.local_devices()
def replicate(tree):
    mesh = Mesh(np.array(devices), ("d",))
    return jax.tree.map(lambda x: jax.device_put(jnp.stack([x] * n_dev), NamedSharding(mesh, P("d"))), tree)
def unreplicate(tree): return jax.tree.map(lambda x: x[0], tree)
@partial(jax.pmap, axis_name="d")
def step(params, x, y):
    def loss_fn(p): return jnp.mean((x @ p["w"] - y) ** 2)
    loss, grads = jax.value_and_grad(loss_fn)(params)
    grads = lax.pmean(grads, "d")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), lax.pmean(loss, "d")
params = replicate({"w": jnp.zeros((2, 1))})
data = np.random.default_rng(2).normal(size=(n_dev, 4, 2)).astype(np.float32)
truth = np.array([[1.0], [-1.0]], np.float32)
steps = 3
---
losses = []
for i in range(steps):
    x = data * (1 + 0.1 * i)
    params, loss = step(params, x, x @ truth)
    losses.append(loss[0])
    if i == 0:
        print("loss", loss.shape, len(loss.sharding.device_set))
final = unreplicate(params)
spread = np.ptp(np.asarray(params["w"]), axis=0).max()
print([f"{l:.4f}" for l in losses], spread < 1e-6)
final["w"].ravel(), final["w"].devices() <= set(devices)
---
steps = 2
---
truth = -truth
---
params = replicate(jax.tree.map(lambda w: w * 0.5, unreplicate(params)))

### hc-set-mesh-explicit-types-printed devices=8
mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Explicit))
tokens = np.arange(32).reshape(8, 4) % 7
emb = np.linspace(-1, 1, 7 * 6, dtype=np.float32).reshape(7, 6)
out_dim = 4
---
with jax.set_mesh(mesh):
    table = jax.device_put(jnp.asarray(emb), P(None, "y"))
    ids = jax.device_put(jnp.asarray(tokens), P("x", None))
    h = table.at[ids].get(out_sharding=P("x", None, "y"))
    print("h:", jax.typeof(h))
    W = jax.device_put(jnp.ones((6, out_dim)) / 6, P("y", None))
    out = jnp.einsum("bth,ho->bto", h, W, out_sharding=P("x", None, None))
    print("out:", jax.typeof(out))
    pooled = out.mean(axis=1)
    act = jax.nn.gelu(pooled)
    print("pooled:", jax.typeof(pooled), pooled.sharding.spec)
    back = jax.reshard(act, P(None, None))
active = jax.sharding.get_abstract_mesh()
print(active.empty, back.sharding.is_fully_replicated)
back[0]
---
out_dim = 2
---
tokens = tokens[::2]
---
emb = emb.astype(np.float16)

### hc-in-out-shardings-with-donated-opt-state devices=8 needs=optax
import optax
mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
def shard(*spec): return NamedSharding(mesh, P(*spec))
param_sh = {"dense": {"kernel": shard(None, "model"), "bias": shard("model")}, "head": shard("model", None)}
params = {"dense": {"kernel": jnp.full((4, 8), 0.1), "bias": jnp.zeros(8)}, "head": jnp.ones((8, 1)) / 8}
params = jax.device_put(params, param_sh)
tx = optax.adam(1e-2)
opt_state = tx.init(params)
opt_sh = (opt_state[0]._replace(count=shard(), mu=param_sh, nu=param_sh), *opt_state[1:])
opt_state = jax.device_put(opt_state, opt_sh)
def loss_fn(p, batch):
    h = jax.nn.relu(batch["x"] @ p["dense"]["kernel"] + p["dense"]["bias"])
    return jnp.mean(((h @ p["head"])[:, 0] - batch["y"]) ** 2)
@partial(jax.jit, in_shardings=(param_sh, opt_sh, shard("data")), out_shardings=(param_sh, opt_sh, shard()),
         donate_argnums=(0, 1))
def update(p, s, batch):
    loss, g = jax.value_and_grad(loss_fn)(p, batch)
    u, s = tx.update(g, s, p)
    return optax.apply_updates(p, u), s, loss
seed, n_steps = 0, 3
---
old_kernel = params["dense"]["kernel"]
rng = np.random.default_rng(seed)
trace = []
for i in range(n_steps):
    x = rng.normal(size=(8, 4)).astype(np.float32)
    params, opt_state, loss = update(params, opt_state, {"x": x, "y": x.sum(1)})
    trace.append(float(loss))
print("donated:", old_kernel.is_deleted(), "| count", int(opt_state[0].count))
del old_kernel
specs = jax.tree.map(lambda a: a.sharding.spec, params)
bytes_per_device = sum(a.addressable_shards[0].data.nbytes for a in jax.tree.leaves(params))
jax.tree.map(lambda a, s: a.sharding == s, params, param_sh), bytes_per_device, specs["head"]
---
seed = 5
---
n_steps = 1
---
params["head"] = jax.device_put(-params["head"], param_sh["head"])

### hc-per-device-batches-then-global-array devices=8
mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("host", "chip"))
sharding = NamedSharding(mesh, P(("host", "chip")))
local_bs, feat = 2, 3
offsets = {d.id: 10 * i for i, d in enumerate(jax.devices())}
def read_local(device):
    base = np.arange(local_bs * feat, dtype=np.float32).reshape(local_bs, feat)
    return base + offsets[device.id]
---
pieces = [jax.device_put(read_local(d), d) for d in mesh.devices.flat]
shape = (local_bs * mesh.size, feat)
glob = jax.make_array_from_single_device_arrays(shape, sharding, pieces)
again = jax.make_array_from_callback(shape, sharding, lambda idx: np.asarray(glob)[idx])
assert (glob == again).all()
per_host = glob.reshape(4, -1, feat).mean(axis=1)
norm = glob / jnp.linalg.norm(glob, axis=1, keepdims=True).clip(1e-6)
layout = sharding.devices_indices_map(shape)
rows = {d.id: (ix[0].start, ix[0].stop) for d, ix in layout.items()}
for s in norm.addressable_shards[:2]:
    print(s.device.id, s.replica_id, s.index, s.data.shape)
print(rows, per_host.sharding.is_fully_addressable)
pieces[3].devices(), glob.is_fully_replicated, norm.sharding.spec
---
local_bs = 1
---
offsets.update({7: -100})
---
mesh = Mesh(np.array(jax.devices())[::-1].reshape(4, 2), ("host", "chip"))
sharding = NamedSharding(mesh, P(("host", "chip")))

### hc-place-layers-on-devices-pipeline devices=4
class Stage:
    def __init__(self, name, device, key, n):
        self.name, self.device, self.calls = name, device, 0
        self.w = jax.device_put(jax.random.normal(key, (n, n)) * 0.3, device)
    def __call__(self, x):
        self.calls += 1
        x = jax.device_put(x, self.device)
        return jnp.tanh(x @ self.w)
keys = jax.random.split(jax.random.key(0), 4)
stages = [Stage(f"s{i}", jax.devices()[i], k, 4) for i, k in enumerate(keys)]
micro = np.split(np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4), 4)
---
outs, placement = [], {}
for m, mb in enumerate(micro):
    h = mb
    for stage in stages:
        h = stage(h)
        placement.setdefault(stage.name, set()).update(d.id for d in h.devices())
    outs.append(h)
y = jnp.concatenate(outs)
loss = jnp.mean(y ** 2)
for s in stages:
    s.w = s.w * 0.9
print(placement, [s.calls for s in stages])
loss.devices() == {stages[-1].device}, y.committed, stages[0].w.devices()
---
stages = stages[:2]
---
stages.reverse()
---
stages[0].device = jax.devices()[3]; stages[0].w = jax.device_put(stages[0].w, jax.devices()[3])

### hc-sharding-rules-table-by-regex devices=8
mesh = jax.make_mesh((2, 4), ("dp", "tp"), axis_types=(AxisType.Auto,) * 2)
RULES = [(r"attn/(q|k|v)$", P(None, "tp")), (r"attn/o$", P("tp", None)), (r"mlp/up", P(None, "tp")),
         (r"mlp/down", P("tp", None)), (r"norm", P())]
def init(key, d=8, ff=16):
    ks = jax.random.split(key, 6)
    return {"attn": {n: jax.random.normal(k, (d, d)) / d for n, k in zip("qkvo", ks)},
            "mlp": {"up": jax.random.normal(ks[4], (d, ff)) / d, "down": jax.random.normal(ks[5], (ff, d)) / ff},
            "norm": {"scale": jnp.ones(d)}}
def name_of(path): return "/".join(p.key for p in path)
def match(path, leaf):
    for pattern, spec in RULES:
        if re.search(pattern, name_of(path)):
            return spec
    raise ValueError(f"no rule for {name_of(path)}")
params = init(jax.random.key(1))
---
specs = jax.tree_util.tree_map_with_path(match, params)
shardings = jax.tree.map(lambda s: NamedSharding(mesh, s), specs, is_leaf=lambda s: isinstance(s, P))
placed = jax.device_put(params, shardings)
x = jax.device_put(jnp.linspace(-1, 1, 32).reshape(4, 8), NamedSharding(mesh, P("dp", None)))
def block(p, x):
    h = x * p["norm"]["scale"] / (jnp.std(x, -1, keepdims=True) + 1e-5)
    q, k, v = (h @ p["attn"][n] for n in "qkv")
    a = jax.nn.softmax(q @ k.T / 8 ** 0.5) @ v @ p["attn"]["o"]
    a = lax.with_sharding_constraint(a, NamedSharding(mesh, P("dp", None)))
    return x + a + jax.nn.silu(h @ p["mlp"]["up"]) @ p["mlp"]["down"]
out = jax.jit(block)(placed, x)
table = []
for path, leaf in jax.tree_util.tree_leaves_with_path(placed):
    table.append((name_of(path), str(leaf.sharding.spec), leaf.sharding.shard_shape(leaf.shape)))
for row in table:
    print("{:<12} {:<24} {}".format(*map(str, row)))
out.sharding.spec, jnp.allclose(out, block(params, np.asarray(x)), atol=1e-4)
---
RULES.insert(0, (r"attn/q$", P()))
---
params["bias"] = jnp.zeros(3)
---
del params["bias"]; RULES[-2] = (r"mlp/down", P())

### hc-ensemble-member-per-device-vmap-then-vote devices=8
mesh = jax.make_mesh((8,), ("member",), axis_types=(AxisType.Auto,))
member = NamedSharding(mesh, P("member"))
class Ensemble(NamedTuple):
    w: jax.Array
    b: jax.Array
    step: int
def init_one(key):
    kw, kb = jax.random.split(key)
    return jax.random.normal(kw, (2, 3)), jax.random.normal(kb, (3,)) * 0.1
pts = jnp.array(np.random.default_rng(7).normal(size=(12, 2)), jnp.float32)
labels = (pts[:, 0] > 0).astype(jnp.int32) + (pts[:, 1] > 0.5)
ens, seed = None, 0
---
if ens is None:
    keys = jax.device_put(jax.random.split(jax.random.PRNGKey(seed), 8), member)
    ens = Ensemble(*jax.vmap(init_one)(keys), step=0)
    print("new ensemble", ens.w.shape)
def loss(w, b):
    lp = jax.nn.log_softmax(pts @ w + b)
    return -lp[jnp.arange(len(labels)), labels].mean()
losses, (gw, gb) = jax.vmap(jax.value_and_grad(loss, argnums=(0, 1)))(ens.w, ens.b)
ens = ens._replace(w=ens.w - 0.5 * gw, b=ens.b - 0.5 * gb, step=ens.step + 1)
votes = jax.vmap(lambda w, b: jnp.argmax(pts @ w + b, -1))(ens.w, ens.b)
majority = jax.vmap(lambda v: jnp.bincount(v, length=3).argmax(), in_axes=1)(votes)
acc = (majority == labels).mean()
best = int(jnp.argmin(losses))
champion = jax.tree.map(lambda a: a[best] if isinstance(a, jax.Array) else a, ens)
print(f"step {ens.step} best member {best} acc {acc:.2f}", votes.sharding.spec)
champion.w.shape, ens.b.sharding.is_equivalent_to(member, 2), type(champion).__name__
---
labels = 2 - labels
---
ens, seed = None, 3
---
ens = ens._replace(step=100)

### hc-move-between-meshes-and-gather devices=8
big = jax.make_mesh((8,), ("i",), axis_types=(AxisType.Auto,))
small = Mesh(np.array(jax.devices()[:2]), ("i",))
acts = {"h": jnp.arange(16.0).reshape(8, 2), "mask": jnp.arange(8) % 3 == 0, "n": 5, "tag": "layer0"}
cpu0 = jax.devices()[0]
def to(tree, mesh, *spec):
    s = NamedSharding(mesh, P(*spec))
    return {k: jax.device_put(v, s) if isinstance(v, jax.Array) else v for k, v in tree.items()}
---
on_big = to(acts, big, "i")
weighted = jnp.where(on_big["mask"][:, None], on_big["h"] * on_big["n"], 0)
on_small = to({**on_big, "w": weighted}, small, "i")
diff = on_small["w"] - on_small["h"]
local = jax.device_put(diff, cpu0)
host = jax.device_get({"diff": diff, "local": local.sum()})
moved = jax.device_put(weighted, SingleDeviceSharding(jax.devices()[5]))
try:
    bad = moved + on_small["h"]
except ValueError as e:
    print("refused:", str(e).split(" ")[0], type(e).__name__)
    bad = None
for name, a in (("weighted", weighted), ("diff", diff), ("local", local), ("moved", moved)):
    print(name, len(a.sharding.device_set), type(a.sharding).__name__, a.committed)
print(sorted(host), type(host["local"]).__name__, on_small["tag"], bad)
jax.debug.visualize_array_sharding(diff[:, 0]) if False else diff.sharding.mesh.shape
---
acts["n"] = 2
---
small = Mesh(np.array(jax.devices()[2:6]), ("i",))
---
acts["mask"] = ~acts["mask"]; cpu0 = jax.devices()[7]

### hc-fsdp-linear-class-with-gather-in-forward devices=8
mesh = jax.make_mesh((8,), ("fsdp",), axis_types=(AxisType.Auto,))
class ShardedLinear:
    registry = []
    def __init__(self, name, rows, cols, key):
        self.name, self.shape = name, (rows, cols)
        flat = jax.random.normal(key, (rows * cols,)) / rows ** 0.5
        pad = -flat.size % mesh.size
        self.flat = jax.device_put(jnp.pad(flat, (0, pad)), NamedSharding(mesh, P("fsdp")))
        ShardedLinear.registry.append(self)
    @property
    def full(self):
        return jax.lax.with_sharding_constraint(self.flat, NamedSharding(mesh, P()))[: self.shape[0] * self.shape[1]]
    def __call__(self, x): return x @ self.full.reshape(self.shape)
    def __repr__(self): return f"<{self.name} {self.flat.sharding.shard_shape(self.flat.shape)}>"
k1, k2 = jax.random.split(jax.random.key(9))
net = [ShardedLinear("up", 3, 5, k1), ShardedLinear("down", 5, 2, k2)]
x = jnp.linspace(0, 1, 12).reshape(4, 3)
lr = 0.1
---
def forward(flats, x):
    for layer, flat in zip(net, flats):
        saved, layer.flat = layer.flat, flat
        x = layer(x) if layer is net[-1] else jax.nn.relu(layer(x))
        layer.flat = saved
    return x
def loss_fn(flats): return jnp.mean((forward(flats, x) - 1.0) ** 2)
flats = [l.flat for l in net]
loss, grads = jax.value_and_grad(loss_fn)(flats)
for layer, g in zip(ShardedLinear.registry, grads):
    layer.flat = layer.flat - lr * g
print(net, f"{loss:.4f}")
n_params = sum(l.shape[0] * l.shape[1] for l in net)
norms = {l.name: jnp.linalg.norm(l.full) for l in net}
n_params, grads[0].sharding.spec, norms["up"].sharding.is_fully_replicated, net[0].flat is flats[0]
---
lr = 0.5
---
net[0].flat = net[0].flat.at[0].set(3.0)
---
x = jnp.ones((2, 3))

### hc-orbax-manager-keep-best-and-resume needs=orbax.checkpoint
import orbax.checkpoint as ocp
root = Path("runs/exp1").absolute()
data = np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)
targets = data.sum(1)
options = ocp.CheckpointManagerOptions(max_to_keep=2, best_fn=lambda m: m["val"], best_mode="min")
n_epochs, lr = 3, 0.1
def loss_fn(w): return jnp.mean((data @ w - targets) ** 2)
---
with ocp.CheckpointManager(root, options=options) as manager:
    template = {"w": jnp.zeros(3), "m": jnp.zeros(3)}
    last = manager.latest_step()
    if last is None:
        state = template
        print("fresh start")
    else:
        state = manager.restore(last, args=ocp.args.StandardRestore(template))
        print("restored step", last)
    first = 0 if last is None else last + 1
    for epoch in range(first, first + n_epochs):
        val, g = jax.value_and_grad(loss_fn)(state["w"])
        m = jax.tree.map(lambda m, g: 0.5 * m + g, state["m"], g)
        state = {"w": state["w"] - lr * m, "m": m}
        manager.save(epoch, args=ocp.args.StandardSave(state), metrics={"val": float(val)})
    manager.wait_until_finished()
    kept = sorted(manager.all_steps())
    best = manager.best_step()
print(kept, best, [str(v.dtype) for v in jax.tree.leaves(state)])
state["w"].round(3)
---
lr = 0.9
---
n_epochs = 1; lr = 0.01

### hc-early-stopping-object-keeps-best-params
class EarlyStopping:
    def __init__(self, patience=2, min_delta=1e-3):
        self.patience, self.min_delta = patience, min_delta
        self.best, self.best_params, self.wait, self.stopped = math.inf, None, 0, False
    def update(self, value, params):
        if value < self.best - self.min_delta:
            self.best, self.wait = value, 0
            self.best_params = jax.tree.map(lambda x: x, params)
        else:
            self.wait += 1
            self.stopped = self.wait >= self.patience
        return self.stopped
rng = np.random.default_rng(3)
Xtr, Xva = rng.normal(size=(8, 4)).astype(np.float32), rng.normal(size=(6, 4)).astype(np.float32)
w_true = np.array([1, 0, -1, 2], np.float32)
ytr, yva = Xtr @ w_true + 0.5, Xva @ w_true
cfg = {"lr": 0.25, "max_epochs": 12, "patience": 2, "file": "best.npz"}
params = {"w": jnp.zeros(4), "b": jnp.zeros(())}
def mse(p, x, y): return jnp.mean((x @ p["w"] + p["b"] - y) ** 2)
---
stopper = EarlyStopping(cfg["patience"])
curve = []
for epoch in range(cfg["max_epochs"]):
    grads = jax.grad(mse)(params, Xtr, ytr)
    params = jax.tree.map(lambda p, g: p - cfg["lr"] * g, params, grads)
    val = float(mse(params, Xva, yva))
    curve.append(round(val, 3))
    if stopper.update(val, params):
        print(f"stopping at epoch {epoch}, best {stopper.best:.3f}")
        break
else:
    print("ran all epochs")
np.savez(cfg["file"], **stopper.best_params, epoch=epoch)
with np.load(cfg["file"]) as z:
    restored = {k: jnp.asarray(z[k]) for k in ("w", "b")}
    assert z["epoch"] == epoch
match = jax.tree.map(lambda a, b: bool((a == b).all()), restored, stopper.best_params)
is_last = stopper.best_params["w"] is params["w"]
match, is_last, stopper.wait, len(curve)
---
cfg["lr"] = 0.6
---
cfg["patience"], params = 1, {"w": jnp.ones(4), "b": jnp.ones(())}
---
cfg["max_epochs"] = 2

### hc-json-config-hash-names-the-run-folder
base = {"model": {"width": 4, "act": "tanh"}, "opt": {"lr": 0.1, "steps": 3}, "seed": 0}
override = {}
acts = {"tanh": jnp.tanh, "relu": jax.nn.relu, "sin": jnp.sin}
def merged(a, b):
    out = dict(a)
    for k, v in b.items():
        out[k] = merged(a[k], v) if isinstance(v, dict) else v
    return out
---
cfg = merged(base, override)
run_id = hashlib.sha1(json.dumps(cfg, sort_keys=True).encode()).hexdigest()[:8]
folder = Path("outputs") / run_id
if (folder / "result.json").exists():
    result = json.loads((folder / "result.json").read_text())
    print("cached", run_id)
else:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(cfg, indent=2))
    key = jax.random.PRNGKey(cfg["seed"])
    W = jax.random.normal(key, (2, cfg["model"]["width"]))
    act = acts[cfg["model"]["act"]]
    x = jnp.array([[0.5, -1.0], [1.0, 2.0]])
    for _ in range(cfg["opt"]["steps"]):
        W = W - cfg["opt"]["lr"] * jax.grad(lambda W: jnp.sum(act(x @ W) ** 2))(W)
    result = {"loss": round(float(jnp.sum(act(x @ W) ** 2)), 4), "shape": list(W.shape)}
    np.save(folder / "W.npy", W)
    (folder / "result.json").write_text(json.dumps(result))
W = jnp.load(folder / "W.npy")
W.sum(axis=0), sorted(p.name for p in folder.iterdir()), len(os.listdir("outputs"))
---
override = {"model": {"act": "sin"}}
---
override["opt"] = {"lr": 0.01, "steps": 1}
---
override = {"model": {"act": "gelu"}}

### hc-download-simulated-with-checksum-and-parts
remote = Path("remote"); remote.mkdir()
for i in range(3):
    np.save(remote / f"part{i}.npy", np.arange(6, dtype=np.float32).reshape(2, 3) + i)
sums = {p.name: hashlib.md5(p.read_bytes()).hexdigest() for p in sorted(remote.iterdir())}
local = Path("local")
def fetch(name, retries=2):
    dest = local / name
    for attempt in range(retries):
        if dest.exists() and hashlib.md5(dest.read_bytes()).hexdigest() == sums[name]:
            return dest
        print(f"downloading {name} (attempt {attempt + 1})")
        dest.parent.mkdir(exist_ok=True)
        dest.write_bytes((remote / name).read_bytes())
    if hashlib.md5(dest.read_bytes()).hexdigest() != sums[name]:
        raise OSError(f"checksum of {name} does not match")
    return dest
standardise = True
---
parts = [np.load(fetch(name)) for name in sums]
X = jnp.concatenate(parts)
if standardise:
    X = (X - X.mean(0)) / (X.std(0) + 1e-8)
cov = X.T @ X / len(X)
eigval, eigvec = jnp.linalg.eigh(cov)
explained = eigval[::-1] / eigval.sum()
k = int(jnp.searchsorted(jnp.cumsum(explained), 0.95)) + 1
rank = int((eigval > 1e-4).sum())
energy = jnp.abs(X).sum()
print(X.shape, k, rank, standardise)
energy
---
(local / "part1.npy").write_bytes(b"broken")
---
standardise = False
---
np.save(remote / "part2.npy", np.zeros((1, 3), np.float32))
---
sums["part2.npy"] = hashlib.md5((remote / "part2.npy").read_bytes()).hexdigest()

### hc-dataset-cache-decorator-on-disk
CACHE = Path(".cache")
calls = Counter()
def disk_cached(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        tag = hashlib.md5(repr((fn.__name__, args, sorted(kwargs.items()))).encode()).hexdigest()[:6]
        path = CACHE / f"{fn.__name__}-{tag}.pkl"
        if path.exists():
            calls["hit"] += 1
            return pickle.loads(path.read_bytes())
        calls["miss"] += 1
        value = fn(*args, **kwargs)
        CACHE.mkdir(exist_ok=True)
        path.write_bytes(pickle.dumps(jax.device_get(value)))
        return value
    return wrapper
@disk_cached
def two_moons(n, noise=0.1, seed=0):
    k1, k2 = jax.random.split(jax.random.key(seed))
    t = jnp.linspace(0, jnp.pi, n)
    a = jnp.stack([jnp.cos(t), jnp.sin(t)], 1)
    pts = jnp.concatenate([a, jnp.array([1.0, 0.5]) - a]) + noise * jax.random.normal(k1, (2 * n, 2))
    return {"x": pts, "y": jnp.repeat(jnp.arange(2), n)}
noise, n = 0.1, 6
---
train, test = two_moons(n, noise=noise), two_moons(n // 2, noise=noise, seed=1)
kinds = {k: type(v).__name__ for k, v in train.items()}
dist = jnp.sqrt(jnp.sum((test["x"][:, None] - train["x"][None]) ** 2, -1))
nearest = jnp.argsort(dist, axis=1)[:, :3]
vote = (jnp.asarray(train["y"])[nearest].mean(1) > 0.5).astype(jnp.int32)
acc = (vote == test["y"]).mean()
confusion = jnp.zeros((2, 2), jnp.int32).at[test["y"], vote].add(1)
print(dict(calls), kinds, len(list(CACHE.iterdir())))
acc, confusion
---
noise = 0.4
---
for p in CACHE.glob("*.pkl"): p.unlink()
---
n = 4; calls.clear()

### hc-csv-logger-context-rows-flush-and-best-row
class CSVLogger:
    def __init__(self, path, fields):
        self.path, self.fields, self.rows = path, fields, []
    def __enter__(self):
        new = not os.path.exists(self.path)
        self.fh = open(self.path, "a", newline="")
        self.writer = csv.DictWriter(self.fh, self.fields)
        if new:
            self.writer.writeheader()
        return self
    def log(self, **row):
        row = {k: f"{float(v):.3f}" if isinstance(v, (jax.Array, float)) else v for k, v in row.items()}
        self.rows.append(row)
        self.writer.writerow(row)
    def __exit__(self, kind, err, tb):
        self.fh.close()
        print("closed after", len(self.rows), "rows", kind.__name__ if kind else "")
        return kind is KeyboardInterrupt
theta = jnp.array([1.5, -0.5])
interrupt_at = None
def rosenbrock(t): return (1 - t[0]) ** 2 + 10 * (t[1] - t[0] ** 2) ** 2
---
with CSVLogger("log.csv", ["step", "f", "gnorm", "note"]) as logger:
    for step in range(4):
        f, g = jax.value_and_grad(rosenbrock)(theta)
        gnorm = jnp.sqrt(jnp.vdot(g, g))
        if step == interrupt_at:
            raise KeyboardInterrupt
        theta = theta - 0.01 * g / jnp.maximum(1.0, gnorm / 10)
        logger.log(step=step, f=f, gnorm=gnorm, note="big" if gnorm > 20 else "")
with open("log.csv") as fh:
    rows = list(csv.DictReader(fh))
best = min(rows, key=lambda r: float(r["f"]))
finished = step == 3
len(rows), best["step"], finished, theta
---
interrupt_at = 2
---
theta = jnp.array([0.9, 0.8]); interrupt_at = 0
---
interrupt_at = None

### hc-figure-data-saved-next-to-png needs=matplotlib
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
omega, n_pts = 2.0, 40
fig_dir = Path("figs")
def decay(t, gamma): return jnp.exp(-gamma * t) * jnp.cos(omega * t)
gammas = [0.1, 0.5]
---
fig_dir.mkdir(exist_ok=True)
t = jnp.linspace(0, 6, n_pts)
curves = {}
fig, ax = plt.subplots(figsize=(3, 2))
for gamma in gammas:
    y = jax.vmap(lambda s: decay(s, gamma))(t)
    slope = jax.vmap(jax.grad(decay), in_axes=(0, None))(t, gamma)
    line, = ax.plot(t, y, label=f"$\\gamma={gamma}$")
    curves[gamma] = (y, slope)
    turning = int((jnp.diff(jnp.sign(slope)) != 0).sum())
    ax.axhline(float(y.min()), ls=":", c=line.get_color())
    print(gamma, turning, line.get_xydata().shape)
ax.set(xlabel="t", ylabel="x(t)"); ax.legend()
table = np.column_stack([t, *(y for y, _ in curves.values())])
np.savetxt(fig_dir / "decay.txt", table, fmt="%.3f", header=" ".join(["t", *map(str, gammas)]))
plt.close(fig)
labels = [h.get_text() for h in ax.get_legend().get_texts()]
back = np.loadtxt(fig_dir / "decay.txt")
labels, back.shape, len(ax.lines), curves[gammas[-1]][0][:3]
---
gammas.append(1.0)
---
omega = 0.5
---
n_pts = 10; gammas = (0.2,)

### hc-npz-tree-flattened-paths-round-trip
model = {"enc": [{"w": jnp.ones((2, 3)), "b": jnp.zeros(3)}, {"w": jnp.eye(3), "b": jnp.ones(3, jnp.bfloat16)}],
         "step": jnp.array(3, jnp.int32), "scale": 0.5, "frozen": None}
path = "tree.npz"
def flat(tree):
    return {jax.tree_util.keystr(p): leaf for p, leaf in jax.tree_util.tree_leaves_with_path(tree)}
def save(path, tree):
    out = {}
    for k, v in flat(tree).items():
        a = np.asarray(v)
        out[k] = a.view(np.uint16) if a.dtype == jnp.bfloat16 else a
    np.savez(path, **out)
def load(path, like):
    with np.load(path) as z:
        def get(p, leaf):
            a = z[jax.tree_util.keystr(p)]
            if isinstance(leaf, float):
                return float(a)
            return jnp.asarray(a.view(jnp.bfloat16) if leaf.dtype == jnp.bfloat16 else a)
        return jax.tree_util.tree_map_with_path(get, like)
---
model["step"] = model["step"] + 1
model["enc"] = jax.tree.map(lambda a: a * model["scale"], model["enc"])
save(path, model)
loaded = load(path, model)
diffs = jax.tree.map(lambda a, b: float(abs(a - b).max()) if isinstance(a, jax.Array) else abs(a - b), model, loaded)
kinds = {k: getattr(v, "dtype", type(v).__name__) for k, v in flat(loaded).items()}
ok = jax.tree.all(jax.tree.map(lambda d: d == 0, diffs))
x = jnp.array([1.0, 2.0])
h = x
for layer in loaded["enc"]:
    h = h @ layer["w"] + layer["b"]
print(ok, len(kinds), sorted(set(map(str, kinds.values()))))
h, h.dtype, loaded["frozen"], jax.tree.structure(loaded) == jax.tree.structure(model)
---
model["scale"] = 2.0
---
model["enc"].append({"w": jnp.ones((3, 1), jnp.bfloat16), "b": jnp.zeros(1)})
---
model["step"] = 7

### hc-resume-trainer-with-rng-and-shuffle-state
class Trainer:
    def __init__(self, workdir, seed=0):
        self.workdir = Path(workdir)
        self.workdir.mkdir(exist_ok=True)
        self.shuffler = np.random.default_rng(seed)
        self.key = jax.random.key(seed)
        self.params, self.step = jnp.zeros(3), 0
        self.log = []
    def next_key(self):
        self.key, sub = jax.random.split(self.key)
        return sub
    def save(self):
        blob = {"params": np.asarray(self.params), "step": self.step, "key": np.asarray(jax.random.key_data(self.key)),
                "shuffler": self.shuffler.bit_generator.state, "log": self.log[-4:]}
        with open(self.workdir / "latest.pkl", "wb") as fh:
            pickle.dump(blob, fh)
    def restore(self):
        f = self.workdir / "latest.pkl"
        if not f.exists():
            return False
        blob = pickle.loads(f.read_bytes())
        self.params, self.step, self.log = jnp.asarray(blob["params"]), blob["step"], blob["log"]
        self.key = jax.random.wrap_key_data(jnp.asarray(blob["key"]))
        self.shuffler.bit_generator.state = blob["shuffler"]
        return True
data = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
dropout, epochs = 0.25, 2
---
trainer = Trainer("wd")
resumed = trainer.restore()
for _ in range(epochs):
    for batch in np.split(data[trainer.shuffler.permutation(len(data))], 2):
        keep = jax.random.bernoulli(trainer.next_key(), 1 - dropout, batch.shape)
        def loss_fn(p):
            xb = jnp.where(keep, batch / (1 - dropout), 0.0)
            return jnp.mean((xb @ p - xb.sum(1)) ** 2)
        loss, grad = jax.value_and_grad(loss_fn)(trainer.params)
        trainer.params = trainer.params - 0.3 * grad
        trainer.step += 1
        trainer.log.append((trainer.step, round(float(loss), 3)))
trainer.save()
print("resumed" if resumed else "new", trainer.step, len(trainer.log), trainer.log[-1][0])
trainer.params, jax.random.key_data(trainer.key)
---
dropout = 0.5
---
(Path("wd") / "latest.pkl").unlink()
---
dropout, epochs = 0, 1

### hc-atomic-save-fails-half-way-old-kept
class Diverged(RuntimeError): pass
w = jnp.array([1.0, -1.0, 2.0])
lr = 0.1
store = {"ckpt": Path("model.npz"), "saved": 0}
@contextlib.contextmanager
def atomic(path):
    tmp = path.with_suffix(".tmp.npz")
    try:
        yield tmp
        os.replace(tmp, path)
        store["saved"] += 1
    except Diverged as err:
        print("not saved:", err)
        raise
    finally:
        tmp.unlink(missing_ok=True)
def energy(w): return jnp.sum(w ** 4) / 4
---
before = np.load(store["ckpt"])["w"].tolist() if store["ckpt"].exists() else None
velocity = jnp.zeros_like(w)
with atomic(store["ckpt"]) as tmp:
    for i in range(5):
        velocity = 0.5 * velocity - lr * jax.grad(energy)(w)
        w = w + velocity
        np.savez(tmp, w=w, i=i)
        if not jnp.isfinite(w).all() or jnp.abs(w).max() > 1e3:
            raise Diverged(f"at iteration {i}")
after = jnp.asarray(np.load(store["ckpt"])["w"])
changed = before is None or not np.allclose(before, after)
print("saved", store["saved"], sorted(os.listdir(".")), changed)
after - w, energy(after) < 10
---
lr = 5.0
---
lr = 0.05
---
w = jnp.full(3, 100.0)

### hc-producer-thread-with-sentinel-and-stats
class Prefetcher:
    def __init__(self, source, size=2):
        self.source, self.q, self.produced = source, queue.Queue(size), 0
    def _work(self):
        try:
            for item in self.source:
                self.q.put(jax.device_put(item))
                self.produced += 1
        except Exception as err:
            self.q.put(err)
        finally:
            self.q.put(None)
    def __iter__(self):
        worker = threading.Thread(target=self._work, name="prefetch")
        worker.start()
        while (item := self.q.get()) is not None:
            if isinstance(item, Exception):
                worker.join()
                raise item
            yield item
        worker.join()
chunks = [np.full((2, 3), i, np.float32) for i in range(4)]
def source():
    for c in chunks:
        if np.isnan(c).any():
            raise ValueError("nan in chunk")
        yield c / 4
w = jnp.ones(3)
---
feed = Prefetcher(source())
running = jnp.zeros(3)
seen, error = 0, None
try:
    for batch in feed:
        g = jax.grad(lambda w: jnp.sum((batch @ w) ** 2))(w)
        running = 0.9 * running + 0.1 * g
        seen += len(batch)
except ValueError as err:
    error = str(err)
w = w - 0.01 * running
alive = [t.name for t in threading.enumerate() if t.name == "prefetch"]
print(seen, feed.produced, error, alive)
w, jnp.linalg.norm(running)
---
chunks.append(np.full((2, 3), np.nan, np.float32))
---
chunks = chunks[:2]
---
chunks.clear()

### hc-executor-scores-candidates-as-completed
@dataclasses.dataclass(frozen=True)
class Candidate:
    lr: float
    width: int
    def build(self, key):
        return {"w": jax.random.normal(key, (2, self.width)), "v": jnp.ones(self.width) / self.width}
x = jnp.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
y = jnp.array([1.0, 1.0, 0.0])
lock, scoreboard = threading.Lock(), {}
def fit(cand, seed):
    p = cand.build(jax.random.key(seed))
    def loss(p): return jnp.mean((jnp.tanh(x @ p["w"]) @ p["v"] - y) ** 2)
    for _ in range(3):
        p = jax.tree.map(lambda a, g: a - cand.lr * g, p, jax.grad(loss)(p))
    with lock:
        scoreboard[cand] = float(loss(p))
    return cand, p, loss(p)
grid = [Candidate(lr, width) for lr in (0.1, 1.0) for width in (2, 3)]
workers = 2
---
scoreboard.clear()
with ThreadPoolExecutor(workers) as pool:
    futures = {pool.submit(fit, cand, i): i for i, cand in enumerate(grid)}
    done = dict(sorted(((futures[f], f.result()) for f in as_completed(futures)), key=lambda kv: kv[0]))
ordered = list(done.values())
for cand in grid:
    scoreboard[cand] = scoreboard.pop(cand)
best_cand, best_params, best_loss = min(ordered, key=lambda r: float(r[2]))
pred = jnp.tanh(x @ best_params["w"]) @ best_params["v"]
rank = sorted(scoreboard, key=scoreboard.get)
spread = jnp.array([l for *_, l in ordered]).std()
assert rank[0] == best_cand
print(best_cand, len(scoreboard), pred.shape)
best_loss, spread, rank[-1].width
---
grid = grid[:2]
---
y = 1 - y
---
workers = 1; grid.append(Candidate(0.5, 4))

### hc-asyncio-microbatch-server-in-a-loop
async def client(q, i, payload, replies):
    fut = asyncio.get_running_loop().create_future()
    await q.put((i, payload, fut))
    replies[i] = await fut
async def server(q, model, max_batch, sizes):
    while True:
        batch = [await q.get()]
        while not q.empty() and len(batch) < max_batch:
            batch.append(q.get_nowait())
        if batch[-1] is None:
            batch = batch[:-1]
            stop = True
        else:
            stop = False
        if batch:
            out = model(jnp.stack([p for _, p, _ in batch]))
            sizes.append(len(batch))
            for (_, _, fut), row in zip(batch, out):
                fut.set_result(row)
        if stop:
            return
async def main(payloads, model, max_batch):
    q, replies, sizes = asyncio.Queue(), {}, []
    task = asyncio.create_task(server(q, model, max_batch, sizes))
    await asyncio.gather(*(client(q, i, p, replies) for i, p in enumerate(payloads)))
    await q.put(None)
    await task
    return replies, sizes
W = jnp.array([[1.0, -1.0], [0.5, 2.0]])
payloads = [np.array([i, 1.0], np.float32) for i in range(5)]
max_batch = 2
---
@jax.jit
def model(x):
    return jax.nn.softmax(x @ W, axis=-1)
replies, sizes = asyncio.run(main(payloads, model, max_batch))
probs = jnp.stack([replies[i] for i in range(len(payloads))])
entropy = -(probs * jnp.log(probs + 1e-9)).sum(-1)
hardest = int(entropy.argmax())
label = probs.argmax(-1)
W = W + 0.1 * jnp.outer(probs.mean(0), entropy[:2])
print("batches", sizes, "hardest", hardest)
label, entropy.mean(), W.shape
---
max_batch = 4
---
payloads = payloads[::2]
---
W = jnp.zeros((2, 2))

### hc-debug-callback-collects-scan-trace
trace, printed = [], []
def on_step(i, v):
    trace.append((int(i), round(float(v), 3)))
    if int(i) % every == 0:
        printed.append(f"step {int(i)}: {float(v):.2f}")
every, n_steps, damping = 2, 5, 0.5
def simulate(x0, v0):
    def body(carry, i):
        x, v = carry
        v = v - 0.1 * (x + damping * v)
        x = x + 0.1 * v
        jax.debug.callback(on_step, i, x, ordered=True)
        return (x, v), 0.5 * (x ** 2 + v ** 2)
    return lax.scan(body, (x0, v0), jnp.arange(n_steps))
---
trace.clear(); printed.clear()
(x, v), energy = simulate(jnp.array(1.0), jnp.array(0.0))
jax.effects_barrier()
n_called = len(trace)
decreasing = bool((jnp.diff(energy) < 0).all())
sensitivity = jax.jvp(lambda x0: simulate(x0, jnp.array(0.0))[1][-1], (jnp.array(1.0),), (jnp.array(1.0),))[1]
jax.effects_barrier()
total_calls = len(trace)
print(*printed, sep="\n")
print(n_called, total_calls, trace[-1])
decreasing, energy[-1], sensitivity
---
every = 1
---
damping = 0.0
---
n_steps = 3; printed = deque(maxlen=2)

### hc-io-callback-counter-inside-while-loop
class Recorder:
    def __init__(self): self.values, self.limit = [], 4
    def __call__(self, err):
        self.values.append(float(err))
        return np.bool_(len(self.values) >= self.limit)
recorder = Recorder()
A = jnp.array([[4.0, 1.0], [1.0, 3.0]])
b = jnp.array([1.0, 2.0])
def jacobi(rec, tol):
    D = jnp.diag(A)
    R = A - jnp.diag(D)
    def cond(s): return (s[1] > tol) & ~s[2]
    def body(s):
        x, _, _, n = s
        x_new = (b - R @ x) / D
        err = jnp.abs(x_new - x).max()
        stop = io_callback(rec, jax.ShapeDtypeStruct((), jnp.bool_), err, ordered=True)
        return x_new, err, stop, n + 1
    return lax.while_loop(cond, body, (jnp.zeros(2), jnp.inf, False, 0))
---
recorder.values.clear()
x, err, stopped, n = jacobi(recorder, 1e-4)
residual = jnp.linalg.norm(A @ x - b)
history = list(recorder.values)
halving = [b_ / a_ for a_, b_ in zip(history, history[1:])]
ratio = jnp.array(halving).mean() if halving else jnp.nan
exact = jnp.linalg.solve(A, b)
print(f"{int(n)} iterations, stopped early: {bool(stopped)}, {len(history)} records")
jnp.allclose(x, exact, atol=1e-2), residual < 1, ratio
---
recorder.limit = 100
---
recorder = Recorder(); recorder.limit = 1
---
A = A.at[0, 1].set(0.0).at[1, 0].set(0.0)

### hc-hooks-in-dict-one-raises-inside-nested-call
class Hooks(dict):
    def run(self, event, **payload):
        for fn in self.get(event, []):
            fn(**payload)
events = []
def count(step, **_): stats["steps"] += 1
def note(step, loss): events.append((step, f"{loss:.2f}"))
def guard(step, loss):
    if loss > limit:
        stats["tripped"] = step
        raise OverflowError(f"loss {loss:.1f} over {limit} at step {step}")
stats, limit = {"steps": 0, "tripped": None}, 50.0
hooks = Hooks(before=[count], after=[note, guard])
layers = {"scale": lambda s, x: s["a"] * x, "shift": lambda s, x: x + s["b"]}
state = {"a": jnp.array(2.0), "b": jnp.array(1.0), "hist": []}
order = ["scale", "shift", "scale"]
---
x = jnp.arange(3.0)
for step in range(3):
    hooks.run("before", step=step)
    h = x
    for name in order:
        h = layers[name](state, h)
    loss = jnp.mean(h ** 2)
    state["hist"].append(loss)
    hooks.run("after", step=step, loss=loss)
    state["a"] = state["a"] * 0.9
    state["b"] = state["b"] - 0.1 * jnp.sign(loss)
print(stats, len(events), events[-1])
state["a"], state["b"], len(state["hist"])
---
limit = 2.0
---
limit = 1000.0; order = ["scale", "scale", "scale"]
---
hooks["after"].pop()

### hc-timer-context-nested-with-contextvar-depth
depth = contextvars.ContextVar("depth", default=0)
report = []
class section:
    ticks = itertools.count()
    def __init__(self, name): self.name = name
    def __enter__(self):
        self.token = depth.set(depth.get() + 1)
        self.began = next(self.ticks)
        return self
    def __exit__(self, kind, err, tb):
        took = next(self.ticks) - self.began
        depth.reset(self.token)
        report.append("  " * depth.get() + f"{self.name}: {took} ticks" + (f" ! {kind.__name__}" if kind else ""))
        return False
signal = jnp.sin(jnp.linspace(0, 12, 24))
window, threshold = 4, 0.8
def smooth(s, window):
    with section("smooth"):
        return jnp.convolve(s, jnp.ones(window) / window, mode="valid")
---
report.clear()
with section("all"):
    with section("prep"):
        s = smooth(signal, window)
        s = (s - s.mean()) / s.std()
    try:
        with section("peaks"):
            inner = (s[1:-1] > s[:-2]) & (s[1:-1] > s[2:])
            n_peaks = int(inner.sum())
            if n_peaks == 0:
                raise LookupError("no peaks")
            where = jnp.flatnonzero(inner)
    except LookupError as e:
        where = jnp.zeros(0, int)
        report.append(f"handled: {e}")
    high = jnp.where(s > threshold, s, 0.0).sum()
for line in report:
    print(line)
depth.get(), where.tolist(), high
---
window = 6
---
signal = jnp.linspace(0.0, 1.0, 24)
---
signal = jnp.cos(jnp.linspace(0, 20, 24)); threshold = 0.0

### hc-generator-trainer-finally-closed-early
closed = []
checkpoints = {}
def training(w, lr, name):
    step = 0
    try:
        while True:
            loss, g = jax.value_and_grad(lambda w: jnp.sum((w - 3.0) ** 2))(w)
            command = yield step, loss
            if command == "halve":
                lr = lr / 2
            elif command == "boom":
                raise RuntimeError("asked to fail")
            w = w - lr * g
            step += 1
    finally:
        closed.append((name, step))
        checkpoints[name] = w
commands = [None, None, "halve", None]
w0 = jnp.array([0.0, 1.0])
---
run = training(w0, 0.4, "a")
step, loss = next(run)
losses = [loss]
try:
    for c in commands:
        step, loss = run.send(c)
        losses.append(loss)
        if loss < 1e-2:
            print("close enough at", step)
            break
except RuntimeError as e:
    print("failed:", e)
finally:
    run.close()
final = checkpoints["a"]
losses = jnp.stack(losses)
best = losses.argmin()
w0 = w0 + 0.1 * (final - w0)
print(closed[-1], step, losses.shape, run.gi_frame is None)
best, final, w0
---
commands.insert(1, "boom")
---
commands = ["halve"] * 3
---
w0 = jnp.array([3.0, 3.0]); closed = closed[-1:]

### hc-observable-value-with-undo-stack
class Observable:
    def __init__(self, value):
        self._value, self._observers, self.version = value, [], 0
    def observe(self, fn):
        self._observers.append(fn)
        return lambda: self._observers.remove(fn)
    @property
    def value(self): return self._value
    @value.setter
    def value(self, new):
        old, self._value = self._value, new
        self.version += 1
        for fn in list(self._observers):
            fn(old, new)
undo, deltas = [], []
theta = Observable(jnp.array([1.0, 2.0]))
stop_undo = theta.observe(lambda old, new: undo.append(old))
theta.observe(lambda old, new: deltas.append(jnp.abs(new - old).max()))
def must_be_positive(old, new):
    if (new <= 0).any():
        raise ValueError("left the domain")
theta.observe(must_be_positive)
rate = 0.1
def cost(t): return jnp.sum(t * jnp.log(t)) - t[0]
---
accepted = rejected = 0
for i in range(4):
    g = jax.grad(cost)(theta.value)
    try:
        theta.value = theta.value - rate * (i + 1) * g
        accepted += 1
    except ValueError as err:
        theta._value = undo.pop()
        rejected += 1
        print(f"step {i} undone: {err}")
depth_ = len(undo)
largest = max(deltas, key=float)
same_object = undo[-1] is theta.value if undo else None
print(accepted, rejected, theta.version, depth_, same_object)
theta.value, largest, cost(theta.value)
---
rate = 2.0
---
stop_undo(); undo = []; rate = 0.01
---
theta = Observable(jnp.array([0.5, 0.5])); theta.observe(lambda old, new: undo.append(new))

### hc-log-filter-adds-step-and-ring-buffer-handler
class RingHandler(logging.Handler):
    def __init__(self, n):
        super().__init__()
        self.lines = deque(maxlen=n)
    def emit(self, record): self.lines.append(self.format(record))
class AddStep(logging.Filter):
    step = 0
    def filter(self, record):
        record.step = self.step
        return not record.getMessage().startswith("skip")
log = logging.Logger("train.hc")
ring, add_step = RingHandler(5), AddStep()
ring.setFormatter(logging.Formatter("[%(step)03d] %(levelname)s %(message)s"))
log.addHandler(ring); log.addFilter(add_step)
temperature, key = 1.0, jax.random.key(0)
logits = jnp.array([0.1, 0.7, -0.3, 1.2])
def report(level, msg, *args):
    log.log(level, msg, *args)
---
counts = jnp.zeros(4, jnp.int32)
for i in range(4):
    add_step.step += 1
    key, sub = jax.random.split(key)
    choice = jax.random.categorical(sub, logits / temperature)
    counts = counts.at[choice].add(1)
    p = jax.nn.softmax(logits / temperature)[choice]
    report(logging.INFO, "picked %d with p=%.2f", choice, p)
    if p < 0.2:
        report(logging.WARNING, "rare: %s", f"{p:.2f}")
    report(logging.DEBUG, "skip %s", choice)
    logits = logits - 0.05 * jax.nn.one_hot(choice, 4)
print("\n".join(ring.lines))
counts, logits.round(2), add_step.step, len(ring.lines)
---
temperature = 0.3
---
log.setLevel(logging.WARNING)
---
ring.lines = deque(maxlen=2); log.setLevel(logging.NOTSET); temperature = 5.0

### hc-eqx-lora-surgery-frozen-base needs=equinox,optax
import equinox as eqx
import optax
class LoRALinear(eqx.Module):
    base: eqx.nn.Linear
    a: jax.Array
    b: jax.Array
    scale: float = eqx.field(static=True)
    def __init__(self, base, rank, scale, *, key):
        self.base = base
        self.a = jax.random.normal(key, (rank, base.in_features)) * 0.1
        self.b = jnp.zeros((base.out_features, rank))
        self.scale = scale
    def __call__(self, x): return self.base(x) + self.scale * self.b @ (self.a @ x)
mlp = eqx.nn.MLP(2, 1, 4, 2, key=jax.random.key(0))
rank, which, scale = 1, [0, 2], 2.0
x = jnp.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
y = jnp.array([1.0, 1.0, 0.0, 0.0])
optim = optax.adamw(0.05)
---
keys = jax.random.split(jax.random.key(1), len(which))
new = [LoRALinear(mlp.layers[i], rank, scale, key=k) for i, k in zip(which, keys)]
model = eqx.tree_at(lambda m: [m.layers[i] for i in which], mlp, new)
spec = jax.tree.map(lambda _: False, model)
def lora_parts(m): return [t for i in which for t in (m.layers[i].a, m.layers[i].b)]
spec = eqx.tree_at(lora_parts, spec, replace_fn=lambda _: True)
trainable, frozen = eqx.partition(model, spec)
opt_state = optim.init(trainable)
@eqx.filter_jit
def step(trainable, opt_state):
    def loss_fn(t):
        return jnp.mean((jax.vmap(eqx.combine(t, frozen))(x)[:, 0] - y) ** 2)
    loss, grads = eqx.filter_value_and_grad(loss_fn)(trainable)
    updates, opt_state = optim.update(grads, opt_state, trainable)
    return eqx.apply_updates(trainable, updates), opt_state, loss
for _ in range(3):
    trainable, opt_state, loss = step(trainable, opt_state)
tuned = eqx.combine(trainable, frozen)
shared = tuned.layers[which[0]].base.weight is mlp.layers[which[0]].weight
n_train = sum(a.size for a in jax.tree.leaves(eqx.filter(trainable, eqx.is_array)))
merged = eqx.tree_at(lambda m: m.layers[which[0]].b, tuned, replace_fn=jnp.zeros_like)
print(shared, n_train, eqx.tree_equal(tuned, merged), type(tuned.layers[0]).__name__)
loss, jax.vmap(tuned)(x)[:, 0] - jax.vmap(mlp)(x)[:, 0]
---
which = [1]
---
rank = 2; scale = 0.5
---
optim = optax.sgd(0.1); mlp = eqx.tree_at(lambda m: m.layers[0].weight, mlp, jnp.ones((4, 2)))

### hc-eqx-ema-copy-and-inference-mode-dropout needs=equinox
import equinox as eqx
class Net(eqx.Module):
    embed: eqx.nn.Linear
    drop: eqx.nn.Dropout
    out: eqx.nn.Linear
    names: tuple = eqx.field(static=True)
    def __init__(self, key, p=0.5):
        k1, k2 = jax.random.split(key)
        self.embed, self.out = eqx.nn.Linear(3, 4, key=k1), eqx.nn.Linear(4, 2, key=k2)
        self.drop, self.names = eqx.nn.Dropout(p), ("no", "yes")
    def __call__(self, x, key=None):
        return self.out(self.drop(jax.nn.relu(self.embed(x)), key=key))
net = Net(jax.random.key(3))
ema = net
key = jax.random.key(11)
decay, lr = 0.9, 0.1
xs = jnp.linspace(-1, 1, 12).reshape(4, 3)
ys = jnp.array([0, 1, 1, 0])
def loss_fn(m, key):
    logits = jax.vmap(m)(xs, key=jax.random.split(key, len(xs)))
    return -jax.nn.log_softmax(logits)[jnp.arange(len(ys)), ys].mean()
---
for i in range(3):
    key, sub = jax.random.split(key)
    loss, grads = eqx.filter_value_and_grad(loss_fn)(net, sub)
    net = eqx.apply_updates(net, jax.tree.map(lambda g: -lr * g, grads))
    arrays, static = eqx.partition(ema, eqx.is_inexact_array)
    fresh = eqx.filter(net, eqx.is_inexact_array)
    ema = eqx.combine(jax.tree.map(lambda e, n: decay * e + (1 - decay) * n, arrays, fresh), static)
eval_net = eqx.nn.inference_mode(ema)
logits = jax.vmap(eval_net)(xs)
pred = [eval_net.names[int(i)] for i in logits.argmax(-1)]
gap = jnp.sqrt(sum(jnp.sum((a - b) ** 2) for a, b in zip(*map(jax.tree.leaves, (arrays, fresh)))))
try:
    net(xs[0])
    needs_key = False
except RuntimeError:
    needs_key = True
print(pred, needs_key, eval_net.drop.inference, ema.drop.inference, net.embed is ema.embed)
loss, gap
---
decay = 0.0
---
net = eqx.tree_at(lambda m: m.drop.p, net, 0.0); lr = 0.5
---
net = eqx.nn.inference_mode(net)

### hc-eqx-stateful-counter-and-batch-metrics needs=equinox
import equinox as eqx
class RunningNorm(eqx.Module):
    stats: eqx.nn.StateIndex
    momentum: float
    def __init__(self, n, momentum):
        self.stats = eqx.nn.StateIndex((jnp.zeros(n), jnp.ones(n), jnp.array(0)))
        self.momentum = momentum
    def __call__(self, x, state, train):
        mean, var, count = state.get(self.stats)
        if train:
            m = self.momentum
            mean, var = m * mean + (1 - m) * x.mean(0), m * var + (1 - m) * x.var(0)
            state = state.set(self.stats, (mean, var, count + 1))
        return (x - mean) / jnp.sqrt(var + 1e-5), state
class Mean:
    def __init__(self): self.total, self.n = 0.0, 0
    def update(self, v): self.total, self.n = self.total + v, self.n + 1
    def result(self): return self.total / max(self.n, 1)
model, state = eqx.nn.make_with_state(RunningNorm)(3, 0.5)
batches = [np.random.default_rng(i).normal(i, 1 + i, (4, 3)).astype(np.float32) for i in range(3)]
metrics = {"abs": Mean(), "max": Mean()}
train = True
---
for b in batches:
    out, state = model(jnp.asarray(b), state, train)
    metrics["abs"].update(jnp.abs(out).mean())
    metrics["max"].update(out.max())
mean, var, count = state.get(model.stats)
summary = {k: m.result() for k, m in metrics.items()}
n_seen = metrics["abs"].n
print({k: f"{v:.3f}" for k, v in summary.items()}, n_seen, int(count))
centred, same_state = model(jnp.stack([mean, mean]), state, False)
same_state is state, centred, type(summary["abs"]).__name__, var
---
train = False
---
metrics["abs"] = Mean(); train = True
---
model = eqx.tree_at(lambda m: m.momentum, model, 0.99)

### hc-haiku-custom-module-counter-and-frozen-encoder needs=haiku,optax
import haiku as hk
import optax
class CountingEncoder(hk.Module):
    def __init__(self, width, name=None):
        super().__init__(name=name)
        self.width = width
    def __call__(self, x, is_training):
        n = hk.get_state("calls", (), jnp.int32, init=jnp.zeros)
        if is_training:
            hk.set_state("calls", n + 1)
        h = jax.nn.relu(hk.Linear(self.width)(x))
        return hk.dropout(hk.next_rng_key(), 0.3, h) if is_training else h
def forward(x, is_training=True):
    h = CountingEncoder(4, name="encoder")(x, is_training)
    return hk.Linear(1, name="head")(h)[:, 0]
net = hk.transform_with_state(forward)
x = jnp.linspace(-1, 1, 8).reshape(4, 2)
y = x.sum(1)
params, state = net.init(jax.random.PRNGKey(0), x)
rng = hk.PRNGSequence(7)
frozen_prefix = "encoder"
opt = optax.multi_transform(
    {"train": optax.adam(0.05), "freeze": optax.set_to_zero()},
    lambda p: hk.data_structures.map(lambda m, n, v: "freeze" if m.startswith(frozen_prefix) else "train", p))
opt_state = opt.init(params)
---
def loss_fn(p, s, key):
    out, s = net.apply(p, s, key, x)
    return jnp.mean((out - y) ** 2), s
before = params
losses = []
for _ in range(2):
    (loss, state), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, state, next(rng))
    updates, opt_state = opt.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    losses.append(loss)
moved = {m: bool(jnp.any(params[m]["w"] != before[m]["w"])) for m in params}
out, eval_state = net.apply(params, state, None, x, is_training=False)
calls = {k: int(v["calls"]) for k, v in eval_state.items()}
sizes = hk.data_structures.tree_size(params), hk.data_structures.tree_bytes(params)
print(moved, calls, sizes)
out, losses[-1], jax.tree.map(jnp.shape, params)["head"]
---
y = -y
---
frozen_prefix = "head"; opt_state = opt.init(params)
---
params = hk.data_structures.map(lambda m, n, v: v * 0 if n == "b" else v + 0.1, params)

### hc-nnx-modes-dropout-and-counter-variable needs=flax,optax
from flax import nnx
import optax
class Count(nnx.Variable): pass
class Block(nnx.Module):
    def __init__(self, n, rngs):
        self.lin = nnx.Linear(n, n, use_bias=False, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.bn = nnx.BatchNorm(n, rngs=rngs, momentum=0.5)
        self.calls = Count(jnp.array(0))
    def __call__(self, x):
        self.calls[...] += 1
        return nnx.relu(self.drop(self.bn(self.lin(x)))) + x
class Net(nnx.Module):
    def __init__(self, depth, rngs):
        self.blocks = nnx.List([Block(3, rngs) for _ in range(depth)])
        self.head = nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, x):
        for b in self.blocks:
            x = b(x)
        return self.head(x)[:, 0]
net = Net(2, nnx.Rngs(0, dropout=1))
optimizer = nnx.Optimizer(net, optax.sgd(0.05, momentum=0.5), wrt=nnx.Param)
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
x = jnp.linspace(-1, 1, 12).reshape(4, 3)
y = x.prod(1)
@nnx.jit
def train_step(net, optimizer, metrics, x, y):
    def loss_fn(m): return jnp.mean((m(x) - y) ** 2)
    loss, grads = nnx.value_and_grad(loss_fn)(net)
    optimizer.update(net, grads)
    metrics.update(loss=loss)
n_steps = 2
---
net.train()
for _ in range(n_steps):
    train_step(net, optimizer, metrics, x, y)
average = metrics.compute()["loss"]
metrics.reset()
net.eval()
pred = net(x)
counts = [int(b.calls[...]) for b in net.blocks]
rng_counts = {"/".join(map(str, p)): int(v[...]) for p, v in nnx.to_flat_state(nnx.state(net, nnx.RngCount))}
flags = [(b.drop.deterministic, b.bn.use_running_average) for b in net.blocks]
print(counts, sorted(rng_counts.values()), flags, int(optimizer.step[...]))
average, pred, net.blocks[0].bn.mean[...]
---
n_steps = 1
---
net.blocks[1].drop.rate = 0.0
---
y = jnp.abs(y); optimizer = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)

### hc-nnx-split-merge-update-ema-and-partial-freeze needs=flax
from flax import nnx
class Adapter(nnx.Param): pass
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.base = nnx.Linear(2, 2, rngs=rngs)
        self.gain = Adapter(jnp.ones(2))
        self.tag = "layer"
    def __call__(self, x): return self.base(x) * self.gain
model = nnx.Sequential(Layer(nnx.Rngs(0)), nnx.tanh, Layer(nnx.Rngs(1)))
alias = model.layers[0]
x = jnp.array([[1.0, -1.0], [0.5, 2.0]])
ema_state = nnx.state(model, nnx.Param)
only, decay, lr = Adapter, 0.8, 0.1
---
def loss_fn(m): return jnp.mean((m(x) - 1.0) ** 2)
for _ in range(2):
    grads = nnx.grad(loss_fn, argnums=nnx.DiffState(0, only))(model)
    params = nnx.state(model, only)
    nnx.update(model, jax.tree.map(lambda p, g: p - lr * g, params, grads))
    ema_state = jax.tree.map(lambda e, p: decay * e + (1 - decay) * p, ema_state, nnx.state(model, nnx.Param))
graphdef, trained, rest = nnx.split(model, only, ...)
shadow = nnx.merge(*nnx.split(model))
nnx.update(shadow, ema_state)
n_trained = len(jax.tree.leaves(trained))
n_rest = len(jax.tree.leaves(rest))
is_alias = model.layers[0] is alias and shadow.layers[0] is not alias
print(n_trained, n_rest, is_alias, type(alias.gain).__name__, shadow.layers[0].tag)
loss_fn(model), loss_fn(shadow), alias.gain[...]
---
only = nnx.Param
---
decay = 0.0; lr = 0.3
---
alias.gain[...] = jnp.array([1.5, -0.5]); model.layers[2].tag = "last"

### hc-numpyro-svi-guide-with-param-groups needs=numpyro,optax
import numpyro
import numpyro.distributions as dist
import optax
from numpyro.infer import SVI, Trace_ELBO, Predictive
rng = np.random.default_rng(5)
x = rng.normal(size=20).astype(np.float32)
y = (0.7 * x - 0.2 + 0.1 * rng.normal(size=20)).astype(np.float32)
prior_scale = 1.0
def model(x, y=None):
    a = numpyro.sample("a", dist.Normal(0.0, prior_scale))
    b = numpyro.sample("b", dist.Normal(0.0, prior_scale))
    sigma = numpyro.param("sigma", 0.5, constraint=dist.constraints.positive)
    with numpyro.plate("n", len(x)):
        numpyro.sample("obs", dist.Normal(a * x + b, sigma), obs=y)
def guide(x, y=None):
    for name in "ab":
        loc = numpyro.param(f"{name}_loc", 0.0)
        scale = numpyro.param(f"{name}_scale", 0.3, constraint=dist.constraints.positive)
        numpyro.sample(name, dist.Normal(loc, scale))
labels = lambda p: {k: "slow" if k == "sigma" else "fast" for k in p}
steps = 4
---
optimizer = numpyro.optim.optax_to_numpyro(
    optax.multi_transform({"fast": optax.adam(0.1), "slow": optax.sgd(1e-4)}, labels))
svi = SVI(model, guide, optimizer, Trace_ELBO(num_particles=2))
state = svi.init(jax.random.PRNGKey(0), x, y)
losses = []
for i in range(steps):
    state, loss = svi.update(state, x, y)
    losses.append(loss)
params = svi.get_params(state)
losses = jnp.stack(losses) / len(x)
predictive = Predictive(model, guide=guide, params=params, num_samples=6)
draws = predictive(jax.random.PRNGKey(1), x[:5])
mean, sd = draws["obs"].mean(0), draws["obs"].std(0)
slope = float(params["a_loc"])
print(sorted(params), sorted(draws), draws["obs"].shape, slope > 0)
losses[-1], params["sigma"], mean, sd
---
steps = 2
---
prior_scale = 0.1
---
y = -y; labels = lambda p: {k: "fast" for k in p}

### hc-flax-struct-metrics-and-trainstate-with-ema needs=flax,optax
import flax.linen as nn
from flax import struct
from flax.training import train_state
import optax
@struct.dataclass
class Metrics:
    loss_sum: jax.Array
    correct: jax.Array
    count: jax.Array
    label: str = struct.field(pytree_node=False, default="train")
    @classmethod
    def empty(cls, label="train"): return cls(jnp.zeros(()), jnp.zeros((), int), jnp.zeros((), int), label)
    def merge(self, loss, logits, y):
        return self.replace(loss_sum=self.loss_sum + loss * len(y), count=self.count + len(y),
                            correct=self.correct + (logits.argmax(-1) == y).sum())
    def compute(self): return {"loss": self.loss_sum / self.count, "acc": self.correct / self.count}
class EMAState(train_state.TrainState):
    ema: Any
    decay: float = struct.field(pytree_node=False)
    def apply_gradients(self, *, grads, **kw):
        new = super().apply_gradients(grads=grads, **kw)
        return new.replace(ema=optax.incremental_update(new.params, self.ema, 1 - self.decay))
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        x = nn.relu(nn.Dense(4)(x))
        return nn.Dense(3)(nn.Dropout(0.2, deterministic=not train)(x))
net, key = Net(), jax.random.key(0)
params = net.init(jax.random.key(1), jnp.ones((1, 2)), train=False)["params"]
state = EMAState.create(apply_fn=net.apply, params=params, tx=optax.adam(0.05), ema=params, decay=0.5)
xs = jnp.array(np.random.default_rng(1).normal(size=(9, 2)), jnp.float32)
ys = (xs[:, 0] > 0).astype(int) + (xs[:, 1] > 0)
bs = 3
---
metrics = Metrics.empty()
for i in range(0, len(xs), bs):
    xb, yb = xs[i:i + bs], ys[i:i + bs]
    def loss_fn(p):
        logits = state.apply_fn({"params": p}, xb, rngs={"dropout": jax.random.fold_in(key, state.step)})
        return optax.softmax_cross_entropy_with_integer_labels(logits, yb).mean(), logits
    (loss, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    state = state.apply_gradients(grads=grads)
    metrics = metrics.merge(loss, logits, yb)
report = {}
for name, p in (("raw", state.params), ("ema", state.ema)):
    out = net.apply({"params": p}, xs, train=False)
    report[name] = Metrics.empty("eval").merge(loss, out, ys).compute()["acc"]
print(f"{metrics.label}: " + ", ".join(f"{k} {v:.3f}" for k, v in metrics.compute().items()), int(state.step))
drift = optax.global_norm(jax.tree.map(jnp.subtract, state.params, state.ema))
report, drift, state.decay, jax.tree.structure(state.ema) == jax.tree.structure(state.params)
---
bs = 4
---
state = state.replace(decay=0.99)
---
state = state.replace(ema=state.params, tx=optax.sgd(0.1), opt_state=optax.sgd(0.1).init(state.params))

### hc-pipeline-of-functions-fails-and-rolls-back-in-cell
class Rollback(Exception): pass
table = {"raw": jnp.arange(6.0).reshape(2, 3), "log": [], "meta": {"version": 0, "tags": []}}
audit = []
def centre(t):
    t["raw"] = t["raw"] - t["raw"].mean(0)
    t["log"].append("centre")
def scale(t):
    s = t["raw"].std(0)
    t["meta"]["tags"].append("scaled")
    t["meta"]["scale"] = s
    if bool((s < floor).any()):
        raise Rollback("a column is constant")
    t["raw"] = t["raw"] / s
def stamp(t):
    t["meta"]["version"] += 1
    t["log"].append(f"v{t['meta']['version']}")
steps = {"a": [centre], "b": [stamp, {"inner": [scale, stamp]}]}
floor = 1e-3
def walk(node, t):
    if callable(node):
        node(t)
    else:
        for sub in (node.values() if isinstance(node, dict) else node):
            walk(sub, t)
---
for name, node in steps.items():
    backup = (table["raw"], list(table["log"]), copy.deepcopy(table["meta"]))
    try:
        walk(node, table)
        audit.append((name, "ok"))
    except Rollback as err:
        table["raw"], table["log"][:], table["meta"] = backup
        audit.append((name, str(err)))
        print(f"{name} rolled back: {err}")
kept = table["raw"] is backup[0]
table["raw"] = table["raw"] + jnp.eye(2, 3)
total = jnp.abs(table["raw"]).sum()
print(kept, len(audit), audit[-1], len(table["log"]))
total, table["meta"].get("scale"), table["meta"]["version"]
---
floor = 10.0
---
steps["c"] = (stamp, [centre])
---
floor = 0.0; table["raw"] = jnp.ones((2, 3))

### hc-uncaught-error-deep-in-registry-leaves-all-as-before
REGISTRY = defaultdict(list)
def register(kind):
    def deco(fn):
        REGISTRY[kind].append(fn)
        return fn
    return deco
@register("loss")
def l2(p, ctx): return 0.5 * jnp.sum(p ** 2)
@register("loss")
def fit(p, ctx):
    ctx["evals"] += 1
    return jnp.sum((p - ctx["target"]) ** 2)
@register("check")
def finite(p, ctx):
    ctx["seen"].append(p)
    if not np.isfinite(np.asarray(p)).all():
        raise FloatingPointError(f"not finite after {ctx['evals']} evaluations")
ctx = {"evals": 0, "target": jnp.array([1.0, 2.0]), "seen": [], "lr": 0.1}
p = jnp.zeros(2)
---
def total(p):
    return sum(fn(p, ctx) for fn in REGISTRY["loss"])
best = jnp.inf
for it in range(3):
    value, g = jax.value_and_grad(total)(p)
    p = p - ctx["lr"] * g
    for check in REGISTRY["check"]:
        check(p, ctx)
    best = jnp.minimum(best, value)
ctx["seen"] = ctx["seen"][-2:]
last_is_p = ctx["seen"][-1] is p
print(ctx["evals"], last_is_p, len(REGISTRY["loss"]), "missing" in REGISTRY)
p, best
---
ctx["lr"] = float("inf")
---
ctx["lr"] = 0.05
---
REGISTRY["loss"].append(lambda p, ctx: -0.1 * p[0])

### hc-exitstack-callbacks-and-patched-globals
settings = {"precision": "default", "scale": 1.0}
opened = []
@contextlib.contextmanager
def override(**kw):
    old = {k: settings[k] for k in kw}
    settings.update(kw)
    opened.append(tuple(kw))
    try:
        yield settings
    finally:
        settings.update(old)
        opened.append(("restored", *old))
def dense(x, w):
    return jnp.matmul(x, w, precision=settings["precision"]) * settings["scale"]
x, w = jnp.linspace(-1, 1, 6).reshape(2, 3), jnp.arange(6.0).reshape(3, 2) / 6
flags = {"high": True, "scaled": True}
---
opened.clear()
done = []
with contextlib.ExitStack() as stack:
    if flags["high"]:
        stack.enter_context(override(precision="highest"))
    if flags["scaled"]:
        stack.enter_context(override(scale=0.5))
    stack.callback(done.append, "cleanup")
    inside = dense(x, w)
    g = jax.grad(lambda w: dense(x, w).sum())(w)
    with contextlib.suppress(ZeroDivisionError):
        with override(scale=3.0):
            ratio = inside / dense(x, w)
            bad = 1 // flags.get("divisor", 1)
outside = dense(x, w)
ratio = jnp.nanmean(ratio)
print(opened, done, settings)
g, ratio, jnp.allclose(inside, outside * (0.5 if flags["scaled"] else 1))
---
flags["scaled"] = False
---
flags["divisor"] = 0
---
settings["scale"] = 2.0; flags["high"] = False

### hc-lazy-batches-generator-helper-with-finally-and-cache
log = []
class Loader:
    def __init__(self, data, bs):
        self.data, self.bs, self.epoch, self.cache = data, bs, 0, {}
    def __len__(self): return -(-len(self.data) // self.bs)
    def __iter__(self):
        self.epoch += 1
        given = 0
        try:
            for i in range(len(self)):
                if i not in self.cache:
                    self.cache[i] = jnp.asarray(self.data[i * self.bs:(i + 1) * self.bs])
                given += 1
                yield self.cache[i]
        finally:
            log.append((self.epoch, given))
def first_n(it, n):
    for i, b in enumerate(it):
        if i == n:
            return
        yield b
loader = Loader(np.arange(14, dtype=np.float32).reshape(7, 2), 2)
m, n = jnp.zeros(2), 2
---
for batch in first_n(loader, n):
    m = 0.5 * m + 0.5 * batch.mean(0)
full = sum(b.sum() for b in loader)
again = next(iter(loader))
same = again is loader.cache[0]
var = jnp.var(jnp.concatenate([loader.cache[i] for i in sorted(loader.cache)]), axis=0)
sizes = {k: v.shape[0] for k, v in loader.cache.items()}
del batch
print(log[-3:], loader.epoch, same, sizes)
m, full, var
---
n = 3
---
loader.cache.pop(0); loader.data = loader.data * 2
---
loader = Loader(loader.data[:3], 3); n = 1

### hc-nnx-sow-intermediates-pop-and-vmap-ensemble needs=flax
from flax import nnx
class Probe(nnx.Module):
    def __init__(self, rngs, width=3):
        self.l1, self.l2 = nnx.Linear(2, width, rngs=rngs), nnx.Linear(width, 1, rngs=rngs)
        self.record, self.n_forward = True, 0
    def __call__(self, x):
        self.n_forward += 1
        h = jnp.tanh(self.l1(x))
        if self.record:
            self.sow(nnx.Intermediate, "h", h.mean())
        return self.l2(h)
model = Probe(nnx.Rngs(0))
@nnx.vmap(in_axes=0, out_axes=0)
def make(key): return Probe(nnx.Rngs(key))
ensemble = make(jax.random.split(jax.random.key(1), 4))
ensemble.record = False
x = jnp.linspace(-1, 1, 8).reshape(4, 2)
noise = 0.0
---
y = model(x)
y2 = model(x + noise)
inter = nnx.pop(model, nnx.Intermediate)
sown = jax.tree.leaves(inter)
outs = nnx.vmap(lambda m, x: m(x), in_axes=(0, None))(ensemble, x)
spread = outs.std(0)[:, 0]
kernels = nnx.state(ensemble, nnx.Param)["l1"]["kernel"]
one = jax.tree.map(lambda a: a[0], nnx.state(ensemble))
single = nnx.merge(nnx.graphdef(ensemble), one)
close = jnp.allclose(single(x), outs[0], atol=1e-5)
nnx.update(model, jax.tree.map(lambda a: a * 0.99, nnx.state(model, nnx.Param)))
print(model.n_forward, len(sown), kernels.shape, single.record, "h" in vars(model))
y.sum(), y2.sum(), spread, close
---
model.record = False
---
noise = 0.5; model.record = True
---
ensemble = make(jax.random.split(jax.random.key(2), 3))

### hc-eqx-check-init-raises-and-is-handled needs=equinox
import equinox as eqx
class Spline(eqx.Module):
    knots: jax.Array = eqx.field(converter=jnp.asarray)
    coefs: jax.Array
    order: int = eqx.field(static=True, default=1)
    def __check_init__(self):
        if self.knots.shape != self.coefs.shape:
            raise ValueError(f"{self.knots.shape} knots, {self.coefs.shape} coefficients")
        made.append(self.order)
    def __call__(self, x):
        v = jnp.interp(x, self.knots, self.coefs)
        return v if self.order == 1 else v ** self.order
class Sum(eqx.Module):
    parts: list
    weights: jax.Array
    def __call__(self, x): return sum(w * p(x) for w, p in zip(self.weights, self.parts))
made, attempts = [], [3, 4, 3]
knots = [0.0, 0.5, 1.0]
order = 1
xs = jnp.linspace(0, 1, 5)
---
made.clear()
parts, errors = [], []
for n in attempts:
    try:
        parts.append(Spline(knots, jnp.arange(float(n)), order))
    except ValueError as err:
        errors.append(str(err))
model = Sum(parts, jnp.ones(len(parts)) / max(len(parts), 1))
params, static = eqx.partition(model, eqx.is_array)
grads = eqx.filter_grad(lambda m: jnp.mean(jax.vmap(m)(xs) ** 2))(model)
model = eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, grads))
swapped = eqx.tree_at(lambda m: m.parts[0].coefs, model, jnp.zeros(3))
shared = swapped.parts[1] is model.parts[1]
fixed = eqx.tree_at(lambda m: m.parts[-1], swapped, replace_fn=lambda p: jnp.sin)
print(errors, made, shared, len(jax.tree.leaves(params)))
jax.vmap(fixed)(xs), grads.weights, model.parts[0].knots.dtype
---
attempts = [3, 3]
---
order = 2
---
knots = np.array([0, 1, 2], np.int32)

### hc-progress-class-eta-free-bar-and-callback-list
class Callback:
    def on_begin(self, t): pass
    def on_step(self, t, i, loss): pass
    def on_end(self, t): pass
class Bar(Callback):
    def __init__(self, width=8): self.width = width
    def on_begin(self, t): self.drawn = []
    def on_step(self, t, i, loss):
        filled = (i + 1) * self.width // t.total
        self.drawn.append("#" * filled + "." * (self.width - filled) + f" {loss:.2f}")
    def on_end(self, t): print("\n".join(self.drawn[-2:]))
class KeepBest(Callback):
    best, params = math.inf, None
    def on_step(self, t, i, loss):
        if loss < self.best:
            self.best, self.params = loss, t.params
class Plateau(Callback):
    def __init__(self, factor): self.factor, self.last = factor, math.inf
    def on_step(self, t, i, loss):
        if loss > self.last:
            t.lr *= self.factor
        self.last = loss
class Trainer:
    def __init__(self, params, lr, callbacks): self.params, self.lr, self.callbacks = params, lr, callbacks
    def fire(self, name, *args):
        for c in self.callbacks:
            getattr(c, f"on_{name}")(self, *args)
    def fit(self, fn, total):
        self.total = total
        self.fire("begin")
        for i in range(total):
            loss, g = jax.value_and_grad(fn)(self.params)
            self.params = jax.tree.map(lambda p, g: p - self.lr * g, self.params, g)
            self.fire("step", i, loss)
        self.fire("end")
        return self
bowl = jnp.array([1.0, 12.0])
keep = KeepBest()
trainer = Trainer({"x": jnp.array([1.0, 1.0])}, 0.1, [Bar(), keep, Plateau(0.5)])
total = 4
---
trainer.fit(lambda p: jnp.sum(bowl * p["x"] ** 2) / 2, total)
improved = keep.params is trainer.params
kind = type(keep.best).__name__
norm = jnp.linalg.norm(trainer.params["x"])
trainer.params["x"] = trainer.params["x"] + 0.1
print(improved, kind, f"{trainer.lr:.4f}", len(trainer.callbacks[0].drawn))
norm, keep.best, keep.params["x"]
---
trainer.lr = 0.3
---
trainer.callbacks.pop()
---
total = 2; trainer.callbacks[0].width = 4

### hc-debug-print-vmapped-and-pure-callback-lookup
lookup = {0: 1.5, 1: -2.0, 2: 0.25}
asked = Counter()
def host_lookup(ids):
    asked.update(np.asarray(ids).ravel().tolist())
    return np.vectorize(lookup.get, otypes=[np.float32])(ids)
def score(i, x):
    shape = jax.ShapeDtypeStruct((), jnp.float32)
    w = jax.pure_callback(host_lookup, shape, i, vmap_method="expand_dims")
    return w * jnp.sum(x ** 2)
ids = jnp.array([0, 2, 1, 0])
xs = jnp.arange(8.0).reshape(4, 2) / 4
verbose = True
---
asked.clear()
def step(carry, pair):
    i, x = pair
    s = score(i, x)
    if verbose:
        jax.debug.print("id {i} -> {s:.3f}", i=i, s=s, ordered=True)
    return carry + s, s
total, scores = lax.scan(step, 0.0, (ids, xs))
jax.effects_barrier()
batched = jax.vmap(score)(ids, xs)
n_asked = dict(sorted(asked.items()))
order = jnp.argsort(scores)
margin = scores[order[-1]] - scores[order[-2]]
print(n_asked, jnp.allclose(batched, scores))
total, order, margin
---
lookup[0] = -1.0
---
verbose = False
---
ids = ids[::-1]; lookup = {0: 1.0, 1: 1.0, 2: 2.0}

### hc-numpy-checkpoint-copied-twice-then-one-donated
ckpt = {"w": np.ones(3, np.float32), "b": np.zeros(1, np.float32)}
train_step = jax.jit(lambda p: jax.tree.map(lambda a: a * 0.5, p), donate_argnums=0)
---
online = jax.tree.map(jnp.copy, ckpt)
target = jax.tree.map(jnp.copy, ckpt)
distinct = online["w"] is not target["w"]
distinct, online["w"].sum()
---
online = train_step(online); print(target["w"].is_deleted())

### hc-converters-of-columns-in-a-dict
columns = {"x": np.array([0, 1, 2], np.int32), "y": np.array([0.0, 1.0, 2.0], np.float32)}
convert = {"x": jnp.asarray, "y": partial(jnp.array)}
---
first = {k: convert[k](v) for k, v in columns.items()}
second = {k: convert[k](v) for k, v in columns.items()}
total = first["x"].sum() + second["y"].sum()
total, [first[k] is second[k] for k in columns]
---
columns["x"] = columns["x"] + 1

### hc-stop-gradient-of-a-numpy-target
target = np.array([0.0, 1.0, 2.0], np.float32)
---
frozen = lax.stop_gradient(target)
loss = jnp.sum((jnp.ones(3) - frozen) ** 2)
type(frozen).__name__, loss
---
target = target * 2

""",
)
