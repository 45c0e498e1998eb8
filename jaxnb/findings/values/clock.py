"""The time that a trial takes on a machine that has nothing else to do."""

from __future__ import annotations

import threading
from time import perf_counter, process_time

__all__ = ["own_time"]

_SLOWEST = 0.25
"""At least this part of the time that has gone by counts: a cell is not held up for longer than four times as long."""

_lock = threading.Lock()
_last: list[float] = [perf_counter(), process_time(), 0.0]


def own_time() -> float:
    """Seconds in which this process was carried out, from any beginning.

    Whether a fix is tried to the end must not hang on what else the machine does. Time in which the process waits
    counts less, and no second counts more than one.
    """
    with _lock:
        now, used = perf_counter(), process_time()
        gone = now - _last[0]
        _last[2] += min(gone, max(used - _last[1], gone * _SLOWEST))
        _last[0], _last[1] = now, used
        return _last[2]
