"""Where two pytrees differ, and what the user calls them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax

from jaxnb.findings.errors.edits import joined
from jaxnb.findings.errors.scene import Operand, Scene, abstract_text, is_array

__all__ = [
    "Difference",
    "children_of",
    "first_difference",
    "is_leaf_type",
    "kind_of",
    "named_in",
    "place_in",
    "trees_of_class",
]


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place in which two pytrees differ.

    Attributes:
      path: to it, such as `['mlp'][0]`; "" for the trees themselves.
      first: what the first tree has there.
      second: what the second one has there.
      only_first: keys that only the first has there.
      only_second: keys that only the second has there.
    """

    path: str
    first: Any
    second: Any
    only_first: tuple[Any, ...] = ()
    only_second: tuple[Any, ...] = ()


def children_of(tree: Any) -> list[tuple[Any, Any]] | None:
    """The children of a pytree with their keys; None if it is a leaf."""
    if jax.tree_util.all_leaves([tree]) and tree is not None:
        return None
    items = jax.tree_util.tree_flatten_with_path(tree, is_leaf=lambda one: one is not tree)[0]
    return [(path[0] if path else None, child) for path, child in items]


def first_difference(first: Any, second: Any, path: str = "") -> Difference | None:
    """Where the structure of the first tree is no prefix of that of the second one; None if it is."""
    own = children_of(first)
    if own is None:
        return None
    other = children_of(second)
    if other is None or type(first) is not type(second):
        return Difference(path, first, second)
    here, there = [str(key) for key, _ in own], [str(key) for key, _ in other]
    if here != there:
        return Difference(
            path,
            first,
            second,
            tuple(_bare(key) for key, _ in own if str(key) not in there),
            tuple(_bare(key) for key, _ in other if str(key) not in here),
        )
    for (key, a), (_, b) in zip(own, other, strict=True):
        found = first_difference(a, b, path + str(key))
        if found is not None:
            return found
    return (
        Difference(path, first, second) if jax.tree.structure(first) != jax.tree.structure(second) and not own else None
    )


def _bare(key: Any) -> Any:
    return getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))


def is_leaf_type(value: Any) -> bool:
    """Whether it is a leaf for want of registration: an object of a class that is no array and no number."""
    return (
        not is_array(value)
        and not isinstance(value, bool | int | float | complex | str | bytes | type(None))
        and not isinstance(value, type)
        and not callable(value)
        and jax.tree_util.all_leaves([value])
    )


def kind_of(tree: Any) -> str:
    """What a node of a pytree is, in short: "a dict with the keys 'w', 'b'", "a list of 3", "an array float32[3]"."""
    if tree is None:
        return "None"
    if isinstance(tree, dict) or type(tree).__name__ == "FrozenDict":
        keys = [repr(key) for key in tree]
        name = type(tree).__name__
        more = f"the key{'s' * (len(keys) != 1)} {joined(keys[:6])}" if keys else "no keys"
        return f"{'an' if name[0] in 'aeiouO' else 'a'} {name} with {more}"
    if isinstance(tree, list | tuple) and type(tree) in (list, tuple):
        return f"a {type(tree).__name__} of {len(tree)}"
    if is_array(tree):
        return f"an array {abstract_text(tree)}"
    return f"an object of type {type(tree).__name__}"


def place_in(scene: Scene, value: Any) -> tuple[Operand, str] | None:
    """The operand of the failed expression that a pytree is, or is a part of, with the path of the part."""
    for operand in scene.operands:
        if operand.value is value and value is not None:
            return operand, ""
    for operand in scene.operands:
        for path, part in _parts(operand.value, "", 6):
            if part is value:
                return operand, path
    return None


def named_in(scene: Scene, value: Any) -> tuple[Operand, str] | None:
    """The same as `place_in`, or a name of the user's that stands for a container that was given before."""
    found = place_in(scene, value)
    if found is not None:
        return found
    if not isinstance(value, dict | list | tuple) or not value:
        return None
    for name, other in scene.failed.frame.items():
        if other is value and not name.startswith("_"):
            node = ast.Name(name, ast.Load())
            return Operand(name, node, value, scene.origin(node)), ""
    return None


def _parts(tree: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth == 0 or tree is None or callable(tree) or is_array(tree):
        return
    for key, child in children_of(tree) or []:
        if key is not None:
            yield path + str(key), child
            yield from _parts(child, path + str(key), depth - 1)


def trees_of_class(tree: Any, accepts: Any, depth: int = 6) -> Iterator[Any]:
    """The nodes and leaves of a tree that something holds of, the outermost first; nothing of the user's is called."""
    if accepts(tree):
        yield tree
    elif depth and isinstance(tree, dict):
        for child in tree.values():
            yield from trees_of_class(child, accepts, depth - 1)
    elif depth and isinstance(tree, list | tuple):
        for child in tree:
            yield from trees_of_class(child, accepts, depth - 1)
