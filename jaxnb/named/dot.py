"""`named_dot`: a `dot_general` that contracts names too.

A contraction of a name stays one dot: where the name becomes a dimension of the operands, that dimension
becomes a contracted one, instead of a product as large as both operands and a sum over it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from jaxnb._jax import is_anonymous
from jaxnb.named.errors import AxisSizeError

__all__ = ["named_dot"]

named_dot_p = Primitive("named_dot")


def named_dot(x: Any, y: Any, names: Sequence[Any], dimensions: Any, precision: Any, accumulate: Any) -> Any:
    """`lax.dot_general(x, y)` summed over `names`.

    Args:
      x, y: arrays of one dtype.
      names: the names to contract, all in scope.
      dimensions: `((contracted of x, contracted of y), (batch of x, batch of y))`, as for `lax.dot_general`.
      precision: as for `lax.dot_general`.
      accumulate: the dtype of the result, or None; `preferred_element_type` of `lax.dot_general`.
    """
    (cx, cy), (bx, by) = dimensions
    dims = ((tuple(cx), tuple(cy)), (tuple(bx), tuple(by)))
    if not names:
        return lax.dot_general(x, y, dims, precision=precision, preferred_element_type=accumulate)
    return named_dot_p.bind(
        x, y, names=tuple(names), dimensions=dims, precision=_hashable(precision), accumulate=accumulate
    )


def _hashable(precision: Any) -> Any:
    return tuple(precision) if isinstance(precision, list) else precision


def _plain(x: Any, y: Any, *, names: Any, dimensions: Any, precision: Any, accumulate: Any) -> Any:
    del names
    return lax.dot_general(x, y, dimensions, precision=precision, preferred_element_type=accumulate)


def _abstract(x: Any, y: Any, *, names: Any, dimensions: Any, precision: Any, accumulate: Any) -> Any:
    del names, precision
    (cx, cy), (bx, by) = dimensions
    paired = [*zip(cx, cy, strict=True), *zip(bx, by, strict=True)]
    unequal = [(i, k) for i, k in paired if x.shape[i] != y.shape[k]]
    if unequal:
        i, k = unequal[0]
        raise AxisSizeError(
            f"a named dot pairs dimension {i} of size {x.shape[i]} with dimension {k} of size {y.shape[k]}.",
            why="dimensions that are contracted or paired have one size.",
            fix="check the shapes of the two operands at one position.",
        )
    shape = (
        *(x.shape[i] for i in bx),
        *(size for i, size in enumerate(x.shape) if i not in (*cx, *bx)),
        *(size for i, size in enumerate(y.shape) if i not in (*cy, *by)),
    )
    dtype = x.dtype if accumulate is None else jax.dtypes.canonicalize_dtype(accumulate)
    return x.update(shape=shape, dtype=dtype, weak_type=False)


def _transposed(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))


def _transpose_x(ct: Any, x_aval: Any, y: Any, *, names: Any, dimensions: Any, precision: Any) -> Any:
    """The cotangent of x: the sum of the cotangent over the names, contracted with what is free of y."""
    (cx, cy), (bx, by) = dimensions
    ct = lax.psum(ct, names)
    free_x = [i for i in range(len(x_aval.shape)) if i not in (*cx, *bx)]
    free_y = [i for i in range(y.ndim) if i not in (*cy, *by)]
    ct_batch = range(len(bx))
    ct_y = range(len(bx) + len(free_x), len(bx) + len(free_x) + len(free_y))
    out = lax.dot_general(
        ct.astype(y.dtype),
        y,
        ((tuple(ct_y), tuple(free_y)), (tuple(ct_batch), tuple(by))),
        precision=precision,
    )
    # the result has the batch dimensions, x's free ones, and y's contracted ones by rising position in y
    contracted = [cx[cy.index(i)] for i in sorted(cy)]
    return lax.transpose(out, _transposed([*bx, *free_x, *contracted])).astype(x_aval.dtype)


def _transpose(ct: Any, x: Any, y: Any, *, names: Any, dimensions: Any, precision: Any, accumulate: Any) -> list[Any]:
    del accumulate
    swapped = precision[::-1] if isinstance(precision, tuple) else precision
    if ad.is_undefined_primal(x):
        return [_transpose_x(ct, x.aval, y, names=names, dimensions=dimensions, precision=precision), None]
    (cx, cy), (bx, by) = dimensions
    free_x, free_y = x.ndim - len(cx) - len(bx), y.aval.ndim - len(cy) - len(by)
    batch = len(bx)
    # seen from y the free dimensions of the other operand come last
    order = [*range(batch), *range(batch + free_x, batch + free_x + free_y), *range(batch, batch + free_x)]
    flipped = lax.transpose(ct, order)
    return [
        None,
        _transpose_x(flipped, y.aval, x, names=names, dimensions=((cy, cx), (by, bx)), precision=swapped),
    ]


def _batch(axis: Any, values: Any, dims: Any, *, names: Any, dimensions: Any, precision: Any, accumulate: Any) -> Any:
    (x, y), (dx, dy) = values, dims
    (cx, cy), (bx, by) = dimensions
    rest: dict[str, Any] = {"precision": precision, "accumulate": accumulate}
    if not is_anonymous(axis.name) and axis.name in names:
        left = tuple(name for name in names if name != axis.name)
        if dx is None and dy is None:
            out = named_dot(x, y, left, dimensions, **rest)
            return out * jnp.asarray(axis.size, out.dtype), None
        if dx is None or dy is None:
            # only one operand varies: the sum of the products is the product with the sum
            x = x if dx is None else jnp.sum(x, axis=dx, dtype=x.dtype)
            y = y if dy is None else jnp.sum(y, axis=dy, dtype=y.dtype)
            return named_dot(x, y, left, dimensions, **rest), None
        grown = ((dx, *_beyond(cx, dx)), (dy, *_beyond(cy, dy))), (_beyond(bx, dx), _beyond(by, dy))
        return named_dot(x, y, left, grown, **rest), None
    if dx is None and dy is None:
        return named_dot(x, y, names, dimensions, **rest), None
    if dx is not None and dy is not None:
        grown = (_beyond(cx, dx), _beyond(cy, dy)), ((dx, *_beyond(bx, dx)), (dy, *_beyond(by, dy)))
        return named_dot(x, y, names, grown, **rest), 0
    if dx is not None:
        shifted = (_beyond(cx, dx), cy), (_beyond(bx, dx), by)
        free = [i for i in range(x.ndim) if i not in (*shifted[0][0], *shifted[1][0])]
        return named_dot(x, y, names, shifted, **rest), len(bx) + free.index(dx)
    assert dy is not None
    shifted = (cx, _beyond(cy, dy)), (bx, _beyond(by, dy))
    free = [i for i in range(y.ndim) if i not in (*shifted[0][1], *shifted[1][1])]
    return named_dot(x, y, names, shifted, **rest), x.ndim - len(cx) + free.index(dy)


def _beyond(positions: Sequence[int], inserted: int) -> tuple[int, ...]:
    return tuple(p + (p >= inserted) for p in positions)


named_dot_p.def_impl(_plain)
named_dot_p.def_abstract_eval(_abstract)
ad.defjvp(
    named_dot_p,
    lambda g, x, y, **p: named_dot_p.bind(g, y, **p),
    lambda g, x, y, **p: named_dot_p.bind(x, g, **p),
)
ad.primitive_transposes[named_dot_p] = _transpose
batching.fancy_primitive_batchers[named_dot_p] = _batch
mlir.register_lowering(named_dot_p, mlir.lower_fun(_plain, multiple_results=False))
