"""What the names of a staged cell were, found when somebody asks: its pieces are traced once more, and nothing runs.

A piece is traced again only if it would be reused now: then everything that it depends on is what it was, so that the
trace shows what the first one would have shown, and it has no effects that are not put back, see SEMANTICS, rule 6.
Text that it prints is held back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb._jax import apart
from jaxnb.errors import JaxnbError
from jaxnb.program import Assigned, Span
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.objects.paths import render_path
from jaxnb.staging.reuse.cache import CodeRecord
from jaxnb.staging.trace.assigned import NameLog, log_names
from jaxnb.staging.trace.devices import on_device
from jaxnb.staging.trace.piece import Piece
from jaxnb.staging.trace.trace import Trace

__all__ = ["abstracted", "read_names", "read_names_of"]


def read_names(
    cell: CellSource,
    pieces: Sequence[Piece],
    record: CodeRecord,
    namespace: dict[str, Any],
    file_label: Callable[[str], str] = str,
) -> tuple[Assigned, ...]:
    """The abstract value of every name after each assignment that was traced, in the cell and in what it calls.

    Statements that Python runs are not traced, and have no entry. A function whose trace JAX keeps is gone through
    here once for each set of avals, however often the cell calls it.

    Args:
      cell: that was staged.
      pieces: that ran.
      record: of the cell, which holds the pieces.
      namespace: where the cell ran; it is afterwards as it was.
      file_label: turns the file name of another cell into what the user knows it by, such as "Cell In[3]".

    Raises:
      JaxnbError: if something that a piece depends on has changed since the cell ran, or it cannot be traced again
        without being noticed; the message says which.
    """
    log = NameLog(cell.filename, file_label)
    homes = list(_homes(cell, record))
    found: list[Assigned] = []
    for piece in pieces:
        if piece.assigned is not None:
            found.extend(piece.assigned)
            continue
        if piece.called is not None:
            raise _cannot(cell, piece, "the variables of a function are gone when it has returned")
        home = next((home for home in homes if any(piece is other for other in home[1].pieces)), None)
        if home is None:
            raise _cannot(cell, piece, "the program is not kept any more, or was not to be reused")
        with piece.simulated.ambient() if piece.simulated is not None else on_device(piece.key[0]):
            _trace_again(*home, piece, namespace, log)
    return _merged([*found, *log.assigned()])


def read_names_of(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    file: str = "",
    lines: range = range(0),
) -> tuple[Assigned, ...]:
    """The same for a function at these arguments, of which only the avals count; it is traced, not run.

    Args:
      function: anything that `jax.jit` takes.
      args, kwargs: of the function; `abstracted` arguments do.
      file: where the function stands.
      lines: where in it. Spans there count from the first of these lines, and have no file.

    >>> def double(x):
    ...     y = x * 2
    ...     return y
    >>> [(a.function, a.name, a.text) for a in read_names_of(double, (jax.ShapeDtypeStruct((3,), "float32"),), {})]
    [('double', 'x', 'float32[3]'), ('double', 'y', 'float32[3]')]
    """
    log = NameLog("")
    with log_names(log), apart():
        jax.jit(function).trace(*args, **kwargs)

    def home(span: Span) -> Span:
        if span.file != file or span.line not in lines:
            return span
        back = lines.start - 1
        return replace(span, file="", line=span.line - back, end_line=span.end_line - back)

    return tuple(replace(assigned, span=home(assigned.span)) for assigned in log.assigned())


def abstracted(arguments: Any) -> Any:
    """The same pytree with `jax.ShapeDtypeStruct` in the place of arrays, to be kept while the arrays need not be."""
    return jax.tree.map(_abstract, arguments)


def _abstract(leaf: Any) -> Any:
    if isinstance(leaf, jax.Array) and not _jax.is_tracer(leaf):
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=leaf.sharding, weak_type=_is_weak(leaf))
    if isinstance(leaf, np.ndarray | np.generic):
        return jax.ShapeDtypeStruct(leaf.shape, jax.dtypes.canonicalize_dtype(leaf.dtype))
    return leaf


def _is_weak(array: jax.Array) -> bool:
    return bool(getattr(jax.typeof(array), "weak_type", False))  # a key has no such thing


def _merged(assigned: Sequence[Assigned]) -> tuple[Assigned, ...]:
    """The same with one entry for what several pieces say alike, as the turns of a loop do."""
    times: dict[Assigned, int] = {}
    for one in assigned:
        alike = replace(one, times=0)
        times[alike] = times.get(alike, 0) + one.times
    return tuple(replace(alike, times=count) for alike, count in times.items())


def _homes(cell: CellSource, record: CodeRecord) -> Iterator[tuple[CellSource, CodeRecord]]:
    """The cell and the blocks inside its statements, each with what is kept of it."""
    yield cell, record
    for index, opened in record.opened.items():
        for block in opened.blocks:
            yield from _homes(block, record.within(index, block))


def _trace_again(cell: CellSource, record: CodeRecord, piece: Piece, namespace: dict[str, Any], log: NameLog) -> None:
    if piece.reasons:
        raise _cannot(cell, piece, piece.reasons[0][1])
    if piece.context != _jax.trace_context():
        raise _cannot(cell, piece, "JAX's configuration or mesh is another one now")
    try:
        scan = piece.plan.scan(namespace, record.choices)
        same = (piece.key[0], *scan.parts) == piece.key and piece.ready(scan.reached(), namespace) is not None
    except Exception as error:  # the walk over what the user holds now, which may be anything
        raise _cannot(cell, piece, f"{type(error).__name__}: {error}") from error
    if not same:
        raise _cannot(cell, piece, "something that it reads has changed since, perhaps by the cell itself")
    trace = Trace(cell, piece.plan, namespace, record.choices.copy())
    trace.whole, leaves = True, trace.scan.leaves
    if piece.simulated is not None:
        leaves = piece.simulated.place(leaves, [render_path(path) for path in trace.scan.paths])
    try:
        # A context of its own keeps JAX from handing out what it has traced before, without running it.
        with trace.outside, apart(), log_names(log):
            jax.jit(lambda *leaves: trace.run(leaves)).trace(*leaves)
    except JaxnbError:
        raise
    except Exception as error:  # whatever the cell raises, which it did not when it ran
        raise _cannot(cell, piece, f"{type(error).__name__}: {error}") from error
    finally:
        trace.outside.take_back()


def _cannot(cell: CellSource, piece: Piece, why: str) -> JaxnbError:
    line = (piece.called or cell.statements[piece.plan.start].span).line
    return JaxnbError(
        f"what the names were cannot be told: the program of line {line} cannot be traced again.",
        why=f"{why}.",
        fix="run the cell with %%jit --names, which takes them down as it is traced.",
    )
