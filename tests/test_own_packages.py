"""Packages of the user's own: code that may run, contexts, registries, locks, and state that changes between runs."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb
from jaxnb.staging.trace import stage

FILES = {
    "__init__": "",
    "config": """
import dataclasses, enum
class Mode(enum.Enum):
    TRAIN = "train"
    EVAL = "eval"
@dataclasses.dataclass
class Config:
    width: int = 4
    rate: float = 0.1
    mode: Mode = Mode.TRAIN
CONFIG = Config()
""",
    "context": """
import contextlib, contextvars, functools, logging, threading, weakref
log = logging.getLogger(__name__)
lock, calls = threading.RLock(), 0
scale = contextvars.ContextVar("scale", default=1.0)
unset = contextvars.ContextVar("unset")
class Stack(threading.local):
    def __init__(self):
        self.names = ["root"]
stack, plain = Stack(), threading.local()
seen = weakref.WeakSet()
@contextlib.contextmanager
def scope(name):
    stack.names.append(name)
    try:
        yield
    finally:
        stack.names.pop()
def count():
    global calls
    with lock:
        calls += 1
@functools.lru_cache
def power(n):
    return 2.0 ** n
def writes():
    with open("never", "w") as file:
        file.write("x")
    unset.set(1)
    lock.acquire()
""",
    "layers": """
import abc
import jax, jax.numpy as jnp
from . import context
from .config import CONFIG, Mode
REGISTRY = {}
def register(name):
    def add(item):
        REGISTRY[name] = item
        return item
    return add
class Meta(abc.ABCMeta):
    made = []
    def __new__(meta, name, bases, members):
        kind = super().__new__(meta, name, bases, members)
        meta.made.append(name)
        context.seen.add(kind)
        print("made", name)
        return kind
class Layer(metaclass=Meta):
    def __call__(self, x):
        with context.scope(type(self).__name__):
            context.count()
            context.log.debug("layer %s", context.stack.names)
            return self.run(x) * len(context.stack.names)
    @abc.abstractmethod
    def run(self, x): ...
@register("dense")
class Dense(Layer):
    def __init__(self, w):
        self.w = w
    def run(self, x):
        return jitted(x, self.w) * context.power(CONFIG.width) * context.scale.get()
@register("file")
class File(Layer):
    def run(self, x):
        context.writes()
        return x + OTHER
OTHER = 1.0
@jax.jit
def jitted(x, w):
    return x @ w
def step(layer, x):
    y = REGISTRY[layer.kind if hasattr(layer, "kind") else "dense"].run(layer, x)
    y = y + layer(x) * CONFIG.rate
    return y if CONFIG.mode is Mode.TRAIN else -y
""",
}

CHANGES = [
    "",
    "",
    "layer.w = layer.w + 1",
    "p.config.CONFIG.rate = 0.5",
    "p.config.CONFIG.width = 2",
    "p.config.CONFIG.mode = p.config.Mode.EVAL",
    "p.context.stack.names.append('more')",
    "p.context.scale.set(3.0)",
    "p.layers.OTHER = 7.0",
    "p.layers.REGISTRY['dense'] = type('Twice', (p.layers.Dense,), {'run': lambda s, x: x @ s.w})",
    "p.layers.jitted = lambda x, w: x @ w + 1",
    "import functools; p.context.power = functools.lru_cache(lambda n: n + 1.0)",
    "p.context.log.setLevel('INFO')",
    "p.layers.Dense.run = lambda self, x: x * 2",
]
CELL = "y = p.layers.step(layer, x)\nn = p.context.calls\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes a fresh package of one's own, under another name each time."""
    monkeypatch.syspath_prepend(tmp_path)
    made: list[str] = []

    def make(name: str) -> Any:
        (tmp_path / name).mkdir()
        for part, text in FILES.items():
            (tmp_path / name / f"{part}.py").write_text(text)
        importlib.invalidate_caches()
        made.append(name)
        for part in FILES:
            importlib.import_module(name if part == "__init__" else f"{name}.{part}")
        return sys.modules[name]

    yield make
    for name in [known for known in sys.modules if known.partition(".")[0] in made]:
        del sys.modules[name]


def _home(package: Any) -> dict[str, Any]:
    return {"jnp": jnp, "p": package, "layer": package.layers.Dense(jnp.eye(2)), "x": jnp.arange(4.0).reshape(2, 2)}


