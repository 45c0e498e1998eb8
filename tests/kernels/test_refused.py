"""Kernels that are wrong for a machine: where the error is, and what is said of it. Nothing is compiled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu, triton

from jaxnb.errors import JaxnbError
from jaxnb.findings.errors.block_specs import block_spec_span
from jaxnb.findings.errors.kernels import (
    find_kernel_refusal,
    find_kernel_refusal_in_files,
    tidied,
)
from jaxnb.program import Span, finding_of, read_target
from jaxnb.reading import NotCompiled, OutOfMemory, mesh_of_target
from jaxnb.reading.worker.refusals import read_refusal

FILE = "<cell 0123>"
WARPS = triton.CompilerParams(num_warps=4)


def names(*shape: int, dtype: str = "float32") -> dict[str, Any]:
    given = {"jax": jax, "jnp": jnp, "pl": pl, "pltpu": pltpu, "WARPS": WARPS}
    return {**given, "x": jax.ShapeDtypeStruct(shape, jnp.dtype(dtype))}


def traced(text: str, given: dict[str, Any]) -> Any:
    def whole(x: Any) -> Any:
        space = {**given, "like": given["x"], "x": x}
        exec(compile(text, FILE, "exec"), space)
        return space["y"]

    return jax.jit(whole).trace(given["x"])


def refusal(text: str, error: BaseException, made: Any, target: str) -> JaxnbError | None:
    cell: Any = SimpleNamespace(filename=FILE, shown=text)
    return find_kernel_refusal(error, made.jaxpr, cell, str, mesh_of_target(read_target(target)))


def lowered(text: str, target: str = "v5e", shape: tuple[int, ...] = (256, 256), dtype: str = "float32") -> Any:
    made = traced(text, names(*shape, dtype=dtype))
    platform = read_target(target).platform
    with pytest.raises(Exception) as one:
        made.lower(lowering_platforms=(platform,))
    return refusal(text, one.value, made, target)


CALL = "y = pl.pallas_call(kernel, like)(x)\n"
TRITON = "y = pl.pallas_call(kernel, like, compiler_params=WARPS)(x)\n"


@pytest.mark.parametrize(
    ("target", "body", "line", "said"),
    [
        ("v5e", "o[...] = jnp.sort(x[...], axis=0)", 2, "Unimplemented primitive in Pallas TPU lowering for tc: sort."),
        ("v5e", "o[...] = jnp.linalg.cholesky(x[...])", 2, "lowering for tc: cholesky."),
        ("v5e", "o[...] = x[...]\n    o[0, 0] = x[1, 1]", 3, "Cannot store scalars to VMEM. It is about `swap`"),
        ("v5e", "i = x[0, :].astype(int)\n    o[...] = x[...][i]", 3, "gathers"),
    ],
)
def test_errors_of_lowering_are_on_the_line_of_the_kernel(target: str, body: str, line: int, said: str) -> None:
    text = f"def kernel(x, o):\n    {body}\n{CALL}"
    told = lowered(text, target)
    assert told is not None and told.line == line and said in told.why
    assert told.what.startswith(f"kernel `kernel` cannot be lowered for {target}: line {line}, `")
    assert "github.com" not in str(told) and FILE not in str(told)
    known = finding_of(told)
    assert known is not None and known[0].line == line and known[1] == text and said in known[0].message
    assert known[0].trail == (() if line == len(text.splitlines()) else (len(text.splitlines()),))


@pytest.mark.parametrize(
    ("body", "shape", "said"),
    [
        ("o[...] = jnp.sort(x[...])", (256, 256), "Triton lowering: sort."),
        ("o[...] = x[...] * 2", (100, 100), "power of 2"),
    ],
)
def test_errors_of_the_lowering_to_triton(body: str, shape: tuple[int, ...], said: str) -> None:
    told = lowered(f"def kernel(x, o):\n    {body}\n{TRITON}", "h100", shape)
    assert told is not None and told.line == 2 and said in told.why and told.fix


def test_a_block_that_is_wrong_is_on_the_line_of_its_spec() -> None:
    text = (
        "def kernel(x, o):\n    o[...] = x[:, :64]\nspec = pl.BlockSpec((8, 64), lambda i: (i, 0))\n"
        "y = pl.pallas_call(kernel, like, grid=(32,),\n    in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],\n"
        "    out_specs=spec)(x)\n"
    )
    told = lowered(text)
    assert told is not None and told.line == 3 and "divisible by 8 and 128" in told.why
    assert "has block shape (8, 64), array shape (256, 256)" in told.why and "index_map" not in told.why
    told = lowered(text.replace("(8, 128)", "(4, 100)").replace("[:, :64]", "[:, :64].repeat(2, 0)"))
    assert told is not None and told.line == 5 and "pallas_call kernel at line 1" in told.why


def test_blocks_where_they_are_written() -> None:
    text = (
        "rows = pl.BlockSpec((8, 128))\ngrid = pltpu.PrefetchScalarGridSpec(1, in_specs=[rows, None],\n"
        "    out_specs=pl.BlockSpec((1, 1)))\ny = pl.pallas_call(k, s, grid_spec=grid)(i, x)\n"
    )
    assert block_spec_span(text, Span(4), "in_specs", 0) == Span(1, 7, 1, 29)
    found = block_spec_span(text, Span(4), "out_specs", 0)
    assert found is not None and found.line == 3
    assert block_spec_span(text, Span(1), "in_specs", 0) is None
    assert block_spec_span("y = (", Span(1), "in_specs", 0) is None


def test_what_is_wrong_elsewhere_is_left() -> None:
    made = traced("y = x + 1", names(8, 128))
    for error in (ValueError("no"), NotCompiled("no"), OutOfMemory(memory(HBM), "a device")):
        assert refusal("y = x + 1", error, made, "v5e") is None


def memory(said: str) -> Any:
    found = read_refusal(said)
    assert found is not None
    return found


HBM = "RESOURCE_EXHAUSTED: the total memory required for HLO temporaries (48.00G) exceeds available HBM (15.75G)."
SCOPED = (
    "RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom:\nRan out of memory in memory space vmem while allocating "
    'on stack for %eqn0.1 = f32[8] x(), metadata={op_name="jit(cell)/eqn0/pallas_call"}. Scoped allocation with size '
    "84.29M and limit 16.00M exceeded scoped vmem limit by 68.29M."
)
WINDOW = (
    "RESOURCE_EXHAUSTED: Allocation (size=268435456) would exceed memory (size=134217728) :: ["
    "shape = 'u8', space=vmem, scoped, tag = 'input window allocation for operator input 0.'] :: eqn1.1"
)
SHARED = "RESOURCE_EXHAUSTED: Shared memory size limit exceeded: requested 4194304, available: 232448, context: []"
TWO = (
    "def first(x, o):\n    o[...] = x[...]\ndef second(x, o):\n    o[...] = x[...]\nwide = pl.BlockSpec((8, 128))\n"
    "z = pl.pallas_call(first, like)(x)\ny = pl.pallas_call(second, like, in_specs=[\n    wide])(z)\n"
)


def test_a_kernel_that_does_not_fit_is_named_by_its_number() -> None:
    made = traced(TWO, names(8, 128))
    scoped = refusal(TWO, OutOfMemory(memory(SCOPED), "a device of v5e", SCOPED), made, "v5e")
    assert isinstance(scoped, OutOfMemory) and scoped.line == 6
    assert scoped.what.startswith("kernel `first`, line 6, `z = ") and "needs 88.4 MB of VMEM" in scoped.what
    window = refusal(TWO, OutOfMemory(memory(WINDOW), "a device of v5e", WINDOW), made, "v5e")
    assert window is not None and "kernel `second`, line 5, `wide = pl" in window.what and finding_of(window)
    assert refusal(TWO, OutOfMemory(memory(SHARED), "a device of h100", SHARED), made, "h100") is None
    assert memory(SHARED).memory == "shared memory" and memory(SCOPED).memory == "VMEM"


MOSAIC = (
    "INTERNAL: Mosaic failed to compile TPU kernel: E2003: CompileTimeMosaicUnprovenMemoryAccessAlignment: cannot "
    "prove that index in dimension 1 is a multiple of 128\nSee https://openxla.org/e2003 for more details.\n\n"
    'at location: loc({})\n\nThe MLIR operation involved:\n  "tpu.vector_store"(%5) : () -> ()\n\n'
    "Please report a bug at: https://github.com/jax-ml/jax/issues/new/choose\n"
)


@pytest.mark.parametrize(
    ("location", "line", "name"),
    [
        (
            f'"swap:"("swap/swap"(callsite("second"("{FILE}":4:4 to :33) at "second"("{FILE}":4:4 to :33))))',
            4,
            "second",
        ),
        (f'"get:"(callsite("helper"("/a/b.py":9:4 to 10:3) at "first"("{FILE}":2:13 to :19)))', 2, "first"),
        ('"swap:"("swap/swap")', 2, "first"),
    ],
)
def test_locations_of_a_compiler(location: str, line: int, name: str) -> None:
    made = traced(TWO, names(8, 128))
    error = NotCompiled("no")
    error.said = MOSAIC.format(location)
    told = refusal(TWO, error, made, "v5e")
    assert told is not None and told.line == line and f"kernel `{name}` cannot be compiled" in told.what
    assert told.why == "cannot prove that index in dimension 1 is a multiple of 128."
    assert "multiple_of" in told.fix


def test_the_words_of_compilers_without_what_tells_nothing() -> None:
    said = 'Invalid type:\nerror: "get:"("get"("kernel"("<c>":3:13 to :19))): failed to verify it'
    assert tidied(said, "<c>") == "Invalid type: failed to verify it."
    said = (
        "Pallas encountered an internal verification error. Please file a bug at https://g. Error details: 'tpu.x' bad"
    )
    assert tidied(f"{said}\n see current operation: %7", "<c>") == "'tpu.x' bad."
    assert tidied("block (Blocked(block_size=4), 3) of f at <c>:12", "<c>") == "block (4, 3) of f at line 12."


def test_a_kernel_of_a_function_is_told_in_its_file() -> None:
    def model(x: Any) -> Any:
        return pl.pallas_call(sorting, x)(x)

    made = jax.jit(model).trace(jax.ShapeDtypeStruct((256, 256), jnp.float32))
    with pytest.raises(Exception) as one:
        made.lower(lowering_platforms=("tpu",))
    mesh = mesh_of_target(read_target("v5e"))
    told = find_kernel_refusal_in_files(one.value, made.jaxpr, lambda file: "ops.py", mesh)
    line = sorting.__code__.co_firstlineno + 1
    assert told is not None and told.line is None
    assert (
        told.what == f"kernel `sorting` cannot be lowered for v5e: line {line} of ops.py, `o[...] = jnp.sort(x[...])`."
    )
    found: Any = finding_of(told)
    assert found[0].span.file == "ops.py" and found[0].line is None and found[1].count("\n") >= line
    assert find_kernel_refusal_in_files(ValueError("of something else"), made.jaxpr, str, mesh) is None


def sorting(x: Any, o: Any) -> None:
    o[...] = jnp.sort(x[...])
