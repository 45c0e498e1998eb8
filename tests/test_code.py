"""What bytecode refers to, on the interpreter that runs, and the fingerprint of code."""

from __future__ import annotations

import gc
import types
import weakref
from types import CodeType
from typing import Any

import pytest

from jaxnb.staging.cells.code import CodeNames, Sees, code_digest, names_of


def names(text: str) -> CodeNames:
    return names_of(compile(text, "<test>", "exec"))


def function_code(text: str, filename: str = "<test>") -> CodeType:
    """The code of the one function that the text defines."""
    (code,) = (item for item in compile(text, filename, "exec").co_consts if isinstance(item, types.CodeType))
    return code


# --- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reads", "binds"),
    [
        ("y = x + 1", {"x"}, {"y"}),
        ("y += x", {"x", "y"}, {"y"}),
        ("a, (b, *c) = x", {"x"}, {"a", "b", "c"}),
        ("for i in x: y = i", {"x", "i"}, {"i", "y"}),
        ("import numpy.linalg as la, os.path", set(), {"la", "os"}),
        ("from math import pi as p", set(), {"p"}),
        ("with f() as g: pass", {"f"}, {"g"}),
        ("(y := x)", {"x"}, {"y"}),
        ("d['k'] = x\no.a = x", {"d", "o", "x"}, set()),
        ("y = [a * k for a in x]", {"x", "k"}, {"y"}),
        ("def f(a, b=x): return a + g", {"x", "g"}, {"f"}),
        ("f = lambda a: (lambda b: a + b + g)", {"g"}, {"f"}),
        ("def f():\n    k = 1\n    return k", set(), {"f"}),
        ("match x:\n    case [a, *b]: pass", {"x"}, {"a", "b"}),
        ("del x", set(), set()),
    ],
)
def test_reads_and_binds(text: str, reads: set[str], binds: set[str]) -> None:
    found = names(text)
    assert (found.reads, found.binds) == (reads, binds)
    assert found.order == tuple(sorted(reads))


def test_a_class_body_binds_the_class_alone() -> None:
    found = names("class C(B):\n    n = k\n    def f(self): return g")
    assert found.binds == {"C"} and {"B", "k", "g"} <= found.reads


def test_an_exception_that_is_caught_is_bound_and_deleted() -> None:
    found = names("try: f()\nexcept E as e: pass")
    assert "e" in found.binds and "e" in found.deletes and found.reads == {"f", "E"}


def test_what_functions_bind_is_bound_later() -> None:
    found = names("def f():\n    global k, q\n    k = 1\n    del q")
    assert found.binds == {"f"} and found.later_binds == {"k", "q"} and not found.deletes
    assert names("del a, b").deletes == {"a", "b"}


def test_in_a_function_globals_are_read_and_locals_are_not() -> None:
    found = names_of(function_code("def f(a):\n    b = a + k\n    return [b + j for _ in a]"))
    assert found.reads == {"k", "j"} and found.binds == frozenset()


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("y = x\nx = 1", {"x"}),
        ("x = 1\ny = x", set()),
        ("x += 1", {"x"}),
        ("x = x + 1", {"x"}),
        ("for i in range(3): s = i", {"range"}),
        ("def f(): return x\nx = 1", {"x"}),
    ],
)
def test_names_whose_first_occurrence_is_a_load(text: str, first: set[str]) -> None:
    assert names(text).reads_first == first


def test_chains_are_dotted_names_with_their_first_line() -> None:
    found = names("import numpy as np\ny = np.random.normal(0, x.T.shape)\nz = np.random.normal(1)\nf(x).a.b\nx[0].c")
    assert found.chains == {("np", "random", "normal"): 2, ("x", "T", "shape"): 2, ("f",): 4, ("x",): 4}
    assert found.attributes == {"random", "normal", "T", "shape", "a", "b", "c"}


def test_chains_in_nested_code_count_too() -> None:
    found = names("def f():\n    return [m.sin(a)\n        for a in\n        o.items]\nclass C:\n    k = o.p.q\n")
    assert found.chains == {("m", "sin"): 2, ("o", "items"): 4, ("o", "p", "q"): 6} | {
        chain: line for chain, line in found.chains.items() if chain == ("__name__",)
    }


# --- kinds of operation --------------------------------------------------------------------------------------------


def kinds(attribute: str | int, yes: list[str], no: list[str]) -> Any:
    return [(attribute, text, True) for text in yes] + [(attribute, text, False) for text in no]


