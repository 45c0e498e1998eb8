"""What is shown of meshes and collectives of several processes, and notebooks that run on a cluster in batch."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import nbformat
import pytest
from sample_layouts import sharded

from jaxnb.program import Collective, Layout, Ledger, ProcessTime, decode, encode
from jaxnb.program.placement.data import Axis, Device, Mesh
from jaxnb.views.drawings import read_drawings
from jaxnb.views.placement_svg import draw_mesh
from jaxnb.views.tints import process_tints


def mesh_of(processes: int) -> Mesh:
    devices = tuple(Device(number, number * processes // 8) for number in range(8))
    return Mesh((Axis("x", 4), Axis("y", 2)), devices)


def collective(axes: tuple[str, ...] | None, sent: int) -> Collective:
    return Collective("all-reduce", 1, (0, 0), 1, ("psum",), axes, 2, sent, sent, 1, False, True, "psum")


@pytest.mark.parametrize(
    ("processes", "axes", "crosses"),
    [
        (1, ("x",), False),
        (4, ("y",), False),
        (4, ("x",), True),
        (4, ("x", "y"), True),
        (2, ("x",), True),
        (2, ("y",), False),
        (8, ("y",), True),
    ],
)
def test_which_axes_lead_from_one_process_to_another(processes: int, axes: tuple[str, ...], crosses: bool) -> None:
    assert mesh_of(processes).crosses(axes) is crosses


def test_a_ledger_splits_what_is_sent_by_processes() -> None:
    items = (collective(("y",), 128), collective(("x",), 4), collective(None, 10))
    assert Ledger(items, mesh_of(4)).by_reach() == (128, 14)
    assert Ledger(items, mesh_of(1)).by_reach() is None and Ledger(items).by_reach() is None
    assert "14 B between processes · 128 B within" in str(Ledger(items, mesh_of(4)))
    assert "between processes" not in str(Ledger(items, mesh_of(1)))


def test_a_mesh_has_a_colour_for_each_process() -> None:
    assert process_tints(mesh_of(1).devices) == {}
    tints = process_tints(mesh_of(4).devices)
    assert len({colour for colour, _ in tints.values()}) == 4
    drawn = str(draw_mesh(mesh_of(4)))
    assert all(colour in drawn for colour, _ in tints.values())
    assert not any(colour in str(draw_mesh(mesh_of(1))) for colour, _ in tints.values())


TIMES = (ProcessTime(0, "one", 0.02, 0.005), ProcessTime(1, "two", 0.02, 0.0))


def test_the_inspector_has_the_time_of_each_process_and_their_colours_on_the_mesh() -> None:
    program = replace(sharded(), processes=TIMES)
    saved = decode(encode(program))
    assert saved.processes == TIMES and saved == program != sharded()
    assert "processes" not in encode(sharded()) and "processes" not in read_drawings(sharded())
    drawn = read_drawings(program)["processes"]
    assert drawn["who"] == ["process 0 · one", "process 1 · two"]
    assert (drawn["seconds"], drawn["waited"]) == ([0.02, 0.02], [0.005, 0.0]) and len(set(drawn["hue"])) == 2
    layout = Layout((mesh_of(4),), (), None)
    mesh = read_drawings(replace(program, _layout=layout))["meshes"][0]
    assert mesh["hues"] == [hue for hue in dict.fromkeys(mesh["hues"]) for _ in range(2)] and len(mesh["hues"]) == 8
    assert "hues" not in read_drawings(replace(program, _layout=Layout((mesh_of(1),), (), None)))["meshes"][0]


def test_nothing_of_clusters_is_loaded_before_there_is_one() -> None:
    script = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("%load_ext jaxnb")
shell.run_cell("%%jit\\nx = 1")
shell.run_cell("%jaxnb cluster")
heavy = {"ipyparallel", "psutil", "jaxnb.clusters.cluster", "jaxnb.clusters.engine"} & set(sys.modules)
assert not heavy, heavy
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("missing", ["ipyparallel", "cloudpickle", "psutil"])
def test_what_is_not_installed_is_named(missing: str) -> None:
    script = f"""
import sys
sys.modules[{missing!r}] = None
import jaxnb
from jaxnb.errors import JaxnbError
try:
    jaxnb.cluster(n=2)
except JaxnbError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert f"clusters need {missing}" in done.stdout and 'pip install "jaxnb[cluster]"' in done.stdout, done.stderr


def test_a_notebook_runs_on_a_cluster_in_batch(tmp_path: Any) -> None:
    cells = [
        "%load_ext jaxnb\nimport jax, jax.numpy as jnp\nfrom jax.sharding import PartitionSpec as P",
        "%jaxnb mesh x=4",
        "%%jit\nx = jax.device_put(jnp.arange(8.0), P('x'))\ns = jnp.sum(x)\ns",
        "float(s)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    path, out = tmp_path / "book.ipynb", tmp_path / "ran.ipynb"
    nbformat.write(notebook, path)
    command = [sys.executable, "-m", "jaxnb.shell.cli", "run", str(path), "-n", "2", "--devices", "2", "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ran = nbformat.read(out, as_version=4)
    assert len(ran.cells) == 4 and ran.cells[3].outputs[0].data["text/plain"] == "28.0"
    assert any("on 2 processes" in str(one) for one in ran.cells[2].outputs)
    assert nbformat.read(path, as_version=4).cells[2].outputs == []
