"""What needs a live kernel in JupyterLab and Notebook 7: sliders, the widget, findings, settings, values, keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

SETUP = """%load_ext jaxnb
import jax, jax.numpy as jnp
x, w = jnp.arange(8.0), jnp.ones(8)"""
CELL = """%%jit
h = jnp.tanh(x * w)
loss = jnp.sum(h**2)"""


def opened(page):
    found = page.locator(".jp-RenderedJaxnb").first
    found.locator(".line").wait_for(timeout=45_000)
    found.locator(".line").click()
    found.locator("[data-pane=jaxpr] .row").first.wait_for()
    return found


def run_new_cell(page, text: str) -> str:
    """Runs a cell at the end of the notebook; what it printed."""
    page.evaluate(
        "async text => { const { content } = jupyterapp.shell.currentWidget;"
        " content.activeCellIndex = content.widgets.length - 1;"
        " await jupyterapp.commands.execute('notebook:insert-cell-below');"
        " content.activeCell.model.sharedModel.setSource(text);"
        " await jupyterapp.commands.execute('notebook:run-cell'); }",
        text,
    )
    last = page.locator(".jp-Notebook .jp-CodeCell").last
    last.locator(".jp-OutputArea-output pre").first.wait_for()
    return last.locator(".jp-OutputArea-output pre").first.inner_text().strip()


def test_sliders_move_a_cell_and_bind_nothing_until_told(server, page):
    server.write(
        "sliders.ipynb", [SETUP + "\nscale = 1.0", "%%jit --interact scale=0.0..2.0\ntotal = jnp.sum(x * scale)\ntotal"]
    )
    server.open(page, "sliders.ipynb")
    server.run_all(page)
    output = page.locator(".jp-Notebook .jp-CodeCell").nth(1).locator(".jp-OutputArea-output").last
    output.get_by_text("28.").first.wait_for(timeout=60_000)
    handle = page.locator(".noUi-handle").first
    handle.focus()
    page.keyboard.press("End")
    page.get_by_text("56.").first.wait_for()
    assert page.get_by_text("reused").first.is_visible()  # nothing was traced
    assert run_new_cell(page, "print(scale, 'total' in globals())") == "1.0 False"
    page.get_by_role("button", name="Bind").click()
    page.wait_for_timeout(1000)
    assert run_new_cell(page, "print(scale, float(total))") == "2.0 56.0"


def test_a_widget_asks_the_kernel_for_a_level(server, page):
    server.write("widget.ipynb", [SETUP, CELL, "import jaxnb\njaxnb.widget(jaxnb.last())"])
    server.open(page, "widget.ipynb")
    server.run_all(page)
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(2)
    cell.locator("[data-pane=jaxpr] .row", has_text="tanh").first.wait_for(timeout=60_000)
    cell.get_by_role("button", name="HLO …", exact=True).click()
    cell.locator("[data-pane=hlo] .row").first.wait_for(timeout=30_000)


def test_a_program_that_a_cell_ends_with_is_the_inspector(server, page):
    server.write("value.ipynb", [SETUP, CELL, "import jaxnb\njaxnb.last().program"])
    server.open(page, "value.ipynb")
    server.run_all(page)
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(2)
    cell.locator(".jp-RenderedJaxnb .line", has_text="program").click(timeout=60_000)
    cell.locator("[data-pane=jaxpr] .row", has_text="tanh").first.wait_for(timeout=30_000)
    cell.get_by_role("button", name="HLO …", exact=True).click()
    cell.locator("[data-pane=hlo] .row").first.wait_for(timeout=30_000)


LEAKY = """kept = []
def f(v):
    kept.append(v * 2)
    return v + 1
