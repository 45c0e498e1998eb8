"""Which conversions the code did not ask for: JAX makes them of operands that meet, and no equation says why.

It is told by the functions of JAX that were called on the way; all were checked on jax 0.10.2 and 0.12.0.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from jaxnb._jax.base import in_jax
from jaxnb._jax.eqns import eqn_frames

__all__ = ["promotion_of"]

_CONVERTING = frozenset({"_convert_element_type", "convert_element_type", "astype", "asarray", "array"})
_ADDING = frozenset({"sum", "mean", "prod", "nansum", "nanmean", "average", "logsumexp", "cumsum"})


def promotion_of(eqn: Any) -> tuple[str, str] | None:
    """The dtypes from which and to which an equation converts what the code did not ask to be converted, because it met
    something of another dtype, or went into a function of floats; None for any other equation.

    No equation says so; the functions of JAX on the way from the user's code to it tell. One that promotes its
    operands is among them, or the equation is of a function of NumPy's interface that is traced ahead and written out
    where it is called. Sums of floats in more bits, which go back to fewer, are JAX's own affair. A product of two
    dtypes converts by itself.
    """
    if eqn.primitive.name == "dot_general":
        dtypes, result = [atom.aval.dtype for atom in eqn.invars], eqn.outvars[0].aval.dtype
        other = next((dtype for dtype in dtypes if dtype != result), None)
        return (str(other), str(result)) if other is not None and dtypes[0] != dtypes[1] else None
    if eqn.primitive.name != "convert_element_type":
        return None
    source, result = eqn.invars[0].aval.dtype, eqn.outvars[0].aval.dtype
    if source == result or (_is_inexact(source) and result.itemsize < source.itemsize):
        return None
    return (str(source), str(result)) if _is_implicit(eqn) else None


def _is_implicit(eqn: Any) -> bool:
    names: list[str] = []
    for code, _ in eqn_frames(eqn):
        if not in_jax(code.co_filename):
            break
        names.append(code.co_name)
    if any(name.startswith("promote_") for name in names):
        return True
    written_out = "_run_python_pjit" in names and not _CONVERTING.intersection(names)
    return written_out and not (_is_inexact(eqn.invars[0].aval.dtype) and _ADDING.intersection(names))


def _is_inexact(dtype: Any) -> bool:
    return jnp.issubdtype(dtype, jnp.inexact)
