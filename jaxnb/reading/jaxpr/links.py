"""Links between levels, read from the names that operations carry.

An equation's number is in the name of what it became (see `ids`), so most links are carried through and exact. What
has no name of its own (a copy that XLA put in, a tuple) is linked like what stands next to it, and such a link
says that it was inferred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from jaxnb import _jax
from jaxnb.program import Computation, Level, Link, Op, Place, common_call
from jaxnb.reading.jaxpr.ids import number_equations, read_name, split_joined
from jaxnb.reading.jaxpr.names import MissingOps, NamedOps, Pairs, split_names
from jaxnb.reading.stablehlo.read import NamedLevel

__all__ = ["Equations", "carry_down", "link_hlo", "link_stablehlo", "link_straight"]


class Equations:
    """Finds the equation that a path of numbers leads to.

    Args:
      closed_jaxpr: of which `level` was read.
      level: with one entry computation.
    """

    def __init__(self, closed_jaxpr: Any, level: Level) -> None:
        self._level = level
        self._first: dict[int, int] = {}
        self._known: dict[tuple[int, ...], Place | None] = {}
        numbers = number_equations(closed_jaxpr)
        stack: list[tuple[Any, int]] = [(_jax.open_jaxpr(closed_jaxpr), 0)]
        while stack:
            jaxpr, index = stack.pop()
            self._first[index] = numbers.first(jaxpr)
            for eqn, op in zip(jaxpr.eqns, level.computations[index].ops, strict=True):
                if op.bodies:
                    bodies = [body for _, body in _jax.body_jaxprs(eqn.params)]
                    stack.extend(zip(bodies, op.bodies, strict=True))

    def find(self, path: tuple[int, ...]) -> Place | None:
        """The equation that the last number of a path is of, or else the innermost that it leads to.

        XLA may have put the names of calls in front of a name that had them already, and a user may call a scope
        what an equation is called: numbers that lead nowhere are passed over, and the path may begin later.
        """
        if path not in self._known:
            ways = (self._walk(path[start:]) for start in range(len(path)))
            whole = (place for place, number in ways if number == path[-1])
            self._known[path] = next(whole, self._walk(path)[0])
        return self._known[path]

    def _walk(self, path: tuple[int, ...]) -> tuple[Place | None, int | None]:
        """The innermost equation on the way, and its number."""
        place: Place | None = None
        last: int | None = None
        within: tuple[int, ...] = (0,)
        for number in path:
            found = self._among(within, number)
            if found is not None:
                place, last = found, number
                within = self._level.computations[found[0]].ops[found[1]].bodies
        return place, last

    def _among(self, computations: tuple[int, ...], number: int) -> Place | None:
        for computation in computations:
            index = number - self._first.get(computation, number + 1)
            if 0 <= index < len(self._level.computations[computation].ops):
                return computation, index
        return None


def link_stablehlo(closed_jaxpr: Any, jaxpr: Level, lower: NamedLevel) -> tuple[Link, ...]:
    """Links each equation to the operations that it was lowered to.

    Args:
      closed_jaxpr: that was numbered.
      jaxpr: the level that was read of it, with one entry computation.
      lower: what was read of its module.
    """
    equations = Equations(closed_jaxpr, jaxpr)

    def carried(name: str) -> Pairs:
        place = equations.find(read_name(name).path)
        return [(place, True)] if place is not None else []

    return _links(
        "jaxpr", lower, [[carried(name) for name in names] for names in lower.names], lambda _, places: places
    )


def link_straight(closed_jaxpr: Any, jaxpr: Level, lower: NamedLevel) -> tuple[Link, ...]:
    """Links each equation to the instructions that it became, without the level between them.

    Args:
      closed_jaxpr: that was numbered.
      jaxpr: the level that was read of it, with one entry computation.
      lower: what was read of its compiled module; of another program's, nothing is linked.
    """
    equations = Equations(closed_jaxpr, jaxpr)

    def carried(names: Iterable[str]) -> Pairs:
        places = (equations.find(read_name(name).path) for name in names)
        return [(place, True) for place in dict.fromkeys(places) if place is not None]

    found = [[carried(names) for names in items] for items in split_names(lower)]
    return _links("jaxpr", lower, found, lambda _, places: places)


def link_hlo(upper: NamedLevel, lower: NamedLevel) -> tuple[Link, ...]:
    """Links each StableHLO operation to the instructions that it became.

    A module whose names are not those of `upper` is another program's that does the same (JAX's persistent cache
    does not look at names): its links are then inferred from the names without the numbers.
    """
    named = NamedOps(upper)
    names = split_names(lower)
    told = {read_name(name) for found in lower.names for joined in found for name in split_joined(joined)}
    own = all(map(named.knows, told)) and any(name.path for name in told)
    find: Callable[[str, str], Pairs] = named.exactly if own else named.loosely
    found = [
        [
            [pair for name in item for pair in find(name, lower.level.computations[index].ops[at].name)]
            for at, item in enumerate(items)
        ]
        for index, items in enumerate(names)
    ]
    missing = MissingOps(upper.level, found)
    for index, items in enumerate(found):
        for at, pairs in enumerate(items):
            pairs.extend((place, False) for place in missing.swallowed(lower.level.computations[index].ops[at], pairs))
    _link_results(upper.level, lower.level, found[0])
    return _links("stablehlo", lower, found, missing.before)


def _link_results(upper: Level, lower: Level, found: list[Pairs]) -> None:
    """Links what makes a result of the program, if it has no name, to the op that makes it above: a constant that
    XLA has computed has lost the names of all that it was computed from."""
    makers = [
        {v: at for at, op in enumerate(level.computations[0].ops) for v in op.outputs} for level in (upper, lower)
    ]
    above, below = upper.computations[0].outputs, lower.computations[0].outputs
    root = lower.computations[0].ops[makers[1][below[0]]] if below and below[0] in makers[1] else None
    if root is not None and root.name == "tuple":
        below = root.inputs
    if len(above) == len(below):
        for result, made in zip(above, below, strict=True):
            if result in makers[0] and made in makers[1] and not found[makers[1][made]]:
                found[makers[1][made]].append(((0, makers[0][result]), False))


Before = Callable[[Op, list[Place]], list[Place]]
"""What an op without a name is, by what its result goes into."""


def _links(upper: str, lower: NamedLevel, found: list[list[Pairs]], before: Before) -> tuple[Link, ...]:
    """Links for what was found, and for every other op what its surroundings say."""
    _infer(lower.level, found, before)
    links: dict[tuple[Place, Place], Link] = {}
    for index, items in enumerate(found):
        for at, pairs in enumerate(items):
            for place, exact in pairs:
                key = (place, (index, at))
                if key not in links or (exact and not links[key].exact):
                    links[key] = Link(upper, place, lower.level.name, (index, at), exact)
    return tuple(links[key] for key in sorted(links))


def _infer(level: Level, found: list[list[Pairs]], before: Before) -> None:
    """Gives ops without a link those of what they contain, else of what uses them, else of what they use, else of
    the op that owns them."""
    for index in reversed(range(len(level.computations))):  # bodies come behind their owners
        computation = level.computations[index]
        for at, op in enumerate(computation.ops):
            if not found[index][at] and op.bodies:
                inner = {pair[0]: None for body in op.bodies for pairs in found[body] for pair in pairs}
                found[index][at] = [(place, False) for place in inner]
        _ask_neighbours(computation, found[index], before)
    for index, computation in enumerate(level.computations):
        for at, op in enumerate(computation.ops):
            for body in op.bodies:
                for pairs in found[body]:
                    if not pairs:
                        pairs.extend((place, False) for place, _ in found[index][at])
        if any(not pairs for pairs in found[index]):
            _ask_neighbours(computation, found[index], before)


def _ask_neighbours(computation: Computation, found: list[Pairs], before: Before) -> None:
    maker = {value: at for at, op in enumerate(computation.ops) for value in op.outputs}
    users: dict[int, list[int]] = {}
    for at, op in enumerate(computation.ops):
        for value in op.inputs:
            if value in maker:
                users.setdefault(maker[value], []).append(at)
    for at in reversed(range(len(found))):
        if not found[at]:
            near = next((found[user] for user in users.get(at, ()) if found[user]), [])
            places = before(computation.ops[at], [place for place, _ in near])
            found[at] = [(place, False) for place in places]
    for at, op in enumerate(computation.ops):
        if not found[at]:
            makers = [maker[value] for value in op.inputs if value in maker]
            near = next((found[side] for side in makers if found[side]), [])
            found[at] = [(place, False) for place, _ in near]
        elif op.name == "get-tuple-element" and op.inputs[0] in maker and not any(exact for _, exact in found[at]):
            found[at] = [(place, False) for place, _ in found[maker[op.inputs[0]]]] or found[at]


def carry_down(upper: Level, lower: Level, links: Iterable[Link]) -> Level:
    """The lower level with the spans, phases and scopes of what its ops are linked to, exact links first; and with
    the call that all of these were made in, as what XLA fuses may come from several."""
    linked: dict[Place, list[Link]] = {}
    for link in links:
        linked.setdefault(link.lower_op, []).append(link)

    def told(place: Place, op: Op) -> Op:
        found = linked.get(place)
        if found is None:
            return op
        best = [link for link in found if link.exact] or found
        above = [upper.computations[link.upper_op[0]].ops[link.upper_op[1]] for link in best]
        from_ = above[0]
        return replace(op, span=from_.span, phase=from_.phase, scopes=from_.scopes, call=common_call(above))

    computations = tuple(
        replace(computation, ops=tuple(told((index, at), op) for at, op in enumerate(computation.ops)))
        for index, computation in enumerate(lower.computations)
    )
    return replace(lower, computations=computations)
