"""What a cell became, as one neutral, frozen structure that every view and the codec share.

A `Program` holds levels, from the cell's source down. A level is a list of values and a list of computations;
a computation is a straight list of ops over those values; an op may own further computations (the body of a
scan, the branches of a cond). Ops, values and computations refer to one another by index, so that the whole
is plain data:

    Program
      levels: source, jaxpr, stablehlo, hlo
        Level.values         Value(name, Aval)
        Level.computations   Computation(inputs, outputs, ops); entry points first
          Op                 name, inputs, outputs, span in the cell, bodies
      links                  between an op of one level and an op of the next
      fates                  what became of an equation that no instruction bears
      findings               what there is to say about it
      timing                 what was measured, if it was
      memory, names          who lives when; what every name was: made when first asked for

What costs something to make is made when it is first asked for (`Program.level`, `memory`, `names`), by whatever the
program was given as its maker, and kept. Nothing here imports jax: a saved program is read and drawn without it. What
has to hold for every program stands in `laws`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import jaxnb.program as room
from jaxnb.errors import ChangedJax, JaxnbError

if TYPE_CHECKING:
    from graphviz import Digraph

    from jaxnb.program.calltree import Node
    from jaxnb.program.coverage import Coverage
    from jaxnb.program.diff import Diff
    from jaxnb.program.kernels import Kernel, Kernels
    from jaxnb.program.linking import LinkIndex
    from jaxnb.program.occupancy import Memory
    from jaxnb.program.placement.data import Mesh
    from jaxnb.program.placement.hardware import Hardware
    from jaxnb.program.placement.layout import Layout
    from jaxnb.program.placement.ledger import Ledger
    from jaxnb.program.platforms import Platforms
    from jaxnb.program.promotion import Promotions
    from jaxnb.program.ptx import Ptx, PtxMaker

from jaxnb.program.display import Picture, render
from jaxnb.program.status import Part, Status
from jaxnb.program.structure import Assigned, Fate, Finding, Level, Link, PlacedOp, ProcessTime, Timing

__all__ = ["Maker", "Program"]


class Maker(Protocol):
    """Makes what a program was not made with."""

    @property
    def names(self) -> tuple[str, ...]:
        """The levels that it can make, from the top down."""
        ...

    def make(self, name: str, above: Program) -> tuple[Level, tuple[Link, ...], tuple[Fate, ...]]:
        """A level, its links to the level above, and the fates that it tells.

        Args:
          name: of the level.
          above: the program, whose last level is the one above.
        """
        ...

    def memory(self, program: Program, made: bool = False) -> tuple[Memory, ...]:
        """Who lives in memory when, for each piece of the cell; by the levels that were `made`, or by all."""
        ...

    def assigned(self) -> tuple[Assigned, ...]:
        """What every name was after each assignment."""
        ...

    def meshes(self) -> tuple[Mesh, ...]:
        """The meshes of devices that the program speaks of."""
        ...

    def layout(self) -> Layout:
        """Where everything of the program lives."""
        ...

    def vmapped(self) -> tuple[tuple[str, Level], ...]:
        """The functions under `vmap` with a name, each with the name and its level "jaxpr" at one position."""
        ...

    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels of Pallas, and what each step of their grids reads and writes."""
        ...

    def platforms(self, program: Program, wanted: Sequence[str]) -> Platforms:
        """The program as it is lowered for platforms, which need not be here."""
        ...


