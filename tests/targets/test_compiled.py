"""Cells and functions compiled for machines that are not there, by the compilers of these: `make test-targets`."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.sharding import PartitionSpec as P
from shells import Shell, shell
from target_programs import DEVICES, PROGRAMS, SENT, TARGETS, mesh_for

import jaxnb
from jaxnb.api import new_session
from jaxnb.errors import JaxnbError
from jaxnb.options import StageOptions
from jaxnb.program import Plan, finding_of, read_target
from jaxnb.reading import (
    OutOfMemory,
    WorkerGone,
    end_worker,
    has_worker,
    mesh_of_target,
    read_live,
    read_modules,
    worker_for,
)

__all__ = ["shell"]

SPREAD = [
    pytest.param(target, name, marks=pytest.mark.compiled(read_target(target).platform), id=f"{target}-{name}")
    for target in TARGETS
    for name in PROGRAMS
]


def for_one(*names: str) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.compiled(read_target(name).platform)) for name in names]


def array(*shape: int, dtype: Any = jnp.bfloat16) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


def libraries() -> list[str]:
    """The compilers that are loaded in this process."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return [line.rsplit("/", 1)[-1].strip() for line in maps if "libtpu" in line]


# --- what is compiled ---


@pytest.mark.parametrize(("target", "name"), SPREAD)
def test_what_is_sent_and_how_much_of_it_is_linked(target: str, name: str) -> None:
    mesh, program = mesh_for(target), PROGRAMS[name]
    plan = jaxnb.simulate(program.function, mesh)(*program.given(mesh))
    assert plan.ledger.complete and plan.ledger.total == sum(sent * times for _, sent, times in SENT[name])
    assert all(item.axes == ("x",) and item.line is not None for item in plan.ledger.items)
    shares = plan.program.coverage()
    for share in (shares.eqn_line, shares.stablehlo_eqn, shares.hlo_eqn):
        assert share is not None and share >= 0.98
    assert plan.fits and plan.target is not None and plan.footprint.inputs > 0 < plan.footprint.results
    assert (plan.cycles is not None) == (target != "h100:1x8")
    assert f"8 devices of {target}, by its own compiler" in str(plan)


@pytest.mark.parametrize(
    "name", for_one("v5e", "v4", "v5p", "v6e", "tpu7x", "h100", "a100", "t4", "l4", "v100", "b200")
)
def test_one_device_needs_no_mesh(name: str) -> None:
    plan = jaxnb.target(lambda x, w: jnp.tanh(x @ w), name)(array(256, 512), array(512, 128))
    assert plan.mesh.size == 1 and plan.fits and f"on 1 device of {name}" in str(plan)
    assert plan.footprint.inputs >= (256 * 512 + 512 * 128) * 2 and not plan.ledger.items


@pytest.mark.parametrize("name", for_one("v4:2x2x1", "v5p:2x2x2", "v6e:4x4", "tpu7x:2x2x1", "h100:2x8"))
def test_several_devices_by_their_sides(name: str) -> None:
    target = read_target(name)
    axes = tuple(mesh_of_target(target).mesh.axis_names)
    x = jaxnb.abstract(array(1024, 512), P(axes), mesh_of_target(target).mesh)
    plan = jaxnb.target(lambda x: x.sum(), name)(x)
    assert plan.mesh.size == target.devices and plan.footprint.inputs >= 1024 * 512 * 2 // target.devices
    assert {item.kind for item in plan.ledger.items} == {"all-reduce"}


