"""What the user calls the inputs and results of a program: the name and the way to the leaf, as one would type it."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest
from models.steps import STEPS

import jaxnb
from jaxnb.program import Computation, Program
from jaxnb.staging.objects.paths import is_below, item_keys, render_path, render_paths


def entry_of(program: Program, level: str = "jaxpr") -> Computation:
    return program.level(level).computations[0]


def staged(cell: str, **names: Any) -> Program:
    return jaxnb.stage(cell, {"jax": jax, "jnp": jnp, **names}).program


@pytest.mark.parametrize("name", STEPS)
def test_every_value_of_a_step_has_a_name(name: str) -> None:
    step = STEPS[name]
    names = step.names()
    run = jaxnb.stage(step.cell, names)
    program = run.program
    entry = entry_of(program)
    assert all(entry.input_names) and all(entry.output_names)
    for some in (entry.input_names, entry.output_names):
        assert len(set(some)) == len(some)
    for level in ("stablehlo", "jaxpr"):
        assert entry_of(program, level).output_names == entry.output_names
    for text, value in zip(entry.output_names, entry.outputs, strict=True):
        aval = program.level("jaxpr").values[value].aval
        assert aval is not None
        assert eval(text, {**names, "_": run.value}).shape == aval.shape, text  # the user may type it as it stands


@pytest.mark.parametrize(
    ("name", "inputs", "outputs"),
    [
        (
            "transformer",
            [
                "model.blocks[0].attn.key.bias",
                "opt.opt_state[1][0].count",
                "opt.opt_state[1][0].mu['blocks'][0]['down']['kernel']",
            ],
            [
                "loss",
                "grads['blocks'][0]['attn']['key']['kernel']",
                "model.blocks[1].up.kernel",
                "opt.step",
                "opt.opt_state[1][0].nu['head']['bias']",
            ],
        ),
        ("linen", ["state[0].mu['params']['head']['kernel']"], ["state[0].count", "params['params']['head']['bias']"]),
        ("mixer", ["model.norm.weight"], ["grads.layers[0].layers[1].bias"]),
        ("haiku", ["params['mlp/~/linear_0']['w']"], ["grads['mlp/~/linear_0']['w']"]),
        ("scan and checkpoint", ["params['layers']['up']"], ["value", "params['layers']['up']"]),
    ],
)
def test_names_of_steps(name: str, inputs: list[str], outputs: list[str]) -> None:
    step = STEPS[name]
    entry = entry_of(jaxnb.stage(step.cell, step.names()).program)
    assert set(inputs) <= set(entry.input_names)
    assert set(outputs) <= set(entry.output_names)


class Pair(NamedTuple):
    left: Any
    right: Any


class Counted:
    def __init__(self) -> None:
        self._value = jnp.ones(3)
        self.seen: list[Any] = []

    def step(self, x: Any) -> None:
        self._value = self._value + x
        self.seen.append(self._value * 2)


@pytest.mark.parametrize(
    ("cell", "outputs"),
    [
        ("y = x + 1", ["y"]),
        ("y = {'a': (x + 1, [x + 2])}", ["y['a'][0]", "y['a'][1][0]"]),
        ("y = Pair(x + 1, {0: x + 2})", ["y.left", "y.right[0]"]),
        ("y = {'a': x + 1}\nz = y['a']", ["z"]),
        ("y = {'a': {'b': x + 1}}\nz = {'c': y['a']['b']}", ["z['c']"]),
        ("counted.step(x)", ["counted._value", "counted.seen[-1]"]),
        ("d['new'] = x + 1\nd['old'] += 1", ["d['new']", "d['old']"]),
        ("x + 1", [""]),
        ("y = x + 1\n{'a': y, 'b': x + 2}", ["y", "_['b']"]),
    ],
)
def test_names_of_results(cell: str, outputs: list[str]) -> None:
    names = {"x": jnp.ones(3), "Pair": Pair, "counted": Counted(), "d": {"old": jnp.zeros(3)}}
    found = entry_of(staged(cell, **names)).output_names or ("",)
    assert sorted(found) == sorted(outputs)


def test_names_of_derivatives() -> None:
    names = {"w": {"a": jnp.ones(3), "b": jnp.ones(3)}, "x": jnp.ones(3), "jnp": jnp}
    run = jaxnb.grad_cell("loss = jnp.sum(w['a'] * x + w['b'])", names, "loss", "w")
    assert entry_of(run.program).output_names == ("loss", "d_w['a']", "d_w['b']")


def test_memory_says_the_names_of_results() -> None:
    step = STEPS["scan and checkpoint"]
    run = jaxnb.stage(step.cell, step.names())
    (memory,) = run.program.memory()
    made = {held.name for held in memory.held if held.kind == "output"}
    assert {"value", "params['layers']['up']"} <= made


def test_what_a_library_keeps_to_itself_is_told_where_it_tells_apart() -> None:
    root = (None, "name", "rngs")
    from jaxnb.staging.cells.referents import attribute_key

    paths = [(root, "attr", attribute_key(jax.sharding.Mesh, name)) for name in ("_one", "_two")]
    assert [render_path(path) for path in paths] == ["rngs", "rngs"]
    assert render_paths(paths) == ["rngs._one", "rngs._two"]
    assert render_paths(paths[:1]) == ["rngs"]
    assert is_below(paths[0], "rngs._one") and is_below(paths[0], "rngs") and not is_below(paths[0], "rngs._two")


def test_fields_are_shown_by_name() -> None:
    pair = Pair(1, 2)
    keys = item_keys(pair, 2)
    assert list(keys) == [0, 1]
    assert render_paths((((None, "name", "p"), "item", key)) for key in keys) == ["p.left", "p.right"]
