"""A NumPy array that code writes to is what it was whenever JAX was given it, as in the plain cell."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import jaxnb

SETUP = """
import jax, jax.numpy as jnp, numpy as np
x = jnp.linspace(0.0, 1.0, 8)
@jax.custom_jvp
def scaled(a, b): return a * b
scaled.defjvp(lambda p, t: (p[0] * p[1], t[0] * p[1]))
"""

TAKEN = {
    "an operand": "v * buf",
    "an array": "jnp.asarray(buf)",
    "one of several": "jnp.stack([buf, v])",
    "a view": "v * buf[::-1]",
    "an item": "v * buf[0]",
    "a number": "v * float(buf[0])",
    "an index": "v[at]",
    "a mask": "jnp.where(mask, v, 0)",
    "a mask as an index": "v[mask]",
    "of large ones": "jnp.asarray(large)[:3] * v[0]",
    "records": "v * records['q']",
    "argument of jit": "jax.jit(lambda a: a + 1)(buf)",
    "closure of jit": "jax.jit(lambda a: a * buf)(v)",
    "argument of vmap": "jax.vmap(lambda a: a * 2)(buf)",
    "closure of grad": "jax.grad(lambda a: (a * buf).sum())(v)",
    "closure of vjp": "jax.vjp(lambda a: (a * buf).sum(), v)[1](jnp.float32(1.0))[0]",
    "closure of linearize": "jax.linearize(lambda a: a * buf, v)[1](v)",
    "closure of checkpoint": "jax.checkpoint(lambda a: a * buf)(v)",
    "in a rule": "scaled(v, buf)",
    "in a loop": "jax.lax.fori_loop(0, 2, lambda i, a: a + buf, v)",
    "in a branch": "jax.lax.cond(buf[0] > 0, lambda a: a * buf, lambda a: a - buf, v)",
    "along a scan": "jax.lax.scan(lambda c, a: (c + a, c * a), 0.0, buf)[1]",
    "written into": "v.at[:].set(buf)",
    "a copy": "buf.copy()",
    "of a callback": "jax.pure_callback(lambda a: np.asarray(a) * 2, jax.ShapeDtypeStruct((8,), jnp.float32), buf)",
}

BEFORE = """\
buf, large, at = np.zeros(8, np.float32), np.zeros(5000, np.float32), np.zeros(2, int)
mask, records, out = np.zeros(8, bool), np.zeros(8, [("p", "f4"), ("q", "f4")]), []
for i in range(3):
    buf[:] = i + np.arange(8) * (i % 2)
    large[:] = i
    at[:] = i
    mask[i] = True
    records["q"] = i
    out.append({taken})
buf[:] = large[:] = 99
at[:] = 5
mask[:] = True
records["q"] = 99
"""

FORMS = {"in a function": "def f(v):\n{inner}    return out\n", "in the cell": ""}


def run(form: str, taken: str, staged: bool) -> list[Any]:
    body = BEFORE.format(taken=taken)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, names)
    if form == "in a function":
        inner = "".join(f"    {line}\n" for line in body.splitlines())
        exec(FORMS[form].format(inner=inner), names)
        cell = "out = f(x)"
    else:
        names["v"] = names["x"]
        cell = body
    found: list[Any] = []
    for change in ("", "", "x = x + 1; v = x"):
        exec(change, names)
        jaxnb.stage(cell, names) if staged else exec(cell, names)
        found.append([np.asarray(item) for item in names["out"]])
    return found


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", TAKEN)
def test_it_is_what_it_was_then(name: str, form: str) -> None:
    for plain, staged in zip(*(run(form, TAKEN[name], staged) for staged in (False, True)), strict=True):
        for one, other in zip(plain, staged, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply"])
def test_what_a_method_of_a_ufunc_writes_is_written_once(name: str) -> None:
    cell = f"def upd(v):\n    np.{name}.at(a, [0, 0, 1], 2)\n    return v * a\ny = upd(x[:4])\nz = y * 2"
    plain, staged = {"__name__": "__main__"}, {"__name__": "__main__"}
    for names in (plain, staged):
        exec(SETUP + "a = np.ones(4)", names)
    for _ in range(3):
        exec(cell, plain)
        jaxnb.stage(cell, staged)
        assert plain["a"].tolist() == staged["a"].tolist()
        np.testing.assert_allclose(plain["z"], staged["z"])


def test_a_large_constant_is_copied_once() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(
        SETUP + "def f(v):\n    w = np.ones(5000, np.float32)\n    for _ in range(5): v = v * w\n    return v\n", names
    )
    run = jaxnb.stage("y = f(jnp.ones(5000))", names)
    assert run.program is not None and sum("constant" in op.name for op in run.program.ops("stablehlo")) <= 2
    assert jax.numpy.all(names["y"] == 1)
