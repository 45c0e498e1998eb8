"""jaxnb in each front end as its users start it: a process of its own, a small cell, and nothing left in the output."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from nbformat import read, v4, write

from jaxnb.program.codec import MIME_TYPE

ROOT = Path(__file__).parent.parent
LOADED = r"jaxnb [\d.]+ · jax [\d.]+ · jaxlib [\d.]+ · Python [\d.]+"
DURATION = r"[\d.]+ (us|ms|s)"
LINE = (
    rf"● staged · trace {DURATION}, compile {DURATION}, run {DURATION} · "
    r"peak \d+ B · [\d.]+ k?flops · 1 input → 1 name · \d+ eqns"
)
VALUE = r"Array([0., 2., 4.], dtype=float32)"

SETUP = "import jax, jax.numpy as jnp\nx = jnp.arange(3.0)"
QUICK = "y = jnp.sin(x * 0) + x * 2\ny"
# Long enough for the progress to show itself, which it does after half a second.
DEEP = "@jax.jit\ndef deep(x):\n    for _ in range(4000): x = jnp.sin(x) * 2\n    return x"
SLOW = "y = deep(x) * 0 + x * 2\ny"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="terminals and sockets in files are POSIX")


@pytest.fixture
def environment(tmp_path):
    """Nobody's settings, and one kernel: this interpreter."""
    spec = tmp_path / "jupyter" / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    command = [sys.executable, "-X", "frozen_modules=off", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec.write_text(json.dumps({"argv": command, "display_name": "Python 3", "language": "python"}))
    return {
        **os.environ,
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "JUPYTER_PATH": str(tmp_path / "jupyter"),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
        "XDG_CONFIG_HOME": str(tmp_path / "xdg"),
    }


def needs(name, package):
    return pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{package} is not installed")


def run(arguments, env, *, text=None, **options):
    """A command that has to succeed; what it printed, and what it complained of."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        env=env,
        cwd=env["HOME"],
        input=text,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout, done.stderr


def answers(text):
    """What a terminal shows beside its prompts, line by line."""
    text = re.sub(r"(In \[\d+\]:|   \.\.\.:) ", "", text)
    return [line for line in text.split("\n") if line.strip()]


def assert_shown(lines):
    """The four things that the cells of a terminal session print, and not a line more."""
    patterns = [LOADED, r"Out\[\d+\]: " + re.escape(VALUE), LINE, "end"]
    assert len(lines) == len(patterns), lines
    for pattern, line in zip(patterns, lines, strict=True):
        assert re.fullmatch(pattern, line), lines


def notebook(path, *sources):
    cells = [v4.new_code_cell(source) for source in sources]
    write(v4.new_notebook(cells=cells), path)
    return path


def assert_executed(nb):
    """A notebook of `notebook(path, "%load_ext jaxnb", SETUP, DEEP, "%%jit ...")` that ran, and its outputs."""
    loaded, *quiet, staged = [cell.outputs for cell in nb.cells]
    assert [output.name for output in loaded] == ["stdout"] and re.fullmatch(LOADED, loaded[0].text.strip())
    assert quiet == [[], []]
    value, line = staged
    assert (value.output_type, line.output_type) == ("execute_result", "display_data")
    assert value.data == {"text/plain": VALUE}
    assert re.fullmatch(LINE, line.data["text/plain"])
    assert line.data["text/html"].startswith('<div class="jnb">')
    assert set(line.data) <= {"text/plain", "text/html", MIME_TYPE}


# --- terminals ---


def test_terminal_ipython(environment):
    cells = [f"%load_ext jaxnb\n{SETUP}", DEEP, "", f"%%jit\n{SLOW}", "", "", "print('end')"]
    terminal, their_end = os.openpty()  # on which the progress is shown
    try:
        arguments = ["-m", "IPython", "--simple-prompt", "--no-banner", "--no-confirm-exit", "--colors=NoColor"]
        out, _ = run(arguments, environment, text="\n".join([*cells, ""]), stderr=their_end)
        os.write(their_end, b"!")
        heard = b""
        while not heard.endswith(b"!"):  # a terminal hands over what it has in pieces
            heard += os.read(terminal, 100_000)
    finally:
        os.close(terminal)
        os.close(their_end)
    said = heard.decode()
    assert_shown(answers(out))
    assert "compiling … " in said and said.endswith("\r\x1b[K!")
    assert re.fullmatch(r"(\r(tracing|compiling|running) … [\d.]+ s\x1b\[K)+\r\x1b\[K!", said), said


def console(environment, *cells):
    """jupyter console's simple prompt takes single lines, so that the magic has to be called by its name."""
    arguments = ["-m", "jupyter_console", "--simple-prompt", "--no-confirm-exit", "--transport=ipc"]
    out, err = run(arguments, environment, text="\n".join([*cells, ""]))
    # the console does not wait for its kernel, which may notice that it is alone before it is told to stop
    assert [line for line in err.split("\n") if line and "Parent appears to have exited" not in line] == []
    banner, _, rest = out.partition("In [1]:")
    assert "Jupyter console" in banner
    return [line for line in answers(f"In [1]:{rest}") if line != "Shutting down kernel"]


def called(source):
    return f"get_ipython().run_cell_magic('jit', '', {source!r})"


@needs("jupyter_console", "jupyter-console")
def test_jupyter_console(environment):
    shown = console(environment, "%load_ext jaxnb", *SETUP.split("\n"), called(QUICK), "print('end')")
    assert_shown(shown)


@needs("jupyter_console", "jupyter-console")
def test_jupyter_console_leaves_no_progress(environment):
    deep = f"exec({DEEP!r})"
    assert_shown(console(environment, "%load_ext jaxnb", *SETUP.split("\n"), deep, called(SLOW), "print('end')"))


# --- notebooks ---


def test_nbconvert(environment, tmp_path):
    source = notebook(tmp_path / "cells.ipynb", "%load_ext jaxnb", SETUP, DEEP, f"%%jit\n{SLOW}")
    arguments = ["--to", "notebook", "--execute", "--output", "done.ipynb", "--KernelManager.transport=ipc"]
    out, err = run(["-m", "nbconvert", *arguments, source], environment)
    assert out == "" and re.fullmatch(r"\[NbConvertApp\] Converting .*\n\[NbConvertApp\] Writing .*\n", err), err
    assert_executed(read(tmp_path / "done.ipynb", 4))


def test_nbconvert_to_html(environment, tmp_path):
    source = notebook(tmp_path / "cells.ipynb", "%load_ext jaxnb", SETUP, f"%%jit\n{QUICK}")
    run(["-m", "nbconvert", "--to", "html", "--execute", "--KernelManager.transport=ipc", source], environment)
    html = (tmp_path / "cells.html").read_text(encoding="utf-8")
    assert VALUE in html and len(re.findall(rf'<summary><span class="l" title="{LINE}">', html)) == 1


NBCLIENT = """
import sys
import nbformat
from nbclient import NotebookClient

nb = nbformat.read(sys.argv[1], 4)
client = NotebookClient(nb)
client.create_kernel_manager().transport = "ipc"
client.execute()
nbformat.write(nb, sys.argv[2])
"""


def test_nbclient(environment, tmp_path):
    source = notebook(tmp_path / "cells.ipynb", "%load_ext jaxnb", SETUP, DEEP, f"%%jit\n{SLOW}")
    assert run(["-c", NBCLIENT, source, tmp_path / "done.ipynb"], environment) == ("", "")
    assert_executed(read(tmp_path / "done.ipynb", 4))


# --- functions ---

MARIMO = f"""
import marimo

app = marimo.App()


@app.cell
def _():
    import jax.numpy as jnp

    import jaxnb

    namespace = {{"jnp": jnp, "x": jnp.arange(3.0)}}
    run = jaxnb.stage({QUICK!r}, namespace, block=True)
    print(run.line)
    run.value
    return namespace, run


@app.cell
def _(namespace, run):
    assert run.value is namespace["y"] and list(run.outputs) == ["y"]
    return


if __name__ == "__main__":
    app.run()
"""


@needs("marimo", "marimo")
def test_marimo_as_a_script(environment, tmp_path):
    (tmp_path / "app.py").write_text(MARIMO)
    out, err = run(["app.py"], environment)
    assert re.fullmatch(LINE + "\n", out) and err == ""


@needs("marimo", "marimo")
def test_marimo_exports_what_the_cells_show(environment, tmp_path):
    (tmp_path / "app.py").write_text(MARIMO)
    run(["-m", "marimo", "export", "html", "app.py", "-o", "app.html"], environment)
    html = re.sub(
        r"\\u(....)", lambda found: chr(int(found[1], 16)), (tmp_path / "app.html").read_text(encoding="utf-8")
    )
    run(["-m", "marimo", "export", "ipynb", "app.py", "-o", "app.ipynb", "--include-outputs"], environment)
    first, second = read(tmp_path / "app.ipynb", 4).cells
    line, value = first.outputs
    assert re.fullmatch(LINE + "\n", line.text) and VALUE in value.data["text/html"] and second.outputs == []
    assert len(re.findall(f'"{LINE}', html)) == html.count(VALUE) == 1 and "Traceback" not in html


def test_a_plain_script(environment):
    script = (
        f"import jax.numpy as jnp\nimport jaxnb\nnamespace = {{'jnp': jnp, 'x': jnp.arange(3.0)}}\n"
        f"run = jaxnb.stage({QUICK!r}, namespace, block=True)\nprint(repr(run.value), run.line, sep='\\n')"
    )
    out, err = run(["-c", script], environment)
    assert re.fullmatch(re.escape(VALUE) + "\n" + LINE + "\n", out) and err == ""
