"""What is differentiated: which equations are known ahead, which have a tangent, and what each is transposed."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from shells import Shell, shell

from jaxnb.api import new_session
from jaxnb.errors import JaxnbError, Refused
from jaxnb.options import StageOptions
from jaxnb.program import DifferentiatedPart, DifferentiatedProgram, Gradients

__all__ = ["shell"]

CELL = """def layer(x, w):
    h = jnp.tanh(x @ w)
    return jnp.where(h > 0, h, 0.1 * h)

def loss_of(ws, x):
    m = jnp.arange(4) * 2.0
    for w in ws:
        x = layer(x, w)
    return jnp.mean((jax.nn.relu(x) - m) ** 2) + jnp.sum(jnp.round(x)) * jnp.argmax(x)

value, grads = jax.value_and_grad(loss_of)(ws, x)"""


def gradients(cell: str, setup: dict[str, Any] | None = None, **options: Any) -> Gradients:
    ns: dict[str, Any] = {"jax": jax, "jnp": jnp, "__name__": "__main__", "x": jnp.ones((3, 4))}
    ns |= {"ws": [jnp.ones((4, 4))] * 2} if setup is None else setup
    before = dict(ns)
    run = new_session().stage(cell, ns, StageOptions.of(options))
    after = dict(ns)
    found = run.gradients()
    assert ns.keys() == after.keys() and all(ns[key] is after[key] for key in ns) and before.keys() <= ns.keys()
    return found


def one(found: Gradients) -> DifferentiatedProgram:
    (program,) = found.gradients
    assert not found.refused
    return program


def part(program: DifferentiatedProgram, name: str) -> DifferentiatedPart:
    (found,) = (item for item in program.parts if name in dict(item.forward))
    return found


def test_each_expression_has_its_tangent_and_its_transpose() -> None:
    program = one(gradients(CELL))
    dot = part(program, "dot_general")
    assert (dot.line, dot.text, dot.forward) == (2, "h = jnp.tanh(x @ w)", (("dot_general", 2),))
    assert dict(dot.tangent)["dot_general"] == 3  # of `x` only where it depends on a weight
    assert dict(dot.transposed)["transpose"] == 2 and dot.what == ""
    tanh = part(program, "tanh")
    assert tanh.line == 2 and tanh.kept >= 2 * 3 * 4 * 4 and "mul" in dict(tanh.transposed)
    assert program.kept == sum(item.kept for item in program.parts) > 0
    assert program.floating == 2 and len(program.inputs) == 2 and str(program.inputs[0][1]) == "float32[4,4]"


def test_what_has_no_derivative_is_known_ahead_or_has_a_rule_of_its_own_is_said() -> None:
    program = one(gradients(CELL))
    assert part(program, "iota").what == "known ahead" and part(program, "iota").line == 6
    assert part(program, "gt").what == "no derivative" and str(part(program, "gt").types[0]) == "bool[3,4]"
    assert part(program, "jit round").what == "no derivative" and part(program, "argmax").what == "no derivative"
    assert part(program, "custom_jvp_call").what == "own rule: relu"
    assert part(program, "sub").what == "tangent as it is"


def test_rules_of_the_users_are_marked() -> None:
    cell = """@jax.custom_vjp
def act(x):
    return jnp.sin(x)
act.defvjp(lambda x: (jnp.sin(x), jnp.cos(x)), lambda c, g: (c * g,))

@jax.custom_jvp
def other(x):
    return x * 2
other.defjvps(lambda t, out, x: t * 2)
grads = jax.grad(lambda ws: jnp.sum(other(act(x @ ws[0]))))(ws)"""
    program = one(gradients(cell))
    assert part(program, "custom_vjp_call").what == "own rule: act"
    assert part(program, "custom_jvp_call").what == "own rule: other"


def test_ints_bools_and_keys_have_no_tangent() -> None:
    setup = {"p": {"w": jnp.ones(4), "n": jnp.int32(3), "key": jax.random.key(0), "on": jnp.array(True)}}
    cell = """def f(p):
    return jnp.sum(jnp.where(p["on"], p["w"], 0.0) * p["n"] * jax.random.normal(p["key"], (4,)))
grads = jax.grad(f, allow_int=True)(p)"""
    found = gradients(cell, setup)
    program = one(found)
    assert program.floating == 1 and len(program.inputs) == 4
    assert "no tangent, which is of type float0: " in str(found) and "i32[]" in str(found) and "bool[]" in str(found)


def test_loops_and_functions_of_other_places_are_gone_into() -> None:
    setup = {"ws": jnp.ones((3, 4, 4))}
    cell = """def body(c, w):
    return jnp.sin(c @ w), None
