"""What a column of numbers is, beside the ops or the lines of a program: its declaration, from which all who show it
draw. The columns themselves are fields of `Op`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

__all__ = ["Column", "column", "columns_of"]


@dataclass(frozen=True, slots=True)
class Column:
    """A number of each op, or of each line.

    Attributes:
      unit: what it counts. "seconds" are measured, all else is counted, in whole numbers.
      tells: what it says, in a few words.
      head: what stands above it; "" for its name.
      total: how the figure of a whole program is said, `{}` being the number with its unit.
      rank: its place among the others where the most telling stands first.
      leaves: its place among those that leave a text in which there is no room for all, the first at 0; None for what
        is in no text. The inspector has room.
      of: whose it is; "derived" is what follows from the levels, of ops as well as of lines and calls.
      name: the field of `Op`.
    """

    unit: Literal["flops", "bytes", "seconds", "count", "share"]
    tells: str
    head: str = ""
    total: str = "{}"
    rank: int = 9
    leaves: int | None = 0
    of: Literal["op", "line", "derived"] = "op"
    name: str = ""

    @property
    def title(self) -> str:
        """What stands above it."""
        return self.head or self.name

    @property
    def in_text(self) -> bool:
        """Whether texts have room for it."""
        return self.leaves is not None

    @property
    def measured(self) -> bool:
        """Whether it is no whole number."""
        return self.unit == "seconds"


def column(unit: Literal["flops", "bytes", "seconds", "count"], tells: str, **options: Any) -> Any:
    """A field of `Op` that is a column; None where nobody knows. Options are those of `Column`."""
    return field(default=None, metadata={"column": Column(unit, tells, **options)})


def columns_of(ops: type) -> Mapping[str, Column]:
    """The columns that a class declares, by the names of their fields."""
    found = {field.name: field.metadata.get("column") for field in fields(ops)}
    return {name: replace(one, name=name) for name, one in found.items() if one is not None}
