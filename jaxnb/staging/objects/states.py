"""States of the process or thread that no attribute shows: how NumPy prints, how decimal numbers are rounded.

What reads such a state is a function or class of a library, and where the walk meets that, the state counts.
"""

from __future__ import annotations

import decimal
import logging
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxnb.staging.cells.code import Sees

if TYPE_CHECKING:
    from jaxnb.staging.objects.graph import Scan

__all__ = ["follow_state", "follow_texts"]


def _levels() -> dict[str | None, int]:
    """The levels of all loggers, and that below which nothing is logged at all."""
    loggers = list(logging.root.manager.loggerDict.items())
    levels = {name: logger.level for name, logger in loggers if isinstance(logger, logging.Logger) and logger.level}
    return {None: logging.root.manager.disable, "": logging.root.level, **levels}


def _decimals() -> tuple[Any, ...]:
    """How decimal numbers are computed in this thread; not what was signalled so far."""
    context = decimal.getcontext()
    trapped = tuple(kind.__name__ for kind, traps in context.traps.items() if traps)
    return (context.prec, context.rounding, context.Emin, context.Emax, context.capitals, context.clamp, *trapped)


def _filters() -> tuple[Any, ...]:
    return tuple(warnings.filters)


_PRINTING = ("numpy.get_printoptions()", np.get_printoptions)
_STATES: Sequence[tuple[str, Callable[[], Any], Sequence[Any]]] = [
    ("numpy.geterr()", np.geterr, [np.geterr]),
    (*_PRINTING, [np.get_printoptions]),
    ("logging.getLogger()", _levels, [logging.getLogger]),
    ("warnings.filters", _filters, [warnings.warn, warnings.warn_explicit]),
    ("decimal.getcontext()", _decimals, [decimal.Decimal, decimal.getcontext, decimal.localcontext]),
]
"""What each is called, what gives it, and whatever of a library reads it."""

_read_by = {id(value): (name, read) for name, read, readers in _STATES for value in readers}


def follow_state(scan: Scan, value: Any) -> None:
    """Visits the state that a function or class of a library reads, if it does."""
    state = _read_by.get(id(value))
    if state is not None:
        scan.library_state(*state)


def follow_texts(scan: Scan) -> None:
    """Visits how NumPy writes values, for code that makes texts."""
    if scan.sees & Sees.TEXTS:
        scan.library_state(*_PRINTING)
