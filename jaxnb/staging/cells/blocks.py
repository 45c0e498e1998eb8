"""A compound statement taken apart, for cells whose loops and branches need values.

`for`, `while`, `if`, `with`, `try` and `match` are then run by Python, and the stretches of statements inside them are
*blocks*: small cells of their own, staged once and reused in each turn. What stays in Python is the header and whatever
leaves the statement, such as `break`. A loop that is too long to be written out is taken apart as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

from jaxnb.staging.cells.cell import CellSource, Statement, read_statement
from jaxnb.staging.cells.parts import is_part, with_parts

__all__ = [
    "CAUGHT",
    "COMPOUND",
    "ROLLED",
    "RUNNER",
    "TURN",
    "TURNED",
    "Counter",
    "Opened",
    "Opener",
    "call_of",
    "counting_code",
    "leaves",
    "open_statement",
]

COMPOUND = frozenset({"For", "While", "If", "With", "Try", "TryStar", "Match"})
RUNNER = "jaxnb block"
"""The name by which the code of an opened statement calls for a block; no user can write it."""

TURN = "jaxnb turn"
"""The name by which a loop that is traced says that it turns once more."""

TURNED = "jaxnb turned"
"""The name by which a loop that was taken apart says the same."""

CAUGHT = "jaxnb caught"
"""The name by which an `except` clause of an opened statement says that it has caught something."""

ROLLED = "its body is staged once and run in turns"
"""Why a loop was taken apart that is too long to be written out."""

_BODIES = ("body", "orelse", "finalbody")


@dataclass(frozen=True, slots=True)
class Opened:
    """A statement of which parts are blocks: the inner stretches of a compound one, or of a function that it calls; of
    a simple one its calls.

    Attributes:
      code: the statement, calling `RUNNER` with the number of a block where the block stood, and `TURNED` with its
        first and last line at each turn of a loop.
      blocks: the blocks, each as a cell.
      turning: names that the loops among what was taken apart bind anew in each turn, or count up.
      before: what is run before the code, which then only takes what that has left; None for a compound statement.
      left: names that parts are kept under until the statement is over.
      functions: the function that was taken apart, by the fingerprint of its code: the code that calls for the blocks,
        and the lines, counted from its first one, for which it was.
    """

    code: CodeType
    blocks: tuple[CellSource, ...]
    turning: frozenset[str] = frozenset()
    before: CodeType | None = None
    left: tuple[str, ...] = ()
    functions: Mapping[bytes, tuple[CodeType, frozenset[int]]] | None = None


def open_statement(cell: CellSource, statement: Statement, turning: frozenset[str] = frozenset()) -> Opened:
    """Takes a compound statement of a cell apart.

    Args:
      cell: that it stands in.
      statement: which one.
      turning: names that the loops around it bind anew in each turn, or count up.
    """
    blocks: list[CellSource] = []
    opener = Opener(cell, blocks, turning)
    node = opener.open(statement.node)
    code = compile(ast.Module([node], []), cell.filename, "exec", cell.flags, dont_inherit=True)
    parts = [name for block in blocks for name in sorted(block.binds) if is_part(name)]
    return Opened(code, tuple(blocks), frozenset(opener.turning), left=tuple(parts))


class Opener:
    """Takes statements apart.

    Args:
      cell: that they stand in.
      blocks: is filled with the blocks.
      turning: names that the loops around bind anew in each turn, or count up.
    """

    def __init__(self, cell: CellSource, blocks: list[CellSource], turning: frozenset[str] = frozenset()) -> None:
        self.cell, self.blocks = cell, blocks
        self.turning = set(turning)

    def open(self, node: ast.stmt) -> Any:
        """A copy of a compound statement with blocks in the place of its stretches."""
        changed: dict[str, Any] = {}
        if isinstance(node, ast.For | ast.While):
            self.turning |= _bound_in_turns(node)
        for field, value in ast.iter_fields(node):
            if field in _BODIES and isinstance(value, list):
                changed[field] = self.stretches(value)
            elif field in ("handlers", "cases"):
                changed[field] = [self._with_body(part, self.caught(part)) for part in value]
            else:
                changed[field] = value
        if isinstance(node, ast.For | ast.While):
            changed["body"] = [*self.turned(node), *changed["body"]]
        return ast.copy_location(type(node)(**changed), node)

    def turned(self, node: ast.For | ast.While) -> list[ast.stmt]:
        """What says that a loop turns."""
        return [call_of(TURNED, node.body[0], node.lineno, node.end_lineno)]

    def caught(self, part: ast.ExceptHandler | ast.match_case) -> list[ast.stmt]:
        """What says that something was caught, whose traceback has frames of who ran the block that raised it."""
        return [call_of(CAUGHT, part.body[0])] if isinstance(part, ast.ExceptHandler) else []

    def _with_body(self, part: Any, before: list[ast.stmt]) -> Any:
        changed = dict(ast.iter_fields(part))
        changed["body"] = [*before, *self.stretches(part.body)]
        return ast.copy_location(type(part)(**changed), part) if hasattr(part, "lineno") else type(part)(**changed)

    def stretches(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements with blocks in the place of those that stay together."""
        result: list[ast.stmt] = []
        stretch: list[ast.stmt] = []
        for node in body:
            for item, inside in self.apart(node):
                if inside:
                    stretch.append(item)
                    continue
                self.close(stretch, result)
                stretch = []
                result.append(item)
        self.close(stretch, result)
        return result

    def apart(self, node: ast.stmt) -> Iterator[tuple[ast.stmt, bool]]:
        """What a statement becomes, each with whether it can be part of a block."""
        if not leaves(node):
            yield node, True
        else:
            yield (self.open(node) if type(node).__name__ in COMPOUND else node), False

    def close(self, stretch: list[ast.stmt], result: list[ast.stmt]) -> None:
        """Makes a block of the statements so far, unless there are none or they do nothing."""
        if all(isinstance(node, ast.Pass) for node in stretch):
            result.extend(stretch)
            return
        number = len(self.blocks)
        parts = [part for node in stretch for part in with_parts(node, self.turning)]
        read = [read_statement(node, False, self.cell.filename, self.cell.flags) for node in parts]
        self.blocks.append(self.cell.block(tuple(read), number))
        result.append(call_of(RUNNER, stretch[0], number))


