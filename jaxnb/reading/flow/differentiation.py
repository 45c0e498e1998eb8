"""A gradient as three jaxprs, read into rows: what each expression is forwards, as a tangent, and transposed.

JAX gives the equations of the derivative, and those of its transpose, the traceback of the equation that they come of;
JAX's own frames differ, and are passed over. A function with a rule of its own is one equation forwards, and what its
rule does has other tracebacks: it is told from the frame that called the function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from os.path import basename
from types import CodeType
from typing import Any

from jax.extend import core as jax_core

from jaxnb import _jax
from jaxnb.program import Aval, Counted, DifferentiatedPart, DifferentiatedProgram, has_tangent
from jaxnb.reading.cost.sizes import nbytes

__all__ = ["read_gradient"]

_Key = tuple[tuple[CodeType, int], ...]
_STEPS = frozenset({"ceil", "floor", "nextafter", "round", "sign", "stop_gradient"})
"""Whose derivative is zero wherever it has one: JAX makes no equation of it."""
_RULES = ("custom_jvp_call", "custom_vjp_call")


@dataclass(slots=True)
class _Part:
    forward: Counter[str] = field(default_factory=Counter[str])
    types: list[Aval] = field(default_factory=list[Aval])
    depends: bool = False
    passes: bool = True
    rule: str = ""
    kept: int = 0
    tangent: Counter[str] = field(default_factory=Counter[str])
    transposed: Counter[str] = field(default_factory=Counter[str])


def read_gradient(
    taken: _jax.Taken, cell_file: str, line_of: Callable[[str, int], str], label: Callable[[str], str]
) -> DifferentiatedProgram:
    """The equations of a gradient, by the expressions that they are of.

    Args:
      taken: the gradient.
      cell_file: the file of the cell's code.
      line_of: the text of a line of a file.
      label: what another file is called.
    """
    parts: dict[_Key, _Part] = {}
    needs = _Dependent()
    floating = len(_jax.open_jaxpr(taken.forward).invars)
    needs.run(taken.forward, [True] * floating)
    for eqn in _own_equations(taken.forward):
        key = _jax.frames_differentiated(eqn)
        part = parts.setdefault(key, _Part())
        part.forward[_name(eqn)] += 1
        part.depends |= id(eqn) in needs.found
        part.passes = not _stops(eqn) and any(has_tangent(_aval(var.aval)) for var in eqn.outvars)
        part.rule = part.rule or _rule(eqn)
        made = [_aval(var.aval) for var in eqn.outvars]
        part.types = [aval for aval in part.types if aval not in made] + list(dict.fromkeys(made))
    linear = list(_own_equations(taken.linear))
    kept = _kept(taken.linear, taken.given)
    for eqns, attribute in ((linear, "tangent"), (list(_own_equations(taken.transposed)), "transposed")):
        for eqn in eqns:
            part = _part_of(_jax.frames_differentiated(eqn), parts)
            if part is not None:
                getattr(part, attribute)[_name(eqn)] += 1
                part.kept += kept.get(id(eqn), 0)
    told = tuple(_told(key, part, cell_file, line_of, label) for key, part in parts.items())
    inputs = tuple((path, _aval(aval)) for path, aval in taken.inputs)
    counts = tuple(_jax.count_eqns(one) for one in (taken.forward, taken.linear, taken.transposed))
    return DifferentiatedProgram(told, inputs, floating, (counts[0], counts[1], counts[2]), sum(kept.values()))


def _told(
    key: _Key, part: _Part, cell_file: str, line_of: Callable[[str, int], str], label: Callable[[str], str]
) -> DifferentiatedPart:
    places = [place for place in (_jax.place_of(*frame) for frame in key) if place is not None]
    here = next((place for place in places if place.file == cell_file), None)
    first = places[0] if places else None
    file = f"{basename(label(first.file))}:{first.line}" if first is not None and first.file != cell_file else ""
    text = line_of(first.file, first.line).strip() if first is not None else ""
    line = here.line if here is not None and (not file or first is here) else None
    return DifferentiatedPart(
        line,
        file,
        text,
        _counted(part.forward),
        tuple(part.types),
        part.depends,
        part.passes,
        part.rule,
        part.kept,
        _counted(part.tangent),
        _counted(part.transposed),
    )


def _counted(names: Counter[str]) -> tuple[Counted, ...]:
    return tuple(names.items())


def _own_equations(closed: Any) -> Iterator[Any]:
    """The equations that are of an expression of the user's: not the inside of what a library calls."""
    for eqn in _equations(_jax.open_jaxpr(closed).eqns):
        if _jax.frames_differentiated(eqn):
            yield eqn


def _equations(eqns: Iterable[Any]) -> Iterator[Any]:
    for eqn in eqns:
        yield eqn
        if not _rule(eqn):
            for _, body in _jax.body_jaxprs(eqn.params):
                yield from _equations(body.eqns)


def _part_of(key: _Key, parts: dict[_Key, _Part]) -> _Part | None:
    """The part that an equation of the derivative belongs to: the same, or one that called what made it."""
    while key:
        if key in parts:
            return parts[key]
        key = key[1:]
    return None


def _name(eqn: Any) -> str:
    name = eqn.primitive.name
    return f"{name} {eqn.params['name']}" if name == "jit" and eqn.params.get("name") else name


def _rule(eqn: Any) -> str:
    """The function whose own rule an equation uses; "" if it uses none."""
    if eqn.primitive.name not in _RULES:
        return ""
    body = _jax.body_jaxprs(eqn.params)
    name = next((_jax.traced_name(jaxpr) for _, jaxpr in body), "")
    return str(eqn.params.get("name") or name or eqn.primitive.name)


def _stops(eqn: Any) -> bool:
    """Whether an equation, or one in what a library calls by it, has a derivative that is zero."""
    inner = (one for _, body in _jax.body_jaxprs(eqn.params) for one in body.eqns)
    return eqn.primitive.name in _STEPS or (eqn.primitive.name == "jit" and any(map(_stops, inner)))


def _aval(aval: Any) -> Aval:
    shape, dtype, size = _jax.shape_and_dtype(aval)
    return Aval(dtype, shape, bool(getattr(aval, "weak_type", False)), size)


def _kept(linear: Any, given: Collection[int]) -> dict[int, int]:
    """The bytes of the values that the forward pass computes, of which each equation of a derivative is the first to
    read; what it is `given` is there anyway."""
    jaxpr = _jax.open_jaxpr(linear)
    left = {var: nbytes(var.aval) for n, var in enumerate(jaxpr.constvars) if n not in given}
    found: dict[int, int] = {}
    for eqn in jaxpr.eqns:
        size = sum(left.pop(var, 0) for var in eqn.invars if isinstance(var, jax_core.Var))
        if size:
            found[id(eqn)] = size
    return found


class _Dependent(_jax.Forward[bool]):
    """Which values depend on some inputs, and the ids of the equations that do."""

    nothing = False

    def __init__(self) -> None:
        self.found: set[int] = set()

    def join(self, one: bool, other: bool) -> bool:
        return one or other

    def other(self, eqn: Any, ins: list[bool]) -> list[bool]:
        return [any(ins)] * len(eqn.outvars)

    def equation(self, eqn: Any, ins: list[bool]) -> list[bool]:
        if any(ins):
            self.found.add(id(eqn))
        return super().equation(eqn, ins)
