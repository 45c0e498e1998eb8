"""A path to a value as a user would write it, be it through closures, frames, tracebacks, caches or iterators."""

from __future__ import annotations

import re
from typing import Any

from jaxnb.staging import Path

__all__ = ["holder_text", "is_written", "scope_of"]

_NAMED_BY_REPR = (str, int, float, bool, bytes, type(None))


def is_written(key: Any) -> bool:
    """Whether the repr of a key of a dict is what a user would write."""
    if type(key) is tuple:
        return all(is_written(part) for part in key)
    return type(key) in _NAMED_BY_REPR


_SCOPES = {"closure": "closure", "local": "frame", "defaults": "defaults", "of": "of", "in": "in"}


def holder_text(path: Path) -> str:
    """Who holds a value, as a user would write it: `history[3].loss`, `` `b` in the closure of kept[0] ``.

    Of closures in closures, and frames in frames, the outermost one is named: that is what the user holds.
    """
    parts = _parts(path)
    text = parts[0][1]
    outer, last = text, ""
    for index, (word, inner) in enumerate(parts):
        if index == 0:
            continue
        around = outer if word == last else text
        outer, last = around, word
        if word in ("closure", "frame", "traceback", "defaults"):
            text = f"`{inner}` in the {word} of {around}" if inner else f"the {word} of {around}"
        elif word in ("of", "in"):
            text = f"`{inner}` {word} {around}"
        else:
            text = f"the {word} {around}"
    return text


_CHAIN = re.compile(r"(\.__(cause|context)__|\.exceptions\[\d+\])+$")
"""From an error to those that it came from."""


def scope_of(path: Path) -> str:
    """The frames, the traceback, the cache or the iterator that holds a value along this path, as text; or "".

    Of what one of these holds, the parts are of no interest to the user: all of them go when it goes.
    """
    parts = _parts(path)
    for word, _ in parts[1:]:
        if word not in ("closure", "defaults", "of", "in"):
            return f"{word} {_CHAIN.sub('', parts[0][1])}"
    return ""


def _parts(path: Path) -> list[tuple[str, str]]:
    """A path cut where it enters a scope: the name it begins with, then the kind of each scope, each with what follows.

    What follows is an expression as it would be written there, or "" where nobody could write one.
    """
    steps: list[Path] = [path]
    while isinstance(steps[0][0], tuple):
        steps.insert(0, steps[0][0])
    parts: list[tuple[str, str]] = [("", str(steps[0][2]))]
    hidden = False
    for _, kind, key in steps[1:]:
        word, text = parts[-1]
        if kind in _SCOPES:
            if word == "traceback" and text == "" and kind == "local":
                parts[-1] = (word, str(key or ""))
            else:
                parts.append((_SCOPES[kind], str(key or "")))
            hidden = key is None
        elif kind == "raised":
            parts.append(("traceback", str(key or "")))
            hidden = key is None
        elif kind == "cached":
            parts.append(("cache of", ""))
            hidden = True
        elif kind == "inside":
            if not word.endswith(" object"):  # an iterator over an iterator is one thing to the user
                parts.append((f"{key} object", ""))
            hidden = True
        elif not hidden:
            parts[-1] = (word, _written(text, kind, key))
    return parts


def _written(text: str, kind: str, key: Any) -> str:
    """An expression for what `text` holds along one edge."""
    if kind == "through" or (kind == "attr" and key in ("__class__", "__bases__")):
        return text  # an attribute of a class is one of its objects and of its subclasses, too
    if kind == "attr":
        return f"{text}.{key}"
    if kind == "item":
        return f"{text}[{', '.join(map(repr, key)) if isinstance(key, tuple) and key else repr(key)}]"
    if kind == "variable":
        return f"{text}[{key}]"
    if kind == "value":
        return f"list({text}.values())[{key}]"
    return f"list({text})[{key}]"
