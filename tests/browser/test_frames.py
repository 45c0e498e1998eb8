"""The inspector's HTML where front ends put it: in a frame without an origin, under a content policy, as VS Code does.

VS Code and Colab themselves cannot be run here; what is imitated is what their published sources do with an output.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from pages import LINE, marked
from sample_levels import neuron

from jaxnb.views.interactive import render_interactive

# The policy of VS Code's notebook webview, where one is asked for, and made stricter: strings are no markup.
VSCODE = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; font-src https:; "
    "connect-src https:; child-src https: data:; require-trusted-types-for 'script'"
)
# What a host does with an output: markup first, then each script once more, because markup runs none.
PUT = """
function put(html, nonce) {
  const policy = trustedTypes.createPolicy('host', { createHTML: text => text, createScript: text => text });
  const place = document.getElementById('output');
  place.innerHTML = policy.createHTML(html);
  for (const old of [...place.getElementsByTagName('script')]) {
    const script = document.createElement('script');
    script.text = policy.createScript(old.textContent);
    if (old.type) script.type = old.type;
    if (nonce) script.nonce = nonce;
    place.appendChild(script).parentNode.removeChild(script);
  }
}
"""


@pytest.fixture
def put(new_page, tmp_path):
    """Opens a host's page and puts the output into it."""

    def opened(policy: str, *, body="", nonce="", offline=True):
        path = tmp_path / "host.html"
        text = json.dumps(render_interactive(neuron(), line=LINE)).replace("</", "<\\/").replace("<!--", "<\\!--")
        path.write_text(
            f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>host</title>'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}"></head><body {body}>'
            f'<div id="output"></div><script nonce="n1">{PUT}\nput({text}, "{nonce}");</script></body></html>',
            encoding="utf-8",
        )
        page = new_page(offline=offline)
        page.goto(path.as_uri())
        return page

    return opened


def works(page) -> None:
    """It opens, is drawn as the style sheet says, and marks what is linked."""
    page.locator(".line").click()
    row = page.locator("[data-pane=jaxpr] .row", has_text="tanh")
    row.hover()
    assert marked(page, "source") == ["y = jnp.tanh(x @ w + c * 3)"]
    assert row.evaluate("one => getComputedStyle(one).position") == "absolute"


def test_under_the_policy_of_vs_code_in_its_way_and_its_colours(put):
    page = put(
        VSCODE,
        body='class="vscode-dark" style="--vscode-editor-background: rgb(30, 30, 30); background: rgb(30, 30, 30)"',
    )
    works(page)
    root = page.locator(".root")
    assert root.get_attribute("data-theme") == "dark"
    assert page.locator(".body").evaluate("one => getComputedStyle(one).backgroundColor") == "rgb(30, 30, 30)"
    page.get_by_role("tab", name="graph").click()
    assert page.locator(".node").count() > 4


def test_under_a_policy_that_lets_scripts_run_by_a_nonce_alone_and_no_styles(put):
    # The static view's own styles are refused, which the browser says on its console.
    works(put("default-src 'none'; script-src 'nonce-n1'", nonce="n1", offline=False))


def test_where_its_script_may_not_run_the_static_view_stays(put):
    page = put("default-src 'none'; script-src 'nonce-n1'; style-src 'unsafe-inline'", offline=False)
    assert page.locator("summary").inner_text() == LINE
    page.locator("summary").click()
    assert page.locator("pre", has_text="tanh").first.is_visible()
    assert page.locator(".line").count() == 0


def test_in_a_frame_without_an_origin(new_page, tmp_path):
    # Colab shows each output in a frame of another origin; this one has none at all.
    inside = render_interactive(neuron(), line=LINE).replace("&", "&amp;").replace('"', "&quot;")
    path = tmp_path / "frame.html"
    frame = f'<iframe title="output" sandbox="allow-scripts allow-downloads" srcdoc="{inside}"></iframe>'
    frame += "<style>iframe { width: 1000px; height: 700px }</style>"
    path.write_text(f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>frame</title>{frame}</html>', "utf-8")
    page = new_page(offline=False)  # the browser says on its console that the clipboard is closed
    page.goto(path.as_uri())
    frame = page.frame_locator("iframe")
    frame.locator(".line").click()
    frame.locator("[data-pane=jaxpr] .row", has_text="tanh").hover()
    assert frame.locator("[data-pane=source] .row.hot").count() == 1
    frame.get_by_role("button", name="more").click()
    # The clipboard is closed to such a frame; the old way of copying is tried, and nothing fails.
    frame.get_by_role("button", name="copy text").click()
    frame.get_by_role("button", name="copied").wait_for()
    with page.expect_download() as waiting:
        frame.get_by_role("button", name="download JSON").click()
    assert json.loads(waiting.value.path().read_text(encoding="utf-8"))["format"] == "jaxnb.program"


def test_an_exported_notebook_has_the_script_once(new_page, tmp_path):
    cells = ["%load_ext jaxnb\nimport jax, jax.numpy as jnp\nx = jnp.arange(8.0)"]
    cells += ["%%jit\ny = jnp.tanh(x)", "%%jit\nz = jnp.sin(x) + x", "print('<b>plain</b>')"]
    nb = {"metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    nb["cells"] = [
        {"cell_type": "code", "id": f"c{at}", "source": text, "metadata": {}, "outputs": [], "execution_count": None}
        for at, text in enumerate(cells)
    ]
    (tmp_path / "export.ipynb").write_text(json.dumps(nb))
    exporter = "jaxnb.shell.reports.exporter.InspectorExporter"
    command = [sys.executable, "-m", "nbconvert", "--to", exporter, "--execute", "export.ipynb", "--template", "basic"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    text = (tmp_path / "export.html").read_text(encoding="utf-8")
    assert text.count("/*jaxnb ") == 1
    page = new_page()
    page.goto((tmp_path / "export.html").as_uri())
    page.locator(".line").nth(1).click()
    page.locator("[data-pane=jaxpr] .row", has_text="sin").hover()
    assert marked(page, "source") == ["z = jnp.sin(x) + x"]
    assert page.locator(".line").count() == 2
