"""What is read from a notebook: its cells, what staged ones say of themselves, its title and its facts.

A notebook is whatever nbformat 4 holds; nothing here runs it or writes it.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxnb.errors import JaxnbError
from jaxnb.program import MIME_TYPE, Status, decode_status

__all__ = [
    "INTERRUPTED",
    "KERNEL_DIED",
    "TIMED_OUT",
    "Cell",
    "check_kernel",
    "code_cells",
    "error_line",
    "first_line",
    "has_run",
    "is_meant_to_raise",
    "is_note",
    "is_offer",
    "is_staged",
    "needs_lab",
    "read_cell",
    "read_cells",
    "read_facts",
    "read_notebook",
    "read_title",
    "source_lines",
    "staged_lines",
    "status_of",
]


# Names of the errors under a cell that did not end by itself.
TIMED_OUT, KERNEL_DIED, INTERRUPTED = "TimedOut", "KernelDied", "Interrupted"


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell that is run, or was.

    Attributes:
      number: among the code cells, from 1, as the page counts them.
      count: how many code cells there are.
      source: its text.
      line: the one line of a staged cell, "" if it is none or has not run yet.
      error: what it raised, in one line, if it was not meant to.
    """

    number: int
    count: int
    source: str
    line: str = ""
    error: str = ""


