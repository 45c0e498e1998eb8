"""Where windows lie and what moves them, held to what interpreted kernels are given and write."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from corpus import CASES
from hypothesis import given, settings, strategies as st
from jax.experimental import pallas as pl
from probes import agrees, probing

from jaxnb import reading
from jaxnb.program import Kernel, KernelWindow
from jaxnb.reading.pallas.steps import grid_indices, step_values


def kernel_of(function: Any, *arguments: Any) -> Kernel:
    """The one kernel of a function."""
    jaxpr = jax.make_jaxpr(function)(*arguments)
    (kernel,) = reading.read_kernels(jaxpr, reading.read_jaxpr(jaxpr, cell_file=""))
    return kernel


def kernel_in(name: str) -> Kernel:
    """The kernel of a case."""
    return kernel_of(CASES[name].function, *CASES[name].arguments)


MAPPED = {"mapped_by_vmap"}  # whose probe would be mapped, too
ELSEWHERE = {"copies_that_the_kernel_makes"}


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_computes_what_it_is_to(name: str) -> None:
    case = CASES[name]
    if case.reference is None:
        pytest.skip("its result is not defined everywhere")
    found, expected = case.function(*case.arguments), case.reference(*case.arguments)
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("name", sorted(CASES.keys() - MAPPED - ELSEWHERE))
def test_each_step_is_given_and_writes_the_windows_that_are_told(name: str) -> None:
    case = CASES[name]
    kernel = kernel_of(case.function, *case.arguments)
    with probing() as probed:
        case.function(*case.arguments)
    held = agrees(kernel.windows, probed[0])
    assert held == sum(not window.why for window in kernel.windows) and held


def moves(window: KernelWindow) -> list[tuple[int, ...]]:
    """Where a window is fetched or written back, counted one by one."""
    return [at for at, before in zip(window.starts, (None, *window.starts[:-1]), strict=True) if at != before]


def bytes_at(window: KernelWindow, start: tuple[int, ...]) -> int:
    spans = zip(start, window.sizes, window.shape, strict=True)
    return math.prod(max(min(at + size, length) - max(at, 0), 0) for at, size, length in spans) * window.itemsize


def check_figures(kernel: Kernel) -> None:
    for window in kernel.windows:
        if window.why:
            assert (window.fetches, window.moved, window.blocks, window.starts) == (None, None, None, ())
            continue
        moved = moves(window)
        assert window.fetches == len(moved) and window.blocks == len(set(moved))
        assert window.again == sum(moved.count(block) > 1 for block in set(moved))
        assert window.moved == sum(bytes_at(window, start) for start in moved)
        assert window.outside == sum(bytes_at(window, start) < window.nbytes for start in set(moved))


@pytest.mark.parametrize("name", CASES)
def test_figures_follow_from_the_windows(name: str) -> None:
    kernel = kernel_in(name)
    assert kernel.steps == kernel.counted
    check_figures(kernel)


FIGURES: dict[str, dict[str, Any]] = {
    "add_vectors": {"flops": 1024, "moved": 3 * 4096, "vmem": 3 * 2 * 4096},
    "grid_of_no_dimension": {"grid": (), "flops": 512},
    # A branch that is taken in one step of four counts once in four: 2·64·64·96 of the products, as much of the sums.
    "matmul_that_adds_up_in_its_result": {"flops": 2 * 64 * 64 * 96 + 4 * 64 * 96 + 2 * 24},
    "causal_flash_attention": {"name": "flash_attention", "grid": (2, 4, 4)},
    "mapped_by_vmap": {"grid": (3, 4)},
    "a_loop_inside": {"flops": 10 * 512 + 20},  # and the counter of the loop
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_known_kernels(name: str) -> None:
    kernel = kernel_in(name)
    found = {what: getattr(kernel, what) for what in FIGURES[name]}
    assert found == FIGURES[name]


def test_a_causal_mask_saves_what_it_skips() -> None:
    whole, causal = (kernel_in(name) for name in ("flash_attention", "causal_flash_attention"))
    products = 2 * 2 * 16 * 16 * 16
    assert whole.flops > 32 * products and 20 * products < causal.flops < 26 * products
    assert (whole.windows[1].fetches, causal.windows[1].fetches) == (32, 18)


def test_what_is_not_known_ahead_is_said() -> None:
    kernel = kernel_in("gather_by_prefetched_rows")
    assert [window.why for window in kernel.windows] == ["its index map reads rows_ref", ""]
    assert kernel.moved is None and kernel.intensity is None and [one.name for one in kernel.prefetched] == ["rows_ref"]
    kernel = kernel_in("copies_that_the_kernel_makes")
    assert {window.why for window in kernel.windows} == {"the kernel copies what it wants itself"} and kernel.vmem == 0

    def dynamic(n: Any, x: Any) -> Any:
        spec = pl.BlockSpec((8, 128), lambda i, j: (i, j))
        return pl.pallas_call(lambda x, o: None, x, grid=(n, 2), in_specs=[spec], out_specs=spec)(x)

    kernel = kernel_of(lambda n, x: dynamic(n, x), 4, jnp.ones((64, 128)))
    assert kernel.grid == (None, 2) and kernel.steps is None and kernel.moved is None
    assert {window.why for window in kernel.windows} == {"only the run knows how many steps there are"}


def test_faults_are_in_the_figures() -> None:
    found = {name: kernel_in(name) for name in CASES}
    unwritten = {name for name, kernel in found.items() if any(window.unwritten for window in kernel.windows)}
    left = {
        name for name, kernel in found.items() for window in kernel.windows if window.role == "out" and window.again
    }
    assert unwritten == {"every_second_block_is_never_written"} and left == {"a_result_is_left_and_come_back_to"}
    aliased = {name: [window.alias for window in kernel.windows] for name, kernel in found.items()}
    assert aliased["in_place"] == [0, 0] and aliased["scatter_by_prefetched_rows"] == [None, 0, 1]


def product(grid: tuple[str, ...], **options: Any) -> Kernel:
    """A product of 64 blocks of rows and 2 of columns, by the order of its grid."""
    sizes = {"i": 64, "j": 2}

    def at(*names: str) -> Any:
        return lambda *steps: tuple(dict(zip(grid, steps, strict=True)).get(name, 0) for name in names)

    def multiply(x: Any, y: Any, o: Any) -> None:
        o[...] = x[...] @ y[...]

    specs = [pl.BlockSpec((8, 128), at("i", "_")), pl.BlockSpec((128, 128), at("_", "j"))]
    out = pl.BlockSpec((8, 128), at("i", "j"))
    shape = jax.ShapeDtypeStruct((512, 256), jnp.float32)
    steps = tuple(sizes[name] for name in grid)
    run = pl.pallas_call(multiply, shape, grid=steps, in_specs=specs, out_specs=out, **options)
    return kernel_of(run, jnp.ones((512, 128)), jnp.ones((128, 256)))


def test_another_order_is_told_if_it_moves_less() -> None:
    bad, good = product(("i", "j")), product(("j", "i"))
    assert bad.order is not None and bad.order.axes == (1, 0) and good.order is None
    assert bad.order.moved == good.moved and (bad.moved or 0) > bad.order.moved
    assert bad.order.fetches == tuple(window.fetches for window in good.windows)
    assert [window.fetches for window in bad.windows] == [64, 128, 128]


def test_an_order_on_which_steps_may_build_is_left() -> None:
    from jax.experimental.pallas import tpu as pltpu

    ordered = pltpu.CompilerParams(dimension_semantics=("arbitrary", "arbitrary"))
    assert product(("i", "j"), compiler_params=ordered).order is None
    free = pltpu.CompilerParams(dimension_semantics=("parallel", "parallel"))
    assert product(("i", "j"), compiler_params=free).order is not None


def test_steps_of_a_gpu_read_their_own_windows() -> None:
    from jax.experimental.pallas import triton as plgpu

    kernel = product(("i", "j"), compiler_params=plgpu.CompilerParams())
    assert (kernel.backend, [window.fetches for window in kernel.windows], kernel.order) == (
        "gpu",
        [128, 128, 128],
        None,
    )


def test_the_first_steps_of_many_are_counted() -> None:
    spec = pl.BlockSpec((8, 128), lambda i, j: (i, j))
    run = pl.pallas_call(
        lambda x, o: None, jax.ShapeDtypeStruct((4096, 4096), jnp.int8), grid=(512, 32), in_specs=[spec], out_specs=spec
    )
    jaxpr = jax.make_jaxpr(run)(jnp.ones((4096, 4096), jnp.int8))
    (whole,) = reading.read_kernels(jaxpr, reading.read_jaxpr(jaxpr, cell_file=""))
    (some,) = reading.read_kernels(jaxpr, reading.read_jaxpr(jaxpr, cell_file=""), most=100)
    assert whole.counted == whole.steps == 16384 and len(whole.windows[0].starts) == 4096
    assert whole.moved == 2 * 4096 * 4096 and whole.windows[1].unwritten == 0
    assert (some.counted, some.steps, some.moved, some.windows[1].unwritten) == (100, 16384, 2 * 100 * 1024, None)


# --- scalars at every step ---


def expressions(a: Any, b: Any) -> tuple[Any, ...]:
    c = jnp.int32(3)
    return (
        *(
            a + b * 2 - 1,
            a // 3,
            a % 3,
            (a - b) // 3,
            (a - b) % 3,
            jax.lax.div(a - b, c),
            jax.lax.rem(a - b, c),
            -a,
            abs(a - b),
        ),
        *(
            jnp.minimum(a, b),
            jnp.maximum(a, 2),
            jnp.where(a > b, a, b),
            jnp.clip(a, 1, 3),
            jnp.sign(a - b),
            a ^ b,
            a & 1,
            a | b,
        ),
        *(a << 1, a >> 1, (a.astype(jnp.float32) * 1.7).astype(jnp.int32), jnp.int32(a == b), jnp.int32(~(a < b))),
        *(jax.lax.cond(a > b, lambda: a * 2, lambda: b), jax.lax.switch(a, [lambda: b, lambda: b + 5, lambda: a])),
        *(jnp.ceil(a / 2).astype(jnp.int32), jnp.floor(a / 2).astype(jnp.int32), pl.cdiv(a, 2), jnp.remainder(a, 4)),
    )


def test_scalars_are_what_jax_computes() -> None:
    indices = grid_indices((5, 4), 1 << 10)
    jaxpr = jax.make_jaxpr(expressions)(jnp.int32(0), jnp.int32(0))
    found = step_values(jaxpr, indices)
    expected = jax.vmap(expressions)(*map(jnp.asarray, indices))
    for place, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert one is not None, place
        np.testing.assert_array_equal(np.broadcast_to(one, other.shape), other, err_msg=str(place))


def test_what_does_not_follow_is_not_known() -> None:
    indices = grid_indices((3,), 10)
    looped = jax.make_jaxpr(lambda i: jax.lax.while_loop(lambda j: j < 5, lambda j: j + 1, i))(jnp.int32(0))
    assert step_values(looped, indices) == [None]
    table = jax.make_jaxpr(lambda i: jnp.arange(4)[i])(jnp.int32(0))
    assert step_values(table, indices) == [None]


# --- made up ---


@st.composite
def window_specs(draw: st.DrawFn, grid: tuple[int, ...]) -> tuple[Any, tuple[int, ...]]:
    """A BlockSpec for a grid, and the shape of an array that it fits."""
    dims: list[Any] = []
    steps: list[tuple[int, int, int]] = []  # axis, factor, offset
    shape: list[int] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["block", "none", "element"]))
        size = 1 if kind == "none" else draw(st.integers(1, 4))
        axis, factor, offset = draw(st.integers(-1, len(grid) - 1)), draw(st.integers(0, 2)), draw(st.integers(0, 1))
        most = (factor * (grid[axis] - 1) if axis >= 0 else 0) + offset
        unit = 1 if kind == "element" else size
        rest = draw(st.integers(0, size - 1)) if kind == "block" else 0
        shape.append(most * unit + size - rest + draw(st.integers(0, 3)))
        dims.append({"block": size, "none": None, "element": pl.Element(size)}[kind])
        steps.append((axis, factor, offset))
    if any(isinstance(dim, pl.Element) for dim in dims):  # which blocks do not stand beside
        for place, dim in enumerate(dims):
            if isinstance(dim, int):
                dims[place] = pl.Element(dim)
                axis, factor, offset = steps[place]
                shape[place] = max(shape[place], (factor * (grid[axis] - 1) if axis >= 0 else 0) + offset + dim)

    def index_map(*at: Any) -> tuple[Any, ...]:
        return tuple((at[axis] * factor if axis >= 0 else 0) + offset for axis, factor, offset in steps)

    return pl.BlockSpec(tuple(dims), index_map), tuple(shape)


@st.composite
def kernels(
    draw: st.DrawFn,
) -> tuple[tuple[int, ...], list[tuple[Any, tuple[int, ...]]], list[tuple[Any, tuple[int, ...]]]]:
    grid = tuple(draw(st.lists(st.integers(1, 4), max_size=3)))
    specs = st.lists(window_specs(grid), min_size=1, max_size=2)
    return grid, draw(specs), draw(specs)


@settings(deadline=None, max_examples=40)
@given(kernels())
def test_made_up_windows_are_those_that_steps_are_given(made: Any) -> None:
    grid, reads, writes = made
    specs: dict[str, Any] = {"in_specs": [spec for spec, _ in reads], "out_specs": [spec for spec, _ in writes]}
    out = [jax.ShapeDtypeStruct(shape, jnp.float32) for _, shape in writes]
    given_ = [jnp.arange(math.prod(shape), dtype=jnp.float32).reshape(shape) for _, shape in reads]

    def run(*arrays: Any) -> Any:
        return pl.pallas_call(lambda *_: None, out, grid=grid, interpret=True, **specs)(*arrays)

    kernel = kernel_of(run, *given_)
    with probing() as probed:
        run(*given_)
    assert agrees(kernel.windows, probed[0]) == len(kernel.windows)
    check_figures(kernel)
