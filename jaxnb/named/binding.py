"""A map bound: the body traced, everything checked, and the primitive put into the program."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr
from jax.sharding import NamedSharding, PartitionSpec

import jaxnb.named.lowering  # gives the primitive its meaning  # noqa: F401  # pyright: ignore[reportUnusedImport]
from jaxnb._jax import bind_again, body_jaxprs, open_jaxpr
from jaxnb.named import checks, probe
from jaxnb.named.body import Body, trace
from jaxnb.named.flow import Names, axis_flow
from jaxnb.named.primitive import Axes, mapped, mesh_of_devices, mesh_within, unmapped_shape, xmap_p
from jaxnb.named.resources import Plan
from jaxnb.named.rewrite import Rewrite, evaluate
from jaxnb.named.specs import LeafSpec

__all__ = ["bind_map"]


def bind_map(
    body: Callable[..., list[Any]],
    leaves: Sequence[Any],
    places: Sequence[str],
    specs: Sequence[LeafSpec],
    results: Callable[[], tuple[Sequence[LeafSpec], Sequence[str]]],
    *,
    sizes: Mapping[Any, int],
    plan: Plan,
    mesh: Any,
) -> list[Any]:
    """Maps `body` over names and binds it; the results are arrays with the dimensions that their specs name.

    Args:
      body: takes what stands at one position of each of `leaves`, and returns a list of arrays.
      leaves: the inputs.
      places: what to call them in messages.
      specs: the names of each.
      results: asked once the body has run: the specs of its results, and what to call them.
      sizes: the size of every name.
      plan: what the names are spread over.
      mesh: that of the map, for the maps in it.

    Raises:
      NamedAxisError: the body does what cannot be mapped, or its results do not fit their specs.
    """
    in_axes: list[Axes] = [spec.names for spec in specs]
    avals = [
        jax.ShapeDtypeStruct(unmapped_shape(t.shape, axes), t.dtype, weak_type=t.weak_type)
        for t, axes in zip(map(jax.typeof, leaves), in_axes, strict=True)
    ]
    in_names = [mapped(axes) for axes in in_axes]
    traced_body, constants = probe.trace_with_probes(body, avals, sizes, in_names, mesh)
    out_specs, out_places = results()
    checks.check_results(out_specs, out_places, traced_body.out_avals, sizes)
    in_axes = [()] * len(constants) + in_axes
    names = [mapped(axes) for axes in in_axes]
    if plan.lowering == "manual" and isinstance(mesh, jax.sharding.Mesh) and _runs_by_device(plan, traced_body):
        traced_body = _unconstrained(traced_body, names, sizes)
    varying = axis_flow(traced_body.closed, names)
    checks.check_body(traced_body.closed, names, plan, sizes)
    checks.check_escapes(traced_body.closed, names, varying, out_specs, out_places, [""] * len(constants) + [*places])
    checks.check_output_resources(out_specs, out_places, varying, plan)
    if plan.loops:
        # Otherwise a backward pass would keep what every turn computed, and the loop would save nothing.
        traced_body = _rematerialised(traced_body, sizes)
    return xmap_p.bind(
        *constants,
        *leaves,
        body=traced_body,
        in_axes=tuple(in_axes),
        out_axes=tuple(spec.names for spec in out_specs),
        sums=((),) * len(out_specs),
        sizes=tuple(sizes.items()),
        plan=plan,
        anchor=_anchor(mesh_of_devices(plan, traced_body.closed)),
    )


def _runs_by_device(plan: Plan, body: Body) -> bool:
    return probe.enclosing_mesh() is not None or mesh_within(plan, body.closed) is not None


class _Unconstrained(Rewrite):
    """Takes away how values are to be laid out: where each device runs the body, it holds its tile, and that is all."""

    keeps_custom_rules = True

    def handles(self, eqn: Any) -> bool:
        if eqn.primitive.name in ("sharding_constraint", "xmap"):  # a map in a map was rid of them when it was bound
            return True
        return any(eqn.params.get(name) is not None for name in _LAID)

    def replace(self, eqn: Any, values: list[Any], ins: list[Names], outs: list[Names]) -> list[Any]:
        if eqn.primitive.name == "sharding_constraint":
            return values
        if eqn.primitive.name == "xmap":
            return bind_again(eqn, values)
        params = {**eqn.params, **{name: None for name in _LAID if name in eqn.params}}
        return bind_again(eqn.replace(params=params), values)


_LAID = ("sharding", "out_sharding")


def _is_constrained(jaxpr: Any) -> bool:
    return any(
        eqn.primitive.name == "sharding_constraint"
        or (eqn.primitive.name != "xmap" and any(_is_constrained(body) for _, body in body_jaxprs(eqn.params)))
        for eqn in open_jaxpr(jaxpr).eqns
    )


def _unconstrained(body: Body, names: Sequence[Names], sizes: Mapping[Any, int]) -> Body:
    if not _is_constrained(body.closed):
        return body
    closed = body.closed
    made, constants = trace(lambda *xs: evaluate(closed, xs, names, _Unconstrained()), closed.in_avals, sizes)
    assert not constants
    return made


@functools.cache
def _checkpoint() -> Any:
    """An equation of `jax.checkpoint`, to take its primitive and parameters from."""
    (eqn,) = jax.make_jaxpr(jax.checkpoint(lambda x: x, prevent_cse=False))(np.float32(0)).jaxpr.eqns
    return eqn


def _rematerialised(body: Body, sizes: Mapping[Any, int]) -> Body:
    """A body that runs this one under `jax.checkpoint`, bound directly: to trace it once more would take its time."""
    primitive, params = _checkpoint().primitive, {**_checkpoint().params, "jaxpr": open_jaxpr(body.closed)}
    made, constants = trace(lambda *xs: primitive.bind(*xs, **params), body.closed.in_avals, sizes)
    assert not constants
    return made


@functools.lru_cache(maxsize=256)
def _anchor_on(mesh: Any) -> Any:
    # `jax.jit` looks for the devices to run on in the shardings that it sees in a jaxpr, and it cannot see
    # into a body.
    where = NamedSharding(mesh, PartitionSpec())
    with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), ())):
        return jax.make_jaxpr(lambda x: jax.lax.with_sharding_constraint(x, where))(np.float32(0))


def _anchor(mesh: Any) -> ClosedJaxpr | None:
    return _anchor_on(mesh) if isinstance(mesh, jax.sharding.Mesh) else None
