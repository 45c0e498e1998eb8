"""Policies for what a gradient keeps: each row is the cell with the edit, and that does what it says."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.ad_checkpoint import checkpoint_name
from shells import Shell, shell

from jaxnb import reading
from jaxnb.api import new_session
from jaxnb.errors import JaxnbError, Refused
from jaxnb.findings.values.fixes import apply_edit
from jaxnb.options import StageOptions
from jaxnb.program import RematPolicies, RematPolicy
from jaxnb.staging import Run

__all__ = ["shell"]

LAYERS = """def layer(x, w):
    h = jnp.tanh(x @ w)
    h = jnp.sin(h) * jnp.cos(h)
    return jnp.exp(-h) + x

def loss_of(ws, x):
    for w in ws:
        x = layer(x, w)
    return jnp.mean(x ** 2)

value, grads = jax.value_and_grad(loss_of)(ws, x)"""
SCAN = """def body(x, w):
    h = checkpoint_name(jnp.tanh(x @ w), "act")
    return jnp.sin(h) * jnp.cos(h), None

def loss_of(ws, x):
    x, _ = jax.lax.scan(body, x, ws)
    return jnp.mean(x ** 2)

value, grads = jax.value_and_grad(loss_of)(ws, x)"""
WRITTEN = """y = x
for w in ws:
    h = checkpoint_name(jnp.tanh(y @ w), "act")
    y = jnp.exp(-jnp.sin(h) * jnp.cos(h)) + y
