"""The inspector in a page of HTML, as a browser shows it: no kernel, no server, no network."""

from __future__ import annotations

import json

import pytest
from nbformat import v4
from pages import HLO_OF_TANH, HOSTILE, LINE, SHADOW, hostile, hot_program, level_button, marked, rows, show_all_levels
from sample_levels import neuron
from sample_programs import PROGRAMS

from jaxnb.program import Aval, Computation, Finding, Fix, Level, Op, Program, Span, Value
from jaxnb.program.codec import MIME_TYPE, decode, encode
from jaxnb.shell.reports.page import render_page
from jaxnb.views.interactive import render_interactive


def test_it_is_one_line_until_it_is_opened(show):
    page = show(neuron(), unfold=False)
    assert page.locator(".line").inner_text().strip() == LINE
    assert not page.locator(".body").is_visible()
    assert not page.locator("details.jaxnb").is_visible()
    page.locator(".line").click()
    assert [text.split()[0] for text in page.locator(".title").all_inner_texts()] == ["source", "jaxpr"]


def test_hovering_marks_the_counterparts_in_all_panes(show):
    page = show(neuron())
    show_all_levels(page)
    page.locator("[data-pane=jaxpr] .row", has_text="tanh").hover()
    assert marked(page, "source") == ["y = jnp.tanh(x @ w + c * 3)"]
    assert marked(page, "jaxpr") == ["f = tanh e"]
    assert marked(page, "stablehlo") == ["%3 = tanh %2"]
    assert [text.replace("▾", "") for text in marked(page, "hlo")] == HLO_OF_TANH
    assert "StableHLO" in page.locator(".status").inner_text()
    page.locator("h1, .status").first.hover()
    assert marked(page, "jaxpr") == []


def test_inferred_links_have_a_sign_and_another_line(show):
    page = show(neuron())
    show_all_levels(page)
    page.locator("[data-pane=jaxpr] .row", has_text="tanh").hover()
    inferred = page.locator("[data-pane=hlo] .row.inferred").first
    exact = page.locator("[data-pane=hlo] .row.hot:not(.inferred)").first
    style = "row => getComputedStyle(row.querySelector('.edge')).borderLeftStyle"
    assert inferred.evaluate(style) == "dotted"
    assert exact.evaluate(style) == "solid"
    sign = "row => getComputedStyle(row.querySelector('.sign'), '::after').content"
    assert "≈" in inferred.evaluate(sign)
    assert "≈" not in exact.evaluate(sign)


def test_a_line_marks_what_it_became(show):
    page = show(neuron())
    page.locator("[data-pane=source] .row", has_text="tanh").hover()
    assert len(marked(page, "jaxpr")) == 4


def test_an_operand_marks_its_maker_and_its_users(show):
    page = show(neuron())
    page.locator("[data-pane=jaxpr] .row", has_text="tanh").locator("[data-value]", has_text="e").hover()
    assert marked(page, "jaxpr") == ["e = add c d", "f = tanh e"]
    assert page.locator("[data-pane=jaxpr] .same").count() == 2


def test_a_click_keeps_the_marks_and_tells_the_operands(show):
    page = show(neuron())
    page.locator("[data-pane=jaxpr] .row", has_text="dot_general").click()
    page.locator(".status").hover()
    assert marked(page, "source", "pin") == ["y = jnp.tanh(x @ w + c * 3)"]
    table = page.locator(".facts table").inner_text()
    for part in ("f32[8]", "32 B", "P('d',)", "input x", "add"):
        assert part in table
    page.keyboard.press("Escape")
    assert marked(page, "source", "pin") == []


