"""Odd objects in honest cells: proxies, lying classes, raising attributes, weak things, generators, metaclasses."""

from ..cell import written

PRELUDE = """
import sys, gc, weakref, copy, types, contextlib, itertools, functools, collections, operator, random, threading, io
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(4.0)
"""

CELLS = written(
    PRELUDE,
    r"""
### odd-proxy-class
class Proxy:
    def __init__(self, t):
        object.__setattr__(self, "_t", t)
    @property
    def __class__(self):
        return type(self._t)
    def __getattr__(self, n):
        return getattr(self._t, n)
p = Proxy([1, 2, 3])
---
n = len(p._t)
y = x * n
isinstance(p, list), y
---
p._t.append(4)

### odd-getattribute-raises
class Shy:
    def __init__(self):
        self.__dict__["n"] = 2
    def __getattribute__(self, name):
        if name == "secret":
            raise RuntimeError("no")
        return object.__getattribute__(self, name)
s = Shy()
---
y = x * s.n
try:
    s.secret
except RuntimeError as e:
    msg = str(e)
msg, y
---
s.n = 5

### odd-dict-property
class NoDict:
    __slots__ = ("v",)
    @property
    def __dict__(self):
        raise TypeError("no dict here")
o = NoDict(); o.v = x
---
y = o.v + 1
o.v = y
y
---
o.v = x * 3

### odd-eq-raises
class E:
    def __init__(self, v):
        self.v = v
    def __eq__(self, o):
        raise ValueError("do not compare")
    __hash__ = object.__hash__
e = E(x)
---
y = e.v * 2
table = {e: 1}
table[e], y
---
e.v = x + 1

### odd-eq-array-like
class A:
    def __init__(self, v):
        self.v = v
    def __eq__(self, o):
        return self.v == getattr(o, "v", o)
    def __bool__(self):
        raise ValueError("ambiguous")
a = A(x)
---
m = a == a
y = jnp.where(m, a.v, 0)
y
---
a = A(x * 2)

### odd-bool-len-raise
class B:
    def __init__(self):
        self.w = jnp.ones(4)
    def __len__(self):
        raise TypeError("no len")
    def __call__(self, v):
        return v * self.w
b = B()
---
y = b(x)
b.w = b.w + 1
y
---
b.w = x

### odd-metaclass-registry
class Meta(type):
    known = {}
    def __new__(m, name, bases, ns):
        c = super().__new__(m, name, bases, ns)
        m.known[name] = c
        return c
class Base(metaclass=Meta):
    pass
---
class Relu(Base):
    def __call__(self, v):
        return jnp.maximum(v, 1)
y = Meta.known["Relu"]()(x)
sorted(Meta.known), Meta.known["Relu"] is Relu

### odd-init-subclass
class Plug:
    all = []
    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        Plug.all.append(cls.__name__)
---
class P1(Plug):
    scale = 2.0
y = x * P1.scale
len(Plug.all)

### odd-descriptor
class Positive:
    def __set_name__(self, o, n):
        self.n = "_" + n
    def __get__(self, o, t=None):
        return self if o is None else getattr(o, self.n)
    def __set__(self, o, v):
        setattr(o, self.n, jnp.maximum(v, 0))
class M:
    w = Positive()
m = M(); m.w = x - 1
---
m.w = m.w - 0.5
y = m.w.sum()
y
---
m.w = x

### odd-counted-setattr
class C:
    def __init__(self):
        object.__setattr__(self, "log", [])
    def __setattr__(self, n, v):
        self.log.append(n)
        object.__setattr__(self, n, v)
c = C()
---
c.a = x * 2
c.b = c.a + 1
c.log, c.b
---
c.log.clear()

### odd-del-hook
dead = []
class D:
    def __init__(self, v):
        self.v = v
    def __del__(self):
        dead.append(1)
---
d = D(x)
y = d.v + 1
del d
len(dead), y
---
dead.clear()

### odd-weakset
class Item:
    def __init__(self, v):
        self.v = v
ws = weakref.WeakSet()
keep = [Item(x), Item(x * 2)]
for k in keep:
    ws.add(k)
---
total = sum(i.v.sum() for i in ws)
keep.append(Item(x))
ws.add(keep[-1])
len(ws), total
---
del keep[1:]

### odd-finalizer
class R: pass
r = R(); r.v = x
fin = weakref.finalize(r, print, "gone")
---
y = r.v * 2
fin.alive, y
---
r.v = x + 1

### odd-recursive-list
l = [x]
l.append(l)
---
y = l[1][0] + 1
l[0] = y
l[1] is l, y
---
l[0] = x * 5

### odd-shared-tuple-keys
k = ("a", 1)
d = {k: x, ("b", 2): x * 2}
---
y = sum(d.values())
d[k] = y
list(d), y
---
d[("c", 3)] = x

### odd-random-instance
rng = random.Random(5)
class Sim:
    def __init__(self, rng):
        self.rng, self.state = rng, x
sim = Sim(rng)
---
sim.state = sim.state * 0.5 + 1
y = sim.state.sum()
sim.rng is rng, y
---
sim.state = x * 2

### odd-random-instance-drawn
rng = random.Random(5)
---
k = rng.randint(0, 3)
y = x + k
k, y
---
rng.seed(9)

### odd-object-holds-stdout
class Out:
    def __init__(self):
        self.f, self.n = sys.stdout, 2.0
    def say(self, t):
        self.f.write(t + "\n")
o = Out()
---
y = x * o.n
o.say("done")
y
---
o.n = 4.0

### odd-module-in-attribute
class Lib:
    def __init__(self):
        self.np, self.jnp = np, jnp
    def f(self, v):
        return self.jnp.sin(v) + self.np.pi
lib = Lib()
---
y = lib.f(x)
lib.np is np, y
---
lib.np = types.SimpleNamespace(pi=1.0)
""",
)
