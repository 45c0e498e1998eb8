"""What an exported cell takes: names with structures of arrays; and the program over them, as one function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxnb import _jax, exported
from jaxnb.exported import DTYPES, OTHER, Leaf, Node
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.objects.paths import Path, holders_of, render_path, root_name
from jaxnb.staging.session.file_source import FUNCTIONS, NUMBERS, Entry, Source, described, ran_by_python
from jaxnb.staging.trace.piece import Piece

__all__ = ["WIDE", "Inputs", "Mark", "leaf_of", "leaf_of_aval", "program_of", "read_inputs"]

WIDE: Mapping[type, str] = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}
"""The dtypes in which Python computes."""
_KEYS = {"fry": "threefry2x32", "rbg": "rbg", "urbg": "unsafe_rbg"}


class Mark:
    """Stands for an array while results are looked for: an output or a leaf of the piece, or a value of the cell; and
    for a size that has a name, or a number that is computed from sizes, with its class."""

    __slots__ = ("index", "kind", "value")

    def __init__(self, kind: str, index: int, value: Any = None) -> None:
        self.kind, self.index, self.value = kind, index, value


@dataclass(slots=True)
class Inputs:
    """The inputs of a piece, by names.

    Attributes:
      named: each name with its structure, whose leaves are positions in `order`.
      order: which leaf of the piece each input is.
      held: leaves that are part of the program, with what a user calls them; "" for what the cell itself binds.
    """

    named: list[tuple[str, Node]] = field(default_factory=list[tuple[str, Node]])
    order: list[int] = field(default_factory=list[int])
    held: dict[int, str] = field(default_factory=dict[int, str])


def read_inputs(source: Source, entry: Entry, reached: Reached, namespace: Mapping[str, Any]) -> Inputs:
    found = Inputs()
    by_path = {path: index for index, path in enumerate(reached.paths)}
    by_id = {id(leaf): index for index, leaf in enumerate(reached.leaves) if type(leaf) not in NUMBERS}
    own = {name for item in source.cell.statements if ran_by_python(source, item) for name in item.names.binds}

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
            number = type(reached.leaves[index]) in NUMBERS
            found.held[index] = _held(source, path, own, namespace, number)
    return found


def _held(source: Source, path: Path, own: set[str], namespace: Mapping[str, Any], number: bool) -> str:
    """What a user calls a leaf that no structure of names leads to, if it can be part of the program: a number of
    Python, or an array that a function holds.

    Raises:
      Refused: if an object holds it whose class a file does not know.
    """
    root, text = root_name(path), render_path(path)
    if root in own or number:
        return "" if root in own else text
    steps = [at[1:] for at in (path, *holders_of(path)) if isinstance(at[0], tuple)][::-1]
    holder: Any = namespace.get(root) if root is not None else None
    for kind, key in steps:
        if kind != "item" or type(holder) not in (list, tuple, dict):
            break
        holder = holder[key]
    of_function = root is None or {"closure", "defaults", "global"} & {kind for kind, _ in steps}
    if of_function or isinstance(holder, FUNCTIONS) or (callable(holder) and hasattr(holder, "__wrapped__")):
        return text
    raise source.refuse(
        f"`{text}` is in {described(holder)}, a node that a file does not know.",
        why="a loaded program is called without the classes of the notebook: with arrays, numbers, None, and dicts, "
        "lists, tuples and named tuples of them.",
        fix=f"take it apart above the cell, leaves, tree = jax.tree.flatten({root}), and in the cell write "
        f"jax.tree.unflatten(tree, leaves) for `{root}`.",
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


def leaf_of(source: Source, text: str, value: Any, wide: bool) -> Leaf:
    """The type of an input.

    Args:
      source: the cell.
      text: what a user calls it.
      value: of the run.
      wide: whether Python computes with its numbers.
    """
    if type(value) in NUMBERS:
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
        return leaf_of_aval(source, text, jax.typeof(value))
    return Leaf(str(jax.dtypes.canonicalize_dtype(value.dtype)), tuple(value.shape))


def _sizes(shape: Sequence[Any]) -> tuple[int | str, ...]:
    return tuple(size if isinstance(size, int) else str(size) for size in shape)


def leaf_of_aval(source: Source, text: str, aval: Any) -> Leaf:
    if not jnp.issubdtype(aval.dtype, jax.dtypes.prng_key):
        dtype = "float0" if aval.dtype == jax.dtypes.float0 else jnp.dtype(aval.dtype).name
        if dtype not in DTYPES:
            raise source.refuse(
                f"`{text}` is {dtype}[{','.join(map(str, aval.shape))}].",
                why="a file has no such type: it holds no numbers.",
                fix="leave it out: --keep ...",
                line=source.line_of(text),
            )
        return Leaf(dtype, _sizes(aval.shape), bool(getattr(aval, "weak_type", False)))
    short = str(aval.dtype).removeprefix("key<").removesuffix(">")
    if short not in _KEYS:
        raise source.refuse(
            f"`{text}` holds keys of a kind of its own, {aval.dtype}.",
            why="only JAX's own kinds can be loaded elsewhere.",
            fix="use jax.random.key(seed).",
        )
    words = jax.eval_shape(jax.random.key_data, jax.ShapeDtypeStruct((), aval.dtype)).shape[-1]
    return Leaf("uint32", _sizes(aval.shape), False, "key", short, words)


def program_of(
    piece: Piece, reached: Reached, inputs: Inputs, leaves: Sequence[Leaf], wanted: Sequence[Mark]
) -> Callable[..., list[Any]]:
    """The function that is exported: of the inputs alone, all of which are arrays, as are its results."""
    whole = piece.jaxpr if piece.general is None else piece.general
    function, avals = _jax.as_function(whole), whole.in_avals
    ambient = bool(jax.config.jax_enable_x64)  # type: ignore[attr-defined]

    def exported_cell(*flat: Any) -> list[Any]:
        found: dict[int, Any] = {index: reached.leaves[index] for index in inputs.held}
        for index, value, leaf in zip(inputs.order, flat, leaves, strict=True):
            found[index] = jax.random.wrap_key_data(value, impl=_KEYS[leaf.key]) if leaf.kind == "key" else value
        values = piece.prelude.staged_values(found) if piece.prelude is not None else ()
        every = [found[index] for index in range(len(reached.leaves))]
        arguments = piece.prelude.arguments(every, values) if piece.prelude is not None else every
        given = arguments if piece.placing is None else piece.placing.kept_arguments(arguments)
        given = [_as_aval(one, aval) for one, aval in zip(given, avals, strict=True)]
        with jax.enable_x64(ambient):  # sizes in it are numbers of the width that they had
            outputs = function(*given)
        if piece.placing is not None:
            outputs = piece.placing.kept_outputs(outputs, arguments, given)
        if piece.prelude is not None:
            outputs = piece.prelude.results(outputs, values)
        sources = {"out": outputs, "leaf": every}
        return [_flat(_computed(mark, found) if mark.index < 0 else sources[mark.kind][mark.index]) for mark in wanted]

    return exported_cell


def _computed(mark: Mark, found: Mapping[int, Any]) -> Any:
    """What stands for no array of the piece: a value, or a number that is computed from sizes."""
    if mark.kind == "value":
        return mark.value
    number, kind = mark.value
    return jnp.asarray(number(None, found), WIDE[kind])


def _as_aval(value: Any, aval: Any) -> Any:
    if jnp.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return value
    return jnp.asarray(value, aval.dtype)


def _flat(value: Any) -> Any:
    is_key = isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(value) if is_key else jnp.asarray(value)
