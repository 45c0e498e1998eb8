"""What is changed for a while and put back whatever happens.

An interrupt may come between any two instructions: while changes are being made, at the first one of an `__exit__` or a
`finally`, which is then left out, and among the ways back. So a way back is written down before its change is made, can
be gone twice, and is forgotten only when it has been gone; and who runs a cell asks for what is left: `undo_after`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

__all__ = ["Undo", "undo_after", "undo_depth"]

_MISSING: Any = object()
_entered: dict[int, list[Undo]] = {}


class Undo:
    """Ways back, gone when it is left, the last one first; if one of them raises, the others are gone all the same."""

    def __init__(self) -> None:
        self._steps: list[Callable[[], object]] = []
        self._thread = threading.get_ident()

    def __enter__(self) -> Undo:
        _entered.setdefault(self._thread, []).append(self)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.close()

    def add(self, step: Callable[..., object], *args: Any) -> None:
        """Writes a way back down, which must not mind to be gone twice."""
        self._steps.append(partial(step, *args) if args else step)

    def patch(self, owner: Any, name: str, value: Any) -> None:
        """Sets an attribute of a module, a class or an object, until this is left."""
        self.add(_put_back, owner, name, vars(owner).get(name, _MISSING))
        setattr(owner, name, value)

    def close(self) -> None:
        """Goes the ways back that are left, after those of what was entered within this one and never left."""
        failed: Exception | None = None
        entered = _entered.get(self._thread, [])
        if self in entered:
            for inner in reversed(entered[entered.index(self) + 1 :]):
                inner.close()
        while self._steps:
            try:
                self._steps[-1]()
            except Exception as error:
                failed = failed or error
            self._steps.pop()
        if self in entered:
            entered.remove(self)
        if not entered:
            _entered.pop(self._thread, None)
        if failed is not None:
            raise failed


def _put_back(owner: Any, name: str, value: Any) -> None:
    if value is not _MISSING:
        setattr(owner, name, value)
    elif name in vars(owner):
        delattr(owner, name)


def undo_depth() -> int:
    """How many are entered in this thread."""
    return len(_entered.get(threading.get_ident(), ()))


def undo_after(depth: int) -> None:
    """Goes the ways back of all that were entered in this thread since it was `undo_depth`, and never left."""
    entered = _entered.get(threading.get_ident(), [])
    while len(entered) > depth:
        entered[-1].close()
