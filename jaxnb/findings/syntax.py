"""What the syntax of a cell says of names, defaults and lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

__all__ = ["assigned_names", "default_values", "first_line", "in_short", "stored_names"]


def stored_names(node: ast.AST) -> set[str]:
    """The names that something binds, at any depth.

    >>> sorted(stored_names(ast.parse("a, b = f(x)\\nfor i in a: b += i")))
    ['a', 'b', 'i']
    """
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def assigned_names(statement: ast.AST | None) -> list[str]:
    """The names that a statement assigns to, as written."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
        targets = [statement.target]
    items = [item for one in targets for item in (one.elts if isinstance(one, ast.Tuple | ast.List) else [one])]
    return [ast.unparse(item) for item in items if isinstance(item, ast.Name | ast.Attribute)]


def default_values(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    """The arguments of a function that have a default, with it.

    >>> function = ast.parse("lambda a, b=1, *, c=2: 0", mode="eval").body
    >>> [(arg.arg, ast.unparse(value)) for arg, value in default_values(function.args)]
    [('b', '1'), ('c', '2')]
    """
    places = [*arguments.posonlyargs, *arguments.args]
    yield from zip(places[len(places) - len(arguments.defaults) :], arguments.defaults, strict=True)
    for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if value is not None:
            yield one, value


def first_line(node: Any) -> int:
    """The line on which a statement or expression begins; that of its first decorator, if it has any."""
    return min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))])


def in_short(node: ast.AST, most: int = 40) -> str:
    """An expression as it is written; a call that is long without its arguments."""
    text = ast.unparse(node)
    if len(text) <= most:
        return text
    if isinstance(node, ast.Call):
        text = f"{ast.unparse(node.func)}(…)"
    return text if len(text) <= most else text[: most - 1] + "…"
