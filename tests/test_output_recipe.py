"""What a staged cell leaves behind, built anew on every run: containers, functions, objects, with their aliases."""

from __future__ import annotations

import functools
import gc
import sys
import textwrap
import types
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxnb.api import new_session
from jaxnb.errors import Refused
from jaxnb.options import StageOptions
from jaxnb.staging.session.run import Run
from jaxnb.staging.session.session import Session
from jaxnb.staging.trace.before import Before

Namespace = dict[str, Any]

SETUP = """
import collections, copy, dataclasses, functools, types
class MyList(list): pass
class MyDict(dict): pass
Point = collections.namedtuple("Point", "a b")
@dataclasses.dataclass
class Data:
    a: object
    b: object = 2
@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    a: object
    b: object = 2
class Slotted:
    __slots__ = ("a", "__dict__")
class Reduced:
    def __init__(self, a): self.a = a
    def __reduce__(self): return Reduced, (self.a,)
"""


@pytest.fixture
def ns() -> Namespace:
    namespace: Namespace = {"__name__": "__main__", "jax": jax, "jnp": jnp, "np": np, "x": jnp.array([0.5, -1.0])}
    exec(SETUP, namespace)
    return namespace


class Runs:
    """One session; every run after the first must be a reused one."""

    def __init__(self, ns: Namespace) -> None:
        self.ns, self.session, self.count = ns, new_session(), 0

    def __call__(self, cell: str) -> Run:
        run = self.session.stage(cell, self.ns, StageOptions())
        assert run.reused is (self.count > 0), run.line
        assert not any(isinstance(value, jax.core.Tracer) for value in self.ns.values())
        self.count += 1
        return run


def close(one: Any, other: Any) -> bool:
    return isinstance(one, jax.Array) and np.allclose(one, other, rtol=1e-6)


# --- each kind of result, made anew --------------------------------------------------------------------------------

