"""Holders give back what they held, and a journal undoes whatever was done to what it protects."""

from __future__ import annotations

import dataclasses
import functools
import io
import logging
import threading
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from jaxnb.staging.cells.referents import slot_descriptors
from jaxnb.staging.objects import mutables
from jaxnb.staging.objects.journal import Journal
from jaxnb.staging.objects.mutables import Mutable, mutable_of

TESTED = settings(max_examples=60, deadline=None, database=None, print_blob=True)


class MyDict(dict[Any, Any]):
    def __setitem__(self, key: Any, value: Any) -> None:
        raise AssertionError("the class's own assignment was used")

    def __iter__(self) -> Any:
        return iter(())


class MyList(list[Any]):
    pass


class Slotted:
    __slots__ = ("a", "b", "c")


class Below(Slotted):
    __slots__ = ("d",)


class Hidden(Slotted):
    """Hides a slot behind a property, as `pathlib.PurePath` does from Python 3.13 on."""

    __slots__ = ()

    @property
    def c(self) -> int:
        return 1


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any
    b: Any


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenSlots:
    a: Any
    b: Any


class Namespace:
    a: Any = 0
    b: Any = 0

    def method(self) -> int:
        return 1


def slotted(kind: type, items: list[Any]) -> Any:
    made = kind()
    for name, item in zip("abcd" if kind is Below else "abc", items):
        setattr(made, name, item)
    return made


def hidden(items: list[Any]) -> Any:
    made = Hidden()
    for name, item in zip("abc", items):
        vars(Slotted)[name].__set__(made, item)
    return made


def make_class(items: list[Any]) -> type:
    return type("Made", (Namespace,), {f"k{i}": item for i, item in enumerate(items)})


def make_function(items: list[Any]) -> Any:
    def function(*args: Any) -> Any:
        return args

    function.__defaults__ = tuple(items) or None
    return function


Make = Callable[[list[Any]], Any]
KINDS: dict[str, tuple[Make, Mutable]] = {
    "list": (list, mutables.LIST),
    "MyList": (MyList, mutables.LIST),
    "deque": (deque, mutables.DEQUE),
    "dict": (lambda items: dict(enumerate(items)), mutables.DICT),
    "MyDict": (lambda items: MyDict(enumerate(items)), mutables.DICT),
    "Counter": (lambda items: Counter(dict(enumerate(items))), mutables.DICT),
    "defaultdict": (lambda items: defaultdict(list, enumerate(items)), mutables.DICT),
    "OrderedDict": (lambda items: OrderedDict(enumerate(items)), mutables.ORDERED),
    "set": (set, mutables.SET),
    "cell": (lambda items: types.CellType(*items[:1]), mutables.CELL),
    "function": (make_function, mutables.FUNCTION),
    "partial": (lambda items: functools.partial(print, *items, end=""), mutables.PARTIAL),
    "class": (make_class, mutables.CLASS),
    "slots": (functools.partial(slotted, Slotted), mutables.SLOTS),
    "slots of a base": (functools.partial(slotted, Below), mutables.SLOTS),
    "slots behind a property": (hidden, mutables.SLOTS),
    "frozen slots": (lambda items: FrozenSlots(items, len(items)), mutables.SLOTS),
}
ITEMS = st.lists(st.integers() | st.text(max_size=3) | st.tuples(st.integers()), max_size=6)


def held(holder: Mutable, value: Any) -> list[tuple[Any, Any]]:
    own = ("__defaults__", "__kwdefaults__")
    state = [(key, child) for key, child in holder.save(value) if not str(key).startswith("__") or key in own]
    return [(child, child) for _, child in state] if holder is mutables.SET else state  # whose order is Python's affair


@pytest.mark.parametrize("kind", KINDS)
@TESTED
@given(items=ITEMS, others=ITEMS)
def test_restore_gives_back_what_was_saved(kind: str, items: list[Any], others: list[Any]) -> None:
    make, holder = KINDS[kind]
    value = make(items)
    state, before = holder.save(value), held(holder, value)
    other = holder.save(make(others))
    if kind != "class":  # of which `__doc__` and the like belong to the class
        holder.restore(value, other)
        assert dict(held(holder, value)) == dict(held(holder, make(others)))
    for key, _ in holder.save(value):
        if kind != "set" and not str(key).startswith("__"):
            holder.put(value, key, ("put",))
    holder.restore(value, state)
    after = held(holder, value)
    assert len(after) == len(before)
    if kind in ("set", "class"):  # the order of both is Python's affair
        before, after = sorted(before, key=repr), sorted(after, key=repr)
    assert all(k == l and a is b for (k, a), (l, b) in zip(before, after))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "set"])
