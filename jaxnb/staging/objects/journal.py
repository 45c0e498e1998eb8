"""What objects held before a cell changed them, so that a cell that fails leaves everything as it was (rule 8)."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.runtime import home_of, identity, is_library, is_library_class, name_of
from jaxnb.staging.cells.code import CodeNames, Sees, names_of
from jaxnb.staging.cells.reach import ATOMS, is_user_function
from jaxnb.staging.cells.referents import slot_descriptors, state_of
from jaxnb.staging.objects.met import met_from
from jaxnb.staging.objects.modules import module_at
from jaxnb.staging.objects.mutables import (
    ABSENT,
    BUFFER,
    BUFFERS,
    CELL,
    CLASS,
    CONTEXT,
    DICT,
    FUNCTION,
    OBJECTS,
    PARTIAL,
    SLOTS,
    Change,
    ModuleAttributes,
    Mutable,
    State,
    mutable_of,
    same_state,
)
from jaxnb.staging.objects.process import process_back
from jaxnb.staging.objects.pytrees import leaves_of

__all__ = ["Journal", "restore_changed", "restore_names", "restore_shell"]


class Journal:
    """What objects held before statements ran that may change them.

    `protect` saves what is reachable from a value that Python code may change in any way, `record` what one holder
    holds that is about to be changed; `undo` puts everything back that differs.
    """

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}
        self._recorded: set[tuple[int, Any]] = set()
        self._undo: list[Callable[[], None]] = []
        self._has_process = False

    def record(self, owner: Any, holder: Mutable, change: Change | None = None) -> None:
        """Saves what one holder holds before a piece changes it in place: what will change, where that is known."""
        if change is None or change.whole or change.gone or not holder.keyed:
            key = (identity(owner), identity(holder))
            if key not in self._recorded:
                self._recorded.add(key)
                self._undo.append(functools.partial(holder.restore, owner, holder.save(owner)))
            return
        self.record_puts([(holder, owner, key, child) for key, child in change.children])

    def record_puts(self, puts: Iterable[tuple[Mutable, Any, Any, Any]]) -> None:
        """Saves what holders hold under the keys that get other children: holder, object, key and child of each."""
        recorded, undo = self._recorded, self._undo
        for holder, owner, key, _ in puts:
            place = (identity(owner), key)
            if place not in recorded:
                recorded.add(place)
                undo.append(functools.partial(_put_back, owner, holder, key, holder.get(owner, key)))

    def protect(self, value: Any) -> None:
        """Saves every container, buffer, object and class of the user that is reachable from `value`.

        The containers are saved as they are, not copied deeply; the bytes of NumPy arrays and buffers are copied.
        """
        for item in met_from(value, self._seen):
            if issubclass(type(item), jax.Array):
                continue
            if issubclass(type(item), types.ModuleType):
                if not is_library(name_of(item)):
                    self._undo.append(_kept(vars(item), ModuleAttributes(vars(item).keys())))
                own = [kind for kind in type(item).__mro__ if not is_library_class(kind)]
                self._undo.extend(_kept(kind, CLASS) for kind in own)
                continue
            self._undo.extend(_ways_back(item))
            if isinstance(item, types.FunctionType) and is_user_function(item):
                names, around = names_of(item.__code__), item.__globals__
                self._undo.append(_kept(around, ModuleAttributes(names.later_binds | names.deletes)))
                self._protect_modules(names, around)

    def protect_read(self, names: CodeNames, around: Mapping[str, Any]) -> None:
        """Saves what code may change by the names that it reads, and in the process.

        All names count where it looks them up as text.

        Args:
          names: of the code.
          around: where it reads its names.
        """
        reads = sorted(around if names.sees & Sees.NAMES else names.reads & around.keys())
        if not self._has_process and not all(type(around[name]) in _PLAIN for name in reads):
            self._has_process = True
            self._undo.append(process_back())
        for name in reads:
            if name != "__builtins__":
                self.protect(around[name])
        self._protect_modules(names, around)

    def _protect_modules(self, names: CodeNames, around: Mapping[str, Any]) -> None:
        """Saves what code reads of modules of the user's own, and what it assigns of modules of libraries."""
        own = [around[name] for name in names.reads & around.keys() if _is_own_module(around[name])]
        for module in own:  # which grows meanwhile
            held = state_of(module)
            for name in names.attributes & held.keys():
                value = held[name]
                if not _is_own_module(value):
                    self.protect(value)
                elif not any(value is other for other in own):
                    own.append(value)
        for chain in names.sets:
            owner = module_at(around.get(chain[0]), chain[1:-1])
            if owner is not None:
                self._undo.append(_kept(vars(owner), ModuleAttributes({chain[-1]})))

    def on_undo(self, back: Callable[[], None]) -> None:
        """Something else to be done when the cell fails."""
        self._undo.append(back)

    def deleted(self, values: Iterable[Any]) -> Iterator[jax.Array]:
        """The arrays that are deleted, among what would be put back and the leaves of other values."""
        leaves = (leaf for value in values for _, leaf in leaves_of(value))
        for item in itertools.chain(self._saved(), leaves):
            if _jax.is_concrete(item) and item.is_deleted():
                yield item

    def _saved(self) -> Iterator[Any]:
        """What would be put back: objects, and the states of their holders, of which only pairs hold anything."""
        for back in self._undo:
            for item in back.args if isinstance(back, functools.partial) else ():
                yield from (
                    (pair[1] for pair in item if type(pair) is tuple and len(pair) == 2)
                    if type(item) is list
                    else [item]
                )

    def undo(self) -> None:
        """Puts back what was saved, the last change first."""
        for back in reversed(self._undo):
            back()


