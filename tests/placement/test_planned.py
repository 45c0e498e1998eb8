"""What is known of a plan besides its memory: who lies where, what is odd, callbacks, the levels below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback
from jax.sharding import NamedSharding, PartitionSpec as P
from sample_shardings import mesh_of
from shells import Shell, shell

import jaxnb
from jaxnb._jax import hlo as _jax_hlo
from jaxnb.api import new_session
from jaxnb.errors import JaxnbError
from jaxnb.options import StageOptions
from jaxnb.program.placement.axes import read_axes
from jaxnb.reading.placement.read import read_placement
from jaxnb.reading.placement.simulated import SimulatedMesh, simulated_mesh_of
from jaxnb.reading.worker.workers import end_worker, has_worker, the_worker
from jaxnb.staging.session.session import Session
from jaxnb.units import format_bytes

__all__ = ["shell"]

FLAT = mesh_of(x=4, y=2)
wsc = lax.with_sharding_constraint


def array(*shape: int, dtype: Any = np.float32) -> Any:
    return jax.ShapeDtypeStruct(shape, dtype)


def on(spec: Any, *shape: int, mesh: str = "x=4, y=2") -> Any:
    return jaxnb.abstract(array(*shape), spec, mesh)


def planned(cell: str, mesh: str = "x=4, y=2", **names: Any) -> Any:
    session = new_session()
    session.simulated = SimulatedMesh(tuple(read_axes(mesh).items()))
    given = {"jax": jax, "jnp": jnp, "lax": lax, "P": P, "np": np, "wsc": wsc, "io_callback": io_callback, **names}
    return session.stage(cell, given, StageOptions())


# --- who lies where ---

PROGRAMS: dict[str, tuple[Any, list[tuple[Any, tuple[int, ...]]]]] = {
    "two ways": (lambda x, w: jnp.tanh(x @ w), [(P("x"), (64, 32)), (P(None, "y"), (32, 16))]),
    "both axes on one dimension": (lambda x, w: (x * 2, x @ w), [(P(("x", "y")), (64, 32)), (None, (32, 16))]),
    "inputs that nobody spread": (lambda x, w: wsc(x @ w, P("x", "y")), [(None, (64, 32)), (None, (32, 16))]),
    "an input that nothing reads": (lambda x, w: x.sum(), [(P("y"), (64, 32)), (P("x"), (32, 16))]),
    "whole results": (lambda x, w: wsc(x @ w, P()), [(P("x"), (64, 32)), (None, (32, 16))]),
    "no elements, and a scalar": (lambda x, w: (x[:0], w.sum()), [(P("x"), (64, 32)), (P("y", "x"), (32, 16))]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_plan_says_who_lies_where_as_a_mesh_that_is_there_does(name: str) -> None:
    function, sides = PROGRAMS[name]
    program = jaxnb.simulate(function, "x=4, y=2")
    lowered: list[Any] = []
    worker = the_worker(8)
    compile_it = worker.compile

    def spied(*args: Any, **kwargs: Any) -> Any:
        lowered.append(compile_it(*args, **kwargs))
        return lowered[-1]

    worker.compile = spied  # type: ignore[method-assign]
    try:
        program(*[on(spec, *shape) for spec, shape in sides])
    finally:
        del worker.compile
    (there,) = lowered
    with jax.set_mesh(FLAT):
        given = [jaxnb.abstract(array(*shape), spec, FLAT) for spec, shape in sides]
        here = jax.jit(function).lower(*given).compile()
        results = jax.tree.leaves(jax.eval_shape(function, *given))
    sizes = [shape for _, shape in sides]
    wanted = jax.tree.leaves(here.input_shardings[0], is_leaf=lambda one: one is None)
    assert len(there.input_shardings) == len(sides)
    for mine, jaxs, shape in zip(there.input_shardings, wanted, sizes, strict=True):
        assert (mine is None) == (jaxs is None) and (mine is None or _boxes(mine, shape) == _boxes(jaxs, shape))
    for mine, jaxs, result in zip(there.output_shardings, jax.tree.leaves(here.output_shardings), results, strict=True):
        assert _boxes(mine, result.shape) == _boxes(jaxs, result.shape)


def _boxes(sharding: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(sharding, NamedSharding):
        return read_placement(sharding, shape).boxes
    held = sharding.devices_indices_map(shape)
    placed = [held[device] for device in FLAT.devices.flat]
    return tuple(tuple(part.indices(n)[:2] for part, n in zip(box, shape, strict=True)) for box in placed)


def test_a_plan_says_what_was_asked_and_got() -> None:
    run = planned("h = wsc(x[:510] * 2, P('x', 'y'))\ny = jnp.sin(x)\ns = y.sum()", x=on(P("x", "y"), 512, 1024))
    rows = {(row.role, row.name): row for row in run.shardings().rows}
    assert (rows["input", "x"].asked, rows["input", "x"].got) == ("P('x', 'y')", "P('x', 'y')")
    assert rows["constraint", ""].got == "P('x', 'y')" and rows["constraint", ""].most == 4 * 128 * 512
    assert rows["constraint", ""].notes == ("uneven: 126 to 128 of 510",) and rows["result", "h"].differs
    assert (rows["result", "y"].got, rows["result", "s"].copies) == ("P('x', 'y')", 8)


# --- what is odd ---


def test_what_is_odd_is_counted_under_a_plan_and_fixes_are_tried() -> None:
    run = planned("y = jnp.cumsum(x, 0)", x=on(P("x", "y"), 512, 1024))
    assert [(one.kind, one.folded) for one in run.findings] == [("sharding", True)] and "1 finding" in run.line
    (finding,) = run.shardings().findings
    assert finding.fix.verified and "jaxnb.abstract(x, jax.P(None, ('x', 'y')))" in finding.fix.text
    assert planned("y = jnp.cumsum(x, 0)", x=on(P(None, ("x", "y")), 512, 1024)).findings == ()


def test_layers_that_are_alike_are_one_finding_and_one_fix() -> None:
    """Of a gradient, too: what a change saves is counted with the backward pass, as in the plan."""
    session = new_session()
    session.simulated = SimulatedMesh((("x", 8),))
    given: dict[str, Any] = {"jax": jax, "jnp": jnp, "x": on(P("x"), 512, 512, mesh="x=8")}
    given["ws"] = [on(P("x"), 512, 512, mesh="x=8") for _ in range(4)]
    cell = "h = x\nfor w in ws:\n    h = jax.checkpoint(lambda h, w: jnp.tanh(h @ w))(h, w)\nloss = jnp.mean(h**2)"
    run = session.stage(cell, given, StageOptions(loss="loss", wrt=("ws",)))
    (finding,) = run.findings
    assert "the backward pass gathers `ws[" in finding.message and "3 more are like it" in finding.message
    (tried,) = run.shardings().findings
    assert tried.fix is not None and tried.fix.verified and "ws = jaxnb.abstract(ws, jax.P())" in tried.fix.text
    assert f"instead of {format_bytes(run.plan.ledger.total)}" in tried.fix.text


def test_what_nobody_spread_is_not_said_to_lie_on_the_host() -> None:
    assert planned("y = x * u", x=on(P("x", "y"), 512, 1024), u=array(512, 1024)).findings == ()


REMADE = "y = wsc(x * 2, P(None, 'y'))"


def test_what_xla_warns_of_is_evidence() -> None:
    run = planned(REMADE, x=on(P("x"), 512, 1024))
    (finding,) = run.findings
    assert "gathers it on every device over x and then cuts it again" in finding.message
    assert "XLA warns of it: The compiler cannot go from sharding {" in finding.message and finding.line == 1
    assert planned("y = wsc(x * 2, P('x', 'y'))", x=on(P("x"), 512, 1024)).findings == ()


def test_what_xla_warns_of_inside_a_loop_has_its_line() -> None:
    cell = (
        "def step(c, _):\n    c = wsc(jnp.tanh(c), P(None, 'y'))\n    return wsc(jnp.sin(c), P('x')), None\n"
        "c, _ = lax.scan(step, x, None, length=3)"
    )
    found = planned(cell, x=on(P("x"), 512, 1024)).findings
    assert {one.line for one in found} <= {2, 3} and any("XLA warns of it" in one.message for one in found)


def test_of_a_run_xla_is_asked_in_a_process_of_its_own(capfd: pytest.CaptureFixture[str]) -> None:
    """Compiling variants writes nothing where the user's errors go, and no process is left."""
    end_worker()
    given = {"jax": jax, "P": P, "wsc": wsc, "NamedSharding": NamedSharding, "mesh": FLAT}
    given["x"] = jax.device_put(np.ones((512, 1024), np.float32), NamedSharding(FLAT, P("x")))
    run = new_session().stage("y = wsc(x * 2, NamedSharding(mesh, P(None, 'y')))", given, StageOptions())
    capfd.readouterr()
    (finding,) = run.shardings().findings
    assert "XLA warns of it" in finding.message and finding.fix is not None and finding.fix.verified
    assert capfd.readouterr().err == "" and not has_worker()


