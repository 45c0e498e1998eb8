"""The levels of a program: each made when first asked for, linked to its neighbours, from line to instruction."""

from __future__ import annotations

import functools
import json
import tracemalloc
from contextlib import contextmanager
from importlib.resources import files

import jax
import jax.numpy as jnp
import jsonschema
import numpy as np
import pytest
from jax import monitoring
from jax.experimental.compilation_cache import compilation_cache
from level_programs import PROGRAMS

import jaxnb
from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.program import PHASES, Program
from jaxnb.program.codec import decode, encode
from jaxnb.program.coverage import Coverage
from jaxnb.program.laws import check_program
from jaxnb.reading.hlo import read as hlo_reader
from jaxnb.reading.hlo.module import PRIMITIVE_TYPES
from jaxnb.reading.jaxpr.jaxpr import read_jaxpr
from jaxnb.reading.stablehlo import read as stablehlo_reader
from jaxnb.staging.levels.lowering_stages import LoweringStages, traced_stage
from jaxnb.staging.session.session import Session
from jaxnb.views.html import render_html

SCHEMA = json.loads(files("jaxnb.program").joinpath("program.schema.json").read_text("utf-8"))
SETUP = "import jax, jax.numpy as jnp, numpy as np\nx = jnp.arange(12.0).reshape(3, 4) / 7\nw = jnp.ones((4, 5))\n"


def staged(cell: str, setup: str = SETUP, **options) -> Program:
    namespace = {"__name__": "__main__"}
    exec(setup, namespace)
    return new_session().stage(cell, namespace, StageOptions(**options)).program


def below(program: Program, line: int, level: str) -> list[str]:
    """The names of the ops of a level that a line of the cell leads to, by links alone."""
    statements = [(0, at) for at, op in enumerate(program.level("source").computations[0].ops) if op.line == line]
    places = {place for statement in statements for place in program.linked("source", statement, level)}
    return sorted({program.level(level).computations[c].ops[i].name for c, i in places})


@contextmanager
def counted():
    """How often anything was compiled, and lowered."""
    seen = {"compile": 0, "lower": 0}

    def listen(event: str, seconds: float, **_: object) -> None:
        seen["compile"] += event.endswith("backend_compile_duration")
        seen["lower"] += event.endswith("jaxpr_to_mlir_module_duration")

    monitoring.register_event_duration_secs_listener(listen)
    try:
        yield seen
    finally:
        monitoring.unregister_event_duration_listener(listen)


@pytest.fixture(scope="module", params=PROGRAMS)
def program(request):
    setup, cell = PROGRAMS[request.param]
    made = staged(cell, setup)
    made.coverage()
    return made


def test_the_laws_hold(program):
    check_program(program)
    assert program.level_names == ("source", "jaxpr", "stablehlo", "hlo")


def test_everything_is_linked(program):
    coverage = program.coverage()
    assert coverage.eqn_line == 1.0
    assert coverage.stablehlo_eqn == 1.0
    assert coverage.hlo_eqn >= 0.99
    assert coverage.time_eqn is None


def test_the_round_trip_is_the_identity(program):
    data = json.loads(json.dumps(encode(program)))
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert decode(data) == program


def test_every_op_has_a_line_of_the_cell(program):
    lines = program.source.count("\n") + 1
    for level in ("jaxpr", "stablehlo"):
        assert all(op.span is not None for op in program.ops(level))
        assert all(1 <= op.line <= lines for op in program.ops(level) if op.line is not None)


def test_nothing_is_printed_at_length(program):
    for level in program.levels:
        assert all(len(text) <= 120 for op in level.ops() for _, text in op.attributes)
        assert all(len(value.name) <= 120 for value in level.values)


def test_an_equation_without_an_instruction_says_what_became_of_it(program):
    """And no other does: an equation from which links lead to an instruction outside fusions is not among them."""
    fates = {fate.op: fate for fate in program.fates}
    assert len(fates) == len(program.fates)
    hlo = program.level("hlo")
    fused = [body for _, body in _bodies_of(hlo, "fusion")]
    downs = {}
    exact = {(link.upper, link.upper_op) for link in program.links if link.exact}
    for link in program.links:
        if link.exact or (link.upper, link.upper_op) not in exact:
            downs.setdefault((link.upper, link.upper_op), []).append(link.lower_op)
    jaxpr = program.level("jaxpr")
    for index, computation in enumerate(jaxpr.computations):
        for at, op in enumerate(computation.ops):
            ends = [
                end for middle in downs.get(("jaxpr", (index, at)), ()) for end in downs.get(("stablehlo", middle), ())
            ]
            if any(jaxpr.computations[body].ops for body in op.bodies):
                assert (index, at) not in fates
            elif not ends:
                assert fates[index, at].kind in ("folded", "removed")
            elif all(computation in fused for computation, _ in ends):
                into = fates[index, at].into
                assert hlo.computations[into[0]].ops[into[1]].name == "fusion"
            else:
                assert (index, at) not in fates


