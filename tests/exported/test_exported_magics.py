"""`%%jit --export`, the options beside it, and `jaxnb report --export`."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbformat import v4
from shells import Shell, shell

import jaxnb
from jaxnb.shell import cli
from jaxnb.shell.completion import complete_header
from jaxnb.shell.reports.exports import name_of_cell

__all__ = ["shell"]


def test_a_cell_is_exported_besides_running_as_always(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "f.jaxexport"
    text = shell.run(f"%%jit --export {path}\ny = jnp.sin(x) @ w\ny.shape")
    assert "(2,)" in text and f"exported {path}" in text and shell.ns["y"].shape == (2,)
    loaded = jaxnb.load(path)
    assert loaded.source == f"%%jit --export {path}\ny = jnp.sin(x) @ w\ny.shape"
    assert loaded(shell.ns["x"], shell.ns["w"]).y.tolist() == shell.ns["y"].tolist()
    shell.ns["loaded"] = loaded
    assert "takes x float32[3]" in shell.run("loaded")
    os.remove(path)
    assert "✓ reused" in shell.run(f"%%jit --export {path}\ny = jnp.sin(x) @ w\ny.shape") and path.exists()


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("# jaxnb: jit --export {}\ny = x * n", ["y"]),
        ("%%grad loss wrt x --export {}\nloss = (x @ w).sum()", ["loss", "d_x"]),
        ("%%xmap x[i], w[i, o] -> y[o] --export {}\ny = jnp.dot(x, w, 'i')", ["y"]),
    ],
)
def test_the_other_magics_export_too(cell: str, names: list[str], shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "f"
    shell.run(cell.format(path))
    loaded = jaxnb.load(path)
    results = loaded(**{name: shell.ns[name] for name in loaded.signature.names})
    assert list(results) == names
    for name in names:
        assert results[name].tolist() == shell.ns[name].tolist()


def test_what_cannot_be_exported_is_told_and_nothing_is_bound(shell: Shell, tmp_path: Path) -> None:
    text = shell.run(f"%%jit --export {tmp_path / 'f'}\ny = x + 1\nprint(y)", ok=False)
    assert "Refused: the cell cannot be exported: Python runs line 3 on the host." in text
    assert "y" not in shell.ns and not (tmp_path / "f").exists()
    assert "platforms go with export" in shell.run("%%jit --platforms cpu\ny = x + 1", ok=False)


def test_the_options_are_completed_and_explained(shell: Shell) -> None:
    assert complete_header("%%jit --exp", 0, 11, {}).texts == ("--export",)
    assert complete_header("%%grad loss wrt x --plat", 0, 24, {}).texts == ("--platforms",)
    assert "tpu" in complete_header("%%jit --export f --platforms cpu, t", 0, 35, {}).texts
    usage = shell.ip.magics_manager.magics["cell"]["jit"].__doc__
    assert "--export    write the cell as a file that jaxnb.load makes a function of" in usage


def test_paths_of_files_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").mkdir()
    for name in ("mine.jaxexport", "more.txt", "models/first.jaxexport"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    for begun, wanted in (("m", ("mine.jaxexport", "models/")), ("models/f", ("models/first.jaxexport",)), ("no/", ())):
        text = f"%%jit --export {begun}"
        assert complete_header(text, 0, len(text), {}).texts == wanted


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("%%jit --name model\ny = x", "model"),
        ("%%jit -o run\ny = x", "run"),
        ("%%jit --name model -o run\ny = x", "model"),
        ("\n# jaxnb: jit --static n --name model\ny = x", "model"),
        ("%%jit\n#: --name model\ny = x", "model"),
        ("%%grad loss wrt w -o run\nloss = w", "run"),
        ("%%xmap x[i] -> y[i] --name model\ny = x", "model"),
        ("%%xmap x[i] -> y[i] -o run\ny = x", "run"),
        ("%%jit\ny = x", ""),
        ("%%jaxpr -o program\ny = x", ""),
        ("%%time\ny = x", ""),
        ("%%jit --wrong\ny = x", ""),
        ("y = x  # --name model", ""),
        ("", ""),
    ],
)
def test_the_name_of_a_cell_is_in_its_header(source: str, name: str) -> None:
    assert name_of_cell(source) == name


def test_a_report_exports_the_named_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(jaxnb.__file__).parents[1]))
    cells = [
        "%load_ext jaxnb\nimport jax.numpy as jnp\nx = jnp.arange(3.0)",
        "%%jit --name model\ny = x * 2\ny",
        "%%jit\nz = x + 1",
        "%%jit -o counted\nprint(x)\nz = x + 1",
        "%%jit -o last\nz = model(x) + 1",
    ]
    notebook = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, tmp_path / "notes.ipynb")
    folder = tmp_path / "made" / "here"
    code = cli.main(["report", str(tmp_path / "notes.ipynb"), "-o", str(tmp_path / "p.html"), "--export", str(folder)])
    told = capsys.readouterr().err
    assert code == 1 and sorted(path.name for path in folder.iterdir()) == ["last.jaxexport", "model.jaxexport"]
    assert f"exported {folder / 'model.jaxexport'}" in told
    assert "jaxnb: counted was not exported: Python runs line 2 on the host.\n  Why: print needs values" in told
    floats = np.arange(3, dtype="float32")
    assert jaxnb.load(folder / "model.jaxexport")(floats).y.tolist() == [0, 2, 4]
    assert jaxnb.load(folder / "last.jaxexport")(x=floats).z.tolist() == [1, 3, 5]


def test_a_report_that_runs_nothing_exports_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(tmp_path / "n.ipynb"), "--no-execute", "--export", str(tmp_path)]) == 1
    assert "--export and --no-execute contradict each other" in capsys.readouterr().err
