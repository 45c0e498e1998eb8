"""What is read otherwise than it is meant (`"misread"`): probabilities as logits, numbers in the order of other axes,
the variable of a loop after it, `&` beside a comparison.

A softmax of a softmax is no error, and hardly moves with its input. `reshape` moves no axis: it reads the same numbers
in the same order. What the text of a cell alone shows is found by `misread_text`.
Source: https://docs.jax.dev/en/latest/_autosummary/jax.numpy.reshape.html, of the losses
https://optax.readthedocs.io/en/latest/api/losses.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from jaxnb._jax import name_parts, open_jaxpr
from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.lints.census import jaxprs_of
from jaxnb.findings.lints.context import LintContext, Part
from jaxnb.findings.lints.lint import Lint, When
from jaxnb.findings.lints.logits_text import taken_message
from jaxnb.findings.lints.misread_text import misread_words
from jaxnb.findings.lints.probabilities import Taken, taken_for_logits
from jaxnb.findings.lints.written import Written
from jaxnb.findings.place import parse_shown
from jaxnb.findings.syntax import in_short
from jaxnb.program import Finding

__all__ = ["LINT", "misread_values"]

_LOSSES = re.compile(r"softmax|sigmoid|entropy|log_prob")


def misread_values(traced: LintContext) -> Iterator[Finding]:
    """The values of a piece that are read as something else.

    Args:
      traced: the piece.
    """
    jaxpr, written = open_jaxpr(traced.piece.jaxpr), traced.written
    if _LOSSES.search(traced.cell.shown):
        for taken in taken_for_logits(jaxpr):
            yield from _taken(traced, written, taken)
    if "reshape" in traced.cell.shown:
        for inner, census, owners in jaxprs_of(jaxpr):
            part = Part(inner, (), owners, census)
            for eqn in inner.eqns:
                if eqn.primitive.name == "reshape" and _moves(eqn):
                    yield from _reshaped(traced, written, eqn, part)


# --- probabilities ---


def _taken(traced: LintContext, written: Written, taken: Taken) -> Iterator[Finding]:
    (*owners, eqn), (*readers, read) = taken.made, taken.read
    part = Part(open_jaxpr(traced.piece.jaxpr), (), tuple(owners), traced.census)
    own, there = traced.span(eqn, part), traced.span(read, part._replace(owners=tuple(readers)))
    if own is None or there is None:
        return
    node = written.at(eqn, part)
    at = "" if there.file or there.line == own.line else f" on line {there.line}"
    loss = _call_on(traced, there.line) if not there.file else ""
    given = ast.unparse(node.args[0]) if isinstance(node, ast.Call) and len(node.args) == 1 else ""
    made = in_short(node) if isinstance(node, ast.Call) else ""
    message, fix = taken_message(made, f"`{loss}`{at}" if loss else "", taken.by, given)
    found = traced.finding("misread", message, eqn, part, fix, given)
    yield replace(found, trail=(there.line,)) if at else found


def _call_on(traced: LintContext, line: int) -> str:
    """The call on a line that takes the logarithm, in short."""
    tree = parse_shown(traced.cell.shown)
    for node in ast.walk(tree) if tree is not None else ():
        on_it = isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or 0)
        if on_it and _LOSSES.search(name_called(node)):
            return in_short(node, 70)
    return ""


# --- axes ---


def _moves(eqn: Any) -> bool:
    """Whether a reshape gives the sizes of the axes in another order, of which no two are to be confused."""
    old, new = ([size for size in aval.shape if size != 1] for aval in (eqn.invars[0].aval, eqn.outvars[0].aval))
    return len(old) >= 3 and old != new and len(old) == len(new) and sorted(old) == sorted(new)


def _reshaped(traced: LintContext, written: Written, eqn: Any, part: Part) -> Iterator[Finding]:
    node = written.at(eqn, part)
    if name_called(node) != "reshape" or any(name == "transpose" for _, name in name_parts(eqn)):
        return
    assert isinstance(node, ast.Call)
    old, new = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    method = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) not in ("jnp", "jax.numpy", "lax")
    of = node.func.value if method and isinstance(node.func, ast.Attribute) else node.args[0] if node.args else None
    name = ast.unparse(of) if of is not None else "x"
    message = (
        f"`{in_short(node, 60)}` reads the same numbers in the same order: {tuple(old)} becomes {tuple(new)}, but no"
        " axis is moved, and the numbers of different axes are mixed."
    )
    fix = f"move the axes: `{name}.transpose({', '.join(map(str, _order(old, new)))})`."
    yield traced.finding("misread", message, eqn, part, fix, name)


def _order(old: Sequence[int], new: Sequence[int]) -> list[int]:
    """Which axes of the old sizes the new ones are."""
    left = list(range(len(old)))
    order: list[int] = []
    for size in new:
        at = next(axis for axis in left if old[axis] == size)
        left.remove(at)
        order.append(at)
    return order


def _when(traced: LintContext) -> When:
    shown = traced.cell.shown
    return When.TRACED if "reshape" in shown or _LOSSES.search(shown) else When.NEVER


LINT = Lint(misread_values, _when, in_words=misread_words)
