"""Types of numbers that do not exist here, do not go together, or do not hold the value."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = "import jax\nimport jax.numpy as jnp\nimport numpy as np\nfrom jax import lax\n"

CASES = written(
    "dtypes",
    r"""
### int-too-large-for-int32 raises=OverflowError line=2
# https://github.com/jax-ml/jax/pull/5952
---
seconds = 86400
stamp = jnp.array(seconds * 100000)
---
seconds = 86400
stamp = jnp.array(float(seconds * 100000))
---
cause: int32|32
names: stamp|seconds
fix: x64|float|int64

### large-constant-times-int-array raises=OverflowError line=4
# https://github.com/jax-ml/jax/pull/5952
ids = jnp.arange(6)
---
@jax.jit
def hashed(ids):
    mixed = ids ^ 13
    return mixed * 2654435761

h = hashed(ids)
---
@jax.jit
def hashed(ids):
    mixed = ids ^ 13
    return mixed.astype(jnp.uint32) * jnp.uint32(2654435761)

h = hashed(ids)
---
cause: 2654435761|int32
names: mixed; hashed
fix: uint32|x64|int64

### negative-constant-with-unsigned raises=OverflowError line=2
# https://github.com/google/jaxite/issues/80
bits = jnp.arange(4, dtype=jnp.uint32)
---
def complement(bits):
    return bits ^ np.uint32(-1)

out = complement(bits)
---
def complement(bits):
    return bits ^ np.uint32(0xFFFFFFFF)

out = complement(bits)
---
cause: -1; uint32
names: complement
fix: 0xFFFFFFFF|~|invert|astype|int32

### lax-mul-of-float-and-int raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/26699
x, n = jnp.ones(3), jnp.arange(3)
---
def moment(x, n):
    weighted = jnp.cos(x)
    return lax.mul(weighted, n)

m = moment(x, n)
---
def moment(x, n):
    weighted = jnp.cos(x)
    return jnp.multiply(weighted, n)

m = moment(x, n)
---
cause: float32; int32
names: weighted; n
fix: jnp.multiply|*|astype

### cache-of-other-precision raises=TypeError line=3
# https://github.com/kuprel/min-dalle/issues/13
keys_state = jnp.zeros((16, 8), jnp.float16)
keys = jnp.ones((1, 8), jnp.float32)
---
class Decoder:
    def write(self, keys_state, keys, index):
        return lax.dynamic_update_slice(keys_state, keys, (index, 0))

keys_state = Decoder().write(keys_state, keys, 4)
---
class Decoder:
    def write(self, keys_state, keys, index):
        return lax.dynamic_update_slice(keys_state, keys.astype(keys_state.dtype), (index, 0))

keys_state = Decoder().write(keys_state, keys, 4)
---
cause: float16; float32
names: keys_state; keys
fix: astype|float16|float32

### slice-starts-of-mixed-types raises=TypeError line=3
# https://github.com/jax-ml/jax/pull/8317
image = jnp.ones((20, 20))
---
@jax.jit
def crop(image, row):
    return lax.dynamic_slice(image, (row, 4), (5, 5))

patch = crop(image, 2.0)
---
@jax.jit
def crop(image, row):
    return lax.dynamic_slice(image, (row.astype(int), 4), (5, 5))

patch = crop(image, 2.0)
---
cause: float; int
names: row; crop
fix: astype|int|integer

### object-array raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/2347
---
rows = [(1.0, 2.0), 3.0]
table = jnp.array(rows, dtype=object)
---
rows = [(1.0, 2.0), (3.0, 0.0)]
table = jnp.array(rows)
---
cause: object
names:
fix: float|pad|numeric|list|same length

### ragged-list raises=ValueError line=4
# https://github.com/jax-ml/jax/issues/1579
---
def batch(sequences):
    lengths = [len(s) for s in sequences]
    longest = max(lengths)
    return jnp.array(sequences), longest

