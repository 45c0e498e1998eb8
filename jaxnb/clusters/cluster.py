"""A cluster as the notebook has it: started, attached, watched, healed and stopped.

ipyparallel starts the processes, here or by any of its launchers, and carries what the notebook asks of them. The
notebook itself is no member of the job: no process that ends takes it along.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import time
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ipyparallel as ipp
import numpy as np

from jaxnb.clusters import engine
from jaxnb.clusters.arrays import Block
from jaxnb.clusters.described import Shown
from jaxnb.clusters.found import NAME, running_clusters
from jaxnb.clusters.handles import Handle, Holder
from jaxnb.clusters.launching import has_hosts, hosts_for, one_order, quiet
from jaxnb.clusters.receiving import put_together
from jaxnb.errors import JaxnbError

__all__ = ["Cluster", "Member", "ProcessLost", "check_versions"]

HEARTBEAT = 10
"""Seconds after which the service of a job takes a silent process for dead."""
_STEP = 0.25  # seconds between two looks at who is there
_GRACE = 5.0  # seconds that processes have to end what they do, when it is of no use any more
_NONE = -1  # the number of a process that ipyparallel has not
_GLOO = "[Gloo]"  # what writes to the standard output of a process how many others it has found
_STARTS = 120  # seconds that processes may take to start

_Progress = Callable[[str], None]


class ProcessLost(JaxnbError):
    """A process of the cluster ended, or does not answer any more. Names and objects of the notebook are as before.

    Attributes:
      ranks: of the processes.
    """

    def __init__(self, what: str, *, ranks: Sequence[int] = (), **more: Any) -> None:
        super().__init__(what, **more)
        self.ranks = tuple(ranks)


@dataclass
class Member:
    """One process: where it is, and by which number ipyparallel knows it."""

    rank: int
    engine: int
    host: str
    pid: int

    def __str__(self) -> str:
        return f"process {self.rank} ({self.host}, pid {self.pid})"


class Cluster(Holder):
    """Processes that are one machine for the cells that run there.

    It is made by `start` or `attach`.

    Attributes:
      members: its processes, by rank.
      ranks: of each device the process that has it.
      platform, kind: what the devices are.
      by_default: whether staged cells run here that do not say otherwise.
      job: of which the processes are members now; "" while there is none.
      cell: the number of the last cell.
      names: what tells which value a name has in the processes.
      bound: names that cells have bound there.
      times: of the last cell by rank: seconds that it took, and that the process waited for others in it.
      drawn: the random states of Python and NumPy in them; b"" where nobody knows.
      dirty: why the processes must be brought together again before the next cell; "" if they need not.
      gone: the numbers of values that were lost when that was done.
    """

    def __init__(self, started: ipp.Cluster, client: ipp.Client, devices: int | None, host: str) -> None:
        self._cluster, self._client = started, client
        self._devices, self._host = devices, host
        self._views: dict[int, Any] = {}
        self.members: list[Member] = []
        self.ranks: list[int] = []
        self.platform, self.kind, self.job = "", "", ""
        self.by_default = False
        self.cell = 0
        self.names: dict[str, Any] = {}
        self.bound: set[str] = set()
        self.times: dict[int, tuple[float, float]] = {}
        self.drawn = b""
        self.dirty = ""
        self.gone: set[int] = set()
        self._handles: weakref.WeakValueDictionary[int, Handle] = weakref.WeakValueDictionary()
        self._dropped: list[int] = []

    # --- starting and ending ---

    @classmethod
    def start(
        cls,
        count: int,
        devices: int | None = None,
        *,
        profile: str = "",
        host: str = "127.0.0.1",
        progress: _Progress = lambda _: None,
    ) -> Cluster:
        """Starts processes, and joins them to one job.

        Args:
          count: how many.
          devices: how many virtual CPU devices each has; None for the accelerators that are there, or one CPU device.
          profile: of ipyparallel, which says how they are started: by SSH, Slurm, MPI; by default they are here.
          host: the address at which the notebook is reached by the processes.
          progress: called with what is going on.

        Raises:
          JaxnbError: if they do not start, or their versions differ.
        """
        if count < 1 or (devices is not None and devices < 1):
            what = f"{count} processes with {devices} devices are no cluster."
            raise JaxnbError(what, fix="%jaxnb cluster start -n 2 --devices 4")
        progress(f"starting {count} processes")
        own: dict[str, Any] = {"profile": profile} if profile else {}
        started = ipp.Cluster(
            n=count,
            cluster_id=f"{NAME}{uuid.uuid4().hex[:6]}",
            controller_ip=host,
            delay=0,
            log_level=40,
            shutdown_atexit=False,  # a kernel that is started again finds them as they were
            engine_timeout=_STARTS,
            controller_args=["--HeartMonitor.period=500", "--HeartMonitor.max_heartmonitor_misses=10"],
            **own,
        )
        client = None
        try:
            one_order(started)
            with quiet():
                client = started.start_and_connect_sync()
            made = cls(started, client, devices, host)
            made._gather(sorted(client.ids), progress)
        except BaseException as error:
            with contextlib.suppress(Exception), quiet():
                if client is not None:
                    client.close()
                started.stop_cluster_sync()
            if isinstance(error, (JaxnbError, KeyboardInterrupt)):
                raise
            raise JaxnbError(
                "the cluster did not start.",
                why=f"{type(error).__name__}: {error}".partition("\n")[0],
                fix="ipyparallel's own `ipcluster start --debug` says more"
                + (f"; the profile {profile!r} says how processes are started." if profile else "."),
            ) from error
        return made

    @classmethod
    def attach(cls, name: str = "", profile: str = "", progress: _Progress = lambda _: None) -> Cluster:
        """Takes a cluster that runs: one that was started by a kernel that is gone, or by others.

        Args:
          name: of the cluster; "" for the only one that runs.
          profile: of ipyparallel, where that is not the default one.
          progress: called with what is going on.

        Raises:
          JaxnbError: if there is none, or several.
        """
        own: dict[str, Any] = {"profile": profile} if profile else {}
        if not name:
            there = running_clusters()
            if len(there) != 1:
                listed = ", ".join(there) or "none"
                what = "no cluster runs." if not there else f"{len(there)} clusters run: {listed}."
                fix = (
                    "%jaxnb cluster start -n 2"
                    if not there
                    else f"say which: %jaxnb cluster attach {next(iter(there))}"
                )
                raise JaxnbError(what, fix=fix)
            name = next(iter(there))
            own = {"profile_dir": there[name]} if not profile else own
        elif not profile and name in (there := running_clusters()):
            own = {"profile_dir": there[name]}
        progress(f"attaching {name}")
        try:
            with quiet():
                found = ipp.Cluster.from_file(cluster_id=name, **own)
                client = found.connect_client_sync()
                client.wait_for_engines(1, timeout=10, block=True, interactive=False)
        except (FileNotFoundError, TimeoutError, OSError, ipp.TimeoutError) as error:
            fix = f"there are {', '.join(running_clusters()) or 'none that run'}."
            raise JaxnbError(f"there is no cluster {name!r} that answers.", why=str(error)[:200], fix=fix) from error
        found.shutdown_atexit = False
        one_order(found)
        made = cls(found, client, None, "127.0.0.1")
        made._take_up(progress)
        return made

    def _gather(self, engines: Sequence[int], progress: _Progress) -> None:
        """Makes processes the members, and joins them to a job."""
        self.members = [Member(rank, number, "", 0) for rank, number in enumerate(engines)]
        self._prepare(progress)
        self._join(progress)

    def _prepare(self, progress: _Progress) -> list[int]:
        """Prepares the members that are new; gives their ranks.

        Raises:
          JaxnbError: if their versions are not those of the notebook.
        """
        new = [member.rank for member in self.members if not member.pid]
        progress(f"preparing {len(new)} processes")
        for rank in new:
            number = self.members[rank].engine
            self._views[number] = self._client[number]
        told = self.ask("prepare", os.getcwd(), [path for path in sys.path if path], self._devices, ranks=new)
        for rank, who in told.items():
            self.members[rank].host, self.members[rank].pid = who["host"], who["pid"]
        check_versions({rank: who["versions"] for rank, who in told.items()})
        return new

    def _join(self, progress: _Progress) -> None:
        progress(f"joining {len(self.members)} processes")
        count, self.job = len(self.members), uuid.uuid4().hex[:8]
        address = self.ask("coordinate", self._service_host(), count, HEARTBEAT, ranks=[0])[0]
        told = self.ask(
            "join", each=lambda rank: (address, count, rank, self.job, HEARTBEAT), within=90, doing="joining the others"
        )[0]
        self.ranks, self.platform, self.kind = told["ranks"], told["platform"], told["kind"]

    def _service_host(self) -> str:
        hosts = {member.host for member in self.members}
        if len(hosts) == 1 and self._host in ("127.0.0.1", "localhost"):
            return "127.0.0.1"
        return self.members[0].host

    def _take_up(self, progress: _Progress) -> None:
        """Takes up what another kernel has left."""
        for number in sorted(self._client.ids):
            self._views[number] = self._client[number]
            self.members.append(Member(len(self.members), number, "", 0))
        told = self.ask("who")
        if all(who["rank"] < 0 for who in told.values()):  # nobody has joined them so far
            self.members, numbers = [], [member.engine for member in self.members]
            self._gather(numbers, progress)
            return
        check_versions({rank: who["versions"] for rank, who in told.items()})
        joined = sorted((who["rank"], rank) for rank, who in told.items() if who["rank"] >= 0)
        count = max(who["count"] for who in told.values())
        there = {rank: Member(rank, self.members[at].engine, told[at]["host"], told[at]["pid"]) for rank, at in joined}
        self.members = [there.get(rank, Member(rank, _NONE, "", 0)) for rank in range(count)]
        self._devices = told[joined[0][1]]["wanted"]
        self.job = told[joined[0][1]]["job"]
        self.cell = max(who["cell"] for who in told.values())
        if len(there) < count or len({who["job"] for who in told.values()}) > 1:
            self.dirty = "a process is gone"
            return
        devices = self.ask("devices", ranks=[0])[0]
        self.ranks, self.platform, self.kind = devices["ranks"], devices["platform"], devices["kind"]

    def names_there(self) -> dict[str, Shown]:
        """The names that the processes have."""
        self._check()
        return self.ask("show_names")[0]

    def stop(self) -> None:
        """Ends the processes."""
        with contextlib.suppress(Exception):
            self.ask("end_coordinator", within=3)
        with contextlib.suppress(Exception):
            self._client.shutdown(block=False)  # asked to end the hub as well, it waits for processes that never answer
        for member in self.members:
            _end_local(member)
        if has_hosts(self._cluster) and self._left():  # by SSH each would be looked for, for seconds, and missed
            self._cluster.engines.clear()
        with contextlib.suppress(Exception), quiet():
            self._cluster.stop_cluster_sync()
        with contextlib.suppress(Exception):
            self._client.close()
        with contextlib.suppress(Exception):
            self._cluster.remove_cluster_file()
        self.job, self.members = "", []

    def _left(self) -> bool:
        """Whether all processes have said goodbye, for which they get a little time."""
        deadline = time.monotonic() + _GRACE
        while self._client.ids:
            if time.monotonic() > deadline:
                return False
            time.sleep(_STEP)
        return True

    @property
    def name(self) -> str:
        """By which it is attached."""
        return self._cluster.cluster_id

    @property
    def alive(self) -> bool:
        """Whether it was not stopped."""
        return bool(self.members)

    # --- asking ---

    def ask(
        self,
        what: str,
        *given: Any,
        ranks: Sequence[int] | None = None,
        each: Callable[[int], tuple[Any, ...]] | None = None,
        within: float | None = None,
        doing: str = "",
    ) -> dict[int, Any]:
        """Asks processes something, all at once; see the methods of `Engine`.

        Args:
          what: the name of the method.
          *given: its arguments.
          ranks: of the processes; by default all.
          each: gives the arguments of one, by its rank, where they are not the same.
          within: seconds that they may take; None for any number.
          doing: what they do, for messages.

        Returns:
          What they answered, by rank.

        Raises:
          JaxnbError: what one of them refuses.
          ProcessLost: if one ended, or does not answer in time.
          KeyboardInterrupt: which they do not see.
        """
        sent = self.send(what, *given, ranks=ranks, each=each)
        answers = self.collect(sent, within=within, doing=doing or what.replace("_", " "))
        refused = [answer for kind, answer in answers.values() if kind == "refused"]
        if refused:
            what, why, fix = refused[0]
            raise JaxnbError(what, why=why, fix=fix)
        return {rank: answer for rank, (_, answer) in answers.items()}

    def send(
        self,
        what: str,
        *given: Any,
        ranks: Sequence[int] | None = None,
        each: Callable[[int], tuple[Any, ...]] | None = None,
    ) -> dict[int, Any]:
        """Asks, and does not wait: what is waited for, by rank."""
        asked = [member.rank for member in self.members] if ranks is None else ranks
        if gone := [rank for rank in asked if self.members[rank].engine not in self._client.ids]:
            self.dirty = self.dirty or "a process is gone"
            raise self._gone(gone)
        try:
            return {
                rank: self._views[self.members[rank].engine].apply_async(
                    engine.ask, what, *(given if each is None else each(rank))
                )
                for rank in asked
            }
        except BaseException:
            self.dirty = f"only some processes were asked to {what.replace('_', ' ')}"
            raise

    def collect(
        self,
        sent: Mapping[int, Any],
        *,
        within: float | None = None,
        doing: str = "",
        while_waiting: Callable[[], None] = lambda: None,
    ) -> dict[int, tuple[str, Any]]:
        """Waits for answers.

        Raises:
          ProcessLost: if a process ended meanwhile, or does not answer in time.
          Exception: what went wrong in a process, and is not the user's.
        """
        waits, answers, ended, begun = dict(sent), dict[int, Any](), set[int](), time.monotonic()
        while waits:
            for rank, result in list(waits.items()):
                result.wait(_STEP)
                if result.ready():
                    del waits[rank]
                    try:
                        answers[rank] = result.get()
                    except ipp.EngineError:
                        ended.add(rank)
                    except ipp.RemoteError as error:
                        if error.ename == "EngineError":
                            ended.add(rank)
                            continue
                        raise self._failed(rank, error) from None
            while_waiting()
            there = set(self._client.ids)
            ended |= {
                rank for rank, result in waits.items() if self.members[rank].engine not in there and not result.ready()
            }
            if ended:
                self.dirty = "a process is gone"
                raise self._gone(sorted(ended))
            if within is not None and waits and time.monotonic() - begun > within:
                silent = ", ".join(str(self.members[rank]) for rank in waits)
                raise ProcessLost(
                    f"{silent} did not answer for {within:.0f} s.",
                    why=f"{doing}." if doing else "",
                    fix="%jaxnb cluster restart brings the cluster back.",
                    ranks=tuple(waits),
                )
        return answers

    def view(self) -> ipp.DirectView:
        """What ipyparallel has of the processes, in the order of their ranks, for `%%px` and the like."""
        return self._client[[member.engine for member in self.members]]

    def client_ids(self) -> set[int]:
        """The numbers of the processes that ipyparallel has."""
        return set(self._client.ids)

    def interrupt(self, ranks: Sequence[int] | None = None) -> None:
        """Interrupts processes."""
        self._signal(signal.SIGINT, ranks)

    def _signal(self, number: int, ranks: Sequence[int] | None = None) -> None:
        for member in self.members:
            if (ranks is None or member.rank in ranks) and member.engine in self._client.ids:
                with contextlib.suppress(Exception):
                    self._client.send_signal(number, member.engine, block=False)

    def _gone(self, ranks: Sequence[int]) -> ProcessLost:
        named = ", ".join(str(self.members[rank]) for rank in ranks)
        return ProcessLost(
            f"{named} {'is' if len(ranks) == 1 else 'are'} gone, or not answering any more.",
            why="it was ended, its host is gone, or its memory ran out; nothing of the cell counts.",
            fix="run the cell again: the process is started anew, with what the others still have.",
            ranks=ranks,
        )

    def _failed(self, rank: int, error: ipp.RemoteError) -> JaxnbError:
        return JaxnbError(
            f"{self.members[rank]} could not do what it was asked.",
            why=f"{error.ename}: {error.evalue}".partition("\n")[0][:300],
            fix="%jaxnb cluster restart",
        )

    def written(self, sent: Mapping[int, Any], stream: str) -> str:
        """What the first process has written so far, as it was asked something."""
        told: Any = self._client.metadata.get(sent[0].msg_ids[0], {})
        text: str = told.get(stream) or ""
        return "".join(line for line in text.splitlines(True) if not line.startswith(_GLOO))

    # --- values ---

    def handle(self, shown: Shown) -> Any:
        """What the notebook has of a value that was told: itself, or a handle, one for each value."""
        if shown.number < 0:
            return shown.plain
        known = self._handles.get(shown.number)
        if known is None:
            known = self._handles[shown.number] = Handle(self, shown)
        return known

    def number_of(self, value: Any) -> tuple[int, Any] | None:
        """The number and the path of what a handle of this cluster stands for; None for anything else.

        Raises:
          JaxnbError: if it is a handle of another cluster.
        """
        if type(value) is not Handle:
            return None
        holder, number, path = value.stands_for
        if holder is not self:
            raise JaxnbError("a value is on another cluster.", fix="bring it here by jaxnb.fetch before.")
        return number, path

    def show(self, number: int, path: Sequence[tuple[str, Any]]) -> Shown:
        """What a value is."""
        self._check()
        return self.ask("show", number, tuple(path), ranks=[0])[0]

    def fetch_value(self, number: int, path: Sequence[tuple[str, Any]]) -> Any:
        """The value itself, with its arrays as NumPy arrays, put together from the blocks that processes have."""
        self._check()
        sent = self.ask("send", each=lambda rank: (number, tuple(path), rank == 0), doing="sending a value")
        return put_together([sent[rank] for rank in sorted(sent)])

    def let_go(self, number: int) -> None:
        """Nobody asks about a value any more."""
        self._dropped.append(number)

    def take_dropped(self) -> tuple[int, ...]:
        """The numbers of the values that nobody holds any more, told once."""
        dropped, self._dropped = self._dropped, []
        return tuple(number for number in dropped if number not in self._handles)

    def _check(self) -> None:
        if not self.alive:
            raise JaxnbError("the cluster was stopped, and what it held is gone.")
        if self.dirty:
            self.heal()

    # --- healing ---

    def heal(self, progress: _Progress = lambda _: None) -> None:
        """Brings the processes together again: those that are gone are started anew, and all join another job, with
        what is left. Nothing is lost that some process still has; what is stands in `gone`.

        Raises:
          JaxnbError: if processes cannot be started.
        """
        self.dirty = self.dirty or "restart"  # until it is done, whatever comes between
        progress(f"bringing the cluster together again: {self.dirty}")
        left = self._answering()
        gone = [member for member in self.members if member not in left]
        for member in gone:
            self._end(member)
        packed = self._ask_left(left, "pack_all", gone)
        left = [member for member in left if member.rank in packed]
        self._ask_left(left, "leave", gone)
        fresh = self._start_more([one for one in self.members if one not in left], progress)
        numbers, there = iter(fresh), {member.rank: member for member in left}
        self.members = [
            there[one.rank] if one.rank in there else Member(one.rank, next(numbers), "", 0) for one in self.members
        ]
        self.drawn = b""
        new = self._prepare(progress)
        self._join(progress)
        survivors = sorted(member.rank for member in left)
        if survivors:
            self._hand_out(survivors, new, packed, progress)
        else:
            self.gone |= set(self._handles)
            self.names.clear()
        self.dirty = ""

    def _hand_out(
        self, survivors: Sequence[int], new: Sequence[int], packed: Mapping[int, Any], progress: _Progress
    ) -> None:
        """Gives all processes what some still have."""
        progress("handing out what is left")
        if new:
            parcel, data = self.ask("packed", ranks=survivors[:1])[survivors[0]]
            self.ask("take_packed", parcel, data, ranks=new)
            for key in {key for rank in survivors for key in packed[rank][1]}:  # which those that are new will not have
                if isinstance(key, int):
                    self.gone.add(key)
                else:
                    self.names.pop(key, None)
        there = {rank: packed[rank][0] for rank in survivors}
        more = {rank: self._blocks_for(lacks, there) for rank, lacks in self.ask("lacking").items()}
        for names, numbers in self.ask("restore", each=lambda rank: (more[rank],)).values():
            self.gone |= set(numbers)
            for name in names:
                self.names.pop(name, None)

    def _blocks_for(
        self, lacks: Mapping[int, list[Block]], there: Mapping[int, list[tuple[Block, ...]]]
    ) -> dict[int, dict[Block, np.ndarray]]:
        """Blocks that a process lacks, from others that have them."""
        wanted = dict[int, dict[int, list[Block]]]()
        for number, blocks in lacks.items():
            for block in blocks:
                owner = next((r for r, every in there.items() if number < len(every) and block in every[number]), None)
                if owner is not None:
                    wanted.setdefault(owner, {}).setdefault(number, []).append(block)
        found = dict[int, dict[Block, np.ndarray]]()
        for owner, blocks in wanted.items():
            for number, parts in self.ask("packed_blocks", blocks, ranks=[owner])[owner].items():
                found.setdefault(number, {}).update(parts)
        return found

    def _answering(self) -> list[Member]:
        """The members that answer; who does not is interrupted first."""
        there = [member for member in self.members if member.engine in self._client.ids]
        sent = {member.rank: self._views[member.engine].apply_async(engine.ask, "who") for member in there}
        begun, interrupts = time.monotonic(), 0
        while time.monotonic() - begun < _GRACE and not all(result.ready() for result in sent.values()):
            if time.monotonic() - begun > 0.5 + interrupts:
                silent = [rank for rank, result in sent.items() if not result.ready()]
                self.interrupt(silent)
                interrupts += 1
            time.sleep(0.05)
        left = list[Member]()
        for member in there:
            result = sent[member.rank]
            if result.ready():
                with contextlib.suppress(Exception):
                    if result.get()[0] == "given":
                        left.append(member)
        return left

    def _ask_left(self, left: list[Member], what: str, gone: list[Member]) -> dict[int, Any]:
        """Asks those that are left; who does not answer is gone, too."""
        found = dict[int, Any]()
        sent = {member.rank: self._views[member.engine].apply_async(engine.ask, what) for member in left}
        for member in list(left):
            try:
                kind, answer = sent[member.rank].get(timeout=30)
            except Exception:
                kind, answer = "", None
            if kind == "given":
                found[member.rank] = answer
            else:
                left.remove(member)
                gone.append(member)
                self._end(member)
        return found

    def _end(self, member: Member) -> None:
        """Ends a process that is of no use any more."""
        if member.engine in self._client.ids:
            with contextlib.suppress(Exception):
                self._client.send_signal(signal.SIGKILL, member.engine, block=False)
        _end_local(member)

    def _start_more(self, instead: Sequence[Member], progress: _Progress) -> list[int]:
        """Starts as many processes, on the hosts of those which they replace where that can be chosen."""
        if not (count := len(instead)):
            return []
        progress(f"starting {count} more")
        before, own = set(self._client.ids), hosts_for(self._cluster, [member.host for member in instead])
        try:
            with quiet():
                self._cluster.start_engines_sync(n=count, **own)
        except Exception as error:  # launchers raise what they like
            raise JaxnbError(
                f"{', '.join(map(str, instead))} could not be started again.",
                why=f"{type(error).__name__}: {error}".partition("\n")[0],
                fix="run the cell again when the host is back, or start another cluster without it.",
            ) from error
        deadline = time.monotonic() + _STARTS
        while len(found := sorted(set(self._client.ids) - before)) < count:
            if time.monotonic() > deadline:
                raise JaxnbError(
                    f"{count - len(found)} of {count} processes did not start again.",
                    fix="%jaxnb cluster stop, and start it anew.",
                )
            time.sleep(0.05)
        return found[:count]


def check_versions(told: Mapping[int, Mapping[str, str]]) -> None:
    """Refuses processes whose versions differ from those of the notebook.

    Raises:
      JaxnbError: naming what differs, and where.
    """
    own = engine.versions()
    for rank, versions in told.items():
        for name in sorted({*own, *versions}):
            here, there = own.get(name, "none"), versions.get(name, "none")
            if here != there:
                raise JaxnbError(
                    f"process {rank} has {name} {there}, and the notebook {here}.",
                    why="programs and values of one would not be those of the other.",
                    fix=f"install {name} {here} there, or run the notebook where {there} is.",
                )


def _end_local(member: Member) -> None:
    """Ends a process of this host, also one that was stopped."""
    if member.pid and member.host == socket.gethostname():
        with contextlib.suppress(OSError):
            os.kill(member.pid, signal.SIGKILL)
