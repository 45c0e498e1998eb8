"""Objects that hold other objects and can be changed in place: how each kind is saved, restored and written to.

Staging puts tracers into the user's own containers while it traces, and takes them out again; a failed cell puts back
what its statements changed. Both need the same three operations for each kind of holder:

    save(holder) -> state      what it holds now, as a list of (key, child) pairs
    put(holder, key, child)    replaces one child
    restore(holder, state)     makes it hold what it held
"""

from __future__ import annotations

import array
import contextvars
import functools
import types
from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from jaxnb.staging.cells.referents import contents_of, objects_of, slot_descriptors, slots_by_name, slots_of, state_of

__all__ = [
    "ABSENT",
    "BUFFERS",
    "Change",
    "ModuleAttributes",
    "Mutable",
    "State",
    "mutable_of",
    "same_state",
]

State = list[tuple[Any, Any]]


ABSENT: Any = object()
"""Stands for a child that is not there."""


class Change(NamedTuple):
    """What a piece does to a holder.

    Attributes:
      children: what it holds then under which key; all of it if `whole`.
      gone: the keys that are deleted.
      whole: whether everything is replaced.
    """

    children: State
    gone: list[Any]
    whole: bool


class Mutable:
    """One kind of holder; the subclasses are stateless and shared.

    Attributes:
      keyed: whether children are put and deleted one by one, the others staying where they are.
    """

    keyed = False

    def save(self, holder: Any) -> State:
        """What it holds, as pairs of key and child, in its own order."""
        raise NotImplementedError

    def put(self, holder: Any, key: Any, child: Any) -> None:
        """Replaces the child under `key`."""
        raise NotImplementedError

    def restore(self, holder: Any, state: State) -> None:
        """Makes it hold exactly what `state` says."""
        raise NotImplementedError

    def change(self, before: State, after: State) -> Change:
        """What leads from one state to another: children under their keys where that is all, else everything."""
        if not self.keyed:
            return Change(after, [], True)
        old, new = dict(before), dict(after)
        kept = [key for key in old if key in new]
        if kept + [key for key in new if key not in old] != list(new):
            return Change(after, [], True)  # a key has moved
        changed = [(key, child) for key, child in after if key not in old or old[key] is not child]
        return Change(changed, [key for key in old if key not in new], False)

    def apply(self, holder: Any, change: Change) -> None:
        """Does a change to a holder that may hold other children than the one that it was found on."""
        if change.whole:
            self.restore(holder, change.children)
            return
        for key in change.gone:
            self.delete(holder, key)
        for key, child in change.children:
            self.put(holder, key, child)

    def delete(self, holder: Any, key: Any) -> None:
        """Removes the child under `key`."""
        raise NotImplementedError

    def get(self, holder: Any, key: Any) -> Any:
        """The child under `key`, or `ABSENT`; for kinds that are keyed."""
        return dict(self.save(holder)).get(key, ABSENT)


class _List(Mutable):
    def save(self, holder: list[Any]) -> State:
        return list(enumerate(list.__iter__(holder)))

    def put(self, holder: list[Any], key: int, child: Any) -> None:
        list.__setitem__(holder, key, child)

    def change(self, before: State, after: State) -> Change:
        if len(before) != len(after):
            return Change(after, [], True)
        pairs = zip(before, after, strict=True)
        return Change([new for old, new in pairs if old[1] is not new[1]], [], False)

    def restore(self, holder: list[Any], state: State) -> None:
        list.__setitem__(holder, slice(None), [child for _, child in state])


class _Grown(Mutable):
    """A list that is only appended to: its state is its length, and what is new is what stands behind that."""

    def save(self, holder: list[Any]) -> State:
        return [(len(holder), None)]

    def restore(self, holder: list[Any], state: State) -> None:
        list.__delitem__(holder, slice(state[0][0], None))

    def apply(self, holder: list[Any], change: Change) -> None:
        """Appends the children."""
        list.extend(holder, [child for _, child in change.children])


class _Deque(Mutable):
    def save(self, holder: deque[Any]) -> State:
        return list(enumerate(deque.__iter__(holder)))

    def put(self, holder: deque[Any], key: int, child: Any) -> None:
        deque.__setitem__(holder, key, child)

    def restore(self, holder: deque[Any], state: State) -> None:
        deque.clear(holder)
        deque.extend(holder, (child for _, child in state))


