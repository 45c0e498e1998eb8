"""Kernels of Pallas whose grid fetches blocks again (`"refetched"`) that another order of its dimensions would keep.

Source: https://docs.jax.dev/en/latest/pallas/tpu/pipelining.html: a block is fetched only if its index changes from one
step to the next.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.lints.kernels import kernels_in, when_kernels
from jaxnb.findings.lints.lint import Lint
from jaxnb.program import Finding
from jaxnb.units import format_bytes

__all__ = ["LINT", "refetching_grids"]

_SAVED = 0.2  # of the bytes that a kernel moves, for another order to be worth a word
_LEAST = 1_000_000  # bytes that are saved


def refetching_grids(traced: LintContext) -> Iterator[Finding]:
    """The kernels of a piece that move less with the dimensions of their grid in another order, which was tried.

    Args:
      traced: the piece.
    """
    for kernel, eqn, part in kernels_in(traced):
        order, moved = kernel.order, kernel.moved
        if order is None or moved is None or moved - order.moved < max(_SAVED * moved, _LEAST):
            continue
        worst, times = max(
            (
                (window.name, (window.fetches or 0) / (window.blocks or 1))
                for window in kernel.windows
                if window.role == "in"
            ),
            key=lambda pair: pair[1],
        )
        message = (
            f"the kernel `{kernel.name}` fetches each block of `{worst}` {times:.3g} times, and moves "
            f"{format_bytes(moved)}; in another order of its grid it moves {format_bytes(order.moved)}."
        )
        sizes = ", ".join(str(kernel.grid[axis]) for axis in order.axes)
        fix = f"take the dimensions {order.axes} of the grid in this order, as grid=({sizes}), in the index maps, too."
        yield traced.finding("refetched", message, eqn, part, fix, holder=kernel.name)


LINT = Lint(refetching_grids, when_kernels)