def test_a_click_scrolls_the_counterpart_into_view(show):
    count = 3000
    ops = tuple(Op("sin", (at,), (at + 1,), (), Span(at // 30 + 1)) for at in range(count))
    values = tuple(Value(f"v{at}", Aval("float32", (8,), False, 4)) for at in range(count + 1))
    source = "\n".join(f"x = f(x) # {at}" for at in range(100))
    level = Level("jaxpr", values, (Computation("main", (0,), (count,), ops),))
    page = show(Program(source, (Level("source", (), (Computation("cell"),)), level)))
    page.locator("[data-pane=jaxpr] .list").focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert page.locator("[data-pane=source] .row.pin").is_visible()
    assert marked(page, "source", "pin") == ["x = f(x) # 99"]
    assert page.locator(".row").count() < 150


def test_bodies_fold(show):
    page = show(PROGRAMS["loop"]())
    before = rows(page, "jaxpr")
    scan = page.locator("[data-pane=jaxpr] .row[aria-expanded]").first
    assert scan.get_attribute("aria-expanded") == "true"
    scan.locator(".fold").click()
    scan = page.locator("[data-pane=jaxpr] .row[aria-expanded]").first
    assert scan.get_attribute("aria-expanded") == "false"
    assert len(rows(page, "jaxpr")) < len(before)
    scan.locator(".fold").click()
    assert rows(page, "jaxpr") == before


def test_by_keys_alone(show):
    page = show(PROGRAMS["loop"](), unfold=False)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator(".body").is_visible()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate(f"{SHADOW}.activeElement?.getAttribute('aria-label')") == "jaxpr":
            break
    else:
        raise AssertionError("the pane cannot be reached by Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    active = page.locator("[data-pane=jaxpr] .list").get_attribute("aria-activedescendant")
    cursor = page.locator("[data-pane=jaxpr] .row.cursor")
    assert cursor.get_attribute("id") == active
    while not page.locator("[data-pane=jaxpr] .row.cursor[aria-expanded]").count():
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    assert cursor.get_attribute("aria-expanded") == "false"
    page.keyboard.press("ArrowRight")
    assert cursor.get_attribute("aria-expanded") == "true"
    owner = cursor.inner_text()
    page.keyboard.press("ArrowRight")
    assert cursor.inner_text() != owner
    page.keyboard.press("ArrowLeft")
    assert cursor.inner_text() == owner
    page.keyboard.press("Enter")
    assert page.locator(".facts").is_visible()
    page.keyboard.press("/")
    page.keyboard.type("neg")
    page.keyboard.press("Enter")
    assert "neg" in cursor.inner_text()
    page.keyboard.press("Escape")
    assert page.get_by_label("search all levels").input_value() == ""


def test_search_goes_across_levels(show):
    page = show(neuron())
    page.get_by_label("search all levels").fill("tanh")
    tally = page.locator(".tally")
    assert tally.inner_text() == "5"
    assert page.locator("[data-pane=source] .row.hit").count() == 1
    for at in range(1, 6):
        page.keyboard.press("Enter")
        assert tally.inner_text() == f"{at} of 5"
    assert page.locator("[data-pane=hlo]").is_visible()
    assert "tanh" in page.locator("[data-pane=hlo] .row.cursor").inner_text()
    page.get_by_label("search all levels").fill("no such thing")
    assert tally.inner_text() == "none"


def test_columns_and_the_hottest_first(show):
    page = show(hot_program())
    assert page.locator("[data-pane=jaxpr] .row .num").first.is_visible()  # flops, since no time was measured
    page.get_by_role("button", name="more").click()
    page.get_by_label("order").select_option("flops")
    assert [text.split(" = ")[1].split()[0] for text in rows(page, "jaxpr")] == ["dot", "sin"]
    assert rows(page, "source") == ["z = y @ y", "y = sin(x)"]
    page.get_by_label("order").select_option("")
    assert rows(page, "source") == ["y = sin(x)", "z = y @ y"]


def test_filters(show):
    page = show(neuron())
    page.get_by_role("button", name="more").click()
    page.get_by_role("button", name="backward", exact=True).click()
    assert [text.split("  ")[0] for text in rows(page, "jaxpr") if " = " in text] == ["f = tanh e"]


def test_a_view_that_cannot_be_drawn_says_so_in_its_own_place(show):
    page = show(PROGRAMS["loop"]())
    page.evaluate(
        "() => { window.said = []; console.error = error => said.push(error.message);"
        " document.createElementNS = (space, name) => {"
        " if (space.includes('svg')) throw new Error('nothing to draw with');"
        " return Document.prototype.createElementNS.call(document, space, name) }; }"
    )
    page.get_by_role("tab", name="graph").click()
    assert page.locator(".view").inner_text().strip() == "This view cannot be drawn: nothing to draw with"
    assert page.evaluate("said") == ["nothing to draw with"]
    page.evaluate("() => { delete document.createElementNS; }")
    page.get_by_role("tab", name="code").click()
    assert page.locator("[data-pane=jaxpr] .row").count() > 0
    page.get_by_role("tab", name="graph").click()
    assert page.locator(".node").count() > 5


def test_the_graph_is_walked_and_opened(show):
    page = show(PROGRAMS["loop"]())
    page.get_by_role("tab", name="graph").click()
    assert page.locator(".node").count() > 5
    assert "f32[" in page.locator(".node .type").first.text_content()
    before = page.locator(".drawing").get_attribute("viewBox")
    page.get_by_role("button", name="zoom in").click()
    assert page.locator(".drawing").get_attribute("viewBox") != before
    page.locator(".node.opens").first.dblclick()
    assert page.locator(".crumbs b").inner_text() == "body"
    page.get_by_role("button", name="main").click()
    page.locator(".drawing").focus()
    page.keyboard.press("ArrowDown")
    assert page.locator(".node.cursor").count() == 1


def test_edges_tell_shapes_where_there_is_room(show):
    page = show(PROGRAMS["loop"]())
    page.get_by_role("tab", name="graph").click()
    shapes = page.locator(".edges text")
    count = shapes.count()
    assert count > 3
    assert not any(shapes.nth(at).is_visible() for at in range(count))
    for _ in range(6):
        page.get_by_role("button", name="zoom in").click()
    seen = page.locator(".edges text.free")
    assert seen.first.is_visible()
    assert "f32" in seen.first.text_content()
    boxes = [seen.nth(at).bounding_box() for at in range(seen.count())]
    for at, one in enumerate(boxes):
        for other in boxes[at + 1 :]:
            apart = one["x"] + one["width"] <= other["x"] + 1 or other["x"] + other["width"] <= one["x"] + 1
            assert apart or abs(one["y"] - other["y"]) > 3
    page.get_by_role("button", name="fit").click()
    assert not seen.first.is_visible()
    edge = page.locator(".edges path").first
    box = edge.evaluate("""path => {
      const { x, y } = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
      return { x, y };
    }""")
    page.mouse.move(box["x"], box["y"])
    page.locator(".edges g:hover text").wait_for()


def test_memory_tells_who_holds_the_peak(show):
    page = show(hot_program())
    page.get_by_role("tab", name="memory").click()
    assert "peak 768 B" in page.locator(".memory").inner_text()
    assert "by liveness over the jaxpr" in page.locator(".memory").inner_text()
    page.locator(".holders button").first.click()
    assert page.locator(".facts").is_visible()


def test_two_runs_are_compared(show):
    page = show(hot_program(), previous=PROGRAMS["mlp"]())
    page.get_by_role("tab", name="compare").click()
    assert page.locator(".row.came").count() == 2
    assert "flops" in page.locator(".compare table").inner_text()


FOUND = Finding(
    "concretization",
    "`loss > 1` needs the value of a traced bool[]",
    2,
    Span(2, 3, 2, 11),
    "images and w1",
    fix=Fix("choose with jnp.where.", edit=(2, "if loss > 1:", "h = jnp.where(loss > 1, h / loss, h)"), verified=True),
    trail=(1,),
)


def test_a_finding_is_told_without_opening_and_its_fix_is_copied(show):
    page = show(
        Program("loss = x\nif loss > 1:\n    pass", (), (), (FOUND,)),
        unfold=False,
        permissions=["clipboard-read", "clipboard-write"],
    )
    brief = page.locator(".finding").first
    for part in ("line 2", "needs the value", "fed by images and w1", "fix, tried"):
        assert part in brief.inner_text()
    brief.get_by_role("button", name="copy the fix").click()
    brief.get_by_role("button", name="copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "h = jnp.where(loss > 1, h / loss, h)"


def test_advice_is_not_offered_as_a_fix(show):
    from dataclasses import replace

    advice = replace(FOUND, fix=replace(FOUND.fix, verified=False))
    page = show(Program("loss = x\nif loss > 1:\n    pass", (), (), (advice,)), unfold=False)
    assert "advice:" in page.locator(".finding").first.inner_text()
    assert page.get_by_role("button", name="copy the fix").count() == 0


def test_it_is_taken_along(show):
    page = show(neuron())
    page.get_by_role("button", name="more").click()
    found = {}
    for name in ("HTML", "JSON", "SVG"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"download {name}").click()
        with open(waiting.value.path(), encoding="utf-8") as file:
            found[name] = file.read()
    assert decode(json.loads(found["JSON"])) == neuron()
    assert found["SVG"].startswith("<svg") and "tanh" in found["SVG"]
    assert "add_tanh_fusion" in found["HTML"] and "<script" not in found["HTML"]


def test_a_hostile_notebook_changes_nothing(show):
    page = show(hostile(), previous=hostile())
    for tab in ("graph", "memory", "findings 1", "compare", "code"):
        if page.get_by_role("tab", name=tab).count():
            page.get_by_role("tab", name=tab).click()
    page.get_by_role("button", name="more").click()
    page.locator("[data-pane=jaxpr] .row").nth(1).click()
    page.get_by_label("search all levels").fill("<script>")
    page.keyboard.press("Enter")
    assert page.evaluate("window.hit") is None
    assert page.evaluate(f"{SHADOW}.querySelectorAll('script, img, iframe, object, [onerror], [onload]').length") == 0
    assert page.locator("script").count() == 2  # the data and the inspector
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_by_all(show, scheme):
    from axe_playwright_python.sync_playwright import Axe

    style = "<style>body{background:#fff}@media(prefers-color-scheme:dark){body{background:#14171b;color:#eee}}</style>"
    page = show(neuron(), scheme=scheme, before=style, previous=PROGRAMS["mlp"]())
    page.get_by_role("button", name="more").click()
    page.locator("[data-pane=jaxpr] .row").nth(1).click()
    for tab in ("code", "graph", "memory", "compare"):
        page.get_by_role("tab", name=tab).click()
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        serious = [
            (one["id"], [node["html"][:200] for node in one["nodes"]])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], (tab, serious)


def test_it_is_dark_where_the_page_is(show):
    page = show(neuron(), before="<style>body{background:#111;color:#eee}</style>")
    assert page.locator(".root").get_attribute("data-theme") == "dark"
    page.evaluate("document.body.style.background = 'white'")
    page.locator(".root[data-theme=light]").wait_for()


def test_a_narrow_page_shows_one_pane_at_a_time(show):
    page = show(neuron(), width=400)
    assert page.locator(".pane").count() == 1
    level_button(page, "source").click()
    assert page.locator("[data-pane=source]").is_visible()
    level_button(page, "HLO").click()
    assert page.locator("[data-pane=hlo]").is_visible()
    assert page.locator(".pane").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_nothing_moves_for_who_does_not_want_it(show):
    page = show(neuron(), reduced_motion="reduce")
    assert page.locator(".arrow").evaluate("one => getComputedStyle(one).transitionDuration") == "0s"


def test_in_print_the_tools_are_gone(show):
    page = show(neuron())
    page.emulate_media(media="print")
    assert not page.locator(".bar").is_visible()
    assert page.locator("[data-pane=jaxpr] .row").first.is_visible()


def test_without_scripts_the_static_view_stays(show, new_page, tmp_path):
    path = tmp_path / "static.html"
    path.write_text(render_interactive(neuron(), line=LINE), encoding="utf-8")
    page = new_page(java_script_enabled=False)
    page.goto(path.as_uri())
    assert page.locator("summary").inner_text() == LINE
    page.locator("summary").click()
    assert page.locator("pre", has_text="tanh").first.is_visible()


def test_data_that_cannot_be_read_leaves_the_static_view(new_page, tmp_path):
    path = tmp_path / "broken.html"
    html = render_interactive(neuron(), line=LINE)
    start = html.index('program">') + len('program">')
    path.write_text(html[:start] + "AAAA" + html[start + 4 :], encoding="utf-8")
    page = new_page()
    page.goto(path.as_uri())
    page.wait_for_timeout(300)
    assert page.locator("summary").is_visible()


def test_two_outputs_in_one_page_stand_alone(new_page, tmp_path):
    path = tmp_path / "two.html"
    one = render_interactive(neuron(), line="first", script=False)
    path.write_text(one + render_interactive(hot_program(), line="second"), encoding="utf-8")
    page = new_page()
    page.goto(path.as_uri())
    page.locator(".line").nth(1).wait_for()
    assert [text.strip() for text in page.locator(".line").all_inner_texts()] == ["first", "second"]


def test_a_report_has_the_inspector_and_lets_nothing_else_run(new_page, tmp_path):
    staged = {MIME_TYPE: encode(neuron()), "text/plain": LINE, "text/html": HOSTILE}
    outputs = [v4.new_output("display_data", data) for data in (staged, staged, {"text/html": HOSTILE})]
    cells = [v4.new_markdown_cell(f"# Title\n{HOSTILE}"), v4.new_code_cell("x = 1", outputs=outputs)]
    path = tmp_path / "report.html"
    path.write_text(render_page(v4.new_notebook(cells=cells), "Title", []), encoding="utf-8")
    page = new_page()
    page.goto(path.as_uri())
    page.locator(".line").nth(1).click()
    page.locator("[data-pane=jaxpr] .row", has_text="tanh").hover()
    assert marked(page, "source") == ["y = jnp.tanh(x @ w + c * 3)"]
    assert page.evaluate("window.hit") is None
    assert "script-src 'sha256-" in page.locator("meta[http-equiv]").get_attribute("content")


def test_a_report_without_programs_has_no_script():
    cell = v4.new_code_cell("x = 1", outputs=[v4.new_output("stream", text="1")])
    assert "<script" not in render_page(v4.new_notebook(cells=[cell]), "Title", [])
