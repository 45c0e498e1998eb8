"""The rules of what a staged cell means, each by its number. The differential tests show them at large."""

from __future__ import annotations

import builtins
import contextlib
import gc
import io
import subprocess
import sys
import types
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb
from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.staging.session.session import Session
from jaxnb.views.text import render_program

Namespace = dict[str, Any]


@pytest.fixture
def ns() -> Namespace:
    return {"__name__": "__main__", "jax": jax, "jnp": jnp, "np": np, "x": jnp.array([0.5, -1.0, 2.0])}


@pytest.fixture
def session() -> Session:
    return new_session()


def stage(session: Session, ns: Namespace, cell: str, **options: Any) -> jaxnb.Run:
    return session.stage(cell, ns, StageOptions.of(options))


# --- 1. values -----------------------------------------------------------------------------------------------------


def test_rule_1_types_shapes_and_dtypes_are_exact(session: Session, ns: Namespace) -> None:
    cell = "a, b, c, d = x * 2, x.shape, [x, 3, 'k'], {'n': None, 'm': x > 0}"
    plain = dict(ns)
    exec(cell, plain)
    stage(session, ns, cell)
    assert jax.tree.structure([ns[k] for k in "abcd"]) == jax.tree.structure([plain[k] for k in "abcd"])
    for mine, theirs in zip(jax.tree.leaves([ns[k] for k in "abcd"]), jax.tree.leaves([plain[k] for k in "abcd"])):
        assert type(mine) is type(theirs)
        if isinstance(mine, jax.Array):
            assert (mine.dtype, mine.shape, mine.weak_type) == (theirs.dtype, theirs.shape, theirs.weak_type)


# --- 2. host statements --------------------------------------------------------------------------------------------


def test_rule_2_numpy_statements_stay_numpy_in_float64(session: Session, ns: Namespace) -> None:
    for _ in range(2):
        run = stage(session, ns, "a = np.linspace(0, 1, 4)\na[0] = 7\nv = a[:2]\ny = x[:2] * v")
        assert ns["a"].dtype == np.float64 and np.shares_memory(ns["v"], ns["a"]) and isinstance(ns["y"], jax.Array)
    assert run.reused and run.host_lines == (1, 2, 3)


def test_rule_2_host_statements_run_on_every_run(session: Session, ns: Namespace, capsys: Any) -> None:
    ns["it"] = iter(range(100))
    for expected in range(3):
        stage(session, ns, "k = next(it)\nprint('turn', k)\ny = x + jnp.float32(0)")
        assert ns["k"] == expected
    assert capsys.readouterr().out == "turn 0\nturn 1\nturn 2\n"


def test_rule_2_numpy_stays_numpy_in_a_statement_that_computes_with_jax(session: Session, ns: Namespace) -> None:
    ns["a"] = np.arange(3.0)
    for expected in (False, True):
        run = stage(session, ns, "y, b = x + 1, a / 3")
        assert run.reused == expected and not run.host_lines and not run.findings
        assert type(ns["b"]) is np.ndarray and ns["b"].dtype == np.float64 and (ns["b"] == ns["a"] / 3).all()


def test_rule_2_bits_that_are_lost_are_a_finding(session: Session, ns: Namespace) -> None:
    ns["exact"], ns["lossy"] = np.array([1, 2, 3]), np.array([0.1, 0.2, 0.3])
    run = stage(session, ns, "y = x * exact + lossy")
    assert [(f.kind, "lossy" in f.message) for f in run.findings] == [("x64", True)]
    with pytest.raises(jaxnb.Refused, match="--strict"):
        stage(new_session(), ns, "z = x * lossy", strict=True)
    assert "z" not in ns


# --- 3. Python scalars ---------------------------------------------------------------------------------------------


def test_rule_3_a_float_is_an_input(session: Session, ns: Namespace) -> None:
    ns["lr"] = 0.1
    stage(session, ns, "y = x * lr")
    ns["lr"] = 0.25
    assert stage(session, ns, "y = x * lr").reused
    np.testing.assert_allclose(ns["y"], ns["x"] * 0.25)
    assert not ns["y"].weak_type


