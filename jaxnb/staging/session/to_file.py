"""A staged cell as a file: `--export`. What ran as one program is exported by JAX, with names around it.

The program of the file is that of the run: the same jaxpr, what Python computed before it as operations of 64 bits,
and no donation. What the cell reads from names becomes inputs; arrays that functions hold are part of the program.
The results are found by applying the recipe of the run to marks in the place of arrays.
"""

from __future__ import annotations

import ast
import hashlib
import platform
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np

from jaxnb import __version__, _jax, exported
from jaxnb._jax import ExportedParts
from jaxnb.errors import JaxnbError, Refused
from jaxnb.exported import OTHER, Leaf, Node, Signature
from jaxnb.options import StageOptions
from jaxnb.program import Program
from jaxnb.staging.cells.cell import CellSource, Statement
from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.objects.paths import Path, render_path, root_name
from jaxnb.staging.reuse.cache import CodeRecord, find_piece
from jaxnb.staging.reuse.changes import parts_by_path
from jaxnb.staging.session.execution import Execution, Ran
from jaxnb.staging.trace.builds import Building
from jaxnb.staging.trace.piece import Piece
from jaxnb.staging.trace.reasons import line_reading

__all__ = ["Entry", "Source", "check_ran_whole", "export_again", "export_run"]

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type, partial)
_DEFINITIONS = frozenset({"FunctionDef", "ClassDef", "Import", "ImportFrom", "Pass"})
_NUMBERS = (bool, int, float, complex)
_DEEPEST = 90
_HISTORY = frozenset({"In", "Out", "get_ipython", "exit", "quit", "open"})
_KEYS = {"fry": "threefry2x32", "rbg": "rbg", "urbg": "unsafe_rbg"}
_WIDE: Mapping[type, str] = {bool: "bool", int: "int64", float: "float64"}
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
        if isinstance(value, jax.Array | np.ndarray | np.generic) or type(value) in _NUMBERS:
            self.leaves.append((path, id(value), value if type(value) in _NUMBERS else None))
            return Node("leaf", len(self.leaves) - 1)
        shape = _shape_of(value) if depth < _DEEPEST and id(value) not in inside else None
        if shape is None:
            return exported.scalar_node(value) or Node(OTHER, value=_called(value))
        inside.add(id(value))
        node, keys, items = shape
        parts = [self._node(item, (path, "item", key), inside, depth + 1)
                 for key, item in zip(keys, items, strict=True)]  # fmt: skip
        return replace(node, items=tuple(parts))


def _shape_of(value: Any) -> tuple[Node, Sequence[Any], Sequence[Any]] | None:
    """A container without its parts, and these by their keys; None for what is none that a file knows."""
    kind = type(value)
    if isinstance(value, dict) and kind.__module__ in ("builtins", "collections"):
        keys = list(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        if not all(type(key) in (str, int, bool, float) for key in keys):  # pyright: ignore
            return None
        return Node("dict", keys=tuple(keys)), keys, list(value.values())  # pyright: ignore
    fields = getattr(kind, "_fields", None)
    if isinstance(value, tuple) and isinstance(fields, tuple) and len(fields) == len(value):  # pyright: ignore
        if not all(str(name).isidentifier() and not str(name).startswith("_") for name in (kind.__name__, *fields)):  # pyright: ignore
            return None
        return Node("namedtuple", value=kind.__name__, keys=fields), range(len(fields)), value  # pyright: ignore
    if kind in (list, tuple):
        return Node(kind.__name__), range(len(value)), value
    return None


def _called(value: Any) -> str:
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
        return f"function {value.__name__}"
    if isinstance(value, types.ModuleType):
        return "module"
    return f"class {value.__name__}" if isinstance(value, type) else f"an object of {type(value).__name__}"


# --- what can be exported ---


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
        why = reasons.get(line, "it does not compute with JAX arrays")
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
        _shown_names(statement) or isinstance(statement.node.value, ast.Constant)
    ):
        return True
    bound = [namespace.get(name) for name in statement.names.binds]
    return bool(bound) and all(callable(value) and not isinstance(value, tuple) for value in bound)


