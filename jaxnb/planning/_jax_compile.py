"""The door to compiling what was lowered elsewhere: for as many devices as wanted, none of which is ever used.

Each entry says what is missing in public. All were checked on jax 0.10.2 and 0.12.0.
"""

from __future__ import annotations

import io
from typing import Any

import jax
import numpy as np
from jax.extend.backend import get_compile_options
from jaxlib._jax import DeviceList as _DeviceList  # what a client compiles for; jax makes it itself only to run

from jaxnb.errors import ChangedJax

__all__ = ["compile_module", "module_of", "spreads_freely"]


def module_of(lowered: Any) -> bytes:
    """The StableHLO of a `jax.stages.Lowered` as bytecode, with the names of its operations."""
    written = io.BytesIO()
    lowered.compiler_ir("stablehlo").operation.write_bytecode(written)
    return written.getvalue()


def spreads_freely(lowered: Any) -> tuple[list[bool], list[bool]]:
    """For each input, and for each result, of the lowered program whether the compiler says how it is spread.

    Raises:
      ChangedJax: if this JAX does not tell.
    """
    # `Lowered.compile` wants the devices to be there, and no other public function knows which shardings were given.
    try:
        told = lowered._lowering.compile_args
        first = len(told["ordered_effects"])
        given = [told["in_shardings"], told["out_shardings"]]
    except (AttributeError, KeyError) as error:
        raise ChangedJax(
            "a program cannot be compiled for another machine.",
            why=f"jax {jax.__version__} does not tell how its inputs are spread ({error}).",
            fix="use a version of JAX that jaxnb knows.",
        ) from error
    inputs, results = ([not isinstance(one, jax.sharding.Sharding) for one in some] for some in given)
    return [False] * first + inputs, [False] * first + results


def compile_module(module: bytes, partitions: int, inputs: list[bool], results: list[bool]) -> Any:
    """Compiles StableHLO for the first devices of this process. Nothing is allocated on them, and nothing runs.

    Args:
      module: bytecode, see `module_of`.
      partitions: how many devices.
      inputs: for each input whether the compiler may say how it is spread.
      results: likewise.

    Returns:
      The runtime's executable.
    """
    devices = jax.devices()[:partitions]
    options = get_compile_options(
        num_replicas=1, num_partitions=partitions, device_assignment=np.arange(partitions).reshape(1, partitions)
    )
    build = options.executable_build_options
    build.allow_spmd_sharding_propagation_to_parameters = inputs
    build.allow_spmd_sharding_propagation_to_output = results
    # `client` and `compile_and_load` are handed out by jax, and documented nowhere.
    return devices[0].client.compile_and_load(module, _DeviceList(tuple(devices)), options)
