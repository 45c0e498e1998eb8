"""How much of a program is linked, from the line of the cell to the instruction that runs, on six programs.

Goals: every equation has its line, every StableHLO operation its equation, at least 99 % of the instructions of the
entry computation theirs, and at least 99 % of the measured time. Besides, what the runs took without a profiler and
under it, how long measuring took, what the numbers in the names cost at the first compilation, and how long each level
takes to read. Run with `python benchmarks/coverage.py`.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import jax
from level_programs import PROGRAMS

from jaxnb._jax.hlo import with_jaxpr
from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.reading.jaxpr.ids import number_equations, with_ids


def measure(setup: str, cell: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(setup, namespace)
    session = new_session()
    program = session.stage(cell, namespace, StageOptions()).program
    row: dict[str, Any] = {}
    for level in ("stablehlo", "hlo"):
        start = time.perf_counter()
        program.level(level)
        row[level] = f"{1e3 * (time.perf_counter() - start):.0f} ms"
    row["equations"] = sum(1 for _ in program.ops("jaxpr"))
    row["instructions"] = sum(1 for _ in program.ops("hlo"))
    start = time.perf_counter()
    again: dict[str, Any] = {"__name__": "__main__"}
    exec(setup, again)
    timed = session.stage(cell, again, StageOptions(time=True)).program
    row["measuring"] = f"{time.perf_counter() - start:.1f} s"
    timing = timed.timing
    if timing is not None and timing.total is not None and timing.profiled is not None:
        row["run"] = f"{1e6 * timing.total:.0f} ± {1e6 * timing.spread:.0f} us"
        row["profiled"] = f"{1e6 * timing.profiled:.0f} us"
    coverage = timed.coverage()
    for name in ("eqn_line", "stablehlo_eqn", "hlo_eqn", "time_eqn"):
        share = getattr(coverage, name)
        row[name] = "–" if share is None else f"{100 * share:.2f} %"
    further = [link.exact for link in program.links if link.lower == "hlo"]
    row["exact"] = f"{100 * sum(further) / len(further):.0f} %"
    return row


def cost_of_ids() -> None:
    """Naming and lowering with and without numbers, each of equations that JAX has not seen, in turns."""
    import jax.numpy as jnp

    count = 500

    def traced() -> Any:
        def function(x: Any) -> Any:
            for _ in range(count):
                x = jnp.sin(x) * 2.0
            return x

        return jax.jit(function).trace(jnp.ones(3))

    naming: list[float] = []
    lowering: dict[bool, list[float]] = {False: [], True: []}
    compiling: dict[bool, list[float]] = {False: [], True: []}
    number = number_equations(traced().jaxpr).count
    for turn in range(14):
        stage, named = traced(), bool(turn % 2)
        if named:
            start = time.perf_counter()
            stage = with_jaxpr(stage, with_ids(stage.jaxpr))
            naming.append(time.perf_counter() - start)
        start = time.perf_counter()
        lowered = stage.lower()
        lowering[named].append(time.perf_counter() - start)
        start = time.perf_counter()
        lowered.compile()
        compiling[named].append(time.perf_counter() - start)
    for what, plain, with_numbers in (
        ("naming", [0.0], naming),
        ("lowering", lowering[False], lowering[True]),
        ("compiling", compiling[False], compiling[True]),
    ):
        before, after = (statistics.median(times) / number * 1e6 for times in (plain, with_numbers))
        print(f"{what:10} {before:8.1f} -> {after:8.1f} us an equation ({number} equations)")


COLUMNS = (
    ("equations", "equations"),
    ("instructions", "instructions"),
    ("eqn_line", "eqn→line"),
    ("stablehlo_eqn", "stablehlo→eqn"),
    ("hlo_eqn", "hlo→eqn"),
    ("time_eqn", "time→eqn"),
    ("exact", "exact links to hlo"),
    ("run", "run (median)"),
    ("profiled", "run, profiled"),
    ("measuring", "staging and measuring"),
    ("stablehlo", "reading stablehlo"),
    ("hlo", "reading hlo"),
)


def main() -> None:
    print(f"jax {jax.__version__}")
    print(" | ".join(["program".ljust(12), *(title for _, title in COLUMNS)]))
    for name, (setup, cell) in PROGRAMS.items():
        row = measure(setup, cell)
        print(
            " | ".join([name.ljust(12), *(str(row.get(key, "–")).rjust(len(title)) for key, title in COLUMNS)]),
            flush=True,
        )
    cost_of_ids()


if __name__ == "__main__":
    main()
