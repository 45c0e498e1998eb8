"""The search for resources: against trying everything by hand, and on the plans that textbooks know."""

from __future__ import annotations

import dataclasses
import doctest
import itertools
import math
import os
import signal
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from jax.sharding import NamedSharding, PartitionSpec as P
from sample_shardings import mesh_of
from shells import Shell, shell  # noqa: F401 - a fixture

import jaxnb
import jaxnb.numpy as named
from jaxnb.errors import BadHeader, JaxnbError, Refused
from jaxnb.named.errors import NamedAxisError
from jaxnb.planning import assignments, cells as planned_cells, search
from jaxnb.planning.assignments import Argument, find_assignments, held
from jaxnb.planning.search import search_resources
from jaxnb.program import Search, read_target
from jaxnb.program.placement.hardware import Hardware, find_hardware
from jaxnb.reading.worker.workers import Worker, end_worker, has_worker


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


def product(x: Any, w: Any) -> Any:
    return named.dot(x, w, "i")


def layers(x: Any, w1: Any, w2: Any) -> Any:
    return named.dot(named.tanh(named.dot(x, w1, "i")), w2, "h")


LAYERS = (["batch", "i"], ["i", "h"], ["h", "o"])


# --- which ways there are ---


@given(
    sizes=st.dictionaries(st.sampled_from("abcd"), st.integers(1, 12), min_size=1, max_size=3),
    axes=st.dictionaries(st.sampled_from("xyz"), st.integers(1, 4), min_size=1, max_size=3),
    data=st.data(),
)
def test_ways_as_a_plain_count_of_all_tuples(sizes: dict[str, int], axes: dict[str, int], data: Any) -> None:
    """Every tuple of sets of axes that divides and lays no two names of an array on one axis; each once."""
    arrays = data.draw(st.lists(st.sets(st.sampled_from(sorted(sizes))), max_size=3))
    arguments = [Argument(tuple(sorted(names))) for names in arrays]
    useful = [axis for axis in axes if axes[axis] > 1]
    subsets = [c for n in range(len(useful) + 1) for c in itertools.combinations(useful, n)]
    expected: list[dict[str, Any]] = []
    for chosen in itertools.product(subsets, repeat=len(sizes)):
        way = dict(zip(sizes, chosen, strict=True))
        divides = all(sizes[name] % math.prod(axes[a] for a in some) == 0 for name, some in way.items())
        apart = all(
            len([a for name in names for a in way[name]]) == len({a for name in names for a in way[name]})
            for names in arrays
        )
        if divides and apart:
            expected.append({name: some for name, some in way.items() if some})
    found = list(find_assignments(sizes, axes, arguments))
    assert len(found) == len(expected) and all(way in expected for way in found)


def test_what_is_settled_stays_settled() -> None:
    found = list(find_assignments({"a": 4, "b": 4}, {"x": 2, "y": 2}, [Argument(("a", "b"))], {"a": ("x",)}))
    assert found == [{"a": ("x",)}, {"a": ("x",), "b": ("y",)}]


def test_bytes_that_a_device_holds() -> None:
    arrays = [Argument(("a", "b"), 4 * 64), Argument(("b",), 4 * 8), Argument((), 4)]
    assert held({"a": ("x", "y"), "b": ("z",)}, {"x": 2, "y": 2, "z": 4}, arrays) == 16 + 8 + 4


# --- against everything tried by hand ---


