"""Tells what the garbage collector calls while a cell is traced (`gc.callbacks`) from what the cell does.

A collection falls where it will, in the midst of whatever allocates. A clock that a callback reads, or a line that it
prints, is neither the doing of the statement that is traced, nor would it be done again by another run of it.
"""

from __future__ import annotations

import gc
from functools import partial
from types import FrameType, FunctionType, MethodType
from typing import Any

__all__ = ["is_within_collection"]

_COLLECT = gc.collect
"""The function itself: while a cell is traced, there is another one in its place."""


def is_within_collection(frame: FrameType | None) -> bool:
    """Whether a frame is of one of `gc.callbacks`, or of what one calls, and a collection has called it.

    The same function may be called by anybody; it is then a part of what is traced like any other.
    """
    codes = {code for each in list(gc.callbacks) if (code := _code_of(each)) is not None}
    while frame is not None and frame.f_code not in codes:
        frame = frame.f_back
    return frame is not None and _is_collecting()


def _is_collecting() -> bool:
    """Whether garbage is being collected, of which Python does not tell; another collection is none until it ends."""
    begun: list[str] = []

    def note(phase: str, info: dict[str, int]) -> None:
        begun.append(phase)

    gc.callbacks.append(note)
    try:
        _COLLECT(0)
    finally:
        gc.callbacks.remove(note)
    return not begun


def _code_of(callback: Any) -> Any:
    """The code that runs where something is called; None if there is none of Python."""
    while isinstance(callback, partial):
        callback = callback.func
    if not isinstance(callback, FunctionType | MethodType):
        callback = getattr(type(callback), "__call__", None)  # noqa: B004
    return getattr(getattr(callback, "__func__", callback), "__code__", None)
