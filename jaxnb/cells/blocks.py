"""A compound statement taken apart, for cells whose loops and branches need values.

`for`, `while`, `if`, `with`, `try` and `match` are then run by Python, and the stretches of statements inside them are
*blocks*: small cells of their own, staged once and reused in each turn. What stays in Python is the header and whatever
leaves the statement, such as `break`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import CodeType
from typing import Any

from jaxnb.cells.cell import CellSource, Statement, read_statement

__all__ = ["COMPOUND", "RUNNER", "TURN", "Opened", "counting_code", "open_statement"]

COMPOUND = frozenset({"For", "While", "If", "With", "Try", "TryStar", "Match"})
RUNNER = "jaxnb block"
"""The name by which the code of an opened statement calls for a block; no user can write it."""

TURN = "jaxnb turn"
"""The name by which a loop that is traced says that it turns once more."""

_BODIES = ("body", "orelse", "finalbody")


@dataclass(frozen=True, slots=True)
class Opened:
    """A compound statement whose inner stretches are blocks.

    Attributes:
      code: the statement, calling `RUNNER` with the number of a block where the block stood.
      blocks: the blocks, each as a cell.
    """

    code: CodeType
    blocks: tuple[CellSource, ...]


def open_statement(cell: CellSource, statement: Statement) -> Opened:
    """Takes a compound statement of a cell apart."""
    blocks: list[CellSource] = []
    node = _Opener(cell, blocks).open(statement.node)
    code = compile(ast.Module([node], []), cell.filename, "exec", cell.flags, dont_inherit=True)
    return Opened(code, tuple(blocks))


class _Opener:
    def __init__(self, cell: CellSource, blocks: list[CellSource]) -> None:
        self.cell, self.blocks = cell, blocks

    def open(self, node: ast.stmt) -> Any:
        """A copy of a compound statement with blocks in the place of its stretches."""
        changed: dict[str, Any] = {}
        for field, value in ast.iter_fields(node):
            if field in _BODIES and isinstance(value, list):
                changed[field] = self._stretches(value)
            elif field in ("handlers", "cases"):
                changed[field] = [self._with_body(part) for part in value]
            else:
                changed[field] = value
        return ast.copy_location(type(node)(**changed), node)

    def _with_body(self, part: Any) -> Any:
        changed = dict(ast.iter_fields(part))
        changed["body"] = self._stretches(part.body)
        return ast.copy_location(type(part)(**changed), part) if hasattr(part, "lineno") else type(part)(**changed)

    def _stretches(self, body: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        stretch: list[ast.stmt] = []
        for node in body:
            if not _leaves(node):
                stretch.append(node)
                continue
            self._close(stretch, result)
            stretch = []
            result.append(self.open(node) if type(node).__name__ in COMPOUND else node)
        self._close(stretch, result)
        return result

    def _close(self, stretch: list[ast.stmt], result: list[ast.stmt]) -> None:
        """Makes a block of the statements so far, unless there are none or they do nothing."""
        if all(isinstance(node, ast.Pass) for node in stretch):
            result.extend(stretch)
            return
        number = len(self.blocks)
        read = [read_statement(node, False, self.cell.filename, self.cell.flags) for node in stretch]
        self.blocks.append(self.cell.block(tuple(read), number))
        call = ast.Call(ast.Name(RUNNER, ast.Load()), [ast.Constant(number)], [])
        result.append(_located(ast.Expr(call), stretch[0]))


def counting_code(cell: CellSource, statement: Statement) -> CodeType | None:
    """The code of a compound statement, calling `TURN` at each turn of a loop; None if there is no loop in it."""
    counter = _Counter()
    node = counter.visit(statement.node)
    if not counter.loops:
        return None
    return compile(ast.Module([node], []), cell.filename, "exec", cell.flags, dont_inherit=True)


class _Counter(ast.NodeTransformer):
    """Copies the loops of a statement, and what holds them, with a call at the top of each."""

    def __init__(self) -> None:
        self.loops = 0

    def visit(self, node: ast.AST) -> Any:
        if type(node).__name__ not in COMPOUND:
            return node
        changed = dict(ast.iter_fields(node))
        for field in _BODIES:
            if changed.get(field):
                changed[field] = [self.visit(child) for child in changed[field]]
        for field in ("handlers", "cases"):
            if field in changed:
                changed[field] = [self._part(part) for part in changed[field]]
        if isinstance(node, ast.For | ast.While):
            self.loops += 1
            call = ast.Expr(ast.Call(ast.Name(TURN, ast.Load()), [], []))
            changed["body"] = [_located(call, node.body[0]), *changed["body"]]
        return ast.copy_location(type(node)(**changed), node)

    def _part(self, part: Any) -> Any:
        changed = {**dict(ast.iter_fields(part)), "body": [self.visit(child) for child in part.body]}
        return ast.copy_location(type(part)(**changed), part) if hasattr(part, "lineno") else type(part)(**changed)


def _located(node: ast.stmt, like: ast.stmt) -> ast.stmt:
    for item in ast.walk(node):
        ast.copy_location(item, like)
    return node


def _leaves(node: ast.stmt) -> bool:
    """Whether a statement can leave the loop that it stands in."""
    if isinstance(node, ast.Break | ast.Continue):
        return True
    if isinstance(node, ast.For | ast.While):
        return any(_leaves(child) for child in node.orelse)
    return any(_leaves(child) for child in _inner(node))


def _inner(node: ast.stmt) -> list[ast.stmt]:
    if type(node).__name__ not in COMPOUND:
        return []
    parts: list[Any] = [node, *getattr(node, "handlers", []), *getattr(node, "cases", [])]
    return [child for part in parts for field in _BODIES for child in getattr(part, field, []) or []]
