"""Functions, lambdas, closures, decorators, classes and imports that the cell itself defines."""

from .case import Case

CASES = [
    Case(
        "function",
        cell="""\
def f(a, b=2):
    return a * b
y = f(x)""",
        probes=(
            "f(3)",
            "f(x, b=x)",
        ),
    ),
    Case(
        "lambda",
        cell="""\
f = lambda a: a * 2
y = f(x)""",
        probes=("f(1)",),
    ),
    Case(
        "only-function",
        cell="""\
def f(a):
    return jnp.sin(a)""",
        reused2=None,
        probes=("f(x)",),
        rule=14,
    ),
    Case(
        "only-imports",
        cell="""\
import jax.numpy as jnp
from functools import partial, reduce""",
        reused2=None,
        rule=14,
    ),
    Case(
        "only-class",
        cell="""\
class A:
    'A doc.'
    k = 3
    def m(self, a):
        return a * self.k""",
        reused2=None,
        probes=(
            "A().m(x)",
            "A.__doc__",
        ),
        rule=14,
    ),
    Case(
        "function-reads-cell-name-later",
        cell="""\
k = x.sum()
def f(a):
    return a * k
y = f(x)""",
        probes=("f(1.0)",),
    ),
    Case(
        "function-reads-rebound-global",
        cell="""\
def f():
    return k
k = x + 1
a = f()
k = x + 2
b = f()""",
        rule=5,
        probes=("f() is k",),
    ),
    Case(
        "closure-over-traced",
        cell="""\
def make(k):
    def f(a):
        return a + k
    return f
f = make(x * 2)
y = f(x)""",
        probes=("f(1.0)",),
        rule=6,
    ),
    Case(
        "closure-over-input",
        cell="""\
def make(k):
    return lambda a: a + k
f = make(x)
y = f(1.0)""",
        probes=(
            "f(2.0)",
            "f.__closure__[0].cell_contents is x",
        ),
        rule=5,
    ),
    Case(
        "default-is-traced",
        cell="""\
def f(a, k=x * 2, *, j=x + 1):
    return a + k + j
y = f(0)""",
        probes=("f(1)",),
        rule=6,
    ),
    Case(
        "default-is-input",
        cell="""\
def f(a=x):
    return a
y = f()""",
        probes=("f() is x",),
        rule=5,
    ),
    Case(
        "mutable-default",
        cell="""\
def f(a, seen=[]):
    seen.append(a)
    return len(seen)
n = f(1) + f(2)
y = x * n""",
        probes=("f.__defaults__",),
    ),
    Case(
        "nonlocal",
        cell="""\
def outer():
    n = x * 0
    def bump():
        nonlocal n
        n = n + x
        return n
    bump()
    return bump()
y = outer()""",
    ),
    Case(
        "nonlocal-static-counter",
        cell="""\
def counter():
    n = 0
    def bump():
        nonlocal n
        n += 1
        return n
    return bump
c = counter()
c()
y = x * c()""",
        probes=("c()",),
    ),
    Case(
        "decorator",
        cell="""\
def twice(f):
    return lambda *a: f(f(*a))
@twice
def g(a):
    return a * 3
y = g(x)""",
        probes=("g(1)",),
    ),
    Case(
        "decorator-with-arguments",
        cell="""\
import functools
def scale(k):
    def wrap(f):
        @functools.wraps(f)
        def inner(a):
            return k * f(a)
        return inner
    return wrap
@scale(3)
def g(a):
    'Doc.'
    return a + 1
y = g(x)""",
        probes=(
            "g(1)",
            "g.__doc__",
            "g.__name__",
        ),
    ),
    Case(
        "jit-decorator",
        cell="""\
@jax.jit
def f(a):
    return a * 2
y = f(x)""",
        probes=("f(x)",),
    ),
    Case(
        "jit-with-static-argument",
        cell="""\
from functools import partial
@partial(jax.jit, static_argnames='n')
def f(a, n):
    return a * n if n > 1 else a
y = f(x, n=2)""",
        probes=("f(x, n=1)",),
    ),
    Case(
        "partial-of-cell-function",
        cell="""\
import functools
def f(a, b):
    return a - b
g = functools.partial(f, b=x * 2)
y = g(x)""",
        probes=("g(1.0)",),
    ),
    Case(
        "lru-cache",
        cell="""\
import functools
@functools.lru_cache
def f(n):
    return n * 2
y = x * f(3)""",
        may_refuse=True,
        reused2=None,
        probes=(
            "f(4)",
            "f.cache_info().hits",
        ),
    ),
    Case(
        "recursion",
        cell="""\
def fact(n):
    return 1 if n <= 1 else n * fact(n - 1)
y = x * fact(5)""",
        probes=("fact(4)",),
    ),
    Case(
        "mutual-recursion",
        cell="""\
def even(n):
    return True if n == 0 else odd(n - 1)
def odd(n):
    return False if n == 0 else even(n - 1)
y = x if even(4) else None""",
        rule=5,
    ),
    Case(
        "star-args",
        cell="""\
def f(*args, k=1, **kw):
    return sum(args) * k + kw.get('b', 0)
y = f(x, x, k=2, b=x)
z = f(*[x, 1], **{'b': 2})""",
    ),
    Case(
        "keyword-and-positional-only",
        cell="""\
def f(a, /, b, *, c):
    return a + b * c
y = f(x, 2, c=3)""",
    ),
    Case(
        "generator-function",
        cell="""\
def gen(n):
    for i in range(n):
        yield x * i
ys = list(gen(3))
last, = gen(1)""",
    ),
    Case(
        "generator-function-with-send-and-return",
        cell="""\
def g():
    got = yield x
    yield got + 1
    return 3
it = g()
a = next(it)
b = it.send(x * 2)""",
        may_refuse=True,
        reused2=None,
    ),
    Case(
        "docstring-and-annotations",
        cell="""\
def f(a: jax.Array, b: 'int' = 1) -> jax.Array:
    'What f does.'
    return a * b
y = f(x)""",
        probes=(
            "f.__doc__",
            "sorted(f.__annotations__)",
        ),
    ),
    Case(
        "function-attribute",
        cell="""\
def f(a):
    return a * f.k
f.k = 3
y = f(x)""",
        probes=("f(1)",),
        may_refuse=True,
        reused2=None,
        rule=6,
    ),
    Case(
        "function-redefined-in-cell",
        cell="""\
def f(a):
    return a + 1
y = f(x)
def f(a):
    return a - 1
z = f(x)""",
        probes=("f(0)",),
    ),
    Case(
        "function-shadows-input",
        cell="""\
def w(a):
    return a * 2
y = w(x)""",
        reused2=None,
    ),
    Case(
        "class-static-method-and-property",
        cell="""\
class A:
    def __init__(self, k):
        self.k = k
    @staticmethod
    def s(a):
        return a * 2
    @classmethod
    def c(cls):
        return cls(2)
    @property
    def kk(self):
        return self.k * 2
y = A.s(x) * A.c().kk""",
    ),
    Case(
        "class-instance-holds-array",
        cell="""\
class Box:
    def __init__(self, v):
        self.v = v
b = Box(x * 2)
y = b.v + 1""",
        rule=6,
        may_refuse=True,
        probes=("b.v",),
    ),
    Case(
        "class-callable-and-operators",
        cell="""\
class V:
    def __init__(self, a):
        self.a = a
    def __add__(self, o):
        return V(self.a + o.a)
    def __call__(self, k):
        return self.a * k
y = (V(x) + V(x))(2)""",
    ),
    Case(
        "class-attribute-is-traced",
        cell="""\
class A:
    k = x * 2
y = A.k + 1""",
        may_refuse=True,
        rule=6,
    ),
    Case(
        "class-inheritance",
        cell="""\
class A:
    def f(self, a):
        return a + 1
class B(A):
    def f(self, a):
        return super().f(a) * 2
y = B().f(x)""",
        probes=(
            "B().f(1)",
            "B.__mro__[1].__name__",
        ),
    ),
    Case(
        "dataclass",
        cell="""\
from dataclasses import dataclass, field, replace
@dataclass
class P:
    a: object
    n: int = 2
    tags: list = field(default_factory=list)
p = P(1)
q = replace(p, n=5)
y = x * q.n""",
    ),
    Case(
        "frozen-dataclass",
        cell="""\
import dataclasses
@dataclasses.dataclass(frozen=True)
class C:
    n: int = 3
cfg = C()
y = x * cfg.n""",
        probes=("hash(cfg) == hash(C(3))",),
    ),
    Case(
        "registered-dataclass-in-cell",
        cell="""\
import dataclasses
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class S:
    a: object
    b: object
s = S(x + 1, w)
t = jax.tree.map(lambda v: v * 2, s)""",
        rule=5,
        probes=(
            "t.a",
            "s.b is w",
        ),
    ),
    Case(
        "named-tuple-class",
        cell="""\
from typing import NamedTuple
class P(NamedTuple):
    a: object
    b: object = 2
p = P(x * 2)
y = p.a * p.b""",
    ),
    Case(
        "collections-namedtuple",
        cell="""\
from collections import namedtuple
P = namedtuple('P', 'a b')
p = P(x, x + 1)
p.b""",
        rule=5,
    ),
    Case(
        "enum",
        cell="""\
import enum
class Mode(enum.Enum):
    A = 1
    B = 2
mode = Mode.B
y = x * mode.value if mode is Mode.B else x""",
    ),
    Case(
        "protocol-and-abc",
        cell="""\
import abc
class L(abc.ABC):
    @abc.abstractmethod
    def f(self, a): ...
class M(L):
    def f(self, a):
        return a * 2
y = M().f(x)""",
    ),
    Case(
        "context-manager-class",
        cell="""\
class Scale:
    def __enter__(self):
        return 3
    def __exit__(self, *e):
        return False
with Scale() as k:
    y = x * k""",
    ),
    Case(
        "contextmanager-function",
        cell="""\
import contextlib
@contextlib.contextmanager
def scaled(a):
    yield a * 2
with scaled(x) as y:
    z = y + 1""",
    ),
    Case(
        "import-inside-function",
        cell="""\
def f(a):
    import math
    from jax import nn
    return nn.relu(a) * math.pi
y = f(x)""",
        probes=("f(x)",),
    ),
    Case(
        "import-from-and-alias",
        cell="""\
from jax.numpy import sin as s, cos
import jax.numpy.linalg as la
y = s(x) + cos(x) + la.norm(x)""",
    ),
    Case(
        "type-hints-only-import",
        cell="""\
from typing import Any, TYPE_CHECKING
if TYPE_CHECKING:
    import nothing_like_this
y: Any = x * 2""",
    ),
    Case(
        "lambda-default-in-loop",
        cell="""\
fs = [lambda a, k=k: a * k for k in range(3)]
y = [f(x) for f in fs]""",
        probes=("fs[2](1)",),
    ),
    Case(
        "lambda-late-binding",
        cell="""\
fs = [lambda a: a * k for k in range(3)]
y = fs[0](x)""",
        probes=("fs[0](1)",),
    ),
    Case(
        "operator-and-functools",
        cell="""\
import operator, functools
y = functools.reduce(operator.add, [x, x, x])
z = operator.itemgetter(1)((w, x))""",
        rule=5,
    ),
    Case(
        "function-in-container",
        cell="""\
ops = {'s': jnp.sin, 'd': lambda a: a * 2}
y = {k: f(x) for k, f in ops.items()}""",
        probes=("ops['d'](2)",),
    ),
    Case(
        "function-kept-over-runs",
        setup="f = None",
        cell="""\
y = (f(x) if f else x)
def f(a):
    return a + 1""",
        reused2=None,
        rule=5,
    ),
    Case(
        "method-bound",
        cell="""\
d = {'a': x}
get = d.get
y = get('a') * 2""",
        probes=("get('a') is d['a']",),
    ),
    Case(
        "functions-with-same-name-in-scopes",
        cell="""\
def f(a):
    def g(a):
        return a + 1
    return g(a) * 2
def g(a):
    return a - 1
y = f(x) + g(x)""",
        probes=(
            "f(1)",
            "g(1)",
        ),
    ),
    Case(
        "local-class-in-function",
        cell="""\
def f(a):
    class T:
        v = a
    return T.v * 2
y = f(x)""",
        probes=("f(2)",),
    ),
    Case(
        "global-from-nested-function",
        cell="""\
def f():
    def g():
        global made
        made = x + 1
    g()
f()
y = made * 2""",
        reused2=None,
    ),
    Case(
        "type-params-free-generic",
        cell="""\
from typing import Generic, TypeVar
T = TypeVar('T')
class Box(Generic[T]):
    size = 2
y = x * Box[int].size""",
        reused2=None,
    ),
]
