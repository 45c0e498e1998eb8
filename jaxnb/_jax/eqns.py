"""What the public API does not tell of an equation: its frames, and the jaxprs and reference types inside it.

`jax.extend.core` exports `Jaxpr`, `ClosedJaxpr`, `JaxprEqn`, `Var`, `Literal` and `DropVar`, but not
everything that they hold. Each function here names the attribute that it relies on. All were checked on jax
0.10.2 and 0.12.0.
"""

from __future__ import annotations

import dis
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any, NamedTuple, cast

import jax
import numpy as np
from jax._src import core as jax_core  # `jax.extend` has the same, and imports Pallas: a sixth of `%load_ext`

__all__ = [
    "JAXPRS",
    "Bodies",
    "Place",
    "all_eqns",
    "argument_names",
    "body_jaxprs",
    "dtype_name",
    "eqn_frames",
    "eqn_places",
    "eqn_scope",
    "eqn_traceback",
    "function_name",
    "has_effects",
    "is_jaxpr",
    "is_kept_apart",
    "open_jaxpr",
    "place_of",
    "shape_and_dtype",
    "traceback_frames",
    "traced_name",
]

_ClosedJaxpr: Any = getattr(jax_core, "ClosedJaxpr", jax_core.Jaxpr)  # on jax 0.12 they are one


class Place(NamedTuple):
    """Where a frame stood; columns are bytes of the line, None where Python kept no columns."""

    file: str
    line: int
    end_line: int
    column: int | None
    end_column: int | None


_MOST_CODES = 256
_Position = tuple[int | None, int | None, int | None, int | None]
_positions: dict[int, tuple[CodeType, tuple[_Position, ...]]] = {}  # by identity: Python hashes all that is in code


def _positions_of(code: CodeType) -> tuple[_Position, ...]:
    """First and last line, first and last column of each instruction.

    Python gives them only from the first one on, and of a cell of 10,000 lines they are asked for 20,000 times.
    """
    known = _positions.get(id(code))
    if known is None or known[0] is not code:
        if len(_positions) >= _MOST_CODES:
            _positions.clear()
        known = _positions[id(code)] = code, tuple(code.co_positions())
    return known[1]


def eqn_traceback(eqn: Any) -> Hashable:
    """What tells where an equation was made; two that are equal have the same frames. None where nothing tells."""
    # `JaxprEqn.source_info` is not exported; jaxlib's Traceback hashes and compares its frames.
    return eqn.source_info.traceback


def eqn_scope(eqn: Any) -> object:
    """What holds the name of an equation: one object for many that stand beside one another."""
    return eqn.source_info.name_stack


def eqn_frames(eqn: jax_core.JaxprEqn) -> Iterable[tuple[CodeType, int]]:
    """The frames in which an equation was made, each as its code and a byte offset in it.

    The innermost comes first, the last one is where the tracing of its jaxpr began. An equation that was made without
    a traceback has none.
    """
    # `JaxprEqn.source_info.traceback` is jaxlib's Traceback: `jax.extend.source_info_util` can summarize it
    # as text and skips what it takes for library code, but gives neither all frames nor columns.
    return traceback_frames(eqn_traceback(eqn))


def traceback_frames(traceback: Any) -> Iterable[tuple[CodeType, int]]:
    """The frames of what `eqn_traceback` gives, as `eqn_frames`; it keeps none of what the program holds alive."""
    return () if traceback is None else zip(*traceback.raw_frames(), strict=True)


def eqn_places(eqn: jax_core.JaxprEqn) -> Iterator[Place]:
    """Where the frames of an equation stood, in the order of `eqn_frames`."""
    places = (place_of(*frame) for frame in eqn_frames(eqn))
    return (place for place in places if place is not None)


def place_of(code: CodeType, offset: int) -> Place | None:
    """A byte offset of a code object as a place; None for an instruction that belongs to no line."""
    positions, index = _positions_of(code), offset // 2
    line, end_line, column, end_column = positions[index] if index < len(positions) else (None, None, None, None)
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
    return jaxpr.jaxpr if isinstance(jaxpr, _ClosedJaxpr) else jaxpr


JAXPRS: tuple[type, ...] = (_ClosedJaxpr, jax_core.Jaxpr)


def is_jaxpr(value: Any) -> bool:
    """Whether a value is a jaxpr, closed or open."""
    return isinstance(value, JAXPRS)


Bodies = list[tuple[tuple[str, ...], jax_core.Jaxpr]]
"""The jaxprs in the parameters of an equation, each with the path to it: ("branches", "1")."""

_PLAIN = frozenset({bool, int, float, str, type(None)})  # what most parameters are: they are passed over at once


def body_jaxprs(params: Mapping[str, Any]) -> Bodies:
    """The jaxprs in an equation's parameters.

    `jax.extend.core.jaxprs_in_params` gives them without saying which is which, and does not look into dicts.
    """
    found: Bodies = []
    for key, value in params.items():
        if type(value) not in _PLAIN:
            _add_jaxprs(value, (key,), found)
    return found


def all_eqns(jaxpr: Any) -> Iterator[Any]:
    """The equations of a jaxpr, open or closed, and of the jaxprs in them, each behind the one that holds it."""
    for eqn in open_jaxpr(jaxpr).eqns:
        yield eqn
        for _, body in body_jaxprs(eqn.params):
            yield from all_eqns(body)


def _add_jaxprs(value: Any, path: tuple[str, ...], found: Bodies) -> None:
    if is_jaxpr(value):
        found.append((path, open_jaxpr(value)))
    elif isinstance(value, (tuple, list)):
        items = cast(Sequence[Any], value)
        names: Sequence[str] = getattr(items, "_fields", ())
        for position, item in enumerate(items):
            if type(item) not in _PLAIN:
                _add_jaxprs(item, (*path, names[position] if names else str(position)), found)
    elif isinstance(value, dict):
        for name, item in cast(dict[Any, Any], value).items():
            _add_jaxprs(item, (*path, str(name)), found)
    elif hasattr(value, "opaque_jaxpr"):  # the body of an `xmap`, which JAX's own walks must not see
        found.append((path, open_jaxpr(value.opaque_jaxpr)))


def has_effects(eqn: Any) -> bool:
    """Whether an equation does something besides computing its results; that it uses a named axis is nothing."""
    return any(not isinstance(effect, jax_core.NamedAxisEffect) for effect in eqn.effects)


def is_kept_apart(eqn: Any) -> bool:
    """Whether a `remat2` computes again what was computed before, and keeps XLA from merging the two."""
    held = eqn.params["prevent_cse"]
    return eqn.params["differentiated"] and (any(held) if isinstance(held, tuple) else held)


def function_name(jaxpr: jax_core.Jaxpr) -> str:
    """The name of the Python function that was traced to this jaxpr, "" where it has none."""
    name = traced_name(jaxpr)
    return name if name.isidentifier() else ""


def traced_name(jaxpr: jax_core.Jaxpr) -> str:
    """The same as the code of that function has it, "<lambda>" for one."""
    # `Jaxpr.debug_info` holds it; `DebugInfo` is exported, the way to it is not documented.
    name = cast(Any, jaxpr).debug_info.func_name
    return name if isinstance(name, str) else ""


def argument_names(jaxpr: jax_core.Jaxpr) -> tuple[str, ...]:
    """The arguments of the function of a jaxpr, one for each input, such as `params['w']`; () if they are not known."""
    names = cast(Any, jaxpr).debug_info.arg_names
    return tuple(map(str, names)) if names is not None and len(names) == len(jaxpr.invars) else ()


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
