"""A staged cell leaves no tracer behind, wherever it puts a value: what it leaves is what the plain cell leaves.

Where staging does not see the place, Python runs the statement.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from tracers import traces_left

import jaxnb
from jaxnb._jax.tracers import TraceLog
from jaxnb.staging.objects.referrers import paths_to

BEGIN = """
import collections, functools, heapq, sys, threading, types, weakref
import jax, jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
class Keeper:
    kept = None
    def __init__(self, w=None): self.w = w
"""

FORMS = {
    "a new array of objects": ("", "o = np.empty(1, object)\no[0] = x * 2", "o[0]"),
    "two aliases in one": ("", "o = np.empty(2, object)\ny = x * 2\no[0] = y\no[1] = o[0]", "o[1]"),
    "an array of objects": ("o = np.empty(2, object)", "o[0] = x * 2\nz = o[0] + 1", "o[0]"),
    "objects inside of an array": ("o = np.empty(1, object)\no[0] = Keeper()", "o[0].w = x * 2", "o[0].w"),
    "a set": ("s = set()", "s.add(Keeper(x * 2))", "max((k.w for k in s), key=lambda w: float(w.sum()))"),
    "a new set": ("", "s = {Keeper(x * 2)}", "max((k.w for k in s), key=lambda w: float(w.sum()))"),
    "a deque": ("d = collections.deque()", "d.appendleft(x * 2)\nd.rotate(1)", "d[0]"),
    "a view of a dict": ("p = {}", "v = p.values()\np['a'] = x * 2", "list(v)[0]"),
    "a generator": ("", "def gen():\n    y = x * 2\n    yield y\n    yield y + 1\ng = gen()\na = next(g)", "a"),
    "a map": ("", "g = map(lambda v: v * 2, [x, x])\na = next(g)", "a"),
    "an exception": ("", "try:\n    raise ValueError(x * 2)\nexcept ValueError as e:\n    err = e", "err.args[0]"),
    "the last exception": (
        "",
        "try:\n    raise ValueError(x * 2)\nexcept ValueError as e:\n    sys.last_exc = e",
        "sys.last_exc.args[0]",
    ),
    "a weak dict": ("k, wd = Keeper(), weakref.WeakKeyDictionary()", "wd[k] = x * 2", "wd[k]"),
    "a cache": ("@functools.lru_cache\ndef f(n): return x * n", "z = f(2)", "f(2)"),
    "a class attribute": ("", "Keeper.kept = x * 2", "Keeper.kept"),
    "a module": ("import string", "string.last = x * 2", "string.last"),
    "a thread's own": ("tl = threading.local()", "tl.w = x * 2", "tl.w"),
    "a cached property": (
        "class C:\n    w = x\n    @functools.cached_property\n    def sq(self): return self.w * 2\nc = C()",
        "z = c.sq + 1",
        "c.sq",
    ),
    "an attribute of a function": ("def f(v):\n    f.last = v * 2\n    return v", "z = f(x)", "f.last"),
    "defaults": ("def f(v, w=None): return w", "f.__defaults__ = (x * 2,)\nz = x + 1", "f(1)"),
    "defaults by keyword": ("def f(v, *, w=None): return w", "f.__kwdefaults__ = {'w': x * 2}\nz = x + 1", "f(1)"),
    "a registry of singledispatch": (
        "@functools.singledispatch\ndef f(v): return 1",
        "f.register(int)(lambda v, w=x * 2: w)\nz = x + 1",
        "f(1)",
    ),
    "a heap": ("h = []", "heapq.heappush(h, (len(h), x * 2))", "h[-1][1]"),
    "a mapping proxy": ("p = {}\nmp = types.MappingProxyType(p)", "p['a'] = x * 2", "mp['a']"),
    "a UserDict": ("ud = collections.UserDict()", "ud['a'] = x * 2", "ud['a']"),
    "a trace that is given up": ("k = Keeper()", "k.w = x * 2\nz = k.w * float(k.w.sum())", "k.w + z"),
}


@pytest.mark.parametrize("name", FORMS)
def test_no_tracer_stays(traces: TraceLog, name: str) -> None:
    setup, cell, shows = FORMS[name]
    staged: dict[str, Any] = {"__name__": "__main__"}
    plain: dict[str, Any] = {"__name__": "__main__"}
    for names in (staged, plain):
        exec(BEGIN + setup, names)
    for change in ("", "x = x + 1"):
        for names in (staged, plain):
            exec(change, names)
        exec(cell, plain)
        expected = eval(shows, plain)
        jaxnb.stage(cell, staged)
        found = eval(shows, staged)
        assert type(found) is type(expected)
        if name != "a cache":
            np.testing.assert_allclose(found, expected)
        assert not traces_left(traces)


NEEDS_A_SIZE = {
    "constants of a function under jit": "@jax.jit\ndef f(v): return (v + np.arange(3.0))[:n]\ny = f(x)",
    "constants of a derivative": "y = jax.grad(lambda v: ((v * np.arange(3.0))[:n]).sum())(x)",
    "what a library notes while it makes an object": "import equinox as eqx\n"
    "class M(eqx.Module):\n    n: int\n    w: jax.Array\n"
    "    def __init__(self, n):\n        self.n = n\n        self.w = jnp.zeros(n) + x[0]\n"
    "y = M(n).w",
}


@pytest.mark.parametrize("name", NEEDS_A_SIZE)
def test_a_trace_that_is_begun_again_leaves_none(traces: TraceLog, name: str) -> None:
    if "equinox" in NEEDS_A_SIZE[name]:
        pytest.importorskip("equinox")
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(BEGIN, names)
    for n in (3, 2, 1, 3):  # an input at first, once it has changed
        names["n"] = n
        jaxnb.stage(NEEDS_A_SIZE[name], names)
        assert names["y"].size == (3 if "derivative" in name else n)
        assert not traces_left(traces)


def test_a_failing_cell_leaves_none(traces: TraceLog) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(BEGIN + "keep, k = [], Keeper()", names)
    with pytest.raises(NameError):
        jaxnb.stage("keep.append(x * 2)\nk.w = x\nz = undefined", names)
    assert names["keep"] == [] and names["k"].w is None
    assert not traces_left(traces)


@pytest.mark.parametrize(
    "made", ["m = Keeper(x * 2)\nf = weakref.finalize(m, said.append, 'over')", "m = Watched(x * 2)"]
)
def test_a_finalizer_is_of_the_object_that_is_bound(made: str) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(BEGIN + "said = []\nclass Watched(Keeper): pass\n", names)
    names["f"] = None
    exec("def init(self, w):\n    self.w = w\n    self.f = weakref.finalize(self, said.append, 'over')\n", names)
    exec("Watched.__init__ = init", names)
    jaxnb.stage(f"{made}\nz = m.w + 1", names)
    finalizer = names["f"] or names["m"].f
    assert names["said"] == [] and finalizer.alive
    del names["m"]
    finalizer()
    assert names["said"] == ["over"]


GENERATORS = {
    "made by a helper": ("", "g = primed(sink)()\ng.send(x.sum())\ng.close()\nn = len(out)"),
    "defined in the cell": (
        "",
        "@primed\ndef chunk(to):\n    kept = []\n    try:\n        while True:\n            kept.append((yield))\n"
        "    except GeneratorExit:\n        to.send(jnp.stack(kept))\n        to.close()\n"
        "@primed\ndef reduce():\n    try:\n        while True:\n            out.append((yield).sum())\n"
        "    finally:\n        out.append('over')\n"
        "g = chunk(reduce())\nfor i in range(3):\n    g.send(x * i)\ng.close()\nn = len(out)",
    ),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_a_generator_ends_with_the_trace_that_is_given_up(name: str) -> None:
    setup, cell = GENERATORS[name]
    sink = (
        "out = []\ndef sink():\n    try:\n        while True:\n            out.append((yield))\n"
        "    finally:\n        out.append('over')\n"
        "def primed(f):\n    def start(*a):\n        g = f(*a)\n        next(g)\n        return g\n    return start\n"
    )
    seen: list[list[str]] = []
    for stages in (False, True):
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(BEGIN + sink + setup, names)
        for _ in range(3):
            if stages:
                jaxnb.stage(cell, names)
            else:
                exec(cell, names)
        seen.append([names["n"], *map(str, names["out"])])
    assert seen[0] == seen[1]


def test_who_holds_a_value_is_asked_without_holding_it() -> None:
    class Held:
        pass

    def ask() -> weakref.ref[Any]:
        here = Held()
        paths_to({"names": [here]}, {id(here)})
        return weakref.ref(here)

    gc.disable()
    try:
        assert ask()() is None
    finally:
        gc.enable()


KEEPS_IN_A_RULE = """
def twice(f, y):
    @jax.custom_jvp
    def solve(y): return y * 2
    seen = []
    jax.make_jaxpr(lambda v: seen.append(v) or f(v))(y)
    solve.defjvp(lambda primals, tangents: (solve(*primals), tangents[0] * len(seen)))
    return solve(y)
