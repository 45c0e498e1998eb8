"""Every notebook of the repository runs from top to bottom in this interpreter, and its asserts hold."""

from __future__ import annotations

import asyncio
from pathlib import Path

import nbformat
import pytest

from jaxnb.shell.reports.execute import execute_notebook
from jaxnb.shell.reports.notebook import read_cells, read_notebook

NOTEBOOKS = sorted(Path(__file__).parent.parent.joinpath("notebooks").glob("*.ipynb"))


class Quiet:
    def begin(self, cell):
        pass

    def tick(self):
        pass

    def end(self, cell):
        pass


def named(path):
    return path.stem


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=named)
def test_is_valid_and_holds_no_outputs(path):
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert notebook.cells[0].source.startswith("# ")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None, cell.id


@pytest.mark.parametrize("path", NOTEBOOKS, ids=named)
def test_executes(path, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(path.parent.parent))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("LAYERS", "2")  # of a notebook that compiles a model of 80 for machines that are not there
    before = path.read_bytes()
    notebook = read_notebook(path)
    asyncio.run(execute_notebook(notebook, path, progress=Quiet(), timeout=180))
    for cell, read in zip([c for c in notebook.cells if c.cell_type == "code"], read_cells(notebook), strict=True):
        raised = ["\n".join(output.traceback) for output in cell.outputs if output.output_type == "error"]
        tags = cell.metadata.get("tags", [])
        meant = "raises-exception" in tags and "in-full" not in tags  # what is too large is so with all layers alone
        # What is tagged has to raise, and to be explained rather than to break.
        assert len(raised) == meant, (cell.id, raised)
        assert all("try: " in text or "Why: " in text for text in raised), (cell.id, raised)
        if cell.source.startswith("%%jaxpr") and " --lower " in cell.source.partition("\n")[0]:
            # A table of platforms, which has no line below it.
            shown = [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
            assert any("lowered for " in text for text in shown), cell.id
        elif cell.source.startswith(("%%jit", "%%jaxpr")) and not meant:
            assert read.line, cell.id
    assert path.read_bytes() == before
