"""The best of all ways to lay named axes on a mesh, by estimated time and memory: `jaxnb.search_resources`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec

from jaxnb.errors import JaxnbError
from jaxnb.named import LeafSpec, NamedAxisError, read_prefix, xmap
from jaxnb.planning.assignments import Argument, find_assignments, held
from jaxnb.planning.simulation import compile_elsewhere, plan_of
from jaxnb.program import (
    Candidate,
    Footprint,
    Hardware,
    Plan,
    Program,
    Resources,
    Search,
    Target,
    check_axes,
    find_hardware,
    read_axes,
    read_target,
    resources_text,
)
from jaxnb.reading import Planned, SimulatedMesh, WorkerGone, check_compiler, mesh_of_target, read_mesh
from jaxnb.staging import lower_traced, read_traced

__all__ = ["run_search", "search_resources"]

MOST_TRIED = 128
"""Ways that are partitioned unless more are asked for."""

FINALISTS = 3
"""Ways that the compiler of a target compiles: those that are estimated to be the best."""
_HARDWARE = "h100"
_MOST_REFUSED = 3  # of those after which no further one is compiled


def run_search(
    sizes: Mapping[str, int],
    axes: Mapping[str, int],
    arguments: Sequence[Argument],
    evaluate: Callable[[Resources], Plan],
    hardware: Hardware,
    *,
    fixed: Resources | None = None,
    limit: int = MOST_TRIED,
    progress: Callable[[str], None] = lambda _: None,
    make_mapped: Callable[[Resources], Any] | None = None,
    compile_for: Callable[[Resources], Plan] | None = None,
) -> Search:
    """Partitions a program for every way that could be, and ranks them.

    With `compile_for` the compiler of the CPU partitions all of them, and that of the target compiles the few that come
    out best; these are ranked by what it says, before all others. Where it refuses one, the next takes its place.

    What is left out without being partitioned: sizes that are not divisible, two names of one array on one axis, and
    inputs and results that alone do not fit. Where more than `limit` are left, those are tried that use the most
    devices and hold the least.

    Args:
      sizes: of the names.
      axes: of the mesh.
      arguments: what goes in and comes out.
      evaluate: partitions the program; it raises a `NamedAxisError` or a `JaxnbError` where a way is not possible.
      hardware: of the devices.
      fixed: what is settled already.
      limit: how many are partitioned at most.
      progress: called with what is going on.
      make_mapped: see `Search`.
      compile_for: compiles the program by the compiler of a target; it raises a `JaxnbError` where that refuses it.
    """
    every = list(find_assignments(sizes, axes, arguments, fixed))
    fitting = [item for item in every if held(item, axes, arguments) <= hardware.memory]

    def promise(item: Resources) -> tuple[int, int]:
        used = {axis for some in item.values() for axis in some}
        return -math.prod(axes[axis] for axis in used), held(item, axes, arguments)

    tried = sorted(fitting, key=promise)[:limit]
    found, refused, broken = _partitioned(tried, evaluate, hardware, progress, alone=compile_for is None)
    if compile_for is not None and not found:  # as with kernels of Pallas, which are not for CPUs
        found, refused, broken = _partitioned(tried, compile_for, hardware, progress)
    found.sort(key=lambda candidate: candidate.order)
    if compile_for is not None and not any(one.is_compiled for one in found):
        last, turned_down = _compiled(found, compile_for, hardware, progress)
        done = [one.resources for one in last] + [resources for resources, _ in turned_down]
        found = [*last, *(one for one in found if one.resources not in done)]
        refused += turned_down
    target = next((str(one.plan.target) for one in found if one.is_compiled), "")
    ranked = tuple(sorted(found, key=lambda candidate: candidate.order))
    skipped, large = len(fitting) - len(tried), len(every) - len(fitting)
    return Search(ranked, hardware, tuple(refused), large, skipped, broken, make_mapped, target)


def _partitioned(
    tried: Sequence[Resources],
    evaluate: Callable[[Resources], Plan],
    hardware: Hardware,
    progress: Callable[[str], None],
    *,
    alone: bool = True,
) -> tuple[list[Candidate], list[tuple[Resources, str]], int]:
    """The ways that are possible, the others with the reasons, and how many of these broke the compiler.

    Args:
      tried: all of them.
      evaluate: partitions the program.
      hardware: of the devices.
      progress: called with what is going on.
      alone: whether the error of the only way is raised.
    """
    found: list[Candidate] = []
    refused: list[tuple[Resources, str]] = []
    broken = 0
    for number, item in enumerate(tried, start=1):
        progress(f"trying {number} of {len(tried)}: {resources_text(item)}")
        try:
            plan = evaluate(item)
        except (NamedAxisError, JaxnbError) as error:
            if len(tried) == 1 and alone:
                raise
            broken += isinstance(error, WorkerGone)
            refused.append((item, str(error).split("\n")[0]))
            continue
        found.append(Candidate(item, plan, plan.estimate(hardware).total))
    return found, refused, broken


def _compiled(
    ranked: Sequence[Candidate],
    compile_for: Callable[[Resources], Plan],
    hardware: Hardware,
    progress: Callable[[str], None],
) -> tuple[list[Candidate], list[tuple[Resources, str]]]:
    """The best few, compiled for the target, and those that its compiler refused, with the reasons."""
    found: list[Candidate] = []
    refused: list[tuple[Resources, str]] = []
    for one in ranked:
        if len(found) == FINALISTS or len(refused) == _MOST_REFUSED:
            break
        progress(f"compiling {len(found) + 1} of {min(FINALISTS, len(ranked))}: {one}")
        try:
            plan = compile_for(one.resources)
        except JaxnbError as error:
            refused.append((one.resources, error.what))
            continue
        found.append(Candidate(one.resources, plan, plan.estimate(hardware).total))
    return found, refused


def search_resources(
    fun: Callable[..., Any],
    in_axes: Any,
    out_axes: Any,
    *args: Any,
    mesh: Any,
    hardware: str | Hardware | None = None,
    target: str | Target | None = None,
    axis_sizes: Mapping[str, int] | None = None,
    axis_resources: Mapping[str, Any] | None = None,
    lowering: str = "manual",
    transform: Callable[[Callable[..., Any]], Callable[..., Any]] | None = None,
    limit: int = MOST_TRIED,
    progress: Callable[[str], None] = lambda _: None,
) -> Search:
    """Finds how to lay the named axes of a map on a mesh: by estimated time, then memory. Nothing runs.

    Args:
      fun: as for `xmap`.
      in_axes: as for `xmap`.
      out_axes: as for `xmap`.
      *args: arrays or `jax.ShapeDtypeStruct`s.
      mesh: `"x=4, y=2"` or names with sizes for a mesh that need not be there, or a mesh of JAX.
      hardware: of the devices, by name or as an entry of the table; by default an H100, or what the target has.
      target: a machine such as `"v5e:4x4"`, whose own compiler compiles the few ways that are estimated to be the best.
      axis_sizes: as for `xmap`.
      axis_resources: what is settled already, as for `xmap`; the other names are searched.
      lowering: as for `xmap`.
      transform: makes of the map what is to be fast, such as `jax.grad`; by default the map itself.
      limit: how many ways are partitioned at most.
      progress: called with what is going on.

    Returns:
      A `Search`: its `best`, its `candidates`, its `pareto` front, and `mapped`, the map with the best resources.

    Raises:
      JaxnbError: if the mesh or the hardware cannot be, or no way is possible at all.
      NamedAxisError: as for `xmap`, where that has nothing to do with resources.

    >>> import jax.numpy as jnp
    >>> import jaxnb.numpy as named
    >>> x, w = jax.ShapeDtypeStruct((4096, 64), jnp.float32), jax.ShapeDtypeStruct((64, 64), jnp.float32)
    >>> found = search_resources(
    ...     lambda x, w: named.dot(x, w, "i"), (["batch", "i"], ["i", "o"]), ["batch", "o"], x, w, mesh="x=4"
    ... )
    >>> found.resources
    {'batch': ('x',)}
    """
    machine = read_target(target) if isinstance(target, str) else target
    placing = _place_on(mesh)
    there = placing.simulated.target if placing.simulated is not None else None
    machine = machine or there
    chosen = hardware if hardware is not None else _HARDWARE if machine is None else machine.hardware
    kind = find_hardware(chosen)
    placing = placing.without_target()
    compiling = None if machine is None else placing.on(machine)
    given_so = (axis_resources or {}).items()
    settled = {name: tuple(one) if isinstance(one, tuple | list) else (one,) for name, one in given_so}

    def mapped(resources: Resources) -> Any:
        return xmap(
            fun,
            in_axes,
            out_axes,
            axis_sizes=axis_sizes,
            axis_resources=dict(resources),
            mesh=placing.mesh,
            lowering=lowering,
        )

    plain = xmap(fun, in_axes, out_axes, axis_sizes=axis_sizes)
    specs = read_prefix(in_axes, tuple(args), "in_axes")
    leaves = jax.tree.leaves(tuple(args))
    given_back = jax.eval_shape(plain, *args)
    results, out_specs = jax.tree.leaves(given_back), read_prefix(out_axes, given_back, "out_axes")
    sizes = _sizes([*zip(specs, leaves, strict=True)], axis_sizes or {})
    arguments = [_argument(spec, leaf) for spec, leaf in zip([*specs, *out_specs], [*leaves, *results], strict=True)]

    def evaluate(resources: Resources, placing: _Placing = placing) -> Plan:
        made = mapped(resources)
        function = transform(made) if transform is not None else made
        given = jax.tree.unflatten(
            jax.tree.structure(tuple(args)),
            [placing.struct(leaf, spec, resources) for leaf, spec in zip(leaves, specs, strict=True)],
        )
        return placing.plan(function, given, kind, progress)

    return run_search(
        sizes,
        dict(placing.mesh.shape),
        arguments if transform is None else arguments[: len(leaves)],
        evaluate,
        kind,
        fixed=settled,
        limit=limit,
        progress=progress,
        make_mapped=mapped,
        compile_for=None if compiling is None else lambda resources: evaluate(resources, compiling),
    )


@dataclass(frozen=True)
class _Placing:
    """A mesh, and how a program is compiled for it: here, if its devices are there, or in a worker."""

    mesh: Any
    simulated: SimulatedMesh | None

    def without_target(self) -> _Placing:
        """The same, by the compiler of the CPU."""
        return self if self.simulated is None else _Placing(self.mesh, self.simulated.without_target())

    def on(self, target: Target) -> _Placing:
        """The same, by the compiler of a target.

        Raises:
          JaxnbError: if it has another number of devices, or its compiler is not there.
        """
        simulated = mesh_of_target(target, {str(name): size for name, size in self.mesh.shape.items()})
        check_compiler(target.platform)
        return _Placing(simulated.mesh, simulated)

    def struct(self, leaf: Any, spec: LeafSpec, resources: Resources) -> Any:
        """The shape of an input, which lies on the mesh as its names do."""
        shape, dtype = np.shape(leaf), jax.dtypes.canonicalize_dtype(jax.numpy.result_type(leaf))
        entries: list[Any] = [None] * len(shape)
        for position, name in spec.names:
            entries[position] = resources.get(name) or None
        return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(self.mesh, PartitionSpec(*entries)))

    def plan(
        self, function: Callable[..., Any], given: tuple[Any, ...], hardware: Hardware, progress: Callable[[str], None]
    ) -> Plan:
        """What a function is on the mesh."""
        if self.simulated is not None:
            with self.simulated.ambient():
                traced = jax.jit(function).trace(*given)
                compiled, _ = compile_elsewhere(lambda: lower_traced(traced, self.simulated), self.simulated)
        else:
            traced = jax.jit(function).trace(*given)
            compiled = lower_traced(traced).compile()

        def make_program() -> Program:
            return read_traced(function, traced, given, {}, simulated=self.simulated, compiled=compiled)

        if self.simulated is not None and isinstance(compiled, Planned):
            return plan_of(compiled, self.simulated, make_program, hardware)
        return Plan(read_mesh(self.mesh), Footprint.of(compiled), make_program, hardware)


def _place_on(mesh: Any) -> _Placing:
    if isinstance(mesh, Mesh) and not mesh.empty:
        return _Placing(mesh, None)
    if isinstance(mesh, AbstractMesh):
        simulated = SimulatedMesh(tuple((str(name), size) for name, size in mesh.shape.items()))
    elif isinstance(mesh, SimulatedMesh):
        simulated = mesh
    elif isinstance(mesh, str | Mapping):
        sizes = read_axes(mesh) if isinstance(mesh, str) else check_axes(mesh)
        simulated = SimulatedMesh(tuple(sizes.items()))
    else:
        raise JaxnbError(f"a {type(mesh).__name__} is no mesh.", fix='mesh="x=4, y=2", or one of jaxnb.make_mesh.')
    return _Placing(simulated.mesh, simulated)


def _sizes(placed: Sequence[tuple[LeafSpec, Any]], more: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for spec, leaf in placed:
        shape = np.shape(leaf)
        for position, name in spec.names:
            found.setdefault(name, shape[position])
    return {**found, **more}


def _argument(spec: LeafSpec, leaf: Any) -> Argument:
    shape = np.shape(leaf)
    itemsize = np.dtype(jax.dtypes.canonicalize_dtype(jax.numpy.result_type(leaf))).itemsize
    return Argument(tuple(name for _, name in spec.names), math.prod(shape) * itemsize)
