"""Lowering and compiling for those who look: the levels below the jaxpr, each made when it is first asked for.

Every piece of a cell is a program of its own; their levels stand side by side, one entry computation a piece.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import jax

import jaxnb.staging.levels as room
from jaxnb import _jax, reading
from jaxnb.program import (
    Assigned,
    Collective,
    Computation,
    Fate,
    Kernel,
    Layout,
    Level,
    Link,
    Memory,
    Mesh,
    Placed,
    Platforms,
    Program,
    with_savings,
)
from jaxnb.reading import (
    NamedLevel,
    SimulatedMesh,
    carry_down,
    donated_inputs,
    link_hlo,
    link_stablehlo,
    read_fates,
    read_hlo,
    read_memory,
    read_modules,
    read_stablehlo,
    with_hlo_costs,
    with_ids,
    with_stablehlo_costs,
)
from jaxnb.staging.levels.named_sizes import with_named_sizes
from jaxnb.staging.trace.piece import Piece

__all__ = ["LoweringStages", "Stage", "join_levels", "kept_names", "lower_traced", "piece_stage", "traced_stage"]

Place = tuple[int, int]


@dataclass(slots=True)
class Stage:
    """One program of a cell, and how to go on with it.

    Attributes:
      closed_jaxpr: whose equations are numbered.
      jaxpr: the level that was read of it.
      numbered: gives JAX's traced stage, with the numbers in its names.
      lower: gives its lowered stage.
      compiled: gives the executable that ran, or None if none did.
      donated: gives the inputs, by number, whose memory the program may have.
      simulated: the mesh that is not there for which it was traced; None for the devices that there are.
      general: the level "jaxpr" as it is shown, where sizes have names; it is the same but for these.
    """

    closed_jaxpr: Any
    jaxpr: Level
    numbered: Callable[[], Any]
    lower: Callable[[], Any]
    compiled: Callable[[], Any]
    donated: Callable[[], Collection[int]] = tuple
    simulated: SimulatedMesh | None = None
    general: Level | None = None

    def compile(self, lowered: Any) -> Any:
        """Compiles what was lowered; for a mesh that is not there, in a process of its own."""
        if self.simulated is None:
            return reading.compile_lowered(lowered)
        return reading.worker_for(self.simulated).compile(lowered, self.simulated)


def piece_stage(piece: Piece, jaxpr: Level) -> Stage:
    """The stage of a piece that was traced, whether or not it was compiled."""

    def lower() -> Any:
        device = _jax.default_device_of(piece.context)
        with jax.default_device(device) if device is not None else nullcontext():
            return piece.lower()

    return Stage(
        piece.jaxpr,
        jaxpr,
        piece.numbered,
        lower,
        lambda: piece.compiled,
        lambda: donated_inputs(piece.traced),
        piece.simulated,
    )


def traced_stage(traced: Any, jaxpr: Level, *, simulated: SimulatedMesh | None = None, compiled: Any = None) -> Stage:
    """The stage of a function that was traced; unless it was compiled, it is only if somebody asks for "hlo".

    Args:
      traced: JAX's own traced stage.
      jaxpr: the level that was read of it.
      simulated: the mesh that is not there for which it was traced; None for the devices that there are.
      compiled: the executable, if there is one.
    """
    return Stage(
        traced.jaxpr,
        jaxpr,
        lambda: _numbered(traced),
        lambda: lower_traced(traced, simulated),
        lambda: compiled,
        lambda: donated_inputs(traced),
        simulated,
    )


def lower_traced(traced: Any, simulated: SimulatedMesh | None = None) -> Any:
    """A traced function as StableHLO, with the number of each equation in its name; see `ids`.

    Args:
      traced: JAX's own traced stage.
      simulated: the mesh that is not there for which it was traced; None for the devices that there are.
    """
    changed = _numbered(traced)
    return changed.lower() if simulated is None else _jax.lower_elsewhere(changed, (simulated.platform,))


def _numbered(traced: Any) -> Any:
    return _jax.with_jaxpr(traced, with_ids(traced.jaxpr))


class LoweringStages:
    """Makes the levels "stablehlo" and "hlo" of a program of several stages."""

    names = ("stablehlo", "hlo")

    def __init__(
        self,
        stages: list[Stage],
        names: Callable[[], tuple[Assigned, ...]] = tuple,
        text: tuple[str, str, Callable[[str], str]] = ("", "", str),
    ) -> None:
        self._stages = stages
        self._text = text  # the file of the cell, its source, what the user knows a file by
        self._name_reader = names
        self._made: dict[str, tuple[Level, tuple[Link, ...], tuple[Fate, ...]]] = {}
        self._lowered: list[_Lowered] = []

    def make(self, name: str, above: Program) -> tuple[Level, tuple[Link, ...], tuple[Fate, ...]]:
        """A level, its links to the one above, and the fates that it tells; made once, see `Maker`."""
        if name not in self._made:
            self._made[name] = self._lower() if name == "stablehlo" else self._compile()
        return self._made[name]

    def memory(self, program: Program, made: bool = False) -> tuple[Memory, ...]:
        """Who lives in memory when: from the buffers of what ran, from the jaxpr of what was only traced."""
        ran = all(stage.compiled() is not None for stage in self._stages)
        known = "hlo" in self._made if made else True
        hlo = program.level("hlo") if ran and known and self._stages else None
        jaxpr = program.level("jaxpr")
        if any(stage.general is not None for stage in self._stages):
            jaxpr = join_levels([stage.jaxpr for stage in self._stages])[0]  # bytes are those of this run

        def read(n: int, stage: Stage) -> Memory:
            compiled = stage.compiled() if hlo is not None or not made else None
            found = read_memory(stage.closed_jaxpr, jaxpr, n, compiled=compiled, hlo=hlo, donated=stage.donated())
            return with_savings(found, hlo if found.level == "hlo" and hlo is not None else jaxpr)

        return tuple(read(n, stage) for n, stage in enumerate(self._stages))

    def assigned(self) -> tuple[Assigned, ...]:
        """What every name was after each assignment, see `naming`."""
        return self._name_reader()

    def meshes(self) -> tuple[Mesh, ...]:
        """The meshes that the programs speak of, each once."""
        found: dict[Mesh, None] = {}
        for stage in self._stages:
            if stage.simulated is not None:
                found[reading.read_mesh(stage.simulated.mesh)] = None
            found.update(dict.fromkeys(reading.read_meshes(stage.closed_jaxpr, stage.compiled())))
        return tuple(found)

    def layout(self) -> Layout:
        """Where everything lives, in the words of the levels that all pieces share."""
        layouts = [reading.read_layout(stage.closed_jaxpr, stage.jaxpr, stage.compiled()) for stage in self._stages]
        if len(layouts) == 1:
            return layouts[0]
        return join_layouts(layouts, [stage.jaxpr for stage in self._stages])

    def vmapped(self) -> tuple[tuple[str, Level], ...]:
        """The functions under `vmap` with a name; the program is traced once more for them."""
        with room.record_vmaps(*self._text) as found:
            self._name_reader()
        return tuple((one.name, one.level) for one in found)

    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels of all pieces, by their places in the level that these share."""
        where = join_levels([stage.jaxpr for stage in self._stages])[1]
        return tuple(
            replace(kernel, place=(where[number, kernel.place[0]], kernel.place[1]))
            for number, stage in enumerate(self._stages)
            for kernel in reading.read_kernels(stage.closed_jaxpr, stage.jaxpr)
        )

    def platforms(self, program: Program, wanted: Sequence[str]) -> Platforms:
        """The program as it is lowered for platforms that need not be here, see `platforms`."""
        uppers = [stage.jaxpr for stage in self._stages]
        return room.lower_for(program, self._stages, wanted, lambda made: _joined(uppers, made))

    def _lower(self) -> tuple[Level, tuple[Link, ...], tuple[Fate, ...]]:
        made: list[_Lowered] = []
        for stage in self._stages:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what JAX says of lowering, it said before the run
                lowered = stage.lower()
            named = read_stablehlo(
                lowered.compiler_ir("stablehlo"),
                kept_names(stage, lowered),
                stage.jaxpr.computations[0].output_names,
            )
            links = link_stablehlo(stage.closed_jaxpr, stage.jaxpr, named)
            level = with_stablehlo_costs(stage.jaxpr, carry_down(stage.jaxpr, named.level, links), links)
            waiting = lowered if stage.compiled() is None else None
            if stage.general is not None:
                level = with_named_sizes(level, stage.jaxpr, stage.general, links)
            made.append(_Lowered(NamedLevel(level, named.names), links, waiting))
        self._lowered = made
        uppers = [stage.jaxpr for stage in self._stages]
        return (*_joined(uppers, [(low.named.level, low.links) for low in self._lowered]), ())

    def _compile(self) -> tuple[Level, tuple[Link, ...], tuple[Fate, ...]]:
        made: list[tuple[Level, tuple[Link, ...]]] = []
        fates: list[tuple[Fate, ...]] = []
        for stage, low in zip(self._stages, self._lowered, strict=True):
            compiled = stage.compiled() if low.lowered is None else stage.compile(low.lowered)
            modules = read_modules(compiled)
            if not modules:
                made.append((Level("hlo", (), (Computation("main"),)), ()))
                fates.append(())
                continue
            entry = low.named.level.computations[0]
            named = read_hlo(modules[0], entry.input_names, entry.output_names)
            links = link_hlo(low.named, named)
            level = with_hlo_costs(carry_down(low.named.level, named.level, links), modules[0])
            made.append((level, links))
            fates.append(read_fates(stage.jaxpr, low.links, low.named, links, named))
        level, links = _joined([low.named.level for low in self._lowered], made)
        uppers = join_levels([stage.jaxpr for stage in self._stages])[1]
        lowers = join_levels([level for level, _ in made])[1]
        self._lowered.clear()  # the names are long, and nobody asks for them again
        return level, links, tuple(_moved(fate, n, uppers, lowers) for n, some in enumerate(fates) for fate in some)


