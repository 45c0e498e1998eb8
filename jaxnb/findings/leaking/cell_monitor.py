"""What is noticed of every cell while the extension is loaded: leaked tracers, functions that are traced again and
again, arrays that were given away; and what to say when a later cell uses one of these."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace
from typing import Any

from jaxnb import _jax, findings
from jaxnb.errors import KeepsTraced, LeakedTracer
from jaxnb.findings.errors.explainer import tell
from jaxnb.findings.errors.scene import Scene, read_scene
from jaxnb.findings.leaking.keeping import keeping_lines, reading_line
from jaxnb.findings.leaking.leaks import Leaks
from jaxnb.findings.leaking.tracers import was_dead
from jaxnb.findings.lints.snapshot import Snapshot, take_snapshot
from jaxnb.findings.lints.wait_log import Waits
from jaxnb.findings.memory.use_after_donate import Deletions, explain_lost
from jaxnb.findings.place import FailedExpression, find_place
from jaxnb.findings.retracing.calls import Calls
from jaxnb.program import Finding
from jaxnb.staging import DonationLog, History, culprit_of

__all__ = ["CellMonitor"]

_MOST_CELLS = 256


class CellMonitor:
    """Looks on while cells run.

    Args:
      history: where it is written down what was traced.
      lost: where it is written down what was given away.
      label: what the user knows a file by.
    """

    def __init__(self, history: History, lost: DonationLog, label: Callable[[str], str]) -> None:
        self._leaks = Leaks(label)
        self._calls = Calls(history, label)
        self._waits = Waits()
        self._waited: OrderedDict[str, None] = OrderedDict()
        self._deletions = Deletions(lost)
        self._plain: findings.PlainCells | None = None
        self._snapshot: Snapshot | None = None
        self._late: findings.LateResults | None = None
        self._lost, self._label = lost, label
        self.on = False

    def start(self) -> None:
        """From now on."""
        self.on = True
        self._leaks.start()
        self._calls.start()
        self._waits.start()

    def stop(self) -> None:
        """No longer."""
        self.on = False
        self._leaks.stop()
        self._calls.stop()
        self._waits.stop()

    def begin(self, text: str, namespace: Mapping[str, Any]) -> None:
        """A cell is about to run."""
        if self.on:
            self._deletions.begin(text, namespace)
            self._snapshot = None if text.lstrip().startswith(("%%", "# jaxnb")) else take_snapshot(text, namespace)
            self._calls.begin(text, namespace)
            self._waits.begin()

    def stale(self, text: str, namespace: Mapping[str, Any]) -> list[Finding]:
        """What there is to say of a cell that has run well, and called functions that know old values.

        Args:
          text: the cell as displayed.
          namespace: the names now.
        """
        return self._calls.stale.check(text, namespace) if self.on else []

    def plain(self, namespace: dict[str, Any], value: Any) -> list[Finding]:
        """What there is to say of a plain cell that has run well.

        Args:
          namespace: the names now.
          value: that the cell shows.
        """
        snapshot = self._snapshot
        if not self.on or snapshot is None:
            return []
        if self._plain is None:
            self._plain = findings.PlainCells(self._label)  # loaded when the first plain cell has run
        return self._plain.look(snapshot, namespace, value, self._calls.compiled.seconds)

    def waits(self, text: str, namespace: dict[str, Any], here: str, told: Container[int | None]) -> list[Finding]:
        """What there is to say of the lines of a cell that waited for a device in each turn of a loop, once for a text.

        Args:
          text: the cell as displayed.
          namespace: the names now.
          here: the label of the cell.
          told: the lines of which that was said already.
        """
        often = self._waits.often() if self.on else []
        if not often or text in self._waited:
            return []
        self._waited[text] = None
        if len(self._waited) > _MOST_CELLS:
            self._waited.popitem(last=False)
        found = findings.waits_in_turns(often, text, namespace, self._label, here)
        return [finding for finding in found if finding.line not in told]

    def late(self, text: str, namespace: Mapping[str, Any], here: str) -> list[Finding]:
        """What there is to say of results of earlier cells that were still computed when these had ended.

        Args:
          text: the cell that has run, as displayed.
          namespace: the names now.
          here: the label of the cell.
        """
        if not self.on:
            return []
        if self._late is None:
            self._late = findings.LateResults()  # loaded when the first cell has run
        return self._late.look(text, namespace, here)

    def rest(self) -> None:
        """Lets go of what the cell began with."""
        self._snapshot = None

    def end(self, text: str, namespace: Mapping[str, Any], here: str) -> tuple[list[Finding], list[Finding]]:
        """A cell has run.

        Args:
          text: of it, as displayed.
          namespace: where holders are looked for.
          here: the label of the cell.

        Returns:
          What it left behind, and which functions it traced again without need.
        """
        if not self.on:
            return [], []
        self._deletions.end(here, namespace)
        leaks = [_with_keeping(finding, text) for finding in self._leaks.check(namespace, here)]
        return leaks, self._calls.check(None, here, text, namespace)

    def explain(self, error: BaseException, text: str, namespace: Mapping[str, Any], here: str) -> Finding | None:
        """What to say of an error that comes of using a tracer or an array of an earlier cell; None of any other.

        Args:
          error: with its frames.
          text: the cell that ran, as displayed.
          namespace: where holders are looked for.
          here: the label of the cell that ran.
        """
        lost = explain_lost(error, self._lost)
        if lost is not None:
            return lost
        kept = isinstance(error, LeakedTracer | KeepsTraced)
        if not kept and not _jax.speaks_of_tracers(error):
            return None
        failed = find_place(error)
        tracer = _dead_tracer(error, failed)
        if tracer is None:
            return None
        finding = self._leaks.explain_tracer(tracer, namespace, here)
        if isinstance(error, KeepsTraced) and error.holder:  # the names were put back since
            finding = replace(finding, holder=error.holder)
        if kept:  # of a cell that was refused: what it would have done later is of interest, too
            later = reading_line(text, finding.holder, max([finding.line or 0, *finding.trail]))
            finding = replace(finding, trail=(*finding.trail, later)) if later is not None else finding
        finding = _with_keeping(finding, text)
        if failed is None:
            return finding
        ours = self._label(failed.file) == here
        scene = read_scene(error, None, self._label)
        told = tell(scene) if scene is not None else None
        if told is not None and told[0] in _OF_TRANSFORMS:
            finding = replace(finding, message=told[1].message, fix=told[1].fixes[-1])
        return replace(
            finding,
            line=failed.line if ours else None,
            span=failed.span if ours else None,
            trail=tuple(sorted({*failed.calls, *finding.trail})) if ours else (),
            operands=tuple(_held(finding.holder, namespace, scene)),
        )


def _with_keeping(finding: Finding, text: str) -> Finding:
    """The finding with the lines of the cell that put the tracer where it was found."""
    lines = set(keeping_lines(text, finding.holder)) - {finding.line}
    return replace(finding, trail=tuple(sorted({*finding.trail, *lines}))) if lines else finding


_OF_TRANSFORMS = ("linen-transform",)
"""Explanations of other errors that say more of a leak than who holds the tracer."""


def _held(holder: str, namespace: Mapping[str, Any], scene: Scene | None) -> Iterator[str]:
    """What the container is that holds a tracer, and the call of the cell that came upon it."""
    root = re.split(r"[.\[]", holder)[0]
    value = namespace.get(root) if holder != root else None
    if type(value) in (list, dict, set, tuple):
        yield f"`{root}`: a {type(value).__name__} that holds it"
    if scene is not None and scene.callers:
        top = scene.callers[-1]
        yield f"`{' '.join(top.expression.split())}`: line {top.line}, which came upon it"


def _dead_tracer(error: BaseException, failed: FailedExpression | None) -> Any:
    """The tracer of a trace that has ended, if an error is about one."""
    if isinstance(error, LeakedTracer | KeepsTraced):
        tracer, error.tracer = error.tracer, None
        return tracer
    named = list(failed.tracers()) if failed is not None else []
    tracers = (tracer for tracer in (*named, culprit_of(error)) if _jax.is_tracer(tracer))
    return next((tracer for tracer in tracers if was_dead(tracer, error)), None)
