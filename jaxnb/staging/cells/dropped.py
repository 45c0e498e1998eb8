"""Calls whose value nobody takes, read from byte code: such a call is there for what it does.

`bar.update(1)` as a statement is one, `y = f(x)` is not. Which call it is, is told by the place in the source that each
instruction carries: the name that is called begins where the call begins.
"""

from __future__ import annotations

import dis
from collections.abc import Sequence
from types import CodeType

__all__ = ["dropped_calls"]

_SKIPPED = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "PRECALL", "KW_NAMES", "NOT_TAKEN"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_NAMES = frozenset({"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"})


def dropped_calls(block: CodeType) -> frozenset[tuple[str, ...]]:
    """The dotted names that a code object itself calls without taking what they give, such as ("bar", "update").

    Code objects nested in it are not looked at. Where byte code has no places (`-X no_debug_ranges`) nothing is found.
    """
    found: set[tuple[str, ...]] = set()
    code = [item for item in dis.get_instructions(block) if item.opname not in _SKIPPED]
    for index in range(1, len(code)):
        call = code[index - 1]
        if code[index].opname == "POP_TOP" and call.opname.startswith("CALL") and not _leaves_context(code, index - 1):
            chain = _called(code, index - 1)
            if chain:
                found.add(chain)
    return frozenset(found)


def _leaves_context(code: Sequence[dis.Instruction], at: int) -> bool:
    """Whether a call is the `__exit__(None, None, None)` at the end of a `with` statement."""
    before = code[max(0, at - 3) : at]
    return len(before) == 3 and all(item.opname == "LOAD_CONST" and item.argval is None for item in before)


def _called(code: Sequence[dis.Instruction], at: int) -> tuple[str, ...]:
    """The dotted name that a call calls; empty if it has none."""
    place = code[at].positions
    if place is None or place.lineno is None:
        return ()
    for index in range(at - 1, -1, -1):
        item = code[index]
        begins = item.positions
        same = begins is not None and (begins.lineno, begins.col_offset) == (place.lineno, place.col_offset)
        if same and item.opname in _NAMES | _ATTRIBUTES:
            while index > 0 and code[index].opname in _ATTRIBUTES:  # a method on a line of its own has its own place
                index -= 1
            return _chain(code[index:at]) if code[index].opname in _NAMES else ()
    return ()


def _chain(code: Sequence[dis.Instruction]) -> tuple[str, ...]:
    """The dotted name that instructions begin with."""
    chain = [str(code[0].argval)]
    for item in code[1:]:
        if item.opname in _ATTRIBUTES:
            chain.append(str(item.argval))
        elif item.opname != "PUSH_NULL":
            break
    return tuple(chain)
