"""A real browser, and Jupyter servers on loopback, for what only the whole can show.

Without Playwright, Chromium or the built front end these tests are skipped; with JAXNB_BROWSER=1, as in CI, they fail.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from pages import LINE

from jaxnb.views.interactive import render_interactive

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("JAXNB_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-dev-shm-usage"
).split()


def missing() -> str:
    """Why no browser test can run, "" if they can."""
    if not (ROOT / "jaxnb/assets/inspector.js").is_file():
        return "the front end is not built: make extension"
    if CHROMIUM is None:
        return "there is no chromium: make browser"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    return ""


@pytest.fixture(scope="session", autouse=True)
def needs_browser():
    if reason := missing():
        if os.environ.get("JAXNB_BROWSER"):
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.fixture(scope="session")
def browser(needs_browser):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def new_page(browser):
    """Opens pages; what they say on the console as an error, or ask of a network, fails the test."""
    contexts, wrong = [], []

    def open_page(width=1200, height=900, scheme="light", offline=True, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)

        # Jupyter has errors of its own; in a page of ours every error counts.
        def failed(error):
            if offline or "extensions/jaxnb" in (error.stack or ""):
                wrong.append(str(error))

        page.on("pageerror", failed)
        if offline:
            page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
            page.on("request", lambda request: _only_here(request.url, wrong))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong, wrong


def _only_here(url: str, wrong: list[str]) -> None:
    if not url.startswith(("file:", "data:", "blob:", "about:")):
        wrong.append(f"the page asked for {url}")


@pytest.fixture
def show(new_page, tmp_path):
    """Opens a page with the inspector of a program, unfolded unless told otherwise."""

    def opened(program, *, unfold=True, previous=None, before="", **options):
        path = tmp_path / "page.html"
        body = render_interactive(program, line=LINE, previous=previous)
        head = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>page</title></head>'
        path.write_text(f"{head}<body><main>{before}{body}</main></body></html>", encoding="utf-8")
        page = new_page(**options)
        page.goto(path.as_uri())
        page.locator(".line").wait_for()
        if unfold:
            page.locator(".line").click()
        return page

    return opened


class Server:
    """JupyterLab or Notebook 7 with settings of its own, at an address of its own."""

    def __init__(self, app: str, folder: Path) -> None:
        self.app, self.folder = app, folder
        self.notebooks = folder / "notebooks"
        self.notebooks.mkdir()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        extensions = folder / "labextensions"
        extensions.mkdir()
        (extensions / "jaxnb").symlink_to(ROOT / "jaxnb/labextension")
        settings = folder / "settings/@jupyterlab/apputils-extension"
        settings.mkdir(parents=True)
        (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
        env = {**os.environ, "JAX_PLATFORMS": "cpu", "JUPYTERLAB_SETTINGS_DIR": str(folder / "settings")}
        for name in ("CONFIG", "DATA", "RUNTIME"):
            env[f"JUPYTER_{name}_DIR"] = str(folder / name.lower())
        self.env = env
        env["IPYTHONDIR"] = str(folder / "ipython")
        options = [
            "--allow-root",
            "--no-browser",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={self.port}",
            "--ServerApp.port_retries=0",
            "--IdentityProvider.token=t",
            f"--ServerApp.root_dir={self.notebooks}",
            f"--LabServerApp.extra_labextensions_path={extensions}",
        ]
        if app == "lab":
            options += [
                "--LabApp.expose_app_in_browser=True",
                "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
            ]
        else:
            options += ["--JupyterNotebookApp.expose_app_in_browser=True"]
        self.log = open(folder / "log.txt", "w")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab" if app == "lab" else "notebook", *options],
            env=env,
            stdout=self.log,
            stderr=subprocess.STDOUT,
        )
        self._wait()

    def _wait(self) -> None:
        for _ in range(240):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/status?token=t", timeout=2).close()
                return
            assert self.process.poll() is None, (self.folder / "log.txt").read_text()
            time.sleep(0.25)
        raise AssertionError("the server did not start:\n" + (self.folder / "log.txt").read_text())

    def write(self, name: str, cells: list[str]) -> None:
        """Writes a notebook of code cells."""
        nb = {"metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}}
        nb |= {"nbformat": 4, "nbformat_minor": 5}
        nb["cells"] = [
            {
                "cell_type": "code",
                "id": f"c{at}",
                "source": text,
                "metadata": {},
                "outputs": [],
                "execution_count": None,
            }
            for at, text in enumerate(cells)
        ]
        (self.notebooks / name).write_text(json.dumps(nb))

    def open(self, page, name: str, kernel: bool = True) -> None:
        """Goes to a notebook and waits until it can be used."""
        way = f"lab/tree/{name}?token=t&reset" if self.app == "lab" else f"notebooks/{name}?token=t"
        page.goto(f"http://127.0.0.1:{self.port}/{way}")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for()
        if kernel:
            status = "jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"
            page.wait_for_function(f"() => {status} === 'idle'", timeout=60_000)

    def run_all(self, page) -> None:
        page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")

    def save(self, page) -> None:
        page.evaluate("jupyterapp.commands.execute('docmanager:save')")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(3)
        self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(15)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.log.close()


def _server(app: str, factory):
    server = Server(app, factory.mktemp(app))
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def lab(needs_browser, tmp_path_factory):
    yield from _server("lab", tmp_path_factory)


@pytest.fixture(scope="module")
def notebook7(needs_browser, tmp_path_factory):
    pytest.importorskip("notebook")
    yield from _server("notebook", tmp_path_factory)


@pytest.fixture(params=["lab", "notebook7"])
def server(request):
    """Each front end of Jupyter that runs here, one after the other."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def page(new_page):
    """A page that may reach the servers on loopback."""
    return new_page(1280, 900, offline=False)
