"""What there is in a jaxpr for detectors to look at: found in one pass, and kept for as long as the jaxpr lives.

Most jaxprs hold nothing of interest, and JAX hands out the same ones for its own functions again and again. So the pass
over them is what looking costs, and it is made once.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from jaxnb import _jax
from jaxnb._jax import eqn_frames, eqn_scope, is_opaque, name_parts, open_jaxpr

__all__ = [
    "DRAWS",
    "FLOATS",
    "INDEXING",
    "NARROW",
    "WIDENED",
    "Census",
    "Inner",
    "Part",
    "census_of",
    "is_zero",
    "jaxprs_of",
]

DRAWS = frozenset(["random_bits", "random_gamma", "rng_bit_generator", "random_split", "threefry2x32"])
"""Primitives that use a PRNG key."""

INDEXING = frozenset(
    "gather scatter scatter-add scatter_add scatter-mul scatter_mul scatter-min scatter_min scatter-max scatter_max"
    " scatter_sub dynamic_slice dynamic_update_slice".split()
)
"""Primitives that take indices; they are called otherwise in other versions of JAX."""

NARROW = frozenset(
    np.dtype(getattr(jnp, name)) for name in ("int8", "int16", "uint8", "uint16", "uint32", "float16", "bfloat16")
)
"""Dtypes into which a Python number may not fit."""

FLOATS = frozenset(
    np.dtype(name)
    for name in (
        *(jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.bfloat16, jnp.float16, jnp.float32, jnp.float64),
        *(jnp.complex64, jnp.complex128),
    )
)
"""Dtypes that carry a derivative, and that no key has."""

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

_MARKS = frozenset({"jvp", "transpose", "rematted_computation"})
_PLAIN = frozenset({bool, int, float, str, type(None)})  # what most parameters are: they are passed over at once


class Inner(NamedTuple):
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
      zeros: equations that fill an array of floats with zeros.
      giving: calls of functions that donate.
      chosen: equations that select.
      rows: equations that make a row of a vector.
      indexed: equations that index, and those that compare labels with the numbers of classes, as `one_hot` does.
      selects, meets, indexes: whether it, or one in it, has any of these.
      long: whether it, or one in it, has many equations.
      telling: whether it, or one in it, has constants, or anything for the detector of dtypes.
      forward: whether it has equations of a differentiated function itself, and none of a backward pass.
      kernels: whether it, or one in it, has kernels of Pallas.
      integers: whether it, or one in it, computes integers of which the dtype may not hold the result.
      draw: the number of the only input that is used as a key, if it is used once and by JAX's own code alone; None if
        that is not so, and -1 if it was not asked yet.
    """

    inner: Sequence[Inner]
    draws: bool
    marks: AbstractSet[str]
    converted: Sequence[Any]
    mixed: Sequence[Any]
    narrow: Sequence[tuple[Any, Any]]
    zeros: Sequence[Any]
    giving: Sequence[Any]
    chosen: Sequence[Any]
    rows: Sequence[Any]
    indexed: Sequence[Any]
    selects: bool
    meets: bool
    indexes: bool
    long: bool
    telling: bool
    forward: bool = False
    draw: int | None = -1
    kernels: bool = False
    integers: bool = False


_known: dict[int, tuple[weakref.ref[Any], Census]] = {}
_leaves: set[str] = set()  # primitives that have no jaxpr, as most do


