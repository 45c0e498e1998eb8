"""The style sheets of the HTML views, made small enough to stand in every output."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from jaxnb.views.escape import Html, element

__all__ = ["style_element"]


@cache
def style_element(name: str) -> Html:
    """A `style` element with the sheet of that name in this package, without comments and spare space.

    >>> style_element("program.css").startswith("<style>.jnb{--accent:")
    True
    """
    text = files("jaxnb.views").joinpath(name).read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"\s+", " ", text)
    # Not around + and not before ( or [: `calc(1ch + 2px)`, `and (width)` and `.a [open]` need their spaces.
    text = re.sub(r" ?([{};,>]) ?", r"\1", text)
    return element("style", None, re.sub(r": ", ":", text).replace(";}", "}").strip())