def _shown_names(statement: Statement) -> list[str]:
    """The names that a last line shows which is nothing but names."""
    shown = statement.node.value if statement.trailing and isinstance(statement.node, ast.Expr) else None
    parts = shown.elts if isinstance(shown, ast.Tuple) else [shown]
    names = [part.id for part in parts if isinstance(part, ast.Name)]
    return names if len(names) == len(parts) else []


def _check_effects(source: Source, piece: Piece) -> None:
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
        raise source.refuse(
            "NumPy computes a part of it at each run.",
            why=f"on the host; {_ONLY_WHOLE}",
            fix="use jax.numpy for it, or compute it in a cell of its own.",
        )


def _line_of(source: Source, eqn: Any) -> int | None:
    known: dict[Any, Any] = {}
    lines = [place.line for place in _jax.eqn_places(eqn, known) if place.file == source.cell.filename]
    return lines[-1] if lines else None


# --- inputs ---


@dataclass(slots=True)
class _Inputs:
    """The inputs of a piece, by names.

    Attributes:
      named: each name with its structure, whose leaves are positions in `order`.
      order: which leaf of the piece each input is.
      held: leaves that are part of the program, with what a user calls them; "" for what the cell itself binds.
    """

    named: list[tuple[str, Node]] = field(default_factory=list[tuple[str, Node]])
    order: list[int] = field(default_factory=list[int])
    held: dict[int, str] = field(default_factory=dict[int, str])


def _read_inputs(source: Source, entry: Entry, reached: Reached, namespace: Mapping[str, Any]) -> _Inputs:
    found = _Inputs()
    by_path = {path: index for index, path in enumerate(reached.paths)}
    by_id = {id(leaf): index for index, leaf in enumerate(reached.leaves) if type(leaf) not in _NUMBERS}
    own = {name for item in source.cell.statements if _ran_by_python(source, item) for name in item.names.binds}

    def taken(node: Node) -> Node:
        if node.kind != "leaf":
            return replace(node, items=tuple(taken(item) for item in node.items))
        path, identity, number = entry.leaves[node.index]
        index = by_path.get(path, by_id.get(identity) if number is None else None)
        if index is None:
            return exported.scalar_node(number) or Node(OTHER, value="an array")
        if index not in found.order:
            found.order.append(index)
        return Node("leaf", found.order.index(index))

    roots = {root_name(path) for path in reached.paths}
    for name in _in_order(source.cell, [name for name in entry.nodes if name in roots | source.cell.reads]):
        if name in own:
            continue
        before = len(found.order)
        node = taken(entry.nodes[name])
        if len(found.order) > before or any(exported.leaf_places(name, node)):
            found.named.append((name, node))
    for index, path in enumerate(reached.paths):
        if index not in found.order:
            found.held[index] = _held(source, path, own, namespace)
    return found


def _ran_by_python(source: Source, statement: Statement) -> bool:
    return any(line in source.host_lines for line in range(statement.span.line, statement.span.end_line + 1))


def _held(source: Source, path: Path, own: set[str], namespace: Mapping[str, Any]) -> str:
    """What a user calls a leaf that no structure of names leads to, if it can be part of the program.

    Raises:
      Refused: if an object holds it whose class a file does not know.
    """
    root, text = root_name(path), render_path(path)
    if root in own:
        return ""
    edges, at = list[str](), path
    while isinstance(at[0], tuple):
        edges.append(at[1])
        at = at[0]
    value = namespace.get(root) if root is not None else None
    if root is None or {"closure", "defaults", "global"} & {*edges} or isinstance(value, _FUNCTIONS) or (
        callable(value) and hasattr(value, "__wrapped__")
    ):  # fmt: skip
        return text
    while type(value) in (list, tuple, dict) and value:
        value = next(iter(value.values() if type(value) is dict else value))
    raise source.refuse(
        f"`{text}` is in {_called(value) if value is not None else 'an object'}, a node that a file does not know.",
        why="a loaded program is called without the classes of the notebook: with arrays, numbers, None, and dicts, "
        "lists, tuples and named tuples of them.",
        fix=f"take the arrays out above the cell, and read these: parts = jax.tree.leaves({root}).",
        line=source.line_of(root),
    )