loss = jnp.mean(y ** 2)"""


def names(setup: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {"jax": jax, "jnp": jnp, "checkpoint_name": checkpoint_name, "__name__": "__main__"}
    found |= {"ws": jnp.full((6, 32, 32), 0.01), "x": jnp.ones((128, 32))}
    exec(setup, found)
    return found


def ran(cell: str, ns: dict[str, Any], **options: Any) -> Run:
    return new_session().stage(cell, ns, StageOptions.of(options))


def row(policies: RematPolicies, name: str) -> RematPolicy:
    return next(one for one in policies.policies if one.name == name)


def edited(cell: str, policy: RematPolicy) -> str:
    assert policy.fix is not None and policy.fix.verified and policy.fix.edit is not None
    return apply_edit(cell, policy.fix.edit)  # which raises where the old lines do not stand


def same(ours: dict[str, Any], theirs: dict[str, Any], *keys: str) -> None:
    for key in keys:
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 1e-5, 1e-6), ours[key], theirs[key])


@pytest.mark.parametrize("cell", [LAYERS, SCAN], ids=["layers", "scan"])
def test_each_row_is_the_cell_with_its_edit_and_that_computes_the_same(cell: str) -> None:
    ns = names()
    run = ran(cell, ns)
    policies = run.remat()
    assert policies.now.peak == run.memory and policies.now.flops == run.flops and policies.now.fix is None
    assert row(policies, "nothing").kept == 0 < row(policies, "dots").kept < policies.now.kept
    for policy in policies.policies[1:]:
        assert not policy.why
        again = names()
        other = ran(edited(cell, policy), again)
        assert (other.memory, other.flops) == (policy.peak, policy.flops), policy.name
        assert policy.again == policy.flops - policies.now.flops
        same(again, ns, "value", "grads")


def test_calls_and_turns_that_come_again_are_layers() -> None:
    assert (
        row(ran(LAYERS, names()).remat(), "each layer").kept < 0.2 * row(ran(LAYERS, names()).remat(), "as it is").kept
    )
    policies = ran(SCAN, names()).remat()
    turn = row(policies, "each turn of scan")
    assert turn.peak < 0.6 * policies.now.peak and policies.best is turn and turn in policies.front
    assert "jax.lax.scan(jax.checkpoint(body, prevent_cse=False), x, ws)" in turn.fix.edit[2]
    assert row(policies, "act").kept == 6 * 128 * 32 * 4


def test_nothing_is_bound_run_or_left_behind() -> None:
    ns = names("seen = []")
    cell = "import jax.numpy as jnp\nseen.append(1)\n" + LAYERS + "\nx = x + 1"
    run = ran(cell, ns)
    before, plain = dict(ns), (jax.vjp, jax.lax.scan, jax.custom_vjp.__call__)
    run.remat()
    assert ns.keys() == before.keys() and all(ns[key] is before[key] for key in ns) and ns["seen"] == [1]
    assert (jax.vjp, jax.lax.scan, jax.custom_vjp.__call__) == plain
    assert "remat" not in str(jax.make_jaxpr(jax.grad(ns["loss_of"]))(ns["ws"], ns["x"]))


def test_functions_of_other_cells_are_told_in_words() -> None:
    setup = LAYERS.rpartition("\n\n")[0]
    policies = ran("value, grads = jax.value_and_grad(loss_of)(ws, x)", names(setup)).remat()
    layer = row(policies, "each layer")
    assert layer.fix.edit is None and layer.fix.verified
    assert layer.fix.text == "write @jax.checkpoint above layer, where it is defined."
    assert layer.peak == row(ran(LAYERS, names()).remat(), "each layer").peak
    hidden = ran(
        "value, grads = step(ws, x)", names(setup + "\ndef step(ws, x):\n    return jax.value_and_grad(loss_of)(ws, x)")
    )
    assert row(hidden.remat(), "dots").kept == row(policies, "dots").kept
    assert "jax.checkpoint(f, policy=jax.checkpoint_policies.dots_saveable)" in row(hidden.remat(), "dots").fix.text


def test_what_is_no_array_does_not_pass_through_a_checkpoint() -> None:
    setup = (
        "def loss_of(ws, n, how):\n    for _ in range(n): ws = jnp.tanh(ws) if how == 'a' else ws\n    return ws.sum()"
    )
    policies = ran("grads = jax.grad(loss_of)(ws, 3, 'a')", names(setup)).remat()
    assert row(policies, "nothing").kept == 0 and "lambda" in row(policies, "nothing").fix.text


def test_times_are_those_of_runs() -> None:
    policies = ran(LAYERS, names()).remat(time=True)
    assert all(one.seconds > 0 for one in policies.policies)
    assert "time" in str(policies) and "<svg" in policies.html and "measured" in str(policies)
    assert "time" not in str(ran(LAYERS, names()).remat()).partition("\n\n")[2]


def test_a_gradient_of_a_name_takes_options() -> None:
    ns = names()
    run = ran(WRITTEN, ns)
    policies = run.remat(loss="loss", wrt=("ws",))
    assert policies.of == "the gradient of loss wrt ws"
    assert row(policies, "dots").fix.options == "--remat dots" and row(policies, "act").fix.options == "--remat act"
    plain = names()
    ran(WRITTEN, plain, loss="loss", wrt="ws")
    for words in ("nothing", "dots", "dots_without_batch", "everything", "act"):
        ours = names()
        other = ran(WRITTEN, ours, loss="loss", wrt="ws", remat=words)
        told = row(policies, words.replace("_", " "))
        assert (other.memory, other.flops) == (told.peak, told.flops), words
        same(ours, plain, "loss", "d_ws", "y")
    with_hessian = names("w = jnp.ones(3)")
    ran("loss = jnp.sum(jnp.sin(w) ** 2)", with_hessian, loss="loss", wrt="w", hessian=True, remat="nothing")
    same(with_hessian, {"dd_w": jax.hessian(lambda w: jnp.sum(jnp.sin(w) ** 2))(jnp.ones(3))}, "dd_w")


def test_rules_that_run_twice_are_told() -> None:
    setup = """
@jax.custom_vjp
def act(x):
    return jnp.sin(x)
