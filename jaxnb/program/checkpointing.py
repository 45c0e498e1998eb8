"""What `jax.checkpoint` around a function would save, as an estimate by what lives when.

What calls of a function make forwards, and only their own backward pass reads again, need not live in between: from the
last op of a call that runs forwards to its first one that runs backwards. There it is made anew, with what that needs
besides, and lives as before. What the call reads has to live until then instead, as far as it would not anyway. That
gives another curve of live bytes, and what its peak is lower by is what would be saved: nothing, where a peak elsewhere
is as high.

It is an estimate. The order of the ops is taken as it is, though a compiler may fuse otherwise what is computed anew,
or take it together with the first time (XLA for CPUs did before jax 0.11); values of the bodies of loops stand where
the loop does; what was passed to the program is taken to be there; and calls of one line are told apart by how often
their ops are there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from math import gcd

from jaxnb.program.calltree import common_text, unnumbered
from jaxnb.program.occupancy import Held, Memory, Saving
from jaxnb.program.structure import Call, Level, Op

__all__ = ["Checkpoints", "is_residual", "with_savings"]

_Key = tuple[int, str, str, object, str, object]
_WORTH = 0.05  # of the peak


def is_residual(one: Held, ops: Sequence[Op]) -> bool:
    """Whether a value is kept for the backward pass: made forwards, and last read backwards.

    Args:
      one: the value.
      ops: those of the computation that its positions mean; () where they are not known.
    """
    if one.kind != "temporary" or one.last >= len(ops) or one.last <= one.first + 1:
        return False
    return not ops[one.first].is_backward and ops[one.last].is_backward


def with_savings(memory: Memory, level: Level) -> Memory:
    """The same, with what `jax.checkpoint` would save: of functions whose residuals are at least 5 % of the peak.

    Args:
      memory: of one piece.
      level: whose ops its positions are.
    """
    groups: dict[tuple[int | None, str], list[Held]] = {}
    ops = level.computations[memory.computation].ops
    for one in memory.at(memory.peak_at):
        if one.within and one.nbytes and is_residual(one, ops):
            groups.setdefault((one.line, unnumbered(one.within)), []).append(one)
    large = [some for some in groups.values() if sum(one.nbytes for one in some) >= _WORTH * memory.peak]
    if not large:
        return memory
    checkpoints = Checkpoints(level, memory)
    found = [
        Saving(common_text([one.within for one in some]), some[0].line, nbytes)
        for some in large
        if (nbytes := checkpoints.saved(some))
    ]
    return replace(memory, savings=tuple(sorted(found, key=lambda one: -one.nbytes)))


class Checkpoints:
    """What would be saved in one piece of a program.

    Args:
      level: whose ops the positions of the memory are.
      memory: who lives when.
    """

    def __init__(self, level: Level, memory: Memory) -> None:
        self._memory = memory
        self._entry = memory.computation
        self._ops = level.computations[self._entry].ops
        self._numbers: dict[_Key, int] = {}
        self._known: dict[int, tuple[int, ...]] = {}
        self._members: dict[int, list[int]] = {}  # the ops in each call, which is meant by a number
        self._made: dict[int, list[Held]] = {}
        for one in memory.held:
            if one.op is not None and one.op[0] == self._entry:
                self._made.setdefault(one.op[1], []).append(one)
        self._readers: dict[int, list[int]] = {}  # of the ops that make something that lives, who reads it
        self._reads: list[frozenset[int]] = []  # what makes what an op reads
        roots: dict[int, frozenset[int]] = {}
        for at, op in enumerate(self._ops):
            for number in self._calls(op):
                self._members.setdefault(number, []).append(at)
            read = frozenset[int]().union(*(roots.get(value, frozenset()) for value in op.inputs))
            self._reads.append(read)
            if at in self._made:
                for root in read:
                    self._readers.setdefault(root, []).append(at)
            # What has no memory of its own is its operands by another name.
            roots.update(dict.fromkeys(op.outputs, frozenset({at}) if at in self._made else read))

    def saved(self, held: Iterable[Held]) -> int:
        """By how many bytes the peak would be lower if the functions were checkpointed that made some values.

        Args:
          held: residuals that calls of one function have made.
        """
        calls = {number for one in held if (number := self._innermost(one)) is not None}
        change = [0] * (len(self._memory.live) + 2)
        gaps: list[tuple[set[int], int, int]] = []
        until: dict[int, int] = {}  # how long operands are needed
        for ahead, back in (turn for number in calls for turn in self._turns(self._members[number])):
            if min(back) <= max(ahead) + 1:
                continue
            inside = {*ahead, *back}
            gaps.append((inside, max(ahead), min(back)))
            for root in self._read_by(set(ahead)) - inside:
                until[root] = max(until.get(root, 0), min(back))
        for inside, end, begin in gaps:
            for at in inside:
                others = [reader for reader in self._readers.get(at, ()) if reader not in inside]
                start = max(end, until.get(at, 0), *others, 0)
                for one in self._made.get(at, ()):
                    if not self._ops[at].is_backward and one.kind != "output" and start + 1 < begin <= one.last + 1:
                        change[start + 1] -= one.nbytes
                        change[begin] += one.nbytes
            besides = self._besides(inside, end)
            change[begin] += besides
            change[begin + 1] -= besides
        for root, position in until.items():
            for one in self._made[root]:
                if one.last < position:
                    change[one.last + 1] += one.nbytes
                    change[position + 1] -= one.nbytes
        live = map(sum, zip(self._memory.live, accumulate(change), strict=False))
        return max(0, self._memory.peak - max(live, default=0))

    def _besides(self, inside: set[int], end: int) -> int:
        """The bytes that a turn needs while it is computed anew, besides what it makes that lives on after it."""
        change: dict[int, int] = {}
        kept = 0
        for at in inside:
            if at > end or inside.isdisjoint(self._readers.get(at, ())):
                continue
            for one in self._made.get(at, ()):
                kept += one.nbytes if one.last > end else 0
                change[at] = change.get(at, 0) + one.nbytes
                change[one.last + 1] = change.get(one.last + 1, 0) - one.nbytes
        return max(0, max(accumulate(change[at] for at in sorted(change)), default=0) - kept)

    def _turns(self, members: Sequence[int]) -> list[tuple[list[int], list[int]]]:
        """The ops of a call that run forwards, and those that run backwards. A line that calls a function again and
        again is one call: it has as many turns as divide how often each of its ops is there, forwards, and each turn
        begins with the same op."""
        ahead = self._begun_anew([at for at in members if not self._ops[at].is_backward])
        turns: list[tuple[list[int], list[int]]] = [(one, []) for one in ahead]
        if not turns:
            return []
        within = {at: number for number, one in enumerate(ahead) for at in one}
        backward: dict[int, int] = {}
        for at in members:
            if self._ops[at].is_backward:
                backward[at] = self._turn_of(at, within, backward, len(ahead) - 1)
                turns[backward[at]][1].append(at)
        return [(one, back) for one, back in turns if back]

    def _turn_of(self, at: int, ahead: dict[int, int], back: dict[int, int], last: int) -> int:
        """Which turn of a call an op belongs to that runs backwards: the one that has to do with all that it reads,
        be it that it was made there or read there; cotangents come from the one after it."""
        touched = [(root, *self._readers.get(root, ())) for root in self._reads[at]]
        near = [max(turns) for some in touched if (turns := [ahead[other] for other in some if other in ahead])]
        return min([*near, *(back[root] for root in self._reads[at] if root in back)], default=last)

    def _begun_anew(self, members: Sequence[int]) -> list[list[int]]:
        keys = [(op.name, op.span, self._calls(op)) for op in (self._ops[at] for at in members)]
        counts = Counter(keys)
        each = counts[keys[0]] // gcd(*counts.values()) if keys else 0  # how often a turn has the op it begins with
        found: list[list[int]] = []
        begun = 0
        for at, key in zip(members, keys, strict=True):
            if key == keys[0]:
                if begun % each == 0:
                    found.append([])
                begun += 1
            found[-1].append(at)
        return found

    def _read_by(self, ops: set[int]) -> set[int]:
        """The ops whose results some ops read."""
        return {root for root, readers in self._readers.items() if not ops.isdisjoint(readers)}

    def _innermost(self, one: Held) -> int | None:
        if one.op is None or one.op[0] != self._entry:
            return None
        op = self._ops[one.op[1]]
        if op.call is None:
            return None
        steps = op.call.steps()
        named = [number for number, step in zip(self._calls(op), steps, strict=True) if step.kind != "line"]
        return named[-1] if named else None

    def _calls(self, op: Op) -> tuple[int, ...]:
        """The calls around an op, of which equal ones have one number."""
        call = op.call
        if call is None:
            return ()
        if id(call) not in self._known:
            above = self._calls_of(call.parent)
            key = (above[-1] if above else -1, call.name, call.kind, call.span, call.path, call.turns)
            self._known[id(call)] = (*above, self._numbers.setdefault(key, len(self._numbers)))
        return self._known[id(call)]

    def _calls_of(self, call: Call | None) -> tuple[int, ...]:
        return () if call is None else self._calls(Op("", call=call))
