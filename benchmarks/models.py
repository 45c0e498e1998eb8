"""Steps of real models: what the call tree costs over the tracing it comes from.

The steps are those of `tests/models`, by default the small ones, each staged anew in every round, once more without
taking down whose methods run: "noting" is what that adds to tracing. Goals: at most 5 % of the tracing for it, and for
tree and text together. Reading the level, which is done for all views, has a column of its own. Run with
`python benchmarks/models.py [names ...]`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("NPROC", "32")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import jax
from models.larger import LARGER, LargerStep
from models.steps import STEPS, Step

import jaxnb
from jaxnb.program import Program, encode, read_tree
from jaxnb.staging.session.run import Run
from jaxnb.staging.trace.instances import InstanceLog

ROUNDS = 7
ALL: dict[str, Step | LargerStep] = {**STEPS, **LARGER}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(STEPS), help=f"which steps: {', '.join(ALL)}")
    options = parser.parse_args()
    print(f"jax {jax.__version__}, {ROUNDS} rounds, medians; times in ms, sizes in bytes")
    heads = " ".join(f"{head:>6}" for head in ("noting", "level", "tree", "text", "share"))
    print(f"{'step':>20} {'eqns':>6} {'trace':>7} {heads} {'saved':>8} {'calls':>8}")
    for name in options.names:
        _measure(name)


def _measure(name: str) -> None:
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
    print(f"{name:>20} {count:>6} {trace:>7.0f} {shown} {saved:>8} {calls:>8}")


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
