"""Cells with named axes as files and as functions: run on their own, they give what the cell gave."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh
from shells import Shell, shell
from test_xmap_magic import CELLS, SETUP, SIZES

import jaxnb
from jaxnb import Refused, SerialLoop, fake_mesh
from jaxnb.api import new_session
from jaxnb.staging import use_session
from jaxnb.staging.session.session import Session

__all__ = ["shell"]

ARRAYS_ONLY = "params = {'w': w1, 'b': params['b'], 'deep': [{'v': w2}]}\n"


@pytest.fixture
def ns() -> Iterator[dict[str, Any]]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP + ARRAYS_ONLY, namespace)
    namespace["mesh"] = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("x", "y"))
    use_session(new_session())
    yield namespace
    use_session(None)


def call(made: Any, namespace: dict[str, Any], parameters: list[str], **options: Any) -> Any:
    return made(*(namespace[item] for item in parameters), **options)


def same(one: Any, other: Any) -> None:
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("spread", [False, True])
@pytest.mark.parametrize("name", CELLS)
def test_the_file_gives_what_the_cell_gave(ns: dict[str, Any], name: str, spread: bool) -> None:
    cell, spec, _ = CELLS[name]
    cell = cell.replace("params['act']", "jnp.tanh")
    entry = dict(ns)
    resources = {"batch": "x"} if spread and "[batch" in spec else {}
    run = jaxnb.xmap_cell(cell, ns, spec, sizes=SIZES.get(name), resources=resources, mesh="mesh")
    text = run.to_source("step")
    module: dict[str, Any] = {"__name__": "step"}
    exec(compile(text, "step.py", "exec"), module)
    parameters = [item for item in module["step"].__wrapped__.__code__.co_varnames if item in entry]
    count = module["step"].__wrapped__.__code__.co_argcount
    given = call(module["step"], entry, parameters[:count], **({"mesh": ns["mesh"]} if resources else {}))
    assert set(given) == set(run.outputs)
    for key, value in given.items():
        same(value, ns[key])
    assert "jaxnb.named" not in text and "StageOptions" not in text


@pytest.mark.parametrize("name", CELLS)
def test_the_function_gives_what_the_cell_gave(ns: dict[str, Any], name: str) -> None:
    cell, spec, _ = CELLS[name]
    cell, before = cell.replace("params['act']", "jnp.tanh"), dict(ns)
    jaxnb.xmap_cell(cell, ns, spec, sizes=SIZES.get(name), name="step")
    step = ns.pop("step")
    parameters = list(step.__code__.co_varnames[: step.__code__.co_argcount])
    after, bound = dict(ns), [item for item in ns if item not in before or ns[item] is not before[item]]
    given = call(step, before, parameters)
    assert ns == after
    results = given if len(bound) > 1 else {bound[0]: given}
    for key in bound:
        same(results[key], ns[key])


def test_functions_compose(ns: dict[str, Any]) -> None:
    spec = "images[batch, i], w1[i, h] -> loss[]"
    run = jaxnb.xmap_cell("loss = jnp.sum(jnp.tanh(jnp.dot(images, w1, 'i')), ('batch', 'h'))", ns, spec, name="f")
    assert "f(images, w1)" in run.line
    f, images, w1 = ns["f"], ns["images"], ns["w1"]

    def plain(images: Any, w1: Any) -> Any:
        return jnp.sum(jnp.tanh(images @ w1))

    same(jax.grad(f, 1)(images, w1), jax.grad(plain, 1)(images, w1))
    same(
        jax.jit(jax.vmap(f, (None, 0)))(images, jnp.stack([w1, 2 * w1])),
        jax.vmap(plain, (None, 0))(images, jnp.stack([w1, 2 * w1])),
    )
    jaxnb.xmap_cell("loss = jnp.sum(jnp.tanh(jnp.dot(images, w1, 'i')), ('batch', 'h'))", ns, spec, name="f")
    assert ns["f"] is f


def test_helpers_read_what_they_are_given(ns: dict[str, Any]) -> None:
    jaxnb.stage("def helper(v):\n    return jnp.sum(v)\n\ndef shifted(v):\n    return helper(v) + scale * w2[0, 0]", ns)
    cell = "y = shifted(images) * jnp.sum(images, 'batch')  # a comment"
    run = jaxnb.xmap_cell(cell, ns, "images[batch, i] -> y[batch, i]", name="f")
    text = run.to_source()
    assert "# a comment" in text and text.index("import jax.numpy as jnp") < text.index("def helper")
    module: dict[str, Any] = {}
    exec(text, module)
    images, w2 = ns["images"], ns["w2"]
    for made in (lambda *args: module["cell"](*args)["y"], ns["f"]):
        same(made(images, w2), ns["y"])
        same(made(images, w2 + 1), (images + 0.5 * (w2[0, 0] + 1)) * images.sum(0))
    assert "scale = 0.5" in text  # a number that only a helper reads


def test_resources_are_written_down(ns: dict[str, Any]) -> None:
    cell, spec = "y = jnp.sin(images)", "images[batch, i] -> y[batch, i]"
    for resources, mesh, said in (
        ({"batch": SerialLoop(4)}, None, "axis_resources={'batch': SerialLoop(4)}"),
        ({"batch": ("x", 2)}, fake_mesh(x=4), "axis_resources={'batch': ('x', SerialLoop(2))}"),
        ({"batch": ("y", "x")}, "mesh", "axis_resources={'batch': ('y', 'x')}"),
    ):
        text = jaxnb.xmap_cell(cell, ns, spec, resources=resources, mesh=mesh).to_source()
        assert said in text.replace('"', "'")
        module: dict[str, Any] = {}
        exec(text, module)
        options = {"mesh": ns["mesh"]} if mesh == "mesh" else {}
        same(module["cell"](ns["images"], **options)["y"], ns["y"])
    with jax.set_mesh(ns["mesh"]):
        same(module["cell"](ns["images"])["y"], ns["y"])
    with jaxnb.serial_loop("turns", 4):
        run = jaxnb.xmap_cell(cell, ns, spec, resources={"batch": "turns"})
    assert "SerialLoop(4)" in run.to_source()
    text = jaxnb.xmap_cell(cell, ns, spec, resources={"batch": "x"}, mesh="mesh", lowering="spmd").to_source()
    assert "lowering='spmd'" in text.replace('"', "'")


def test_the_file_runs_in_a_process_of_its_own(ns: dict[str, Any], tmp_path: Any) -> None:
    cell, spec, _ = CELLS["model"]
    text = jaxnb.xmap_cell(cell, ns, spec).to_source("model")
    more = "\nimport jax.numpy as jnp\n" + SETUP.replace("import jax, jax.numpy as jnp, numpy as np", "")
    file = tmp_path / "model.py"
    file.write_text(f"{text}{more}\nprint(float(model(images, w1, w2, labels)['loss']))\n")
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    np.testing.assert_allclose(float(done.stdout), ns["loss"], rtol=1e-5)


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("history.append(n)\ny = images", "changes objects in place"),
        ("print('traced')\ny = images", "another run would not be the same|print"),
        ("def bias(v):\n    return v\nmesh = bias(images)\ny = mesh", "exported file needs that name"),
    ],
)
def test_refused_with_the_reason(ns: dict[str, Any], cell: str, said: str) -> None:
    del ns["mesh"]
    run = jaxnb.xmap_cell(cell, ns, "images[batch, i] -> y[batch, i]")
    with pytest.raises(Refused, match=said):
        run.to_source()


def test_a_tree_that_holds_a_function_is_refused(ns: dict[str, Any]) -> None:
    ns["params"] = {"w": ns["w1"], "act": jnp.tanh}
    cell = "y = params['act'](jnp.dot(images, params['w'], 'i'))"
    run = jaxnb.xmap_cell(cell, ns, "images[batch, i], params.w[i, h] -> y[batch, h]", name="f")
    same(ns["f"](ns["images"], ns["params"]), ns["y"])
    with pytest.raises(Refused, match="`params` holds a"):
        run.to_source()


def test_in_a_shell(shell: Shell) -> None:
    text = shell.run("%%xmap x[i], w[i, j] -> y[j] --name forward\ny = jnp.dot(x, w, 'i')\ny")
    assert "forward(x, w)" in text
    assert "(2,)" in shell.run("forward(x, 2 * w).shape")
    text = shell.run("import jaxnb\nprint(jaxnb.last().to_source('step'))")
    assert "def step(x, w):" in text and "in_axes=(" in text and "import jaxnb.numpy as jnp" in text
