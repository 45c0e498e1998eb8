"""Numbers as people read them: durations, sizes, counts of operations."""

from __future__ import annotations

__all__ = ["format_bytes", "format_change", "format_flops", "format_seconds"]


def format_seconds(seconds: float) -> str:
    """A duration for people: `61 ms`, `0.8 ms`, `1.4 s`."""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    if seconds >= 0.01:
        return f"{seconds * 1e3:.0f} ms"
    if seconds >= 1e-4:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds * 1e6:.0f} us"


def format_bytes(count: int) -> str:
    """A size for people: `64 B`, `1.5 MB`."""
    size = float(count)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError


def format_flops(count: float) -> str:
    """Floating point operations: `64 flops`, `2.1 Mflops`; a count, not a rate.

    >>> format_flops(2_100_000)
    '2.1 Mflops'
    """
    size = float(count)
    for unit in ("", "k", "M", "G", "T", "P"):
        if size < 1000 or unit == "P":
            return f"{size:.0f} {unit}flops" if unit == "" or size >= 100 else f"{size:.1f} {unit}flops"
        size /= 1000
    raise AssertionError


def format_change(old: float, new: float) -> str:
    """How much more or less: `+12 %`, `-3 %`, from double on `×2.5`, `×0.4`; "" where nothing changed.

    >>> format_change(100, 112), format_change(100, 250), format_change(3, 3), format_change(0, 4)
    ('+12 %', '×2.5', '', '')
    """
    if old == new or old <= 0:
        return ""
    ratio = new / old
    return f"×{ratio:.2g}" if ratio >= 2 or ratio <= 0.5 else f"{100 * (ratio - 1):+.2g} %"
