"""Programs planned for a mesh that is not there, against the same programs compiled for one that is."""

from __future__ import annotations

import doctest
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec as P
from sample_shardings import mesh_of
from shells import Shell, shell  # noqa: F401 - a fixture

import jaxnb
from jaxnb.api import new_session
from jaxnb.errors import BadHeader, JaxnbError, NeedsConcrete, Refused
from jaxnb.options import StageOptions
from jaxnb.planning import simulation as simulate_module
from jaxnb.program.codec import decode, encode
from jaxnb.program.placement import axes
from jaxnb.program.placement.ledger import read_ledger
from jaxnb.program.placement.plan import Footprint
from jaxnb.reading.placement import simulated as simulated_module
from jaxnb.reading.placement.read import read_mesh
from jaxnb.reading.placement.simulated import SimulatedMesh
from jaxnb.reading.worker import wire, workers
from jaxnb.reading.worker.workers import WorkerGone, end_worker, the_worker
from jaxnb.staging.session.session import Session

FLAT = mesh_of(x=4, y=2)
TWO = SimulatedMesh((("x", 2),))


def shapes(tree: Any, specs: Any, mesh: str = "x=4, y=2") -> Any:
    return jaxnb.abstract(tree, specs, mesh)


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


def loss(params: Any, batch: Any) -> Any:
    for p in params:
        batch = jnp.tanh(batch @ p["a"]) @ p["b"]
    return jnp.mean(batch**2)


def constrained(params: Any, batch: Any) -> Any:
    h = jax.lax.with_sharding_constraint(batch @ params[0]["a"], P("x", "y"))
    return h.sum(), jax.lax.with_sharding_constraint(h, P())


def mapped(params: Any, batch: Any) -> Any:
    return jax.shard_map(lambda v: jax.lax.psum(v, "x"), in_specs=P("x"), out_specs=P(), check_vma=False)(batch)


