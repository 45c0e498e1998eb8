"""A cell that is traced for all sizes is one file for all of them: called with any that fits, it gives what the plain
cell gives, and what does not fit is told by name."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cells_to_export import unchecked  # pyright: ignore
from drawing import DEEP, drawn_seed
from test_exported_files import changed  # pyright: ignore
from test_symbolic_shapes import CELLS, WHERE, data, same  # pyright: ignore

import jaxnb
from jaxnb.api import new_session
from jaxnb.exported import BadFile, Loaded, decode_signature, encode_signature, loaded
from jaxnb.exported.container import pack, unpack
from jaxnb.staging import use_session

__all__ = ["unchecked"]

X = {"x": "b, 12"}
SIZES = (16, 8, 24)
SAMPLED = [name for name in CELLS if name != "said"][0 if DEEP else drawn_seed() % 3 :: 1 if DEEP else 3]


@pytest.fixture(autouse=True)
def session() -> None:
    use_session(new_session())


def written(source: str, path: Path, shapes: Any = X, where: Any = (), b: int = 16, **options: Any) -> Loaded:
    """What is loaded from the file that a cell wrote in a run."""
    names = data(b) | options.pop("more", {})
    jaxnb.stage(source, names, shapes=shapes, where=where, export=str(path), **options)
    return jaxnb.load(path)


def assert_like_the_plain_cell(source: str, found: Loaded, sizes: Any = SIZES, given: tuple[str, ...] = ()) -> None:
    for size in sizes:
        plain = data(size)
        results = found(**{name: plain[name] for name in found.signature.names})
        exec(compile(source, "<plain>", "exec"), plain)
        assert results and {*given} <= {*results}
        for name in set(results) - {"kind", "kinds"}:  # of which a file leaves the classes out
            wanted = int(plain[name]) if isinstance(plain[name], np.int64) else plain[name]  # numbers are Python's
            same(results[name], wanted)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", SAMPLED)
def test_one_file_gives_at_each_size_what_the_plain_cell_gives(name: str, tmp_path: Path) -> None:
    source, shapes = CELLS[name]
    found = written(source, tmp_path / "f", shapes, WHERE if "b" in "".join(shapes.values()) else ())
    assert_like_the_plain_cell(source, found)
    assert decode_signature(encode_signature(found.signature)) == found.signature


NUMBERS = "n, half = x.shape[0], x.shape[0] / 2\nz = x * half\nseen.append(n)\nshape = x[:, :3].shape\nz"


def test_the_signature_and_the_levels_say_sizes_by_their_names(tmp_path: Path) -> None:
    found = written(NUMBERS, tmp_path / "f", where=WHERE)
    text = str(found.signature)
    assert "takes x float32[b,12]" in text and "for all b where b >= 1, mod(b, 8) == 0" in text
    assert "n     b\n" in text and "shape (b, 3)" in text and "half  float" in text
    assert "float32[b,12]" in found.program.text() or "f32[b,12]" in found.program.text()
    assert "f32[b,12]" in found.program.text("stablehlo") and "tensor<?x12xf32>" in found.stablehlo
    results = found(**{"x": data(24)["x"]})
    assert results.n == 24 and results.half == 12.0 and results.seen == [24] and results.shape == (24, 3)
    assert results.value.shape == (24, 12) and type(results.half) is float
    assert jax.jit(lambda x: found(x=x).z.sum())(data(8)["x"]).shape == ()


UNFIT: dict[str, tuple[dict[str, Any], list[str]]] = {
    "two sizes": (
        {"y": jnp.ones(15, jnp.int32)},
        ["`b` has two sizes: 16 in dimension 0 of `x`, and 15 in dimension 0 of `y`"],
    ),
    "broken": (
        {"x": jnp.ones((12, 12)), "y": jnp.ones(12, jnp.int32)},
        ["b is 12, and that breaks `mod(b, 8) == 0`.", "b is 12 here by dimension 0 of `x`"],
    ),
    "empty": ({"x": jnp.ones((0, 12)), "y": jnp.ones(0, jnp.int32)}, ["`b` is 0 in dimension 0 of `x`."]),
    "a number": ({"x": jnp.ones((16, 11))}, ["`x` is float32[16,11], and the program takes float32[b,12]."]),
    "a dimension more": ({"x": jnp.ones((16, 1, 12))}, ["the program takes float32[b,12]."]),
    "asked": (
        {"x": jnp.ones((32, 12)), "y": jnp.ones(32, jnp.int32)},
        ["b is 32, and the program is for sizes of which `b == 32` is False."],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """A cell of two arrays that compares a size."""
    source = "z = x[:, 0] * y\nz = z if len(x) == 32 else z + 1"
    path = tmp_path_factory.mktemp("two") / "f"
    return written(source, path, {"x": "b, 12", "y": "b"}, ("mod(b, 8) == 0",))


@pytest.mark.parametrize("name", UNFIT)
def test_sizes_that_do_not_fit_are_told_by_the_name_of_the_argument(name: str, two: Loaded) -> None:
    more, said = UNFIT[name]
    given = {"x": jnp.ones((16, 12)), "y": jnp.ones(16, jnp.int32), **more}
    with pytest.raises(jaxnb.JaxnbError) as caught:
        two(**given)
    for text in said:
        assert text in str(caught.value)
    assert two(jnp.ones((40, 12)), jnp.ones(40, jnp.int32)).z.tolist() == [2] * 40


def test_sizes_are_expressions_and_may_be_equal(tmp_path: Path) -> None:
    found = written("z = x[:, 0] + y", tmp_path / "f", {"x": "b, 12", "y": "c"}, ("b == c",))
    assert "float32[b,12]" in str(found.signature) and "int32[c]" in str(found.signature)
    assert_like_the_plain_cell("z = x[:, 0] + y", found, (3, 16))
    with pytest.raises(jaxnb.JaxnbError, match="b is 16, c is 8, and that breaks `b == c`"):
        found(x=data(16)["x"], y=data(8)["y"])
    twice = written("z = x[::2]", tmp_path / "g", {"x": "2*b, 12"})
    assert twice(jnp.ones((6, 12))).z.shape == (3, 12)
    with pytest.raises(jaxnb.JaxnbError, match=r"dimension 0 of `x` has 7, where `2\*b` is 6"):
        twice(jnp.ones((7, 12)))


def test_a_run_of_another_size_writes_the_same_program(tmp_path: Path) -> None:
    source = "z = jnp.tanh(x).sum(1)"
    jaxnb.stage(source, data(16), shapes=X)
    found = written(source, tmp_path / "f", b=8)
    assert_like_the_plain_cell(source, found)
    run = jaxnb.stage(source, names := data(24), shapes=X)
    run.export(tmp_path / "g")
    assert jaxnb.load(tmp_path / "g")(names["x"]).z.shape == (24,)
    assert_like_the_plain_cell(source, jaxnb.load(tmp_path / "g"))


def test_a_gradient_of_all_sizes_is_exported(tmp_path: Path) -> None:
    found = written("loss = jnp.mean((x @ w) ** 2)", tmp_path / "f", loss="loss", wrt="w")
    for size in SIZES:
        names = data(size)
        wanted = jax.grad(lambda w, x=names["x"]: jnp.mean((x @ w) ** 2))(names["w"])
        np.testing.assert_allclose(found(x=names["x"], w=names["w"]).d_w, wanted, rtol=1e-4, atol=1e-5)


def test_keys_and_numbers_go_with_it(tmp_path: Path) -> None:
    source = "r = jax.vmap(jax.random.uniform)(keys)\nk = jax.vmap(jax.random.fold_in, (0, None))(keys, 3)"
    more = {"keys": jax.random.split(jax.random.key(1), 16)}
    found = written(source, tmp_path / "f", {"keys": "b"}, more=more)
    assert "key<fry>[b]" in str(found.signature)
    keys = jax.random.split(jax.random.key(2), 5)
    assert found(keys).r.tolist() == jax.vmap(jax.random.uniform)(keys).tolist() and found(keys).k.shape == (5,)


def test_a_program_for_one_size_alone_is_refused(tmp_path: Path) -> None:
    source = "z = x * 2 if len(x) == 16 else x"
    jaxnb.stage(source, data(8), shapes=X)
    names = data(16)
    with pytest.raises(jaxnb.Refused, match=r"sizes of this run alone[\s\S]*line 1 asks whether b == 16"):
        jaxnb.stage(source, names, shapes=X, export=str(tmp_path / "f"))
    assert "z" not in names and not list(tmp_path.iterdir())


def test_it_is_lowered_for_other_platforms(tmp_path: Path) -> None:
    found = written("z = jnp.cumsum(x, 0)", tmp_path / "f", platforms=("cpu", "cuda", "tpu"))
    assert found.provenance.platforms == ("cpu", "cuda", "tpu")
    assert_like_the_plain_cell("z = jnp.cumsum(x, 0)", found)


BARE = """
import sys, jaxnb, numpy
found = jaxnb.load(sys.argv[1])
for size in (8, 24):
    results = found(x=numpy.ones((size, 12), numpy.float32))
    print(results.n, results.half, results.z.shape, float(results.z.sum()))
