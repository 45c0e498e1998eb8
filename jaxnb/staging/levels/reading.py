"""The levels of a program, read from what staging made.

Source and jaxpr are read at once. StableHLO and HLO are made when somebody asks for them: lowering is done anew, with
the same numbers in the names, and what is read of HLO is the executable that ran. See `lowering_stages`.
"""

from __future__ import annotations

import functools
import inspect as python_inspect
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import jax

from jaxnb._jax import input_shardings
from jaxnb.program import Assigned, Finding, Level, Program, Span, relocated
from jaxnb.reading import (
    Instances,
    SimulatedMesh,
    Statement,
    costs_of,
    link_source,
    read_jaxpr,
    read_source,
    simulated_mesh_of,
    with_costs,
)
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.cells.span_remap import relaid
from jaxnb.staging.levels.lowering_stages import LoweringStages, Stage, join_levels, piece_stage, traced_stage
from jaxnb.staging.levels.naming import abstracted, read_names_of
from jaxnb.staging.trace.instances import InstanceLog
from jaxnb.staging.trace.piece import Piece

__all__ = ["read_function", "read_program", "read_traced"]


def read_program(
    cell: CellSource,
    statements: Sequence[Statement],
    pieces: tuple[Piece, ...],
    findings: tuple[Finding, ...],
    file_label: Callable[[str], str] = str,
    names: Callable[[], tuple[Assigned, ...]] = tuple,
) -> Program:
    """The source and jaxpr levels of a staged cell, one entry computation a piece; further ones when asked for.

    Args:
      cell: that was staged.
      statements: where each stands, and whether it was "staged" or run on the "host", see `read_source`.
      pieces: that ran.
      findings: of the run.
      file_label: turns the file name of another cell into what the user knows it by, such as "Cell In[3]".
      names: tells what every name was after each assignment; asked when somebody looks.
    """
    source = read_source(cell.shown, statements)
    if not pieces:
        return Program(cell.shown, (source,), (), findings)
    jaxprs = [_read_piece(cell, piece, file_label) for piece in pieces]
    jaxpr, _ = join_levels(jaxprs)
    stages = [_stage(cell, piece, level, file_label) for piece, level in zip(pieces, jaxprs, strict=True)]
    ladder = LoweringStages(stages, names, (cell.filename, cell.shown, file_label))
    return Program(cell.shown, (source, jaxpr), link_source(source, jaxpr), findings, _maker=ladder)


def _stage(cell: CellSource, piece: Piece, level: Level, file_label: Callable[[str], str]) -> Stage:
    """What goes on with a piece goes on with the numbers, also where the jaxpr is shown with names for sizes."""
    if piece.general is None:
        return piece_stage(piece, level)
    return replace(piece_stage(piece, _read_one(cell, piece, piece.jaxpr, file_label)), general=level)


def _read_piece(cell: CellSource, piece: Piece, file_label: Callable[[str], str]) -> Level:
    return _read_one(cell, piece, piece.general if piece.general is not None else piece.jaxpr, file_label)


def _read_one(cell: CellSource, piece: Piece, jaxpr: Any, file_label: Callable[[str], str]) -> Level:
    """The level of a piece: of its own jaxpr, or of that with names for sizes. What it costs is that of its own."""
    traced = piece.cell or cell
    level = read_jaxpr(
        jaxpr,
        cell_file=traced.filename,
        invar_names=_unless_bare(piece.input_names()),
        outvar_names=_unless_bare(piece.output_names()),
        source=traced.shown,
        file_label=file_label,
        called=piece.called,
        instances=piece.instances.of if piece.instances is not None else lambda _: (),
    )
    return with_costs(_spread(relaid(level, traced, cell), piece.traced), costs_of(piece.jaxpr))


def _unless_bare(names: Sequence[str]) -> Sequence[str]:
    return names if any(names) else ()


