"""Modules of XLA's compilers for TPUs and GPUs, as they were made for machines that were not there.

`data/targets` is described in `target_programs`, which wrote it; nothing is compiled here.
"""

from __future__ import annotations

import gzip
from collections import Counter
from typing import Any

import pytest
from target_programs import DEVICES, LAYERS, PROGRAMS, SENT, TARGETS, file_of

from jaxnb.program import (
    Axis,
    Mesh,
    Padded,
    Program,
    count_traffic,
    estimate_program,
    read_hiding,
    read_ledger,
    read_target,
)
from jaxnb.reading import count_cycles, find_padding, read_hlo, with_hlo_costs
from jaxnb.reading.hlo.decode import _read_estimate, read_module
from jaxnb.reading.hlo.module import PRIMITIVE_TYPES, Computation, Instruction, Layout, Module, Shape
from jaxnb.reading.hlo.trips import with_trips

MESH = Mesh((Axis("x", DEVICES),))
EVERY = [(target, name) for target in TARGETS for name in PROGRAMS]


def module_of(target: str, name: str) -> Module:
    return read_module(gzip.decompress(file_of(target, name).read_bytes()))


def program_of(module: Module) -> Program:
    return Program("", (with_hlo_costs(read_hlo(module).level, module),))


@pytest.mark.parametrize(("target", "name"), EVERY)
def test_a_module_is_read_whole(target: str, name: str) -> None:
    module = module_of(target, name)
    items = list(module.instructions())
    assert len({item.name for item in items}) == len(items) > 50
    for computation in module.computations.values():
        assert computation.root in computation.instructions
        for item in computation.instructions.values():
            assert item.opcode and all(operand in computation.instructions for operand in item.operands)
            assert all(called in module.computations for called in item.called)
            for leaf in item.shape.leaves():
                assert leaf.kind in PRIMITIVE_TYPES and leaf.padded >= leaf.nbytes
    level = read_hlo(module).level
    shown = {level.values[value].name for op in level.ops() for value in op.outputs}
    entry = module.computations[module.entry].instructions.values()
    assert {item.name for item in entry if item.opcode not in ("constant", "parameter")} <= shown


@pytest.mark.parametrize(("target", "name"), EVERY)
def test_what_is_sent_is_what_is_counted_by_hand(target: str, name: str) -> None:
    program = program_of(module_of(target, name))
    ledger = read_ledger(program, MESH)
    found = Counter[tuple[str, int | None]]()
    for item in ledger.items:
        assert item.axes == ("x",) and item.group == DEVICES and item.sent is not None
        found[item.kind, item.times] += item.sent
    wanted = Counter[tuple[str, int | None]]()
    for kind, sent, times in SENT[name]:
        wanted[kind, times] += sent
    assert found == wanted
    assert ledger.complete and ledger.total == sum(sent * times for _, sent, times in SENT[name])
    count, sent = count_traffic(program.level("hlo"), DEVICES)
    assert (count, sent) == (len(ledger.items), ledger.total)


# --- a TPU ---


def test_tiles_and_memories_of_a_tpu() -> None:
    module = module_of("v5e:2x4", "sharded")
    layouts = Counter(leaf.layout for item in module.instructions() for leaf in item.shape.leaves() if leaf.sizes)
    assert all(layout is not None and layout.tiles for layout in layouts if layout is None or layout.space in (0, 1))
    assert layouts[Layout((1, 0), ((8, 128), (2, 1)))] and layouts[Layout((1, 0), ((8, 128), (2, 1)), 1)]
    program = program_of(module)
    shown = Counter(value for op in program.level("hlo").ops() for key, value in op.attributes if key == "layout")
    assert shown["{1,0:T(8,128)(2,1)S(1)}"] > 5 and shown["{1,0:T(8,128)}"]


def test_a_collective_that_runs_beside_products_is_one() -> None:
    """It is written into the fusion that begins it, those that it runs in, and the one that it ends in."""
    module = module_of("v5e:2x4", "sharded")
    channels = Counter(item.channel for item in module.instructions() if item.opcode == "all-gather")
    assert sorted(channels.values()) == [1, 1, 4]
    ledger = read_ledger(program_of(module), MESH)
    assert [item.kind for item in ledger.items].count("all-gather") == 3


@pytest.mark.parametrize("name", ["sharded", "scanned"])
def test_an_all_reduce_of_which_a_piece_is_kept_is_a_reduce_scatter(name: str) -> None:
    module = module_of("v5e:2x4", name)
    assert not any(item.opcode == "reduce-scatter" for item in module.instructions())
    ledger = read_ledger(program_of(module), MESH)
    assert [item.values for item in ledger.items if item.kind == "reduce-scatter"] == [3 if name == "sharded" else 1]


