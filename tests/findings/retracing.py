"""Staged cells that are traced again, each with what is to be said about it: what JAX's documentation and the threads
of its issues describe, written anew. Jitted functions of plain cells are in `retraced_calls.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["CELLS", "SETUP", "Fixed", "Retraced"]

SETUP = """
import dataclasses, functools
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()), ("i",))
rows, whole = NamedSharding(mesh, P("i")), NamedSharding(mesh, P())
x = jnp.arange(8.0)
"""


@dataclass(frozen=True)
class Fixed:
    """The same program with the fix applied: what is None is as before.

    Attributes:
      options: of the staged cell.
      setup: what runs before.
      cell: the staged cell.
      steps: the changes, or the plain cells that call.
    """

    options: dict[str, Any] = field(default_factory=dict[str, Any])
    setup: str | None = None
    cell: str | None = None
    steps: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Retraced:
    """A program that is traced again at its last step.

    Attributes:
      setup: what runs first.
      steps: for a staged cell, the changes before each further run; for functions, the plain cells.
      cell: the staged cell.
      options: its options.
      kind: the sort of change.
      path: the holder.
      text: a fragment of the message.
      line: of the cell, or of the plain cell that calls.
      fix: a fragment of the fix; "" where there is none.
      value: an expression whose value the fixed program must share with the plain one.
      fixed: the program with the fix.
      silent: whether JAX's own explanation says nothing.
    """

    setup: str
    steps: tuple[str, ...]
    cell: str = ""
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    kind: str = ""
    path: str = ""
    text: str = ""
    line: int | None = 1
    fix: str = ""
    value: str = "y"
    fixed: Fixed | None = None
    silent: bool = False


def values(name: str, *items: Any) -> tuple[str, ...]:
    """Changes that bind a name to one value after the other."""
    return tuple(f"{name} = {item}" for item in items)


CELLS: dict[str, Retraced] = {
    "a wider batch each time": Retraced(
        "",
        values("x", "jnp.ones(9)", "jnp.ones(10)"),
        "total = (x * 2).sum()",
        kind="shape",
        path="x",
        text="x float32[9] → float32[10]",
        fix="pad axis 0 to one size, such as 16",
        value="total",
        fixed=Fixed(
            setup="x = jnp.pad(jnp.arange(8.0), [(0, 8)])",
            steps=values("x", *(f"jnp.pad(jnp.ones({n}), [(0, {16 - n})])" for n in (9, 10))),
        ),
    ),
    "the second axis of a matrix": Retraced(
        "m = jnp.ones((4, 5))",
        values("m", "jnp.ones((4, 6))", "jnp.ones((4, 7))"),
        "a = 1\ntotal = (m * 2).sum()",
        kind="shape",
        path="m",
        text="m float32[4,6] → float32[4,7]",
        line=2,
        fix="jnp.pad(m, [(0, 0), (0, 8 - m.shape[1])])",
        value="total",
        fixed=Fixed(
            setup="m = jnp.pad(jnp.ones((4, 5)), [(0, 0), (0, 3)])",
            steps=values("m", *(f"jnp.pad(jnp.ones((4, {n})), [(0, 0), (0, {8 - n})])" for n in (6, 7))),
        ),
    ),
    "one dtype after the other": Retraced(
        "params = {'w1': jnp.ones(3)}",
        values("params", "{'w1': jnp.ones(3, jnp.bfloat16)}", "{'w1': jnp.ones(3, jnp.float16)}"),
        "y = params['w1'].sum()",
        kind="dtype",
        path="params['w1']",
        text="params['w1'] bfloat16[3] → float16[3]",
        fix="params['w1'].astype(jnp.bfloat16)",
        value="float(y)",
        fixed=Fixed(
            setup="params = {'w1': jnp.ones(3, jnp.bfloat16)}",
            steps=values("params", *["{'w1': jnp.ones(3, jnp.bfloat16)}"] * 2),
        ),
    ),
    "a count of turns": Retraced(
        "n = 2",
        values("n", 3, 4),
        "y = x\nfor i in range(n):\n    y = y * 2",
        kind="number",
        path="n",
        text="n 3 → 4",
        line=2,
        fix="make it an input: --dynamic n",
        fixed=Fixed({"dynamic": "n"}),
    ),
    "the length of a slice": Retraced(
        "n = 2",
        values("n", 3, 4),
        "y = x[:n] * 2",
        kind="number",
        path="n",
        text="n 3 → 4",
        fix="--dynamic n",
        fixed=Fixed({"dynamic": "n"}),
    ),
    "a number that an option made static": Retraced(
        "rate = 0.5",
        values("rate", 0.25, 0.125),
        "y = x * rate",
        {"static": "rate"},
        kind="number",
        path="rate",
        text="rate 0.25 → 0.125",
        fix="leave rate out of --static, and make it an input: --dynamic rate",
        fixed=Fixed({"dynamic": "rate", "static": ()}),
    ),
    "a threshold that a branch tests": Retraced(
        "c = 2.0",
        values("c", 3.0, 4.0),
        "z = x + 1\ny = z if c > 1 else -z",
        kind="number",
        path="c",
        text="c 3.0 → 4.0",
        line=2,
        fix="--dynamic c",
        fixed=Fixed({"dynamic": "c"}),
    ),
    "a setting in an object": Retraced(
        "class Config:\n    depth = 0\ncfg = Config()\ncfg.depth = 1",
        values("cfg.depth", 2, 3),
        "y = x\nfor _ in range(cfg.depth):\n    y = jnp.sin(y)",
        kind="number",
        path="cfg.depth",
        text="cfg.depth 2 → 3",
        line=2,
        fix="--dynamic cfg.depth",
        fixed=Fixed({"dynamic": "cfg.depth"}),
    ),
    "a number inside a function": Retraced(
        "def make(n):\n    def power(a):\n        for _ in range(n):\n            a = a * a\n        return a\n"
        "    return power\n"
        "power = make(1)",
        values("power", "make(2)", "make(3)"),
        "y = power(x)",
        kind="number",
        path="n (closure of power)",
        text="n (closure of power) 2 → 3",
        fix="pass n (closure of power) as an argument",
        fixed=Fixed(
            {"dynamic": "n"},
            setup="n = 1",
            cell="y = jax.lax.fori_loop(0, n, lambda _, a: a * a, x)",
            steps=values("n", 2, 3),
        ),
    ),
    "Python scalars and arrays in turn": Retraced(
        "a = b = jnp.float32(1)",
        ("a = 1.0", "a, b = jnp.float32(1), 1.0"),
        "y = x * a\ny = y + b",
        kind="weak",
        path="b",
        text="b float32[] → a traced float",
        line=2,
        fix="b = jnp.asarray(b, jnp.float32)",
        fixed=Fixed(steps=("a = jnp.float32(1)", "a, b = jnp.float32(1), jnp.float32(1)")),
    ),
    "weakly typed results fed back": Retraced(
        "state = {'a': jnp.asarray(1.0), 'b': jnp.asarray(1.0)}",
        ("state['a'] = jnp.ones(())", "state['b'] = jnp.ones(())"),
        "y = x * state['a'] + state['b']",
        kind="weak",
        path="state['b']",
        text="(was weakly typed, as a Python scalar's result is)",
        fix="state['b'] = jnp.asarray(state['b'], jnp.float32)",
        fixed=Fixed(setup="state = {'a': jnp.asarray(1.0, jnp.float32), 'b': jnp.asarray(1.0, jnp.float32)}"),
    ),
    "NumPy arrays and JAX arrays in turn": Retraced(
        "a, b = np.ones(8, 'f'), np.ones(8, 'f')",
        ("a = jnp.ones(8)", "a, b = np.ones(8, 'f'), jnp.ones(8)"),
        "y = x * a - b",
        kind="kind",
        path="b",
        text="b NumPy float32[8] → float32[8]",
        fix="b = jnp.asarray(b)",
        fixed=Fixed(setup="a = b = jnp.ones(8)", steps=("a = jnp.ones(8)", "a = b = jnp.ones(8)")),
    ),
    "a helper that is edited": Retraced(
        "def helper(a): return a * 2",
        ("def helper(a): return a * 3", "def helper(a): return a * 4"),
        "y = x + 1\nz = helper(y)",
        kind="code",
        path="helper",
        text="the code of helper changed (Cell In[2])",
        line=2,
    ),
    "a jitted helper that is edited": Retraced(
        "@jax.jit\ndef helper(a): return a * 2",
        ("@jax.jit\ndef helper(a): return a * 3",),
        "y = helper(x)",
        kind="code",
        path="helper",
        text="the code of helper changed (Cell In[1])",
    ),
    "a helper of a helper": Retraced(
        "def inner(a): return a * 2\ndef outer(a): return inner(a)",
        ("def inner(a): return a * 3",),
        "y = x + 1\nz = outer(y)",
        kind="code",
        path="inner",
        text="the code of inner changed (Cell In[1])",
        line=2,
    ),
    "the options of a jitted helper": Retraced(
        "def double(a, n): return a * n\nhelper = jax.jit(double)",
        ("helper = jax.jit(double, static_argnums=1)", "helper = jax.jit(double, static_argnums=1, inline=True)"),
        "y = helper(x, 2)",
        kind="options",
        path="helper",
        text="the jit options of helper changed",
        fix="make the jitted function once",
        fixed=Fixed(steps=("", "")),
    ),
    "a text": Retraced(
        "mode = 'a'",
        values("mode", "'bb'", "'ccc'"),
        "y = x * len(mode)",
        kind="static",
        path="mode",
        text="mode 'bb' → 'ccc'",
        fix="keep mode out of it",
        fixed=Fixed(
            setup="mode = 'a'\nsize = len(mode)",
            cell="y = x * size",
            steps=tuple(f"size = {n}" for n in (2, 3)),
            options={"dynamic": "size"},
        ),
    ),
    "rows, then whole": Retraced(
        "x = jax.device_put(x, jax.devices()[0])",
        values("x", "jax.device_put(x, rows)", "jax.device_put(x, whole)"),
        "y = x * 2",
        kind="placement",
        path="x",
        text="x float32[8] on P('i',) → float32[8] on P()",
        fix="x = jax.device_put(x, sharding)",
        fixed=Fixed(setup="x = jax.device_put(x, whole)", steps=values("x", *["jax.device_put(x, whole)"] * 2)),
    ),
    "the same spec on fewer devices": Retraced(
        "few = NamedSharding(Mesh(np.array(jax.devices()[:4]), ('i',)), P('i'))\nx = jax.device_put(x, rows)",
        ("x = jax.device_put(x, few)",),
        "y = x * 2",
        kind="placement",
        path="x",
        text="over i=8 of cpu:0, cpu:1",
    ),
    "from device to device": Retraced(
        "",
        values("x", "jax.device_put(x, jax.devices()[1])", "jax.device_put(x, jax.devices()[2])"),
        "y = x * 2",
        kind="placement",
        path="x",
        text="x float32[8] on cpu:1 → float32[8] on cpu:2",
        fix="jax.device_put(x, sharding)",
        fixed=Fixed(setup="x = jax.device_put(x, jax.devices()[0])", steps=("", "")),
    ),
    "64 bits, off and on": Retraced(
        "",
        ("jax.config.update('jax_enable_x64', True)",),
        "y = x * 2",
        kind="context",
        path="jax_enable_x64",
        text="jax_enable_x64 False → True",
        line=None,
    ),
    "one precision after the other": Retraced(
        "",
        tuple(f"jax.config.update('jax_default_matmul_precision', '{name}')" for name in ("highest", "high")),
        "y = x @ x",
        kind="context",
        path="jax_default_matmul_precision",
        text="jax_default_matmul_precision 'highest' → 'high'",
        line=None,
        fix="jax.config.update('jax_default_matmul_precision', 'high')",
        fixed=Fixed(setup="jax.config.update('jax_default_matmul_precision', 'high')", steps=("", "")),
    ),
    "more shapes than programs": Retraced(
        "",
        values("x", *(f"jnp.ones({n})" for n in (1, 2, 3, 4, 8, 1))),
        "total = (x * 2).sum()",
        kind="dropped",
        path="",
        text="there was a program for this before, and only 4 are kept",
        line=None,
        fix="%config JaxNB.cache_size = 8",
        value="total",
        fixed=Fixed(options={"cache_size": 8}),
    ),
    "an array that an option made static": Retraced(
        "w = jnp.arange(3.0)",
        values("w", "jnp.arange(3.0) + 1", "jnp.arange(3.0) + 2"),
        "y = w.sum()",
        {"static": "w"},
        kind="content",
        path="w",
        text="w other content → other content",
        fix="leave w out of --static",
        fixed=Fixed({"static": ()}),
    ),
    "nothing, then a mask": Retraced(
        "mask = None",
        ("mask = x > 1",),
        "y = x if mask is None else jnp.where(mask, x, 0)",
        kind="other",
        path="mask",
        text="mask None → bool[8]",
    ),
    "two names for one array": Retraced(
        "z = x",
        ("z = x + 0",),
        "same = x is z\ny = x + z",
        kind="alias",
        path="z",
        text="z is no longer the same object as another input",
    ),
    "the nearest earlier one, not the last": Retraced(
        "w, b = jnp.ones(3), jnp.ones(1)",
        ("x, w = jnp.ones(9), jnp.ones(4)", "x, w, b = jnp.ones(8), jnp.ones(3), jnp.ones(1, jnp.bfloat16)"),
        "y = x.sum() + w.sum() + b.sum()",
        kind="dtype",
        path="b",
        text="b float32[1] → bfloat16[1]",
    ),
}