tokens, longest = batch([[1, 2, 3], [4, 5]])
---
def batch(sequences):
    lengths = [len(s) for s in sequences]
    longest = max(lengths)
    return jnp.array([s + [0] * (longest - len(s)) for s in sequences]), longest

tokens, longest = batch([[1, 2, 3], [4, 5]])
---
cause: 3|inhomogeneous|length; 2|inhomogeneous|length
names: sequences; batch
fix: pad|same length|equal length

### numpy-objects-minus-array raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/856
targets = np.array([0.5, 1.5], dtype=object)
---
def residual(x):
    preds = 2 * x
    return jnp.subtract(preds, targets)

r = residual(jnp.ones(2))
---
def residual(x):
    preds = 2 * x
    return jnp.subtract(preds, targets.astype(np.float32))

r = residual(jnp.ones(2))
---
cause: object
names: targets; residual
fix: astype|float

### strings-to-array raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/1883
---
columns = ["3.4", "5.6"]
values = jnp.array(columns)
---
columns = ["3.4", "5.6"]
values = jnp.array([float(c) for c in columns])
---
cause: str|text|string|<U3
names:
fix: float

### labels-of-text-to-jit raises=TypeError line=5
# https://github.com/jax-ml/jax/issues/5228
names = np.array(["cat", "dog"])
---
@jax.jit
def count(labels):
    return labels.shape[0]

n = count(names)
---
@jax.jit
def count(labels):
    return labels.shape[0]

n = count(np.array([0, 1]))
---
cause: str|text|string|<U3
names: labels; count
fix: int|index|integer|encode|static|outside

### quadruple-precision raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/5091
---
grid = np.linspace(0, 1, 5).astype(np.longdouble)
points = jnp.sin(jnp.asarray(grid))
---
grid = np.linspace(0, 1, 5).astype(np.float32)
points = jnp.sin(jnp.asarray(grid))
---
cause: float128|longdouble
names: grid
fix: float32|float64|astype

### structured-records raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/5706
---
record = np.array([(1, 2), (3, 4)], dtype=[("a", "<i4"), ("b", "<i4")])
table = jnp.asarray(record)
---
record = np.array([(1, 2), (3, 4)], dtype=[("a", "<i4"), ("b", "<i4")])
table = jnp.asarray(record["a"])
---
cause: dtype|structured|fields
names: record
fix: record["a"]|field|dict|column

### dates-as-array raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/5706
---
days = np.array(["2024-01-01", "2024-01-05"], dtype="datetime64[D]")
elapsed = jnp.diff(days)
---
days = np.array(["2024-01-01", "2024-01-05"], dtype="datetime64[D]")
elapsed = jnp.diff(days.astype(np.int32))
---
cause: datetime64
names: days
fix: astype|int|float

### invert-a-float-mask raises=TypeError line=3
# https://github.com/tinygrad/tinygrad/pull/3222
mask = jnp.array([1.0, 0.0, 1.0])
---
@jax.jit
def hide(scores, mask):
    return jnp.where(~mask, -1e9, scores)

scores = hide(jnp.ones(3), mask)
---
@jax.jit
def hide(scores, mask):
    return jnp.where(~mask.astype(bool), -1e9, scores)

scores = hide(jnp.ones(3), mask)
---
cause: float32; bool|int
names: mask; hide
fix: astype(bool)|== 0|logical_not|bool

### bitwise-or-of-floats raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/2053
left, right = jnp.array([0.0, 1.0]), jnp.array([1.0, 1.0])
---
either = left > 2
both = left | right
---
either = left > 2
both = (left > 0) | (right > 0)
---
cause: float32; bool|int
names: left; right
fix: logical_or|astype(bool)|bool|> 0|astype

### negative-of-a-bool raises=TypeError line=3
# https://github.com/tinygrad/tinygrad/pull/3222
keep = jnp.array([True, False])
---
def drop(keep):
    keep = keep | False
    return -keep