@pytest.mark.parametrize("large", [0, stage.LARGE])
def test_state_of_an_own_package_counts(package: Any, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "LARGE", large)
    plain, staged = _home(package("own_plain")), _home(package("own_staged"))
    reused: list[bool] = []
    for change in CHANGES:
        for home in (plain, staged):
            exec(change, home)
        exec(CELL, plain)
        run = jaxnb.stage(CELL, staged)
        assert run.pieces and "not reusable" not in run.line, (change, run.line)
        reused.append(bool(run.reused))
        np.testing.assert_allclose(staged["y"], plain["y"], rtol=1e-6, err_msg=change)
        assert staged["n"] == plain["n"] == plain["p"].context.calls == staged["p"].context.calls
        assert plain["p"].context.stack.names == staged["p"].context.stack.names
    assert reused[2]  # a counter is an input from the second run on


def test_what_did_not_run_is_no_reason(package: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    home = _home(package("own_reason"))
    lines = [jaxnb.stage("y = p.layers.step(layer, x)", home).line for _ in range(4)]
    assert "not reusable" not in "".join(lines) and "reused" in lines[3]
    for text in ("x", "xx"):
        home["p"].layers.REGISTRY["dense"] = home["p"].layers.File  # now it runs, and Python runs it
        Path("never").unlink(missing_ok=True)
        jaxnb.stage("y = p.layers.step(layer, x)", home)
        np.testing.assert_allclose(
            home["y"], home["x"] + 1 + home["p"].layers.Dense.__call__(home["layer"], home["x"]) * 0.1
        )
        assert Path("never").read_text() == "x", text


def test_a_lock_counts_while_another_thread_runs(package: Any) -> None:
    home = _home(package("own_lock"))
    cell = "y = p.layers.step(layer, x)"
    lines = [jaxnb.stage(cell, home).line for _ in range(4)]
    assert "reused" in lines[3]
    stop = threading.Event()
    waiting = {"stop": stop, "__name__": "own_thread"}
    exec("def wait():\n    stop.wait()", waiting)
    thread = threading.Thread(target=waiting["wait"])
    thread.start()
    try:
        assert "reused" not in jaxnb.stage(cell, home).line
    finally:
        stop.set()
        thread.join()


def test_thread_local_state_is_that_of_the_thread() -> None:
    source = "import threading\nheld = threading.local()\nheld.scale, held.calls = 2.0, 0\n"
    home: dict[str, Any] = {"x": jnp.arange(3.0)}
    exec(source, home)
    exec("def f(x):\n    held.calls += 1\n    return x * held.scale", home)
    for turn in range(4):
        run = jaxnb.stage("y = f(x)", home)
        np.testing.assert_allclose(home["y"], np.arange(3.0) * home["held"].scale)
        assert home["held"].calls == turn + 1
        home["held"].scale = 2.0 + turn
    assert run.reused, run.line

    def elsewhere() -> None:
        home["held"].scale, home["held"].calls = 10.0, 0
        jaxnb.stage("y = f(x)", home)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    np.testing.assert_allclose(home["y"], np.arange(3.0) * 10)
    assert home["held"].calls == 4


def test_a_key_says_its_class_and_how_it_lies() -> None:
    home: dict[str, Any] = {"key": jax.random.key(0), "x": jnp.ones(3), "jax": jax, "jnp": jnp}
    exec("def f(key, x):\n    k = jax.random.split(key)[0]\n    return type(key), type(k) is type(key), x + 1", home)
    exec("def g(x, y):\n    return x + 1 if getattr(x, 'sharding', None) == (y * 2).sharding else x", home)
    for _ in range(3):
        run = jaxnb.stage("kind, same, y = f(key, x)\nz = g(x, y)", home)
    assert run.reused and run.pieces == 1
    assert home["kind"] is type(home["key"]) and home["same"] is True
    np.testing.assert_allclose(home["z"], 2.0)
    device = jax.devices()[0]
    home["x"] = jax.device_put(home["x"], device)  # committed now: the answer is that of the plain cell
    jaxnb.stage("z = g(x, x)\nw = jax.device_put(x, x.sharding)", home)
    np.testing.assert_allclose(home["z"], 2.0)
