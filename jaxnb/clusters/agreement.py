"""That all processes run the same programs in the same order, which nobody else makes sure of.

A collective that is a sum in one process and a maximum in another gives a number in both. So before a program runs its
fingerprint is told to all others and compared with theirs, and so is that a cell has come to its end, before its names
count. What differs runs nowhere.

Who has said that a program may run waits until it is known whether all have, interrupted or not: the others would wait
for it inside the program otherwise.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Generator
from time import perf_counter
from typing import Any

from jaxnb import _jax

__all__ = ["Agreement", "Disagreed", "Elsewhere"]

_FAILED, _ENDED = "failed", "ended"
_STEP = 0.25  # seconds after which a wait looks whether it was interrupted


class Elsewhere(Exception):
    """A cell failed in another process. Nothing of it stays in this one.

    Attributes:
      rank: of the process.
    """

    def __init__(self, rank: int) -> None:
        super().__init__(f"the cell failed in process {rank}")
        self.rank = rank


class Disagreed(Exception):
    """Processes were about to run different programs; none of them ran.

    Attributes:
      ranks: the processes that were about to run another one than this process.
      ended: those of them that had come to the end of the cell.
    """

    def __init__(self, ranks: list[int], ended: list[int]) -> None:
        super().__init__(f"processes {ranks} run another program")
        self.ranks, self.ended = ranks, ended


class Agreement:
    """What the processes tell one another during one cell.

    Args:
      keys: of their job.
      count: how many there are.
      rank: of this one.
      cell: the number of the cell, which is the same in all.

    Attributes:
      waited: seconds that this process has waited for the others.
      over: whether the cell has come to its end, here or elsewhere.
      interrupted: whether an interrupt came while it was decided whether a program runs; it is due when that runs.
    """

    def __init__(self, keys: _jax.Keys, count: int, rank: int, cell: str) -> None:
        self._keys, self._count, self._rank, self._cell = keys, count, rank, cell
        self._round = 0
        self.over = False
        self.interrupted = False
        self.waited = 0.0

    def on(self, fingerprint: str) -> None:
        """Waits until all processes have come to the same program.

        Raises:
          Elsewhere: if the cell has failed in one of them.
          Disagreed: if one has come to another program, or to the end.
          KeyboardInterrupt: if the user does not want to wait for the others; then they must not run it.
        """
        self._agree(fingerprint)

    def at_end(self) -> None:
        """Waits until all processes have come to the end of the cell.

        Raises:
          Elsewhere: if it has failed in one of them.
          Disagreed: if one has come to another program.
        """
        self._agree(_ENDED)
        self.over = True

    def failed(self) -> None:
        """Tells the others that the cell has failed here."""
        if not self.over:
            self.over = True
            with contextlib.suppress(Exception):  # nobody is left to be told
                self._keys.put(self._key(self._round, self._rank), _FAILED)

    def _key(self, number: int, rank: int) -> str:
        return f"jaxnb/{self._cell}/{number}/{rank}"

    def _agree(self, said: str) -> None:
        number, self._round = self._round, self._round + 1
        with self._patient():
            self._keys.put(self._key(number, self._rank), said)
            begun = perf_counter()
            others = {rank: self._wait(number, rank) for rank in range(self._count) if rank != self._rank}
            self.waited += perf_counter() - begun
        failed = [rank for rank, told in others.items() if told == _FAILED]
        if failed:
            self.over = True
            raise Elsewhere(failed[0])
        different = [rank for rank, told in others.items() if told != said]
        if different:
            self.over = True
            raise Disagreed(different, [rank for rank in different if others[rank] == _ENDED])

    def _wait(self, number: int, rank: int) -> str:
        while (told := self._keys.get(self._key(number, rank), _STEP)) is None:
            pass
        return told

    @contextlib.contextmanager
    def _patient(self) -> Generator[None]:
        """Puts an interrupt off until it is decided; a second one counts at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def put_off(number: int, frame: Any) -> None:
            if self.interrupted:
                raise KeyboardInterrupt
            self.interrupted = True

        before = signal.signal(signal.SIGINT, put_off)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
