"""Sums over a name, moved into the dots that make what is summed.

The gradient of a shared weight is, position by position, an outer product, of which the sum over all
positions is wanted. Vectorised as it stands that is an array as large as all the outer products; as a dot
that contracts the name it is as large as the weight. This pass finds, from where a sum is taken, the linear
way back to such dots.

Only the vectorised part of a name is summed early. What is left for devices to exchange stays one exchange,
at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jax.extend.core import Literal

from jaxnb._jax import all_eqns, body_jaxprs, called_jaxprs, open_jaxpr
from jaxnb.named.flow import Names, axis_names

__all__ = ["Early", "early_sums"]

# linear in one operand, so that a sum over positions may be taken before as well as after
_LINEAR = frozenset({"transpose", "reshape", "neg", "squeeze", "broadcast_in_dim", "reduce_sum", "copy", "rev"})
# how far back a sum is moved: far enough for layers, and not so far that Python's stack ends
_FAR = 100
_SUMS = frozenset({"add_any", "sub", "add"})
_ENTERED = frozenset({"closed_call", "eval_jaxpr", "jit", "remat2"})


@dataclass
class Early:
    """Where the vectorised part of a sum over names is taken, by the identity of an equation.

    Args:
      dots: `dot_general` equations that contract these names.
      after: equations of whose output, by its number, the sum is taken.
      finished: `psum` equations whose operand comes summed.
    """

    dots: dict[int, tuple[Any, ...]] = field(default_factory=dict[int, tuple[Any, ...]])
    after: dict[int, dict[int, tuple[Any, ...]]] = field(default_factory=dict[int, dict[int, tuple[Any, ...]]])
    finished: set[int] = field(default_factory=set[int])


def early_sums(closed: Any, sums: Sequence[Sequence[Any]], scope: Names) -> tuple[Early, list[bool]]:
    """Plans the sums of a body.

    Args:
      closed: the body.
      sums: for each of its outputs the names over which it is added up.
      scope: the names of the map; a `psum` over others is left as it is.

    Returns:
      (plan, for each output whether it comes summed over the vectorised part of its names).
    """
    early, calls = Early(), Counter(id(body) for eqn in all_eqns(closed) for _, body in body_jaxprs(eqn.params))
    wanted = {k: tuple(names) for k, names in enumerate(sums) if names}
    done = _plan(closed, wanted, scope, early, calls)
    return early, [k in done for k in range(len(sums))]


def _plan(
    closed: Any, wanted: Mapping[int, tuple[Any, ...]], scope: Names, early: Early, calls: Counter[int]
) -> set[int]:
    """Plans the sums of outputs `wanted`, and of every `psum` inside; returns what comes summed."""
    jaxpr = open_jaxpr(closed)
    uses = Counter(atom for eqn in jaxpr.eqns for atom in eqn.invars if not isinstance(atom, Literal))
    uses.update(atom for atom in jaxpr.outvars if not isinstance(atom, Literal))
    made = {var: eqn for eqn in jaxpr.eqns for var in eqn.outvars}
    inner: dict[int, dict[int, tuple[Any, ...]]] = {}

    def may_enter(eqn: Any) -> bool:
        # what is planned in a jaxpr holds for all its calls, so it must have one only
        return eqn.primitive.name in _ENTERED and calls[id(open_jaxpr(called_jaxprs(eqn)[0].jaxpr))] == 1

    def movable(atom: Any) -> bool:
        return not isinstance(atom, Literal) and uses[atom] == 1 and atom in made

    def reaches_dot(atom: Any, steps: int = _FAR) -> bool:
        """Whether moving the sum to `atom` gains anything."""
        if not steps or not movable(atom):
            return False
        eqn = made[atom]
        kind = eqn.primitive.name
        if kind == "dot_general" or may_enter(eqn):
            return True
        return kind in _LINEAR | _SUMS and any(reaches_dot(v, steps - 1) for v in eqn.invars)

    def move(atom: Any, names: tuple[Any, ...], steps: int = _FAR) -> None:
        eqn = made[atom]
        kind = eqn.primitive.name
        if kind == "dot_general":
            early.dots[id(eqn)] = names
        elif may_enter(eqn):
            inner.setdefault(id(eqn), {})[eqn.outvars.index(atom)] = names
        elif kind in _LINEAR and steps and reaches_dot(eqn.invars[0]):
            move(eqn.invars[0], names, steps - 1)
        elif kind in _SUMS and steps and all(map(movable, eqn.invars)):
            for operand in eqn.invars:
                move(operand, names, steps - 1)
        else:
            early.after.setdefault(id(eqn), {})[eqn.outvars.index(atom)] = names

    done: set[int] = set()
    for k, names in wanted.items():
        if reaches_dot(jaxpr.outvars[k]):
            move(jaxpr.outvars[k], names)
            done.add(k)
    for eqn in reversed(jaxpr.eqns):
        if eqn.primitive.name == "psum" and len(eqn.invars) == 1 and eqn.params["axis_index_groups"] is None:
            names = axis_names(eqn)
            if len(names) == len(eqn.params["axes"]) and scope.issuperset(names) and reaches_dot(eqn.invars[0]):
                move(eqn.invars[0], names)
                early.finished.add(id(eqn))
        asked = inner.get(id(eqn))
        if asked is not None:
            summed = _plan(called_jaxprs(eqn)[0].jaxpr, asked, scope, early, calls)
            for k, names in asked.items():
                if k not in summed:
                    early.after.setdefault(id(eqn), {})[k] = names
        elif eqn.primitive.name != "xmap":
            for _, body in body_jaxprs(eqn.params):
                _plan(body, {}, scope, early, calls)
    return done
