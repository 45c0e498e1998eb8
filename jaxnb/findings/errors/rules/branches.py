"""`cond` and `switch`: branches that return different types, predicates and indices that are none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from jaxnb._jax import RAISING, unflattened
from jaxnb.findings.errors.edits import advice, bare, dimensions, exchange, joined, put, segment, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import definition_of, result_of
from jaxnb.findings.errors.scene import Operand, Scene, abstract_text
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]


def _branches(scene: Scene) -> Told | None:
    name = "switch" if "switch" in scene.called or "switch" in scene.inside else "cond"
    step = scene.step(*RAISING["branches"])
    if step is None:
        return None
    functions = _functions(scene, name)
    labels = [_label(operand) for operand in functions] or ["one branch", "another"]
    outs = _outputs(step.names)
    if outs is None:
        message = f"the branches of `{name}` return different structures: {_facts(scene)}"
        return Told(message, (advice("let all branches return the same structure."),), tuple(functions))
    (first, one), (second, two) = outs
    a = labels[first] if first < len(labels) else f"branch {first}"
    b = labels[second] if second < len(labels) else f"branch {second}"
    message = f"the branches of `{name}` return different types: {a} {abstract_text(one)}, {b} {abstract_text(two)}."
    fixes: list[Fix] = []
    if (
        len(functions) > max(first, second)
        and hasattr(one, "shape")
        and hasattr(two, "shape")
        and one.shape == two.shape
    ):
        fixes += _casts(scene, functions[second], one)
        fixes += _casts(scene, functions[first], two)
    return Told(
        message, (*fixes, advice("let all branches return the same structure, shapes and dtypes.")), tuple(functions)
    )


def _facts(scene: Scene) -> str:
    lines = [line.strip() for line in str(scene.error).splitlines() if line.strip()]
    return " ".join(lines[1:6])


def _outputs(names: Mapping[str, Any]) -> tuple[tuple[int, Any], tuple[int, Any]] | None:
    """The two branches whose results differ, with these."""
    one, two = unflattened(names.get("out_avals1")), unflattened(names.get("out_avals2"))
    if one is None and two is None:
        return None
    numbers = [re.search(r"\d+", str(names.get(key))) for key in ("name1", "name2")]
    first, second = (int(number[0]) if number else place for place, number in enumerate(numbers))
    return (first, one), (second, two)


def _functions(scene: Scene, name: str) -> list[Operand]:
    if name not in scene.called:
        return []
    if name == "switch":
        given = scene.argument(1, "branches")
        node = given.node if given is not None else None
        if isinstance(node, ast.List | ast.Tuple):
            return [Operand(scene.text(item), item, scene.failed.value_of(item)) for item in node.elts]
        return []
    found = [scene.argument(1, "true_fun"), scene.argument(2, "false_fun")]
    return [operand for operand in found if operand is not None]


def _label(operand: Operand) -> str:
    return f"`{' '.join(operand.text.split())}`" if len(operand.text) <= 40 else f"`{operand.text[:39]}…`"


def _casts(scene: Scene, operand: Operand, wanted: Any) -> Iterator[Fix]:
    function = operand.node if isinstance(operand.node, ast.Lambda) else definition_of(scene, operand.value)
    node = result_of(function)
    if node is None or isinstance(node, ast.Tuple | ast.Dict | ast.List):
        return
    jnp, text = words_of(scene), segment(scene.failed, node)
    dtype = f"{jnp}.{wanted.dtype}"
    number = isinstance(node, ast.Constant)
    yield put(scene.failed, "cast it", node, f"{dtype}({text})" if number else f"{bare(node, text)}.astype({dtype})")
    yield put(scene.failed, "cast it", node, f"{jnp}.asarray({text}, {dtype})")


def _predicate(scene: Scene) -> Told | None:
    """What `cond` and `switch` choose by, if that is what they refuse."""
    if "cond" in scene.called:
        operand = scene.argument(0, "pred")
        if operand is None or not operand.is_array or operand.shape == ():
            return None
        message = (
            f"`cond` chooses by one boolean, and `{operand.text}` has the shape {dimensions(operand.shape or ())}."
        )
        fixes = [exchange(scene, "reduce it", (operand.node, f"{words_of(scene)}.all({operand.text})"))]
        return Told(
            message,
            (advice("choose item by item with jnp.where, or reduce it with jnp.all or jnp.any."), *fixes),
            (operand,),
        )
    operand = scene.argument(0, "index")
    if operand is None:
        return None
    if operand.is_array and operand.shape not in ((), None):
        return Told(
            f"`switch` chooses by one integer, and `{operand.text}` has the shape {dimensions(operand.shape or ())}.",
            (),
            (operand,),
        )
    dtype = operand.dtype or type(operand.value).__name__
    if "int" in dtype:
        return None
    fixes = [exchange(scene, "cast it", (operand.node, f"{operand.text}.astype(int)"))] if operand.is_array else []
    return Told(
        f"`switch` chooses by an integer, and `{operand.text}` is {dtype}.",
        (*fixes, advice("cast it to an integer.")),
        (operand,),
    )


def _arguments(scene: Scene) -> Told | None:
    """A branch that takes another number of arguments than there are operands."""
    match = re.search(r"takes (\d+|from \d+ to \d+) positional arguments? but (\d+) w", str(scene.error))
    missing = re.search(r"missing (\d+) required positional argument", str(scene.error))
    if match is None and missing is None:
        return None
    name = "switch" if "switch" in scene.called else "cond"
    functions = _functions(scene, name)
    node = scene.failed.node
    count = len(node.args) - (2 if name == "switch" else 3) if isinstance(node, ast.Call) else 0
    takes = joined([f"{_label(o)} takes {_count(o)}" for o in functions if _count(o) is not None])
    return Told(
        f"`{name}` calls its branches with its operands, of which there are {max(0, count)}: {takes}.",
        (advice("give the operands behind the branches, or let the branches take none."),),
        tuple(functions),
    )


def _count(operand: Operand) -> int | None:
    if isinstance(operand.node, ast.Lambda):
        return len(operand.node.args.args)
    code = getattr(operand.value, "__code__", None)
    return getattr(code, "co_argcount", None)


EXPLAINERS = (
    Explainer("branches", (TypeError, ValueError), _branches, inside=RAISING["branches"]),
    Explainer("predicate", (TypeError, ValueError), _predicate, called=frozenset({"cond", "switch"})),
    Explainer("branch-arguments", (TypeError,), _arguments, called=frozenset({"cond", "switch"})),
)
