"""What Python and NumPy compute at each run, before the program: arithmetic among their own values.

A counter (`self.step += 1`) or a bias correction (`1 - b1 ** self.t`) is arithmetic that the plain cell does in exact
integers and double precision. Where such a scalar changes from run to run, the equations that compute with Python
scalars alone are cut out of the jaxpr. Their results become inputs of the program, or are bound as the Python scalars
that they are, so that nothing is traced again and no digit is lost. What NumPy computes of NumPy values was taken
down while tracing, see `recorder`; in the jaxpr each such value has an equation that says where it is needed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxnb import _jax
from jaxnb._jax import hosted_name
from jaxnb.staging.trace.recorder import HostCode, Recorder, Unlike

__all__ = ["OutOfReach", "Prelude", "SplitJaxpr", "find_prelude", "is_python_like", "number_of"]

_INT_LIMITS = (-(2**31), 2**31 - 1)
_FLOAT_LIMIT = 3.4028234e38
_KINDS: dict[str, type] = {"b": bool, "i": int, "f": float}
_WIDE: dict[type, Any] = {bool: jnp.bool_, int: jnp.int64, float: jnp.float64}

_BINARY: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "add": (operator.add, "{} + {}"),
    "sub": (operator.sub, "{} - {}"),
    "mul": (operator.mul, "{} * {}"),
    "div": (operator.truediv, "{} / {}"),
    "pow": (operator.pow, "{} ** {}"),
    "floor_divide": (operator.floordiv, "{} // {}"),
    "remainder": (operator.mod, "{} % {}"),
    "lt": (operator.lt, "{} < {}"),
    "le": (operator.le, "{} <= {}"),
    "gt": (operator.gt, "{} > {}"),
    "ge": (operator.ge, "{} >= {}"),
    "eq": (operator.eq, "{} == {}"),
    "ne": (operator.ne, "{} != {}"),
}
_UNARY: dict[str, tuple[Callable[[Any], Any], str]] = {"neg": (operator.neg, "-{}"), "abs": (operator.abs, "abs({})")}


class OutOfReach(Exception):
    """Python's arithmetic gave something else than the program was traced for: another type, or a number too large."""


class _Step(NamedTuple):
    function: Callable[..., Any]
    operands: tuple[Any, ...]  # ("value", position) or ("literal", scalar)
    kind: type
    text: str


