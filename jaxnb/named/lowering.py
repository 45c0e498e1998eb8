"""Running a map: `shard_map` over the mesh, `scan` over the turns of loops, `vmap` over the rest of each
name.

Every dimension that has a name is cut into its parts, and each part is labelled with what it became. Then one
label after the other is mapped away, and inside all of them `Substitute` runs the body with physical axes for
names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.interpreters import mlir
from jax.sharding import NamedSharding, PartitionSpec

from jaxnb._jax import open_jaxpr, unchecked_collectives
from jaxnb.named import collectives
from jaxnb.named.body import Body, collective_names
from jaxnb.named.collectives import Axis
from jaxnb.named.flow import NONE, Names, axis_flow
from jaxnb.named.fuse import early_sums
from jaxnb.named.primitive import Axes, mapped, mapped_shape, mesh_within, xmap_p
from jaxnb.named.resources import FakeMesh, Plan
from jaxnb.named.rewrite import evaluate
from jaxnb.named.substitute import Scope, Substitute, add_up

__all__ = ["program_of", "run_map"]


@dataclass(frozen=True)
class Local:
    """What is left of a name on one device in one turn; the axis name of its `vmap`."""

    name: Any


@dataclass(frozen=True)
class Simulated:
    """A mesh axis that is vectorised; the axis name of its `vmap`."""

    name: Any


@dataclass(frozen=True)
class Turn:
    """The turns of a name's loop."""

    name: Any


@dataclass(frozen=True)
class _Map:
    """A map to run, with its parameters resolved for where it runs."""

    body: Body
    in_axes: tuple[Axes, ...]
    out_axes: tuple[Axes, ...]
    sums: tuple[tuple[Any, ...], ...]
    sizes: Mapping[Any, int]
    mesh_axes: Mapping[Any, tuple[Any, ...]]  # by name
    mesh_sizes: Mapping[Any, int]
    simulated: bool
    turns: Mapping[Any, int]  # by name

    def parts(self, name: Any) -> list[tuple[Any, int]]:
        """(label, size) of each dimension that a name's tile on one device is cut into."""
        mesh = [(Simulated(axis), self.mesh_sizes[axis]) for axis in self.mesh_axes[name]] if self.simulated else []
        turns = [(Turn(name), self.turns[name])] if name in self.turns else []
        left = self.left(name)
        return [*mesh, *turns, *([(Local(name), left)] if left > 1 else [])]

    def left(self, name: Any) -> int:
        """How many positions of a name are vectorised."""
        spread = prod(self.mesh_sizes[axis] for axis in self.mesh_axes[name])
        return self.sizes[name] // spread // self.turns.get(name, 1)


def run_map(
    values: Sequence[Any],
    ins: Sequence[Names],
    scope: Scope,
    *,
    body: Body,
    in_axes: Any,
    out_axes: Any,
    sums: Any,
    sizes: Any,
    plan: Plan,
    anchor: Any,
) -> list[Any]:
    """The results of a map.

    Args:
      values: its inputs; where `scope` is manual, what one device has of them.
      ins: the names of enclosing maps that each input varies over.
      scope: what the names of enclosing maps became.
      The others are the parameters of the primitive.
    """
    del anchor
    extents = dict(sizes)
    # A backward pass may add up cotangents over a name inside the body; then that name cannot go turn by
    # turn.
    exchanged = collective_names(body.closed)
    turns = {name: n for name, n in plan.loops if name not in exchanged}
    partitioned = plan.mesh is not None and (plan.lowering == "spmd" or isinstance(plan.mesh, FakeMesh))
    spread = {name: plan.mesh_axes(name) for name in extents}
    if plan.lowering == "spmd" and not isinstance(plan.mesh, FakeMesh):
        spread = {name: axes if name in turns else () for name, axes in spread.items()}
    taken = {
        axis.key.name if isinstance(axis.key, Simulated) else axis.key
        for row in scope.axes.values()
        for axis in row
        if axis.kind != "loop"
    }
    spread = _apart(spread, taken, body, [s | mapped(axes) for s, axes in zip(ins, in_axes, strict=True)])
    mesh_sizes = dict(plan.mesh.shape) if plan.mesh is not None else {}
    job = _Map(body, in_axes, out_axes, sums, extents, spread, mesh_sizes, partitioned, turns)
    if plan.lowering == "spmd" and isinstance(plan.mesh, jax.sharding.Mesh) and not scope.manual:
        values = [_constrain(x, axes, plan) for x, axes in zip(values, in_axes, strict=True)]
        outs = _cut(job, scope, ins)(*values)
        return [_constrain(x, axes, plan) for x, axes in zip(outs, out_axes, strict=True)]
    mesh = mesh_within(plan, body.closed)
    if partitioned or mesh is None or isinstance(mesh, FakeMesh):
        return _cut(job, scope, ins)(*values)
    inner = Scope(scope.axes, tuple(mesh.axis_names), True)
    if scope.manual:
        tiles = [_own_tile(x, axes, job) for x, axes in zip(values, in_axes, strict=True)]
        outs = _cut(job, inner, ins)(*tiles)
        return [_whole(x, axes, job) for x, axes in zip(outs, out_axes, strict=True)]
    in_specs = tuple(_partition(spread, axes, x.ndim) for x, axes in zip(values, in_axes, strict=True))
    out_specs = [
        _partition(spread, axes, aval.ndim + len(axes)) for axes, aval in zip(out_axes, body.out_avals, strict=True)
    ]
    run = jax.shard_map(_cut(job, inner, ins), mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)
    return list(run(*(_placed(x, spec, mesh) for x, spec in zip(values, in_specs, strict=True))))