def test_loops_of_a_tpu_say_how_often_they_run() -> None:
    module = module_of("v5e:2x4", "scanned")
    assert [item.trips for item in module.instructions() if item.opcode == "while"] == [LAYERS, LAYERS]


def test_cycles_are_summed_with_the_turns_of_loops() -> None:
    module = module_of("v5e:2x4", "scanned")
    found = count_cycles(module)
    assert found is not None and not found.endless and found.counted > 5
    bodies = [item.called[0] for item in module.instructions() if item.opcode == "while"]
    inside = sum(item.cycles or 0 for body in bodies for item in module.computations[body].instructions.values())
    entry = sum(item.cycles or 0 for item in module.computations[module.entry].instructions.values())
    assert inside and found.total == entry + LAYERS * inside
    assert found.seconds(1.5e9) == pytest.approx(found.total / 1.5e9)


def test_the_products_take_the_cycles_that_their_units_need() -> None:
    """Four units of 128 x 128 do so many flops in a cycle, and so many bytes come from memory; the estimate is near."""
    module = module_of("v5e:2x4", "data")
    level = with_hlo_costs(read_hlo(module).level, module)
    counted = [
        (sum(level.computations[body].ops[at].flops or 0 for body in op.bodies for at in _products(level, body)), op)
        for op in level.computations[0].ops
        if op.name == "fusion"
    ]
    checked = 0
    for flops, op in counted:
        cycles = int(dict(op.attributes).get("estimated_cycles", 0))
        if flops and cycles:
            least = flops / (4 * 128 * 128 * 2), (op.bytes or 0) / (819e9 / 1.5e9)
            assert least[0] <= cycles < 2 * sum(least)
            checked += 1
    assert checked >= 3


def _products(level: Any, body: int) -> list[int]:
    return [at for at, op in enumerate(level.computations[body].ops) if op.name in ("convolution", "dot")]


# --- a GPU ---


def test_a_gpu_estimates_nothing_and_has_no_tiles() -> None:
    module = module_of("h100:1x8", "scanned")
    assert count_cycles(module) is None
    assert not any(leaf.layout and leaf.layout.tiles for item in module.instructions() for leaf in item.shape.leaves())
    assert [item.trips for item in module.instructions() if item.opcode == "while"] == [LAYERS, LAYERS]


def test_what_begins_and_ends_apart_is_one_collective() -> None:
    module = module_of("h100:1x8", "sharded")
    opcodes = Counter(item.opcode for item in module.instructions())
    assert opcodes["all-gather-start"] == opcodes["all-gather-done"] == 1
    assert opcodes["async-start"] == opcodes["async-done"] == opcodes["reduce-scatter"] == 1
    ledger = read_ledger(program_of(module), MESH)
    assert [(item.kind, item.values) for item in ledger.items] == [
        ("all-gather", 3),
        ("all-reduce", 1),
        ("reduce-scatter", 3),
    ]


def test_products_are_fusions_of_triton() -> None:
    module = module_of("h100:1x8", "data")
    fused = [item for item in module.instructions() if item.opcode == "fusion" and item.kind == "kCustom"]
    inner = [one.opcode for item in fused for one in module.computations[item.called[0]].instructions.values()]
    assert inner.count("dot") == len(fused) >= 4


# --- what runs meanwhile ---


def hidden(target: str, name: str) -> list[tuple[str, bool, bool]]:
    """Of each collective the kind, whether it is begun apart, and whether anything that counts runs beside it."""
    program = program_of(module_of(target, name))
    estimate = estimate_program(program, read_target(target).hardware, MESH, widened=False)
    found = read_hiding(program.level("hlo"), estimate, MESH)
    assert [one.collective for one in found] == list(read_ledger(program, MESH).items)
    assert all(one.begun or one.hidden < 1e-12 for one in found)
    assert all(one.seconds is not None and 0 <= one.open <= one.seconds * (1 + 1e-9) for one in found)
    return [(one.collective.kind, one.begun, one.hidden > 0.1 * (one.seconds or 0)) for one in found]


def test_which_collectives_of_a_tpu_nothing_hides() -> None:
    found = hidden("v5e:2x4", "sharded")
    assert sorted(found) == [
        ("all-gather", False, False),
        ("all-gather", False, False),
        ("all-gather", True, True),
        ("all-reduce", False, False),
        ("reduce-scatter", False, False),
    ]
    assert not any(begun for _, begun, _ in hidden("v5e:2x4", "data"))


def test_what_a_gpu_begins_is_not_always_hidden() -> None:
    """Here all are begun apart, and of the sharded program nothing stands between the beginning and the end."""
    assert sorted(hidden("h100:1x8", "sharded")) == [
        ("all-gather", True, False),
        ("all-reduce", True, True),
        ("reduce-scatter", True, False),
    ]
    assert ("reduce-scatter", True, True) in hidden("h100:1x8", "scanned")


# --- padding ---


