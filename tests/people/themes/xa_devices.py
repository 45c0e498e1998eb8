"""Several devices: data and model parallel steps, replicas, checkpoints of sharded state and moves between meshes."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, functools, itertools, json, math, os, pickle, types
from functools import partial
from pathlib import Path
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding
"""

CELLS = written(
    PRELUDE,
    r"""
### xa-d-data-parallel-sgd-with-batch-put-per-step-and-params-replicated devices=4
mesh = jax.make_mesh((4,), ("data",), axis_types=(AxisType.Auto,)); rep, bsh = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
X = np.arange(32, dtype=np.float32).reshape(16, 2) / 16; y = X @ np.array([1.0, -2.0], np.float32)
w = jax.device_put(jnp.zeros(2), rep); bs = 8; lr = 0.1
---
for i in range(0, len(X), bs):
    xb, yb = jax.device_put((X[i:i + bs], y[i:i + bs]), bsh)
    l, g = jax.value_and_grad(lambda w: jnp.mean((xb @ w - yb) ** 2))(w)
    w = w - lr * g
print(w.sharding.spec, xb.sharding.spec, l.sharding.is_fully_replicated, [s.data.shape for s in xb.addressable_shards][:2])
w, l
---
bs = 4
---
w = jnp.zeros(2)
---
lr = jnp.float32(0.5)

### xa-d-fsdp-rule-by-largest-axis-and-report-of-bytes-per-device devices=4
mesh = jax.make_mesh((4,), ("fsdp",), axis_types=(AxisType.Auto,)); params = {"emb": jnp.ones((8, 3)), "b": jnp.zeros(3), "w": jnp.ones((2, 12))}; min_size = 8
---
def rule(a):
    if a.size < min_size: return P()
    i = int(np.argmax([d if d % 4 == 0 else 0 for d in a.shape]))
    return P(*[None] * i, "fsdp") if a.shape[i] % 4 == 0 else P()
specs = jax.tree.map(rule, params)
sharded = jax.tree.map(lambda a, s: jax.device_put(a, NamedSharding(mesh, s)), params, specs)
per = collections.Counter()
for leaf in jax.tree.leaves(sharded):
    for s in leaf.addressable_shards: per[s.device.id] += s.data.nbytes
h = jnp.tanh(sharded["emb"][jnp.array([1, 5])] + sharded["b"])
print(specs, dict(per))
h, sharded["w"].sum(0)
---
min_size = 1000
---
params["emb"] = jnp.ones((8, 4)) * 2

### xa-d-pmap-style-replicas-by-shard-map-with-per-device-keys-and-pmean devices=4
mesh = Mesh(np.array(jax.devices()[:4]), ("r",)); keys = jax.random.split(jax.random.key(0), 4); w = jnp.ones(3); scale = 0.1
---
@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("r")), out_specs=(P(), P("r")))
def step(w, key):
    noise = jax.random.normal(key[0], w.shape) * scale
    l = jnp.sum((w + noise) ** 2)
    return w - 0.1 * lax.pmean(2 * (w + noise), "r"), l[None]
hist = []
for i in range(2):
    w, ls = step(w, jax.vmap(jax.random.fold_in, (0, None))(keys, i)); hist.append(ls)
print(w.sharding.spec, ls.sharding.spec, len(hist))
w, jnp.stack(hist)
---
scale = 0
---
keys = keys[::-1]

### xa-d-round-robin-jobs-on-devices-results-gathered-on-the-first devices=4
devs = jax.devices()[:4]; jobs = [jnp.full((2, 2), float(i)) for i in range(6)]
---
placed = [jax.device_put(j, devs[i % len(devs)]) for i, j in enumerate(jobs)]
outs = [jnp.linalg.norm(p @ p.T + 1) for p in placed]
where = [list(o.devices())[0].id for o in outs]
try: bad = outs[0] + outs[1]
except ValueError as e: bad = type(e).__name__
tot = sum(jax.device_put(o, devs[0]) for o in outs)
print(where, bad, tot.committed, list(tot.devices())[0].id)
tot
---
devs = devs[::-1]
---
jobs.pop(); devs = devs[:1]

### xa-d-sharded-checkpoint-one-file-per-shard-then-restored-on-another-mesh devices=8
m1 = Mesh(np.array(jax.devices()[:4]), ("x",)); m2 = Mesh(np.array(jax.devices()).reshape(2, 4), ("a", "b")); w = jax.device_put(jnp.arange(16.0).reshape(8, 2), NamedSharding(m1, P("x")))
---
d = Path("ck"); d.mkdir(exist_ok=True)
for s in w.addressable_shards: np.save(d / f"{s.device.id}.npy", s.data)
index = {s.device.id: [(sl.start, sl.stop) for sl in s.index] for s in w.addressable_shards}
(d / "index.json").write_text(json.dumps(index))
full = np.concatenate([np.load(d / f"{i}.npy") for i in sorted(index)])
r = jax.make_array_from_callback(full.shape, NamedSharding(m2, P("b", "a")), lambda ix: full[ix])
y = r @ jnp.ones(2)
print(index[0], sorted(p.name for p in d.iterdir())[:3], y.sharding.spec)
r, y
---
w = w * 2
---
w = jax.device_put(w[:4], NamedSharding(m1, P("x")))

### xa-d-mesh-context-with-constraints-in-an-mlp-and-spec-table devices=8
mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Auto,) * 2); rules = {"batch": "data", "hidden": "model", "out": None}
c = lambda a, *names: lax.with_sharding_constraint(a, NamedSharding(mesh, P(*[rules.get(n) for n in names])))
W1, W2 = jnp.ones((3, 4)) * 0.1, jnp.ones((4, 2)); x = jnp.arange(24.0).reshape(8, 3)
---
h = c(jax.nn.relu(c(x, "batch", None) @ c(W1, None, "hidden")), "batch", "hidden")
y = c(h @ c(W2, "hidden", "out"), "batch", "out")
table = {n: str(a.sharding.spec) for n, a in {"h": h, "y": y}.items()}
shard = h.addressable_data(0)
print(table, shard.shape, len(y.addressable_shards))
y
---
rules["hidden"] = None
---
rules["batch"] = ("data", "model"); rules["hidden"] = None

### xa-d-explicit-axis-types-reshard-and-typeof-in-a-loop devices=4
mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2); a = jnp.arange(16.0).reshape(4, 4); spec = P("x", "y")
---
with jax.set_mesh(mesh):
    s = jax.device_put(a, NamedSharding(mesh, spec))
    t = jnp.sin(s) + s.T if spec == P(None, None) else jnp.sin(s)
    u = jax.sharding.reshard(t, P(None, "y"))
    kinds = [str(jax.typeof(v)) for v in (s, t, u)]
print(kinds)
u.sum(0)
---
spec = P(None, None)
---
spec = P("y")

### xa-d-ring-allreduce-by-ppermute-written-out-and-compared-with-psum devices=4
mesh = Mesh(np.array(jax.devices()[:4]), ("i",)); x = jnp.arange(8.0); n = 4
---
def ring(v):
    acc, cur = v, v
    for _ in range(n - 1):
        cur = lax.ppermute(cur, "i", [(j, (j + 1) % n) for j in range(n)]); acc = acc + cur
    return acc
f = jax.shard_map(ring, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
g = jax.shard_map(lambda v: lax.psum(v, "i"), mesh=mesh, in_specs=P("i"), out_specs=P())
a, b = f(x), g(x)
ok = bool((a.reshape(n, -1) == b).all())
print(ok, a.sharding.spec, b.sharding.spec)
a
---
x = x[::-1] * 0.5
---
x = jax.device_put(x, NamedSharding(mesh, P("i")))

### xa-d-domain-decomposition-heat-with-halo-exchange-and-edges devices=4
mesh = Mesh(np.array(jax.devices()[:4]), ("p",)); u = jnp.zeros(16).at[8].set(1.0); alpha, steps = 0.25, 3
---
def local(u):
    i = lax.axis_index("p")
    l = lax.ppermute(u[-1:], "p", [(k, k + 1) for k in range(3)]); r = lax.ppermute(u[:1], "p", [(k + 1, k) for k in range(3)])
    e = jnp.concatenate([l, u, r])
    return u + alpha * (e[2:] - 2 * u + e[:-2])
step = jax.jit(jax.shard_map(local, mesh=mesh, in_specs=P("p"), out_specs=P("p")))
mass = []
for _ in range(steps): u = step(u); mass.append(float(u.sum()))
print([round(m, 4) for m in mass], u.sharding.spec)
u
---
alpha = 0.5
---
steps = 1; u = u * 2
---
u = jnp.ones(16)

### xa-d-committed-uncommitted-and-default-device-mix-in-a-class devices=4
class Model:
    def __init__(self, dev): self.dev = dev; self.w = jax.device_put(jnp.ones(2), dev); self.b = jnp.zeros(2)
    def __call__(self, x): return jnp.asarray(x) * self.w + self.b
    def to(self, dev): self.dev = dev; self.w = jax.device_put(self.w, dev); return self
m = Model(jax.devices()[1]); x = np.array([1.0, 2.0], np.float32)
---
y = m(x)
with jax.default_device(jax.devices()[2]): z = jnp.ones(2) * 3; q = m.b + 1
m.b = m.b + y
info = [(list(a.devices())[0].id, a.committed) for a in (y, z, q, m.b)]
print(info)
y
---
m.to(jax.devices()[3]); m.b = jnp.zeros(2)
---
m.b = jax.device_put(m.b, jax.devices()[3])

### xa-d-expert-parallel-all-to-all-routing-with-capacity devices=4
mesh = Mesh(np.array(jax.devices()[:4]), ("e",)); tok = jnp.arange(32.0).reshape(16, 2); We = jnp.stack([jnp.eye(2) * (i + 1) for i in range(4)])
---
def moe(t, w):
    d = t.reshape(4, 1, 2)
    r = lax.all_to_all(d, "e", 0, 0)
    h = jnp.einsum("nkd,df->nkf", r, w[0])
    return lax.all_to_all(h, "e", 0, 0).reshape(4, 2)
out = jax.shard_map(moe, mesh=mesh, in_specs=(P("e"), P("e")), out_specs=P("e"))(tok, We)
load = jnp.linalg.norm(out, axis=1)
print(out.sharding.spec, load.shape, load.sharding.spec)
out
---
We = We[::-1]
---
tok = jax.device_put(tok, NamedSharding(mesh, P("e")))

### xa-d-optimizer-state-sharded-like-params-with-adam-written-out devices=4
mesh = jax.make_mesh((4,), ("z",), axis_types=(AxisType.Auto,)); sh = NamedSharding(mesh, P("z")); w = jax.device_put(jnp.arange(8.0), sh)
st = {"m": jnp.zeros_like(w), "v": jnp.zeros_like(w), "t": 0}
---
for _ in range(2):
    g = 2 * w
    st["t"] += 1
    st["m"] = 0.9 * st["m"] + 0.1 * g; st["v"] = 0.99 * st["v"] + 0.01 * g ** 2
    w = w - 0.1 * (st["m"] / (1 - 0.9 ** st["t"])) / (jnp.sqrt(st["v"] / (1 - 0.99 ** st["t"])) + 1e-8)
nrm = jnp.linalg.norm(w)
print(st["t"], st["m"].sharding == sh, w.sharding.spec, nrm.sharding.is_fully_replicated)
w
---
st["t"] = 0
---
st = {"m": jnp.zeros(8), "v": jnp.zeros(8), "t": 5}
---
w = jax.device_put(w, NamedSharding(mesh, P()))

### xa-d-vmap-over-replicas-spread-by-device-put-and-best-picked devices=8
mesh = jax.make_mesh((8,), ("rep",), axis_types=(AxisType.Auto,)); lrs = jnp.linspace(0.01, 0.4, 8); t = jnp.array([1.0, -1.0]); n = 3
---
lr = jax.device_put(lrs, NamedSharding(mesh, P("rep")))
def train(lr):
    w = jnp.zeros(2)
    for _ in range(n): w = w - lr * jax.grad(lambda w: jnp.sum((w - t) ** 2))(w)
    return w, jnp.sum((w - t) ** 2)
W, L = jax.vmap(train)(lr)
i = int(jnp.argmin(L)); best = W[i]
print(i, W.sharding.spec, L.sharding.spec, best.sharding, best.committed) if False else print(i, W.shape)
W, best
---
n = 5
---
lrs = lrs[::-1]

### xa-d-host-local-batch-to-global-and-per-shard-statistics devices=4
mesh = jax.make_mesh((2, 2), ("a", "b"), axis_types=(AxisType.Auto,) * 2); raw = np.arange(24, dtype=np.float32).reshape(4, 6); spec = P("a", "b")
---
g = jax.make_array_from_process_local_data(NamedSharding(mesh, spec), raw)
stats = {str(s.index): (float(s.data.mean()), s.replica_id) for s in g.addressable_shards}
col = (g - g.mean(0)) / (g.std(0) + 1e-6)
back = np.asarray(col)
print(len(stats), stats[str(g.addressable_shards[0].index)], col.sharding.spec, back.shape)
col
---
spec = P(None, "b")
---
raw = raw[:2]; spec = P("a")

### xa-d-error-when-axis-does-not-divide-caught-and-padded devices=4
mesh = Mesh(np.array(jax.devices()[:4]), ("d",)); sh = NamedSharding(mesh, P("d")); x = jnp.arange(6.0)
---
try: xs = jax.device_put(x, sh); pad = 0
except ValueError as e:
    pad = -len(x) % 4
    xs = jax.device_put(jnp.pad(x, (0, pad)), sh)
y = jnp.cumsum(xs ** 2)
y = y[: len(y) - pad] if pad else y
print(pad, xs.sharding.spec)
y
---
x = jnp.arange(8.0)
---
x = jnp.arange(3)
""",
)
