"""Functions that need values are taken apart: what they compute is staged, and nobody can tell."""

from __future__ import annotations

import inspect
import linecache
import threading
import traceback
from itertools import count
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxnb.api import new_session
from jaxnb.errors import JaxnbError
from jaxnb.options import StageOptions
from jaxnb.staging.session.session import Session
from jaxnb.staging.session.tracebacks import tidy

SETUP = """
import jax, jax.numpy as jnp, numpy as np
x, data = jnp.arange(4.0), [jnp.arange(4.0) + k for k in range(3)]
def step(p, b):
    loss, g = jax.value_and_grad(lambda p: jnp.mean((p * b - 1.0) ** 2))(p)
    return p - 0.01 * g, loss
"""

numbers = count()


def define(namespace: dict[str, Any], text: str) -> None:
    """Runs a cell, whose lines can be read afterwards as those of a notebook can."""
    name = f"<defined {next(numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec", dont_inherit=True), namespace)


def new_namespace(text: str = "") -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    define(namespace, SETUP + text)
    return namespace


TRAIN = """
def train(p, data, n=2):
    "Goes through the data."
    losses = []
    for epoch in range(n):
        for b in data:
            p, loss = step(p, b)
        value = float(loss)
        losses.append(value)
    return p, losses
"""


@pytest.fixture
def session() -> Session:
    return new_session()


def staged(session: Session, cell: str, namespace: dict[str, Any], **options: Any) -> Any:
    return session.stage(cell, namespace, StageOptions(**options))


def test_what_a_function_computes_is_staged_and_reused(session: Session) -> None:
    namespace = new_namespace(TRAIN)
    first, second, third = [staged(session, "p, losses = train(x, data)", namespace) for _ in range(3)]
    assert first.pieces >= 1 and first.program.level("jaxpr").ops
    assert second.reused and third.reused
    assert first.on_host == ((1, "train needs values"),) and first.host_lines == (1,)
    assert first.loops == (2,)
    p, losses = namespace["train"](namespace["x"], namespace["data"])
    np.testing.assert_allclose(namespace["p"], p, rtol=1e-6)
    np.testing.assert_allclose(namespace["losses"], losses, rtol=1e-6)


def test_arrays_that_the_function_reads_are_inputs(session: Session) -> None:
    namespace = new_namespace(TRAIN)
    for _ in range(2):
        staged(session, "p, losses = train(x, data)", namespace)
    namespace["data"] = [b * 2 for b in namespace["data"]]
    report = staged(session, "p, losses = train(x, data)", namespace)
    assert report.reused
    np.testing.assert_allclose(namespace["losses"], namespace["train"](namespace["x"], namespace["data"])[1], rtol=1e-6)


def test_a_function_that_is_defined_anew_counts(session: Session) -> None:
    namespace = new_namespace("def f(v):\n    y = v * 2\n    return y, float(y[1])\n")
    for _ in range(2):
        staged(session, "y, one = f(x)", namespace)
    define(namespace, "def f(v):\n    y = v * 3\n    return y, float(y[2])\n")
    staged(session, "y, one = f(x)", namespace)
    assert namespace["one"] == 6.0 and namespace["y"].tolist() == [0.0, 3.0, 6.0, 9.0]


def test_the_function_is_as_it_was(session: Session) -> None:
    namespace = new_namespace(TRAIN)
    train = namespace["train"]
    code, source, signature = train.__code__, inspect.getsource(train), inspect.signature(train)
    for _ in range(2):
        staged(session, "p, losses = train(x, data)", namespace)
        assert train.__code__ is code and inspect.getsource(train) == source and inspect.signature(train) == signature
    assert not [name for name in namespace if not name.isidentifier()]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_it_is_so_after_an_error_or_an_interrupt_too(session: Session, error: type[BaseException]) -> None:
    text = """
def f(v, stop):
    y = v * 2
    one = float(y[1])
    z = y + 1
    if stop: raise error
    return z, one
"""
    namespace = new_namespace(text)
    namespace["error"] = error
    code = namespace["f"].__code__
    staged(session, "z, one = f(x, False)", namespace)
    before = dict(namespace)
    with pytest.raises(error):
        staged(session, "z, one = f(x, True)", namespace)
    assert namespace["f"].__code__ is code and namespace == before
    assert staged(session, "z, one = f(x, False)", namespace).pieces


RAISES = """
def inner(v):
    return jnp.dot(v, jnp.ones(7))
def outer(v, seen):
    y = v * 2
    seen.append(float(y[0]))
    for k in range(3):
        y = y + k
        z = inner(y)
    return z
"""