def _apart(
    spread: Mapping[Any, tuple[Any, ...]], taken: Collection[Any], body: Body, ins: Sequence[Names]
) -> dict[Any, tuple[Any, ...]]:
    """The mesh axes of each name, where one that another name of the same value has is given up.

    What a user writes is checked before; but a backward pass adds up parts that vary over different names.
    """
    out = {name: () if set(axes) & set(taken) else axes for name, axes in spread.items()}
    holders: dict[Any, list[Any]] = {}
    for name, axes in out.items():
        for axis in axes:
            holders.setdefault(axis, []).append(name)
    rivals = [names for names in holders.values() if len(names) > 1]
    if not rivals:
        return out
    met: set[Any] = set()

    def meet(names: Names) -> None:
        for row in rivals:
            met.update([name for name in row if name in names][1:])

    def visit(eqn: Any, before: list[Names], after: list[Names]) -> None:
        del eqn
        for names in (*before, *after):
            meet(names)

    for names in ins:
        meet(names)
    axis_flow(body.closed, ins, visit)
    return {name: () if name in met else axes for name, axes in out.items()}


# --- tiles of a mesh ---


def _partition(spread: Mapping[Any, tuple[Any, ...]], axes: Axes, ndim: int) -> PartitionSpec:
    return Plan(spread=tuple(spread.items())).partition(axes, ndim)


def _placed(x: Any, spec: PartitionSpec, mesh: Any) -> Any:
    """On a mesh with explicit axes `shard_map` takes only what is placed already; on others it places."""
    context = jax.sharding.get_abstract_mesh()
    if context.empty or context.are_all_axes_auto or context.manual_axes:
        return x
    return jax.sharding.reshard(x, NamedSharding(mesh, spec))


def _constrain(x: Any, axes: Axes, plan: Plan) -> Any:
    entries: list[Any] = [PartitionSpec.UNCONSTRAINED] * x.ndim
    for position, name in axes:
        entries[position] = plan.mesh_axes(name) or PartitionSpec.UNCONSTRAINED
    return lax.with_sharding_constraint(x, NamedSharding(plan.mesh, PartitionSpec(*entries)))


def _mesh_row(job: _Map, name: Any) -> list[Axis]:
    return [Axis(axis, job.mesh_sizes[axis], "mesh") for axis in job.mesh_axes[name]]


def _own_tile(x: Any, axes: Axes, job: _Map) -> Any:
    for position, name in axes:
        row = _mesh_row(job, name)
        if row:
            tile = job.sizes[name] // prod(axis.size for axis in row)
            x = lax.dynamic_slice_in_dim(x, collectives.index_of(row) * tile, tile, position)
    return x


def _whole(x: Any, axes: Axes, job: _Map) -> Any:
    for position, name in axes:
        for axis in reversed(_mesh_row(job, name)):
            x = lax.all_gather(x, axis.key, axis=position, tiled=True)
    return x


# --- labels ---


