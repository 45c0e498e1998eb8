"""Where Python, NumPy and JAX meet: built-in functions as values, host callbacks, scalars, orders of effects, lifetimes."""

from ..cell import written

PRELUDE = """
import sys, os, io, gc, math, functools, operator, collections, contextlib, weakref, types, itertools, dataclasses
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(4.0)
"""

CELLS = written(
    PRELUDE,
    r"""
### fed-print-wrapped
---
print = functools.partial(print, end="!\n", flush=True)
y = x * 2
print("sum", y.sum())
print("shape", y.shape)
del print
y

### fed-builtins-kept-in-table
---
table = {"t": type, "i": isinstance, "g": getattr, "p": print}
kinds = list(map(type, [x * 2, 1, "a"]))
y = table["g"](x, "sum")() + 1
table["p"]("is array", table["i"](y, jax.Array))
table["t"] is type, [k.__name__ for k in kinds]
---
x = x + 1

### fed-shadowed-builtins
---
sum = x.sum()
max, min = x.max(), x.min()
type = "float"
list = [sum, max]
y = (sum - min) / max
del sum, max, min
type, len(list), y
---
del type, list

### fed-metaclass-in-cell
---
class Meta(type):
    def __call__(cls, *a):
        obj = super().__call__(*a)
        obj.tag = cls.__name__
        return obj
class Net(metaclass=Meta):
    def __init__(self, w):
        self.w = w
    def __call__(self, v):
        return v @ self.w
net = Net(jnp.eye(4) * 2)
y = net(x)
isinstance(Net, type), type(Net) is Meta, Meta.__mro__[1] is type, net.tag

### fed-dunder-and-methodcaller
---
a = operator.methodcaller("reshape", 2, 2)(x)
b = type(x).__add__(x, 1)
c = jax.Array.sum(b)
d = [getattr(jnp, n)(x) for n in ("sin", "cumsum")]
e = vars(jnp)["cos"](x)
a[1], c, d[1], e[0]
---
x = x * 2

### fed-jnp-called-np
---
import jax.numpy as np
y = np.linspace(0, 1, 4) * x
z = np.where(y > 1, y, 0).sum()
import numpy as np
w = np.asarray(y) * 2
type(w).__name__, w.dtype, z
---
x = x - 1

### fed-ids-as-keys
a, b = x, x + 1
---
memo = {id(v): v * 2 for v in (a, b, a)}
hit = memo[id(x)] + memo[id(b)]
n = len({id(v) for v in memo.values()})
c = a
same = [id(c) == id(x), c is a, c is b]
del memo
n, same, hit
---
b = x * 1

### fed-weakref-dies
---
y = x * 2
r = weakref.ref(y)
alive = r() is not None
z = y + 1
del y
gc.collect()
dead = r() is None
del r
alive, dead, z

### fed-callback-order-with-state
scale = {"k": 2.0}
def host(v):
    return np.asarray(v) * np.float32(scale["k"])
---
scale["k"] = 2.0
y = jax.pure_callback(host, x, x)
scale["k"] = 5.0
z = jax.pure_callback(host, x, x) + y
z
---
x = x + 1

### fed-callback-draws
rng = np.random.default_rng(0)
def noise(shape):
    return jax.experimental.io_callback(lambda: rng.normal(size=shape).astype(np.float32),
                                        jax.ShapeDtypeStruct(shape, jnp.float32), ordered=True)
import jax.experimental
---
y = x + noise((4,))
z = y + noise((4,))
z
---
rng = np.random.default_rng(1)

### fed-callback-print-order
---
print("before")
jax.debug.print("first {}", x.sum(), ordered=True)
y = x * 2
jax.debug.print("second {}", y.sum(), ordered=True)
jax.effects_barrier()
print("after", y.sum())
---
x = x + 1

### fed-callback-raises
def host(v):
    if float(v) > 5:
        raise ValueError("too big")
    return v
---
try:
    y = jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x.sum())
    y.block_until_ready()
    told = "fine"
except Exception as e:
    told = "too big" in str(e)
z = x + 1
told, z

### fed-numpy-view-after-jax
a = np.arange(4, dtype=np.float32)
---
v = a[1:3]
y = jnp.array(a) * 2
v += 10
z = y + a
a[:] = np.arange(4)
w = z - a
v.tolist(), w
---
a = np.ones(4, np.float32)

### fed-readonly-result
---
y = np.asarray(x * 2)
try:
    y[0] = 1
    ok = "written"
except ValueError as e:
    ok = str(e)
try:
    x[0] = 1
except TypeError as e:
    ok += "|" + str(e).split(".")[0]
ok, y.flags.writeable
---
x = x + 3

### fed-python-scalars-of-arrays
---
n = operator.index(jnp.int32(3))
names = ["a", "b", "c", "d"]
i = jnp.argmax(x)
picked = names[i], names[: int(i)], "ab" * n
r = round(x[1] / 3, 2), divmod(x[3], 2), abs(-x[1]), -x[2] // 2, math.sqrt(x[3])
picked, r, range(i)
---
x = x[::-1]

### fed-overflow-and-big-ints
---
k = jnp.int32(2**31 - 1) + 1
try:
    y = jnp.arange(3) * 2**40
except OverflowError as e:
    y = type(e).__name__
f = x * 2**40
u = jnp.uint8(250) + jnp.arange(3, dtype=jnp.uint8) * 3
k, y, f[1], u
---
x = x * 3

### fed-membership-and-hash
---
inside = 2.0 in x, x[1] in [0.0, 1.0], jnp.any(x == 3).item()
try:
    {x[0]: 1}
except TypeError as e:
    why = str(e).split(":")[0]
d = dict(zip("abcd", x))
a, *rest, z = x
inside, why, d["b"], len(rest), z - a
---
x = x * 2

### fed-printoptions-of-text
---
with np.printoptions(precision=2, suppress=True):
    text = str(x / 3)
jnp.set_printoptions(precision=3)
text2 = repr(x / 7)
jnp.set_printoptions(precision=8)
text, text2
---
x = x + 1

### fed-print-to-buffer
---
buf = io.StringIO()
y = x * 2
print("y", y, file=buf)
print(y.sum(), end=";", file=buf)
buf.write(f"{y[1]:.1f}")
got = buf.getvalue()
del buf
got
---
x = x - 2

### fed-stdout-writes-mixed
---
sys.stdout.write("start\n")
y = jnp.cumsum(x)
for i, v in enumerate(y):
    sys.stdout.write(f"{i}:{v:.1f} ")
sys.stdout.write("\n")
print("end", flush=True)
y[-1]
---
x = x + 2

### fed-assert-messages
---
y = jnp.sort(x)[::-1]
np.testing.assert_allclose(y[0], x.max())
try:
    np.testing.assert_array_equal(x, y)
    same = True
except AssertionError as e:
    same = str(e).strip().splitlines()[2].strip()
assert jnp.allclose(y[::-1], jnp.sort(x)), f"bad {y}"
same

### fed-class-changed-on-object
class A:
    def f(self, v):
        return v * 2
class B(A):
    def f(self, v):
        return super().f(v) + self.k
o = A(); o.k = x
---
a = o.f(x)
o.__class__ = B if type(o) is A else A
b = o.f(x)
type(o).__name__, b - a

### fed-list-and-dict-subclasses
class Hist(list):
    def __init__(self):
        super().__init__()
        self.best = None
    def append(self, v):
        super().append(v)
        self.best = v if self.best is None else jnp.minimum(self.best, v)
class Counted(dict):
    writes = 0
    def __setitem__(self, k, v):
        Counted.writes += 1
        super().__setitem__(k, v)
h, c = Hist(), Counted()
---
h.append(x.sum())
c["y"] = x * 2
c["n"] = c["y"].sum() + h.best
len(h), Counted.writes, c["n"]
---
h.append(jnp.float32(-3))

### fed-pytree-class-in-cell
---
@jax.tree_util.register_pytree_node_class
class Pair:
    def __init__(self, a, b, tag="t"):
        self.a, self.b, self.tag = a, b, tag
    def tree_flatten(self):
        return (self.a, self.b), self.tag
    @classmethod
    def tree_unflatten(cls, tag, kids):
        return cls(*kids, tag)
p = jax.jit(lambda p: jax.tree.map(lambda v: v * 2, p))(Pair(x, x + 1, "u"))
g = jax.grad(lambda p: (p.a * p.b).sum())(p)
p.tag, g.a, isinstance(g, Pair)
---
x = x * 2

### fed-registered-dataclass-in-cell
---
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    w: jax.Array
    n: int = dataclasses.field(metadata=dict(static=True), default=0)
@jax.jit
def step(s):
    return dataclasses.replace(s, w=s.w * 0.5 + 1, n=s.n + 1)
s = step(step(State(x)))
s.n, s.w
---
x = x + 1

### fed-pytree-registered-once
class Pair:
    def __init__(self, a):
        self.a = a
def register():
    try:
        jax.tree_util.register_pytree_node(Pair, lambda p: ((p.a,), None), lambda _, k: Pair(*k))
        return "new"
    except ValueError:
        return "known"
---
how = register()
y = jax.tree.map(lambda v: v * 2, Pair(x)).a
how, y

### fed-static-argument-object cold
class Cfg:
    eqs = 0
    def __init__(self, n):
        self.n = n
    def __hash__(self):
        return hash(self.n)
    def __eq__(self, o):
        return self.n == o.n
@functools.partial(jax.jit, static_argnames="cfg")
def run(v, cfg):
    for _ in range(cfg.n):
        v = v * 2
    return v
cfgs = [Cfg(1), Cfg(2)]
---
y = run(x, cfg=cfgs[0])
z = run(y, cfg=cfgs[-1])
cfgs[-1] = Cfg(cfgs[-1].n + 1)
z
---
cfgs.append(Cfg(0))

### fed-transfer-guard
---
with jax.transfer_guard("disallow"):
    a = jnp.sin(x)
    try:
        b = a + np.ones(4, np.float32)
        moved = True
    except Exception as e:
        moved = "Disallowed" in str(e)
        b = a
moved, b
---
x = x + 1

### fed-config-updated-in-failing-cell
---
old = jax.config.jax_default_matmul_precision
jax.config.update("jax_default_matmul_precision", "float32")
y = jnp.eye(4) @ x
z = y.reshape(7)

### fed-array-deleted
---
y = x * 2
z = y + 1
y.delete()
try:
    y + 1
    told = ""
except RuntimeError as e:
    told = "deleted" in str(e)
told, y.is_deleted(), z

### fed-clear-caches
@jax.jit
def f(v):
    return jnp.tanh(v)
---
a = f(x)
jax.clear_caches()
b = f(x) + jax.jit(lambda v: v * 2)(a)
b
---
x = x + 1

### fed-named-scopes-and-annotations
---
with jax.profiler.TraceAnnotation("epoch"), jax.named_scope("net"):
    y = x
    for i in range(2):
        with jax.profiler.StepTraceAnnotation("step", step_num=i):
            y = jax.named_call(lambda v: v * 2, name=f"s{i}")(y)
y
---
x = x + 1

### fed-lambda-kept-with-result
hooks = {}
---
y = x * 2
hooks["scale"] = lambda v: v * y
hooks["bound"] = functools.partial(jnp.add, y)
hooks["method"] = y.sum
z = hooks["scale"](x) + hooks["bound"](1)
z
---
out = [hooks["scale"](x), hooks["bound"](x), hooks["method"](), hooks["bound"].args[0] is y]

### fed-exception-keeps-array
class Diverged(Exception): pass
def guard(v):
    if v.sum() > 4:
        raise Diverged("sum", v)
    return v
---
try:
    y = guard(x * 2)
except Diverged as e:
    y = e.args[1] / 2
    last = e
tag = last.args[0]
del last
tag, y
---
x = x + 1

### fed-stringio-csv-to-jnp
import csv
text = "a,b\n1,2\n3,4.5\n"
---
rows = [{k: float(v) for k, v in r.items()} for r in csv.DictReader(io.StringIO(text))]
cols = {k: jnp.array([r[k] for r in rows]) for k in rows[0]}
z = cols["a"] @ cols["b"]
sorted(cols), z
---
text += "5,6\n"

### fed-nested-functions-state cold
def make(n):
    total, calls = jnp.zeros(4), []
    def add(v):
        nonlocal total
        total = total + v * n
        calls.append(v.shape[0])
        return total
    def reset():
        nonlocal total
        total = jnp.zeros(4)
    add.reset, add.calls = reset, calls
    return add
add = make(2)
---
a = add(x)
b = add(x) - a
if len(add.calls) > 3:
    add.reset()
len(add.calls), b
---
add.calls.clear()

### fed-mapping-proxy-and-frozen
base = {"w": x, "n": 2}
view = types.MappingProxyType(base)
---
y = view["w"] * view["n"]
base["w"] = y
try:
    view["w"] = x
except TypeError as e:
    why = str(e)
why, view["w"] is y, sorted(view)
---
base["n"] = 3

### fed-while-walrus-queue
todo = collections.deque([x, x + 1])
---
todo.extend([x * 2, x * 3])
acc = jnp.zeros(4)
while todo and (v := todo.popleft()) is not None:
    acc = acc + v
    if len(todo) == 1:
        todo.appendleft(acc)
        break
len(todo), acc
---
todo.clear()

### fed-for-else-and-loop-names
---
for i, row in enumerate(jnp.eye(4)):
    if row[3] > 0:
        found = i
        break
else:
    found = -1
for _ in range(0):
    pass
else:
    y = x * found
i, row, found, y
---
x = x + 1

### fed-complex-slices
sl = slice(1, None, 2)
idx = (Ellipsis, sl)
---
m = x.reshape(2, 2)
y = m[idx] + m[np.newaxis, ..., 0][0]
z = x.at[sl].set(-1).at[jnp.array([0, 2])].add(5)
parts = np.array_split(np.arange(4), 3)
w = [x[p].sum() for p in parts]
y, z, w
---
sl = slice(None)
idx = (sl, 1)

### fed-dtype-like-things
kinds = ["float32", jnp.bfloat16, np.int8, bool, complex]
---
cast = [x.astype(k) for k in kinds]
names = [str(c.dtype) for c in cast]
r = jnp.result_type(*cast[:3]), jnp.promote_types("int8", "uint8"), jnp.issubdtype(cast[1].dtype, np.floating)
weak = [jnp.asarray(2).weak_type, (x.sum() * 2).weak_type, jnp.full((), 3).weak_type]
names, r, weak
---
kinds.append(np.float16)
""",
)
