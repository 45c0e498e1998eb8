"""The inspector on training steps of models: every view of a long program, live, saved, dark and narrow."""

from __future__ import annotations

import functools
import json

import jax
import jax.numpy as jnp
import pytest
import test_checkpointing as checkpointing
from models.larger import LARGER
from models.steps import STEPS
from pages import level_button, rows

import jaxnb
from jaxnb.program import MIME_TYPE, encode_status
from jaxnb.shell.show import bundle
from jaxnb.units import format_bytes
from jaxnb.views.packing import pack

VIEWS = ("code", "costs", "graph", "memory")


@functools.cache
def run_of(name: str):
    step = STEPS[name] if name in STEPS else LARGER[name]
    run = jaxnb.stage(step.cell, step.names())
    for level in ("jaxpr", "hlo"):
        run.program.level(level)
    return run


def open_view(page, view: str):
    page.locator(f"[data-tab={view}]").click()
    return page.locator(".view")


def look_at_every_view(page, width):
    for view in VIEWS:
        found = open_view(page, view)
        assert "cannot be drawn" not in found.inner_text()
        assert found.locator(".row, .area, .node, .layer").count() > (0 if view == "memory" else 2), view
        box = found.bounding_box()
        assert box["width"] <= width
        assert box["height"] > 60


@pytest.mark.parametrize(
    ("width", "scheme"), [(1200, "light"), (400, "dark")], ids=["wide and light", "narrow and dark"]
)
@pytest.mark.parametrize("name", STEPS)
def test_every_view_of_a_model_shows_something(show, name, width, scheme):
    look_at_every_view(show(run_of(name).program, width=width, scheme=scheme), width)


def test_the_source_opens_into_the_lines_of_what_it_calls(show):
    page = show(run_of("transformer").program)
    lines = rows(page, "source")
    assert lines[0].startswith("▾loss, grads = nnx.value_and_grad(token_loss)(model, x, y)")
    assert any("x = block(x)" in line and "Block.__call__ ×2  blocks[0…1]" in line for line in lines)
    row = page.locator("[data-pane=source] .row", has_text="opt.update(model, grads)")
    row.locator(".fold").click()
    assert any("optax.chain.update" in line for line in rows(page, "source"))
    page.locator("[data-pane=source] .row", has_text="x = block(x)").locator(".fold").click()
    assert not any("self.attn" in line for line in rows(page, "source"))


def test_the_jaxpr_is_folded_by_calls(show):
    page = show(run_of("transformer").program)
    found = rows(page, "jaxpr")
    assert len(found) < 40
    assert any("token_loss" in line and "backward" in line and "%" in line for line in found)
    group = page.locator("[data-pane=jaxpr] .row.group", has_text="Transformer.__call__").first
    before = len(found)
    group.locator(".fold").click()
    assert len(rows(page, "jaxpr")) != before
    group.click()
    assert "eqns" in page.locator(".status").inner_text() or "ops" in page.locator(".status").inner_text()


LOOPS = """def advance(carry, _):
    x, v = carry
    for n in range(6):
        v = v - 0.1 * jnp.sin(x + n) + jnp.cos(v)
        x = x + 0.1 * v
    return (x, v), x

def smooth(carry, x):
    for n in range(4):
        carry = 0.9 * carry + 0.1 * jnp.tanh(x - n)
    return carry, carry ** 2

(x, v), path = jax.lax.scan(advance, (x, v), None, 50)
_, smoothed = jax.lax.scan(smooth, x, path)
total = smoothed.sum()"""


def test_a_graph_begins_with_the_loops_of_the_cell(show):
    """Several loops that each hold much: none of them is all of the cell, and each is a box that opens."""
    run = jaxnb.stage(LOOPS, {"jax": jax, "jnp": jnp, "x": jnp.ones(8), "v": jnp.ones(8)})
    page = show(run.program)
    view = open_view(page, "graph")
    assert view.locator(".crumbs b").inner_text() == "main"
    labels = view.locator(".node .label").evaluate_all("nodes => nodes.map(node => node.textContent)")
    assert labels == ["advance ▸", "smooth ▸", "reduce_sum"]
    assert "scan, 50 turns" in view.locator(".node .type").first.text_content()
    view.locator(".node", has_text="advance").dblclick()
    assert view.locator(".crumbs b").inner_text() == "body"
    view.get_by_role("button", name="‹ back").click()
    assert view.locator(".crumbs b").inner_text() == "main"


