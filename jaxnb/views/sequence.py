"""A level in its own order: computations as blocks, each op on a row of its own with the line that caused it.

A body stands below the op that owns it; one that several ops own is shown below the first of them.
"""

from __future__ import annotations

from dataclasses import replace

from jaxnb.program import Computation, Level, Op, cost_of
from jaxnb.views.cost_table import CostTable
from jaxnb.views.folding import Fold, Folding
from jaxnb.views.rows import Row, RowMaker, cut_rows, listed

__all__ = ["read_sequence"]


def read_sequence(
    level: Level, limit: int | None, *, fold: Fold = None, tally: CostTable | None = None
) -> tuple[Row, ...]:
    """The rows of a level.

    Args:
      level: to be shown.
      limit: about how many ops at most: bodies are folded first, then the ends of the entry points are left out.
      fold: which bodies are folded, see `Fold`.
      tally: what its ops cost, if rows are to say it.
    """
    return _Sequence(level, limit, fold, tally).rows()


class _Sequence:
    def __init__(self, level: Level, limit: int | None, fold: Fold, tally: CostTable | None) -> None:
        self.level = level
        self.maker = RowMaker(level)
        self.folding = Folding(level, fold, limit)
        self.tally = tally
        self.most = None if limit is None else max(1, limit // max(1, level.entries))
        self.seen: set[int] = set()

    def rows(self) -> tuple[Row, ...]:
        rows: list[Row] = []
        for index, entry in enumerate(self.maker.entries):
            rows.append(replace(self.maker.body_row(entry, 0), note="", operands=""))
            rows += self.maker.input_rows(index, indent=1)
            rows += self._body(entry, 1, 0, None)
            if entry.outputs:
                results, types = self.maker.names(entry.outputs, ", "), self.maker.types(entry.outputs)
                rows.append(Row(1, op="return", operands=results, type=types, bound=listed(entry.output_names, ", ")))
        return tuple(rows)

    def _body(self, computation: Computation, indent: int, depth: int, owner: Op | None) -> tuple[Row, ...]:
        rows: list[Row] = []
        for at, op in enumerate(computation.ops):
            if self.most is not None and len(rows) > self.most:
                return cut_rows(rows, self.most, "ops", len(computation.ops) - at)
            rows += self._op(op, indent, depth, owner)
        return tuple(rows)

    def _op(self, op: Op, indent: int, depth: int, owner: Op | None) -> list[Row]:
        hidden = self.folding.hidden(op, depth)
        cost = None if self.tally is None else self.tally.whole(op) if hidden else cost_of(op)
        rows = [self.maker.op_row(op, indent, entry=depth == 0, hidden=hidden, owner=owner, cost=cost)]
        if hidden:
            return rows
        for index in op.bodies:
            body = self.level.computations[index]
            again = index in self.seen
            rows.append(self.maker.body_row(body, indent + 1, "(as above)" if again else ""))
            if not again:
                self.seen.add(index)
                rows += self._body(body, indent + 2, depth + 1, op)
        return rows
