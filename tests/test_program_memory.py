"""The memory of a staged cell: who lives when, on whose account, and what a derivative keeps."""

from __future__ import annotations

import doctest
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, strategies as st
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from level_programs import PROGRAMS

import jaxnb.program.occupancy
import jaxnb.reading.hlo.memory
from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.program import Level
from jaxnb.program.occupancy import KINDS, Held, Memory, Noted, Saved
from jaxnb.reading.hlo.buffers import peak_bytes
from jaxnb.reading.hlo.decode import read_modules
from jaxnb.reading.hlo.memory import donated_inputs, read_memory
from jaxnb.reading.hlo.read import read_hlo
from jaxnb.reading.jaxpr.jaxpr import read_jaxpr
from jaxnb.staging.levels.lowering_stages import join_levels
from jaxnb.staging.session.session import Session

KB = 4 * 256
SETUP = "import jax, jax.numpy as jnp\nx = jnp.ones((64, 64))\nw = jnp.ones((64, 64))\n"


def a(*shape, dtype="float32"):
    return jax.ShapeDtypeStruct(shape, dtype)


# The data.


def test_a_peak_has_a_place_and_those_who_live_there() -> None:
    x, y, z = (
        Held("x", "input", 100, 0, 2),
        Held("b", "temporary", 300, 0, 1, (0, 0), 2),
        Held("c", "output", 50, 1, 2, (0, 1), 3),
    )
    memory = Memory("liveness", "jaxpr", 0, (400, 450, 150), (x, y, z))
    assert (memory.peak, memory.peak_at) == (450, 1)
    assert memory.at(1) == (y, x, z)
    assert memory.at(2) == (x, z)
    assert list(memory.peak_by_line().items()) == [(2, 300), (None, 100), (3, 50)]
    assert memory.lines() == {2: 300, 3: 50}


def test_memory_of_nothing() -> None:
    memory = Memory("buffers", "hlo")
    assert (memory.peak, memory.peak_at, memory.at(0), memory.peak_by_line()) == (0, 0, (), {})
    assert memory.lines() == {}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 99), st.sampled_from([None, 1, 2, 3]))))
def test_a_line_has_at_its_peak_what_its_values_have_together(some: list[tuple[int, int, int, int | None]]) -> None:
    held = tuple(
        Held("v", "temporary", nbytes, min(first, last), max(first, last), None, line)
        for first, last, nbytes, line in some
    )
    live = tuple(sum(one.nbytes for one in held if one.first <= at <= one.last) for at in range(10))
    memory = Memory("liveness", "jaxpr", 0, live, held)
    expected = {
        line: max(sum(one.nbytes for one in memory.at(at) if one.line == line) for at in range(10))
        for line in (1, 2, 3)
        if any(one.line == line for one in held)
    }
    assert memory.lines() == expected
    assert sum(memory.peak_by_line().values()) == memory.peak


def test_what_is_saved_besides_arguments() -> None:
    saved = Saved("a", 400, (0, 3)), Saved("b", 800, (0, 4), op=(0, 1)), Saved("c", 8, (0, 4), op=(0, 2))
    assert [one.argument for one in saved] == [True, False, False]
    assert Memory("liveness", "jaxpr", saved=saved).saved_bytes() == 808


def test_the_data_needs_no_jax() -> None:
    code = "import sys, jaxnb.program.occupancy; print('jax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# From a jaxpr.


def traced_memory(fun, *args, names: tuple[str, ...] = (), outputs: tuple[str, ...] = (), donated=()) -> Memory:
    traced = jax.jit(fun, donate_argnums=donated).trace(*args)
    level = read_jaxpr(traced.jaxpr, cell_file=__file__, invar_names=names, outvar_names=outputs)
    return read_memory(traced.jaxpr, level, donated=donated_inputs(traced))


def check_sums(memory: Memory) -> None:
    for position, live in enumerate(memory.live):
        assert live == sum(held.nbytes for held in memory.at(position))


def test_what_was_only_traced_is_read_from_its_jaxpr() -> None:
    memory = traced_memory(lambda x: jnp.sin(jnp.cos(x)) * x, a(256), names=("x",), outputs=("y",))
    assert (memory.source, memory.level, memory.reserved) == ("liveness", "jaxpr", None)
    assert memory.live == (2 * KB, 3 * KB, 3 * KB)
    assert [(held.name, held.kind, held.first, held.last, held.op) for held in memory.held] == [
        ("b", "temporary", 0, 1, (0, 0)),
        ("x", "input", 0, 2, None),
        ("c", "temporary", 1, 2, (0, 1)),
        ("y", "output", 2, 2, (0, 2)),
    ]


