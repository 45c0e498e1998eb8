"""A cell as statements: where each one stands, what counts as the same code, and what may run early."""

from __future__ import annotations

import linecache
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from jaxnb.errors import Refused
from jaxnb.staging.cells.cell import CellSource, parse_cell

TESTED = settings(max_examples=150, deadline=None, database=None, print_blob=True)


def parse(text: str, **options: Any) -> CellSource:
    return parse_cell(text, filename="<test cell>", **options)


def lines(text: str) -> list[int]:
    """The lines of the statements in the order in which they run."""
    return [statement.span.line for statement in parse(text).statements]


def run(cell: CellSource, namespace: dict[str, Any]) -> Any:
    value = None
    for statement in cell.statements:
        if statement.trailing:
            value = eval(statement.code, namespace)
        else:
            exec(statement.code, namespace)
    return value


# --- statements ----------------------------------------------------------------------------------------------------


def test_each_statement_has_its_place_kind_and_names() -> None:
    cell = parse("y = f(x)\nif y:\n    z = 1\nd['k'] = y; del q\ny + z")
    spans = [(s.span.line, s.span.column, s.span.end_line, s.span.end_column) for s in cell.statements]
    assert spans == [(1, 0, 1, 8), (2, 0, 3, 9), (4, 0, 4, 10), (4, 12, 4, 17), (5, 0, 5, 5)]
    assert [s.kind for s in cell.statements] == ["Assign", "If", "Assign", "Delete", "Expr"]
    assert [s.trailing for s in cell.statements] == [False, False, False, False, True]
    assert cell.reads == {"f", "x", "y", "z", "d"} and cell.binds == {"y", "z"}
    assert cell.statements[3].names.deletes == {"q"}


def test_spans_count_the_displayed_lines_and_begin_at_the_decorator() -> None:
    cell = parse("@f\n@g\ndef h():\n    pass\n\nx = 1", shown="%%jit\n#: --block\n@f\n...", offset=2)
    assert [(s.span.line, s.span.end_line) for s in cell.statements] == [(3, 6), (8, 8)]
    assert cell.statements[0].code.co_firstlineno <= 3
    assert linecache.getline("<test cell>", 1) == "%%jit\n"


def test_an_error_in_a_statement_points_at_the_displayed_line() -> None:
    cell = parse("a = 1\nb = a / 0", shown="%%jit\na = 1\nb = a / 0", offset=1)
    with pytest.raises(ZeroDivisionError) as caught:
        run(cell, {})
    assert caught.traceback[-1].lineno + 1 == 3
    assert str(caught.traceback[-1].path) == "<test cell>"


@pytest.mark.parametrize(
    "text", ["x = (1,\ny = 2 +", "def f(:\n    pass", "a = 1\n return", "break", "nonlocal x", "f(a=1, a=2)"]
)
def test_a_syntax_error_is_pythons_own_at_the_displayed_line(text: str) -> None:
    with pytest.raises(SyntaxError) as plain:
        compile(text, "cell", "exec")
    with pytest.raises(SyntaxError) as caught:
        parse(text, shown="%%jit\n" + text, offset=1)
    assert type(caught.value) is type(plain.value) and caught.value.msg == plain.value.msg
    assert plain.value.lineno is not None and caught.value.lineno == plain.value.lineno + 1
    assert caught.value.text == text.splitlines()[plain.value.lineno - 1]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("y = np.random.normal(f(x))", {("np", "random", "normal"), ("f",)}),
        ("y = fs[0](x)", {None}),
        ("y = f(x)(z)", {None, ("f",)}),
        ("def f(a=g()): return h()", {("g",)}),
        ("@deco(1)\ndef f(): return h()", {("deco",)}),
        ("y = x + 1", set()),
    ],
)
def test_calls_are_those_that_the_statement_makes_itself(text: str, calls: set[Any]) -> None:
    assert set(parse(text).statements[0].calls) == calls


def test_an_empty_cell_has_no_statements() -> None:
    for text in ("", "\n\n", "# nothing"):
        cell = parse(text)
        assert cell.statements == () and cell.reads == cell.binds == frozenset()


def test_future_imports_hold_for_the_whole_cell() -> None:
    namespace: dict[str, Any] = {}
    run(parse("from __future__ import annotations\ndef f(a: missing): pass"), namespace)
    assert namespace["f"].__annotations__ == {"a": "missing"}
    run(parse("x: int = 1\ndef f(a: int): pass"), namespace)  # and this file's own import does not leak into a cell
    assert namespace["f"].__annotations__ == {"a": int}


# --- the digest ----------------------------------------------------------------------------------------------------

SAME = [
    "y = f(x, 1)\nz = (y)",
    "y=f( x,1 ) # why\n\n\nz = y",
    "y = f(\n    x,\n    1,\n)\nz = y",
    "y = f(x, 1); z = y;",
]
OTHER = ["y = f(x, 2)\nz = y", "y = f(x, 1.0)\nz = y", "y = f(x, True)\nz = y", "y = f(x, a=1)\nz = y", "y = f(x, 1)"]


