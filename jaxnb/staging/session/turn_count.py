"""How often the loops turned that Python ran because their bodies are staged once."""

from __future__ import annotations

__all__ = ["TurnCount"]


class TurnCount:
    """Counts the turns of loops, each known by the function that it stands in and its first and last line."""

    def __init__(self) -> None:
        self._turns: dict[tuple[bytes, int, int], int] = {}

    def add(self, line: int, end_line: int, function: bytes = b"") -> None:
        """A loop turns once more; `function` is the fingerprint of the code that it stands in, if not the cell"""
        loop = function, line, end_line
        self._turns[loop] = self._turns.get(loop, 0) + 1

    @property
    def of_outer(self) -> tuple[int, ...]:
        """The turns of the loops that stand in no other one, in the order of their lines."""
        spans = sorted(self._turns)
        return tuple(
            self._turns[one]
            for one in spans
            if not any(one != other and one[0] == other[0] and _holds(other[1:], one[1:]) for other in spans)
        )


def _holds(outer: tuple[int, int], inner: tuple[int, int]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]
