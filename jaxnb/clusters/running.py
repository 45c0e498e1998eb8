"""One cell on a cluster, from the notebook's side: what it reads is sent, it runs in all processes, and what it binds
there is bound here as handles."""

from __future__ import annotations

import builtins
import contextlib
import difflib
import os
import shutil
import sys
import time
import weakref
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType, ModuleType
from typing import Any

import jax
import numpy as np
from IPython.core.getipython import get_ipython
from IPython.display import publish_display_data

from jaxnb import errors
from jaxnb.clusters.cluster import Cluster, ProcessLost
from jaxnb.clusters.described import ATOMS
from jaxnb.clusters.drawn import drawn_states, set_drawn
from jaxnb.clusters.messages import CellRequest, Failure, Report
from jaxnb.clusters.receiving import put_together
from jaxnb.clusters.values import Parcel, needed_on, pack, packed_alone, parts_of
from jaxnb.errors import JaxnbError, Refused
from jaxnb.options import StageOptions
from jaxnb.program import Finding, Mesh, ProcessTime, Program, attach, decode
from jaxnb.staging import SHOWN, CellSource, Later, Progress, Run, Served, Session
from jaxnb.units import format_bytes, format_seconds

__all__ = ["CellFailed", "Differs", "OnCluster"]

_LARGE = 64 << 20
"""Bytes from which on it is said that something is sent."""
_LATE = 0.25
"""Seconds from which on it is said that a process was waited for."""
_CHECKPOINT = "cell-"
_UNSENDABLE = "unsendable"
_EMPTY = np.empty(0, np.uint8)
_GRACE = 5.0  # seconds that processes have to end a cell that is of no use any more


class CellFailed(JaxnbError):
    """A cell raised in the processes what the notebook does not know, or not in all of them the same."""


class Differs(Refused):
    """Processes were about to run different programs; none of them did, and nothing has changed."""


