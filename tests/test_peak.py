"""What lives at the peak of a scheduled program, read of the order of its instructions."""

from __future__ import annotations

import pytest
from test_hlo_targets import EVERY, module_of

from jaxnb.reading import find_live
from jaxnb.reading.hlo.module import Computation, Instruction, Layout, Module, Shape

TILED = Layout((1, 0), ((8, 128),))
ARRAY = Shape((1024, 128), 4, None, 11, TILED)
NARROW = Shape((1024, 3), 4, None, 11, TILED)
SIZE = 1024 * 128 * 4


@pytest.mark.parametrize(("target", "name"), EVERY)
def test_inputs_live_and_what_is_made_of_them(target: str, name: str) -> None:
    module = module_of(target, name)
    live = find_live(module)
    inputs = module.computations[module.entry].parameters()
    given = sum(leaf.padded for item in inputs for leaf in item.shape.leaves() if leaf.padded)
    assert sum(one.padded for one in live if one.is_input) == given
    assert given < sum(one.padded for one in live) < 20 * given
    assert [one.padded for one in live] == sorted((one.padded for one in live), reverse=True)


def made(*items: Instruction, **others: Computation) -> Module:
    entry = Computation({item.identity: item for item in items}, items[-1].identity)
    return Module({1: entry, **{int(name[1:]): found for name, found in others.items()}}, 1, {})


def names(module: Module) -> list[str]:
    return sorted(one.op for one in find_live(module))


def test_what_is_read_no_more_gives_its_place() -> None:
    chain = made(
        Instruction("x", "parameter", ARRAY, 1),
        Instruction("a", "fusion", ARRAY, 2, (1,)),
        Instruction("b", "fusion", ARRAY, 3, (2,)),
        Instruction("c", "fusion", ARRAY, 4, (3,)),
    )
    assert names(chain) == ["a", "x"]
    kept = made(
        Instruction("x", "parameter", ARRAY, 1),
        Instruction("a", "fusion", ARRAY, 2, (1,)),
        Instruction("b", "fusion", ARRAY, 3, (2,)),
        Instruction("c", "fusion", ARRAY, 4, (3, 2)),
    )
    assert names(kept) == ["a", "b", "x"] and sum(one.padded for one in find_live(kept)) == 3 * SIZE


def test_tiles_and_memories_count() -> None:
    vmem = Shape((1024, 128), 4, None, 11, Layout((1, 0), ((8, 128),), 1))
    found = find_live(
        made(
            Instruction("x", "parameter", NARROW, 1, op_name="rows"),
            Instruction("a", "fusion", vmem, 2, (1,)),
            Instruction("b", "fusion", ARRAY, 3, (2,)),
        )
    )
    assert [(one.name, one.nbytes, one.padded, one.is_input) for one in found] == [
        ("rows", 1024 * 3 * 4, SIZE, True),
        ("b", SIZE, SIZE, False),
    ]


def test_what_a_loop_writes_over_what_it_carries_is_one_array() -> None:
    pair = Shape(parts=(ARRAY, ARRAY), kind=13)
    body = Computation(
        {
            10: Instruction("p", "parameter", pair, 10),
            11: Instruction("i", "get-tuple-element", ARRAY, 11, (10,), index=0),
            12: Instruction("j", "get-tuple-element", ARRAY, 12, (10,), index=1),
            13: Instruction("work", "fusion", ARRAY, 13, (11, 12)),
            14: Instruction("written", "fusion", ARRAY, 14, (12, 13)),
            15: Instruction("out", "tuple", pair, 15, (11, 14)),
        },
        15,
    )
    module = made(
        Instruction("x", "parameter", ARRAY, 1),
        Instruction("start", "broadcast", ARRAY, 2),
        Instruction("both", "tuple", pair, 3, (1, 2)),
        Instruction("loop", "while", pair, 4, (3,), (7,)),
        _7=body,
    )
    assert names(module) == ["start", "work", "x"]
