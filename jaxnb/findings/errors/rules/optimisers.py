"""The state of an optimiser that was made for other parameters, or is something else."""

from __future__ import annotations

import ast
from typing import Any

from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import argument_of
from jaxnb.findings.errors.edits import advice, exchange, put
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Scene, is_array
from jaxnb.findings.errors.trees import first_difference, kind_of, place_in
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]


def _in_optax(scene: Scene) -> bool:
    return any(step.module.partition(".")[0] == "optax" for step in scene.steps)


def _assigned(scene: Scene, name: str) -> ast.expr | None:
    """What a name, or an item of a tuple of names, was assigned last above the failed line."""
    found: ast.expr | None = None
    for node in ast.walk(scene.failed.tree):
        if not isinstance(node, ast.Assign) or node.lineno > scene.failed.line:
            continue
        if any(isinstance(one, ast.Name) and one.id == name for target in node.targets for one in ast.walk(target)):
            inside = any(one is scene.failed.node for one in ast.walk(node))
            found = found if inside else node.value
    return found


def _call(node: ast.AST | None) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _other_params(scene: Scene) -> Told | None:
    """Gradients and a state that are not of one structure."""
    step = scene.step(*RAISING["tree"])
    if step is None or not _in_optax(scene) or "rest" not in step.names:
        return None
    updates = step.names.get("tree")
    for other in step.names["rest"]:
        difference = first_difference(updates, other) or first_difference(other, updates)
        if difference is None:
            continue
        own, state = place_in(scene, updates), place_in(scene, other)
        if own is None:
            return None
        gradients = own[0].text + own[1]
        holder = state[0].text if state is not None else ""
        where = f"`{holder}`" if holder else "the state"
        at = f" at {difference.path}" if difference.path else ""
        swapped = first_difference(updates, other) is None
        here, there = (difference.second, difference.first) if swapped else (difference.first, difference.second)
        message = (
            f"`{gradients}` and {where} are not of the same structure{at}: the first is {kind_of(here)}, and the"
            f" optimiser state holds {kind_of(there)}."
        )
        fixes: list[Fix] = []
        made, derived = _assigned(scene, holder), _assigned(scene, own[0].text)
        params = scene.text(made.args[0]) if isinstance(made, ast.Call) and _call(made) == "init" and made.args else ""
        by = _derived_by(derived)
        if not is_array(updates) and isinstance(made, ast.Call) and by is not None and scene.text(by) != params:
            fixes.append(put(scene.failed, "begin the state with the same params", made.args[0], scene.text(by)))
        to = f"`{params}`" if params else "the params"
        hint = (
            f"make the state with init of the same params, and take the gradient with respect to {to} (first argument)."
        )
        return Told(message, (*fixes, advice(hint)))
    return None


def _derived_by(node: ast.expr | None) -> ast.expr | None:
    """The argument by which `jax.grad(loss)(params)` derives."""
    inner = node.func if isinstance(node, ast.Call) else None
    simple = isinstance(inner, ast.Call) and _call(inner) in ("grad", "value_and_grad")
    return node.args[0] if simple and isinstance(node, ast.Call) and node.args else None


def _no_state(scene: Scene) -> Told | None:
    """Something else given as the state of an optimiser."""
    step = scene.step("update_fn", "update")
    node = scene.failed.node
    if step is None or scene.steps[-1] is not step or not _in_optax(scene) or not isinstance(node, ast.Call):
        return None
    value: Any = step.names.get("state")
    known = place_in(scene, value)
    if value is None or known is None or hasattr(value, "_fields"):
        return None
    part = argument_of(node, 1, "state")
    operand = next((one for one in scene.operands if one.node is part), known[0])
    message = (
        f"`{scene.text(node.func)}` takes the state of the optimiser second, and `{operand.text}` is {kind_of(value)},"
        " no state that `init` has made."
    )
    names = [name for name, item in scene.failed.frame.items() if _is_state(item)]
    first = argument_of(node, 0, "updates")
    if first is not None and part is not None and _is_state(scene.failed.value_of(first)):
        swap = exchange(scene, "give the gradients first", (first, scene.text(part)), (part, scene.text(first)))
        message = message[:-1] + f"; `{scene.text(first)}`, given first, is one: they stand in the other's place."
        return Told(message, (swap, advice("give (updates, state, params), in this order.")), (operand,))
    fixes = [exchange(scene, "give the state", (operand.node, name)) for name in dict.fromkeys(names)]
    return Told(message, (*fixes, advice("give (updates, state, params), in this order.")), (operand,))


def _is_state(value: Any) -> bool:
    module = str(getattr(type(value), "__module__", ""))
    if isinstance(value, tuple) and module.partition(".")[0] == "optax":
        return not any(callable(one) for one in value)
    return type(value) is tuple and bool(value) and all(_is_state(one) for one in value)


EXPLAINERS = (
    Explainer("optimiser-state", (ValueError, TypeError, AttributeError), _other_params, inside=RAISING["tree"]),
    Explainer("optimiser-state", (AttributeError, TypeError, ValueError), _no_state),
)