def _bodies_of(level, name, inside=False):
    """Each op of that name with the computations below it, however deep."""
    stack = [(op, body) for op in level.ops() if op.name == name for body in op.bodies]
    while stack:
        op, body = stack.pop()
        yield op, body
        stack.extend((op, inner) for owned in level.computations[body].ops for inner in owned.bodies)


# --- when they are made ---


def test_asking_for_the_jaxpr_compiles_and_lowers_nothing():
    x = jnp.ones(3)
    with counted() as seen:
        program = jaxnb.inspect(lambda x: jnp.tanh(x).sum())(x)
        list(program.ops("jaxpr"))
        str(program)
        render_html(program, line="staged")
        encode(program)
    assert seen == {"compile": 0, "lower": 0}
    assert [level.name for level in program.levels] == ["source", "jaxpr"]


def test_asking_for_stablehlo_compiles_nothing():
    program = jaxnb.inspect(lambda x: jnp.tanh(x).sum())(jnp.ones(3))
    with counted() as seen:
        assert [op.name for op in program.ops("stablehlo")][0] == "tanh"
    assert seen == {"compile": 0, "lower": 1}
    with counted() as seen:
        assert "hlo" in program.level_names and program.coverage().hlo_eqn == 1.0
    assert seen == {"compile": 1, "lower": 0}


def test_asking_for_the_hlo_of_a_cell_that_ran_compiles_nothing_again():
    program = staged("y = jnp.tanh(x @ w)\nz = y.sum()")
    with counted() as seen:
        assert "dot" in {op.name for op in program.ops("hlo")}
    assert seen["compile"] == 0


def test_what_was_made_is_kept():
    program = staged("y = jnp.tanh(x)")
    made = {name: program.level(name) for name in program.level_names}
    with counted() as seen:
        assert all(program.level(name) is level for name, level in made.items())
    assert seen == {"compile": 0, "lower": 0}


def test_a_view_of_the_program_makes_no_further_level():
    program = staged("y = jnp.tanh(x)")
    assert "tanh" in str(program)
    assert [level.name for level in program.levels] == ["source", "jaxpr"]


def test_a_saved_program_says_which_levels_were_saved():
    program = staged("y = jnp.tanh(x)")
    saved = decode(json.loads(json.dumps(encode(program))))
    assert saved.level_names == ("source", "jaxpr")
    with pytest.raises(KeyError, match="no level 'hlo' in this program; made so far: source, jaxpr"):
        saved.ops("hlo")
    assert saved.coverage().stablehlo_eqn is None
    program.level("hlo")
    everything = decode(json.loads(json.dumps(encode(program))))
    assert everything == program and everything.level_names == ("source", "jaxpr", "stablehlo", "hlo")
    assert everything.coverage() == program.coverage()


def test_a_level_that_nobody_knows():
    with pytest.raises(KeyError, match="no level 'ptx' .* made so far: source, jaxpr; can be made: stablehlo, hlo"):
        staged("y = jnp.tanh(x)").level("ptx")


def test_a_cell_that_computes_nothing_has_no_further_levels():
    program = staged("def f(x):\n    return x")
    assert program.level_names == ("source",)
    assert program.coverage() == Coverage()


# --- what they hold ---


def test_a_line_leads_to_its_instructions_through_functions_of_jax():
    program = staged("a = jnp.where(x > 0.5, x, 0.0)\nb = jax.nn.softmax(x)\nc = jnp.where(x > 0.1, a, b)")
    assert below(program, 1, "jaxpr")[:2] == ["broadcast_in_dim", "convert_element_type"]
    for line in (1, 3):
        assert {"select_n", "gt"} <= set(below(program, line, "jaxpr"))
        assert {"select", "compare"} <= set(below(program, line, "stablehlo"))
        assert "select" in below(program, line, "hlo")
    assert {"exponential", "reduce"} <= set(below(program, 2, "stablehlo"))
    assert {"exponential", "reduce"} <= set(below(program, 2, "hlo"))
    assert "exponential" not in below(program, 3, "hlo")