def _cut(job: _Map, scope: Scope, ins: Sequence[Names]) -> Callable[..., list[Any]]:
    """The map as a function of device tiles: cuts named dimensions, maps the labels away, joins again."""
    in_sets = [names | mapped(axes) for names, axes in zip(ins, job.in_axes, strict=True)]
    varying = axis_flow(job.body.closed, in_sets)
    early, begun = early_sums(job.body.closed, job.sums, frozenset(job.sizes))
    local = [Local(name) for name in job.sizes if job.left(name) > 1]
    simulated = list(dict.fromkeys(label for name in job.sizes for label, _ in job.parts(name) if _is_mesh(label)))
    extents = {label: size for name in job.sizes for label, size in job.parts(name)}
    in_labels = [
        _labels(axes, len(v.aval.shape) + len(axes), job) for axes, v in zip(job.in_axes, _inputs(job), strict=True)
    ]
    out_labels = [
        _labels(axes, a.ndim + len(axes), job) for axes, a in zip(job.out_axes, job.body.out_avals, strict=True)
    ]

    def tile(index_of_turn: Mapping[Any, Any]) -> Scope:
        axes = dict(scope.axes)
        for name in job.sizes:
            row = [] if job.simulated else _mesh_row(job, name)
            for label, size in job.parts(name):
                if isinstance(label, Turn):
                    row.append(Axis(index_of_turn[name], size, "loop"))
                else:
                    row.append(Axis(label, size, "vector"))
            axes[name] = tuple(row)
        return Scope(axes, scope.mesh_order, scope.manual)

    def at_position(here: Scope) -> Callable[..., list[Any]]:
        def run(*values: Any) -> list[Any]:
            outs = evaluate(job.body.closed, values, in_sets, Substitute(here, run_map, early))
            todo = zip(outs, job.sums, varying, begun, strict=True)
            return [add_up(x, names, vary, here, summed) for x, names, vary, summed in todo]

        return run

    def vectorised(turn: Mapping[Any, Any], ins: Sequence[Any], outs: Sequence[Any]) -> Callable[..., list[Any]]:
        return _vmaps(at_position(tile(turn)), local, extents, ins, outs)

    def looped(names: Sequence[Any], turn: Mapping[Any, Any], ins: Any, outs: Any) -> Callable[..., list[Any]]:
        if not names:
            return vectorised(turn, ins, outs)
        name, label = names[0], Turn(names[0])
        summed = [name in sums and name in vary for sums, vary in zip(job.sums, varying, strict=True)]
        shapes = [
            jax.ShapeDtypeStruct(
                tuple(
                    s if isinstance(lab, int) else extents[lab]
                    for lab, s in _with_sizes(labels, aval.shape)
                    if lab != label
                ),
                aval.dtype,
            )
            for labels, aval in zip(outs, job.body.out_avals, strict=True)
        ]

        def one_turn(index: Any, values: Sequence[Any]) -> list[Any]:
            inner_ins, inner_outs = _without(ins, label), _without(outs, label)
            return looped(names[1:], {**turn, name: index}, inner_ins, inner_outs)(*values)

        return _scan(one_turn, label, job.turns[name], ins, outs, summed, shapes)

    def run(*values: Any) -> list[Any]:
        cut = [_shaped(x, _cut_shape(x.shape, axes, job)) for x, axes in zip(values, job.in_axes, strict=True)]
        inner_ins, inner_outs = in_labels, out_labels
        for label in simulated:
            inner_ins, inner_outs = _without(inner_ins, label), _without(inner_outs, label)
        body = looped(list(job.turns), {}, inner_ins, inner_outs)
        outs = _vmaps(body, simulated, extents, in_labels, out_labels)(*cut)
        joined: list[Any] = []
        for out, axes, aval in zip(outs, job.out_axes, job.body.out_avals, strict=True):
            on_device = {name: prod(size for _, size in job.parts(name)) for name in job.sizes}
            joined.append(_shaped(out, mapped_shape(aval.shape, axes, on_device)))
        return joined

    return run


def _shaped(x: Any, shape: tuple[int, ...]) -> Any:
    return x if x.shape == shape else lax.reshape(x, shape)  # a number has the shape (), of which JAX makes a reshape


def _inputs(job: _Map) -> Any:
    return open_jaxpr(job.body.closed).invars


def _is_mesh(label: Any) -> bool:
    return isinstance(label, Simulated)


