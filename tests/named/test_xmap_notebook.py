"""The tutorial runs from top to bottom; its asserts are its tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "named_axes.ipynb"


def test_the_tutorial():
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    source = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    assert source.count("assert") > 12
    # a process of its own, because the tutorial works in float32 and the tests here in float64
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "tensor parallel" in done.stdout
