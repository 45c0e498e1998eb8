"""What is promised of an accelerator beside the CPU: `make test-gpu` where JAX has one; left out elsewhere.

The rest of the tests runs on virtual CPU devices. Here stands what differs on a GPU: work that goes on while the cell
has ended, memory of its own, instructions of its compiler, transfers, and times from its own streams.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from models.steps import STEPS
from shells import Shell, shell

import jaxnb
from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.program import decode, encode
from jaxnb.program.laws import check_program
from jaxnb.staging.session.run import Run

__all__ = ["shell"]

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(jax.default_backend() == "cpu", reason="JAX has no accelerator here"),
]
LARGE = "import jax, jax.numpy as jnp, numpy as np\na = jnp.ones((4096, 4096)) / 4096\n"


def staged(cell: str, setup: str = LARGE, **options: Any) -> tuple[Run, dict[str, Any]]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(setup, namespace)
    return new_session().stage(cell, namespace, StageOptions(**options)), namespace


def close(one: Any, other: Any) -> None:
    """Equal but for what another order of a sum and products in TF32 make of it."""
    kinds = [leaf for leaf in jax.tree.leaves((one, other)) if isinstance(leaf, jax.Array | np.ndarray)]
    assert kinds
    jax.tree.map(lambda a, b: np.testing.assert_allclose(np.asarray(a), np.asarray(b), 2e-2, 2e-3), one, other)


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_models_bind_what_they_bind_on_the_device_of_the_plain_cell(name: str) -> None:
    step = STEPS[name]
    plain, own = step.names(), step.names()
    exec(step.cell, plain)
    run = new_session().stage(step.cell, own, StageOptions())
    assert "nothing compiled" not in run.line
    names = [key for key in plain if isinstance(plain[key], jax.Array) and key in own]
    assert names
    for key in names:
        assert own[key].sharding == plain[key].sharding and own[key].committed == plain[key].committed
        close(own[key], plain[key])
    check_program(run.program)
    assert decode(encode(run.program)) == run.program


@pytest.mark.parametrize("name", STEPS)
def test_instructions_of_the_gpus_compiler_lead_to_lines(name: str) -> None:
    step = STEPS[name]
    run = new_session().stage(step.cell, step.names(), StageOptions())
    ops = [
        op for op in run.program.ops("hlo") if op.name not in ("parameter", "constant", "tuple", "get-tuple-element")
    ]
    linked = [op for op in ops if op.line is not None]
    assert len(linked) > 0.7 * len(ops), [op.name for op in ops if op.line is None]


def test_a_cell_ends_before_its_work_does() -> None:
    cell = "b = a\nfor _ in range(60):\n    b = b @ a\nc = b + 1"
    _, names = staged(cell + "\nc.block_until_ready()")
    session, ns = new_session(), {"__name__": "__main__"}
    exec(LARGE, ns)
    session.stage(cell, ns, StageOptions())
    jax.block_until_ready(ns["c"])
    start = time.perf_counter()
    session.stage(cell, ns, StageOptions())
    ended = time.perf_counter() - start
    jax.block_until_ready(ns["c"])
    done = time.perf_counter() - start
    assert ended < 0.5 * done, (ended, done)
    close(ns["c"], names["c"])


def test_time_is_of_the_devices_streams_and_of_lines() -> None:
    run, _ = staged("b = a\nfor _ in range(8):\n    b = b @ a\nc = jnp.tanh(b)\nd = c.sum()", time=True)
    timing = run.program.timing
    assert timing is not None and timing.total is not None and timing.total > 0
    lines: dict[int | None, float] = {}
    for op in run.program.ops("hlo"):
        lines[op.line] = lines.get(op.line, 0.0) + (op.seconds or 0.0)
    assert sum(lines.values()) == pytest.approx(timing.total, rel=0.02)
    assert lines[3] > 0.7 * sum(lines.values()), lines
    assert "line" in run.costs() or "│" in run.costs()


def test_donated_memory_is_used_again() -> None:
    setup = LARGE + "kept = a + 1"
    run, names = staged("a = a * 2", setup, donate=("a",))
    assert not names["a"].is_deleted()
    assert "donat" in run.line or "donat" in str(run.program.findings)


def test_placement_by_the_option_and_by_hand() -> None:
    _, names = staged("b = a[:8, :8] @ a[:8, :8]", device="cpu")
    assert names["b"].devices() == {jax.devices("cpu")[0]}
    cell = "b = jax.device_put(a[:8], jax.devices('cpu')[0])\nc = b + 1\nd = a[:8] + 1"
    plain: dict[str, Any] = {"__name__": "__main__"}
    exec(LARGE + cell, plain)
    _, names = staged(cell)
    for key in "bcd":
        assert names[key].sharding == plain[key].sharding and names[key].committed == plain[key].committed
        close(names[key], plain[key])


def test_a_nan_that_comes_after_the_cell_has_ended_is_told(shell: Shell) -> None:
    shell.run(LARGE)
    shell.run("%%jit\nb = a\nfor _ in range(60):\n    b = b @ a\nc = jnp.log(b - b - 1)[:1024]")
    shell.run("c = c.block_until_ready()")
    text = shell.run("%%jit\nb = a\nfor _ in range(60):\n    b = b @ a\nc = jnp.log(b - b - 1)[:1024]")
    assert "nan" not in text
    jax.block_until_ready(shell.ns["c"])
    text = shell.run("1 + 1")
    assert "`c` holds nan" in text and "line 5 of Cell In[6]" in text


def test_callbacks_print_in_order(shell: Shell) -> None:
    text = shell.run("%%jit\ny = jnp.sin(x)\njax.debug.print('y is {}', y)\nprint(y.shape)\nz = y * 2")
    assert "y is [" in text and "(3,)" in text
    text = shell.run("%%jit\nf = lambda a: np.asarray(a) * 3\nz = jax.pure_callback(f, x, x) + 1")
    np.testing.assert_allclose(shell.ns["z"], np.arange(3.0) * 3 + 1)


def test_memory_and_devices_are_told(shell: Shell) -> None:
    text = shell.run("%jaxnb devices")
    assert "gpu" in text.lower() or "cuda" in text.lower()
    assert "iB" in text or "GB" in text
    shell.run(LARGE)
    assert "4096" in shell.run("%jaxnb memory")


def test_a_program_that_does_not_fit_is_told_before_somebody_waits_for_it(shell: Shell) -> None:
    text = shell.run("%%jit\nbig = jnp.ones((1 << 19, 1 << 19)) + x[0]\nout = jnp.sort(big, axis=0).sum()", ok=None)
    assert "does not fit" in text and "1.1 TB" in text, text
    text = shell.run("print(out)", ok=False)
    assert "made by line 2" in text and "jaxnb/" not in text, text


def test_peaks_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAXNB_CACHE_DIR", str(tmp_path))
    from jaxnb.staging import measure_peaks

    peaks = measure_peaks(jax.devices()[0])
    products = dict(peaks.products)
    assert products["bfloat16"] > 1e14 and peaks.bandwidth > 5e11, peaks


def test_the_public_face_works_on_the_device() -> None:
    x = jnp.ones((4, 8))
    named = jaxnb.xmap(lambda a: a.sum(), in_axes={0: "batch"}, out_axes={0: "batch"})
    np.testing.assert_allclose(named(x), np.full(4, 8.0))
