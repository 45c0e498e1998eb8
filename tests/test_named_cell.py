"""`--name f`: the cell as a pure function of its inputs."""

from __future__ import annotations

import inspect
import linecache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shells import Shell, shell

import jaxnb
from jaxnb import Refused

__all__ = ["shell"]

SETUP = """
import jax, jax.numpy as jnp, numpy as np
x, w, b, n = jnp.arange(6.0).reshape(2, 3), jnp.ones((3, 2)), jnp.zeros(2), 3
params, history, scale, config = {"w": w, "b": b}, [], jnp.float32(3), {"k": 2}

def helper(v):
    return v * scale * config["k"]
"""
MODEL = "h = helper(x @ params['w']) + params['b']\nloss = jnp.mean(h**2)\nloss"


@pytest.fixture
def ns():
    linecache.cache["<named>"] = (len(SETUP), None, SETUP.splitlines(keepends=True), "<named>")
    namespace = {"__name__": "__main__"}
    exec(compile(SETUP, "<named>", "exec", dont_inherit=True), namespace)
    return namespace


@pytest.mark.parametrize(
    ("cell", "parameters", "returned"),
    [
        ("y = x @ w + b\ny.sum()", ["x", "w", "b"], None),
        ("y = w.T\nz = y @ x.T", ["w", "x"], ["y", "z"]),
        ("w = w - 0.1 * x.T", ["w", "x"], ["w"]),
        (MODEL, ["x", "params", "scale"], None),
        (MODEL + ";", ["x", "params", "scale"], ["h", "loss"]),
        ("y = x * n\ndef g(v):\n    return v * y\ng(x)", ["x", "n"], None),
        ("y = x @ w\nif y.sum() > 0:\n    z = y\nelse:\n    z = -y", ["x", "w"], ["y", "z"]),
    ],
)
def test_a_cell_is_a_function_of_what_it_reads_first(ns, cell, parameters, returned):
    entry = dict(ns)
    run = jaxnb.stage(cell, ns, name="f")
    f = ns["f"]
    assert list(inspect.signature(f).parameters) == parameters
    assert all(p.default is inspect.Parameter.empty for p in inspect.signature(f).parameters.values())
    assert f"as f({', '.join(parameters)})" in run.line and run.outputs["f"] is f
    found = f(*(entry[name] for name in parameters))
    again = f(**{name: entry[name] for name in reversed(parameters)})
    expected = {name: ns[name] for name in returned} if returned else run.value
    for value in (found, again):
        assert jax.tree.structure(value) == jax.tree.structure(expected)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), value, expected)
    assert {name: ns[name] for name in entry if name not in run.outputs} == {
        name: value for name, value in entry.items() if name not in run.outputs
    }


def test_it_composes(ns):
    loss = jaxnb.stage(MODEL, ns, name="step").value
    f, x, params, scale = (ns[name] for name in ("step", "x", "params", "scale"))

    def by_hand(x, params, scale):
        return jnp.mean((x @ params["w"] * scale * 2 + params["b"]) ** 2)

    np.testing.assert_allclose(jax.jit(f)(x, params, scale), loss, rtol=1e-6)
    grads = jax.grad(f, argnums=1)(x, params, scale)
    jax.tree.map(np.testing.assert_allclose, grads, jax.grad(by_hand, argnums=1)(x, params, scale))
    rows = jax.vmap(f, (0, None, None))(x, params, scale)
    np.testing.assert_allclose(rows, jax.vmap(by_hand, (0, None, None))(x, params, scale), rtol=1e-6)
    named = jaxnb.xmap(lambda row: f(row, params, scale), in_axes=["rows", ...], out_axes=["rows"])(x)
    np.testing.assert_allclose(named, rows, rtol=1e-6)
    other = jaxnb.stage("total = step(x + 1, params, scale) + step(x, params, scale)", ns)
    np.testing.assert_allclose(ns["total"], by_hand(x + 1, params, scale) + loss, rtol=1e-6)
    assert other.pieces == 1 and not other.host_lines
    assert jaxnb.stage("total = step(x + 1, params, scale) + step(x, params, scale)", ns).reused


def test_new_values_count_and_the_function_stays(ns):
    jaxnb.stage(MODEL, ns, name="f")
    f, before = ns["f"], ns["f"](ns["x"], ns["params"], ns["scale"])
    ns["scale"] = jnp.float32(6)
    run = jaxnb.stage(MODEL, ns, name="f")
    assert run.reused and ns["f"] is f and run.outputs["f"] is f
    np.testing.assert_allclose(f(ns["x"], ns["params"], ns["scale"]), 4 * before, rtol=1e-6)
    ns["config"] = {"k": 4}
    run = jaxnb.stage(MODEL, ns, name="f")
    assert not run.reused and ns["f"] is not f
    np.testing.assert_allclose(ns["f"](ns["x"], ns["params"], ns["scale"]), run.value, rtol=1e-6)


@pytest.mark.parametrize(
    ("cell", "name", "said"),
    [
        ("history.append(x.sum())", "f", "changes objects in place"),
        ("params['w'] = w * 2", "f", "changes objects in place"),
        ("y = x @ w\nprint(y.sum())", "f", "line 2, print() acts on the outside"),
        ("z = x * 2\ny = x + np.random.normal()", "f", "line 2, np.random.normal draws from a random state"),
        ("del b\ny = x", "f", "deletes `b`"),
        ("y = x @ w", "y", "the cell itself uses `y`"),
        ("y = x @ w", "x", "the cell itself uses `x`"),
        ("y = x @ w", "not ok", "is not a name"),
        ("y = x @ w", "class", "is not a name"),
        ("k = 1", "f", "no statement at the top of the cell was compiled"),
    ],
)
def test_refused_with_the_reason(ns, cell, name, said):
    entry = dict(ns)
    with pytest.raises(Refused) as caught:
        jaxnb.stage(cell, ns, name=name)
    assert said in str(caught.value)
    assert {key: value for key, value in ns.items() if key != "__builtins__"} == {
        key: value for key, value in entry.items() if key != "__builtins__"
    }
    assert ns["history"] == [] and list(ns["params"]) == ["w", "b"]


def test_in_a_shell(shell: Shell) -> None:
    text = shell.run("%%jit --name predict\ny = jnp.tanh(x @ w)\ny")
    assert "as predict(x, w)" in text
    assert "Array" in shell.run("predict(x * 2, w)\npredict(x=x, w=w)")
    text = shell.run("%%jit --name\ny = x", ok=False)
    assert "--name wants a name" in text and "^^^^^^" in text
    assert "Refused" in shell.run("%%jit --name y\ny = x @ w", ok=False)
