"""The buffers of a compiled program: what XLA assigned, and when each is needed."""

from __future__ import annotations

import doctest
from functools import cache
from itertools import combinations
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxnb.reading.hlo.buffers
from jaxnb.program import Level
from jaxnb.reading.hlo.buffers import Assignment, peak_bytes, read_assignment
from jaxnb.reading.hlo.decode import read_modules
from jaxnb.reading.hlo.lifetimes import Lifetime, Use, lifetimes, use_of_memory
from jaxnb.reading.hlo.read import read_hlo

N = 64
MATRIX = 4 * N * N  # bytes


def m(*shape, dtype="float32"):
    return jax.ShapeDtypeStruct(shape or (N, N), dtype)


def step(w, x):
    return (jnp.tanh(jnp.tanh(x @ w) @ w) ** 2).sum()


def scanned(w, x):
    last, sums = lax.scan(lambda c, _: (jnp.tanh(c @ w), c.sum()), x, None, 4)
    return (last**2).sum() + sums.sum()


def until(x):
    return lax.while_loop(lambda c: c[1].sum() < 100, lambda c: (c[0] + 1, jnp.sin(c[1] @ c[1]) + c[1]), (0, x))


def chosen(p, x):
    return lax.cond(p[0], lambda x: jnp.sin(x @ x) @ x, lambda x: x + 1, x) * 2


def nested(x):
    def outer(i, x):
        y = x @ x
        return lax.fori_loop(0, 3, lambda j, z: jnp.sin(z @ y), x) + y

    return lax.fori_loop(0, 2, outer, x)


def updated(x, i):
    return lax.fori_loop(0, 5, lambda n, x: x.at[i[0] + n].set(x[n] @ x), x)


HANDS_ON = ("tuple", "get-tuple-element", "bitcast")
TABLE = np.random.default_rng(0).normal(size=(N, N)).astype(np.float32)

PROGRAMS = {
    "elementwise": (lambda x, y: jnp.sin(x) * y + x, (m(), m()), ()),
    "products": (lambda x, w: (x @ w) @ ((x @ w) @ w), (m(), m()), ()),
    "gradient": (jax.value_and_grad(step), (m(), m(32, N)), ()),
    "update": (lambda w, x: w - 0.1 * jax.grad(step)(w, x), (m(), m(32, N)), (0,)),
    "update in place": (lambda x, i: x.at[i].set(0), (m(), m(3, dtype="int32")), (0,)),
    "donated twice": (lambda x, y: (x + y, x - y), (m(), m()), (0, 1)),
    "donated in vain": (lambda x: x.sum(), (m(),), (0,)),
    "scan": (scanned, (m(), m(32, N)), ()),
    "gradient of scan": (lambda w, x: w - jax.grad(scanned)(w, x), (m(), m(32, N)), (0,)),
    "rematerialised": (jax.grad(jax.checkpoint(scanned)), (m(), m(32, N)), ()),
    "while": (until, (m(),), ()),
    "while on donated": (until, (m(),), (0,)),
    "cond": (chosen, (m(1, dtype="bool"), m()), ()),
    "nested loops": (nested, (m(),), ()),
    "updates in a loop": (updated, (m(), m(1, dtype="int32")), (0,)),
    "sort": (lambda x: lax.sort((x, x * 2), num_keys=1), (m(),), ()),
    "constant": (lambda x: x @ TABLE, (m(),), ()),
    "many results": (lambda x: [x * n for n in range(6)], (m(),), ()),
    "handed on": (lambda x, y: (x, y, x), (m(), m()), ()),
    "nothing": (lambda x: None, (m(),), ()),
    "empty": (lambda x: jnp.concatenate([x[:0], x, x]), (m(0, N),), ()),
    "solved": (lambda a, b: jnp.linalg.solve(a, b), (m(), m(N)), ()),
    "batch of loops": (jax.vmap(lambda x: lax.while_loop(lambda x: x[0] < 9, lambda x: x * 2 + 1, x)), (m(),), ()),
}


class Compiled(NamedTuple):
    """A compiled program and what is read of it."""

    compiled: jax.stages.Compiled
    assignment: Assignment
    lives: list[Lifetime]
    level: Level
    use: Use


def compiled_of(fun, args, donated=()) -> Compiled:
    compiled = jax.jit(fun, donate_argnums=donated).lower(*args).compile()
    (module,) = read_modules(compiled)
    assignment = read_assignment(compiled.memory_analysis().serialized_buffer_assignment_proto)
    level = read_hlo(module).level
    use = use_of_memory(lifetimes(module, assignment), level)
    return Compiled(compiled, assignment, lifetimes(module, assignment), level, use)


@cache
def program(name: str) -> Compiled:
    fun, args, donated = PROGRAMS[name]
    if name == "donated in vain":
        with pytest.warns(UserWarning, match="donated buffers were not usable"):
            return compiled_of(fun, args, donated)
    return compiled_of(fun, args, donated)


