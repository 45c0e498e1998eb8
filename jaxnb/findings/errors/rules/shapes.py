"""Operands whose shapes do not fit."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp

from jaxnb._jax import RAISING
from jaxnb.findings.errors.edits import (
    advice,
    assigned_in,
    bracketed,
    dimensions,
    exchange,
    exchanged,
    joined,
    sized,
    words_of,
)
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Operand, Scene
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]

Shape = tuple[Any, ...]


# --- products ---


def _contraction(scene: Scene) -> Told | None:
    if len(scene.arrays) < 2:
        return None
    a, b = scene.arrays[:2]
    first, second = _shape(a), _shape(b)
    product = "@" if isinstance(scene.failed.node, ast.BinOp) else f"{min(scene.called, default='dot')}()"
    if not first or not second:
        scalar = a if not first else b
        return Told(f"`{scalar.text}` is a scalar: {product} takes arrays with axes.", _multiplied(scene, a, b))
    if "tensordot" in scene.called:
        return Told(f"{sized(a)} and {sized(b)} do not fit: the axes that `tensordot` sums over have other sizes.")
    if "vdot" in scene.called or "inner" in scene.called:
        return Told(f"{sized(a)} and {sized(b)} do not fit: what is summed over has to be of one size.")
    axis = -1 if len(second) == 1 else -2
    if first[-1] == second[axis]:
        return Told(f"{sized(a)} and {sized(b)} do not fit: their leading axes {_leading(first, second)} do not meet.")
    where = "the only axis" if len(second) == 1 else "the first axis" if len(second) == 2 else "the last axis but one"
    own = "the only axis" if len(first) == 1 else "the last axis"
    message = (
        f"{sized(a)} and {sized(b)} do not fit: {product} contracts {own} of `{a.text}`, {first[-1]}, with {where} of"
        f" `{b.text}`, {second[axis]}."
    )
    rows = dimensions((first[-1], *second[1:])) if len(second) <= 2 else f"{first[-1]} there"
    told = f"both have to be equal: give `{b.text}` {first[-1]} rows, {rows}, or `{a.text}` {second[axis]} columns."
    return Told(message, (*_products(scene, a, b), advice(told)), guesses=tuple(_unflattened(scene, a)))


def _unflattened(scene: Scene, operand: Operand) -> Iterator[Fix]:
    """`x.reshape(-1)` that takes the batch with it, and a transpose that is one too many."""
    node = operand.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("reshape", "ravel"):
        holder = scene.text(node.func.value)
        yield exchange(scene, "keep the first axis", (node, f"{holder}.reshape({holder}.shape[0], -1)"))


def _leading(first: Shape, second: Shape) -> str:
    return f"{dimensions(first[:-2])} and {dimensions(second[:-2])}"


def _multiplied(scene: Scene, a: Operand, b: Operand) -> tuple[Fix, ...]:
    if not isinstance(scene.failed.node, ast.BinOp):
        return (advice("multiply with `*`."),)
    return (exchange(scene, "multiply each item", (scene.failed.node, f"{a.text} * {b.text}")),)


def _products(scene: Scene, a: Operand, b: Operand) -> Iterator[Fix]:
    """Forms of a product that fit, by their shapes."""
    first, second = _shape(a), _shape(b)
    for one, other, forms in (
        (a, b, [(b.node, _turned(b), f"transpose `{b.text}`", first, _flip(second))]),
        (a, b, [(a.node, _turned(a), f"transpose `{a.text}`", _flip(first), second)]),
    ):
        for node, new, text, left, right in forms:
            if one is not other and len(left) > 0 and _fits(left, right):
                yield exchange(scene, text, (node, new))
    if _fits(second, first):
        yield exchange(scene, "exchange the operands", (a.node, b.text), (b.node, a.text))
    if len(first) == len(second) == 1 and isinstance(scene.failed.node, ast.BinOp):
        yield exchange(
            scene, "take the outer product", (a.node, f"{bracketed(a)}[:, None]"), (b.node, f"{b.text}[None, :]")
        )
    if len(first) == 1 and len(second) == 2 and second[0] == 1:
        yield exchange(scene, f"make a column of `{a.text}`", (a.node, f"{bracketed(a)}[:, None]"))


def _turned(operand: Operand) -> str:
    shape = _shape(operand)
    return f"{bracketed(operand)}.T" if len(shape) == 2 else f"{bracketed(operand)}.swapaxes(-1, -2)"


def _flip(shape: Shape) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if len(shape) >= 2 else shape


def _fits(a: Shape, b: Shape) -> bool:
    return bool(a) and bool(b) and a[-1] == b[-1 if len(b) == 1 else -2]


# --- broadcasting ---


def _broadcast(scene: Scene) -> Told | None:
    arrays = [operand for operand in scene.operands if operand.shape is not None and operand.shape != ()]
    if len(arrays) < 2:
        return _inner_broadcast(scene)
    for place, b in enumerate(arrays):
        for a in arrays[:place]:
            if (axis := _clash(_shape(a), _shape(b))) is not None:
                return _of_two(scene, a, b, axis)
    return _inner_broadcast(scene)


def _of_two(scene: Scene, a: Operand, b: Operand, axis: int) -> Told:
    first, second = _shape(a), _shape(b)
    message = (
        f"{sized(a)} and {sized(b)} do not broadcast: counted from the right, axis {axis} has {first[axis]} in"
        f" `{a.text}` and {second[axis]} in `{b.text}`."
    )
    told = (
        f"give both {first[axis]} there, or both {second[axis]}, or one of them size 1: slice the longer one,"
        " transpose, reshape, or insert an axis with [:, None]."
    )
    return Told(message, (*_broadcasts(scene, a, b), advice(told)), guesses=tuple(_placed(scene, a, b)))


def _placed(scene: Scene, a: Operand, b: Operand) -> Iterator[Fix]:
    """One operand without its axes of size 1, where these stand otherwise in the other."""
    for operand, other in ((b, a), (a, b)):
        own, wanted = _shape(operand), _shape(other)
        core = [size for size in own if size != 1]
        if len(own) < 2 or len(core) == len(own) or len(core) > len(wanted):
            continue
        for places in itertools.combinations(range(len(wanted)), len(core)):
            shape = [1] * len(wanted)
            for place, size in zip(places, core, strict=True):
                shape[place] = size
            if _clash(tuple(shape), wanted) is None and tuple(shape) != own:
                new = f"{bracketed(operand)}.reshape{dimensions(shape)}"
                yield exchange(scene, "lay its axes otherwise", (operand.node, new))
                break


def _inner_broadcast(scene: Scene) -> Told | None:
    """Within a library: what the function that does not know how to broadcast was given."""
    step = scene.step("promote_shapes", "broadcast_shapes", "_broadcast_arrays")
    args = step.names.get("args") if step is not None else None
    shapes = [tuple(item.shape) for item in args if hasattr(item, "shape")] if isinstance(args, tuple) else []
    if len(shapes) < 2:
        return None
    shown = joined([dimensions(shape) for shape in shapes])
    return Told(f"`{_short(scene)}` combines arrays of the shapes {shown}, which do not broadcast.")


def _short(scene: Scene) -> str:
    flat = " ".join(scene.failed.expression.split())
    return flat if len(flat) <= 50 else flat[:49] + "…"


def _clash(a: Shape, b: Shape) -> int | None:
    """The last axis, counted from the right, that keeps two shapes apart."""
    for axis in range(-1, -min(len(a), len(b)) - 1, -1):
        if a[axis] != b[axis] and 1 not in (a[axis], b[axis]):
            return axis
    return None


def _broadcasts(scene: Scene, a: Operand, b: Operand) -> Iterator[Fix]:
    """Forms of one operand with which the other broadcasts, those that keep its shape first."""
    for operand, other in ((b, a), (a, b)):
        yield from _keeping(scene, operand, other)
    for operand, other in ((b, a), (a, b)):
        own, wanted = _shape(operand), _shape(other)
        if len(own) == 1 and len(wanted) >= 2:
            for axis in range(-2, -len(wanted) - 1, -1):
                if wanted[axis] == own[0]:
                    index = f"[:, {', '.join(['None'] * (-axis - 1))}]"
                    yield exchange(
                        scene, f"make a column of `{operand.text}`", (operand.node, bracketed(operand) + index)
                    )
                    break
        if len(own) >= 2 and len(own) == len(wanted) - 1 and _clash((own[0], 1, *own[1:]), wanted) is None:
            yield exchange(scene, "insert an axis", (operand.node, f"{bracketed(operand)}[:, None]"))
        if len(own) < len(wanted) and _clash((*own, 1), wanted) is None and len(own) > 1:
            yield exchange(scene, "insert an axis at the end", (operand.node, f"{bracketed(operand)}[..., None]"))
        if len(own) == 2 and _clash(own[::-1], wanted) is None:
            yield exchange(scene, f"transpose `{operand.text}`", (operand.node, f"{bracketed(operand)}.T"))
    own, wanted = _shape(a), _shape(b)
    if len(own) == len(wanted) == 1:
        small, large = (a, b) if own[0] < wanted[0] else (b, a)
        length = _shape(small)[0]
        slices = exchange(scene, f"take as many of `{large.text}`", (large.node, f"{bracketed(large)}[:{length}]"))
        each = exchange(scene, "combine each with each", (b.node, f"{bracketed(b)}[:, None]"))
        yield from (slices, each) if abs(own[0] - wanted[0]) <= 2 else (each, slices)


def _keeping(scene: Scene, operand: Operand, other: Operand) -> Iterator[Fix]:
    """A reduction that the operand is, or was assigned, with `keepdims=True`."""
    call = operand.node if isinstance(operand.node, ast.Call) else _assigned(scene, operand.node)
    name = call.func.attr if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else ""
    if not isinstance(call, ast.Call) or name not in (
        "sum",
        "mean",
        "max",
        "min",
        "std",
        "var",
        "prod",
        "norm",
        "median",
    ):
        return
    if any(keyword.arg == "keepdims" for keyword in call.keywords) or len(_shape(operand)) >= len(_shape(other)):
        return
    text = ast.get_source_segment(scene.failed.text, call) or ""
    new = f"{text.rstrip()[:-1].rstrip(', ')}, keepdims=True)"
    yield Fix(
        f"keep the axis that `{name}` sums up: `{' '.join(new.split())}`.",
        edit=exchanged(scene.failed.text, [(call, new)]),
    )


def _assigned(scene: Scene, node: ast.AST) -> ast.AST | None:
    """What a name was last assigned in the function, or at the top of the cell, in which the expression stands."""
    if not isinstance(node, ast.Name):
        return None
    scope = scene.failed.above(ast.FunctionDef, ast.AsyncFunctionDef) or scene.failed.tree
    return assigned_in(scope, node.id, scene.failed.line)


# --- concatenating and stacking ---


def _concatenation(scene: Scene) -> Told | None:
    arrays = _spread(scene)
    axis_given = scene.argument(1, "axis")
    axis = (
        axis_given.value if axis_given is not None and isinstance(axis_given.value, int) else _constant(axis_given, 0)
    )
    if "hstack" in scene.called:
        axis = 1 if len(_shape(arrays[0])) > 1 else 0
    if len(arrays) < 2:
        return None
    if any(_shape(operand) == () for operand in arrays):
        return Told(f"{joined([sized(o) for o in arrays])}: scalars cannot be joined, only stacked.", _stacked(scene))
    first = arrays[0]
    for other in arrays[1:]:
        one, two = _shape(first), _shape(other)
        if len(one) != len(two):
            message = f"{sized(first)} has {_axes(one)}, {sized(other)} has {_axes(two)}: what is joined has as many."
            return Told(
                message, (*_raised(scene, first, other, axis), advice("insert an axis with [None] or [:, None]."))
            )
        differ = [n for n in range(len(one)) if one[n] != two[n] and n != axis % max(1, len(one))]
        if differ:
            n = differ[0]
            message = (
                f"{sized(first)} and {sized(other)} cannot be joined along axis {axis}: all others have to be equal,"
                f" and axis {n} is {one[n]} in `{first.text}` and {two[n]} in `{other.text}`."
            )
            return Told(
                message,
                (*_joins(scene, first, other), advice("join along the axis that differs, or make the others equal.")),
            )
    return None


def _spread(scene: Scene) -> list[Operand]:
    """The arrays of an expression, those in lists that have a name one by one."""
    found: list[Operand] = []
    for operand in scene.operands:
        if operand.is_array:
            found.append(operand)
        elif isinstance(operand.value, list | tuple):
            items = [Operand(f"{operand.text}[{n}]", operand.node, item) for n, item in enumerate(operand.value)]
            found += [item for item in items if item.is_array]
    return found


def _constant(operand: Operand | None, default: int) -> int:
    node = operand.node if operand is not None else None
    sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return sign * inner.value if isinstance(inner, ast.Constant) and isinstance(inner.value, int) else default


def _axes(shape: Shape) -> str:
    return "one axis" if len(shape) == 1 else "no axis" if not shape else f"{len(shape)} axes"


def _raised(scene: Scene, first: Operand, other: Operand, axis: int) -> Iterator[Fix]:
    low, high = (first, other) if len(_shape(first)) < len(_shape(other)) else (other, first)
    own, wanted = _shape(low), _shape(high)
    for place in range(len(wanted)):
        grown = (*own[:place], 1, *own[place:])
        if len(grown) == len(wanted) and all(
            grown[n] == wanted[n] for n in range(len(wanted)) if n != axis % len(wanted)
        ):
            index = ", ".join([":"] * place + ["None"])
            yield exchange(scene, f"give `{low.text}` an axis", (low.node, f"{bracketed(low)}[{index}]"))


def _joins(scene: Scene, first: Operand, other: Operand) -> Iterator[Fix]:
    one, two = _shape(first), _shape(other)
    differ = [n for n in range(len(one)) if one[n] != two[n]]
    node = scene.failed.node
    if len(differ) == 1 and isinstance(node, ast.Call) and "concatenate" in scene.called:
        given = next((keyword.value for keyword in node.keywords if keyword.arg == "axis"), None)
        given = node.args[1] if given is None and len(node.args) > 1 else given
        if given is not None:
            yield exchange(scene, f"join along axis {differ[0]}", (given, str(differ[0])))
        else:
            text = scene.text(node)
            yield exchange(
                scene, f"join along axis {differ[0]}", (node, f"{text[:-1].rstrip(', ')}, axis={differ[0]})")
            )
    if len(differ) == 1 and isinstance(node, ast.Call) and scene.called & {"vstack", "hstack"}:
        name = "hstack" if "vstack" in scene.called else "vstack"
        if isinstance(node.func, ast.Attribute):
            new = f"{scene.text(node.func.value)}.{name}"
            yield exchange(scene, f"join along axis {differ[0]}", (node.func, new))
    if len(one) == 2 and one[::-1] != one:
        yield exchange(scene, f"transpose `{other.text}`", (other.node, f"{bracketed(other)}.T"))


def _stacked(scene: Scene) -> tuple[Fix, ...]:
    node = scene.failed.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return (advice("use jnp.stack."),)
    return (exchange(scene, "stack them", (node.func, f"{scene.text(node.func.value)}.stack")),)


def _stacking(scene: Scene) -> Told | None:
    arrays = _spread(scene)
    if not arrays:
        return None
    other = next((o for o in arrays[1:] if _shape(o) != _shape(arrays[0])), None)
    if other is None:
        return None
    message = f"{sized(arrays[0])} and {sized(other)} cannot be stacked: all have to have the same shape."
    fixes: list[Fix] = []
    node = scene.failed.node
    one, two = _shape(arrays[0]), _shape(other)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(one) == len(two):
        differ = [n for n in range(len(one)) if one[n] != two[n]]
        axis = f", axis={differ[0]}" if differ and differ[0] else ""
        if len(differ) == 1 and len(node.args) == 1 and not node.keywords:
            new = f"{scene.text(node.func.value)}.concatenate({scene.text(node.args[0])}{axis})"
            fixes.append(exchange(scene, "join them", (node, new)))
    return Told(message, (*fixes, advice("pad them to the same shape, or join them with jnp.concatenate.")))


# --- reshaping ---


def _reshape(scene: Scene) -> Told | None:
    array = next((o for o in scene.arrays if o.shape is not None), None)
    step = scene.step(*RAISING["reshape"])
    wanted = None if step is None else step.names.get("newshape", step.names.get("shape", step.names.get("new_sizes")))
    if array is None:
        return None
    size = _size(_shape(array))
    sizes = _wanted_sizes(scene, wanted)
    if sizes is None:
        return None
    if -1 in sizes:
        rest = _size(tuple(n for n in sizes if n != -1))
        shape = dimensions(sizes)
        message = f"{sized(array)} has {size} elements, which {rest} does not divide: {shape} leaves no whole axis."
    else:
        message = f"{sized(array)} has {size} elements, and {dimensions(sizes)} has {_size(sizes)}."
    divides = f"take sizes whose product is {size}, or divides it with one axis -1"
    told = (
        f"{divides}; jnp.broadcast_to repeats an axis of size 1." if size == 1 or 1 in _shape(array) else f"{divides}."
    )
    return Told(message, (*_reshapes(scene, array, sizes, size), advice(told)))


def _wanted_sizes(scene: Scene, wanted: Any) -> Shape | None:
    if isinstance(wanted, int):
        return (wanted,)
    if isinstance(wanted, Sequence):
        flat = wanted[0] if len(wanted) == 1 and isinstance(wanted[0], Sequence) else wanted
        return tuple(flat) if all(isinstance(n, int) for n in flat) else None
    return None


def _reshapes(scene: Scene, array: Operand, sizes: Shape, size: int) -> Iterator[Fix]:
    nodes = _size_nodes(scene)
    own = _shape(array)
    if len(nodes) != len(sizes):
        return
    if own and len(sizes) == 2 and -1 not in sizes and size % sizes[1] == 0 and sizes[1] != own[0]:
        yield exchange(scene, "let the first axis be what is left", (nodes[0], "-1"))
    if own and len(sizes) >= 2:
        rest = _size(sizes[1:]) if -1 not in sizes[1:] else None
        if rest is None or rest * own[0] != size:
            last = nodes[-1]
            if len(sizes) == 2:
                yield exchange(scene, "keep the first axis", (nodes[0], f"{bracketed(array)}.shape[0]"), (last, "-1"))
    for place in range(len(sizes) - 1, -1, -1):
        others = _size(tuple(n for k, n in enumerate(sizes) if k != place))
        if sizes[place] != -1 and -1 not in (*sizes[:place], *sizes[place + 1 :]) and others and size % others == 0:
            yield exchange(scene, f"let axis {place} be what is left", (nodes[place], "-1"))


def _size_nodes(scene: Scene) -> Sequence[ast.AST]:
    node = scene.failed.node
    if not isinstance(node, ast.Call):
        return []
    arguments: list[ast.AST] = list(node.args)
    if isinstance(node.func, ast.Attribute) and scene.failed.value_of(node.func.value) is not None:
        own = arguments if type(scene.failed.value_of(node.func.value)).__name__ != "module" else arguments[1:]
    else:
        own = arguments[1:]
    for keyword in node.keywords:
        if keyword.arg in ("shape", "newshape"):
            own = [keyword.value]
    if len(own) == 1 and isinstance(own[0], ast.Tuple | ast.List):
        return list(own[0].elts)
    return own


def _size(shape: Shape) -> int:
    product = 1
    for size in shape:
        product *= size
    return product


def _broadcast_to(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["broadcast-to"])
    inner = step.names if step is not None else {}
    own, wanted = getattr(inner.get("arr"), "shape", None), inner.get("shape")
    if own is None or wanted is None:
        return None
    own, wanted = tuple(own), tuple(wanted)
    values = [o for o in scene.arrays if _shape(o) == own] or list(scene.arrays[-1:])
    if not values:
        return None
    value = values[-1]
    place = f"`{scene.text(_place_set(scene))}` " if _place_set(scene) is not None else ""
    message = f"`{value.text}` {dimensions(own)} does not broadcast to {place}{dimensions(wanted)}."
    fixes: list[Fix] = []
    if len(own) == 1 and len(wanted) >= 2 and wanted[-2] == own[0]:
        fixes.append(exchange(scene, "make a column of it", (value.node, f"{bracketed(value)}[:, None]")))
    if len(own) > len(wanted) and tuple(n for n in own if n != 1) == tuple(n for n in wanted if n != 1):
        fixes.append(exchange(scene, "drop axes of size 1", (value.node, f"{bracketed(value)}.squeeze()")))
    if len(own) == 2 and own[::-1] == wanted:
        fixes.append(exchange(scene, "transpose it", (value.node, f"{bracketed(value)}.T")))
    if len(own) == len(wanted) and all(n >= k for n, k in zip(own, wanted, strict=True)):
        index = ", ".join(f":{k}" if n != k else ":" for n, k in zip(own, wanted, strict=True))
        fixes.append(exchange(scene, "take as much as fits", (value.node, f"{bracketed(value)}[{index}]")))
    return Told(message, (*fixes, advice(_place_advice(value, own, wanted))))


def _place_advice(value: Operand, own: Shape, wanted: Shape) -> str:
    if wanted == ():
        return f"one element takes a scalar: take one item, such as `{value.text}[0]`, or set a slice of {own[0]}."
    return f"give it the shape {dimensions(wanted)}, or an axis of size 1."


def _place_set(scene: Scene) -> Any:
    """`x.at[i]` of `x.at[i].set(v)`."""
    node = scene.failed.node
    inner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    return inner if isinstance(inner, ast.Subscript) else None


# --- axes and indices ---


def _axis(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["axis"])
    names = step.names if step is not None else {}
    axis, rank = names.get("axis"), names.get("num_dims", names.get("rank"))
    array = next(iter(scene.arrays), None)
    if array is None or "vmap_f" in scene.inside:
        return None
    own = len(_shape(array))
    shown = f"axis {axis}" if isinstance(axis, int) else "an axis that is named"
    beyond = f" (with the new ones {rank})" if isinstance(rank, int) and rank != own else ""
    allowed = f": {-own} to {own - 1}" if own else ""
    message = f"{sized(array)} has {_axes(_shape(array))}{beyond}, and {shown} is not one of them{allowed}."
    fixes: list[Fix] = []
    node = scene.failed.node
    if isinstance(axis, int) and isinstance(node, ast.Call) and own:
        for item in ast.walk(node):
            number = item.operand if isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.USub) else item
            value = number.value if isinstance(number, ast.Constant) else None
            if (value == abs(axis) and type(value) is int and item is not number) or (value == axis and item is number):
                fixes.append(
                    exchange(
                        scene,
                        "take the last axis" if axis > 0 else "take the first axis",
                        (item, "-1" if axis > 0 else "0"),
                    )
                )
                break
    return Told(message, (*fixes, advice("name an axis that there is.")))


def _mask(scene: Scene) -> Told | None:
    indexed, indices = scene.operands[:1], scene.operands[1:]
    mask = next((o for o in indices if o.dtype == "bool"), None)
    if not indexed or mask is None or mask.shape is None:
        return None
    own, wanted = mask.shape, _shape(indexed[0])
    place = next((n for n, item in enumerate(indices) if item is mask), 0)
    message = (
        f"the mask `{mask.text}` {dimensions(own)} does not fit {sized(indexed[0])}: axis {place} has"
        f" {wanted[place] if place < len(wanted) else 'no size'}, the mask {own[0] if own else 'none'}."
    )
    fixes: list[Fix] = []
    if len(own) == 1 and isinstance(scene.failed.node, ast.Subscript):
        other = next((n for n, size in enumerate(wanted) if size == own[0]), None)
        if other:
            index = ", ".join([":"] * other + [mask.text])
            fixes.append(exchange(scene, f"apply it to axis {other}", (scene.failed.node.slice, index)))
    return Told(
        message,
        (
            *fixes,
            advice(
                f"give it the same length: {wanted[place] if place < len(wanted) else 0} items for axis {place}, or index"
                " another axis, such as [:, mask]."
            ),
        ),
    )


def _indices(scene: Scene) -> Told | None:
    array = next(iter(scene.arrays), None)
    node = scene.failed.node
    if array is None or not isinstance(node, ast.Subscript):
        return None
    given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    taken = [item for item in given if not (isinstance(item, ast.Constant) and item.value in (None, ...))]
    own = len(_shape(array))
    if len(taken) <= own:
        return None
    message = f"{sized(array)} has {_axes(_shape(array))}, and is indexed with {len(taken)}."
    kept = ", ".join(scene.text(item) for item in given[-own:]) if own else ""
    fixes = [exchange(scene, "leave the surplus out", (node.slice, kept))] if kept else []
    return Told(message, (*fixes, advice("give as many indices as it has axes.")))


# --- convolution, einsum, others ---


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
    text = scene.text(node)
    for numbers in ("('NHWC', 'HWIO', 'NHWC')", "('NCHW', 'OIHW', 'NCHW')", "('NHWC', 'OIHW', 'NHWC')"):
        if given is not None:
            yield exchange(scene, "say how the axes lie", (given, numbers))
        elif "conv_general_dilated" in scene.called:
            yield exchange(
                scene, "say how the axes lie", (node, f"{text[:-1].rstrip(', ')}, dimension_numbers={numbers})")
            )


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
        shape = _shape(operand)
        if len(letters) != len(shape):
            message = f"'{letters}' names {len(letters)} axes, and {sized(operand)} has {len(shape)}."
            told = f"name each of its {len(shape)} axes, or the leading ones together: '...{letters}'."
            if [len(one) for one in reversed(inputs)] == [len(_shape(o)) for o in arrays]:
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
        for turned in turns:
            changed = [turned if n == place else one for n, one in enumerate(inputs)]
            sizes: dict[str, Any] = {}
            fits = all(
                sizes.setdefault(letter, size) == size
                for one, operand in zip(changed, arrays, strict=True)
                for letter, size in zip(one, _shape(operand), strict=True)
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
    shape = _shape(array)
    size = shape[axis] if isinstance(axis, int) and -len(shape) <= axis < len(shape) else "another size"
    message = f"axis {axis} of {sized(array)} has {size}: only axes of size 1 can be squeezed out."
    ones = [n for n, length in enumerate(shape) if length == 1]
    told = f"squeeze axis {ones[0]}." if ones else f"index it, such as `{array.text}[0]`, or sum over it."
    return Told(message, (advice(told),))


def _split(scene: Scene) -> Told | None:
    array = next(iter(scene.arrays), None)
    sections = scene.argument(1, "indices_or_sections")
    node = scene.failed.node
    if array is None or sections is None or not isinstance(node, ast.Call):
        return None
    axis = _constant(scene.argument(2, "axis"), 0)
    shape = _shape(array)
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
    if len(_shape(a)) != len(_shape(b)):
        message = f"{sized(b)} has {_axes(_shape(b))}, and {sized(a)} has {_axes(_shape(a))}: an update has as many."
        index = "[None]" if len(_shape(b)) < len(_shape(a)) else "[0]"
        return Told(message, (exchange(scene, "give it as many axes", (b.node, f"{bracketed(b)}{index}")),))
    place = next((n for n, (x, y) in enumerate(zip(_shape(a), _shape(b), strict=True)) if y > x), 0)
    message = f"{sized(b)} is larger than {sized(a)} along axis {place}: an update lies within what it changes."
    most, least = _shape(a)[place], _shape(b)[place]
    told = f"make the update no larger than {most} there, or what it changes no smaller than {least}."
    return Told(message, (advice(told),))


def _solve(scene: Scene) -> Told | None:
    arrays = scene.arrays
    if not arrays:
        return None
    a = arrays[0]
    shape = _shape(a)
    name = min(scene.called - {"[]"}, default="it")
    if len(shape) < 2 or shape[-1] != shape[-2]:
        return Told(
            f"{sized(a)} is not square: `{name}` takes matrices (…, n, n).",
            (advice("take jnp.linalg.lstsq for others."),),
        )
    if len(arrays) > 1:
        b = arrays[1]
        message = f"{sized(a)} and {sized(b)} do not fit: `{b.text}` needs {shape[-1]} rows."
        fixes: list[Fix] = []
        if len(_shape(b)) == len(shape) - 1:
            fixes.append(exchange(scene, "make columns of it", (b.node, f"{bracketed(b)}[..., None]")))
        if len(_shape(b)) == 2:
            fixes.append(exchange(scene, f"transpose `{b.text}`", (b.node, _turned(b))))
        return Told(message, (*fixes, advice("give one right-hand side of that length, or columns of it.")))
    return None


def _shape(operand: Operand) -> Shape:
    return operand.shape or ()


_BAD = (TypeError, ValueError)
_CONV = frozenset({"conv_general_dilated", "conv", "conv_with_general_padding", "convolve"})

EXPLAINERS = (
    Explainer("einsum", (*_BAD, IndexError), _einsum, called=frozenset({"einsum"})),
    Explainer("mask", (IndexError, ValueError), _mask, called=frozenset({"[]"}), inside=RAISING["mask"]),
    Explainer("indices", (IndexError,), _indices, called=frozenset({"[]"})),
    Explainer("axis", _BAD, _axis, inside=RAISING["axis"]),
    Explainer("convolution", _BAD, _convolution, inside=RAISING["convolution"]),
    Explainer(
        "concatenation", _BAD, _concatenation, called=frozenset({"concatenate", "concat", "hstack", "vstack", "append"})
    ),
    Explainer("stacking", _BAD, _stacking, called=frozenset({"stack"})),
    Explainer("reshape", _BAD, _reshape, inside=RAISING["reshape"]),
    Explainer("broadcast-to", _BAD, _broadcast_to, inside=RAISING["broadcast-to"]),
    Explainer("squeeze", _BAD, _squeeze, called=frozenset({"squeeze"})),
    Explainer("split", _BAD, _split, called=frozenset({"split", "vsplit", "hsplit"})),
    Explainer("update", _BAD, _update, called=frozenset({"dynamic_update_slice", "dynamic_update_slice_in_dim"})),
    Explainer("linalg", _BAD, _solve, called=frozenset({"solve", "inv", "det", "cholesky", "slogdet", "eigh", "eig"})),
    Explainer(
        "contraction",
        _BAD,
        _contraction,
        inside=RAISING["contraction"],
        called=frozenset({"@", "matmul", "dot", "tensordot", "vdot", "inner"}),
    ),
    Explainer(
        "no-broadcasting",
        _BAD,
        _no_broadcasting,
        called=frozenset({"select", "add", "sub", "mul", "div", "max", "min", "rem"}),
        inside=RAISING["lax"],
    ),
    Explainer("broadcast", _BAD, _broadcast, inside=RAISING["broadcast"]),
)
