"""`%%grad loss wrt w`: the cell and the derivatives of what it binds, against JAX's own."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from shells import Shell, shell

import jaxnb
from jaxnb import Refused
from jaxnb.errors import JaxnbError
from jaxnb.staging.trace.gradient import MOST_HESSIAN

__all__ = ["shell"]

SETUP = """
import functools
import jax, jax.numpy as jnp, numpy as np
from jax import lax
x = jnp.linspace(-1.0, 1.0, 6).reshape(2, 3)
w, b = jnp.linspace(0.5, 1.5, 6).reshape(3, 2), jnp.array([0.1, -0.2])
v = jnp.full((3, 2), 0.25)
params = {"w": w, "layers": [b, (b * 2, None)], "name": jnp.tanh}
n, lr, history, table, ints = 3, 0.5, [], np.linspace(0, 1, 6).reshape(3, 2), jnp.arange(3)
c = jnp.array([1 + 2j])

@jax.custom_vjp
def clipped(y):
    return y

clipped.defvjp(lambda y: (y, None), lambda _, g: (jnp.clip(g, -0.1, 0.1),))

def total():
    return jnp.sum(x @ w)

class Model:
    def __init__(self, w):
        self.w = w

model = Model(w)
"""


@pytest.fixture
def ns() -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, namespace)
    return namespace


def alike(a: Any, b: Any, tolerance: float = 1e-5) -> None:
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for one, other in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        assert jnp.shape(one) == jnp.shape(other) and one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def by_jax(namespace: dict[str, Any], cell: str, loss: str, wrt: list[str]) -> Any:
    """The gradients as `jax.grad` gives them of the cell as a function of the names."""

    def function(*values: Any) -> Any:
        inside = {**namespace, **dict(zip(wrt, values, strict=True))}
        exec(cell, inside)
        return inside[loss]

    return jax.grad(function, argnums=tuple(range(len(wrt))))(*(namespace[name] for name in wrt))


CELLS = {
    "plain": ("y = x @ w + b\nloss = jnp.mean(y**2)", ["w", "b"]),
    "bound again": ("w = jnp.sin(w)\nloss = jnp.sum(x @ w)", ["w"]),
    "twice": ("loss = jnp.sum(w)\nloss = loss * jnp.sum(x @ w)", ["w"]),
    "scan": (
        "def step(c, row):\n    return jnp.tanh(c + row @ w), c\nh, _ = lax.scan(step, b, x)\nloss = h.sum()",
        ["w", "b"],
    ),
    "loop": ("h = b\nfor _ in range(3):\n    h = jnp.sin(h)\nloss = h @ h", ["b"]),
    "cond": ("loss = lax.cond(jnp.sum(w) > 0, lambda: jnp.sum(w**2), lambda: jnp.sum(w))", ["w"]),
    "lambda": ("f = lambda v: jnp.sum(v @ w)\nloss = f(x) * f(2 * x)", ["w"]),
    "made function": ("def inner(v):\n    return jnp.sum(v @ w) ** 2\nf = jax.jit(inner)\nloss = f(x)", ["w"]),
    "jitted": ("f = jax.jit(lambda w: jnp.sum(jnp.tanh(x @ w)))\nloss = f(w)", ["w"]),
    "vmap": ("loss = jax.vmap(lambda row: jnp.sum(row @ w) ** 2)(x).mean()", ["w"]),
    "remat": ("loss = jax.checkpoint(lambda w: jnp.sum(jnp.sin(x @ w)))(w)", ["w"]),
    "own rule": ("loss = jnp.sum(clipped(x @ w) ** 2)", ["w"]),
    "stopped": ("loss = jnp.sum(lax.stop_gradient(w) * w)", ["w"]),
    "helper": ("def inner():\n    return jnp.sum(x @ w)\nloss = inner() ** 2", ["w"]),
    "inner gradient": ("g = jax.grad(lambda w: jnp.sum(jnp.sin(x @ w)))(w)\nloss = jnp.sum(g**2)", ["w"]),
    "pytree": ("h = jnp.tanh(x @ params['w'] + params['layers'][0]) * params['layers'][1][0]\nloss = h.sum()", ["wb"]),
    "python float": ("loss = jnp.sum(w) * lr**2", ["lr"]),
    "indexed": ("loss = w[1, 0] * 3 + w[0].sum()", ["w"]),
    "half": ("wh = w.astype(jnp.bfloat16)\nloss = jnp.sum(wh * 2)", ["w"]),
}


@pytest.mark.parametrize("name", CELLS)
def test_gradients_are_those_of_jax(ns: dict[str, Any], name: str) -> None:
    cell, wrt = CELLS[name]
    if wrt == ["wb"]:
        ns["params"], wrt = {"w": ns["w"], "layers": [ns["b"], (ns["b"] * 2, None)]}, ["params"]
    expected = by_jax(ns, cell, "loss", wrt)
    plain: dict[str, Any] = dict(ns)
    exec(cell, plain)
    entry = dict(ns)
    run = jaxnb.grad_cell(cell, ns, "loss", wrt)
    for by, gradient in zip(wrt, expected, strict=True):
        alike(ns[f"d_{by}"], gradient)
        assert run.outputs[f"d_{by}"] is ns[f"d_{by}"]
    np.testing.assert_allclose(ns["loss"], plain["loss"], rtol=1e-5)
    assert set(ns) - {"__builtins__"} == (set(plain) | {f"d_{by}" for by in wrt}) - {"__builtins__"}
    assert f"gradient of loss wrt {', '.join(wrt)}" in run.line
    ns.update({by: entry[by] for by in wrt})
    assert jaxnb.grad_cell(cell, ns, "loss", wrt).reused
    moved = {by: jax.tree.map(lambda leaf: leaf * 0.75, entry[by]) for by in wrt}
    ns.update(moved)
    expected = by_jax({**entry, **moved}, cell, "loss", wrt)
    jaxnb.grad_cell(cell, ns, "loss", wrt)
    for by, gradient in zip(wrt, expected, strict=True):
        alike(ns[f"d_{by}"], gradient)


@settings(max_examples=25, deadline=None, database=None, derandomize=True)
@given(
    steps=st.lists(st.sampled_from(["jnp.sin(y)", "y * w", "y + b", "jnp.tanh(y) * y", "y @ w.T @ w"]), max_size=4),
    wrt=st.lists(st.sampled_from(["w", "b", "y0"]), min_size=1, max_size=3, unique=True),
)
def test_made_up_cells(steps: list[str], wrt: list[str]) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP + "\nw, y0 = jnp.ones((2, 2)) * 0.3, x[:, :2] + 1", namespace)
    cell = "\n".join(["y = y0 * w[0] + b", *(f"y = {step}" for step in steps), "loss = jnp.sum(y**2)"])
    expected = by_jax(namespace, cell, "loss", wrt)
    jaxnb.grad_cell(cell, namespace, "loss", wrt)
    for by, gradient in zip(wrt, expected, strict=True):
        alike(namespace[f"d_{by}"], gradient, 1e-4)


def test_value_and_gradient(ns: dict[str, Any]) -> None:
    run = jaxnb.grad_cell("loss = jnp.sum(x @ w)\n'shown'", ns, "loss", "w", value_and=True)
    assert run.value[0] is ns["loss"] and run.value[1] is ns["d_w"]
    run = jaxnb.grad_cell("loss = jnp.sum(x @ w + b)", ns, "loss", ["w", "b"], value_and=True)
    assert run.value[1] == (ns["d_w"], ns["d_b"])
    assert jaxnb.grad_cell("loss = jnp.sum(x @ w)\n'shown'", ns, "loss", "w").value == "shown"
    assert jaxnb.grad_cell("loss = jnp.sum(x @ w);", ns, "loss", "w", value_and=True).value is None


def test_aux(ns: dict[str, Any]) -> None:
    expected = by_jax(ns, "y = x @ w\nloss = jnp.sum(y**2)", "loss", ["w"])
    run = jaxnb.grad_cell(
        "y = x @ w\nresult = jnp.sum(y**2), {'y': y}", ns, "result", "w", has_aux=True, value_and=True
    )
    alike(ns["d_w"], expected[0])
    assert run.value == (ns["result"], ns["d_w"]) and ns["result"][1]["y"] is ns["y"]


def test_along_a_direction(ns: dict[str, Any]) -> None:
    run = jaxnb.grad_cell("y = jnp.sin(x @ w)", ns, "y", "w", jvp="v")
    _, expected = jax.jvp(lambda w: jnp.sin(ns["x"] @ w), (ns["w"],), (ns["v"],))
    alike(ns["d_y"], expected)
    assert "derivative of y along v" in run.line and "d_w" not in ns
    ns["v"] = ns["v"] * 2
    assert jaxnb.grad_cell("y = jnp.sin(x @ w)", ns, "y", "w", jvp="v").reused
    alike(ns["d_y"], expected * 2)
    ns["u"] = ns["b"] * 3
    run = jaxnb.grad_cell("y = jnp.sin(x @ w) * b", ns, "y", ["w", "b"], jvp=["v", "u"], value_and=True)
    _, expected = jax.jvp(lambda w, b: jnp.sin(ns["x"] @ w) * b, (ns["w"], ns["b"]), (ns["v"], ns["u"]))
    alike(run.value[1], expected)


def test_hessian(ns: dict[str, Any]) -> None:
    def loss(w: Any, b: Any) -> Any:
        return jnp.sum(jnp.sin(ns["x"] @ w) * b**2)

    cell = "loss = jnp.sum(jnp.sin(x @ w) * b**2)"
    run = jaxnb.grad_cell(cell, ns, "loss", "w", hessian=True)
    alike(ns["dd_w"], jax.hessian(loss)(ns["w"], ns["b"]))
    assert "gradient and Hessian of loss wrt w" in run.line
    jaxnb.grad_cell(cell, ns, "loss", ["w", "b"], hessian=True)
    alike((ns["dd_w"], ns["dd_b"]), jax.hessian(loss, argnums=(0, 1))(ns["w"], ns["b"]))
    ns["p"] = {"a": ns["w"], "b": ns["b"]}
    jaxnb.grad_cell("loss = jnp.sum(jnp.sin(x @ p['a']) * p['b'] ** 2)", ns, "loss", "p", hessian=True)
    alike(ns["dd_p"], jax.hessian(lambda p: loss(p["a"], p["b"]))(ns["p"]))


def test_a_helper_of_another_cell_reads_it(ns: dict[str, Any]) -> None:
    jaxnb.grad_cell("loss = total() ** 2", ns, "loss", ["w", "x"])
    alike(ns["d_w"], 2 * jnp.sum(ns["x"] @ ns["w"]) * jnp.broadcast_to(ns["x"].sum(0)[:, None], (3, 2)), 1e-4)


def test_what_is_no_number_has_no_gradient(ns: dict[str, Any]) -> None:
    jaxnb.grad_cell("loss = jnp.sum(params['name'](params['w']))", ns, "loss", "params")
    assert ns["d_params"]["name"] is None and ns["d_params"]["layers"][1][1] is None
    alike(ns["d_params"]["w"], 1 - jnp.tanh(ns["w"]) ** 2)
    alike(ns["d_params"]["layers"][0], jnp.zeros(2))


def test_a_loss_that_does_not_depend_on_it_is_said(ns: dict[str, Any]) -> None:
    run = jaxnb.grad_cell("y = jnp.sum(w)\nloss = jnp.sum(b)", ns, "loss", ["w", "b"])
    alike(ns["d_w"], jnp.zeros((3, 2)))
    assert "`loss` does not depend on `w`, so that its gradient is zero" in run.line and "on `b`" not in run.line


def test_prints_around_it(ns: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    cell = "print(w.shape, 'before')\nloss = jnp.sum(x @ w)\nprint('after', loss.shape)\nhistory.append(loss)"
    for reused in (False, True):
        assert jaxnb.grad_cell(cell, ns, "loss", "w").reused is reused
        assert capsys.readouterr().out == "(3, 2) before\nafter ()\n"
    assert len(ns["history"]) == 2 and ns["history"][1] is ns["loss"]
    alike(ns["d_w"], by_jax(ns, "loss = jnp.sum(x @ w)", "loss", ["w"])[0])


def test_a_later_piece_may_use_what_earlier_ones_made(ns: dict[str, Any]) -> None:
    cell = "scale = float(jnp.sum(x)) + 2.0\nloss = jnp.sum(w) * scale\nnorm = float(w[0, 0])\nlog = loss * norm"
    jaxnb.grad_cell(cell, ns, "loss", "w")
    alike(ns["d_w"], jnp.full((3, 2), ns["scale"], jnp.float32), 1e-4)


@pytest.mark.parametrize(
    ("cell", "loss", "wrt", "options", "said"),
    [
        ("loss = jnp.sum(w)", "los", "w", {}, "did you mean loss?"),
        ("loss = jnp.sum(w)", "loss", "ww", {}, "did you mean w?"),
        ("loss = jnp.sum(w)", "loss", "b", {}, "does not read a value that `b` has when it begins"),
        ("w = b * 2\nloss = jnp.sum(w)", "loss", "w", {}, "does not read a value that `w` has when it begins"),
        ("loss = x @ w", "loss", "w", {}, "`loss`, bound on line 1, is float32[2,2]"),
        ("loss = jnp.sum(w).astype(int)", "loss", "w", {}, "`loss`, bound on line 1, is int32[]"),
        ("loss = jnp.sum(w) * c[0]", "loss", "w", {}, "take its real part"),
        ("loss = jnp.sum(w), 1", "loss", "w", {}, "with --has-aux the first item"),
        ("loss = jnp.sum(w)", "loss", "w", {"has_aux": True}, "no pair of a loss"),
        ("y = jnp.sum(w)\nloss = 3.0", "loss", "w", {}, "`loss`, bound on line 2, is a float"),
        ("loss = jnp.sum(w) * n", "loss", "n", {}, "it is the int 3"),
        ("loss = jnp.sum(w) + ints[0]", "loss", "ints", {}, "it is int32[3]"),
        ("loss = jnp.sum(w) + c[0].real", "loss", "c", {}, "it is complex64[1]"),
        ("loss = jnp.sum(w)", "loss", "w", {"static": "w"}, "take it out of --static"),
        ("loss = jnp.sum(model.w)", "loss", "model", {}, "it is a Model"),
        ("loss = jnp.sum(w)", "loss", "w", {"jvp": ["v", "v"]}, "2 directions for 1 name"),
        ("loss = jnp.sum(w)", "loss", "w", {"jvp": "b"}, "`w` holds float32[3,2]; `b` holds float32[2]"),
        ("loss = jnp.sum(w)", "loss", "w", {"jvp": "nowhere"}, "`nowhere`"),
        ("d_w = 1\nloss = jnp.sum(w)", "loss", "w", {}, "uses `d_w`"),
        ("loss = jnp.sum(w) * float(jnp.sum(w))", "loss", "w", {}, "line 1 on the host"),
        ("s = float(jnp.sum(w))\nloss = jnp.sum(w) * s", "loss", "w", {}, "line 1 makes outside of its program"),
        ("h = x @ w\nprint(h[0, 0] > 5)\nloss = jnp.sum(h)", "loss", "w", {}, "Python runs line 2 in between"),
        ("history.append(float(w[0, 0]))\nloss = jnp.sum(w) * history[0]", "loss", "w", {}, "`history`, which line 1"),
        (
            "def size():\n    return float(w[0, 0])\ns = size()\nloss = jnp.sum(w) * s",
            "loss",
            "w",
            {},
            "`s`, which line 3",
        ),
        ("for i in range(2):\n    loss = jnp.sum(w)\n    if loss > 1: break", "loss", "w", {}, "has no derivative"),
        ("loss = lr * 2", "loss", "lr", {}, "lr = jnp.asarray(lr)"),
    ],
)
def test_refused_with_the_reason(
    ns: dict[str, Any], cell: str, loss: str, wrt: str, options: dict[str, Any], said: str
) -> None:
    entry = {name: value for name, value in ns.items() if name != "__builtins__"}
    for _ in range(2):
        with pytest.raises(Refused) as caught:
            jaxnb.grad_cell(cell, ns, loss, wrt, **options)
        assert said in str(caught.value)
        assert {name: value for name, value in ns.items() if name != "__builtins__"} == entry and ns["history"] == []


def test_a_hessian_has_a_limit(ns: dict[str, Any]) -> None:
    side = int(MOST_HESSIAN**0.5)
    ns["large"] = jnp.ones(side + 1)
    with pytest.raises(Refused, match=r"would hold 16,785,409"):
        jaxnb.grad_cell("loss = jnp.sum(large**2)", ns, "loss", "large", hessian=True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"loss": "loss"}, "`wrt` is missing"),
        ({"wrt": "w"}, "`loss` is missing"),
        ({"hessian": True}, "go with a gradient"),
        ({"loss": "loss", "wrt": "w", "jvp": "v", "hessian": True}, "leave one of them out"),
    ],
)
def test_options_that_do_not_fit(ns: dict[str, Any], options: dict[str, Any], said: str) -> None:
    with pytest.raises(JaxnbError, match=said):
        jaxnb.stage("loss = jnp.sum(w)", ns, **options)


def test_donation_and_names_go_with_it(ns: dict[str, Any]) -> None:
    cell = "loss = jnp.sum((x @ w) ** 2)\nw = w * 0.5"
    expected = by_jax(ns, cell, "loss", ["w"])
    old = ns["w"] = jnp.array(ns["w"])
    del ns["params"], ns["model"]
    run = jaxnb.grad_cell(cell, ns, "loss", "w", donate="w", name="step")
    alike(ns["d_w"], expected[0])
    assert old.is_deleted() and run.donated == 24 and "as step(x, w)" in run.line


def test_in_a_shell(shell: Shell) -> None:
    text = shell.run("%%grad loss wrt w\nloss = jnp.sum((x @ w) ** 2)\nloss")
    assert "gradient of loss wrt w" in text and "Array(18., dtype=float32)" in text
    assert "(3, 2)" in shell.run("d_w.shape")
    assert "reused" in shell.run("%%grad loss wrt w\nloss = jnp.sum((x @ w) ** 2)\nloss")
    assert "gradient of loss wrt w" in shell.run("# jaxnb: grad loss wrt w --value-and\nloss = jnp.sum(x @ w)")
    text = shell.run("%%grad loss w\nloss = jnp.sum(x @ w)", ok=False)
    assert "%%grad loss w\n" in text and "^" in text and "write %%grad loss wrt w1, w2" in text
    assert "two headers" in shell.run("%%jit\n# jaxnb: grad loss wrt w\nloss = jnp.sum(x @ w)", ok=False)
    assert "line 3" in shell.run("%%grad loss wrt w\n\nloss = x @ w", ok=False)
