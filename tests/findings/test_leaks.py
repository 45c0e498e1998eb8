"""Leaked tracers: every holder is named, with the line and the function; nothing is said of what did not leak."""

from __future__ import annotations

import asyncio
import sys
import types
from typing import Any

import jax
import pytest
from shells import Shell, shell

import jaxnb
from jaxnb.findings.leaks import Leaks

__all__ = ["shell"]

SETUP = """
import collections, contextvars, functools, threading, weakref
import jax, jax.numpy as jnp, numpy as np
from jax import lax
x, w = jnp.ones(3), jnp.eye(3)
kept, table, last = [], {}, None
class Box:
    shared = []
box = Box()
def keep(v):
    kept.append(v)
    return v
"""


def jitted(body: str, before: str = "") -> str:
    """A cell that defines `f(a)` and calls it under jit."""
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return f"{before}\ndef f(a):\n{lines}\n    return a.sum()\njax.jit(f)(x)"


LEAKS = {  # the cell, and who holds the tracer
    "jit": ("jax.jit(keep)(x)", "kept[0]"),
    "jit of a computed value": ("jax.jit(lambda a: keep(a * 2).sum())(x)", "kept[0]"),
    "grad": ("jax.grad(lambda a: keep(a * 2).sum())(x)", "kept[0]"),
    "value_and_grad": ("jax.value_and_grad(lambda a: keep(a @ w).sum())(x)", "kept[0]"),
    "jvp": ("jax.jvp(lambda a: keep(jnp.sin(a)), (x,), (x,))", "kept[0]"),
    "vjp": ("jax.vjp(lambda a: keep(jnp.sin(a)), x)", "kept[0]"),
    "linearize": ("jax.linearize(lambda a: keep(jnp.sin(a)), x)", "kept[0]"),
    "vmap": ("jax.vmap(lambda a: keep(a * 2))(x)", "kept[0]"),
    "grad of vmap": ("jax.grad(lambda a: jax.vmap(lambda v: keep(v * 2))(a).sum())(x)", "kept[0]"),
    "jit of grad": ("jax.jit(jax.grad(lambda a: keep(a * 2).sum()))(x)", "kept[0]"),
    "scan": ("lax.scan(lambda c, a: (c + keep(a), a), 0.0, x)", "kept[0]"),
    "fori": ("lax.fori_loop(0, 3, lambda i, a: keep(a + i), x)", "kept[0]"),
    "while": ("lax.while_loop(lambda a: a[0] < 3, lambda a: keep(a + 1), x)", "kept[0]"),
    "cond": ("lax.cond(True, lambda a: keep(a * 2), lambda a: a, x)", "kept[0]"),
    "remat": ("jax.grad(jax.checkpoint(lambda a: keep(jnp.sin(a)).sum()))(x)", "kept[0]"),
    "custom_jvp": (
        "f = jax.custom_jvp(lambda a: a * 2)\n"
        "f.defjvp(lambda p, t: (keep(p[0] * 2), t[0] * 2))\njax.jvp(jax.jit(f), (x,), (x,))",
        "kept[0]",
    ),
    "custom_vjp": (
        "f = jax.custom_vjp(lambda a: a * 2)\nf.defvjp(lambda a: (keep(a * 2), None), lambda _, g: (g,))\n"
        "jax.jit(jax.grad(lambda a: f(a).sum()))(x)",
        "kept[0]",
    ),
    "shard_map": (
        "mesh = jax.make_mesh((1,), ('i',))\n"
        "with jax.set_mesh(mesh):\n"
        "    jax.jit(jax.shard_map(lambda a: keep(a * 2), in_specs=jax.P(), out_specs=jax.P()))(x)",
        "kept[0]",
    ),
    "eval_shape": ("jax.eval_shape(keep, x)", "kept[0]"),
    "global": (jitted("global last\nlast = a * 2"), "last"),
    "dict item": (jitted("table['runs'] = [{'loss': a.sum()}]"), "table['runs'][0]['loss']"),
    "attribute": (jitted("box.loss = a.sum()"), "box.loss"),
    "class attribute": (jitted("Box.shared.append(a * 2)"), "Box.shared[0]"),
    "closure": (jitted("b = a * 2\nkeep(lambda: b)"), "b (closure of kept[0])"),
    "default argument": (jitted("def g(v=a * 2): return v\nkeep(g)"), "kept[0] (defaults)"),
    "nonlocal": (
        "def outer():\n    seen = None\n    def f(a):\n        nonlocal seen\n        seen = a * 2\n        return a\n"
        "    jax.jit(f)(x)\n    return lambda: seen\nget = outer()",
        "seen (closure of get)",
    ),
    "partial": (jitted("keep(functools.partial(jnp.add, a * 2))"), "kept[0][1]"),
    "bound method": (jitted("keep((a * 2).sum)"), "kept[0]"),
    "set of objects": (jitted("b = Box()\nb.v = a * 2\ntable['s'] = {b}"), "table['s'] (member).v"),
    "deque": (jitted("d.append(a * 2)", "d = collections.deque()"), "d[0]"),
    "object array": (jitted("o[1] = a * 2", "o = np.empty(2, object)"), "o[1]"),
    "cache": (
        jitted("table['a'] = a\nc(2)\ndel table['a']", "@functools.lru_cache\ndef c(n):\n    return table['a'] * n"),
        "c (cache)",
    ),
    "generator": (jitted("it = keep(g(a))\nnext(it)", "def g(a):\n    b = a * 2\n    yield b"), "(in kept[0])"),
    "coroutine": (
        jitted("co = keep(g(a))\nco.send(None)", "async def g(a):\n    b = a * 2\n    await pause()"),
        "(in kept[0])",
    ),
    "traceback": (
        jitted("try:\n    b = a * 2\n    raise ValueError\nexcept ValueError as e:\n    keep(e)"),
        "(in kept[0])",
    ),
    "context variable": (jitted("var.set(a * 2)", "var = contextvars.ContextVar('var')"), "var (context variable)"),
    "thread": (
        jitted(
            "t = threading.Thread(target=stop.wait, daemon=True)\nt.held = a * 2\nt.start()", "stop = threading.Event()"
        ),
        "['held']",
    ),
    "module": (jitted("import own_module\nown_module.last = a * 2"), "own_module.last"),
    "traced in an earlier cell": ("again(x)", "kept[0]"),
}

