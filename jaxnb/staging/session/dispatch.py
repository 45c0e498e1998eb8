"""From a traced piece to results: compiling and running."""

from __future__ import annotations

import hashlib
import re
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from time import perf_counter
from types import CodeType, FrameType
from typing import Any

import jax
import numpy as np

from jaxnb import _jax, reading
from jaxnb.errors import Refused, RunByPython
from jaxnb.runtime import is_installed
from jaxnb.staging.cells.code import names_of
from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.objects.paths import render_path, root_name
from jaxnb.staging.session.compile_cache import read_cache_events
from jaxnb.staging.trace.piece import Piece

__all__ = ["Deleted", "check_deleted", "compile_piece", "dispatch", "is_out_of_memory"]


class Deleted(Refused, RuntimeError):
    """An input of a piece has no buffer any more; nothing of the piece has run. JAX, too, raises a `RuntimeError`."""


def compile_piece(piece: Piece, others: Iterable[Piece] = ()) -> list[str]:
    """Lowers and compiles a piece, if it computes anything, and keeps the executable and the times in it.

    Args:
      piece: which one.
      others: programs of the same code: the executable of one that was lowered to the very same module serves.

    Returns:
      What JAX warns of: donated buffers that fit no result.
    """
    if piece.compiled is not None or not computes(piece):
        return []
    start = perf_counter()
    put_back = _jax.thread_state()
    try:
        with warnings.catch_warnings(record=True) as caught, _refuses_calls(piece):
            warnings.simplefilter("always")
            lowered = piece.lower()
        given = _jax.given_of(lowered)
        if given is not None:  # with names and lines
            piece.is_lowered((hashlib.blake2b(_jax.module_of(lowered), digest_size=16).digest(), *given))
        middle = perf_counter()
        same = [
            other
            for other in others
            if piece.module and other.compiled and (other.module, other.context) == (piece.module, piece.context)
        ]
        with _jax.note_cache() as events:
            compiled = same[0].compiled if same else reading.compile_lowered(lowered)
    except BaseException:
        put_back()  # an interrupt may have come where JAX would not
        raise
    seconds = perf_counter() - middle
    cache = read_cache_events(events, seconds, bool(piece.called_back)) if not same else ""
    piece.has_compiled(compiled, middle - start, seconds, cache)
    said: list[str] = []
    for warning in caught:
        if match := _UNUSED.match(str(warning.message)):
            said.append(f"donated in vain, because no result has its shape and dtype: {match[1]}")
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return said


_UNUSED = re.compile(r"Some donated buffers were not usable: (.*?)\.?$", re.MULTILINE)


@contextmanager
def _refuses_calls(piece: Piece) -> Generator[None]:
    """Refuses a program that a library lowers by calling functions of the user's again, which then read what names
    stand for at that moment and not what they are given.

    Raises:
      RunByPython: if one was called that reads an input of the piece, or what the cell binds.
    """
    if not _jax.lowered_by_others(piece.jaxpr):
        yield
        return
    names = {root_name(path) for path in piece.paths} | (piece.cell.binds if piece.cell is not None else frozenset())
    found: list[CodeType] = []

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and not is_installed(code.co_filename) and names_of(code).reads & names:
            found.append(code)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(before)
    if found:
        code = found[0]
        called, read = code.co_name, ", ".join(sorted(names_of(code).reads & names)[:3])
        own = piece.cell is not None and code.co_filename == piece.cell.filename
        raise RunByPython(
            f"`{called}` is called once more when the program is compiled, and reads `{read}` then.",
            short=f"a library calls {called} when it compiles",
            why="what that is in another run would not count.",
            fix=f"hand {read} to a function around it, as an argument.",
            line=code.co_firstlineno if own else None,
        )


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