PARAMS = [{"a": array(16, 32), "b": array(32, 16)}, {"a": array(16, 32), "b": array(32, 16)}]
SPLIT = [{"a": P("x", "y"), "b": P("y", "x")}] * 2
PROGRAMS: dict[str, tuple[Any, Any, Any]] = {
    "data parallel": (jax.grad(loss), P(), P("x")),
    "tensor parallel": (loss, [{"a": P(None, "y"), "b": P("y", None)}] * 2, P()),
    "both": (jax.grad(loss), [{"a": P(None, "y"), "b": P("y", None)}] * 2, P("x")),
    "parameters split, too": (jax.value_and_grad(loss), SPLIT, P("x")),
    "constraints": (constrained, SPLIT, P("x")),
    "a map": (mapped, P(), P("x")),
    "nothing said": (loss, None, None),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_plan_is_what_a_mesh_that_is_there_gives(name: str) -> None:
    """The same function on eight devices here, and planned for eight elsewhere: the same collectives and memory."""
    function, specs, rows = PROGRAMS[name]
    plan = jaxnb.simulate(function, "x=4, y=2")(shapes(PARAMS, specs), shapes(array(64, 16), rows))
    with jax.set_mesh(FLAT):
        here = jax.jit(function).lower(*_placed((PARAMS, array(64, 16)), (specs, rows))).compile()
        program = jaxnb.inspect(function)(*_placed((PARAMS, array(64, 16)), (specs, rows)))
        told = [(item.kind, item.axes, item.sent, item.line) for item in read_ledger(program, read_mesh(FLAT)).items]
    assert [(item.kind, item.axes, item.sent, item.line) for item in plan.ledger.items] == told
    if name != "nothing said":
        assert told
        assert plan.footprint == Footprint.of(here)


def _placed(values: Any, specs: Any) -> Any:
    mesh = FLAT
    return jaxnb.abstract(values[0], specs[0], mesh), jaxnb.abstract(values[1], specs[1], mesh)


def test_256_devices_of_which_none_is_there() -> None:
    mesh = "x=16, y=16"
    w, x = array(4096, 4096), array(8192, 4096)
    plan = jaxnb.simulate(lambda w, x: jnp.tanh(x @ w), mesh, hardware="tpu-v5e")(
        jaxnb.abstract(w, P(None, "y"), mesh), jaxnb.abstract(x, P("x"), mesh)
    )
    assert plan.mesh.size == 256 and plan.ledger.items == () and plan.fits
    assert plan.footprint.inputs == 4 * 4096 * (4096 + 8192) // 16
    assert plan.estimate().flops == pytest.approx(2 * 8192 * 4096 * 4096 / 256, rel=0.01)
    assert plan.on("h100").estimate().hardware.name == "h100"
    assert len(jax.devices()) == 8


def test_what_comes_back_is_a_program_that_can_be_saved() -> None:
    plan = jaxnb.simulate(jax.grad(loss), "x=4, y=2")(shapes(PARAMS, SPLIT), shapes(array(64, 16), P("x")))
    plan.program.level("hlo")
    plan.program.memory()
    saved = decode(json.loads(json.dumps(encode(plan.program))))
    assert saved.levels == plan.program.levels and saved.made_memory == plan.program.memory()
    assert saved.memory()[0].source == "buffers"
    assert read_ledger(saved, plan.mesh).items == plan.ledger.items


def test_a_device_that_is_too_small_is_said() -> None:
    plan = jaxnb.simulate(jnp.tanh, "x=2", hardware="t4")(array(100_000, 100_000))
    assert plan.fits is False and "TOO MUCH" in str(plan)
    assert plan.on("b200").fits is True


def test_donated_inputs_take_no_memory_twice() -> None:
    mesh = "x=4"
    x = jaxnb.abstract(array(64, 64), P("x"), mesh)
    plain = jaxnb.simulate(jax.jit(jnp.tanh), mesh)(x).footprint
    donated = jaxnb.simulate(jax.jit(jnp.tanh, donate_argnums=0), mesh)(x).footprint
    assert donated.shared == donated.results == 64 * 64 and donated.total == plain.total - 64 * 64


# --- cells ---


def planned(cell: str, names: dict[str, Any], mesh: str = "x=4, y=2", **options: Any) -> Any:
    session = new_session()
    session.simulated = SimulatedMesh(tuple(axes.read_axes(mesh).items()))
    before = {k: v for k, v in names.items() if not k.startswith("__")}
    run = session.stage(cell, names, StageOptions.of(options))
    assert {k: v for k, v in names.items() if not k.startswith("__")} == before, "nothing is bound"
    return run


def cell_names(**more: Any) -> dict[str, Any]:
    return {"jax": jax, "jnp": jnp, "P": P, "np": np, **more}


def test_a_cell_is_planned_and_binds_nothing() -> None:
    run = planned(
        "h = jnp.tanh(x @ w)\ny = h @ w.T\ny", cell_names(x=shapes(array(64, 16), P("x")), w=shapes(array(16, 8), P()))
    )
    assert run.value is None and run.outputs == {} and run.plan is not None
    assert "planned for x=4, y=2 (8 devices)" in run.line and "nothing was run or bound" in run.line
    assert run.program.level_names == ("source", "jaxpr", "stablehlo", "hlo")
    arrays = 4 * (16 * 16 + 16 * 8 + 16 * 16 + 16 * 8)
    assert arrays <= run.memory == run.plan.footprint.total <= arrays + 64  # and where the results are


def test_the_lines_of_the_cell_stand_in_the_ledger() -> None:
    run = planned(
        "h = x @ w\nh = jax.lax.with_sharding_constraint(h, P('x'))\ntotal = h.sum()",
        cell_names(x=shapes(array(64, 16), P("x", "y")), w=shapes(array(16, 8), P("y"))),
    )
    assert [(item.line, item.kind, item.axes) for item in run.plan.ledger.items] == [
        (1, "all-reduce", ("y",)),
        (3, "all-reduce", ("x",)),
    ]


def test_what_is_only_traced_is_traced_for_the_simulated_mesh(shell: Shell) -> None:
    shell.run("import jaxnb\nfrom jax.sharding import PartitionSpec as P\n%jaxnb mesh x=4 --simulate")
    shell.run("x = jaxnb.abstract(jax.ShapeDtypeStruct((64, 8), 'float32'), P('x'))")
    out = shell.run("%%jaxpr --level stablehlo\ny = jax.lax.with_sharding_constraint(x, P('x')) + 1")
    assert "traced only" in out and "add" in out
    shell.run("%jaxnb mesh off")


def test_gradients_and_donations_of_a_cell() -> None:
    given = cell_names(x=shapes(array(64, 16), P("x")), w=shapes(array(16, 8), P()))
    run = planned("loss = jnp.mean(jnp.tanh(x @ w))", given, loss="loss", wrt="w")
    assert run.derivative == "gradient of loss wrt w"
    assert any(item.backward or item.kind == "all-reduce" for item in run.plan.ledger.items)
    given = cell_names(w=shapes(array(16, 8), P("x")))
    assert planned("w = w - 0.1 * w", given, donate="w").plan.footprint.shared == 4 * 4 * 8


def test_named_axes_are_planned() -> None:
    from jaxnb.shell.named_header import parse_xmap

    header = "x[batch, i], w[i, out] -> y[batch, out] --resources batch=x, i=y"
    given = cell_names(x=array(64, 16), w=array(16, 8))
    run = planned("y = jnp.tanh(jnp.dot(x, w, 'i'))", given, **parse_xmap(header))
    assert [(item.kind, item.axes) for item in run.plan.ledger.items] == [("all-reduce", ("y",))]
    assert "batch:64 on x" in run.line


def test_arrays_count_by_their_shape_and_numbers_as_they_are() -> None:
    """A real array, a NumPy array, a Python float, a key: none is moved, and a sharding by axes of the mesh counts."""
    there = jax.device_put(np.ones((64, 16), np.float32), NamedSharding(FLAT, P("x")))
    given = cell_names(there=there, host=np.ones((16, 8)), rate=0.5, key=jax.random.key(0), n=3)
    run = planned("y = rate * (there @ host)\nz = y + jax.random.normal(key, (8,)) * n", given, mesh="x=8, y=2")
    assert run.plan.footprint.inputs >= 4 * 8 * 16 + 4 * 16 * 8
    assert run.plan.footprint.inputs < 4 * 64 * 16


def test_a_large_array_that_a_cell_makes_is_not_made() -> None:
    run = planned("big = jnp.zeros((1_000_000, 1_000_000))\ntotal = big.sum()", cell_names())
    assert run.plan is not None


def test_host_statements_above_the_program_are_taken_back() -> None:
    seen: list[int] = []
    run = planned("n = 4\nseen.append(n)\ny = x * n", cell_names(x=shapes(array(8), P("x")), seen=seen))
    assert run.plan is not None and seen == []


def test_explicit_axes_are_planned() -> None:
    session = new_session()
    session.simulated = SimulatedMesh((("x", 4), ("y", 2)), explicit=True)
    x = jax.ShapeDtypeStruct((64, 16), np.float32, sharding=NamedSharding(session.simulated.mesh, P("x", "y")))
    run = session.stage("y = jnp.tanh(x)\ns = str(jax.typeof(y))", cell_names(x=x), StageOptions())
    assert run.plan.ledger.items == ()
    assert run.plan.footprint.inputs == 4 * 16 * 8


# --- what cannot be ---


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (P("z"), "no such axis"),
        (P(None, "x"), "dimension 1 of `x`, of size 6, is cut into 4 parts"),
    ],
)
def test_a_sharding_that_does_not_fit_names_the_input(spec: Any, message: str) -> None:
    mesh = jax.sharding.AbstractMesh((4, 2, 1), ("x", "y", "z"))
    x = jax.ShapeDtypeStruct((8, 6), np.float32, sharding=NamedSharding(mesh, spec))
    with pytest.raises(Refused, match="x") as raised:
        planned("y = x + 1", cell_names(x=x))
    assert message in str(raised.value)


