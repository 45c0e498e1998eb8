"""Arrays and meshes over several devices that do not go together."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "sharding",
    r"""
### sharding-batch-of-19 raises=IndivisibleError line=2 devices=4
# https://github.com/Physical-Intelligence/openpi/issues/607
mesh = Mesh(np.array(jax.devices()[:4]).reshape(4, 1), ("batch", "fsdp"))
---
frames = jnp.zeros((19, 10, 32))
placed = jax.device_put(frames, NamedSharding(mesh, P(("batch", "fsdp"))))
---
frames = jnp.zeros((20, 10, 32))
placed = jax.device_put(frames, NamedSharding(mesh, P(("batch", "fsdp"))))
---
cause: 19; 4; divisible|divide|evenly|multiple; dimension 0|axis 0|first dimension|first axis; batch
names: frames
fix: multiple of 4|divisible by 4|20|16|pad|drop

### sharding-out-of-jit raises=IndivisibleError line=6 devices=8
# https://github.com/jax-ml/jax/issues/27808
mesh = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("x", "y"))
---
@functools.partial(jax.jit, out_shardings=NamedSharding(mesh, P("x")))
def centred(signal):
    return signal - signal.mean()

signal = jnp.arange(5.0)
flat = centred(signal)
---
@functools.partial(jax.jit, out_shardings=NamedSharding(mesh, P("x")))
def centred(signal):
    return signal - signal.mean()

signal = jnp.arange(8.0)
flat = centred(signal)
---
cause: 5; 4; divisible|divide|evenly|multiple; out_shardings|output|result; x
names: centred
fix: multiple of 4|divisible by 4|8|pad|P()|replicate

### sharding-unknown-axis raises=ValueError line=2 devices=8
# https://github.com/jax-ml/jax/issues/18255
mesh = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("data", "tensor"))
---
w_up = jnp.ones((64, 256))
w_up = jax.device_put(w_up, NamedSharding(mesh, P(None, "model")))
---
w_up = jnp.ones((64, 256))
w_up = jax.device_put(w_up, NamedSharding(mesh, P(None, "tensor")))
---
cause: model; data; tensor; no axis|not an axis|not found|does not have|unknown|has no|not one of
names: mesh
fix: "tensor"|'tensor'|tensor|data

### sharding-axis-twice raises=DuplicateSpecError line=2 devices=4
# https://docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html
mesh = Mesh(np.array(jax.devices()[:4]), ("x",))
---
table = jnp.ones((16, 16))
table = jax.device_put(table, NamedSharding(mesh, P("x", "x")))
---
table = jnp.ones((16, 16))
table = jax.device_put(table, NamedSharding(mesh, P("x", None)))
---
cause: x; twice|two dimensions|more than one|both|at most one|duplicate|only once|one dimension
names:
fix: None|one of them|only one|two axes|second axis|another axis

### sharding-mesh-of-16 raises=ValueError line=1 devices=8
# https://docs.jax.dev/en/latest/_autosummary/jax.make_mesh.html
assert jax.device_count() == 8
---
mesh = jax.make_mesh((4, 4), ("data", "model"))
rows = NamedSharding(mesh, P("data"))
---
mesh = jax.make_mesh((4, 2), ("data", "model"))
rows = NamedSharding(mesh, P("data"))
---
cause: 16; 8; device
names:
fix: (4, 2)|(2, 4)|product|8

### sharding-mesh-one-dimension raises=ValueError line=1 devices=8
# https://docs.jax.dev/en/latest/jax.sharding.html
---
mesh = Mesh(jax.devices()[:8], ("data", "model"))
placed = jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P("data", "model")))
---
mesh = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("data", "model"))
placed = jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P("data", "model")))
---
cause: data; model; two|2; one|1-d|1; dimension|axes|axis
names:
fix: reshape|make_mesh

### sharding-spec-longer-than-rank raises=ValueError line=4 devices=8
# https://github.com/DifferentiableUniverseInitiative/JaxPM/pull/54
mesh = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("data", "model"))
---
params = {"kernel": jnp.ones((64, 32)), "bias": jnp.zeros((32,))}
columns = NamedSharding(mesh, P(None, "model"))
kernel = jax.device_put(params["kernel"], columns)
bias = jax.device_put(params["bias"], columns)
---
params = {"kernel": jnp.ones((64, 32)), "bias": jnp.zeros((32,))}
columns = NamedSharding(mesh, P(None, "model"))
kernel = jax.device_put(params["kernel"], columns)
bias = jax.device_put(params["bias"], NamedSharding(mesh, P("model")))
---
cause: (32,)|one dimension|1 dimension|1-d|rank 1|ndim 1; 2|two; model
names: params
fix: P("model")|P('model')|shorter|one entry|P()

