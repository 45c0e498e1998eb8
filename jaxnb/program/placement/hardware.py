"""What accelerators can do, as plain data: peak flops by dtype, memory, and the links between devices.

The figures are those that the makers publish: NVIDIA's data sheets of each GPU (dense, without sparsity) and of the DGX
systems for what lies between nodes, AMD's data sheet of the MI300X, and the pages "System architecture" of Cloud TPU.
They are peaks, which no program reaches. `HARDWARE` is a table to be edited: put in a machine of your own, or one with
figures that you measured.

>>> import dataclasses
>>> mine = dataclasses.replace(find_hardware("h100"), name="my cluster", network=12.5e9)
>>> add_hardware(mine)
>>> find_hardware("my cluster").network
12500000000.0
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from jaxnb.errors import JaxnbError

__all__ = ["HARDWARE", "Hardware", "add_hardware", "find_hardware"]


@dataclass(frozen=True)
class Hardware:
    """One kind of device, and how many of them are joined.

    Attributes:
      name: by which it is asked for.
      products: flops a second of matrix products by dtype of the operands. "float32" is what XLA makes of it by
        default: TF32 on GPUs that have it, one pass in bfloat16 on TPUs; "float8" and "int8" stand for their kin.
      elementwise: flops a second of all else; None where it is not published, and then only bytes count.
      memory: bytes of one device.
      bandwidth: bytes a second that one device reads and writes in its memory.
      link: bytes a second that one device sends along one axis of the mesh, both neighbours of a ring together.
      node: how many devices `link` joins; they are taken for neighbours in the mesh, the last axis the fastest.
      network: bytes a second that one device sends to another node; None where nobody knows.
      latency: seconds that every step of a collective takes, whatever it sends. No data sheet says it.
      title: what people call it.
      clock: cycles a second of the cores; None where compilers do not count in cycles. Of TPUs the peak of products
        says it, by how many of them their units do in a cycle.
      vmem: bytes of the memory beside the cores that XLA plans the use of; None where there is none.
    """

    name: str
    products: Mapping[str, float] = field(hash=False)
    elementwise: float | None
    memory: int
    bandwidth: float
    link: float
    node: int
    network: float | None = None
    latency: float = 0.0
    title: str = ""
    clock: float | None = None
    vmem: int | None = None

    def __post_init__(self) -> None:
        for what in ("memory", "bandwidth", "link", "node"):
            if not getattr(self, what) > 0:
                raise JaxnbError(f"{self.name}: {what} is {getattr(self, what)!r}.", why="it is a number above 0.")
        for what in ("elementwise", "network", "clock", "vmem"):
            if getattr(self, what) is not None and not getattr(self, what) > 0:
                raise JaxnbError(f"{self.name}: {what} is {getattr(self, what)!r}.", why="it is None or above 0.")
        for dtype, flops in self.products.items():
            if not flops > 0:
                raise JaxnbError(f"{self.name}: products of {dtype} run at {flops!r}.", why="it is a number above 0.")
        if self.latency < 0:
            raise JaxnbError(f"{self.name}: latency is {self.latency!r}.", why="it is a number of seconds, from 0.")

    def peak(self, dtype: str) -> float | None:
        """Flops a second of products of a dtype; None where the table has none.

        >>> find_hardware("h100").peak("float8_e4m3fn") == find_hardware("h100").products["float8"]
        True
        """
        for known in (dtype, dtype.partition("_")[0], dtype.removeprefix("u")):
            if known in self.products:
                return self.products[known]
        return self.products.get("float32") if dtype == "complex64" else None

    def sending(self, devices_apart: int) -> float | None:
        """Bytes a second that a device sends in a group whose first and last member are so many devices apart.

        Args:
          devices_apart: the difference of the numbers of their nodes; 0 within one.
        """
        return self.link if devices_apart == 0 else self.network

    def split(self, parts: int) -> Hardware:
        """The same hardware, of which each chip is so many devices for JAX; its links they share.

        >>> find_hardware("tpu-v7x").split(2).memory == find_hardware("tpu-v7x").memory // 2
        True
        """
        if parts == 1:
            return self
        return replace(
            self,
            products={dtype: rate / parts for dtype, rate in self.products.items()},
            elementwise=None if self.elementwise is None else self.elementwise / parts,
            memory=self.memory // parts,
            bandwidth=self.bandwidth / parts,
            link=self.link / parts,
            node=self.node * parts,
            network=None if self.network is None else self.network / parts,
            vmem=None if self.vmem is None else self.vmem // parts,
        )

    def __str__(self) -> str:
        return self.title or self.name


_GB, _GIB, _MIB = 10**9, 2**30, 2**20


def _half(rate: float) -> dict[str, float]:
    return {"bfloat16": rate, "float16": rate}


def _tpu(rate: float) -> dict[str, float]:
    return {"bfloat16": rate, "float16": rate, "float32": rate}


_Row = tuple[str, Mapping[str, float], float | None, int, float, float, int, float | None]

# Name: title, products in 10^12 flops a second, all else likewise, bytes of memory, its bandwidth in GB a second,
# that of the link, devices in a node, and the bandwidth between nodes.
# GPUs: the link is NVLink one way, half of the published sum, or PCIe; between nodes the network cards of a DGX.
_AMPERE = {**_half(312), "float32": 156, "float64": 19.5, "int8": 624}
_HOPPER = {**_half(989.5), "float32": 494.5, "float64": 67, "float8": 1979, "int8": 1979}
_BLACKWELL = {**_half(2250), "float32": 1125, "float64": 37, "float8": 4500, "int8": 4500}
_CDNA3 = {**_half(1307.4), "float32": 163.4, "float64": 163.4, "float8": 2614.9, "int8": 2614.9}
_ADA = {**_half(121), "float32": 60, "float8": 242.5, "int8": 242.5}
_TURING = {"float16": 65, "bfloat16": 8.1, "float32": 8.1, "int8": 130}  # bfloat16 is multiplied as float32
_VOLTA = {"float16": 125, "bfloat16": 15.7, "float32": 15.7, "float64": 7.8}
_GPUS: dict[str, _Row] = {
    "t4": ("NVIDIA T4", _TURING, 8.1, 16 * _GB, 320, 16, 8, None),
    "l4": ("NVIDIA L4", _ADA, 30.3, 24 * _GB, 300, 32, 8, None),
    "v100": ("NVIDIA V100 SXM2", _VOLTA, 15.7, 32 * _GB, 900, 150, 8, 6.25),
    "a100-40gb": ("NVIDIA A100 SXM4 40 GB", _AMPERE, 19.5, 40 * _GB, 1555, 300, 8, 25),
    "a100": ("NVIDIA A100 SXM4 80 GB", _AMPERE, 19.5, 80 * _GB, 2039, 300, 8, 25),
    "h100": ("NVIDIA H100 SXM5", _HOPPER, 67, 80 * _GB, 3350, 450, 8, 50),
    "h200": ("NVIDIA H200 SXM", _HOPPER, 67, 141 * _GB, 4800, 450, 8, 50),
    "b200": ("NVIDIA B200 SXM", _BLACKWELL, 75, 180 * _GB, 8000, 900, 8, 50),
    "mi300x": ("AMD Instinct MI300X", _CDNA3, 163.4, 192 * _GB, 5300, 448, 8, None),  # seven links of 64
}
# TPUs, by chip: the link is one axis of the torus, both neighbours together; between pods the data centre's network.
_TPUS: dict[str, _Row] = {
    "tpu-v4": ("TPU v4", {**_tpu(275), "int8": 275}, None, 32 * _GIB, 1200, 100, 4096, None),
    "tpu-v5e": ("TPU v5e", {**_tpu(197), "int8": 393}, None, 16 * _GB, 819, 100, 256, 3.125),
    "tpu-v5p": ("TPU v5p", {**_tpu(459), "int8": 918}, None, 95 * _GB, 2765, 200, 8960, None),
    "tpu-v6e": ("TPU v6e (Trillium)", {**_tpu(918), "int8": 1836}, None, 32 * _GB, 1640, 200, 256, 12.5),
    "tpu-v7x": ("TPU7x (Ironwood)", {**_tpu(2307), "float8": 4614}, None, 192 * _GIB, 7380, 200, 9216, None),
}
# Of TPUs the clock in 10^9 cycles a second, and the bytes of VMEM of a chip.
_CORES: dict[str, tuple[float, int]] = {
    "tpu-v4": (1.05, 32 * _MIB),
    "tpu-v5e": (1.5, 128 * _MIB),
    "tpu-v5p": (1.75, 128 * _MIB),
    "tpu-v6e": (1.75, 128 * _MIB),
    "tpu-v7x": (2.2, 128 * _MIB),
}


def _hardware(name: str, row: _Row) -> Hardware:
    title, products, elementwise, memory, bandwidth, link, node, network = row
    rates = {dtype: rate * 1e12 for dtype, rate in products.items()}
    rest = None if elementwise is None else elementwise * 1e12
    between = None if network is None else network * _GB
    clock, vmem = _CORES.get(name, (None, None))
    cycles = None if clock is None else clock * 1e9
    moved = bandwidth * _GB, link * _GB
    return Hardware(name, rates, rest, memory, *moved, node, between, title=title, clock=cycles, vmem=vmem)


HARDWARE: dict[str, Hardware] = {name: _hardware(name, row) for name, row in {**_GPUS, **_TPUS}.items()}
"""By name. It may be changed: `HARDWARE["mine"] = ...`, or `add_hardware`."""


def add_hardware(hardware: Hardware) -> None:
    """Puts a kind of device into the table, or another one in the place of one that has its name."""
    HARDWARE[hardware.name] = hardware


def find_hardware(name: str | Hardware) -> Hardware:
    """The entry of that name, in whatever case; what is one already is returned.

    Raises:
      JaxnbError: if there is none; the message names those that there are.

    >>> find_hardware("H100").memory
    80000000000
    """
    if isinstance(name, Hardware):
        return name
    found = HARDWARE.get(name) or next((HARDWARE[key] for key in HARDWARE if key.lower() == name.lower()), None)
    if found is not None:
        return found
    near = difflib.get_close_matches(name.lower(), HARDWARE, 1, 0.5)
    meant = f"did you mean {near[0]}? " if near else ""
    raise JaxnbError(
        f"there is no hardware {name!r} in the table.",
        why=f"it has {', '.join(HARDWARE)}.",
        fix=f"{meant}jaxnb.program.add_hardware puts in another one.",
    )
