"""Why a trace failed: which value was asked for, on which line, and what to do about it."""

from __future__ import annotations

import re
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxnb import _jax
from jaxnb.errors import Asking, NeedsConcrete
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.objects.paths import Path, render_path
from jaxnb.staging.trace.tracer_patches import ValueNeeded

__all__ = ["Attempt", "culprit_of", "explain_needed_value", "only_tracing_raises"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """A trace that failed: of which cell, at which line, with which inputs, and what the names then stood for; and
    whether the code had caught such an error before."""

    cell: CellSource
    line: int
    tracers: Sequence[Any]
    paths: Sequence[Path]
    names: dict[str, Any]
    caught: bool


_SPEAKS_OF_TRACERS = re.compile(r"JitTracer|traced array|concrete values?\b|trace level")


def only_tracing_raises(error: BaseException) -> bool:
    """Whether the plain cell would not raise this. Such errors of JAX and of libraries on it have no class of their
    own; they are told by their words, or by an attribute that arrays have and tracers lack."""
    if isinstance(error, AttributeError) and _jax.is_tracer(error.obj):
        return hasattr(_jax.Array, error.name or "")
    return _SPEAKS_OF_TRACERS.search(str(error)) is not None


def culprit_of(error: BaseException) -> Any:
    """The tracer whose value was asked for: the first one among the locals of the innermost frames."""
    if isinstance(error, ValueNeeded):
        return error.tracer
    frames: list[types.FrameType] = []
    traceback = error.__traceback__
    while traceback is not None:
        frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    for frame in reversed(frames):
        for value in frame.f_locals.values():
            if _jax.is_tracer(value):
                return value
    return None


def explain_needed_value(attempt: Attempt, error: BaseException) -> None:
    """Turns a tracing error into a diagnosis, unless the plain cell would fail in the same way."""
    tracer = culprit_of(error)
    if tracer is not None and not isinstance(error, ValueNeeded) and attempt.tracers:
        own = _jax.trace_of(attempt.tracers[0])
        bases = _jax.base_tracers(tracer)
        if bases and all(_jax.trace_of(base) is not own for base in bases):
            return
    line = _line_of(attempt, error)
    inputs = ""
    if tracer is not None and attempt.tracers:
        sources, _ = _jax.sources_of(tracer, attempt.tracers)
        inputs = ", ".join(f"`{render_path(attempt.paths[index])}`" for index in sorted(sources))
    aval: Any = getattr(tracer, "aval", None)
    what = f"a traced value ({aval.str_short()})" if hasattr(aval, "str_short") else "a traced value"
    reason = error.what if isinstance(error, ValueNeeded) else _REASONS.get(type(error).__name__, "Python asked for it")
    needed = NeedsConcrete(
        f"line {line}, `{_text_of(attempt.cell, line)}`, needs the value of {what}"
        f"{' that depends on ' + inputs if inputs else ''}.",
        why=f"{reason}; while a cell is staged there are shapes and dtypes, but no values yet.",
        fix=_advice(reason, inputs),
        line=line,
        short=_SHORT.get(type(error).__name__, "it needs values"),
    )
    # What the code itself has caught, or what only a trace asks, does not end the plain cell.
    escapes = not (attempt.caught or isinstance(error, ValueNeeded))
    needed.final = escapes and tracer is not None and _jax.is_batched(tracer)
    paths = zip(attempt.tracers, attempt.paths, strict=True) if attempt.tracers else ()
    needed.asked = Asking(error, {id(tracer): render_path(path) for tracer, path in paths}, attempt.names)
    raise needed from (error if isinstance(error, Exception) and not isinstance(error, ValueNeeded) else None)


def _text_of(cell: CellSource, line: int) -> str:
    lines = cell.shown.splitlines()
    text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
    return text if len(text) <= 60 else text[:59] + "…"


_REASONS = {
    "TracerBoolConversionError": "a branch or a condition tests it",
    "TracerArrayConversionError": "a NumPy function wants it as an array",
    "TracerIntegerConversionError": "it is used as an integer, as an index, a size or in range()",
    "ConcretizationTypeError": "a Python number is made from it",
    "NonConcreteBooleanIndexError": "it is a boolean mask, so the size of the result depends on its values",
}


_SHORT = {
    "TracerBoolConversionError": "a condition needs a value",
    "TracerArrayConversionError": "a NumPy function needs values",
    "TracerIntegerConversionError": "an index or a size needs a value",
    "NonConcreteBooleanIndexError": "a boolean mask needs values",
}


def _advice(reason: str, inputs: str) -> str:
    if "branch" in reason:
        return "use jnp.where or jax.lax.cond, or put the statement into a cell of its own without %%jit."
    if "mask" in reason:
        return "use jnp.where(mask, x, y), or jnp.nonzero(mask, size=n)."
    names = [item.strip("`") for item in inputs.split(", ") if item]
    if "NumPy" in reason:
        return "use the jax.numpy function of the same name, or move the NumPy statement to a line of its own."
    if len(names) == 1 and names[0].isidentifier():
        return f"put the statement into a cell of its own without %%jit, or say --static {names[0]}."
    return "put the statement into a cell of its own without %%jit."


def _line_of(attempt: Attempt, error: BaseException) -> int:
    """The innermost line of the cell that led to an error."""
    if isinstance(error, ValueNeeded) and error.line is not None:
        return error.line
    line = attempt.line
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == attempt.cell.filename:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line
