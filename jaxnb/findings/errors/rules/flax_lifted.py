"""Modules of flax.linen under lifted transformations that do not say what becomes of their variables, and methods that
are called without them."""

from __future__ import annotations

import ast
from typing import Any

from jaxnb.findings.errors.calls import calls_named, name_called, own
from jaxnb.findings.errors.edits import advice, exchanged, put, segment, with_argument
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Scene, Step
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]

_LIFTED = {
    "scan": ('variable_broadcast="params"', 'split_rngs={"params": False}', "shares its parameters between all steps"),
    "vmap": ('variable_axes={"params": 0}', 'split_rngs={"params": True}', "has parameters of its own for each item"),
}


def _not_lifted(scene: Scene) -> Told | None:
    """`nn.scan(Cell)` without what is to become of the parameters."""
    if type(scene.error).__name__ not in ("ScopeCollectionNotFound", "ScopeParamNotFoundError", "InvalidRngError"):
        return None
    if not any(step.module in ("flax.core.lift", "flax.linen.transforms") for step in scene.steps):
        return None
    place = own(scene)
    calls = [call for word in ("scan", "vmap") for call in calls_named(scene.failed.tree, word)]
    call = next((one for one in calls if _says_nothing(one) and _is_linen(scene, one)), None)
    if call is None:
        return None
    word = name_called(call)
    variables, rngs, meaning = _LIFTED[word]
    inner = segment(scene.failed, call.args[0]) if call.args else "the module"
    text = f"`{scene.text(call.func)}` of `{inner}`"
    message = (
        f"{text} does not say what becomes of the collection 'params' under `{word}`: it is not handed on to the module"
        " inside, which finds no parameters."
    )
    more = ", ".join(one for one in (variables, rngs) if one.split("=")[0] not in {str(k.arg) for k in call.keywords})
    new = with_argument(segment(scene.failed, call), more)
    fix = Fix(f"hand them on, so that it {meaning}: `{more}`.", edit=exchanged(scene.failed.text, [(call, new)]))
    return Told(
        message, (fix, advice(f"say {variables} and {rngs}.")), (), call.lineno if place is scene.failed else None
    )


def _says_nothing(call: ast.Call) -> bool:
    return not {str(one.arg) for one in call.keywords} & {"variable_broadcast", "variable_axes", "variable_carry"}


def _is_linen(scene: Scene, call: ast.Call) -> bool:
    function: Any = scene.failed.value_of(call.func)
    return str(getattr(function, "__module__", "")).startswith("flax")


def _without_apply(scene: Scene) -> Told | None:
    """`model.encode(variables, x)`: a method of a module that is bound to no variables."""
    node = scene.failed.node
    step = _wrapped(scene)
    if step is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    module, function = step.names.get("self"), step.names.get("fun")
    name = node.func.attr
    if getattr(module, "scope", None) is not None or getattr(function, "__name__", "") != name:
        return None
    first = scene.failed.value_of(node.args[0]) if node.args else None
    holder = scene.text(node.func.value)
    given = [scene.text(one) for one in (*node.args, *node.keywords)]
    message = (
        f"`{holder}.{name}` is a method of a module without parameters: it is not bound to variables, which only"
        " `apply` takes."
    )
    names = [key for key, value in scene.failed.frame.items() if _holds_params(value) and not key.startswith("_")]
    variables = [] if _holds_params(first) else ["variables" if "variables" in names else names[-1]] if names else []
    inner = ", ".join([*variables, *given, f"method={holder}.{name}"])
    fixes = (
        [put(scene.failed, "apply it by that method", node, f"{holder}.apply({inner})")] if variables or given else []
    )
    return Told(message, (*fixes, advice(f"apply it: {holder}.apply(variables, …, method={holder}.{name}).")))


def _wrapped(scene: Scene) -> Step | None:
    found = (step for step in scene.steps if step.name == "_call_wrapped_method" and step.module.startswith("flax."))
    return next(found, None)


def _holds_params(value: Any) -> bool:
    return hasattr(value, "keys") and "params" in value


EXPLAINERS = (
    Explainer("linen-method", (TypeError, AttributeError, ValueError), _without_apply),
    Explainer("linen-lifted", (Exception,), _not_lifted),
)
