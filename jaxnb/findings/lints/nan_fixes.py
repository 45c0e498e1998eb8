"""What to write instead where an equation gives nan or inf: a change of the line that was tried, or advice."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np

from jaxnb.findings.lints.eqns import Eqns
from jaxnb.findings.lints.nan_causes import GROWING
from jaxnb.findings.lints.replay import Origin, nonfinite
from jaxnb.findings.place import parse_shown
from jaxnb.findings.values.fixes import apply_edit
from jaxnb.program import Fix
from jaxnb.staging import CellSource

__all__ = ["propose", "try_fix"]

_TINY = "1e-30"
_DOMAINS = {
    "sqrt": "sqrt of a negative number is nan: is it one by rounding? Then clip it, jnp.maximum(x, 0).",
    "rsqrt": "rsqrt of 0 is inf, of a negative number nan: add a small number, rsqrt(x + 1e-6).",
    "asin": "arcsin is defined from -1 to 1: clip to that.",
    "acos": "arccos is defined from -1 to 1: clip to that.",
    "atanh": "arctanh is inf at 1 and -1, and nan beyond: clip to less than that.",
    "log1p": "log1p(x) is -inf at x = -1 and nan below it: keep x above -1.",
    "pow": "a negative number to a power that is no whole number is nan, and 0 to a negative power is inf.",
    "rem": "the remainder of a division by 0 is nan: choose another divisor there.",
}


def propose(eqns: Eqns, origin: Origin, shown: str) -> list[Fix]:
    """What may help, changes of a line first; the last one, if there is any, is advice in words.

    Args:
      eqns: of the piece.
      origin: of the nan or inf; an equation made it.
      shown: the cell as displayed.
    """
    assert origin.place is not None
    op, backward = eqns.op(origin.place), eqns.is_backward(origin.place)
    found: list[Fix] = []
    tree, line = parse_shown(shown), op.line
    if tree is not None and line is not None:
        nodes = list(_expressions(tree, line, op.span.column if op.span is not None else None))
        rules = [_double_where] * backward + [_stable] + [_clipped] * (not _is_below_zero(origin))
        found += [fix for rule in rules for node in nodes for fix in rule(node, shown)]
    words = _advice(op.name, origin, backward)
    return [*dict.fromkeys(found), *([Fix(words)] if words else [])]


def try_fix(fixes: Sequence[Fix], cell: CellSource, rerun: Callable[[str], Sequence[Any] | None]) -> Fix | None:
    """The first change with which the cell's results hold neither nan nor inf; otherwise the advice.

    Args:
      fixes: that may help.
      cell: that ran.
      rerun: runs another text of it on the same inputs; gives None where that cannot be done.
    """
    for fix in fixes:
        if fix.edit is None:
            continue
        results = rerun(apply_edit(cell.shown, fix.edit))
        if results and not any(one.nan or one.inf for one in nonfinite(jax.tree.leaves(results))):
            return replace(fix, verified=True)
    return next((fix for fix in reversed(fixes) if fix.edit is None), None)


def _expressions(tree: ast.Module, line: int, column: int | None) -> Iterator[ast.expr]:
    """The expressions of a line that may stand for an equation, the one at its place first."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call | ast.BinOp) and node.lineno == line]
    nodes = [node for node in nodes if node.end_lineno == line]
    yield from sorted(nodes, key=lambda node: (node.col_offset != column, node.col_offset))


def _double_where(node: ast.expr, shown: str) -> list[Fix]:
    """`where(c, log(x), 0)` as `where(c, log(where(c, x, 1)), 0)`: the gradient goes through both sides."""
    if not _is_call(node, "where") or len(node.args) != 3 or node.keywords:
        return []
    test, *sides = node.args
    found: list[Fix] = []
    for number, side in enumerate(sides):
        for inner in (n for n in ast.walk(side) if isinstance(n, ast.Call | ast.BinOp)):
            risky = _risky(inner)
            if risky is None:
                continue
            one, other = ast.unparse(test), ast.unparse(risky)
            safe = f"{one}, {other}, 1" if number == 0 else f"{one}, 1, {other}"
            edit = _edit(shown, risky, f"{ast.unparse(node.func)}({safe})")
            text = "the gradient is computed through both sides of where: give the other side a harmless value."
            found.append(Fix(text, edit=edit))
    return found


def _clipped(node: ast.expr, shown: str) -> list[Fix]:
    """`log(x)` as `log(maximum(x, 1e-30))`, `a / b` as `a / where(b == 0, 1, b)`."""
    risky, text = _risky(node), ""
    if risky is None:
        return []
    what, module = ast.unparse(risky), "jnp"
    if isinstance(node, ast.Call):
        module = ast.unparse(node.func).rpartition(".")[0] or "jnp"
        new = f"{module}.maximum({what}, {_TINY})"
        text = f"keep what {ast.unparse(node.func)} is given above 0."
    else:
        new = f"jnp.where({what} == 0, 1, {what})"
        text = "divide by something else where it is 0."
    return [Fix(text, edit=_edit(shown, risky, new))]