def _in_order(cell: CellSource, names: Sequence[str]) -> list[str]:
    """Names in the order in which the cell reads them first."""
    read = [
        (node.lineno, node.col_offset, node.id)
        for item in cell.statements
        for node in ast.walk(item.node)
        if isinstance(node, ast.Name)
    ]
    places = {name: place for place, (_, _, name) in reversed(list(enumerate(sorted(read))))}
    return sorted(names, key=lambda name: (places.get(name, len(read)), name))


def _leaf_of(source: Source, text: str, value: Any, wide: bool) -> Leaf:
    """The type of an input.

    Args:
      source: the cell.
      text: what a user calls it.
      value: of the run.
      wide: whether Python computes with its numbers.
    """
    if type(value) in _NUMBERS:
        narrow = jax.dtypes.canonicalize_dtype(np.asarray(value).dtype)
        return Leaf(str(np.asarray(value).dtype if wide else narrow), (), True, "number")
    if isinstance(value, jax.Array):
        if (count := len(value.sharding.device_set)) > 1:
            raise source.refuse(
                f"`{text}` is spread over {count} devices.",
                why="a file holds a program of one device.",
                fix=f"{text} = jax.device_put({text}, jax.devices()[0]) above the cell.",
                line=source.line_of(text),
            )
        return _leaf_of_aval(source, text, jax.typeof(value))
    return Leaf(str(jax.dtypes.canonicalize_dtype(value.dtype)), tuple(value.shape))


def _leaf_of_aval(source: Source, text: str, aval: Any) -> Leaf:
    if not jnp.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return Leaf(str(aval.dtype), tuple(aval.shape), bool(getattr(aval, "weak_type", False)))
    short = str(aval.dtype).removeprefix("key<").removesuffix(">")
    if short not in _KEYS:
        raise source.refuse(
            f"`{text}` holds keys of a kind of its own, {aval.dtype}.",
            why="only JAX's own kinds can be loaded elsewhere.",
            fix="use jax.random.key(seed).",
        )
    words = jax.eval_shape(jax.random.key_data, jax.ShapeDtypeStruct((), aval.dtype)).shape[-1]
    return Leaf("uint32", tuple(aval.shape), False, "key", short, words)


# --- the program ---


def _program_of(
    piece: Piece, reached: Reached, inputs: _Inputs, leaves: Sequence[Leaf], wanted: Sequence[_Mark]
) -> Callable[..., list[Any]]:
    """The function that is exported: of the inputs alone, all of which are arrays, as are its results."""
    function = _jax.as_function(piece.jaxpr)
    avals = piece.jaxpr.in_avals

    def exported_cell(*flat: Any) -> list[Any]:
        found: dict[int, Any] = {index: reached.leaves[index] for index in inputs.held}
        for index, value, leaf in zip(inputs.order, flat, leaves, strict=True):
            found[index] = jax.random.wrap_key_data(value, impl=_KEYS[leaf.key]) if leaf.kind == "key" else value
        values = piece.prelude.staged_values(found) if piece.prelude is not None else ()
        every = [found[index] for index in range(len(reached.leaves))]
        arguments = piece.prelude.arguments(every, values) if piece.prelude is not None else every
        given = arguments if piece.placing is None else piece.placing.kept_arguments(arguments)
        outputs = function(*(_as_aval(one, aval) for one, aval in zip(given, avals, strict=True)))
        if piece.placing is not None:
            outputs = piece.placing.kept_outputs(outputs, arguments, given)
        if piece.prelude is not None:
            outputs = piece.prelude.results(outputs, values)
        sources = {"out": outputs, "leaf": every}
        return [_flat(mark.value if mark.kind == "value" else sources[mark.kind][mark.index]) for mark in wanted]

    return exported_cell


def _as_aval(value: Any, aval: Any) -> Any:
    if jnp.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return value
    return jnp.asarray(value, aval.dtype)


def _flat(value: Any) -> Any:
    is_key = isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(value) if is_key else jnp.asarray(value)


# --- results ---


class _Mark:
    """Stands for an array while the recipe is applied: an output, a leaf of the piece, or a value of the cell itself."""

    __slots__ = ("index", "kind", "value")

    def __init__(self, kind: str, index: int, value: Any = None) -> None:
        self.kind, self.index, self.value = kind, index, value


