"""Where the first nan or inf of a program came from, found by running the program again.

Each jaxpr is run as one program that says of every value in it whether it holds a nan or an inf. From the result that
does, the search goes back from equation to operand, until an equation made it of finite numbers. In the body of a
call it goes on there; of a loop, it finds the first iteration that made one, and goes on in that. So what a program
made and then masked (a log of 0 behind `jnp.where`) is not blamed, and what was never computed is not, either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend import core as jax_core

from jaxnb import _jax
from jaxnb._jax import CALLS, LOOPS, body_jaxprs, scan_counts
from jaxnb.findings.lints.eqns import Eqns, closed_bodies
from jaxnb.program import Place

__all__ = ["Bad", "Origin", "find_origin", "nonfinite"]

Kind = str
"""What is looked for: "nan" or "inf"."""

_ENTERED = CALLS - {"shard_map", "custom_vmap_call"}


class Bad(NamedTuple):
    """Whether an array holds a nan, and whether it holds an inf."""

    nan: bool
    inf: bool

    def __contains__(self, kind: object) -> bool:
        return self.nan if kind == "nan" else self.inf


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a nan or inf came from.

    Attributes:
      kind: "nan" or "inf".
      place: the equation that made it of finite numbers, or of an inf that was meant; None if no equation did.
      operands: the values that this equation had.
      result: what it made of them.
      iterations: in which iterations of the loops around it, the outermost first, each with the number of them (None
        where it is not known before the end).
      input: if no equation made it, the position of the input that held it; None if it is a constant of the program.
      handed: if it is a number that stands in the program, the last equation that it went through.
      then: what made a nan of the inf that `place` had made; None if nothing did.
    """

    kind: Kind
    place: Place | None = None
    operands: tuple[Any, ...] = ()
    result: Any = None
    iterations: tuple[tuple[int, int | None], ...] = ()
    input: int | None = None
    handed: Place | None = None
    then: Origin | None = None


def nonfinite(values: Sequence[Any]) -> list[Bad]:
    """For each array whether it holds a nan or an inf; what has no floating-point numbers holds none."""
    places = [at for at, value in enumerate(values) if _is_inexact(getattr(value, "dtype", None))]
    found = [Bad(False, False)] * len(values)
    if places:
        told = jax.device_get(_told([values[at] for at in places]))
        for at, (nan, inf) in zip(places, told, strict=True):
            found[at] = Bad(bool(nan), bool(inf))
    return found


def find_origin(eqns: Eqns, arguments: Sequence[Any], result: int, kind: Kind) -> Origin | None:
    """Where the nan or inf in a result of a program came from.

    Args:
      eqns: of the piece.
      arguments: of the program, as it had them.
      result: the position of the result.
      kind: "nan" or "inf".

    Returns:
      None if the program, run like this, holds none there: then it is the compiler's rounding that decides.
    """
    closed = eqns.piece.jaxpr
    count = len(eqns.visited[0].jaxpr.invars)
    given = list(arguments)[-count:] if count else []
    with jax.debug_nans(False), jax.debug_infs(False):
        found = _Search(eqns).back(0, closed, given, eqns.visited[0].jaxpr.outvars[result], kind)
    return found.then if found is not None and found.place is None and found.then is not None else found


