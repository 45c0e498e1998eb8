"""The walk as straight code accepts what the scan accepts, and nothing else."""

from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import jax.numpy as jnp
import pytest

import jaxnb
from jaxnb.staging.cells.code import Sees, names_of
from jaxnb.staging.objects.paths import Choices
from jaxnb.staging.reuse.guards import make_guard
from jaxnb.staging.trace.piece import Plan

SETUP = """\
import jax, jax.numpy as jnp, numpy as np, functools, weakref, enum, types
from collections import OrderedDict, defaultdict, namedtuple
x, y = jnp.ones(3), jnp.zeros((2, 2), jnp.int32)
class Layer:
    scale = jnp.ones(2)
    def __init__(self, w):
        self.w, self.n, self.name = w, 3, 'a'
    def __call__(self, a):
        return a * self.w * k
    @property
    def size(self): return self.n
    @staticmethod
    def make(): return Layer(x)
class Slotted:
    __slots__ = ('a', 'b')
    def __init__(self, a, b): self.a, self.b = a, b
class Deep(Layer):
    pass
Pair = namedtuple('Pair', 'a b')
k = jnp.ones(3)
class Kind(enum.Enum):
    A = 1
    B = 2
def has_attributes(v):
    v.n, v.w = 3, x + 0
    return v
def helper(a, b=x, *, c=2): return a * b * c * k
def closed(v):
    def inner(a): return a + v
    return inner
"""

