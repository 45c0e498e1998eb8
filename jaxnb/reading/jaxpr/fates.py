"""What became of an equation that no instruction of the executable bears."""

from __future__ import annotations

from jaxnb.program import Fate, Level, Link, Place
from jaxnb.reading.stablehlo.read import NamedLevel

__all__ = ["read_fates"]


def read_fates(
    jaxpr: Level, down: tuple[Link, ...], stablehlo: NamedLevel, further: tuple[Link, ...], hlo: NamedLevel
) -> tuple[Fate, ...]:
    """The fates of the equations of one program.

    An instruction bears an equation if links lead from one to the other, inferred ones only where there is no exact
    one. What stands inside a fusion does not count: its equations are fused into that. An equation that calls others
    shares their fate, and has none of its own.

    Args:
      jaxpr: the level, with one entry computation.
      down: from the equations to `stablehlo`.
      stablehlo: what was read of the lowered module.
      further: from there to `hlo`.
      hlo: what was read of the executable.
    """
    below = _best(further)
    reached = {
        place: [end for middle in middles for end in below.get(middle, ())] for place, middles in _best(down).items()
    }
    fusions = _fusions(hlo.level)
    known = _known_when_compiled(jaxpr)
    fates: dict[Place, Fate | None] = {}
    for index in reversed(range(len(jaxpr.computations))):  # bodies come behind their owners
        for at, op in enumerate(jaxpr.computations[index].ops):
            place = (index, at)
            found = reached.get(place, [])
            inner = [(body, n) for body in op.bodies for n in range(len(jaxpr.computations[body].ops))]
            if inner or any(end[0] not in fusions for end in found):
                fates[place] = None
            elif found:
                fates[place] = Fate(place, "fused", fusions[found[0][0]])
            else:
                fates[place] = Fate(place, "folded" if known(place) else "removed")
    return tuple(fate for place in sorted(fates) if (fate := fates[place]) is not None)


def _best(links: tuple[Link, ...]) -> dict[Place, list[Place]]:
    """Where the links of an op lead: the exact ones, or else the others."""
    found: dict[Place, list[Place]] = {}
    exact = {link.upper_op for link in links if link.exact}
    for link in links:
        if link.exact or link.upper_op not in exact:
            found.setdefault(link.upper_op, []).append(link.lower_op)
    return found


def _fusions(level: Level) -> dict[int, Place]:
    """The computations that are inside a fusion, each with the outermost fusion."""
    inside: dict[int, Place] = {}
    for index, computation in enumerate(level.computations):
        for at, op in enumerate(computation.ops):
            if op.name == "fusion" or index in inside:
                for body in op.bodies:
                    inside[body] = inside.get(index, (index, at))
    return inside


def _known_when_compiled(level: Level):
    """Whether an op depends on no input of the program, but on literals and constants alone."""
    depends: set[int] = set()
    fed: set[int] = set(range(level.entries))
    for index, computation in enumerate(level.computations):  # owners come before their bodies
        if index in fed:
            depends.update(computation.inputs)
        for op in computation.ops:
            if any(value in depends for value in op.inputs):
                depends.update(op.outputs)
                fed.update(op.bodies)

    def known(place: Place) -> bool:
        op = level.computations[place[0]].ops[place[1]]
        return not any(value in depends for value in op.inputs)

    return known
