"""An exported cell, loaded, gives what the cell bound, for what the cell read and for other values."""

from __future__ import annotations

import functools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cells_to_export import CELLS, FLOATS, Pair, export, unchecked  # pyright: ignore

import jaxnb
from jaxnb.exported import Loaded, decode_signature, encode_signature

pytestmark = pytest.mark.usefixtures("unchecked")


def data_of(names: dict[str, Any], loaded: Loaded) -> dict[str, Any]:
    return {name: names[name] for name in loaded.signature.names}


def assert_equal(got: Any, wanted: Any) -> None:
    """The same structure of the same arrays: values, dtypes, weak types."""
    if isinstance(wanted, tuple | list):
        assert isinstance(got, type(wanted)) or hasattr(wanted, "_fields")
        assert len(got) == len(wanted) and getattr(got, "_fields", None) == getattr(wanted, "_fields", None)
        for one, other in zip(got, wanted, strict=True):
            assert_equal(one, other)
    elif isinstance(wanted, dict):
        assert list(got) == list(wanted)
        for key in wanted:
            assert_equal(got[key], wanted[key])
    elif isinstance(wanted, jax.Array):
        assert isinstance(got, jax.Array) and jax.typeof(got) == jax.typeof(wanted)
        both = [jax.random.key_data(one) if "key" in str(one.dtype) else one for one in (got, wanted)]
        assert np.array_equal(*both)
    else:
        assert type(got) is type(wanted) and got == wanted


@pytest.mark.parametrize("name", CELLS)
def test_it_gives_what_the_cell_binds(name: str, tmp_path: Path) -> None:
    source, make = CELLS[name]
    names = make()
    run, loaded = export(source, dict(names), tmp_path / "cell.jaxexport")
    results = loaded(**data_of(make(), loaded))
    for bound, value in results.items():
        if bound in run.outputs:
            assert_equal(value, run.outputs[bound])
    assert {*results} >= {bound for bound, value in run.outputs.items() if isinstance(value, jax.Array)}
    if run.value is not None:
        assert_equal(results.value, run.value)
    by_position = loaded(*data_of(make(), loaded).values())
    assert list(by_position) == list(results)
    for bound in results:
        assert_equal(by_position[bound], results[bound])
    told = encode_signature(loaded.signature)
    assert decode_signature(told) == loaded.signature and str(loaded.signature) == repr(loaded.signature)


def test_it_computes_for_other_values(tmp_path: Path) -> None:
    _, loaded = export("y = x * rate + n\ny", {"x": FLOATS, "rate": 0.1, "n": 3}, tmp_path / "f", dynamic="n")
    assert loaded(x=jnp.ones(3), rate=0.5, n=4).y.tolist() == [4.5] * 3
    assert loaded(np.ones(3, np.float32), np.float32(0.5), np.int32(4)).value.tolist() == [4.5] * 3
    assert loaded(np.ones(3), 1, jnp.asarray(4)).y.tolist() == [5.0] * 3


def test_names_that_are_in_place_are_given_as_new_ones(tmp_path: Path) -> None:
    params = {"w": FLOATS}
    _, loaded = export(
        "params['w'] = params['w'] + 1\nparams['v'] = x", {"params": params, "x": FLOATS}, tmp_path / "f"
    )
    given = {"w": jnp.zeros(3)}
    assert loaded(params=given, x=FLOATS).params["w"].tolist() == [1, 1, 1] and given["w"].tolist() == [0, 0, 0]
    assert str(dict(loaded.signature.inputs)["params"].keys) == "('w',)"


def test_numbers_that_are_alike_are_told_apart(tmp_path: Path) -> None:
    """Python has one object for all small ints that are alike."""
    source = "k = 3\ndef f(v):\n    d['m'] += 1\n    return v * n\ny = f(x)\nd['w'] = y"
    names = {"x": FLOATS, "n": 3, "d": {"m": 3, "n": 3, "w": FLOATS}}
    _, loaded = export(source, names, tmp_path / "f", dynamic="n")
    results = loaded(**{**names, "x": FLOATS, "n": 5, "d": {"m": 3, "n": 3, "w": FLOATS}})
    assert results.k == 3 and results.y.tolist() == [0, 5, 10]
    assert results.d["m"] == 4 and results.d["n"] == 3 and results.d["w"].tolist() == [0, 5, 10]


