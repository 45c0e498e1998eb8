"""The line says what JAX's persistent compilation cache did for a cell, where a folder is set for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental.compilation_cache import compilation_cache

import jaxnb
from jaxnb.staging.session.compile_cache import cache_words


@pytest.fixture
def folder(tmp_path: Path) -> Any:
    compilation_cache.reset_cache()
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    yield tmp_path
    jax.config.update("jax_compilation_cache_dir", None)
    compilation_cache.reset_cache()


def staged(source: str) -> Any:
    """A run of a cell that no session has seen."""
    return jaxnb.stage(source, {"jnp": jnp, "jax": jax, "x": jnp.arange(3.0)})


def test_without_a_folder_the_line_says_nothing() -> None:
    run = staged("y = jnp.sin(x) * 1.25")
    assert run.timings.cache == "" and "cache" not in run.line


def test_a_program_is_put_there_and_found_again(folder: Path) -> None:
    first, second = staged("y = jnp.sin(x) * 1.5"), staged("y = jnp.sin(x) * 1.5  # once more\nn = 1")
    assert "(cache miss), dispatched" in first.line and first.timings.cache == "cache miss"
    assert "ms (cache hit), dispatched" in second.line and any(folder.iterdir())
    assert (second.outputs["y"] == first.outputs["y"]).all()


def test_a_run_that_compiles_nothing_says_nothing_of_it(folder: Path) -> None:
    names = {"jnp": jnp, "x": jnp.arange(3.0)}
    assert jaxnb.stage("y = jnp.cos(x) * 1.5", names).timings.cache == "cache miss"
    run = jaxnb.stage("y = jnp.cos(x) * 1.5", names)
    assert run.reused and run.timings.cache == "" and "cache" not in run.line


def test_what_is_too_quick_to_be_kept_is_told(folder: Path) -> None:
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 60.0)
    assert "(cache miss, not kept: under 60 s)" in staged("y = jnp.sin(x) * 1.75").line


def test_what_calls_python_is_not_kept(folder: Path) -> None:
    run = staged("y = jnp.sin(x) * 1.8\njax.debug.callback(lambda v: None, y)")
    assert run.timings.cache in ("cache miss, not kept: it calls Python", "cache miss")  # jax 0.12 keeps it


def test_several_programs_are_counted(folder: Path) -> None:
    staged("y = jnp.sin(x) * 2.5\nn = 1")
    run = staged("y = jnp.sin(x) * 2.5\nprint(y)\nz = jnp.cos(y) * 3.5")
    assert run.timings.cache == "1 × cache hit, 1 × cache miss"
    assert cache_words(["cache hit", "", "cache hit"]) == "cache hit" and cache_words([]) == ""


def test_a_cache_that_is_switched_off_is_told(folder: Path) -> None:
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()
    assert staged("y = jnp.sin(x) * 4.5").timings.cache == "cache off: jax_enable_compilation_cache"
    jax.config.update("jax_enable_compilation_cache", True)
