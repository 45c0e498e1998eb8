"""A notebook, executed from top to bottom, as one HTML page that opens anywhere, with a table of its cells.

nbclient runs it and nbconvert makes the page. The notebook on disk is only read.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jaxnb.shell as room
from jaxnb import __version__
from jaxnb.errors import JaxnbError
from jaxnb.shell.reports.execute import CellFailed, Progress, complete_programs, execute_notebook
from jaxnb.shell.reports.notebook import (
    Cell,
    check_kernel,
    code_cells,
    has_run,
    read_cells,
    read_facts,
    read_notebook,
    read_title,
)
from jaxnb.shell.reports.page import render_page

if TYPE_CHECKING:
    from jaxnb.shell.reports.exports import Exported

__all__ = ["Report", "report"]


@dataclass(frozen=True, slots=True)
class Report:
    """What was made.

    Attributes:
      page: the file.
      cells: the code cells.
      ran: how many of them were run.
      facts: names and values of what the cells tagged `fact` said, in their order.
      seconds: how long everything took.
      failure: what ended it before the last cell, if something did.
      interrupted: whether Ctrl-C ended it.
      exports: the named cells that were to be exported.
    """

    page: Path
    cells: tuple[Cell, ...]
    ran: int
    facts: tuple[tuple[str, str], ...]
    seconds: float
    failure: CellFailed | None = None
    interrupted: bool = False
    exports: tuple[Exported, ...] = ()

    @property
    def failed(self) -> tuple[Cell, ...]:
        """The cells that raised without being tagged `raises-exception`."""
        return tuple(cell for cell in self.cells if cell.error)


def report(
    notebook: str | os.PathLike[str],
    page: str | os.PathLike[str],
    *,
    progress: Progress,
    execute: bool = True,
    keep_going: bool = False,
    timeout: int | None = None,
    export: str | os.PathLike[str] | None = None,
) -> Report:
    """Runs a notebook in its own folder and writes it as a page.

    The page appears when it is complete; until then what was there before stays. Where a cell fails, or Ctrl-C ends
    it, the page holds what was done until then.

    Args:
      notebook: the file, in nbformat 4 or what nbformat can turn into it.
      page: the file to write.
      progress: is told what goes on.
      execute: whether to run the cells; otherwise the page shows the outputs that the notebook holds.
      keep_going: go on behind a cell that fails.
      timeout: seconds that one cell may take, None for any time.
      export: a folder into which cells with a name are exported, by `--name` or `-o`; None exports none.

    Raises:
      CellFailed: if the kernel does not start.
      JaxnbError: if the notebook cannot be read or run, or the page cannot be written.
      KeyboardInterrupt: if Ctrl-C comes before the first cell.
    """
    start = time.perf_counter()
    source, target = Path(notebook), Path(page)
    nb = read_notebook(source)
    if execute:
        check_kernel(nb, source)
    _check_target(target, source)
    exports = room.Exports(Path(export)) if export is not None else None
    if exports is not None:
        exports.prepare()
    facts: list[tuple[str, str]] = []
    stopped: CellFailed | KeyboardInterrupt | None = None
    if execute:
        facts = _versions()
        try:
            after = exports.after_cell if exports is not None else complete_programs
            run = execute_notebook(
                nb, source, progress=progress, keep_going=keep_going, timeout=timeout, after_cell=after
            )
            if device := asyncio.run(run):
                facts.append(("Device", device))
        except (CellFailed, KeyboardInterrupt) as error:
            if not _count_run(nb):
                raise
            stopped = error
            facts.append(("Stopped", error.what if isinstance(error, CellFailed) else "by Ctrl-C"))
    told = tuple(read_facts(nb))
    _write(target, render_page(nb, read_title(nb, source), [*told, *facts]))
    return Report(
        target,
        tuple(read_cells(nb)),
        _count_run(nb),
        told,
        time.perf_counter() - start,
        stopped if isinstance(stopped, CellFailed) else None,
        isinstance(stopped, KeyboardInterrupt),
        tuple(exports.found) if exports is not None else (),
    )


def _count_run(nb: Any) -> int:
    return sum(has_run(nb.cells[index]) for _, index in code_cells(nb))


# --- files ---


def _check_target(target: Path, notebook: Path) -> None:
    """Before any cell runs: can the page be written at all?"""
    what, folder = f"cannot write {target}.", target.parent
    try:
        if not folder.is_dir():
            raise JaxnbError(what, why=f"there is no folder {folder}.", fix="create it.")
        if target.is_dir():
            raise JaxnbError(what, why="it is a folder.", fix="name a file with -o.")
        if target.exists() and not target.is_file():
            raise JaxnbError(what, why="it is a device or the like, not a file.", fix="name a file with -o.")
        if target.exists() and target.samefile(notebook):
            raise JaxnbError(what, why="it is the notebook.", fix="name another file with -o.")
        _part(target).touch()
        _part(target).unlink()
    except OSError as error:
        raise JaxnbError(what, why=f"{error.strerror}.", fix="name another file with -o.") from error


def _part(target: Path) -> Path:
    """A file beside the target, for a page that is not complete yet."""
    return target.with_name(f".{target.name}.{os.getpid()}.part")


def _write(target: Path, page: str) -> None:
    """Writes beside the target and moves it there, so that nobody ever reads half a page."""
    part = _part(target)
    try:
        # A lone surrogate, which a notebook's JSON can hold, has no form in UTF-8.
        part.write_bytes(page.encode("utf-8", errors="replace"))
        part.replace(target)
    except OSError as error:
        raise JaxnbError(f"cannot write {target}.", why=f"{error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)


def _versions() -> list[tuple[str, str]]:
    facts = [("jaxnb", __version__)]
    for name in ("jax", "jaxlib"):
        with contextlib.suppress(PackageNotFoundError):
            facts.append((name, version(name)))
    return [*facts, ("Python", platform.python_version())]
