"""What `functools.singledispatch` makes: which function it is, and what of it is only a cache of its choices.

The layout is that of CPython 3.11 to 3.14; a function that is laid out otherwise is not known as one.
"""

from __future__ import annotations

import types

__all__ = ["dispatch_cache", "is_of_cache"]

_CACHE = "dispatch_cache"
_OF_CACHE = frozenset({_CACHE, "cache_token", "_clear_cache"})


def dispatch_cache(function: types.FunctionType) -> types.CellType | None:
    """The cell with the choices that were made, or None if a function is not under `functools.singledispatch`."""
    dispatch = function.__dict__.get("dispatch")
    if not isinstance(dispatch, types.FunctionType) or dispatch.__module__ != "functools":
        return None
    cells = dict(zip(dispatch.__code__.co_freevars, dispatch.__closure__ or (), strict=True))
    return cells.get(_CACHE)


def is_of_cache(module: str, name: str) -> bool:
    """Whether a closure variable or an attribute of a function belongs to such a cache, which follows from the rest."""
    return module == "functools" and name in _OF_CACHE
