"""A piece of a cell: what was to be traced, and what tracing made of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from jaxnb import _jax
from jaxnb.program import Assigned, Finding, Span
from jaxnb.reading import NO_FIGURES, Figures, SimulatedMesh, read_figures, with_ids
from jaxnb.staging.cells.append_only import NO_USES, ListUses
from jaxnb.staging.cells.cell import CellSource, Statement
from jaxnb.staging.cells.code import CodeNames
from jaxnb.staging.objects.graph import Reached, Scan
from jaxnb.staging.objects.paths import Choices, Path, render_paths
from jaxnb.staging.objects.slots import Slots
from jaxnb.staging.trace.called_back import CalledBack
from jaxnb.staging.trace.donation import NO_DONATION, Donation
from jaxnb.staging.trace.gradient import DerivativeSpec
from jaxnb.staging.trace.instances import InstanceLog
from jaxnb.staging.trace.output_recipe import OutputRecipe
from jaxnb.staging.trace.placing import Arranged, Placing
from jaxnb.staging.trace.prelude import OutOfReach, Prelude, SplitJaxpr
from jaxnb.staging.trace.size_questions import SizeQuestions
from jaxnb.staging.trace.sizes import NamedSizes

__all__ = ["Piece", "Plan", "Served", "donated_places", "taken"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be traced: statements `start` to `stop`, the names they read, and those they bind before reading.

    `sees` says what they, or functions that they reach, could tell apart besides values, as bits of `Sees`,
    and `list_uses` which lists they only append to. `ran` holds the fingerprints of the code that ran in the trace,
    where that is known: see `jaxnb.staging.trace.ran`.
    """

    start: int
    stop: int
    roots: tuple[str, ...]
    hidden: frozenset[str]
    names: tuple[CodeNames, ...]
    sees: int = 0
    list_uses: ListUses = NO_USES
    ran: frozenset[bytes] | None = None

    def statements_of(self, cell: CellSource) -> tuple[Statement, ...]:
        """The statements of a cell, or block, that these are."""
        return cell.statements[self.start : self.stop]

    def scan(
        self,
        namespace: dict[str, Any],
        choices: Choices,
        slots: Slots | None = None,
        instead: Mapping[int, Any] | None = None,
    ) -> Scan:
        """Walks what the statements reach; `instead` has what stands for functions that classes hold, by id."""
        looks = self.sees, self.list_uses
        return Scan(namespace, self.roots, self.names, choices, self.hidden, slots, *looks, instead, self.ran)


