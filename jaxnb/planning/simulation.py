"""One program planned for a mesh that is not there: traced here, partitioned in a worker, never run."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import jax

from jaxnb.errors import JaxnbError, Refused
from jaxnb.findings import find_kernel_refusal_in_files
from jaxnb.options import StageOptions
from jaxnb.program import (
    Footprint,
    Hardware,
    Mesh,
    Plan,
    Program,
    Target,
    check_axes,
    find_hardware,
    read_axes,
    read_target,
)
from jaxnb.reading import (
    Planned,
    SimulatedMesh,
    check_compiler,
    mesh_of_target,
    read_cycles,
    read_mesh,
    read_padding,
    worker_for,
)
from jaxnb.staging import Piece, current_session, lower_traced, read_traced

__all__ = ["check_options", "compile_elsewhere", "mesh_data", "plan_of", "plan_piece", "simulate", "target"]


def compile_elsewhere(
    lower: Callable[[], Any], mesh: SimulatedMesh, progress: Callable[[str], None] = lambda _: None
) -> tuple[Planned, float]:
    """Lowers a program and has it compiled for a mesh that is not there.

    Args:
      lower: gives JAX's lowered stage, for the platform of the mesh.
      mesh: that it is partitioned for.
      progress: called with what is going on.

    Returns:
      What stands for JAX's compiled stage, and the seconds that lowering took.

    Raises:
      JaxnbError: if it cannot be lowered for another machine, or partitioned; or if its compiler is not there.
    """
    if mesh.target is not None:
        check_compiler(mesh.target.platform)
    start = perf_counter()
    progress("lowering")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a donated buffer fits no result is for a run to say
        try:
            lowered = lower()
        except (NotImplementedError, ValueError) as error:
            raise _not_lowered(str(error).strip().split("\n")[0], mesh) from error
    seconds = perf_counter() - start
    return worker_for(mesh, progress).compile(lowered, mesh, progress), seconds


def _not_lowered(why: str, mesh: SimulatedMesh) -> JaxnbError:
    what = "the program cannot be lowered for a machine that is not there."
    if mesh.target is not None:
        what = f"the program cannot be lowered for {mesh.target}."
    if "ordered effects" in why:
        why = "JAX keeps no order of prints and callbacks on several devices; this one asks for it."
        return JaxnbError(what, why=why, fix="leave ordered=True out; io_callback can be ordered all the same.")
    if "for the specified backend" in why:
        why = "it calls back into Python, and JAX writes such a call for the devices of this process alone."
        fix = "leave callbacks and jax.debug.print out; or plan it by %jaxnb mesh --simulate, which keeps them."
        return JaxnbError(what, why=why, fix=fix)
    if "interpret mode" in why and mesh.target is None:
        fix = "let its interpreter stand for a kernel: pallas_call(..., interpret=True)."
        return JaxnbError(what, why="programs are lowered for the CPU, which runs no kernels.", fix=fix)
    fix = "name devices and concrete meshes nowhere in it: P('x') alone stands for the simulated mesh."
    return JaxnbError(what, why=why, fix=fix)


def check_options(options: StageOptions, mesh: SimulatedMesh | None = None) -> None:
    """Refuses options of a cell that want it to run.

    Args:
      options: of the cell.
      mesh: that it is planned for.

    Raises:
      Refused: naming the option.
    """
    target = None if mesh is None else mesh.target
    machine, end = "a simulated mesh", "%jaxnb mesh off ends a simulation."
    if target is not None:
        machine, end = "a target", f"without --target, or after %jaxnb target off, nothing is planned for {target}."
    for option in ("device", "time", "nans", "diff", "name", "value_and"):
        if getattr(options, option):
            shown = option.replace("_", "-")
            raise Refused(
                f"--{shown} does not go with {machine}.",
                why="the cell is planned for devices that are not there, and nothing is run or bound.",
                fix=f"leave it out, or take devices that are there: {end}",
            )


def plan_piece(
    piece: Piece,
    mesh: SimulatedMesh,
    make_program: Callable[[], Program],
    source: str,
    progress: Callable[[str], None] = lambda _: None,
) -> Plan:
    """Compiles a traced piece for a mesh that is not there, and keeps with it what stands for its executable.

    Args:
      piece: that was traced for the mesh.
      mesh: which one.
      make_program: reads what the piece became.
      source: the text of the cell.
      progress: called with what is going on.

    Raises:
      JaxnbError: as `compile_elsewhere`.
    """
    compiled, lower_seconds = compile_elsewhere(piece.lower, mesh, progress)
    piece.has_compiled(compiled, lower_seconds, compiled.seconds)
    return plan_of(compiled, mesh, make_program, mesh.device, source)


def plan_of(
    compiled: Planned,
    mesh: SimulatedMesh,
    make_program: Callable[[], Program],
    hardware: Hardware | None,
    source: str = "",
) -> Plan:
    """The plan of a program that was compiled for a mesh.

    Args:
      compiled: what a worker made of it.
      mesh: which one.
      make_program: reads what the program became.
      hardware: what the devices are; None for any.
      source: the text of the cell.
    """
    return Plan(
        mesh_data(mesh),
        Footprint.of(compiled),
        lambda: make_program().with_ptx(compiled.code),
        hardware,
        source,
        compiled.seconds,
        mesh.target,
        None if mesh.target is None else read_cycles(compiled),
        () if mesh.target is None else read_padding(compiled),
    )


def simulate(
    function: Callable[..., Any],
    mesh: str | Mapping[str, int] | SimulatedMesh,
    *,
    hardware: str | Hardware | None = None,
    explicit: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Callable[..., Plan]:
    """A function like `function` that gives its plan for a mesh of any size: nothing is allocated, and nothing runs.

    Args:
      function: of arrays, jitted or not. In it, `PartitionSpec`s alone stand for shardings on the mesh.
      mesh: `"x=16, y=16"` or `{"x": 16, "y": 16}`.
      hardware: what the devices are, by name or as an entry of the table; None estimates no time.
      explicit: whether the types of values say how they lie along the axes.
      progress: called with what is going on.

    Returns:
      What takes the arguments, arrays or shapes (see `jaxnb.abstract`), and gives a `Plan`.

    Raises:
      JaxnbError: if the mesh, the hardware, or a sharding of an argument does not fit.

    >>> import jax.numpy as jnp
    >>> from jax.sharding import AbstractMesh, PartitionSpec as P
    >>> from jaxnb.reading.placement.simulated import spread_over
    >>> x = spread_over(jax.ShapeDtypeStruct((4096, 4096), jnp.float32), P("x"), AbstractMesh((16,), ("x",)))
    >>> plan = simulate(jnp.sum, "x=16")(x)
    >>> plan.footprint.inputs, [(item.kind, item.axes) for item in plan.ledger.items]
    (4194304, [('all-reduce', ('x',))])
    """
    if not isinstance(mesh, SimulatedMesh):
        sizes = read_axes(mesh) if isinstance(mesh, str) else check_axes(mesh)
        mesh = SimulatedMesh(tuple(sizes.items()), explicit)
    there = mesh
    jitted: Any = function if hasattr(function, "trace") else jax.jit(function)
    kind = there.device if hardware is None else find_hardware(hardware)

    def planned(*args: Any, **kwargs: Any) -> Plan:
        placed, tree = jax.tree_util.tree_flatten_with_path((args, kwargs))
        names = [jax.tree_util.keystr(path) for path, _ in placed]
        given, named = jax.tree.unflatten(tree, there.place([leaf for _, leaf in placed], names))
        with there.ambient():
            traced = jitted.trace(*given, **named)
            compiled = _compile_function(traced, there, progress)
        return plan_of(
            compiled,
            there,
            lambda: read_traced(function, traced, given, named, simulated=there, compiled=compiled),
            kind,
        )

    return planned


def _compile_function(traced: Any, mesh: SimulatedMesh, progress: Callable[[str], None]) -> Planned:
    """A function that was traced, compiled; errors of its kernels are told on their lines, in whichever file."""
    try:
        return compile_elsewhere(lambda: lower_traced(traced, mesh), mesh, progress)[0]
    except Exception as error:
        session = current_session()
        label = str if session is None else session.file_label
        if (told := find_kernel_refusal_in_files(error, traced.jaxpr, label, mesh)) is not None:
            raise told from None
        raise


def target(
    function: Callable[..., Any],
    machine: str | Target,
    mesh: str | Mapping[str, int] | None = None,
    *,
    explicit: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Callable[..., Plan]:
    """A function like `function` that gives its plan for a machine that is not there, made by that machine's compiler.

    Nothing is allocated, and nothing runs; no accelerator is needed. The compilers come with `pip install "jaxnb[tpu]"`
    and `"jaxnb[cuda]"`.

    Args:
      function: of arrays, jitted or not. In it, `PartitionSpec`s alone stand for shardings on the mesh.
      machine: `"v5e:4x4"`, `"v5p:8x8x16"`, `"h100:1x8"`; a kind alone, `"h100"`, is one device.
      mesh: `"x=4, y=4"` or `{"x": 4, "y": 4}`, all devices of the machine; by default its sides.
      explicit: whether the types of values say how they lie along the axes.
      progress: called with what is going on.

    Returns:
      What takes the arguments, arrays or shapes (see `jaxnb.abstract`), and gives a `Plan`. For a GPU its
      `program.ptx()` has the kernels that the compiler wrote.

    Raises:
      JaxnbError: if there is no such machine or no compiler for it, or the mesh does not fit. What takes the arguments
        raises one if the program cannot be compiled, for a wrong kernel of Pallas with its line.
    """
    there = machine if isinstance(machine, Target) else read_target(machine)
    axes = read_axes(mesh) if isinstance(mesh, str) else mesh if mesh is None else check_axes(mesh)
    return simulate(function, mesh_of_target(there, axes, explicit), progress=progress)


def mesh_data(mesh: SimulatedMesh) -> Mesh:
    """The mesh as plain data."""
    return read_mesh(mesh.mesh)
