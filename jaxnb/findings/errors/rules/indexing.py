"""Arrays as lists or as Python's numbers: a list for an index, the length of a scalar, one number of many, the largest
of none, a shape for another number of axes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.errors.edits import advice, bracketed, dimensions, exchange, sized, with_more, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Operand, Scene
from jaxnb.findings.errors.signatures import operand_of, read_call
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]


def _function_index(scene: Scene) -> Told | None:
    """`schedule[step]` of a function of a library."""
    node = scene.failed.node
    value = scene.failed.value_of(node.value) if isinstance(node, ast.Subscript) else None
    if not isinstance(node, ast.Subscript) or not callable(value) or isinstance(value, type) or scene.steps:
        return None
    text, index = scene.text(node.value), scene.text(node.slice)
    message = f"`{text}` is a function: it is called with ( ), and `[]` takes an item of an array or of a container."
    shown = Operand(text, node.value, value, scene.origin(node.value))
    fix = exchange(scene, "call it", (node, f"{text}({index})"))
    return Told(message, (fix, advice(f"call it: {text}({index}).")), (shown,))


def _axes_of_indices(scene: Scene) -> Told | None:
    """`take_along_axis` of indices with fewer axes."""
    call = read_call(scene)
    if call is None or name_called(call.node) not in ("take_along_axis", "put_along_axis"):
        return None
    arrays = [operand_of(scene, one) for one in call.positional[:2] if one.is_array]
    if len(arrays) < 2:
        return None
    array, indices = arrays
    own, wanted = len(indices.shape or ()), len(array.shape or ())
    if own == wanted:
        return None
    message = (
        f"{sized(array)} has {wanted} axes, and {sized(indices)} has {own}: `{name_called(call.node)}` takes an index"
        " for each place, with as many axes."
    )
    fixes: list[Fix] = []
    for place in range(own, -1, -1) if own == wanted - 1 else ():
        index = ", ".join([":"] * place + ["None"] + [":"] * (own - place) * (place == 0))
        fixes.append(exchange(scene, "give it an axis", (indices.node, f"{bracketed(indices)}[{index}]")))
    return Told(
        message, (*fixes, advice("insert an axis with [:, None], and take it out again with [:, 0].")), tuple(arrays)
    )


def _list_index(scene: Scene) -> Told | None:
    """`x[[0, 2]]`."""
    node = scene.failed.node
    if not isinstance(node, ast.Subscript):
        return None
    array = scene.operands[0] if scene.operands else None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    found = next((one for one in parts if _is_list(scene, one)), None)
    if array is None or found is None or not array.is_array:
        return None
    text = scene.text(found)
    message = (
        f"`{text}` is a list, and stands for an index of `{array.text}` {dimensions(array.shape or ())}: JAX takes"
        " arrays and tuples as indices, no lists."
    )
    fix = exchange(scene, "make an array of it", (found, f"{words_of(scene)}.array({text})"))
    return Told(message, (fix, advice("make an array of it: x[jnp.array(rows)].")), (array,))


def _is_list(scene: Scene, node: ast.expr) -> bool:
    return isinstance(node, ast.List) or type(scene.failed.value_of(node)) is list


def _called_on(scene: Scene, *names: str) -> Operand | None:
    """The array that a builtin such as `len` is called on."""
    node = scene.failed.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id not in names:
        return None
    operand = scene.argument(0, "") if len(node.args) == 1 else None
    return operand if operand is not None and operand.is_array else None


def _length(scene: Scene) -> Told | None:
    """`len` of a scalar."""
    array = _called_on(scene, "len")
    if array is None or array.shape != ():
        return None
    message = f"`{array.text}` is a scalar, {array.aval}: it has no length, and `len` counts along the first axis."
    return Told(message, (*_reduced(scene, array), advice(f"take its size, {array.text}.size, which is 1.")), (array,))


def _reduced(scene: Scene, array: Operand) -> Iterator[Fix]:
    """The array that a scalar was reduced from, in the place of the scalar."""
    node = array.node
    made: ast.AST | None = node
    if isinstance(node, ast.Name):
        above = [
            one
            for one in ast.walk(scene.failed.tree)
            if isinstance(one, ast.Assign) and one.lineno < scene.failed.line and _is_target(one, node.id)
        ]
        made = above[-1].value if above else None
    if not isinstance(made, ast.Call):
        return
    of = (
        made.func.value
        if isinstance(made.func, ast.Attribute) and not made.args
        else made.args[0]
        if made.args
        else None
    )
    value = scene.failed.value_of(of) if of is not None else None
    if isinstance(of, ast.Name) and getattr(value, "shape", ()):
        yield exchange(scene, "take that of the array that it was made of", (node, of.id))


def _is_target(node: ast.Assign, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in node.targets)


def _number(scene: Scene) -> Told | None:
    """`float` of an array with several items."""
    array = _called_on(scene, "float", "int", "complex", "bool")
    node = scene.failed.node
    method = False
    if array is None and name_called(node) == "item" and isinstance(node, ast.Call) and not node.args:
        array, method = scene.operands[0] if scene.operands else None, True
    if array is None or not array.is_array or not isinstance(node, ast.Call):
        return None
    shape = array.shape or ()
    size = 1
    for one in shape:
        size *= one
    if not shape or (size == 1 and method):
        return None
    word = name_called(node)
    many = f"{size} items" if size != 1 else f"one item, but {len(shape)} axes"
    message = f"{sized(array)} has {many}, and `{word}` makes one Python number: it takes a scalar, of shape ()."
    text = bracketed(array)
    index = ", ".join(["0"] * len(shape))
    fixes = [
        exchange(scene, "take one of them", (array.node, f"{text}[{index}]")),
        exchange(scene, "take their mean", (array.node, f"{text}.mean()")),
    ]
    if size == 1:
        fixes.reverse()
        fixes = [exchange(scene, "take its item", (node, f"{text}.item()")), fixes[-1]]
    if method:
        fixes = [exchange(scene, "take all of them", (node, f"{text}.tolist()")), *fixes]
    return Told(message, (*fixes, advice("index it, or reduce it first: .mean(), .sum().")), (array,))


_EMPTY = {"max": "max", "min": "min", "amax": "max", "amin": "min", "argmax": "argmax", "argmin": "argmin"}


def _of_none(scene: Scene) -> Told | None:
    """The largest of an array without items."""
    node, name = scene.failed.node, name_called(scene.failed.node)
    array = next((one for one in scene.operands if one.is_array and 0 in (one.shape or ())), None)
    if name not in _EMPTY or array is None or not isinstance(node, ast.Call):
        return None
    message = (
        f"{sized(array)} is empty, it has 0 items: it has no {name}, unless an initial value says what it begins with."
    )
    fixes: list[Fix] = []
    if not name.startswith("arg"):
        fixes.append(with_more(scene.failed, "say what it begins with", node, "initial=0"))
    made = f" It is {array.made}." if array.made.startswith("line") else ""
    return Told(f"{message}{made}", (*fixes, advice("test whether it is empty first, or give initial=.")), (array,))


def _rank_of_shape(scene: Scene) -> Told | None:
    """`jax.image.resize(image, (8, 8))` of an image with channels."""
    call = read_call(scene)
    if call is None or not scene.steps:
        return None
    arrays = [one for one in call.arguments if one.is_array]
    shape = next((one for one in call.arguments if one.parameter is not None and one.parameter.name == "shape"), None)
    if shape is None or not arrays or not shape.is_shape or not isinstance(shape.value, tuple | list):
        return None
    array: Any = arrays[0].value
    own, wanted = tuple(array.shape), tuple(shape.value)
    if len(own) == len(wanted) or name_called(call.node) not in ("resize", "scale_and_translate"):
        return None
    message = (
        f"`{call.name}` takes a size for each axis, and `{shape.text}` has {len(wanted)}: `{arrays[0].text}` has"
        f" {len(own)} axes, shape {dimensions(own)}."
    )
    fixes: list[Fix] = []
    if len(wanted) < len(own):
        lacking = len(own) - len(wanted)
        for new in ((*wanted, *own[len(wanted) :]), (*own[:lacking], *wanted)):
            fixes.append(exchange(scene, "give the others, too", (shape.node, dimensions(new))))
    return Told(message, (*fixes, advice("give one size for each axis.")), (operand_of(scene, arrays[0]),))


_BAD = (TypeError, ValueError)

EXPLAINERS = (
    Explainer("call", (TypeError,), _function_index, called=frozenset({"[]"})),
    Explainer("axes-of-indices", _BAD, _axes_of_indices),
    Explainer("index-list", (TypeError,), _list_index, called=frozenset({"[]"})),
    Explainer("length", (TypeError,), _length),
    Explainer("one-number", _BAD, _number),
    Explainer("no-items", (ValueError,), _of_none),
    Explainer("rank-of-shape", _BAD, _rank_of_shape),
)
