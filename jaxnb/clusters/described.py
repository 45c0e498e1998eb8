"""What the notebook is told of a value that the processes of a cluster hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxnb import _jax

__all__ = ["ATOMS", "Leaf", "Shown", "follow", "is_plain", "show_value"]

ATOMS = (type(None), bool, int, float, complex, str, bytes)
_LONGEST = 10_000  # characters of a text that is told at once
_MOST_LEAVES = 10_000


@dataclass(frozen=True)
class Leaf:
    """An array in a value.

    Attributes:
      path: to it, as JAX writes it, such as "['w']".
      shape, dtype: of the whole.
      spec: how it is spread, such as "P('x', None) on x=4, y=2"; "" where each process has it for itself.
      where: by rank how much of it that process has: blocks and bytes.
    """

    path: str
    shape: tuple[int, ...]
    dtype: str
    spec: str = ""
    where: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class Shown:
    """What is told of a value.

    Attributes:
      number: by which the processes keep it; -1 of one that the notebook has itself.
      plain: it, where the notebook has it itself.
      type: the name of its type.
      leaves: its arrays; only the first if it is not asked for as a whole.
      count: how many arrays it has; -1 where nobody has counted.
      text: what Python writes for it, where it holds no arrays.
    """

    number: int
    plain: Any = None
    type: str = ""
    leaves: tuple[Leaf, ...] = ()
    count: int = -1
    text: str = ""

    @classmethod
    def of_plain(cls, value: Any) -> Shown:
        """Of a value that the notebook has itself."""
        return cls(-1, value, type(value).__name__)

    @property
    def is_array(self) -> bool:
        """Whether it is one array."""
        return self.count == 1 and self.leaves[0].path == ""


def is_plain(value: Any) -> bool:
    """Whether the notebook is given a value itself: what nobody can change, and is short."""
    if type(value) is tuple:
        return len(value) <= 100 and all(map(is_plain, value))
    return type(value) in ATOMS and not (isinstance(value, (str, bytes)) and len(value) > _LONGEST)


def show_value(value: Any, number: int, whole: bool = False) -> Shown:
    """What is told of a value.

    Args:
      value: any.
      number: by which it is kept.
      whole: whether all of its arrays are told.
    """
    kind = type(value).__name__
    if isinstance(value, (jax.Array, np.ndarray)):
        return Shown(number, None, kind, (_leaf("", value),), 1)
    if not whole:
        return Shown(number, None, kind)
    leaves = list[Leaf]()
    try:
        found = [] if _holds_itself(value) else jax.tree_util.tree_leaves_with_path(value)[:_MOST_LEAVES]
    except Exception:  # a node that raises as it is flattened is an object like others
        found = []
    for path, leaf in found:
        if isinstance(leaf, (jax.Array, np.ndarray)) and not _jax.is_tracer(leaf):
            leaves.append(_leaf(jax.tree_util.keystr(path), leaf))
    return Shown(number, None, kind, tuple(leaves), len(leaves), "" if leaves else repr(value)[:_LONGEST])


def _holds_itself(value: Any) -> bool:
    """Whether a container is one of its own parts, which JAX would never come to the end of."""
    above, done, waits = set[int](), set[int](), [(value, False)]
    while waits:
        item, left = waits.pop()
        if not isinstance(item, (list, tuple, dict)) or id(item) in done:
            continue
        if left:
            above.discard(id(item))
            done.add(id(item))
        elif id(item) in above:
            return True
        else:
            above.add(id(item))
            waits.append((item, True))
            waits += [(part, False) for part in (item.values() if isinstance(item, dict) else item)]
    return False


def follow(value: Any, path: Sequence[tuple[str, Any]]) -> Any:
    """A part of a value: items by ("item", key), attributes by ("attribute", name).

    Raises:
      Exception: what Python raises where there is none.
    """
    for kind, key in path:
        value = value[key] if kind == "item" else getattr(value, key)
    return value


def _leaf(path: str, array: Any) -> Leaf:
    shape, dtype = tuple(array.shape), str(array.dtype)
    sharding = getattr(array, "sharding", None)
    if sharding is None or len(sharding.device_set) == 1:
        return Leaf(path, shape, dtype)
    spec, mesh = getattr(sharding, "spec", None), getattr(sharding, "mesh", None)
    text = type(sharding).__name__
    if spec is not None and mesh is not None:
        axes = ", ".join(f"{name}={size}" for name, size in mesh.shape.items())
        text = f"P({', '.join(map(repr, spec))}) on {axes}"
    blocks, itemsize = dict[int, set[Any]](), array.dtype.itemsize
    for device, index in sharding.devices_indices_map(shape).items():
        part = tuple(one.indices(size)[:2] for one, size in zip(index, shape, strict=True))
        blocks.setdefault(device.process_index, set()).add(part)
    sizes = {rank: sum(_size(part) for part in parts) * itemsize for rank, parts in blocks.items()}
    return Leaf(path, shape, dtype, text, tuple((rank, len(blocks[rank]), sizes[rank]) for rank in sorted(blocks)))


def _size(part: Sequence[tuple[int, int]]) -> int:
    size = 1
    for start, stop in part:
        size *= stop - start
    return size
