"""Where a value of an optimised program comes from, and what becomes of it, through what only gives it another form."""

from __future__ import annotations

from collections.abc import Iterator

from jaxnb.program import Level, Op

__all__ = ["HloFlow"]

Place = tuple[int, int]

_FORMS = frozenset({"copy", "bitcast", "transpose", "reshape", "convert", "copy-start", "copy-done"})
_PARTS = frozenset({"dynamic-slice", "slice"})
_GATHERS = frozenset({"all-gather", "all-gather-start", "all-gather-done"})
_MOST_STEPS = 200


class HloFlow:
    """The makers and users of the values of a level "hlo".

    Args:
      level: the instructions.
    """

    def __init__(self, level: Level) -> None:
        self._level = level
        self._maker: dict[int, Place] = {}
        self._users: dict[int, list[Place]] = {}
        self._home: dict[int, int] = {}
        self._owner: dict[int, Place] = {}
        for index, computation in enumerate(level.computations):
            self._home.update((value, index) for value in computation.inputs)
            for at, op in enumerate(computation.ops):
                self._maker.update((value, (index, at)) for value in op.outputs)
                self._owner.update((body, (index, at)) for body in op.bodies)
                for value in op.inputs:
                    self._users.setdefault(value, []).append((index, at))

    def origin(self, value: int) -> int | None:
        """The input of the program that a value is a form or a part of, by its number; None if it is computed.

        Args:
          value: its number in the level.
        """
        for _ in range(_MOST_STEPS):
            if value in self._home:
                home = self._home[value]
                if home < self._level.entries:
                    return self._level.computations[home].inputs.index(value)
                owner = self._op(self._owner[home]) if home in self._owner else None
                if owner is None or owner.name != "fusion":
                    return None
                value = owner.inputs[self._level.computations[home].inputs.index(value)]
                continue
            place = self._maker.get(value)
            above = None if place is None else self._before(place)
            if above is None:
                return None
            value = above
        return None

    def is_cut_again(self, value: int) -> bool:
        """Whether nothing becomes of a value but that each device takes a part of it."""
        ends = list(self._ends(value))
        return bool(ends) and all(name == "dynamic-slice" for name in ends)

    def _op(self, place: Place) -> Op:
        return self._level.computations[place[0]].ops[place[1]]

    def _before(self, place: Place) -> int | None:
        """What an instruction gives another form to, or takes a part of."""
        op = self._op(place)
        if op.name in _FORMS | _PARTS:
            return op.inputs[0]
        if op.name == "fusion":
            outputs = self._level.computations[op.bodies[0]].outputs if op.bodies else ()
            return outputs[0] if outputs else None
        if op.name == "get-tuple-element":
            return self._element(op.inputs[0], int(dict(op.attributes)["index"]))
        return None

    def _element(self, value: int, index: int) -> int | None:
        """An element of a tuple; of one that a loop carries, what it carried in first, if no turn changes it."""
        home = self._home.get(value)
        if home is not None:
            owner = self._op(self._owner[home]) if home in self._owner else None
            if owner is None or owner.name != "while" or not self._is_kept(home, index):
                return None
            value = owner.inputs[0]
        place = self._maker.get(value)
        op = None if place is None else self._op(place)
        return op.inputs[index] if op is not None and op.name == "tuple" else None

    def _is_kept(self, body: int, index: int) -> bool:
        """Whether a turn of a loop gives on an element as it is."""
        computation = self._level.computations[body]
        place = self._maker.get(computation.outputs[0])
        if place is None or self._op(place).name != "tuple":
            return False
        last = self._maker.get(self._op(place).inputs[index])
        kept = None if last is None else self._op(last)
        return (
            kept is not None
            and kept.name == "get-tuple-element"
            and kept.inputs[0] == computation.inputs[0]
            and int(dict(kept.attributes)["index"]) == index
        )

    def _ends(self, value: int) -> Iterator[str]:
        """What is done with a value besides giving it other forms and gathering more of it, by name."""
        waiting, seen = [value], {value}
        while waiting:
            here = waiting.pop()
            further: list[int] = []
            outputs = self._level.computations[self._place_of(here)].outputs
            if here in outputs:
                owner = self._owner.get(self._place_of(here))
                if owner is None or self._op(owner).name != "fusion":
                    yield "result"
                    continue
                further += self._op(owner).outputs
            for place in self._users.get(here, ()):
                op = self._op(place)
                if op.name == "fusion" and op.bodies:
                    inside = self._level.computations[op.bodies[0]]
                    further += [inside.inputs[n] for n, given in enumerate(op.inputs) if given == here]
                elif op.name in _FORMS | _GATHERS:
                    further += op.outputs
                else:
                    yield op.name if op.inputs[0] == here else "index"
            waiting += [item for item in further if item not in seen]
            seen.update(further)

    def _place_of(self, value: int) -> int:
        return self._home[value] if value in self._home else self._maker[value][0]
