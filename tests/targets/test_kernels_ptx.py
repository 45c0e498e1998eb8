"""The kernels of cells that were compiled for GPUs that are not there, as their compiler wrote them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from shells import Shell, shell

import jaxnb
from jaxnb.api import new_session
from jaxnb.options import StageOptions

__all__ = ["shell"]

CELL = """\
h, _ = jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, ws)
def kern(a, o):
    o[...] = jnp.exp(a[...]) * 2
block = pl.BlockSpec((16, 256), lambda i: (i, 0))
y = pl.pallas_call(kern, h, grid=(16,), in_specs=[block], out_specs=block, compiler_params=warps)(h)
s = jnp.sort(x, axis=0)
f = jnp.fft.fft(x.astype(jnp.float32))
c = jax.lax.conv_general_dilated(x[None, None], x[None, None, :3, :3], (1, 1), "SAME")
"""


def staged(cell: str, target: str) -> Any:
    names = {"jnp": jnp, "jax": jax, "pl": pl, "warps": triton.CompilerParams(num_warps=4)}
    names["x"] = jax.ShapeDtypeStruct((256, 256), jnp.bfloat16)
    names["ws"] = jax.ShapeDtypeStruct((4, 256, 256), jnp.bfloat16)
    return new_session().stage(cell, names, StageOptions.of({"target": target}))


@pytest.mark.compiled("cuda")
@pytest.mark.parametrize("target", ["h100", "a100"])
def test_the_ptx_of_lines_and_of_fusions(target: str) -> None:
    program = staged(CELL, target).program
    launched = program.ptx()
    level = program.level("hlo")
    names = {level.values[value].name for op in level.ops() for value in op.outputs}
    assert {one.op for one in launched.items} <= names and all(one.line is not None for one in launched.items)
    kernels = [one for one in launched.items if one.kernel]
    assert {one.line for one in kernels} >= {1, 5, 6} and all(one.registers and one.spilled for one in kernels)
    assert any(one.shared for one in kernels)  # of the product
    for one in kernels:
        assert f".entry {one.kernel}(" in one.ptx and f".target sm_{'90' if target == 'h100' else '80'}" in one.ptx
    (kernel,) = program.ptx(5).items
    assert kernel.kernel == "kern" and program.ptx(3).items == (kernel,)
    assert program.text("ptx", op="kern").count("ex2.approx") >= 1
    whys = {one.line: one.why for one in launched.items if not one.kernel}
    assert "cuFFT" in whys[7] and "cuDNN" in whys[8]
    assert "cuDNN" in program.text("ptx", op=8)


@pytest.mark.compiled("cuda")
def test_the_ptx_of_a_function() -> None:
    def step(x: Any, w: Any) -> Any:
        h = jnp.tanh(x @ w)
        return jnp.exp(h).sum()

    shape = jax.ShapeDtypeStruct((256, 256), jnp.bfloat16)
    program = jaxnb.target(step, "h100")(shape, shape).program
    launched = program.ptx()
    assert all(one.line in (2, 3) for one in launched.items) and any(one.registers for one in launched.items)
    assert ".visible .entry" in program.text("ptx", op=3) and "ex2.approx" in program.text("ptx", op=3)


@pytest.mark.compiled("cuda")
def test_collectives_are_sent_by_a_library() -> None:
    from target_programs import PROGRAMS, mesh_for

    mesh = mesh_for("h100:1x8")
    w1, w2, x = PROGRAMS["data"].given(mesh)
    names = {"jnp": jnp, "jax": jax, "w1": w1, "w2": w2, "x": x}
    session = new_session()
    session.simulated = mesh
    run = session.stage("loss = jnp.mean((jnp.tanh(x @ w1) @ w2) ** 2)", names, StageOptions.of({}))
    launched = run.program.ptx()
    assert any("NCCL" in one.why for one in launched.items) and any(one.ptx for one in launched.items)


@pytest.mark.compiled("tpu", "cuda")
def test_the_command_in_a_shell(shell: Shell) -> None:
    assert "no cell" in shell.run("%jaxnb ptx", ok=False)
    shell.ns["x"] = np.ones((256, 256), np.float32)
    for header in ("%%jit", "%%jit --target v5e"):
        shell.run(f"{header}\ny = jnp.tanh(x)")
        out = shell.run("%jaxnb ptx", ok=False)
        assert "there is no PTX of this program" in out and "Traceback" not in out
    shell.run("%%jit --target h100\ny = jnp.tanh(x)\nz = jnp.exp(x).sum()")
    assert "registers" in shell.run("%jaxnb ptx")
    assert ".visible .entry" in shell.run("%jaxnb ptx 2") and ".visible .entry" in shell.run("%jaxnb ptx line 3")
    assert "line 1 has no kernels" in shell.run("%jaxnb ptx 1", ok=False)
    name = jaxnb.last().program.ptx()[0].op
    assert name in shell.run(f"%jaxnb ptx {name}")
