"""Gradients as tables: each expression forwards, what it is for the derivative, its tangent and its transpose."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from jaxnb.program import Counted, DifferentiatedPart, DifferentiatedProgram, Gradients, has_tangent
from jaxnb.units import format_bytes
from jaxnb.views.escape import Html, element
from jaxnb.views.rows import short_type
from jaxnb.views.style import style_element
from jaxnb.views.table import Head, Table, table_element, table_lines
from jaxnb.views.width import wrapped

__all__ = ["render_gradients", "render_gradients_html"]

_MOST = 60
_HEADS = ("forward", "", "keeps", "tangent", "transposed")
_SHARES = (0.3, 0.2, 0, 0.2, 0.25)  # of the room


def render_gradients(gradients: Gradients, *, width: int | None = None, limit: int | None = _MOST) -> str:
    """Each gradient as a table below the lines of the cell.

    Args:
      gradients: of a cell.
      width: how many columns there are; by default those of the terminal.
      limit: how many expressions of one at most, or None for all.
    """
    room = max(60, shutil.get_terminal_size().columns if width is None else width)
    lines: list[str] = []
    for number, one in enumerate(gradients.gradients, start=1):
        lines += [text for line in _said(one, number, len(gradients.gradients)) for text in wrapped(line, room)]
        lines += ["", *table_lines(_table(one, limit, room - 24), room), ""]
        if limit is not None and len(one.parts) > limit:
            lines += [f"and {len(one.parts) - limit} more expressions", ""]
    lines += [text for why in gradients.refused for text in wrapped(f"a gradient was not looked at: {why}", room)]
    return "\n".join(lines).rstrip()


def render_gradients_html(gradients: Gradients, *, limit: int | None = _MOST) -> Html:
    """The same as HTML. Arguments: as of `render_gradients`."""
    parts: list[Html] = []
    for number, one in enumerate(gradients.gradients, start=1):
        said = _said(one, number, len(gradients.gradients))
        parts += [element("p", {"class": "jnb-h"}, line) for line in said]
        parts.append(table_element(_table(one, limit, None)))
        if limit is not None and len(one.parts) > limit:
            parts.append(element("p", {"class": "jnb-h"}, f"and {len(one.parts) - limit} more expressions"))
    parts += [element("p", {"class": "jnb-h"}, f"a gradient was not looked at: {why}") for why in gradients.refused]
    return element("div", {"class": "jnb"}, style_element("placement.css"), style_element("ledger.css"), *parts)


def _said(one: DifferentiatedProgram, number: int, count: int) -> Iterator[str]:
    forward, linear, transposed = one.equations
    which = f"gradient {number} of {count}" if count > 1 else "the gradient"
    known = sum(n for part in one.parts if not part.depends for _, n in part.forward)
    yield (
        f"{which} by {one.floating} array{'s' * (one.floating != 1)} · forward {forward} eqns, {known} of them known"
        f" ahead · derivative {linear}, all linear · transposed {transposed} · keeps {format_bytes(one.kept)}"
    )
    without = Counter(short_type(aval) for _, aval in one.inputs if not has_tangent(aval))
    if without:
        listed = ", ".join(f"{text} ×{n}" if n > 1 else text for text, n in without.items())
        yield f"no tangent, which is of type float0: {listed}"


def _table(one: DifferentiatedProgram, limit: int | None, room: int | None) -> Table:
    rows = tuple(_rows(one.parts[:limit]))
    told = any(part.what for part in one.parts[:limit])  # a column without a word has no room
    shares = _SHARES if told else (_SHARES[0] + _SHARES[1], 0, *_SHARES[2:])
    most = [int((room or 0) * share) + 4 if share and room is not None else None for share in shares]
    kinds: list[Literal["code", "text", "number"]] = ["code", "text", "number", "code", "code"]
    heads = (Head(text, kind, most=widest) for text, kind, widest in zip(_HEADS, kinds, most, strict=True))
    return Table((Head("", "number", least=3), *heads), rows)


def _rows(parts: Sequence[DifferentiatedPart]) -> Iterator[tuple[str, ...]]:
    last: tuple[int | None, str] | None = None
    for part in parts:
        if (part.line, part.file) != last:
            yield str(part.line or ""), " · ".join(filter(None, (part.text, part.file))) or "(from outside the cell)"
            last = part.line, part.file
        cells = [_listed(part.forward), [part.what], [format_bytes(part.kept)] if part.kept else []]
        cells += [_listed(part.tangent), _listed(part.transposed)]
        cells[0][-1] = f"{cells[0][-1]} → {short_type(part.types[-1])}" if part.types else cells[0][-1]
        for number in range(max(map(len, cells))):
            yield "", *(some[number] if number < len(some) else "" for some in cells)


def _listed(names: Sequence[Counted]) -> list[str]:
    """Names in rows of a few."""
    told = [f"{name} ×{count}" if count > 1 else name for name, count in names]
    return [", ".join(told[at : at + 3]) for at in range(0, len(told), 3)]
