"""Collectives over names in terms of what the names became: mesh axes, vectorised axes, turns of a loop.

A name becomes a row of physical axes, the most significant first; its position is the number that their
indices spell. JAX's collectives accept a vectorised axis beside a mesh axis in some cases and not in others,
so all but the plain reductions go axis by axis here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxnb.named.own import take_own

__all__ = [
    "Axis",
    "gather",
    "index_of",
    "like_gathered",
    "permute",
    "reduce",
    "scatter_sum",
    "share",
    "take",
    "times",
    "transpose_blocks",
]


@dataclass(frozen=True)
class Axis:
    """A physical axis: `key` is what JAX knows it by; for a loop it is the number of the turn."""

    key: Any
    size: int
    kind: Literal["mesh", "vector", "loop"]

    @property
    def index(self) -> Any:
        """The index along this axis, int32."""
        return self.key if self.kind == "loop" else lax.axis_index(self.key)


def index_of(axes: Iterable[Axis]) -> Any:
    """The number that the indices along `axes` spell, int32."""
    index: Any = None
    for axis in axes:
        if index is None:
            index = axis.index
        else:  # lax, not operators: those go through jnp, which costs ten times as much to trace
            index = lax.add(lax.mul(index, np.int32(axis.size)), axis.index)
    return jnp.int32(0) if index is None else index


def reduce(kind: str, x: Any, axes: Sequence[Axis]) -> Any:
    """`psum`, `pmax` or `pmin` over all axes: vectorised ones first, then those of the mesh at once."""
    combine = getattr(lax, kind)
    for axis in axes:
        # one by one, because a checking `jax.shard_map` refuses its own axes beside vectorised ones
        if axis.kind == "vector":
            x = combine(x, axis.key)
    mesh = tuple(axis.key for axis in axes if axis.kind == "mesh")
    return combine(x, mesh) if mesh else x


def gather(x: Any, axes: Sequence[Axis], dimension: int) -> Any:
    """Every position's `x`, stacked along a new dimension of size `prod(sizes)`."""
    out = x
    for axis in reversed(axes):
        out = lax.all_gather(out, axis.key, axis=dimension)
    size = prod(axis.size for axis in axes)
    return lax.reshape(out, (*x.shape[:dimension], size, *x.shape[dimension:]))


def take(x: Any, axes: Sequence[Axis], dimension: int) -> Any:
    """This position's entry of `x` along `dimension`, which disappears."""
    out = lax.reshape(x, (*x.shape[:dimension], *(a.size for a in axes), *x.shape[dimension + 1 :]))
    for axis in axes:
        if axis.kind == "vector":
            out = take_own(out, axis.key, dimension)
        else:
            out = lax.dynamic_index_in_dim(out, axis.index, dimension, keepdims=False)
    return out


def scatter_sum(x: Any, axes: Sequence[Axis], dimension: int) -> Any:
    """The sum of every position's `x`, cut along `dimension`, of which this position keeps its entry."""
    out = lax.reshape(x, (*x.shape[:dimension], *(a.size for a in axes), *x.shape[dimension + 1 :]))
    for i in reversed(range(len(axes))):  # vectorised axes first: they cost nothing and shrink what devices exchange
        # tiled, because vectorising the untiled form puts the vectorised dimension in the wrong place (jax
        # 0.10 to 0.12)
        out = lax.psum_scatter(out, axes[i].key, scatter_dimension=dimension + i, tiled=True)
        out = lax.squeeze(out, [dimension + i])
    return out


def transpose_blocks(x: Any, axes: Sequence[Axis]) -> Any:
    """`out[j] at i = x[i] at j`, along dimension 0 of `x`, which lists the positions."""
    sizes = tuple(axis.size for axis in axes)
    out = lax.reshape(x, (*sizes, *x.shape[1:]))
    for i, axis in enumerate(axes):
        if axis.kind == "mesh":
            out = lax.all_to_all(out, axis.key, split_axis=i, concat_axis=i, tiled=True)
        else:
            out = take_own(lax.all_gather(out, axis.key, axis=0), axis.key, i + 1)
            out = jnp.moveaxis(out, 0, i)
    return lax.reshape(out, x.shape)


