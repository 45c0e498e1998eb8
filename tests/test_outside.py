"""What touches the outside is done by Python, on each run; what is only said is said on each run by the program."""

from __future__ import annotations

import gc
import logging
import os
import sys
import threading
import types
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb
from jaxnb.staging.trace.noticing import Noticing, Touched

Namespace = dict[str, Any]


@pytest.fixture
def ns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Namespace:
    monkeypatch.chdir(tmp_path)
    return {"__name__": "__main__", "jax": jax, "jnp": jnp, "np": np, "x": jnp.arange(3.0)}


def define(ns: Namespace, text: str, tmp_path: Path) -> None:
    """Runs a text whose source can be read, as that of a cell can."""
    file = tmp_path / "helper_of_outside.py"
    file.write_text(text)
    exec(compile(text, str(file), "exec"), ns)


# --- files, processes, threads -------------------------------------------------------------------------------------

READING = {
    "np.load": "np.load('a.npy')",
    "jnp.load": "jnp.load('a.npy')",
    "memmap": "np.memmap('raw', dtype=np.float64)",
    "fromfile": "np.fromfile('raw')",
    "loadtxt": "np.loadtxt('a.txt')",
    "genfromtxt": "np.genfromtxt('a.txt')",
    "npz": "np.load('a.npz')['a']",
    "open": "np.array([float(line) for line in open('a.txt').read().split()])",
    "path": "np.array(json.loads(pathlib.Path('a.json').read_text()))",
    "pickle": "pickle.loads(pathlib.Path('a.pickle').read_bytes())",
    "scipy": "scipy.io.loadmat('a.mat')['a'][0]",
    "a helper": "read('a.npy')",
    "a method": "Reader('a.npy').read()",
}
WRITE = """
import json, pathlib, pickle, scipy.io
def write(values):
    np.save('a.npy', values); np.savetxt('a.txt', values); np.savez('a.npz', a=values)
    values.tofile('raw'); pathlib.Path('a.json').write_text(json.dumps(values.tolist()))
    pathlib.Path('a.pickle').write_bytes(pickle.dumps(values)); scipy.io.savemat('a.mat', {'a': values})
def read(name):
    return np.load(name)
class Reader:
    def __init__(self, name): self.name = name
    def read(self): return np.load(self.name)
"""


@pytest.mark.filterwarnings("ignore:unclosed file")
@pytest.mark.parametrize("text", READING.values(), ids=READING.keys())
def test_a_file_is_read_on_each_run(ns: Namespace, text: str) -> None:
    exec(WRITE, ns)
    for values in (np.arange(3.0), np.arange(3.0), np.full(3, 7.0), np.arange(4.0)[1:]):
        ns["write"](values)
        jaxnb.stage(f"y = jnp.sum(jnp.asarray({text}) * x)\nz = y + 1", ns)
        assert ns["y"] == np.sum(values * np.arange(3.0)) and ns["z"] == ns["y"] + 1


def test_load_if_it_exists_update_and_save_goes_on(ns: Namespace) -> None:
    cell = """\
w = jnp.asarray(np.load('w.npy')) if os.path.exists('w.npy') else jnp.zeros(3)
w = w + x
np.save('w.npy', np.asarray(w))"""
    ns["os"] = os
    for turn in range(1, 5):
        run = jaxnb.stage(cell, ns)
        assert np.array_equal(np.load("w.npy"), turn * np.arange(3.0))
    assert run.reused


def test_nothing_was_touched_by_a_trace_that_was_ended(ns: Namespace) -> None:
    exec("opened = []\ndef save(v):\n    opened.append(1)\n    np.save('b.npy', np.zeros(3))\n    return v * 2", ns)
    jaxnb.stage("y = save(x)", ns)
    assert ns["opened"] == [1]  # by Python alone


def test_an_act_whose_exception_is_swallowed_is_still_done(ns: Namespace) -> None:
    exec(
        "def save(v):\n    try:\n        np.save('b.npy', np.ones(3))\n    except:\n        pass\n    return v * 2", ns
    )
    run = jaxnb.stage("y = save(x)", ns)
    assert np.load("b.npy").tolist() == [1, 1, 1] and "b.npy" in run.on_host[0][1]