def test_functions_in_containers_are_left_out_of_them(tmp_path: Path) -> None:
    source = "found = {'y': x * 2, 'f': lambda v: v}\nfs = [jnp.sin, jnp.cos]"
    _, loaded = export(source, {"x": FLOATS}, tmp_path / "f")
    assert repr(loaded(FLOATS).found["f"]) == "<left out: function <lambda>>" and list(loaded(FLOATS)) == ["found"]
    assert "left out: fs, an object of list" in str(loaded.signature)


def test_a_name_that_was_not_bound_on_the_way_is_given_as_it_was(tmp_path: Path) -> None:
    source = "if n > 5:\n    v = v * 2\ny = v + 1"
    _, loaded = export(source, {"v": FLOATS, "n": 3}, tmp_path / "f")
    results = loaded(v=jnp.ones(3))
    assert results.v.tolist() == [1, 1, 1] and results.y.tolist() == [2, 2, 2]


def test_names_that_are_deleted_are_not_given(tmp_path: Path) -> None:
    _, loaded = export("t = x * 2\ny = t + 1\ndel t", {"x": FLOATS}, tmp_path / "f")
    assert list(loaded(FLOATS)) == ["y"]


def test_a_list_that_grows_is_given_only_where_it_was_empty(tmp_path: Path) -> None:
    _, loaded = export("y = x * 2\nseen.append(y)", {"x": FLOATS, "seen": []}, tmp_path / "f")
    assert [one.tolist() for one in loaded(jnp.ones(3)).seen] == [[2, 2, 2]]
    with pytest.raises(jaxnb.Refused, match="`seen` holds arrays that the program neither reads nor makes"):
        export("y = x * 2\nseen.append(y)", {"x": FLOATS, "seen": [FLOATS + 1]}, tmp_path / "f")


def test_counters_of_python_are_counted_in_the_program(tmp_path: Path) -> None:
    names = {"x": FLOATS, "state": {"step": 1}, "jnp": jnp, "jax": jax}
    source = "def f(v):\n    state['step'] += 1\n    return v / (1 - 0.9 ** state['step'])\ny = f(x)"
    for _ in range(4):
        run = jaxnb.stage(source, names, export=str(tmp_path / "f"))
    loaded = jaxnb.load(tmp_path / "f")
    assert "int" in str(loaded.signature) and run.pieces == 1
    for step in (3, 10, 1000):
        plain = {"x": FLOATS, "state": {"step": step}}
        results = loaded(**{name: plain[name] for name in loaded.signature.names})
        exec(source, plain)
        assert results.state == {"step": step + 1} and np.array_equal(results.y, plain["y"])


def test_a_gradient_is_exported_too(tmp_path: Path) -> None:
    run, loaded = export("loss = (x ** 2).sum()", {"x": FLOATS}, tmp_path / "f", loss="loss", wrt="x")
    assert_equal(loaded(x=FLOATS).d_x, run.outputs["d_x"])


def test_only_what_is_kept_is_given(tmp_path: Path) -> None:
    _, loaded = export("y = x + 1\nz = y * 2", {"x": FLOATS}, tmp_path / "f", keep="z")
    assert list(loaded(FLOATS)) == ["z"] and loaded(FLOATS).value.tolist() == [2, 4, 6]


def test_what_objects_and_functions_hold_is_part_of_the_program(tmp_path: Path) -> None:
    config = SimpleNamespace(rate=0.5, steps=3)
    names = {"x": FLOATS, "config": config, "scale": functools.partial(jnp.multiply, jnp.full(3, 2.0))}
    _, loaded = export("y = scale(x) * config.rate + config.steps", names, tmp_path / "f")
    assert loaded.signature.names == ("x",) and loaded(FLOATS).y.tolist() == [3, 4, 5]
    assert "static: config.steps = 3" in str(loaded.signature) and "static: config.rate = 0.5" in str(loaded.signature)
    assert "part of the program: scale.args[0] float32[3]" in str(loaded.signature)


