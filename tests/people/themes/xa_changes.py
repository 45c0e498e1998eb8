"""Small cells between whose runs something far away is changed: settings, code, bases, buffers, positions, types."""

from ..cell import written

PRELUDE = """
import array, builtins, collections, contextlib, copy, ctypes, dataclasses, datetime, decimal, enum, fractions, functools
import io, itertools, json, math, mmap, operator, os, pickle, random, re, string, struct, sys, time, types, warnings, weakref
from functools import partial
from pathlib import Path
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
x = jnp.array([3.0, -1.0, 2.0, 0.5]); n = jnp.array([4, 1, 3]); s = jnp.float32(2.5)
def f(v): return v * 2 + 1
"""

CELLS = written(
    PRELUDE,
    r"""
### xa-c-code-object-swapped
---
y = f(x)
---
def g(v): return v - 1
f.__code__ = g.__code__
---
f.__code__ = (lambda v: v * s).__code__

### xa-c-closure-cell-contents
def make(c): return lambda v: v * c
h = make(2.0)
---
y = h(x)
---
h.__closure__[0].cell_contents = 5
---
h.__closure__[0].cell_contents = s

### xa-c-keyword-defaults
def h(v, *, c=2): return v * c
---
y = h(x)
---
h.__kwdefaults__["c"] = 3
---
h.__kwdefaults__ = {"c": s}

### xa-c-class-of-an-instance
class A:
    k = 1
    def go(self, v): return v + self.k
class B(A):
    def go(self, v): return v * 10
o = A()
---
y = o.go(x)
---
o.__class__ = B
---
A.k = 7; o.__class__ = A
---
B.__bases__ = (A,); o = B(); del B.go

### xa-c-bound-method-put-on-an-instance
class A:
    def go(self, v): return v + 1
o = A()
---
y = o.go(x); r = "go" in vars(o)
---
o.go = types.MethodType(lambda self, v: v * 3, o)
---
del o.go

### xa-c-getattr-added-to-a-class
class A: pass
o = A(); o.w = x
---
y = o.w + getattr(o, "b", 0)
---
A.__getattr__ = lambda self, nm: s if nm == "b" else (_ for _ in ()).throw(AttributeError(nm))
---
A.b = 100

### xa-c-property-replaced
class A:
    @property
    def c(self): return 2
o = A()
---
y = x * o.c
---
A.c = property(lambda self: 3)
---
A.c = 4; o.c = s

### xa-c-print-overridden
def report(v): print("sum", float(v.sum()))
---
report(x)
y = x + 1
---
kept = []
def print(*a): kept.append(a)
---
del print

### xa-c-numpy-print-options
---
y = x / 3
print(y)
t = str(y)
---
np.set_printoptions(precision=2)
---
np.set_printoptions(precision=8)

### xa-c-rank-promotion-raise
A = jnp.ones((2, 4))
---
y = A + x
---
jax.config.update("jax_numpy_rank_promotion", "raise")
---
jax.config.update("jax_numpy_rank_promotion", "allow")

### xa-c-dtype-promotion-strict
---
y = x[:3] * n
---
jax.config.update("jax_numpy_dtype_promotion", "strict")
---
jax.config.update("jax_numpy_dtype_promotion", "standard")

### xa-c-x64-switched
---
y = jnp.arange(3) * 1.5; z = jnp.array(1.0), jnp.asarray(np.arange(2)), x + 1
---
jax.config.update("jax_enable_x64", True)
---
jax.config.update("jax_enable_x64", False)

### xa-c-prng-default-impl
---
key = jax.random.key(0); y = jax.random.normal(key, (2,)); r = str(jax.random.key_impl(key))
---
jax.config.update("jax_default_prng_impl", "rbg")
---
jax.config.update("jax_default_prng_impl", "threefry2x32")

### xa-c-disable-jit
log = []
@jax.jit
def h(v): log.append(type(v).__name__); return v * 2
---
y = h(x) if not jax.config.jax_disable_jit else h(x) + 0
---
jax.config.update("jax_disable_jit", True)
---
jax.config.update("jax_disable_jit", False)

### xa-c-matmul-precision
A = jnp.ones((3, 3)) / 3
---
y = A @ A; t = "HIGHEST" in str(jax.make_jaxpr(lambda a: a @ a)(A))
---
jax.config.update("jax_default_matmul_precision", "highest")
---
jax.config.update("jax_default_matmul_precision", None)

### xa-c-warning-of-truncation-made-an-error
---
y = x.astype(jnp.int64)
---
warnings.simplefilter("error")
---
warnings.simplefilter("ignore")

### xa-c-warning-in-a-helper-made-an-error
def h(v): warnings.warn("old"); return v * 2
---
y = h(x)
---
warnings.simplefilter("error")
---
warnings.simplefilter("ignore")

### xa-c-decimal-precision
---
d = decimal.Decimal(1) / 3; y = x * float(d)
---
decimal.getcontext().prec = 3
---
decimal.getcontext().prec = 28

### xa-c-view-changed-through-its-base
base = np.arange(6.0); v = base[::2]
---
y = jnp.asarray(v) * 2
---
base[2] = 50
---
base *= 0

### xa-c-bytearray-and-memoryview
b = bytearray(struct.pack("4f", 1, 2, 3, 4)); mv = memoryview(b)
---
y = jnp.asarray(np.frombuffer(b, np.float32)) + len(mv)
---
b[0:4] = struct.pack("f", 9)
---
mv[4:8] = struct.pack("f", -1)

### xa-c-array-array-and-ctypes
a = array.array("f", [1, 2, 3]); c = (ctypes.c_float * 2)(1, 2)
---
y = jnp.array(a) * 2; z = jnp.array(np.ctypeslib.as_array(c)).sum()
---
a.append(4); c[0] = 7
---
a[0] = -1

### xa-c-mapping-proxy-underlying
d = {"w": x}; ro = types.MappingProxyType(d)
---
y = ro["w"] * len(ro)
---
d["w"] = x + 1
---
d["b"] = 0

### xa-c-dict-view-held
d = {"a": 1.0, "b": 2.0}; ks, vs = d.keys(), d.values()
---
y = x * sum(vs); t = list(ks)
---
d["c"] = 3
---
d["a"] = s

### xa-c-chain-map-parent
base = {"lr": 0.1, "m": 0.9}; cfg = collections.ChainMap({}, base)
---
y = x * cfg["lr"] + cfg["m"]
---
base["lr"] = 0.5
---
cfg["lr"] = 2
---
cfg = cfg.new_child({"m": s})

### xa-c-slice-object
sl = slice(0, 2)
---
y = x[sl] * 2
---
sl = slice(None, None, -1)
---
sl = jnp.array([0, 0])
---
sl = Ellipsis
---
sl = np.int64(1)

### xa-c-true-one-and-one-point-zero
c = 1
---
y = x * c; z = jnp.full((2,), c); w = jnp.array(c)
---
c = True
---
c = 1.0
---
c = np.float32(1)
---
c = np.float64(1)
---
c = jnp.asarray(1)
---
c = 1 + 0j

### xa-c-numpy-scalar-kinds
c = np.int32(3)
---
y = x * c; t = type(c).__name__, jnp.asarray(c).weak_type; z = n * c
---
c = np.int64(3)
---
c = np.array(3)
---
c = np.array([3], np.int8)
---
c = 3

### xa-c-large-ints
c = 2**20
---
y = n + c; z = jnp.uint32(7) * 2; u = c % 1000
---
c = 2**31 - 10
---
c = -2**31
---
c = 2**31

### xa-c-negative-zero
c = 0.0
---
y = jnp.copysign(x, c); z = x * c; w = 1 / jnp.float32(c)
---
c = -0.0
---
c = 0

### xa-c-byte-order-and-strides
a = np.arange(6, dtype=np.float32).reshape(2, 3)
---
y = jnp.asarray(a).sum(0); r = a.flags.c_contiguous, a.dtype.str
---
a = a.astype(">f4")
---
a = np.asfortranarray(a.astype(np.float32))
---
a = a[:, ::-1]; a.flags.writeable = False

### xa-c-weak-and-strong-input
w = jnp.asarray(1.0)
---
y = jnp.float16(2) * w; z = w + 1
---
w = jnp.array(1.0, dtype=jnp.float32) * 1
---
w = jnp.float32(1)
---
w = 2 * jnp.asarray(1)

### xa-c-itertools-count-and-cycle
it = itertools.count(1); cy = itertools.cycle([1.0, 2.0])
---
y = x * next(it) + next(cy)
---
next(it)
---
cy = itertools.cycle([5])

### xa-c-file-position
Path("d.txt").write_text("1\n2\n3\n4\n5\n6\n7\n8\n"); fh = open("d.txt")
---
line = fh.readline()
y = x * float(line or 0)
---
fh.seek(0)
---
fh.readline()

### xa-c-memmap-changed
mm = np.memmap("m.bin", np.float32, "w+", shape=(3,)); mm[:] = 1
---
y = jnp.asarray(mm) * 2
---
mm[1] = 5
---
np.fromfile("m.bin", np.float32); mm[:] = 0

### xa-c-template-and-regex-objects
tp = string.Template("$a*2"); rx = re.compile(r"\d+")
---
t = tp.substitute(a=int(n[0])); y = x * int(rx.search(t).group())
---
tp = string.Template("7$a")
---
rx = re.compile(r"\d$")

### xa-c-enum-member-swapped
class M(enum.IntEnum): A = 1; B = 2
m = M.A
---
y = x * m; t = m.name, type(m * 2).__name__
---
m = M.B
---
m = 2

### xa-c-namedtuple-class-redefined
S = collections.namedtuple("S", "a b"); st = S(x, s)
---
y = st.a * st.b; z = jax.tree.map(lambda v: v + 1, st)
---
class S(collections.namedtuple("S", "a b")):
    @property
    def a(self): return -self[0]
st = S(x, s)
---
st = st._replace(b=1)

### xa-c-dataclass-default-factory
@dataclasses.dataclass
class D:
    w: list = dataclasses.field(default_factory=lambda: [1.0])
---
d = D(); y = x * d.w[0]
---
D.__init__.__defaults__ if D.__init__.__defaults__ else None
@dataclasses.dataclass
class D:
    w: list = dataclasses.field(default_factory=lambda: [2])
---
D = lambda: types.SimpleNamespace(w=[s])

### xa-c-partial-keywords-mutated
h = partial(lambda v, c=1, d=0: v * c + d, c=2)
---
y = h(x)
---
h.keywords["d"] = 5
---
h = partial(h, d=s)

### xa-c-operator-overloads-swapped-on-class
class V:
    def __init__(self, d): self.d = d
    def __add__(self, o): return V(self.d + o)
v = V(x)
---
y = (v + 1).d
---
V.__add__ = lambda self, o: V(self.d * 100)
---
V.__radd__ = V.__add__; v = V(n)

### xa-c-module-attribute-patched
---
y = math.floor(2.5) * x + math.tau
---
math.tau = 1.0
---
import importlib; importlib.reload(math); math.tau = 2 * math.pi

### xa-c-decorated-then-undecorated
def twice(g): return lambda v: g(g(v))
@twice
def h(v): return v + 1
---
y = h(x)
---
h = twice(h)
---
h = jax.jit(f)
---
h = jax.checkpoint(lambda v: v ** 3)

### xa-c-set-iteration-of-names
names = {"a", "b"}; w = {"a": x, "b": x * 2, "c": s}
---
y = sum(w[k] for k in sorted(names)); m = len(names)
---
names.add("c")
---
names = frozenset({"b"})

### xa-c-env-var-in-helper
def scale(): return float(os.environ.get("XA_S", 1))
---
y = x * scale()
---
os.environ["XA_S"] = "4"
---
os.environ.pop("XA_S")

### xa-c-working-folder
Path("a").mkdir(); Path("a/v.txt").write_text("2"); Path("v.txt").write_text("1")
---
y = x * float(open("v.txt").read())
---
os.chdir("a")
---
os.chdir("..")

### xa-c-random-module-reseeded
random.seed(1)
---
c = random.random(); y = x * c
---
random.seed(1)
---
random.setstate(random.Random(5).getstate())

### xa-c-numpy-global-generator-replaced
np.random.seed(1)
---
y = x + np.random.rand(4)
---
np.random.seed(1)
---
np.random.set_state(np.random.RandomState(3).get_state())

### xa-c-frozen-object-setattr
@dataclasses.dataclass(frozen=True)
class C: lr: float = 0.1; w: object = None
c = C(w=x)
---
y = c.w * c.lr
---
object.__setattr__(c, "lr", 3)
---
c = dataclasses.replace(c, w=n)

### xa-c-slots-object
class Sl:
    __slots__ = ("a", "b")
    def __init__(self): self.a = x
o = Sl()
---
o.b = getattr(o, "b", 0) + o.a
y = o.b * 2
---
del o.b
---
o.a = s

### xa-c-weakref-target-dies
class T: pass
t = T(); t.w = s; ref = weakref.ref(t)
---
y = x * (ref().w if ref() is not None else -1)
---
t.w = s * 2
---
del t

### xa-c-datetime-and-fraction
day = datetime.date(2024, 2, 28); fr = fractions.Fraction(1, 3)
---
y = x * (day + datetime.timedelta(2)).day + float(fr); t = day.isoformat()
---
day = datetime.date(2023, 2, 28)
---
fr = fr * 2

### xa-c-nested-list-element-replaced-deep
cfg = {"layers": [{"w": [x, [n, {"c": 2}]]}]}
---
y = cfg["layers"][0]["w"][0] * cfg["layers"][0]["w"][1][1]["c"]
---
cfg["layers"][0]["w"][1][1]["c"] = 9
---
cfg["layers"][0]["w"][1][1] = collections.defaultdict(lambda: 4)
---
cfg["layers"] = tuple(cfg["layers"])

### xa-c-array-mutated-by-dlpack-consumer
buf = np.ones(4, np.float32)
---
y = jnp.from_dlpack(buf) * 2 if False else jnp.array(buf) * 2
---
np.from_dlpack(buf)[...]; buf[:] = 3

### xa-c-shared-list-under-two-names
a = [x]; b = a
---
b[0] = b[0] + 1
y = a[0] * 2; r = a is b, a[0] is b[0]
---
b = list(a)
---
a = b = [s]

### xa-c-same-array-under-two-names-then-not
p = q = x
---
y = p + q; r = p is q
p = p + 1 if p is q else p
---
q = p
---
q = jnp.array(p)

### xa-c-self-referencing-container
l = [x]; l.append(l)
---
y = l[1][1][0] * 2; l[0] = y
---
l[1] = [s, [n, n]]

### xa-c-function-in-dict-redefined-in-another-cell
table = {"act": f}
---
y = table["act"](x); same = table["act"] is f
---
def f(v): return v - 5
---
table["act"] = f

### xa-c-global-used-by-a-class-method
GAIN = 2
class A:
    def go(self, v): return v * GAIN
o = A()
---
y = o.go(x)
---
GAIN = 3
---
GAIN = "a"
---
del GAIN

### xa-c-name-deleted-and-builtin-again
---
abs_x = abs(x); y = max(x)
---
def max(v): return v[0]
---
del max
---
abs = lambda v: v

### xa-c-string-dtype-and-device-names
dt = "float32"
---
y = jnp.zeros(2, dt) + x[:2].astype(dt)
---
dt = "bfloat16"
---
dt = np.int8
---
dt = int
---
dt = "nope"

### xa-c-shape-tuple-from-list-and-numpy
shape = [2, 2]
---
y = x.reshape(shape); z = jnp.zeros(shape)
---
shape.reverse(); shape[0] = 4; shape[1] = 1
---
shape = np.array([1, 4])
---
shape = (-1,)
---
shape = 4

### xa-c-callable-class-to-function
class F:
    def __call__(self, v): return v * 2
g = F()
---
y = jax.vmap(g)(x); z = jax.grad(lambda t: g(t).sum())(x)
---
g = jnp.sin
---
F.__call__ = lambda self, v: v ** 2; g = F()

### xa-c-none-to-array-to-none
m = None
---
y = x if m is None else 0.9 * m + x
m = y
---
m = None
---
m = 0

### xa-c-default-device-set-globally devices=4
---
y = jnp.ones(2); z = y + 1; w = x * 2; r = list(z.devices())[0].id
---
jax.config.update("jax_default_device", jax.devices()[2])
---
jax.config.update("jax_default_device", None)

### xa-c-set-mesh-globally devices=4
from jax.sharding import PartitionSpec as P, NamedSharding, AxisType
---
y = jnp.arange(8.0).reshape(4, 2); z = y * 2; r = str(jax.sharding.get_abstract_mesh().axis_names), z.sharding.is_fully_replicated
---
ctx = jax.set_mesh(jax.make_mesh((4,), ("d",), axis_types=(AxisType.Auto,))); ctx.__enter__(); del ctx
---
jax.set_mesh(jax.sharding.Mesh(np.array([]).reshape(0), ())) if False else None

### xa-c-sharding-of-input-changes devices=4
from jax.sharding import PartitionSpec as P, NamedSharding, Mesh
mesh = Mesh(np.array(jax.devices()[:4]), ("d",))
---
y = x * 2; z = y.sum(); r = y.sharding.device_set == x.sharding.device_set, y.committed
---
x = jax.device_put(x, NamedSharding(mesh, P("d")))
---
x = jax.device_put(x, NamedSharding(mesh, P()))
---
x = jax.device_put(np.asarray(x), jax.devices()[3])
---
x = jax.device_put(np.asarray(x))
""",
)
