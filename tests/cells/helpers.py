"""Helpers and globals of earlier cells: what staged code reaches is an input, and counts (rule 4)."""

from .case import Case

NEW = "k = k * 2"
DISPATCHED = """\
import functools
@functools.singledispatch
def norm(v):
    return jnp.zeros(3)
@norm.register(jax.Array)
def _(v):
    return jnp.sqrt((v**2).sum())
@norm.register(np.ndarray)
def _(v):
    return jnp.asarray(v).max()
@norm.register
def _(v: float):
    return v + 100
@norm.register(dict)
def _(v):
    return sum(norm(part) for part in v.values())
class Shape:
    @functools.singledispatchmethod
    def area(self, v): return v * 2
    @area.register
    def _(self, v: list): return v[0] * 3
shape = Shape()
shape.area(1)
"""

CASES = [
    Case(
        "helper",
        setup="""\
def f(a):
    return a * 2""",
        cell="y = f(x)",
    ),
    Case(
        "helper-redefined",
        setup="""\
def f(a):
    return a * 2""",
        cell="y = f(x) ; z = y + 1",
        change="""\
def f(a):
    return a * 3""",
        reused=False,
        reason="f",
        rule=9,
    ),
    Case(
        "helper-redefined-identically",
        setup="""\
def f(a):
    return a * 2""",
        cell="y = f(x) * 1",
        change="""\
def f(a):
    return a * 2""",
        reused=True,
        rule=9,
    ),
    Case(
        "helper-reads-global-array",
        setup="""\
k = jnp.ones(3)
def f(a):
    return a * k""",
        cell="""\
y = f(x)
q = 1""",
        change=NEW,
        rule=4,
    ),
    Case(
        "helper-reads-global-array-dtype",
        setup="""\
k = jnp.ones(3)
def f(a):
    return a * k""",
        cell="""\
y = f(x)
q = 2""",
        change="k = k.astype(jnp.int32)",
        reused=False,
        reason="k",
        rule=4,
    ),
    Case(
        "helper-reads-global-static",
        setup="""\
mode = 'a'
def f(a):
    return a * (2 if mode == 'a' else 3)""",
        cell="""\
y = f(x)
q = 3""",
        change="mode = 'b'",
        reused=False,
        reason="mode",
        rule=4,
    ),
    Case(
        "helper-reads-global-float",
        setup="""\
lr = 0.5
def f(a):
    return a * lr""",
        cell="""\
y = f(x)
q = 4""",
        change="lr = 0.25",
        rule=3,
    ),
    Case(
        "helper-reads-global-container",
        setup="""\
cfg = {'k': x * 1, 'n': 2}
def f(a):
    return a * cfg['k'] * cfg['n']""",
        cell="""\
y = f(x)
q = 5""",
        change=(
            "cfg['k'] = x * 7",
            "cfg['n'] = 3",
            "cfg['n'] = 4",
        ),
        reused=(
            True,
            None,
            None,
        ),
        rule=4,
    ),
    Case(
        "helper-reads-missing-container-item",
        setup="""\
cfg = {}
def f(a):
    return a * cfg.get('k', 1)""",
        cell="""\
y = f(x)
q = 6""",
        change="cfg['k'] = x",
        reused=False,
        reason="cfg",
        rule=4,
    ),
    Case(
        "helper-in-helper",
        setup=(
            """\
k = jnp.ones(3)
def f(a):
    return a * k""",
            """\
def g(a):
    return f(a) + 1""",
        ),
        cell="y = g(x)",
        change=NEW,
        rule=4,
    ),
    Case(
        "helper-in-helper-redefined",
        setup=(
            """\
def f(a):
    return a * 2""",
            """\
def g(a):
    return f(a) + 1""",
        ),
        cell="""\
y = g(x)
q = 7""",
        change="""\
def f(a):
    return a * 5""",
        reused=False,
        reason="f",
        rule=9,
    ),
    Case(
        "closure",
        setup="""\
def make(k):
    def f(a):
        return a * k
    return f
f = make(x + 1)""",
        cell="""\
y = f(x)
q = 8""",
        change="f = make(x + 2)",
        rule=4,
    ),
    Case(
        "closure-cell-assigned",
        setup="""\
def make(k):
    def f(a):
        return a * k
    def put(v):
        nonlocal k
        k = v
    return f, put
f, put = make(x * 1)""",
        cell="""\
y = f(x)
q = 9""",
        change="put(x * 9)",
        rule=4,
    ),
    Case(
        "closure-over-static",
        setup="""\
def make(n):
    return lambda a: a[:n]
f = make(2)""",
        cell="""\
y = f(x)
q = 10""",
        change="f = make(1)",
        reused=False,
        rule=4,
    ),
    Case(
        "default-argument",
        setup="""\
def f(a, k=x * 3):
    return a + k""",
        cell="""\
y = f(x)
q = 11""",
        change="f.__defaults__ = (x * 4,)",
        rule=4,
    ),
    Case(
        "keyword-default",
        setup="""\
def f(a, *, k=x * 3):
    return a + k""",
        cell="""\
y = f(x)
q = 12""",
        change="f.__kwdefaults__ = {'k': x * 4}",
        rule=4,
    ),
    Case(
        "partial",
        setup="""\
import functools
def g(a, k):
    return a * k
f = functools.partial(g, k=x + 5)""",
        cell="""\
y = f(x)
q = 13""",
        change="f = functools.partial(g, k=x + 6)",
        rule=4,
    ),
    Case(
        "partial-positional",
        setup="""\
import functools
f = functools.partial(jnp.multiply, x + 5)""",
        cell="""\
y = f(x)
q = 14""",
        change="f = functools.partial(jnp.multiply, x + 6)",
        rule=4,
    ),
    Case(
        "jitted-helper",
        setup="""\
@jax.jit
def f(a):
    return jnp.sin(a) * 2""",
        cell="""\
y = f(x)
q = 15""",
    ),
    Case(
        "jitted-helper-reads-global",
        setup="""\
k = jnp.ones(3)
f = jax.jit(lambda a: a * k)""",
        cell="""\
y = f(x)
q = 16""",
        reused2=None,
        rule=4,
    ),
    Case(
        "jitted-helper-redefined",
        setup="""\
@jax.jit
def f(a):
    return a * 2""",
        cell="""\
y = f(x)
q = 17""",
        change="""\
@jax.jit
def f(a):
    return a * 3""",
        reused=False,
        reason="f",
        rule=9,
    ),
    Case(
        "recursive-helper",
        setup="""\
def f(a, n):
    return a if n == 0 else f(jnp.sin(a), n - 1)""",
        cell="y = f(x, 3)",
    ),
    Case(
        "mutually-recursive-helpers",
        setup=(
            """\
k = x + 1
def f(a, n):
    return a if n == 0 else g(a, n - 1)""",
            """\
def g(a, n):
    return f(a * k, n)""",
        ),
        cell="""\
y = f(x, 3)
q = 18""",
        change=NEW,
        rule=4,
    ),
    Case(
        "scan-body-reads-global",
        setup="""\
k = jnp.ones(3)
def body(c, t):
    c = c * k + t
    return c, c.sum()""",
        cell="y, zs = jax.lax.scan(body, x, jnp.arange(4.0))",
        change=NEW,
        rule=4,
        stale=True,
    ),
    Case(
        "custom-jvp-helper",
        setup="""\
@jax.custom_jvp
def f(a):
    return jnp.sin(a)
@f.defjvp
def f_jvp(p, t):
    return f(p[0]), 10 * t[0]""",
        cell="y, t = jax.jvp(f, (x,), (x,))",
    ),
    Case(
        "custom-vjp-helper",
        setup="""\
@jax.custom_vjp
def f(a):
    return a * 2
def fwd(a):
    return f(a), a
def bwd(r, ct):
    return (ct * 7 * r,)
f.defvjp(fwd, bwd)""",
        cell="g = jax.grad(lambda a: f(a).sum())(x)",
    ),
    Case(
        "custom-vjp-reads-global",
        setup="""\
k = x + 1
@jax.custom_vjp
def f(a):
    return a * 2
def fwd(a):
    return f(a), None
def bwd(r, ct):
    return (ct * k,)
f.defvjp(fwd, bwd)""",
        cell="""\
g = jax.grad(lambda a: f(a).sum())(x)
q = 19""",
        change=NEW,
        rule=4,
        reused2=None,
        reused=None,
    ),
    Case(
        "grad-of-helper-reading-global",
        setup="""\
k = jnp.arange(3.0)
def loss(a):
    return ((a - k) ** 2).sum()""",
        cell="l, g = jax.value_and_grad(loss)(x)",
        change=NEW,
        rule=4,
    ),
    Case(
        "vmap-of-helper",
        setup="""\
k = jnp.arange(3.0)
def f(r):
    return r @ k""",
        cell="ys = jax.vmap(f)(w)",
        change=NEW,
        rule=4,
    ),
    Case(
        "method-of-object",
        setup="""\
class Model:
    def __init__(self, k):
        self.k = k
    def apply(self, a):
        return a * self.k
model = Model(x + 1)""",
        cell="y = model.apply(x)",
        change=(
            "model.k = x + 2",
            "model.k = jnp.int32(2)",
        ),
        reused=(
            True,
            False,
        ),
        reason="k",
        rule=4,
    ),
    Case(
        "attribute-of-object",
        setup="""\
import types
cfg = types.SimpleNamespace(scale=x * 1, n=2)""",
        cell="y = x * cfg.scale + cfg.n",
        change="cfg.scale = x * 4",
        rule=4,
    ),
    Case(
        "static-attribute-of-object",
        setup="""\
import types
cfg = types.SimpleNamespace(kind='id')""",
        cell="y = x if cfg.kind == 'id' else -x",
        change="cfg.kind = 'neg'",
        reused=False,
        reason="kind",
        rule=4,
    ),
    Case(
        "class-attribute-global",
        setup="""\
class A:
    k = jnp.ones(3) * 2""",
        cell="y = x * A.k",
        change="A.k = jnp.ones(3) * 3",
        rule=4,
    ),
    Case(
        "callable-object",
        setup="""\
class F:
    def __init__(self, k):
        self.k = k
    def __call__(self, a):
        return a @ self.k
f = F(w)""",
        cell="""\
y = f(x)
q = 20""",
        change="f.k = w.T",
        rule=4,
    ),
    Case(
        "property-of-object",
        setup="""\
class O:
    def __init__(self, v):
        self.v = v
    @property
    def double(self):
        return self.v * 2
o = O(x * 1)""",
        cell="y = o.double + x",
        change="o.v = x * 5",
        rule=4,
    ),
    Case(
        "helper-writes-global",
        setup="""\
total = x
def f():
    global total
    total = total + x""",
        cell="""\
f()
y = total * 2""",
        may_refuse=True,
        reused2=None,
    ),
    Case(
        "helper-with-static-argument",
        setup="""\
def f(a, mode, n):
    return a * n if mode == 'a' else a""",
        cell="y = f(x, 'a', 2)",
    ),
    Case(
        "helper-passed-to-transformation",
        setup="""\
def f(a, b):
    return a * b""",
        cell="y = jax.jit(jax.vmap(f, in_axes=(0, None)))(w, x)",
    ),
    Case(
        "helper-decorated-by-wraps",
        setup="""\
import functools
def deco(g):
    @functools.wraps(g)
    def inner(*a):
        return g(*a) * k
    return inner
k = x + 1
@deco
def f(a):
    return a + 1""",
        cell="""\
y = f(x)
q = 21""",
        change=NEW,
        rule=4,
    ),
    Case(
        "helper-in-list",
        setup="""\
k = x + 1
layers = [jnp.tanh, lambda a: a * k]""",
        cell="""\
y = x
for f in layers:
    y = f(y)""",
        change=NEW,
        rule=4,
    ),
    Case(
        "helper-in-dict",
        setup="""\
k = x + 1
ops = {'f': lambda a: a * k}""",
        cell="y = ops['f'](x)",
        change=NEW,
        rule=4,
    ),
    Case(
        "numpy-global-in-helper",
        setup="""\
table = np.arange(3.0)
def f(a):
    return a * table""",
        cell="""\
y = f(x)
q = 22""",
        change="table = table + 1",
        rule=4,
    ),
    Case(
        "numpy-global-written-in-place",
        setup="""\
table = np.arange(3.0)
def f(a):
    return a * table""",
        cell="""\
y = f(x)
q = 23""",
        change="table[0] = 50",
        rule=4,
    ),
    Case(
        "list-global-in-helper",
        setup="""\
hist = [x]
def f(a):
    return sum(hist) + a""",
        cell="""\
y = f(x)
q = 24""",
        change="hist.append(x * 2)",
        reused=False,
        reason="hist",
        rule=4,
    ),
    Case(
        "helper-uses-module-alias",
        setup="""\
import jax.nn as nn
def f(a):
    return nn.relu(a)""",
        cell="""\
y = f(x)
q = 25""",
    ),
    Case(
        "helper-closure-and-global-and-default",
        setup="""\
k = x + 1
def make(c):
    def f(a, d=x * 3):
        return a + c + d + k
    return f
f = make(x * 2)""",
        cell="""\
y = f(x)
q = 26""",
        change=(
            NEW,
            "f.__defaults__ = (x * 5,)",
            "f = make(x * 8)",
        ),
        rule=4,
    ),
    Case(
        "cond-branches-from-earlier-cell",
        setup="""\
k = x * 1
up = lambda a: a + k
def down(a):
    return a - k
p = jnp.array(True)""",
        cell="y = jax.lax.cond(p, up, down, x)",
        change=(
            "p = jnp.array(False)",
            NEW,
        ),
        rule=4,
        stale=True,
    ),
    Case(
        "helper-named-like-cell-name",
        setup=(
            """\
def g(a):
    return a + 100
def f(a):
    return a + 1""",
        ),
        cell="""\
def g(a):
    return f(a) * 2
y = g(x)""",
    ),
    Case(
        "helper-over-undefined-until-cell",
        setup="""\
def f(a):
    return a + late""",
        cell="""\
late = x * 2
y = f(x)""",
    ),
    Case(
        "cached-property",
        setup="""\
import functools
class O:
    def __init__(self, v):
        self.v = v
    @functools.cached_property
    def c(self):
        return self.v * 2
o = O(x)
o.c""",
        cell="""\
y = o.c + x
q = 27""",
        rule=4,
    ),
    Case(
        "lru-cached-helper",
        setup="""\
import functools
@functools.lru_cache
def f(n):
    return n + 1
f(3)""",
        cell="y = x * f(3)",
        may_refuse=True,
        reused2=None,
    ),
    Case(
        "weak-dict-free-registry",
        setup="""\
registry = {}
def register(f):
    registry[f.__name__] = f
    return f
@register
def sq(a):
    return a * a""",
        cell="y = registry['sq'](x)",
    ),
    Case("singledispatch", setup=DISPATCHED, cell="y = norm(x)\nz = norm({'a': x, 'b': {'c': x * 2}})"),
    Case("singledispatch-of-kinds", setup=DISPATCHED, cell="k = 2.5\ny = norm(k) + norm(np.arange(3.0)) + norm(x)"),
    Case("singledispatch-of-what-is-computed", setup=DISPATCHED, cell="k = 2.5\ny = norm(k * 2) + x"),
    Case("singledispatch-of-a-method", setup=DISPATCHED, cell="y = shape.area(x) + shape.area([x, 1])"),
    Case(
        "singledispatch-under-transformations",
        setup=DISPATCHED,
        cell="y = jax.jit(norm)(x)\nz = jax.vmap(norm)(x[:, None]).sum()",
    ),
    Case(
        "singledispatch-that-is-registered",
        setup=DISPATCHED,
        cell="norm.register(dict, lambda v: norm(v['a']) * 2)\ny = norm({'a': x})",
    ),
    Case(
        "singledispatch-that-another-cell-registers",
        setup=DISPATCHED,
        cell="y = norm([x, x])",
        change="@norm.register\ndef _(v: list):\n    return norm(v[0]) * 3",
        reused=False,
    ),
]
