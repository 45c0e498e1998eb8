"""Files that one jax wrote are read by the other, and give what the cell gives here."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb

VERSIONS = Path(__file__).parent / "versions"
sys.path.insert(0, str(VERSIONS))
from make import OF_SIZES, SHAPES, SOURCE, WHERE, names, names_of  # noqa: E402  # pyright: ignore

FILES = sorted(VERSIONS.glob("jax_*.jaxexport"))
OF_ALL_SIZES = sorted(VERSIONS.glob("sizes_*.jaxexport"))


def test_there_is_a_file_of_each_jax() -> None:
    assert [path.stem for path in (*FILES, *OF_ALL_SIZES)] == ["jax_0_10", "jax_0_12", "sizes_0_10", "sizes_0_12"]


@pytest.mark.parametrize("path", OF_ALL_SIZES, ids=lambda path: path.stem)
def test_a_program_for_all_sizes_gives_what_the_cell_gives_here(path: Path) -> None:
    loaded = jaxnb.load(path)
    assert loaded.provenance.versions["jax"].startswith(path.stem.removeprefix("sizes_").replace("_", "."))
    assert "for all b where b >= 8, mod(b, 8) == 0" in str(loaded.signature) and loaded.source == OF_SIZES
    for size in (8, 16, 40):
        run = jaxnb.stage(OF_SIZES, {"jax": jax, "jnp": jnp} | names_of(size), shapes=SHAPES, where=WHERE)
        results = loaded(**names_of(size))
        assert results.n == size and results.share == 0.5 / size and type(results.n) is int
        for name in ("groups", "order", "losses", "loss"):
            assert jax.typeof(results[name]) == jax.typeof(run.outputs[name])
            np.testing.assert_allclose(results[name], run.outputs[name], rtol=1e-5, atol=1e-6)
    with pytest.raises(jaxnb.JaxnbError, match=r"b is 12, and that breaks `mod\(b, 8\) == 0`"):
        loaded(**names_of(12))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_gives_what_the_cell_gives_here(path: Path) -> None:
    loaded = jaxnb.load(path)
    assert loaded.provenance.versions["jax"].startswith(path.stem.removeprefix("jax_").replace("_", "."))
    assert loaded.source == SOURCE and loaded.signature.names == ("key", "rate", "params")
    run = jaxnb.stage(SOURCE, {"jax": jax, "jnp": jnp} | names())
    given = names()
    del given["n"]
    results = loaded(**given)
    assert set(results) == set(run.outputs)
    for name, value in results.items():
        wanted = run.outputs[name]
        assert jax.typeof(value) == jax.typeof(wanted)
        if "key" in str(value.dtype):
            value, wanted = jax.random.key_data(value), jax.random.key_data(wanted)
        assert np.allclose(np.asarray(value, np.float32), np.asarray(wanted, np.float32), rtol=1e-2)
    assert np.array_equal(jax.random.key_data(results.key), jax.random.key_data(run.outputs["key"]))
    assert "static: n = 3" in str(loaded.signature) and "cholesky" in loaded.program.text()
