"""What every name was after each assignment: by table, and what taking it down must not do."""

from __future__ import annotations

import contextlib
import doctest
import gc
import io
import linecache
import sys
import threading
import traceback
import types
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb.staging.levels.naming
import jaxnb.staging.trace.stores
from jaxnb.api import new_session
from jaxnb.errors import JaxnbError
from jaxnb.options import StageOptions
from jaxnb.staging.cells.cell import parse_cell
from jaxnb.staging.levels.naming import abstracted, read_names, read_names_of
from jaxnb.staging.session.session import Session
from jaxnb.staging.trace.assigned import MOST_TEXTS, NameLog, describe, log_names

X = jax.ShapeDtypeStruct((2, 3), jnp.float32)


def traced(text, log=None, **more):
    """Traces the text of a cell at `x`, with what it assigns taken down. Returns the names that it leaves."""
    cell = parse_cell(text, filename="<a traced cell>")
    names = {"jnp": jnp, "jax": jax, "np": np, "__name__": "__main__", **more}

    def run(x):
        names["x"] = x
        for statement in cell.statements:
            exec(statement.code, names)

    with log_names(log) if log is not None else contextlib.nullcontext():
        jax.make_jaxpr(run)(X)
    return names


def taken(text, **more):
    """As (function, name, line, text, times) of the entries of the cell."""
    log = NameLog("<a traced cell>")
    traced(text, log, **more)
    found = [a for a in log.assigned() if not a.span.file]
    return [(a.function, a.name, a.span.line, a.text, a.times) for a in found]


