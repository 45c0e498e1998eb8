"""What an `xmap` costs: counted on the program that it becomes, and told equation by equation of its body.

Names are vectorised, spread over a mesh or gone through in turns, and collectives over them become sums, gathers or
messages. All of that is what the equation is lowered to, and so the count is taken there: every equation of the body is
given a number in its name first, and what is made of it keeps that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jax

from jaxnb import named
from jaxnb._jax import open_jaxpr
from jaxnb.reading.cost.context import Context
from jaxnb.reading.cost.needed import NeededEqn
from jaxnb.reading.cost.runs import Runs
from jaxnb.reading.cost.value import Cost, sum_costs
from jaxnb.reading.jaxpr.ids import Numbers, number_equations, read_name, with_ids

__all__ = ["MAPPED", "Told", "lowered_map"]

MAPPED = ("body",)
"""The path to the body in the parameters of an `xmap`."""

Path = tuple[int, ...]
"""The numbers of an equation in the body and of those in whose bodies it stands, the outermost first."""


def lowered_map(eqn: Any, context: Context, needs: NeededEqn) -> Runs:
    """The program that an `xmap` becomes, whose equations bear the numbers of those in its body."""
    body = with_ids(eqn.params["body"].closed)
    params = {**eqn.params, "body": eqn.params["body"].with_jaxpr(body)}
    structs = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype, weak_type=v.aval.weak_type) for v in eqn.invars]
    try:
        hidden = named.program_of(structs, params)
    except NameError:  # the body exchanges values over an axis of a `jax.shard_map` around it
        return Runs(Cost(unknown=frozenset({"xmap"})), {})
    return Runs(Cost(), {}, hidden=hidden, told=True)


class Told:
    """What the equations in the body of an `xmap` cost.

    Args:
      body: of the map, an open jaxpr.
      entries: what each equation of the program costs that it became (see `lowered_map`), behind its name.
    """

    def __init__(self, body: Any, entries: Iterable[tuple[str, Cost]]) -> None:
        self._numbers: Numbers = number_equations(body)
        own: dict[Path, list[Cost]] = {}
        for name, cost in entries:
            own.setdefault(read_name(name).path, []).append(cost)
        self._own: Mapping[Path, Cost] = {path: sum_costs(costs) for path, costs in own.items()}
        whole: dict[Path, list[Cost]] = {}
        for path, cost in self._own.items():
            for length in range(len(path) + 1):
                whole.setdefault(path[:length], []).append(cost)
        self._whole: Mapping[Path, Cost] = {path: sum_costs(costs) for path, costs in whole.items()}

    def path(self, outer: Path, jaxpr: Any, number: int) -> Path:
        """The path of an equation, given that of the one in whose body it stands."""
        return (*outer, self._numbers.first(open_jaxpr(jaxpr)) + number)

    def own(self, path: Path) -> Cost:
        """What an equation does itself; the map itself has the path ()."""
        return self._own.get(path, Cost(trips=0))

    def whole(self, path: Path) -> Cost:
        """What an equation does together with its bodies."""
        return self._whole.get(path, Cost(trips=0))
