"""Odd code in honest cells: exec, walrus, match, star arguments, names made and deleted."""

from ..cell import written

PRELUDE = """
import sys, gc, weakref, copy, types, contextlib, itertools, functools, collections, operator, random, threading, io
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(4.0)
"""

CELLS = written(
    PRELUDE,
    r'''
### odd-generator-expression-kept
g = (i * 2 for i in range(50))
---
a, b = next(g), next(g)
y = x * a + b
a, b

### odd-zip-iterator-kept
z = zip(range(20), itertools.cycle("ab"))
---
i, c = next(z)
y = x + i
c, y

### odd-count-ids
ids = itertools.count(10)
class Node:
    def __init__(self, v):
        self.id, self.v = next(ids), v
---
n = Node(x * 2)
y = n.v + n.id
n.id

### odd-globals-and-locals
---
globals()["made"] = x * 2
y = made + 1
"made" in globals(), "y" in dir()
---
x = x * 4

### odd-exec-and-eval
code = "z = x * k"
k = 3
---
exec(code)
w = eval("z + 1")
w
---
code = "z = x + k"
---
k = 10

### odd-lambda-defaults-loop
---
fs = [lambda v, i=i: v * i for i in range(3)]
gs = [lambda v: v * i for i in range(3)]
y = sum(f(x) for f in fs) + sum(g(x) for g in gs)
y
---
x = x + 1

### odd-star-args
def f(*a, **k):
    return sum(a) * k.get("s", 1.0)
args, kw = [x, x], {"s": 2.0}
---
y = f(*args, **kw)
first, *rest = args
y, len(rest)
---
kw["s"] = 0.5
---
args.append(x)

### odd-walrus-and-chain
---
if (n := x.shape[0]) > 2 and (s := x.sum()) is not None:
    y = s * n
0 < n < 10, y
---
x = jnp.arange(6.0)

### odd-match-statement
cmd = {"op": "scale", "by": 2.0}
---
match cmd:
    case {"op": "scale", "by": float(k)}:
        y = x * k
    case {"op": "shift", "by": k}:
        y = x + k
    case _:
        y = x
y
---
cmd = {"op": "shift", "by": 5}
---
cmd = None

### odd-nested-def-nonlocal
---
def outer():
    t = jnp.zeros(4)
    def inner(v):
        nonlocal t
        t = t + v
        return t
    for i in range(2):
        inner(x)
    return t, inner
t, inner = outer()
t
---
inner(x)
---
x = x * 2

### odd-type-annotations
---
scale: float = 2.0
y: jax.Array = x * scale
z: "later"
list(__annotations__), y
---
x = x + 1

### odd-docstring-and-comment-cell
---
"""A cell that begins with text."""
# and a comment
y = x * 2  # trailing
y
---
x = x + 1

### odd-semicolon-lines
---
a = x + 1; b = a * 2; c = b.sum();
c;
---
x = x * 2

### odd-conditional-import
---
try:
    import not_there_at_all as fast
except ImportError:
    fast = None
y = x * 2 if fast is None else x
y
---
x = x + 1

### odd-del-and-rebind
tmp = [x, x * 2]
---
a, b = tmp
del tmp[0]
tmp.insert(0, a + b)
del a
"a" in globals(), tmp[0]
---
tmp = [x * 3, x]

### odd-frozenset-and-bytes
tags = frozenset({"a", "b"})
raw = b"abc"
---
y = x * len(tags) + raw[0]
more = tags | {"c"}
len(more), y
---
raw = b"zbc"

### odd-complex-and-big-int
big = 10**20
c = 1 + 2j
---
s = str(big + 1)
y = x * c
y.dtype, s
---
c = 3 - 1j

### odd-nan-and-inf-scalars
a = float("nan")
---
y = jnp.where(jnp.isnan(x), 0, x) * float("inf")
flag = a != a
flag, y
---
a = 1.0

### odd-signed-zero
z = -0.0
---
y = jnp.copysign(x, z)
y
---
z = 0.0

### odd-int-vs-bool
n = 1
---
y = x * n
t = type(n).__name__
t, y
---
n = True
---
n = 1.0

### odd-same-hash-floats
d = {1: "int"}
k = 1.0
---
v = d[k]
y = x * k
v, y
---
k = True
''',
)
