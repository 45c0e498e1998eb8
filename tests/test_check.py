"""`jaxnb check`: what there is to say of the cells of a notebook, as text, JSON and SARIF, with an exit status."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import nbclient.client
import nbformat
import pytest
from nbformat import v4
from test_notebooks import Quiet
from test_report import run

from jaxnb.shell.reports.check import as_json, as_sarif, as_text, check
from jaxnb.shell.reports.notebook import source_lines

CELLS = [
    "import jax\nimport jax.numpy as jnp",
    "x, w = jnp.ones((3, 4)), jnp.ones((3, 4))\n@jax.jit\ndef layer(x, w):\n    return x @ w\nlayer(x, w)",
    "%%jit\nkey = jax.random.key(0)\na = jax.random.normal(key, (3,))\nb = jax.random.normal(key, (3,))",
    "seen = []\n@jax.jit\ndef f(v):\n    seen.append(v)\n    return v * 2\ny = f(1.0)",
    "{}['a']",
    "jnp.ones(2) + jnp.ones(3)",
]


def written(path: Path, *sources: str, raising: tuple[int, ...] = ()) -> Path:
    cells = [v4.new_markdown_cell("# A title"), *(v4.new_code_cell(source) for source in sources)]
    for number in raising:
        cells[number].metadata["tags"] = ["raises-exception"]
    nbformat.write(v4.new_notebook(cells=cells), path)
    return path


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    path = written(tmp_path_factory.mktemp("check") / "a.ipynb", *CELLS, raising=(6,))
    return check(path, progress=Quiet())


def test_plain_and_staged_cells_are_told_of_with_cell_and_line(checked):
    found = [(cell.number, one.id, one.line) for cell in checked.cells for one in cell.findings]
    assert found == [(2, "JNB-contraction", 4), (3, "JNB-key", 4), (4, "JNB-leak", 6)]
    assert checked.cells[-1].number == 5 and checked.cells[-1].error.startswith("KeyError")  # [6] is meant to raise
    text = as_text(checked)
    assert "cell [2], line " in text and "x @ w.T" in text and "tried: it works" in text
    assert text.endswith("a.ipynb: 6 cells ran; 2 errors, 2 wrong results")


def test_lines_are_those_of_the_file(checked):
    lines = checked.path.read_text().splitlines()
    data = json.loads(as_json(checked))
    told = data["findings"][0]
    assert "return x @ w" in lines[told["file_line"] - 1] and told["severity"] == "error"
    assert data["counts"] == {"error": 2, "wrong": 2, "slow": 0, "fact": 0}
    (log,) = json.loads(as_sarif(checked))["runs"]
    assert {rule["id"] for rule in log["tool"]["driver"]["rules"]} == {one["ruleId"] for one in log["results"]}
    levels = [one["level"] for one in log["results"]]
    assert levels == ["error", "warning", "warning", "error"] and log["results"][-1]["ruleId"] == "JNB-raised"
    place = log["results"][1]["locations"][0]["physicalLocation"]
    assert "b = jax.random.normal" in lines[place["region"]["startLine"] - 1]


def test_what_is_right_exits_with_0(tmp_path, capsys):
    path = written(tmp_path / "b.ipynb", "import jax.numpy as jnp\nx = jnp.ones(3) * 2")
    code, out, _ = run(capsys, "check", path)
    assert code == 0 and out == f"{path}: 1 cell ran; nothing to say\n"


def test_what_is_wrong_exits_with_1_and_goes_into_a_file(tmp_path, capsys):
    path = written(tmp_path / "c.ipynb", "1 / 0", "x = 1")
    code, out, _ = run(capsys, "check", path, "--format", "json", "-o", tmp_path / "c.json")
    assert code == 1 and out == ""
    data = json.loads((tmp_path / "c.json").read_text())
    assert data["errors"] == [{"cell": 1, "error": "ZeroDivisionError: division by zero"}] and data["ran"] == 2


def test_the_times_of_cells_are_read_whatever_ipyparallel_does_to_jupyter_client(tmp_path, capsys, monkeypatch):
    seen = []
    original = nbclient.client.timestamp
    monkeypatch.setattr("jupyter_client.session.extract_dates", lambda obj: obj)  # as it does when it is imported
    monkeypatch.setattr(nbclient.client, "timestamp", lambda m: seen.append(m["header"]["date"]) or original(m))
    assert run(capsys, "check", written(tmp_path / "d.ipynb", "x = 1"))[0] == 0
    assert len(seen) >= 2 and all(isinstance(date, datetime) for date in seen)


def test_bad_command_lines_and_files(tmp_path, capsys):
    with pytest.raises(SystemExit) as exit:
        run(capsys, "check", "a.ipynb", "--format", "xml")
    assert exit.value.code == 2
    code, _, err = run(capsys, "check", tmp_path / "missing.ipynb")
    assert code == 1 and "cannot read" in err


def test_the_lines_of_cells_are_found_in_all_forms_of_a_file():
    cells = [{"source": ["a = 1\n", "\n", "b = 2"]}, {"outputs": [{"source": "c"}], "source": ["c"]}, {"source": ["a"]}]
    text = json.dumps({"cells": cells}, indent=1)
    found = source_lines(text, ["a = 1\n\nb = 2", "c", "a"])
    lines = text.splitlines()
    texts = [[lines[at - 1].strip().strip(',"') for at in one] for one in found]
    assert texts == [["a = 1\\n", "\\n", "b = 2"], ["c"], ["a"]]
    assert source_lines('{"cells": [{"source": "a\\nb"}]}', ["a\nb"]) == [(1, 1)]
    assert source_lines("{}", ["a"]) == [()]
