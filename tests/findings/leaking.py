"""Programs that leak tracers, and what is to be said of each: a corpus of what users write, as data.

The kinds come from what JAX's documentation and its issues describe; the programs are written anew. Each runs on its
own in the names of `SETUP`.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LEAKS", "SETUP", "Leak"]

SETUP = """
import collections, contextvars, functools, threading, weakref
import jax, jax.numpy as jnp, numpy as np
from jax import lax
x, w = jnp.ones(3), jnp.eye(3)
kept, table, last = [], {}, None
class Box:
    pass
box = Box()
"""


class Leak(NamedTuple):
    """One program.

    Attributes:
      cell: what runs while somebody watches.
      holder: who is to be named.
      line: of the cell, where the finding stands.
      origin: where the value was made, and from what.
      of: the function and the transformation that the message names.
      fix: how the advice begins.
      earlier: what ran in a cell before.
    """

    cell: str
    holder: str
    line: int
    origin: str
    of: str
    fix: str
    earlier: str = ""


LEAKS = {
    "a global": Leak(
        cell="""
@jax.jit
def step(a):
    global last
    last = a * 2
    return a
step(x)
""",
        holder="last",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return `last` from `step`",
    ),
    "a list": Leak(
        cell="""
history = []
@jax.jit
def step(a):
    loss = a.sum()
    history.append(loss)
    return a * 2
step(x)
""",
        holder="history[0]",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return `loss` from `step`",
    ),
    "an argument itself": Leak(
        cell="""
@jax.jit
def step(a, rate):
    kept.append(rate)
    return a * rate
step(x, 0.1)
""",
        holder="kept[0]",
        line=5,
        origin="line 5 of <cell>, the argument `rate`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "nested containers": Leak(
        cell="""
state = {"runs": [{}]}
@jax.jit
def step(params, batch):
    loss = (params["w"] @ batch).sum()
    state["runs"][0]["loss"] = loss
    return params["w"] * 2
step({"w": w, "b": x}, x)
""",
        holder="state['runs'][0]['loss']",
        line=4,
        origin="line 4 of <cell>, from `params['w']` and `batch`",
        of="of `step` under jit",
        fix="return `loss` from `step`",
    ),
    "a key that is a tuple": Leak(
        cell="""
@jax.jit
def step(a):
    table["loss", 3] = a.sum()
    return a
step(x)
""",
        holder="table['loss', 3]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a key without a readable repr": Leak(
        cell="""
class Layer: pass
@jax.jit
def step(a):
    table[Layer()] = a * 2
    return a
step(x)
""",
        holder="list(table.values())[0]",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a key that holds it": Leak(
        cell="""
class Layer:
    def __init__(self, v): self.v = v
@jax.jit
def step(a):
    table[Layer(a * 2)] = 1
    return a
step(x)
""",
        holder="list(table)[0].v",
        line=5,
        origin="line 5 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "an attribute": Leak(
        cell="""
class Model:
    def __call__(self, a):
        self.hidden = jnp.tanh(a)
        return self.hidden.sum()
model = Model()
jax.jit(model)(x)
""",
        holder="model.hidden",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `Model.__call__` under jit",
        fix="return it from `Model.__call__`",
    ),
    "a list of objects": Leak(
        cell="""
import types
history = [None, None, None, types.SimpleNamespace()]
@jax.jit
def step(a):
    history[3].loss = a.sum()
    return a
step(x)
""",
        holder="history[3].loss",
        line=5,
        origin="line 5 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "modules in modules": Leak(
        cell="""
class Dense:
    def __init__(self, w): self.w = w
    def __call__(self, a):
        self.out = a @ self.w
        return self.out
class Net:
    def __init__(self): self.layers = [Dense(w), Dense(w)]
    def __call__(self, a):
        for layer in self.layers:
            a = layer(a)
        return a
net = Net()
y = jax.jit(lambda a: net(a).sum())(x)
""",
        holder="net.layers[0].out, net.layers[1].out",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of a lambda under jit",
        fix="return it from the lambda",
    ),
    "a class attribute": Leak(
        cell="""
class Stats:
    seen = []
    @classmethod
    def note(cls, v): cls.seen.append(v)
@jax.jit
def step(a):
    Stats.note(a * 2)
    return a
step(x)
""",
        holder="Stats.seen[0]",
        line=7,
        origin="line 7 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "an attribute of a base class": Leak(
        cell="""
class Base:
    last = None
class Child(Base):
    pass
child = Child()
del Child
@jax.jit
def step(a):
    Base.last = a * 2
    return a
step(x)
del Base
""",
        holder="child.last",
        line=9,
        origin="line 9 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "an attribute of a metaclass": Leak(
        cell="""
class Meta(type):
    seen = []
class Model(metaclass=Meta):
    pass
del Meta
@jax.jit
def step(a):
    Model.seen.append(a * 2)
    return a
step(x)
""",
        holder="Model.seen[0]",
        line=8,
        origin="line 8 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "__slots__": Leak(
        cell="""
class Point:
    __slots__ = ("x", "y")
point = Point()
@jax.jit
def step(a):
    point.y = a * 2
    return a
step(x)
""",
        holder="point.y",
        line=6,
        origin="line 6 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a dataclass": Leak(
        cell="""