@pytest.fixture(params=PROGRAMS)
def found(request: pytest.FixtureRequest) -> Compiled:
    return program(request.param)


def test_allocations_are_what_xla_says_of_the_whole_program(found: Compiled) -> None:
    told = found.compiled.memory_analysis()
    allocations = found.assignment.allocations.values()
    on_device = [one for one in allocations if not one.local]
    assert sum(one.nbytes for one in on_device if one.parameter) == told.argument_size_in_bytes
    assert sum(one.nbytes for one in on_device if one.output) == told.output_size_in_bytes
    assert sum(one.nbytes for one in on_device if one.output and one.parameter) == told.alias_size_in_bytes
    constants = sum(one.nbytes for one in on_device if one.constant)
    whole = told.argument_size_in_bytes + told.output_size_in_bytes - told.alias_size_in_bytes + told.temp_size_in_bytes
    assert found.assignment.reserved == whole + constants
    assert found.assignment.reserved == getattr(told, "total_allocation_bytes", whole + constants)
    assert peak_bytes(found.compiled) == whole


def test_the_peak_is_between_what_is_handed_over_and_what_is_reserved(found: Compiled) -> None:
    told = found.compiled.memory_analysis()
    peak = max(found.use.live)
    assert peak <= found.assignment.reserved
    # The CPU's own peak leaves out temporaries: inputs, results and constants alone.
    assert told.peak_memory_in_bytes == found.assignment.reserved - told.temp_size_in_bytes
    assert peak >= told.argument_size_in_bytes
    assert peak >= told.output_size_in_bytes


def test_buffers_that_share_bytes_are_never_needed_at_one_time(found: Compiled) -> None:
    """XLA gives the same bytes only to values that do not interfere: if this holds, no lifetime is too long."""
    for one, other in combinations(found.lives, 2):
        a, b = one.buffer, other.buffer
        apart = a.allocation != b.allocation or a.offset + a.nbytes <= b.offset or b.offset + b.nbytes <= a.offset
        first, last = sorted((one, other), key=lambda life: (life.start, life.stop))
        assert apart or "constant" in (one.kind, other.kind) or first.stop <= last.start, f"{one} {other}"


def test_what_an_instruction_reads_and_gives_lives_while_it_runs(found: Compiled) -> None:
    """If this holds, no lifetime is too short."""
    (entry, *_), values = found.level.computations, found.level.values
    lives = {life.name: life for life in found.lives if not life.inner and not life.buffer.part}
    for position, op in enumerate(entry.ops):
        if op.name in HANDS_ON:
            continue
        for value in (*op.inputs, *op.outputs):
            life = lives.get(values[value].name)
            assert life is None or life.first <= position <= life.last, values[value].name


def test_every_computed_array_has_a_lifetime(found: Compiled) -> None:
    """Those of the entry computation; what only hands on, or does not fit an array, has none of its own."""
    entry, values = found.level.computations[0], found.level.values
    known = {life.name for life in found.lives}
    for op in entry.ops:
        aval = values[op.outputs[0]].aval
        if (
            op.name not in ("tuple", "get-tuple-element", "bitcast", "while", "conditional", "call")
            and aval is not None
        ):
            assert values[op.outputs[0]].name in known or aval.nbytes == 0


def test_live_bytes_are_those_of_who_lives_there(found: Compiled) -> None:
    assert len(found.use.live) == max(len(found.level.computations[0].ops), 1)
    for position, live in enumerate(found.use.live):
        assert live == sum(held.nbytes for held in found.use.held if held.first <= position <= held.last)


def test_each_value_is_that_of_an_op(found: Compiled) -> None:
    for held in found.use.held:
        if held.kind in ("input", "constant"):
            assert held.op is None
        else:
            computation, op = held.op
            made = found.level.computations[computation].ops[op]
            given = [value for body in made.bodies for value in found.level.computations[body].inputs]
            names = {found.level.values[value].name for value in (*made.outputs, *given)}
            assert held.name.partition("{")[0] in names
            assert computation != 0 or held.first <= op <= held.last or held.first == op + 1


def test_inputs_and_results_have_their_sizes() -> None:
    kinds = [(held.kind, held.nbytes) for held in program("many results").use.held]
    assert kinds.count(("input", MATRIX)) == 1
    assert kinds.count(("output", MATRIX)) == 6


def sizes_at(use: Use, kind: str, position: int) -> list[int]:
    return sorted(one.nbytes for one in use.held if one.kind == kind and one.first <= position <= one.last)


