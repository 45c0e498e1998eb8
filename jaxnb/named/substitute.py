"""From names to physical axes: the rewrite that turns a body with names into what one tile computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import jax.numpy as jnp
from jax import lax

from jaxnb._jax import bound_axes
from jaxnb.named import collectives
from jaxnb.named.collectives import Axis
from jaxnb.named.dot import named_dot
from jaxnb.named.errors import NamedAxisError
from jaxnb.named.flow import COLLECTIVES, Names, axis_names
from jaxnb.named.fuse import Early
from jaxnb.named.rewrite import Rewrite

__all__ = ["Scope", "Substitute", "add_up"]


@dataclass(frozen=True)
class Scope:
    """What the names in scope became.

    Args:
      axes: the physical axes of each name, the most significant first.
      mesh_order: the axis names of the mesh, in its order.
      manual: whether the code runs once for each device of a mesh already.
    """

    axes: Mapping[Any, tuple[Axis, ...]] = field(default_factory=dict[Any, tuple[Axis, ...]])
    mesh_order: tuple[Any, ...] = ()
    manual: bool = False

    def of(self, names: Sequence[Any]) -> list[Axis]:
        """The physical axes of several names in order; a name bound outside the map stands for itself."""
        out: list[Axis] = []
        for name in names:
            if name not in self.axes and name not in bound_axes():
                raise NameError(f"the name {name!r} is not bound here.")
            out += self.axes[name] if name in self.axes else (Axis(name, bound_axes()[name], "vector"),)
        return out

    def size(self, names: Sequence[Any]) -> int:
        """The product of the sizes of names."""
        return prod(axis.size for axis in self.of(names))


class Substitute(Rewrite):
    """Replaces every collective over a name of `scope`, and runs nested maps in place by `run_map`."""

    is_last = True

    def __init__(self, scope: Scope, run_map: Callable[..., list[Any]], early: Early) -> None:
        self.scope, self.run_map, self.early = scope, run_map, early

    def handles(self, eqn: Any) -> bool:
        kind = eqn.primitive.name
        if id(eqn) in self.early.dots:
            return True
        return kind == "xmap" or (kind in COLLECTIVES and any(name in self.scope.axes for name in axis_names(eqn)))

    def finishes(self, eqn: Any) -> bool:
        return id(eqn) in self.early.after

    def finish(self, eqn: Any, results: list[Any]) -> list[Any]:
        results = list(results)
        for k, names in self.early.after[id(eqn)].items():
            results[k] = collectives.reduce("psum", results[k], _vectors(self.scope, names))
        return results

    def replace(self, eqn: Any, values: list[Any], ins: list[Names], outs: list[Names]) -> list[Any]:
        if eqn.primitive.name == "xmap":
            return self.run_map(values, ins, self.scope, **eqn.params)
        if id(eqn) in self.early.dots:
            return [_summed_dot(self.scope, eqn.params, self.early.dots[id(eqn)], values)]
        if id(eqn) in self.early.finished:
            return [add_up(values[0], axis_names(eqn), ins[0], self.scope, True)]
        if eqn.params.get("axis_index_groups") is not None:
            raise NamedAxisError(
                f"`{eqn.primitive.name}` over {axis_names(eqn)!r} has axis_index_groups.",
                why="a name may be spread over devices and vectorised at once, which groups cut across.",
                fix="split the name into two names, and use the collective over one of them.",
            )
        return _RULES[eqn.primitive.name](self.scope, eqn.params, axis_names(eqn), values, ins)


def _vectors(scope: Scope, names: Sequence[Any]) -> list[Axis]:
    return [axis for axis in scope.of(names) if axis.kind == "vector"]


def _summed_dot(scope: Scope, params: Mapping[str, Any], names: Sequence[Any], values: list[Any]) -> Any:
    x, y = values
    over = [axis.key for axis in _vectors(scope, names)]
    return named_dot(x, y, over, params["dimension_numbers"], params["precision"], params["preferred_element_type"])


def add_up(x: Any, names: Sequence[Any], varying: Names, scope: Scope, begun: bool) -> Any:
    """The sum of `x` over names, but for the turns of a loop, which the loop adds up.

    Args:
      x: the value at one position.
      names: what to sum over.
      varying: the names that it varies over; along the others it counts as often as there are positions.
      scope: what the names became.
      begun: whether the vectorised part of the sum has been taken.
    """
    known = [name for name in names if name not in varying]
    over = [axis for axis in scope.of([n for n in names if n in varying]) if axis.kind != "loop"]
    times = scope.of(known)
    if begun:
        over, times = ([axis for axis in row if axis.kind != "vector"] for row in (over, times))
    return collectives.times(collectives.reduce("psum", x, over), prod(axis.size for axis in times))


def _split(scope: Scope, names: Sequence[Any], varying: Names) -> tuple[list[Any], list[Any]]:
    """Names that the operand varies over, and names along which it is known to be the same everywhere."""
    known = [name for name in names if name in scope.axes and name not in varying]
    return [name for name in names if name not in known], known


def _positions(params: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(axis for axis in params["axes"] if isinstance(axis, int))


def _psum(scope: Scope, params: Any, names: Any, values: list[Any], ins: list[Names]) -> list[Any]:
    out: list[Any] = []
    for x, varying in zip(values, ins, strict=True):
        over, same = _split(scope, names, varying)
        x = jnp.sum(x, axis=_positions(params), dtype=x.dtype) if _positions(params) else x
        out.append(collectives.times(collectives.reduce("psum", x, scope.of(over)), scope.size(same)))
    return out


def _extremum(kind: str, by_position: Callable[..., Any]) -> Callable[..., list[Any]]:
    def rule(scope: Scope, params: Any, names: Any, values: list[Any], ins: list[Names]) -> list[Any]:
        out: list[Any] = []
        for x, varying in zip(values, ins, strict=True):
            over, _ = _split(scope, names, varying)
            x = by_position(x, axis=_positions(params)) if _positions(params) else x
            out.append(collectives.reduce(kind, x, scope.of(over)))
        return out

    return rule


def _merge(x: Any, dimension: int) -> Any:
    """Joins `dimension` with the one after it."""
    shape = x.shape
    return lax.reshape(x, (*shape[:dimension], shape[dimension] * shape[dimension + 1], *shape[dimension + 2 :]))


def _all_gather(scope: Scope, params: Any, names: Any, values: list[Any], ins: list[Names]) -> list[Any]:
    (x,), dimension = values, params["all_gather_dimension"]
    out = x
    for i, name in enumerate(reversed(names)):
        if name in scope.axes and name not in ins[0]:
            out = collectives.like_gathered(out, scope.size([name]), dimension)
        else:
            out = collectives.gather(out, scope.of([name]), dimension)
        out = _merge(out, dimension) if i else out
    return [_merge(out, dimension) if params["tiled"] else out]


def _reduce_scatter(scope: Scope, params: Any, names: Any, values: list[Any], ins: list[Names]) -> list[Any]:
    (x,), dimension, n = values, params["scatter_dimension"], scope.size(names)
    shape = x.shape
    if params["tiled"]:
        x = lax.reshape(x, (*shape[:dimension], n, shape[dimension] // n, *shape[dimension + 1 :]))
    for i, name in enumerate(names):
        left = scope.size(names[i + 1 :])
        x = lax.reshape(x, (*x.shape[:dimension], scope.size([name]), left, *x.shape[dimension + 1 :]))
        if name in scope.axes and name not in ins[0]:
            x = collectives.times(collectives.take(x, scope.of([name]), dimension), scope.size([name]))
        else:
            x = collectives.scatter_sum(x, scope.of([name]), dimension)
    return [lax.squeeze(x, [dimension])]


def _all_to_all(scope: Scope, params: Any, names: Any, values: list[Any], ins: list[Names]) -> list[Any]:
    (x,), split, concat, n = values, params["split_axis"], params["concat_axis"], scope.size(names)
    # JAX gives the untiled form a dimension of size 1 before it binds the primitive, so both forms cut and
    # join here.
    shape = x.shape
    x = lax.reshape(x, (*shape[:split], n, shape[split] // n, *shape[split + 1 :]))
    blocks = jnp.moveaxis(x, split, 0)
    over, same = _split(scope, names, ins[0])
    if same:
        blocks = _exchange_by_name(scope, blocks, names, frozenset(over))
    else:
        blocks = collectives.transpose_blocks(blocks, scope.of(names))
    return [_merge(jnp.moveaxis(blocks, 0, concat), concat)]


def _exchange_by_name(scope: Scope, blocks: Any, names: Sequence[Any], over: Names) -> Any:
    sizes = [scope.size([name]) for name in names]
    out = lax.reshape(blocks, (*sizes, *blocks.shape[1:]))
    for i, name in enumerate(names):
        if name in over:
            moved = collectives.transpose_blocks(jnp.moveaxis(out, i, 0), scope.of([name]))
            out = jnp.moveaxis(moved, 0, i)
        else:  # everyone sends the same, so what arrives is one's own entry from each
            out = collectives.like_gathered(collectives.take(out, scope.of([name]), i), sizes[i], i)
    return lax.reshape(out, blocks.shape)


def _ppermute(scope: Scope, params: Any, names: Any, values: list[Any], ins: list[Names]) -> list[Any]:
    del ins
    return [collectives.permute(x, scope.of(names), params["perm"], scope.mesh_order) for x in values]


def _pbroadcast(scope: Scope, params: Any, names: Any, values: list[Any], ins: list[Names]) -> list[Any]:
    over, same = _split(scope, names, ins[0])
    if not over:
        return values
    if same:
        raise NamedAxisError(
            f"`pbroadcast` over {names!r}, of a value that does not vary over {same!r}.",
            why="its source is numbered over all the names.",
            fix="broadcast over the names that the value varies over only.",
        )
    chosen = collectives.index_of(scope.of(names)) == params["source"]
    return [lax.psum(jnp.where(chosen, x, jnp.zeros_like(x)), tuple(a.key for a in scope.of(names))) for x in values]


def _axis_index(scope: Scope, params: Any, names: Any, values: list[Any], ins: list[Names]) -> list[Any]:
    del params, values, ins
    return [collectives.index_of(scope.of(names))]


def _named_dot(scope: Scope, params: Any, names: Any, values: list[Any], ins: list[Names]) -> list[Any]:
    over, same = _split(scope, names, ins[0] | ins[1])
    axes = scope.of(over)
    local = [axis.key for axis in axes if axis.kind == "vector"]
    x, y = values
    out = named_dot(x, y, local, params["dimensions"], params["precision"], params["accumulate"])
    out = collectives.reduce("psum", out, [axis for axis in axes if axis.kind != "vector"])
    return [collectives.times(out, scope.size(same))]


def _take_own(scope: Scope, params: Any, names: Any, values: list[Any], ins: list[Names]) -> list[Any]:
    del ins
    return [collectives.take(values[0], scope.of(names), params["axis"])]


_RULES: Mapping[str, Callable[..., list[Any]]] = {
    "psum": _psum,
    "pmax": _extremum("pmax", jnp.max),
    "pmin": _extremum("pmin", jnp.min),
    "all_gather": _all_gather,
    "reduce_scatter": _reduce_scatter,
    "all_to_all": _all_to_all,
    "ppermute": _ppermute,
    "pbroadcast": _pbroadcast,
    "axis_index": _axis_index,
    "named_dot": _named_dot,
    "take_own": _take_own,
}