def test_a_donated_input_lives_up_to_its_last_reader() -> None:
    memory = traced_memory(lambda x, y: jnp.sin(x) + y.sum(), a(256), a(256), names=("x", "y"), donated=(0,))
    assert {held.name: held.last for held in memory.held if held.kind == "input"} == {"x": 0, "y": 2}


def test_donated_inputs_are_counted_as_the_jaxpr_has_them() -> None:
    table = jnp.arange(4.0)

    def fun(tree, scale, *, last):
        return tree["a"] * scale + tree["b"] * table, last * 2

    jitted = jax.jit(fun, donate_argnums=(0,), donate_argnames=("last",))
    traced = jitted.trace({"a": a(4), "b": a(4)}, 2.0, last=a(4))
    invars = traced.jaxpr.jaxpr.invars
    assert sorted(donated_inputs(traced)) == [len(invars) - 4, len(invars) - 3, len(invars) - 1]
    assert donated_inputs(jax.jit(jnp.sin).trace(a(4))) == frozenset()


def test_lines_are_those_of_the_values_that_live_at_the_peak() -> None:
    def fun(x):
        big = jnp.outer(x, x)
        return jnp.sin(big).sum()

    memory = traced_memory(fun, a(256))
    first = fun.__code__.co_firstlineno
    assert list(memory.peak_by_line().items()) == [(first + 1, 256 * KB), (first + 2, 256 * KB), (None, KB)]


def test_inside_of_a_loop_values_live_at_the_position_of_the_loop() -> None:
    def fun(xs):
        def step(carry, x):
            square = jnp.outer(x, x)
            return carry + square.sum(0), None

        return lax.scan(step, jnp.zeros(256), xs)[0]

    memory = traced_memory(fun, a(10, 256))
    check_sums(memory)
    loop = memory.peak_at
    first = fun.__code__.co_firstlineno
    (square,) = [held for held in memory.at(loop) if held.nbytes == 256 * KB]
    assert (square.first, square.last, square.line) == (loop, loop, first + 2)
    assert square.op is not None
    assert square.op[0] > 0


