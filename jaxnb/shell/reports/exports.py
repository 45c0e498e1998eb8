"""`jaxnb report --export DIR`: the named cells of a notebook, each as a file beside the page.

A cell has a name by `--name f` or `-o run` in its header. The kernel exports it when it has run.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jaxnb
from jaxnb.errors import BadHeader, JaxnbError
from jaxnb.shell.comment import read_directive
from jaxnb.shell.header import JIT_OPTIONS, full_header, parse_grad, parse_header
from jaxnb.shell.reports.execute import Ask, complete_programs

__all__ = ["Exported", "Exports", "export_last", "name_of_cell"]

_MAGICS = ("jit", "grad", "xmap")


@dataclass(frozen=True, slots=True)
class Exported:
    """A named cell that was to be exported.

    Attributes:
      name: of the cell.
      path: of the file.
      error: why there is none; "" if it was written.
    """

    name: str
    path: Path
    error: str = ""


@dataclass(slots=True)
class Exports:
    """Exports the named cells of a notebook as they run.

    Args:
      folder: where the files go; it is made if it is not there.

    Attributes:
      found: the named cells so far.
    """

    folder: Path
    found: list[Exported] = field(default_factory=list[Exported])

    def prepare(self) -> None:
        """Makes the folder.

        Raises:
          JaxnbError: if that cannot be done.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"cannot write into {self.folder}."
            raise JaxnbError(what, why=f"{error.strerror}.", fix="name a folder with --export.") from error

    async def after_cell(self, ask: Ask, node: Any) -> None:
        """Has the kernel export a cell that has a name."""
        await complete_programs(ask, node)
        name = name_of_cell(node.source)
        if not name or any(output.output_type == "error" for output in node.outputs):
            return
        path = self.folder.resolve() / f"{name}.jaxexport"
        answer = await ask(f"export_last({node.source!r}, {os.fspath(path)!r})", __name__)
        told = json.loads(answer) if answer else {"error": "the kernel did not answer in time."}
        self.found = [one for one in self.found if one.name != name]
        self.found.append(Exported(name, self.folder / path.name, told["error"]))


def name_of_cell(source: str) -> str:
    """The name that the header of a staged cell gives it, "" if it has none.

    >>> name_of_cell("%%jit --name model\\ny = x"), name_of_cell("# jaxnb: jit -o run\\ny = x"), name_of_cell("y = x")
    ('model', 'run', '')
    """
    text = source.lstrip()
    line, _, body = text.partition("\n")
    directive = read_directive(text)
    if directive is not None:
        magic, header = directive.word, directive.header
    else:
        word, _, header = line.removeprefix("%%").removeprefix("jaxnb ").partition(" ")
        magic = word if line.startswith("%%") else ""
    if magic not in _MAGICS:
        return ""
    header = full_header(header, body)
    if magic == "xmap":
        header = header[header.find(" --") :] if " --" in header else header[header.find(" -o ") :]
    try:
        found = parse_grad(header) if magic == "grad" else parse_header(header.strip(), JIT_OPTIONS)
    except BadHeader:  # of which the cell itself tells
        return ""
    return found.get("name") or found.get("o") or ""


def export_last(source: str, path: str) -> str:
    """In the kernel: exports the last run to a path, and says as JSON what went wrong."""
    try:
        run = jaxnb.last()
        if run.program.source.strip() != source.strip():
            raise JaxnbError("its run is not the last one any more.")
        run.export(path)
    except Exception as error:  # which is for the report to tell
        told = str(error) if isinstance(error, JaxnbError) else f"{type(error).__name__}: {error}"
        return json.dumps({"error": told.removeprefix("the cell cannot be exported: ")})
    return json.dumps({"error": ""})
