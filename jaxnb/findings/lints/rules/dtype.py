"""What dtypes do without being asked (`"dtype"`): 64 bits that become 32, and arrays that are widened because they meet
a wider one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import jax

from jaxnb.findings.lints.census import WIDENED
from jaxnb.findings.lints.context import LintContext, Part
from jaxnb.findings.lints.lint import Lint, When
from jaxnb.findings.lints.written import Written
from jaxnb.program import Finding, Fix, Span

__all__ = ["LINT", "dtype_findings", "name_of"]

_PROMOTING = frozenset(
    """
add subtract multiply divide true_divide power maximum minimum where concatenate stack hstack vstack matmul dot einsum
vdot inner outer tensordot hypot arctan2 logaddexp append set mul
""".split()
)
"""Functions that promote what they are given; others may compute with more bits for reasons of their own."""

_ASKING = frozenset(["finfo", "iinfo", "issubdtype", "promote_types", "result_type", "can_cast", "dtype", "isinstance"])
_WIDE = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}


def dtype_findings(traced: LintContext) -> Iterator[Finding]:
    """What is cut, or is widened in a piece.

    Args:
      traced: the piece.
    """
    written = traced.written
    for part in traced.parts:
        for eqn in part.census.converted:
            yield from _converted(traced, written, eqn, part)
        for eqn in part.census.mixed:
            yield from _mixed_product(traced, written, eqn, part)
    if _asks_for_wide(traced.cell.text):
        yield from _cut(traced)


def _asks_for_wide(text: str) -> bool:
    """Whether a text may ask for 64 bits that JAX is not set to give."""
    if "64" not in text and "128" not in text:
        return False
    return any(word in text for word in _WIDE) and not jax.config.jax_enable_x64  # type: ignore[attr-defined]


def _finding(traced: LintContext, eqn: Any, part: Part, message: str, fix: str, holder: str = "") -> Finding:
    return traced.finding("dtype", message, eqn, part, fix, holder)


# --- promotion ---


def _converted(traced: LintContext, written: Written, eqn: Any, part: Part) -> Iterator[Finding]:
    source, result = eqn.invars[0].aval, eqn.outvars[0].aval
    if source.weak_type:  # of a number: see `wrapped`
        return
    node = written.at(eqn, part)
    if node is None or not _promotes(node):
        return
    sides = _sides(node)
    place = next((item.invars.index(eqn.outvars[0]) for item in part.jaxpr.eqns if eqn.outvars[0] in item.invars), 0)
    narrow, wide = (sides[place], sides[1 - place]) if sides and place < 2 else ("", "")
    yield _promotion(traced, eqn, part, (source.dtype, result.dtype), node, narrow, wide)


def _mixed_product(traced: LintContext, written: Written, eqn: Any, part: Part) -> Iterator[Finding]:
    avals = [atom.aval for atom in eqn.invars]
    for narrow, wide in ((0, 1), (1, 0)):
        if (avals[narrow].dtype, avals[wide].dtype) in WIDENED and not any(aval.weak_type for aval in avals):
            node = written.at(eqn, part)
            if node is not None and _promotes(node):
                sides = _sides(node) or ("", "")
                dtypes = avals[narrow].dtype, avals[wide].dtype
                yield _promotion(traced, eqn, part, dtypes, node, sides[narrow], sides[wide])


def _promotion(
    traced: LintContext, eqn: Any, part: Part, dtypes: tuple[Any, Any], node: ast.AST, narrow: str, wide: str
) -> Finding:
    source, result = (dtype.name for dtype in dtypes)
    what = ast.unparse(node)
    what = f"`{what}`: " if len(what) <= 40 else ""
    other = "int32" if source == "uint32" else result
    message = f"{what}{source} meets {other} and becomes {result}."
    if narrow and wide:
        fix = f"write `{narrow}.astype(jnp.{result})` if that is meant; otherwise `{wide}.astype(jnp.{source})`."
    else:
        fix = f"cast one of them: to {result} if that is meant, otherwise to {source}."
    return _finding(traced, eqn, part, message, fix, narrow)


def _promotes(node: ast.AST) -> bool:
    """Whether an expression is an operator, or calls a function, that promotes its operands."""
    if isinstance(node, ast.BinOp | ast.Compare | ast.AugAssign):
        return True
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PROMOTING


def _sides(node: ast.AST) -> tuple[str, str] | None:
    """The two operands as they are written, in brackets where a method is to be called on them."""
    if isinstance(node, ast.BinOp):
        pair: tuple[ast.expr, ast.expr] = node.left, node.right
    elif isinstance(node, ast.AugAssign):
        pair = node.target, node.value
    elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
        pair = node.left, node.comparators[0]
    elif isinstance(node, ast.Call) and len(node.args) == 2 and not any(isinstance(a, ast.Starred) for a in node.args):
        pair = node.args[0], node.args[1]
    else:
        return None
    if any(isinstance(side, ast.List | ast.Tuple | ast.Constant) for side in pair):
        return None
    one, other = (ast.unparse(side) for side in pair)
    simple = ast.Name | ast.Attribute | ast.Subscript | ast.Call
    one, other = (
        text if isinstance(side, simple) else f"({text})" for side, text in zip(pair, (one, other), strict=True)
    )
    return (one, other) if len(one) + len(other) <= 50 else None


# --- 64 bits ---


def _cut(traced: LintContext) -> Iterator[Finding]:
    """Where 64 bits are asked for while JAX is set to 32."""
    for statement in traced.statements:
        for node in ast.walk(statement.node):
            if not isinstance(node, ast.Call) or name_of(node) in _ASKING:
                continue
            wanted = _wide_of(node, traced)
            if wanted is None:
                continue
            what, name = wanted
            span = Span(node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or 0)
            message = f"`{what}` asks for {name}, and gets {_WIDE[name]}: 64 bits are off."
            switch = "jax.config.update('jax_enable_x64', True)"
            fix = f"write {_WIDE[name]}, or turn them on before any array is made: {switch}."
            yield Finding("dtype", message, node.lineno, span, holder=what, fix=Fix(fix))


def _wide_of(call: ast.Call, traced: LintContext) -> tuple[str, str] | None:
    """What in a call asks JAX for 64 bits, as it is written, and the dtype."""
    of_jax = _module(call.func, traced).startswith("jax")
    if of_jax and name_of(call) in _WIDE:
        return ast.unparse(call.func), name_of(call)
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    arrays = receiver is not None and any(
        isinstance(item, ast.Name) and isinstance(traced.namespace.get(item.id), jax.Array)
        for item in ast.walk(receiver)
    )
    for item in (*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "dtype")):
        name = item.attr if isinstance(item, ast.Attribute) else item.value if isinstance(item, ast.Constant) else None
        if not isinstance(name, str) or name not in _WIDE:
            continue
        named = isinstance(item, ast.Attribute) and _module(item, traced).startswith("jax")
        cast = name_of(call) in ("astype", "view") and arrays
        if named or of_jax or cast:
            return ast.unparse(item), name
    return None


def name_of(call: ast.Call) -> str:
    """The name of the function that is called, without the module."""
    func = call.func
    return func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""


def _module(node: ast.expr, traced: LintContext) -> str:
    """The module that an attribute such as `jnp.float64` is of; "" if it is of none."""
    while isinstance(node, ast.Attribute):
        node = node.value
    value = traced.namespace.get(node.id) if isinstance(node, ast.Name) else None
    name: Any = getattr(value, "__name__", "") if type(value).__name__ == "module" else ""
    return name if isinstance(name, str) else ""


def _when(traced: LintContext) -> When:
    return When.TRACED if traced.census.telling or _asks_for_wide(traced.cell.text) else When.NEVER


LINT = Lint(dtype_findings, _when)
