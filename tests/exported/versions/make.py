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

__all__ = ["SOURCE", "names"]

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


if __name__ == "__main__":
    version = "_".join(jax.__version__.split(".")[:2])
    path = Path(__file__).absolute().parent / f"jax_{version}.jaxexport"
    jaxnb.stage(SOURCE, {"jax": jax, "jnp": jnp} | names(), export=str(path), platforms=("cpu", "cuda", "tpu"))
    print(f"wrote {path.name}: {path.stat().st_size:,} bytes")