class OnCluster:
    """Runs the cells of a session on a cluster.

    Args:
      cluster: which one.

    Attributes:
      cluster: the same.
      kept_in: the folder in which checkpoints are written.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._serials: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._last_serial = 0
        self._parts: dict[str, frozenset[int]] = {}
        self._programs: dict[int, Program] = {}
        self._told: dict[str, str] = defaultdict(str)
        self._served: dict[Any, Served] = {}
        self.kept_in = ""
        self._every: float | None = None
        self._saved = 0.0

    @property
    def by_default(self) -> bool:
        """Whether cells run here that do not say otherwise."""
        return self.cluster.by_default

    def run_cell(
        self,
        session: Session,
        cell: CellSource,
        offset: int,
        namespace: dict[str, Any],
        options: StageOptions,
        cell_id: str | None,
        progress: Progress,
        before_host: Callable[[], None],
    ) -> Run:
        """Runs a cell in all processes; see `jaxnb.staging.Elsewhere`."""
        __tracebackhide__ = True
        cluster = self.cluster
        if not cluster.alive:
            raise Refused("the cluster was stopped.", fix="%jaxnb cluster start -n 2, or %%jit --here.")
        if cluster.dirty:
            cluster.heal(progress)
        self._refuse_lost(cell, namespace)
        tokens = self._needed(cell, namespace)
        for name in [name for name in tokens if name in cell.binds and tokens[name][0] == _UNSENDABLE]:
            del tokens[name]  # the cell binds it, most likely before it reads it
        unbind = tuple(name for name in cluster.names if name not in tokens and self._is_old(name, namespace))
        missing = [name for name in tokens if cluster.names.get(name, self) != tokens[name]]
        shared = self._shared(missing, namespace)
        tokens, missing = tokens | shared, [*missing, *shared]
        parcels = self._parcels({name: namespace[name] for name in missing}, namespace, progress)
        cluster.cell += 1
        drawn = drawn_states()
        request = CellRequest(
            cluster.cell,
            cell.text,
            cell.shown,
            cell.filename,
            offset,
            cell_id,
            options,
            cluster.take_dropped(),
            unbind,
            tuple(name for name in tokens if _may_change(namespace[name])),
            session.looks,
            session.shown,
            session.cache_size,
            session.file_label(cell.filename),
            _colors(),
            drawn if drawn != cluster.drawn else b"",
        )
        progress(f"running on {len(cluster.members)} processes")
        sent_now, entry = {name: tokens[name] for name in missing}, dict(namespace)
        try:
            run = self._run_and_bind(request, cell, namespace, parcels, sent_now, before_host)
        except KeyboardInterrupt:  # whatever was done by then, in whichever processes, does not count
            cluster.dirty = "a cell was interrupted"
            cluster.names.clear()
            for number in request.drop:  # which some processes may not have heard
                cluster.let_go(number)
            namespace.update(entry)
            for name in namespace.keys() - entry.keys():
                del namespace[name]
            raise
        self._keep_up(progress)
        return run

    def _run_and_bind(
        self,
        request: CellRequest,
        cell: CellSource,
        namespace: dict[str, Any],
        parcels: Mapping[int, Parcel | None],
        tokens: Mapping[str, Any],
        before_host: Callable[[], None],
    ) -> Run:
        """Runs a cell with what is sent with it, of which the tokens tell what it is, and binds what it binds."""
        __tracebackhide__ = True
        cluster = self.cluster
        reports = self._run(request, parcels, before_host)
        before_host()
        for name in request.unbind:
            cluster.names.pop(name, None)
        if all(report.received for report in reports.values()):
            cluster.names |= tokens
        else:
            for name in tokens:
                cluster.names.pop(name, None)
        cluster.drawn = reports[0].drawn or request.drawn or cluster.drawn
        if reports[0].drawn:
            set_drawn(reports[0].drawn)
        _say(reports, self._told)
        failures = {rank: report.failure for rank, report in reports.items() if report.failure is not None}
        if failures:
            if any(one.kind == "interrupted" for one in failures.values()):
                cluster.dirty = "a cell was interrupted"
            elif len(failures) < len(reports):
                cluster.dirty = "a cell ended in some processes only"
            raise self._error(failures, len(reports))
        return self._bound(reports, cell, namespace)

    def set_mesh(self, text: str, explicit: bool = False) -> Mesh | None:
        """Sets the mesh of all cells that run there, takes it away by "off", or tells which it is.

        Raises:
          JaxnbError: for axes that cannot be, or too few devices.
        """
        if self.cluster.dirty:
            self.cluster.heal()
        return self.cluster.ask("set_mesh", text, explicit)[0]

    def adopt(self, namespace: dict[str, Any]) -> list[str]:
        """Binds the names that the processes have and the notebook has not, after a kernel was started again.

        Returns:
          The names.
        """
        found = self.cluster.names_there()
        new = [name for name in found if name not in namespace]
        for name in new:
            namespace[name] = self.cluster.handle(found[name])
            self.cluster.names[name], _ = self._token(name, namespace[name], namespace)
        return new

    def lose(self, namespace: dict[str, Any]) -> list[str]:
        """Takes away the names of values that were lost with a process; gives them."""
        found = list[str]()
        for name, value in list(namespace.items()) if self.cluster.gone else ():
            if (named := self.cluster.number_of(value)) is not None and named[0] in self.cluster.gone:
                del namespace[name]
                found.append(name)
        return sorted(found)

    def _refuse_lost(self, cell: CellSource, namespace: dict[str, Any]) -> None:
        """Takes away the names of values that were lost, and refuses a cell that reads one of them."""
        lost = self.lose(namespace)
        if read := [name for name in lost if name in cell.needs]:
            more = [name for name in lost if name != read[0]]
            raise ProcessLost(
                f"`{read[0]}` was lost with a process of the cluster.",
                why="no other process has all of it." + (f" So were {', '.join(more[:8])}." if more else ""),
                fix="%jaxnb cluster restore takes all back to the last checkpoint; or run the cells again that made it."
                if self.kept_in
                else "run the cells again that made it.",
            )

    # --- checkpoints ---

    def checkpoint(
        self, folder: str, every: float | None = None, progress: Progress = lambda _: None
    ) -> tuple[str, list[str]]:
        """Writes all values of the processes into a folder that all of them see.

        Args:
          folder: in which each checkpoint gets one of its own; the last two are kept.
          every: seconds after which another is written behind a cell; None for none.
          progress: called with what is going on.

        Returns:
          The folder of this one, and the names of what cannot be written.

        Raises:
          JaxnbError: if orbax is missing, or something cannot be written.
        """
        cluster, folder = self.cluster, os.path.abspath(folder)
        if cluster.dirty:
            cluster.heal(progress)
        progress(f"writing a checkpoint to {folder}")
        path = os.path.join(folder, f"{_CHECKPOINT}{cluster.cell:08d}")
        left_out = cluster.ask("save", path, doing="writing a checkpoint")[0]
        self.kept_in, self._every, self._saved = folder, every, time.monotonic()
        for old in _checkpoints_in(folder)[:-2]:
            shutil.rmtree(os.path.join(folder, old), ignore_errors=True)
        return path, left_out

    def restore(
        self, folder: str, namespace: dict[str, Any], progress: Progress = lambda _: None
    ) -> tuple[str, list[str]]:
        """Takes all that cells have bound back to what it was at the last checkpoint.

        Args:
          folder: of the checkpoints; "" for the one in which they were written.
          namespace: of the notebook.
          progress: called with what is going on.

        Returns:
          The folder of the checkpoint, and the names.

        Raises:
          JaxnbError: if there is none, or it cannot be read.
        """
        cluster, folder = self.cluster, os.path.abspath(folder) if folder else self.kept_in
        if not folder:
            raise JaxnbError("restore wants the folder of the checkpoints.", fix="%jaxnb cluster restore DIR")
        there = _checkpoints_in(folder)
        if not there:
            what = f"there is no checkpoint in {folder}."
            raise JaxnbError(what, fix="%jaxnb cluster checkpoint DIR --every 10m writes them.")
        if cluster.dirty:
            cluster.heal(progress)
        progress("reading a checkpoint")
        path = os.path.join(folder, there[-1])
        told, numbers = cluster.ask("load", path, doing="reading a checkpoint")[0]
        cluster.gone -= set(numbers)
        names = list[str]()
        for name, shown in told.items():
            if name in cluster.bound or name not in namespace:
                namespace[name] = cluster.handle(shown)
                cluster.names[name], _ = self._token(name, namespace[name], namespace)
                names.append(name)
            else:
                cluster.names.pop(name, None)  # the notebook's own counts, and is sent anew
        return path, sorted(names)

    def _keep_up(self, progress: Progress) -> None:
        """Writes a checkpoint if it is time for one."""
        if self._every is not None and time.monotonic() - self._saved > self._every:
            try:
                self.checkpoint(self.kept_in, self._every, progress)
            except JaxnbError as error:  # the cell has run
                print(f"no checkpoint was written: {error}", file=sys.stderr)
                self._saved = time.monotonic()

    # --- what is sent ---

    def _is_old(self, name: str, namespace: dict[str, Any]) -> bool:
        """Whether the processes have a name for what it stands for in the notebook no longer."""
        if name not in namespace:
            return True
        token, named = self.cluster.names[name], self.cluster.number_of(namespace[name])
        return (token[0] == "value" or named is not None) and token != ("value", *(named or ()))

    def _needed(self, cell: CellSource, namespace: dict[str, Any]) -> dict[str, Any]:
        """What tells which value each name has that a cell reads, and each that their functions read."""
        waits, seen, tokens = sorted(cell.needs), set[str](), dict[str, Any]()
        while waits:
            name = waits.pop()
            if name in seen or (name not in namespace and hasattr(builtins, name)):
                continue
            seen.add(name)
            if name in namespace and not (name.startswith("__") and name.endswith("__")):
                tokens[name], reads = self._token(name, namespace[name], namespace)
                waits += sorted(reads - seen)
        return tokens

    def _shared(self, missing: Sequence[str], namespace: dict[str, Any]) -> dict[str, Any]:
        """What is sent once more, since it holds an object that something which is sent holds, too; with its tokens."""
        known, waits, found = self.cluster.names, list(missing), dict[str, Any]()
        self._parts = {name: parts for name, parts in self._parts.items() if name in known}
        while waits:
            name = waits.pop()
            self._parts[name] = parts = self._parts_of(namespace[name], namespace)
            for other, held in list(self._parts.items()):
                if other in missing or other in found or other == name or held.isdisjoint(parts):
                    continue
                if other in namespace and self.cluster.number_of(namespace[other]) is None:
                    found[other], _ = self._token(other, namespace[other], namespace)
                    waits.append(other)
        return {name: token for name, token in found.items() if token[0] != _UNSENDABLE}

    def _parts_of(self, value: Any, namespace: dict[str, Any]) -> frozenset[int]:
        if isinstance(value, (*ATOMS, ModuleType, jax.Array)) or self.cluster.number_of(value) is not None:
            return frozenset()
        try:
            return parts_of(value, namespace, self.cluster.number_of)
        except Exception:  # it is refused when it is sent, by name
            return frozenset()

    def _token(self, name: str, value: Any, namespace: dict[str, Any]) -> tuple[Any, set[str]]:
        if (named := self.cluster.number_of(value)) is not None:
            return ("value", *named), set()
        if type(value) in ATOMS:
            return (type(value), value if value == value else repr(value), str(value)), set()
        if isinstance(value, ModuleType):
            return ("module", value.__name__), set()
        if isinstance(value, jax.Array):
            return ("array", self._serial(value)), set()
        try:
            told, reads = packed_alone(value, namespace, self.cluster.number_of, self._serial)
        except KeyboardInterrupt:
            raise
        except BaseException:  # what cannot be sent is refused when it is sent, by name
            return (_UNSENDABLE, self._serial(value)), set()
        return told, reads

    def _serial(self, value: Any) -> int:
        """A number of an object, which no other has after it."""
        known = self._serials.get(id(value))
        if known is not None and known[0]() is value:
            return known[1]
        self._last_serial += 1
        with contextlib.suppress(TypeError):
            self._serials[id(value)] = weakref.ref(value), self._last_serial
        if len(self._serials) > 10_000:
            self._serials = {key: item for key, item in self._serials.items() if item[0]() is not None}
        return self._last_serial

    def _parcels(
        self, values: Mapping[str, Any], namespace: dict[str, Any], progress: Progress
    ) -> dict[int, Parcel | None]:
        cluster = self.cluster
        if not values:
            return dict.fromkeys(range(len(cluster.members)))
        found = {0: pack(values, namespace, cluster.number_of, needed_on(cluster.ranks, 0))}
        spread = found[0].spread
        for rank in range(1, len(cluster.members)) if spread else ():
            found[rank] = pack(values, namespace, cluster.number_of, needed_on(cluster.ranks, rank))
        large = sum(parcel.nbytes for parcel in found.values()) * (1 if spread else len(cluster.members))
        if large > _LARGE:
            named = ", ".join(list(values)[:3])
            progress(f"sending {named}: {format_bytes(large)}")
        return {rank: found.get(rank, found[0]) for rank in range(len(cluster.members))}

    # --- running ---

    def _run(
        self, request: CellRequest, parcels: Mapping[int, Parcel | None], before_host: Callable[[], None]
    ) -> dict[int, Report]:
        __tracebackhide__ = True
        cluster = self.cluster

        def given(rank: int) -> tuple[Any, ...]:
            parcel = parcels[rank]
            if parcel is None:
                return request, None, _EMPTY
            return request, replace(parcel, data=_EMPTY), parcel.data

        sent = cluster.send("run", each=given)
        self._told.clear()

        def live() -> None:
            """Writes what the first process has written since."""
            for stream in ("stdout", "stderr"):
                text = cluster.written(sent, stream)
                if new := text[len(self._told[stream]) :]:
                    before_host()
                    self._told[stream] = text
                    print(new, end="", flush=True, file=sys.stderr if stream == "stderr" else sys.stdout)

        try:
            answers = cluster.collect(sent, doing="running a cell", while_waiting=live)
        except JaxnbError:
            cluster.dirty = cluster.dirty or "a process failed beside the cell"
            cluster.names.clear()  # what was sent with the cell may have arrived or not
            self._end_others(sent)
            raise
        except KeyboardInterrupt:  # what that means for names and the cluster says `run_cell`
            self._end_others(sent)
            raise
        return {rank: report for rank, (_, report) in sorted(answers.items())}

    def _end_others(self, sent: Mapping[int, Any]) -> None:
        """Interrupts the processes that still run a cell which is of no use any more, and waits for them a little."""
        begun, interrupts = time.monotonic(), 0
        while time.monotonic() - begun < _GRACE:
            waits = [rank for rank, result in sent.items() if not result.ready()]
            waits = [rank for rank in waits if self.cluster.members[rank].engine in self.cluster.client_ids()]
            if not waits:
                return
            if time.monotonic() - begun > interrupts * 0.75:
                self.cluster.interrupt(waits)
                interrupts += 1
            time.sleep(0.05)

    # --- what came of it ---

    def _bound(self, reports: Mapping[int, Report], cell: CellSource, namespace: dict[str, Any]) -> Run:
        cluster = self.cluster
        first = reports[0]
        assert first.run is not None
        everywhere = set.intersection(*(set(report.bound) for report in reports.values()))
        outputs = dict[str, Any]()
        aliases = _aliases(first.changed, namespace)
        for name, shown in first.bound.items():
            if name in everywhere:
                for alias in aliases.get(name, ()):  # the same object under another name
                    namespace[alias] = cluster.handle(shown)
                    cluster.names.pop(alias, None)
                outputs[name] = namespace[name] = cluster.handle(shown)
                cluster.bound.add(name)
                cluster.names[name], _ = self._token(name, outputs[name], namespace)
        for name in first.unbound:
            namespace.pop(name, None)
            cluster.names.pop(name, None)
        value = cluster.handle(first.value) if first.value is not None else None
        findings = (*_merged(reports), *_different(reports), *self._late(reports))
        cluster.times = {rank: (report.seconds, report.waited) for rank, report in reports.items()}
        number, members = first.program, cluster.members
        times = tuple(
            ProcessTime(rank, members[rank].host, report.seconds, report.waited) for rank, report in reports.items()
        )
        later = (
            Later(lambda: replace(self._program(number), processes=times))
            if first.run.pieces
            else Later(lambda: Program(cell.shown))
        )
        served = self._served.setdefault((number, findings), Served((), findings)) if first.run.pieces else None
        if len(self._served) > 64:
            self._served.pop(next(iter(self._served)))
        return replace(first.run, value=value, outputs=outputs, findings=findings, later=later, served=served)

    def _late(self, reports: Mapping[int, Report]) -> list[Finding]:
        """The process for which all others have waited, if that was long."""
        if len(reports) < 2:
            return []
        waited = {rank: report.waited for rank, report in reports.items()}
        last = min(waited, key=lambda rank: waited[rank])
        lost = min(time for rank, time in waited.items() if rank != last) - waited[last]
        if lost < max(_LATE, 0.1 * reports[last].seconds):
            return []
        who = self.cluster.members[last]
        return [
            Finding(
                "straggler", f"{who} was waited for: {format_seconds(lost)} of {format_seconds(reports[last].seconds)}"
            )
        ]

    def _program(self, number: int) -> Program:
        found = self._programs.get(number)
        if found is None:
            found = decode(self.cluster.ask("program", number, ranks=[0])[0])
            self._programs[number] = found
            if len(self._programs) > 16:
                self._programs.pop(next(iter(self._programs)))
        return found

    def _error(self, failures: Mapping[int, Failure], count: int) -> BaseException:
        """What the notebook raises."""
        if (differ := {rank: one for rank, one in failures.items() if one.kind == "disagreed"}) and not any(
            one.kind in ("error", "interrupted") for one in failures.values()
        ):
            return _disagreement(differ)
        own = {rank: one for rank, one in failures.items() if one.kind == "error"}
        if not own:
            if any(one.kind == "interrupted" for one in failures.values()):
                return KeyboardInterrupt()
            rank = next(iter(failures))
            return CellFailed(f"the cell ended in {self.cluster.members[rank]} only.", fix="run it again.")
        rank, failure = next(iter(own.items()))
        error = _as_raised(failure)
        same = [other for other, one in own.items() if (one.error, one.message) == (failure.error, failure.message)]
        if len(own) < count:
            others = ", ".join(map(str, own))
            error.add_note(f"In process{'es' if len(own) > 1 else ''} {others} of {count} only.")
        elif len(same) < len(own):
            other = next(other for other in own if other not in same)
            error.add_note(f"In process {other}: {own[other].error.partition(':')[2]}: {own[other].message}")
        return error


def _aliases(changed: Sequence[str], namespace: Mapping[str, Any]) -> dict[str, list[str]]:
    """The other names of objects, by the names under which they were changed."""
    found = dict[str, list[str]]()
    for name in changed:
        held = namespace.get(name)
        if type(held) not in ATOMS:
            found[name] = [other for other, value in namespace.items() if value is held and other not in changed]
    return found


def _colors() -> str:
    """The colours of tracebacks here, by IPython's name."""
    shell = get_ipython()
    return shell.colors if shell is not None else "nocolor"


