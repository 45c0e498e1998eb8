"""How long a cell's programs take: each is run again on the inputs it had, without a profiler and then with one.

A program with effects, such as one that prints, is not run again. Donated inputs are copied before the run of the
cell, which gives them up, and once more for each run; the copies are not part of what is measured.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any
from weakref import WeakKeyDictionary

import jax
import numpy as np

from jaxnb import _jax
from jaxnb._jax import body_jaxprs, open_jaxpr
from jaxnb.reading import read_profile, running_together
from jaxnb.staging.levels.peaks import known_peaks
from jaxnb.staging.levels.time_attribution import Measured
from jaxnb.staging.trace.piece import Piece

__all__ = ["Held", "hold_inputs", "measure", "run_seconds"]

SECONDS = 0.5
"""For which the programs of a cell are run again, unless one takes so long that its runs last longer."""

_FEWEST, _MOST = 3, 1000
_ONCE = 1.0  # seconds from which on one run is enough
_MOST_EVENTS = 20_000  # of the profiler, which takes about 10 microseconds for each
_MOST_PROFILED = 20
_GRAPH = "command_buffer"
"""How the names begin that XLA gives to what it starts as a CUDA graph."""
_started_singly: WeakKeyDictionary[Piece, Any] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class Held:
    """A program with the inputs of a run, so that it can be run again.

    Attributes:
      compiled: the executable.
      inputs: its arguments; copies of those that it gives up and of those that Python could write to.
      donated: which of them each run gives up.
      why: it must not be run again, as a sentence; "" if it may be.
      piece: that it is of.
    """

    compiled: Any
    inputs: tuple[Any, ...] = ()
    donated: frozenset[int] = frozenset()
    why: str = ""
    piece: Piece | None = None


def hold_inputs(piece: Piece, arguments: Sequence[Any]) -> Held:
    """Keeps what a piece is about to be run on. To be called before it runs: afterwards donated inputs are gone.

    Args:
      piece: that was compiled.
      arguments: of its program, see `dispatch`.
    """
    if piece.compiled is None:
        return Held(None, why="nothing is computed.")
    effect = _effect(piece)
    if effect:
        return Held(None, why=f"not measured, because a further run would repeat what {effect} does.")
    given = jax.tree.leaves(piece.compiled.args_info)
    donated = frozenset(at for at, info in enumerate(given) if info.donated)
    try:
        inputs = tuple(_copied(leaf) if at in donated else _kept(leaf) for at, leaf in enumerate(arguments))
    except jax.errors.JaxRuntimeError as error:
        return Held(None, why=f"not measured: no copy of the inputs could be made ({_first_line(error)}).")
    return Held(piece.compiled, inputs, donated, piece=piece)


def measure(held: Sequence[Held], seconds: float = SECONDS) -> tuple[Measured, ...]:
    """Runs each program again: a few times to warm up, some times by the clock, and a few times under the profiler.

    Each is run at least three times, but only once if it takes more than a second. A piece that a loop of the cell
    ran several times is measured as it was in the last turn.

    Args:
      held: the programs of a cell, whose results are there by now.
      seconds: for which they are to be run, the profiler apart.
    """
    return tuple(_measure(item, seconds / len(held)) for item in held)


def run_seconds(held: Held, seconds: float = SECONDS) -> float | None:
    """The median of what runs of one program take by the clock; None where it must not be run again."""
    return None if held.why else statistics.median(_runs(held, seconds))


def _measure(held: Held, seconds: float) -> Measured:
    if held.why:
        return Measured(why=held.why)
    if any(isinstance(leaf, jax.Array) and leaf.is_deleted() for leaf in held.inputs):
        return Measured(why="not measured, because the cell donated what it reads to a later piece.")
    try:
        runs = _runs(held, seconds)
    except jax.errors.JaxRuntimeError as error:
        return Measured(why=f"not measured: it failed when it was run again ({_first_line(error)}).")
    quartiles = statistics.quantiles(runs, n=4) if len(runs) > 1 else [runs[0]] * 3
    executable = held.compiled.runtime_executable()  # None where the backend does not show it
    devices = executable.local_devices() if executable is not None else ()
    peaks = known_peaks(devices[0]) if len(devices) == 1 else None
    whole = Measured(statistics.median(runs), min(runs), (quartiles[2] - quartiles[0]) / 2, len(runs), peaks=peaks)
    return _with_profile(held, whole)


def _runs(held: Held, seconds: float) -> list[float]:
    """What each run took."""
    first = _run(held)
    if first > _ONCE:
        return [first]
    _run(held)
    runs: list[float] = []
    end = perf_counter() + seconds
    while len(runs) < _FEWEST or (len(runs) < _MOST and perf_counter() < end):
        runs.append(_run(held))
    return runs


def _run(held: Held) -> float:
    """Seconds from the call until all results were there."""
    arguments = [_copied(leaf) if at in held.donated else leaf for at, leaf in enumerate(held.inputs)]
    jax.block_until_ready(arguments)
    start = perf_counter()
    results = held.compiled(*arguments)
    jax.block_until_ready(results)
    return perf_counter() - start


def _with_profile(held: Held, whole: Measured) -> Measured:
    """The same with what the profiler saw: of one run, or of several if one has few events."""
    modules = _jax.module_names(held.compiled)
    if not modules:
        return replace(whole, why="its time is not shared out, because the backend does not show what it compiled.")
    try:
        walls, events = _profiled(held, 1, modules)
        if held.piece is not None and any(event.name.startswith(_GRAPH) for event in events):
            held = replace(held, compiled=_without_graphs(held.piece))
            walls, events = _profiled(held, 1, modules)
        again = min(_MOST_EVENTS // max(len(events), 1), int(SECONDS / 5 / max(walls[0], 1e-6)), _MOST_PROFILED)
        if events and again > 1:
            walls, events = _profiled(held, again, modules)
    except RuntimeError as error:  # JAX's own class is one, and so is that of a profiler that is running already
        return replace(whole, why=f"its time is not shared out: {_first_line(error)}")
    profiled = statistics.median(walls)
    if not events:
        return replace(whole, profiled=profiled, why="its time is not shared out: the profiler saw no instruction.")
    running = {names: spent / len(walls) for names, spent in running_together(events).items()}
    return replace(whole, profiled=profiled, running=running)


def _without_graphs(piece: Piece) -> Any:
    """The program of a piece compiled once more, so that each instruction starts its own kernels.

    XLA:GPU starts many of them as one CUDA graph, whose kernels the profiler then takes for those of one instruction.
    The instructions are the same ones: graphs are made of them at the very end.
    """
    if piece not in _started_singly:
        _started_singly[piece] = piece.lower().compile(compiler_options={"xla_gpu_enable_command_buffer": ""})
    return _started_singly[piece]


def _profiled(held: Held, runs: int, modules: frozenset[str]) -> tuple[list[float], list[Any]]:
    """Runs under JAX's profiler: what each took, and the events of its instructions."""
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.host_tracer_level = 1
    options.enable_hlo_proto = False
    with tempfile.TemporaryDirectory(prefix="jaxnb-profile-") as folder:
        jax.profiler.start_trace(folder, profiler_options=options)
        try:
            walls = [_run(held) for _ in range(runs)]
        finally:
            jax.profiler.stop_trace()
        events = [event for path in Path(folder).rglob("*.xplane.pb") for event in read_profile(path, modules)]
    return walls, events


def _copied(leaf: Any) -> Any:
    """A copy that is spread over devices as the array is."""
    if isinstance(leaf, jax.Array):
        return jax.device_put(leaf, leaf.sharding, may_alias=False)
    return _kept(leaf)


def _kept(leaf: Any) -> Any:
    return leaf.copy() if type(leaf) is np.ndarray else leaf


def _effect(piece: Piece) -> str:
    """What in a program is more than a computation; "" if nothing is."""
    whole = set(piece.jaxpr.effects)
    stack = [open_jaxpr(piece.jaxpr)]
    seen: set[int] = set()
    while stack:
        jaxpr = stack.pop()
        if id(jaxpr) in seen:
            continue
        seen.add(id(jaxpr))
        for eqn in jaxpr.eqns:
            bodies = [body for _, body in body_jaxprs(eqn.params)]
            # What a kernel does to its own references is no effect of the program.
            if "callback" in eqn.primitive.name or (not bodies and whole & set(eqn.effects)):
                return f"`{eqn.primitive.name}`"
            stack.extend(bodies)
    return "its effects" if whole else ""


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
