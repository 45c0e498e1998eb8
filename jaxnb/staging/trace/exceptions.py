"""What an exception holds, so that another can be made that holds the same without its constructor.

A constructor of the user's may take something else than `args`, and what Python keeps beside them (its cause, the
`errno` of an `OSError`) no copy protocol tells.
"""

from __future__ import annotations

import builtins
import types
from typing import Any

__all__ = ["blank_exception", "fields_of"]

_NOT_CONTENT = frozenset({"__dict__", "__traceback__", "__weakref__", "message", "exceptions"})
"""The last two are of groups, which have them from the beginning."""


def _home(kind: type) -> Any:
    """The first of its bases that Python has built in."""
    return next(base for base in kind.__mro__ if base.__module__ == builtins.__name__)


def fields_of(error: BaseException) -> list[tuple[Any, Any]]:
    """What Python keeps in an exception, `args` included: each as the descriptor that sets it, and its value."""
    found: dict[str, tuple[Any, Any]] = {}
    for base in _home(type(error)).__mro__[-2::-1]:  # without `object`
        for name, item in vars(base).items():
            if isinstance(item, types.MemberDescriptorType | types.GetSetDescriptorType) and name not in _NOT_CONTENT:
                try:
                    found[name] = item, item.__get__(error)
                except (AttributeError, TypeError):  # there is none, or of a Unicode error that was never filled in
                    continue
    if (last := found.pop("__suppress_context__", None)) is not None:
        found["__suppress_context__"] = last  # a cause sets it
    return [(item, value) for item, value in found.values() if value is not None]


def blank_exception(kind: type, error: BaseException, parts: Any) -> BaseException:
    """An exception of a class that holds nothing yet.

    Args:
      kind: the class, or one that stands for it.
      error: an exception of it.
      parts: of a group, those that it holds.
    """
    home = _home(kind)
    if isinstance(error, BaseExceptionGroup):
        return home.__new__(kind, error.message, parts)
    return home.__new__(kind)
