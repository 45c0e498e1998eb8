"""Steps of real models: what the call tree costs over the tracing it comes from.

The steps are those of `tests/models`, each staged anew in every round. Goal: tree and text together at most 5 % of the
tracing. Reading the level, which is done for all views, has a column of its own. Run with
`python benchmarks/models.py [names ...]`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("NPROC", "32")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import jax
from models.steps import STEPS, Step

import jaxnb
from jaxnb.program import Program, encode, read_tree

ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(STEPS), help=f"which steps: {', '.join(STEPS)}")
    options = parser.parse_args()
    print(f"jax {jax.__version__}, {ROUNDS} rounds, medians; times in ms, sizes in bytes")
    heads = " ".join(f"{head:>6}" for head in ("level", "tree", "text", "share"))
    print(f"{'step':>20} {'eqns':>6} {'trace':>7} {heads} {'saved':>8} {'calls':>8}")
    for name in options.names:
        _measure(name)


def _measure(name: str) -> None:
    rounds = [_round(STEPS[name], turn) for turn in range(ROUNDS)]
    program = rounds[-1][0]
    times = list(zip(*(times for _, times in rounds), strict=True))
    trace, reading, growing, telling = (1e3 * statistics.median(column) for column in times)
    data = encode(program)
    saved, calls = (len(json.dumps(part, separators=(",", ":"))) for part in (data, data.get("calls", {})))
    share = 100 * (growing + telling) / trace
    shown = f"{reading:>6.1f} {growing:>6.1f} {telling:>6.1f} {share:>5.1f}%"
    count = sum(1 for _ in program.level("jaxpr").ops())
    print(f"{name:>20} {count:>6} {trace:>7.0f} {shown} {saved:>8} {calls:>8}")


def _round(step: Step, turn: int) -> tuple[Program, tuple[float, ...]]:
    jax.clear_caches()
    run = jaxnb.stage(f"{step.cell}\nturn = {turn}", step.names())
    begun = time.perf_counter()
    level = run.program.level("jaxpr")
    read = time.perf_counter()
    read_tree(level)
    grown = time.perf_counter()
    run.program.costs(depth=3, width=120)
    return run.program, (run.timings.trace, read - begun, grown - read, time.perf_counter() - grown)


main()
