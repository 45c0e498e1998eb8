"""`%jaxnb mesh` and `%jaxnb sharding`, and the functions that do the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from shells import Shell, shell

import jaxnb
from jaxnb.errors import BadHeader, JaxnbError
from jaxnb.reading.placement.shown import Shown, use_mesh
from jaxnb.shell.placements import mesh_command, sharding_command


@pytest.fixture(autouse=True)
def no_mesh() -> Iterator[None]:
    yield
    use_mesh(None)


def test_make_mesh() -> None:
    for axes in ("x=4, y=2", " x = 4,y=2 ", {"x": 4, "y": 2}):
        mesh = jaxnb.make_mesh(axes)
        assert dict(mesh.shape) == {"x": 4, "y": 2} and mesh.axis_types == (AxisType.Auto,) * 2
    assert jaxnb.make_mesh("x=2", explicit=True).axis_types == (AxisType.Explicit,)
    chosen = jax.devices()[4:6]
    assert list(jaxnb.make_mesh("x=2", devices=chosen).devices.flat) == chosen
    assert jaxnb.make_mesh("x=1, y=1").size == 1


@pytest.mark.parametrize(
    ("text", "said", "word"),
    [
        ("x=4, x=2", "the axis x is there twice", "x"),
        ("x=four", "four is no number of devices", "four"),
        ("x=0", "0 is no number of devices", "0"),
        ("x=-2", "-2 is no number of devices", "-2"),
        ("x=2.5", "2.5 is no number of devices", "2.5"),
        ("x=4, 2", "an axis is written as name=size", "2"),
        ("x", "an axis is written as name=size", "x"),
        ("x=4 y=2", "an axis is written as name=size", "x=4 y=2"),
    ],
)
def test_axes_that_cannot_be_read(text: str, said: str, word: str) -> None:
    with pytest.raises(BadHeader, match=said) as caught:
        jaxnb.make_mesh(text)
    error = caught.value
    assert error.header[error.column : error.column + error.width].strip() == word


def test_meshes_that_cannot_be_made() -> None:
    with pytest.raises(JaxnbError, match=r"x=4, y=4 takes 16 devices, and there are 8(.|\n)*Try: x=4, y=2, or"):
        jaxnb.make_mesh("x=4, y=4")
    with pytest.raises(JaxnbError, match=r"takes 48 devices, and there are 8(.|\n)*Try: x=8, or"):
        jaxnb.make_mesh("x=16, y=3")
    with pytest.raises(JaxnbError, match="and there is 1"):
        jaxnb.make_mesh("x=2", devices=jax.devices()[:1])
    for bad in ("", {}):
        with pytest.raises(JaxnbError, match="needs an axis"):
            jaxnb.make_mesh(bad)
    with pytest.raises(JaxnbError, match="size True"):
        jaxnb.make_mesh({"x": True})

    class Gpu:
        platform = "gpu"

    with pytest.raises(JaxnbError, match="2 platforms: cpu and gpu"):
        jaxnb.make_mesh("x=2", devices=[jax.devices()[0], Gpu()])


def test_the_mesh_of_all_cells(shell: Shell) -> None:
    assert "no mesh is set" in shell.run("%jaxnb mesh")
    text = shell.run("%jaxnb mesh x=4, y=2")
    assert "mesh x=4, y=2 · 8 devices, cpu · auto axes" in text and "not in it" not in text
    assert dict(jax.sharding.get_mesh().shape) == {"x": 4, "y": 2}
    cell = "%%jit\nrows = jax.lax.with_sharding_constraint(jnp.ones((8, 4)), jax.P('x', 'y'))"
    shell.run(cell)
    assert shell.ns["rows"].sharding.spec == P("x", "y")
    shell.run("plain = jax.device_put(jnp.ones(8), jax.P('y'))")
    assert "y=2" in shell.run("%jaxnb mesh") and shell.ns["plain"].sharding.spec == P("y")
    shell.run("%jaxnb mesh d=8")
    shell.run(cell.replace("'x', 'y'", "'d'"))
    assert tuple(shell.ns["rows"].sharding.spec)[:1] == ("d",)
    assert dict(jax.sharding.get_mesh().shape) == {"d": 8}
    assert "no mesh is set any more" in shell.run("%jaxnb mesh off") and jax.sharding.get_mesh().empty
    assert "no mesh was set" in shell.run("%jaxnb mesh off")
    assert "no mesh is set; %jaxnb mesh" in shell.run("%jaxnb mesh")
    assert shell.run("%%jit\ny = x * 2")


def test_a_mesh_of_some_devices_says_so() -> None:
    shown = mesh_command("x=3, y=2")
    assert str(shown).endswith("2 of 8 devices are not in it") and "2 of 8" in shown.html
    assert "explicit" in str(mesh_command("x=4 --explicit")) and "x=4 explicit" in str(mesh_command(""))


def test_a_wrong_mesh_changes_nothing(shell: Shell) -> None:
    shell.run("%jaxnb mesh x=2")
    assert "takes 9 devices" in shell.run("%jaxnb mesh x=9", ok=False)
    assert "UsageError" in shell.run("%jaxnb mesh x=2, x=2", ok=False)
    assert dict(jax.sharding.get_mesh().shape) == {"x": 2}


def test_no_mesh_inside_of_a_trace() -> None:
    def f(x: Any) -> Any:
        use_mesh(jaxnb.make_mesh("x=2"))
        return x

    with pytest.raises(JaxnbError, match="cannot be set here"):
        jax.jit(f)(1.0)


def test_sharding_of_a_name(shell: Shell) -> None:
    shell.run("%jaxnb mesh x=4, y=2")
    shell.run("params = {'w': [jax.device_put(jnp.ones((8, 4)), jax.P('x'))], 'b': jnp.ones(3), 'n': 3}")
    text = shell.run("%jaxnb sharding params")
    assert "params · 2 arrays" in text and "['w'][0]" in text and "P('x')" in text and "×2" in text
    text = shell.run("%jaxnb sharding params['w'][0]")
    assert "params['w'][0] float32[8,4] · P('x') on x=4, y=2" in text and "│ 6 7 │" in text
    assert "x float32[3]" in shell.run("%jaxnb sharding x")
    shell.run("class C: w = params['w'][0]")
    assert "C.w float32[8,4]" in shell.run("%jaxnb sharding C.w")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "sharding of what"),
        ("nowhere", "there is no nowhere"),
        ("params['z']", "cannot be read"),
        ("params.z", "cannot be read"),
        ("params[", "no name with attributes"),
        ("f(params)", "assign it to a name first"),
        ("params[i]", "no name with attributes"),
    ],
)
def test_names_that_cannot_be_read(text: str, said: str) -> None:
    with pytest.raises(BadHeader, match=said) as caught:
        sharding_command(text, {"params": {"w": jnp.ones(3)}, "i": 0, "f": 1 / 3})
    assert caught.value.header == f"%jaxnb sharding {text}".rstrip()


def test_nothing_is_run_to_read_a_name() -> None:
    with pytest.raises(BadHeader):
        sharding_command("exit()", {"exit": lambda: 1 / 0})


def test_show_sharding() -> None:
    mesh = jaxnb.make_mesh("x=4, y=2")
    rows = jax.device_put(np.ones((8, 4), np.float32), NamedSharding(mesh, P("x")))
    shown = jaxnb.show_sharding(rows, name="rows")
    assert str(shown).startswith("rows float32[8,4]") and repr(shown) == str(shown)
    assert shown.svg.startswith("<svg xmlns=") and shown.svg in shown.html
    told = {"text/plain": str(shown), "text/html": shown.html, "image/svg+xml": shown.svg}
    assert shown._repr_mimebundle_() == told
    assert "x ↓" in str(jaxnb.show_sharding(mesh)) and "<svg" in jaxnb.show_sharding(mesh).svg
    assert "[6,3]" in str(jaxnb.show_sharding(rows.sharding, (6, 3), "int8"))
    table = jaxnb.show_sharding([rows, 2])
    assert set(table._repr_mimebundle_()) == {"text/plain", "text/html"}
    assert "<table" in table.html and "[1]" in str(table)
    with pytest.raises(JaxnbError, match=r"a table(.|\n)*`.html`"):
        _ = table.svg
    assert isinstance(shown, Shown)


@pytest.mark.parametrize(
    ("value", "said"),
    [(3, "is an int, no array"), (np.ones(2), "is a ndarray, in the memory of Python"), (object(), "is an object")],
)
def test_what_lies_on_no_device(value: Any, said: str) -> None:
    with pytest.raises(JaxnbError, match=said):
        jaxnb.show_sharding(value)


def test_a_deleted_array() -> None:
    gone = jnp.ones(3)
    gone.delete()
    with pytest.raises(JaxnbError, match="was deleted"):
        jaxnb.show_sharding(gone)
    assert "deleted" in str(jaxnb.show_sharding({"a": gone}))
