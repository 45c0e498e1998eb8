"""What is refused on a cluster, and what is said where processes have not the same."""

from __future__ import annotations

import threading
from typing import Any

import jax.numpy as jnp
import pytest

import jaxnb
from jaxnb import Refused, staging
from jaxnb.api import open_session
from jaxnb.errors import BadHeader, JaxnbError
from jaxnb.shell.clusters import cluster_command

from .comparing import Notebook

pytestmark = pytest.mark.filterwarnings("ignore")


def run_there(text: str, **names: Any) -> Notebook:
    notebook = Notebook()
    notebook.names.update({"jnp": jnp, "x": jnp.arange(4.0), **names})
    outcome = notebook.on_cluster(text)
    if outcome.error is not None:
        raise outcome.error
    notebook.run = outcome.run  # type: ignore[attr-defined]
    return notebook


def command(text: str) -> str:
    session = staging.current_session()
    assert session is not None
    return cluster_command(text, session, {}, lambda _: None)


def test_a_cell_without_a_cluster_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_session(), "elsewhere", None)
    with pytest.raises(Refused, match="there is no cluster"):
        jaxnb.stage("y = 1", {}, cluster=True)
    with pytest.raises(JaxnbError, match="there is no cluster"):
        jaxnb.cluster()


@pytest.mark.parametrize("option", [{"device": "cpu:0"}, {"export": "f.py"}, {"here": True}])
def test_options_of_this_process_do_not_go_with_it(option: dict[str, Any], cluster: Any) -> None:
    names: dict[str, Any] = {"x": jnp.ones(2)}
    with pytest.raises(JaxnbError, match=next(iter(option))):
        jaxnb.stage("y = x + 1", names, cluster=True, **option)
    assert "y" not in names


def test_there_is_one_cluster(cluster: Any) -> None:
    with pytest.raises(JaxnbError, match="there is a cluster already"):
        jaxnb.cluster(n=2)
    assert jaxnb.cluster() is cluster


@pytest.mark.parametrize(("count", "devices"), [(-1, 2), (1, 0), (2, -3), (0, 2)])
def test_no_processes_are_no_cluster(count: int, devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_session(), "elsewhere", None)
    with pytest.raises(JaxnbError, match="no cluster"):
        jaxnb.cluster(n=count, devices=devices)


@pytest.mark.parametrize(
    "text", ["begin", "stopp", "stop now", "use it", "status all", "start --n two", "start --what 3"]
)
def test_unknown_words_are_pointed_at(text: str, cluster: Any) -> None:
    with pytest.raises(BadHeader):
        command(text)
    assert cluster.alive


def test_what_cannot_be_sent_is_named(cluster: Any) -> None:
    lock = threading.Lock()
    with pytest.raises(JaxnbError, match="`lock` cannot be sent") as told:
        run_there("with lock:\n    y = x + 1", lock=lock)
    assert "lock" in told.value.fix
    with pytest.raises(JaxnbError, match="`box` cannot be sent"):
        run_there("y = x + len(box)", box=[lock])
    assert run_there("y = x + 1").names["y"].shape == (4,)


def test_what_a_cell_binds_need_not_be_sent(cluster: Any) -> None:
    notebook = run_there("lock = 1\ny = lock + x", lock=threading.Lock())
    assert notebook.names["lock"] == 1


def test_handles_do_not_compute(cluster: Any) -> None:
    y = run_there("y = x * 2").names["y"]
    for compute in (lambda: y + 1, lambda: 2 * y, lambda: y @ y, lambda: -y, lambda: y < 1, lambda: y(1)):
        with pytest.raises(TypeError, match=r"jaxnb\.fetch"):
            compute()
    with pytest.raises(AttributeError, match=r"jaxnb\.fetch"):
        _ = y.nothing
    assert float(y[3]) == 6 and y.shape == (4,) and list(map(float, y)) == [0, 2, 4, 6]


def test_a_part_that_is_not_there(cluster: Any) -> None:
    d = run_there("d = {'a': x}").names["d"]
    with pytest.raises(Exception, match="missing"):
        jaxnb.fetch(d["missing"])
    assert jaxnb.fetch(d["a"]).tolist() == [0, 1, 2, 3]


def test_a_mesh_of_more_devices_than_there_are(cluster: Any) -> None:
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(jax.devices()[:8], ("d",))
    spread = jax.device_put(jnp.arange(8.0), NamedSharding(mesh, PartitionSpec("d")))
    for names in ({"mesh": mesh, "x": 0}, {"x": spread}):
        text = "k = mesh.size" if "mesh" in names else "y = x + 1"
        with pytest.raises(JaxnbError, match="device 4 is not there: the cluster has 4"):
            run_there(text, **names)
    assert jaxnb.fetch(run_there("y = x + 1").names["y"]).tolist() == [1, 2, 3, 4]


def test_what_did_not_arrive_is_sent_again(cluster: Any) -> None:
    import jax
    from jax.sharding import Mesh

    mesh = Mesh(jax.devices()[:8], ("d",))
    with pytest.raises(JaxnbError, match="device 4"):
        run_there("k = fresh_name + mesh.size", mesh=mesh, fresh_name=12)
    assert run_there("k = fresh_name + 1", fresh_name=12).names["k"] == 13


