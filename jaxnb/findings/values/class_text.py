"""Classes that a cell defines, which a trial makes anew: whether their methods change nothing but their object."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from jaxnb.findings.values.functional import is_functional, is_module_of_users, is_of_objects
from jaxnb.runtime import is_library
from jaxnb.staging import resolve

__all__ = ["own_methods"]

_BODY = (ast.FunctionDef, ast.AnnAssign, ast.Assign, ast.Pass)
_FORBIDDEN = (ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.Delete, ast.ClassDef, ast.AsyncFunctionDef)
_GROWING = frozenset({"append", "extend", "insert"})
_PLAIN = ("builtins", "typing", "abc", "collections.abc")


def own_methods(node: ast.ClassDef, namespace: Mapping[str, Any], allowed: frozenset[str]) -> frozenset[str] | None:
    """The attributes that the methods of a class may read of their object; None if they may change something else.

    Args:
      node: the class.
      namespace: where the classes are looked up that it derives from.
      allowed: names of methods that may be called of anything.
    """
    if not all(_is_known_base(base, namespace) for base in node.bases):
        return None
    own = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
    for item in node.body:
        if isinstance(item, ast.FunctionDef):
            read = _read_of_itself(item, allowed)
            if read is None:
                return None
            own |= read
        elif not isinstance(item, _BODY) and not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)):
            return None
    return frozenset(own)


def _is_known_base(base: ast.expr, namespace: Mapping[str, Any]) -> bool:
    chain = tuple(ast.unparse(base).split("."))
    found = resolve(chain, namespace) if all(part.isidentifier() for part in chain) else None
    if not isinstance(found, type):
        return False
    home = found.__module__
    if is_library(home):
        return is_functional(home) or is_of_objects(home) or home in _PLAIN
    return is_module_of_users(found, objects=True) or found.__mro__[1:] == (object,)


def _read_of_itself(method: ast.FunctionDef, allowed: frozenset[str]) -> set[str] | None:
    """The attributes that a method reads of its object; None if it may change anything else than that."""
    parameters = [one.arg for one in (*method.args.posonlyargs, *method.args.args)]
    itself = parameters[0] if parameters else ""
    own: set[str] = set()
    made = _lists_of(method)
    for node in ast.walk(method):
        if isinstance(node, _FORBIDDEN):
            return None
        if not isinstance(node, ast.Attribute | ast.Subscript):
            continue
        root = _root(node)
        if not isinstance(node.ctx, ast.Load):
            of_variable = isinstance(node, ast.Attribute) and node.attr == "value"
            if root != itself and not of_variable:
                return None
        elif isinstance(node, ast.Attribute):
            if root == itself or (node.attr in _GROWING and root in made):
                own.add(node.attr)
            elif not _is_dotted(node) and node.attr not in allowed:
                return None
    return own


def _lists_of(method: ast.FunctionDef) -> set[str]:
    """The names that a method binds to lists of its own, and to nothing else."""
    lists: set[str] = set()
    others: set[str] = set()
    for node in ast.walk(method):
        if isinstance(node, ast.Assign):
            names = {one.id for target in node.targets for one in ast.walk(target) if isinstance(one, ast.Name)}
            (lists if isinstance(node.value, ast.List | ast.ListComp) else others).update(names)
    return lists - others


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _is_dotted(node: ast.AST) -> bool:
    """Whether it is a dotted name, of which other code says whether it is known."""
    parts: Iterator[ast.AST] = ast.walk(node)
    return all(isinstance(part, ast.Attribute | ast.Name | ast.expr_context) for part in parts)