@TESTED
@given(items=ITEMS.filter(bool), data=st.data())
def test_put_replaces_one_child_and_keeps_the_order(kind: str, items: list[Any], data: st.DataObject) -> None:
    make, holder = KINDS[kind]
    value, new = make(items), (object(),)
    before = held(holder, value)
    key = data.draw(st.sampled_from([key for key, _ in before if key != "__kwdefaults__"]))
    holder.put(value, key, new)
    assert held(holder, value) == [(k, new if k == key else child) for k, child in before]


@TESTED
@given(st.permutations(range(5)), st.permutations(range(5)))
def test_an_ordered_dict_gets_its_order_back(one: list[int], other: list[int]) -> None:
    value = OrderedDict((key, -key) for key in one)
    state = mutables.ORDERED.save(value)
    for key in other:
        value.move_to_end(key)
    value[9] = 9
    mutables.ORDERED.restore(value, state)
    assert list(value.items()) == [(key, -key) for key in one] and list(reversed(value)) == one[::-1]


CONTENT = st.dictionaries(st.integers(0, 6), st.integers())


@TESTED
@given(CONTENT, CONTENT, CONTENT)
def test_a_change_of_a_dict_is_done_to_another_dict(old: dict[int, int], new: dict[int, int], more: Any) -> None:
    value, other = dict(old), {**more, **old}
    for key in [key for key in old if key not in new]:
        del value[key]
    value.update(new)
    mutables.DICT.apply(other, mutables.DICT.change(list(old.items()), list(value.items())))
    assert other == {**{key: more[key] for key in more if key not in old}, **new}
    if not more:
        assert list(other) == list(value)


@TESTED
@given(CONTENT, st.randoms(use_true_random=False))
def test_a_dict_that_is_put_in_another_order_is_replaced_as_a_whole(content: dict[int, int], random: Any) -> None:
    before, after = list(content.items()), list(content.items())
    random.shuffle(after)
    change = mutables.DICT.change(before, after)
    assert change.whole is (before != after)
    value = dict(content)
    mutables.DICT.apply(value, change)
    assert list(value.items()) == after


@TESTED
@given(st.lists(st.integers()), st.lists(st.integers()))
def test_a_change_of_a_list_is_done_to_another_list(old: list[int], new: list[int]) -> None:
    change = mutables.LIST.change(list(enumerate(old)), list(enumerate(new)))
    other = list(old)
    mutables.LIST.apply(other, change)
    assert other == new and (len(old) != len(new) or not change.whole)


def test_a_grown_list_is_told_by_its_length() -> None:
    value = [1, 2]
    state = mutables.GROWN_LIST.save(value)
    mutables.GROWN_LIST.apply(value, mutables.Change([(None, 3), (None, 4)], [], False))
    assert value == [1, 2, 3, 4]
    mutables.GROWN_LIST.restore(value, state)
    assert value == [1, 2]


def test_which_containers_can_be_changed_in_place() -> None:
    for make, holder in (KINDS[kind] for kind in ("list", "MyList", "deque", "dict", "MyDict", "OrderedDict", "set")):
        assert mutable_of(make([])) is holder
    assert all(mutable_of(value) is None for value in ((), frozenset(), "a", 1, Slotted(), print, np.ones(2)))
    assert [name for name, _ in slot_descriptors(Below)] == ["a", "b", "c", "d"]


# --- the journal ---------------------------------------------------------------------------------------------------

LEAVES = st.integers() | st.text(max_size=2) | st.builds(lambda n: np.arange(float(n)), st.integers(0, 3))


