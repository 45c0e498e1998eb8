"""Diagrams in the inspector: named axes, devices and collectives, linked with the panes beside them."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from nbformat import v4
from pages import HOSTILE, SHADOW, marked
from sample_layouts import MESH, named, sharded
from sample_levels import neuron

from jaxnb.program import Aval, Computation, Level, ProcessTime, Program, Value
from jaxnb.program.codec import MIME_TYPE, decode, encode
from jaxnb.program.placement.layout import Layout, Placed
from jaxnb.shell.reports.page import render_page
from jaxnb.views import drawings
from jaxnb.views.interactive import render_interactive, scripts_for

PSUM = "f = psum e"
STYLE = "<style>body{background:#fff}@media(prefers-color-scheme:dark){body{background:#14171b;color:#eee}}</style>"


def diagrams(page: Any, part: str = "") -> Any:
    """Opens the tab, and one of the diagrams."""
    page.locator("[data-tab=mesh]").click()
    page.locator(".picture").wait_for()
    if part:
        page.get_by_role("group", name="diagrams").get_by_role("button", name=part).click()
    return page.locator(".picture")


def knot(page: Any, text: str) -> Any:
    return page.get_by_role("button", name=text)


def hot(page: Any, kind: str = "hot") -> list[str]:
    """What of the diagrams is marked, by what it is called."""
    found = page.locator(f".picture .mark.{kind}[aria-label]")
    return found.evaluate_all("all => all.map(one => one.getAttribute('aria-label'))")


def tiles(page: Any, at: int) -> Any:
    """The tiles of the array (0) or of the mesh (1)."""
    return page.locator(".sides > div").nth(at).locator(".tile")


def opacity(tile: Any) -> float:
    return float(tile.evaluate("one => { one.style.transition = 'none'; return getComputedStyle(one).opacity }"))


# --- named axes ---


def test_a_collective_marks_its_line_and_its_equation(show):
    page = show(sharded())
    diagrams(page)
    assert page.locator(".flow b").inner_text() == "shard_map over x:4, y:2 · line 5"
    knot(page, PSUM).hover()
    assert [text.strip() for text in marked(page, "source")] == ['h = jax.lax.psum(a @ w, "y")']
    assert marked(page, "jaxpr") == [PSUM]
    knot(page, PSUM).click()
    page.locator(".status").hover()
    assert marked(page, "jaxpr", "pin") == [PSUM]
    assert "psum" in page.locator(".facts").inner_text()
    page.keyboard.press("Escape")
    assert marked(page, "jaxpr", "pin") == []


def test_a_line_marks_its_knots(show):
    page = show(sharded())
    diagrams(page)
    page.locator("[data-pane=source] .row", has_text="psum").hover()
    assert [name.split(" f32")[0] for name in hot(page)] == ["e = dot a, w", PSUM]
    page.locator("[data-pane=jaxpr] .row", has_text="tanh").hover()
    assert [name.split(" f32")[0] for name in hot(page)] == ["g = tanh f", "→ y"]


def test_a_value_is_one_in_strands_and_text(show):
    page = show(sharded())
    diagrams(page)
    page.locator("[data-pane=jaxpr] .row", has_text="psum").locator("[data-value]", has_text="e").hover()
    # e varies over x and y, and has two more dimensions.
    assert page.locator(".strand.hot").count() == 4
    page.locator(".strand").first.dispatch_event("pointerenter")
    assert page.locator("[data-pane=jaxpr] .same").count() >= 1


def test_strands_end_where_collectives_end_them(show):
    page = show(sharded())
    diagrams(page)
    dots = page.locator(".flow circle")
    legend = page.locator(".legend path").evaluate_all("all => all.map(one => one.getAttribute('stroke'))")
    assert len(set(legend)) == 2
    assert [dots.nth(at).get_attribute("fill") for at in range(dots.count())] == [legend[1]]
    assert page.locator(".legend").inner_text().split() == ["x:4", "y:2"]


# --- devices ---


def test_choosing_a_value_shows_which_slice_is_where(show):
    page = show(sharded())
    picture = diagrams(page, "devices")
    rows = picture.locator(".values tbody tr")
    assert rows.count() == 5
    assert picture.locator("[aria-current=true]").inner_text().split()[:2] == ["a", "f32[8,8]"]
    assert tiles(page, 0).count() == 8 and tiles(page, 1).count() == 8
    rows.filter(has_text="pinned_host").or_(rows.filter(has_text="w")).first.click()
    assert (
        "P('y', None) · 96 B" in picture.inner_text().replace("\n", " · ")
        or "in pinned_host memory" in picture.inner_text()
    )
    assert tiles(page, 0).all_inner_texts() == ["0 2 4 6", "1 3 5 7"]
    assert [text.split()[0] for text in tiles(page, 1).all_inner_texts()] == [str(n) for n in range(8)]
    # What is kept is marked in the other panes, too.
    assert "w" in page.locator(".facts").inner_text()


def test_a_device_says_what_it_is_and_holds(show):
    page = show(sharded())
    diagrams(page, "devices")
    device = tiles(page, 1).nth(5)
    device.hover()
    said = page.locator(".picture [role=status]").inner_text()
    assert said == "tpu:5 · place 5, process 1, TPU v5e, of another process holds [4:6, 4:8] · 32 B"
    assert device.get_attribute("title") == said
    assert [opacity(tiles(page, 1).nth(at)) < 1 for at in range(8)] == [at != 5 for at in range(8)]
    tiles(page, 0).nth(0).hover()
    assert page.locator(".picture [role=status]").inner_text() == "[0:2, 0:4] · 32 B on 0"
    assert opacity(tiles(page, 1).nth(0)) == 1 and opacity(tiles(page, 1).nth(5)) < 1


def test_devices_have_the_colour_of_their_piece(show):
    page = show(sharded())
    picture = diagrams(page, "devices")
    picture.locator(".values tbody tr", has_text="y").last.click()
    colour = "all => all.map(one => getComputedStyle(one).backgroundColor)"
    pieces, devices = tiles(page, 0).evaluate_all(colour), tiles(page, 1).evaluate_all(colour)
    assert len(set(pieces)) == 4
    assert devices == [pieces[at // 2] for at in range(8)]


def test_a_value_that_is_kept_elsewhere_is_the_chosen_one(show):
    page = show(sharded())
    page.locator("[data-pane=jaxpr] .row", has_text="main").locator("[data-value]", has_text="b").click()
    picture = diagrams(page, "devices")
    assert picture.locator("[aria-current=true]").inner_text().split()[0] == "w"
    page.locator("[data-pane=jaxpr] .row", has_text="main").locator("[data-value]", has_text="a").first.click()
    assert picture.locator("[aria-current=true]").inner_text().split()[0] == "a"


# --- collectives ---


def test_rows_of_the_ledger_are_linked_both_ways(show):
    page = show(sharded())
    picture = diagrams(page, "collectives")
    rows = picture.locator("table").last.locator("tbody tr")
    rows.filter(has_text="reduction over a sharded axis").hover()
    assert marked(page, "jaxpr") == ["i = reduce_sum h"]
    page.locator("[data-pane=source] .row", has_text="psum").hover()
    assert hot(page) == ["all-reduce over y, 48 B"]
    totals = picture.locator("table").first.locator("tbody tr").all_inner_texts()
    assert [text.split("\t")[:2] for text in totals] == [["y", "48 B"], ["x", "6 B"], ["other groups", "?"]]


def test_the_ledger_is_sorted_by_any_column(show):
    page = show(sharded())
    picture = diagrams(page, "collectives")

    def column(at: int) -> list[str]:
        cells = picture.locator("table").last.locator(f"tbody tr td:nth-child({at})")
        return cells.all_inner_texts()

    assert column(6) == ["48 B", "6 B", "?"]
    picture.get_by_role("button", name="sort by total").click()
    assert column(6) == ["48 B", "6 B", "?"]
    picture.get_by_role("button", name="sort by total").click()
    assert column(6) == ["?", "6 B", "48 B"]
    assert page.evaluate(f"{SHADOW}.activeElement.getAttribute('aria-label')") == "sort by total"
    picture.get_by_role("button", name="sort by collective").click()
    assert column(2) == ["all-gather", "all-reduce", "all-reduce"]


def test_the_time_of_each_process_is_shown_with_what_it_waited(show):
    times = ProcessTime(0, "one", 0.04, 0.01), ProcessTime(1, HOSTILE, 0.04, 0.0)
    page = show(replace(sharded(), processes=times))
    picture = diagrams(page, "processes")
    rows = [row.split("\t")[:3] for row in picture.locator("tbody tr").all_inner_texts()]
    assert rows[0] == ["process 0 · one", "40 ms", "10 ms"] and rows[1][1:] == ["40 ms", "0 µs"]
    widths = picture.locator(".share").evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
    assert widths[0] == pytest.approx(3 * widths[1], rel=0.05) and widths[2] > widths[0]
    assert picture.locator("script, img").count() == 0


# --- keys, widths, themes ---


def test_by_keys_alone(show):
    page = show(sharded())
    page.locator("[data-tab=code]").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(f"{SHADOW}.activeElement.dataset.tab") == "mesh"
    page.locator(".picture").wait_for()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate(f"!!{SHADOW}.activeElement?.closest('.picture')"):
            break
    else:
        raise AssertionError("the diagram cannot be reached by Tab")
    label = f"{SHADOW}.activeElement.getAttribute('aria-label')"
    assert page.evaluate(label).startswith("a f32[2,4]")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    assert page.evaluate(label).startswith(PSUM)
    assert marked(page, "jaxpr") == [PSUM]
    page.keyboard.press("Enter")
    assert marked(page, "jaxpr", "pin") == [PSUM]
    page.keyboard.press("Home")
    assert page.evaluate(label).startswith("a f32[2,4]")
    page.keyboard.press("Tab")
    assert not page.evaluate(f"!!{SHADOW}.activeElement?.closest('.flow')"), "one stop for all of it"


def test_a_device_is_reached_by_keys(show):
    page = show(sharded())
    picture = diagrams(page, "devices")
    picture.locator("[aria-current=true]").focus()
    page.keyboard.press("End")
    assert page.locator(".picture [role=status]").inner_text().startswith("tpu:7")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert picture.locator("[aria-current=true]").inner_text().split()[0] == "w"
    assert page.evaluate(f"{SHADOW}.activeElement.getAttribute('aria-label')").startswith("w f32")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("part", ["named axes", "devices", "collectives"])
def test_a_narrow_page_has_them_above_the_code(show, part, scheme):
    page = show(sharded(), width=400, scheme=scheme, before=STYLE)
    picture = diagrams(page, part)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    box, code = picture.bounding_box(), page.locator("[data-pane=jaxpr]").bounding_box()
    assert box["width"] > 350 and box["y"] + box["height"] <= code["y"] + 1
    if scheme == "dark":
        ink = page.locator(".picture").evaluate("one => getComputedStyle(one).color")
        assert min(int(part) for part in ink[4:-1].split(",")) > 180


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("part", ["named axes", "devices", "collectives"])
def test_everybody_can_use_them(show, part, scheme):
    from axe_playwright_python.sync_playwright import Axe

    page = show(sharded(), scheme=scheme, before=f"{STYLE}<h1>Title</h1>")
    diagrams(page, part)
    found = Axe().run(page, options={"resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()


# --- what comes with it ---


def test_one_device_has_no_such_tab_and_no_such_script(show):
    page = show(neuron())
    assert page.locator("[data-tab=mesh]").count() == 0
    assert page.locator("script:not([type])").count() == 1


def test_what_was_saved_is_drawn_again(show):
    page = show(decode(encode(sharded())))
    picture = diagrams(page, "collectives")
    assert "48 B over y" in picture.inner_text()


def test_a_report_has_the_scripts_once(new_page, tmp_path):
    programs = (sharded(), neuron(), sharded())
    views = [render_interactive(one, line="line", script=False) for one in programs]
    data = [{MIME_TYPE: encode(one), "text/plain": "line"} for one in programs]
    cells = [v4.new_code_cell("x = 1", outputs=[v4.new_output("display_data", one)]) for one in data]
    text = render_page(v4.new_notebook(cells=cells), "Title", [])
    assert text.count(str(scripts_for(views))) == 1
    path = tmp_path / "report.html"
    path.write_text(text, encoding="utf-8")
    page = new_page()
    page.goto(path.as_uri())
    page.locator(".line").last.click()
    diagrams(page)
    assert page.locator(".strand").count() > 4


def test_hostile_texts_stay_text(show, monkeypatch):
    def hostile(some: Any) -> Any:
        if isinstance(some, str):
            return HOSTILE if some not in ("input", "result", "value") else some
        if isinstance(some, dict):
            return {key: hostile(one) for key, one in some.items()}
        return [hostile(one) for one in some] if isinstance(some, list) else some

    whole = drawings.read_drawings(sharded())
    monkeypatch.setattr(drawings, "read_drawings", lambda _: hostile(whole))
    page = show(sharded())
    for part in ("named axes", "devices", "collectives"):
        diagrams(page, part)
        assert page.evaluate("window.hit") is None
        assert page.locator(".picture img, .picture script").count() == 0


def test_damaged_diagrams_are_said_and_nothing_else_suffers(show, monkeypatch):
    whole = copy.deepcopy(drawings.read_drawings(sharded()))
    whole["flows"][0]["knots"]["what"][0] = {"onclick": "window.hit=1"}
    monkeypatch.setattr(drawings, "read_drawings", lambda _: whole)
    page = show(sharded())
    page.locator("[data-tab=mesh]").click()
    assert page.locator(".diagram .message").inner_text() == "The diagrams cannot be drawn."
    page.locator("[data-pane=jaxpr] .row", has_text="psum").hover()
    assert len(marked(page, "source")) == 1


def test_a_value_far_down_stays_in_sight_when_it_is_chosen(show):
    count = 60
    values = tuple(Value(f"v{at}", Aval("float32", (8, 8), False, 4)) for at in range(count))
    level = Level("jaxpr", values, (Computation("main", tuple(range(count))),))
    lies = named((8, 8), "x", "", spec="P('x', None)")
    layout = Layout((MESH,), tuple(Placed(at, "input", lies) for at in range(count)))
    page = show(Program("x = 1", (Level("source", (), (Computation("cell"),)), level), _layout=layout))
    picture = diagrams(page)
    row = picture.locator(".values tr", has_text="v55")
    row.click()
    assert row.get_attribute("aria-current") == "true"
    box, around = row.bounding_box(), picture.locator(".values").bounding_box()
    assert around["y"] <= box["y"] and box["y"] + box["height"] <= around["y"] + around["height"]
    # Copies are seen as such: each piece is on two devices.
    assert tiles(page, 0).first.evaluate("one => !!one.style.boxShadow")
