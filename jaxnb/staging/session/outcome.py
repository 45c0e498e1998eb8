"""What a run came to, read from the runner that ran it; what only those need who look is read when they do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from jaxnb.errors import Refused
from jaxnb.program import Program, Timing
from jaxnb.staging import export, levels
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.session.mapped import bind_map_function
from jaxnb.staging.session.runner import Runner
from jaxnb.staging.trace.piece import Piece

__all__ = [
    "bind_function",
    "bound_names",
    "check_name",
    "forget_others",
    "host_note",
    "measure_pieces",
    "source_of",
]


def host_note(cell: CellSource) -> tuple[str, str]:
    """What the line says of a cell of which nothing was compiled, and the kind of that."""
    kinds = {statement.kind for statement in cell.statements}
    if kinds <= {"FunctionDef", "AsyncFunctionDef", "ClassDef", "Import", "ImportFrom"}:
        return "nothing compiled: the cell only defines", "defined"
    return "nothing compiled: Python ran every statement", "nothing"


def bound_names(before: dict[str, Any], after: dict[str, Any], binds: frozenset[str]) -> dict[str, Any]:
    """The names that the cell bound, with their values: those that it says it binds, and those that it changed."""
    skipped = ("__builtins__", "__name__")
    return {
        name: value
        for name, value in after.items()
        if name not in skipped and (name in binds or name not in before or before[name] is not value)
    }


def forget_others(runner: Runner, entry: dict[str, Any], keep: tuple[str, ...]) -> None:
    """Puts back every name that is not to be kept."""
    namespace = runner.namespace
    for name in runner.cell.binds - set(keep):
        if name in entry:
            namespace[name] = entry[name]
        else:
            namespace.pop(name, None)


def check_name(cell: CellSource, name: str | None) -> None:
    """Refuses a name for the cell as a function that the cell itself uses.

    Raises:
      Refused: saying so.
    """
    if name is not None and name in cell.reads | cell.binds:
        raise Refused(
            f"--name {name}: the cell itself uses `{name}`.",
            why="the name is bound to the whole cell as a function.",
            fix="take another name.",
        )


def bind_function(runner: Runner, written: CellSource, name: str, entry: dict[str, Any]) -> str:
    """Binds the cell as a function, and says how it is called. A run that changes nothing keeps the function."""
    own = tuple(ran.piece for ran in runner.ran.values() if ran.cell is runner.cell)
    if runner.options.xmap is not None:
        return bind_map_function(runner, written, name, entry)
    function = export.as_function(runner.cell, own, entry, name)
    if not export.same_function(runner.namespace.get(name), function):
        runner.namespace[name] = function
    return f"{name}{inspect.signature(function)}"


def source_of(runner: Runner) -> Callable[[Any, str], str]:
    """What writes a run as a file, from the names as they are then. It holds no value of the run."""
    cell, namespace, value_and = runner.cell, runner.namespace, runner.options.value_and
    own = tuple(ran.piece for ran in runner.ran.values() if ran.cell is cell)

    def write(value: Any, name: str) -> str:
        asked = next((piece.derivative for piece in own if piece.derivative is not None), None)
        before = export.remember(cell, namespace, asked.inputs if asked is not None else frozenset())
        known = (*before, *sorted(cell.binds), *(asked.binds if asked is not None else ()))
        after = {name: namespace[name] for name in known if name in namespace}
        if value_and:  # what is shown is not the value of the last line
            value = None
        return export.to_source(cell, own, before, results=after, value=value, name=name, asked=asked)

    return write


def measure_pieces(runner: Runner, pieces: Sequence[Piece]) -> tuple[Timing, Callable[[Program], Program]]:
    """What `--time` measures of the pieces that ran, and what puts it on their program."""
    measured = levels.measure([runner.held.pop(id(piece)) for piece in pieces])
    return levels.summarize(measured), lambda program: levels.with_times(program, measured)
