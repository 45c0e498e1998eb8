"""The primitive `xmap`, and its rules for types, vectorisation and differentiation.

The rules act on the logical body, which knows names and no resources. Whatever the resources are, values and
derivatives are therefore the same by construction; resources matter only to `lowering`, which runs a map.

The parameters of the primitive:

- `body`: the `Body`.
- `in_axes`, `out_axes`: for each input and output ((position, name), ...) by rising position.
- `sums`: for each output the names over which it is added up; they are in no `out_axes`.
- `sizes`: ((name, size), ...).
- `plan`: the `Plan`.
- `anchor`: None, or a jaxpr in which `jax.jit` finds the devices of the mesh.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Literal, Primitive, jaxpr_as_fun
from jax.interpreters import ad, batching
from jax.sharding import NamedSharding, PartitionSpec

from jaxnb._jax import (
    all_eqns,
    is_anonymous,
    open_jaxpr,
    retyped,
    rule_of_dead_results,
    split_known,
    tangent_type,
    varying_names,
    without_dead,
)
from jaxnb.named.body import Body, primitives, trace, without_mesh
from jaxnb.named.collectives import share as divided
from jaxnb.named.exact import Exact, Settle
from jaxnb.named.flow import NONE, RULES, NameFlow, Names, axis_flow, mentioned
from jaxnb.named.resources import Plan
from jaxnb.named.rewrite import evaluate

__all__ = ["Axes", "mapped", "mapped_shape", "mesh_of_devices", "mesh_within", "unmapped_shape", "xmap_p"]

Axes = tuple[tuple[int, Any], ...]

xmap_p = Primitive("xmap")
xmap_p.multiple_results = True


class Anonymous:
    """The name that a `vmap` without a name gets when it meets a map; equal to nothing but itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"vmap@{id(self) & 0xFFFF:04x}"


def mapped(axes: Axes) -> Names:
    """The names in the axes of one input or output."""
    return frozenset(name for _, name in axes)


def unmapped_shape(shape: Sequence[int], axes: Axes) -> tuple[int, ...]:
    """The shape at one position."""
    positions = {position for position, _ in axes}
    return tuple(size for i, size in enumerate(shape) if i not in positions)


def mapped_shape(shape: Sequence[int], axes: Axes, sizes: dict[Any, int]) -> tuple[int, ...]:
    """The shape over all positions: each name in `axes` is inserted at its place."""
    out = list(shape)
    for position, name in axes:
        out.insert(position, sizes[name])
    return tuple(out)


def _abstract(*avals: Any, body: Body, in_axes: Any, out_axes: Any, sizes: Any, plan: Plan, **_: Any) -> list[Any]:
    extents = dict(sizes)
    shapes = [mapped_shape(aval.shape, axes, extents) for aval, axes in zip(body.out_avals, out_axes, strict=True)]
    varying: Sequence[Names | None] = [None] * len(shapes)
    specs: Sequence[PartitionSpec | None] = [None] * len(shapes)
    context = jax.sharding.get_abstract_mesh()
    outer = [varying_names(aval) for aval in avals]
    if any(outer):  # inside a `jax.shard_map` that checks what its values vary over
        ins = [names | mapped(axes) for names, axes in zip(outer, in_axes, strict=True)]
        varying = [names & NONE.union(*outer) for names in axis_flow(body.closed, ins)]
        specs = [PartitionSpec(*[None] * len(shape)) for shape in shapes]
    if not context.empty and not context.are_all_axes_auto and not context.manual_axes:
        specs = [plan.partition(axes, len(shape)) for axes, shape in zip(out_axes, shapes, strict=True)]
    shardings = [spec if spec is None else NamedSharding(context, spec) for spec in specs]
    return list(map(retyped, body.out_avals, shapes, varying, shardings))


def mesh_within(plan: Plan, closed: Any) -> Any:
    """The mesh of a map, or else of a map nested in its body: the mesh that its program runs on."""
    inside = (eqn.params["plan"] for eqn in all_eqns(closed) if eqn.primitive is xmap_p)
    return next((one.mesh for one in (plan, *inside) if one.mesh is not None), None)


def mesh_of_devices(plan: Plan, closed: Any) -> Any:
    """The mesh whose devices a map needs: its own, or that of a `jax.shard_map` in its body."""
    mesh = mesh_within(plan, closed)
    if mesh is None:
        return next((eqn.params["mesh"] for eqn in all_eqns(closed) if eqn.primitive.name == "shard_map"), None)
    return mesh


def _flow(flow: NameFlow, eqn: Any, ins: list[Names]) -> list[Names]:
    params = eqn.params
    inner = [names | mapped(axes) for names, axes in zip(ins, params["in_axes"], strict=True)]
    own = frozenset(name for name, _ in params["sizes"])
    return [names - own for names in flow.run(params["body"].closed, inner)]


# --- vectorisation: one more name ---