def test_a_function_of_another_cell_is_not_blamed_on_its_first_caller():
    """JAX traces `helper` once; the second cell that calls it is the one whose line is told for what it calls."""
    namespace = {"__name__": "__main__"}
    exec(SETUP, namespace)
    exec(compile("@jax.jit\ndef helper(x):\n    return jnp.sin(x) * 2", "Cell In[1]", "exec"), namespace)
    session = new_session()
    session.stage("y = helper(x)", namespace, StageOptions(), filename="Cell In[2]")
    program = session.stage("z = 1.0 * x\nz = helper(z)", namespace, StageOptions(), filename="Cell In[3]").program
    places = {(op.name, op.span.file, op.span.line) for op in program.ops("stablehlo")}
    assert {("sine", "Cell In[1]", 3), ("call", "", 2)} <= places
    assert not any("In[2]" in file for _, file, _ in places)


def test_computations_are_trees():
    cell = (
        "def step(c, a):\n    return c * a, c\n"
        "y, ys = jax.lax.scan(step, 1.0, x[0])\n"
        "z = jax.lax.cond(y > 0, jnp.sin, jnp.cos, y)\n"
        "u = jax.lax.while_loop(lambda v: v < 3, lambda v: v + 1, z)"
    )
    program = staged(cell)
    found = {
        (op.name, tuple(level.computations[body].name for body in op.bodies))
        for level in (program.level("stablehlo"),)
        for op in level.ops()
        if op.bodies
    }
    assert {("while", ("cond", "body")), ("case", ("branch 0", "branch 1"))} <= found
    owners = {op.name for op in program.ops("hlo") if op.bodies}
    assert {"while", "conditional", "fusion"} & owners
    assert {"body", "cond"} <= {computation.name for computation in program.level("hlo").computations}


def test_values_have_types():
    program = staged("y = (x > 0.5) @ w.astype(jnp.bfloat16) + jnp.int8(3)")
    for level in ("stablehlo", "hlo"):
        dtypes = {value.aval.dtype for value in program.level(level).values if value.aval is not None}
        assert {"float32", "bool"} <= dtypes and "bfloat16" in dtypes
    entry = program.level("hlo").computations[0]
    shapes = [str(program.level("hlo").values[i].aval) for i in entry.inputs]
    names = program.level("stablehlo").computations[0].input_names
    assert dict(zip(names, shapes, strict=True)) == {"x": "float32[3,4]", "w": "float32[4,5]"}


def test_inputs_have_their_names():
    """Also behind one that nothing uses, which JAX leaves out."""
    program = staged("a, b = unused, jnp.tanh(w)\nc = x.sum() + b[0, 0]", SETUP + "unused = jnp.zeros(3)\n")
    for level in ("stablehlo", "hlo"):
        made = program.level(level)
        entry = made.computations[0]
        named = {name: str(made.values[i].aval) for name, i in zip(entry.input_names, entry.inputs, strict=True)}
        assert named == {"x": "float32[3,4]", "w": "float32[4,5]"}


def test_shardings_are_told():
    setup = SETUP + (
        "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P\n"
        "mesh = Mesh(np.array(jax.devices()[:2]), ('d',))\n"
        "x = jax.device_put(jnp.ones((4, 4)), NamedSharding(mesh, P('d')))\n"
    )
    program = staged("y = jnp.tanh(x)\ntotal = y.sum()", setup)
    for name, spread in (("jaxpr", "P('d',)"), ("stablehlo", '[{"d"}, {}]')):
        level = program.level(name)
        assert level.values[level.computations[0].inputs[0]].sharding == spread
    assert "all-reduce" in {op.name for op in program.ops("hlo")}
    assert "all-reduce" in below(program, 2, "hlo")
    assert program.coverage().hlo_eqn == 1.0


def test_shard_map():
    setup = SETUP + (
        "from jax.sharding import Mesh, PartitionSpec as P\n"
        "mesh = Mesh(np.array(jax.devices()[:2]), ('d',))\n"
        "x = jnp.ones((4, 4))\n"
    )
    cell = (
        "def f(a):\n    return jax.lax.psum(jnp.sin(a), 'd')\n"
        "y = jax.shard_map(f, mesh=mesh, in_specs=P('d'), out_specs=P())(x)"
    )
    program = staged(cell, setup)
    for level, name in (("jaxpr", "sin"), ("stablehlo", "sine")):
        assert {op.scopes for op in program.ops(level) if op.name == name} == {("shard_map",)}
    coverage = program.coverage()
    assert coverage.stablehlo_eqn == 1.0 and coverage.hlo_eqn == 1.0