def test_a_step_of_a_library_is_exported_with_its_state(tmp_path: Path) -> None:
    optax = pytest.importorskip("optax")
    optimizer = optax.adam(0.1)
    params = {"w": FLOATS, "b": jnp.zeros(())}
    names = {"params": params, "state": optimizer.init(params), "optimizer": optimizer, "optax": optax, "x": FLOATS}
    source = (
        "loss, grads = jax.value_and_grad(lambda p: ((p['w'] * x + p['b']) ** 2).sum())(params)\n"
        "updates, state = optimizer.update(grads, state, params)\nparams = optax.apply_updates(params, updates)"
    )
    run, loaded = export(source, dict(names), tmp_path / "f", keep=("params", "state", "loss"))
    results = loaded(**data_of(names, loaded))
    for name in ("params", "loss"):
        assert_equal(results[name], run.outputs[name])
    states = zip(jax.tree.leaves(results.state), jax.tree.leaves(run.outputs["state"]), strict=True)
    assert all((one == other).all() for one, other in states)
    again = loaded(params=results.params, state=results.state, x=FLOATS)
    assert int(again.state[0].count) == 2 and type(again.state[0]).__name__ == "ScaleByAdamState"


def test_functions_and_modules_are_left_out_and_told(tmp_path: Path) -> None:
    source = "import math\ndef f(v):\n    return v + 1\ny = f(x)"
    _, loaded = export(source, {"x": FLOATS}, tmp_path / "f")
    assert list(loaded(FLOATS)) == ["y"] and "left out: f, function f" in str(loaded.signature)


def test_the_file_is_written_also_when_nothing_is_traced(tmp_path: Path) -> None:
    names = {"x": FLOATS, "jnp": jnp}
    jaxnb.stage("y = jnp.sin(x)", names)
    run = jaxnb.stage("y = jnp.sin(x)", names, export=str(tmp_path / "f"))
    assert run.reused and f"exported {tmp_path / 'f'}" in run.line
    assert_equal(jaxnb.load(tmp_path / "f")(FLOATS).y, jnp.sin(FLOATS))


def test_a_run_is_exported_afterwards(tmp_path: Path) -> None:
    names = {"x": FLOATS, "jnp": jnp}
    run = jaxnb.stage("y = jnp.sin(x)\nx = x + 1", names)
    run.export(tmp_path / "f")
    assert_equal(jaxnb.load(tmp_path / "f")(FLOATS).y, run.outputs["y"])
    names["x"] = jnp.ones(7)
    with pytest.raises(jaxnb.JaxnbError, match="no longer as it was"):
        run.export(tmp_path / "g")
    assert not (tmp_path / "g").exists()


def test_64_bits_are_kept_where_they_are_not_enabled(tmp_path: Path) -> None:
    with jax.enable_x64(True):
        x = jnp.arange(3.0)
        run, loaded = export("y = x / 3\nn = jnp.arange(3)", {"x": x}, tmp_path / "f")
        wanted = {name: np.asarray(run.outputs[name]) for name in ("y", "n")}
    assert loaded.signature.x64 and "float64[3]" in str(loaded.signature)
    results = loaded(np.arange(3.0))
    assert results.y.dtype == "float64" and np.array_equal(results.y, wanted["y"]) and results.n.dtype == "int64"
    with pytest.raises(jaxnb.BadInput, match=r"`x` is float32\[3\], and the program takes float64\[3\]"):
        loaded(jnp.arange(3.0))


def test_32_bits_stay_32_where_64_are_enabled(tmp_path: Path) -> None:
    _, loaded = export("y = x * lr", {"x": FLOATS, "lr": 0.5}, tmp_path / "f")
    with jax.enable_x64(True):
        assert loaded(np.ones(3, np.float32), 0.5).y.dtype == "float32"


def test_donated_inputs_are_kept_and_told(tmp_path: Path) -> None:
    _, loaded = export("w = w * 2", {"w": jnp.ones(3)}, tmp_path / "f", donate="w")
    assert "the cell donated w; the loaded program keeps what it is given" in str(loaded.signature)
    w = jnp.ones(3)
    assert loaded(w=w).w.tolist() == [2, 2, 2] and not w.is_deleted()


def test_it_stands_under_jit(tmp_path: Path) -> None:
    _, loaded = export("y = x * lr\ny", {"x": FLOATS, "lr": 0.5}, tmp_path / "f")
    assert jax.jit(lambda x: loaded(x, 2.0).y + 1)(FLOATS).tolist() == [1, 3, 5]
    assert jax.jit(lambda x, lr: loaded(x, lr=lr))(FLOATS, 0.5)["y"].tolist() == [0, 0.5, 1]


