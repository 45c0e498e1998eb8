"""`%%xmap x[batch, i] -> y[batch]`: a cell with named axes, against the same computation on whole arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from shells import Shell, shell

import jaxnb
from jaxnb import BadHeader, NamedShape, Refused, SerialLoop, fake_mesh
from jaxnb.api import new_session
from jaxnb.errors import JaxnbError
from jaxnb.staging import use_session
from jaxnb.staging.session.session import Session

__all__ = ["shell"]

SETUP = """
import jax, jax.numpy as jnp, numpy as np
from jax.numpy import sum as total
images = jnp.linspace(-1.0, 1.0, 48).reshape(8, 6)
w1, w2 = jnp.linspace(-0.5, 1.0, 24).reshape(6, 4), jnp.linspace(1.0, -1.0, 40).reshape(4, 10)
labels = jnp.arange(8) % 10
params = {"w": w1, "b": jnp.linspace(0.0, 1.0, 4), "act": jnp.tanh, "deep": [{"v": w2}]}
n, scale, history = 2, 0.5, []

def helper(v):
    return jnp.sum(v)
"""


@pytest.fixture
def ns() -> Iterator[dict[str, Any]]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, namespace)
    namespace["mesh"] = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("x", "y"))
    use_session(new_session())
    yield namespace
    use_session(None)


def names(namespace: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in namespace.items() if name != "__builtins__"}


MODEL = """
hidden = jnp.tanh(jnp.dot(images, w1, 'inputs'))
logits = jnp.dot(hidden, w2, 'hidden')
right = jax.lax.axis_index('classes') == labels
chosen = jnp.sum(jnp.where(right, jnp.log_softmax(logits, 'classes'), 0), 'classes')
loss = -jnp.mean(chosen, 'batch')
loss
"""
MODEL_SPEC = "images[batch, inputs], w1[inputs, hidden], w2[hidden, classes], labels[batch] -> loss[]"

CELLS: dict[str, tuple[str, str, str]] = {
    "model": (
        MODEL,
        MODEL_SPEC,
        "loss = -jnp.mean(jax.nn.log_softmax(jnp.tanh(images @ w1) @ w2)[jnp.arange(8), labels])",
    ),
    "written order": ("y = images * 2", "images[batch, hidden] -> y[hidden, batch]", "y = (images * 2).T"),
    "several": (
        "a = jnp.max(images, 'batch')\nb = jnp.mean(images, ('batch', 'i'))",
        "images[batch, i] -> b[], a[i]",
        "a = images.max(0)\nb = images.mean()",
    ),
    "unnamed": (
        "y = jnp.cumsum(images, 0) + images[0]",
        "images[batch, _] -> y[batch, _]",
        "y = jnp.cumsum(images, 1) + images[:, :1]",
    ),
    "open": ("y = images.sum()", "images[batch, ...] -> y[batch]", "y = images.sum(1)"),
    "not listed": ("y = images @ w1", "images[batch, ...] -> y[batch, ...]", "y = images @ w1"),
    "paths": (
        "y = params['act'](jnp.dot(images, params['w'], 'i') + params['b'])",
        "images[batch, i], params.w[i, h], params.b[h] -> y[batch, h]",
        "y = jnp.tanh(images @ w1 + params['b'])",
    ),
    "trees": (
        "new = jax.tree.map(lambda v: v * 2, {'w': params['w'], 'deep': params['deep']})",
        "params.*[...], params.w[i, h], params.deep.0.v[h, c] -> new.w[h, i], new.*[h, c]",
        "new = {'w': w1.T * 2, 'deep': [{'v': w2 * 2}]}",
    ),
    "whole trees": (
        "new = jax.tree.map(lambda v: jnp.sum(v, 'h'), [params['b'], params['deep'][0]['v']])",
        "params.b[h], params['deep'][0].v[h, ...] -> new.*[...]",
        "new = [params['b'].sum(0), w2.sum(0)]",
    ),
    "collectives": (
        "up = jax.lax.ppermute(images, 'batch', [(k, (k + 1) % 8) for k in range(8)])\n"
        "y = jax.lax.psum(images, 'batch') - jnp.flip(jnp.sort(up, 'batch'), 'batch')",
        "images[batch, i] -> y[batch, i]",
        "y = images.sum(0) - jnp.sort(images, 0)[::-1]",
    ),
    "own functions": (
        "def f(v):\n    return v * bias\nbias = jnp.sum(images, 'batch')\ny = f(images)",
        "images[batch, i] -> y[batch, i]",
        "y = images * images.sum(0)",
    ),
    "given size": (
        "y = scale * jax.lax.axis_index('k') + w2[0, 0]",
        "-> y[k]",
        "y = scale * jnp.arange(8) + w2[0, 0]",
    ),
    "loop": (
        "y = images\nfor k in range(n):\n    y = jnp.sin(y) + jnp.mean(y, 'batch')",
        "images[batch, i] -> y[batch, i]",
        "y = images\nfor k in range(n):\n    y = jnp.sin(y) + jnp.mean(y, 0)",
    ),
    "scan": (
        "y, _ = jax.lax.scan(lambda c, _: (c + jnp.max(c, 'batch'), None), images, None, length=3)",
        "images[batch, i] -> y[batch, i]",
        "y, _ = jax.lax.scan(lambda c, _: (c + jnp.max(c, 0), None), images, None, length=3)",
    ),
    "gradient inside": (
        "y = jax.grad(lambda v: jnp.sin(v) * v)(images)",
        "images[batch, i] -> y[batch, i]",
        "y = jnp.sin(images) + images * jnp.cos(images)",
    ),
    "input bound again": ("images = images * n", "images[batch, i] -> images[batch, i]", "images = images * n"),
    "name read first": ("n = n + 1\ny = images * n", "images[batch, i] -> y[batch, i]", "y = images * 3"),
}
SIZES = {"given size": {"k": 8}}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_is_the_computation_on_whole_arrays(ns: dict[str, Any], name: str) -> None:
    cell, spec, plain = CELLS[name]
    expected = dict(ns)
    exec(plain, expected)
    bound = [term.partition("[")[0].partition(".")[0].strip() for term in spec.partition("->")[2].split("],")]
    entry = names(ns)
    first = "k" if name == "given size" else "h" if name == "whole trees" else None
    spread = first or ("i" if name == "trees" else "batch")
    schedules: list[dict[str, Any]] = [{}, {spread: "x"}, {spread: ("y", "x")}]
    if name in ("trees", "whole trees"):
        schedules = [{}, {spread: "y"}]
    for resources in schedules:
        for lowering in ("manual", "spmd"):
            ns.update(entry)
            run = jaxnb.xmap_cell(
                cell, ns, spec, sizes=SIZES.get(name), resources=resources, mesh="mesh", lowering=lowering
            )
            assert set(names(ns)) == set(entry) | set(bound) and set(run.outputs) == set(bound)
            for key in bound:
                assert jax.tree.structure(ns[key]) == jax.tree.structure(expected[key])
                for one, other in zip(jax.tree.leaves(ns[key]), jax.tree.leaves(expected[key]), strict=True):
                    assert isinstance(one, jax.Array) and one.shape == other.shape and one.dtype == other.dtype
                    np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
            assert {key: ns[key] for key in entry if key not in bound} == {
                key: value for key, value in entry.items() if key not in bound
            }


STEPS = {
    "jnp.sin(y)": "jnp.sin(y)",
    "y + jnp.mean(y, 'i')": "y + jnp.mean(y, 1, keepdims=True)",
    "y * jnp.max(y, 'batch')": "y * jnp.max(y, 0, keepdims=True)",
    "y - jnp.sum(y, ('batch', 'i'))": "y - jnp.sum(y)",
    "jnp.cumsum(y, 'batch')": "jnp.cumsum(y, 0)",
    "jnp.where(jax.lax.axis_index('i') > 2, y, -y)": "jnp.where(jnp.arange(6) > 2, y, -y)",
    "jnp.roll(y, 1, 'batch')": "jnp.roll(y, 1, 0)",
}
RESOURCES: list[dict[str, Any]] = [{}, {"batch": "x"}, {"batch": "y"}, {"batch": ("x", "y")}, {"i": "y", "batch": "x"}]


@settings(max_examples=15, deadline=None, database=None, print_blob=True)
@given(
    steps=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4),
    resources=st.sampled_from(RESOURCES),
    out=st.permutations(["batch", "i"]),
    simulated=st.booleans(),
)
@example(  # cancels so that rounding grows
    steps=["y - jnp.sum(y, ('batch', 'i'))", "y - jnp.sum(y, ('batch', 'i'))", "jnp.cumsum(y, 'batch')"],
    resources={"i": "y", "batch": "x"},
    out=["batch", "i"],
    simulated=False,
)
def test_made_up_cells(steps: list[str], resources: dict[str, Any], out: list[str], simulated: bool) -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, namespace)
    expected = made_up(steps, namespace, namespace["images"], out)
    # Sums that cancel make rounding grow: what a change in the last digits of the input does is no mistake.
    noise = 1 + 1e-6 * np.random.default_rng(0).choice([-1.0, 1.0], namespace["images"].shape).astype(np.float32)
    rounding = 20 * float(np.abs(made_up(steps, namespace, namespace["images"] * noise, out) - expected).max())
    mesh = fake_mesh(x=4, y=2) if simulated else Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("x", "y"))
    cell = "\n".join(["y = images", *(f"y = {step}" for step in steps)])
    spec = f"images[batch, i] -> y[{', '.join(out)}]"
    jaxnb.xmap_cell(cell, namespace, spec, resources=resources, mesh=mesh)
    np.testing.assert_allclose(namespace["y"], expected, rtol=1e-4, atol=max(1e-4, rounding))


def made_up(steps: list[str], namespace: dict[str, Any], y: Any, out: list[str]) -> Any:
    for step in steps:
        y = eval(STEPS[step], {**namespace, "y": y})
    return y if out == ["batch", "i"] else y.T


def test_loops(ns: dict[str, Any]) -> None:
    cell, spec = "y = jnp.sum(jnp.sin(images), 'i')", "images[batch, i] -> y[batch]"
    expected = jnp.sin(ns["images"]).sum(1)
    for resources in ({"batch": SerialLoop(4)}, {"batch": 2}, {"batch": ("x", SerialLoop(2)), "i": "y"}):
        run = jaxnb.xmap_cell(cell, ns, spec, resources=resources, mesh="mesh")
        np.testing.assert_allclose(ns["y"], expected, rtol=1e-5)
        assert "turns" in run.line
    with jaxnb.serial_loop("turns", 4):
        assert "batch:8 in 4 turns" in jaxnb.xmap_cell(cell, ns, spec, resources={"batch": "turns"}).line
    with pytest.raises(Refused, match="no resource here"):
        jaxnb.xmap_cell(cell, ns, spec, resources={"batch": "turns"})


# --- what is promised of every staged cell -------------------------------------------------------------------------


def test_it_is_reused_and_new_values_count(ns: dict[str, Any]) -> None:
    run = jaxnb.xmap_cell(MODEL, ns, MODEL_SPEC, resources={"batch": "x"}, mesh="mesh")
    assert not run.reused and run.pieces == 1 and not run.host_lines
    before = ns["loss"]
    ns["w1"], ns["scale"] = ns["w1"] * 2, 0.25
    run = jaxnb.xmap_cell(MODEL, ns, MODEL_SPEC, resources={"batch": "x"}, mesh="mesh")
    assert run.reused and "reused" in run.line
    plain = dict(ns)
    exec(CELLS["model"][2], plain)
    np.testing.assert_allclose(ns["loss"], plain["loss"], rtol=1e-5)
    assert float(before) != float(ns["loss"])


def test_another_size_or_helper_traces_again(ns: dict[str, Any]) -> None:
    cell, spec = "y = images * jnp.sum(images, 'batch') + helper(images)", "images[batch, ...] -> y[batch, ...]"
    jaxnb.xmap_cell(cell, ns, spec)
    ns["images"] = ns["images"][:4]
    run = jaxnb.xmap_cell(cell, ns, spec)
    assert not run.reused and "images float32[8,6] → float32[4,6]" in run.line
    exec("def helper(v):\n    return jnp.max(v)", ns)
    run = jaxnb.xmap_cell(cell, ns, spec)
    assert not run.reused
    images = ns["images"]
    np.testing.assert_allclose(ns["y"], images * images.sum(0) + images.max(1, keepdims=True), rtol=1e-5)


def test_the_mesh_is_part_of_the_program(ns: dict[str, Any]) -> None:
    cell, spec = "y = jnp.sum(images, 'batch')", "images[batch, i] -> y[i]"
    with jax.set_mesh(ns["mesh"]):
        assert "batch:8 on x" in jaxnb.xmap_cell(cell, ns, spec, resources={"batch": "x"}).line
        assert jaxnb.xmap_cell(cell, ns, spec, resources={"batch": "x"}).reused
    ns["mesh"] = fake_mesh(x=2)
    run = jaxnb.xmap_cell(cell, ns, spec, resources={"batch": "x"}, mesh="mesh")
    assert not run.reused
    ns["mesh"] = fake_mesh(x=8)
    assert not jaxnb.xmap_cell(cell, ns, spec, resources={"batch": "x"}, mesh="mesh").reused
    ns["mesh"] = fake_mesh(x=2)
    assert jaxnb.xmap_cell(cell, ns, spec, resources={"batch": "x"}, mesh="mesh").reused


@pytest.mark.parametrize(
    "cell",
    [
        "y = images * 2\nz = nowhere",
        "y = images * 2\nhistory.append(1)\nraise ValueError('no')",
        "params['w'] = 3\ny = jnp.sum(images, 'nowhere')",
        "y = jnp.zeros(3) + jnp.zeros(4)",
        "y = images * 2\nassert False",
    ],
)
def test_a_failure_leaves_everything_as_it_was(ns: dict[str, Any], cell: str) -> None:
    ns["y"] = old = jnp.ones(2)
    entry, params = names(ns), dict(ns["params"])
    with pytest.raises((NameError, ValueError, TypeError, AssertionError, JaxnbError)):
        jaxnb.xmap_cell(cell, ns, "images[batch, i] -> y[batch, i]")
    assert names(ns) == entry and ns["y"] is old and ns["history"] == [] and ns["params"] == params
    jaxnb.xmap_cell("y = images", ns, "images[batch, i] -> y[batch, i]")


def test_a_failing_dispatch_leaves_everything_as_it_was(ns: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from jaxnb.staging.session import strategy

    def fail(*_: Any) -> Any:
        raise RuntimeError("out of memory")

    entry = names(ns)
    monkeypatch.setattr(strategy, "dispatch", fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        jaxnb.xmap_cell(MODEL, ns, MODEL_SPEC)
    assert names(ns) == entry


def test_what_the_options_of_jit_do(ns: dict[str, Any]) -> None:
    spec = "images[batch, i] -> y[batch, i], z[i]"
    cell = "y = images * n\nz = jnp.sum(images, 'batch')"
    run = jaxnb.xmap_cell(cell, ns, spec, keep="z")
    assert "y" not in ns and list(run.outputs) == ["z"]
    del ns["params"]
    old = ns["images"] = jnp.array(ns["images"])
    run = jaxnb.xmap_cell(
        "images = images + 1", ns, "images[batch, i] -> images[batch, i]", donate="images", block=True
    )
    assert old.is_deleted() and run.donated == old.nbytes and run.timings.run is not None
    run = jaxnb.xmap_cell("y = images * n", ns, "images[batch, i] -> y[batch, i]", dynamic="n")
    ns["n"] = 5
    assert jaxnb.xmap_cell("y = images * n", ns, "images[batch, i] -> y[batch, i]", dynamic="n").reused
    np.testing.assert_allclose(ns["y"], ns["images"] * 5, rtol=1e-6)
    with pytest.raises(Refused, match="device"):
        jaxnb.xmap_cell(
            "y = images", ns, "images[batch, i] -> y[batch, i]", device="cpu:1", resources={"batch": "x"}, mesh="mesh"
        )
    jaxnb.xmap_cell("y = images", ns, "images[batch, i] -> y[batch, i]", device="cpu:1")
    assert ns["y"].devices() == {jax.devices()[1]}


def test_effects_are_not_replayed_silently(ns: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    cell = "print('traced')\ny = images"
    for _ in range(2):
        run = jaxnb.xmap_cell(cell, ns, "images[batch, i] -> y[batch, i]")
        assert not run.reused and "not reusable" in run.line
        assert "traced" in capsys.readouterr().out
    run = jaxnb.xmap_cell("history.append(n)\ny = images", ns, "images[batch, i] -> y[batch, i]")
    run = jaxnb.xmap_cell("history.append(n)\ny = images", ns, "images[batch, i] -> y[batch, i]")
    assert run.reused and ns["history"] == [2, 2]


def test_without_jit_it_runs_plainly(ns: dict[str, Any]) -> None:
    with jax.disable_jit():
        run = jaxnb.xmap_cell(MODEL, ns, MODEL_SPEC)
    assert "JAX_DISABLE_JIT" in run.line
    plain = dict(ns)
    exec(CELLS["model"][2], plain)
    np.testing.assert_allclose(ns["loss"], plain["loss"], rtol=1e-5)


# --- names and values ----------------------------------------------------------------------------------------------


def test_numpy_means_the_named_one_in_the_body_only(ns: dict[str, Any]) -> None:
    cell = (
        "import jax.numpy as q\nfrom jax import numpy as r\nfrom jax.numpy import max as largest\n"
        "y = total(images, 'batch') + q.mean(images, 'batch') + r.min(images, 'batch') + largest(images, 'batch')\n"
        "z = jax.numpy.sum(images, 'batch')"
    )
    jaxnb.xmap_cell(cell, ns, "images[batch, i] -> y[i], z[i]")
    images = ns["images"]
    np.testing.assert_allclose(ns["y"], images.sum(0) + images.mean(0) + images.min(0) + images.max(0), rtol=1e-5)
    assert ns["jnp"] is jnp and ns["total"] is jnp.sum and not {"q", "r", "largest"} & ns.keys()
    exec("def along(v):\n    return jnp.cumsum(v, 'batch')", ns)
    with pytest.raises(Exception, match="batch|axis|integer"):
        jaxnb.xmap_cell("y = along(images)", ns, "images[batch, i] -> y[batch, i]")


def test_the_last_line_is_shown(ns: dict[str, Any]) -> None:
    spec = "images[batch, i] -> y[i]"
    run = jaxnb.xmap_cell("y = jnp.sum(images, 'batch')\ny", ns, spec)
    assert run.value is ns["y"] and run.value.shape == (6,)
    run = jaxnb.xmap_cell("y = jnp.sum(images, 'batch')\n{'y': y, 'n': n, 'shape': images.shape}", ns, spec)
    assert run.value["y"] is ns["y"] and run.value["n"] == 2 and run.value["shape"] == ()
    assert jaxnb.xmap_cell("y = jnp.sum(images, 'batch')\ny;", ns, spec).value is None
    with pytest.raises(Refused, match="stands at one position only"):
        jaxnb.xmap_cell("y = jnp.sum(images, 'batch')\nimages", ns, spec)
    cell = "from jaxnb import named_shape\ny = jnp.sum(images, 'batch')\nnamed_shape(y), named_shape(images)"
    run = jaxnb.xmap_cell(cell, ns, spec)
    assert run.value == (NamedShape(i=6), NamedShape(batch=8, i=6))
    for change in ("history.append(1)", "params['w'] = 1"):
        with pytest.raises(Refused, match="changes objects in place"):
            jaxnb.xmap_cell(f"{change}\n{cell}", ns, spec)
    assert ns["history"] == [] and ns["params"]["w"] is ns["w1"]


def test_the_line_says_what_happened(ns: dict[str, Any]) -> None:
    line = jaxnb.xmap_cell(MODEL, ns, MODEL_SPEC, resources={"batch": "x", "hidden": "y"}, mesh="mesh").line
    assert "4 inputs → 1 name" in line
    assert "batch:8 on x, inputs:6, hidden:4 on y, classes:10" in line
    assert "dot ×2 over inputs, hidden" in line and "over classes, batch" in line
    line = jaxnb.xmap_cell("y = images", ns, "images[batch, i] -> y[batch, i]").line
    assert "batch:8, i:6" in line and " over " not in line


def test_arrays_that_are_spread_otherwise_are_not_copied_silently(ns: dict[str, Any]) -> None:
    mesh, cell, spec = ns["mesh"], "y = images * 2", "images[batch, i] -> y[batch, i]"
    ns["images"] = jax.device_put(ns["images"], NamedSharding(mesh, PartitionSpec("x")))
    run = jaxnb.xmap_cell(cell, ns, spec, resources={"batch": "x"}, mesh="mesh")
    assert ns["y"].sharding.is_equivalent_to(NamedSharding(mesh, PartitionSpec("x")), 2) and not run.reused
    ns["images"] = jax.device_put(ns["images"], NamedSharding(mesh, PartitionSpec("y")))
    with pytest.raises(Refused, match="is spread as"):
        jaxnb.xmap_cell(cell, ns, spec, resources={"batch": "x"}, mesh="mesh")


@pytest.mark.parametrize(
    ("cell", "spec", "options", "said"),
    [
        ("y = images", "images[batch] -> y[batch]", {}, "`images` has 2 dimensions; its brackets have 1"),
        ("y = images", "images[batch, i] -> y[batch]", {}, "`y` varies over 'i', which is not in its brackets"),
        ("y = images", "images[batch, i] -> z[batch]", {}, "does not bind `z`"),
        ("y = images", "images[batch, i] -> yy[batch]", {}, "did you mean y?"),
        ("y = images", "image[batch, i] -> y[batch, i]", {}, "did you mean images?"),
        ("y = images", "images[batch, i] -> y[batch, i, _]", {}, "`y` has 0 dimensions besides its names"),
        ("y = 1", "images[a, b], w1[a, c] -> y[]", {}, "a has size 8 in `images` and 6 in `w1`"),
        ("y = 1", "images[a, b] -> y[]", {"sizes": {"a": 3}}, "a has size 3 in --sizes and 8 in `images`"),
        ("y = 1", "params[...] -> y[]", {}, "write params.*[...]"),
        ("y = 1", "params.ww[...] -> y[]", {}, "did you mean w?"),
        ("y = 1", "params.act[...] -> y[]", {}, "only arrays and numbers have dimensions"),
        ("y = params", "images[...] -> y.w[...]", {}, "is not in the header"),
        ("y = 'text'", "images[...] -> y[]", {}, "`y` is a str"),
        ("y = jnp.sum(images, 'bacth')", "images[batch, i] -> y[i]", {}, "did you mean 'batch'?"),
        ("if images > 0:\n    y = 1", "images[batch, i] -> y[]", {}, "line 1 needs a value"),
        ("y = float(images)", "images[batch, i] -> y[]", {}, "line 1 needs a value"),
        ("def f():\n    global y\n    y = 1\ny = 2", "images[...] -> y[]", {}, "line 2 declares `y` global"),
        ("y = images", "images[a, b] -> y[a, b]", {"resources": {"a": "x"}}, "set one in a cell above"),
        ("y = images", "images[a, b] -> y[a, b]", {"resources": {"a": "z"}, "mesh": "mesh"}, "no resource here"),
        ("y = images", "images[a, b] -> y[a, b]", {"resources": {"b": "x"}, "mesh": "mesh"}, "not divisible by 4"),
        ("y = images", "images[a, b] -> y[a, b]", {"resources": {"a": ("x", "x")}, "mesh": "mesh"}, "'x' twice"),
        ("y = images", "images[a, b] -> y[a, b]", {"resources": {"a": "y", "b": "y"}, "mesh": "mesh"}, "share"),
        ("y = images", "images[a, b] -> y[a, b]", {"mesh": "meshh"}, "did you mean mesh?"),
        (
            "y = jnp.sum(images, 'a')",
            "images[a, b] -> y[b]",
            {"resources": {"a": 4}},
            "goes turn by turn through a loop",
        ),
    ],
)
def test_refused_with_the_reason(ns: dict[str, Any], cell: str, spec: str, options: dict[str, Any], said: str) -> None:
    entry = names(ns)
    for _ in range(2):
        with pytest.raises(Refused) as caught:
            jaxnb.xmap_cell(cell, ns, spec, **options)
        assert said in str(caught.value)
        assert names(ns) == entry


def test_options_that_do_not_go_together(ns: dict[str, Any]) -> None:
    with pytest.raises(JaxnbError, match="no gradient of its own"):
        jaxnb.xmap_cell("y = images", ns, "images[...] -> y[...]", loss="y", wrt="images")
    with pytest.raises(BadHeader, match="there is no lowering"):
        jaxnb.xmap_cell("y = images", ns, "images[...] -> y[...]", lowering="gspmd")


# --- in a shell ----------------------------------------------------------------------------------------------------


def test_in_a_shell(shell: Shell) -> None:
    cell = "y = jnp.dot(x, w, 'i')\ny"
    text = shell.run(f"%%xmap x[i], w[i, j] -> y[j] -o run\n{cell}")
    assert "Array([3., 3.], dtype=float32)" in text and "i:3, j:2" in text and "dot over i" in text
    assert "Run" in shell.run("type(run)") and "(2,)" in shell.run("y.shape")
    assert "reused" in shell.run(f"# jaxnb: xmap x[i], w[i, j] -> y[j]\n{cell}")
    assert "reused" in shell.run(f"%%xmap\n#: x[i], w[i, j]\n#: -> y[j]\n{cell}")
    assert "traced only" in shell.run(f"%%jaxpr\n# jaxnb: xmap x[i], w[i, j] -> y[j]\n{cell}")
    assert "two headers" in shell.run(f"%%jit\n# jaxnb: xmap x[i], w[i, j] -> y[j]\n{cell}", ok=False)
    assert "xmap" in shell.run("run.program.level('jaxpr')")


@pytest.mark.parametrize(
    ("header", "word", "said"),
    [
        ("x[i], w[i, j] -> y[]", "y[]", "varies over 'j'"),
        ("x[i], w[i, j] -> y[k]", "k", "no input has the name k"),
        ("x[i], w[i, j] -> y[j] --resources j=q", "j=q", "no resource here"),
        ("x[i], w[i, j] -> y[j] --resources j=loop(4)", "j=loop(4)", "not divisible by 4"),
        ("x[i], w[j, i] -> y[j]", "i] -> y", "has size 3"),
        ("x[i], w[i] -> y[i]", "w[i]", "has 2 dimensions"),
        ("x[i], ww[i, j] -> y[j]", "ww[i, j]", "did you mean w?"),
        ("x[i], w[i, j] -> z[j]", "z[j]", "does not bind `z`"),
    ],
)
def test_errors_point_at_the_word(shell: Shell, header: str, word: str, said: str) -> None:
    text = shell.run(f"%%xmap {header}\ny = jnp.dot(x, w, 'i')", ok=False)
    lines = text.splitlines()
    at = next(index for index, line in enumerate(lines) if "^" in line and set(line) <= {" ", "^"})
    shown, caret = lines[at - 1], lines[at]
    assert shown == f"    %%xmap {header}" and said in text and "Traceback" not in text
    assert shown[caret.index("^") :].startswith(word.partition("] ->")[0])


def test_a_line_of_the_cell_is_named(shell: Shell) -> None:
    text = shell.run("%%xmap x[i], w[i, j] -> y[j]\n\ny = jnp.dot(x, w, 'k')", ok=False)
    assert "line 3: " in text and "'k' is not bound here" in text
    text = shell.run("%%xmap x[i], w[i, j] -> y[]\n\n\ny = jnp.dot(x, w, 'i')", ok=False)
    assert "the result was made at line 4" in text
    assert "line 2" in shell.run("%%xmap x[i] -> y[i]\ny = x.nothing", ok=False)
