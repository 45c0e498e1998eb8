"""The one table: what its two lowerings make of the same rows."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from jaxnb.views.escape import Html
from jaxnb.views.table import Cell, Head, Table, first_rows, table_element, table_lines
from jaxnb.views.width import text_width

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=8)
HEADS = st.builds(Head, TEXTS, st.sampled_from(["text", "code", "number", "mark"]), st.integers(0, 5))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    heads = tuple(draw(st.lists(HEADS, min_size=1, max_size=4)))
    row = st.lists(TEXTS, min_size=1, max_size=len(heads))
    return Table(heads, tuple(map(tuple, draw(st.lists(row, max_size=5)))))


def cells_of(html: str) -> list[list[str]]:
    return [re.findall("(?s)<t[dh].*?</t[dh]>", row) for row in re.findall("(?s)<tr.*?</tr>", html)]


@given(tables())
def test_a_table_is_as_long_in_both_and_nothing_in_it_is_obeyed(table: Table) -> None:
    lines, html = table_lines(table), table_element(table)
    assert len(lines) == len(cells_of(html)) == len(table.rows) + any(head.text for head in table.heads)
    assert all(line.isprintable() and line == line.rstrip() for line in lines)
    assert max(map(text_width, table_lines(table, 9)), default=0) <= 9


@given(tables())
def test_every_row_of_the_html_is_as_wide(table: Table) -> None:
    rows = cells_of(table_element(table))
    wide = [sum(int((re.findall('colspan="(.*?)"', cell) or [1])[0]) for cell in row) for row in rows]
    spanned = [wide for wide, row in zip(wide, rows, strict=True) if not any("colspan" in cell for cell in row)]
    assert len(set(spanned)) < 2


@pytest.mark.parametrize(
    ("heads", "rows", "lines"),
    [
        ([Head("a"), Head("b")], [("値", "x"), ("y", "値")], ["a   b", "値  x", "y   値"]),
        ([Head("a", "number"), Head()], [("12345", "x"), ("1", "")], ["    a", "12345  x", "    1"]),
        ([Head("axis", "mark")], [("│",), ("●",)], ["axis", " │", " ●"]),
        ([Head(), Head(), Head()], [("a", "", "b"), ("c", "", "d")], ["a  b", "c  d"]),
        ([Head("", "number", 4), Head(gap=1)], [("1", "a"), ("", "b")], ["   1 a", "     b"]),
        ([Head(most=3), Head()], [("abcdef", "x"), ("ab", "y")], ["ab…  x", "ab   y"]),
        (
            [Head("a"), Head("b"), Head("c")],
            [("1", "2", "3"), ("12", "in 4 more")],
            ["a   b  c", "1   2  3", "12  in 4 more"],
        ),
    ],
)
def test_columns_as_text(heads: list[Head], rows: list[tuple[str, ...]], lines: list[str]) -> None:
    assert table_lines(Table(tuple(heads), tuple(rows))) == lines


def test_html_has_what_a_text_cannot_show() -> None:
    heads = (Head(), Head("over"), Head("name", "code"), Head(), Head())
    rows = [
        (Cell("", picture=lambda: Html("<svg></svg>")), Cell("x", ("#f00", "#0f0")), "<b>", "", ""),
        ("and 2 more",),
    ]
    table = Table(heads, tuple(rows), frozenset({0}))
    assert table_lines(table) == ["over  name", "x     <b>", "and 2 more"]
    assert table_element(table) == (
        '<table class="jnb-t"><tr><th></th><th>over</th><th>name</th></tr>'
        '<tr class="d"><td><svg></svg></td><td><span class="a" style="--a:#f00;--z:#0f0">x</span></td>'
        '<td class="c">&lt;b&gt;</td></tr><tr><td colspan="3">and 2 more</td></tr></table>'
    )


def test_the_first_rows_say_how_many_there_are_besides() -> None:
    assert first_rows("ab", lambda letter: (letter,), None) == first_rows("ab", lambda letter: (letter,), 2)
    assert first_rows("abc", lambda letter: (letter,), 1) == (("a",), ("and 2 more",))