CASES: dict[str, tuple[Any, Any, Any, tuple[Any, ...], dict[str, int]]] = {
    "a product": (product, (["b", "i"], ["i", "o"]), ["b", "o"], (array(64, 32), array(32, 16)), {"x": 4, "y": 2}),
    "layers": (layers, LAYERS, ["batch", "o"], (array(8, 16), array(16, 32), array(32, 8)), {"x": 2, "y": 2}),
    "a sum": (
        lambda x: named.sum(x, axis="b"),
        (["b", "i"],),
        ["i"],
        (array(24, 10),),
        {"x": 4, "y": 2},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_best_is_the_best_of_all(name: str) -> None:
    """Every set of axes for every name is given to `xmap` and compiled here; the search must find no other best."""
    fun, in_axes, out_axes, args, axes = CASES[name]
    mesh = mesh_of(**axes)
    slow = dataclasses.replace(find_hardware("h100"), name="slow", link=1e6, bandwidth=1e8)
    names = dict.fromkeys(n for spec in in_axes for n in spec)
    subsets = [c for n in range(len(axes) + 1) for c in itertools.combinations(axes, n)]
    seconds: dict[Any, float] = {}
    for chosen in itertools.product(subsets, repeat=len(names)):
        way = {n: some for n, some in zip(names, chosen, strict=True) if some}
        given = [
            jax.ShapeDtypeStruct(
                a.shape,
                a.dtype,
                sharding=NamedSharding(mesh, P(*(way.get(n) for n in spec)))
                if len([x for n in spec for x in way.get(n, ())]) == len({x for n in spec for x in way.get(n, ())})
                else None,
            )
            for a, spec in zip(args, in_axes, strict=True)
            if _divides(a.shape, spec, way, axes)
        ]
        if len(given) < len(args):
            continue
        try:
            mapped = jaxnb.xmap(fun, in_axes, out_axes, axis_resources=way, mesh=mesh)
            program = jaxnb.inspect(mapped)(*given)
            from jaxnb.program.placement.estimate import estimate_program
            from jaxnb.reading.placement.read import read_mesh

            seconds[tuple(sorted(way.items()))] = estimate_program(program, slow, read_mesh(mesh)).total
        except NamedAxisError:
            continue
    found = search_resources(fun, in_axes, out_axes, *args, mesh=axes, hardware=slow)
    assert {tuple(sorted(item.resources.items())) for item in found.candidates} == set(seconds)
    for item in found.candidates:
        assert item.seconds == pytest.approx(seconds[tuple(sorted(item.resources.items()))], rel=1e-6)
    assert found.best.seconds == pytest.approx(min(seconds.values()), rel=1e-2)


def _divides(shape: Any, spec: Any, way: Any, axes: Any) -> bool:
    return all(size % math.prod(axes[a] for a in way.get(n, ())) == 0 for size, n in zip(shape, spec, strict=True))


def test_the_front_is_what_nothing_beats() -> None:
    found = search_resources(layers, LAYERS, ["batch", "o"], *CASES["layers"][3], mesh="x=2, y=2")
    for item in found.candidates:
        beaten = any(
            o.seconds <= item.seconds
            and o.memory <= item.memory
            and (o.seconds, o.memory) != (item.seconds, item.memory)
            for o in found.candidates
        )
        twin = any((o.seconds, o.memory) == (item.seconds, item.memory) for o in found.pareto)
        assert twin == (not beaten)


def test_a_mesh_that_is_there_is_compiled_for_here() -> None:
    """The same ranking as the worker's, without a worker."""
    args = CASES["a product"][3]
    end_worker()
    here = search_resources(product, (["b", "i"], ["i", "o"]), ["b", "o"], *args, mesh=mesh_of(x=4, y=2))
    assert end_worker() is False
    there = search_resources(product, (["b", "i"], ["i", "o"]), ["b", "o"], *args, mesh="x=4, y=2")
    assert [(i.resources, i.memory) for i in here.candidates] == [(i.resources, i.memory) for i in there.candidates]
    x, w = np.ones((64, 32), np.float32), np.ones((32, 16), np.float32)
    np.testing.assert_allclose(here.mapped(x, w), x @ w)


# --- what textbooks say ---


def test_data_parallel() -> None:
    """Many rows and small weights: the rows are split over everything, and the gradients are summed."""

    def loss(x: Any, w1: Any, w2: Any) -> Any:
        return named.mean(layers(x, w1, w2) ** 2, axis=("batch", "o"))

    found = search_resources(
        loss,
        LAYERS,
        [],
        *(array(65536, 64), array(64, 128), array(128, 64)),
        mesh="x=4, y=2",
        transform=lambda f: jax.grad(f, argnums=(1, 2)),
        axis_resources={"i": (), "o": ()},
    )
    assert found.resources == {"batch": ("x", "y")}
    assert {item.kind for item in found.best.plan.ledger.items} == {"all-reduce"}


def test_tensor_parallel() -> None:
    """Few rows and large weights: the hidden axis is split, and one sum of the results is all that is sent."""
    args = (array(8, 4096), array(4096, 16384), array(16384, 4096))
    found = search_resources(layers, LAYERS, ["batch", "o"], *args, mesh="x=4, y=2")
    assert found.resources == {"h": ("x", "y")}
    assert [(item.kind, item.axes) for item in found.best.plan.ledger.items] == [("all-reduce", ("x", "y"))]


def test_a_product_in_two_dimensions() -> None:
    """Rows of one, columns of the other: nothing is sent, and both are held in pieces."""
    found = search_resources(
        product, (["m", "i"], ["i", "n"]), ["m", "n"], array(8192, 8192), array(8192, 8192), mesh="x=4, y=4"
    )
    assert {frozenset(found.resources.items())} <= {
        frozenset({("m", ("x",)), ("n", ("y",))}),
        frozenset({("m", ("y",)), ("n", ("x",))}),
    }
    assert found.best.plan.ledger.items == ()


def fully_sharded(x: Any, weights: Any) -> Any:
    """Layers whose weights are stored in slices over `s`, and put together where they are used."""
    for shard in weights:
        weight = jax.checkpoint(lambda v: jax.lax.all_gather(v, "s", tiled=True))(shard)
        x = jnp.tanh(x @ weight)
    return jax.lax.pmean(jnp.mean(x**2), "group")


def test_fully_sharded_where_memory_is_short() -> None:
    """With room for all weights on each device rows are split; without it the weights are stored in slices, too."""
    weights = [array(8, 128, 1024) for _ in range(6)]
    in_axes = (["group", None, None], ["s", None, None])

    def searched(memory: int) -> Search:
        return search_resources(
            fully_sharded,
            in_axes,
            [],
            *(array(8, 32, 1024), weights),
            mesh="x=8",
            hardware=dataclasses.replace(find_hardware("h100"), memory=memory),
            transform=lambda f: jax.grad(f, argnums=1),
        )

    roomy = searched(10**9)
    whole = next(item for item in roomy.candidates if item.resources == {"group": ("x",)})
    sliced = next(item for item in roomy.candidates if item.resources == {"group": ("x",), "s": ("x",)})
    assert sliced.memory < whole.memory
    short = searched((sliced.memory + whole.memory) // 2)
    assert short.resources == {"group": ("x",), "s": ("x",)} and short.best.plan.fits
    kinds = {item.kind for item in short.best.plan.ledger.items}
    assert "all-gather" in kinds


# --- what cannot be ---


def test_inputs_that_do_not_fit_are_never_partitioned() -> None:
    tiny = Hardware("tiny", {"float32": 1e12}, None, 64 * 16 * 4, 1e9, 1e9, 8)
    args = (array(64, 64), array(64, 8))
    found = search_resources(product, (["b", "i"], ["i", "o"]), ["b", "o"], *args, mesh="x=4, y=2", hardware=tiny)
    assert found.too_large > 0 and "too large for a device" in str(found)
    with pytest.raises(JaxnbError, match="no way to lay the names"):
        nothing = search_resources(
            product,
            (["b", "i"], ["i", "o"]),
            ["b", "o"],
            *args,
            mesh="x=2",
            hardware=dataclasses.replace(tiny, memory=16),
        )
        _ = nothing.best


def test_too_many_ways_are_said() -> None:
    args = CASES["layers"][3]
    found = search_resources(layers, LAYERS, ["batch", "o"], *args, mesh="x=2, y=2", limit=5)
    assert len(found.candidates) + len(found.refused) == 5 and found.skipped > 0
    assert f"{found.skipped} NOT TRIED" in str(found)


def compiled_by(refuses: int, plan: Any) -> Any:
    """What stands for the compiler of a target, which refuses the first few; it takes half of what is estimated."""
    calls = itertools.count()

    def compile_for(resources: Any) -> Any:
        if next(calls) < refuses:
            raise JaxnbError("the program does not fit.")
        return dataclasses.replace(plan(resources), target=read_target("v5e:2x2"))

    return compile_for


@pytest.mark.parametrize(("refuses", "compiled"), [(0, 3), (1, 3), (9, 0)])
def test_the_last_few_are_compiled_for_the_target(refuses: int, compiled: int) -> None:
    args = (array(64, 32), array(32, 16))
    plainly = search_resources(product, (["b", "i"], ["i", "o"]), ["b", "o"], *args, mesh="x=2, y=2")
    plans = {tuple(item.resources.items()): item.plan for item in plainly.candidates}
    said: list[str] = []
    found = search.run_search(
        {"b": 64, "i": 32, "o": 16},
        {"x": 2, "y": 2},
        [Argument(("b", "i"), 8192), Argument(("i", "o"), 2048), Argument(("b", "o"))],
        lambda resources: plans[tuple(resources.items())],
        find_hardware("h100"),
        compile_for=compiled_by(refuses, lambda resources: plans[tuple(resources.items())]),
        progress=said.append,
    )
    assert [item.is_compiled for item in found.candidates[:4]] == [at < compiled for at in range(4)]
    assert len(found.refused) == min(refuses, 3) and len(found.candidates) + len(found.refused) == len(plans)
    ranked = [item.resources for item in plainly.candidates if item.resources not in [one for one, _ in found.refused]]
    assert [item.resources for item in found.candidates] == ranked
    assert ("the best 3 compiled by the compiler of v5e:2x2" in str(found)) == (compiled == 3)
    assert str(found).count("compiled for v5e:2x2") == compiled and "compiling 1 of 3: " + str(plainly.best) in said


def test_what_the_cpu_cannot_partition_is_compiled_for_the_target() -> None:
    args = (array(64, 32), array(32, 16))
    plainly = search_resources(product, (["b", "i"], ["i", "o"]), ["b", "o"], *args, mesh="x=4")

    def refuse(_: Any) -> Any:
        raise JaxnbError("the program cannot be lowered.")

    plans = {tuple(item.resources.items()): item.plan for item in plainly.candidates}
    compile_for = compiled_by(0, lambda resources: plans[tuple(resources.items())])
    arguments = [Argument(("b", "i"), 8192), Argument(("i", "o"), 2048), Argument(("b", "o"))]
    sizes, hardware = {"b": 64, "i": 32, "o": 16}, find_hardware("h100")
    found = search.run_search(sizes, {"x": 4}, arguments, refuse, hardware, compile_for=compile_for)
    assert len(found.candidates) == len(plans) and all(item.is_compiled for item in found.candidates)


def test_a_target_of_another_size_than_the_mesh() -> None:
    args = (array(64, 32), array(32, 16))
    with pytest.raises(JaxnbError, match="are 4 devices, and v5e:4x4 has 16"):
        search_resources(product, (["b", "i"], ["i", "o"]), ["b", "o"], *args, mesh="x=4", target="v5e:4x4")


@pytest.mark.parametrize(
    ("mesh", "message"), [("x=4, x=2", "twice"), ("x=0", "no number"), (3, "is no mesh"), ({}, "needs an axis")]
)
def test_a_mesh_that_cannot_be(mesh: Any, message: str) -> None:
    with pytest.raises(JaxnbError, match=message):
        search_resources(product, (["b", "i"], ["i", "o"]), ["b", "o"], *CASES["a product"][3], mesh=mesh)


def test_a_compiler_that_breaks_costs_one_way_only(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_it, calls = Worker.compile, itertools.count()

    def breaking(self: Worker, *args: Any, **kwargs: Any) -> Any:
        if next(calls) == 2:
            os.kill(self.pid, signal.SIGKILL)
        return compile_it(self, *args, **kwargs)

    monkeypatch.setattr(Worker, "compile", breaking)
    args = (array(64, 32), array(32, 16))
    found = search_resources(product, (["b", "i"], ["i", "o"]), ["b", "o"], *args, mesh="x=4")
    assert found.broken == 1 and "1 broke the compiler" in str(found) and "not allowed" not in str(found)
    ((way, why),) = found.refused
    assert "ended by signal 9" in why and way not in [item.resources for item in found.candidates]
    assert len(found.candidates) == 3


def test_an_interrupt_ends_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for one way that is not possible; nothing is bound, and no process is left."""

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    given = names()
    before = dict(given)
    monkeypatch.setattr("jaxnb.reading.worker.workers.receive", interrupted)
    end_worker()
    with pytest.raises(KeyboardInterrupt):
        jaxnb.xmap_cell(CELL, given, HEADER, resources="auto", mesh="x=4, y=2")
    assert {name: value for name, value in given.items() if not name.startswith("__")} == before and not has_worker()


def test_a_program_that_is_wrong_anyway_says_so() -> None:
    with pytest.raises(NamedAxisError):
        search_resources(product, (["b", "i"], ["i", "o"]), ["b"], *CASES["a product"][3], mesh="x=4")


def test_sizes_that_nothing_divides_leave_one_way() -> None:
    found = search_resources(product, (["b", "i"], ["i", "o"]), ["b", "o"], array(7, 5), array(5, 3), mesh="x=4, y=2")
    assert [item.resources for item in found.candidates] == [{}] and "nothing is split" in str(found)


# --- cells ---


def names() -> dict[str, Any]:
    return {"jnp": jnp, "x": jnp.arange(64.0 * 32).reshape(64, 32), "w": jnp.ones((32, 16))}


HEADER = "x[batch, i], w[i, out] -> y[batch, out]"
CELL = "y = jnp.tanh(jnp.dot(x, w, 'i'))"


def test_a_cell_binds_the_best_where_the_mesh_is_there() -> None:
    given = names()
    run = jaxnb.xmap_cell(CELL, given, HEADER, resources="auto", mesh="x=4, y=2")
    assert run.search is not None and run.search.best.resources == {"batch": ("x", "y")}
    np.testing.assert_allclose(given["y"], np.tanh(given["x"] @ given["w"]), rtol=1e-6)
    assert given["y"].sharding.num_devices == 8 and "batch:64 on x×y" in run.line
    assert jaxnb.last().search is run.search


def test_a_cell_is_planned_where_the_mesh_is_not_there() -> None:
    given = names()
    run = jaxnb.xmap_cell(CELL, given, HEADER, resources="auto", mesh="x=16, y=4", hardware="tpu-v5e")
    assert "y" not in given and run.plan is not None and run.search is not None
    assert run.plan.mesh.size == 64 and run.search.hardware.name == "tpu-v5e"
    assert run.line.startswith("◇ planned for x=16, y=4 (64 devices): batch=")


def test_the_header_of_a_cell(shell: Shell) -> None:
    shell.run("x = jnp.ones((64, 32)); w = jnp.ones((32, 16))")
    out = shell.run(f"%%xmap {HEADER} --resources auto --mesh x=4, y=2\n{CELL}")
    assert "best: batch=(x, y)" in out and "y" in shell.ns
    out = shell.run(
        f"%%xmap {HEADER.replace('y[', 'z[')} --resources auto --mesh x=16 --hardware l4\n{CELL.replace('y', 'z')}"
    )
    assert "planned for x=16 (16 devices): batch=x" in out and "NVIDIA L4" in out and "z" not in shell.ns
    out = shell.run(f"%%xmap {HEADER} --resources auto\n{CELL}", ok=False)
    assert "--resources auto wants a mesh" in out
    out = shell.run(f"%%xmap {HEADER} --resources batch=x --hardware l4\n{CELL}", ok=False)
    assert "--hardware is for the search" in out
    out = shell.run(f"%%xmap {HEADER} --resources batch=x --mesh x=4, y=2\n{CELL}")
    assert "batch:64 on x" in out


def test_shapes_are_enough_where_nothing_runs(shell: Shell) -> None:
    shell.run("x, w = jax.ShapeDtypeStruct((4096, 64), 'float32'), jax.ShapeDtypeStruct((64, 64), 'float32')")
    out = shell.run(f"%%xmap {HEADER} --resources auto --mesh x=4, y=2\n{CELL}")
    assert "planned for x=4, y=2 (8 devices): batch=(x, y)" in out and "y" not in shell.ns
    shell.run("%jaxnb mesh x=16 --simulate --hardware tpu-v5e")
    assert "planned for x=16 (16 devices): batch=x" in shell.run(f"%%xmap {HEADER} --resources auto\n{CELL}")
    out = shell.run("%jaxnb sharding")
    assert "3 values on x=16" in out and "result  y float32[4096,64]" in out
    shell.run("%jaxnb mesh off")
    out = shell.run(f"%%xmap {HEADER} --resources batch=x --mesh x=4\n{CELL}", ok=False)
    assert "`x` is a ShapeDtypeStruct" in out


@pytest.mark.parametrize(
    ("mesh", "name", "message"),
    [("x=16", "f", "--name does not go with"), ("x=4", "y", "the cell itself uses `y`")],
)
def test_a_name_that_cannot_be_is_refused_before_anything_is_tried(
    mesh: str, name: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Any] = []
    monkeypatch.setattr(planned_cells, "run_search", lambda *_, **__: tried.append(1))
    with pytest.raises(Refused, match=message):
        jaxnb.xmap_cell(CELL, names(), HEADER, resources="auto", mesh=mesh, name=name)
    assert tried == []


def test_a_name_for_the_best_where_the_mesh_is_there() -> None:
    given = names()
    run = jaxnb.xmap_cell(CELL, given, HEADER, resources="auto", mesh="x=4, y=2", name="f")
    assert "as f(x, w)" in run.line
    np.testing.assert_allclose(given["f"](given["x"], given["w"]), given["y"], rtol=1e-6)
