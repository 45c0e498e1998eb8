"""Running the programs of a cell again to measure them: what is measured, and what must not be run twice."""

from __future__ import annotations

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.program import Program, Timing
from jaxnb.program.laws import check_program
from jaxnb.reading.jaxpr.profile import Event
from jaxnb.staging.levels import timing
from jaxnb.staging.levels.time_attribution import Measured, with_times
from jaxnb.staging.levels.timing import Held, hold_inputs, measure
from jaxnb.staging.session import strategy
from jaxnb.staging.session.session import Session

SETUP = """
import jax, jax.numpy as jnp, numpy as np
x, w = jnp.arange(64.0).reshape(8, 8) / 64, jnp.ones((8, 8))
count = [0]
"""


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> dict[int, Held]:
    """What is kept of each piece before it runs."""
    kept: dict[int, Held] = {}
    dispatch = strategy.dispatch

    def keep(piece: Any, reached: Any, arguments: Any, *rest: Any) -> Any:
        kept[id(piece)] = hold_inputs(piece, arguments)
        return dispatch(piece, reached, arguments, *rest)

    monkeypatch.setattr(strategy, "dispatch", keep)
    return kept


def staged(cell: str, setup: str = SETUP, **options: Any) -> tuple[Program, dict[str, Any]]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(setup, namespace)
    run = new_session().stage(cell, namespace, StageOptions(block=True, **options))
    return run.program, namespace


def measured(held: dict[int, Held]) -> tuple[Measured, ...]:
    return measure(list(held.values()), 0.02)


def test_a_program_is_run_without_a_profiler_and_with_one(held) -> None:
    program, _ = staged("y = jnp.tanh(x @ w)\nz = jnp.sort(y).sum()")
    (found,) = measured(held)
    assert found.why == ""
    assert found.total is not None and found.best is not None and found.profiled is not None
    assert 0 < found.best <= found.total and found.runs >= 3
    assert 0 < sum(found.running.values()) <= 2 * found.profiled
    timed = with_times(program, [found])
    check_program(timed)
    assert timed.timing is not None and timed.timing.total == found.total
    for level in timed.levels:
        assert sum(op.seconds or 0.0 for op in level.ops()) == pytest.approx(found.total, rel=0.01)


def test_the_time_of_a_loop_is_given_to_the_lines_of_its_body(held) -> None:
    cell = """def step(c, _):
    c = jnp.sort(c @ w, axis=0)
    return jnp.tanh(c), None
c, _ = jax.lax.scan(step, x, None, 20)"""
    program, _ = staged(cell, "import jax, jax.numpy as jnp\nx, w = jnp.ones((300, 300)), jnp.ones((300, 300))")
    timed = with_times(program, measured(held))
    lines: dict[int | None, float] = {}
    for op in timed.ops("jaxpr"):
        lines[op.line] = lines.get(op.line, 0.0) + (op.seconds or 0.0)
    assert lines[2] + lines[3] > 0.5 * sum(lines.values())


def test_donated_inputs_are_copied_and_the_results_stay(held) -> None:
    _, namespace = staged("x = x * 2 + w", donate=("x",))
    before = np.asarray(namespace["x"]).copy()
    (found,) = measured(held)
    assert found.total is not None and found.why == "" and found.runs >= 3
    np.testing.assert_array_equal(namespace["x"], before)


def test_keys_can_be_donated(held) -> None:
    staged("key = jax.random.split(key)[0]", "import jax\nkey = jax.random.key(0)", donate=("key",))
    (found,) = measured(held)
    assert found.total is not None and found.runs >= 3


def test_arrays_keep_their_places(held) -> None:
    setup = (
        "import jax, jax.numpy as jnp, numpy as np\n"
        "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n"
        'mesh = Mesh(np.array(jax.devices()[:4]), ("d",))\n'
        'x = jax.device_put(jnp.arange(16.0).reshape(8, 2), NamedSharding(mesh, P("d")))'
    )
    program, namespace = staged("x = jnp.sin(x) / x.sum()", setup, donate=("x",))
    (kept,) = held.values()
    assert kept.inputs[0].sharding == namespace["x"].sharding
    found = measured(held)
    assert found[0].total is not None and found[0].why == ""
    timed = with_times(program, found)
    assert sum(op.seconds or 0.0 for op in timed.ops("hlo")) == pytest.approx(found[0].total, rel=0.01)


