"""Arithmetic and jax.numpy: values, dtypes, weak types."""

from .case import Case

CASES = [
    Case("add", cell="y = x + 1", change="x = x * 3", rule=1),
    Case(
        "dtype-changes",
        cell="y = x * 2",
        change="x = x.astype(jnp.bfloat16)",
        reused=False,
        reason="x",
        rule=1,
    ),
    Case("shape-changes", cell="y = x.sum()", change="x = jnp.ones(5)", reused=False, reason="x", rule=1),
    Case("rank-changes", cell="y = x.sum(0)", change="x = jnp.ones((2, 2))", reused=False, reason="x", rule=1),
    Case(
        "weak-type-changes",
        setup="s = jnp.float32(2)",
        cell="y = x + s",
        change="s = jnp.asarray(2.0)",
        reused=False,
        reason="s",
    ),
    Case("weak-result", cell="y = jnp.asarray(2.0) * 3", rule=1),
    Case(
        "weak-of-input",
        setup="a = jnp.asarray(1.5)",
        cell="""\
b = a * 2
c = a + x""",
        change="a = jnp.asarray(2.5)",
    ),
    Case(
        "matmul",
        cell="""\
y = w @ x
z = x @ w @ x
z""",
        change="w = w.T",
    ),
    Case("einsum", cell="y = jnp.einsum('ij,j->i', w, x)"),
    Case(
        "mean-and-var",
        cell="""\
m, v = x.mean(), x.var()
(x - m) / jnp.sqrt(v + 1e-6)""",
    ),
    Case(
        "integers",
        setup="a = jnp.arange(4)",
        cell="""\
b = a // 2
c = a % 2
d = a << 1
e = a / 2""",
    ),
    Case(
        "booleans",
        cell="""\
p = x > 0
q = ~p
r = jnp.where(p, x, -x)
n = p.sum()""",
    ),
    Case(
        "comparison-chain-of-arrays",
        cell="""\
inside = (x > -2) & (x < 1)
any_ = inside.any()""",
    ),
    Case(
        "slices",
        cell="""\
a = x[1:]
b = x[::-1]
c = x[-1]
d = w[:, 0]
e = w[1, ..., None]""",
    ),
    Case(
        "indexing-by-array",
        setup="i = jnp.array([2, 0])",
        cell="""\
y = x[i]
z = w[i, i]""",
        change="i = jnp.array([1, 1])",
    ),
    Case(
        "at-set",
        setup="i = jnp.array([0, 0])",
        cell="""\
y = x.at[0].set(9.0).at[1].add(1)
z = x.at[i].mul(2)""",
    ),
    Case(
        "reductions",
        cell="""\
a = x.max()
b = x.argmax()
c = jnp.cumsum(x)
d = jnp.prod(w, axis=1)
e = jnp.sort(x)""",
    ),
    Case(
        "linear-algebra",
        cell="""\
inv = jnp.linalg.inv(w)
det = jnp.linalg.det(w)
q, r = jnp.linalg.qr(w)""",
        tolerance=0.0001,
    ),
    Case(
        "fft",
        cell="""\
f = jnp.fft.fft(x)
back = jnp.fft.ifft(f).real""",
    ),
    Case(
        "nan-and-inf",
        cell="""\
a = x / 0
b = jnp.log(x)
c = jnp.nan_to_num(b)""",
    ),
    Case(
        "reshape-and-stack",
        cell="""\
a = w.reshape(-1)
b = jnp.stack([x, x])
c = jnp.concatenate([x, a])
d = w.T""",
    ),
    Case(
        "long-chain",
        cell="""\
y = x
for _ in range(20):
    y = jnp.sin(y) + x
y""",
    ),
    Case(
        "named-constants",
        cell="""\
y = jnp.pi * x
z = jnp.e + x
q = x[jnp.newaxis]""",
    ),
    Case(
        "creation",
        cell="""\
a = jnp.zeros(3)
b = jnp.eye(2)
c = jnp.arange(5)
d = jnp.full((2,), 7)
e = jnp.linspace(0, 1, 4)""",
    ),
    Case(
        "like",
        cell="""\
a = jnp.zeros_like(x)
b = jnp.ones_like(w, dtype=jnp.int32)""",
    ),
    Case(
        "x64",
        setup="x64 = jnp.arange(3, dtype=jnp.float64)",
        cell="""\
y = x64 * 2
z = x64 + x""",
        x64=True,
    ),
    Case("x64-integers", setup="a = jnp.arange(3)", cell="y = a * 2**40", change="a = a + 1", x64=True),
    Case(
        "x64-scalars",
        setup="lr = 1e-3",
        cell="""\
y = x * lr
z = jnp.asarray(lr)""",
        x64=True,
        rule=3,
    ),
    Case(
        "sum-of-squares-twice",
        cell="""\
s = (x**2).sum()
s = (x**2).sum() + s
s""",
    ),
    Case(
        "pow-by-static-int",
        cell="""\
y = x**3
z = x**-1
q = x**0.5""",
    ),
    Case(
        "divmod-and-round",
        setup="a = jnp.arange(7)",
        cell="""\
q, r = divmod(a, 3)
s = round(x, 1)
t = abs(x)
u = -x""",
    ),
    Case(
        "max-of-static-and-array",
        cell="""\
y = jnp.maximum(x, 0)
z = jnp.clip(x, -0.5, 0.5)""",
    ),
    Case("many-outputs", cell="\n".join(f"o{i} = x * {i}" for i in range(30))),
    Case(
        "dtype-attributes",
        cell="""\
d = x.dtype
z = jnp.zeros(2, d)
n = x.ndim
s = x.size""",
    ),
    Case(
        "shape-arithmetic",
        cell="""\
n = x.shape[0] * 2
y = jnp.zeros((n, w.shape[1]))""",
        change="x = jnp.ones(4)",
        reused=False,
        reason="x",
    ),
]
