"""The worker as this process sees it: started when first needed, used again, ended with the session.

One worker serves all meshes that it has devices for; a larger mesh starts another one in its place. Besides it there
is one for each compiler of targets that was asked for, which serves all of its topologies. An interrupt ends the worker
that compiles, because nothing else stops a compiler; the next request starts a new one.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import IO, Any, NoReturn

import jax
from jax.sharding import NamedSharding, PartitionSpec

from jaxnb import _jax
from jaxnb.errors import JaxnbError
from jaxnb.reading.placement.simulated import PLATFORM, SimulatedMesh
from jaxnb.reading.worker.compilers import check_compiler, environment_of
from jaxnb.reading.worker.kernel_code import DUMPED, KernelCode
from jaxnb.reading.worker.refusals import NotCompiled, OutOfMemory, read_refusal
from jaxnb.reading.worker.wire import Closed, receive, send

__all__ = [
    "MOST_DEVICES",
    "Planned",
    "Worker",
    "WorkerGone",
    "check_count",
    "end_worker",
    "has_worker",
    "the_worker",
    "worker_for",
]

MOST_DEVICES = 4096
"""Virtual devices of one process. Each takes some memory of this machine, and 4,096 some 0.4 GB together."""

_ROOM = 8  # a first mesh of two devices would otherwise mean a new process for the next one of four
_COUNT = "--xla_force_host_platform_device_count"


class WorkerGone(JaxnbError):
    """The process that compiles ended before it answered."""


@dataclass(frozen=True, eq=False)
class Planned:
    """A program that was compiled for devices that are not there. It stands where jaxnb has a `jax.stages.Compiled`.

    Attributes:
      modules: each as an `HloModuleProto`.
      stats: what `memory_analysis()` says, in bytes of one device.
      buffers: the assignment of buffers, as an `xla::BufferAssignmentProto`.
      seconds: that compiling took.
      input_shardings: one for each argument; None for one that it does not take, or that no spec describes.
      output_shardings: likewise of the results.
      warnings: what XLA wrote while it compiled, by lines.
      code: its kernels, for which it is compiled once more when they are asked for; None unless it is for a GPU.
    """

    modules: tuple[bytes, ...]
    stats: dict[str, int]
    buffers: bytes
    seconds: float
    input_shardings: tuple[NamedSharding | None, ...] = ()
    output_shardings: tuple[NamedSharding | None, ...] = ()
    warnings: tuple[str, ...] = ()
    code: KernelCode | None = field(default=None, repr=False)

    def memory_analysis(self) -> Any:
        """As `jax.stages.Compiled.memory_analysis`."""
        return SimpleNamespace(**self.stats, serialized_buffer_assignment_proto=self.buffers)

    def runtime_executable(self) -> Any:
        """What tells the optimised modules; it cannot run."""
        return self

    def hlo_modules(self) -> list[Any]:
        """The modules, as an executable has them."""
        return [SimpleNamespace(as_serialized_hlo_module_proto=lambda data=data: data) for data in self.modules]


class Worker:
    """A process that compiles: for virtual devices, or for the targets of a platform.

    Args:
      devices: how many virtual ones.
      progress: called with what is going on.
      platform: whose compiler it has.

    Raises:
      WorkerGone: if it does not start.
    """

    def __init__(
        self, devices: int, progress: Callable[[str], None] = lambda _: None, platform: str = PLATFORM
    ) -> None:
        has = f"{devices} virtual devices" if platform == PLATFORM else f"the compiler for {platform}"
        progress(f"starting a process with {has}")
        self.devices, self.platform = devices, platform
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "jaxnb.reading.worker.worker", platform],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=_environment(devices, platform),
            start_new_session=True,  # an interrupt is for this process, which ends the worker
        )
        self._end = weakref.finalize(self, _end, self._process, self._log)
        try:
            told, _ = self._receive()
        except BaseException:
            self.end()
            raise
        self.devices = told["devices"]

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self._end.alive and self._process.poll() is None

    def compile(self, lowered: Any, mesh: SimulatedMesh, progress: Callable[[str], None] = lambda _: None) -> Planned:
        """Compiles a `jax.stages.Lowered` for a mesh. An interrupt, or any other error here, ends the worker.

        Args:
          lowered: what was lowered for the platform of the mesh.
          mesh: that it is partitioned for.
          progress: called with what is going on.

        Raises:
          OutOfMemory: if the compiler of a target says that it does not fit; the worker lives on.
          JaxnbError: if the program cannot be partitioned or compiled; likewise.
          WorkerGone: if the process died, as it does where memory runs out.
        """
        inputs, results = _jax.spreads_freely(lowered)
        module = _jax.module_of(lowered)
        target = mesh.target
        progress(f"partitioning for {mesh.size:,} devices" if target is None else f"compiling for {target}")
        before = self._written()
        asked: dict[str, Any] = {"do": "compile", "axes": dict(mesh.axes), "inputs": inputs, "results": results}
        if target is not None:
            asked["topology"] = target.topology
        told, blocks = self._ask(asked, module, mesh)
        count = told["modules"]
        placed = _jax.place_inputs(lowered, _shardings(mesh, told["inputs"]))
        given_back = _shardings(mesh, told["results"])
        first = len(given_back) - len(jax.tree.leaves(lowered.out_info))
        return Planned(
            tuple(blocks[:count]),
            told["stats"],
            blocks[count],
            told["seconds"],
            tuple(placed),
            tuple(given_back[max(first, 0) :]),  # tokens of ordered effects stand before the results
            tuple(self._said(before).splitlines()),
            KernelCode(partial(_dump, asked, module, mesh)) if mesh.platform == "cuda" else None,
        )

    def dump(self, asked: dict[str, Any], module: bytes, mesh: SimulatedMesh) -> dict[str, str]:
        """Compiles once more what was compiled, and gives what the compiler of the target wrote down, by files.

        Args:
          asked: what was asked for the first time.
          module: the program.
          mesh: that it is for.

        Raises:
          JaxnbError: as `compile`.
        """
        told, blocks = self._ask({**asked, "do": "dump", "ends": DUMPED}, module, mesh)
        return dict(zip(told["files"], (block.decode(errors="replace") for block in blocks), strict=True))

    def _ask(self, asked: dict[str, Any], module: bytes, mesh: SimulatedMesh) -> tuple[dict[str, Any], list[bytes]]:
        try:
            send(self._pipe(self._process.stdin), asked, module)
            told, blocks = self._receive()
        except Closed:
            self._fail()
        except BaseException:
            self.end()
            raise
        if "error" in told:
            raise _refused(told, mesh)
        return told, blocks

    def end(self) -> None:
        """Ends the process."""
        self._end()

    def _written(self) -> int:
        """How many bytes the process has written on its standard error."""
        return os.fstat(self._log.fileno()).st_size

    def _said(self, start: int) -> str:
        """What it has written since then. The process shares the place in the file, which ends where it was."""
        self._log.seek(start)
        return self._log.read().decode(errors="replace")

    def _receive(self) -> tuple[dict[str, Any], list[bytes]]:
        try:
            return receive(self._pipe(self._process.stdout))
        except Closed:
            self._fail()

    def _pipe(self, pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe

    def _fail(self) -> NoReturn:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        code = self._process.returncode
        said = ""
        with contextlib.suppress(OSError, ValueError):
            said = self._said(0).strip()[-400:]
        self.end()
        how = f"by signal {-code}" if code is not None and code < 0 else f"with status {code}"
        more = "" if not said else f" Its last words: {said}"
        whom = f"{self.devices} devices" if self.platform == PLATFORM else self.platform
        raise WorkerGone(
            f"the process that compiles for {whom} ended {how}.",
            why=f"memory may have run out.{more}" if code == -9 else f"nothing else is known of it.{more}",
            fix="run the cell again: a new process is started. Nothing of this session is lost.",
        )


_kept: dict[str, Worker] = {}
"""The workers of this process, by the platform whose compiler they have."""


def check_count(devices: int) -> None:
    """Refuses a mesh that is too large to be simulated.

    Raises:
      JaxnbError: saying how large one may be.
    """
    if devices > MOST_DEVICES:
        raise JaxnbError(
            f"a mesh of {devices:,} devices is not simulated.",
            why=f"a process has at most {MOST_DEVICES:,} virtual devices here.",
            fix="plan for a part of the machine: most programs need the same of each device on a mesh half as long.",
        )


def the_worker(devices: int, progress: Callable[[str], None] = lambda _: None) -> Worker:
    """The worker of this process, with at least so many devices; started now if there is none.

    Raises:
      JaxnbError: if no process has so many.
      WorkerGone: if it does not start.
    """
    check_count(devices)
    worker = _kept.get(PLATFORM)
    if worker is not None and worker.devices < devices:
        end_worker(PLATFORM)
    return _alive(PLATFORM) or _keep(Worker(max(devices, _ROOM), progress))


def worker_for(mesh: SimulatedMesh, progress: Callable[[str], None] = lambda _: None) -> Worker:
    """The worker that compiles for a mesh: one with as many virtual devices, or with the compiler of its target.

    Raises:
      JaxnbError: if no process has so many devices, or the compiler is not there.
      WorkerGone: if it does not start.
    """
    if mesh.target is None:
        return the_worker(mesh.size, progress)
    platform = mesh.target.platform
    check_compiler(platform)
    return _alive(platform) or _keep(Worker(1, progress, platform))


def _alive(platform: str) -> Worker | None:
    worker = _kept.get(platform)
    if worker is not None and not worker.alive:
        end_worker(platform)
        return None
    return worker


def _keep(worker: Worker) -> Worker:
    return _kept.setdefault(worker.platform, worker)


def has_worker(platform: str = PLATFORM) -> bool:
    """Whether this process has a worker for a platform that can be asked."""
    return platform in _kept and _kept[platform].alive


def end_worker(platform: str | None = None) -> bool:
    """Ends the worker of this process for a platform, by default all of them; whether there was one."""
    ended = [_kept.pop(one) for one in list(_kept) if platform in (None, one)]
    for worker in ended:
        worker.end()
    return bool(ended)


def _dump(asked: dict[str, Any], module: bytes, mesh: SimulatedMesh) -> dict[str, str]:
    return worker_for(mesh).dump(asked, module, mesh)


def _refused(told: dict[str, Any], mesh: SimulatedMesh) -> JaxnbError:
    """What a worker answered where it compiled nothing."""
    message, target = str(told["message"]), mesh.target
    why = f"{told['error']}: {message[:2000]}"
    if target is None:
        return JaxnbError(
            f"the program cannot be compiled for {mesh.size} devices.",
            why=why,
            fix="it is compiled for the CPU of this machine: put something of the same shapes for what that lacks.",
        )
    if told.get("stage") == "topology":
        return JaxnbError(f"the compiler knows no {target}.", why=why, fix="%jaxnb target lists what there is.")
    refusal = read_refusal(message)
    if refusal is not None:
        return OutOfMemory(refusal, f"a device of {target}", message)
    error = NotCompiled(f"the program cannot be compiled for {target}.", why=why)
    error.said = message
    return error


def _environment(devices: int, platform: str) -> dict[str, str]:
    """That of this process, with virtual devices and more threads than devices that run: see the name NPROC.

    A worker of a platform has what its compiler needs instead.
    """
    flags = [flag for flag in os.environ.get("XLA_FLAGS", "").split() if not flag.startswith(_COUNT)]
    own = {"XLA_FLAGS": " ".join([*flags, f"{_COUNT}={devices}"])} if platform == PLATFORM else environment_of(platform)
    return {
        **{name: value for name, value in os.environ.items() if name != "JAX_NUM_CPU_DEVICES"},
        "JAX_PLATFORMS": "cpu",
        "NPROC": "32",
        "TF_CPP_MIN_LOG_LEVEL": "1",  # warnings, too, which say what XLA knows no good way for
        **own,
    }


def _shardings(mesh: SimulatedMesh, specs: Sequence[_jax.Spec | None]) -> list[NamedSharding | None]:
    return [None if spec is None else NamedSharding(mesh.mesh, PartitionSpec(*map(_entry, spec))) for spec in specs]


def _entry(names: list[str]) -> Any:
    return tuple(names) if len(names) > 1 else names[0] if names else None


def _end(process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(0.05)
    if process.poll() is None:
        process.kill()
        process.wait()
    log.close()
