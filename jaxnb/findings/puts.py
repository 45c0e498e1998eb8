"""What `jax.device_put` did with a buffer: whether it is shared, was moved, or was copied.

`donate` and `may_alias` are wishes. Where source and target are on one device, JAX may answer `donate=True` by sharing
the buffer and leave the source alive; where they are on different ones it copies, whatever was asked. So it is read
from the buffers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxnb.units import format_bytes

__all__ = ["Put", "watch_put"]


@dataclass(frozen=True, slots=True)
class Put:
    """What became of one array.

    Attributes:
      value: what `jax.device_put` returned.
      what: "shared", if source and result are alive and have a buffer in common; "moved", if the result has the buffer
        of a source that is gone; "copied" otherwise.
      deleted: whether the source is gone.
      donate: what was asked for.
      may_alias: likewise.
      nbytes: of the array.
    """

    value: Any
    what: str
    deleted: bool
    donate: bool
    may_alias: bool | None
    nbytes: int

    def __str__(self) -> str:
        """A sentence or two, which say where a wish was not granted."""
        size = format_bytes(self.nbytes)
        if self.what == "shared":
            text = f"shared: both arrays have the same buffer of {size}."
            if self.donate:
                text += " donate=True gave up nothing: the source is alive."
            elif self.may_alias is False:
                text += " may_alias=False was not heeded."
        elif self.what == "moved":
            text = f"moved: the result has the buffer of {size}, and the source is gone."
        else:
            gone = ", and the source is gone" if self.deleted else ""
            text = f"copied: {size} anew{gone}."
            if self.donate and not self.deleted:
                text += " donate=True gave up nothing: the source is alive."
            elif self.may_alias:
                text += " may_alias=True could not be granted."
        return text


def watch_put(x: Any, device: Any = None, *, donate: bool = False, may_alias: bool | None = None) -> Put:
    """Calls `jax.device_put` and says what it did with the buffer.

    Args:
      x: an array of JAX or NumPy.
      device: where to, as `jax.device_put` takes it.
      donate: let JAX reuse the buffer, and give up `x`.
      may_alias: let the result share the buffer of `x`; None leaves that to JAX.

    Raises:
      ValueError: from JAX, if both `donate` and `may_alias` are True.

    >>> watch_put(jax.numpy.ones(3), may_alias=False).what
    'copied'
    """
    if isinstance(x, jax.Array):
        jax.block_until_ready(x)
    before, nbytes = _buffers(x), int(getattr(x, "nbytes", 0))
    value = jax.block_until_ready(jax.device_put(x, device, donate=donate, may_alias=may_alias))
    deleted = isinstance(x, jax.Array) and x.is_deleted()
    same = bool(before & _buffers(value))
    what = ("moved" if deleted else "shared") if same else "copied"
    return Put(value, what, deleted, donate, may_alias, nbytes)


def _buffers(x: Any) -> frozenset[int]:
    """Where the parts of an array lie in memory; none of an empty one."""
    if isinstance(x, np.ndarray):
        return frozenset({x.ctypes.data} if x.nbytes else ())
    if not isinstance(x, jax.Array) or not x.nbytes:
        return frozenset()
    return frozenset(shard.data.unsafe_buffer_pointer() for shard in x.addressable_shards)
