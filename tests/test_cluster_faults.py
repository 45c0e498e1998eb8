"""Processes of a cluster that end, stop, or are interrupted at random points: no wrong value, no hang, and all goes on.

Deep, loops of 200 cells with two and four processes; otherwise a few cells with two.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from typing import Any

import ipyparallel as ipp
import psutil
import pytest
from drawing import DEEP, drawn_seed
from traitlets.config import Config

import jaxnb
from jaxnb.api import open_session
from jaxnb.clusters import Cluster, ProcessLost
from jaxnb.clusters.launching import hosts_for, one_order
from jaxnb.errors import JaxnbError
from jaxnb.staging import current_session, use_session

PROCESSES = (2, 4) if DEEP else (2,)
CELLS, EVENTS = (200, 20) if DEEP else (14, 3)
LONGEST = 30.0  # seconds that nothing may take
SETUP = """
mesh = jax.make_mesh((DEVICES,), ('x',))
g = jax.device_put(jnp.arange(2.0 * DEVICES), NamedSharding(mesh, P('x')))
r = jax.device_put(jnp.float32(0), NamedSharding(mesh, P()))
"""


class Notebook:
    """Names, and cells that run on a cluster of some processes with two devices each."""

    def __init__(self, processes: int) -> None:
        self.cluster = jaxnb.cluster(processes, 2)
        self.names: dict[str, Any] = {"__name__": "__main__"}
        imports = "import jax, jax.numpy as jnp\nfrom jax.sharding import PartitionSpec as P, NamedSharding"
        exec(f"{imports}\nDEVICES = {2 * processes}", self.names)
        self.total = sum(range(4 * processes))

    def run(self, source: str) -> Any:
        return jaxnb.stage(source, self.names, cluster=True)

    def begin(self) -> None:
        self.run(SETUP)
        self.done = 0

    def look(self) -> None:
        """What is there must be right: so many sums as cells that ran."""
        if self.cluster.dirty:
            self.cluster.heal()
        on: Any = open_session().elsewhere
        on.lose(self.names)
        if not {"g", "r", "mesh"} <= self.names.keys():
            self.begin()  # shards of it were lost with a process, and it was told
        assert abs(float(self.names["r"]) - self.done * self.total) < 1e-3 * max(1, self.done * self.total)


pytestmark = pytest.mark.usefixtures("interrupts")


@pytest.fixture(params=PROCESSES, ids=lambda count: f"{count} processes")
def notebook(request: pytest.FixtureRequest) -> Iterator[Notebook]:
    before = current_session()
    use_session(None)
    made = Notebook(request.param)
    try:
        made.begin()
        yield made
    finally:
        made.cluster.stop()
        use_session(before)


@pytest.mark.parametrize("kind", ["kill", "stop", "interrupt"])
def test_a_loop_of_cells_goes_on_whatever_happens_to_a_process(notebook: Notebook, kind: str) -> None:
    rng = random.Random(drawn_seed())
    events = set(rng.sample(range(1, CELLS), EVENTS))
    told = 0
    for number in range(CELLS):
        timer = None
        if number in events:
            pid = os.getpid() if kind == "interrupt" else rng.choice(notebook.cluster.members).pid
            sent = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "interrupt": signal.SIGINT}[kind]
            timer = threading.Timer(rng.random() * 0.06, os.kill, (pid, sent))
            timer.start()
        begun = time.monotonic()
        try:
            notebook.run("r = r + jnp.sum(g)\nout = r")
            notebook.done += 1
        except (ProcessLost, KeyboardInterrupt):
            told += 1
        if timer is not None:
            try:
                timer.join()
                time.sleep(0.1)
            except KeyboardInterrupt:  # the cell had ended by then
                pass
            try:
                notebook.look()
            except (ProcessLost, KeyboardInterrupt):  # it happened only now
                told += 1
                notebook.look()
        assert time.monotonic() - begun < LONGEST
    notebook.look()
    assert kind == "interrupt" or told > 0


@pytest.mark.parametrize("where", ["sent", "bound"])
def test_an_interrupt_before_all_is_sent_or_bound_leaves_the_cell_undone(
    notebook: Notebook, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, calls = notebook.cluster, list[Any]()

    def interrupts(original: Any) -> Any:
        def call(*given: Any) -> Any:
            calls.append(given)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return original(*given)

        return call

    before = dict(notebook.names)
    with monkeypatch.context() as patched:
        if where == "sent":
            for member in cluster.members:
                view: Any = cluster._views[member.engine]
                patched.setattr(view, "apply_async", interrupts(view.apply_async))
        else:
            patched.setattr(cluster, "handle", interrupts(cluster.handle))
        with pytest.raises(KeyboardInterrupt):
            notebook.run("out = r - 1\nr = r + jnp.sum(g)\nnew = 2 * r")
    assert cluster.dirty and notebook.names.keys() == before.keys()
    assert all(notebook.names[name] is value for name, value in before.items())
    notebook.look()
    notebook.run("r = r + jnp.sum(g)\nout = r")
    notebook.done += 1
    notebook.look()


def test_processes_start_again_on_the_hosts_that_have_too_few() -> None:
    table = {"me@one.org": 2, "two:2222": {"n": 1, "environment": {"A": "1"}}, "10.0.0.3": 1}
    made: Any = ipp.Cluster(engines="ssh", config=Config({"SSHEngineSetLauncher": {"engines": table}}))
    two = {"two:2222": {"n": 1, "environment": {"A": "1"}}}
    assert hosts_for(made, ["one"]) == {"engines": {"me@one.org": 1}}
    assert hosts_for(made, ["two.org", "one", "one"]) == {"engines": {"me@one.org": 2, **two}}
    assert hosts_for(made, ["three", "two"]) == {"engines": {"me@one.org": 1, **two}}
    assert hosts_for(ipp.Cluster(n=2), ["one"]) == {}
    one_order(made)
    assert made.engine_launcher_class(parent=made).environment["PYTHONHASHSEED"].isdigit()


def test_what_other_processes_have_survives_one(notebook: Notebook) -> None:
    notebook.run("w = jax.device_put(jnp.arange(6.0).reshape(2, 3), NamedSharding(mesh, P()))\nlog = [1, 2]\nn = 3")
    notebook.run("key = jax.random.key(7)\nhalf = jnp.ones(4, jnp.bfloat16)\ndef twice(x):\n    return 2 * x * n")
    drawn = notebook.run("import random\nd = random.random()").outputs["d"]
    notebook.run("import threading\nlock = threading.Lock()")  # which no process can hand to another
    os.kill(notebook.cluster.members[0].pid, signal.SIGKILL)
    with pytest.raises(ProcessLost, match="process 0"):
        for _ in range(20):
            notebook.run("q = jnp.sum(g)")
            time.sleep(0.1)
    with pytest.raises(ProcessLost, match="`g` was lost"):
        notebook.run("q = jnp.sum(g)")
    assert not {"g", "lock"} & notebook.names.keys()
    run = notebook.run("v = jnp.sum(twice(w))\nb = jax.random.key_data(key)\nk = half.dtype\nm = log + [n]")
    assert float(notebook.names["v"]) == 90 and jaxnb.fetch(notebook.names["m"]) == [1, 2, 3] and run.processes
    assert jaxnb.fetch(notebook.names["b"]).tolist() == [0, 7]
    assert notebook.run("d = random.random()").outputs["d"] != drawn
    assert notebook.names["w"].sharding.startswith("P(")


def test_a_cell_that_never_ends_is_interrupted_in_all_processes(notebook: Notebook) -> None:
    ended = threading.Event()

    def interrupt() -> None:
        while not ended.wait(1.0):  # Python loses one that comes while it collects
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    begun = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            try:
                notebook.run("import time\nfor i in range(1000):\n    time.sleep(0.1)")
            finally:
                ended.set()
    finally:
        thread.join()
    assert time.monotonic() - begun < 15
    notebook.look()
    assert notebook.cluster.dirty == "" and float(notebook.run("jnp.sum(g)").value) == notebook.total


def test_a_cell_that_fails_in_one_process_is_undone_in_all(notebook: Notebook) -> None:
    notebook.run("a = jnp.ones(3)\nlog = [0]")
    with pytest.raises(ZeroDivisionError) as caught:
        notebook.run("log.append(1)\na = a + 1\nif jax.process_index() == 1:\n    1 / 0")
    assert any("process 1" in note for note in caught.value.__notes__)
    run = notebook.run("n = len(log)\ns = jnp.sum(a)")
    assert notebook.names["n"] == 1 and float(notebook.names["s"]) == 3 and run.processes


def test_versions_that_differ_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from jaxnb.clusters import cluster, engine

    told = {**engine.versions(), "jaxlib": "0.0.1"}
    with pytest.raises(JaxnbError, match=r"process 1 has jaxlib 0\.0\.1, and the notebook"):
        cluster.check_versions({0: engine.versions(), 1: told})


@pytest.mark.parametrize("ends", [False, True], ids=["all there", "one ended meanwhile"])
def test_a_kernel_that_is_started_again_finds_everything(tmp_path: Any, ends: bool) -> None:
    begin = """
        import os, sys, jaxnb
        if __name__ == "__main__":
            c = jaxnb.cluster(2, 2)
            names = {"__name__": "__main__"}
            cell = "import jax.numpy as jnp\\nx = jnp.arange(4.0)\\nlog = [1]\\nn = 5"
            jaxnb.stage(cell, names, cluster=True)
            print(c.name, c.members[0].pid, flush=True)
            os._exit(0)
    """
    path = tmp_path / "begin.py"
    path.write_text(textwrap.dedent(begin), encoding="utf-8")
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120, check=False)
    name, _, pid = done.stdout.strip().partition(" ")
    assert name.startswith("jaxnb-"), done.stderr[-2000:]
    before = current_session()
    use_session(None)
    try:
        if ends:
            os.kill(int(pid), signal.SIGKILL)
            time.sleep(2)
        made: Cluster = jaxnb.cluster(attach=name)
        on: Any = open_session().elsewhere
        names: dict[str, Any] = {"__name__": "__main__"}
        assert {"x", "log", "n"} <= set(on.adopt(names))
        assert names["n"] == 5 and jaxnb.fetch(names["log"]) == [1] and names["x"].shape == (4,)
        run = jaxnb.stage("y = jnp.sum(x) + n\nlog.append(2)\ny", names, cluster=True)
        assert float(run.value) == 11 and jaxnb.fetch(names["log"]) == [1, 2] and made.ranks == [0, 0, 1, 1]
        made.stop()
    finally:
        for process in psutil.process_iter():  # whatever went wrong, none is left
            with contextlib.suppress(psutil.Error):
                if name in process.environ().get("IPP_CLUSTER_ID", "") or name in " ".join(process.cmdline()):
                    process.kill()
        use_session(before)


def test_all_goes_back_to_a_checkpoint(notebook: Notebook, tmp_path: Any) -> None:
    on: Any = open_session().elsewhere
    with pytest.raises(JaxnbError, match="no checkpoint"):
        on.restore(str(tmp_path), notebook.names)
    notebook.names["rate"] = 0.5
    notebook.run("n = 0\nkey = jax.random.key(3)\nheld = {'g': g, 'l': [r]}")
    notebook.run("r = r + rate\nn = n + 1\ng = g * 2")
    notebook.run("import threading\nlock = threading.Lock()")
    path, left_out = on.checkpoint(str(tmp_path / "kept"), every=0.0)
    assert os.path.isdir(path) and left_out == ["lock"]
    notebook.names["rate"] = 1.0
    notebook.run("r = r + rate\nn = n + 1\ng = g * 2")
    assert len(os.listdir(tmp_path / "kept")) == 2  # another was written behind the cell
    on.checkpoint(str(tmp_path / "kept"))
    assert len(os.listdir(tmp_path / "kept")) == 2  # only the last two are kept
    for member in notebook.cluster.members:
        os.kill(member.pid, signal.SIGKILL)
    with pytest.raises(ProcessLost):
        notebook.run("q = jnp.sum(g)")
    with pytest.raises(ProcessLost, match="cluster restore takes all back"):
        notebook.run("q = jnp.sum(g)")
    kept, names = on.restore("", notebook.names)
    assert {"g", "r", "n", "key", "held"} <= set(names) and kept.startswith(str(tmp_path))
    assert notebook.names["n"] == 2 and notebook.names["rate"] == 1.0 and float(notebook.names["r"]) == 1.5
    fetched = jaxnb.fetch(notebook.names["held"])
    assert (
        fetched["g"].tolist() == [float(n) for n in range(2 * notebook.names["DEVICES"])]
        and float(fetched["l"][0]) == 0
    )
    assert float(notebook.run("jnp.sum(g) + jnp.sum(held['g'])").value) == 5 * notebook.total
    with pytest.raises(JaxnbError, match="cannot be written"):
        on.checkpoint("/proc/nowhere")
