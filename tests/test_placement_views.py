"""Meshes and placements as text, SVG and HTML: goldens that were looked at, and what holds for all of them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jax
import numpy as np
import pytest
from golden import CASES, check_golden
from hypothesis import given, settings, strategies as st
from jax.sharding import NamedSharding, PartitionSpec as P
from sample_shardings import MESHES, abstract, mesh_of, sample_placements

from jaxnb.program.placement.data import Axis, Device, Mesh as MeshData, Placement, Tree
from jaxnb.reading.placement.read import read_mesh, read_placement, read_tree
from jaxnb.views.grids import ids_text, read_array
from jaxnb.views.placement_html import render_placed
from jaxnb.views.placement_svg import draw_mesh, draw_placement
from jaxnb.views.placement_text import render_mesh, render_placement, render_tree
from jaxnb.views.tints import oklch, tints

PLACEMENTS = sample_placements()
SVG = "{http://www.w3.org/2000/svg}"


def tree() -> Tree:
    mesh = mesh_of(x=4, y=2)
    rows, columns, whole = (NamedSharding(mesh, spec) for spec in (P("x", None), P(None, "y"), P()))
    put = jax.device_put
    params = {
        "layers": [{"w": put(np.ones((64, 128), np.float32), columns), "b": put(np.ones(128, np.float32), whole)}] * 2,
        "embed": put(np.ones((1000, 64), np.float16), rows),
        "host": put(np.ones((16, 16), np.float32), rows.with_memory_kind("pinned_host")),
        "plan": jax.ShapeDtypeStruct((10, 4), np.float32, sharding=NamedSharding(abstract(x=4, y=2), P(None, "y"))),
        "numpy": np.ones(3),
        "step": 3,
    }
    return read_tree(params, "params")


@pytest.mark.parametrize("name", PLACEMENTS)
def test_placements(name: str) -> None:
    check_golden(f"sharding/{name}.txt", render_placement(PLACEMENTS[name]) + "\n")
    check_golden(f"sharding/{name}.svg", draw_placement(PLACEMENTS[name]) + "\n")


@pytest.mark.parametrize("name", MESHES)
def test_meshes(name: str) -> None:
    check_golden(f"sharding/{name}.txt", render_mesh(MESHES[name]) + "\n")
    check_golden(f"sharding/{name}.svg", draw_mesh(MESHES[name]) + "\n")


def test_a_pytree() -> None:
    check_golden("sharding/tree.txt", render_tree(tree()) + "\n")
    check_golden("sharding/tree.html", render_placed(tree()) + "\n")


def test_no_golden_is_left_over() -> None:
    names = {f"{name}.{kind}" for name in (*PLACEMENTS, *MESHES) for kind in ("txt", "svg")}
    assert {path.name for path in Path(CASES / "sharding").iterdir()} == names | {"tree.txt", "tree.html"}


@pytest.mark.parametrize("name", [*PLACEMENTS, *MESHES])
def test_pictures_are_svg_files_in_which_nothing_stands_out_of_the_frame(name: str) -> None:
    text = draw_placement(PLACEMENTS[name]) if name in PLACEMENTS else draw_mesh(MESHES[name])
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg" and len(text.encode()) < 30_000
    width, height = (float(root.attrib[side]) for side in ("width", "height"))

    def visit(element: Any, x: float, y: float) -> None:
        moved = re.match(r"translate\((\S+) (\S+)\)", element.get("transform", ""))
        if moved:
            x, y = x + float(moved[1]), y + float(moved[2])
        left, top = x + float(element.get("x", 0)), y + float(element.get("y", 0))
        assert -1 <= left <= width and -1 <= top <= height
        if element.tag == f"{SVG}rect":
            right, bottom = left + float(element.get("width")), top + float(element.get("height"))
            assert right <= width and bottom <= height
        for child in element:
            visit(child, x, y)

    visit(root, 0, 0)


@pytest.mark.parametrize("name", [*PLACEMENTS, *MESHES])
def test_text_fits_a_terminal(name: str) -> None:
    for width in (60, 100):
        text = (
            render_placement(PLACEMENTS[name], width=width)
            if name in PLACEMENTS
            else render_mesh(MESHES[name], width=width)
        )
        drawn = [line for line in text.splitlines() if re.search("[│┌├└]", line)]
        assert all(len(line) <= width for line in drawn) and not any(line != line.rstrip() for line in drawn)


@pytest.mark.parametrize("name", PLACEMENTS)
def test_every_device_is_named_where_all_are_drawn(name: str) -> None:
    placement = PLACEMENTS[name]
    if len(placement.boxes) > 64:
        return
    drawn = [element.text or "" for element in ElementTree.fromstring(draw_placement(placement)).iter(f"{SVG}title")]
    for place, device in enumerate(placement.devices):
        group = placement.groups[placement.held[place]]
        if len(placement.devices) > 1:
            held = next(text for text in drawn if text.startswith(f"cpu:{device.id} ("))
            assert ("holds nothing" in held) == (group.box is None)


def test_a_piece_and_its_devices_have_one_colour() -> None:
    placement = PLACEMENTS["2-both"]
    root = ElementTree.fromstring(draw_placement(placement))
    seen: dict[str, set[tuple[str, str]]] = {}
    for group in root.iter(f"{SVG}g"):
        if group.get("class", "").startswith("g g"):
            rects = [rect for rect in group if rect.tag == f"{SVG}rect" and rect.get("fill")]
            seen.setdefault(group.attrib["class"], set()).update(
                (r.attrib["fill"], r.attrib["fill-opacity"]) for r in rects
            )
    assert len(seen) == 8 and all(len(colours) == 1 for colours in seen.values())
    assert len({colour for colours in seen.values() for colour in colours}) == 8


def test_copies_are_a_pile() -> None:
    def cards(name: str) -> int:
        groups = ElementTree.fromstring(draw_placement(PLACEMENTS[name])).iter(f"{SVG}g")
        first = next(group for group in groups if group.get("class") == "g g0")
        return sum(rect.tag == f"{SVG}rect" and rect.get("class") == "b" for rect in first)

    assert [cards(name) for name in ("2-both", "2-rows", "2-columns", "2-replicated")] == [1, 2, 3, 3]


def test_partial_sums_are_not_called_copies() -> None:
    text = render_placement(PLACEMENTS["2-pending"])
    assert "2 partial sums of each" in text and "still to be summed over y" in text and "copies" not in text


def test_other_ways_to_reduce_are_told() -> None:
    """JAX 0.12 knows unreduced values that are no sums."""
    summed = PLACEMENTS["2-pending"]
    largest = replace(summed, spec="P('x', unreduced={'y'}, unreduced_kind=max)")
    assert "still to be summed over y" in render_placement(summed)
    told = render_placement(largest)
    assert "still to be reduced by max over y" in told and "2 partial results of each" in told
    if kinds := getattr(jax.sharding, "UnreducedKind", None):
        spec = P("x", unreduced={"y"}, unreduced_kind=kinds.max)
        mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
        assert read_placement(NamedSharding(mesh, spec), (8,), "float32").spec == largest.spec


def test_devices_of_other_processes_are_told() -> None:
    devices = tuple(Device(number, number // 2, "tpu", "TPU v4", number < 2) for number in range(4))
    boxes = tuple(((number, number + 1),) for number in range(4))
    mesh = MeshData((Axis("x", 4),), devices)
    placement = Placement("named", (4,), boxes, "P('x')", "int8", 1, (("x",),), devices, mesh)
    assert "2 of 4 devices belong to other processes" in render_placement(placement)
    assert ">p1</text>" in draw_placement(placement) and "TPU v4, process 1" in draw_placement(placement)


@settings(max_examples=60, database=None)
@given(st.lists(st.integers(0, 5), max_size=6), st.data())
def test_any_placement_can_be_drawn(shape: list[int], data: st.DataObject) -> None:
    mesh = abstract(**{name: data.draw(st.integers(1, 20)) for name in "abc"[: data.draw(st.integers(1, 3))]})
    left = list(mesh.axis_names)
    entries = [left.pop() if left and data.draw(st.booleans()) else None for _ in shape]
    placement = read_placement(NamedSharding(mesh, P(*entries)), tuple(shape), "float32")
    ElementTree.fromstring(draw_placement(placement))
    assert render_placement(placement).startswith(placement.aval)
    shown = {at for panel in read_array(placement, most=100, panels=10_000).panels for row in panel.cells for at in row}
    held = {index for index, group in enumerate(placement.groups) if group.box is not None}
    assert shown - {-1} == held  # every piece is in the picture, where nothing is left out


def test_names_are_text_everywhere() -> None:
    name = "<script>&\"'"
    mesh = read_mesh(jax.sharding.Mesh(np.array(jax.devices()[:2]), (name,)))
    sharding = NamedSharding(jax.sharding.Mesh(np.array(jax.devices()[:2]), (name,)), P(name))
    placement = read_placement(sharding, (4,), "float32")
    for drawn in (draw_mesh(mesh), draw_placement(placement, name=name), render_placed(Tree((), name))):
        assert "<script" not in drawn
    ElementTree.fromstring(draw_placement(placement, name=name))


def test_colours() -> None:
    assert oklch(1, 0, 0) == "#ffffff" and re.fullmatch("#[0-9a-f]{6}", oklch(0.7, 0.4, 130))
    assert tints(PLACEMENTS["1-uneven"])[-1][1] == 0  # nothing is held, nothing is coloured


def test_ids() -> None:
    assert ids_text([]) == "" and ids_text([0, 1, 2, 5]) == "0-2 5" and ids_text([9]) == "9"
