"""What was there before the cell is bound as itself (rule 5): sentinels, tags and registries are compared by `is`."""

from .case import Case

LIBRARY = """\
import sys, types
lib = types.ModuleType('somelib')
lib.__file__ = '/usr/lib/python3/site-packages/somelib/__init__.py'
sys.modules['somelib'] = lib
exec('''
class Tag:
    pass

class Registry:
    def __init__(self):
        self.known = {"a": Tag()}
    def find(self, name):
        return self.known[name]

class Slotted:
    __slots__ = ("value",)

TAG, MISSING, SLOTTED, REGISTRY = Tag(), object(), Slotted(), Registry()
NAMES, TABLE, TAGS = {"a": Tag()}, [1, 2], (Tag(), Tag())

def tag(): return TAG
def missing(): return MISSING
def slotted(): return SLOTTED
def table(): return TABLE
def names(): return NAMES
def tags(): return frozenset(TAGS)
def function():
    def inner(v): return v
    return inner
def make(value): return {"value": value, "tag": TAG, "find": REGISTRY.find}
''', lib.__dict__)
"""

CACHED = """\
import functools
@functools.lru_cache
def table(n=3): return np.eye(n, dtype=np.float32)
@functools.cache
def pairs(): return np.ones(3), {'a': [np.ones(2)]}
b, p = table(), pairs()"""

