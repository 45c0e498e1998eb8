"""Python numbers that do not fit into the dtype of an array (`"wrapped"`): they come out as another number, or as inf.

A Python number gives way to the dtype of the array that it meets, and 300 in an int8 is 44.
Source: https://docs.jax.dev/en/latest/type_promotion.html (weakly typed values).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from jaxnb.findings.lints.context import LintContext, Part
from jaxnb.findings.lints.lint import Lint, When
from jaxnb.findings.lints.rules.dtype import name_of
from jaxnb.findings.lints.written import Written
from jaxnb.program import Finding

__all__ = ["LINT", "wrapped_numbers"]


def wrapped_numbers(traced: LintContext) -> Iterator[Finding]:
    """The numbers of a piece that do not fit.

    Args:
      traced: the piece.
    """
    written = traced.written
    for part in traced.parts:
        for eqn in part.census.converted:
            if eqn.invars[0].aval.weak_type:
                yield from _wrapped_argument(traced, written, eqn, part)
        for eqn, atom in part.census.narrow:
            yield from _wrapped_literal(traced, written, eqn, atom, part)


def _wrapped_literal(traced: LintContext, written: Written, eqn: Any, atom: Any, part: Part) -> Iterator[Finding]:
    """A Python number whose type gave way to that of an array, and that came out as another one."""
    dtype, value = atom.aval.dtype, atom.val
    if np.ndim(value) or atom.aval.weak_type:
        return
    if jnp.issubdtype(dtype, jnp.floating) and not math.isinf(float(value)):
        return
    node = written.at(eqn, part)
    if node is None or (isinstance(node, ast.Call) and name_of(node) == "astype"):
        return
    for number in _numbers(node, traced):
        if _becomes(number, dtype) == float(value) and not _fits(number, dtype, eqn):
            yield _overflow(traced, eqn, part, number, value, dtype)
            return


def _wrapped_argument(traced: LintContext, written: Written, eqn: Any, part: Part) -> Iterator[Finding]:
    """The same of a number that was passed to a function that is compiled."""
    number = _passed(traced, eqn.invars[0], part)
    dtype = eqn.outvars[0].aval.dtype
    if isinstance(number, int | float) and not isinstance(number, bool) and not _fits(number, dtype, eqn):
        node = written.at(eqn, part)
        if node is not None and not (isinstance(node, ast.Call) and name_of(node) == "astype"):
            yield _overflow(traced, eqn, part, number, _becomes(number, dtype), dtype)


def _passed(traced: LintContext, atom: Any, part: Part) -> Any:
    """The Python number that a variable is, where a function or the whole piece was called with one."""
    owners = list(part.owners)
    jaxpr = part.jaxpr
    while type(atom) is not Literal:
        place = next((number for number, var in enumerate(jaxpr.invars) if var is atom), None)
        if place is None:
            return None
        if not owners:
            at = place - (len(jaxpr.invars) - len(traced.arguments))
            value = traced.arguments[at] if 0 <= at < len(traced.arguments) else None
            return value if type(value) in (int, float) else None
        owner = owners.pop()
        if len(owner.invars) != len(jaxpr.invars) or owner.primitive.name == "scan":
            return None
        atom = owner.invars[place]
        outer = owners[-1].params.get("jaxpr") if owners else traced.piece.jaxpr
        if outer is None:
            return atom.val.item() if type(atom) is Literal and hasattr(atom.val, "item") else None
        jaxpr = getattr(outer, "jaxpr", outer)
    value = atom.val
    return value.item() if hasattr(value, "item") else value


def _overflow(traced: LintContext, eqn: Any, part: Part, number: Any, value: Any, dtype: Any) -> Finding:
    became = float(value) if jnp.issubdtype(dtype, jnp.floating) else int(value)
    message = (
        f"{number:,} does not fit into {dtype.name} and becomes {became:,}: a Python number takes an array's dtype."
    )
    fix = f"give the array a wider dtype first, such as `.astype(jnp.{_wider(dtype)})`, or write a number that fits."
    return traced.finding("wrapped", message, eqn, part, fix)


def _wider(dtype: Any) -> str:
    return "float32" if jnp.issubdtype(dtype, jnp.floating) else "int32"


def _fits(number: Any, dtype: Any, eqn: Any) -> bool:
    if jnp.issubdtype(dtype, jnp.floating):
        return not math.isfinite(number) or abs(number) <= float(jnp.finfo(dtype).max)
    info = jnp.iinfo(dtype)
    if number < 0 and int(info.min) == 0 and eqn.primitive.name in ("add", "sub"):
        return True  # modulo 2^n that is the difference that was meant
    return float(number).is_integer() and int(info.min) <= number <= int(info.max)


def _becomes(number: Any, dtype: Any) -> float | None:
    """What a number is after it was cast."""
    if jnp.issubdtype(dtype, jnp.floating):
        return math.copysign(math.inf, number) if abs(number) > float(jnp.finfo(dtype).max) else float(number)
    if not float(number).is_integer():
        return None
    info = jnp.iinfo(dtype)
    return float((int(number) - int(info.min)) % (1 << info.bits) + int(info.min))


def _numbers(node: ast.AST, traced: LintContext) -> Iterator[int | float]:
    """The numbers in an expression, and those that its names are."""
    for item in ast.walk(node):
        if isinstance(item, ast.Constant) and type(item.value) in (int, float):
            yield item.value  # type: ignore[misc]
            yield -item.value  # type: ignore[operator]
        elif isinstance(item, ast.Name):
            value = traced.namespace.get(item.id)
            if type(value) in (int, float):
                yield value  # type: ignore[misc]


LINT = Lint(wrapped_numbers, lambda traced: When.TRACED if traced.census.telling else When.NEVER)
