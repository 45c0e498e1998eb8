"""What a user writes to let go of an array: derived from the paths that lead to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jaxnb.staging.objects.paths import Path, render_path

__all__ = ["CLEAR_CACHES", "CLEAR_OUT", "CLEAR_PROGRAMS", "release_of"]

CLEAR_CACHES = "jax.clear_caches()"
CLEAR_OUT = "%reset -f out"
CLEAR_PROGRAMS = "%jaxnb memory clear"


def release_of(paths: Iterable[Path], namespace: Mapping[str, Any], programs: Mapping[str, str] | None = None) -> str:
    """The statements after which nothing holds an array any more, separated by semicolons; "" without a path.

    A result that IPython remembers is held by `Out[3]`, `_3` and often `_`, so `%xdel _3` is what lets go of it. An
    item of a dict or a list is taken out alone; of anything else the name at which the path begins is deleted.

    Args:
      paths: all that lead to it.
      namespace: where they begin.
      programs: the roots among them that stand for programs, with what lets go of each.

    >>> release_of([(((None, "name", "params"), "item", "w")), (None, "name", "w")], {"params": {"w": 1}, "w": 1})
    "del params['w'], w"
    """
    deleted: list[str] = []
    others: list[str] = []
    for path in paths:
        steps = _steps(path)
        root = str(steps[0][2])
        if programs is not None and root in programs:
            others.append(programs[root])
        elif root == "Out" and len(steps) > 1:
            others.append(f"%xdel _{steps[1][2]}")
        elif root in ("Out", "_", "__", "___"):
            others.append(CLEAR_OUT)
        else:
            text, deletes = _smallest(steps, namespace)
            (deleted if deletes else others).append(text)
    found = [f"del {', '.join(dict.fromkeys(deleted))}"] if deleted else []
    return "; ".join((*found, *dict.fromkeys(others)))


def _steps(path: Path) -> list[Path]:
    """The paths on the way, from the name on."""
    steps = [path]
    while isinstance(steps[0][0], tuple):
        steps.insert(0, steps[0][0])
    return steps


def _smallest(steps: list[Path], namespace: Mapping[str, Any]) -> tuple[str, bool]:
    """The innermost item of dicts and lists on the way, and whether it is deleted, or else overwritten."""
    value: Any = namespace.get(steps[0][2])
    found = (render_path(steps[0]), True)
    for path in steps[1:]:
        if path[1] != "item" or not isinstance(value, dict | list):
            break
        kind: Any = type(value)
        value = value[path[2]]
        text = render_path(path)
        found = (text, True) if kind is dict else (f"{text} = None", False)
    return found
