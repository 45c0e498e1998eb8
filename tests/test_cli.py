"""The command line: what it takes, the commands that are not `report`, and how it shows what goes on."""

from __future__ import annotations

import io
import re
import subprocess
import sys

import pytest
from test_report import QUICKSTART, notebook, run

from jaxnb import __version__
from jaxnb.shell import cli
from jaxnb.shell.reports.notebook import Cell


def test_the_command_line(capsys):
    for arguments in (
        [],
        ["report"],
        ["nonsense"],
        ["report", "x", "--timeout", "0"],
        ["report", "x", "--bogus"],
    ):
        with pytest.raises(SystemExit) as exit:
            cli.main(arguments)
        assert exit.value.code == 2
    capsys.readouterr()
    with pytest.raises(SystemExit) as exit:
        cli.main(["--version"])
    assert exit.value.code == 0 and capsys.readouterr().out == f"jaxnb {__version__}\n"


def test_demo_reports_the_quickstart(tmp_path, capsys, monkeypatch):
    source = notebook(tmp_path / "01_quickstart.ipynb", "print('accuracy: 1')", tags=["fact"])
    monkeypatch.setattr(cli, "_tutorials", lambda: tmp_path)
    code, out, _ = run(capsys, "demo", "-o", tmp_path / "d.html")
    assert code == 0 and out == "accuracy: 1\n" and (tmp_path / "d.html").exists()
    monkeypatch.undo()
    assert cli._tutorials() / source.name == QUICKSTART


def test_lab_opens_the_tutorials(capsys, monkeypatch):
    seen = []

    def fake(command, env, check):
        seen.append((command, env["JUPYTER_PREFER_ENV_PATH"]))
        return subprocess.CompletedProcess(command, 7)

    monkeypatch.setattr(cli.subprocess, "run", fake)
    assert run(capsys, "lab", "--no-browser", "--port=1")[0] == 7
    expected = [sys.executable, "-m", "jupyterlab", str(QUICKSTART.parent), "--no-browser", "--port=1"]
    assert seen == [(expected, "1")]


def test_the_bar_is_one_line_and_leaves_the_times(capsys):
    stream = io.StringIO()
    bar = cli.Bar(stream)
    bar.tick()
    assert stream.getvalue() == ""
    bar.begin(Cell(1, 2, "%%jit\ny = \x1b[31m" + "x" * 500))
    bar.end(Cell(1, 2, "%%jit\ny = x", line="staged · 1 input"))
    bar.begin(Cell(2, 2, ""))
    bar.close()
    drawn = stream.getvalue().split("\r\x1b[2K")
    assert drawn[1].startswith("░" * 24 + " 1/2  0.0 s  %%jit · y = ?[31mxxx")
    assert drawn[2] == "[1] 0.0 s  %%jit · y = x\n" and max(map(len, drawn)) < 80
    assert drawn[-2].startswith("█" * 12 + "░" * 12 + " 2/2") and drawn[-1] == ""
    assert capsys.readouterr().out == "[1] staged · 1 input\n"


def test_the_lines_tell_the_time_of_every_cell(capsys):
    stream = io.StringIO()
    lines = cli.Lines(stream)
    lines.begin(Cell(1, 2, "%%jit\ny = x"))
    assert stream.getvalue() == "cell 1/2: %%jit · y = x"  # before it has ended
    lines.end(Cell(1, 2, "%%jit\ny = x", line="staged · 1 input"))
    lines.begin(Cell(2, 2, "1 / 0"))
    lines.close()
    lines.close()
    assert re.fullmatch(r"cell 1/2: %%jit · y = x \(\d\.\d s\)\ncell 2/2: 1 / 0\n", stream.getvalue())
    assert capsys.readouterr().out == "[1] staged · 1 input\n"
