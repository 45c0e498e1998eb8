"""What a cell writes and Python, or a library, reads otherwise, as its text shows.

Functions that are made in a loop read its variable when they are called, after the loop; `&` and `|` bind tighter than
comparisons; `~` of a Python bool is that of an integer; and a distribution takes probabilities where none is named.
Source: https://docs.python.org/3/faq/programming.html, https://docs.python.org/3/reference/expressions.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.lints.cell_text import CellText
from jaxnb.findings.lints.logits_text import logits_in_words
from jaxnb.findings.loops import LoopText
from jaxnb.findings.syntax import in_short, stored_names
from jaxnb.program import Finding

__all__ = ["misread_words", "values_of"]

_WORTH = re.compile(r"\blambda\b|\bdef\b|[&|~]|ogits|softmax|sigmoid|\.nan\b")
_BY_LOGITS = frozenset({"Categorical", "Bernoulli", "OneHotCategorical", "Geometric"})
_COLLECTING = frozenset({"append", "add", "insert"})
_KEEPING = frozenset({"jit", "vmap", "grad", "value_and_grad", "checkpoint", "remat"})
"""Transformations that keep a function for later."""
_SIGNS = {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Eq": "==", "NotEq": "!="}
_JOINS = {"BitAnd": "&", "BitOr": "|"}


def misread_words(cell: CellText) -> Iterator[Finding]:
    """What is read otherwise than it is meant.

    Args:
      cell: plain or staged.
    """
    text = cell.text if _WORTH.search(cell.shown) else None
    for node in text.nodes if text is not None else ():
        assert text is not None
        if isinstance(node, ast.For | ast.ListComp | ast.DictComp):
            yield from _bound_late(node, text)
        elif isinstance(node, ast.Compare):
            yield from _joined_first(node, text)
            yield from _with_nan(node, text)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            yield from _inverted(node, text)
        elif isinstance(node, ast.Call):
            yield from _as_probabilities(node, text)
            yield from logits_in_words(node, text)


# --- nan ---


def _with_nan(node: ast.Compare, text: LoopText) -> Iterator[Finding]:
    """`x == jnp.nan`, which is never true."""
    sides = [node.left, *node.comparators]
    nan = next((one for one in sides if isinstance(one, ast.Attribute) and one.attr == "nan"), None)
    if nan is None or len(sides) != 2 or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return
    other = sides[0] if sides[1] is nan else sides[1]
    shown, numpy = ast.unparse(other), ast.unparse(nan.value)
    equal = isinstance(node.ops[0], ast.Eq)
    what = "never equal to anything, itself included: this is False for every item"
    what = what if equal else "equal to nothing, itself included: this is True for every item"
    message = f"`{in_short(node, 50)}` compares `{shown}` with nan, which is {what}."
    fix = f"ask for it: `{'' if equal else '~'}{numpy}.isnan({shown})`."
    yield text.finding("misread", message, node, shown, fix)


# --- functions of a loop ---


def _bound_late(loop: ast.For | ast.ListComp | ast.DictComp, text: LoopText) -> Iterator[Finding]:
    """Functions that a loop keeps and that read its variable when they are called."""
    if text.turns(loop) == 1:
        return
    targets = [loop.target] if isinstance(loop, ast.For) else [one.target for one in loop.generators]
    changing = {name for target in targets for name in stored_names(target)}
    for made, kept in _kept(loop):
        own = {one.arg for one in ast.walk(made.args) if isinstance(one, ast.arg)}
        body = made.body if isinstance(made, ast.FunctionDef) else [made.body]
        inside = [item for part in body for item in ast.walk(part)]
        read = [one.id for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)]
        bound = own | {one.id for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        late = next((name for name in read if name in changing - bound), None)
        if late is None:
            continue
        what = f"`{made.name}`" if isinstance(made, ast.FunctionDef) else "the lambda"
        where = f"those of `{kept}` all compute" if kept else "all of them compute"
        message = (
            f"{what} reads `{late}` when it is called, not when it is made: after the loop, {where} with the last"
            f" `{late}`."
        )
        names = [one.arg for one in made.args.args]
        fix = f"bind it when the function is made, by a default: `{late}={late}` behind {_listed(names)}."
        yield text.finding("misread", message, made, late, fix)


def _kept(loop: ast.For | ast.ListComp | ast.DictComp) -> Iterator[tuple[ast.Lambda | ast.FunctionDef, str]]:
    """The functions that a loop makes and keeps, with the container that it keeps them in."""
    if not isinstance(loop, ast.For):
        element = _function(loop.elt if isinstance(loop, ast.ListComp) else loop.value)
        if isinstance(element, ast.Lambda):
            yield element, ""
        return
    defined = {item.name: item for item in loop.body if isinstance(item, ast.FunctionDef)}
    for item in loop.body:
        kept: ast.expr | None = None
        value: ast.expr | None = None
        if isinstance(item, ast.Expr) and isinstance(item.value, ast.Call):
            call = item.value
            if isinstance(call.func, ast.Attribute) and call.func.attr in _COLLECTING and call.args:
                kept, value = call.func.value, _function(call.args[-1])
        elif isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Subscript):
            kept, value = item.targets[0].value, _function(item.value)
        if kept is None or ast.unparse(kept).partition(".")[0] in stored_names(loop):
            continue  # a container of the turn, which may be used up in it
        if isinstance(value, ast.Lambda):
            yield value, ast.unparse(kept)
        elif isinstance(value, ast.Name) and value.id in defined:
            yield defined[value.id], ast.unparse(kept)


def _function(node: ast.expr) -> ast.expr:
    """What is kept, under what keeps a function for later."""
    while isinstance(node, ast.Call) and len(node.args) == 1:
        if name_called(node) not in _KEEPING:
            break
        node = node.args[0]
    return node


def _listed(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names) if names else "its arguments"


# --- & and | beside comparisons ---


def _joined_first(node: ast.Compare, text: LoopText) -> Iterator[Finding]:
    """`a < b & c`, which is `a < (b & c)`."""
    sides = [node.left, *node.comparators]
    for at, side in enumerate(sides):
        if (
            not isinstance(side, ast.BinOp)
            or type(side.op).__name__ not in _JOINS
            or _in_brackets(side, sides, at, node, text)
        ):
            continue
        between = 0 < at < len(sides) - 1
        if not between and _is_truth(side.left, text) == _is_truth(side.right, text):
            continue
        sign = _JOINS[type(side.op).__name__]
        parts = [ast.unparse(one) for one in sides]
        signs = [_SIGNS.get(type(op).__name__, "") for op in node.ops]
        if not all(signs):
            return
        left, right = ast.unparse(side.left), ast.unparse(side.right)
        before = " ".join(f"{part} {op}" for part, op in zip(parts[:at], signs[:at], strict=True))
        after = " ".join(f"{op} {part}" for op, part in zip(signs[at:], parts[at + 1 :], strict=True))
        one = f"({before} {left})" if before else left
        other = f"({right} {after})" if after else right
        read = " ".join([before, f"({left} {sign} {right})", after]).strip()
        nearest = signs[at - 1] if at else signs[0]
        message = f"`{ast.unparse(node)}` is read as `{read}`: {sign} binds tighter than {nearest}."
        fix = f"put the comparison into parentheses: `{one} {sign} {other}`."
        yield text.finding("misread", message, node, ast.unparse(side), fix)
        return


def _in_brackets(side: ast.BinOp, sides: list[ast.expr], at: int, node: ast.Compare, text: LoopText) -> bool:
    """Whether an operand of a comparison is written in parentheses of its own."""
    lines = text.shown.split("\n")
    if side.lineno != node.end_lineno or node.lineno != node.end_lineno or node.lineno > len(lines):
        return True  # who lays it out on several lines has looked at it
    line = lines[node.lineno - 1].encode()
    begin = sides[at - 1].end_col_offset if at else node.col_offset
    return b"(" in line[begin or 0 : side.col_offset]


def _is_truth(node: ast.expr, text: LoopText) -> bool:
    """Whether an expression is known to be true or false, or an array of that."""
    if isinstance(node, ast.Compare) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return True
    value = text.value(node)
    if isinstance(value, bool | np.bool_):
        return True
    return isinstance(value, jax.Array | np.ndarray) and value.dtype == np.bool_


# --- ~ of a bool of Python ---


def _inverted(node: ast.UnaryOp, text: LoopText) -> Iterator[Finding]:
    if not isinstance(node.operand, ast.Name):
        return
    values = [*values_of(node.operand, text)]
    if not values or not all(type(value) is bool for value in values):
        return
    name = node.operand.id
    message = (
        f"`~{name}` is {-1 - int(values[0])}: `{name}` is a bool of Python, which ~ takes for the integer"
        f" {int(values[0])}; both -1 and -2 count as true."
    )
    yield text.finding("misread", message, node, name, f"write `not {name}`.")


def values_of(name: ast.Name, text: LoopText, jitted: bool = False) -> Iterator[Any]:
    """What a name stands for: for a parameter what the calls in the cell pass for it, if that is written.

    Args:
      name: that is read.
      text: of the cell.
      jitted: whether calls under `jax.jit` count, where a number is traced.
    """
    function = next((one for one in text.around(name) if isinstance(one, ast.FunctionDef | ast.Lambda)), None)
    if function is None:
        bound = [one for one in text.nodes if isinstance(one, ast.Name) and one.id == name.id]
        if sum(isinstance(one.ctx, ast.Store) for one in bound) <= 1:
            yield text.namespace.get(name.id)
    elif isinstance(function, ast.FunctionDef) and name.id not in stored_names(function):
        for given in _given_for(function, name.id, text, jitted):
            yield given.value if isinstance(given, ast.Constant) else text.value(given)


def _given_for(function: ast.FunctionDef, name: str, text: LoopText, jitted: bool) -> list[ast.expr]:
    """What the calls of a function in a cell pass for one of its parameters; [] where it is used otherwise, too."""
    places = [one.arg for one in function.args.args]
    decorators = [getattr(one, "attr", getattr(one, "id", "")) for one in function.decorator_list]
    if name not in places or not all(jitted and one == "jit" for one in decorators):
        return []
    found: list[ast.expr] = []
    for node in text.nodes:
        if not (isinstance(node, ast.Name) and node.id == function.name and isinstance(node.ctx, ast.Load)):
            continue
        called, call = node, text.parents.get(node)
        if jitted and isinstance(call, ast.Call) and text.called(call).rpartition(".")[2] == "jit":
            called, call = call, text.parents.get(call)
        if not isinstance(call, ast.Call) or call.func is not called:
            return []
        at = places.index(name)
        given = [item.value for item in call.keywords if item.arg == name] or call.args[at : at + 1]
        if not given or any(isinstance(item, ast.Starred) for item in call.args):
            return []
        found += given
    return found


# --- logits where probabilities are taken ---


def _as_probabilities(call: ast.Call, text: LoopText) -> Iterator[Finding]:
    """The first argument of a distribution of NumPyro's, which is a probability, where it is called logits."""
    value: Any = text.value(call.func) if call.args else None
    name = getattr(value, "__name__", "")
    if name not in _BY_LOGITS or not str(getattr(value, "__module__", "")).startswith("numpyro"):
        return
    given = call.args[0]
    called = given.id if isinstance(given, ast.Name) else given.attr if isinstance(given, ast.Attribute) else ""
    if "logit" not in called.lower():
        return
    what = ast.unparse(given)
    message = (
        f"`{in_short(call)}` takes `{what}` for probabilities: that is its first argument. Logits may be negative, and"
        " do not sum to 1."
    )
    yield text.finding("misread", message, call, what, f"say what they are: `{ast.unparse(call.func)}(logits={what})`.")