CONTENTS = {
    "list": ("[t, 1]", lambda v: v[0]),
    "tuple": ("(1, t)", lambda v: v[1]),
    "namedtuple": ("Point(t, 1)", lambda v: v.a),
    "dict": ("{'k': t, 3: None}", lambda v: v["k"]),
    "nested": ("{'k': [(t, {'deep': t})]}", lambda v: v["k"][0][1]["deep"]),
    "list subclass": ("MyList([t])", lambda v: v[0]),
    "dict subclass": ("MyDict(k=t)", lambda v: v["k"]),
    "OrderedDict": ("collections.OrderedDict(b=1, a=t)", lambda v: v["a"]),
    "defaultdict": ("collections.defaultdict(list, k=t)", lambda v: v["k"]),
    "Counter": ("collections.Counter(k=t)", lambda v: v["k"]),
    "deque": ("collections.deque([1, t], maxlen=2)", lambda v: v[1]),
    "dataclass": ("Data(t)", lambda v: v.a),
    "frozen with slots": ("Frozen(t)", lambda v: v.a),
    "slots": ("Slotted()\nv.a, v.c = t, 1", lambda v: v.a),
    "copy protocol": ("Reduced(t)", lambda v: v.a),
    "namespace": ("types.SimpleNamespace(a=t)", lambda v: v.a),
    "partial": ("functools.partial(jnp.multiply, t)", lambda v: v(1.0)),
    "partial by keyword": ("functools.partial(lambda a, k: a * k, k=t)", lambda v: v(1.0)),
    "closure": ("(lambda k: lambda: k)(t)", lambda v: v()),
    "default": ("lambda k=t: k", lambda v: v()),
    "keyword default": ("lambda *, k=t: k", lambda v: v()),
    "jitted": ("jax.jit((lambda k: lambda: k)(t))", lambda v: v()),
    "grad": ("jax.grad((lambda k: lambda a: (k * a).sum())(t))", lambda v: v(jnp.ones(2))),
    "bound method": ("Data(t).__eq__", lambda v: v.__self__.a),
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_a_result_is_what_the_plain_cell_makes_and_is_made_anew(kind: str, ns: Namespace) -> None:
    make, read = CONTENTS[kind]
    cell = f"t = x * 2\nv = {make}"
    plain = dict(ns)
    exec(cell, plain)
    runs, seen = Runs(ns), []
    for scale in (1.0, 3.0, -2.0):
        ns["x"] = jnp.array([0.5, -1.0]) * scale
        runs(cell)
        v = ns["v"]
        assert type(v) is type(plain["v"]) and all(v is not other for other in seen)
        assert close(read(v), read(plain["v"]) * scale) and close(read(v), ns["x"] * 2)
        seen.append(v)
    assert close(read(seen[0]), read(plain["v"]))  # a later run leaves what an earlier one made


def test_what_belongs_to_a_container_comes_along(ns: Namespace) -> None:
    runs = Runs(ns)
    cell = (
        "t = x + 1\nd = collections.defaultdict(list, k=t)\nq = collections.deque([t], maxlen=3)\n"
        "o = collections.OrderedDict(b=t, a=1)\no.move_to_end('b')\nl = MyList([t])\nl.note = 'n'\nl.deep = [t]\n"
        "def f(a: 'int', *, k=t): 'doc'"
    )
    for _ in range(2):
        runs(cell)
        assert ns["d"]["new"] == [] and ns["q"].maxlen == 3 and list(ns["o"]) == ["a", "b"]
        assert ns["l"].note == "n" and ns["l"].deep[0] is ns["t"] is ns["l"][0]
        f = ns["f"]
        assert (f.__doc__, f.__name__, f.__qualname__, f.__module__) == ("doc", "f", "f", "__main__")
        assert f.__annotations__ == {"a": "int"} and ns["t"] is f.__kwdefaults__["k"]
        assert f.__globals__ is ns


# --- aliases -------------------------------------------------------------------------------------------------------


def test_aliases_among_results_survive(ns: Namespace) -> None:
    runs = Runs(ns)
    for _ in range(3):
        runs("t = x * 2\ninner = [t]\na = {'one': inner, 'two': inner}\nb = (inner, t, Data(inner))\ns = t")
        assert ns["a"]["one"] is ns["a"]["two"] is ns["inner"] is ns["b"][0] is ns["b"][2].a
        assert ns["s"] is ns["t"] is ns["inner"][0] is ns["b"][1]


def test_objects_of_one_dict_share_it(ns: Namespace) -> None:
    exec("class Borg:\n    shared = {}\n    def __init__(self): self.__dict__ = self.shared\nclass Own: pass", ns)
    runs = Runs(ns)
    ns["Borg"].shared["t"] = None
    for _ in range(3):
        ns["Borg"].shared["t"] = None
        runs("a, b = Borg(), Borg()\nb.t = x * 2\nc, d = Own(), Own()\nc.t = a.t\nd.__dict__ = c.__dict__\nv = vars(d)")
        assert vars(ns["a"]) is vars(ns["b"]) is ns["Borg"].shared and ns["a"].t is ns["b"].t
        assert vars(ns["c"]) is vars(ns["d"]) is ns["v"] and ns["d"].t is ns["a"].t


def test_aliases_of_inputs_survive(ns: Namespace) -> None:
    ns["box"], ns["pair"] = [ns["x"], 1], (ns["x"], 2)
    runs = Runs(ns)
    for _ in range(3):
        runs("t = x * 2\nheld = {'box': box, 'pair': pair, 'x': x, 't': t}\nsame = pair")
        assert ns["held"]["box"] is ns["box"] and ns["held"]["pair"] is ns["pair"] is ns["same"]
        assert ns["held"]["x"] is ns["x"] is ns["box"][0] and type(ns["box"][0]) is type(ns["t"])


def test_closures_share_their_cells(ns: Namespace) -> None:
    put = "def put(v):\n        nonlocal k\n        k = v"
    exec(f"def make(k):\n    def get(): return k\n    {put}\n    return get, put", ns)
    runs = Runs(ns)
    for _ in range(3):
        runs("t = x * 2\nget, put = make(t)\nother, _ = make(t)")
        assert ns["get"]() is ns["t"]
        ns["put"](7)
        assert ns["get"]() == 7 and ns["other"]() is ns["t"]


@pytest.mark.parametrize(
    ("cell", "ring"),
    [
        ("t = x * 2\nv = [t]\nv.append(v)", lambda v: (v[0], v[1])),
        ("t = x * 2\nv = {'t': t}\nv['v'] = [v]", lambda v: (v["t"], v["v"][0])),
        ("t = x * 2\nv = Data(t)\nv.b = (v,)", lambda v: (v.a, v.b[0])),
        ("t = x * 2\nv = Slotted()\nv.a, v.me = t, v", lambda v: (v.a, v.me)),
        ("t = x * 2\ndef v(): return t, v", lambda v: v()),
    ],
)
def test_cycles_are_closed_again(cell: str, ring: Any, ns: Namespace) -> None:
    runs = Runs(ns)
    for _ in range(2):
        runs(cell)
        array, again = ring(ns["v"])
        assert again is ns["v"] and array is ns["t"]


def test_a_jitted_function_keeps_its_options(ns: Namespace) -> None:
    runs = Runs(ns)
    for _ in range(2):
        runs("t = x * 2\nf = jax.jit((lambda k: lambda a, n: k * a if n == 'twice' else k)(t), static_argnums=1)")
        assert close(ns["f"](2.0, "twice"), ns["x"] * 4) and close(ns["f"](2.0, "no"), ns["t"])


# --- changes in place ----------------------------------------------------------------------------------------------

CHANGES = {
    "append": ("v = []", "v.append(x * 2)", lambda v: v[-1]),
    "item": ("v = {'k': x}", "v['k'] = v['k'] * 0 + x * 2", lambda v: v["k"]),
    "deep": ("v = [{'k': (x,)}]", "v[0]['k'] = (x * 2,)", lambda v: v[0]["k"][0]),
    "attribute": ("v = Data(x)", "v.a = x * 2", lambda v: v.a),
    "slot": ("v = Slotted()\nv.a = x", "v.a = x * 2", lambda v: v.a),
    "namespace": ("v = types.SimpleNamespace(a=x)", "v.a = x * 2", lambda v: v.a),
    "extend": ("v = MyList([x])", "v.extend([x * 2])", lambda v: v[-1]),
    "deque": ("v = collections.deque([x], maxlen=2)", "v.append(x * 2)", lambda v: v[-1]),
    "update": ("v = collections.OrderedDict(a=x)", "v.update(b=x * 2)", lambda v: v["b"]),
    "delete": ("v = {'k': x, 'j': x * 2}", "del v['k']\nv['j'] = x * 2", lambda v: v["j"]),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_in_place_is_one_of_the_very_object(kind: str, ns: Namespace) -> None:
    setup, cell, read = CHANGES[kind]
    session = new_session()
    reused = False
    for scale in (1.0, 3.0, -2.0):  # the same start each time, so that the same program serves
        ns["x"] = jnp.array([0.5, -1.0]) * scale
        exec(setup, ns)
        v = ns["other"] = ns["v"]
        run = session.stage(cell, ns, StageOptions())
        reused = run.reused
        assert ns["v"] is v is ns["other"] and close(read(v), ns["x"] * 2)
    assert reused


def test_a_new_object_inside_an_old_one_is_shared_with_its_name(ns: Namespace) -> None:
    session = new_session()
    for _ in range(2):
        ns["history"] = []
        run = session.stage("entry = {'y': x * 2}\nhistory.append(entry)", ns, StageOptions())
        assert ns["history"][0] is ns["entry"]
    assert run.reused


def test_deleted_names_are_deleted_each_time(ns: Namespace) -> None:
    session = new_session()
    for _ in range(2):
        ns["k"] = jnp.ones(2)
        run = session.stage("y = x + k\ndel k", ns, StageOptions())
        assert "k" not in ns and close(ns["y"], ns["x"] + 1)
    assert run.reused


# --- what cannot be made anew --------------------------------------------------------------------------------------


def test_an_iterator_over_traced_values_is_refused_and_changes_nothing(ns: Namespace) -> None:
    before = dict(ns)
    with pytest.raises(Refused, match="Try:"):
        new_session().stage("y = x * 2\ng = (v for v in [y])", ns, StageOptions(whole=True))
    assert {name: ns[name] for name in before} == before and "y" not in ns


@pytest.mark.parametrize("whole", [False, True])
def test_what_cannot_be_copied_is_made_anew_by_python_or_not_reused(ns: Namespace, whole: bool) -> None:
    session = new_session()
    cell = "y, lock = x * 2, __import__('threading').Lock()\nz = y + 1"
    for index in range(2):
        run = session.stage(cell, ns, StageOptions(whole=whole))
        assert ("not reusable" in run.line) == whole and run.reused == (index == 1 and not whole)
        assert list(run.host_lines) == ([] if whole else [1]) and ns["lock"].acquire(blocking=False)


def test_what_a_library_compares_with_is_stays_that_very_object(ns: Namespace, monkeypatch: pytest.MonkeyPatch) -> None:
    library = types.ModuleType("some_library")
    library.__file__ = "/some/site-packages/some_library.py"
    monkeypatch.setitem(sys.modules, "some_library", library)
    text = """
        import enum
        import jax
        class Missing: pass
        MISSING = Missing()
        class Format(enum.Enum):
            DENSE = 0
            SPARSE = 1
        def make(scale, format=Format.SPARSE, axis=MISSING):
            def apply(v):
                return v * scale, format is Format.SPARSE, axis is MISSING
            return apply
        """
    exec(compile(textwrap.dedent(text), library.__file__, "exec"), vars(library))
    ns["make"] = library.make
    run = Runs(ns)
    for _ in range(3):
        run("f = make(x * 2)")
        assert ns["f"](1.0)[1:] == (True, True)


def test_what_an_object_holds_that_cannot_be_copied_is_the_object_that_others_hold(
    ns: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = types.ModuleType("some_library")
    library.__file__ = "/some/site-packages/some_library.py"
    monkeypatch.setitem(sys.modules, "some_library", library)
    text = """
        import jax
        import threading
        class Thing: pass
        class Owner:
            def __init__(self, part):
                self.part, self.lock = part, threading.Lock()
        """
    exec(compile(textwrap.dedent(text), library.__file__, "exec"), vars(library))
    ns["library"] = library
    for _ in range(2):
        cell = "t = library.Thing()\nboth = [t, x * 2]\no = library.Owner(t)\nw = library.Owner([t, o])"
        run = new_session().stage(cell, ns, StageOptions())
        assert "cannot be copied" in run.line
        assert ns["o"].part is ns["t"] is ns["both"][0] is ns["w"].part[0]
        assert ns["w"].part[1] is ns["o"]


def test_what_is_made_is_not_what_was_there_where_the_user_has_set_objects_aside() -> None:
    """What is made may stand where something stood that is gone, and has its id then."""
    gc.freeze()
    try:
        old = [[index] for index in range(1000)]
        there = old.pop()
        with Before() as before:
            old.clear()
            new = [[index] for index in range(1000)]
            assert before.holds(there)
            assert not any(map(before.holds, new))
    finally:
        gc.unfreeze()


def test_what_python_itself_has_set_aside_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.12 starts with some; to walk the heap for their sake would take a second for each trace."""
    monkeypatch.setattr("jaxnb.staging.trace.before.objects_of", lambda wanted: pytest.fail("the heap was walked"))
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 375)
    there = [1]
    with Before() as before:
        monkeypatch.undo()
        assert gc.get_freeze_count() > 5000
        made = [2]
        assert before.holds(there) and not before.holds(made)
    assert gc.get_freeze_count() == 0


# --- methods, handed on ----------------------------------------------------------------------------------------------

OWNERS = """
class Model:
    def apply(self, v): return v * 2
    def __call__(self, v): return v
    @property
    def applied(self): return self.apply
    @classmethod
    def made(cls, v): return v
    @staticmethod
    def plain(v): return v
class Listed(list): pass
"""

HANDED_ON = {
    "method": ("Model()", "owner.apply", "held.__self__ is owner"),
    "call": ("Model()", "owner.__call__", "held.__self__ is owner"),
    "property": ("Model()", "owner.applied", "held.__self__ is owner"),
    "class method": ("Model()", "owner.made", "held.__self__ is Model"),
    "static method": ("Model()", "owner.plain", "held is Model.plain"),
    "partial": ("Model()", "functools.partial(owner.apply, 1)", "held.func.__self__ is owner"),
    "closure": ("Model()", "(lambda o: lambda: o)(owner)", "held() is owner"),
    "jitted": ("Model()", "jax.jit(owner.apply)", "held.__wrapped__.__self__ is owner"),
    "of a list": ("[1]", "owner.append", "held.__self__ is owner"),
    "of a dict": ("{'k': 1}", "owner.get", "held.__self__ is owner"),
    "of a subclass": ("Listed([1])", "owner.append", "held.__self__ is owner"),
    "of an array": ("x * 2", "owner.sum", "held.__self__ is owner and bool(held() == (x * 2).sum())"),
    "its own attribute": ("Model()\nowner.f = owner.apply", "owner.f", "held.__self__ is owner and held is owner.f"),
    "twice": ("Model()", "[owner.apply] * 2", "held[0] is held[1] and held[0].__self__ is owner"),
    "two": ("Model()", "[owner.apply, owner.apply]", "held[0] is not held[1] and held[0].__self__ is owner"),
}


@pytest.mark.parametrize("between", ["", "print(state[0])\n", "print(state[0])\nprint(x)\n"])
@pytest.mark.parametrize("name", HANDED_ON)
def test_a_method_that_is_handed_on_is_of_the_object_of_this_run(name: str, between: str, ns: Namespace) -> None:
    exec(OWNERS, ns)
    make, get, asked = HANDED_ON[name]
    cell = f"owner = {make}\nstate = x, {get}\n{between}state = state[0] + 1, state[1]\nheld = state[1]"
    runs = Runs(ns)
    for scale in (1.0, 3.0, -2.0):
        ns["x"] = jnp.array([0.5, -1.0]) * scale
        runs(cell)
        assert eval(asked, ns)
        assert close(ns["state"][0], ns["x"] + 1)


@pytest.mark.parametrize("get", ["owner.apply", "rows.append"])
def test_a_method_that_was_there_is_the_one_of_this_run(get: str, ns: Namespace) -> None:
    exec(OWNERS, ns)
    runs, cell = Runs(ns), "y = x * 2\nheld = f\nsame = held is f, held is g, g is h"
    for _ in range(3):
        exec(f"owner, rows = Model(), []\nf = {get}\ng = h = {get}", ns)
        runs(cell)
        assert ns["held"] is ns["f"] and ns["same"] == (True, False, True)
    exec(f"g, h = {get}, {get}", ns)  # they are no longer one
    runs(cell)  # the comparisons are Python's
    assert ns["same"] == (True, False, False)


def test_what_a_method_reads_counts_where_only_one_of_its_holders_runs_it(ns: Namespace) -> None:
    exec("class Model:\n    def apply(self, v): return v * scale\nscale, f = 2, Model().apply", ns)
    exec("called = functools.lru_cache(f)", ns)
    session, cell = new_session(), "g = f\ny = x * called(3)"
    for _ in range(2):
        session.stage(cell, ns, StageOptions())
        assert close(ns["y"], ns["x"] * 6)
    exec("scale = 5; called.cache_clear()", ns)
    session.stage(cell, ns, StageOptions())
    assert close(ns["y"], ns["x"] * 15)