# What is held under the name v, and changes: = leaves the key as it is, ! makes it another one.
VALUES_TEXT = """\
array: x
  = v = x + 1
  ! v = x.astype(int)
  ! v = 1.0
  ! v = np.ones(3)
  ! v = jax.device_put(x, jax.devices()[0])
key: jax.random.key(0)
  = v = jax.random.key(1)
  ! v = jax.random.key(0, impl='rbg')
numpy: np.ones(3)
  = v = np.zeros(3)
  ! v = np.ones(3, np.float32)
  ! v = np.ones((3, 1))
  ! v = [1.0, 1.0, 1.0]
text array: np.array(['a', 'b'])
  = v = np.array(['a', 'b'])
  ! v[0] = 'c'
float: 0.5
  = v = 0.25
  ! v = 1
  = v = float('inf')
  ! v = 1e300
  ! v = np.float32(0.5)
int: 3
  = v = 3
  ! v = 4
  ! v = True
  ! v = 3.0
bool: True
  = v = True
  ! v = 1
  ! v = False
text: 'ab'
  = v = 'a' + 'b'
  ! v = 'b'
  ! v = b'ab'
none: None
  = v = None
  ! v = 0
list: [x, 2, 'a']
  = v = [y + 0.5 * 0, 2, 'a'][:0] + [x * 2, 2, 'a']
  ! v.append(1)
  ! v[1] = 3
  ! v[0] = y
  ! v = tuple(v)
objects: np.array([x + 0, 2, None], object)
  = v[0] = x * 2
  = v = v.copy()
  ! v[1] = 3
  ! v[2] = x
  ! v[0] = y
  ! v = v.reshape(3, 1)
  ! v = v[:]
  ! v.flags.writeable = False
  ! v = list(v)
grid of objects: (lambda h: (h.fill(0), h.__setitem__((0, 1), x + 0), h)[2])(np.empty((2, 2), object))
  = v[0, 1] = x * 2
  ! v[1, 0] = x * 2
  ! v = v.T
dict: {'a': x, 'b': 2}
  ! v = {'b': 2, 'a': x * 2}
  ! v['c'] = 1
  ! del v['b']
  ! v['b'] = 3
  ! v = OrderedDict(v)
int keys: {1: x, 2: y}
  = v = {1: x * 2, 2: y}
  ! v = {True: x, 2: y}
  ! v = {2: y, 1: x}
defaultdict: defaultdict(list, a=x)
  = v['a'] = x * 2
  ! v.default_factory = dict
  ! v['b']
ordered: OrderedDict(a=x, b=y)
  = v['a'] = x * 2
  ! v.move_to_end('a')
set: {'a'}
  = v = {'a'}
  ! v.add('c')
  ! v = frozenset(v)
tuple: (x, 2)
  = v = (x * 2, 2)
  ! v = (x, 3)
  ! v = (x,)
  ! v = Pair(x, 2)
named tuple: Pair(x, 2)
  = v = Pair(x * 2, 2)
  ! v = (x, 2)
  ! v = v._replace(b=1)
range: range(3)
  = v = range(3)
  = v = range(0, 3, 1)
  ! v = range(4)
alias: [x, x, y]
  = v = [(z := x * 2), z, y]
  ! v = [x, x + 0, y]
  ! v[2] = x
shared list: (lambda l: [l, l])([x])
  = v[0][0] = x * 2
  ! v = [[x], [x]]
cycle: [x]; v.append(v)
  = v[0] = x * 2
  ! v[1] = [x]
function: helper
  = k = x * 2
  ! k = 2
  ! del k
  = helper.__defaults__ = (x * 2,)
  ! helper.__defaults__ = None
  ! helper.__kwdefaults__ = {'c': 3}
  ! helper.note = 1
  ! helper.__code__ = (lambda a, b=x, *, c=2: a).__code__
closure: closed(x)
  = v.__closure__[0].cell_contents = x * 2
  = v = closed(x * 2)
  ! v = closed(2)
lambda: lambda a: a * 2
  = v = lambda a: a * 2
  ! v = lambda a: a * 3
jitted: jax.jit(lambda a, n: a * n, static_argnums=1)
  = v = jax.jit(v.__wrapped__, static_argnums=1)
  ! v = jax.jit(v.__wrapped__)
library function: jnp.sin
  = v = jnp.sin
  ! v = jnp.cos
  ! v = jax.nn.relu
wrapped function: jax.nn.relu
  = v = jax.nn.relu
  ! v = jax.nn.gelu
builtin: len
  = v = len
  ! v = max
bound builtin: [1].append
  = v = [1].append
  ! v = [1].extend
  ! v = [2].append
partial: functools.partial(helper, x + 0, c=3)
  = v = functools.partial(helper, x * 2, c=3)
  ! v = functools.partial(helper, x, c=4)
  ! v = functools.partial(helper, c=3)
  ! v.n = 1
partial with attributes: has_attributes(functools.partial(helper, x + 0))
  = v.w = x * 2
  = v.__dict__ = {'n': 3, 'w': x * 2}
  ! v.n = 4
  ! v.more = 1
  ! del v.n
jitted with attributes: has_attributes(jax.jit(lambda a: a))
  = v.w = x * 2
  = v = has_attributes(jax.jit(v.__wrapped__))
  ! v.n = 4
  ! v.more = 1
  ! del v.n
member with attributes: has_attributes(Kind.A)
  = v.w = x * 2
  ! v.n = 4
  ! v.more = 1
  ! v = Kind.B
method: Layer(x + 0).__call__
  = v.__self__.w = x * 2
  ! v.__self__.n = 4
  ! v = Layer(x).make
object: Layer(x + 0)
  = v.w = x * 2
  = v = Layer(x * 2)
  ! v.n = 4
  ! v.more = 1
  ! del v.name
  ! v = Deep(x)
  = Layer.scale = x[:2] * 2
  ! Layer.extra = 1
  ! Layer.__call__ = lambda self, a: a
subclass: Deep(x + 0)
  = v.w = x * 2
  ! Layer.scale = 3
  ! Deep.extra = 1
slots: Slotted(x, 2)
  = v.a = x * 2
  ! v.b = 3
  = v = Slotted(x * 2, 2)
  ! del v.b
class: Layer
  = Layer.scale = jnp.zeros(2)
  ! Layer.scale = 1
  ! v = Deep
  ! v = dict
library class: dict
  = v = dict
  ! v = list
dtype: jnp.dtype('float32')
  = v = np.dtype('float32')
  ! v = np.dtype('int8')
module: jnp
  = v = jnp
  ! v = np
weak reference: weakref.ref(keep := Layer(x + 0))
  = keep.w = x * 2
  ! keep.n = 4
unbound slot: Slotted.__new__(Slotted)
  ! v.a = 1
cached: functools.lru_cache(lambda a: a)
  ! v = functools.lru_cache(lambda a: a * 2)
static object: object()
  ! v = object()
"""


