"""Settings that must be in place before JAX starts, and which cases of long tables an ordinary run takes."""

import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from drawing import DEEP, drawn_seed
from durations import *  # hooks
from hypothesis import Phase, settings

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("NPROC", "32")
os.environ.setdefault("JAXNB_VERIFY", "1")  # compares the fast walk with the slow one wherever both are there
os.environ["JAXNB_CACHE_DIR"] = tempfile.mkdtemp(prefix="jaxnb-tests-")  # what a user has measured changes no text
os.environ["IPYTHONDIR"] = tempfile.mkdtemp(prefix="jaxnb-tests-")  # clusters of others are none of theirs
flags = os.environ.get("XLA_FLAGS", "")
if "xla_force_host_platform_device_count" not in flags:
    os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count=8".strip()

# How long an example takes depends on what else the machine does, and on whether JAX compiles for the first time.
# To explain a failure hypothesis watches each line, and looks at files from within our traces, which notice that.
settings.register_profile("jaxnb", deadline=None, phases=[phase for phase in Phase if phase is not Phase.explain])
settings.load_profile("jaxnb")

drawn_seed()  # before other processes are started, which are to have the same


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--within", type=float, default=0, help="draw what takes so many seconds of the processor in all")
    parser.addoption("--quick", type=float, default=0, help="the same, the cheap ones first, and always the same ones")
    parser.addoption("--record", action="store_true", help="write down in durations.txt what each test takes")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"to repeat this run: JAXNB_SEED={drawn_seed()}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what a run is not asked for; a sample is drawn anew each time."""
    if (budget := config.getoption("quick")) and not DEEP:
        chosen = within(items, budget)
    elif (budget := config.getoption("within")) and not DEEP:
        chosen = within(items, budget, drawn_seed())
    else:
        return
    kept = {id(item) for item in chosen}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = [item for item in items if id(item) in kept]


@pytest.fixture(autouse=True)
def _as_it_was_found() -> Iterator[None]:
    """Puts back what tests change in the process: settings of JAX and NumPy, threads that are about to end, programs.

    What a test has staged in the session of the process is let go of: another's cell would find the program. A test
    fails that leaves a thread running: with one beside it, a cell is traced with copies of what it reaches.
    """
    import jax
    import numpy as np

    from jaxnb import staging
    from jaxnb.staging.objects.watchers import others_look

    config, errors, printing = dict(jax.config.values), np.geterr(), np.get_printoptions()
    threads = {*threading.enumerate()}
    yield
    if (session := staging.current_session()) is not None:
        session.clear()
    for key, value in config.items():
        if jax.config.values[key] != value:
            jax.config.update(key, value)
    np.seterr(**errors)
    np.set_printoptions(**{key: value for key, value in printing.items() if key != "override_repr"})
    for thread in threading.enumerate():
        if thread not in threads and others_look(()):  # the idle ones of a pool may stay
            thread.join(5 if not thread.daemon else 1)
    left = [thread.name for thread in threading.enumerate() if thread not in threads]
    assert not left or not others_look(()), f"the test leaves threads running: {', '.join(left)}"


@pytest.fixture
def traces() -> Iterator[Any]:
    """A `TraceLog` of the traces that begin in a test."""
    from jaxnb._jax.tracers import TraceLog

    log = TraceLog()
    log.start()
    yield log
    log.stop()


@pytest.fixture
def interrupts() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, even where the tests run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