assert "IPython" not in sys.modules and not any("staging.session" in name for name in sys.modules)
"""


def test_it_is_called_in_a_bare_process(tmp_path: Path) -> None:
    written(NUMBERS, tmp_path / "f", where=WHERE)
    environment = {**os.environ, "PYTHONPATH": str(Path(jaxnb.__file__).parents[1])}
    command = [sys.executable, "-c", BARE, str(tmp_path / "f")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["8 4.0 (8, 12) 384.0", "24 12.0 (24, 12) 3456.0"], done.stderr


# --- the file ---


def edited(data: bytes, edit: Callable[[Any], Any]) -> bytes:
    sections = unpack(data)
    told = json.loads(sections["signature"])
    edit(told)
    return pack({**sections, "signature": json.dumps(told).encode()}, 2)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a cell."""
    path = tmp_path_factory.mktemp("whole") / "f"
    written(NUMBERS, path, where=WHERE)
    return path.read_bytes()


BAD: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no sizes": (lambda told: told.pop("sizes"), "has sizes that are not fixed"),
    "another name": (lambda told: told["sizes"].update(there=[["c", 3]]), "program of .* cannot be used"),
    "a name more": (lambda told: told["sizes"]["there"].append(["c", 3]), "does not say for which sizes it is"),
    "a size of none": (lambda told: told["sizes"].update(there=[["b", 0]]), "a size is none"),
    "what breaks": (lambda told: told["sizes"].update(there=[["b", 12]]), "program of .* cannot be used"),
    "contradicting": (lambda told: told["sizes"]["where"].append("b <= 0"), "program of .* cannot be used"),
    "no constraint": (lambda told: told["sizes"].update(where=["b"]), "no constraint"),
    "code": (lambda told: told["sizes"].update(where=["__import__('os') >= 1"]), "no constraint"),
    "a power": (lambda told: told["leaves"][0].update(shape=["b^99999999", 12]), "what is no size"),
    "another shape": (lambda told: told["leaves"][0].update(shape=["b", 13]), "program of .* cannot be used"),
    "another result": (lambda told: told["made"][-1].update(shape=["b + 1", 12]), "program of .* cannot be used"),
    "a long one": (lambda told: told["leaves"][0].update(shape=["b" * 500, 12]), "what is no size"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_what_says_of_sizes_what_cannot_be_is_told(kind: str, whole: bytes, tmp_path: Path) -> None:
    edit, message = BAD[kind]
    (tmp_path / "f").write_bytes(edited(whole, edit))
    with pytest.raises(BadFile, match=message):
        jaxnb.load(tmp_path / "f")


def test_files_that_are_sealed_well_and_say_what_cannot_be_are_told(
    whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded, "check_program", lambda *_, **__: None)
    draw, told = random.Random(drawn_seed()), 0
    for _ in range(400 if DEEP else 60):
        (tmp_path / "f").write_bytes(edited(whole, lambda each: changed(draw, each.get("sizes"))))
        try:
            found = jaxnb.load(tmp_path / "f")
            assert str(found.signature)
        except BadFile:
            told += 1
    assert told > 5


def test_a_jaxnb_that_knows_no_sizes_says_that_a_newer_one_wrote_it(whole: bytes) -> None:
    assert whole[9:11] == b"\0\2" and unpack(whole).keys() == {"signature", "provenance", "cell", "program"}