def test_a_mesh_of_axes_that_do_not_fit(cluster: Any) -> None:
    session: Any = staging.current_session()
    with pytest.raises(JaxnbError):
        session.elsewhere.set_mesh("x=64")
    assert session.elsewhere.set_mesh("") is None


DIFFERENT = """
import jax
y = x + 1
if jax.process_index() == 0:
    z = jnp.sin(y)
else:
    z = jnp.cos(y)
"""


def test_programs_that_differ_run_nowhere(cluster: Any) -> None:
    with pytest.raises(Refused, match="different programs") as told:
        run_there(DIFFERENT.strip())
    assert "sin" in told.value.why and "cos" in told.value.why and told.value.line in (4, 6)
    assert run_there("y = x + 1").names["y"].shape == (4,)


def test_an_error_in_one_process_says_where(cluster: Any) -> None:
    text = "import jax\nif jax.process_index() == 1:\n    raise ValueError('only there')\ny = x * 2"
    with pytest.raises(ValueError, match="only there") as told:
        run_there(text)
    assert any("process" in note for note in told.value.__notes__)
    assert run_there("y = x + 2").names["y"].shape == (4,)


@pytest.mark.parametrize("text", ["import os\nn = os.getpid()", "import time\nn = time.time_ns()", "n = id(object())"])
def test_values_that_differ_are_a_finding(text: str, cluster: Any) -> None:
    notebook = run_there(text)
    run: Any = notebook.run  # type: ignore[attr-defined]
    told = [finding for finding in run.findings if finding.kind == "differs"]
    assert (told and "`n` is not the same in all processes" in told[0].message) or text.startswith("n = id")


def test_a_number_that_differs_goes_into_no_program(cluster: Any) -> None:
    with pytest.raises(Refused, match="different programs"):
        run_there("import os\nn = os.getpid()\ny = x * n\nz = jnp.zeros(n % 7 + 1 + (n % 2) * 9)")
    assert run_there("y = x").names["y"].shape == (4,)


def test_xmap_and_grad_cells_are_as_here(cluster: Any) -> None:
    here, there = Notebook(), Notebook()
    more: dict[str, Any] = {}
    for notebook in (here, there):
        notebook.names.update({"jnp": jnp, "x": jnp.arange(6.0).reshape(2, 3), "w": jnp.arange(3.0)})
        with notebook.entered():
            jaxnb.xmap_cell("mean = jnp.mean(x, 'row')", notebook.names, "x[row, column] -> mean[column]", **more)
            run = jaxnb.grad_cell("loss = jnp.sum((x @ w) ** 2)", notebook.names, "loss", "w", value_and=True, **more)
            assert jaxnb.fetch(run.value)[0] == 221.0
        more = {"cluster": True}
    for name in ("mean", "loss", "d_w"):
        assert jaxnb.fetch(there.names[name]).tolist() == here.names[name].tolist()
    with there.entered(), pytest.raises(JaxnbError):
        jaxnb.grad_cell("loss = x @ w", there.names, "loss", "w", cluster=True)
    with there.entered(), pytest.raises(JaxnbError):
        jaxnb.xmap_cell("mean = jnp.mean(x, 'row')", there.names, "x[row, column -> mean[column]", cluster=True)
    assert "d_w" in there.names


def test_the_random_states_go_on_as_plainly(cluster: Any) -> None:
    import random

    random.seed(3)
    expected = [random.random() for _ in range(4)]
    random.seed(3)
    found = [random.random()]
    names: dict[str, Any] = {"random": random}
    jaxnb.stage("a = random.random()", names, cluster=True)
    found += [names["a"], random.random()]
    jaxnb.stage("a = random.random()", names, cluster=True)
    assert [*found, names["a"]] == expected


def test_errors_of_the_notebook_are_of_their_class(cluster: Any) -> None:
    notebook = Notebook()
    notebook.plainly(
        "class Stop(Exception):\n    def __init__(self, n):\n        super().__init__(f'at {n}'); self.n = n"
    )
    error = notebook.on_cluster("raise Stop(3)").error
    assert type(error) is notebook.names["Stop"] and str(error) == "at 3" and getattr(error, "n") == 3  # noqa: B009


def test_a_stopped_cluster_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ipyparallel")
    session: Any = open_session()
    before = session.elsewhere
    session.elsewhere = None
    made = jaxnb.cluster(n=1, devices=1)
    names: dict[str, Any] = {"x": jnp.arange(3.0)}
    try:
        jaxnb.stage("y = x + 1", names, cluster=True)
        assert jaxnb.fetch(names["y"]).tolist() == [1, 2, 3]
    finally:
        made.stop()
    try:
        with pytest.raises(Refused, match="the cluster was stopped"):
            jaxnb.stage("z = y + 1", names, cluster=True)
        with pytest.raises(JaxnbError, match="the cluster was stopped"):
            jaxnb.fetch(names["y"])
        assert "z" not in names and not made.alive
    finally:
        session.elsewhere = before
