"""The compilers of targets: which are installed, whether they fit the installed JAX, and the process that has one.

A compiler is loaded by a worker alone, never by the process of the notebook: loading libtpu takes the TPU of a machine
that has one, and CUDA's plugin takes memory of a GPU. Neither needs a device to compile.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from jaxnb.errors import JaxnbError

__all__ = ["Compiler", "check_compiler", "cuda_folder", "environment_of", "find_compilers"]

_CUDA = ("jax-cuda12-plugin", "jax-cuda12-pjrt", "nvidia-cuda-nvcc-cu12")
_NEEDED: Mapping[str, tuple[str, ...]] = {"tpu": ("libtpu",), "cuda": _CUDA}
_TITLES: Mapping[str, str] = {"tpu": "TPU", "cuda": "GPU"}
_MACHINES: Mapping[str, tuple[str, ...]] = {"tpu": ("x86_64",), "cuda": ("x86_64", "aarch64")}


@dataclass(frozen=True, slots=True)
class Compiler:
    """What there is of the compiler of a platform.

    Attributes:
      platform: "tpu" or "cuda".
      versions: of the distributions that it consists of; None for one that is not installed.
      wrong: why it does not serve; "" if it does.
      fix: what to do about that.
    """

    platform: str
    versions: Mapping[str, str | None]
    wrong: str = ""
    fix: str = ""

    @property
    def installed(self) -> bool:
        """Whether all of it is there, right or wrong."""
        return all(self.versions.values())

    def __str__(self) -> str:
        """`libtpu 0.0.42.1`, or why there is none."""
        told = ", ".join(f"{name} {version}" for name, version in self.versions.items() if version)
        return told if not self.wrong else f"{self.wrong} ({told})" if told else self.wrong


def find_compilers() -> tuple[Compiler, ...]:
    """The compilers of all platforms, also those that are not installed. None is loaded."""
    return tuple(map(_find, _NEEDED))


def check_compiler(wanted: str) -> Compiler:
    """The compiler of a platform.

    Raises:
      JaxnbError: if it is not installed, does not fit the installed JAX, or cannot run on this machine.
    """
    found = _find(wanted)
    if found.wrong:
        raise JaxnbError(f"nothing here compiles for a {_TITLES[wanted]}.", why=f"{found.wrong}.", fix=found.fix)
    return found


def environment_of(wanted: str) -> dict[str, str]:
    """What the process that has a compiler needs in its environment besides what this one has."""
    if wanted == "tpu":
        return {
            "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",  # two notebooks compile side by side, and a lock file stops neither
            # It is not asked which machine this is, and what it is told makes no difference to any topology.
            "TPU_SKIP_MDS_QUERY": "1",
            "TPU_WORKER_HOSTNAMES": "localhost",
            "TPU_ACCELERATOR_TYPE": "v5litepod-8",
        }
    flags = os.environ.get("XLA_FLAGS", "").split()
    # Without a device nothing can be timed: kernels are chosen by what is known of them.
    flags += ["--xla_gpu_autotune_level=0", f"--xla_gpu_cuda_data_dir={cuda_folder()}"]
    return {"JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1", "XLA_FLAGS": " ".join(flags)}


def _find(wanted: str) -> Compiler:
    versions = {name: _version(name) for name in _NEEDED[wanted]}
    fix = f'pip install "jaxnb[{wanted}]".'
    missing = [name for name, version in versions.items() if version is None]
    machine = platform.machine()
    if sys.platform != "linux" or machine not in _MACHINES[wanted]:
        wrong = f"{_NEEDED[wanted][0]} is for Linux on {' or '.join(_MACHINES[wanted])}, and this is {sys.platform}"
        return Compiler(
            wanted, versions, f"{wrong} on {machine}", "plan for it on such a machine; it needs no accelerator."
        )
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        return Compiler(wanted, versions, f"{' and '.join(missing)} {verb} not installed", fix)
    return Compiler(wanted, versions, *_misfit(wanted, versions, fix))


def _misfit(wanted: str, versions: Mapping[str, str | None], fix: str) -> tuple[str, str]:
    """Why a compiler does not belong to the installed JAX, and what to do; ("", "") if it does."""
    jax = _version("jax")
    if wanted == "tpu":
        pinned, have = _pinned("libtpu"), versions["libtpu"] or ""
        if pinned and not re.match(re.escape(pinned).replace(r"\*", ".*"), have):
            return f"libtpu {have} does not belong to jax {jax}, which wants {pinned}", fix
        return "", ""
    for name in _CUDA[:2]:
        have = versions[name] or ""
        if have != _version("jaxlib"):
            return f"{name} {have} does not belong to jaxlib {_version('jaxlib')}", fix
    return "", ""


@cache
def _pinned(name: str) -> str:
    """The version of a distribution that jax's own extras ask for, as `0.0.42.*`; "" where they say none."""
    for line in importlib.metadata.requires("jax") or ():
        found = re.match(rf"{re.escape(name)}\s*==\s*([^\s;,]+)", line)
        if found is not None:
            return found[1]
    return ""


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def cuda_folder() -> str:
    """Where the parts of CUDA's compiler lie that XLA runs: the assembler, and the library of device functions."""
    found = importlib.util.find_spec("nvidia")
    places = found.submodule_search_locations if found is not None else None
    return next((path for place in places or () if os.path.isdir(path := os.path.join(place, "cuda_nvcc"))), "")
