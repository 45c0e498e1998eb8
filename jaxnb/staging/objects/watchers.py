"""Whether another thread may look at what a trace would change: code of the user that runs beside the cell.

The kernel has threads of its own, which look at no value of the user. Of another thread the frames say whose code it
runs; where that is a library's alone, what its local variables lead to says whether it may come to the user's.
"""

from __future__ import annotations

import inspect
import sys
import threading
import types
from collections.abc import Collection

from jaxnb.runtime import is_library, is_own, locals_of
from jaxnb.staging.cells.reach import ATOMS
from jaxnb.staging.cells.referents import referents

__all__ = ["other_threads", "others_look"]

_KERNEL = frozenset(
    [
        *("IPython", "ipykernel", "zmq", "tornado", "jupyter_client", "debugpy", "traitlets", "ipyparallel"),
        *("jax", "jaxlib", "_pytest", "execnet", "decorator"),
    ]
)
"""Packages that run the cells."""
_MOST = 5_000
"""Objects that the local variables of one thread are followed to."""
_TRIES = 20
"""How often the frames of a thread are read that runs on meanwhile."""


def other_threads() -> bool:
    """Whether there is any other thread."""
    return len(_running()) > 1


def others_look(held: Collection[int]) -> bool:
    """Whether another thread runs code of the user, or may come to some, or to one of these objects.

    Args:
      held: ids of the objects that are looked for.
    """
    return any(_looks(thread, held) for thread in _running() if thread != threading.get_ident())


def _running() -> dict[int, types.FrameType]:
    """The frame that each thread runs; not kept, as one of them would hold itself, and what the callers hold."""
    return sys._current_frames()  # pyright: ignore[reportPrivateUsage]


def _stack(thread: int) -> list[types.FrameType] | None:
    """The frames of a thread, the innermost first; None while it runs on faster than they can be read.

    A frame that returns meanwhile, or a generator that yields, forgets who called it.
    """
    for _ in range(_TRIES):
        top = _running().get(thread)
        frames: list[types.FrameType] = []
        walk = top
        while walk is not None:
            frames.append(walk)
            walk = walk.f_back
        if _running().get(thread) is top and not (frames and frames[-1].f_code.co_flags & inspect.CO_GENERATOR):
            return frames
    return None


def _looks(thread: int, held: Collection[int]) -> bool:
    frames = _stack(thread)
    if frames is None:
        return True
    modules = [frame.f_globals.get("__name__", "__main__") for frame in frames]
    begins = [frame for frame, module in zip(frames, modules, strict=True) if module != "threading"]
    if begins and is_own(begins[-1].f_code.co_filename):
        return False  # a thread of this package
    of_kernel = [str(module).partition(".")[0] in _KERNEL for module in modules]
    if any(not (kernel or is_library(module)) for kernel, module in zip(of_kernel, modules, strict=True)):
        return True
    if any(of_kernel):
        return False
    return any(_leads_to_user(frame, held) for frame in frames)


def _leads_to_user(frame: types.FrameType, held: Collection[int]) -> bool:
    seen: set[int] = set()
    stack = list(locals_of(frame).values())
    while stack and len(seen) < _MOST:
        item = stack.pop()
        if type(item) in ATOMS or (type(item) in (tuple, frozenset) and not item):
            continue  # there is one of each for everybody
        if id(item) in held:
            return True
        if id(item) in seen or isinstance(item, types.ModuleType | types.CodeType | types.FrameType | type):
            continue
        seen.add(id(item))
        if isinstance(item, types.FunctionType):
            if not is_library(item.__globals__.get("__name__", "__main__")):
                return True
            stack.extend(item.__closure__ or ())  # a cell itself may be looked for
        stack.extend(referents(item))
    return False
