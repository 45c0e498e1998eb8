"""Whether another thread may look at what a trace would change: code of the user that runs beside the cell.

The kernel has threads of its own, which look at no value of the user. Of another thread the frames say whose code it
runs; where that is a library's alone, what its local variables lead to says whether it may come to the user's.
"""

from __future__ import annotations

import gc
import sys
import threading
import types
from collections.abc import Collection

from jaxnb.cells.libraries import is_library, is_own
from jaxnb.objects.owners import locals_of

__all__ = ["other_threads", "others_look"]

_KERNEL = frozenset(
    [
        *("IPython", "ipykernel", "zmq", "tornado", "jupyter_client", "debugpy", "traitlets", "jax", "jaxlib"),
        *("_pytest", "execnet"),
    ]
)
"""Packages that run the cells."""
_MOST = 5_000
"""Objects that the local variables of one thread are followed to."""


def other_threads() -> bool:
    """Whether there is any other thread."""
    return len(sys._current_frames()) > 1  # pyright: ignore[reportPrivateUsage]


def others_look(held: Collection[int]) -> bool:
    """Whether another thread runs code of the user, or may come to some, or to one of these objects.

    Args:
      held: ids of the objects that are looked for.
    """
    frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
    del frames[threading.get_ident()]  # this frame, which would hold itself, and with it what the callers hold
    return any(_looks(frame, held) for frame in frames.values())


def _looks(top: types.FrameType, held: Collection[int]) -> bool:
    frames: list[types.FrameType] = []
    walk: types.FrameType | None = top
    while walk is not None:
        frames.append(walk)
        walk = walk.f_back
    modules = [frame.f_globals.get("__name__", "__main__") for frame in frames]
    begins = [frame for frame, module in zip(frames, modules, strict=True) if module != "threading"]
    if begins and is_own(begins[-1].f_code.co_filename):
        return False  # a thread of this package
    if any(not is_library(module) for module in modules):
        return True
    if any(str(module).partition(".")[0] in _KERNEL for module in modules):
        return False
    return any(_leads_to_user(frame, held) for frame in frames)


def _leads_to_user(frame: types.FrameType, held: Collection[int]) -> bool:
    seen: set[int] = set()
    stack = list(locals_of(frame).values())
    while stack and len(seen) < _MOST:
        item = stack.pop()
        if id(item) in held:
            return True
        if id(item) in seen or isinstance(item, types.ModuleType | types.CodeType | types.FrameType | type):
            continue
        seen.add(id(item))
        if isinstance(item, types.FunctionType):
            if not is_library(item.__globals__.get("__name__", "__main__")):
                return True
            stack.extend(item.__closure__ or ())
        elif not isinstance(item, dict) or "__builtins__" not in item:
            stack.extend(gc.get_referents(item))
    return False
