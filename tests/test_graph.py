"""The walk over what a cell reaches: its leaves, its key, and where everything is held."""

from __future__ import annotations

import copy
import dataclasses
import functools
import types
from collections import deque, namedtuple
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from jaxnb.errors import Refused
from jaxnb.staging.cells.code import Sees, names_of
from jaxnb.staging.objects.graph import Scan
from jaxnb.staging.objects.paths import Choices, render_path, root_name
from jaxnb.staging.objects.slots import Slots

TESTED = settings(max_examples=200, deadline=None, database=None, print_blob=True)
X, Y = jnp.ones(3), jnp.zeros((2, 2), jnp.int32)
Point = namedtuple("Point", "a b")


class Holds:
    def __init__(self, a: Any) -> None:
        self.a = a

    def method(self) -> Any:
        return self.a


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a: Any) -> None:
        self.a = a


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any


class MyList(list[Any]):
    pass


def scan(value: Any, *, text: str = "v", slots: Slots | None = None, **options: Any) -> Scan:
    return scan_names({"__name__": "__main__", "v": value}, text, slots=slots, **options)


def scan_names(ns: dict[str, Any], text: str, choices: Choices | None = None, **options: Any) -> Scan:
    names = names_of(compile(text, "<test>", "exec"))
    return Scan(ns, names.order, (names,), choices or Choices(), **options)


def closure(value: Any) -> Any:
    return lambda: value


def default(value: Any) -> Any:
    def function(k: Any = value) -> Any:
        return k

    return function


# --- leaves and their paths ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda x: x, "v"),
        (lambda x: [0, x], "v[1]"),
        (lambda x: (0, (x,)), "v[1][0]"),
        (lambda x: Point(1, x), "v.b"),
        (lambda x: {"w1": x}, "v['w1']"),
        (lambda x: {3: {(1, 2): x}}, "v[3][1, 2]"),
        (lambda x: deque([x]), "v[0]"),
        (lambda x: MyList([x]), "v[0]"),
        (Holds, "v.a"),
        (Slotted, "v.a"),
        (Frozen, "v.a"),
        (lambda x: types.SimpleNamespace(cfg={"n": [x]}), "v.cfg['n'][0]"),
        (closure, "value (closure of v)"),
        (default, "v (defaults)[0]"),
        (lambda x: functools.partial(print, 1, x), "v.args[1]"),
        (lambda x: functools.partial(print, file=x), "v.keywords['file']"),
        (lambda x: Holds(x).method, "v.__self__.a"),
        (lambda x: jax.jit(closure(x)), "value (closure of v.__wrapped__)"),
        (lambda x: [functools.partial(closure([x]))], "value (closure of v[0].func)[0]"),
        (lambda x: type("C", (), {"k": x}), "v.k"),
    ],
)
def test_an_array_is_a_leaf_wherever_it_is_held(make: Callable[[Any], Any], path: str) -> None:
    for leaf in (X, np.ones(2), np.float32(1), 1.5, 2j):
        found = scan(make(leaf))
        assert [render_path(p) for p in found.paths] == [path] and len(found.leaves) == 1 and found.leaves[0] is leaf
        assert root_name(found.paths[0]) == "v"