def _checkpoints_in(folder: str) -> list[str]:
    """The folders of the checkpoints in a folder, the oldest first."""
    with contextlib.suppress(OSError):
        return sorted(one for one in os.listdir(folder) if one.startswith(_CHECKPOINT) and not one.endswith(".part"))
    return []


def _may_change(value: Any) -> bool:
    """Whether somebody may change a value in place."""
    fixed = (*ATOMS, ModuleType, FunctionType, type, jax.Array)
    return not isinstance(value, fixed)


def _say(reports: Mapping[int, Report], told: Mapping[str, str]) -> None:
    """Writes what the first process wrote and was not written yet, and what others wrote otherwise."""
    first = reports[min(reports)]
    left = {
        name: _how_far("".join(text for stream, text in first.printed if stream == name), told[name]) for name in told
    }
    for stream, text in first.printed:
        known = min(left.get(stream, 0), len(text))
        left[stream] = left.get(stream, 0) - known
        print(text[known:], end="", file=sys.stderr if stream == "stderr" else sys.stdout)
    for rank, report in reports.items():
        if report.printed != first.printed:
            for stream, text in report.printed:
                lines = "".join(f"[process {rank}] {line}\n" for line in text.splitlines())
                print(lines, end="", file=sys.stderr if stream == "stderr" else sys.stdout)
    for data, metadata in first.displayed:
        publish_display_data(data, metadata)


