"""Runs a cell of the corpus plainly and staged, each on a side of its own, and says what differs.

The order is: run, run again, run a third time; then each change and a run; at last once more, plainly on both sides,
because what a staged run left in caches of JAX and of libraries is only seen by who calls them plainly.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import importlib
import re
import shutil
import tempfile
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
from cells import Case
from differential import Outcome, Pairing, changes_since, execute, name_of, same_text, snapshot
from tracers import tracers_alive

import jaxnb
from jaxnb.runtime import memory_maps
from jaxnb.staging import current_session

from .cell import PersonCell
from .files_left import compare_files
from .looks import look_on, shared_by_modules
from .side import Side
from .watching import watching

__all__ = ["Ran", "Report", "check_person"]


@dataclass(frozen=True)
class Ran:
    """How the staged side went about one run."""

    when: str
    reused: bool
    pieces: int
    host_lines: tuple[int, ...]
    line: str
    not_reusable: tuple[str, ...]


@dataclass
class Report:
    """What became of a cell: what differs, one line each, and how it was run."""

    cell: PersonCell
    problems: list[str] = field(default_factory=list)
    runs: list[Ran] = field(default_factory=list)

    @property
    def traced_third(self) -> bool:
        return any(ran.when == "run 3" and not ran.reused for ran in self.runs)

    @property
    def not_reusable(self) -> bool:
        return any(ran.not_reusable for ran in self.runs)


class _Sides(Pairing):
    """A pairing that knows what modules share, and where each side lives."""

    def __init__(self, case: Case, plain: Side, staged: Side, shared: dict[int, Any]) -> None:
        super().__init__(case, plain.namespace, staged.namespace)
        looks = {id(side.namespace): look_on(side) for side in (plain, staged)}
        self.seen_as = lambda obj, namespace: looks[id(namespace)](obj, namespace)
        self.shared = shared
        self.both_plain = False

    def holds(self, a: Any, b: Any) -> bool:
        if self.both_plain and a is b:
            return True  # it comes out of a cache of the process; what a staged run had put there was forgotten
        if (id(a) in self.shared or id(b) in self.shared) and a is not b:
            return False
        return super().holds(a, b)


def check_person(cell: PersonCell, both_plain: bool = False) -> Report:
    """Run a cell both ways.

    Args:
      cell: what to run.
      both_plain: whether the other side is plain, too: whatever differs then is the corpus's own fault.
    """
    report = Report(cell)
    with tempfile.TemporaryDirectory(prefix="people-", ignore_cleanup_errors=True) as place:
        plain, staged = (Side(_folder(place, name), cell.x64) for name in ("plain", "other"))
        course = _Course(report, plain, staged, both_plain, Path(place))
        try:
            course.run()
        finally:
            gc.unfreeze()
            for side in (course.plain, course.staged):  # the plain one may be another by now
                side.close()
            _let_go_of_programs()
    return report


def _let_go_of_programs() -> None:
    """Lets go of what a cell was compiled to: what the session keeps for its user, and of JAX what grows too much.

    A compiled program takes up to hundreds of memory maps, and those of a whole theme more than a process may have.
    """
    if (session := current_session()) is not None:
        session.clear()
    gc.collect()
    if memory_maps() > _MOST_MAPS:
        jax.clear_caches()
        gc.collect()


_MOST_MAPS = 20_000
"""Memory maps from which on JAX forgets what it has compiled; Linux allows 65,530, and a cell has come to 6,000."""


def _folder(place: str, name: str) -> Path:
    folder = Path(place).resolve() / name / "work"
    folder.mkdir(parents=True)
    return folder


class _Course:
    def __init__(self, report: Report, plain: Side, staged: Side, both_plain: bool, place: Path) -> None:
        self.report, self.cell, self.both_plain = report, report.cell, both_plain
        self.plain, self.staged = plain, staged
        self.case = Case(self.cell.name, self.cell.cell, tolerance=self.cell.tolerance)
        self.place = place
        self.done: list[str] = []  # what ran well on the plain side, in order
        self.left: set[str] = set()  # functions of whose traces a plain run has left tracers

    def run(self) -> None:
        _import_all(self.cell)
        self.shared = shared_by_modules()
        gc.collect()
        gc.freeze()  # so that looking for tracers costs little
        for side in (self.plain, self.staged):
            self._plainly(side, self.cell.setup)
        self._pair()
        self._expect("setup", self.pairing.compare_namespaces())
        steps = [("run 1", ""), ("run 2", ""), ("run 3", "")]
        steps += [(f"change {i}", change) for i, change in enumerate(self.cell.changes, start=1)]
        for when, change in [*steps, ("plainly again", "")]:
            if change:
                self._change(when, change)
            self.pairing.both_plain = when == "plainly again"
            self._step(when, staged=not self.both_plain and when != "plainly again")
            if self.report.problems:
                return

    def _pair(self) -> None:
        self.pairing = _Sides(self.case, self.plain, self.staged, self.shared)

    def _change(self, when: str, change: str) -> None:
        outcomes = [self._plainly(side, change) for side in (self.plain, self.staged)]
        self.done.append(change)
        self._expect(f"{when}, itself", _compare_errors(outcomes, (self.plain, self.staged)))
        self.pairing.compare_namespaces()  # what it made is paired as well

    def _plainly(self, side: Side, text: str) -> Outcome:
        with side.entered():
            try:
                value, error = execute(text, side.namespace, f"<cell {len(text)}>"), None
            except BaseException as raised:
                value, error = None, self._of_cell(raised)
        if text is self.cell.setup and error is not None:
            raise error
        return Outcome(value, side.out.taken(), error)

    def _of_cell(self, error: BaseException) -> BaseException:
        """An error that is to be compared: any, but an interrupt of whoever runs the corpus, which ends it.

        Raises:
          KeyboardInterrupt: where the cell speaks of none.
        """
        texts = (self.cell.setup, self.cell.cell, *self.cell.changes)
        if isinstance(error, KeyboardInterrupt) and not any("KeyboardInterrupt" in text for text in texts):
            raise error
        return error

    def _staged(self, side: Side, text: str) -> Outcome:
        run, error, seen = None, None, list[str]()
        with side.entered():
            try:
                if self.cell.watched:
                    with watching(side.namespace, seen):
                        run = jaxnb.stage(text, side.namespace)
                else:
                    run = jaxnb.stage(text, side.namespace)
            except BaseException as raised:
                error = self._of_cell(raised)
        self.seen = seen
        return Outcome(run.value if run is not None else None, side.out.taken(), error, run)

    def _step(self, when: str, staged: bool) -> None:
        text = self.cell.cell
        known = {id(each) for each in tracers_alive()}
        plain = self._plainly(self.plain, text)
        left = [] if plain.error else tracers_alive(known)
        self.left.update(map(_traced_function, left))
        known = {id(each) for each in tracers_alive()}
        before = snapshot(self.staged.namespace, self.pairing.seen_as) if plain.error and staged else None
        other = self._staged(self.staged, text) if staged else self._plainly(self.staged, text)
        problems = self._compare_texts(plain, other)
        if plain.error is not None or other.error is not None:
            problems += _compare_errors((plain, other), (self.plain, self.staged))
            if not problems and before is not None:
                changed = changes_since(before, self.staged.namespace, self.pairing.seen_as)
                problems += [f"after the error: {each}" for each in changed]
                self._restore_plain()
        else:
            self.done.append(text)
            problems += self.pairing.compare_namespaces()
            problems += self.pairing.compare([("value", plain.value, other.value)])
            shown = [side.neutral(repr(o.value)) for side, o in ((self.plain, plain), (self.staged, other))]
            if not same_text(*shown):
                problems.append(f"the display: {shown[0]} plain, {shown[1]} staged")
            problems += self._compare_worlds()
            problems += compare_files(self.plain.place, self.staged.place)
            alive = [each for each in tracers_alive(known) if _traced_function(each) not in self.left]
            if alive:
                problems.append(f"{len(alive)} tracers stay, {len(left)} in a plain run: {_held_by(alive[0])}")
        if staged and other.run is not None:
            self._record(when, other.run)
            problems += list(dict.fromkeys(self.seen))
        self._expect(when, problems)

    def _compare_texts(self, plain: Outcome, other: Outcome) -> list[str]:
        """Printed text, log records, and warnings that the cell itself gives."""
        texts = [side.neutral(outcome.text) for side, outcome in ((self.plain, plain), (self.staged, other))]
        problems = [] if same_text(*texts) else [f"printed {texts[0]!r} plain, {texts[1]!r} staged"]
        logs = [["|".join(map(side.neutral, record)) for record in side.records] for side in (self.plain, self.staged)]
        if len(logs[0]) != len(logs[1]) or not all(map(same_text, *logs)):
            problems.append(f"logged {logs[0]} plain, {logs[1]} staged")
        if "warnings.warn" in self.cell.setup + self.cell.cell:
            warned = [[side.neutral(each) for each in side.warned] for side in (self.plain, self.staged)]
            if len(warned[0]) != len(warned[1]) or not all(map(same_text, *warned)):
                problems.append(f"warned {warned[0]} plain, {warned[1]} staged")
        for side in (self.plain, self.staged):
            side.records.clear()
            side.err.taken()
        return problems

    def _compare_worlds(self) -> list[str]:
        problems: list[str] = []
        one, other = self.plain.world(), self.staged.world()
        for key in one:
            if isinstance(one[key], dict) and repr(one[key]) != repr(other[key]):
                names = [n for n in {*one[key], *other[key]} if repr(one[key].get(n)) != repr(other[key].get(n))]
                told = [f"{n}={one[key].get(n)!r} plain, {other[key].get(n)!r} staged" for n in sorted(names)]
                problems += [f"{key} of the process: {each}" for each in told]
            elif repr(one[key]) != repr(other[key]):
                problems.append(f"{key} of the process: {_short(one[key])} plain, {_short(other[key])} staged")
        return problems

    def _restore_plain(self) -> None:
        """A failing staged cell leaves everything as before; the plain side gets there by doing again what went well.

        Files are not undone on either side.
        """
        folder = _folder(str(self.place), f"again{len(list(self.place.iterdir()))}")
        fresh = Side(folder, self.cell.x64)
        for text in (self.cell.setup, *self.done):
            self._plainly(fresh, text)
        for held in (fresh.records,):
            held.clear()
        for path in folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(self.plain.place, folder, dirs_exist_ok=True)
        self.plain.close()
        self.plain = fresh
        self._pair()
        self.pairing.compare_namespaces()

    def _record(self, when: str, run: Any) -> None:
        reasons = tuple(each.message for each in run.findings if each.kind == "not-reusable")
        self.report.runs.append(Ran(when, run.reused, run.pieces, tuple(run.host_lines), run.line, reasons))

    def _expect(self, when: str, problems: list[str]) -> None:
        self.report.problems += [f"{when}: {problem}" for problem in problems]


def _import_all(cell: PersonCell) -> None:
    """Imports the libraries that a cell uses: the first import may draw random numbers, and only one side has it."""
    names = list(cell.needs)
    for node in ast.walk(ast.parse(cell.setup + cell.cell)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    for name in names:
        with contextlib.suppress(ImportError):  # a module that the setup writes
            importlib.import_module(name)


def _compare_errors(outcomes: Any, sides: tuple[Side, Side]) -> list[str]:
    plain, staged = (outcome.error for outcome in outcomes)
    if plain is None and staged is None:
        return []
    if plain is None or staged is None or name_of(type(plain)) != name_of(type(staged)):
        return [f"raised {_short(plain)} plain, {_short(staged)} staged"]
    texts = [side.neutral(str(error)) for side, error in zip(sides, (plain, staged), strict=True)]
    return [] if same_text(*texts) else [f"the error says {texts[0]!r} plain, {texts[1]!r} staged"]


def _short(what: Any) -> str:
    text = " ".join(repr(what).split())
    return text if len(text) < 300 else f"{text[:300]}..."


def _traced_function(tracer: Any) -> str:
    """Which function a tracer is of the trace of, and where it is defined; cells have names of their own."""
    frame = getattr(tracer._trace, "frame", None)
    return re.sub("<.*>", "<cell>", str(frame.debug_info.func_src_info)) if frame is not None else ""


def _held_by(obj: Any) -> str:
    """Who holds an object: the shortest chain up to something that has a name."""
    todo, known = [(obj, type(obj).__name__)], {id(obj)}
    for _ in range(400):
        if not todo:
            break
        held, path = todo.pop(0)
        for holder in gc.get_referrers(held):
            if id(holder) in known or holder is todo or isinstance(holder, types.FrameType):
                continue
            known.add(id(holder))
            name = getattr(holder, "__qualname__", type(holder).__qualname__)
            if isinstance(holder, types.FunctionType | types.ModuleType | type) or name.endswith("Cache"):
                return f"{path} < {getattr(holder, '__module__', '')} {name}"
            if not (isinstance(holder, list) and any(each[0] is held for each in holder if type(each) is tuple)):
                todo.append((holder, f"{path} < {type(holder).__qualname__}"))
    return path