A = "float32[2,3]"
T = "float32[3,2]"
CASES = {
    "a name": ("y = x.T", [("", "y", 1, T, 1)]),
    "twice": ("y = x\ny = y.T", [("", "y", 1, A, 1), ("", "y", 2, T, 1)]),
    "annotated": ("y: object = x\nz: int", [("", "y", 1, A, 1)]),
    "augmented": ("y = x\ny += 1", [("", "y", 1, A, 1), ("", "y", 2, A, 1)]),
    "several targets": ("y = z = x", [("", "y", 1, A, 1), ("", "z", 1, A, 1)]),
    "unpacked": (
        "a, (b, *c) = x, (x.T, 1, 2)",
        [("", "a", 1, A, 1), ("", "b", 1, T, 1), ("", "c", 1, "[1, 2]", 1)],
    ),
    "for": ("for i in range(2):\n    y = x", [("", "i", 1, "0", 1), ("", "y", 2, A, 2), ("", "i", 1, "1", 1)]),
    "for over an array": ("for row in x:\n    pass", [("", "row", 1, "float32[3]", 2)]),
    "with": ("with jax.named_scope('s') as s, jax.named_scope('t'):\n    pass", [("", "s", 1, "NameStack", 1)]),
    "walrus": ("print if (y := x.T) is None else 0", [("", "y", 1, T, 1)]),
    "walrus in a comprehension": (
        "s = [(y := x) for k in (1, 2)]",
        [("", "y", 1, A, 2), ("", "s", 1, f"[{A}, {A}]", 1)],
    ),
    "walrus in a comprehension of a function": (
        "def f():\n    s = [(y := k) for k in (1, 2) if [k for k in (3,)]]\n    return y\nz = f()",
        [("f", "y", 2, "1", 1), ("f", "y", 2, "2", 1), ("f", "s", 2, "[1, 2]", 1), ("", "z", 4, "2", 1)],
    ),
    "comprehension variables are no names": (
        "k = 1\nd = {k: v for k, v in [(2, x)]}",
        [("", "k", 1, "1", 1), ("", "d", 2, f"{{2: {A}}}", 1)],
    ),
    "an exception": ("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    y = x", [("", "y", 4, A, 1)]),
    "definitions are none": (
        "import math\nfrom math import pi as p\ndef f(): pass\nclass C:\n    def g(self): pass",
        [],
    ),
    "a function": (
        "def f(a, /, b, *c, d=2, **e):\n    y = a.T\n    return y\nz = f(x, 1, 2, g=3)",
        [
            ("f", "a", 1, A, 1),
            ("f", "b", 1, "1", 1),
            ("f", "d", 1, "2", 1),
            ("f", "c", 1, "(2,)", 1),
            ("f", "e", 1, "{'g': 3}", 1),
            ("f", "y", 2, T, 1),
            ("", "z", 4, T, 1),
        ],
    ),
    "parameters on lines of their own": (
        "@jax.jit\ndef f(\n    a,\n    b,\n):\n    return a\nz = f(x, x.T)",
        [("f", "a", 3, A, 1), ("f", "b", 4, T, 1), ("", "z", 7, A, 1)],
    ),
    "a lambda": (
        "f = lambda v: v\ny = f(x)",
        [("", "f", 1, "function <lambda>", 1), ("<lambda>", "v", 1, A, 1), ("", "y", 2, A, 1)],
    ),
    "called twice": (
        "def f(v):\n    return v\ny = f(x)\nz = f(x.T)",
        [("f", "v", 1, A, 1), ("f", "v", 1, T, 1), ("", "y", 3, A, 1), ("", "z", 4, T, 1)],
    ),
    "a closure": (
        """def f(v):
    total = v
    def g():
        nonlocal total
        total = total.T
    g()
    return total
y = f(x)""",
        [
            ("f", "v", 1, A, 1),
            ("f", "total", 2, A, 1),
            ("g", "total", 5, T, 1),
            ("", "y", 8, T, 1),
        ],
    ),
    "recursion": (
        "def f(n):\n    m = n\n    return f(n - 1) if n else x\ny = f(1)",
        [
            ("f", "n", 1, "1", 1),
            ("f", "n", 1, "0", 1),
            ("f", "m", 2, "1", 1),
            ("f", "m", 2, "0", 1),
            ("", "y", 4, A, 1),
        ],
    ),
    "a global of a function": ("def f():\n    global y\n    y = x\nf()", [("f", "y", 3, A, 1)]),
    "a generator": (
        "def f(v):\n    for k in range(2):\n        got = yield k\ny = list(f(x))",
        [
            ("f", "v", 1, A, 1),
            ("f", "k", 2, "0", 1),
            ("f", "k", 2, "1", 1),
            ("f", "got", 3, "None", 2),
            ("", "y", 4, "[0, 1]", 1),
        ],
    ),
    "methods and attributes": (
        """class C:
    size = 3
    def __init__(self, v):
        self.v = v
        self.__w = 2
c = C(x)
c.v = x.T""",
        [
            ("C", "size", 2, "3", 1),
            ("C.__init__", "self", 3, "C", 1),
            ("C.__init__", "v", 3, A, 1),
            ("C.__init__", "self.v", 4, A, 1),
            ("C.__init__", "self.__w", 5, "2", 1),
            ("", "c", 6, f"C(v={A}, _C__w=2)", 1),
            ("", "c.v", 7, T, 1),
        ],
    ),
    "items": (
        "d = {'w': [x]}\nd['w'][0] = x.T\nk = 'b'\nd[k] = 1",
        [
            ("", "d", 1, f"{{'w': [{A}]}}", 1),
            ("", "d['w'][0]", 2, T, 1),
            ("", "k", 3, "'b'", 1),
            ("", "d[k]", 4, "1", 1),
        ],
    ),
    "inside transformations": (
        "def loss(w):\n    e = w * 2\n    return e.sum()\ng = jax.grad(loss)(x)\nv = jax.vmap(loss)(x)",
        [
            ("loss", "w", 1, A, 1),
            ("loss", "w", 1, "float32[3]", 1),
            ("loss", "e", 2, A, 1),
            ("loss", "e", 2, "float32[3]", 1),
            ("", "g", 4, A, 1),
            ("", "v", 5, "float32[2]", 1),
        ],
    ),
    "inside a scan": (
        "def step(c, row):\n    c = c + row\n    return c, c.sum()\nend, sums = jax.lax.scan(step, x[0], x)",
        [
            ("step", "c", 1, "float32[3]", 1),
            ("step", "row", 1, "float32[3]", 1),
            ("step", "c", 2, "float32[3]", 1),
            ("", "end", 4, "float32[3]", 1),
            ("", "sums", 4, "float32[2]", 1),
        ],
    ),
    "not only ASCII": ("α, ß = x, x.T", [("", "α", 1, A, 1), ("", "ß", 1, T, 1)]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_taken_down(name):
    text, expected = CASES[name]
    assert sorted(taken(text)) == sorted(expected)


def test_columns_are_those_of_the_name():
    log = NameLog("<a traced cell>")
    text = "def f(é, b):\n    c, d = é, b\n    return c\ny = f(x, x.T); zz = y"
    traced(text, log)
    lines = text.splitlines()
    for found in log.assigned():
        if not found.span.file:
            assert lines[found.span.line - 1][found.span.column : found.span.end_column] == found.name


def test_the_order_is_that_of_first_assignment():
    assert [name for _, name, *_ in taken("b = x\na = x\nb = a")] == ["b", "a", "b"]


def test_many_values_of_one_place_are_told_up_to_a_limit():
    found = taken(f"for i in range({MOST_TEXTS + 5}):\n    pass")
    assert [text for *_, text, _ in found] == [*map(str, range(MOST_TEXTS)), "…"]
    assert found[-1][-1] == 5


def test_code_of_other_cells_has_their_name_and_libraries_have_none():
    other = parse_cell("def helper(v):\n    w = v.T\n    return w", filename="<another cell>")
    names = {"__name__": "__main__"}
    exec(other.statements[0].code, names)
    log = NameLog("<a traced cell>", {"<another cell>": "Cell In[3]"}.get)
    with_softmax = "y = helper(x)\nz = jax.nn.softmax(y)\nw = np.linalg.norm(np.ones(3))"
    cell = parse_cell(with_softmax, filename="<a traced cell>")
    names.update(jax=jax, np=np)

    def run(x):
        names["x"] = x
        for statement in cell.statements:
            exec(statement.code, names)

    tracing = jax.jit(run)
    with log_names(log):
        tracing.trace(X)
    found = {(a.span.file, a.function, a.name) for a in log.assigned()} - {(__file__, "run", name) for name in "x"}
    own = {entry for entry in found if entry[0] != __file__ and entry[1] != "run"}
    assert own == {
        ("", "", "y"),
        ("", "", "z"),
        ("", "", "w"),
        ("Cell In[3]", "helper", "v"),
        ("Cell In[3]", "helper", "w"),
    }


# --- how values are told ---


class Odd:
    """An object that notices whether anything of its class is run."""

    noticed: list[str] = []

    def __init__(self):
        self.kept = np.ones(2)

    def __getattribute__(self, name):
        Odd.noticed.append(name)
        return object.__getattribute__(self, name)

    def __repr__(self):
        Odd.noticed.append("repr")
        return "Odd"

    __str__ = __hash__ = __len__ = __iter__ = __bool__ = __repr__


class OddDict(dict):
    def items(self):
        Odd.noticed.append("items")
        return super().items()

    __iter__ = __len__ = __repr__ = items


Point = __import__("collections").namedtuple("Point", ["a", "b"])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (jnp.ones((2, 3)), "float32[2,3]"),
        (jax.random.key(0), "key<fry>[]"),
        (np.ones(2), "float64[2] of NumPy"),
        (np.float32(2), "float32[] of NumPy"),
        ({"w": jnp.ones(2), "b": [np.ones(1), None]}, "{'w': float32[2], 'b': [float64[1], None]}"),
        (Point(jnp.ones(2), 1), "Point(a=float32[2], b=1)"),
        ((1, 2.5, True, None, "s", b"b", ...), "(1, 2.5, True, None, 's', b'b', … 1 more)"),
        ((1,), "(1,)"),
        ([], "[]"),
        ([[[[1]]]], "[[[[…]]]]"),
        ("a" * 100, f"'{'a' * 40}'…"),
        (10**1000, "int"),
        (len, "function len"),
        (jnp, "module jax.numpy"),
        (dict, "class dict"),
        (range(3), "range(0, 3)"),
        (Odd(), "Odd(kept=float64[2])"),
        (OddDict(a=1), "OddDict({'a': 1})"),
        (X, "ShapeDtypeStruct float32[2,3]"),
        (object(), "object"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_describe(value, text):
    Odd.noticed.clear()
    assert describe(value) == text
    assert Odd.noticed == []


def test_what_holds_itself_is_told():
    value = []
    value.append(value)
    assert describe(value) == "[[[[…]]]]"


# --- what taking down must not do ---


def test_nothing_is_kept_alive():
    class Held:
        pass

    log, references = NameLog("<a traced cell>"), []

    def note(value):
        references.append(weakref.ref(value))
        return value

    names = traced(
        "def f(v):\n    a = make()\n    b = note(v * 2)\n    return b\ny = f(x)",
        log,
        make=lambda: note(Held()),
        note=note,
    )
    assert len(log.assigned()) > 4
    names.clear()
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_nothing_is_left_behind():
    before = sys.gettrace()
    traced("y = x", NameLog("<a traced cell>"))
    assert sys.gettrace() is before
    if sys.version_info >= (3, 12):
        assert [sys.monitoring.get_tool(number) for number in range(1, 5)] == [None] * 4


def test_an_exception_is_the_same():
    text = "def f(v):\n    a = v\n    b = 1 / 0\n    return b\ny = f(x)"
    shown = []
    for log in (None, NameLog("<a traced cell>")):
        with pytest.raises(ZeroDivisionError) as raised:
            traced(text, log)
        frames = traceback.extract_tb(raised.value.__traceback__)
        shown.append([(frame.filename, frame.lineno, frame.name) for frame in frames if "cell" in frame.filename])
    assert shown[0] == shown[1] == [("<a traced cell>", 5, "<module>"), ("<a traced cell>", 3, "f")]


@pytest.mark.parametrize(
    "text",
    [
        """def f(n):
    out = []
    def g():
        nonlocal n
        n += 1
        out.append(n)
    [g() for _ in range(3)]
    return out, n
y = f(1)""",
        "def f():\n    a = 1\n    del a\n    b = sorted(locals())\n    return b\ny = f()",
        "def f():\n    try:\n        return [k for k in range(3)]\n    finally:\n        z = 1\ny = f()",
        """def f():
    for k in range(3):
        got = yield k
    return 5
g = f()
y = [next(g), g.send(2), list(g)]""",
        """import sys
def f(v):
    w = v
    return sys._getframe().f_lineno, sys._getframe().f_locals['w']
y = f(1)""",
        """def f(v):
    match v:
        case [a, *b]:
            return a, b
        case {'k': c, **d}:
            return c, d
y = f([1, 2, 3]), f({'k': 1, 'l': 2})""",
        """class M(type):
    def __setattr__(cls, name, value):
        type.__setattr__(cls, name, value * 2)
class C(metaclass=M):
    a = 1
C.a = 3
y = C.a""",
        """class C:
    @property
    def a(self):
        calls.append(1)
        return 1
    @a.setter
    def a(self, v):
        pass
calls = []
c = C()
c.a = 2
y = len(calls)""",
    ],
)
def test_the_code_does_what_it_does(text):
    plain, watched = traced(text), traced(text, NameLog("<a traced cell>"))
    assert plain["y"] == watched["y"]


def test_other_threads_are_not_followed():
    log, go, done = NameLog("<a traced cell>"), threading.Event(), threading.Event()
    names: dict = {"__name__": "__main__"}
    exec(compile("def f(v):\n    w = v\n    return w", "<a traced cell>", "exec"), names)

    def other():
        go.wait(10)
        names["f"](1)
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    with log_names(log):
        go.set()
        done.wait(10)
    thread.join()
    assert [a for a in log.assigned() if a.function == "f"] == []


def test_a_debugger_is_left_alone():
    lines = []

    def debugger(frame, event, argument):
        if frame.f_code.co_filename == "<a traced cell>":
            lines.append(frame.f_lineno)
        return debugger

    before = sys.gettrace()
    sys.settrace(debugger)
    try:
        if sys.version_info < (3, 12):
            with pytest.raises(JaxnbError, match="a debugger"):
                traced("y = x", NameLog("<a traced cell>"))
        else:
            log = NameLog("<a traced cell>")
            traced("y = x", log)
            assert [a.name for a in log.assigned() if not a.span.file] == ["y"] and lines
        assert sys.gettrace() is debugger
    finally:
        sys.settrace(before)


# --- of a cell that was staged ---


def staged(text, namespace):
    """Runs a cell; returns what asks for its names."""
    session = new_session()
    session.stage(text, namespace, StageOptions())
    (record,), (cell,) = session._records.values(), session._sources.values()

    def pieces(record):
        return [*record.pieces, *(piece for inner in record.blocks.values() for piece in pieces(inner))]

    return lambda: [
        (a.function, a.name, a.span.line, a.text, a.times)
        for a in read_names(cell, pieces(record), record, namespace)
        if not a.span.file
    ]


def test_names_of_a_staged_cell():
    namespace = {"jnp": jnp, "x": jnp.ones((2, 3)), "scale": 2.0}
    ask = staged("def f(v):\n    w = v.T\n    return w\ny = f(x) * scale\nx = x + 1", namespace)
    before = dict(namespace)
    for _ in range(2):
        assert ask() == [("f", "v", 1, A, 1), ("f", "w", 2, T, 1), ("", "y", 4, T, 1), ("", "x", 5, A, 1)]
    assert list(namespace) == list(before) and all(namespace[name] is before[name] for name in before)


def test_a_function_that_jax_has_traced_before_is_gone_through():
    namespace = {"jnp": jnp, "jax": jax, "x": jnp.ones((2, 3)), "__name__": "__main__"}
    helper = parse_cell("@jax.jit\ndef helper(v):\n    w = v.T\n    return w", filename="<a helper's cell>")
    exec(helper.statements[0].code, namespace)
    namespace["helper"](namespace["x"])
    session = new_session()
    session.stage("y = helper(x)", namespace, StageOptions())
    (record,), (cell,) = session._records.values(), session._sources.values()
    found = read_names(cell, record.pieces, record, namespace)
    assert [(a.function, a.name, a.text) for a in found] == [("helper", "v", A), ("helper", "w", T), ("", "y", T)]
    assert found[0].span.file == "<a helper's cell>"


def test_asking_does_nothing_that_can_be_seen():
    namespace = {"jnp": jnp, "x": jnp.ones(3), "log": {"y": jnp.zeros(3)}, "history": []}
    ask = staged("y = x * 2\nlog['y'] = y\nhistory.append(y)\nz = y + 1", namespace)
    out, kept = io.StringIO(), namespace["log"]["y"]
    state = np.random.get_state()[1].tolist()
    with contextlib.redirect_stdout(out):
        assert [name for _, name, *_ in ask()] == ["y", "log['y']", "z"]
    assert out.getvalue() == "" and namespace["log"]["y"] is kept and len(namespace["history"]) == 1
    assert np.random.get_state()[1].tolist() == state


def test_after_a_change_it_is_refused():
    namespace = {"jnp": jnp, "x": jnp.ones((2, 3))}
    ask = staged("y = x * 2", namespace)
    namespace["x"] = jnp.ones(5)
    with pytest.raises(JaxnbError, match="has changed since"):
        ask()
    namespace["x"] = jnp.zeros((2, 3))
    assert ask() == [("", "y", 1, A, 1)]


def test_a_cell_that_changes_what_it_depends_on_is_refused():
    namespace = {"jnp": jnp, "x": jnp.ones(3), "n": 1}
    ask = staged("y = jnp.tile(x, n)\nn = n + 1", namespace)
    with pytest.raises(JaxnbError, match="perhaps by the cell itself"):
        ask()


def test_pieces_inside_statements_that_python_runs():
    namespace = {"jnp": jnp, "x": jnp.ones(3)}
    text = "y = x * 2\nif float(y.sum()) > 1:\n    z = y + 1\n    w = z[:2]\nelse:\n    z = y"
    assert staged(text, namespace)() == [
        ("", "y", 1, "float32[3]", 1),
        ("", "z", 3, "float32[3]", 1),
        ("", "w", 4, "float32[2]", 1),
    ]


def test_names_of_a_function():
    module = types.ModuleType("of_the_user")
    text = "\ndef outer(a):\n    b = a.T\n    return inner(b)\n\ndef inner(c):\n    return c\n"
    linecache.cache["<of the user>"] = (len(text), None, text.splitlines(keepends=True), "<of the user>")
    exec(compile(text, "<of the user>", "exec"), module.__dict__)
    arguments = abstracted((jnp.ones((2, 3)),))
    found = read_names_of(module.outer, arguments, {}, "<of the user>", range(2, 5))
    places = [(a.function, a.name, a.text, a.span.line, a.span.file) for a in found]
    assert places == [("outer", "a", A, 1, ""), ("outer", "b", T, 2, ""), ("inner", "c", T, 6, "<of the user>")]


def test_arguments_are_abstracted():
    args = {"a": jnp.ones(3), "n": np.ones(2), "w": jax.jit(lambda: 2.0)(), "s": 3, "k": jax.random.key(0)}
    abstract = abstracted(args)
    assert not any(isinstance(leaf, jax.Array | np.ndarray) for leaf in jax.tree.leaves(abstract))
    told = [jax.make_jaxpr(lambda x: x)(x).in_avals for x in (args, abstract)]
    assert [str(aval) for aval in told[0]] == [str(aval) for aval in told[1]]