### sharding-in-shardings-short raises=ValueError line=5 devices=4
# https://docs.jax.dev/en/latest/_autosummary/jax.jit.html
mesh = Mesh(np.array(jax.devices()[:4]), ("batch",))
by_batch = NamedSharding(mesh, P("batch"))
---
def forward(w, x):
    return jnp.tanh(x @ w)

w, x = jnp.ones((8, 2)), jnp.ones((16, 8))
y = jax.jit(forward, in_shardings=(by_batch,))(w, x)
---
def forward(w, x):
    return jnp.tanh(x @ w)

w, x = jnp.ones((8, 2)), jnp.ones((16, 8))
y = jax.jit(forward, in_shardings=(None, by_batch))(w, x)
---
cause: in_shardings; 1|one; 2|two
names: forward
fix: (None, by_batch)|one for each|None|each argument|per argument

### sharding-two-sets-of-devices raises=ValueError line=3 devices=4
# https://github.com/Physical-Intelligence/openpi/issues/261
mesh = Mesh(np.array(jax.devices()[:4]), ("batch",))
weights = jax.device_put(jnp.ones((16, 4)), NamedSharding(mesh, P()))
---
image = jnp.ones((2, 16))
image = jax.device_put(image, jax.devices()[0])
features = image @ weights
---
image = jnp.ones((2, 16))
image = jax.device_put(image, NamedSharding(mesh, P()))
features = image @ weights
---
cause: device; 4|four|0, 1, 2, 3; image; weights
names: image; weights
fix: device_put|same devices|same sharding|NamedSharding(mesh, P())

### sharding-two-cards-in-step raises=ValueError line=6 devices=4
# https://github.com/jax-ml/jax/issues/12669
first, second = jax.devices()[0], jax.devices()[1]
---
@jax.jit
def residual(pred, target):
    return jnp.sum((pred - target) ** 2)

pred, target = jax.device_put(jnp.ones(8), first), jax.device_put(jnp.zeros(8), second)
loss = residual(pred, target)
---
@jax.jit
def residual(pred, target):
    return jnp.sum((pred - target) ** 2)

pred, target = jax.device_put(jnp.ones(8), first), jax.device_put(jnp.zeros(8), first)
loss = residual(pred, target)
---
cause: device; pred; target; 0; 1
names: pred; target
fix: device_put|same device

### sharding-constraint-on-another-device raises=ValueError line=7 devices=4
# https://github.com/keras-team/keras/issues/18681
mesh = Mesh(np.array(jax.devices()[:4]), ("batch",))
---
@jax.jit
def evaluate(batch):
    batch = jax.lax.with_sharding_constraint(batch, NamedSharding(mesh, P("batch")))
    return (batch ** 2).mean()

batch = jax.device_put(jnp.ones((16, 3)), jax.devices()[0])
error = evaluate(batch)
---
@jax.jit
def evaluate(batch):
    batch = jax.lax.with_sharding_constraint(batch, NamedSharding(mesh, P("batch")))
    return (batch ** 2).mean()

batch = jnp.ones((16, 3))
error = evaluate(batch)
---
cause: device; batch; constraint; 4|four|0, 1, 2, 3
names: evaluate
fix: device_put|mesh|without a device|not commit|uncommitted

