"""What is drawn anew in every run of the tests: from one seed, which is printed, so that a run can be repeated."""

from __future__ import annotations

import os
import random

__all__ = ["DEEP", "drawn_seed"]

DEEP = os.environ.get("JAXNB_DEEP") == "1"
"""Whether long suites run in full."""


def drawn_seed() -> int:
    """The seed of this run: that of `JAXNB_SEED`, or a fresh one, which processes that are started from here share."""
    if "JAXNB_SEED" not in os.environ:
        os.environ["JAXNB_SEED"] = str(random.SystemRandom().randrange(2**32))
    return int(os.environ["JAXNB_SEED"])