def test_several_platforms(tmp_path: Path) -> None:
    _, loaded = export("y = jnp.sin(x)", {"x": FLOATS}, tmp_path / "f", platforms=("cpu", "tpu", "cuda"))
    assert loaded.provenance.platforms == ("cpu", "tpu", "cuda")
    assert np.allclose(loaded(FLOATS).y, np.sin(FLOATS))
    _, elsewhere = export("y = jnp.sin(x)", {"x": FLOATS}, tmp_path / "f", platforms="tpu")
    with pytest.raises(
        jaxnb.JaxnbError, match=r"the program is for tpu, and JAX runs on cpu[\s\S]*--platforms tpu, cpu"
    ):
        elsewhere(FLOATS)
    with pytest.raises(jaxnb.JaxnbError, match="platforms go with export"):
        jaxnb.stage("y = 1", {}, platforms="cpu")


def test_where_it_comes_from(tmp_path: Path) -> None:
    _, loaded = export("y = x + 1", {"x": FLOATS}, tmp_path / "f")
    found = loaded.provenance
    assert (
        found.source == loaded.source == loaded.program.source == "y = x + 1"
        and found.versions["jax"] == jax.__version__
    )
    assert len(found.sha256) == 64 and found.created.endswith("Z") and "jaxnb" in str(found)
    assert str(tmp_path) not in str(found)


def test_it_shows_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"x": FLOATS, "n": 3, "tree": {"w": (FLOATS, None), "<q>": jnp.zeros((2, 2))}}
    _, loaded = export("y = x * n + tree['w'][0]\ny", names, tmp_path / "f")
    assert repr(loaded).startswith("<jaxnb.Loaded (x, tree) -> y, value · cpu · source ")
    assert str(loaded.signature).splitlines() == [
        "(x, tree) -> y, value",
        "takes x    float32[3]",
        "      tree {'w': (float32[3], None), '<q>': float32[2,2]}",
        "gives y     float32[3]",
        "      value float32[3]",
        "static: n = 3",
    ]
    bundle = loaded._repr_mimebundle_()
    assert "y = x * n + tree['w'][0]" in bundle["text/plain"] and "mul" in bundle["text/plain"]
    assert "&lt;q&gt;" in bundle["text/html"] and "<q>" not in bundle["text/html"]
    loaded.show("stablehlo")
    assert "multiply" in capsys.readouterr().out and "stablehlo.multiply" in loaded.stablehlo
    assert loaded.program.level_names[:3] == ("source", "jaxpr", "stablehlo")
    assert "y = " in repr(loaded(FLOATS, names["tree"]))