@dataclass(slots=True)
class _Lowered:
    """A stage at the level "stablehlo". `lowered` is JAX's own, for a program that never ran."""

    named: NamedLevel
    links: tuple[Link, ...]
    lowered: Any


def kept_names(stage: Stage, lowered: Any) -> tuple[str, ...]:
    """What the user calls the inputs that the lowered program takes."""
    names, kept = stage.jaxpr.computations[0].input_names, _jax.kept_inputs(lowered)
    return tuple(names[index] for index in kept) if kept and kept[-1] < len(names) else names


def _joined(uppers: list[Level], made: list[tuple[Level, tuple[Link, ...]]]) -> tuple[Level, tuple[Link, ...]]:
    """One level of several, and their links as links of it."""
    above = join_levels(uppers)[1]
    level, below = join_levels([level for level, _ in made])
    links = tuple(
        replace(link, upper_op=(above[n, link.upper_op[0]], link.upper_op[1]), lower_op=(below[n, c], at))
        for n, (_, found) in enumerate(made)
        for link in found
        for c, at in (link.lower_op,)
    )
    return level, links


def _moved(fate: Fate, n: int, uppers: dict[Place, int], lowers: dict[Place, int]) -> Fate:
    into = None if fate.into is None else (lowers[n, fate.into[0]], fate.into[1])
    return replace(fate, op=(uppers[n, fate.op[0]], fate.op[1]), into=into)


