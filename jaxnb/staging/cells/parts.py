"""Subscripts by the counter of a loop, such as `images[i * n : (i + 1) * n]`, as statements of their own.

Of a loop that is run in turns the body should be one program for all turns. A list wants its index as a number, and a
slice its bounds: in a statement of its own such a subscript is left to Python, and what is computed with it is not.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection
from typing import Any

__all__ = ["function_of_statement", "is_part", "statement_name", "with_parts"]

_PLAIN = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple)


def is_part(name: str) -> bool:
    """Whether a name stands for such a subscript: then it is its text, which no user can write as a name."""
    return not name.isidentifier()


_STATEMENT = ", line "


def statement_name(function: str, line: int) -> str:
    """The name of a statement of a function that was taken apart, which no user can write; its first line is 0."""
    return f"{function}{_STATEMENT}{line}"


def function_of_statement(name: str) -> str | None:
    """The function of which a name is a statement; None for any other name."""
    function, found, _ = name.partition(_STATEMENT)
    return function if found else None


def with_parts(node: ast.stmt, counters: Collection[str]) -> list[ast.stmt]:
    """A statement, with the subscripts by counters in statements before it, and these names deleted behind it.

    What is moved is evaluated before everything in the statement that could tell.

    Args:
      node: the statement; it is not changed.
      counters: names that the loop counts.
    """
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr) or node.value is None:
        return [node]
    if isinstance(node, ast.AugAssign) and not isinstance(node.target, ast.Name):
        return [node]  # the target is read first
    if _is_part(node.value, counters):
        return [node]
    finder = _Finder(counters)
    value = finder.visit(node.value)
    if not finder.parts:
        return [node]
    names = [ast.unparse(part) for part in finder.parts]
    before: list[ast.stmt] = []
    for name, part in zip(names, finder.parts, strict=True):
        before.append(ast.copy_location(ast.Assign([_name(name, ast.Store(), part)], part), part))
    last = finder.parts[-1]
    after = ast.copy_location(ast.Delete([_name(name, ast.Del(), last) for name in dict.fromkeys(names)]), last)
    changed: dict[str, Any] = {**dict(ast.iter_fields(node)), "value": value}
    return [*before, ast.copy_location(type(node)(**changed), node), after]


class _Finder:
    """Replaces subscripts in the order of evaluation, until something is called."""

    def __init__(self, counters: Collection[str]) -> None:
        self.counters = counters
        self.parts: list[ast.expr] = []
        self._over = False

    def visit(self, node: Any) -> Any:
        if self._over or isinstance(node, ast.Name | ast.Constant):
            return node
        if _is_part(node, self.counters):
            self.parts.append(node)
            return _name(ast.unparse(node), ast.Load(), node)
        if not isinstance(node, (*_PLAIN, ast.Call, ast.Starred, ast.List, ast.keyword)):
            self._over = True  # it may leave out what is inside, or call something
            return node
        changed = copy.copy(node)
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(changed, field, [self.visit(item) for item in value])
            elif isinstance(value, ast.expr):
                setattr(changed, field, self.visit(value))
        self._over |= isinstance(node, ast.Call)
        return changed


def _is_part(node: ast.expr, counters: Collection[str]) -> bool:
    """Whether it is a subscript of something that is named, by numbers among which is a counter."""
    if not isinstance(node, ast.Subscript):
        return False
    inside = [item for item in ast.walk(node) if isinstance(item, ast.expr)]
    counted = any(isinstance(item, ast.Name) and item.id in counters for item in ast.walk(node.slice))
    return counted and all(isinstance(item, _PLAIN) for item in inside)


def _name(text: str, context: ast.expr_context, like: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(text, context), like)
