"""What can be a file of a cell that has run: the cell, the structures that its names had, and what refuses it."""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxnb import _jax, exported
from jaxnb.errors import Refused
from jaxnb.exported import OTHER, Node
from jaxnb.options import StageOptions
from jaxnb.staging.cells.cell import CellSource, Statement
from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.objects.paths import Path, render_path
from jaxnb.staging.reuse.cache import CodeRecord
from jaxnb.staging.session.execution import Execution, Ran
from jaxnb.staging.trace.piece import Piece
from jaxnb.staging.trace.reasons import line_reading

__all__ = [
    "DEEPEST",
    "FUNCTIONS",
    "NUMBERS",
    "Entry",
    "Source",
    "check_effects",
    "check_ran_whole",
    "described",
    "ran_by_python",
    "shape_of",
    "shown_names",
]

FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type, partial)
NUMBERS = (bool, int, float, complex)
DEEPEST = 90
"""How deep structures may be nested."""
_DEFINITIONS = frozenset({"FunctionDef", "ClassDef", "Import", "ImportFrom", "Pass"})
_HISTORY = frozenset({"In", "Out", "get_ipython", "exit", "quit", "open"})
_ONLY_WHOLE = "only a cell that is staged whole, as one program, can be exported."


class Source(NamedTuple):
    """The cell of a run, and what is known of its code.

    Attributes:
      cell: as it was staged.
      record: what is kept of its code.
      options: of the run.
      host_lines: the lines that Python ran.
    """

    cell: CellSource
    record: CodeRecord
    options: StageOptions
    host_lines: frozenset[int]

    @classmethod
    def of(cls, execution: Execution) -> Source:
        """What is to be known of a run; it holds no array."""
        return cls(execution.cell, execution.record, execution.options, frozenset(execution.host_lines))

    def refuse(self, what: str, why: str, fix: str = "", line: int | None = None) -> Refused:
        """What is raised where the cell cannot be a file."""
        told = f"line {line}: " if line is not None and "line" not in what else ""
        return Refused(f"the cell cannot be exported: {told}{what}", why=why, fix=fix, line=line)

    def line_of(self, name: str | None) -> int | None:
        """The first line that reads a name, or else binds it."""
        if name is None:
            return None
        line = line_reading(self.cell.statements, name)
        return line or next((item.span.line for item in self.cell.statements if name in item.names.binds), None)


@dataclass(slots=True)
class Entry:
    """The structures of the values that names had when a run began: the cell may change them in place.

    Attributes:
      nodes: by name; the index of a leaf is a position in `leaves`.
      leaves: where each stands, its id, and its value if it is a number.
      inside: the ids of the containers below each name.
    """

    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    leaves: list[tuple[Path, int, Any]] = field(default_factory=list[tuple[Path, int, Any]])
    inside: dict[str, set[int]] = field(default_factory=dict[str, set[int]])

    @classmethod
    def of(cls, cell: CellSource, namespace: Mapping[str, Any]) -> Entry:
        """The structures as they are now."""
        made = cls()
        for name, value in namespace.items():
            if name in cell.reads or not (name.startswith("_") or name in _HISTORY):
                inside = made.inside[name] = set[int]()
                made.nodes[name] = made._node(value, (None, "name", name), inside, 0)
        return made

    def _node(self, value: Any, path: Path, inside: set[int], depth: int) -> Node:
        if isinstance(value, jax.Array | np.ndarray | np.generic) or type(value) in NUMBERS:
            self.leaves.append((path, id(value), value if type(value) in NUMBERS else None))
            return Node("leaf", len(self.leaves) - 1)
        shape = shape_of(value) if depth < DEEPEST and id(value) not in inside else None
        if shape is None:
            return exported.scalar_node(value) or Node(OTHER, value=described(value))
        inside.add(id(value))
        node, keys, items = shape
        parts = [self._node(item, (path, "item", key), inside, depth + 1)
                 for key, item in zip(keys, items, strict=True)]  # fmt: skip
        return replace(node, items=tuple(parts))


def shape_of(value: Any) -> tuple[Node, Sequence[Any], Sequence[Any]] | None:
    """A container without its parts, and these by their keys; None for what is none that a file knows."""
    kind: Any = type(value)
    whole: Any = value
    if isinstance(value, dict) and kind.__module__ in ("builtins", "collections"):
        keys = list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        if not all(type(key) in (str, int, bool, float) for key in keys):  # pyright: ignore
            return None
        return Node("dict", keys=tuple(keys)), keys, list(value.values())  # pyright: ignore
    fields = getattr(kind, "_fields", None)
    if isinstance(value, tuple) and isinstance(fields, tuple) and len(fields) == len(value):  # pyright: ignore
        if not all(str(name).isidentifier() and not str(name).startswith("_") for name in (kind.__name__, *fields)):  # pyright: ignore
            return None
        return Node("namedtuple", value=kind.__name__, keys=fields), range(len(fields)), whole
    if kind in (list, tuple):
        return Node(kind.__name__), range(len(value)), whole
    return None


