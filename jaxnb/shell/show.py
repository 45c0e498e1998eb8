"""The MIME bundle under a staged cell: the line as text, as HTML that needs no kernel, and the program as JSON."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from functools import lru_cache
from json import dumps
from typing import Any
from weakref import WeakKeyDictionary

from jaxnb import program as programs, views
from jaxnb.findings import LINT_KINDS
from jaxnb.program import Finding, Program, Severity, Status
from jaxnb.staging import Later, Run, Shown

__all__ = ["below", "bundle", "fix_of", "run_of", "shown_below", "terminal_of"]

_LINE = "line of the run goes here"
MOST_SAVED = 15_000
"""Bytes of one output in the notebook. A long program is elided in the HTML; its JSON then has the cell, its call tree
and its memory."""

MOST_DRAWN = 500_000
"""Characters of one output that brings the script: some 20,000 equations."""

_SPARE = 300
"""Characters by which the line of a later run may be longer than that of the run which a program is drawn for first."""
_MOST_LINES = 16
_OPENED = 8  # calls deep, of what each line took
_LIMITS = (200, 120, 60, 30)
_BRIEF = 10  # equations in the HTML beside a tree
_LEFT_OUT = (
    (_LIMITS[-1], ()),
    (_LIMITS[-1], ("kernels",)),
    (_LIMITS[-1], ("kernels", "curves")),
    (_LIMITS[-1], ("kernels", "curves", "trees", "derived")),
    (_BRIEF, ("kernels", "curves", "trees", "derived")),
    (_LIMITS[-1], ("kernels", "curves", "drawings")),
    (_LIMITS[-1], ("kernels", "curves", "trees", "derived", "drawings")),
)
"""Equations in the HTML, and what a viewer draws beside the levels and can do without; the first that fits is saved.

