"""Numbers so short that they stand in columns: `2.1 MF`, `64 KB`, `1.3 ms`, and bars of eighths that need no colour."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "SHORT",
    "bar",
    "profile",
    "profile_of",
    "short_amount",
    "short_bytes",
    "short_flops",
    "short_seconds",
    "short_share",
]

_EIGHTHS = " ▁▂▃▄▅▆▇█"
_BLOCKS = " ▏▎▍▌▋▊▉█"
_PREFIXES = ("", "K", "M", "G", "T", "P", "E")


def short_amount(number: float, unit: str) -> str:
    """A count with at most three digits and a prefix for thousands.

    >>> short_amount(2_097_152, "F"), short_amount(64_000, "B"), short_amount(7, "F"), short_amount(999_999, "B")
    ('2.1 MF', '64 KB', '7 F', '1.0 MB')
    """
    size, power = float(number), 0
    while abs(size) >= 999.5 and power < len(_PREFIXES) - 1:
        size /= 1000
        power += 1
    digits = f"{size:.1f}" if power and abs(size) < 9.95 else f"{size:.0f}"
    return f"{digits} {_PREFIXES[power]}{unit}"


def short_flops(number: float) -> str:
    """Floating-point operations: `2.1 MF`."""
    return short_amount(number, "F")


def short_bytes(number: float) -> str:
    """A size: `64 KB`."""
    return short_amount(number, "B")


def short_seconds(seconds: float) -> str:
    """A duration.

    >>> [short_seconds(s) for s in (0.0, 3e-11, 4e-9, 2.5e-6, 0.0013, 0.061, 1.25, 300.0)]
    ['0 s', '<1 ns', '4 ns', '2.5 us', '1.3 ms', '61 ms', '1.2 s', '300 s']
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size * 0.9995:
            count = seconds / size
            return f"{count:.1f} {unit}" if count < 9.95 else f"{count:.0f} {unit}"
    if 0 < seconds < 0.5e-9:
        return "<1 ns"
    return f"{seconds * 1e9:.0f} ns" if seconds else "0 s"


SHORT: Mapping[str, Callable[[float], str]] = {
    "flops": short_flops,
    "bytes": short_bytes,
    "seconds": short_seconds,
    "count": lambda number: short_amount(number, "").strip(),
}
"""By the unit of a column."""


def short_share(share: float) -> str:
    """A share of the whole: `43 %`; `<1 %` of what is there but small.

    >>> short_share(0.432), short_share(0.001), short_share(0)
    ('43 %', '<1 %', '0 %')
    """
    return "<1 %" if 0 < share < 0.005 else f"{share * 100:.0f} %"


def bar(share: float, width: int = 1) -> str:
    """A bar of that share of `width` columns: one column grows upwards, several grow to the right.

    >>> bar(1.0), bar(0.5), bar(0.001), bar(0.6, 4)
    ('█', '▄', ' ', '██▍ ')
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    if width == 1:
        return _EIGHTHS[eighths]
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_BLOCKS[rest] if rest else "")).ljust(width)


def profile(numbers: Iterable[float], width: int) -> str:
    """Numbers in their order as a line of eighths, at most so wide; a column shows the most of what falls into it.

    >>> profile([0, 1, 2, 4], 10), profile([0, 9, 0, 0, 3, 3], 3)
    (' ▂▄█', '█ ▃')
    """
    every = list(numbers)
    count = min(width, len(every))
    tops = [max(every[at * len(every) // count : (at + 1) * len(every) // count]) for at in range(count)]
    most = max(tops, default=0) or 1
    # What is there at all is seen.
    return "".join(_EIGHTHS[max(round(top / most * 8), 1 if top else 0)] for top in tops)


def profile_of(shares: Iterable[float]) -> str:
    """Shares of a whole as a line of eighths, one column each; what is there at all is seen.

    >>> profile_of([0, 0.01, 0.5, 1])
    ' ▁▄█'
    """
    return "".join(_EIGHTHS[max(round(min(share, 1.0) * 8), 1 if share > 1e-6 else 0)] for share in shares)
