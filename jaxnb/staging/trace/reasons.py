"""Why a piece must not be used again, each reason with the line that it comes from (SEMANTICS, rule 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from jaxnb import _jax
from jaxnb.errors import KeepsTraced
from jaxnb.staging.cells.cell import CellSource, Statement
from jaxnb.staging.cells.code import Sees
from jaxnb.staging.cells.effects import first_unseen
from jaxnb.staging.objects.graph import Scan
from jaxnb.staging.objects.paths import Path, render_path, root_name
from jaxnb.staging.objects.referrers import paths_to
from jaxnb.staging.trace.ran import LARGE

__all__ = [
    "Reason",
    "find_reasons",
    "keeps_traced",
    "line_changing",
    "line_reading",
    "reached_effects",
    "reason_text",
    "statement_of",
    "using_effect",
    "where_held",
]

Reason = tuple[int | None, str]
"""A line of the cell as shown, where one can be told, and what stands there."""


def find_reasons(
    cell: CellSource, statements: Sequence[Statement], namespace: dict[str, Any], scan: Scan, jaxpr: Any
) -> list[Reason]:
    """What statements do that a replay of their program would leave out.

    Args:
      cell: that they stand in.
      statements: of the piece.
      namespace: as it was before them.
      scan: of what they reach.
      jaxpr: that they became.
    """
    found: list[Reason] = []
    readers = Counter(name for statement in statements for name in statement.names.reads)
    for statement in statements:
        names = statement.names
        if statement.defines and not any(readers[name] > (name in names.reads) for name in names.binds):
            continue  # a function that nothing else here calls
        effect = first_unseen(names, namespace, scan.ran)
        if effect is not None:
            found.append((statement.span.line, effect[1]))
    for path, text in reached_effects(scan):
        found.append((line_reading(statements, root_name(path)), f"{render_path(path)}: {text}"))
    followed = {id(node) for node in scan.nodes}
    captured = {id(array): array for array in _jax.captured_arrays(jaxpr) if id(array) not in followed}
    # what the names of the user do not lead to was made by the trace, or is a constant of a library
    homes = [((None, "name", str(home.get("__name__"))), home) for home in scan.namespaces]
    for key in paths_to(namespace, set(captured), homes) if captured else ():
        if (array := captured.get(key)) is not None:
            text = f"a {array.aval.str_short()} array is held where staging cannot follow, and is baked in"
            found.append((_line_using(array, jaxpr, cell), text))
    return found


def reached_effects(scan: Scan) -> list[tuple[Path, str]]:
    """What moves on when it is used, such as a file that an object holds: where it is, and what it is.

    What only methods use that the code does not call is left out: an object that merely holds something does no harm.
    """
    used = _used_attributes(scan)
    return list(dict.fromkeys((path, text) for path, text in scan.effects if path[1] != "attr" or path[2] in used))


_MAKERS = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__"})


def _used_attributes(scan: Scan) -> set[Any]:
    """Attributes that the code may read, by way of the methods that it may call; special methods are called unseen."""
    every = {path[2] for path, _ in scan.effects if str(path[2]).startswith("__")} | {by for by, _ in scan.uses if by}
    if scan.sees & (Sees.ATTRIBUTES | Sees.NAMES):
        return every | scan.attributes
    used = {name for name in every if name.startswith("__")} - (set[str]() if scan.constructs else _MAKERS)
    waiting = set(scan.uses)
    while ready := {item for item in waiting if item[0] is None or item[0] in used}:
        waiting -= ready
        used |= {name for _, names in ready for name in names}
    return used


def using_effect(
    statements: Sequence[Statement], scan: Scan, alone: Callable[[Statement], Scan]
) -> tuple[Statement, str] | None:
    """The first statement that takes such a thing from an object, as `box.out.write(text)` does, and what.

    Of what is alive, reading its name is enough. What keeps a state may be taken by a method, too, as `loader.draw()`
    does: a trace would move it on, and be given up.

    Args:
      statements: of the piece.
      scan: of what they reach.
      alone: walks what one of them reaches.
    """
    for statement in statements:
        for path, text in scan.alive:
            named = path[1] != "attr" or path[2] in statement.names.attributes
            if named and root_name(path) in statement.names.reads:
                return statement, f"{render_path(path)}: {text}"
        for path, text in reached_effects(scan):
            if root_name(path) in statement.names.reads and path[2] in statement.names.attributes:
                return statement, f"{render_path(path)}: {text}"
    if _moved_on(scan):
        for statement in statements:
            own = alone(statement)
            # of a large package or model only a trace tells what runs
            if not statement.defines and len(own.parts) <= LARGE and (found := _moved_on(own)) is not None:
                return statement, found
    return None


def _moved_on(scan: Scan) -> str | None:
    """What calls of methods and helpers move on, the first of them."""
    moving = (item for item in reached_effects(scan) if item in scan.moving)
    return next((f"{render_path(path)}: {text}" for path, text in moving), None)


def line_reading(statements: Sequence[Statement], name: str | None) -> int | None:
    """The line of the first statement that reads a name; of the only statement, if there is one."""
    return _line(statements, [item for item in statements if name in item.names.reads])


def line_changing(statements: Sequence[Statement], name: str | None) -> int | None:
    """The line of the last statement that binds a name, or else changes what it holds."""
    binding = [item for item in statements if name in item.names.binds]
    changing = [item for item in statements if name in item.names.reads and item.names.mutates]
    reading = [item for item in statements if name in item.names.reads]
    return _line(statements, (binding or changing or reading)[::-1])


def _line(statements: Sequence[Statement], chosen: Sequence[Statement]) -> int | None:
    if not chosen and len(statements) == 1:
        chosen = statements
    return chosen[0].span.line if chosen else None


def where_held(namespace: dict[str, Any], item: object) -> Path | None:
    """The shortest path by which the names of a namespace lead to an object."""
    return next(iter(paths_to(namespace, {id(item)}).get(id(item), ())), None)


def keeps_traced(what: str, tracer: Any, namespace: dict[str, Any], line: int | None) -> KeepsTraced:
    """The error of a cell that keeps a tracer of an inner transformation, with the tracer and who holds it.

    Args:
      what: keeps it, such as "an item of a list".
      tracer: it.
      namespace: the names as they are while the cell runs; they are put back afterwards.
      line: of the statement.
    """
    found = KeepsTraced(
        f"{what} keeps a traced value of {_jax.transformation_of(tracer)}.",
        why="it existed only while a function was transformed; the plain cell leaves a leaked tracer there.",
        fix="return it from the function (has_aux=True for grad), or carry it through scan.",
        line=line,
    )
    path = where_held(namespace, tracer)
    found.tracer, found.holder = tracer, render_path(path) if path is not None else ""
    return found


def _line_using(array: Any, jaxpr: Any, cell: CellSource) -> int | None:
    """The line of the cell where the first equation that reads a constant of a jaxpr, or of one in it, stands."""
    stack = [jaxpr]
    while stack:
        closed = stack.pop()
        mine = _jax.open_jaxpr(closed)
        consts = getattr(closed, "consts", ())
        variables = [var for var, value in zip(mine.constvars, consts, strict=True) if value is array] if consts else []
        for eqn in mine.eqns:
            if any(operand is var for operand in eqn.invars for var in variables):
                return next((place.line for place in _jax.eqn_places(eqn) if place.file == cell.filename), None)
            stack.extend(part for part in eqn.params.values() if hasattr(part, "eqns"))
    return None


def statement_of(cell: CellSource, error: Exception) -> int | None:
    """Which statement of a cell an error comes from."""
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == cell.filename:
            for index, statement in enumerate(cell.statements):
                if statement.span.line <= traceback.tb_lineno <= statement.span.end_line:
                    return index
        traceback = traceback.tb_next
    return None


def reason_text(line: int | None, text: str) -> str:
    """A reason with its line, if it has one."""
    return f"line {line}, {text}" if line is not None else text
