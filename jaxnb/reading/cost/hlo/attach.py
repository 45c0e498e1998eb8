"""The cost of the ops of a level in all their runs, from what one run of each costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from jaxnb.program import Level, Op, Place
from jaxnb.reading.cost.hlo.rules import UNKNOWN, Unit
from jaxnb.reading.cost.hlo.units import read_units
from jaxnb.reading.hlo.module import Module

__all__ = ["attach_units", "with_hlo_costs"]

_Whole = tuple[int, int, int]
"""Flops, transcendentals and bytes."""


def with_hlo_costs(level: Level, module: Module, once: bool = False) -> Level:
    """The level "hlo" of one module with the cost of each op in all its runs; see `Op.flops`.

    Args:
      level: what `read_hlo` gave for the same module.
      module: that.
      once: count the bodies of all loops once, as XLA's own analysis does.
    """
    known = read_units(module, once)
    called = {item.name: item.called for item in module.instructions()}
    units: dict[Place, Unit] = {}
    for index, computation in enumerate(level.computations):
        for at, op in enumerate(computation.ops):
            name = level.values[op.outputs[0]].name
            unit = known.get(name, UNKNOWN)
            if unit.bodies and not op.bodies:  # of a large program, where they are not written out
                unit = _folded(unit, called.get(name, ()), known, module)
            units[index, at] = unit
    return attach_units(level, units)


def _folded(unit: Unit, called: tuple[int, ...], known: Mapping[str, Unit], module: Module) -> Unit:
    """The same with what its bodies compute."""
    if unit.inside != "fused" or unit.flops is None or unit.transcendentals is None:
        return unit._replace(bodies=())
    flops, transcendentals = unit.flops, unit.transcendentals
    for identity, count in zip(called, unit.bodies, strict=True):
        for item in module.computations[identity].instructions.values():
            inner = known[item.name]
            if inner.bodies:
                inner = _folded(inner, item.called, known, module)
            flops += (inner.flops or 0) * (count or 1)
            transcendentals += (inner.transcendentals or 0) * (count or 1)
    return unit._replace(flops=flops, transcendentals=transcendentals, bodies=())


def attach_units(level: Level, units: Mapping[Place, Unit]) -> Level:
    """The level with the cost of each op in all its runs.

    Args:
      level: whose first computations are its entries.
      units: what one run of each op costs; one that is not there is unknown.
    """
    pricing = _Pricing(level, units)
    for entry in range(level.entries):
        pricing.computation(entry, _Around())
    made = (replace(item, ops=pricing.ops.get(at, item.ops)) for at, item in enumerate(level.computations))
    return replace(level, computations=tuple(made))


@dataclass(frozen=True, slots=True)
class _Around:
    """What a computation stands in: how often it runs, whether a loop is of unknown length, and what counts of it."""

    times: int = 1
    known: bool = True
    moves: bool = True
    computes: bool = True

    def inside(self, unit: Unit, count: int | None) -> _Around:
        """What a body of an op stands in that runs so often in one run of it."""
        return _Around(
            self.times * (1 if count is None else count),
            self.known and count is not None,
            self.moves and unit.inside in ("", "one of"),
            self.computes and unit.inside != "counted",
        )


class _Pricing:
    """What grows while the ops of one level are priced."""

    def __init__(self, level: Level, units: Mapping[Place, Unit]) -> None:
        self.ops: dict[int, tuple[Op, ...]] = {}
        self._level, self._units = level, units
        self._wholes: dict[int, _Whole] = {}

    def computation(self, index: int, around: _Around) -> None:
        """Prices the ops of a computation and of all bodies in it."""
        ops = enumerate(self._level.computations[index].ops)
        self.ops[index] = tuple(self._op(op, self._units.get((index, at), UNKNOWN), around) for at, op in ops)

    def _op(self, op: Op, unit: Unit, around: _Around) -> Op:
        for body, count in zip(op.bodies, self._runs(op, unit), strict=True):
            self.computation(body, around.inside(unit, count))
        return replace(
            op,
            flops=_times(unit.flops, around.times) if around.computes else 0,
            bytes=_times(unit.bytes, around.times) if around.moves else 0,
            transcendentals=_times(unit.transcendentals, around.times) if around.computes else 0,
            times=around.times if around.known else None,
        )

    def _runs(self, op: Op, unit: Unit) -> tuple[int | None, ...]:
        """How often each body runs in one run of the op: of branches only the dearest."""
        if len(unit.bodies) != len(op.bodies):
            return (None,) * len(op.bodies)
        if unit.inside != "one of" or not op.bodies:
            return unit.bodies
        costs = [self._whole(body) for body in op.bodies]
        dearest = max(range(len(costs)), key=lambda at: (costs[at][0] + costs[at][1], costs[at][2]))
        return tuple(int(at == dearest) for at in range(len(costs)))

    def _whole(self, index: int) -> _Whole:
        """One run of a computation with all that it runs, loops of unknown length once."""
        if index not in self._wholes:
            parts: list[_Whole] = []
            for at, op in enumerate(self._level.computations[index].ops):
                unit = self._units.get((index, at), UNKNOWN)
                parts.append((unit.flops or 0, unit.transcendentals or 0, unit.bytes or 0))
                for body, count in zip(op.bodies, self._runs(op, unit), strict=True):
                    flops, transcendentals, moved = self._whole(body) if unit.inside != "counted" else (0, 0, 0)
                    times = 1 if count is None else count
                    moved = 0 if unit.inside == "fused" else moved * times
                    parts.append((flops * times, transcendentals * times, moved))
            self._wholes[index] = _sum(parts)
        return self._wholes[index]


def _sum(parts: Iterable[_Whole]) -> _Whole:
    flops, transcendentals, moved = zip((0, 0, 0), *parts, strict=True)
    return sum(flops), sum(transcendentals), sum(moved)


def _times(cost: int | None, times: int) -> int | None:
    return 0 if times == 0 else None if cost is None else cost * times