def test_a_spec_without_a_mesh_says_what_to_write() -> None:
    x = jax.ShapeDtypeStruct((8, 6), np.float32, sharding=P("x"))
    with pytest.raises(Refused, match=r"jaxnb.abstract\(x, spec\)"):
        planned("y = x + 1", cell_names(x=x))


@pytest.mark.parametrize("option", [{"time": True}, {"device": "cpu:0"}, {"name": "f"}, {"nans": True}, {"diff": True}])
def test_options_that_want_it_to_run_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(Refused, match="does not go with a simulated mesh"):
        planned("y = x + 1", cell_names(x=array(8)), **option)


def test_a_value_that_is_needed_is_explained() -> None:
    with pytest.raises(NeedsConcrete, match=r"x.sum\(\) > 1"):
        planned("if x.sum() > 1:\n    y = 2", cell_names(x=array(8)))


def test_a_concrete_mesh_in_a_cell_is_refused_with_a_reason() -> None:
    given = cell_names(x=shapes(array(8), P("x")), s=NamedSharding(FLAT, P("x")))
    with pytest.raises((JaxnbError, ValueError)):
        planned("y = jax.lax.with_sharding_constraint(x, s) + 1", given, mesh="x=16")


def test_zero_sizes_and_axes_of_one() -> None:
    run = planned("y = x @ w", cell_names(x=shapes(array(0, 4), P("x"), "x=1, y=8"), w=array(4, 4)), mesh="x=1, y=8")
    assert run.plan.footprint.results == 0 and run.plan.ledger.items == ()


