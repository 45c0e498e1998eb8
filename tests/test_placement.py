"""Meshes and placements as data: what is read is what jax itself says, and what jax cannot say is cut as XLA cuts."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]
from jax._src.sharding_impls import GSPMDSharding  # what older programs and serialised ones give; not public
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding
from sample_shardings import NAMED, abstract, mesh_of, sample_placements

from jaxnb.errors import JaxnbError
from jaxnb.program.placement.data import Axis, Device, Mesh as MeshData, Placement, box_text, cut
from jaxnb.reading.placement.read import read_mesh, read_placement, read_tree

FLAT = mesh_of(x=4, y=2)


def as_jax_says(sharding: Any, shape: tuple[int, ...]) -> dict[int, tuple[tuple[int, int], ...]]:
    held = sharding.devices_indices_map(shape)
    return {
        device.id: tuple(part.indices(size)[:2] for part, size in zip(index, shape, strict=True))
        for device, index in held.items()
    }


def as_read(placement: Placement) -> dict[int, tuple[tuple[int, int], ...]]:
    return {device.id: box for device, box in zip(placement.devices, placement.boxes, strict=True)}


# --- meshes --------------------------------------------------------------------------------------------------------


def test_a_mesh() -> None:
    types = (AxisType.Explicit, AxisType.Auto, AxisType.Manual)
    mesh = read_mesh(Mesh(np.array(jax.devices()[:8]).reshape(2, 2, 2), ("a", "b", "c"), axis_types=types))
    assert mesh.axes == (Axis("a", 2, "explicit"), Axis("b", 2, "auto"), Axis("c", 2, "manual"))
    assert [device.id for device in mesh.devices] == [device.id for device in jax.devices()[:8]]
    assert mesh.devices[0] == Device(jax.devices()[0].id, 0, "cpu", "cpu", True)
    assert mesh.coordinates(5) == (1, 0, 1) and mesh.size == 8 and not mesh.abstract
    assert str(mesh) == "a=2 explicit, b=2, c=2 manual"


def test_an_abstract_mesh_has_sizes_only() -> None:
    mesh = read_mesh(AbstractMesh((16, 16), ("x", "y"), axis_types=(AxisType.Auto,) * 2))
    assert mesh.abstract and mesh.size == 256 and mesh.devices == ()


def test_what_is_no_mesh() -> None:
    with pytest.raises(JaxnbError, match=r"a int is no mesh(.|\n)*make_mesh"):
        read_mesh(3)


class Fake:
    """A device of a platform that is not here."""

    process_index = 0
    device_kind = "H200"

    def __init__(self, number: int, platform: str) -> None:
        self.id, self.platform = number, platform


def test_devices_of_two_platforms() -> None:
    mesh = Mesh(np.array([Fake(0, "cpu"), Fake(1, "gpu")]), ("x",))
    with pytest.raises(JaxnbError, match=r"2 platforms: cpu and gpu(.|\n)*jax.devices\('cpu'\)"):
        read_mesh(mesh)


# --- placements ----------------------------------------------------------------------------------------------------


UNKNOWN_TO_JAX = {"1-uneven", "1-uneven-last", "2-uneven", "2-abstract", "2-pending", "2-manual"}


@pytest.mark.parametrize("name", [name for name in NAMED if name not in UNKNOWN_TO_JAX])
def test_named_shardings_hold_what_jax_says(name: str) -> None:
    sharding, shape, dtype = NAMED[name]
    placement = read_placement(sharding, shape, dtype)
    assert as_read(placement) == as_jax_says(sharding, shape)
    assert placement.most == np.prod(sharding.shard_shape(shape), dtype=int) * jnp.dtype(dtype).itemsize


@settings(max_examples=150, database=None)
@given(st.data())
def test_any_named_sharding_holds_what_jax_says(data: st.DataObject) -> None:
    sizes = data.draw(st.sampled_from([(8,), (4, 2), (2, 2, 2), (2, 1, 4), (1,), (1, 1, 3)]))
    axes = "xyz"[: len(sizes)]
    mesh = mesh_of(**dict(zip(axes, sizes, strict=True)))
    rank = data.draw(st.integers(0, 6))
    left = list(data.draw(st.permutations(axes)))
    entries: list[Any] = []
    for _ in range(data.draw(st.integers(0, rank))):
        names = tuple(left.pop() for _ in range(data.draw(st.integers(0, len(left)))))
        entries.append(data.draw(st.sampled_from([names, names[0]])) if len(names) == 1 else names or None)
    parts = [1 if entry is None else int(np.prod([mesh.shape[name] for name in entry])) for entry in entries]
    parts += [1] * (rank - len(parts))
    shape = tuple(data.draw(st.integers(0, 3)) * part for part in parts)
    sharding = NamedSharding(mesh, P(*entries))
    placement = read_placement(sharding, shape, "int16")
    assert as_read(placement) == as_jax_says(sharding, shape)
    assert sorted(place for group in placement.groups for place in group.places) == list(range(mesh.size))
    assert all(place in placement.groups[placement.held[place]].places for place in range(mesh.size))
    if placement.nbytes:
        assert placement.copies == mesh.size // np.prod(parts, dtype=int) and not placement.uneven
        assert sum(placement.per_device) == placement.nbytes * placement.copies


@given(st.integers(0, 200), st.integers(1, 20))
def test_every_element_is_in_one_piece(size: int, parts: int) -> None:
    pieces = cut(size, parts)
    assert len(pieces) == parts and pieces[0][0] == 0 and pieces[-1][1] == size
    assert all(before[1] == after[0] for before, after in zip(pieces, pieces[1:], strict=False))
    assert all(0 <= stop - start <= -(-size // parts) for start, stop in pieces)


def test_uneven_pieces() -> None:
    placement = read_placement(NamedSharding(FLAT, P("x")), (6,), "float32")
    assert placement.boxes[::2] == (((0, 2),), ((2, 4),), ((4, 6),), ((6, 6),))
    assert placement.uneven and placement.per_device == (8, 8, 8, 8, 8, 8, 0, 0) and placement.groups[-1].box is None


def test_copies_and_idle_axes() -> None:
    placement = read_placement(jax.device_put(np.ones((8, 4), np.float32), NamedSharding(FLAT, P("x"))))
    assert placement.copies == 2 and placement.idle_axes == ("y",) and placement.aval == "float32[8,4]"
    assert [group.places for group in placement.groups] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert placement.spec == "P('x')" and placement.memory == "device"


def test_axes_of_size_one_are_not_idle() -> None:
    placement = read_placement(NamedSharding(mesh_of(x=1, y=2), P("y")), (4,), "float32")
    assert placement.idle_axes == () and placement.copies == 1


def test_a_single_device() -> None:
    placement = read_placement(jax.device_put(jnp.ones((3, 4)), SingleDeviceSharding(jax.devices()[3])))
    assert placement.kind == "single device" and [device.id for device in placement.devices] == [jax.devices()[3].id]
    assert placement.boxes == (((0, 3), (0, 4)),) and placement.copies == 1


def test_the_compilers_own_shardings() -> None:
    tiles = xla_client.HloSharding.iota_tile((2, 4), reshape_dims=(4, 2), transpose_perm=(1, 0), subgroup_types=[])
    sharding = GSPMDSharding(jax.devices()[:8], tiles)
    placement = read_placement(sharding, (8, 8), "int8")
    assert placement.kind == "GSPMDSharding" and as_read(placement) == as_jax_says(sharding, (8, 8))
    assert placement.mesh is None and placement.copies == 1
    with pytest.raises(JaxnbError, match="does not fit an array of shape"):
        read_placement(sharding, (3, 3))


def test_abstract_arrays_and_traced_ones() -> None:
    spec = NamedSharding(abstract(x=16, y=16), P("x", "y"))
    placement = read_placement(jax.ShapeDtypeStruct((8192, 8192), jnp.bfloat16, sharding=spec))
    assert placement.devices == () and len(placement.boxes) == 256 and placement.most == 512 * 512 * 2
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(read_placement(x))
        return x * 2

    explicit = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    jax.jit(f)(jax.device_put(np.ones((8, 4)), NamedSharding(explicit, P("x"))))
    assert seen[0].spec == "P('x', None)" and seen[0].copies == 2
    with pytest.raises(JaxnbError, match="a traced value lives nowhere yet"):
        jax.jit(f)(jnp.ones(3))


def test_random_keys() -> None:
    keys = jax.device_put(jax.random.split(jax.random.key(0), 8), NamedSharding(FLAT, P("x")))
    assert read_placement(keys).most == 2 * keys.dtype.itemsize and read_placement(keys).dtype == "key<fry>"


def test_what_has_no_place() -> None:
    gone = jnp.ones((2, 3))
    gone.delete()
    with pytest.raises(JaxnbError, match=r"float32\[2,3\] was deleted(.|\n)*donation"):
        read_placement(gone)
    with pytest.raises(JaxnbError, match=r"without a sharding(.|\n)*ShapeDtypeStruct"):
        read_placement(jax.ShapeDtypeStruct((2,), jnp.int8))
    with pytest.raises(JaxnbError, match="pass its shape"):
        read_placement(NamedSharding(FLAT, P("x")))
    with pytest.raises(JaxnbError, match=r"P\('x', 'y'\) speaks of 2 dimensions, and the array has 1"):
        read_placement(NamedSharding(FLAT, P("x", "y")), (8,))


def test_devices_of_a_backend_that_was_closed() -> None:
    code = (
        "import jax; from jax.extend.backend import clear_backends\n"
        "from jaxnb.reading.placement.read import read_placement\n"
        "x = jax.numpy.ones(3); clear_backends()\n"
        "try: read_placement(x)\nexcept Exception as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "of the array is gone" in done.stdout and "started anew" in done.stdout


def test_devices_of_other_processes() -> None:
    devices = tuple(Device(number, number // 2, "tpu", "TPU v4", number < 2) for number in range(4))
    mesh = MeshData((Axis("x", 4),), devices)
    boxes = tuple(((number, number + 1),) for number in range(4))
    assert Placement("named", (4,), boxes, cuts=(("x",),), devices=devices, mesh=mesh).elsewhere == 2


# --- pytrees -------------------------------------------------------------------------------------------------------


def test_a_pytree() -> None:
    gone = jnp.ones(2)
    gone.delete()
    rows = jax.device_put(np.ones((8, 4), np.float32), NamedSharding(FLAT, P("x")))
    tree = read_tree({"w": rows, "b": jnp.ones(5), "n": np.ones(3), "k": 3, "gone": gone}, "params")
    told = {leaf.path: (leaf.text, leaf.note) for leaf in tree.leaves}
    assert told["['w']"] == ("float32[8,4]", "") and told["['gone']"] == ("float32[2]", "deleted")
    assert told["['n']"] == ("float64[3]", "on the host") and told["['k']"] == ("int", "no array")
    assert tree.nbytes == 128 + 20
    sums = dict(tree.by_device())
    assert [sums[device] for device in sums] == [52, 32, 32, 32, 32, 32, 32, 32]


def test_an_empty_pytree() -> None:
    assert read_tree({}).leaves == () and read_tree({}).nbytes == 0 and read_tree({}).by_device() == ()


def test_boxes_as_text() -> None:
    assert box_text((), ()) == "[]" and box_text(((0, 2), (0, 4)), (8, 4)) == "[0:2, :]"


def test_there_are_thirty_samples_of_every_rank() -> None:
    found = sample_placements()
    assert len(found) >= 30 and {len(placement.shape) for placement in found.values()} == set(range(7))