def test_modules_open_and_flow(show):
    page = show(run_of("transformer").program)
    graph = open_view(page, "graph")
    assert graph.locator(".node.back").count() > 3
    block = graph.locator(".node:not(.back)", has_text="Block.__call__").last
    frames = graph.locator(".frame").count()
    block.dblclick()
    assert graph.locator(".frame").count() == frames + 1
    graph.locator(".frame text", has_text="blocks[1]").click()
    assert graph.locator(".frame").count() == frames
    graph.get_by_role("button", name="each op").click()
    assert open_view(page, "graph").locator(".node").count() > 100
    page.get_by_role("button", name="modules").click()
    assert page.locator(".node").count() < 60


def test_a_press_goes_into_the_flame_and_back(show):
    page = show(run_of("transformer").program)
    view = open_view(page, "costs")
    whole = view.locator(".area").count()
    view.locator(".area", has_text="Block.__call__").first.click()
    assert view.locator(".crumbs b").inner_text().startswith("Block.__call__")
    assert view.locator(".area").count() < whole
    view.get_by_role("button", name="cell").click()
    assert view.locator(".area").count() == whole
    view.get_by_role("button", name="map").click()
    assert view.locator(".place.map .area").count() > 10


def test_memory_stands_in_layers(show):
    page = show(run_of("transformer").program)
    view = open_view(page, "memory")
    legend = view.locator(".legend").inner_text()
    assert "model" in legend
    assert "jax.nn.gelu" in legend
    assert "backward begins" in legend
    slider = view.get_by_label("position in the program")
    slider.focus()
    page.keyboard.press("Home")
    assert view.locator(".where").inner_text().startswith("At op 1 of ")


def test_search_finds_functions_and_modules(show):
    page = show(run_of("transformer").program)
    page.get_by_label("search all levels").fill("blocks[1].attn")
    assert int(page.locator(".tally").inner_text()) > 50
    page.keyboard.press("Enter")
    page.get_by_label("search all levels").fill("MultiHeadAttention")
    assert page.locator("[data-pane=source] .row.hit").count() >= 1
    assert page.locator("[data-pane=jaxpr] .row.hit").count() >= 1


def test_panes_are_divided_by_hand_and_details_stand_beside(show):
    page = show(run_of("transformer").program, width=1300)
    source = page.locator("[data-pane=source]")
    before = source.bounding_box()["width"]
    divider = page.get_by_role("separator")
    divider.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert abs(source.bounding_box()["width"] - before - 60) < 4
    box = divider.bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] - 98, box["y"] + 100, steps=4)
    page.mouse.up()
    assert abs(source.bounding_box()["width"] - before + 40) < 6
    page.locator("[data-pane=jaxpr] .row.group").first.click()
    details, panes = page.locator(".details").bounding_box(), page.locator(".panes").bounding_box()
    assert details["x"] >= panes["x"] + panes["width"] - 1
    page.get_by_role("button", name="whole window").click()
    page.wait_for_function("() => !!document.fullscreenElement")
    page.get_by_role("button", name="whole window").click()
    page.wait_for_function("() => !document.fullscreenElement")


@pytest.fixture
def saved(new_page, tmp_path, show):
    """Opens the output of a cell as a notebook keeps it, where no kernel can be asked."""

    def opened(name, **options):
        run = run_of(name)
        page = show(run.program, unfold=False, **options)
        data = {**bundle(run, rich=True)[MIME_TYPE], "status": encode_status(run.status)}
        packed = pack({"line": str(run.status), "program": data})
        path = tmp_path / "page.html"
        text = path.read_text(encoding="utf-8")
        start = text.index('<script type="application/vnd.jaxnb.program">') + len(
            '<script type="application/vnd.jaxnb.program">'
        )
        path.write_text(text[:start] + packed + text[text.index("</script>", start) :], encoding="utf-8")
        page.reload()
        page.locator(".line").click()
        return page, data

    return opened


