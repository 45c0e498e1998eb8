"""How JAX takes objects of a class apart, as something that can be told to another process."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import jax

from jaxnb._jax.base import PYTREES

__all__ = ["PytreeRules", "pytree_rules", "register_rules"]

_registry: Any = PYTREES
_GIVEN = attrgetter("init")  # whether a field of a dataclass is an argument


@dataclass(frozen=True)
class PytreeRules:
    """What a class was registered with.

    Attributes:
      flatten, unflatten: take an object apart, and put it together.
      with_keys: takes it apart and says where each part was; None where that is not known.
      fields: of a dataclass those of its data, and the others.
      named: whether its parts are most likely its attributes.
    """

    flatten: Any = None
    unflatten: Any = None
    with_keys: Any = None
    fields: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    named: bool = False


def pytree_rules(kind: type) -> PytreeRules | None:
    """What a class was registered with; None if it was not."""
    entry = _registry.get(kind)
    if entry is None:
        return None
    flatten, unflatten = entry
    held = _closed_over(flatten) if getattr(flatten, "__module__", "") == "jax._src.tree_util" else {}
    if {"data_fields", "meta_fields"} <= held.keys():
        return PytreeRules(fields=(tuple(held["data_fields"]), tuple(held["meta_fields"])))
    made = any(base in _registry for base in kind.__mro__[1:])  # by what its base does to each class of its kind
    named = made or getattr(flatten, "__module__", "") != kind.__module__
    return PytreeRules(flatten, unflatten, held.get("flatten_with_keys"), None, named)


def register_rules(kind: type, rules: PytreeRules) -> None:
    """Registers a class as another process had registered it, unless it is known."""
    if kind in _registry:
        return
    if rules.fields is not None:
        data, meta = rules.fields
        known = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
        dropped = [one.name for one in filter(_GIVEN, known) if one.name not in (*data, *meta)]
        jax.tree_util.register_dataclass(kind, list(data), list(meta), drop_fields=dropped)
    elif rules.with_keys is not None:
        jax.tree_util.register_pytree_with_keys(kind, rules.with_keys, rules.unflatten, rules.flatten)
    elif rules.named:
        with_keys = _with_attributes(rules.flatten)
        jax.tree_util.register_pytree_with_keys(kind, with_keys, rules.unflatten, rules.flatten)
    else:
        jax.tree_util.register_pytree_node(kind, rules.flatten, rules.unflatten)


def _with_attributes(flatten: Any) -> Any:
    """Takes an object apart, and names each part by the attribute that holds it."""

    def with_keys(value: Any) -> Any:
        parts, rest = flatten(value)
        names = {id(part): name for name, part in getattr(value, "__dict__", {}).items()}
        keys = [
            jax.tree_util.GetAttrKey(names[id(part)]) if id(part) in names else jax.tree_util.FlattenedIndexKey(index)
            for index, part in enumerate(parts)
        ]
        return list(zip(keys, parts, strict=True)), rest

    return with_keys


def _closed_over(function: Any) -> dict[str, Any]:
    """What a function closes over, by name."""
    cells = getattr(function, "__closure__", None) or ()
    return {name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, cells, strict=True)}
