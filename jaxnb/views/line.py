"""The line under a cell as markup: what happened, what it cost, what needs the user, each in a span of its own.

The sheet keeps it on one line: where there is no room, the cost gives way first. The whole is in the title.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxnb.program import Part, Status
from jaxnb.views.escape import Html, element, joined

__all__ = ["line_element"]


def line_element(line: Status | str) -> Html:
    """The line as markup; what is a text already has no parts.

    >>> line_element(Status((Part("reused", "reused"),)))
    '<span class="l" title="✓ reused"><span><b class="good">✓ reused</b></span></span>'
    """
    if isinstance(line, str):
        return joined([line])
    shown = [(name, parts) for name, parts in _places(line) if parts]
    places = [_place(name, parts, number > 0) for number, (name, parts) in enumerate(shown)]
    return element("span", {"class": "l", "title": str(line)}, *places)


def _places(status: Status) -> Sequence[tuple[str, Sequence[Part]]]:
    return (("", status.happened), ("q", status.cost), ("n", status.needs))


def _place(name: str, parts: Sequence[Part], behind: bool) -> Html:
    drawn: list[str] = []
    for part in parts:
        if drawn or behind:
            drawn.append(" · ")
        text = " ".join(str(part).split())
        drawn.append(element("b", {"class": part.tone}, text) if part.tone else text)
    return element("span", {"class": name} if name else None, *drawn)