y = jax.jit(f)(x)"""


MODEL = """import sys
sys.path.insert(0, {tests!r})
from models.steps import STEPS
globals().update(STEPS["transformer"].names())"""
STEP = """%%jit
loss, grads = nnx.value_and_grad(token_loss)(model, x, y)
opt.update(model, grads);"""


def test_a_model_is_delivered_by_the_kernel_view_by_view(server, page):
    """Its levels do not fit into the output: the kernel is asked, and a notebook without one keeps tree and memory."""
    server.write("model.ipynb", [SETUP, MODEL.format(tests=str(Path(__file__).parents[1])), STEP])
    server.open(page, "model.ipynb")
    server.run_all(page)
    found = page.locator(".jp-Notebook .jp-CodeCell").nth(2).locator(".jp-RenderedJaxnb")
    found.locator(".line").wait_for(timeout=120_000)
    found.locator(".line").click()
    found.locator("[data-pane=source] .row", has_text="Block.__call__").first.wait_for(timeout=60_000)
    found.locator("[data-pane=jaxpr] .row.group", has_text="token_loss").first.wait_for(timeout=60_000)
    found.locator("[data-tab=graph]").click()
    found.locator(".node", has_text="Block.__call__").first.wait_for()
    found.locator("[data-tab=costs]").click()
    found.locator(".area", has_text="Block.__call__").first.wait_for()
    found.locator("[data-tab=memory]").click()
    found.get_by_text("from the compiled program's buffers").wait_for(timeout=60_000)
    assert found.locator(".layer").count() > 5
    assert found.locator("summary").count() == 0, "the static view does not stand below"
    beside = found.get_by_role("button", name="beside")
    if server.app == "lab":
        beside.click()
        page.locator(".lm-DockPanel .jp-RenderedJaxnb .body:visible").nth(1).wait_for()


def test_a_model_is_shown_from_the_notebook_where_the_kernel_has_forgotten_it(server, page):
    server.write("forgotten.ipynb", [SETUP, MODEL.format(tests=str(Path(__file__).parents[1])), STEP])
    server.open(page, "forgotten.ipynb")
    server.run_all(page)
    found = page.locator(".jp-Notebook .jp-CodeCell").nth(2).locator(".jp-RenderedJaxnb")
    found.locator(".line").wait_for(timeout=120_000)
    assert run_new_cell(page, "get_ipython()._jaxnb_magics._inspectors.forget()\nprint('forgotten')") == "forgotten"
    found.locator(".line").click()
    found.get_by_text("run the cell again").wait_for()
    assert found.locator("[data-pane=source] .row", has_text="Block.__call__").count() >= 1
    assert found.locator("summary").count() == 0, "the static view does not stand below"
    found.locator("[data-tab=memory]").click()
    assert found.locator(".layer").count() > 5
    found.locator("[data-tab=costs]").click()
    assert found.locator(".area").count() > 5


def test_a_press_in_the_list_of_cells_goes_to_one(server, page):
    server.write("session.ipynb", [SETUP, CELL, *["1 + 1"] * 40, "%jaxnb session"])
    server.open(page, "session.ipynb")
    server.run_all(page)
    table = page.locator(".jp-Notebook .jp-CodeCell").last.locator("table")
    page.evaluate("jupyterapp.shell.currentWidget.content.activeCellIndex = 42")
    page.evaluate("{ const { content } = jupyterapp.shell.currentWidget; content.scrollToItem(42) }")
    table.wait_for(timeout=60_000)
    assert "h = jnp.tanh(x * w)" in table.inner_text()
    table.get_by_role("link").first.click()
    page.wait_for_function("() => jupyterapp.shell.currentWidget.content.activeCellIndex === 1")
    page.locator(".jp-Notebook .jp-CodeCell", has_text="h = jnp.tanh(x * w)").first.wait_for(timeout=5_000)


def test_a_leak_is_told_under_the_cell_with_its_line(server, page):
    server.write("leak.ipynb", [SETUP, LEAKY])
    server.open(page, "leak.ipynb")
    server.run_all(page)
    found = page.locator(".jp-RenderedJaxnb .finding").first
    found.wait_for(timeout=60_000)
    assert "leak" in found.inner_text()
    assert "held by" in found.inner_text()


def test_settings_say_what_is_open_at_first(server, page):
    path = server.folder / "settings/jaxnb/plugin.jupyterlab-settings"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"open": True, "levels": ["jaxpr"], "columns": ["flops"]}))
    try:
        server.write("settings.ipynb", [SETUP, CELL])
        server.open(page, "settings.ipynb")
        server.run_all(page)
        shown = page.locator(".jp-RenderedJaxnb").first
        shown.locator("[data-pane=jaxpr] .row").first.wait_for(timeout=60_000)
        assert shown.locator(".pane").count() == 1
        assert shown.locator("[data-pane=jaxpr] .heads").get_by_role("button", name="flops").is_visible()
    finally:
        path.unlink()


def test_treescope_shows_a_value_as_it_is_now(server, page):
    pytest.importorskip("treescope")
    server.write("value.ipynb", [SETUP, CELL, "x = jnp.arange(3)"])
    server.open(page, "value.ipynb")
    server.run_all(page)
    shown = opened(page)
    shown.locator("[data-pane=jaxpr] .row", has_text="mul").first.click()
    shown.get_by_title("ask the kernel what x is now").first.click()
    frame = shown.locator(".peeked iframe")
    frame.wait_for()
    assert frame.get_attribute("sandbox") == "allow-scripts"
    frame.content_frame.get_by_text("int32").first.wait_for()  # not the float32 that the cell read
    shown.get_by_role("button", name="close").click()
    assert not frame.is_visible()


def test_by_keys_alone_from_the_notebook_and_back(server, page):
    server.write("keys.ipynb", [SETUP, CELL, "1 + 1"])
    server.open(page, "keys.ipynb")
    server.run_all(page)
    shown = page.locator(".jp-RenderedJaxnb").first
    line = shown.locator(".line")
    line.wait_for(timeout=60_000)
    line.focus()
    page.keyboard.press("Enter")
    shown.locator("[data-pane=jaxpr] .row").first.wait_for()
    active = "() => document.activeElement.shadowRoot?.activeElement?.getAttribute('aria-label') === 'jaxpr'"
    for _ in range(15):
        page.keyboard.press("Tab")
        if page.evaluate(active):
            break
    else:
        raise AssertionError("the pane cannot be reached by Tab")
    page.keyboard.type("dd")  # would delete a cell
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert shown.locator(".facts").is_visible()
    page.keyboard.press("Escape")
    assert not shown.locator(".facts").is_visible()
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.activeElement.shadowRoot")
    assert page.locator(".jp-Notebook .jp-CodeCell").count() == 3
    assert page.evaluate("jupyterapp.shell.currentWidget.content.activeCellIndex") == 1
    page.keyboard.press("ArrowDown")  # the notebook's own key
    page.wait_for_function("() => jupyterapp.shell.currentWidget.content.activeCellIndex === 2")


REFUSED = """%%jit --whole
h = jnp.tanh(x * w)
loss = jnp.sum(h)
if loss > 1:
    h = h / loss"""


def test_the_fix_of_a_refused_cell_can_be_copied(server, new_page):
    page = new_page(1280, 900, offline=False, permissions=["clipboard-read", "clipboard-write"])
    server.write("refused.ipynb", [SETUP, REFUSED])
    server.open(page, "refused.ipynb")
    server.run_all(page)
    offer = page.locator(".jp-RenderedJaxnb .finding").first
    offer.wait_for(timeout=60_000)
    assert "line 4" in offer.inner_text()
    offer.get_by_role("button", name="copy the fix").click()
    offer.get_by_role("button", name="copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "h = jnp.where(loss > 1, h / loss, h)"
