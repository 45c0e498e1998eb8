"""The runner over folders of notebooks: what it counts, and that it tells a wrong cell."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
CELLS = (
    "import jax\nimport jax.numpy as jnp\n\nx = jnp.arange(3.0)",
    "y = jnp.sin(x) * 2\ny",
    "y = y + 1\nprint(y)\nz = y * 2",
    "kept = []\n\ndef keep(v):\n    kept.append(v)\n    return v * 2\n\ndoubled = jax.vmap(keep)(x)",
    "missing + jnp.sin(x)",
    "!touch made_by_a_shell_line",
)


@pytest.fixture
def docs_cells(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import docs_cells

    return docs_cells


def write_notebook(path, cells):
    nodes = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": [cell]} for cell in cells]
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": "# Title"}, *nodes]}), encoding="utf-8")


def test_counts(tmp_path):
    write_notebook(tmp_path / "one.ipynb", CELLS)
    command = [sys.executable, str(BENCHMARKS / "docs_cells.py"), str(tmp_path), "--timeout", "120"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    totals = next(line.split() for line in lines if line.endswith("in all"))
    # whole, split, refused, wrong, rounding, follows, uncertain, fails plainly, plain, magics
    assert totals[:-2] == ["2", "1", "1", "-", "-", "-", "-", "1", "-", "1"]
    assert any(line.startswith("refused 1 times, as one.ipynb [4]: ") for line in lines)
    assert not (tmp_path / "made_by_a_shell_line").exists()


def test_reads_markdown(tmp_path, docs_cells):
    path = tmp_path / "page.md"
    path.write_text("# Title\n\n```{code-cell}\n:tags: [a]\nx = 1\n```\n\n```python\ny = 2\n```\n", encoding="utf-8")
    assert docs_cells.read_cells(path) == [(1, "x = 1\n")]


def test_differences(docs_cells):
    def told(plain, staged):
        one, other = (dict(docs_cells.walk({"x": value})) for value in (plain, staged))
        return [docs_cells.difference(one.get(path), other.get(path)) for path in {**one, **other}]

    one = np.float32([1.0, 2.0])
    assert told([one, 1], [one * np.float32(1 + 1e-6), 1]) == ["", "", ""]
    assert told(one, one * np.float32(1.01))[0].startswith("~")
    assert told(one, one[::-1])[0] and not told(one, one[::-1])[0].startswith("~")
    assert any(told([one, 1], [one, True]))
    assert any(told({"a": one}, {"b": one}))


def test_text(docs_cells):
    tell = docs_cells.text_difference
    assert tell("<f at 0x7f0012345678> 0.1234567", "<f at 0x7f0087654321> 0.1234568") == ""
    assert tell("loss 1.0", "loss 1.01").startswith("~")
    assert tell("Array([1.])", "JitTracer(float32[1])") == "printed 'Array([1.])' plain, 'JitTracer(float32[1])' staged"
