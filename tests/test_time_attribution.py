"""Sharing measured time out among instructions, and from there among operations, equations and statements."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from jaxnb.program import Aval, Computation, Level, Link, Op, Program, Span, Value
from jaxnb.program.coverage import read_coverage
from jaxnb.staging.levels.time_attribution import Measured, with_times

VECTOR = Aval("float32", (10,), itemsize=4)

# A product, a loop around a sine, and a fusion of an addition with a multiplication; the tuple is nobody's.
HLO = Level(
    "hlo",
    tuple(Value(name, VECTOR) for name in ("dot.1", "while.2", "sine.3", "fusion.4", "add.5", "multiply.6", "tuple.7")),
    (
        Computation(
            "main",
            ops=(
                Op("dot", outputs=(0,), flops=100, bytes=40, transcendentals=0),
                Op("while", outputs=(1,), bodies=(1,)),
                Op("fusion", outputs=(3,), bodies=(2,)),
                Op("tuple", outputs=(6,)),
            ),
        ),
        Computation("body", ops=(Op("sine", outputs=(2,)),)),
        Computation(
            "fused", ops=(Op("add", outputs=(4,), flops=0), Op("multiply", outputs=(5,), flops=80, transcendentals=0))
        ),
    ),
)
NAMES = ("dot_general", "scan", "add", "mul")
EQUATIONS = Level(
    "jaxpr",
    computations=(
        Computation("main", ops=tuple(Op(name, bodies=(1,) if name == "scan" else ()) for name in NAMES)),
        Computation("body", ops=(Op("sin"),)),
    ),
)
SOURCE = Level(
    "source", computations=(Computation("cell", ops=(Op("Assign", span=Span(1)), Op("Assign", span=Span(2)))),)
)
PLACES = ((0, 0), (0, 1), (0, 2), (0, 3), (1, 0))


def program() -> Program:
    stablehlo = replace(EQUATIONS, name="stablehlo")
    below = {(0, 0): (0, 0), (0, 1): (0, 1), (0, 2): (2, 0), (0, 3): (2, 1), (1, 0): (1, 0)}
    links = (
        *(Link("source", (0, int(place > (0, 0))), "jaxpr", place) for place in PLACES),
        *(Link("jaxpr", place, "stablehlo", place) for place in PLACES),
        *(Link("stablehlo", upper, "hlo", lower) for upper, lower in below.items()),
    )
    return Program("y = a @ b\nz = g(y)", (SOURCE, EQUATIONS, stablehlo, HLO), links)


def measured(**running: float) -> Measured:
    """Of runs that took a second."""
    some = {tuple(key.replace("_", ".").split("__")): value for key, value in running.items()}
    return Measured(1.0, 0.9, 0.05, 10, 1.5, some)


def seconds(program: Program, level: str) -> dict[str, float | None]:
    return {op.name: op.seconds for op in program.level(level).ops()}


def total(program: Program, level: str) -> float:
    return sum(op.seconds or 0.0 for op in program.level(level).ops())


def test_instructions_have_their_share_of_runs_without_a_profiler() -> None:
    timed = with_times(program(), [measured(dot_1=0.9, fusion_4=0.3)])
    assert timed.timing is not None
    assert (timed.timing.total, timed.timing.profiled, timed.timing.runs) == (1.0, 1.5, 10)
    found = seconds(timed, "hlo")
    assert found["dot"] == pytest.approx(0.75) and found["fusion"] == pytest.approx(0.25)
    assert found["tuple"] == 0.0


def test_of_what_is_computed_inside_a_fusion_nothing_was_measured() -> None:
    found = seconds(with_times(program(), [measured(dot_1=1, while_2=1, sine_3=1, fusion_4=1)]), "hlo")
    assert found["add"] is None and found["multiply"] is None
    assert found["sine"] == pytest.approx(0.25)


def test_a_fusion_is_split_by_the_work_in_it() -> None:
    """40 bytes of the sum, 40 bytes and 80 flops of the product: a quarter to three quarters."""
    found = seconds(with_times(program(), [measured(fusion_4=1)]), "jaxpr")
    assert found["add"] == pytest.approx(0.25) and found["mul"] == pytest.approx(0.75)


def test_a_loop_has_what_its_body_leaves_it() -> None:
    found = seconds(with_times(program(), [measured(while_2=1, sine_3=3)]), "jaxpr")
    assert found["scan"] == pytest.approx(0.25) and found["sin"] == pytest.approx(0.75)


def test_a_loop_of_which_nothing_inside_was_seen_is_split_by_the_work_in_it() -> None:
    timed = with_times(program(), [measured(while_2=1)])
    assert seconds(timed, "jaxpr")["sin"] == pytest.approx(1.0)
    assert seconds(timed, "hlo")["while"] == pytest.approx(1.0) and seconds(timed, "hlo")["sine"] is None


def test_a_thread_that_waits_in_a_loop_leaves_the_time_to_what_runs() -> None:
    running = {("sine.3", "while.2"): 1.0}
    found = seconds(with_times(program(), [Measured(1.0, runs=3, running=running)]), "hlo")
    assert found["sine"] == pytest.approx(1.0) and found["while"] == 0.0


def test_what_runs_at_once_shares_the_time() -> None:
    running = {("dot.1", "fusion.4"): 1.0, ("dot.1",): 1.0}
    found = seconds(with_times(program(), [Measured(1.0, runs=3, running=running)]), "hlo")
    assert found["dot"] == pytest.approx(0.75) and found["fusion"] == pytest.approx(0.25)


def test_what_no_instruction_is_known_for_is_said() -> None:
    timed = with_times(program(), [measured(dot_1=3, copy_9=1)])
    assert timed.timing is not None and timed.timing.unattributed == pytest.approx(0.25)
    assert total(timed, "hlo") == pytest.approx(0.75)
    assert read_coverage(timed).time_eqn == pytest.approx(0.75)


def test_an_instruction_without_a_link_is_of_nothing_above() -> None:
    timed = with_times(program(), [measured(tuple_7=1, dot_1=1)])
    assert total(timed, "hlo") == pytest.approx(1.0) and total(timed, "jaxpr") == pytest.approx(0.5)
    assert read_coverage(timed).time_eqn == pytest.approx(0.5)


def test_without_a_link_of_its_own_it_is_its_loops() -> None:
    whole = program()
    links = tuple(link for link in whole.links if link.lower_op != (1, 0))
    found = seconds(with_times(replace(whole, links=links), [measured(while_2=1, sine_3=3)]), "jaxpr")
    assert found["scan"] == pytest.approx(1.0)


def test_several_links_share_by_what_the_operations_cost() -> None:
    """A transposition that was made part of a product: nearly all of it is the product."""
    costs = {"mul": 99, "add": 1}
    ops = tuple(
        replace(op, flops=costs.get(op.name, 0), bytes=0, transcendentals=0) for op in EQUATIONS.computations[0].ops
    )
    stablehlo = replace(
        EQUATIONS, name="stablehlo", computations=(Computation("main", ops=ops), EQUATIONS.computations[1])
    )
    links = (
        *(Link("jaxpr", (0, at), "stablehlo", (0, at)) for at in range(4)),
        Link("stablehlo", (0, 2), "hlo", (0, 0)),
        Link("stablehlo", (0, 3), "hlo", (0, 0), exact=False),
    )
    found = seconds(with_times(Program("x", (SOURCE, EQUATIONS, stablehlo, HLO), links), [measured(dot_1=1)]), "jaxpr")
    assert found["mul"] == pytest.approx(0.99) and found["add"] == pytest.approx(0.01)


def test_what_was_not_measured_says_why_and_has_no_seconds() -> None:
    timed = with_times(program(), [Measured(why="not measured, because a further run would print again.")])
    assert timed.timing is not None and timed.timing.total is None
    assert timed.timing.why == "not measured, because a further run would print again."
    assert all(op.seconds is None for level in timed.levels for op in level.ops())
    assert read_coverage(timed).time_eqn is None


def test_pieces_are_added_up() -> None:
    """The one without a profile counts, as a whole."""
    main, *bodies = HLO.computations
    moved = tuple(replace(op, bodies=tuple(body + 1 for body in op.bodies)) for op in main.ops)
    other = Computation("other", ops=(Op("copy"),))
    twice = replace(HLO, computations=(replace(main, ops=moved), other, *bodies), entries=2)
    two = replace(program(), levels=(*program().levels[:3], twice), links=())
    timed = with_times(two, [measured(dot_1=1), Measured(2.0, 1.9, 0.1, 4, why="the profiler saw nothing.")])
    assert timed.timing is not None
    assert (timed.timing.total, timed.timing.runs, timed.timing.unattributed) == (3.0, 4, 2.0)
    assert timed.timing.why == "piece 2: the profiler saw nothing."
    assert seconds(timed, "hlo")["dot"] == pytest.approx(1.0) and seconds(timed, "hlo")["copy"] is None


def test_another_number_of_pieces_is_refused() -> None:
    with pytest.raises(ValueError, match="2 pieces were measured, and the program has 1"):
        with_times(program(), [measured(dot_1=1)] * 2)


def test_without_measurements_nothing_changes() -> None:
    assert with_times(program(), []) == program()


names = st.sampled_from(["dot.1", "while.2", "sine.3", "fusion.4", "tuple.7", "elsewhere"])
sets = st.dictionaries(st.sets(names, min_size=1).map(sorted).map(tuple), st.floats(1e-9, 10), min_size=1)


@given(sets, st.floats(1e-6, 100))
def test_no_time_is_lost_and_none_made(running: dict[tuple[str, ...], float], whole: float) -> None:
    timed = with_times(program(), [Measured(whole, runs=3, running=running)])
    assert timed.timing is not None
    assert total(timed, "hlo") + timed.timing.unattributed == pytest.approx(whole)
    for upper, lower in (("jaxpr", "stablehlo"), ("stablehlo", "hlo")):
        assert total(timed, upper) <= total(timed, lower) * (1 + 1e-9)
    assert total(timed, "source") == pytest.approx(total(timed, "jaxpr"))