@pytest.mark.parametrize(
    "cell",
    [
        "y = x if c > 0 else -x",
        "y = x * (1 - c)",
        "y = x\nb = (x, c * 2)[1]",
        "y = x\nt = isinstance(c, float) and x.ndim",
    ],
)
def test_rule_3_a_float_that_the_cell_could_tell_is_static(session: Session, ns: Namespace, cell: str) -> None:
    ns["c"] = 0.999
    plain = dict(ns)
    exec(cell, plain)
    run = stage(session, ns, cell)
    assert [(f.kind, f.message, f.folded) for f in run.findings] == [("static", "c", True)] and "static" not in run.line
    for name in ("y", "b", "t"):
        if name in plain:
            assert type(ns[name]) is type(plain[name])
            np.testing.assert_allclose(ns[name], plain[name], rtol=1e-6)
    ns["c"] = 0.5
    assert not stage(session, ns, cell).reused


def test_rule_3_an_int_that_alone_changed_becomes_an_input(session: Session, ns: Namespace) -> None:
    ns["n"] = 2
    assert not stage(session, ns, "y = x * n").reused
    ns["n"] = 3
    run = stage(session, ns, "y = x * n")
    assert not run.reused and run.retrace is not None and "n" in run.retrace.reasons[0]
    ns["n"] = 4
    assert stage(session, ns, "y = x * n").reused
    np.testing.assert_allclose(ns["y"], ns["x"] * 4)


def test_rule_3_an_int_whose_value_is_needed_stays_static(session: Session, ns: Namespace) -> None:
    for n in (1, 2, 3):
        ns["n"] = n
        run = stage(session, ns, "y = x\nfor _ in range(n): y = y + jnp.ones(n).sum()")
        assert not run.reused
        np.testing.assert_allclose(ns["y"], ns["x"] + n * n)
    ns["n"] = 2
    assert stage(session, ns, "y = x\nfor _ in range(n): y = y + jnp.ones(n).sum()").reused


def test_rule_3_an_int_out_of_range_still_raises(session: Session, ns: Namespace) -> None:
    ns["row"], ns["i"] = [ns["x"], ns["x"] * 2], 0
    stage(session, ns, "y = row[i]")
    ns["i"] = 5
    with pytest.raises(IndexError):
        stage(session, ns, "y = row[i]")


def test_rule_3_static_and_dynamic_override(session: Session, ns: Namespace) -> None:
    ns.update(lr=0.5, n=3, cfg={"n": 4, "m": 1})
    stage(session, ns, "y = x * lr", static="lr")
    ns["lr"] = 0.75
    assert not stage(session, ns, "y = x * lr", static="lr").reused
    stage(session, ns, "z = x * n", dynamic="n")
    ns["n"] = 9
    assert stage(session, ns, "z = x * n", dynamic="n").reused
    stage(session, ns, "z = x * cfg['n']", dynamic=("cfg['n']",))
    ns["cfg"]["n"] = 5
    assert stage(session, ns, "z = x * cfg['n']", dynamic=("cfg['n']",)).reused
    np.testing.assert_allclose(ns["z"], ns["x"] * 5)


# --- 4. nothing is baked in ----------------------------------------------------------------------------------------

HELPERS = {
    "global": ("k = jnp.ones(3)\ndef f(a): return a * k", "k = (jnp.ones(3) * 2)"),
    "closure": (
        "def make(k):\n    def f(a): return a * k\n    return f\nf = make(jnp.ones(3))",
        "f.__closure__[0].cell_contents = (jnp.ones(3) * 2)",
    ),
    "default": ("def f(a, k=jnp.ones(3)): return a * k", "f.__defaults__ = ((jnp.ones(3) * 2),)"),
    "partial": (
        "import functools\nf = functools.partial(jnp.multiply, jnp.ones(3))",
        "f = functools.partial(jnp.multiply, (jnp.ones(3) * 2))",
    ),
    "attribute": (
        "class M:\n    def __init__(self): self.k = jnp.ones(3)\n    def __call__(self, a): return a * self.k\nf = M()",
        "f.k = (jnp.ones(3) * 2)",
    ),
    "jitted": ("k = jnp.ones(3)\n@jax.jit\ndef f(a): return a * k", "k = (jnp.ones(3) * 2)"),
    "container": ("box = {'k': [jnp.ones(3)]}\ndef f(a): return a * box['k'][0]", "box['k'][0] = (jnp.ones(3) * 2)"),
    "numpy": ("k = np.ones(3, np.float32)\ndef f(a): return a * k", "k[:] = 2"),
}