@pytest.mark.parametrize(
    ("kind", "text", "answer"),
    [
        *kinds(
            Sees.ORDER,
            ["for k in d: f(k)", "[f(k) for k in d]", "a, b = d", "f(**d)", "g = {**d, 'a': 1}", "list(d)", "d.items()"]
            + ["f(*d)", "y = str(d)", "max(d.values())", "def f():\n    for a in d: pass"],
            ["y = d['a'] + d['b']", "a, b = 1, 2", "y = f(d)", "o.x = d", "if d: y = 1", "while x: x = f(x)"],
        ),
        *kinds(
            "mutates",
            ["d['a'] = 1", "del d['a']", "o.a = 1", "del o.a", "x += 1", "d[1:2] = y", "def f(): d[0] = 1", "x @= y"],
            ["x = x + 1", "y = d['a']", "y = x == 1", "y = x <= 1", "y = d[1:2]", "del x", "y = x >> 1"],
        ),
        *kinds(
            "handles_errors",
            [
                "try: f()\nexcept E: pass",
                "try: f()\nexcept E as e: g(e)\nfinally: h()",
                "try: f()\nexcept (A, B): raise",
                "try: f()\nexcept: g()",
                "try: f()\nexcept* E: g()",
                "try: f()\nfinally: g()",
            ],
            [
                "with a: f()",
                "with a as b, c as d: f(b, d)",
                "def f():\n    with a: return g()",
                "for i in x:\n    with a:\n        if i: break",
                "raise E",
                "y = [a for a in x]",
                "with a:\n    y = [a for a in x]",
                "y = (a for a in x)",
            ],
        ),
        *kinds(
            Sees.TYPES,
            ["y = hasattr(a, 'at')", "match a:\n    case float(): pass", "y = getattr(a, 'b', 1)", "y = a.__class__"],
            ["y = type(a)", "y = isinstance(a, float)", "match a:\n    case 1: pass"],
        ),
        *kinds(Sees.CLASSES, ["match a:\n    case Point(x=1): pass"], ["match a:\n    case {'b': 1}: pass"]),
        *kinds(Sees.NAMES, ["y = eval('a')", "def f(): return globals()"], ["y = a.eval(b)"]),
        *kinds(
            Sees.IDENTITY,
            [
                "y = id(a) == id(b)",
                "y = a is b",
                "y = a is not b",
                "if a is b: pass",
                "y = [i is k for i in x]",
                "def f(a): return a is b",
                "y = a in b",
                "y = b.index(a)",
            ],
            ["y = a is None", "if a is not None: pass", "y = a == b", "y = 'k' in b", "y = a is True"],
        ),
    ],
)
def test_kinds_of_operation(kind: str | int, text: str, answer: bool) -> None:
    found = names(text)
    assert (getattr(found, kind) if isinstance(kind, str) else bool(found.sees & kind)) is answer


def test_names_are_remembered_while_the_code_lives_and_no_longer() -> None:
    code = compile("y = x", "<test>", "exec")
    assert names_of(code) is names_of(code)
    alive = weakref.ref(code)
    del code
    gc.collect()
    assert alive() is None


# --- digests -------------------------------------------------------------------------------------------------------

BODY = "def f(a, *, b=2):\n    def g(c): return c + a\n    try: return g(b) * k\n    except E: return (1, 'x', 2.5)\n"


@pytest.mark.parametrize("text", [BODY, "f = lambda a: [b for b in a]\n"])
def test_the_same_code_has_one_digest_at_other_lines_and_files(text: str) -> None:
    moved = function_code("# why\n" * 300 + text.replace("return", "return   "), "/elsewhere/file.py")
    assert code_digest(moved) == code_digest(function_code(text))


def test_a_digest_is_that_of_the_code_also_when_it_has_run() -> None:
    code = function_code("def f(a):\n    s = 0\n    for i in a: s += i\n    return s")
    before = code_digest(code)
    function = types.FunctionType(code, {})
    for _ in range(100):  # the interpreter specializes its instructions
        function([1, 2, 3])
    assert code_digest(code.replace()) == before


CONSTANTS = ["True", "1", "1.0", "1j", "'1'", "b'1'", "None", "(1,)", "(1.0,)", "(True,)", "-0.0", "0.0", "...", "-1"]


def test_constants_that_python_holds_equal_are_told_apart() -> None:
    texts = [f"def f(a): return a, {constant}" for constant in CONSTANTS]
    assert len({code_digest(function_code(text)) for text in texts}) == len(CONSTANTS)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(a): return a + b", "def f(a): return a - b"),
        ("def f(a): return a + b", "def f(a): return a + c"),
        ("def f(a): return a.b", "def f(a): return a.c"),
        ("def f(a): return a", "def g(a): return a"),
        ("def f(a): return a", "def f(a, /): return a"),
        ("def f(a): return a", "def f(*, a): return a"),
        ("def f(a): return a", "def f(a): yield a"),
        ("def f(a): return lambda: 1", "def f(a): return lambda: 2"),
        ("def f(a): return a in {1, 2}", "def f(a): return a in {1, 3}"),
        ("def f(a): return a in {1, 2}", "def f(a): return a in (1, 2)"),
        (
            "def f():\n    try: return g()\n    except E: return 1",
            "def f():\n    try: return g()\n    finally: return 1",
        ),
    ],
)
def test_code_that_differs_has_another_digest(one: str, other: str) -> None:
    assert code_digest(function_code(one)) != code_digest(function_code(other))


def test_the_order_of_a_constant_set_does_not_count() -> None:
    one, other = (function_code(f"def f(a): return a in {text}") for text in ("{'a', 'b', 'c'}", "{'c', 'b', 'a'}"))
    assert code_digest(one) == code_digest(other)
