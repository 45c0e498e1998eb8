"""A statement that needs values of what it calls, such as `losses.append(float(step(batch)))`, taken apart.

The call whose value is wanted becomes a block, which is staged; what is done with the value stays Python's. All parts
are evaluated in the order in which Python evaluates them, and kept under names that no user can write.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.runtime import home_of, is_jax_module, is_library
from jaxnb.staging.cells.blocks import RUNNER, Opened, call_of
from jaxnb.staging.cells.cell import CellSource, Statement, read_statement
from jaxnb.staging.cells.effects import resolve
from jaxnb.staging.cells.reach import ATOMS, hides, is_user_function

__all__ = ["OPERAND", "Ordered", "only_consumes", "open_operands", "order_operands"]

OPERAND = "operand "
"""What the names of such parts begin with."""

_CONSUMERS = frozenset(
    {
        *("print", "display", "float", "int", "bool", "complex", "str", "repr", "format", "round", "abs", "len"),
        *("list", "tuple", "min", "max", "sum", "any", "all", "sorted", "dict", "set", "isinstance"),
    }
)
_CONSUMING_METHODS = frozenset(
    {
        *("append", "extend", "insert", "add", "update", "setdefault", "appendleft", "put", "write", "writelines"),
        *("item", "tolist", "format", "join", "info", "debug", "warning", "error", "log", "add_scalar", "writerow"),
        *("set_postfix", "set_description", "log_metrics", "add_row"),
    }
)


def open_operands(cell: CellSource, statement: Statement, namespace: Mapping[str, Any]) -> Opened | None:
    """Takes a simple statement apart, so that the calls whose values it needs are blocks.

    Args:
      cell: that it stands in.
      statement: which one.
      namespace: where the names of its calls are looked up, to see whether they compute.

    Returns:
      None if there is no such call, or only the statement as a whole.
    """
    ordered = order_operands(statement.node, namespace)
    if ordered is None:
        return None
    blocks: list[CellSource] = []
    before: list[ast.stmt] = []
    for bound, is_call in ordered.before:
        if is_call:
            read = read_statement(bound, False, cell.filename, cell.flags)
            before.append(call_of(RUNNER, bound, len(blocks)))
            blocks.append(cell.block((read,), len(blocks)))
        else:
            before.append(bound)
    return Opened(
        read_statement(ordered.after, statement.trailing, cell.filename, cell.flags).code,
        tuple(blocks),
        before=compile(ast.Module(before, []), cell.filename, "exec", cell.flags, dont_inherit=True),
        left=ordered.names,
    )


class Ordered(NamedTuple):
    """A simple statement whose parts are statements of their own.

    Attributes:
      before: binds the parts to their names, each with whether it is a call to be staged.
      after: what is left of the statement.
      names: of the parts.
    """

    before: list[tuple[ast.stmt, bool]]
    after: ast.stmt
    names: tuple[str, ...]


def order_operands(node: ast.stmt, namespace: Mapping[str, Any]) -> Ordered | None:
    """Takes a simple statement apart, see `open_operands`."""
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr) or node.value is None:
        return None
    target = node.target if isinstance(node, ast.AugAssign) else None
    counts = isinstance(target, ast.Name)
    if target is not None and not counts:
        return None
    order = _Order(namespace)
    if isinstance(node.value, ast.Call) and not order.consumes(node.value) and not counts:
        return None  # that call is what cannot be staged
    if isinstance(target, ast.Name):  # it is read first, and is bound to that again
        order.keep(_name(target.id, ast.Load(), target))
    value = order.evaluated(node.value)
    if not any(is_call for _, _, is_call in order.parts):
        return None
    last = max(number for number, (_, _, is_call) in enumerate(order.parts) if is_call)
    behind = {name: part for name, part, _ in order.parts[last + 1 :]}
    value = _Inlined(behind).visit(value)
    before: list[tuple[ast.stmt, bool]] = []
    for name, part, is_call in order.parts[: last + 1]:
        before.append((ast.copy_location(ast.Assign([_name(name, ast.Store(), part)], part), part), is_call))
    if isinstance(target, ast.Name):
        again = ast.Assign([target], _name(order.parts[0][0], ast.Load(), target))
        before.append((ast.copy_location(again, node), False))
    after = ast.copy_location(type(node)(**{**dict(ast.iter_fields(node)), "value": value}), node)
    return Ordered(before, after, tuple(name for name, _, _ in order.parts[: last + 1]))


def only_consumes(node: ast.stmt, namespace: Mapping[str, Any]) -> bool:
    """Whether a statement does something with values, such as `losses.append(float(loss))`, and computes none."""
    if not isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr):
        return False
    value, order = node.value, _Order(namespace)
    return isinstance(value, ast.Call) and order.consumes(value) and not _computes(value, namespace)


class _Order:
    """Gives each part of an expression that Python evaluates a name, in the order in which it does.

    Attributes:
      parts: the names, what they stand for, and whether that is a call to be staged.
    """

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._namespace = namespace
        self.parts: list[tuple[str, ast.expr, bool]] = []

    def consumes(self, node: ast.Call) -> bool:
        """Whether a call is there for what it does with values: of Python, NumPy, or anything but JAX."""
        chain = _chain(node.func)
        if isinstance(node.func, ast.Attribute) and node.func.attr in _CONSUMING_METHODS:
            return True
        if len(chain) == 1 and chain[0] in _CONSUMERS:
            return True
        value = resolve(chain, self._namespace) if chain and chain[0] in self._namespace else None
        kinds = types.FunctionType | types.BuiltinFunctionType | np.ufunc | type
        if hides(value) or not isinstance(value, kinds):
            return False
        home = home_of(value) or type(value).__module__
        return is_library(home) and not is_jax_module(home)

    def keep(self, node: ast.expr, is_call: bool = False) -> ast.expr:
        """From here on a part stands under a name."""
        name = f"{OPERAND}{len(self.parts)}: {ast.unparse(node)}"
        self.parts.append((name, node, is_call))
        return _name(name, ast.Load(), node)

    def evaluated(self, node: Any) -> Any:
        """An expression with the names of its parts."""
        if node is None or isinstance(node, ast.Constant):
            return node
        if not _computes(node, self._namespace):
            return self.keep(node)
        if isinstance(node, ast.Call):
            if not self.consumes(node):
                return self.keep(node, True)
            if any(isinstance(item, ast.Starred) for item in node.args) or any(not item.arg for item in node.keywords):
                return self.keep(node)  # unpacking is a step of its own
            function = node.func
            if isinstance(function, ast.Attribute):
                function = self.keep(_like(function, value=self.evaluated(function.value)))
            arguments = [self.evaluated(item) for item in node.args]
            keywords = [_like(item, value=self.evaluated(item.value)) for item in node.keywords]
            return self.keep(_like(node, func=function, args=arguments, keywords=keywords))
        match node:
            case ast.BinOp():
                return self.keep(_like(node, left=self.evaluated(node.left), right=self.evaluated(node.right)))
            case ast.UnaryOp():
                return self.keep(_like(node, operand=self.evaluated(node.operand)))
            case ast.Compare(comparators=[other]):
                left = self.evaluated(node.left)
                return self.keep(_like(node, left=left, comparators=[self.evaluated(other)]))
            case ast.Attribute():
                return self.keep(_like(node, value=self.evaluated(node.value)))
            case ast.Subscript(slice=index) if not isinstance(index, ast.Slice | ast.Tuple):
                return self.keep(_like(node, value=self.evaluated(node.value), slice=self.evaluated(index)))
            case ast.JoinedStr():
                return self.keep(_like(node, values=[self._formatted(item) for item in node.values]))
            case ast.Tuple() | ast.List() if not any(isinstance(item, ast.Starred) for item in node.elts):
                return self.keep(_like(node, elts=[self.evaluated(item) for item in node.elts]))
            case _:
                return self.keep(node)

    def _formatted(self, node: Any) -> Any:
        """A part of a text, which Python formats before it evaluates the next."""
        if not isinstance(node, ast.FormattedValue):
            return node
        value = node.value if node.format_spec is None or not _calls(node.format_spec) else None
        filled = _like(node, value=self.evaluated(value)) if value is not None else node
        text = ast.copy_location(ast.JoinedStr([filled]), node)
        return ast.copy_location(ast.FormattedValue(self.keep(text), -1, None), node)


class _Inlined(ast.NodeTransformer):
    """Puts what nothing comes behind back in its place."""

    def __init__(self, parts: Mapping[str, ast.expr]) -> None:
        self._parts = parts

    def visit_Name(self, node: ast.Name) -> ast.expr:
        part = self._parts.get(node.id)
        return node if part is None else self.visit(part)


def _like(node: Any, **changed: Any) -> Any:
    return ast.copy_location(type(node)(**{**dict(ast.iter_fields(node)), **changed}), node)


def _name(text: str, context: ast.expr_context, like: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(text, context), like)


def _calls(node: ast.AST) -> bool:
    return any(isinstance(item, ast.Call) for item in ast.walk(node))


def _computes(node: ast.AST, namespace: Mapping[str, Any]) -> bool:
    """Whether a call inside is of a function or an object of the user or of a library built on JAX."""
    return any(isinstance(item, ast.Call) and _is_own(item.func, namespace) for item in ast.walk(node))


def _is_own(function: ast.expr, namespace: Mapping[str, Any]) -> bool:
    if isinstance(function, ast.Call):  # as in `jax.grad(f)(x)`
        return _is_own(function.func, namespace) or any(
            isinstance(item, ast.Name) and _is_function(namespace.get(item.id)) for item in function.args
        )
    chain = _chain(function)
    if not chain or chain[0] not in namespace:
        return False
    value = resolve(chain, namespace)
    if hides(value) or isinstance(value, types.ModuleType | type):
        return False
    return _is_function(value) or _is_model(value)


def _chain(node: ast.expr) -> tuple[str, ...]:
    """A dotted name; nothing for anything else."""
    chain: list[str] = []
    while isinstance(node, ast.Attribute):
        chain.insert(0, node.attr)
        node = node.value
    return (node.id, *chain) if isinstance(node, ast.Name) else ()


def _is_function(value: Any) -> bool:
    inner = value.__wrapped__ if not hides(value) and _jax.jit_options(value) is not None else value
    return isinstance(inner, types.FunctionType) and (is_user_function(inner) or _is_built_on_jax(home_of(inner)))


def _is_model(value: Any) -> bool:
    """Whether it is an object, of a class of the user or of a library that is built on JAX, that computes."""
    if isinstance(value, (*ATOMS, list, dict, set, tuple, jax.Array, np.ndarray, np.generic, types.FunctionType)):
        return False
    module = type(value).__module__
    return not is_library(module) or _is_built_on_jax(module)


def _is_built_on_jax(module: str) -> bool:
    return is_jax_module(module) and module.partition(".")[0] not in _jax.JAX_PACKAGES