def join_levels(levels: list[Level]) -> tuple[Level, dict[Place, int]]:
    """One level of several: their entry computations first.

    Returns:
      The level, and where each computation went: by the number of its level, and its index there.
    """
    entries = [(n, i) for n, level in enumerate(levels) for i in range(level.entries)]
    bodies = [(n, i) for n, level in enumerate(levels) for i in range(level.entries, len(level.computations))]
    place = {pair: index for index, pair in enumerate([*entries, *bodies])}
    if len(levels) == 1:
        return levels[0], place
    values = [value for level in levels for value in level.values]
    shifts = [sum(len(level.values) for level in levels[:n]) for n in range(len(levels))]
    computations = [_shifted(levels[n].computations[i], shifts[n], n, place) for n, i in [*entries, *bodies]]
    sources = tuple(dict.fromkeys(source for level in levels for source in level.sources))
    return Level(levels[0].name, tuple(values), tuple(computations), len(entries), sources), place


def join_layouts(layouts: list[Layout], levels: list[Level]) -> Layout:
    """One layout of several: what each says of its own level "jaxpr", said of the level that they make together."""
    where = join_levels(levels)[1]
    placed: list[Placed] = []
    collectives: list[Collective] = []
    for number, layout in enumerate(layouts):
        shift = sum(len(level.values) for level in levels[:number])
        placed += [replace(one, value=one.value + shift) for one in layout.placed]
        for item in layout.collectives or ():
            places = tuple((where[number, computation], op) for computation, op in item.places)
            collectives.append(replace(item, places=places))
    known = any(layout.collectives is not None for layout in layouts)
    meshes = tuple(dict.fromkeys(mesh for layout in layouts for mesh in layout.meshes))
    return Layout(meshes, tuple(placed), tuple(collectives) if known else None)


def _shifted(computation: Computation, by: int, level: int, place: dict[Place, int]) -> Computation:
    def move(indices: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(index + by for index in indices)

    ops = tuple(
        replace(
            op,
            inputs=move(op.inputs),
            outputs=move(op.outputs),
            bodies=tuple(place[level, body] for body in op.bodies),
        )
        for op in computation.ops
    )
    return replace(
        computation,
        inputs=move(computation.inputs),
        outputs=move(computation.outputs),
        ops=ops,
        constants=move(computation.constants),
    )
