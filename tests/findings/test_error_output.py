"""What a user sees when a cell fails: its own lines, the cause and the fix; JAX's and IPython's are folded."""

from __future__ import annotations

import traceback

import jax
import jax.numpy as jnp
import pytest
from shells import Shell, shell

import jaxnb
from jaxnb.findings.values import concretization, dry_run

__all__ = ["shell"]

JITTED = "@jax.jit\ndef f(a):\n    b = a * 2\n    if b.sum() > 1:\n        return b\n    return -b\ny = f(x)"


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_run, "PATIENCE", 60.0)


def test_the_cell_the_cause_and_the_fix(shell: Shell) -> None:
    text = shell.run(f"%%jit\n{JITTED}", ok=False)
    told = text[text.index("TracerBoolConversionError: ") :]
    assert told.splitlines()[:13] == [
        "TracerBoolConversionError: `b.sum() > 1` needs the value of a traced bool[]: a branch tests it.",
        "      4      b = a * 2",
        "  ▸   5      if b.sum() > 1:",
        "                ^^^^^^^^^^^",
        "  fed by a of f, in `f` under jit",
        "  try: choose with jnp.where: both sides are computed. (tried: it works)",
        "    line 5",
        "    -     if b.sum() > 1:",
        "    -         return b",
        "    -     return -b",
        "    +     return jnp.where(b.sum() > 1, b, -b)",
        "  JAX: Attempted boolean conversion of traced array with shape bool[].",
        "  more: https://docs.jax.dev/en/latest/errors.html#jax.errors.TracerBoolConversionError",
    ]
    for foreign in ("site-packages", "jaxnb/", "removed its internal frames"):
        assert foreign not in text
    assert "----> 8 y = f(x)" in text
    assert "----> 5     if b.sum() > 1:" in text


def test_a_function_of_another_cell(shell: Shell) -> None:
    shell.run("def g(a):\n    return a[a > 0].sum()")
    text = shell.run("%%jit\ny = jax.jit(g)(x)", ok=False)
    assert "`a[a > 0]` of Cell In[3] needs the value of a traced bool[3]" in text
    assert "fed by a of g, line 2 of Cell In[3] in `g` under jit" in text
    assert "+     return jnp.sum(a, where=a > 0)" in text
    assert "try: in Cell In[3], reduce the whole array" in text
    assert "fix, tried: in Cell In[3]" in text


def test_a_cell_that_fails_for_another_reason_shows_that(shell: Shell) -> None:
    for cell in ("1 / 0", "int('a')", "raise TypeError('no such thing')"):
        text = shell.run(f"%%jit\ny = x * 2\n{cell}", ok=False)
        assert "try:" not in text
        assert "needs the value" not in text


def test_in_plain_cells_the_explanation_stands_below_what_jax_says(shell: Shell) -> None:
    text = shell.run(JITTED, ok=False)
    assert text.index("Attempted boolean conversion") < text.index(
        "line 4 · concretization: `b.sum() > 1` needs the value"
    )
    assert "+     return jnp.where(b.sum() > 1, b, -b)" in text
    assert "JAX:" not in text[text.index("concretization") :]  # which stands above
    for plain in ("1 / 0", "{}['a']", "int('a')", "raise TypeError('no such thing')", "undefined"):
        assert " · " not in shell.run(plain, ok=False)


def test_in_plain_cells_nothing_is_said_where_findings_are_off(shell: Shell) -> None:
    shell.run("%config JaxNB.findings = 'off'")
    assert "needs the value" not in shell.run(JITTED, ok=False)


def test_operands_by_name_where_they_were_made_and_the_edit(shell: Shell) -> None:
    shell.run("w = jnp.ones((4, 3))\ndef layer(a):\n    return jax.nn.relu(a @ w)")
    text = shell.run("h = jnp.ones((2, 3))\nloss = jax.jit(lambda v: layer(v).sum())(h)", ok=False)
    assert "contraction: `a` (2, 3) and `w` (4, 3) do not fit" in text
    assert "`a`: float32[2,3], argument of `layer`: `v` in the call" in text
    assert "+     return jax.nn.relu(a @ w.T)" in text


