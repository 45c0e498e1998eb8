"""Copies between host and device in each turn of a loop that Python runs (`"transfer"`).

Such a loop needs values; what computes inside is staged once. A NumPy array that it reads in each turn, and does not
bind, is copied to the device in each turn. What is converted to a Python number or to NumPy is copied back, and the
next turn waits for it. What is converted now and then, under an `if`, is not told.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb._jax import open_jaxpr
from jaxnb.findings.lints.lint import Lint
from jaxnb.findings.lints.loop_copies import METHODS, NUMBERS, SMALL, fetched_in_turns
from jaxnb.findings.lints.one_by_one import one_by_one
from jaxnb.findings.loops import LoopText
from jaxnb.program import Aval, Finding, Fix, Span
from jaxnb.staging import Piece, Statement, render_path, root_name
from jaxnb.units import format_bytes

if TYPE_CHECKING:
    from jaxnb.staging import Execution

__all__ = ["LINT", "SMALL", "find_transfers"]

_LOOPS = (ast.For, ast.While)
_FIX_NUMBER = "keep the array in the loop, and convert behind it, all at once: jax.device_get(values)."
_FIX_NUMPY = "use jax.numpy in the loop, on the device, or convert once, in front of it or behind it."


def find_transfers(execution: Execution) -> Iterator[Finding]:
    """What the loops of a run copy in each turn, one finding for each line.

    Args:
      execution: the run, which has ended well.
    """
    loops = [item for item in execution.cell.statements if item.span.line in execution.host_lines and _holds_loop(item)]
    text = LoopText.of(execution.cell.shown, execution.namespace) if loops else None
    told: set[int] = set()
    for loop in loops:
        read = fetched_in_turns(loop.span.line, text) if text is not None else ()
        for finding in (*_to_device(execution, loop), *_to_host(loop, execution.namespace), *read):
            if finding.line is not None and finding.line not in told:
                told.add(finding.line)
                yield finding


def _holds_loop(statement: Statement) -> bool:
    return any(isinstance(node, _LOOPS) for node in ast.walk(statement.node))


# --- to the device ---


def _to_device(execution: Execution, loop: Statement) -> Iterator[Finding]:
    """NumPy arrays that programs inside of a loop are given, and that the loop does not bind."""
    inside = range(loop.span.line, loop.span.end_line + 1)
    for ran in execution.ran.values():
        statements = ran.statements
        if ran.cell is execution.cell or not statements or statements[0].span.line not in inside:
            continue
        read = _read(ran.piece)
        for path, leaf in zip(ran.reached.paths, ran.reached.leaves, strict=True):
            root = root_name(path)
            if (
                path not in read
                or type(leaf) is not np.ndarray
                or leaf.nbytes <= SMALL
                or root is None
                or root in loop.names.binds
            ):
                continue
            name = render_path(path)
            reading = next((item for item in statements if root in item.names.reads), statements[0])
            node = _first_name(reading.node, root)
            what = f"`{name}`, {Aval(leaf.dtype.name, leaf.shape, itemsize=leaf.itemsize)},"
            message = (
                f"{what} is NumPy's: {format_bytes(leaf.nbytes)} are copied to the device in each turn of the loop."
            )
            fix = Fix(f"copy it once, in front of the loop: {root} = jax.device_put({root}).")
            line = node.lineno if node is not None else reading.span.line
            yield Finding("transfer", message, line, _span(node) if node is not None else None, holder=name, fix=fix)


def _read(piece: Piece) -> set[Any]:
    """The paths of the inputs that a program reads; the others are never copied."""
    jaxpr = open_jaxpr(piece.jaxpr)
    read = {id(atom) for eqn in jaxpr.eqns for atom in eqn.invars} | {id(atom) for atom in jaxpr.outvars}
    inputs = jaxpr.invars[len(jaxpr.invars) - len(piece.paths) :]
    return {path for path, var in zip(piece.paths, inputs, strict=True) if id(var) in read}


def _first_name(node: ast.AST, name: str) -> ast.Name | None:
    return next((item for item in ast.walk(node) if isinstance(item, ast.Name) and item.id == name), None)


# --- to the host ---


def _to_host(loop: Statement, namespace: Mapping[str, Any]) -> Iterator[Finding]:
    """Conversions of arrays of the device in the body of a loop."""
    for call in _calls_each_turn(loop.node, False):
        found = _converted(call, namespace)
        if found is None:
            continue
        value, fix = found
        size = f"{format_bytes(value.nbytes)} are" if value is not None else "its value is"
        text = ast.unparse(call)
        text = text if len(text) <= 40 else text[:37] + "..."
        message = f"`{text}`: {size} copied from the device in each turn of the loop, and the loop waits for it."
        yield Finding("transfer", message, call.lineno, _span(call), holder=text, fix=Fix(fix))


def _calls_each_turn(node: ast.AST, inside: bool) -> Iterator[ast.Call]:
    """The calls that run in each turn of a loop: not those under an `if`, nor in functions that are only defined."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        return
    if inside and isinstance(node, ast.If | ast.IfExp | ast.Try):
        return
    if inside and isinstance(node, ast.Call):
        yield node
    if isinstance(node, _LOOPS):
        for item in node.body:
            yield from _calls_each_turn(item, True)
        return
    for item in ast.iter_child_nodes(node):
        yield from _calls_each_turn(item, inside)


