"""Gradients that are not what is meant, as the text of a cell shows: what is told, and of what nothing is told."""

from __future__ import annotations

import pytest
from shells import Shell, shell

import jaxnb
from jaxnb.views import render_findings

__all__ = ["shell"]

SETUP = """
x = jnp.arange(1.0, 4.0)
y = jnp.ones(3)
params = {"a": jnp.array(1.0), "b": jnp.array(0.0)}
w = jnp.full(3, 0.5)
def mse(w, x):
    return ((w * x - 1) ** 2).mean()
def of_data_first(x, w):
    return ((w * x - 1) ** 2).mean()
"""

TOLD = {  # the cell; the line; what is said of it
    "the value taken for the gradient": (
        "grads, loss = jax.value_and_grad(mse)(w, x)\nw = w - 0.1 * grads",
        1,
        ("`grads` holds the value of `mse`, and `loss` its gradient", "`loss, grads = jax.value_and_grad"),
    ),
    "the same by a name, jitted": (
        "step = jax.jit(jax.value_and_grad(mse))\nfor _ in range(2):\n    g, value = step(w, x)\n    w = w - 0.1 * g",
        3,
        ("`g` holds the value of `mse`", "`value, g = step(w, x)`"),
    ),
    "the same beside what else there is": (
        "def both(p):\n    return p['a'] ** 2, p\ngrads, (loss, aux) = jax.value_and_grad(both, has_aux=True)(params)",
        3,
        ("`grads` holds the value of `both`, and `loss` its gradient", "`(loss, aux), grads = "),
    ),
    "a gradient by the data": (
        "for _ in range(2):\n    grads = jax.grad(of_data_first)(x, w)\n    w = w - 0.1 * grads",
        2,
        ("the gradient that updates `w` is by `x`, argument 0", "`w` is argument 1", "argnums=1"),
    ),
    "the same in one line": (
        "w -= 0.1 * jax.grad(of_data_first)(x, w)",
        1,
        ("the gradient that updates `w` is by `x`", "argnums=1"),
    ),
    "a function of what is outside": (
        "def loss(p):\n    fitted = params['a'] * x + params['b']\n    return ((fitted - y) ** 2).mean()\n"
        "g = jax.grad(loss)(params)",
        2,
        ("the gradient by `p` is zero: `p` is not used in `loss`, which reads `params` from outside", "argument `p`"),
    ),
    "the wrong one of two": (
        "def loss(scale, w):\n    return (w ** 2).sum()\ng = jax.grad(loss)(x, w)",
        1,
        ("the gradient by `scale` is zero: `scale` is not used in `loss`", "argnums="),
    ),
    "a lambda": (
        "g = jax.grad(lambda v: (w ** 2).sum())(w)",
        1,
        ("the gradient by `v` is zero: `v` is not used in the lambda, which reads `w`",),
    ),
}


@pytest.mark.parametrize("form", ["plain", "staged"])
@pytest.mark.parametrize("name", TOLD)
def test_what_is_told(shell: Shell, name: str, form: str) -> None:
    cell, line, said = TOLD[name]
    shell.run(SETUP)
    if form == "plain":
        text = " ".join(shell.run(cell).split())
        assert f"line {line} " in text, text
    else:
        shell.run(f"%%jit\n{cell}")
        found = [one for one in jaxnb.last().findings if one.kind == "gradient"]
        assert line + 1 in [one.line for one in found], found
        text = " ".join(render_findings(found, width=200).split())
    for part in said:
        assert part in text, text


QUIET = {
    "the value first": "loss, grads = jax.value_and_grad(mse)(w, x)",
    "names that say nothing": "a, b = jax.value_and_grad(mse)(w, x)",
    "the gradient and what else there is": (
        "def both(w):\n    return (w ** 2).sum(), w\ngrads, loss = jax.grad(both, has_aux=True)(w)"
    ),
    "a gradient of two": "g, loss = jax.grad(of_data_first, argnums=(0, 1))(x, w)",
    "the parameters first": "w = w - 0.1 * jax.grad(mse)(w, x)",
    "by which argument": "g = jax.grad(of_data_first, argnums=1)(x, w)\nw = w - 0.1 * g",
    "the data are changed": "g = jax.grad(of_data_first)(x, w)\nx = x + 0.1 * g",
    "a force": (
        "def energy(q, p):\n    return (q ** 2).sum() + (p ** 2).sum()\nq, p = x, y\n"
        "p = p - 0.1 * jax.grad(energy)(q, p)"
    ),
    "an argument that is not meant": "g = jax.grad(lambda _: 1.0)(2.0)",
    "an argument of a function inside": (
        "def loss(p):\n    def at(t):\n        return p['a'] * t\n    return at(x).sum()\ng = jax.grad(loss)(params)"
    ),
    "another function of the same name": (
        "def f(v):\n    return 1.0\ndef f(v):\n    return (v ** 2).sum()\ng = jax.grad(f)(w)"
    ),
}


@pytest.mark.parametrize("name", QUIET)
def test_of_what_is_right_nothing_is_told(shell: Shell, name: str) -> None:
    shell.run(SETUP)
    text = shell.run(QUIET[name])
    assert not any(word in text for word in ("! ", "gradient", "could not")), text
