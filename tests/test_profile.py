"""What the profiler recorded of instructions: read from a real profile, and turned into time by the clock."""

from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, strategies as st

from jaxnb._jax.hlo import module_names
from jaxnb.reading.jaxpr.profile import Event, read_profile, running_together

ONE, TWO = ("host", "one"), ("host", "two")


def second(thread: tuple[str, str], start: float, end: float, name: str) -> Event:
    return Event(thread, start * 1e9, end * 1e9, name)


def test_a_loop_has_what_its_body_leaves_it() -> None:
    events = [second(ONE, 0, 10, "while"), second(ONE, 1, 4, "dot"), second(ONE, 5, 9, "tanh")]
    assert running_together(events) == {("while",): 3.0, ("dot",): 3.0, ("tanh",): 4.0}


def test_what_runs_at_once_is_told_apart_from_what_runs_alone() -> None:
    events = [second(ONE, 0, 4, "dot"), second(TWO, 1, 7, "sort")]
    assert running_together(events) == {("dot",): 1.0, ("dot", "sort"): 3.0, ("sort",): 3.0}


def test_pauses_do_not_count() -> None:
    events = [second(ONE, 2, 3, "dot"), second(ONE, 8, 9, "dot")]
    assert running_together(events) == {("dot",): 2.0}


def test_the_order_of_events_does_not_matter() -> None:
    events = [second(ONE, 0, 6, "call"), second(ONE, 0, 5, "dot"), second(ONE, 6, 7, "copy")]
    assert running_together(events) == running_together(reversed(events))


def test_nothing_ran() -> None:
    assert running_together([]) == {}


spans = st.tuples(st.integers(0, 50), st.integers(1, 20), st.sampled_from("abc"))


@given(st.lists(spans, max_size=8), st.lists(spans, max_size=8))
def test_all_parts_are_the_time_during_which_anything_ran(one: list, two: list) -> None:
    """Whatever lies beside or inside whatever else, as events of one thread do."""
    events = [second(ONE, start, start + length, name) for start, length, name in _nested(one)]
    events += [second(TWO, start, start + length, name) for start, length, name in _nested(two)]
    busy = {at for event in events for at in range(int(event.start / 1e9), int(event.end / 1e9))}
    assert sum(running_together(events).values()) == pytest.approx(len(busy))


def _nested(some: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Without those that begin in one and end behind it."""
    kept: list[tuple[int, int, str]] = []
    for start, length, name in some:
        end = start + length
        crosses = (at < start < at + n < end or start < at < end < at + n for at, n, _ in kept)
        if not any(crosses):
            kept.append((start, length, name))
    return kept


@pytest.fixture
def profile(tmp_path: Path):
    """The events of two programs that ran under the profiler, and the module of the first."""
    x = jnp.ones((128, 128))

    def looping(x):
        return jax.lax.fori_loop(0, 3, lambda _, y: jnp.tanh(jnp.sort(y @ y, axis=0)), x)

    first, second = (jax.jit(f).lower(x).compile() for f in (looping, jnp.cumsum))
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    jax.profiler.start_trace(tmp_path, profiler_options=options)
    try:
        jax.block_until_ready((first(x), second(x)))
    finally:
        jax.profiler.stop_trace()
    (path,) = tmp_path.rglob("*.xplane.pb")
    return path, first


def test_instructions_are_read_with_those_of_loops(profile) -> None:
    path, program = profile
    events = read_profile(path, module_names(program))
    names = {event.name for event in events}
    text = program.as_text()
    assert all(f"%{name} = " in text for name in names)
    loops = [event for event in events if event.name.startswith("while")]
    assert len(loops) == 1
    inside = [event.name for event in events if loops[0].start <= event.start and event.end <= loops[0].end]
    # XLA may say of one instruction twice that it runs, once inside the other.
    assert len([name for name in inside if "sort" in name]) in (3, 6)


def test_other_programs_are_left_out(profile) -> None:
    path, program = profile
    assert read_profile(path, frozenset({"jit_nothing"})) == []
    assert {event.name for event in read_profile(path, module_names(program))}.isdisjoint(
        {event.name for event in read_profile(path, {"jit_cumsum"})} - {"copy"}
    )
