"""Cells that are staged without a magic on top: the comment on the first line, and `%jaxnb auto`."""

from __future__ import annotations

import ast
import asyncio
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shells import SETUP, Shell, shell

import jaxnb
from jaxnb.shell.comment import (
    Directive,
    as_cell_magic,
    computes_with_jax,
    jax_statements,
    plain_cell,
    read_directive,
    what_cannot_be_repeated,
)
from jaxnb.staging.cells.cell import parse_cell


@pytest.fixture
def auto(shell: Shell) -> Shell:
    shell.run("%jaxnb auto on")
    return shell


# --- the comment as text -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "directive"),
    [
        ("# jaxnb: jit\ny = x", Directive("jit", "")),
        ("#jaxnb:jit --static n\ny = x", Directive("jit", "--static n")),
        ("\n\n# jaxnb :  off  \ny = x", Directive("off", "")),
        ("# jaxnb:\ny = x", Directive("", "")),
        ("# jaxnb: jit --keep a, b   ", Directive("jit", "--keep a, b")),
        ("# jaxnb jit\ny = x", None),
        ("y = x\n# jaxnb: jit", None),
        ("## jaxnb: jit", None),
        ("", None),
    ],
)
def test_what_the_first_line_says(cell: str, directive: Directive | None) -> None:
    assert read_directive(cell) == directive


def test_the_comment_becomes_a_magic_of_as_many_lines() -> None:
    assert as_cell_magic(["# jaxnb: jit --static n\n", "y = x\n"]) == ["%%jaxnb jit --static n\n", "y = x\n"]
    for lines in ([], ["\n"], ["# jaxnb: off\n", "y = x\n"], ["y = x\n", "# jaxnb: jit\n"], ["%%time\n", "y = x\n"]):
        assert as_cell_magic(list(lines)) == lines


# --- the comment in a shell ----------------------------------------------------------------------------------------


def test_the_comment_stages_as_the_magic_does(shell: Shell) -> None:
    text = shell.run("# jaxnb: jit --static n\ny = x * n\ny.sum()")
    assert "● staged · " in text and ("2 inputs → 1 name" in text or "1 input → 1 name" in text)
    assert "Array(6." in text and shell.ns["Out"][shell.ip.execution_count - 1] == 6.0
    assert shell.run("%%jit --static n\ny = x * n\ny.sum();").startswith("✓ reused")
    assert "Array" not in shell.run("# jaxnb: jit --static n\ny = x * n\ny.sum();")


def test_without_the_extension_it_is_a_comment() -> None:
    shell = Shell()
    shell.run(SETUP)
    assert shell.run("# jaxnb: jit --nonsense\ny = x * n") == ""
    shell.run("%load_ext jaxnb")
    assert "staged" in shell.run("# jaxnb: jit\nz = x * n")
    shell.run("%reload_ext jaxnb")
    assert shell.run("# jaxnb: jit\nz = x * n").count("reused") == 1
    shell.run("%unload_ext jaxnb")
    assert shell.run("# jaxnb: jit --nonsense\ny = x * n") == ""


def test_the_header_goes_on_below_and_lines_are_those_displayed(shell: Shell) -> None:
    shell.run("# jaxnb: jit --static n\n#: --keep y\n#: -o run\nz = x * n\ny = z + 1")
    assert "y" in shell.ns and "z" not in shell.ns
    program = shell.ns["run"].program
    assert [op.line for op in program.level("jaxpr").ops()] == [4, 5]
    text = shell.run("\n# jaxnb: jit\n\ny = x @ jnp.ones(7)", ok=False)
    assert "----> 4 y = x @ jnp.ones(7)" in text and f"Cell In[{shell.ip.execution_count - 1}], line 4" in text


