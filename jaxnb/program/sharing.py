"""How what is known of instructions is shared out among what they were made of: equations and statements.

- What a fusion has goes to the instructions in it by their work: flops, transcendental functions and bytes of the
  results. So does what a loop has that was compiled as one piece, so that nothing is known of its bodies.
- What an instruction has goes to the operations that links lead to, and from there to equations and statements, by
  the flops, transcendental functions and bytes of each, where they are known of all, and otherwise in equal parts. An
  instruction without links has those of the loop or call that it stands in. What is of nothing above stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxnb.program.program import Program
from jaxnb.program.structure import Level, Op, Place

__all__ = ["CONTROL", "Shares", "bodies_below", "is_one_piece", "share_upwards", "timed_computations"]

Shares = dict[Place, float]

CONTROL = frozenset({"while", "conditional", "call", "async-start"})
"""They run their bodies as they stand: each instruction there is timed by itself."""


def share_upwards(program: Program, amounts: Shares) -> dict[str, Shares]:
    """What the ops of each level have, by the name of the level, of what the instructions have.

    Args:
      program: whose level "hlo" is there.
      amounts: of its instructions that were timed.
    """
    hlo = program.level("hlo")
    found = {"hlo": amounts}
    below, sources = hlo, _split_fusions(hlo, amounts)
    for level in reversed(program.levels[: program.levels.index(hlo)]):
        sources = _carry_up(program, level.name, below, sources)
        found[level.name], below = sources, level
    return found


def timed_computations(hlo: Level, entry: int, amounts: Shares | None = None) -> Iterator[int]:
    """The computations whose instructions run one by one: the entry's, and what loops, branches and calls run.

    With `amounts`, those only of which the profile has something.
    """
    stack = [entry]
    seen = None if amounts is None else {index for index, _ in amounts}
    while stack:
        index = stack.pop()
        yield index
        for op in hlo.computations[index].ops:
            if op.name in CONTROL and (seen is None or not is_one_piece(hlo, op, seen)):
                stack.extend(op.bodies)


def is_one_piece(hlo: Level, op: Op, seen: set[int]) -> bool:
    """Whether what an instruction consists of is not timed by itself.

    Args:
      hlo: the level.
      op: the instruction.
      seen: the computations of which the profile has something.
    """
    if op.name not in CONTROL:
        return op.name == "fusion"
    return not any(index in seen for body in op.bodies for index in bodies_below(hlo, body))


def _split_fusions(hlo: Level, amounts: Shares) -> Shares:
    """What instructions have, that of fusions given to what is in them."""
    split: Shares = {}
    seen = {index for index, _ in amounts}
    for place, spent in amounts.items():
        inside = list(_inside(hlo, place)) if is_one_piece(hlo, _op(hlo, place), seen) else []
        for inner, part in _parts(hlo, inside or [place]):
            split[inner] = split.get(inner, 0.0) + spent * part
    return split


def _parts(hlo: Level, places: list[Place]) -> Iterator[tuple[Place, float]]:
    """The share of each of these instructions in their work."""
    weights = [_work(hlo, _op(hlo, place)) for place in places]
    whole = sum(weights)
    for place, weight in zip(places, weights, strict=True):
        yield place, weight / whole if whole else 1 / len(places)


def _inside(hlo: Level, place: Place) -> Iterator[Place]:
    """What the bodies of an instruction consist of."""
    for body in _op(hlo, place).bodies:
        for at, op in enumerate(hlo.computations[body].ops):
            if op.name == "fusion" or op.name in CONTROL:
                yield from _inside(hlo, (body, at))
            else:
                yield body, at


def _work(hlo: Level, op: Op) -> int:
    if op.name in ("tuple", "get-tuple-element", "bitcast"):
        return 0
    avals = [hlo.values[output].aval for output in op.outputs]
    moved = sum((aval.nbytes or 0) for aval in avals if aval is not None)
    return (op.flops or 0) + (op.transcendentals or 0) + moved * (1 if op.times is None else op.times)


def _carry_up(program: Program, upper: str, lower: Level, amounts: Shares) -> Shares:
    """What the ops of a level have, given to those of the level above."""
    links: dict[Place, list[Place]] = {}
    for link in program.links:
        if (link.upper, link.lower) == (upper, lower.name):
            links.setdefault(link.lower_op, []).append(link.upper_op)
    level = program.level(upper)
    owners = {
        body: (index, at)
        for index, computation in enumerate(lower.computations)
        for at, op in enumerate(computation.ops)
        for body in op.bodies
    }
    above: Shares = {}
    for place, spent in amounts.items():
        inner: Place | None = place
        ends: list[Place] = []
        while inner is not None and not ends:
            ends = links.get(inner, [])
            inner = owners.get(inner[0])
        for end, part in _shares(level, ends):
            above[end] = above.get(end, 0.0) + spent * part
    return above


def _shares(level: Level, places: list[Place]) -> Iterator[tuple[Place, float]]:
    """The share of each of these ops in what they cost."""
    known: list[int] = []
    for place in places:
        op = _op(level, place)
        if op.flops is not None and op.bytes is not None and op.transcendentals is not None:
            known.append(op.flops + op.transcendentals + op.bytes)
    whole = sum(known) if len(known) == len(places) else 0
    for at, place in enumerate(places):
        yield place, known[at] / whole if whole else 1 / len(places)


def bodies_below(level: Level, entry: int) -> Iterator[int]:
    """A computation and all that its ops have as bodies."""
    stack = [entry]
    while stack:
        index = stack.pop()
        yield index
        stack.extend(body for op in level.computations[index].ops for body in op.bodies)


def _op(level: Level, place: Place) -> Op:
    return level.computations[place[0]].ops[place[1]]
