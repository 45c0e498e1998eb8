"""The inspector in marimo: of a run in a frame, and as a widget that asks the kernel."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest

APP = """
import marimo

app = marimo.App()


@app.cell
def _():
    import jaxnb
    import jax.numpy as jnp

    run = jaxnb.stage("h = jnp.tanh(x * 2.0)\\nloss = jnp.sum(h)", {"jnp": jnp, "x": jnp.ones(8)})
    run
    return jaxnb, run


@app.cell
def _(jaxnb, run):
    jaxnb.widget(run)
    return


if __name__ == "__main__":
    app.run()
"""


@pytest.fixture
def address(needs_browser, tmp_path):
    """marimo with the notebook above, on loopback."""
    pytest.importorskip("marimo")
    pytest.importorskip("anywidget")
    (tmp_path / "notebook.py").write_text(APP)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "marimo", "run", "notebook.py", "--headless", "--no-token"]
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "HOME": str(tmp_path)}
    with open(tmp_path / "log.txt", "w") as log:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)], cwd=tmp_path, env=env, stdout=log, stderr=log
        )
        try:
            url = f"http://127.0.0.1:{port}/"
            for _ in range(160):
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(url, timeout=2).close()
                    break
                assert process.poll() is None, (tmp_path / "log.txt").read_text()
                time.sleep(0.25)
            yield url
        finally:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            if process.poll() is None:
                process.kill()
                process.wait()


def test_a_run_and_a_widget_are_shown(address, new_page):
    page = new_page(offline=False)
    page.goto(address)
    page.get_by_role("tab", name="code").wait_for(timeout=60_000)
    page.get_by_role("button", name="StableHLO …").click()
    page.locator("[data-pane=stablehlo] .row", has_text="tanh").wait_for()
    frame = page.frame_locator("iframe")
    frame.locator(".line").click()
    frame.locator("[data-pane=jaxpr] .row", has_text="tanh").hover()
    assert frame.locator("[data-pane=source] .row.hot").count() == 1
