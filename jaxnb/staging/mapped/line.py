"""What the line under a mapped cell says of its names: sizes, resources, and what positions exchange."""

from __future__ import annotations

from typing import Any

from jaxnb.named import axis_names, plain, sub_jaxprs

__all__ = ["count_equations", "describe_map"]

_EXCHANGE_NOTHING = frozenset({"axis_index", "take_own"})


def describe_map(jaxpr: Any) -> str:
    """The names of the map in a program and its collectives: `batch:8 on x, hidden:128 · psum over batch`.

    Args:
      jaxpr: of a piece; "" if there is no map in it.
    """
    maps = [eqn for eqn in plain(jaxpr).eqns if eqn.primitive.name == "xmap"]
    if not maps:
        return ""
    params = maps[-1].params
    names = ", ".join(_name_text(name, size, params["plan"]) for name, size in params["sizes"])
    found: dict[str, list[str]] = {}
    _read_exchanges(params["body"].closed, found)
    return " · ".join(part for part in (names, ", ".join(map(_exchange_text, found, found.values()))) if part)


def _exchange_text(kind: str, over: list[str]) -> str:
    count = len(over)
    return f"{kind}{f' ×{count}' if count > 1 else ''} over {', '.join(dict.fromkeys(over))}"


def _name_text(name: Any, size: int, plan: Any) -> str:
    axes, turns = plan.mesh_axes(name), plan.turns(name)
    spread = f" on {'×'.join(map(str, axes))}" if axes else ""
    return f"{name}:{size}{spread}" + (f" in {turns} turns" if turns > 1 else "")


def _read_exchanges(jaxpr: Any, found: dict[str, list[str]]) -> None:
    for eqn in plain(jaxpr).eqns:
        names, kind = axis_names(eqn), eqn.primitive.name
        if names and kind not in _EXCHANGE_NOTHING:
            found.setdefault("dot" if kind == "named_dot" else kind, []).append("+".join(map(str, names)))
        for inner in sub_jaxprs(eqn):
            _read_exchanges(inner, found)


def count_equations(jaxpr: Any) -> int:
    """How many equations a program holds, those in the body of a map instead of the map."""
    count = 0
    for eqn in plain(jaxpr).eqns:
        inside = eqn.params["body"].closed if eqn.primitive.name == "xmap" else None
        if inside is not None and len(plain(inside).eqns) == 1 and plain(inside).eqns[0].primitive.name == "remat2":
            inside = plain(inside).eqns[0].params["jaxpr"]  # a loop computes each turn again for its derivative
        count += 1 if inside is None else len(plain(inside).eqns)
    return count
