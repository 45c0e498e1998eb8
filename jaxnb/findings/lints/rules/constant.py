"""Large arrays that are part of a program instead of inputs of it (`"constant"`).

What a cell reads by a name is an input. Baked in is what a helper makes with NumPy or of Python lists while it is
traced, and what is held where staging cannot follow. A constant is compiled in, held again by every program, looked at
by the compiler, which may compute with it, and made anew at every trace.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from jax.extend.core import Literal

from jaxnb._jax import body_jaxprs, shape_and_dtype
from jaxnb.findings.lints.context import LintContext, Part
from jaxnb.findings.lints.lint import Lint, When
from jaxnb.findings.lints.written import Written, own_place
from jaxnb.program import Aval, Finding, Fix
from jaxnb.staging import render_path, where_held
from jaxnb.units import format_bytes

__all__ = ["LARGE", "LINT", "baked_constants"]

LARGE = 1_000_000
"""Bytes that a constant may have without being told."""


def baked_constants(traced: LintContext) -> Iterator[Finding]:
    """The constants of a piece with more than `LARGE` bytes, each with who holds or makes it.

    Args:
      traced: the piece.
    """
    for part in traced.parts:
        for var, value in zip(part.jaxpr.constvars, part.constants, strict=False):
            shape, dtype, itemsize = shape_and_dtype(var.aval)
            aval = Aval(dtype, tuple(shape), itemsize=itemsize)
            if (aval.nbytes or 0) > LARGE:
                yield _finding(traced, part, var, value, aval)


def _finding(traced: LintContext, part: Part, var: Any, value: Any, aval: Aval) -> Finding:
    reader, inside = _reader(part, var)
    span = traced.span(reader, inside) if reader is not None else None
    own = span if span is not None and not span.file else None
    bound, line = _bound(traced, part, var) if own is None else ("", own.line)
    path = where_held(dict(traced.namespace), value)
    held = render_path(path) if path is not None else ""
    place = own_place(reader) if reader is not None else None
    holder = held or bound or (_maker(traced.written, reader, inside, traced.namespace) if place is not None else "")
    name = f"`{holder}`, {aval}," if holder else f"an array, {aval},"
    message = f"{name} is a constant of {format_bytes(aval.nbytes or 0)} in the program, and no input."
    what = f"`{holder}`" if holder.isidentifier() else "it"
    fix = Fix(
        f"make it an input: read {what} by a name of the cell, or pass it as an argument."
        if held and not bound
        else f"make it an input: make {what} in a cell or statement before, or with jax.numpy where it is needed."
    )
    origin = ""
    if place is not None and place.file != traced.cell.filename:
        origin = f"{traced.label(place.file)}, line {place.line}"
    return Finding("constant", message, line, own, holder=holder, origin=origin, fix=fix)


def _bound(traced: LintContext, part: Part, var: Any) -> tuple[str, int | None]:
    """The name that a constant is bound to as it is, and the line that binds it."""
    if not part.owners:
        for name, result in traced.piece.results:
            if part.jaxpr.outvars[result] is var:
                lines = [item.span.line for item in traced.statements if name in item.names.binds]
                return name, lines[-1] if lines else None
    return "", traced.statements[0].span.line if len(traced.statements) == 1 else None


def _reader(part: Part, var: Any) -> tuple[Any, Part]:
    """The first equation that reads a variable, in the body of a loop or call where it is handed on to one."""
    for eqn in part.jaxpr.eqns:
        for place, atom in enumerate(eqn.invars):
            if type(atom) is Literal or atom is not var:
                continue
            bodies = body_jaxprs(eqn.params)
            if len(bodies) == 1 and len(bodies[0][1].invars) == len(eqn.invars):
                body = bodies[0][1]
                found, inside = _reader(Part(body, (), (*part.owners, eqn), part.census), body.invars[place])
                if found is not None:
                    return found, inside
            return eqn, part
    return None, part


def _maker(written: Written, eqn: Any, part: Part, namespace: Mapping[str, Any]) -> str:
    """What makes a constant, as it is written where an equation reads it: a name, or a call."""
    read, place = written.at(eqn, part), own_place(eqn)
    tree = written.tree(place.file) if place is not None else None
    if tree is None or read is None:
        return ""
    calls = [node for node in ast.walk(read) if isinstance(node, ast.Call) and _makes_constant(node, namespace)]
    if calls:
        text = ast.unparse(calls[0])
        return text if len(text) <= 40 else ""
    names = {node.id for node in ast.walk(read) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(
            isinstance(item, ast.Call) and _makes_constant(item, namespace) for item in ast.walk(node.value)
        ):
            own = [name.id for name in node.targets if isinstance(name, ast.Name) and name.id in names]
            if own:
                return own[0]
    return ""


def _makes_constant(call: ast.Call, namespace: Mapping[str, Any]) -> bool:
    """Whether a call makes a NumPy array, or a JAX array of Python numbers."""
    root: ast.expr = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    module = namespace.get(root.id) if isinstance(root, ast.Name) else None
    name = getattr(module, "__name__", "")
    own = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name == "numpy" or (name == "jax.numpy" and own in ("array", "asarray"))


LINT = Lint(baked_constants, lambda traced: When.TRACED if traced.census.telling else When.NEVER)