import dataclasses
@dataclasses.dataclass
class Metrics:
    loss: object = None
    steps: list = dataclasses.field(default_factory=list)
metrics = Metrics()
@jax.jit
def step(a):
    metrics.steps.append(a.sum())
    return a
step(x)
""",
        holder="metrics.steps[0]",
        line=9,
        origin="line 9 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a namedtuple": Leak(
        cell="""
Metrics = collections.namedtuple("Metrics", "loss accuracy")
@jax.jit
def step(a):
    kept.append(Metrics(a.sum(), 1.0))
    return a
step(x)
""",
        holder="kept[0].loss",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a cached property": Leak(
        cell="""
class Data:
    def __init__(self, a): self.a = a
    @functools.cached_property
    def norm(self): return self.a.sum()
data = Data(x)
@jax.jit
def step(a):
    data.a = a
    n = data.norm
    data.a = x
    return a / n
step(x)
""",
        holder="data.norm",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a defaultdict": Leak(
        cell="""
groups = collections.defaultdict(list)
@jax.jit
def step(a):
    groups["loss"].append(a.sum())
    return a
step(x)
""",
        holder="groups['loss'][0]",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a default factory": Leak(
        cell="""
groups = collections.defaultdict(list)
@jax.jit
def step(a):
    b = a * 2
    groups.default_factory = lambda: b
    return a
step(x)
""",
        holder="`b` in the closure of groups.default_factory",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return `b` from `step`",
    ),
    "a deque": Leak(
        cell="""
window = collections.deque(maxlen=3)
@jax.jit
def step(a):
    window.append(a * 2)
    return a
step(x)
""",
        holder="window[0]",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a set": Leak(
        cell="""
class Node:
    def __init__(self, v): self.v = v
nodes = set()
@jax.jit
def step(a):
    nodes.add(Node(a * 2))
    return a
step(x)
""",
        holder="list(nodes)[0].v",
        line=6,
        origin="line 6 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "an object array": Leak(
        cell="""
grid = np.empty((2, 2), object)
@jax.jit
def step(a):
    grid[0, 1] = a * 2
    return a
step(x)
""",
        holder="grid[0, 1]",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a ChainMap": Leak(
        cell="""
scopes = collections.ChainMap({}, {"a": 1})
@jax.jit
def step(a):
    scopes["loss"] = a.sum()
    return a
step(x)
""",
        holder="scopes.maps[0]['loss']",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a weak-value container whose values stay alive": Leak(
        cell="""
class Node:
    def __init__(self, v): self.v = v
nodes = weakref.WeakValueDictionary()
@jax.jit
def step(a):
    node = nodes["n"] = Node(a * 2)
    kept.append(node)
    return a
step(x)
""",
        holder="kept[0].v",
        line=6,
        origin="line 6 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a weak-key container": Leak(
        cell="""
seen = weakref.WeakKeyDictionary()
@jax.jit
def step(a):
    seen[box] = a * 2
    return a
step(x)
""",
        holder="list(seen.data.values())[0]",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a closure": Leak(
        cell="""
@jax.jit
def step(a):
    b = a * 2
    kept.append(lambda: b)
    return a
step(x)
""",
        holder="`b` in the closure of kept[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return `b` from `step`",
    ),
    "a list in a closure": Leak(
        cell="""
def recorder():
    seen = []
    def note(v):
        seen.append(v)
        return v
    return note
note = recorder()
y = jax.jit(lambda a: note(a * 2))(x)
""",
        holder="`seen[0]` in the closure of note",
        line=8,
        origin="line 8 of <cell>, from `a`",
        of="of a lambda under jit",
        fix="return it from the lambda",
    ),
    "a closure in a closure": Leak(
        cell="""
@jax.jit
def step(a):
    b = a * 2
    inner = lambda: b
    kept.append(lambda: inner())
    return a
step(x)
""",
        holder="`b` in the closure of kept[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return `b` from `step`",
    ),
    "nonlocal": Leak(
        cell="""
def counter():
    total = 0.0
    def add(v):
        nonlocal total
        total = total + v
        return total
    return add
add = counter()
y = jax.jit(add)(1.0)
""",
        holder="`total` in the closure of add",
        line=5,
        origin="line 5 of <cell>, from `v`",
        of="of `add` under jit",
        fix="return `total` from `add`",
    ),
    "a decorator": Leak(
        cell="""
def remember(f):
    @functools.wraps(f)
    def wrapper(*args):
        wrapper.result = f(*args)
        return wrapper.result
    return wrapper
@remember
def double(a):
    return a * 2
y = jax.jit(double)(x)
""",
        holder="double.result",
        line=9,
        origin="line 9 of <cell>, from `a`",
        of="of `double` under jit",
        fix="return it from `double`",
    ),
    "a decorator class": Leak(
        cell="""
class Traced:
    def __init__(self, f): self.f, self.calls = f, []
    def __call__(self, *args):
        out = self.f(*args)
        self.calls.append(out)
        return out
@Traced
def double(a):
    return a * 2
y = jax.jit(double)(x)
""",
        holder="double.calls[0]",
        line=9,
        origin="line 9 of <cell>, from `args[0]`",
        of="of `Traced.__call__` under jit",
        fix="return it from `Traced.__call__`",
    ),
    "a default argument": Leak(
        cell="""