def test_what_helpers_read_is_a_leaf_too(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("own_of_graph")
    module.__file__ = "/somewhere/own_of_graph.py"
    exec("def f(a): return a * k + g(a)\ndef g(a): return j", vars(module))
    vars(module).update(k=X, j=[Y], unread=X + 1)
    ns: dict[str, Any] = {"__name__": "__main__", "own": module, "x": X + 2, "unread": Y}
    exec("def helper(): return own.f(w)\nw = 2.5", ns)
    found = scan_names(ns, "helper() + x")
    assert [render_path(path) for path in found.paths] == ["own_of_graph.j[0]", "own_of_graph.k", "w", "x"]
    assert found.namespaces == [vars(module)] and found.held_by_functions


@pytest.mark.parametrize(
    "value", [3, True, "s", None, b"b", slice(1), jnp.float32, np.dtype("f4"), print, np.array(["a"])]
)
def test_what_is_no_number_of_jax_is_part_of_the_key(value: Any) -> None:
    assert scan([value]).leaves == [] and scan([value]).parts == scan([copy.copy(value)]).parts


def test_ints_and_floats_follow_the_choices() -> None:
    ns = {"__name__": "__main__", "n": 3, "c": 0.5, "x": X}
    choices = Choices()
    assert [render_path(p) for p in scan_names(ns, "n, c, x", choices).paths] == ["c", "x"]
    choices.dynamic.add((None, "name", "n"))
    choices.make_static([(None, "name", "c"), (None, "name", "x")])
    assert [render_path(p) for p in scan_names(ns, "n, c, x", choices).paths] == ["n", "x"]  # of numbers only
    choices.hold([(None, "name", "x")])
    assert [render_path(p) for p in scan_names(ns, "n, c, x", choices).paths] == ["n"]
    ns["n"] = 2**40  # not an int32: a value again
    assert scan_names(ns, "n, c, x", choices).paths == []


def test_a_leaf_held_twice_is_one_leaf_in_two_places() -> None:
    slots = Slots()
    box = [X, {"k": X}]
    found = scan(box, slots=slots)
    assert found.leaves == [X]
    assert [(slot.owner is box, slot.key) for slot in slots.leaves[0]] == [(True, 0), (False, "k")]


def test_a_leaked_tracer_and_too_deep_a_structure_are_refused() -> None:
    kept: list[Any] = []
    jax.jit(lambda a: kept.append(a) or a)(X)
    with pytest.raises(Refused, match=r"`v\[0\]` is a tracer that leaked"):
        scan(kept)
    deep: list[Any] = []
    for _ in range(3_000):
        deep = [deep]
    with pytest.raises(Refused, match="nested too deeply"):
        scan(deep)


# --- the key -------------------------------------------------------------------------------------------------------

BASE: dict[str, Any] = {"x": X, "n": 2, "c": 0.5, "a": np.ones(2), "d": {"p": 1, "q": [Y]}, "s": "s", "o": Holds(1)}
SAME_KEY = {
    "values of arrays": {"x": X + 1, "d": {"p": 1, "q": [Y + 1]}},
    "value of a float": {"c": 0.75},
    "values of NumPy": {"a": np.zeros(2)},
    "another object of the same content": {"d": {"p": 1, "q": [Y + 0]}, "o": Holds(1)},
}
OTHER_KEY = {
    "dtype": {"x": X.astype(jnp.bfloat16)},
    "shape": {"x": jnp.ones(4)},
    "weak type": {"x": jax.lax.broadcast(jnp.asarray(1.0), (3,))},
    "committed": {"x": jax.device_put(X, jax.devices("cpu")[1])},
    "NumPy": {"x": np.ones(3, np.float32)},
    "NumPy dtype": {"a": np.ones(2, np.int32)},
    "int": {"n": 3},
    "attribute": {"o": Holds(2)},
    "class": {"o": Frozen(1)},
    "alias": {"d": {"p": 1, "q": [X]}},
}


def key_of(changes: dict[str, Any]) -> list[Any]:
    return scan_names({"__name__": "__main__", **BASE, **changes}, "x, n, c, a, d, s, o").parts


@pytest.mark.parametrize("what", SAME_KEY)
def test_values_of_inputs_do_not_change_the_key(what: str) -> None:
    assert key_of(SAME_KEY[what]) == key_of({})


@pytest.mark.parametrize("what", OTHER_KEY)
def test_everything_else_changes_the_key(what: str) -> None:
    assert key_of(OTHER_KEY[what]) != key_of({})


def test_functions_and_classes_count_by_content() -> None:
    def key(text: str) -> list[Any]:
        ns: dict[str, Any] = {"__name__": "__main__", "x": X}
        exec(text, ns)
        return scan_names(ns, "f, C").parts

    text = "def f(a, k=1): return a * x\nclass C:\n    n = 4\n    def m(self): return 5"
    assert key("# why\n\n" + text) == key(text)
    edits = [
        ("* x", "+ x"),
        ("k=1", "k=2"),
        ("n = 4", "n = 3"),
        ("return 5", "return 6"),
        ("k=1", "*, k=1"),
        ("n =", "o ="),
    ]
    assert all(key(text.replace(*edit)) != key(text) for edit in edits)


def test_the_order_of_a_dict_and_identity_count_only_where_they_can_be_seen() -> None:
    one, other = {"a": X, "b": Y}, {"b": Y, "a": X}
    assert scan(one, sees=0).parts == scan(other, sees=0).parts and scan(one).parts != scan(other).parts
    assert [leaf.shape for leaf in scan(other, sees=0).leaves] == [(3,), (2, 2)]
    assert scan([X, X], sees=0).parts == scan([X, X + 1], sees=0).parts
    assert scan([X, X]).parts != scan([X, X + 1]).parts
    assert scan([1], text="for i in v: pass").sees & Sees.ORDER and not scan([1], text="v[0]").sees
    assert scan([1], text="v is x").sees == Sees.IDENTITY and not scan([1], text="v == x").sees


ARRAYS = [X, Y, X + 1]
LEAVES = st.one_of(st.sampled_from(ARRAYS), st.integers(0, 2), st.just(0.5), st.sampled_from(["a", None, True]))


def nest(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    several = st.lists(inner, max_size=3)
    one = st.sampled_from([closure, default, Holds, Slotted, Frozen, jax.jit, functools.partial])
    wrap = st.builds(lambda make, v: make(closure(v)) if make in (jax.jit, functools.partial) else make(v), one, inner)
    shared = inner.map(lambda item: [item, item])
    return st.one_of(several, several.map(tuple), st.dictionaries(st.sampled_from("abc"), inner), wrap, shared)


@TESTED
@given(st.recursive(LEAVES, nest, max_leaves=10), st.booleans(), st.booleans())
def test_a_walk_is_the_same_with_and_without_slots(value: Any, ordered: bool, identity: bool) -> None:
    options = {"sees": Sees.ORDER * ordered | Sees.IDENTITY * identity}
    slots = Slots()
    plain, slotted, again = scan(value, **options), scan(value, slots=slots, **options), scan(value, **options)
    assert plain.parts == slotted.parts == again.parts and plain.paths == slotted.paths
    assert [*map(id, plain.leaves)] == [*map(id, slotted.leaves)]
    assert [*map(type, plain.nodes)] == [*map(type, slotted.nodes)]
    assert len(slots.leaves) == len(slotted.leaves)
    for places, leaf in zip(slots.leaves, slotted.leaves):
        assert all(dict(slot.holder.save(slot.owner))[slot.key] is leaf for slot in places)
