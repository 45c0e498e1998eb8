"""Which names a value varies over: a static analysis of the body of a map.

Every value of a jaxpr gets the set of names along which its elements may differ. The analysis is a sound
upper bound: a name that is not in the set is one along which the value is certainly the same everywhere. It
is what `named_shape` shows, what the error checks ask, and what lets a collective over a name that its
operand does not vary over be done without communication (which is also the only right way when two names
share a mesh axis).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxnb._jax import Sets, all_eqns, body_jaxprs

__all__ = [
    "COLLECTIVES",
    "NAMES",
    "NONE",
    "RULES",
    "NameFlow",
    "Names",
    "axis_flow",
    "axis_names",
    "mentioned",
]

Names = frozenset[Any]
NONE: Names = frozenset()
Visit = Callable[[Any, list[Names], list[Names]], None]

# where each collective of JAX and of ours keeps its names
COLLECTIVES: Mapping[str, str] = {
    "psum": "axes",
    "pmax": "axes",
    "pmin": "axes",
    "all_gather": "axis_name",
    "reduce_scatter": "axis_name",
    "all_to_all": "axis_name",
    "ppermute": "axis_name",
    "pbroadcast": "axis_name",
    "axis_index": "axis_name",
    "named_dot": "names",
    "take_own": "names",
}


def axis_names(eqn: Any) -> tuple[Any, ...]:
    """The names that a collective acts over, in order; positions are left out."""
    key = COLLECTIVES.get(eqn.primitive.name)
    if key is None:
        return ()
    value = eqn.params[key]
    names = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(name for name in names if not isinstance(name, int))


def mentioned(jaxpr: Any) -> Names:
    """The names that collectives anywhere in a jaxpr act over."""
    return frozenset(name for eqn in all_eqns(jaxpr) for name in axis_names(eqn))


def _exchanged(flow: NameFlow, eqn: Any, ins: list[Names]) -> list[Names]:
    """Each position is given something else."""
    return [NONE.union(*ins, axis_names(eqn))] * len(eqn.outvars)


def _reduced(flow: NameFlow, eqn: Any, ins: list[Names]) -> list[Names]:
    """All positions are given the same of each operand; where there are groups, those of a group."""
    over = frozenset(axis_names(eqn))
    return [names - over if eqn.params.get("axis_index_groups") is None else names | over for names in ins]


def _gathered(flow: NameFlow, eqn: Any, ins: list[Names]) -> list[Names]:
    """All positions are given the same, of all operands together."""
    if eqn.params.get("axis_index_groups") is not None:
        return _exchanged(flow, eqn, ins)
    return [NONE.union(*ins).difference(axis_names(eqn))]


RULES: dict[str, Callable[[NameFlow, Any, list[Names]], list[Names]]] = {
    **dict.fromkeys(COLLECTIVES, _exchanged),
    **dict.fromkeys(("psum", "pmax", "pmin"), _reduced),
    **dict.fromkeys(("all_gather", "named_dot", "pbroadcast"), _gathered),
    "shard_map": lambda flow, eqn, ins: flow.other(eqn, ins),  # the axes of its mesh are names, too
}
"""By primitive; those of this package add their own."""


class NameFlow(Sets):
    """The analysis.

    Args:
      visit: called with each equation, inner ones too, the names of its inputs and of its outputs; an equation of a
        loop body is visited until the names of the carry have settled.
    """

    rules = RULES

    def __init__(self, visit: Visit | None = None) -> None:
        self._visit = visit

    def other(self, eqn: Any, ins: list[Names]) -> list[Names]:
        return [NONE.union(*ins, *(mentioned(body) for _, body in body_jaxprs(eqn.params)))] * len(eqn.outvars)

    def equation(self, eqn: Any, ins: list[Names]) -> list[Names]:
        outs = super().equation(eqn, ins)
        if self._visit is not None:
            self._visit(eqn, ins, outs)
        return outs


NAMES = NameFlow()


def axis_flow(jaxpr: Any, ins: Sequence[Names], visit: Visit | None = None) -> list[Names]:
    """The names of the outputs of a jaxpr from those of its inputs.

    Args:
      jaxpr: a jaxpr, open or closed; its constants vary over nothing.
      ins: for each input the names that it varies over.
      visit: of `NameFlow`.
    """
    return NameFlow(visit).run(jaxpr, ins)