@dataclass(frozen=True, slots=True)
class Program:
    """A cell at every level that was made, with the links between them and what was found.

    Two programs are equal if they are the same cell and have the same levels; what could still be made does not count.

    Attributes:
      source: the text of the cell as displayed, the magic line included if there is one.
      levels: from the source down, those that were made. Asking for another one adds it, which is the only thing
        about a program that ever changes.
      links: between ops of neighbouring levels.
      findings: in the order of their lines.
      fates: of ops of the level "jaxpr", once the level "hlo" was made.
      timing: what was measured; None if nothing was.
      processes: what the run took in each process, where it ran in those of a cluster.
    """

    source: str
    levels: tuple[Level, ...] = ()
    links: tuple[Link, ...] = ()
    findings: tuple[Finding, ...] = field(default=())
    fates: tuple[Fate, ...] = ()
    timing: Timing | None = None
    processes: tuple[ProcessTime, ...] = field(default=(), kw_only=True)
    _memory: tuple[Memory, ...] | None = field(default=None, repr=False)
    _names: tuple[Assigned, ...] | None = field(default=None, repr=False)
    _layout: Layout | None = field(default=None, compare=False, repr=False)
    _vmapped: tuple[tuple[str, Level], ...] | None = field(default=None, compare=False, repr=False)
    _kernels: tuple[Kernel, ...] | None = field(default=None, compare=False, repr=False)
    _maker: Maker | None = field(default=None, compare=False, repr=False)
    _ptx: PtxMaker | None = field(default=None, compare=False, repr=False, kw_only=True)
    _index: LinkIndex | None = field(default=None, init=False, compare=False, repr=False)

    def __repr__(self) -> str:
        made = [f"{level.name} ({sum(1 for _ in level.ops())} ops)" for level in self.levels if level.name != "source"]
        more = self.level_names[len(self.levels) :]
        can = f"; can be made: {', '.join(more)}" if more else ""
        lines = len(self.source.splitlines())
        return f"<jaxnb.Program of {lines} line{'' if lines == 1 else 's'}: {', '.join(made) or 'no levels'}{can}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The program as text, and as HTML without scripts; where the extension is loaded, that shows the inspector."""
        return {
            "text/plain": render(self, "text") if len(self.levels) > 1 else repr(self),
            "text/html": str(render(self, "html", line=self.status)),
        }

    @property
    def status(self) -> Status:
        """The line of a program that is shown by itself, without the run of a cell."""
        level = next((level for level in self.levels if level.name != "source"), None)
        count = sum(len(entry.ops) for entry in level.computations[: level.entries]) if level is not None else 0
        unit = "eqn" if level is None or level.name == "jaxpr" else "op"
        return Status((Part("traced", "program"),), (Part("eqns", f"{count} {unit}{'' if count == 1 else 's'}"),))

    @property
    def level_names(self) -> tuple[str, ...]:
        """The levels that were made, and then those that can be."""
        made = tuple(level.name for level in self.levels)
        return made + tuple(name for name in (self._maker.names if self._maker else ()) if name not in made)

    def level(self, name: str) -> Level:
        """The level of that name, which is made now if it was not yet.

        Args:
          name: "source", "jaxpr", "stablehlo" or "hlo". What is lowered for "stablehlo" is not compiled; "hlo" is
            that of the program that ran, and only where nothing ran is it compiled for this.

        Raises:
          KeyError: if there is none and none can be made; the message names those that there are.
        """
        for level in self.levels:
            if level.name == name:
                return level
        if self._maker is not None and name in self._maker.names:
            self._make(name)
            return self.levels[-1]
        made = ", ".join(level.name for level in self.levels) or "none"
        more = [known for known in self.level_names if not any(level.name == known for level in self.levels)]
        can = f"; can be made: {', '.join(more)}" if more else ""
        raise KeyError(f"there is no level {name!r} in this program; made so far: {made}{can}")

    def ops(self, level: str) -> Iterator[PlacedOp]:
        """Every op of a level with its place and its links, computation by computation.

        The level is made if it was not yet; links to levels that were not made are not among them.

        Raises:
          KeyError: as `level`.

        >>> from jaxnb.program import Computation, Level, Op, Span
        >>> program = Program("-x", (Level("jaxpr", (), (Computation("main", ops=(Op("neg", span=Span(1)),)),)),))
        >>> [(op.name, op.line, op.place, op.links) for op in program.ops("jaxpr")]
        [('neg', 1, (0, 0), ())]
        """
        return room.placed_ops(self, self.level(level))

    def tree(self, level: str = "jaxpr") -> Node:
        """The call tree of a level: the cell's lines, the functions that they call, and what their ops cost.

        Every op of the level belongs to one node, so that the costs of the nodes add up to those of the level.
        On a mesh "sent" is among them: the bytes that a device sends to others, which add up to those of `collectives`.

        Args:
          level: which one; it is made if it was not yet.

        Raises:
          KeyError: as `level`.
        """
        shown = self.level(level)
        return room.read_tree(shown, *room.read_derived(self, shown, make=True))

    def memory(self) -> tuple[Memory, ...]:
        """Who lives in memory when, for each piece of the cell; made when first asked for, and kept.

        It is read from the compiled program's buffers where it ran, and from the jaxpr otherwise: `Memory.source` says
        which. A saved program has what it was saved with.
        """
        if self._memory is None and self._maker is not None:
            object.__setattr__(self, "_memory", self._maker.memory(self))
        return self._memory or ()

    def occupancy(self) -> tuple[Memory, ...]:
        """The same as `memory` by the levels that were made, for which nothing is lowered: by the order of the jaxpr as
        long as nobody asked for the buffers."""
        if self._memory is None and self._maker is not None:
            return self._maker.memory(self, made=True)
        return self._memory or ()

    def names(self) -> tuple[Assigned, ...]:
        """The abstract value of every name after each assignment, in the cell and in the functions that it calls.

        Made when first asked for, and kept: the cell's pieces are traced once more, and nothing runs. A saved program
        has what it was saved with.

        Raises:
          JaxnbError: if the cell cannot be traced again as it was, because what it reads has changed.
        """
        if self._names is None and self._maker is not None:
            object.__setattr__(self, "_names", self._maker.assigned())
        return self._names or ()

    def layout(self) -> Layout:
        """Where everything lives: the meshes, how inputs, results and values in between lie on them, what is sent.

        Made when first asked for, and kept: what was compiled is read, and nothing is compiled for it. A saved program
        has what it was saved with.
        """
        if self._layout is None and self._maker is not None:
            object.__setattr__(self, "_layout", self._maker.layout())
        if self._layout is None:
            return room.Layout()
        return self._layout

    def collectives(self, on: str | Hardware | None = None) -> Ledger:
        """What the devices send one another: every collective of the compiled program with its line, why it is there,
        its mesh axis and the bytes that a device sends; see `placement.ledger`. It shows itself as a table.

        The level "hlo" is made if it was not yet. A saved program without it has the collectives it was saved with.

        Args:
          on: hardware, such as "h100": how long each would take there, and the computation beside them.

        Raises:
          KeyError: if the program has no level "hlo", none can be made, and no collectives were saved.
          JaxnbError: if there is no such hardware.
        """
        meshes = self._maker.meshes() if self._maker is not None else self.layout().meshes
        saved = self.layout().collectives if "hlo" not in self.level_names else None
        if saved is None:
            ledger = room.read_ledger(self, meshes)
        else:
            ledger = room.Ledger(saved, meshes[0] if meshes else None, self.source)
        if on is None:
            return ledger
        return replace(ledger, estimate=room.estimate_program(self, on, ledger.mesh, ledger=ledger))

    def vmapped(self) -> tuple[tuple[str, Level], ...]:
        """The functions under `vmap(axis_name=...)`, each with the name and its level "jaxpr" at one position.

        Made when first asked for, and kept: the cell is traced once more, as for `names`. A saved program has what it
        was saved with.

        Raises:
          JaxnbError: as `names`.
        """
        if self._vmapped is None and self._maker is not None:
            spoken = any("vmap" in op.scopes for op in self.level("jaxpr").ops())
            object.__setattr__(self, "_vmapped", self._maker.vmapped() if spoken else ())
        return self._vmapped or ()

    def kernels(self) -> Kernels:
        """The kernels of Pallas: their grids, which window of which array each step reads and writes, what is fetched
        again, what is never written, and what a step costs. It shows itself as tables, in a notebook with drawings.

        Made when first asked for, and kept: nothing is lowered, compiled or run. A saved program has what it was saved
        with.

        Raises:
          KeyError: if the program has no level "jaxpr".
        """
        if self._kernels is None and self._maker is not None:
            there = any(op.name == "pallas_call" for op in self.level("jaxpr").ops())
            object.__setattr__(self, "_kernels", self._maker.kernels() if there else ())
        return room.Kernels(self._kernels or (), self.source)

    def platforms(self, *names: str) -> Platforms:
        """What the program is lowered to on platforms that need not be here: nothing is compiled or run.

        It shows itself as a table of the equations that become something else on each of them, and of those that have
        no rule there; `.on("tpu")` is the program with that platform's level "stablehlo".

        Args:
          names: as JAX calls them: "tpu", "cuda", "rocm", "cpu"; "gpu" is "cuda".

        Raises:
          JaxnbError: if JAX knows no such platform, or the program was saved, and what it was made of is gone.

        Example:
          >>> import jax.numpy as jnp, jaxnb
          >>> program = jaxnb.inspect(jnp.linalg.eigvals)(jnp.eye(3))
          >>> [(one.platform, one.primitive) for one in program.platforms("tpu", "cpu").refused]
          [('tpu', 'eig')]
        """
        if self._maker is None:
            raise JaxnbError(
                "a saved program cannot be lowered again: what it was made of is gone.", fix="run its cell again."
            )
        return self._maker.platforms(self, names)

    def ptx(self, of: str | int | None = None) -> Ptx:
        """The kernels of a program that was compiled for a GPU, as its compiler wrote them: PTX, with registers, spills
        and shared memory as the assembler says. It shows itself as text; without `of` as a table of what is launched.

        It is compiled once more for this, when it is first asked for, and kept.

        Args:
          of: the name of an instruction of the level "hlo", such as "loop_add_fusion", or a line of the cell.

        Raises:
          JaxnbError: if it was not compiled for a GPU that need not be here, or there is no such instruction or kernel.
        """
        if self._ptx is None:
            raise JaxnbError(
                "there is no PTX of this program.",
                why="it was not compiled for a GPU target: CPUs and TPUs have none, and a saved program keeps none.",
                fix="stage the cell under %%jit --target h100; no GPU need be here.",
            )
        return room.Ptx(room.choose_launches((self.level("jaxpr"), self.level("hlo")), self._ptx, of), of, self.source)

    def with_ptx(self, maker: PtxMaker | None) -> Program:
        """The same program, which can tell the kernels that its compiler wrote."""
        return self if maker is None else replace(self, _ptx=maker)

    def promotions(self) -> Promotions:
        """The conversions that the code did not ask for: operands of two dtypes that meet, and integers that go into
        functions of floats, each with its line, the bytes it moves, and the flops that are then of the wider dtype.

        It shows itself as a table. `jaxnb.promote` says why two dtypes become what they become.

        Raises:
          KeyError: if the program has no level "jaxpr".
        """
        return room.read_promotions(self)

    def axes_diagram(self) -> Picture:
        """The named axes of each `xmap`, `shard_map` and `vmap(axis_name=...)` as strands: which values have which,
        where collectives end them, and where products contract them. It shows itself as pictures, and as text.

        For `vmap`, whose names are in no jaxpr, the cell is traced once more, as for `names`.

        Raises:
          KeyError: if the program has no level "jaxpr".
        """
        return render(self, "axes")

    def linked(self, level: str, op: tuple[int, int], to: str) -> dict[tuple[int, int], bool]:
        """What an op is at another level, above or below, by following links from level to level.

        Args:
          level: where it stands.
          op: as (computation, op).
          to: the other level. It and the levels between are made if they were not yet.

        Returns:
          The ops of the other level in their order, each with whether some way there has only exact links.

        Raises:
          KeyError: as `level`.
        """
        for name in (level, to):
            self.level(name)
        if self._index is None or self._index.links is not self.links:
            object.__setattr__(self, "_index", room.LinkIndex(self.links))
        assert self._index is not None
        return room.follow([made.name for made in self.levels], self._index, level, op, to)

    def coverage(self) -> Coverage:
        """How much of the program is linked: four shares from 0 to 1. Levels that can be made are made for it.

        >>> Program("x = 1").coverage().eqn_line is None
        True
        """
        with suppress(ChangedJax):  # a level that cannot be read has no share
            for name in self._maker.names if self._maker is not None else ():
                self.level(name)
        return room.read_coverage(self)

    @property
    def made_memory(self) -> tuple[Memory, ...] | None:
        """As `memory`, if somebody asked for it already; None otherwise. This is what is saved."""
        return self._memory

    @property
    def made_names(self) -> tuple[Assigned, ...] | None:
        """As `names`, if somebody asked for them already; None otherwise. This is what is saved."""
        return self._names

    @property
    def made_layout(self) -> Layout | None:
        """As `layout`, if somebody asked for it already; None otherwise. This is what is saved."""
        return self._layout

    @property
    def made_vmapped(self) -> tuple[tuple[str, Level], ...] | None:
        """As `vmapped`, if somebody asked for them already; None otherwise. This is what is saved."""
        return self._vmapped

    @property
    def made_kernels(self) -> tuple[Kernel, ...] | None:
        """As `kernels`, if somebody asked for them already; None otherwise. This is what is saved."""
        return self._kernels

    def graph(self, level: str = "jaxpr", *, computation: int | str | None = None, limit: int | None = 300) -> Digraph:
        """A level as a `graphviz.Digraph`, drawn in a notebook without a system package; see `views.graph`.

        Args:
          level: which one; it is made if it was not yet.
          computation: to draw alone, by its index or its name; by default the entry points.
          limit: how many ops at most, or None for all; bodies are folded into their ops first.

        Raises:
          KeyError: if there is no such level or computation.
        """
        return render(self, "graph", level, computation=computation, limit=limit)

    def diff(self, other: Program, level: str = "jaxpr") -> Diff:
        """What changed from another program to this one, see `Diff`; printed, it says what was added and removed.

        Args:
          other: the one before.
          level: at which they are compared; it is made where it was not yet.

        Raises:
          KeyError: as `level`.
        """
        return room.compare(other, self, level)

    def _make(self, name: str) -> None:
        """Makes the levels down to the one of that name: each is linked to the one above."""
        maker = self._maker
        assert maker is not None
        for next_name in maker.names:
            if not any(level.name == next_name for level in self.levels):
                level, links, fates = maker.make(next_name, self)
                object.__setattr__(self, "levels", (*self.levels, level))
                object.__setattr__(self, "links", (*self.links, *links))
                object.__setattr__(self, "fates", (*self.fates, *fates))
            if next_name == name:
                return

    def __reduce__(self) -> tuple[type[Program], tuple[object, ...]]:
        """A copy, or what comes out of a pickle, has the levels that were made and makes no others."""
        return Program, (
            self.source,
            self.levels,
            self.links,
            self.findings,
            self.fates,
            self.timing,
            self._memory,
            self._names,
            self._layout,
            self._vmapped,
            self._kernels,
        )

    def text(
        self, level: str | None = None, *, platforms: Sequence[str] = (), op: str | int | None = None, **options: Any
    ) -> str:
        """A level as text beside the lines of the cell, or in its own order; see `views.text.render_program`.

        Args:
          level: which one; it is made if it was not yet. By default the one below the source. "ptx" is no level: it
            gives the kernels that were compiled for a GPU target, see `ptx`, and `options` are `width` and `limit`.
          op: for "ptx" alone, of which instruction or line.
          platforms: for the level "stablehlo", what it is on each of these, side by side, see `platforms`; then
            `options` are `width` and `limit`.
          **options: `width`, `limit`, `order` ("source" or "level"), `fold`, `columns` ("auto", or names of `COLUMNS`)
            and `names`.

        Raises:
          KeyError: as `level`.
          JaxnbError: as `platforms`, and for another level than "stablehlo"; as `ptx`.
        """
        if level == "ptx":
            return render(self.ptx(op), "text", **{"limit": None, **options})
        if not platforms:
            return render(self, "text", level=level, **options)
        if level not in (None, "stablehlo"):
            raise JaxnbError(
                f"the level {level!r} is not told by platforms.", fix='level="stablehlo", which needs no compiler.'
            )
        return render(self.platforms(*platforms), "text", whole=True, **options)

    def costs(
        self, level: str | None = None, *, width: int | None = None, limit: int | None = 20, depth: int = 0
    ) -> str:
        """The lines of the cell by what they cost, the hottest first, as text; see `views.cost_report.render_costs`.

        Args:
          level: whose ops are counted; by default the one below the source.
          width: how many columns there are.
          limit: how many rows at most, or None for all.
          depth: how many calls deep the lines are opened into the functions that they call.

        Raises:
          KeyError: as `level`.
        """
        return render(self, "costs", level=level, width=width, limit=limit, depth=depth)

    def __str__(self) -> str:
        return self.text()
