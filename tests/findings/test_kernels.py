"""Kernels of Pallas: results that are not defined, and orders of grids that fetch again."""

from __future__ import annotations

import pytest

from findings.quietly import quiet_findings

SETUP = """
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl
x, y = jnp.ones((1024, 256)), jnp.ones((256, 512))
def copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]
def multiply(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] @ y_ref[...]
def rows(of):
    return pl.BlockSpec((128, 256), of)
def call(kernel, out, **options):
    return pl.pallas_call(kernel, out_shape=out, interpret=True, **options)
half = jax.ShapeDtypeStruct((512, 256), jnp.float32)
product = jax.ShapeDtypeStruct((1024, 512), jnp.float32)
by_rows = [pl.BlockSpec((16, 256), lambda i, j: (i, 0)), pl.BlockSpec((256, 256), lambda i, j: (0, j))]
by_columns = [pl.BlockSpec((16, 256), lambda j, i: (i, 0)), pl.BlockSpec((256, 256), lambda j, i: (0, j))]
"""
TWICE = (
    "z = call(copy, half, grid=(2, 4), in_specs=[rows(lambda k, i: (4 * k + i, 0))],"
    " out_specs=rows(lambda k, i: (i, 0)))(x)"
)
TOLD = {  # the cell; the kind; what is said
    "never written": (
        "z = 1\nw = call(copy, jax.typeof(x), grid=(4,), in_specs=[rows(lambda i: (i, 0))],"
        " out_specs=rows(lambda i: (2 * i, 0)))(x)",
        "kernel",
        2,
        "the kernel `copy` never writes 131,072 elements (50%) of its result `o_ref`",
    ),
    "written twice": (TWICE, "kernel", 1, "comes to 4 blocks of its result `o_ref` more than once, with others"),
    "an order that fetches again": (
        "z = call(multiply, product, grid=(64, 2), in_specs=by_rows,"
        " out_specs=pl.BlockSpec((16, 256), lambda i, j: (i, j)))(x, y)",
        "refetched",
        1,
        "fetches each block of `y_ref` 64 times, and moves 36.7 MB; in another order of its grid it moves",
    ),
}
QUIET = {
    "a copy": "z = call(copy, jax.typeof(x), grid=(8,), in_specs=[rows(lambda i: (i, 0))],"
    " out_specs=rows(lambda i: (i, 0)))(x)",
    "what is never written is what it was": "z = call(copy, jax.typeof(x), grid=(4,), in_specs=[rows(lambda i: (i, 0))]"
    ", out_specs=rows(lambda i: (2 * i, 0)), input_output_aliases={0: 0})(x)",
    "the better order": "z = call(multiply, product, grid=(2, 64), in_specs=by_columns,"
    " out_specs=pl.BlockSpec((16, 256), lambda j, i: (i, j)))(x, y)",
    "no kernel": "z = x @ y",
}


@pytest.mark.parametrize("name", TOLD)
def test_what_a_kernel_does_is_told(name: str) -> None:
    cell, kind, line, text = TOLD[name]
    found, _ = quiet_findings(SETUP, [cell], kind)
    assert [(finding.kind, finding.line) for finding in found] == [(kind, line)]
    assert text in found[0].message and found[0].fix is not None


@pytest.mark.parametrize("kind", ["kernel", "refetched"])
@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_told_of_good_kernels(name: str, kind: str) -> None:
    assert quiet_findings(SETUP, [QUIET[name]], kind)[0] == []
