"""A program as HTML with the inspector in it: the static view, the data beside it, and the script that draws it.

Where scripts do not run, or the view is sanitised, the static view stays. The script is jaxnb's own, the same in every
output, and may stand in a page once for all of them; the data is compressed JSON in base64, which no parser takes for
markup. Nothing is loaded from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Collection, Sequence
from functools import cache
from importlib.resources import files

from jaxnb.errors import JaxnbError
from jaxnb.program import Finding, Program
from jaxnb.program.codec import encode
from jaxnb.views.escape import Html
from jaxnb.views.html import render_html

__all__ = ["has_script", "is_interactive", "render_interactive", "script_element", "script_hash"]

_MARK = re.compile(r"/\*jaxnb ([0-9a-f]{16})\*/")
_OPENING = '<div class="jnb">'


@cache
def _script() -> str:
    """The script as the front end's build left it.

    Raises:
      JaxnbError: if jaxnb was installed from a tree in which it was never built.
    """
    try:
        text = files("jaxnb").joinpath("assets/inspector.js").read_text(encoding="utf-8")
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


def script_element() -> Html:
    """The script, which a page needs once, behind the last view or before it."""
    return Html(f"<script>{_script()}</script>")


def script_hash() -> str:
    """What a content policy lets this one script run by: `sha256-…`."""
    digest = hashlib.sha256(_script().encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def render_interactive(
    program: Program,
    *,
    line: str,
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
      line: what was done, in one line.
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
    data: dict[str, object] = {"line": line, "program": encode(program, levels=levels)}
    if previous is not None:
        data["previous"] = encode(previous, levels=levels)
    packed = base64.b64encode(zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 6)).decode()
    opening = f'<div class="jnb" data-jaxnb="{mark[1]}">'
    inner = static.removeprefix(_OPENING).removesuffix("</div>")
    beside = f'<script type="application/vnd.jaxnb.program">{packed}</script></div>'
    return Html(opening + inner + beside + (script_element() if script else ""))
