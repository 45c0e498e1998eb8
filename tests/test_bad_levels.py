"""Levels of cells that are out of the ordinary, of very large ones, and of a JAX that has changed."""

from __future__ import annotations

import gc
import json
import tracemalloc

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawing import DEEP

import jaxnb
from jaxnb import _jax
from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.program import Program
from jaxnb.program.codec import decode, encode
from jaxnb.program.laws import check_program
from jaxnb.reading.jaxpr.jaxpr import read_jaxpr
from jaxnb.staging.session.session import Session
from jaxnb.views.html import render_html
from jaxnb.views.text import render_program

deep = pytest.mark.skipif(not DEEP, reason="takes long: make test-deep")

SETUP = "import jax, jax.numpy as jnp, numpy as np\nx = jnp.arange(12.0).reshape(3, 4) / 7\n"
STRUCT = "like = jax.ShapeDtypeStruct((3, 4), jnp.float32)\n"
CELLS = {
    "pure callback": (STRUCT, "y = jax.pure_callback(lambda a: np.sin(a), like, x) + 1"),
    "io callback": (STRUCT, "from jax.experimental import io_callback\ny = io_callback(lambda a: a, like, x).sum()"),
    "ordered callbacks, with tokens": (
        STRUCT,
        "from jax.experimental import io_callback\n"
        "y = io_callback(lambda a: a, like, x, ordered=True)\n"
        "z = io_callback(lambda a: a, like, y, ordered=True) * 2",
    ),
    "printing": ("", "y = jnp.sin(x)\njax.debug.print('{}', y[0, 0])\nz = y * 2"),
    "printing in a loop": (
        "",
        "def turn(i, a):\n    jax.debug.print('{}', i, ordered=True)\n    return a * 2\n"
        "y = jax.lax.fori_loop(0, 2, turn, x)",
    ),
    "custom calls": ("", "q, r = jnp.linalg.qr(x @ x.T)\nw = jnp.linalg.eigh(x @ x.T)[0]\ns = jnp.linalg.svd(x)[1]"),
    "a Pallas kernel": (
        "from jax.experimental import pallas as pl\n"
        "def kernel(a, out):\n    out[...] = a[...] * 2\n"
        "def twice(a):\n"
        "    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(a.shape, a.dtype), interpret=True)(a)\n",
        "y = twice(x) + 1",
    ),
    "references": ("", "r = jax.new_ref(x)\nr[0] = jnp.ones(4)\nr[...] += 2.0\ny = r[...]"),
    "keys": ("key = jax.random.key(0)\n", "a, b = jax.random.split(key)\ny = jax.random.normal(a, (3,))"),
    "arrays of keys": ("keys = jax.random.split(jax.random.key(0), 3)\n", "y = jax.vmap(jax.random.uniform)(keys)"),
    "no elements": ("e = jnp.zeros((0, 4))\n", "y = e @ x.T\nz = y.sum() + jnp.concatenate([e, x]).sum()"),
    "no outputs": ("", "jax.debug.print('{}', x.sum())"),
    "nothing computed": ("", "y = x"),
    "an output twice, and an input": ("", "y = jnp.sin(x)\nz, u = y, x"),
    "complex constants": ("", "y = x * 1j + (2 - 3j)\nz = jnp.array([1j, jnp.inf * 1j, 2])[0] * y"),
    "infinities": ("", "y = jnp.where(x > 1, jnp.inf, -jnp.nan) + float('nan')"),
    "float8 and int4": ("", "y = x.astype(jnp.float8_e4m3fn).astype(jnp.float32)\nz = x.astype(jnp.int4)"),
    "tuples of one name": ("", "y = [x + 1, {'a': (x * 2,)}]\n(z,) = y[1]['a']"),
    "a text that HTML would take": ("", "with jax.named_scope('<b>&\"'):\n    y = jnp.sin(x)  # </script>"),
    "a wide line": ("", f"y = x{' + 1' * 300}"),
    "letters of other alphabets": ("", "größe = jnp.sin(x); π = größe * 2; 变量 = π + größe"),
}


