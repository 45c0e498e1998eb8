"""What JAX's persistent compilation cache did while something was compiled, by the events that JAX tells of.

The hooks are public, the names of the events are not; checked on jax 0.10.2 and 0.12.0.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import jax

__all__ = ["CACHE_EVENTS", "cache_setting", "note_cache"]

CACHE_EVENTS = {
    "/jax/compilation_cache/compile_requests_use_cache": "asked",
    "/jax/compilation_cache/cache_hits": "hit",
    "/jax/compilation_cache/cache_misses": "written",
}
"""Of a program that the cache is asked for: that it was, that it was there, that it was not and has been put there."""


def cache_setting(name: str) -> Any:
    """A setting of the cache; "dir" is where it lies, None where there is none.

    Args:
      name: "dir", "enabled", "seconds" (what takes less to compile is not kept), "bytes" (what is smaller neither).
    """
    config: Any = jax.config
    found = {
        "dir": config.jax_compilation_cache_dir or None,
        "enabled": config.jax_enable_compilation_cache,
        "seconds": config.jax_persistent_cache_min_compile_time_secs,
        "bytes": config.jax_persistent_cache_min_entry_size_bytes,
    }
    return found[name]


@contextmanager
def note_cache() -> Generator[list[str]]:
    """Meanwhile what happens of `CACHE_EVENTS` in this thread is put into a list; nothing where there is no cache."""
    noted: list[str] = []
    if cache_setting("dir") is None:
        yield noted
        return
    thread = threading.get_ident()

    def listen(event: str, **_: Any) -> None:
        if threading.get_ident() == thread and event in CACHE_EVENTS:
            noted.append(CACHE_EVENTS[event])

    jax.monitoring.register_event_listener(listen)
    try:
        yield noted
    finally:
        jax.monitoring.unregister_event_listener(listen)
