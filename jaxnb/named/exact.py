"""Making the body of a map ready for differentiation.

Differentiating a body position by position leaves each position with its own part of a cotangent, and the
parts add up along a name. JAX's transposition rules keep that so. Four things do not, and are replaced here:

- `pmax` and `pmin` have no derivative in JAX; they get the one of `jnp.max`, which shares equally among ties.
- A branch that is chosen differently along a name is run everywhere if it holds collectives, and its result
  selected. JAX's rule for `cond` would send a whole cotangent into one branch; the rule for the selection
  does what is meant.
- The transpose of an untiled `all_to_all` has the wrong shape in JAX unless both its dimensions are the same.
- A `custom_vjp` rule is the user's own and need not be linear (gradient clipping is not). It must see the
  whole cotangent of a result that does not vary, as it would if the body had been vectorised. So the parts
  are added up in front of the rule, and what the rule gives for an operand that does not vary is shared out
  again behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from jaxnb._jax import bind_again
from jaxnb.named.flow import NONE, Names, axis_names, mentioned
from jaxnb.named.rewrite import Rewrite, run_cond

__all__ = ["Exact", "Settle", "extremum"]


def _identity_primitive(name: str) -> Any:
    primitive = Primitive(name)
    primitive.def_impl(lambda x, *, over: x)
    primitive.def_abstract_eval(lambda x, *, over: x)
    batching.primitive_batchers[primitive] = lambda args, dims, *, over: (
        primitive.bind(*args, over=over),
        dims[0],
    )
    mlir.register_lowering(primitive, mlir.lower_fun(lambda x, *, over: x, multiple_results=False))
    return primitive


total_p = _identity_primitive("total_cotangent")  # its transpose adds the cotangent up over `over`
shared_p = _identity_primitive("shared_operand")  # its transpose is settle_p over `over`
settle_p = _identity_primitive(
    "settle"
)  # divides by the size of those names of `over` that the value does not vary over

ad.deflinear2(total_p, lambda ct, x, *, over: [lax.psum(ct, over)])
ad.deflinear2(shared_p, lambda ct, x, *, over: [settle_p.bind(ct, over=over)])


def extremum(x: Any, names: Sequence[Any], least: bool) -> Any:
    """`lax.pmax` (or `pmin`) over names, with the derivative of `jnp.max`."""
    names = tuple(names)
    find = lax.pmin if least else lax.pmax

    @jax.custom_jvp
    def run(value: Any) -> Any:
        return find(value, names)

    @run.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        (value,), (tangent,) = primals, tangents
        # Computed twice, in two fusions, the value may differ in its last bits, and then nothing would equal the
        # best; a barrier alone does not keep XLA from it. So what is nearest to the best is the best, and what is
        # within rounding of that is a tie. How near that is depends on what cancelled on the way to the value.
        value = lax.optimization_barrier(value)
        best = run(value)
        away = lax.stop_gradient(jnp.where(value == best, 0, abs(value - best)))  # infinities, too, equal themselves
        rounding = jnp.where(jnp.isfinite(best), 4 * jnp.finfo(value.dtype).eps * abs(best), 0)
        hit = ((away <= lax.pmin(away, names)) | (away <= rounding)).astype(tangent.dtype)
        return best, lax.psum(tangent * hit, names) / lax.psum(hit, names)

    return run(x)


class Exact(Rewrite):
    """Replaces what a body must not hold when it is differentiated; `scope` is every name that is bound."""

    keeps_custom_rules = True

    def __init__(self, scope: Names) -> None:
        self.scope = scope

    def handles(self, eqn: Any) -> bool:
        if eqn.primitive.name in ("pmax", "pmin"):
            return eqn.params["axis_index_groups"] is None and bool(self.scope & frozenset(axis_names(eqn)))
        if eqn.primitive.name == "cond":
            return any(mentioned(branch) & self.scope for branch in eqn.params["branches"])
        if eqn.primitive.name == "all_to_all":
            return not eqn.params["tiled"] and bool(self.scope & frozenset(axis_names(eqn)))
        return eqn.primitive.name == "custom_vjp_call"

    def replace(self, eqn: Any, values: list[Any], ins: list[Names], outs: list[Names]) -> list[Any]:
        if eqn.primitive.name == "cond":
            return run_cond(eqn, values, ins, self)
        if eqn.primitive.name == "all_to_all":
            # As bound, the untiled form computes what the tiled one does, but its transpose has the wrong
            # shape.
            return [eqn.primitive.bind(*values, **{**eqn.params, "tiled": True})]
        if eqn.primitive.name != "custom_vjp_call":
            least = eqn.primitive.name == "pmin"
            return [extremum(_reduced_by_position(eqn, x, least), axis_names(eqn), least) for x in values]
        shared = [_mark(shared_p, x, self.scope - names) for x, names in zip(values, ins, strict=True)]
        results = bind_again(eqn, shared)
        return [_mark(total_p, x, self.scope - names) for x, names in zip(results, outs, strict=True)]


def _reduced_by_position(eqn: Any, x: Any, least: bool) -> Any:
    positions = tuple(axis for axis in eqn.params["axes"] if isinstance(axis, int))
    return (jnp.min if least else jnp.max)(x, axis=positions) if positions else x


def _mark(primitive: Any, x: Any, over: Names) -> Any:
    if not over or not jnp.issubdtype(jnp.result_type(x), jnp.inexact):
        return x
    return primitive.bind(x, over=tuple(sorted(over, key=repr)))


class Settle(Rewrite):
    """Resolves `settle`: what one position's rule gave becomes that position's part."""

    keeps_custom_rules = True

    def __init__(self, sizes: dict[Any, int]) -> None:
        self.sizes = sizes

    def handles(self, eqn: Any) -> bool:
        return eqn.primitive is settle_p

    def replace(self, eqn: Any, values: list[Any], ins: list[Names], outs: list[Names]) -> list[Any]:
        del outs
        share = 1
        for name in eqn.params["over"]:
            if name not in (ins[0] or NONE):
                share *= self.sizes[name]
        return [values[0] if share == 1 else values[0] / jnp.asarray(share, values[0].dtype)]
