"""Differential equations whose vector field does not fit the state, and solvers that do not get to the end."""

from __future__ import annotations

import ast
import inspect
import math
import re
from typing import Any

from jaxnb.findings.errors.calls import argument_of, bound_to, name_called, placed
from jaxnb.findings.errors.edits import advice, dimensions, exchanged, put, segment, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import definition_of, name_of, result_of
from jaxnb.findings.errors.scene import Operand, Scene, Step, abstract_text, is_array
from jaxnb.findings.place import FailedExpression
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]

_ORDER = ("terms", "solver", "t0", "t1", "dt0", "y0", "args")
"""The first parameters of `diffeqsolve`."""


def _step(scene: Scene, *names: str) -> Step | None:
    """The innermost call of one of these functions of diffrax."""
    return next(
        (step for step in reversed(scene.steps) if step.name in names and step.module.startswith("diffrax")), None
    )


def _given(place: FailedExpression, name: str) -> ast.expr | None:
    return argument_of(place.node, _ORDER.index(name) if name in _ORDER else -1, name)


def _value(place: FailedExpression, name: str) -> Any:
    node = _given(place, name)
    value = place.value_of(node) if node is not None else None
    made = bound_to(place, node) if value is None else None
    return made.value if isinstance(made, ast.Constant) else value


def _field(scene: Scene) -> Told | None:
    """What the vector field returns is of another structure or shape than the state."""
    step = _step(scene, "vf")
    if step is None or "out" not in step.names:
        return None
    out, y = step.names["out"], step.names.get("y")
    place = placed(scene, "diffeqsolve") or scene.failed
    function = getattr(step.names.get("self"), "vector_field", None)
    function = getattr(function, "vector_field", function)
    name = name_of(function) or "the vector field"
    node = _given(place, "y0")
    state = f"`{segment(place, node)}`, y0," if node is not None and segment(place, node) != "y0" else "`y0`"
    message = (
        f"`{name}` returns {_shown(out)}, and the state {state} is {abstract_text(y)}: a vector field returns the"
        " derivative of each entry, in the same structure and shape."
    )
    value = result_of(definition_of(scene, function))
    fixes: list[Fix] = []
    if isinstance(value, ast.List | ast.Tuple) and isinstance(out, list | tuple) and is_array(y):
        text = segment(scene.failed, value)
        text = text if text.startswith(("[", "(")) else f"[{text}]"
        fixes.append(put(scene.failed, "make it one array", value, f"{words_of(scene)}.array({text})"))
    about = (Operand(segment(place, node), node, y),) if node is not None else None
    return Told(message, (*fixes, advice(f"return an array of the shape of the state, {abstract_text(y)}.")), about)


def _shown(value: Any) -> str:
    kind = type(value).__name__
    return f"a {kind} {abstract_text(value)}" if isinstance(value, list | tuple | dict) else abstract_text(value)


def _signature(scene: Scene) -> Told | None:
    step = _step(scene, "vf")
    function = getattr(step.names.get("self"), "vector_field", None) if step is not None else None
    function = getattr(function, "vector_field", function)
    if step is None or not callable(function) or "out" in step.names:
        return None
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(None, None, None)
    except TypeError:
        name = name_of(function) or "the vector field"
        names = list(signature.parameters)
        message = (
            f"`{name}` takes {len(names)} argument{'s' if len(names) != 1 else ''}, ({', '.join(names)}), and diffrax"
            " calls a vector field with 3 arguments: (t, y, args)."
        )
        fixes: list[Fix] = []
        for node in ast.walk(scene.failed.tree):
            if isinstance(node, ast.FunctionDef) and node.name == name and node.args.args:
                first, last = node.args.args[0], node.args.args[-1]
                whole = ast.copy_location(ast.Name("_"), first)
                whole.end_lineno, whole.end_col_offset = last.end_lineno, last.end_col_offset
                edit = exchanged(scene.failed.text, [(whole, "t, y, args")])
                fixes.append(Fix(f"let it take these: `def {name}(t, y, args)`.", edit=edit))
        return Told(message, (*fixes, advice("let it take (t, y, args), in that order.")))
    return None


