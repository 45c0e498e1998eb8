"""Kernels as text, HTML and SVG, from programs, runs and the magic."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from typing import Any

import pytest
from corpus import CASES

import jaxnb
from jaxnb.errors import JaxnbError
from jaxnb.program import Kernel, Kernels, decode, encode
from jaxnb.shell.commands import run_command
from jaxnb.views import draw_kernel, render_kernels


def kernels_of(name: str) -> Kernels:
    return jaxnb.inspect(CASES[name].function)(*CASES[name].arguments).kernels()


EPILOGUE = """\
product
grid 2 × 3 × 4, 24 steps · parallel, parallel, arbitrary · interpreted
823 kflops, 34.3 kflops a step · 124 KB moved, 5.2 KB a step · 6.66 flops a byte · 106 KB of VMEM
window           of              block           moved  windows    bytes  × array  on chip
x_ref   in       float32[64,64]  (32, 16)         24 ×        8  49.2 KB        3  32.8 KB  2 buffers
y_ref   in       float32[64,96]  (16, 32)         24 ×       12  49.2 KB        2  16.4 KB  2 buffers
b_ref   in       float32[96]     (32)              6 ×        3    768 B        2   8.2 KB  2 buffers
o_ref   out      float32[64,96]  (32, 32)          6 ×        6  24.6 KB        1  32.8 KB  2 buffers
acc     scratch                  float32[32,32]                                    16.4 KB  in vmem
x_ref: 8 of 8 blocks are fetched again: each 3 times.
y_ref: 12 of 12 blocks are fetched again: each 2 times.
b_ref: 3 of 3 blocks are fetched again: each 2 times.
with the dimensions of the grid in the order (1, 0, 2) it moves 123 KB instead of 124 KB."""


def test_a_kernel_as_text() -> None:
    found = kernels_of("matmul_with_an_epilogue")
    assert render_kernels(Kernels(tuple(replace(kernel, line=None) for kernel in found)), width=140) == EPILOGUE
    assert "product · line 26: return call(product" in render_kernels(found, width=140)
    assert max(map(len, render_kernels(found, width=60).split("\n"))) <= 60


SAID: dict[str, list[str]] = {
    "every_second_block_is_never_written": ["o_ref: 4,096 elements (50%) are never written."],
    "a_result_is_left_and_come_back_to": ["o_ref: 4 blocks are written, left, and written once more."],
    "convolution_with_padding": ["x_ref: 2 windows reach out of the array, where what is read is not defined."],
    "scatter_by_prefetched_rows": ["its index map reads rows_ref, in place", "in smem"],
    "scalars_in_smem": ["in smem"],
    "copies_that_the_kernel_makes": ["the kernel copies what it wants itself"],
    "grid_of_no_dimension": ["no grid, 1 step"],
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_odd_is_said(name: str) -> None:
    text = render_kernels(kernels_of(name), width=200)
    assert [said for said in SAID[name] if said not in text] == []


@pytest.mark.parametrize("name", CASES)
def test_every_kernel_is_drawn(name: str) -> None:
    (kernel,) = kernels_of(name)
    picture = ElementTree.fromstring(draw_kernel(kernel))
    texts = [str(node.text) for node in picture.iter() if node.tag.endswith("}text")]
    shown = [window.name for window in kernel.windows if window.starts and window.shape]
    for label in shown:
        assert any(label in text for text in texts), label
    html = kernel.html
    assert html.count("<svg") == 1 and "<table" in html and kernel.svg == str(draw_kernel(kernel))


def test_cells_of_a_drawing_say_what_they_are() -> None:
    drawn = str(draw_kernel(kernels_of("every_second_block_is_never_written")[0]))
    assert drawn.count("<title>never written</title>") == 4 and "o_ref[16:24, 0:128]: written at step 1 first" in drawn
    twice = str(draw_kernel(kernels_of("a_result_is_left_and_come_back_to")[0]))
    assert twice.count("first, 2 times") == 4 and "step 5, (1, 1): " in twice
    unknown = str(draw_kernel(kernels_of("copies_that_the_kernel_makes")[0]))
    assert "where its windows lie is not known ahead" in unknown


def test_names_are_escaped_and_large_grids_stay_small() -> None:
    kernel = kernels_of("transpose")[0]
    window = replace(kernel.windows[0], name="<b>&")
    drawn = str(draw_kernel(replace(kernel, name="<script>", windows=(window,))))
    assert "<script>" not in drawn and "<b>" not in drawn and ElementTree.fromstring(drawn) is not None
    many = replace(window, shape=(8192, 8192), block=(16, 16), starts=tuple((16 * at, 0) for at in range(512)))
    assert len(str(draw_kernel(Kernel("f", (0, 0), None, (512,), (many,), counted=512)))) < 400_000


def test_a_saved_program_shows_its_kernels() -> None:
    program = jaxnb.inspect(CASES["transpose"].function)(*CASES["transpose"].arguments)
    assert str(decode(encode(program)).kernels()) == "no kernels: nothing of the program is a pallas_call"
    text = str(program.kernels())
    assert str(decode(encode(program)).kernels()) == text


SETUP = """
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl
x = jnp.ones((32, 128))
def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2
spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
twice = pl.pallas_call(double, jax.typeof(x), grid=(4,), in_specs=[spec], out_specs=spec, interpret=True)
"""


def test_a_run_has_kernels_and_the_magic_shows_them() -> None:
    names: dict[str, Any] = {}
    exec(SETUP, names)
    run = jaxnb.stage("y = twice(x) + 1\nz = [twice(y)]", names)
    found = run.kernels()
    assert [(kernel.name, kernel.line, kernel.grid) for kernel in found] == [("double", 1, (4,)), ("double", 2, (4,))]
    assert bool((names["y"] == 3).all())

    class Shell:
        user_ns = names

    with pytest.raises(JaxnbError):
        run_command("kernels", Shell())
    Shell._jaxnb_magics = type("Magics", (), {"session": type("Session", (), {"last": run})})  # type: ignore[attr-defined]
    assert run_command("kernels", Shell()) == found