@jax.jit
def step(a):
    def later(scale=a * 2):
        return scale
    kept.append(later)
    return a
step(x)
""",
        holder="`scale` in the defaults of kept[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a keyword-only default": Leak(
        cell="""
@jax.jit
def step(a):
    kept.append(lambda *, scale=a * 2: scale)
    return a
step(x)
""",
        holder="`scale` in the defaults of kept[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a default that is changed in place": Leak(
        cell="""
def step(a, seen=[]):
    seen.append(a * 2)
    return a
y = jax.jit(step)(x)
""",
        holder="`seen[0]` in the defaults of step",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a partial": Leak(
        cell="""
@jax.jit
def step(a):
    kept.append(functools.partial(jnp.add, a * 2))
    return a
step(x)
""",
        holder="kept[0].args[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a keyword of a partial": Leak(
        cell="""
@jax.jit
def step(a):
    table["f"] = functools.partial(jnp.sum, where=a > 0)
    return a
step(x)
""",
        holder="table['f'].keywords['where']",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a partialmethod": Leak(
        cell="""
class Model:
    def scale(self, factor): return factor
model = Model()
@jax.jit
def step(a):
    Model.double = functools.partialmethod(Model.scale, a * 2)
    return a
step(x)
""",
        holder="Model.__dict__['double'].args[0]",
        line=6,
        origin="line 6 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a bound method": Leak(
        cell="""
@jax.jit
def step(a):
    kept.append((a * 2).sum)
    return a
step(x)
""",
        holder="kept[0].__self__",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a bound method of an object": Leak(
        cell="""
class Node:
    def __init__(self, v): self.v = v
    def get(self): return self.v
@jax.jit
def step(a):
    kept.append(Node(a * 2).get)
    return a
step(x)
""",
        holder="kept[0].__self__.v",
        line=6,
        origin="line 6 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a cache": Leak(
        cell="""
@functools.lru_cache
def table_of(n):
    return jnp.arange(n) * 2.0
@jax.jit
def step(a):
    return a + table_of(3)
step(x)
""",
        holder="the cache of table_of",
        line=3,
        origin="line 3 of <cell>, from constants",
        of="of `step` under jit",
        fix="compute it outside of `step` and pass it in: a cache outlives the trace",
    ),
    "a cache by hand": Leak(
        cell="""
cache = {}
def rotary(n):
    if n not in cache:
        cache[n] = jnp.sin(jnp.arange(n))
    return cache[n]
y = jax.jit(lambda a: a * rotary(3))(x)
""",
        holder="cache[3]",
        line=4,
        origin="line 4 of <cell>, from constants",
        of="of a lambda under jit",
        fix="compute it outside of the lambda: it depends on none of its arguments",
    ),
    "a property": Leak(
        cell="""
class Model:
    pass
@jax.jit
def step(a):
    b = a * 2
    Model.value = property(lambda self: b)
    return a
step(x)
""",
        holder="`b` in the closure of Model.value.fget",
        line=5,
        origin="line 5 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return `b` from `step`",
    ),
    "a generator": Leak(
        cell="""
def batches(a):
    b = a * 2
    yield b
@jax.jit
def step(a):
    it = batches(a)
    kept.append(it)
    return next(it)
step(x)
""",
        holder="`b` in the frame of kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `step` under jit",
        fix="finish it inside `step` and return what it gives: a suspended frame keeps its variables",
    ),
    "a generator in a generator": Leak(
        cell="""
def inner(a):
    b = a * 2
    del a
    yield 1
def outer(a):
    yield from inner(a)
@jax.jit
def step(a):
    it = outer(a)
    next(it)
    kept.append(it)
    return a
step(x)
""",
        holder="`b` in the frame of kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `step` under jit",
        fix="finish it inside `step` and return what it gives: a suspended frame keeps its variables",
    ),
    "a value that a generator is about to use": Leak(
        cell="""
def batches(a):
    for b in [a * 2, a * 3]:
        del b
        yield 1
@jax.jit
def step(a):
    it = batches(a + 1)
    next(it)
    kept.append(it)
    return a
step(x)
""",
        holder="`a` in the frame of kept[0]",
        line=7,
        origin="line 7 of <cell>, from `a`",
        of="of `step` under jit",
        fix="finish it inside `step` and return what it gives: a suspended frame keeps its variables",
    ),
    "an asynchronous generator": Leak(
        cell="""
async def batches(a):
    b = a * 2
    yield 1
@jax.jit
def step(a):
    it = batches(a)
    kept.append(it)
    try: it.asend(None).send(None)
    except StopIteration: pass
    return a
step(x)
""",
        holder="`b` in the frame of kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `step` under jit",
        fix="finish it inside `step` and return what it gives: a suspended frame keeps its variables",
    ),
    "a coroutine": Leak(
        cell="""
async def compute(a):
    b = a * 2
    await pause()
@jax.jit
def step(a):
    job = compute(a)
    job.send(None)
    kept.append(job)
    return a
step(x)
""",
        holder="`b` in the frame of kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `step` under jit",
        fix="finish it inside `step` and return what it gives: a suspended frame keeps its variables",
    ),
    "a task": Leak(
        cell="""
