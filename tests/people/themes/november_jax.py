"""JAX's own means as it is published: devices and meshes, rules of derivatives, control flow, callbacks, precision, keys."""

from ..cell import written

PRELUDE = """
import contextlib, functools, itertools, math, operator, os, random, sys, threading, types, warnings
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial, reduce
from typing import Any, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr, tree_util as jtu
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
"""

CELLS = written(
    PRELUDE,
    r"""
### rn-global-rows-assembled-from-shards-put-on-each-device devices=4
devices = jax.devices()[:4]
mesh = Mesh(np.array(devices), ("rows",))
def assemble(x, mesh, spec):
    sharding = NamedSharding(mesh, spec)
    parts = [jax.device_put(x[idx], d) for d, idx in sharding.addressable_devices_indices_map(x.shape).items()]
    return jax.make_array_from_single_device_arrays(x.shape, sharding, parts)
X = np.arange(24, dtype=np.float32).reshape(8, 3)
w, spec = jnp.array([1.0, -1.0, 0.5]), P("rows")
---
G = assemble(X, mesh, spec)
y = jnp.tanh(G @ w)
per = {s.device.id: (s.index[0].start or 0, s.data.shape) for s in sorted(y.addressable_shards, key=lambda s: s.device.id)}
total = jax.jit(lambda a: a.sum(), out_shardings=NamedSharding(mesh, P()))(G)
print(per, y.sharding.spec, total.sharding.is_fully_replicated)
back = np.asarray(y)
y, total, back.dtype
---
X = X[::-1].copy()
---
spec = P()
---
w = jax.device_put(w, NamedSharding(mesh, P())); spec = P("rows")

### rn-shard-map-softmax-over-split-classes-with-pmax-and-psum devices=4
mesh = jax.make_mesh((2, 2), ("data", "cls"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
def local_xent(logits, labels):
    m = lax.pmax(lax.stop_gradient(logits.max(-1)), "cls")
    z = lax.psum(jnp.exp(logits - m[:, None]).sum(-1), "cls")
    first = lax.axis_index("cls") * logits.shape[-1]
    hit = (labels[:, None] == first + jnp.arange(logits.shape[-1]))
    picked = lax.psum(jnp.where(hit, logits, 0.0).sum(-1), "cls")
    return lax.pmean((jnp.log(z) + m - picked).mean(), "data")
xent = jax.shard_map(local_xent, mesh=mesh, in_specs=(P("data", "cls"), P("data")), out_specs=P())
X, labels = jr.normal(jr.key(0), (8, 4)), jnp.arange(8) % 6
W, lr = jnp.zeros((4, 6)), 0.5
---
W = jax.device_put(W, NamedSharding(mesh, P(None, "cls")))
losses = []
for _ in range(2):
    loss, g = jax.value_and_grad(lambda W: xent(X @ W, labels))(W)
    W = W - lr * g
    losses.append(loss)
check = -jax.nn.log_softmax(X @ W)[jnp.arange(8), labels].mean()
print([f"{float(l):.3f}" for l in losses], W.sharding.spec)
check - xent(X @ W, labels) < 1e-4, jnp.stack(losses)
---
lr = 0.1
---
labels = labels[::-1]
---
W = jnp.ones((4, 6)) * 0.1

### rn-pmap-ensemble-with-axis-names-and-unreplicated-best devices=4
n = 4
def init(key): return {"w": jr.normal(key, (3,)), "b": jnp.zeros(())}
@partial(jax.pmap, axis_name="ens", in_axes=(0, None, 0), static_broadcasted_argnums=())
def fit(p, data, lr):
    X, y = data
    def loss(p): return jnp.mean((X @ p["w"] + p["b"] - y) ** 2)
    for _ in range(2):
        p = jax.tree.map(lambda a, g: a - lr * g, p, jax.grad(loss)(p))
    mean = lax.pmean(p, "ens")
    spread = jnp.sqrt(sum(jnp.sum((a - b) ** 2) for a, b in zip(p.values(), mean.values())))
    return p, loss(p), spread
X = np.random.default_rng(0).normal(size=(10, 3)).astype("f"); y = X @ np.array([1.0, 0.0, -1.0], "f")
seed, lrs = 0, np.array([0.01, 0.05, 0.1, 0.2], np.float32)
---
params = jax.pmap(init)(jr.split(jr.PRNGKey(seed), n))
params, losses, spread = fit(params, (X, y), lrs)
best = int(losses.argmin())
chosen = jax.tree.map(lambda a: a[best], params)
print(best, losses.shape, len(losses.devices()), chosen["w"].shape)
losses, spread, chosen
---
lrs = lrs[::-1].copy()
---
seed = 5
---
y = -y

### rn-mesh-context-rules-for-logical-axes-and-constraints-in-a-block devices=8
mesh = jax.make_mesh((4, 2), ("dp", "tp"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
RULES = {"batch": "dp", "mlp": "tp", "embed": None}
def logical(*names): return P(*(RULES[n] if n else None for n in names))
def constrain(x, *names): return lax.with_sharding_constraint(x, NamedSharding(mesh, logical(*names)))
def block(p, x):
    h = constrain(x @ p["up"], "batch", "mlp")
    h = jax.nn.gelu(h)
    return constrain(h @ p["down"], "batch", "embed")
axes = {"up": ("embed", "mlp"), "down": ("mlp", "embed")}
params = {"up": jr.normal(jr.key(0), (4, 8)) * 0.3, "down": jr.normal(jr.key(1), (8, 4)) * 0.3}
x, depth = jr.normal(jr.key(2), (8, 4)), 2
---
placed = {k: jax.device_put(v, NamedSharding(mesh, logical(*axes[k]))) for k, v in params.items()}
xb = jax.device_put(x, NamedSharding(mesh, logical("batch", None)))
for _ in range(depth):
    xb = xb + jax.jit(block)(placed, xb)
grads = jax.grad(lambda p: (block(p, xb) ** 2).mean())(placed)
report = {k: (str(v.sharding.spec), v.addressable_shards[0].data.shape) for k, v in placed.items()}
print(report, len(xb.sharding.device_set))
xb, jax.tree.map(jnp.linalg.norm, grads)
---
depth = 1
---
RULES["mlp"] = None
---
x = x * 0; RULES["mlp"] = "tp"

### rn-round-robin-jobs-over-devices-committed-results-brought-home devices=4
pool = jax.devices()[:4]
class RoundRobin:
    def __init__(self, devices): self.cycle, self.used = itertools.cycle(devices), Counter()
    def __call__(self, f, *args):
        d = next(self.cycle)
        self.used[d.id] += 1
        with jax.default_device(d):
            return f(*(jax.device_put(a, d) for a in args))
def job(key, scale): return (scale * jr.normal(key, (16,))).std()
rr, n, scale = RoundRobin(pool), 6, 2.0
---
outs = [rr(job, k, scale) for k in jr.split(jr.key(n), n)]
where = [next(iter(o.devices())).id for o in outs]
home = jnp.stack([jax.device_put(o, pool[0]) for o in outs])
try:
    outs[0] + outs[1]
except ValueError as e:
    print("mixed devices:", "incompatible devices" in str(e))
print(where, dict(rr.used))
home, home.committed
---
n = 3
---
rr = RoundRobin(pool[:2])
---
scale = jnp.float32(0.5)

### rn-ring-of-halos-for-heat-on-devices-against-numpy devices=4
mesh = jax.make_mesh((4,), ("x",))
ring = [(i, (i + 1) % 4) for i in range(4)]
@partial(jax.shard_map, mesh=mesh, in_specs=(P("x"), P()), out_specs=P("x"))
def heat(u, a):
    left = lax.ppermute(u[-1:], "x", ring)
    right = lax.ppermute(u[:1], "x", [(d, s) for s, d in ring])
    full = jnp.concatenate([left, u, right])
    return u + a * (full[2:] - 2 * u + full[:-2])
u0, a, steps = np.sin(np.linspace(0, 2 * np.pi, 16, endpoint=False)), 0.2, 3
---
u = jax.device_put(jnp.asarray(u0, jnp.float32), NamedSharding(mesh, P("x")))
v = u0.copy()
for _ in range(steps):
    u = heat(u, jnp.float32(a))
    v += a * (np.roll(v, 1) - 2 * v + np.roll(v, -1))
err = bool(np.abs(np.asarray(u) - v).max() < 1e-5)
print(err, v.dtype, u.sharding.spec, u.shape)
u, round(float(v.max()), 4)
---
steps = 1
---
a = 0.4
---
u0 = u0 * 0 + np.arange(16) % 2

### rn-implicit-layer-by-custom-vjp-with-fixed-point-and-counts-outside
iterations = []
def fwd_solve(f, z, tol, limit):
    def cond(c): return (jnp.abs(c[0] - c[1]).max() > tol) & (c[2] < limit)
    def body(c): return f(c[0]), c[0], c[2] + 1
    return lax.while_loop(cond, body, (f(z), z, 1))
@partial(jax.custom_vjp, nondiff_argnums=(0,))
def fixed(f, p, x):
    z, _, n = fwd_solve(lambda z: f(p, x, z), jnp.zeros_like(x), 1e-5, 60)
    return z
def fixed_fwd(f, p, x):
    z = fixed(f, p, x)
    return z, (p, x, z)
def fixed_bwd(f, res, ct):
    p, x, z = res
    _, vjp_z = jax.vjp(lambda z: f(p, x, z), z)
    u, _, _ = fwd_solve(lambda u: vjp_z(u)[0] + ct, jnp.zeros_like(z), 1e-5, 60)
    _, vjp_px = jax.vjp(lambda p, x: f(p, x, z), p, x)
    return vjp_px(u)
fixed.defvjp(fixed_fwd, fixed_bwd)
def layer(p, x, z): return jnp.tanh(p["W"] @ z * 0.4 + x + p["b"])
p = {"W": jr.orthogonal(jr.key(0), 3), "b": jnp.array([0.1, 0.0, -0.1])}
x, lr = jnp.array([0.3, -0.2, 0.9]), 0.2
---
target = jnp.array([0.5, 0.0, 0.5])
for i in range(2):
    value, g = jax.value_and_grad(lambda p: jnp.sum((fixed(layer, p, x) - target) ** 2))(p)
    p = jax.tree.map(lambda w, d: w - lr * d, p, g)
    iterations.append(i)
z = fixed(layer, p, x)
print(len(iterations), jnp.allclose(z, layer(p, x, z), atol=1e-3))
z, value
---
lr = 0.0
---
x = -x
---
layer = lambda p, x, z: 0.3 * jnp.sin(p["W"] @ z) + x

### rn-custom-jvp-logistic-with-checks-by-finite-differences-and-hessian
@jax.custom_jvp
def xlogx(x): return jnp.where(x > 0, x * jnp.log(jnp.where(x > 0, x, 1.0)), 0.0)
@xlogx.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return xlogx(x), t * jnp.where(x > 0, 1 + jnp.log(jnp.where(x > 0, x, 1.0)), 0.0)
def entropy(logits): return -xlogx(jax.nn.softmax(logits)).sum()
def numeric(f, x, eps): return jnp.stack([(f(x + eps * e) - f(x - eps * e)) / (2 * eps) for e in jnp.eye(len(x))])
logits, eps = jnp.array([0.0, 1.0, 2.0, -1.0]), 1e-2
---
exact = jax.grad(entropy)(logits)
approx = numeric(entropy, logits, eps)
H = jax.jacfwd(jax.grad(entropy))(logits)
Hv = jax.jvp(jax.grad(entropy), (logits,), (jnp.ones_like(logits),))[1]
lin, tangent = jax.linearize(entropy, logits)
edge = jax.vmap(jax.grad(xlogx))(jnp.array([0.0, 1e-3, 1.0]))
print(jnp.allclose(exact, approx, atol=1e-2), bool(jnp.abs(Hv).max() < 1e-5), f"{lin:.3f}")
exact, edge, tangent(exact), jnp.allclose(H, H.T, atol=1e-6)
---
logits = logits * 3
---
eps = 0.1
---
logits = jnp.full(3, -50.0).at[0].set(50.0)

### rn-remat-policies-by-name-over-a-stack-with-checkpoint-names
from jax.ad_checkpoint import checkpoint_name
def layer(p, x):
    h = checkpoint_name(jnp.tanh(x @ p["a"]), "hidden")
    return x + checkpoint_name(h @ p["b"], "out")
policies = {"none": None, "hidden": jax.checkpoint_policies.save_only_these_names("hidden"),
            "dots": jax.checkpoint_policies.dots_with_no_batch_dims_saveable, "all": jax.checkpoint_policies.everything_saveable}
def loss(params, x, f):
    for p in params:
        x = f(p, x)
    return (x ** 2).mean()
params = [{"a": jr.normal(k, (4, 6)) * 0.3, "b": jr.normal(k, (6, 4)) * 0.3} for k in jr.split(jr.PRNGKey(0), 3)]
x, names = jr.normal(jr.PRNGKey(1), (5, 4)), ["none", "hidden", "dots"]
---
grads = {}
for name in names:
    f = layer if name == "plain" else jax.checkpoint(layer, policy=policies[name])
    grads[name] = jax.grad(loss)(params, x, f)
flat = {n: jnp.concatenate([l.ravel() for l in jax.tree.leaves(g)]) for n, g in grads.items()}
base = flat[names[0]]
agree = {n: bool(jnp.allclose(v, base, atol=1e-6)) for n, v in flat.items()}
print(agree, base.shape)
base[:4], jnp.linalg.norm(base)
---
names = ["plain", *names]
---
params.pop()
---
x = x[:1]; names = ["all"]

### rn-scan-with-dict-carry-early-freeze-and-stacked-outputs-unrolled
class Out(NamedTuple):
    loss: Any
    active: Any
def step(carry, batch):
    w, best, bad = carry["w"], carry["best"], carry["bad"]
    loss, g = jax.value_and_grad(lambda w: jnp.mean((batch @ w - 1.0) ** 2))(w)
    active = bad < carry["patience"]
    w = jnp.where(active, w - 0.2 * g, w)
    better = loss < best - 1e-2
    return {**carry, "w": w, "best": jnp.minimum(best, loss), "bad": jnp.where(better, 0, bad + 1)}, Out(loss, active)
batches = jr.normal(jr.key(1), (7, 5, 3))
patience, unroll = 2, 1
---
init = {"w": jnp.zeros(3), "best": jnp.inf, "bad": 0, "patience": patience}
final, out = lax.scan(step, init, batches, unroll=unroll)
stopped = int(out.active.sum())
reverse, rev = lax.scan(step, init, batches, reverse=True)
print(stopped, type(out).__name__, final["bad"].dtype, final["patience"])
out.loss, final["w"], reverse["best"]
---
patience = 1
---
unroll = 3
---
batches = jnp.tile(batches[:1], (4, 1, 1)); patience = jnp.int32(3)

### rn-switch-table-of-operators-over-programs-vmapped-and-interpreted
OPS = (lambda s: s, lambda s: (s[0] + s[1], s[1]), lambda s: (s[1], s[0]), lambda s: (s[0] * 0.5, s[1] + 1))
NAMES = {"nop": 0, "add": 1, "swap": 2, "half": 3}
def assemble(text): return jnp.array([NAMES[t] for t in text.split()])
def run(code, start):
    def body(i, s): return lax.switch(code[i], OPS, s)
    return lax.fori_loop(0, len(code), body, start)
def interpret(code, s):
    for op in code.tolist():
        s = OPS[op](s)
    return s
text, starts = "add swap half add", jnp.array([1.0, 2.0, -3.0])
---
code = assemble(text)
fast = jax.vmap(run, (None, (0, None)))(code, (starts, jnp.float32(1.0)))
slow = [interpret(code, (s, jnp.float32(1.0))) for s in starts]
same = all(jnp.allclose(fast[0][i], a) and jnp.allclose(fast[1][i], b) for i, (a, b) in enumerate(slow))
dydx = jax.grad(lambda s: run(code, (s, jnp.float32(1.0)))[0])(starts[0])
print(same, code.dtype, len(code))
fast, dydx
---
text += " half swap"
---
starts = starts[:1]
---
OPS = OPS[:3] + (lambda s: (s[0] - s[1], s[1] * 2),)

### rn-pure-callback-to-numpy-with-vmap-method-and-result-shapes
log = []
def host_sort(a):
    log.append(np.shape(a))
    return np.sort(np.asarray(a), axis=-1)[..., ::-1].copy()
def desc(x): return jax.pure_callback(host_sort, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims")
def topsum(x, k): return desc(x)[:k].sum()
X, k = jnp.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]]), 2
---
log.clear()
one = topsum(X[0], k)
many = jax.vmap(partial(topsum, k=k))(X)
jitted = jax.jit(topsum, static_argnums=1)(X[1], k)
jax.block_until_ready((one, many, jitted))
print(log[0], len(log))
one, many, jitted
---
k = 1
---
X = -X
---
X = jnp.tile(X, (2, 1)); k = 3

### rn-io-callback-ordered-writes-and-debug-callback-into-a-ring
from jax.experimental import io_callback
ring, written_ = deque(maxlen=5), []
def record(i, x):
    written_.append((int(i), round(float(x), 3)))
    return np.int32(len(written_))
def body(i, x):
    x = x * 0.5 + 1
    count = io_callback(record, jax.ShapeDtypeStruct((), jnp.int32), i, x.sum(), ordered=True)
    jax.debug.callback(lambda v: ring.append(float(v)), x[0])
    return x + 0.0 * count
x0, n = jnp.array([4.0, 0.0]), 3
---
written_.clear()
x = lax.fori_loop(0, n, body, x0)
x.block_until_ready()
jax.effects_barrier()
print(written_, len(ring))
x, max(ring)
---
n = 2
---
x0 = -x0
---
ring.clear(); n = 4

### rn-einsum-tensor-network-contracted-pairwise-with-letters
letters = iter("ijklmnop")
bonds = defaultdict(lambda: next(letters))
tensors = {"A": (("a", "b"), jr.normal(jr.key(0), (2, 3))), "B": (("b", "c"), jr.normal(jr.key(1), (3, 2))),
           "C": (("c", "a", "d"), jr.normal(jr.key(2), (2, 2, 4)))}
def subs(legs): return "".join(bonds[l] for l in legs)
def contract(net, out):
    items = list(net.values())
    while len(items) > 1:
        items.sort(key=lambda t: -t[1].size)
        (l1, t1), (l2, t2) = items.pop(), items.pop()
        rest = {l for legs, _ in items for l in legs} | set(out)
        keep = tuple(dict.fromkeys(l for l in (*l1, *l2) if l in rest))
        items.append((keep, jnp.einsum(f"{subs(l1)},{subs(l2)}->{subs(keep)}", t1, t2)))
    legs, t = items[0]
    return jnp.einsum(f"{subs(legs)}->{subs(out)}", t)
out = ("d",)
---
value = contract(tensors, out)
expr = ",".join(subs(l) for l, _ in tensors.values()) + "->" + subs(out)
direct = jnp.einsum(expr, *(t for _, t in tensors.values()), optimize="greedy")
path, info = jnp.einsum_path(expr, *(t for _, t in tensors.values()))
grad = jax.grad(lambda t: contract({**tensors, "A": (tensors["A"][0], t)}, out).sum())(tensors["A"][1])
print(len(expr), jnp.allclose(value, direct, atol=1e-4), len(path) > 1)
value, grad.shape
---
tensors["B"] = (tensors["B"][0], tensors["B"][1] * 2)
---
tensors["D"] = (("d",), jnp.arange(4.0)); out = ()
---
del tensors["D"]; out = ("d",)

### rn-keys-of-both-kinds-folded-by-name-impl-and-stored-as-data
import zlib
def named(key, *path): return reduce(jr.fold_in, (zlib.crc32(str(p).encode()) & 0x7FFFFFFF for p in path), key)
new, old = jr.key(0, impl="rbg"), jr.PRNGKey(0)
tree, drop = {"enc": {"w": (3, 2), "b": (2,)}, "dec": {"w": (2, 3)}}, 0.25
---
params = jtu.tree_map_with_path(lambda path, s: jr.truncated_normal(named(old, *(k.key for k in path)), -2, 2, s), tree,
                                is_leaf=lambda s: isinstance(s, tuple))
masks = jax.tree.map(lambda p: jr.bernoulli(named(new, p.shape), 1 - drop, p.shape), params)
data = np.asarray(jr.key_data(new))
again = jr.wrap_key_data(jnp.asarray(data), impl="rbg")
typed = jr.wrap_key_data(old)
same = bool((jr.bits(typed, (2,)) == jr.bits(old, (2,))).all())
print(jnp.issubdtype(new.dtype, jax.dtypes.prng_key), jnp.issubdtype(old.dtype, jax.dtypes.prng_key), data.shape, same, jr.key_impl(again))
params["enc"]["w"], jax.tree.map(jnp.sum, masks), jr.choice(typed, jnp.arange(5), (3,), replace=False)
---
old = jr.split(old)[0]
---
tree["dec"]["b"] = (3,)
---
drop = 0.9; new = jr.key(7, impl="rbg")

### rn-bfloat16-master-weights-and-stochastic-rounding-by-bits tolerance=2e-2
def stochastic_round(key, x):
    bits = lax.bitcast_convert_type(x, jnp.uint32)
    noise = jr.bits(key, x.shape, jnp.uint32) & jnp.uint32(0xFFFF)
    up = (bits + noise) & jnp.uint32(0xFFFF0000)
    return lax.bitcast_convert_type(up, jnp.float32).astype(jnp.bfloat16)
master, key, mode = jnp.linspace(-1, 1, 6), jr.PRNGKey(0), "nearest"
g = jnp.full(6, 2.0 ** -10)
---
w = master.astype(jnp.bfloat16)
for i, k in enumerate(jr.split(key, 8)):
    new = w.astype(jnp.float32) - g
    w = new.astype(jnp.bfloat16) if mode == "nearest" else stochastic_round(k, new)
exact = master - 8 * g
gap = (w.astype(jnp.float32) - exact)
stuck = int((w == master.astype(jnp.bfloat16)).sum())
info = jnp.finfo(jnp.bfloat16)
print(w.dtype, stuck, float(info.eps), info.bits)
jnp.abs(gap).max() < 0.05, w.shape
---
mode = "stochastic"
---
g = g * 64
---
master = master * 0 + 1; mode = "nearest"

### rn-x64-switched-for-a-block-and-dtype-table-of-promotions
def table(*kinds):
    return {f"{a.__name__}+{b.__name__}": jnp.promote_types(a, b).name for a, b in itertools.combinations(kinds, 2)}
x, wide = np.linspace(0, 1, 5), True
---
low = jnp.asarray(x).sum()
with jax.enable_x64(wide):
    high = jnp.asarray(x).sum()
    inside = (jnp.arange(3).dtype.name, jnp.asarray(1.5).dtype.name, (high * 2).dtype.name)
    tiny = float(jnp.asarray(1.0) + 1e-12 - 1.0)
after = jnp.arange(3).dtype.name
print(inside, after, tiny > 0, x.dtype)
low.dtype, high, table(jnp.int8, jnp.uint8, jnp.bfloat16, jnp.float16)["int8+uint8"], (x * 2).dtype
---
wide = False
---
x = x.astype(np.float32)
---
wide = True; x = np.arange(4)

### rn-tree-utilities-transposed-broadcast-prefix-and-none-leaves
history = [{"loss": 1.0, "acc": jnp.array(0.5), "extra": None}, {"loss": 0.5, "acc": jnp.array(0.75), "extra": None}]
params = {"a": (jnp.ones(2), jnp.zeros((2, 2))), "b": [jnp.arange(3.0)]}
scale = {"a": 0.1, "b": 2.0}
---
outer, inner = jax.tree.structure([0] * len(history)), jax.tree.structure(history[0])
columns = jax.tree.transpose(outer, inner, history)
means = jax.tree.map(lambda xs: sum(xs) / len(xs), columns, is_leaf=lambda v: isinstance(v, list))
full = jtu.broadcast_prefix(scale, params) if hasattr(jtu, "broadcast_prefix") else jax.tree.leaves(scale)
scaled = jax.tree.map(lambda s, sub: jax.tree.map(lambda x: s * x, sub), scale, params)
leaves, spec = jax.tree.flatten(scaled)
rebuilt = spec.unflatten(reversed([l.sum() for l in leaves]))
print(spec.num_leaves, len(columns["loss"]), columns["extra"], jax.tree.structure(history[0]).num_leaves)
means, rebuilt, jax.tree.reduce(lambda a, x: a + x.sum(), scaled, 0.0)
---
scale["a"] = (1.0, jnp.array(3.0))[0]
---
history.append({"loss": 0.1, "acc": jnp.array(0.9), "extra": None})
---
params["b"].append(jnp.ones(1))

### rn-sparse-bcoo-features-logistic-with-dot-general-and-grad-of-data
from jax.experimental import sparse
docs = ["red green blue", "green green", "blue blue red red", "black"]
vocab = {w: i for i, w in enumerate(sorted({w for d in docs for w in d.split()}))}
def encode(docs):
    idx, val = [], []
    for r, d in enumerate(docs):
        for w, c in Counter(d.split()).items():
            if w in vocab:
                idx.append((r, vocab[w])); val.append(float(c))
    return sparse.BCOO((jnp.array(val), jnp.array(idx)), shape=(len(docs), len(vocab)))
y, steps = jnp.array([1.0, 0.0, 1.0, 0.0]), 3
---
S = encode(docs)
w = jnp.zeros(len(vocab))
def nll(w, S): return jnp.mean(jnp.logaddexp(0.0, S @ w) - y[:S.shape[0]] * (S @ w))
for _ in range(steps):
    w = w - 0.5 * jax.grad(nll)(w, S)
gram = sparse.bcoo_dot_general(S, S.T, dimension_numbers=(((1,), (0,)), ((), ()))).todense() if S.nse < 9 else (S @ S.todense().T)
ranked = sorted(vocab, key=lambda t: -abs(float(w[vocab[t]])))
dense_grad = jax.grad(lambda data: nll(w, sparse.BCOO((data, S.indices), shape=S.shape)))(S.data)
print(S.nse, ranked[0], type(S).__name__, gram.shape)
w, dense_grad, gram.diagonal()
---
docs[3] = "black red red"
---
steps = 1
---
docs.pop(); y = y[:3]

### rn-associative-scan-of-affine-maps-and-cumulative-logsumexp
def compose(f, g): return f[0] * g[0], g[0] * f[1] + g[1]
def linear_recurrence(a, b, x0):
    A, B = lax.associative_scan(compose, (a, b))
    return A * x0 + B
def loop(a, b, x):
    out = []
    for ai, bi in zip(a, b):
        x = ai * x + bi
        out.append(x)
    return jnp.stack(out)
a, b, x0 = jnp.array([0.5, 2.0, -1.0, 0.1, 0.9]), jnp.arange(5.0), 3.0
---
fast, slow = linear_recurrence(a, b, x0), loop(a, b, x0)
running = lax.associative_scan(jnp.logaddexp, b, reverse=True)
sens = jax.grad(lambda x: linear_recurrence(a, b, x)[-1])(x0)
peaks = lax.associative_scan(jnp.maximum, fast)
print(jnp.allclose(fast, slow, atol=1e-5), type(sens).__name__, f"{sens:.3f}")
fast, running, peaks
---
x0 = -1.0
---
a = a * 0
---
b = jnp.append(b, 9.0); a = jnp.full(6, 0.5)

### rn-hessian-vector-lanczos-spectrum-of-a-raveled-network tolerance=1e-2
from jax.flatten_util import ravel_pytree
def net(p, x): return jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"]
params = {"w1": jr.normal(jr.key(0), (2, 4)), "b1": jnp.zeros(4), "w2": jr.normal(jr.key(1), (4, 1))}
X, Y = jr.normal(jr.key(2), (12, 2)), jr.normal(jr.key(3), (12, 1))
m = 4
---
flat, unravel = ravel_pytree(params)
loss = lambda v: jnp.mean((net(unravel(v), X) - Y) ** 2)
hvp = lambda v: jax.jvp(jax.grad(loss), (flat,), (v,))[1]
q = jnp.ones_like(flat) / jnp.sqrt(flat.size)
Q, alpha, beta = [q], [], []
for j in range(m):
    w = hvp(Q[-1])
    alpha.append(w @ Q[-1])
    for _ in range(2):
        w = w - sum((w @ v) * v for v in Q)
    beta.append(jnp.linalg.norm(w))
    if beta[-1] < 1e-6:
        break
    Q.append(w / beta[-1])
T = jnp.diag(jnp.stack(alpha)) + sum(jnp.diag(jnp.stack(beta[:-1]), k) for k in (-1, 1)) if len(alpha) > 1 else jnp.stack(alpha)[:, None]
ritz = jnp.linalg.eigvalsh(T)
print(flat.size, len(Q), T.shape)
ritz, loss(flat)
---
m = 2
---
Y = Y * 0
---
params = {k: v * 0.5 for k, v in params.items()}; m = 1

### rn-vmap-over-a-list-of-models-stacked-with-axes-dict-and-names
def make(key, kind): return {"w": jr.normal(key, (3, 2)), "t": jnp.float32(kind)}
def stack(models): return jax.tree.map(lambda *l: jnp.stack(l), *models)
def unstack(m): return [jax.tree.map(lambda l: l[i], m) for i in range(len(jax.tree.leaves(m)[0]))]
def score(m, x, mean): return jax.nn.softmax((x - mean) @ m["w"] / m["t"])
models, x = [make(k, t) for k, t in zip(jr.split(jr.key(0), 3), (0.5, 1.0, 2.0))], jr.normal(jr.key(9), (4, 3))
labels, mean = ["cold", "mid", "hot"], jnp.zeros(3)
---
both = jax.vmap(jax.vmap(score, in_axes=(None, 0, None)), in_axes=({"w": 0, "t": 0}, None, None))(stack(models), x, mean)
sharp = dict(zip(labels, both.max(-1).mean(-1)))
vote = jax.vmap(lambda p: jnp.bincount(p, length=2))(both.argmax(-1).T)
axis = jax.vmap(lambda v: v / jax.lax.psum(v, "e"), axis_name="e")(both.sum((1, 2)))
halves = unstack(stack(models))
print([f"{k}:{float(v):.2f}" for k, v in sharp.items()], halves[1]["t"] == models[1]["t"])
vote, axis, both.shape
---
models.append(make(jr.key(5), 9.0)); labels.append("melted")
---
mean = x.mean(0)
---
models = models[:2]; x = x[:1]

### rn-aot-lowered-cost-and-exported-function-called-with-other-shapes
from jax import export
def f(x, y): return jnp.sin(x) @ y
shapes = [(2, 3), (4, 3)]
y = jnp.ones((3, 2))
---
table = {}
for s in shapes:
    lowered = jax.jit(f).lower(jax.ShapeDtypeStruct(s, jnp.float32), y)
    compiled = lowered.compile()
    table[s] = (compiled(jnp.ones(s), y).sum(), "stablehlo.sine" in lowered.as_text(), jax.tree.structure(compiled.in_tree.unflatten([0, 0])) is not None)
b, = export.symbolic_shape("b")
exp = export.export(jax.jit(f))(jax.ShapeDtypeStruct((b, 3), jnp.float32), jax.ShapeDtypeStruct(y.shape, jnp.float32))
outs = [exp.call(jnp.full(s, 0.5), y) for s in shapes]
print([t[1] for t in table.values()], exp.in_avals[0].shape, len(exp.out_avals))
del exp, lowered, compiled
[t[0] for t in table.values()], [o.shape for o in outs], outs[0]
---
shapes.append((1, 3))
---
y = y * 2
---
f = lambda x, y: jnp.sin(x) @ y - 1.0

### rn-neural-tangent-kernel-and-influence-of-training-points tolerance=5e-3
def net(p, x):
    *hidden, (w, b) = p
    for wi, bi in hidden:
        x = jnp.tanh(x @ wi + bi)
    return (x @ w + b)[0]
def init(key, sizes): return [(jr.normal(k, (m, n)) / jnp.sqrt(m), jnp.zeros(n)) for k, m, n in zip(jr.split(key, len(sizes)), sizes, sizes[1:])]
def features(p, X): return jax.vmap(lambda x: jnp.concatenate([g.ravel() for g in jax.tree.leaves(jax.grad(net)(p, x))]))(X)
p, X, q = init(jr.key(0), [2, 6, 1]), jr.normal(jr.key(1), (8, 2)), jnp.array([[0.1, 0.2]])
y, ridge = jnp.sign(X[:, 0]), 0.1
---
J, Jq = features(p, X), features(p, q)
K = J @ J.T
alpha = jnp.linalg.solve(K + ridge * jnp.eye(len(X)), y - jax.vmap(partial(net, p))(X))
pred = net(p, q[0]) + (Jq @ J.T @ alpha)[0]
influence = (Jq @ J.T)[0] * alpha
top = sorted(range(len(X)), key=lambda i: -abs(float(influence[i])))[:2]
print(J.shape, len(set(top)), jnp.linalg.matrix_rank(K) <= len(X))
pred, influence, K.trace()
---
ridge = 1.0
---
q = q * -5
---
p = init(jr.key(4), [2, 3, 3, 1]); y = y * 2

### rn-strict-modes-and-disable-jit-with-flags-restored-in-finally
def risky(x): return jnp.log(x) + jnp.arange(x.shape[0])
x, flags = jnp.array([1.0, 2.0, 4.0]), {"jax_numpy_rank_promotion": "raise"}
---
before = {k: getattr(jax.config, k) for k in flags}
notes = []
try:
    for k, v in flags.items():
        jax.config.update(k, v)
    y = risky(x)
    z = y[None, :] + jnp.ones(3)
except (ValueError, TypeError, FloatingPointError) as e:
    notes.append(type(e).__name__)
    z = y
finally:
    for k, v in before.items():
        jax.config.update(k, v)
with jax.disable_jit():
    w = jax.jit(lambda a: a * 2 if float(a.sum()) > 3 else a)(x)
print(notes, jax.config.jax_numpy_rank_promotion, z.shape)
y, w
---
flags["jax_numpy_rank_promotion"] = "allow"
---
x = x / 10
---
flags = {}
""",
)
