"""Runs the corpus: `python -m tests.people [--theme THEME] [--only NAME ...] [--devices N] [--beside] [--plain]`.

Prints a line for each difference, and a summary. Each theme runs in a process of its own, because how many devices
there are is settled when JAX starts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.people", description=__doc__)
    parser.add_argument("--theme", nargs="*", default=[], help="only these themes")
    parser.add_argument("--only", nargs="*", default=[], help="only these cells, here in this process")
    parser.add_argument("--open", action="store_true", help="only cells of OPEN, here in this process")
    parser.add_argument("--devices", type=int, default=8, help="virtual devices")
    parser.add_argument("--beside", action="store_true", help="with a thread of the user's running all the time")
    parser.add_argument("--plain", action="store_true", help="plain against plain: what differs is the corpus's own")
    parser.add_argument("--slow", action="store_true", help="say how long each cell took")
    parser.add_argument("--verbose", action="store_true", help="show the text of cells that differ, and each line")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("NPROC", "32")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", "")
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={options.devices}"
    if options.only or options.open or options.here:
        _run(options)
    else:
        _run_themes(options)


def _run_themes(options: argparse.Namespace) -> None:
    names = sorted(path.stem for path in (TESTS / "people/themes").glob("[!_]*.py"))
    total: Counter[str] = Counter()
    for theme in options.theme or names:
        command = [sys.executable, "-m", "tests.people", "--here", "--theme", theme, "--devices", str(options.devices)]
        command += [f"--{flag}" for flag in ("beside", "plain", "slow", "verbose") if getattr(options, flag)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=TESTS.parent)
        *lines, last = done.stdout.splitlines() or [""]
        print("\n".join(lines), flush=True)
        ended = done.returncode == 0 and last.startswith("summary · ")
        counted = dict(part.rsplit(" ", 1) for part in last.split(" · ")[1:]) if ended else {"ended early": "1"}
        print(f"{theme}: {last}" if ended else f"{theme}: ended with {done.returncode}\n{last}", flush=True)
        total.update({key: int(value) for key, value in counted.items()})
    print("all · " + " · ".join(f"{key} {value}" for key, value in total.items()))


def _idle() -> None:
    while True:
        time.sleep(0.01)


def _run(options: argparse.Namespace) -> None:
    warnings.simplefilter("ignore")
    if options.beside:
        threading.Thread(target=_idle, daemon=True).start()
    import importlib

    from people import PEOPLE
    from people.check import check_person
    from people.exceptions import EXCEPTIONS, OPEN

    counts: Counter[str] = Counter(
        {key: 0 for key in ("cells", "as plain", "different", "excepted", "traced on the third run", "not reusable")}
    )
    for cell in PEOPLE:
        if (options.theme and cell.theme not in options.theme) or (options.only and cell.name not in options.only):
            continue
        if options.open and cell.name not in OPEN:
            continue
        if cell.devices > options.devices:
            continue
        for library in cell.needs:
            try:
                importlib.import_module(library)
            except ImportError:
                print(f"{cell.name}: skipped, no {library}")
                break
        else:
            begun = time.perf_counter()
            try:
                report = check_person(cell, options.plain)
            except Exception as error:
                print(
                    f"{cell.theme}/{cell.name}: the setup or the harness: {type(error).__name__}: {error}", flush=True
                )
                counts.update(["cells", "different"])
                continue
            seconds = time.perf_counter() - begun
            state = f" (open: {OPEN[cell.name]})" if cell.name in OPEN else ""
            state += f" ({EXCEPTIONS[cell.name]})" if cell.name in EXCEPTIONS else ""
            for problem in report.problems:
                print(f"{cell.theme}/{cell.name}{state}: {problem}", flush=True)
            if cell.name in OPEN and not report.problems:
                print(f"{cell.theme}/{cell.name}: is as plain, and still in OPEN", flush=True)
            third = report.traced_third and cell.warm
            if third and not options.plain:
                print(f"{cell.theme}/{cell.name}: traced on the third run: {report.runs[2].line}", flush=True)
            elif report.not_reusable:
                print(f"{cell.theme}/{cell.name}: {next(r for r in report.runs if r.not_reusable).line}", flush=True)
            if options.verbose:
                for ran in report.runs:
                    print(f"    {ran.when}: {ran.line} | host {ran.host_lines}")
                if report.problems:
                    print(f"--- setup\n{cell.setup}--- cell\n{cell.cell}--- changes\n{cell.changes}")
            if options.slow:
                print(f"    {cell.name}: {seconds:.1f} s", flush=True)
            excepted = cell.name in EXCEPTIONS
            counts.update(["cells", "excepted" if excepted else "different" if report.problems else "as plain"])
            counts["traced on the third run"] += third
            counts["not reusable"] += report.not_reusable
    print("summary · " + " · ".join(f"{key} {value}" for key, value in counts.items()))


main()
