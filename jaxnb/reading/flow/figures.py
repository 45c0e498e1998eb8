"""The figures of a compiled program that stand on the one line under a cell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jaxnb.reading as room
from jaxnb import _jax, program

__all__ = ["NO_FIGURES", "Figures", "read_figures", "total"]


@dataclass(frozen=True, slots=True)
class Figures:
    """What a program asks for.

    Attributes:
      flops: floating point operations, `while` bodies once; None where a primitive is unknown.
      peak: bytes that it needs at its peak, inputs and results included; None where the runtime does not say.
      collectives: how many instructions send something to other devices.
      sent: bytes that a device sends by them; None where that is not known.
      devices: for how many devices it was compiled; 0 where that was not asked.
      equations: how many it has, those of functions and loops included: as many as its level "jaxpr" has ops.
    """

    flops: int | None = None
    peak: int | None = None
    collectives: int = 0
    sent: int | None = 0
    devices: int = 0
    equations: int = 0


NO_FIGURES = Figures()


def read_figures(closed_jaxpr: Any, compiled: Any) -> Figures:
    """The figures of a program; those that cannot be had are None.

    Args:
      closed_jaxpr: what was compiled.
      compiled: what it became, or None.
    """
    cost = room.cost_of(closed_jaxpr)
    flops = cost.flops if not cost.unknown else None
    equations = _jax.count_eqns(closed_jaxpr)
    if compiled is None:
        return Figures(flops, equations=equations)
    devices = room.count_devices(compiled)
    return Figures(flops, room.peak_bytes(compiled), *_traffic(compiled, devices), devices, equations)


def _traffic(compiled: Any, devices: int) -> tuple[int, int | None]:
    """How many collectives there are, and what a device sends by them."""
    if devices == 1:
        return 0, 0
    modules = room.read_modules(compiled)
    opcodes = {item.opcode for item in modules[0].instructions()} if modules else set[str]()
    if not any(word in opcode for opcode in opcodes for word in ("all-", "collective-", "-scatter")):
        return 0, 0
    return program.count_traffic(room.with_hlo_costs(room.read_hlo(modules[0]).level, modules[0]), devices)


def total(figures: Iterable[Figures]) -> Figures:
    """Of several programs that run one after the other: the flops and bytes of all, the highest of their peaks."""
    read = list(figures)
    peaks = [one.peak for one in read]
    highest = [peak for peak in peaks if peak is not None]
    return Figures(
        _sum([one.flops for one in read]) if read else None,
        max(highest) if highest and len(highest) == len(read) else None,
        sum(one.collectives for one in read),
        _sum([one.sent for one in read]),
        equations=sum(one.equations for one in read),
    )


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
