"""How many pieces of memory the process has mapped: each compiled program takes dozens, and Linux allows 65,530.

Where there are no more, XLA ends the process: "LLVM ERROR: Unable to allocate section memory!".
"""

from __future__ import annotations

__all__ = ["memory_maps", "most_memory_maps"]


def memory_maps() -> int:
    """How many there are; 0 where the system does not tell."""
    try:
        with open("/proc/self/maps", "rb") as maps:
            return sum(1 for _ in maps)
    except OSError:
        return 0


def most_memory_maps() -> int | None:
    """How many there may be; None where the system does not tell."""
    try:
        with open("/proc/sys/vm/max_map_count", "rb") as limit:
            return int(limit.read())
    except (OSError, ValueError):
        return None
