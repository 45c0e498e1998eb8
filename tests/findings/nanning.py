"""Cells whose results hold nan or inf, each with what is to be said of it and a twin that has none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["CELLS", "QUIET", "Nan"]


@dataclass(frozen=True)
class Nan:
    """A cell and what is found in it.

    Attributes:
      setup: what runs first.
      cell: the staged cell.
      line: on which the nan or inf was made; the cell has no magic line.
      said: fragments of the message.
      clean: the cell as it should have been, without a finding.
      fix: a fragment of the fix, or of the line that it proposes.
      tried: whether the fix was tried.
      options: of the run.
    """

    setup: str
    cell: str
    line: int | None
    said: tuple[str, ...]
    clean: str
    fix: str = ""
    tried: bool = False
    options: dict[str, Any] = field(default_factory=dict[str, Any])


GRAD = {"loss": "l", "wrt": ("x",)}

CELLS = {
    "log of 0": Nan(
        "x = jnp.array([0.0, 1.0])",
        "y = x + 1\nz = jnp.log(x)\nl = z.sum()",
        2,
        ("`z` holds inf", "forward pass `log` gave inf of 0 at [0]", "float32[2] from 0 to 1, mean 0.5"),
        "y = x + 1\nz = jnp.log(y)\nl = z.sum()",
        "z = jnp.log(jnp.maximum(x, 1e-30))",
        True,
    ),
    "log of a negative number": Nan(
        "x = jnp.array([[1.0, -2.0]])",
        "z = jnp.log(x)",
        1,
        ("`z` holds nan", "`log` gave nan of -2 at [0, 1]"),
        "z = jnp.log(jnp.abs(x))",
        "log of a negative number is nan",
    ),
    "0/0": Nan(
        "x = jnp.array([0.0, 2.0])\nd = jnp.array([0.0, 1.0])",
        "a = x * 2\ny = a / d",
        2,
        ("`div` gave nan of 0 and 0 at [0]",),
        "a = x * 2\ny = a / (d + 1)",
        "jnp.where(d == 0, 1, d)",
        True,
    ),
    "1/0": Nan(
        "d = jnp.array([4.0, 0.0])",
        "y = 1 / d",
        1,
        ("`y` holds inf", "`div` gave inf of 1 and 0 at [1]"),
        "y = 1 / (d + 1)",
        "jnp.where(d == 0, 1, d)",
        True,
    ),
    "softmax by hand": Nan(
        "x = jnp.array([100.0, 1.0])",
        "e = jnp.exp(x)\ns = e.sum()\np = e / s",
        1,
        ("`exp` gave inf of 100 at [0]",),
        "e = jnp.exp(x - x.max())\ns = e.sum()\np = e / s",
        "softmax",
    ),
    "logsumexp by hand": Nan(
        "x = jnp.array([300.0, 2.0])",
        "y = jnp.log(jnp.sum(jnp.exp(x)))",
        1,
        ("`exp` gave inf of 300",),
        "y = jax.nn.logsumexp(x)",
        "y = jax.nn.logsumexp(x)",
        True,
    ),
    "softplus by hand": Nan(
        "x = jnp.array([300.0, 2.0])",
        "h = x * 1\ny = jnp.log(1 + jnp.exp(h)) * 2",
        2,
        ("`exp` gave inf of 300",),
        "h = x * 1\ny = jax.nn.softplus(h) * 2",
        "y = jnp.logaddexp(h, 0) * 2",
        True,
    ),
    "sqrt of a negative number": Nan(
        "x = jnp.array([1.0, 2.0])",
        "m = x.mean()\nsd = jnp.sqrt((x**2).mean() - 2 * m**2)",
        2,
        ("`sd` holds nan", "`sqrt` gave nan of -2"),
        "m = x.mean()\nsd = jnp.sqrt((x**2).mean() - m**2)",
        "sqrt of a negative number",
    ),
    "the gradient of sqrt at 0": Nan(
        "x = jnp.array([0.0, 1.0])",
        "l = jnp.sqrt(x).sum()",
        1,
        ("`d_x` holds inf", "in the backward pass `div` gave inf of 0.5 and 0 at [0]"),
        "l = jnp.sqrt(x + 1).sum()",
        "l = jnp.sqrt(jnp.maximum(x, 1e-30)).sum()",
        True,
        GRAD,
    ),
    "the gradient of a norm at 0": Nan(
        "x = jnp.zeros(3)",
        "l = jnp.linalg.norm(x)",
        1,
        ("`d_x` holds nan", "in the backward pass `div` gave inf", "`mul` on line 1 made nan"),
        "l = jnp.linalg.norm(x + 1)",
        "the derivative of sqrt, of a norm",
        False,
        GRAD,
    ),
    "both sides of where": Nan(
        "x = jnp.array([0.0, 1.0])",
        "y = x * 3\nl = jnp.where(y > 0, jnp.log(y), 0.0).sum()",
        2,
        ("`d_x` holds nan", "in the backward pass `div` gave nan of 0 and 0"),
        "y = x * 3\nl = jnp.where(y > 0, jnp.log(jnp.where(y > 0, y, 1)), 0.0).sum()",
        "jnp.where(y > 0, jnp.log(jnp.where(y > 0, y, 1)), 0.0)",
        True,
        GRAD,
    ),
    "the other side of where": Nan(
        "x = jnp.array([0.0, 1.0])",
        "l = jnp.where(x == 0, 0.0, x / x).sum()",
        1,
        ("in the backward pass",),
        "l = jnp.where(x == 0, 0.0, x * x).sum()",
        "jnp.where(x == 0, 1, x)",
        True,
        GRAD,
    ),
    "float16": Nan(
        "x = jnp.array([300.0, 2.0], jnp.float16)",
        "y = x + 0\nz = y * y",
        2,
        ("`mul` gave inf of 300 and 300", "float16[2] from 2 to 300"),
        "y = x.astype(jnp.float32)\nz = y * y",
        "float16 ends at 65504",
    ),
    "a cast to float16": Nan(
        "x = jnp.array([1e5, 2.0])",
        "y = x.astype(jnp.float16)",
        1,
        ("`convert_element_type` gave inf of 1e+05",),
        "y = x.astype(jnp.bfloat16)",
        "float16 ends at 65504",
    ),
    "an iteration of a scan": Nan(
        "xs = jnp.ones(20)",
        "def f(c, v):\n    c = c - v\n    return c, jnp.log(c)\nc, ys = lax.scan(f, jnp.float32(5), xs)",
        3,
        ("`ys` holds nan", "`log` gave nan of -1", "in iteration 5 (from 0) of a loop of 20"),
        "def f(c, v):\n    c = c + v\n    return c, jnp.log(c)\nc, ys = lax.scan(f, jnp.float32(5), xs)",
        "log of a negative number",
    ),
    "nan of an inf of an iteration before": Nan(
        "xs = jnp.ones(20)",
        "def f(c, v):\n    c, old = c * 1e10, c\n    return c, old - old\n"
        "_, ys = lax.scan(f, jnp.float32(1), xs)\nd = ys.sum()",
        2,
        ("`mul` gave inf of 1e+30 and 1e+10 in iteration 3 (from 0) of a loop of 20",),
        "def f(c, v):\n    c, old = c * 0.5, c\n    return c, old - old\n"
        "_, ys = lax.scan(f, jnp.float32(1), xs)\nd = ys.sum()",
        "larger than its dtype holds",
    ),
    "backward through a scan": Nan(
        "x = jnp.ones((5, 2)).at[3, 1].set(0)",
        "def f(c, v):\n    return c + jnp.sqrt(v).sum(), None\nl, _ = lax.scan(f, 0.0, x)",
        2,
        ("`d_x` holds inf", "in the backward pass `div` gave inf of 0.5 and 0 at [1]", "iteration 3 (from 0)"),
        "def f(c, v):\n    return c + jnp.sqrt(v + 1).sum(), None\nl, _ = lax.scan(f, 0.0, x)",
        "jnp.maximum(v, 1e-30)",
        True,
        GRAD,
    ),
    "a while loop": Nan(
        "x = jnp.ones(3)",
        "y = x * 2\n_, z = lax.while_loop(lambda c: c[0] < 300, lambda c: (c[0] + 1, c[1] * 3), (0, y))",
        2,
        ("`z` holds inf", "`mul` gave inf", "in iteration 80 (from 0) of a loop"),
        "y = x * 2\n_, z = lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] + 1, c[1] * 3), (0, y))",
        "larger than its dtype holds",
    ),
    "a loop in a loop": Nan(
        "x = jnp.ones(4)",
        "def inner(i, c):\n    return jnp.sqrt(c - 0.5)\ndef outer(i, c):\n    return lax.fori_loop(0, 3, inner, c)\n"
        "y = lax.fori_loop(0, 2, outer, x)",
        2,
        (
            "`sqrt` gave nan",
            "in iteration 0 (from 0) of a loop of 2 inside of it in iteration 2 (from 0) of a loop of 3",
        ),
        "def inner(i, c):\n    return jnp.sqrt(c + 0.5)\ndef outer(i, c):\n    return lax.fori_loop(0, 3, inner, c)\n"
        "y = lax.fori_loop(0, 2, outer, x)",
        "sqrt of a negative number",
    ),
    "the branch that was taken": Nan(
        "x = jnp.array([0.0, 2.0])",
        "y = lax.cond(x[0] > 1, jnp.sin, lambda a: 1 / a, x)",
        1,
        ("`div` gave inf of 1 and 0 at [0]",),
        "y = lax.cond(x[0] < 1, jnp.sin, lambda a: 1 / a, x)",
        "jnp.where(a == 0, 1, a)",
        True,
    ),
    "in a checkpoint": Nan(
        "x = jnp.array([0.0, 2.0])",
        "@jax.checkpoint\ndef f(a):\n    return jnp.sqrt(a).sum()\nl = f(x)",
        3,
        ("in the backward pass `div` gave inf",),
        "@jax.checkpoint\ndef f(a):\n    return jnp.sqrt(a + 1).sum()\nl = f(x)",
        "jnp.maximum(a, 1e-30)",
        True,
        GRAD,
    ),
    "in a jitted function with a custom derivative": Nan(
        "x = jnp.array([-1.0, 2.0])",
        "y = jax.nn.relu(x)\nz = jax.jit(lambda a: jnp.log(a) * a)(y)",
        2,
        ("`log` gave inf of 0 at [0]", "`mul` on line 2 made nan"),
        "y = jax.nn.relu(x)\nz = jax.jit(lambda a: jnp.log1p(a) * a)(y)",
        "jnp.maximum(a, 1e-30)",
        True,
    ),
    "a row that is masked as a whole": Nan(
        "x = jnp.ones((2, 2))\nm = jnp.array([[True, False], [False, False]])",
        "s = jnp.where(m, x, -jnp.inf)\np = jax.nn.softmax(s)",
        2,
        ("`p` holds nan", "`sub` gave nan", "3 inf"),
        "s = jnp.where(m, x, -1e9)\np = jax.nn.softmax(s)",
        "inf - inf",
    ),
    "an input that held one": Nan(
        "x = jnp.array([1.0, jnp.nan])",
        "y = jax.nn.relu(x) * 2",
        None,
        ("`y` holds nan, and so did the input `x`",),
        "y = jax.nn.relu(jnp.nan_to_num(x)) * 2",
    ),
}

QUIET = {
    "a mask": ("x = jnp.ones(3)", "y = jnp.where(x > 2, x, -jnp.inf)\nz = jnp.full(3, jnp.nan)"),
    "a best value that is not there yet": (
        "x = jnp.ones(3)",
        "best = jnp.minimum(jnp.inf, jnp.full(2, jnp.inf)) + x[0]",
    ),
    "masked before it counts": ("x = jnp.array([0.0, 1.0])", "y = jnp.where(x > 0, jnp.log(x), 0.0)"),
    "attention with a mask": (
        "q = jnp.ones((4, 2))",
        "s = jnp.where(jnp.tril(jnp.ones((4, 4), bool)), q @ q.T, -jnp.inf)\np = jax.nn.softmax(s)\ny = p @ q",
    ),
    "integers": ("x = jnp.arange(3)", "y = x // 2\nz = x.sum()"),
    "keys": ("k = jax.random.key(0)", "a, b = jax.random.split(k)\ny = jax.random.normal(a, (3,))"),
}
