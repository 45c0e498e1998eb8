"""Objects that hold other objects and can be changed in place: how each kind is saved, restored and written to.

Staging puts tracers into the user's own containers while it traces, and takes them out again; a failed cell puts back
what its statements changed. Both need the same three operations for each kind of holder:

    save(holder) -> state      what it holds now, as a list of (key, child) pairs
    put(holder, key, child)    replaces one child
    restore(holder, state)     makes it hold what it held
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxnb.code import names_of
from jaxnb.reach import is_library, is_user_function

__all__ = ["Change", "Holder", "Journal", "holder_of", "slot_descriptors"]

State = list[tuple[Any, Any]]


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


class Holder:
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
        stay = [key for key, _ in before if key in new]
        if stay != [key for key, _ in after if key in old]:
            return Change(after, [], True)
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


class _List(Holder):
    def save(self, holder: list[Any]) -> State:
        return list(enumerate(holder))

    def put(self, holder: list[Any], key: int, child: Any) -> None:
        list.__setitem__(holder, key, child)

    def change(self, before: State, after: State) -> Change:
        if len(before) != len(after):
            return Change(after, [], True)
        pairs = zip(before, after, strict=True)
        return Change([new for old, new in pairs if old[1] is not new[1]], [], False)

    def restore(self, holder: list[Any], state: State) -> None:
        list.__setitem__(holder, slice(None), [child for _, child in state])


class _Grown(Holder):
    """A list that is only appended to: its state is its length, and what is new is what stands behind that."""

    def save(self, holder: list[Any]) -> State:
        return [(len(holder), None)]

    def restore(self, holder: list[Any], state: State) -> None:
        list.__delitem__(holder, slice(state[0][0], None))

    def apply(self, holder: list[Any], change: Change) -> None:
        """Appends the children."""
        list.extend(holder, [child for _, child in change.children])


class _Deque(Holder):
    def save(self, holder: deque[Any]) -> State:
        return list(enumerate(holder))

    def put(self, holder: deque[Any], key: int, child: Any) -> None:
        holder[key] = child

    def restore(self, holder: deque[Any], state: State) -> None:
        holder.clear()
        holder.extend(child for _, child in state)


class _Dict(Holder):
    keyed = True

    def save(self, holder: dict[Any, Any]) -> State:
        return list(dict.items(holder))

    def delete(self, holder: dict[Any, Any], key: Any) -> None:
        dict.__delitem__(holder, key)

    def put(self, holder: dict[Any, Any], key: Any, child: Any) -> None:
        dict.__setitem__(holder, key, child)

    def restore(self, holder: dict[Any, Any], state: State) -> None:
        dict.clear(holder)
        dict.update(holder, state)


class _OrderedDict(_Dict):
    keyed = False

    def save(self, holder: Any) -> State:
        return list(holder.items())

    def restore(self, holder: Any, state: State) -> None:
        holder.clear()
        for key, child in state:
            holder[key] = child


class _Set(Holder):
    def save(self, holder: set[Any]) -> State:
        return [(item, item) for item in holder]

    def restore(self, holder: set[Any], state: State) -> None:
        holder.clear()
        holder.update(item for item, _ in state)


class _Cell(Holder):
    keyed = True

    def save(self, holder: types.CellType) -> State:
        try:
            return [(None, holder.cell_contents)]
        except ValueError:
            return []

    def put(self, holder: types.CellType, key: Any, child: Any) -> None:
        holder.cell_contents = child

    def delete(self, holder: types.CellType, key: Any) -> None:
        del holder.cell_contents

    def restore(self, holder: types.CellType, state: State) -> None:
        if state:
            holder.cell_contents = state[0][1]
        elif self.save(holder):
            del holder.cell_contents


class _Function(Holder):
    def save(self, holder: types.FunctionType) -> State:
        return [("__defaults__", holder.__defaults__)]

    def put(self, holder: types.FunctionType, key: str, child: Any) -> None:
        setattr(holder, key, child)

    def restore(self, holder: types.FunctionType, state: State) -> None:
        for key, child in state:
            setattr(holder, key, child)


class _Partial(Holder):
    def save(self, holder: functools.partial[Any]) -> State:
        return [("args", holder.args)]

    def put(self, holder: functools.partial[Any], key: str, child: Any) -> None:
        holder.__setstate__((holder.func, child, holder.keywords, holder.__dict__))  # type: ignore[attr-defined]

    def restore(self, holder: functools.partial[Any], state: State) -> None:
        self.put(holder, "args", state[0][1])


class _Class(Holder):
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


class _Slots(Holder):
    """An object with `__slots__`; written through the descriptors, so that frozen classes can be restored too."""

    keyed = True

    def save(self, holder: Any) -> State:
        pairs: State = []
        for name, descriptor in slot_descriptors(type(holder)):
            try:
                pairs.append((name, descriptor.__get__(holder)))
            except AttributeError:
                continue
        return pairs

    def put(self, holder: Any, key: str, child: Any) -> None:
        dict(slot_descriptors(type(holder)))[key].__set__(holder, child)

    def delete(self, holder: Any, key: str) -> None:
        dict(slot_descriptors(type(holder)))[key].__delete__(holder)

    def restore(self, holder: Any, state: State) -> None:
        saved = dict(state)
        for name, descriptor in slot_descriptors(type(holder)):
            if name in saved:
                descriptor.__set__(holder, saved[name])
            elif hasattr(holder, name):
                descriptor.__delete__(holder)


@functools.lru_cache(maxsize=4096)
def slot_descriptors(kind: type) -> tuple[tuple[str, Any], ...]:
    """The slots of a class by name, base classes first."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        for name, item in vars(base).items():
            if isinstance(item, types.MemberDescriptorType) and "__slots__" in vars(base):
                found[name] = item
    return tuple(found.items())