def read_notebook(path: Path) -> Any:
    """The notebook in a file.

    Raises:
      JaxnbError: if there is none, or if nbformat is not installed.
    """
    try:
        import nbformat
        from nbformat.warnings import MissingIDFieldWarning
    except ImportError as error:
        raise needs_lab(error) from error
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise JaxnbError(f"cannot read {path}.", why=f"{error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise JaxnbError(f"{path} is not a notebook.", why="it is not text in UTF-8.") from error
    try:
        data = json.loads(text)
    except ValueError as error:
        raise JaxnbError(f"{path} is not a notebook.", why=f"it is not JSON: {error}.") from error
    if not isinstance(data, dict) or "nbformat" not in data:
        raise JaxnbError(f"{path} is not a notebook.", why='it is JSON, but has no "nbformat".')
    try:
        with warnings.catch_warnings():
            # Old notebooks have cells without an id; they get one here, and the file stays as it is.
            warnings.simplefilter("ignore", MissingIDFieldWarning)
            nb = nbformat.reads(text, as_version=4)
            nbformat.validate(nb)
    except (nbformat.ValidationError, AttributeError, KeyError, TypeError, ValueError) as error:
        why = str(error).strip().partition("\n")[0]
        raise JaxnbError(f"{path} is not a valid notebook.", why=f"{why.rstrip('.')}.") from error
    return nb


def check_kernel(nb: Any, path: Path) -> None:
    """Whether this interpreter can run the notebook; one that does not say its language is taken for Python.

    Raises:
      JaxnbError: if it is written in another language.
    """
    kernel, info = (nb.metadata.get(name, {}) for name in ("kernelspec", "language_info"))
    language = str(kernel.get("language") or info.get("name") or "python")
    if language.lower() not in ("python", "ipython"):
        raise JaxnbError(
            f"cannot run {path}.",
            why=f"its kernel is {kernel.get('display_name') or language}, and the language is {language}, not Python.",
            fix="--no-execute shows the outputs that it holds.",
        )


def code_cells(nb: Any) -> list[tuple[Cell, int]]:
    """The code cells, none of which has run yet, with their indices among all cells."""
    indices = [index for index, cell in enumerate(nb.cells) if cell.cell_type == "code"]
    return [(Cell(number, len(indices), nb.cells[index].source), index) for number, index in enumerate(indices, 1)]


def read_cells(nb: Any) -> list[Cell]:
    """The code cells with what their outputs say."""
    return [read_cell(nb.cells[index], cell) for cell, index in code_cells(nb)]


def read_cell(node: Any, cell: Cell) -> Cell:
    """The cell with what its outputs say."""
    line = str(next(iter(staged_lines(node)), ""))
    return Cell(cell.number, cell.count, cell.source, line, "" if is_meant_to_raise(node) else error_line(node))


_SOURCE = re.compile(r'(?<!\\)"source"\s*:\s*')
_BETWEEN = re.compile(r"[\s,]*")


def source_lines(text: str, sources: Sequence[str]) -> list[tuple[int, ...]]:
    """On which line of a notebook's file each line of its cells stands; empty for a cell that is not found there.

    Args:
      text: of the file.
      sources: the texts of all cells, in the order of the file.

    >>> source_lines('{"cells": [\\n{"source": [\\n"a = 1\\\\n",\\n"b = 2"\\n]}\\n]}', ["a = 1\\nb = 2"])
    [(3, 4)]
    """
    start = 0
    found: list[tuple[int, ...]] = []
    for source in sources:
        lines, start = _lines_of(text, source, start)
        found.append(lines)
    return found


def _lines_of(text: str, source: str, start: int) -> tuple[tuple[int, ...], int]:
    """The lines of one cell, which stands behind a place, and where it ends; as a list rather than as one string."""
    read = json.JSONDecoder().raw_decode
    as_one: tuple[tuple[int, ...], int] | None = None
    for key in _SOURCE.finditer(text, start):
        value, end = read(text, key.end())
        if isinstance(value, list) and "".join(map(str, value)) == source:  # pyright: ignore[reportUnknownArgumentType]
            return tuple(_numbers(text, key.end() + 1, len(value))), end  # pyright: ignore[reportUnknownArgumentType]
        if value == source and as_one is None:
            as_one = (_number(text, key.end()),) * len(source.splitlines()), end
    return as_one or ((), start)


def _numbers(text: str, at: int, count: int) -> Iterator[int]:
    """The line of the file on which each line of a list of strings stands."""
    for _ in range(count):
        between = _BETWEEN.match(text, at)
        at = between.end() if between is not None else at
        item, end = json.JSONDecoder().raw_decode(text, at)
        for _ in item.splitlines():
            yield _number(text, at)
        at = end


def _number(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def has_run(node: Any) -> bool:
    """Whether a code cell was run, as far as the notebook tells."""
    return bool(node.execution_count is not None or node.outputs)


def error_line(node: Any) -> str:
    """What a code cell raised, in one line."""
    errors = (output for output in node.outputs if output.output_type == "error")
    return next((first_line(f"{error.ename}: {error.evalue}") for error in errors), "")


def is_meant_to_raise(node: Any) -> bool:
    """Whether the cell is tagged `raises-exception`, which covers what it raises, not that it could not end."""
    ended = not error_line(node).startswith((f"{TIMED_OUT}:", f"{KERNEL_DIED}:", f"{INTERRUPTED}:"))
    return ended and "raises-exception" in node.metadata.get("tags", [])


def staged_lines(node: Any) -> list[Status | str]:
    """The one line of each staged run; a run that the cell shows as a value is none of it."""
    shown = (output for output in node.outputs if output.output_type == "display_data")
    return [status_of(output.data) for output in shown if is_staged(output) and not is_note(output)]


def status_of(data: Mapping[str, Any]) -> Status | str:
    """The line under a cell: its parts, where they were saved with the program, otherwise its text.

    Args:
      data: the MIME bundle of the output.
    """
    program = data.get(MIME_TYPE)
    if isinstance(program, dict) and "status" in program:
        with suppress(JaxnbError):
            return decode_status(program["status"])  # pyright: ignore[reportUnknownArgumentType]
    return first_line(data["text/plain"])


def is_note(output: Any) -> bool:
    """Whether an output only says what was noticed of a cell: its program has no levels, only findings."""
    program = output.get("data", {}).get(MIME_TYPE)
    return isinstance(program, dict) and not program.get("levels") and bool(program.get("findings"))


def is_offer(output: Any) -> bool:
    """Whether an output is only there for its button: a fix to copy, of which the error above it has told."""
    if not is_note(output):
        return False
    findings = output["data"][MIME_TYPE]["findings"]
    return isinstance(findings, list) and all(isinstance(one, dict) and one.get("kind") == "fix" for one in findings)


_INSPECTOR = re.compile(r'<div class="jnb"(?: data-jaxnb=|>(?:<style>[^<]*</style>)?<details class="jaxnb")')


def is_staged(output: Any) -> bool:
    """Whether an output is what jaxnb shows under a cell.

    Without the program, which can be too large to be saved, only the HTML tells: that of tables and diagrams has
    nothing that opens. Anybody could write that, so nothing else is read from it.
    """
    data = output.get("data", {})
    return "text/plain" in data and (MIME_TYPE in data or bool(_INSPECTOR.match(data.get("text/html", ""))))


def first_line(text: str) -> str:
    """The first line that is not empty."""
    return text.strip().partition("\n")[0]


def read_title(nb: Any, path: Path) -> str:
    """The heading that the notebook begins with, or else the name of its file."""
    first = nb.cells[0] if nb.cells else None
    if first is not None and first.cell_type == "markdown" and first.source.lstrip().startswith("# "):
        return first_line(first.source)[2:].strip()
    return path.stem


def read_facts(nb: Any) -> list[tuple[str, str]]:
    """What the cells tagged `fact` said last: `test accuracy: 97 %` is a name and a value."""
    facts: list[tuple[str, str]] = []
    for node in nb.cells:
        if node.cell_type == "code" and "fact" in node.metadata.get("tags", []):
            texts = [_said(output) for output in node.outputs]
            last = next((text for text in reversed(texts) if text.strip()), "")
            name, colon, value = last.strip().rpartition("\n")[2].partition(":")
            if name:
                facts.append((name.strip(), value.strip()) if colon else ("result", name.strip()))
    return facts


def _said(output: Any) -> str:
    if output.output_type == "stream":
        return output.text if output.name == "stdout" else ""
    data = output.get("data", {})
    return "" if is_staged(output) else str(data.get("text/plain", ""))


def needs_lab(error: ImportError) -> JaxnbError:
    """What to raise where a package of the `lab` extra is missing."""
    return JaxnbError(f"a report needs {error.name}, which is not installed.", fix='run: pip install "jaxnb[lab]".')