class _Results:
    """The structures of what a cell binds, whose leaves are marks."""

    def __init__(self, source: Source, reached: Reached, outputs: Sequence[Any]) -> None:
        self._source = source
        self.marks: list[_Mark] = []
        known = [("leaf", index, leaf) for index, leaf in enumerate(reached.leaves)]
        known += [("out", index, output) for index, output in enumerate(outputs)]
        self._known = {id(value): (kind, index) for kind, index, value in reversed(known)}

    def node(self, value: Any, name: str, depth: int = 0) -> Node:
        if type(value) is _Mark:
            return self._leaf(value)
        if (at := self._known.get(id(value))) is not None and not isinstance(value, bool):
            return self._leaf(_Mark(*at))
        if isinstance(value, jax.Array | np.ndarray | np.generic):
            return self._leaf(_Mark("value", -1, value))
        shape = _shape_of(value) if depth < _DEEPEST else None
        if shape is not None:
            node, _, items = shape
            return replace(node, items=tuple(self.node(item, name, depth + 1) for item in items))
        if (node := exported.scalar_node(value)) is not None:
            return node
        if isinstance(value, _FUNCTIONS) or not _holds_marks(value):
            return Node(OTHER, value=_called(value))
        raise self._source.refuse(
            f"`{name}` is bound to {_called(value)}, which holds arrays, and is a node that a file does not know."
            if name != "value" else f"its last line is {_called(value)}, a node that a file does not know.",
            why="what is loaded gives arrays, numbers, None, and dicts, lists, tuples and named tuples of them.",
            fix=f"bind the arrays that you want, and leave it out: --keep ..., or jax.tree.leaves({name}).",
            line=self._source.line_of(name),
        )  # fmt: skip

    def _leaf(self, mark: _Mark) -> Node:
        for place, other in enumerate(self.marks):
            if (other.kind, other.index) == (mark.kind, mark.index) and other.value is mark.value:
                return Node("leaf", place)
        self.marks.append(mark)
        return Node("leaf", len(self.marks) - 1)


def _holds_marks(value: Any, depth: int = 0) -> bool:
    if type(value) is _Mark or isinstance(value, jax.Array):
        return True
    if depth > 8:
        return False
    parts: Any = getattr(value, "__dict__", None)
    items = list(parts.values()) if isinstance(parts, dict) else []  # pyright: ignore
    items += [getattr(value, slot, None) for slot in getattr(type(value), "__slots__", ())]
    items += (
        list(value.values() if isinstance(value, dict) else value) if isinstance(value, list | tuple | dict) else []
    )  # pyright: ignore
    return any(_holds_marks(item, depth + 1) for item in items)  # pyright: ignore


def _read_results(
    source: Source, piece: Piece, entry: Entry, reached: Reached, outputs: Sequence[Any], after: Mapping[str, Any]
) -> tuple[_Results, list[tuple[str, Node]], Node | None, list[tuple[str, str]]]:
    """What the cell binds and shows, as structures of marks, and what it binds that no file holds."""
    results, cell, recipe, keep = _Results(source, reached, outputs), source.cell, piece.recipe, source.options.keep
    leaves: list[Any] = [_Mark("leaf", index) for index in range(len(reached.leaves))]
    marks: list[Any] = [_Mark("out", index) for index in range(_count(piece))]
    building = Building(reached._replace(leaves=leaves), marks, dict(after))
    building.made.update((id(item), item) for item in recipe.kept)
    try:
        bound = {name: build(building) for name, build in recipe.names}
        value = recipe.value(building) if recipe.value is not None and not cell.silent else None
    except Exception as error:
        raise source.refuse(
            "what it binds cannot be told apart from what it reads.", why=f"{type(error).__name__}: {error}."
        ) from error
    order = [name for item in cell.statements for name in sorted(item.names.binds)]
    of_python = [item for item in cell.statements if _ran_by_python(source, item)]
    bound |= {name: after[name] for item in of_python for name in item.names.binds if name in after}
    bound |= {name: after[name] for name in _changed_names(source, piece, entry, reached) if name in after}
    named, left_out = list[tuple[str, Node]](), list[tuple[str, str]]()
    for name in dict.fromkeys([*(name for name in order if name in bound), *bound]):
        if name in recipe.deleted or (keep is not None and name not in keep):
            continue
        node = results.node(bound[name], name)
        if node.kind != OTHER:
            named.append((name, node))
        elif not isinstance(bound[name], types.ModuleType):
            left_out.append((name, str(node.value)))
    last, shows = cell.statements[-1], recipe.value is not None
    if not shows and (names := _shown_names(last)) and not cell.silent:
        values = [bound.get(name, after.get(name)) for name in names]
        value, shows = (tuple(values) if len(values) > 1 else values[0]), True
    shown = results.node(value, "value") if shows and not cell.silent else None
    if shown is not None and (shown.kind == OTHER or source.options.value_and):
        left_out.append(("value", str(shown.value)))
        shown = None
    return results, named, shown, left_out