BAD = {
    "unknown option": ("# jaxnb: jit --statc n\ny = x", ["    # jaxnb: jit --statc n", "did you mean --static?"]),
    "on a line below": ("# jaxnb: jit\n#: --statc n\ny = x", ["    # jaxnb: jit --statc n", "^^^^^^^"]),
    "unknown word": ("# jaxnb: jitt --block\ny = x", ["'jitt'", "    # jaxnb: jitt --block", "did you mean jit?"]),
    "no word": ("# jaxnb:\ny = x", ["wants a word", "there are jit, grad, xmap, off"]),
    "two headers": ("%%jit\n# jaxnb: jit --static n\ny = x * n", ["two headers", "keep one"]),
    "syntax": ("# jaxnb: jit\ny = x\nz = (y", ["line 3", "SyntaxError: '(' was never closed"]),
    "magic inside": ("# jaxnb: jit\ny = x\n%time y", ["line 3 is a magic or shell line"]),
    "shell inside": ("# jaxnb: jit\nfiles = !ls", ["line 2 is a magic or shell line"]),
    "await": ("# jaxnb: jit\nawait x", ["line 2 awaits at top level"]),
    "value needed": ("# jaxnb: jit\ndef f(a):\n    return 1 if a.sum() > 1 else 2\ny = jax.vmap(f)(x)", ["line 3"]),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_comments_get_one_clear_message(shell: Shell, kind: str) -> None:
    cell, fragments = BAD[kind]
    before = {name: value for name, value in shell.ns.items() if not name.startswith("_") and name not in ("In", "Out")}
    text = shell.run(cell, ok=False)
    for fragment in fragments:
        assert fragment in text, text
    assert "jaxnb/" not in text and "site-packages" not in text, text
    after = {name: value for name, value in shell.ns.items() if not name.startswith("_") and name not in ("In", "Out")}
    assert after.keys() == before.keys() and all(after[name] is before[name] for name in before)


def test_the_caret_stands_under_the_word(shell: Shell) -> None:
    text = shell.run("# jaxnb: jit --block --statc n\ny = x", ok=False)
    _, shown, caret = text.splitlines()[:3]
    assert shown[caret.index("^") :].startswith("--statc") and caret.count("^") == len("--statc")


def test_off_and_lone_comments_do_nothing(shell: Shell) -> None:
    assert shell.run("# jaxnb: off\ny = x * 3") == ""
    assert "nothing compiled: the cell holds no statement" in shell.run("# jaxnb: jit")
    assert "nothing compiled: the cell holds no statement" in shell.run("# jaxnb: jit\n\n")
    assert shell.run("") == "" and shell.run("  # a remark") == ""


def test_magics_above_the_comment(shell: Shell) -> None:
    text = shell.run("%%time\n# jaxnb: jit --static n\ny = x * n\ny")
    assert "Wall time" in text and text.count("staged") == 1 and "Array" in text
    assert shell.run("%%capture out\n# jaxnb: jit\ny = x * 4\ny") == ""
    assert len(shell.ns["out"].outputs) == 2
    assert "traced only" in shell.run("%%jaxpr\n# jaxnb: jit --static n --block\ny = x * n")
    assert "there is no option '--statc'" in shell.run("%%jaxpr\n# jaxnb: jit --statc n\ny = x * n", ok=False)
    text = shell.run("%%time\n# jaxnb: jit\n\ny = x @ jnp.ones(7)", ok=None)
    assert "----> 4 y = x @ jnp.ones(7)" in text


def test_a_terminal_waits_for_the_body(shell: Shell) -> None:
    complete = shell.ip.input_transformer_manager.check_complete
    assert complete("# jaxnb: jit")[0] == "incomplete"
    assert complete("# jaxnb: jit\ny = x")[0] == "incomplete"
    assert complete("# jaxnb: jit\ny = x\n\n")[0] == "complete"


# --- auto: what it would stage -------------------------------------------------------------------------------------

NAMESPACE = {"jnp": jnp, "np": np, "x": jnp.ones(3), "n": 2, "it": iter([1, 2]), "rows": [1, 2]}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("y = x * 2", [1]),
        ("m = n * 2\ny = x * m\nprint(m)", [2]),
        ("import jax.numpy as j\ny = j.ones(3)\nm = n + 1\nz = y + m", [2, 4]),
        ("from jax import numpy\ny = numpy.ones(3)", [2]),
        ("import numpy\ny = numpy.ones(3)", []),
        ("def f(a):\n    return jnp.sin(a)", []),
        ("def f(a):\n    return jnp.sin(a)\ny = f(3.0)", [3]),
        ("y = np.ones(3)\nz = y + 1", []),
        ("import jax\nf = jnp\nf = 3\nm = f + 1", [2]),
        ("m = sum(rows)", []),
        ("y = x * 2\nb = next(it)\nprint(y)", [1, 3]),
    ],
)
def test_which_statements_compute_with_jax(text: str, lines: list[int]) -> None:
    cell = parse_cell(text, filename="<test>")
    assert [cell.statements[index].span.line for index in jax_statements(cell, NAMESPACE)] == lines


