"""Kernels in programs: made when first asked for, saved, and read again."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from corpus import CASES

import jaxnb
from jaxnb.errors import JaxnbError
from jaxnb.program import Kernel, Program, decode, encode

VALIDATOR = jsonschema.Draft202012Validator(
    json.loads(files("jaxnb.program").joinpath("program.schema.json").read_text("utf-8"))
)


def program_of(name: str) -> Program:
    return jaxnb.inspect(CASES[name].function)(*CASES[name].arguments)


@pytest.mark.parametrize("name", CASES)
def test_kernels_come_back(name: str) -> None:
    program = program_of(name)
    assert program.made_kernels is None and "kernels" not in encode(program)
    (kernel,) = program.kernels()
    op = program.level("jaxpr").computations[kernel.place[0]].ops[kernel.place[1]]
    assert op.name == "pallas_call" and program.made_kernels == (kernel,)
    data = json.loads(json.dumps(encode(program)))
    VALIDATOR.validate(data)
    again = decode(data)
    assert again.made_kernels == (kernel,) and list(again.kernels()) == [kernel]
    assert len(json.dumps(data["kernels"])) < 2_000 and encode(again) == encode(program)


def test_a_program_without_kernels_saves_nothing_of_them() -> None:
    program = jaxnb.inspect(lambda x: x + 1)(1.0)
    before = encode(program)
    assert len(program.kernels()) == 0 and encode(program) == before


def test_places_are_kept_while_the_level_is() -> None:
    program = program_of("transpose")
    program.kernels()
    assert "kernels" in encode(program, ["source", "jaxpr"]) and "kernels" not in encode(program, ["source"])


def window(**changes: Any) -> Any:
    return lambda kernel: kernel["windows"][0].update(changes)


DAMAGE: dict[str, Any] = {
    "no grid": lambda kernel: kernel.pop("grid"),
    "a place that is not there": lambda kernel: kernel.update(place=[7, 0]),
    "an order of other dimensions": lambda kernel: kernel.update(order={"axes": [0, 0], "moved": 1, "fetches": []}),
    "a role": window(role="sideways"),
    "a window of another rank": window(block=[8]),
    "too many steps": window(steps=1 << 30),
    "steps beyond the grid": window(steps=9),
    "starts of another count": window(starts=[{"at": [0]}, {"at": [0]}]),
    "starts of another rank": window(starts=[{"from": 0, "by": [0, 0]}]),
    "a text where a number is": window(moved="much"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_kernels_are_refused(name: str) -> None:
    program = program_of("transpose")
    program.kernels()
    data = json.loads(json.dumps(encode(program)))
    DAMAGE[name](data["kernels"][0])
    with pytest.raises(JaxnbError, match="the saved program is damaged"):
        decode(data)


def test_a_kernel_is_found_by_its_name() -> None:
    kernels = program_of("causal_flash_attention").kernels()
    found: Kernel = kernels["flash_attention"]
    assert found is kernels[0] and found.line is not None
    with pytest.raises(KeyError, match="no kernel is called 'matmul'; there are"):
        kernels["matmul"]
