"""The checks of a map, each with its message: what happened, where, why, what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
from jax.core import Tracer
from jax.extend import source_info_util
from jax.sharding import NamedSharding

from jaxnb._jax import all_eqns, open_jaxpr
from jaxnb.named.body import collective_names
from jaxnb.named.errors import AxisSpecError, NamedAxisError, ResourceError, listed, nearest
from jaxnb.named.flow import Names, axis_flow, axis_names
from jaxnb.named.resources import Plan
from jaxnb.named.specs import LeafSpec, check_rank

__all__ = [
    "check_body",
    "check_declared",
    "check_escapes",
    "check_output_resources",
    "check_placement",
    "check_results",
    "check_shadowing",
]


def line_of(eqn: Any) -> str:
    """The user's line that made an equation, such as `model.py:12 (loss)`."""
    return source_info_util.summarize(eqn.source_info) or "an unknown line"


def check_declared(known: Mapping[Any, str], out_names: Mapping[Any, str], resources: Mapping[Any, Any]) -> None:
    """Names in out_axes and axis_resources must be in in_axes or axis_sizes.

    Raises:
      AxisSpecError: out_axes has a name that is not defined.
      ResourceError: axis_resources has one.
    """
    for name, where in out_names.items():
        if name not in known:
            raise AxisSpecError(
                f"{where} has the name {name!r}, which is not defined.",
                why="a name is defined by in_axes or by axis_sizes.",
                fix=nearest(name, known),
            )
    for name in resources:
        if name not in known:
            raise ResourceError(
                f"axis_resources gives a resource to {name!r}, which is not defined.",
                why="a name is defined by in_axes or by axis_sizes.",
                fix=nearest(name, known),
            )


def check_shadowing(sizes: Mapping[Any, int], outer: Mapping[Any, int]) -> None:
    """A nested map must not use a name that an enclosing map has bound."""
    shadowed = [name for name in sizes if name in outer]
    if shadowed:
        raise AxisSpecError(
            f"the name {shadowed[0]!r} is bound by an enclosing map already.",
            why="inside both maps it could not be told which of the two is meant.",
            fix="rename it in one of the maps.",
        )


def check_results(
    specs: Sequence[LeafSpec], places: Sequence[str], avals: Sequence[Any], sizes: Mapping[Any, int]
) -> None:
    """The specs of out_axes must fit the results.

    Raises:
      NamedAxisError: there are no results.
      AxisSpecError: a rank is asserted that the result does not have, or a name is beyond its last dimension.
    """
    del sizes
    if not avals:
        raise NamedAxisError(
            "the mapped function returns no arrays.",
            why="a map without results computes nothing.",
            fix="return at least one array.",
        )
    for spec, place, aval in zip(specs, places, avals, strict=True):
        check_rank(spec, aval.ndim + len(spec.names), place, "out_axes")


def check_body(closed: Any, ins: Sequence[Names], plan: Plan, sizes: Mapping[Any, int]) -> None:
    """What the body does must be possible with the resources of its names.

    Raises:
      ResourceError: a collective over a name with a loop, or a value that varies over two names that share a
        resource.
    """
    exchanged = collective_names(closed)
    looped = [name for name, _ in plan.loops if name in exchanged]
    if looped:
        name = looped[0]
        raise ResourceError(
            f"the body exchanges values over {name!r}, which goes turn by turn through a loop, at "
            f"{_line_of_collective(closed, name)}.",
            why="no turn can wait for a later one.",
            fix=f"give {name!r} a mesh axis, or no resource, or move the collective out of the map.",
        )
    shared = _shared(*_plans_inside(closed), plan)
    if not shared:
        return
    for names, place in ((names, "an argument") for names in ins):
        for axis, holders in shared.items():
            _check_meeting(names, axis, holders, place)

    def visit(eqn: Any, sets: list[Names], outs: list[Names]) -> None:
        del sets
        for names in outs:
            for axis, holders in shared.items():
                _check_meeting(names, axis, holders, f"the result of `{eqn.primitive.name}` at {line_of(eqn)}")

    axis_flow(closed, ins, visit)


def _plans_inside(closed: Any) -> list[Plan]:
    return [eqn.params["plan"] for eqn in all_eqns(closed) if eqn.primitive.name == "xmap"]


def _shared(*plans: Plan) -> dict[Any, list[Any]]:
    holders: dict[Any, list[Any]] = {}
    for name, axes in dict(item for plan in plans for item in plan.spread).items():
        for axis in axes:
            holders.setdefault(axis, []).append(name)
    return {axis: names for axis, names in holders.items() if len(names) > 1}


