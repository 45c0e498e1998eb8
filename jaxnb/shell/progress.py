"""What is going on, shown after half a second and gone when done."""

from __future__ import annotations

import contextvars
import sys
import threading
from time import perf_counter
from typing import Any

__all__ = ["Progress"]


class Progress:
    """Shows `tracing … 1.2 s` while a cell is staged.

    In a terminal the text is written over itself and wiped out. In a notebook it is an output that is cleared, which
    is possible only as long as the cell has put out nothing itself; `silence` says that it may have.

    Args:
      shell: the IPython shell.
      delay: seconds before anything is shown.
    """

    def __init__(self, shell: Any, delay: float = 0.5) -> None:
        self._shell, self._delay = shell, delay
        self._start = perf_counter()
        self._doing = ""
        self._shown = False
        self._done = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._terminal = not hasattr(shell, "kernel")

    def __call__(self, doing: str) -> None:
        """Something has begun."""
        self._doing = doing
        if self._thread is None:
            context = contextvars.copy_context()
            self._thread = threading.Thread(target=context.run, args=(self._watch,), daemon=True)
            self._thread.start()

    def silence(self) -> None:
        """From here on the cell may print: what is shown goes, and nothing more is."""
        self._done.set()
        with self._lock:
            if self._shown:
                self._clear()
                self._shown = False

    def _watch(self) -> None:
        wait = self._delay
        while not self._done.wait(wait):
            wait = 0.2 if self._terminal else 1.0
            with self._lock:
                if not self._done.is_set():
                    self._show(f"{self._doing} … {perf_counter() - self._start:.1f} s")

    def _show(self, text: str) -> None:
        if self._terminal:
            if not sys.stderr.isatty():
                return
            sys.stderr.write(f"\r{text}\x1b[K")
            sys.stderr.flush()
        else:
            if self._shown:
                self._shell.display_pub.clear_output(wait=True)
            # not as text: a console prints that and cannot take it back
            self._shell.display_pub.publish({"text/html": f"<span>{text}</span>"})
        self._shown = True

    def _clear(self) -> None:
        if self._terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        else:
            self._shell.display_pub.clear_output()
