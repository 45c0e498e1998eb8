"""Programs in a thread of their own, so that who waits for them can be interrupted."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

__all__ = ["Caller"]


class Caller:
    """A thread that calls one thing after the other, so that who waits for it can be interrupted."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._serve, daemon=True, name="jaxnb programs").start()
        self.busy = False

    def start(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """Starts a call, and gives what waits for its result."""
        done, found = threading.Event(), list[Any]()
        self.busy = True
        self._calls.put((call, done, found))

        def wait() -> Any:
            while not done.wait(1.0):  # in the main thread a signal is heard between two of these, and while it waits
                pass
            value, error = found
            if error is not None:
                raise error
            return value

        return wait

    def _serve(self) -> None:
        while True:
            call, done, found = self._calls.get()
            try:
                found[:] = call(), None
            except BaseException as error:
                found[:] = None, error
            self.busy = not self._calls.empty()
            done.set()
            del call, found
