"""The functions of JAX in which errors come up: each name is that of a function in its source."""

from __future__ import annotations

import re
import traceback
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from jaxnb import _jax
from jaxnb._jax import RAISING


@cache
def functions_of_jax() -> frozenset[str]:
    """The names of all functions that are defined in the source of JAX."""
    found: set[str] = set()
    for path in Path(jax.__file__).parent.rglob("*.py"):
        found.update(re.findall(r"^\s*def (\w+)\(", path.read_text("utf-8"), re.MULTILINE))
    return frozenset(found)


@pytest.mark.parametrize("check", sorted(RAISING))
def test_a_check_is_made_by_a_function_that_is_there(check: str) -> None:
    assert RAISING[check] & functions_of_jax(), f"no function of {check} is in this JAX"


def test_what_jit_was_told_of_a_function_can_be_read() -> None:
    jitted = jax.jit(lambda a, n: a * n, static_argnums=1, donate_argnums=0)
    assert _jax.statics_of(jitted) == ((1,), ("n",))
    assert _jax.donated_of(jitted) == (0,)
    assert _jax.statics_of(len) is None
    assert _jax.is_pmapped(jax.pmap(lambda a: a))
    assert not _jax.is_pmapped(jitted)


def test_a_flat_tree_of_a_check_is_unflattened() -> None:
    with pytest.raises(TypeError) as caught, _jax.unfiltered_tracebacks():
        jax.lax.scan(lambda c, _: ({"a": c["a"][:1]}, None), {"a": jnp.ones(3)}, length=2)
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)]
    frame = next(frame for frame in frames if frame.f_code.co_name in RAISING["carry"])
    assert _jax.unflattened(frame.f_locals["out_carry"])["a"].shape == (1,)


def test_that_frames_were_removed_is_told() -> None:
    with pytest.raises(TypeError) as caught, jax._src.config.traceback_filtering("quiet_remove_frames"):
        jnp.sin("text")  # pyright: ignore
    assert _jax.are_frames_removed(caught.value)
    with pytest.raises(TypeError) as caught, _jax.unfiltered_tracebacks():
        jnp.sin("text")  # pyright: ignore
    assert not _jax.are_frames_removed(caught.value)
