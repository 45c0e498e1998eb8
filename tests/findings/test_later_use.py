"""A leaked tracer that is used later, in any cell, is answered with the finding on the leak."""

from __future__ import annotations

import jax
import pytest
from shells import Shell, shell

from jaxnb.findings.leaking import cell_monitor

__all__ = ["shell"]

LEAK = """\
history, box = [], {}
@jax.jit
def step(a):
    loss = (a * 2).sum()
    history.append(loss)
    box["n"] = a.astype(int)[0]
    return a
step(x);"""
USES = {
    "an operator": "history[0] + 1",
    "a function": "jnp.sin(history[0])",
    "float": "z = float(history[0])",
    "a branch": "if history[0] > 1:\n    pass",
    "numpy": "np.asarray(history[0])",
    "a jitted function": "jax.jit(lambda a: a + history[0])(x)",
    "under grad": "jax.grad(lambda a: (a * history[0]).sum())(x)",
    "under vmap": "jax.vmap(lambda a: a * history[0])(x)",
    "in a scan": "jax.lax.scan(lambda c, a: (c + history[0], a), 0.0, x)",
    "in a helper": "def use(values):\n    return values[0] * 2\nuse(history)",
    "formatted": "f'{history[0]:.3f}'",
    "staged": "%%jit\nz = history[0] * 2",
    "staged, in a function": "%%jit\nz = jax.jit(lambda a: a + history[0])(x)",
    "an expression shown": "%jaxpr history[0] + x",
}


@pytest.mark.parametrize("use", USES)
def test_the_leak_is_named_where_it_is_used(shell: Shell, use: str) -> None:
    number = shell.ip.execution_count
    first = shell.run(LEAK)
    assert "held by history[0]" in first
    text = shell.run(USES[use], ok=False)
    assert "a traced float32[] of `step` under jit was left behind" in text, text
    assert "held by history[0]" in text
    assert f"made at line 4 of Cell In[{number}], from `a`" in text
    assert "Encountered an unexpected tracer" not in text  # nor any of JAX's page
    assert "intermediate value" not in text
    assert text.count("held by") == 1, text


def test_a_size_that_leaked(shell: Shell) -> None:
    shell.run(LEAK)
    text = shell.run("jnp.zeros(box['n'])", ok=False)
    assert "held by box['n']" in text
    assert text.count("held by") == 1


def test_nothing_is_said_of_a_trace_that_fails_itself(shell: Shell) -> None:
    shell.run(LEAK)
    for cell in (
        "jax.jit(lambda a: float(a.sum()))(x)",
        "jax.vmap(lambda a: 1 if a > 0 else 2)(x)",
        "jax.grad(lambda a: jax.jit(lambda b: jnp.zeros(b))(a.astype(int)[0]).sum())(x)",
    ):
        assert "left behind" not in shell.run(cell, ok=False)


def test_switched_off(shell: Shell) -> None:
    shell.run("%config JaxNB.findings = 'off'")
    shell.run(LEAK)
    assert "Encountered an unexpected tracer" in shell.run("history[0] + 1", ok=False)
    shell.run("%config JaxNB.findings = 'warn'")
    assert "held by history[0]" in shell.run("history[0] + 1", ok=False)


def test_a_handler_of_the_user_goes_first(shell: Shell) -> None:
    seen: list[type] = []

    def handler(ip: object, kind: type, error: BaseException, frames: object, tb_offset: object = None) -> None:
        seen.append(kind)

    shell.ip.set_custom_exc((jax.errors.UnexpectedTracerError,), handler)
    shell.run(LEAK)
    shell.run("jnp.sin(history[0])", ok=False)
    assert seen == [jax.errors.UnexpectedTracerError]


def test_a_watch_that_fails_is_a_note(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a changed JAX")

    shell.run(LEAK)
    monkeypatch.setattr(cell_monitor, "find_place", broken)
    text = shell.run("jnp.sin(history[0])", ok=False)
    assert "Encountered an unexpected tracer" in text
    assert "jaxnb could not explain this: RuntimeError: a changed JAX" in text


def test_as_errors(shell: Shell) -> None:
    shell.run("%config JaxNB.findings = 'error'")
    text = shell.run(LEAK, ok=False)
    assert "LeftBehind: 2 leaks" in text
    assert "held by history[0]" in text
    assert "history" in shell.ns  # the cell has run
    shell.run("%config JaxNB.findings = 'warn'")
    shell.run("kept = []\ndef keep(a):\n    kept.append(a)\n    return a")
    text = shell.run("%%jit --strict\nexec('print(jax.jit(keep)(x))')", ok=False)
    assert "LeftBehind: 1 leak" in text
    assert "held by kept[0]" in text
    assert "LeftBehind" not in shell.run("%%jit\nexec('print(jax.jit(lambda a: keep(a) * 2)(x))')")
    shell.run("kept.clear()")
    assert "was left behind" in shell.run("%%jit --strict\nprint(jax.jit(lambda a: keep(a) * 3)(x))", ok=False)


def test_a_statement_taken_apart_that_reaches_a_leak(shell: Shell) -> None:
    shell.run("kept = []\ndef keep(a):\n    kept.append(a)\n    return a\njax.jit(lambda a: keep(a) * 2)(x)")
    text = shell.run("%%jit\nprint(jax.jit(keep)(x))", ok=False)
    assert "LeakedTracer: a traced float32[3] of a lambda" in text and "held by kept[0]" in text


def test_everything_is_put_back() -> None:
    made = Shell()
    kinds = (jax.errors.UnexpectedTracerError, jax.errors.ConcretizationTypeError)
    made.run("%load_ext jaxnb")
    assert all("_render_traceback_" in vars(kind) for kind in kinds)
    made.run("%unload_ext jaxnb")
    assert not any("_render_traceback_" in vars(kind) for kind in kinds)
