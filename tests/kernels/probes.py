"""Which elements each step of a kernel is given, and which it writes: told by running another body on the same grid."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

from jaxnb.program import KernelWindow

__all__ = ["Probed", "agrees", "probing"]


class Probed(NamedTuple):
    """What a kernel was given and wrote.

    Attributes:
      given: by input, then by step, the elements of its window.
      inputs: the arrays.
      written: by result an array of the last step, from 1, that wrote each element.
    """

    given: list[dict[int, Any]]
    inputs: list[Any]
    written: list[Any]


@contextmanager
def probing() -> Generator[list[Probed]]:
    """Kernels that are interpreted inside do nothing but tell what they are given, and write which step they are."""
    found: list[Probed] = []
    original = pl.pallas_call

    def stand_in(kernel: Any, out_shape: Any, **options: Any) -> Any:
        spec = options.get("grid_spec")
        first = getattr(spec, "num_scalar_prefetch", 0)
        grid = spec.grid if spec is not None else options.get("grid", ())
        results = len(jax.tree.leaves(out_shape))

        def run(*operands: Any) -> Any:
            inputs = operands[first:]
            given: list[dict[int, Any]] = [{} for _ in inputs]

            def record(step: Any, *windows: Any) -> None:
                for known, window in zip(given, windows, strict=True):
                    known[int(step)] = np.asarray(window)

            def body(*refs: Any) -> None:
                step = jnp.int32(0)
                for axis, size in enumerate(grid):
                    step = step * size + pl.program_id(axis)
                read, rest = refs[first : first + len(inputs)], refs[first + len(inputs) :]
                jax.debug.callback(record, step, *(ref[...] for ref in read))
                for ref in rest[:results]:
                    ref[...] = jnp.full(ref.shape, step + 1, ref.dtype)

            made = original(body, out_shape, **options)(*operands)
            jax.effects_barrier()
            found.append(
                Probed(given, [np.asarray(one) for one in inputs], [np.asarray(one) for one in jax.tree.leaves(made)])
            )
            return made

        return run

    with mock.patch.object(pl, "pallas_call", stand_in):
        yield found


def boxes(window: KernelWindow) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """For each step the part of the array in the window, and where in the window that lies."""
    for start in window.starts:
        pairs = list(zip(start, window.sizes, window.shape, strict=True))
        whole = tuple(slice(max(at, 0), max(min(at + size, length), 0)) for at, size, length in pairs)
        yield whole, tuple(slice(part.start - at, part.stop - at) for part, at in zip(whole, start, strict=True))


def agrees(windows: tuple[KernelWindow, ...], probed: Probed) -> int:
    """Holds windows to what was seen; how many of them could be."""
    held = 0
    reads = [window for window in windows if window.role == "in"]
    for window, given, array in zip(reads, probed.given, probed.inputs, strict=True):
        if not window.starts:
            continue
        held += 1
        assert sorted(given) == list(range(len(window.starts)))
        for step, (whole, part) in enumerate(boxes(window)):
            np.testing.assert_array_equal(given[step].reshape(window.sizes)[part], array[whole])
    writes = [window for window in windows if window.role == "out"]
    for window, array in zip(writes, probed.written, strict=True):
        if not window.starts:
            continue
        held += 1
        expected = np.zeros(window.shape)
        for step, (whole, _) in enumerate(boxes(window)):
            expected[whole] = step + 1
        seen = expected > 0
        np.testing.assert_array_equal(array[seen], expected[seen])
        assert window.unwritten == math.prod(window.shape) - seen.sum()
        if window.alias is None:
            assert not np.isin(array[~seen], range(1, len(window.starts) + 1)).any()
    return held
