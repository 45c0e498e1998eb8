"""Kernels: which window of which array each step of a grid reads or writes, and what follows from that.

A kernel runs once for each step of its grid, the last dimension the fastest. Of each operand and result it sees a
window, which an index map places by the step. Pipelines of TPUs fetch an input only if its window has moved since the
step before, and write a result back when its window moves on; on GPUs steps run side by side, and each reads its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from jaxnb.program.display import Displayed, render
from jaxnb.program.structure import Place

__all__ = ["Kernel", "KernelWindow", "Kernels", "Reordered", "Scratch", "tiled_bytes"]

_LANES, _SUBLANES = 128, 8  # of a tile of VMEM, for elements of 4 bytes


def tiled_bytes(shape: tuple[int, ...], itemsize: int) -> int:
    """Bytes that an array takes in VMEM: its last two dimensions are filled up to whole tiles.

    A tile has 128 lanes, and 8 sublanes of 4 bytes, which narrower elements share; for fewer rows there are lower ones.

    >>> tiled_bytes((8, 100), 4), tiled_bytes((3,), 2), tiled_bytes((2, 128), 4)
    (4096, 4096, 1024)
    """
    if not shape:
        return max(itemsize, 4)
    packed = max(1, 4 // max(itemsize, 1))
    if len(shape) == 1:
        tile = _SUBLANES * _LANES * packed
        return -(-shape[0] // tile) * tile * itemsize
    *outer, rows, lanes = shape
    sublanes = min(_SUBLANES * packed, max(packed, 1 << max(rows - 1, 0).bit_length()))
    return math.prod(outer) * -(-rows // sublanes) * sublanes * -(-lanes // _LANES) * _LANES * itemsize


@dataclass(frozen=True, slots=True)
class Scratch:
    """Memory that a kernel has beside its windows, or an argument that it is given whole.

    Attributes:
      name: of the kernel's argument.
      shape: of it.
      dtype: the name of that.
      itemsize: bytes of an element.
      memory: the memory space, such as "vmem" or "smem"; "" for the compiler's choice.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    itemsize: int
    memory: str = ""

    @property
    def nbytes(self) -> int:
        """Bytes of it."""
        return math.prod(self.shape) * self.itemsize

    @property
    def vmem(self) -> int:
        """Bytes that it takes in VMEM."""
        return tiled_bytes(self.shape, self.itemsize) if self.memory == "vmem" else 0


@dataclass(frozen=True, slots=True)
class KernelWindow:
    """An operand or a result of a kernel, of which each step has a window.

    Attributes:
      name: of the kernel's argument.
      role: "in" for an input, "out" for a result.
      dtype: of the array.
      itemsize: bytes of an element.
      shape: of the array.
      block: of the window, by dimension of the array; None for one that the kernel's argument lacks.
      memory: the memory space, "" for the compiler's choice. In "any" there are no windows: the kernel copies itself.
      buffers: how many windows there is room for, so that the next is fetched while one is computed with.
      alias: the place among the results that an input is written into; of a result that among the inputs; or None.
      why: why it is not known where the windows lie; "" where it is.
      starts: where the window starts at each of the first steps, in elements, by dimension.
      blocks: how many different windows there are among the steps that were counted.
      fetches: how often the window moves: how often it is fetched, or written back.
      moved: bytes that this moves; what reaches out of the array does not count.
      again: how many windows are left and come back to.
      outside: how many windows reach out of the array.
      unwritten: elements of a result that no window covers; None where that is not known.
    """

    name: str
    role: str
    dtype: str
    itemsize: int
    shape: tuple[int, ...]
    block: tuple[int | None, ...]
    memory: str = ""
    buffers: int = 1
    alias: int | None = None
    why: str = ""
    starts: tuple[tuple[int, ...], ...] = ()
    blocks: int | None = None
    fetches: int | None = None
    moved: int | None = None
    again: int | None = None
    outside: int | None = None
    unwritten: int | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """The size of the window along each dimension of the array."""
        return tuple(1 if size is None else size for size in self.block)

    @property
    def nbytes(self) -> int:
        """Bytes of one window."""
        return math.prod(self.sizes) * self.itemsize

    @property
    def array_bytes(self) -> int:
        """Bytes of the whole array."""
        return math.prod(self.shape) * self.itemsize

    @property
    def is_windowed(self) -> bool:
        """Whether the pipeline moves windows, and not the kernel itself what it wants."""
        return self.memory in ("", "vmem", "smem", "gmem")

    @property
    def vmem(self) -> int:
        """Bytes that its windows take in VMEM, all buffers together."""
        if self.memory not in ("", "vmem"):
            return 0
        return self.buffers * tiled_bytes(tuple(size for size in self.block if size is not None), self.itemsize)