import asyncio
@jax.jit
def step(a):
    async def double():
        return a * 2
    async def main():
        table["task"] = asyncio.create_task(double())
        await table["task"]
    asyncio.run(main())
    return a
step(x)
""",
        holder="table['task'].result()",
        line=5,
        origin="line 5 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "the result of a future": Leak(
        cell="""
from concurrent.futures import Future
result = Future()
@jax.jit
def step(a):
    result.set_result(a * 2)
    return a
step(x)
""",
        holder="result.result()",
        line=5,
        origin="line 5 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "an iterator: zip": Leak(
        cell="""
@jax.jit
def step(a):
    kept.append(zip([a * 2], [1]))
    return a
step(x)
""",
        holder="the zip object kept[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "an iterator: map": Leak(
        cell="""
@jax.jit
def step(a):
    b = a * 2
    table["it"] = map(jnp.sin, [b])
    return a
step(x)
""",
        holder="the map object table['it']",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return `b` from `step`",
    ),
    "an iterator: enumerate": Leak(
        cell="""
@jax.jit
def step(a):
    table["it"] = enumerate([a * 2])
    return a
step(x)
""",
        holder="the enumerate object table['it']",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "an iterator: itertools.chain": Leak(
        cell="""
import itertools
@jax.jit
def step(a):
    table["it"] = itertools.chain([1], [a * 2])
    return a
step(x)
""",
        holder="the chain object table['it']",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "an iterator: itertools.cycle": Leak(
        cell="""
import itertools
@jax.jit
def step(a):
    table["it"] = itertools.cycle([a * 2])
    return a
step(x)
""",
        holder="the cycle object table['it']",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a view of a dict": Leak(
        cell="""
@jax.jit
def step(a):
    kept.append({"b": a * 2}.values())
    return a
step(x)
""",
        holder="the dict_values object kept[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "an exit stack": Leak(
        cell="""
import contextlib
stack = contextlib.ExitStack()
@jax.jit
def step(a):
    stack.callback(print, a * 2)
    return a
step(x)
""",
        holder="`args[0]` in the closure of stack._exit_callbacks[0][1]",
        line=5,
        origin="line 5 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a context manager that was left open": Leak(
        cell="""
import contextlib
@contextlib.contextmanager
def scaled(a):
    b = a * 2
    yield b
@jax.jit
def step(a):
    manager = scaled(a)
    kept.append(manager)
    return manager.__enter__()
step(x)
""",
        holder="`b` in the frame of kept[0].gen",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="finish it inside `step` and return what it gives: a suspended frame keeps its variables",
    ),
    "a traceback": Leak(
        cell="""
errors = []
def check(a):
    b = a * 2
    raise ValueError("no")
@jax.jit
def step(a):
    try:
        check(a)
    except ValueError as error:
        errors.append(error)
    return a
step(x)
""",
        holder="`b` in the traceback of errors[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="keep the text of the error, or error.with_traceback(None): a traceback holds the frames it came through",
    ),
    "the cause of an error": Leak(
        cell="""
errors = []
def check(a):
    b = a * 2
    raise ValueError("no")
@jax.jit
def step(a):
    try:
        check(a)
    except ValueError as error:
        wrapped = RuntimeError("while checking")
        wrapped.__cause__ = error
        errors.append(wrapped)
    return a
step(x)
""",
        holder="`b` in the traceback of errors[0].__cause__",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="keep the text of the error, or error.with_traceback(None): a traceback holds the frames it came through",
    ),
    "the context of an error": Leak(
        cell="""
errors = []
def check(a):
    b = a * 2
    raise ValueError("no")
@jax.jit
def step(a):
    try:
        try:
            check(a)
        except ValueError:
            raise KeyError("k") from None
    except KeyError as error:
        errors.append(error.with_traceback(None))
    return a
step(x)
""",
        holder="`b` in the traceback of errors[0].__context__",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="keep the text of the error, or error.with_traceback(None): a traceback holds the frames it came through",
    ),
    "an argument of an error": Leak(
        cell="""
errors = []
@jax.jit
def step(a):
    errors.append(ValueError("bad value", a * 2))
    return a
step(x)
""",
        holder="errors[0].args[1]",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "an error that passes through jit": Leak(
        cell="""
errors = []
def step(a):
    b = a * 2
    raise ValueError("no")
try:
    jax.jit(step)(x)
except ValueError as error:
    errors.append(error)
""",
        holder="`b` in the traceback of errors[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="keep the text of the error, or error.with_traceback(None): a traceback holds the frames it came through",
    ),
    "a context variable": Leak(
        cell="""
current = contextvars.ContextVar("current")
@jax.jit
def step(a):
    current.set(a * 2)
    return a
step(x)
""",
        holder="current.get()",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a context variable without a name": Leak(
        cell="""
import own_module
@jax.jit
def step(a):
    contextvars.ContextVar("loss").set({"v": a * 2})
    return a
step(x)
""",
        holder="`get()['v']` of the context variable `loss`",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a copied context": Leak(
        cell="""
current = contextvars.ContextVar("current")
context = contextvars.copy_context()
@jax.jit
def step(a):
    context.run(current.set, a * 2)
    return a
