"""What became of a cell, in a few words and numbers: its row in the table at the top of a report.

Everything is read from what the notebook holds: the line and the program that jaxnb published under a cell,
its errors, and when it was run.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jaxnb.errors import JaxnbError
from jaxnb.program import MIME_TYPE, Severity, Status, decode
from jaxnb.shell.reports.notebook import error_line, has_run, is_meant_to_raise, staged_lines
from jaxnb.units import format_seconds

__all__ = ["Summary", "read_line", "read_status", "read_summary"]

_COUNTS = re.compile(r" · \d+ inputs? → \d+ names?(?= · |$)")
_DURATION = r"([\d.]+) (us|ms|s)"
_COMPILED = rf"(?:trace {_DURATION}, )?compile {_DURATION}(?: \([^()]*\))?(?: for [^·]*?)?, "
_TIMES = re.compile(rf"(?: · |^)(?:{_COMPILED})?(?:run {_DURATION}|dispatched)(?= · |$)")
_PIECES = re.compile(r" · (\d+) pieces\b")
_MEMORY = re.compile(r" · (?:memory|peak) (\d[\d.]* [KMGT]?B)(?= · |$)")
_REPEATS = re.compile(r"reused \d+ more times?|run \d+ times, traced \d+ more times?|timed .* in \d+ runs?")
_STAGED = re.compile(r"\s*(%%(jit|grad|xmap)|#\s*jaxnb\s*:\s*(jit|grad|xmap))\b")
_LOOKED_AT = re.compile(r"\s*(?:%%jaxpr|#\s*jaxnb\s*:\s*jaxpr)\b([^\n]*)")
_LOWERED = re.compile(r"--lower[= ]\s*(\w+(?:\s*,\s*\w+)*)")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
_NOTES = {"traced only": "traced only", "ran plainly": "plain", "nothing to": "nothing to compile"}
_OUTCOMES = {"traced": "traced only", "nothing": "nothing compiled", "defined": "nothing compiled"}
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class Summary:
    """A row of the table. Numbers are texts with a unit, "" where they are not known.

    Attributes:
      outcome: "staged whole", "reused", "retraced: why", "3 pieces", "lowered for tpu", "plain", "failed", "not run"
        and the like.
      staging: time to trace and compile.
      run: time to run; of a cell that is not staged, all the time that it took.
      memory: what the program needs at its peak.
      findings: what there is to say; of a cell that raised, what it raised.
      failed: whether it raised without being meant to.
    """

    outcome: str
    staging: str = ""
    run: str = ""
    memory: str = ""
    findings: tuple[str, ...] = ()
    failed: bool = False


def read_summary(node: Any) -> Summary:
    """What became of a code cell of a notebook."""
    if not node.source.strip():
        return Summary("empty")
    if error := error_line(node):
        meant = is_meant_to_raise(node)
        return Summary("failed as meant" if meant else "failed", findings=(_shortened(error),), failed=not meant)
    if not has_run(node):
        return Summary("not run")
    if lines := staged_lines(node):
        read = [read_line(line) if isinstance(line, str) else read_status(line) for line in lines]
        findings = _program_findings(node) or tuple(text for summary in read for text in summary.findings)
        first = read[0]
        more = f" (and {len(read) - 1} more)" if len(read) > 1 else ""
        return Summary(first.outcome + more, first.staging, first.run, first.memory, findings)
    if _STAGED.match(node.source):  # its line was switched off, or captured
        return Summary("staged, line not shown")
    if looked := _LOOKED_AT.match(node.source):  # what is compared has no line of its own
        lowered = _LOWERED.search(looked[1])
        return Summary(f"lowered for {lowered[1]}" if lowered else "traced only", findings=_program_findings(node))
    return Summary("plain", run=_time_taken(node), findings=_program_findings(node))


def read_status(status: Status) -> Summary:
    """What the line under a staged cell says.

    >>> from jaxnb.program.status import Part
    >>> read_status(Status((Part("staged", "staged"),), (Part("time", "trace 9.5 ms, compile 61 ms, run 0.8 ms"),)))
    Summary(outcome='staged whole', staging='70 ms', run='0.8 ms', memory='', findings=(), failed=False)
    """
    first, costs = status.happened[0], {part.kind: part.text for part in status.cost}
    pieces = costs.get("pieces", "")
    if first.kind == "staged":
        host = any(part.kind == "host" for part in status.happened)
        outcome = f"{pieces or 'staged'} · partly on the host" if host else pieces or "staged whole"
    elif first.kind in _OUTCOMES:
        outcome = next((name for start, name in _NOTES.items() if first.text.startswith(start)), _OUTCOMES[first.kind])
    else:
        outcome = _shortened(first.text) + (f" · {pieces}" if pieces else "")
    times = _TIMES.search(costs.get("time", "")) if first.kind not in _OUTCOMES else None
    return Summary(
        outcome,
        format_seconds(_seconds(*times.group(1, 2)) + _seconds(*times.group(3, 4))) if times and times[3] else "",
        f"{times[5]} {times[6]}" if times and times[5] else "",
        costs.get("peak", "").removeprefix("peak ").removesuffix(" a device"),
        tuple(_shortened(part.text) for part in status.needs),
    )


def read_line(line: str) -> Summary:
    """What the text of the line under a staged cell says, in notebooks that were saved without its parts.

    >>> read_line("staged · 1 input → 1 name · 7 eqns · trace 9.5 ms, compile 61 ms, run 0.8 ms").staging
    '70 ms'
    """
    found = list(_COUNTS.finditer(line))
    if not found:
        head = line.partition(" · ")[0]
        return Summary(next((name for start, name in _NOTES.items() if head.startswith(start)), _shortened(head)))
    # A reason or a finding may say anything; what is ours comes behind the one and before the other.
    counts = found[0]
    head, rest = line[: counts.start()], line[counts.end() :]
    pieces = _PIECES.search(head)
    if pieces is not None:
        head = head[: pieces.start()] + head[pieces.end() :]
    if head == "staged":
        outcome = f"{pieces[1]} pieces" if pieces is not None else "staged whole"
    else:
        outcome = _shortened(head) + (f" · {pieces[1]} pieces" if pieces is not None else "")
    times = _TIMES.search(rest)
    if times is None:
        return Summary(outcome)
    known, told = rest[: times.start()], rest[times.end() :]
    memory = _MEMORY.search(known)
    return Summary(
        outcome,
        format_seconds(_seconds(*times.group(1, 2)) + _seconds(*times.group(3, 4))) if times[3] else "",
        f"{times[5]} {times[6]}" if times[5] else "",
        memory[1] if memory is not None else "",
        tuple(_shortened(text) for text in told.split(" · ") if text and not _REPEATS.fullmatch(text)),
    )


def _seconds(number: str | None, unit: str | None) -> float:
    if number is None or unit is None:  # of a program that was traced before
        return 0.0
    try:
        return float(number) * _UNITS[unit]
    except ValueError:  # such as "1.2.3", which nobody but a forger writes
        return 0.0


def _program_findings(node: Any) -> tuple[str, ...]:
    """The findings of the programs that can be read, without the reasons for tracing again: the outcome has them."""
    found: list[str] = []
    for output in node.outputs:
        program = output.get("data", {}).get(MIME_TYPE)
        if isinstance(program, dict):
            try:
                told = decode(program).findings
            except JaxnbError:
                continue
            listed = (one for one in told if one.kind != "retrace" and one.severity is not Severity.FACT)
            found += [_shortened(finding.message) for finding in listed]
    return tuple(found)


def _time_taken(node: Any) -> str:
    """How long the cell took, by the times that a front end or nbclient records with it."""
    times = node.metadata.get("execution", {})
    try:
        begin = times.get("iopub.execute_input") or times["iopub.status.busy"]
        took = datetime.fromisoformat(times["shell.execute_reply"]) - datetime.fromisoformat(begin)
    except (AttributeError, KeyError, TypeError, ValueError):
        return ""
    return format_seconds(max(took.total_seconds(), 0.0))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