def test_large_constants_are_elided():
    program = staged("y = x[0, 0] + big", SETUP + "big = np.arange(400_000.0, dtype=np.float32)")
    program.coverage()
    assert len(repr(program.levels)) < 20_000


def test_a_user_may_use_the_names_of_equations():
    """Scopes and functions that are called like equations lead nobody astray."""
    cell = (
        "@jax.jit\ndef eqn1(x):\n    with jax.named_scope('eqn0'):\n        return jnp.sin(x) * 2\n"
        "y = jnp.tanh(x)\n"
        "with jax.named_scope('eqn0/a;b'):\n    z = eqn1(y) + jnp.exp(y)"
    )
    program = staged(cell)
    assert program.coverage() == Coverage(1.0, 1.0, 1.0)
    found = {op.name: op.line for op in program.ops("stablehlo")}
    assert (found["tanh"], found["sine"], found["multiply"], found["exponential"]) == (5, 4, 4, 7)
    fused = {op.name: op.line for op in program.ops("hlo")}
    assert (fused["tanh"], fused["sine"], fused["exponential"]) == (5, 4, 7)


@pytest.mark.parametrize("cell", ["y = x", "jax.debug.print('{}', x.sum())", "y = x\nz = jnp.ones(3)", "jnp.zeros(())"])
def test_cells_that_compute_hardly_anything(cell, capfd):
    program = staged(cell)
    program.coverage()
    check_program(program)
    assert capfd.readouterr().out.count("9.42") <= 1  # looking at a program does not run it


def test_what_was_folded_to_a_constant_is_linked_to_what_made_it():
    program = staged("y = jnp.sum(x[:0]) + jnp.zeros((0, 3)).sum()")
    assert program.coverage() == Coverage(1.0, 1.0, 1.0)
    assert {fate.kind for fate in program.fates} <= {"folded", "removed"}
    assert below(program, 1, "hlo") == ["copy"]


def test_dtypes_have_the_numbers_of_xla():
    from jaxlib._hlo import PrimitiveType

    known = {kind.value: kind.name for kind in PrimitiveType}
    assert {1, 4, 11, 16} <= known.keys() & PRIMITIVE_TYPES.keys()
    for number in known.keys() & PRIMITIVE_TYPES.keys():
        name, itemsize = PRIMITIVE_TYPES[number]
        short = {"bool": "PRED", "bfloat16": "BF16"}.get(name, name.upper())
        for long, letter in (("UINT", "U"), ("INT", "S"), ("FLOAT", "F"), ("COMPLEX", "C")):
            short = short.replace(long, letter) if short.startswith(long) else short
        assert known[number] == short.replace("_", "")
        if itemsize > 1:
            assert itemsize * 8 == int("".join(filter(str.isdigit, name)))


# --- phases and scopes ---


def phases(program: Program, level: str = "jaxpr") -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for op in program.ops(level):
        found.setdefault(op.name, set()).add(op.phase)
    return found


def test_primal_and_transposed():
    program = staged("loss, g = jax.value_and_grad(lambda w: jnp.tanh(x @ w).sum())(w)")
    found = phases(program)
    assert found["tanh"] == {"primal"} and found["dot_general"] == {"primal", "transposed"}
    assert found["transpose"] == {"transposed"}
    assert phases(program, "stablehlo")["tanh"] == {"primal"}
    assert "transposed" in set().union(*phases(program, "hlo").values())


def test_tangents():
    program = staged("y, dy = jax.jvp(lambda x: jnp.tanh(x * x).sum(), (x,), (x + 1,))")
    found = [(op.name, op.phase) for op in program.ops("jaxpr")]
    assert ("tanh", "primal") in found and ("mul", "primal") in found
    assert found.count(("reduce_sum", "primal")) == found.count(("reduce_sum", "tangent")) == 1
    assert {phase for _, phase in found} == {"primal", "tangent"}
    assert all(phase in PHASES for _, phase in found)


