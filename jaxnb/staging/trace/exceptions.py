"""What an exception holds, so that another can be made that holds the same without its constructor; who raised it.

A constructor of the user's may take something else than `args`, and what Python keeps beside them (its cause, the
`errno` of an `OSError`) no copy protocol tells.
"""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Collection, Iterable
from types import CodeType
from typing import Any

__all__ = ["blank_exception", "fields_of", "is_raised_by_code"]

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


def is_raised_by_code(error: BaseException, filename: str, codes: Iterable[CodeType]) -> bool:
    """Whether what is no `Exception` was raised by code that runs, and not by a person who interrupts it.

    An interrupt comes where no `raise` stands, or out of the handler of its signal; what is raised while one is handled
    stands for it.

    Args:
      error: what was raised.
      filename: of the cell.
      codes: of the functions that it reaches; with what is nested in them they may raise an interrupt that is none.
    """
    seen: set[int] = set()
    known: set[CodeType] | None = None
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, KeyboardInterrupt):
            known = known if known is not None else _with_nested(codes)
            if not _stands_at_raise(one.__traceback__, filename, known):
                return False
        waiting += (one.__context__, one.__cause__)
    return True


def _with_nested(codes: Iterable[CodeType]) -> set[CodeType]:
    found: set[CodeType] = set()
    waiting = [*codes]
    while waiting:
        code = waiting.pop()
        if code not in found:
            found.add(code)
            waiting += (item for item in code.co_consts if isinstance(item, CodeType))
    return found


def _stands_at_raise(frames: types.TracebackType | None, filename: str, codes: Collection[CodeType]) -> bool:
    if frames is None:
        return False
    while frames.tb_next is not None:
        frames = frames.tb_next
    code = frames.tb_frame.f_code
    own = code.co_filename == filename or code in codes
    return own and dis.opname[code.co_code[frames.tb_lasti]] == "RAISE_VARARGS"
