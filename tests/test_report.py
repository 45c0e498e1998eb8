"""`jaxnb report`: the quickstart as a page, and everything that can be wrong with a notebook."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from nbformat import v4
from sample_programs import mlp

from jaxnb import __version__, cli
from jaxnb.codec import MIME_TYPE, encode
from jaxnb.notebook import Cell

ROOT = Path(__file__).parent.parent
QUICKSTART = ROOT / "notebooks" / "01_quickstart.ipynb"

# In every Python that is started below: whoever wants the network, even to look up a name, is told off.
OFFLINE = """
import sys
def hook(event, args):
    if event == "socket.connect" and isinstance(args[1], tuple) or event == "socket.getaddrinfo":
        raise OSError(f"this test has no network: {event} {args[1:]}")
sys.addaudithook(hook)
"""


def environment(folder):
    """What a command is run with: no network, nobody's settings, and a broken kernel "python3"."""
    folder.joinpath("sitecustomize.py").write_text(OFFLINE)
    spec = folder / "jupyter" / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps({"argv": ["/nowhere/python", "{connection_file}"], "display_name": "Wrong"}))
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_PATH": str(folder / "jupyter"),
    }


# Where the tests run in the background of a shell, Ctrl-C is ignored, and that would be handed down.
MAIN = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from jaxnb.cli import main
sys.exit(main())
"""


def start(*arguments, env, **options):
    command = [sys.executable, "-c", MAIN, *map(str, arguments)]
    return subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", **options
    )


class Page(HTMLParser):
    """A page as the browser would take it: its text, and a complaint about whatever is run or loaded."""

    def __init__(self, html):
        super().__init__()
        self.html = html
        self.text = ""
        self.complaints = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag in ("script", "iframe", "object", "embed", "link", "base", "form", "svg"):
            self.complaints.append(tag)
        for name, value in attrs:
            loads = name in ("src", "srcset", "data", "poster", "background") and not value.startswith("data:image/")
            follows = name == "href" and value.lower().startswith(("javascript:", "data:"))
            if loads or follows or name.startswith("on"):
                self.complaints.append((tag, name, value))

    def handle_data(self, data):
        if self.lasttag == "style" and re.search(r"url\(|@import|https?:", data):
            self.complaints.append(data)
        self.text += data


def notebook(path, *sources, tags=()):
    """A notebook of code cells; the last has the tags."""
    cells = [source if isinstance(source, dict) else v4.new_code_cell(source) for source in sources]
    if tags:
        cells[-1].metadata["tags"] = list(tags)
    nbformat.write(v4.new_notebook(cells=cells), path)
    return path


def run(capsys, *arguments):
    """A command in this process: exit status, output and messages."""
    code = cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


# --- the quickstart ---


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quickstart")
    before = QUICKSTART.read_bytes()
    with start("report", QUICKSTART, "-o", "page.html", env=environment(folder), cwd=folder) as process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    assert QUICKSTART.read_bytes() == before
    assert sorted(path.name for path in folder.iterdir() if path.suffix in (".html", ".part")) == ["page.html"]
    return out, err, Page((folder / "page.html").read_text(encoding="utf-8"))


def test_every_staged_cell_has_its_line(quickstart):
    out, _, page = quickstart
    lines = dict(re.findall(r"^\[(\d+)\] (.+)$", out, re.MULTILINE))
    cells = [cell for cell in nbformat.read(QUICKSTART, 4).cells if cell.cell_type == "code"]
    staged = {
        str(number)
        for number, cell in enumerate(cells, 1)
        if cell.source.startswith(("%%jit", "%%jaxpr")) and "raises-exception" not in cell.metadata.get("tags", [])
    }
    assert set(lines) == staged
    summaries = [unescape(text) for text in re.findall(r"<summary>(.*?)</summary>", page.html)]
    assert summaries == list(lines.values())
    words = [re.match(r"\w+", line).group() for line in lines.values()]
    assert words.count("reused") == 2 and words.count("retraced") == 2
    assert any("float32[1347,64] → float32[256,64]" in line for line in lines.values())
    assert any("rate 0.05 → 0.1" in line for line in lines.values())


def test_the_accuracy_is_told_and_shown(quickstart):
    out, _, page = quickstart
    accuracy = float(re.search(r"^test accuracy: ([\d.]+)%$", out, re.MULTILINE).group(1))
    assert 95 < accuracy <= 100
    assert f"<dt>test accuracy</dt><dd>{accuracy}%</dd>" in page.html
    for name in ("jaxnb", "jax", "jaxlib", "Python", "Device"):
        assert f"<dt>{name}</dt><dd>" in page.html


def test_the_page_runs_and_loads_nothing(quickstart):
    _, _, page = quickstart
    assert page.complaints == []
    assert "default-src &#39;none&#39;" in page.html


def test_the_page_shows_programs_and_the_refusal(quickstart):
    _, _, page = quickstart
    assert "dot_general" in page.text and "scan" in page.text
    assert "NeedsConcrete: " in page.text and "if size > 1:" in page.text


def test_progress_is_plain_lines_where_there_is_no_terminal(quickstart):
    out, err, _ = quickstart
    assert "\x1b" not in out + err and "\r" not in out + err
    assert "cell 1/" in err and "wrote page.html: " in err


# --- notebooks that fail ---


def test_a_failing_cell_ends_it_and_no_page_is_written(tmp_path, capsys):
    source = notebook(tmp_path / "bad.ipynb", "x = 1", "print('seen')\nraise ValueError('too late')", "y = 2")
    page = tmp_path / "page.html"
    page.write_text("what was there")
    code, out, err = run(capsys, "report", source, "-o", page)
    assert code == 1 and out == ""
    assert "jaxnb: cell [2] of bad.ipynb raised ValueError: too late\n" in err
    assert "--keep-going" in err and "cell 3/3" not in err and "\x1b" not in err
    assert "raise ValueError('too late')" in err  # the traceback
    assert page.read_text() == "what was there"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.ipynb", "page.html"]


def test_keep_going_shows_the_errors_and_still_fails(tmp_path, capsys):
    source = notebook(tmp_path / "bad.ipynb", "1 / 0", "print('reached')", "int('no')", tags=["raises-exception"])
    code, _, err = run(capsys, "report", source, "-o", tmp_path / "page.html", "--keep-going")
    assert code == 1
    assert "cell [1] raised ZeroDivisionError: division by zero" in err and "cell [3] raised" not in err
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "ZeroDivisionError" in page.text and "reached" in page.text and "ValueError" in page.text


def test_a_cell_tagged_raises_exception_is_no_failure(tmp_path, capsys):
    source = notebook(tmp_path / "meant.ipynb", "1 / 0", tags=["raises-exception"])
    assert run(capsys, "report", source, "-o", tmp_path / "page.html")[0] == 0


def test_a_cell_that_takes_too_long(tmp_path, capsys):
    source = notebook(tmp_path / "slow.ipynb", "import time\ntime.sleep(60)", "print('reached')")
    page = tmp_path / "page.html"
    code, _, err = run(capsys, "report", source, "-o", page, "--timeout", "2")
    assert code == 1 and "cell [1] of slow.ipynb did not end within 2 s." in err
    assert not page.exists()
    code, _, err = run(capsys, "report", source, "-o", page, "--timeout", "2", "--keep-going")
    assert code == 1 and "cell [1] raised KeyboardInterrupt" in err
    assert "reached" in Page(page.read_text(encoding="utf-8")).text


def test_a_kernel_that_dies(tmp_path, capsys):
    source = notebook(tmp_path / "dies.ipynb", "import os\nos._exit(3)")
    code, _, err = run(capsys, "report", source, "-o", tmp_path / "page.html", "--keep-going")
    assert code == 1 and "the kernel died in cell [1] of dies.ipynb." in err


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_interrupted(tmp_path):
    source = notebook(
        tmp_path / "long.ipynb", "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)"
    )
    pid = tmp_path / "pid"
    with start("report", source, "-o", tmp_path / "page.html", env=environment(tmp_path)) as process:
        try:
            while not (pid.exists() and pid.read_text()):
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130 and "jaxnb: interrupted; nothing was written." in err
    assert "Traceback" not in err and not (tmp_path / "page.html").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


# --- which interpreter, which folder, which facts ---


def test_the_kernel_is_this_interpreter_in_the_folder_of_the_notebook(tmp_path):
    folder = tmp_path / "there"
    folder.mkdir()
    source = notebook(folder / "where.ipynb", "import os, sys\nprint(sys.executable)", "os.getcwd()", tags=["fact"])
    with start("report", source, "-o", "page.html", env=environment(tmp_path), cwd=tmp_path) as process:
        out, err = process.communicate()
    assert process.returncode == 0, err
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert sys.executable in page.text and out == f"result: {str(folder)!r}\n"
    assert "<dt>Device</dt>" not in page.html  # JAX was not used, and not started for the sake of a fact


# --- what is saved in a notebook ---


def saved(path, *outputs, markdown="# Saved", source="pass", tags=()):
    cell = v4.new_code_cell(source, outputs=list(outputs), metadata={"tags": list(tags)})
    nbformat.write(v4.new_notebook(cells=[v4.new_markdown_cell(markdown), cell]), path)
    return path


def bundle(line="staged · 1 input → 1 name", data=None, html="<b>not mine</b>"):
    data = encode(mlp()) if data is None else data
    return v4.new_output("display_data", {MIME_TYPE: data, "text/html": html, "text/plain": f"{line}\n\nmore"})


def test_no_execute_shows_what_was_saved(tmp_path, capsys):
    stream = v4.new_output("stream", name="stdout", text="epoch 9\naccuracy: 0.97\n")
    source = saved(tmp_path / "saved.ipynb", stream, bundle(), source="1 / 0", tags=["fact"])
    code, out, err = run(capsys, "report", source, "-o", tmp_path / "page.html", "--no-execute")
    assert code == 0 and "cell 1/" not in err
    assert out == "[1] staged · 1 input → 1 name\naccuracy: 0.97\n"
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "<h1>Saved</h1>" in page.html and "<dt>accuracy</dt><dd>0.97</dd>" in page.html
    assert "<summary>staged · 1 input → 1 name</summary>" in page.html and "dot_general" in page.text
    assert "<dt>jax</dt>" not in page.html  # nobody knows which it was


EVIL = "<script>alert(1)</script><img src=http://evil.example/x onerror=alert(2)>"


def test_hostile_text_stays_text(tmp_path, capsys):
    outputs = [
        v4.new_output("stream", name="stdout", text=EVIL + "\x1b[31m\u202e\ud800"),
        v4.new_output("display_data", {"text/html": EVIL, "text/plain": EVIL}),
        v4.new_output("display_data", {"text/html": EVIL}),
        v4.new_output("display_data", {"text/html; jaxnb": EVIL}),
        v4.new_output("display_data", {"image/svg+xml": f"<svg xmlns='http://www.w3.org/2000/svg'>{EVIL}</svg>"}),
        v4.new_output("display_data", {"image/png": '" onerror="alert(3)'}),
        v4.new_output("display_data", {"application/json": {"a": EVIL}}),
        v4.new_output("error", ename=EVIL, evalue=EVIL, traceback=[EVIL]),
        bundle(line=EVIL, html=EVIL),
        bundle(line=EVIL, html=EVIL, data={"format": "jaxnb.program", "version": 1}),
        bundle(line=EVIL, html=EVIL, data={**encode(mlp()), "source": EVIL}),
    ]
    source = tmp_path / "evil.ipynb"
    cell = v4.new_code_cell(EVIL, outputs=outputs, metadata={"tags": ["fact"]})
    markdown = f"# {EVIL}\n\n{EVIL}\n\n![x](http://evil.example/y)\n\n[link](javascript:alert(4))"
    cells = [v4.new_markdown_cell(markdown), v4.new_raw_cell(EVIL), cell]
    source.write_text(json.dumps(v4.new_notebook(cells=cells)))  # nbformat.write refuses the lone surrogate
    run(capsys, "report", source, "-o", tmp_path / "page.html", "--no-execute")
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.complaints == []
    assert page.text.count("<script>") >= 10
    assert "\u202e" not in page.text and "\x1b" not in page.text


def test_other_outputs_are_pictures_or_text(tmp_path, capsys):
    outputs = [
        v4.new_output("display_data", {"image/png": "iVBORw0KGgo=", "text/plain": "<Figure>"}),
        v4.new_output("execute_result", {"text/html": "<table></table>", "text/plain": "a table"}),
        v4.new_output("display_data", {"text/latex": "$x$"}),
        v4.new_output("display_data", {}),
    ]
    source = saved(tmp_path / "saved.ipynb", *outputs)
    assert run(capsys, "report", source, "-o", tmp_path / "page.html", "--no-execute")[0] == 0
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'src="data:image/png;base64,iVBORw0KGgo="' in html and "&lt;Figure&gt;" not in html
    assert "<pre>a table</pre>" in html and "<pre>$x$</pre>" in html


# --- files and the command line ---


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read {}.\n  Why: No such file or directory."),
        ("x = 1", "{} is not a notebook.\n  Why: it is not JSON: "),
        ("", "{} is not a notebook.\n  Why: it is not JSON: "),
        ("[1, 2]", '{} is not a notebook.\n  Why: it is JSON, but has no "nbformat".'),
        ('{"cells": []}', '{} is not a notebook.\n  Why: it is JSON, but has no "nbformat".'),
        (
            '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{}]}',
            "{} is not a valid notebook.",
        ),
        ('{"nbformat": "four", "cells": []}', "{} is not a valid notebook."),
        ('{"nbformat": 99, "cells": []}', "{} is not a valid notebook."),
        (b"\xff\xfe\x00", "{} is not a notebook.\n  Why: it is not text in UTF-8."),
    ],
)
def test_a_file_that_is_no_notebook(tmp_path, capsys, content, message):
    source = tmp_path / "x.ipynb"
    if content is not None:
        source.write_bytes(content if isinstance(content, bytes) else content.encode())
    code, out, err = run(capsys, "report", source, "-o", tmp_path / "page.html")
    assert code == 1 and out == ""
    assert err.startswith("jaxnb: " + message.format(source)), err
    assert not (tmp_path / "page.html").exists()


def test_a_folder_is_no_notebook(tmp_path, capsys):
    code, _, err = run(capsys, "report", tmp_path, "-o", tmp_path / "page.html")
    assert code == 1 and f"cannot read {tmp_path}." in err


def test_pages_that_cannot_be_written(tmp_path, capsys):
    source = notebook(tmp_path / "x.ipynb", "open('ran', 'w')")
    before = source.read_bytes()
    for target, why in [
        (tmp_path / "no" / "page.html", f"there is no folder {tmp_path / 'no'}."),
        (tmp_path, "it is a folder."),
        (source, "it is the notebook."),
    ]:
        code, _, err = run(capsys, "report", source, "-o", target)
        assert code == 1 and err.startswith(f"jaxnb: cannot write {target}.\n  Why: {why}"), err
    assert source.read_bytes() == before and not (tmp_path / "ran").exists()


def test_the_page_is_named_after_the_notebook(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old = v4.new_notebook(cells=[v4.new_code_cell("1")])
    old.nbformat_minor = 4
    del old.cells[0]["id"]
    (tmp_path / "old.ipynb").write_text(json.dumps(old))
    assert run(capsys, "report", "old.ipynb", "--no-execute")[0] == 0
    assert "<title>old</title>" in (tmp_path / "old.html").read_text(encoding="utf-8")


def test_the_command_line(capsys):
    for arguments in (
        [],
        ["report"],
        ["nonsense"],
        ["report", "x", "--timeout", "0"],
        ["report", "x", "--bogus"],
    ):
        with pytest.raises(SystemExit) as exit:
            cli.main(arguments)
        assert exit.value.code == 2
    capsys.readouterr()
    with pytest.raises(SystemExit) as exit:
        cli.main(["--version"])
    assert exit.value.code == 0 and capsys.readouterr().out == f"jaxnb {__version__}\n"


def test_demo_reports_the_quickstart(tmp_path, capsys, monkeypatch):
    source = notebook(tmp_path / "01_quickstart.ipynb", "print('accuracy: 1')", tags=["fact"])
    monkeypatch.setattr(cli, "_tutorials", lambda: tmp_path)
    code, out, _ = run(capsys, "demo", "-o", tmp_path / "d.html")
    assert code == 0 and out == "accuracy: 1\n" and (tmp_path / "d.html").exists()
    monkeypatch.undo()
    assert cli._tutorials() / source.name == QUICKSTART


def test_lab_opens_the_tutorials(capsys, monkeypatch):
    seen = []

    def fake(command, env, check):
        seen.append((command, env["JUPYTER_PREFER_ENV_PATH"]))
        return subprocess.CompletedProcess(command, 7)

    monkeypatch.setattr(cli.subprocess, "run", fake)
    assert run(capsys, "lab", "--no-browser", "--port=1")[0] == 7
    expected = [sys.executable, "-m", "jupyterlab", str(QUICKSTART.parent), "--no-browser", "--port=1"]
    assert seen == [(expected, "1")]


def test_the_bar_is_one_line_and_leaves_none(capsys):
    stream = io.StringIO()
    bar = cli.Bar(stream)
    bar.tick()
    assert stream.getvalue() == ""
    bar.begin(Cell(1, 2, "%%jit\ny = \x1b[31m" + "x" * 500))
    bar.end(Cell(1, 2, "%%jit\ny = x", line="staged · 1 input"))
    bar.begin(Cell(2, 2, ""))
    bar.close()
    drawn = stream.getvalue().split("\r\x1b[2K")
    assert drawn[1].startswith("░" * 24 + " 1/2  0.0 s  %%jit · y = ?[31mxxx")
    assert max(map(len, drawn)) < 80 and "\n" not in stream.getvalue()
    assert drawn[-2].startswith("█" * 12 + "░" * 12 + " 2/2") and drawn[-1] == ""
    assert capsys.readouterr().out == "[1] staged · 1 input\n"
