"""How much of a program is linked, and how much of its time: on the six programs of `benchmarks/coverage.py`."""

from __future__ import annotations

from typing import Any

import pytest
from level_programs import PROGRAMS

from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.program import Computation, Level, Op, Program, Span, Timing
from jaxnb.program.coverage import Coverage, read_coverage
from jaxnb.program.laws import check_program
from jaxnb.staging.levels.time_attribution import with_times
from jaxnb.staging.levels.timing import Held, hold_inputs, measure
from jaxnb.staging.session import strategy
from jaxnb.staging.session.session import Session


@pytest.mark.parametrize("name", PROGRAMS)
def test_nearly_all_time_belongs_to_equations(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[Held] = []
    dispatch = strategy.dispatch

    def keep(piece: Any, reached: Any, arguments: Any, *rest: Any) -> Any:
        held.append(hold_inputs(piece, arguments))
        return dispatch(piece, reached, arguments, *rest)

    monkeypatch.setattr(strategy, "dispatch", keep)
    setup, cell = PROGRAMS[name]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(setup, namespace)
    run = new_session().stage(cell, namespace, StageOptions(block=True))
    measured = measure(held, 0.02)
    assert all(item.why == "" for item in measured)
    program = with_times(run.program, measured)
    check_program(program)
    coverage = program.coverage()
    assert coverage.time_eqn is not None and 0.99 <= coverage.time_eqn <= 1 + 1e-9
    assert program.timing is not None and program.timing.unattributed <= 0.01 * (program.timing.total or 0.0)


def test_without_measurements_the_share_of_time_is_not_known() -> None:
    equations = Level("jaxpr", computations=(Computation("main", ops=(Op("sin", span=Span(1)),)),))
    program = Program("y = jnp.sin(x)", (equations,))
    assert read_coverage(program) == Coverage(eqn_line=1.0)
    nothing = Program("y = jnp.sin(x)", (equations,), timing=Timing(why="it prints."))
    assert read_coverage(nothing).time_eqn is None


def test_the_share_of_time_is_that_of_what_the_runs_took() -> None:
    ops = (Op("sin", seconds=0.25), Op("cos", seconds=0.5), Op("neg"))
    program = Program("y", (Level("jaxpr", computations=(Computation("main", ops=ops),)),), timing=Timing(1.0))
    assert read_coverage(program).time_eqn == 0.75
    assert str(read_coverage(program)) == "eqn→line 0 %, stablehlo→eqn –, hlo→eqn –, time→eqn 75 %"
