"""What a run leaves of what its cell reads: then the next run can tell what the cell changes from what others did."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxnb.objects.paths import Path, Same

__all__ = ["Left"]


class Left:
    """The key of everything that a cell reads, with its inputs.

    Args:
      parts: the key, by the paths of the values.
      leaves: the inputs.
    """

    __slots__ = ("_leaves", "parts")

    def __init__(self, parts: dict[Path, tuple[Any, ...]], leaves: list[Any]) -> None:
        self.parts = parts
        self._leaves = [_mark(leaf) for leaf in leaves]

    def is_as(self, other: Left) -> bool:
        """Whether nothing has changed, as far as that shows without looking into arrays."""
        return self.parts == other.parts and self._leaves == other._leaves


def _mark(leaf: Any) -> Any:
    """What stands for an input, without keeping an array alive."""
    return Same(leaf) if isinstance(leaf, jax.Array | np.ndarray) else (type(leaf), repr(leaf))
