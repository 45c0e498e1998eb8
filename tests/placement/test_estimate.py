"""Estimates against counts by hand, and the table of hardware."""

from __future__ import annotations

import dataclasses
import doctest
import itertools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from jax.sharding import NamedSharding, PartitionSpec as P
from sample_shardings import mesh_of

import jaxnb
from jaxnb.api import stage
from jaxnb.errors import JaxnbError
from jaxnb.program import Program
from jaxnb.program.placement import estimate, hardware
from jaxnb.program.placement.data import Axis, Mesh
from jaxnb.program.placement.estimate import estimate_program, nodes_apart
from jaxnb.program.placement.hardware import HARDWARE, Hardware, add_hardware, find_hardware
from jaxnb.program.placement.ledger import read_ledger
from jaxnb.reading.placement.read import read_mesh

FLAT = mesh_of(x=4, y=2)
# One flop, one byte and one sent byte of it each take a second of another size, so that sums show what was counted.
PLAIN = Hardware("plain", {"float32": 1e6, "bfloat16": 2e6}, 1e5, 1 << 30, 1e3, 10.0, 8, network=1.0)


@pytest.fixture(autouse=True)
def own_table() -> Iterator[None]:
    kept = dict(HARDWARE)
    yield
    HARDWARE.clear()
    HARDWARE.update(kept)


def program_of(function: Any, *args: Any) -> Program:
    return jaxnb.inspect(function)(*args)


def array(*shape: int, dtype: Any = np.float32, spec: Any = None) -> Any:
    sharding = None if spec is None else NamedSharding(FLAT, spec)
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


# --- the table ---


@pytest.mark.parametrize("name", HARDWARE)
def test_every_entry_is_a_machine_that_makes_sense(name: str) -> None:
    entry = find_hardware(name)
    assert entry.name == name and str(entry) == entry.title != ""
    assert entry.products["bfloat16"] >= 8e12 and entry.products["float16"] >= entry.products["float32"]
    assert entry.bandwidth > entry.link > (entry.network or 0) > -1  # memory is faster than links, and these than nets
    assert 15e9 < entry.memory < 1e12 and entry.latency == 0.0
    if entry.elementwise is not None:
        assert entry.elementwise <= max(entry.products.values())


def test_a_machine_of_ones_own_can_be_added() -> None:
    add_hardware(dataclasses.replace(find_hardware("a100"), name="Ours", link=1e9))
    assert find_hardware("ours").link == 1e9 and find_hardware("OURS") is HARDWARE["Ours"]
    assert find_hardware(PLAIN) is PLAIN


def test_a_machine_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(JaxnbError) as raised:
        find_hardware("h10")
    assert "'h10'" in str(raised.value) and "did you mean h100" in str(raised.value) and "tpu-v5e" in str(raised.value)


@pytest.mark.parametrize(
    "wrong", [{"link": 0}, {"memory": -1}, {"network": 0.0}, {"latency": -1.0}, {"products": {"float32": 0.0}}]
)
def test_figures_that_cannot_be_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(JaxnbError, match="plain"):
        dataclasses.replace(PLAIN, **wrong)


def test_peaks_of_kin_and_of_what_is_not_known() -> None:
    h100 = find_hardware("h100")
    assert h100.peak("float8_e5m2") == h100.products["float8"] and h100.peak("uint8") == h100.products["int8"]
    assert h100.peak("complex64") == h100.products["float32"] and h100.peak("complex128") is None


# --- the computation ---


def test_a_product_by_hand() -> None:
    """[32,64] @ [64,16]: 2 * 32 * 64 * 16 flops, and three arrays of four bytes a number."""
    found = estimate_program(program_of(lambda a, b: a @ b, array(32, 64), array(64, 16)), PLAIN)
    (step,) = found.steps
    assert (step.flops, step.bytes) == (2 * 32 * 64 * 16, 4 * (32 * 64 + 64 * 16 + 32 * 16))
    assert step.computing == step.flops / 1e6 and step.moving == step.bytes / 1e3 == step.seconds
    assert found.total == found.computation == found.overlapped == step.seconds and found.complete
    fast = dataclasses.replace(PLAIN, bandwidth=1e9)
    assert estimate_program(program_of(lambda a, b: a @ b, array(32, 64), array(64, 16)), fast).total == step.computing


def test_all_else_runs_at_its_own_peak_or_counts_by_bytes() -> None:
    program = program_of(lambda a: a * a + 1, array(1000))
    found = estimate_program(program, PLAIN)
    assert sum(step.computing for step in found.steps) == pytest.approx(2000 / 1e5)
    none = estimate_program(program, dataclasses.replace(PLAIN, elementwise=None))
    assert sum(step.computing for step in none.steps) == 0 and none.flops == found.flops == 2000


def test_products_of_16_bits_run_at_their_own_peak() -> None:
    """XLA multiplies them as float32 on some CPUs, which says nothing of an accelerator."""
    half = program_of(lambda a, b: a @ b, array(32, 64, dtype=jnp.bfloat16), array(64, 16, dtype=jnp.bfloat16))
    found = estimate_program(half, dataclasses.replace(PLAIN, elementwise=None))
    assert sum(step.computing for step in found.steps) == 2 * 32 * 64 * 16 / 2e6


