"""The levels of a program, read from what staging made. Nothing is compiled here."""

from __future__ import annotations

import inspect as python_inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax

from jaxnb.cell import CellSource
from jaxnb.paths import render_path
from jaxnb.piece import Piece
from jaxnb.program import Computation, Finding, Level, Op, Program, Span
from jaxnb.readers.jaxpr import read_jaxpr
from jaxnb.readers.source import Statement, link_source, read_source

__all__ = ["read_function", "read_program"]


def read_program(
    cell: CellSource,
    statements: Sequence[Statement],
    pieces: tuple[Piece, ...],
    findings: tuple[Finding, ...],
    file_label: Callable[[str], str] = str,
) -> Program:
    """The source and jaxpr levels of a staged cell, one entry computation a piece.

    Args:
      cell: that was staged.
      statements: where each stands, and whether it was "staged" or run on the "host", see `read_source`.
      pieces: that ran.
      findings: of the run.
      file_label: turns the file name of another cell into what the user knows it by, such as "Cell In[3]".
    """
    source = read_source(cell.shown, statements)
    jaxprs = [_read_piece(cell, piece, file_label) for piece in pieces]
    jaxpr = _joined(jaxprs)
    if jaxpr is None:
        return Program(cell.shown, (source,), (), findings)
    return Program(cell.shown, (source, jaxpr), link_source(source, jaxpr), findings)


def _read_piece(cell: CellSource, piece: Piece, file_label: Callable[[str], str]) -> Level:
    names = tuple(render_path(path) for path in piece.paths)
    count = len(piece.jaxpr.jaxpr.invars)
    padded = ("",) * (count - len(names)) + names if count >= len(names) else ()
    return read_jaxpr(
        piece.jaxpr, cell_file=cell.filename, invar_names=padded, source=cell.shown, file_label=file_label
    )


def _joined(levels: list[Level]) -> Level | None:
    """One level of several: their entry computations first."""
    if len(levels) <= 1:
        return levels[0] if levels else None
    values = [value for level in levels for value in level.values]
    entries = [(n, i) for n, level in enumerate(levels) for i in range(level.entries)]
    bodies = [(n, i) for n, level in enumerate(levels) for i in range(level.entries, len(level.computations))]
    place = {pair: index for index, pair in enumerate([*entries, *bodies])}
    shifts = [sum(len(level.values) for level in levels[:n]) for n in range(len(levels))]
    computations = [_shifted(levels[n].computations[i], shifts[n], n, place) for n, i in [*entries, *bodies]]
    return Level(levels[0].name, tuple(values), tuple(computations), len(entries))


def _shifted(computation: Computation, by: int, level: int, place: dict[tuple[int, int], int]) -> Computation:
    from dataclasses import replace

    def move(indices: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(index + by for index in indices)

    ops = tuple(
        replace(
            op,
            inputs=move(op.inputs),
            outputs=move(op.outputs),
            bodies=tuple(place[level, b] for b in op.bodies),
        )
        for op in computation.ops
    )
    constants = move(computation.constants)
    return replace(
        computation,
        inputs=move(computation.inputs),
        outputs=move(computation.outputs),
        ops=ops,
        constants=constants,
    )


def read_function(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Program:
    """The source and jaxpr of a function at these arguments; it is traced, not run."""
    jaxpr = jax.jit(function).trace(*args, **kwargs).jaxpr
    try:
        lines, first = python_inspect.getsourcelines(function)
        file = python_inspect.getsourcefile(function) or ""
    except (OSError, TypeError):
        lines, first, file = [], 1, ""
    source = "".join(lines)
    level = read_jaxpr(jaxpr, cell_file="", source="")
    if file:
        level = _at_home(level, file, first, len(lines))
    spans = [(Span(1, 0, len(lines), len(lines[-1])), "staged")] if lines else []
    top = read_source(source, spans)
    return Program(source, (top, level), link_source(top, level))


def _at_home(level: Level, file: str, first: int, count: int) -> Level:
    """The same level with spans in `file` counted from the first line of the function."""
    from dataclasses import replace

    def home(op: Op) -> Op:
        span = op.span
        if span is None or span.file != file or not first <= span.line < first + count:
            return op
        back = first - 1
        return replace(op, span=replace(span, file="", line=span.line - back, end_line=span.end_line - back))

    computations = tuple(replace(c, ops=tuple(home(op) for op in c.ops)) for c in level.computations)
    return replace(level, computations=computations)