def test_long_structures_take_several_lines(tmp_path: Path) -> None:
    names = {"params": {f"layer{n}": {"kernel": FLOATS, "bias": FLOATS} for n in range(4)}}
    _, loaded = export("y = params['layer0']['kernel'] + 1", names, tmp_path / "f")
    assert "         'layer1': {'kernel': float32[3], 'bias': float32[3]},\n" in str(loaded.signature)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "missing": ({"x": FLOATS}, "`tree` is missing"),
    "unknown": ({"z": 1}, "there is no input `z`"),
    "static": ({"n": 4}, "`n` is no input.\n  Why: it is part of the program: n = 3"),
    "a shape": ({"x": jnp.ones(4)}, r"`x` is float32\[4\], and the program takes float32\[3\]"),
    "a dtype": ({"x": jnp.arange(3)}, r"`x` is int32\[3\], and the program takes float32\[3\]"),
    "a list": ({"x": [1.0, 2.0, 3.0]}, r"`x` is a list, .*[\s\S]*jnp.asarray"),
    "a number": ({"x": 1.0}, "`x` is 1.0, and the program takes"),
    "a text": ({"x": "abc"}, "`x` is 'abc', and"),
    "none": ({"x": None}, "`x` is None, and"),
    "a key of a dict": ({"tree": {"v": FLOATS}}, "`tree` lacks 'w', 'k' and has 'v' besides"),
    "no dict": ({"tree": [FLOATS]}, "`tree` is a list, and the program takes a dict"),
    "a length": (
        {"tree": {"w": (FLOATS,), "k": Pair(FLOATS, 2)}},
        r"`tree\['w'\]` has 1 items, and the program takes 2",
    ),
    "a list for a tuple": ({"tree": {"w": [FLOATS, None], "k": Pair(FLOATS, 2)}}, r"`tree\['w'\]` is a list"),
    "no named tuple": ({"tree": {"w": (FLOATS, None), "k": (FLOATS, 2)}}, r"takes a Pair\(left, right\)"),
    "no none": ({"tree": {"w": (FLOATS, FLOATS), "k": Pair(FLOATS, 2)}}, r"`tree\['w'\]\[1\]` is float32\[3\], and"),
    "another value": ({"tree": {"w": (FLOATS, None), "k": Pair(FLOATS, 3)}}, r"`tree\['k'\].right` is 3, and .* for 2"),
    "a leaf": ({"tree": {"w": (FLOATS, None), "k": Pair(FLOATS[:1], 2)}}, r"`tree\['k'\].left` is float32\[1\]"),
    "a float for an int": ({"i": 1.5}, "`i` is 1.5, and the program takes int"),
    "too large": ({"i": 2**70}, "`i` is 1180591620717411303424"),
    "a raw key": ({"key": jax.random.key_data(jax.random.key(0))}, r"takes key<fry>\[\][\s\S]*wrap_key_data"),
    "another key": ({"key": jax.random.key(0, impl="rbg")}, "`key` is key<rbg>"),
    "no key": ({"key": 7}, "`key` is 7, and the program takes key<fry>"),
}


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    names = {
        "x": FLOATS, "tree": {"w": (FLOATS, None), "k": Pair(FLOATS, 2)}, "i": 5, "key": jax.random.key(0), "n": 3,
    }  # fmt: skip
    path = tmp_path_factory.mktemp("strict") / "f"
    source = "y = x * n + tree['w'][0] + i + jax.random.uniform(key, (3,)) + tree['k'].left"
    jaxnb.stage(source, {"jnp": jnp, "jax": jax} | names, export=str(path), dynamic="i")
    return path, {name: value for name, value in names.items() if name != "n"}


@pytest.mark.parametrize("kind", BAD)
def test_what_does_not_fit_is_told_by_name(kind: str, strict: tuple[Path, dict[str, Any]]) -> None:
    path, names = strict
    loaded, (changed, message) = jaxnb.load(path), BAD[kind]
    loaded(**names)
    given = {"x": FLOATS} if kind == "missing" else names | changed
    with pytest.raises(jaxnb.BadInput, match=message):
        loaded(**given)


def test_what_is_given_twice_or_too_much_is_told(strict: tuple[Path, dict[str, Any]]) -> None:
    loaded = jaxnb.load(strict[0])
    with pytest.raises(jaxnb.BadInput, match="`x` was given twice"):
        loaded(FLOATS, x=FLOATS)
    with pytest.raises(jaxnb.BadInput, match="9 inputs were given by position, and there are 4"):
        loaded(*range(9))
    gone = jnp.ones(3)
    gone.delete()
    with pytest.raises(jaxnb.BadInput, match="`x` was deleted"):
        loaded(**(strict[1] | {"x": gone}))


def test_arrays_that_were_one_must_be_one(tmp_path: Path) -> None:
    _, loaded = export(*CELLS["one array twice"][:1], CELLS["one array twice"][1](), tmp_path / "f")
    assert loaded(a=FLOATS, b={"c": FLOATS + 0}).y.tolist() == [0, 4, 8]
    with pytest.raises(jaxnb.BadInput, match=r"`a` and `b\['c'\]` differ"):
        loaded(a=FLOATS, b={"c": FLOATS + 1})


def test_results_say_what_there_is(tmp_path: Path) -> None:
    _, loaded = export("y = x + 1\nz = x", {"x": FLOATS}, tmp_path / "f")
    results = loaded(FLOATS)
    assert dict(results).keys() == {"y", "z"} and "y" in dir(results) and len(results) == 2
    with pytest.raises(AttributeError, match="the cell gives no 'q': y, z"):
        _ = results.q
    with pytest.raises(KeyError, match="the cell gives y, z"):
        results["q"]
    with pytest.raises(jaxnb.JaxnbError, match="shows no value, and binds y, z"):
        _ = results.value