@pytest.mark.parametrize("kind", HELPERS)
def test_rule_4_what_a_helper_holds_is_an_input(session: Session, ns: Namespace, kind: str) -> None:
    setup, change = HELPERS[kind]
    exec(setup, ns)
    stage(session, ns, "y = f(x)")
    np.testing.assert_allclose(ns["y"], ns["x"])
    exec(change, ns)
    run = stage(session, ns, "y = f(x)")
    assert run.reused
    np.testing.assert_allclose(ns["y"], ns["x"] * 2)


def test_rule_4_arrays_of_the_users_own_module(session: Session, ns: Namespace, monkeypatch: Any) -> None:
    module = types.ModuleType("own_module")
    module.__file__ = "/somewhere/own_module.py"
    exec("import jax.numpy as jnp\nk = jnp.ones(3)\ndef f(a): return a * k", module.__dict__)
    monkeypatch.setitem(sys.modules, "own_module", module)
    ns["own_module"] = module
    stage(session, ns, "y = own_module.f(x)")
    module.k = jnp.ones(3) * 2
    assert stage(session, ns, "y = own_module.f(x)").reused
    np.testing.assert_allclose(ns["y"], ns["x"] * 2)
    assert isinstance(module.k, jax.Array) and not isinstance(module.k, jax.core.Tracer)


@pytest.mark.parametrize("cell", ["y = x * table(3)", "y = jax.jit(lambda a: a * table(3))(x)"])
@pytest.mark.parametrize("filled", [True, False])
def test_rule_4_what_a_cache_holds_is_never_stale_and_never_a_tracer(
    session: Session, ns: Namespace, cell: str, filled: bool
) -> None:
    exec("import functools\nk = 1.0\n@functools.lru_cache\ndef table(n): return jnp.arange(n) * k", ns)
    if filled:
        ns["table"](3)
    stage(session, ns, cell)
    np.testing.assert_allclose(ns["y"], ns["x"] * np.arange(3))
    assert isinstance(ns["table"](3).sum().item(), float)
    ns["table"].cache_clear()
    ns["k"] = 2.0
    stage(session, ns, cell)
    np.testing.assert_allclose(ns["y"], ns["x"] * np.arange(3) * 2)


# --- 5. identity ---------------------------------------------------------------------------------------------------


def test_rule_5_inputs_keep_their_identity_and_aliases_survive(session: Session, ns: Namespace) -> None:
    ns["box"] = [ns["x"]]
    for _ in range(2):
        stage(session, ns, "y = x\na = b = jnp.sin(x)\nl = m = [a, x]\nsame = box")
        assert ns["y"] is ns["x"] and ns["a"] is ns["b"] and ns["l"] is ns["m"]
        assert ns["l"][0] is ns["a"] and ns["l"][1] is ns["x"] and ns["same"] is ns["box"]


# --- 6. effects ----------------------------------------------------------------------------------------------------


def test_rule_6_what_the_cell_makes_is_made_anew(session: Session, ns: Namespace) -> None:
    cell = "f = lambda a: a * y0\ny0 = x + 1\nd = {'a': [x * 2]}\ndef g(): return x\nclass C: pass"
    stage(session, ns, cell)
    first = {name: ns[name] for name in ("f", "d", "g", "C")}
    assert stage(session, ns, cell).reused
    assert all(ns[name] is not first[name] for name in first)
    np.testing.assert_allclose(ns["f"](1.0), ns["x"] + 1)


@pytest.mark.parametrize("cell", ["y = x * np.random.rand()", "import time\ny = x * time.time()"])
def test_rule_6_what_cannot_be_replayed_is_not_reused(session: Session, ns: Namespace, cell: str, capsys: Any) -> None:
    stage(session, ns, cell, whole=True)
    run = stage(session, ns, cell, whole=True)
    assert not run.reused and "not reusable: line" in run.line