def test_what_python_writes_to_is_copied(held) -> None:
    _, namespace = staged("y = jnp.sin(a)", "import jax.numpy as jnp, numpy as np\na = np.ones(3)")
    namespace["a"][:] = 7
    (kept,) = held.values()
    np.testing.assert_array_equal(kept.inputs[0], np.ones(3))
    assert measured(held)[0].total is not None


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ('jax.debug.print("{}", x.sum())\ny = x + 1', "`debug_"),
        ("jax.debug.callback(lambda v: count.append(v), x.sum())\ny = x + 1", "`debug_callback`"),
        (
            "y = jax.pure_callback(lambda v: (count.append(1), np.asarray(v))[1], jax.typeof(x), x) + 1",
            "`pure_callback`",
        ),
        (
            "def turn(c, _):\n"
            "    jax.experimental.io_callback(lambda v: count.append(1), None, c.sum(), ordered=True)\n"
            "    return c + 1, None\n"
            "y, _ = jax.lax.scan(turn, x, None, 3)",
            "`io_callback`",
        ),
    ],
)
def test_what_has_effects_is_not_run_again(held, capfd, cell: str, said: str) -> None:
    setup = SETUP + "import jax.experimental\n"
    program, namespace = staged(cell, setup)
    jax.effects_barrier()
    before, _ = len(namespace["count"]), capfd.readouterr()
    found = measured(held)
    jax.effects_barrier()
    assert len(namespace["count"]) == before and capfd.readouterr().out == ""
    told = [item for item in found if item.total is None]
    assert len(told) == 1
    assert told[0].why.startswith(f"not measured, because a further run would repeat what {said}")
    timing = with_times(program, found).timing
    assert timing is not None and said in timing.why


def test_what_a_kernel_does_to_its_own_references_is_no_effect(held) -> None:
    setup = SETUP + ("from jax.experimental import pallas as pl\ndef kernel(x, y):\n    y[...] = x[...] * 2\n")
    staged("y = pl.pallas_call(kernel, jax.typeof(x), interpret=True)(x)", setup)
    (found,) = measured(held)
    assert found.total is not None and found.why == ""


def test_what_a_later_piece_gave_up_is_said() -> None:
    gone = jnp.ones(3)
    compiled = jax.jit(lambda x: x + 1).lower(gone).compile()
    gone.delete()
    (found,) = measure([Held(compiled, (gone,))])
    assert found.total is None and "donated what it reads" in found.why


class Slow:
    """A program that takes a while, of a backend that shows nothing of it."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.runs = seconds, 0

    def __call__(self, *arguments: Any) -> list[Any]:
        self.runs += 1
        time.sleep(self.seconds)
        return []

    def runtime_executable(self) -> None:
        return None


def test_what_takes_over_a_second_is_run_once() -> None:
    program = Slow(1.05)
    (found,) = measure([Held(program)])
    assert program.runs == found.runs == 1
    assert found.total == found.best and found.spread == 0.0
    assert "the backend does not show what it compiled" in found.why


def test_what_is_long_is_run_three_times_by_the_clock() -> None:
    program = Slow(0.02)
    (found,) = measure([Held(program)], 0.01)
    assert found.runs == 3 and program.runs == 5  # two to warm up


def test_a_profiler_that_runs_already_is_left_alone(tmp_path: Path) -> None:
    x = jnp.ones(3)
    held = Held(jax.jit(jnp.sin).lower(x).compile(), (x,))
    jax.profiler.start_trace(tmp_path)
    try:
        (found,) = measure([held], 0.01)
    finally:
        jax.profiler.stop_trace()
    assert found.total is not None and found.running == {}
    assert found.why.startswith("its time is not shared out: ")
    assert list(tmp_path.rglob("*.xplane.pb"))


def test_what_is_started_as_one_graph_is_profiled_without(held, monkeypatch: pytest.MonkeyPatch) -> None:
    """As XLA:GPU does, whose profile then has one name for all kernels."""
    program, _ = staged("y = jnp.tanh(x @ w)\nz = jnp.sort(y).sum()")
    seen: list[Any] = []

    def read(path: Path, modules: Any) -> list[Event]:
        events = read_profile(path, modules)
        seen.append(events)
        return [event._replace(name="command_buffer_1") for event in events] if len(seen) == 1 else events

    read_profile = timing.read_profile
    monkeypatch.setattr(timing, "read_profile", read)
    (found,) = measured(held)
    assert found.running and not any("command_buffer" in name for names in found.running for name in names)
    check_program(with_times(program, [found]))
    first = len(seen)
    (again,) = measured(held)
    assert again.running and len(seen) < first + 3  # the program without graphs is kept with the piece


def test_the_profile_is_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    x = jnp.ones((64, 64))
    (found,) = measure([Held(jax.jit(jnp.sort).lower(x).compile(), (x,))], 0.01)
    assert found.running and list(tmp_path.iterdir()) == []


def test_a_failure_is_said_and_not_raised() -> None:
    x = jnp.ones(3)
    compiled = jax.jit(lambda x: x + 1, donate_argnums=0).lower(x).compile()
    held = Held(compiled, (x,), frozenset({0}))
    assert measure([held], 0.01)[0].total is not None
    (found,) = measure([replace(held, donated=frozenset())], 0.01)  # the first run takes the buffer away
    assert found.total is None and found.why.startswith("not measured: it failed when it was run again")


def test_the_text_has_both_times() -> None:
    text = str(Timing(2.5e-3, 1.2e-3, 300, 3.5e-3))
    assert text == "2.5 ms ± 1.2 ms, the median of 300 runs; 3.5 ms under the profiler."
    assert str(Timing(2.5e-3, 0.0, 1, why="nothing else.")) == "2.5 ms ± 0 us, of one run. nothing else."
    assert str(Timing(why="nothing is computed.")) == "nothing is computed."
