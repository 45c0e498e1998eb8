"""Optimised modules as data: what XLA prints of them, decoded once for all who ask."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

from jaxnb import StageOptions, _jax
from jaxnb.api import new_session
from jaxnb.reading.hlo import decode
from jaxnb.reading.hlo.decode import read_modules
from jaxnb.reading.hlo.module import DotNumbers, Instruction, Module, Shape

X = jnp.ones((8, 8))
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "elementwise": (lambda x: jnp.tanh(x) * 2 + x.sum(), (X,)),
    "product": (lambda x: jnp.einsum("bij,bkj->bik", x, x), (jnp.ones((2, 3, 4)),)),
    "loop": (lambda x: lax.fori_loop(0, 7, lambda _, y: jnp.sin(y) @ y, x), (X,)),
    "branches": (lambda x: lax.cond(x[0, 0] > 0, lambda y: y @ y, lambda y: jnp.sort(y), x), (X,)),
    "convolution": (
        lambda x, w: lax.conv_general_dilated(x, w, (2, 2), "SAME"),
        (jnp.ones((1, 4, 9, 9)), jnp.ones((6, 4, 3, 3))),
    ),
    "nothing": (lambda x: None, (X,)),
}
# `%name = f32[8]{0} opcode(...)`, after `ROOT` if it is what its computation gives.
PRINTED = re.compile(r"^ +(ROOT )?%?(?P<name>[\w.-]+) = .*? (?P<opcode>[a-z][\w-]*)\(", re.MULTILINE)


def compiled(name: str) -> Any:
    function, arguments = PROGRAMS[name]
    return jax.jit(function).lower(*arguments).compile()


def decoded(name: str) -> Module:
    (module,) = read_modules(compiled(name))
    return module


def of(module: Module, opcode: str) -> Instruction:
    (found,) = (item for item in module.instructions() if item.opcode == opcode)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_instructions_are_those_that_xla_prints_in_their_order(name: str) -> None:
    program = compiled(name)
    (module,) = read_modules(program)
    found = list(PRINTED.finditer(program.as_text()))
    printed = [(one["name"], one["opcode"]) for one in found]
    roots = {one["name"] for one in found if one[1]}
    assert len(list(module.instructions())) == len(printed) > 0
    for made in module.computations.values():  # they are printed in an order of their own
        own = [(item.name, item.opcode) for item in made.instructions.values()]
        first = printed.index(own[0])
        assert printed[first : first + len(own)] == own
        assert made.instructions[made.root].name in roots


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_an_instruction_speaks_of_is_there(name: str) -> None:
    module = decoded(name)
    for made in module.computations.values():
        assert [item.parameter for item in made.parameters()] == list(range(len(made.parameters())))
        for identity, item in made.instructions.items():
            assert item.identity == identity and set(item.called) <= module.computations.keys()
            assert [operand.identity for operand in made.operands(item)] == list(item.operands)


def test_fields_of_a_kind_of_instruction() -> None:
    dot = of(decoded("product"), "dot")
    assert dot.dot == DotNumbers((2,), (2,), (0,), (0,)) and dot.shape.sizes == (2, 3, 3) and dot.shape.itemsize == 4
    loop = of(decoded("loop"), "while")
    assert loop.trips == 7 and len(loop.called) == 2 and loop.shape.parts is not None and loop.op_name
    assert len(loop.shape.leaves()) == len(loop.shape.parts)
    windows = of(decoded("convolution"), "convolution")
    assert [(part.size, part.stride) for part in windows.window] == [(3, 2), (3, 2)]
    assert windows.convolution.output_spatial and windows.feature_groups == 1
    fusion = next(item for item in decoded("elementwise").instructions() if item.opcode == "fusion")
    assert fusion.kind == "kLoop" and decoded("elementwise").computations[fusion.called[0]]
    numbers = {item.literal for item in decoded("elementwise").instructions() if item.opcode == "constant"}
    assert "2" in numbers and Shape((2, 3), 4).nbytes == 24


def test_what_is_written_over_what() -> None:
    function = jax.jit(lambda a, b: (b * 2, a + 1), donate_argnums=(0, 1))
    (module,) = read_modules(function.lower(jnp.ones((4, 3)), jnp.ones(5)).compile())
    assert module.aliases == {0: 1, 1: 0}


def test_a_collective_names_its_devices() -> None:
    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    array = jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P("x", "y")))
    (module,) = read_modules(jax.jit(lambda x: x.sum(1)).lower(array).compile())
    assert of(module, "all-reduce").groups == "{{0,1},{2,3},{4,5},{6,7}}"


def test_a_module_is_decoded_once_for_its_level_its_costs_its_memory_and_its_layout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []
    serialized = _jax.serialized_modules
    monkeypatch.setattr(_jax, "serialized_modules", lambda program: (asked.append(program), serialized(program))[1])
    mesh = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    namespace = {"jnp": jnp, "x": jax.device_put(jnp.ones((8, 8)), NamedSharding(mesh, P("x")))}
    run = new_session().stage("y = (x @ x).sum()\nx = x + 1", namespace, StageOptions(donate=("x",)))
    program = run.program
    assert any(op.flops for op in program.level("hlo").ops())
    (memory,) = program.memory()
    assert memory.source == "buffers" and program.layout().collectives
    assert len(asked) == 1


def test_few_modules_are_kept_and_none_without_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "MOST_KEPT", 2)
    programs = [jax.jit(lambda x, n=n: x + n).lower(1.0).compile() for n in range(3)]
    first, second, third = (read_modules(program) for program in programs)
    assert read_modules(programs[1]) is second and read_modules(programs[2]) is third
    assert read_modules(programs[0]) is not first
    program = weakref.ref(programs.pop())
    gc.collect()
    assert program() is None
