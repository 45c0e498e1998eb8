"""Axes to map over: sizes that differ, axes that are not there, options of another structure, unbound names."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import jax

from jaxnb import _jax
from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.errors.edits import advice, bracketed, dimensions, exchange, exchanged, joined, put, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import (
    bare_function,
    called_value,
    keyword_of,
    making,
    parameter_names,
    partial_of,
    put_keyword,
    said_name,
    with_keyword,
)
from jaxnb.findings.errors.scene import Operand, Scene
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]


@dataclass(frozen=True, slots=True)
class _Leaf:
    """An array that a mapped function was given.

    Attributes:
      text: as the function's parameter, with the path of the leaf.
      shape: of it.
      axis: that it is mapped along; None if it is not mapped.
    """

    text: str
    shape: tuple[Any, ...]
    axis: int | None

    @property
    def size(self) -> Any:
        """How long the axis is; None if there is none."""
        inside = self.axis is not None and -len(self.shape) <= self.axis < len(self.shape)
        return self.shape[self.axis] if inside and self.axis is not None else None

    @property
    def said(self) -> str:
        return f"axis {self.axis} of `{self.text}` {dimensions(self.shape)} is {self.size}"


@dataclass(frozen=True, slots=True)
class _Argument:
    """An argument of a mapped function.

    Attributes:
      name: of the parameter.
      keyword: whether it was given by keyword.
      leaves: its arrays.
    """

    name: str
    keyword: bool
    leaves: tuple[_Leaf, ...]

    @property
    def axis(self) -> int | None:
        axes = {leaf.axis for leaf in self.leaves}
        return axes.pop() if len(axes) == 1 else None

    @property
    def is_stacked(self) -> bool:
        """Whether it is a container of arrays that all have one leading size, as the stacked parameters of members."""
        return (
            len(self.leaves) > 1 and len({leaf.shape[:1] for leaf in self.leaves}) == 1 and bool(self.leaves[0].shape)
        )

    def fits(self, axis: int, size: Any) -> bool:
        """Whether all of it has this size along an axis."""
        return bool(self.leaves) and all(
            -len(leaf.shape) <= axis < len(leaf.shape) and leaf.shape[axis] == size for leaf in self.leaves
        )


def _arguments(scene: Scene, function: Any, args: Any, kwargs: Any, axes: Any) -> list[_Argument]:
    """The arguments with the axis of each leaf.

    Args:
      scene: of the error.
      function: that is mapped.
      args, kwargs: that it was given.
      axes: of the leaves of `(args, kwargs)`, in their order, or `in_axes` itself.
    """
    names = parameter_names(function)
    node = scene.failed.node
    texts = [scene.text(one) for one in node.args] if isinstance(node, ast.Call) else []
    if _jax.in_jax(getattr(getattr(bare_function(function), "__code__", None), "co_filename", "")) and len(
        texts
    ) == len(args):
        names = texts
    flat: list[Any] | None = None
    leaves, tree = jax.tree.flatten((args, kwargs))
    if (
        isinstance(axes, list | tuple)
        and len(axes) == len(leaves)
        and all(one is None or type(one) is int for one in axes)
    ):
        flat = list(axes)
    if flat is None:
        flat = [axes if axes is None or type(axes) is int else 0] * len(leaves)
    numbered = jax.tree.unflatten(tree, [_Spec(shape_of(leaf), axis) for leaf, axis in zip(leaves, flat, strict=True)])
    found: list[_Argument] = []
    pairs = [(names[n] if n < len(names) else f"args[{n}]", value, False) for n, value in enumerate(numbered[0])]
    for name, value, keyword in [*pairs, *((key, value, True) for key, value in numbered[1].items())]:
        items = jax.tree_util.tree_flatten_with_path(value)[0]
        found.append(
            _Argument(
                name,
                keyword,
                tuple(_Leaf(name + jax.tree_util.keystr(path), spec.shape, spec.axis) for path, spec in items),
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class _Spec:
    shape: tuple[Any, ...]
    axis: int | None


def shape_of(value: Any) -> tuple[Any, ...]:
    """The shape of an array; that of a number is ()."""
    return tuple(getattr(value, "shape", ()))


def _about(scene: Scene) -> tuple[Operand, ...]:
    return tuple(operand for operand in scene.operands if not callable(operand.value) or operand.is_array)


# --- sizes that differ ---


def _sizes(scene: Scene) -> Told | None:
    step = scene.step("_mapped_axis_size")
    outer = scene.step("vmap_f")
    if step is None or outer is None:
        return None
    names = step.names
    args, kwargs = outer.names.get("args", ()), outer.names.get("kwargs", {})
    function = names.get("fn", outer.names.get("fun"))
    arguments = _arguments(scene, function, args, kwargs, names.get("dims"))
    inner = scene.step("_get_axis_size")
    if inner is not None:
        return _no_axis(scene, function, arguments)
    leaves = [leaf for one in arguments for leaf in one.leaves if leaf.size is not None]
    if not leaves:
        return _nothing(scene, function, arguments)
    return _differing(scene, "vmap", function, arguments, outer.names.get("axis_size"))


def _differing(
    scene: Scene, transform: str, function: Any, arguments: list[_Argument], axis_size: Any = None
) -> Told | None:
    leaves = [leaf for one in arguments for leaf in one.leaves if leaf.size is not None]
    by_size: dict[Any, _Leaf] = {}
    for leaf in leaves:
        by_size.setdefault(leaf.size, leaf)
    said = [leaf.said for leaf in by_size.values()]
    if axis_size is not None and axis_size not in by_size:
        said.append(f"axis_size is {axis_size}")
    if len(said) < 2:
        return None
    shown = joined(said[:4])
    message = f"`{transform}` maps {said_name(function)} along axes that have to be of one size: {shown}."
    by_keyword = [one for one in arguments if one.keyword and any(leaf.size is not None for leaf in one.leaves)]
    odd = [one for one in by_keyword if any(leaf.size != leaves[0].size for leaf in one.leaves)]
    hint = "map what is one for all along None, such as in_axes=(None, 0), or give all one size along their axes."
    if odd:
        message += (
            f" What is given by keyword, as {joined([f'`{one.name}`' for one in odd])}, is always mapped along axis 0."
        )
        hint = "give it by position, with None for it in in_axes, or bind it with functools.partial."
    return Told(message, (*_other_axes(scene, transform, arguments), advice(hint)), _about(scene))


def _other_axes(scene: Scene, transform: str, arguments: list[_Argument]) -> Iterator[Fix]:
    """`in_axes` with which all sizes are one, those that keep most first; slices of what is longer."""
    sizes = list(dict.fromkeys(leaf.size for one in arguments for leaf in one.leaves if leaf.size is not None))
    options: list[tuple[int, tuple[int | None, ...], Any]] = []
    for size in sizes:
        axes: list[int | None] = []
        for one in arguments:
            own = one.axis
            if own is not None and one.fits(own, size):
                axes.append(own)
            else:
                rank = min((len(leaf.shape) for leaf in one.leaves), default=0)
                fitting = [axis for axis in range(rank) if one.fits(axis, size)]
                axes.append(fitting[0] if fitting else None)
        if any(axis is not None for axis in axes):
            kept = sum(axis == one.axis for axis, one in zip(axes, arguments, strict=True))
            longest = max(leaf.shape[0] for one in arguments for leaf in one.leaves if leaf.shape)
            whole = sum(axis is None and one.is_stacked for axis, one in zip(axes, arguments, strict=True))
            rank = -10 * kept + 5 * sum(axis is None for axis in axes) + 3 * whole - (size == longest)
            options.append((rank, tuple(axes), size))
    slices = list(_sliced(scene, arguments))
    for _, chosen, size in sorted(options, key=lambda one: one[0]):
        unmapped = [one for one, axis in zip(arguments, chosen, strict=True) if axis is None]
        if slices and any(not _one_for_all(one, arguments, size) for one in unmapped):
            yield from slices
            slices = []
        yield from _with_axes(scene, transform, arguments, chosen)
    yield from slices


def _one_for_all(argument: _Argument, arguments: list[_Argument], size: Any) -> bool:
    """Whether an argument looks like one that all items share: a container, a scalar, or what goes with the inner axes
    of another one."""
    if len(argument.leaves) != 1 or len(argument.leaves[0].shape) != 1 or "[" in argument.leaves[0].text:
        return True
    length = argument.leaves[0].shape[0]
    inner = {n for one in arguments if one is not argument for leaf in one.leaves for n in leaf.shape if n != size}
    return length == 1 or length in inner


def _sliced(scene: Scene, arguments: list[_Argument]) -> Iterator[Fix]:
    """The longer of two arrays cut to the length of the shorter one."""
    node = scene.failed.node
    if not isinstance(node, ast.Call) or len(arguments) != len(node.args) or any(one.keyword for one in arguments):
        return
    if any(len(one.leaves) != 1 or one.axis != 0 or not one.leaves[0].shape for one in arguments):
        return
    least = min(one.leaves[0].shape[0] for one in arguments)
    if not isinstance(least, int) or least < 2:
        return
    for one, part in zip(arguments, node.args, strict=True):
        if one.leaves[0].shape[0] > least and isinstance(part, ast.Name | ast.Attribute | ast.Subscript):
            operand = Operand(scene.text(part), part)
            yield exchange(scene, f"take as many of `{operand.text}`", (part, f"{bracketed(operand)}[:{least}]"))


def _with_axes(scene: Scene, transform: str, arguments: list[_Argument], axes: Sequence[int | None]) -> Iterator[Fix]:
    """`in_axes` with these entries; what was given by keyword is given by position."""
    text = dimensions(axes)
    said = "map the others, not it" if None in axes else "map along other axes"
    node = scene.failed.node
    for place in making(scene, transform)[:2]:
        if not any(one.keyword for one in arguments):
            yield put_keyword(scene, said, place, "in_axes", text)
        elif isinstance(node, ast.Call):
            pair = with_keyword(scene, place, "in_axes", text)
            named = [(item, scene.text(item.value)) for item in node.keywords]
            new = f"in_axes={text}"
            yield Fix(
                f"give {joined([f'`{item.arg}`' for item in node.keywords])} by position, with {new}.",
                edit=exchanged(scene.failed.text, [pair, *named]),
            )


def _no_axis(scene: Scene, function: Any, arguments: list[_Argument]) -> Told | None:
    """An axis beyond the rank of what is mapped."""
    leaves = [leaf for one in arguments for leaf in one.leaves if leaf.axis is not None and leaf.size is None]
    if not leaves:
        return None
    leaf = leaves[0]
    name = said_name(function)
    if leaf.shape == ():
        message = (
            f"`vmap` of {name} maps `{leaf.text}` along axis {leaf.axis}, and it is a scalar (), which has no axis."
        )
        hint = "leave it as it is for all: None in its place in in_axes."
        listed = next(
            (one for one in scene.operands if type(one.value) in (list, tuple) and _is_of_numbers(one.value)), None
        )
        if listed is not None:
            message = (
                f"`vmap` of {name} maps along the axes of arrays, and `{listed.text}` is a"
                f" {type(listed.value).__name__} of {len(listed.value)} numbers, a pytree whose leaves are scalars ()."
            )
            new = f"{words_of(scene)}.array({listed.text})"
            fix = exchange(scene, "make an array of it", (listed.node, new))
            return Told(message, (fix, advice("make an array of it: jnp.array(values).")), (listed,))
    else:
        count = "one axis" if len(leaf.shape) == 1 else f"{len(leaf.shape)} axes"
        message = (
            f"`vmap` of {name} maps `{leaf.text}` along axis {leaf.axis}, and {dimensions(leaf.shape)} has {count},"
            f" 0 to {len(leaf.shape) - 1}."
        )
        hint = f"map along an axis from 0 to {len(leaf.shape) - 1}, or not at all: in_axes=None."
    fixes: list[Fix] = []
    sizes = [one.leaves[0].size for one in arguments if one.leaves and one.leaves[0].size is not None]
    ranks = [len(leaf.shape) for leaf in leaves]
    for axis in range(min(ranks) if min(ranks) else 0):
        if not sizes or leaf.shape[axis] == sizes[0]:
            new = [axis if any(item in leaves for item in one.leaves) else one.axis for one in arguments]
            fixes += _axes_fix(scene, "map along an axis that is there", arguments, new)
    if sizes:
        new = [None if any(item in leaves for item in one.leaves) else one.axis for one in arguments]
        fixes += _axes_fix(scene, "map the others, not it", arguments, new)
    return Told(message, (*fixes, advice(hint)), _about(scene))


def _is_of_numbers(values: Any) -> bool:
    return bool(values) and all(type(one) in (int, float, bool, complex) for one in values)


def _axes_fix(scene: Scene, said: str, arguments: list[_Argument], axes: Sequence[int | None]) -> Iterator[Fix]:
    if any(one.keyword for one in arguments):
        return
    text = str(axes[0]) if len(set(axes)) == 1 and axes[0] is not None else dimensions(axes)
    for place in making(scene, "vmap")[:1]:
        yield put_keyword(scene, said, place, "in_axes", text)


def _nothing(scene: Scene, function: Any, arguments: list[_Argument]) -> Told:
    """No argument has an axis to map."""
    name = said_name(function)
    if not any(one.leaves for one in arguments):
        message = f"`vmap` of {name} was given no array, and so has nothing to map."
        return Told(message, (advice("give it an array, or axis_size=."),))
    message = f"`vmap` of {name} maps nothing: in_axes is None for {joined([f'`{one.name}`' for one in arguments])}."
    fixes: list[Fix] = []
    count = len(arguments)
    for place in range(count):
        if arguments[place].leaves and all(leaf.shape for leaf in arguments[place].leaves):
            axes: list[int | None] = [None] * count
            axes[place] = 0
            fixes += _axes_fix(scene, f"map `{arguments[place].name}`", arguments, axes)
    hint = "give at least one argument an axis, as in_axes=0, or say axis_size=."
    return Told(message, (*fixes, advice(hint)), _about(scene))


# --- in_axes and out_axes of another structure ---


def _count(scene: Scene) -> Told | None:
    """`in_axes` with an entry too many or too few."""
    step = scene.step("vmap_f")
    if step is None or scene.steps[-1] is not step:
        return _unmatched(scene) if step is not None else None
    axes, args = step.names.get("in_axes"), step.names.get("args", ())
    if not isinstance(axes, tuple) or len(axes) == len(args):
        return _unmatched(scene)
    function = step.names.get("fun")
    names = parameter_names(function)[: len(args)]
    of = f" ({', '.join(names)})" if len(names) == len(args) else ""
    kwargs = step.names.get("kwargs") or {}
    keyword = f"; those by keyword ({', '.join(kwargs)}) have no entry" if kwargs else ""
    message = (
        f"in_axes={axes} has {len(axes)} entr{'y' if len(axes) == 1 else 'ies'}, and {said_name(function)} was given"
        f" {len(args)} argument{'s' * (len(args) != 1)} by position{of}{keyword}."
    )
    fixes: list[Fix] = []
    for text in dict.fromkeys(_with_entries(axes, len(args))):
        for place in making(scene, "vmap")[:1]:
            fixes.append(put_keyword(scene, "give each argument an entry", place, "in_axes", text))
    return Told(
        message, (*fixes, advice("give in_axes one entry for each argument, or one number for all.")), _about(scene)
    )


def _with_entries(axes: tuple[Any, ...], count: int) -> Iterator[str]:
    """The entries for so many arguments: those that there are in their order, then others behind or between them."""
    if count <= len(axes):
        yield dimensions(axes[:count])
        return
    more = count - len(axes)
    for fill in (0, None):
        yield dimensions((*axes, *(fill,) * more))
    for kept in combinations(range(count), len(axes)) if count <= _MOST_COUNTED else ():
        own = iter(axes)
        yield dimensions([next(own) if place in kept else None for place in range(count)])


_MOST_COUNTED = 4
"""For more arguments there are too many ways to try."""


def _unmatched(scene: Scene) -> Told | None:
    """An output that is mapped where `out_axes` has None."""
    step = scene.step("vmap_f")
    path = step.names.get("path") if step is not None else None
    if step is None or scene.steps[-1] is not step or path is None:
        return None
    function, axes = step.names.get("fun"), step.names.get("out_axes")
    shown = jax.tree_util.keystr(path)
    item = f"result{shown}" if shown else "the result"
    message = (
        f"out_axes={axes} says None for {item} of {said_name(function)}, and it is another one for each item that is"
        " mapped."
    )
    fixes: list[Fix] = []
    for place in making(scene, "vmap")[:1]:
        literal = keyword_of(place, "out_axes")
        part = _at_path(literal, path) if literal is not None else None
        if part is not None:
            fixes.append(put(scene.failed, "stack it along axis 0", part, "0"))
        fixes.append(put_keyword(scene, "stack it along axis 0", place, "out_axes", "0"))
    hint = "stack it with out_axes=0, or reduce it inside, as with lax.psum over an axis_name."
    return Told(message, (*fixes, advice(hint)), _about(scene))


def _at_path(node: ast.expr | None, path: Sequence[Any]) -> ast.expr | None:
    """The item of a literal at a path of a pytree."""
    for key in path:
        index = getattr(key, "idx", None)
        if isinstance(node, ast.Tuple | ast.List) and isinstance(index, int) and index < len(node.elts):
            node = node.elts[index]
        elif isinstance(node, ast.Dict) and hasattr(key, "key"):
            known = [isinstance(one, ast.Constant) and one.value == key.key for one in node.keys]
            if True not in known:
                return None
            node = node.values[known.index(True)]
        else:
            return None
    return node


def _prefix(scene: Scene) -> Told | None:
    """`in_axes` or `out_axes` that are no prefix of what they are about."""
    step = scene.step("flatten_axes")
    outer = scene.step("vmap_f")
    if step is None or outer is None:
        return None
    function = outer.names.get("fun")
    name = str(step.names.get("name", "")).rpartition(" ")[2]
    tree = step.names.get("treedef")
    if name == "out_axes":
        return _out_axes(scene, function, tree, outer.names.get("out_axes"))
    axes, args = outer.names.get("in_axes"), outer.names.get("args", ())
    names = parameter_names(function)
    entries = axes if isinstance(axes, tuple) else (axes,) * len(args)
    for place, (entry, value) in enumerate(zip(entries, args, strict=False)):
        if not _is_prefix(entry, value):
            said = names[place] if place < len(names) else f"argument {place}"
            message = (
                f"the entry {entry} of in_axes={axes} does not go with `{said}` of {said_name(function)}, which is"
                f" {_structure(value)}: an entry is a number, None, or of the structure of its argument."
            )
            fixes = [*_nested(scene, function, entries, args), *_filled(scene, place, entry, value, args)]
            hint = "give one integer or None for each argument; for two axes of one array, nest one vmap in another."
            return Told(message, (*fixes, advice(hint)), _about(scene))
    return None


def _is_prefix(entry: Any, value: Any) -> bool:
    if entry is None or type(entry) is int:
        return True
    if type(entry) is not type(value):
        return False
    if isinstance(entry, dict):
        return set(entry) == set(value) and all(_is_prefix(entry[key], value[key]) for key in entry)
    if isinstance(entry, list | tuple):
        return len(entry) == len(value) and all(map(_is_prefix, entry, value))
    return True


def _structure(value: Any) -> str:
    if isinstance(value, dict):
        return f"a dict with {joined([f'`{key}`' for key in value])}"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    shape = getattr(value, "shape", None)
    return f"one array {dimensions(shape)}" if shape is not None else f"a {type(value).__name__}"


def _nested(scene: Scene, function: Any, entries: Sequence[Any], args: Sequence[Any]) -> Iterator[Fix]:
    """One `vmap` in another where an array was given two axes."""
    if not all(isinstance(one, tuple) and len(one) == 2 and all(type(n) is int for n in one) for one in entries):
        return
    if not all(hasattr(value, "ndim") for value in args):
        return
    for place in making(scene, "vmap")[:1]:
        if not isinstance(place, ast.Call) or not place.args:
            continue
        outer = [pair[0] for pair in entries]
        inner = [
            b % value.ndim - (b % value.ndim > a % value.ndim) for (a, b), value in zip(entries, args, strict=True)
        ]
        call = scene.text(place.func)
        new = scene.text(place.args[0])
        for axes in (inner, outer):
            given = "" if set(axes) == {0} else f", in_axes={dimensions(axes)}"
            new = f"{call}({new}{given})"
        yield put(scene.failed, "map twice, one vmap in another", place, new)


def _filled(scene: Scene, place: int, entry: Any, value: Any, args: Sequence[Any]) -> Iterator[Fix]:
    """A dict of axes with the keys that it lacks."""
    for making_place in making(scene, "vmap")[:1]:
        literal = keyword_of(making_place, "in_axes")
        part = literal.elts[place] if isinstance(literal, ast.Tuple | ast.List) else None
        if isinstance(part, ast.Dict) and isinstance(value, dict) and isinstance(entry, dict):
            sizes = {shape_of(value[key])[axis] for key, axis in entry.items() if _has_axis(value, key, axis)}
            missing = [key for key in value if key not in entry]
            kept = [
                f"{scene.text(key)}: {scene.text(item)}"
                for key, item in zip(part.keys, part.values, strict=True)
                if key is not None and not (isinstance(key, ast.Constant) and key.value not in value)
            ]
            whole = [*kept, *(f'"{key}": {_leading(value[key], sizes)}' for key in missing)]
            yield put(scene.failed, "give every key an entry", part, "{" + ", ".join(whole) + "}")
        if literal is not None and isinstance(literal, ast.Tuple | ast.List) and part is not None:
            for new in ("0", "None"):
                yield put(scene.failed, "give one number for all of it", part, new)


def _has_axis(value: Any, key: Any, axis: Any) -> bool:
    return key in value and type(axis) is int and axis < len(shape_of(value[key]))


def _leading(value: Any, sizes: set[Any]) -> str:
    shape = shape_of(value)
    return "0" if shape and shape[0] in sizes else "None"


def _out_axes(scene: Scene, function: Any, tree: Any, axes: Any) -> Told:
    result = jax.tree.unflatten(tree, [0] * tree.num_leaves)
    count = f"{len(result)} results" if isinstance(result, list | tuple) else _result(result)
    message = f"out_axes={axes} does not go with what {said_name(function)} returns: {count}."
    if isinstance(axes, tuple):
        entries = f"{len(axes)} entr{'y' if len(axes) == 1 else 'ies'}"
        message = f"out_axes={axes} has {entries}, and {said_name(function)} returns {count}."
    fixes: list[Fix] = []
    for place in making(scene, "vmap")[:1]:
        if isinstance(axes, tuple) and isinstance(result, tuple):
            new = (*axes[: len(result)], *(0,) * (len(result) - len(axes)))
            fixes.append(put_keyword(scene, "give each result an entry", place, "out_axes", dimensions(new)))
        fixes.append(put_keyword(scene, "give one number for all", place, "out_axes", "0"))
    return Told(message, (*fixes, advice("give one entry for each result, or one number for all: out_axes=0.")))


def _result(value: Any) -> str:
    if isinstance(value, dict):
        return f"a dict with {joined([f'`{key}`' for key in value])}"
    return "one array" if value == 0 and type(value) is int else f"a {type(value).__name__}"


def _entries(scene: Scene) -> Told | None:
    """Entries that are no integers."""
    step = scene.step("vmap", "pmap", "_prepare_pmap")
    if step is None or scene.steps[-1] is not step:
        return None
    for name in ("in_axes", "out_axes"):
        axes = step.names.get(name)
        odd = [leaf for leaf in jax.tree.leaves(axes) if type(leaf) is not int]
        kind = type(axes).__name__
        if not odd and (name == "out_axes" or axes is None or type(axes) in (int, tuple, list)):
            continue
        what = ", ".join(f"{leaf!r} is of type {type(leaf).__name__}" for leaf in odd[:3]) or f"{axes} is a {kind}"
        function = said_name(step.names.get("fun"))
        transform = "pmap" if "pmap" in step.name else "vmap"
        message = f"{name} of `{transform}` for {function} takes integers (int) and None, for each argument: {what}."
        fixes: list[Fix] = []
        for place in making(scene, transform)[:1]:
            literal = keyword_of(place, name)
            numbers = [
                (part, part.value.strip())
                for part in ast.walk(literal or ast.Pass())
                if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.strip("- ").isdigit()
            ]
            if numbers and literal is not None:
                edit = exchanged(scene.failed.text, numbers)
                fixes.append(Fix(f"give integers: {joined([f'`{text}`' for _, text in numbers])}.", edit=edit))
            if literal is not None and not odd:
                fixes.append(put(scene.failed, "put it into a tuple", literal, f"({scene.text(literal)},)"))
        hint = "give integers and None, in a tuple with one entry for each argument."
        return Told(message, (*fixes, advice(hint)))
    return None


# --- names of axes ---


def _name(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["axis-names"])
    if step is None:
        return None
    wanted = step.names.get("axis_name", step.names.get("name"))
    bound = step.names.get("axis_env", step.names.get("self"))
    known = [name for name in getattr(bound, "axis_sizes", {}) if isinstance(name, str)]
    node = scene.failed.node
    literal = next(
        (one for one in ast.walk(node) if isinstance(one, ast.Constant) and one.value == wanted and wanted is not None),
        None,
    )
    call = scene.text(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else "it"
    message = f'`{call}` goes along the axis name "{wanted}", and no axis of that name is bound here'
    if known:
        message += f": those that are bound are {joined([repr(name) for name in known])}."
    else:
        message += ": it is bound inside vmap, pmap or shard_map with that name only."
    fixes: list[Fix] = []
    if literal is not None:
        near = difflib.get_close_matches(str(wanted), known, 1, 0.5)
        for name in dict.fromkeys([*near, *(known if len(known) == 1 else [])]):
            fixes.append(put(scene.failed, "take the name that is bound", literal, f'"{name}"'))
    if not known and isinstance(wanted, str):
        for place in making(scene, "vmap", "pmap")[:2]:
            if keyword_of(place, "axis_name") is None:
                fixes.append(put_keyword(scene, "bind the name", place, "axis_name", f'"{wanted}"'))
        function = scene.failed.above(ast.FunctionDef)
        for jit in [one for one in getattr(function, "decorator_list", ()) if isinstance(one, ast.Attribute)]:
            if not fixes and jit.attr == "jit":
                new = f'{partial_of(scene)}({scene.text(jit.value)}.vmap, axis_name="{wanted}")'
                fixes.append(put(scene.failed, "map it, and bind the name", jit, new))
    hint = f'map the function with axis_name="{wanted}": vmap, pmap or shard_map; without, use jnp.mean or jnp.sum.'
    return Told(message, (*fixes, advice(hint)))


# --- devices ---


def _pmapped(scene: Scene) -> tuple[Any, list[_Argument]] | None:
    """What is pmapped in the failed call, and its arguments; None if that is no `pmap`."""
    function, _ = called_value(scene)
    node = scene.failed.node
    if function is not None and not _jax.is_pmapped(function):
        return None
    places = making(scene, "pmap")
    if not isinstance(node, ast.Call) or not places:
        return None
    literal = keyword_of(places[0], "in_axes")
    try:
        axes = ast.literal_eval(literal) if literal is not None else 0
    except ValueError:
        axes = 0
    args, kwargs = scene.given
    if len(args) != len(node.args):
        args = tuple(scene.failed.value_of(one) for one in node.args)
    inner = getattr(function, "__wrapped__", None) or scene.failed.value_of(_argument_of(places[0]))
    entries = axes if isinstance(axes, tuple | list) and len(axes) == len(args) else [axes] * len(args)
    flat = [
        entry if entry is None or type(entry) is int else 0
        for entry, value in zip(entries, args, strict=True)
        for _ in jax.tree.leaves(value)
    ]
    return inner, _arguments(scene, inner, args, kwargs, [*flat, *([0] * len(jax.tree.leaves(kwargs)))])


def _argument_of(place: ast.AST) -> ast.AST:
    return place.args[0] if isinstance(place, ast.Call) and place.args else place


def _pmap(scene: Scene) -> Told | None:
    known = _pmapped(scene)
    if known is None:
        return None
    function, arguments = known
    name = said_name(function, said_name(scene.failed.value_of(_argument_of(scene.failed.node))))
    differing = _differing(scene, "pmap", function, arguments)
    if differing is not None:
        return differing
    sizes = {leaf.size for one in arguments for leaf in one.leaves if leaf.size is not None}
    count = jax.local_device_count()
    if len(sizes) != 1 or (size := sizes.pop()) <= count:
        return None
    leaf = next(leaf for one in arguments for leaf in one.leaves if leaf.size is not None)
    node = scene.failed.node
    texts = {one.name: scene.text(part) for one, part in zip(arguments, getattr(node, "args", []), strict=False)}
    root = leaf.text.partition("[")[0]
    shown = texts.get(root, root) + leaf.text[len(root) :]
    message = (
        f"`pmap` of {name} gives each device one item, and axis {leaf.axis} of `{shown}` {dimensions(leaf.shape)} has"
        f" {size} for {count} devices."
    )
    fixes: list[Fix] = []
    for place in making(scene, "pmap")[:1]:
        head = place.func if isinstance(place, ast.Call) else place
        head = place.args[0] if isinstance(place, ast.Call) and scene.text(head).endswith("partial") else head
        new = scene.text(head).replace("pmap", "vmap")
        fixes.append(put(scene.failed, "map all items on one device", head, new))
    split = (
        f", as {dimensions((count, size // count, *leaf.shape[1:]))}" if size % count == 0 and leaf.axis == 0 else ""
    )
    hint = f"reshape it so that its first axis is {count}{split}, and map the second one with vmap; or use vmap alone."
    return Told(message, (*fixes, advice(hint)), _about(scene))


def _divisible(scene: Scene) -> Told | None:
    """An axis that the devices of a mesh do not divide."""
    step = scene.step("_check_divisibility")
    sharding = step.names.get("sharding") if step is not None else None
    shape = step.names.get("shape") if step is not None else None
    axis, count = (step.names.get("dim"), step.names.get("size")) if step is not None else (None, None)
    if sharding is None or not isinstance(shape, tuple) or not isinstance(axis, int) or not isinstance(count, int):
        return None
    size = shape[axis]
    operand = next((one for one in scene.arrays if one.shape == shape), None)
    shown = f"`{operand.text}` {dimensions(shape)}" if operand is not None else f"an array {dimensions(shape)}"
    spec = step.names.get("spec") if step is not None else None
    over = (
        f" (mesh axis {joined([repr(one) for one in spec]) if isinstance(spec, tuple) else repr(spec)})" if spec else ""
    )
    message = f"axis {axis} of {shown} is laid over {count} devices{over}, and {size} is not divisible by {count}."
    fixes: list[Fix] = []
    whole = size // count * count
    if operand is not None and whole:
        index = ", ".join([":"] * axis + [f":{whole}"])
        fixes.append(
            exchange(
                scene, f"leave out what is over ({size - whole})", (operand.node, f"{bracketed(operand)}[{index}]")
            )
        )
    hint = f"make axis {axis} a multiple of {count}: {whole or count}, or {whole + count} with padding."
    return Told(message, (*fixes, advice(hint)))


# --- axes of one array ---


def _beyond(scene: Scene) -> Told | None:
    """An axis of a reduction that its array does not have."""
    step = next((one for one in reversed(scene.steps) if one.name == "_axis_size" and "a" in one.names), None)
    outer = next((one for one in scene.steps if "axis" in one.names and "a" in one.names), None)
    array = scene.arrays[0] if scene.arrays else None
    if step is None or outer is None or array is None or array.shape is None:
        return None
    axis: Any = outer.names.get("axis")
    rank = len(array.shape)
    wrong = [
        one for one in (axis if isinstance(axis, tuple) else (axis,)) if type(one) is int and not -rank <= one < rank
    ]
    if not wrong:
        return None
    name = name_called(scene.failed.node) or outer.name
    count = "no axes" if not rank else "one axis" if rank == 1 else f"{rank} axes"
    where = f" in `{scene.failed.function}`" if scene.failed.function else ""
    message = f"`{array.text}` {dimensions(array.shape)} has {count}{where}, and `{name}` goes along axis {wrong[0]}."
    fixes: list[Fix] = []
    given = next((one.value for one in getattr(scene.failed.node, "keywords", ()) if one.arg == "axis"), None)
    if given is not None and type(axis) is int and rank:
        for new in dict.fromkeys([axis - 1 if 0 <= axis - 1 < rank else rank - 1, -1]):
            fixes.append(exchange(scene, "count from 0", (given, str(new))))
    return Told(
        message, (*fixes, advice(f"the axes are 0 to {rank - 1}; -1 is the last one." if rank else "leave axis out."))
    )


def _permutation(scene: Scene) -> Told | None:
    """A permutation of other axes than those of the array."""
    step = scene.step("_transpose_shape_rule")
    if step is None or not scene.arrays:
        return None
    array = scene.arrays[0]
    wanted: Any = tuple(step.names.get("permutation", ()))
    shape = array.shape or ()
    rank = len(shape)
    where = f" in `{scene.failed.function}`" if scene.failed.function else ""
    message = (
        f"`{array.text}` {dimensions(shape)} has {rank} axes{where}, and the permutation {wanted} names {len(wanted)}."
    )
    if len(wanted) == rank:
        message = f"{wanted} is no permutation of the {rank} axes of `{array.text}` {dimensions(shape)}."
    literals = [
        one
        for one in ast.walk(scene.failed.node)
        if isinstance(one, ast.Tuple | ast.List) and one is not scene.failed.node and len(one.elts) == len(wanted)
    ]
    options: list[tuple[int, ...]] = []
    if len(wanted) == rank - 1 and sorted(wanted) == list(range(rank - 1)):
        options = [(0, *(one + 1 for one in wanted)), (*wanted, rank - 1)]
    fixes = [exchange(scene, "keep the first axis", (literals[0], dimensions(one))) for one in options if literals]
    hint = f"name all {rank} axes, each once, or map the function over the leading one with vmap."
    return Told(message, (*fixes, advice(hint)))


_BAD = (TypeError, ValueError)

EXPLAINERS = (
    Explainer("mapped-sizes", (ValueError,), _sizes, inside=RAISING["mapped-sizes"]),
    Explainer("axes-structure", (ValueError,), _prefix, inside=RAISING["mapped-structure"]),
    Explainer("axes-count", (ValueError,), _count, inside=RAISING["mapped"]),
    Explainer("axes-entries", (TypeError,), _entries, inside=RAISING["mapping"]),
    Explainer("axis-name", (NameError,), _name, inside=RAISING["axis-names"]),
    Explainer("pmap", _BAD, _pmap, inside=RAISING["pmap-sizes"]),
    Explainer("divisible", (ValueError,), _divisible, inside=RAISING["divisibility"]),
    Explainer("axis", (IndexError,), _beyond, inside=RAISING["reduced"]),
    Explainer("permutation", _BAD, _permutation, inside=RAISING["permutation"]),
)
