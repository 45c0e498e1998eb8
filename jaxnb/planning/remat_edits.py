"""Edits of a cell by which its gradient keeps other values: around what is differentiated, of functions, of scans."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from jaxnb._jax import is_checkpointed
from jaxnb.findings import parse_shown

__all__ = ["Edited", "checkpoint_name_in", "decorated", "scans_in", "wrapped_gradients"]

Edited = tuple[str, tuple[int, str, str]]
"""The text with an edit, and that as (line, old lines, new lines)."""

_GRADIENTS = frozenset({"grad", "value_and_grad", "filter_grad", "filter_value_and_grad"})


def wrapped_gradients(text: str, names: Mapping[str, Any], policy: Callable[[str], str]) -> Edited | None:
    """A cell in which whatever it differentiates is checkpointed; None if it names no function to differentiate.

    Args:
      text: of the cell as displayed.
      names: that it begins with.
      policy: as it is written, given what the module jax is called.
    """
    tree, called = parse_shown(text), _name_of(names, "jax")
    if tree is None or not called:
        return None
    changes: list[tuple[ast.expr, str]] = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args or isinstance(node.args[0], ast.Starred):
            continue
        function = _resolved(node.func, names)
        if getattr(function, "__name__", "") in _GRADIENTS and _home(function) in _KINDS:
            wrapper = _wrapper(_home(function), names)
            if not wrapper:
                return None
            written = ast.get_source_segment(text, node.args[0]) or ast.unparse(node.args[0])
            changes.append((node.args[0], f"{wrapper}({written}, policy={policy(called)})"))
    return _changed(text, changes)


_CHECKPOINTS = {
    "jax": ("jax", "checkpoint", "jax"),
    "nnx": ("flax.nnx", "remat", "nnx"),
    "linen": ("flax.linen", "remat", "nn"),
    "equinox": ("equinox", "filter_checkpoint", "eqx"),
}
"""By whose functions they fit: the module, the function in it, and what the module is mostly called."""
_KINDS = {"jax": "jax", "flax": "nnx", "equinox": "equinox"}  # of what the gradients of a package take


def checkpoint_name_in(names: Mapping[str, Any], kind: str) -> str:
    """The checkpoint of a kind as it is written, by what its module is mostly called where it has no name."""
    module, function, usual = _CHECKPOINTS[kind]
    return f"{_name_of(names, module) or usual}.{function}"


def _home(function: Any) -> str:
    return str(getattr(function, "__module__", "")).partition(".")[0]


def _wrapper(home: str, names: Mapping[str, Any]) -> str:
    kind = _KINDS[home]
    return checkpoint_name_in(names, kind) if _name_of(names, _CHECKPOINTS[kind][0]) else ""


def scans_in(text: str, names: Mapping[str, Any]) -> Edited | None:
    """A cell in which each turn of what it scans is checkpointed; None if it scans nothing itself, or all of it is so
    already."""
    tree, called = parse_shown(text), _name_of(names, "jax")
    if tree is None or not called:
        return None
    changes: list[tuple[ast.expr, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and _is_scan(_resolved(node.func, names)):
            if _is_checkpointed(node.args[0], tree, names):
                continue
            written = ast.get_source_segment(text, node.args[0]) or ast.unparse(node.args[0])
            changes.append((node.args[0], f"{called}.checkpoint({written}, prevent_cse=False)"))
    return _changed(text, changes)


def _is_checkpointed(node: ast.expr, tree: ast.AST, names: Mapping[str, Any]) -> bool:
    """Whether an expression gives a function that is checkpointed: there, where the cell defines it, or before."""
    if isinstance(node, ast.Call):
        return _is_checkpoint(node, names) or any(_is_checkpointed(one, tree, names) for one in node.args[:1])
    if not isinstance(node, ast.Name):
        return is_checkpointed(_resolved(node, names))
    for one in ast.walk(tree):
        if isinstance(one, ast.FunctionDef) and one.name == node.id:
            return any(_is_checkpoint(decorator, names) for decorator in one.decorator_list)
        if isinstance(one, ast.Assign) and any(isinstance(at, ast.Name) and at.id == node.id for at in one.targets):
            return isinstance(one.value, ast.Call) and _is_checkpointed(one.value, tree, names)
    return is_checkpointed(names.get(node.id))


def _is_checkpoint(node: ast.expr, names: Mapping[str, Any]) -> bool:
    """Whether it is `jax.checkpoint`, such a call, or a `partial` of it."""
    parts = [one for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute)]
    made = [function for one in parts if callable(function := _resolved(one, names))]
    known = {module for module, _, _ in _CHECKPOINTS.values()} | {"jax"}
    return any(
        getattr(one, "__name__", "") in _CHECKPOINT_NAMES and _home(one) in {name.partition(".")[0] for name in known}
        for one in made
    )


_CHECKPOINT_NAMES = frozenset({"checkpoint", "remat", "filter_checkpoint"})


def _is_scan(function: Any) -> bool:
    return getattr(function, "__name__", "") == "scan" and _home(function) == "jax"


def decorated(text: str, name: str, names: Mapping[str, Any], kind: str) -> Edited | None:
    """A cell in which a function, or a method, is checkpointed; None if the cell does not define it.

    Args:
      text: of the cell as displayed.
      name: of the function, as `layer` or `Block.__call__`.
      names: that the cell begins with.
      kind: whose checkpoint fits it.
    """
    tree = parse_shown(text)
    known = _name_of(names, _CHECKPOINTS[kind][0])
    found = _definition(tree, name.split(".")) if tree is not None and known else None
    if found is None or found.decorator_list:
        return None
    lines = text.split("\n")
    old = lines[found.lineno - 1]
    new = f"{' ' * found.col_offset}@{checkpoint_name_in(names, kind)}\n{old}"
    return "\n".join([*lines[: found.lineno - 1], new, *lines[found.lineno :]]), (found.lineno, old, new)


def _definition(tree: ast.AST, path: list[str]) -> ast.FunctionDef | None:
    for node in ast.walk(tree):
        if len(path) == 1 and isinstance(node, ast.FunctionDef) and node.name == path[0]:
            return node
        if len(path) == 2 and isinstance(node, ast.ClassDef) and node.name == path[0]:
            return next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == path[1]), None)
    return None


def _name_of(names: Mapping[str, Any], module: str) -> str:
    """What a module is called in a namespace; "" if it has no name there."""
    found = (name for name, value in names.items() if isinstance(value, ModuleType) and value.__name__ == module)
    return next((name for name in found if not name.startswith("_")), "")


def _resolved(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """What an expression such as `jax.value_and_grad` stands for; None if that is not known."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        owner = _resolved(node.value, names)
        return getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
    return None


def _changed(text: str, changes: list[tuple[ast.expr, str]]) -> Edited | None:
    """The text with other expressions, each of one line, and the lines from the first change to the last."""
    if not changes or any(node.lineno != node.end_lineno for node, _ in changes):
        return None
    lines = text.split("\n")
    for node, new in sorted(changes, key=lambda change: (-change[0].lineno, -change[0].col_offset)):
        line = lines[node.lineno - 1].encode()
        lines[node.lineno - 1] = (line[: node.col_offset] + new.encode() + line[node.end_col_offset :]).decode()
    numbers = [node.lineno for node, _ in changes]
    first, last = min(numbers), max(numbers)
    old, new_lines = text.split("\n")[first - 1 : last], lines[first - 1 : last]
    return "\n".join(lines), (first, "\n".join(old), "\n".join(new_lines))