def permute(x: Any, axes: Sequence[Axis], pairs: Sequence[tuple[int, int]], mesh_order: Sequence[Any]) -> Any:
    """Sends `x` from position to position by (source, destination) `pairs`; who gets nothing gets zeros.

    Each device sends at most one message for each shift between devices that occurs, with the rows that this
    shift
    needs: moving on by one around a ring costs one message of one row, however many positions a device holds.

    Args:
      x: this position's value.
      axes: the physical axes of the names, the most significant first.
      pairs: (source, destination) numbers of positions, each at most once as source and once as destination.
      mesh_order: the mesh's axis names in order, in which `lax.ppermute` numbers devices whatever order it is
        given.
    """
    mesh = sorted((a for a in axes if a.kind == "mesh"), key=lambda a: list(mesh_order).index(a.key))
    rest = [a for a in axes if a.kind != "mesh"]
    devices, rows = prod(a.size for a in mesh), prod(a.size for a in rest)
    place = _placer(axes, mesh, rest)
    routes: dict[int, list[tuple[int, int, int, int]]] = {}
    for source, destination in pairs:
        (from_device, from_row), (to_device, to_row) = place(source), place(destination)
        routes.setdefault((to_device - from_device) % devices, []).append((from_device, from_row, to_device, to_row))

    if rows == 1 and len(routes) == 1:
        links = [(move[0], move[2]) for moves in routes.values() for move in moves]
        return lax.ppermute(x, tuple(a.key for a in mesh), links) if mesh else x
    held = gather(x, rest, 0)
    everyone_gets = len({destination for _, destination in pairs}) == devices * rows
    buffers: list[Any] = [] if everyone_gets else [jnp.zeros_like(held[:1])]
    offset = len(buffers)
    wanted = np.zeros((devices, rows), np.int32)  # where in the received rows each position finds its own
    device = index_of(mesh)
    for shift, moves in sorted(routes.items()):
        if shift == 0:
            buffers.append(held)
            for to_device, to_row, from_row in ((m[2], m[3], m[1]) for m in moves):
                wanted[to_device, to_row] = offset + from_row
            offset += rows
            continue
        sent: list[list[int]] = [[] for _ in range(devices)]
        for from_device, from_row, to_device, to_row in moves:
            wanted[to_device, to_row] = offset + len(sent[from_device])
            sent[from_device].append(from_row)
        width = max(map(len, sent))
        table = np.array([[*picked, *[0] * (width - len(picked))] for picked in sent], np.int32)
        message = held[jnp.asarray(table)[device]] if (table != np.arange(rows)[None, :width]).any() else held[:width]
        links = [(d, (d + shift) % devices) for d in range(devices) if sent[d]]
        buffers.append(lax.ppermute(message, tuple(a.key for a in mesh), links))
        offset += width
    received = jnp.concatenate(buffers)
    return received[jnp.asarray(wanted)[device, index_of(rest)]]


def _placer(axes: Sequence[Axis], mesh: Sequence[Axis], rest: Sequence[Axis]) -> Any:
    sizes = [axis.size for axis in axes]

    def number(chosen: Sequence[Axis], digits: dict[Any, int]) -> int:
        out = 0
        for axis in chosen:
            out = out * axis.size + digits[axis.key]
        return out

    def place(position: int) -> tuple[int, int]:
        digits = {axis.key: int(d) for axis, d in zip(axes, np.unravel_index(position, sizes), strict=True)}
        return number(mesh, digits), number(rest, digits)

    return place


def times(x: Any, n: int) -> Any:
    """`n * x`."""
    return x if n == 1 else lax.mul(x, lax.full_like(x, n))


def share(x: Any, n: int) -> Any:
    """`x / n`."""
    return x if n == 1 else lax.div(x, lax.full_like(x, n))


def like_gathered(x: Any, size: int, dimension: int) -> Any:
    """`x` stacked `size` times along a new dimension."""
    return jax.lax.broadcast_in_dim(
        x, (*x.shape[:dimension], size, *x.shape[dimension:]), [i + (i >= dimension) for i in range(x.ndim)]
    )
