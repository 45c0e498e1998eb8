"""What an exported cell gives: the recipe of its run, applied to marks in the place of arrays, shows it."""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np

from jaxnb import _jax, exported
from jaxnb.exported import OTHER, Node
from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.objects.mutables import GROWN_LIST
from jaxnb.staging.objects.paths import Path
from jaxnb.staging.session.file_program import Mark
from jaxnb.staging.session.file_source import (
    DEEPEST,
    FUNCTIONS,
    NUMBERS,
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

_Changes = dict[int, dict[Any, Any]]
"""What containers that the cell has changed hold under which keys, built of marks, by their ids."""


class _Results:
    """The structures of what a cell binds, whose leaves are marks."""

    def __init__(self, source: Source, reached: Reached, outputs: Sequence[Any], changes: _Changes) -> None:
        self._source, self._changes = source, changes
        self.marks: list[Mark] = []
        known = [("leaf", index, leaf) for index, leaf in enumerate(reached.leaves)]
        known += [("out", index, output) for index, output in enumerate(outputs)]
        kept = [one for one in reversed(known) if type(one[2]) not in (int, bool)]  # of which Python has one for many
        self._known = {id(value): (kind, index) for kind, index, value in kept}
        self._by_path = {path: index for index, path in enumerate(reached.paths)}

    def node(self, value: Any, name: str, path: Path | None = None, depth: int = 0) -> Node:
        """The structure of a value.

        Args:
          value: built of marks, or as it is.
          name: that is bound to it, or "value".
          path: where it stands, if the cell may have changed it in place.
          depth: in how many containers.
        """
        if type(value) is Mark:
            return self._size(value, name) if value.kind == "size" else self._leaf(value)
        if type(value) in NUMBERS and path in self._by_path:
            return self._leaf(Mark("leaf", self._by_path[path]))
        if (at := self._known.get(id(value))) is not None:
            return self._leaf(Mark(*at))
        if isinstance(value, jax.Array | np.ndarray | np.generic):
            if path is not None:
                raise self._source.refuse(
                    f"`{name}` holds arrays that the program neither reads nor makes.",
                    why="the cell only appends to it, or puts something beside them.",
                    fix="leave it out, and bind what is new: --keep loss.",
                    line=self._source.line_of(name),
                )
            return self._leaf(Mark("value", -1, value))
        shape = shape_of(value) if depth < DEEPEST else None
        if shape is not None:
            node, keys, items = shape
            new = self._changes.get(id(value), {})
            parts = list[Node]()
            for key, item in zip(keys, items, strict=True):
                below: Path | None = None if path is None or key in new else (path, "item", key)
                parts.append(self.node(new.get(key, item), name, below, depth + 1))
            return replace(node, items=tuple(parts))
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

    def _size(self, mark: Mark, name: str) -> Node:
        text = _jax.dim_text(mark.value)
        if not exported.is_expression(text):
            raise self._source.refuse(
                f"`{name}` is {text[:60]}…, an expression of sizes that is too long for a file.",
                why="what is loaded computes it anew.",
                fix="leave it out: --keep ...",
                line=self._source.line_of(name),
            )
        return Node("size", value=text)

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
    cell, recipe, keep = source.cell, piece.recipe, source.options.keep
    leaves: list[Any] = [Mark("leaf", index) for index in range(len(reached.leaves))]
    marks: list[Any] = [Mark("out", index) for index in range(_count(piece))]
    building = Building(reached._replace(leaves=leaves), marks, dict(after), _of_sizes)
    building.made.update((id(item), item) for item in recipe.kept)
    try:
        bound = {name: build(building) for name, build in recipe.names}
        value = recipe.value(building) if recipe.value is not None and not cell.silent else None
        changes: _Changes = {}
        for holder, node, change in recipe.changed:
            changed, children = reached.nodes[node], change.children
            if holder is GROWN_LIST:  # what is new in it stands last
                first = len(changed) - len(children)
                children = [(first + at, build) for at, (_, build) in enumerate(children)]
            changes[id(changed)] = {key: build(building) for key, build in children}
    except Exception as error:
        raise source.refuse(
            "what it binds cannot be told apart from what it reads.", why=f"{type(error).__name__}: {error}."
        ) from error
    results = _Results(source, reached, outputs, changes)
    order = [name for item in cell.statements for name in sorted(item.names.binds)]
    of_python = [item for item in cell.statements if ran_by_python(source, item)]
    by_python = {name: after[name] for item in of_python for name in item.names.binds if name in after}
    in_place = {name: after[name] for name in _changed_names(source, piece, entry, reached) if name in after}
    as_before = {
        name: after[name]
        for name in cell.binds
        if name in after and name not in bound and name in entry.nodes and name not in recipe.deleted
    }
    in_place |= as_before  # on this way through the cell they were not bound
    bound |= {**by_python, **in_place}
    named, left_out = list[tuple[str, Node]](), list[tuple[str, str]]()
    for name in dict.fromkeys([*(name for name in order if name in bound), *bound]):
        if name in recipe.deleted or (keep is not None and name not in keep):
            continue
        path = (None, "name", name) if name in in_place else None
        plain = exported.scalar_node(bound[name]) if name in by_python else None
        node = plain or results.node(bound[name], name, path)
        if not _is_left_out(node):
            named.append((name, node))
        elif not isinstance(bound[name], types.ModuleType):
            left_out.append((name, str(node.value) if node.kind == OTHER else described(bound[name])))
    last, shows = cell.statements[-1], recipe.value is not None
    if not shows and (names := shown_names(last)) and not cell.silent:
        parts = [dict(named).get(name) or results.node(bound.get(name, after.get(name)), name) for name in names]
        shown = Node("tuple", items=tuple(parts)) if len(parts) > 1 else parts[0]
    else:
        shown = results.node(value, "value") if shows and not cell.silent else None
    if shown is not None and (_is_left_out(shown) or source.options.value_and):
        left_out.append(("value", str(shown.value)))
        shown = None
    return results, named, shown, left_out


def _of_sizes(value: Any, kind: type | None) -> Mark:
    return Mark("size", -1, value) if kind is None else Mark("number", -1, (value, kind))


def _is_left_out(node: Node) -> bool:
    """Whether nothing in a structure is what a file holds."""
    return node.kind == OTHER or (bool(node.items) and all(_is_left_out(item) for item in node.items))


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
