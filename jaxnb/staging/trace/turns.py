"""Whether a loop of Python is written out in a program: by what it would take to compile, counted in equations.

A loop that is traced becomes as many copies of its body as it turns. Few small ones make one fast program. Many, or
large ones, take long to compile; then the body is staged once and run in turns. Which it is hangs on counts alone, so
that it is the same each time: the equations of a turn times the turns, against a budget.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jaxnb import _jax

__all__ = ["BUDGET", "TooLong", "Turns"]

BUDGET = 500
"""Equations, those inside of others counted, that a loop may become when it is written out.

Seconds of lowering and compiling on the CPU of jax 0.10, of one turn and of as many as are written out:

    body                                       equations   one turn   turns   written out
    Newton's method on a scalar                        9       0.08      55          0.09
    power iteration, 64 x 64                           6       0.07      83          0.50
    a Runge-Kutta step of a pendulum                  41       0.05      12          0.40
    a normal sample from a split key                  22       0.42      22          1.00
    gradient step of a convolutional network          61       0.21       8          0.27
    gradient step of an nnx network                  119       0.28       4          0.38
    step of adam on three layers                     154       0.21       3          0.35

At twice the budget samples took 2 s, at five times the Runge-Kutta steps 10 s: XLA is not linear in what is fused. A
body that is run in turns costs some 0.1 ms a turn in every run.
"""


class TooLong(BaseException):
    """A loop turns so often that its program would grow out of hand."""


class _Loop(NamedTuple):
    before: int  # equations before the first turn
    turns: int


class Turns:
    """Counts the turns of the loops of one statement, and the equations that they become.

    Args:
      budget: see `BUDGET`; None writes out every loop, 0 none.
    """

    def __init__(self, budget: int | None = BUDGET) -> None:
        self._budget = budget
        self._loops: dict[int, _Loop] = {}
        self._count = _jax.EquationCount()

    def begin(self) -> Callable[[int], None]:
        """A statement begins. Gives what its loops call at each turn, with their numbers; see `counting_code`.

        What is given raises `TooLong` where the loop is not to be written out.
        """
        self._loops.clear()
        return self._turn

    def _turn(self, number: int) -> None:
        if self._budget is None:
            return
        now = self._count.now()
        for inner in [other for other in self._loops if other > number]:
            del self._loops[inner]  # it begins anew
        before, turns = self._loops.get(number, (now, 0))
        self._loops[number] = _Loop(before, turns + 1)
        # Those until here, and one more turn of the same size: a loop of two large turns is known at its second.
        if self._budget == 0 or (turns and (now - before) * (turns + 1) > self._budget * turns):
            raise TooLong
