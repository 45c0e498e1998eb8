"""Where values live, as it is saved and as the inspector is told of it."""

from __future__ import annotations

import copy
import json
from importlib.resources import files
from typing import Any

import jax
import jax.numpy as jnp
import jsonschema
import numpy as np
import pytest
from golden import check_golden
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
from sample_layouts import MESH, named, sharded
from sample_levels import neuron
from sample_programs import PROGRAMS as PLAIN
from sample_shardings import MESHES, mesh_of, sample_placements
from test_axis_flow import PROGRAMS

from jaxnb.api import inspect, stage
from jaxnb.errors import JaxnbError
from jaxnb.program import Computation, Level, Program, Value
from jaxnb.program.codec import MIME_TYPE, decode, encode
from jaxnb.program.placement.layout import Layout, Placed
from jaxnb.reading.placement.read import read_placement
from jaxnb.shell.inspector_comm import answer
from jaxnb.shell.show import MOST_SAVED, bundle
from jaxnb.views.drawings import encode_drawn, read_drawings
from jaxnb.views.interactive import has_script, is_interactive, render_interactive, script_hashes
from jaxnb.views.packing import unpack

SCHEMA = json.loads(files("jaxnb.program").joinpath("program.schema.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
DRAWINGS = jsonschema.Draft202012Validator({**SCHEMA["$defs"]["drawings"], "$defs": SCHEMA["$defs"]})

TRAINING = """def loss(w, b):
    h = jnp.tanh(images @ w + b)
    return jnp.mean(h ** 2)
value, grads = jax.value_and_grad(loss, (0, 1))(w, b)
w = w - 0.1 * grads[0]"""


def saved(program: Program) -> dict[str, Any]:
    """What a reader finds: through JSON, and by the schema."""
    data = json.loads(json.dumps(encode_drawn(program)))
    VALIDATOR.validate(data)
    if "drawings" in data:
        DRAWINGS.validate(unpack(data["drawings"]))
        assert unpack(data["drawings"]) == read_drawings(program)
    return data


def training() -> dict[str, Any]:
    mesh = mesh_of(x=4, y=2)

    def put(shape: tuple[int, ...], spec: Any) -> jax.Array:
        return jax.device_put(np.ones(shape, np.float32), NamedSharding(mesh, spec))

    arrays = {"images": put((16, 8), P("x", None)), "w": put((8, 6), P(None, "y")), "b": put((6,), P("y"))}
    return {"jax": jax, "jnp": jnp, **arrays}


def test_golden_of_a_program_of_several_devices() -> None:
    """The front end's tests read these files too."""
    for name, data in (("program", encode(sharded())), ("drawings", read_drawings(sharded()))):
        check_golden(f"sharded.{name}.json", json.dumps(data, indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_saved_program_has_the_same_diagrams(name: str) -> None:
    program = PROGRAMS[name]()
    program.vmapped()
    data = saved(program)
    again = decode(data)
    assert (again.made_layout or Layout()) == program.layout()
    assert (again.made_vmapped or ()) == program.vmapped()
    # Who holds memory is read of what ran, or saved with it.
    assert {**saved(again), "curves": None} == {**data, "curves": None}
    assert str(again.axes_diagram()) == str(program.axes_diagram())


def test_every_placement_is_saved_whole() -> None:
    placements = tuple(sample_placements().values())
    values = tuple(Value(f"v{number}") for number in range(len(placements)))
    level = Level("jaxpr", values, (Computation("main", tuple(range(len(values)))),))
    placed = tuple(Placed(number, "value", placement) for number, placement in enumerate(placements))
    layout = Layout(tuple(MESHES.values()), placed, ())
    data = saved(Program("x", (level,), _layout=layout))
    again = decode(data).layout()
    assert again.placed == placed and again.meshes[: len(MESHES)] == layout.meshes
    drawn = unpack(data["drawings"])
    for row, placement in enumerate(placements):
        shown = drawn["placements"][drawn["values"]["how"][row]]
        texts = shown["groups"]["text"]
        assert len(texts) == len(placement.groups) and placement.spec in shown["spec"]
        devices = drawn["meshes"][shown["mesh"]]["devices"]
        assert len(devices) == len(shown["held"])
        for told, group in zip(devices, shown["held"], strict=True):
            place = int(told.partition("place ")[2].split(",")[0])
            assert placement.held[place] == group


def test_the_layout_of_a_run_is_that_of_its_arrays() -> None:
    names = training()
    given = dict(names)
    run = stage(TRAINING, names)
    level = run.program.level("jaxpr").computations[0]
    layout = run.program.layout()
    places = {one.value: one.placement for one in layout.placed if one.role == "input"}
    assert len(places) == 3
    for value, name in zip(level.inputs, level.input_names, strict=True):
        assert places[value] == read_placement(given[name]), name
    results = {one.value: one.placement for one in layout.placed if one.role == "result"}
    for value, name in zip(level.outputs, level.output_names, strict=True):
        if name in ("w", "value"):
            assert results[value].boxes == read_placement(names[name]).boxes
    hidden = {level.ops: one for one in layout.placed if one.role == "value"}
    assert hidden, "what a line ends in is known from the instructions"


def test_a_saved_ledger_knows_the_axes() -> None:
    program = stage(TRAINING, training()).program
    ledger = program.collectives()
    assert {item.axes for item in ledger.items} >= {("x",)}
    kept = decode(saved(program)).collectives()
    assert [(i.axes, i.total, i.line, i.why) for i in kept.items] == [
        (i.axes, i.total, i.line, i.why) for i in ledger.items
    ]
    assert kept.mesh == ledger.mesh
    # As a notebook saves it: without the instructions.
    short = decode(json.loads(json.dumps(encode(program, levels=("source", "jaxpr")))))
    assert str(short.collectives()) == str(ledger)


def test_rows_of_the_ledger_point_at_their_equations() -> None:
    program = stage(TRAINING, training()).program
    rows = read_drawings(program)["ledger"]["rows"]
    computations = program.level("jaxpr").computations
    for line, ops in zip(rows["line"], rows["ops"], strict=True):
        assert ops, "a collective without an equation"
        assert line in {computations[at].ops[op].line for at, op in zip(ops[::2], ops[1::2], strict=True)}
    program.level("hlo")
    rows = read_drawings(program)["ledger"]["rows"]
    hlo = program.level("hlo").computations
    assert [hlo[at].ops[op].name.removesuffix("-start") for at, op in rows["op"]] == [
        k.split()[0] for k in rows["kind"]
    ]


def test_knots_and_runs_point_at_what_they_stand_for() -> None:
    for name in ("layer", "collectives", "einsum"):
        program = PROGRAMS[name]()
        level = program.level("jaxpr")
        for flow in read_drawings(program)["flows"]:
            for kind, what, ops, value in zip(
                *(flow["knots"][key] for key in ("kind", "what", "ops", "value")), strict=True
            ):
                assert bool(ops) == (kind == 1) and (value >= 0) == (kind != 1)
                if ops:
                    last = level.computations[ops[-2]].ops[ops[-1]]
                    assert level.values[last.outputs[0]].name == what.partition(" = ")[0]
            for row, to in zip(flow["runs"]["row"], flow["runs"]["to"], strict=True):
                assert row < to


def test_what_was_only_traced_shows_the_types_of_explicit_axes() -> None:
    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2, devices=jax.devices("cpu")[:8])
    with jax.set_mesh(mesh):
        a = jax.ShapeDtypeStruct((8, 4), np.float32, sharding=NamedSharding(mesh, P("x", "y")))
        layout = inspect(lambda a: jnp.sin(a))(a).layout()
    assert [(one.role, one.placement.spec) for one in layout.placed] == [
        ("input", "P('x', 'y')"),
        ("result", "P('x', 'y')"),
    ]
    assert str(layout.meshes[0]) == "x=4 explicit, y=2 explicit"
    assert layout.collectives is None


def test_one_device_has_no_diagrams() -> None:
    for program in (neuron(), PLAIN["mlp"](), stage("y = x + 1.0", {"x": jnp.ones(3)}).program):
        assert set(encode_drawn(program)) == set(encode(program))


def test_what_several_arrays_take_together() -> None:
    drawn = read_drawings(sharded())
    row = drawn["values"]["name"].index("all inputs")
    shown = drawn["placements"][drawn["values"]["how"][row]]
    # float32[8,8] in 8 pieces of 32 bytes, float32[8,6] in 2 of 96
    assert shown["groups"]["text"] == ["128 B of 2 arrays"] and shown["bytes"] == 128
    assert "all results" not in drawn["values"]["name"], "they lie on different devices"
    first = drawn["values"]["first"]
    assert drawn["values"]["name"][first] == "a"


def test_many_devices_and_many_values_stay_small() -> None:
    mesh = MESHES["mesh-abstract"]
    assert mesh.size == 512
    values = tuple(Value(f"v{number}") for number in range(300))
    level = Level("jaxpr", values, (Computation("main", tuple(range(300))),))
    big = named((1024, 1024), "x", "y", spec="P('x', 'y')", mesh=mesh)
    layout = Layout((mesh,), tuple(Placed(number, "input", big) for number in range(300)))
    drawn = read_drawings(Program("x", (level,), _layout=layout))
    assert len(drawn["values"]["how"]) <= 200
    assert len(json.dumps(drawn)) < 60_000
    grids = drawn["meshes"][0]["grids"]
    assert len(grids["rows"]) <= 12 and -2 in grids["cells"][0][0]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data["layout"]["meshes"][0]["axes"]["size"].__setitem__(0, 5),
        lambda data: data["layout"]["meshes"][0]["axes"]["type"].__setitem__(0, 0),
        lambda data: data["layout"]["placements"][0].__setitem__("mesh", 7),
        lambda data: data["layout"]["placements"][0].__setitem__("shape", [8]),
        lambda data: data["layout"]["placements"][0]["cuts"].pop(),
        lambda data: data["layout"]["placed"]["value"].__setitem__(0, 999),
        lambda data: data["layout"]["placed"]["role"].__setitem__(0, 0),
        lambda data: data["layout"]["collectives"]["why"].pop(),
        lambda data: data["layout"]["collectives"]["places"].__setitem__(0, [1]),
        lambda data: data["layout"].pop("placed"),
        lambda data: data["layout"]["placements"][3].__setitem__("boxes", [[0, 9]]),
    ],
)
def test_a_damaged_layout_is_refused(damage: Any) -> None:
    data = copy.deepcopy(saved(sharded()))
    damage(data)
    with pytest.raises(JaxnbError, match="damaged"):
        decode(data)


def test_an_output_brings_its_diagrams_while_they_fit() -> None:
    run = stage(TRAINING, training())
    data = bundle(run, rich=True)
    assert sum(len(part if isinstance(part, str) else json.dumps(part)) for part in data.values()) <= MOST_SAVED
    assert set(unpack(data[MIME_TYPE]["drawings"])) == {"meshes", "placements", "values", "ledger"}
    many = "\n".join(f"w{n} = jnp.sin(w) @ jnp.cos(w).T * {n}.0" for n in range(40))
    run = stage(many, training())
    short = bundle(run, rich=True)
    assert "drawings" not in short.get(MIME_TYPE, {})
    assert run.program.made_layout is None, "nothing is read that nobody sees"


@pytest.mark.skipif(not has_script(), reason="the front end is not built: make extension")
def test_a_report_draws_what_was_saved() -> None:
    program = stage(TRAINING, training()).program
    program.layout()
    again = decode(json.loads(json.dumps(encode(program, levels=("source", "jaxpr")))))
    views = [render_interactive(one, line="line", script=False) for one in (program, again)]
    assert all(is_interactive(view) and view[: view.find(">")].endswith('data-diagrams=""') for view in views)
    assert read_drawings(again)["values"] == read_drawings(program)["values"]
    assert (
        len(script_hashes(views)) == 2
        and len(script_hashes([render_interactive(neuron(), line="", script=False)])) == 1
    )


def test_a_kernel_that_is_asked_for_a_level_tells_of_vmap_too() -> None:
    program = PROGRAMS["vmap"]()
    assert "drawings" not in encode_drawn(program), "it takes a trace that nobody asked for"
    told = answer({"want": "level", "level": "jaxpr"}, program, {})["program"]
    assert unpack(told["drawings"])["flows"][0]["title"].startswith("vmap over batch:8")


def test_devices_say_what_they_are() -> None:
    (mesh,) = read_drawings(sharded())["meshes"][:1]
    assert mesh["devices"][5] == "tpu:5 · place 5, process 1, TPU v5e, of another process"
    assert mesh["labels"][5] == "5 p1"
    assert mesh["title"] == f"mesh {MESH}"
