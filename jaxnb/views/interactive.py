"""A program as HTML with the inspector in it: the static view, the data beside it, and the script that draws it.

Where scripts do not run, or the view is sanitised, the static view stays. The script is jaxnb's own, the same in every
output, and may stand in a page once for all of them; the data is compressed JSON in base64, which no parser takes for
markup. A program with diagrams brings a second script, which draws them. Nothing is loaded from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files

import jaxnb.views as room
from jaxnb.errors import JaxnbError
from jaxnb.program import Finding, Program, Status, encode, encode_status
from jaxnb.views.escape import Html
from jaxnb.views.html import render_html
from jaxnb.views.packing import pack

__all__ = ["has_script", "is_interactive", "render_interactive", "script_hashes", "scripts_for"]

_MARK = re.compile(r"/\*jaxnb ([0-9a-f]{16})\*/")
_OPENING = '<div class="jnb">'
_WITH_DIAGRAMS = ' data-diagrams=""'


@cache
def _script(name: str = "inspector") -> str:
    """A script as the front end's build left it: "inspector" or "diagrams".

    Raises:
      JaxnbError: if jaxnb was installed from a tree in which it was never built.
    """
    try:
        text = files("jaxnb").joinpath(f"assets/{name}.js").read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise JaxnbError(
            "the inspector's script is not there.",
            why="this jaxnb runs from a source tree in which the front end was not built.",
            fix="run `make extension`, or install jaxnb again.",
        ) from error
    lowered = text.lower()
    if "</script" in lowered or "<!--" in lowered:
        raise ValueError("the script would end the element that it stands in")
    return text


def has_script() -> bool:
    """Whether the script was built, so that `render_interactive` can be used."""
    return files("jaxnb").joinpath("assets/inspector.js").is_file()


def is_interactive(html: str) -> bool:
    """Whether a view is one of `render_interactive` that is drawn by the script of this jaxnb."""
    return html.startswith('<div class="jnb" data-jaxnb="')


def _needed(views: Iterable[str]) -> list[str]:
    """The scripts that views need; the inspector's comes last, since it begins at once."""
    opened = [html[: html.find(">")] for html in views if is_interactive(html)]
    diagrams = any(opening.endswith(_WITH_DIAGRAMS) for opening in opened)
    return [*(["diagrams"] if diagrams else []), *(["inspector"] if opened else [])]


def scripts_for(views: Iterable[str]) -> Html:
    """The scripts that a page with these views needs, once, behind the last of them or before it; "" if it needs none.

    Args:
      views: HTML of `render_interactive` and of others.
    """
    return Html("".join(f"<script>{_script(name)}</script>" for name in _needed(views)))


def script_hashes(views: Iterable[str]) -> list[str]:
    """What a content policy lets the scripts of `scripts_for` run by, and no others: `sha256-…`."""
    digests = (hashlib.sha256(_script(name).encode()).digest() for name in _needed(views))
    return [f"sha256-{base64.b64encode(digest).decode()}" for digest in digests]


def render_interactive(
    program: Program,
    *,
    line: Status | str,
    findings: Sequence[Finding] | None = None,
    level: str | None = None,
    levels: Collection[str] | None = None,
    limit: int | None = 60,
    previous: Program | None = None,
    script: bool = True,
) -> str:
    """The static view with the program's data, and, unless the page has it already, the script.

    Args:
      program: what the cell became. No level of it is made for this.
      line: what was done, in one line, as its parts or as text.
      findings: what the static view shows under the line; by default the program's own.
      level: which level the static view shows; by default the one below the source.
      levels: which levels go into the data; by default all that were made.
      limit: how many equations the static view shows at most.
      previous: the program of the run before, to compare with.
      script: whether the script goes with it, as one output needs that stands alone.

    Raises:
      JaxnbError: if the script was not built.
    """
    static = render_html(program, line=line, findings=findings, level=level, limit=limit)
    mark = _MARK.match(_script())
    if mark is None or not static.startswith(_OPENING):
        raise ValueError("the static view or the script is not as this module knows it")
    encoded = room.encode_drawn(program, levels=levels)
    if isinstance(line, Status):
        encoded["status"] = encode_status(line)
    data: dict[str, object] = {"line": str(line), "program": encoded}
    if previous is not None:
        data["previous"] = {**encode(previous, levels=levels), "trees": room.encode_trees(previous, levels)}
    opening = f'<div class="jnb" data-jaxnb="{mark[1]}"{_WITH_DIAGRAMS * ("drawings" in encoded)}>'
    inner = static.removeprefix(_OPENING).removesuffix("</div>")
    beside = f'<script type="application/vnd.jaxnb.program">{pack(data)}</script></div>'
    view = opening + inner + beside
    return Html(view + (scripts_for([view]) if script else ""))