step(x)
""",
        holder="context[current]",
        line=5,
        origin="line 5 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a thread": Leak(
        cell="""
stop = threading.Event()
@jax.jit
def step(a):
    thread = threading.Thread(target=stop.wait, daemon=True, name="worker")
    thread.held = a * 2
    thread.start()
    return a
step(x)
""",
        holder="`held` of the thread 'worker'",
        line=5,
        origin="line 5 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a variable of a thread that runs": Leak(
        cell="""
stop, started = threading.Event(), threading.Event()
def work(v):
    b = v
    del v
    started.set()
    stop.wait()
@jax.jit
def step(a):
    thread = threading.Thread(target=work, args=[a * 2], daemon=True, name="worker")
    thread.start()
    started.wait()
    return a
step(x)
""",
        holder="`b` in the thread 'worker'",
        line=9,
        origin="line 9 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a local of this thread": Leak(
        cell="""
local = threading.local()
@jax.jit
def step(a):
    local.last = a * 2
    return a
step(x)
""",
        holder="local.last",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a module": Leak(
        cell="""
import own_module
@jax.jit
def step(a):
    own_module.last = a * 2
    return a
step(x)
""",
        holder="own_module.last",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "an attribute of an installed module": Leak(
        cell="""
@jax.jit
def step(a):
    np.last_loss = a.sum()
    return a
step(x)
""",
        holder="numpy.last_loss",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a log record": Leak(
        cell="""