def _how_far(printed: str, told: str) -> int:
    """How many characters of what Python printed were told, among lines that libraries wrote past it."""
    at = 0
    for line in told.splitlines(keepends=True):
        if printed.startswith(line, at):
            at += len(line)
    return at


def _merged(reports: Mapping[int, Report]) -> list[Finding]:
    """What was found in any process, each once; what not all have found says where."""
    found = dict[Any, tuple[Finding, list[int]]]()
    for rank, report in reports.items():
        counts = Counter[Any]()
        for finding in report.run.findings if report.run is not None else ():
            about = finding.kind, finding.line, finding.span, finding.holder
            counts[about] += 1  # the texts may differ, by what they say of times
            found.setdefault((about, counts[about]), (finding, []))[1].append(rank)
    told = list[Finding]()
    for finding, ranks in found.values():
        if len(ranks) < len(reports):
            where = f"process{'es' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
            finding = replace(finding, message=f"{finding.message} ({where})")
        told.append(finding)
    return told


def _different(reports: Mapping[int, Report]) -> list[Finding]:
    """Names that are not the same in all processes, or are not in all."""
    told = list[Finding]()
    for name in sorted({name for report in reports.values() for name in report.bound}):
        there = [rank for rank, report in reports.items() if name in report.bound]
        if len(there) < len(reports):
            told.append(Finding("differs", f"`{name}` is bound in processes {', '.join(map(str, there))} only"))
            continue
        states = dict[str, list[int]]()
        for rank, report in reports.items():
            states.setdefault(report.digests.get(name, ""), []).append(rank)
        if len(states) > 1:
            groups = " and ".join(", ".join(map(str, ranks)) for ranks in states.values())
            told.append(
                Finding("differs", f"`{name}` is not the same in all processes: it differs between {groups}; a seed?")
            )
    return told


