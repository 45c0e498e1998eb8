"""Named axes as strands: goldens that were looked at, and what holds for all of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from golden import CASES, check_golden
from jax.sharding import PartitionSpec as P
from sample_shardings import mesh_of
from shells import Shell, shell

import jaxnb
from jaxnb.api import inspect, stage, xmap_cell
from jaxnb.errors import JaxnbError
from jaxnb.program import Level, Program
from jaxnb.views.axes_diagram import AxesDiagram
from jaxnb.views.axis_flow import AxisFlow, Bundle, Knot, NamedAxis
from jaxnb.views.axis_flow_svg import draw_strands
from jaxnb.views.axis_flow_text import render_strands

__all__ = ["shell"]

SVG = "{http://www.w3.org/2000/svg}"


def space() -> dict[str, Any]:
    arrays = {"x": (8, 4), "w": (4, 6), "b": (6,), "a": (8, 8), "v": (8, 6), "e": (8, 4, 6)}
    made = {name: jnp.ones(shape, jnp.float32) for name, shape in arrays.items()}
    return {"jax": jax, "jnp": jnp, "P": P, "jaxnb": jaxnb, "mesh": mesh_of(x=4, y=2), **made}


LAYER = "h = jnp.tanh(jnp.dot(x, w, 'i') + b)\ns = jnp.sum(h, axis='o')"


def mapped(cell: str, spec: str, **resources: Any) -> Program:
    names = space()
    return xmap_cell(cell, names, spec, resources=resources, mesh=names["mesh"]).program


def of_cell(cell: str) -> Program:
    return stage(cell, space()).program


PROGRAMS: dict[str, Any] = {
    "layer": lambda: mapped(LAYER, "x[n, i], w[i, o], b[o] -> s[n]", n="x", o="y"),
    "no-mesh": lambda: mapped(LAYER, "x[n, i], w[i, o], b[o] -> s[n]"),
    "loop": lambda: mapped(LAYER, "x[n, i], w[i, o], b[o] -> s[n]", n=("x", jaxnb.SerialLoop(2))),
    "einsum": lambda: mapped("y = jnp.einsum('{n,i},{n,i,o},{o}->{n}', x, e, b)", "x[n, i], e[n, i, o], b[o] -> y[n]"),
    "collectives": lambda: of_cell(
        "def f(p, q):\n    h = jnp.tanh(jax.lax.psum(p @ q, 'x'))\n"
        "    return jax.lax.all_gather(h, 'y', tiled=True) * jax.lax.axis_index('x')\n"
        "y = jax.shard_map(f, mesh=mesh, in_specs=(P('y', 'x'), P('x', None)), out_specs=P('x'), check_vma=False)(a, v)"
    ),
    "vmap": lambda: of_cell(
        "def f(p, q):\n    h = p @ q\n    return h - jax.lax.pmean(h, 'batch')\n"
        "y = jax.vmap(f, in_axes=(0, None), axis_name='batch')(a, v)"
    ),
}


def diagram(name: str) -> AxesDiagram:
    return PROGRAMS[name]().axes_diagram()


@pytest.mark.parametrize("name", PROGRAMS)
def test_diagrams(name: str) -> None:
    (strands, *_) = diagram(name).maps
    check_golden(f"strands/{name}.txt", render_strands(strands) + "\n")
    check_golden(f"strands/{name}.svg", draw_strands(strands) + "\n")


def test_no_golden_is_left_over() -> None:
    names = {f"{name}.{kind}" for name in PROGRAMS for kind in ("txt", "svg")}
    assert {path.name for path in Path(CASES / "strands").iterdir()} == names


@pytest.mark.parametrize("name", PROGRAMS)
def test_strands_are_those_of_the_values(name: str) -> None:
    for strands in diagram(name).maps:
        known = {strand.name for strand in strands.names}
        made: set[int] = set()
        for knot in strands.knots:
            assert set(knot.takes) <= made, "a value is made before it is taken"
            held = {axis for number in knot.takes for axis in strands.bundles[number].named}
            left = {axis for number in knot.makes for axis in strands.bundles[number].named}
            if knot.kind == "op":
                assert set(knot.ends) == held - left and set(knot.begins) == left - held
            assert held | left <= known
            made |= set(knot.makes)


def test_axes_on_a_mesh_have_the_colour_of_its_axis() -> None:
    (strands,) = diagram("layer").maps
    assert [str(strand) for strand in strands.names] == ["n:8 on x", "i:4", "o:6 on y"]
    drawn = ElementTree.fromstring(draw_strands(strands))
    colours: dict[str, set[str]] = {}
    for path in drawn.iter(f"{SVG}path"):
        title = path.find(f"{SVG}title")
        if title is not None and title.text is not None:
            colours.setdefault(title.text.partition(": ")[2], set()).add(path.attrib["stroke"])
    assert all(len(found) == 1 for found in colours.values()) and len({c for f in colours.values() for c in f}) == 3
    (by_hand,) = diagram("collectives").maps
    text = draw_strands(by_hand)
    assert next(iter(colours["n"])) in text and next(iter(colours["o"])) in text  # x and y, in both pictures


def test_where_axes_end_and_meet() -> None:
    text = str(diagram("layer"))
    assert "x and w meet in i" in text and "psum over o" in text
    assert len(re.findall("●", text)) == 2
    many = str(diagram("einsum"))
    assert re.search(r"meet in .*i", many)
    assert "x begins" in str(diagram("collectives")) and "all_gather over y" in str(diagram("collectives"))


def test_the_names_of_a_vmap_are_those_that_were_given() -> None:
    (strands,) = diagram("vmap").maps
    assert strands.kind == "vmap" and strands.names == (NamedAxis("batch", 8),)
    assert [bundle.named for bundle in strands.bundles[:2]] == [("batch",), ()]
    assert [knot.text for knot in strands.knots if knot.kind == "input"] == ["p", "q"]
    assert any("batch" in knot.ends and knot.text == "psum" for knot in strands.knots)
    assert jax.vmap.__module__.startswith("jax")  # nothing stays behind


def test_a_function_that_is_inspected() -> None:
    names = space()

    def f(x: Any) -> Any:
        return jax.vmap(lambda row: row / jax.lax.psum(row, "n"), axis_name="n")(x)

    (strands,) = inspect(f)(names["x"]).axes_diagram().maps
    assert strands.names == (NamedAxis("n", 8),)


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_stands_out_of_the_frame(name: str) -> None:
    root = ElementTree.fromstring(diagram(name).svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for kind, across, down in (("rect", "x", "y"), ("circle", "cx", "cy"), ("text", "x", "y")):
        for element in root.iter(f"{SVG}{kind}"):
            assert -1 <= float(element.attrib[across]) <= width and -1 <= float(element.attrib[down]) <= height
    for path in root.iter(f"{SVG}path"):
        assert all(-1 <= float(number) <= max(width, height) for number in re.findall(r"-?[\d.]+", path.attrib["d"]))


def test_names_are_text_everywhere() -> None:
    bundle = Bundle("<b>", "f32[]", ("<i>",), 0)
    strands = AxisFlow("xmap", (NamedAxis("<i>", 3),), (bundle,), (Knot("input", "<b>", makes=(0,)),))
    for drawn in (draw_strands(strands), AxesDiagram((strands,)).html):
        assert "<b>" not in drawn.replace("<b></b>", "") and "<i>" not in drawn
    ElementTree.fromstring(draw_strands(strands))


def test_long_flows_are_cut() -> None:
    bundle = Bundle("v", "f32[]", ("i",), 0)
    knots = (Knot("input", "v", makes=(0,)), *(Knot("op", "sin", (0,), (0,)) for _ in range(200)))
    strands = AxisFlow("xmap", (NamedAxis("i", 3),), (bundle,), knots)
    assert render_strands(strands).endswith("and 121 more") and "and 141 more" in draw_strands(strands)


def test_where_nothing_is_named() -> None:
    empty = Program("y = x", (Level("jaxpr"),)).axes_diagram()
    assert str(empty) == "no named axes: nothing is mapped over names" == repr(empty)
    with pytest.raises(JaxnbError, match="no named axes"):
        _ = empty.svg
    assert "no named axes" in empty.html


def test_in_a_shell(shell: Shell) -> None:
    assert "no cell has been staged yet" in shell.run("%jaxnb axes", ok=False)
    shell.run("%%jit\ny = x * 2")
    assert "no named axes" in shell.run("%jaxnb axes")
    shell.run("rows = jnp.ones((4, 3))")
    shell.run("%%xmap rows[n, i] -> total[n]\ntotal = jnp.sum(rows, axis='i')")
    text = shell.run("%jaxnb axes")
    assert "xmap over n:4, i:3" in text and "psum over i" in text and "→ total" in text


def test_arrays_that_are_no_jax_arrays() -> None:
    names = {**space(), "rows": np.ones((8, 3), np.float32)}
    run = xmap_cell("y = rows * 2", names, "rows[n, _] -> y[n, _]", resources={"n": "x"}, mesh=names["mesh"])
    assert "n:8 on x" in str(run.program.axes_diagram())
