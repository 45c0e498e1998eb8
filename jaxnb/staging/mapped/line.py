"""What the line under a mapped cell says of its names: sizes, resources, and what positions exchange."""

from __future__ import annotations

from typing import Any

from jaxnb._jax import all_eqns, open_jaxpr
from jaxnb.named import axis_names

__all__ = ["count_equations", "describe_map"]

_EXCHANGE_NOTHING = frozenset({"axis_index", "take_own"})


def describe_map(jaxpr: Any) -> str:
    """The names of the map in a program and its collectives: `batch:8 on x, hidden:128 · psum over batch`.

    Args:
      jaxpr: of a piece; "" if there is no map in it.
    """
    maps = [eqn for eqn in open_jaxpr(jaxpr).eqns if eqn.primitive.name == "xmap"]
    if not maps:
        return ""
    params = maps[-1].params
    names = ", ".join(_name_text(name, size, params["plan"]) for name, size in params["sizes"])
    found: dict[str, list[str]] = {}
    for eqn in all_eqns(params["body"].closed):
        over, kind = axis_names(eqn), eqn.primitive.name
        if over and kind not in _EXCHANGE_NOTHING:
            found.setdefault("dot" if kind == "named_dot" else kind, []).append("+".join(map(str, over)))
    return " · ".join(part for part in (names, ", ".join(map(_exchange_text, found, found.values()))) if part)


def _exchange_text(kind: str, over: list[str]) -> str:
    count = len(over)
    return f"{kind}{f' ×{count}' if count > 1 else ''} over {', '.join(dict.fromkeys(over))}"


def _name_text(name: Any, size: int, plan: Any) -> str:
    axes, turns = plan.mesh_axes(name), plan.turns(name)
    spread = f" on {'×'.join(map(str, axes))}" if axes else ""
    return f"{name}:{size}{spread}" + (f" in {turns} turns" if turns > 1 else "")


def count_equations(jaxpr: Any) -> int:
    """How many equations a program holds, those in the body of a map instead of the map."""
    count = 0
    for eqn in open_jaxpr(jaxpr).eqns:
        if eqn.primitive.name != "xmap":
            count += 1
            continue
        inside = open_jaxpr(eqn.params["body"].closed).eqns
        if len(inside) == 1 and inside[0].primitive.name == "remat2":
            inside = inside[0].params["jaxpr"].eqns  # a loop computes each turn again for its derivative
        count += len(inside)
    return count
