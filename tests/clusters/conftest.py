"""One cluster for all tests of this folder: two processes of two CPU devices each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

import jaxnb
from jaxnb import staging


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    pytest.importorskip("ipyparallel")
    cached = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    os.environ["JAX_COMPILATION_CACHE_DIR"] = ""
    made = jaxnb.cluster(n=2, devices=2)
    yield made
    made.stop()
    session = staging.current_session()
    assert session is not None
    session.elsewhere = None
    if cached is None:
        del os.environ["JAX_COMPILATION_CACHE_DIR"]
    else:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = cached