class _Dict(Mutable):
    keyed = True

    def save(self, holder: dict[Any, Any]) -> State:
        return list(dict.items(holder))

    def delete(self, holder: dict[Any, Any], key: Any) -> None:
        dict.__delitem__(holder, key)

    def get(self, holder: dict[Any, Any], key: Any) -> Any:
        return dict.get(holder, key, ABSENT)

    def put(self, holder: dict[Any, Any], key: Any, child: Any) -> None:
        dict.__setitem__(holder, key, child)

    def restore(self, holder: dict[Any, Any], state: State) -> None:
        dict.clear(holder)
        dict.update(holder, state)


class ModuleAttributes(_Dict):
    """The `__dict__` of a library's module, of which only these names are looked at.

    Args:
      names: which.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = sorted(names)

    def save(self, holder: dict[Any, Any]) -> State:
        return [(name, holder[name]) for name in self._names if name in holder]

    def restore(self, holder: dict[Any, Any], state: State) -> None:
        saved = dict(state)
        for name in self._names:
            if name in saved:
                holder[name] = saved[name]
            else:
                holder.pop(name, None)

    def change(self, before: State, after: State) -> Change:
        """The names that are bound otherwise, and those that are gone."""
        old, new = dict(before), dict(after)
        changed = [(name, child) for name, child in after if old.get(name, ABSENT) is not child]
        return Change(changed, [name for name in old if name not in new], False)


class _OrderedDict(_Dict):
    keyed = False

    def save(self, holder: Any) -> State:
        return list(OrderedDict.items(holder))

    def restore(self, holder: Any, state: State) -> None:
        OrderedDict.clear(holder)
        for key, child in state:
            OrderedDict.__setitem__(holder, key, child)


class _Set(Mutable):
    def save(self, holder: set[Any]) -> State:
        return list(enumerate(set.__iter__(holder)))

    def change(self, before: State, after: State) -> Change:
        """What is gone, by False, and what is added, by True: as with Python, the others stay where they are."""
        old, new = ({id(child) for _, child in state} for state in (before, after))
        kept = [child for _, child in before if id(child) in new]
        if new <= old and not all(a is b for a, (_, b) in zip(kept, after, strict=True)):
            return Change(after, [], True)
        gone = [(False, child) for _, child in before if id(child) not in new]
        return Change(gone + [(True, child) for _, child in after if id(child) not in old], [], False)

    def apply(self, holder: set[Any], change: Change) -> None:
        if change.whole:
            self._fill(holder, change.children)
            return
        for added, child in change.children:
            (set.add if added else set.discard)(holder, child)

    def restore(self, holder: set[Any], state: State) -> None:
        """In the same order, if that can be had: it depends on what was added and taken away before."""
        if same_state(self.save({child for _, child in state}), state):
            self._fill(holder, state)
        elif same_state(self.save({child for _, child in state[::-1]}), state):
            self._fill(holder, state[::-1])
        else:
            self.apply(holder, self.change(self.save(holder), state))

    def _fill(self, holder: set[Any], state: State) -> None:
        set.clear(holder)
        set.update(holder, [child for _, child in state])


BUFFERS = (bytearray, array.array)
"""Classes of what holds plain numbers and can be changed in place, NumPy's arrays aside."""


class _Buffer(Mutable):
    """A bytearray, an `array.array` or a NumPy array that is static: its state is its bytes."""

    def save(self, holder: Any) -> State:
        return [(holder.tobytes() if isinstance(holder, np.ndarray) else memoryview(holder).tobytes(), None)]

    def restore(self, holder: Any, state: State) -> None:
        content = state[0][0]
        if isinstance(holder, np.ndarray):
            holder[...] = np.frombuffer(content, holder.dtype).reshape(holder.shape)
        elif isinstance(holder, bytearray):
            bytearray.__setitem__(holder, slice(None), content)
        else:
            array.array.__delitem__(holder, slice(None))
            array.array.frombytes(holder, content)


class _Objects(_List):
    """A NumPy array of objects."""

    def save(self, holder: Any) -> State:
        return list(objects_of(holder))

    def put(self, holder: Any, key: Any, child: Any) -> None:
        if key == ():
            holder.fill(child)  # an assignment would take an array apart
        else:
            holder[key] = child

    def change(self, before: State, after: State) -> Change:
        same_shape = [key for key, _ in before] == [key for key, _ in after]
        return super().change(before, after) if same_shape else Change(after, [], True)

    def restore(self, holder: Any, state: State) -> None:
        if [place for place, _ in objects_of(holder)] != [place for place, _ in state]:
            holder.resize(tuple(np.atleast_1d(state[-1][0]) + 1), refcheck=False)
        for place, child in state:
            self.put(holder, place, child)