CASES = [
    Case(
        "library-sentinels",
        setup=LIBRARY,
        cell="y = x * 2\nfound = {'tag': lib.TAG, 'y': y, 'missing': [lib.MISSING, lib.SLOTTED]}",
        probes=("found['tag'] is lib.TAG", "found['missing'][0] is lib.MISSING", "found['missing'][1] is lib.SLOTTED"),
        rule=5,
    ),
    Case(
        "library-sentinels-by-functions",
        setup=LIBRARY,
        cell="found = [x * 2, lib.tag(), lib.missing(), lib.slotted(), lib.table(), lib.names()]\nsame = lib.tags()",
        probes=(
            "found[1] is lib.TAG",
            "found[2] is lib.MISSING",
            "found[3] is lib.SLOTTED",
            "found[4] is lib.TABLE and found[5] is lib.NAMES",
            "same == frozenset(lib.TAGS)",
        ),
        rule=5,
    ),
    Case(
        "library-objects-inside-new-ones",
        setup=LIBRARY,
        cell="made = lib.make(x + 1)\nw2 = {'a': {'b': (lib.make(w)['tag'], w * 2)}}",
        probes=("made['tag'] is lib.TAG", "made['find'].__self__ is lib.REGISTRY", "w2['a']['b'][0] is lib.TAG"),
        rule=5,
    ),
    Case(
        "functions-made-by-a-library",
        setup=LIBRARY,
        cell="f = lib.function()\ny = f(x) * 2",
        again="old = f",
        probes=("f is old", "f.__annotations__ is old.__annotations__"),
        rule=5,
    ),
    Case(
        "annotations-of-what-is-wrapped",
        setup="""\
import functools
def helper(v: 'an array') -> 'another':
    return v * 2
def plain(v):
    return v
class Wrapper:
    def __init__(self, function):
        functools.update_wrapper(self, function)
    def __call__(self, v):
        return self.__wrapped__(v)""",
        cell="""\
h, p = Wrapper(helper), Wrapper(plain)
@functools.wraps(helper)
def wrapped(v):
    return helper(v)
def g(v: 'its own'):
    return v
k = Wrapper(g)
y = h(p(k(wrapped(x))))""",
        again="old = g.__annotations__",
        probes=(
            "h.__annotations__ is helper.__annotations__ and p.__annotations__ is plain.__annotations__",
            "wrapped.__annotations__ is helper.__annotations__ and k.__annotations__ is g.__annotations__",
            "g.__annotations__ is old",
        ),
        rule=5,
    ),
    Case(
        "static-parts-of-jitted-results",
        setup="""\
from functools import partial
class Static:
    def __init__(self, value):
        self.value = value
    def __eq__(self, other):
        return self.value == other.value
    def __hash__(self):
        return 0
@jax.tree_util.register_pytree_node_class
class Box:
    def __init__(self, a, s):
        self.a, self.s = a, s
    def tree_flatten(self):
        return (self.a,), self.s
    @classmethod
    def tree_unflatten(cls, s, children):
        return cls(*children, s)
make = jax.jit(lambda v: Box(v * 2, Static([1, 2])))
named = jax.jit(lambda name, v: Box(v * 3, Static([name])), static_argnums=0)
apply = jax.jit(lambda f, v: Box(f(v), Static([3])), static_argnums=0)""",
        cell="""\
b = make(x)
n = named('a', x)
l = apply(lambda v: v * 2, x)
m = jax.jit(lambda v: Box(v, Static([4])))(x)
t = jax.tree.map(lambda a: a + 1, Box(x, Static([5])))
y = b.a + n.a""",
        again="old = [b.s, n.s, l.s, m.s, t.s, b.s.value]",
        probes=("[new is one for new, one in zip([b.s, n.s, l.s, m.s, t.s, b.s.value], old)]",),
        rule=5,
    ),
    Case(
        "configuration-of-jax",
        cell="config = jax.config\ny = x + 1\nheld = [jax.config, y, jnp.float32, jnp.pi, jnp.add]",
        probes=("config is jax.config", "held[0] is jax.config and held[2] is jnp.float32 and held[4] is jnp.add"),
        rule=5,
    ),
    Case(
        "markers-of-flax",
        setup="import flax.linen as nn",
        cell="held = {'b': nn.broadcast, 'y': x * 2}\nd = nn.Dense(2, name='d')\nv = d.init(jax.random.key(0), x)",
        probes=("held['b'] is nn.broadcast", "d.kernel_init is nn.Dense(2).kernel_init"),
        rule=5,
    ),
    Case(
        "objects-of-earlier-cells",
        setup=("class Node:\n    pass\nn = Node()\nn.next = Node()\nn.next.value = x", "box = {'n': n}"),
        cell="m = {'n': box['n'].next, 'y': box['n'].next.value * 2}\nn.next.seen = m['n']",
        probes=("m['n'] is n.next", "n.next.seen is n.next"),
        reused2=None,
        rule=5,
    ),
    Case(
        "closures-made-again",
        cell="""\
step = jax.value_and_grad(lambda a: (a**2).sum())
loss, g = step(x)
def outer(k):
    cache = {'k': k}
    def inner(v):
        return v * cache['k']
    inner.cache = cache
    return inner
f = outer(w)""",
        probes=("f.cache['k'] is w", "f.cache is f.__closure__[0].cell_contents", "step(x)[0]", "f(w)"),
        rule=5,
    ),
    Case(
        "objects-with-a-state-of-their-own",
        setup="""\
class Odd:
    def __init__(self, value):
        self.value, self.items = value, [1, 2]
    def __reduce__(self):
        return Odd._again, (), {'value': self.value, 'items': self.items}
    @staticmethod
    def _again():
        return Odd.__new__(Odd)""",
        cell="o = Odd(x * 2)\no.items.append(3)\np = [o, o.items, o.value]",
        probes=("p[0] is o and p[1] is o.items and p[2] is o.value", "o.items"),
        rule=5,
    ),
    Case(
        "cached-table-compared",
        setup=CACHED,
        cell="same = b is table(), x[0]\ny = x * 2",
        change=("table.cache_clear()", "b = table()"),
        reused=None,
        rule=5,
    ),
    Case(
        "cached-table-compared-by-a-function",
        setup=CACHED + "\ndef same(): return b is table()",
        cell="y = x * 2\nfound = same(), y[0]",
        rule=5,
    ),
    Case(
        "cached-jax-table-compared",
        setup=CACHED.replace("np.eye", "jnp.eye"),
        cell="same = b is table(), x @ b",
        change="table.cache_clear()",
        reused=None,
        rule=5,
    ),
    Case(
        "cached-table-made-by-the-cell",
        setup=CACHED,
        cell="t = table(3)\ny = t @ x\nt is table(3), y.shape, table.cache_info().misses",
        rule=5,
    ),
    Case(
        "cached-table-bound",
        setup=CACHED,
        cell="found = table(), x * 2\npair = [pairs()[1], x]",
        probes=("found[0] is table() and found[0] is b", "pair[0] is pairs()[1]"),
        rule=5,
    ),
]
