"""What one leaked tracer is: where it was made, what of, whether its trace has ended, and what to do instead."""

from __future__ import annotations

import ast
import linecache
import sysconfig
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from jaxnb import _jax
from jaxnb.runtime import is_own, locals_of
from jaxnb.staging import Path, running_frames

if TYPE_CHECKING:
    from jaxnb._jax import Place

__all__ = ["Origin", "advice", "describe", "is_dead", "origin_of", "running_traces", "was_dead"]

Began = Callable[[Any], Any]
"""Gives the place where a trace began, as something with the `source_info` of an equation, or None."""


def is_dead(tracer: Any) -> bool:
    """Whether the trace that a tracer belongs to has ended, so that any use of it is an error.

    Example:
      >>> import jax, jax.numpy as jnp
      >>> kept = []
      >>> _ = jax.jit(lambda x: kept.append(x) or x * (2 if is_dead(x) else 1))(jnp.ones(()))
      >>> is_dead(kept[0])
      True
    """
    return _jax.is_invalid(tracer) or id(_jax.trace_of(tracer)) not in running_traces()


def running_traces() -> set[int]:
    """Ids of the traces under which code runs in any thread.

    The current trace and those behind it are not all: while a rule of a transformation runs, or an
    `ensure_compile_time_eval`, that transformation is not among them. A function of JAX that is still running holds it.
    """
    return _traces_of(running_frames()) | _jax.trace_ctx_stack()


def was_dead(tracer: Any, error: BaseException) -> bool:
    """Whether the trace that a tracer belongs to had ended before an exception was raised.

    The exception itself has ended those that it came through; a function of JAX among its frames holds each.
    """
    frames: list[FrameType] = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    return is_dead(tracer) and id(_jax.trace_of(tracer)) not in _traces_of(frames)


def _traces_of(frames: Iterable[FrameType]) -> set[int]:
    inside = [frame for frame in frames if _jax.in_jax(frame.f_code.co_filename)]
    return _jax.traces_behind(value for frame in inside for value in locals_of(frame).values())


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was made.

    Attributes:
      place: the line of the user's, None if it is not known.
      in_cell: the line of the cell that ran, where that is another one or a place further out.
      arguments: of the traced function, those that the value was computed from.
      is_argument: whether it is itself the only one of these.
      name: that the line binds to the value, or "".
    """

    place: Place | None
    in_cell: int | None
    arguments: tuple[str, ...]
    is_argument: bool
    name: str

    def text(self, label: Callable[[str], str]) -> str:
        """The place and the arguments, as "line 4 of Cell In[3], from `a` and `w`"; "" if nothing is known."""
        if self.place is None:
            return ""
        names = [f"`{name}`" if name != "constants" else name for name in self.arguments[:4]]
        if len(self.arguments) > len(names):
            names[3:] = [f"{len(self.arguments) - 3} more"]
        listed = " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
        inputs = f", {'the argument' if self.is_argument else 'from'} {listed}" if listed else ""
        return f"line {self.place.line} of {label(self.place.file)}{inputs}"


def origin_of(tracer: Any, label: Callable[[str], str], here: str | None, began: Began) -> Origin:
    """Where a tracer was made; where that is not known, the place of the call that was traced.

    Args:
      tracer: whichever.
      label: what the user knows a file by.
      here: the label of the cell that ran.
      began: tells of the trace.
    """
    made = _places(_jax.made_at(tracer))
    call = [place for trace in _jax.enclosing_traces(tracer) for place in _places(began(trace))]
    arguments, is_argument = _jax.arguments_of(tracer)
    places = made or (call or _defined(tracer) if is_argument else _defined(tracer) or call)
    lines = (place.line for place in (*places, *call) if label(place.file) == here)
    arguments = arguments or (("constants",) if _jax.depends_on_nothing(tracer) else ())
    name = _name_bound_at(places[0]) if made and not is_argument else ""
    return Origin(places[0] if places else None, next(lines, None), arguments, is_argument, name)


def _defined(tracer: Any) -> list[_jax.Place]:
    found = _jax.defined_at(tracer)
    return [_jax.Place(found[0], found[1], found[1], None, None)] if found is not None else []


def _places(made: Any) -> list[Place]:
    """The lines of the user's that lead to where something was made, the innermost first."""
    if made is None:
        return []
    places = [place for place in _jax.eqn_places(made) if not _jax.in_jax(place.file) and not is_own(place.file)]
    return [place for place in places if not place.file.startswith(_LIBRARIES)] or places


_LIBRARIES = tuple(path for name, path in sysconfig.get_paths().items() if name in ("stdlib", "purelib", "platlib"))


