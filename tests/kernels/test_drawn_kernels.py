"""Kernels as the inspector is told of them, live and saved."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jax
import jax.numpy as jnp
import jsonschema
import pytest
from corpus import CASES
from golden import check_golden
from jax.experimental import pallas as pl
from sample_kernels import product

import jaxnb
from jaxnb.program import decode, encode
from jaxnb.program.codec import MIME_TYPE
from jaxnb.shell.inspector_comm import answer
from jaxnb.shell.show import MOST_SAVED, bundle
from jaxnb.views.drawings import encode_drawn, read_drawings
from jaxnb.views.packing import unpack

SCHEMA = json.loads(files("jaxnb.program").joinpath("program.schema.json").read_text("utf-8"))
DRAWINGS = jsonschema.Draft202012Validator({**SCHEMA["$defs"]["drawings"], "$defs": SCHEMA["$defs"]})


def test_golden_of_a_kernel() -> None:
    """The front end's tests read these files too."""
    for name, data in (("program", encode(product())), ("drawings", read_drawings(product()))):
        check_golden(f"kernel.{name}.json", json.dumps(data, indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("name", CASES)
def test_what_is_drawn_of_each_kernel(name: str) -> None:
    program = jaxnb.inspect(CASES[name].function)(*CASES[name].arguments)
    (drawn,) = unpack(encode_drawn(program)["drawings"])["kernels"]
    DRAWINGS.validate({"kernels": [drawn]})
    (kernel,) = program.kernels()
    assert tuple(drawn["op"]) == kernel.place and kernel.name in drawn["title"]
    text = str(kernel)
    assert all(one.split()[0] in text for one in (*drawn["facts"], *drawn["notes"]))
    assert len(drawn["rows"]) == len(kernel.windows) + len(kernel.scratch) + len(kernel.prefetched)
    assert all(len(row) == len(drawn["heads"]) for row in drawn["rows"])
    for grid in drawn["grids"]:
        assert max(grid["rows"], grid["columns"]) <= 16 and all(
            at < grid["rows"] * grid["columns"] for at in grid["at"]
        )
        assert len({len(grid[column]) for column in ("at", "hue", "strength", "label", "told")}) == 1


CELL = """\
def add(x, y, o):
    o[...] = x[...] + y[...]
block = pl.BlockSpec((64, 128), lambda i, j: (i, j))
{calls}
"""
CALL = "z{} = pl.pallas_call(add, x, grid=(8, 4), in_specs=[block, block], out_specs=block, interpret=True)(x, x)"


def staged(count: int) -> Any:
    names = {"jax": jax, "jnp": jnp, "pl": pl, "x": jnp.ones((512, 512))}
    return jaxnb.stage(CELL.format(calls="\n".join(CALL.format(at) for at in range(count))), names)


@pytest.mark.parametrize(("count", "drawn"), [(1, 1), (2, 2), (30, 0)])
def test_an_output_brings_its_kernels_while_they_fit(count: int, drawn: int) -> None:
    for _ in range(2):  # nothing changes once they were made
        data = bundle(staged(count), rich=True)
        size = sum(len(part if isinstance(part, str) else json.dumps(part)) for part in data.values())
        assert size <= MOST_SAVED
        packed = data.get(MIME_TYPE, {}).get("drawings")
        assert len(unpack(packed)["kernels"] if packed else ()) == drawn


def test_a_live_inspector_and_a_saved_program_have_them() -> None:
    program = staged(1).program
    told = answer({"want": "level", "level": "jaxpr"}, program, {})["program"]
    (kernel,) = unpack(told["drawings"])["kernels"]
    assert kernel["title"].startswith("add · line 4") and [grid["rows"] for grid in kernel["grids"]] == [8, 8, 8, 8]
    again = decode(json.loads(json.dumps(told)))
    assert unpack(encode_drawn(again)["drawings"])["kernels"] == [kernel]


def test_a_program_without_kernels_has_no_drawing() -> None:
    assert "drawings" not in encode_drawn(jaxnb.inspect(jnp.sin)(jnp.ones(3)))
