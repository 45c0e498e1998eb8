"""`named_shape`: what a value varies over, asked while the body is being traced.

A tracer does not know what it varies over. So the question ends the trace with the value as its only result;
the analysis of what was traced so far answers, and the body is traced again with the answer. A value inside a
loop or a
branch cannot be brought out in this way: its answer starts as a guess, an identity in the jaxpr marks the
place, and the body is traced again until guess and analysis agree.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jax.extend.core import Literal, Primitive
from jax.interpreters import ad, batching, mlir

from jaxnb._jax import mesh_of_specs, open_jaxpr
from jaxnb.named.body import Body, trace
from jaxnb.named.errors import NamedAxisError
from jaxnb.named.flow import RULES, NameFlow, Names, axis_flow
from jaxnb.named.shape import NamedShape

__all__ = ["enclosing_mesh", "named_shape", "trace_with_probes"]

probe_p = Primitive("named_shape")
probe_p.def_impl(lambda x, *, number: x)
probe_p.def_abstract_eval(lambda x, *, number: x)
ad.deflinear2(probe_p, lambda ct, x, *, number: [ct])
batching.primitive_batchers[probe_p] = lambda args, dims, *, number: (args[0], dims[0])
mlir.register_lowering(probe_p, mlir.lower_fun(lambda x, *, number: x, multiple_results=False))


@dataclass
class _Outermost:
    """The trace of the outermost map, which answers the questions of the maps in it too."""

    mesh: Any
    answers: Sequence[Names]
    found: dict[int, Names] = field(default_factory=dict[int, Names])
    asked: int = 0


class _Asked(BaseException):
    """Ends a trace at a question whose answer is not known yet. No user code may catch it."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


_outermost: ContextVar[_Outermost | None] = ContextVar("outermost_map", default=None)
_sizes: ContextVar[tuple[tuple[Any, int], ...]] = ContextVar("sizes_in_scope", default=())


def enclosing_mesh() -> _Outermost | None:
    """The record of the outermost map that is being traced, which knows its mesh; None outside all maps."""
    return _outermost.get()


def _record(flow: NameFlow, eqn: Any, ins: list[Names]) -> list[Names]:
    tracing = _outermost.get()
    if tracing is not None:
        number = eqn.params["number"]
        tracing.found[number] = tracing.found.get(number, frozenset()) | ins[0]
    return ins


RULES["named_shape"] = _record


def named_shape(x: Any) -> NamedShape:
    """The shape of a value in the body of a map, by position and by name.

    The names are those that the value really varies over: a sum over a name no longer has it, and a constant
    has none.

    Args:
      x: an array.

    Returns:
      A `NamedShape`. Outside of a map it has positions only.

    >>> import jax.numpy as jnp
    >>> named_shape(jnp.ones((2, 3)))
    NamedShape(2, 3)
    """
    tracing = _outermost.get()
    if tracing is None:
        return NamedShape(*jnp.shape(x))
    number, tracing.asked = tracing.asked, tracing.asked + 1
    if number >= len(tracing.answers):
        raise _Asked(x)
    if isinstance(x, Tracer):
        probe_p.bind(x, number=number)
    else:
        tracing.found[number] = frozenset()
    names = tracing.answers[number]
    return NamedShape(*jnp.shape(x), names={name: size for name, size in _sizes.get() if name in names})


class _Round:
    """A name that no map has: with it in scope `jax.jit` does not reuse what it traced with other answers."""


def trace_with_probes(
    fun: Callable[..., Any], avals: Sequence[Any], sizes: Mapping[Any, int], ins: Sequence[Names], mesh: Any
) -> tuple[Body, list[Any]]:
    """`trace`, with answers for `named_shape`.

    Args:
      fun, avals, sizes: as for `trace`.
      ins: the names that each argument varies over.
      mesh: the mesh of the map, for the maps in it.

    Raises:
      NamedAxisError: the body asks for the shape of a value that the answer changes, without end.
    """
    in_scope = _sizes.set((*_sizes.get(), *sizes.items()))
    try:
        if _outermost.get() is not None:
            return trace(fun, avals, sizes)
        answers: list[Names] = []
        for _ in range(_ROUNDS):
            body, constants, tracing, question = _one_round(fun, avals, sizes, mesh, answers)
            if question is None:
                assert body is not None
                with _tracing(tracing):
                    axis_flow(body.closed, [*[frozenset[Any]()] * len(constants), *ins])
                better = [tracing.found.get(i, old) for i, old in enumerate(answers)]
                if better == answers:
                    return body, constants
                answers = better
            elif body is None:  # the value lives in an inner trace: guess, and correct the guess when all is traced
                answers = [*answers, frozenset(sizes)]
            else:
                with _tracing(tracing):
                    answers = [*answers, axis_flow(body.closed, [*[frozenset[Any]()] * len(constants), *ins])[0]]
    finally:
        _sizes.reset(in_scope)
    raise NamedAxisError(
        "named_shape has no answer here.",
        why="the body makes the value vary over other names whenever the answer changes.",
        fix="do not let what a value varies over depend on its own named_shape.",
    )


_ROUNDS = 200  # every question costs one


@contextmanager
def _tracing(record: _Outermost) -> Generator[None]:
    token = _outermost.set(record)
    try:
        yield
    finally:
        _outermost.reset(token)


def _one_round(
    fun: Callable[..., Any],
    avals: Sequence[Any],
    sizes: Mapping[Any, int],
    mesh: Any,
    answers: Sequence[Names],
) -> tuple[Body | None, list[Any], _Outermost, _Asked | None]:
    """(body, constants, record, open question); with a question the body ends at its value."""
    record = _Outermost(mesh, answers)
    questions: list[_Asked] = []

    def until_question(*args: Any) -> Any:
        try:
            return fun(*args)
        except _Asked as asked:
            questions.append(asked)
            return [asked.value]

    scope = {**sizes, _Round(): 1} if answers else sizes
    with _tracing(record), mesh_of_specs(mesh):
        try:
            body, constants = trace(until_question, avals, scope)
        except jax.errors.UnexpectedTracerError:
            if not questions:
                raise
            return None, [], record, questions[0]
    if questions and not _made_here(body, open_jaxpr(body.closed).outvars[0]):
        return None, [], record, questions[0]
    return body, constants, record, questions[0] if questions else None


def _made_here(body: Body, atom: Any) -> bool:
    jaxpr = open_jaxpr(body.closed)
    if isinstance(atom, Literal) or atom in jaxpr.invars or atom in jaxpr.constvars:
        return True
    return any(atom in eqn.outvars for eqn in jaxpr.eqns)