def _converted(call: ast.Call, namespace: Mapping[str, Any]) -> tuple[Any, str] | None:
    """The array that a call converts, None in its place where it is not known, and what to do; None of other calls."""
    func = call.func
    if isinstance(func, ast.Name) and func.id in NUMBERS and func.id not in namespace and len(call.args) == 1:
        return _of_device(call.args[0], namespace, _FIX_NUMBER)
    if not isinstance(func, ast.Attribute):
        return None
    if func.attr in METHODS and not call.args:
        return _of_device(func.value, namespace, _FIX_NUMBER)
    if _module(func, namespace).partition(".")[0] == "numpy":
        for arg in call.args:
            found = _of_device(arg, namespace, _FIX_NUMPY)
            if found is not None:
                return found
    return None


def _of_device(node: ast.expr, namespace: Mapping[str, Any], fix: str) -> tuple[Any, str] | None:
    if isinstance(node, ast.Call):  # of JAX's own functions: what they return is known to be of the device
        func = node.func
        if _jax.jit_options(_value(func, namespace)) is not None:
            return None, fix
        owner = func.value if isinstance(func, ast.Attribute) and func.attr not in METHODS else None
        if owner is not None and isinstance(_value(owner, namespace), jax.Array):
            return None, fix
        return (None, fix) if _module(func, namespace).startswith(("jax.numpy", "jax.nn", "jax.lax")) else None
    if isinstance(node, ast.BinOp):
        sides = [_of_device(side, namespace, fix) for side in (node.left, node.right)]
        return (None, fix) if any(side is not None for side in sides) else None
    if isinstance(node, ast.Subscript) and isinstance(_value(node.value, namespace), jax.Array):
        return None, fix
    value = _value(node, namespace)
    return (value, fix) if _jax.is_concrete(value) and not value.is_deleted() else None


def _value(node: ast.expr, namespace: Mapping[str, Any]) -> Any:
    """What a name, or an item of a container with a written key, is after the loop; nothing of the user's is run."""
    if isinstance(node, ast.Name):
        return namespace.get(node.id)
    if isinstance(node, ast.Subscript):
        whole = _value(node.value, namespace)
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if type(whole) is dict:
            return whole.get(key)
        if type(whole) in (list, tuple) and isinstance(key, int) and -len(whole) <= key < len(whole):
            return whole[key]
    return None


def _module(node: ast.expr, namespace: Mapping[str, Any]) -> str:
    """The module that a dotted name such as `np.linalg.norm` is of; "" if it is of none."""
    if not isinstance(node, ast.Attribute):
        return ""
    value: Any = node.value
    names: list[str] = []
    while isinstance(value, ast.Attribute):
        names.append(value.attr)
        value = value.value
    module = namespace.get(value.id) if isinstance(value, ast.Name) else None
    if type(module).__name__ != "module":
        return ""
    return ".".join([str(getattr(module, "__name__", "")), *reversed(names)])


def _span(node: ast.expr) -> Span:
    return Span(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)


LINT = Lint(in_text=lambda text: find_transfers(text.execution) if text.calls else (), in_words=one_by_one)
