"""Why an equation gives nan or inf, as a clause: 0 / 0, log of 0, a derivative of sqrt at 0, a loop that grows."""

from __future__ import annotations

import ast

import jax
import jax.numpy as jnp
import numpy as np

from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.lints.eqns import Eqns
from jaxnb.findings.lints.replay import Origin
from jaxnb.findings.place import function_around, functions_around, parse_shown
from jaxnb.program import Place

__all__ = ["GROWING", "cause_of", "expression_at", "function_at"]

GROWING = frozenset(
    {"mul", "add", "sub", "dot_general", "integer_pow", "reduce_sum", "square", "convert_element_type", "cumsum"}
)
"""Equations whose result can be larger than its dtype holds though their operands are not."""

_ABOVE = frozenset({"exp", "exp2", "expm1", "cosh", "sinh"})
_BEYOND = {
    "asin": "arcsin of a number outside of [-1, 1] is nan",
    "acos": "arccos of a number outside of [-1, 1] is nan",
    "acosh": "arccosh of a number below 1 is nan",
    "lgamma": "lgamma of 0 is inf",
    "digamma": "digamma of 0 is nan",
    "rem": "the remainder of a division by 0 is nan",
}
_DERIVED = frozenset({"div", "mul", "pow", "integer_pow", "rsqrt", "sqrt", "neg"})


def cause_of(eqns: Eqns, origin: Origin) -> str:
    """The clause; "" where there is nothing to say but what the equation is.

    Args:
      eqns: of the piece.
      origin: of the nan or inf; an equation made it.
    """
    assert origin.place is not None
    name, backward = eqns.op(origin.place).name, eqns.is_backward(origin.place)
    where = ""
    if backward and _is_chosen(eqns, origin.place):
        where = ", and the gradient goes through both branches of where: the one that is not taken gives 0 · inf or nan"
    if backward and name in _DERIVED:
        return f"{_derivative(eqns, origin.place)}{where}"
    values = [np.asarray(jax.device_get(value)) for value in origin.operands if hasattr(value, "dtype")]
    return f"{_of_numbers(name, origin, values)}{where}"


def _of_numbers(name: str, origin: Origin, values: list[np.ndarray]) -> str:
    first = values[0] if values else np.ones(1)
    below = bool(first.dtype.kind in "fV" and (first.astype(np.float64) < 0).any())
    dtype = np.asarray(jax.device_get(origin.result)).dtype.name
    if name == "div":
        return "0 / 0 is nan" if origin.kind == "nan" else "a number is divided by 0"
    if name in ("log", "log2"):
        return "log of a negative number is nan" if below else "log of 0 is -inf"
    if name == "log1p":
        return "log1p of a number below -1 is nan" if origin.kind == "nan" else "log1p of -1 is -inf"
    if name in _ABOVE:
        return f"{name} of {np.nanmax(first.astype(np.float64)):.4g} overflows {dtype}"
    if name in ("sqrt", "rsqrt"):
        return f"{name} of a negative number is nan" if below else "1 / sqrt(0) is inf"
    if name == "pow":
        return "a negative number to a fractional power is nan" if below else "0 to a negative power is inf"
    if name == "integer_pow" and not first.all():
        return "0 to a negative power is inf"
    if name == "atanh":
        return "arctanh is inf at 1 and -1, and nan beyond"
    if name in ("gather", "dynamic_slice") and origin.kind == "nan":
        return "an index is out of bounds, where nan is put in"
    if name in GROWING and origin.kind == "inf":
        grows = "what the loop carries grows from turn to turn" if origin.iterations else "the number overflows"
        return f"{grows}, and the largest {dtype} is {float(jnp.finfo(dtype).max):.3g}"
    if name in ("sub", "add", "reduce_sum", "cumsum"):
        return "inf - inf is nan"
    if name in ("mul", "dot_general"):
        return "0 * inf is nan" if name == "mul" else "0 * inf, or inf - inf, is nan"
    return _BEYOND.get(name, "")


def _derivative(eqns: Eqns, place: Place) -> str:
    """Of what it is infinite, and where."""
    node = expression_at(eqns, place)
    if isinstance(node, ast.BinOp):
        of = (
            "a power (**)" if isinstance(node.op, ast.Pow) else "a division" if isinstance(node.op, ast.Div) else "this"
        )
        return f"the derivative of {of} is infinite at 0"
    name = name_called(node)
    root = " (a square root)" if name in ("norm", "std") else ""
    return f"the derivative of {name or 'this'}{root} is infinite at {'1' if name in ('arccos', 'arcsin') else '0'}"


def _is_chosen(eqns: Eqns, place: Place) -> bool:
    """Whether a `where` of the same function, on its line or below, chooses what the gradient goes through."""
    cell, line = eqns.piece.cell, eqns.line(place)
    tree = parse_shown(cell.shown) if cell is not None else None
    if tree is None or line is None:
        return False
    around = next(reversed(list(functions_around(tree, line))), tree)
    calls = (node for node in ast.walk(around) if isinstance(node, ast.Call) and (node.end_lineno or 0) >= line)
    return any(name_called(node) in ("where", "select") for node in calls)


def expression_at(eqns: Eqns, place: Place) -> ast.AST | None:
    """The call or the operation of the cell that an equation stands for."""
    cell, op, line = eqns.piece.cell, eqns.op(place), eqns.line(place)
    tree = parse_shown(cell.shown) if cell is not None else None
    if tree is None or line is None:
        return None
    own = op.span if op.span is not None and not op.span.file else None
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call | ast.BinOp | ast.Subscript)]
    nodes = [node for node in nodes if node.lineno <= line <= (node.end_lineno or line)]
    exact = [node for node in nodes if own is not None and (node.lineno, node.col_offset) == (own.line, own.column)]
    exact = [node for node in exact if own is not None and node.end_col_offset == own.end_column] or exact
    return next(iter(exact or nodes), None)


def function_at(eqns: Eqns, line: int | None) -> str:
    """The name of the function of the cell that a line stands in; "" if it is the cell's own."""
    cell = eqns.piece.cell
    return function_around(cell.shown, line) if cell is not None and line is not None else ""
