"""Kernels as text: the grid, what each window moves, what a step computes, what is odd; and as HTML, with drawings."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator

from jaxnb.program import Kernel, Kernels, KernelWindow
from jaxnb.units import format_bytes, format_flops
from jaxnb.views.escape import Html, element
from jaxnb.views.kernels_svg import draw_kernel
from jaxnb.views.style import style_element
from jaxnb.views.table import Cells, Head, Table, table_element, table_lines
from jaxnb.views.width import wrapped

__all__ = [
    "kernel_facts",
    "kernel_notes",
    "kernel_table",
    "kernel_title",
    "render_kernel",
    "render_kernel_html",
    "render_kernels",
    "render_kernels_html",
]

_NONE = "no kernels: nothing of the program is a pallas_call"
_HEADS = (
    Head("window", "code"),
    Head(),
    Head("of", "code"),
    Head("block", "code"),
    Head("moved", "number"),
    Head("windows", "number"),
    Head("bytes", "number"),
    Head("× array", "number"),
    Head("on chip", "number"),
    Head(),
)


def render_kernels(kernels: Kernels, *, width: int | None = None) -> str:
    """All kernels of a program, one table each.

    Args:
      kernels: of it.
      width: how many columns there are; by default those of the terminal.
    """
    if not len(kernels):
        return _NONE
    return "\n\n".join(render_kernel(kernel, width=width, source=kernels.source) for kernel in kernels)


def render_kernel(kernel: Kernel, *, width: int | None = None, source: str = "") -> str:
    """One kernel: what it is, a table of its windows and its scratch memory, and what there is to say."""
    room = max(40, shutil.get_terminal_size().columns if width is None else width)
    said = [line for text in (kernel_title(kernel, source), *kernel_facts(kernel)) for line in wrapped(text, room)]
    notes = [line for text in kernel_notes(kernel) for line in wrapped(text, room)]
    return "\n".join([*said, *table_lines(kernel_table(kernel), room), *notes])


def render_kernels_html(kernels: Kernels) -> Html:
    """The same as HTML, each with a drawing."""
    if not len(kernels):
        return element("div", {"class": "jnb"}, style_element("placement.css"), _line(_NONE))
    parts = [part for kernel in kernels for part in _parts(kernel, kernels.source)]
    return element("div", {"class": "jnb"}, style_element("placement.css"), *parts)


def render_kernel_html(kernel: Kernel) -> Html:
    """One kernel as HTML, with its drawing."""
    return element("div", {"class": "jnb"}, style_element("placement.css"), *_parts(kernel, ""))


def _parts(kernel: Kernel, source: str) -> Iterator[Html]:
    yield element("p", {"class": "jnb-h"}, element("b", None, kernel_title(kernel, source)))
    for text in kernel_facts(kernel):
        yield _line(text)
    # What does not fit beside the text is moved to, and the page stays as wide as it is.
    yield element("div", {"style": "overflow-x:auto"}, draw_kernel(kernel), table_element(kernel_table(kernel)))
    for text in kernel_notes(kernel):
        yield _line(text)


def _line(text: str) -> Html:
    return element("p", {"class": "jnb-h"}, text)


def kernel_title(kernel: Kernel, source: str) -> str:
    """What it is called, and its line."""
    lines = source.split("\n")
    where = f" · line {kernel.line}" if kernel.line is not None else ""
    text = lines[kernel.line - 1].strip() if kernel.line is not None and 0 < kernel.line <= len(lines) else ""
    shown = f": {text}" if text and source else ""
    return f"{kernel.name or 'a kernel'}{where}{shown}"


def kernel_facts(kernel: Kernel) -> Iterator[str]:
    """Its grid, then what its steps compute and move."""
    sizes = " × ".join("?" if size is None else str(size) for size in kernel.grid)
    steps = kernel.steps
    count = "as many steps as the run says" if steps is None else f"{steps:,} step{'' if steps == 1 else 's'}"
    facts = [f"grid {sizes}, {count}" if kernel.grid else "no grid, 1 step"]
    if kernel.semantics:
        facts.append(", ".join(kernel.semantics))
    if kernel.interpret:
        facts.append("interpreted")
    elif kernel.backend:
        facts.append(f"for {kernel.backend.upper()}s")
    yield " · ".join(facts)
    if kernel.counted:
        yield " · ".join(_costs(kernel))


def _costs(kernel: Kernel) -> Iterator[str]:
    least = "at least " if kernel.unknown else ""
    yield f"{least}{format_flops(kernel.flops)}, {format_flops(kernel.flops / kernel.counted)} a step"
    if kernel.transcendentals:
        yield f"{format_flops(kernel.transcendentals).replace('flops', 'transcendentals')}"
    if kernel.moved is not None:
        yield f"{format_bytes(kernel.moved)} moved, {format_bytes(kernel.moved // kernel.counted)} a step"
    if kernel.intensity is not None:
        yield f"{kernel.intensity:.3g} flops a byte"
    if kernel.vmem and kernel.backend != "gpu":
        yield f"{format_bytes(kernel.vmem)} of VMEM"


def kernel_table(kernel: Kernel) -> Table:
    """Its windows and its scratch memory, one row each."""
    rows = [_row(window, kernel) for window in kernel.windows]
    for role, scratch in (("index", kernel.prefetched), ("scratch", kernel.scratch)):
        for one in scratch:
            where = f" in {one.memory}" if one.memory else ""
            size = format_bytes(one.vmem or one.nbytes)
            rows.append((one.name, role, "", f"{one.dtype}{_sizes(one.shape)}", "", "", "", "", size, where.strip()))
    return Table(_HEADS, tuple(rows))


def _row(window: KernelWindow, kernel: Kernel) -> Cells:
    array = f"{window.dtype}{_sizes(window.shape)}"
    if window.why and not window.is_windowed:
        return window.name, window.role, array, "", "", "", "", "", "", window.why
    chip = format_bytes(window.vmem if kernel.backend != "gpu" and window.vmem else window.nbytes)
    figures = ("", "", "", "")
    if window.fetches is not None and window.moved is not None:
        share = window.moved / window.array_bytes if window.array_bytes else 0.0
        figures = (f"{window.fetches:,} ×", f"{window.blocks:,}", format_bytes(window.moved), f"{share:.3g}")
    return window.name, window.role, array, _block(window), *figures, chip, _said(window, kernel)


def _said(window: KernelWindow, kernel: Kernel) -> str:
    parts = [f"{window.buffers} buffers"] if window.buffers > 1 and kernel.backend != "gpu" else []
    if window.why:
        parts.append(window.why)
    if window.memory not in ("", "vmem"):
        parts.append(f"in {window.memory}")
    if window.alias is not None:
        parts.append("in place")
    return ", ".join(parts)


def _sizes(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"


def _block(window: KernelWindow) -> str:
    return f"({', '.join('·' if size is None else str(size) for size in window.block)})"


def kernel_notes(kernel: Kernel) -> Iterator[str]:
    """What is odd about a kernel, a sentence each."""
    if kernel.steps is not None and kernel.counted < kernel.steps:
        yield f"the first {kernel.counted:,} of {kernel.steps:,} steps were counted."
    if kernel.unknown:
        yield f"of these nothing is known, or how often they run: {', '.join(kernel.unknown)}."
    for window in kernel.windows:
        yield from _notes(window, kernel)
    if kernel.order is not None and kernel.moved is not None:
        axes = ", ".join(map(str, kernel.order.axes))
        yield (
            f"with the dimensions of the grid in the order ({axes}) it moves {format_bytes(kernel.order.moved)} "
            f"instead of {format_bytes(kernel.moved)}."
        )
    if kernel.estimate is not None:
        flops, moved, _ = kernel.estimate
        yield f"its cost_estimate says {format_flops(flops)} and {format_bytes(moved)}."


def _notes(window: KernelWindow, kernel: Kernel) -> Iterator[str]:
    if window.role == "out" and window.unwritten and window.alias is None:
        share = window.unwritten / math.prod(window.shape)
        yield f"{window.name}: {window.unwritten:,} elements ({share:.0%}) are never written."
    if window.role == "out" and window.again:
        yield f"{window.name}: {window.again:,} blocks are written, left, and written once more."
    if window.role == "in" and window.again and window.blocks and window.fetches:
        times = window.fetches / window.blocks
        yield f"{window.name}: {window.again:,} of {window.blocks:,} blocks are fetched again: each {times:.3g} times."
    if window.outside:
        yield f"{window.name}: {window.outside:,} windows reach out of the array, where what is read is not defined."