### sharding-constraint-explicit raises=ValueError line=3 devices=4
# https://github.com/patrick-kidger/equinox/issues/1171
mesh = jax.make_mesh((4,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
---
@jax.jit
def normalise(acts):
    acts = jax.lax.with_sharding_constraint(acts, NamedSharding(mesh, P("x")))
    return acts / acts.sum()

acts = jax.device_put(jnp.ones((8, 4)), NamedSharding(mesh, P()))
out = normalise(acts)
---
@jax.jit
def normalise(acts):
    acts = jax.sharding.reshard(acts, NamedSharding(mesh, P("x")))
    return acts / acts.sum()

acts = jax.device_put(jnp.ones((8, 4)), NamedSharding(mesh, P()))
out = normalise(acts)
---
cause: with_sharding_constraint; explicit; x
names:
fix: reshard|AxisType.Auto|axis_types

### sharding-constraint-without-mesh raises=RuntimeError line=3 devices=4
# https://github.com/jax-ml/jax/pull/8839
mesh = Mesh(np.array(jax.devices()[:4]), ("data",))
---
@jax.jit
def block(h, w):
    h = jax.lax.with_sharding_constraint(h @ w, P("data"))
    return jax.nn.relu(h)

h = block(jnp.ones((8, 4)), jnp.ones((4, 4)))
---
@jax.jit
def block(h, w):
    h = jax.lax.with_sharding_constraint(h @ w, NamedSharding(mesh, P("data")))
    return jax.nn.relu(h)

h = block(jnp.ones((8, 4)), jnp.ones((4, 4)))
---
cause: mesh; context|no mesh|without a mesh; PartitionSpec
names:
fix: NamedSharding|set_mesh

### sharding-heads-over-eight raises=ValueError line=8 devices=8
# https://github.com/LargeWorldModel/LWM/issues/39
mesh = Mesh(np.array(jax.devices()[:8]).reshape(1, 8), ("dp", "fsdp"))
---
def attend(q, k):
    return jnp.einsum("bqd,bkd->bqk", q, k)

rows = P(("dp", "fsdp"), None, None)
attend = jax.shard_map(attend, mesh=mesh, in_specs=(rows, rows), out_specs=rows)
q = jnp.ones((1, 16, 4))
k = jnp.ones((1, 16, 4))
scores = attend(q, k)
---
def attend(q, k):
    return jnp.einsum("bqd,bkd->bqk", q, k)

rows = P(("dp", "fsdp"), None, None)
attend = jax.shard_map(attend, mesh=mesh, in_specs=(rows, rows), out_specs=rows)
q = jnp.ones((8, 16, 4))
k = jnp.ones((8, 16, 4))
scores = attend(q, k)
---
cause: 8; 1; divide|divisible|evenly|multiple; fsdp; axis 0|dimension 0|first
names: q
fix: 8|multiple of 8|divisible by 8|in_specs|batch

### sharding-sum-not-over-devices raises=ValueError line=4 devices=4
# https://docs.jax.dev/en/latest/notebooks/shard_map.html
mesh = Mesh(np.array(jax.devices()[:4]), ("i",))
---
def total(block):
    return jnp.sum(block)

energy = jax.shard_map(total, mesh=mesh, in_specs=P("i"), out_specs=P())(jnp.arange(16.0))
---
def total(block):
    return jax.lax.psum(jnp.sum(block), "i")

energy = jax.shard_map(total, mesh=mesh, in_specs=P("i"), out_specs=P())(jnp.arange(16.0))
---
cause: out_specs; i; replicat|same on every|same on all|differs|vary|varies|varying|invariant
names: total
fix: psum

### sharding-gathered-but-varying raises=ValueError line=5 devices=4
# https://github.com/AI-Hypercomputer/accelerator-microbenchmarks/pull/25
mesh = Mesh(np.array(jax.devices()[:4]), ("host",))
---
def collect(shard):
    return jax.lax.all_gather(shard, "host", tiled=True)

shards = jnp.arange(32.0).reshape(8, 4)
everything = jax.shard_map(collect, mesh=mesh, in_specs=P("host"), out_specs=P())(shards)
---
def collect(shard):
    return jax.lax.all_gather(shard, "host", tiled=True)

shards = jnp.arange(32.0).reshape(8, 4)
everything = jax.shard_map(collect, mesh=mesh, in_specs=P("host"), out_specs=P(), check_vma=False)(shards)
---
cause: out_specs; host; replicat|same on every|same on all|vary|varies|varying|invariant
names: collect
fix: check_vma=False|all_gather_invariant|P("host")|P('host')

### sharding-scan-carry-varies raises=TypeError line=6 devices=4
# https://github.com/jax-ml/jax/issues/31080
mesh = Mesh(np.array(jax.devices()[:4]), ("dp",))
---
def running_sum(rows):
    def step(acc, row):
        acc = acc + row.sum()
        return acc, acc

    last, sums = jax.lax.scan(step, jnp.zeros(()), rows)
    return sums

rows = jnp.ones((8, 3))
sums = jax.shard_map(running_sum, mesh=mesh, in_specs=P("dp"), out_specs=P("dp"))(rows)
---
def running_sum(rows):
    def step(acc, row):
        acc = acc + row.sum()
        return acc, acc

    last, sums = jax.lax.scan(step, jax.lax.pcast(jnp.zeros(()), "dp", to="varying"), rows)
    return sums

rows = jnp.ones((8, 3))
sums = jax.shard_map(running_sum, mesh=mesh, in_specs=P("dp"), out_specs=P("dp"))(rows)
---
cause: carry; dp; vary|varies|varying|replicated|differs
names: step
fix: pcast|pvary

### sharding-branches-vary raises=TypeError line=2 devices=4
# https://github.com/jax-ml/jax/pull/27903
mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))
---
def choose(use_left, left, right):
    return jax.lax.cond(use_left, lambda l, r: l, lambda l, r: r, left, right)

