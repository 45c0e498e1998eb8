"""What was traced and why, over a whole session: texts and numbers only, so that nothing of the user's is kept alive.

A `Change` is one thing that differs between a new key and the nearest earlier one. A `Group` is what is known of one
cell or one jitted function; the same cause again and again in a group is a *needless* retrace, because something can
be done about it (see `advice.py`).
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

__all__ = ["AVOIDABLE", "Change", "Group", "History", "Tally", "Traced"]

AVOIDABLE = frozenset(
    {
        "anew",
        "callable",
        "closure",
        "content",
        "context",
        "dropped",
        "dtype",
        "effect",
        "grown",
        "hash",
        "kind",
        "number",
        "options",
        "passed",
        "placement",
        "shape",
        "static",
        "structure",
        "weak",
    }
)
"""Kinds of change that need not lead to a retrace each time; a change of code or a new rank, for one, must."""

_ANY_PATH = frozenset({"weak", "kind", "anew", "dropped", "options", "hash", "passed"})
"""Kinds that are one cause wherever they happen: one and the same habit of writing is behind them."""

_MOST_GROUPS, _MOST_CAUSES, _MOST_ENTRIES, _MOST_CHANGES = 128, 32, 400, 12
_LONGEST = 300

Cause = tuple[str, str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that differs from the nearest earlier key.

    Attributes:
      kind: what sort of thing, in one word: "shape", "dtype", "weak", "number", "code", "context" and the like.
      path: where, as a user would write it: `params['w1']`; the setting's name for a context entry.
      text: the sentence: `w1 float32[64,128] → bfloat16[64,128]`.
      before: what was there, as text.
      after: what is there now.
      axes: the axes whose length differs, of a change of shape.
      size: the larger of the two lengths along the first of these axes, or of a container that grows.
      line: the line of the cell that reads it, if that is known.
      decided: whether an option of the user's decided that the value is part of the program.
    """

    kind: str
    path: str
    text: str
    before: str = ""
    after: str = ""
    axes: tuple[int, ...] = ()
    size: int = 0
    line: int | None = None
    decided: bool = False

    @property
    def cause(self) -> Cause:
        """Two changes of one cause have this in common."""
        return (self.kind, "" if self.kind in _ANY_PATH else self.path, self.axes)


@dataclass(frozen=True, slots=True)
class Traced:
    """One trace.

    Attributes:
      order: the how-manieth of the session, from 1 on.
      group: the key of its `Group`.
      changes: why it was not the first; none if it was.
      seconds: to trace, lower and compile.
      compiled_only: whether nothing was traced, only compiled for other devices or other options.
    """

    order: int
    group: str
    changes: tuple[Change, ...]
    seconds: float
    compiled_only: bool = False


@dataclass(slots=True)
class Tally:
    """How often one cause led to a retrace: `newest` is the last of these changes, `size` the largest size met."""

    newest: Change
    count: int = 0
    seconds: float = 0.0
    size: int = 0
    order: int = 0

    @property
    def needless(self) -> bool:
        """Whether it came again, and something can be done about it."""
        return self.count > 1 and self.newest.kind in AVOIDABLE


@dataclass(slots=True)
class Group:
    """What is known of one cell or jitted function.

    Attributes:
      key: what it is told by.
      title: what it is, in a few words.
      file: the name under which its text was compiled, which a label may be found for.
      line: where it begins, 0 for a cell as a whole.
      function: whether it is a jitted function, not a cell.
      traces: how often it was traced or compiled.
      retraces: how often that was not the first time.
      needless: how many of these came of causes that were met before and can be avoided.
      seconds: what all of it cost.
      wasted: what the needless ones cost.
      causes: by what `Change.cause` says.
      order: of the last trace.
    """

    key: str
    title: str
    file: str = ""
    line: int = 0
    function: bool = False
    traces: int = 0
    retraces: int = 0
    needless: int = 0
    seconds: float = 0.0
    wasted: float = 0.0
    causes: OrderedDict[Cause, Tally] = field(default_factory=OrderedDict[Cause, Tally])
    order: int = 0

    def add(self, changes: Sequence[Change], seconds: float, order: int) -> list[Tally]:
        """Counts a trace; the tallies of its changes."""
        self.traces += 1
        self.seconds += seconds
        self.order = order
        if not changes:
            return []
        self.retraces += 1
        found: dict[int, Tally] = {}
        for change in changes:
            tally = self.causes.setdefault(change.cause, Tally(change))
            tally.size = max(tally.size, change.size)
            if id(tally) not in found:
                tally.newest = change
                tally.count += 1
                tally.seconds += seconds
                tally.order = order
            found[id(tally)] = tally
            self.causes.move_to_end(change.cause)
        tallies = list(found.values())
        if all(tally.needless for tally in tallies):
            # The first one of a cause looked like any other; it is known now that it was the first of several.
            first = all(tally.count == 2 for tally in tallies)
            self.needless += 1 + first
            self.wasted += tallies[0].seconds if first else seconds
        while len(self.causes) > _MOST_CAUSES:
            self.causes.popitem(last=False)
        return tallies


class History:
    """The traces of a session. Bounded: old entries, causes and groups are dropped, the totals stay.

    Attributes:
      entries: the last traces, the newest last.
      notes: what could not be watched, and why.
      traces: how many there were in all.
      seconds: what they cost.
    """

    def __init__(self) -> None:
        self.entries: deque[Traced] = deque(maxlen=_MOST_ENTRIES)
        self.groups: OrderedDict[str, Group] = OrderedDict()
        self.notes: list[str] = []
        self.traces = 0
        self.seconds = 0.0

    def group(self, key: str, title: str, file: str = "", line: int = 0, function: bool = False) -> Group:
        """The group of that key, made if it is not there; it is now the last one used."""
        found = self.groups.get(key)
        if found is None:
            found = self.groups[key] = Group(key, title, function=function)
        found.title, found.file, found.line = title, file, line
        self.groups.move_to_end(key)
        if len(self.groups) > _MOST_GROUPS:
            self.groups.popitem(last=False)
        return found

    def add(
        self, group: Group, changes: Sequence[Change], seconds: float, compiled_only: bool = False
    ) -> list[tuple[Change, Tally]]:
        """Takes in a trace.

        Args:
          group: of the cell or function.
          changes: why it was not the first time; none if it was.
          seconds: to trace, lower and compile.
          compiled_only: whether nothing had to be traced.

        Returns:
          Each change with the tally of its cause.
        """
        self.traces += 1
        self.seconds += seconds
        shortened = [_shortened(change) for change in changes]
        group.add(shortened, seconds, self.traces)
        kept = tuple(shortened[:_MOST_CHANGES])
        self.entries.append(Traced(self.traces, group.key, kept, seconds, compiled_only))
        return [(change, group.causes.get(change.cause) or Tally(change, 1)) for change in shortened]


def _shortened(change: Change) -> Change:
    """The same, without what no reader wants: a static text may be as long as a file."""
    if max(len(change.text), len(change.before), len(change.after), len(change.path)) <= _LONGEST:
        return change
    short = {name: _cut(getattr(change, name)) for name in ("path", "text", "before", "after")}
    return replace(change, **short)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
