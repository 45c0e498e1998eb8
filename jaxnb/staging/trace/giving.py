"""Inputs that functions of the cell give up by `donate_argnums`, and that are deleted when its program has run.

Inside of a program nothing is donated; in the plain cell the array is gone once the function was called, under every
name. JAX gives a buffer away where a result has its size. So is what the piece has computed itself: where anybody still
holds it, or reads it, it must be an input of another piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from jaxnb._jax import body_jaxprs, is_variable

__all__ = ["UsedAgain", "read_given"]


class UsedAgain(Exception):
    """An operation reads what was given up before it, which the plain cell refuses, or gives up what is a result of the
    piece, which the plain cell has deleted; `eqn` is it."""

    def __init__(self, eqn: Any) -> None:
        self.eqn = eqn


def read_given(closed: Any, leaves: Sequence[Any]) -> tuple[int, ...]:
    """Which inputs of a piece are given up.

    Args:
      closed: its closed jaxpr, whose last arguments are the leaves.
      leaves: the inputs.

    Raises:
      UsedAgain: if one, or what was computed, is read after that, or is a result.
    """
    jaxpr = closed.jaxpr
    arguments = jaxpr.invars[len(jaxpr.invars) - len(leaves) :]
    own = {var: at for at, var in enumerate(arguments) if isinstance(leaves[at], jax.Array)}
    results = set(filter(is_variable, jaxpr.outvars)) - set(arguments)
    given: dict[Any, int] = {}
    gone: set[Any] = set()
    for eqn in jaxpr.eqns:
        if gone and any(is_variable(atom) and atom in gone for atom in eqn.invars):
            raise UsedAgain(eqn)
        flags = eqn.params.get("donated_invars", ())
        if True not in flags or len(flags) != len(eqn.invars):
            continue
        (_, body), *_ = body_jaxprs(eqn.params)
        read = {atom for inner in body.eqns for atom in inner.invars if is_variable(atom)}
        read |= set(filter(is_variable, body.outvars))
        left = [_nbytes(atom.aval) for atom in body.outvars]
        for atom, inner, flag in zip(eqn.invars, body.invars, flags, strict=True):
            size = _nbytes(inner.aval)
            if flag and inner in read and size in left:
                left.remove(size)
                if not is_variable(atom) or (atom in arguments and atom not in own):
                    continue
                gone.add(atom)
                if atom in results:
                    raise UsedAgain(eqn)
                if atom in own:
                    given[atom] = own[atom]
    return tuple(given.values())


def _nbytes(aval: Any) -> int:
    dtype = getattr(aval, "dtype", None)
    return int(getattr(aval, "size", 0)) * int(getattr(dtype, "itemsize", 0))