def test_a_product_lives_until_the_last_one_that_reads_it() -> None:
    use = program("products").use
    peak = use.live.index(max(use.live))
    # Inputs, the first product, which is read once more, the second one, and the result.
    assert sizes_at(use, "input", peak) == [MATRIX, MATRIX]
    assert sizes_at(use, "temporary", peak) == [MATRIX, MATRIX]
    assert sizes_at(use, "output", peak) == [MATRIX]
    assert max(use.live) == 5 * MATRIX


def test_a_result_in_the_place_of_a_donated_input_counts_once() -> None:
    def fun(x):
        return x.at[0].set(jnp.sort(x[1]))

    kept, given = compiled_of(fun, (m(),)), compiled_of(fun, (m(),), (0,))
    assert sizes_at(kept.use, "input", -1 + len(kept.use.live)) == [MATRIX]
    assert kept.use.live[-1] - given.use.live[-1] == MATRIX
    (result,) = [held for held in given.use.held if held.kind == "output"]
    (x,) = [held for held in given.use.held if held.kind == "input"]
    assert x.last + 1 == result.first == len(given.use.live) - 1
    # Where there is one op, only the result is left to be seen.
    alone = compiled_of(lambda x: x * 2, (m(),), (0,))
    assert [(held.kind, held.nbytes) for held in alone.use.held if held.nbytes == MATRIX] == [("output", MATRIX)]


def test_inputs_that_are_not_donated_live_to_the_end() -> None:
    for name in ("elementwise", "products", "gradient", "scan", "donated in vain"):
        use = program(name).use
        assert {held.last for held in use.held if held.kind == "input"} == {len(use.live) - 1}


def test_the_state_of_a_loop_counts_once() -> None:
    plain, donated = program("while"), program("while on donated")
    assert max(plain.use.live) - max(donated.use.live) == MATRIX
    # Inside: the state, its product with itself, and what a step makes besides.
    assert max(donated.use.live) >= 2 * MATRIX
    assert max(donated.use.live) <= 4 * MATRIX + 4096


def test_what_a_scan_keeps_for_the_backward_pass_is_stacked_and_lives_to_its_loop() -> None:
    found = program("gradient of scan")
    loops = [at for at, op in enumerate(found.level.computations[0].ops) if op.name == "while"]
    assert len(loops) == 2
    stacked = 4 * (4 * 32 * N)  # four steps
    across = [held for held in found.use.held if held.first <= loops[0] and held.last >= loops[1]]
    assert sum(held.nbytes == stacked and held.kind == "temporary" for held in across) >= 2


def test_inside_of_a_loop_the_moment_counts_at_which_the_most_lives() -> None:
    found = program("nested loops")
    loop = next(at for at, op in enumerate(found.level.computations[0].ops) if op.name == "while")
    inside = [held for held in found.use.held if held.op and held.op[0] > 0]
    assert inside
    assert {(held.first, held.last) for held in inside} == {(loop, loop)}
    # `x`, the state, `y`, the inner state and its product; never all that the body makes one after another.
    assert found.use.live[loop] <= 7 * MATRIX


def test_constants_belong_to_the_program() -> None:
    use = program("constant").use
    assert MATRIX in [held.nbytes for held in use.held if held.kind == "constant"]
    assert {(held.first, held.last) for held in use.held if held.kind == "constant"} == {(0, len(use.live) - 1)}


def test_on_several_devices_it_is_the_memory_of_one() -> None:
    mesh = jax.make_mesh((8,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    spread = jax.NamedSharding(mesh, jax.P("i"))
    args = (jax.ShapeDtypeStruct((8 * N, N), "float32", sharding=spread),)
    found = compiled_of(lambda x: jnp.sin(x) * x.sum(0), args)
    told = found.compiled.memory_analysis()
    assert sum(held.nbytes for held in found.use.held if held.kind == "input") == MATRIX
    assert told.argument_size_in_bytes == MATRIX
    assert max(found.use.live) <= found.assignment.reserved


# What a backend may not tell.


def test_the_peak_of_what_tells_nothing_is_not_known() -> None:
    class Silent:
        def memory_analysis(self) -> None:
            return None

    class Refusing:
        def memory_analysis(self) -> None:
            raise NotImplementedError("no such thing here")

    assert peak_bytes(Silent()) is None
    assert peak_bytes(Refusing()) is None
    assert peak_bytes(None) is None


@pytest.mark.parametrize("cut", [1, 7, 100])
def test_messages_that_are_cut_off_are_refused(cut: int) -> None:
    compiled = program("scan").compiled
    message = compiled.memory_analysis().serialized_buffer_assignment_proto
    with pytest.raises(ValueError):
        read_assignment(message[:-cut])


def test_a_place_for_a_buffer_that_is_not_there_is_refused() -> None:
    # Allocation 0 of 4 bytes, which holds buffer 7.
    with pytest.raises(ValueError, match="buffer 7"):
        read_assignment(bytes([0x1A, 0x08, 0x10, 0x04, 0x4A, 0x04, 0x08, 0x07, 0x18, 0x04]))
