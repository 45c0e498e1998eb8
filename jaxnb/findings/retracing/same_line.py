"""What the text of a call in a loop says of why a jitted function is traced again there."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from jaxnb import _jax
from jaxnb.findings.loops import Again, LoopText
from jaxnb.findings.syntax import assigned_names, stored_names
from jaxnb.program import Fix
from jaxnb.staging import Change

__all__ = ["called_at", "carried_fix", "is_batch", "is_carried", "is_settling", "static_argument"]


def called_at(line: int, name: str, text: LoopText) -> ast.Call | None:
    """The call on a line of a jitted function.

    Args:
      line: of the cell.
      name: of what the user wrote under `jax.jit`.
      text: of the cell.
    """
    for node in text.at(line, ast.Call):
        function = getattr(text.value(node.func), "__wrapped__", None)
        if getattr(function, "__name__", None) == name or getattr(node.func, "id", None) == name:
            return node
    return None


def is_carried(call: ast.Call, text: LoopText) -> bool:
    """Whether a call in a loop is given what it returned in the turn before."""
    statement = next((node for node in text.around(call) if isinstance(node, ast.stmt)), None)
    names = assigned_names(statement)
    return any(isinstance(item, ast.Name) and item.id in names for item in call.args)


def is_settling(change: Change) -> bool:
    """Whether a change is one from how a carry begins to what it is from then on: a Python number to an array, or an
    empty container to a full one. (An array that is weakly typed, as that of `jnp.full`, is nobody's mistake.)"""
    number = change.before.startswith("~") and change.before.endswith("[]")
    return change.kind in ("structure", "grown") or (change.kind in ("weak", "dtype", "kind") and number)


def carried_fix(path: str, after: str) -> Fix:
    """What to do where a carry begins otherwise than it goes on.

    Args:
      path: of it.
      after: what it is from the second turn on.
    """
    dtype = after.lstrip("~").partition("[")[0]
    if not dtype.isidentifier():
        return Fix("begin with the same keys: zeros of jnp.zeros(()) can stand for what the first turn adds.")
    return Fix(f"begin with what it is from then on: jnp.{dtype}(…) instead of a Python number.")


def static_argument(call: ast.Call, text: LoopText) -> tuple[str, str] | None:
    """A static argument of a call of a jitted function that is another from turn to turn, and what to do.

    Args:
      call: in a loop.
      text: of the cell.
    """
    function: Any = text.value(call.func)
    options = dict(_jax.jit_options(function) or ())
    if not options.get("static_argnums") and not options.get("static_argnames"):
        return None
    numbers, names = options.get("static_argnums") or (), options.get("static_argnames") or ()
    try:
        parameters = list(inspect.signature(function.__wrapped__).parameters)
    except (TypeError, ValueError):
        return None
    given = {parameters[n]: node for n, node in enumerate(call.args) if n < len(parameters)}
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    static = {*names, *(parameters[n] for n in numbers if -len(parameters) <= n < len(parameters))}
    for name, node in given.items():
        if name not in static or isinstance(node, ast.Constant):
            continue
        if isinstance(node, ast.Lambda):
            what = f"define {name} once, above the loop, and pass the same function each time"
            return name, f"{what}; what differs is an argument."
        advice = f"take {name} out of static_argnums and static_argnames, so that it is traced"
        return name, f"{advice}; if it decides a loop, use jax.lax.fori_loop."
    return None


def is_batch(call: ast.expr, again: Again) -> bool:
    """Whether a call in a loop is given a slice that moves on from turn to turn, whose last one may be shorter."""
    turning = stored_names(again)
    for node in ast.walk(call):
        if isinstance(node, ast.Slice) and node.lower is not None and node.upper is not None:
            read = {item.id for item in ast.walk(node) if isinstance(item, ast.Name)}
            if read & turning:
                return True
    return False
