"""What functions ask of numbers that Python computes at each run: `if self.step % 100 == 0` in a method.

Such a number is an input, and its arithmetic is done before the program. So the answer can be given while tracing: the
program is for that answer, and serves a run in which Python comes to the same.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

from jaxnb import _jax
from jaxnb.staging.trace.prelude import number_of

__all__ = ["Branches"]

_MOST = 16
"""Questions that one program may answer."""


class Branches:
    """The questions of one trace, with the answers.

    Args:
      trace: JAX's.
      numbers: tracers of numbers, each with its value.
    """

    def __init__(self, trace: Any, numbers: Iterable[tuple[Any, float | int]]) -> None:
        self._trace = trace
        self._known: dict[Any, Any] = {tracer.val: value for tracer, value in numbers}
        self._asked: list[tuple[Any, bool]] = []
        _jax.answer_truth(trace, self._truth)

    def _truth(self, tracer: Any, frame: types.FrameType) -> bool | None:
        """Whether a number is true; None where a statement of the cell itself asks: that is taken apart instead, so
        that there is one program for both answers."""
        own = self._trace is not None and _jax.trace_of(tracer) is self._trace
        if not own or frame.f_code.co_name == "<module>" or len(self._asked) >= _MOST:
            return None
        value = number_of(tracer, self._known)
        if value is None:
            return None
        self._asked.append((tracer, bool(value)))
        return bool(value)

    def checks(self, result: Callable[[Any], int]) -> list[tuple[int, bool]]:
        """Which results of the piece have which truth; `result` makes one of a tracer."""
        return [(result(tracer), answer) for tracer, answer in self._asked]

    def close(self) -> None:
        """The trace is over: no tracer is held any more."""
        self._trace = None
        self._known.clear()
        self._asked.clear()
