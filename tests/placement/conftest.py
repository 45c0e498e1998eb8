"""What the tests of plans share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jaxnb.reading.worker.workers import end_worker


@pytest.fixture(scope="module", autouse=True)
def no_worker_stays() -> Iterator[None]:
    """The process that plans ends with the module that started it."""
    yield
    end_worker()
