"""Where the text of a cell keeps what leaks: the line that puts it into a holder, and the next one that reads that."""

from __future__ import annotations

import ast
import re

from jaxnb.findings.place import parse_shown

__all__ = ["keeping_lines", "reading_line"]

_KEEPING = frozenset({"append", "add", "extend", "insert", "update", "setdefault", "appendleft", "put"})
_NAMES = re.compile(r"[A-Za-z_]\w*")


def keeping_lines(shown: str, holder: str) -> tuple[int, ...]:
    """The lines in functions of a cell that put something into a holder, such as `losses[0]` or `model.cache`.

    Args:
      shown: the cell as displayed.
      holder: what leads to the tracer, as the user knows it.

    >>> keeping_lines("def f(x):\\n    seen.append(x)\\n    return x", "seen[0]")
    (2,)
    """
    names = set(_NAMES.findall(re.sub(r"\[[^]]*\]|,.*", "", holder)))
    tree = parse_shown(shown) if names else None
    found: set[int] = set()
    for function in ast.walk(tree) if tree is not None else ():
        if isinstance(function, ast.FunctionDef | ast.Lambda):
            found.update(line for node in ast.walk(function) if (line := _keeps(node, names)) is not None)
    return tuple(sorted(found))


def _keeps(node: ast.AST, names: set[str]) -> int | None:
    """The line of what puts something into what has one of these names; None of anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPING:
        return node.lineno if _is_named(node.func.value, names) else None
    if isinstance(node, ast.Assign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        into = [one for one in targets if isinstance(one, ast.Attribute | ast.Subscript)]
        return node.lineno if any(_is_named(one, names) for one in into) else None
    return None


def _is_named(node: ast.expr, names: set[str]) -> bool:
    while isinstance(node, ast.Subscript):
        node = node.value
    return getattr(node, "attr", getattr(node, "id", "")) in names


def reading_line(shown: str, holder: str, behind: int) -> int | None:
    """The first line of a cell, behind another one and in no function, that reads what a holder begins with.

    Args:
      shown: the cell as displayed.
      holder: what leads to the tracer.
      behind: the line.

    >>> reading_line("y = f(x)\\nz = sum(seen)", "seen[0]", 1)
    2
    """
    root = re.match(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?", holder)
    tree = parse_shown(shown) if root is not None else None
    for statement in tree.body if tree is not None else ():
        if statement.lineno > behind and not isinstance(statement, ast.FunctionDef | ast.ClassDef):
            for node in ast.walk(statement):
                loaded = isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
                if loaded and root is not None and ast.unparse(node) == root[0]:
                    return getattr(node, "lineno", None)
    return None
