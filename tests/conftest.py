"""Settings that must be in place before JAX starts."""

import os

from hypothesis import settings

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("NPROC", "32")
os.environ.setdefault("JAXNB_VERIFY", "1")  # compares the fast walk with the slow one wherever both are there
flags = os.environ.get("XLA_FLAGS", "")
if "xla_force_host_platform_device_count" not in flags:
    os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count=8".strip()

# How long an example takes depends on what else the machine does, and on whether JAX compiles for the first time.
settings.register_profile("jaxnb", deadline=None)
settings.load_profile("jaxnb")
