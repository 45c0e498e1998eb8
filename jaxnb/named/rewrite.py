"""Running a jaxpr with some of its equations replaced, inside control flow too.

A `Rewrite` says which equations it replaces and by what. It is given the names that each operand varies over,
because the meaning of a collective in terms of devices depends on them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax import lax
from jax.extend.core import Literal

from jaxnb._jax import (
    all_eqns,
    bind_again,
    body_jaxprs,
    called_jaxprs,
    carried,
    hoist_constants,
    is_kept_apart,
    made_like,
    open_jaxpr,
)
from jaxnb.named.errors import NamedAxisError
from jaxnb.named.flow import NAMES, NONE, Names

__all__ = ["Rewrite", "evaluate", "run_cond"]

_CUSTOM = ("custom_jvp_call", "custom_vjp_call")
_IN_PLACE = frozenset({"closed_call", "eval_jaxpr", "jit", *_CUSTOM})


class Rewrite(ABC):
    """Which equations are replaced, and by what."""

    keeps_custom_rules: bool = False  # whether custom_jvp and custom_vjp calls stay calls or are run in place
    is_last: bool = False  # whether what comes out is lowered, and not differentiated any more

    @abstractmethod
    def handles(self, eqn: Any) -> bool:
        """Whether this equation, not regarding the jaxprs in it, is replaced."""

    @abstractmethod
    def replace(self, eqn: Any, values: list[Any], ins: list[Names], outs: list[Names]) -> list[Any]:
        """The outputs of the replaced equation, for `values` that vary over `ins`."""

    def finishes(self, eqn: Any) -> bool:
        """Whether `finish` changes the outputs of this equation."""
        del eqn
        return False

    def finish(self, eqn: Any, results: list[Any]) -> list[Any]:
        """A last change to the outputs of any equation; none here."""
        del eqn
        return results

    def concerns(self, jaxpr: Any) -> bool:
        """Whether anything in a jaxpr is replaced."""
        return any(self.handles(eqn) or self.finishes(eqn) for eqn in all_eqns(jaxpr))


def evaluate(jaxpr: Any, values: Sequence[Any], ins: Sequence[Names], rewrite: Rewrite) -> list[Any]:
    """The outputs of a jaxpr under a rewrite.

    Args:
      jaxpr: a jaxpr, open or closed.
      values: its inputs.
      ins: the names that each input varies over.
      rewrite: what to replace.
    """
    constants = list(getattr(jaxpr, "consts", ()))
    jaxpr = open_jaxpr(jaxpr)
    variables = [*jaxpr.constvars, *jaxpr.invars]
    env: dict[Any, tuple[Any, Names]] = {}
    sets = [NONE] * len(constants) + list(ins)
    for var, value, names in zip(variables, [*constants, *values], sets, strict=True):
        env[var] = value, names

    def read(atom: Any) -> tuple[Any, Names]:
        return (atom.val, NONE) if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        read_in = [read(atom) for atom in eqn.invars]
        args, names_in = [value for value, _ in read_in], [names for _, names in read_in]
        names_out = NAMES.equation(eqn, names_in)
        with made_like(eqn):
            results = _run(eqn, args, names_in, names_out, rewrite)
            if rewrite.finishes(eqn):
                results = rewrite.finish(eqn, results)
        env.update(zip(eqn.outvars, zip(results, names_out, strict=True), strict=True))
    return [read(atom)[0] for atom in jaxpr.outvars]


def _run(eqn: Any, args: list[Any], ins: list[Names], outs: list[Names], rewrite: Rewrite) -> list[Any]:
    kind, params = eqn.primitive.name, eqn.params
    if rewrite.handles(eqn):
        return rewrite.replace(eqn, args, ins, outs)
    if kind in _CUSTOM and rewrite.keeps_custom_rules:
        return bind_again(eqn, args)
    if kind in _IN_PLACE:
        (called,) = called_jaxprs(eqn)
        return evaluate(called.jaxpr, args, ins, rewrite)
    if kind == "remat2" and rewrite.is_last and not is_kept_apart(eqn):
        with jax.named_scope("checkpoint"):  # as JAX lowers it
            return evaluate(params["jaxpr"], args, ins, rewrite)
    if not any(rewrite.concerns(body) for _, body in body_jaxprs(eqn.params)):
        return bind_again(eqn, args)
    rebuild = _REBUILD.get(kind)
    if rebuild is None:
        raise NamedAxisError(
            f"the primitive `{kind}` holds a collective over a name of the map.",
            why="names go into jit, scan, while, cond, checkpoint and custom rules, not into others.",
            fix="move the collective out of it.",
        )
    return rebuild(eqn, args, ins, rewrite)


def _scan(eqn: Any, args: list[Any], ins: list[Names], rewrite: Rewrite) -> list[Any]:
    params = eqn.params
    carry = carried(eqn)
    inner = NAMES.settled(eqn, ins)

    def body(state: list[Any], xs: list[Any]) -> tuple[list[Any], list[Any]]:
        out = evaluate(params["jaxpr"], [*args[: carry.start], *state, *xs], inner, rewrite)
        return out[: len(state)], out[len(state) :]

    state, ys = lax.scan(
        body,
        args[carry],
        args[carry.stop :],
        length=params["length"],
        reverse=params["reverse"],
        unroll=params["unroll"],
    )
    return [*state, *ys]


def _while(eqn: Any, args: list[Any], ins: list[Names], rewrite: Rewrite) -> list[Any]:
    condition, body = called_jaxprs(eqn)
    settled, carry = NAMES.settled(eqn, ins), carried(eqn)
    sets_cond, sets_body = condition.given(settled), body.given(settled)

    def test(values: list[Any]) -> Any:
        return evaluate(condition.jaxpr, condition.given([*args[: carry.start], *values]), sets_cond, rewrite)[0]

    def turn(values: list[Any]) -> list[Any]:
        return evaluate(body.jaxpr, body.given([*args[: carry.start], *values]), sets_body, rewrite)

    if NAMES.run(condition.jaxpr, sets_cond)[0] and (rewrite.concerns(body.jaxpr) or rewrite.concerns(condition.jaxpr)):
        raise NamedAxisError(
            "a while loop holds a collective, and its condition differs along a name.",
            why="some positions would leave the loop while others wait for them.",
            fix="make the condition the same everywhere, for example with lax.pmax over the name.",
        )
    return list(lax.while_loop(test, turn, args[carry]))


def run_cond(eqn: Any, args: list[Any], ins: list[Names], rewrite: Rewrite) -> list[Any]:
    """A `cond` or `switch`, selected from the results of all branches where the choice differs."""

    def branch(jaxpr: Any) -> Callable[..., list[Any]]:
        return lambda *values: evaluate(jaxpr, values, ins[1:], rewrite)

    if ins[0]:
        # Where the choice differs, every branch runs everywhere: collectives stay in step and the result is
        # selected.
        results = [branch(jaxpr)(*args[1:]) for jaxpr in eqn.params["branches"]]
        return [_select(args[0], list(options)) for options in zip(*results, strict=True)]
    return list(lax.switch(args[0], [branch(jaxpr) for jaxpr in eqn.params["branches"]], *args[1:]))


def _select(index: Any, options: list[Any]) -> Any:
    chosen = options[0]
    for i, option in enumerate(options[1:], start=1):
        chosen = lax.select(lax.broadcast(index >= i, option.shape), option, chosen)
    return chosen


def _remat(eqn: Any, args: list[Any], ins: list[Names], rewrite: Rewrite) -> list[Any]:
    # Bound directly: `jax.checkpoint` would lose the flag that keeps XLA from merging the two computations.
    def run(*values: Any) -> list[Any]:
        return evaluate(eqn.params["jaxpr"], values, ins, rewrite)

    closed, constants = hoist_constants(jax.make_jaxpr(run)(*args), {})
    return list(eqn.primitive.bind(*constants, *args, **{**eqn.params, "jaxpr": open_jaxpr(closed)}))


_REBUILD: dict[str, Callable[[Any, list[Any], list[Names], Rewrite], list[Any]]] = {
    "scan": _scan,
    "while": _while,
    "cond": run_cond,
    "remat2": _remat,
}
