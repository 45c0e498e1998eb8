"""The call trees of a program as plain data for a viewer: lines, what they call, and what each of these costs.

Rows of a tree are its nodes, each behind the one above it, calls that do the same as one node. They follow from the
levels, and stand in for them where an output has no room for these: the dearest nodes are kept then, and of the others
their sums.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jaxnb.program import (
    COLUMNS,
    Amount,
    Cost,
    Level,
    Node,
    Program,
    folded,
    read_derived,
    read_tree,
    roof_of,
    together,
)
from jaxnb.views.cost_table import RANKED

__all__ = ["encode_trees", "standing_in"]

_MOST_MEASURES = 3  # of a tree that stands in for its level
_LONGEST = 200  # letters of a line that are kept


def encode_trees(program: Program, levels: Collection[str] | None = None) -> list[dict[str, Any]]:
    """The trees of the levels in which something was called; `$defs/tree` of the format says what is in one.

    Args:
      program: no level of it is made for this.
      levels: which levels; by default all that were made.
    """
    made = [level for level in program.levels if levels is None or level.name in levels]
    found = ((level, folded(read_tree(level, *read_derived(program, level)))) for level in made if _calls(level))
    return [{**_encode(level, tree), "ops": _nodes_of_ops(level, tree)} for level, tree in found]


def standing_in(program: Program, sizes: Iterable[int]) -> Iterator[dict[str, Any]]:
    """The tree of the first level in which something was called, without its ops; nothing if there is none.

    Args:
      program: no level of it is made for this.
      sizes: how many nodes it should have at most, the dearest, for each that is wanted.
    """
    level = next(filter(_calls, program.levels), None)
    if level is not None:
        tree = folded(read_tree(level, *read_derived(program, level)))
        yield from (_encode(level, _pruned(tree, most), _MOST_MEASURES) for most in sizes)


def _calls(level: Level) -> bool:
    return any(op.call is not None for op in level.ops())


def _encode(level: Level, tree: Node, measures: int | None = None) -> dict[str, Any]:
    rows = list(tree.walk())
    texts: dict[str, int] = {"": 0}

    def column(of: Callable[[Node], str]) -> list[int]:
        return [texts.setdefault(of(node), len(texts)) for node in rows]

    lines = {(source.file, n): text for source in level.sources for n, text in _numbered(source.text, source.line)}
    found: dict[str, Any] = {
        "level": level.name,
        "parent": _parents(tree),
        "kind": column(lambda node: node.kind),
        "name": column(lambda node: node.name),
        "path": column(lambda node: node.path),
        "file": column(lambda node: node.span.file if node.span is not None else ""),
        "line": [node.line or 0 for node in rows],
        "text": column(lambda node: _text_of(node, lines)),
        "count": [node.count for node in rows],
        "backward": [node.backward for node in rows],
    }
    if any(node.alike != 1 for node in rows):
        found["alike"] = [node.alike for node in rows]
    if any(node.turns != 1 for node in rows):
        found["turns"] = [-1 if node.turns is None else node.turns for node in rows]
    known = [name for name in COLUMNS if COLUMNS[name].of == "op" and _known(tree.total, name) > 0]
    told = known if measures is None else [name for name in known if name in RANKED[:measures]] or known
    if _known(tree.total, "sent") > 0:
        told = [*told, "sent"]
    found["measures"] = told
    found["total"] = [[_known(node.total, name) for node in rows] for name in told]
    found["behind"] = [[max(0, _known(node.behind, name)) for node in rows] for name in told]
    roofs = [roof_of(node.total) for node in rows]
    if any(roofs):
        found["measures"] = [*told, "roof"]
        found["total"].append([-1 if roof is None else float(f"{roof.share:.4g}") for roof in roofs])
        found["behind"].append([0] * len(rows))
        found["by_memory"] = [row for row, roof in enumerate(roofs) if roof is not None and roof.bound == "memory"]
    return {**found, "texts": list(texts)}


def _numbered(text: str, first: int) -> Sequence[tuple[int, str]]:
    return list(enumerate(text.split("\n"), first))


def _text_of(node: Node, lines: Mapping[tuple[str, int], str]) -> str:
    """Of a line of a function its text; those of the cell are in the program."""
    if node.kind != "line" or node.span is None or not node.span.file:
        return ""
    return lines.get((node.span.file, node.span.line), "").strip()[:_LONGEST]


def _parents(tree: Node) -> list[int]:
    """The row of the node above each; -1 for the first."""
    found: list[int] = []

    def visit(node: Node, parent: int) -> None:
        row = len(found)
        found.append(parent)
        for child in node.children:
            visit(child, row)

    visit(tree, -1)
    return found


def _known(cost: Cost, name: str) -> float:
    number = cost.get(name, Amount(None)).number
    return -1 if number is None else number if isinstance(number, int) else float(f"{number:.4g}")


def _nodes_of_ops(level: Level, tree: Node) -> list[int]:
    starts = [0]
    for computation in level.computations:
        starts.append(starts[-1] + len(computation.ops))
    found = [0] * starts[-1]
    for row, node in enumerate(tree.walk()):
        for computation, at in node.ops:
            found[starts[computation] + at] = row
    return found


def _pruned(tree: Node, most: int) -> Node:
    """The same tree with the dearest nodes, and the others of each node as one."""
    by = next((name for name in RANKED if name in tree.total and tree.total[name].number), "")

    def size(node: Node) -> float:
        return (node.total[by].number or 0.0) if by in node.total else float(node.count)

    kept: dict[int, tuple[Node, ...]] = {}
    count, waiting = 0, [(-size(tree), 0, tree)]
    while waiting and count < most:
        node = heapq.heappop(waiting)[-1]
        ranked = sorted(node.children, key=size, reverse=True)
        room = most - count if count else max(most, 2)
        shown, rest = (ranked, []) if len(ranked) <= room else (ranked[: room - 1], ranked[room - 1 :])
        for child in shown:
            count += 1
            heapq.heappush(waiting, (-size(child), count, child))
        chosen = set(map(id, shown))
        more = (replace(together(rest), name="", kind="more", span=None, path="", alike=len(rest)),) if rest else ()
        kept[id(node)] = (*(child for child in node.children if id(child) in chosen), *more)
        count += bool(rest)

    def cut(node: Node) -> Node:
        return replace(node, children=tuple(map(cut, kept.get(id(node), ()))))

    return cut(tree)
