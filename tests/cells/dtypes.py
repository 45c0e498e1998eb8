"""PRNG keys of both styles, NumPy scalars, low precision, integers, booleans, complex, empty arrays."""

from .case import Case

CASES = [
    Case(
        "key-new-style",
        setup="k = jax.random.key(0)",
        cell="""\
k, sub = jax.random.split(k)
y = jax.random.normal(sub, (3,))""",
    ),
    Case(
        "key-old-style",
        setup="k = jax.random.PRNGKey(0)",
        cell="""\
k, sub = jax.random.split(k)
y = jax.random.uniform(sub, (3,))""",
    ),
    Case(
        "key-made",
        cell="""\
k = jax.random.key(7)
ks = jax.random.split(k, 3)
y = jax.vmap(lambda q: jax.random.normal(q))(ks)""",
    ),
    Case(
        "key-made-from-seed",
        setup="seed = 3",
        cell="""\
k = jax.random.PRNGKey(seed)
y = jax.random.normal(k)""",
        change=(
            "seed = 4",
            "seed = 5",
        ),
        reused=(
            False,
            None,
        ),
        rule=3,
    ),
    Case(
        "key-style-changes",
        setup="k = jax.random.key(0)",
        cell="y = jax.random.normal(k, (2,))",
        change="k = jax.random.PRNGKey(0)",
        reused=False,
        reason="k",
    ),
    Case(
        "key-value-changes",
        setup="k = jax.random.key(0)",
        cell="""\
y = jax.random.normal(k, (2,))
q = 1""",
        change="k = jax.random.key(1)",
    ),
    Case(
        "key-implementation",
        setup="k = jax.random.key(0, impl='rbg')",
        cell="y = jax.random.bits(k, (2,))",
        change="k = jax.random.key(0)",
        reused=False,
        reason="k",
    ),
    Case(
        "key-in-container",
        setup="s = {'k': [jax.random.key(0)]}",
        cell="""\
y = jax.random.normal(s['k'][0])
t = {'k': s['k']}""",
        rule=5,
    ),
    Case(
        "key-fold-in-and-data",
        setup="k = jax.random.key(0)",
        cell="""\
k2 = jax.random.fold_in(k, 3)
d = jax.random.key_data(k2)
b = jax.random.wrap_key_data(d)""",
    ),
    Case(
        "key-choice-and-permutation",
        setup="k = jax.random.key(0)",
        cell="""\
p = jax.random.permutation(k, 5)
c = jax.random.choice(k, x, (2,))
r = jax.random.randint(k, (2,), 0, 9)""",
    ),
    Case(
        "bfloat16",
        setup="h = jnp.array([1.5, 2.5, 3.0], jnp.bfloat16)",
        cell="""\
y = h * 3
z = h @ h
q = y.astype(jnp.float32)""",
    ),
    Case(
        "float16",
        setup="h = jnp.array([1.5, 2.5, 3.0], jnp.float16)",
        cell="""\
y = h / 3
z = h + x""",
    ),
    Case(
        "float8",
        setup="h = jnp.array([1.0, 2.0], jnp.float8_e5m2)",
        cell="""\
y = h.astype(jnp.float32) * 2
z = y.astype(jnp.float8_e4m3fn)""",
    ),
    Case(
        "int8-overflow",
        setup="a = jnp.array([100, -100], jnp.int8)",
        cell="""\
y = a + a
z = a * 2""",
    ),
    Case(
        "uint8",
        setup="a = jnp.array([0, 255], jnp.uint8)",
        cell="""\
y = a - 1
z = a / 2
q = -a""",
    ),
    Case("int4", setup="a = jnp.array([1, -2], jnp.int4)", cell="y = a.astype(jnp.int8) + 1"),
    Case(
        "int16-and-uint32",
        setup="""\
a = jnp.array([1, 2], jnp.int16)
b = jnp.array([3, 4], jnp.uint32)""",
        cell="""\
y = a + b
z = b >> 1""",
    ),
    Case(
        "bool-arrays",
        setup="""\
a = jnp.array([True, False])
b = jnp.array([True, True])""",
        cell="""\
y = a & b
z = a + b
n = a.sum()
any_ = jnp.any(a)""",
    ),
    Case(
        "complex-arrays",
        setup="c = jnp.array([1 + 2j, 3 - 1j])",
        cell="""\
y = c * 2
z = jnp.abs(c)
q = c.conj() @ c""",
    ),
    Case(
        "promotion",
        setup="a = jnp.arange(3, dtype=jnp.int8)",
        cell="""\
y = a + x
z = a + 1.5
q = a + True""",
    ),
    Case(
        "empty",
        setup="e = jnp.zeros((0,))",
        cell="""\
y = e * 2
s = e.sum()
z = jnp.concatenate([e, x])""",
    ),
    Case(
        "empty-matrix",
        setup="e = jnp.zeros((0, 3))",
        cell="""\
y = e @ x
z = e.T
n = len(e)""",
    ),
    Case(
        "scalar-array",
        setup="s = jnp.float32(3)",
        cell="""\
y = s * 2
z = s + x
b = s.item if False else None""",
    ),
    Case(
        "scalar-constructors",
        cell="""\
a = jnp.float32(2)
b = jnp.int8(3)
c = jnp.bfloat16(1.5)
d = x.dtype.type(2)""",
        reused2=None,
    ),
    Case(
        "weak-int-scalar",
        setup="""\
s = jnp.asarray(3)
a = jnp.arange(3, dtype=jnp.int8)""",
        cell="y = s + a",
    ),
    Case(
        "dtype-objects",
        cell="""\
f, b = jnp.float32, jnp.dtype('bfloat16')
y = x.astype(b)
same = y.dtype == b""",
    ),
    Case("numpy-float64-to-float32", setup="a = np.arange(3.0)", cell="y = jnp.asarray(a) + x", rule=2),
    Case(
        "numpy-uint8-image",
        setup="img = np.arange(6, dtype=np.uint8).reshape(2, 3)",
        cell="y = jnp.asarray(img, jnp.float32) / 255",
        change="img[0, 0] = 200",
        rule=2,
    ),
    Case(
        "numpy-bfloat16",
        setup="""\
import ml_dtypes
b = np.ones(3, ml_dtypes.bfloat16)""",
        cell="y = x * b",
        rule=2,
    ),
    Case(
        "numpy-int64-index",
        setup="i = np.int64(1)",
        cell="y = x[int(i)] + w[i]",
        may_refuse=True,
        reused2=None,
        rule=2,
    ),
    Case(
        "numpy-zero-dimensional",
        setup="a = np.array(2.0, np.float32)",
        cell="y = x * a",
        change="a = np.array(3.0, np.float32)",
        rule=2,
    ),
    Case(
        "numpy-read-only",
        setup="""\
a = np.ones(3)
a.flags.writeable = False""",
        cell="y = x * a",
        rule=2,
    ),
    Case("numpy-not-contiguous", setup="a = np.arange(18.0).reshape(3, 6)[:, ::2]", cell="y = a @ x", rule=2),
    Case(
        "numpy-fortran-order",
        setup="a = np.asfortranarray(np.arange(9.0).reshape(3, 3))",
        cell="y = a @ x",
        rule=2,
    ),
    Case(
        "committed-array",
        setup="c = jax.device_put(x, jax.devices()[0])",
        cell="""\
y = c * 2
z = c + x""",
        change="c = c + 1",
    ),
    Case(
        "device-put-in-cell",
        cell="""\
y = jax.device_put(x, jax.devices()[0])
z = y + 1""",
        may_refuse=True,
        reused2=None,
        loose_identity=("y",),
    ),
    Case(
        "sharded-by-name",
        setup="""\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ('i',))
s = jax.device_put(x, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec('i')))""",
        cell="y = s * 2",
    ),
    Case(
        "shape-dtype-struct",
        cell="""\
s = jax.ShapeDtypeStruct((2,), jnp.float32)
out = jax.eval_shape(lambda a: a @ a, s)
y = jnp.zeros(out.shape) + x""",
    ),
    Case(
        "float0",
        setup="i = jnp.arange(3)",
        cell="g = jax.grad(lambda a: (a * 2.0).sum(), allow_int=True)(i)",
        may_refuse=True,
        reused2=None,
    ),
]
