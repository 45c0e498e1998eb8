"""The readers: what real jaxprs become, on whatever jax is installed.

Each program is the text of a cell, compiled under a file name of its own and run with its inputs.
"""

from __future__ import annotations

import ast
import doctest
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxnb._jax import eqns as _jax_eqns
from jaxnb.program import Level, Program, Span
from jaxnb.program.codec import decode, encode
from jaxnb.program.laws import check_program
from jaxnb.reading.jaxpr import jaxpr as jaxpr_reader, params as params_reader, source as source_reader
from jaxnb.reading.jaxpr.jaxpr import read_jaxpr
from jaxnb.reading.jaxpr.params import LONGEST_TEXT, read_params
from jaxnb.reading.jaxpr.source import link_source, read_source
from jaxnb.views.html import render_html
from jaxnb.views.text import render_program

CELL = "Cell In[7]"
KEY = jax.random.key(0)
X = jnp.arange(4.0) / 7 - 0.2

PROGRAMS = {
    "straight": ("y = jnp.tanh(x) @ x + 1.0", {"x": X}),
    "where": ("y = jnp.where(x > 0, x, 0.0)\nz = jnp.where(x > 0, x, 0.0)", {"x": X}),
    "softmax": ("y = jax.nn.softmax(x)\nz = jax.nn.log_softmax(x)[1]", {"x": X}),
    "jit": ("@jax.jit\ndef g(x):\n    return jnp.sin(x) * 2\ny = g(x)\nz = g(g(x))", {"x": X}),
    "scan": ("def f(c, a):\n    b = c * a\n    return b, c\ny, z = jax.lax.scan(f, 0.0, x)", {"x": X}),
    "cond": ("y = jax.lax.cond(x[0] > 0, lambda t: t, lambda t: -t, x)", {"x": X}),
    "switch": ("y = jax.lax.switch(i, [jnp.sin, jnp.cos, lambda t: t], x)", {"x": X, "i": jnp.int32(1)}),
    "while": (
        "y = jax.lax.while_loop(\n    lambda c: c[0] < 3,\n    lambda c: (c[0] + 1, c[1] * 2),\n    (0, x))",
        {"x": X},
    ),
    "fori": ("y = jax.lax.fori_loop(0, 3, lambda i, c: c + i, x)", {"x": X}),
    "custom_jvp": (
        "@jax.custom_jvp\ndef f(x):\n    return jnp.sin(x)\n"
        "@f.defjvp\ndef j(p, t):\n    return f(*p), t[0] * 3\n"
        "y = f(x)\nz = jax.jvp(f, (x,), (x,))",
        {"x": X},
    ),
    "custom_vjp": (
        "@jax.custom_vjp\ndef f(x):\n    return jnp.sin(x)\n"
        "f.defvjp(lambda x: (f(x), x), lambda r, g: (g * r,))\n"
        "y = f(x)\nz = jax.grad(lambda x: f(x).sum())(x)",
        {"x": X},
    ),
    "vmap": ("y = jax.vmap(lambda a, b: a @ b, (0, None))(x[:, None], x[:1])", {"x": X}),
    "grad": (
        "def loss(w):\n    return jnp.mean(jnp.tanh(w) ** 2)\nl, g = jax.value_and_grad(loss)(x)",
        {"x": X},
    ),
    "remat": ("y = jax.grad(lambda x: jax.checkpoint(lambda t: jnp.sin(jnp.sin(t)).sum())(x))(x)", {"x": X}),
    "keys": ("k1, k2 = jax.random.split(k)\ny = jax.random.normal(k1, (3,))", {"k": KEY}),
    "old keys": ("y = jax.random.uniform(k, (3,))", {"k": jax.random.PRNGKey(0)}),
    "literals": ("y = (x * 0.1, x + 2, jnp.float32(0.1), True)", {"x": X}),
    "no outputs": ("jax.debug.print('{}', x.sum())", {"x": X}),
    "nothing": ("y = x", {"x": X}),
    "constants": ("import numpy as np\ny = x[0] + np.arange(5000.0, dtype=np.float32)", {"x": X}),
    "zero size": ("y = jnp.sum(x[:0]) + jnp.zeros((0, 3)).sum()", {"x": X}),
    "refs": ("r = jax.new_ref(x)\nr[0] = 1.0\nr[...] += 2\ny = r[...]", {"x": X}),
    "callback": ("y = jax.pure_callback(lambda a: a, jax.ShapeDtypeStruct((4,), jnp.float32), x)", {"x": X}),
    "solve": ("y = jnp.linalg.solve(jnp.outer(x, x) + jnp.eye(4), x)", {"x": X}),
    "gather": ("y = x[jnp.array([1, 2])]\nz = x.at[1].set(3.0)", {"x": X}),
    "bfloat16": ("y = x.astype(jnp.bfloat16) * 0.1", {"x": X}),
    "symbolic": ("y = x + 1", {"x": jax.ShapeDtypeStruct(jax.export.symbolic_shape("n, 3"), jnp.float32)}),
    "float0": ("y = jax.grad(lambda i: 1.0, allow_int=True)(i)", {"i": jnp.int32(1)}),
}


