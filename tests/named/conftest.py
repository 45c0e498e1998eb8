"""Eight virtual devices and float64, set before the backend starts; the seed of a run."""

from __future__ import annotations

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("NPROC", "32")

import jax
import numpy as np
import pytest
from drawing import DEEP, drawn_seed


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """The arrays that these modules make when they are imported are of float64, too."""
    with jax.enable_x64(True):
        return (yield)


@pytest.fixture(autouse=True)
def float64():
    """Only here: the rest of the suite runs with JAX's own defaults."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="session")
def mesh():
    return jax.sharding.Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("x", "y"))


@pytest.fixture(scope="session")
def seed():
    """Fresh in every run, and printed when a test fails; JAXNB_SEED repeats a run."""
    value = drawn_seed()
    print(f"JAXNB_SEED={value}")
    return value