def described(value: Any) -> str:
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
        return f"function {value.__name__}"
    if isinstance(value, types.ModuleType):
        return "module"
    return f"class {value.__name__}" if isinstance(value, type) else f"an object of {type(value).__name__}"


def check_ran_whole(source: Source, ran: Sequence[Ran], namespace: Mapping[str, Any]) -> None:
    """Refuses a cell of which Python ran a part, or that is several programs.

    Raises:
      Refused: saying which line is the reason.
    """
    reasons = dict(source.record.on_host.values())
    for statement in source.cell.statements:
        lines = range(statement.span.line, statement.span.end_line + 1)
        line = next((line for line in lines if line in source.host_lines), None)
        if line is None or _only_defines(statement, namespace):
            continue
        line = next((at for at in lines if at in reasons), line)
        why = reasons.get(line, "it computes nothing with JAX arrays, or only places them")
        raise source.refuse(
            f"Python runs line {line} on the host.",
            why=f"{why}; {_ONLY_WHOLE}",
            fix=f"move line {line} to a cell of its own, and export the rest.",
            line=line,
        )
    own = [one for one in ran if one.cell is source.cell and one.piece.called is None]
    if len(ran) == 1 and own:
        return
    if not ran:
        raise source.refuse("nothing in it was compiled.", why="it computes nothing with JAX arrays.")
    if not own:
        raise source.refuse(
            "it is a loop whose body is run in turns.", why=_ONLY_WHOLE, fix="write --whole or --unroll."
        )
    line = own[1].statements[0].span.line if len(own) > 1 else source.cell.statements[0].span.line
    raise source.refuse(
        f"it is {len(ran)} programs, and the second begins in line {line}.", why=_ONLY_WHOLE, fix="divide it there.",
        line=line,
    )  # fmt: skip


def _only_defines(statement: Statement, namespace: Mapping[str, Any]) -> bool:
    """Whether a statement that Python ran binds the same whatever the inputs are."""
    if statement.kind in _DEFINITIONS or statement.defines:
        return True
    if isinstance(statement.node, ast.Expr) and (
        shown_names(statement) or isinstance(statement.node.value, ast.Constant)
    ):
        return True
    bound = [namespace.get(name) for name in statement.names.binds]
    return bool(bound) and all(callable(value) and not isinstance(value, tuple) for value in bound)


def shown_names(statement: Statement) -> list[str]:
    """The names that a last line shows which is nothing but names."""
    shown = statement.node.value if statement.trailing and isinstance(statement.node, ast.Expr) else None
    parts = shown.elts if isinstance(shown, ast.Tuple) else [shown]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    return names if len(names) == len(parts) else []


def check_effects(source: Source, piece: Piece, reached: Reached) -> None:
    for eqn in _jax.all_eqns(piece.jaxpr):
        name = eqn.primitive.name
        if "callback" in name or name in ("debug_print", "infeed", "outfeed"):
            line = _line_of(source, eqn)
            where = f" in line {line}" if line else ""
            raise source.refuse(
                f"{name}{where} calls Python on the host.",
                why="what is loaded has no Python of the notebook to call.",
                fix="leave the callback out, as a jax.debug.print is, or compute it in JAX.",
                line=line,
            )
    if effects := sorted({type(effect).__name__ for effect in piece.jaxpr.effects}):
        raise source.refuse(f"it has effects in an order: {', '.join(effects)}.", why="a file holds computations only.")
    recipe = piece.recipe
    if recipe.said:
        raise source.refuse(
            "it prints while it runs.", why="a file holds computations only.", fix="print below the cell."
        )
    if recipe.elsewhere:
        raise source.refuse("it binds names of another module.", why="a loaded program binds nothing.")
    if piece.asks and piece.prelude is not None:
        asked = piece.prelude.texts[piece.prelude.checks[0][0]]
        name = asked.split()[0].split(".")[0].split("[")[0]
        raise source.refuse(
            f"code asks whether `{asked}` is true.",
            why="the program is for the answer alone.",
            fix=f"make it part of the program: --static {name}.",
            line=source.line_of(name),
        )
    if piece.prelude is not None and piece.prelude.computes_by_numpy:
        names = [render_path(path) for path, leaf in zip(reached.paths, reached.leaves, strict=True) if _is_numpy(leaf)]
        name = names[0] if names else None
        raise source.refuse(
            "NumPy computes a part of it at each run" + (f", from `{name}`." if name else "."),
            why=f"on the host; {_ONLY_WHOLE}",
            fix=f"{name} = jnp.asarray({name}) above the cell." if name else "use jax.numpy for it.",
            line=source.line_of(name.partition(".")[0].partition("[")[0]) if name else None,
        )


def _is_numpy(value: Any) -> bool:
    return isinstance(value, np.ndarray | np.generic)


def _line_of(source: Source, eqn: Any) -> int | None:
    lines = [place.line for place in _jax.eqn_places(eqn) if place.file == source.cell.filename]
    return lines[-1] if lines else None


def ran_by_python(source: Source, statement: Statement) -> bool:
    return any(line in source.host_lines for line in range(statement.span.line, statement.span.end_line + 1))
