"""What a cell writes and displays in a process of a cluster."""

from __future__ import annotations

import io
import sys
from typing import Any

from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.getipython import get_ipython

__all__ = ["Said"]


class Said:
    """Takes down what a cell writes and displays.

    Args:
      live: whether what is written is told at once, too, so that it is seen while the cell runs.
    """

    def __init__(self, live: bool) -> None:
        self._live = live
        self._streams = {"stdout": _Stream(self, "stdout"), "stderr": _Stream(self, "stderr")}
        self._written: list[tuple[str, str]] = []
        self.displayed: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = ()
        self._shown: Any = None

    @property
    def printed(self) -> tuple[tuple[str, str], ...]:
        """What was written, in order, what went to the same stream together."""
        found = list[tuple[str, str]]()
        for stream, text in self._written:
            if found and found[-1][0] == stream:
                found[-1] = stream, found[-1][1] + text
            else:
                found.append((stream, text))
        return tuple(found)

    def write(self, stream: str, text: str) -> None:
        """Something is written."""
        self._written.append((stream, text))
        if self._live:
            (self._before[0] if stream == "stdout" else self._before[1]).write(text)

    def __enter__(self) -> None:
        self._before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = self._streams["stdout"], self._streams["stderr"]  # type: ignore[assignment]
        shell = get_ipython()
        if shell is not None:
            self._shown = CapturingDisplayPublisher(), shell.display_pub
            shell.display_pub = self._shown[0]

    def __exit__(self, *_: object) -> None:
        sys.stdout, sys.stderr = self._before
        if self._shown is not None:
            publisher, before = self._shown
            shell = get_ipython()
            assert shell is not None
            shell.display_pub = before
            self.displayed = tuple((out["data"], out.get("metadata") or {}) for out in publisher.outputs)


class _Stream(io.TextIOBase):
    def __init__(self, said: Said, name: str) -> None:
        super().__init__()
        self._said, self._name = said, name

    def writable(self) -> bool:
        """It can be written to."""
        return True

    def write(self, text: str, /) -> int:
        """Takes a text down."""
        self._said.write(self._name, str(text))
        return len(text)