act.defvjp(lambda x: (jnp.sin(x), jnp.cos(x)), lambda c, g: (c * g,){})"""
    cell = "grads = jax.grad(lambda ws: jnp.sum(act(x @ ws[0])))(ws)"
    told = str(ran(cell, names(setup.format(""))).remat())
    assert "`act` has a forward rule of its own" in told and "optimize_remat=True" in told
    assert "forward rule" not in str(ran(cell, names(setup.format(", optimize_remat=True"))).remat())


@pytest.mark.parametrize(
    ("cell", "why"),
    [
        ("y = jnp.sin(x)", "no gradient is taken in the cell"),
        ("g = jax.grad(lambda w: w.sum())(ws)\nprint(float(g[0, 0, 0]))\nh = jnp.sin(g)", "needs the value"),
    ],
)
def test_what_cannot_be_tried_is_said(cell: str, why: str) -> None:
    run = ran(cell, names())
    with pytest.raises((JaxnbError, Refused), match=why):
        run.remat()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"loss": "loss", "wrt": "ws", "remat": "dotz"}, "did you mean dots?"),
        ({"loss": "loss", "wrt": "ws", "remat": "attention"}, "calls values act"),
        ({"loss": "loss", "wrt": "ws", "remat": ("act", "dots")}, "dots: there is no"),
        ({"remat": "dots"}, "go with a gradient"),
        ({"loss": "y", "wrt": "ws", "remat": "dots"}, "a gradient is that of a single number"),
        ({"loss": "loss", "wrt": "n", "remat": "dots"}, "does not read"),
    ],
)
def test_bad_policies_lose_nothing(options: dict[str, Any], why: str) -> None:
    ns = names()
    before = dict(ns)
    with pytest.raises((JaxnbError, Refused)) as error:
        ran(WRITTEN, ns, **options)
    assert why in str(error.value)
    assert ns == before or {key: ns[key] is before[key] for key in before} and ns.keys() == before.keys()


def test_the_command(shell: Shell) -> None:
    assert "no cell has been staged" in shell.run("%jaxnb remat", ok=False)
    shell.run("%%jit\nloss = (w ** 2).sum()")
    shell.run("%jaxnb memory clear")
    for command in ("remat loss wrt w", "gradient", "collectives", "axes"):
        text = shell.run(f"%jaxnb {command}", ok=False)
        assert "nothing is known of the last run any more." in text and "%jaxnb memory clear has let go" in text
        assert "run the cell again" in text
    shell.run("%%jit\nloss = (w ** 2).sum()")
    assert "as it is" in shell.run("%jaxnb remat loss wrt w")
    shell.run("w = jnp.ones((16, 16))\nz = jnp.ones((8, 16))")
    shell.run("%%jit\nh = jnp.tanh(z @ w)\nloss = jnp.mean(h ** 2)\nn = z.shape[0]")
    text = shell.run("%jaxnb remat loss wrt w")
    assert "the gradient of loss wrt w" in text and "dots without batch" in text and "as it is" in text
    assert "wrt wants a name" in shell.run("%jaxnb remat loss wrt", ok=False)
    assert "did you mean loss" in shell.run("%jaxnb remat los wrt w", ok=False)
    assert "float32[8,16]" in shell.run("%jaxnb remat h wrt w", ok=False)
    assert "no gradient is taken" in shell.run("%jaxnb remat", ok=False)
    assert "--tim" in shell.run("%jaxnb remat loss wrt w --tim", ok=False)
    assert "time" in shell.run("%jaxnb remat loss wrt w --time")
    shell.run("%%grad loss wrt w --remat dots\nh = jnp.tanh(z @ w)\nloss = jnp.mean(h ** 2)")
    assert "d_w" in shell.ns
    assert "the gradient of loss wrt w" in shell.run("%jaxnb remat")


def test_a_run_without_its_names_says_so() -> None:
    with pytest.raises(JaxnbError, match="nothing was compiled"):
        Run().remat()


def test_modules_of_libraries_are_layers_too() -> None:
    nnx = pytest.importorskip("flax.nnx")
    eqx = pytest.importorskip("equinox")
    setup = """
