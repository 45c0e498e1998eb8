"""What there is in a jaxpr for detectors to look at: found in one pass, and kept for as long as the jaxpr lives.

Most jaxprs hold nothing of interest, and JAX hands out the same ones for its own functions again and again. So the pass
over them is what looking costs, and it is made once.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from jaxnb import _jax
from jaxnb._jax_eqns import eqn_frames, eqn_scope, open_jaxpr
from jaxnb._jax_hlo import is_opaque, name_parts

__all__ = ["DRAWS", "NARROW", "WIDENED", "Census", "Inner", "census_of", "jaxprs_of"]

DRAWS = frozenset(["random_bits", "random_gamma", "rng_bit_generator", "random_split", "threefry2x32"])
"""Primitives that use a PRNG key."""

NARROW = frozenset(
    np.dtype(getattr(jnp, name)) for name in ("int8", "int16", "uint8", "uint16", "uint32", "float16", "bfloat16")
)
"""Dtypes into which a Python number may not fit."""

WIDENED = frozenset(
    (np.dtype(getattr(jnp, narrow)), np.dtype(wide))
    for narrow, wide in (
        ("bfloat16", "float32"),
        ("float16", "float32"),
        ("bfloat16", "float64"),
        ("float16", "float64"),
        ("float32", "float64"),
        ("uint32", "int32"),
    )
)
"""Promotions that are told: they cost memory and time, or change the values. Integers that become floats do so often
and on purpose."""

_CHECKPOINTS = frozenset({"checkpoint", "remat", "remat2"})
_MARKS = frozenset({"jvp", "transpose", "rematted_computation"})
_PLAIN = frozenset({bool, int, float, str, type(None)})  # what most parameters are: they are passed over at once


@dataclass(frozen=True, slots=True)
class Inner:
    """A jaxpr in a parameter of an equation.

    Attributes:
      eqn: the equation.
      body: the jaxpr, closed where it is.
      census: what is in it.
    """

    eqn: Any
    body: Any
    census: Census


@dataclass(slots=True)
class Census:
    """What is in a jaxpr.

    Attributes:
      inner: the jaxprs in it, kernels excepted, which have a compiler of their own.
      draws: whether it, or one in it, uses a PRNG key.
      marks: of what its equations are, or those in it: "jvp", "transpose", "rematted_computation".
      converted: equations that convert what may be widened, or may not fit.
      mixed: products of two dtypes.
      narrow: equations with a number of a narrow dtype among their operands, each with the number.
      filled: equations that fill an array with one number.
      giving: calls of functions that donate.
      telling: whether it, or one in it, has constants, or anything for the detector of dtypes.
      draw: the number of the only input that is used as a key, if it is used once and by JAX's own code alone; None if
        that is not so, and -1 if it was not asked yet.
    """

    inner: tuple[Inner, ...]
    draws: bool
    marks: frozenset[str]
    converted: tuple[Any, ...]
    mixed: tuple[Any, ...]
    narrow: tuple[tuple[Any, Any], ...]
    filled: tuple[Any, ...]
    giving: tuple[Any, ...]
    telling: bool
    draw: int | None = -1


_known: dict[int, tuple[weakref.ref[Any], Census]] = {}
_leaves: set[str] = set()  # primitives that have no jaxpr, as most do


def census_of(jaxpr: Any) -> Census:
    """What is in an open jaxpr; remembered as long as that lives."""
    key = id(jaxpr)
    known = _known.get(key)
    if known is not None and known[0]() is jaxpr:
        return known[1]
    made = _take(jaxpr)
    _known[key] = weakref.ref(jaxpr, lambda gone: _forget(key, gone)), made
    return made


def _forget(key: int, gone: Any) -> None:
    if key in _known and _known[key][0] is gone:
        del _known[key]


def _take(jaxpr: Any) -> Census:
    inner: list[Inner] = []
    converted: list[Any] = []
    mixed: list[Any] = []
    narrow: list[tuple[Any, Any]] = []
    filled: list[Any] = []
    giving: list[Any] = []
    marks: set[str] = set()
    scopes: dict[int, Any] = {}
    draws = False
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        scope = eqn_scope(eqn)
        if id(scope) not in scopes:
            scopes[id(scope)] = scope
            marks.update(part for _, part in name_parts(eqn) if part in _MARKS)
        for atom in eqn.invars:
            if type(atom) is Literal and getattr(atom.aval, "dtype", None) in NARROW and not _is_of_jax(eqn):
                narrow.append((eqn, atom))
        if name in _leaves:
            continue
        if name in _TAKEN:
            if name == "convert_element_type":
                if _may_matter(eqn):
                    converted.append(eqn)
            elif name == "dot_general":
                if eqn.invars[0].aval.dtype != eqn.invars[1].aval.dtype:
                    mixed.append(eqn)
            elif name == "broadcast_in_dim":
                if type(eqn.invars[0]) is Literal:
                    filled.append(eqn)
            else:
                draws = True
            continue
        if is_opaque(eqn):
            continue
        params = eqn.params
        if name == "jit":
            bodies = (params["jaxpr"],)
            if True in params["donated_invars"]:
                giving.append(eqn)
        else:
            bodies = [body for value in params.values() if type(value) not in _PLAIN for body in _bodies(value)]
            if not bodies:
                _leaves.add(name)
            if name in _CHECKPOINTS and params.get("differentiated"):
                marks.add("rematted_computation")
        inner += [Inner(eqn, body, census_of(open_jaxpr(body))) for body in bodies]
    telling = bool(converted or mixed or narrow or jaxpr.constvars)
    return Census(
        tuple(inner),
        draws or any(one.census.draws for one in inner),
        frozenset(marks.union(*(one.census.marks for one in inner))),
        tuple(converted),
        tuple(mixed),
        tuple(narrow),
        tuple(filled),
        tuple(giving),
        telling or any(one.census.telling for one in inner),
    )


_TAKEN = DRAWS | {"convert_element_type", "dot_general", "broadcast_in_dim"}


def _is_of_jax(eqn: Any) -> bool:
    """Whether an equation is of a function that JAX has traced for itself, whoever called that."""
    return all(_jax.in_jax(code.co_filename) for code, _ in eqn_frames(eqn))


def _may_matter(eqn: Any) -> bool:
    source, result = eqn.invars[0].aval, eqn.outvars[0].aval
    if source.weak_type:
        return result.dtype in NARROW
    return (source.dtype, result.dtype) in WIDENED


def _bodies(value: Any) -> Sequence[Any]:
    """The jaxprs in a parameter of an equation, closed where they are."""
    if isinstance(value, ClosedJaxpr | Jaxpr):
        return (value,)
    if isinstance(value, tuple | list):
        items: Sequence[Any] = value
        return [body for item in items if type(item) not in _PLAIN for body in _bodies(item)]
    if hasattr(value, "opaque_jaxpr"):  # the body of an `xmap`, which JAX's own walks must not see
        return (value.opaque_jaxpr,)
    return ()


def jaxprs_of(jaxpr: Any) -> Iterator[tuple[Any, Census, Any]]:
    """A jaxpr and those in it, each once, with what is in it, and the equation of the outermost that it stands in.

    That is None for the outermost itself.
    """
    stack: list[tuple[Any, Census, Any]] = [(jaxpr, census_of(jaxpr), None)]
    seen: set[int] = set()
    while stack:
        here, census, owner = stack.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        yield here, census, owner
        stack.extend((open_jaxpr(one.body), one.census, owner or one.eqn) for one in census.inner)
