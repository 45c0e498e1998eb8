"""A program with a kernel of Pallas, made without JAX: a product, half of it written; one operand is read twice."""

from __future__ import annotations

from jaxnb.program import Aval, Computation, Kernel, KernelWindow, Level, Op, Program, Scratch, Span, Value

__all__ = ["product"]

SOURCE = (
    "y = pl.pallas_call(matmul, out, grid=(2, 4), in_specs=[rows, columns], out_specs=tiles)(x, w)\nz = jnp.tanh(y)"
)


def product(name: str = "matmul") -> Program:
    """`y = x @ w` by windows over a grid of 2 × 4 steps, then `tanh`.

    Args:
      name: of the kernel, and of its arguments.
    """
    x, w, y = (64, 128), (128, 1024), (128, 1024)
    steps = [(i, j) for i in range(2) for j in range(4)]
    windows = (
        KernelWindow(
            f"{name}.x", "in", "float32", 4, x, (32, 128), "", 2, None, "", tuple((32 * i, 0) for i, _ in steps),
            blocks=2, fetches=2, moved=32768, again=0, outside=0,
        ),
        KernelWindow(
            f"{name}.w", "in", "float32", 4, w, (128, 256), "", 2, None, "", tuple((0, 256 * j) for _, j in steps),
            blocks=4, fetches=8, moved=1048576, again=4, outside=0,
        ),
        KernelWindow(
            f"{name}.y", "out", "float32", 4, y, (32, 256), "", 2, None, "", tuple((32 * i, 256 * j) for i, j in steps),
            blocks=8, fetches=8, moved=262144, again=0, outside=0, unwritten=65536,
        ),
    )  # fmt: skip
    scratch = (Scratch("acc", (32, 256), "float32", 4, "vmem"),)
    kernel = Kernel(
        name, (0, 0), 1, (2, 4), windows, scratch, (), ("parallel", "arbitrary"), "tpu", False, 8, 16777216
    )  # fmt: skip
    avals = [Aval("float32", shape, False, 4) for shape in (x, w, y, y)]
    values = tuple(Value(one, aval) for one, aval in zip("xwyz", avals, strict=True))
    ops = (
        Op("pallas_call", (0, 1), (2,), (("name", name),), Span(1), flops=16777216, bytes=1343488),
        Op("tanh", (2,), (3,), (), Span(2), flops=131072, bytes=1048576),
    )
    level = Level("jaxpr", values, (Computation("main", (0, 1), (3,), ops, (), ("x", "w"), ("z",)),))
    return Program(SOURCE, (Level("source", (), (Computation("cell"),)), level), _kernels=(kernel,))
