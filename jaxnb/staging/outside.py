"""What code does on the outside while it is traced: held back until it is known whether the trace counts.

A trace may be given up half way, and its statements then run once more. Text that they printed and outputs that they
displayed must not appear twice, and the random states of Python and NumPy must not move on twice.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Outside"]


class Outside:
    """Holds back what one thread prints and displays, as a context manager.

    Attributes:
      spoke: whether anything was printed or displayed since `begin`.
    """

    def __init__(self) -> None:
        self.spoke = False
        self._said: list[Callable[[], Any]] = []
        self._thread = threading.get_ident()

    def __enter__(self) -> Outside:
        self._random, self._numpy = random.getstate(), np.random.get_state()
        self._stdout = sys.stdout
        sys.stdout = _Held(self._stdout, self._hold)
        self._publisher = _publisher()
        if self._publisher is not None:
            self._publisher.publish = _holding(self._publisher.publish, self._hold)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        sys.stdout = self._stdout
        if self._publisher is not None:
            del self._publisher.publish

    def begin(self) -> None:
        """A statement begins."""
        self.spoke = False

    def release(self) -> None:
        """The trace counts: what was held back is said now."""
        for say in self._said:
            say()
        self._said.clear()

    def take_back(self) -> None:
        """The trace is given up: nothing was said, and nothing was drawn."""
        self._said.clear()
        random.setstate(self._random)
        np.random.set_state(self._numpy)

    def _hold(self, say: Callable[[], Any]) -> bool:
        """Takes in something to be said later, if it comes from the thread that traces."""
        if threading.get_ident() != self._thread:
            return False
        self.spoke = True
        self._said.append(say)
        return True


class _Held:
    """Stands in for a text stream."""

    def __init__(self, stream: Any, hold: Callable[[Callable[[], Any]], bool]) -> None:
        self._stream, self._hold = stream, hold

    def write(self, text: str) -> int:
        if not self._hold(lambda: self._stream.write(text)):
            self._stream.write(text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _publisher() -> Any:
    """What displays outputs in the running IPython shell, if there is one."""
    if "IPython" not in sys.modules:
        return None
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return shell.display_pub if shell is not None and "publish" not in vars(shell.display_pub) else None


def _holding(publish: Any, hold: Callable[[Callable[[], Any]], bool]) -> Any:
    def held(*args: Any, **kwargs: Any) -> Any:
        return None if hold(lambda: publish(*args, **kwargs)) else publish(*args, **kwargs)

    return held
