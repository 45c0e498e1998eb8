"""What a run came to, read from the execution that ran it; what only those need who look is read when they do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jaxnb.staging as room
from jaxnb import _jax
from jaxnb.errors import Refused
from jaxnb.program import Assigned, Finding, Program, Severity, Timing, severity_of
from jaxnb.staging import export, levels
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.session.compile_cache import cache_words
from jaxnb.staging.session.execution import Execution
from jaxnb.staging.session.fates import read_fates
from jaxnb.staging.session.mapped import bind_map_function, of_a_map
from jaxnb.staging.session.run import Timings
from jaxnb.staging.trace.gradient import value_and_derivative
from jaxnb.staging.trace.piece import Piece
from jaxnb.staging.trace.reasons import reason_text

__all__ = [
    "bind_function",
    "bound_names",
    "check_name",
    "exporter_of",
    "findings_of",
    "findings_of_traced",
    "forget_others",
    "host_note",
    "measure_pieces",
    "note_of",
    "outputs_of",
    "program_of",
    "sizes_of",
    "timings_of",
    "value_of",
    "what_ran",
]

WithTimes = Callable[[Program], Program]
"""Puts what was measured on a program."""


def findings_of(execution: Execution) -> list[Finding]:
    """What the run itself and its programs have to say."""
    findings = list(execution.findings)
    for piece in execution.pieces:
        findings += [
            Finding(kind, text, line, folded=severity_of(kind) is Severity.FACT) for kind, line, text in piece.notes
        ]
    for piece in execution.pieces:
        for line, text in piece.reasons:
            findings.append(Finding("not-reusable", f"not reusable: {reason_text(line, text)}", line))
    return findings


def findings_of_traced(piece: Piece) -> list[Finding]:
    """What there is to say of the sizes of a piece that was only traced."""
    return [Finding(kind, text, line, folded=True) for kind, line, text in piece.notes if kind == "sizes"]


def timings_of(execution: Execution, seconds: float | None) -> Timings:
    """How long a run took; `seconds` until its results were there, if that was waited for."""
    traced, compiled = execution.traced, (*execution.traced, *execution.sized)
    return Timings(
        trace=execution.trace_seconds if traced else 0.0,
        lower=sum(piece.lower_seconds for piece in compiled),
        compile=sum(piece.compile_seconds for piece in compiled),
        run=seconds,
        host=execution.host_seconds,
        cache=cache_words(piece.from_cache for piece in compiled),
    )


def sizes_of(execution: Execution) -> tuple[str, str]:
    """The names of the sizes that a program of this run was made for, and how large each named size is; "" for none."""
    of = [piece for piece in execution.pieces if piece.named is not None]
    made = [piece for piece in (*execution.traced, *execution.sized) if piece.named is not None]
    names = dict.fromkeys(name for piece in made if piece.named is not None for name in piece.named.values)
    return ", ".join(names), ", ".join(dict.fromkeys(str(piece.named) for piece in of))


def note_of(execution: Execution) -> tuple[str, str]:
    """What the line says of a run that compiled nothing, and the kind of that; empty for another one."""
    if execution.pieces:
        return "", ""
    if execution.runs_plainly:
        checks = _jax.value_checks()
        return f"nothing compiled: {checks} is set, and Python ran every statement", host_note(execution.cell)[1]
    return host_note(execution.cell)


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


def outputs_of(execution: Execution, entry: dict[str, Any]) -> dict[str, Any]:
    """The names that a run bound, with their values.

    Args:
      execution: the run.
      entry: the names when it began.
    """
    namespace, name = execution.namespace, execution.options.name
    outputs = bound_names(entry, namespace, execution.cell.binds)
    if name is not None:
        outputs[name] = namespace[name]
    return outputs


def value_of(execution: Execution) -> Any:
    """What a cell shows: its last line, or the value and the derivative that were asked for."""
    if execution.cell.silent:
        return None
    if execution.asked is not None and execution.options.value_and:
        return value_and_derivative(execution.asked, execution.namespace)
    return execution.value


def forget_others(execution: Execution, entry: dict[str, Any], keep: tuple[str, ...]) -> None:
    """Puts back every name that is not to be kept."""
    namespace = execution.namespace
    for name in execution.cell.binds - set(keep):
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


def bind_function(execution: Execution, written: CellSource, name: str, entry: dict[str, Any]) -> str:
    """Binds the cell as a function, and says how it is called. A run that changes nothing keeps the function."""
    own = tuple(ran.piece for ran in execution.ran.values() if ran.cell is execution.cell)
    if execution.options.xmap is not None:
        return bind_map_function(execution, written, name, entry)
    function = export.as_function(execution.cell, own, entry, name)
    if not export.same_function(execution.namespace.get(name), function):
        execution.namespace[name] = function
    return f"{name}{inspect.signature(function)}"


def what_ran(
    execution: Execution, written: CellSource, entry: dict[str, Any]
) -> tuple[str, int, Callable[[Any, str], str] | None]:
    """The derivative or map of a run, as the line says it; of how many equations; and what writes it as a file.

    Args:
      execution: the run.
      written: the cell as it is written.
      entry: the names when it began.
    """
    if execution.options.xmap is not None:
        return of_a_map(execution, written, entry)
    pieces, asked = execution.pieces, execution.asked
    derivative = str(asked) if asked is not None else ""
    equations = sum(piece.read_figures().equations for piece in pieces)
    return derivative, equations, _source_of(execution) if pieces else None


def program_of(
    execution: Execution, findings: tuple[Finding, ...], with_times: WithTimes | None, label: Callable[[str], str]
) -> Callable[..., Program]:
    """What makes the program of a run, given what reads the values of its names. It holds no value of the run.

    Args:
      execution: the run.
      findings: what was found in it.
      with_times: puts on it what was measured.
      label: what the user knows a file by.
    """
    cell, record, pieces, staged = execution.cell, execution.record, execution.pieces, execution.staged()

    def make(names: Callable[[], tuple[Assigned, ...]] = tuple) -> Program:
        fates = read_fates(cell, record, staged)
        program = levels.read_program(cell, fates, pieces, findings, label, names)
        return program if with_times is None else with_times(program)

    return make


def exporter_of(execution: Execution, program: Callable[[], Program]) -> Callable[[str], None]:
    """What writes a run as a file that holds its program, given the path. It holds no value of the run.

    Args:
      execution: the run.
      program: reads what the cell became.
    """
    told = execution.cell, execution.record, execution.options, frozenset(execution.host_lines)
    pieces, namespace, device = execution.pieces, execution.namespace, execution.device

    def write(path: str) -> None:
        room.export_again(room.Source(*told), pieces, namespace, device, program, path)

    return write


def _source_of(execution: Execution) -> Callable[[Any, str], str]:
    """What writes a run as a file, from the names as they are then. It holds no value of the run."""
    cell, namespace, value_and = execution.cell, execution.namespace, execution.options.value_and
    own = tuple(ran.piece for ran in execution.ran.values() if ran.cell is cell)

    def write(value: Any, name: str) -> str:
        asked = next((piece.derivative for piece in own if piece.derivative is not None), None)
        before = export.remember(cell, namespace, asked.inputs if asked is not None else frozenset())
        known = (*before, *sorted(cell.binds), *(asked.binds if asked is not None else ()))
        after = {name: namespace[name] for name in known if name in namespace}
        if value_and:  # what is shown is not the value of the last line
            value = None
        return export.to_source(cell, own, before, results=after, value=value, name=name, asked=asked)

    return write


def measure_pieces(execution: Execution, pieces: Sequence[Piece]) -> tuple[Timing, WithTimes]:
    """What `--time` measures of the pieces that ran, and what puts it on their program."""
    measured = levels.measure([execution.held.pop(id(piece)) for piece in pieces])
    return levels.summarize(measured), lambda program: levels.with_times(program, measured)
