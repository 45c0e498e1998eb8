"""Operands whose shapes do not fit."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import bound_to
from jaxnb.findings.errors.edits import advice, bracketed, dimensions, exchange, joined, sized, with_more, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Operand, Scene, is_array
from jaxnb.findings.errors.sizes import Shape, axes_text, clash, constant_of, shape_of, size_of, turned
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]


# --- products ---


def _contraction(scene: Scene) -> Told | None:
    if len(scene.arrays) < 2:
        return None
    a, b = scene.arrays[:2]
    first, second = shape_of(a), shape_of(b)
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
    first, second = shape_of(a), shape_of(b)
    if _fits(first, _flip(second)):
        yield exchange(scene, f"transpose `{b.text}`", (b.node, turned(b)))
    if _fits(_flip(first), second):
        yield exchange(scene, f"transpose `{a.text}`", (a.node, turned(a)))
    if _fits(second, first):
        yield exchange(scene, "exchange the operands", (a.node, b.text), (b.node, a.text))
    if len(first) == len(second) == 1 and isinstance(scene.failed.node, ast.BinOp):
        yield exchange(
            scene, "take the outer product", (a.node, f"{bracketed(a)}[:, None]"), (b.node, f"{b.text}[None, :]")
        )
    if len(first) == 1 and len(second) == 2 and second[0] == 1:
        yield exchange(scene, f"make a column of `{a.text}`", (a.node, f"{bracketed(a)}[:, None]"))


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
            if (axis := clash(shape_of(a), shape_of(b))) is not None:
                return _of_two(scene, a, b, axis)
    return _inner_broadcast(scene)


def _of_two(scene: Scene, a: Operand, b: Operand, axis: int) -> Told:
    first, second = shape_of(a), shape_of(b)
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
        own, wanted = shape_of(operand), shape_of(other)
        core = [size for size in own if size != 1]
        if len(own) < 2 or len(core) == len(own) or len(core) > len(wanted):
            continue
        for places in itertools.combinations(range(len(wanted)), len(core)):
            shape = [1] * len(wanted)
            for place, size in zip(places, core, strict=True):
                shape[place] = size
            if clash(tuple(shape), wanted) is None and tuple(shape) != own:
                new = f"{bracketed(operand)}.reshape{dimensions(shape)}"
                yield exchange(scene, "lay its axes otherwise", (operand.node, new))
                break


def _inner_broadcast(scene: Scene) -> Told | None:
    """Within a library: what the function that does not know how to broadcast was given."""
    step = scene.step("promote_shapes", "broadcast_shapes", "_broadcast_arrays")
    args = step.names.get("args") if step is not None else None
    shapes = [tuple(item.shape) for item in args if is_array(item)] if isinstance(args, tuple) else []
    if len(shapes) < 2:
        return None
    shown = joined([dimensions(shape) for shape in shapes])
    return Told(f"`{_short(scene)}` combines arrays of the shapes {shown}, which do not broadcast.")


def _short(scene: Scene) -> str:
    flat = " ".join(scene.failed.expression.split())
    return flat if len(flat) <= 50 else flat[:49] + "…"


def _broadcasts(scene: Scene, a: Operand, b: Operand) -> Iterator[Fix]:
    """Forms of one operand with which the other broadcasts, those that keep its shape first."""
    for operand, other in ((b, a), (a, b)):
        yield from _keeping(scene, operand, other)
    for operand, other in ((b, a), (a, b)):
        own, wanted = shape_of(operand), shape_of(other)
        if len(own) == 1 and len(wanted) >= 2:
            for axis in range(-2, -len(wanted) - 1, -1):
                if wanted[axis] == own[0]:
                    index = f"[:, {', '.join(['None'] * (-axis - 1))}]"
                    yield exchange(
                        scene, f"make a column of `{operand.text}`", (operand.node, bracketed(operand) + index)
                    )
                    break
        if len(own) >= 2 and len(own) == len(wanted) - 1 and clash((own[0], 1, *own[1:]), wanted) is None:
            yield exchange(scene, "insert an axis", (operand.node, f"{bracketed(operand)}[:, None]"))
        if len(own) < len(wanted) and clash((*own, 1), wanted) is None and len(own) > 1:
            yield exchange(scene, "insert an axis at the end", (operand.node, f"{bracketed(operand)}[..., None]"))
        if len(own) == 2 and clash(own[::-1], wanted) is None:
            yield exchange(scene, f"transpose `{operand.text}`", (operand.node, f"{bracketed(operand)}.T"))
    own, wanted = shape_of(a), shape_of(b)
    if len(own) == len(wanted) == 1:
        small, large = (a, b) if own[0] < wanted[0] else (b, a)
        length = shape_of(small)[0]
        slices = exchange(scene, f"take as many of `{large.text}`", (large.node, f"{bracketed(large)}[:{length}]"))
        each = exchange(scene, "combine each with each", (b.node, f"{bracketed(b)}[:, None]"))
        yield from (slices, each) if abs(own[0] - wanted[0]) <= 2 else (each, slices)


def _keeping(scene: Scene, operand: Operand, other: Operand) -> Iterator[Fix]:
    """A reduction that the operand is, or was assigned, with `keepdims=True`."""
    call = operand.node if isinstance(operand.node, ast.Call) else bound_to(scene.failed, operand.node)
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
    if any(keyword.arg == "keepdims" for keyword in call.keywords) or len(shape_of(operand)) >= len(shape_of(other)):
        return
    yield with_more(scene.failed, f"keep the axis that `{name}` sums up", call, "keepdims=True")


# --- concatenating and stacking ---


def _concatenation(scene: Scene) -> Told | None:
    arrays = _spread(scene)
    axis_given = scene.argument(1, "axis")
    axis = (
        axis_given.value if axis_given is not None and isinstance(axis_given.value, int) else constant_of(axis_given, 0)
    )
    if "hstack" in scene.called:
        axis = 1 if len(shape_of(arrays[0])) > 1 else 0
    if len(arrays) < 2:
        return None
    if any(shape_of(operand) == () for operand in arrays):
        return Told(
            f"{joined([sized(o) for o in arrays])}: scalars cannot be joined, only stacked.", _of_scalars(scene, arrays)
        )
    first = arrays[0]
    for other in arrays[1:]:
        one, two = shape_of(first), shape_of(other)
        if len(one) != len(two):
            message = (
                f"{sized(first)} has {axes_text(one)}, {sized(other)} has {axes_text(two)}: what is joined has as many."
            )
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


def _of_scalars(scene: Scene, arrays: list[Operand]) -> tuple[Fix, ...]:
    """Scalars with an axis, beside arrays that have one; the stack of scalars alone."""
    if all(shape_of(one) == () for one in arrays):
        return _stacked(scene)
    scalars = [one for one in arrays if shape_of(one) == () and not isinstance(one.node, ast.Constant)]
    numpy = words_of(scene)
    new = [
        (one.node, f"{numpy}.atleast_1d({one.text})" if not one.is_array else f"{bracketed(one)}[None]")
        for one in scalars
    ]
    fixes = (
        [exchange(scene, "give what is a scalar an axis", *new)]
        if len(new) == sum(shape_of(o) == () for o in arrays)
        else []
    )
    return (*fixes, advice("give scalars an axis, x[None], or use jnp.append."))


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


def _raised(scene: Scene, first: Operand, other: Operand, axis: int) -> Iterator[Fix]:
    low, high = (first, other) if len(shape_of(first)) < len(shape_of(other)) else (other, first)
    own, wanted = shape_of(low), shape_of(high)
    for place in range(len(wanted)):
        grown = (*own[:place], 1, *own[place:])
        if len(grown) == len(wanted) and all(
            grown[n] == wanted[n] for n in range(len(wanted)) if n != axis % len(wanted)
        ):
            index = ", ".join([":"] * place + ["None"])
            yield exchange(scene, f"give `{low.text}` an axis", (low.node, f"{bracketed(low)}[{index}]"))


def _joins(scene: Scene, first: Operand, other: Operand) -> Iterator[Fix]:
    one, two = shape_of(first), shape_of(other)
    differ = [n for n in range(len(one)) if one[n] != two[n]]
    node = scene.failed.node
    if len(differ) == 1 and isinstance(node, ast.Call) and "concatenate" in scene.called:
        given = next((keyword.value for keyword in node.keywords if keyword.arg == "axis"), None)
        given = node.args[1] if given is None and len(node.args) > 1 else given
        if given is not None:
            yield exchange(scene, f"join along axis {differ[0]}", (given, str(differ[0])))
        else:
            yield with_more(scene.failed, f"join along axis {differ[0]}", node, f"axis={differ[0]}")
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
    other = next((o for o in arrays[1:] if shape_of(o) != shape_of(arrays[0])), None)
    if other is None:
        return None
    message = f"{sized(arrays[0])} and {sized(other)} cannot be stacked: all have to have the same shape."
    fixes: list[Fix] = []
    node = scene.failed.node
    one, two = shape_of(arrays[0]), shape_of(other)
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
    size = size_of(shape_of(array))
    sizes = _wanted_sizes(scene, wanted)
    if sizes is None:
        return None
    if -1 in sizes:
        rest = size_of(tuple(n for n in sizes if n != -1))
        shape = dimensions(sizes)
        message = f"{sized(array)} has {size} elements, which {rest} does not divide: {shape} leaves no whole axis."
    else:
        message = f"{sized(array)} has {size} elements, and {dimensions(sizes)} has {size_of(sizes)}."
    divides = f"take sizes whose product is {size}, or divides it with one axis -1"
    told = (
        f"{divides}; jnp.broadcast_to repeats an axis of size 1."
        if size == 1 or 1 in shape_of(array)
        else f"{divides}."
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
    own = shape_of(array)
    if len(nodes) != len(sizes):
        return
    if own and len(sizes) == 2 and -1 not in sizes and size % sizes[1] == 0 and sizes[1] != own[0]:
        yield exchange(scene, "let the first axis be what is left", (nodes[0], "-1"))
    if own and len(sizes) >= 2:
        rest = size_of(sizes[1:]) if -1 not in sizes[1:] else None
        if rest is None or rest * own[0] != size:
            last = nodes[-1]
            if len(sizes) == 2:
                yield exchange(scene, "keep the first axis", (nodes[0], f"{bracketed(array)}.shape[0]"), (last, "-1"))
    for place in range(len(sizes) - 1, -1, -1):
        others = size_of(tuple(n for k, n in enumerate(sizes) if k != place))
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


def _broadcast_to(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["broadcast-to"])
    inner = step.names if step is not None else {}
    own, wanted = getattr(inner.get("arr"), "shape", None), inner.get("shape")
    if own is None or wanted is None:
        return None
    own, wanted = tuple(own), tuple(wanted)
    values = [o for o in scene.arrays if shape_of(o) == own] or list(scene.arrays[-1:])
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
    own = len(shape_of(array))
    shown = f"axis {axis}" if isinstance(axis, int) else "an axis that is named"
    beyond = f" (with the new ones {rank})" if isinstance(rank, int) and rank != own else ""
    allowed = f": {-own} to {own - 1}" if own else ""
    message = f"{sized(array)} has {axes_text(shape_of(array))}{beyond}, and {shown} is not one of them{allowed}."
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
    own, wanted = mask.shape, shape_of(indexed[0])
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
                f"give it the same length: {wanted[place] if place < len(wanted) else 0} items for axis {place}, or"
                " index another axis, such as [:, mask]."
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
    own = len(shape_of(array))
    if len(taken) <= own:
        return None
    message = f"{sized(array)} has {axes_text(shape_of(array))}, and is indexed with {len(taken)}."
    whole = [item for item in given if isinstance(item, ast.Slice) and item.lower is None and item.upper is None]
    one = len(taken) - own
    left = given[:-one] if isinstance(given[-1], ast.Constant) or len(whole) < one else given[one:]
    kept = [", ".join(scene.text(item) for item in part) for part in (left, given[:own], given[-own:]) if own and part]
    fixes = [exchange(scene, "leave the surplus out", (node.slice, new)) for new in dict.fromkeys(kept)]
    return Told(message, (*fixes, advice("give as many indices as it has axes.")))


_BAD = (TypeError, ValueError)

EXPLAINERS = (
    Explainer("mask", (IndexError, ValueError), _mask, called=frozenset({"[]"}), inside=RAISING["mask"]),
    Explainer("indices", (IndexError,), _indices, called=frozenset({"[]"})),
    Explainer("axis", _BAD, _axis, inside=RAISING["axis"]),
    Explainer(
        "concatenation", _BAD, _concatenation, called=frozenset({"concatenate", "concat", "hstack", "vstack", "append"})
    ),
    Explainer("stacking", _BAD, _stacking, called=frozenset({"stack"})),
    Explainer("reshape", _BAD, _reshape, inside=RAISING["reshape"]),
    Explainer("broadcast-to", _BAD, _broadcast_to, inside=RAISING["broadcast-to"]),
    Explainer(
        "contraction",
        _BAD,
        _contraction,
        inside=RAISING["contraction"],
        called=frozenset({"@", "matmul", "dot", "tensordot", "vdot", "inner"}),
    ),
    Explainer("broadcast", _BAD, _broadcast, inside=RAISING["broadcast"]),
)
