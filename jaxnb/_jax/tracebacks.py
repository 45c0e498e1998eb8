"""Who is told when JAX takes a traceback, which it does for each equation that it makes, and when it enters a scope."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

from jax._src import source_info_util as _source_info

from jaxnb.runtime import Undo

__all__ = ["note_tracebacks"]

_context = _source_info._source_info_context  # pyright: ignore[reportPrivateUsage]


class _Noting(NamedTuple):
    thread: int
    note: Callable[[Any, tuple[Any, ...]], None]
    enter: Callable[[Any], None]


_noting: list[_Noting] = []
_hooks = Undo()
"""What is replaced while anybody notes, whichever thread."""


@contextmanager
def note_tracebacks(note: Callable[[Any, tuple[Any, ...]], None], enter: Callable[[Any], None]) -> Generator[None]:
    """Tells of the tracebacks that are taken in this thread, but not of those that an equation has from another.

    There is no public hook for this.

    Args:
      note: called with each and the scopes around it, by the second frame of it.
      enter: called with each scope of a `jax.named_scope` that is entered; its caller is called by who enters it.
    """
    noting = _Noting(threading.get_ident(), note, enter)
    with Undo() as undo:
        undo.add(_forget, noting)
        if not _noting:
            _install()
        _noting.append(noting)
        yield


def _forget(noting: _Noting) -> None:
    _noting[:] = [item for item in _noting if item is not noting]
    if not _noting:
        _hooks.close()


def _install() -> None:
    current, enter = _source_info.current, _source_info.ExtendNameStackContextManager.__enter__

    def noted() -> Any:
        info = current()
        if not _context.context.traceback:  # else it is that of an equation from which another is made
            thread = threading.get_ident()
            for noting in reversed(_noting):
                if noting.thread == thread:
                    noting.note(info.traceback, info.name_stack.stack)
                    break
        return info

    def entered(self: Any) -> Any:
        names, thread = enter(self), threading.get_ident()
        for noting in reversed(_noting):
            if noting.thread == thread:
                noting.enter(names.stack[-1])
                break
        return names

    # Whoever reads the frames of an equation goes from those of JAX to those of its caller: this is one of JAX's.
    for hook in (noted, entered):
        hook.__code__ = hook.__code__.replace(co_filename=current.__code__.co_filename)
    _hooks.patch(_source_info, "current", noted)
    _hooks.patch(_source_info.ExtendNameStackContextManager, "__enter__", entered)
