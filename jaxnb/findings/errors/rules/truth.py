"""Arrays of several items where Python asks for one truth: `if`, `and`, `or`, `not`, `max`, chains of comparisons."""

from __future__ import annotations

import ast
import math
from typing import Any

import jax

from jaxnb._jax import RAISING
from jaxnb.findings.errors.edits import advice, exchange, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.parts import compared_apart
from jaxnb.findings.errors.scene import Scene
from jaxnb.findings.values.concretization import reason_of_condition
from jaxnb.findings.values.fixes import propose_truth
from jaxnb.program import Fix
from jaxnb.staging import describe

__all__ = ["EXPLAINERS"]


def _truth(scene: Scene) -> Told | None:
    step, node = scene.step(*RAISING["truth"]), scene.failed.node
    value: Any = step.names.get("arr") if step is not None else None
    if not isinstance(value, jax.Array):
        return None
    parts = [*ast.walk(node)] if isinstance(node, ast.BoolOp | ast.Compare | ast.UnaryOp | ast.Call) else []
    named = next((one for one in parts if isinstance(one, ast.Name) and scene.failed.value_of(one) is value), None)
    compared = isinstance(node, ast.Compare) and len(node.ops) == 1 and not isinstance(node.ops[0], ast.In | ast.NotIn)
    count, above = math.prod(value.shape), scene.failed.parent()
    what = f"{describe(value)}, {count} item{'s' * (count != 1)}"
    reason = reason_of_condition(node, above)
    if isinstance(node, ast.UnaryOp) and not isinstance(above, ast.If | ast.While | ast.Assert | ast.IfExp):
        reason = "`not` turns it around"
    if named is not None or compared:
        flat = " ".join(scene.text(named or node).split())
        message = f"`{flat}` is {what}, and {reason}: only one item is true or false."
    else:
        message = f"`{scene.text(node)}` asks whether {what}, is true: {reason}, and only one item is true or false."
    apart = compared_apart(scene.failed, node)
    if apart is not None:
        hint = "put each comparison in brackets, (a > 0) & (b < 1): `&` and `|` bind closer."
        return Told(message, (apart, advice(hint)))
    return Told(message, (*_all_of_it(scene), *propose_truth(scene.failed), advice(_hint(scene))))


def _all_of_it(scene: Scene) -> list[Fix]:
    """An assertion of all items."""
    above, node = scene.failed.parent(), scene.failed.node
    if not isinstance(above, ast.Assert) or above.test is not node:
        return []
    return [exchange(scene, "assert it of all items", (node, f"{words_of(scene)}.all({scene.text(node)})"))]


def _hint(scene: Scene) -> str:
    above = scene.failed.parent()
    if isinstance(above, ast.If | ast.While | ast.Assert | ast.IfExp):
        return "reduce it with .all() or .any(), or choose item by item with jnp.where."
    return "use `&`, `|` and `~` item by item, `is None` for what may be missing, or reduce it with .all() or .any()."


EXPLAINERS = (Explainer("truth", (ValueError,), _truth, inside=RAISING["truth"]),)