def trace(source: str, inputs: dict, helpers: dict | None = None):
    """The jaxpr of a cell: its new and changed names are the outputs."""
    code = compile(source, CELL, "exec")

    def cell(inputs):
        before = {"jax": jax, "jnp": jnp, "np": np, **inputs, **(helpers or {})}
        space = dict(before)
        exec(code, space)
        made = {n: v for n, v in space.items() if not n.startswith("__") and v is not before.get(n)}
        return [leaf for leaf in jax.tree.leaves(made) if isinstance(leaf, jax.Array | np.ndarray)]

    return jax.make_jaxpr(cell)(inputs)


def read(source: str, inputs: dict, **options) -> Program:
    closed = trace(source, inputs)
    level = read_jaxpr(closed, cell_file=CELL, source=source, **options)
    statements = [
        (Span(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset), "staged")
        for node in ast.parse(source).body
    ]
    upper = read_source(source, statements)
    program = Program(source, (upper, level), link_source(upper, level))
    check_program(program)
    return program


def named(program: Program) -> dict[str, list[int | None]]:
    """For each primitive the lines of its ops."""
    lines: dict[str, list[int | None]] = {}
    for op in program.level("jaxpr").ops():
        lines.setdefault(op.name, []).append(op.line)
    return lines


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_read_saved_and_drawn(name):
    source, inputs = PROGRAMS[name]
    program = read(source, inputs)
    assert decode(encode(program)) == program
    for width in (80, 130):
        text = render_program(program, width=width, limit=None)
        assert all(op.name in text for op in program.level("jaxpr").ops())
    html = render_html(program, line="staged")
    for text in (html, repr(program.levels)):
        assert not re.search(r"0x[0-9a-f]{6}|site-packages|object at", text)
    assert all(len(text) <= LONGEST_TEXT for op in program.level("jaxpr").ops() for _, text in op.attributes)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_op_has_a_line_of_the_cell(name):
    source, inputs = PROGRAMS[name]
    program = read(source, inputs)
    ops = list(program.level("jaxpr").ops())
    assert all(op.line is not None for op in ops)
    assert len(program.links) == len(ops)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_equations_are_those_of_the_jaxpr(name):
    """The same primitives in the same order, bodies included, and the same avals."""
    source, inputs = PROGRAMS[name]
    closed = trace(source, inputs)
    level = read_jaxpr(closed, cell_file=CELL)

    def walk(jaxpr):
        for eqn in jaxpr.eqns:
            yield eqn.primitive.name, [v.aval for v in eqn.outvars]
            for _, body in _jax_eqns.body_jaxprs(eqn.params):
                yield from walk(body)

    def walk_level(index):
        for op in level.computations[index].ops:
            yield op
            for body in op.bodies:
                yield from walk_level(body)

    ops = list(walk_level(0))
    expected = list(walk(_jax_eqns.open_jaxpr(closed)))
    assert [op.name for op in ops] == [name for name, _ in expected]
    for op, (_, avals) in zip(ops, expected, strict=True):
        for index, aval in zip(op.outputs, avals, strict=True):
            if hasattr(aval, "dtype"):
                assert [str(n) for n in level.values[index].aval.shape] == [str(n) for n in aval.shape]


PRINTED_ONCE = "straight scan cond switch while fori custom_jvp custom_vjp vmap remat literals refs".split()


@pytest.mark.parametrize("name", PRINTED_ONCE)
def test_values_have_the_names_that_jax_prints(name):
    """Where JAX prints no jaxpr ahead of the others: it names the variables of shared ones first."""
    source, inputs = PROGRAMS[name]
    closed = trace(source, inputs)
    text = str(closed)
    assert "{ lambda" not in text[2:].split("\n")[0]
    level = read_jaxpr(closed, cell_file=CELL)
    for value in level.values:
        if not value.literal and value.name != "_":
            assert re.search(rf"(?<!\w){value.name}:", text), value


def test_lines_through_library_functions():
    program = read(*PROGRAMS["where"])
    assert named(program)["select_n"] == [1, 2]
    assert named(program)["jit"] == [1, 2]
    assert set(sum(named(read(*PROGRAMS["softmax"])).values(), [])) == {1, 2}


