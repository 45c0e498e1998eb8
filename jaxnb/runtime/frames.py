"""What the variables of running code are, without leaving a trace of having looked."""

from __future__ import annotations

import inspect
import sys
import types
from typing import Any

__all__ = ["local_of", "locals_of"]


def locals_of(frame: types.FrameType) -> dict[str, Any]:
    """The local variables of a frame. Before Python 3.13 reading them leaves a copy behind, which would keep values
    alive that the frame itself has long given up: it is emptied, unless somebody else holds it."""
    held: Any = frame.f_locals
    found = dict(held)
    if _leaves_a_copy(frame) and sys.getrefcount(held) == _OUR_REFERENCES:
        held.clear()
    return found


def local_of(frame: types.FrameType, name: str) -> Any:
    """One of them, or None: for those who ask by the thousand."""
    held: Any = frame.f_locals
    found = held.get(name)
    if _leaves_a_copy(frame) and sys.getrefcount(held) == _OUR_REFERENCES:
        held.clear()
    return found


def _leaves_a_copy(frame: types.FrameType) -> bool:
    optimized = frame.f_code.co_flags & inspect.CO_OPTIMIZED
    return bool(sys.version_info < (3, 13) and optimized and sys.gettrace() is None)


_OUR_REFERENCES = 3
"""To the copy of its locals: the frame's own, the local variable, and the argument of the one who counts."""
