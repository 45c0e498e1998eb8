"""Maps that are made anew of the same function with the same specs share their programs.

`jax.jit` knows a function by its identity, and a map is another object each time. So the programs are kept by function
and specs. They hold the function weakly: with it they go.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FunctionType
from typing import Any, cast

__all__ = ["own_spec", "programs_of", "weakly"]

_programs: weakref.WeakKeyDictionary[Any, dict[Any, dict[Any, Any]]] = weakref.WeakKeyDictionary()


def programs_of(fun: Callable[..., Any], specs: Any) -> dict[Any, Any]:
    """The programs of all maps of `fun` with these specs, by what else they depend on; to be filled by them.

    Args:
      fun: what is mapped. Only functions are known again: what a callable object does may depend on its state.
      specs: all that the map was given, in containers.
    """
    if not isinstance(fun, FunctionType):
        return {}
    try:
        key = _frozen(specs)
        return _programs.setdefault(fun, {}).setdefault(key, {})
    except TypeError:  # a spec that cannot be compared
        return {}


def _frozen(spec: Any) -> Any:
    """A spec as what is equal to another one if, and only if, they say the same."""
    if isinstance(spec, Mapping):
        items = cast("Mapping[Any, Any]", spec).items()
        return type(spec), tuple((_frozen(key), _frozen(value)) for key, value in items)
    if type(spec) in (list, tuple):
        return type(spec), tuple(map(_frozen, cast("list[Any]", spec)))
    hash(spec)
    return type(spec), spec


def own_spec(spec: Any) -> Any:
    """A spec in lists and dicts of its own, which nobody changes."""
    if type(spec) is dict:
        return {key: own_spec(value) for key, value in cast("dict[Any, Any]", spec).items()}
    if type(spec) in (list, tuple):
        return type(spec)(map(own_spec, cast("list[Any]", spec)))
    return spec


class _Weak:
    """A function that somebody else holds."""

    def __init__(self, fun: FunctionType) -> None:
        self._held = weakref.ref(fun)
        self.__name__, self.__doc__ = fun.__name__, fun.__doc__
        with suppress(TypeError, ValueError):
            self.__signature__ = inspect.signature(fun)

    def __call__(self, *args: Any) -> Any:
        fun = self._held()
        assert fun is not None  # the map that is called holds it
        return fun(*args)


def weakly(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function, held weakly if its programs are shared."""
    return _Weak(fun) if isinstance(fun, FunctionType) else fun