def _stable(node: ast.expr, shown: str) -> list[Fix]:
    """`log(sum(exp(x)))` and `log(1 + exp(x))` as functions that do not overflow."""
    if not _is_call(node, "log") or len(node.args) != 1:
        return []
    inner, module = node.args[0], ast.unparse(node.func).rpartition(".")[0]
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Add):
        for one, other in ((inner.left, inner.right), (inner.right, inner.left)):
            if isinstance(one, ast.Constant) and one.value == 1 and _is_call(other, "exp"):
                new = f"{module}.logaddexp({ast.unparse(other.args[0])}, 0)"
                return [Fix("exp overflows before log is taken: do both at once.", edit=_edit(shown, node, new))]
    if _is_call(inner, "sum") and len(inner.args) == 1 and not inner.keywords and _is_call(inner.args[0], "exp"):
        new = f"jax.nn.logsumexp({ast.unparse(inner.args[0].args[0])})"
        return [Fix("exp overflows before log is taken: do both at once.", edit=_edit(shown, node, new))]
    return []


def _is_below_zero(origin: Origin) -> bool:
    """Whether a function was given a negative number, which no small number in the place of 0 would mend."""
    value = np.asarray(jax.device_get(origin.operands[0])) if len(origin.operands) == 1 else np.zeros(1)
    return bool(value.dtype.kind == "f" and (value < 0).any())


def _risky(node: ast.expr) -> ast.expr | None:
    """What must not be 0 in an expression: the argument of log or sqrt, or a divisor."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return node.right if not isinstance(node.right, ast.Constant) else None
    if any(_is_call(node, name) for name in ("log", "log2", "log10", "sqrt")):
        assert isinstance(node, ast.Call)
        return node.args[0] if len(node.args) == 1 and not node.keywords else None
    return None


def _is_call(node: ast.AST, name: str) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name


def _edit(shown: str, old: ast.expr, new: str) -> tuple[int, str, str] | None:
    """The change of the line on which an expression stands; columns of `ast` count bytes."""
    if old.end_lineno != old.lineno or old.end_col_offset is None:
        return None
    line = shown.split("\n")[old.lineno - 1]
    data = line.encode()
    changed = data[: old.col_offset] + new.encode() + data[old.end_col_offset :]
    return old.lineno, line, changed.decode()


def _advice(name: str, origin: Origin, backward: bool) -> str:
    """In words, by what the equation is and what it had."""
    values = [np.asarray(jax.device_get(value)) for value in origin.operands if hasattr(value, "dtype")]
    small = [value for value in (*values, np.asarray(jax.device_get(origin.result))) if _is_half(value)]
    if backward and name in ("div", "mul", "pow", "integer_pow", "rsqrt", "sqrt"):
        return (
            "the derivative of sqrt, of a norm, of a power below 1 or of log is infinite at 0, and the gradient is "
            "computed through both sides of a jnp.where: keep the argument away from 0 before the function is called, "
            "as by jnp.where inside of it, or by an eps such as 1e-6."
        )
    if name in GROWING and origin.kind == "inf":
        if small:
            kind = small[-1].dtype
            return f"{kind.name} ends at {float(jnp.finfo(kind).max):.5g}: compute this in float32, or scale it down."
        if origin.iterations:
            return (
                "it grows larger than its dtype holds: take smaller steps (a lower learning rate or dt), or clip "
                "or normalise what is carried."
            )
        return "the number is larger than its dtype holds: scale it down, normalise it, or compute with its logarithm."
    if name in ("log", "log2"):
        if values and (values[0] < 0).any():
            return "log of a negative number is nan: should it be of the absolute value, or is it negative by rounding?"
        return "log of 0 is -inf: jnp.log(jnp.maximum(x, tiny)), jax.nn.log_softmax, or jnp.log1p say what is meant."
    if name in ("exp", "exp2", "expm1", "cosh", "sinh"):
        return "exp overflows: take jax.nn.softmax, logsumexp or log_sigmoid, or subtract the maximum before it."
    if name == "div":
        zero = len(values) > 1 and not values[0].all()
        return "0/0 is nan: " * zero + "choose another divisor where it is 0: x / jnp.where(d == 0, 1, d)."
    if name in ("sub", "add", "mul", "reduce_sum", "dot_general", "reduce_max") and origin.kind == "nan":
        return (
            "inf - inf and 0 * inf are nan. Where a whole row is masked by -inf, use a large finite number, or "
            "jnp.where on the result."
        )
    return _DOMAINS.get(name, "")


def _is_half(value: np.ndarray) -> bool:
    return value.dtype.name in ("float16", "bfloat16") or value.dtype.name.startswith("float8")