def test_the_frames_of_an_error_are_those_of_the_plain_cell(session: Session) -> None:
    namespace = new_namespace(RAISES)
    found: list[list[tuple[str, int | None]]] = []
    for run in ("plain", "staged", "staged"):
        with pytest.raises(TypeError) as raised:
            if run == "plain":
                exec(compile("r = outer(x, [])", "<cell>", "exec"), namespace)
            else:
                staged(session, "r = outer(x, [])", namespace)
        tidy(raised.value)
        frames = traceback.extract_tb(raised.value.__traceback__)
        assert raised.value.__traceback__ is not None
        found.append([(each.name, each.lineno) for each in frames if "site-packages" not in each.filename][-3:])
    assert found[1] == found[0] and found[2] == found[0]


def test_what_is_not_bound_is_what_it_is_plainly(session: Session) -> None:
    text = "def f(v, flag):\n    y = v * 2\n    float(y[0])\n    if flag:\n        z = y + 1\n    return z * 2\n"
    namespace = new_namespace(text)
    staged(session, "r = f(x, True)", namespace)
    with pytest.raises(UnboundLocalError, match="cannot access local variable 'z'"):
        staged(session, "r = f(x, False)", namespace)


def test_other_threads_run_it_plainly(session: Session) -> None:
    text = """
import threading
def work(v, out):
    for k in range(3):
        v = jnp.cos(v) + k
        out.append((threading.get_ident(), float(v[0])))
    return v
def both(v):
    out, others = [], []
    thread = threading.Thread(target=work, args=(v, others))
    thread.start()
    r = work(v, out)
    thread.join()
    return r, out, others
"""
    namespace = new_namespace(text)
    for _ in range(3):
        staged(session, "r, out, others = both(x)", namespace)
        np.testing.assert_allclose(*([value for _, value in namespace[name]] for name in ("out", "others")), rtol=1e-6)
        assert {thread for thread, _ in namespace["out"]} == {threading.get_ident()}


def test_a_function_under_a_transformation_is_traced_by_jax(session: Session) -> None:
    text = """
def f(v):
    y = v * 2
    return y, (float(y[1]) if not isinstance(y, jax.core.Tracer) else None)
def g(v):
    y, one = f(v)
    return y, one, jax.vmap(lambda u: f(u)[0])(jnp.stack([v, v])), jax.jit(lambda u: f(u)[0] + 1)(v)
"""
    namespace = new_namespace(text)
    for _ in range(2):
        staged(session, "y, one, many, more = g(x)", namespace)
    assert namespace["one"] == 2.0 and namespace["many"].shape == (2, 4) and float(namespace["more"][1]) == 3.0


@pytest.mark.parametrize(
    "text",
    [
        "def f(v):\n    y = v * 2\n    one = float(y[1])\n    return sorted(locals()), one\n",
        "def f(v):\n    y = v * 2\n    one = float(y[1])\n    return eval('y'), one\n",
        "def g(v):\n    y = v * 2\n    yield y, float(y[1])\ndef f(v):\n    return [*g(v)]\n",
        "f = lambda v: (v * 2, float((v * 2)[1]))\n",
        "class A:\n    def f(self, v): return v * 2\nclass B(A):\n    def f(self, v):\n        y = super().f(v)\n"
        "        return y, float(y[1])\nf = B().f\n",
        "import sys\ndef f(v):\n    y = v * 2\n    float(y[1])\n    return sorted(sys._getframe().f_locals), y\n",
    ],
    ids=["locals", "eval", "generator", "lambda", "super", "frame"],
)
def test_what_could_tell_is_left_alone(session: Session, text: str) -> None:
    namespace = new_namespace(text)
    plain = eval("f(x)", namespace)
    for _ in range(2):
        staged(session, "r = f(x)", namespace)
        assert repr(namespace["r"]) == repr(plain)


def test_a_function_without_source_is_pythons(session: Session) -> None:
    namespace = new_namespace()
    exec("def f(v):\n    y = v * 2\n    return y, float(y[1])\n", namespace)
    report = staged(session, "y, one = f(x)", namespace)
    assert report.pieces == 0 and namespace["one"] == 2.0


def test_source_that_is_not_what_runs_is_not_taken_for_it(session: Session) -> None:
    namespace = new_namespace("def f(v):\n    y = v * 2\n    return y, float(y[1])\n")
    name = namespace["f"].__code__.co_filename
    text = "".join(linecache.getlines(name)).replace("v * 2", "v * 5")
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    staged(session, "y, one = f(x)", namespace)
    assert namespace["one"] == 2.0


def test_a_long_loop_in_a_function_is_run_in_turns(session: Session) -> None:
    text = """
def fit(p, n):
    m = jnp.zeros_like(p)
    for i in range(n):
        loss, g = jax.value_and_grad(lambda p: jnp.mean(jnp.tanh(p * x) ** 2) + i * 0)(p)
        m = 0.9 * m + g
        p = p - 0.05 * m
    return p, loss
"""
    namespace = new_namespace(text)
    first, second = [staged(session, "p, loss = fit(jnp.ones(4), 200)", namespace) for _ in range(2)]
    assert first.loops == (200,) and first.on_host == () and second.reused
    assert len(list(first.program.level("jaxpr").ops())) < 200


