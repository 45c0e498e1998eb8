"""Control flow over static values: Python decides, at trace time, as it would in the plain cell."""

from .case import Case

CASES = [
    Case(
        "if-static",
        setup="n = 3",
        cell="""\
if n > 2:
    y = x * n
else:
    y = x""",
        change="n = 1",
        reused=False,
        reason="n",
        rule=3,
    ),
    Case(
        "if-shape",
        cell="""\
if x.ndim == 1 and x.shape[0] == 3:
    y = x[None]""",
        change="""\
x = jnp.ones((3, 1))
y = 0""",
        reused=False,
        reason="x",
    ),
    Case(
        "elif",
        setup="mode = 'b'",
        cell="""\
if mode == 'a':
    y = x
elif mode == 'b':
    y = 2 * x
else:
    y = None""",
        change=(
            "mode = 'a'",
            "mode = 'c'",
        ),
        reused=(
            False,
            False,
        ),
        reason="mode",
        rule=3,
    ),
    Case(
        "for-range",
        setup="n = 3",
        cell="""\
y = x
for i in range(n):
    y = y * 2 + i""",
        change="n = 4",
        reused=False,
        rule=3,
    ),
    Case(
        "for-over-list",
        setup="arrays = [x, x * 2]",
        cell="""\
s = 0
for a in arrays:
    s = s + a""",
        change=(
            "arrays = [x, x * 3]",
            "arrays = [x, x, x]",
        ),
        reused=(
            True,
            False,
        ),
        reason="arrays",
        rule=4,
    ),
    Case(
        "for-over-dict",
        setup="params = {'b': x, 'a': w, 'skip': x}",
        cell="""\
s = 0.0
for k, v in params.items():
    if k != 'skip':
        s = s + v.sum()""",
    ),
    Case(
        "for-else",
        cell="""\
for i in range(3):
    if i == 5:
        break
else:
    y = x * i""",
    ),
    Case(
        "for-break-continue",
        cell="""\
s = x
for i in range(9):
    if i % 2:
        continue
    if i > 5:
        break
    s = s + i""",
    ),
    Case(
        "for-over-array-rows",
        cell="""\
s = 0
for row in w:
    s = s + row @ x""",
    ),
    Case(
        "for-zip-enumerate",
        cell="""\
out = []
for i, (a, b) in enumerate(zip(w, [1, 2, 3])):
    out.append(a * b + i)""",
    ),
    Case(
        "while-static",
        cell="""\
k = 3
y = x
while k:
    y = jnp.sin(y)
    k -= 1""",
        rule=2,
    ),
    Case(
        "while-else-break",
        cell="""\
k = 0
while True:
    k += 1
    y = x * k
    if k == 3:
        break
else:
    y = None""",
    ),
    Case(
        "with-statement",
        cell="""\
with jax.default_matmul_precision('float32'):
    y = w @ w
with jax.named_scope('part'):
    z = x * 2""",
    ),
    Case(
        "with-several",
        cell="""\
import contextlib
with contextlib.suppress(KeyError), contextlib.nullcontext(2) as k:
    y = x * k
    {}['no']
    y = 0""",
    ),
    Case(
        "try-except",
        setup="table = {'yes': x}",
        cell="""\
try:
    y = table['no']
except KeyError:
    y = x * 2""",
    ),
    Case(
        "try-else-finally",
        cell="""\
log = []
try:
    y = x + 1
except ValueError:
    y = None
else:
    z = y * 2
finally:
    log.append('done')""",
    ),
    Case(
        "try-shape-error",
        cell="""\
try:
    y = x + jnp.ones(7)
except (TypeError, ValueError) as error:
    y = x
    kind = type(error).__name__""",
    ),
    Case(
        "raise-and-catch-own",
        cell="""\
class Stop(Exception):
    pass
try:
    raise Stop(x)
except Stop as s:
    y = s.args[0] + 1""",
    ),
    Case(
        "nested-try",
        cell="""\
try:
    try:
        1 / 0
    finally:
        a = x * 1
except ZeroDivisionError:
    b = a + 1""",
    ),
    Case(
        "assert-static",
        cell="""\
assert x.shape == (3,), 'three'
y = x * 2""",
    ),
    Case(
        "match-literal",
        setup="mode = 'double'",
        cell="""\
match mode:
    case 'double':
        y = x * 2
    case 'none' | None:
        y = None
    case _:
        y = x""",
        change="mode = None",
        reused=False,
        reason="mode",
        rule=3,
    ),
    Case(
        "match-sequence",
        setup="shape = (2, 3)",
        cell="""\
match shape:
    case [n, m]:
        y = jnp.zeros((n, m)) + x
    case (n,):
        y = x""",
    ),
    Case(
        "match-mapping-capture",
        setup="cfg = {'scale': x, 'name': 'c'}",
        cell="""\
match cfg:
    case {'scale': s, **rest}:
        y = x * s""",
        rule=4,
    ),
    Case(
        "match-class-guard",
        setup="""\
import dataclasses
@dataclasses.dataclass
class Point:
    a: int
    b: int
p = Point(2, 3)""",
        cell="""\
match p:
    case Point(a=a, b=b) if a > 1:
        y = x * a + b""",
        rule=6,
    ),
    Case("list-comprehension", cell="ys = [x * i for i in range(3) if i != 1]"),
    Case("nested-comprehension", cell="ys = [[x[i] * w[i, j] for j in range(2)] for i in range(2)]"),
    Case(
        "dict-comprehension",
        setup="params = {'b': x, 'a': w}",
        cell="d = {k: v * 2 for k, v in params.items()}",
        change="params = {'b': x + 1, 'a': w}",
    ),
    Case(
        "set-comprehension",
        cell="""\
s = {len(v.shape) for v in (x, w, w)}
y = x * len(s)""",
    ),
    Case(
        "generator-expression",
        cell="""\
y = sum(a * 2 for a in (x, x + 1))
z = max(v.ndim for v in (x, w))""",
    ),
    Case(
        "generator-left-over",
        cell="""\
g = (i for i in range(5))
first = next(g)
y = x * first""",
        probes=("list(g)",),
        rule=2,
    ),
    Case(
        "comprehension-closes-over-cell-name",
        cell="""\
k = x.sum()
ys = [k * i for i in range(2)]
fs = [lambda a: a + k for _ in range(2)]""",
        probes=("fs[0](1.0)",),
    ),
    Case(
        "conditional-expression",
        setup="flag = True",
        cell="""\
y = x if flag else w
z = (flag and x) is x""",
        rule=5,
    ),
    Case(
        "boolean-operators",
        setup="n = 0",
        cell="""\
y = None or x
z = n and x * n
t = not n""",
        change="n = 2",
        reused=False,
        reason="n",
        rule=3,
    ),
    Case("chained-static-comparison", setup="n = 3", cell="y = x * 2 if 0 < n < 5 else x"),
    Case(
        "isinstance-of-static",
        setup="n = 3",
        cell="y = x * 2 if isinstance(n, int) and isinstance(x, jax.Array) else None",
        rule=7,
    ),
    Case(
        "isinstance-of-containers",
        setup="items = [x, 'a', None, (x,)]",
        cell="y = [v * 2 if isinstance(v, jax.Array) else v for v in items]",
    ),
    Case(
        "hasattr-and-getattr",
        cell="""\
y = getattr(x, 'T', None)
ok = hasattr(x, 'shape') and not hasattr(x, 'nothing')""",
    ),
    Case(
        "hasattr-of-a-numpy-array",
        setup="""\
a = np.arange(3.0, dtype=np.float32)
def twice(v):
    return v.at[0].add(1) if hasattr(v, 'at') else v * 2""",
        cell="y = x + twice(a)\nz = twice(x)",
        rule=7,
    ),
    Case(
        "getattr-of-a-numpy-array",
        setup="a = np.arange(3.0, dtype=np.float32)",
        cell="y = x if getattr(a, 'weak_type', None) is None else -x\nz = x * getattr(a, 'ndim')",
        rule=7,
    ),
    Case(
        "hasattr-of-a-derived-value",
        setup="a = np.arange(3.0, dtype=np.float32)",
        cell="y = x * 2\nz = (a + a).sum()\nok = hasattr(y, 'at'), hasattr(y, 'val'), hasattr(z, 'dtype')",
        rule=7,
    ),
    Case(
        "hasattr-that-depends-on-the-kind",
        setup="a = np.arange(3.0, dtype=np.float32)",
        cell="y = x * 2\nok = hasattr(a + a, 'at')",
        may_refuse=True,
        rule=7,
    ),
    Case(
        "match-a-numpy-array",
        setup="a = np.arange(3.0, dtype=np.float32)",
        cell="""\
match a:
    case np.ndarray():
        y = x + a
    case _:
        y = x - a""",
        change="a = a + 1",
        reused=False,
        rule=7,
    ),
    Case(
        "match-in-a-helper",
        setup="""\
a = np.arange(3.0, dtype=np.float32)
def kind(v):
    match v:
        case jax.Array():
            return v
        case np.ndarray():
            return v * 2
        case float():
            return v * 3""",
        cell="y = x + kind(a) + kind(x) + kind(2.0)",
        rule=7,
    ),
    Case(
        "none-check",
        setup="bias = None",
        cell="y = x if bias is None else x + bias",
        change=(
            "bias = x * 2",
            "bias = x * 3",
        ),
        reused=(
            False,
            True,
        ),
        reason="bias",
        rule=3,
    ),
    Case(
        "is-identity-check",
        setup="other = x",
        cell="""\
same = x is x
y = x * 2 if x is other else x""",
        rule=5,
    ),
    Case(
        "identity-check-changes",
        setup="other = x",
        cell="y = x * 2 if x is other else x * 3",
        change="other = x + 0",
        reused=None,
        rule=5,
    ),
    Case(
        "len-and-iter-of-array",
        cell="""\
n = len(w)
rows = list(w)
first = next(iter(w))""",
        reused2=None,
    ),
    Case(
        "sorted-static",
        setup="params = {'b': x, 'a': w}",
        cell="""\
order = sorted(params)
y = [params[k] for k in order]""",
        rule=5,
    ),
    Case(
        "zip-strict-and-map",
        cell="""\
ys = list(map(lambda a, b: a * b, w, [1, 2, 3]))
fs = list(filter(None, [0, 1]))""",
    ),
    Case(
        "recursion-over-tree",
        cell="""\
def total(t):
    if isinstance(t, (list, tuple)):
        return sum(map(total, t))
    return t.sum()
y = total([x, (w, [x])])""",
    ),
    Case(
        "deeply-nested-blocks",
        cell="""\
for i in range(2):
    if i:
        with jax.named_scope('a'):
            try:
                y = x * i
            finally:
                z = x + i""",
    ),
    Case(
        "pass-and-ellipsis",
        cell="""\
if True:
    pass
...
y = x * 2""",
    ),
    Case(
        "async-comprehension-free",
        cell="""\
ys = [a for a in [x, x * 2]]
y, = ys[:1]""",
        rule=5,
    ),
]