d = jax.jit(drop)(keep)
---
def drop(keep):
    keep = keep | False
    return ~keep

d = jax.jit(drop)(keep)
---
cause: bool
names: keep; drop
fix: ~|logical_not|astype

### subtract-bools raises=TypeError line=2
# https://github.com/ubarsc/python-fmask/issues/16
inner, outer = jnp.array([True, False]), jnp.array([True, True])
---
def boundary(outer, inner):
    return outer - inner

edge = boundary(outer, inner)
---
def boundary(outer, inner):
    return outer ^ inner

edge = boundary(outer, inner)
---
cause: bool
names: outer; inner
fix: ^|logical_xor|& ~|astype

### integer-to-a-negative-power raises=TypeError line=4
# https://github.com/jax-ml/jax/pull/5419
counts = jnp.arange(1, 5)
---
@jax.jit
def weights(counts):
    shifted = counts + 1
    return shifted**-2

w = weights(counts)
---
@jax.jit
def weights(counts):
    shifted = counts + 1.0
    return shifted**-2

w = weights(counts)
---
cause: int; negative|-2
names: shifted; weights
fix: float|1.0|astype

### index-with-a-float raises=TypeError line=2
# https://github.com/jax-ml/jax/pull/2496
table = jnp.arange(100.0)
---
position = jnp.floor(12.7)
value = table[position]
---
position = jnp.floor(12.7).astype(int)
value = table[position]
---
cause: float32; int
names: position; table
fix: astype|int

### index-with-a-python-float raises=TypeError line=4
# https://github.com/jax-ml/jax/pull/26865
samples = jnp.arange(11.0)
---
@jax.jit
def median(samples):
    ordered = jnp.sort(samples)
    return ordered[len(samples) / 2]

m = median(samples)
---
@jax.jit
def median(samples):
    ordered = jnp.sort(samples)
    return ordered[len(samples) // 2]

m = median(samples)
---
cause: float; int
names: ordered; median
fix: //|int(|integer

### scatter-ids-of-floats raises=TypeError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.ops.segment_sum.html
---
segments = jnp.array([0.0, 0.0, 1.0])
sums = jax.ops.segment_sum(jnp.ones(3), segments, num_segments=2)
---
segments = jnp.array([0, 0, 1])
sums = jax.ops.segment_sum(jnp.ones(3), segments, num_segments=2)
---
cause: float32|float; int
names: segments
fix: int|astype

### one-hot-shift-of-floats raises=TypeError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.left_shift.html
---
def pack(bits):
    places = jnp.arange(4.0)
    return (bits << places).sum()

word = pack(jnp.array([1, 0, 1, 1]))
---
def pack(bits):
    places = jnp.arange(4)
    return (bits << places).sum()

word = pack(jnp.array([1, 0, 1, 1]))
---
cause: float32|float; int
names: places; pack
fix: int|arange(4)|astype

### complex-ordering raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/4996
---
def peak(signal):
    spectrum = jnp.fft.fft(signal)
    return lax.max(spectrum, 0.0)

p = peak(jnp.ones(4))
---
def peak(signal):
    spectrum = jnp.fft.fft(signal)
    return lax.max(jnp.abs(spectrum), 0.0)

p = peak(jnp.ones(4))
---
cause: complex64; float32
names: spectrum; peak
fix: jnp.abs|real|abs

### rfft-of-complex raises=ValueError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.fft.rfft.html
---
signal = jnp.ones(8, jnp.complex64)
half = jnp.fft.rfft(signal)
---
signal = jnp.ones(8, jnp.float32)
half = jnp.fft.rfft(signal)
---
cause: complex64|complex; real|float32
names: signal
fix: real|fft.fft|float32

### type-by-misspelt-name raises=TypeError line=1
# https://github.com/jax-ml/jax/issues/4540
x = jnp.ones(3)
---
half = x.astype("flaot16")
---
half = x.astype("float16")
---
cause: flaot16
names:
fix: float16
""",
    prelude=PRELUDE,
)