LIST, GROWN_LIST, DICT, ORDERED, SET, DEQUE = _List(), _Grown(), _Dict(), _OrderedDict(), _Set(), _Deque()
CELL, FUNCTION, PARTIAL, CLASS, SLOTS = _Cell(), _Function(), _Partial(), _Class(), _Slots()


def holder_of(value: Any) -> Holder | None:
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


class Journal:
    """What objects held before statements ran that may change them.

    `protect` saves what is reachable from a value that Python code may change in any way, `record` what one holder
    holds that is about to be changed; `undo` puts everything back that differs.
    """

    def __init__(self) -> None:
        self._saved: dict[int, tuple[Any, Callable[[], None]]] = {}
        self._changes: list[tuple[Any, Holder, State]] = []

    def record(self, owner: Any, holder: Holder) -> None:
        """Saves what one holder holds, before a piece changes it in place."""
        self._changes.append((owner, holder, holder.save(owner)))

    def protect(self, value: Any) -> None:
        """Saves every container, NumPy array and object that is reachable from `value`, also through functions.

        The containers are saved as they are, not copied deeply; a NumPy array is copied.
        """
        stack = [value]
        seen: set[int] = set()
        while stack:
            item = stack.pop()
            if id(item) in self._saved or isinstance(item, str | bytes | int | float | types.ModuleType | type(None)):
                continue
            if isinstance(item, np.ndarray):
                self._save_array(item)
            elif isinstance(item, bytearray):
                self._saved[id(item)] = (item, functools.partial(item.__setitem__, slice(None), bytes(item)))
            elif (holder := holder_of(item)) is not None:
                stack.extend(self._save(item, holder))
            elif isinstance(item, tuple | frozenset):
                stack.extend(item)
            elif isinstance(item, types.CellType):
                stack.extend(self._save(item, CELL))
            elif isinstance(item, types.FunctionType):
                stack.extend(item.__closure__ or ())
                stack.extend(item.__defaults__ or ())
                if is_user_function(item) and id(item) not in seen:
                    seen.add(id(item))
                    read = names_of(item.__code__).reads & item.__globals__.keys()
                    stack.extend(item.__globals__[name] for name in read - {"__builtins__"})
            elif isinstance(item, types.MethodType):
                stack.append(item.__self__)
            if not isinstance(item, type) and isinstance(state := getattr(item, "__dict__", None), dict):
                stack.extend(self._save(state, DICT))
            if not isinstance(item, type) and not is_library(type(item).__module__) and slot_descriptors(type(item)):
                stack.extend(self._save(item, SLOTS))

    def _save(self, item: Any, holder: Holder) -> list[Any]:
        if id(item) in self._saved:
            return []
        state = holder.save(item)

        def undo() -> None:
            now = holder.save(item)
            same = len(now) == len(state) and all(a is c and b is d for (a, b), (c, d) in zip(now, state, strict=True))
            if not same:
                holder.restore(item, state)

        self._saved[id(item)] = (item, undo)
        return [child for _, child in state]

    def _save_array(self, array: np.ndarray[Any, Any]) -> None:
        copy = array.copy()

        def undo() -> None:
            if array.flags.writeable and not _same_bytes(array, copy):
                array[...] = copy

        self._saved[id(array)] = (array, undo)

    def undo(self) -> None:
        """Puts back what was saved."""
        for owner, holder, state in reversed(self._changes):
            holder.restore(owner, state)
        for _, restore in reversed(list(self._saved.values())):
            restore()


def _same_bytes(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