class Part(NamedTuple):
    """A jaxpr of a piece, with its constants, the equations that it stands in, and what is in it."""

    jaxpr: Any
    constants: Sequence[Any]
    owners: tuple[Any, ...]
    census: Census


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
    zeros: list[Any] = []
    giving: list[Any] = []
    chosen: list[Any] = []
    rows: list[Any] = []
    indexed: list[Any] = []
    marks: set[str] = set()
    scopes: dict[int, Any] = {}
    scope: Any = None
    draws = selects = meets = indexes = kernels = integers = False
    long = len(jaxpr.eqns) >= _MANY
    telling = bool(jaxpr.constvars)
    of_inner: set[str] = set()
    for eqn in jaxpr.eqns:
        name = eqn.primitive.name
        own = eqn_scope(eqn)
        if own is not scope:  # most have that of the one before
            scope = own
            if id(scope) not in scopes:
                scopes[id(scope)] = scope
                marks.update(part for _, part in name_parts(eqn) if part in _MARKS)
        for atom in eqn.invars:
            if type(atom) is Literal and getattr(atom.aval, "dtype", None) in NARROW and not _is_of_jax(eqn):
                narrow.append((eqn, atom))
        if name in _OVERFLOWING:
            integers = integers or eqn.outvars[0].aval.dtype in _INTEGERS
        if name in _leaves:
            continue
        if name in _TAKEN:
            if name == "broadcast_in_dim":
                if is_zero(eqn.invars[0]):
                    zeros.append(eqn)
                elif _is_row(eqn):
                    rows.append(eqn)
            elif name == "select_n":
                chosen.append(eqn)
            elif name in INDEXING or (name == "eq" and _is_by_rows(eqn)):
                indexed.append(eqn)
            elif name == "dot_general":
                if eqn.invars[0].aval.dtype != eqn.invars[1].aval.dtype:
                    mixed.append(eqn)
            elif name == "convert_element_type":
                if _may_matter(eqn):
                    converted.append(eqn)
            elif name in DRAWS:
                draws = True
            continue
        params = eqn.params
        if name == "jit":
            bodies: Sequence[Any] = (params["jaxpr"],)
            if True in params["donated_invars"]:
                giving.append(eqn)
        elif is_opaque(eqn):
            kernels = kernels or name == "pallas_call"
            continue
        else:
            bodies = [body for value in params.values() if type(value) not in _PLAIN for body in _bodies(value)]
            if not bodies:
                _leaves.add(name)
            if name == "remat2" and params.get("differentiated"):
                of_inner.add("rematted_computation")
        for body in bodies:
            census = census_of(open_jaxpr(body))
            inner.append(Inner(eqn, body, census))
            draws = draws or census.draws
            selects, meets = selects or census.selects, meets or census.meets
            indexes, long = indexes or census.indexes, long or census.long
            kernels = kernels or census.kernels
            integers = integers or census.integers
            telling = telling or census.telling
            of_inner |= census.marks
    telling = telling or bool(converted or mixed or narrow)
    selects, meets = selects or bool(chosen), meets or bool(rows)
    kinds = (converted, mixed, narrow, zeros, giving, chosen, rows, indexed)
    forward = "jvp" in marks and "transpose" not in marks
    return Census(
        inner,
        draws,
        marks | of_inner,
        *kinds,
        selects,
        meets,
        indexes or bool(indexed),
        long,
        telling,
        forward,
        kernels=kernels,
        integers=integers,
    )


_TAKEN = DRAWS | {"convert_element_type", "dot_general", "broadcast_in_dim", "select_n", "eq"} | INDEXING
_MANY = 60
_OVERFLOWING = frozenset(
    "add sub mul neg abs shift_left integer_pow dot_general reduce_sum reduce_prod cumsum cumprod div rem"
    " convert_element_type".split()
)
"""Primitives whose integers may not fit."""
_INTEGERS = frozenset(np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64))


def _is_row(eqn: Any) -> bool:
    """Whether an equation makes (1, n) of (n,), as broadcasting does."""
    shape = eqn.outvars[0].aval.shape
    return len(shape) == 2 and shape[0] == 1 and shape[1] > 1 and eqn.params["broadcast_dimensions"] == (1,)


def _is_by_rows(eqn: Any) -> bool:
    """Whether a column is compared with a row, which JAX's own functions do before they broadcast."""
    first, second = (atom.aval for atom in eqn.invars)
    return first.shape != second.shape and jnp.issubdtype(first.dtype, np.integer)


def is_zero(atom: Any) -> bool:
    """Whether an operand is written as zero, and is a float."""
    if type(atom) is not Literal:
        return False
    aval: Any = atom.aval
    return not aval.shape and aval.dtype in FLOATS and bool(atom.val == 0)


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


def jaxprs_of(jaxpr: Any) -> Iterator[tuple[Any, Census, tuple[Any, ...]]]:
    """A jaxpr and those in it, each once, with what is in it, and the equations that it stands in, outermost first."""
    stack: list[tuple[Any, Census, tuple[Any, ...]]] = [(jaxpr, census_of(jaxpr), ())]
    seen: set[int] = set()
    while stack:
        here, census, owners = stack.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        yield here, census, owners
        stack.extend((open_jaxpr(one.body), one.census, (*owners, one.eqn)) for one in census.inner)