def test_lines_in_functions_of_the_cell():
    program = read(*PROGRAMS["jit"])
    assert named(program) == {"jit": [4, 5, 5], "sin": [3, 3, 3], "mul": [3, 3, 3]}
    program = read(*PROGRAMS["scan"])
    assert named(program)["mul"] == [2] and named(program)["scan"] == [4]
    program = read(*PROGRAMS["grad"])
    assert set(sum(named(program).values(), [])) == {2}
    program = read(*PROGRAMS["while"])
    assert (named(program)["lt"], named(program)["mul"], named(program)["while"]) == ([2], [3], [1])


def test_spans_have_columns():
    program = read("y = jnp.sin(x) + jnp.cos(x)", {"x": X})
    spans = {op.name: program.source[op.span.column : op.span.end_column] for op in program.level("jaxpr").ops()}
    assert spans == {"sin": "jnp.sin(x)", "cos": "jnp.cos(x)", "add": "jnp.sin(x) + jnp.cos(x)"}


def test_columns_count_characters():
    source = "é = '漢字'; y = jnp.sin(x)"
    closed = trace(source, {"x": X})
    (op,) = read_jaxpr(closed, cell_file=CELL, source=source).ops()
    assert source[op.span.column : op.span.end_column] == "jnp.sin(x)"
    (op,) = read_jaxpr(closed, cell_file=CELL).ops()
    assert source.encode()[op.span.column : op.span.end_column] == b"jnp.sin(x)"


def test_two_statements_on_one_line():
    program = read("y = jnp.sin(x); z = jnp.cos(y)", {"x": X})
    assert [link.upper_op for link in program.links] == [(0, 0), (0, 1)]


def test_links_of_bodies():
    program = read(*PROGRAMS["scan"])
    level = program.level("jaxpr")
    found = {
        level.computations[at].ops[index].name: link.upper_op for link in program.links for at, index in [link.lower_op]
    }
    assert found["mul"] == (0, 0)  # the `def`
    assert found["scan"] == (0, 1)


def test_functions_of_other_cells_and_files():
    space = {"jax": jax, "jnp": jnp}
    exec(
        compile(
            "def h(x):\n    return jnp.sin(x)\n@jax.jit\ndef g(x):\n    return jnp.cos(x)",
            "Cell In[3]",
            "exec",
        ),
        space,
    )
    closed = trace("\ny = h(x) + g(x)", {"x": X}, {"h": space["h"], "g": space["g"]})
    spans = {op.name: op.span for op in read_jaxpr(closed, cell_file=CELL).ops()}
    assert (spans["sin"].line, spans["sin"].file) == (2, "")
    assert (spans["jit"].line, spans["jit"].file) == (2, "")
    assert (spans["cos"].line, spans["cos"].file) == (5, "Cell In[3]")
    labelled = read_jaxpr(closed, cell_file=CELL, file_label=lambda name: f"<{name}>")
    assert next(op for op in labelled.ops() if op.name == "cos").span.file == "<Cell In[3]>"
    spans = {op.name: op.span for op in read_jaxpr(closed, cell_file="another").ops()}
    assert (spans["sin"].line, spans["sin"].file) == (2, "Cell In[3]")
    assert (spans["add"].line, spans["add"].file) == (2, CELL)


def test_no_span_is_in_a_library():
    """Nothing of the user in the stack: no span rather than a line of jax or of the standard library."""
    closed = jax.make_jaxpr(jax.nn.softmax)(X)
    for op in read_jaxpr(closed, cell_file=CELL).ops():
        assert op.span is None or op.span.file == __file__


def test_names_of_inputs_and_outputs():
    closed = trace("y = x + w\nz = x", {"w": X, "x": X})
    level = read_jaxpr(closed, cell_file=CELL, invar_names=["w", "x"], outvar_names=["y", "z"])
    (main,) = level.computations
    assert (main.input_names, main.output_names) == (("w", "x"), ("y", "z"))
    assert main.outputs[1] == main.inputs[1]
    with pytest.raises(ValueError, match="1 input names for a jaxpr with 2 inputs"):
        read_jaxpr(closed, cell_file=CELL, invar_names=["w"])
    with pytest.raises(ValueError, match="1 output names for a jaxpr with 2 outputs"):
        read_jaxpr(closed, cell_file=CELL, outvar_names=["y"])


def test_bodies_are_named():
    names = {name: {c.name for c in read(*PROGRAMS[name]).level("jaxpr").computations[1:]} for name in PROGRAMS}
    assert names["jit"] == {"g"}
    assert names["where"] == {"_where"}
    assert names["scan"] == {"body"}
    assert names["custom_jvp"] == names["custom_vjp"] == {"f"}
    assert names["cond"] == {"branch 0", "branch 1"}
    assert names["switch"] == {"branch 0", "branch 1", "branch 2"}
    assert names["while"] == {"cond", "body"}
    assert {"matvec", "solve"} <= names["solve"]


