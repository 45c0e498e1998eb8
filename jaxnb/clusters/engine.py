"""One process of a cluster: what it is asked to do, one request after the other, by whoever holds the notebook.

A cell runs in a session of this process, as it would in the notebook, but for how its programs are run: each is agreed
upon with all other processes before it starts, and nothing that the cell binds counts before all have come to its end.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import hashlib
import os
import platform
import socket
import subprocess
import sys
import weakref
from collections import OrderedDict
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from types import ModuleType
from typing import Any

import jax
import numpy as np
from IPython.core.getipython import get_ipython

from jaxnb import _jax, planning
from jaxnb.clusters.agreement import Agreement, Disagreed, Elsewhere
from jaxnb.clusters.arrays import Block, Described, Lost, blocks_on, describe, make_array
from jaxnb.clusters.calling import Caller
from jaxnb.clusters.checkpoints import load_values, save_values
from jaxnb.clusters.described import ATOMS, Shown, follow, is_plain, show_value
from jaxnb.clusters.drawn import drawn_states, set_drawn
from jaxnb.clusters.messages import CellRequest, Failure, Report
from jaxnb.clusters.said import Said
from jaxnb.clusters.values import Parcel, pack, packed_alone, parcel_blocks, unpack
from jaxnb.errors import JaxnbError
from jaxnb.findings import Findings
from jaxnb.program import Mesh, encode, finding_of
from jaxnb.reading import make_mesh, read_mesh, use_mesh
from jaxnb.staging import (
    HERE,
    Later,
    Piece,
    Run,
    Session,
    Strategy,
    backend_started,
    forget_virtual_devices,
    label_of,
    render,
    root_name,
    tidy,
    want_devices,
)

__all__ = ["Engine", "ask", "local_digest", "versions"]

_KEPT_RUNS = 32
"""Runs of which the program can be asked for."""
_MESH = "\0mesh"
"""Under which the mesh of all cells is packed."""
_COMPARED = 1 << 20
"""Bytes of a value up to which it is compared with what others have."""
_EMPTY = np.empty(0, np.uint8)


class _OnAll(Strategy):
    """Runs each program when all processes are about to, and waits for its results."""

    def __init__(self, agreement: Agreement, fingerprints: weakref.WeakKeyDictionary[Piece, str]) -> None:
        self._agreement, self._fingerprints = agreement, fingerprints
        self.caller = Caller()
        self.at: Piece | None = None

    def next_cell(self, agreement: Agreement) -> None:
        """Another cell begins."""
        self._agreement, self.at = agreement, None
        if self.caller.busy:  # a program of before never ended
            self.caller = Caller()

    def dispatch(self, piece: Piece, reached: Any, arguments: Sequence[Any], donated_by: Any) -> list[Any]:
        """Starts a program when all are about to start it, and waits for its results."""
        if piece.compiled is None:
            return []
        self.at = piece
        self._agreement.on(self._fingerprint(piece))
        wait = self.caller.start(lambda: jax.block_until_ready(HERE.dispatch(piece, reached, arguments, donated_by)))
        if self._agreement.interrupted:
            self._agreement.interrupted = False
            raise KeyboardInterrupt
        return wait()

    def end(self) -> None:
        """Waits until all processes have come to the end of the cell."""
        self._agreement.at_end()

    def _fingerprint(self, piece: Piece) -> str:
        known = self._fingerprints.get(piece)
        if known is None:
            text = piece.lower().as_text()
            known = self._fingerprints[piece] = hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
        return known


class Engine:
    """What a process of a cluster has.

    Args:
      namespace: the names of its cells.

    Attributes:
      rank: which one it is; -1 before it has joined.
      count: how many there are.
    """

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = namespace
        self.rank, self.count = -1, 0
        self._kept: dict[int, Any] = {}
        self._next = 0
        self._packed: Parcel | None = None
        self._runs: OrderedDict[int, Run] = OrderedDict()
        self._coordinator: subprocess.Popen[str] | None = None
        self._job, self._cell = "", 0
        self._wanted: int | None = None
        self._session = self._new_session()
        self._strategy: _OnAll | None = None

    def _new_session(self) -> Session:
        session, shell = Session(observer=Findings(), planner=planning), get_ipython()
        session.file_label = (lambda filename: label_of(filename, shell)) if shell is not None else str
        session.home = self.namespace
        return session

    # --- the job ---

    def prepare(self, folder: str, paths: Sequence[str], devices: int | None) -> dict[str, Any]:
        """Sets what must be set before JAX starts, and says who this is.

        Args:
          folder: in which the notebook runs, if that is here, too.
          paths: where the notebook imports from.
          devices: how many virtual CPU devices this process has; None for those that are there.
        """
        if os.path.isdir(folder):
            os.chdir(folder)
        sys.path[:] = [*sys.path, *(path for path in paths if path not in sys.path and os.path.isdir(path))]
        _jax.prepare_for_job()
        forget_virtual_devices()  # of the notebook, which stood for those of a cluster
        self._wanted = devices
        if devices is not None:
            want_devices(devices)
        self.namespace.setdefault("__name__", "__main__")
        return self.who()

    def who(self) -> dict[str, Any]:
        """Who this is."""
        return {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "versions": versions(),
            "rank": self.rank,
            "count": self.count,
            "job": self._job,
            "cell": self._cell,
            "wanted": self._wanted,
        }

    def coordinate(self, host: str, count: int, heartbeat: int) -> str:
        """Starts the service of a new job in a process of its own, and ends that of the job before.

        Returns:
          Its address.
        """
        old, self._coordinator = self._coordinator, None
        if old is not None:
            old.kill()
            old.wait()
        command = [sys.executable, "-m", "jaxnb.clusters.coordinator", host, str(count), "--heartbeat", str(heartbeat)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            raise JaxnbError(
                f"the service of the job does not start at {host}.",
                why=f"its process ended with status {process.wait()}.",
                fix="give an address of this machine: %jaxnb cluster start --host 127.0.0.1",
            )
        self._coordinator = process
        return address

    def end_coordinator(self) -> None:
        """Ends the service of the job, if this process has started it."""
        if self._coordinator is not None:
            self._coordinator.kill()
            self._coordinator.wait()
            self._coordinator = None

    def join(self, address: str, count: int, rank: int, job: str, heartbeat: int) -> dict[str, Any]:
        """Joins a job, and starts the backend; gives `devices`."""
        self.rank, self.count, self._job = rank, count, job
        _jax.join_job(address, count, rank, heartbeat)
        return self.devices()

    def devices(self) -> dict[str, Any]:
        """The ranks of the processes of all devices, and what the devices are."""
        devices = jax.devices()
        return {
            "ranks": [device.process_index for device in devices],
            "platform": devices[0].platform,
            "kind": devices[0].device_kind,
        }

    def leave(self) -> None:
        """Leaves the job; what was not packed is lost with its devices."""
        self._runs.clear()
        self._session = self._new_session()
        self._strategy = None
        if backend_started():
            _jax.leave_job()
        gc.collect()

    # --- cells ---

    def run(self, request: CellRequest, parcel: Parcel | None, data: np.ndarray) -> Report:
        """Runs a cell, with a parcel of what it reads and this process has not."""
        begun, self._cell = perf_counter(), request.number
        parcel = replace(parcel, data=data) if parcel is not None else None
        for number in request.drop:
            self._kept.pop(number, None)
        keys = _jax.job_keys()
        assert keys is not None
        agreement = Agreement(keys, self.count, self.rank, f"{self._job}/{request.number}")
        if self.rank == 0:
            keys.drop(f"jaxnb/{self._job}/{request.number - 2}")
        if self._strategy is None:
            self._strategy = _OnAll(agreement, weakref.WeakKeyDictionary())
        self._strategy.next_cell(agreement)
        session = self._session
        session.strategy, session.looks, session.shown = self._strategy, request.looks, request.kinds
        session.cache_size = request.cache_size
        self._label(request)
        said, run, received, drawn = Said(self.rank == 0), None, False, b""
        try:
            with said:
                self._receive(request, parcel)
                received, drawn = True, drawn_states()
                before = self._states(request.owned)
                entry = dict(self.namespace)
                run = session.stage(
                    request.text,
                    self.namespace,
                    replace(request.options, cluster=False, here=True),
                    filename=request.filename,
                    shown=request.shown,
                    offset=request.offset,
                    cell_id=request.cell_id,
                )
                jax.effects_barrier()
        except BaseException as error:
            agreement.failed()
            return Report(
                self._failure(error, request),
                printed=said.printed,
                displayed=said.displayed,
                seconds=perf_counter() - begun,
                received=received,
                drawn=_drawn_since(drawn),
            )
        self._next = request.number * 10_000
        self._runs[request.number] = run
        while len(self._runs) > _KEPT_RUNS:
            self._runs.popitem(last=False)
        changed = {name for name, state in self._states(request.owned).items() if state != before[name]}
        bound = {name: self.namespace[name] for name in sorted({*run.outputs, *changed}) if name in self.namespace}
        shown = {name: self._keep(value) for name, value in bound.items()}
        return Report(
            None,
            self._told_run(run),
            shown,
            tuple(sorted(entry.keys() - self.namespace.keys())),
            self._keep(run.value) if run.value is not None else None,
            self._program_number(run, request.number),
            said.printed,
            said.displayed,
            {name: digest for name, value in bound.items() if (digest := local_digest(value))},
            perf_counter() - begun,
            changed=tuple(sorted(name for name in changed if self.namespace.get(name) is entry.get(name))),
            drawn=_drawn_since(drawn),
            waited=agreement.waited,
        )

    def _label(self, request: CellRequest) -> None:
        """Has IPython show the cell here as it shows it there."""
        shell = get_ipython()
        if shell is None:
            return
        shell.colors = request.colors
        if (number := request.label.removeprefix("Cell In[").removesuffix("]")).isdigit():
            vars(shell.compile).setdefault("_filename_map", {})[request.filename] = int(number)

    def _told_run(self, run: Run) -> Run:
        """A run without its values."""
        times = replace(run.timings, run=run.dispatch_seconds) if run.pieces else run.timings  # it was waited for
        outputs = dict.fromkeys(run.outputs)
        return replace(
            run,
            value=None,
            outputs=outputs,
            timings=times,
            processes=self.count,
            later=Later(),
            served=None,
            plan=None,
            search=None,
        )

    def _receive(self, request: CellRequest, parcel: Parcel | None) -> None:
        for name in request.unbind:
            self.namespace.pop(name, None)
        if parcel is not None:
            self.namespace |= unpack(parcel, self.namespace, self.value)
        if request.drawn:
            set_drawn(request.drawn)

    def _states(self, names: Sequence[str]) -> dict[str, Any]:
        """What tells whether a value has changed, by name; None where it cannot be told."""
        return {name: self._state(self.namespace.get(name)) for name in names}

    def _state(self, value: Any) -> Any:
        try:
            return packed_alone(value, self.namespace, lambda _: None, id)[0]
        except Exception:
            return id(value)

    def _keep(self, value: Any) -> Shown:
        """What the notebook is told of a value; it is kept for as long as somebody there holds it."""
        if is_plain(value):
            return Shown.of_plain(value)
        for number, known in self._kept.items():
            if known is value:
                return show_value(value, number)
        number, self._next = self._next, self._next + 1
        self._kept[number] = value
        return show_value(value, number)

    def _program_number(self, run: Run, number: int) -> int:
        """The number of the first run that had the same program as this one, as long as that is kept."""
        if run.served is None:
            return number
        return next((kept for kept, other in self._runs.items() if other.served is run.served), number)

    def _failure(self, error: BaseException, request: CellRequest) -> Failure:
        if isinstance(error, Elsewhere):
            return Failure("elsewhere", rank=error.rank)
        if isinstance(error, Disagreed):
            at = self._strategy.at if self._strategy is not None else None
            told = () if at is None or self.rank in error.ended else tuple(_equations(at))
            names = [*request.owned, *map(root_name, at.paths)] if at is not None else request.owned
            states = {name: self._told(self.namespace.get(name)) for name in dict.fromkeys(names) if name}
            return Failure("disagreed", others=tuple(error.ranks), program=told, states=states)
        if isinstance(error, KeyboardInterrupt):
            return Failure("interrupted")
        tidy(error)
        notes = [note for note in getattr(error, "__notes__", ()) if "JAX_TRACEBACK_FILTERING" not in note]
        if notes or hasattr(error, "__notes__"):
            error.__notes__ = notes
        kind = f"{type(error).__module__}:{type(error).__qualname__}"
        parts = (error.what, error.why, error.fix) if isinstance(error, JaxnbError) else None
        shell, found = get_ipython(), finding_of(error)
        frames = tuple(render(error, shell, error.__traceback__)) if shell is not None else ()
        made = None if parts is not None else self._packed_error(error)
        line = getattr(error, "line", None)
        return Failure("error", kind, str(error), parts, line, frames, tuple(notes), found, made=made)

    def _packed_error(self, error: BaseException) -> Parcel | None:
        own = {name: value for name, value in vars(error).items() if not name.startswith("_")}
        try:
            value = {"value": (type(error), error.__reduce__()[1], error.args, own)}
            made = pack(value, self.namespace, needs=_first_copies_here, spread=False)
        except Exception:
            return None
        return made if made.nbytes <= _COMPARED else None

    def _told(self, value: Any) -> str:
        if isinstance(value, ATOMS):
            return repr(value)[:80]
        return local_digest(value) or type(value).__name__

    def set_mesh(self, text: str, explicit: bool) -> Mesh | None:
        """Sets the mesh of all cells to axes, or takes it away by "off"; "" tells which it is."""
        if text == "off":
            use_mesh(None)
        elif text:
            use_mesh(make_mesh(text, explicit=explicit))
        mesh = jax.sharding.get_mesh()
        return None if mesh.empty else read_mesh(mesh)

    # --- values ---

    def value(self, number: int, path: Sequence[tuple[str, Any]] = ()) -> Any:
        """What a handle stands for.

        Raises:
          JaxnbError: if it was lost.
        """
        if number not in self._kept:
            raise JaxnbError(
                "a value of the cluster is gone.",
                why="the processes that held it ended before it was sent to others.",
                fix="run the cell again that made it.",
            )
        return follow(self._kept[number], path)

    def show(self, number: int, path: Sequence[tuple[str, Any]]) -> Shown:
        """What the notebook is told of a value, or of a part of it."""
        return show_value(self.value(number, path), number, whole=True)

    def send(self, number: int, path: Sequence[tuple[str, Any]], body: bool) -> tuple[Parcel, np.ndarray]:
        """A value, with those blocks of its arrays of which this process has the first copy.

        Args:
          number: of the value.
          path: to the part of it that is asked for.
          body: whether the value itself is sent, with the arrays that each process has; otherwise only blocks.
        """
        value = {"value": self.value(number, path)}
        found = pack(value, self.namespace, needs=partial(_first_copies, body), spread=False)
        return replace(found, body=found.body if body else b"", data=_EMPTY), found.data

    def program(self, number: int) -> dict[str, Any]:
        """What the cell of a number became, encoded, with all of its levels."""
        run = self._runs.get(number)
        if run is None:
            raise JaxnbError("of this run nothing is known any more.", why=f"the last {_KEPT_RUNS} are kept.")
        program = run.program
        for name in program.level_names:
            with contextlib.suppress(JaxnbError, NotImplementedError):
                program.level(name)
        with contextlib.suppress(JaxnbError, KeyError):
            program.layout()  # which tells of meshes, and they of processes
        return encode(program)

    def show_names(self) -> dict[str, Shown]:
        """What the notebook is told of all names, where it was started again."""
        self._next = max(self._next, self._cell * 10_000 + 5_000)
        return {name: self._keep(self.namespace[name]) for name in self.names()}

    def names(self) -> list[str]:
        """The names that are bound."""
        return sorted(name for name in self.namespace if not (name.startswith("__") and name.endswith("__")))

    # --- what survives ---

    def pack_all(self) -> tuple[list[tuple[Block, ...]], list[str | int]]:
        """Packs all names and values that this process has, before it leaves its job.

        Returns:
          Of each array among them the blocks that are here; and the names and numbers of what cannot be packed, which
          stays as it is, and another process will not have.
        """
        values, left_out = self._all_values()
        self._packed = pack(values, self.namespace)
        return [tuple(block for block, _ in places) for places in self._packed.blocks], left_out

    def _all_values(self) -> tuple[dict[Any, Any], list[str | int]]:
        """All names and values of this process that can be packed, and the mesh; and which cannot be."""
        values: dict[Any, Any] = {name: self.namespace[name] for name in self.names()}
        values |= {**self._kept, _MESH: jax.sharding.get_mesh()}
        found = dict[Any, Any]()
        for key, value in values.items():
            with contextlib.suppress(Exception):
                packed_alone(value, self.namespace, lambda _: None, id)
                found[key] = value
        return found, [key for key in values if key not in found]

    def packed(self) -> tuple[Parcel, np.ndarray]:
        """All of that, for a process that has nothing."""
        assert self._packed is not None
        return replace(self._packed, data=_EMPTY), self._packed.data

    def take_packed(self, parcel: Parcel, data: np.ndarray) -> None:
        """Takes what another process has packed, in place of something of its own."""
        self._packed = replace(parcel, data=data)

    def lacking(self) -> dict[int, list[Block]]:
        """The blocks that the devices of this process are to have, and that are not among those packed here."""
        assert self._packed is not None
        found = dict[int, list[Block]]()
        for number, (described, there) in enumerate(parcel_blocks(self._packed, self.namespace)):
            if described.sharding is None:
                continue
            own = blocks_on(described.sharding, described.shape, described.sharding.addressable_devices)
            if missing := [block for block in own if block not in there]:
                found[number] = missing
        return found

    def packed_blocks(self, wanted: dict[int, list[Block]]) -> dict[int, dict[Block, np.ndarray]]:
        """Blocks of arrays that were packed here, by the numbers of the arrays."""
        assert self._packed is not None
        there = parcel_blocks(self._packed, self.namespace)
        return {number: {block: there[number][1][block] for block in blocks} for number, blocks in wanted.items()}

    def restore(self, more: dict[int, dict[Block, np.ndarray]]) -> tuple[list[str], list[int]]:
        """Binds what was packed, on the devices of the job that was joined since.

        Args:
          more: blocks of other processes, by the numbers of the arrays.

        Returns:
          The names and the numbers of values that were lost, since nobody has some block of them.
        """
        assert self._packed is not None
        lost = set[int]()

        def make(described: Described, blocks: Any) -> Any:
            made = make_array(described, blocks)
            if isinstance(made, Lost):
                lost.add(len(arrays))
            arrays.append(made)
            return made

        arrays = list[Any]()
        parcel, self._packed = self._packed, None
        found = unpack(parcel, self.namespace, self.value, more, make)
        gone = {key for key, used in parcel.uses if used & lost}
        self._bind_all({key: value for key, value in found.items() if key not in gone})
        for key in gone:
            own: Any = self.namespace if isinstance(key, str) else self._kept
            own.pop(key, None)
        return [key for key in gone if isinstance(key, str)], [key for key in gone if isinstance(key, int)]

    def _bind_all(self, found: dict[Any, Any]) -> None:
        """Binds what `_all_values` has found, here or elsewhere."""
        if (mesh := found.pop(_MESH, None)) is not None and not mesh.empty:
            jax.set_mesh(mesh)
        self.namespace |= {key: value for key, value in found.items() if isinstance(key, str)}
        self._kept |= {key: value for key, value in found.items() if isinstance(key, int)}

    # --- checkpoints ---

    def save(self, folder: str) -> list[str]:
        """Writes all names and values into a folder that all processes see, which is there when it is complete.

        Arrays on several devices are written by orbax, each process its own blocks; the rest by the first process.

        Returns:
          The names of what cannot be written.

        Raises:
          JaxnbError: if orbax is missing, or something cannot be written.
        """
        values, left_out = self._all_values()
        save_values(folder, values, self.namespace, self.rank)
        return [key for key in left_out if isinstance(key, str)]

    def load(self, folder: str) -> tuple[dict[str, Shown], list[int]]:
        """Binds what was written into a folder.

        Returns:
          What the notebook is told of the names, and the numbers of the values.

        Raises:
          JaxnbError: if orbax is missing, or the folder is no checkpoint.
        """
        found = load_values(folder, self.namespace, self.value)
        self._bind_all(found)
        numbers = [key for key in found if isinstance(key, int)]
        self._next = max([self._next, self._cell * 10_000 + 5_000, *(number + 1 for number in numbers)])
        return {name: self._keep(found[name]) for name in found if isinstance(name, str)}, numbers


def _drawn_since(before: bytes) -> bytes:
    return now if before and (now := drawn_states()) != before else b""


def versions() -> dict[str, str]:
    """The versions that must be the same in all processes."""
    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in ("jax", "jaxlib", "jaxnb", "numpy", "cloudpickle"):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def local_digest(value: Any) -> str:
    """What tells whether two processes have the same of a value that each has for itself; "" where that is not known,
    or takes long."""
    array = value if isinstance(value, (jax.Array, np.ndarray)) else None
    if isinstance(value, ATOMS):
        return repr(value)[:200]
    if array is None or array.nbytes > _COMPARED or array.dtype == object:
        return ""
    if isinstance(array, jax.Array) and (len(array.sharding.device_set) != 1 or array.is_deleted()):
        return ""
    _, data = describe(array) if isinstance(array, jax.Array) else (None, array)
    return hashlib.blake2b(np.asarray(data).tobytes(), digest_size=12).hexdigest()


def _equations(piece: Piece) -> Generator[tuple[int, str]]:
    """The equations of a program with the lines of the cell that they come from."""
    jaxpr, file = _jax.open_jaxpr(piece.jaxpr), piece.cell.filename if piece.cell is not None else ""
    yield 0, f"inputs {', '.join(path and str(root_name(path)) for path in piece.paths)}: {_avals(jaxpr.invars)}"
    for eqn in jaxpr.eqns:
        line = next((place.line for place in _jax.eqn_places(eqn) if place.file == file), 0)
        params = ", ".join(f"{name}={value}" for name, value in eqn.params.items())
        constants = [str(atom) for atom in eqn.invars if hasattr(atom, "val")]
        yield line, f"{eqn.primitive}[{params}] {_avals(eqn.invars)} {constants or ''} -> {_avals(eqn.outvars)}"
    for value in getattr(piece.jaxpr, "consts", ()):
        yield 0, f"a constant, {getattr(value, 'shape', '')}: {local_digest(value)}"


def _avals(variables: Sequence[Any]) -> str:
    return " ".join(variable.aval.str_short() for variable in variables)


def _first_copies_here(described: Described, data: Any) -> list[Block]:
    return _first_copies(True, described, data)


def _first_copies(body: bool, described: Described, data: Any) -> list[Block]:
    """The blocks of an array of which this process has the first copy."""
    if described.sharding is None:
        return [described.whole] if body else []
    first = [shard for shard in data.addressable_shards if shard.replica_id == 0]
    return blocks_on(described.sharding, described.shape, [shard.device for shard in first])


def _main() -> dict[str, Any]:
    """The names of a new module `__main__`: those of IPython's lead to all that runs this process."""
    module = ModuleType("__main__")
    vars(module)["__builtins__"] = builtins
    sys.modules["__main__"] = module
    return vars(module)


_ENGINE: list[Engine] = []


def ask(what: str, *given: Any) -> Any:
    """Asks this process something: calls a method of its `Engine`, which is made when first asked.

    Args:
      what: the name of the method.
      *given: its arguments. A parcel comes with its data behind it, which is not copied on the way then.

    Returns:
      "given" and what it returns, or "refused" and the parts of the message of an error of jaxnb.
    """
    if not _ENGINE:
        _ENGINE.append(Engine(_main()))
    try:
        return "given", getattr(_ENGINE[0], what)(*given)
    except JaxnbError as error:
        return "refused", (error.what, error.why, error.fix)