@pytest.mark.parametrize("name", CELLS)
def test_every_level_of_an_odd_cell(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    setup, cell = CELLS[name]
    holds(staged(cell, SETUP + setup))
    capfd.readouterr()


def test_donated_inputs() -> None:
    program = staged("x = x * 2 + 1\ny = x.sum()", SETUP, donate=("x",))
    holds(program)


@pytest.mark.parametrize("level", ["jaxpr", "stablehlo"])
def test_symbolic_dimensions(level: str) -> None:
    (n,) = jax.export.symbolic_shape("n")
    program = jaxnb.inspect(lambda a: jnp.tanh(a) @ jnp.ones((3, 2)))(jax.ShapeDtypeStruct((n, 3), jnp.float32))
    shapes = {value.aval.shape for value in program.level(level).values if value.aval is not None}
    unknown = "n" if level == "jaxpr" else "?"
    assert {(unknown, 3), (3, 2), (unknown, 2)} <= shapes
    assert {op.flops for op in program.ops("jaxpr") if op.name in ("tanh", "dot_general")} == {None}
    check_program(program)
    assert decode(json.loads(json.dumps(encode(program)))) == program
    assert "tanh" in render_program(program, level=level)


def staged(cell: str, setup: str, **options: object) -> Program:
    namespace = {"__name__": "__main__"}
    exec(setup, namespace)
    return new_session().stage(cell, namespace, StageOptions(**options)).program


def holds(program: Program) -> None:
    """What holds for every program, however odd: all levels, saved and shown, with shares and costs."""
    shares = program.coverage()
    made = [level.name for level in program.levels]
    assert made == list(program.level_names)
    check_program(program)
    assert decode(json.loads(json.dumps(encode(program)))) == program
    for level in made[1:]:
        text = render_program(program, level=level, width=100)
        assert all(name in text for name in {op.name for op in program.level(level).computations[0].ops[:3]})
        for op in program.ops(level):
            assert all(number is None or number >= 0 for number in (op.flops, op.bytes, op.transcendentals))
    page = render_html(program, line="staged")
    assert "<b>&" not in page and "</script>" not in page
    for share in (shares.eqn_line, shares.stablehlo_eqn, shares.hlo_eqn):
        assert share is None or 0.9 <= share <= 1


# --- very large programs ---


def unrolled(count: int) -> object:
    """A jaxpr of about that many equations, of a cell named "cell" whose third line is unrolled."""
    source = "def f(x):\n    for _ in range(count):\n        x = jnp.sin(x) * 2.0\n    return x"
    namespace: dict[str, object] = {"jnp": jnp, "count": count // 2}
    exec(compile(source, "cell", "exec"), namespace)
    return jax.make_jaxpr(namespace["f"])(jnp.ones(3))


@pytest.mark.parametrize("count", [4_000, pytest.param(100_000, marks=deep)])
def test_a_program_of_very_many_equations(count: int) -> None:
    jaxpr = unrolled(count)
    gc.collect()
    tracemalloc.start()
    level = read_jaxpr(jaxpr, cell_file="cell")
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1_000 * count and peak < 2_000 * count
    program = Program("\n\nx = ...", (level,))
    assert {op.line for op in program.ops("jaxpr")} == {3}
    assert len(json.dumps(encode(program))) < 100 * count
    check_program(program)
    assert decode(json.loads(json.dumps(encode(program)))) == program
    assert len(render_html(program, line="staged")) < 500_000
    assert len(render_program(program)) < 500_000
    assert program.coverage().eqn_line == 1.0


def test_the_lines_of_a_cell_that_is_written_out() -> None:
    """Each equation has the line of its own, whichever of them is asked for first."""
    count = 2_000
    source = "def f(x):\n" + "".join(f"    x = jnp.sin(x) + {n}\n" for n in range(count)) + "    return x"
    namespace: dict[str, object] = {"jnp": jnp}
    exec(compile(source, "cell", "exec"), namespace)
    level = read_jaxpr(jax.make_jaxpr(namespace["f"])(jnp.ones(3)), cell_file="cell")
    assert [op.line for op in level.ops() if op.name == "add"] == list(range(2, count + 2))


def test_collecting_garbage_goes_on_after_a_program_was_read() -> None:
    assert gc.isenabled()
    with pytest.raises(ValueError, match="input names"):
        read_jaxpr(jax.make_jaxpr(jnp.sin)(1.0), cell_file="", invar_names=("a", "b"))
    encode(Program("x", (read_jaxpr(unrolled(100), cell_file="cell"),)))
    assert gc.isenabled()
    gc.disable()
    try:
        read_jaxpr(unrolled(100), cell_file="cell")
        assert not gc.isenabled()  # as whoever called left it
    finally:
        gc.enable()


@deep
def test_memory_is_bounded_where_the_text_of_the_instructions_would_be_huge() -> None:
    """A program whose HLO would be 48 MB of text: nothing is printed, and what is kept is far smaller.

    While it is read there are the message that XLA gives, and the names of the instructions in it.
    """
    text = 48 * 2**20
    weights = [np.full((64, 64), 1 / 64, np.float32)] * 8  # constants, which are printed digit by digit

    def far(x: jax.Array) -> jax.Array:
        for n in range(400):
            with jax.named_scope("layer_of_a_model_that_somebody_gave_a_long_name_" * 100):
                x = jnp.tanh(x @ weights[n % 8]) + jax.nn.softmax(x * (n + 1.5))
        return x

    x = jnp.ones((4, 64))
    lowered = jax.jit(far).lower(x)
    printed = len(lowered.compile().as_text())
    assert printed > text
    program = jaxnb.inspect(far)(x)
    program.level("stablehlo")
    tracemalloc.start()
    level = program.level("hlo")
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(1 for _ in level.ops()) > 1_600
    assert held < printed / 2 and peak < 3 * printed


# --- a JAX that has changed ---


class Without:
    """An object of JAX that lacks one attribute, as that of another version may."""

    def __init__(self, whole: object, name: str) -> None:
        self._whole, self._name = whole, name

    def __getattr__(self, name: str) -> object:
        if name == self._name:
            raise AttributeError(f"no attribute {name!r}", name=name, obj=self._whole)
        return getattr(self._whole, name)


def lacking(monkeypatch: pytest.MonkeyPatch, door: str, name: str) -> None:
    """From now on what is handed to a function of the door has no attribute of that name."""
    function = getattr(_jax, door)
    monkeypatch.setattr(_jax, door, lambda first, *more: function(Without(first, name), *more))


CELL = "y = jnp.tanh(x) @ x.T\nz = y.sum()"


def test_modules_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking(monkeypatch, "serialized_modules", "runtime_executable")
    program = staged(CELL, SETUP)
    with pytest.raises(jaxnb.errors.ChangedJax, match=r"jax [\d.]+ has no Compiled\.runtime_executable\."):
        program.level("hlo")
    shares = program.coverage()
    assert shares.eqn_line == shares.stablehlo_eqn == 1.0 and shares.hlo_eqn is None
    assert [level.name for level in program.levels] == ["source", "jaxpr", "stablehlo"]
    assert "tanh" in render_program(program, level="stablehlo") and "tanh" in render_html(program, line="staged")


def test_inputs_of_which_it_is_not_known_whether_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking(monkeypatch, "kept_inputs", "_lowering")
    program = staged(CELL, SETUP)
    with pytest.warns(
        UserWarning, match=r"jax [\d.]+ has no Lowered\._lowering: it is not known which inputs are used"
    ):
        assert program.coverage().hlo_eqn == 1.0
    check_program(program)


def test_equations_that_cannot_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cell runs, and everything is shown; what cannot be told is which equation an operation comes from."""
    lacking(monkeypatch, "named_eqn", "replace")
    namespace = {"__name__": "__main__"}
    exec(SETUP, namespace)
    with pytest.warns(UserWarning, match=r"jax [\d.]+ has no JaxprEqn\.replace: what is lowered is not linked"):
        program = new_session().stage(CELL, namespace, StageOptions()).program
        shares = program.coverage()
    assert namespace["z"] == pytest.approx(float((np.tanh(namespace["x"]) @ namespace["x"].T).sum()), rel=1e-5)
    assert shares.eqn_line == 1.0
    assert [level.name for level in program.levels] == list(program.level_names)
    assert {"tanh", "dot_general"} <= {op.name for op in program.ops("stablehlo")}
    check_program(program)


def test_traced_programs_that_cannot_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bare:
        """A `Traced` of which nothing private is known."""

        def __init__(self, whole: object) -> None:
            self.whole = whole

        def lower(self, **options: object) -> object:
            return self.whole.lower(**options)

    function = _jax.with_jaxpr
    monkeypatch.setattr(_jax, "with_jaxpr", lambda traced, jaxpr: function(Bare(traced), jaxpr))
    with pytest.warns(UserWarning, match=r"has no Bare\._params: what is lowered is not linked to its equations"):
        program = staged(CELL, SETUP)
        program.coverage()
    assert {"tanh", "dot_general"} <= {op.name for op in program.ops("stablehlo")}
    check_program(program)


def test_inputs_of_which_it_is_not_known_how_they_are_spread() -> None:
    traced = jax.jit(jnp.sin).trace(jnp.ones(3))
    with pytest.warns(UserWarning, match="has no Traced._meta_tys_flat: it is not known how inputs are spread"):
        assert _jax.input_shardings(Without(traced, "_meta_tys_flat")) == []
