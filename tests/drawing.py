"""What is drawn anew in every run of the tests: from one seed, which is printed, so that a run can be repeated."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

__all__ = ["DEEP", "drawn_seed", "sample_of"]

Item = TypeVar("Item")

DEEP = os.environ.get("JAXNB_DEEP") == "1"
"""Whether long suites run in full."""


def drawn_seed() -> int:
    """The seed of this run: that of `JAXNB_SEED`, or a fresh one, which processes that are started from here share."""
    if "JAXNB_SEED" not in os.environ:
        os.environ["JAXNB_SEED"] = str(random.SystemRandom().randrange(2**32))
    return int(os.environ["JAXNB_SEED"])


def sample_of(items: Sequence[Item], most: int, about: str = "") -> list[Item]:
    """Some of the items, in their order, or all where there are no more; each `about` has a draw of its own."""
    drawn = random.Random(f"{drawn_seed()} {about}").sample(range(len(items)), min(most, len(items)))
    return [items[index] for index in sorted(drawn)]