@pytest.mark.parametrize(
    ("text", "computes"),
    [
        ("x", False),
        ("x, n", False),
        ("print(x.shape, f'{x}')", False),
        ("loss = float(x)", False),
        ("np.savez('file', x)", False),
        ("x.block_until_ready()", False),
        ("jnp.sin(x)", True),
        ("print(jnp.sin(x))", True),
        ("x + 1", True),
        ("x[0]", True),
        ("-x", True),
        ("for _ in rows:\n    x = x * 2", True),
    ],
)
def test_looking_at_a_value_is_not_computing(text: str, computes: bool) -> None:
    assert computes_with_jax(parse_cell(text, filename="<test>"), NAMESPACE) == computes


def made_reader() -> Any:
    class Reader:
        def __init__(self) -> None:
            self.rows = iter([1, 2])

        def row(self) -> int:
            return next(self.rows)

        def count(self) -> int:
            return 2

    return Reader()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y = x * 2", None),
        ("m = n * 2\nprint(m)\nrows.append(m)\ny = x * m", None),
        ("b = next(it)\ny = x * b", "next"),
        ("y = x * 2\nb = next(it)", None),
        ("y = x * 2\nb = next(it)\nprint(y)", "next"),
        ("y = x * next(it)", "next"),
        ("import random\nb = random.random()\ny = x * b", "random"),
        ("b = np.random.rand()\ny = x * b", "random"),
        ("text = open('nowhere').read()\ny = x * 2", "open"),
        ("def load():\n    return next(it)\nb = load()\ny = x * b", "load"),
        ("def double(a):\n    return a * 2\nb = double(n)\ny = x * b", None),
        ("b = reader.row()\ny = x * b", "next"),
        ("b = reader.count()\ny = x * b", None),
        ("for b in it:\n    x = x * b", "it"),
        ("class A:\n    b = next(it)\ny = x * A.b", "next"),
        ("import numpy as np\nb = np.arange(3)\ny = x * b", None),
    ],
)
def test_what_cannot_be_repeated(text: str, said: str | None) -> None:
    cell = parse_cell(text, filename="<test>")
    namespace = {**NAMESPACE, "reader": made_reader()}
    found = what_cannot_be_repeated(cell, jax_statements(cell, namespace)[-1], namespace)
    assert found is None if said is None else found is not None and said in found[1], found


@pytest.mark.parametrize("text", ["y = (", "y = x\n%time y", "# jaxnb: off\ny = x", "await f()", "yield 3", "", "# c"])
def test_what_auto_does_not_even_look_at(text: str) -> None:
    tree = ast.parse(text) if text in ("", "# c") or text.startswith("# jaxnb") else ast.parse("")
    assert plain_cell(text, tree) is None
    assert plain_cell("y = x", ast.parse("y = x")) is not None
    assert plain_cell("y = x", ast.parse("y = z")) is None  # a transformer changed it


# --- auto in a shell -----------------------------------------------------------------------------------------------


def test_auto_stages_cells_that_compute_with_jax(auto: Shell) -> None:
    text = auto.run("y = x @ w\ny")
    assert "Array(" in text and text.count("● staged · ") == text.count(" · 2 inputs → 1 name · 1 eqn") == 1
    assert list(auto.ns["Out"].values())[-1] is auto.ns["y"]
    assert auto.ns["In"][-1] == "y = x @ w\ny"
    assert "Array" not in auto.run("y = x @ w\ny;") and "reused" in auto.run("y = x @ w\ny")
    assert jaxnb.last().reused
    assert auto.run("import jax.numpy as other\nq = other.cos(x)").count("staged") == 1


