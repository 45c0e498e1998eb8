"""Wrong kernels, compiled for machines that are not there: what a user reads of each."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu, triton
from shells import Shell, shell

import jaxnb
from jaxnb.api import new_session
from jaxnb.errors import JaxnbError
from jaxnb.findings.errors.kernels import KernelRefused
from jaxnb.options import StageOptions
from jaxnb.program import finding_of, read_kernel_room, read_target
from jaxnb.reading import OutOfMemory

__all__ = ["shell"]

CALL = "y = pl.pallas_call(kernel, x)(x)\n"
WARPS = "y = pl.pallas_call(kernel, x, compiler_params=triton.CompilerParams(num_warps=4))(x)\n"
COPIED = (
    "y = pl.pallas_call(kernel, x, in_specs=[pl.BlockSpec(memory_space=pl.ANY)],\n"
    "    scratch_shapes=[pltpu.VMEM((8, 100), jnp.float32)])(x)\n"
)

# jax 0.12 asks which chip this process has before it lowers a copy, and refuses all where there is none.
_COPY = "aligned to tiles" if jax.__version_info__ < (0, 12) else "Unsupported TPU device kind"

WRONG = {
    "sort": ("v5e", "o[...] = jnp.sort(x[...])", CALL, 2, "tc: sort"),
    "lgamma": ("v5e", "o[...] = jax.scipy.special.gammaln(x[...])", CALL, 2, "tc: lgamma"),
    "sort in a loop": (
        "v5e",
        "o[...] = jax.lax.fori_loop(0, 3, lambda i, c: jnp.sort(c), x[...])",
        CALL,
        2,
        "tc: sort",
    ),
    "gather": ("v5e", "i = x[0, :].astype(int)\n    o[...] = x[...][i]", CALL, 3, "gathers"),
    "scalar": ("v5e", "o[...] = x[...]\n    o[0, 0] = x[1, 1]", CALL, 3, "Cannot store scalars to VMEM"),
    "fft": ("v5e", "o[...] = jnp.fft.fft(x[...]).real", CALL, 2, "VectorElementTypeInterface"),
    "float16": ("v5e", "h = x[...].astype('float16')\n    o[...] = jnp.dot(h, h).astype(x.dtype)", CALL, 3, "float16"),
    "unaligned": ("v5e", "i = x[0, 0].astype(int)\n    o[:8, pl.ds(i, 128)] = x[:8, :128]", CALL, 3, "multiple of 128"),
    "strided": ("v5e", "o[...] = jnp.tile(x[:, ::2], (1, 2))", CALL, 2, "last dim size is not 128"),
    "copied": ("v5e", "pltpu.sync_copy(x.at[pl.ds(3, 8), pl.ds(5, 100)], s)", COPIED, 2, _COPY),
    "read from HBM": ("v5e", "o[...] = x[...] + s[0, 0]", COPIED, 2, "ANY memory space"),
    "triton sort": ("h100", "o[...] = jnp.sort(x[...])", WARPS, 2, "Triton lowering: sort"),
    "triton slice": ("h100", "a = x[...]\n    o[...] = a @ a[:, :2] @ a[:2, :]", WARPS, 3, "Triton lowering: slice"),
    "shared": ("h100", "o[...] = x[...] * 2", CALL, 3, "exceeds available shared memory"),
}


def refused(cell: str, target: str, *shape: int) -> JaxnbError:
    names = {"jnp": jnp, "jax": jax, "pl": pl, "pltpu": pltpu, "triton": triton}
    names["x"] = jax.ShapeDtypeStruct(shape or (256, 256), jnp.float32)
    with pytest.raises(JaxnbError) as one:
        new_session().stage(cell, names, StageOptions.of({"target": target}))
    return one.value


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.compiled(read_target(WRONG[name][0]).platform)) for name in WRONG]
)
def test_a_wrong_kernel_is_told_on_its_line(name: str) -> None:
    target, body, call, line, said = WRONG[name]
    given = "x, o, s" if "scratch" in call else "x, o"
    cell = f"def kernel({given}):\n    {body}\n{call}"
    error = refused(cell, target)
    assert error.line == line and said in error.why, str(error)
    assert f"kernel `kernel` cannot be " in error.what and f"line {line}, `" in error.what
    for noise in ("github.com", "<cell", "loc(", "MLIR operation", "site-packages", "jaxnb/"):
        assert noise not in str(error)
    found: Any = finding_of(error)
    assert found[0].line == line and found[1] == cell


@pytest.mark.compiled("tpu", "cuda")
def test_kernels_that_do_not_fit() -> None:
    wide = (
        "def first(x, o):\n    o[...] = x[...]\ndef second(x, o):\n    o[...] = x[...] * 2\n"
        "rows = pl.BlockSpec((8, 128), lambda i: (i, 0))\nwide = pl.BlockSpec((8192, 8192), lambda i: (0, 0))\n"
        "z = pl.pallas_call(first, x, grid=(4,), in_specs=[rows], out_specs=rows)(x)\n"
        "y = pl.pallas_call(second, x, grid=(1,), in_specs=[\n    wide], out_specs=wide)(z)\n"
    )
    error = refused(wide, "v5e", 8192, 8192)
    assert isinstance(error, OutOfMemory) and error.refusal.memory == "VMEM"
    assert error.line == 6 and "kernel `second`, line 6" in error.what
    product = "def kernel(x, o):\n    o[...] = x[...] @ x[...]\n"
    error = refused(product + WARPS, "h100", 1024, 1024)
    assert isinstance(error, OutOfMemory) and error.refusal.memory == "shared memory" and error.line == 3


@pytest.mark.compiled("tpu")
def test_what_a_shell_shows(shell: Shell) -> None:
    shell.run("from jax.experimental import pallas as pl\nx = jnp.ones((256, 256))")
    cell = "%%jit --target v5e\n\ndef scale(a, o):\n    b = a[...]\n    o[...] = jnp.sort(b)\n"
    cell += "y = pl.pallas_call(scale, x)(x)"
    out = shell.run(cell, ok=False)
    assert "kernel `scale` cannot be lowered for v5e: Unimplemented primitive in Pallas TPU lowering" in out
    assert "▸   5      o[...] = jnp.sort(b)" in out and "Traceback" not in out and "site-packages" not in out


def sorting(x: Any, o: Any) -> None:
    o[...] = jnp.sort(x[...])


def whole(x: Any, o: Any) -> None:
    o[...] = x[...] * 2


@pytest.mark.compiled("tpu")
def test_a_kernel_of_a_function_is_told_on_its_line_in_its_file() -> None:
    def model(x: Any) -> Any:
        return pl.pallas_call(sorting, x)(x) + 1

    with pytest.raises(KernelRefused) as one:
        jaxnb.target(model, "v5e")(jax.ShapeDtypeStruct((256, 256), jnp.float32))
    line = sorting.__code__.co_firstlineno + 1
    assert f"lowered for v5e: line {line} of {__file__}, `o[...] = jnp.sort(x[...])`." in one.value.what
    assert one.value.line is None and "tc: sort" in one.value.why
    found = finding_of(one.value)
    assert found is not None and found[0].span is not None
    assert (found[0].span.file, found[0].span.line, found[0].trail) == (__file__, line, ())


@pytest.mark.compiled("tpu", "cuda")
@pytest.mark.parametrize(("target", "memory", "size"), [("v5e", "VMEM", 16384), ("h100", "shared memory", 1024)])
def test_a_kernel_of_a_function_that_does_not_fit(target: str, memory: str, size: int) -> None:
    def model(x: Any) -> Any:
        return pl.pallas_call(whole, x)(x)

    with pytest.raises(JaxnbError) as one:
        jaxnb.target(model, target)(jax.ShapeDtypeStruct((size, size), jnp.float32))
    line = model.__code__.co_firstlineno + 1
    assert isinstance(one.value, OutOfMemory | KernelRefused) and memory in str(one.value)
    assert "kernel `whole`" in one.value.what and f"line {line} of {__file__}, `return" in one.value.what


def doubled(rows: int, **options: Any) -> Any:
    block = pl.BlockSpec((rows, 1024), lambda i: (i, 0))
    return lambda x: pl.pallas_call(whole, x, grid=(4,), in_specs=[block], out_specs=block, **options)(x)


@pytest.mark.compiled("tpu")
@pytest.mark.parametrize(("target", "rows"), [("v5e", 1096), ("v5p", 1096), ("v6e", 2200), ("tpu7x", 2200)])
def test_what_windows_take_is_what_the_compiler_says_and_the_limit_that_is_offered_does(target: str, rows: int) -> None:
    shape = jax.ShapeDtypeStruct((4 * rows, 1024), jnp.float32)
    (kernel,) = jaxnb.inspect(doubled(rows))(shape).kernels()
    room = read_kernel_room(kernel, read_target(target))
    assert room is not None and not room.fits
    with pytest.raises(OutOfMemory) as one:
        jaxnb.target(doubled(rows), target)(shape)
    assert one.value.refusal.needed == pytest.approx(room.needed, rel=0.01)
    assert one.value.refusal.available == room.limit
    assert "2 windows of x" in one.value.why and "2 of o" in one.value.why
    found = re.search(r"vmem_limit_bytes=(\d+) \* 2\*\*20", one.value.fix)
    assert found is not None
    params = pltpu.CompilerParams(vmem_limit_bytes=int(found[1]) * 2**20)
    plan = jaxnb.target(doubled(rows, compiler_params=params), target)(shape)
    assert "kernel   whole" in str(plan) and "TOO MUCH" not in str(plan).partition("kernel   ")[2]


@pytest.mark.compiled("cuda")
def test_what_windows_take_of_shared_memory() -> None:
    with pytest.raises(KernelRefused, match="shared memory") as one:
        jaxnb.target(doubled(64), "h100")(jax.ShapeDtypeStruct((256, 1024), jnp.float32))
    assert "It takes 524 KB: 1 window of x 262 KB, 1 of o 262 KB." in one.value.why
