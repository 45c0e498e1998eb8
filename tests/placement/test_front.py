"""The picture of the front: every plan is in it, those of the front are named, and no name stands on another."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, strategies as st
from IPython.utils.capture import capture_output
from shells import Shell, shell

import jaxnb.numpy as named
from jaxnb.planning.search import search_resources
from jaxnb.reading.worker.workers import end_worker
from jaxnb.views import front_svg
from jaxnb.views.front_svg import Point, draw_front

__all__ = ["shell"]

SVG = "{http://www.w3.org/2000/svg}"

plans = st.lists(
    st.builds(
        Point,
        name=st.text("abc=(), ", min_size=1, max_size=30),
        seconds=st.floats(0, 100, allow_subnormal=False),
        memory=st.integers(0, 10**13),
        front=st.booleans(),
        fits=st.booleans(),
    ),
    min_size=1,
    max_size=30,
)


@given(plans, st.none() | st.integers(1, 10**12))
def test_every_plan_is_a_dot_inside_of_the_frame(points: list[Point], limit: int | None) -> None:
    root = ET.fromstring(draw_front(points, limit=limit, limit_name="a device"))
    dots = root.findall(f"{SVG}circle")
    assert len(dots) == len(points)
    assert sorted(dot.attrib["class"].split()[0] for dot in dots) == sorted("f" if p.front else "o" for p in points)
    for dot in dots:
        assert 74 <= float(dot.attrib["cx"]) <= 624 and 30 <= float(dot.attrib["cy"]) <= 256
    assert sum("w" in dot.attrib["class"] for dot in dots) == sum(not point.fits for point in points)
    labels = [text for text in root.findall(f"{SVG}text") if text.attrib["class"] == "c m"]
    assert len(labels) == sum(point.front for point in points)


def test_more_time_is_further_right_and_more_memory_further_up() -> None:
    points = [Point(f"p{n}", 10.0 ** (n - 6), 10 ** (9 - n), front=True) for n in range(5)]
    root = ET.fromstring(draw_front(points))
    places = [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in root.findall(f"{SVG}circle")]
    assert places == sorted(places) and [y for _, y in places] == sorted(y for _, y in places)
    told = [title.text or "" for title in root.iter(f"{SVG}title")]
    assert told[0] == "p0: 1.0 us, 1.0 GB a device"


def test_no_name_stands_on_another_one_or_on_a_dot_of_the_front() -> None:
    points = [Point(f"batch=(x, y), hidden{n}=z", 1e-5 * 2**n, int(2e8 / 1.6**n), True) for n in range(6)]
    root = ET.fromstring(draw_front(points))
    boxes: list[tuple[float, float, float, float]] = []
    for text in root.findall(f"{SVG}text"):
        if text.attrib["class"] == "c m":
            x, y = float(text.attrib["x"]), float(text.attrib["y"])
            boxes.append((x, y - 7, x + 6.2 * len(text.text or ""), y + 7))
    dots = [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in root.findall(f"{SVG}circle")]
    for n, (left, top, right, bottom) in enumerate(boxes):
        assert not any(left < cx < right and top < cy < bottom for cx, cy in dots)
        for other in boxes[:n]:
            assert left >= other[2] or other[0] >= right or top >= other[3] or other[1] >= bottom


def test_what_a_device_has_is_a_line_where_something_does_not_fit() -> None:
    small = [Point("a", 1e-3, 10**9, True), Point("b", 2e-3, 10**8, True)]
    assert "T has" not in draw_front(small, limit=10**12, limit_name="T")
    large = [*small, Point("c", 1e-4, 10**13, True, fits=False)]
    assert "T has 1.0 TB" in draw_front(large, limit=10**12, limit_name="T")
    assert "c: 100 us, 10.0 TB a device: does not fit" in draw_front(large, limit=10**12)


def test_names_are_text() -> None:
    drawn = draw_front([Point("<script>=x", 1.0, 1, True)], limit=10, limit_name="<b>")
    assert "<script>" not in drawn and "&lt;script&gt;=x" in drawn


def test_a_search_shows_its_front() -> None:
    def array(*shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, np.float32)

    def product(x: Any, w: Any) -> Any:
        return named.dot(x, w, "i")

    arrays = array(64, 32), array(32, 16)
    found = search_resources(product, (["b", "i"], ["i", "o"]), ["b", "o"], *arrays, mesh="x=4")
    end_worker()
    assert found.svg.count("<circle") == len(found.candidates)
    bundle = found._repr_mimebundle_()
    assert bundle["text/plain"] == str(found) and bundle["text/html"] == found.html
    assert found.svg in found.html and "best: b=x" in found.html and len(found.html) < 15_000
    names = re.findall(r'class="c m"[^>]*>([^<]*)<', found.svg)
    assert sorted(names) == sorted(map(str, found.pareto)) and "<script" not in found.html


@pytest.mark.parametrize("low", [0.0, 1e-9])
def test_one_plan_alone(low: float) -> None:
    assert draw_front([Point("alone", low, 0, True)]).count("alone") >= 2


def test_a_notebook_draws_the_front_below_the_cell(shell: Shell) -> None:
    shell.run("x = jnp.ones((64, 32)); w = jnp.ones((32, 16))")
    formatter = shell.ip.display_formatter
    before = formatter.active_types
    formatter.active_types = [*formatter.format_types]
    cell = "%%xmap x[b, i], w[i, o] -> y[b, o] --resources auto --mesh x=4, y=2\ny = jnp.dot(x, w, 'i')"
    try:
        with capture_output() as caught:
            assert shell.ip.run_cell(cell).success
    finally:
        formatter.active_types = before
        end_worker()
    (drawn,) = [item.data for item in caught.outputs if "<circle" in item.data.get("text/html", "")]
    assert drawn["text/plain"].startswith("best: b=(x, y)") and drawn["text/html"].count("<svg") == 1
