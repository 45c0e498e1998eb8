"""Axes of `filter_vmap` and specs of `shard_map` whose structure is not that of what the function takes or returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import jax

from jaxnb._jax import RAISING
from jaxnb.findings.errors.edits import advice, joined
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import keyword_of, making, parameter_names, put_keyword, said_name
from jaxnb.findings.errors.scene import Scene, abstract_text
from jaxnb.findings.errors.trees import Difference, first_difference, kind_of
from jaxnb.program import Fix

__all__ = ["EXPLAINERS", "filled"]

_MOST = 8
"""So many ways are tried to give each argument an entry."""


def filled(entries: Sequence[str], count: int, fills: Sequence[str]) -> Iterator[list[str]]:
    """Entries for so many arguments, of which those that there are stand in their order, and others between them.

    >>> list(filled(["0"], 2, ["None"]))
    [['0', 'None'], ['None', '0']]
    """
    if count <= len(entries):
        yield list(entries[:count])
        return
    for fill in fills:
        for kept in combinations(range(count), len(entries)):
            own = iter(entries)
            yield [next(own) if place in kept else fill for place in range(count)]


def _tuple_text(entries: Sequence[str]) -> str:
    return f"({entries[0]},)" if len(entries) == 1 else f"({', '.join(entries)})"


def _entries(scene: Scene, node: ast.expr | None, values: Sequence[Any]) -> list[str]:
    """The entries of an option as the user wrote them, or else what they are."""
    if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == len(values):
        return [scene.text(item) for item in node.elts]
    return [repr(value) for value in values]


def _option(scene: Scene, transform: str, name: str) -> tuple[ast.expr | None, ast.expr | None]:
    """Where a transformation stands, and what it gives for an option."""
    place = next(iter(making(scene, transform)), None)
    return place, keyword_of(place, name) if place is not None else None


def _counted(
    scene: Scene, transform: str, name: str, function: Any, axes: tuple[Any, ...], given: Any, fill: str
) -> Told:
    """A tuple with another number of entries than there are arguments or results."""
    inputs = name.startswith("in")
    names = parameter_names(function)[: len(given)] if inputs else []
    of = f" ({', '.join(names)})" if names and len(names) == len(given) else ""
    place, option = _option(scene, transform, name)
    entries = _entries(scene, option, axes)
    many = len(axes) != 1
    has = f"`{name}` of `{transform}` has {len(axes)} entr{'ies' if many else 'y'}, {_tuple_text(entries)}"
    what = (
        f"was given {len(given)} argument{'s' * (len(given) != 1)}{of}" if inputs else f"returns {len(given)} results"
    )
    message = f"{has}, and {said_name(function)} {what}."
    fixes: list[Fix] = []
    if place is not None:
        for new in list(filled(entries, len(given), [fill]))[:_MOST]:
            fixes.append(put_keyword(scene, "give each an entry", place, name, _tuple_text(new)))
    hint = f"give {name} one entry for each {'argument' if inputs else 'result'}, or one for all."
    return Told(message, (*fixes, advice(hint)))


def _apart(scene: Scene, transform: str, name: str, function: Any, difference: Difference, fill: str) -> Told:
    """Entries that differ from what they are for, somewhere within."""
    inputs = name.startswith("in")
    names = parameter_names(function)
    path = difference.path
    head, _, rest = path[1:].partition("]") if path.startswith("[") else ("", "", path)
    part = f"{names[int(head)]}{rest}" if inputs and head.isdigit() and int(head) < len(names) else f"result{path}"
    more = [*difference.only_first, *difference.only_second]
    shown = joined([repr(key) for key in more[:4]])
    if more and difference.only_second and any(isinstance(key, str) for key in more):
        what = f"`{name}` of `{transform}` has no entry for {shown} of `{part}`"
    elif more and any(isinstance(key, str) for key in more):
        what = f"`{name}` of `{transform}` has an entry for {shown}, which `{part}` does not have"
    else:
        what = (
            f"`{name}` of `{transform}` has {kind_of(difference.first)} for `{part}`, and that is"
            f" {kind_of(difference.second)}"
        )
    place, option = _option(scene, transform, name)
    fixes: list[Fix] = []
    if place is not None and isinstance(option, ast.Tuple) and head.isdigit() and int(head) < len(option.elts):
        leaves = {repr(one) for one in jax.tree.leaves(difference.first, is_leaf=lambda one: one is None)}
        entries = [scene.text(item) for item in option.elts]
        for text in [*(leaves if len(leaves) == 1 else ()), fill]:
            new = [text if n == int(head) else one for n, one in enumerate(entries)]
            fixes.append(put_keyword(scene, "give all of it one entry", place, name, _tuple_text(new)))
    hint = f"give {name} one entry for all of `{part}`, or one for each of its leaves."
    return Told(f"{what}, in the call of {said_name(function)}.", (*fixes, advice(hint)))


def _filter_vmap(scene: Scene) -> Told | None:
    step = scene.step("_resolve_axes")
    if step is None or not step.module.startswith("equinox"):
        return None
    axes, tree = step.names.get("axes_spec"), step.names.get("pytree")
    wrapper = next(
        (one.names.get("self") for one in scene.steps if one.name == "__call__" and "args" in one.names), None
    )
    function = getattr(wrapper, "_fun", None)
    name = "in_axes" if axes is getattr(wrapper, "_in_axes", None) else "out_axes"
    if isinstance(axes, tuple) and isinstance(tree, tuple) and len(axes) != len(tree):
        return _counted(scene, "filter_vmap", name, function, axes, tree, "None")
    if name == "in_axes" and not isinstance(axes, tuple) and isinstance(tree, tuple):
        place, option = _option(scene, "filter_vmap", name)
        text = scene.text(option) if option is not None else repr(axes)
        message = (
            f"`in_axes` of `filter_vmap` is a tuple with an entry for each argument of {said_name(function)}, and"
            f" `{text}` is {kind_of(axes)}."
        )
        fixes = [put_keyword(scene, "make a tuple of it", place, name, f"({text},)")] if place is not None else []
        return Told(message, (*fixes, advice(f"give a tuple: in_axes=({text},).")))
    difference = first_difference(axes, tree)
    return _apart(scene, "filter_vmap", name, function, difference, "None") if difference is not None else None


def _shard_map(scene: Scene) -> Told | None:
    """Specs whose number or structure is not that of the arguments or of the results."""
    last = scene.steps[-1] if scene.steps else None
    outer = next((one for one in scene.steps if one.name == "wrapped" and one.module.endswith("shard_map")), None)
    if outer is None or last is None or not last.module.endswith("shard_map"):
        return None
    names = outer.names
    function = names.get("f")
    spec = next((n for n, one in scene.failed.frame.items() if one is jax.sharding.PartitionSpec), "jax.P")
    if last is outer:
        axes, tree = names.get("in_specs"), names.get("args")
        if isinstance(axes, tuple) and isinstance(tree, tuple) and len(axes) != len(tree) and _is_plain(axes):
            return _counted(scene, "shard_map", "in_specs", function, axes, tree, f"{spec}()")
        difference = first_difference(axes, tree) if isinstance(axes, tuple) else None
        return _apart(scene, "shard_map", "in_specs", function, difference, f"{spec}()") if difference else None
    if last.name not in RAISING["shard-map-results"]:
        return None
    axes, tree = names.get("out_specs"), last.names.get("ans")
    if not isinstance(axes, tuple) or not _is_plain(axes):
        return None
    if isinstance(tree, tuple) and len(tree) != len(axes):
        return _counted(scene, "shard_map", "out_specs", function, axes, tree, f"{spec}()")
    if isinstance(tree, tuple):
        return None
    place, option = _option(scene, "shard_map", "out_specs")
    entries = _entries(scene, option, axes)
    message = (
        f"`out_specs` of `shard_map` has {len(axes)} entries, {_tuple_text(entries)}, and {said_name(function)} returns"
        f" one result, {abstract_text(tree)}."
    )
    fixes = [put_keyword(scene, "give one spec", place, "out_specs", one) for one in entries if place is not None]
    return Told(message, (*fixes, advice("give out_specs one spec for the one result.")))


def _is_plain(axes: tuple[Any, ...]) -> bool:
    """Whether it is a tuple of entries and no spec, which is one, too."""
    return not isinstance(axes, jax.sharding.PartitionSpec)


EXPLAINERS = (
    Explainer("axes-count", (ValueError,), _filter_vmap, inside=frozenset({"_resolve_axes"})),
    Explainer("specs-count", (ValueError, TypeError), _shard_map, inside=RAISING["shard-map"]),
)
