"""Leaked tracers: every holder is named, with the line and the function; nothing is said of what did not leak."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import linecache
import logging
import sys
import threading
import types
import weakref
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shells import Shell, shell

import jaxnb
from findings.clean import CLEAN
from findings.leaking import LEAKS, SETUP
from jaxnb.findings.leaking.leaks import Leaks, explain_tracer, is_dead
from jaxnb.program import Finding
from jaxnb.staging.objects import referrers
from jaxnb.staging.objects.paths import render_path

__all__ = ["shell"]


def run(text: str, ns: dict[str, Any], file: str = "<cell>") -> None:
    """Runs a cell whose lines can be looked up, as IPython's can."""
    text = text.strip("\n")
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), ns)


def watched(cell: str, ns: dict[str, Any]) -> list[Finding]:
    """What is found after a cell."""
    log = Leaks()
    log.start()
    try:
        run(cell, ns)
        return log.check(ns, "<cell>")
    finally:
        log.stop()


@pytest.fixture
def ns(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    @types.coroutine
    def pause() -> Any:
        yield

    monkeypatch.setitem(sys.modules, "own_module", types.ModuleType("own_module"))
    namespace: dict[str, Any] = {"__name__": "__main__", "pause": pause}
    exec(SETUP, namespace)
    yield namespace
    for name in ("stop", "go_on"):
        if isinstance(namespace.get(name), threading.Event):
            namespace[name].set()
    if isinstance(namespace.get("thread"), threading.Thread):
        namespace["thread"].join()
    for item in namespace["kept"]:
        if asyncio.iscoroutine(item):
            item.close()
    for var in list(contextvars.copy_context()):
        if var.name in ("current", "loss"):
            var.set(None)
    logging.getLogger("training").handlers.clear()
    vars(np).pop("last_loss", None)
    sys.__dict__.pop("last_value", None)
    sys.__dict__.pop("last_traceback", None)


def test_the_corpora_are_large() -> None:
    assert len(LEAKS) >= 60 and len(CLEAN) >= 60


@pytest.mark.parametrize("name", LEAKS)
def test_every_leak_is_found_once_with_its_holder_its_origin_and_a_fix(ns: dict[str, Any], name: str) -> None:
    leak = LEAKS[name]
    run(leak.earlier, ns, "<earlier>")
    (finding,) = watched(leak.cell, ns)
    assert finding.kind == "leak"
    assert finding.holder == leak.holder
    assert finding.line == leak.line
    assert finding.origin == leak.origin
    assert f" {leak.of} was left behind" in finding.message
    assert finding.fix is not None and finding.fix.text.startswith(leak.fix) and not finding.fix.verified
    if "`" not in leak.holder and not leak.holder.startswith("the "):  # the user can write it
        names = {**ns, "numpy": np, "logging": logging, "own_module": sys.modules["own_module"]}
        held = eval(leak.holder.partition(" and ")[0].partition(", table")[0].partition(", net")[0], names)
        held = held[0] if isinstance(held, tuple) else held
        assert isinstance(held, jax.core.Tracer) and is_dead(held)


@pytest.mark.parametrize("name", CLEAN)
def test_what_did_not_leak_is_not_spoken_of(ns: dict[str, Any], name: str) -> None:
    assert watched(CLEAN[name], ns) == []


def test_a_value_that_several_lines_made_is_of_the_innermost_line_of_the_user(ns: dict[str, Any]) -> None:
    (finding,) = watched(
        "def step(a):\n    b = a + 1\n    kept.append(\n        b * 2)\n    return a\njax.jit(step)(x)", ns
    )
    assert finding.origin == "line 4 of <cell>, from `a`" and "float32[3] of `step` under jit" in finding.message


def test_one_leak_is_told_once(ns: dict[str, Any]) -> None:
    log = Leaks()
    log.start()
    try:
        run("f = jax.jit(lambda a: kept.append(a) or a)\nf(x)", ns)
        assert len(log.check(ns)) == 1
        assert log.check(ns) == []
        run("y = jax.jit(lambda a: a + 1)(x)", ns)
        assert log.check(ns) == []
        run("jax.jit(lambda a: kept.append(a * 2) or a)(x)", ns)
        assert [finding.holder for finding in log.check(ns)] == ["kept[1]"]
        run("f(x)", ns)
        assert log.check(ns) == []
    finally:
        log.stop()


def test_leaks_of_different_lines_are_different_leaks(ns: dict[str, Any]) -> None:
    cell = "def step(a):\n    kept.append(a * 2)\n    box.last = a * 3\n    return a\njax.jit(step)(x)"
    assert [(finding.holder, finding.line) for finding in watched(cell, ns)] == [("kept[0]", 2), ("box.last", 3)]


def test_a_leak_of_a_thread_that_was_tracing_is_told_when_it_has_ended(ns: dict[str, Any]) -> None:
    log = Leaks()
    log.start()
    try:
        run(CLEAN["a thread that traces meanwhile"].replace("b = a * 2", "b = a * 2\n    kept.append(b)"), ns)
        assert log.check(ns) == []
        ns["go_on"].set()
        ns["thread"].join()
        assert [finding.holder for finding in log.check(ns)] == ["kept[0]"]
    finally:
        log.stop()


def test_looking_keeps_nothing_alive(ns: dict[str, Any]) -> None:
    cell = "def g(a):\n    b = a * 2\n    yield b\n    a = b = None\n    yield 1\nit = None\n"
    cell += (
        "def f(a):\n    global it\n    it = g(a)\n    kept.append(weakref.ref(next(it)))\n    return a\njax.jit(f)(x)"
    )
    (finding,) = watched(cell, ns)
    assert finding.holder == "`b` in the frame of it"
    assert ns["kept"][0]() is not None
    next(ns["it"])
    gc.collect()
    assert ns["kept"][0]() is None


def test_no_code_of_the_objects_is_run(ns: dict[str, Any]) -> None:
    cell = """
class Odd:
    def __getattr__(self, name): raise SystemExit(name)
    def __eq__(self, other): raise SystemExit("compared")
    def __hash__(self): return 1
    def __len__(self): raise SystemExit("measured")
    def __iter__(self): raise SystemExit("iterated")
    def __bool__(self): raise SystemExit("asked")
    def __repr__(self): raise SystemExit("shown")
odd = Odd()
table[odd] = odd
@jax.jit
def step(a):
    vars(odd)["v"] = a * 2
    return a
step(x)
"""
    (finding,) = watched(cell, ns)
    assert finding.holder == "odd.v"


def test_a_leak_is_found_beside_a_large_data_set(ns: dict[str, Any]) -> None:
    ns["rows"] = [(object(),) for _ in range(150_000)]
    (finding,) = watched(LEAKS["a list"].cell.replace("history", "zz_history"), ns)
    assert finding.holder == "zz_history[0]"


def test_a_function_that_watches_may_hold_it_itself() -> None:
    seen: list[Any] = []
    with jaxnb.watch({}) as found:
        jax.jit(lambda a: seen.append(a * 2) or a)(1.0)
    assert [finding.holder for finding in found.findings] == [
        "`seen[0]` in test_a_function_that_watches_may_hold_it_itself()"
    ]


# --- whether a tracer is dead ---------------------------------------------------------------------------------------

WAYS = {
    "jit": "jax.jit(f)(x)",
    "grad": "jax.grad(f)(x)",
    "vjp": "jax.vjp(f, x)",
    "jvp": "jax.jvp(f, (x,), (x,))",
    "linearize": "jax.linearize(f, x)",
    "vmap": "jax.vmap(f)(w)",
    "scan": "lax.scan(lambda c, a: (c, f(a)), 0.0, w)",
    "fori_loop": "lax.fori_loop(0, 3, lambda i, c: c + f(x * i), 0.0)",
    "while_loop": "lax.while_loop(lambda c: f(x * c) < 3, lambda c: c + 1, 0.0)",
    "cond": "lax.cond(True, f, f, x)",
    "checkpoint": "jax.grad(jax.checkpoint(f))(x)",
    "checkpoint in jit": "jax.jit(jax.checkpoint(f))(x)",
    "shard_map": "sharded(x)",
    "shard_map in jit": "jax.jit(sharded)(x)",
    "eval_shape": "jax.eval_shape(f, x)",
    "make_jaxpr": "jax.make_jaxpr(f)(x)",
    "hessian": "jax.hessian(f)(x)",
    "grad of vmap in jit": "jax.jit(jax.grad(lambda m: jax.vmap(f)(m).sum()))(w)",
    "vmap of grad of scan": "jax.vmap(jax.grad(lambda a: lax.scan(lambda c, v: (c + f(v * a), 1), 0.0, a)[0]))(w)",
    "jit inside of jit": "jax.jit(lambda a: jax.jit(f)(a) + 1)(x)",
    "a custom_jvp rule": """
g = jax.custom_jvp(lambda a: a.sum())
g.defjvp(lambda p, t: (f(p[0]), t[0].sum()))
jax.jit(lambda a: jax.jvp(g, (a,), (a,)))(x)
""",
    "custom_vjp rules": """
g = jax.custom_vjp(lambda a: a.sum())
g.defvjp(lambda a: (f(a), a), lambda a, t: (f(a) * t * jnp.ones(3),))
jax.jit(jax.grad(g))(x)
""",
    "a custom_vjp whose function runs below a grad": """
g = jax.custom_vjp(f)
g.defvjp(lambda a: (f(a), None), lambda _, t: (t * jnp.ones(3),))
jax.vmap(jax.grad(lambda a: g(a * 2)))(w)
""",
    "compile time": "jax.jit(lambda a: compile_time(a))(x)",
}


@pytest.mark.parametrize("name", WAYS)
def test_a_tracer_is_dead_when_its_trace_has_ended_and_not_before(ns: dict[str, Any], name: str) -> None:
    ns["is_dead"] = is_dead
    run(
        """
mesh = jax.make_mesh((1,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
alive = []
def f(a):
    values = [v for v in [*kept, a, a * 2] if isinstance(v, jax.core.Tracer)]
    inside = values[-2:]
    alive.extend(not is_dead(v) for v in inside)
    kept.extend(inside)
    return (a * a).sum()
sharded = jax.shard_map(f, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P(), check_vma=False)
def compile_time(a):
    with jax.ensure_compile_time_eval():
        alive.append(not is_dead(a))
        kept.append(a)
        jax.jit(f)(jnp.ones(3))
        jax.grad(f)(jnp.ones(3))
    return a
""",
        ns,
    )
    run(WAYS[name], ns)
    assert ns["alive"] and all(ns["alive"])
    assert ns["kept"] and all(is_dead(tracer) for tracer in ns["kept"])


def test_the_tracers_of_enclosing_functions_live_on(ns: dict[str, Any]) -> None:
    ns["is_dead"] = is_dead
    run(
        """
def inner(c, v):
    kept.append(v)
    return c + v, [is_dead(t) for t in outside] and None
def outer(a):
    outside.append(a)
    lax.scan(inner, 0.0, a)
    jax.vmap(lambda v: table.setdefault("in vmap", [is_dead(t) for t in outside]))(a)
    table["after"] = [is_dead(kept[0]), is_dead(a)]
    return a.sum()
outside = []
jax.jit(jax.grad(outer))(x)
""",
        ns,
    )
    assert ns["table"] == {"in vmap": [False], "after": [True, False]}


def test_a_tracer_of_another_thread_that_is_still_tracing_lives(ns: dict[str, Any]) -> None:
    run(CLEAN["a thread that traces meanwhile"].replace("b = a * 2", "b = a * 2\n    kept.append(b)"), ns)
    assert not is_dead(ns["kept"][0])
    ns["go_on"].set()
    ns["thread"].join()
    assert is_dead(ns["kept"][0])


# --- a later use ----------------------------------------------------------------------------------------------------


def test_a_tracer_that_was_told_of_is_answered_with_the_same_finding(ns: dict[str, Any]) -> None:
    log = Leaks()
    log.start()
    try:
        run("def step(a):\n    kept.append(a.sum())\n    return a\njax.jit(step)(x)", ns, "<first>")
        (told,) = log.check(ns, "<first>")
        tracer = ns["kept"].pop()
        later = log.explain_tracer(tracer, ns, "<second>")
        assert told.line == 2 and later.line is None
        assert (later.message, later.holder, later.origin, later.fix) == (
            told.message,
            told.holder,
            told.origin,
            told.fix,
        )
        assert log.explain_tracer(tracer, ns, "<first>") == told
    finally:
        log.stop()


AT_HAND = {
    "a list": "history[0]",
    "grad": "kept[0]",
    "vmap": "kept[0]",
    "scan": "kept[0]",
    "shard_map": "kept[0]",
    "a closure": "kept[0]()",
    "nested containers": "state['runs'][0]['loss']",
}


@pytest.mark.parametrize("name", AT_HAND)
def test_a_tracer_that_was_not_told_of_is_explained_likewise(ns: dict[str, Any], name: str) -> None:
    leak = LEAKS[name]
    run(leak.cell, ns)
    finding = explain_tracer(eval(AT_HAND[name], ns), ns, here="<cell>")
    assert (finding.kind, finding.holder, finding.line) == ("leak", leak.holder, leak.line)
    assert finding.origin == leak.origin and f" {leak.of} was left behind" in finding.message
    assert finding.fix is not None and finding.fix.text.startswith(leak.fix)


def test_no_holder_is_named_that_holds_only_what_was_computed_from_it(ns: dict[str, Any]) -> None:
    run("def f(a):\n    b = a * 2\n    kept.extend([b, b + 1])\n    return a\njax.jit(f)(x)", ns)
    tracer = ns["kept"].pop(0)
    assert "kept[0]" not in explain_tracer(tracer, {"kept": ns["kept"]}).holder


def test_a_tracer_that_no_name_leads_to_is_explained_without_a_holder() -> None:
    def step(a: Any) -> Any:
        kept.append(a * 2)
        return a

    kept: list[Any] = []
    jax.jit(step)(jnp.ones(3))
    finding = explain_tracer(kept[0], {})
    assert "of `step` under jit was left behind" in finding.message and "from `a`" in finding.origin


# --- in a shell -----------------------------------------------------------------------------------------------------


def test_results_that_ipython_remembers_come_last(shell: Shell) -> None:
    text = shell.run("seen = []\njax.jit(lambda a: seen.append(a * 2) or a)(x)\nseen")
    assert "held by seen[0]" in text and "Out[" not in text.partition("held by")[2]
    text = shell.run("[0]\njax.jit(lambda a: table.append(a * 2) or a)(x) if 'table' in globals() else None")
    assert "leak" not in text
    text = shell.run("made = []\njax.jit(lambda a: made.append(a * 2) or a)(x)\n[made.pop()]")
    assert "held by Out[" in text and "][0]" in text


def test_however_much_other_places_hold_the_results_of_the_shell_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(referrers, "_MOST", 8)
    wanted, heap = Thing(), [[number] for number in range(100)]
    found = referrers.paths_to(
        {"heap": heap, "Out": {3: [wanted]}}, {id(wanted)}, [((None, "place", "a module"), heap[:])]
    )
    assert [render_path(path) for path in found[id(wanted)]] == ["Out[3][0]"]


class Thing:
    """Something that is looked for."""


def test_in_a_shell(shell: Shell) -> None:
    text = shell.run("history = []\n@jax.jit\ndef step(a):\n    history.append(a.sum())\n    return a * 2\nstep(x);")
    assert "line 4 · leak: a traced float32[] of `step` under jit was left behind" in text
    assert "held by history[0]" in text and "try: return it from `step`" in text
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


def test_an_error_of_the_cell_is_no_leak_and_one_that_is_kept_is(shell: Shell) -> None:
    shell.run("errors = []\ndef step(a):\n    b = a * 2\n    raise ValueError('no')")
    assert "leak" not in shell.run("jax.jit(step)(x)", ok=False)
    text = shell.run("try:\n    jax.jit(step)(x)\nexcept ValueError as error:\n    errors.append(error)")
    assert text.count("leak:") == 1 and "held by `b` in the traceback of errors[0]" in text


def test_a_function_of_an_earlier_cell_leaks_in_the_cell_that_calls_it(shell: Shell) -> None:
    shell.run("kept = []\n@jax.jit\ndef step(a):\n    kept.append(a * 2)\n    return a")
    text = shell.run("1 + 1\nstep(x);")
    assert "line 2 · leak" in text and "made at line 4 of Cell In[3], from `a`" in text


def test_a_staged_cell_leaves_none(shell: Shell) -> None:
    cell = "history = [x.sum()]\nif history[0] > 1:\n    z = x * 2\nfor i in range(40):\n    z = z + i"
    for _ in range(3):
        assert "leak" not in shell.run(f"%%jit\n{cell}")


# --- cost -----------------------------------------------------------------------------------------------------------


def test_nothing_is_left_of_the_watch() -> None:
    from jax._src import core, shard_map
    from jax._src.interpreters import ad

    kinds = (core.Trace, ad.JVPTracer, shard_map.ShardMapTracer)
    originals = [kind.__init__ for kind in kinds]
    with jaxnb.watch({}):
        assert core.Trace.__init__ is not originals[0]
    assert [kind.__init__ for kind in kinds] == originals
    log = Leaks()
    log.start()
    log.start()
    log.stop()
    assert [kind.__init__ for kind in kinds] == originals
    log.stop()
    jax.jit(lambda a: a)(1.0)


def test_nothing_is_searched_where_nothing_leaked_or_nothing_was_traced(
    ns: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    searches: list[int] = []
    collect = gc.collect
    log = Leaks()
    log.start()
    try:
        run("f = jax.jit(jax.value_and_grad(lambda a: jnp.tanh(w @ a).sum()))\ny = f(x)", ns)
        monkeypatch.setattr(gc, "collect", lambda *args: searches.append(1) or collect(*args))
        assert log.check(ns) == []
        run("y = f(x)\nz = x + 1", ns)
        assert log.check(ns) == []
    finally:
        log.stop()
    assert searches == []


def test_what_is_remembered_of_many_short_traces_stays_little(ns: dict[str, Any]) -> None:
    log = Leaks()
    log.start()
    try:
        run("f = jax.vmap(lambda a: a + 1)\nfor _ in range(3000):\n    f(x)", ns)
        assert len(log._traces._references) <= 1001
    finally:
        log.stop()


def test_what_was_told_is_forgotten_with_its_tracer(ns: dict[str, Any]) -> None:
    log = Leaks()
    log.start()
    try:
        run("jax.jit(lambda a: kept.append(a) or a)(x)", ns)
        assert len(log.check(ns)) == 1 and len(log._told._findings) == 1
        gone = weakref.ref(ns["kept"].pop())
        gc.collect()
        assert gone() is None and len(log._told._findings) == 0
    finally:
        log.stop()


def test_constants_of_a_jaxpr_are_told_when_they_are_computed_with(ns: dict[str, Any]) -> None:
    """Solvers keep the jaxprs of functions that they differentiated in their states; a user's `consts` are others."""
    cell = """
import jax, jax.numpy as jnp
programs, own = [], {"consts": []}
@jax.jit
def f(x):
    programs.append(jax.make_jaxpr(lambda y: y + x)(x))
    return x
@jax.jit
def g(x):
    own["consts"].append(x * 2)
    return x
f(jnp.ones(3)), g(jnp.ones(3))
"""
    (found,) = watched(cell, ns)
    assert found.holder == "own['consts'][0]"
    (tracer,) = [one for one in ns["programs"][0].consts if isinstance(one, jax.core.Tracer)]
    assert "programs[0]" in explain_tracer(tracer, ns).holder
