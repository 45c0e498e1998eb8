"""The rows of a call tree: lines by what they cost, which open into the functions that they call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxnb.program import Amount, Level, Node, Program, Span, folded, together
from jaxnb.views.width import clipped, printable, text_width

__all__ = ["Branch", "branches"]

_LEAST = tuple(0.005 * 1.25**n for n in range(20))  # of the whole; what is less is counted together
_SHORT = 16  # columns that are left of a line before what it calls


@dataclass(frozen=True, slots=True)
class Branch:
    """A row.

    Attributes:
      depth: how many calls lead there.
      label: a line with its text, or a call.
      calls: what the line calls, if that is one thing.
      node: what it is about; for several in one row one that has their sums.
    """

    depth: int
    label: str
    node: Node
    calls: str = ""

    def text(self, room: int) -> str:
        """The row as text; the line is shortened, if need be, and not what it calls."""
        before = "  " * self.depth
        if not self.calls:
            return before + self.label
        calls = f"  → {self.calls}"
        return f"{before}{clipped(self.label, max(_SHORT, room - text_width(before + calls)))}{calls}"


def branches(program: Program, level: Level, tree: Node, depth: int, by: str, limit: int | None = None) -> list[Branch]:
    """The rows of a tree, of those below one node the dearest first.

    Args:
      program: whose cell it is.
      level: that the tree was read from.
      tree: its root.
      depth: how many calls deep it is opened.
      by: the column that says which is dearest.
      limit: how many rows there should be at most: the more cheap ones are counted together. None shows each.
    """
    rows: list[Branch] = []
    opening, whole = _Opening(program, level, depth, by), folded(tree)
    for least in _LEAST if limit is not None else (0.0,):
        opening.least = least * opening.size(whole)
        rows = list(opening.below(whole, 0))
        if limit is None or len(rows) <= limit:
            break
    return rows


class _Opening:
    def __init__(self, program: Program, level: Level, depth: int, by: str) -> None:
        self.least = 0.0
        self._depth, self._by = depth, by
        self._texts = {("", n): line for n, line in enumerate(program.source.split("\n"), 1)}
        for source in level.sources:
            self._texts.update(((source.file, n), line) for n, line in enumerate(source.text.split("\n"), source.line))

    def below(self, node: Node, at: int) -> Iterator[Branch]:
        """What stands below the cell, a call, or a line of several calls."""
        ranked = sorted(node.children, key=lambda child: -self.size(child))
        small = [child for child in ranked if self.size(child) < self.least]
        for child in ranked if len(small) < 2 else ranked[: -len(small)]:
            yield from self._line(child, at) if child.kind == "line" else self._call(child, at)
        if len(small) > 1 and (len(small) < len(ranked) or at == 0):  # all of them are what stands above
            yield Branch(at, f"… {len(small)} more", together(small))

    def _line(self, line: Node, at: int) -> Iterator[Branch]:
        text = self._text(line.span)
        if len(line.children) == 1:
            call = line.children[0]
            yield Branch(at, text, line, _called(call))
            if at + 1 < self._depth:
                yield from self.below(call, at + 1)
            return
        yield Branch(at, text, line)
        if at < self._depth:
            yield from self.below(line, at + 1)

    def _call(self, call: Node, at: int) -> Iterator[Branch]:
        yield Branch(at, _called(call), call)
        if at < self._depth:
            yield from self.below(call, at + 1)

    def size(self, node: Node) -> float:
        return node.total.get(self._by, Amount(0)).number or 0.0

    def _text(self, span: Span | None) -> str:
        if span is None:
            return "(elsewhere)"
        return f"{span.line:>3}  {printable(self._texts.get((span.file, span.line), '').strip())}"


def _called(call: Node) -> str:
    """`Block.__call__ ×4 blocks[0…3]`, `scan, 12 turns`."""
    turns = f", {call.turns} turns" if call.kind == "loop" and call.turns is not None else ""
    name = printable(call.name) + turns + (f" ×{call.alike}" if call.alike > 1 else "")
    return f"{name}  {printable(call.path)}" if call.path else name