class _Search:
    """The way back through the equations of a piece."""

    def __init__(self, eqns: Eqns) -> None:
        self._eqns = eqns

    def back(
        self,
        index: int,
        closed: Any,
        given: Sequence[Any],
        atom: Any,
        kind: Kind,
        bad: dict[Any, Bad] | None = None,
    ) -> Origin | None:
        """From a value of one computation to where its nan or inf came from; `Origin.input` is an input of this.

        Args:
          index: of the computation.
          closed: its jaxpr.
          given: its arguments.
          atom: the variable or literal.
          kind: "nan" or "inf".
          bad: which values of the computation hold one, if that is known.
        """
        jaxpr = self._eqns.visited[index].jaxpr
        bad = bad if bad is not None else _bad_values(closed, jaxpr, given)
        makers = {var: number for number, eqn in enumerate(jaxpr.eqns) for var in eqn.outvars}
        then: Origin | None = None
        handed: Place | None = None
        if kind not in _of(atom, bad):
            return None
        while type(atom) is not jax_core.Literal and atom in makers:
            number = makers[atom]
            place, eqn = (index, number), jaxpr.eqns[number]
            operands = _operands(closed, jaxpr, eqn, given)
            told = [_of(operand, bad) for operand in eqn.invars]
            inside = self._inside(place, eqn, operands, list(eqn.outvars).index(atom), kind, told)
            if inside is not None:
                if inside.place is not None or inside.input is None:
                    return replace(inside, then=inside.then or then)
                atom, kind, then = eqn.invars[inside.input], inside.kind, inside.then or then
                continue
            same = _followed(eqn, operands, told, kind)
            if same is not None:
                handed = place
                atom, kind = eqn.invars[same], kind if kind in told[same] else "nan"
                continue
            here = Origin(kind, place, tuple(operands), _result(eqn, atom, operands, closed), then=then)
            for at in [at for at, one in enumerate(told) if one.inf] if kind == "nan" else []:
                earlier = self.back(index, closed, given, eqn.invars[at], "inf", bad)  # nan of an inf: who made that?
                if earlier is not None and (earlier.place is not None or (earlier.input is not None and index)):
                    return replace(earlier, then=here)
            return here
        at = None if type(atom) is jax_core.Literal or atom not in jaxpr.invars else list(jaxpr.invars).index(atom)
        return Origin(kind, input=at, handed=handed if at is None else None, then=then)

    def _inside(
        self, place: Place, eqn: Any, operands: list[Any], result: int, kind: Kind, told: list[Bad]
    ) -> Origin | None:
        """The same in the body of a call or loop; None if the equation has none that can be gone into."""
        name = eqn.primitive.name
        bodies = self._eqns.visited[place[0]].bodies[place[1]]
        if not bodies or (name in LOOPS and any(kind in one for one in told)):
            return None
        closed = closed_bodies(eqn)
        if name == "scan":
            return self._in_scan(eqn, bodies[0], closed[0], operands, result, kind)
        if name == "while":
            return self._in_while(eqn, bodies, closed, operands, result, kind)
        if name == "cond":
            branch = min(max(int(operands[0]), 0), len(bodies) - 1)
            found = self._of_result(bodies[branch], closed[branch], operands[1:], result, kind)
            return _moved(found, 1)
        body = self._eqns.visited[bodies[0]].jaxpr
        fits = len(bodies) == 1 and len(body.invars) == len(operands) and len(body.outvars) == len(eqn.outvars)
        if name not in _ENTERED or not fits:
            return None
        return self._of_result(bodies[0], closed[0], operands, result, kind)

    def _of_result(self, index: int, closed: Any, given: Sequence[Any], result: int, kind: Kind) -> Origin | None:
        return self.back(index, closed, given, self._eqns.visited[index].jaxpr.outvars[result], kind)

    def _in_scan(self, eqn: Any, body: int, closed: Any, operands: list[Any], result: int, kind: Kind) -> Origin | None:
        consts, carry = scan_counts(eqn.params)
        length, reverse = eqn.params["length"], eqn.params["reverse"]
        fixed, state, rows = operands[:consts], operands[consts : consts + carry], operands[consts + carry :]
        step = _jax.as_function(closed)

        def given(turn: Any, state: Any) -> list[Any]:
            at = length - 1 - turn if reverse else turn
            return [*fixed, *state, *(jax.lax.dynamic_index_in_dim(row, at, keepdims=False) for row in rows)]

        def go_on(turn: Any, state: Any) -> Any:
            return turn < length

        then: Origin | None = None
        while True:
            turn, before, stopped = _first_bad(given, step, go_on, state, carry, kind)
            if not stopped:
                return None
            found = self._at_turn(body, closed, given(jnp.asarray(turn), before), result, kind)
            if found is None:
                return None
            found = _in_turn(found, length - 1 - turn if reverse else turn, length, then)
            if found.place is not None or found.input is None or not consts <= found.input < consts + carry:
                return found
            if found.kind in nonfinite([operands[found.input]])[0]:
                return found
            result, kind, then = found.input - consts, found.kind, found.then  # an iteration before made it

    def _in_while(
        self, eqn: Any, bodies: tuple[int, ...], closed: list[Any], operands: list[Any], result: int, kind: Kind
    ) -> Origin | None:
        first, second = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        tested, fixed, state = operands[:first], operands[first : first + second], operands[first + second :]
        # `body_jaxprs` has them in the order of the parameters.
        order = [path[0] for path, _ in body_jaxprs(eqn.params)]
        at = order.index("body_jaxpr")
        test, step = _jax.as_function(closed[1 - at]), _jax.as_function(closed[at])

        def given(turn: Any, state: Any) -> list[Any]:
            return [*fixed, *state]

        def go_on(turn: Any, state: Any) -> Any:
            return test(*tested, *state)[0]

        then: Origin | None = None
        while True:
            turn, before, stopped = _first_bad(given, step, go_on, state, len(state), kind)
            if not stopped:
                return None
            found = self._at_turn(bodies[at], closed[at], given(turn, before), result, kind)
            if found is None:
                return None
            found = _in_turn(found, turn, None, then)
            if found.place is not None or found.input is None:
                return found
            if found.input < second or found.kind in nonfinite([operands[found.input + first]])[0]:
                return _moved(found, first)
            result, kind, then = found.input - second, found.kind, found.then

    def _at_turn(self, body: int, closed: Any, given: list[Any], result: int, kind: Kind) -> Origin | None:
        """In the iteration that made one: from the result that is asked for if it has one, else from the first."""
        told = nonfinite(jax.jit(_jax.as_function(closed))(*given))
        if kind not in told[result]:
            result = next((at for at, one in enumerate(told) if kind in one), result)
        return self._of_result(body, closed, given, result, kind)