@pytest.mark.parametrize("sizes", ["x=0", "x=-1", "x=two", "x=4, x=2", "4", ""])
def test_axes_that_cannot_be(sizes: str) -> None:
    with pytest.raises(JaxnbError):
        jaxnb.simulate(jnp.tanh, sizes)


def test_a_mesh_that_is_too_large_is_refused() -> None:
    with pytest.raises(JaxnbError, match="at most 4,096 virtual devices"):
        jaxnb.simulate(jnp.tanh, "x=1000000")(array(4))


def test_specs_that_do_not_go_with_the_value() -> None:
    with pytest.raises(JaxnbError, match="do not go with the value"):
        jaxnb.abstract({"a": array(4)}, {"b": P("x")}, "x=4")
    with pytest.raises(JaxnbError, match="there is no mesh"):
        jaxnb.abstract(array(4), P("x"))
    with pytest.raises(JaxnbError, match="no such axis"):
        jaxnb.abstract(array(4), P("q"), "x=4")
    with pytest.raises(JaxnbError, match=r"does not fit an array of shape \[4\]"):
        jaxnb.abstract(array(4), P(None, "x"), "x=4")
    with pytest.raises(JaxnbError, match="speaks of 'x' twice"):
        jaxnb.abstract(array(4, 4), P("x", "x"), "x=4")


# --- the process ---


def test_one_process_serves_until_a_larger_mesh_is_wanted() -> None:
    end_worker()
    first = the_worker(4).pid
    assert the_worker(8).pid == first and the_worker(2).pid == first
    assert the_worker(32).pid != first and the_worker(8).devices == 32
    assert end_worker() is True and end_worker() is False


def test_a_process_that_dies_says_so_and_the_next_one_works() -> None:
    plan = jaxnb.simulate(jnp.tanh, "x=2")
    plan(array(4))
    worker = the_worker(2)
    os.kill(worker.pid, signal.SIGKILL)
    worker._process.wait()
    lowered = jax.jit(jnp.tanh).lower(array(4))
    with pytest.raises(WorkerGone, match="by signal 9") as raised:
        worker.compile(lowered, TWO)
    assert "memory may have run out" in str(raised.value) and "run the cell again" in str(raised.value)
    assert plan(array(4)).footprint.inputs == 16