def _labels(axes: Axes, ndim: int, job: _Map) -> list[Any]:
    """The label of each dimension after cutting; positional dimensions have their number."""
    named = dict(axes)
    out: list[Any] = []
    positional = 0
    for i in range(ndim):
        if i in named:
            out += [label for label, _ in job.parts(named[i])]
        else:
            out.append(positional)
            positional += 1
    return out


def _with_sizes(labels: Sequence[Any], shape: Sequence[int]) -> list[tuple[Any, int]]:
    return [(label, shape[label] if isinstance(label, int) else 0) for label in labels]


def _cut_shape(shape: Sequence[int], axes: Axes, job: _Map) -> tuple[int, ...]:
    named = dict(axes)
    out: list[int] = []
    for i, size in enumerate(shape):
        out += [part for _, part in job.parts(named[i])] if i in named else [size]
    return tuple(out)


def _without(rows: Sequence[Sequence[Any]], label: Any) -> list[list[Any]]:
    return [[entry for entry in row if entry != label] for row in rows]


def _vmaps(
    fun: Callable[..., list[Any]], labels: Sequence[Any], extents: Mapping[Any, int], ins: Any, outs: Any
) -> Callable[..., list[Any]]:
    """`fun` mapped over `labels`, the first one outermost."""
    if not labels:
        return fun
    label = labels[0]
    inner = _vmaps(fun, labels[1:], extents, _without(ins, label), _without(outs, label))
    return jax.vmap(
        inner,
        in_axes=tuple(row.index(label) if label in row else None for row in ins),
        out_axes=[row.index(label) if label in row else None for row in outs],
        axis_name=label,
        axis_size=extents[label],
    )


def _scan(
    one_turn: Callable[[Any, Sequence[Any]], list[Any]],
    label: Turn,
    length: int,
    ins: Any,
    outs: Any,
    summed: Sequence[bool],
    shapes: Sequence[jax.ShapeDtypeStruct],
) -> Callable[..., list[Any]]:
    """One turn after the other: results along the label are stacked, sums and constants are carried."""

    def run(*values: Any) -> list[Any]:
        sliced = [i for i, row in enumerate(ins) if label in row]
        # a key has no zero to start a carry from, so it is stacked although every turn gives the same
        keys = [k for k, s in enumerate(shapes) if jnp.issubdtype(s.dtype, jax.dtypes.prng_key)]
        stacked = [k for k, row in enumerate(outs) if label in row or k in keys]
        carried = [k for k in range(len(outs)) if k not in stacked]

        def step(carry: Any, xs: Any) -> Any:
            index, tiles = xs
            full = list(values)
            for i, x in zip(sliced, tiles, strict=True):
                full[i] = x
            results = one_turn(index, full)
            new = [old + results[k] if summed[k] else results[k] for old, k in zip(carry, carried, strict=True)]
            return new, [results[k] for k in stacked]

        start = [jnp.zeros(shapes[k].shape, shapes[k].dtype) for k in carried]
        tiles = [jnp.moveaxis(values[i], ins[i].index(label), 0) for i in sliced]
        carry, ys = lax.scan(step, start, (jnp.arange(length, dtype=jnp.int32), tiles), length=length)
        results: list[Any] = [None] * len(outs)
        for k, value in zip(carried, carry, strict=True):
            results[k] = value
        for k, value in zip(stacked, ys, strict=True):
            results[k] = jnp.moveaxis(value, 0, outs[k].index(label)) if label in outs[k] else value[0]
        return results

    return run


def _run_top(*values: Any, **params: Any) -> list[Any]:
    with unchecked_collectives():
        return run_map(values, [NONE] * len(values), Scope(), **params)


def program_of(avals: Sequence[Any], params: Mapping[str, Any]) -> Any:
    """The jaxpr of the program that a map becomes.

    Args:
      avals: of its inputs, anything with shape and dtype.
      params: of its equation.

    Raises:
      NameError: the map stands inside of others, whose names it uses.
    """
    mesh = jax.sharding.AbstractMesh((), ())
    with jax.sharding.use_abstract_mesh(mesh):
        return jax.make_jaxpr(lambda *values: _run_top(*values, **params))(*avals)


xmap_p.def_impl(lambda *values, **params: jax.jit(lambda *xs: _run_top(*xs, **params))(*values))
mlir.register_lowering(xmap_p, mlir.lower_fun(_run_top, multiple_results=True))
