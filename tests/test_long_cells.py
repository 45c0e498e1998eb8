"""What staging does grows as the lines of a cell do, counted in calls."""

from __future__ import annotations

import contextlib
import cProfile
import io
import pstats
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb

KINDS = {
    "pieces": ("a{n} = x + {n}", "def f{n}(v): return v * {n}", "print('{n}')", "h{n} = np.arange({n}).sum()"),
    "definitions": ("def f{n}(v): return v * {n}", "a{n} = a{m} + x", "k{n} = {n}"),
    "branches": ("if x.ndim > {n}: a0 = a0 * 2", "b{n} = a0 + x", "h{n} = [{n}]", "b{n} += x"),
}


def calls(kind: str, lines: int) -> int:
    """The calls of functions of jaxnb while a cell of so many lines is staged."""
    forms = KINDS[kind]
    text = ["a0 = x", *(forms[n % len(forms)].format(n=n // len(forms) + 1, m=n // len(forms)) for n in range(lines))]
    names = {"jax": jax, "jnp": jnp, "np": np, "x": jnp.ones(2)}
    profile = cProfile.Profile()
    with contextlib.redirect_stdout(io.StringIO()):
        profile.runcall(jaxnb.stage, "\n".join(text), names)
    assert f"b{lines // len(forms)}" in names or f"a{lines // len(forms)}" in names
    stats = pstats.Stats(profile).stats
    return sum(total for (file, _, _), (_, total, *_) in stats.items() if "jaxnb" in file)


@pytest.mark.parametrize("kind", KINDS)
def test_twice_the_lines_are_twice_the_calls(kind: str) -> None:
    calls(kind, 12)  # what is read once for all
    few, many = calls(kind, 48), calls(kind, 192)
    assert many < 4.5 * few


def test_a_long_cell_becomes_several_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA compiles one program of thousands of statements slower than several that have as many together."""
    monkeypatch.setattr("jaxnb.staging.session.plan._MOST", 10)
    lines = [f"a{number} = a{number - 1} * 1.5 + x" for number in range(1, 32)]
    names: dict[str, Any] = {"jnp": jnp, "x": jnp.arange(3.0), "a0": jnp.ones(3)}
    plain = dict(names)
    exec("\n".join(lines), plain)
    for _ in range(3):
        run = jaxnb.stage("\n".join(lines), names)
        assert run.pieces == 4
        assert all(np.allclose(names[f"a{number}"], plain[f"a{number}"]) for number in range(32))
