"""Probabilities that are taken for logits: a softmax of a softmax in a loss, or the same of a sigmoid.

The equations say it, wherever the two were written: what a softmax gave goes into a `log_softmax` as it is, or what a
sigmoid gave into a `log_sigmoid`. What was scaled or shifted on its way is a logit of its own, and not told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from jaxnb._jax import Called, Forward

__all__ = ["Taken", "taken_for_logits"]


@dataclass(frozen=True, slots=True)
class Taken:
    """Probabilities that were taken for logits.

    Attributes:
      made: the equations that gave them, the last of them within those before it.
      read: the equation that takes their logarithm, in the same form.
      by: "softmax" or "sigmoid".
    """

    made: tuple[Any, ...]
    read: tuple[Any, ...]
    by: str


@dataclass(frozen=True, slots=True)
class _Is:
    """What a value is: `what` of the equations `of`."""

    what: str
    of: tuple[Any, ...] = field(compare=False)
    key: int

    def now(self, what: str) -> _Is:
        """Another thing of the same equations."""
        return _Is(what, self.of, self.key)


_Value = _Is | None
_FORM = "broadcast_in_dim reshape squeeze convert_element_type stop_gradient transpose copy reduce_precision".split()
"""Equations that leave a value what it is."""


def taken_for_logits(jaxpr: Any) -> list[Taken]:
    """The probabilities in a jaxpr that a logarithm of a softmax or sigmoid is given."""
    found: list[Taken] = []
    flow = _Probabilities(found, ())
    flow.run(jaxpr, [None] * len(jaxpr.invars))
    return list({(id(one.made[-1]), one.by): one for one in found}.values())


class _Probabilities(Forward["_Value"]):
    """What is a probability, and what is computed of it on the way to its logarithm."""

    nothing = None

    def __init__(self, found: list[Taken], path: tuple[Any, ...]) -> None:
        self._found, self._path = found, path

    def join(self, one: _Value, other: _Value) -> _Value:
        return one if one == other else None

    def other(self, eqn: Any, ins: list[_Value]) -> list[_Value]:
        return [None] * len(eqn.outvars)

    def enter(self, eqn: Any, called: Called, ins: list[_Value]) -> list[_Value]:
        given = ins[0] if ins else None
        if given is not None and given.what == "sigmoid" and eqn.params.get("name") == "log_sigmoid":
            self._found.append(Taken(given.of, (*self._path, eqn), "sigmoid"))
        return _Probabilities(self._found, (*self._path, eqn)).run(called.jaxpr, ins)

    def _same(self, eqn: Any, ins: list[_Value]) -> list[_Value]:
        return [next((one for one in ins if one is not None), None)] * len(eqn.outvars)

    def _exp(self, eqn: Any, ins: list[_Value]) -> list[_Value]:
        (given,) = ins
        if given is not None and given.what == "shifted":
            return [given.now("powers")]
        return [_Is("exp", (*self._path, eqn), id(eqn))]

    def _sum(self, eqn: Any, ins: list[_Value]) -> list[_Value]:
        given = ins[0]
        names = {"exp": "sum", "powers": "sum of powers"}
        return [given.now(names[given.what]) if given is not None and given.what in names else None]

    def _max(self, eqn: Any, ins: list[_Value]) -> list[_Value]:
        given = ins[0]
        return [given.now("largest") if given is not None and given.what == "softmax" else None]

    def _div(self, eqn: Any, ins: list[_Value]) -> list[_Value]:
        over, under = ins
        if over is None or under is None or (over.what, under.what) != ("exp", "sum") or over.key != under.key:
            return [None]
        return [_Is("softmax", (*self._path, eqn), id(eqn))]

    def _sub(self, eqn: Any, ins: list[_Value]) -> list[_Value]:
        one, other = ins
        if one is None or other is None or (one.what, other.what) != ("softmax", "largest") or one.key != other.key:
            return [None]
        return [one.now("shifted")]

    def _log(self, eqn: Any, ins: list[_Value]) -> list[_Value]:
        given = ins[0]
        if given is not None and given.what == "sum of powers":
            self._found.append(Taken(given.of, (*self._path, eqn), "softmax"))
        return [None]

    def _logistic(self, eqn: Any, ins: list[_Value]) -> list[_Value]:
        return [_Is("sigmoid", (*self._path, eqn), id(eqn))]

    def _neg(self, eqn: Any, ins: list[_Value]) -> list[_Value]:
        return [ins[0] if ins[0] is not None and ins[0].what == "sigmoid" else None]

    def _chosen(self, eqn: Any, ins: list[_Value]) -> list[_Value]:
        kept = [one for one in ins if one is not None and one.what == "largest"]
        return [kept[0] if kept else None] * len(eqn.outvars)

    rules: ClassVar[Mapping[str, Callable[[Any, Any, list[_Value]], list[_Value]]]] = {
        **dict.fromkeys(_FORM, _same),
        **dict.fromkeys(("abs",), _same),
        **dict.fromkeys(("max", "select_n"), _chosen),
        "exp": _exp,
        "reduce_sum": _sum,
        "reduce_max": _max,
        "div": _div,
        "sub": _sub,
        "log": _log,
        "logistic": _logistic,
        "neg": _neg,
    }
