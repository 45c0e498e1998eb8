"""Steps of real models: what staging costs over `jax.jit`, and the call tree over the tracing it comes from.

The steps are those of `tests/models`, by default the small ones, each staged anew in every round, once more without
taking down whose methods run: "noting" is what that adds to tracing. Goals: at most 5 % of the tracing for it, and for
tree and text together. Reading the level, which is done for all views, has a column of its own. "first" is the first
run of the cell, and "warm" one that is reused, each over the same step as one would write it under `jax.jit`; "traced"
is the tracing of the first run over that of `jax.jit`: scalars that must be static make it twice as long. They are
measured in turns, of the small steps. Run with
`python benchmarks/models.py [names ...]`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("NPROC", "32")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import jax
from models.larger import LARGER, LargerStep
from models.steps import STEPS, Step, transformer_step

import jaxnb
from jaxnb.program import Program, encode, read_tree
from jaxnb.staging.session.run import Run
from jaxnb.staging.trace.instances import InstanceLog

ROUNDS = 7
FIRST = 3  # first runs of each kind; XLA compiles for most of them
WARM = 100
MODELS = {**STEPS, "transformer of 8": transformer_step(8)}
ALL: dict[str, Step | LargerStep] = {**MODELS, **LARGER}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(MODELS), help=f"which steps: {', '.join(ALL)}")
    options = parser.parse_args()
    print(f"jax {jax.__version__}, {ROUNDS} rounds, medians; times in ms, sizes in bytes")
    heads = " ".join(f"{head:>6}" for head in ("traced", "first", "warm", "noting", "level", "tree", "text", "share"))
    print(f"{'step':>20} {'eqns':>6} {'trace':>7} {heads} {'saved':>8} {'calls':>8}")
    for name in options.names:
        _measure(name)


def _measure(name: str) -> None:
    ratios = " ".join(f"{ratio:>6.2f}" for ratio in _over_jit(MODELS[name])) if name in MODELS else " " * 20
    rounds = [_round(ALL[name], turn) for turn in range(ROUNDS)]
    program = rounds[-1][0]
    times = list(zip(*(times for _, times in rounds), strict=True))
    _, trace, reading, growing, telling = (1e3 * statistics.median(column) for column in times)
    data = encode(program)
    saved, calls = (len(json.dumps(part, separators=(",", ":"))) for part in (data, data.get("calls", {})))
    share = 100 * (growing + telling) / trace
    noting = f"{100 * (min(times[1]) / min(times[0]) - 1):>5.1f}%"  # of the quickest: other work only adds
    shown = f"{noting} {reading:>6.1f} {growing:>6.1f} {telling:>6.1f} {share:>5.1f}%"
    count = sum(1 for _ in program.level("jaxpr").ops())
    print(f"{name:>20} {count:>6} {trace:>7.0f} {ratios} {shown} {saved:>8} {calls:>8}", flush=True)


def _over_jit(step: Step) -> tuple[float, ...]:
    """Tracing, the first run and a warm one, each over that of `jax.jit`: medians of what was measured in turns."""
    turns = [_in_turns(step, f"{step.cell}\nfirst = {turn}") for turn in range(FIRST)]
    pairs = [[turn[0] for turn in turns], [turn[1] for turn in turns], [pair for turn in turns for pair in turn[2]]]
    plain, staged = ([statistics.median(pair[side] for pair in column) for column in pairs] for side in (0, 1))
    return tuple(one / other for one, other in zip(staged, plain, strict=True))


_Pair = tuple[float, float]


def _in_turns(step: Step, cell: str) -> tuple[_Pair, _Pair, list[_Pair]]:
    """Seconds of `jax.jit` and staged: of tracing, of a first run, and of warm ones."""
    plain, staged = step.names(), step.names()
    exec(step.jitted, plain)
    jax.clear_caches()
    tracing = _seconds(jax.eval_shape, lambda: exec(step.call, {**plain}))
    exec(step.jitted, plain)
    jax.clear_caches()
    plainly = _seconds(_call, step, plain)
    jax.clear_caches()
    begun = time.perf_counter()
    traced = _stage(cell, staged).timings.trace
    first = time.perf_counter() - begun
    for _ in range(3):  # a guard is written after the second run
        _stage(cell, staged)
    warm = [(_seconds(_call, step, plain), _seconds(_stage, cell, staged)) for _ in range(WARM)]
    return (tracing, traced), (plainly, first), warm


def _seconds(function: Callable[..., object], *args: Any) -> float:
    begun = time.perf_counter()
    function(*args)
    return time.perf_counter() - begun


def _call(step: Step, names: dict[str, Any]) -> None:
    exec(step.call, names)
    jax.block_until_ready([names.get("loss"), names.get("value")])


def _stage(cell: str, names: dict[str, Any]) -> Run:
    run = jaxnb.stage(cell, names)
    jax.block_until_ready([names.get("loss"), names.get("value")])
    return run


def _round(step: Step | LargerStep, turn: int) -> tuple[Program, tuple[float, ...]]:
    with mock.patch.object(InstanceLog, "noting", nullcontext):
        without = _staged(step, -1 - turn).timings.trace
    run = _staged(step, turn)
    begun = time.perf_counter()
    level = run.program.level("jaxpr")
    read = time.perf_counter()
    read_tree(level)
    grown = time.perf_counter()
    run.program.costs(depth=3, width=120)
    return run.program, (without, run.timings.trace, read - begun, grown - read, time.perf_counter() - grown)


def _staged(step: Step | LargerStep, turn: int) -> Run:
    jax.clear_caches()
    return jaxnb.stage(f"{step.cell}\nturn = {turn}", step.names())


main()
