"""What an instruction's name says of the operations that it was made of, and what is likely where it says nothing."""

from __future__ import annotations

from collections.abc import Iterable

from jaxnb.program import Level, Op, Place
from jaxnb.reading.jaxpr.ids import Name, read_name, split_joined
from jaxnb.reading.stablehlo.read import NamedLevel

__all__ = ["MissingOps", "NamedOps", "Pairs", "Place", "split_names"]

Pairs = list[tuple[Place, bool]]
"""What an op is linked to, each with whether that is exact."""

# They give a value another form, and XLA takes them out or puts them in as it pleases.
_SHAPING = frozenset({"broadcast", "reshape", "convert", "transpose", "constant", "iota"})


class NamedOps:
    """The ops of a level by their names."""

    def __init__(self, upper: NamedLevel) -> None:
        self._level = upper.level
        self._by_name: dict[str, list[Place]] = {}
        self._by_path: dict[tuple[int, ...], list[Place]] = {}
        self._by_plain: dict[str, list[Place]] = {}
        self._last: dict[int, set[str]] = {}
        self._paths: dict[int, set[tuple[int, ...]]] = {}
        for index, names in enumerate(upper.names):
            for at, full in enumerate(names):
                name = read_name(full)
                self._by_name.setdefault(full, []).append((index, at))
                self._by_path.setdefault(name.path, []).append((index, at))
                self._by_plain.setdefault(name.plain, []).append((index, at))
                if name.path:
                    self._last.setdefault(name.path[-1], set()).add(name.last)
                    self._paths.setdefault(name.path[-1], set()).add(name.path)

    def knows(self, name: Name) -> bool:
        """Whether a name can come from this level: unnumbered, or with what stands behind this number here."""
        return not name.path or not name.last or name.last in self._last.get(name.path[-1], ())

    def exactly(self, full: str, opcode: str) -> Pairs:
        """The ops of that name; else those of the same equation."""
        if full in self._by_name:
            return [(place, True) for place in self._alike(self._by_name[full], opcode)]
        name = read_name(full)
        within = [path for path in self._paths.get(name.path[-1] if name.path else -1, ()) if _ends_in(path, name.path)]
        if within:  # without the names of calls: which one it was is known if there is but one
            places = [place for path in sorted(within) for place in self._by_path[path]]
            return [(place, len(within) == 1) for place in self._alike(places, opcode)]
        for path in _parts(name):
            if path in self._by_path:
                exact = set(path) == set(name.path)  # the names of calls may stand in front twice
                return [(place, exact) for place in self._alike(self._by_path[path], opcode)]
        return []

    def loosely(self, full: str, opcode: str) -> Pairs:
        """The ops of that name, whatever numbers there are in it."""
        found = self._by_plain.get(read_name(full).plain, [])
        return [(place, False) for place in self._alike(found, opcode)]

    def _alike(self, places: list[Place], opcode: str) -> list[Place]:
        """Those of the same kind, if there are any: an equation may become several ops under one name."""
        word = _word(opcode)
        alike = [place for place in places if _word(self._op(place).name) == word]
        return alike or places

    def _op(self, place: Place) -> Op:
        return self._level.computations[place[0]].ops[place[1]]


def _ends_in(path: tuple[int, ...], end: tuple[int, ...]) -> bool:
    return path[len(path) - len(end) :] == end


def _parts(name: Name) -> Iterable[tuple[int, ...]]:
    """The ends of a path (the calls before may have been put in front twice), and then its beginnings."""
    path = name.path
    yield from (path[start:] for start in range(1, len(path)))
    yield from (path[:stop] for stop in range(len(path) - 1, 0, -1))


class MissingOps:
    """The ops of a level that no instruction names: what XLA rewrites by rules of its own loses its name.

    Args:
      upper: the level.
      found: the ops that instructions name.
    """

    def __init__(self, upper: Level, found: list[list[Pairs]]) -> None:
        named = {place for items in found for pairs in items for place, _ in pairs}
        self._upper = upper
        self._before: dict[Place, list[Place]] = {}
        for index, computation in enumerate(upper.computations):
            maker = {value: (index, at) for at, op in enumerate(computation.ops) for value in op.outputs}
            for at, op in enumerate(computation.ops):
                makers = dict.fromkeys(maker[value] for value in op.inputs if value in maker)
                missing = [place for place in makers if place not in named]
                if missing:
                    self._before[index, at] = missing

    def before(self, instruction: Op, places: list[Place]) -> list[Place]:
        """What an instruction without a name is likely to be, if its result goes into those ops: one of theirs that
        nothing else is, of the same kind if there is one; else the ops themselves."""
        missing = [place for user in places for place in self._before.get(user, ())]
        alike = [place for place in missing if self._word(place) == _word(instruction.name)]
        return alike or [place for place in missing if self._word(place) not in _SHAPING] or places

    def swallowed(self, instruction: Op, pairs: Pairs) -> list[Place]:
        """What an instruction does besides, if its name is only that of what comes behind: a `dot` that is named
        `transpose`, because the transposition was made part of it."""
        word = _word(instruction.name)
        if any(self._word(place) == word for place, _ in pairs):
            return []
        before = dict.fromkeys(place for user, _ in pairs for place in self._before.get(user, ()))
        return [place for place in before if self._word(place) == word]

    def _word(self, place: Place) -> str:
        return _word(self._upper.computations[place[0]].ops[place[1]].name)


def _word(opcode: str) -> str:
    """What an operation of StableHLO and an instruction of HLO have in common: `broadcast_in_dim`, `broadcast`."""
    word = opcode.replace("-", "_")
    return {"broadcast_in_dim": "broadcast", "dot_general": "dot", "case": "conditional"}.get(word, word)


def split_names(lower: NamedLevel) -> list[list[list[str]]]:
    """The names of each instruction: XLA joins those of what it made one of by semicolons.

    In a function that XLA did not inline they begin at that function: those of the call stand in front then.
    """
    made: list[list[list[str]]] = [[] for _ in lower.names]
    calls: dict[int, str] = {}
    for index, names in enumerate(lower.names):
        before = calls.get(index, "")
        for at, joined in enumerate(names):
            own = split_joined(joined)
            if before:
                root = before.split("/", 1)[0]
                own = [name if name.split("/", 1)[0] == root else f"{before}/{name}" for name in own]
            made[index].append(own)
            for body in lower.level.computations[index].ops[at].bodies:
                calls[body] = own[0] if own else before
    return made
