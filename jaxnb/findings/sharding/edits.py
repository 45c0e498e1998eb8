"""Edits that spread a value of a cell otherwise: a constraint around an expression, an argument for a callback."""

from __future__ import annotations

import ast
from typing import Any

import jax

from jaxnb.findings.place import parse_shown

__all__ = ["Edit", "constrained", "with_keyword", "with_operand"]

Edit = tuple[int, str, str]
"""A line, its old text, and its new one."""


def constrained(text: str, line: int, sharding: str, mesh: Any, jax_name: str) -> Edit | None:
    """The statement on a line with a constraint on what it assigns or returns; with another spec if it has one."""
    tree = parse_shown(text)
    if tree is None:
        return None
    on_line = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.Return | ast.Expr) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    node = max(on_line, key=lambda node: node.lineno, default=None)
    if node is None or node.value is None or (isinstance(node, ast.Assign) and len(node.targets) > 1):
        return None
    if isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name):
        return None
    inner = next((call for call in ast.walk(node.value) if _is_constraint(call)), None)
    if isinstance(inner, ast.Call) and len(inner.args) == 2:
        return _exchanged(text, inner.args[1], sharding)
    segment = ast.get_source_segment(text, node.value)
    return None if segment is None else _exchanged(text, node.value, _around(segment, sharding, mesh, jax_name))


def _is_constraint(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in ("with_sharding_constraint", "reshard", "wsc")


def with_keyword(text: str, name: str, keyword: str, line: int | None) -> Edit | None:
    """A call of `jax.debug.NAME` on a line, or the only one there is, with one argument more."""
    calls = [
        node
        for node in _calls(text)
        if isinstance(node.func, ast.Attribute) and node.func.attr == name and "debug" in ast.unparse(node.func)
    ]
    on_line = [node for node in calls if node.lineno <= (line or 0) <= (node.end_lineno or 0)] or calls
    if len(on_line) != 1:
        return None
    segment = ast.get_source_segment(text, on_line[0]) or ""
    return _exchanged(text, on_line[0], f"{segment[:-1]}, {keyword})") if segment.endswith(")") else None


def with_operand(text: str, line: int, function: str, sharding: str, mesh: Any, jax_name: str) -> Edit | None:
    """The only call of a function on a line with a constraint on its first argument."""
    calls = [
        node
        for node in _calls(text)
        if node.lineno <= line <= (node.end_lineno or 0)
        and (node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")) == function
        and node.args
        and not isinstance(node.args[0], ast.Starred)
    ]
    if len(calls) != 1:
        return None
    segment = ast.get_source_segment(text, calls[0].args[0])
    return None if segment is None else _exchanged(text, calls[0].args[0], _around(segment, sharding, mesh, jax_name))


def _calls(text: str) -> list[ast.Call]:
    tree = parse_shown(text)
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree is not None else []


def _around(segment: str, sharding: str, mesh: Any, jax_name: str) -> str:
    explicit = any(kind == jax.sharding.AxisType.Explicit for kind in mesh.axis_types)
    word = "sharding.reshard" if explicit else "lax.with_sharding_constraint"
    return f"{jax_name}.{word}({segment}, {sharding})"


def _exchanged(text: str, node: ast.expr, new: str) -> Edit:
    """Puts another text where an expression stands."""
    lines = text.split("\n")[node.lineno - 1 : node.end_lineno]
    head = lines[0].encode()[: node.col_offset].decode()
    tail = lines[-1].encode()[node.end_col_offset or 0 :].decode()
    return node.lineno, "\n".join(lines), head + new + tail
