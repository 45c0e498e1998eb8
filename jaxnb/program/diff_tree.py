"""What differs between two programs, by their calls: `Block.__call__ blocks[0…3], line 26: exp → tanh`.

A call that only one of the programs has is one difference, whatever is in it. Functions of a kind that changed alike,
such as those of the modules of a list, are one, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from jaxnb.program.calltree import common_text, made_in, unnumbered
from jaxnb.program.diff import Change, Diff
from jaxnb.program.structure import Call, Level, Op, Place

__all__ = ["Difference", "differences_by_call"]

_BACKWARD, _OP, _CALL = range(3)


@dataclass(frozen=True, slots=True)
class Difference:
    """What changed at one line of a function, or of several that changed alike.

    Attributes:
      line: of the cell.
      within: the function, with its line; "" for the cell itself.
      removed: the calls that are gone; the ops, if no calls are.
      added: the calls that are new, likewise.
      changed: the ops that became others, each with how.
      old: how many ops are gone, those of calls included.
      new: how many came.
      alike: in how many functions.
    """

    line: int | None
    within: str
    removed: tuple[str, ...]
    added: tuple[str, ...]
    changed: tuple[str, ...]
    old: int
    new: int
    alike: int = 1


@dataclass(slots=True)
class _Growing:
    """A difference while ops are put into it. What is of the backward pass follows from the rest, if there is any."""

    line: int | None
    within: str
    names: dict[str, dict[tuple[str, int], None]] = field(default_factory=dict[str, dict[tuple[str, int], None]])
    old: int = 0
    new: int = 0

    def put(self, kind: str, name: str, rank: int) -> None:
        """Adds an op, by a name of it; only names of the highest rank are told."""
        self.names.setdefault(kind, {})[name, rank] = None
        self.old += kind == "removed"
        self.new += kind == "added"

    def done(self) -> Difference:
        best = max(rank for names in self.names.values() for _, rank in names)
        forward = best > _BACKWARD
        removed, added, changed = (
            tuple(_folded(self._told(kind, forward))) for kind in ("removed", "added", "changed")
        )
        return Difference(self.line, self.within, removed, added, changed, self.old, self.new)

    def _told(self, kind: str, forward: bool) -> dict[str, None]:
        names = self.names.get(kind, {})
        best = max((rank for _, rank in names), default=_BACKWARD)
        if forward and best == _BACKWARD:
            return {}
        return dict.fromkeys(name for name, rank in names if rank == best)


def differences_by_call(diff: Diff, changes: Iterable[Change]) -> list[Difference]:
    """What these ops are together, in their order.

    Args:
      diff: of which they are.
      changes: that were added, removed or changed.
    """
    reading = _Reading(diff)
    found: dict[object, _Growing] = {}
    for change in changes:
        line, within, name, rank = reading.read(change)
        found.setdefault((line, within), _Growing(line, within)).put(change.kind, name, rank)
    groups: dict[object, list[Difference]] = {}
    for one in (growing.done() for growing in found.values()):
        names = (tuple(map(unnumbered, names)) for names in (one.removed, one.added, one.changed))
        groups.setdefault((one.line, unnumbered(one.within), *names), []).append(one)
    return [_merged(some) for some in groups.values()]


def _merged(some: Sequence[Difference]) -> Difference:
    if len(some) == 1:
        return some[0]
    columns = ([*zip(*(getattr(one, name) for one in some), strict=True)] for name in ("removed", "added", "changed"))
    removed, added, changed = (tuple(common_text(column) for column in names) for names in columns)
    within = common_text([one.within for one in some])
    old, new = sum(one.old for one in some), sum(one.new for one in some)
    return Difference(some[0].line, within, removed, added, changed, old, new, len(some))


def _folded(names: Iterable[str]) -> Iterator[str]:
    """Names of which those that differ in the numbers of modules are one."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(unnumbered(name), []).append(name)
    yield from map(common_text, groups.values())


