"""Kernels of Pallas: what the equation of one says of its grid and its windows."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from covering import covers, only
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu, triton as plgpu

from jaxnb import _jax
from jaxnb._jax import KernelDim, kernel_call
from jaxnb._jax.contract import CONTRACT

SHAPE = jax.ShapeDtypeStruct((64, 256), jnp.float32)
ROWS = pl.BlockSpec((16, 256), lambda i, *_: (i, 0))


def call_of(*operands: Any, kernel: Any = None, **options: Any) -> Any:
    """The equation of a kernel."""

    def copy(x: Any, o: Any) -> None:
        o[...] = x[...]

    return only(jax.make_jaxpr(pl.pallas_call(kernel or copy, SHAPE, **options))(*operands), "pallas_call")


X = jnp.ones((64, 256))


@covers("pallas_call", "GridMapping.grid", "GridMapping.block_mappings", "GridMapping.num_inputs")
@covers("BlockMapping.array_aval", "BlockMapping.block_shape", "BlockMapping.index_map_jaxpr")
@covers("BlockMapping.index_map_out_tree", "core.Blocked", "Blocked.block_size", "BlockMapping.origin")
def test_a_kernel_says_its_grid_and_where_its_windows_lie() -> None:
    call = kernel_call(call_of(X, grid=(4,), in_specs=[ROWS], out_specs=ROWS, name="rows", interpret=True))
    assert (call.name, call.grid, call.interpret, call.backend, call.aliases) == ("rows", (4,), True, "", ())
    (given,), (made,) = call.inputs, call.outputs
    assert given.dims == (KernelDim(16, 16, leaf=0), KernelDim(256, 256, leaf=1))
    assert given.array == ("x", (64, 256), "float32", 4, "") and made.array.name == "o"
    assert [len(eqn.invars) for eqn in call.body.eqns] == [1, 2]

    def of_many(*refs: Any) -> None:
        refs[1][...] = refs[0][...]

    names = [one.array.name for one in kernel_call(call_of(X, kernel=of_many)).inputs]
    assert names == ["refs[0]"]


@covers(
    "core.Element", "Element.padding", "core.Squeezed", "core.BoundedSlice", "Slice.start", "AbstractRef.memory_space"
)
def test_windows_are_of_several_kinds() -> None:
    def none(*_: Any) -> None: ...

    element = pl.BlockSpec((pl.Element(8, (1, 1)), None), lambda i: (i * 8, 3))
    bounded = pl.BlockSpec((pl.BoundedSlice(8), 128), lambda i: (pl.ds(i * 8, 8), 1))
    whole = pl.BlockSpec(memory_space=pl.ANY)
    call = kernel_call(call_of(X, X, kernel=none, grid=(8,), in_specs=[element, bounded], out_specs=whole))
    assert call.inputs[0].dims == (KernelDim(8, 1, 1, leaf=0), KernelDim(1, 1, squeezed=True, leaf=1))
    assert call.inputs[1].dims == (KernelDim(8, 1, leaf=0), KernelDim(128, 128, leaf=1))
    assert call.outputs[0].array.memory == "any"


@covers("GridMapping.num_index_operands", "GridMapping.num_dynamic_grid_bounds")
def test_a_kernel_has_arguments_for_index_maps_and_scratch_memory() -> None:
    def kernel(table: Any, x: Any, o: Any, acc: Any) -> None:
        o[...] = x[...]

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(4,),
        in_specs=[ROWS],
        out_specs=ROWS,
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.int8)],
    )
    call = kernel_call(call_of(jnp.arange(4), X, kernel=kernel, grid_spec=spec, input_output_aliases={1: 0}))
    assert [one.name for one in call.prefetched] == ["table"] and call.aliases == ((0, 0),)
    assert call.scratch == (("acc", (8, 128), "int8", 1, "vmem"),)

    def dynamic(n: Any, x: Any) -> Any:
        return pl.pallas_call(lambda x, o: None, SHAPE, grid=(n,), in_specs=[ROWS], out_specs=ROWS)(x)

    assert kernel_call(only(jax.make_jaxpr(dynamic)(4, X), "pallas_call")).grid == (None,)


@covers("BlockMapping.pipeline_mode", "Buffered.buffer_count", "CostEstimate.flops", "CostEstimate.bytes_accessed")
@covers("CostEstimate.transcendentals", "CompilerParams.dimension_semantics", "CompilerParams.vmem_limit_bytes")
def test_a_kernel_says_what_its_author_wants() -> None:
    once = pl.BlockSpec((16, 256), lambda i: (i, 0), pipeline_mode=pl.Buffered(1))
    estimate = pl.CostEstimate(flops=1, bytes_accessed=2, transcendentals=3)
    given = pltpu.CompilerParams(dimension_semantics=("parallel",), vmem_limit_bytes=1 << 20)
    specs: dict[str, Any] = {"grid": (4,), "in_specs": [once], "out_specs": ROWS}
    call = kernel_call(call_of(X, **specs, cost_estimate=estimate, compiler_params=given))
    assert (call.inputs[0].buffers, call.outputs[0].buffers, call.estimate) == (1, None, (1, 2, 3))
    assert (call.semantics, call.backend, call.limit) == (("parallel",), "tpu", 1 << 20)
    assert kernel_call(call_of(X, **specs, compiler_params=plgpu.CompilerParams(num_warps=4))).backend == "gpu"


def test_names_of_pallas_are_looked_up_where_it_is_loaded() -> None:
    late = [name for name in CONTRACT if name.late]
    assert late and _jax.broken(late) == []
    made_up = late[0]._replace(path="jax._src.pallas.core.GridMapping.made_up")
    assert [item.what for item in _jax.broken([made_up])] == ["there is no jax._src.pallas.core.GridMapping.made_up"]
    code = "import sys, jax; from jaxnb import _jax; assert not _jax.broken(); print('jax._src.pallas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_error_of_lowering_has_the_equations_in_its_frames() -> None:
    def bad(x: Any, o: Any) -> None:
        o[...] = jnp.sort(x[...], axis=0)

    with pytest.raises(NotImplementedError) as one:
        jax.jit(pl.pallas_call(bad, SHAPE)).trace(X).lower(lowering_platforms=("tpu",))
    found = _jax.kernel_lowered(one.value)
    assert found is not None and found[0].primitive.name == "pallas_call"
    assert [eqn.primitive.name for eqn in found[1]][-1] == "sort"
    assert _jax.kernel_origins(found[0]) == (("args[0]",), ("outputs",))
    assert _jax.kernel_lowered(ValueError()) is None
