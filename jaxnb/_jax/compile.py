"""The door to compiling what was lowered elsewhere: for as many devices as wanted, none of which is ever used.

Each entry says what is missing in public. All were checked on jax 0.10.2 and 0.12.0.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax._src.sharding_impls import parse_flatten_op_sharding as _parse  # jax tells specs of meshes with devices alone
from jax.extend.backend import get_compile_options
from jax.interpreters.mlir import make_ir_context  # a module is read in a context that knows JAX's dialects
from jaxlib._jax import DeviceList as _DeviceList  # what a client compiles for; jax makes it itself only to run
from jaxlib.mlir import ir

from jaxnb.errors import ChangedJax

__all__ = [
    "Spec",
    "compile_for_target",
    "compile_module",
    "given_of",
    "module_of",
    "place_inputs",
    "spreads_freely",
    "told_specs",
]

Spec = list[list[str]]
"""For each dimension the axes of the mesh that cut it; those behind the last entry are whole."""


def module_of(lowered: Any) -> bytes:
    """The StableHLO of a `jax.stages.Lowered` as bytecode, with the names of its operations."""
    written = io.BytesIO()
    lowered.compiler_ir("stablehlo").operation.write_bytecode(written)
    return written.getvalue()


def given_of(lowered: Any) -> tuple[Any, ...] | None:
    """What a lowered program is given where, and what JAX makes of its results. Two with equal ones, equal modules and
    one context have one executable.

    A module knows dtypes and shapes alone: that a result is weakly typed, a key, or in which structure it is returned,
    JAX's compiled stage adds.

    None for a program whose constants are arguments: JAX's compiled stage holds their values, and the module does not.
    """
    # `Lowered.as_text` leaves out the devices, and which inputs are kept.
    try:
        told = lowered._lowering.compile_args
        given = (jax.tree.leaves(lowered.args_info), lowered.out_tree, *(told[name] for name in _GIVEN))
        return None if lowered._lowering.const_args else given
    except (AttributeError, KeyError):  # a JAX that tells less: then none is the same as another
        return None


_GIVEN = (
    *("global_in_avals", "global_out_avals", "context_mesh", "mut", "tuple_args"),
    *("ordered_effects", "unordered_effects"),
    *("in_shardings", "out_shardings", "intermediate_shardings", "in_layouts", "out_layouts"),
    *("kept_var_idx", "committed", "num_devices", "backend"),
    *("host_callbacks", "keepalive"),  # functions of Python, which the module names by numbers alone
)


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


def place_inputs(lowered: Any, kept: Sequence[Any]) -> list[Any]:
    """What is known of the inputs that a lowered program takes, one for each argument; None for those left out.

    Args:
      lowered: a `jax.stages.Lowered`.
      kept: what is known of those that it takes, in their order.
    """
    # `Lowered.args_info` describes all arguments and does not tell which were kept.
    told = lowered._lowering.compile_args
    taken = kept[len(told["ordered_effects"]) :]
    constants = len(getattr(lowered._lowering, "const_args", ()) or ())
    places = {number: which for which, number in enumerate(sorted(told["kept_var_idx"]))}
    count = constants + len(jax.tree.leaves(lowered.args_info))
    found = [taken[places[n]] if n in places and places[n] < len(taken) else None for n in range(count)]
    return found[constants:]


def told_specs(executable: Any, axes: dict[str, int]) -> tuple[list[Spec | None], list[Spec | None]]:
    """How the inputs and the results of what was compiled are spread; None where no spec says it.

    Args:
      executable: of the runtime.
      axes: of the mesh, with their sizes.
    """
    mesh = jax.sharding.AbstractMesh(tuple(axes.values()), tuple(axes))

    def spec(sharding: Any) -> Spec | None:
        try:
            (found,) = _parse(sharding, mesh)
        except (ValueError, NotImplementedError, AssertionError, TypeError):  # how JAX says that no spec gives it
            return None
        entries = [() if one is None else one if isinstance(one, tuple) else (one,) for one in found]
        return [[str(name) for name in names] for names in entries]

    sides = executable.get_parameter_shardings(), executable.get_output_shardings()
    inputs, results = ([spec(sharding) for sharding in side or ()] for side in sides)
    return inputs, results


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
    options = _options(range(partitions), inputs, results)
    # `client` and `compile_and_load` are handed out by jax, and documented nowhere.
    return devices[0].client.compile_and_load(module, _DeviceList(tuple(devices)), options)


def compile_for_target(
    module: bytes, devices: Sequence[Any], inputs: list[bool], results: list[bool], dump: str = ""
) -> Any:
    """Compiles StableHLO by the compiler of devices that are not there, which belong to a topology.

    Args:
      module: bytecode, see `module_of`.
      devices: of `jax.experimental.topologies`, in the order of the mesh.
      inputs: for each input whether the compiler may say how it is spread.
      results: likewise.
      dump: the folder that the compiler writes its intermediate forms to; "" for none.

    Returns:
      An executable that can be read, and not be run.
    """
    # `Lowered.compile` does it for what was lowered in the same process; this client takes a module, and no bytecode.
    with make_ir_context():
        parsed = ir.Module.parse(module)
    flags = {"xla_dump_to": dump} if dump else {}
    options = _options([device.id for device in devices], inputs, results, flags)
    return devices[0].client.compile(parsed, _DeviceList(tuple(devices)), options)


def _options(ids: Sequence[int], inputs: list[bool], results: list[bool], flags: dict[str, str] | None = None) -> Any:
    options = get_compile_options(
        num_replicas=1,
        num_partitions=len(ids),
        device_assignment=np.array(ids).reshape(1, len(ids)),
        env_options_overrides=flags or None,
    )
    build = options.executable_build_options
    build.allow_spmd_sharding_propagation_to_parameters = inputs
    build.allow_spmd_sharding_propagation_to_output = results
    return options
