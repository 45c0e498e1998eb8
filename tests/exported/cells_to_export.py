"""Cells that can be exported, each with what it reads; and a way from a cell to the function that is loaded from it."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb
from jaxnb.exported import Loaded, loaded

__all__ = ["CELLS", "Pair", "export", "unchecked"]

Pair = namedtuple("Pair", "left right")


def functions() -> dict[str, Any]:
    """Names with functions that hold and read arrays."""
    names: dict[str, Any] = {"jax": jax, "jnp": jnp}
    exec(
        "def made(scale):\n    def scaled(v):\n        return v * scale\n    return scaled\n"
        "scaled = made(jnp.arange(3.0))\nshift = jnp.ones(3)\n"
        "@jax.jit\ndef shifted(v):\n    return v + shift\n",
        names,
    )
    return names


FLOATS = jnp.arange(3.0)

CELLS: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "names": ("y = jnp.sin(x) * 2\nz = y.sum()\nz", lambda: {"x": FLOATS}),
    "numbers": ("y = x * rate + n", lambda: {"x": FLOATS, "rate": 0.1, "n": 3}),
    "trees": (
        "new = jax.tree.map(lambda p: p * 0.5, params)\nfirst = params['layers'][0]['w']",
        lambda: {
            "params": {"layers": [{"w": FLOATS, "b": None}, {"w": jnp.eye(2), "b": jnp.zeros(())}], "last": (FLOATS,)}
        },
    ),
    "named tuples": (
        "out = Pair(pair.right, pair.left + 1)\nout",
        lambda: {"Pair": Pair, "pair": Pair(FLOATS, FLOATS)},
    ),
    "an ordered dict": ("y = d['b'] - d['a']", lambda: {"d": OrderedDict(b=FLOATS, a=jnp.ones(3))}),
    "in place": (
        "params['w'] = params['w'] * 2\nseen = [x, x]",
        lambda: {"params": {"w": FLOATS, "n": 3}, "x": FLOATS},
    ),
    "keys": (
        "key, sub = jax.random.split(key)\nr = jax.random.normal(sub, (4,))",
        lambda: {"key": jax.random.key(7)},
    ),
    "many keys": ("r = jax.vmap(jax.random.uniform)(keys)", lambda: {"keys": jax.random.split(jax.random.key(1), 3)}),
    "other keys": ("r = jax.random.bits(key, (2,))", lambda: {"key": jax.random.key(7, impl="rbg")}),
    "small floats": ("h = x.astype(jnp.bfloat16) * b", lambda: {"x": FLOATS, "b": jnp.ones(3, jnp.bfloat16)}),
    "integers": (
        "y = i // 2 + u.sum()",
        lambda: {"i": jnp.arange(5, dtype="int8"), "u": jnp.arange(3, dtype="uint16")},
    ),
    "truth values": ("y = jnp.where(m, x, -x)", lambda: {"m": FLOATS > 1, "x": FLOATS}),
    "complex numbers": ("y = jnp.fft.fft(x)\nc = y * z", lambda: {"x": FLOATS, "z": 1j}),
    "weak types": ("w = s * 2\nv = w + 1.5", lambda: {"s": jnp.asarray(2.0)}),
    "numpy": ("y = x + a", lambda: {"x": FLOATS, "a": np.ones(3, np.float32)}),
    "functions": ("y = shifted(scaled(x))", lambda: functions() | {"x": FLOATS}),
    "control flow": (
        "y = jax.lax.fori_loop(0, 3, lambda i, a: a + i, x)\nc = jax.lax.cond(x[0] > 1, jnp.sin, jnp.cos, x)",
        lambda: {"x": FLOATS},
    ),
    "linear algebra": ("l = jnp.linalg.cholesky(m)\ne = jnp.linalg.eigvalsh(m)", lambda: {"m": jnp.eye(3) * 2}),
    "statics": ("y = jnp.ones(n) * (x.sum() if kind == 'a' else x[0])", lambda: {"n": 4, "x": FLOATS, "kind": "a"}),
    "own constants": ("import jax.numpy as jnp\nrate = 0.5\ny = x * rate\nrate", lambda: {"x": FLOATS}),
    "one array twice": ("y = a + b['c']\ny = y * 2 if a is b['c'] else y", lambda: {"a": FLOATS, "b": {"c": FLOATS}}),
    "what it is given": ("y = x\nz = [x, lr]", lambda: {"x": FLOATS, "lr": 0.25}),
    "nothing": ("y = jnp.arange(4) * 2", lambda: {}),
    "constants": ("y = x * jnp.array([1.0, 2.0, 4.0]) + np.array([1, 2, 3])", lambda: {"x": FLOATS, "np": np}),
    "sizes": ("y = x.reshape(1, -1)\nn, m = y.shape\ny", lambda: {"x": FLOATS}),
}


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loads without the process that reads a program first: what that says is told by tests of its own."""
    monkeypatch.setattr(loaded, "check_program", lambda *_, **__: None)


def export(source: str, names: dict[str, Any], path: Path, **options: Any) -> tuple[Any, Loaded]:
    """The run of a cell, and what is loaded from the file that it wrote."""
    run = jaxnb.stage(source, {"jnp": jnp, "jax": jax} | names, export=str(path), **options)
    return run, jaxnb.load(path)
