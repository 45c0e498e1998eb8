"""Results that are nan or inf, noticed at once: which, and what made them, as far as that is found out quickly.

Only what is there already is looked at, and of a run that reuses its programs only a little: it must cost nothing. A
program that is small is run once more to find the equation (`find_nans`), which leaves out what was meant; of a larger
one `--nans` says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from time import perf_counter, sleep
from typing import Any
from weakref import WeakSet

import jax
import numpy as np

from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.lints.eqns import Eqns
from jaxnb.findings.lints.lint import Warned
from jaxnb.findings.lints.nans import find_nans
from jaxnb.findings.lints.recomputed import is_inexact
from jaxnb.program import Finding, Fix
from jaxnb.staging import Execution, Piece, hold_inputs

__all__ = ["MOST_AT_FIRST", "MOST_NUMBERS", "PATIENCE", "WAIT", "BadResults", "bad_kind"]

_MOST_ARRAYS = 16
MOST_NUMBERS = 1 << 16
"""Of an array that is looked at again and again."""
MOST_AT_FIRST = 1 << 22
"""Of a run that traced something, which takes its time anyway, and of what is looked at once."""
WAIT = 0.05
"""Seconds for which the results of such a run are waited for, at most."""
_MOST_EQUATIONS = 400
PATIENCE = 2.0
"""Seconds after which the search is given up, and not begun again at the next run."""


class BadResults:
    """Looks at the results of runs, and remembers which pieces it takes too long to explain."""

    def __init__(self) -> None:
        self._long: WeakSet[Piece] = WeakSet()

    def find(self, execution: Execution) -> tuple[Finding, ...]:
        """What there is to say of nans and infs in the results of a run."""
        if execution.options.nans:
            return ()
        found: list[Finding] = []
        with Warned("nans"):
            found += self._found(execution)
        return tuple(found)

    def _found(self, execution: Execution) -> Iterator[Finding]:
        for ran in execution.ran.values():
            traced = ran.piece in execution.traced
            arrays = [one for one in ran.outputs if isinstance(one, jax.Array) and is_inexact(one.dtype)]
            if traced:
                _wait_for(arrays)
            if _any_bad(arrays, traced):
                yield from self._explained(execution, ran.piece)

    def _explained(self, execution: Execution, piece: Piece) -> Sequence[Finding]:
        context = LintContext.of(execution, piece)
        eqns = Eqns(piece, context.level)
        size = sum(len(level.jaxpr.eqns) for level in eqns.visited)
        there = all(_is_there(leaf) for leaf in context.arguments if isinstance(leaf, jax.Array))
        if size > _MOST_EQUATIONS or not there or piece in self._long:
            return list(_in_short(context, eqns))
        start = perf_counter()
        found = find_nans(context, hold_inputs(piece, context.arguments), patience=PATIENCE)
        if perf_counter() - start > PATIENCE:
            self._long.add(piece)
        return found if found is not None else list(_in_short(context, eqns))


def _in_short(context: LintContext, eqns: Eqns) -> Iterator[Finding]:
    """That results are bad: the one that is bound first, and whether an input was so, without what made it."""
    bad: list[tuple[int, int, str, str]] = []
    for name, value in zip(eqns.results(), context.results, strict=False):
        if name and (kind := bad_kind(value, MOST_AT_FIRST)):
            root = re.split(r"[.\[]", name)[0]
            lines = [item.span.line for item in context.statements if root in item.names.binds]
            bad.append((lines[-1] if lines else 0, len(name), name, kind))
    if not bad:
        return
    (line, _, name, kind), more = min(bad), len(bad) - 1
    others = f", and so {'does another result' if more == 1 else f'do {more} other results'}" if more else ""
    given = zip(eqns.inputs, context.arguments, strict=False)
    source = next((path for path, value in given if path and bad_kind(value, MOST_NUMBERS)), "")
    message = f"`{name}` holds {kind}{others}" + (f", and so did the input `{source}`." if source else ".")
    fix = None if source else Fix("--nans says which equation made it, of what.", options="--nans")
    yield Finding("nans", message, line or None, holder=source or name, fix=fix)


def _any_bad(arrays: list[Any], thorough: bool) -> bool:
    if not thorough and len(arrays) > _MOST_ARRAYS:
        arrays = sorted(arrays, key=lambda array: array.size)[:_MOST_ARRAYS]
    left = MOST_AT_FIRST if thorough else MOST_NUMBERS
    for array in arrays:
        left -= array.size
        if left < 0:
            return False
        if bad_kind(array, MOST_AT_FIRST):
            return True
    return False


def _wait_for(arrays: list[Any]) -> None:
    """Waits a little for results; beside tracing and compiling that is nothing, and most programs are done by then."""
    end = perf_counter() + WAIT
    while not all(array.is_deleted() or array.is_ready() for array in arrays) and perf_counter() < end:
        sleep(0.001)


def _is_there(array: Any) -> bool:
    """Whether an array was computed, and is still there."""
    return not array.is_deleted() and array.is_ready()


def bad_kind(value: Any, most: int) -> str:
    """Which of "nan" and "inf" an array holds; "" if none, or if it is not there or too large to be looked at.

    Args:
      value: anything.
      most: how many numbers it may have.
    """
    if not isinstance(value, jax.Array) or not is_inexact(value.dtype) or value.size > most:
        return ""
    if not _is_there(value) or not value.is_fully_addressable:
        return ""
    try:
        array = np.asarray(value)
    except jax.errors.JaxRuntimeError:  # that of the program which should have made it
        return ""
    if np.isfinite(array).all():
        return ""
    return "nan" if np.isnan(array).any() else "inf"
