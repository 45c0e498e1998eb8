"""Probes: state that is read and written by unusual ways, NumPy records in traced code, messages of caught errors."""

from ..cell import written

PRELUDE = """
import collections, functools, sys, typing
import importlib as _il, pathlib as _p
import jax, jax.numpy as jnp, numpy as np
from jax import lax
x = jnp.linspace(0.0, 1.0, 8)
def W(n, t):
    q = _p.Path(n)
    q.parent.mkdir(parents=True, exist_ok=True)
    q.write_text(t)
    _il.invalidate_caches()
"""

CELLS = written(
    PRELUDE,
    r"""
### gd-struct-field-in-loop
a = np.zeros(2, [('p', 'f4'), ('q', 'f4')])
---
ys = []
for i in range(3):
    t = jnp.sin(x * i)
    a['q'] = i
    ys.append(t[:2] * a['q'])

### gd-struct-in-helper
a = np.zeros(2, [('p', 'f4'), ('q', 'f4')])
def put(i):
    a[i]['q'] = 5
    a['p'][i] += 1
    return x[:2] * a['q'] + a['p']
---
y = put(0)
z = put(1)

### gd-recarray-in-loop
a = np.rec.array([(1., 2), (3., 4)], dtype=[('p', 'f4'), ('q', 'i4')])
---
ys = []
for i in range(2):
    a.p += 1
    a[0].q = i
    ys.append(x[:2] * a.p + a.q)

### gd-replay-buffer-of-records
class Replay:
    dt = np.dtype([('s', 'f4', (2,)), ('r', 'f4')])
    def __init__(s): s.buf = np.zeros(4, s.dt); s.n = 0
    def add(s, st, r):
        s.buf[s.n]['s'] = st; s.buf[s.n]['r'] = r; s.n = (s.n + 1) % 4
    def sample(s): return jnp.asarray(s.buf['s']), jnp.asarray(s.buf['r'])
rb = Replay()
---
tot = []
for i in range(3):
    rb.add([i, 1.], i * 2.)
    s, r = rb.sample()
    tot.append((s.sum(1) * r).sum())

### gd-struct-nested-in-helper
a = np.zeros(8, [('p', 'f4', 2), ('q', [('z', 'f8')])])
def upd(v):
    a['p'][:, 1] += 2
    a['q']['z'] += 1
    return v * 2 + a['p'][:, 1] + a['q']['z']
---
y = upd(x)
z = upd(y)
---
x = x + 1

### gd-add-at-in-loop
a = np.zeros(4)
---
ys = []
for i in range(3):
    t = jnp.sin(x * i)
    np.add.at(a, [0, 0, 1], 1)
    ys.append(t[:4] * a)

### gd-add-at-and-fill-diagonal-in-loop
a = np.zeros(4)
---
ys = []
for i in range(3):
    np.add.at(a, [0, 0, 1], 1)
    np.fill_diagonal(a.reshape(2, 2), 9)
    ys.append(x[:4] * a)

### gd-add-at-in-helper
a = np.zeros(4)
def upd(v, i):
    np.add.at(a, [0, 0, 1], 1)
    return v * a
---
y = x[:4]
for i in range(3):
    y = upd(y, i)

### gd-subtract-at-in-helper
a = np.zeros(4)
def upd(v, i):
    np.subtract.at(a, [0], 1)
    a[1:3] += 1
    a.reshape(2, 2)[1] *= 2
    return v * a
---
y = upd(x[:4], 0)
z = upd(y, 1)

### gd-negative-at
a = np.ones(8)
def upd(v):
    np.negative.at(a, [1])
    return v * 2 + a
---
y = upd(x)
z = upd(y)
---
x = x + 1

### gd-subclass-view-base
class A(np.ndarray):
    def __array_finalize__(s, o): s.info = getattr(o, 'info', 0) + 1
a = np.zeros(8).view(A)
v = x
---
ys = []
for i in range(2):
    t = jnp.sin(x * i)
    a += 1
    b = a[1:]
    ys.append(t.sum() * (np.asarray(a) + b.info))
---
x = x + 1

### gd-del-after-use
z = x; w = 3
---
y0 = x * 2
del z

### gd-del-then-asked
z = 3
---
t0 = jnp.sin(x)
del z
seen = 'z' in globals()
---
z = 4

### gd-del-global-in-helper
z = 3
def f():
    global z
    del z
    return x * 2
---
y = f()

### gd-filter-in-failing-try
import warnings
---
y = x * 2
try:
    warnings.filterwarnings('ignore', message='gdgd')
    y2 = x * 3
    raise ValueError
except ValueError:
    y3 = x * 4
seen = sum(f[1] is not None and 'gdgd' in f[1].pattern for f in warnings.filters)

### gd-filter-in-helper
import warnings
def quiet():
    warnings.filterwarnings('ignore', message='gdgd')
    return x * 3
---
y2 = quiet()
seen = sum(f[1] is not None and 'gdgd' in f[1].pattern for f in warnings.filters)

### gd-sysmodules-main-put
import sys
W("gdm2.py", "import sys\ndef f(a): return a * sys.modules['__main__'].SC\ndef put(v): sys.modules['__main__'].SC = v\n")
import gdm2
SC = 2.0
---
y = gdm2.f(x)
gdm2.put(y)

### gd-sysmodules-put-in-cell-helper
import sys
def f(a): return a * sys.modules['__main__'].SC
def put(v): sys.modules['__main__'].SC = v
SC = 2.0
---
y = f(x)
put(y)
z = f(x)

### gd-sysmodules-own-module-put
import sys
W("gdm3.py", "SC = 2.0\n")
import gdm3
def f(a): return a * sys.modules['gdm3'].SC
def put(v): sys.modules['gdm3'].SC = v
---
y = f(x)
put(y)
z = f(x)

### gd-import-module-put
import importlib
W("gdm3.py", "SC = 2.0\n")
W("gdm4.py", "import importlib\ndef f(a): return a * importlib.import_module('gdm3').SC\ndef put(v): importlib.import_module('gdm3').SC = v\n")
import gdm4
---
y = gdm4.f(x)
gdm4.put(y)
z = gdm4.f(x)
---
import gdm3; gdm3.SC = 5.0

### gd-sysmodules-helper-put
W('gdw3.py', 'SC = 2.0\n'); import gdw3, sys
def put(v): sys.modules['gdw3'].SC = v
---
t = jnp.sin(x)
put(t)
y = gdw3.SC + 1
---
x = x + 1

### gd-main-new-name-by-setattr
import __main__
def put(n, v): setattr(__main__, n, v)
---
t = jnp.sin(x)
put('NEWQ', t)
y = NEWQ + 1
---
x = x + 1

### gd-frame-globals
W("gdma.py", "import inspect\ndef f(a):\n    fr = inspect.currentframe().f_back\n    return a * fr.f_globals['SC']\n")
import gdma
SC = 2.0
---
z = gdma.f(x)
---
SC = 3.0

### gd-getframe-globals
W("gdma.py", "import sys\ndef f(a): return a * sys._getframe(1).f_globals['SC']\ndef g(a, n): return a * sys._getframe(1).f_locals[n]\n")
import gdma
SC = 2.0
def h(a):
    loc = a * 3
    return gdma.g(a, 'loc')
---
z = gdma.f(x)
w = h(x)
---
SC = x

### gd-stack-frame-globals
import inspect
def scale(a):
    return a * inspect.stack()[1].frame.f_globals['SC']
SC = 2.0
---
y = scale(x)
---
SC = 3.0

### gd-function-globals-read
SC = 2.0
def f(a): return a * f.__globals__['SC']
---
y = f(x)
---
SC = 3.0

### gd-attrgetter-of-module
W('gdr1.py', 'SC = 2.0\n'); import gdr1, operator; get = operator.attrgetter('SC')
---
y = x * get(gdr1)
---
gdr1.SC = 3.0
---
gdr1.SC = x

### gd-sysmodules-get
W('gdr6.py', 'SC = 2.0\n'); import gdr6, sys
def f(a): return a * sys.modules.get('gdr6').SC
---
y = f(x)
---
gdr6.SC = 3.0

### gd-import-module-read
W('gdr9.py', 'SC = 2.0\n'); import importlib
def f(a): return a * importlib.import_module('gdr9').SC
---
y = f(x)
---
import gdr9; gdr9.SC = 3.0

### gd-enum-value-changed
import enum
class E(enum.Enum):
    A = 'tanh'
    B = 'sin'
    def f(s, v): return getattr(jnp, s.value)(v)
e = E.A
---
y = e.f(x)
is_ = e is E.A
---
e = E.B
---
E.A._value_ = 'cos'; e = E.A
---
E.f = lambda s, v: v

### gd-class-annotations
import typing
class C:
    a: 2.0
def f(v): return v * C.__annotations__['a'] + len(typing.get_type_hints(f))
---
y = f(x)
---
C.__annotations__['a'] = 5.0
---
f.__annotations__['v'] = int

### gd-function-annotations
def f(v, unit: 'm' = 1): return v * 2
def conv(v): return v * {'m': 1, 'km': 1000}[f.__annotations__['unit']]
---
y = conv(x)
---
f.__annotations__['unit'] = 'km'

### gd-function-doc
def f(v): "scale 2"; return v
def conv(v): return v * int(f.__doc__.split()[1])
def g(v): return v * len(f.__name__)
---
y = conv(x), g(x)
---
f.__doc__ = 'scale 5'
---
f.__name__ = 'longer'

### gd-class-doc-and-name
class C: "scale 2"
def conv(v): return v * int(C.__doc__.split()[1]) + len(C.__name__) + len(C.__qualname__)
---
y = conv(x)
---
C.__doc__ = 'scale 5'
---
C.__name__ = 'longer'
---
C.__qualname__ = 'longest'

### gd-numpy-print-options
def g(v): return v * len(np.array2string(np.array([1/3, 2/3])))
def h(v): return v * len(f'{np.float64(1/3)}') + len(repr(np.arange(3.)))
---
y = g(x), h(x)
---
np.set_printoptions(precision=2)
---
np.set_printoptions(precision=8)

### gd-getdoc
import linecache, inspect
def g(v): return v * len(inspect.getdoc(g) or '')
---
y = g(x)
---
g.__doc__ = 'abc'

### gd-calendar-firstweekday
import calendar, locale, string
W("gdcal.py", "import calendar\ndef g(v): return v * calendar.firstweekday()\n")
import gdcal
---
y = gdcal.g(x)
---
calendar.setfirstweekday(3)
---
calendar.setfirstweekday(0)

### gd-module-getattr-with-state
W("gdlz2.py", "N = 0\ndef __getattr__(n):\n    global N\n    N += 1\n    return N\n")
import gdlz2
---
y = x * gdlz2.anything
m = gdlz2.N

### gd-update-under-try
def merge(v):
    if hasattr(v, 'update'): return 'dict'
    try: v.update(a=1)
    except AttributeError: return v * 2
    except TypeError: return v * 3
---
y = merge(x)

### gd-attribute-of-array-under-try
def kind(v):
    try: v.tag = 'q'; return v.tag
    except AttributeError: return 'no'
---
y = kind(x + 1), x * 2

### gd-bytes-under-try
def tobytes(v):
    try: return len(bytes(v))
    except TypeError: return -1
---
n = tobytes(x[1]), tobytes(x)
y = x * 2

### gd-message-of-operator
import warnings
def explain(v):
    try: return v + {}
    except TypeError as e: return str(e).split("'")[1]
---
s = explain(x)
y = x * 2

### gd-message-in-safe-call
log = []
def safe(f, *a):
    try: return f(*a)
    except Exception as e:
        log.append(f'{type(e).__name__}: {e}')
        return None
---
y = safe(lambda v: v.normalise(), x)
z = safe(lambda v: v @ v, x)

### gd-message-in-assert-raises
import unittest
tc = unittest.TestCase()
---
with tc.assertRaises(AttributeError) as cm:
    x.nope
m = str(cm.exception)
cm = None
y = x + 1

### gd-message-of-str-list-dict
---
try:
    y = 'abc' + x
except TypeError as e:
    m = str(e)
try:
    y = [1] + x
except TypeError as e:
    m1 = str(e)
try:
    y = {} | x
except TypeError as e:
    m2 = str(e)
y = x + 1

### gd-fail-environ
def fails(a):
    b = a * 2
    raise ValueError('in helper')
import os
os.environ['GDK'] = '1'
---
t0 = jnp.sin(x)
os.environ['GDK'] = '2'
os.environ['GDNEW'] = 'n'
y0 = x * int(os.environ['GDK'])
t1 = t0 + 1
bad = [x][2]
---
raise LookupError(repr((os.environ.get('GDK'), os.environ.get('GDNEW'),)))

### gd-fail-sys-path
def fails(a):
    b = a * 2
    raise ValueError('in helper')
import sys
---
t0 = jnp.sin(x)
sys.path.insert(0, '/gd')
y0 = x * len(sys.argv)
t1 = t0 + 1
bad = lax.scan(lambda c, a: (c, fails(a)), x, x)
---
raise LookupError(repr(('/gd' in sys.path,)))

### gd-fail-seterr
def fails(a):
    b = a * 2
    raise ValueError('in helper')

---
t0 = jnp.sin(x)
np.seterr(divide='raise')
y0 = x * 2
t1 = t0 + 1
bad = x.reshape(3)
---
raise LookupError(repr((np.geterr()['divide'],)))

### gd-fail-contextvar
def fails(a):
    b = a * 2
    raise ValueError('in helper')
import contextvars
cv = contextvars.ContextVar('cv', default=1)
---
t0 = jnp.sin(x)
cv.set(5)
y0 = x * cv.get()
tok = cv.set(7)
t1 = t0 + 1
bad = x * (1 / (len(x) - 8))
---
raise LookupError(repr((cv.get(),)))

### gd-fail-memoryview
def fails(a):
    b = a * 2
    raise ValueError('in helper')
ba = bytearray(b'abc'); mv = memoryview(ba)
---
t0 = jnp.sin(x)
mv[0] = 120
y0 = x * ba[0]
t1 = t0 + 1
bad = np.zeros(3) + np.zeros(4)
---
raise LookupError(repr((bytes(ba),)))

### gd-fail-numpy-flags
def fails(a):
    b = a * 2
    raise ValueError('in helper')
a = np.arange(4.)
---
t0 = jnp.sin(x)
a.flags.writeable = False
y0 = x[:4] * a
t1 = t0 + 1
bad = [x][2]
---
raise LookupError(repr((a.flags.writeable,)))

### gd-fail-numpy-shape
def fails(a):
    b = a * 2
    raise ValueError('in helper')
a = np.arange(4.)
---
t0 = jnp.sin(x)
a.shape = (2, 2)
y0 = a @ jnp.ones((2, 2))
t1 = t0 + 1
bad = jax.grad(lambda a: a * 2)(x)
---
raise LookupError(repr((a.shape,)))

### gd-fail-chdir
def fails(a):
    b = a * 2
    raise ValueError('in helper')
import os, pathlib
os.makedirs('sub', exist_ok=True)
---
t0 = jnp.sin(x)
os.chdir('sub')
y0 = x * 2
t1 = t0 + 1
bad = lax.scan(lambda c, a: (c, fails(a)), x, x)
---
raise LookupError(repr((pathlib.Path.cwd().name,)))

### gd-fail-class-bases
def fails(a):
    b = a * 2
    raise ValueError('in helper')
class A: pass
class B: pass
class C(A): pass
o = C()
---
t0 = jnp.sin(x)
C.__bases__ = (B,)
o.__class__ = B
y0 = x * 1
t1 = t0 + 1
bad = jax.grad(lambda a: a * 2)(x)
---
raise LookupError(repr((C.__bases__[0].__name__, type(o).__name__,)))

### gd-struct-view-in-helper
a = np.zeros(8, [('p', 'f4'), ('q', 'i4')]); p = a['p']
def upd(v):
    p += 1
    return v * 2 + a['p']
---
y = upd(x)
z = upd(y)
---
x = x + 1

### gd-closure-cell-in-loop
def mk():
    w = x
    return lambda: w
f = mk()
---
ys = []
for i in range(3):
    t = jnp.sin(x * i)
    f.__closure__[0].cell_contents = t
    y = f() + 1
    ys.append(y)
---
x = x + 1

### gd-instancecheck-state
class M(type):
    def __instancecheck__(cls, o): return getattr(o, 'tag', 0) > cls.lim
class A(metaclass=M): lim = 1
class C: tag = 2
c = C()
def f(v): return v * (2 if isinstance(c, A) else 3)
---
y = f(x)
---
A.lim = 5
---
c.tag = 9

### gd-metaclass-call
class Meta(type):
    reg = []
    def __new__(m, n, b, d):
        c = super().__new__(m, n, b, d); m.reg.append(n); return c
    def __call__(c, *a):
        o = super().__call__(*a); o.tag = len(m_log); m_log.append(c.__name__); return o
m_log = []
class Base(metaclass=Meta):
    def __init__(s, w): s.w = w
class Sub(Base):
    def __init__(s, w): super().__init__(w * 2); s.extra = w
---
o = Sub(x)
y = o.w + o.extra
t = o.tag

### gd-pytree-registered-between
class K:
    v = 1
k = K()
def rd(v): return v * 2 + len(jax.tree.leaves(k)) + len(jax.tree.leaves({'a': 1, 'b': None}))
---
y = rd(x)
---
jax.tree_util.register_pytree_node(K, lambda o: ((1, 2, 3), None), lambda a, c: K())
---
x

### gd-copyreg-between
import copyreg, copy
class K:
    v = 1
k = K()
def rd(v): return v * 2 + copy.copy(k).v
---
y = rd(x)
---
copyreg.pickle(K, lambda o: (lambda: type('Q', (), {'v': 5}), ()))
---
copyreg.dispatch_table.pop(K)

### gd-fail-nnx-variable-in-function
from flax import nnx
v0 = nnx.Variable(x)
def upd(v):
    v0[...] = v0[...] * 2
    raise RuntimeError('no')
---
upd(x)
---
raise ValueError(v0[...].tolist())

### gd-fail-nnx-epoch
from flax import nnx
model = nnx.Linear(8, 2, rngs=nnx.Rngs(0)); hist = {'loss': []}
def epoch(data):
    for v in data:
        model.kernel[...] = model.kernel[...] - 0.1
        hist['loss'].append(model(v).sum())
---
epoch([x, x + 1, x[:3]])
---
raise ValueError(float(model.kernel[...].sum()), len(hist['loss']))

### gd-fail-nnx-jit-step-in-function
from flax import nnx
model = nnx.Sequential(nnx.Linear(8, 2, rngs=nnx.Rngs(0)))
@nnx.jit
def train(m, v):
    g = nnx.grad(lambda m: m(v).sum())(m)
    nnx.update(m, jax.tree.map(lambda p, q: p - 0.1 * q, nnx.state(m, nnx.Param), g))
def epoch(v):
    train(model, v)
    raise KeyError('batch')
---
epoch(x)
---
raise ValueError(float(model.layers[0].kernel[...].sum()))

### gd-fail-nnx-optimizer-in-function
from flax import nnx
import optax
model = nnx.Linear(8, 2, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
def step(v):
    g = nnx.grad(lambda m: m(v).sum())(model)
    opt.update(model, g)
    return v[:2] + v
---
a = step(x)
---
raise ValueError(float(model.kernel[...].sum()), int(opt.step[...]))

### gd-fail-batchnorm-in-function
from flax import nnx
model = nnx.BatchNorm(8, rngs=nnx.Rngs(0))
def fwd(v):
    o = model(v[None])
    return o @ jnp.ones(3)
---
a = fwd(x)
---
raise ValueError(float(model.mean[...].sum()), float(model.var[...].sum()))

### gd-fail-masked-data-in-function
ma = np.ma.array([1., 2., 3.], mask=[0, 1, 0])
def upd(v):
    ma.data[2] = 9
    raise RuntimeError
---
a = upd(x)

### gd-fail-masked-in-function
ma = np.ma.array([1., 2., 3.], mask=[0, 1, 0])
def upd(v):
    global ma
    ma += 1
    return v[:2] + v
---
a = upd(x)
---
raise ValueError(ma.data.tolist(), ma.mask.tolist())

### gd-fail-add-at-in-function
a = np.zeros(4)
def upd(v):
    np.add.at(a, [0], 1)
    raise RuntimeError
---
y = upd(x)

### gd-helper-redefined-to-use-a-context
import contextvars, threading, weakref, itertools, queue
tl = threading.local(); cv = contextvars.ContextVar('gdz', default=None); ctx = contextvars.Context(); it = itertools.count(1); res = []
class K: pass
k = K(); wv = weakref.WeakValueDictionary(); lk = threading.Lock(); D = {}; qq = queue.Queue()
def upd(t):
    return t * 3
---
a_plain = upd(x)
b = upd(a_plain * 0.5)
---
def upd(t):
    ctx.run(cv.set, t)
    cv.set(t)
    y = ctx[cv] + cv.get()
    return y * 2
""",
)
