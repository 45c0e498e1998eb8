"""Cells whose gradients are stopped or wasteful, each with what is to be said of it and a twin that is well."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["CELLS", "QUIET", "SETUP", "Stopped"]

SETUP = """
x, w, n = jnp.ones(3), jnp.arange(3.0), jnp.arange(3)
p = {"b": jnp.ones(2), "a": jnp.ones(2)}
big = jnp.ones((64, 64))
def rule(**options):
    f = jax.custom_vjp(jnp.sin)
    f.defvjp(lambda a: (jnp.sin(a) * 1.0, jnp.cos(a)), lambda r, g: (r * g,), **options)
    return f
slow, fast = rule(), rule(optimize_remat=True)
"""
GRAD = {"loss": "l", "wrt": ("x",)}


@dataclass(frozen=True)
class Stopped:
    """A cell and what is found in it.

    Attributes:
      cell: the staged cell.
      line: of the finding.
      holder: what is zero.
      said: a fragment of the message.
      fix: a fragment of the fix.
      clean: the cell as it should have been, without a finding.
      options: of the run.
    """

    cell: str
    line: int
    holder: str
    said: str
    fix: str
    clean: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])


CELLS = {
    "stop_gradient": Stopped(
        "y = lax.stop_gradient(x)\nl = (y * w).sum()",
        1,
        "x",
        "the gradient by `x` is zero: the derivative ends on line 1 at `stop_gradient`",
        "take stop_gradient away",
        "y = x * 2\nl = (y * w).sum()",
        GRAD,
    ),
    "one of two": Stopped(
        "y = x * w\nl = (w * lax.stop_gradient(x)).sum()",
        2,
        "x",
        "the derivative ends on line 2 at `stop_gradient`",
        "take stop_gradient away",
        "y = x * w\nl = (w * x).sum()",
        {"loss": "l", "wrt": ("w", "x")},
    ),
    "a cast to an integer": Stopped(
        "y = x * 2\nz = y.astype(int)\nl = z.sum() * 1.0",
        2,
        "x",
        "line 2 at a cast to int32",
        "as if it were not there",
        "y = x * 2\nz = y.astype(jnp.bfloat16)\nl = z.sum() * 1.0",
        GRAD,
    ),
    "round": Stopped(
        "y = jnp.round(x)\nl = y.sum()",
        1,
        "x",
        "line 1 at `round`, whose derivative is zero",
        "stop_gradient(jnp.round(x) - x)",
        "y = x + jax.lax.stop_gradient(jnp.round(x) - x)\nl = y.sum()",
        GRAD,
    ),
    "a number": Stopped(
        "y = jnp.floor(x[0])\nl = y * 2",
        1,
        "x",
        "line 1 at `floor`",
        "as if it were not there",
        "y = x[0]\nl = y * 2",
        GRAD,
    ),
    "a leaf of a tree": Stopped(
        "a = p['a']\nl = (a * jnp.ceil(p['b'])).sum()",
        2,
        "p['b']",
        "the gradient by `p['b']` is zero: the derivative ends on line 2 at `ceil`",
        "as if it were not there",
        "a = p['a']\nl = (a * jnp.ceil(p['b']) + p['b']).sum()",
        {"loss": "l", "wrt": ("p",)},
    ),
    "sign, in a function": Stopped(
        "f = lambda a: jnp.sign(a).sum()\ng = jax.grad(f)(x)",
        1,
        "g",
        "`g` is zero: the derivative ends on line 1 at `sign`",
        "as if it were not there",
        "f = lambda a: jnp.abs(a).sum()\ng = jax.grad(f)(x)",
    ),
    "argmax, one of two arguments": Stopped(
        "def f(a, b):\n    return (jnp.argmax(a) * b).sum()\nga, gb = jax.grad(f, (0, 1))(x, p['a'])",
        2,
        "ga",
        "`ga` is zero: the derivative ends on line 2 at `argmax`",
        "softmax",
        "def f(a, b):\n    return (jnp.max(a) * b).sum()\nga, gb = jax.grad(f, (0, 1))(x, p['a'])",
    ),
    "an accuracy for a loss": Stopped(
        "def accuracy(a):\n    return jnp.mean(a > 0.5)\nv, g = jax.value_and_grad(accuracy)(x)",
        2,
        "g",
        "the comparison `gt`",
        "sigmoid",
        "def accuracy(a):\n    return jnp.mean(jax.nn.sigmoid(a - 0.5))\nv, g = jax.value_and_grad(accuracy)(x)",
    ),
    "by a number": Stopped(
        "t = x[0]\ndef f(a):\n    b = jnp.round(a * w)\n    return (b * x).sum()\ng = jax.grad(f)(t)\nt = t - 0.1 * g",
        3,
        "",
        "the gradient of `f` is zero: the derivative ends on line 3 at `round`",
        "as if it were not there",
        "t = x[0]\ndef f(a):\n    b = a * w\n    return (b * x).sum()\ng = jax.grad(f)(t)\nt = t - 0.1 * g",
    ),
    "by a number, in a jitted function": Stopped(
        "t = jnp.array(0.7)\n@jax.jit\ndef f(a):\n    return (w > a).sum() * 1.0\nv, g = jax.value_and_grad(f)(t)",
        4,
        "",
        "the gradient of `f` is zero: the derivative ends on line 4",
        "sigmoid",
        "t = jnp.array(0.7)\n@jax.jit\ndef f(a):\n    return (w - a).sum() * 1.0\nv, g = jax.value_and_grad(f)(t)",
    ),
    "by numbers, in a jitted step": Stopped(
        "def f(p):\n    return jnp.floor(p['a'] + p['b']) * 2.0\n"
        "@jax.jit\ndef step(p):\n    return jax.tree.map(lambda v, g: 0 * v - g, p, jax.grad(f)(p))\n"
        "g = step({'a': x[0], 'b': x[1]})['a']",
        2,
        "",
        "the gradient of `f` is zero: the derivative ends on line 2 at `floor`",
        "as if it were not there",
        "def f(p):\n    return p['a'] * p['b'] * 2.0\n"
        "@jax.jit\ndef step(p):\n    return jax.tree.map(lambda v, g: v - g, p, jax.grad(f)(p))\n"
        "q = step({'a': x[0], 'b': x[1]})",
    ),
    "in a jitted function": Stopped(
        "@jax.jit\ndef f(a):\n    b = a * 2\n    return (b > 0).sum() * 1.0\ng = jax.grad(f)(x)",
        4,
        "g",
        "`g` is zero: the derivative ends on line 4",
        "sigmoid",
        "@jax.jit\ndef f(a):\n    b = a * 2\n    return b.sum() * 1.0\ng = jax.grad(f)(x)",
    ),
    "in a jitted gradient": Stopped(
        "f = lambda a: (jnp.round(a) * w).sum()\ng = jax.jit(jax.grad(f))(x)",
        1,
        "",
        "a gradient, float32[3], is zero: the derivative ends on line 1 at `round`",
        "as if it were not there",
        "f = lambda a: (a * w).sum()\ng = jax.jit(jax.grad(f))(x)",
    ),
    "in a scan": Stopped(
        "def f(a):\n    def step(c, v):\n        return c + jnp.round(v), None\n    return lax.scan(step, 0.0, a)[0]\n"
        "g = jax.grad(f)(x)",
        3,
        "g",
        "the derivative ends on line 3 at `round`",
        "as if it were not there",
        "def f(a):\n    def step(c, v):\n        return c + v, None\n    return lax.scan(step, 0.0, a)[0]\n"
        "g = jax.grad(f)(x)",
    ),
    "a step": Stopped(
        "def f(a):\n    return (lax.stop_gradient(a) * w).sum()\ng = jax.grad(f)(x)\ny = x - 0.1 * g",
        2,
        "g",
        "`g` is zero: the derivative ends on line 2 at `stop_gradient`",
        "take stop_gradient away",
        "def f(a):\n    return (lax.stop_gradient(a) * a).sum()\ng = jax.grad(f)(x)\ny = x - 0.1 * g",
    ),
    "a forward derivative": Stopped(
        "y, t = jax.jvp(jnp.round, (x,), (w,))",
        1,
        "t",
        "`t` is zero: the derivative ends on line 1 at `round`",
        "as if it were not there",
        "y, t = jax.jvp(jnp.sin, (x,), (w,))",
    ),
    "an integer": Stopped(
        "y = x * 2\ng = jax.grad(lambda m: (m * w).sum(), allow_int=True)(n)",
        2,
        "g",
        "`g` holds a derivative by an integer: its dtype is float0",
        "derivatives by floats",
        "y = x * 2\ng = jax.grad(lambda m: (m * w).sum())(n * 1.0)",
    ),
    "a rule that runs twice": Stopped(
        "@jax.checkpoint\ndef h(b):\n    return jnp.exp(slow(b) * 2).sum()\ng = jax.grad(h)(x)",
        3,
        "",
        "its forward rule runs twice",
        "optimize_remat=True",
        "@jax.checkpoint\ndef h(b):\n    return jnp.exp(fast(b) * 2).sum()\ng = jax.grad(h)(x)",
    ),
    "a rule that runs twice, of the cell": Stopped(
        "h = jax.checkpoint(lambda b: jnp.exp(slow(b) * 2).sum())\nl = h(x)",
        1,
        "",
        "its forward rule runs twice",
        "optimize_remat=True",
        "h = lambda b: jnp.exp(slow(b) * 2).sum()\nl = h(x)",
        GRAD,
    ),
    "large residuals": Stopped(
        "def f(a):\n    return jnp.exp(a).sum()\ng = jax.grad(f)(big)",
        2,
        "",
        "16.4 KB of `exp` are kept for the backward pass",
        "put `f` under jax.checkpoint",
        "@jax.checkpoint\ndef f(a):\n    return jnp.exp(a).sum()\ng = jax.grad(f)(big)",
    ),
    "large residuals of a cell": Stopped(
        "y = big * 2\nl = jnp.sin(y).sum()",
        2,
        "",
        "16.4 KB of `cos` are kept for the backward pass",
        "into a function, and that under jax.checkpoint",
        "y = big * 2\nl = jax.checkpoint(lambda a: jnp.sin(a).sum())(y)",
        {"loss": "l", "wrt": ("big",)},
    ),
}

QUIET: dict[str, tuple[str, dict[str, Any]]] = {
    "a mask": ("l = (jnp.where(x > 0, x, 0) * w).sum()", {"loss": "l", "wrt": ("x", "w")}),
    "relu, and an argument that is not used": (
        "f = lambda a, b: jax.nn.relu(a).sum()\ng = jax.grad(f, (0, 1))(x, w)",
        {},
    ),
    "a metric besides": (
        "def f(a):\n    return (a * w).sum(), jnp.mean(jnp.argmax(a) == 1)\n"
        "(l, m), g = jax.value_and_grad(f, has_aux=True)(x)",
        {},
    ),
    "a sum": ("t = x[0]\ndef f(a, b):\n    return a + jnp.round(b)\ng = jax.grad(f)(t, x[1])", {}),
    "a sum, jitted": ("t = x[0]\nf = jax.jit(lambda a, b: a + jnp.round(b))\ng = jax.grad(f)(t, x[1])", {}),
    "a derivative of a derivative": ("g = jax.grad(jax.grad(lambda a: a * jnp.sin(a)))(x[0])", {}),
    "along a direction": ("y, dy = jax.jvp(lambda a: jnp.round(a) * 2, (x[0],), (1.0,))", {}),
    "a number, whose gradient is used": ("t = x[0]\nt = t - 0.1 * jax.grad(lambda a: (a * w).sum())(t)", {}),
    "zeros": ("z = jnp.zeros(3)\ng = jax.grad(lambda a: (a * jnp.zeros(3)).sum())(x)", {}),
    "straight through": (
        "f = lambda a: (a + lax.stop_gradient(jnp.round(a) - a)).sum()\ng = jax.grad(f)(x)",
        {},
    ),
    "a target that is held": ("l = ((x - lax.stop_gradient(x * 2 + w)) ** 2).sum()", GRAD),
    "no derivative": ("y = jnp.round(x)\nz = y.astype(int)", {}),
    "a matrix product is not cheap": ("g = jax.grad(lambda a: ((a @ a) @ a).sum())(big)", {}),
    "argmax outside of it": ("i = jnp.argmax(x)\ng = jax.grad(lambda a: (a[i] * w).sum())(x)", {}),
}