def test_rematerialised_in_a_scan():
    cell = (
        "def f(w):\n"
        "    step = jax.checkpoint(lambda c, a: (jnp.sin(c * a), None))\n"
        "    return jax.lax.scan(step, 1.0, w)[0]\n"
        "g = jax.grad(f)(x[0])"
    )
    program = staged(cell)
    found = {(op.name, op.phase, op.scopes) for op in program.ops("jaxpr")}
    assert ("sin", "primal", ("scan",)) in found
    assert ("cos", "rematerialised", ("scan",)) in found
    assert any(name == "mul" and phase == "transposed" for name, phase, _ in found)
    assert ("cosine", "rematerialised") in {(op.name, op.phase) for op in program.ops("stablehlo")}


def test_scopes():
    cell = "def row(a):\n    with jax.named_scope('encoder'):\n        return jnp.sin(a)\ny = jax.vmap(row)(x)"
    program = staged(cell)
    for level, name in (("jaxpr", "sin"), ("stablehlo", "sine"), ("hlo", "sine")):
        assert ("vmap", "encoder") in {op.scopes for op in program.ops(level) if op.name == name}


# --- pieces, donation, other executables ---


def test_pieces_stand_side_by_side():
    program = staged("y = jnp.tanh(x)\nprint(y.shape, float(y.sum()))\nz = jnp.sin(y) @ w")
    check_program(program)
    program.coverage()
    check_program(program)
    for level in ("jaxpr", "stablehlo", "hlo"):
        assert program.level(level).entries == 2
    assert "dot" in below(program, 3, "hlo") and "dot" not in below(program, 1, "hlo")
    assert program.coverage() == Coverage(1.0, 1.0, 1.0)


def test_donation_and_numbers_that_python_computes():
    program = staged("x = x * scale + x\ny = x.sum()", SETUP + "scale = 2.0\n", donate=("x",))
    coverage = program.coverage()
    assert coverage == Coverage(1.0, 1.0, 1.0)
    assert "multiply" in below(program, 1, "stablehlo")


@pytest.fixture
def persistent_cache(tmp_path):
    options = {
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in options}
    compilation_cache.reset_cache()
    for name, value in options.items():
        jax.config.update(name, value)
    yield tmp_path
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


def model(x):
    return jnp.tanh(x * 3.25).sum()


def model_with_another_equation(x):
    return jnp.tanh(jax.lax.stop_gradient(x) * 3.25).sum()


model_with_another_equation.__name__ = "model"  # JAX looks at the name of the program


@pytest.mark.parametrize(
    "first", [jax.jit(model), model_with_another_equation], ids=["plain jax", "with other numbers"]
)
def test_an_executable_of_another_program_is_linked_by_its_names(first, persistent_cache):
    """JAX's persistent cache looks at what a program does, not at names: it may hold one that had none of ours."""

    def program_of(function):
        traced = jax.jit(function).trace(jnp.ones(5))
        level = read_jaxpr(traced.jaxpr, cell_file="")
        return Program("", (level,), _maker=LoweringStages([traced_stage(traced, level)]))

    if first is model_with_another_equation:
        program_of(first).level("hlo")
    else:
        first.trace(jnp.ones(5)).lower().compile()
    count = len(list(persistent_cache.iterdir()))
    assert count > 0
    program = program_of(model)
    hlo, stablehlo = program.level("hlo"), program.level("stablehlo")
    assert len(list(persistent_cache.iterdir())) == count  # numbers are no reason to compile again
    further = [link for link in program.links if link.lower == "hlo"]
    assert further and not any(link.exact for link in further)
    pairs = {
        (stablehlo.computations[a].ops[b].name, hlo.computations[c].ops[d].name)
        for link in further
        for (a, b), (c, d) in ((link.upper_op, link.lower_op),)
    }
    assert ("tanh", "tanh") in pairs and ("multiply", "multiply") in pairs
    assert ("tanh", "multiply") not in pairs


def test_a_program_that_was_compiled_with_these_numbers_is_linked_exactly(persistent_cache):
    for _ in range(2):
        jax.clear_caches()
        program = jaxnb.inspect(model)(jnp.ones(5))
        program.level("hlo")
        assert any(link.exact for link in program.links if link.lower == "hlo")