import logging
class Keep(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = []
    def emit(self, record): self.records.append(record)
log = logging.getLogger("training")
log.addHandler(Keep())
@jax.jit
def step(a):
    log.warning("loss %s", a.sum())
    return a
step(x)
""",
        holder="log.handlers[0].records[0].args[0]",
        line=11,
        origin="line 11 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a log record of a logger without a name": Leak(
        cell="""
import logging
class Keep(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = []
    def emit(self, record): self.records.append(record)
logging.getLogger("training").addHandler(Keep())
@jax.jit
def step(a):
    logging.getLogger("training").warning("loss %s", a.sum())
    return a
step(x)
""",
        holder="logging.getLogger('training').handlers[0].records[0].args[0]",
        line=10,
        origin="line 10 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a frame": Leak(
        cell="""
import sys
@jax.jit
def step(a):
    b = a * 2
    kept.append(sys._getframe())
    return a
step(x)
""",
        holder="`b` in the frame of kept[0]",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="finish it inside `step` and return what it gives: a suspended frame keeps its variables",
    ),
    "a pytree of arguments": Leak(
        cell="""
@jax.jit
def step(params):
    table["params"] = params
    return params["w"].sum()
step({"w": w, "b": x, "scale": x})
""",
        holder="table['params']['b'], table['params']['scale'] and 1 more",
        line=5,
        origin="line 5 of <cell>, the argument `params['b']`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "a loop over one list": Leak(
        cell="""
history = []
@jax.jit
def train(a):
    for _ in range(5):
        a = a * 2
        history.append(a.sum())
    return a
train(x)
""",
        holder="history[0], history[1] and 3 more",
        line=6,
        origin="line 6 of <cell>, from `a`",
        of="of `train` under jit",
        fix="return it from `train`",
    ),
    "two holders of one value": Leak(
        cell="""
@jax.jit
def step(a):
    b = a * 2
    kept.append(b)
    box.b = table["b"] = b
    return a
step(x)
""",
        holder="kept[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return `b` from `step`",
    ),
    "a finalizer": Leak(
        cell="""
@jax.jit
def step(a):
    kept.append(weakref.finalize(box, id, a * 2))
    return a
step(x)
""",
        holder="kept[0].peek()[2][0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "an exception group": Leak(
        cell="""
errors = []
def check(a):
    b = a * 2
    raise ValueError("no")
@jax.jit
def step(a):
    try:
        check(a)
    except ValueError as error:
        errors.append(ExceptionGroup("several", [error]))
    return a
step(x)
""",
        holder="`b` in the traceback of errors[0].exceptions[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="keep the text of the error, or error.with_traceback(None): a traceback holds the frames it came through",
    ),
    "grad": Leak(
        cell="""
def loss(w, a):
    hidden = jnp.tanh(a @ w)
    kept.append(hidden)
    return hidden.sum()
g = jax.grad(loss)(w, x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>",
        of="of `loss` under jax.grad",
        fix="return `hidden` from `loss` as well: jax.value_and_grad(loss, ..., has_aux=True)",
    ),
    "value_and_grad": Leak(
        cell="""
def loss(w, a):
    table["logits"] = a @ w
    return table["logits"].sum()
g = jax.value_and_grad(loss)(w, x)
""",
        holder="table['logits']",
        line=2,
        origin="line 2 of <cell>",
        of="of `loss` under jax.grad",
        fix="return it from `loss` as well: jax.value_and_grad(loss, ..., has_aux=True)",
    ),
    "jvp": Leak(
        cell="""
def f(a):
    b = jnp.sin(a)
    kept.append(b)
    return b
y = jax.jvp(f, (x,), (x,))
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `f` under jax.jvp",
        fix="return `b` from `f` as well: jax.jvp(f, ..., has_aux=True)",
    ),
    "vjp": Leak(
        cell="""
def f(a):
    kept.append(jnp.sin(a))
    return a * 2
y, back = jax.vjp(f, x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `f` under jax.vjp or jax.linearize",
        fix="return it from `f` as well: jax.vjp(f, ..., has_aux=True)",
    ),
    "linearize": Leak(
        cell="""
def f(a):
    kept.append(jnp.sin(a))
    return a * 2
y, along = jax.linearize(f, x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `f` under jax.vjp or jax.linearize",
        fix="return it from `f` as well: jax.vjp(f, ..., has_aux=True)",
    ),
    "vmap": Leak(
        cell="""
def row(a):
    norm = jnp.sqrt((a * a).sum())
    kept.append(norm)
    return a / norm
y = jax.vmap(row)(w)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `row` under jax.vmap",
        fix="return `norm` from `row`: jax.vmap gives all of them",
    ),
    "scan": Leak(
        cell="""
def step(carry, a):
    carry = carry + a
    kept.append(carry)
    return carry, a
y = lax.scan(step, 0.0, x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `carry` and `a`",
        of="of `step` under scan",
        fix="return `carry` from `step` in its second result, which scan stacks, or carry it through the scan",
    ),
    "map": Leak(
        cell="""
def one(a):
    kept.append(a * 2)
    return a
y = lax.map(one, x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `x`",
        of="of `one` under a scan of JAX's own",
        fix="return it from `one`",
    ),
    "fori_loop": Leak(
        cell="""
def body(i, a):
    kept.append(a + i)
    return a
y = lax.fori_loop(0, 3, body, x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `i` and `a`",
        of="of `body` under fori_loop",
        fix="carry it through the loop: in the value that `body` takes and returns",
    ),
    "the body of while_loop": Leak(
        cell="""
def body(a):
    kept.append(a * 2)
    return a + 1
y = lax.while_loop(lambda a: a[0] < 3, body, x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `body` under while_loop",
        fix="carry it through the loop: in the value that `body` takes and returns",
    ),
    "the condition of while_loop": Leak(
        cell="""
def go_on(a):
    error = jnp.abs(a).sum()
    kept.append(error)
    return error < 30
y = lax.while_loop(go_on, lambda a: a + 1, x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `go_on` under while_loop",
        fix="compute `error` in the body of the loop, and carry it in the value that the body returns",
    ),
    "cond": Leak(
        cell="""
def up(a):
    kept.append(a * 2)
    return a
y = lax.cond(x[0] > 0, up, lambda a: a, x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `up` under cond",
        fix="return it from every branch of the cond",
    ),
    "switch": Leak(
        cell="""
def up(a):
    kept.append(a * 2)
    return a
y = lax.switch(1, [up, lambda a: a], x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `up` under switch",
        fix="return it from every branch of the switch",
    ),
    "checkpoint": Leak(
        cell="""
@jax.checkpoint
def block(a):
    hidden = jnp.sin(a)
    kept.append(hidden)
    return hidden.sum()
g = jax.grad(block)(x)
""",
        holder="kept[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `block` under jax.checkpoint",
        fix="return `hidden` from `block`",
    ),
    "custom_jvp": Leak(
        cell="""
@jax.custom_jvp
def f(a):
    return a * 2
@f.defjvp
def rule(primals, tangents):
    kept.append(primals[0] * 2)
    return f(primals[0]), tangents[0] * 2
y = jax.jvp(jax.jit(f), (x,), (x,))
""",
        holder="kept[0]",
        line=4,
        origin="line 4 of <cell>",
        of="of `rule` under custom_jvp",
        fix="look at it with jax.debug.callback: `rule` can return a value and its tangent only",
    ),
    "custom_vjp forward": Leak(
        cell="""
f = jax.custom_vjp(lambda a: a * 2)
def forward(a):
    kept.append(a * 2)
    return a * 2, None
f.defvjp(forward, lambda _, g: (g * 2,))
g = jax.jit(jax.grad(lambda a: f(a).sum()))(x)
""",
        holder="kept[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `forward` under custom_vjp",
        fix="return it from `forward` among the residuals, which the backward rule gets",
    ),
    "custom_vjp backward": Leak(
        cell="""
f = jax.custom_vjp(lambda a: a * 2)
def backward(_, g):
    kept.append(g * 2)
    return (g * 2,)
f.defvjp(lambda a: (a * 2, None), backward)
g = jax.jit(jax.grad(lambda a: (f(a) ** 2).sum()))(x)
""",
        holder="kept[0]",
        line=6,
        origin="line 6 of <cell>, from `a`",
        of="of a lambda under jit",
        fix="return it from the lambda",
    ),
    "shard_map": Leak(
        cell="""
mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
def shard(a):
    kept.append(a * 2)
    return a
y = jax.jit(jax.shard_map(shard, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i")))(x)
""",
        holder="kept[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `shard` under shard_map",
        fix="return it from `shard`, with an entry of its own in out_specs",
    ),
    "shard_map without jit": Leak(
        cell="""
mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
def shard(a):
    b = a * 2
    kept.append(b)
    return a
y = jax.shard_map(shard, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"))(x)
""",
        holder="kept[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `shard` under jax.shard_map",
        fix="return `b` from `shard`, with an entry of its own in out_specs",
    ),
    "hessian": Leak(
        cell="""
def f(a):
    kept.append(a * a)
    return (a**3).sum()
h = jax.hessian(f)(x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `f` under jax.grad",
        fix="return it from `f` as well: jax.value_and_grad(f, ..., has_aux=True)",
    ),
    "eval_shape": Leak(
        cell="""
def f(a):
    kept.append(a * 2)
    return a
s = jax.eval_shape(f, x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `f` under jit",
        fix="return it from `f`",
    ),
    "make_jaxpr": Leak(
        cell="""
def f(a):
    kept.append(a * 2)
    return a
j = jax.make_jaxpr(f)(x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `f` under jit",
        fix="return it from `f`",
    ),
    "lowering ahead of time": Leak(
        cell="""
def f(a):
    kept.append(a * 2)
    return a
compiled = jax.jit(f).lower(x).compile()
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `f` under jit",
        fix="return it from `f`",
    ),
    "grad in scan in jit": Leak(
        cell="""
def loss(w, a):
    error = (a * w).sum()
    history.append(error)
    return error ** 2
def step(w, a):
    return w - 0.1 * jax.grad(loss)(w, a), None
history = []
train = jax.jit(lambda w, data: lax.scan(step, w, data)[0])
y = train(1.0, x)
""",
        holder="history[0]",
        line=2,
        origin="line 2 of <cell>, from `w` and `a`",
        of="of `loss` under jax.grad",
        fix="return `error` from `loss` as well: jax.value_and_grad(loss, ..., has_aux=True)",
    ),
    "vmap of cond": Leak(
        cell="""
def up(a):
    kept.append(a * 2)
    return a * 2
def f(a):
    return lax.cond(a > 0, up, lambda a: a, a)
y = jax.vmap(f)(x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `up` under cond",
        fix="return it from every branch of the cond",
    ),
    "remat of a custom_vjp": Leak(
        cell="""
f = jax.custom_vjp(lambda a: jnp.sin(a))
def forward(a):
    kept.append(jnp.cos(a))
    return jnp.sin(a), a
f.defvjp(forward, lambda a, g: (g * jnp.cos(a),))
g = jax.grad(lambda a: jax.checkpoint(f)(a).sum())(x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>",
        of="of `forward` under custom_vjp",
        fix="return it from `forward` among the residuals, which the backward rule gets",
    ),
    "jit in scan": Leak(
        cell="""
@jax.jit
def inner(a):
    kept.append(a * 2)
    return a * 2
y = lax.scan(lambda c, a: (c + inner(a), None), 0.0, x)
""",
        holder="kept[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `inner` under jit",
        fix="return it from `inner`",
    ),
    "scan in grad of vmap": Leak(
        cell="""
def step(c, a):
    kept.append(c * a)
    return c + a, None
def f(a):
    return lax.scan(step, 0.0, a)[0]
g = jax.grad(lambda m: jax.vmap(f)(m).sum())(w)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `c` and `a`",
        of="of `step` under scan",
        fix="return it from `step` in its second result, which scan stacks, or carry it through the scan",
    ),
    "jvp of grad": Leak(
        cell="""
def f(a):
    kept.append(a * a)
    return (a**3).sum()
y = jax.jvp(jax.grad(f), (x,), (x,))
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `f` under jax.grad",
        fix="return it from `f` as well: jax.value_and_grad(f, ..., has_aux=True)",
    ),
    "vmap of grad in jit": Leak(
        cell="""
def f(a):
    kept.append(a * a)
    return a**3
y = jax.jit(jax.vmap(jax.grad(f)))(x)
""",
        holder="kept[0]",
        line=2,
        origin="line 2 of <cell>, from `a`",
        of="of `f` under jax.grad",
        fix="return it from `f` as well: jax.value_and_grad(f, ..., has_aux=True)",
    ),
    "while in shard_map in jit": Leak(
        cell="""
mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
def body(a):
    kept.append(a * 2)
    return a + 1
def shard(a):
    return lax.while_loop(lambda a: a[0] < 3, body, a)
y = jax.jit(jax.shard_map(shard, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"), check_vma=False))(x)
""",
        holder="kept[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `body` under while_loop",
        fix="carry it through the loop: in the value that `body` takes and returns",
    ),
    "a value of the outer function kept by the inner one": Leak(
        cell="""
@jax.jit
def outer(a):
    b = a * 2
    def body(i, c):
        kept.append(b)
        return c + b
    return lax.fori_loop(0, 3, body, a)
outer(x)
""",
        holder="kept[0]",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `outer` under jit",
        fix="return `b` from `outer`",
    ),
    "custom_jvp in scan in grad": Leak(
        cell="""
@jax.custom_jvp
def f(a):
    return a * 2
@f.defjvp
def rule(primals, tangents):
    kept.append(tangents[0] * 2)
    return f(primals[0]), tangents[0] * 2
g = jax.grad(lambda a: lax.scan(lambda c, v: (c + f(v), None), 0.0, a)[0])(x)
""",
        holder="kept[0]",
        line=8,
        origin="line 8 of <cell>",
        of="of `rule` under custom_jvp",
        fix="look at it with jax.debug.callback: `rule` can return a value and its tangent only",
    ),
    "traced in an earlier cell": Leak(
        cell="""
y = again(x)
""",
        holder="kept[0]",
        line=1,
        origin="line 3 of <earlier>, from `a`",
        of="of `again` under jit",
        fix="return it from `again`",
        earlier="""
@jax.jit
def again(a):
    kept.append(a * 3)
    return a
""",
    ),
    "traced earlier for another shape": Leak(
        cell="""
y = again(jnp.ones(4))
""",
        holder="kept[0]",
        line=1,
        origin="line 3 of <earlier>, from `a`",
        of="of `again` under jit",
        fix="return it from `again`",
        earlier="""
@jax.jit
def again(a):
    kept.append(a * 3)
    return a
again(x)
kept.clear()
""",
    ),
    "a helper of an earlier cell": Leak(
        cell="""
@jax.jit
def step(a):
    return helper(a) + 1
step(x)
""",
        holder="box.last",
        line=3,
        origin="line 2 of <earlier>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
        earlier="""
def helper(a):
    box.last = a * 2
    return box.last
""",
    ),
    "a model of an earlier cell": Leak(
        cell="""
def loss(a):
    return model(a).sum()
g = jax.grad(loss)(x)
""",
        holder="model.out",
        line=2,
        origin="line 3 of <earlier>, from `a`",
        of="of `loss` under jax.grad",
        fix="return it from `loss` as well: jax.value_and_grad(loss, ..., has_aux=True)",
        earlier="""
class Model:
    def __call__(self, a):
        self.out = a * 2
        return self.out
model = Model()
""",
    ),
    "an error raised from another": Leak(
        cell="""
errors = []
def check(a):
    b = a * 2
    raise ValueError("no")
@jax.jit
def step(a):
    try:
        try:
            check(a)
        except ValueError as error:
            raise RuntimeError("while checking") from error
    except RuntimeError as error:
        errors.append(error)
    return a
step(x)
""",
        holder="`b` in the traceback of errors[0].__cause__",
        line=3,
        origin="line 3 of <cell>, from `a`",
        of="of `step` under jit",
        fix="keep the text of the error, or error.with_traceback(None): a traceback holds the frames it came through",
    ),
    "the result of sys.exc_info": Leak(
        cell="""
import sys
@jax.jit
def step(a):
    try:
        b = a * 2
        1 / 0
    except ZeroDivisionError:
        kept.append(sys.exc_info()[2])
    return a
step(x)
""",
        holder="`b` in the traceback of kept[0]",
        line=5,
        origin="line 5 of <cell>, from `a`",
        of="of `step` under jit",
        fix="keep the text of the error, or error.with_traceback(None): a traceback holds the frames it came through",
    ),
    "a cached method": Leak(
        cell="""
class Tables:
    @functools.cache
    def of(self, n):
        return jnp.arange(n) * 2.0
tables = Tables()
@jax.jit
def step(a):
    return a + tables.of(3)
step(x)
""",
        holder="the cache of Tables.of",
        line=4,
        origin="line 4 of <cell>, from constants",
        of="of `step` under jit",
        fix="compute it outside of `step` and pass it in: a cache outlives the trace",
    ),
    "a module in the style of flax": Leak(
        cell="""
class Module:
    def __init__(self): self.variables = collections.defaultdict(dict)
    def sow(self, collection, name, value): self.variables[collection][name] = value
class Dense(Module):
    def __call__(self, a):
        hidden = a @ w
        self.sow("intermediates", "hidden", hidden)
        return hidden
dense = Dense()
y = jax.jit(lambda a: dense(a))(x)
""",
        holder="dense.variables['intermediates']['hidden']",
        line=6,
        origin="line 6 of <cell>, from `a`",
        of="of a lambda under jit",
        fix="return `hidden` from the lambda",
    ),
    "a frozen dataclass": Leak(
        cell="""
import dataclasses
@dataclasses.dataclass(frozen=True)
class State:
    loss: object
@jax.jit
def step(a):
    loss = a.sum()
    table["state"] = State(loss)
    return a
step(x)
""",
        holder="table['state'].loss",
        line=7,
        origin="line 7 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return `loss` from `step`",
    ),
    "a queue": Leak(
        cell="""
import queue
results = queue.Queue()
@jax.jit
def step(a):
    results.put(a * 2)
    return a
step(x)
""",
        holder="results.queue[0]",
        line=5,
        origin="line 5 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return it from `step`",
    ),
    "the exception of a future": Leak(
        cell="""
from concurrent.futures import Future
result = Future()
def check(a):
    b = a * 2
    raise ValueError("no")
@jax.jit
def step(a):
    try:
        check(a)
    except ValueError as error:
        result.set_exception(error)
    return a
step(x)
""",
        holder="`b` in the traceback of result.exception()",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="keep the text of the error, or error.with_traceback(None): a traceback holds the frames it came through",
    ),
    "a pool of threads": Leak(
        cell="""
from concurrent.futures import ThreadPoolExecutor
@jax.jit
def step(a):
    b = a * 2
    with ThreadPoolExecutor(1) as pool:
        table["job"] = pool.submit(lambda: b)
    return a
step(x)
""",
        holder="table['job'].result()",
        line=4,
        origin="line 4 of <cell>, from `a`",
        of="of `step` under jit",
        fix="return `b` from `step`",
    ),
}
