"""Arrays on their way from one process to another: what they are, and the blocks of them that there are.

An array that lies on several devices never travels whole. Whoever sends it has some of its blocks, whoever receives it
needs those of its own devices, and where two devices hold the same block it goes once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxnb import _jax

__all__ = [
    "Block",
    "Described",
    "Lost",
    "as_described",
    "blocks_of",
    "blocks_on",
    "describe",
    "make_array",
    "whole_of",
]

Block = tuple[tuple[int, int], ...]
"""Which part of an array: for each dimension where it begins, and where it ends."""


@dataclass(frozen=True)
class Described:
    """What an array is, without its values.

    Attributes:
      shape: of the whole.
      dtype: its name; of keys that of their data.
      weak: whether the dtype is weak.
      key: the implementation of random keys; "" of other arrays.
      sharding: how it lies on several devices; None for an array of one.
      device: which of the local devices it was put on; None if nobody has said.
    """

    shape: tuple[int, ...]
    dtype: str
    weak: bool = False
    key: str = ""
    sharding: Any = None
    device: int | None = None

    @property
    def whole(self) -> Block:
        """The block that is all of it."""
        return tuple((0, size) for size in self.shape)


class Lost:
    """Stands where an array was of which no process has some block any more."""

    def __init__(self, described: Described) -> None:
        self.shape, self.dtype = described.shape, described.dtype

    def __repr__(self) -> str:
        return f"<lost: {self.dtype}{list(self.shape)}>"


def describe(array: jax.Array) -> tuple[Described, jax.Array]:
    """What an array is, and the array whose blocks are sent: of keys their data."""
    weak, key, data = bool(getattr(array, "weak_type", False)), "", array
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        key, data = str(jax.random.key_impl(array)), jax.random.key_data(array)
    sharding, device = data.sharding, None
    if len(sharding.device_set) == 1:
        (own,) = sharding.device_set
        device = jax.local_devices(backend=own.platform).index(own) if getattr(array, "committed", True) else None
        sharding = None
    return Described(tuple(data.shape), str(data.dtype), weak, key, sharding, device), data


def blocks_on(sharding: Any, shape: Sequence[int], devices: Iterable[Any]) -> list[Block]:
    """The blocks of an array that lie on some devices, each once."""
    where, wanted = sharding.devices_indices_map(tuple(shape)), set(devices)
    return list(dict.fromkeys(_block(where[device], shape) for device in where if device in wanted))


def blocks_of(array: jax.Array) -> dict[Block, np.ndarray]:
    """The blocks of an array that this process has, each once, as NumPy arrays; waits for them."""
    found = dict[Block, np.ndarray]()
    for shard in array.addressable_shards:
        block = _block(shard.index, array.shape)
        if block not in found:
            found[block] = np.asarray(shard.data)
    return found


def make_array(described: Described, blocks: Mapping[Block, np.ndarray]) -> Any:
    """An array of this process, or its part of one, of blocks; what says that it is lost where one is missing."""
    dtype = jnp.dtype(described.dtype)
    if described.sharding is None:
        if described.whole not in blocks:
            return Lost(described)
        data = blocks[described.whole]
        if described.device is None:
            made = jax.device_put(data)
        else:
            local = jax.local_devices()
            made = jax.device_put(data, local[described.device % len(local)])
    else:
        where = described.sharding.addressable_devices_indices_map(described.shape)
        parts = list[Any]()
        for device, index in where.items():
            block = _block(index, described.shape)
            if block not in blocks:
                return Lost(described)
            parts.append(jax.device_put(blocks[block], device))
        made = jax.make_array_from_single_device_arrays(described.shape, described.sharding, parts, dtype=dtype)
    return as_described(made, described)


def as_described(made: jax.Array, described: Described) -> jax.Array:
    """An array as what it was described as: keys of their data, and of a weak dtype."""
    if described.key:
        return jax.random.wrap_key_data(made, impl=described.key)
    if described.weak:
        return _jax.weakly_typed(made)
    return made


def whole_of(described: Described, blocks: Mapping[Block, np.ndarray]) -> np.ndarray | None:
    """An array put together from its blocks; None where they do not cover it."""
    if (there := blocks.get(described.whole)) is not None:
        return there
    made = np.empty(described.shape, jnp.dtype(described.dtype))
    filled = 0
    for block, data in blocks.items():
        made[tuple(slice(*part) for part in block)] = data
        filled += data.size
    return made if filled == made.size else None


def _block(index: Sequence[slice], shape: Sequence[int]) -> Block:
    return tuple(part.indices(size)[:2] for part, size in zip(index, shape, strict=True))
