"""What the public API does not tell of an equation: its frames, and the jaxprs and reference types inside it.

`jax.extend.core` exports `Jaxpr`, `ClosedJaxpr`, `JaxprEqn`, `Var`, `Literal` and `DropVar`, but not
everything that they hold. Each function here names the attribute that it relies on. All were checked on jax
0.10.2 and 0.12.0.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import CodeType
from typing import Any, NamedTuple, cast

import jax
import numpy as np
from jax.extend import core as jax_core

__all__ = [
    "Place",
    "body_jaxprs",
    "dtype_name",
    "eqn_places",
    "function_name",
    "open_jaxpr",
    "shape_and_dtype",
]


class Place(NamedTuple):
    """Where a frame stood; columns are bytes of the line, None where Python kept no columns."""

    file: str
    line: int
    end_line: int
    column: int | None
    end_column: int | None


def eqn_places(eqn: jax_core.JaxprEqn, known: dict[tuple[CodeType, int], Place | None]) -> Iterator[Place]:
    """The frames in which an equation was made, the innermost first, up to where its jaxpr's tracing began.

    Args:
      eqn: the equation; one made without a traceback has no places.
      known: filled on the way; share one among the equations of a program, which have most frames in common.
    """
    # `JaxprEqn.source_info.traceback` is jaxlib's Traceback: `jax.extend.source_info_util` can summarize it
    # as text and skips what it takes for library code, but gives neither all frames nor columns.
    traceback: Any = cast(Any, eqn).source_info.traceback
    if traceback is None:
        return
    for frame in zip(*traceback.raw_frames(), strict=True):
        if frame not in known:
            known[frame] = _place(*frame)
        place = known[frame]
        if place is not None:
            yield place


def _place(code: CodeType, offset: int) -> Place | None:
    """A byte offset of a code object as a place; None for an instruction that belongs to no line."""
    positions = next(islice(code.co_positions(), offset // 2, None), (None, None, None, None))
    line, end_line, column, end_column = positions
    if line is None:
        # Byte code without a position table (python -X no_debug_ranges) still has its lines.
        starts = [number for at, number in dis.findlinestarts(code) if at <= offset and number]
        line = starts[-1] if starts else None
    if line is None:
        return None
    return Place(code.co_filename, line, end_line or line, column, end_column)


def open_jaxpr(jaxpr: Any) -> jax_core.Jaxpr:
    """The equations of a jaxpr, be it closed or open.

    On jax 0.12 `ClosedJaxpr is Jaxpr`, and its `jaxpr` is itself: unwrap once, do not loop.
    """
    return jaxpr.jaxpr if isinstance(jaxpr, jax_core.ClosedJaxpr) else jaxpr


def body_jaxprs(params: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], jax_core.Jaxpr]]:
    """The jaxprs in an equation's parameters, each with the path to it: ("branches", "1").

    `jax.extend.core.jaxprs_in_params` gives them without saying which is which, and does not look into dicts.
    """
    for key, value in params.items():
        yield from _jaxprs_in(value, (key,))


def _jaxprs_in(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], jax_core.Jaxpr]]:
    if isinstance(value, (jax_core.ClosedJaxpr, jax_core.Jaxpr)):
        yield path, open_jaxpr(value)
    elif isinstance(value, (tuple, list)):
        items = cast(Sequence[Any], value)
        names: Sequence[str] = getattr(items, "_fields", ()) or [str(i) for i in range(len(items))]
        for name, item in zip(names, items, strict=True):
            yield from _jaxprs_in(item, (*path, name))
    elif isinstance(value, dict):
        for name, item in cast(dict[Any, Any], value).items():
            yield from _jaxprs_in(item, (*path, str(name)))


def function_name(jaxpr: jax_core.Jaxpr) -> str:
    """The name of the Python function that was traced to this jaxpr, "" where it has none."""
    # `Jaxpr.debug_info` holds it; `DebugInfo` is exported, the way to it is not documented.
    name = cast(Any, jaxpr).debug_info.func_name
    return name if isinstance(name, str) and name.isidentifier() else ""


def shape_and_dtype(aval: Any) -> tuple[tuple[Any, ...], str, int]:
    """An aval's shape, the name of its dtype and the bytes of one element.

    What is not an array gets the name of its kind: "token", "Ref{float32}".
    """
    # References, tokens and user-defined types have classes of their own, none of which is exported;
    # references hold the array's aval in `inner_aval`.
    inner = getattr(aval, "inner_aval", None)
    if inner is not None:
        shape, name, size = shape_and_dtype(inner)
        return shape, f"Ref{{{name}}}", size
    dtype = getattr(aval, "dtype", None)
    if dtype is None:
        return (), type(aval).__name__.removeprefix("Abstract").lower(), 0
    return tuple(aval.shape), dtype_name(dtype), int(getattr(dtype, "itemsize", 0))


def dtype_name(dtype: Any) -> str:
    """ "float32", "bfloat16", "key<fry>", "float0"."""
    # NumPy sees float0 as a structured type without a name of its own.
    return "float0" if isinstance(dtype, np.dtype) and dtype == jax.dtypes.float0 else str(dtype.name)
