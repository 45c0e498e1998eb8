"""Tracers that outlive their trace: whoever still holds one after a cell would compute with it in vain."""

from __future__ import annotations

import gc
import threading
from collections.abc import Collection
from typing import Any

import jax

from jaxnb._jax.tracers import TraceLog
from jaxnb.findings.values.dry_run import THREAD

__all__ = ["traces_left", "tracers_alive"]


def tracers_alive(known: Collection[int] = ()) -> list[Any]:
    """All tracers that are there and whose ids are not known, after what nobody holds is gone.

    A fix that is being tried in a thread of its own is waited for.
    """
    for thread in threading.enumerate():
        if thread.name == THREAD:
            thread.join(60)
    gc.collect()
    return [each for each in gc.get_objects() if issubclass(type(each), jax.core.Tracer) and id(each) not in known]


def traces_left(traces: TraceLog) -> list[str]:
    """What outlives the traces that this log has seen. The heap is only searched if one of them lives."""
    if not traces.alive():
        return []
    gc.collect()
    if traces.alive():
        gc.collect()  # what a finalizer of the first collection let go of
    alive = {id(trace) for trace in traces.alive()}
    return [f"a tracer stays: {item}" for item in tracers_alive() if id(item._trace) in alive] if alive else []
