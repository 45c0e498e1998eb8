"""What staging does not follow, by what a walk reached: Python runs it."""

from __future__ import annotations

import types
from typing import Any

import jax

from jaxnb import _jax
from jaxnb.errors import RunByPython
from jaxnb.staging.cells.code import Sees, names_of
from jaxnb.staging.cells.reach import refers_to_jax
from jaxnb.staging.cells.referents import state_of
from jaxnb.staging.objects.graph import Scan
from jaxnb.staging.trace.piece import Plan

__all__ = ["refuse_generators", "refuse_metadata", "refuse_seen", "sees_stand_ins"]


def sees_stand_ins(scan: Scan) -> bool:
    """Whether the stand-ins of built-in functions would be seen: as `type` itself, or in a dict that is read."""
    nodes = {id(node) for node in scan.nodes}
    return bool(scan.sees & Sees.TYPE_ITSELF) or any(id(names) in nodes for names in scan.namespaces)


def refuse_seen(scan: Scan) -> None:
    """Gives what sees them to Python."""
    if scan.sees & Sees.TYPE_ITSELF:
        raise RunByPython(
            "the cell asks whether something is `type` itself, or derives a class from it.",
            why="while staging something else answers to that name, which knows what traced values stand for.",
            fix="leave --whole out: then Python runs it.",
            short="it asks for `type` itself",
        )
    nodes = {id(node) for node in scan.nodes}
    if any(id(names) in nodes for names in scan.namespaces):
        raise RunByPython(
            "the cell reads the globals of a function as a dict.",
            why="while staging they hold more names than they should.",
            fix="leave --whole out: then Python runs it.",
            short="it reads the globals of a function as a dict",
        )


def refuse_generators(scan: Scan, plan: Plan) -> None:
    """A generator that is advanced while tracing would keep tracers in its frame, and cannot be set back."""
    sends = any("send" in names.attributes for names in plan.names)
    for node in scan.nodes:
        if issubclass(type(node), types.GeneratorType) and (sends or _computes_with_jax(node)):
            raise RunByPython(
                f"the cell advances the generator `{node.__qualname__}`, which computes with JAX.",
                why="it would keep traced values in its frame, and it cannot be set back.",
                fix="advance it in a cell of its own without %%jit, or make the values in a list.",
            )


def refuse_metadata(scan: Scan) -> None:
    """An array in the static part of a pytree: JAX compares it with `==` wherever it compares two structures."""
    for node in scan.nodes:
        state = state_of(node)
        flat = _jax.flatten_one_level(node) if isinstance(state, dict) else None
        if flat is None:
            continue
        children = {id(child) for child in flat[0]}
        for name, value in state.items():
            if isinstance(value, jax.Array) and id(value) not in children:
                raise RunByPython(
                    f"a {type(node).__name__} holds an array in its static part: `{name}`.",
                    why="JAX compares the static parts of pytrees, and traced values cannot be compared.",
                    fix="make it a part that is traced, or a NumPy value or Python number.",
                    short=f"a {type(node).__name__} holds an array in its static part",
                )


def _computes_with_jax(generator: types.GeneratorType[Any, Any, Any]) -> bool:
    frame = generator.gi_frame
    return frame is not None and refers_to_jax(names_of(generator.gi_code), {**frame.f_globals, **frame.f_locals}, {})