def _spread(level: Level, traced: Any) -> Level:
    """The same level, whose inputs say how they are spread over devices, if any is."""
    shardings, inputs = input_shardings(traced), level.computations[0].inputs
    if not any(shardings) or len(shardings) != len(inputs):
        return level
    values = list(level.values)
    for index, sharding in zip(inputs, shardings, strict=True):
        values[index] = replace(values[index], sharding=sharding or values[index].sharding)
    return replace(level, values=tuple(values))


def read_function(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    simulated: SimulatedMesh | None = None,
) -> Program:
    """The source and jaxpr of a function at these arguments; it is traced, not run. Further levels when asked for.

    Args:
      function: anything that `jax.jit` takes.
      args: arrays or shapes.
      kwargs: likewise.
      simulated: the mesh that is not there for which it is traced; by default that of the shapes, if they have one.
    """
    if simulated is None:
        simulated = simulated_mesh_of(jax.tree.leaves((args, kwargs)))
    log = InstanceLog()
    if simulated is None:
        with log.noting():
            traced = jax.jit(function).trace(*args, **kwargs)
        return read_traced(function, traced, args, kwargs, instances=log.of)
    placed, tree = jax.tree_util.tree_flatten_with_path((args, kwargs))
    names = [jax.tree_util.keystr(path) for path, _ in placed]
    given, named = jax.tree.unflatten(tree, simulated.place([leaf for _, leaf in placed], names))
    with simulated.ambient(), log.noting():
        traced = jax.jit(function).trace(*given, **named)
    return read_traced(function, traced, given, named, simulated=simulated, instances=log.of)


def read_traced(
    function: Callable[..., Any],
    traced: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    simulated: SimulatedMesh | None = None,
    compiled: Any = None,
    instances: Callable[[Any], Instances] = lambda traceback: (),
) -> Program:
    """The same of a function that was traced already.

    Args:
      function: that was traced.
      traced: JAX's own traced stage.
      args: that it was traced with.
      kwargs: likewise.
      simulated: the mesh that is not there for which it was traced; None for the devices that there are.
      compiled: the executable, if there is one.
      instances: the objects whose methods its equations were made in, see `InstanceLog`.
    """
    try:
        written = _written(function)
        lines, first = python_inspect.getsourcelines(written)
        file = python_inspect.getsourcefile(written) or ""
    except (OSError, TypeError):
        lines, first, file = [], 1, ""
    source = "".join(lines).removesuffix("\n")
    level = read_jaxpr(
        traced.jaxpr,
        cell_file="",
        is_cell=lambda code: code.co_firstlineno == first and code.co_filename == file,
        instances=instances,
    )
    level = with_costs(_spread(level, traced), costs_of(traced.jaxpr))
    if file:
        level = _at_home(level, file, first, len(lines))
    spans = [(Span(1, 0, len(lines), len(lines[-1])), "staged")] if lines else []
    top = read_source(source, spans)
    arguments, there = abstracted((args, kwargs)), range(first, first + len(lines))

    def names() -> tuple[Assigned, ...]:
        with simulated.ambient() if simulated is not None else nullcontext():
            return read_names_of(function, arguments[0], arguments[1], file, there)

    ladder = LoweringStages(
        [traced_stage(traced, level, simulated=simulated, compiled=compiled)],
        names,
    )
    return Program(source, (top, level), link_source(top, level), _maker=ladder)


def _written(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that somebody wrote, below what was put around it: `jax.grad`, `jax.jit`, `functools.partial`."""
    while True:
        function = python_inspect.unwrap(function)
        if not isinstance(function, functools.partial):
            return function
        function = function.func


def _at_home(level: Level, file: str, first: int, count: int) -> Level:
    """The same level with spans in `file` counted from the first line of the function."""

    def home(span: Span) -> Span:
        if span.file != file or not first <= span.line < first + count:
            return span
        back = first - 1
        return replace(span, file="", line=span.line - back, end_line=span.end_line - back)

    return relocated(level, home)
