"""What a device does at most, measured on it: flops a second of products by dtype, and bytes a second of its memory.

Each is the quickest of the calls within a quarter of a second, since other work only slows them, of operands that grow
until a call takes long enough, or the memory ends. What was measured is kept for the process, and in the user's cache
folder by kind of device and version of JAX.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp

from jaxnb.program import Peaks

__all__ = ["known_peaks", "measure_peaks", "peaks_file"]

_DTYPES = ("float64", "float32", "bfloat16", "float16")
_SECONDS = 0.25  # of each measurement
_LONG = 0.02  # seconds of a call from which on operands are large enough
_FEWEST = 5
_LARGEST = 8192  # rows of a matrix
_ELEMENTS = 1 << 24  # of a float32 vector on a CPU, 64 MB: more than its caches hold
_MOST_ELEMENTS = 1 << 28

_known: dict[str, Peaks | None] = {}


def peaks_file() -> Path:
    """Where they are saved: in `JAXNB_CACHE_DIR`, or where the system keeps the caches of a user."""
    folder = os.environ.get("JAXNB_CACHE_DIR")
    if folder:
        return Path(folder) / "peaks.json"
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "jaxnb" / "peaks.json"


def known_peaks(device: Any) -> Peaks | None:
    """What was measured on a device of this kind, in this process or before it; None if nothing was."""
    key = _key(device)
    if key not in _known:
        _known[key] = _decoded(device.device_kind, _saved().get(key))
    return _known[key]


def measure_peaks(device: Any) -> Peaks:
    """Measures a device, which should have nothing else to do, for some seconds; keeps and saves what it finds.

    Raises:
      JaxRuntimeError: JAX's own, where it has no room.
    """
    with jax.default_device(device):
        known = [
            dtype for dtype in _DTYPES if dtype != "float64" or jnp.result_type(float) == dtype
        ]  # unless x64 is off
        products = {dtype: _products(dtype) for dtype in known}
        peaks = Peaks(device.device_kind, tuple(products.items()), _bandwidth(device))
    _known[_key(device)] = peaks
    _save(_key(device), {"products": products, "bandwidth": peaks.bandwidth})
    return peaks


def _key(device: Any) -> str:
    cores = f", {os.cpu_count()} cores" if device.platform == "cpu" else ""
    return f"{device.device_kind}{cores}, jax {jax.__version__}"


def _products(dtype: str) -> float:
    multiply = jax.jit(jnp.matmul)
    rows = 256
    while True:
        matrix = jnp.ones((rows, rows), dtype)
        spent = _quickest(lambda matrix=matrix: multiply(matrix, matrix), 0.0)
        if spent >= _LONG or rows >= _LARGEST:
            return 2 * rows**3 / _quickest(lambda matrix=matrix: multiply(matrix, matrix), _SECONDS)
        rows *= 2


def _bandwidth(device: Any) -> float:
    """Of `a / 2 + b`, written in the place of `a`: two numbers are read and one is written."""
    triad = jax.jit(lambda a, b: a * 0.5 + b, donate_argnums=0)
    limit = (device.memory_stats() or {}).get("bytes_limit", 4 * 3 * 4 * _ELEMENTS)
    most = min(_MOST_ELEMENTS, limit // (4 * 3 * 4))
    count = _ELEMENTS
    while True:
        held = [jnp.ones(count, jnp.float32)]
        other = jnp.ones(count, jnp.float32)

        def step(held: list[jax.Array] = held, other: jax.Array = other) -> jax.Array:
            held[0] = triad(held[0], other)
            return held[0]

        if 2 * count > most or _quickest(step, 0.0) >= _LONG:
            return 3 * 4 * count / _quickest(step, _SECONDS)
        held.clear()
        count *= 2


def _quickest(call: Callable[[], Any], seconds: float) -> float:
    """What a call takes at least until its result is there, the first one left out."""
    jax.block_until_ready(call())
    spent: list[float] = []
    end = perf_counter() + seconds
    while not spent or (seconds and (len(spent) < _FEWEST or perf_counter() < end)):
        start = perf_counter()
        jax.block_until_ready(call())
        spent.append(perf_counter() - start)
    return min(spent)


def _saved() -> dict[str, Any]:
    """All that is saved; what cannot be read was never measured."""
    try:
        found = json.loads(peaks_file().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _save(key: str, data: dict[str, Any]) -> None:
    """Where nothing can be written, it is kept for the process alone."""
    file = peaks_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps({**_saved(), key: data}, indent=1), "utf-8")
        partial.replace(file)
    except OSError:
        return


def _decoded(kind: str, data: Any) -> Peaks | None:
    try:
        products = tuple((str(dtype), float(rate)) for dtype, rate in data["products"].items())
        bandwidth = float(data["bandwidth"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return Peaks(kind, products, bandwidth) if products and min(bandwidth, *dict(products).values()) > 0 else None
