"""Diagrams in JupyterLab and Notebook 7: their script comes when they are first wanted; without a kernel; widgets."""

from __future__ import annotations

import json

import pytest

from jaxnb.program.codec import MIME_TYPE

SETUP = """%load_ext jaxnb
%jaxnb mesh x=4, y=2 --devices 8
import jax, jax.numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec as P
x = jax.device_put(jnp.ones((8, 4)), NamedSharding(jax.sharding.get_mesh(), P("x", "y")))"""
SUMMED = """%%jit
h = jnp.tanh(x)
total = h.sum(0)"""
MAPPED = """%%jit
centred = jax.vmap(lambda v: v - jax.lax.pmean(v, "batch"), axis_name="batch")(jnp.ones((8, 4)) * 2)"""


def diagrams(shown):
    shown.locator(".line").wait_for(timeout=60_000)
    if not shown.locator(".body").is_visible():
        shown.locator(".line").click()
    shown.locator("[data-tab=mesh]").click()
    shown.locator(".picture").wait_for(timeout=30_000)
    return shown.locator(".picture")


def scripts(page, name: str) -> int:
    return page.evaluate(
        f"performance.getEntriesByType('resource').filter(one => /{name}\\.[0-9a-f]+\\.js/.test(one.name)).length"
    )


def test_they_come_with_the_first_that_are_wanted_and_stay_without_a_kernel(server, page):
    server.write("mesh.ipynb", [SETUP, SUMMED, "1 + 1"])
    server.open(page, "mesh.ipynb")
    server.run_all(page)
    shown = page.locator(".jp-RenderedJaxnb").first
    shown.locator(".line").wait_for(timeout=60_000)
    assert scripts(page, "inspector") == 1 and scripts(page, "diagrams") == 0
    picture = diagrams(shown)
    assert scripts(page, "diagrams") == 1
    assert picture.locator("[aria-current=true]").inner_text().split()[:2] == ["input", "x"]
    assert picture.locator(".sides > div").nth(1).locator(".tile").count() == 8
    shown.get_by_role("button", name="collectives").click()
    row = picture.locator(".ledger tbody tr").first
    assert "x" in row.inner_text().split()
    row.hover()
    assert shown.locator("[data-pane=jaxpr] .row.hot", has_text="reduce_sum").count() == 1

    page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.wait_for_timeout(500)
    server.save(page)
    page.evaluate(
        "() => { const area = jupyterapp.shell.currentWidget.content.widgets[1].outputArea;"
        " const saved = area.model.toJSON(); area.model.fromJSON(saved); }"
    )
    picture = diagrams(page.locator(".jp-RenderedJaxnb").first)
    assert picture.locator(".sides .tile").count() == 16
    saved = json.loads((server.notebooks / "mesh.ipynb").read_text())
    data = next(out["data"][MIME_TYPE] for out in saved["cells"][1]["outputs"] if MIME_TYPE in out.get("data", {}))
    assert data["layout"]["meshes"] and data["drawings"]


def test_a_widget_has_them_too(lab, page):
    lab.write("widget.ipynb", [SETUP, SUMMED, "import jaxnb\njaxnb.widget(jaxnb.last())"])
    lab.open(page, "widget.ipynb")
    lab.run_all(page)
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(2)
    cell.locator("[data-pane=jaxpr] .row", has_text="tanh").first.wait_for(timeout=60_000)
    assert diagrams(cell).locator(".sides .tile").count() == 16


def test_a_widget_asks_for_the_names_of_vmap(lab, page):
    lab.write("vmap.ipynb", [SETUP, MAPPED, "import jaxnb\njaxnb.widget(jaxnb.last())"])
    lab.open(page, "vmap.ipynb")
    lab.run_all(page)
    cell = page.locator(".jp-Notebook .jp-CodeCell").nth(2)
    cell.locator("[data-pane=jaxpr] .row").first.wait_for(timeout=60_000)
    cell.locator("[data-tab=mesh]").click()
    cell.locator(".flow b", has_text="vmap over batch:8").wait_for(timeout=30_000)
    assert cell.locator(".flow circle").count() == 1
