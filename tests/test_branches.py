"""What a function decides by a number that moves on: the program is for the answer, and Python gives it at each run."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from jaxnb.api import new_session
from jaxnb.options import StageOptions

SETUP = """
import jax, jax.numpy as jnp, numpy as np, math
class T:
    def __init__(self):
        self.w, self.n, self.rate, self.log = jnp.array([0.5, -1.0, 2.0]), 0, 1.0, []
t = T()
"""

CASES = {
    "every third": "def step(t):\n    t.w = jnp.sin(t.w)\n    t.n += 1\n    if t.n % 3 == 0:\n        t.w = t.w * 2",
    "warm-up": "def step(t):\n    t.w = t.w - 0.1 * min(1.0, t.n / 4) * jnp.sin(t.w)\n    t.n += 1",
    "a threshold of a float": (
        "def step(t):\n    t.rate *= 0.7\n    t.w = t.w * (t.rate if t.rate > 0.3 else 0.3)\n    assert t.rate > 0"
    ),
    "and, or, not": (
        "def step(t):\n    t.n += 1\n    if t.n > 2 and not (t.n > 5 or t.rate > 3.0):\n        t.w = t.w + 1\n"
        "    t.w = t.w * 1.5"
    ),
    "the truth of an int": "def step(t):\n    t.w = t.w + (1 if t.n else 2)\n    t.n = (t.n + 1) % 4",
    "asked within grad": (
        "def loss(w, t):\n    return (w**2).sum() if t.n < 3 else jnp.abs(w).sum()\n"
        "def step(t):\n    t.w = t.w - 0.1 * jax.grad(loss)(t.w, t)\n    t.n += 1"
    ),
    "in a loop of a function": (
        "def step(t):\n    for k in range(3):\n        t.n += 1\n        t.w = t.w * (0.5 if t.n > 7 else 0.9)"
    ),
    "in a comprehension": (
        "def step(t):\n    t.w = sum(t.w * k for k in (1, 2) if t.n >= k)  + jnp.cos(t.w)\n    t.n += 1"
    ),
    "and a list that grows": (
        "def step(t):\n    t.w = t.w * 0.9\n    t.n += 1\n    if t.n % 2 == 0:\n        t.log.append(t.w.sum())"
    ),
    "a number that is bound": "def step(t):\n    t.n += 1\n    t.best = t.n if t.n > 3 else 0\n    t.w = t.w * 2",
    "an early return": (
        "def step(t):\n    t.n += 1\n    if t.n < 4:\n        return\n    t.w = jnp.tanh(t.w)\n    t.rate *= 2.0"
    ),
}


BOUND = (
    *("jnp.asarray(t.n)", "jnp.full((2,), t.n)", "jnp.array([t.n, 1])", "i8 * t.n", "jnp.minimum(t.n, 3)"),
    *("jnp.where(i8 > 0, t.n, i8)", "bf * t.rate", "jnp.float32(t.n)", "jnp.arange(3) + t.n / 2", "jnp.sqrt(t.n)"),
    *("jnp.linspace(0, t.rate, 3)", "jnp.power(i8, 2) * t.n", "i8**t.n", "jnp.clip(i8, 0, t.n)", "[t.n, t.n > 2]"),
    *("jax.random.fold_in(jax.random.PRNGKey(0), t.n)", "jax.nn.one_hot(t.n, 4)", "max(t.n, 3) * bf"),
    "jnp.eye(3) * t.n if t.n > 4 else jnp.eye(3, dtype=jnp.int32) * t.n",
)


def compare(plain: Any, staged: Any) -> None:
    assert set(vars(plain)) == set(vars(staged))
    for key, one in vars(plain).items():
        other = vars(staged)[key]
        assert type(one) is type(other), key
        if isinstance(one, list):
            np.testing.assert_allclose(np.array(one), np.array(other), rtol=1e-5)
        elif isinstance(one, jax.Array):
            np.testing.assert_allclose(one, other, rtol=1e-5)
        else:
            assert one == other, key


def both(more: str) -> tuple[dict[str, Any], dict[str, Any]]:
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    for namespace in (plain, staged):
        exec(SETUP + more, namespace)
    return plain, staged


@pytest.mark.parametrize("name", CASES)
def test_a_step_is_staged_whatever_it_decides(name: str) -> None:
    plain, staged = both(CASES[name])
    session, runs = new_session(), []
    for _ in range(10):
        exec("step(t)", plain)
        runs.append(session.stage("step(t)", staged, StageOptions()))
        compare(plain["t"], staged["t"])
    assert not any(run.on_host for run in runs), [run.line for run in runs]
    assert sum(not run.reused for run in runs) <= 5 and runs[-1].reused


@pytest.mark.parametrize("bound", BOUND)
def test_what_is_made_of_a_number_has_the_type_that_it_has_plainly(bound: str) -> None:
    """Whatever it is: a program for an answer has no other before it with which its types could be compared."""
    plain, staged = both(
        "i8, bf = jnp.arange(3, dtype=jnp.int8), jnp.ones(3, jnp.bfloat16)\n"
        f"def step(t):\n    t.n += 1\n    t.rate *= 0.9\n    if t.n % 3 == 0: t.w = t.w + 1\n    t.made = {bound}"
    )
    session = new_session()
    for _ in range(7):
        exec("step(t)", plain)
        session.stage("step(t)", staged, StageOptions())
        for one, other in zip(jax.tree.leaves(plain["t"].made), jax.tree.leaves(staged["t"].made), strict=True):
            assert type(one) is type(other)
            if isinstance(one, jax.Array):
                assert (one.dtype, one.weak_type) == (other.dtype, other.weak_type)
                one, other = np.asarray(one, float), np.asarray(other, float)
            np.testing.assert_allclose(one, other, rtol=1e-2)


def test_other_shapes_and_other_code_have_answers_of_their_own() -> None:
    """Only programs of one key are counted: a last batch, or a function that was edited, is no answer."""
    _, staged = both("x = jnp.ones(4)")
    session = new_session()
    for factor in (1, 2, 3):
        exec(f"def step(t, x):\n    t.n += 1\n    if t.n % 2: t.last = x * {factor}", staged)
        for size in (4, 3) * 4:
            staged["x"] = staged["x"][:1].repeat(size)
            run = session.stage("step(t, x)", staged, StageOptions())
    assert not run.on_host


def test_what_was_answered_is_said() -> None:
    _, staged = both(CASES["every third"])
    session = new_session()
    runs = [session.stage("step(t)", staged, StageOptions()) for _ in range(3)]
    assert "((t.n + 1) % 3) == 0 is no longer False" in runs[-1].line


def test_an_error_that_a_number_decides_is_raised_when_it_is_its_turn() -> None:
    plain, staged = both(
        "def step(t):\n    t.n += 1\n    t.w = t.w * 2\n    if t.n > 3:\n        raise ValueError(f'too often: {t.n}')"
    )
    session = new_session()
    for run in range(6):
        errors: list[str] = []
        for call in (lambda: exec("step(t)", plain), lambda: session.stage("step(t)", staged, StageOptions())):
            try:
                call()
            except ValueError as error:
                errors.append(str(error))
        assert errors == (["too often: 4"] * 2 if run == 3 else errors) and (run < 3) == (not errors)
        if run < 3:
            compare(plain["t"], staged["t"])
        else:
            assert staged["t"].n == 3  # what failed is undone
            break


def test_of_too_many_answers_python_runs_the_statement() -> None:
    plain, staged = both(
        "def step(t):\n    t.n += 1\n    bits = [t.n // k % 2 == 1 for k in (1, 2, 4, 8, 16)]\n"
        "    for k, bit in enumerate(bits):\n        if bit:\n            t.w = t.w + k"
    )
    session = new_session()
    for _ in range(12):
        exec("step(t)", plain)
        run = session.stage("step(t)", staged, StageOptions())
        compare(plain["t"], staged["t"])
    assert run.on_host and run.reused is not False


def test_a_statement_of_the_cell_itself_is_taken_apart() -> None:
    """So that there is one program for both answers."""
    _, staged = both("")
    session = new_session()
    runs = [
        session.stage("t.w = jnp.sin(t.w)\nt.n += 1\nif t.n % 2 == 0: t.w = t.w * 2", staged, StageOptions())
        for _ in range(6)
    ]
    assert [line for line, _ in runs[-1].on_host] == [3] and all(run.reused for run in runs[4:])


@pytest.mark.parametrize(
    "say",
    [
        "print('step', t.n, t.rate)",
        "print(f'{t.n:03d} {t.rate:.3f} {t.w.sum():.2f}')",
        "log.info('step %d of %s, rate %.2f', t.n, 10, t.rate)",
        "log.info(f'step {t.n}')",
        "if t.n % 2 == 0: print(f'{t.n} {t.n / 3:.4f}')",
    ],
)
def test_numbers_that_move_on_are_said_as_they_are_then(say: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        f"{SETUP}import logging, sys\nlog = logging.getLogger('steps')\nlog.setLevel(20)\n"
        "class Out(logging.Handler):\n    def emit(self, record): print(record.getMessage())\nlog.handlers = [Out()]\n"
        f"def step(t):\n    t.w = t.w * 0.9\n    t.n += 1\n    t.rate *= 0.7\n    {say}\n"
    )
    linecache.cache["<steps>"] = (len(text), None, text.splitlines(True), "<steps>")
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    for namespace in (plain, staged):
        exec(compile(text, "<steps>", "exec"), namespace)
    session = new_session()
    for _ in range(6):
        exec("step(t)", plain)
        said = capsys.readouterr().out
        run = session.stage("step(t)", staged, StageOptions())
        assert capsys.readouterr().out == said
        compare(plain["t"], staged["t"])
    assert not run.on_host and run.reused


def test_a_trainer_settles_whatever_it_warms_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three questions, a history, a line every third step and a file: a step of flax and optax as people write it."""
    pytest.importorskip("flax")
    text = f"""{SETUP}
import flax.linen as nn, json, optax
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1)(nn.relu(nn.Dense(8)(x)))
class Trainer:
    def __init__(self):
        self.x = jnp.linspace(-1.0, 1.0, 32).reshape(8, 4)
        self.net, self.tx = Net(), optax.adam(1e-2)
        self.params = self.net.init(jax.random.key(0), self.x)
        self.state, self.ema, self.n, self.phase, self.hist = self.tx.init(self.params), self.params, 0, "warm", []
    def step(self):
        self.n += 1
        l, g = jax.value_and_grad(lambda p: jnp.mean((self.net.apply(p, self.x) - 1.0) ** 2))(self.params)
        g = jax.tree.map(lambda a: a * min(1.0, self.n / 4), g)
        u, self.state = self.tx.update(g, self.state)
        self.params = optax.apply_updates(self.params, u)
        if self.n > 4:
            self.phase = "main"
            self.ema = jax.tree.map(lambda e, p: 0.9 * e + 0.1 * p, self.ema, self.params)
        self.hist.append(l)
        if self.n % 3 == 0:
            print(f"{{self.n:04d}} {{l:.3f}}")
        return l
t = Trainer()
"""
    linecache.cache["<trainer>"] = (len(text), None, text.splitlines(True), "<trainer>")
    plain: dict[str, Any] = {"__name__": "__main__", "log": str(tmp_path / "plain")}
    staged: dict[str, Any] = {"__name__": "__main__", "log": str(tmp_path / "staged")}
    for namespace in (plain, staged):
        exec(compile(text, "<trainer>", "exec"), namespace)
    cell = "l = t.step()\nwith open(log, 'a') as file:\n    file.write(json.dumps({'n': t.n}) + chr(10))"
    session, runs = new_session(), []
    for _ in range(12):
        exec(cell, plain)
        said = capsys.readouterr().out
        runs.append(session.stage(cell, staged, StageOptions()))
        assert capsys.readouterr().out == said
        trainers = [vars(namespace["t"]) for namespace in (plain, staged)]
        leaves = [jax.tree.leaves([one[key] for key in ("params", "ema", "state", "hist")]) for one in trainers]
        for one, other in zip(*leaves, strict=True):
            assert (one.dtype, one.weak_type, one.sharding) == (other.dtype, other.weak_type, other.sharding)
            np.testing.assert_allclose(one, other, rtol=2e-4, atol=1e-5)
        assert (plain["t"].n, plain["t"].phase) == (staged["t"].n, staged["t"].phase)
    assert (tmp_path / "plain").read_text() == (tmp_path / "staged").read_text()
    assert all(run.reused and [line for line, _ in run.on_host] == [3] for run in runs[8:]), [run.line for run in runs]
