"""`in_axes` and `out_axes`: which dimension of which leaf has which name.

A spec is written for each leaf, or for a whole subtree of leaves (a pytree prefix):

- `["batch", None, "out"]` names the dimensions in order and asserts that there are exactly three;
- `["batch", ...]` names the first and says nothing of the others;
- `{1: "batch"}` names dimension 1 and says nothing of the others; `{}` names none;
- `None` names none.

A list or tuple is one spec if it holds names only, and a container of specs otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from jaxnb.named.errors import AxisSizeError, AxisSpecError

__all__ = ["LeafSpec", "check_name", "check_rank", "declared_names", "read_leaf", "read_prefix", "sizes_of"]


@dataclass(frozen=True)
class LeafSpec:
    """The names of one leaf: (position, name) by rising position, and the asserted rank, if any."""

    names: tuple[tuple[int, Any], ...] = ()
    rank: int | None = None


def check_name(name: Any, where: str) -> None:
    """Refuses what cannot be a name: JAX reads integers as positions and tuples as several names."""
    if isinstance(name, (bool, int, tuple, type(None))) or name is ... or not isinstance(name, Hashable):
        raise AxisSpecError(
            f"{where}: {name!r} cannot be the name of an axis.",
            why="integers mean positions, tuples mean several names, and None means no name.",
            fix="use a string, or any other hashable value.",
        )


def _is_entry(value: Any) -> bool:
    return not isinstance(value, (list, tuple, dict)) and isinstance(value, Hashable)


def _is_spec(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        unmapped_each = isinstance(value, tuple) and value and all(entry is None for entry in value)
        return all(map(_is_entry, value)) and not unmapped_each
    if isinstance(value, dict):
        return all(isinstance(k, int) and not isinstance(k, bool) for k in value) and all(
            map(_is_entry, value.values())
        )
    return False


def read_leaf(spec: Any, where: str) -> LeafSpec:
    """Reads the spec of one leaf; `where` is its place, such as `in_axes[0]`.

    >>> read_leaf(["batch", None, ...], "in_axes[0]")
    LeafSpec(names=((0, 'batch'),), rank=None)

    Raises:
      AxisSpecError: a name twice, a negative position, `...` anywhere but last, or no spec at all.
    """
    if spec is None:
        return LeafSpec()
    if isinstance(spec, (list, tuple)):
        entries: list[Any] = list(spec)
        rank: int | None = len(entries)
        if entries and entries[-1] is ...:
            entries.pop()
            rank = None
        if ... in entries:
            raise AxisSpecError(
                f"{where} = {spec!r} has `...` before its end.",
                why="names count from the first dimension, so only the last entry may stand for the rest.",
                fix="write a dict of positions to names, such as {1: 'batch'}.",
            )
        named = tuple((i, name) for i, name in enumerate(entries) if name is not None)
    elif isinstance(spec, dict):
        rank = None
        for position in spec:
            if position < 0:
                raise AxisSpecError(
                    f"{where} = {spec!r} names the negative dimension {position}.",
                    why="a spec does not know the rank, so it cannot count from the end.",
                    fix="count dimensions from 0.",
                )
        named = tuple(sorted(spec.items(), key=lambda item: item[0]))
    else:
        raise AxisSpecError(
            f"{where} = {spec!r} is no axis spec.",
            why="a spec is a list of names, a dict of positions to names, or None.",
            fix="write for example ['batch', ...] or {0: 'batch'}.",
        )
    for _, name in named:
        check_name(name, where)
    twice = [name for name, count in Counter(name for _, name in named).items() if count > 1]
    if twice:
        raise AxisSpecError(
            f"{where} = {spec!r} has the name {twice[0]!r} twice.",
            why="a name stands for one dimension of a value.",
            fix="give the second dimension a name of its own, or None.",
        )
    return LeafSpec(named, rank)


def read_prefix(spec: Any, tree: Any, label: str) -> list[LeafSpec]:
    """One `LeafSpec` for each leaf of `tree`, by reading `spec` as a prefix of it.

    Args:
      spec: a spec or a pytree of specs that is a prefix of `tree`; at its top a list may stand for a tuple.
      tree: the pytree of arguments or results.
      label: `in_axes` or `out_axes`, for messages.

    Raises:
      AxisSpecError: `spec` is not a prefix of `tree`, or one of its specs is wrong.
    """
    if isinstance(tree, (tuple, list)) and isinstance(spec, (tuple, list)) and not _is_spec(spec):
        spec = type(tree)(spec) if type(tree) in (tuple, list) else spec
    if isinstance(tree, tuple) and len(tree) == 1 and isinstance(spec, dict) and not _is_spec(spec):
        spec = (spec,)  # a single argument needs no tuple around its specs
    placed, prefix = jax.tree_util.tree_flatten_with_path(spec, is_leaf=_is_spec)
    leaves = [read_leaf(leaf, label + jax.tree_util.keystr(path)) for path, leaf in placed]
    try:
        subtrees = prefix.flatten_up_to(tree)
    except (ValueError, TypeError) as mismatch:
        raise AxisSpecError(
            f"{label} = {spec!r} does not have the structure of the {_things(label)}.",
            why=str(mismatch).split("\n")[0],
            fix=f"write one spec for each of the {_things(label)}, or one for a whole subtree of them.",
        ) from None
    return [leaf for leaf, sub in zip(leaves, subtrees, strict=True) for _ in jax.tree.leaves(sub)]


def _things(label: str) -> str:
    return "arguments" if label == "in_axes" else "results"


def declared_names(spec: Any, label: str) -> dict[Any, str]:
    """Every name that a pytree of specs holds, with the place where it is first written."""
    placed, _ = jax.tree_util.tree_flatten_with_path(spec, is_leaf=_is_spec)
    names: dict[Any, str] = {}
    for path, leaf in placed:
        where = label + jax.tree_util.keystr(path)
        for _, name in read_leaf(leaf, where).names:
            names.setdefault(name, where)
    return names


def check_rank(spec: LeafSpec, ndim: int, where: str, label: str) -> None:
    """Checks a spec against the rank of its leaf.

    Raises:
      AxisSpecError: the asserted rank differs, or a named position is beyond the last dimension.
    """
    if spec.rank is not None and spec.rank != ndim:
        raise AxisSpecError(
            f"{where} has {ndim} dimensions, and {label} asserts {spec.rank}.",
            why="a list of names without `...` names every dimension.",
            fix="give each dimension a name or None, or end the list with `...`.",
        )
    beyond = [(position, name) for position, name in spec.names if position >= ndim]
    if beyond:
        raise AxisSpecError(
            f"{where} has {ndim} dimensions, and {label} names dimension {beyond[0][0]} {beyond[0][1]!r}.",
            why="that dimension does not exist.",
            fix=f"name dimensions 0 to {ndim - 1}." if ndim else "leave the scalar without names: {}.",
        )


def sizes_of(
    specs: Sequence[LeafSpec],
    shapes: Sequence[tuple[int, ...]],
    places: Sequence[str],
    given: Mapping[Any, int],
) -> dict[Any, int]:
    """The size of every name, from `axis_sizes` and the shapes of the arguments.

    Raises:
      AxisSizeError: two places disagree; both are named.
    """
    sizes: dict[Any, int] = {}
    found: dict[Any, str] = {}
    for name, size in given.items():
        sizes[name], found[name] = int(size), "axis_sizes"
    for spec, shape, place in zip(specs, shapes, places, strict=True):
        for position, name in spec.names:
            here = f"{place} (dimension {position})"
            if sizes.setdefault(name, shape[position]) != shape[position]:
                raise AxisSizeError(
                    f"The name {name!r} has size {sizes[name]} in {found[name]} and {shape[position]} in {here}.",
                    why="a name has one size throughout the map.",
                    fix="check the shapes, or give one of the two dimensions another name.",
                )
            found.setdefault(name, here)
    return sizes
