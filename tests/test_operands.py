"""A statement that needs the value of a call stages the call, and evaluates everything in Python's order."""

from __future__ import annotations

import traceback
from typing import Any

import jax
import numpy as np
import pytest

from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.staging.session.session import Session
from jaxnb.staging.session.tracebacks import tidy

SETUP = """
import jax, jax.numpy as jnp, numpy as np
x, y = jnp.arange(4.0), jnp.ones(4)
p = {'w': jnp.ones(4) * 2}
log, losses, n, table = [], [], 0, {'a': 1.0}

def loss(p, x):
    log.append(('loss', n, len(losses)))
    return jnp.mean((p['w'] * x - 1) ** 2)

def moved(x):
    global n
    n += 1
    log.append(('moved', n))
    return (x * 1.5).sum() + n

def pair(x):
    return x.sum(), x.max()

class Model:
    scale = 3.0
    def __init__(self):
        self.calls = 0
    def __call__(self, x):
        self.calls += 1
        return (x * self.scale).sum()
    def score(self, x, *, by=1.0):
        return (x * by).mean()

class Meter:
    def __init__(self):
        self.seen = []
    def update(self, value):
        self.seen.append(value)
        return self

m, meter = Model(), Meter()
step = jax.jit(lambda x: (x ** 2).sum())
tick = lambda: len(log)
"""

STATEMENTS = [
    "losses.append(float(loss(p, x)))",
    "value = float(loss(p, x))",
    "value = round(float(loss(p, x)), 3)",
    "text = f'{loss(p, x):.4f}'",
    "text = f'{n} {moved(x):.3f} {n} {moved(y)!r:>20} {n}'",
    "text = 'a %.3f %d' % (moved(x), n)",
    "text = '{} {}'.format(n, float(moved(x)))",
    "n += int(moved(x))",
    "total = n + int(moved(x)) + n",
    "total = int(moved(x)) - n * int(moved(y))",
    "table['a'] = float(loss(p, x))",
    "table.update(a=float(moved(x)), b=n)",
    "losses.extend([float(moved(x)), n, float(moved(y))])",
    "good = float(loss(p, x)) < 3",
    "good = -float(loss(p, x))",
    "low = float(loss(p, x)) if n >= 0 else float(moved(x))",
    "low = n > 100 and float(moved(x))",
    "item = m(x).item()",
    "first = np.asarray(step(x)) + 1",
    "grads = np.asarray(jax.grad(loss)(p, x)['w'])[1]",
    "meter.update(float(m(x))).update(n)",
    "score = str(m.score(x, by=2.0))",
    "a, b = float(m(x)), m.calls",
    "most = max(float(m(x)), float(m.score(y)))",
    "kept = [float(m(x)), *losses, float(m(y))]",
    "kept = {'a': float(m(x)), 'n': n}",
    "kept: float = float(m(x))",
    "one = two = float(m(x))",
    "found = float(pair(x)[0])",
    "found = int(jnp.argmax(step(x)))",
    "again = float(m(x)) + tick() + float(moved(x)) + tick()",
    "print(n, loss(p, x), moved(x), n, x.shape, sep='|')",
    "print('loss', float(loss(p, x)), end='!')",
    "float(loss(p, x))",
    "f'{moved(x):.2f} of {n}'",
    "(lambda v: v + 1)(float(moved(x)))",
]


def shown(value: Any) -> Any:
    return np.asarray(value).tolist() if isinstance(value, jax.Array | np.ndarray | np.generic) else value


def state(namespace: dict[str, Any]) -> dict[str, Any]:
    """What the names are bound to, as far as it can be compared."""
    left_out = {"__builtins__", "jax", "jnp", "np", "loss", "moved", "pair", "Model", "Meter", "step", "tick", "p"}
    names = {key: shown(value) for key, value in namespace.items() if key not in left_out}
    names["m"], names["meter"] = vars(names["m"]), vars(names["meter"])
    return names


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_call_is_staged_and_the_order_is_kept(statement: str, capsys: pytest.CaptureFixture[str]) -> None:
    session = new_session()
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, plain)
    exec(SETUP, staged)
    code = compile(statement, "<cell>", "exec", dont_inherit=True)
    for run in range(4):
        is_value = statement == STATEMENTS[-1] or statement.startswith(("float(", "f'"))
        expected = eval(statement, plain) if is_value else exec(code, plain)
        printed = capsys.readouterr().out
        report = session.stage(statement, staged, StageOptions())
        assert capsys.readouterr().out == printed
        assert shown(report.value) == pytest.approx(expected) if isinstance(expected, float) else True
        one, other = state(plain), state(staged)
        assert one.keys() == other.keys()
        for key in one:
            assert repr(one[key])[:40] == repr(other[key])[:40] or one[key] == pytest.approx(other[key]), (run, key)


def test_what_computes_is_a_program_and_what_needs_the_value_is_not() -> None:
    session, namespace = new_session(), {"__name__": "__main__"}
    exec(SETUP, namespace)
    cell = "losses.append(float(m.score(x)))\nz = x + 1"
    *_, report = [session.stage(cell, namespace, StageOptions()) for _ in range(3)]
    assert report.reused and report.pieces == 2 and [line for line, _ in report.on_host] == [1]


def test_what_each_run_changes_for_the_call_is_traced_twice_at_most() -> None:
    session, namespace = new_session(), {"__name__": "__main__"}
    exec(SETUP, namespace)
    runs = [session.stage("losses.append(float(loss(p, x)))\nz = x + 1", namespace, StageOptions()) for _ in range(5)]
    assert all(run.reused for run in runs[2:]), [run.line for run in runs]
    assert namespace["losses"] == pytest.approx(namespace["losses"][:1] * 5) and len(namespace["log"]) == 5


def test_an_error_has_the_line_and_leaves_no_name() -> None:
    session, namespace = new_session(), {"__name__": "__main__"}
    exec(SETUP, namespace)
    before = set(namespace)
    for _ in range(2):
        with pytest.raises(TypeError):
            session.stage("z = x * 2\nlosses.append(float(loss(p, x)) + 'a')", namespace, StageOptions())
        assert set(namespace) == before and namespace["losses"] == []


@pytest.mark.parametrize(
    "cell", ["float(broken(x))", "for i in range(3):\n    if x[1] > 5:\n        break\n    z = x * 2\n    broken(z)"]
)
def test_a_traceback_has_the_frames_of_the_plain_cell(cell: str) -> None:
    """A statement that is taken apart is one frame, not one for each part."""
    session, namespace = new_session(), {"__name__": "__main__"}
    exec(SETUP + "def broken(v):\n    return v @ jnp.ones((3, 3))\n", namespace)
    for _ in range(2):
        with pytest.raises(TypeError) as caught:
            session.stage(cell, namespace, StageOptions())
        tidy(caught.value)
        frames = traceback.extract_tb(caught.value.__traceback__)
        assert [frame.name for frame in frames if "test_operands" not in frame.filename] == ["<module>", "broken"]
        assert [frame.lineno for frame in frames][-2] == cell.count("\n") + 1