@pytest.mark.parametrize("draw", ["np.random.rand()", "random.random()", "next(numbers)", "rng.normal()"])
def test_rule_6_what_draws_or_advances_is_done_by_python_and_once(session: Session, ns: Namespace, draw: str) -> None:
    plain: Namespace = {}
    for names in (ns, plain):
        exec("import jax.numpy as jnp, numpy as np, random\nx = jnp.arange(3.0)", names)
        exec("numbers, rng = iter(range(9)), np.random.default_rng(0)\nnp.random.seed(0); random.seed(0)", names)
        # in turn, because the global states are shared
        for turn in range(3):
            cell = f"z = x * 2\nv = float(z.sum())\ny = z + {draw}\nif y.sum() > 1e9:\n    z = z * {draw}"
            if names is ns:
                run = stage(session, ns, cell)
                assert run.reused == (turn > 0)
                assert [line for line, _ in run.on_host] == [2, 3, 5]
            else:
                exec(cell, names)
    np.testing.assert_allclose(ns["y"], plain["y"], rtol=1e-6)


@pytest.mark.parametrize("keep", ["registry[id(b)] = b", "registry = {id(b): b}", "registry = {}; registry[id(b)] = b"])
def test_rule_6_the_id_of_an_object_is_that_of_the_object_of_this_run(
    session: Session, ns: Namespace, keep: str
) -> None:
    exec("class Box: pass\ndef make(v):\n    b = Box()\n    b.v = v\n    return b\nregistry = {}", ns)
    for _ in range(3):
        stage(session, ns, f"b = make(x * 2)\n{keep}\ny = b.v + 1")
        assert all(key == id(box) for key, box in ns["registry"].items()) and id(ns["b"]) in ns["registry"]


def test_rule_6_a_trace_that_is_given_up_leaves_no_trace(session: Session, ns: Namespace, capsys: Any) -> None:
    class Speaks:
        @property
        def twice(self) -> int:
            print("asked")
            return 2

    ns["speaks"] = Speaks()
    for turn in range(2):
        run = stage(session, ns, "z = x * 2\ny = z * speaks.twice\nv = float(y.sum())")
        assert capsys.readouterr().out == "asked\n" and run.reused == (turn > 0)
    assert "line 2" not in run.line  # the text is said on each run, without Python


# --- 7. no cell sees a tracer --------------------------------------------------------------------------------------


NEEDS_VALUES = [
    "if x.sum() > 1: y = 1",
    "s = str(x)",
    "s = f'{x.sum():.2f}'",
    "print(x)",
    "n = float(x[0])",
    "n = int(x[0])",
    "m = x[x > 0]",
    "a = np.asarray(x)",
    "y = 'yes' if x.any() else 'no'",
    "try:\n    y = float(x[0])\nexcept Exception:\n    y = 0.0",
    "y = x\nwhile y.sum() < 100: y = y * 2",
]


@pytest.mark.parametrize("cell", [cell for cell in NEEDS_VALUES if cell != "print(x)"])
def test_rule_7_as_one_program_a_needed_value_is_refused_with_line_and_reason(
    session: Session, ns: Namespace, cell: str
) -> None:
    before = dict(ns)
    with pytest.raises(jaxnb.NeedsConcrete) as caught:
        stage(session, ns, cell, whole=True)
    assert caught.value.line is not None and "Why:" in str(caught.value) and "Try:" in str(caught.value)
    del ns["__builtins__"]
    assert ns == before


def test_rule_7_the_borders_of_pieces_are_in_the_program(session: Session, ns: Namespace) -> None:
    cell = "y = x * 2\nprint(y)\nfor i in range(2):\n    y = y + 1\n    if y.sum() > 100:\n        break\nz = y"
    with contextlib.redirect_stdout(io.StringIO()):
        run = stage(session, ns, cell)
    told = [(op.line, op.name, dict(op.attributes)) for op in run.program.level("source").ops()]
    assert told == [
        (1, "staged", {"piece": "1"}),
        (2, "host", {"reason": "print needs values"}),
        (3, "host", {}),
        (4, "staged", {"piece": "2"}),
        (5, "host", {"reason": "a condition needs a value"}),
        (7, "staged", {"piece": "3"}),
    ]
    text = render_program(run.program, width=120)
    assert [line.split()[2] for line in text.split("\n") if "── piece" in line] == ["1", "2", "3"]
    assert "run by Python: a condition needs a value" in text
    inner = "for i in range(2):\n    y = x * i\n    seen = float(y[0])\n    if seen > 9:\n        break"
    told = stage(session, ns, inner).program.level("source").ops()
    assert [(op.line, op.name) for op in told] == [(1, "host"), (2, "staged"), (3, "host")]
    assert not any(op.attributes for op in stage(session, ns, "y = x + 1").program.level("source").ops())


