"""What the windows of a kernel take of the fast memory of a chip, and how much of that a kernel may have.

On a TPU it is VMEM, of which a kernel has a part until its parameters ask for more; windows lie there in whole tiles,
twice where the next is fetched while one is computed with. On a GPU it is the shared memory of a block of threads, in
which Mosaic GPU keeps each window once. Kernels for Triton keep theirs in registers: nothing is said of them here.
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxnb.program.kernels import Kernel
from jaxnb.program.placement.targets import Target

__all__ = ["KernelRoom", "read_kernel_room"]


@dataclass(frozen=True, slots=True)
class KernelRoom:
    """What a kernel takes and may have, in bytes.

    Attributes:
      kernel: which one.
      memory: "VMEM" or "shared memory".
      windows: by name, what those of an operand or a result take together, and how many buffers they have.
      scratch: what it has beside.
      limit: what it may have as it is.
      most: what its parameters can let it have.
    """

    kernel: Kernel
    memory: str
    windows: tuple[tuple[str, int, int], ...]
    scratch: int
    limit: int
    most: int

    @property
    def needed(self) -> int:
        """Bytes of all windows and of scratch memory."""
        return sum(nbytes for _, nbytes, _ in self.windows) + self.scratch

    @property
    def fits(self) -> bool:
        """Whether it may have so much as it is."""
        return self.needed <= self.limit


def read_kernel_room(kernel: Kernel, target: Target) -> KernelRoom | None:
    """What a kernel takes on a chip of a target.

    Args:
      kernel: which one.
      target: the machine.

    Returns:
      None where nothing is known of it: it is interpreted, or written for other machines, or for Triton.

    >>> from jaxnb.program.placement.targets import read_target
    >>> room = read_kernel_room(Kernel("f", (0, 0), None, (4,), ()), read_target("v5e"))
    >>> room.needed, room.limit, room.most
    (0, 16777216, 134217728)
    """
    kind = target.kind
    if kernel.interpret or kernel.backend not in ("", "tpu" if kind.platform == "tpu" else ""):
        return None
    if kind.platform == "tpu":
        windows = tuple((one.name, one.vmem, one.buffers) for one in kernel.windows if one.vmem)
        scratch = sum(one.vmem for one in kernel.scratch)
        limit = kind.kernel_memory if kernel.limit is None else min(kernel.limit, kind.kernel_memory_most)
        return KernelRoom(kernel, "VMEM", windows, scratch, limit, kind.kernel_memory_most)
    windows = tuple((one.name, one.nbytes, 1) for one in kernel.windows if one.memory in ("", "smem"))
    scratch = sum(one.nbytes for one in kernel.scratch if one.memory == "smem")
    return KernelRoom(kernel, "shared memory", windows, scratch, kind.kernel_memory, kind.kernel_memory_most)
