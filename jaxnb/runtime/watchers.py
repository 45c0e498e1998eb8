"""Who is told of each call in this thread: profilers, tracers, debuggers, measures of coverage."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["call_watchers"]


def call_watchers() -> tuple[Any, ...]:
    """The profile function of this thread, its trace function, and the tools that watch by `sys.monitoring`.

    >>> call_watchers() == call_watchers()
    True
    """
    monitoring: Any = getattr(sys, "monitoring", None)  # since Python 3.12
    tools = tuple(map(monitoring.get_tool, range(6))) if monitoring is not None else ()
    return sys.getprofile(), sys.gettrace(), *tools
