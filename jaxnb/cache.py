"""The programs of a cell, which of them serves a run, and in words why none did (SEMANTICS, rule 10)."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, field
from typing import Any

from jaxnb import _jax
from jaxnb.blocks import Opened
from jaxnb.graph import Reached, Scan
from jaxnb.guards import Guard, make_guard
from jaxnb.paths import (
    ALIAS,
    ARRAY,
    ATTRIBUTES,
    COMPLEX,
    CONTENT,
    FLOAT,
    FUN,
    INT,
    JIT,
    NUMPY,
    OBJECT,
    ROOT,
    Choices,
    holders_of,
    render_path,
)
from jaxnb.piece import Piece, Plan

__all__ = ["CodeRecord", "explain_change", "scalars_that_changed"]


@dataclass(slots=True)
class CodeRecord:
    """What is kept of one cell's code under one set of options.

    Attributes:
      pieces: the programs, the most recently used last.
      choices: which leaves are static or dynamic by decision.
      breaks: statements at which a piece must end.
      forced: names whose value at entry is read, though the cell binds them too.
      never_dynamic: scalars that turned out to be needed as values.
      last: for each start of a piece, the one that ran last.
      on_host: statements that need values and that Python therefore runs, each with a line and the reason.
      reached: for each of them, the user's code that it reached when it was given to Python.
      opened: those of them that are taken apart.
      blocks: what is kept of the code inside these, by statement and number of the block.
      runs: how often the cell ran.
    """

    choices: Choices = field(default_factory=Choices)
    pieces: list[Piece] = field(default_factory=list[Piece])
    breaks: set[int] = field(default_factory=set[int])
    forced: set[str] = field(default_factory=set[str])
    never_dynamic: set[Any] = field(default_factory=set[Any])
    last: dict[int, Piece] = field(default_factory=dict[int, Piece])
    on_host: dict[int, tuple[int, str]] = field(default_factory=dict[int, tuple[int, str]])
    reached: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    opened: dict[int, Opened] = field(default_factory=dict[int, Opened])
    blocks: dict[tuple[int, int], CodeRecord] = field(default_factory=lambda: {})
    runs: int = 0

    def give_to_python(self, index: int, line: int, reason: str, reached: dict[str, Any]) -> None:
        """From now on Python runs this statement."""
        self.on_host[index], self.reached[index] = (line, reason), reached
        self.breaks.update((index, index + 1))

    def take_back(self, index: int) -> None:
        """The statement is to be traced again."""
        for kept in (self.on_host, self.reached, self.opened):
            kept.pop(index, None)
        self.breaks -= {index, index + 1}
        for key in [key for key in self.blocks if key[0] == index]:
            del self.blocks[key]

    def is_still_for_python(self, index: int, reached: dict[str, Any]) -> bool:
        """Whether a statement is for Python, and no function or class that it reaches has changed since."""
        if index not in self.on_host:
            return False
        before = self.reached[index]
        if any(before.get(name, mark) != mark for name, mark in reached.items()):
            self.take_back(index)
            return False
        return True

    def starting_at(self, start: int) -> list[Piece]:
        """The pieces that begin there, the most recently used first."""
        return [piece for piece in reversed(self.pieces) if piece.plan.start == start]

    def use(self, piece: Piece, limit: int) -> None:
        """Marks a piece as the one used last, and drops the oldest beyond the limit."""
        start = piece.plan.start
        self.last[start] = piece
        self.pieces[:] = [other for other in self.pieces if other is not piece]
        self.pieces.append(piece)
        same = [other for other in self.pieces if other.plan.start == start]
        for old in same[: max(0, len(same) - limit)]:
            self.pieces.remove(old)


def find_piece(
    record: CodeRecord, start: int, namespace: dict[str, Any], context: tuple[Any, ...], device: Any
) -> tuple[Piece, Reached] | None:
    """The program that serves a run in this namespace, with the walk that showed it."""
    pieces = record.starting_at(start)
    for piece in pieces:
        if piece.guard is not None and piece.key[0] == device and piece.context == context:
            reached = piece.guard(namespace)
            if reached is not None and (ready := piece.ready(reached)) is not None:
                return piece, ready
    plan: Plan | None = None
    scan: Scan | None = None
    key: tuple[Any, ...] = ()
    for piece in pieces:
        if scan is None or piece.plan is not plan:
            plan = piece.plan
            scan = plan.scan(namespace, record.choices)
            key = (device, *scan.parts)
        if piece.key == key and piece.context == context and not piece.reasons:
            ready = piece.ready(scan.reached())
            if ready is not None:
                _write_guard(record, piece, namespace)
                return piece, ready
    return None


VERIFY = os.environ.get("JAXNB_VERIFY") == "1"
"""Whether what a guard accepts is compared with a scan: for tests."""

_SCANS_BEFORE_GUARD = 1
_GUARDS_AT_MOST = 4
_PARTS_AT_MOST = 20_000
"""Beyond this, writing the walk down takes longer than it will ever save."""


def _write_guard(record: CodeRecord, piece: Piece, namespace: dict[str, Any]) -> None:
    """After some reuse, writes the walk down; again where the guard no longer fits, but not for ever."""
    piece.scanned += 1
    if len(piece.key) > _PARTS_AT_MOST:
        return
    if VERIFY or _SCANS_BEFORE_GUARD < piece.scanned <= _SCANS_BEFORE_GUARD + _GUARDS_AT_MOST:
        piece.guard = make_guard(piece.plan, namespace, record.choices)
        if VERIFY and piece.guard is not None:
            piece.guard = _verified(piece.guard, piece, record.choices.copy())


def _verified(guard: Guard, piece: Piece, choices: Choices) -> Guard:
    """A guard that raises where the scan would not accept what it accepts, or finds something else."""
    plan, key = piece.plan, piece.key

    def verified(namespace: dict[str, Any]) -> Reached | None:
        reached = guard(namespace)
        if reached is not None:
            scan = plan.scan(namespace, choices)
            same = (key[0], *scan.parts) == key
            for one, other in zip(scan.reached()[:3], reached[:3], strict=True):
                same &= len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
            if not same:
                raise AssertionError("a guard accepted what a scan does not")
        return reached

    return verified


def scalars_that_changed(old: Piece, key: tuple[Any, ...]) -> set[Any] | None:
    """Paths of the static Python numbers that differ between two keys, if nothing else does."""
    if len(old.key) != len(key):
        return None
    found: set[int] = set()
    for index, (a, b) in enumerate(zip(old.key, key, strict=True)):
        if a == b:
            continue
        if not (_is_number(a) and _is_number(b) and a[0] is b[0]):
            return None
        found.add(index)
    return {_path_at(old, index) for index in found} or None


def _is_number(part: Any) -> bool:
    return isinstance(part, tuple) and len(part) == 2 and part[0] in (int, float)


def _path_at(piece: Piece, index: int) -> Any:
    """The path of the value that the part of the key at `index` belongs to."""
    found: Any = (None, "name", "the cell")
    for first, path in piece.where:
        if first > index - 1:  # the key begins with the device
            break
        found = path
    return found


def explain_change(old: Piece, new: Piece) -> list[str]:
    """Sentences on what differs between two pieces of the same code, the most telling first."""
    reasons: list[str] = []
    if old.key and new.key and old.key[0] != new.key[0]:
        reasons.append(f"device {old.key[0]} → {new.key[0]}")
    matcher = difflib.SequenceMatcher(None, [repr(p) for p in old.key[1:]], [repr(p) for p in new.key[1:]], False)
    said: set[Any] = set()
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            continue
        for before, after, path in _pairs(old, new, range(a + 1, b + 1), range(c + 1, d + 1)):
            if (before is None or after is None) and any(holder in said for holder in holders_of(path)):
                continue  # it came or went with what holds it
            said.add(path)
            text = _explain(render_path(path), before, after)
            if text not in reasons:
                reasons.append(text)
    for before, after in zip(old.key[1:], new.key[1:], strict=False):
        if len(old.key) == len(new.key) and before != after and repr(before) == repr(after):
            index = next(i for i, part in enumerate(new.key) if part is after)
            reasons.append(f"{render_path(_path_at(new, index))} is another {_name_of(after)}")
    reasons.extend(_jax.context_names(old.context, new.context))
    return reasons


def _pairs(old: Piece, new: Piece, before: range, after: range) -> list[tuple[Any, Any, Any]]:
    olds = {_path_at(old, index): old.key[index] for index in reversed(before)}
    news = {_path_at(new, index): new.key[index] for index in reversed(after)}
    return [(olds.get(path), news.get(path), path) for path in dict.fromkeys([*reversed(olds), *reversed(news)])]


def _explain(path: str, before: Any, after: Any) -> str:
    if before is None:
        return f"{path} is read now and was not there before"
    if after is None:
        return f"{path} was read before and is not there now"
    if _mark(before) is FUN and _mark(after) is FUN:
        return f"the code of {path} changed"
    if _mark(before) is JIT and _mark(after) is JIT:
        return f"the jit options of {path} changed"
    if _mark(before) is ALIAS or _mark(after) is ALIAS:
        return f"{path} is {'no longer' if _mark(before) is ALIAS else 'now'} the same object as another input"
    if _mark(before) is ATTRIBUTES and _mark(after) is ATTRIBUTES:
        return f"{path} {_attributes_changed(before[1], after[1])}"
    return f"{path} {_text(before)} → {_text(after)}"


def _attributes_changed(before: tuple[str, ...], after: tuple[str, ...]) -> str:
    more = [f"has .{name} now" for name in after if name not in before]
    less = [f"has no .{name} any more" for name in before if name not in after]
    return " and ".join([*more, *less]) or "has its attributes in another order"


def _mark(part: Any) -> Any:
    return part[0] if isinstance(part, tuple) and part else part


def _name_of(part: Any) -> str:
    return getattr(_mark(part), "__name__", str(_mark(part)))


def _text(part: Any) -> str:
    """A part of a key for people."""
    mark = _mark(part)
    if mark is ARRAY:
        aval = part[1]
        weak = "~" if getattr(aval, "weak_type", False) else ""
        text = f"{weak}{aval.dtype.name}[{','.join(map(str, aval.shape))}]"
        return text if len(part) == 2 else f"{text} on {_sharding(part[2])}"
    if mark is NUMPY:
        return f"NumPy {part[2]}[{','.join(map(str, part[3]))}]"
    if mark is CONTENT:
        return "other content"
    if mark in (FLOAT, COMPLEX, INT):
        return f"a traced {mark!r}"
    if mark is ROOT:
        return "a name"
    if mark is OBJECT:
        return f"a {getattr(part[1], '__name__', part[1])}"
    if mark is float:
        return str(float.fromhex(part[1]))
    if isinstance(part, tuple) and len(part) == 2 and isinstance(mark, type):
        if mark in (list, tuple, set, frozenset):
            return f"a {mark.__name__} of {part[1]}"
        if mark is dict:
            return f"a dict with keys {', '.join(map(repr, part[1][:6]))}"
        return repr(part[1])
    return _name_of(part)


def _sharding(sharding: Any) -> str:
    spec = getattr(sharding, "spec", None)
    if spec is not None:
        return str(spec)
    devices = sorted(sharding.device_set, key=lambda device: device.id)
    return ", ".join(str(device) for device in devices[:4])