def _disagreement(failures: Mapping[int, Failure]) -> Differs:
    """What is said where processes were about to run different programs."""
    one = next((rank for rank, failure in failures.items() if failure.program), next(iter(failures)))
    first = failures[one]
    other = next((rank for rank in first.others if rank in failures and failures[rank].program), None)
    names = list[str]()
    for name in sorted({name for failure in failures.values() for name in failure.states}):
        states = dict[str, list[int]]()
        for rank, failure in failures.items():
            states.setdefault(failure.states.get(name, "not there"), []).append(rank)
        if len(states) > 1:
            parts = "; ".join(f"{state} in {', '.join(map(str, ranks))}" for state, ranks in states.items())
            names.append(f"`{name}` is {parts}")
    why, line = "", None
    if other is not None:
        line, why = _first_difference(first.program, failures[other].program, one, other)
    elif first.others:
        why = f"processes {', '.join(map(str, first.others))} had come to the end of the cell."
    if names:
        why = f"{why} {'. '.join(names)}." if why else f"{'. '.join(names)}."
    return Differs(
        "the processes were about to run different programs; none of them was run.",
        why=why.strip(),
        fix="make what differs the same in all: one seed, one value, no branch on the process.",
        line=line or None,
    )


def _first_difference(
    ours: Sequence[tuple[int, str]], theirs: Sequence[tuple[int, str]], here: int, there: int
) -> tuple[int | None, str]:
    for (line, one), (_, two) in zip(ours, theirs, strict=False):
        if one != two:
            where = f"line {line}, " if line else ""
            return line, f"{where}process {here}: {_cut(one, two)}; process {there}: {_cut(two, one)}."
    if len(ours) != len(theirs):
        longer, rank = (ours, here) if len(ours) > len(theirs) else (theirs, there)
        line, text = longer[min(len(ours), len(theirs))]
        return line, f"line {line}, only process {rank} has: {text[:120]}."
    return None, "the same equations, of other constants or for other shardings."


