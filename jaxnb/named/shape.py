"""`NamedShape`: a shape whose dimensions are positions and names."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import prod
from typing import Any

from jaxnb.named.errors import AxisSizeError

__all__ = ["NamedShape"]


class NamedShape:
    """The extents of a value by position and by name.

    Args:
      *positional: the extents of the positional dimensions, in order.
      **named: the extent of each name.
      names: the extents of names that are not identifiers, as a mapping.

    Raises:
      AxisSizeError: an extent is negative or no integer.

    >>> shape = NamedShape(5, batch=20)
    >>> shape, str(shape), shape.total
    (NamedShape(5, batch=20), '[5 | batch:20]', 100)
    >>> shape == NamedShape(5, names={"batch": 20})
    True
    """

    __slots__ = ("_named", "positional")

    def __init__(self, *positional: int, names: Mapping[Hashable, int] | None = None, **named: int) -> None:
        extents: dict[Any, int] = {**(names or {}), **named}
        for where, size in [*enumerate(positional), *extents.items()]:
            if isinstance(size, bool) or not hasattr(size, "__index__") or size < 0:
                raise AxisSizeError(
                    f"NamedShape got the extent {size!r} for {where!r}.",
                    why="an extent is an integer, 0 or more.",
                    fix="pass the number of elements along that dimension.",
                )
        self.positional = tuple(int(size) for size in positional)
        self._named = tuple((name, int(size)) for name, size in extents.items())

    @property
    def named(self) -> dict[Any, int]:
        """The extent of each name."""
        return dict(self._named)

    @property
    def total(self) -> int:
        """How many elements there are over all positions and names."""
        return prod(self.positional) * prod(size for _, size in self._named)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NamedShape):
            return self.positional == other.positional and self.named == other.named
        if isinstance(other, tuple):
            return not self._named and self.positional == other
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self.positional, frozenset(self._named))) if self._named else hash(self.positional)

    def __repr__(self) -> str:
        parts = [str(size) for size in self.positional]
        if all(isinstance(name, str) and name.isidentifier() and name != "names" for name, _ in self._named):
            parts += [f"{name}={size}" for name, size in self._named]
        else:
            parts.append(f"names={self.named!r}")
        return f"NamedShape({', '.join(parts)})"

    def __str__(self) -> str:
        positional = ",".join(map(str, self.positional))
        named = ", ".join(f"{name}:{size}" for name, size in self._named)
        return f"[{positional} | {named}]" if named and positional else f"[{'| ' + named if named else positional}]"
