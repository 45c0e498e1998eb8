"""`jaxnb run NOTEBOOK --cluster PROFILE`: a notebook without anybody before it, its staged cells on a cluster."""

from __future__ import annotations

import asyncio
import copy
from pathlib import Path
from typing import Any

from jaxnb.errors import JaxnbError
from jaxnb.shell.reports.execute import Ask, CellFailed, Progress, execute_notebook
from jaxnb.shell.reports.notebook import check_kernel, read_notebook

__all__ = ["run_on_cluster"]

_BEGIN = "__import__('jaxnb.shell.clusters', fromlist=['_']).begin_on_cluster({!r}, {!r}, {!r})"
_END = "__import__('jaxnb').cluster().stop()"


def run_on_cluster(
    notebook: Path,
    output: Path,
    cluster: tuple[int, int | None, str],
    *,
    progress: Progress,
    keep_going: bool = False,
    timeout: int | None = None,
) -> bool:
    """Runs the cells of a notebook in its folder, the staged ones on a cluster that lasts as long, and writes it with
    its outputs, those of a cell that failed among them.

    Args:
      notebook: the file, which stays as it is.
      output: the file that is written.
      cluster: how many processes it has, how many virtual CPU devices each, and the profile of ipyparallel.
      progress: is told what goes on.
      keep_going: whether a cell may fail without ending it all.
      timeout: seconds that one cell may take.

    Returns:
      Whether a cell failed.

    Raises:
      JaxnbError: if the notebook cannot be read, or the other one not be written, or the cluster does not start.
    """
    nb = read_notebook(notebook)
    check_kernel(nb, notebook)
    import nbformat

    if output.exists() and output.samefile(notebook):
        raise JaxnbError(f"cannot write {output}.", why="it is the notebook.", fix="name another file with -o.")
    ran: Any = copy.deepcopy(nb)
    begin, end = (nbformat.v4.new_code_cell(source) for source in (_BEGIN.format(*cluster), _END))
    ran.cells = [begin, *ran.cells, end]
    failed: CellFailed | None = None
    try:
        run = execute_notebook(
            ran, notebook, progress=progress, keep_going=keep_going, timeout=timeout, after_cell=_nothing
        )
        asyncio.run(run)
    except CellFailed as error:
        failed = error
    if any(one.output_type == "error" for one in begin.outputs):
        told = next(one for one in begin.outputs if one.output_type == "error")
        raise JaxnbError("the cluster did not start, and nothing was run.", why=f"{told.ename}: {told.evalue}")
    ran.cells = ran.cells[1:-1]
    try:
        nbformat.write(ran, output)
    except OSError as error:
        raise JaxnbError(f"cannot write {output}.", why=f"{error.strerror}.") from error
    if failed is not None:
        raise failed
    return any(one.output_type == "error" for cell in ran.cells for one in cell.get("outputs", ()))


async def _nothing(ask: Ask, node: Any) -> None:
    """Asks nothing: the programs that are saved are those of the notebook."""