def test_arrays_that_tiles_make_larger_are_found() -> None:
    narrow = Shape((1000, 3), 4, None, 11, Layout((1, 0), ((8, 128),)))
    wide = Shape((1024, 128), 4, None, 11, Layout((1, 0), ((8, 128),)))
    vmem = Shape((1000, 3), 4, None, 11, Layout((1, 0), ((8, 128),), 1))
    entry = {
        1: Instruction("p0", "parameter", narrow, 1, op_name="x"),
        2: Instruction("p1", "parameter", wide, 2, op_name="w"),
        3: Instruction("copy-start", "copy-start", Shape(parts=(vmem, narrow), kind=13), 3, (1,)),
        4: Instruction("copy-done", "copy-done", vmem, 4, (3,)),
        5: Instruction("made", "fusion", narrow, 5, (4,), op_name="jit(f)/mul"),
    }
    found = find_padding(Module({7: Computation(entry, 5)}, 7, {}))
    assert found == (
        Padded("x", "float32[1000,3]", 12000, 512000, True),
        Padded("jit(f)/mul", "float32[1000,3]", 12000, 512000, False),
    )
    assert find_padding(module_of("h100:1x8", "data")) == ()


# --- made by hand ---


@pytest.mark.parametrize(
    ("sizes", "itemsize", "layout", "padded"),
    [
        ((1000, 100), 2, Layout((1, 0), ((8, 128), (2, 1))), 1000 * 128 * 2),
        ((1001, 129), 4, Layout((1, 0), ((8, 128),)), 1008 * 256 * 4),
        ((1001, 129), 4, Layout((0, 1), ((8, 128),)), 136 * 1024 * 4),
        ((5,), 4, Layout((0,), ((128,),)), 128 * 4),
        ((), 4, Layout((), ((128,),)), 128 * 4),
        ((3, 5, 7), 1, Layout((2, 1, 0), ((8, 128), (4, 1))), 3 * 8 * 128),
        ((3, 5), 4, Layout((1, 0), (), 1), 60),
        ((3, 5), 4, None, 60),
    ],
)
def test_padding_of_tiles(sizes: Any, itemsize: int, layout: Any, padded: int) -> None:
    assert Shape(sizes, itemsize, None, 11, layout).padded == padded


def test_layouts_are_written_as_xla_writes_them() -> None:
    assert str(Layout((1, 0), ((8, 128), (2, 1)), 1)) == "{1,0:T(8,128)(2,1)S(1)}"
    assert str(Layout((0,), (), 5)) == "{0:S(5)}" and str(Layout((), ((128,),))) == "{:T(128)}"


def test_estimates_are_read_of_what_the_backend_writes() -> None:
    config = b'{"window_config":{"estimated_cycles":"437152"},"collective_algorithm_config":{"emitter":"Some"}}'
    assert _read_estimate(config) == {"cycles": 437152, "emitter": "Some"} and _read_estimate(b"{}") == {}


def loop(first: str, limit: str, step: str, direction: str = "LT", turned: bool = False) -> Module:
    number, pair = Shape((), 4, None, 4), Shape(parts=(Shape((), 4, None, 4),), kind=13)
    sides = (12, 11) if turned else (11, 12)
    body = {
        10: Instruction("p", "parameter", pair, 10),
        11: Instruction("i", "get-tuple-element", number, 11, (10,)),
        12: Instruction("step", "constant", number, 12, literal=step),
        13: Instruction("next", "add", number, 13, sides),
        14: Instruction("out", "tuple", pair, 14, (13,)),
    }
    condition = {
        20: Instruction("q", "parameter", pair, 20),
        21: Instruction("j", "get-tuple-element", number, 21, (20,)),
        22: Instruction("limit", "constant", number, 22, literal=limit),
        23: Instruction("lt", "compare", Shape((), 1, None, 1), 23, (21, 22), direction=direction),
    }
    entry = {
        1: Instruction("first", "constant", number, 1, literal=first),
        2: Instruction("copied", "copy", number, 2, (1,)),
        3: Instruction("start", "tuple", pair, 3, (2,)),
        4: Instruction("loop", "while", pair, 4, (3,), (5, 6)),
    }
    return Module({5: Computation(body, 14), 6: Computation(condition, 23), 7: Computation(entry, 4)}, 7, {})


@pytest.mark.parametrize(
    ("made", "trips"),
    [
        (loop("0", "6", "1"), 6),
        (loop("2", "7", "2", turned=True), 3),
        (loop("0", "6", "1", "LE"), 7),
        (loop("9", "6", "1"), 0),
        (loop("0", "6", "1", "GT"), None),
        (loop("0", "6", "0"), None),
        (loop("0", "", "1"), None),
        (loop("", "6", "1"), None),
    ],
)
def test_loops_that_count(made: Module, trips: int | None) -> None:
    assert with_trips(made).computations[7].instructions[4].trips == trips
