"""The jaxpr of a body as text, with the named shape of every value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from jax.extend.core import DropVar, Literal

from jaxnb._jax import body_jaxprs, called_jaxprs, open_jaxpr
from jaxnb.named.flow import NAMES, Names, axis_flow
from jaxnb.named.shape import NamedShape

__all__ = ["render_body", "render_type"]

_SHORT = {
    "float": "f",
    "int": "i",
    "uint": "u",
    "complex": "c",
    "bfloat": "bf",
    "bool": "bool",
    "key<": "key<",
}


def render_type(aval: Any, names: Names, sizes: Mapping[Any, int]) -> str:
    """A type such as `f32[5 | batch:20]`."""
    shape = NamedShape(*aval.shape, names={name: size for name, size in sizes.items() if name in names})
    text = str(aval.dtype)
    letters = text.rstrip("0123456789")
    return _SHORT.get(letters, letters) + text[len(letters) :] + str(shape)


def render_body(closed: Any, ins: Sequence[Names], sizes: Mapping[Any, int]) -> str:
    """A jaxpr as text, one equation a line, the jaxprs of control flow indented below their equation.

    Args:
      closed: the jaxpr.
      ins: the names that each input varies over.
      sizes: the sizes of the names.
    """
    lines: list[str] = []
    _render(closed, list(ins), sizes, lines, "", count())
    return "\n".join(lines)


def _letters(number: int) -> str:
    out = ""
    while True:
        out = chr(ord("a") + number % 26) + out
        number = number // 26 - 1
        if number < 0:
            return out


def _render(closed: Any, ins: list[Names], sizes: Mapping[Any, int], lines: list[str], indent: str, fresh: Any) -> None:
    jaxpr = open_jaxpr(closed)
    label: dict[Any, str] = {}
    made: dict[int, tuple[list[Names], list[Names]]] = {}
    top = {id(eqn) for eqn in jaxpr.eqns}

    def visit(eqn: Any, sets: list[Names], outs: list[Names]) -> None:
        if id(eqn) in top:
            made[id(eqn)] = sets, outs

    axis_flow(closed, ins, visit)

    def typed(var: Any, names: Names) -> str:
        if isinstance(var, DropVar):
            return "_"
        label[var] = _letters(next(fresh))
        return f"{label[var]}:{render_type(var.aval, names, sizes)}"

    def read(atom: Any) -> str:
        return str(atom.val) if isinstance(atom, Literal) else label[atom]

    variables = [*jaxpr.constvars, *jaxpr.invars]
    names_in = [frozenset[Any]()] * len(jaxpr.constvars) + ins
    header = " ".join(typed(var, names) for var, names in zip(variables, names_in, strict=True))
    lines.append(f"{indent}lambda {header}:")
    for eqn in jaxpr.eqns:
        sets, outs = made[id(eqn)]
        left = " ".join(typed(var, names) for var, names in zip(eqn.outvars, outs, strict=True))
        shown = {k: v for k, v in eqn.params.items() if k in _TOLD and v is not None}
        params = "[" + " ".join(f"{k}={v}" for k, v in shown.items()) + "]" if shown else ""
        lines.append(f"{indent}  {left} = {eqn.primitive.name}{params} " + " ".join(map(read, eqn.invars)))
        for sub, sub_ins in _inner(eqn, sets):
            _render(sub, sub_ins, sizes, lines, indent + "    ", fresh)
    lines.append(f"{indent}  return " + " ".join(map(read, jaxpr.outvars)))


# parameters that say what an equation does; the others are how it does it
_TOLD = (
    "axes",
    "axis_name",
    "names",
    "axis",
    "dimensions",
    "dimension_numbers",
    "length",
    "new_dtype",
    "perm",
)


def _inner(eqn: Any, ins: list[Names]) -> list[tuple[Any, list[Names]]]:
    if eqn.primitive.name == "xmap":
        brought = zip(ins, eqn.params["in_axes"], strict=True)
        return [(eqn.params["body"].closed, [names | {name for _, name in axes} for names, axes in brought])]
    called = called_jaxprs(eqn)
    if called:
        settled = NAMES.settled(eqn, ins)
        return [(one.jaxpr, one.given(settled)) for one in called]
    return [(body, ins) for _, body in body_jaxprs(eqn.params) if len(body.invars) == len(ins)]
