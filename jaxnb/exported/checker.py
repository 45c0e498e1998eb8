"""The process that reads the program of a file first: `python -m jaxnb.exported.checker`.

It reads one JSON line and then the bytes of the program from its standard input, has JAX parse and lower that, and
answers in one line of JSON on its standard output. Nothing is compiled or run.

    {"bytes": 1200, "parts": [10, [0], ["cpu"], 1, false], "inputs": [[[3], "float32"]], "results": [[[], "float32"]]}
    {..., "inputs": [[["b", 3], "float32"]], "sizes": {"there": {"b": 16}, "where": ["b >= 4"]}}, where sizes have names
    -> {} or {"why": "it calls `evil` on the host"}
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import jax

from jaxnb import _jax, named

__all__ = ["main"]


def main() -> None:
    """Answers one question."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else prints, the answer stays whole
    _limit()
    told = json.loads(sys.stdin.buffer.readline())
    module = sys.stdin.buffer.read(told["bytes"])
    try:
        why = _fault(told, module)
    except Exception as error:  # it is the other end that knows whom to tell
        why = f"{type(error).__name__}: {error}"[:1000]
    out.write(json.dumps({"why": why} if why else {}))
    out.flush()


def _limit() -> None:
    """A parser that runs wild leaves no large file behind."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _fault(told: dict[str, Any], module: bytes) -> str:
    if calls := _jax.custom_calls(module) - _jax.stable_targets():
        names = ", ".join(f"`{name}`" for name in sorted(calls))
        return f"it calls {names}, which JAX does not promise to keep"
    sizes = told.get("sizes", {"where": [], "there": {}})
    scope = named.scope_of(sizes["where"])
    inputs = [(named.dims_in(scope, shape), jax.numpy.dtype(dtype)) for shape, dtype in told["inputs"]]
    results = [(named.dims_in(scope, shape), jax.numpy.dtype(dtype), False) for shape, dtype in told["results"]]
    there = [(tuple(_jax.dim_value(dim, sizes["there"]) for dim in dims), dtype) for dims, dtype in inputs]
    convention, kept, platforms, devices, constants = told["parts"]
    parts = _jax.ExportedParts(module, convention, tuple(kept), tuple(platforms), devices, constants)
    with jax.enable_x64(True):
        traced = jax.jit(_jax.call_of(parts, inputs, results)).trace(*(jax.ShapeDtypeStruct(*one) for one in there))
        lowered = traced.lower(lowering_platforms=(parts.platforms[0],))
        if sizes["there"]:
            _jax.check_refined(lowered)
    return ""


if __name__ == "__main__":
    main()
