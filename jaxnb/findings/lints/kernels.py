"""The kernels of Pallas in a traced piece, with the equations that call them: what the lints of kernels look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from jaxnb import reading
from jaxnb._jax import open_jaxpr
from jaxnb.findings.lints.census import jaxprs_of
from jaxnb.findings.lints.context import LintContext, Part
from jaxnb.findings.lints.lint import When
from jaxnb.program import Kernel

__all__ = ["Called", "kernels_in", "when_kernels"]

_MOST_STEPS = 1 << 16  # of each grid, so that a cell does not wait for it


class Called(NamedTuple):
    """A kernel, the equation that calls it, and the part of the piece that this stands in."""

    kernel: Kernel
    eqn: Any
    part: Part


def kernels_in(traced: LintContext) -> Iterator[Called]:
    """The kernels of a piece, each once.

    Args:
      traced: the piece.
    """
    for jaxpr, census, owners in jaxprs_of(open_jaxpr(traced.piece.jaxpr)):
        part = Part(jaxpr, (), owners, census)
        for eqn in jaxpr.eqns if census.kernels else ():
            if eqn.primitive.name == "pallas_call":
                yield Called(reading.read_kernel(eqn, most=_MOST_STEPS), eqn, part)


def when_kernels(traced: LintContext) -> When:
    """Whether there is a kernel to look at."""
    return When.TRACED if traced.census.kernels else When.NEVER
