"""The command line: `jaxnb report NOTEBOOK -o FILE`, `jaxnb check NOTEBOOK`, `jaxnb demo`, `jaxnb lab`, `jaxnb doctor`.

What a command found goes to standard output: a line for each staged cell, then the facts. What it is doing
goes to standard error, as a bar where that is a terminal and as plain lines elsewhere.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import jaxnb.shell as room
from jaxnb import __version__
from jaxnb.errors import JaxnbError
from jaxnb.program import Severity
from jaxnb.shell.reports.batch import run_on_cluster
from jaxnb.shell.reports.check import as_json, as_sarif, as_text, check
from jaxnb.shell.reports.notebook import INTERRUPTED, Cell
from jaxnb.shell.reports.report import Report, report

__all__ = ["main"]

_FORMS = {"text": as_text, "json": as_json, "sarif": as_sarif}
_DEMO = "01_quickstart.ipynb"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_INTERRUPTED = 130  # what a shell gives for a command that Ctrl-C ended


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
      arguments: of the command line, without the program; by default those of this process.

    Returns:
      The exit status: 0, or 1 if something failed. A command line that cannot be read exits with 2.
    """
    parser = _parser()
    options, options.rest = parser.parse_known_args(arguments)
    if options.rest and options.command is not _lab:
        parser.error(f"unrecognized arguments: {' '.join(options.rest)}")
    try:
        return options.command(options)
    except JaxnbError as error:
        _say(f"jaxnb: {error}")
    except KeyboardInterrupt:
        _say("jaxnb: interrupted; nothing was written.")
        return _INTERRUPTED
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="jaxnb", description="Stage notebook cells under jax.jit.")
    parser.add_argument("--version", action="version", version=f"jaxnb {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = commands.add_parser("report", help="run a notebook and write it as a page that opens anywhere")
    command.add_argument("notebook", metavar="NOTEBOOK", type=Path)
    command.add_argument("-o", "--output", metavar="FILE", type=Path, help="the page; by default NOTEBOOK.html here")
    command.add_argument("--no-execute", action="store_true", help="run nothing: show the outputs that were saved")
    command.add_argument("--keep-going", action="store_true", help="go on behind a cell that fails; still exits with 1")
    command.add_argument("--timeout", metavar="SECONDS", type=_seconds, help="how long one cell may take")
    command.add_argument(
        "--export",
        metavar="DIR",
        type=Path,
        help="write cells with a name, %%%%jit --name f or -o run, to DIR/f.jaxexport for jaxnb.load",
    )
    command.set_defaults(command=_report)

    what = "run a notebook and say what is wrong in it; exits with 1 if anything is"
    command = commands.add_parser("check", help=what, description=what)
    command.add_argument("notebook", metavar="NOTEBOOK", type=Path)
    command.add_argument("--format", choices=_FORMS, default="text", help="for people, for programs, or for CI")
    command.add_argument("-o", "--output", metavar="FILE", type=Path, help="where it goes; by default it is printed")
    command.add_argument(
        "--fail-on",
        choices=[one.name.lower() for one in reversed(Severity)],
        default="wrong",
        help="from which severity on it exits with 1; by default from wrong numbers on",
    )
    command.add_argument("--timeout", metavar="SECONDS", type=_seconds, help="how long one cell may take")
    command.set_defaults(command=_check)

    what = "run a notebook on a cluster, and write it with its outputs"
    command = commands.add_parser("run", help=what, description=what)
    command.add_argument("notebook", metavar="NOTEBOOK", type=Path)
    command.add_argument(
        "-o", "--output", metavar="FILE", type=Path, help="the notebook; by default NOTEBOOK.run.ipynb"
    )
    command.add_argument(
        "--cluster", metavar="PROFILE", default="", help="of ipyparallel; by default the processes are started here"
    )
    command.add_argument("-n", metavar="COUNT", type=_count, default=2, help="how many processes; by default 2")
    command.add_argument("--devices", metavar="COUNT", type=_count, help="how many virtual CPU devices each has")
    command.add_argument("--keep-going", action="store_true", help="go on behind a cell that fails; still exits with 1")
    command.add_argument("--timeout", metavar="SECONDS", type=_seconds, help="how long one cell may take")
    command.set_defaults(command=_run)

    command = commands.add_parser("demo", help="train a classifier on real data and write it as a page")
    command.add_argument(
        "-o", "--output", metavar="FILE", type=Path, default=Path("demo.html"), help="the page; by default demo.html"
    )
    command.set_defaults(command=_demo)

    what = "open the tutorials in JupyterLab, which gets all further options"
    command = commands.add_parser("lab", help=what, description=what)
    command.set_defaults(command=_lab)

    what = "say what is installed and set, and what is known to go wrong; exits with 1 if anything is"
    command = commands.add_parser("doctor", help=what, description=what)
    command.set_defaults(command=_doctor)
    return parser


def _seconds(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds, 1 or more")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number, 1 or more")
    return int(text)


# --- commands ---


def _report(options: argparse.Namespace) -> int:
    output = options.output or Path(f"{options.notebook.stem}.html")
    if options.export is not None and options.no_execute:
        raise JaxnbError(
            "--export and --no-execute contradict each other.", why="cells are exported when they have run."
        )
    return _make(options.notebook, output, not options.no_execute, options.keep_going, options.timeout, options.export)


def _check(options: argparse.Namespace) -> int:
    progress = _progress(silent=True)
    try:
        checked = check(options.notebook, progress=progress, timeout=options.timeout)
    finally:
        progress.close()
    told = _FORMS[options.format](checked)
    if options.output is None:
        print(told)
    else:
        try:
            options.output.write_text(f"{told}\n", encoding="utf-8")
        except OSError as error:
            raise JaxnbError(f"cannot write {options.output}.", why=f"{error.strerror}.") from error
    return 1 if checked.severity >= Severity[options.fail_on.upper()] else 0


def _run(options: argparse.Namespace) -> int:
    output = options.output or Path(f"{options.notebook.stem}.run.ipynb")
    progress = _progress()
    try:
        failed = run_on_cluster(
            options.notebook,
            output,
            (options.n, options.devices, options.cluster),
            progress=progress,
            keep_going=options.keep_going,
            timeout=options.timeout,
        )
    finally:
        progress.close()
    print(f"wrote {output}")
    return 1 if failed else 0


def _demo(options: argparse.Namespace) -> int:
    return _make(_tutorials() / _DEMO, options.output)


def _lab(options: argparse.Namespace) -> int:
    # The kernel "python3" of this environment, not one of the same name in the home folder.
    environment = {**os.environ, "JUPYTER_PREFER_ENV_PATH": "1"}
    command = [sys.executable, "-m", "jupyterlab", str(_tutorials()), *options.rest]
    return subprocess.run(command, env=environment, check=False).returncode


def _doctor(options: argparse.Namespace) -> int:
    found = room.doctor()  # which loads jax, and no more of jaxnb than a jax that has changed lets load
    print(found)
    return 1 if found.problems else 0


def _tutorials() -> Path:
    """The tutorials: in the repository, or where an installation has put them."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package.parent / "notebooks", package / "notebooks"):
        if (folder / _DEMO).is_file():
            return folder
    raise JaxnbError(
        "the tutorials are not here.", why=f"there is no {_DEMO} with {package}.", fix="install jaxnb anew."
    )


def _make(
    notebook: Path,
    output: Path,
    execute: bool = True,
    keep_going: bool = False,
    timeout: int | None = None,
    export: Path | None = None,
) -> int:
    progress = _progress()
    try:
        made = report(
            notebook,
            output,
            progress=progress,
            execute=execute,
            keep_going=keep_going,
            timeout=timeout,
            export=export,
        )
    finally:
        progress.close()
    if not execute:
        for cell in made.cells:
            _print_line(cell)
    for name, value in made.facts:
        print(f"{name}: {value}")
    _say_what_failed(made)
    for one in made.exports:
        _say(f"jaxnb: {one.name} was not exported: {one.error}" if one.error else f"exported {one.path}")
    if export is not None and not made.exports:
        _say("jaxnb: no cell has a name to be exported by: %%jit --name f, or -o run.")
    size = made.page.stat().st_size / 1000
    _say(f"wrote {made.page}: {len(made.cells)} cells, {size:.0f} KB, in {made.seconds:.1f} s")
    if made.interrupted:
        return _INTERRUPTED
    return 1 if made.failed or made.failure or any(one.error for one in made.exports) else 0


def _say_what_failed(made: Report) -> None:
    failure, failed = made.failure, list(made.failed)
    if failure is not None:
        failed.pop()
    cut = [cell for cell in failed if cell.error.startswith(INTERRUPTED)]
    for cell in failed:
        if cell not in cut:
            _say(f"jaxnb: cell [{cell.number}] raised {cell.error}")
    if failure is not None:
        if failure.traceback:
            _say(failure.traceback if sys.stderr.isatty() else _ANSI.sub("", failure.traceback))
        _say(f"jaxnb: {failure}")
    if made.interrupted:
        where = "".join(f" in cell [{cell.number}]" for cell in cut)
        _say(f"jaxnb: interrupted{where}; {made.ran - len(cut)} of {len(made.cells)} cells had run.")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _print_line(cell: Cell) -> None:
    if cell.line:
        print(f"[{cell.number}] {cell.line}", flush=True)


# --- progress ---


def _progress(silent: bool = False) -> Bar | Lines:
    """What tells on standard error what goes on."""
    return Bar(sys.stderr, silent) if sys.stderr.isatty() else Lines(sys.stderr, silent)


class Lines:
    """Progress for a log: a line for each cell, complete with its time when it ends.

    Args:
      stream: where it is written.
      silent: whether the lines of staged cells are left out, which go to standard output.
    """

    def __init__(self, stream: TextIO, silent: bool = False) -> None:
        self.stream, self.silent = stream, silent
        self.open = False
        self.start = 0.0

    def begin(self, cell: Cell) -> None:
        """Says which cell it is."""
        self.open, self.start = True, time.perf_counter()
        print(f"cell {cell.number}/{cell.count}: {_headline(cell)}", end="", file=self.stream, flush=True)

    def tick(self) -> None:
        """Says nothing."""

    def end(self, cell: Cell) -> None:
        """Says how long it took, and prints the line of a staged cell."""
        print(f" ({time.perf_counter() - self.start:.1f} s)", end="", file=self.stream)
        self.close()
        if not self.silent:
            _print_line(cell)

    def close(self) -> None:
        """Ends the line of a cell that did not end."""
        if self.open:
            print(file=self.stream, flush=True)
        self.open = False


class Bar:
    """Progress for a terminal: a line for each cell that has ended, and one for the bar, redrawn in place.

    Args:
      stream: the terminal.
      silent: whether the lines of staged cells are left out, which go to standard output.
    """

    WIDTH = 24

    def __init__(self, stream: TextIO, silent: bool = False) -> None:
        self.stream, self.silent = stream, silent
        self.cell: Cell | None = None
        self.start = 0.0

    def begin(self, cell: Cell) -> None:
        """Shows which cell it is."""
        self.cell, self.start = cell, time.perf_counter()
        self.tick()

    def tick(self) -> None:
        """Draws the bar anew."""
        if self.cell is None:
            return
        done = self.WIDTH * (self.cell.number - 1) // self.cell.count
        bar = "█" * done + "░" * (self.WIDTH - done)
        self._draw(f"{bar} {self.cell.number}/{self.cell.count}  {self._seconds()}  {_headline(self.cell)}")

    def end(self, cell: Cell) -> None:
        """Leaves how long the cell took, and the line of a staged one."""
        self._draw(f"[{cell.number}] {self._seconds()}  {_headline(cell)}")
        print(file=self.stream, flush=True)
        self.cell = None
        if not self.silent:
            _print_line(cell)

    def close(self) -> None:
        """Takes the bar away."""
        if self.cell is not None:
            self._draw("")
        self.cell = None

    def _seconds(self) -> str:
        return f"{time.perf_counter() - self.start:.1f} s"

    def _draw(self, text: str) -> None:
        self.stream.write(f"\r\x1b[2K{text[: shutil.get_terminal_size().columns - 1]}")
        self.stream.flush()


def _headline(cell: Cell) -> str:
    """The first two lines of the cell, as far as they can be printed on one."""
    lines = [line.strip() for line in cell.source.split("\n") if line.strip()]
    text = " · ".join(lines[: 2 if lines and lines[0].startswith("%%") else 1])
    return "".join(character if character.isprintable() else "?" for character in text)[:80]


if __name__ == "__main__":
    sys.exit(main())