@pytest.mark.parametrize("cell", NEEDS_VALUES)
def test_rule_7_a_needed_value_splits_the_cell(session: Session, ns: Namespace, cell: str, capsys: Any) -> None:
    cell = f"before = x * 2\n{cell}\nafter = before + 1"
    for turn in range(3):
        run = stage(session, ns, cell)
        assert run.pieces in (2, 3) and run.reused == (turn > 0)
        line, reason = run.on_host[0]
        assert (
            line in (2, 3, 4)
            and f"partly on the host: line {line}, {reason}" in run.line
            and f" · {run.pieces} pieces · " in run.line
        )


def test_rule_7_a_loop_that_needs_values_stages_its_body_once(session: Session, ns: Namespace, capsys: Any) -> None:
    cell = "w = x\nfor i in range(20):\n    w = w * 0.9\n    print(i, float(w.sum()))\nz = w + 1"
    first = stage(session, ns, cell)
    text = capsys.readouterr().out
    assert first.pieces == 3 and first.equations == 2 and text.count("\n") == 20 and first.on_host[0][0] == 4
    assert stage(session, ns, cell).reused and capsys.readouterr().out == text


def test_rule_7_in_a_loop_what_must_not_be_reused_is_not_traced_in_each_turn(session: Session, ns: Namespace) -> None:
    exec("class Odd(np.ndarray): pass\nodd = np.ones(3, np.float32).view(Odd)", ns)
    run = stage(session, ns, "y = x\nfor i in range(99):\n    y = y + odd\nz = y * 2", roll=True)
    assert run.pieces <= 3 and run.on_host[0][0] == 3
    assert "has operators of its own" in run.on_host[0][1]
    np.testing.assert_allclose(ns["z"], (np.asarray(ns["x"]) + 99) * 2)


def test_rule_7_what_is_for_python_is_traced_again_when_a_helper_changed(session: Session, ns: Namespace) -> None:
    cell = "y = f(x)\nz = y * 2"
    exec("def g(a): return a if a.sum() > 0 else -a\ndef f(a): return g(a) * 2", ns)
    assert "partly on the host: line 1, a condition needs a value" in stage(session, ns, cell).line
    assert stage(session, ns, cell).reused
    exec("def g(a): return jnp.where(a.sum() > 0, a, -a)", ns)
    run = stage(session, ns, cell)
    assert not run.on_host and run.pieces == 1 and not run.reused
    exec("class Model:\n    def __call__(self, a): return float(a.sum()) * a\nf = Model()", ns)
    assert stage(session, ns, cell).on_host
    exec("class Model:\n    def __call__(self, a): return a.sum() * a\nf = Model()", ns)
    assert not stage(session, ns, cell).on_host


def test_rule_7_what_cannot_be_compiled_is_left_to_python(session: Session, ns: Namespace, monkeypatch: Any) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("no compiler")

    with monkeypatch.context() as patch:
        patch.setattr(jax.stages.Lowered, "compile", fail)
        run = stage(session, ns, "y = x * 2\nz = y + 1")
    assert run.pieces == 0 and run.line == "○ nothing compiled: line 1, it cannot be compiled (and 1 line more)"
    np.testing.assert_allclose(ns["z"], np.asarray(ns["x"]) * 2 + 1)


LOOP = "y = x\nfor i in range(300):\n    y = jnp.sin(y) + i\nz = y"


