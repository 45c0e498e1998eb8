"""Machines that programs are compiled for by their own compilers, though none is there: `v5e:4x4`, `h100:1x8`.

A target is a kind of chip and how many of them are joined. Of TPUs these are the sides of the torus, in chips; of GPUs
hosts and the devices of each. What chips can do stands in `hardware`; here is what their compilers are told of them.
"""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from jaxnb.errors import JaxnbError
from jaxnb.program.placement.hardware import Hardware, find_hardware

__all__ = ["TARGET_KINDS", "Target", "TargetKind", "read_target"]

_SIDES = ("x", "y", "z")
_TEXT = re.compile(r"(?P<kind>[^\s:]+?)(?::(?P<sides>[^\s:]*))?")


@dataclass(frozen=True, slots=True)
class TargetKind:
    """A kind of chip that programs can be compiled for.

    Attributes:
      name: by which it is asked for.
      hardware: its entry in the table of hardware.
      platform: the one of JAX whose compiler it is: "tpu" or "cuda".
      dimensions: how many sides its topology has.
      cores: how many devices JAX makes of a chip.
      options: what the compiler is told of it besides: of TPUs options of the topology, of GPUs the properties that
        the driver would tell of the device.
      available: bytes of memory that a program may have on a device.
      kernel_memory: bytes of fast memory that a kernel may have on a core: of TPUs of VMEM if its parameters ask for
        no more, of GPUs of shared memory for a block of threads.
      kernel_memory_most: bytes of it that its parameters can ask for.
    """

    name: str
    hardware: str
    platform: str
    dimensions: int
    available: int
    cores: int = 1
    options: tuple[tuple[str, str], ...] = ()
    kernel_memory: int = 0
    kernel_memory_most: int = 0


def _gpu(name: str, capability: str, cores: int, clock: float, memory: int, bandwidth: int, **other: int) -> TargetKind:
    """A GPU by what the driver tells of it.

    Args:
      name: of its entry in the table of hardware.
      capability: of CUDA.
      cores: streaming multiprocessors.
      clock: of them, in 10^9 cycles a second.
      memory: bytes that the driver offers, which are fewer than the data sheet says.
      bandwidth: in 10^6 bytes a second.
      **other: units a core, threads a core, bytes of shared memory, of which a block may have all but 1 KiB since 8.0,
        and of the cache.
    """
    major, minor = capability.split(".")
    shared = other["shared"]
    block = shared - 1024 if int(major) >= 8 else shared
    known = {
        "threads_per_block_limit": 1024,
        "threads_per_warp": 32,
        "shared_memory_per_block": 49152,
        "shared_memory_per_core": shared,
        "threads_per_core_limit": other.get("threads", 2048),
        "core_count": cores,
        "fpus_per_core": other["units"],
        "block_dim_limit_x": 2**31 - 1,
        "block_dim_limit_y": 65535,
        "block_dim_limit_z": 65535,
        "memory_bandwidth": bandwidth * 10**6,
        "l2_cache_size": other["cache"],
        "clock_rate_ghz": clock,
        "device_memory_size": memory,
        "shared_memory_per_block_optin": block,
        "registers_per_core_limit": 65536,
        "registers_per_block_limit": 65536,
        "cuda_major": major,
        "cuda_minor": minor,
    }
    options = tuple((key, str(value)) for key, value in known.items())
    return TargetKind(name, name, "cuda", 2, memory, 1, options, block, block)


# As the drivers tell them; the programming guide of CUDA has those that belong to a capability.
_GPUS = (
    _gpu("t4", "7.5", 40, 1.59, 15_642_329_088, 320_064, units=64, threads=1024, shared=65536, cache=4194304),
    _gpu("l4", "8.9", 58, 2.04, 23_580_639_232, 300_096, units=128, threads=1536, shared=102400, cache=50331648),
    _gpu("v100", "7.0", 80, 1.53, 34_072_559_616, 898_048, units=64, shared=98304, cache=6291456),
    _gpu("a100-40gb", "8.0", 108, 1.41, 42_331_013_120, 1_555_200, units=64, shared=167936, cache=41943040),
    _gpu("a100", "8.0", 108, 1.41, 85_100_068_864, 2_039_040, units=64, shared=167936, cache=41943040),
    _gpu("h100", "9.0", 132, 1.98, 84_942_979_072, 3_352_320, units=128, shared=233472, cache=52428800),
    _gpu("h200", "9.0", 132, 1.98, 151_397_597_184, 4_800_000, units=128, shared=233472, cache=52428800),
    _gpu("b200", "10.0", 148, 1.965, 191_514_411_008, 7_672_320, units=128, shared=233472, cache=132644864),
)


