"""Which equations of a jaxpr are needed for its results, inside of loops, branches and calls too.

JAX leaves out the others before it compiles. An equation with an effect, such as a print, is always needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jax.extend import core as jax_core

from jaxnb._jax import CALLS, body_jaxprs, called_jaxprs, has_effects, open_jaxpr, scan_counts

__all__ = ["Mask", "Needed", "NeededEqn", "NeededJaxpr"]

Mask = tuple[bool, ...]
_ONE = (True,)


class NeededEqn(NamedTuple):
    """What an equation needs for those of its results that are needed.

    Attributes:
      outputs: which results those are.
      inputs: which operands are needed for them.
      bodies: which results of its bodies, by the path in the parameters; all of a body that is not named here.
    """

    outputs: Mask
    inputs: Mask
    bodies: Mapping[tuple[str, ...], Mask]


class NeededJaxpr(NamedTuple):
    """What a jaxpr needs for those of its results that are needed.

    Attributes:
      equations: for each equation what it needs; None if it is not needed at all.
      inputs: which arguments are needed.
    """

    equations: Sequence[NeededEqn | None]
    inputs: Mask


class Needed:
    """Finds what is needed, and remembers it for jaxprs that equations share."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Mask], NeededJaxpr] = {}

    def of(self, jaxpr: jax_core.Jaxpr, outputs: Mask | None = None) -> NeededJaxpr:
        """What a jaxpr needs for `outputs`, by default for all of its results."""
        wanted = outputs if outputs is not None else (True,) * len(jaxpr.outvars)
        key = (id(jaxpr), wanted)
        if key not in self._known:
            self._known[key] = self._find(jaxpr, wanted)
        return self._known[key]

    def _find(self, jaxpr: jax_core.Jaxpr, outputs: Mask) -> NeededJaxpr:
        literal = jax_core.Literal
        live = {v for v, wanted in zip(jaxpr.outvars, outputs, strict=True) if wanted and type(v) is not literal}
        found: list[NeededEqn | None] = []
        for eqn in reversed(jaxpr.eqns):
            results = eqn.outvars
            mask = _ONE if len(results) == 1 and results[0] in live else tuple(v in live for v in results)
            if True not in mask and not has_effects(eqn):
                found.append(None)
                continue
            needs = self._equation(eqn, mask)
            found.append(needs)
            live.update(
                v for v, wanted in zip(eqn.invars, needs.inputs, strict=True) if wanted and type(v) is not literal
            )
        found.reverse()
        return NeededJaxpr(found, tuple(v in live for v in jaxpr.invars))

    def _equation(self, eqn: Any, outputs: Mask) -> NeededEqn:
        name = eqn.primitive.name
        if name == "scan":
            return self._scan(eqn, outputs)
        if name in CALLS or name == "cond":
            return self._call(eqn, outputs)
        if name == "xmap":
            body = dict(body_jaxprs(eqn.params))["body",]
            return NeededEqn(outputs, self.of(body, outputs).inputs, {("body",): outputs})
        return NeededEqn(outputs, (True,) * len(eqn.invars), {})

    def _call(self, eqn: Any, outputs: Mask) -> NeededEqn:
        """A call or a branch: operands that no body needs are not needed."""
        called = called_jaxprs(eqn)
        masks = [self.of(open_jaxpr(one.jaxpr), outputs).inputs for one in called]
        inputs = tuple(map(any, zip(*masks, strict=True)))
        chooses = (True,) * (len(eqn.invars) - len(inputs))
        return NeededEqn(outputs, chooses + inputs, {one.path: outputs for one in called})

    def _scan(self, eqn: Any, outputs: Mask) -> NeededEqn:
        """A loop: what a step needs of the carry, the step before must give."""
        consts, carry = scan_counts(eqn.params)
        (called,) = called_jaxprs(eqn)
        body = open_jaxpr(called.jaxpr)
        wanted = outputs
        while True:
            inputs = self.of(body, wanted).inputs
            more = tuple(a or b for a, b in zip(wanted[:carry], inputs[consts : consts + carry], strict=True))
            if more == wanted[:carry]:
                break
            wanted = more + wanted[carry:]
        inputs = inputs[:consts] + wanted[:carry] + inputs[consts + carry :]
        return NeededEqn(outputs, inputs, {called.path: wanted})
