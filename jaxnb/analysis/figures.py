"""The figures of a compiled program that stand on the one line under a cell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["NO_FIGURES", "Figures", "read_figures", "total"]


@dataclass(frozen=True, slots=True)
class Figures:
    """What a program asks for.

    Attributes:
      flops: floating point operations, `while` bodies once; None where a primitive is unknown.
      peak: bytes that it needs at its peak, inputs and results included; None where the runtime does not say.
    """

    flops: int | None = None
    peak: int | None = None


NO_FIGURES = Figures()


def read_figures(closed_jaxpr: Any, compiled: Any) -> Figures:
    """The figures of a program; those that cannot be had are None.

    Args:
      closed_jaxpr: what was compiled.
      compiled: what it became, or None.
    """
    from jaxnb.cost import cost_of  # many rules, which only a cell that is staged needs
    from jaxnb.readers.buffers import peak_bytes

    cost = cost_of(closed_jaxpr)
    return Figures(cost.flops if not cost.unknown else None, None if compiled is None else peak_bytes(compiled))


def total(figures: Iterable[Figures]) -> Figures:
    """Of several programs that run one after the other: the flops of all, the highest of their peaks."""
    read = list(figures)
    flops, peaks = [one.flops for one in read], [one.peak for one in read]
    known = [count for count in flops if count is not None]
    highest = [peak for peak in peaks if peak is not None]
    whole = len(known) == len(read) and bool(read)
    return Figures(sum(known) if whole else None, max(highest) if highest and len(highest) == len(read) else None)