def _tpu(name: str, sides: int, memory: float, vmem: tuple[int, int], cores: int = 1, **options: str) -> TargetKind:
    """A TPU.

    Args:
      name: by which it is asked for.
      sides: of its topology.
      memory: GiB that its compiler leaves to a program.
      vmem: MiB of a core: what a kernel may have, and what it can ask for.
      cores: devices of a chip.
      **options: of the topology.
    """
    hardware = f"tpu-{'v7x' if name == 'tpu7x' else name}"
    limits = vmem[0] * 2**20, vmem[1] * 2**20
    return TargetKind(name, hardware, "tpu", sides, int(memory * 2**30), cores, tuple(options.items()), *limits)


# The compiler keeps a part of the memory for itself; what it leaves, and what kernels may have, stands in its refusals.
_TPUS = (
    # The two cores of a v4 are one device of JAX only where the chip is configured so.
    _tpu("v4", 3, 30.75, (16, 16), chip_config_name="megacore"),
    _tpu("v5e", 2, 15.75, (16, 128)),
    _tpu("v5p", 3, 95.74, (16, 64)),
    _tpu("v6e", 2, 31.25, (32, 128)),
    _tpu("tpu7x", 3, 94.75, (32, 64), cores=2),
)
TARGET_KINDS = {kind.name: kind for kind in (*_TPUS, *_GPUS)}
"""By name, in the order in which they are listed."""


@dataclass(frozen=True)
class Target:
    """A machine that need not be there.

    Attributes:
      kind: of its chips.
      sides: of TPUs those of the torus, in chips; of GPUs hosts and the devices of each.
      alone: whether one device of it is meant, which needs no mesh.
    """

    kind: TargetKind
    sides: tuple[int, ...]
    alone: bool = False

    @property
    def platform(self) -> str:
        """What programs for it are lowered for."""
        return self.kind.platform

    @property
    def chips(self) -> int:
        """How many there are."""
        return math.prod(self.sides)

    @property
    def devices(self) -> int:
        """How many JAX would see; of some chips two each."""
        return 1 if self.alone else self.chips * self.kind.cores

    @cached_property
    def hardware(self) -> Hardware:
        """What one device can do: of a chip that is several for JAX, a part of it; with the memory that is left."""
        found = find_hardware(self.kind.hardware)
        if self.platform == "cuda" and not self.alone:
            found = replace(found, node=self.sides[1])
        return replace(found.split(self.kind.cores), memory=self.kind.available)

    @property
    def topology(self) -> dict[str, Any]:
        """What JAX's `topologies.get_topology_desc` is asked by, and how many of its devices are meant."""
        sides = "x".join(map(str, self.sides))
        if self.platform == "tpu":
            # A host has 2x2 chips, of which a machine of one chip has one.
            hosts = {"chips_per_host_bounds": [1, 1, 1]} if self.chips == 1 else {}
            name = f"{self.kind.name}:{sides}"
            told: dict[str, Any] = {"topology_name": name, **dict(self.kind.options), **hosts}
        else:
            told = {"topology": f"1x{sides}", "target_config": _gpu_config(self.kind)}
        return {"platform": self.platform, "devices": self.devices, **told}

    @property
    def axes(self) -> dict[str, int]:
        """Axes of a mesh with all devices, where nobody named any: the sides that are longer than one."""
        if self.alone:
            return {}
        sides = [*zip(_SIDES, self.sides, strict=False), ("core", self.kind.cores)]
        return {name: size for name, size in sides if size > 1} or {"x": 1}

    def __str__(self) -> str:
        """`v5e:4x4`, as it is asked for."""
        return self.kind.name if self.alone else f"{self.kind.name}:{'x'.join(map(str, self.sides))}"


