"""What is read otherwise than it is meant, is lost, or goes one by one: what is told, and of what nothing is told."""

from __future__ import annotations

import pytest
from shells import Shell, shell

import jaxnb
from jaxnb.findings.lints import late_results, plain_cells
from jaxnb.views import render_findings

__all__ = ["shell"]

SETUP = """
import time
import numpy as np
from collections import namedtuple
from jax import lax
State = namedtuple("State", "w step")
x = jnp.arange(1.0, 4.0)
labels = jnp.array([0, 1, 2])
many = jnp.linspace(0.0, 1.0, 80)
photos = jnp.ones((2, 4, 5, 3))
state = State(jnp.ones(3), 0)
limits = (1.0, 2.0, 3.0)
ready = True
f = jax.jit(lambda v: v * 2)
def step(state, x):
    return state._replace(w=state.w - x), x.sum()
"""
TOLD = {  # the cell; the kind; the line; what is said of it
    "a softmax twice": (
        "probs = jax.nn.softmax(x)\nloss = -jax.nn.log_softmax(probs)[0]",
        ("misread", 1, "gives probabilities", "takes logits", "the softmax of them again", "`x`"),
    ),
    "the same in functions": (
        "def model(v):\n    return jax.nn.softmax(v * 2)\ndef loss(v):\n    out = model(v)\n"
        "    return -jax.nn.log_softmax(out)[0]\ng = jax.grad(loss)(x)",
        ("misread", 2, "takes logits", "`v * 2`", "in `model`"),
    ),
    "a sigmoid twice": (
        "p = jax.nn.sigmoid(x)\nloss = -jax.nn.log_sigmoid(p).mean()",
        ("misread", 1, "the sigmoid of them again"),
    ),
    "axes by reshape": (
        "n, h, w, c = photos.shape\nfirst = photos.reshape(n, c, h, w)",
        ("misread", 2, "(2, 4, 5, 3) becomes (2, 3, 4, 5)", "no axis is moved", "`photos.transpose(0, 3, 1, 2)`"),
    ),
    "functions of a loop": (
        "fs = []\nfor k in limits:\n    fs.append(lambda v: v * k)\ny = [f(x) for f in fs]",
        ("misread", 3, "reads `k` when it is called", "those of `fs` all compute with the last `k`", "`k=k`"),
    ),
    "functions of a comprehension": (
        "y = lax.switch(0, [lambda v: v + k for k in limits], x)",
        ("misread", 1, "the last `k`"),
    ),
    "functions that are defined in a loop": (
        "fs = []\nfor k in limits:\n    def g(v):\n        return v * k\n    fs.append(jax.jit(g))\ny = fs[0](x)",
        ("misread", 3, "`g` reads `k`"),
    ),
    "and before less": (
        "n = 3\nlow = n < 10 & ready\ny = jnp.where(low, x, 0.0)",
        ("misread", 2, "is read as `n < (10 & ready)`", "& binds tighter than <", "`(n < 10) & ready`"),
    ),
    "and between two comparisons": (
        "n = 3\nlow = n > 0 & n < 10\ny = jnp.where(low, x, 0.0)",
        ("misread", 2, "`n > (0 & n) < 10`", "`(n > 0) & (n < 10)`"),
    ),
    "the other of a truth": (
        "y = jnp.where(~ready, x, 0.0)",
        ("misread", 1, "`~ready` is -2", "count as true", "`not ready`"),
    ),
    "a new state is bound to nothing": (
        "def step(state, x):\n    return state._replace(w=state.w - x), x.sum()\n"
        "for _ in range(3):\n    _, total = step(state, x)",
        (
            "dropped",
            4,
            "the new `state` that `step` gives is not kept",
            "begins with the same `state`",
            "`state, total =",
        ),
    ),
    "a sorted array is dropped": (
        "def best(v):\n    v.sort()\n    return v[-1]\ny = best(x)",
        ("dropped", 2, "it gives a new one", "`v = v.sort()`", "in `best`"),
    ),
    "a replaced field is dropped": (
        "state._replace(step=1)\ny = state.step",
        ("dropped", 1, "`state` stays as it was"),
    ),
    "a sum by Python": ("y = sum(many)", ("transfer", 1, "is Python's", "80 elements", "`jnp.sum(many)`")),
    "a list that becomes an array": (
        "y = jnp.array([f(v) for v in many])",
        ("transfer", 1, "put together of 80 arrays one by one", "jax.vmap"),
    ),
}
SILENT = {
    "logits": "loss = -jax.nn.log_softmax(x * 2)[0] - jax.nn.log_sigmoid(x).mean()",
    "probabilities that are scaled": "probs = jax.nn.softmax(x)\nloss = -jax.nn.log_softmax(4 * probs)[0]",
    "a logarithm of probabilities": "probs = jax.nn.softmax(x)\nloss = -jnp.log(probs)[0]",
    "two heads": "p = jax.nn.softmax(x)\nq = jax.nn.log_softmax(x)\nkl = (p * (jnp.log(p) - q)).sum()",
    "another shape": "n, h, w, c = photos.shape\ny = photos.reshape(n, h * w, c)\nz = y.reshape(n, h, w, c)",
    "axes that are moved": "y = photos.transpose(0, 3, 1, 2)\nz = jnp.moveaxis(photos, -1, 1)",
    "functions that are called at once": "y = [f(x) for f in (lambda v: v + k for k in limits)]",
    "a function that is used up in its turn": (
        "for k in limits:\n    fs = []\n    fs.append(lambda v: v * k)\n    y = fs[0](x)"
    ),
    "a default": "fs = [lambda v, k=k: v * k for k in limits]\ny = fs[0](x)",
    "a function of something else": "fs = []\nfor k in limits:\n    fs.append(lambda v: v * 2)\ny = fs[0](x)",
    "bits": "n = 5\nodd = n & 1 == 1\nmask = (n & 4) > 0\ny = jnp.where(odd, x, 0.0)",
    "parentheses": "low = (x > 0) & (x < 10)\ny = jnp.where(low, x, 0.0)",
    "an array inverted": "y = jnp.where(~(x > 2), x, 0.0)\nm = x > 2\nz = jnp.where(~m, x, 0.0)",
    "a traced truth inverted": "y = jax.jit(lambda on: jnp.where(~on, x, 0.0))(ready)",
    "a state that is kept": "for _ in range(3):\n    state, total = step(state, x)",
    "an evaluation": (
        "def evaluate(state, x):\n    return state, (state.w * x).sum()\n"
        "for _ in range(3):\n    _, total = evaluate(state, x)"
    ),
    "a benchmark": (
        "def step(state, x):\n    return state._replace(w=state.w - x), x.sum()\nstart = time.perf_counter()\n"
        "for _ in range(3):\n    _, total = step(state, x)\n    jax.block_until_ready(total)\n"
        "seconds = time.perf_counter() - start"
    ),
    "a list that is sorted": "names = ['b', 'a']\nnames.sort()\ny = x + 1",
    "a sum of a list": "y = sum([x.sum(), x.max()])",
    "few elements": "y = sum(x)\nz = jnp.array([f(v) for v in x])",
}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found does not hang on what else the machine does."""
    monkeypatch.setattr(plain_cells, "_PATIENCE", 60.0)


def _noticed(shell: Shell, cell: str, staged: bool) -> list[jaxnb.Finding]:
    shell.run(SETUP)
    shell.run(f"%%jit\n{cell}" if staged else cell)
    return list(vars(shell.ip)["_jaxnb_magics"].journal.noticed)


@pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")  # of Python 3.12 and later
@pytest.mark.parametrize("staged", [False, True], ids=["plain", "staged"])
@pytest.mark.parametrize("name", TOLD)
def test_what_is_told(shell: Shell, name: str, staged: bool) -> None:
    cell, (kind, line, *said) = TOLD[name]
    found = [one for one in _noticed(shell, cell, staged) if one.kind == kind]
    text = " ".join(render_findings(found, width=200).split())
    assert [one.line for one in found] == [line + staged], text
    for part in said:
        assert part in text, text


@pytest.mark.parametrize("staged", [False, True], ids=["plain", "staged"])
@pytest.mark.parametrize("name", SILENT)
def test_of_what_nothing_is_told(shell: Shell, name: str, staged: bool) -> None:
    found = _noticed(shell, SILENT[name], staged)
    assert [one.message for one in found if one.kind in ("misread", "dropped", "transfer", "gradient")] == []


def test_sizes_that_are_written_out_are_no_needless_traces(shell: Shell) -> None:
    shell.run(SETUP)
    text = shell.run("g = jax.jit(lambda v: v + 1)\nfor n in (3, 5, 7, 9):\n    y = g(jnp.ones(n))")
    assert "more than need be" not in text


def test_a_late_result_in_a_container_is_told_after_the_next_cell(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[bool] = []
    monkeypatch.setattr(late_results, "_is_done", lambda array: bool(done))
    shell.run("metrics = {'loss': jnp.zeros(3) / 0, 'step': 1}\nwhat = 'late'")
    done.append(True)
    assert "`metrics['loss']` holds nan: it was still computed" in " ".join(shell.run("1 + 1").split())
