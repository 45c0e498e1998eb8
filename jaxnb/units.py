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
    return _scaled(count, ("B", "KB", "MB", "GB", "TB"))


def format_flops(count: float) -> str:
    """Floating point operations: `64 flops`, `2.1 Mflops`; a count, not a rate.

    >>> format_flops(2_100_000)
    '2.1 Mflops'
    """
    return _scaled(count, ("flops", "kflops", "Mflops", "Gflops", "Tflops", "Pflops"))


def format_change(old: float, new: float) -> str:
    """How much more or less: `+12 %`, `-3 %`, from double on `×2.5`, `×0.4`; "" where nothing changed.

    >>> format_change(100, 112), format_change(100, 250), format_change(3, 3), format_change(0, 4)
    ('+12 %', '×2.5', '', '')
    """
    if old == new or old <= 0:
        return ""
    ratio = new / old
    return f"×{ratio:.2g}" if ratio >= 2 or ratio <= 0.5 else f"{100 * (ratio - 1):+.2g} %"


def _scaled(count: float, units: tuple[str, ...]) -> str:
    """A count in the largest unit of which there is at least one, each a thousand of the one before."""
    size, place = float(count), 0
    while size >= 1000 and place < len(units) - 1:
        size, place = size / 1000, place + 1
    return f"{size:.0f} {units[place]}" if place == 0 or size >= 100 else f"{size:.1f} {units[place]}"
