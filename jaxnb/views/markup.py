"""The languages of notebook cells as HTML: Markdown and Python."""

from __future__ import annotations

from typing import Any

from pygments.lexers.python import PythonLexer
from pygments.token import STANDARD_TYPES

from jaxnb.views.escape import Html, element, escape, joined

__all__ = ["highlight_python", "render_markdown"]

_PLAIN = frozenset({"", "n", "p", "o", "w", "nn", "nb", "bp"})  # what has the colour of the text


def highlight_python(source: str) -> Html:
    """Python source with its tokens in spans of Pygments' short classes; lines of IPython stay plain.

    >>> highlight_python("x = 1")
    'x = <span class="mi">1</span>'
    """
    parts: list[str] = []
    lines: list[str] = []
    for line in source.split("\n"):
        if line.lstrip().startswith(("%", "!")):
            parts += [_tokens(lines), element("span", {"class": "nt"}, line), "\n"]
            lines = []
        else:
            lines.append(line)
    return Html(joined([*parts, _tokens(lines)]).rstrip("\n"))


def _tokens(lines: list[str]) -> Html:
    if not lines:
        return Html()
    parts: list[str] = []
    for kind, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens("\n".join(lines)):
        name = STANDARD_TYPES.get(kind, "")
        parts.append(escape(text) if name in _PLAIN else element("span", {"class": name}, text))
    return joined(parts)


def render_markdown(text: str) -> Html:
    """Markdown as HTML, if mistune is installed, as it is with nbconvert; otherwise its text.

    HTML inside is shown, not used. Pictures are named, not loaded.
    """
    try:
        import mistune
    except ImportError:
        return element("pre", None, text)
    return Html(mistune.create_markdown(renderer=_renderer(mistune), plugins=["table", "strikethrough"])(text))


def _renderer(mistune: Any) -> Any:
    """mistune's renderer, which escapes HTML and refuses `javascript:` links, without pictures."""

    class Renderer(mistune.HTMLRenderer):
        def image(self, text: str, url: str, title: str | None = None) -> str:
            return element("em", None, text or "picture")

    return Renderer(escape=True)
