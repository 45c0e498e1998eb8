"""Jitted functions that know old values of globals: which call, which global, what it was; and when nothing is said."""

from __future__ import annotations

import pytest
from shells import Shell, shell

__all__ = ["shell"]

SETUP = """
rate, flag, config = 0.5, True, {"t": 2.0}
x = jnp.ones(2)
def helper(v):
    return v * rate
@jax.jit
def step(v):
    return helper(v) if flag else v / config["t"]
class Model:
    def __init__(self):
        self.gain = 0.9
        self.smooth = jax.jit(self._smooth)
    def _smooth(self, v):
        return self.gain * v
model = Model()
model.smooth(x)
step(x)
"""

CHANGED = {
    "a number, bound anew in the cell": ("rate = 0.1\ny = step(x)", 2, "`rate` was 0.5", "now it is 0.1"),
    "a helper that was defined again": ("def helper(v):\n    return v\ny = step(x)", 3, "`helper` was another", ""),
    "an item of a dict": ("config['t'] = 3.0\ny = step(x)", 2, "`config['t']` was 2.0", "now it is 3.0"),
    "an attribute of a model": ("model.gain = 0.1\ny = model.smooth(x)", 2, "`self.gain` was 0.9", "now it is 0.1"),
}


@pytest.mark.parametrize("header", ["", "%%jit\n"])
@pytest.mark.parametrize("name", CHANGED)
def test_what_a_call_still_computes_with_is_told(shell: Shell, name: str, header: str) -> None:
    cell, line, was, now = CHANGED[name]
    shell.run(SETUP)
    text = shell.run(f"{header}{cell}")
    assert was in text and now in text and "still computes with that old value" in text, text
    assert f"line {line + bool(header)}" in text
    assert "still computes" not in shell.run(f"{header}{cell.splitlines()[-1]}")  # it is told once


def test_what_was_changed_by_an_earlier_cell_is_told_at_the_call(shell: Shell) -> None:
    shell.run(SETUP)
    assert "still computes" not in shell.run("rate = 0.1")
    assert "`rate` was 0.5" in shell.run("y = step(x)")


QUIET = {
    "changed below the call": "y = step(x)\nrate = 0.1",
    "traced anew for another shape": "rate = 0.1\ny = step(jnp.ones(3))",
    "traced anew after clear_cache": "rate = 0.1\nstep.clear_cache()\ny = step(x)",
    "bound to the same": "rate = 0.5\ny = step(x)",
    "not called": "rate = 0.1\ny = x * rate",
}


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_said_where_nothing_is_stale(shell: Shell, name: str) -> None:
    shell.run(SETUP)
    assert "still computes" not in shell.run(QUIET[name])
