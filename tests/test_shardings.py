"""Results live where the plain cell would leave them: on one device, or spread over several."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import jax
import numpy as np
import pytest

import jaxnb

SETUP = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()), ("d",))
rows, whole = NamedSharding(mesh, P("d")), NamedSharding(mesh, P())
x, k = jax.device_put(jnp.arange(16.0).reshape(8, 2), rows), jnp.ones(3)
w = jax.device_put(jnp.ones((2, 2)), whole)
"""


MADE = """
scale = k.sum()
f = jax.jit(lambda a: a * scale, in_shardings=(whole,), out_shardings=rows)
g = jax.jit(lambda a: {"p": a * scale, "q": a + scale}, out_shardings={"p": rows, "q": None})
"""


def places(namespace: dict[str, Any]) -> dict[str, Any]:
    return {
        name: (str(value.sharding), value.committed)
        for name, value in namespace.items()
        if isinstance(value, jax.Array)
    }


@pytest.mark.parametrize(
    ("cell", "pieces"),
    [
        ("y = x @ w\nloss = y.sum()\ng = jax.grad(lambda w: (x @ w).sum())(w)\nw = w - 0.1 * g", 1),
        ("y = x * 2\nz = k + 1\nu = y.sum() + z[0]", 1),
        (
            "a = jnp.ones((8, 1))\nf = jax.jit(lambda a: a * 2, out_shardings=rows)\ny = f(a)\nz = a + 1",
            2,
        ),
        ("a = k * 2\nb = jax.device_put(a, whole)\nc = b + 1\nd = a + 1", 1),
        ("y = k * 2\nz = y + 1", 1),
    ],
)
def test_results_live_where_the_plain_cell_leaves_them(cell: str, pieces: int) -> None:
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    for namespace in (plain, staged):
        exec(SETUP, namespace)
    for turn in range(2):
        exec(cell, plain)
        run = jaxnb.stage(cell, staged)
        assert run.pieces == pieces and run.reused == (turn > 0)
        assert places(staged) == places(plain)
        for name in places(plain):
            np.testing.assert_allclose(staged[name], plain[name], rtol=1e-5)


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("apart", [False, True])
def test_a_jitted_function_that_a_cell_makes_keeps_how_its_values_lie(beside: bool, apart: bool) -> None:
    """Where it closes over what the cell computes, and where another thread runs, so that copies of it are traced."""
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    use = 'a = jnp.ones((8, 1))\ny = f(a)\nr = g(a)\np, q = r["p"], r["q"]'
    for namespace in (plain, staged):
        exec(SETUP, namespace)
    done = threading.Event()
    thread = threading.Thread(target=lambda: done.wait())
    if beside:
        thread.start()
    try:
        for _ in range(3):
            for cell in (MADE, use) if apart else (MADE + use,):
                exec(cell, plain)
                jaxnb.stage(cell, staged)
            assert places(staged) == places(plain)
            exec(use, staged)
            assert places(staged) == places(plain)
    finally:
        done.set()
        if beside:
            thread.join()


def test_a_mesh_of_the_notebook_stays_as_it_is() -> None:
    """What a trace computes of a mesh is kept in it; nothing of that may be put together anew. A process of its own:
    JAX computes it once for all meshes that are alike."""
    code = (
        "import os; os.environ.update(XLA_FLAGS='--xla_force_host_platform_device_count=8', NPROC='32')\n"
        "import jax, jax.numpy as jnp, numpy as np, jaxnb\n"
        "from jax.sharding import Mesh, PartitionSpec as P\n"
        "names = {'jax': jax, 'jnp': jnp, 'P': P, 'x': jnp.ones((4, 4))}\n"
        "names['mesh'] = Mesh(np.array(jax.devices()[:2]), ('d',))\n"
        "cell = '''def f(a):\n    return jax.lax.psum(jnp.sin(a), 'd')\n"
        "y = jax.shard_map(f, mesh=mesh, in_specs=P('d'), out_specs=P())(x)'''\n"
        "first = jaxnb.stage(cell, names)\n"
        "first.program.level('stablehlo')\n"
        "again = jaxnb.stage(cell, names)\n"
        "print(again.reused, names['mesh'].shape_tuple, names['mesh'].abstract_mesh.axis_names, names['y'].shape)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True (('d', 2),) ('d',) (2, 4)\n", done.stderr