A viewer has what is drawn of kernels among the "drawings"; as "kernels" a program has them that is read again."""

_STANDING_IN = ((150, 100), (80, 60), (60, 40), (40, 30), (25, 20), (12, 10))  # nodes of a tree, samples of a curve

_DRAWN: WeakKeyDictionary[Any, tuple[str, tuple[str, Any] | None]] = WeakKeyDictionary()
"""What was drawn of the programs that served a run together, which do not change."""


def bundle(
    run: Run,
    *,
    rich: bool,
    script: bool = False,
    previous: Program | None = None,
    width: int | None = None,
    colours: bool = False,
) -> dict[str, Any]:
    """What is published for a run.

    Args:
      run: to be shown.
      rich: whether the front end shows more than text; otherwise nothing else is made.
      script: whether the HTML draws the inspector by itself, which takes some 100 KB. A program that would take more
        than `MOST_DRAWN` is drawn as without it.
      previous: what that inspector compares the run with.
      width: of the terminal, where the line must not be longer.
      colours: whether ANSI escapes colour the line.
    """
    said = run.status
    text = said.text(width, colours=colours)
    if run.shown.as_text:
        shown = views.render_program(
            run.program,
            level=run.shown.level,
            order=run.shown.order,
            columns=run.shown.columns,
            names=run.program.made_names is not None,
        )
        text += f"\n\n{shown}"
    if not rich:
        text = "\n".join((text, *map(str, below(run))))
    avoidable = [finding for finding in run.findings if finding.kind == "retrace" and finding.fix is not None]
    wrong = [one for one in run.findings if one.severity is Severity.WRONG and one.kind not in (*LINT_KINDS, "x64")]
    written_out = [finding for finding in run.findings if finding.kind in LINT_KINDS and not finding.folded]
    if wrong or written_out or (avoidable and not run.note):
        text = f"{text}\n{views.render_findings([*wrong, *written_out] or avoidable)}"
    data: dict[str, Any] = {"text/plain": text}
    if not rich:
        return data
    line, status = _drawn_line(said)
    html, json = _drawn(run, len(line.encode()) + len(dumps(status)))
    data["text/html"] = html.replace(_LINE, line, 1)
    if script:
        data["text/html"] = _interactive(run, previous) or data["text/html"]
    if json is not None:
        data[json[0]] = {**json[1], "status": status}
    return data


@lru_cache(maxsize=64)
def _drawn_line(status: Status) -> tuple[str, dict[str, Any]]:
    """The line as HTML and as JSON: a cell that runs again and again says the same."""
    return str(views.line_element(status)), programs.encode_status(status)


def run_of(what: Run | Program) -> Run:
    """What is published for a run or a program that is shown as a value: all of it, not the line alone."""
    if isinstance(what, Run):
        run = what
    else:
        run = Run(findings=what.findings, shown=Shown(status=what.status), later=Later(lambda: what))
    shown = replace(run.shown, as_text=len(run.program.levels) > 1, status=run.status)
    return replace(run, shown=shown)


def terminal_of(shell: Any) -> dict[str, Any]:
    """How wide the terminal of a shell is, and whether it shows colours, for `bundle`; nothing where there is none."""
    if not sys.stdout.isatty():
        return {}
    colours = str(getattr(shell, "colors", "NoColor")).lower() != "nocolor" and "NO_COLOR" not in os.environ
    return {"width": shutil.get_terminal_size().columns - 1, "colours": colours}


def below(run: Run) -> list[Any]:
    """What the user asked for in the header, which is shown below the line: what each line took, what changed, a plan.

    Each is an output of its own, a text or what shows itself: front ends that draw the program from its JSON have no
    other place for it.
    """
    told: list[Any] = []
    if run.timing is not None and run.timing.total is not None:
        told.append(views.render_costs(run.program, width=100, limit=_MOST_LINES, depth=_OPENED))
    return told + [shown for shown in (run.diff, run.search, run.plan) if shown is not None]


def shown_below(run: Run) -> list[dict[str, Any]]:
    """The same as MIME bundles: a search and a plan for a target have a picture, all else is text."""
    drawn = (run.search, run.plan if run.plan is not None and run.plan.target is not None else None)
    return [
        what._repr_mimebundle_() if any(what is one for one in drawn) else {"text/plain": str(what)}
        for what in below(run)
    ]


def fix_of(finding: Finding) -> Run | None:
    """What a front end offers below an error that has told the rest: the fix that was tried, to be copied.

    Args:
      finding: that explains the error.

    Returns:
      None if there is no fix, or only advice.
    """
    fix = finding.fix
    if fix is None or not fix.verified or not (fix.edit or fix.options):
        return None
    told = Finding("fix", "was tried: it works.", fix.edit[0] if fix.edit else finding.line, fix=fix)
    later = Later(lambda: Program("", findings=(told,)))
    return Run(note=f"fix, tried: {fix.text}", note_kind="fix", later=later)


def _interactive(run: Run, previous: Program | None) -> str | None:
    """The HTML with the script, of as many levels as fit; None if not even the first does."""
    top = run.shown.level or "jaxpr"
    for levels, before in ((None, previous), (("source", top), previous), (("source", top), None)):
        drawn = views.render_interactive(
            run.program,
            line=run.status,
            findings=run.findings,
            level=run.shown.level,
            levels=levels,
            previous=before,
        )
        if len(drawn) <= MOST_DRAWN:
            return drawn
    return None


def _standing_in(program: Program, room: int) -> dict[str, Any]:
    """What stands in for levels that were not saved, in so many bytes: the call tree with its sums, and the memory."""
    trees = views.standing_in(program, [most for most, _ in _STANDING_IN])
    curves: list[dict[str, Any]] | None = None
    for tree, (_, samples) in zip(trees, _STANDING_IN, strict=False):
        curves = views.encode_curves(program) if curves is None else curves
        more = {"trees": [tree], "curves": [views.thinned(curve, samples) for curve in curves]}
        if len(dumps(more).encode()) <= room:
            return more
    return {}


def _drawn(run: Run, taken: int) -> tuple[str, tuple[str, Any] | None]:
    """The HTML with a place for the line, and the JSON; kept with the programs, because they do not change.

    Args:
      run: whose programs are drawn.
      taken: characters of the output that its line takes.
    """
    if run.served is not None and (known := _DRAWN.get(run.served)) is not None:
        return known
    program = run.program

    def view(limit: int) -> str:
        return views.render_html(program, line=_LINE, findings=run.findings, limit=limit, level=run.shown.level)

    room = MOST_SAVED - taken - _SPARE
    html, encoded, left = view(_LIMITS[-1]), None, room
    # The inspector asks the kernel for what was not saved; the HTML shows what it can.
    top = ("source", run.shown.level or "jaxpr")
    plain = {key: part for key, part in programs.encode(program, levels=top).items() if key != "kernels"}
    after = room - len(dumps(plain).encode())
    if len(html.encode()) <= after:
        encoded, left = plain, after
        # Where values live takes a while to be read, so this is done only where there is room for it.
        drawn = views.encode_drawn(program, levels=top)
        for shortest, less in _LEFT_OUT:
            more = {key: part for key, part in drawn.items() if key not in less}
            after = room - len(dumps(more).encode())
            shorter = html if shortest == _LIMITS[-1] else view(shortest)
            if len(shorter.encode()) <= after:
                html, encoded, left = shorter, more, after
                break
    else:
        brief = view(_BRIEF)
        for levels in (("source",), *([] if program.findings else [()])):
            bare = programs.encode(program, levels=levels)
            after = room - len(dumps(bare).encode())
            if len(brief.encode()) <= after:
                more = _standing_in(program, after - len(brief.encode())) if levels else {}
                html, encoded, left = brief, {**bare, **more}, after - len(dumps(more).encode())
                break
    for limit in _LIMITS[:-1]:
        longer = view(limit)
        if len(longer.encode()) <= left:
            html = longer
            break
    found = (html, None if encoded is None else (programs.MIME_TYPE, encoded))
    if run.served is not None:
        _DRAWN[run.served] = found
    return found
