"""The first run of a cell is traced no more often than it must be, and does not pay for what cannot help it."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb
from jaxnb.staging.trace import stage
from jaxnb.staging.trace.ran import Ran

SETUP = """
import jax.numpy as jnp
decay, rate, shift, x = 0.9, 0.1, 0.5, jnp.ones(3)
def step(x):
    x = (1 - decay) * x + shift
    if rate:
        x = x - rate
    return x
def late(x):
    if rate:
        x = x - rate
    return (1 - decay) * x
def either(x):
    unused = (1 - decay) * 2
    if rate:
        unused = 0
    return x * decay - rate
"""


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Filled with the inputs of each trace."""
    found: list[Any] = []
    original = stage._run_trace  # pyright: ignore[reportPrivateUsage]

    def noted(trace: Any, *args: Any) -> Any:
        found.append(trace.scan.leaves)
        return original(trace, *args)

    monkeypatch.setattr(stage, "_run_trace", noted)
    return found


def home() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, names)
    return names


@pytest.mark.parametrize(("function", "count"), [("step", 2), ("late", 3), ("either", 2)])
def test_scalars_that_are_needed_are_found_together(function: str, count: int, traces: list[Any]) -> None:
    plain, staged = home(), home()
    exec(f"y = {function}(x)", plain)
    run = jaxnb.stage(f"y = {function}(x)", staged)
    np.testing.assert_allclose(plain["y"], staged["y"], rtol=1e-6)
    assert [finding.message for finding in run.findings if finding.kind == "static"] == ["decay, rate"]
    assert len(traces) == count and (function != "step" or 0.5 in traces[-1])
    staged["decay"], staged["rate"] = 0.4, 0.0
    plain["decay"], plain["rate"] = 0.4, 0.0
    exec(f"y = {function}(x)", plain)
    jaxnb.stage(f"y = {function}(x)", staged)
    np.testing.assert_allclose(plain["y"], staged["y"], rtol=1e-6)


def test_what_runs_is_noted_where_that_can_make_a_walk_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    entered: list[Ran] = []

    class Noted(Ran):
        def __enter__(self) -> Ran:
            entered.append(self)
            return super().__enter__()

    monkeypatch.setattr(stage, "Ran", Noted)
    monkeypatch.setattr(stage, "LARGE", 50)
    model = {f"w{n}": jnp.full(2, float(n)) for n in range(100)}
    names: dict[str, Any] = {"__name__": "__main__", "model": model, "jax": jax, "jnp": jnp}
    jaxnb.stage("y = jax.tree.map(jnp.sin, model)", names)
    assert not entered  # all of it is read
    exec(
        "def other():\n    return jax.tree.map(jnp.sin, model)\ndef choose(x, f=None):\n    return f() if f else x",
        names,
    )
    names["x"] = jnp.ones(2)
    jaxnb.stage("z = choose(x, other if x.ndim > 1 else None)", names)
    assert entered
    np.testing.assert_array_equal(names["z"], np.ones(2))
