"""Kernels of a program for a GPU as text and HTML: what each takes of the device and its PTX, or a table of all."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence

from jaxnb.program import Launch, Ptx
from jaxnb.units import format_bytes
from jaxnb.views.escape import Html, element
from jaxnb.views.style import style_element
from jaxnb.views.table import Head, Table, table_element, table_lines
from jaxnb.views.width import wrapped

__all__ = ["render_ptx", "render_ptx_html"]

_HEADS = (
    Head("instruction", "code"),
    Head("line", "number"),
    Head("blocks", "number"),
    Head("threads", "number"),
    Head("registers", "number"),
    Head("spilled", "number"),
    Head("shared", "number"),
    Head(),
)
_MOST_LINES = 200
_MOST_ROWS = 64
_NONE = "nothing of the program is launched: it has no kernels"


def render_ptx(ptx: Ptx, *, width: int | None = None, limit: int | None = _MOST_LINES) -> str:
    """The kernels that were asked for with their PTX; everything that is launched as a table, if none was asked for.

    Args:
      ptx: what there is.
      width: how many columns there are; by default those of the terminal. PTX is as wide as it is.
      limit: how many lines of PTX at most of each kernel, or None for all, and for all rows of the table.
    """
    room = max(40, shutil.get_terminal_size().columns if width is None else width)
    if not len(ptx):
        return _NONE
    if ptx.asked is None:
        shown = ptx.items if limit is None else ptx.items[:_MOST_ROWS]
        return "\n".join([*table_lines(_table(shown), room), *wrapped(_more(ptx, len(shown)) + _NOTE, room)])
    heads = [[line for text in _heads(one, ptx.source) for line in wrapped(text, room)] for one in ptx.items]
    return "\n\n".join("\n".join([*head, *_text(one, limit)]) for head, one in zip(heads, ptx.items, strict=True))


def render_ptx_html(ptx: Ptx) -> Html:
    """The same as HTML."""
    return element("div", {"class": "jnb"}, style_element("placement.css"), *_parts(ptx))


def _parts(ptx: Ptx) -> Iterator[Html]:
    if not len(ptx):
        yield element("p", {"class": "jnb-h"}, _NONE)
    elif ptx.asked is None:
        yield element("div", {"style": "overflow-x:auto"}, table_element(_table(ptx.items[:_MOST_ROWS])))
        yield element("p", {"class": "jnb-h"}, _more(ptx, _MOST_ROWS) + _NOTE)
    else:
        for one in ptx.items:
            title, told = _heads(one, ptx.source)
            yield element("p", {"class": "jnb-h"}, element("b", None, title))
            yield element("p", {"class": "jnb-h"}, told)
            if one.ptx:
                text = "\n".join(_text(one, _MOST_LINES))
                yield element("pre", {"style": "overflow:auto;max-height:40em"}, text)


_NOTE = (
    "per thread: registers, bytes spilled to memory and read back; per block: shared memory. Nothing was timed: "
    "kernels are chosen by heuristics where there is no GPU. %jaxnb ptx NAME or a line shows the PTX."
)


def _more(ptx: Ptx, shown: int) -> str:
    """What is said of launches that are not shown; "" if all are."""
    left = len(ptx) - shown
    whole = 'print(jaxnb.last().program.text("ptx")) lists all'
    return f"… {left:,} more launches: {whole}, with registers of the first kernels alone. " if left > 0 else ""


def _table(items: Sequence[Launch]) -> Table:
    return Table(_HEADS, tuple(map(_row, items)))


def _row(one: Launch) -> tuple[str, ...]:
    line = "" if one.line is None else str(one.line)
    known = one.shared is not None and one.kernel
    return (
        one.op,
        line,
        _product(one.grid),
        _product(one.threads),
        "" if one.registers is None else str(one.registers),
        "" if one.spilled is None else str(sum(one.spilled)),
        format_bytes(one.shared or 0) if known else "",
        one.why or ("" if one.kernel == one.op.replace(".", "_") else f"kernel {one.kernel}"),
    )


def _product(sizes: tuple[int, ...]) -> str:
    kept = list(sizes)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return " × ".join(f"{size:,}" for size in kept)


def _heads(one: Launch, source: str) -> tuple[str, str]:
    """Which instruction it is, and what it takes."""
    lines = source.split("\n")
    text = lines[one.line - 1].strip() if one.line is not None and 0 < one.line <= len(lines) else ""
    where = "" if one.line is None else f" · line {one.line}"
    return f"{one.op}{where}{f': {text}' if text else ''}", one.why or " · ".join(_facts(one))


def _facts(one: Launch) -> Iterator[str]:
    if one.kernel != one.op:
        yield f"kernel {one.kernel}"
    yield f"{_counted(one.grid, 'block')} of {_counted(one.threads, 'thread')}"
    if one.registers is not None:
        yield f"{one.registers} registers a thread"
    if one.spilled is not None:
        stores, loads = one.spilled
        yield f"spills {stores} bytes a thread and reads back {loads}" if stores or loads else "no spills"
    if one.shared is not None:
        yield f"{format_bytes(one.shared)} of shared memory" if one.shared else "no shared memory"


def _counted(sizes: tuple[int, ...], what: str) -> str:
    return f"{_product(sizes)} {what}{'' if math.prod(sizes) == 1 else 's'}"


def _text(one: Launch, limit: int | None) -> list[str]:
    """The PTX without empty lines at its ends."""
    lines = [line.rstrip().expandtabs(4) for line in one.ptx.strip().splitlines()]
    if limit is None or len(lines) <= limit:
        return lines
    more = f'… {len(lines) - limit:,} more lines: print(jaxnb.last().program.text("ptx", op="{one.op}"))'
    return [*lines[:limit], more]
