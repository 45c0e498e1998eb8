"""A cell under sliders: other numbers, the same program, and nothing bound until it is asked for."""

from __future__ import annotations

import doctest

import jax.numpy as jnp
import pytest
from shells import shell  # noqa: F401

from jaxnb.errors import JaxnbError, Refused
from jaxnb.shell import sliders as module
from jaxnb.shell.sliders import Moved, read_ranges, sliders

CELL = "y = x * lr\nloss = jnp.sum(y) + n\nloss"


@pytest.fixture
def names():
    return {"jnp": jnp, "x": jnp.arange(4.0), "lr": 0.5, "n": 2, "scale": jnp.float32(1.0)}


def test_a_move_traces_nothing_and_binds_nothing(names):
    before = dict(names)
    moved = Moved(CELL, names, ("lr", "n"))
    for lr in (0.25, 0.75, 1.0):
        run = moved.run(lr=lr, n=3)
        assert run.reused
        assert float(run.value) == 6 * lr + 3
    assert names == before


def test_an_array_stays_of_its_dtype(names):
    moved = Moved("y = x * scale", names, ("scale",))
    run = moved.run(scale=2.0)
    assert run.reused and run.outputs["y"].tolist() == [0, 2, 4, 6]


def test_binding_binds_the_numbers_and_what_the_cell_makes(names):
    Moved(CELL, names, ("lr",)).bind(lr=1.0)
    assert names["lr"] == 1.0 and names["y"].tolist() == [0, 1, 2, 3] and float(names["loss"]) == 8


def test_a_cell_that_changes_objects_is_refused_and_changes_nothing(names):
    names["log"] = []
    with pytest.raises(Refused):
        Moved("y = x * lr\nlog.append(y)", names, ("lr",))
    assert names["log"] == [] and "y" not in names


@pytest.mark.parametrize(("name", "value"), [("x", None), ("lr", "fast"), ("lr", True), ("missing", None)])
def test_only_numbers_are_moved(names, name, value):
    if value is not None:
        names[name] = value
    with pytest.raises(JaxnbError, match="cannot be moved"):
        Moved(CELL, names, (name,))


@pytest.mark.parametrize("text", ["lr", "lr=1", "lr=2..1", "lr=a..b", "1=0..1", "", "lr=0..1,", "lr=1..1"])
def test_what_is_no_range_is_refused(text):
    with pytest.raises(JaxnbError, match="no range"):
        read_ranges(text)


def test_ranges():
    assert read_ranges("lr=-1e-3..0.1") == {"lr": (-0.001, 0.1)}


def test_sliders_show_the_numbers_and_move_the_cell(names):
    import ipywidgets

    box = sliders(CELL, names, {"lr": (0.0, 1.0), "n": (1, 9)})
    lr, n, row, _ = box.children
    button, line = row.children
    assert isinstance(lr, ipywidgets.FloatSlider) and isinstance(n, ipywidgets.IntSlider)
    assert (lr.value, n.value) == (0.5, 2)
    lr.value = 1.0
    assert line.value.startswith("✓ reused")
    assert names["lr"] == 0.5 and "loss" not in names
    button.click()
    assert names["lr"] == 1.0 and float(names["loss"]) == 8
    box.close_all()


def test_the_option_puts_a_cell_under_sliders(shell):
    shell.run("lr = 0.5")
    box = shell.ip.run_cell("%%jit --interact lr=0.0..1.0\nloss = jnp.sum(x * lr)").result
    assert box.children[0].value == 0.5
    assert "loss" not in shell.ns
    box.close_all()
    assert "no range" in shell.run("%%jit --interact lr=1..0\nloss = lr", ok=False)
    assert "--time" in shell.run("%%jit --interact lr=0..1 --time\nloss = lr", ok=False)
