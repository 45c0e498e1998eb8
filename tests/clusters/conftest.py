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
    cached = os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = ""
    session = jaxnb.open_session() if hasattr(jaxnb, "open_session") else None
    made = jaxnb.cluster(n=2, devices=2)
    yield made
    made.stop()
    session = staging.current_session()
    if session is not None:
        session.elsewhere = None
    if cached is not None:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = cached