def frames_of(thread: int) -> Iterator[FrameType]:
    frame = sys._current_frames().get(thread)
    while frame is not None:
        yield frame
        frame = frame.f_back


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="needs signals between threads")
def test_an_interrupt_ends_the_process_and_nothing_else(interrupts: None) -> None:
    """The interrupt comes while the worker is busy: it is gone, the names are as before, and the next cell works."""
    given = cell_names(x=shapes(array(8), P("x")))
    planned("y = x + 1", given)
    pid, before = the_worker(8).pid, dict(given)
    os.kill(pid, signal.SIGSTOP)  # as one that compiles for hours
    main = threading.main_thread().ident
    assert main is not None

    def interrupt_the_wait() -> None:
        while "_exactly" not in (frame.f_code.co_name for frame in frames_of(main)):
            time.sleep(0.05)
        signal.pthread_kill(main, signal.SIGINT)

    interrupt = threading.Thread(target=interrupt_the_wait, daemon=True)
    rescue = threading.Timer(60, os.kill, (pid, signal.SIGKILL))  # rather than to wait for ever
    interrupt.start()
    rescue.start()
    with pytest.raises(KeyboardInterrupt):
        planned("y = x * 2", given)
    interrupt.join()
    rescue.cancel()
    assert given == before
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert planned("y = x * 2", given).plan is not None


def test_the_process_ends_when_nobody_asks_any_more() -> None:
    worker = workers.Worker(2)
    process = worker._process
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(20) == 0
    worker.end()


def test_a_program_that_cannot_be_compiled_leaves_the_process_alive() -> None:
    class Lowered:
        class _lowering:
            compile_args = {"ordered_effects": [], "in_shardings": (), "out_shardings": ()}

        def compiler_ir(self, _: str) -> Any:
            class Nothing:
                class operation:
                    @staticmethod
                    def write_bytecode(out: Any) -> None:
                        out.write(b"no module")

            return Nothing

    worker = the_worker(2)
    with pytest.raises(JaxnbError, match="cannot be compiled for 2 devices"):
        worker.compile(Lowered(), TWO)
    assert worker.alive and the_worker(2) is worker


# --- the command ---


def test_the_command_sets_shows_and_ends_a_simulation(shell: Shell) -> None:
    out = shell.run("%jaxnb mesh x=16, y=2 --simulate --hardware h100")
    assert "mesh x=16, y=2" in out and "simulated, of NVIDIA H100 SXM5" in out
    shell.run("import jaxnb\nfrom jax.sharding import PartitionSpec as P")
    shell.run("x = jaxnb.abstract(jax.ShapeDtypeStruct((64, 8), 'float32'), P('x'))")
    out = shell.run("%%jit -o run\ny = jnp.tanh(x)\ny")
    assert "planned for x=16, y=2 (32 devices)" in out and "NVIDIA H100 SXM5 has 80.0 GB" in out
    assert "y" not in shell.ns and shell.ns["run"].plan is not None
    assert "mesh x=16, y=2" in shell.run("%jaxnb mesh")
    assert "is simulated no longer" in shell.run("%jaxnb mesh off")
    shell.run("%%jit\ny = jnp.arange(3)")
    assert "y" in shell.ns


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("x=4 --simulat", "--simulat"),
        ("x=4 --hardware h100", "--hardware"),
        ("x=4 --simulate --devices 8", "--devices"),
        ("x=4 --devices", "--devices"),
        ("x=4 --devices many", "--devices"),
    ],
)
def test_a_word_that_is_wrong_is_pointed_at(line: str, word: str) -> None:
    from jaxnb.shell.meshes import set_mesh

    with pytest.raises(BadHeader) as raised:
        set_mesh(new_session(), line)
    assert raised.value.header[raised.value.column :].startswith(word)


def test_a_mesh_that_no_process_has_is_refused_at_once(shell: Shell) -> None:
    out = shell.run("%jaxnb mesh x=5000 --simulate", ok=False)
    assert "a mesh of 5,000 devices is not simulated" in out and "4,096" in out
    assert "no mesh is set" in shell.run("%jaxnb mesh")


def test_a_message_is_whole_or_none() -> None:
    import io

    pipe = io.BytesIO()
    wire.send(pipe, {"a": 1}, b"bytes", b"")
    whole = pipe.getvalue()
    assert wire.receive(io.BytesIO(whole)) == ({"a": 1}, [b"bytes", b""])
    for end in range(len(whole)):
        with pytest.raises(wire.Closed):
            wire.receive(io.BytesIO(whole[:end]))
