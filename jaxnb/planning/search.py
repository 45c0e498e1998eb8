"""The best of all ways to lay named axes on a mesh, by estimated time and memory: `jaxnb.search_resources`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec

from jaxnb.errors import JaxnbError
from jaxnb.levels.ladder import lower_traced
from jaxnb.levels.reading import read_traced
from jaxnb.named import xmap
from jaxnb.named.errors import NamedAxisError
from jaxnb.named.specs import LeafSpec, read_prefix
from jaxnb.placement.axes import check_axes, read_axes
from jaxnb.placement.hardware import Hardware, find_hardware
from jaxnb.placement.plan import Footprint, Plan
from jaxnb.placement.read import read_mesh
from jaxnb.planning.assignments import Argument, Resources, find_assignments, held, resources_text
from jaxnb.planning.simulate import compile_elsewhere
from jaxnb.planning.workers import WorkerGone
from jaxnb.staging.elsewhere import SimulatedMesh

__all__ = ["Candidate", "Search", "run_search", "search_resources"]

MOST_TRIED = 128
"""Ways that are partitioned unless more are asked for."""


@dataclass(frozen=True)
class Candidate:
    """One way to lay the names on the mesh.

    Attributes:
      resources: for each name that lies on mesh axes, which ones.
      plan: what the program is then.
      seconds: that it is estimated to take if nothing overlaps.
    """

    resources: Resources
    plan: Plan = field(repr=False)
    seconds: float

    @property
    def memory(self) -> int:
        """Bytes that a device needs."""
        return self.plan.footprint.total

    @property
    def order(self) -> tuple[Any, ...]:
        """By which candidates are ranked: what fits, the time to three digits, the memory, what is sent, the text."""
        rounded = float(f"{self.seconds:.2e}")
        return (not self.plan.fits, rounded, self.memory, self.plan.ledger.total, resources_text(self.resources))

    def __str__(self) -> str:
        return resources_text(self.resources)


@dataclass(frozen=True)
class Search:
    """What a search found. It shows itself as a table, the best first; in a notebook with a picture of the front.

    Attributes:
      candidates: those that were partitioned, the best first.
      hardware: for which they were ranked.
      refused: those that the program itself does not allow, and those that broke the compiler, each with the reason.
      broken: how many of them broke the compiler, as where memory runs out on this machine.
      too_large: how many were left out because their inputs and results alone do not fit on a device.
      skipped: how many were not tried, because there were too many.
      make_mapped: maps the function with given resources; None for a cell.
    """

    candidates: tuple[Candidate, ...]
    hardware: Hardware
    refused: tuple[tuple[Resources, str], ...] = ()
    too_large: int = 0
    skipped: int = 0
    broken: int = 0
    make_mapped: Callable[[Resources], Any] | None = field(default=None, repr=False, compare=False)

    @property
    def best(self) -> Candidate:
        """The one to take.

        Raises:
          JaxnbError: if there is none.
        """
        if not self.candidates:
            raise JaxnbError("no way to lay the names on the mesh is possible.", why=self._why())
        return self.candidates[0]

    @property
    def resources(self) -> dict[str, Any]:
        """Those of the best, as `xmap` takes them."""
        return dict(self.best.resources)

    @property
    def mapped(self) -> Any:
        """The function, mapped with the best resources."""
        if self.make_mapped is None:
            raise JaxnbError("a cell is no function.", fix="its results are bound, where the mesh is there.")
        return self.make_mapped(self.best.resources)

    @cached_property
    def pareto(self) -> tuple[Candidate, ...]:
        """Those that no other one beats in both time and memory, the fastest first."""
        found: list[Candidate] = []
        for candidate in sorted(self.candidates, key=lambda item: (item.seconds, item.memory)):
            if not found or candidate.memory < found[-1].memory:
                found.append(candidate)
        return tuple(found)

    def _why(self) -> str:
        parts = [f"{self.too_large} need more memory than a device has"] if self.too_large else []
        parts += [f"{resources_text(resources)}: {why}" for resources, why in self.refused[:3]]
        return "; ".join(parts) or "there are no names, or no mesh axes."

    @property
    def svg(self) -> str:
        """The ways by time and memory as an SVG file; "" where none is possible."""
        from jaxnb.views.plans_html import draw_search

        return str(draw_search(self))

    @property
    def html(self) -> str:
        """That picture and the table as HTML."""
        from jaxnb.views.plans_html import render_search_html

        return str(render_search_html(self))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self.html}

    def __str__(self) -> str:
        from jaxnb.views.plans import render_search

        return render_search(self)

    __repr__ = __str__


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
) -> Search:
    """Partitions a program for every way that could be, and ranks them.

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
    """
    every = list(find_assignments(sizes, axes, arguments, fixed))
    fitting = [item for item in every if held(item, axes, arguments) <= hardware.memory]

    def promise(item: Resources) -> tuple[int, int]:
        used = {axis for some in item.values() for axis in some}
        return -math.prod(axes[axis] for axis in used), held(item, axes, arguments)

    tried = sorted(fitting, key=promise)[:limit]
    found: list[Candidate] = []
    refused: list[tuple[Resources, str]] = []
    broken = 0
    for number, item in enumerate(tried, start=1):
        progress(f"trying {number} of {len(tried)}: {resources_text(item)}")
        try:
            plan = evaluate(item)
        except (NamedAxisError, JaxnbError) as error:
            if len(tried) == 1:
                raise
            broken += isinstance(error, WorkerGone)
            refused.append((item, str(error).split("\n")[0]))
            continue
        found.append(Candidate(item, plan, plan.estimate(hardware).total))
    ranked = tuple(sorted(found, key=lambda candidate: candidate.order))
    skipped, large = len(fitting) - len(tried), len(every) - len(fitting)
    return Search(ranked, hardware, tuple(refused), large, skipped, broken, make_mapped)


def search_resources(
    fun: Callable[..., Any],
    in_axes: Any,
    out_axes: Any,
    *args: Any,
    mesh: Any,
    hardware: str | Hardware = "h100",
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
      hardware: of the devices, by name or as an entry of the table.
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
    kind = find_hardware(hardware)
    placing = _place_on(mesh)
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

    def evaluate(resources: Resources) -> Plan:
        target = mapped(resources)
        function = transform(target) if transform is not None else target
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
    )


@dataclass(frozen=True)
class _Placing:
    """A mesh, and how a program is compiled for it: here, if its devices are there, or in a worker."""

    mesh: Any
    simulated: SimulatedMesh | None

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
        footprint = Footprint.of(compiled)
        return Plan(
            read_mesh(self.mesh),
            footprint,
            lambda: read_traced(function, traced, given, {}, simulated=self.simulated, compiled=compiled),
            hardware,
        )


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
