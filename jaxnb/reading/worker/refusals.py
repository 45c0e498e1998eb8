"""What compilers say where a program does not fit into the memory of a device, read and told in one form."""

from __future__ import annotations

import re
from dataclasses import dataclass

from jaxnb.errors import JaxnbError
from jaxnb.units import format_bytes

__all__ = ["NotCompiled", "OutOfMemory", "Refusal", "read_refusal"]

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = r"(?P<{0}>[\d.]+)(?P<{0}_unit>[KMGT]?)"
_HBM = re.compile(
    rf"total memory required for .*?\({_SIZE.format('needed')}\) exceeds available HBM \({_SIZE.format('available')}\)"
)
_SPACE = re.compile(
    rf"Ran out of memory in memory space (?P<space>\w+). Used {_SIZE.format('needed')} of {_SIZE.format('available')}"
)
_ONE = re.compile(
    r"Allocation \(size=(?P<needed>\d+)\) would exceed memory \(size=(?P<available>\d+)\)(?:.*?space=(?P<space>\w+))?"
)
_SCOPED = re.compile(
    rf"memory space (?P<space>\w+) .*?Scoped allocation with size {_SIZE.format('needed')}"
    rf" and limit {_SIZE.format('available')}",
    re.DOTALL,
)
_SHARED = re.compile(
    r"(?P<space>Shared memory) size limit exceeded: requested (?P<needed>\d+), available: (?P<available>\d+)"
)
_TAG = re.compile(r"tag = '(?P<tag>[^']*)'")
_MOST_TAGS = 3


class NotCompiled(JaxnbError):
    """A compiler refused a program for another reason than memory.

    Attributes:
      said: all that it said.
    """

    said: str = ""


class OutOfMemory(JaxnbError):
    """A compiler refused a program because it does not fit into the memory of a device.

    Args:
      refusal: what it said.
      device: whose memory it is, in words.
      said: all that it said.
      kernel: which kernel does not fit, as "kernel `f` of line 3"; "" where it is the program.
      line: of the cell.
      more: a further reason.
      fix: what to do in the place of what is said without it.
    """

    def __init__(
        self,
        refusal: Refusal,
        device: str,
        said: str = "",
        kernel: str = "",
        line: int | None = None,
        *,
        more: str = "",
        fix: str = "",
    ) -> None:
        self.refusal, self.said, self.device = refusal, said, device
        over = refusal.needed - refusal.available
        what = (
            f"{kernel or 'the program'} does not fit: it needs {format_bytes(refusal.needed)} of {refusal.memory}, "
            f"and {device} has {format_bytes(refusal.available)} for it."
        )
        why = f"the compiler found no way; {format_bytes(over)} are too much."
        why += "".join(f" {text}" for text in (*refusal.tags, more) if text)
        usual = (
            "spread it over more devices, keep less for the backward pass (%jaxnb remat), or donate what is replaced."
            if refusal.memory == "HBM"
            else "smaller blocks: what a kernel works on at a time must fit there, twice if it is fetched ahead."
        )
        super().__init__(what, why=why, fix=fix or usual, line=line)


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a compiler said of memory that does not suffice.

    Attributes:
      memory: which: "HBM", "VMEM", "shared memory".
      needed: bytes that the program needs at once, or the one allocation that is too large.
      available: bytes that there are.
      tags: what the largest allocations are for, in the compiler's words.
    """

    memory: str
    needed: int
    available: int
    tags: tuple[str, ...] = ()


def read_refusal(message: str) -> Refusal | None:
    """What a compiler's error says of memory; None for one about anything else.

    >>> read_refusal(
    ...     "RESOURCE_EXHAUSTED: Ran out of memory on HBM, the total memory required for HLO temporaries (48.00G) "
    ...     "exceeds available HBM (15.75G)."
    ... )
    Refusal(memory='HBM', needed=51539607552, available=16911433728, tags=())
    """
    if "RESOURCE_EXHAUSTED" not in message:
        return None
    for pattern in (_HBM, _SPACE, _ONE, _SCOPED, _SHARED):
        found = pattern.search(message)
        if found is not None:
            parts = found.groupdict()
            needed, available = (
                int(float(parts[name]) * _UNITS[parts.get(f"{name}_unit") or ""]) for name in ("needed", "available")
            )
            tags = tuple(_sentence(tag["tag"]) for tag in _TAG.finditer(message))[:_MOST_TAGS]
            space = parts.get("space") or "hbm"
            return Refusal(space.lower() if " " in space else space.upper(), needed, available, tags)
    return None


def _sentence(tag: str) -> str:
    return f"{tag.strip().rstrip('.')}."