@dataclass(frozen=True, slots=True)
class Reordered:
    """The dimensions of a grid in an order that moves less.

    Attributes:
      axes: the dimensions of the grid as it is, in the order that was tried.
      moved: bytes that all windows move then.
      fetches: how often each window moves then, inputs first.
    """

    axes: tuple[int, ...]
    moved: int
    fetches: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Kernel(Displayed):
    """A `pallas_call`; it shows itself as a table, and in a notebook as a drawing of its grid and of its windows.

    Attributes:
      name: of the kernel, or of its function.
      place: of the equation in the level "jaxpr".
      line: of the cell, None for what no line of it made.
      grid: its sizes, the last one the fastest; None for one that only the run knows.
      windows: the inputs, then the results.
      scratch: memory that it has beside.
      prefetched: arguments that index maps read.
      semantics: of each dimension of the grid, such as "parallel"; () where the kernel does not say.
      backend: "tpu" or "gpu" if it was written for one of them, "" if it does not say.
      interpret: whether it is interpreted.
      counted: how many steps were counted, the first ones; all if that is `steps`.
      flops: of the counted steps. Of a branch that follows from the step just those count in which it is taken.
      transcendentals: likewise.
      unknown: primitives of the body whose cost is not known; "while" for a loop that counts once.
      estimate: flops, bytes and transcendentals that its author says; None where nothing is said.
      order: another order of the grid that moves less; None if there is none that would give the same.
      limit: bytes of VMEM that its parameters let it have; None where they say nothing.
    """

    name: str
    place: Place
    line: int | None
    grid: tuple[int | None, ...]
    windows: tuple[KernelWindow, ...]
    scratch: tuple[Scratch, ...] = ()
    prefetched: tuple[Scratch, ...] = ()
    semantics: tuple[str, ...] = ()
    backend: str = ""
    interpret: bool = False
    counted: int = 0
    flops: int = 0
    transcendentals: int = 0
    unknown: tuple[str, ...] = ()
    estimate: tuple[int, int, int] | None = None
    order: Reordered | None = None
    limit: int | None = None

    @property
    def steps(self) -> int | None:
        """How many steps the grid has; None where only the run knows."""
        return None if None in self.grid else math.prod(size for size in self.grid if size is not None)

    @property
    def moved(self) -> int | None:
        """Bytes that its windows move in the counted steps; None if that of one is not known."""
        moved = [window.moved for window in self.windows]
        return None if None in moved else sum(some for some in moved if some is not None)

    @property
    def vmem(self) -> int:
        """Bytes of VMEM that its windows and its scratch memory take, in whole tiles."""
        return sum(window.vmem for window in self.windows) + sum(one.vmem for one in self.scratch)

    @property
    def intensity(self) -> float | None:
        """Flops for each byte that is moved; None where one of them is not known."""
        return self.flops / self.moved if self.moved and not self.unknown else None

    @property
    def svg(self) -> str:
        """The drawing as an SVG file."""
        return str(render(self, "svg"))


@dataclass(frozen=True, slots=True)
class Kernels(Displayed):
    """The kernels of a program, in the order of its equations; it shows itself as tables and drawings.

    Attributes:
      items: the kernels.
      source: the text of the cell.
    """

    items: tuple[Kernel, ...]
    source: str = ""

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self.items)

    def __getitem__(self, which: int | str) -> Any:
        """A kernel by its place, or by its name, such as `kernels["matmul"]`.

        Raises:
          KeyError: if no kernel is called so.
        """
        if isinstance(which, int):
            return self.items[which]
        found = [kernel for kernel in self.items if kernel.name == which]
        if not found:
            raise KeyError(f"no kernel is called {which!r}; there are {[kernel.name for kernel in self.items]}")
        return found[0]