def test_threads_and_processes_are_started_by_python(ns: Namespace) -> None:
    setup = """
import subprocess, threading, sys
from concurrent.futures import ThreadPoolExecutor
done = []
def in_thread(v):
    thread = threading.Thread(target=done.append, args=(1,)); thread.start(); thread.join()
    return v * 2
def in_pool(v):
    with ThreadPoolExecutor(1) as pool: return pool.submit(lambda: 2).result() * v
def in_process(v):
    return len(subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True).stdout) * v
"""
    exec(setup, ns)
    before = threading.enumerate()
    for turn in (1, 2, 3):
        for name in ("in_thread", "in_pool", "in_process"):
            jaxnb.stage(f"y = {name}(x)", ns)
            assert ns["y"].tolist() == [0, 2, 4]
        assert ns["done"] == [1] * turn
    assert threading.enumerate() == before


def test_as_one_program_an_act_on_the_outside_is_refused(ns: Namespace) -> None:
    np.save("a.npy", np.ones(3))
    with pytest.raises(jaxnb.Refused, match=r"line 1 cannot be part of a program: it reads the file a\.npy"):
        jaxnb.stage("y = x + np.load('a.npy')", ns, whole=True)


def test_what_raises_no_event_is_known_by_what_it_is(ns: Namespace) -> None:
    exec("import time, os, uuid, datetime\nfrom time import perf_counter as clock\nname = 'c.npy'", ns)
    for text in (
        *("clock()", "time.time()", "os.path.getsize(name) if os.path.exists(name) else 0", "len(os.getcwd())"),
        *("len(os.environ.get('HOME', ''))", "uuid.uuid4().int % 7", "datetime.datetime.now().second"),
    ):
        run = jaxnb.stage(f"y = x * ({text})", ns)
        assert run.pieces == 0 and run.on_host, text


@pytest.mark.parametrize(
    ("act", "short"),
    {
        "jax.tree_util.register_pytree_node(Kind, lambda k: ((), None), lambda *_: Kind())": "registers a class",
        "jax.clear_caches()": "empties JAX's caches",
        "jnp.set_printoptions(precision=4)": "sets how arrays are printed",
        "np.seterr(all='ignore')": "sets how NumPy computes",
    }.items(),
)
def test_what_changes_jax_or_numpy_is_done_by_python(ns: Namespace, tmp_path: Path, act: str, short: str) -> None:
    define(ns, f"class Kind: pass\ndef f(v, acts):\n    if acts:\n        {act}\n    return v * 2", tmp_path)
    assert jaxnb.stage("y = f(x, False)", ns).pieces == 1, "what it might do does not count"
    run = jaxnb.stage("z = x + 1\ny = f(x, True)", ns)
    assert run.pieces == 1 and short in run.line and "line 2" in run.line


