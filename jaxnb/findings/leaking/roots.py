"""Where values are held outside of a notebook's names: modules, context variables, threads, tasks, loggers."""

from __future__ import annotations

import asyncio
import builtins
import contextvars
import logging
import sys
import threading
import types
from collections.abc import Collection, Iterator
from typing import Any

from jaxnb.runtime import is_library, is_own, locals_of
from jaxnb.staging import Path

__all__ = ["held_elsewhere"]


def held_elsewhere(wanted: Collection[int]) -> Iterator[tuple[Path, Any]]:
    """The objects that such places hold, each with its path.

    Of installed modules only what was put into them directly is given.

    Args:
      wanted: the ids of the values that are looked for.
    """
    for name, module in list(sys.modules.items()):
        names: Any = getattr(module, "__dict__", None)  # anything may be put among the modules
        if name == "__main__" or type(names) is not dict:
            continue
        library = is_library(name)
        for key, value in list(names.items()):
            if (id(value) in wanted) if library else not key.startswith("__"):
                text = key if module is builtins else f"{name}.{key}"
                yield (None, "place", text), value
    for var, value in contextvars.copy_context().items():
        yield (_place(f"the context variable `{var.name}`"), "of", "get()"), value
    yield from _of_threads()
    yield from _of_tasks()
    for name in [*logging.root.manager.loggerDict, ""]:
        logger = logging.root.manager.loggerDict.get(name, logging.root)
        if isinstance(logger, logging.Logger):
            shown = f"logging.getLogger({name!r})" if name else "logging.getLogger()"
            for kind, parts in (("handlers", logger.handlers), ("filters", logger.filters)):
                yield (_place(shown), "attr", kind), parts


def _place(text: str) -> Path:
    return (None, "place", text)


def _of_threads() -> Iterator[tuple[Path, Any]]:
    """What threads were given, and what the functions of the user hold that run in them, or that called us."""
    frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]
    ours = threading.current_thread()
    for thread in threading.enumerate():
        shown = _place(f"the thread {thread.name!r}")
        if thread is not ours:
            yield from (((shown, "of", key), value) for key, value in vars(thread).items())
        frame = frames.get(thread.ident) if thread.ident is not None else None
        while frame is not None:
            code = frame.f_code
            if code.co_name != "<module>" and not is_own(code.co_filename) and not _of_library(frame):
                holder = _place(f"{code.co_name}()") if thread is ours else shown
                yield from (((holder, "in", key), value) for key, value in locals_of(frame).items())
            frame = frame.f_back


def _of_tasks() -> Iterator[tuple[Path, Any]]:
    """The coroutines of the user that an event loop runs, which may be held by nothing else."""
    try:
        tasks = asyncio.all_tasks()
    except RuntimeError:  # no loop is running
        return
    for task in tasks:
        coroutine: Any = task.get_coro()
        frame = getattr(coroutine, "cr_frame", None)
        if frame is not None and not _of_library(frame):
            yield _place(f"the task {task.get_name()!r}"), coroutine


def _of_library(frame: types.FrameType) -> bool:
    return is_library(frame.f_globals.get("__name__", "__main__"))
