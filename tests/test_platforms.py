"""What a cell is lowered to on platforms that are not here: equation by equation, and who has no rule."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from golden import check_golden
from jax.experimental import pallas as pl
from models.steps import STEPS
from shells import Shell, shell

import jaxnb
from jaxnb import views
from jaxnb.errors import JaxnbError
from jaxnb.options import StageOptions
from jaxnb.program import LoweredFor, Platforms, Program, decode, encode
from jaxnb.program.laws import check_program
from jaxnb.staging import Session

__all__ = ["shell"]

CELL = """
c = jnp.linalg.cholesky(a)
w = jnp.linalg.eigvals(a)
def draw(key):
    return jax.random.normal(key, (3,))
noise = draw(key)
y = c @ noise + jnp.abs(w)
"""


def names() -> dict[str, Any]:
    return {"jax": jax, "jnp": jnp, "a": jnp.eye(3), "key": jax.random.key(0)}


def traced(cell: str = CELL, namespace: dict[str, Any] | None = None) -> Program:
    given = names() if namespace is None else namespace
    return Session().trace_only(cell.strip(), given, StageOptions()).program


def test_equations_that_differ_are_told_with_their_lines() -> None:
    found = traced().platforms("tpu", "cuda", "cpu")
    differing = {(one.op.name, one.op.line): one for one in found.equations() if one.differs}
    assert {("cholesky", 1), ("eig", 2)} <= set(differing)
    assert not any(one.differs for one in found.equations() if one.op.name in ("dot_general", "abs", "add", "erf_inv"))
    tpu, cuda, cpu = differing["cholesky", 1].lowered
    assert any(text.startswith("cholesky") for text in tpu)
    assert any("cusolver" in text for text in cuda) and any("lapack" in text for text in cpu)


def test_a_primitive_without_a_rule_is_named_and_the_rest_is_lowered() -> None:
    found = traced().platforms("tpu", "cpu")
    (refusal,) = found.refused
    assert (refusal.platform, refusal.primitive, refusal.line, refusal.why) == ("tpu", "eig", 2, "")
    (one,) = [one for one in found.equations() if one.op.name == "eig"]
    assert one.refused == ("no rule", "") and not one.lowered[0] and one.lowered[1]
    assert "line 2: eig cannot be lowered for tpu: there is no rule for it on tpu" in str(found)


def test_a_rule_that_refuses_is_quoted() -> None:
    def kernel(x: Any, y: Any) -> None:
        y[...] = x[...] * 2

    twice = pl.pallas_call(kernel, jax.ShapeDtypeStruct((8, 128), jnp.float32))
    found = traced("y = twice(x) + 1", {"twice": twice, "x": jnp.ones((8, 128))}).platforms("cpu", "tpu")
    (refusal,) = found.refused
    assert (refusal.platform, refusal.primitive, refusal.line) == ("cpu", "pallas_call", 1)
    assert "interpret" in refusal.why.lower()
    (kernel_,) = [one for one in found.equations() if one.op.name == "pallas_call"]
    assert any("tpu_custom_call" in text for text in kernel_.lowered[1])


@pytest.mark.parametrize("ordered", [False, True])
def test_a_callback_is_not_said_to_be_impossible_there(ordered: bool) -> None:
    """Its rule asks for a device of the platform; where there is one it is lowered, and all else is lowered here."""

    def seen(x: Any) -> Any:
        return jax.experimental.io_callback(abs, x, x, ordered=ordered)

    found = traced("y = jnp.sin(x)\nz = seen(y)\nw = z + 1", {"seen": seen, "jnp": jnp, "x": jnp.ones(3)})
    platforms = found.platforms("tpu", "cpu")
    (refusal,) = platforms.refused
    assert (refusal.primitive, refusal.line, refusal.absent) == ("io_callback", 2, True)
    assert "io_callback is lowered for tpu only where there is one" in str(platforms)
    assert [one.op.name for one in platforms.equations() if one.differs] == ["io_callback"]


def test_what_was_not_lowered_at_all_differs_in_nothing() -> None:
    tpu, cpu = traced("y = jnp.sin(a)\nz = y + 1").platforms("tpu", "cpu").lowered
    bare = replace(cpu.program, levels=cpu.program.levels[:2], links=())
    platforms = Platforms((LoweredFor("cuda", bare, why="it says no"), tpu, cpu))
    assert not any(one.differs for one in platforms.equations())
    assert "cuda: not lowered: it says no" in str(platforms) and "it says no" in platforms.html


def test_a_training_step_is_lowered_whole() -> None:
    step = STEPS["linen"]
    platforms = traced(step.cell, step.names()).platforms("tpu", "cuda", "cpu")
    assert not platforms.refused and not any(one.why for one in platforms.lowered)
    assert sum(1 for _ in platforms.equations()) > 1000 and len(str(platforms).splitlines()) < 400
    check_program(platforms.on("cuda"))


def test_threads_leave_the_rules_as_they_were() -> None:
    programs = [traced() for _ in range(4)]
    found: list[int] = []

    def lower(program: Program) -> None:
        found.extend(len(program.platforms("tpu", "cpu").refused) for _ in range(3))

    threads = [threading.Thread(target=lower, args=(program,)) for program in programs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 12
    with pytest.raises(NotImplementedError, match="MLIR translation rule"):
        jax.jit(jnp.linalg.eigvals).trace(jnp.eye(3)).lower(lowering_platforms=("tpu",))


def test_the_program_of_a_platform_is_one_like_any_other() -> None:
    found = traced().platforms("tpu", "cpu")
    program = found.on("tpu")
    check_program(program)
    assert "cholesky" in program.text("stablehlo")
    assert decode(encode(program)).level("stablehlo") == program.level("stablehlo")
    with pytest.raises(KeyError, match="lowered for: tpu, cpu"):
        found.on("rocm")


def test_what_is_lowered_for_this_platform_is_what_the_program_has() -> None:
    program = traced(
        "y = jnp.sin(x) @ x.T\nz = jax.lax.fori_loop(0, 3, lambda i, c: c * 2, y)", {**names(), "x": jnp.ones((2, 3))}
    )
    own = program.platforms("cpu").on("cpu").level("stablehlo")
    assert [op.name for op in own.ops()] == [op.name for op in program.level("stablehlo").ops()]


def test_nothing_runs_is_bound_or_left_behind() -> None:
    namespace = names()
    before = dict(namespace)
    traced(CELL, namespace).platforms("tpu", "rocm", "cuda")
    assert {name: id(value) for name, value in namespace.items() if name in before or name in "cwy"} == {
        name: id(value) for name, value in before.items()
    }
    with pytest.raises(NotImplementedError, match="eig"):
        jax.jit(jnp.linalg.eigvals).trace(jnp.eye(3)).lower(lowering_platforms=("tpu",))


def test_several_pieces_are_lowered_as_one_program() -> None:
    cell = "v = jnp.linalg.eigvals(a)\nprint(float(v[0].real))\nu = jnp.linalg.eigvals(a * 2)"
    namespace = names()
    run = jaxnb.stage(cell, namespace)
    found = run.program.platforms("tpu", "cpu")
    assert [(one.primitive, one.line) for one in found.refused] == [("eig", 1), ("eig", 3)]


def test_a_function_is_lowered_too() -> None:
    found = jaxnb.inspect(lambda x: jnp.linalg.qr(x)[1])(jnp.eye(4)).platforms("gpu")
    assert isinstance(found, Platforms) and found.names == ("cuda",)
    assert "lowered for cuda" in str(found)


@pytest.mark.parametrize("wanted", [("npu",), ()])
def test_an_unknown_platform_is_refused_with_those_that_there_are(wanted: tuple[str, ...]) -> None:
    with pytest.raises(JaxnbError, match="some of cpu, cuda"):
        traced().platforms(*wanted)


def test_a_saved_program_cannot_be_lowered_again() -> None:
    with pytest.raises(JaxnbError, match="run its cell again"):
        decode(encode(traced())).platforms("tpu")


def test_the_text_has_the_platforms_side_by_side() -> None:
    # What is drawn from keys, and the functions of jnp.linalg, become something else in each version of JAX.
    cell = "w = jax.lax.linalg.eig(a)[0]\nq = jax.lax.linalg.householder_product(a, v)\ny = q @ a + w.real"
    program = traced(cell, {**names(), "v": jnp.ones(3)})
    check_golden("platforms_whole.txt", program.text("stablehlo", platforms=("tpu", "cpu"), width=110))
    check_golden("platforms.txt", views.render_platforms(program.platforms("tpu", "cuda", "cpu"), width=110))
    with pytest.raises(JaxnbError, match="stablehlo"):
        program.text("hlo", platforms=("tpu",))


def test_the_magic_shows_them(shell: Shell) -> None:
    text = shell.run("%%jaxpr --lower tpu, cpu -o program\nv = jnp.linalg.eigvals(jnp.eye(3))")
    assert "lowered for tpu and cpu" in text and "line 2: eig cannot be lowered for tpu" in text
    assert "v" not in shell.ns and shell.ns["program"].level("jaxpr")


@pytest.mark.parametrize(
    ("header", "said"),
    [("--lower npu", "there is no platform 'npu'"), ("--lower tpu --level hlo", "contradict"), ("--lower", "--lower")],
)
def test_a_bad_header_says_what_to_write(shell: Shell, header: str, said: str) -> None:
    assert said in shell.run(f"%%jaxpr {header}\nw = jnp.eye(3) * 2", ok=False)


def test_nothing_is_shown_where_nothing_is_to_be(shell: Shell) -> None:
    shell.run("%config JaxNB.display = 'none'")
    assert "lowered for" not in shell.run("%%jaxpr --lower tpu -o program\nv = jnp.sin(x)")
    assert shell.ns["program"].platforms("tpu").names == ("tpu",)
    shell.run("%config JaxNB.display = 'line'")


def test_an_error_has_the_frames_of_the_user_alone(shell: Shell) -> None:
    text = shell.run("%%jaxpr --lower npu\nv = jnp.sin(x)", ok=False)
    assert "there is no platform 'npu'" in text and "lowering_stages" not in text and "platforms.py" not in text
