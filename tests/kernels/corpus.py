"""Kernels as people write them: each a function and its arguments, small enough to be interpreted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

__all__ = ["CASES", "Case"]


class Case(NamedTuple):
    """A function that calls one kernel.

    Attributes:
      function: of the arguments.
      arguments: arrays.
      reference: the same without a kernel; None for those whose result is not defined everywhere.
    """

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    reference: Callable[..., Any] | None = None


CASES: dict[str, Case] = {}


def case(*shapes: tuple[int, ...], like: Callable[..., Any] | None = None, first: Any = None) -> Any:
    """Enters a function of arrays that are filled with the numbers from 0 on, each to be told from all others."""
    given = [jnp.arange(math.prod(shape), dtype=jnp.float32).reshape(shape) / 256 for shape in shapes]
    arguments = (*([] if first is None else [first]), *given)

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES[function.__name__] = Case(function, arguments, like)
        return function

    return enter


def shape(*sizes: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(sizes, dtype)


def call(kernel: Any, out: Any, **options: Any) -> Any:
    return pl.pallas_call(kernel, out_shape=out, interpret=True, **options)


# --- without a grid ---


@case((8, 128), (8, 128), like=lambda x, y: x + y)
def add_whole(x, y):
    def add(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...]

    return call(add, shape(8, 128))(x, y)


@case((4, 128), like=lambda x: x * 2)
def grid_of_no_dimension(x):
    def double(x_ref, o_ref):
        o_ref[...] = 2 * x_ref[...]

    return call(double, shape(4, 128), grid=())(x)


# --- one dimension ---


@case((1024,), (1024,), like=lambda x, y: x + y)
def add_vectors(x, y):
    def add(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...]

    spec = pl.BlockSpec((256,), lambda i: (i,))
    return call(add, shape(1024), grid=(4,), in_specs=[spec, spec], out_specs=spec)(x, y)


@case((1000,), like=lambda x: x + 1)
def vector_with_a_rest(x):
    def add(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    block = 128
    spec = pl.BlockSpec((block,), lambda i: (i,))
    return call(add, shape(1000), grid=(pl.cdiv(1000, block),), in_specs=[spec], out_specs=spec)(x)


@case((32, 128), like=lambda x: jax.nn.softmax(x, axis=-1))
def softmax_rows(x):
    def softmax(x_ref, o_ref):
        row = x_ref[...]
        e = jnp.exp(row - row.max(axis=-1, keepdims=True))
        o_ref[...] = e / e.sum(axis=-1, keepdims=True)

    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return call(softmax, shape(32, 128), grid=(4,), in_specs=[spec], out_specs=spec)(x)


@case((32, 128), (128,), (128,))
def layer_norm(x, scale, bias):
    def norm(x_ref, scale_ref, bias_ref, o_ref, mean_ref, rstd_ref):
        row = x_ref[...]
        mean = row.mean(axis=1, keepdims=True)
        rstd = jax.lax.rsqrt(((row - mean) ** 2).mean(axis=1, keepdims=True) + 1e-5)
        o_ref[...] = (row - mean) * rstd * scale_ref[...] + bias_ref[...]
        mean_ref[...], rstd_ref[...] = mean[:, 0], rstd[:, 0]

    rows, whole = pl.BlockSpec((8, 128), lambda i: (i, 0)), pl.BlockSpec((128,), lambda i: (0,))
    column = pl.BlockSpec((8,), lambda i: (i,))
    out = [shape(32, 128), shape(32), shape(32)]
    specs = {"in_specs": [rows, whole, whole], "out_specs": [rows, column, column]}
    return call(norm, out, grid=(4,), **specs)(x, scale, bias)


@case((32, 128), (128,))
def rms_norm_of_squeezed_rows(x, scale):
    def norm(x_ref, scale_ref, o_ref):
        row = x_ref[...]
        o_ref[...] = row * jax.lax.rsqrt((row * row).mean() + 1e-6) * scale_ref[...]

    row = pl.BlockSpec((None, 128), lambda i: (i, 0))
    specs = {"in_specs": [row, pl.BlockSpec((128,), lambda i: (0,))], "out_specs": row}
    return call(norm, shape(32, 128), grid=(32,), **specs)(x, scale)


@case((64, 128), like=lambda x: x.sum(0, keepdims=True))
def sum_over_the_grid(x):
    def add_up(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...].sum(0, keepdims=True)

    specs = {
        "in_specs": [pl.BlockSpec((16, 128), lambda i: (i, 0))],
        "out_specs": pl.BlockSpec((1, 128), lambda i: (0, 0)),
    }
    return call(add_up, shape(1, 128), grid=(4,), **specs)(x)


@case((32, 128), like=lambda x: x * 2)
def in_place(x):
    def double(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return call(double, shape(32, 128), grid=(4,), in_specs=[spec], out_specs=spec, input_output_aliases={0: 0})(x)


@case((64, 128), like=lambda x: x[::-1].reshape(4, 16, 128)[:, ::-1].reshape(64, 128))
def blocks_backwards(x):
    def copy(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    specs = {
        "in_specs": [pl.BlockSpec((16, 128), lambda i: (3 - i, 0))],
        "out_specs": pl.BlockSpec((16, 128), lambda i: (i, 0)),
    }
    return call(copy, shape(64, 128), grid=(4,), **specs)(x)


@case((16, 128), like=lambda x: x.cumsum(0))
def cumulative_sum_with_a_carry(x):
    def add_up(x_ref, o_ref, carry):
        @pl.when(pl.program_id(0) == 0)
        def _():
            carry[...] = jnp.zeros_like(carry)

        sums = jnp.cumsum(x_ref[...], 0) + carry[...]
        o_ref[...] = sums
        carry[...] = sums[-1:]

    spec = pl.BlockSpec((4, 128), lambda i: (i, 0))
    scratch = [pltpu.VMEM((1, 128), jnp.float32)]
    return call(add_up, shape(16, 128), grid=(4,), in_specs=[spec], out_specs=spec, scratch_shapes=scratch)(x)


# --- several dimensions ---


@case((64, 128), like=lambda x: x.T)
def transpose(x):
    def turn(x_ref, o_ref):
        o_ref[...] = x_ref[...].T

    specs = {
        "in_specs": [pl.BlockSpec((32, 32), lambda i, j: (i, j))],
        "out_specs": pl.BlockSpec((32, 32), lambda i, j: (j, i)),
    }
    return call(turn, shape(128, 64), grid=(2, 4), **specs)(x)


def tiled_product(x_ref, y_ref, o_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        o_ref[...] = jnp.zeros_like(o_ref)

    o_ref[...] += x_ref[...] @ y_ref[...]


@case((64, 64), (64, 96), like=lambda x, y: x @ y)
def matmul_that_adds_up_in_its_result(x, y):
    specs = [pl.BlockSpec((32, 16), lambda i, j, k: (i, k)), pl.BlockSpec((16, 32), lambda i, j, k: (k, j))]
    out = pl.BlockSpec((32, 32), lambda i, j, k: (i, j))
    return call(tiled_product, shape(64, 96), grid=(2, 3, 4), in_specs=specs, out_specs=out)(x, y)


@case((64, 64), (64, 96), (96,), like=lambda x, y, b: jax.nn.relu(x @ y + b))
def matmul_with_an_epilogue(x, y, b):
    def product(x_ref, y_ref, b_ref, o_ref, acc):
        k = pl.program_id(2)

        @pl.when(k == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)

        acc[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

        @pl.when(k == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = jnp.maximum(acc[...] + b_ref[...], 0)

    specs = [
        pl.BlockSpec((32, 16), lambda i, j, k: (i, k)),
        pl.BlockSpec((16, 32), lambda i, j, k: (k, j)),
        pl.BlockSpec((32,), lambda i, j, k: (j,)),
    ]
    options: dict[str, Any] = {
        "out_specs": pl.BlockSpec((32, 32), lambda i, j, k: (i, j)),
        "scratch_shapes": [pltpu.VMEM((32, 32), jnp.float32)],
        "compiler_params": pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    }
    return call(product, shape(64, 96), grid=(2, 3, 4), in_specs=specs, **options)(x, y, b)


@case((3, 32, 32), (3, 32, 32), like=lambda x, y: x @ y)
def matmul_of_a_batch(x, y):
    def product(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] @ y_ref[...]

    specs = [
        pl.BlockSpec((None, 16, 32), lambda b, i, j: (b, i, 0)),
        pl.BlockSpec((None, 32, 16), lambda b, i, j: (b, 0, j)),
    ]
    out = pl.BlockSpec((None, 16, 16), lambda b, i, j: (b, i, j))
    return call(product, shape(3, 32, 32), grid=(3, 2, 2), in_specs=specs, out_specs=out)(x, y)


@case((3, 32, 128), like=lambda x: x + 1)
def mapped_by_vmap(x):
    def add(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return jax.vmap(call(add, shape(32, 128), grid=(4,), in_specs=[spec], out_specs=spec))(x)


def attend(causal: bool) -> Any:
    def kernel(q_ref, k_ref, v_ref, o_ref, most, total, acc):
        i, j = pl.program_id(1), pl.program_id(2)

        @pl.when(j == 0)
        def _():
            most[...] = jnp.full_like(most, -1e30)
            total[...] = jnp.zeros_like(total)
            acc[...] = jnp.zeros_like(acc)

        @pl.when((j <= i) if causal else (j >= 0))
        def _():
            scores = q_ref[...] @ k_ref[...].T / 4.0
            if causal:
                rows = i * 16 + jax.lax.broadcasted_iota(jnp.int32, scores.shape, 0)
                columns = j * 16 + jax.lax.broadcasted_iota(jnp.int32, scores.shape, 1)
                scores = jnp.where(rows >= columns, scores, -1e30)
            before = most[...]
            most[...] = jnp.maximum(before, scores.max(1, keepdims=True))
            weights, kept = jnp.exp(scores - most[...]), jnp.exp(before - most[...])
            total[...] = total[...] * kept + weights.sum(1, keepdims=True)
            acc[...] = acc[...] * kept + weights @ v_ref[...]

        @pl.when(j == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = acc[...] / total[...]

    return kernel


def attention(q, k, v, causal):
    heads, length, size = q.shape
    grid = (heads, length // 16, length // 16)
    rows = pl.BlockSpec((None, 16, size), lambda h, i, j: (h, i, 0))
    columns = pl.BlockSpec((None, 16, size), lambda h, i, j: (h, jnp.minimum(i, j) if causal else j, 0))
    scratch = [pltpu.VMEM((16, 1), jnp.float32), pltpu.VMEM((16, 1), jnp.float32), pltpu.VMEM((16, size), jnp.float32)]
    options: dict[str, Any] = {"in_specs": [rows, columns, columns], "out_specs": rows, "scratch_shapes": scratch}
    return call(attend(causal), shape(heads, length, size), grid=grid, name="flash_attention", **options)(q, k, v)


def plain_attention(q, k, v, causal=False):
    scores = jnp.einsum("hqd,hkd->hqk", q, k) / 4
    mask = jnp.tril(jnp.ones(scores.shape[1:], bool)) if causal else True
    return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(jnp.where(mask, scores, -1e30), -1), v)


@case((2, 64, 16), (2, 64, 16), (2, 64, 16), like=plain_attention)
def flash_attention(q, k, v):
    return attention(q, k, v, False)


@case((2, 64, 16), (2, 64, 16), (2, 64, 16), like=lambda q, k, v: plain_attention(q, k, v, True))
def causal_flash_attention(q, k, v):
    return attention(q, k, v, True)


@case((4, 32, 16), (2, 32, 16))
def grouped_queries(q, k):
    def scores(q_ref, k_ref, o_ref):
        o_ref[...] = q_ref[...] @ k_ref[...].T

    specs = [
        pl.BlockSpec((None, 16, 16), lambda h, i: (h, i, 0)),
        pl.BlockSpec((None, 32, 16), lambda h, i: (h // 2, 0, 0)),
    ]
    out = pl.BlockSpec((None, 16, 32), lambda h, i: (h, i, 0))
    return call(scores, shape(4, 32, 32), grid=(4, 2), in_specs=specs, out_specs=out)(q, k)


# --- windows that overlap, that reach out, that arguments place ---


@case((66, 128), like=lambda x: x[:-2] + x[1:-1] + x[2:])
def stencil_of_elements(x):
    def add(x_ref, o_ref):
        o_ref[...] = x_ref[0:16] + x_ref[1:17] + x_ref[2:18]

    specs = {
        "in_specs": [pl.BlockSpec((pl.Element(18), pl.Element(128)), lambda i: (i * 16, 0))],
        "out_specs": pl.BlockSpec((16, 128), lambda i: (i, 0)),
    }
    return call(add, shape(64, 128), grid=(4,), **specs)(x)


@case((64, 128))
def convolution_with_padding(x):
    def blur(x_ref, o_ref):
        o_ref[...] = (x_ref[0:16] + x_ref[1:17] + x_ref[2:18]) / 3

    specs = {
        "in_specs": [pl.BlockSpec((pl.Element(18, (1, 1)), pl.Element(128)), lambda i: (i * 16, 0))],
        "out_specs": pl.BlockSpec((16, 128), lambda i: (i, 0)),
    }
    return call(blur, shape(64, 128), grid=(4,), **specs)(x)


@case((100, 200), like=lambda x: x * 3)
def blocks_with_a_rest_on_both_sides(x):
    def triple(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 3

    spec = pl.BlockSpec((32, 128), lambda i, j: (i, j))
    return call(triple, shape(100, 200), grid=(pl.cdiv(100, 32), pl.cdiv(200, 128)), in_specs=[spec], out_specs=spec)(x)


@case((64, 128), like=lambda rows, x: x[rows], first=jnp.array([3, 0, 0, 5, 1, 7]))
def gather_by_prefetched_rows(rows, x):
    def copy(rows_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...]

    row = pl.BlockSpec((1, 128), lambda i, rows: (rows[i], 0))
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(6,), in_specs=[row], out_specs=pl.BlockSpec((1, 128), lambda i, rows: (i, 0))
    )
    return call(copy, shape(6, 128), grid_spec=spec)(rows, x)


@case((6, 128), (64, 128), first=jnp.array([3, 2, 0, 5, 1, 7]))
def scatter_by_prefetched_rows(rows, x, y):
    def copy(rows_ref, x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...]

    placed = pl.BlockSpec((1, 128), lambda i, rows: (rows[i], 0))
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(6,),
        in_specs=[pl.BlockSpec((1, 128), lambda i, rows: (i, 0)), placed],
        out_specs=placed,
    )
    return call(copy, shape(64, 128), grid_spec=spec, input_output_aliases={2: 0})(rows, x, y)


@case((64, 128), like=lambda x: x.reshape(4, 16, 128).sum((1, 2)))
def scalars_in_smem(x):
    def add_up(x_ref, o_ref):
        o_ref[pl.program_id(0)] = x_ref[...].sum()

    specs = {
        "in_specs": [pl.BlockSpec((16, 128), lambda i: (i, 0))],
        "out_specs": pl.BlockSpec(memory_space=pltpu.SMEM),
    }
    return call(add_up, shape(4), grid=(4,), **specs)(x)


@case((64, 128))
def every_second_block_is_never_written(x):
    def copy(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    spec = pl.BlockSpec((8, 128), lambda i: (2 * i, 0))
    return call(copy, shape(64, 128), grid=(4,), in_specs=[spec], out_specs=spec)(x)


@case((64, 128))
def a_result_is_left_and_come_back_to(x):
    def add(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    specs = {
        "in_specs": [pl.BlockSpec((8, 128), lambda k, i: (4 * k + i, 0))],
        "out_specs": pl.BlockSpec((8, 128), lambda k, i: (i, 0)),
    }
    return call(add, shape(32, 128), grid=(2, 4), **specs)(x)


@case((64, 64), (64, 128), like=lambda x, y: jnp.einsum("ik,kj->ij", x, y))
def an_order_that_fetches_again(x, y):
    def product(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] @ y_ref[...]

    specs = [pl.BlockSpec((8, 64), lambda j, i: (i, 0)), pl.BlockSpec((64, 64), lambda j, i: (0, j))]
    out = pl.BlockSpec((8, 64), lambda j, i: (i, j))
    return call(product, shape(64, 128), grid=(2, 8), in_specs=specs, out_specs=out)(x, y)


@case((4, 128))
def a_loop_inside(x):
    def power(x_ref, o_ref):
        o_ref[...] = jax.lax.fori_loop(0, 10, lambda i, y: y * 0.5, x_ref[...])

    return call(power, shape(4, 128))(x)


@case((32, 128), like=lambda x: x * 2)
def copies_that_the_kernel_makes(x):
    def double(x_ref, o_ref):
        i = pl.program_id(0)
        o_ref[pl.ds(i * 8, 8), :] = x_ref[pl.ds(i * 8, 8), :] * 2

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    return call(double, shape(32, 128), grid=(4,), in_specs=[anywhere], out_specs=anywhere)(x)
