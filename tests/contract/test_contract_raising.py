"""The functions of JAX in which errors come up: each name is that of a function in its source."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import jax
import pytest

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
