"""The words of a cell, for lints that need no program: what is wrong in a plain cell is so in a staged one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jaxnb.findings.loops import LoopText

__all__ = ["CellText"]


@dataclass(frozen=True)
class CellText:
    """What a lint of the words of a cell is given, plain or staged, after it has run well.

    Attributes:
      shown: the cell as displayed.
      namespace: its names now.
      seconds: that it has run, without what was compiled; None where that is not known.
    """

    shown: str
    namespace: Mapping[str, Any]
    seconds: float | None = None

    @cached_property
    def text(self) -> LoopText | None:
        """Its syntax; None if it is no Python."""
        return LoopText.of(self.shown, self.namespace)