def _batch(
    axis: Any, values: Any, dims: Any, *, body: Body, in_axes: Any, out_axes: Any, sizes: Any, **rest: Any
) -> Any:
    name = axis.name
    used = not is_anonymous(name) and name in mentioned(body.closed)
    if all(dim is None for dim in dims) and not used:
        outs = xmap_p.bind(*values, body=body, in_axes=in_axes, out_axes=out_axes, sizes=sizes, **rest)
        return outs, [None] * len(outs)
    if not used:
        name = Anonymous()
    in_axes = tuple(_insert(axes, dim, name) for axes, dim in zip(in_axes, dims, strict=True))
    varying = axis_flow(body.closed, [mapped(axes) for axes in in_axes])
    out_dims = [0 if name in names else None for names in varying]
    out_axes = tuple(_insert(axes, dim, name) for axes, dim in zip(out_axes, out_dims, strict=True))
    sizes = (*sizes, (name, axis.size))
    return xmap_p.bind(*values, body=body, in_axes=in_axes, out_axes=out_axes, sizes=sizes, **rest), out_dims


def _insert(axes: Axes, dim: int | None, name: Any) -> Axes:
    """Axes of an array that has `name` at `dim` besides."""
    if dim is None:
        return axes
    return tuple(sorted([*((p + (p >= dim), n) for p, n in axes), (dim, name)], key=lambda item: item[0]))


# --- differentiation ---


def _jvp(
    primals: Any,
    tangents: Any,
    *,
    body: Body,
    in_axes: Any,
    out_axes: Any,
    sums: Any,
    sizes: Any,
    **rest: Any,
) -> Any:
    """Two maps: one for the results and what the tangents need of them, and a linear one for the tangents.

    Because they are two, partial evaluation and transposition need no rule of their own for the first.
    """
    extents = dict(sizes)
    body, added = _differentiable(body, [mapped(axes) for axes in in_axes], extents)
    primals = [*added, *primals]
    tangents = [*(_zero(x) for x in added), *tangents]
    in_axes = (*[()] * len(added), *in_axes)
    moving = [i for i, t in enumerate(tangents) if not isinstance(t, ad.Zero)]
    run = jaxpr_as_fun(body.closed)
    n, n_out = len(primals), len(body.out_avals)
    smooth = [k for k, aval in enumerate(body.out_avals) if jnp.issubdtype(aval.dtype, jnp.inexact)]

    def both(*args: Any) -> list[Any]:
        fixed = list(args[:n])

        def of_moving(*values: Any) -> list[Any]:
            full = list(fixed)
            for i, value in zip(moving, values, strict=True):
                full[i] = value
            return run(*full)

        outs, moved = jax.jvp(of_moving, tuple(fixed[i] for i in moving), tuple(args[n:]))
        return [*outs, *(moved[k] for k in smooth)]

    avals = list(body.closed.in_avals)
    derived, constants = trace(both, [*avals, *(tangent_type(avals[i]) for i in moving)], extents)
    n_const = len(constants)
    unknown = [False] * (n_const + n) + [True] * len(moving)
    with without_mesh():
        keep = [False] * n_out + [True] * len(smooth)
        known, linear, _, n_res = split_known(derived.closed, unknown, keep, extents)

    ins = [*constants, *primals]
    ins_axes = [()] * n_const + list(in_axes)
    known_in, known_out = open_jaxpr(known).invars, open_jaxpr(known).outvars
    names = axis_flow(known, [mapped(axes) for axes in ins_axes])
    res_vars, res_names = known_out[n_out:], names[n_out:]
    assert len(res_vars) == n_res
    forwarded = {var: i for i, var in enumerate(known_in)}
    new = [k for k, var in enumerate(res_vars) if _key(var) not in forwarded]
    new_axes = [tuple(enumerate(name for name in extents if name in res_names[k])) for k in new]
    kept = Body(_keep_outputs(known, [*range(n_out), *(n_out + k for k in new)]))
    bound = xmap_p.bind(
        *ins,
        body=kept,
        in_axes=tuple(ins_axes),
        out_axes=(*out_axes, *new_axes),
        sums=(*sums, *[()] * len(new)),
        sizes=sizes,
        **rest,
    )
    outs, made = bound[:n_out], iter(zip(bound[n_out:], new_axes, strict=True))
    residuals: list[tuple[Any, Axes]] = []
    for k, var in enumerate(res_vars):
        i = forwarded.get(_key(var)) if k not in new else None
        residuals.append(next(made) if i is None else (ins[i], ins_axes[i]))
    moved = xmap_p.bind(
        *(value for value, _ in residuals),
        *(tangents[i] for i in moving),
        body=Body(linear),
        in_axes=(*(axes for _, axes in residuals), *(in_axes[i] for i in moving)),
        out_axes=tuple(out_axes[k] for k in smooth),
        sums=tuple(sums[k] for k in smooth),
        sizes=sizes,
        **rest,
    )
    out_tangents: list[Any] = [_zero(out) for out in outs]
    for k, tangent in zip(smooth, moved, strict=True):
        out_tangents[k] = tangent
    return outs, out_tangents


