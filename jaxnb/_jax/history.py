"""Where a traced value comes from: the equations and the arguments behind it, through all traces that are going on.

A tracer of a jaxpr trace knows the equation that made it and the tracers that went in; one that came in from outside
knows its trace's argument, or the value of an outer trace that it stands for. None of this is public. Checked on jax
0.10.2 and 0.12.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jax._src import core as _core  # tracers as such: their class is public, what they hold is not
from jax.interpreters.partial_eval import DynamicJaxprTracer as _JaxprTracer

__all__ = ["Argument", "History", "history_of"]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a function that is being traced.

    Attributes:
      tracer: that stands for it.
      name: its name and path, such as `x['a']`.
      function: the name of the function.
      traced_for: "jit", "scan" and the like.
    """

    tracer: Any
    name: str
    function: str
    traced_for: str


@dataclass(frozen=True, slots=True)
class History:
    """What a value was computed from.

    Attributes:
      arguments: the arguments that it depends on, those of the innermost trace first.
      eqns: the equations on the way; each has a `source_info` as those of a jaxpr have.
      constant: whether every way back ends in constants of the program: it is the same in each run.
    """

    arguments: tuple[Argument, ...]
    eqns: tuple[Any, ...]
    constant: bool


def history_of(tracer: Any) -> History:
    """Walks back from a tracer to the arguments of all traces that are going on.

    Of a trace that has ended, what came in from outside is not known any more.
    """
    arguments: list[Argument] = []
    eqns: dict[int, Any] = {}
    seen: set[int] = set()
    known = isinstance(tracer, _JaxprTracer)
    stack = [tracer]
    while stack:
        item = stack.pop(0)
        if not isinstance(item, _core.Tracer) or id(item) in seen:
            continue
        seen.add(id(item))
        if not isinstance(item, _JaxprTracer):  # one of a transformation wraps others
            known = False
            stack.extend(getattr(item, name, None) for name in ("primal", "tangent", "val"))
            continue
        made_by: Any = getattr(item, "parent", None)
        if made_by is not None:
            eqns[id(made_by)] = made_by
            stack.extend(made_by.in_tracers)
            continue
        argument = _argument(item)
        if argument is not None:
            arguments.append(argument)
        else:
            stack.append(item.get_const())
    return History(tuple(arguments), tuple(eqns.values()), known and not arguments)


def _argument(tracer: Any) -> Argument | None:
    frame: Any = getattr(tracer._trace, "frame", None)
    if frame is None or tracer.val not in frame.invars:
        return None
    info, place = frame.debug_info, frame.invars.index(tracer.val)
    names = info.arg_names if info is not None and info.arg_names is not None else ()
    if info is None or place >= len(names):
        return None
    return Argument(tracer, names[place] or "", info.func_src_info.partition(" at ")[0], info.traced_for)
