"""Lists that code only appends to: what they held before cannot matter, so that they may grow from run to run.

Every place where code reads a name, a closure variable or an attribute is followed through subscripts to what is done
with it. `history.append(loss)`, `self.log['loss'].append(loss)` and `log[name].extend(more)` *grow* a place, written
as a base and the subscripts behind it; `log['loss'] = []` *writes* below one; any other use *touches* it. A list at a
place that is only grown, in holders that are only subscripted and written below, is never read by this code.
"""

from __future__ import annotations

import dis
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any

__all__ = ["ANY", "NO_USES", "ListUses", "Place", "uses_of"]

ANY = "any subscript"

Place = tuple[Any, ...]
"""A base, as (kind, name) with the kind "name", "closure" or "attr", and constant subscripts or `ANY` behind it."""

_BASES = {
    "LOAD_NAME": "name",
    "LOAD_GLOBAL": "name",
    "LOAD_FROM_DICT_OR_GLOBALS": "name",
    "LOAD_DEREF": "closure",
    "LOAD_CLASSDEREF": "closure",
    "LOAD_FROM_DICT_OR_DEREF": "closure",
    "LOAD_ATTR": "attr",
    "LOAD_SUPER_ATTR": "attr",
    "IMPORT_FROM": "attr",
}
_SKIPPED = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "RESUME", "PRECALL", "NOT_TAKEN"})
_GROWING = frozenset({"append", "extend"})


@dataclass(frozen=True, slots=True)
class ListUses:
    """How code uses places.

    Attributes:
      grown: places that it appends to.
      written: places below which it assigns to one subscript.
      touched: places that it uses in another way.
    """

    grown: frozenset[Place] = frozenset()
    written: frozenset[Place] = frozenset()
    touched: frozenset[Place] = frozenset()

    def __or__(self, other: ListUses) -> ListUses:
        if other.grown <= self.grown and other.written <= self.written and other.touched <= self.touched:
            return self
        return ListUses(self.grown | other.grown, self.written | other.written, self.touched | other.touched)

    def only_grows(self, bases: Sequence[tuple[str, Any]], subscripts: tuple[Any, ...]) -> bool:
        """Whether the code appends to the list at a place, and reads neither it nor what holds it by subscripts.

        Args:
          bases: every way to write where the place begins; the value behind each is the same.
          subscripts: behind the base.
        """

        def used(places: frozenset[Place], subscripts: tuple[Any, ...], within: bool = False) -> bool:
            return any(_covers(place, base, subscripts, within) for base in bases for place in places)

        if not used(self.grown, subscripts) or used(self.written, subscripts):
            return False
        if any(used(places, subscripts, within=True) for places in (self.grown, self.written, self.touched)):
            return False
        return not any(used(self.touched, subscripts[:end]) for end in range(len(subscripts) + 1))

    def touches(self, bases: Collection[tuple[str, Any]]) -> bool:
        """Whether the code, if it is called, may read something at places that begin so."""
        return any(place[0] in bases for place in self.touched | self.written)


NO_USES = ListUses()
"""Nothing is known of any list."""


def _covers(place: Place, base: tuple[str, Any], subscripts: tuple[Any, ...], within: bool) -> bool:
    """Whether a place is, for all that its text tells, the one given, or something inside it."""
    ends = len(subscripts) + 1
    if place[0] != base or (len(place) <= ends if within else len(place) != ends):
        return False
    pairs = zip(place[1:ends], subscripts, strict=True)
    return all(a is ANY or (type(a) is type(b) and a == b) for a, b in pairs)


def uses_of(block: CodeType) -> Iterator[tuple[Place, str]]:
    """Every place that a code object reads itself, and what it does there: "grown", "written" or "touched".

    Code objects nested in it are not looked at.
    """
    code = [item for item in dis.get_instructions(block) if item.opname not in _SKIPPED]
    for index, item in enumerate(code):
        kind = _BASES.get(item.opname)
        if kind is not None and isinstance(item.argval, str) and not _is_method(item):
            yield _follow(code, index + 1, (kind, item.argval))


def _is_method(item: dis.Instruction) -> bool:
    return item.opname == "LOAD_METHOD" or (item.opname == "LOAD_ATTR" and "NULL" in item.argrepr)


def _follow(code: list[dis.Instruction], at: int, base: tuple[str, str]) -> tuple[Place, str]:
    """What becomes of the value that was pushed before the instruction `at`."""
    place: Place = (base,)
    while at < len(code):
        item = code[at]
        if _is_method(item):
            key = _key_of_default(code, at)
            if key is None:
                return place, "grown" if item.argval in _GROWING else "touched"
            place, at = (*place, key), at + 4  # where there is a list, it is given, and nothing is written
            continue
        end = _consumer(code, at)
        if item.opname == "LOAD_ATTR" or end is None:
            return place, "touched"
        used, subscripts = code[end], end - at
        if used.opname == "STORE_SUBSCR":
            return place, "written"
        if used.opname == "BINARY_OP" and used.argrepr == "+=" and len(place) == 1:
            return place, "grown"
        if used.opname != "BINARY_SUBSCR" and used.argrepr != "[]":
            return place, "touched"
        place = (*place, _subscript(item) if subscripts == 1 else ANY)
        at = end + 1
    return place, "touched"


def _subscript(item: dis.Instruction) -> Any:
    """What an instruction that pushes a subscript is known to push."""
    return item.argval if item.opname in ("LOAD_CONST", "LOAD_SMALL_INT") else ANY


def _key_of_default(code: list[dis.Instruction], at: int) -> Any:
    """The subscript of `.setdefault(key, [])`, which is that of a list there, or makes one; None for anything else."""
    if code[at].argval != "setdefault" or len(code) < at + 5:
        return None
    key, made, called = code[at + 1 : at + 4]
    plain = key.opname in ("LOAD_CONST", "LOAD_SMALL_INT", "LOAD_NAME", "LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL")
    empty = (made.opname, made.arg, called.opname, called.arg) == ("BUILD_LIST", 0, "CALL", 2)
    return _subscript(key) if plain and empty else None


def _consumer(code: list[dis.Instruction], at: int) -> int | None:
    """The instruction that takes the value together with one other on top of it; None if there is no such one."""
    depth = 1
    for index in range(at, len(code)):
        item = code[index]
        if item.opcode in dis.hasjrel or item.opcode in dis.hasjabs:
            return None
        before = depth
        depth += dis.stack_effect(item.opcode, item.arg, jump=False)
        if depth <= 1:
            return index if before == 2 else None
    return None
