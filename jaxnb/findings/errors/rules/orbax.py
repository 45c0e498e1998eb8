"""Checkpoints of orbax, and states of flax, that are read into another tree, or written where one is."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from jaxnb.findings.errors.calls import argument_of, is_raised_by
from jaxnb.findings.errors.edits import advice, joined, with_argument
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Scene

__all__ = ["EXPLAINERS"]


def _there(scene: Scene) -> Told | None:
    """A checkpoint written into a folder that is there."""
    node, step = scene.failed.node, scene.step("save")
    if not is_raised_by(scene, "orbax") or step is None or not isinstance(node, ast.Call):
        return None
    folder = argument_of(node, 0, "directory")
    if folder is None or step.names.get("force"):
        return None
    path: Any = step.names.get("directory", scene.failed.value_of(folder))
    try:
        there = bool(path.exists())
    except (AttributeError, OSError):
        return None
    if not there:
        return None
    text = scene.text(folder)
    message = (
        f"`{text}` exists already: `{scene.text(node.func)}` writes into a new folder, and force=True replaces it."
    )
    new = with_argument(scene.text(node), "force=True")
    hint = f"replace it, {new}, or write each step into a folder of its own."
    return Told(message, (advice(hint),))


def _other_tree(scene: Scene) -> Told | None:
    """A checkpoint read into a tree of other keys."""
    node, step = scene.failed.node, scene.step("restore")
    if not is_raised_by(scene, "orbax") or step is None or not isinstance(node, ast.Call):
        return None
    folder, target = argument_of(node, 0, "directory"), argument_of(node, 1, "target") or argument_of(node, 1, "item")
    wanted = scene.failed.value_of(target) if target is not None else None
    saved = _saved_keys(scene)
    if target is None or folder is None or not isinstance(wanted, Mapping) or saved is None:
        return None
    own = {str(key) for key in wanted}
    text, place = scene.text(target), scene.text(folder)
    lacking, more = sorted(saved - own), sorted(own - saved)
    if not lacking and not more:
        return None
    parts: list[str] = []
    if lacking:
        parts.append(f"only the checkpoint on disk, `{place}`, has {_listed(lacking)}")
    if more:
        parts.append(f"only `{text}` has {_listed(more)}")
    message = f"`{text}` and what was saved differ in their keys: {' and '.join(parts)}."
    hint = f"give `{text}` the keys that were saved: {_listed(sorted(saved))}."
    return Told(message, (advice(hint),))


def _listed(keys: list[str]) -> str:
    return joined([repr(key) for key in keys[:5]])


def _saved_keys(scene: Scene) -> set[str] | None:
    """The keys of the tree on disk, where a function on the way knows it."""
    for step in reversed(scene.steps):
        for name, value in step.names.items():
            if "meta" in name and isinstance(value, Mapping) and value and all(type(key) is str for key in value):
                return {str(key) for key in value}
            tree = getattr(value, "tree", None)
            if "meta" in name and isinstance(tree, Mapping):
                return {str(key) for key in tree}
    return None


def _state_dict(scene: Scene) -> Told | None:
    """A state of flax read into a target of other names."""
    step, node = scene.step("_restore_dict"), scene.failed.node
    if step is None or not isinstance(node, ast.Call):
        return None
    target, saved = step.names.get("xs"), step.names.get("states")
    one, two = argument_of(node, 0, "target"), argument_of(node, 1, "state")
    if not isinstance(target, Mapping) or not isinstance(saved, Mapping) or one is None or two is None:
        return None
    own, other = sorted(map(str, target)), sorted(map(str, saved))
    a, b = scene.text(one), scene.text(two)
    message = (
        f"`{a}` and `{b}` have other names: the target has {_listed(own)}, and what was saved has {_listed(other)}."
    )
    hint = "make the target with the module that was saved, whose layers have the same names, or rename the keys."
    return Told(message, (advice(hint),))


EXPLAINERS = (
    Explainer("checkpoint-there", (ValueError, FileExistsError), _there, inside=frozenset({"save"})),
    Explainer("checkpoint-tree", (ValueError, KeyError), _other_tree, inside=frozenset({"restore"})),
    Explainer("checkpoint-names", (ValueError,), _state_dict, inside=frozenset({"from_state_dict"})),
)