def test_a_library_that_is_not_known_is_traced(ns: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "import inspect\ndef scale(v, k): return v * k if not inspect.ismethod(scale) else v"
    for place in ("somewhere", "site-packages"):
        module = types.ModuleType(f"unheard_of_{place.replace('-', '_')}")
        module.__file__ = str(tmp_path / place / "unheard.py")
        exec(text, vars(module))
        monkeypatch.setitem(sys.modules, module.__name__, module)
        ns["lib"] = module
        for turn in range(2):
            run = jaxnb.stage(f"y = lib.scale(x, 3)\nplace = {place!r}", ns)
            assert run.pieces == 1 and not run.on_host and run.reused == (turn > 0)
            assert ns["y"].tolist() == [0, 3, 6]


def test_a_call_of_an_unknown_library_whose_value_nobody_takes_is_pythons(
    ns: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType("unheard_of_recorder")
    module.__file__ = "/somewhere/site-packages/unheard_of_recorder.py"
    exec("calls = []\ndef record(value): calls.append(value)", vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    ns["recorder"] = module
    exec("def step(v):\n    recorder.record('step')\n    return v * 2", ns)
    for turn in (1, 2, 3):
        jaxnb.stage("y = step(x)", ns)
        assert module.calls == ["step"] * turn


def test_draws_from_the_global_random_states_are_noticed_wherever_they_are_made(ns: Namespace) -> None:
    exec("import random\ndraw = {'python': random.random, 'numpy': lambda: np.random.rand(3).sum()}", ns)
    exec("def noisy(v, kind): return v + draw[kind]()", ns)
    for kind, seed in (("python", "random.seed(0)"), ("numpy", "np.random.seed(0)")):
        exec(f"{seed}\nexpected = [x + draw['{kind}']() for _ in range(3)]\n{seed}", ns)
        for turn in range(3):
            jaxnb.stage(f"y = noisy(x, '{kind}')", ns)
            assert np.allclose(ns["y"], ns["expected"][turn])


def test_other_threads_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"

    def write() -> None:
        file.write_text("written")

    with Noticing() as noticing:
        thread = threading.Thread(target=write)
        with pytest.raises(Touched):
            thread.start()
        with pytest.raises(Touched):
            file.write_text("by this thread")
    assert noticing.touched is not None and thread not in threading.enumerate() and not file.exists()
    begun, done = threading.Event(), threading.Event()

    def wait_and_write() -> None:
        begun.wait()
        write()
        done.set()

    threading.Thread(target=wait_and_write).start()
    with Noticing():
        begun.set()
        assert done.wait(10)
    assert file.read_text() == "written"


def test_imports_and_the_reading_of_source_do_not_count(
    ns: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loaded_while_traced.py").write_text("with open(__file__) as file: text = file.read()\nk = 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    text = "import inspect\ndef f(v):\n    import loaded_while_traced as m\n    return v * m.k\n"
    define(ns, text + "def g(v): return v * len(inspect.getsource(f).splitlines())", tmp_path)
    assert jaxnb.stage("y = f(x)", ns).pieces == 1
    assert jaxnb.stage("z = g(x)", ns).pieces == 1 and ns["z"].tolist() == [0, 3, 6]


# --- prints and logs -----------------------------------------------------------------------------------------------

SAYING = """
import logging
log = logging.getLogger("test_outside")
def shape(v):
    print("shape", v.shape)
    return v * 2
def value(v):
    total = v.sum()
    print("total", total, sep=": ", end="!\\n")
    return v / (total + 1)
def formatted(v):
    print(f"mean {v.mean():.3f} of {len(v)}")
    return v * 2
def logs(v):
    log.info("step %d", 3)
    log.info("sum %s", v.sum())
    log.warning(f"mean {v.mean():8.2f}")
    log.debug("not said")
    return v * 2
def loop(v):
    for i in range(5):
        v = v * 2
        if i % 2 == 0:
            print(f"{i:2d} {v[1]:.1f}")
    return v
def in_grad(v):
    def loss(u):
        print("loss")
        return (u**2).sum()
    return jax.grad(loss)(v)
"""


@pytest.mark.parametrize("name", ["shape", "value", "formatted", "logs", "loop", "in_grad"])
def test_what_a_helper_says_is_said_on_each_run(
    ns: Namespace, name: str, tmp_path: Path, capsys: Any, caplog: Any
) -> None:
    caplog.set_level(logging.INFO, logger="test_outside")
    define(ns, SAYING, tmp_path)
    for turn in range(4):
        if turn == 2:
            ns["x"] = jnp.array([1.5, -2.0, 4.0])
        caplog.clear()
        exec(f"y = {name}(x)", plain := dict(ns))
        expected = capsys.readouterr().out, [(r.levelname, r.getMessage()) for r in caplog.records]
        caplog.clear()
        run = jaxnb.stage(f"y = {name}(x)", ns)
        assert (capsys.readouterr().out, [(r.levelname, r.getMessage()) for r in caplog.records]) == expected
        assert run.pieces == 1 and run.reused == (turn > 0) and np.allclose(ns["y"], plain["y"])


def test_the_level_of_a_logger_counts(ns: Namespace, tmp_path: Path, caplog: Any) -> None:
    define(ns, SAYING, tmp_path)
    for level, count in (("INFO", 3), ("WARNING", 1), ("INFO", 3), ("ERROR", 0)):
        caplog.set_level(level, logger="test_outside")
        caplog.clear()
        jaxnb.stage("y = logs(x)", ns)
        assert len(caplog.records) == count


@pytest.mark.parametrize(
    "body",
    [
        "text = f'{v.sum():.1f}'\n    print(text)",  # somebody else might read the text
        "print(len(f'{v.sum():.1f}'))",
        "print({'sum': v.sum()})",
        "print(float(v.sum()))",
        "jax.jit(lambda u: (print('traced'), u)[1])(v)",
    ],
)
def test_what_cannot_be_told_apart_is_said_by_python(ns: Namespace, body: str, tmp_path: Path, capsys: Any) -> None:
    define(ns, f"def f(v):\n    {body}\n    return v * 2", tmp_path)
    for _ in range(3):
        exec("y = f(x)", dict(ns))
        expected = capsys.readouterr().out
        jaxnb.stage("y = f(x)", ns)
        assert capsys.readouterr().out == expected


def test_a_function_under_jit_speaks_when_jax_traces_it(ns: Namespace, tmp_path: Path, capsys: Any) -> None:
    define(ns, "@jax.jit\ndef f(v):\n    print('traced')\n    return v * 2", tmp_path)
    said = []
    for _ in range(3):
        jaxnb.stage("y = f(x)", ns)
        said.append(capsys.readouterr().out)
    assert said == ["traced\n", "", ""]


def test_shapes_need_no_values(ns: Namespace, capsys: Any) -> None:
    cell = "y = x * 2\nprint('y', y.shape, f'{y.dtype} {len(y)}')\nz = y + 1"
    for turn in range(3):
        run = jaxnb.stage(cell, ns)
        assert run.pieces == 1 and run.reused == (turn > 0)
        assert capsys.readouterr().out == "y (3,) float32 3\n"


def test_a_run_that_fails_in_the_compiler_says_nothing_twice(ns: Namespace, tmp_path: Path, capsys: Any) -> None:
    define(ns, SAYING, tmp_path)
    with pytest.raises(ValueError, match="at the end"):
        jaxnb.stage("y = shape(x)\nraise ValueError('at the end')", ns)
    assert capsys.readouterr().out == "shape (3,)\n"


@pytest.mark.parametrize("action", ["always", "default", "ignore"])
def test_a_warning_is_given_when_the_filters_want_it(ns: Namespace, tmp_path: Path, action: Any) -> None:
    define(ns, "import warnings\ndef f(v):\n    warnings.warn(f'given for {v.shape}')\n    return v * 2", tmp_path)
    plain = dict(ns)
    counts = []
    for namespace, run in ((plain, lambda: exec("y = f(x)", plain)), (ns, lambda: jaxnb.stage("y = f(x)", ns))):
        given = []
        namespace["f"].__globals__.pop("__warningregistry__", None)
        for _ in range(3):
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter(action)
                run()
            given.append([str(item.message) for item in found])
        counts.append(given)
    assert counts[0] == counts[1]


@pytest.mark.parametrize("action", ["always", "default", "once"])
def test_a_warning_that_the_cell_records_is_not_given_elsewhere(ns: Namespace, tmp_path: Path, action: str) -> None:
    define(ns, "import warnings\ndef f(v):\n    warnings.warn(f'given for {v.shape}')\n    return v * 2", tmp_path)
    cell = f"""
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter({action!r})
    y = f(x) + f(x)
texts = [str(item.message) for item in caught]"""
    ns["warnings"] = warnings
    plain = dict(ns)
    for turn in range(3):
        with warnings.catch_warnings(record=True) as elsewhere:
            warnings.simplefilter("always")
            exec(cell, plain)
            run = jaxnb.stage(cell, ns)
        assert ns["texts"] == plain["texts"] and elsewhere == []
        assert run.reused == (turn > 0)


def test_objects_without_a_state_do_not_cost_the_reuse_of_a_program(ns: Namespace) -> None:
    exec("import operator, types\nfirst = operator.itemgetter(0)\nshown = types.MappingProxyType({'w': x})", ns)
    exec("class Mark:\n    __slots__ = ()\nmark = Mark()", ns)
    for turn in range(4):
        run = jaxnb.stage("y = first([x * 2, mark])\nz = shown['w'] + y\nkept = types.MappingProxyType({'z': z})", ns)
        assert run.reused == (turn > 0) and not run.findings
        assert np.array_equal(ns["kept"]["z"], 3 * ns["x"])
        ns["shown"] = types.MappingProxyType({"w": ns["x"] + 1 - 1})


def test_what_a_function_might_do_does_not_count_before_it_does_it(ns: Namespace) -> None:
    exec("import os, time", ns)
    text = """
def f(v, timed=False, saves=False):
    begun = time.perf_counter() if timed else 0.0
    if saves:
        np.save('out.npy', np.ones(3))
    first = next(iter({'a': v}.values()))
    return first * 2 + (time.perf_counter() - begun if timed else 0.0) * 0
def g(n, v):
    g(n - 1, v) if n else None
    return v * n
"""
    exec(text, ns)
    for turn in range(3):
        run = jaxnb.stage("y = f(x)\nz = g(3, x)", ns)
        assert run.pieces == 1 and not run.on_host and run.reused == (turn > 0)
    assert jaxnb.stage("y = f(x, timed=True)", ns).on_host and jaxnb.stage("y = f(x, saves=True)", ns).on_host
    assert os.path.exists("out.npy")


def test_a_long_chain_of_functions_is_walked(ns: Namespace) -> None:
    text = "\n".join(f"def f{n}(v): return f{n + 1}(v) if v is None else v * k + {n}" for n in range(3000))
    exec(f"{text}\ndef f3000(v): return v\nk = jnp.float32(2.0)", ns)
    for k in (2.0, 3.0):
        ns["k"] = jnp.float32(k)
        jaxnb.stage("y = f1(x)", ns)
        assert ns["y"].tolist() == [1, k + 1, 2 * k + 1]


def test_a_destructor_runs_once(ns: Namespace) -> None:
    exec("gone = []\nclass D:\n    def __init__(self, v): self.v = v\n    def __del__(self): gone.append(1)", ns)
    for turn in (1, 2, 3):
        jaxnb.stage("d = D(x)\ny = d.v * 2\ndel d\nz = y + 1", ns)
        assert ns["gone"] == [1] * turn


def test_the_environment_is_noticed_in_long_sessions(ns: Namespace, tmp_path: Path) -> None:
    """CPython 3.13 remembers an item of a class, and forgets to look again once the class was changed 1,000 times."""
    define(ns, "import os\ndef f(v): return v * len(os.environ.get('PATH', ''))", tmp_path)
    kind = type(os.environ)
    original = kind.__getitem__
    for turn in range(1200):
        kind.__getitem__ = (lambda self, key: original(self, key)) if turn % 2 == 0 else original  # type: ignore[method-assign]
        os.environ.get("PATH")
    for _ in range(50):
        os.environ.get("PATH")
    run = jaxnb.stage("y = f(x)", ns)
    assert "it reads os.environ" in run.line


COLLECTED = """
import gc, os, sys, time
pauses, K = [], jnp.float32(2.0)
def timed(phase, info): pauses.append(time.perf_counter())
class Timer:
    def __call__(self, phase, info): self.last = self.clock()
    def clock(self): return time.time()
    def say(self, phase, info): print(".", end="", file=sys.stderr) or os.stat(".")
called = Timer()
said = called.say
def f(v):
    for turn in range(5):
        v = v * K + len([[i] for i in range(turn)])
    return v
"""


@pytest.mark.parametrize("callback", ["timed", "called", "said"])
def test_what_the_garbage_collector_calls_is_not_the_doing_of_the_cell(
    ns: Namespace, tmp_path: Path, callback: str
) -> None:
    define(ns, COLLECTED, tmp_path)
    gc.callbacks.append(ns[callback])
    thresholds = gc.get_threshold()
    gc.set_threshold(1)
    try:
        run, again = jaxnb.stage(text := "y = f(x) * 2", ns), jaxnb.stage(text, ns)
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(ns[callback])
    assert (run.pieces, run.on_host, again.reused) == (1, (), True), run.line


def test_a_callback_of_the_garbage_collector_that_the_cell_calls_is_its_doing(ns: Namespace, tmp_path: Path) -> None:
    define(ns, COLLECTED + "def g(v): return v * (timed('start', {}) or 1)", tmp_path)
    gc.callbacks.append(ns["timed"])
    try:
        run = jaxnb.stage("y = g(x)", ns)
    finally:
        gc.callbacks.remove(ns["timed"])
    assert run.pieces == 0 and "it reads a clock" in run.line


IMPORTED = """
import jax.numpy as jnp
CALLS, RATE, W = [], 2.0, jnp.ones(3)
def h(v):
    CALLS.append(1)
    return v * RATE + W
"""
IMPORTING = """
import jax.numpy as jnp
x = jnp.arange(3.0)
def run(v):
    import imported_late
    return imported_late.h(v)
def late(v):
    try:
        import imported_never
    except ImportError:
        from imported_late import RATE
        return v * RATE
"""


def test_a_module_that_a_traced_function_imports_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "imported_late.py").write_text(IMPORTED)
    monkeypatch.syspath_prepend(str(tmp_path))
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(IMPORTING, names)
    try:
        for rate, reused in ((2.0, False), (2.0, True), (3.0, True)):
            run = jaxnb.stage("y = run(x)\nz = late(x)", names)
            module = sys.modules["imported_late"]
            np.testing.assert_allclose(names["y"], names["x"] * rate + 1)
            np.testing.assert_allclose(names["z"], names["x"] * rate)
            assert run.reused == reused and not run.host_lines
            assert type(module.W) is type(names["x"]) and not isinstance(module.W, jax.core.Tracer)
            if reused:
                module.RATE = 3.0
        assert len(module.CALLS) == 3
    finally:
        del sys.modules["imported_late"]
