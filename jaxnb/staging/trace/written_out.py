"""Loops inside of functions, which a trace writes out: where one makes a program that takes minutes to compile.

The loops of a cell count their turns, see `turns`. Those of functions cannot, but the equations that they become say
where they were made: whenever a function comes to equations before the place of its last ones, it has turned once more.
A model that goes through its layers is compiled, however long it is; training that goes through its batches is not, nor
what turns as often as only data makes it: Python runs that, and what it has under `jax.jit` is compiled as ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any, NamedTuple

from jaxnb import _jax
from jaxnb._jax import eqn_frames, eqn_scope, eqn_traceback
from jaxnb.runtime import is_installed, is_own
from jaxnb.staging.trace.functions import Called, line_at

__all__ = ["LARGE", "Loop", "WrittenOut", "long_loop"]

LARGE = 3_000
"""Equations, those inside of others counted, from which on the loop of a function is not written out.

A hundred steps of adam on one layer are 6,800 equations, and take XLA 40 s to compile on the CPU of jax 0.10.
"""

_HUGE = 10 * LARGE
"""The same for a loop that may go through the layers of a model: a hundred of them are less."""

_STEPS, _MANY = 4, 64
"""Turns from which on a loop counts: one in whose turns something is differentiated, and any other."""

_CALL = 20
"""Equations inside of one from which on it is the call of a function; those of `jax.numpy` have less."""


class WrittenOut(BaseException):
    """A function turns a loop so often that its program would grow out of hand.

    Attributes:
      loop: which one.
    """

    def __init__(self, loop: Loop) -> None:
        self.loop = loop


class _Frame(NamedTuple):
    code: CodeType
    offset: int
    transformed: bool  # whether JAX called what is below it


@dataclass(slots=True)
class Loop:
    """A loop in a function.

    Attributes:
      function: its name.
      call: where the cell called it, as the code of the statement and a byte offset in it.
      turns: how often it turned.
      equations: what it became, those inside of others counted.
      steps: whether something is differentiated in its turns.
      last: how far in the function its last equation was made.
      calls: where in this turn compiled functions were called, which may be all that it does.
      frames: the functions on the way to it, itself among them, each with a byte offset.
    """

    function: str
    call: tuple[CodeType, int]
    turns: int = 1
    equations: int = 0
    steps: bool = False
    last: int = -1
    calls: set[Any] = field(default_factory=set[Any])
    frames: tuple[_Frame, ...] = ()

    @property
    def stack(self) -> tuple[Called, ...]:
        """The user's functions on the way to it; none where JAX calls one of them."""
        if any(frame.transformed for frame in self.frames[:-1]):
            return ()
        own = (frame for frame in self.frames[1:] if not is_installed(frame.code.co_filename))
        return tuple(Called(frame.code, line_at(frame.code, frame.offset)) for frame in own)

    @property
    def is_long(self) -> bool:
        most = _STEPS if self.steps or self.equations > _HUGE else _MANY
        return self.equations > LARGE and self.turns >= most

    def __str__(self) -> str:
        return f"the loop in {self.function} would be {self.equations:,} equations or more"


def long_loop(eqns: Iterable[Any], filename: str) -> Loop | None:
    """The largest loop inside of a function that should not be written out; None where there is none.

    Args:
      eqns: the equations of a trace.
      filename: of the cell, whose own loops do not count.
    """
    sizes = _jax.EquationSizes()
    sized = [(eqn, sizes.of(eqn)) for eqn in eqns]
    if sum(size for _, size in sized) <= LARGE:
        return None
    loops = _Loops(filename)
    for eqn, size in sized:
        loops.add(eqn, size)
    return max(filter(lambda loop: loop.is_long, loops.found), key=lambda loop: loop.equations, default=None)


@dataclass(slots=True)
class _Level:
    """A function on the way from the cell to equations of one place.

    Attributes:
      offset: how far in it they were made.
      transformed: whether JAX called it, or one around it.
      way: the functions up to it, itself among them.
      loop: what it turns, once an equation counts for it.
    """

    offset: int
    transformed: bool
    way: tuple[_Frame, ...]
    loop: Loop | None = None


class _Loops:
    def __init__(self, filename: str) -> None:
        self._filename = filename
        self._by_place: dict[tuple[_Frame, ...], Loop] = {}
        self._levels: dict[Any, list[_Level]] = {}
        self._differentiates: dict[int, tuple[Any, bool]] = {}
        self._backward: dict[int, tuple[object, bool]] = {}

    @property
    def found(self) -> Iterable[Loop]:
        return self._by_place.values()

    def add(self, eqn: Any, size: int) -> None:
        place = eqn_traceback(eqn)
        levels = self._levels.get(place)
        if levels is None:
            levels = self._levels[place] = self._read_levels(eqn)
        backward = self._is_backward(eqn)
        steps = backward or self._has_steps(eqn)
        for level in levels:
            transformed = level.transformed
            if transformed and backward:
                break  # it goes through the same places in reverse
            loop = level.loop or self._loop_of(level)
            call = place if size > _CALL and level is levels[-1] else None
            if level.offset < loop.last or (level.offset == loop.last and call in loop.calls):
                loop.turns += 1
                loop.calls.clear()
            if call is not None:
                loop.calls.add(call)
            loop.last = level.offset
            loop.equations += size
            loop.steps = loop.steps or (steps and not transformed)

    def _loop_of(self, level: _Level) -> Loop:
        """The loop of a level, which hashes the code on the way: not for each equation."""
        *outside, frame = level.way
        loop = self._by_place.get(key := tuple(outside))
        if loop is None:
            loop = self._by_place[key] = Loop(frame.code.co_name, level.way[0][:2], frames=level.way)
        level.loop = loop
        return loop

    def _read_levels(self, eqn: Any) -> list[_Level]:
        """The functions in which an equation was made, below the cell."""
        frames = self._read_frames(eqn)
        found: list[_Level] = []
        transformed = False
        for depth in range(1, len(frames)):
            transformed = transformed or frames[depth - 1].transformed
            found.append(_Level(frames[depth].offset, transformed, tuple(frames[: depth + 1])))
        return found

    def _read_frames(self, eqn: Any) -> list[_Frame]:
        """The frames of the user's and of libraries, from the cell on."""
        found: list[_Frame] = []
        for code, offset in reversed(list(eqn_frames(eqn))):
            if is_own(code.co_filename):
                continue
            if found and _jax.in_jax(code.co_filename):
                found[-1] = found[-1]._replace(transformed=True)
            elif found or code.co_filename == self._filename:
                found.append(_Frame(code, offset, False))
        return found

    def _is_step(self, eqn: Any) -> bool:
        """Whether an equation, or one inside of it, is of a backward pass."""
        return self._is_backward(eqn) or self._has_steps(eqn)

    def _has_steps(self, eqn: Any) -> bool:
        return any(self._steps_in(jaxpr) for jaxpr in _jax.inner_jaxprs(eqn))

    def _steps_in(self, jaxpr: Any) -> bool:
        if id(jaxpr) not in self._differentiates:
            self._differentiates[id(jaxpr)] = (jaxpr, any(map(self._is_step, jaxpr.eqns)))
        return self._differentiates[id(jaxpr)][1]

    def _is_backward(self, eqn: Any) -> bool:
        scope = eqn_scope(eqn)  # whose text takes longer to make than all the rest here
        known = self._backward.get(id(scope))
        if known is None:
            known = self._backward[id(scope)] = scope, "transpose" in str(scope)
        return known[1]
