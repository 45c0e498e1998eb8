"""Numbers that do not fit into the dtype of an array (`"wrapped"`): they come out as another number, or as inf.

A Python number gives way to the dtype of the array that it meets, and 300 in an int8 is 44. So is 200 + 100 of two
arrays, and nothing is said: integers are computed modulo a power of two. Of a small program they are computed once more
beside it, by NumPy in a wider type.
Source: https://docs.jax.dev/en/latest/type_promotion.html (weakly typed values), and of integers that overflow
https://github.com/jax-ml/jax/issues/8604
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from jaxnb import _jax
from jaxnb._jax import open_jaxpr
from jaxnb.findings.lints.census import census_of
from jaxnb.findings.lints.context import LintContext, Part
from jaxnb.findings.lints.int_values import Lost, integers_lost
from jaxnb.findings.lints.lint import Lint, When
from jaxnb.findings.lints.rules.dtype import name_of
from jaxnb.findings.lints.written import Written
from jaxnb.findings.syntax import in_short
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
    if traced.census.integers:
        yield from _lost_integers(traced)


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
    numbers = [*_numbers(node, traced)]
    if any(number == float(value) for number in numbers):
        return  # it is what is written there
    for number in numbers:
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


# --- integers that overflow ---


def _lost_integers(traced: LintContext) -> Iterator[Finding]:
    """Operations on integers of a piece that lose what reaches a result."""
    given = [value if _is_at_hand(value) else None for value in traced.arguments]
    jaxpr = open_jaxpr(traced.piece.jaxpr)
    given = [None] * (len(jaxpr.invars) - len(given)) + given
    seen = set[int]()
    constants = [value if _is_at_hand(value) else None for value in traced.piece.jaxpr.consts]
    for lost in integers_lost(jaxpr, constants, given):
        owners = lost.owners
        inner = open_jaxpr(_body_of(owners[-1])) if owners else jaxpr
        part = Part(inner, (), owners, census_of(inner))
        node = traced.written.at(lost.eqn, part)
        if node is None or id(node) in seen or _is_meant(lost, node):
            continue
        seen.add(id(node))
        yield traced.finding("wrapped", _lost_message(lost, node), lost.eqn, part, _lost_fix(lost, node), _about(node))


def _body_of(eqn: Any) -> Any:
    for name in ("jaxpr", "call_jaxpr", "body_jaxpr"):
        if name in eqn.params:
            return eqn.params[name]
    return eqn.params["branches"][0]


def _is_at_hand(value: Any) -> bool:
    """Whether a value can be looked at without waiting for it."""
    if not isinstance(value, jax.Array):
        return isinstance(value, bool | int | float | np.ndarray | np.generic)
    array: Any = value
    if not isinstance(array.dtype, np.dtype):  # keys
        return False
    there = not _jax.is_tracer(array) and not array.is_deleted() and array.is_fully_addressable and array.is_ready()
    return bool(there and array.dtype.kind in "iubf")


def _is_meant(lost: Lost, node: ast.AST) -> bool:
    """Whether an array was cast to a view of its bits, or hashed: an operation that is no arithmetic of the user's."""
    return isinstance(node, ast.Call) and name_of(node) in ("view", "bitcast_convert_type", "hash")


_OPERATORS: dict[str, str] = {"add": "+", "sub": "-", "mul": "*", "shift_left": "<<", "div": "//", "rem": "%"}


def _lost_message(lost: Lost, node: ast.AST) -> str:
    name, dtype = lost.eqn.primitive.name, lost.eqn.outvars[0].aval.dtype
    text = in_short(node, 60)
    more = f", and {lost.number - 1:,} more" if lost.number > 1 else ""
    if lost.exact is None:
        what = f"{lost.operands[0]:,} {_OPERATORS[name]} 0" if lost.operands[0] is not None else "a division by zero"
        return f"`{text}` divides integers by zero{more}: {what} has no value, and is {lost.became:,} without an error."
    exact = _number(lost.exact)
    if lost.exact != lost.exact:
        return f"`{text}` makes integers of nan{more}: {dtype.name} has no nan, and it becomes {lost.became:,}."
    if name == "neg" and dtype.kind == "u":
        first = _number(lost.exact)
        return (
            f"`{text}` negates unsigned integers{more}: {first} is negative, which {dtype.name} does not hold, and it"
            f" wraps around to {lost.became:,}: zeros stay the smallest."
        )
    if name in _OPERATORS and None not in lost.operands[:2]:
        how = f"{_number(lost.operands[0])} {_OPERATORS[name]} {_number(lost.operands[1])} is {exact}"
    elif name in ("neg", "abs") and lost.operands[0] is not None:
        how = f"{'-' if name == 'neg' else 'the absolute value of '}{_number(lost.operands[0])} is {exact}"
    else:
        how = f"{exact}"
    info = jnp.iinfo(dtype)
    span = f"from {int(info.min):,} to {int(info.max):,}"
    tail = f"which does not fit into {dtype.name} ({span}) and becomes {lost.became:,}"
    if name == "shift_left" and lost.operands[1] is not None and lost.operands[1] >= info.bits:
        tail = f"and {dtype.name} has {info.bits} bits: all are shifted out, and it becomes {lost.became:,}"
    return f"`{text}` overflows{more}: {how}, {tail}."


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}" if abs(value) < 1e15 else f"{value:.3g}"


def _about(node: ast.AST) -> str:
    names = [item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)]
    return names[0] if names else ""


def _lost_fix(lost: Lost, node: ast.AST) -> str:
    name, dtype = lost.eqn.primitive.name, lost.eqn.outvars[0].aval.dtype
    if lost.exact is None:
        divisor = ast.unparse(node.right) if isinstance(node, ast.BinOp) else "the divisor"
        return f"keep the divisor from being zero: `jnp.maximum({divisor}, 1)`, and choose by jnp.where where it was."
    if lost.exact != lost.exact:
        return "keep it a float, or put a number for nan before: `jnp.where(jnp.isnan(x), -1, x)`, jnp.nan_to_num."
    if name == "convert_element_type":
        info = jnp.iinfo(dtype)
        return f"cut it off first: `jnp.clip(x, {int(info.min)}, {int(info.max)})`, or take a wider dtype."
    if name == "dot_general":
        return "accumulate in a wider dtype: preferred_element_type=jnp.int32."
    if name == "neg":
        return "make it signed first: `.astype(jnp.int32)`; to sort from the largest, descending=True."
    if name in ("reduce_sum", "reduce_prod", "cumsum", "cumprod") and dtype.itemsize < 4:
        return "leave dtype= out, or take a wider one: dtype=jnp.int32."
    if dtype.itemsize < 4:
        return "compute in a wider dtype: `.astype(jnp.int32)` of one of them."
    unsigned = ", or as bits in jnp.uint32" if name == "shift_left" and dtype.kind == "i" else ""
    return f"compute in floats, or turn on 64 bits for int64: jax.config.update('jax_enable_x64', True){unsigned}."


def _when(traced: LintContext) -> When:
    return When.TRACED if traced.census.telling or traced.census.integers else When.NEVER


LINT = Lint(wrapped_numbers, _when)
