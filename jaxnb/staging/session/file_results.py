"""What an exported cell gives: the recipe of its run, applied to marks in the place of arrays, shows it."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from jaxnb import exported
from jaxnb.exported import OTHER, Node
from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.session.file_program import Mark
from jaxnb.staging.session.file_source import (
    DEEPEST,
    FUNCTIONS,
    Entry,
    Source,
    described,
    ran_by_python,
    shape_of,
    shown_names,
)
from jaxnb.staging.trace.builds import Building
from jaxnb.staging.trace.piece import Piece

__all__ = ["read_results"]


class _Results:
    """The structures of what a cell binds, whose leaves are marks."""

    def __init__(self, source: Source, reached: Reached, outputs: Sequence[Any]) -> None:
        self._source = source
        self.marks: list[Mark] = []
        known = [("leaf", index, leaf) for index, leaf in enumerate(reached.leaves)]
        known += [("out", index, output) for index, output in enumerate(outputs)]
        self._known = {id(value): (kind, index) for kind, index, value in reversed(known)}

    def node(self, value: Any, name: str, depth: int = 0) -> Node:
        if type(value) is Mark:
            return self._leaf(value)
        if (at := self._known.get(id(value))) is not None and not isinstance(value, bool):
            return self._leaf(Mark(*at))
        if isinstance(value, jax.Array | np.ndarray | np.generic):
            return self._leaf(Mark("value", -1, value))
        shape = shape_of(value) if depth < DEEPEST else None
        if shape is not None:
            node, _, items = shape
            return replace(node, items=tuple(self.node(item, name, depth + 1) for item in items))
        if (node := exported.scalar_node(value)) is not None:
            return node
        if isinstance(value, FUNCTIONS) or not _holds_marks(value):
            return Node(OTHER, value=described(value))
        what = "its last line is" if name == "value" else f"`{name}` is bound to"
        raise self._source.refuse(
            f"{what} {described(value)}, a node that a file does not know.",
            why="what is loaded gives arrays, numbers, None, and dicts, lists, tuples and named tuples of them.",
            fix=f"bind the arrays that you want, and leave it out: --keep ..., or jax.tree.leaves({name}).",
            line=self._source.line_of(name),
        )  # fmt: skip

    def _leaf(self, mark: Mark) -> Node:
        for place, other in enumerate(self.marks):
            if (other.kind, other.index) == (mark.kind, mark.index) and other.value is mark.value:
                return Node("leaf", place)
        self.marks.append(mark)
        return Node("leaf", len(self.marks) - 1)


def _holds_marks(value: Any, depth: int = 0) -> bool:
    if type(value) is Mark or isinstance(value, jax.Array):
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


def read_results(
    source: Source, piece: Piece, entry: Entry, reached: Reached, outputs: Sequence[Any], after: Mapping[str, Any]
) -> tuple[_Results, list[tuple[str, Node]], Node | None, list[tuple[str, str]]]:
    """What the cell binds and shows, as structures of marks, and what it binds that no file holds."""
    results, cell, recipe, keep = _Results(source, reached, outputs), source.cell, piece.recipe, source.options.keep
    leaves: list[Any] = [Mark("leaf", index) for index in range(len(reached.leaves))]
    marks: list[Any] = [Mark("out", index) for index in range(_count(piece))]
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
    of_python = [item for item in cell.statements if ran_by_python(source, item)]
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
    if not shows and (names := shown_names(last)) and not cell.silent:
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
                f"it changes {described(changed)} in place.",
                why="what is loaded gives new values, and changes nothing.",
                fix="bind what changes to a name of its own.",
            )
        yield from names