def _zero(x: Any) -> Any:
    return ad.Zero(tangent_type(jax.typeof(x)))


def _key(atom: Any) -> Any:
    return None if isinstance(atom, Literal) else atom  # literals are not hashable


def _keep_outputs(closed: Any, keep: Sequence[int]) -> Any:
    jaxpr = open_jaxpr(closed)
    return ClosedJaxpr(jaxpr.replace(outvars=[jaxpr.outvars[k] for k in keep]), ())


def _differentiable(body: Body, names: list[Names], sizes: dict[Any, int]) -> tuple[Body, list[Any]]:
    """The body made ready for differentiation, and the constants that it takes first."""
    rewrite = Exact(frozenset(sizes))
    if not rewrite.concerns(body.closed):
        return body, []
    return trace(lambda *args: evaluate(body.closed, args, names, rewrite), body.closed.in_avals, sizes)


def _transpose(
    cts: Any, *args: Any, body: Body, in_axes: Any, out_axes: Any, sums: Any, sizes: Any, **rest: Any
) -> Any:
    """Each position gets its part of a cotangent: an equal share of one that was for all of them."""
    extents = dict(sizes)
    linear = [i for i, arg in enumerate(args) if ad.is_undefined_primal(arg)]
    known = [i for i in range(len(args)) if i not in linear]
    live = [k for k, ct in enumerate(cts) if not isinstance(ct, ad.Zero)]
    avals = list(body.closed.in_avals)
    if not live:
        return [ad.Zero(args[i].aval) if i in linear else None for i in range(len(args))]
    run = jaxpr_as_fun(body.closed)

    def backward(*values: Any) -> list[Any]:
        fixed = dict(zip(known, values[: len(known)], strict=True))

        def forward(*moving: Any) -> list[Any]:
            full = {**fixed, **dict(zip(linear, moving, strict=True))}
            outs = run(*(full[i] for i in range(len(args))))
            return [outs[k] for k in live]

        return list(jax.linear_transpose(forward, *(_struct(avals[i]) for i in linear))(list(values[len(known) :])))

    out_avals = [body.out_avals[k] for k in live]
    shares: list[Any] = []
    for k in live:
        share = 1
        for name in frozenset(extents) - mapped(out_axes[k]) - frozenset(sums[k]):
            share *= extents[name]
        shares.append(divided(cts[k], share))
    back, constants = trace(backward, [*(avals[i] for i in known), *out_avals], extents)
    back_in: tuple[Axes, ...] = (
        *[()] * len(constants),
        *(in_axes[i] for i in known),
        *(out_axes[k] for k in live),
    )
    values = [*constants, *(args[i] for i in known), *shares]
    if "settle" in primitives(back.closed):
        names, unsettled, rewrite = [mapped(axes) for axes in back_in], back.closed, Settle(extents)
        back, more = trace(lambda *xs: evaluate(unsettled, xs, names, rewrite), unsettled.in_avals, extents)
        values, back_in = [*more, *values], (*[()] * len(more), *back_in)
    outs = xmap_p.bind(
        *values,
        body=back,
        in_axes=back_in,
        out_axes=tuple(in_axes[i] for i in linear),
        sums=tuple(tuple(name for name in extents if name not in mapped(in_axes[i])) for i in linear),
        sizes=sizes,
        **rest,
    )
    result: list[Any] = [None] * len(args)
    for i, out in zip(linear, outs, strict=True):
        result[i] = out
    return result


def _struct(aval: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


# --- what nobody needs ---

_smaller: WeakKeyDictionary[Body, dict[tuple[bool, ...], tuple[Body, list[bool]]]] = WeakKeyDictionary()


def _without_dead(used: Sequence[bool], eqn: Any) -> tuple[list[bool], Any]:
    """The equation without the outputs that nobody needs, and without what only they need.

    A gradient needs few of the results of the map that it belongs to.
    """
    wanted, params = tuple(used), eqn.params
    body: Body = params["body"]
    if not any(wanted) and not eqn.effects:
        return [False] * len(eqn.invars), None
    known = _smaller.setdefault(body, {})
    if wanted not in known:
        jaxpr, needed = without_dead(open_jaxpr(body.closed), wanted, dict(params["sizes"]))
        known[wanted] = Body(ClosedJaxpr(jaxpr, ())), needed
    smaller, needed = known[wanted]
    kept = {"in_axes": needed, "out_axes": wanted, "sums": wanted}
    changed = {name: tuple(compress(params[name], mask)) for name, mask in kept.items()}
    invars, outvars = list(compress(eqn.invars, needed)), list(compress(eqn.outvars, wanted))
    return needed, eqn.replace(invars=invars, outvars=outvars, params={**params, **changed, "body": smaller})


rule_of_dead_results(xmap_p, _without_dead)
xmap_p.def_abstract_eval(_abstract)
ad.primitive_jvps[xmap_p] = _jvp
ad.primitive_transposes[xmap_p] = _transpose
batching.fancy_primitive_batchers[xmap_p] = _batch
RULES["xmap"] = _flow
