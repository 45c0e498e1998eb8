"""What a helper reads before the cell binds it is what it was before the cell, also where code catches a NameError."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import jaxnb
from jaxnb.staging.trace.piece import Plan

HEAD = "import contextlib, functools, jax, jax.numpy as jnp, math\nx = jnp.array([3.0, -1.0, 2.0])\n"
HELPER = "w = jnp.ones(3)\ndef h(k): return w * k\n"
SAFE = "def g(v): return v * 2\ndef safe(v):\n    try: return g(v)\n    except Exception: return v * 7\n"
CELLS = {
    "caught": (HELPER, "try: w = h(2)\nexcept Exception: w = x * 3"),
    "by its name": (HELPER, "try: w = h(2)\nexcept NameError: w = x * 3"),
    "with an else": (HELPER, "try: v = h(2)\nexcept Exception: v = x * 3\nelse: w = v + 1"),
    "suppressed": (HELPER, "r = x\nwith contextlib.suppress(Exception):\n    r = h(2)\n    w = r + 1"),
    "in a loop": (HELPER, "for n in range(3):\n    try: w = h(n + 1)\n    except Exception: w = x"),
    "a training step": (
        "params, status = jnp.ones(3), ''\ndef step(lr): return params - lr * params\n",
        "try: params = step(0.1)\nexcept Exception as error: status = f'failed: {error}'",
    ),
    "caught by the helper": (SAFE, "y = safe(x)\ndef g(v): return v * 3"),
    "a loop binds it": (SAFE, "y = safe(x)\nfor g in (abs,): z = g(x)"),
    "an import binds it": (SAFE, "y = safe(x)\nimport math as g"),
    "a walrus binds it": (SAFE, "y = safe(x)\nif (g := jnp.abs): z = g(x)"),
    "a function that the cell makes": (
        "w = jnp.ones(3)\n",
        "def own(k):\n    try: return w * k\n    except NameError: return x\ny = own(2)\nw = y + 1",
    ),
    "a function that the cell makes anew": (
        "w = jnp.ones(3)\ndef own(k): return x * k\n",
        "a = own(2)\ndef own(k):\n    try: return w * k\n    except NameError: return x\ny = own(2)\nw = y + a",
    ),
    "a method": (
        "class A:\n    def f(self, v):\n        try: return v * scale\n        except Exception: return v\n"
        "a, scale = A(), 2.0\n",
        "y = a.f(x)\nscale = 3.0",
    ),
    "by way of another": (SAFE, "y = jax.vmap(safe)(x)\ng = jnp.sin"),
    "sum": (
        "sum = lambda t: jnp.sum(t) * 10\ndef f(v): return sum(v)\n",
        "y = f(x)\nsum = lambda t: t",
    ),
    "abs": ("abs = lambda t: t * 100\ndef f(v): return abs(v)\n", "y = f(x)\nabs = lambda t: -t"),
    "max": ("max = 5\ndef f(): return x * (max if isinstance(max, int) else 0)\n", "y = f()\nmax = 6"),
    "hash": ("hash = 2\ndef f(): return x if callable(hash) else -x\n", "y = f()\nhash = 3"),
    "nothing there": ("def f(): \n    try: return cache\n    except NameError: return x\n", "y = f() + 1\ncache = y"),
}


def seen(names: dict[str, Any]) -> dict[str, Any]:
    return {
        name: np.asarray(value).tolist() if isinstance(value, jax.Array) else value
        for name, value in names.items()
        if name[0] != "_" and isinstance(value, jax.Array | int | float | str)
    }


@pytest.mark.parametrize("name", CELLS)
def test_a_helper_reads_what_was_there(name: str) -> None:
    setup, cell = CELLS[name]
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    exec(HEAD + setup, plain)
    exec(HEAD + setup, staged)
    code = compile(cell, "<cell>", "exec")
    for _ in range(3):
        exec(code, plain)
        run = jaxnb.stage(cell, staged)
        assert seen(staged) == seen(plain)
        assert run.program is not None


def test_what_is_bound_first_is_no_input() -> None:
    """A name that functions read, but only after the cell has bound it, is no part of the key."""
    setup = HEAD + "def make(): return x * 2\ndef loss(): return (w ** 2).sum()\n"
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(setup, names)
    cell = "w = make()\nvalue = loss()"
    jaxnb.stage(cell, names)
    assert jaxnb.stage(cell, names).reused
    names["w"] = "another thing"
    assert jaxnb.stage(cell, names).reused


def test_a_long_cell_is_walked_no_more_often_than_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that no function reads take no walk of what the cell reaches."""
    walks: list[int] = []
    scan = Plan.scan

    def counted(plan: Plan, *given: Any, **more: Any) -> Any:
        walks.append(len(plan.names))
        return scan(plan, *given, **more)

    monkeypatch.setattr(Plan, "scan", counted)
    found: list[int] = []
    for many in (3, 60):
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(HEAD, names)
        jaxnb.stage("a0 = x\n" + "\n".join(f"a{n + 1} = jnp.sin(a{n})" for n in range(many)), names)
        found.append(len(walks))
        walks.clear()
    assert found[0] == found[1]
