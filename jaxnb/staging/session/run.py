"""What one run of a cell came to: values, timings, why it was traced again, and the one line that says so."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from jaxnb import views
from jaxnb.errors import JaxnbError
from jaxnb.program import Finding, Program, Status, Timing
from jaxnb.reading import NO_FIGURES, Figures
from jaxnb.staging.session.status import read_status
from jaxnb.staging.trace.piece import Served

if TYPE_CHECKING:
    from graphviz import Digraph

    from jaxnb.program import (
        Diff,
        Gradients,
        Hardware,
        Kernels,
        Ledger,
        Node,
        Plan,
        RematPolicies,
        Search,
        Shardings,
        TargetPlans,
    )

__all__ = ["LastRun", "Later", "Retrace", "Run", "Shown", "Timings"]


@dataclass(frozen=True, slots=True)
class Timings:
    """Seconds spent. `run` is None unless something waited for the result (SEMANTICS, rule 9).

    Attributes:
      trace: making the jaxpr, with the traces that were given up on the way.
      lower: jaxpr to StableHLO.
      compile: StableHLO to an executable.
      run: from dispatch until the results were there.
      host: statements that Python ran.
      cache: what JAX's persistent compilation cache did, such as "cache hit"; "" where no folder is set for it.
    """

    trace: float = 0.0
    lower: float = 0.0
    compile: float = 0.0
    run: float | None = None
    host: float = 0.0
    cache: str = ""


@dataclass(frozen=True, slots=True)
class Retrace:
    """Why a cell that had a program was traced again.

    Attributes:
      reasons: one sentence each.
      findings: the same with line, path, cost, and what to do where that is known.
    """

    reasons: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """How a run is shown.

    Attributes:
      level: of the program, if it is not the one below the source.
      order: "source" for the lines of the cell, "level" for the level's own order.
      columns: of costs, in the text; see `views.text.render_program`.
      as_text: whether the cell was only to be looked at: then its text is shown, not just the line.
      status: the line, where it is not that of this run alone.
    """

    level: str | None = None
    order: Literal["source", "level"] = "source"
    columns: tuple[str, ...] | Literal["auto"] = ()
    as_text: bool = False
    status: Status | None = None


@dataclass(frozen=True, eq=False)
class Later:
    """What is read of a run only when somebody asks for it; each is None where it cannot be had.

    Attributes:
      make_program: reads what the cell became.
      make_nameless: the same, and holds none of the user's names.
      make_source: writes the cell as a file, given the run's value and a name.
      make_shardings: says how values are spread, given what is called with what is going on.
      make_diff: compares the program with that of the run of this cell before.
      make_remat: tries policies for what a gradient keeps, given what is called with what is going on, options of the
        cell in place of its own, and whether to measure.
      make_gradients: traces the cell once more and reads what it differentiates, given options in place of its own.
      make_export: writes the cell as a file that holds its program, given the path.
      make_targets: plans the cell for targets, given their names and what is called with what is going on.
    """

    make_program: Callable[[], Program] | None = None
    make_nameless: Callable[[], Program] | None = None
    make_source: Callable[[Any, str], str] | None = None
    make_shardings: Callable[[Callable[[str], None]], Shardings] | None = None
    make_diff: Callable[[Program], Diff] | None = None
    make_remat: Callable[[Callable[[str], None], Mapping[str, Any], bool], RematPolicies] | None = None
    make_gradients: Callable[[Mapping[str, Any]], Gradients] | None = None
    make_export: Callable[[str], None] | None = None
    make_targets: Callable[[Sequence[str], Callable[[str], None]], TargetPlans] | None = None

    @cached_property
    def program(self) -> Program:
        return self.make_program() if self.make_program is not None else Program("")

    @cached_property
    def diff(self) -> Diff | None:
        return self.make_diff(self.program) if self.make_diff is not None else None


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Run:
    """One run of a staged cell.

    Attributes:
      value: of the trailing expression; None if there is none or a `;` suppresses it.
      outputs: the names that were bound, with their values.
      reused: whether nothing had to be traced.
      retrace: None on a first or a reused run, otherwise the reasons.
      findings: what there is to say.
      timings: in seconds.
      host_lines: lines of statements that Python ran.
      on_host: those of them that have to do with JAX but need values, each with the reason.
      loops: the turns of each loop whose body was staged once and run in turns.
      transferred: bytes that had to be moved to the device that was asked for.
      donated: bytes of the buffers that were given up to the results.
      inputs: how many inputs the compiled pieces took.
      equations: how many equations the pieces hold, those of functions and loops in them included.
      pieces: how many compiled pieces there were.
      processes: how many ran it, where it ran on a cluster; otherwise 0.
      figures: what the pieces ask for together.
      all_sizes: the names of sizes that a program was traced for, if one was traced, or only compiled, in this run.
      sizes: how large they are in this run, as "b=64".
      named: the function that `--name` bound, with its parameters.
      derivative: which one the program computed, too.
      timing: what `--time` measured, in seconds; None without it.
      exported: the file that `--export` wrote.
      note: what replaces "staged" on the line, where nothing was staged.
      note_kind: what kind of part of the line that is, see `jaxnb.program.status.SIGNS`.
      dispatch_seconds: from the start of the first dispatch until the last had returned.
      served: the programs and what was found in them: the same object for as long as both stay; None where they are
        shown otherwise each time.
      shown: how it is shown.
      plan: what the cell would be on a mesh that is not there, where one is simulated; nothing ran then.
      search: the ways to lay the names of the cell on the mesh that `--resources auto` has tried.
      later: what is read when somebody asks for it.
    """

    value: Any = None
    outputs: dict[str, Any] = field(default_factory=dict[str, Any])
    reused: bool = False
    retrace: Retrace | None = None
    findings: tuple[Finding, ...] = ()
    timings: Timings = Timings()
    host_lines: tuple[int, ...] = ()
    on_host: tuple[tuple[int, str], ...] = ()
    loops: tuple[int, ...] = ()
    transferred: int = 0
    donated: int = 0
    inputs: int = 0
    equations: int = 0
    pieces: int = 0
    processes: int = 0
    figures: Figures = NO_FIGURES
    all_sizes: str = ""
    sizes: str = ""
    named: str = ""
    derivative: str = ""
    timing: Timing | None = None
    exported: str = ""
    note: str = ""
    note_kind: str = "nothing"
    dispatch_seconds: float = 0.0
    served: Served | None = None
    shown: Shown = Shown()
    plan: Plan | None = None
    search: Search | None = None
    later: Later = Later()

    @property
    def program(self) -> Program:
        """What the cell became. Read when first asked for; nothing is compiled for it."""
        return self.later.program

    @property
    def diff(self) -> Diff | None:
        """What changed against the run of this cell before; None without `--diff`, or on its first run.

        A run before is one of the same cell of the notebook, also if it was edited since. Outside of a notebook it is
        the last run of a cell that binds the same names.
        """
        return self.later.diff

    @property
    def flops(self) -> int | None:
        """Of all pieces, see `Op.flops`; None where nobody knows all of them."""
        return self.figures.flops

    @property
    def memory(self) -> int | None:
        """Bytes that the compiled pieces need at their peak, inputs and results included; None where it is not told."""
        return self.figures.peak

    @property
    def exchanges(self) -> int:
        """How many collectives the programs hold: instructions by which devices send something to others."""
        return self.figures.collectives

    @property
    def sent(self) -> int | None:
        """Bytes that a device sends by them; None where that is not known."""
        return self.figures.sent

    def collectives(self, on: str | Hardware | None = None) -> Ledger:
        """What the devices send one another, with the line, the reason and the bytes; see `Program.collectives`.

        Args:
          on: hardware, such as "h100": how long each would take there, and the computation beside them.
        """
        return self.program.collectives(on)

    def kernels(self) -> Kernels:
        """The kernels of Pallas, and what each step of their grids reads and writes; see `Program.kernels`."""
        return self.program.kernels()

    def shardings(self, progress: Callable[[str], None] = lambda _: None) -> Shardings:
        """How each value is spread over devices: as was asked for, as its type says, and as the compiler has it; with
        what is odd about that, and fixes that were tried. It shows itself as a table.

        Trying compiles variants of the cell, for ten seconds at most, and runs nothing.

        Args:
          progress: called with what is going on.

        Raises:
          JaxnbError: if nothing was compiled, or the run's names are not at hand any more.
        """
        if self.later.make_shardings is None:
            raise JaxnbError("of this run nothing is known.", why="nothing was compiled, or its names are gone.")
        return self.later.make_shardings(progress)

    def targets(self, *names: str, progress: Callable[[str], None] = lambda _: None) -> TargetPlans:
        """What the cell would be on machines that are not there, side by side, each by its own compiler.

        Args:
          *names: of targets, as `"v5e:4x4"`.
          progress: called with what is going on.

        Raises:
          JaxnbError: if nothing was compiled, or the run's names are not at hand any more.
        """
        if self.later.make_targets is None:
            raise JaxnbError("this run cannot be planned.", why="nothing was compiled, or its names are gone.")
        return self.later.make_targets(names, progress)

    def remat(
        self,
        *,
        time: bool = False,
        loss: str = "",
        wrt: tuple[str, ...] = (),
        progress: Callable[[str], None] = lambda _: None,
    ) -> RematPolicies:
        """What the gradient of the cell would take if its forward pass kept less, or more, for its backward pass.

        The cell is traced and compiled for each policy of `jax.checkpoint`, and for each function that it calls again
        and again; nothing is bound, and nothing runs unless times are asked for. It shows itself as a table, with what
        to write for the best.

        Args:
          time: whether each is run and measured, too, on what the names stand for now.
          loss: a name that the cell binds: its gradient counts, as under `%%grad loss wrt w`.
          wrt: the names by which that is taken.
          progress: called with what is going on.

        Raises:
          JaxnbError: if no gradient is taken, nothing was compiled, or the run's names are not at hand any more.
          Refused: if the cell cannot be traced as a whole, or there is no such gradient.
        """
        __tracebackhide__ = True
        if self.later.make_remat is None:
            raise JaxnbError("of this run no gradient is known.", why="nothing was compiled, or its names are gone.")
        return self.later.make_remat(progress, _asked(loss, wrt), time)

    def gradients(self, *, loss: str = "", wrt: tuple[str, ...] = ()) -> Gradients:
        """What the cell differentiates, equation by equation: which of them are known ahead, because they do not depend
        on what the gradient is taken by; what each is as a tangent, by JAX's rules or rules of their own; and
        transposed, as it runs backwards. It shows itself as a table.

        The cell is traced once more; nothing is compiled, run or bound. Partial evaluation and transposition are JAX's
        (`jax.linearize`, `jax.linear_transpose`).

        Args:
          loss: a name that the cell binds: its gradient counts, as under `%%grad loss wrt w`.
          wrt: the names by which that is taken.

        Raises:
          JaxnbError: if no gradient is taken, nothing was compiled, or the run's names are not at hand any more.
          Refused: if the cell cannot be traced as a whole, or there is no such gradient.
        """
        __tracebackhide__ = True
        if self.later.make_gradients is None:
            raise JaxnbError("of this run no gradient is known.", why="nothing was compiled, or its names are gone.")
        return self.later.make_gradients(_asked(loss, wrt))

    def tree(self, level: str = "jaxpr") -> Node:
        """The call tree: lines, the functions that they call, and what their ops cost; see `Program.tree`.

        Args:
          level: which one; it is made if it was not yet.
        """
        return self.program.tree(level)

    def costs(self, level: str | None = None, *, limit: int | None = 20, depth: int = 0) -> str:
        """The lines of the cell by what they cost, the hottest first, as text; see `Program.costs`.

        Args:
          level: whose ops are counted; by default the one below the source.
          limit: how many rows at most, or None for all.
          depth: how many calls deep the lines are opened into the functions that they call.
        """
        return self.program.costs(level, limit=limit, depth=depth)

    def graph(self, level: str = "jaxpr", *, limit: int | None = 300) -> Digraph:
        """What the cell became as a `graphviz.Digraph`, see `Program.graph`.

        Args:
          level: which one; it is made if it was not yet.
          limit: how many ops at most, or None for all.
        """
        return self.program.graph(level, limit=limit)

    def to_source(self, name: str = "cell") -> str:
        """The cell as the text of a Python file: imports, helpers, and a `@jax.jit` function of what the cell reads.

        Names of the notebook count as they are now.

        Args:
          name: of the function.

        Raises:
          Refused: if a pure function cannot do what the cell does, with the reason.
          JaxnbError: if nothing was staged, or the run's names are not at hand any more.
        """
        if self.later.make_source is None:
            raise JaxnbError("this run cannot be written as a file.", why="nothing was staged, or its names are gone.")
        return self.later.make_source(self.value, name)

    def export(self, path: str | PathLike[str]) -> None:
        """Writes the cell as a file that holds its program, for `jaxnb.load`; `--export` does as the cell runs.

        The names of the notebook must be as the cell would read them once more: of the same types and structures.

        Args:
          path: of the file; what is there is replaced when the new file is complete.

        Raises:
          Refused: if the cell was not staged whole, or a file cannot hold what it reads or binds, with the reason.
          JaxnbError: if nothing was compiled, or the run's names are not at hand any more.
        """
        if self.later.make_export is None:
            raise JaxnbError("this run cannot be exported.", why="nothing was compiled, or its names are gone.")
        if not path or not str(path).strip():
            raise JaxnbError(f"{path!r} is no path to write to.", fix='run.export("model.jaxexport")')
        self.later.make_export(str(path))

    @property
    def status(self) -> Status:
        """The line under the cell as data: what happened, what it cost, what needs the user."""
        return self.shown.status or read_status(self)

    @property
    def line(self) -> str:
        """The one quiet line under the cell, as text."""
        return str(self.status)

    def __repr__(self) -> str:
        names = ", ".join(self.outputs)
        return f"<jaxnb.Run {self.line}{': ' + names if names else ''}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The line and the program as text, and as HTML without scripts; the extension shows the inspector instead."""
        program, status = self.program, self.status
        text = f"{status}\n\n{views.render_program(program)}" if len(program.levels) > 1 else str(status)
        html = str(views.render_html(program, line=status, findings=self.findings))
        return {"text/plain": text, "text/html": html}

    def _display_(self) -> Any:
        """How marimo shows a run: as the inspector, in a frame, which is where it lets scripts run."""
        import marimo

        if not views.has_script():
            return marimo.Html(str(views.render_html(self.program, line=self.status, findings=self.findings)))
        return marimo.iframe(str(views.render_interactive(self.program, line=self.status, findings=self.findings)))

    def to_html(self, path: str) -> None:
        """Writes the line and the program as one HTML file that needs no kernel and no network.

        It holds the inspector where that was built, and otherwise the static view.
        """
        draw = views.render_interactive if views.has_script() else views.render_html
        with open(path, "w", encoding="utf-8") as file:
            file.write(draw(self.program, line=self.status, findings=self.findings))