def test_rule_7_a_long_loop_is_not_written_out(session: Session, ns: Namespace) -> None:
    run = stage(session, ns, LOOP)
    assert run.equations < 10 and run.loops == (300,) and not run.on_host
    assert "loop of 300 turns" in run.line
    again = stage(session, ns, LOOP)
    assert again.reused and again.loops == run.loops
    assert stage(session, ns, LOOP.replace("300", "240")).equations == 480
    assert stage(session, ns, LOOP, whole=True).equations == 600
    nested = "y = x\nfor i in range(20):\n    for j in range(30):\n        y = y + i * j"
    run = stage(session, ns, nested)
    assert run.loops == (20,) and run.equations == 30 * run.pieces  # the inner loop is written out
    two = stage(session, ns, f"{LOOP}\n{LOOP.replace('300', '400')}")
    assert two.loops == (300, 400) and all(f"loop of {n} turns" in two.line for n in (300, 400))


def test_rule_7_options_say_which_loops_are_written_out(session: Session, ns: Namespace) -> None:
    assert stage(session, ns, LOOP, unroll=True).equations == 600
    small = "y = x\nfor i in range(3):\n    y = jnp.sin(y) + i"
    assert stage(session, ns, small).equations == 6
    run = stage(session, ns, small, roll=True)
    assert run.equations < 6 and run.loops == (3,)
    with pytest.raises(jaxnb.JaxnbError, match="contradict"):
        jaxnb.stage(small, ns, roll=True, whole=True)


@pytest.mark.parametrize("index", ["rows[i]", "x[i : i + 1]", "table['rows'][i]", "rows[order[i]]"])
def test_rule_7_a_subscript_by_the_counter_does_not_take_the_rest_to_python(
    session: Session, ns: Namespace, index: str
) -> None:
    rows = [jnp.ones(1), jnp.zeros(1), jnp.ones(1)]
    ns.update(rows=rows, table={"rows": rows}, order=[2, 0, 1], y=jnp.ones(1))
    cell = f"for i in range(3):\n    y = jnp.sin(y * {index}) + jnp.cos(y)"
    run = stage(session, ns, cell, roll=True)
    assert run.loops == (3,) and run.pieces == 1 and run.equations == 4 and not run.on_host
    assert stage(session, ns, cell, roll=True).reused and all(map(str.isidentifier, ns))
    fates = [(op.line, op.name) for op in run.program.level("source").ops()]
    assert fates == [(1, "host"), (2, "staged")]


@pytest.mark.parametrize("turns", [2, 3, 14])
def test_rule_7_large_turns_are_not_written_out_with_or_without_text(
    session: Session, ns: Namespace, turns: int, capsys: Any
) -> None:
    body = "\n".join("    y = jnp.sin(y) * 2" for _ in range(150))
    plain = stage(session, ns, f"y = x\nfor i in range({turns}):\n{body}")
    talks = stage(session, ns, f"y = x\nfor i in range({turns}):\n{body}\n    print(i)")
    assert plain.loops == talks.loops == (turns,)
    assert plain.equations == talks.equations == 300


def test_rule_7_equations_inside_of_others_count(session: Session, ns: Namespace) -> None:
    ns["many"] = jax.jit(lambda a: [a := jnp.sin(a) * 2 for _ in range(100)][-1])
    run = stage(session, ns, "y = x\nfor i in range(3):\n    y = many(y)")
    assert run.loops == (3,) and run.equations == 201  # those of one turn


def test_a_loop_whose_derivative_is_wanted_is_written_out(session: Session, ns: Namespace) -> None:
    cell = "y = x\nfor i in range(300):\n    y = jnp.sin(y)\nloss = y.sum()"
    run = stage(session, ns, cell, loss="loss", wrt=("x",))
    assert run.derivative and not run.loops


def test_rule_7_a_loop_that_branches_on_its_counter_is_traced_once(session: Session, ns: Namespace) -> None:
    cell = (
        "kept, seen, y = [], {}, x\nfor i in range(40):\n    y = f(y, i)\n"
        "    if i % 20 == 0:\n        kept.append(y)\n    seen[i] = y"
    )
    exec("def f(a, i):\n    for _ in range(20): a = jnp.sin(a) * i\n    return a", ns)
    run = stage(session, ns, cell)
    assert run.loops == (40,) and run.pieces <= 3 and run.equations <= 60  # 20 of them turn the counter into a float
    assert stage(session, ns, cell).reused and len(ns["kept"]) == 2 and list(ns["seen"]) == list(range(40))