def test_auto_leaves_the_rest_alone(auto: Shell) -> None:
    for cell in (
        "m = n + 1",
        "a = np.ones(3)",
        "def f(v):\n    return jnp.sin(v)",
        "# jaxnb: off\ny = x * 2",
        "x = x",
        "x",
        "print(x.shape, x)",
    ):
        assert "staged" not in auto.run(cell), cell
    assert auto.run("y = x * 5\nfiles = !echo one") == "" and auto.ns["files"] == ["one"]
    assert "staged" not in auto.run("%time y = x * 6")
    assert "staged" not in auto.run("%%time\ny = x * 7")
    assert "staged" not in auto.run("%timeit -n 2 -r 1 x * 8")
    assert "line 1\n    y = (x" in auto.run("y = (x", ok=False)
    assert "SyntaxError" in auto.run("return x", ok=False)
    assert auto.run("# jaxnb: jit --keep y\ny = x * 9\nz = y").count("staged") == 1 and "z" not in auto.ns
    assert auto.run("%%jit\ny = x * 10").count("staged") == 1


def test_auto_says_nothing_where_nothing_was_computed(auto: Shell) -> None:
    assert auto.run("found = jax.devices()[0]") == "" and auto.ns["found"].platform == "cpu"
    auto.run("%config JaxNB.display = 'none'")
    assert auto.run("def f(a):\n    return 1 if a.sum() > 1 else 2") == "" and "ran plainly" not in auto.run("f(x)")


def test_auto_leaves_top_level_await_alone(auto: Shell) -> None:
    auto.run("import asyncio")
    auto.run("await asyncio.sleep(0)\ny = x * 11")
    assert "staged" not in auto.run("y = (await asyncio.sleep(0, x)) * 12") and auto.ns["y"][2] == 24


def test_a_refused_cell_runs_plainly_and_says_why(auto: Shell) -> None:
    auto.run("kept = []\ndef f(a):\n    jax.vmap(lambda v: (kept.append(v), v)[1])(a)\n    return 1")
    text = auto.run("y = x * 2\nrows = []\nrows.append(f(y))\nrows")
    assert text.count("ran plainly: ") == 1 and text.count("[1]") == 1
    assert auto.ns["rows"] == [1] and list(auto.ns["Out"].values())[-1] is auto.ns["rows"]


def test_a_cell_that_needs_values_is_split(auto: Shell) -> None:
    text = auto.run("y = x * 2\nprint(float(y.sum()))\nz = y + 1")
    assert text.startswith("6.0") and "partly on the host: line 2, print needs values · 2 pieces" in text


def test_nothing_is_done_twice(auto: Shell) -> None:
    auto.run("def f(a):\n    return 1 if a.sum() > 1 else 2\nit = iter(range(10))")
    text = auto.run("b = next(it)\ny = x * b\nz = f(y)")
    assert "not staged: line 1" in text and "%%jit stages the cell" in text
    assert auto.ns["b"] == 0 and next(auto.ns["it"]) == 1


def test_errors_under_auto_show_the_cell_and_undo_it(auto: Shell) -> None:
    text = auto.run("\ny = x * 2\nz = y @ jnp.ones(7)", ok=False)
    assert "----> 3 z = y @ jnp.ones(7)" in text and "jaxnb/" not in text and "unregistered" not in text
    assert text.count("Traceback") == 1 and "y" not in auto.ns
    assert "staged" in auto.run("y = x * 2")


def test_auto_is_a_setting_and_leaves_with_the_extension(shell: Shell) -> None:
    assert "auto is off" in shell.run("%jaxnb auto")
    shell.run("%config JaxNB.auto = True")
    assert "auto is on" in shell.run("%jaxnb auto") and "staged" in shell.run("y = x * 2")
    shell.run("%reload_ext jaxnb")
    assert "reused" in shell.run("y = x * 2") and len(shell.ip.ast_transformers) == 1
    shell.run("%jaxnb auto off")
    assert shell.run("y = x * 2") == "" and shell.ip.ast_transformers == []
    shell.run("%jaxnb auto on")
    shell.run("%unload_ext jaxnb")
    assert shell.run("y = x * 2") == "" and shell.ip.ast_transformers == []


def test_silent_and_nested_cells_are_left_alone(auto: Shell) -> None:
    auto.ip.run_cell("y = x * 2", silent=True)
    text = auto.run("get_ipython().run_cell('z = x * 3')\n1")
    assert re.search(r"\b1\b", text) and "z" in auto.ns


def test_auto_in_an_event_loop(auto: Shell) -> None:
    cell = "y = x * 13\ny"
    made = auto.ip.run_cell_async(cell, transformed_cell=auto.ip.transform_cell(cell), store_history=True)
    assert asyncio.run(made).success and auto.ns["y"][2] == 26 and jaxnb.last().outputs.keys() == {"y"}