def _count(piece: Piece) -> int:
    if piece.prelude is not None:
        return len(piece.prelude.outputs)
    return len(piece.placing.results) if piece.placing is not None else len(piece.jaxpr.out_avals)


def _changed_names(source: Source, piece: Piece, entry: Entry, reached: Reached) -> Iterator[str]:
    """The names below which the cell has changed a container in place."""
    for _, node, _ in piece.recipe.changed:
        changed = reached.nodes[node]
        names = [name for name, inside in entry.inside.items() if id(changed) in inside]
        if not names:
            raise source.refuse(
                f"it changes {_called(changed)} in place.",
                why="what is loaded gives new values, and changes nothing.",
                fix="bind what changes to a name of its own.",
            )
        yield from names


# --- all of it ---


def export_run(
    source: Source,
    ran: Sequence[Ran],
    entry: Entry,
    namespace: Mapping[str, Any],
    after: Mapping[str, Any],
    program: Callable[[], Program],
    path: str,
) -> None:
    """Writes a run as a file.

    Args:
      source: the cell.
      ran: the pieces that ran.
      entry: the structures of what it read.
      namespace: the names when the run began.
      after: the names after it.
      program: reads what the cell became.
      path: of the file.

    Raises:
      Refused: if the cell is no program that a file can hold, naming the line or the input.
    """
    check_ran_whole(source, ran, after)
    (one,) = ran
    _export(source, one.piece, one.reached, one.outputs, entry, namespace, after, program(), path)


def export_again(
    source: Source,
    pieces: Sequence[Piece],
    namespace: dict[str, Any],
    device: Any,
    program: Callable[[], Program],
    path: str,
) -> None:
    """Writes a run as a file that has ended: with the structures that its names have now.

    Args:
      source: the cell.
      pieces: that ran.
      namespace: the names as they are now.
      device: where it ran, or None.
      program: reads what the cell became.
      path: of the file.

    Raises:
      Refused: as `export_run`.
      JaxnbError: if the program would not serve another run of the cell now.
    """
    fix = f"run the cell with --export {path}, which writes it as it runs."
    if len(pieces) != 1 or source.host_lines:
        check_ran_whole(source, [Ran(source.cell, one, Reached([], [], [], []), []) for one in pieces], namespace)
    (piece,) = pieces
    if piece.recipe.changed:
        raise JaxnbError(
            "the run cannot be exported any more.", why="the cell changes what it reads in place.", fix=fix
        )
    found = find_piece(source.record, piece.plan.start, namespace, _jax.trace_context(), device)
    if found is None or found[0] is not piece:
        raise JaxnbError("the run cannot be exported any more.", why="what it read is no longer as it was.", fix=fix)
    _export(source, piece, found[1], [], Entry.of(source.cell, namespace), namespace, namespace, program(), path)


