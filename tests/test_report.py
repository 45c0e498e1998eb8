"""`jaxnb report`: the quickstart as a page, and everything that can be wrong with a notebook."""

from __future__ import annotations

import base64
import hashlib
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

from jaxnb.errors import JaxnbError
from jaxnb.program.codec import MIME_TYPE, encode
from jaxnb.shell import cli
from jaxnb.shell.reports.page import render_page

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
    # Under a test a kernel does not take what the process itself says (XLA's warnings) into the cell's output.
    theirs = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    return {
        **theirs,
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
        "IPYTHONDIR": str(folder / "ipython"),
        "JUPYTER_PATH": str(folder / "jupyter"),
    }


# Where the tests run in the background of a shell, Ctrl-C is ignored, and that would be handed down.
MAIN = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from jaxnb.shell.cli import main
sys.exit(main())
"""


def start(*arguments, env, **options):
    command = [sys.executable, "-c", MAIN, *map(str, arguments)]
    return subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", **options
    )


DATA = re.compile("[A-Za-z0-9+/=]*")


class Page(HTMLParser):
    """A page as the browser would take it: its text, and a complaint about whatever is run or loaded."""

    def __init__(self, html):
        super().__init__()
        self.html = html
        self.text = ""
        self.complaints = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag == "script" and attrs in ([], [("type", "application/vnd.jaxnb.program")]):
            return  # what is in it is looked at below
        if tag in ("script", "iframe", "object", "embed", "link", "base", "form", "svg"):
            self.complaints.append(tag)
        for name, value in attrs:
            loads = name in ("src", "srcset", "data", "poster", "background") and not value.startswith("data:image/")
            follows = name == "href" and value.lower().startswith(("javascript:", "data:"))
            if loads or follows or name.startswith("on"):
                self.complaints.append((tag, name, value))

    def rows(self):
        """The table at the top: number, first line, outcome, trace and compile, run, memory, findings."""
        table = re.search(r"(?s)<tbody>(.*?)</tbody>", self.html)[1]
        rows = [re.findall(r"(?s)<td.*?>(.*?)</td>", row) for row in table.split("</tr>")[:-1]]
        return [[unescape(re.sub(r"<[^>]*>", "", text)) for text in row] for row in rows]

    def outcomes(self):
        return [row[2] for row in self.rows()]

    def handle_data(self, data):
        if self.lasttag == "style" and re.search(r"url\(|@import|https?:", data):
            self.complaints.append(data)
        if self.lasttag == "script" and not DATA.fullmatch(data):
            # The inspector's own script, and no other: the page's policy names its hash.
            digest = base64.b64encode(hashlib.sha256(data.encode()).digest()).decode()
            policy = re.search('Content-Security-Policy" content="(.*?)"', self.html)[1]
            if f"script-src 'sha256-{digest}'" not in unescape(policy):
                self.complaints.append("script")
        elif self.lasttag != "script":
            self.text += data

    def handle_endtag(self, tag):
        if tag == "script":
            self.lasttag = ""


def notebook(path, *sources, tags=()):
    """A notebook of code cells; the last has the tags."""
    cells = [source if isinstance(source, dict) else v4.new_code_cell(source) for source in sources]
    if tags:
        cells[-1].metadata["tags"] = list(tags)
    nbformat.write(v4.new_notebook(cells=cells), path)
    return path


def read_page(path):
    return Page(path.read_text(encoding="utf-8"))


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
    summaries = [unescape(text) for text in re.findall(r"<summary><span class=\"l\" title=\"(.*?)\">", page.html)]
    assert summaries[:-1] == list(lines.values())
    assert summaries[-1] in summaries[:-1]  # the notebook ends with a run that it shows
    words = [re.match(r"\W*(\w+)", line)[1] for line in lines.values()]
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
    assert "default-src 'none'" in page.html


def test_the_page_shows_programs_and_the_refusal(quickstart):
    _, _, page = quickstart
    assert "dot_general" in page.text and "scan" in page.text
    assert "NeedsConcrete: " in page.text and "if size > 1:" in page.text


def test_the_page_begins_with_a_table_of_all_cells(quickstart):
    out, _, page = quickstart
    assert page.html.index("</h1>") < page.html.index("<table>") < page.html.index("<main>")
    rows = {int(row[0].strip("[]")): row[1:] for row in page.rows()}
    cells = [cell for cell in nbformat.read(QUICKSTART, 4).cells if cell.cell_type == "code"]
    assert list(rows) == list(range(1, len(cells) + 1))
    assert all(f'<a href="#cell-{number}">' in page.html and f'id="cell-{number}"' in page.html for number in rows)
    outcomes = [row[1] for row in rows.values()]
    assert outcomes.count("reused") == 2 and outcomes.count("traced only") == 1
    assert outcomes.count("failed as meant") == 1 and outcomes.count("staged whole") >= 5
    assert sum(outcome.startswith("retraced: ") for outcome in outcomes) == 2
    duration = re.compile(r"[\d.]+ (us|ms|s)")
    for number, (source, outcome, staging, ran, memory, findings) in rows.items():
        line = re.search(rf"^\[{number}\] (.*)", out, re.MULTILINE)
        staged = line is not None and " eqn" in line[1] and "traced only" not in line[1]
        assert source and bool(re.fullmatch(r"[\d.]+ [KM]?B", memory)) == staged, (number, memory)
        assert (outcome == "plain" or outcome.startswith("failed")) == (line is None), number
        assert bool(duration.fullmatch(staging)) == (line is not None and ", compile " in line[1]), number
        waited = line is not None and re.search("[,·] run [0-9]", line[1]) is not None
        assert bool(duration.fullmatch(ran)) == (outcome == "plain" or waited), number
        assert findings.startswith("1 NeedsConcrete: ") if outcome == "failed as meant" else findings == "–", number


def test_the_style_of_the_outputs_is_in_the_page_once(quickstart):
    _, _, page = quickstart
    assert page.html.count("<style>.jnb{") == 1 and page.html.count('<div class="jnb"') == 12
    assert "<style" not in page.html.partition("</head>")[2]


def test_progress_is_plain_lines_where_there_is_no_terminal(quickstart):
    out, err, _ = quickstart
    assert "\x1b" not in out + err and "\r" not in out + err
    *lines, last = err.splitlines()
    odd = [
        line
        for number, line in enumerate(lines, 1)
        if not re.fullmatch(rf"cell {number}/{len(lines)}: .* \(\d+\.\d s\)", line)
    ]
    assert lines and not odd
    assert last.startswith("wrote page.html: ")


# --- notebooks that fail ---


def test_a_failing_cell_ends_it_and_the_page_says_so(tmp_path, capsys):
    source = notebook(tmp_path / "bad.ipynb", "x = 1", "print('seen')\nraise ValueError('<b>too late')", "y = 2")
    nb = nbformat.read(source, 4)
    nb.cells[2].update(outputs=[v4.new_output("stream", text="from an older run")], execution_count=7)
    nbformat.write(nb, source)
    code, out, err = run(capsys, "report", source, "-o", tmp_path / "page.html")
    assert code == 1 and out == ""
    assert "jaxnb: cell [2] of bad.ipynb raised ValueError: <b>too late\n" in err
    assert "--keep-going" in err and "cell 3/3" not in err and "\x1b" not in err
    assert "raise ValueError('<b>too late')" in err  # the traceback
    page = read_page(tmp_path / "page.html")
    assert page.outcomes() == ["plain", "failed", "not run"] and page.html.count('<tr class="bad">') == 1
    assert page.rows()[1][6] == "1 ValueError: <b>too late"
    assert "seen" in page.text and "Traceback (most recent call last)" in page.text and "<b>too" not in page.html
    assert "from an older run" not in page.text
    assert "<dt>Stopped</dt><dd>cell [2] of bad.ipynb raised ValueError: &lt;b&gt;too late</dd>" in page.html
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.ipynb", "page.html"]


def test_a_magic_that_is_not_understood_is_told_as_what_failed(tmp_path, capsys):
    source = notebook(tmp_path / "bad.ipynb", "%load_ext jaxnb", "%%jaxpr --lower\ny = 1", "z = 2")
    code, _, err = run(capsys, "report", source, "-o", tmp_path / "page.html")
    assert code == 1 and "cell [2] of bad.ipynb raised UsageError: --lower wants a name" in err
    assert read_page(tmp_path / "page.html").outcomes() == ["plain", "failed", "not run"]


def test_cells_are_told_as_they_are_and_plain_ones_take_no_time(tmp_path, capsys):
    cells = [
        "%load_ext jaxnb\nimport jax, jax.numpy as jnp\nx = jnp.arange(3.0)",
        "w = jax.random.normal(jax.random.key(0), (8, 8))",
        "v = jax.random.normal(jax.random.key(1), (8, 8))",
        "%%jaxpr --lower cuda\ny = x * 2",
        "%%jit --strict\nz = x + 1",
        "%%jit\nz = x + 1",
    ]
    source = notebook(tmp_path / "n.ipynb", *cells)
    code, _, _ = run(capsys, "report", source, "-o", tmp_path / "page.html")
    page = read_page(tmp_path / "page.html")
    assert code == 0 and page.outcomes()[3:] == ["lowered for cuda", "staged whole", "reused"]
    assert page.html.count("--strict") == 3  # in the table, in the cell, and in its program, not in that of the next


def test_keep_going_shows_the_errors_and_still_fails(tmp_path, capsys):
    source = notebook(tmp_path / "bad.ipynb", "1 / 0", "print('reached')", "int('no')", tags=["raises-exception"])
    code, _, err = run(capsys, "report", source, "-o", tmp_path / "page.html", "--keep-going")
    assert code == 1
    assert "cell [1] raised ZeroDivisionError: division by zero" in err and "cell [3] raised" not in err
    page = read_page(tmp_path / "page.html")
    assert "ZeroDivisionError" in page.text and "reached" in page.text and "ValueError" in page.text
    assert page.outcomes() == ["failed", "plain", "failed as meant"] and "<dt>Stopped</dt>" not in page.html


def test_a_cell_tagged_raises_exception_is_no_failure(tmp_path, capsys):
    source = notebook(tmp_path / "meant.ipynb", "1 / 0", tags=["raises-exception"])
    assert run(capsys, "report", source, "-o", tmp_path / "page.html")[0] == 0


def test_a_cell_that_takes_too_long(tmp_path, capsys):
    source = notebook(tmp_path / "slow.ipynb", "import time\nprint('begun')\ntime.sleep(60)", "print('reached')")
    page = tmp_path / "page.html"
    code, _, err = run(capsys, "report", source, "-o", page, "--timeout", "2")
    assert code == 1 and "cell [1] of slow.ipynb did not end within 2 s." in err
    assert read_page(page).outcomes() == ["failed", "not run"] and "begun" in read_page(page).text
    assert read_page(page).rows()[0][6] == "1 TimedOut: the cell did not end within 2 s."
    code, _, err = run(capsys, "report", source, "-o", page, "--timeout", "2", "--keep-going")
    assert code == 1 and "cell [1] raised KeyboardInterrupt: the cell did not end within 2 s." in err
    assert read_page(page).outcomes() == ["failed", "plain"] and "reached" in read_page(page).text


def test_a_cell_that_cannot_be_interrupted(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("jaxnb.shell.reports.execute._GRACE", 1)
    stubborn = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(60)"
    source = notebook(tmp_path / "slow.ipynb", stubborn, "print('reached')")
    code, _, err = run(capsys, "report", source, "-o", tmp_path / "page.html", "--timeout", "1", "--keep-going")
    assert code == 1 and "did not end within 1 s." in err and "did not stop when interrupted" in err
    assert read_page(tmp_path / "page.html").outcomes() == ["failed", "not run"]


def test_a_kernel_that_dies(tmp_path, capsys):
    source = notebook(tmp_path / "dies.ipynb", "print('alive')", "import os\nos._exit(3)", tags=["raises-exception"])
    code, _, err = run(capsys, "report", source, "-o", tmp_path / "page.html", "--keep-going")
    assert code == 1 and "the kernel died in cell [2] of dies.ipynb." in err
    page = read_page(tmp_path / "page.html")
    assert page.outcomes() == ["plain", "failed"] and "alive" in page.text
    assert page.rows()[1][6] == "1 KernelDied: the kernel died in this cell."


@pytest.mark.skipif(os.name == "nt", reason="signals are POSIX")
def test_interrupted(tmp_path):
    waits = "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)"
    source = notebook(tmp_path / "long.ipynb", "1 / 0", "'done'", waits, "'later'")
    pid, page = tmp_path / "pid", tmp_path / "page.html"
    with start("report", source, "-o", page, "--keep-going", env=environment(tmp_path)) as process:
        try:
            while not (pid.exists() and pid.read_text()):
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 130 and "jaxnb: interrupted in cell [3]; 2 of 4 cells had run.\nwrote " in err, err
    assert "cell [1] raised ZeroDivisionError" in err and "cell [3] raised" not in err and "Traceback" not in err
    page = read_page(page)
    assert page.outcomes() == ["failed", "plain", "failed", "not run"] and "<dd>by Ctrl-C</dd>" in page.html
    assert page.rows()[2][6] == "1 Interrupted: the report was interrupted while the cell ran."
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_interrupted_before_the_first_cell(tmp_path, capsys, monkeypatch):
    async def execute(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxnb.shell.reports.report.execute_notebook", execute)
    source, page = notebook(tmp_path / "x.ipynb", "1"), tmp_path / "page.html"
    page.write_text("what was there")
    code, _, err = run(capsys, "report", source, "-o", page)
    assert code == 130 and err == "jaxnb: interrupted; nothing was written.\n"
    assert page.read_text() == "what was there"


def test_a_kernel_that_does_not_start(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nowhere"))
    source, page = notebook(tmp_path / "x.ipynb", "1"), tmp_path / "page.html"
    code, _, err = run(capsys, "report", source, "-o", page)
    assert code == 1 and err.startswith("jaxnb: ") and "Traceback" not in err and not page.exists()


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
        bundle(line=f"retraced: {EVIL} · 1 input → 1 name · 1 eqn · dispatched · {EVIL}", html=EVIL),
        bundle(data={**encode(mlp()), "findings": [{"kind": EVIL, "message": f"`{EVIL}`{EVIL}`{EVIL * 9}"}]}),
    ]
    source = tmp_path / "evil.ipynb"
    cell = v4.new_code_cell(EVIL, outputs=outputs, metadata={"tags": ["fact"]})
    markdown = f"# {EVIL}\n\n{EVIL}\n\n![x](http://evil.example/y)\n\n[link](javascript:alert(4))"
    cells = [v4.new_markdown_cell(markdown), v4.new_raw_cell(EVIL), cell]
    # Each output once more in a cell of its own, so that each gets into the table.
    cells += [v4.new_code_cell(EVIL, outputs=[output], execution_count=1) for output in outputs]
    for cell in cells[3:]:
        cell.metadata["execution"] = {"iopub.execute_input": EVIL, "shell.execute_reply": EVIL}
    source.write_text(json.dumps(v4.new_notebook(cells=cells)))  # nbformat.write refuses the lone surrogate
    run(capsys, "report", source, "-o", tmp_path / "page.html", "--no-execute")
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert page.complaints == []
    assert page.text.count("<script>") >= 60 and len(page.rows()) == len(outputs) + 1
    assert "\u202e" not in page.text and "\x1b" not in page.text


def test_diagrams_are_pictures(tmp_path, capsys):
    svg = "<svg xmlns='http://www.w3.org/2000/svg'/>"
    data = {"text/html": f'<div class="jnb">{svg}</div>', "image/svg+xml": svg, "text/plain": "mesh x=4, y=2"}
    source = saved(tmp_path / "saved.ipynb", v4.new_output("display_data", data))
    run(capsys, "report", source, "-o", tmp_path / "page.html", "--no-execute")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count('<img src="data:image/svg+xml;base64,') == 1 and "mesh x=4, y=2</pre>" not in page


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


# --- the page ---

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_page():
    error = v4.new_output("error", ename="ZeroDivisionError", traceback=["\x1b[31mZeroDivisionError\x1b[0m"])
    pictures = [PICTURE + "\n", '"><script>']
    text = "Some *text*, `code`, <b>markup</b>, [a](javascript:alert(1)), ![pic](http://x/y.png)"
    cells = [
        v4.new_markdown_cell(f"# Digits\n\n{text}"),
        v4.new_raw_cell("<i>raw"),
        v4.new_code_cell("%%jit\nx = f'<{y}>'  # <script>", outputs=[bundle(line="staged <1> · 1 input → 1 name")]),
        v4.new_code_cell("1 / 0", outputs=[error]),
        v4.new_code_cell("plot()", outputs=[v4.new_output("display_data", {"image/png": one}) for one in pictures]),
    ]
    html = render_page(v4.new_notebook(cells=cells), "Digits", [("jax", "<0.12>"), ("accuracy", "97 %")])
    page = Page(html)
    assert page.complaints == []
    for text in ("<b>markup</b>", "<i>raw", "staged <1>", "<0.12>", "ZeroDivisionError", "pic"):
        assert text in page.text
    assert "<em>text</em>" in html and "<em>pic</em>" in html
    assert "\x1b" not in page.text and "http:" not in html.partition("<script>")[0]
    assert html.count("<h1>") == 1 and '"><script>' not in html
    assert f'src="data:image/png;base64,{PICTURE}"' in html
    assert '<span class="nt">%%jit</span>\n<span class="n">x</span>' in html
    assert re.findall(r'id="(cell-\d)"', html) == ["cell-1", "cell-2", "cell-3"]
    assert html.count('href="#cell-1"') == 2


def test_page_without_cells():
    assert "<h1>&lt;empty&gt;</h1>" in render_page(v4.new_notebook(), "<empty>", [])
    html = render_page(v4.new_notebook(cells=[v4.new_markdown_cell("x")]), "", [])
    assert "<nav>" not in html and "<dl>" not in html and "<script" not in html


def test_page_names_cells_by_what_they_begin_with():
    cells = [v4.new_code_cell(source) for source in ("\na = 1\nb", "%%time\nb = 2", "")]
    page = Page(render_page(v4.new_notebook(cells=cells), "t", []))
    assert [row[1] for row in page.rows()] == ["a = 1", "%%time · b = 2", ""]


def test_the_template_is_our_own_whatever_stands_in_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("page.html.j2").write_text("not ours")
    assert "not ours" not in render_page(v4.new_notebook(), "t", [])


def test_a_page_needs_nbconvert(monkeypatch):
    monkeypatch.setitem(sys.modules, "nbconvert.exporters", None)
    with pytest.raises(JaxnbError, match=r"a report needs nbconvert\.exporters, which is not installed"):
        render_page(v4.new_notebook(), "t", [])


# --- files ---


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
        (tmp_path / ("x" * 300), "File name too long."),
        (Path("/dev/null"), "it is a device or the like, not a file."),
    ]:
        code, _, err = run(capsys, "report", source, "-o", target)
        assert code == 1 and err.startswith(f"jaxnb: cannot write {target}.\n  Why: {why}"), err
    assert source.read_bytes() == before and not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({"kernelspec": {"name": "ir", "display_name": "R", "language": "R"}}, "its kernel is R, and"),
        ({"language_info": {"name": "julia"}}, "the language is julia, not Python."),
    ],
)
def test_a_notebook_of_another_language(tmp_path, capsys, metadata, language):
    source = tmp_path / "other.ipynb"
    nbformat.write(v4.new_notebook(cells=[v4.new_code_cell("x <- 1")], metadata=metadata), source)
    code, _, err = run(capsys, "report", source, "-o", tmp_path / "page.html")
    assert code == 1 and err.startswith(f"jaxnb: cannot run {source}.\n") and language in err
    assert not (tmp_path / "page.html").exists()
    assert run(capsys, "report", source, "-o", tmp_path / "page.html", "--no-execute")[0] == 0


def test_a_notebook_in_nbformat_3_is_read_as_nbformat_4(tmp_path, capsys):
    v3 = nbformat.v3
    sheet = v3.new_worksheet(cells=[v3.new_heading_cell("Old"), v3.new_code_cell("6 * 7", prompt_number=1)])
    source = tmp_path / "old.ipynb"
    source.write_text(nbformat.writes(v3.new_notebook(worksheets=[sheet]), version=3))
    assert run(capsys, "report", source, "-o", tmp_path / "page.html")[0] == 0
    page = read_page(tmp_path / "page.html")
    assert "<pre>42</pre>" in page.html and page.outcomes() == ["plain"]


def test_the_page_is_named_after_the_notebook(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old = v4.new_notebook(cells=[v4.new_code_cell("1")])
    old.nbformat_minor = 4
    del old.cells[0]["id"]
    (tmp_path / "old.ipynb").write_text(json.dumps(old))
    assert run(capsys, "report", "old.ipynb", "--no-execute")[0] == 0
    assert "<title>old</title>" in (tmp_path / "old.html").read_text(encoding="utf-8")