class _Reading:
    """Which calls both programs have, and which line of the old text became which of the new one."""

    def __init__(self, diff: Diff) -> None:
        self._levels: tuple[Level, Level] = diff.old.level(diff.level), diff.new.level(diff.level)
        self._prefixes: dict[int, list[object]] = {}
        self._calls = tuple({key for op in level.ops() for key in self._keys(op.call)} for level in self._levels)
        self._lines: dict[object, int] = {}
        self._moved: dict[tuple[int, int], Call | None] = {}
        for change in diff.changes:
            if change.old is not None and change.new is not None:
                self._note_lines(self._op(0, change.old), self._op(1, change.new))

    def op(self, change: Change) -> Op:
        return self._op(1, change.new) if change.new is not None else self._op(0, change.old or (0, 0))

    def read(self, change: Change) -> tuple[int | None, str, str, int]:
        """The line of the cell, the function in which an op changed, and the call or the op that did, with its rank."""
        op, gone = self.op(change), change.new is None
        line = self._line((), op.line, gone)
        call = self._with_lines(op.call) if gone else op.call
        only = next((step for step, key in self._steps(op.call, call) if key not in self._calls[gone]), None)
        if change.kind != "changed" and only is not None:
            return line, _within(only), f"{only.name} {only.path}".strip(), _CALL
        name = op.name if change.kind != "changed" else f"{op.name} ({'; '.join(change.why)})"
        rank = _BACKWARD if op.is_backward else _OP
        return line, made_in(replace(op, call=call)), name, rank

    def _op(self, side: int, place: Place) -> Op:
        return self._levels[side].computations[place[0]].ops[place[1]]

    def _steps(self, call: Call | None, shown: Call | None) -> Iterator[tuple[Call, object]]:
        """The calls on the way to one, as they are shown, each with what tells it from others."""
        if call is not None and shown is not None:
            named = [step for step in shown.steps() if step.kind != "line"]
            yield from zip(named, self._keys(call), strict=True)

    def _keys(self, call: Call | None) -> list[object]:
        """Of each call on the way to one, what tells it from others: names and modules, from the cell on."""
        if call is None:
            return []
        found = self._prefixes.get(id(call))
        if found is None:
            above = self._keys(call.parent)
            own = [] if call.kind == "line" else [((*above[-1:],), call.name, call.path)]
            found = self._prefixes[id(call)] = [*above, *own]
        return found

    def _note_lines(self, old: Op, new: Op) -> None:
        if old.line is not None and new.line is not None:
            self._lines.setdefault(((), old.line), new.line)
        if old.call is None or new.call is None or (id(old.call), id(new.call)) in self._moved:
            return
        self._moved[id(old.call), id(new.call)] = None
        for a, b in zip(old.call.steps(), new.call.steps(), strict=False):
            if a.name != b.name:
                break
            if a.span is not None and b.span is not None and a.parent is not None:
                self._lines.setdefault((_function(a.parent), a.span.line), b.span.line)

    def _line(self, function: object, line: int | None, gone: bool) -> int | None:
        """A line as it is counted in the new text."""
        return self._lines.get((function, line), line) if gone and line is not None else line

    def _with_lines(self, call: Call | None) -> Call | None:
        """A call of the old program with the lines of the new text."""
        if call is None:
            return None
        parent, span = self._with_lines(call.parent), call.span
        if span is not None and call.parent is not None:
            line = self._line(_function(call.parent), span.line, True) or span.line
            span = replace(span, line=line, end_line=span.end_line + line - span.line)
        return replace(call, parent=parent, span=span)


def _within(call: Call) -> str:
    """The function that a call stands in, with the line of it; "" for the cell."""
    parent, span = call.parent, call.span
    while parent is not None and parent.kind == "line":
        parent, span = parent.parent, span or parent.span
    return made_in(Op("", call=Call("", "line", span, parent))) if parent is not None else ""


def _function(call: Call) -> str:
    """The function that a step stands in."""
    return next((step.name for step in reversed(call.steps()) if step.kind == "function"), "")