# --- callbacks ---

CALLED: list[Any] = []
CALLBACKS = {
    "print": "jax.debug.print('{}', x)\ny = x * 2",
    "callback": "jax.debug.callback(CALLED.append, x)\ny = x * 2",
    "pure": "y = jax.pure_callback(lambda v: CALLED.append(v) or v, jax.ShapeDtypeStruct((64, 16), 'float32'), x)",
    "io": "y = io_callback(lambda v: CALLED.append(v) or v, jax.ShapeDtypeStruct((64, 16), 'float32'), x)",
    "io in order": "io_callback(CALLED.append, None, x.sum(), ordered=True)\ny = x * 2",
    "in a map": (
        "piece = jax.ShapeDtypeStruct((16, 16), 'float32')\n"
        "f = lambda v: jax.pure_callback(lambda w: CALLED.append(w) or w, piece, v)\n"
        "y = jax.shard_map(f, in_specs=P('x'), out_specs=P('x'), check_vma=False)(x)"
    ),
}


@pytest.mark.parametrize("name", CALLBACKS)
def test_callbacks_are_planned_and_not_called(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    run = planned(CALLBACKS[name], x=on(P("x"), 64, 16), CALLED=CALLED)
    assert run.plan is not None and run.plan.footprint.inputs == 4 * 16 * 16
    gathers = [item for item in run.plan.ledger.items if item.kind == "all-gather"]
    assert bool(gathers) == (name not in ("io in order", "in a map"))
    assert all(item.sent == 3 * 4 * 16 * 16 and item.line == 1 for item in gathers)
    assert "hlo" in run.program.level_names and run.program.level("hlo").entries == 1
    jax.effects_barrier()
    assert CALLED == [] and "[" not in capfd.readouterr().out


def test_jax_refuses_callbacks_without_devices_as_before() -> None:
    before = {primitive.name for primitive in _jax_hlo._wanting}
    planned(CALLBACKS["pure"], x=on(P("x"), 64, 16), CALLED=CALLED)
    assert {primitive.name for primitive in _jax_hlo._wanting} == before >= {"pure_callback", "io_callback"}
    function = jax.jit(lambda v: jax.pure_callback(np.sin, v, v))
    with pytest.raises(ValueError, match="require devices"):
        function.trace(on(P("x"), 64)).lower(lowering_platforms=("cpu",))


def test_an_order_that_jax_does_not_keep_is_refused_with_what_to_do() -> None:
    with pytest.raises(JaxnbError, match=r"no order of prints(.|\n)*leave ordered=True out"):
        planned("jax.debug.print('{}', x, ordered=True)\ny = x", x=on(P("x"), 64, 16))


def test_kernels_and_foreign_calls_say_what_to_do() -> None:
    from jax.experimental import pallas as pl

    def double(given: Any, made: Any) -> None:
        made[...] = given[...] * 2

    names: dict[str, Any] = {"pl": pl, "double": double, "shape": array(64, 16), "x": on(P("x"), 64, 16)}
    with pytest.raises(JaxnbError, match=r"runs no kernels(.|\n)*interpret=True"):
        planned("y = pl.pallas_call(double, out_shape=shape)(x)", **names)
    assert planned("y = pl.pallas_call(double, out_shape=shape, interpret=True)(x)", **names).plan is not None
    with pytest.raises(JaxnbError, match=r"cannot be compiled for 8 devices(.|\n)*nope(.|\n)*of the same shapes"):
        planned("y = jax.ffi.ffi_call('nope', shape)(x)", **names)
    assert planned("y = x + 1", **names).plan is not None


# --- the levels below ---


def test_a_cell_that_is_only_looked_at_is_compiled_elsewhere(shell: Shell) -> None:
    shell.run("import jaxnb\nfrom jax.sharding import PartitionSpec as P\n%jaxnb mesh x=4, y=4 --simulate")
    shell.run("x = jaxnb.abstract(jax.ShapeDtypeStruct((64, 8), 'float32'), P('x'))")
    out = shell.run("%%jaxpr --level hlo\njax.debug.print('{}', x)\ny = jnp.sin(x).sum()")
    assert "traced only" in out and "all-reduce" in out and "all-gather" in out and "f32[16,8]" in out
    assert "y" not in shell.ns
    shell.run("%%jit\ny = jnp.cumsum(x, 0)")
    out = shell.run("%jaxnb collectives --on h100")
    assert "over x" in out and "on h100, at its peaks" in out
    out = shell.run("%jaxnb sharding")
    assert "2 values on x=4, y=4" in out and "P('x')" in out
    shell.run("%jaxnb mesh off")


def test_names_of_a_plan_are_told() -> None:
    run = planned("h = wsc(x * 2, P('x', 'y'))\nk = h.sum()", x=on(P("x"), 64, 16))
    assert [(one.name, one.text) for one in run.program.names()] == [("h", "float32[64,16]"), ("k", "float32[]")]
    plan = jaxnb.simulate(lambda v: wsc(v, P("x")), "x=4")(array(8))
    assert isinstance(plan.program.names(), tuple)


def test_a_function_of_shapes_is_compiled_elsewhere() -> None:
    program = jaxnb.inspect(lambda x, w: jnp.tanh(x @ w).sum())(on(P("x", "y"), 64, 16), on(P("y"), 16, 8))
    items = [(item.kind, item.axes, item.sent) for item in program.collectives().items]
    assert items == [("all-reduce", ("y",), 16 * 8 * 4), ("all-reduce", ("x",), 6)]
    assert program.collectives("h100").estimate is not None


def test_the_mesh_of_shapes() -> None:
    assert simulated_mesh_of([1.0, array(4), jnp.ones(3)]) is None
    there = jax.ShapeDtypeStruct((8,), np.float32, sharding=NamedSharding(FLAT, P("x")))
    assert simulated_mesh_of([there, jax.ShapeDtypeStruct((8,), np.float32, sharding=P("x"))]) is None
    found = simulated_mesh_of([on(P("x"), 8)])
    assert found is not None and str(found) == "x=4, y=2 (8 devices)" and not found.explicit
