"""Room for walks over what functions read of one another: in a large package that chain is long."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

__all__ = ["deep_walk"]

_FRAMES = 100_000
"""Frames of Python functions, which live on the heap and not on the stack of the process."""


@contextmanager
def deep_walk() -> Generator[None]:
    """Lets functions of Python call one another more deeply than usual."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _FRAMES))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