class Block(nnx.Module):
    def __init__(self, rngs): self.l, self.d = nnx.Linear(8, 8, rngs=rngs), nnx.Dropout(0.1, rngs=rngs)
    def __call__(self, x, how="a"): return x + self.d(jnp.tanh(self.l(x)))
class Layer(eqx.Module):
    l: eqx.nn.Linear
    def __call__(self, x, n=2): return x + jnp.sin(jnp.tanh(self.l(x)))
class Model(nnx.Module):
    def __init__(self, rngs): self.blocks = nnx.List([Block(rngs) for _ in range(3)])
    def __call__(self, x):
        for b in self.blocks: x = b(x, "a")
        return x
model = Model(nnx.Rngs(0))
layers = [Layer(eqx.nn.Linear(8, 8, key=k)) for k in jax.random.split(jax.random.key(0), 3)]
z = jnp.ones((16, 8))
def through(layers, z):
    for one in layers: z = one(z)
    return z
"""
    ns = names()
    ns |= {"nnx": nnx, "eqx": eqx}
    exec(setup, ns)
    policies = ran("loss, grads = nnx.value_and_grad(lambda m, z: jnp.mean(m(z) ** 2))(model, z)", ns).remat()
    block = row(policies, "each Block.__call__")
    assert not block.why and block.kept < policies.now.kept and "@nnx.remat" in block.fix.text
    assert "nnx.remat(lambda m, z: jnp.mean(m(z) ** 2), policy=jax." in row(policies, "dots").fix.edit[2]
    through = "lambda m, z: jnp.mean(jax.vmap(lambda z: through(m, z))(z))"
    cell = f"loss, grads = eqx.filter_value_and_grad({through})(layers, z)"
    policies = ran(cell, ns).remat()
    layer = row(policies, "each Layer.__call__")
    assert not layer.why and layer.kept < policies.now.kept and "@eqx.filter_checkpoint" in layer.fix.text
    assert "eqx.filter_checkpoint(" in row(policies, "dots").fix.edit[2]


def test_nothing_is_said_or_written_again(tmp_path: Any, capsys: Any) -> None:
    run = ran(
        "print('before')\ngrads = jax.grad(lambda ws: jnp.sum(jnp.sin(x @ ws[0])))(ws)\nprint('after', x.shape)",
        names(),
    )
    said = capsys.readouterr().out
    run.remat()
    run.gradients()
    assert said.split() == ["before", "after", "(128,", "32)"] and capsys.readouterr().out == ""
    file = tmp_path / "log"
    run = ran(
        f"f = open({str(file)!r}, 'a'); f.write('x'); f.close()\ng = jax.grad(lambda w: jnp.sum(jnp.sin(w)))(x)",
        names(),
    )
    for look in (run.remat, run.gradients):
        with pytest.raises(Refused, match="line 1 would be run once more"):
            look()
    assert file.read_text() == "x"


def test_the_policy_of_a_run_is_as_it_is() -> None:
    run = ran(WRITTEN, names(), loss="loss", wrt="ws", remat="dots")
    policies = run.remat()
    assert (policies.now.flops, policies.now.peak) == (run.flops, run.memory)
    assert row(policies, "no policy").kept > policies.now.kept and not any(
        one.name == "dots" for one in policies.policies
    )
    for half in ({"loss": "loss"}, {"wrt": ("ws",)}):
        with pytest.raises(JaxnbError, match="a gradient wants"):
            run.remat(**half)


def test_the_cell_as_it_stands_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = list[Any]()
    compile_lowered = reading.compile_lowered

    def counted(lowered: Any) -> Any:
        compiled.append(lowered)
        return compile_lowered(lowered)

    run = ran(LAYERS, names())
    monkeypatch.setattr(reading, "compile_lowered", counted)
    first = run.remat()
    tried = len(first.possible)
    assert len(compiled) == tried - 1 and first.now.peak == run.memory
    assert run.remat(time=True).now.seconds is not None and len(compiled) == 2 * (tried - 1)