def test_loops_count_as_often_as_they_run() -> None:
    def turns(count: int) -> float:
        program = program_of(lambda a: jax.lax.fori_loop(0, count, lambda _, c: jnp.tanh(c @ a), a), array(16, 16))
        return sum(step.computing for step in estimate_program(program, PLAIN).steps)

    one = 2 * 16**3 / 1e6 + 16 * 16 / 1e5
    assert turns(20) - turns(10) == pytest.approx(10 * one, rel=0.2)  # the counter counts, too


def test_a_loop_of_unknown_length_is_at_least_that() -> None:
    program = program_of(lambda a: jax.lax.while_loop(lambda c: c[0] < 9, lambda c: c * 2, a), array(16))
    found = estimate_program(program, PLAIN)
    assert not found.complete and found.unknown and found.total > 0


def test_a_dtype_without_a_peak_is_said() -> None:
    found = estimate_program(
        program_of(lambda a: a @ a, array(8, 8, dtype=np.int32)), dataclasses.replace(PLAIN, products={"float32": 1.0})
    )
    assert sum(found.unknown.values()) == 1 and not found.complete


def test_a_device_does_its_share() -> None:
    """Rows split over 4: each device has a quarter of the flops of one device alone."""
    whole = estimate_program(program_of(lambda a, b: a @ b, array(64, 32), array(32, 16)), PLAIN)
    split = program_of(lambda a, b: a @ b, array(64, 32, spec=P("x")), array(32, 16, spec=P()))
    share = estimate_program(split, PLAIN, read_mesh(FLAT))
    assert share.flops * 4 == whole.flops and share.sendings == ()


# --- the collectives ---


def summed(dtype: Any = np.float32) -> Program:
    return program_of(
        lambda a, w: a @ w, array(16, 8, spec=P("x", "y"), dtype=dtype), array(8, 4, spec=P("y"), dtype=dtype)
    )


def test_a_collective_takes_what_it_sends_over_the_link() -> None:
    """An all-reduce of float32[4,4] over y: 2 * 64 * 1 / 2 bytes in 2 steps."""
    found = estimate_program(summed(), PLAIN, read_mesh(FLAT))
    (sending,) = found.sendings
    assert (sending.sent, sending.bandwidth, sending.seconds) == (64, 10.0, 6.4)
    assert found.communication == 6.4 and found.sent == 64 and found.total == found.computation + 6.4
    slow = dataclasses.replace(PLAIN, latency=0.5)
    assert estimate_program(summed(), slow, read_mesh(FLAT)).communication == pytest.approx(6.4 + 2 * 0.5)


def test_between_nodes_the_network_counts() -> None:
    """In nodes of 2 the axis y stays inside; in nodes of 1 it leaves them."""
    inside = estimate_program(summed(), dataclasses.replace(PLAIN, node=2), read_mesh(FLAT))
    assert inside.sendings[0].bandwidth == 10.0
    outside = estimate_program(summed(), dataclasses.replace(PLAIN, node=1), read_mesh(FLAT))
    assert (outside.sendings[0].bandwidth, outside.communication) == (1.0, 64.0)
    nobody = estimate_program(summed(), dataclasses.replace(PLAIN, node=1, network=None), read_mesh(FLAT))
    assert nobody.sendings[0].seconds is None and not nobody.complete and nobody.communication == 0


def test_sums_of_16_bits_are_sent_as_such() -> None:
    """XLA adds them as float32 on CPUs, and the ledger says so; on an accelerator half as much is sent."""
    program = summed(jnp.bfloat16)
    assert read_ledger(program, read_mesh(FLAT)).total == 64
    assert estimate_program(program, PLAIN, read_mesh(FLAT)).sent == 32


def test_lines_add_up() -> None:
    arrays = {
        "a": jax.device_put(np.ones((16, 8), np.float32), NamedSharding(FLAT, P("x", "y"))),
        "w": jax.device_put(np.ones((8, 4), np.float32), NamedSharding(FLAT, P("y"))),
    }
    program = stage("h = a @ w\ny = jnp.tanh(h)", {"jnp": jnp, **arrays}).program
    found = estimate_program(program, PLAIN, read_mesh(FLAT))
    lines = found.by_line()
    assert lines[1][1] == found.communication > 0 and 2 in lines
    assert sum(map(sum, lines.values())) == pytest.approx(found.total)


@given(
    sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    chosen=st.sets(st.integers(0, 3)),
    node=st.integers(1, 20),
)
def test_nodes_apart_as_a_plain_count_of_every_group(sizes: list[int], chosen: set[int], node: int) -> None:
    mesh = Mesh(tuple(Axis(f"a{index}", size) for index, size in enumerate(sizes)))
    axes = [f"a{index}" for index in sorted(chosen) if index < len(sizes)]
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, at in enumerate(itertools.product(*map(range, sizes))):
        rest = tuple(number for index, number in enumerate(at) if f"a{index}" not in axes)
        groups.setdefault(rest, []).append(place // node)
    assert nodes_apart(axes, mesh, node) == max(max(group) - min(group) for group in groups.values())


def test_a_group_along_no_axes_is_not_guessed() -> None:
    mesh = Mesh((Axis("x", 4), Axis("y", 4)))
    assert nodes_apart(None, mesh, 8) is None and nodes_apart(None, mesh, 16) == 0 == nodes_apart(None, None, 1)
