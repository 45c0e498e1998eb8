"""A concrete value was needed: the expression, the inputs, and a fix that works are named."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from findings.concretizing import CASES, Needed
from jaxnb.api import new_session
from jaxnb.findings.values import dry_run
from jaxnb.findings.values.fixes import apply_edit
from jaxnb.options import StageOptions
from jaxnb.program import Finding, finding_of
from jaxnb.shell.header import JIT_OPTIONS, parse_header
from jaxnb.staging.session.run import Run

Namespace = dict[str, Any]


def names() -> Namespace:
    return {
        "__name__": "__main__",
        "jax": jax,
        "jnp": jnp,
        "np": np,
        "math": math,
        "functools": functools,
        "x": jnp.array([0.5, 1.5, 2.5]),
        "m": jnp.arange(6.0).reshape(2, 3),
        "n": 3,
        "k": 2.0,
    }


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is: what is promised within 50 ms is tested by itself."""
    monkeypatch.setattr(dry_run, "PATIENCE", 60.0)


def stage(cell: str, namespace: Namespace, whole: bool) -> Run:
    """Stages a cell, which may have a header."""
    header, _, body = cell.partition("\n") if cell.startswith("%%jit") else ("", "", cell)
    options = parse_header(header.removeprefix("%%jit"), JIT_OPTIONS) | ({"whole": True} if whole else {})
    return new_session().stage(body, namespace, StageOptions.of(options), shown=cell, offset=bool(header))


def fail(cell: str, namespace: Namespace, whole: bool = False) -> tuple[Finding, BaseException]:
    with pytest.raises(Exception) as caught:
        stage(cell, namespace, whole)
    found = finding_of(caught.value)
    assert found is not None, repr(caught.value)
    assert found[1] == cell
    return found[0], caught.value


def results(cell: str) -> Namespace:
    """What the cell binds plainly, without jit if it does not run with it."""
    namespace = names()
    with jax.disable_jit():
        exec(cell.partition("\n")[2] if cell.startswith("%%") else cell, namespace)
    return namespace


@pytest.mark.parametrize("name", CASES)
def test_who_asks_for_what_is_said_and_the_fix_works(name: str) -> None:
    case: Needed = CASES[name]
    namespace = names()
    before = dict(namespace)
    finding, _ = fail(case.cell, namespace, case.whole)
    assert {k: v for k, v in namespace.items() if k != "__builtins__"} == before
    assert finding.kind == "concretization"
    assert finding.line == case.line
    assert finding.span is not None
    assert finding.span.line == case.line
    assert case.expression in finding.message
    assert finding.holder == case.holder
    fix = finding.fix
    assert fix is not None
    assert fix.verified == case.verified, fix
    assert case.new in (fix.edit[2] if fix.edit is not None else fix.text), fix
    if fix.verified:
        assert fix.edit is not None
        fixed = names()
        run = stage(apply_edit(case.cell, fix.edit), fixed, case.whole)
        assert run.pieces
        expected = results(case.plain or case.cell)
        for key in ("y", "ys", "u", "v", "h", "loss"):
            if key in expected:
                same(fixed[key], expected[key])


def same(one: Any, other: Any) -> None:
    one, other = jax.tree.leaves(one), jax.tree.leaves(other)
    assert len(one) == len(other)
    for mine, plain in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-5)


CAUGHT = {
    "by the cell": "try:\n    y = jax.vmap(number)(x)\nexcept TypeError:\n    y = x * 2",
    "by the cell, which asks again": (
        "try:\n    y = jax.vmap(number)(x)\nexcept TypeError:\n    y = jnp.stack([number(v) for v in x])"
    ),
    "by a function": "y = safe(x)",
    "by a function that asks again": "y = asks_again(x)",
    "by a context": "with contextlib.suppress(TypeError):\n    y = jax.vmap(number)(x)\ny = x + 1",
    "in a loop": "for v in range(2):\n    n = float(x.sum())\n    try:\n        y = jax.vmap(number)(x)\n"
    "    except TypeError:\n        y = x * n",
}
CATCHING = """
import contextlib
def number(v): return jnp.float32(float(v))
def safe(x):
    try:
        return jax.vmap(number)(x)
    except TypeError:
        return x * 3
def asks_again(x):
    try:
        return jax.vmap(number)(x)
    except TypeError:
        return jnp.stack([number(v) for v in x])
"""


@pytest.mark.parametrize("cell", CAUGHT.values(), ids=CAUGHT)
def test_an_error_under_a_transformation_that_is_caught_does_not_end_the_cell(cell: str) -> None:
    plain, staged = names(), names()
    exec(CATCHING, plain)
    exec(CATCHING, staged)
    exec(cell, plain)
    stage(cell, staged, whole=False)
    assert np.array_equal(plain["y"], staged["y"])


@pytest.mark.parametrize("around", ["", "for v in range(2):\n    n = float(x.sum())\n    "], ids=["alone", "in a loop"])
def test_one_that_is_not_caught_names_what_asks(around: str) -> None:
    finding, _ = fail(f"def number(v): return jnp.float32(float(v))\n{around}y = jax.vmap(number)(x)", names())
    assert "float(v)" in finding.message


def test_an_edit_that_makes_other_numbers_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were there a rule that is wrong for these values: what the plain cell makes is what counts."""
    cell = "f = jax.jit(lambda v: v * math.remainder(v[1], v[2]))\nr = f(x)"
    finding, _ = fail(cell, names())
    assert finding.kind == "concretization"
    assert finding.fix is not None and not finding.fix.verified and finding.fix.edit is None  # jnp.remainder is another
    finding, _ = fail(cell.replace("remainder", "hypot"), names())
    assert finding.fix is not None and finding.fix.verified
