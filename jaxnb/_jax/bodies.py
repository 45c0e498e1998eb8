"""Which jaxprs an equation runs, and which of its operands they are given.

A call runs one jaxpr once, a `cond` one of its branches, a loop one jaxpr turn after turn. Their results are those of
the equation. Of others that hold jaxprs (kernels, reductions, solvers) this is not known here. The parameters that say
so are documented nowhere. All were checked on jax 0.10.2 and 0.12.0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

__all__ = ["CALLS", "LOOPS", "Called", "called_jaxprs", "carried", "scan_counts"]

CALLS = frozenset(
    {
        *("call", "closed_call", "eval_jaxpr"),  # the first two have the name of the third since jax 0.12
        *("composite", "custom_jvp_call", "custom_vjp_call", "custom_vmap_call", "jit", "remat2", "shard_map"),
    }
)
"""Primitives that run one jaxpr once: its inputs are their operands, its results are theirs."""

LOOPS = frozenset({"scan", "while"})

T = TypeVar("T")
_CALLED = ("jaxpr", "call_jaxpr", "call")  # the second was the first in a `composite` before jax 0.12
_ALL = (slice(None),)


class Called(NamedTuple):
    """A jaxpr that an equation runs.

    Attributes:
      path: to it in the parameters, as `body_jaxprs` gives it.
      jaxpr: closed, where it is.
      operands: the parts of the equation's operands that are its inputs, in their order.
    """

    path: tuple[str, ...]
    jaxpr: Any
    operands: tuple[slice, ...] = _ALL

    def given(self, values: Sequence[T]) -> list[T]:
        """What its inputs have, of what each operand of the equation has."""
        return [value for part in self.operands for value in values[part]]


def called_jaxprs(eqn: Any) -> tuple[Called, ...]:
    """The jaxprs that a call, a `cond` or a loop runs; () of any other equation. A `while` has its condition first."""
    name, params = eqn.primitive.name, eqn.params
    if name in CALLS:
        called = next(part for part in _CALLED if part in params)
        return (Called((called,), params[called]),)
    if name == "scan":
        return (Called(("jaxpr",), params["jaxpr"]),)
    if name == "cond":
        behind = (slice(1, None),)
        return tuple(Called(("branches", str(n)), branch, behind) for n, branch in enumerate(params["branches"]))
    if name == "while":
        first, carry = params["cond_nconsts"], carried(eqn)
        condition = Called(("cond_jaxpr",), params["cond_jaxpr"], (slice(first), carry))
        return condition, Called(("body_jaxpr",), params["body_jaxpr"], (slice(first, None),))
    return ()


def carried(eqn: Any) -> slice:
    """Which operands of a loop are what its first turn is given by the one before: the first results of each turn."""
    if eqn.primitive.name == "while":
        return slice(eqn.params["cond_nconsts"] + eqn.params["body_nconsts"], len(eqn.invars))
    constants, count = scan_counts(eqn.params)
    return slice(constants, constants + count)


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """How many operands of a `scan` are constants, and how many are carried; the others are scanned."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    constants, carry, _ = params["ft_in"].unpack()  # a tree, since jax 0.12
    return len(constants), len(carry)
