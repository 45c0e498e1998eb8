"""Fields of dataclasses and of modules that Python's dataclasses refuse: defaults that all objects would share, and
fields without a default behind such with one."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from jaxnb.findings.errors.edits import advice, exchanged, joined, lines_put, segment, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Scene, Step
from jaxnb.program import Fix
from jaxnb.staging import describe

__all__ = ["EXPLAINERS"]


def _step(scene: Scene, name: str) -> Step | None:
    """The innermost call of one of the functions of `dataclasses`."""
    return next((one for one in reversed(scene.steps) if one.name == name and one.module == "dataclasses"), None)


def _fields(scene: Scene) -> tuple[ast.ClassDef, dict[str, ast.AnnAssign]] | None:
    """The class that is being defined, and its fields in the order of the text."""
    node = scene.failed.node
    holder = node if isinstance(node, ast.ClassDef) else scene.failed.above_of(node, ast.ClassDef)
    holder = holder or next(
        (one for one in ast.walk(scene.failed.tree) if isinstance(one, ast.ClassDef) and _is_at(one, scene)), None
    )
    if not isinstance(holder, ast.ClassDef):
        return None
    fields = {
        item.target.id: item
        for item in holder.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    }
    return holder, fields


def _is_at(node: ast.ClassDef, scene: Scene) -> bool:
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    return first <= scene.failed.line <= node.lineno


def _shared(scene: Scene) -> Told | None:
    """`widths: list = [16, 16]`: a default that can be changed, or has no hash."""
    step, found = _step(scene, "_get_field"), _fields(scene)
    if step is None or found is None:
        return None
    holder, fields = found
    name = str(step.names.get("a_name"))
    item = fields.get(name)
    if item is None or item.value is None:
        return None
    field: Any = step.names.get("f", step.names.get("default"))
    default: Any = getattr(field, "default", field)
    text = segment(scene.failed, item.value)
    is_array = hasattr(default, "shape") and not isinstance(default, np.generic)
    kind = describe(default) if is_array else f"a {type(default).__name__}, which is mutable"
    message = (
        f"the default of the field `{name}` of `{holder.name}`, `{' '.join(text.split())}`, is {kind}: all objects"
        " would share it, and a dataclass refuses a default without a hash."
    )
    fixes: list[Fix] = []
    if isinstance(item.value, ast.List):
        inner = text.strip()[1:-1].strip().rstrip(",")
        whole = f"({inner},)" if len(item.value.elts) == 1 else f"({inner})"
        said = segment(scene.failed, item.annotation)
        new: list[tuple[ast.AST, str]] = [(item.value, whole)]
        if said.startswith("list"):
            new.append((item.annotation, "tuple" if said == "list" else f"tuple{said[4:-1]}, ...]"))
        fixes.append(Fix(f"make it a tuple: `{whole}`.", edit=exchanged(scene.failed.text, new)))
    word = _field_word(scene)
    if word:
        new_text = f"{word}(default_factory=lambda: {' '.join(text.split())})"
        fixes.append(
            Fix(
                f"make it anew for each object: `{new_text}`.",
                edit=exchanged(scene.failed.text, [(item.value, new_text)]),
            )
        )
    hint = f"make it anew for each object: dataclasses.field(default_factory=lambda: {' '.join(text.split())})."
    return Told(message, (*fixes, advice(hint)), ())


def _field_word(scene: Scene) -> str:
    """What the user would call a function that makes a field with a factory; "" if none is imported."""
    frame = scene.failed.frame
    eqx = words_of(scene, "equinox", "")
    if eqx and any(step.module.startswith("equinox") for step in scene.steps):
        return f"{eqx}.field"
    own = next(
        (
            name
            for name, value in frame.items()
            if getattr(value, "__module__", "") == "dataclasses" and (getattr(value, "__name__", "") == "field")
        ),
        "",
    )
    holder = words_of(scene, "dataclasses", "")
    return own or (f"{holder}.field" if holder else "")


def _order(scene: Scene) -> Told | None:
    """A field without a default behind one that has a default."""
    step, found = _step(scene, "_init_fn"), _fields(scene)
    if step is None or found is None:
        return None
    holder, fields = found
    field: Any = step.names.get("f")
    name = str(getattr(field, "name", ""))
    item = fields.get(name)
    if item is None or item.value is not None:
        return None
    before = [one for one in fields.values() if one.lineno < item.lineno and one.value is not None]
    names = joined([f"`{one.target.id}`" for one in before if isinstance(one.target, ast.Name)])
    inherited = ""
    if not before:
        names, inherited = "one that it inherits", " and comes from a class that it derives from"
    message = (
        f"the field `{name}` of `{holder.name}` has no default, and stands after {names}, which has one{inherited}:"
        " fields with a default come last."
    )
    fixes: list[Fix] = []
    if before and item.lineno == item.end_lineno:
        lines = scene.failed.text.split("\n")
        first, last = before[0].lineno, item.lineno
        moved = [lines[last - 1], *lines[first - 1 : last - 1]]
        edit = lines_put(scene.failed, first, last, moved)
        fixes.append(Fix(f"put it before them: `{lines[last - 1].strip()}`.", edit=edit))
    return Told(message, (*fixes, advice(f"put `{name}` first, or give it a default.")), ())


EXPLAINERS = (
    Explainer("field-default", (ValueError,), _shared, inside=frozenset({"_get_field"})),
    Explainer("field-order", (TypeError,), _order, inside=frozenset({"_init_fn"})),
)
