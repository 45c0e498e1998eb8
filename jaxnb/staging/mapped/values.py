"""The values that go into a `%%xmap` cell and come out of it, leaf by leaf with the term that speaks of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxnb.errors import Refused
from jaxnb.named import LeafSpec, MapSpec, Term, did_you_mean

__all__ = ["Leaf", "leaf_spec", "mapped_leaves", "match_terms", "named_positions", "sizes_of", "value_of"]


class Leaf(NamedTuple):
    """One array of a pytree, with the term that speaks of it; None where none does."""

    value: Any
    place: str
    term: Term | None


def value_of(spec: MapSpec, root: str, namespace: Mapping[str, Any]) -> Any:
    if root not in namespace:
        term = next(term for term in spec.inputs if term.root == root)
        names = [name for name in namespace if not name.startswith("_")]
        near = did_you_mean(root, names)
        fix = near if near.startswith("did") else "bind it in a cell above."
        raise spec.refused_at(f"there is no `{root}`.", term, why="what goes in are names of the notebook.", fix=fix)
    return namespace[root]


def mapped_leaves(spec: MapSpec, values: Sequence[Any], *, shapes: bool = False) -> tuple[list[Leaf], list[Any]]:
    """The leaves of the values that go in, with their terms, and the trees that they make up.

    Args:
      spec: of the cell.
      values: one for each root.
      shapes: whether a `jax.ShapeDtypeStruct` may stand for an array, because nothing runs.
    """
    leaves: list[Leaf] = []
    trees: list[Any] = []
    for root, value in zip(spec.roots, values, strict=True):
        found, tree = match_terms(spec, [term for term in spec.inputs if term.root == root], root, value, shapes=shapes)
        leaves += found
        trees.append(tree)
    return leaves, trees


def match_terms(
    spec: MapSpec, terms: Sequence[Term], root: str, value: Any, *, shapes: bool = False
) -> tuple[list[Leaf], Any]:
    """The leaves of a value, each with the term that says most of it."""
    placed, tree = jax.tree_util.tree_flatten_with_path(value)
    used: set[int] = set()
    leaves: list[Leaf] = []
    for path, leaf in placed:
        steps = tuple(_step(key) for key in path)
        fits = [term for term in terms if _fits(term.steps, steps)]
        term = max(fits, key=lambda term: len(term.steps) - ("*" in term.steps), default=None)
        used.update(id(other) for other in fits)
        if term is not None and not _is_number(leaf) and not (shapes and isinstance(leaf, jax.ShapeDtypeStruct)):
            if "*" not in term.steps:
                what = f"`{term.path}` is a {type(leaf).__name__}."
                raise spec.refused_at(
                    what, term, why="only arrays and numbers have dimensions.", fix=_unpacked(leaf, term)
                )
            term = None
        leaves.append(Leaf(leaf, f"`{root}{jax.tree_util.keystr(path)}`", term))
    for term in terms:
        if id(term) not in used:
            raise _unmatched(spec, term, value, [tuple(_step(key) for key in path) for path, _ in placed])
    return leaves, tree


def _step(key: Any) -> Any:
    for attribute in ("key", "name", "idx"):
        if hasattr(key, attribute):
            return getattr(key, attribute)
    return str(key)


def _fits(steps: Sequence[Any], path: Sequence[Any]) -> bool:
    if steps and steps[-1] == "*":
        return len(path) >= len(steps) - 1 and all(map(_same, steps[:-1], path))
    return len(steps) == len(path) and all(map(_same, steps, path))


def _same(step: str | int, key: Any) -> bool:
    return step == key or (isinstance(step, int) and str(step) == key)


def _is_number(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray | np.generic | bool | int | float | complex)


def _unpacked(leaf: Any, term: Term) -> str:
    if hasattr(leaf, "__dict__"):
        return f"bind its arrays to names in a cell above: w = {term.path}.w"
    return "leave it out: the cell can read it all the same."


def _unmatched(spec: MapSpec, term: Term, value: Any, paths: Sequence[tuple[Any, ...]]) -> Refused:
    prefixes = {path[:n] for path in paths for n in range(len(path) + 1)}
    if any(_fits(term.steps, prefix) for prefix in prefixes) or not term.steps:
        what = f"`{term.path}` holds {'several arrays' if paths else 'no array'}."
        fix = f"write {term.path}.*[...] for all of them, or a path to each." if paths else "leave it out."
        return spec.refused_at(what, term, why=f"`{term.root}` is a {type(value).__name__}.", fix=fix)
    known = [path for path in prefixes if all(map(_same, term.steps, path))]
    depth = min(max(len(path) for path in known), len(term.steps) - 1)
    there = sorted({str(path[depth]) for path in prefixes if path[:depth] in known and len(path) > depth})
    what = f"`{term.path}` leads nowhere: there is no {term.steps[depth]!r}."
    return spec.refused_at(what, term, fix=did_you_mean(str(term.steps[depth]), there))


def named_positions(term: Term | None) -> tuple[tuple[int, str], ...]:
    names = term.names if term is not None else ()
    return tuple((index, name) for index, name in enumerate(names) if name is not None)


def leaf_spec(spec: MapSpec, leaf: Leaf, ndim: int, added: int | None = None) -> LeafSpec:
    """The spec of a leaf, once its number of dimensions is known to be right.

    Args:
      added: how many dimensions the map gives a result; None for what goes in.
    """
    term = leaf.term
    assert term is not None
    count, there_are = len(term.names), ndim + (added or 0)
    if count > there_are if term.open else count != there_are:
        besides = " besides its names" if added is not None else ""
        what = f"{leaf.place} has {_count(ndim, 'dimension')}{besides}; its brackets have {count - (added or 0)}."
        fix = "write a name or _ for each dimension, or ... at the end for all further ones."
        raise spec.refused_at(what, term, fix=fix)
    return LeafSpec(named_positions(term), None if term.open else count)


def sizes_of(spec: MapSpec, leaves: Sequence[Leaf]) -> dict[str, int]:
    sizes = dict(spec.sizes)
    places = dict.fromkeys(sizes, "--sizes")
    for leaf in leaves:
        for position, name in named_positions(leaf.term):
            size = np.shape(leaf.value)[position]
            if sizes.setdefault(name, size) != size:
                assert leaf.term is not None
                what = f"{name} has size {sizes[name]} in {places[name]} and {size} in {leaf.place}."
                fix = "check the shapes, or give one of the two dimensions another name."
                raise spec.refused_at(what, leaf.term, name=name, why="a name has one size in a cell.", fix=fix)
            places.setdefault(name, leaf.place)
    for term in spec.inputs:  # the tree below a star may be empty
        for name in term.names:
            if name is not None and name not in sizes:
                fix = f"say --sizes {name}=..."
                raise spec.refused_at(f"the size of {name} is not known.", term, name=name, fix=fix)
    return sizes


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