def test_comments_and_layout_do_not_count_and_code_does() -> None:
    assert len({parse(text).digest for text in SAME}) == 1
    assert len({parse(text).digest for text in [SAME[0], *OTHER]}) == 1 + len(OTHER)
    assert parse(SAME[0], offset=5, shown="\n" * 5 + SAME[0]).digest == parse(SAME[0]).digest
    future = "from __future__ import annotations"
    assert parse(f"{future}\n{SAME[0]}").digest != parse(f"# {future}\n{SAME[0]}").digest


# --- the semicolon -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        ("x;", True),
        ("x ;  # shown?", True),
        ("x;\n\n# the end\n", True),
        ("x", False),
        ("x; y", False),
        ("';'", False),
        ("x  # ;", False),
        ("if x:\n    y;", True),
        ("", False),
    ],
)
def test_a_semicolon_at_the_end_is_silent(text: str, silent: bool) -> None:
    assert parse(text).silent is silent


# --- what a cell may not hold ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\ny = await f()",
        "x = 1\nasync for a in b: pass",
        "x = 1\nasync with a: pass",
    ],
)
def test_await_at_top_level_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(Refused, match="line 4 awaits") as caught:
        parse(text, offset=2)
    assert caught.value.line == 4


def test_await_in_a_function_is_not_at_top_level() -> None:
    cell = parse("async def f():\n    async with a: return [b async for b in await c]\ng = lambda: [i for i in f()]")
    assert [s.kind for s in cell.statements] == ["AsyncFunctionDef", "Assign"]


@pytest.mark.parametrize(
    "line", ["%timeit f(x)", "!ls", "files = !ls", "t = %time f()", "x?", "np.sin??", "?x", "  %matplotlib inline"]
)
def test_ipython_syntax_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(Refused, match="magic or shell line") as caught:
        parse(f"a = 1\n{line}\nb = 2", offset=1)
    assert caught.value.line == 3 and repr(line.strip()) in str(caught.value) and "Try:" in str(caught.value)


def test_python_that_looks_like_ipython_is_python() -> None:
    assert lines("a = x \\\n % 3\nb = f('''\n%time\n!ls\n''')") == [1, 3]


# --- definitions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "defines"),
    [
        ("def f(): pass", True),
        ("import math", True),
        ("k = 3", True),
        ("f = lambda a: a + 1", True),
        ("@register\ndef f(): pass", False),
        ("def f(a=g()): pass", False),
        ("class C: pass", False),
        ("from math import *", False),
        ("k = [1]", False),
        ("k = f(1)", False),
    ],
)
def test_definitions_and_constants_may_run_inside_a_trace(text: str, defines: bool) -> None:
    (statement, _) = parse(text + "\ny = x").statements
    assert statement.defines is defines


NAMES = st.sampled_from("abcd")
FUNCTIONS = st.sampled_from("fgh")
# Functions read what the cell never binds: their arguments and `base`.
STATEMENTS = st.one_of(
    st.builds("{0} = {1}".format, NAMES, st.integers(0, 9)),
    st.builds("{0} = {1} + {2}".format, NAMES, NAMES, NAMES),
    st.builds("{0} += {1}(2)".format, NAMES, FUNCTIONS),
    st.builds("if {0} % 2: {1} = {2}".format, NAMES, NAMES, NAMES),
    st.builds("for {0} in range(3): {1} = {0} - {2}".format, NAMES, NAMES, NAMES),
    st.builds("{0}, {1} = {2}, {1}".format, NAMES, NAMES, NAMES),
    st.builds("log.append(({0}, {1}({2})))".format, NAMES, FUNCTIONS, NAMES),
    st.builds("def {0}(v, k={1}): return v * k + base + {2}".format, FUNCTIONS, NAMES, st.integers(0, 9)),
    st.builds("def {0}(v): return v - {1}".format, FUNCTIONS, st.integers(0, 9)),
    st.builds("{0} = lambda v: v + {1}".format, FUNCTIONS, st.integers(0, 9)),
    st.builds("class C:\n    k = {0}\n    def m(self): return {1}".format, NAMES, st.integers(0, 9)),
    st.builds("{0} = C.k + C().m()".format, NAMES),
    st.builds("from operator import neg as {0}".format, FUNCTIONS),
)
START = (
    "a, b, c, d, base, log = 1, 2, 3, 4, 5, []\nf = g = h = lambda v: v\nclass C:\n    k = 1\n    def m(self): return 2"
)


def shown(namespace: dict[str, Any]) -> dict[str, Any]:
    """Names in no order, with what functions answer standing for them."""
    values = {name: namespace[name] for name in ("a", "b", "c", "d", "log")}
    answers = {name: namespace[name](16) for name in "fgh"}
    return {**values, **answers, "C": (namespace["C"].k, namespace["C"]().m()), "names": sorted(namespace)}


@TESTED
@given(st.lists(STATEMENTS, min_size=1, max_size=10))
def test_the_statements_together_are_the_cell(statements: list[str]) -> None:
    text = "\n".join(statements)
    written: dict[str, Any] = {}
    scheduled: dict[str, Any] = {}
    exec(START, written)
    exec(START, scheduled)
    exec(text, written)
    run(parse(text), scheduled)
    assert shown(scheduled) == shown(written)
