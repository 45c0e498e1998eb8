"""How often the lines of a cell have waited for a device, and for how long; lines that do so in each turn stand out."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from time import perf_counter

from jaxnb._jax import WaitLog
from jaxnb.findings.retracing.compilations import user_line

__all__ = ["MANY", "Waited", "Waits"]

MANY = 10
"""So many waits on one line are looked at."""
_MOST = 256


@dataclass(slots=True)
class Waited:
    """The waits on one line.

    Attributes:
      file, line: where.
      count: how many there were.
      seconds: what they took.
      last: when the last one was over.
      turn: the least time from one to the next: what a turn takes once all is compiled.
    """

    file: str
    line: int
    count: int = 0
    seconds: float = 0.0
    last: float = 0.0
    turn: float = float("inf")


class Waits:
    """Counts the waits of one cell; see `WaitLog`."""

    def __init__(self) -> None:
        self._log = WaitLog(self._add)
        self._found: dict[tuple[str, int], Waited] = {}
        self.start, self.stop = self._log.start, self._log.stop

    def begin(self) -> None:
        """A cell begins."""
        if self._found:
            self._found = {}

    def often(self) -> list[Waited]:
        """The lines that have waited many times."""
        return [item for item in self._found.values() if item.count >= MANY]

    def _add(self, seconds: float) -> None:
        line = user_line(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        if line is None:
            return
        found = self._found.get(line)
        if found is None:
            if len(self._found) >= _MOST:
                return
            found = self._found[line] = Waited(*line)
        now = perf_counter()
        found.count += 1
        found.seconds += seconds
        found.turn = min(found.turn, now - found.last)
        found.last = now