@pytest.mark.parametrize("width", [1200, 400])
@pytest.mark.parametrize("name", STEPS)
def test_a_reopened_notebook_shows_tree_sums_and_memory(saved, name, width):
    look_at_what_was_saved(*saved(name, width=width))


@pytest.mark.parametrize("name", LARGER)
def test_larger_models_show_every_view_live_and_reopened(show, saved, name):
    page = show(run_of(name).program)
    look_at_every_view(page, 1200)
    open_view(page, "code")
    assert page.locator("[data-pane=source] .num[title]").count() > 2, "lines have their costs"
    look_at_what_was_saved(*saved(name))


def look_at_what_was_saved(page, data):
    assert len(json.dumps(data, separators=(",", ":"))) < 15_000
    for view in ("code", "costs", "memory"):
        tab = page.locator(f"[data-tab={view}]")
        if not tab.count():
            assert len(data["levels"]) > 1  # a short program has its levels instead
            continue
        tab.click()
        found = page.locator(".view")
        assert "cannot be drawn" not in found.inner_text()
        assert found.locator(".row, .area, .layer").count() > (0 if view == "memory" else 2), view


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_screen_reader_can_use_every_view(show, scheme):
    from axe_playwright_python.sync_playwright import Axe

    style = "<style>body{background:#fff}@media(prefers-color-scheme:dark){body{background:#14171b;color:#eee}}</style>"
    page = show(run_of("transformer").program, scheme=scheme, before=style)
    for view in VIEWS:
        open_view(page, view)
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        assert not serious, (view, [(one["id"], [node["html"][:300] for node in one["nodes"]][:3]) for one in serious])


def test_hlo_begins_with_what_costs_most_and_can_be_put_in_order(show):
    page = show(run_of("transformer").program)
    level_button(page, "HLO").click()
    pane = page.locator("[data-pane=hlo]")
    hottest = pane.get_by_role("button", name="hottest first")
    assert hottest.get_attribute("aria-pressed") == "true"
    assert pane.locator(".heads [aria-pressed=true]").inner_text().startswith("flops")
    shares = pane.locator(".row .num[title^=flops]").evaluate_all(
        "cells => cells.map(cell => [Number(cell.closest('.row').dataset.row), +cell.style.getPropertyValue('--part')])"
    )
    assert [share for _, share in sorted(shares)] == sorted((share for _, share in shares), reverse=True)
    first = rows(page, "hlo")
    assert any("= fusion  {dot" in row for row in first)
    fusion = pane.locator(".row", has_text="fusion").first
    fusion.locator(".fold").click()
    assert len(pane.locator(".row.head").all()) == 1
    hottest.click()
    assert hottest.get_attribute("aria-pressed") == "false"
    assert rows(page, "hlo")[0].startswith("main")
    hottest.click()
    hlo = run_of("transformer").program.level("hlo")
    cheap = next(op for op in hlo.computations[0].ops if not op.flops and not op.bodies)
    page.get_by_label("search all levels").fill(f"{hlo.values[cheap.outputs[0]].name}")
    page.keyboard.press("Enter")
    assert pane.locator(".row.cursor.hit").count() == 1
    assert hottest.get_attribute("aria-pressed") == "false"


def test_memory_says_what_checkpointing_would_save(show):
    program = checkpointing.memory_of(checkpointing.CELL.format("layer"), checkpointing.names(), buffers=True)[0]
    view = open_view(show(program), "memory")
    (saves,) = set(checkpointing.told(program).values())
    assert f"jax.checkpoint around layer would save {format_bytes(saves)}" in view.inner_text()
