"""What changed from one program to another: their ops, aligned by structure, and their sums.

Ops are aligned computation by computation, in their order: first those that are equal in name, types and parameters
and were made in the same call, then, in the gaps, those that are equal in less. Aligned ops are the same if their
operands are aligned, too; otherwise they changed, and it is said in what. Bodies of aligned ops are aligned likewise.

Where inputs have other sizes, nearly every op changes, and all in the same: a batch of 16 became one of 8. So an op of
which only sizes changed, and only as those of the inputs or in the same ratio, is told apart from one that changed.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from jaxnb.program.display import render
from jaxnb.program.program import Program
from jaxnb.program.structure import COLUMNS, Aval, Call, Computation, Level, Op, Place

__all__ = ["Amount", "Change", "Diff", "compare"]

_FEW = 4
"""Names that what is made of is told by."""
_LONG = 400
"""Ops in a gap from which on what occurs very often no longer serves to align it, which would take too long."""


@dataclass(frozen=True, slots=True)
class Change:
    """An op of either program.

    Attributes:
      kind: "same", "resized" (only sizes are others, as `Diff.sizes` says), "changed", "added" or "removed".
      old: where it stands in the old program, as (computation, op); None if it was added.
      new: where it stands in the new one; None if it was removed.
      why: in what it changed, such as "float32[8] → bfloat16[8]".
      depth: how many ops it stands inside of.
      follows: whether it changed only in that it takes what was added, or took what was removed.
    """

    kind: str
    old: Place | None
    new: Place | None
    why: tuple[str, ...] = ()
    depth: int = 0
    follows: bool = False


@dataclass(frozen=True, slots=True)
class Amount:
    """A figure of both programs; None where it is not known."""

    old: float | None
    new: float | None

    @property
    def changed(self) -> bool:
        """Whether both are known, and differ."""
        return self.old is not None and self.new is not None and self.old != self.new


@dataclass(frozen=True, slots=True)
class Diff:
    """What changed from `old` to `new` at one level.

    Attributes:
      level: its name.
      changes: every op of both, in the order of the new program.
      sizes: of the inputs that became others: for each old size and its new one, the names of the inputs.
      amounts: "equations" and the figures of `COLUMNS`: sums over ops, of memory the bytes at the peak, and of seconds
        those of the whole program.
      old: the program before.
      new: the program after.

    >>> from jaxnb.program.structure import Value
    >>> def program(*names):
    ...     ops = tuple(Op(name, (place,), (place + 1,)) for place, name in enumerate(names))
    ...     values = tuple(Value(letter, Aval("float32")) for letter in "abcd")
    ...     return Program("", (Level("jaxpr", values, (Computation("main", (0,), (len(ops),), ops),)),))
    >>> found = compare(program("sin", "exp"), program("sin", "neg", "exp"))
    >>> [change.kind for change in found.changes], found.amounts["equations"]
    (['same', 'added', 'changed'], Amount(old=2, new=3))
    """

    level: str
    changes: tuple[Change, ...]
    sizes: dict[tuple[int, int], tuple[str, ...]]
    amounts: dict[str, Amount]
    old: Program = field(repr=False)
    new: Program = field(repr=False)

    @property
    def same(self) -> bool:
        """Whether both do the same; figures that were measured may differ."""
        return all(change.kind == "same" for change in self.changes)

    def count(self, kind: str) -> int:
        """How many ops there are of one kind."""
        return sum(change.kind == kind for change in self.changes)

    @property
    def sums(self) -> str:
        """The figures that changed, in one line; "" where none did."""
        return render(self, "sums")

    def __str__(self) -> str:
        return render(self, "text")


def compare(old: Program, new: Program, level: str = "jaxpr") -> Diff:
    """What changed from one program to another.

    Args:
      old: the program before.
      new: the program after.
      level: at which they are compared; it is made where it was not yet.

    Raises:
      KeyError: if one of them has no such level.
    """
    before, after = old.level(level), new.level(level)
    sizes = _resized_inputs(before, after)
    aligning = _Aligning(before, after, sizes)
    changes: list[Change] = []
    entries = max(before.entries, after.entries)
    for index in range(entries):
        changes += aligning.computations(
            index if index < before.entries else None, index if index < after.entries else None, 0
        )
    changes = aligning.with_consequences(changes)
    resizing = _Resizing(before, after, sizes)
    told = tuple(replace(change, kind="resized") if resizing.explains(change) else change for change in changes)
    return Diff(level, told, sizes, _amounts(old, new, before, after), old, new)


class _Aligning:
    """Aligns the computations of two levels, and remembers which values correspond."""

    def __init__(self, old: Level, new: Level, sizes: Iterable[tuple[int, int]]) -> None:
        self.old, self.new = old, new
        self._sizes = {size for pair in sizes for size in pair if size}
        self._values: dict[int, int] = {}  # of the old level, each with its counterpart in the new one
        self._counterparts: set[int] = set()
        self._calls: dict[int, tuple[object, ...]] = {}
        self._origins = _origins(old), _origins(new)

    def with_consequences(self, changes: Sequence[Change]) -> list[Change]:
        """The changes of all ops, in which it is said which follow from others."""
        self._counterparts = set(self._values.values())
        return [replace(one, follows=True) if self._follows(one) else one for one in changes]

    def _follows(self, change: Change) -> bool:
        if change.kind != "changed" or change.old is None or change.new is None:
            return False
        if not all(why.endswith(_ANOTHER) for why in change.why):
            return False
        a, b = (level.computations[c].ops[op] for level, (c, op) in ((self.old, change.old), (self.new, change.new)))
        pairs = [(x, y) for x, y in zip(a.inputs, b.inputs, strict=True) if not self._correspond(x, y)]
        return all(x not in self._values or y not in self._counterparts for x, y in pairs)

    def _correspond(self, old: int, new: int) -> bool:
        literal = self.old.values[old].literal and self.new.values[new].literal
        return literal or self._values.get(old) == new

    def computations(self, old: int | None, new: int | None, depth: int) -> Iterator[Change]:
        """Every op of two computations that correspond, with those of their bodies."""
        before = self.old.computations[old] if old is not None else Computation("")
        after = self.new.computations[new] if new is not None else Computation("")
        self._inputs(before, after)
        for a, b in _aligned(
            [self._keys(self.old, op) for op in before.ops], [self._keys(self.new, op) for op in after.ops]
        ):
            here = None if a is None or old is None else (old, a)
            there = None if b is None or new is None else (new, b)
            yield from self._ops(
                here, before.ops[a] if a is not None else None, there, after.ops[b] if b is not None else None, depth
            )

    def _inputs(self, before: Computation, after: Computation) -> None:
        by_name = {name: value for name, value in zip(after.input_names, after.inputs, strict=False) if name}
        for position, value in enumerate(before.inputs):
            name = before.input_names[position] if before.input_names else ""
            if name and after.input_names:
                if name in by_name:
                    self._values[value] = by_name[name]
            elif position < len(after.inputs):
                self._values[value] = after.inputs[position]
        self._values.update(zip(before.constants, after.constants, strict=False))

    def _ops(self, here: Place | None, a: Op | None, there: Place | None, b: Op | None, depth: int) -> Iterator[Change]:
        if a is None or b is None:
            yield Change("removed" if b is None else "added", here, there, (), depth)
            for body in (a or b or Op("")).bodies:
                yield from self.computations(body if b is None else None, None if b is None else body, depth + 1)
            return
        why = tuple(self._differences(a, b))
        self._values.update(zip(a.outputs, b.outputs, strict=False))
        yield Change("changed" if why else "same", here, there, why, depth)
        for n in range(max(len(a.bodies), len(b.bodies))):
            yield from self.computations(
                a.bodies[n] if n < len(a.bodies) else None, b.bodies[n] if n < len(b.bodies) else None, depth + 1
            )

    def _keys(self, level: Level, op: Op) -> tuple[object, ...]:
        """What two ops may be equal in: first everything, then less and less.

        Where inputs were resized, sizes are no sign: an op of another place may happen to have those of before.
        """
        types = tuple(_type(level, index) for index in (*op.inputs, *op.outputs))
        literals = tuple(level.values[index].name for index in op.inputs if level.values[index].literal)
        content: object = types, op.attributes
        blind: object = content, literals
        if self._sizes:
            blind = _NUMBER.sub("#", repr(blind))
            content = _NUMBER.sub(self._unsized, repr(content))
        form = (op.name, op.phase, len(op.bodies), content, literals)
        call, known = self._call(op.call), self._origins[level is self.new]
        origins = tuple(known.get(index) for index in (*op.inputs, *op.outputs))
        rough = (op.name, op.phase, len(op.bodies), blind)
        return (form, call, origins), (form, call), (rough, call), rough, (op.name, call), (op.name, call[-1:])

    def _unsized(self, found: re.Match[str]) -> str:
        """A number as it stands in a key: not if it may be of a size that changed."""
        text = found[0]
        number = int(text) if text.isdecimal() else 0
        return "#" if number and any(number % size == 0 for size in self._sizes) else text

    def _call(self, call: Call | None) -> tuple[object, ...]:
        """The names and modules of the calls that an op was made in, without their lines, which move."""
        if call is None:
            return ()
        found = self._calls.get(id(call))
        if found is None:
            named = [step for step in call.steps() if step.kind != "line"]
            found = self._calls[id(call)] = tuple((step.name, step.path) for step in named)
        return found

    def _differences(self, a: Op, b: Op) -> Iterator[str]:
        types = [[_type(level, i) for i in op.outputs] for level, op in ((self.old, a), (self.new, b))]
        if types[0] != types[1]:
            yield f"{_listed(types[0])} → {_listed(types[1])}"
        elif len(a.inputs) == len(b.inputs):
            for n, (x, y) in enumerate(zip(a.inputs, b.inputs, strict=True), 1):
                yield from self._operands(n, x, y)
        else:
            yield f"{len(a.inputs)} operands → {len(b.inputs)}"
        old, new = dict(a.attributes), dict(b.attributes)
        for name in dict.fromkeys((*old, *new)):
            if old.get(name) != new.get(name):
                yield f"{name}: {old.get(name, 'none')} → {new.get(name, 'none')}"

    def _operands(self, number: int, old: int, new: int) -> Iterator[str]:
        x, y = self.old.values[old], self.new.values[new]
        if x.literal or y.literal:
            if (x.literal, x.name) != (y.literal, y.name):
                yield f"operand {number}: {x.name} → {y.name}"
        elif _type(self.old, old) != _type(self.new, new):
            yield f"operand {number}: {_type(self.old, old)} → {_type(self.new, new)}"
        elif self._values.get(old) != new:
            yield f"operand {number} {_ANOTHER}"


def _origins(level: Level) -> dict[int, frozenset[str]]:
    """What the user calls values of a level; of others what they are made of, where those are a few names.

    By this an optimizer's ops on one parameter are told from those on the next, which are the same otherwise.
    """
    found: dict[int, frozenset[str]] = {}
    for entry in level.computations[: level.entries]:
        named = [*zip(entry.outputs, entry.output_names, strict=False)]
        named += zip(entry.inputs, entry.input_names, strict=False)
        known = {value: frozenset({name}) for value, name in named if name}
        found.update(known)
        for op in entry.ops:
            origins = frozenset[str]().union(*(found.get(index, ()) for index in op.inputs))
            if origins and len(origins) <= _FEW:
                found.update((index, origins) for index in op.outputs if index not in known)
    return found


def _resized_inputs(old: Level, new: Level) -> dict[tuple[int, int], tuple[str, ...]]:
    """The sizes of inputs that became others, each with the names of those inputs."""
    found: dict[tuple[int, int], list[str]] = {}
    for before, after in zip(old.computations[: old.entries], new.computations[: new.entries], strict=False):
        if not before.input_names or not after.input_names:
            continue
        there = dict(zip(after.input_names, after.inputs, strict=False))
        for name, index in zip(before.input_names, before.inputs, strict=False):
            a = old.values[index].aval
            b = new.values[there[name]].aval if name in there else None
            if a is None or b is None or a.dtype != b.dtype or len(a.shape) != len(b.shape):
                continue
            for x, y in zip(a.shape, b.shape, strict=True):
                if x != y and isinstance(x, int) and isinstance(y, int):
                    found.setdefault((x, y), []).append(name)
    return {pair: tuple(dict.fromkeys(names)) for pair, names in found.items()}


_ANOTHER = "is another value"
_EXACT = 1e-6
_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:e[+-]?\d+)?")


class _Resizing:
    """Tells the changes that follow from other sizes of inputs from those that do not."""

    def __init__(self, old: Level, new: Level, sizes: Iterable[tuple[int, int]]) -> None:
        self.old, self.new = old, new
        self._sizes = [(x, y) for x, y in sizes if x and y]

    def explains(self, change: Change) -> bool:
        """Whether the op is the same but for sizes, and numbers in parameters and operands that follow from them."""
        if not self._sizes or change.kind != "changed" or change.old is None or change.new is None:
            return False
        levels = ((self.old, change.old), (self.new, change.new))
        a, b = (level.computations[computation].ops[op] for level, (computation, op) in levels)
        old, new = dict(a.attributes), dict(b.attributes)
        if len(a.inputs) != len(b.inputs) or old.keys() != new.keys():
            return False
        if any(_ANOTHER in why for why in change.why):
            return False
        for x, y in zip((*a.inputs, *a.outputs), (*b.inputs, *b.outputs), strict=True):
            if not self._alike(_type(self.old, x), _type(self.new, y), self._is_size):
                return False
            here, there = self.old.values[x], self.new.values[y]
            if here.literal != there.literal:
                return False
            if here.literal and not self._alike(here.name, there.name, self._is_count):
                return False
        return all(self._alike(old[name], new[name], self._is_size) for name in old)

    def _alike(self, old: str, new: str, follows: Callable[[float, float], bool]) -> bool:
        if old == new:
            return True
        if _NUMBER.sub("#", old) != _NUMBER.sub("#", new):
            return False
        pairs = zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True)
        return all(x == y or follows(float(x), float(y)) for x, y in pairs)

    def _is_size(self, x: float, y: float) -> bool:
        """Whether a number of a shape or parameter follows from a size: a multiple or part of it, or so far from it."""
        return any(x * new == y * old or y - x == new - old for old, new in self._sizes)

    def _is_count(self, x: float, y: float) -> bool:
        """Whether an operand does, such as what a mean divides by, or multiplies with."""
        return any(self._counts(x, y, *size) or (x and y and self._counts(1 / x, 1 / y, *size)) for size in self._sizes)

    @staticmethod
    def _counts(x: float, y: float, old: int, new: int) -> bool:
        whole = round(x / old)
        return whole > 0 and abs(x / old - whole) < _EXACT * whole and abs(y / new - whole) < _EXACT * whole


Keys = Sequence[tuple[object, ...]]


def _aligned(old: Keys, new: Keys) -> Iterator[tuple[int | None, int | None]]:
    """Pairs of positions, in the order of the new sequence; None where there is no counterpart.

    Args:
      old: for each op what it may be equal in to another, the most telling first.
      new: likewise.
    """
    rounds = len(old[0]) if old else len(new[0]) if new else 0
    known: dict[object, int] = {}
    numbers = [
        [[known.setdefault((n, keys[n]), len(known)) for keys in some] for some in (old, new)] for n in range(rounds)
    ]
    yield from _by_key(numbers, 0, range(len(old)), range(len(new)))


def _by_key(numbers: list[list[list[int]]], at: int, old: range, new: range) -> Iterator[tuple[int | None, int | None]]:
    """Aligns two parts of sequences by their keys of one kind, and what is between by those of the next."""
    if not old or not new or at == len(numbers):
        yield from ((place, None) for place in old)
        yield from ((None, place) for place in new)
        return
    a, b = ([keys[place] for place in part] for keys, part in zip(numbers[at], (old, new), strict=True))
    start = _alike_from_the_top(a, b)
    yield from zip(old[:start], new[:start], strict=True)
    end = _alike_from_the_top(a[start:][::-1], b[start:][::-1])
    stop_a, stop_b = len(a) - end, len(b) - end
    matcher = difflib.SequenceMatcher(None, a[start:stop_a], b[start:stop_b], autojunk=stop_b - start > _LONG)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        here, there = old[start + i1 : start + i2], new[start + j1 : start + j2]
        yield from zip(here, there, strict=True) if tag == "equal" else _by_key(numbers, at + 1, here, there)
    yield from zip(old[stop_a:], new[stop_b:], strict=True)


def _alike_from_the_top(old: Sequence[object], new: Sequence[object]) -> int:
    """How many items two sequences begin with in common."""
    return next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _amounts(old: Program, new: Program, before: Level, after: Level) -> dict[str, Amount]:
    found = {"equations": Amount(sum(1 for _ in before.ops()), sum(1 for _ in after.ops()))}
    # First what is counted, and last what was measured.
    compared = (column for column in COLUMNS.values() if column.of != "derived")
    for column in sorted(compared, key=lambda column: (column.measured, column.of == "line")):
        found[column.name] = Amount(_total(old, before, column.name), _total(new, after, column.name))
    return found


def _total(program: Program, level: Level, name: str) -> float | None:
    """The sum of what is known; None if nothing is."""
    if name == "memory":
        return _peak(program)
    if name == "seconds":
        return program.timing.total if program.timing is not None else None
    known = [value for op in level.ops() if (value := getattr(op, name)) is not None]
    return sum(known) if known else None


def _peak(program: Program) -> int | None:
    """The most bytes that live at one time; pieces run one after the other."""
    return max((memory.peak for memory in program.memory()), default=None)


def _type(level: Level, index: int) -> str:
    aval: Aval | None = level.values[index].aval
    return "" if aval is None else str(aval)


def _listed(types: Sequence[str]) -> str:
    return ", ".join(types) or "nothing"