def _too_many(scene: Scene) -> Told | None:
    """A solver that has used up its steps."""
    place = placed(scene, "diffeqsolve")
    raised = re.search(r"^_?EquinoxRuntimeError: ", str(scene.error), re.MULTILINE)
    if place is None or (type(scene.error).__name__ != "EquinoxRuntimeError" and raised is None):
        return None
    if "max_steps" not in str(scene.error):
        return None
    most, node = _value(place, "max_steps"), _given(place, "max_steps")
    limit = most if isinstance(most, int) else 4096
    named = f"=`{segment(place, node)}`" if node is not None and not isinstance(node, ast.Constant) else ""
    span = [_value(place, name) for name in ("t0", "t1", "dt0")]
    needed = 16 * limit
    message = f"the solver took {limit} steps, as many as max_steps{named} allows, and did not reach t1."
    if all(isinstance(one, int | float) for one in span) and _given(place, "stepsize_controller") is None:
        needed = math.ceil((span[1] - span[0]) / span[2]) + 1
        message += f" From {span[0]} to {span[1]} it takes {needed - 1} of dt0={span[2]}."
    target = bound_to(place, node)
    fixes: list[Fix] = []
    if isinstance(target, ast.Constant):
        fixes.append(put(place, "allow more steps, max_steps", target, str(max(needed, 2 * limit))))
    hint = (
        "allow more with max_steps, take larger steps (dt0, or a looser PIDController), or for a stiff problem an"
        " implicit solver such as Kvaerno5."
    )
    return Told(message, (*fixes, advice(hint)))


def _no_term(scene: Scene) -> Told | None:
    """A function where its term is taken."""
    place = next((one for one in (scene.failed, *scene.callers) if name_called(one.node) == "diffeqsolve"), None)
    node = argument_of(place.node, 0, "terms") if place is not None else None
    value = place.value_of(node) if place is not None and node is not None else None
    if place is None or node is None or not inspect.isfunction(value):
        return None
    text, word = segment(place, node), words_of(scene, "diffrax", "diffrax")
    message = f"`{text}` is a function, and `diffeqsolve` takes terms: an ODETerm holds the vector field."
    fix = put(place, "make a term of it", node, f"{word}.ODETerm({text})")
    return Told(message, (fix, advice(f"make a term of it: {word}.ODETerm({text}).")), ())


def _time(scene: Scene) -> Told | None:
    """A vector of times where one time is taken."""
    place = next((one for one in (scene.failed, *scene.callers) if name_called(one.node) == "diffeqsolve"), None)
    if place is None:
        return None
    for number, name in ((2, "t0"), (3, "t1"), (4, "dt0")):
        node = argument_of(place.node, number, name)
        shape = getattr(place.value_of(node), "shape", ()) if node is not None else ()
        if node is None or not shape:
            continue
        text = segment(place, node)
        message = f"{name} is one time, a scalar, and `{text}` has {shape[0]}: shape {dimensions(shape)}."
        item = "-1" if name == "t1" else "0"
        fix = put(place, "take one of them", node, f"{text}[{item}]")
        hint = f"give {name} as {text}[{item}], and the times to be saved as SaveAt(ts=…)."
        return Told(message, (fix, advice(hint)), ())
    return None


def _first_step(scene: Scene) -> Told | None:
    step = _step(scene, "init")
    place = placed(scene, "diffeqsolve")
    if step is None or place is None or "dt0" not in step.names or step.names["dt0"] is not None:
        return None
    kind = type(step.names.get("self")).__name__
    message = (
        f"dt0 is None, and the step size controller is {kind}, which takes steps of the size dt0: a constant step"
        " size has to be given."
    )
    node = _given(place, "dt0")
    span = [_value(place, name) for name in ("t0", "t1")]
    fixes: list[Fix] = []
    if node is not None and all(isinstance(one, int | float) for one in span):
        fixes.append(put(place, "give a step, dt0", node, f"{(span[1] - span[0]) / 100:g}"))
    hint = "give dt0, or pass stepsize_controller=diffrax.PIDController(rtol=1e-5, atol=1e-6), which chooses it."
    return Told(message, (*fixes, advice(hint)))


EXPLAINERS = (
    Explainer("diffrax-term", (ValueError, TypeError), _no_term, inside=frozenset({"diffeqsolve"})),
    Explainer("diffrax-time", (ValueError, TypeError), _time, inside=frozenset({"diffeqsolve"})),
    Explainer("diffrax-field", (ValueError, TypeError), _field, inside=frozenset({"vf"})),
    Explainer("diffrax-arguments", (TypeError,), _signature, inside=frozenset({"vf"})),
    Explainer("diffrax-steps", (RuntimeError,), _too_many),
    Explainer("diffrax-step-size", (ValueError,), _first_step, inside=frozenset({"init"})),
)