def test_variables_that_are_bound_before_they_are_read_are_in_no_key(session: Session) -> None:
    text = """
def fit(p, n):
    for k in range(n):
        p, loss = step(p, x)
        if float(loss) < 0:
            break
    return p
"""
    namespace = new_namespace(text)
    assert staged(session, "p = fit(x, 3)", namespace).pieces == 1  # in the first turn `loss` is not bound


def test_aliases_of_variables_survive(session: Session) -> None:
    text = """
def f(v):
    a = v * 2
    float(a[0])
    b = a
    c = [a, b, {"k": a}]
    d = c[2]
    return v, a, b, c, d
"""
    namespace = new_namespace(text)
    for _ in range(3):
        staged(session, "v, a, b, c, d = f(x)", namespace)
        v, a, b, c, d = (namespace[name] for name in "vabcd")
        assert v is namespace["x"] and a is b and c[0] is a and c[1] is a and d is c[2] and d["k"] is a
        assert isinstance(a, jax.Array) and jnp.array_equal(a, v * 2)


def test_annotations_of_variables_are_no_hindrance(session: Session) -> None:
    text = """
def f(v, n: int):
    kept: list[float] = []
    later: "Nowhere"
    for k in range(n):
        y: jax.Array = v * 2 + k
        kept.append(float(y[0]))
        if n > 1:
            later: Nowhere = y * 3
    return y, kept, later
"""
    namespace = new_namespace(text)
    y, kept, later = namespace["f"](namespace["x"], 3)
    for _ in range(3):
        report = staged(session, "y, kept, later = f(x, 3)", namespace)
        assert report.pieces and namespace["kept"] == kept
        assert namespace["y"].tolist() == y.tolist() and namespace["later"].tolist() == later.tolist()


DRAWS = """
def draws(v, n):
    key = jax.random.key(0)
    out = []
    for _ in range(n):
        a = jax.random.normal(key, (4,))
        b = jax.random.normal(key, (4,)) + v
        out.append(float(a[0]))
    return b, out
"""


def test_what_is_found_in_a_function_stands_at_its_call(session: Session) -> None:
    namespace = new_namespace("\n" * 40 + DRAWS)
    report = staged(session, "z = x + 1\nb, out = draws(x, 2)", namespace)
    assert {(finding.kind, finding.line) for finding in report.findings} == {("key", 2)}


def test_names_of_a_function_are_told_if_they_were_taken_down(session: Session) -> None:
    namespace = new_namespace("\n" * 40 + TRAIN)
    report = staged(session, "z = x + 1\np, losses = train(x, data)", namespace)
    with pytest.raises(JaxnbError, match="program of line 2 .*\n.*gone when it has returned"):
        report.program.names()
    report = staged(session, "z = x + 1\np, losses = train(x, data)", namespace, names=True)
    assert {"z", "loss"} <= {name.name for name in report.program.names()}


def test_functions_by_turns_do_not_share_what_is_kept(session: Session) -> None:
    namespace = new_namespace()
    texts = [
        "def f(v):\n    y = v * 2\n    return y, float(y[1])\n",
        "def f(v):\n    y = jnp.sin(v)\n    float(y[0])\n    z = y + 1\n    return z, float(z[1])\n",
    ]
    for run in range(6):
        define(namespace, texts[run % 2])
        report = staged(session, "y, one = f(x)", namespace)
        expected = namespace["f"](namespace["x"])
        np.testing.assert_allclose(namespace["y"], expected[0], rtol=1e-6)
        assert report.pieces == 1 + run % 2 and namespace["one"] == pytest.approx(expected[1])
        assert report.reused == (run > 1)


def test_of_a_function_that_calls_itself_the_outer_call_is_staged(session: Session) -> None:
    text = """
def deep(v, n):
    y = v * 2 + 1
    float(y[0])
    if n == 0: return y
    return deep(y / 2, n - 1) + y
"""
    namespace = new_namespace(text)
    report = staged(session, "r = deep(x, 150)", namespace)
    assert 1 <= report.pieces <= 3
    np.testing.assert_allclose(namespace["r"], namespace["deep"](namespace["x"], 150), rtol=1e-5)


LAZY = """
import types
state = types.SimpleNamespace(mean=None)
def average(v):
    state.mean = v if state.mean is None else 0.9 * state.mean + 0.1 * jnp.sin(v)
    if state.mean.max() > 100:
        return v
    return state.mean
"""


def test_what_begins_with_nothing_is_staged_from_the_second_run_on(session: Session) -> None:
    """An average that is None at first: the first run computes nothing, which is no verdict on the next ones."""
    plain, names = new_namespace(LAZY), new_namespace(LAZY)
    for turn in range(4):
        define(plain, "y = average(x)")
        run = staged(session, "y = average(x)", names)
        np.testing.assert_allclose(names["y"], plain["y"], rtol=1e-6)
        assert turn < 2 or run.reused
        assert not turn or (run.pieces >= 1 and list(run.program.level("jaxpr").ops()))
