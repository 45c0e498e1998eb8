"""What each StableHLO operation costs: by the table of HLO where shapes tell it, and else by its equation.

Of a product, a convolution or a windowed operation the shapes alone do not tell the cost, but the rule of the equation
that it was lowered from does: it computes what that equation does, less what its other operations compute. Where
several of one equation would need that, nobody knows. A loop that counts up to a number counts as often as it runs,
others once. What was lowered from an equation that costs nothing (because nobody needs it, or because it is known
before the program runs) costs nothing, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jaxnb.program import Level, Link, Op, Place
from jaxnb.reading.cost.hlo.attach import attach_units
from jaxnb.reading.cost.hlo.rules import RULES, UNKNOWN, Unit
from jaxnb.reading.hlo.module import Computation, Instruction, Shape

__all__ = ["with_stablehlo_costs"]

# Their names differ by more than the hyphen.
_NAMES = {
    "broadcast_in_dim": "broadcast",
    "case": "conditional",
    "chlo.erf": "erf",
    "chlo.tan": "tan",
    "count_leading_zeros": "count-leading-zeros",
    "exponential_minus_one": "exponential-minus-one",
    "if": "conditional",
    "log_plus_one": "log-plus-one",
}
# What they cost depends on more than shapes.
_BY_EQUATION = frozenset(
    {"convolution", "dot", "dot-general", "fft", "reduce-window", "select-and-scatter", "triangular-solve"}
)
# They do nothing where the shape stays the same.
_SHAPING = frozenset({"broadcast", "pad", "reshape", "slice"})


def with_stablehlo_costs(upper: Level, level: Level, links: Iterable[Link]) -> Level:
    """The level "stablehlo" with the cost of each op in all its runs; see `Op.flops`.

    Args:
      upper: the level "jaxpr", whose ops have their costs.
      level: the operations.
      links: between them.
    """
    links = [link for link in links if (link.upper, link.lower) == (upper.name, level.name)]
    equations: dict[Place, list[Place]] = {}
    for link in sorted(links, key=lambda link: not link.exact):
        equations.setdefault(link.lower_op, []).append(link.upper_op)
    units: dict[Place, Unit] = {}
    applied: set[int] = set()  # functions that an operation applies to each element
    for index, computation in enumerate(level.computations):
        for at, op in enumerate(computation.ops):
            ends = [upper.computations[c].ops[i] for c, i in equations.get((index, at), ())]
            free = ends and all((one.flops, one.bytes, one.transcendentals) == (0, 0, 0) for one in ends)
            unit = Unit() if free and not op.bodies and index not in applied else _unit(level, op)
            if unit.inside == "one of":
                unit = _chosen(upper, level, op, equations, unit)
            if unit.inside == "fused":
                applied.update(op.bodies)
            units[index, at] = unit
    return _with_rest(upper, attach_units(level, units), links)


def _unit(level: Level, op: Op) -> Unit:
    """What one run of an operation costs, if its shapes tell it."""
    name = _NAMES.get(op.name, op.name.replace("_", "-"))
    if name == "while":
        length = _trips(level, op)
        return Unit(bodies=(None if length is None else length + 1, length))  # the condition stands first
    avals = [level.values[value].aval for value in (*op.inputs, *op.outputs)]
    if any(isinstance(size, str) for aval in avals if aval is not None for size in aval.shape):
        return UNKNOWN._replace(bodies=(1,) * len(op.bodies), inside="counted")
    if name in _SHAPING and level.values[op.inputs[0]].aval == level.values[op.outputs[0]].aval:
        return Unit()
    if name in _BY_EQUATION:
        moved = sum(_shape(level, (value,)).nbytes for value in (*op.inputs, *op.outputs))
        return Unit(None, moved, None, (1,) * len(op.bodies), "counted")
    if name not in RULES or (_is_complex(level, op) and (name == "abs" or RULES[name] is RULES["tanh"])):
        return UNKNOWN._replace(bodies=(1,) * len(op.bodies), inside="counted")
    operands = [Instruction(shape=_shape(level, (value,)), identity=at) for at, value in enumerate(op.inputs)]
    item = Instruction(
        op.name,
        name,
        _shape(level, op.outputs),
        len(operands),
        tuple(range(len(operands))),
        op.bodies,
    )
    return RULES[name](item, Computation({operand.identity: operand for operand in operands}, 0))


def _is_complex(level: Level, op: Op) -> bool:
    """Whether it reads complex numbers, of which a function becomes a formula of real ones."""
    avals = (level.values[value].aval for value in op.inputs)
    return any(aval is not None and aval.dtype.startswith("complex") for aval in avals)


def _chosen(upper: Level, level: Level, op: Op, equations: dict[Place, list[Place]], unit: Unit) -> Unit:
    """Of branches the one whose equations are counted, if that is seen."""
    runs: list[int] = []
    for body in op.bodies:
        ends = (end for at in range(len(level.computations[body].ops)) for end in equations.get((body, at), ()))
        runs.append(int(any(upper.computations[c].ops[i].times != 0 for c, i in ends)))
    return unit._replace(bodies=tuple(runs), inside="") if sum(runs) == 1 else unit


def _shape(level: Level, values: tuple[int, ...]) -> Shape:
    shapes: list[Shape] = []
    for value in values:
        aval = level.values[value].aval
        sizes = () if aval is None else tuple(size if isinstance(size, int) else 0 for size in aval.shape)
        shapes.append(Shape(sizes, 0 if aval is None else aval.itemsize))
    return shapes[0] if len(shapes) == 1 else Shape(parts=tuple(shapes))


def _trips(level: Level, op: Op) -> int | None:
    """How often a loop runs that counts from a number up to another one, as those of `scan` do."""
    condition, body = (level.computations[index] for index in op.bodies)
    if len(condition.ops) != 1 or dict(condition.ops[0].attributes).get("comparison_direction") != "LT":
        return None
    counter, limit = condition.ops[0].inputs
    if counter not in condition.inputs:
        return None
    at = condition.inputs.index(counter)
    step = next((one for one in body.ops if body.outputs[at] in one.outputs), None)
    if step is None or step.name != "add" or step.inputs[0] != body.inputs[at]:
        return None
    if limit in condition.inputs:
        limit = op.inputs[condition.inputs.index(limit)]
    start, stop, by = (_literal(level, value) for value in (op.inputs[at], limit, step.inputs[1]))
    if start is None or stop is None or not by or by < 0:
        return None
    return max(-((start - stop) // by), 0)


def _literal(level: Level, value: int) -> int | None:
    known = level.values[value]
    return int(known.name) if known.literal and known.name.removeprefix("-").isdecimal() else None


def _with_rest(upper: Level, level: Level, links: list[Link]) -> Level:
    """The level, where each op that is the only unknown one of its equation has what is left of that equation."""
    parts: dict[Place, list[Place]] = {}
    for link in links:
        if link.exact:
            parts.setdefault(link.upper_op, []).append(link.lower_op)
    found: dict[Place, Op] = {}
    for equation, places in parts.items():
        ops = [level.computations[c].ops[i] for c, i in places]
        unknown = [at for at, op in enumerate(ops) if op.flops is None]
        whole = upper.computations[equation[0]].ops[equation[1]]
        if len(unknown) != 1 or ops[unknown[0]].name == "custom_call":
            continue
        if whole.flops is None or whole.bytes is None or whole.transcendentals is None:
            continue
        rest = ops[unknown[0]]
        flops = whole.flops - sum(op.flops or 0 for op in ops)
        transcendentals = whole.transcendentals - sum(op.transcendentals or 0 for op in ops)
        moved = whole.bytes - sum(op.bytes or 0 for op in ops) if rest.bytes is None else rest.bytes
        if min(flops, moved, transcendentals) >= 0:
            found[places[unknown[0]]] = replace(rest, flops=flops, bytes=moved, transcendentals=transcendentals)
    computations = (
        replace(item, ops=tuple(found.get((index, at), op) for at, op in enumerate(item.ops)))
        for index, item in enumerate(level.computations)
    )
    return replace(level, computations=tuple(computations))