CLEAN = [
    "y = jax.jit(lambda a: a * 2)(x)",
    "g = jax.grad(lambda a: (a**2).sum())(x)",
    "y, aux = jax.value_and_grad(lambda a: ((a**2).sum(), a * 2), has_aux=True)(x)",
    "y, f = jax.vjp(jnp.sin, x)",
    "y, f = jax.linearize(jnp.sin, x)\nz = f(x)",
    "f = jax.jit(lambda a: a * 2).trace(x)",
    "f = jax.jit(lambda a: a * 2).lower(x).compile()",
    "j = jax.make_jaxpr(lambda a: a * 2)(x)",
    "y = lax.scan(lambda c, a: (c + a, a), 0.0, x)",
    "y = jax.vmap(jax.grad(jnp.sin))(x)",
    "y = jax.hessian(lambda a: (a**3).sum())(x)",
    "y = jax.checkpoint(jnp.sin)(x)",
    "f, consts = jax.closure_convert(lambda a: a * x, x)",
    "from jax.experimental.ode import odeint\ny = odeint(lambda s, t: -s, x, jnp.linspace(0, 1, 3))",
    jitted("kept.append(1)"),
    jitted("b = [a * 2]\nb.append(b)"),
    jitted("kept.append(a)\nkept.pop()"),
    jitted("kept.append(a.shape)"),
    jitted("kept.append(weakref.ref(a * 2))"),
    "try:\n    jax.jit(lambda a: 1 / 0)(x)\nexcept ZeroDivisionError:\n    pass",
    "try:\n    jax.jit(lambda a: 1 if a.sum() > 0 else 2)(x)\nexcept jax.errors.TracerBoolConversionError:\n    pass",
    "y = jax.jit(lambda a: jax.pure_callback(np.sin, a, a))(x)",
    "jax.jit(lambda a: jax.debug.callback(kept.append, a.sum()))(x)\njax.effects_barrier()",
    "x + 1\njnp.where(x > 0, x, 0)",
]


