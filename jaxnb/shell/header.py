"""The header of a magic: options and lists of names, with errors that point at the word.

One parser serves every magic. Text is taken as it stands: no `{x}` or `$x` is expanded, lists may have spaces after
their commas, and lines that begin with `#:` at the top of the cell continue the header.

>>> parse_header("--static n, cfg.k --block -o run", JIT_OPTIONS)
{'static': ('n', 'cfg.k'), 'block': True, 'o': 'run'}
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from jaxnb import named
from jaxnb.errors import BadHeader

__all__ = [
    "GRAD_OPTIONS",
    "JAXPR_OPTIONS",
    "JIT_OPTIONS",
    "MESH_OPTIONS",
    "XMAP_OPTIONS",
    "full_header",
    "parse_grad",
    "parse_header",
]

JIT_OPTIONS: Mapping[str, str] = {
    "static": "names",
    "dynamic": "names",
    "donate": "names",
    "keep": "names",
    "name": "name",
    "device": "word",
    "devices": "number",
    "whole": "flag",
    "unroll": "flag",
    "roll": "flag",
    "block": "flag",
    "time": "flag",
    "nans": "flag",
    "diff": "flag",
    "names": "flag",
    "strict": "flag",
    "interact": "word",
    "o": "name",
}
"""The options of `%%jit`, each with what follows it: nothing, a word, a number, a name, or names and paths."""

GRAD_OPTIONS: Mapping[str, str] = {
    "value-and": "flag",
    "has-aux": "flag",
    "jvp": "names",
    "hessian": "flag",
    **{option: kind for option, kind in JIT_OPTIONS.items() if option != "interact"},
}
"""The options of `%%grad`, behind `loss wrt w1, w2`."""

XMAP_OPTIONS: Mapping[str, str] = {
    "sizes": "sizes",
    "resources": "resources",
    "mesh": "mesh",
    "hardware": "word",
    "lowering": "word",
    **{option: kind for option, kind in JIT_OPTIONS.items() if option not in ("interact", "whole", "unroll", "roll")},
}
"""The options of `%%xmap`, behind `inputs -> outputs`. Its cell is one program always."""

MESH_OPTIONS: Mapping[str, str] = {
    "explicit": "flag",
    "simulate": "flag",
    "hardware": "word",
    "devices": "number",
}
"""The options of `%jaxnb mesh`, behind `x=4, y=2`."""

JAXPR_OPTIONS: Mapping[str, str] = {
    "static": "names",
    "dynamic": "names",
    "level": "word",
    "order": "word",
    "columns": "names",
    "o": "name",
}

_WORD = re.compile(r"\S+")
_AUTO = re.compile(r"auto(?=\s|$)")
_AXES = re.compile(r"[^\W\d]\w*\s*=\s*[^\s,]+(?:\s*,\s*[^\W\d]\w*\s*=\s*[^\s,]+)*")
_PATH = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*|\[[^\]]*\])*")


def full_header(line: str, body: str) -> str:
    """The header with the `#:` lines at the top of the body."""
    parts = [line.strip()]
    for text in body.splitlines():
        if not text.startswith("#:"):
            break
        parts.append(text[2:].strip())
    return " ".join(part for part in parts if part)


def parse_grad(header: str, magic: str = "%%grad") -> dict[str, Any]:
    """Reads the header of `%%grad`: `loss wrt w1, w2`, and options.

    >>> parse_grad("loss wrt w1, w2 --hessian")
    {'loss': 'loss', 'wrt': ('w1', 'w2'), 'hessian': True}

    Args:
      header: the text behind the magic's name.
      magic: its name, for messages.

    Raises:
      BadHeader: pointing at the word that is wrong.
    """
    shown, shift, wanted = f"{magic} {header}".rstrip(), len(magic) + 1, f"{magic} loss wrt w1, w2"
    words = [*_WORD.finditer(header), None, None]
    for word, what in zip(words[:2], ("the name of the loss", "wrt, and what to differentiate by"), strict=True):
        text = word.group() if word is not None else ""
        good = text == "wrt" if word is words[1] else text.isidentifier()
        if word is None or not good or (word is words[0] and text == "wrt"):
            at = word.start() if word is not None else len(header)
            what = f"{magic} wants {what}" + (f", not {text!r}." if text else ".")
            raise BadHeader(what, header=shown, column=at + shift, width=max(1, len(text)), fix=f"write {wanted}.")
    loss, by = words[0], words[1]
    assert loss is not None and by is not None
    names, position = _value(header, by.end(), "names")
    if not names:
        what = "wrt wants a name, or several with commas."
        raise BadHeader(what, header=shown, column=by.start() + shift, width=3, fix=f"write {wanted}.")
    for name in names:
        if not name.isidentifier():
            column = header.index(name, by.end()) + shift
            fix = f"bind it to a name above, w = {name}, and use that in the cell."
            raise BadHeader(f"{name!r} is no name.", header=shown, column=column, width=len(name), fix=fix)
    return {"loss": loss.group(), "wrt": names, **parse_header(header, GRAD_OPTIONS, magic, position)}


def parse_header(header: str, options: Mapping[str, str], magic: str = "%%jit", position: int = 0) -> dict[str, Any]:
    """Reads the options in a header.

    Args:
      header: the text behind the magic's name.
      options: the options that there are, see `JIT_OPTIONS`.
      magic: its name, for messages.
      position: where the options begin.

    Returns:
      What was given, by the names of `StageOptions`.

    Raises:
      BadHeader: pointing at the word that is wrong.
    """
    shown = f"{magic} {header}".rstrip()
    shift = len(magic) + 1
    found: dict[str, Any] = {}
    while (word := _WORD.search(header, position)) is not None:
        text = word.group()
        column = word.start() + shift
        if not text.startswith("-"):
            fix = _meant(text, options) or f"options begin with --; {magic} takes {_listed(options)}."
            raise BadHeader(f"{text!r} is no option.", header=shown, column=column, width=len(text), fix=fix)
        name, _, joined = text.lstrip("-").partition("=")
        kind = options.get(name) if text.startswith("--" if len(name) > 1 else "-") else None
        if kind is None:
            fix = _meant(name, options) or f"{magic} takes {_listed(options)}."
            raise BadHeader(f"there is no option {text!r}.", header=shown, column=column, width=len(text), fix=fix)
        field = name.replace("-", "_")
        if field in found:
            raise BadHeader(f"{text} is given twice.", header=shown, column=column, width=len(text))
        position = word.end()
        if kind == "flag":
            found[field] = True
            continue
        if joined:
            position = word.end() - len(joined)
        value, position = _value(header, position, kind)
        if not value:
            what = _WANTED[kind]
            raise BadHeader(f"{text} wants {what}.", header=shown, column=column, width=len(text))
        found[field] = value
    return found


_WANTED: Mapping[str, str] = {
    "names": "a name, or several with commas",
    "name": "a name",
    "word": "a word",
    "number": "a number from 1",
    "sizes": "batch=8, or several with commas",
    "resources": "batch=x, hidden=(y, z) or rows=loop(4), or several with commas; or auto",
    "mesh": "the name of a mesh, or its axes: x=4, y=2",
}


def _value(header: str, position: int, kind: str) -> tuple[Any, int]:
    while position < len(header) and header[position].isspace():
        position += 1
    if kind == "resources" and (auto := _AUTO.match(header, position)) is not None:
        return "auto", auto.end()
    if kind == "mesh":
        if (axes := _AXES.match(header, position)) is not None:
            return axes.group(), axes.end()
        kind = "name"
    if kind in ("sizes", "resources"):
        return named.read_pairs(header, position, kind)
    if kind == "number":
        number = _WORD.match(header, position)
        text = number.group() if number is not None else ""
        return (int(text) if text.isdecimal() else None), position + len(text)
    if kind == "word":
        word = _WORD.match(header, position)
        return (word.group(), word.end()) if word is not None and not word.group().startswith("-") else (None, position)
    names: list[str] = []
    while (path := _PATH.match(header, position)) is not None:
        names.append(path.group())
        position = path.end()
        comma = re.compile(r"\s*,\s*").match(header, position)
        if kind == "name" or comma is None:
            break
        position = comma.end()
    if kind == "name":
        return (names[0] if names else None), position
    return tuple(names), position


def _listed(options: Mapping[str, str]) -> str:
    return ", ".join(f"--{name}" if len(name) > 1 else f"-{name}" for name in options)


def _meant(text: str, options: Mapping[str, str]) -> str:
    close = difflib.get_close_matches(text.lstrip("-"), options, n=1)
    return f"did you mean {_listed({close[0]: ''})}?" if close else ""
