"""How each value of a program is spread: as it was asked for, as its type says, and as the compiler has it."""

from __future__ import annotations

from dataclasses import dataclass

from jaxnb.program import Finding
from jaxnb.program.display import Displayed
from jaxnb.program.placement.data import Mesh

__all__ = ["ROLES", "ShardingRow", "Shardings"]

ROLES = ("input", "constraint", "argument", "line", "result")
"""What a value is: an input of the program, what a constraint makes, what a `shard_map` takes or gives, what a line
ends in, or a result."""


@dataclass(frozen=True, slots=True)
class ShardingRow:
    """One value.

    Attributes:
      role: one of `ROLES`.
      name: what the user calls it; "" for what has no name.
      aval: `float32[8,4]`.
      line: of the cell, if it is known.
      asked: the sharding that was asked for: that of the array that was passed, of a constraint, of `out_shardings`,
        of the specs of a `shard_map`; "" where nobody asked.
      typed: the one that its type carries along explicit axes of the mesh; "" where the compiler is free.
      got: the one that the compiled program has; "" where that cannot be told.
      nbytes: of the whole value.
      most: bytes on the device that holds most; None where that is not known.
      copies: on how many devices each piece is; None where that is not known.
      notes: what is odd about it, each in a few words.
    """

    role: str
    name: str
    aval: str
    line: int | None = None
    asked: str = ""
    typed: str = ""
    got: str = ""
    nbytes: int = 0
    most: int | None = None
    copies: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether the compiler has it otherwise than it was asked for."""
        wanted = self.asked or self.typed
        # An array on one device was not asked to be there, as far as anybody knows.
        return wanted.startswith("P(") and bool(self.got) and _plain(wanted) != _plain(self.got)


@dataclass(frozen=True, slots=True, repr=False)
class Shardings(Displayed):
    """The values of a program of several devices, in the order of its lines. It shows itself as a table.

    Attributes:
      rows: the values.
      mesh: over which they are spread; None if there is none.
      source: the cell.
      findings: what there is to say about them, with fixes that were tried.
    """

    rows: tuple[ShardingRow, ...]
    mesh: Mesh | None = None
    source: str = ""
    findings: tuple[Finding, ...] = ()


def _plain(spec: str) -> str:
    """A spec without the None at its end, which means nothing: `P('x', None)` is `P('x')`."""
    inner = spec.removeprefix("P(").removesuffix(")")
    while inner == "None" or inner.endswith(", None"):
        inner = inner.removesuffix("None").removesuffix(", ")
    return f"P({inner})" if spec.startswith("P(") else spec
