"""How wide text is in a terminal, and how it is made to fit."""

from __future__ import annotations

import textwrap
from unicodedata import east_asian_width

__all__ = ["chunks", "clipped", "padded", "printable", "text_width", "wrapped"]


def text_width(text: str) -> int:
    """How many columns a text takes; Chinese, Japanese and Korean characters take two."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def padded(text: str, width: int) -> str:
    """The text with spaces behind it, up to a width in columns."""
    return text + " " * (width - text_width(text))


def chunks(text: str, width: int) -> list[str]:
    """The text in pieces that take at most so many columns, at least one piece.

    >>> chunks("abcde", 2)
    ['ab', 'cd', 'e']
    """
    pieces, taken = [""], 0
    for c in text:
        taken += text_width(c)
        if taken > width:
            pieces.append("")
            taken = text_width(c)
        pieces[-1] += c
    return pieces


def clipped(text: str, width: int) -> str:
    """The text, or as much of its beginning as fits with a mark behind it."""
    return text if text_width(text) <= width else chunks(text, width - 1)[0] + "…"


def printable(text: str) -> str:
    """Text without control characters, which a terminal would obey: they are shown as escapes, `\\x1b`.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def wrapped(text: str, width: int) -> list[str]:
    """The text in lines; what goes on is indented by four more columns than it begins."""
    text = printable(text)
    indent = " " * (len(text) - len(text.lstrip()) + 4)
    return textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False) or [""]