def _cut(text: str, other: str) -> str:
    """A text around where it begins to differ from another."""
    match = difflib.SequenceMatcher(None, text, other, autojunk=False).find_longest_match(0, len(text), 0, len(other))
    start = max(0, (match.size if match.a == match.b == 0 else 0) - 40)
    return f"{'…' if start else ''}{text[start : start + 100]}"


def _made_again(parcel: Parcel) -> BaseException | None:
    """An error of its class, arguments and attributes; None where they are not known here."""
    try:
        kind, given, arguments, attributes = put_together([(parcel, parcel.data)])
        made = kind.__new__(kind, *given)
        made.args = arguments
        vars(made).update(attributes)
    except Exception:
        return None
    return made


def _as_raised(failure: Failure) -> BaseException:
    """The error of a process as one of the notebook: of its own class where that is known here."""
    module, _, name = failure.error.partition(":")
    made: BaseException | None = None
    if failure.parts is not None and (kind := getattr(errors, name, None)) is not None:
        what, why, fix = failure.parts
        try:
            made = kind(what, why=why, fix=fix, line=failure.line)
        except TypeError:
            made = JaxnbError(what, why=why, fix=fix, line=failure.line)
    elif failure.made is not None:
        made = _made_again(failure.made)
    if made is None and module == "builtins":
        kind = getattr(builtins, name)
        try:
            made = kind(failure.message)
        except TypeError:
            made = None
    if made is None:
        made = CellFailed(f"{name}: {failure.message}", line=failure.line)
    for note in failure.notes:
        made.add_note(note)
    if failure.found is not None:
        attach(made, *failure.found)
    if failure.frames and not isinstance(made, JaxnbError):
        setattr(made, SHOWN, failure.frames)
    return made