left, right = jnp.arange(8.0), jnp.ones(4)
both = jax.shard_map(choose, mesh=mesh, in_specs=(P(), P("x"), P()), out_specs=P("x"))
picked = both(True, left, right)
---
def choose(use_left, left, right):
    return jax.lax.cond(use_left, lambda l, r: l, lambda l, r: jax.lax.pcast(r, "x", to="varying"), left, right)

left, right = jnp.arange(8.0), jnp.ones(4)
both = jax.shard_map(choose, mesh=mesh, in_specs=(P(), P("x"), P()), out_specs=P("x"))
picked = both(True, left, right)
---
cause: branch|true_fun|false_fun; x; vary|varies|varying
names:
fix: pcast|pvary

### sharding-scalar-with-a-spec raises=ValueError line=6 devices=4
# https://github.com/jax-ml/jax/pull/18951
mesh = Mesh(np.array(jax.devices()[:4]), ("i",))
---
def shift(xs, temperature):
    return xs / temperature

xs = jnp.arange(8.0)
shifted = jax.shard_map(shift, mesh=mesh, in_specs=(P("i"), P(None)), out_specs=P("i"))
ys = shifted(xs, 0.5)
---
def shift(xs, temperature):
    return xs / temperature

xs = jnp.arange(8.0)
shifted = jax.shard_map(shift, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"))
ys = shifted(xs, 0.5)
---
cause: in_specs; scalar|rank 0|()|0 dimensions|no dimensions; 1|one
names: temperature
fix: P()

### sharding-out-scalar-by-device raises=ValueError line=7 devices=4
# https://github.com/jax-ml/jax/pull/14273
mesh = Mesh(np.array(jax.devices()[:4]), ("i",))
---
class Metrics:
    def local_loss(self, pred, target):
        return jnp.mean((pred - target) ** 2)

metrics = Metrics()
losses = jax.shard_map(metrics.local_loss, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
per_device = losses(jnp.ones((8, 2)), jnp.zeros((8, 2)))
---
class Metrics:
    def local_loss(self, pred, target):
        return jnp.mean((pred - target) ** 2)[None]

metrics = Metrics()
losses = jax.shard_map(metrics.local_loss, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
per_device = losses(jnp.ones((8, 2)), jnp.zeros((8, 2)))
---
cause: out_specs; i; scalar|rank 0|()|0 dimensions|no dimensions
names: local_loss
fix: [None]|reshape|expand_dims|P()|keepdims

### sharding-axis-of-another-name raises=AssertionError line=2 devices=4
# https://github.com/jax-ml/jax/issues/19175
mesh = Mesh(np.array(jax.devices()[:4]), ("devices",))
---
def global_mean(values):
    return jax.lax.pmean(jnp.mean(values), "batch")

mean = jax.shard_map(global_mean, mesh=mesh, in_specs=P("devices"), out_specs=P())
centre = mean(jnp.arange(8.0))
---
def global_mean(values):
    return jax.lax.pmean(jnp.mean(values), "devices")

mean = jax.shard_map(global_mean, mesh=mesh, in_specs=P("devices"), out_specs=P())
centre = mean(jnp.arange(8.0))
---
cause: batch; axis; devices
names:
fix: "devices"|'devices'|devices

### sharding-psum-without-map raises=NameError line=4 devices=4
# https://github.com/jax-ml/jax/issues/3120
params = {"w": jnp.ones((3,))}
---
@jax.jit
def train_step(params, x):
    grads = jax.grad(lambda p: jnp.sum((x @ p["w"]) ** 2))(params)
    grads = jax.lax.pmean(grads, axis_name="batch")
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

params = train_step(params, jnp.ones((4, 3)))
---
@jax.jit
def train_step(params, x):
    grads = jax.grad(lambda p: jnp.sum((x @ p["w"]) ** 2))(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

params = train_step(params, jnp.ones((4, 3)))
---
cause: batch; axis; pmean
names:
fix: shard_map|vmap|pmap|axis_name|remove

### sharding-contract-sharded raises=ShardingTypeError line=3 devices=4
# https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
---
h = jax.device_put(jnp.ones((8, 16)), NamedSharding(mesh, P(None, "y")))
w = jax.device_put(jnp.ones((16, 8)), NamedSharding(mesh, P("y", None)))
z = h @ w
---
h = jax.device_put(jnp.ones((8, 16)), NamedSharding(mesh, P(None, "y")))
w = jax.device_put(jnp.ones((16, 8)), NamedSharding(mesh, P("y", None)))
z = jnp.matmul(h, w, out_sharding=NamedSharding(mesh, P(None, None)))
---
cause: contract|summed; y; ambiguous|out_sharding|how the output|both
names: h; w
fix: out_sharding

### sharding-add-rows-to-columns raises=ShardingTypeError line=5 devices=4
# https://blog.ezyang.com/2026/01/jax-sharding-type-system/
mesh = jax.make_mesh((4,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
---
attn = jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P("x", None)))
skip = jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P(None, "x")))
@jax.jit
def residual(attn, skip):
    return attn + skip
out = residual(attn, skip)
---
attn = jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P("x", None)))
skip = jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P("x", None)))
@jax.jit
def residual(attn, skip):
    return attn + skip
