"""The inspector in JupyterLab and Notebook 7: live, saved and opened again, without a kernel, and not trusted."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from pages import HOSTILE, hostile

from jaxnb.program.codec import MIME_TYPE, encode
from jaxnb.views.html import render_html

SETUP = """%load_ext jaxnb
import jax, jax.numpy as jnp
x, w = jnp.arange(8.0), jnp.ones(8)"""
CELL = """%%jit
h = jnp.tanh(x * w)
loss = jnp.sum(h**2)"""
CELLS = [SETUP, CELL, "1 + 1"]


def inspector(page):
    found = page.locator(".jp-RenderedJaxnb")
    found.locator(".line").first.wait_for(timeout=45_000)
    return found.first


def opened(page):
    found = inspector(page)
    found.locator(".line").click()
    found.locator("[data-pane=jaxpr] .row").first.wait_for()
    return found


def saved(server, name: str, page) -> dict:
    """The notebook as it was saved."""
    server.save(page)
    path = server.notebooks / name
    for _ in range(100):
        nb = json.loads(path.read_text())
        if any(cell["outputs"] for cell in nb["cells"]):
            return nb
        page.wait_for_timeout(100)
    raise AssertionError("the notebook was not saved")


def test_a_cell_is_run_hovered_folded_searched_and_opened_again(server, page, new_page):
    server.write("run.ipynb", CELLS)
    server.open(page, "run.ipynb")
    server.run_all(page)
    shown = inspector(page)
    assert shown.locator(".line").text_content().strip().startswith("● staged · ")
    assert not shown.locator(".body").is_visible()
    shown = opened(page)

    shown.locator("[data-pane=source] .row", has_text="tanh").hover()
    assert shown.locator("[data-pane=jaxpr] .row.hot").count() == 2

    # A level that was not saved comes from the kernel; what was compiled is not compiled again for it.
    shown.get_by_role("button", name="HLO …", exact=True).click()
    shown.locator("[data-pane=hlo] .row").first.wait_for()
    fold = shown.locator("[data-pane=hlo] .row[aria-expanded]").first
    fold.locator(".fold").click()
    assert shown.locator("[data-pane=hlo] .row[aria-expanded]").first.get_attribute("aria-expanded") == "false"

    # Keys belong to the inspector while it has the focus: `dd` deletes no cell, escape gives them back.
    shown.locator("[data-pane=jaxpr] .row").nth(1).click()
    page.keyboard.press("/")
    page.keyboard.type("dd")
    assert page.locator(".jp-Notebook .jp-CodeCell").count() == 3
    assert shown.get_by_label("search all levels").input_value() == "dd"
    for _ in range(3):
        page.keyboard.press("Escape")
    page.wait_for_timeout(200)
    assert page.evaluate("!document.activeElement.classList.contains('jp-RenderedJaxnb')")
    page.keyboard.type("b")  # a new cell below, by a shortcut of the notebook
    page.wait_for_function("() => document.querySelectorAll('.jp-Notebook .jp-CodeCell').length === 4")

    # What is saved is the program, not what was looked at.
    nb = saved(server, "run.ipynb", page)
    output = next(
        one for one in nb["cells"][1]["outputs"] if "application/vnd.jaxnb.program.v1+json" in one.get("data", {})
    )
    assert "hlo" not in json.dumps(output["data"]["application/vnd.jaxnb.program.v1+json"]["levels"])
    assert len(json.dumps(output["data"])) < 16_000


def test_a_value_is_looked_at(server, page):
    server.write("peek.ipynb", CELLS)
    server.open(page, "peek.ipynb")
    server.run_all(page)
    shown = opened(page)
    shown.locator("[data-pane=jaxpr] .row", has_text="mul").first.click()
    shown.get_by_title("ask the kernel what x is now").first.click()
    shown.locator(".peeked iframe, .peeked pre").first.wait_for()
    frame = shown.locator(".peeked iframe")
    if frame.count():
        assert frame.get_attribute("sandbox") == "allow-scripts"


def test_a_second_run_is_compared_with_the_first(server, page):
    server.write("twice.ipynb", CELLS)
    server.open(page, "twice.ipynb")
    server.run_all(page)
    inspector(page)
    page.evaluate(
        "() => { const cell = jupyterapp.shell.currentWidget.content.widgets[1];"
        " cell.model.sharedModel.setSource(cell.model.sharedModel.getSource().replace('tanh', 'sin')); }"
    )
    server.run_all(page)
    page.wait_for_function("() => jupyterapp.shell.currentWidget.content.widgets[2].model.executionCount === 6")
    shown = page.locator(".jp-RenderedJaxnb").first
    shown.locator(".line").click()
    shown.get_by_role("tab", name="compare").click()
    assert "sin" in shown.locator(".row.came").inner_text()
    assert "tanh" in shown.locator(".row.gone").inner_text()


def test_run_all_after_a_restart_of_the_kernel(server, page):
    server.write("restart.ipynb", CELLS)
    server.open(page, "restart.ipynb")
    server.run_all(page)
    inspector(page)
    page.evaluate("jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    # The kernel that made the program is gone, and that is said.
    page.wait_for_timeout(3000)
    shown = opened(page)
    shown.get_by_role("button", name="HLO …", exact=True).click()
    shown.locator(".message", has_text="run the cell again").wait_for(timeout=60_000)
    server.run_all(page)
    page.wait_for_timeout(1000)
    shown = opened(page)
    shown.get_by_role("button", name="HLO …", exact=True).click()
    shown.locator("[data-pane=hlo] .row").first.wait_for(timeout=60_000)


def executed(folder, name: str) -> None:
    """Runs a notebook outside of the server, so that it comes with outputs."""
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", name]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def test_a_saved_notebook_is_read_without_a_kernel(server, page):
    server.write("saved.ipynb", CELLS)
    executed(server.notebooks, "saved.ipynb")
    nb = json.loads((server.notebooks / "saved.ipynb").read_text())
    nb["metadata"]["kernelspec"] = {"name": "gone", "display_name": "gone", "language": "python"}
    (server.notebooks / "saved.ipynb").write_text(json.dumps(nb))
    trust = [sys.executable, "-m", "jupyter", "trust", "saved.ipynb"]
    subprocess.run(trust, cwd=server.notebooks, env=server.env, check=True, capture_output=True)
    server.open(page, "saved.ipynb", kernel=False)
    dialog = page.locator(".jp-Dialog button", has_text="No Kernel")
    page.wait_for_timeout(1500)
    if dialog.count():
        dialog.click()
    shown = opened(page)
    shown.locator("[data-pane=jaxpr] .row", has_text="tanh").hover()
    assert shown.locator("[data-pane=source] .row.hot").count() == 1
    shown.get_by_role("button", name="HLO …", exact=True).click()
    shown.locator(".message", has_text="run the cell again").wait_for()


LONG = """%%jaxpr
y = x
for _ in range(200):
    y = jnp.sin(y) * 0.5"""


def test_a_long_program_comes_from_the_kernel_and_is_shown_in_part_without_one(lab, page):
    lab.write("long.ipynb", [SETUP, LONG])
    lab.open(page, "long.ipynb")
    lab.run_all(page)
    shown = opened(page)
    assert "400 ops" in shown.locator("[data-pane=jaxpr] .title").inner_text()
    shown.get_by_role("tab", name="graph").click()
    assert shown.locator(".graph .node", has_text="sin").count() > 100
    shown.get_by_role("tab", name="memory").click()
    assert shown.locator(".graph").count() == 0
    page.evaluate("jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.wait_for_timeout(500)
    page.evaluate(
        "() => { const area = jupyterapp.shell.currentWidget.content.widgets[1].outputArea;"
        " const saved = area.model.toJSON(); area.model.fromJSON(saved); }"
    )
    shown = inspector(page)
    shown.locator(".line").click()
    shown.locator(".message", has_text="run the cell again").wait_for()
    assert shown.locator("pre", has_text="sin").first.is_visible()


def test_a_notebook_that_is_not_trusted_shows_the_text(server, page):
    server.write("stranger.ipynb", CELLS)
    executed(server.notebooks, "stranger.ipynb")
    server.open(page, "stranger.ipynb", kernel=False)
    page.locator(".jp-OutputArea-output summary").first.wait_for()
    assert page.locator(".jp-RenderedJaxnb").count() == 0
    page.locator(".jp-OutputArea-output summary").first.click()
    assert page.locator(".jp-OutputArea-output pre", has_text="tanh").first.is_visible()


def test_an_export_opens_anywhere(new_page, tmp_path):
    nb = {"metadata": {}, "nbformat": 4, "nbformat_minor": 5, "cells": []}
    for at, text in enumerate([SETUP + '\n%config JaxNB.html = "interactive"', CELL]):
        nb["cells"].append(
            {
                "cell_type": "code",
                "id": f"c{at}",
                "source": text,
                "metadata": {},
                "outputs": [],
                "execution_count": None,
            }
        )
    (tmp_path / "export.ipynb").write_text(json.dumps(nb))
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "export.ipynb", "--template", "basic"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    page = new_page()
    page.goto((tmp_path / "export.html").as_uri())
    page.locator(".line").click()
    page.locator("[data-pane=jaxpr] .row", has_text="tanh").hover()
    assert page.locator("[data-pane=source] .row.hot").count() == 1


def test_the_settings_are_in_the_settings_editor(lab, page):
    lab.write("settings.ipynb", ["1"])
    lab.open(page, "settings.ipynb")
    page.evaluate("jupyterapp.commands.execute('settingeditor:open', { query: 'jaxnb' })")
    page.get_by_text("Open at once").first.wait_for()


def test_the_dark_theme_is_followed(lab, page):
    lab.write("dark.ipynb", CELLS)
    lab.open(page, "dark.ipynb")
    lab.run_all(page)
    inspector(page)
    page.evaluate("jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })")
    page.locator(".jp-RenderedJaxnb .root[data-theme=dark]").wait_for()


@pytest.mark.parametrize("trusted", [True, False])
def test_a_hostile_notebook_changes_nothing(lab, page, trusted):
    name = f"hostile-{trusted}.ipynb"
    lab.write(name, [f"trusted = {trusted}"])  # Jupyter trusts what a notebook holds, whatever its name
    nb = json.loads((lab.notebooks / name).read_text())
    data = {MIME_TYPE: encode(hostile()), "text/html": render_html(hostile(), line=HOSTILE), "text/plain": HOSTILE}
    metadata = {MIME_TYPE: {"program": HOSTILE, "levels": [HOSTILE, "hlo"]}}
    nb["cells"][0]["outputs"] = [{"output_type": "display_data", "data": data, "metadata": metadata}]
    (lab.notebooks / name).write_text(json.dumps(nb))
    if trusted:
        trust = [sys.executable, "-m", "jupyter", "trust", name]
        subprocess.run(trust, cwd=lab.notebooks, env=lab.env, check=True, capture_output=True)
    lab.open(page, name)
    if trusted:
        shown = opened(page)
        shown.locator("[data-pane=jaxpr] .row").nth(1).click()
        shown.get_by_role("tab", name="graph").click()
    else:
        page.locator(".jp-OutputArea-output summary").first.wait_for()
    page.wait_for_timeout(500)
    assert page.evaluate("window.hit") is None
    assert page.locator(".jp-OutputArea-output script").count() == 0