def test_rule_7_inside_a_mapped_function_there_is_no_way_out(session: Session, ns: Namespace) -> None:
    with pytest.raises(jaxnb.NeedsConcrete, match="depends on `x`"):
        stage(session, ns, "y = jax.vmap(lambda a: a if a > 0 else -a)(x)")


def test_rule_7_an_error_of_the_plain_cell_stays_what_it_is(session: Session, ns: Namespace) -> None:
    with pytest.raises(TypeError, match="dot_general"):
        stage(session, ns, "y = x @ jnp.ones(7)")
    with pytest.raises(jax.errors.TracerBoolConversionError):
        stage(session, ns, "f = jax.jit(lambda a: a if a > 0 else -a)\ny = f(1.0) + x")


# --- 8. atomic -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["host", "trace", "compile", "dispatch", "interrupt"])
def test_rule_8_a_failure_changes_nothing(session: Session, ns: Namespace, where: str, monkeypatch: Any) -> None:
    ns.update(history=[1], cfg={"k": ns["x"]}, a=np.zeros(2))
    cell = "a[0] = 5\nhistory.append(2)\ncfg['k'] = cfg['k'] * 2\nx = x + 1\ndel cfg['k']\n"
    before, options = dict(ns), dict[str, Any]()
    if where == "host":
        cell += "raise OSError('no')"
    elif where == "interrupt":
        cell += "raise KeyboardInterrupt"
    elif where == "trace":
        cell += "y = x @ jnp.ones(9)"
    elif where == "compile":

        def fail(*_: Any, **__: Any) -> None:
            raise RuntimeError("no compiler")

        monkeypatch.setattr(jax.stages.Lowered, "compile", fail)
        options = {"whole": True}  # otherwise Python runs what cannot be compiled
    else:
        monkeypatch.setattr(
            jax.stages.Compiled, "__call__", lambda *_: (_ for _ in ()).throw(RuntimeError("no device"))
        )
    with pytest.raises((OSError, KeyboardInterrupt, TypeError, RuntimeError)):
        stage(session, ns, cell, **options)
    ns.pop("__builtins__")
    assert list(ns) == list(before) and all(ns[name] is before[name] for name in ns)
    assert ns["history"] == [1] and list(ns["cfg"]) == ["k"] and ns["cfg"]["k"] is ns["x"]
    assert ns["a"].tolist() == [0.0, 0.0]


# --- 9. what nothing waits for -------------------------------------------------------------------------------------


def test_rule_9_a_run_time_only_if_something_waited(session: Session, ns: Namespace) -> None:
    assert stage(session, ns, "y = x * 2").timings.run is None
    assert "dispatched" in stage(session, ns, "y = x * 2").line
    run = stage(session, ns, "y = x * 2", block=True)
    assert run.timings.run is not None and run.timings.run > 0 and "run " in run.line


# --- 10. cells and programs ----------------------------------------------------------------------------------------


def test_rule_10_programs_are_keyed_by_code_and_at_most_four_are_kept(ns: Namespace) -> None:
    session = new_session(cache_size=4)
    for size in range(1, 7):
        ns["x"] = jnp.ones(size)
        assert not stage(session, ns, "y = x * 2").reused
    for size in (6, 5, 4, 3):
        ns["x"] = jnp.ones(size)
        assert stage(session, ns, "y = x * 2  # a comment changes nothing").reused
    ns["x"] = jnp.ones(1)
    assert not stage(session, ns, "y = x * 2").reused


def test_rule_10_editing_a_cell_evicts_the_old_code(ns: Namespace) -> None:
    session = new_session()
    options = StageOptions()
    session.stage("y = x * 2", ns, options, cell_id="a")
    run = session.stage("y = x * 3", ns, options, cell_id="a")
    assert run.retrace is not None and run.retrace.reasons == ("the code of the cell changed",)
    assert not session.stage("y = x * 2", ns, options, cell_id="a").reused


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("x = x.astype(jnp.bfloat16)", "x float32[3] → bfloat16[3]"),
        ("x = jnp.ones(4)", "x float32[3] → float32[4]"),
        ("def f(a): return a + 2", "the code of f changed"),
        ("flag = 'b'", "flag 'a' → 'b'"),
        ("p = {'v': x, 'extra': 1}", "p a dict with keys"),
    ],
)
def test_rule_10_reasons_say_what_changed(session: Session, ns: Namespace, change: str, reason: str) -> None:
    exec("def f(a): return a + 1\nflag = 'a'\np = {'v': x}", ns)
    cell = "y = f(x) * (2 if flag == 'a' else 3)\nz = p['v'] * 2"
    stage(session, ns, cell)
    exec("def f(a): return a + 1", ns)
    assert stage(session, ns, cell).reused
    exec(change, ns)
    run = stage(session, ns, cell)
    assert run.retrace is not None and any(reason in text for text in run.retrace.reasons), run.retrace


