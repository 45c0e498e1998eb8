"""A thread that looks at everything all the time: whatever it can reach must never be a tracer."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

import jax

__all__ = ["watching"]

_LEAVES = (str, bytes, int, float, complex, type(None), type, types.ModuleType, jax.Array, types.FrameType)


@contextlib.contextmanager
def watching(namespace: dict[str, Any], seen: list[str]) -> Iterator[None]:
    """While it lasts, what `namespace` holds is walked by another thread; where tracers were goes into `seen`."""
    stop = threading.Event()
    thread = threading.Thread(target=_look_around, args=(namespace, seen, stop), daemon=True)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(interval)


def _look_around(namespace: dict[str, Any], seen: list[str], stop: threading.Event) -> None:
    passed = {id(vars(module)) for module in list(sys.modules.values()) if isinstance(module, types.ModuleType)}
    passed.discard(id(namespace))
    while not stop.is_set():
        for name in list(namespace):
            if not name.startswith("__") and len(seen) < 5:
                _walk(namespace.get(name), name, passed | {id(namespace)}, seen)
        stop.wait(0.0005)


def _walk(root: Any, name: str, passed: set[int], seen: list[str]) -> None:
    todo, known = [(root, name)], set(passed)
    while todo and len(known) < 3000 + len(passed):
        obj, path = todo.pop()
        if id(obj) in known:
            continue
        known.add(id(obj))
        if isinstance(obj, jax.core.Tracer):
            seen.append(f"{path}: a tracer, seen by another thread")
            return
        ours = getattr(obj if isinstance(obj, types.FunctionType) else type(obj), "__module__", None) or ""
        if not isinstance(obj, _LEAVES) and not ours.startswith("jaxnb"):
            todo += [(child, f"{path}>{type(obj).__name__}") for child in gc.get_referents(obj)]
