"""What TAB offers in the header of `%%xmap`: values and paths, names of axes, what the cell binds, resources."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jaxnb import named, program

__all__ = ["complete_map"]

_NAMES = "sizes|resources|mesh|hardware|lowering"
_OPTION = re.compile(rf"(?:^|(?<=\s))--(?P<name>{_NAMES})[\s=]+(?P<value>(?:[^-]|(?<=\w)-)*)$")
_ANY_OPTION = re.compile(r"(?:^|(?<=\s))-(?!>)")
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_NAME = re.compile(r"[^\W\d]\w*")


def complete_map(
    header: str,
    rest: str,
    *,
    binds: Sequence[str],
    reads: Sequence[str],
    attributes: Callable[[Any], Mapping[str, Any]],
    namespace: Mapping[str, Any],
) -> tuple[str, list[str]] | None:
    """What may stand at the end of a header.

    Args:
      header: up to the cursor.
      rest: what stands behind it.
      binds: the names that the cell binds.
      reads: the names of values that it reads.
      attributes: what an object holds by attribute, without running any of its code.
      namespace: the user's names.

    Returns:
      The text that is replaced, and what may replace it; None where any option may stand.
    """
    found = _OPTION.search(header)
    if found is not None:
        return _value(found["name"], found["value"], header + rest, namespace)
    if _ANY_OPTION.search(header) is not None:
        return None
    if header.count("[") > header.count("]"):
        inside = header[header.rindex("[") + 1 :]
        fragment = inside.rpartition(",")[2].lstrip()
        given = {word.strip() for word in inside[: len(inside) - len(fragment)].split(",")}
        there = [*(name for name in _axes(header[: header.rindex("[")] + rest) if name not in given), "_", "..."]
        return fragment, [name for name in there if name.startswith(fragment)]
    section, arrow, outputs = header.partition("->")
    terms = outputs if arrow else section
    fragment = re.split(r"[,\s\]]", terms)[-1]
    if not fragment and terms.rstrip().endswith("]"):
        return ("", [] if arrow else ["->"]) if not terms.endswith("]") else ("", [])
    if "." in fragment and not arrow:
        return fragment, _paths(fragment, attributes, namespace)
    given = {_NAME.match(term.strip()) for term in _BRACKET.sub("", terms[: len(terms) - len(fragment)]).split(",")}
    taken = {name.group() for name in given if name is not None}
    return fragment, [name for name in (binds if arrow else reads) if name.startswith(fragment) and name not in taken]


def _axes(header: str) -> list[str]:
    """The names of axes in a header, as they are met."""
    inside = [word.strip() for part in _BRACKET.findall(header) for word in part.split(",")]
    sizes = re.findall(r"--sizes[\s=]+([^-]*)", header)
    given = [pair.partition("=")[0].strip() for part in sizes for pair in part.split(",")]
    return list(dict.fromkeys(word for word in [*inside, *given] if word.isidentifier() and word != "_"))


def _value(option: str, value: str, header: str, namespace: Mapping[str, Any]) -> tuple[str, list[str]] | None:
    if option in ("mesh", "hardware", "lowering", "target"):
        if any(c.isspace() for c in value):
            return None
        there = ["manual", "spmd"] if option == "lowering" else _meshes(namespace)
        if option == "hardware":
            there = list(program.HARDWARE)
        elif option == "target":
            there = list(program.TARGET_KINDS)
        return value, [item for item in there if item.startswith(value)]
    fragment = re.split(r"[,=(\s]", value)[-1]
    before = value[: len(value) - len(fragment)].rstrip()
    if before and before[-1] not in ",=(":
        return None
    if before.endswith(("=", "(")) or before.count("(") > before.count(")"):
        there = [*_mesh_axes(header, namespace), "loop("] if option == "resources" else []
    else:
        used = set(re.findall(r"(\w+)\s*=", before))
        there = [f"{name}=" for name in _axes(header) if name not in used]
        if option == "resources" and not before:
            there.append("auto")
    return fragment, [item for item in there if item.startswith(fragment)]


def _meshes(namespace: Mapping[str, Any]) -> list[str]:
    return sorted(name for name, value in list(namespace.items()) if not name.startswith("_") and _is_mesh(value))


def _is_mesh(value: Any) -> bool:
    return type(value).__name__ in ("Mesh", "AbstractMesh", "FakeMesh")


def _mesh_axes(header: str, namespace: Mapping[str, Any]) -> list[str]:
    written = re.search(r"--mesh[\s=]+((?:\w+\s*=\s*\d+\s*,?\s*)+)", header)
    if written is not None:
        return re.findall(r"(\w+)\s*=", written[1])
    bound = re.search(r"--mesh[\s=]+(\w+)", header)
    mesh = namespace.get(bound[1]) if bound is not None else None
    if mesh is None and "jax" in sys.modules:
        mesh = named.current_mesh()
    return [str(name) for name in mesh.axis_names] if mesh is not None and _is_mesh(mesh) else []


def _paths(fragment: str, attributes: Callable[[Any], Mapping[str, Any]], namespace: Mapping[str, Any]) -> list[str]:
    """The paths one step below the object that a path leads to so far."""
    root, *steps = fragment.split(".")
    typed = steps.pop()
    if root not in namespace:
        return []
    value = namespace[root]
    for step in steps:
        below = _below(value, attributes)
        if step not in below:
            return []
        value = below[step]
    base = fragment[: len(fragment) - len(typed)]
    return [base + step for step in ["*", *_below(value, attributes)] if step.startswith(typed)]


def _below(value: Any, attributes: Callable[[Any], Mapping[str, Any]]) -> dict[str, Any]:
    if isinstance(value, dict):
        return {str(key): value[key] for key in list(value) if isinstance(key, str) and key.isidentifier()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return {str(index): item for index, item in enumerate(value[:50])}
    return dict(attributes(value))
