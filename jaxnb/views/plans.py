"""Plans as text: the memory of a device, what it computes and sends, how long that takes; and plans side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxnb.placement.estimate import Estimate
from jaxnb.placement.plan import Footprint, Plan
from jaxnb.units import format_bytes, format_flops, format_seconds
from jaxnb.views.aligned import align
from jaxnb.views.collectives import render_ledger

if TYPE_CHECKING:
    from jaxnb.planning.search import Candidate, Search

__all__ = ["estimate_text", "footprint_text", "render_plan", "render_search"]

_HEADS = ("", "resources", "time", "computing", "sending", "memory", "sends", "")
_RIGHT = (2, 3, 4, 5, 6)


def render_plan(plan: Plan, *, width: int = 120) -> str:
    """A plan in some lines, and its ledger.

    Args:
      plan: to be shown.
      width: of the text, in characters.
    """
    lines = [f"on {plan.mesh}: {plan.mesh.size:,} devices", f"memory   {footprint_text(plan.footprint)}{_fits(plan)}"]
    if plan.hardware is not None:
        estimate = plan.estimate()
        lines.append(f"time     {estimate_text(estimate)}")
        if estimate.sent < plan.ledger.total:
            lines.append("         what has 16 bits is counted so; XLA widens it on CPUs, and the table has that")
    sends = render_ledger(plan.ledger, source=plan.source, width=width)
    return "\n".join([*lines, f"sends    {sends}"])


def footprint_text(footprint: Footprint) -> str:
    """`3.6 GB a device: inputs 1.0 GB, results 1.0 GB, temporaries 1.6 GB`."""
    shared = f" ({format_bytes(footprint.shared)} of them in place of inputs)" if footprint.shared else ""
    return (
        f"{format_bytes(footprint.total)} a device: inputs {format_bytes(footprint.inputs)}, "
        f"results {format_bytes(footprint.results)}{shared}, temporaries {format_bytes(footprint.temporaries)}"
    )


def estimate_text(estimate: Estimate) -> str:
    """`12 ms on NVIDIA H100 SXM5: computing 9.0 ms (1.2 Tflops), sending 3.0 ms (1.2 GB)`, and the two extremes."""
    least = "" if estimate.complete else "at least "
    return (
        f"{least}{format_seconds(estimate.overlapped)} to {format_seconds(estimate.total)} on {estimate.hardware}: "
        f"computing {format_seconds(estimate.computation)} ({format_flops(estimate.flops)} a device), "
        f"sending {format_seconds(estimate.communication)} ({format_bytes(estimate.sent)} a device)"
    )


def _fits(plan: Plan) -> str:
    if plan.hardware is None:
        return ""
    have = f"{plan.hardware} has {format_bytes(plan.hardware.memory)}"
    return f" · {have}" if plan.fits else f" · TOO MUCH: {have}"


def render_search(search: Search, *, limit: int = 12) -> str:
    """A search as a table, the best first; those that nothing beats in both time and memory have a star.

    Args:
      search: to be shown.
      limit: how many rows at most; of those behind them only the starred are shown.
    """
    tried = len(search.candidates) + len(search.refused)
    head = [f"{tried} way{'s' * (tried != 1)} tried on {search.hardware}"]
    if search.refused:
        head.append(f"{len(search.refused)} not allowed by the program")
    if search.too_large:
        head.append(f"{search.too_large} too large for a device")
    if search.skipped:
        head.append(f"{search.skipped} NOT TRIED: pass limit={tried + search.skipped}")
    if not search.candidates:
        return "\n".join([" · ".join(head), *(f"  {why}" for _, why in search.refused[:3])])
    head.insert(0, f"best: {search.best}")
    front = set(map(id, search.pareto))
    shown = [item for rank, item in enumerate(search.candidates) if rank < limit or id(item) in front]
    cells = [_HEADS, *(_row(item, id(item) in front) for item in shown)]
    left = len(search.candidates) - len(shown)
    more = "   * is beaten by no other in both time and memory" + (f" · {left} more are not shown" if left else "")
    return "\n".join([" · ".join(head), "", *align(cells, _RIGHT), more])


def _row(item: Candidate, front: bool) -> tuple[str, ...]:
    estimate = item.plan.estimate()
    return (
        "*" if front else "",
        str(item),
        format_seconds(item.seconds),
        format_seconds(estimate.computation),
        format_seconds(estimate.communication),
        format_bytes(item.memory),
        format_bytes(estimate.sent),
        "" if item.plan.fits else "does not fit",
    )
