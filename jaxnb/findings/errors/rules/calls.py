"""Functions of JAX that take operands of certain shapes: convolution, einsum, splits, updates, linear algebra."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp

from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.errors.edits import advice, bracketed, dimensions, exchange, joined, put, sized, with_more, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Operand, Scene, is_array
from jaxnb.findings.errors.sizes import axes_text, constant_of, shape_of, turned
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]


def _channels(scene: Scene) -> Told | None:
    """Images whose channels are not last, given to a convolution."""
    layer, node = scene.step("__call__"), scene.failed.node
    module = layer.names.get("self") if layer is not None else None
    inputs: Any = layer.names.get("inputs") if layer is not None else None
    if layer is None or not layer.module.startswith("flax.") or not is_array(inputs) or not isinstance(node, ast.Call):
        return None
    shape, window = tuple(inputs.shape), getattr(module, "kernel_size", None)
    rank = len(window) if isinstance(window, tuple) else 1
    takes = getattr(module, "in_features", None)
    if len(shape) != rank + 2 or not node.args or not isinstance(takes, int) or shape[1] != takes or shape[-1] == takes:
        return None
    text, what = scene.text(node.func), scene.text(node.args[0])
    order = (0, *range(2, rank + 2), 1)
    message = (
        f"`{text}` takes images with their {takes} channels last, and `{what}` has {shape[-1]} there: shape"
        f" {dimensions(shape)}, with its channels first."
    )
    bare = what if isinstance(node.args[0], ast.Name | ast.Attribute | ast.Subscript | ast.Call) else f"({what})"
    new = f"{bare}.transpose({', '.join(map(str, order))})"
    about = (Operand(what, node.args[0], inputs, scene.origin(node.args[0])),)
    return Told(message, (put(scene.failed, "put the channels last", node.args[0], new), advice(f"give {new}.")), about)


def _convolution(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["convolution"])
    if step is None:
        return None
    lhs, rhs = step.names.get("lhs"), step.names.get("rhs")
    layout = step.names.get("dimension_numbers")
    if lhs is None or rhs is None:
        return None
    first, second = tuple(lhs.shape), tuple(rhs.shape)
    named = scene.arrays
    texts = [f"`{o.text}` {dimensions(shape)}" for o, shape in zip(named, (first, second), strict=False)]
    shown = (
        " and ".join(texts) if len(texts) == 2 else f"the input {dimensions(first)} and the kernel {dimensions(second)}"
    )
    spec = getattr(layout, "lhs_spec", None)
    kernel = getattr(layout, "rhs_spec", None)
    groups = step.names.get("feature_group_count", 1)
    if len(first) != len(second):
        return Told(
            f"{shown} do not fit: input and kernel have as many axes.", (advice("add the batch axis with [None]."),)
        )
    if spec and kernel and first[spec[1]] // max(1, groups) != second[kernel[1]]:
        whose = f"the input has {first[spec[1]]} channels (axis {spec[1]})"
        takes = f"the kernel takes {second[kernel[1]]} (axis {kernel[1]})"
        by = f" for each of {groups} groups" if groups != 1 else ""
        channels = first[spec[1]] // max(1, groups)
        hint = advice(
            f"make the kernel take {channels} channel{'s' * (channels != 1)}, or check dimension_numbers: JAX takes"
            " NCHW and OIHW by default."
        )
        message = f"{shown} do not fit: {whose}, and {takes}{by}."
        return Told(message, (hint,), guesses=tuple(_layouts(scene)))
    return Told(
        f"{shown} do not fit this convolution.", (advice("check strides, padding, groups and dimension_numbers."),)
    )


def _layouts(scene: Scene) -> Iterator[Fix]:
    node = scene.failed.node
    if not isinstance(node, ast.Call):
        return
    given = next((keyword.value for keyword in node.keywords if keyword.arg == "dimension_numbers"), None)
    for numbers in ("('NHWC', 'HWIO', 'NHWC')", "('NCHW', 'OIHW', 'NCHW')", "('NHWC', 'OIHW', 'NHWC')"):
        if given is not None:
            yield exchange(scene, "say how the axes lie", (given, numbers))
        elif "conv_general_dilated" in scene.called:
            yield with_more(scene.failed, "say how the axes lie", node, f"dimension_numbers={numbers}")


def _einsum(scene: Scene) -> Told | None:
    node = scene.failed.node
    if not isinstance(node, ast.Call) or not node.args:
        return None
    spec = scene.argument(0, "subscripts")
    text = spec.node.value if spec is not None and isinstance(spec.node, ast.Constant) else getattr(spec, "value", None)
    if not isinstance(text, str) or "." in text:
        return None
    inputs = text.replace(" ", "").split("->")[0].split(",")
    arrays = [o for o in scene.operands if o.is_array]
    if len(arrays) < len(node.args) - 1:  # one of them is not known
        return None
    if len(inputs) != len(arrays):
        message = f"'{text}' names {len(inputs)} operand{'s' * (len(inputs) != 1)}, and {len(arrays)} are given."
        return Told(message, (advice("name each operand, parted by commas."),))
    sizes: dict[str, tuple[Any, Operand]] = {}
    for letters, operand in zip(inputs, arrays, strict=True):
        shape = shape_of(operand)
        if len(letters) != len(shape):
            message = f"'{letters}' names {len(letters)} axes, and {sized(operand)} has {len(shape)}."
            told = f"name each of its {len(shape)} axes, or the leading ones together: '...{letters}'."
            if [len(one) for one in reversed(inputs)] == [len(shape_of(o)) for o in arrays]:
                changed = exchange(scene, "exchange the operands", *_exchanged(arrays[0], arrays[-1]))
                return Told(message, (advice(f"give the operands in the order of '{text}'."),), guesses=(changed,))
            return Told(message, (advice(told),))
        for letter, size in zip(letters, shape, strict=True):
            known = sizes.setdefault(letter, (size, operand))
            if known[0] != size and 1 not in (known[0], size):
                message = f"`{letter}` in '{text}' is {known[0]} in {sized(known[1])} and {size} in {sized(operand)}."
                return Told(
                    message,
                    (
                        *_letters(scene, spec, text, inputs, arrays),
                        advice(
                            f"axes of one letter have the same size: give both {known[0]} or {size}, or another letter."
                        ),
                    ),
                )
    return None


def _exchanged(a: Operand, b: Operand) -> tuple[tuple[ast.AST, str], tuple[ast.AST, str]]:
    return (a.node, b.text), (b.node, a.text)


def _letters(scene: Scene, spec: Any, text: str, inputs: list[str], arrays: list[Operand]) -> Iterator[Fix]:
    """The letters of one operand in another order."""
    for place, letters in enumerate(inputs):
        if len(letters) != 2:
            turns = [letters[:-2] + letters[-1] + letters[-2]] if len(letters) > 2 else []
        else:
            turns = [letters[::-1]]
        for other in turns:
            changed = [other if n == place else one for n, one in enumerate(inputs)]
            sizes: dict[str, Any] = {}
            fits = all(
                sizes.setdefault(letter, size) == size
                for one, operand in zip(changed, arrays, strict=True)
                for letter, size in zip(one, shape_of(operand), strict=True)
            )
            if fits and isinstance(spec.node, ast.Constant):
                _, arrow, out = text.replace(" ", "").partition("->")
                yield exchange(scene, "exchange the letters", (spec.node, repr(f"{','.join(changed)}{arrow}{out}")))


def _no_broadcasting(scene: Scene) -> Told | None:
    """Functions of `lax`, which take operands of one shape and dtype."""
    node = scene.failed.node
    arrays = [operand for operand in scene.operands if operand.shape is not None]
    if not isinstance(node, ast.Call) or len({operand.shape for operand in arrays}) < 2:
        return None
    name = scene.text(node.func)
    called = name.rpartition(".")[2]
    other = {"select": "where", "div": "divide", "rem": "remainder", "sub": "subtract", "mul": "multiply"}.get(
        called, called
    )
    fixes: list[Fix] = []
    if name != called and hasattr(jnp, other):
        fixes.append(exchange(scene, "use the function that broadcasts", (node.func, f"{words_of(scene)}.{other}")))
    shown = joined([f"`{operand.text}` {dimensions(operand.shape or ())}" for operand in arrays])
    ranks = sorted({len(operand.shape or ()) for operand in arrays})
    told = f"they have {joined([str(rank) for rank in ranks])} dimensions" if len(ranks) > 1 else "the sizes differ"
    message = f"`{name}` does not broadcast, and {shown} have other shapes: {told}."
    hint = advice(f"use jnp.{other}, which broadcasts, or give all one shape, such as with jnp.zeros_like or [None].")
    return Told(message, (*fixes, hint))


def _squeeze(scene: Scene) -> Told | None:
    array = next(iter(scene.arrays), None)
    if array is None:
        return None
    step = scene.step("_squeeze", "squeeze")
    axis = step.names.get("axis") if step is not None else None
    axis = axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis
    shape = shape_of(array)
    given = scene.argument(1, "axis")
    axis = constant_of(given, 0) if axis is None and given is not None else axis
    size = shape[axis] if isinstance(axis, int) and -len(shape) <= axis < len(shape) else "another size"
    message = f"axis {axis} of {sized(array)} has {size}: only axes of size 1 can be squeezed out."
    ones = [n for n, length in enumerate(shape) if length == 1]
    if isinstance(axis, int) and -len(shape) <= axis < len(shape) and not ones:
        index = ", ".join([":"] * (axis % len(shape)) + ["0"])
        hint = f"take one of them, {array.text}[{index}], or their mean, {array.text}.mean(axis={axis})."
        return Told(message, (advice(hint),))
    told = f"squeeze axis {ones[0]}." if ones else f"index it, such as `{array.text}[0]`, or sum over it."
    return Told(message, (advice(told),))


def _split(scene: Scene) -> Told | None:
    if not RAISING["prng"].isdisjoint(scene.inside):
        return None
    array = next(iter(scene.arrays), None)
    sections = scene.argument(1, "indices_or_sections")
    node = scene.failed.node
    if array is None or sections is None or not isinstance(node, ast.Call):
        return None
    axis = constant_of(scene.argument(2, "axis"), 0)
    shape = shape_of(array)
    size = shape[axis] if -len(shape) <= axis < len(shape) else None
    message = f"axis {axis} of {sized(array)} has {size}, which `{sections.text}` does not divide."
    fixes: list[Fix] = []
    if isinstance(node.func, ast.Attribute):
        fixes.append(exchange(scene, "let the parts differ", (node.func, f"{scene.text(node.func.value)}.array_split")))
    return Told(message, (*fixes, advice("use array_split, or pad it.")))


def _update(scene: Scene) -> Told | None:
    arrays = scene.arrays
    if len(arrays) < 2:
        return None
    a, b = arrays[0], arrays[1]
    if len(shape_of(a)) != len(shape_of(b)):
        own, wanted = axes_text(shape_of(b)), axes_text(shape_of(a))
        message = f"{sized(b)} has {own}, and {sized(a)} has {wanted}: an update has as many."
        index = "[None]" if len(shape_of(b)) < len(shape_of(a)) else "[0]"
        return Told(message, (exchange(scene, "give it as many axes", (b.node, f"{bracketed(b)}{index}")),))
    place = next((n for n, (x, y) in enumerate(zip(shape_of(a), shape_of(b), strict=True)) if y > x), None)
    if place is None:
        return None
    message = f"{sized(b)} is larger than {sized(a)} along axis {place}: an update lies within what it changes."
    most, least = shape_of(a)[place], shape_of(b)[place]
    told = f"make the update no larger than {most} there, or what it changes no smaller than {least}."
    return Told(message, (advice(told),))


def _solve(scene: Scene) -> Told | None:
    arrays = scene.arrays
    if not arrays:
        return None
    a = arrays[0]
    shape = shape_of(a)
    name = name_called(scene.failed.node) or "it"
    if len(shape) == 1:
        new = f"{words_of(scene)}.diag({a.text})"
        fixes = [exchange(scene, "if it is a diagonal, make the matrix of it", (a.node, new))]
        message = f"{sized(a)} has one axis, and no matrix: `{name}` takes square matrices (…, n, n)."
        return Told(message, (*fixes, advice(f"make a matrix of it, {new}; of a diagonal alone divide by it, 1 / x.")))
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return Told(
            f"{sized(a)} is not square: `{name}` takes matrices (…, n, n).",
            (advice("take jnp.linalg.lstsq for others."),),
        )
    if len(arrays) > 1:
        b = arrays[1]
        message = f"{sized(a)} and {sized(b)} do not fit: `{b.text}` needs {shape[-1]} rows."
        fixes = []
        if len(shape_of(b)) == len(shape) - 1:
            fixes.append(exchange(scene, "make columns of it", (b.node, f"{bracketed(b)}[..., None]")))
        if len(shape_of(b)) == 2:
            fixes.append(exchange(scene, f"transpose `{b.text}`", (b.node, turned(b))))
        return Told(message, (*fixes, advice("give one right-hand side of that length, or columns of it.")))
    return None


_BAD = (TypeError, ValueError)

EXPLAINERS = (
    Explainer("channels", (TypeError, ValueError), _channels, inside=RAISING["convolution"]),
    Explainer("einsum", (*_BAD, IndexError), _einsum, called=frozenset({"einsum"})),
    Explainer("convolution", _BAD, _convolution, inside=RAISING["convolution"]),
    Explainer("squeeze", _BAD, _squeeze, called=frozenset({"squeeze"})),
    Explainer("split", _BAD, _split, called=frozenset({"split", "vsplit", "hsplit"})),
    Explainer("update", _BAD, _update, called=frozenset({"dynamic_update_slice", "dynamic_update_slice_in_dim"})),
    Explainer("linalg", _BAD, _solve, called=frozenset({"solve", "inv", "det", "cholesky", "slogdet", "eigh", "eig"})),
    Explainer(
        "no-broadcasting",
        _BAD,
        _no_broadcasting,
        called=frozenset({"select", "add", "sub", "mul", "div", "max", "min", "rem"}),
        inside=RAISING["lax"],
    ),
)
