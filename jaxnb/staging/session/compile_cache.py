"""Words for what JAX's persistent compilation cache did for a program, and for a run of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from jaxnb import _jax

__all__ = ["cache_words", "read_cache_events"]

HIT, MISS = "cache hit", "cache miss"


def read_cache_events(events: Sequence[str], seconds: float, calls_back: bool = False) -> str:
    """What the cache did for a program; "" where no folder is set for it.

    Args:
      events: what JAX told of it, see `_jax.note_cache`.
      seconds: that compiling took.
      calls_back: whether the program calls Python.

    >>> read_cache_events(["asked", "hit"], 0.1) if _jax.cache_setting("dir") else "cache hit"
    'cache hit'
    """
    if _jax.cache_setting("dir") is None:
        return ""
    if not events:
        off = not _jax.cache_setting("enabled")
        return "cache off: jax_enable_compilation_cache" if off else "cache not used: not supported here"
    if "hit" in events and events.count("hit") == events.count("asked"):
        return HIT
    if "written" in events:
        return MISS
    if calls_back:
        return f"{MISS}, not kept: it calls Python"
    least = _jax.cache_setting("seconds")
    if seconds < least:
        return f"{MISS}, not kept: under {least:g} s"
    return f"{MISS}, not kept"


def cache_words(pieces: Iterable[str]) -> str:
    """The same for the programs of a run: how many there were of each, where it was not all the same."""
    said = Counter(text for text in pieces if text)
    if len(said) <= 1:
        return next(iter(said), "")
    return ", ".join(f"{count} × {text}" for text, count in said.items())