def test_rule_10_the_ambient_context_is_part_of_the_key(session: Session, ns: Namespace) -> None:
    stage(session, ns, "y = x @ x")
    with jax.default_matmul_precision("highest"):
        run = stage(session, ns, "y = x @ x")
    assert not run.reused and run.retrace is not None and "matmul_precision" in run.retrace.reasons[0]
    assert stage(session, ns, "y = x @ x").reused


def test_rule_10_cells_share_the_trace_of_a_jitted_helper(session: Session, ns: Namespace) -> None:
    exec("import itertools\nturns = itertools.count()\n@jax.jit\ndef f(a):\n    next(turns)\n    return jnp.sin(a)", ns)
    for cell in ("y = f(x) + 1", "z = f(x) * 2", "y = f(x) - 3"):
        stage(session, ns, cell)
    assert next(ns["turns"]) == 1


def test_rule_10_what_programs_refer_to_is_held_weakly(session: Session, ns: Namespace) -> None:
    exec("def make(k):\n    def f(a): return a * k\n    return f\nf = make(jnp.ones(1000))", ns)
    constant = weakref.ref(ns["f"].__closure__[0].cell_contents)
    stage(session, ns, "y = f(x[0])")
    del ns["f"], ns["y"]
    gc.collect()
    assert constant() is None


# --- 12. starting nothing ------------------------------------------------------------------------------------------


def test_rule_12_loading_starts_no_backend() -> None:
    code = (
        "from IPython.core.interactiveshell import InteractiveShell; s = InteractiveShell.instance();"
        "s.run_cell('%load_ext jaxnb');"
        "s.run_cell('%config JaxNB.cache_size = 2');"
        "from jax._src import xla_bridge; print(xla_bridge.backends_are_initialized())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "False"


# --- 14. odd cells -------------------------------------------------------------------------------------------------


def test_rule_14_a_cell_of_definitions_compiles_nothing_and_says_so(session: Session, ns: Namespace) -> None:
    run = stage(session, ns, "import math\ndef f(a): return jnp.sin(a)\nclass C: pass")
    assert run.line == "○ nothing compiled: the cell only defines" and set(run.outputs) == {"math", "f", "C"}


def test_rule_14_disable_jit_runs_plainly_and_says_so(session: Session, ns: Namespace) -> None:
    with jax.disable_jit():
        run = stage(session, ns, "y = x * 2\nif y.sum() > 0: z = 1\ny.shape")
    assert "ran plainly" in run.line and run.value == (3,) and ns["z"] == 1


def test_rule_14_what_disable_jit_encloses_is_pythons(session: Session, ns: Namespace) -> None:
    function = "def f(v):\n    if not isinstance(v, jax.core.Tracer): seen.append(float(v.sum()))\n    return v * 2"
    stage(session, ns, f"seen = []\n@jax.jit\n{function}")
    for times in (1, 2, 3):
        run = stage(session, ns, "with jax.disable_jit():\n    a = f(x)\nb = f(a)\nlen(seen), b")
        assert run.value[0] == times and (run.value[1] == 4 * ns["x"]).all()


def test_builtins_are_untouched(session: Session, ns: Namespace) -> None:
    before = dict(vars(builtins))
    stage(session, ns, "y = isinstance(x, jax.Array) and type(x).__name__")
    assert vars(builtins) == before and "isinstance" not in ns and ns["y"] == "ArrayImpl"


def test_waiting_is_called_running(session: Session, ns: Namespace) -> None:
    said: list[str] = []
    session.stage("y = x + 1", ns, StageOptions(block=True), progress=said.append)
    assert said == ["tracing", "compiling", "running"]