def read_values() -> dict[str, tuple[str, dict[str, bool]]]:
    found: dict[str, tuple[str, dict[str, bool]]] = {}
    for line in VALUES_TEXT.splitlines():
        if line.startswith("  "):
            found[kind][1][line[4:]] = line[2] == "="
        else:
            kind, _, value = line.partition(": ")
            found[kind] = (value, {})
    return found


VALUES = read_values()
CASES = [(kind, change) for kind, (_, changes) in VALUES.items() for change in changes]
WRITTEN = set(VALUES) - {"unbound slot", "cached"}


def prepared(kind: str) -> tuple[dict[str, Any], Plan]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(f"{SETUP}v = {VALUES[kind][0]}", namespace)
    code = names_of(compile("v, absent_name", "<test>", "exec"))
    return namespace, Plan(0, 1, code.order, frozenset(), (code,), Sees.IDENTITY | Sees.ORDER)


@pytest.mark.parametrize("kind", VALUES)
def test_the_walk_is_written_and_finds_the_same(kind: str) -> None:
    namespace, plan = prepared(kind)
    guard, scan = make_guard(plan, namespace, Choices()), plan.scan(namespace, Choices())
    assert (guard is not None) is (kind in WRITTEN)
    if guard is not None:
        found = guard(namespace)
        assert found is not None
        for one, other in ((found.leaves, scan.leaves), (found.nodes, scan.nodes)):
            assert len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(("kind", "change"), CASES)
def test_what_it_accepts_the_scan_accepts(kind: str, change: str) -> None:
    namespace, plan = prepared(kind)
    guard, key = make_guard(plan, namespace, Choices()), plan.scan(namespace, Choices()).parts
    exec(change, namespace)
    scan = plan.scan(namespace, Choices())
    assert (scan.parts == key) is VALUES[kind][1][change]
    found = guard(namespace) if guard is not None else None
    if found is not None:
        assert scan.parts == key and all(a is b for a, b in zip(found.leaves, scan.leaves, strict=True))


def test_it_accepts_new_values_in_the_same_places() -> None:
    refused = []
    for kind, change in CASES:
        namespace, plan = prepared(kind)
        guard = make_guard(plan, namespace, Choices())
        exec(change, namespace)
        if VALUES[kind][1][change] and guard is not None and guard(namespace) is None:
            refused.append((kind, change))
    assert not refused


def test_a_name_that_appears_is_seen() -> None:
    namespace, plan = prepared("array")
    guard = make_guard(plan, namespace, Choices())
    assert guard is not None and guard(namespace) is not None
    assert guard({**namespace, "absent_name": 1}) is None


def test_it_keeps_nothing_of_the_user_alive() -> None:
    namespace, plan = prepared("object")
    namespace["v"].big = jnp.ones(1000)
    guard = make_guard(plan, namespace, Choices())
    watched = [weakref.ref(namespace["v"].big), weakref.ref(namespace["v"]), weakref.ref(namespace["Layer"])]
    namespace.clear()
    del plan
    gc.collect()
    assert guard is not None and [ref() for ref in watched] == [None, None, None]
    assert guard(namespace) is None


def test_a_cell_is_guarded_after_it_was_reused() -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(f"{SETUP}model = Layer(x)", namespace)
    for turn in range(5):
        assert jaxnb.stage("model.w = model(model.w) * 0.5\nz = model.size", namespace).reused == (turn > 0)
    exec("model = copy(model)", namespace | {"copy": copy.copy})
    exec("Layer.__call__ = lambda self, a: a * 3", namespace)
    assert not jaxnb.stage("model.w = model(model.w) * 0.5\nz = model.size", namespace).reused


def test_what_is_registered_with_a_class_is_seen() -> None:
    namespace, plan = prepared("array")
    setup = "import abc\nclass A(abc.ABC): pass\nclass B: pass\nclass C: pass\nv = A, B"
    exec(setup, namespace)
    guard = make_guard(plan, namespace, Choices())
    assert guard is not None
    exec("class D(abc.ABC): pass\nD.register(C)", namespace)
    assert guard(namespace) is not None and guard(namespace) is not None
    exec("A.register(C)", namespace)
    assert guard(namespace) is None