out = residual(attn, skip)
---
cause: x; shard; attn; skip; dimension|axis|rows|columns|differ|ambiguous
names: attn; skip
fix: reshard

### sharding-take-from-sharded-table raises=ShardingTypeError line=4 devices=4
# https://github.com/marin-community/marin/pull/2288
mesh = jax.make_mesh((2, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
---
vocab = jax.device_put(jnp.ones((32, 8)), NamedSharding(mesh, P("model", None)))
tokens = jax.device_put(jnp.zeros((4, 6), int), NamedSharding(mesh, P("data", None)))
def embed(vocab, tokens):
    return vocab[tokens]
e = jax.jit(embed)(vocab, tokens)
---
vocab = jax.device_put(jnp.ones((32, 8)), NamedSharding(mesh, P("model", None)))
tokens = jax.device_put(jnp.zeros((4, 6), int), NamedSharding(mesh, P("data", None)))
def embed(vocab, tokens):
    return vocab.at[tokens].get(out_sharding=NamedSharding(mesh, P("data", None, None)))
e = jax.jit(embed)(vocab, tokens)
---
cause: model; data; out_sharding|ambiguous|how the output|sharding of the output|sharding of the result
names: vocab; tokens
fix: out_sharding

### sharding-flatten-sharded raises=ShardingTypeError line=2 devices=4
# https://docs.jax.dev/en/latest/notebooks/explicit-sharding.html
mesh = jax.make_mesh((2, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
---
patches = jax.device_put(jnp.ones((4, 6, 2)), NamedSharding(mesh, P(None, "y", None)))
flat = patches.reshape(24, 2)
---
patches = jax.device_put(jnp.ones((4, 6, 2)), NamedSharding(mesh, P(None, "y", None)))
flat = jax.lax.reshape(patches, (24, 2), out_sharding=NamedSharding(mesh, P("y", None)))
---
cause: reshape; (4, 6, 2)|6; (24, 2)|24; y
names: patches
fix: out_sharding|reshard

### sharding-one-spec-for-two-arguments raises=ValueError line=5 devices=4
# https://github.com/jax-ml/jax/pull/18951
mesh = Mesh(np.array(jax.devices()[:4]), ("i",))
weights, rows = jnp.ones((3,)), jnp.ones((8, 3))
---
def scores(w, rows):
    return rows @ w

spec = P("i")
mapped = jax.shard_map(scores, mesh=mesh, in_specs=(spec,), out_specs=spec)
s = mapped(weights, rows)
---
def scores(w, rows):
    return rows @ w

spec = P("i")
mapped = jax.shard_map(scores, mesh=mesh, in_specs=(P(), spec), out_specs=spec)
s = mapped(weights, rows)
---
cause: in_specs; 2|two; 1|one
names: scores; mapped|weights|rows
fix: in_specs|P()
""",
    prelude="""\
import functools
import numpy as np
import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
""",
)