def _bound_in_turns(node: ast.For | ast.While) -> set[str]:
    """Names that a loop surely changes: those that its header binds, and those that its body counts up."""
    counted = [item.target for item in ast.walk(node) if isinstance(item, ast.AugAssign)]
    bound = [*ast.walk(node.target), *counted] if isinstance(node, ast.For) else counted
    return {item.id for item in bound if isinstance(item, ast.Name)}


def counting_code(cell: CellSource, statement: Statement) -> CodeType | None:
    """The code of a compound statement, calling `TURN` with the number of a loop at each turn of it.

    A loop has a larger number than the one that it stands in. None if there is no loop in the statement.
    """
    counter = Counter()
    node = counter.visit(statement.node)
    if not counter.loops:
        return None
    return compile(ast.Module([node], []), cell.filename, "exec", cell.flags, dont_inherit=True)


class Counter(ast.NodeTransformer):
    """Copies the loops of a statement, and what holds them, with a call at the top of each.

    Attributes:
      loops: how many there were.
    """

    def __init__(self) -> None:
        self.loops = 0

    def visit(self, node: ast.AST) -> Any:
        if type(node).__name__ not in COMPOUND:
            return node
        changed, number = dict(ast.iter_fields(node)), self.loops
        self.loops += isinstance(node, ast.For | ast.While)
        for field in _BODIES:
            if changed.get(field):
                changed[field] = [self.visit(child) for child in changed[field]]
        for field in ("handlers", "cases"):
            if field in changed:
                changed[field] = [self._part(part) for part in changed[field]]
        if isinstance(node, ast.For | ast.While):
            changed["body"] = [self.call(node.body[0], number), *changed["body"]]
        return ast.copy_location(type(node)(**changed), node)

    def call(self, like: ast.stmt, number: int) -> ast.stmt:
        """What stands at the top of a loop."""
        return call_of(TURN, like, number)

    def _part(self, part: Any) -> Any:
        changed = {**dict(ast.iter_fields(part)), "body": [self.visit(child) for child in part.body]}
        return ast.copy_location(type(part)(**changed), part) if hasattr(part, "lineno") else type(part)(**changed)


def call_of(name: str, like: ast.stmt, *arguments: int | None) -> ast.stmt:
    """A statement that calls a name with numbers, where another one stands."""
    node = ast.Expr(ast.Call(ast.Name(name, ast.Load()), [ast.Constant(item) for item in arguments], []))
    for item in ast.walk(node):
        ast.copy_location(item, like)
    return node


def leaves(node: ast.stmt) -> bool:
    """Whether a statement can leave the loop, or the function, that it stands in."""
    if isinstance(node, ast.Break | ast.Continue | ast.Return):
        return True
    if isinstance(node, ast.For | ast.While):
        return any(leaves(child) for child in node.orelse) or any(map(_returns, node.body))
    return any(leaves(child) for child in _inner(node))


def _returns(node: ast.stmt) -> bool:
    return isinstance(node, ast.Return) or any(map(_returns, _inner(node)))


def _inner(node: ast.stmt) -> list[ast.stmt]:
    if type(node).__name__ not in COMPOUND:
        return []
    parts: list[Any] = [node, *getattr(node, "handlers", []), *getattr(node, "cases", [])]
    return [child for part in parts for field in _BODIES for child in getattr(part, field, []) or []]
