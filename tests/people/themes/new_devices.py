"""Devices, meshes, transformations and programs by themselves: placements, donation, AOT, export, keys, samplers."""

from ..cell import written

PRELUDE = """
import functools, dataclasses, typing, math, itertools, warnings
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding, AxisType
x = jnp.arange(16.0).reshape(8, 2)
"""

CELLS = written(
    PRELUDE,
    r"""
### nde-data-parallel-training devices=4
mesh = jax.make_mesh((4,), ("data",), axis_types=(AxisType.Auto,))
repl, split = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
params = jax.device_put({"w": jnp.ones(2), "b": jnp.zeros(())}, repl)
@functools.partial(jax.jit, out_shardings=(repl, repl), donate_argnums=0)
def step(p, b):
    l, g = jax.value_and_grad(lambda p: jnp.mean((b["x"] @ p["w"] + p["b"] - b["y"]) ** 2))(p)
    return jax.tree.map(lambda a, d: a - 0.001 * d, p, g), l
losses = []
---
for i in range(3):
    batch = jax.device_put({"x": np.asarray(x) + i, "y": np.ones(8, np.float32)}, split)
    params, loss = step(params, batch)
    losses.append(loss)
print([f"{l:.2f}" for l in losses[-3:]], batch["x"].sharding.spec, params["w"].sharding.is_fully_replicated)
---
params = jax.device_put({"w": jnp.zeros(2), "b": jnp.ones(())}, repl)
---
losses = losses[-1:]
x = -x

### nde-fsdp-shard-params-by-size devices=4
mesh = jax.make_mesh((2, 2), ("dp", "mp"), axis_types=(AxisType.Auto,) * 2)
def spec_of(path, a):
    if a.ndim == 2 and a.shape[1] % 2 == 0:
        return P(None, "mp")
    return P()
params = {"k": jnp.ones((2, 4)), "b": jnp.zeros(4), "o": jnp.ones((4, 3))}
---
specs = jax.tree_util.tree_map_with_path(spec_of, params)
placed = jax.tree.map(lambda a, s: jax.device_put(a, NamedSharding(mesh, s)), params, specs)
xb = jax.device_put(x, NamedSharding(mesh, P("dp", None)))
h = jnp.tanh(xb @ placed["k"] + placed["b"])
out = h @ placed["o"]
g = jax.grad(lambda p: jnp.sum(jnp.tanh(xb @ p["k"] + p["b"]) @ p["o"]))(placed)
{k: str(v.sharding.spec) for k, v in placed.items()}, h.sharding, g["k"].sharding.spec, len(out.addressable_shards)
---
params["o"] = jnp.ones((4, 2))
---
specs, x = None, x[:4]

### nde-shard-map-psum-mean devices=4
mesh = Mesh(np.array(jax.devices()[:4]), ("i",))
def normalise(v):
    mean = lax.pmean(v.mean(0), "i")
    var = lax.pmean(((v - mean) ** 2).mean(0), "i")
    return (v - mean) / jnp.sqrt(var + 1e-6), lax.axis_index("i")[None]
---
f = jax.jit(jax.shard_map(normalise, mesh=mesh, in_specs=P("i"), out_specs=(P("i"), P("i"))))
z, who = f(x)
ref = (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-6)
ok = bool(jnp.allclose(z, ref, atol=1e-4))
blocks = [s.data.shape for s in z.addressable_shards]
ok, who.tolist(), blocks[0], len(z.sharding.device_set)
---
x = x * 10 + 3

### nde-default-device-round-robin devices=3
devs = jax.devices()[:3]
where = []
---
outs = []
for i, d in enumerate(devs):
    with jax.default_device(d):
        a = jnp.ones(4) * i
        outs.append(a + jax.random.uniform(jax.random.key(i), (4,)))
where.extend(next(iter(o.devices())).id for o in outs)
gathered = jnp.stack([jax.device_put(o, devs[0]) for o in outs])
print(where[-3:], gathered.device == devs[0])
gathered.sum()
---
devs = devs[::-1]

### nde-committed-mix-error devices=2
a = jax.device_put(x, jax.devices()[0])
b = jax.device_put(x, jax.devices()[1])
free = jnp.ones((8, 2))
---
try:
    c = a + b
except ValueError as e:
    c = "incompatible" in str(e)
d = b + free
e = a + np.ones(2)
f = jax.device_put(d, a.sharding) + e
c, d.devices() == b.devices(), free.committed, f.committed
---
b = jax.device_put(b, jax.devices()[0])

### nde-model-parallel-pipeline devices=2
stages = [(jax.devices()[i], jax.device_put(jnp.eye(2) * (i + 1), jax.devices()[i])) for i in range(2)]
acts = []
---
h = x
for dev, w in stages:
    h = jax.device_put(h, dev)
    h = jax.nn.gelu(h @ w)
    acts.append(h)
back = jax.device_put(h, stages[0][0]).sum()
[next(iter(a.devices())).id for a in acts[-2:]], back
---
stages.reverse()
---
acts.clear()
stages = stages[:1]

### nde-cpu-offload-and-numpy-view
host = []
---
for i in range(3):
    y = jnp.cos(x + i)
    host.append(np.asarray(y))
big = np.concatenate(host[-3:])
views = [h.flags.writeable for h in host[-3:]]
stat = jnp.percentile(jnp.asarray(big), jnp.array([10.0, 50.0, 90.0]))
views, big.shape, stat
---
host.clear(); x = x[:2]

### nde-aot-compile-and-cost
def f(a, b):
    return jnp.tanh(a @ b).sum(0)
compiled_for = {}
w = jnp.ones((2, 3))
---
if x.shape not in compiled_for:
    compiled_for[x.shape] = jax.jit(f).lower(x, w).compile()
run = compiled_for[x.shape]
y = run(x, w)
try:
    run(x[:1], w)
    err = None
except TypeError as e:
    err = type(e).__name__
out = y * 2
err, len(compiled_for), out
---
x = x[:4]
---
w = w * -1

### nde-jaxpr-shown-and-shape-only
def f(p, v):
    return jnp.dot(v, p["w"]) + p["b"]
p = {"w": jnp.ones(2), "b": 0.5}
---
text = str(jax.make_jaxpr(f)(p, x))
spec = jax.eval_shape(f, p, x)
n_eqns = text.count("=")
out = f(p, x) * n_eqns
buf = jnp.zeros(spec.shape, spec.dtype) + out
print(text.splitlines()[0][:12], spec)
buf.sum()
---
p["b"] = jnp.ones(8)
---
p["b"] = 1

### nde-donated-buffer-then-used
@functools.partial(jax.jit, donate_argnums=0)
def bump(v):
    return v + 1
v = jnp.zeros(4)
keep = []
---
old = v
v = bump(v)
keep.append(v.sum())
try:
    s = float(old.sum())
except RuntimeError as e:
    s = "deleted" in str(e)
s, old.is_deleted(), v
---
v = jnp.ones(3)

### nde-jit-static-and-retrace-prints
@functools.partial(jax.jit, static_argnames=("mode", "n"))
def f(v, mode="sum", n=1):
    print("tracing", mode, n, v.shape)
    return getattr(jnp, mode)(v) * n
mode, n = "sum", 1
---
a = f(x, mode=mode, n=n)
b = f(x, mode=mode, n=n)
c = f(x[:2], mode="max", n=2)
total = a + b + c
total
---
mode = "mean"
---
n = 2

### nde-key-tree-by-names
import zlib
class Keys:
    def __init__(self, seed):
        self.root, self.used = jax.random.key(seed), []
    def __getitem__(self, name):
        if name in self.used:
            raise KeyError(f"{name} used twice")
        self.used.append(name)
        return jax.random.fold_in(self.root, zlib.crc32(name.encode()) & 0x7FFFFFFF)
keys = Keys(0)
---
w = jax.random.normal(keys["w"], (2, 2))
mask = jax.random.bernoulli(keys["mask"], 0.5, (8, 2))
try:
    again = jax.random.normal(keys["w"], (2, 2))
except KeyError as e:
    again = str(e)
keys.used.clear()
y = jnp.where(mask, x, 0) @ w
again, jax.random.key_impl(keys.root), y.sum()
---
keys = Keys(5)

### nde-key-kinds-compared
old, new = jax.random.PRNGKey(3), jax.random.key(3)
---
same = bool((jax.random.key_data(new) == old).all())
a, b = jax.random.uniform(old, (3,)), jax.random.uniform(new, (3,))
new, *subs = jax.random.split(new, 4)
old, sub_old = jax.random.split(old)
batch = jax.vmap(lambda k: jax.random.choice(k, 5, (2,), replace=False))(jnp.stack(subs))
rb = jax.random.key(1, impl="rbg")
print(same, new.dtype, old.dtype, new.shape, rb.dtype)
bool((a == b).all()), batch.shape, sub_old.shape
---
new = jax.random.key(9); old = jax.random.PRNGKey(9)

### nde-blackjax-like-hmc
class HMCState(typing.NamedTuple):
    position: typing.Any
    logdensity: jax.Array
class HMCInfo(typing.NamedTuple):
    acceptance_rate: jax.Array
    is_accepted: jax.Array
class Algo(typing.NamedTuple):
    init: typing.Callable
    step: typing.Callable
def hmc(logdensity_fn, step_size, num_steps):
    def init(pos):
        return HMCState(pos, logdensity_fn(pos))
    def step(key, state):
        k1, k2 = jax.random.split(key)
        q, logp = state
        p0 = p = jax.random.normal(k1, q.shape)
        g = jax.grad(logdensity_fn)
        p = p + 0.5 * step_size * g(q)
        for i in range(num_steps):
            q = q + step_size * p
            if i < num_steps - 1:
                p = p + step_size * g(q)
        p = p + 0.5 * step_size * g(q)
        new = init(q)
        ratio = jnp.minimum(1.0, jnp.exp(new.logdensity - logp - 0.5 * (p @ p - p0 @ p0)))
        ok = jax.random.uniform(k2) < ratio
        return jax.tree.map(lambda a, b: jnp.where(ok, a, b), new, state), HMCInfo(ratio, ok)
    return Algo(init, step)
logp = lambda q: -0.5 * jnp.sum(q ** 2 / jnp.array([1.0, 4.0]))
eps = 0.2
key, state = jax.random.key(0), None
---
algo = hmc(logp, eps, 3)
state = algo.init(jnp.ones(2)) if state is None else state
key, sub = jax.random.split(key)
kernel = jax.jit(algo.step)
def one(state, k):
    state, info = kernel(k, state)
    return state, (state.position, info)
state, (samples, infos) = lax.scan(one, state, jax.random.split(sub, 5))
print(f"accepted {infos.acceptance_rate.mean():.2f}, {int(infos.is_accepted.sum())} of {len(samples)}")
mean = samples.mean(0)
---
eps = 1.5
---
state = HMCState(jnp.zeros(2), jnp.zeros(()))

### nde-adaptive-step-size-dual-averaging
log_eps, log_avg, h, t = jnp.log(0.5), 0.0, 0.0, 0
accepts = [0.2, 0.9, 0.6]
trail = []
---
for a in accepts:
    t += 1
    h = (1 - 1 / (t + 10)) * h + (0.8 - a) / (t + 10)
    log_eps = math.log(10 * 0.5) - math.sqrt(t) / 0.05 * h
    eta = t ** -0.75
    log_avg = eta * log_eps + (1 - eta) * log_avg
    trail.append(jnp.exp(log_avg))
print(t, f"{math.exp(log_eps):.3g}", f"{trail[-1]:.3g}")
type(h).__name__, type(log_avg).__name__
---
accepts = [jnp.float32(0.7)]
---
t, h = 0, 0.0

### nde-distrax-like-bijectors
class Bijector:
    def forward_and_log_det(self, v): raise NotImplementedError
    def forward(self, v): return self.forward_and_log_det(v)[0]
class Affine(Bijector):
    def __init__(self, a, b): self.a, self.b = a, b
    def forward_and_log_det(self, v): return v * self.a + self.b, jnp.log(jnp.abs(self.a)) * jnp.ones_like(v)
class Softplus(Bijector):
    def forward_and_log_det(self, v): return jax.nn.softplus(v), -jax.nn.softplus(-v)
class Chain(Bijector):
    def __init__(self, parts): self.parts = list(parts)
    def forward_and_log_det(self, v):
        ld = jnp.zeros_like(v)
        for p in reversed(self.parts):
            v, d = p.forward_and_log_det(v)
            ld = ld + d
        return v, ld
chain = Chain([Softplus(), Affine(2.0, -0.5)])
---
y, ld = chain.forward_and_log_det(x[:, 0] / 8)
check = jnp.log(jax.vmap(jax.grad(lambda v: chain.forward(v)))(x[:, 0] / 8))
ok = jnp.allclose(ld, check, atol=1e-3)
chain.parts[1].a = chain.parts[1].a + jnp.mean(y) * 0.01
bool(ok), type(chain.parts[1].a).__name__, ld.sum()
---
chain.parts.insert(0, Affine(jnp.float32(0.1), 3))

### nde-jaxopt-like-solver-state
class SolverState(typing.NamedTuple):
    iter_num: int
    error: typing.Any
    velocity: typing.Any
@dataclasses.dataclass(eq=False)
class GradientDescent:
    fun: typing.Callable
    stepsize: float = 0.1
    maxiter: int = 20
    tol: float = 1e-2
    verbose: bool = False
    def init_state(self, p): return SolverState(0, jnp.inf, jnp.zeros_like(p))
    def update(self, p, s, *args):
        g = jax.grad(self.fun)(p, *args)
        v = 0.5 * s.velocity - self.stepsize * g
        return p + v, SolverState(s.iter_num + 1, jnp.linalg.norm(g), v)
    def run(self, p, *args):
        s = self.init_state(p)
        while s.iter_num < self.maxiter and s.error > self.tol:
            p, s = self.update(p, s, *args)
            if self.verbose:
                print(f"{s.iter_num}: {s.error:.4f}")
        return p, s
solver = GradientDescent(lambda p, t: jnp.sum((p - t) ** 2), stepsize=0.3)
target = jnp.array([1.0, -1.0])
---
p, s = solver.run(jnp.zeros(2), target)
print(s.iter_num, bool(s.error <= solver.tol))
p
---
solver.verbose, solver.maxiter = True, 3
---
solver = dataclasses.replace(solver, stepsize=0.01, verbose=False)

### nde-chex-like-asserts
def assert_shape(v, shape):
    if v.shape != shape:
        raise AssertionError(f"shape {v.shape} != {shape}")
def assert_trees_all_close(a, b, rtol=1e-5):
    bad = [jax.tree_util.keystr(p) for (p, u), w in zip(jax.tree_util.tree_leaves_with_path(a), jax.tree.leaves(b)) if not np.allclose(u, w, rtol=rtol)]
    assert not bad, f"differ at {bad}"
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Params:
    w: typing.Any
    b: typing.Any
    name: str = dataclasses.field(metadata=dict(static=True), default="p")
p = Params(jnp.ones(2), jnp.zeros(()))
---
y = x @ p.w + p.b
assert_shape(y, (8,))
q = jax.tree.map(lambda a: a * 1.1, p)
try:
    assert_trees_all_close(p, q)
    verdict = "same"
except AssertionError as e:
    verdict = str(e)
verdict, q.name, y.sum()
---
p.w = jnp.zeros(2)
---
p = Params(p.w, p.b, name="other")

### nde-vmap-nested-with-axes
def kernel(a, b, ls): return jnp.exp(-jnp.sum((a - b) ** 2) / ls)
ls = jnp.array([1.0, 10.0])
---
gram = jax.vmap(jax.vmap(jax.vmap(kernel, (None, None, 0)), (None, 0, None)), (0, None, None))(x / 8, x[:3] / 8, ls)
moved = jax.vmap(lambda g: jnp.trace(g[:3]), in_axes=-1, out_axes=0)(gram)
per = jax.vmap(lambda d: d["a"] * d["c"], in_axes=({"a": 0, "c": None},))({"a": x, "c": 2.0})
named = jax.vmap(lambda v: v / lax.psum(v, "n"), axis_name="n")(x + 1)
gram.shape, moved, per.sum(), named.sum(0)
---
ls = jnp.array([5.0])

### nde-hessian-vector-and-newton-cg
def f(w): return jnp.sum(jnp.log1p(jnp.exp(-(x / 8) @ w))) + 0.5 * w @ w
w = jnp.zeros(2)
---
def hvp(v):
    return jax.jvp(jax.grad(f), (w,), (v,))[1]
g = jax.grad(f)(w)
d, info = jax.scipy.sparse.linalg.cg(hvp, -g, maxiter=5)
w = w + d
newton_dec = -g @ d / 2
H = jax.hessian(f)(w)
done = newton_dec < 1e-3
print(f"decrement {newton_dec:.5f} done {done}")
info is None, jnp.linalg.cond(H) > 1
---
w = jnp.ones(2) * 5

### nde-cond-with-captured-and-operands
bias = jnp.float32(1)
train = True
def branchy(v, flag):
    return lax.cond(flag, lambda v: v * 2 + bias, lambda v: v - bias, v)
---
a = branchy(x, train)
b = branchy(x, x.sum() > 1000)
sel = lax.select(x > 3, x, -x)
idx = jnp.array(2)
sw = lax.switch(idx, [jnp.sin, jnp.cos, lambda v: v * bias], x)
flags = jax.vmap(branchy)(x, jnp.arange(8) % 2 == 0)
(a.sum(), b.sum(), sw.sum()), flags[0]
---
train = jnp.array(False)
---
bias = bias + 4

### nde-expectation-by-reparam-and-score
theta = jnp.array([0.5, -0.2])
n = 16
key = jax.random.key(3)
---
def sample(theta, k): return theta[0] + jnp.exp(theta[1]) * jax.random.normal(k, (n,))
def reparam(theta, k): return jnp.mean(sample(theta, k) ** 2)
def score(theta, k):
    z = lax.stop_gradient(sample(theta, k))
    lp = jax.scipy.stats.norm.logpdf(z, theta[0], jnp.exp(theta[1]))
    return jnp.mean(lp * z ** 2)
key, k1, k2 = jax.random.split(key, 3)
g1, g2 = jax.grad(reparam)(theta, k1), jax.grad(score)(theta, k2)
theta = theta - 0.01 * g1
var = jax.vmap(lambda k: jax.grad(score)(theta, k))(jax.random.split(k2, 4)).var(0)
print(g1.shape, bool((var > 0).all()))
---
n = 4

### nde-config-flags-in-cell
prev = jax.config.jax_default_matmul_precision
---
jax.config.update("jax_default_matmul_precision", "highest")
try:
    y = x.T @ x
    inside = jax.config.jax_default_matmul_precision
finally:
    jax.config.update("jax_default_matmul_precision", prev)
with jax.numpy_dtype_promotion("strict"):
    try:
        bad = jnp.int32(1) + jnp.float32(1)
    except Exception as e:
        bad = type(e).__name__
inside, bad, jax.config.jax_default_matmul_precision, y
---
x = x[:3]

### nde-enable-x64-block
eps32 = jnp.finfo(x.dtype).eps
---
with jax.enable_x64(True):
    hi = jnp.asarray(np.pi) + jnp.asarray(1e-12)
    cnt = jnp.arange(3)
    err = float(hi - np.pi)
lo = jnp.asarray(np.pi) + 1e-12
mix = hi.astype(jnp.float32) * lo
print(hi.dtype, cnt.dtype, lo.dtype, err > 0)
mix
---
eps32 = 0

### nde-profile-timers-and-live
times = {}
class Timer:
    def __init__(self, name): self.name = name
    def __enter__(self):
        self.t = 0
        return self
    def __exit__(self, *a): times.setdefault(self.name, []).append(True)
    def stop_when(self, v):
        jax.block_until_ready(v)
        return v
---
with Timer("matmul") as t:
    y = t.stop_when(x @ x.T)
with Timer("inv"):
    z = jnp.linalg.inv(y + 10 * jnp.eye(len(y))).block_until_ready()
with jax.named_scope("post"), jax.profiler.TraceAnnotation("post"):
    s = jnp.trace(z)
{k: len(v) for k, v in times.items()}, s
---
times.clear()

### nde-tree-arithmetic-with-none-and-paths
tree = {"a": x, "b": (None, [jnp.ones(2), 3]), "c": {}}
---
flat, treedef = jax.tree.flatten(tree)
doubled = jax.tree.unflatten(treedef, [f * 2 for f in flat])
tr = jax.tree.transpose(jax.tree.structure([0, 0]), jax.tree.structure({"u": 0}), [{"u": 1.0}, {"u": x[0, 0]}])
paths = ["".join(map(str, p)) for p, _ in jax.tree_util.tree_leaves_with_path(doubled)]
red = jax.tree.reduce(lambda s, v: s + jnp.sum(v), doubled, 0.0)
same = jax.tree.structure(doubled) == treedef
paths, same, type(doubled["b"][1][1]).__name__, tr, red
---
tree["c"]["new"] = jnp.float32(5)
---
tree["b"] = None

### nde-ref-counters-mutable-array
from jax import new_ref
ref = new_ref(jnp.zeros(4))
count = 0
---
for i in range(3):
    ref[i] += x[i, 1]
    count += 1
@jax.jit
def bump(r, v):
    r[...] = r[...] * 0.5 + v
bump(ref, 1.0)
val = ref[...]
count, val.sum()
---
ref[...] = jnp.ones(4)
""",
)