@pytest.mark.compiled("tpu")
def test_a_kernel_of_pallas_is_compiled() -> None:
    def kernel(x: Any, y: Any, out: Any) -> None:
        out[...] = x[...] + y[...]

    def add(x: Any, y: Any) -> Any:
        block = pl.BlockSpec((128, 512), lambda i: (i, 0))
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return pl.pallas_call(kernel, shape, grid=(8,), in_specs=[block, block], out_specs=block)(x, y)

    plan = jaxnb.target(add, "v5e")(array(1024, 512), array(1024, 512))
    targets = [dict(op.attributes).get("target") for op in plan.program.level("hlo").ops() if op.name == "custom-call"]
    assert "tpu_custom_call" in targets

    def corner(x: Any, out: Any) -> None:
        out[:8, :128] = x[:8, :128]

    def whole(x: Any) -> Any:
        return pl.pallas_call(corner, jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    with pytest.raises(OutOfMemory, match="of VMEM, and a device of v5e has 134 MB") as one:
        jaxnb.target(whole, "v5e")(array(8192, 8192, dtype=jnp.float32))
    assert "window" in one.value.why


@pytest.mark.compiled("tpu")
def test_what_does_not_fit_is_told_by_how_much() -> None:
    with pytest.raises(OutOfMemory, match="has 16.9 GB for it") as one:
        jaxnb.target(lambda x: x * 2, "v5e")(array(100_000, 100_000, dtype=jnp.float32))
    assert one.value.refusal.needed == pytest.approx(2 * 100_000**2 * 4, rel=0.01)


@pytest.mark.compiled("tpu")
def test_sixteen_chips() -> None:
    mesh = mesh_of_target(read_target("v5e:4x4"), {"data": 4, "model": 4})
    given = (
        jaxnb.abstract(array(512, 256), P("data"), mesh.mesh),
        jaxnb.abstract(array(256, 128), P("model"), mesh.mesh),
    )
    plan = jaxnb.simulate(lambda x, w: jnp.tanh(x @ w), mesh)(*given)
    assert plan.mesh.size == 16 and plan.fits and plan.cycles is not None and plan.ledger.items
    assert plan.timeline.seconds == pytest.approx(plan.timeline.computing + plan.timeline.waiting)


DONATED = "m = 0.9 * m + 1\np = p - m"


@pytest.mark.parametrize("name", for_one("v5e", "t4"))
def test_what_makes_a_cell_fit_was_compiled_before_it_is_offered(name: str) -> None:
    given = {"m": array(2**30, dtype=jnp.float32), "p": array(2**30, dtype=jnp.float32)}
    if name == "v5e":  # whose compiler refuses what does not fit; that of a GPU makes it all the same
        with pytest.raises(OutOfMemory) as one:
            staged(DONATED, given, target=name)
        found = finding_of(one.value)
        assert found is not None
        finding = found[0]
        assert "as compiled for v5p, which has room" in finding.message
    else:
        (finding,) = (one for one in staged(DONATED, given, target=name).findings if one.kind == "too_large")
    assert finding.fix is not None and finding.fix.verified and finding.fix.options == "--donate m, p"
    assert "input m" in finding.message and "made by line" in finding.message and finding.line is not None
    assert staged(DONATED, given, target=name, donate=("m", "p")).plan.fits


@pytest.mark.compiled("tpu")
def test_what_lives_at_the_peak_is_near_to_what_the_compiler_says() -> None:
    def loss(ws: Any, x: Any) -> Any:
        for at in range(6):
            x = jnp.tanh(x @ ws[at])
        return jnp.mean(x.astype(jnp.float32) ** 2)

    mesh = mesh_of_target(read_target("v5e"))
    given = array(6, 2048, 2048), array(2**17, 2048)
    compiled = worker_for(mesh).compile(jax.jit(jax.grad(loss)).trace(*given).lower(lowering_platforms=("tpu",)), mesh)
    live = sum(one.padded for one in read_live(compiled))
    assert live == pytest.approx(compiled.stats["peak_memory_in_bytes"], rel=0.3)


# --- cells ---


def staged(cell: str, names: dict[str, Any], **options: Any) -> Any:
    return new_session().stage(cell, {"jnp": jnp, "jax": jax, **names}, StageOptions.of(options))


@pytest.mark.parametrize("name", for_one("v5e", "h100"))
def test_a_cell_is_compiled_and_nothing_is_bound(name: str) -> None:
    given = {"x": np.ones((64, 64), np.float32), "w": array(64, 64)}
    run = staged("y = jnp.tanh(x @ w)\nz = y.sum()", given, target=name)
    assert isinstance(run.plan, Plan) and run.plan.footprint.inputs >= 64 * 64 * (4 + 2) and "y" not in given
    assert f"planned for 1 device of {name}" in run.line and "nothing was run or bound" in run.line
    program = run.program
    assert all(op.line is not None for op in program.ops("hlo")) and program.coverage().hlo_eqn == 1.0
    assert program.level("stablehlo").computations


@pytest.mark.parametrize("name", for_one("v5e:2x2", "h100:1x4"))
def test_a_mapped_cell_is_compiled(name: str) -> None:
    session, mesh = new_session(), read_target(name)
    given = {"jnp": jnp, "x": array(64, 32), "w": array(32, 16)}
    spec = "x[b, i], w[i, o] -> y[b, o]"
    from jaxnb import named

    read = named.read_spec(spec, {}, {"i": "p"}, "p=4", "manual", "")
    run = session.stage("y = jnp.sum(x * w, 'i')", given, StageOptions.of({"xmap": read, "target": name}))
    assert run.plan.mesh.size == mesh.devices and [item.axes for item in run.plan.ledger.items] == [("p",)]
    assert session.simulated is None and "y" not in given


@pytest.mark.compiled("tpu")
def test_gradients_and_levels_in_a_shell(shell: Shell) -> None:
    shell.ns["w"] = array(256, 256)
    shell.run("%jaxnb target v5e:2x2")
    shell.run("import jaxnb; from jax.sharding import PartitionSpec as P\nv = jaxnb.abstract(w, P('x', 'y'))")
    out = shell.run("%%grad loss wrt v\nloss = jnp.mean(v.astype('float32') ** 2)")
    assert "planned for x=2, y=2 (4 devices of v5e:2x2)" in out and "the compiler's own estimate" in out
    assert "d_v" not in shell.ns
    assert "T(8,128)" in shell.run("%%jaxpr --level hlo\nq = v @ v")
    assert "they run again" in shell.run("%jaxnb target off") and not has_worker("tpu")
    assert "staged" in shell.run("%%jit\ny = x * 2")


@pytest.mark.compiled("tpu")
def test_what_is_donated_is_shared_and_the_mesh_of_other_cells_stays(shell: Shell) -> None:
    shell.run("%jaxnb mesh p=4")
    before = jax.sharding.get_mesh()
    shell.ns["a"] = jax.device_put(np.ones((64, 128), np.float32), jax.sharding.NamedSharding(before, P("p")))
    out = shell.run("%%jit --target v5e --donate a\na = a + 1")
    assert "planned for 1 device of v5e" in out and "of them in place of inputs" in out
    assert jax.sharding.get_mesh() == before
    out = shell.run("%%jit --target v5e:2x2\nb = a @ a.T")
    assert "planned for p=4 (4 devices of v5e:2x2)" in out and "all-gather" in out
    assert jax.sharding.get_mesh() == before and "b" not in shell.ns
    shell.run("%%jit\nb = a @ a.T")
    assert np.all(np.asarray(shell.ns["b"]) == 128)
    shell.run("%jaxnb mesh off")


@pytest.mark.parametrize("name", for_one("v5e:2x4", "h100:1x8"))
def test_the_timeline_of_a_cell_adds_up(shell: Shell, name: str) -> None:
    ws, x = PROGRAMS["scanned"].given(mesh_for(name))
    shell.ns.update(ws=ws, x=x, jax=jax, jnp=jnp)
    shell.run(f"%jaxnb mesh x=8 --target {name}")
    out = shell.run(
        "%%jit\ndef loss(ws):\n    h, _ = jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, ws)\n"
        "    return jnp.mean(h**2)\nws = ws - 0.1 * jax.grad(loss)(ws)"
    )
    assert "step     " in out and "links of " in out and "6 turns" in out
    plan = jaxnb.last().plan
    found, clock = plan.timeline, plan.hardware.clock
    told = plan.estimate().computation if plan.cycles is None else plan.cycles.seconds(clock)
    assert found.computing == pytest.approx(told) and found.seconds == pytest.approx(found.computing + found.waiting)
    assert found.waiting == pytest.approx(sum(one.open for one in plan.hiding))
    assert {3, 5} <= {one.line for one in found.blocks} and 3 in {one.collective.line for one in found.transfers}
    assert "a device of" in shell.run("%jaxnb timeline") and "<svg" in plan.html
    shell.run("%jaxnb target off")


# --- the process ---


def small(name: str = "v5e") -> Plan:
    return jaxnb.target(lambda x: x + 1, name)(array(8, 128))


@pytest.mark.compiled("tpu", "cuda")
def test_each_compiler_has_a_process_and_serves_again() -> None:
    small("v5e"), small("h100")
    pids = {
        platform: worker_for(mesh_of_target(read_target(name))).pid
        for platform, name in (("tpu", "v5e"), ("cuda", "t4"))
    }
    assert len(set(pids.values())) == 2
    small("v6e"), small("a100")
    assert worker_for(mesh_of_target(read_target("v4"))).pid == pids["tpu"]
    assert worker_for(mesh_of_target(read_target("l4"))).pid == pids["cuda"]
    assert libraries() == []


@pytest.mark.compiled("tpu")
def test_a_process_that_was_killed_is_told_and_replaced() -> None:
    small()
    worker = worker_for(mesh_of_target(read_target("v5e")))
    os.kill(worker.pid, signal.SIGSTOP)
    killer = threading.Timer(0.3, os.kill, (worker.pid, signal.SIGKILL))
    killer.start()
    with pytest.raises(WorkerGone, match="the process that compiles for tpu ended by signal 9") as one:
        small()
    killer.join()
    assert "run the cell again" in one.value.fix
    assert small().fits and worker_for(mesh_of_target(read_target("v5e"))).pid != worker.pid


@pytest.mark.compiled("tpu")
@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_ends_the_process() -> None:
    small()
    worker = worker_for(mesh_of_target(read_target("v5e")))
    os.kill(worker.pid, signal.SIGSTOP)  # a compile that takes long
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        small()
    timer.join()
    assert not worker.alive and not has_worker("tpu")
    assert small().fits


@pytest.mark.compiled("tpu")
def test_two_processes_compile_side_by_side() -> None:
    from jaxnb.reading.worker.workers import Worker

    small()
    other = Worker(1, platform="tpu")
    mesh = mesh_of_target(read_target("v5e"))
    lowered = jax.jit(lambda x: x * 3).trace(array(8, 128)).lower(lowering_platforms=("tpu",))
    assert other.compile(lowered, mesh).stats["argument_size_in_bytes"] >= 8 * 128 * 2
    assert small().fits
    other.end()


@pytest.mark.compiled("tpu")
def test_a_process_ends_with_its_parent() -> None:
    import subprocess
    import sys

    code = (
        "import jaxnb, jax.numpy as jnp, jax\n"
        "from jaxnb.program import read_target\n"
        "from jaxnb.reading import mesh_of_target, worker_for\n"
        "jaxnb.target(lambda x: x + 1, 'v5e')(jax.ShapeDtypeStruct((8, 128), jnp.float32))\n"
        "print(worker_for(mesh_of_target(read_target('v5e'))).pid, flush=True)\n"
        "import os; os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    pid = int(done.stdout.split()[-1])
    for _ in range(100):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] == "Z":
                    break
        except FileNotFoundError:
            break
        time.sleep(0.1)
    else:
        pytest.fail("the process lives on")


@pytest.mark.compiled("tpu")
def test_a_topology_that_the_compiler_does_not_know() -> None:
    from jaxnb.program import Target, TargetKind

    odd = Target(TargetKind("v9", "tpu-v5e", "tpu", 2, 2**34), (2, 2))
    with pytest.raises(JaxnbError, match="the compiler knows no v9:2x2") as one:
        jaxnb.target(lambda x: x, odd)(array(8, 128))
    assert "v9" in one.value.why


@pytest.mark.compiled("tpu")
def test_modules_are_those_of_the_compiler() -> None:
    mesh = mesh_of_target(read_target("v5e"))
    lowered = jax.jit(lambda x: x * 3).trace(array(8, 128)).lower(lowering_platforms=("tpu",))
    compiled = worker_for(mesh).compile(lowered, mesh)
    (module,) = read_modules(compiled)
    assert any(leaf.layout is not None for item in module.instructions() for leaf in item.shape.leaves())
    end_worker("tpu")
    assert not has_worker("tpu")


@pytest.mark.compiled("tpu", "cuda")
def test_a_cell_side_by_side_on_several_machines(shell: Shell) -> None:
    assert "no cell has run yet" in shell.run("%jaxnb targets v5e", ok=False)
    shell.ns["x"] = np.ones((256, 256), np.float32)
    shell.run("%%jit --time\ny = jnp.tanh(x @ x)")
    before = shell.ns["y"]
    assert "wants machines to compare" in shell.run("%jaxnb targets", ok=False)
    found = jaxnb.last().targets("v5e", "h100", "v6e:2x2", "v9", "tpu7x")
    assert [row.name for row in found.rows] == ["v5e", "h100", "v6e:2x2", "v9", "tpu7x"]
    assert [row.plan is not None for row in found.rows] == [True, True, True, False, True]
    text = str(found)
    assert "there is no target 'v9'." in text and "cycles are the compiler's own estimate" in text
    assert "<table" in found._repr_mimebundle_()["text/html"] and shell.ns["y"] is before
    assert "v6e" in shell.run("%jaxnb targets v6e, h100") and "no target is set" in shell.run("%jaxnb target")
    shell.run("%%grad loss wrt w --target v5e\nloss = (w * w).sum()")
    assert "v5e" in str(jaxnb.last().targets("v5e"))


@pytest.mark.compiled("tpu")
def test_the_best_few_ways_to_lay_names_are_compiled_by_the_target(shell: Shell) -> None:
    shell.run("x, w = (jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in ((4096, 1024), (1024, 4096)))")
    cell = "%%xmap x[b, i], w[i, o] -> y[b, o] --resources auto{}\ny = jnp.dot(x, w, 'i')"
    out = shell.run(cell.format(" --mesh x=2, y=2 --target v5e:2x2"))
    assert "16 ways tried on TPU v5e · the best 3 compiled by the compiler of v5e:2x2" in out
    assert out.count("compiled for v5e:2x2") == 3
    shell.run("%jaxnb mesh x=2, y=2 --target v5e:2x2")
    again = shell.run(cell.format(""))
    assert "the best 3 compiled by the compiler of v5e:2x2" in again
    best = jaxnb.last().search.best
    assert best.is_compiled and best.plan.target == read_target("v5e:2x2") and best.plan.cycles is not None
