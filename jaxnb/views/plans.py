"""Plans as text: the memory of a device, what it computes and sends, how long that takes; and plans side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from jaxnb.program import (
    Cycles,
    Estimate,
    Footprint,
    Hiding,
    KernelRoom,
    Padded,
    Plan,
    TargetPlan,
    TargetPlans,
    read_kernel_room,
)
from jaxnb.units import format_bytes, format_flops
from jaxnb.views.collectives import render_ledger
from jaxnb.views.compact import short_seconds
from jaxnb.views.escape import Html, element
from jaxnb.views.style import style_element
from jaxnb.views.table import Head, Table, table_element, table_lines
from jaxnb.views.timeline import strip_lines, timeline_title

if TYPE_CHECKING:
    from jaxnb.program import Candidate, Search

__all__ = [
    "MOST_SHOWN",
    "cycles_text",
    "estimate_text",
    "footprint_text",
    "hiding_text",
    "kernel_room_text",
    "kernel_windows_text",
    "padded_text",
    "plan_lines",
    "render_plan",
    "render_search",
    "render_target_plans",
    "render_target_plans_html",
    "search_table",
    "search_title",
    "target_table",
]

_MOST_NAMED = 3
MOST_SHOWN = 12
"""Rows of the table of a search, besides those of the front."""

_NUMBERS = ("time", "computing", "sending", "memory", "sends")
_HEADS = (Head(), Head("resources", "code"), *(Head(name, "number") for name in _NUMBERS), Head())


def render_plan(plan: Plan, *, width: int = 120) -> str:
    """A plan in some lines, its timeline if it was made for a target, and its ledger.

    Args:
      plan: to be shown.
      width: of the text, in characters.
    """
    drawn: list[str] = []
    if plan.target is not None and plan.timeline.seconds:
        drawn = [f"step     {timeline_title(plan.timeline)}"]
        drawn += [f"         {line}" for line in strip_lines(plan.timeline, width=width - 9)]
    sends = render_ledger(plan.ledger, source=plan.source, width=width)
    return "\n".join([*plan_lines(plan), *drawn, f"sends    {sends}"])


def plan_lines(plan: Plan) -> list[str]:
    """What a device needs, how long it takes, and what it waits for."""
    lines = [_machine(plan), f"memory   {footprint_text(plan.footprint)}{_fits(plan)}"]
    lines += [f"padding  {padded_text(one)}" for one in _wasteful(plan)]
    if plan.cycles is not None and plan.hardware is not None and plan.hardware.clock is not None:
        lines.append(f"cycles   {cycles_text(plan.cycles, plan.hardware.clock)}")
    if plan.hardware is not None:
        estimate = plan.estimate()
        lines.append(f"time     {estimate_text(estimate)}")
        if plan.target is not None and (text := hiding_text(plan.hiding)):
            lines.append(f"waits    {text}")
        if estimate.sent < plan.ledger.total:
            lines.append("         what has 16 bits is counted so; XLA widens it on CPUs, and the table has that")
    return lines + [f"kernel   {text}" for text in _kernel_rooms(plan)]


def _kernel_rooms(plan: Plan) -> list[str]:
    """What the kernels of a plan for a target take of its fast memory, those that take most first."""
    target = plan.target
    if target is None or not any(level.name == "jaxpr" for level in plan.program.levels):
        return []
    rooms = [read_kernel_room(kernel, target) for kernel in plan.program.kernels() if not kernel.interpret]
    known = sorted((room for room in rooms if room is not None and room.needed), key=lambda room: -room.needed)
    more = len(known) - _MOST_NAMED
    rest = [f"and {more} more: %jaxnb kernels"] if more > 0 else []
    return [kernel_room_text(room) for room in known[:_MOST_NAMED]] + rest


def kernel_room_text(room: KernelRoom) -> str:
    """`scale, line 4: 18.0 MB of VMEM (2 windows of x 9.0 MB, ...), TOO MUCH by 1.2 MB; it may have 16.8 MB`."""
    kernel = room.kernel
    where = f", line {kernel.line}" if kernel.line is not None else ""
    over = "" if room.fits else f", TOO MUCH by {format_bytes(room.needed - room.limit)}"
    most = f", and up to {format_bytes(room.most)} by vmem_limit_bytes" if room.most > room.limit else ""
    windows = kernel_windows_text(room)
    return (
        f"{kernel.name or 'a kernel'}{where}: {format_bytes(room.needed)} of {room.memory} ({windows})"
        f"{over}; it may have {format_bytes(room.limit)}{most}"
    )


def kernel_windows_text(room: KernelRoom) -> str:
    """`2 windows of x 9.0 MB, 1 of w 2.1 MB, scratch 32.8 KB`."""
    parts = [
        f"{buffers}{'' if at else ' window' + 's' * (buffers != 1)} of {name} {format_bytes(nbytes)}"
        for at, (name, nbytes, buffers) in enumerate(sorted(room.windows, key=lambda one: -one[1]))
    ]
    return ", ".join(parts + ([f"scratch {format_bytes(room.scratch)}"] if room.scratch else []))


def footprint_text(footprint: Footprint) -> str:
    """`3.6 GB a device: inputs 1.0 GB, results 1.0 GB, temporaries 1.6 GB`."""
    shared = f" ({format_bytes(footprint.shared)} of them in place of inputs)" if footprint.shared else ""
    return (
        f"{format_bytes(footprint.total)} a device: inputs {format_bytes(footprint.inputs)}, "
        f"results {format_bytes(footprint.results)}{shared}, temporaries {format_bytes(footprint.temporaries)}"
    )


def cycles_text(cycles: Cycles, clock: float) -> str:
    """What a compiler says of the time: `276,400 at 1.5 GHz are 184 us, by the compiler's own estimate of ...`."""
    least = "at least " if cycles.endless else ""
    rest = f", nothing of {cycles.fusions} fusion{'s' * (cycles.fusions != 1)}" if cycles.fusions else ""
    return (
        f"{least}{cycles.total:,}, at {clock / 1e9:.3g} GHz {short_seconds(cycles.seconds(clock))}: the compiler's own "
        f"estimate of {cycles.counted} instruction{'s' * (cycles.counted != 1)}{rest}; what is sent is not in it"
    )


def padded_text(one: Padded) -> str:
    """`x float32[1000000,3] takes 512 MB for 12 MB: the last tile of each side is filled up`."""
    what = one.name if one.is_input else one.name.rpartition("/")[2]
    return (
        f"{what} {one.aval} takes {format_bytes(one.padded)} for {format_bytes(one.nbytes)}: the last tile of a side "
        "is filled up"
    )


def _wasteful(plan: Plan) -> list[Padded]:
    """The few arrays whose tiles add a quarter and something that counts beside all that a device needs."""
    least = plan.footprint.total // 50
    wasteful = [one for one in plan.padding if 4 * one.padded >= 5 * one.nbytes and one.padded - one.nbytes > least]
    return wasteful[:_MOST_NAMED]


def hiding_text(hiding: Sequence[Hiding]) -> str:
    """`at least 92 us of 110 us of sending: nothing runs beside line 5 reduce-scatter over x (55 us)`."""
    total, left = (sum(some) for some in ((one.seconds or 0.0 for one in hiding), (one.open for one in hiding)))
    if not total:
        return ""
    if left < 0.01 * total:
        return f"for no collective, at best: enough runs beside all {short_seconds(total)} of sending"
    worst = sorted((one for one in hiding if one.open > 0.01 * total), key=lambda one: -one.open)
    named = ", ".join(f"{_called(one)} ({short_seconds(one.open)})" for one in worst[:_MOST_NAMED])
    more = f", and {len(worst) - _MOST_NAMED} more" if len(worst) > _MOST_NAMED else ""
    text = f"at least {short_seconds(left)} of {short_seconds(total)} of sending"
    return f"{text}, beside which nothing runs: {named}{more}"


def _called(one: Hiding) -> str:
    item = one.collective
    line = f"line {item.line} " if item.line is not None else ""
    over = f" over {', '.join(item.axes)}" if item.axes else ""
    return f"{line}{item.kind}{over}"


def render_target_plans(found: TargetPlans) -> str:
    """A program on several targets as a table."""
    return "\n".join([*table_lines(target_table(found)), _OF_TARGETS])


def render_target_plans_html(found: TargetPlans) -> Html:
    """The same as HTML without scripts."""
    parts = [style_element("placement.css"), table_element(target_table(found))]
    return element("div", {"class": "jnb"}, *parts, element("p", {"class": "jnb-h"}, _OF_TARGETS))


_OF_TARGETS = "of a device; cycles are the compiler's own estimate, all other times come of published peaks"


def target_table(found: TargetPlans) -> Table:
    """One row a target: what a device needs and has, what it computes and sends, and how long that takes."""
    names = ("devices", "memory", "free", "cycles", "computing", "sending", "sends", "waits", "compiled")
    heads = (Head("target", "code"), *(Head(name, "number") for name in names), Head())
    return Table(heads, tuple(map(_target_row, found.rows)))


def _target_row(row: TargetPlan) -> tuple[str, ...]:
    plan = row.plan
    if plan is None or plan.hardware is None:
        return (row.name, *[""] * 9, row.refused)
    estimate, clock = plan.estimate(), plan.hardware.clock
    left = plan.hardware.memory - plan.footprint.total
    return (
        row.name,
        f"{plan.mesh.size:,}",
        format_bytes(plan.footprint.total),
        format_bytes(left) if left >= 0 else "",
        short_seconds(plan.cycles.seconds(clock)) if plan.cycles is not None and clock is not None else "",
        short_seconds(estimate.computation),
        short_seconds(estimate.communication),
        format_bytes(estimate.sent),
        short_seconds(sum(one.open for one in plan.hiding)),
        short_seconds(plan.seconds),
        "" if plan.fits else f"TOO MUCH by {format_bytes(-left)}",
    )


def _machine(plan: Plan) -> str:
    """What it is planned for: the mesh, and the machine if that has a compiler of its own."""
    count = f"{plan.mesh.size:,} device{'s' * (plan.mesh.size != 1)}"
    where = f"on {plan.mesh}: {count}" if plan.mesh.axes else f"on {count}"
    return where if plan.target is None else f"{where} of {plan.target}, by its own compiler"


def estimate_text(estimate: Estimate) -> str:
    """`12 ms on NVIDIA H100 SXM5: computing 9.0 ms (1.2 Tflops), sending 3.0 ms (1.2 GB)`, and the two extremes."""
    least = "" if estimate.complete else "at least "
    between = dict.fromkeys([short_seconds(estimate.overlapped), short_seconds(estimate.total)])
    return (
        f"{least}{' to '.join(between)} on {estimate.hardware}: "
        f"computing {short_seconds(estimate.computation)} ({format_flops(estimate.flops)} a device), "
        f"sending {short_seconds(estimate.communication)} ({format_bytes(estimate.sent)} a device)"
    )


def _fits(plan: Plan) -> str:
    if plan.hardware is None:
        return ""
    left = plan.hardware.memory - plan.footprint.total
    have = f"{plan.hardware} has {format_bytes(plan.hardware.memory)}"
    return f" · {have}, {format_bytes(left)} free" if plan.fits else f" · TOO MUCH by {format_bytes(-left)}: {have}"


def render_search(search: Search, *, limit: int = MOST_SHOWN) -> str:
    """A search as a table, the best first; those that nothing beats in both time and memory have a star.

    Args:
      search: to be shown.
      limit: how many rows at most; of those behind them only the starred are shown.
    """
    title = " · ".join(search_title(search))
    if not search.candidates:
        return "\n".join([title, *(f"  {why}" for _, why in search.refused[:3])])
    table, left = search_table(search, limit)
    more = "   * is beaten by no other in both time and memory" + (f" · {left} more are not shown" if left else "")
    return "\n".join([title, "", *table_lines(table), more])


def search_title(search: Search) -> list[str]:
    """`best: batch=x`, `16 ways tried on NVIDIA H100 SXM5`, and what was left out."""
    tried = len(search.candidates) + len(search.refused)
    told = [f"best: {search.best}"] if search.candidates else []
    told.append(f"{tried} way{'s' * (tried != 1)} tried on {search.hardware}")
    if search.target:
        count = sum(item.is_compiled for item in search.candidates)
        many = f" {count}" if count > 1 else ""
        told.append(f"the best{many} compiled by the compiler of {search.target}")
    if len(search.refused) > search.broken:
        by = "the program or the compiler of the target" if search.target else "the program"
        told.append(f"{len(search.refused) - search.broken} not allowed by {by}")
    if search.broken:
        told.append(f"{search.broken} broke the compiler")
    if search.too_large:
        told.append(f"{search.too_large} too large for a device")
    if search.skipped:
        told.append(f"{search.skipped} NOT TRIED: pass limit={tried + search.skipped}")
    return told


def search_table(search: Search, limit: int) -> tuple[Table, int]:
    """The first so many and those of the front behind them, and how many are left out."""
    front = set(map(id, search.pareto))
    shown = [item for rank, item in enumerate(search.candidates) if rank < limit or id(item) in front]
    rows = tuple(_row(item, id(item) in front) for item in shown)
    return Table(_HEADS, rows), len(search.candidates) - len(shown)


def _row(item: Candidate, front: bool) -> tuple[str, ...]:
    estimate = item.plan.estimate()
    return (
        "*" if front else "",
        str(item),
        short_seconds(item.seconds),
        short_seconds(estimate.computation),
        short_seconds(estimate.communication),
        format_bytes(item.memory),
        format_bytes(estimate.sent),
        ", ".join(
            [
                *([f"compiled for {item.plan.target}"] if item.is_compiled else []),
                *([] if item.plan.fits else ["does not fit"]),
            ]
        ),
    )
