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
    before = staging.current_session()
    made = jaxnb.cluster(n=2, devices=2)
    session = staging.current_session()
    assert session is not None
    _sessions[made] = session
    yield made
    made.stop()
    session.elsewhere = None
    staging.use_session(before)
    if cached is None:
        del os.environ["JAX_COMPILATION_CACHE_DIR"]
    else:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = cached


@pytest.fixture(autouse=True)
def _in_its_session(request: pytest.FixtureRequest) -> Iterator[None]:
    """Others may have made another session the current one meanwhile."""
    if "cluster" not in request.fixturenames:
        yield
        return
    made, before = request.getfixturevalue("cluster"), staging.current_session()
    staging.use_session(_sessions[made])
    yield
    staging.use_session(before)


_sessions: dict[Any, Any] = {}
"""The session that each cluster belongs to."""
