"""The model of the first tutorial, exported and loaded in a process that has none of the notebook's code."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import nbformat
import numpy as np
import pytest

import jaxnb

ROOT = Path(jaxnb.__file__).parents[1]

BARE = """
import sys, numpy, jaxnb, jax
model = jaxnb.load(sys.argv[1])
given = numpy.load("in.npz")
inputs = {}
for place in given:
    name, *keys = place.split("/")
    value = given[place] if name != "key" else jax.random.wrap_key_data(given[place])
    if keys:
        inputs.setdefault(name, {})[keys[0]] = value
    else:
        inputs[name] = value
results = model(**{name: inputs[name] for name in model.signature.names})
leaves = jax.tree_util.tree_leaves_with_path(dict(results))
numpy.savez("out.npz", **{"/".join(str(step.key) for step in path): value for path, value in leaves})
assert "sklearn" not in sys.modules and "IPython" not in sys.modules
print(model.signature)
"""


@pytest.fixture(scope="module")
def cells() -> list[str]:
    notebook: Any = nbformat.read(ROOT / "notebooks/01_quickstart.ipynb", as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def flat(value: Any, place: str) -> dict[str, Any]:
    """Arrays by their places; keys as numbers."""
    if isinstance(value, dict):
        return {at: array for key, item in value.items() for at, array in flat(item, f"{place}/{key}").items()}
    is_key = isinstance(value, jax.Array) and "key" in str(value.dtype)
    return {place: np.asarray(jax.random.key_data(value) if is_key else value)}


def in_bare_process(path: Path, inputs: dict[str, Any], folder: Path) -> tuple[str, dict[str, Any]]:
    """What is printed there, and what the loaded cell gives, by places."""
    given = {at: array for name, value in inputs.items() for at, array in flat(value, name).items()}
    np.savez(folder / "in.npz", **given)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", BARE, str(path)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, dict(np.load(folder / "out.npz"))


@pytest.mark.parametrize("kind", ["loss", "training"])
def test_the_model_gives_the_same_in_a_bare_process(kind: str, cells: list[str], tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    wanted = {"loss": "loss = -jnp.mean(picked)", "training": "trained, losses = train("}[kind]
    for source in cells:
        if source.startswith("%"):
            if wanted not in source:
                continue
            path, body = tmp_path / "model.jaxexport", source.partition("\n")[2]
            before = dict(names)
            run = jaxnb.stage(body, names, export=str(path))
            break
        if not source.startswith("hidden"):  # which looks at what a cell has bound
            exec(source, names)
    loaded = jaxnb.load(path)
    told, got = in_bare_process(path, {name: before[name] for name in loaded.signature.names}, tmp_path)
    assert told.strip() == str(loaded.signature)
    results = {name: run.outputs[name] for name in run.outputs}
    expected = {at: array for name, value in results.items() for at, array in flat(value, name).items()}
    assert got.keys() == expected.keys() >= ({"loss"} if kind == "loss" else {"trained/w1", "losses"})
    for place, array in expected.items():
        assert np.array_equal(got[place], array), place


def test_nothing_of_a_file_is_a_pickle(cells: list[str], tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec("import jax.numpy as jnp\nx = jnp.arange(3.0)", names)
    jaxnb.stage("y = x + 1", names, export=str(tmp_path / "f"))
    data = (tmp_path / "f").read_bytes()
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads(data)
    sources = [path.read_text("utf-8") for path in (ROOT / "jaxnb/exported").glob("*.py")]
    assert sources and not any("pickle" in source or "eval(" in source for source in sources)
