"""Plain cells are looked through after they ran: what is told, of what nothing is told, and that nothing is noticed."""

from __future__ import annotations

import jax.numpy as jnp
import pytest
from shells import Shell, shell

import jaxnb
from jaxnb.findings.lints import plain_cells, plain_results, results
from jaxnb.options import StageOptions
from jaxnb.staging import Session, parse_cell
from jaxnb.views import render_findings

__all__ = ["shell"]

SETUP = """
from jax import lax
import numpy as np, time
x = jnp.arange(1.0, 4.0)
y = jnp.ones(3)
key = jax.random.key(0)
rows = jnp.ones((4, 3))
"""

TOLD = {  # the cell; what is said of it
    "nan by 0 / 0": (
        "z = jnp.zeros(3)\nw = z / z.sum()",
        ("`w` holds nan", "line 2", "0 / 0 is nan", "`div` gave nan"),
    ),
    "inf by log of 0 in a function": (
        "def loss(v):\n    return jnp.log(v - 1).sum()\nvalue = loss(x)",
        ("`value` holds inf", "log of 0 is -inf", "in `loss`"),
    ),
    "a shown value": ("jnp.sqrt(-x)", ("holds nan", "sqrt of a negative number is nan")),
    "a gradient at 0": (
        "def norm(v):\n    return jnp.sqrt((v ** 2).sum())\ng = jax.grad(norm)(jnp.zeros(3))",
        ("`g` holds nan", "the derivative of sqrt is infinite at 0", "in `norm`"),
    ),
    "a loop that grows": (
        "def turn(c, _):\n    return c * c, None\nlast, _ = lax.scan(turn, 3.0 * y, None, length=20)",
        ("`last` holds inf", "grows from turn to turn", "in iteration"),
    ),
    "nan from before": ("bad = y * jnp.nan\n", ()),
    "a key twice": (
        "def draw(key):\n    return jax.random.normal(key) + jax.random.uniform(key)\nd = draw(key)",
        ("`key`", "key: ", "in `draw`"),
    ),
    "a zero gradient": (
        "def loss(v):\n    return jnp.round(v).sum()\ng = jax.grad(loss)(x)",
        ("is zero", "round", "in `loss`"),
    ),
    "a rounding behind a mask": (
        "def loss(w, u):\n    h = jax.nn.relu(rows @ w)\n    q = jnp.round(h * 127) / 127\n    return (q * u).sum()\n"
        "g = jax.grad(loss, argnums=(0, 1))(x, 2.0)",
        ("is zero", "at `round`, whose derivative is zero", "in `loss`"),
    ),
    "a column against a vector": (
        "def mse(p):\n    return ((p - y) ** 2).mean()\nl = mse(x[:, None] * 2)",
        ("`p` (3, 1) and `y` (3,) broadcast to (3, 3)", "squeeze(-1)", "in `mse`"),
    ),
    "an index beyond the end": (
        "ids = jnp.array([0, 3])\ndef look(ids):\n    return x[ids]\nz = look(ids)",
        ("`x[ids]`: index 3 is out of bounds for axis 0 of size 3, and is clamped", "in `look`"),
    ),
    "a write beyond the end": (
        "n = 5\nz = x.at[n].set(0.0)",
        ("index 5 is out of bounds for axis 0 of size 3, and what is written there is dropped",),
    ),
    "a slice beyond the end": (
        "start = jnp.array(2)\nz = lax.dynamic_slice(x, (start,), (2,))",
        ("a slice of 2 from 2 on is beyond axis 0 of size 3, and is moved to begin at 1",),
    ),
    "a dropped update": (
        "def put(v):\n    v.at[0].set(5.0)\n    return v\nv = put(x)",
        ("the result of `v.at[…].set(…)` is dropped", "`v = v.at[0].set(5.0)`", "in `put`"),
    ),
    "a conditional of a batch": (
        "def f(v):\n    return lax.cond(v > 2, jnp.sin, jnp.cos, v)\nz = jax.vmap(f)(x)",
        ("`cond` of a whole batch", "computes both branches"),
    ),
    "a loop that is written out": (
        "@jax.jit\ndef run(v):\n    for _ in range(50):\n        v = jnp.sin(v) * 0.5 + v\n    return v\nz = run(x)",
        ("the loop of Python in `run` is unrolled 50 times", "lax.fori_loop"),
    ),
    "a default that is kept": (
        "@jax.jit\ndef f(v, seen=[]):\n    seen.append(1)\n    return v * len(seen)\nz = f(x)",
        ("`seen.append(1)` adds to a container", "once a trace", "in `f`"),
    ),
    "an attribute that counts": (
        "class Box:\n    def __init__(self):\n        self.n = 0\n        self.run = jax.jit(self._run)\n"
        "    def _run(self, v):\n        self.n += 1\n        return v / self.n\nz = Box().run(x)",
        ("`self.n += 1` counts", "once a trace", "in `_run`"),
    ),
    "print in a jitted function": (
        "@jax.jit\ndef f(v):\n    print(v)\n    return v * 2\nz = f(x)",
        ("print", "in `f`"),
    ),
}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found does not hang on what else the machine does."""
    monkeypatch.setattr(plain_cells, "_PATIENCE", 60.0)
    monkeypatch.setattr(plain_results, "PATIENCE", 60.0)


@pytest.mark.parametrize("name", TOLD)
def test_what_is_told(shell: Shell, name: str) -> None:
    cell, said = TOLD[name]
    shell.run(SETUP)
    text = " ".join(shell.run(cell).split())
    for part in said:
        assert part in text, text


@pytest.mark.parametrize("name", TOLD)
def test_staged_cells_are_told_the_same(shell: Shell, name: str) -> None:
    cell, said = TOLD[name]
    shell.run(SETUP)
    shell.run(f"%%jit\n{cell}")
    text = " ".join(render_findings(jaxnb.last().findings, width=200).split())
    for part in said:
        assert part.startswith("line ") or part in text, text


def test_a_program_that_is_not_done_at_once_is_waited_for_when_it_was_compiled(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "WAIT", 60.0)  # however much else the machine does
    shell.run("m = jnp.full((300, 300), 1e-3).at[0, 0].set(jnp.nan)")
    text = shell.run("%%jit\nr = m\nfor _ in range(9):\n    r = r @ m\ntotal = r.sum()")
    assert "holds nan" in text and "the input `m`" in text


QUIET = {
    "a mask": "m = jnp.where(x > 1, 0.0, -jnp.inf)\nw = jax.nn.softmax(m)",
    "a start of a minimum": "best = jnp.inf\nbest = jnp.minimum(best, x.min())",
    "infinity by float": "best = float('inf')",
    "an overflow that is looked for": "g = jnp.exp(x * 100)\nfine = jnp.isfinite(g).all()",
    "nan that is written": "gap = jnp.full(3, jnp.nan)",
    "all pairs that are written": "def f(p):\n    return ((p[:, None] - y) ** 2).mean()\nd = f(x)",
    "all pairs of two axes": "d = jnp.abs(x[:, None] - y[None, :]).mean()",
    "rows by their sums": "p = (rows / rows.sum(1, keepdims=True)).mean()",
    "keys that are split": "one, two = jax.random.split(key)\na = jax.random.normal(one) + jax.random.normal(two)",
    "an index from the end": "z = x[jnp.array([-1, 2])]",
    "a mode of a write": "z = x.at[jnp.array([7])].set(0.0, mode='drop')",
    "a mode of a read": "w = x.at[7].get(mode='fill', fill_value=0)",
    "a slice that is moved by NumPy's rules": "z = x[1:9]",
    "an update that is shown": "x.at[0].set(5.0)",
    "an update that is kept": "x = x.at[0].set(5.0)",
    "a conditional of a scalar": "z = lax.cond(x[0] > 2, jnp.sin, jnp.cos, x)",
    "a default that is given": (
        "@jax.jit\ndef f(v, seen=[]):\n    seen.append(1)\n    return v * len(seen)\nz = f(x, [])"
    ),
    "an attribute of an object that is made inside": (
        "class Box:\n    def __init__(self):\n        self.n = 0\n    def run(self, v):\n        self.n += 1\n"
        "        return v / self.n\nz = jax.jit(lambda v: v * 2)(Box().run(x))"
    ),
    "a part that is meant to stay": (
        "def loss(p):\n    return (lax.stop_gradient(p['a']) * p['b']).sum()\ng = jax.grad(loss)({'a': x, 'b': y})"
    ),
    "a select": "z = jax.vmap(lambda v: jnp.where(v > 2, v, 0))(x)",
    "a loop of jax": "z = lax.fori_loop(0, 50, lambda i, v: jnp.sin(v) * 0.5 + v, x)",
    "a short loop": "@jax.jit\ndef f(v):\n    for _ in range(3):\n        v = jnp.sin(v)\n    return v\nz = f(x)",
    "a class": "class Box:\n    def __init__(self):\n        self.v = x * 2\nbox = Box()",
    "magic": "%time z = x * 2",
    "a syntax of the shell": "files = !echo a\nz = x.sum()",
}


@pytest.mark.parametrize("name", QUIET)
def test_of_what_is_right_nothing_is_told(shell: Shell, name: str) -> None:
    shell.run(SETUP)
    text = shell.run(QUIET[name])
    assert not any(word in text for word in ("! ", "holds", "finding", "could not")), text


def test_nothing_of_the_user_runs_again(shell: Shell) -> None:
    shell.run(
        SETUP
        + "\ncalls = []\nclass Odd:\n    def __mul__(self, other):\n        calls.append('mul')\n        return other"
    )
    shell.run("def f(v):\n    calls.append('f')\n    return v / v.sum()\nodd = Odd()")
    shell.run(
        "@jax.jit\ndef g(v):\n    calls.append('g')\n    return v / (v - v).sum()\nz = g(x)\nw = f(x * 0)\no = odd * x"
    )
    assert shell.ns["calls"] == ["g", "f", "mul"]


def test_jax_knows_no_more_functions_than_without(shell: Shell) -> None:
    shell.run(SETUP)
    shell.run("@jax.jit\ndef g(v):\n    return v / (v - v).sum()\nz = g(x)")
    assert shell.ns["g"]._cache_size() == 1
    shell.run("z = g(x) + 1")
    assert shell.ns["g"]._cache_size() == 1


def test_a_trace_that_is_looked_at_binds_nothing_of_python_itself() -> None:
    """All of a shell hangs on the names of Python, and would be copied."""
    whole = Session().trace_whole(parse_cell("z = x * 2", filename="<a cell>"), {"x": jnp.ones(3)}, StageOptions())
    assert whole is not None and [name for name, _ in whole[1].recipe.names] == ["z"]


def test_what_a_cell_began_with_is_let_go_of(shell: Shell) -> None:
    shell.run("import weakref\nsmall = jnp.ones(3)\nseen = weakref.ref(small)")
    shell.run("del small\ngone = seen() is None")
    assert shell.ns["gone"]
    shell.run("small = jnp.ones(3)\nseen = weakref.ref(small)")
    shell.run("small = small * 2\n1 / 0", ok=False)
    assert shell.ns["seen"]() is None


def test_objects_of_the_user_are_not_kept(shell: Shell) -> None:
    shell.run(
        "log = []\nclass Odd:\n    def __call__(self): pass\n    def __del__(self): log.append('gone')\nodd = Odd()"
    )
    shell.run("odd = 1\nthen = list(log)")
    assert shell.ns["then"] == ["gone"]


def test_large_arrays_are_let_go_of(shell: Shell) -> None:
    shell.run("import weakref\nbig = jnp.ones((1024, 1024))\nseen = weakref.ref(big)")
    shell.run("big = big[:2] * 2\ngone = seen() is None")
    assert shell.ns["gone"]


def test_what_is_switched_off_says_nothing(shell: Shell) -> None:
    shell.run(SETUP)
    shell.run("%config JaxNB.findings = 'off'")
    assert "holds" not in shell.run("z = jnp.zeros(3)\nw = z / z.sum()")


LATE = "b = large\nfor _ in range(12):\n    b = b @ large\nlate = jnp.log(b[0, 0] - b[0, 0] - 1)"


@pytest.mark.parametrize("magic", ["", "%%jit\n"])
def test_what_was_still_computed_is_told_after_a_later_cell(shell: Shell, magic: str) -> None:
    shell.run("large = jnp.ones((1000, 1000)) / 1000")
    shell.run(magic + LATE)  # compiles, and is waited for
    shell.run("waited = late.block_until_ready().shape")
    text = shell.run(magic + LATE) + shell.run("other = large.shape")
    assert "nan" not in text
    text = shell.run("waited = late.block_until_ready().shape")
    assert "nans: `late` holds nan" in text and f"line {5 if magic else 4} of Cell In[" in text
    assert "nan" not in shell.run("2")


def test_of_what_is_still_computed_nothing_is_kept(shell: Shell) -> None:
    shell.run("large = jnp.ones((1000, 1000)) / 1000\nimport weakref")
    shell.run(LATE)
    shell.run("gone = weakref.ref(late)\ndel late")
    assert shell.run("print(gone())").strip() == "None"