@dataclass(slots=True, eq=False, weakref_slot=True)
class Piece:
    """A traced piece. Whoever traces makes it; afterwards it changes by its own methods alone.

    Attributes:
      plan: what was traced.
      key: the parts that must be equal for the piece to serve another run.
      context: JAX's ambient context while it was traced.
      paths: of the inputs.
      where: the index of a part of the key where each value begins, and the value's path.
      traced: JAX's own traced stage; its arguments are the leaves, or what the prelude says.
      prelude: what Python and NumPy compute before the program runs, or None.
      placing: what is put where before and after the program runs, or None.
      gives: positions of the leaves that functions of the cell donate; they are deleted when it runs.
      derivative: what it computes besides, or None.
      called_back: what the program calls of Python, or None.
      donation: what the program may write its results over.
      rebuilt: whether `traced` is not what was traced first, but a function that evaluates `jaxpr`.
      guard: the walk that shows whether the piece serves a run, as straight code, once it has been reused.
      scanned: how often that was shown by a scan instead.
      unlike: why it did not serve the last run for which it was asked, where the key does not tell.
      recipe: what to bind.
      jaxpr: closed.
      reasons: why the piece must not be used again, as (line, text).
      notes: things to tell the user, as (kind, line, text).
      module: what was compiled: a fingerprint of the module, and what it is given, see `_jax.given_of`;
        empty where none can be told to be the same.
      cell: the whole cell that was traced; the piece may serve others with the same code.
      called: where in the cell the function was called that it is part of, if it is part of one.
      outputs: where the program's results end up, each with the number of the result: the paths of all names that are
        bound to one, and a path to each of the others.
      moves: the paths at which it leaves something else than its key says.
      figures: what the one line says of it; None until `read_figures`.
      seconds: how long tracing took.
      from_cache: what the persistent compilation cache did for it, in a few words; "" where there is none.
      assigned: what every name was after each assignment; None if that was not taken down.
      simulated: the mesh that is not there for which it was traced; None for the devices that there are.
      served: the last programs that served a run together and began with this one, and what was found in them.
      used: the number of the cell's run that used it last.
      instances: the objects whose methods its equations were made in.
      questions: what was asked of sizes that are names, in the trace of which it comes; None if there are none.
      named: how large these are in the runs that it serves; None if it is the one for all sizes, which never runs.
      general: the program for all sizes, closed; None if sizes are numbers.
      walked: what was reached when it was traced, until it runs for the first time: another walk could meet the objects
        of a set in another order, because they were taken out of it and put back.
    """

    plan: Plan
    key: tuple[Any, ...]
    context: tuple[Any, ...]
    paths: list[Any]
    where: list[tuple[int, Any]]
    traced: Any
    recipe: OutputRecipe
    jaxpr: Any
    n_outputs: int
    seconds: float
    reasons: list[tuple[int | None, str]] = field(default_factory=list[tuple[int | None, str]])
    notes: list[tuple[str, int | None, str]] = field(default_factory=list[tuple[str, int | None, str]])
    prelude: Prelude | None = None
    placing: Placing | None = None
    gives: tuple[int, ...] = ()
    derivative: DerivativeSpec | None = None
    called_back: CalledBack | None = None
    donation: Donation = NO_DONATION
    rebuilt: bool = False
    compiled: Any = None
    guard: Callable[[dict[str, Any]], Any] | None = None
    scanned: int = 0
    unlike: str = ""
    lower_seconds: float = 0.0
    compile_seconds: float = 0.0
    from_cache: str = ""
    module: tuple[Any, ...] = ()
    cell: CellSource | None = None
    called: Span | None = None
    outputs: tuple[tuple[Path, int], ...] = ()
    moves: frozenset[Any] = frozenset()
    figures: Figures | None = None
    assigned: tuple[Assigned, ...] | None = None
    simulated: SimulatedMesh | None = None
    served: Served | None = None
    used: int = 0
    instances: InstanceLog | None = None
    questions: SizeQuestions | None = None
    named: NamedSizes | None = None
    general: Any = None
    walked: Reached | None = None

    def numbered(self) -> Any:
        """JAX's traced stage of a copy of the program, with the number of each equation in its name, see `ids`."""
        # JAX holds what a jaxpr is lowered to for as long as that lives, and pieces live long.
        jaxpr = self.traced.jaxpr
        copied = _jax.with_eqns(jaxpr, jaxpr.eqns) if self.rebuilt else with_ids(self.jaxpr)
        return _jax.with_jaxpr(self.traced, copied)

    @property
    def results(self) -> list[tuple[str, int]]:
        """Names that the program's results are bound to as they are, each with the number of the result."""
        return [(path[2], place) for path, place in self.outputs if path[1] == "name"]

    def input_names(self) -> list[str]:
        """What the user calls the inputs of the program; "" for constants, which come first."""
        count, names = len(self.jaxpr.jaxpr.invars), render_paths(self.paths)
        return [""] * (count - len(names)) + names if count >= len(names) else [""] * count

    def output_names(self) -> list[str]:
        """What the user calls the results of the program; "" for what is bound to nothing."""
        found: dict[int, Path] = {}
        for path, place in self.outputs:
            found.setdefault(place, path)
        texts = dict(zip(found, render_paths(found.values()), strict=True))
        return [texts.get(place, "") for place in range(len(self.jaxpr.jaxpr.outvars))]

    @property
    def result_types(self) -> list[tuple[Any, ...]]:
        """The dtype, shape and weakness of each result of its program."""
        return [(aval.dtype, aval.shape, getattr(aval, "weak_type", False)) for aval in self.jaxpr.out_avals]

    def lower(self) -> Any:
        """The program as StableHLO, with the number of each equation in its name, see `ids`; nothing is compiled."""
        changed = self.numbered()
        if self.simulated is None:
            return changed.lower()
        return _jax.lower_elsewhere(changed, (self.simulated.platform,))

    def has_compiled(self, compiled: Any, lower_seconds: float, compile_seconds: float, from_cache: str = "") -> None:
        """Keeps what it was compiled to, or what stands for that where its devices are not there."""
        self.from_cache = from_cache
        self.compiled, self.lower_seconds, self.compile_seconds = compiled, lower_seconds, compile_seconds

    def is_lowered(self, module: tuple[Any, ...]) -> None:
        """Keeps what tells programs apart that were lowered."""
        self.module = module

    def read_figures(self) -> Figures:
        """What the one line says of it; asked once, after it was compiled."""
        if self.figures is None:
            try:
                self.figures = read_figures(self.jaxpr, self.compiled)
            except Exception as error:  # the cell has run; a figure that cannot be had is none
                self.figures = NO_FIGURES
                warnings.warn(f"the line says nothing of flops and memory: {error!r}", stacklevel=2)
        return self.figures

    def take_walk(self) -> Reached | None:
        """What was reached when it was traced; the first time only."""
        walked, self.walked = self.walked, None
        return walked

    def note_use(self, run: int) -> None:
        """It serves this run of the cell."""
        self.used = run

    def note_scan(self) -> None:
        """It was found by a scan that it serves a run."""
        self.scanned += 1

    def guard_by(self, guard: Callable[[dict[str, Any]], Any] | None) -> None:
        """From now on a guard says whether it serves a run; None if none can be written."""
        self.guard = guard

    def serves_with(self, others: tuple[Piece, ...], findings: tuple[Finding, ...], shown: str) -> Served:
        """Itself, the pieces after it in a run, what there is to say of them, and the cell as displayed: the same
        object while these stay."""
        known = self.served
        if known is None or (known.findings, known.pieces[1:], known.shown) != (findings, others, shown):
            known = self.served = Served((self, *others), findings, shown)
        return known

    def let_rules_go(self) -> None:
        """Keeps the program alone, without the rules for derivatives of functions in it and what these hold."""
        whole = self.traced.jaxpr is self.jaxpr
        self.jaxpr = _jax.without_rules(self.jaxpr)
        jaxpr = self.jaxpr if whole else _jax.without_rules(self.traced.jaxpr)
        self.traced = _jax.with_jaxpr(self.traced, jaxpr)

    @property
    def asks(self) -> bool:
        """Whether it is for some answers to what functions ask of numbers."""
        return self.prelude is not None and bool(self.prelude.checks)

    def ready(self, reached: Reached, namespace: dict[str, Any]) -> Reached | None:
        """The same with what Python and NumPy compute; None if the program was not traced for such values."""
        if self.called_back is not None and not self.called_back.serves(reached.nodes, reached.leaves, namespace):
            self.unlike = "a callback would be another object"
            return None
        if not self.recipe.in_order(reached.nodes):
            self.unlike = "the keys of what it changes are in another order"
            return None
        if self.prelude is None:
            return reached
        try:
            return reached._replace(scalars=self.prelude.values(reached.leaves))
        except OutOfReach as error:
            self.unlike = str(error)
            return None

    def rebuild(
        self,
        split: SplitJaxpr | None,
        donation: Donation,
        leaves: Sequence[Any],
        values: Sequence[Any],
        arranged: Arranged | None = None,
    ) -> None:
        """Takes out what Python computes, lets the program have the donated buffers, and lays its results.

        Args:
          split: the prelude and the rest, or None.
          donation: what the piece gives up.
          leaves: of the run that was traced.
          values: that Python computed in it.
          arranged: the rest with what is put where before and after it, or None.
        """
        if split is None and not donation.leaves and arranged is None:
            return
        arguments, places = taken(split, leaves, values)
        if split is not None:
            self.prelude, self.jaxpr = split.prelude, split.closed
            texts, paths = split.prelude.texts, self.paths
            self.paths = [paths[at] if kind == "leaf" else (None, "name", texts[at]) for kind, at in places]
            self.n_outputs = len(self.jaxpr.jaxpr.outvars)
            kept = [(path, split.prelude.outputs[place]) for path, place in self.outputs]
            self.outputs = tuple((path, place) for path, (kind, place) in kept if kind == "device")
        self.donation = donation
        donated = donated_places(places, donation)
        shardings: dict[str, Any] = {}
        if arranged is not None:
            self.placing, self.jaxpr = arranged.placing, arranged.closed
            self.n_outputs = len(self.jaxpr.jaxpr.outvars)
            first, kept = [at for at, _ in self.placing.first], self.placing.kept
            donated = tuple(n for n, at in enumerate(kept) if at in donated)
            arguments = [*(arguments[at] for at in kept), *arranged.shapes]
            self.paths = [self.paths[at] for at in (*kept, *first)]
            made = [(path, self.placing.place_of(place)) for path, place in self.outputs]
            self.outputs = tuple((path, place) for path, place in made if place is not None)
            if any(sharding is not None for sharding in arranged.out_shardings):
                shardings["out_shardings"] = list(arranged.out_shardings)
        function = _jax.as_function(with_ids(self.jaxpr))
        self.traced = jax.jit(function, donate_argnums=donated, **shardings).trace(*arguments)
        self.rebuilt = True


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Served:
    """The programs that served a run, what there is to say of them, and the cell as displayed, whose header may be
    another though the programs are the same."""

    pieces: tuple[Piece, ...]
    findings: tuple[Finding, ...]
    shown: str = ""


def taken(
    split: SplitJaxpr | None, leaves: Sequence[Any], values: Sequence[Any]
) -> tuple[list[Any], list[tuple[str, int]]]:
    """What is left to the program of the leaves, and of which leaf, or value of the prelude, each argument is."""
    if split is None:
        return list(leaves), [("leaf", index) for index in range(len(leaves))]
    return split.prelude.arguments(leaves, values), list(split.prelude.inputs)


def donated_places(places: Sequence[tuple[str, int]], donation: Donation) -> tuple[int, ...]:
    """Which arguments are given up; `places` is what `taken` says of them."""
    return tuple(n for n, (kind, at) in enumerate(places) if kind == "leaf" and at in donation.leaves)