def _export(
    source: Source,
    piece: Piece,
    reached: Reached,
    outputs: Sequence[Any],
    entry: Entry,
    namespace: Mapping[str, Any],
    after: Mapping[str, Any],
    program: Program,
    path: str,
) -> None:
    _check_effects(source, piece)
    inputs = _read_inputs(source, entry, reached, namespace)
    texts = [render_path(path) for path in reached.paths]
    types_of = [_leaf_of(source, texts[at], leaf, piece.prelude is not None) for at, leaf in enumerate(reached.leaves)]
    leaves = [types_of[index] for index in inputs.order]
    results, named, shown, left_out = _read_results(source, piece, entry, reached, outputs, after)
    made = [_leaf_of_result(source, piece, mark, types_of) for mark in results.marks]
    signature = Signature(
        tuple(inputs.named),
        tuple(leaves),
        tuple(named),
        tuple(made),
        shown,
        tuple(_static(source, piece, {name for name, _ in inputs.named}, namespace)),
        tuple((text, types_of[index]) for index, text in inputs.held.items() if text),
        tuple(source.options.donate),
        tuple(left_out),
        bool(jax.config.jax_enable_x64),  # type: ignore[attr-defined]
    )
    parts = _lowered(source, piece, _program_of(piece, reached, inputs, leaves, results.marks), leaves)
    program.level("stablehlo")
    exported.save(path, signature, _provenance(source.cell.shown, parts), program, parts)


def _lowered(source: Source, piece: Piece, function: Callable[..., list[Any]], leaves: Sequence[Leaf]) -> ExportedParts:
    wide = piece.prelude is not None or any(leaf.dtype in ("float64", "int64") for leaf in leaves)
    with jax.enable_x64(True) if wide else nullcontext():
        avals = [jax.ShapeDtypeStruct(leaf.flat_shape, jnp.dtype(leaf.dtype)) for leaf in leaves]
        try:
            parts = _jax.export_flat(function, avals, source.options.platforms or None)
        except Exception as error:
            said = str(error).strip().partition("\n")[0][:300]
            raise source.refuse("JAX does not export it.", why=f"{type(error).__name__}: {said}") from error
    if parts.devices > 1:
        raise source.refuse(
            f"its program is for {parts.devices} devices.", why="a file holds a program of one device.",
            fix="export it without a mesh, and lay its inputs out where it is loaded.",
        )  # fmt: skip
    return parts


def _leaf_of_result(source: Source, piece: Piece, mark: _Mark, leaves: Sequence[Leaf]) -> Leaf:
    if mark.kind == "leaf":
        return leaves[mark.index]
    if mark.kind == "value":
        return _leaf_of(source, "a result", mark.value, False)
    place: int | None = mark.index
    if piece.prelude is not None:
        kind, place = piece.prelude.outputs[mark.index]
        if kind == "value":
            told = piece.prelude.source_of(place)
            return leaves[told] if isinstance(told, int) else Leaf(_WIDE[told], (), True, "number")
    if piece.placing is not None:
        argument = piece.placing.argument_of(place)
        if argument is not None:
            kind, at = piece.prelude.inputs[argument] if piece.prelude is not None else ("leaf", argument)
            if kind == "leaf":
                return leaves[at]
        place = piece.placing.place_of(place)
    assert place is not None
    return _leaf_of_aval(source, "a result", piece.jaxpr.out_avals[place])


def _static(source: Source, piece: Piece, inputs: set[str], namespace: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is part of the program and stands below no input, as a user writes it, and its value."""
    own = {name for item in source.cell.statements if _ran_by_python(source, item) for name in item.names.binds}
    for path, parts in parts_by_path(piece).items():
        root = root_name(path)
        if root is None or root in inputs | own or len(parts) != 1 or not isinstance(parts[0], tuple):
            continue
        if isinstance(namespace.get(root), type | types.ModuleType):
            continue
        part: Any = parts[0]
        if len(part) == 2 and part[0] in (*_NUMBERS, str, type(None)) and type(part[1]) is part[0]:
            yield render_path(path), repr(part[1])


def _provenance(shown: str, parts: ExportedParts) -> exported.Provenance:
    versions = {
        "jaxnb": __version__,
        "jax": jax.__version__,
        "jaxlib": jaxlib.version.__version__,
        "python": platform.python_version(),
    }
    created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    digest = hashlib.sha256(shown.encode(errors="surrogatepass")).hexdigest()
    return exported.Provenance(shown, digest, created, versions, parts.stablehlo, parts.platforms)
