"""Probabilities that a loss is given for logits, as the text of a cell shows: for plain cells, which leave no program.

What a loss is given is followed back to where a function or a module of the cell returns a softmax or a sigmoid.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.errors.functions import results_of
from jaxnb.findings.loops import LoopText
from jaxnb.findings.syntax import in_short
from jaxnb.program import Finding

__all__ = ["logits_in_words", "taken_message"]

_LOSSES = {
    "softmax_cross_entropy": "softmax",
    "softmax_cross_entropy_with_integer_labels": "softmax",
    "poly_loss_cross_entropy": "softmax",
    "log_softmax": "softmax",
    "sigmoid_binary_cross_entropy": "sigmoid",
    "sigmoid_focal_loss": "sigmoid",
    "log_sigmoid": "sigmoid",
}
_AROUND = frozenset({"jit", "vmap", "filter_jit", "filter_vmap", "checkpoint", "remat"})
_DEPTH = 6


def taken_message(made: str, loss: str, by: str, given: str) -> tuple[str, str]:
    """What is said of probabilities that are taken for logits, and what to do.

    Args:
      made: what gives them, as written; "" where that is not known.
      loss: what takes them, with its line; "" where that is not known.
      by: "softmax" or "sigmoid".
      given: the logits, as written; "" where that is not known.
    """
    what = f"`{made}`" if made else f"the {by}"
    message = f"{what} gives probabilities, and {loss or 'the loss'} takes logits: it takes the {by} of them again."
    return message, f"hand on the logits, `{given}`, without the {by}." if given else f"leave the first {by} out."


def logits_in_words(call: ast.Call, text: LoopText) -> Iterator[Finding]:
    """What a call says that is of a loss and is given probabilities.

    Args:
      call: any.
      text: of the cell.
    """
    value: Any = text.value(call.func)
    by = _LOSSES.get(getattr(value, "__name__", ""))
    if by is None or not str(getattr(value, "__module__", "")).startswith(("jax", "optax")):
        return
    given = call.args[0] if call.args else next((one.value for one in call.keywords if one.arg == "logits"), None)
    made = _made_by(given, by, call, text, _DEPTH) if given is not None else None
    if made is not None:
        at = "" if made.lineno == call.lineno else f" on line {call.lineno}"
        logits = ast.unparse(made.args[0]) if len(made.args) == 1 else ""
        message, fix = taken_message(in_short(made), f"`{in_short(call, 70)}`{at}", by, logits)
        yield text.finding("misread", message, made, logits, fix, (call.lineno,) if at else ())


def _made_by(node: ast.expr, by: str, near: ast.AST, text: LoopText, depth: int) -> ast.Call | None:
    """The call of the softmax or sigmoid that an expression comes from; None of any other.

    Args:
      node: the expression.
      by: the name of the function.
      near: where it stands.
      text: of the cell.
      depth: how far it is followed.
    """
    if depth == 0:
        return None
    if isinstance(node, ast.Name):
        value = _assigned(node.id, near, text)
        return _made_by(value, by, value, text, depth - 1) if value is not None else None
    if not isinstance(node, ast.Call):
        return None
    value: Any = text.value(node.func)
    if getattr(value, "__name__", "") == by and str(getattr(value, "__module__", "")).startswith("jax"):
        return node
    function = _function(node.func, text)
    found = [_made_by(one, by, one, text, depth - 1) for one in results_of(function)]
    return found[0] if found and all(found) else None


def _assigned(name: str, near: ast.AST, text: LoopText) -> ast.expr | None:
    """The only value that a name is bound to in the function around, or in the cell outside of all."""
    around = next((one for one in text.around(near) if isinstance(one, ast.FunctionDef)), text.tree)
    bound = [
        one
        for one in ast.walk(around)
        if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)
    ]
    above = text.parents.get(bound[0]) if len(bound) == 1 else None
    return above.value if isinstance(above, ast.Assign) and above.targets == bound else None


def _function(node: ast.expr, text: LoopText) -> ast.FunctionDef | ast.Lambda | None:
    """The function of the cell that is called: by its name, or as that of a module of linen or equinox."""
    if isinstance(node, ast.Call) and node.args:
        return _function(node.args[0], text) if name_called(node) in _AROUND else None
    if isinstance(node, ast.Attribute) and node.attr == "apply":
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    defined = [one for one in text.nodes if isinstance(one, ast.FunctionDef) and one.name == node.id]
    if defined:
        return defined[0] if len(defined) == 1 else None
    kind = type(text.namespace.get(node.id)).__name__
    classes = [one for one in text.nodes if isinstance(one, ast.ClassDef) and one.name == kind]
    methods = [one for own in classes for one in own.body if isinstance(one, ast.FunctionDef)]
    called = [one for one in methods if one.name == "__call__"]
    return called[0] if len(called) == 1 else None
