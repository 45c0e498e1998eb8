"""What to do about a cell or a jitted function that is traced again and again for one cause."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from jaxnb.program import Finding, Fix
from jaxnb.staging.reuse.history import Change, Tally
from jaxnb.units import format_seconds

__all__ = ["advise", "cost_text", "retrace_findings"]

_MOST = 12
_OPTION = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*|\[('[^']*'|\d+)\])*$")
"""Paths that can stand in a header."""


def retrace_findings(told: Sequence[tuple[Change, Tally]], seconds: float) -> tuple[Finding, ...]:
    """The reasons of one retrace of a cell as findings, with the cost of all, and a fix for causes that came again.

    Args:
      told: the changes, each with the tally of its cause.
      seconds: what tracing and compiling took.
    """
    # Effects are findings already, and about an order nothing need be done: it comes once.
    shown = [(change, tally) for change, tally in told if change.kind not in ("effect", "order")]
    found: list[Finding] = []
    for change, tally in shown[:_MOST]:
        message = f"{change.text} ({cost_text(seconds, len(told))})"
        found.append(Finding("retrace", message, change.line, holder=change.path, fix=advise(change, tally)))
    if len(shown) > _MOST:
        found.append(Finding("retrace", f"and {len(shown) - _MOST} more reasons"))
    return tuple(found)


def cost_text(seconds: float, reasons: int = 1) -> str:
    """What a retrace cost: `cost 81 ms`, and whether several reasons share it."""
    return f"cost {format_seconds(seconds)}{' together' if reasons > 1 else ''}"


def advise(change: Change, tally: Tally, function: bool = False, once: bool = False) -> Fix | None:
    """What to do about a cause, from the second time on that it led to a retrace.

    Args:
      change: the last change of that cause.
      tally: how often it came, and what sizes it had.
      function: whether it is a jitted function that is traced, not a cell.
      once: whether it is known that it need not have come, though it came once.
    """
    if not tally.needless and not once:
        return None
    make = _FOR_FUNCTIONS.get(change.kind) if function else None
    make = make or _FOR_CELLS.get(change.kind)
    return make(change, tally) if make is not None else None


def _number(change: Change, tally: Tally) -> Fix:
    if not _OPTION.match(change.path):
        return Fix(f"pass {change.path} as an argument, so that it can be an input.")
    if change.decided:
        return Fix(f"leave {change.path} out of --static, and make it an input:", options=f"--dynamic {change.path}")
    return Fix("make it an input:", options=f"--dynamic {change.path}")


def _static_number(change: Change, tally: Tally) -> Fix:
    return Fix(
        f"take {change.path} out of static_argnums and static_argnames, so that it is traced; "
        "if it decides a loop, use jax.lax.fori_loop."
    )


def _static(change: Change, tally: Tally) -> Fix:
    return Fix(f"keep {change.path} out of it if nothing depends on it: each value has a program of its own.")


def _weak(change: Change, tally: Tally) -> Fix:
    dtype = next((found[0] for text in (change.after, change.before) if (found := _DTYPE.findall(text))), "")
    give = f", jnp.{dtype}" if dtype else ""
    return Fix(f"give it a dtype where it is made: {change.path} = jnp.asarray({change.path}{give}).")


_DTYPE = re.compile(r"\b(bfloat16|float\d+|u?int\d+|complex\d+)\[")


def _dtype(change: Change, tally: Tally) -> Fix:
    dtype = (_DTYPE.findall(change.before) or ["float32"])[0]
    return Fix(f"keep to one dtype: {change.path} = {change.path}.astype(jnp.{dtype}).")


def _shape(change: Change, tally: Tally) -> Fix:
    axis = change.axes[0] if change.axes else 0
    size = 1 << max(0, tally.size - 1).bit_length()
    rank = change.after.count(",") + 1
    widths = ", ".join(
        f"(0, {size} - {change.path}.shape[{axis}])" if n == axis else "(0, 0)" for n in range(max(rank, axis + 1))
    )
    if rank == 1:
        widths = f"(0, {size} - len({change.path}))"
    return Fix(
        f"pad axis {axis} to one size, such as {size}, and mask what is padded: jnp.pad({change.path}, [{widths}])."
    )


def _grown(change: Change, tally: Tally) -> Fix:
    return Fix(
        f"make room for all of them before: an array such as jnp.zeros(({max(2, 2 * tally.size)}, ...)), "
        "filled by buffer.at[i].set(value)."
    )


def _structure(change: Change, tally: Tally) -> Fix:
    return Fix(f"keep {change.path} the same containers with the same keys; zeros can stand for what is missing.")


def _placement(change: Change, tally: Tally) -> Fix:
    return Fix(f"place it once, before it is used: {change.path} = jax.device_put({change.path}, sharding).")


def _kind(change: Change, tally: Tally) -> Fix:
    return Fix(f"make it a JAX array once: {change.path} = jnp.asarray({change.path}).")


def _content(change: Change, tally: Tally) -> Fix:
    return Fix(f"leave {change.path} out of --static: then what it holds is an input.")


def _context(change: Change, tally: Tally) -> Fix:
    if change.path in _SETTINGS or change.path.startswith("jax_"):
        name = _SETTINGS.get(change.path, change.path)
        return Fix(f"set it once, at the top of the notebook: jax.config.update({name!r}, {change.after}).")
    return Fix(f"enter one {change.path.replace('_', ' ')} for all calls, rather than switch between two.")


_SETTINGS = {
    "default_matmul_precision": "jax_default_matmul_precision",
    "enable_x64": "jax_enable_x64",
    "numpy_dtype_promotion": "jax_numpy_dtype_promotion",
    "numpy_rank_promotion": "jax_numpy_rank_promotion",
}


def _options(change: Change, tally: Tally) -> Fix:
    return Fix("make the jitted function once, with the same options each time.")


def _dropped(change: Change, tally: Tally) -> Fix:
    return Fix(f"keep more programs: %config JaxNB.cache_size = {max(change.size, 8)}")


def _effect(change: Change, tally: Tally) -> Fix:
    where = f"line {change.line}" if change.line is not None else "what is said there"
    return Fix(f"move {where} to a cell of its own, without %%jit.")


def _closure(change: Change, tally: Tally) -> Fix:
    name = change.path.partition(" ")[0]
    return Fix(f"pass {name} as an argument, instead of making the function anew for each value.")


def _anew(change: Change, tally: Tally) -> Fix:
    return Fix("move jax.jit, and the def or lambda in it, out of the loop or function, so that it is made once.")


def _hash(change: Change, tally: Tally) -> Fix:
    return Fix(
        f"give the class of {change.path} an __eq__ and a __hash__ by value, "
        "as @dataclasses.dataclass(frozen=True) has them."
    )


def _callable(change: Change, tally: Tally) -> Fix:
    return Fix(f"define {change.path} once, and pass the same function each time.")


def _passed(change: Change, tally: Tally) -> Fix:
    return Fix("pass the arguments in the same way each time, by position or by name.")


_FOR_CELLS: Mapping[str, Callable[[Change, Tally], Fix]] = {
    "content": _content,
    "context": _context,
    "dropped": _dropped,
    "dtype": _dtype,
    "effect": _effect,
    "grown": _grown,
    "kind": _kind,
    "number": _number,
    "options": _options,
    "placement": _placement,
    "shape": _shape,
    "static": _static,
    "structure": _structure,
    "weak": _weak,
}
_FOR_FUNCTIONS: Mapping[str, Callable[[Change, Tally], Fix]] = {
    "anew": _anew,
    "callable": _callable,
    "closure": _closure,
    "hash": _hash,
    "number": _static_number,
    "passed": _passed,
}
