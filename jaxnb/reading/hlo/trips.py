"""How often loops run of which the compiler does not write it: a TPU's counts them, and keeps the count to itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from jaxnb.reading.hlo.module import Computation, Instruction, Module

__all__ = ["with_trips"]

_SAME = frozenset({"copy", "bitcast", "convert", "reshape"})
_MOST_STEPS = 64  # from an operand to where it comes from


def with_trips(module: Module) -> Module:
    """The same module, whose loops that count from one number to another say how often they run."""
    found: dict[int, dict[int, Instruction]] = {}
    for identity, computation in module.computations.items():
        for item in computation.instructions.values():
            if item.opcode == "while" and item.trips is None and len(item.called) == 2:
                trips = _trips(module, computation, item)
                if trips is not None:
                    found.setdefault(identity, {})[item.identity] = replace(item, trips=trips)
    if not found:
        return module
    changed = {
        identity: Computation(
            {**module.computations[identity].instructions, **loops}, module.computations[identity].root
        )
        for identity, loops in found.items()
    }
    return replace(module, computations={**module.computations, **changed})


class _Here(NamedTuple):
    """An instruction in its computation, and what the parameters of that stand for."""

    item: Instruction
    computation: Computation
    given: Mapping[int, _Here]


def _trips(module: Module, around: Computation, loop: Instruction) -> int | None:
    """How often `while i < limit: i += step` runs; None for any other loop."""
    body, condition = (module.computations.get(identity) for identity in loop.called)
    if body is None or condition is None or condition.root not in condition.instructions:
        return None
    test = _origin(module, _Here(condition.instructions[condition.root], condition, {}))
    if test.item.opcode != "compare" or test.item.direction not in ("LT", "LE") or len(test.item.operands) != 2:
        return None
    counter, limit = (_origin(module, _operand(test, side)) for side in (0, 1))
    last = _number(limit)
    if counter.item.opcode != "get-tuple-element" or last is None:
        return None
    index = counter.item.index
    first = _number(_element(module, _Here(loop, around, {}), index))
    step = _step(module, body, index)
    if first is None or step is None or step < 1:
        return None
    return max(0, -(-(last + (test.item.direction == "LE") - first) // step))


def _element(module: Module, loop: _Here, index: int) -> _Here | None:
    """What the loop begins with at a place of its tuple."""
    start = _origin(module, _operand(loop, 0))
    if start.item.opcode != "tuple" or index >= len(start.item.operands):
        return None
    return _origin(module, _operand(start, index))


def _step(module: Module, body: Computation, index: int) -> int | None:
    """By how much a turn of the body makes a number of the tuple larger."""
    if body.root not in body.instructions:
        return None
    root = body.instructions[body.root]
    if root.opcode != "tuple" or index >= len(root.operands):
        return None
    made = _origin(module, _operand(_Here(root, body, {}), index))
    if made.item.opcode != "add" or len(made.item.operands) != 2:
        return None
    sides = [_origin(module, _operand(made, side)) for side in (0, 1)]
    before = [side for side in sides if side.item.opcode == "get-tuple-element" and side.item.index == index]
    steps = [number for side in sides if (number := _number(side)) is not None]
    return steps[0] if len(before) == 1 and len(steps) == 1 else None


def _operand(here: _Here, which: int) -> _Here:
    return here._replace(item=here.computation.instructions[here.item.operands[which]])


def _origin(module: Module, here: _Here) -> _Here:
    """Where a value comes from: past copies, into fusions and out of them."""
    for _ in range(_MOST_STEPS):
        item = here.item
        if item.opcode in _SAME and len(item.operands) == 1:
            here = _operand(here, 0)
        elif item.opcode == "fusion" and len(item.called) == 1 and item.called[0] in module.computations:
            inner = module.computations[item.called[0]]
            if inner.root not in inner.instructions:
                return here
            given = {number: _operand(here, number) for number in range(len(item.operands))}
            here = _Here(inner.instructions[inner.root], inner, given)
        elif item.opcode == "parameter" and item.parameter in here.given:
            here = here.given[item.parameter]
        else:
            return here
    return here


def _number(here: _Here | None) -> int | None:
    if here is None or here.item.opcode != "constant":
        return None
    try:
        return int(here.item.literal)
    except ValueError:
        return None