_PLAIN = ATOMS | {_jax.Array, np.ndarray, list, tuple, dict, set}
"""Kinds of values by which nobody comes to the state of the process."""


def _is_own_module(value: Any) -> bool:
    return issubclass(type(value), types.ModuleType) and not is_library(name_of(value))


def _put_back(owner: Any, holder: Mutable, key: Any, child: Any) -> None:
    if child is not ABSENT:
        holder.put(owner, key, child)
    elif holder.get(owner, key) is not ABSENT:
        holder.delete(owner, key)


def _ways_back(item: Any) -> Iterator[Callable[[], None]]:
    """What puts an object back as it is now."""
    kind = type(item)
    if isinstance(item, np.ndarray) and item.dtype == object and item.flags.writeable:
        yield _kept(item, OBJECTS)
    elif isinstance(item, np.ndarray):
        yield functools.partial(_restore_array, item, item.copy(), item.flags.writeable)
    elif isinstance(item, BUFFERS):
        yield _kept(item, BUFFER)
    elif kind is memoryview:
        with contextlib.suppress(ValueError):  # it was released
            if not item.readonly and item.c_contiguous:
                yield functools.partial(_restore_view, item, item.tobytes())
    elif kind is contextvars.ContextVar and CONTEXT.save(item):
        yield _kept(item, CONTEXT)
    elif (holder := mutable_of(item)) is not None:
        yield _kept(item, holder)
    elif isinstance(item, functools.partial):
        yield _kept(item, PARTIAL)
    elif isinstance(item, types.FunctionType):
        yield from (_kept(cell, CELL) for cell in item.__closure__ or ())
        yield _kept(item, FUNCTION)
    elif _jax.is_reference(item):
        yield functools.partial(_restore_reference, item, _read(item))
        return
    elif isinstance(item, type):
        if not is_library_class(item):
            yield functools.partial(_restore_bases, item, item.__bases__)
            yield _kept(item, CLASS)
        return
    state = state_of(item)
    if isinstance(state, dict):
        manager = state.get("_mgr") if home_of(kind).partition(".")[0] == "pandas" else None
        if manager is not None:
            yield functools.partial(_restore_frame, state, manager, manager.copy(deep=True))
        yield _kept(state, DICT)
    if slot_descriptors(kind):
        yield _kept(item, SLOTS)
    if not is_library_class(kind):
        yield functools.partial(restore_shell, item, kind, state)


def _kept(item: Any, holder: Mutable) -> Callable[[], None]:
    return functools.partial(restore_changed, item, holder, holder.save(item))


def restore_changed(item: Any, holder: Mutable, state: State) -> None:
    """Makes a holder hold what it held, unless it does."""
    if not same_state(holder.save(item), state):
        holder.restore(item, state)


def restore_shell(item: Any, kind: type, state: Any) -> None:
    """Gives an object back its class and its `__dict__`."""
    if type(item) is not kind:
        object.__setattr__(item, "__class__", kind)
    if state is not None and state_of(item) is not state:
        object.__setattr__(item, "__dict__", state)


def _restore_frame(state: dict[str, Any], manager: Any, copy: Any) -> None:
    """A frame or series of pandas keeps its values in a manager, which is changed in place."""
    if not manager.equals(copy) or state.get("_mgr") is not manager:
        state["_mgr"] = copy


def _read(reference: Any) -> Any:
    """What a mutable array reference of JAX holds; None if it has been frozen or freed."""
    try:
        return reference[...]
    except Exception:
        return None


def _restore_reference(reference: Any, value: Any) -> None:
    if value is not None:
        reference[...] = value


def _restore_bases(kind: type, bases: tuple[type, ...]) -> None:
    if kind.__bases__ != bases:
        kind.__bases__ = bases


def _restore_view(view: memoryview, content: bytes) -> None:
    with contextlib.suppress(ValueError):  # it was released
        if view.tobytes() != content:
            view.cast("B")[:] = content


_SHAPE, _DTYPE = vars(np.ndarray)["shape"], vars(np.ndarray)["dtype"]


def _restore_array(array: np.ndarray[Any, Any], copy: np.ndarray[Any, Any], writeable: bool) -> None:
    same = array.dtype == copy.dtype and array.shape == copy.shape and array.tobytes() == copy.tobytes()
    # It may share memory that is read-only now, and NumPy warns of who sets a shape or dtype in place.
    with contextlib.suppress(ValueError, TypeError), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        if not same:
            array.flags.writeable = True
            if array.nbytes != copy.nbytes:
                array.resize(copy.nbytes // array.itemsize, refcheck=False)
            if array.dtype != copy.dtype:
                _SHAPE.__set__(array, (array.size,))
                _DTYPE.__set__(array, copy.dtype)
            if array.shape != copy.shape:
                _SHAPE.__set__(array, copy.shape)
            array[...] = copy
        if array.flags.writeable != writeable:
            array.flags.writeable = writeable


def restore_names(
    namespace: dict[str, Any], entry: dict[str, Any], ours: Callable[[str], bool] = lambda name: True
) -> None:
    """Makes a namespace what it was: the same names, in the same order, with the same values.

    Names that are not `ours` are left as they are.
    """
    for name in [name for name in list(namespace) if name not in entry and ours(name)]:
        del namespace[name]
    for name, item in entry.items():
        if (name not in namespace or namespace[name] is not item) and ours(name):
            namespace[name] = item
    if set(namespace) == set(entry) and list(namespace) != list(entry):
        for name in entry:
            namespace[name] = namespace.pop(name)
