"""What programs of other people brought up: what is caught, what is taken down, and who is called when."""

from __future__ import annotations

import traceback
import warnings
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import jax
import jax.numpy as jnp
import pytest

import jaxnb

CAUGHT = """with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    y = warns(x)
told = [str(one.message) for one in found]"""


def test_a_warning_that_is_taken_down_is_there_once_though_a_trace_was_given_up() -> None:
    def warns(v: Any) -> Any:
        warnings.warn("once", stacklevel=1)
        return v + 1 if float(v.sum()) > 3 else v

    ns: dict[str, Any] = {"jnp": jnp, "warnings": warnings, "warns": warns, "x": jnp.ones(3)}
    for _ in range(3):
        jaxnb.stage(CAUGHT, ns)
        assert ns["told"] == ["once"]


def test_what_a_cell_catches_has_the_traceback_of_the_plain_cell() -> None:
    cell = """frames = []
for v in (1.0, -1.0):
    try:
        y = checked(jnp.sqrt(v) * x)
    except ValueError as error:
        frames += [frame.name for frame in traceback.extract_tb(error.__traceback__)]"""

    def checked(v: Any) -> Any:
        if v.sum() != v.sum():
            raise ValueError("bad")
        return v

    ns: dict[str, Any] = {"jnp": jnp, "traceback": traceback, "checked": checked, "x": jnp.ones(3)}
    jaxnb.stage(cell, ns)
    assert ns["frames"] == ["<module>", "checked"]


def test_values_that_are_nested_too_deeply_are_left_to_python() -> None:
    holder = SimpleNamespace(mock=MagicMock(), twice=lambda v: v * 2)
    ns: dict[str, Any] = {"jnp": jnp, "holder": holder, "x": jnp.ones(3)}
    run = jaxnb.stage("y = holder.twice(x)\nz = jnp.sin(y)", ns)
    assert run.on_host and jnp.allclose(ns["z"], jnp.sin(2.0))


def test_functions_that_a_library_calls_when_it_compiles_read_what_names_are_then() -> None:
    lx = pytest.importorskip("lineax")
    cell = """tag = lx.positive_semidefinite_tag
op = lx.FunctionLinearOperator(lambda v: A @ v, jax.ShapeDtypeStruct((2,), jnp.float32), tag)
r = lx.linear_solve(op, b, lx.CG(1e-6, 1e-6)).value"""
    ns: dict[str, Any] = {"jax": jax, "jnp": jnp, "lx": lx, "b": jnp.array([1.0, 0.0])}
    for A in (jnp.array([[2.0, 1.0], [1.0, 3.0]]), 3 * jnp.eye(2), 2 * jnp.eye(2)):
        ns["A"] = A
        run = jaxnb.stage(cell, ns)
        assert jnp.allclose(ns["r"], jnp.linalg.solve(A, ns["b"]), atol=1e-4), run.line


class Stop(BaseException):
    """No `Exception`."""


def counting(kind: str, then: str) -> str:
    return f"""done = 0
try:
    for i in range(3):
        y = x * i
        done += 1
        if i == 1:
            raise {kind}
except {kind}:
    {then}"""


@pytest.mark.parametrize("then", ["print('stopped', done)", "done = -done", "y = y + done"])
@pytest.mark.parametrize("kind", ["KeyboardInterrupt", "SystemExit", "Stop", "GeneratorExit", "ValueError"])
def test_what_is_raised_by_the_cell_is_caught_as_plainly_whatever_it_is(
    kind: str, then: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cell, found = counting(kind, then), []
    for run in (exec, jaxnb.stage):
        ns: dict[str, Any] = {"x": jnp.arange(3.0), "Stop": Stop}
        for _ in range(2):
            run(cell, ns)
        found.append((ns["done"], ns["i"], ns["y"].tolist(), capsys.readouterr().out))
    assert found[0] == found[1]


def test_what_is_no_exception_holds_the_values_of_the_plain_cell() -> None:
    def f(n: Any) -> Any:
        if n >= 2:
            raise Stop(n)
        return x * n

    x = jnp.ones(2)
    ns: dict[str, Any] = {"f": f, "k": 0}
    for _ in range(2):
        jaxnb.stage("y = f(k)\nk += 1", ns)
    with pytest.raises(Stop) as caught:
        jaxnb.stage("y = f(k)\nk += 1", ns)
    assert caught.value.args == (2,)
    jaxnb.stage("try: r = float(x.sum())\nexcept TypeError: raise KeyboardInterrupt", ns := {"x": x})
    assert ns["r"] == 2.0


@pytest.mark.parametrize("behind", ["", "print(failed)", "said = str(y)"])
def test_a_program_whose_callback_raises_is_not_traced_again(behind: str) -> None:
    cell = (
        """try:
    y = jax.pure_callback(called, x, x).block_until_ready()
    failed = False
except Exception:
    y, failed = x, True
"""
        + behind
    )

    def called(v: Any) -> Any:
        raise ValueError("bad")

    ns: dict[str, Any] = {"jax": jax, "called": called, "x": jnp.ones(3)}
    runs = [jaxnb.stage(cell, ns) for _ in range(3)]
    assert ns["failed"] and ns["y"] is ns["x"] and [run.reused for run in runs] == [False, True, True]