def nest(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    children = st.lists(inner, max_size=3)
    return st.one_of(
        children,
        children.map(tuple),
        children.map(deque),
        children.map(MyList),
        st.dictionaries(st.sampled_from("abc"), inner),
        children.map(lambda items: MyDict(enumerate(items))),
        children.map(lambda items: OrderedDict(enumerate(items))),
        children.map(lambda items: slotted(Below, items)),
        st.builds(Frozen, inner, inner),
        st.builds(FrozenSlots, inner, inner),
        inner.map(lambda item: types.SimpleNamespace(a=item)),
        inner.map(lambda item: lambda: item),
        children.map(make_function),
        children.map(lambda items: bytearray(len(items) + 2)),
    )


def reachable(value: Any) -> list[Any]:
    """Everything with content that can be reached, in a fixed order; aliases and cycles once."""
    found: dict[int, Any] = {}
    stack = [value]
    while stack:
        item = stack.pop()
        if id(item) not in found and not isinstance(item, str | int):
            found[id(item)] = item
            stack.extend(child for _, child in content(item))
    return list(found.values())


def content(item: Any) -> list[tuple[Any, Any]]:
    if isinstance(item, np.ndarray | bytearray):
        return list(enumerate(item.tolist() if isinstance(item, np.ndarray) else item))
    if isinstance(item, types.FunctionType):
        return [("defaults", item.__defaults__ or ()), *enumerate(item.__closure__ or ())]
    pairs = list(enumerate(item)) if isinstance(item, tuple) else []
    holder = mutables.CELL if isinstance(item, types.CellType) else mutable_of(item)
    pairs += holder.save(item) if holder is not None else []
    return pairs + list(getattr(item, "__dict__", {}).items()) + mutables.SLOTS.save(item)


def spoil(item: Any, junk: Any) -> None:
    """Changes an object in place, as far as that can be done."""
    holder = mutables.CELL if isinstance(item, types.CellType) else mutable_of(item)
    if isinstance(item, np.ndarray | bytearray):
        item[:] = type(item)([7]) * len(item) if isinstance(item, bytearray) else 7
    elif holder is not None:
        holder.restore(item, [(0, junk)])
    elif slot_descriptors(type(item)) and not isinstance(item, types.FunctionType | tuple):
        mutables.SLOTS.restore(item, [("b", junk)])
    if not isinstance(item, types.FunctionType) and hasattr(item, "__dict__"):
        item.__dict__.clear()
        item.__dict__["junk"] = junk


@settings(TESTED, max_examples=200)
@given(st.recursive(LEAVES, nest, max_leaves=12), st.data())
def test_undo_restores_whatever_was_done(value: Any, data: st.DataObject) -> None:
    items = reachable(value)
    lists = [item for item in items if type(item) is list]
    for item in lists[:2]:  # aliases and cycles
        item.append(data.draw(st.sampled_from(items)))
    items = reachable(value)
    before = [(item, content(item)) for item in items]
    journal = Journal()
    journal.protect(value)
    for item in data.draw(st.permutations(items)):
        spoil(item, data.draw(st.sampled_from([0, items])))
    journal.undo()
    for item, state in before:
        for (key, child), (old, was) in zip(content(item), state, strict=True):
            assert key == old and (child is was or (isinstance(child, int | float | tuple) and child == was))


def test_what_a_piece_and_then_python_changed_is_undone_in_the_right_order() -> None:
    value = {"n": 0, "items": [1]}
    journal = Journal()
    for turn in (1, 2):
        journal.record(value, mutables.DICT)
        value["n"] = turn
    journal.protect(value)
    value["n"], value["more"] = 3, 4
    value["items"].append(2)  # type: ignore[attr-defined]
    journal.undo()
    assert value == {"n": 0, "items": [1]}


@pytest.mark.parametrize("held", ["a logger", "a stream", "a thread"])
def test_a_journal_follows_what_a_cell_reaches_and_not_what_runs_it(held: str) -> None:
    """From the stream of a logger the way leads to the kernel, and so to the names of the notebook."""

    class Stream(io.StringIO):
        pass

    stream, reached = Stream(), ["mine"]
    stream.kernel = [reached] * 3  # type: ignore[attr-defined]
    logger = logging.Logger("of a test")
    logger.addHandler(logging.StreamHandler(stream))
    thread = threading.Thread(target=reached.append)
    thread._stderr = stream  # type: ignore[attr-defined]
    journal = Journal()
    journal.protect({"a logger": logger, "a stream": stream, "a thread": thread}[held])
    logger.setLevel("DEBUG")
    reached.append("changed")
    journal.undo()
    assert (logger.level == 0) == (held == "a logger")
    assert (reached == ["mine"]) == (held == "a thread")