class Prelude:
    """What is computed on the host before a program, and what the program takes and gives.

    Args:
      scalars: positions of the leaves that are Python scalars; they are the first values.
      host: what NumPy computes; its values are the next ones.
      steps: what is computed from earlier values, in order.
      inputs: of the program: ("leaf", position) or ("value", position).
      outputs: of the piece: ("device", position) or ("value", position).
      texts: the values as a user would write them.

    Attributes:
      checks: positions of values that functions have asked for their truth, with the answer: the program is for that.
    """

    def __init__(
        self,
        scalars: Sequence[int],
        host: HostCode | None,
        steps: Sequence[_Step],
        inputs: Sequence[tuple[str, int]],
        outputs: Sequence[tuple[str, int]],
        texts: Sequence[str],
    ) -> None:
        self._scalars, self._host, self._steps = scalars, host, steps
        self.inputs, self.outputs, self.texts = inputs, outputs, texts
        self.checks: Sequence[tuple[int, bool]] = ()
        self._passed = [place for kind, place in inputs if kind == "value"]

    def values(self, leaves: Sequence[Any]) -> list[Any]:
        """The Python scalars and NumPy values of a run, by Python's and NumPy's own arithmetic.

        Raises:
          OutOfReach: if one is of another type than it was traced as, or too large for the program.
        """
        found = [leaves[index] for index in self._scalars]
        if self._host is not None:
            try:
                found += self._host.values(leaves)
            except Unlike as error:
                raise OutOfReach(str(error)) from error
        for step in self._steps:
            operands = [found[item] if kind == "value" else item for kind, item in step.operands]
            try:
                value = step.function(*operands)
            except (ArithmeticError, ValueError) as error:
                raise OutOfReach from error  # the plain cell raises it where it stands
            if type(value) is not step.kind:
                raise OutOfReach
            found.append(value)
        for place, answer in self.checks:
            if bool(found[place]) is not answer:
                said = self.texts[place]
                raise OutOfReach(f"{said} is no longer {answer}" if " " in said else f"bool({said}) is not {answer}")
        for place in self._passed:
            value = found[place]
            if type(value) is int and not _INT_LIMITS[0] <= value <= _INT_LIMITS[1]:
                raise OutOfReach
            if type(value) is float and not -_FLOAT_LIMIT <= value <= _FLOAT_LIMIT and value - value == 0:
                raise OutOfReach
        return found

    @property
    def computes_by_numpy(self) -> bool:
        """Whether NumPy has a part in it, and not Python's operators alone."""
        return self._host is not None

    def source_of(self, place: int) -> int | type:
        """Of a value the position of the leaf that it is, or the class of the number that is computed."""
        return self._scalars[place] if place < len(self._scalars) else self._steps[place - len(self._scalars)].kind

    def staged_values(self, leaves: Mapping[int, Any]) -> list[Any]:
        """What Python computes, as JAX does with 64 bits; to be called where these are enabled, without NumPy's part.

        Args:
          leaves: by their positions, the scalars as arrays of 64 bits.
        """
        found = [jnp.asarray(leaves[index]) for index in self._scalars]
        for step in self._steps:
            operands = [found[item] if kind == "value" else item for kind, item in step.operands]
            if step.kind is float and step.function is operator.pow:
                operands[0] = jnp.asarray(operands[0], jnp.float64)
            value = operands[0] if step.function in _KINDS.values() else step.function(*operands)
            found.append(jnp.asarray(value, _WIDE[step.kind]))
        return found

    def arguments(self, leaves: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """What the program takes."""
        return [leaves[place] if kind == "leaf" else values[place] for kind, place in self.inputs]

    def results(self, outputs: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """The results of the piece, from those of the program."""
        return [outputs[place] if kind == "device" else values[place] for kind, place in self.outputs]


class SplitJaxpr(NamedTuple):
    """A prelude, and what is left for the program.

    Attributes:
      prelude: what the host computes.
      closed: the closed jaxpr of the rest; its arguments are `prelude.inputs`.
      hosted: the variables that the host computes, the scalar inputs among them.
      values: what it computed in the run that was traced.
    """

    prelude: Prelude
    closed: Any
    hosted: frozenset[Any]
    values: Sequence[Any] = ()


def find_prelude(
    closed: Any,
    scalars: Sequence[int],
    texts: Sequence[str],
    recorder: Recorder | None = None,
    droppable: Collection[int] = (),
    arrays: Collection[Any] = (),
) -> SplitJaxpr:
    """Cuts out of a jaxpr what NumPy computed, and what operators compute from Python scalars alone.

    Args:
      closed: the closed jaxpr of a piece; its last arguments are the leaves.
      scalars: positions of the leaves that are Python scalars and that Python computes with.
      texts: of all leaves, as a user would write them.
      recorder: what NumPy computed.
      droppable: positions of the leaves that are no inputs of the program unless it computes with them.
      arrays: variables that the plain cell has as arrays, though they could be Python scalars.
    """
    jaxpr = closed.jaxpr
    count = len(texts)
    front, leaves = jaxpr.invars[: len(jaxpr.invars) - count], jaxpr.invars[len(jaxpr.invars) - count :]
    places = {leaves[index]: place for place, index in enumerate(scalars)}
    hosted = {eqn.outvars[0]: name for eqn in jaxpr.eqns if (name := hosted_name(eqn)) is not None}
    names = list(dict.fromkeys(hosted.values()))
    host = recorder.code(names) if recorder is not None else None
    said = [*(texts[index] for index in scalars), *(host.texts if host is not None else ())]
    by_numpy = {var: len(scalars) + names.index(name) for var, name in hosted.items()}
    steps: list[_Step] = []
    rest: list[Any] = []
    for eqn in jaxpr.eqns:
        if eqn.outvars and eqn.outvars[0] in hosted:
            continue
        step = _step_of(eqn, places, said) if not any(var in arrays for var in eqn.outvars) else None
        if step is None:
            rest.append(eqn)
        else:
            places[eqn.outvars[0]] = len(said)
            said.append(step.text)
            steps.append(step)
    used = {var for eqn in rest for var in eqn.invars if not hasattr(var, "val")}
    places.update(by_numpy)
    passed = [var for var in places if var in used]
    needed = used.union(var for var in jaxpr.outvars if not hasattr(var, "val"))
    dropped = {index for index in droppable if leaves[index] not in needed}
    others = [index for index, var in enumerate(leaves) if var not in places and index not in dropped]
    inputs = [("leaf", index) for index in others] + [("value", places[var]) for var in passed]
    outputs: list[tuple[str, int]] = []
    given: list[Any] = []
    for var in jaxpr.outvars:
        if not hasattr(var, "val") and var in places:
            outputs.append(("value", places[var]))
        else:
            outputs.append(("device", len(given)))
            given.append(var)
    left = _jax.with_parts(closed, [*front, *(leaves[index] for index in others), *passed], rest, given)
    return SplitJaxpr(Prelude(scalars, host, steps, inputs, outputs, said), left, frozenset(places))


def number_of(tracer: Any, known: dict[Any, Any]) -> Any:
    """What Python computes where a tracer stands; None if it does not.

    Args:
      tracer: of the trace that is current.
      known: values by their variables; what is found is added.
    """
    waiting = [tracer]
    while waiting:
        item = waiting[-1]
        if not hasattr(item.val, "val") and item.val in known:
            waiting.pop()
            continue
        eqn = item.parent
        if eqn is None:
            return None
        operands = [one for one in eqn.in_tracers if not hasattr(one.val, "val")]
        if unknown := [one for one in operands if one.val not in known]:
            waiting += unknown
            continue
        places = {one.val: place for place, one in enumerate(operands)}
        step = _step_of(_jax.as_equation(eqn), places, [""] * len(operands))
        if step is None:
            return None
        values = [known[operands[part].val] if kind == "value" else part for kind, part in step.operands]
        try:
            known[item.val] = step.function(*values)
        except (ArithmeticError, ValueError):
            return None
        if type(known[item.val]) is not step.kind:
            return None
    return known[tracer.val]


def is_python_like(aval: Any) -> bool:
    """Whether a value could be a Python scalar in the plain cell: no dimensions, and weakly typed or a truth value."""
    return getattr(aval, "shape", None) == () and (getattr(aval, "weak_type", False) or str(aval.dtype) == "bool")


def _step_of(eqn: Any, places: dict[Any, int], said: list[str]) -> _Step | None:
    if len(eqn.outvars) != 1 or not is_python_like(eqn.outvars[0].aval) or not _jax.made_by_operator(eqn):
        return None
    kind = _KINDS.get(eqn.outvars[0].aval.dtype.kind)
    operands: list[tuple[str, Any]] = []
    for var in eqn.invars:
        if not hasattr(var, "val"):
            if var not in places:
                return None
            operands.append(("value", places[var]))
            continue
        literal = _scalar_of(var.val)
        if literal is None:
            return None
        operands.append(("literal", literal))
    if kind is None or all(kind == "literal" for kind, _ in operands):
        return None
    shown = [_bracketed(said[item]) if where == "value" else str(item) for where, item in operands]
    name = eqn.primitive.name if eqn.primitive.name != "jit" else eqn.params["name"]
    if name == "integer_pow":
        return _Step(operator.pow, (*operands, ("literal", eqn.params["y"])), kind, f"{shown[0]} ** {eqn.params['y']}")
    if name in ("convert_element_type", "copy"):
        return _Step(kind, tuple(operands), kind, shown[0].removeprefix("(").removesuffix(")"))
    if name in _BINARY and len(operands) == 2:
        function, text = _BINARY[name]
        return _Step(function, tuple(operands), kind, text.format(*shown))
    if name in _UNARY and len(operands) == 1:
        unary, text = _UNARY[name]
        return _Step(unary, tuple(operands), kind, text.format(*shown))
    return None


def _bracketed(text: str) -> str:
    return f"({text})" if " " in text else text


def _scalar_of(literal: Any) -> bool | int | float | None:
    """The Python scalar that a literal was made from, if that can be told to the last digit."""
    if isinstance(literal, bool | float):
        return literal if isinstance(literal, bool) else float(literal)
    if isinstance(literal, int):
        return int(literal)
    if getattr(literal, "shape", None) != () or not getattr(literal, "weak_type", False):
        return None
    value = literal.item()
    # JAX rounds an int that meets a float to the float's dtype; a whole number of this size is not changed by that
    return value if type(value) in (bool, int) or (value == int(value) and abs(value) < 2**24) else None