def test_on_all_devices_of_a_mesh_a_body_lives_as_often() -> None:
    mesh = jax.make_mesh((8,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    fun = jax.shard_map(
        lambda x: lax.fori_loop(0, 3, lambda i, x: jnp.cos(x) * 2, jnp.sin(x)),
        mesh=mesh,
        in_specs=jax.P("i"),
        out_specs=jax.P("i"),
        check_vma=False,
    )
    check_sums(traced_memory(fun, a(256)))


def test_constants_are_told_from_inputs() -> None:
    table = jnp.arange(256.0)
    closed = jax.make_jaxpr(lambda x: x + table)(a(256))
    memory = read_memory(closed, read_jaxpr(closed, cell_file=""))
    assert sorted(held.kind for held in memory.held) == ["constant", "input", "output"]


def test_shapes_with_symbols_have_no_bytes_but_the_rest_is_told() -> None:
    (n,) = jax.export.symbolic_shape("n")

    def fun(x):
        jnp.exp(x)
        return jnp.sin(x) * jnp.cos(2.0)

    memory = traced_memory(fun, a(n))
    assert memory.live == (0,)
    assert "no fixed size" in memory.note
    assert [noted.op for noted in memory.dead] == [(0, 0)]
    assert len(memory.known) == 2  # the cosine, and its conversion to the dtype of `x`


def test_pieces_of_a_cell_stand_side_by_side() -> None:
    """Whatever else a level holds, a piece has the same memory, at its own places."""

    def loop(x):
        return jax.grad(lambda x: lax.fori_loop(0, 3, lambda i, x: jnp.sin(x) * jnp.cos(2.0), x).sum())(x)

    jaxprs = [jax.make_jaxpr(fun)(a(256)) for fun in (jnp.sin, loop)]
    levels = [read_jaxpr(jaxpr, cell_file="") for jaxpr in jaxprs]
    joined, moved = join_levels(levels)
    alone, among = read_memory(jaxprs[1], levels[1]), read_memory(jaxprs[1], joined, 1)

    def there(place):
        return None if place is None else (moved[1, place[0]], place[1])

    assert among.live == alone.live
    assert [held.op for held in among.held] == [there(held.op) for held in alone.held]
    assert [(saved.op, saved.read) for saved in among.saved] == [
        (there(saved.op), there(saved.read)) for saved in alone.saved
    ]
    assert [noted.op for noted in among.known] == [there(noted.op) for noted in alone.known] != []


# From buffers.


def staged(cell: str, setup: str = SETUP, **options: Any):
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(setup, namespace)
    return new_session().stage(cell, namespace, StageOptions(**options)).program


def test_a_cell_that_ran_is_read_from_its_buffers() -> None:
    program = staged("y = x @ w\nz = (y @ w) @ y")
    (memory,) = program.memory()
    assert (memory.source, memory.level) == ("buffers", "hlo")
    assert len(memory.live) == len(program.level("hlo").computations[0].ops)
    assert {held.name for held in memory.held if held.kind == "input"} == {"x", "w"}
    assert memory.reserved is not None
    assert memory.peak <= memory.reserved
    check_sums(memory)
    assert {1, 2} <= set(memory.peak_by_line())


def test_the_values_of_a_buffer_lead_to_equations_and_lines() -> None:
    program = staged("y = jnp.tanh(x @ w)\nz = jnp.sin(y @ y).sum(0)")
    (memory,) = program.memory()
    products = [held for held in memory.held if held.nbytes == 64 * 64 * 4 and held.op is not None]
    found: set[str] = set()
    for held in products:
        assert held.op is not None
        places = program.linked("hlo", held.op, "jaxpr")
        ops = [program.level("jaxpr").computations[c].ops[at] for c, at in places]
        assert held.line in {op.line for op in ops}
        found.update(op.name for op in ops)
    assert "dot_general" in found


def test_results_have_the_names_of_the_user_where_there_are_as_many() -> None:
    def compiled_memory(fun, outputs: tuple[str, ...]) -> Memory:
        traced = jax.jit(fun).trace(a(256))
        compiled = traced.lower().compile()
        (module,) = read_modules(compiled)
        level = read_jaxpr(traced.jaxpr, cell_file="", outvar_names=outputs)
        return read_memory(traced.jaxpr, level, compiled=compiled, hlo=read_hlo(module, ("x",)).level)

    def results(memory: Memory) -> set[str]:
        return {held.name for held in memory.held if held.kind == "output"}

    assert results(compiled_memory(lambda x: (jnp.sin(x), x @ x), ("wave", "norm"))) == {"wave", "norm"}
    assert results(compiled_memory(lambda x: jnp.sin(x), ("wave",))) == {"wave"}
    assert "x" in {held.name for held in compiled_memory(jnp.sin, ("",)).held}

    def printed(x):
        jax.debug.print("{}", x[0], ordered=True)  # the program has the token of the print as a result
        return jnp.sin(x), jnp.cos(x)

    assert not results(compiled_memory(printed, ("wave", "other"))) & {"wave", "other"}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_users(name: str) -> None:
    setup, cell = PROGRAMS[name]
    program = staged(cell, setup)
    (memory,) = program.memory()
    jaxpr, hlo = program.level("jaxpr"), program.level("hlo")
    assert memory.source == "buffers"
    assert memory.reserved is not None
    assert 0 < memory.peak <= memory.reserved
    check_sums(memory)
    for held in memory.held:
        assert held.kind in KINDS
        assert (held.op is None) == (held.kind in ("input", "constant"))
        assert held.op is None or hlo.computations[held.op[0]].ops[held.op[1]].line == held.line
    made = [held for held in memory.held if held.op is not None]
    assert {held.line for held in made} <= set(range(1, cell.count("\n") + 2))
    assert all(program.linked("hlo", held.op, "jaxpr") for held in made if held.op is not None)
    for noted in (*memory.dead, *memory.known, *memory.recomputed):
        assert op_at(jaxpr, noted).line == noted.line
    assert bool(memory.recomputed) == (name == "scan")
    assert bool(memory.saved) == (name != "ode")


def op_at(level: Level, noted: Noted):
    computation, op = noted.op
    return level.computations[computation].ops[op]


def test_what_is_known_ahead_is_what_the_compiler_may_fold() -> None:
    program = staged("y = x + jnp.sin(jnp.float32(2)) * jnp.float32(3)")
    (memory,) = program.memory()
    known = {noted.op for noted in memory.known}
    assert known
    folded = {fate.op for fate in program.fates if fate.kind == "folded"}
    assert folded <= known
    jaxpr = program.level("jaxpr")
    assert "sin" in {op_at(jaxpr, noted).name for noted in memory.known}


def test_nothing_is_compiled_to_read_the_memory_of_a_function() -> None:
    program = jaxnb.inspect(lambda x: jnp.sin(x) * 2)(jnp.ones(256))
    (memory,) = program.memory()
    assert memory.source == "liveness"
    assert memory.peak == 3 * KB


def test_a_backend_without_buffers_is_read_from_its_jaxpr() -> None:
    class Silent:
        """What a runtime gives that describes its modules, but not their buffers."""

        def memory_analysis(self) -> None:
            return None

        def runtime_executable(self) -> Any:
            return compiled.runtime_executable()

    traced = jax.jit(lambda x: jnp.sin(x) * 2).trace(a(256))
    compiled = traced.lower().compile()
    assert peak_bytes(compiled) == 2 * KB
    level = read_jaxpr(traced.jaxpr, cell_file="")
    (module,) = read_modules(compiled)
    hlo = read_hlo(module).level
    assert read_memory(traced.jaxpr, level, compiled=compiled, hlo=hlo).source == "buffers"
    assert read_memory(traced.jaxpr, level, compiled=Silent(), hlo=hlo).source == "liveness"


def test_messages_that_cannot_be_read_are_told_and_the_jaxpr_is_read_instead() -> None:
    class Told:
        serialized_buffer_assignment_proto = b"\x1a\x08\x10\x04\x4a\x04\x08\x07\x18\x04"

    class Changed:
        """An executable whose runtime describes its buffers in another way."""

        def memory_analysis(self) -> Told:
            return Told()

        def runtime_executable(self) -> Any:
            return compiled.runtime_executable()

    traced = jax.jit(lambda x: jnp.sin(x) * 2).trace(a(256))
    compiled = traced.lower().compile()
    (module,) = read_modules(compiled)
    level, hlo = read_jaxpr(traced.jaxpr, cell_file=""), read_hlo(module).level
    memory = read_memory(traced.jaxpr, level, compiled=Changed(), hlo=hlo)
    assert memory.source == "liveness"
    assert memory.peak == 3 * KB
    assert "its buffers could not be read" in memory.note


# Derivatives.


def test_residuals_have_the_line_that_makes_them_and_the_line_that_reads_them() -> None:
    def loss(x):
        y = jnp.sin(x)
        return (y * 2).sum()

    first = loss.__code__.co_firstlineno
    (saved,) = traced_memory(jax.grad(loss), a(256)).saved
    assert (saved.line, saved.read_line, saved.nbytes) == (first + 1, first + 1, KB)


def test_what_a_policy_keeps_and_what_is_computed_again_have_lines() -> None:
    policy = jax.checkpoint_policies.save_only_these_names("hidden")

    def loss(x, w):
        hidden = checkpoint_name(
            jnp.sin(x @ w),
            "hidden",
        )
        return jnp.cos(hidden @ w).sum()

    memory = traced_memory(jax.grad(jax.checkpoint(loss, policy=policy)), a(16, 16), a(16, 16), names=("x", "w"))
    first = loss.__code__.co_firstlineno
    kept = [saved for saved in memory.saved if not saved.argument]
    assert [(saved.label, saved.policy, saved.line) for saved in kept] == [
        ("hidden", "save_only_these_names", first + 2)
    ]
    assert {saved.name for saved in memory.saved if saved.argument} == {"x", "w"}
    assert {noted.line for noted in memory.recomputed} <= {first + 2, first + 5}
    assert first + 5 in {noted.line for noted in memory.recomputed}
    assert all(noted.nbytes > 0 for noted in memory.recomputed)


def test_what_a_loop_keeps_has_the_line_in_the_loop() -> None:
    def loss(x):
        def step(carry, _):
            carry = jnp.sin(carry)
            return carry, None

        return lax.scan(step, x, None, 7)[0].sum()

    (saved,) = traced_memory(jax.grad(loss), a(256)).saved
    first = loss.__code__.co_firstlineno
    assert (saved.times, saved.nbytes, saved.line) == (7, 7 * KB, first + 2)