def _name_bound_at(place: Place) -> str:
    """The name that a line binds to the result of the very operation at a place, or ""."""
    line = linecache.getline(place.file, place.line)
    if place.column is None or place.line != place.end_line or not line:
        return ""
    try:
        (statement,) = ast.parse(line.strip()).body
    except (SyntaxError, ValueError):
        return ""
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    value = getattr(statement, "value", None)
    indent = len(line) - len(line.lstrip())
    if not isinstance(target, ast.Name) or not isinstance(value, ast.expr):
        return ""
    return target.id if (value.col_offset + indent, value.end_col_offset + indent) == place[3:] else ""  # type: ignore[operator]


def describe(tracer: Any) -> str:
    """What a tracer stood for: "a traced float32[3] of `step` under scan"."""
    aval: Any = getattr(tracer, "aval", None)
    what = aval.str_short() if hasattr(aval, "str_short") else "value"
    kind = _jax.transformation_of(tracer)
    name, purpose = _jax.traced_function(tracer)
    under = _SHOWN.get(purpose, purpose) or kind
    if name:
        return f"a traced {what} of {_called(name)} under {under}"
    return f"a traced {what} {'under' if purpose else 'of'} {under}"


_SHOWN = {
    "linearize": "jax.vjp or jax.linearize",
    "checkpoint / remat": "jax.checkpoint",
    "while_body": "while_loop",
    "while_cond": "while_loop",
    "custom_jvp jvp": "custom_jvp",
    "custom_vjp fwd": "custom_vjp",
    "custom_vjp bwd": "custom_vjp",
}
"""What the user wrote, for what JAX says that it traces a function for."""


def _called(name: str) -> str:
    return "a lambda" if name == "<lambda>" else f"`{name}`"


def _is_key(tracer: Any) -> bool:
    return jnp.issubdtype(getattr(tracer, "dtype", float), jax.dtypes.prng_key)


_LOOK = "look at it with jax.debug.callback"
_BY_PURPOSE = {
    "scan": "return {it} from {function} in its second result, which scan stacks, or carry it through the scan.",
    "fori_loop": "carry {it} through the loop: in the value that {function} takes and returns.",
    "while_body": "carry {it} through the loop: in the value that {function} takes and returns.",
    "while_cond": "compute {it} in the body of the loop, and carry it in the value that the body returns.",
    "cond": "return {it} from every branch of the cond.",
    "switch": "return {it} from every branch of the switch.",
    "shard_map": "return {it} from {function}, with an entry of its own in out_specs.",
    "custom_vjp fwd": "return {it} from {function} among the residuals, which the backward rule gets.",
    "custom_vjp bwd": f"{_LOOK}: {{function}} can return gradients only.",
    "custom_jvp jvp": f"{_LOOK}: {{function}} can return a value and its tangent only.",
}


def advice(tracer: Any, path: Path, scope: str, name: str) -> str:
    """What to do instead of keeping a tracer, in a sentence.

    Args:
      tracer: that leaked.
      path: to where it is held.
      scope: the kind of frame, cache or iterator that holds it, as `scope_of` gives it.
      name: of the value in the code that made it, or "".
    """
    function, purpose = _jax.traced_function(tracer)
    called = _called(function).replace("a lambda", "the lambda") if function else "the function"
    it = f"`{name}`" if name else "it"
    if scope.startswith("cache"):
        return f"compute it outside of {called} and pass it in: a cache outlives the trace."
    if scope.startswith("traceback"):
        return (
            "keep the text of the error, or error.with_traceback(None): a traceback holds the frames it came through."
        )
    if scope.startswith("frame"):
        return f"finish it inside {called} and return what it gives: a suspended frame keeps its variables."
    kind = _jax.transformation_of(tracer)
    if purpose in ("custom_vjp fwd", "custom_vjp bwd", "custom_jvp jvp"):
        return _BY_PURPOSE[purpose].format(it=it, function=called)
    if kind in ("jax.grad", "jax.jvp"):
        differ = "jax.jvp" if kind == "jax.jvp" else "jax.vjp" if purpose == "linearize" else "jax.value_and_grad"
        argument = function if function.isidentifier() else "f"
        return f"return {it} from {called} as well: {differ}({argument}, ..., has_aux=True); or {_LOOK}."
    if kind == "jax.vmap":
        return f"return {it} from {called}: jax.vmap gives all of them; or {_LOOK}."
    if _jax.depends_on_nothing(tracer) and _is_key(tracer) and purpose == "scan":
        return f"split the key outside of {called} and pass the keys as xs of the scan, or carry {it} through it."
    if _jax.depends_on_nothing(tracer):
        return f"compute {it} outside of {called}: it depends on none of its arguments."
    by_purpose = _BY_PURPOSE.get("shard_map" if kind == "jax.shard_map" else purpose)
    if by_purpose is not None:
        return by_purpose.format(it=it, function=called)
    if path[1] == "name" and "." in str(path[2]):
        return f"compute it outside of {called}, or return {it} and set {path[2]} afterwards."
    return f"return {it} from {called}, or {_LOOK}."
