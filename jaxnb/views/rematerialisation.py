"""Policies for what a gradient keeps, side by side: what each needs, and what to write for the best."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from jaxnb.program import Finding, RematPolicies, RematPolicy
from jaxnb.units import format_bytes, format_flops
from jaxnb.views.compact import short_seconds
from jaxnb.views.escape import Html, element
from jaxnb.views.front_svg import Point, draw_front
from jaxnb.views.style import style_element
from jaxnb.views.table import Head, Table, table_element, table_lines
from jaxnb.views.text import render_findings
from jaxnb.views.width import wrapped

__all__ = ["draw_remat", "render_remat", "render_remat_html"]

_NUMBERS = ("peak", "of now", "kept", "computed again", "time")


def render_remat(policies: RematPolicies, *, width: int | None = None) -> str:
    """The policies as a table, those of the front with a star, and the best with what to write.

    Args:
      policies: that were tried.
      width: how many columns there are; by default those of the terminal.
    """
    room = max(40, shutil.get_terminal_size().columns if width is None else width)
    lines = [text for line in _said(policies) for text in wrapped(line, room)]
    lines += ["", *table_lines(_table(policies), room), *wrapped(_legend(policies), room)]
    lines += [text for line in _impossible(policies) for text in wrapped(line, room)]
    told = render_findings(_told(policies), width=room, source=policies.source)
    return "\n".join([*lines, *(["", told] if told else [])])


def render_remat_html(policies: RematPolicies) -> Html:
    """The same as HTML, with a picture of the front where times were measured."""
    parts = [element("p", {"class": "jnb-h"}, line) for line in _said(policies)]
    parts += [table_element(_table(policies)), element("p", {"class": "jnb-h"}, _legend(policies))]
    parts += [element("p", {"class": "jnb-h"}, line) for line in _impossible(policies)]
    told = render_findings(_told(policies), width=100, source=policies.source)
    parts += [element("pre", None, told)] if told else []
    drawn = draw_remat(policies)
    return element("div", {"class": "jnb"}, style_element("placement.css"), *parts, *([drawn] if drawn else []))


def draw_remat(policies: RematPolicies) -> Html:
    """Time and memory of those that were measured, as SVG; "" where none was."""
    front = set(map(id, policies.front))
    points = [
        Point(one.name, one.seconds, one.peak, front=id(one) in front)
        for one in policies.possible
        if one.seconds is not None and one.peak is not None
    ]
    return draw_front(points)


def _said(policies: RematPolicies) -> Iterator[str]:
    tried = len(policies.policies) - 1
    measured = any(one.seconds is not None for one in policies.policies)
    yield (
        f"{policies.of} · {tried} polic{'y' if tried == 1 else 'ies'} for what its forward pass keeps, each compiled"
        f"{' and measured' if measured else ', none run'}"
    )


def _legend(policies: RematPolicies) -> str:
    price = "time" if any(one.seconds is not None for one in policies.policies) else "flops"
    return f"* is beaten by no other in both memory and {price}; what is kept is counted as the program is written"


def _impossible(policies: RematPolicies) -> Iterator[str]:
    """Those that cannot be had, each with the reason."""
    for one in policies.policies:
        if one.why:
            yield f"not possible: {one.name}: {one.why}"


def _told(policies: RematPolicies) -> Iterator[Finding]:
    """What to write for the best, and what else there is to say."""
    best = policies.saving
    if best is None:
        yield Finding("remat", f"no policy needs less memory than {policies.of} as it is.")
    else:
        less = f"`{best.name}` needs {format_bytes(best.peak or 0)} instead of {format_bytes(policies.now.peak or 0)}"
        again = f", and computes {format_flops(best.again)} again" if best.again else ""
        line = best.fix.edit[0] if best.fix is not None and best.fix.edit is not None else None
        yield Finding("remat", f"{less}{again}.", line, fix=best.fix)
    yield from policies.findings


def _table(policies: RematPolicies) -> Table:
    front = set(map(id, policies.front))
    rows = [_row(one, policies.now, id(one) in front) for one in policies.policies if not one.why]
    heads = (Head(), Head("keeps", "code"), *(Head(name, "number") for name in _NUMBERS))
    used = [n for n in range(len(heads)) if any(row[n] for row in rows)]
    return Table(tuple(heads[n] for n in used), tuple(tuple(row[n] for n in used) for row in rows))


def _row(one: RematPolicy, now: RematPolicy, front: bool) -> tuple[str, ...]:
    share = f"{100 * one.peak / now.peak:.0f} %" if one is not now and one.peak is not None and now.peak else ""
    again = "?" if one.again is None else format_flops(one.again) if one.again > 0 else ""
    return (
        "*" if front else "",
        one.name,
        "?" if one.peak is None else format_bytes(one.peak),
        share,
        format_bytes(one.kept) if one.kept else "nothing",
        again,
        "" if one.seconds is None else short_seconds(one.seconds),
    )
