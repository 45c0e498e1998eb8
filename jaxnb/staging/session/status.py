"""What the line under a cell says of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from jaxnb.program import Finding, Part, Severity, Status, Timing
from jaxnb.units import format_bytes, format_flops, format_seconds

if TYPE_CHECKING:
    from jaxnb.staging.session.run import Run

__all__ = ["read_status"]

_NEEDS = ("x64", "donate", "cost", "independent")
"""Kinds of findings that are told on the line whole: what is bound differs, or something asked for could not be."""

_MOST_WRONG = 2
"""So many findings on wrong numbers stand on the line in words."""


def read_status(run: Run) -> Status:
    """The line of a run. Facts that need nobody, such as what is static, are not on it; findings hold them."""
    told = run.note_kind in ("finding", "wrong")  # a note that says what was found
    return Status(tuple(_happened(run)), tuple(_cost(run)), () if told else tuple(_needs(run.findings)))


def _happened(run: Run) -> Iterator[Part]:
    told = _on_host(run) if run.plan is None else ""
    if run.note:
        yield Part(run.note_kind, f"{run.note.partition(':')[0]}: {told}" if told else run.note)
    elif run.retrace is not None and any(finding.kind == "not-reusable" for finding in run.findings):
        yield Part("again", "traced again")
    elif run.retrace is not None and run.retrace.reasons:
        more = len(run.retrace.reasons) - 1
        yield Part("retraced", f"retraced: {run.retrace.reasons[0]}" + (f" (and {more} more)" if more else ""))
    elif run.all_sizes:
        yield Part("reused" if run.reused else "staged", f"traced for all {run.all_sizes}")
    else:
        yield Part("reused", "reused") if run.reused else Part("staged", "staged")
    if told and not run.note:
        yield Part("host", f"partly on the host: {told}")
    for turns in run.loops:
        yield Part("loop", f"loop of {_count(turns, 'turn')}")
    if run.processes:
        yield Part("processes", f"on {run.processes} process{'' if run.processes == 1 else 'es'}")
    if run.plan is not None:
        yield Part("planned", "nothing was run or bound")


def _on_host(run: Run) -> str:
    """The first statement that Python had to run, why, and how many more there are."""
    if not run.on_host:
        return ""
    (line, reason), more = run.on_host[0], len(run.on_host) - 1
    return f"line {line}, {reason}" + (f" (and {_count(more, 'line')} more)" if more else "")


def _cost(run: Run) -> Iterator[Part]:
    """The figures, the most telling first."""
    if run.note and run.plan is None:
        yield from _of_a_trace(run)
        return
    if run.pieces > 1:
        yield Part("pieces", f"{run.pieces} pieces")
    if times := _times(run):
        yield Part("time", times)
    if run.timing is not None:
        yield Part("timed", _timed(run.timing))
    if run.memory or run.plan is not None:
        size = format_bytes(run.memory or 0)
        yield Part("peak", f"{size} a device" if run.plan is not None else f"peak {size}")
    if run.flops:
        yield Part("flops", format_flops(run.flops))
    if run.exchanges:
        sent = f": {format_bytes(run.sent)} sent" if run.sent is not None else ""
        yield Part("sent", _count(run.exchanges, "collective") + sent)
    if run.derivative:
        yield Part("derivative", run.derivative)
    if run.named:
        yield Part("named", f"as {run.named}")
    if run.exported:
        yield Part("exported", f"exported {run.exported}")
    if run.transferred:
        yield Part("moved", f"moved {format_bytes(run.transferred)}")
    if run.donated:
        yield Part("donated", f"donated {format_bytes(run.donated)}")
    if run.plan is None:
        yield Part("names", f"{_count(run.inputs, 'input')} → {_count(len(run.outputs), 'name')}")
    elif run.inputs or run.equations:
        yield Part("names", _count(run.inputs, "input"))
    if run.plan is None or run.inputs or run.equations:
        yield Part("eqns", _count(run.equations, "eqn"))


def _of_a_trace(run: Run) -> Iterator[Part]:
    if run.shown.as_text:
        yield Part("time", f"trace {format_seconds(run.timings.trace)}")
        yield Part("eqns", _count(run.equations, "eqn"))


def _times(run: Run) -> str:
    t, times = run.timings, list[str]()
    if run.plan is not None:
        return f"trace {format_seconds(t.trace)}, compile {format_seconds(t.lower + t.compile)}" if t.compile else ""
    if not run.reused:
        times.append(f"trace {format_seconds(t.trace)}")
    if not run.reused or run.all_sizes:
        cached, sizes = f" ({t.cache})" if t.cache else "", f" for {run.sizes}" if run.sizes else ""
        times.append(f"compile {format_seconds(t.lower + t.compile)}{cached}{sizes}")
    times.append(f"run {format_seconds(t.run)}" if t.run is not None else "dispatched")
    return ", ".join(times)


def _timed(timing: Timing) -> str:
    """What `--time` measured, in short; the whole is in `Program.timing`."""
    if timing.total is None:
        return timing.why.rstrip(".")
    spread = f" ± {format_seconds(timing.spread)}" if timing.spread else ""
    return f"timed {format_seconds(timing.total)}{spread} in {_count(timing.runs, 'run')}"


def _needs(findings: Sequence[Finding]) -> Iterator[Part]:
    reasons = [finding.message for finding in findings if finding.kind == "not-reusable"]
    if reasons:
        yield Part("finding", reasons[0] + (f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""))
    for message in dict.fromkeys(finding.message for finding in findings if finding.kind in _NEEDS):
        yield Part("finding", message)
    wrong = [one for one in findings if one.severity is Severity.WRONG and one.kind not in _NEEDS]
    for finding in wrong[:_MOST_WRONG]:
        yield Part("wrong", finding.short)
    if len(wrong) > _MOST_WRONG:
        yield Part("wrong", f"{len(wrong) - _MOST_WRONG} more")
    folded = [one for one in findings if one.folded and one.severity is Severity.SLOW]
    if folded:
        yield Part("finding", f"{_count(len(folded), 'finding')}: {folded[0].short}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