def test_what_is_inside_fusions_is_left_out_of_a_very_large_program(monkeypatch):
    cell = "loss, g = jax.value_and_grad(lambda w: jnp.tanh(jax.nn.softmax(x @ w)).sum())(w)"
    written_out = sum(1 for _ in staged(cell).ops("hlo"))
    monkeypatch.setattr(hlo_reader, "MOST_OPS", 2)
    monkeypatch.setattr(stablehlo_reader, "MOST_OPS", 2)
    program = staged(cell)
    assert sum(1 for _ in program.ops("hlo")) < written_out
    assert any(text.endswith(" instructions") for op in program.ops("hlo") for _, text in op.attributes)
    check_program(program)
    assert program.coverage() == Coverage(1.0, 1.0, 1.0)


def test_reading_takes_no_more_memory_than_what_it_reads():
    """Printed, the module would be many times as large as what it is read from, and so would be a copy of it."""
    layers = 150

    def deep(x):
        for _ in range(layers):
            x = jnp.sin(x) @ x + jnp.cos(x) * 2
        return x

    program = jaxnb.inspect(deep)(jnp.ones((4, 4)))
    program.level("stablehlo")
    tracemalloc.start()
    program.level("hlo")
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    ops = sum(1 for _ in program.ops("hlo"))
    assert ops > 4 * layers
    assert peak < 12_000 * ops and held < 6_000 * ops


def test_a_program_that_is_a_constant():
    program = jaxnb.inspect(lambda: np.float32(1))()
    program.coverage()
    check_program(program)


def test_results_have_the_names_that_they_are_bound_to():
    """Also where Python computes some of them itself, and where one value has two names."""
    namespace = {"jnp": jnp, "x": jnp.ones(3), "n": 2.5}
    run = jaxnb.stage("m, y = n * 2, jnp.tanh(x) * (n * 3)\nz = {'a': y + 1}\nsame = y\nk = m + 1", namespace)
    level = run.program.level("jaxpr")
    (entry,) = level.computations[: level.entries]
    assert [name for name in entry.output_names if name] == ["y", "z['a']"]
    held = {held.name: held.line for held in run.program.memory()[0].held}
    assert held["y"] == 1


def test_a_program_that_serves_another_layout_has_its_lines():
    """The same code with other comments, line breaks and header is not traced again, and yet every line is its own."""
    namespace = {"jnp": jnp, "jax": jax, "x": jnp.ones(3)}
    code = (
        "def f(c, _):\n    return jnp.sin(c) * 2, None\ny, _ = jax.lax.scan(f, x, length=3)\nz = jnp.where(y > 0, y, 0)"
    )
    first = jaxnb.stage(code, namespace)
    laid = (
        "# what it is\ndef f(c, _):\n    # é\n    return jnp.sin(c) * 2, None\n\n"
        "y, _ = jax.lax.scan(\n    f, x,\n    length=3)\nz = jnp.where(y > 0, y, 0)"
    )
    second = jaxnb.stage(laid, namespace)
    assert second.reused
    lines = {1: 2, 2: 4, 3: 6, 4: 9}
    told = [(op.name, op.line) for op in first.program.ops("jaxpr")]
    assert [(op.name, op.line) for op in second.program.ops("jaxpr")] == [(name, lines[line]) for name, line in told]
    assert second.program.coverage().eqn_line == 1
    check_program(second.program)
    spans = {op.name: op.span for op in second.program.ops("jaxpr")}
    assert (spans["scan"].line, spans["scan"].end_line) == (6, 8)


def test_the_lines_of_a_function_below_its_transformations():
    def loss(x):
        y = jnp.sin(x)
        return y.sum()

    for function in (loss, jax.grad(loss), jax.jit(jax.vmap(loss)), functools.partial(jax.value_and_grad(loss))):
        program = jaxnb.inspect(function)(jnp.ones((3,)) if "vmap" not in repr(function) else jnp.ones((2, 3)))
        lines = {op.name: op.line for op in program.ops("jaxpr")}
        assert "y = jnp.sin(x)" in program.source
        assert all(line in (2, 3) for name, line in lines.items() if name != "jit"), (function, lines)


def test_a_scatter_has_its_line_inside_and_out():
    """JAX keeps how a scatter combines two elements, with the place of the first cell that needed it."""
    namespace = {"jnp": jnp, "x": jnp.ones(5)}
    jaxnb.stage("\n\n\nfirst = x.at[1].add(2.0)", namespace)
    program = jaxnb.stage("second = x.at[2].add(3.0)", namespace).program
    lines = {(op.name, op.span.file, op.line) for op in program.ops("jaxpr")}
    assert ("scatter-add", "", 1) in lines and ("add", "", 1) in lines and all(line == 1 for *_, line in lines)
