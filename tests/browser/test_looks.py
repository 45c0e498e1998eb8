"""What a reader sees, hears and reaches by keys: columns, operands, filters, scopes, paper, narrow pages."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pages import SHADOW, hot_program, level_button, rows
from sample_levels import neuron
from sample_programs import PROGRAMS

from jaxnb.program import Aval, Computation, Level, Op, Program, Span, Value
from jaxnb.program.status import Part, Status
from jaxnb.views.html import render_html
from jaxnb.views.interactive import render_interactive


def with_columns(page, *names):
    """Shows these columns beside those that are shown at first."""
    page.get_by_role("button", name="more").click()
    for name in names:
        column = page.get_by_role("group", name="columns").get_by_role("button", name=name, exact=True)
        if column.get_attribute("aria-pressed") == "false":
            column.click()


def unrolled(count: int) -> Program:
    """A chain of so many equations on one line."""
    values = tuple(Value(f"v{at}", Aval("float32", (8,), False, 4)) for at in range(count + 1))
    ops = tuple(Op("sin", (at,), (at + 1,), (), Span(1)) for at in range(count))
    level = Level("jaxpr", values, (Computation("main", (0,), (count,), ops),))
    return Program("y = f(x)", (Level("source", (), (Computation("cell"),)), level))


# --- the line ---


@pytest.mark.parametrize("width", [1200, 560, 240])
@pytest.mark.parametrize("scripted", [True, False])
def test_the_line_never_wraps_and_its_cost_gives_way_first(browser, width, scripted):
    happened, needs = Part("retraced", "retraced: x 1347→256"), Part("finding", "1 finding: `key` was used, line 4")
    status = Status(
        (happened,), (Part("time", "trace 9 ms, compile 61 ms, run 0.8 ms"), Part("eqns", "7 eqns")), (needs,)
    )
    page = browser.new_page(viewport={"width": width, "height": 300})
    draw = render_interactive if scripted else render_html
    page.set_content(str(draw(hot_program(), line=status)))
    line = page.locator(".said" if scripted else ".l")
    box = line.bounding_box()
    assert box["height"] < 30 and box["x"] + box["width"] <= width and line.get_attribute("title") == str(status)
    places = line.locator("> span")
    assert places.count() == 3
    cut = [places.nth(at).evaluate("one => one.scrollWidth > one.clientWidth") for at in range(3)]
    assert cut == {1200: [False] * 3, 560: [False, True, False], 240: [True, True, True]}[width]
    page.close()


# --- columns ---


def test_a_press_on_a_head_sorts_by_its_column(show):
    page = show(hot_program())
    with_columns(page, "flops", "bytes")
    heads = page.locator("[data-pane=jaxpr]").get_by_role("group", name="sort by")
    assert heads.get_by_role("button").all_inner_texts() == ["flops", "bytes"]
    head = heads.get_by_role("button", name="flops")
    assert head.get_attribute("aria-pressed") == "false"
    head.focus()
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-pressed") == "true"
    assert page.evaluate(f"{SHADOW}.activeElement.getAttribute('aria-label')") == "flops"
    assert rows(page, "source") == ["z = y @ y", "y = sin(x)"]
    assert page.get_by_label("order", exact=True).input_value() == "flops"
    page.keyboard.press("Enter")
    assert rows(page, "source") == ["y = sin(x)", "z = y @ y"]


def test_bars_grow_with_the_cost_and_every_number_has_a_name(show):
    page = show(hot_program())
    with_columns(page, "flops", "bytes", "memory")
    cells = page.locator("[data-pane=jaxpr] .row .num[title^='flops']")
    share = "one => [one.textContent, parseFloat(one.style.getPropertyValue('--part'))]"
    heat = dict(cells.nth(at).evaluate(share) for at in range(cells.count()))
    assert heat["64"] < heat["2.0 K"]
    assert cells.first.evaluate("one => getComputedStyle(one).backgroundImage").startswith("linear-gradient")
    heads = page.locator("[data-pane=jaxpr] .heads .num")
    for at in range(heads.count()):  # a head stands above its column
        head, cell = heads.nth(at).bounding_box(), page.locator("[data-pane=jaxpr] .row .num").nth(at).bounding_box()
        assert abs(head["x"] + head["width"] - cell["x"] - cell["width"]) < 2


# --- operands, keys and names ---


def test_an_operand_is_chosen_by_keys(show):
    page = show(neuron())
    page.locator("[data-pane=jaxpr] .row", has_text="tanh").click()
    operand = page.locator(".facts").get_by_role("button", name="e", exact=True)
    operand.focus()
    page.keyboard.press("Enter")
    assert page.locator(".facts tbody tr").count() == 1
    assert "add" in page.locator(".facts tbody").inner_text()  # what makes it
    assert page.locator("[data-pane=jaxpr] .same").count() == 2


def test_who_holds_memory_is_reached_by_keys(show):
    page = show(hot_program())
    page.get_by_role("tab", name="memory").click()
    slider = page.get_by_role("slider", name="position in the program")
    before = page.locator(".where").inner_text()
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert page.locator(".where").inner_text() != before
    assert "op 1 of 2" in slider.get_attribute("aria-valuetext")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator(".facts").is_visible()


def test_roles_and_names_tell_what_the_eye_sees(show):
    page = show(neuron())
    for name in ("StableHLO", "HLO"):
        level_button(page, name).click()
    tree = page.get_by_role("tree", name="jaxpr")
    tree.focus()
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    row = page.locator(f"[id='{tree.get_attribute('aria-activedescendant')}']")
    assert "f = tanh e" in row.inner_text()
    assert row.get_attribute("aria-description") == "line 3, 1 in StableHLO, 2 in HLO (1 ≈ inferred)"
    assert page.get_by_role("treeitem", name="tanh").count() >= 3
    assert page.get_by_role("listbox", name="source").get_by_role("option").count() == 3
    # Whatever can be pressed or chosen has a name.
    for role in ("button", "tab", "combobox", "searchbox", "tree", "listbox"):
        found = page.get_by_role(role)
        for at in range(found.count()):
            snapshot = found.nth(at).aria_snapshot().splitlines()[0]
            assert '"' in snapshot, snapshot


def test_python_and_equations_have_colours(show):
    page = show(neuron())
    colour = "one => getComputedStyle(one).color"
    plain = page.locator("[data-pane=source] code").first.evaluate(colour)
    assert page.locator("[data-pane=source] .py-keyword").first.evaluate(colour) != plain
    assert page.locator("[data-pane=jaxpr] .t-type").first.evaluate(colour) != plain


# --- filters and export ---


def test_a_scope_and_a_phase_are_filtered_together(show):
    page = show(neuron())
    page.get_by_role("button", name="more").click()
    page.get_by_label("scope").select_option("neuron")
    assert len([text for text in rows(page, "jaxpr") if " = " in text]) == 4
    page.get_by_role("group", name="phases").get_by_role("button", name="forward", exact=True).click()
    assert not any("tanh" in text for text in rows(page, "jaxpr"))
    page.get_by_role("group", name="phases").get_by_role("button", name="backward", exact=True).click()
    assert any("tanh" in text for text in rows(page, "jaxpr"))


def test_the_text_that_is_copied_has_every_level(show):
    page = show(neuron(), permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="more").click()
    page.get_by_role("button", name="copy text").click()
    page.get_by_role("button", name="copied").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    for part in ("y = jnp.tanh(x @ w + c * 3)", "# jaxpr", "# stablehlo", "# hlo", "f = tanh e"):
        assert part in text


# --- the graph ---


def test_scopes_open_and_close_in_the_graph(show):
    page = show(neuron())
    page.get_by_role("tab", name="graph").click()
    page.get_by_label("by scope").check()
    labels = page.locator(".node.scope .label")
    assert [text.replace(" ▸", "") for text in labels.all_text_contents()] == ["neuron", "neuron ⊤"]
    page.locator(".node.scope").first.dblclick()
    assert page.locator(".node.scope").count() == 0
    assert any("tanh" in text for text in page.locator(".node .label").all_text_contents())
    page.get_by_role("button", name="close scope neuron").click()
    assert page.locator(".node.scope").count() == 2
    # By keys: to the scope, and into it.
    page.locator(".drawing").focus()
    while "neuron" not in (page.locator(".node.cursor .label").all_text_contents() or [""])[0]:
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator(".node.scope").count() == 0


def test_the_graph_is_drawn_downwards_dragged_and_zoomed(show):
    page = show(neuron())
    page.get_by_role("tab", name="graph").click()
    tops = [page.locator(f".node.{kind}").first.bounding_box()["y"] for kind in ("input", "output")]
    assert tops[0] < tops[1]
    drawing = page.locator(".drawing")
    x, y, width, _ = map(float, drawing.get_attribute("viewBox").split())
    box = drawing.bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 80, box["y"] + 50, steps=4)
    page.mouse.up()
    x2, y2, width2, _ = map(float, drawing.get_attribute("viewBox").split())
    assert x2 < x and y2 < y and width2 == width
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.wait_for_function(
        f"Number({SHADOW}.querySelector('.drawing').getAttribute('viewBox').split(' ')[2]) < {width}"
    )


# --- paper and narrow pages ---


def test_on_paper_are_all_rows(show):
    page = show(unrolled(200))
    seen = len(rows(page, "jaxpr"))
    assert seen < 60
    counts = "() => { window.printed = 0; addEventListener('beforeprint', () => { window.printed = ROWS }) }".replace(
        "ROWS", f"{SHADOW}.querySelectorAll('[data-pane=jaxpr] .row').length"
    )
    page.evaluate(counts)
    page.pdf()
    assert page.evaluate("window.printed") == 202
    page.wait_for_function(f"{SHADOW}.querySelectorAll('[data-pane=jaxpr] .row').length === {seen}")


@pytest.mark.parametrize("tab", ["code", "graph", "memory", "compare"])
def test_nothing_is_squeezed_or_cut_at_400_pixels(show, tab):
    page = show(neuron(), width=400, previous=PROGRAMS["mlp"]())
    page.get_by_role("button", name="more").click()
    page.locator("[data-pane=jaxpr] .row").nth(1).click()
    page.get_by_role("tab", name=tab).click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    # No word in a table is broken into letters.
    heads = "heads => heads.filter(one => one.offsetParent).map(one => [one.textContent, one.offsetHeight])"
    found = page.locator("th").evaluate_all(heads)
    assert all(height <= 24 for _, height in found), found


def test_long_names_do_not_widen_a_table_without_end(show):
    program = neuron()
    level = program.levels[1]
    long = replace(level, values=tuple(replace(value, name="n" * 3000) for value in level.values))
    page = show(replace(program, levels=(program.levels[0], long, *program.levels[2:])))
    page.locator("[data-pane=jaxpr] .row").nth(1).click()
    assert page.locator(".facts").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator(".facts table").evaluate("one => one.offsetWidth") < 4000


def test_paper_is_light_whatever_the_screen_is(show):
    page = show(neuron(), before="<style>body{background:#111;color:#eee}</style>")
    assert page.locator(".root").get_attribute("data-theme") == "dark"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".root").get_attribute("data-theme") == "light"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".root").get_attribute("data-theme") == "dark"
