"""What is said of cells that are traced for all sizes: where they cannot be, what does not fit, and the views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import jaxnb
from jaxnb.api import new_session, open_session
from jaxnb.errors import JaxnbError, Refused
from jaxnb.options import StageOptions
from jaxnb.program import decode, encode, finding_of
from jaxnb.staging import use_session

X = {"x": "b, 12"}
MULTIPLE = ("mod(b, 8) == 0",)


@pytest.fixture(autouse=True)
def session() -> Iterator[None]:
    use_session(new_session())
    yield


def data(b: int = 16) -> dict[str, Any]:
    x = jnp.arange(b * 12.0).reshape(b, 12)
    return {"jax": jax, "jnp": jnp, "np": np, "x": x, "y": x[:, 0], "w": jnp.ones((12, 3)), "n": 3, "d": {"a": x}}


def refused(source: str, shapes: Any = X, where: tuple[str, ...] = (), b: int = 16, **more: Any) -> Exception:
    names = {**data(b), **more}
    before = dict(names)
    with pytest.raises(Exception) as caught:
        jaxnb.stage(source, names, shapes=shapes, where=where)
    assert all(names[name] is item for name, item in before.items())
    assert names.keys() - before.keys() <= {"__builtins__", "__name__"}
    assert isinstance(caught.value, JaxnbError), caught.value
    return caught.value


INPUTS: dict[str, tuple[str, Any, tuple[str, ...], dict[str, Any], list[str]]] = {
    "two sizes": (
        "z = x.sum() + y.sum()",
        {"x": "b, 12", "y": "b"},
        (),
        {"y": jnp.ones(15)},
        ["`b` has two sizes: 16 in dimension 0 of `x`, and 15 in dimension 0 of `y`."],
    ),
    "breaks": ("z = x * 2", X, MULTIPLE, {"x": jnp.ones((12, 12))}, ["b is 12, and that breaks `mod(b, 8) == 0`."]),
    "contradict": ("z = x * 2", X, ("b >= 2", "b <= 1"), {}, ["no size is such that b <= 1.", "say b >= 2."]),
    "unread": ("z = x * 2", {"x": "b, 12", "q": "b"}, (), {}, ["has no input `q`", "it reads x."]),
    "rank": ("z = x * 2", {"x": "b"}, (), {}, ["`x` has 2 dimensions, and 1 size is given."]),
    "fixed": ("z = x * 2", {"x": "b, 13"}, (), {}, ["dimension 1 of `x` has 12, not 13."]),
    "unparsable": ("z = x * 2", {"x": "b, 12+"}, (), {}, ["'12+' is no size."]),
    "no constraint": ("z = x * 2", X, ("b > 3",), {}, ["'b > 3' is no constraint.", "write b >= 4."]),
    "no array": ("z = x * n", {"x": "b, 12", "n": "b"}, (), {}, ["`n` is read, but is no array"]),
    "a float": ("z = x * n", {"x": "b, 12", "n": "b"}, (), {"n": 0.5}, ["`n` is a float, and has no sizes."]),
    "a pytree": ("z = d['a'] * 2", {"d": "b, 12"}, (), {}, ["it holds several: d['a']."]),
    "NumPy": ("z = jnp.sin(x)", X, (), {"x": np.ones((16, 12))}, ["`x` is a NumPy array.", "x = jnp.asarray(x)"]),
    "unknown name": ("z = x * 2", X, ("c >= 1",), {}, ["`c` is no size of any shape.", "the shapes name b."]),
    "no names": ("z = x * 2", {"x": "16, 12"}, (), {}, ["nothing is left open"]),
    "unsolvable": ("z = x * 2", {"x": "b*b, 12"}, (), {}, ["`b` cannot be told from the sizes."]),
    "empty": ("z = x * 2", X, (), {"x": jnp.ones((0, 12))}, ["`b` is 0 in dimension 0 of `x`."]),
    "odd": ("z = x * 2", {"x": "2*b, 12"}, (), {"x": jnp.ones((15, 12))}, ["dimension 0 of `x` has 15", "`2*b` is 14"]),
}


@pytest.mark.parametrize("name", INPUTS)
def test_what_does_not_fit_is_refused_before_anything_is_traced(name: str) -> None:
    source, shapes, where, more, said = INPUTS[name]
    error = refused(source, shapes, where, **more)
    for text in said:
        assert text in str(error)


def test_what_does_not_fit_is_refused_on_later_runs_too() -> None:
    jaxnb.stage("z = x[:, 0] * y", data(16), shapes={"x": "b, 12", "y": "b"}, where=MULTIPLE)
    for size, more, said in ((12, {}, "breaks `mod(b, 8) == 0`"), (8, {"y": jnp.ones(16)}, "`b` has two sizes")):
        with pytest.raises(JaxnbError, match=said.replace("(", r"\(").replace(")", r"\)")):
            jaxnb.stage("z = x[:, 0] * y", {**data(size), **more}, shapes={"x": "b, 12", "y": "b"}, where=MULTIPLE)


TRIED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "a bound": ("n = x.shape[0]\nif n > 4:\n    z = x * 2", (), '--where "b >= 5"'),
    "a bound from above": ("n = x.shape[0]\nif n < 40:\n    z = x * 2", (), '--where "b <= 39"'),
    "one more": ("z = x if x.shape[0] > 11 else w", MULTIPLE, '--where "mod(b, 8) == 0, b >= 12"'),
    "truth": ("z = x if x.shape[0] % 2 else w", (), '--where "mod(b, 2) == 0"'),
    "a slice": ("z = x[:8] + jnp.ones((8, 12))", (), '--where "b >= 8"'),
    "groups": ("z = x.reshape(-1, 8, 12)", (), '--where "mod(b, 8) == 0"'),
    "equal parts": ("a = jnp.array_split(x, 4)", (), '--where "mod(b, 4) == 0"'),
    "halves": ("a = jnp.split(x, 2)", (), '--where "mod(b, 2) == 0"'),
    "the largest": ("v, i = jax.lax.top_k(x[:, 0], 3)", (), '--where "b >= 3"'),
    "steps": ("z = jnp.linspace(0, 1, len(x))[:, None] * x", (), '--where "b >= 2"'),
    "another array": ("z = x[:, 0] + y", (), '--shapes "x: b, 12; y: b"'),
}


@pytest.mark.parametrize("name", TRIED)
def test_what_cannot_be_told_is_answered_with_what_to_say_which_was_tried(name: str) -> None:
    source, where, options = TRIED[name]
    error = refused(source, X, where)
    found = finding_of(error)
    assert found is not None and found[0].fix is not None
    assert found[0].fix.options == options and found[0].fix.verified
    assert f"{options} (tried: it works)" in " ".join("\n".join(error.__notes__).split())
    option, _, text = options.partition(" ")
    given = {"shapes": X, "where": where, option.removeprefix("--"): text.strip('"')}
    assert jaxnb.stage(source, data(), **given).all_sizes == "b"


def test_two_names_for_one_size_are_said_to_be_equal() -> None:
    error = refused("z = x[:, 0] + y", {"x": "b, 12", "y": "c"})
    found = finding_of(error)
    assert found is not None and found[0].fix is not None and found[0].fix.options == '--where "b == c"'


REFUSED: dict[str, tuple[str, list[str]]] = {
    "loop": ("for i in range(x.shape[0]):\n    z = x[i]", ["line 1: the number", "fori_loop"]),
    "rows": ("for row in x:\n    z = row", ["line 1: Python walks over `b` rows."]),
    "math": ("import math\nz = x * math.gamma(x.shape[0])", ["line 2: the number"]),
    "an array of sizes": ("z = x * 2\nn = np.array(x.shape)", ["line 2: `np.array` needs the number"]),
    "rounded": ("z = x[: round(x.shape[0] / 3)]", ["line 1: a number that is computed from a size is needed."]),
    "text": ("s = f'{x.shape[0]} rows'\nz = x * 2", ["line 1: the text of a size is wanted, `b`."]),
    "hash": ("z = x * {16: 2}[x.shape[0]]", ["line 1: the hash of a size is wanted, `b`."]),
    "NumPy": ("z = x * (np.float32(2) * x.shape[0])", ["line 1: NumPy computes with a size"]),
    "caught": ("try:\n    z = [0] * x.shape[0]\nexcept Exception:\n    z = x", ["it catches an error"]),
    "swallowed": ("try:\n    z = str(x.shape[0])\nexcept Exception:\n    z = x", ["line 2: the text of a size"]),
    "two pieces": ("z = x * 2\nprint('now')\nq = z * 2", ["two pieces: Python runs line 2 in between", "--shapes"]),
    "an array each": ("z = x * 2\nprint('now')\nq = y * 2", ["two pieces: Python runs line 2 in between"]),
    "a value": ("z = x * 2\nif z.sum() > 0:\n    q = z", ["line 2"]),
}


WORDS: dict[str, tuple[str, str]] = {
    "np.zeros": ("z = x + np.zeros(x.shape[0])[:, None]", "z = x + jnp.zeros(x.shape[0])[:, None]"),
    "np.arange": ("z = x * np.arange(len(x))[:, None]", "z = x * jnp.arange(len(x))[:, None]"),
    "np.sqrt": ("z = x / np.sqrt(x.shape[0])", "z = x / jnp.sqrt(x.shape[0])"),
    "two of them": (
        "z = np.eye(len(x), dtype=x.dtype) @ x\nq = np.ones(x.shape[0]) @ x",
        "z = jnp.eye(len(x), dtype=x.dtype) @ x\nq = jnp.ones(x.shape[0]) @ x",
    ),
    "both on a line": ("z = x + (np.zeros(len(x)) + np.ones(len(x)))[:, None]", ""),
    "a half": ("z = x[: int(x.shape[0] * 0.5)]", "z = x[: (x.shape[0] // 2)]"),
    "rounded up": ("import math\nz = x[: math.ceil(len(x) / 4)]", "z = x[: (-(-len(x) // 4))]"),
    "int": ("n = int(x.shape[0])\nz = x / n", "n = (x.shape[0])"),
    "float": ("n = float(x.shape[0])\nz = x / n", "n = (x.shape[0] * 1.0)"),
    "prod": ("z = np.prod(x.shape) / 2", "z = x.size / 2"),
    "a list": ("z = jnp.array([1.0] * len(x))", "z = jnp.full(len(x), 1.0)"),
    "a scan": ("z = jax.lax.associative_scan(jnp.maximum, x)", "z = jax.lax.cummax(x, axis=0)"),
    "rows in an order": (
        "z = jax.random.permutation(key, x)", "z = x[jnp.argsort(jax.random.uniform(key, (len(x),)))]",
    ),
    "an order": (
        "z = x[jax.random.permutation(key, len(x))]", "z = x[jnp.argsort(jax.random.uniform(key, (len(x),)))]",
    ),
    "chosen": ("i = jax.random.choice(key, len(x), (4,))", "i = jax.random.randint(key, (4,), 0, len(x))"),
    "squeezed": ("z = jnp.squeeze(x[None])", "z = jnp.squeeze(x[None], 0)"),
    "a grid": (
        "z = jnp.indices((len(x), 2))",
        'z = jnp.stack(jnp.meshgrid(jnp.arange(len(x)), jnp.arange(2), indexing="ij"))',
    ),
    "in a function": (
        "def mean(v):\n    return v.sum(0) / np.sqrt(len(v))\nz = mean(x)", "    return v.sum(0) / jnp.sqrt(len(v))",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_what_needs_the_number_is_answered_with_other_words_that_were_tried(name: str) -> None:
    source, wanted = WORDS[name]
    more: dict[str, Any] = {"key": jax.random.key(0)}
    error = refused(source, **more)
    found = finding_of(error)
    assert isinstance(error, Refused) and found is not None and found[0].fix is not None and found[0].fix.verified
    assert str(error).startswith("line ") and found[0].fix.edit is not None
    line, old, new = found[0].fix.edit
    assert not wanted or new == wanted
    lines = source.split("\n")
    assert "\n".join(lines[line - 1 : line + old.count("\n")]) == old
    edited = "\n".join([*lines[: line - 1], new, *lines[line + old.count("\n") :]])
    order = "permutation" in source
    for size in (16, 8):
        plain, staged = data(size) | more, data(size) | more
        exec(compile(source, "<plain>", "exec"), plain)
        assert jaxnb.stage(edited, staged, shapes=X).sizes == f"b={size}"
        for bound in {"z", "i", "q"} & plain.keys():
            a, b = np.asarray(plain[bound]), np.asarray(staged[bound])
            assert a.shape == b.shape
            np.testing.assert_allclose(np.sort(a, 0) if order else a, np.sort(b, 0) if order else b, rtol=1e-6)


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_the_number_is_refused_with_its_line(name: str) -> None:
    source, said = REFUSED[name]
    error = refused(source)
    for text in said:
        assert text in str(error)
    assert "--whole" not in str(error)


def test_an_array_that_changes_with_a_size_and_has_no_name_for_it_is_told() -> None:
    source = "z = x * 2\nq = y.sum()"
    jaxnb.stage(source, data(16), shapes=X)
    run = jaxnb.stage(source, data(8), shapes=X)
    assert not run.reused and '! a size that changes has no name yet: --shapes "y: b"' in str(run)
    other = jaxnb.stage(source, {**data(8), "y": jnp.ones(3)}, shapes=X)
    assert not other.reused and "no name yet" not in str(other)


def test_options_that_contradict_it_are_refused() -> None:
    for options in ({"roll": True}, {"unroll": True}):
        with pytest.raises(JaxnbError, match="do not go together"):
            jaxnb.stage("z = x * 2", data(), shapes=X, **options)
    with pytest.raises(JaxnbError, match="nothing is left open|has a name for one"):
        jaxnb.stage("z = x * 2", data(), where="b >= 2")


def fails(seen: list[int]) -> None:
    seen.append(1)
    raise RuntimeError("mine")


def test_an_error_of_the_cell_itself_stays_what_it_is() -> None:
    with pytest.raises(TypeError, match="dot_general"):
        jaxnb.stage("z = x @ jnp.ones((5, 5))", data(), shapes=X)
    seen = list[int]()
    with pytest.raises(RuntimeError, match="mine"):
        jaxnb.stage("note(x)\nz = x * 2", {**data(), "note": lambda x: fails(seen)}, shapes=X)
    assert len(seen) <= 2
    with pytest.raises(ZeroDivisionError):
        jaxnb.stage("z = x * 2\nq = 1 / (x.ndim - 2)", data(), shapes=X)


# --- what is shown ---

CELL = "h = jnp.tanh(x @ w)\ng = h.reshape(x.shape[0] // 8, 8, 3)\nloss = jnp.mean(g)\n"


def test_levels_say_sizes_by_their_names_and_costs_are_those_of_the_run() -> None:
    run = jaxnb.stage(CELL, data(), shapes=X, where=MULTIPLE)
    jaxpr, stablehlo, hlo = (run.program.level(name) for name in ("jaxpr", "stablehlo", "hlo"))
    for level in (jaxpr, stablehlo):
        avals = [str(level.values[index].aval) for index in level.computations[0].inputs]
        assert avals == ["float32[12,3]", "float32[b,12]"]
        made = {str(level.values[index].aval) for op in level.ops() for index in op.outputs}
        assert {"float32[b,3]", "float32[floordiv(b, 8),8,3]"} <= made and "float32[16,3]" not in made
    assert "float32[16,12]" in {str(value.aval) for value in hlo.values}
    dot = next(op for op in jaxpr.ops() if op.name == "dot_general")
    assert dot.flops == 2 * 16 * 12 * 3 - 16 * 3 or dot.flops == 2 * 16 * 12 * 3
    assert "f32[b,3]" in run.program.text() and "f32[b,3]" in run.program.text("stablehlo")
    assert run.program.memory()[0].held and run.memory and run.flops


def test_programs_of_two_sizes_are_the_same_but_for_what_they_cost() -> None:
    one = jaxnb.stage(CELL, data(16), shapes=X, where=MULTIPLE).program
    other = jaxnb.stage(CELL, data(8), shapes=X, where=MULTIPLE).program
    told = str(other.diff(one))
    assert "the same jaxpr, op by op" in told and "1.2 kflops → 600 flops" in told
    assert one.text() == other.text()


def test_a_program_is_saved_and_reopened(tmp_path: Any) -> None:
    run = jaxnb.stage(CELL, data(), shapes=X, where=MULTIPLE)
    run.program.level("hlo")
    again = decode(encode(run.program))
    for level in ("jaxpr", "stablehlo", "hlo"):
        assert again.text(level) == run.program.text(level)
    assert again.findings == run.program.findings and "b,12" in again._repr_mimebundle_()["text/html"]
    assert again.costs() == run.program.costs()
    run.to_html(tmp_path / "run.html")
    assert "b,12" in (tmp_path / "run.html").read_text("utf-8")
    assert "jax.jit" in run.to_source() and str(run.graph("jaxpr"))


def test_which_constraint_was_needed_on_which_line_is_a_fact() -> None:
    run = jaxnb.stage("z = x[:8]\ng = x.reshape(x.shape[0] // 8, 96)\nn = x * 2\n", data(), shapes=X, where=MULTIPLE)
    facts = [(one.line, one.message) for one in run.program.findings if one.kind == "sizes"]
    assert facts == [
        (1, "`mod(b, 8) == 0` was needed to tell how b compares to 8"),
        (2, "`mod(b, 8) == 0` was needed to tell what floordiv(b, 8) is"),
    ]
    assert all(one.folded for one in run.program.findings) and "needed" not in str(run)
    assert "line 2 · `mod(b, 8) == 0` was needed" in run.program.text(width=100)
    assert "was needed" in run.program._repr_mimebundle_()["text/html"]
    bounds = jaxnb.stage("z = x[:8]", data(), shapes=X, where=("b >= 8", "b <= 64"))
    assert [one.message for one in bounds.findings] == ["`b >= 8` was needed to tell how b compares to 8"]


def test_a_cell_that_is_only_looked_at_has_names_for_sizes_too() -> None:
    options = StageOptions.of({"shapes": "x: b, 12", "where": "b >= 8"})
    run = open_session().trace_only("z = x[:8] @ w + jnp.mean(x)", data(), options)
    text = run.program.text()
    assert "f32[b,12]" in text and "f32[8,3]" in text and [one.line for one in run.findings] == [1]
    assert "f32[b,12]" in run.program.text("stablehlo")
    with pytest.raises(JaxnbError, match="whether b > 4 cannot be told"):
        open_session().trace_only("z = x if x.shape[0] > 4 else w", data(), StageOptions.of({"shapes": X}))


def test_a_function_is_looked_at_for_shapes_with_names() -> None:
    x = jax.ShapeDtypeStruct(export.symbolic_shape("b, 12"), jnp.float32)
    program = jaxnb.inspect(lambda x, w: jnp.mean(jnp.tanh(x @ w)))(x, jnp.ones((12, 3)))
    assert "f32[b,12]" in program.text() and "?" in program.text(columns=["flops", "bytes"])
    assert "flops not known of: dot_general" in " ".join(program.costs().split())
    again = decode(encode(program))
    assert again.text() == program.text() and program.memory()[0].note
    assert program.level("stablehlo").values and str(program.diff(again))


def test_the_twins_take_the_same() -> None:
    for shapes in (X, "x: b, 12", {"x": ("b", 12)}, (("x", "b, 12"),)):
        for where in ("b >= 1, mod(b, 8) == 0", ["b >= 1", "mod(b, 8) == 0"]):
            assert jaxnb.stage("z = x * 2", data(), shapes=shapes, where=where).sizes == "b=16"
    run = jaxnb.grad_cell("loss = jnp.mean(x @ w)", data(), "loss", "w", shapes=X)
    assert run.all_sizes == "b" and run.outputs["d_w"].shape == (12, 3)


def test_gradients_and_policies_of_a_cell_for_all_sizes_are_those_of_its_sizes(tmp_path: Any) -> None:
    cell = "h = jnp.tanh(x @ w)\nloss = jnp.mean(h ** 2)"
    ns: dict[str, Any] = {"jnp": jnp, "w": jnp.full((4, 3), 0.1), "x": jnp.ones((8, 4))}
    run = jaxnb.grad_cell(cell, ns, "loss", "w", shapes={"x": "b, 4"})
    assert "f32[8,3]" in str(run.gradients()) and run.remat().now.peak == run.memory
    run.export(str(tmp_path / "f.jaxexport"))
    assert jaxnb.load(tmp_path / "f.jaxexport")(w=ns["w"], x=jnp.ones((3, 4))).d_w.shape == (4, 3)