def _check_meeting(names: Names, axis: Any, holders: Sequence[Any], place: str) -> None:
    meeting = [name for name in holders if name in names]
    if len(meeting) > 1:
        raise ResourceError(
            f"{place} varies over {' and '.join(map(repr, meeting))}, which share the resource {axis!r}.",
            why="one device would need the entries of another: a resource cuts a value along one name only.",
            fix="give one of the two names another resource.",
        )


def _line_of_collective(closed: Any, name: Any) -> str:
    exchanging = (eqn for eqn in all_eqns(closed) if eqn.primitive.name != "axis_index" and name in axis_names(eqn))
    return next(map(line_of, exchanging), "an unknown line")


def check_escapes(
    closed: Any,
    ins: Sequence[Names],
    varying: Sequence[Names],
    specs: Sequence[LeafSpec],
    places: Sequence[str],
    in_places: Sequence[str],
) -> None:
    """A result must not vary over a name that its out_axes lack.

    Raises:
      AxisSpecError: it does; the message says where the name came in.
    """
    for spec, place, names, atom in zip(specs, places, varying, open_jaxpr(closed).outvars, strict=True):
        lacking = names - {name for _, name in spec.names}
        if lacking:
            name = sorted(lacking, key=repr)[0]
            raise AxisSpecError(
                f"the {place} varies over {name!r}, which its out_axes lack.",
                why=_came_in(closed, ins, atom, name, in_places),
                fix=f"name a dimension of it {name!r} in out_axes, or reduce over it, for example with "
                f"jaxnb.numpy.sum(..., axis={name!r}).",
            ).about(place, name)


def _came_in(closed: Any, ins: Sequence[Names], atom: Any, name: Any, in_places: Sequence[str]) -> str:
    jaxpr = open_jaxpr(closed)
    made: dict[Any, tuple[Any, list[Names]]] = {}
    top = {id(eqn) for eqn in jaxpr.eqns}

    def visit(eqn: Any, sets: list[Names], outs: list[Names]) -> None:
        del outs
        if id(eqn) in top:
            made.update((var, (eqn, sets)) for var in eqn.outvars)

    axis_flow(closed, ins, visit)
    arguments = dict(zip(jaxpr.invars, in_places, strict=True))
    latest = None
    while atom in made:
        eqn, sets = made[atom]
        latest = latest or line_of(eqn)
        from_inputs = [var for var, names in zip(eqn.invars, sets, strict=True) if name in names]
        if not from_inputs:
            return f"{name!r} came in by `{eqn.primitive.name}` at {line_of(eqn)}."
        atom = from_inputs[0]
    place = arguments.get(atom) or "a value from outside the map"
    return f"{name!r} came in with {place}" + (f", and the result was made at {latest}." if latest else ".")


def check_output_resources(
    specs: Sequence[LeafSpec], places: Sequence[str], varying: Sequence[Names], plan: Plan
) -> None:
    """A result must not be broadcast over a resource that cuts it along another name.

    Raises:
      ResourceError: two names in its out_axes share a resource.
    """
    for axis, holders in _shared(plan).items():
        for spec, place, names in zip(specs, places, varying, strict=True):
            here = [name for _, name in spec.names if name in holders]
            if len(here) > 1:
                broadcast = [name for name in here if name not in names] or here
                other = next(name for name in here if name != broadcast[0])
                raise ResourceError(
                    f"the {place} is broadcast over {broadcast[0]!r}, whose resource {axis!r} already cuts "
                    f"it along {other!r}.",
                    why="a resource cuts a value along one name only.",
                    fix=f"leave {broadcast[0]!r} out of its out_axes, or give it another resource.",
                ).about(place, broadcast[0])


def check_placement(leaf: Any, place: str, names: Sequence[tuple[int, Any]], plan: Plan) -> None:
    """An array that is already spread over devices must be spread as the map wants it.

    Arrays on one device, and arrays that every device holds whole, are cut without being asked: that is no
    silent exchange between devices.

    Raises:
      ResourceError: it is spread in another way.
    """
    if isinstance(leaf, Tracer) or not isinstance(leaf, jax.Array) or not leaf.committed:
        return
    sharding = leaf.sharding
    if len(sharding.device_set) == 1 or sharding.is_fully_replicated:
        return
    if not isinstance(plan.mesh, jax.sharding.Mesh):
        return
    wanted = NamedSharding(plan.mesh, plan.partition(names, leaf.ndim))
    if not sharding.is_equivalent_to(wanted, leaf.ndim):
        have = getattr(sharding, "spec", sharding)
        raise ResourceError(
            f"{place} is spread as {have}, and the map takes it as {wanted.spec} ({listed(n for _, n in names)}).",
            why="moving it would be a copy between devices that nobody asked for.",
            fix=f"reshard it first: jax.device_put(x, NamedSharding(mesh, {wanted.spec})).",
        )
