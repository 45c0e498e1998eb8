"""A plan as text: the memory of a device, what it computes and sends, how long that takes; and the collectives."""

from __future__ import annotations

from jaxnb.placement.estimate import Estimate
from jaxnb.placement.plan import Footprint, Plan
from jaxnb.units import format_bytes, format_flops, format_seconds
from jaxnb.views.collectives import render_ledger

__all__ = ["estimate_text", "footprint_text", "render_plan"]


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