def _gpu_config(kind: TargetKind) -> str:
    """The properties of a GPU as the text of a stream_executor.GpuTargetConfigProto."""
    known = dict(kind.options)
    major, minor = known.pop("cuda_major"), known.pop("cuda_minor")
    lines = [f"{name}: {value}" for name, value in known.items()]
    version = f"cuda_compute_capability {{ major: {major} minor: {minor} }}"
    title = find_hardware(kind.hardware).title
    return (
        f'gpu_device_info {{ {" ".join(lines)} {version} }}\nplatform_name: "CUDA"\ndevice_description_str: "{title}"\n'
    )


def read_target(text: str) -> Target:
    """A target as a user writes it: `v5e:4x4`, `v4:2x2x2`, `h100:1x8`; the kind alone stands for one device.

    Raises:
      JaxnbError: if there is no such kind, or no machine has these sides.

    >>> str(read_target("V5e:4x4")), read_target("v5e:4x4").devices, read_target("h100").devices
    ('v5e:4x4', 16, 1)
    """
    found = _TEXT.fullmatch(text.strip())
    if found is None:
        raise JaxnbError(
            f"{text!r} is no target.", why="it is a kind of chip, and how many.", fix="v5e:4x4 or h100:1x8"
        )
    kind = _kind(found["kind"])
    if found["sides"] is None:
        return Target(kind, (1,) * kind.dimensions, alone=True)
    parts = found["sides"].split("x")
    if not all(re.fullmatch(r"[1-9][0-9]*", part) for part in parts):
        raise _bad_sides(kind, found["sides"], "sides are numbers from 1 with x between them.")
    sides = tuple(map(int, parts))
    if kind.platform == "tpu" and len(sides) == 2 and kind.dimensions == 3:
        raise _bad_sides(kind, found["sides"], "its chips are joined as a torus of three dimensions.")
    if len(sides) != kind.dimensions:
        what = "its chips are joined as a torus of two dimensions."
        raise _bad_sides(kind, found["sides"], what if kind.platform == "tpu" else "it is hosts x devices.")
    _check_sides(kind, sides)
    return Target(kind, sides)


def _kind(name: str) -> TargetKind:
    lower = name.lower()
    found = TARGET_KINDS.get(lower) or next((kind for kind in TARGET_KINDS.values() if kind.hardware == lower), None)
    if found is None:
        near = difflib.get_close_matches(lower, TARGET_KINDS, 2, 0.4)
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        raise JaxnbError(
            f"there is no target {name!r}.",
            why=f"compilers are known for {', '.join(TARGET_KINDS)}.",
            fix=f"{meant}%jaxnb target lists what each is.",
        )
    return found


def _check_sides(kind: TargetKind, sides: tuple[int, ...]) -> None:
    text, most = "x".join(map(str, sides)), find_hardware(kind.hardware).node
    if kind.platform == "cuda":
        if sides[1] > most:
            raise _bad_sides(kind, text, f"a host has {most} devices at most: it is hosts x devices.")
        return
    if math.prod(sides) > most:
        raise _bad_sides(kind, text, f"these are {math.prod(sides):,} chips, and a pod has {most:,}.")
    # A host has four chips, a square of the torus; one chip can be had alone.
    if math.prod(sides) > 1 and (sides[0] % 2 or sides[1] % 2):
        raise _bad_sides(kind, text, "a host has 2x2 chips, and hosts are not divided: the first two sides are even.")


def _bad_sides(kind: TargetKind, sides: str, why: str) -> JaxnbError:
    examples = {2: ("2x2", "4x4"), 3: ("2x2x1", "4x4x4")} if kind.platform == "tpu" else {2: ("1x8", "4x8")}
    some = " or ".join(f"{kind.name}:{one}" for one in examples[kind.dimensions])
    return JaxnbError(f"there is no {kind.name} of {sides or 'no sides'}.", why=why, fix=f"{some}; {kind.name} is one.")