@pytest.fixture
def ns(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    @types.coroutine
    def pause() -> Any:
        yield

    monkeypatch.setitem(sys.modules, "own_module", types.ModuleType("own_module"))
    namespace: dict[str, Any] = {"__name__": "__main__", "pause": pause}
    exec(SETUP, namespace)
    exec("again = jax.jit(lambda a: keep(a * 3))", namespace)
    return namespace


@pytest.mark.parametrize("name", LEAKS)
def test_every_leak_is_found_and_its_holder_named(ns: dict[str, Any], name: str) -> None:
    cell, holder = LEAKS[name]
    with jaxnb.watch(ns) as found:
        exec(compile(cell, "<leaking cell>", "exec"), ns)
    if "stop" in ns:
        ns["stop"].set()
    if "var" in ns:
        ns["var"].set(None)
    holders = [finding.holder for finding in found.findings]
    assert holders and all(holder in text for text in holders), holders
    first = found.findings[0]
    assert first.kind == "leak" and "was left behind" in first.message
    assert first.fix is not None and first.fix.text and not first.fix.verified
    for item in ns["kept"]:
        if asyncio.iscoroutine(item):
            item.close()


@pytest.mark.parametrize("cell", CLEAN)
def test_what_did_not_leak_is_not_spoken_of(ns: dict[str, Any], cell: str) -> None:
    with jaxnb.watch(ns) as found:
        exec(compile(cell, "<clean cell>", "exec"), ns)
    assert found.findings == []


def test_the_line_and_the_function_are_said(ns: dict[str, Any]) -> None:
    def told(cell: str) -> tuple[str, str]:
        ns["kept"].clear()
        with jaxnb.watch(ns) as found:
            exec(compile(cell, "<cell>", "exec"), ns)
        (finding,) = found.findings
        return finding.origin, finding.message

    origin, message = told(
        "def step(a):\n    b = a + 1\n    kept.append(\n        b * 2)\n    return a\njax.jit(step)(x)"
    )
    assert origin == "line 4 of <cell>" and "float32[3] of `step` under jit" in message
    origin, message = told("def f(c, a):\n    kept.append(c + a)\n    return c, a\nlax.scan(f, 0.0, x)")
    assert origin == "line 2 of <cell>" and "of `f` under scan" in message
    origin, message = told("def f(a):\n    kept.append(a * 2)\n    return a\n\njax.vmap(f)(x)")
    assert origin == "line 5 of <cell>" and "of jax.vmap" in message  # where the function was called


def test_one_leak_is_told_once(ns: dict[str, Any]) -> None:
    log = Leaks()
    log.start()
    try:
        exec("jax.jit(keep)(x)", ns)
        assert len(log.check(ns)) == 1
        assert log.check(ns) == []
        exec("y = jax.jit(lambda a: a + 1)(x)", ns)
        assert log.check(ns) == []
        exec("jax.jit(lambda a: keep(a * 2))(x)", ns)
        assert [finding.holder for finding in log.check(ns)] == ["kept[1]"]
    finally:
        log.stop()


def test_results_that_ipython_remembers_come_last(shell: Shell) -> None:
    text = shell.run("seen = []\njax.jit(lambda a: seen.append(a * 2) or a)(x)\nseen")
    assert "held by seen[0]" in text and "Out[" not in text.partition("held by")[2]


def test_in_a_shell(shell: Shell) -> None:
    text = shell.run("history = []\n@jax.jit\ndef step(a):\n    history.append(a.sum())\n    return a * 2\nstep(x);")
    assert "line 4 · leak: a traced float32[] of `step` under jit was left behind" in text
    assert "held by history[0]" in text and "try: return it from the function" in text
    assert "leak" not in shell.run("step(x);")
    assert "leak" not in shell.run("y = step(x) + 1")
    text = shell.run("%jaxnb leaks")
    assert "history[0]" in text and "made at line 4 of Cell In[" in text
    shell.run("history.clear()")
    assert shell.run("%jaxnb leaks") == "no tracer is held by anything that a name leads to\n"
    shell.run("%config JaxNB.findings = 'off'")
    assert "leak" not in shell.run("jax.jit(lambda a: history.append(a) or a)(x);")
    shell.run("%config JaxNB.findings = 'warn'\nhistory.clear()")
    assert "held by history[0]" in shell.run("jax.jit(lambda a: history.append(a) or a)(x);")


def test_a_staged_cell_leaves_none(shell: Shell) -> None:
    cell = "history = [x.sum()]\nif history[0] > 1:\n    z = x * 2\nfor i in range(40):\n    z = z + i"
    for _ in range(3):
        assert "leak" not in shell.run(f"%%jit\n{cell}")


def test_nothing_is_left_of_the_watch() -> None:
    from jax._src import core

    original = core.Trace.__init__
    with jaxnb.watch({}):
        assert core.Trace.__init__ is not original
    assert core.Trace.__init__ is original
    log = Leaks()
    log.start()
    log.start()
    log.stop()
    assert core.Trace.__init__ is original
    log.stop()
    jax.jit(lambda a: a)(1.0)
