"""Targets as data: the grammar, the table, and what is said of machines that cannot be."""

from __future__ import annotations

import doctest

import pytest

from jaxnb.errors import JaxnbError
from jaxnb.program import HARDWARE, TARGET_KINDS, Target, find_hardware, read_target
from jaxnb.program.placement import targets


@pytest.mark.parametrize(
    ("text", "platform", "devices", "axes"),
    [
        ("v5e:4x4", "tpu", 16, {"x": 4, "y": 4}),
        ("v4:2x2x2", "tpu", 8, {"x": 2, "y": 2, "z": 2}),
        ("v5p:8x8x16", "tpu", 1024, {"x": 8, "y": 8, "z": 16}),
        ("v6e:16x16", "tpu", 256, {"x": 16, "y": 16}),
        ("tpu7x:2x2x1", "tpu", 8, {"x": 2, "y": 2, "core": 2}),
        ("h100:1x8", "cuda", 8, {"y": 8}),
        ("h100:4x8", "cuda", 32, {"x": 4, "y": 8}),
        ("h100", "cuda", 1, {}),
        ("v5e", "tpu", 1, {}),
        ("tpu7x", "tpu", 1, {}),
        ("v5e:1x1", "tpu", 1, {"x": 1}),
    ],
)
def test_what_is_written_is_read(text: str, platform: str, devices: int, axes: dict[str, int]) -> None:
    found = read_target(text)
    assert (found.platform, found.devices, found.axes, str(found)) == (platform, devices, axes, text)
    assert read_target(f" {text.upper()} ".replace("X", "x")) == found


def test_names_of_the_table_of_hardware_serve_too() -> None:
    assert str(read_target("tpu-v5e:4x4")) == "v5e:4x4" and read_target("tpu-v7x").kind.name == "tpu7x"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("v5:4x4", "did you mean v5p or v5e?"),
        ("v7x:2x2x1", "did you mean tpu7x"),
        ("h10", "did you mean h100"),
        ("zzzzzz", "compilers are known for v4, v5e, v5p, v6e, tpu7x, t4"),
        ("v5e:4x4x4", "a torus of two dimensions"),
        ("v4:4x4", "a torus of three dimensions"),
        ("v5e:3x3", "a host has 2x2 chips"),
        ("v5e:32x32", "these are 1,024 chips, and a pod has 256"),
        ("v5p:32x32x32", "a pod has 8,960"),
        ("h100:8", "hosts x devices"),
        ("h100:8x1x1", "hosts x devices"),
        ("h100:1x16", "a host has 8 devices at most"),
        ("v5e:", "no v5e of no sides"),
        ("v5e:4xx", "sides are numbers from 1"),
        ("v5e:0x4", "sides are numbers from 1"),
        ("v5e 4x4", "is no target"),
        ("", "is no target"),
        ("v5e:4:4", "is no target"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(text: str, said: str) -> None:
    with pytest.raises(JaxnbError) as raised:
        read_target(text)
    assert said in str(raised.value) and raised.value.fix


@pytest.mark.parametrize("name", TARGET_KINDS)
def test_every_kind_is_hardware_of_the_table(name: str) -> None:
    kind = TARGET_KINDS[name]
    whole, alone = find_hardware(kind.hardware), read_target(name)
    assert kind.hardware in HARDWARE and kind.platform in ("tpu", "cuda")
    assert (
        alone.hardware.memory == kind.available == pytest.approx(whole.memory / kind.cores, rel=0.1)
        and alone.devices == 1
    )
    assert (whole.clock is not None) == (whole.vmem is not None) == (kind.platform == "tpu")
    if kind.platform == "cuda":
        told = dict(kind.options)
        # The driver keeps some of the memory for itself, but data sheets count in powers of ten.
        assert 0.9 < int(told["device_memory_size"]) / whole.memory < 1.1
        assert int(told["memory_bandwidth"]) == pytest.approx(whole.bandwidth, rel=0.05)


def test_the_clock_of_a_tpu_is_that_of_its_products() -> None:
    """Units of 128 x 128 up to v5p, of 256 x 256 since: four a core, of which there are so many."""
    units = {"v4": 8 * 128**2, "v5e": 4 * 128**2, "v5p": 8 * 128**2, "v6e": 4 * 256**2, "tpu7x": 8 * 256**2}
    for name, count in units.items():
        kind = find_hardware(TARGET_KINDS[name].hardware)
        assert kind.clock is not None and 2 * count * kind.clock == pytest.approx(kind.products["bfloat16"], rel=0.01)


def test_a_device_is_a_part_of_a_chip_where_jax_sees_two() -> None:
    whole, device = find_hardware("tpu-v7x"), read_target("tpu7x:2x2x1").hardware
    assert device.memory == int(94.75 * 2**30) and device.peak("bfloat16") == (whole.peak("bfloat16") or 0) / 2
    assert device.node == 2 * whole.node and device.clock == whole.clock and (device.vmem or 0) * 2 == whole.vmem


def test_a_host_has_as_many_devices_as_were_named() -> None:
    assert read_target("h100:4x4").hardware.node == 4 and read_target("h100:1x8").hardware.node == 8


def test_targets_compare_by_what_they_are() -> None:
    assert read_target("v5e:4x4") == Target(TARGET_KINDS["v5e"], (4, 4)) != read_target("v5e")
    assert len({read_target("v5e:4x4"), read_target("tpu-v5e:4x4")}) == 1


def test_the_examples_of_the_module() -> None:
    assert doctest.testmod(targets).failed == 0
