"""Random bits. The threefry hash takes 20 rounds of 5 operations for each pair of words.

JAX lowers the hash for the CPU as a loop of 5 bodies of 4 rounds, which XLA counts once, and so does this with `once`.
"""

from __future__ import annotations

import math
from typing import Any

import jax

from jaxnb.reading.cost.context import Context, Rule
from jaxnb.reading.cost.measured import RANDOM, Each
from jaxnb.reading.cost.sizes import elements, moved, nbytes
from jaxnb.reading.cost.value import Cost

__all__ = ["RULES", "counters"]

_BODIES = 5
_START = Each(2, 2 * 12 + 2 * 4)  # the key is added to the two words


def _hash(pairs: int, context: Context) -> Cost:
    """Threefry of so many pairs of 32-bit words with one key."""
    hashed = RANDOM["hash"]
    if context.once:
        return hashed.of(pairs)
    return Each(*(start + _BODIES * (both - start) for both, start in zip(hashed, _START, strict=True))).of(pairs)


def _threefry(eqn: Any, context: Context) -> Cost:
    """20 rounds for each pair of words: 117 flops, of which XLA counts 25."""
    return _hash(elements(eqn.outvars[0].aval), context)


def _bits(eqn: Any, context: Context) -> Cost:
    """A hash for each number, whatever its width, and what makes the counters and joins the two words."""
    keys, result = eqn.invars[0].aval, eqn.outvars[0].aval
    if not _is_threefry(keys):
        return Cost(unknown=frozenset({eqn.primitive.name}))
    count = elements(result)
    if not jax.config.jax_threefry_partitionable:  # pyright: ignore[reportAttributeAccessIssue]
        words = count * result.dtype.itemsize // 4
        return _hash(-(-words // 2), context) + Cost(0, 4 * nbytes(result))
    joined = RANDOM[f"bits_{8 * result.dtype.itemsize}"]
    return _hash(count, context) + counters(eqn.params["shape"]) + joined.of(count)


def counters(shape: tuple[int, ...]) -> Cost:
    """The numbers of the elements of an array, as 64 bits, cut into two words of 32."""
    count, more = math.prod(shape), max(len(shape) - 1, 0)
    flops, total = (3 + 2 * more) * count, (8 + 24 + 24) * count + 8
    if more:
        # Each dimension's index is spread; all but the last are multiplied by a stride, and added up.
        total += sum(16 * size + 8 * count for size in shape) + more * ((8 + 24 + 24) * count + 8)
    else:
        total += 8 * count
    return Cost(flops, total)


def _split(eqn: Any, context: Context) -> Cost:
    """A hash for each new key, what makes the counters, and what joins the two words."""
    keys, result = eqn.invars[0].aval, eqn.outvars[0].aval
    if not _is_threefry(keys):
        return Cost(unknown=frozenset({eqn.primitive.name}))
    count = elements(result)
    return _hash(count, context) + counters(eqn.params["shape"]) + RANDOM["split"].of(count)


def _fold_in(eqn: Any, context: Context) -> Cost:
    """A key from the number, and a hash for each key."""
    keys, result = eqn.invars[0].aval, eqn.outvars[0].aval
    if not _is_threefry(keys):
        return Cost(unknown=frozenset({eqn.primitive.name}))
    count = elements(result)
    return _hash(count, context) + Cost(2 * count, 80 * count)


def _seed(eqn: Any, context: Context) -> Cost:
    """A shift and a conversion for each key, which joins two words."""
    count = elements(eqn.outvars[0].aval)
    return Cost(2 * count, 44 * count)


def _generator(eqn: Any, context: Context) -> Cost:
    """A transcendental for each number that is made, the new state included, as XLA counts it."""
    return Cost(0, moved(eqn), sum(elements(v.aval) for v in eqn.outvars))


def _is_threefry(keys: Any) -> bool:
    return keys.dtype.name == "key<fry>"


RULES: dict[str, Rule] = {
    "random_bits": _bits,
    "random_fold_in": _fold_in,
    "random_seed": _seed,
    "random_split": _split,
    "rng_bit_generator": _generator,
    "rng_uniform": _generator,
    "threefry2x32": _threefry,
}
