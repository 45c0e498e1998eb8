"""Which private names of JAX a source text relies on, as far as its syntax tells."""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import io
import re
import types
import weakref
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from jaxnb.runtime import Undo

__all__ = ["Reader", "is_module"]

_PRIVATE = ("jax._src.", "jaxlib.")
_PLACES = {"getattr": 1, "hasattr": 1, "setattr": 1, "delattr": 1, "patch": 1}
"""Functions that take the name of an attribute as a text, and at which place."""


@functools.cache
def is_module(name: str) -> bool:
    """Whether this is the dotted name of a module."""
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


@functools.cache
def _public() -> frozenset[str]:
    """Attributes that Python, NumPy and JAX document: of public classes, and the parts of a jaxpr."""
    import jax
    import numpy as np

    classes = [kind for module in (builtins, types, io, re) for kind in vars(module).values() if isinstance(kind, type)]
    classes += [weakref.ref, np.ndarray, np.dtype, jax.Array, jax.Device, jax.ShapeDtypeStruct, ModuleType, Undo]
    classes += [jax.stages.Traced, jax.stages.Lowered, jax.stages.Compiled, jax.sharding.PartitionSpec]
    classes += [jax.sharding.NamedSharding, jax.sharding.Mesh, jax.sharding.AbstractMesh, functools.partial]
    found = {name for kind in classes for name in dir(kind)} | set(dir(jax.config))
    named_tuple, mesh = {"_fields", "_make", "_replace"}, {"axis_names", "axis_types"}
    jaxpr = {"jaxpr", "consts", "constvars", "invars", "outvars", "eqns", "primitive", "params", "aval", "bind"}
    return frozenset({name for name in found if not name.startswith("_")} | named_tuple | mesh | jaxpr)


class Reader(ast.NodeVisitor):
    """Reads one module.

    Attributes:
      paths: the dotted names of what is imported from private modules, or read of them.
      attributes: the names of what is read of other objects, by a dot or by a text, and is documented nowhere.
      parameters: of equations, and of the dicts that JAX keeps, which are read by a text.
      primitives: those whose name is compared with a text.
    """

    def __init__(self, source: str) -> None:
        self.paths: set[str] = set()
        self.attributes: set[str] = set()
        self.parameters: set[str] = set()
        self.primitives: set[str] = set()
        tree = ast.parse(source)
        self._own = set(_own_names(tree))
        self._imported = dict(_imports(tree))
        self._texts = {
            node.targets[0].id: _texts(node.value, {})
            for node in tree.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
        }
        self.visit(tree)

    # --- what is bound to texts, one after another ---

    def _with_targets(self, node: ast.AST, loops: Iterable[ast.For | ast.comprehension]) -> None:
        before = self._texts
        for loop in loops:
            texts = _texts(loop.iter, self._texts)
            first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
            if isinstance(first, ast.Name):
                self._texts = {**self._texts, first.id: texts}
        self.generic_visit(node)
        self._texts = before

    def visit_For(self, node: ast.For) -> None:
        self._with_targets(node, [node])

    def _visit_comprehension(self, node: Any) -> None:
        self._with_targets(node, node.generators)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        for part in node.values:
            if not isinstance(part, ast.Constant):
                self.visit(part)

    # --- what is read ---

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module and f"{node.module}.".startswith(_PRIVATE):
            names = [f"{node.module}.{name.name}" for name in node.names]
            self.paths.update(name for name in names if not is_module(name))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._read_from(node.value, node.attr)

    def _read_from(self, value: ast.expr, *names: str) -> None:
        """Notes that these names, each an attribute of the one before, are read of a value."""
        chain = [*names]
        while isinstance(value, ast.Attribute):
            chain.insert(0, value.attr)
            value = value.value
        if not isinstance(value, ast.Name):
            self.visit(value)
            self._note(chain)
            return
        root = self._imported.get(value.id)
        if root is None:
            self._note(chain)
            return
        while chain and is_module(root):
            root = f"{root}.{chain.pop(0)}"
        if f"{root}.".startswith(_PRIVATE):
            if not is_module(root) and not root.endswith("__"):
                self.paths.add(root)
            self._note(chain)
        elif root.startswith("jax."):
            self._note(name for name in [*root.split("."), *chain] if name.startswith("_"))

    def _note(self, names: Iterable[str]) -> None:
        names = [name for name in names if not name.endswith("_")]
        self.attributes.update(name for name in names if name not in self._own and name not in _public())

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        place = _PLACES.get(called)
        if place is not None and len(node.args) > place:
            for name in _texts(node.args[place], self._texts):
                self._read_from(node.args[place - 1], name)
        if called == "get" and node.args and _is_of_equation(node.func):
            self.parameters.update(_texts(node.args[0], self._texts))
        if called in ("removeprefix", "removesuffix"):
            self.visit(node.func)
        else:
            self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if _is_of_equation(node.value):
            self.parameters.update(_texts(node.slice, self._texts))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        left = ast.unparse(node.left)
        for other in node.comparators:
            if _is_of_equation(other):
                self.parameters.update(_texts(node.left, self._texts))
            elif left.endswith("primitive.name") or left == "primitive_name":
                self.primitives.update(_texts(other, self._texts))
            elif left.endswith("__name__"):
                self._note(_texts(other, self._texts))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        text = node.value
        if isinstance(text, str) and text.isidentifier() and text.startswith("_"):
            self._note([text])


def _is_of_equation(node: ast.expr) -> bool:
    text = ast.unparse(node)
    return "params" in text or "compile_args" in text or text.startswith("told")


def _texts(node: ast.expr, known: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The texts that an expression gives: of constants, and of tuples and sets of them."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return (node.value,)
    if isinstance(node, ast.Name):
        return known.get(node.id, ())
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("frozenset", "zip") and node.args:
        return _texts(node.args[0], known)
    if isinstance(node, ast.Tuple | ast.Set | ast.List):
        return tuple(text for item in node.elts for text in _texts(item, known))
    return ()


def _imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                first = name.name.partition(".")[0]
                yield (name.asname, name.name) if name.asname else (first, first)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((name.asname or name.name, f"{node.module}.{name.name}") for name in node.names)


def _own_names(tree: ast.AST) -> Iterator[str]:
    """What a module defines itself: functions, classes, and the attributes of their objects."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.AnnAssign):
                    yield ast.unparse(part.target)
                elif isinstance(part, ast.Assign):
                    yield from map(ast.unparse, part.targets)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            yield node.attr
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_SLOTS":
            yield from _texts(node.value, {})
