"""Which names a value varies over: a static analysis of the body of a map.

Every value of a jaxpr gets the set of names along which its elements may differ. The analysis is a sound
upper bound: a name that is not in the set is one along which the value is certainly the same everywhere. It
is what `named_shape` shows, what the error checks ask, and what lets a collective over a name that its
operand does not vary over be done without communication (which is also the only right way when two names
share a mesh axis).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from jaxnb._jax import scan_counts

__all__ = [
    "CALLS",
    "COLLECTIVES",
    "Names",
    "axis_flow",
    "axis_names",
    "mentioned",
    "plain",
    "scan_inputs",
    "sub_jaxprs",
    "transfer",
    "while_carry",
]

Names = frozenset[Any]
NONE: Names = frozenset()
Visit = Callable[[Any, list[Names], list[Names]], None]

REDUCTIONS = frozenset({"psum", "pmax", "pmin"})
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
# primitives that call one jaxpr once, with their inputs as its inputs
CALLS: Mapping[str, str] = {
    "jit": "jaxpr",
    "closed_call": "call_jaxpr",
    "eval_jaxpr": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "remat2": "jaxpr",
}
_EXTENSIONS: dict[str, Callable[[Any, list[Names], Visit | None], list[Names]]] = {}


def register(primitive_name: str, rule: Callable[[Any, list[Names], Visit | None], list[Names]]) -> None:
    """Gives a primitive of this package its rule: (equation, names of inputs, visitor) -> of outputs."""
    _EXTENSIONS[primitive_name] = rule


def plain(jaxpr: Any) -> Any:
    """The jaxpr itself, whether or not it came closed over constants."""
    inner = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    return inner if isinstance(inner, Jaxpr) else jaxpr


def axis_names(eqn: Any) -> tuple[Any, ...]:
    """The names that a collective acts over, in order; positions are left out."""
    key = COLLECTIVES.get(eqn.primitive.name)
    if key is None:
        return ()
    value = eqn.params[key]
    names = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(name for name in names if not isinstance(name, int))


def sub_jaxprs(eqn: Any) -> Iterator[Any]:
    """The jaxprs that an equation holds in its parameters."""
    stack = list(eqn.params.values())
    while stack:
        value = stack.pop()
        if isinstance(value, (ClosedJaxpr, Jaxpr)):
            yield value
        elif isinstance(value, (tuple, list)):
            stack.extend(value)
        elif hasattr(value, "opaque_jaxpr"):
            yield value.opaque_jaxpr


def mentioned(jaxpr: Any) -> Names:
    """The names that collectives anywhere in a jaxpr act over."""
    found: set[Any] = set()
    for eqn in plain(jaxpr).eqns:
        found.update(axis_names(eqn))
        for sub in sub_jaxprs(eqn):
            found |= mentioned(sub)
    return frozenset(found)


def scan_inputs(eqn: Any, ins: Sequence[Names], visit: Visit | None = None) -> list[Names]:
    """The names of the inputs of a scan's body, once the carry has settled."""
    constants, carries = scan_counts(eqn.params)
    ins = list(ins)
    while True:
        outs = axis_flow(eqn.params["jaxpr"], ins, visit)
        settled = [
            *ins[:constants],
            *map(_join, ins[constants:], outs[:carries]),
            *ins[constants + carries :],
        ]
        if settled == ins:
            return ins
        ins = settled


def while_carry(eqn: Any, ins: Sequence[Names], visit: Visit | None = None) -> list[Names]:
    """The names of the carry of a while loop, once it has settled.

    Where the condition varies, so does the number of turns, and with it every value that is carried.
    """
    n_cond, n_body = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
    cond_constants, body_constants = list(ins[:n_cond]), list(ins[n_cond : n_cond + n_body])
    carry = list(ins[n_cond + n_body :])
    while True:
        outs = axis_flow(eqn.params["body_jaxpr"], [*body_constants, *carry], visit)
        turns = axis_flow(eqn.params["cond_jaxpr"], [*cond_constants, *carry], visit)[0]
        settled = [old | new | turns for old, new in zip(carry, outs, strict=True)]
        if settled == carry:
            return carry
        carry = settled


def _join(*sets: Names) -> Names:
    return NONE.union(*sets)


def transfer(eqn: Any, ins: Sequence[Names], visit: Visit | None = None) -> list[Names]:
    """The names of the outputs of an equation from those of its inputs."""
    kind, params = eqn.primitive.name, eqn.params
    if kind in _EXTENSIONS:
        return _EXTENSIONS[kind](eqn, list(ins), visit)
    if kind in REDUCTIONS:
        if params.get("axis_index_groups") is not None:
            return [names | frozenset(axis_names(eqn)) for names in ins]
        return [names - frozenset(axis_names(eqn)) for names in ins]
    if kind in ("all_gather", "named_dot", "pbroadcast") and params.get("axis_index_groups") is None:
        return [_join(*ins) - frozenset(axis_names(eqn))]
    if kind in COLLECTIVES:
        return [_join(*ins, frozenset(axis_names(eqn)))] * len(eqn.outvars)
    if kind in CALLS:
        return axis_flow(params[CALLS[kind]], ins, visit)
    if kind == "scan":
        return axis_flow(params["jaxpr"], scan_inputs(eqn, ins, visit))
    if kind == "while":
        return while_carry(eqn, ins, visit)
    if kind == "cond":
        branches = [axis_flow(branch, ins[1:], visit) for branch in params["branches"]]
        return [_join(ins[0], *outs) for outs in zip(*branches, strict=True)]
    inside = _join(*(mentioned(sub) for sub in sub_jaxprs(eqn)))
    return [_join(*ins, inside)] * len(eqn.outvars)


def axis_flow(
    jaxpr: Any,
    ins: Sequence[Names],
    visit: Visit | None = None,
) -> list[Names]:
    """The names of the outputs of a jaxpr from those of its inputs.

    Args:
      jaxpr: a jaxpr, open or closed; its constants vary over nothing.
      ins: for each input the names that it varies over.
      visit: called with each equation, inner ones too, the names of its inputs and of its outputs; an
        equation of a loop body is visited until the names of the carry have settled.
    """
    jaxpr = plain(jaxpr)
    env: dict[Any, Names] = dict(zip(jaxpr.invars, ins, strict=True))

    def read(atom: Any) -> Names:
        return NONE if isinstance(atom, Literal) else env.get(atom, NONE)

    for eqn in jaxpr.eqns:
        sets = [read(atom) for atom in eqn.invars]
        outs = transfer(eqn, sets, visit)
        if visit is not None:
            visit(eqn, sets, outs)
        env.update(zip(eqn.outvars, outs, strict=True))
    return [read(atom) for atom in jaxpr.outvars]
