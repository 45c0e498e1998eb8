"""Where the first nan or inf of a program came from, found by running the program again.

Each jaxpr is run as one program that says of every value in it whether it holds a nan or an inf. From the result that
does, the search goes back from equation to operand, until an equation made it of finite numbers. In the body of a
call it goes on there; of a loop, it finds the first iteration that made one, and goes on in that. So what a program
made and then masked (a log of 0 behind `jnp.where`) is not blamed, and what was never computed is not, either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core as jax_core

from jaxnb import _jax
from jaxnb._jax import LOOPS, body_jaxprs, scan_counts
from jaxnb.findings.lints.eqns import Eqns, closed_bodies
from jaxnb.findings.lints.recomputed import Bad, Kind, Recomputed, Timer, entered_body, holds, is_inexact, nonfinite
from jaxnb.program import Place

__all__ = ["Origin", "Replay"]


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


class Replay:
    """A piece that is run again, once for all of its results.

    Args:
      eqns: of the piece.
      arguments: of the program, as it had them.
      patience: seconds after which no further program is made: `OutOfTime` is raised; None for as long as it takes.
    """

    def __init__(self, eqns: Eqns, arguments: Sequence[Any], patience: float | None = None) -> None:
        self._eqns, self._arguments, self._timer = eqns, arguments, Timer(patience)
        self._made: Recomputed | None = None

    def origin(self, result: int, kind: Kind) -> Origin | None:
        """Where the nan or inf in a result of the program came from.

        Args:
          result: the position of the result.
          kind: "nan" or "inf".

        Returns:
          None if the program, run like this, holds none there: then it is the compiler's rounding that decides.
        """
        count = len(self._eqns.visited[0].jaxpr.invars)
        given = list(self._arguments)[-count:] if count else []
        with jax.debug_nans(False), jax.debug_infs(False):
            if self._made is None:
                self._made = Recomputed(self._eqns.piece.jaxpr, given, self._timer)
            found = self._back(0, self._made, self._eqns.visited[0].jaxpr.outvars[result], kind)
        return found.then if found is not None and found.place is None and found.then is not None else found

    def _back(self, index: int, made: Recomputed, atom: Any, kind: Kind) -> Origin | None:
        """From a value of one computation to where its nan or inf came from; `Origin.input` is an input of this.

        Args:
          index: of the computation.
          made: what it made.
          atom: the variable or literal.
          kind: "nan" or "inf".
        """
        jaxpr = self._eqns.visited[index].jaxpr
        then: Origin | None = None
        handed: Place | None = None
        if kind not in made.bad(atom):
            return None
        while type(atom) is not jax_core.Literal and atom in made.makers:
            number = made.makers[atom]
            place, eqn = (index, number), jaxpr.eqns[number]
            told = [made.bad(operand) for operand in eqn.invars]
            inside = self._inside(place, eqn, made, list(eqn.outvars).index(atom), kind, told)
            if inside is not None:
                if inside.place is not None or inside.input is None:
                    return replace(inside, then=inside.then or then)
                atom, kind, then = eqn.invars[inside.input], inside.kind, inside.then or then
                continue
            same = _followed(eqn, made, told, kind)
            if same is not None:
                handed = place
                atom, kind = eqn.invars[same], kind if kind in told[same] else "nan"
                continue
            here = Origin(kind, place, tuple(made.values(eqn.invars)), made.made_by(eqn, atom), then=then)
            for at in [at for at, one in enumerate(told) if one.inf] if kind == "nan" else []:
                earlier = self._back(index, made, eqn.invars[at], "inf")  # nan of an inf: who made that?
                if earlier is not None and (earlier.place is not None or (earlier.input is not None and index)):
                    return replace(earlier, then=here)
            return here
        at = None if type(atom) is jax_core.Literal or atom not in jaxpr.invars else list(jaxpr.invars).index(atom)
        return Origin(kind, input=at, handed=handed if at is None else None, then=then)

    def _inside(
        self, place: Place, eqn: Any, made: Recomputed, result: int, kind: Kind, told: list[Bad]
    ) -> Origin | None:
        """The same in the body of a call or loop; None if the equation has none that can be gone into."""
        name = eqn.primitive.name
        bodies = self._eqns.visited[place[0]].bodies[place[1]]
        if not bodies or (name in LOOPS and any(kind in one for one in told)):
            return None
        if name == "scan":
            return self._in_scan(place, eqn, made, result, kind)
        if name == "while":
            return self._in_while(place, eqn, made, result, kind)
        if name == "cond":
            which, *operands = made.values(eqn.invars)
            branch = min(max(int(which), 0), len(bodies) - 1)
            within = made.inner(place[1], closed_bodies(eqn)[branch], operands)
            return _moved(self._of_result(bodies[branch], within, result, kind), 1)
        if (body := entered_body(eqn)) is None:
            return None
        return self._of_result(bodies[0], made.inner(place[1], body, made.values(eqn.invars)), result, kind)

    def _of_result(self, index: int, made: Recomputed, result: int, kind: Kind) -> Origin | None:
        return self._back(index, made, self._eqns.visited[index].jaxpr.outvars[result], kind)

    def _in_scan(self, place: Place, eqn: Any, made: Recomputed, result: int, kind: Kind) -> Origin | None:
        (closed,) = closed_bodies(eqn)
        operands = made.values(eqn.invars)
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
            self._timer.check()
            turn, before, stopped = _first_bad(given, step, go_on, state, carry, kind)
            if not stopped:
                return None
            within = made.inner((place[1], turn), closed, given(jnp.asarray(turn), before))
            found = self._at_turn(self._eqns.visited[place[0]].bodies[place[1]][0], within, result, kind)
            if found is None:
                return None
            found = _in_turn(found, length - 1 - turn if reverse else turn, length, then)
            if found.place is not None or found.input is None or not consts <= found.input < consts + carry:
                return found
            if found.kind in nonfinite([operands[found.input]])[0]:
                return found
            result, kind, then = found.input - consts, found.kind, found.then  # an iteration before made it

    def _in_while(self, place: Place, eqn: Any, made: Recomputed, result: int, kind: Kind) -> Origin | None:
        closed, operands = closed_bodies(eqn), made.values(eqn.invars)
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
            self._timer.check()
            turn, before, stopped = _first_bad(given, step, go_on, state, len(state), kind)
            if not stopped:
                return None
            within = made.inner((place[1], turn), closed[at], given(turn, before))
            found = self._at_turn(self._eqns.visited[place[0]].bodies[place[1]][at], within, result, kind)
            if found is None:
                return None
            found = _in_turn(found, turn, None, then)
            if found.place is not None or found.input is None:
                return found
            if found.input < second or found.kind in nonfinite([operands[found.input + first]])[0]:
                return _moved(found, first)
            result, kind, then = found.input - second, found.kind, found.then

    def _at_turn(self, body: int, made: Recomputed, result: int, kind: Kind) -> Origin | None:
        """In the iteration that made one: from the result that is asked for if it has one, else from the first."""
        told = [made.bad(atom) for atom in self._eqns.visited[body].jaxpr.outvars]
        if kind not in told[result]:
            result = next((at for at, one in enumerate(told) if kind in one), result)
        return self._of_result(body, made, result, kind)


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
        flags = [holds(value, kind) for value in results if is_inexact(value.dtype)]
        stopped = jnp.any(jnp.stack(flags)) if flags else jnp.asarray(False)
        kept = jax.lax.cond(stopped, lambda old, new: old, lambda old, new: new, list(state), list(results[:carry]))
        return jnp.where(stopped, number, number + 1), kept, stopped

    start = (jnp.asarray(0), [jnp.asarray(value) for value in state], jnp.asarray(False))
    number, before, stopped = jax.jit(lambda start: jax.lax.while_loop(more, turn, start))(start)
    return int(number), before, bool(stopped)


def _followed(eqn: Any, made: Recomputed, told: list[Bad], kind: Kind) -> int | None:
    """The operand from which a nan or inf went on into the result; None if no operand has one."""
    found = [at for at, one in enumerate(told) if kind in one]
    if kind == "inf" and not found:
        found = [at for at, one in enumerate(told) if one.nan]
    if eqn.primitive.name == "select_n" and found:
        operands = made.values(eqn.invars)
        for at in found:
            taken = jnp.where(operands[0] == at - 1, operands[at], 0)
            if at and kind in nonfinite([taken])[0]:
                return at
    return found[0] if found else None


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
