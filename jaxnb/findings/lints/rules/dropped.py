"""Updates whose result is dropped (`"dropped"`): arrays do not change, `x.at[i].set(v)` gives a new one.

Source: https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html (in-place updates).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from jaxnb.findings.lints.lint import Lint, Text
from jaxnb.findings.place import parse_shown
from jaxnb.program import Finding, Fix

__all__ = ["LINT", "dropped_updates"]

_UPDATES = frozenset({"set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max", "apply"})
_PURE = frozenset({"apply_updates", "tree_map", "incremental_update"})


def dropped_updates(shown: str, namespace: Mapping[str, Any]) -> Iterator[Finding]:
    """The statements of a cell that update an array and keep nothing.

    Args:
      shown: the cell as displayed.
      namespace: the names that it sees.
    """
    tree = parse_shown(shown) if ".at[" in shown or any(name in shown for name in _PURE) else None
    if tree is None:
        return
    for around in [tree, *_functions(tree)]:
        last = tree.body[-1] if around is tree and tree.body else None  # whose value the cell shows
        name = around.name if isinstance(around, ast.FunctionDef) else ""
        for node in _own_statements(around):
            if isinstance(node, ast.Expr) and node is not last and isinstance(node.value, ast.Call):
                yield from _dropped(shown, node, node.value, name, namespace)


def _dropped(
    shown: str, node: ast.Expr, call: ast.Call, function: str, namespace: Mapping[str, Any]
) -> Iterator[Finding]:
    origin, text = f"in `{function}`" if function else "", _text(shown, call)
    updated = _updated(call)
    if updated is not None and isinstance(call.func, ast.Attribute):
        what = _text(shown, updated)
        message = (
            f"the result of `{what}.at[…].{call.func.attr}(…)` is dropped: arrays do not change, it gives a new one,"
            f" and `{what}` stays as it was."
        )
        fix = Fix(f"keep the result: `{what} = {text}`.")
        yield Finding("dropped", message, node.lineno, holder=what, origin=origin, fix=fix)
    elif isinstance(call.func, ast.Attribute | ast.Name) and call.args:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
        root = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        home = getattr(namespace.get(ast.unparse(root)), "__name__", "")
        if name not in _PURE or not (home.startswith(("jax", "optax")) or ast.unparse(root).startswith("jax")):
            return
        what = ast.unparse(call.args[1 if name == "tree_map" and len(call.args) > 1 else 0])
        message = f"the result of `{name}` is dropped: it changes nothing in place, and `{what}` stays as it was."
        fix = Fix(f"keep the result: `{what} = {text}`.")
        yield Finding("dropped", message, node.lineno, holder=what, origin=origin, fix=fix)


def _text(shown: str, node: ast.expr) -> str:
    """As it is written; the first line of a cell may be a magic, which the tree leaves out."""
    return " ".join((ast.get_source_segment(shown, node) or ast.unparse(node)).split())


def _updated(call: ast.Call) -> ast.expr | None:
    """The array in `x.at[i].set(v)`."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr not in _UPDATES:
        return None
    index = function.value
    if isinstance(index, ast.Subscript) and isinstance(index.value, ast.Attribute) and index.value.attr == "at":
        return index.value.value
    return None


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _own_statements(around: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a function, or of the cell, without those of functions in it."""
    pending: list[ast.AST] = list(ast.iter_child_nodes(around))
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.stmt):
            yield node
        pending += ast.iter_child_nodes(node)


def _in_text(text: Text) -> Iterator[Finding]:
    yield from dropped_updates(text.execution.cell.shown, text.execution.namespace)


LINT = Lint(in_text=_in_text)
