"""Writes the file of one cell with the jax that runs this; a program names the file of its code, so run it without one:

    python -c "exec(compile(open('make.py').read(), 'make.py', 'exec'), dict(__name__='__main__', __file__='make.py'))"

Those of jax 0.10 and 0.12 are kept beside this script, and each jax reads both, see `test_exported_versions`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import jaxnb

__all__ = ["OF_SIZES", "SHAPES", "SOURCE", "WHERE", "names", "names_of"]

SOURCE = """
key, sub = jax.random.split(key)
noise = jax.random.normal(sub, (4,)) * rate
root = jnp.linalg.cholesky(params["m"])
low = (params["b"][0] + noise).astype(jnp.bfloat16)
total = jax.lax.fori_loop(0, n, lambda i, a: a + i, low.astype(jnp.float32).sum())
total
""".strip()


def names() -> dict[str, Any]:
    """What the cell reads."""
    params = {"m": jnp.eye(3) * 2 + 0.5, "b": (jnp.arange(4.0), None)}
    return {"params": params, "key": jax.random.key(3), "rate": 0.5, "n": 3}


OF_SIZES = """
n, share = len(x), rate / x.shape[0]
groups = x.reshape(n // 8, 8, 4) + jax.random.normal(key, (n // 8, 8, 4)) * share
order = jnp.argsort(x[:, 0])
losses = jax.nn.log_softmax(x @ w)[jnp.arange(n), y]
loss = -losses.mean()
loss
""".strip()
SHAPES = {"x": "b, 4", "y": "b"}
WHERE = ("b >= 8", "mod(b, 8) == 0")


def names_of(b: int) -> dict[str, Any]:
    """What the cell for all sizes reads."""
    x = jnp.sin(jnp.arange(b * 4.0)).reshape(b, 4)
    return {"x": x, "y": jnp.arange(b) % 3, "w": jnp.ones((4, 3)) * 0.5, "rate": 0.5, "key": jax.random.key(3)}


if __name__ == "__main__":
    version = "_".join(jax.__version__.split(".")[:2])
    path = Path(__file__).absolute().parent / f"jax_{version}.jaxexport"
    used = {"jax": jax, "jnp": jnp}
    platforms = ("cpu", "cuda", "tpu")
    jaxnb.stage(SOURCE, used | names(), export=str(path), platforms=platforms)
    sizes = path.with_name(f"sizes_{version}.jaxexport")
    jaxnb.stage(OF_SIZES, used | names_of(16), shapes=SHAPES, where=WHERE, export=str(sizes), platforms=platforms)
    for each in (path, sizes):
        print(f"wrote {each.name}: {each.stat().st_size:,} bytes")
