"""What a computation made, by running it once more: which of its values hold a nan or inf, and the values themselves.

Compiling takes the time, not running: so one program gives all values where they are small enough to be kept, and a
program for each that is asked for is only made where they are not.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache
from math import prod
from time import perf_counter
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray
from jax.extend import core as jax_core

from jaxnb import _jax
from jaxnb._jax import CALLS
from jaxnb.findings.lints.eqns import closed_bodies

__all__ = ["Bad", "Kind", "OutOfTime", "Recomputed", "Timer", "entered_body", "holds", "is_inexact", "nonfinite"]

Kind = str
"""What is looked for: "nan" or "inf"."""

_MOST_BYTES = 1 << 26
"""Of values that are kept, or looked at where Python is, all together."""
_ENTERED = CALLS - {"shard_map", "custom_vmap_call"}


class Bad(NamedTuple):
    """Whether an array holds a nan, and whether it holds an inf."""

    nan: bool
    inf: bool

    def __contains__(self, kind: object) -> bool:
        return self.nan if kind == "nan" else self.inf


class OutOfTime(Exception):
    """Nothing more is made: it has taken as long as it may."""


class Timer:
    """Says whether there is time for one more program.

    Args:
      patience: seconds from now; None for as long as it takes.
    """

    def __init__(self, patience: float | None) -> None:
        self._end = None if patience is None else perf_counter() + patience

    def check(self) -> None:
        """Raises `OutOfTime` if there is none."""
        if self._end is not None and perf_counter() > self._end:
            raise OutOfTime


class Recomputed:
    """The values of one computation, for arguments that it had.

    Args:
      closed: its jaxpr.
      given: its arguments.
      timer: asked before each program.
      known: what it made, if that is known.

    Attributes:
      makers: the number of the equation that makes a variable.
    """

    def __init__(self, closed: Any, given: Sequence[Any], timer: Timer, known: _Made | None = None) -> None:
        self._closed, self._jaxpr, self._given, self._timer = closed, closed.jaxpr, list(given), timer
        self.makers = {var: number for number, eqn in enumerate(self._jaxpr.eqns) for var in eqn.outvars}
        self._inner: dict[Hashable, Recomputed] = {}
        self._values = dict(zip(self._jaxpr.invars, self._given, strict=True))
        self._values.update(zip(self._jaxpr.constvars, closed.consts, strict=True))
        self._bad = dict(zip(self._values, nonfinite(list(self._values.values())), strict=True))
        kept = _kept(self._jaxpr.eqns)
        if known is None and kept and _bytes_made(closed) <= _MOST_BYTES:
            timer.check()
            known = jax.jit(lambda *given: _make(closed, given)[1])(*self._given)
        if known is not None:
            self._values.update(zip(kept, known.values, strict=True))
            self._bad.update(zip(kept, nonfinite(known.values), strict=True))
        elif kept := [v for v in kept if is_inexact(v.aval.dtype)]:
            told = jax.device_get(self._run(kept, _flags))
            self._bad.update({v: Bad(bool(nan), bool(inf)) for v, (nan, inf) in zip(kept, told, strict=True)})
        self._known = known.inner if known is not None else {}

    def bad(self, atom: Any) -> Bad:
        """Whether a variable or literal holds a nan or inf."""
        return nonfinite([atom.val])[0] if type(atom) is jax_core.Literal else self._bad.get(atom, Bad(False, False))

    def values(self, atoms: Sequence[Any]) -> list[Any]:
        """What variables and literals are."""
        missing = [v for v in dict.fromkeys(_variables(atoms)) if v not in self._values]
        found = self._values | (dict(zip(missing, self._run(missing), strict=True)) if missing else {})
        return [v.val if type(v) is jax_core.Literal else found[v] for v in atoms]

    def made_by(self, eqn: Any, var: Any) -> Any:
        """What one equation makes of its operands."""
        if var in self._values:
            return self._values[var]
        wanted = list(dict.fromkeys(_variables(eqn.invars)))
        run = _jax.as_function(_jax.with_parts(self._closed, wanted, [eqn], [var]))
        return jax.jit(run)(*self.values(wanted))[0]

    def inner(self, key: Hashable, closed: Any, given: Sequence[Any]) -> Recomputed:
        """The same of a body of one of its equations.

        Args:
          key: the number of the equation, and in a loop which iteration: it is computed once.
          closed: its jaxpr.
          given: its arguments.
        """
        if key not in self._inner:
            self._inner[key] = Recomputed(closed, given, self._timer, self._known.get(key))
        return self._inner[key]

    def _run(self, wanted: list[Any], seen: Callable[[list[Any]], list[Any]] | None = None) -> list[Any]:
        self._timer.check()
        run = _jax.as_function(_jax.with_parts(self._closed, self._jaxpr.invars, self._jaxpr.eqns, wanted))
        return jax.jit((lambda *values: seen(run(*values))) if seen is not None else run)(*self._given)


def entered_body(eqn: Any) -> Any:
    """The jaxpr that an equation calls with its operands as they are; None if it does something else."""
    closed = closed_bodies(eqn) if eqn.primitive.name in _ENTERED else []
    if len(closed) != 1:
        return None
    body = closed[0].jaxpr
    return closed[0] if len(body.invars) == len(eqn.invars) and len(body.outvars) == len(eqn.outvars) else None


class _Made(NamedTuple):
    """What a computation made: the values that are kept, in order, and those of what its equations call."""

    values: list[Any]
    inner: dict[Hashable, _Made]


def _make(closed: Any, given: Sequence[Any]) -> tuple[list[Any], _Made]:
    """The results of a computation, and all that it made, where it is traced."""
    jaxpr = closed.jaxpr
    values = dict(zip(jaxpr.invars, given, strict=True)) | dict(zip(jaxpr.constvars, closed.consts, strict=True))
    inner: dict[Hashable, _Made] = {}

    def read(atoms: Sequence[Any]) -> list[Any]:
        return [v.val if type(v) is jax_core.Literal else values[v] for v in atoms]

    for number, eqn in enumerate(jaxpr.eqns):
        if (body := entered_body(eqn)) is not None:
            results, inner[number] = _make(body, read(eqn.invars))
            values.update(zip(eqn.outvars, results, strict=True))
        else:
            needed = list(dict.fromkeys(_variables(eqn.invars)))
            named = [v for v in eqn.outvars if not _is_dropped(v)]
            run = _jax.as_function(_jax.with_parts(closed, needed, [eqn], named))
            values.update(zip(named, run(*read(needed)), strict=True))
    return read(jaxpr.outvars), _Made([values[v] for v in _kept(jaxpr.eqns)], inner)


def _bytes_made(closed: Any) -> int:
    eqns = closed.jaxpr.eqns
    here = sum(_bytes(v.aval.shape, v.aval.dtype) for v in _kept(eqns))
    return here + sum(_bytes_made(body) for eqn in eqns if (body := entered_body(eqn)) is not None)


def nonfinite(values: Sequence[Any]) -> list[Bad]:
    """For each array whether it holds a nan or an inf; what has no floating-point numbers holds none."""
    places = [at for at, value in enumerate(values) if is_inexact(getattr(value, "dtype", None))]
    found = [Bad(False, False)] * len(values)
    told: Sequence[Any] = ()
    if sum(_bytes(getattr(values[at], "shape", ()), values[at].dtype) for at in places) <= _MOST_BYTES:
        there = [values[at] for at in places]
        if all(getattr(value, "is_fully_addressable", True) for value in there):
            told = [(np.isnan(array).any(), np.isinf(array).any()) for array in map(np.asarray, there)]
    if places and not told:
        told = jax.device_get(_told([values[at] for at in places]))
    for at, (nan, inf) in zip(places, told, strict=True):
        found[at] = Bad(bool(nan), bool(inf))
    return found


@jax.jit
def _told(values: list[Any]) -> list[Any]:
    return _flags(values)


def _flags(values: Sequence[Any]) -> list[Any]:
    return [jnp.stack([holds(value, "nan"), holds(value, "inf")]) for value in values]


def holds(value: Any, kind: Kind) -> Any:
    """Whether a traced array holds a nan or an inf."""
    return jnp.any(jnp.isnan(value) if kind == "nan" else jnp.isinf(value))


@cache
def is_inexact(dtype: Any) -> bool:
    """Whether a dtype is of floating-point or complex numbers."""
    return dtype is not None and jnp.issubdtype(dtype, jnp.inexact)


def _variables(atoms: Sequence[Any]) -> list[Any]:
    return [atom for atom in atoms if type(atom) is not jax_core.Literal]


def _is_dropped(var: Any) -> bool:
    return type(var).__name__ == "DropVar"


def _kept(eqns: Sequence[Any]) -> list[Any]:
    """What equations make, as far as a program can give it: a reference, which can be written to, stays inside."""
    made = [v for eqn in eqns for v in eqn.outvars if not _is_dropped(v)]
    return [v for v in made if type(v.aval) is ShapedArray]


def _bytes(shape: Sequence[int], dtype: Any) -> int:
    return prod(shape) * getattr(dtype, "itemsize", 8)