def test_values():
    level = read(*PROGRAMS["literals"]).level("jaxpr")
    literals = {value.name: str(value.aval) for value in level.values if value.literal}
    assert literals["0.1"] == "float32[]" and literals["2.0"] == "float32[]"
    avals = {value.aval.dtype for value in read(*PROGRAMS["keys"]).level("jaxpr").values}
    assert "key<fry>" in avals
    avals = {value.aval.dtype for value in read(*PROGRAMS["refs"]).level("jaxpr").values}
    assert "Ref{float32}" in avals
    level = read(*PROGRAMS["bfloat16"]).level("jaxpr")
    assert {(v.aval.dtype, v.aval.itemsize) for v in level.values if not v.literal} == {
        ("float32", 4),
        ("bfloat16", 2),
    }
    level = read(*PROGRAMS["symbolic"]).level("jaxpr")
    assert level.values[0].aval.shape == ("n", 3)


def test_large_constants_are_elided():
    program = read(*PROGRAMS["constants"])
    main = program.level("jaxpr").computations[0]
    constants = [program.level("jaxpr").values[i] for i in main.constants]
    literals = [v for v in program.level("jaxpr").values if v.literal and v.aval.shape]
    assert [str(v.aval) for v in constants + literals] == ["float32[5000]"]
    assert len(repr(program.levels)) < 10_000


def test_attributes():
    params = {
        "axes": (0, 1),
        "none": None,
        "unset": (None, False),
        "flag": True,
        "off": False,
        "dtype": np.dtype("int8"),
        "array": np.zeros((1000, 2), np.float32),
        "many": tuple(range(100_000)),
        "one": (3,),
        "function": len,
        "object": object(),
        "text": "a\n b",
        "branches": 0,
    }
    read_ = dict(read_params(params, ["branches"]))
    assert read_.pop("many").endswith("…") and "0x" not in read_["object"]
    assert read_ == {
        "axes": "(0, 1)",
        "flag": "True",
        "dtype": "int8",
        "array": "float32[1000,2]",
        "one": "(3,)",
        "function": "len",
        "object": "<object object>",
        "text": "a b",
    }


def test_a_shared_jaxpr_does_not_blow_up(monkeypatch):
    """f calls g twice, g calls h twice, ...: written out it would have a million ops."""
    source = "f = jax.jit(jnp.sin)\nfor _ in range(20):\n    f = jax.jit(lambda x, f=f: f(f(x)))\ny = f(x)"
    monkeypatch.setattr(jaxpr_reader, "MOST_OPS", 500)
    level = read(source, {"x": X}).level("jaxpr")
    assert len(list(level.ops())) < 600
    assert any("as above" in text for op in level.ops() for _, text in op.attributes)


def test_without_columns():
    """Python can be told to keep no columns: the lines are still right."""
    import subprocess
    import sys

    code = (
        "import jax; from jaxnb.reading.jaxpr.jaxpr import read_jaxpr\n"
        "text = 'import jax.numpy as jnp\\ndef f(x):\\n    return jnp.sin(x)'\n"
        "space = {}; exec(compile(text, 'c', 'exec'), space)\n"
        "level = read_jaxpr(jax.make_jaxpr(space['f'])(1.0), cell_file='c')\n"
        "print([(op.span.line, op.span.end_column) for op in level.ops()])"
    )
    done = subprocess.run([sys.executable, "-X", "no_debug_ranges", "-c", code], capture_output=True, text=True)
    assert done.stdout == "[(3, 0)]\n", done.stderr


def test_link_without_columns():
    source = read_source("x\ny\nz", [(Span(1, 0, 1, 1), "staged"), (Span(2, 0, 2, 1), "staged")])
    lower = read_jaxpr(jax.make_jaxpr(lambda x: x)(1.0), cell_file=CELL)
    assert link_source(source, lower) == ()
    from jaxnb.program import Computation, Op

    ops = tuple(Op("neg", span=span) for span in (Span(1), Span(2), Span(3), Span(1, file="h.py"), None))
    links = link_source(source, Level("jaxpr", (), (Computation("main", ops=ops),)))
    assert [(link.upper_op, link.lower_op) for link in links] == [((0, 0), (0, 0)), ((0, 1), (0, 1))]


def test_statements_that_cannot_be():
    with pytest.raises(ValueError, match="line 3 is not in a source of 1 lines"):
        read_source("x", [(Span(3), "staged")])
    with pytest.raises(ValueError, match="out of order"):
        read_source("x\ny", [(Span(2), "staged"), (Span(1), "staged")])


def test_reading_is_deterministic():
    for name in ("scan", "grad", "keys"):
        assert read(*PROGRAMS[name]) == read(*PROGRAMS[name])