def _first_bad(
    given: Any, step: Any, go_on: Any, state: Sequence[Any], carry: int, kind: Kind
) -> tuple[int, list[Any], bool]:
    """Runs a loop up to the first iteration whose results hold a nan or inf.

    Returns:
      Its number, what was carried into it, and whether there was one.
    """

    def more(running: Any) -> Any:
        turn, state, stopped = running
        return jnp.logical_not(stopped) & go_on(turn, state)

    def turn(running: Any) -> Any:
        number, state, _ = running
        results = step(*given(number, state))
        flags = [_holds(value, kind) for value in results if _is_inexact(value.dtype)]
        stopped = jnp.any(jnp.stack(flags)) if flags else jnp.asarray(False)
        kept = jax.lax.cond(stopped, lambda old, new: old, lambda old, new: new, list(state), list(results[:carry]))
        return jnp.where(stopped, number, number + 1), kept, stopped

    start = (jnp.asarray(0), [jnp.asarray(value) for value in state], jnp.asarray(False))
    number, before, stopped = jax.jit(lambda start: jax.lax.while_loop(more, turn, start))(start)
    return int(number), before, bool(stopped)


def _followed(eqn: Any, operands: list[Any], told: list[Bad], kind: Kind) -> int | None:
    """The operand from which a nan or inf went on into the result; None if no operand has one."""
    found = [at for at, one in enumerate(told) if kind in one]
    if kind == "inf" and not found:
        found = [at for at, one in enumerate(told) if one.nan]
    if eqn.primitive.name == "select_n" and found:
        which = operands[0]
        for at in found:
            taken = jnp.where(which == at - 1, operands[at], 0)
            if at and kind in nonfinite([taken])[0]:
                return at
    return found[0] if found else None


def _bad_values(closed: Any, jaxpr: Any, given: Sequence[Any]) -> dict[Any, Bad]:
    """Which values of a jaxpr hold a nan or inf."""
    made = [
        v for eqn in jaxpr.eqns for v in eqn.outvars if _is_named(v) and _is_inexact(getattr(v.aval, "dtype", None))
    ]
    found = dict(zip(jaxpr.invars, nonfinite(given), strict=True))
    found.update(zip(jaxpr.constvars, nonfinite(closed.consts), strict=True))
    if made:
        run = _jax.as_function(_jax.with_parts(closed, jaxpr.invars, jaxpr.eqns, made))
        told = jax.device_get(jax.jit(lambda *values: _flags(run(*values)))(*given))
        found.update({v: Bad(bool(nan), bool(inf)) for v, (nan, inf) in zip(made, told, strict=True)})
    return found


def _operands(closed: Any, jaxpr: Any, eqn: Any, given: Sequence[Any]) -> list[Any]:
    """The values that an equation has."""
    wanted = list(dict.fromkeys(v for v in eqn.invars if type(v) is not jax_core.Literal))
    run = _jax.as_function(_jax.with_parts(closed, jaxpr.invars, jaxpr.eqns, wanted))
    values = dict(zip(wanted, jax.jit(run)(*given), strict=True)) if wanted else {}
    return [v.val if type(v) is jax_core.Literal else values[v] for v in eqn.invars]


def _result(eqn: Any, atom: Any, operands: Sequence[Any], closed: Any) -> Any:
    """What one equation makes of its operands."""
    places = [at for at, v in enumerate(eqn.invars) if type(v) is not jax_core.Literal]
    wanted = list(dict.fromkeys(eqn.invars[at] for at in places))
    values = {eqn.invars[at]: operands[at] for at in places}
    run = _jax.as_function(_jax.with_parts(closed, wanted, [eqn], [atom]))
    return jax.jit(run)(*(values[v] for v in wanted))[0]


@jax.jit
def _told(values: list[Any]) -> list[Any]:
    return _flags(values)


def _flags(values: Sequence[Any]) -> list[Any]:
    return [jnp.stack([_holds(value, "nan"), _holds(value, "inf")]) for value in values]


def _holds(value: Any, kind: Kind) -> Any:
    return jnp.any(jnp.isnan(value) if kind == "nan" else jnp.isinf(value))


def _of(atom: Any, bad: dict[Any, Bad]) -> Bad:
    return nonfinite([atom.val])[0] if type(atom) is jax_core.Literal else bad.get(atom, Bad(False, False))


def _is_named(var: Any) -> bool:
    return type(var).__name__ != "DropVar"


def _is_inexact(dtype: Any) -> bool:
    return dtype is not None and jnp.issubdtype(dtype, jnp.inexact)


def _moved(found: Origin | None, by: int) -> Origin | None:
    """The same for the equation around: its operands begin `by` before those of the body."""
    if found is None or found.place is not None or found.input is None:
        return found
    return replace(found, input=found.input + by)


def _in_turn(found: Origin, turn: int, length: int | None, then: Origin | None) -> Origin:
    """The same with the iteration in which it was, and with what later made a nan of it."""
    inner = replace(found.then, iterations=((turn, length), *found.then.iterations)) if found.then is not None else None
    around = ((turn, length), *found.iterations) if found.place is not None else ()
    return replace(found, iterations=around, then=inner or then)