class _Cell(Mutable):
    keyed = True

    def save(self, holder: types.CellType) -> State:
        return [(None, child) for child in contents_of(holder)]

    def put(self, holder: types.CellType, key: Any, child: Any) -> None:
        holder.cell_contents = child

    def delete(self, holder: types.CellType, key: Any) -> None:
        del holder.cell_contents

    def restore(self, holder: types.CellType, state: State) -> None:
        if state:
            holder.cell_contents = state[0][1]
        elif self.save(holder):
            del holder.cell_contents


_OF_FUNCTIONS = ("__defaults__", "__kwdefaults__", "__doc__", "__name__", "__qualname__", "__module__")
"""Without `__annotations__`, which would be made by asking for them."""


class _Function(Mutable):
    def save(self, holder: types.FunctionType) -> State:
        return [(name, getattr(holder, name)) for name in _OF_FUNCTIONS]

    def put(self, holder: types.FunctionType, key: str, child: Any) -> None:
        setattr(holder, key, child)

    def restore(self, holder: types.FunctionType, state: State) -> None:
        for key, child in state:
            setattr(holder, key, child)


class _Partial(Mutable):
    def save(self, holder: functools.partial[Any]) -> State:
        return [("args", holder.args), ("__dict__", state_of(holder))]

    def put(self, holder: functools.partial[Any], key: str, child: Any) -> None:
        state = {**dict(self.save(holder)), key: child}
        holder.__setstate__((holder.func, state["args"], holder.keywords, state["__dict__"]))  # type: ignore[attr-defined]

    def restore(self, holder: functools.partial[Any], state: State) -> None:
        for key, child in state:
            self.put(holder, key, child)


class _Class(Mutable):
    keyed = True

    def save(self, holder: type) -> State:
        return [(key, child) for key, child in vars(holder).items() if key not in ("__dict__", "__weakref__")]

    def put(self, holder: type, key: str, child: Any) -> None:
        type.__setattr__(holder, key, child)

    def delete(self, holder: type, key: str) -> None:
        type.__delattr__(holder, key)

    def restore(self, holder: type, state: State) -> None:
        now, saved = dict(self.save(holder)), dict(state)
        for key in now.keys() - saved.keys():
            type.__delattr__(holder, key)
        for key, child in state:
            if now.get(key, self) is not child:
                type.__setattr__(holder, key, child)


class _Slots(Mutable):
    """An object with `__slots__`; written through the descriptors, so that frozen classes can be restored too."""

    keyed = True

    def save(self, holder: Any) -> State:
        return list(slots_of(holder))

    def put(self, holder: Any, key: str, child: Any) -> None:
        slots_by_name(type(holder))[key].__set__(holder, child)

    def delete(self, holder: Any, key: str) -> None:
        slots_by_name(type(holder))[key].__delete__(holder)

    def get(self, holder: Any, key: str) -> Any:
        try:
            return slots_by_name(type(holder))[key].__get__(holder)
        except AttributeError:
            return ABSENT

    def restore(self, holder: Any, state: State) -> None:
        saved, now = dict(state), dict(self.save(holder))  # `hasattr` would ask what hides a slot, as a property does
        for name, descriptor in slot_descriptors(type(holder)):
            if name in saved:
                descriptor.__set__(holder, saved[name])
            elif name in now:
                descriptor.__delete__(holder)


class _Context(Mutable):
    """A `contextvars.ContextVar`, in the context that the cell runs in."""

    keyed = True

    def save(self, holder: contextvars.ContextVar[Any]) -> State:
        try:
            return [(None, holder.get())]
        except LookupError:
            return []

    def put(self, holder: contextvars.ContextVar[Any], key: Any, child: Any) -> None:
        holder.set(child)

    def restore(self, holder: contextvars.ContextVar[Any], state: State) -> None:
        if state and not same_state(self.save(holder), state):
            holder.set(state[0][1])


LIST, GROWN_LIST, DICT, ORDERED, SET, DEQUE = _List(), _Grown(), _Dict(), _OrderedDict(), _Set(), _Deque()
CELL, FUNCTION, PARTIAL, CLASS, SLOTS, BUFFER = _Cell(), _Function(), _Partial(), _Class(), _Slots(), _Buffer()
OBJECTS, CONTEXT = _Objects(), _Context()


def same_state(a: State, b: State) -> bool:
    """Whether two states of a holder are the same: equal keys, and the very same children."""
    return len(a) == len(b) and all(x[1] is y[1] and (x[0] is y[0] or x[0] == y[0]) for x, y in zip(a, b, strict=True))


def mutable_of(value: Any) -> Mutable | None:
    """The kind of a container that can be changed in place, or None."""
    if isinstance(value, list):
        return LIST
    if isinstance(value, dict):
        return ORDERED if hasattr(type(value), "move_to_end") else DICT
    if isinstance(value, set):
        return SET
    if isinstance(value, deque):
        return DEQUE
    return None
