"""What the tests of compilers share: they are skipped where these are not installed, and end their workers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jaxnb.errors import JaxnbError
from jaxnb.reading import check_compiler, end_worker


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what wants a compiler that is not there: `compiled("tpu")`, or a target among the parameters of a test."""
    why: dict[str, str] = {}
    for platform in ("tpu", "cuda"):
        try:
            check_compiler(platform)
        except JaxnbError as error:
            why[platform] = f"{error.why} Try: {error.fix}"
    for item in items:
        for mark in item.iter_markers("compiled"):
            missing = [why[platform] for platform in mark.args if platform in why]
            if missing:
                item.add_marker(pytest.mark.skip(reason=missing[0]))


@pytest.fixture(scope="module", autouse=True)
def no_worker_stays() -> Iterator[None]:
    """The processes that have a compiler end with the module that started them."""
    yield
    end_worker()