grads = jax.grad(lambda ws: jax.jit(lambda ws: jax.lax.scan(body, x, ws)[0])(ws).sum())(ws)"""
    program = one(gradients(cell, setup))
    assert part(program, "sin").line == 2 and dict(part(program, "sin").transposed) == {"mul": 1}
    assert part(program, "scan").line == 3 and program.kept > 0


def test_a_gradient_of_a_name_and_several_gradients() -> None:
    program = one(gradients("y = jnp.sin(x @ ws[0])\nloss = y.sum()", loss="loss", wrt="ws"))
    assert part(program, "sin").line == 1 and part(program, "sin").kept == 48
    assert part(program, "dot_general").kept == 0  # `x` is there anyway
    two = (
        "a = jax.grad(lambda w: jnp.sum(w ** 2))(x)\nb = jax.grad(lambda w: (jnp.sum(jnp.sin(w)), w), has_aux=True)(x)"
    )
    found = gradients(two)
    assert len(found.gradients) == 2 and "gradient 2 of 2" in str(found)
    assert one(gradients("b = jax.vmap(jax.grad(lambda w: jnp.sum(jnp.sin(w))))(x)")).inputs[0][1].shape == (4,)
    assert one(gradients("h = jax.hessian(lambda w: jnp.sum(jnp.sin(w)))(x[0])")).floating == 1


def test_modules_of_flax_are_called_once() -> None:
    nnx = pytest.importorskip("flax.nnx")
    setup = {
        "nnx": nnx,
        "model": nnx.Sequential(nnx.Linear(4, 4, rngs=nnx.Rngs(0)), nnx.Dropout(0.5, rngs=nnx.Rngs(1))),
    }
    program = one(gradients("loss, g = nnx.value_and_grad(lambda m, x: jnp.mean(m(x) ** 2))(model, x)", setup))
    assert any("dot_general" in dict(item.forward) and item.kept for item in program.parts)


def test_text_and_html_say_the_same(capsys: Any) -> None:
    found = gradients(CELL)
    for text in (str(found), found.html):
        for said in ("known ahead", "no derivative", "own rule: relu", "dot_general ×2", "→ f32[3,4]", "all linear"):
            assert said in text
    assert max(map(len, str(found).splitlines())) <= 100


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("y = jnp.sin(x)", "no gradient is taken"),
        ("g = jax.grad(lambda w: w.sum())(x)\nprint(float(g[0, 0]))\nh = jnp.sin(g)", "needs the value"),
    ],
)
def test_what_cannot_be_looked_at_is_said(cell: str, why: str) -> None:
    with pytest.raises((JaxnbError, Refused), match=why):
        gradients(cell)


def test_the_command(shell: Shell) -> None:
    assert "no cell has been staged" in shell.run("%jaxnb gradient", ok=False)
    shell.run("w = jnp.ones((16, 16))\nz = jnp.ones((8, 16))")
    shell.run("%%jit\nh = jnp.tanh(z @ w)\nloss = jnp.mean(h ** 2)")
    text = shell.run("%jaxnb gradient loss wrt w")
    assert "h = jnp.tanh(z @ w)" in text and "dot_general" in text and "the gradient by 1 array" in text
    assert "did you mean loss" in shell.run("%jaxnb gradient los wrt w", ok=False)
    assert "no gradient is taken" in shell.run("%jaxnb gradient", ok=False)
    assert "--time" in shell.run("%jaxnb gradient loss wrt w --time", ok=False)


@pytest.mark.parametrize("count", [1, 3])
def test_what_is_kept_is_what_policies_are_told_by(count: int) -> None:
    lines = [
        "def f(ws):",
        "    y = x",
        f"    for _ in range({count}):",
        "        y = jnp.sin(y @ ws[0])",
        "    return jnp.sum(y)",
    ]
    cell = "\n".join([*lines, "g = jax.grad(f)(ws)"])
    ns: dict[str, Any] = {"jax": jax, "jnp": jnp, "x": jnp.ones((3, 4)), "ws": [jnp.ones((4, 4))] * 2}
    run = new_session().stage(cell, ns, StageOptions())
    assert one(run.gradients()).kept == run.remat().now.kept


def test_a_name_that_is_gone_is_told(shell: Shell) -> None:
    shell.run("w = jnp.ones((16, 16))\nz = jnp.ones((8, 16))")
    shell.run("%%jit\nloss = jnp.mean((z @ w) ** 2)")
    shell.run("del w")
    for command in ("gradient", "remat"):
        assert "`w` is not bound any more" in shell.run(f"%jaxnb {command} loss wrt w", ok=False)
