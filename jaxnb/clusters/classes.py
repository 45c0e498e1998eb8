"""What cloudpickle sends otherwise than as it is: classes, jitted functions, and marks of libraries.

A metaclass or an `__init_subclass__` that ran again on a class without its body would see another class than it saw in
the notebook. So a class arrives bare and is given all that it has: its attributes, what JAX knows of it, and what
modules of its bases keep about it in weak dictionaries.

A mark is an object without a state that a library holds under a name, and asks for by `is`.
"""

from __future__ import annotations

import contextlib
import copyreg
import functools
import importlib
import sys
import weakref
from types import FunctionType
from typing import Any, cast

from cloudpickle import cloudpickle

from jaxnb import _jax

__all__ = ["reduce_class", "reduce_object"]

_CACHED = type(functools.cache(lambda: None))
_MAKERS = frozenset({"builtins", "abc", "_py_abc", "typing", "_typing", "ctypes", "_ctypes"})
"""Where metaclasses are defined that make classes, and do nothing else that counts."""
_OF_PYTHON = frozenset({"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "_abc_impl"})


def reduce_class(kind: type, reduced: Any) -> Any:
    """How a class is pickled, given how cloudpickle does it.

    Args:
      kind: the class.
      reduced: what cloudpickle's reducer gives for it.
    """
    if not isinstance(reduced, tuple) or reduced[0].__name__ != "_make_skeleton_class":
        return reduced  # by its name, or an enumeration
    meta, name, _, more, known, _ = reduced[1]
    if (slots := vars(kind).get("__slots__")) is not None:
        more = {**more, "__slots__": slots}
    attributes, _ = reduced[2]
    state = attributes, _jax.pytree_rules(kind), _kept_by_modules(kind)
    return _make_class, (meta, name, kind.__bases__, more, known), state, None, None, _give_state


def _make_class(meta: type, name: str, bases: tuple[Any, ...], attributes: dict[str, Any], known: str) -> type:
    """A class without its attributes, or the one that has arrived before."""
    there = cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.get(known)  # pyright: ignore[reportPrivateUsage]
    if there is not None:
        return there
    attributes = {sys.intern(key): value for key, value in attributes.items()}
    maker: Any = next(one for one in meta.__mro__ if one.__module__ in _MAKERS)
    made: Any = None
    if any("__init_subclass__" in vars(one) for base in bases for one in base.__mro__ if one is not object):
        for quiet in (_Quiet, _QuietOfSlots):
            with contextlib.suppress(TypeError):  # the layout of the objects would be another
                made = maker.__new__(meta, name, (quiet, *bases), attributes)
                made.__bases__ = bases
                break
        else:
            made = None
    if made is None:
        made = maker.__new__(meta, name, bases, attributes)
    return cloudpickle._lookup_class_or_track(known, made)  # pyright: ignore[reportPrivateUsage]


class _Quiet:
    """The first base of a class while it is made: nobody is told of it."""

    def __init_subclass__(cls, **_: Any) -> None:
        pass


class _QuietOfSlots:
    __slots__ = ()

    def __init_subclass__(cls, **_: Any) -> None:
        pass


def _give_state(made: Any, state: tuple[dict[str, Any], Any, list[tuple[str, str, Any]]]) -> None:
    attributes, rules, kept = state
    slots = vars(made).get("__slots__", ())
    own = {*attributes, *_OF_PYTHON, *((slots,) if isinstance(slots, str) else slots)}
    for name in [name for name in vars(made) if name not in own]:  # taken away since it was sent before
        with contextlib.suppress(AttributeError, TypeError):
            delattr(made, name)
    cloudpickle._class_setstate(made, (attributes, {}))  # pyright: ignore[reportPrivateUsage]
    for module, name, value in kept:
        table = getattr(sys.modules.get(module), name, None)
        if isinstance(table, weakref.WeakKeyDictionary):
            table[made] = value
        elif isinstance(table, weakref.WeakSet):
            table.add(made)
    if rules is not None:
        _jax.register_rules(made, rules)


def _kept_by_modules(kind: type) -> list[tuple[str, str, Any]]:
    """What the modules of its bases and metaclasses keep of a class."""
    found, meta = list[tuple[str, str, Any]](), cast("type", type(kind))
    for module in dict.fromkeys(one.__module__ for one in (*kind.__mro__, *meta.__mro__)):
        if module in ("builtins", "__main__") or module not in sys.modules:
            continue
        for name, table in list(vars(sys.modules[module]).items()):
            if isinstance(table, (weakref.WeakKeyDictionary, weakref.WeakSet)) and kind in table:
                found.append((module, name, table[kind] if isinstance(table, weakref.WeakKeyDictionary) else None))
    return found


def reduce_object(value: Any) -> Any:
    """How jitted functions, functions with a cache, marks of libraries, and objects whose class wants arguments to make
    one are pickled; `NotImplemented` of anything else."""
    kind = type(value)
    if kind.__name__ == "PjitFunction":
        made, given, state, *_ = value.__reduce_ex__(5)
        return made, given, (state, dict(vars(value))), None, None, _give_attributes
    if kind is _CACHED:
        if (
            getattr(sys.modules.get(value.__module__), value.__qualname__, None) is value
            and value.__module__ != "__main__"
        ):
            return NotImplemented
        return _cached, (value.cache_parameters(), value.__wrapped__), dict(vars(value)), None, None, _update
    if kind.__module__ != "__main__" and kind.__module__ in sys.modules and id(value) in (marks := _marks_of(kind)):
        return _mark, (kind.__module__, marks[id(value)])
    if type(kind.__new__) is FunctionType and _is_reduced_as_usual(kind):
        made = value.__reduce_ex__(5)
        if made[0] is copyreg.__newobj__ and made[1] == (kind,):  # pyright: ignore[reportAttributeAccessIssue]
            return (_bare, *made[1:])
    return NotImplemented


def _give_attributes(made: Any, state: tuple[Any, dict[str, Any]]) -> None:
    made.__setstate__(state[0])
    vars(made).update(state[1])


def _cached(parameters: dict[str, Any], function: Any) -> Any:
    return functools.lru_cache(**parameters)(function)


def _update(made: Any, attributes: dict[str, Any]) -> None:
    vars(made).update(attributes)


def _bare(kind: Any) -> Any:
    try:
        return object.__new__(kind)
    except TypeError:  # its objects are laid out by another class
        return kind.__new__(kind)


def _mark(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _is_reduced_as_usual(kind: type) -> bool:
    given = "__getnewargs__", "__getnewargs_ex__"
    usual = kind.__reduce__ is object.__reduce__ and kind.__reduce_ex__ is object.__reduce_ex__
    return usual and not any(hasattr(kind, name) for name in given) and kind not in copyreg.dispatch_table


@functools.cache
def _marks_of(kind: type) -> dict[int, str]:
    """The names of the marks of a class in its module, by their ids."""
    if not _is_reduced_as_usual(kind):
        return {}
    if (kind.__dictoffset__ == 0 and kind.__basicsize__ > object.__basicsize__) or kind.__itemsize__:
        return {}  # it has a state elsewhere than in attributes
    held = vars(sys.modules[kind.__module__])
    return {id(one): name for name, one in held.items() if type(one) is kind and not getattr(one, "__dict__", 0)}
