"""Updates whose result is dropped (`"dropped"`): arrays do not change, `x.at[i].set(v)` gives a new one.

Source: https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html (in-place updates).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import jax

from jaxnb.findings.lints.cell_text import CellText
from jaxnb.findings.lints.dropped_states import lost_states
from jaxnb.findings.lints.lint import Lint
from jaxnb.findings.lints.lost_objects import lost_objects
from jaxnb.findings.lints.misread_text import values_of
from jaxnb.findings.loops import LoopText
from jaxnb.program import Finding, Fix
from jaxnb.runtime import name_of

__all__ = ["LINT"]

_UPDATES = frozenset({"set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max", "apply"})
_PURE = frozenset({"apply_updates", "tree_map", "incremental_update", "tree_at", "stop_gradient"})
_RENEWING = frozenset({"apply_gradients", "replace", "_replace"})
_METHODS = frozenset("sort clip astype reshape transpose squeeze round flatten ravel swapaxes repeat".split())
"""Methods of arrays that some take for changes in place."""


def _dropped_updates(cell: CellText) -> Iterator[Finding]:
    """The statements of a cell that update an array, or a state, and keep nothing."""
    yield from lost_states(cell)
    yield from lost_objects(cell)
    shown = cell.shown
    worth = ".at[" in shown or "tree.map" in shown or any(name in shown for name in _PURE | _RENEWING | _METHODS)
    text = cell.text if worth else None
    if text is None:
        return
    tree = text.tree
    for around in [tree, *_functions(tree)]:
        last = tree.body[-1] if around is tree and tree.body else None  # whose value the cell shows
        name = around.name if isinstance(around, ast.FunctionDef) else ""
        for node in _own_statements(around):
            if isinstance(node, ast.Expr) and node is not last and isinstance(node.value, ast.Call):
                yield from _dropped(shown, node, node.value, name, text)


def _dropped(shown: str, node: ast.Expr, call: ast.Call, function: str, cell: LoopText) -> Iterator[Finding]:
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
    elif isinstance(call.func, ast.Attribute) and _gives_a_new_one(call.func, call, cell):
        what = _text(shown, call.func.value)
        message = (
            f"the result of `{what}.{call.func.attr}(…)` is dropped: it gives a new one, and `{what}` stays as it was."
        )
        fix = Fix(f"keep the result: `{what} = {text}`.")
        yield Finding("dropped", message, node.lineno, holder=what, origin=origin, fix=fix)
    elif isinstance(call.func, ast.Attribute | ast.Name) and call.args:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
        root = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        if name == "map" and ast.unparse(root) in ("jax.tree", "jax.tree_util") and _is_pure(call.args[0]):
            name, shown_name = "tree_map", "jax.tree.map"
        else:
            shown_name = name
        found: Any = cell.namespace.get(ast.unparse(root))
        home = name_of(found) if issubclass(type(found), ModuleType) else ""  # to ask others might run their code
        known = home.startswith(("jax", "optax", "equinox")) or ast.unparse(root).startswith("jax")
        if name not in _PURE or not known:
            return
        what = ast.unparse(call.args[1 if name in ("tree_map", "tree_at") and len(call.args) > 1 else 0])
        message = f"the result of `{shown_name}` is dropped: it gives a new one, and `{what}` stays as it was."
        fix = Fix(f"keep the result: `{what} = {text}`.")
        yield Finding("dropped", message, node.lineno, holder=what, origin=origin, fix=fix)


def _is_pure(function: ast.expr) -> bool:
    """Whether a function that is mapped over a tree only computes: a lambda of operators, which print nothing."""
    return isinstance(function, ast.Lambda) and isinstance(function.body, ast.BinOp | ast.UnaryOp)


def _gives_a_new_one(method: ast.Attribute, call: ast.Call, cell: LoopText) -> bool:
    """Whether a method gives a new array, or a new state, of what it is called on."""
    name = method.attr
    if name == "apply_gradients" and any(item.arg == "grads" for item in call.keywords):
        return True
    if name not in _METHODS | _RENEWING or not isinstance(method.value, ast.Name):
        return False
    values = list(values_of(method.value, cell, jitted=True))
    if name in _METHODS:
        return bool(values) and all(isinstance(value, jax.Array) for value in values)
    return bool(values) and all(_is_frozen(value) for value in values)


def _is_frozen(value: Any) -> bool:
    """Whether a value is a named tuple or a frozen dataclass, of which `replace` gives another."""
    if isinstance(value, tuple):
        return hasattr(value, "_fields")
    params: Any = getattr(type(value), "__dataclass_params__", None)
    return params is not None and bool(params.frozen)


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


LINT = Lint(in_words=_dropped_updates)
