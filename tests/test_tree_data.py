"""What a viewer gets of the call tree and of memory: the same sums as the levels, also where these are not saved."""

from __future__ import annotations

import functools
import json
from importlib.resources import files

import jsonschema
import pytest
from models.steps import STEPS

import jaxnb
from jaxnb.program import MIME_TYPE, Program, decode, read_tree
from jaxnb.shell.show import MOST_SAVED, bundle
from jaxnb.staging import Run
from jaxnb.views import encode_curves, encode_drawn, encode_trees, standing_in

SCHEMA = json.loads(files("jaxnb.program").joinpath("program.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


@functools.cache
def run_of(name: str) -> Run:
    step = STEPS[name]
    return jaxnb.stage(step.cell, step.names())


@functools.cache
def program(name: str) -> Program:
    made = run_of(name).program
    made.level("jaxpr")
    return made


def children(tree: dict) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for node, parent in enumerate(tree["parent"]):
        found.setdefault(parent, []).append(node)
    return found


@pytest.mark.parametrize("name", STEPS)
def test_a_tree_has_the_sums_of_its_level(name):
    level = program(name).level("jaxpr")
    (tree,) = encode_trees(program(name), levels=("jaxpr",))
    root = read_tree(level)
    assert tree["count"][0] == root.count == len(tree["ops"]) == sum(1 for _ in level.ops())
    below = children(tree)
    for measure, total, behind in zip(tree["measures"], tree["total"], tree["behind"], strict=True):
        assert total[0] == root.total[measure].number
        for node, nodes in below.items():
            if node >= 0:
                assert sum(max(0, total[child]) for child in nodes) <= total[node] * (1 + 1e-9)
                assert behind[node] <= max(0, total[node])
    own = [0] * len(tree["parent"])
    for node in tree["ops"]:
        own[node] += 1
    for node in range(len(own)):
        assert tree["count"][node] == own[node] + sum(tree["count"][child] for child in below.get(node, []))


@pytest.mark.parametrize("most", [5, 12, 40])
@pytest.mark.parametrize("name", ["transformer", "linen", "scan and checkpoint"])
def test_a_tree_that_was_cut_keeps_all_sums(name, most):
    whole, cut = tuple(standing_in(program(name), (10_000, most)))
    assert len(cut["parent"]) <= most + 2  # the cell itself, and one row for the cheapest
    assert "ops" not in cut
    below = children(cut)
    at = cut["measures"].index("flops")
    assert cut["total"][at][0] == whole["total"][whole["measures"].index("flops")][0]
    for node, nodes in below.items():
        if node >= 0:
            assert sum(cut["count"][child] for child in nodes) <= cut["count"][node]


@pytest.mark.parametrize("name", STEPS)
def test_the_layers_of_memory_are_what_lives(name):
    for memory, curve in zip(program(name).occupancy(), encode_curves(program(name)), strict=True):
        assert curve["peak"] == memory.peak
        assert memory.peak_at in curve["positions"]
        assert sum(curve["rows"]["nbytes"]) == memory.peak
        layers = curve["layers"]["units"]
        for place, at in enumerate(curve["positions"]):
            found = sum(row[place] for row in layers) * curve["unit"]
            assert abs(found - memory.live[at]) <= curve["unit"] * (len(layers) + 1)


def test_layers_have_the_names_that_people_know():
    (curve,) = encode_curves(program("transformer"))
    layers = list(zip(curve["layers"]["kind"], curve["layers"]["label"], strict=True))
    assert ("input", "model") in layers
    assert ("input", "opt") in layers
    assert ("residual", "jax.nn.gelu, line 26 of Block.__call__") in layers
    forward = sum(1 for op in program("transformer").level("jaxpr").computations[0].ops if op.phase == "primal")
    assert 0 < curve["turn"] < forward


def test_the_peak_is_of_the_buffers_once_they_were_read():
    step = STEPS["haiku"]
    made = jaxnb.stage(step.cell, step.names()).program
    made.level("jaxpr")
    assert encode_curves(made)[0]["source"] == "liveness"
    peak = made.memory()[0].peak
    assert (encode_curves(made)[0]["source"], encode_curves(made)[0]["peak"]) == ("buffers", peak)


@pytest.mark.parametrize("name", STEPS)
def test_a_saved_notebook_is_worth_opening(name):
    """Of a program of any size tree, sums and memory are saved within the room that an output has."""
    run = run_of(name)
    data = bundle(run, rich=True)
    assert len(json.dumps(data, separators=(",", ":")).encode()) <= MOST_SAVED
    saved = data[MIME_TYPE]
    assert not [error.message for error in VALIDATOR.iter_errors(saved)]
    assert len(saved["levels"]) > 1 or (len(saved["trees"][0]["parent"]) > 5 and saved["curves"][0]["peak"] > 0)
    assert decode(saved).source == run.program.source


def test_what_is_drawn_is_as_the_format_says():
    assert not [error.message for error in VALIDATOR.iter_errors(encode_drawn(program("mixer")))]
