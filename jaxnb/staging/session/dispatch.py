"""From a traced piece to results: compiling and running."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import jax
import numpy as np

from jaxnb import _jax, reading
from jaxnb.errors import Refused
from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.objects.paths import render_path
from jaxnb.staging.session.compile_cache import read_cache_events
from jaxnb.staging.trace.piece import Piece

__all__ = ["Deleted", "check_deleted", "compile_piece", "dispatch", "is_out_of_memory"]


class Deleted(Refused):
    """An input of a piece has no buffer any more; nothing of the piece has run."""


def compile_piece(piece: Piece) -> list[str]:
    """Lowers and compiles a piece, if it computes anything, and keeps the executable and the times in it.

    Returns:
      What JAX warns of: donated buffers that fit no result.
    """
    if piece.compiled is not None or not computes(piece):
        return []
    start = perf_counter()
    put_back = _jax.thread_state()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lowered = piece.lower()
        middle = perf_counter()
        with _jax.note_cache() as events:
            compiled = reading.compile_lowered(lowered)
    except BaseException:
        put_back()  # an interrupt may have come where JAX would not
        raise
    seconds = perf_counter() - middle
    piece.has_compiled(compiled, middle - start, seconds, read_cache_events(events, seconds, bool(piece.called_back)))
    said: list[str] = []
    for warning in caught:
        if match := _UNUSED.match(str(warning.message)):
            said.append(f"donated in vain, because no result has its shape and dtype: {match[1]}")
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return said


_UNUSED = re.compile(r"Some donated buffers were not usable: (.*?)\.?$", re.MULTILINE)


def computes(piece: Piece) -> bool:
    """Whether there is anything to run: results, or effects such as `jax.debug.print`."""
    return piece.n_outputs > 0 or bool(piece.jaxpr.effects)


def dispatch(
    piece: Piece, reached: Reached, arguments: Sequence[Any], donated_by: Callable[[Any], str | None] = lambda _: None
) -> list[Any]:
    """Starts the program and returns its results, which may still be computed.

    Args:
      piece: whose program it is.
      reached: in this run.
      arguments: the leaves, or what the prelude of the piece makes of them.
      donated_by: which line gave up an array, where that is known.

    Raises:
      Deleted: if an input was deleted, naming it.
    """
    if piece.compiled is None:
        return []
    try:
        # A NumPy array may be written to as soon as this returns, while the program still reads it.
        return piece.compiled(*(leaf.copy() if type(leaf) is np.ndarray else leaf for leaf in arguments))
    except RuntimeError as error:
        if not is_out_of_memory(error):  # then what was donated may be gone, and that is not the reason
            check_deleted(reached, donated_by)
        raise
    except Exception as error:
        if not piece.donation.leaves:
            _jax.raise_bad_value(error, piece.jaxpr, arguments)
        raise


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device did not have the memory that a program asked for."""
    return isinstance(error, jax.errors.JaxRuntimeError) and str(error).startswith("RESOURCE_EXHAUSTED")


def check_deleted(reached: Reached, donated_by: Callable[[Any], str | None]) -> None:
    """Raises a `Deleted` that names the first input whose buffer is gone, if there is one."""
    for path, leaf in zip(reached.paths, reached.leaves, strict=True):
        if isinstance(leaf, jax.Array) and leaf.is_deleted():
            name = render_path(path)
            line = donated_by(leaf)
            raise Deleted(
                f"`{name}` was deleted: its buffer is gone, and only its shape is left.",
                why=f"{line} donated it." if line else "it was donated to an earlier computation, or deleted by hand.",
                fix=f"make `{name}` again before this cell.",
            ) from None
