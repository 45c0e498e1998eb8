"""A cell's statements as the level "source", and its links to the level below."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from jaxnb.program import Computation, Level, Link, Op, Span

__all__ = ["Statement", "link_source", "read_source"]


Statement = tuple[Span, str] | tuple[Span, str, tuple[tuple[str, str], ...]]
"""Where a statement stands, its kind, and attributes as pairs of name and text."""


def read_source(source: str, statements: Sequence[Statement]) -> Level:
    """The level "source": one computation, one op for each top-level statement.

    Args:
      source: the cell as displayed, the magic line included if there is one.
      statements: each statement's span and kind, "staged" or "host", and its attributes, in the order of the text:
        "piece" for the number of the piece it belongs to, "reason" for why Python ran it.

    Raises:
      ValueError: if a span is not inside the source, or the spans are not in order.

    >>> level = read_source("x = 1\\ny = x + 1", [(Span(1, 0, 1, 5), "host"), (Span(2, 0, 2, 9), "staged")])
    >>> [(op.name, op.line) for op in level.ops()]
    [('host', 1), ('staged', 2)]
    """
    lines = source.count("\n") + 1
    before = (0, -1)
    for span, *_ in statements:
        if not 1 <= span.line <= lines:
            raise ValueError(f"a statement at line {span.line} is not in a source of {lines} lines")
        if (span.line, span.column) <= before:
            raise ValueError(f"the statement at line {span.line}, column {span.column} is out of order")
        before = (span.line, span.column)
    ops = tuple(Op(item[1], span=item[0], attributes=item[2] if len(item) > 2 else ()) for item in statements)
    return Level("source", computations=(Computation("cell", ops=ops),))


def link_source(source: Level, lower: Level) -> tuple[Link, ...]:
    """Links each statement to the ops of the level below whose span lies in it, bodies included.

    An op whose span is unknown or lies in another file has no link.

    Args:
      source: what `read_source` gave.
      lower: the next level, with spans, such as `read_jaxpr` gives.
    """
    statements = [
        ((op.span.line, op.span.column), _end(op.span), (at, index))
        for at, computation in enumerate(source.computations)
        for index, op in enumerate(computation.ops)
        if op.span is not None
    ]
    statements.sort()
    starts = [start for start, _, _ in statements]
    links: list[Link] = []
    for at, computation in enumerate(lower.computations):
        for index, op in enumerate(computation.ops):
            if op.span is None or op.span.file:
                continue
            # Without columns an op belongs to the last statement that begins on its line or above.
            column = op.span.column if op.span.end_column else float("inf")
            found = bisect_right(starts, (op.span.line, column)) - 1
            if found < 0:
                continue
            _, end, statement = statements[found]
            if (op.span.line, op.span.column) < end:
                links.append(Link(source.name, statement, lower.name, (at, index)))
    return tuple(links)


def _end(span: Span) -> tuple[int, float]:
    """Where a span ends, to compare with a beginning; without columns, at the end of its line."""
    return (max(span.line, span.end_line), span.end_column or float("inf"))
