"""Results of kernels of Pallas that are not defined (`"kernel"`): blocks that no step writes, or that several write.

Source: https://docs.jax.dev/en/latest/pallas/grid_blockspec.html. What no step writes holds whatever was there. On GPUs
steps run side by side, so that two of them that write one block race; a pipeline of a TPU does not read a block back
when a step comes to it again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.lints.kernels import kernels_in, when_kernels
from jaxnb.findings.lints.lint import Lint
from jaxnb.program import Finding, Kernel, KernelWindow

__all__ = ["LINT", "undefined_results"]


def undefined_results(traced: LintContext) -> Iterator[Finding]:
    """Results of a piece's kernels with blocks that are never written, or written in visits apart.

    Args:
      traced: the piece.
    """
    for kernel, eqn, part in kernels_in(traced):
        for window in kernel.windows:
            if window.role != "out":
                continue
            if window.unwritten and window.alias is None:
                share = window.unwritten / math.prod(window.shape)
                message = (
                    f"the kernel `{kernel.name}` never writes {window.unwritten:,} elements ({share:.0%}) of its "
                    f"result `{window.name}`: they hold whatever was there."
                )
                fix = "let the grid and the index map come to every block, or alias an input by input_output_aliases."
                yield traced.finding("kernel", message, eqn, part, fix, holder=kernel.name)
            if window.again:
                yield traced.finding("kernel", _twice(kernel, window), eqn, part, _fix(kernel), holder=kernel.name)


def _twice(kernel: Kernel, window: KernelWindow) -> str:
    blocks = f"{window.again:,} block{'' if window.again == 1 else 's'}"
    what = f"the kernel `{kernel.name}` comes to {blocks} of its result `{window.name}` more than once"
    if kernel.backend == "gpu":
        return f"{what}: steps of a GPU run side by side, and race."
    return f"{what}, with others in between: the last visit overwrites what those before have left."


def _fix(kernel: Kernel) -> str:
    if kernel.backend == "gpu":
        return "loop over what is added up inside of the kernel, and write each block in one step."
    return "make the dimension of the grid along which the result stays the last one, which is the fastest."


LINT = Lint(undefined_results, when_kernels)
