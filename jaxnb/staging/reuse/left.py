"""What a run leaves of what its cell reads: then the next run can tell what the cell changes from what others did."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from jaxnb.staging.objects.paths import Path, Same

__all__ = ["Left", "SinceLast"]


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


class SinceLast:
    """What has become of that between the end of the last run and the beginning of this one.

    Args:
      ended: what the last run has left, if it traced something.
      begun: what there is now; None if that cannot be told.

    Attributes:
      alone: whether nobody but the cell has changed anything.
      parts: the key of everything now, by the paths of the values.
    """

    __slots__ = ("_ended", "alone", "parts")

    def __init__(self, ended: Left | None, begun: Left | None) -> None:
        self.parts = begun.parts if begun is not None else {}
        self._ended = ended.parts if ended is not None and begun is not None else None
        self.alone = ended is not None and begun is not None and begun.is_as(ended)

    def is_as_left(self, path: Path) -> bool:
        """Whether the last run has traced something, and nobody has changed since what is at a path."""
        return self._ended is not None and self._ended.get(path) == self.parts.get(path)


def _mark(leaf: Any) -> Any:
    """What stands for an input, without keeping an array alive."""
    return Same(leaf) if isinstance(leaf, jax.Array | np.ndarray) else (type(leaf), repr(leaf))