def _asked(loss: str, wrt: str | tuple[str, ...]) -> dict[str, Any]:
    """The options that ask for the gradient of a name; those of the run where none is asked for.

    Raises:
      JaxnbError: if only one half is said.
    """
    names = (wrt,) if isinstance(wrt, str) else tuple(wrt)
    if bool(loss) != bool(names):
        raise JaxnbError("a gradient wants `loss` and `wrt`.", fix='run.gradients(loss="loss", wrt=("w",))')
    return {"loss": loss, "wrt": names} if loss else {}


class LastRun:
    """A run, without keeping alive what it bound: values that nothing else holds any more are not in it."""

    def __init__(self, run: Run, keeps_names: bool = False) -> None:
        self._whole = weakref.ref(run)
        later = run.later
        if keeps_names:
            rest = replace(later)  # which has read nothing yet
        else:
            make_program = later.make_nameless or later.make_program
            gone = ("make_source", "make_shardings", "make_remat", "make_gradients", "make_export", "make_targets")
            rest = replace(later, make_program=make_program, **dict.fromkeys(gone))
        self._rest = replace(run, value=None, outputs={}, later=rest)
        self._value = _weakly(run.value)
        self._outputs = {name: _weakly(value) for name, value in run.outputs.items()}

    def run(self) -> Run:
        """The run, with the values that are still there."""
        whole = self._whole()
        if whole is not None:
            return whole
        found = {name: value() for name, value in self._outputs.items()}
        outputs = {name: value for name, value in found.items() if value is not _GONE}
        value = self._value()
        later = replace(self._rest.later)  # what is read is kept by who asks
        return replace(self._rest, value=None if value is _GONE else value, outputs=outputs, later=later)


_GONE = object()
_DEEPEST = 100
_ATOMS = (type(None), bool, int, float, complex, str, bytes)


def _weakly(value: Any, inside: frozenset[int] = frozenset()) -> Callable[[], Any]:
    """What gives a value back as long as somebody else holds it; containers are made anew around what they held."""
    kind = type(value)
    if kind in _ATOMS:
        return lambda: value
    if kind in (list, tuple, dict):
        if id(value) in inside or len(inside) >= _DEEPEST:
            return lambda: _GONE
        items = value.values() if kind is dict else value
        parts = [_weakly(item, inside | {id(value)}) for item in items]
        keys = list(value) if kind is dict else None

        def make(items: list[Any]) -> Any:
            return kind(items) if keys is None else dict(zip(keys, items, strict=True))

        return lambda: _gathered(make, [part() for part in parts])
    try:
        held = weakref.ref(value)
    except TypeError:
        return lambda: _GONE

    def get() -> Any:
        found = held()
        return _GONE if found is None else found

    return get


def _gathered(make: Callable[[list[Any]], Any], items: list[Any]) -> Any:
    return _GONE if any(item is _GONE for item in items) else make(items)