def test_what_a_method_was_called_on_is_none_of_its_arguments(shell: Shell) -> None:
    shell.run(
        "class Layer:\n    def __init__(self):\n        self.w = jnp.ones((4, 3))\n"
        "    def __call__(self, a):\n        return self.apply(a)\n"
        "    def apply(self, u):\n        return u @ self.w\n    def scaled(self, s):\n        return self.w * s\n"
        "layer = Layer()"
    )
    text = shell.run("h = jnp.ones((2, 3))\ny = layer(h)", ok=False)
    assert "`u`: float32[2,3], argument of `apply`: `a` in the call" in text
    assert "`self.w`: float32[4,3], of `Layer`" in text
    text = shell.run("y = jax.vmap(layer.scaled)(jnp.ones((5, 2)))", ok=False)
    assert "`self.w`: float32[4,3], of `Layer`" in text and "`s`: float32[2], argument of `scaled`" in text


def test_a_handler_of_the_user_goes_first(shell: Shell) -> None:
    seen: list[type] = []

    def handler(ip: object, kind: type, error: BaseException, frames: object, tb_offset: object = None) -> None:
        seen.append(kind)

    shell.ip.set_custom_exc((jax.errors.TracerBoolConversionError,), handler)
    shell.run(f"%%jit\n{JITTED}", ok=False)
    assert seen == [jax.errors.TracerBoolConversionError]
    assert "needs the value" in shell.run("%%jit --whole\ny = float(x.sum())", ok=False)


def test_an_explanation_that_fails_is_a_note(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a changed JAX")

    monkeypatch.setattr(concretization, "find_place", broken)
    text = shell.run(f"%%jit\n{JITTED}", ok=False)
    assert "Attempted boolean conversion" in text
    assert "jaxnb could not explain this: RuntimeError: a changed JAX" in text


def test_in_a_script() -> None:
    namespace = {"jax": jax, "jnp": jnp, "x": jnp.arange(3.0)}
    with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
        jaxnb.stage(JITTED, namespace)
    text = "".join(traceback.format_exception(caught.value))
    assert "+     return jnp.where(b.sum() > 1, b, -b)" in text
    assert "site-packages/jax" not in text
    with pytest.raises(jaxnb.NeedsConcrete) as refused:
        jaxnb.stage("y = float(x.sum())", namespace, whole=True)
    text = "".join(traceback.format_exception(refused.value))
    assert "+ y = x.sum().astype(float)" in text
    assert "site-packages/jax" not in text


def test_an_error_of_a_running_program_stands_at_its_line(shell: Shell) -> None:
    """JAX raises it where the program is started, where no frame is the user's."""
    shell.run("def host(a):\n    raise ValueError('bad data')")
    text = shell.run("%%jit\na = x + 1\ny = jax.pure_callback(host, a, a) * 2\ny.block_until_ready()", ok=False)
    assert "----> 3 y = jax.pure_callback(host, a, a) * 2" in text
    assert "`host` raised ValueError: bad data on line 2 of Cell In[" in text
    assert "run_cell_magic" not in text and "jaxnb/" not in text


@pytest.mark.parametrize("magic", ["", "%%jit\n"])
def test_what_there_was_no_time_for_is_tried_when_asked_for(
    shell: Shell, magic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dry_run, "PATIENCE", 0.0)
    text = shell.run(f"{magic}{JITTED}", ok=False)
    assert (
        "there was no time to try it: %jaxnb try" in text and "(tried: it works)" not in text and "    - " not in text
    )
    text = shell.run("%jaxnb try")
    assert "(tried: it works)" in text and "return jnp.where(b.sum() > 1, b, -b)" in text
    assert "was tried when that was explained: it works" in shell.run("%jaxnb try")
    shell.run("1 / 0", ok=False)
    assert "no error that was explained" in shell.run("%jaxnb try")


def test_a_fix_that_changes_the_dtype_is_not_told(shell: Shell) -> None:
    """A Python number gives way to bfloat16; an array of float32 would not."""
    shell.run("v, w = jnp.ones(3, jnp.bfloat16), jnp.ones(3)")
    for magic in ("", "%%jit\n"):
        cell = magic + "@jax.jit\ndef f(v):\n    return v * float(v.mean())\n"
        assert "+     return v * v.mean().astype(v.dtype)" in shell.run(cell + "f(v)", ok=False)
        assert "+     return v * v.mean().astype(float)" in shell.run(cell + "y = f(w)", ok=False)


def test_a_model_that_can_be_called_is_no_function_to_be_transformed(shell: Shell) -> None:
    shell.run("class Net:\n    def __call__(self, x): return x\nnet = Net()\nloss = lambda m: 1.0\nf = lambda x: x**2")
    assert "transform the function first" not in shell.run("g = jax.grad(loss)(net)", ok=False)
    assert "jax.grad(jax.grad(f))" in shell.run("g = jax.grad(jax.grad)(f)", ok=False)
