"""The views of programs that were written by hand: goldens, widths, folding, and that text stays text."""

from __future__ import annotations

import doctest
import importlib
import re
from html.parser import HTMLParser

import pytest
from golden import check_golden
from sample_programs import PROGRAMS, hostile, loop, many, mlp

from jaxnb.program import Aval, Finding, Fix, Program
from jaxnb.views.escape import Html, element, escape, joined
from jaxnb.views.grouping import MOST_ROWS, read_groups
from jaxnb.views.html import render_html
from jaxnb.views.rows import short_type
from jaxnb.views.text import printable, render_findings, render_program
from jaxnb.views.width import chunks, text_width

LINE = "staged · 5 inputs → 3 names · 13 eqns"


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", PROGRAMS)
def test_text_golden(name, width):
    program = PROGRAMS[name]()
    text = render_program(program, width=width)
    assert all(line == line.rstrip() for line in text.split("\n"))
    if width >= 100:
        assert max(map(text_width, text.split("\n"))) <= width
    told = render_findings(program.findings, width=width)
    check_golden(f"{name}.{width}.txt", f"{text}\n\n{told}\n" if told else f"{text}\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_html_golden(name):
    html = render_html(PROGRAMS[name](), line=LINE)
    Checker().feed(html)
    style, body = re.fullmatch(r'(?s)<div class="jnb">(<style>.*?</style>)(.*)', html).groups()
    if name == "empty":
        check_golden("program.style.html", style + "\n")
    check_golden(f"{name}.html", body.replace('<div class="r', '\n<div class="r') + "\n")


class Checker(HTMLParser):
    """Refuses what these views never write: scripts, handlers, anything loaded, tags that are not closed."""

    TAGS = frozenset(
        "div style details summary pre i b u em small code br html head meta title body header h1 h2 h3 p a"
        " main section nav table thead tbody tr th td dl dt dd footer span img strong ul ol li del hr".split()
    )

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.data: list[str] = []

    def feed(self, data: str) -> None:
        super().feed(data)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        assert tag in self.TAGS, tag
        for name, value in attrs:
            assert not name.startswith("on"), name
            if name in ("src", "href"):
                assert re.match(r"#cell-\d+$|data:image/|https?://|#harmful-link$", value), value
                assert tag == "a" or value.startswith("data:image/")
        if tag not in ("br", "meta", "img", "hr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.data.append(data)


def shown(html: str) -> str:
    checker = Checker()
    checker.feed(re.sub(r"(?s)<style>.*?</style>", "", html))
    return "".join(checker.data)


def test_html_says_what_the_text_says():
    for program in (mlp(), loop()):
        words = shown(render_html(program, line=LINE))
        for group in read_groups(program):
            assert group.text in words
            for row in group.rows:
                assert f"{row.op} {row.operands}".strip() in words
                assert row.type in words


def test_html_is_small():
    assert len(render_html(mlp(), line=LINE).encode()) < 7_000
    assert len(render_html(many(30), line=LINE).encode()) < 7_000
    assert len(render_html(many(5000), line=LINE).encode()) < 20_000


def test_html_needs_nothing_else():
    html = render_html(loop(), line=LINE)
    assert html.startswith('<div class="jnb"><style>')
    assert '<details class="jaxnb"><summary>' in html
    assert not re.search(r"<script|@import|url\(|https?:|<link", html)


def test_html_draws_the_findings_it_is_given():
    html = render_html(mlp(), line=LINE, findings=[Finding("leak", "`y` leaked.", line=3)])
    assert "line 3 · leak" in html and "x64" not in html
    assert 'class="f"' not in render_html(mlp(), line=LINE, findings=[])


def test_hostile_text_is_shown():
    words = shown(render_html(hostile(), line="<script>alert(1)</script>"))
    for text in ("<script>alert(1)</script>", "</pre>", '<script>"', "<img src=x>", "--<i>", "&amp;", "&lt;"):
        assert text in words
    assert "\x1b" not in words and "\u202e" not in words and "\x00" not in words


def test_a_terminal_gets_no_control_characters():
    for width in (80, 120):
        text = render_program(hostile(), width=width) + render_findings(hostile().findings)
        assert all(c.isprintable() for c in text.replace("\n", ""))
        assert r"\x1b[31m" in text
    assert r"\x1b[2J \u202e" in render_program(hostile(), width=80)


def test_folding():
    full = "\n".join(row.op for group in read_groups(many(), limit=None) for row in group.rows)
    assert (full.count("cos"), full.count("sin")) == (350, 350)
    groups = read_groups(many())
    rows = [row for group in groups for row in group.rows]
    assert len(rows) <= MOST_ROWS + 5
    notes = [row.note for row in rows if row.note]
    assert notes == ["… 152 more ops", "{ … 350 ops }"]
    assert rows[-1].bound == "z"


def test_a_body_is_folded_only_if_it_must_be():
    rows = [row for group in read_groups(loop(), limit=14) for row in group.rows]
    assert any(row.note == "{ … 1 op }" for row in rows)
    assert not any("{" in row.note for group in read_groups(loop()) for row in group.rows)


def test_a_long_cell_is_cut():
    program = mlp()
    source = program.source + "\n# comment" * 3000 + "\n" + "x" * 100_000
    groups = read_groups(Program(source, program.levels))
    assert [group.line for group in groups] == [1, 2, 3, 4, None]
    assert groups[-1].text == "… 3002 lines"
    assert len(read_groups(Program(source), limit=None)) == 3006
    groups = read_groups(Program("x" * 100_000))
    assert groups[0].text == "x" * 400 + "…"


def test_levels():
    assert "dot_general" not in render_program(mlp(), level="source", width=80)
    assert "dot_general" in render_program(mlp(), level="jaxpr", width=80)
    with pytest.raises(KeyError, match="made so far: source, jaxpr"):
        render_program(mlp(), level="hlo")


def test_the_terminals_width_counts(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert render_program(mlp()) == render_program(mlp(), width=120)
    monkeypatch.setenv("COLUMNS", "80")
    assert render_program(mlp()) == render_program(mlp(), width=80)


def test_findings_in_text():
    fix = Fix("keep it in NumPy:", options="--keep a", edit=(3, "a = 1", "a = 2"), verified=True)
    text = render_findings([Finding("x64", "word " * 30, 3, None, "history[3].loss", "line 2", fix)], width=60)
    assert text.startswith("line 3 · x64: word word")
    assert max(map(len, text.split("\n"))) <= 60
    assert text.endswith("  try: keep it in NumPy: --keep a (tried: it works)\n    line 3\n    - a = 1\n    + a = 2")
    assert render_findings([]) == ""


def test_short_types():
    names = [
        "float32",
        "bfloat16",
        "uint8",
        "int4",
        "bool",
        "complex64",
        "float8_e4m3fn",
        "key<fry>",
        "Ref{float32}",
    ]
    assert [short_type(Aval(name)) for name in names] == [
        "f32[]", "bf16[]", "u8[]", "i4[]", "bool[]", "c64[]", "f8_e4m3fn[]", "key<fry>[]", "Ref{f32}[]",
    ]  # fmt: skip


def test_chunks_keep_the_text():
    for text in ("", "abc", "漢字とabc", "a漢" * 9):
        assert "".join(chunks(text, 4)) == text
        assert all(text_width(piece) <= 4 for piece in chunks(text, 4))


def test_escape():
    assert escape("""<a href="x" id='y'>&""") == "&lt;a href=&quot;x&quot; id=&#39;y&#39;&gt;&amp;"
    assert escape(escape("<")) == "&lt;"
    assert escape("\x00\x1b\u202e\t\n") == "\\x00\\x1b\\u202e\t\n"
    assert printable("a\nb") == "a\\nb"
    assert element("i", {"title": '"<'}, "<", Html("<br>")) == '<i title="&quot;&lt;">&lt;<br></i>'
    assert joined(["<", "b"], "&") == "&lt;&amp;b"


@pytest.mark.parametrize("tag", ["script", "a b", "A", "", "iframe", "onclick", "x>"])
def test_a_tag_that_is_none(tag):
    with pytest.raises(ValueError, match="not a name"):
        element(tag)


def test_attributes_and_styles_that_are_refused():
    with pytest.raises(ValueError, match="not a name"):
        element("i", {"onclick": "x"})
    with pytest.raises(ValueError, match="cannot hold"):
        element("style", None, "</style><script>")


def test_views_import_neither_jax_nor_the_rest():
    import subprocess
    import sys

    code = (
        "import sys, jaxnb.views.text, jaxnb.views.html, jaxnb.program.codec;"
        "print([m for m in sys.modules if m.split('.')[0] in ('jax', 'jaxlib', 'numpy', 'IPython')"
        " or m.startswith('jaxnb.') and not m.startswith(('jaxnb.views', 'jaxnb.program', 'jaxnb.runtime',"
        " 'jaxnb.errors', 'jaxnb.units'))])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_an_empty_program():
    assert render_program(Program(""), width=80) == "1"
    assert "<summary>nothing</summary>" in render_html(Program(""), line="nothing")
