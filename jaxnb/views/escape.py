"""HTML, built from elements: the one place where text becomes markup, and where it is escaped.

Cells, names, literals and messages are the user's or a stranger's; nothing of theirs may become a tag, an
attribute or a script, or change the direction of what stands beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

__all__ = ["Html", "element", "escape", "joined", "visible"]

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_SVG = frozenset({"viewBox"})  # a name that SVG writes with a capital
_REFUSED = frozenset({"script", "iframe", "object"})
_VOID = frozenset({"br", "hr", "img", "meta"})
_RAW = frozenset({"style"})
# C0 and C1 controls but tab and newline, and the marks that turn the direction of the text around them.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ENTITIES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord('"'): "&quot;", ord("'"): "&#39;"}


class Html(str):
    """Markup: what `element` and `escape` return, and what they do not escape again."""

    __slots__ = ()

    def __html__(self) -> Html:
        """Itself, for templates, which escape what has no such method."""
        return self


def escape(text: str) -> Html:
    """Text as markup that shows it, fit for content and for quoted attributes. Markup stays as it is.

    Control characters are shown as escapes: a browser would drop them or obey them.

    >>> escape("<b>")
    '&lt;b&gt;'
    """
    if isinstance(text, Html):
        return text
    return Html(visible(text).translate(_ENTITIES))


def visible(text: str) -> str:
    """Text or markup in which control characters are escapes.

    >>> visible("<\\x1b>")
    '<\\\\x1b>'
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def element(tag: str, attributes: Mapping[str, str] | None = None, *children: str) -> Html:
    """An element with its children, which are escaped unless they are markup.

    Args:
      tag: its name; `script` and the like are refused.
      attributes: values are escaped; names that begin with `on` are refused.
      children: text or markup.

    Raises:
      ValueError: for a name that is not one, an event handler, a script, or a style that would end early.

    >>> element("span", {"class": "op"}, "a < b")
    '<span class="op">a &lt; b</span>'
    """
    for name in (tag, *(attributes or ())):
        if (
            not (_NAME.fullmatch(name) or name in _SVG)
            or name.startswith("on")
            or name in ("script", "iframe", "object")
        ):
            raise ValueError(f"{name!r} is not a name that this page may use")
    marks = "".join(f' {name}="{escape(value)}"' for name, value in (attributes or {}).items())
    if tag in _VOID:
        return Html(f"<{tag}{marks}>")
    if tag in _RAW:
        # The content of a style is not parsed for entities: it must be safe as it is.
        text = "".join(children)
        if "<" in text:
            raise ValueError(f"a {tag} cannot hold '<'")
        return Html(f"<{tag}{marks}>{text}</{tag}>")
    return Html(f"<{tag}{marks}>{joined(children)}</{tag}>")


def joined(children: Iterable[str], separator: str = "") -> Html:
    """Text and markup one after the other, as markup."""
    return Html(escape(separator).join(escape(child) for child in children))
