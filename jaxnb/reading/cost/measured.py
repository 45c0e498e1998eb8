"""What XLA counts for functions that it has no operation for: data that `tools/cost_table.py` has measured."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

import jax

from jaxnb.reading.cost.value import Cost

__all__ = ["COMPLEX", "DOUBLE", "FOLDER", "RANDOM", "REAL", "STEPS", "Each", "Formula"]

FOLDER = Path(__file__).parent


class Formula(NamedTuple):
    """What a function becomes that XLA has no operation for, for each element.

    Attributes:
      flops: of the formula.
      transcendentals: likewise.
      words: numbers read and written on the way, in parts of a complex number where it is one.
      flags: booleans read and written on the way.
      constants: numbers that are spread over an array first, where no earlier equation has done so.
      wide: whether numbers of two bytes are turned into float32 and back.
      one: whether its constant is 1, which others may have spread.
    """

    flops: int = 0
    transcendentals: int = 0
    words: int = 0
    flags: int = 0
    constants: int = 0
    wide: bool = False
    one: bool = False


class Each(NamedTuple):
    """What something takes for each element, in the units of `Cost`."""

    flops: int = 0
    bytes: int = 0
    transcendentals: int = 0

    def of(self, count: int) -> Cost:
        """For so many elements."""
        return Cost(self.flops * count, self.bytes * count, self.transcendentals * count)


def _newest() -> Path:
    """The table of this jax, or of the newest that was measured before it."""
    files = {tuple(map(int, path.stem.removeprefix("jax_").split("."))): path for path in FOLDER.glob("jax_*.toml")}
    return files[max(version for version in files if version <= jax.__version_info__)]


_TABLE = tomllib.loads(_newest().read_text("utf-8"))

REAL, DOUBLE, COMPLEX = (
    {name: Formula(**row) for name, row in _TABLE[section].items()} for section in ("real", "double", "complex")
)
"""By the name of the primitive: for float32, for float64 where that is another formula, for complex numbers."""

STEPS, RANDOM = ({name: Each(**row) for name, row in _TABLE[section].items()} for section in ("steps", "random"))
"""What combining two elements takes in a reduction, and what a hash takes and drawing a number beside it."""