"""


def test_rules_of_derivatives_that_hold_tracers_are_let_go(traces: TraceLog) -> None:
    """A library may keep in a rule what it has seen when it traced a function inside, as optimistix does."""
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(BEGIN + KEEPS_IN_A_RULE, names)
    cell = "y = jax.lax.fori_loop(0, 3, lambda i, v: twice(jnp.sin, v), x)"
    run = jaxnb.stage(cell, names)
    assert not run.on_host
    assert not traces_left(traces)
    assert jaxnb.stage(cell, names).reused
    assert names["y"].tolist() == [0.0, 8.0, 16.0]


TRANSFORMED = {
    "a gradient": ("jax.grad(lambda v: (v * inner(x)).sum())(x)", [0.0, 2.0, 4.0]),
    "forward": ("jax.jvp(lambda v: v * inner(x), (x,), (x,))[1]", [0.0, 2.0, 8.0]),
    "mapped": ("jax.vmap(lambda v: v * inner(x[1]))(x)", [0.0, 2.0, 4.0]),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_rules_made_within_a_transformation_are_let_go(name: str, traces: TraceLog) -> None:
    """On Python 3.13 the collector knows a dict, and not the trace of the transformation, to hold the trace around."""
    code, expected = TRANSFORMED[name]
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(BEGIN + KEEPS_IN_A_RULE + "inner = jax.jit(lambda c: twice(jnp.sin, c))\n", names)
    run = jaxnb.stage(f"y = {code}", names)
    assert not run.on_host
    assert not traces_left(traces)
    assert jaxnb.stage(f"y = {code}", names).reused
    assert names["y"].tolist() == expected
