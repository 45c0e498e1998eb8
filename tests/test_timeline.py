"""The timeline of a scheduled program: sums, what hides what, and how it is drawn; with modules of real compilers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from golden import check_golden
from test_hlo_targets import EVERY, MESH, module_of, program_of

from jaxnb.errors import JaxnbError
from jaxnb.program import (
    Aval,
    Axis,
    Collective,
    Computation,
    Level,
    Mesh,
    Op,
    Program,
    Timeline,
    Value,
    estimate_program,
    find_hardware,
    read_hiding,
    read_target,
    read_timeline,
)
from jaxnb.program.placement.schedule import read_schedule
from jaxnb.program.placement.timeline import MOST_PIECES
from jaxnb.reading import count_cycles
from jaxnb.shell.placements import timeline_command
from jaxnb.staging import Run, current_session, use_session
from jaxnb.views import draw_timeline, render_timeline, render_timeline_html

MICRO = 1e-6


def timeline(target: str, name: str) -> Timeline:
    program = program_of(module_of(target, name))
    estimate = estimate_program(program, read_target(target).hardware, MESH, widened=False)
    return read_timeline(program, estimate, MESH, machine=f"a device of {target}")


@pytest.mark.parametrize(("target", "name"), EVERY)
def test_sums_are_those_of_the_estimates(target: str, name: str) -> None:
    module, hardware = module_of(target, name), read_target(target).hardware
    program = program_of(module)
    estimate = estimate_program(program, hardware, MESH, widened=False)
    found = read_timeline(program, estimate, MESH)
    cycles = count_cycles(module)
    assert found.by_cycles == (cycles is not None) == (target == "v5e:2x4")
    computing = estimate.computation if cycles is None else cycles.seconds(hardware.clock or 0)
    assert found.computing == pytest.approx(computing) and found.sending == pytest.approx(estimate.communication)
    assert found.seconds == pytest.approx(found.computing + found.waiting)
    hiding = read_hiding(program.level("hlo"), estimate, MESH)
    assert found.waiting == pytest.approx(sum(one.open for one in hiding))
    assert found.hidden == pytest.approx(sum(one.hidden for one in hiding))
    assert found.complete


@pytest.mark.parametrize(("target", "name"), EVERY)
def test_pieces_follow_one_another(target: str, name: str) -> None:
    found = timeline(target, name)
    for pieces in (found.blocks, *([one for one in found.transfers if one.link == link] for link in found.links)):
        ends = [0.0, *(one.stop for one in pieces)]
        assert all(before <= one.start + 1e-15 for before, one in zip(ends, pieces, strict=False))
        assert all(one.start <= one.stop <= found.seconds * (1 + 1e-9) for one in pieces)
    assert [loop.turns for loop in found.loops] == ([6, 6] if name == "scanned" else [])
    assert all(-1 <= one.loop < len(found.loops) for one in (*found.blocks, *found.transfers))


@pytest.mark.parametrize(("target", "name"), [("v5e:2x4", "scanned"), ("h100:1x8", "scanned"), ("v5e:2x4", "sharded")])
def test_how_it_is_shown(target: str, name: str) -> None:
    found = timeline(target, name)
    file = f"timeline/{target.replace(':', '_')}_{name}"
    check_golden(f"{file}.txt", render_timeline(found) + "\n")
    check_golden(f"{file}.svg", draw_timeline(found) + "\n")
    html = render_timeline_html(found)
    assert "<script" not in html and len(html) < 15_000 and "all-gather" in html


# --- made by hand ---

TPU = replace(find_hardware("tpu-v5e"), clock=1e6, link=1e6, latency=0.0)
"""A cycle is a microsecond, and so is a byte that is sent."""


def op(name: str, out: int, *inputs: int, cycles: int = 0, groups: str = "", bodies: Any = (), times: int = 1) -> Op:
    told = [("estimated_cycles", str(cycles))] if cycles else []
    told += [("replica_groups", groups)] if groups else []
    return Op(name, inputs, (out,), tuple(told), bodies=tuple(bodies), times=times)


ALONG = {"x": "{{0,2},{1,3}}", "y": "{{0,1},{2,3}}"}
SQUARE = Mesh((Axis("x", 2), Axis("y", 2)))


def level(*computations: tuple[Op, ...], payload: int = 100) -> Level:
    values = tuple(Value(f"v{number}", Aval("int8", (payload,), False, 1)) for number in range(40))
    made = [Computation("main" if not at else "body", (0,), (), ops) for at, ops in enumerate(computations)]
    return Level("hlo", values, tuple(made))


def scheduled(*computations: tuple[Op, ...]) -> tuple[Any, Any]:
    """The schedule in microseconds: (start, stop, open) of each collective, and how long all of it takes."""
    program = Program("", (level(*computations),))
    estimate = estimate_program(program, TPU, SQUARE, widened=False)
    found = read_schedule(program.level("hlo"), estimate, SQUARE)
    sent = sorted(found.sent, key=lambda one: one.sending)
    hiding = read_hiding(program.level("hlo"), estimate, SQUARE)
    assert [one.open for one in hiding] == [one.open for one in sent]
    return [tuple(round(x / MICRO) for x in (one.start, one.stop, one.open)) for one in sent], found.seconds / MICRO


def begin(axis: str, out: int, source: int = 0) -> Op:
    return op("all-gather-start", out, source, groups=ALONG[axis])


def end(out: int, begun: int) -> Op:
    return op("all-gather-done", out, begun)


def test_what_is_computed_meanwhile_hides_it() -> None:
    sent, seconds = scheduled((begin("x", 1), op("add", 2, 0, cycles=60), end(3, 1), op("add", 4, 3, cycles=10)))
    assert sent == [(0, 100, 40)] and seconds == pytest.approx(110)


def test_two_on_one_link_share_it_and_two_on_others_do_not() -> None:
    work = op("add", 9, 0, cycles=120)
    one, seconds = scheduled((begin("x", 1), begin("x", 2), work, end(3, 1), end(4, 2)))
    assert one == [(0, 100, 0), (100, 200, 80)] and seconds == pytest.approx(200)
    two, seconds = scheduled((begin("x", 1), begin("y", 2), work, end(3, 1), end(4, 2)))
    assert two == [(0, 100, 0), (0, 100, 0)] and seconds == pytest.approx(120)


def test_what_is_on_the_link_meanwhile_is_what_the_device_waits_for() -> None:
    sent, seconds = scheduled((begin("x", 1), begin("x", 2), op("add", 9, 0, cycles=30), end(4, 2), end(3, 1)))
    assert sent == [(0, 100, 70), (100, 200, 100)] and seconds == pytest.approx(200)


def test_one_that_is_waited_for_hides_another_on_another_link() -> None:
    sent, seconds = scheduled((begin("x", 1), op("all-reduce", 2, 0, groups=ALONG["y"]), end(3, 1)))
    assert sent == [(0, 100, 0), (0, 100, 100)] and seconds == pytest.approx(100)


def test_a_loop_stands_for_all_of_its_turns() -> None:
    body = (
        op("all-gather-start", 1, 0, groups=ALONG["x"], times=5),
        op("add", 2, 0, cycles=20, times=5),
        op("all-gather-done", 3, 1, times=5),
    )
    sent, seconds = scheduled((op("add", 5, 0, cycles=50), op("while", 6, 0, bodies=(1,))), body)
    assert sent == [(50, 550, 400)] and seconds == pytest.approx(550)


def test_of_branches_the_longest_counts() -> None:
    branches = (op("add", 2, 0, cycles=20),), (op("add", 3, 0, cycles=70),)
    assert scheduled((op("conditional", 1, 0, bodies=(1, 2)),), *branches) == ([], pytest.approx(70))


def test_a_long_program_stays_small() -> None:
    loops = [op("while", 2, 0, bodies=(at + 1,)) for at in range(500)]
    bodies = [(op("add", 3, 0, cycles=3, times=4),) for _ in loops]
    ops = [one for at, loop in enumerate(loops) for one in (*([op("add", 1, 0, cycles=1 + at % 7)] * 10), loop)]
    program = Program("", (level(tuple(ops), *bodies),))
    estimate = estimate_program(program, TPU, SQUARE, widened=False)
    found = read_timeline(program, estimate, SQUARE)
    assert len(found.blocks) <= MOST_PIECES and len(found.loops) <= MOST_PIECES
    assert found.computing == pytest.approx(found.seconds) and sum(one.count for one in found.blocks) == 5500
    assert len(found.svg) < 15_000
    last = found.blocks[-1]
    assert last.stop == pytest.approx(found.seconds)


def test_a_program_that_takes_no_time_is_no_drawing() -> None:
    empty = Timeline(0.0, (), ())
    assert draw_timeline(empty) == "" and str(empty) == "nothing takes time" and "<svg" not in empty.html


def test_what_nobody_knows_makes_it_a_bound() -> None:
    program = Program("", (level((op("all-gather", 1, 0, groups=ALONG["x"]), op("add", 2, 0, cycles=3))),))
    estimate = estimate_program(program, TPU, SQUARE, widened=False)
    found = read_timeline(program, estimate, SQUARE)
    assert found.complete and "at least" not in str(found) and "waiting 100 us; none of 100 us" in str(found)
    (sending,) = estimate.sendings
    unknown = replace(estimate, sendings=(replace(sending, seconds=None),))
    assert str(read_timeline(program, unknown, SQUARE)).startswith("at least 3.0 us: computing 3.0 us")


def test_places_are_shares_and_words_are_cut() -> None:
    svg = draw_timeline(timeline("v5e:2x4", "scanned"))
    assert re.search(r'<svg [^>]*width="100%"', svg) and "viewBox" not in svg
    shares = [float(one) for one in re.findall(r'x="([\d.]+)%"', svg)]
    assert len(shares) > 10 and all(0 <= share <= 100 for share in shares)


def test_the_command_wants_a_plan() -> None:
    before = current_session()
    use_session(None)  # another test may have let go of the programs of its session
    try:
        with pytest.raises(JaxnbError, match="no cell has been staged yet"):
            timeline_command(None)
    finally:
        use_session(before)
    with pytest.raises(JaxnbError, match="the last cell ran"):
        timeline_command(Run())


def test_collectives_are_those_of_the_ledger() -> None:
    found = timeline("v5e:2x4", "sharded")
    assert all(isinstance(one.collective, Collective) and one.count == 1 for one in found.transfers[:3])
    assert [one.collective.kind for one in found.transfers].count("all-gather") == 3
