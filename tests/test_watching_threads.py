"""Another thread of the user looks at everything while cells are staged: it sees no tracer, and they are staged.

The thread walks from the names, and from the user's module, to all that they lead to, again and again. Each cell is
compared with the plain one, and is one piece that the second run reuses.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import gc
import sys
import threading
import time
import types
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import jaxnb
from jaxnb.staging.cells.referents import edges
from jaxnb.staging.objects.watchers import others_look


class Hunt:
    """What a thread saw that looks at all that some names lead to."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names, self.over, self.rounds, self.looks = names, threading.Event(), 0, 0
        self.seen: list[str] = []

    def look(self) -> None:
        while not self.over.is_set():
            self.rounds += 1
            known: set[int] = set()
            stack: list[tuple[str, Any]] = [("", self.names)]
            while stack:
                path, item = stack.pop()
                self.looks += 1
                if type(item) in weakref.ProxyTypes:
                    continue  # what it stands for may be gone
                if isinstance(item, jax.core.Tracer):
                    self.seen.append(path)
                if id(item) in known or isinstance(item, jax.Array | str | int | float):
                    continue
                known.add(id(item))
                module = getattr(item, "__name__", None) if isinstance(item, types.ModuleType) else None
                if isinstance(item, types.ModuleType):
                    if module == "helpers_of_the_user":
                        stack.append((f"{path}.", vars(item)))
                    continue
                with contextlib.suppress(RuntimeError):  # a dict that changes meanwhile
                    stack.extend((f"{path} {kind} {key}", child) for kind, key, child in edges(item))
                    if isinstance(item, types.FunctionType) and item.__module__ in ("__main__", "helpers_of_the_user"):
                        stack.append((f"{path} globals", item.__globals__))

    def look_once_more(self) -> None:
        """Waits for a whole round that begins now, however slow the machine is."""
        begun = self.rounds
        while self.rounds < begun + 2:
            time.sleep(1e-3)


@contextlib.contextmanager
def hunting(names: dict[str, Any]) -> Iterator[Hunt]:
    hunt = Hunt(names)
    thread = threading.Thread(target=hunt.look, daemon=True)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    thread.start()
    try:
        yield hunt
    finally:
        hunt.over.set()
        thread.join()
        sys.setswitchinterval(interval)


class Form(NamedTuple):
    """A form of cell.

    Attributes:
      setup: run before, as a cell of its own.
      cell: what is staged.
      shows: expressions that must give the same as in a plain session.
      change: what is done before the third run.
      again: what is done before the second.
      options: of the staged cell.
      needs: a package.
      pieces: how many there are.
    """

    setup: str
    cell: str
    shows: tuple[str, ...] = ("z",)
    change: str = ""
    again: str = ""
    options: dict[str, Any] = {}
    needs: str = "jax"
    pieces: int = 1


BEGIN = """
import dataclasses, functools
from functools import partial
import jax, jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
"""

HELPERS = """
import jax, jax.numpy as jnp
SCALE = jnp.ones(3) * 2
RATE = 0.5
CALLS = []
class Model:
    def __init__(self, w): self.w = w
    def __call__(self, x): return self.w * x * SCALE
def scaled(x): return x * SCALE * RATE
def maker(k):
    def inner(x): return scaled(x) * k
    return inner
"""

FORMS = {
    "names": Form("w = jnp.ones(3)\nrate = 0.5", "z = w * x * rate", change="w = w + 1; rate = 0.25"),
    "a dict and a list": Form(
        "p = {'w': jnp.ones(3), 'more': [jnp.ones(3), 0.5]}\nq = p['more']",
        "p['w'] = p['w'] * p['more'][1]\nq.append(p['w'].sum())\nz = p['more'][-1]",
        ("z", "p['w']", "len(q)", "q is p['more']", "q[-1]"),
        again="del q[2:]",
        change="p['w'] = p['w'] + 1; del q[2:]",
    ),
    "a helper function": Form(
        "w = jnp.ones(3)\ndef f(v): return g(v) * w\ndef g(v): return v + rate\nrate = 0.5",
        "z = jax.grad(lambda v: f(v).sum())(x)",
        change="w = w + 1; rate = 2.5",
    ),
    "a closure": Form(
        """
def make(w):
    n = jnp.zeros(())
    def step(v):
        nonlocal n
        n = n + w.sum()
        return w * v + n
    return step
step = make(jnp.ones(3))
""",
        "z = step(x)",
        ("z", "step.__closure__[0].cell_contents"),
    ),
    "defaults": Form("def f(v, w=jnp.ones(3), *, r=0.5): return v * w * r", "z = f(x)"),
    "a partial": Form("f = partial(lambda a, b, c: a * b + c, jnp.ones(3), c=0.5)", "z = f(x)"),
    "a bound method": Form(
        """
class M:
    def __init__(self): self.w, self.r = jnp.ones(3), 0.5
    def step(self, v):
        self.w = self.w + v * self.r
        return self.w.sum()
m = M()
step = m.step
""",
        "z = step(x)",
        ("z", "m.w"),
        change="m.r = 0.75",
    ),
    "methods that are handed on": Form(
        """
class M:
    def __init__(self): self.w = jnp.ones(3)
    def step(self, v): return self.w * v
m, rows = M(), []
step, add = m.step, rows.append
""",
        "held = step, add\nz = held[0](x)\nown = held[0].__self__ is m, held[1].__self__ is rows",
        ("z", "own", "(held[0] is step, held[0].__self__ is m, held[1] is add, held[1].__self__ is rows)"),
        again="m, rows = M(), []; step, add = m.step, rows.append",
        change="m, rows = M(), []; step, add = m.step, rows.append; m.w = m.w * 2",
    ),
    "a method that reads names": Form(
        """
w, rate = jnp.ones(3), 0.5
def scaled(v): return v * w
class M:
    def __init__(self): self.b = jnp.ones(3)
    def step(self, v): return scaled(v) * rate + self.b
    @staticmethod
    def twice(v): return v * w * 2
    @classmethod
    def thrice(cls, v): return v * w * 3
    @property
    def half(self): return self.b * w / 2
m = M()
""",
        "z = m.step(x) + M.twice(x) + m.thrice(x) + m.half",
        change="w = w + 1; rate = 0.25; m.b = m.b * 2",
    ),
    "a class attribute": Form(
        """
class C:
    rate = 0.5
    w = jnp.ones(3)
    @classmethod
    def step(cls, v): return cls.w * v * cls.rate
""",
        "z = C.step(x)",
    ),
    "a dataclass": Form(
        """
@dataclasses.dataclass
class S:
    w: object
    r: float = 0.5
    log: list = dataclasses.field(default_factory=lambda: [0])
s = S(jnp.ones(3))
other = {'s': s}
""",
        "s.w = s.w * s.r + x\ns.log[:] = [s.w.sum()]\nz = dataclasses.replace(s, r=0.25).w",
        ("z", "s.w", "len(s.log)", "other['s'] is s"),
        again="s.log[:] = [0]",
    ),
    "slots": Form(
        "class S:\n    __slots__ = ('w', 'r')\n    def __init__(self): self.w, self.r = jnp.ones(3), 0.5\ns = S()",
        "s.w = s.w * s.r + x\nz = s.w",
        ("z", "s.w", "s.r"),
    ),
    "a jitted method": Form(
        "class M:\n    def __init__(self): self.w = jnp.ones(3)\n    @partial(jax.jit, static_argnums=0)\n"
        "    def step(self, v): return self.w * v\nm = M()",
        "z = m.step(x)",
        change="m = M(); m.w = m.w * 3",
    ),
    "a jitted function": Form("w = jnp.ones(3)\n@jax.jit\ndef f(v): return v * w", "z = f(x) + 1"),
    "custom_vjp": Form(
        """
w = jnp.ones(3)
@jax.custom_vjp
def f(v): return v * w
f.defvjp(lambda v: (f(v), v), lambda v, g: (g * w * v,))
""",
        "z = jax.grad(lambda v: f(v).sum())(x)",
    ),
    "a helper module": Form(
        "import helpers_of_the_user as h\nfrom helpers_of_the_user import scaled, Model\nm = Model(jnp.ones(3))",
        "h.CALLS.append(1)\nz = scaled(x) + h.maker(0.5)(x) + m(x) + h.SCALE\nf = h.maker(2.0)",
        ("z", "len(h.CALLS)", "f(x)", "f.__globals__ is vars(h)", "isinstance(m, h.Model)"),
        again="h.CALLS.clear()",
        change="h.RATE = 0.25; h.CALLS.clear()",
    ),
    "what it makes": Form(
        "class M:\n    def __init__(self, w): self.w = w\nw = jnp.ones(3)\nkeep = [0]",
        "def f(v): return v * w\nm = M(x * 2)\nkeep[:] = [m]\nk = [m, f]\nz = f(x) + m.w",
        ("z", "f(x)", "k[0] is m", "k[1] is f", "keep[-1] is m", "f.__globals__ is globals()"),
        again="keep[:] = [0]",
    ),
    "a deque, a set and a named tuple": Form(
        "import collections\nd = collections.deque([x], maxlen=3)\nP = collections.namedtuple('P', 'w r')\n"
        "p = P(jnp.ones(3), 0.5)\nnames = {1, 2}",
        "d.append(p.w * p.r * x)\nnames.add(3)\nz = sum(d)",
        ("z", "len(d)", "sorted(names)", "p._fields == ('w', 'r')"),
        again="d.clear(); d.append(x); names.discard(3)",
        change="d.clear(); d.append(x)",
        pieces=2,
    ),
    "aliases": Form(
        "class Node:\n    def __init__(self): self.w, self.other = jnp.ones(3), None\na, b = Node(), Node()\n"
        "a.other, b.other = b, a\ntable = {a: 0.5, b: 0.25}",
        "a.other.w = a.w * table[b] + x\nz = b.w",
        ("z", "b.w", "a.other is b", "b.other is a", "table[a]"),
    ),
    "donated": Form(
        "w = jnp.ones(3)",
        "w = w * x + 1\nz = w.sum()",
        ("z", "w"),
        options={"donate": ("w",)},
        again="w = x + 1",
        change="w = x + 2",
    ),
    "nnx": Form(
        """
from flax import nnx
import optax
class Model(nnx.Module):
    def __init__(self, rngs): self.a, self.b = nnx.Linear(3, 4, rngs=rngs), nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, v): return self.b(jnp.tanh(self.a(v)))
model = Model(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
def loss_of(model, v): return (model(v) ** 2).mean()
""",
        "z, grads = nnx.value_and_grad(loss_of)(model, x)\noptimizer.update(model, grads)",
        ("z", "model.a.kernel[...]", "optimizer.step[...]"),
        needs="flax",
    ),
    "equinox": Form(
        """
import equinox as eqx, optax
model = eqx.nn.MLP(3, 1, 4, 1, key=jax.random.key(0))
optimizer = optax.adam(0.1)
state = optimizer.init(eqx.filter(model, eqx.is_array))
def loss_of(model, v): return (model(v) ** 2).mean()
""",
        "z, grads = eqx.filter_value_and_grad(loss_of)(model, x)\n"
        "updates, state = optimizer.update(grads, state)\nmodel = eqx.apply_updates(model, updates)",
        ("z", "model.layers[0].weight"),
        needs="equinox",
    ),
}


def made(setup: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    module = types.ModuleType("helpers_of_the_user")
    exec(HELPERS, vars(module))
    sys.modules[module.__name__] = module
    exec(BEGIN + setup, names)
    return names


@pytest.fixture
def a_helper_module() -> Iterator[None]:
    yield
    sys.modules.pop("helpers_of_the_user", None)


def same(form: Form, staged: dict[str, Any], plain: dict[str, Any], when: str) -> None:
    for text in form.shows:
        one, other = eval(text, staged), eval(text, plain)
        assert type(one) is type(other), (when, text)
        np.testing.assert_allclose(one, other, rtol=1e-5, err_msg=f"{when}: {text}")


@pytest.mark.usefixtures("a_helper_module")
@pytest.mark.parametrize("name", FORMS)
def test_a_thread_sees_no_tracer(name: str) -> None:
    form = FORMS[name]
    pytest.importorskip(form.needs)
    plain, staged = made(form.setup), made(form.setup)
    during = 0
    with hunting(staged) as hunt:
        for number, change in enumerate(("", form.again, form.change)):
            exec(change, plain)
            exec(change, staged)
            exec(form.cell, plain)
            looks = hunt.looks
            run = jaxnb.stage(form.cell, staged, **form.options)
            during += hunt.looks - looks
            same(form, staged, plain, f"{name}, run {number}")
            assert len(run.pieces if not isinstance(run.pieces, int) else range(run.pieces)) == form.pieces
            assert run.reused or number != 1, f"{name}: {run.retrace}"
        hunt.look_once_more()
    assert during > 0
    assert hunt.seen == []


def test_gradients_of_a_cell() -> None:
    names = made("p = {'w': jnp.ones(3), 'b': 0.5}")
    with hunting(names) as hunt:
        for _ in range(2):
            run = jaxnb.grad_cell("z = ((p['w'] * x + p['b']) ** 2).sum()", names, "z", ["p"])
        np.testing.assert_allclose(names["d_p"]["w"], 2 * (np.arange(3.0) + 0.5) * np.arange(3.0))
    assert hunt.seen == []
    assert run.reused


def test_a_cell_with_named_axes() -> None:
    names = made("w = jnp.ones((3, 2))")
    with hunting(names) as hunt:
        for _ in range(2):
            jaxnb.xmap_cell("y = jnp.dot(x, w, 'i')", names, "x[i], w[i, o] -> y[o]")
        np.testing.assert_allclose(names["y"], [3.0, 3.0])
    assert hunt.seen == []


def test_a_loop_whose_body_is_staged() -> None:
    names = made("w, seen = jnp.ones(3), []\ndef step(v): return v * rate + x\nrate = 0.5")
    plain = made("w, seen = jnp.ones(3), []\ndef step(v): return v * rate + x\nrate = 0.5")
    cell = "for i in range(40):\n    w = step(w)\n    if float(w.sum()) > 5.9:\n        seen.append(i)\nz = w * 2"
    with hunting(names) as hunt:
        for _ in range(2):
            jaxnb.stage(cell, names)
            exec(cell, plain)
            np.testing.assert_allclose(names["z"], plain["z"], rtol=1e-6)
            assert names["seen"] == plain["seen"]
    assert hunt.seen == []


def test_a_cell_that_fails() -> None:
    names = made("log, w = [], jnp.ones(3)\nclass M:\n    def __init__(self): self.w = w\nm = M()")
    before, w = dict(names), names["m"].w
    with hunting(names) as hunt:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                jaxnb.stage("m.w = m.w * 2\nlog.append(m.w)\nz = m.w / (1 // 0)", names)
            assert dict(names) == before and names["m"].w is w and names["log"] == []
    assert hunt.seen == []


def test_what_cannot_be_copied_is_pythons() -> None:
    setup = """
class Closed:
    def __init__(self): self.w = jnp.ones(3)
    def __del__(self): gone.append(1)
gone, c = [], Closed()
"""
    names = made(setup)
    with hunting(names) as hunt:
        run = jaxnb.stage("c.w = c.w + x\nz = c.w * 2", names)
    np.testing.assert_allclose(names["z"], 2 * (1 + np.arange(3.0)))
    assert "another thread is running" in str(run.on_host)
    assert names["gone"] == [] and hunt.seen == []


def test_a_timer_that_will_run_code_of_the_user_counts() -> None:
    names = made("w = jnp.ones(3)\ndef later(): return w")
    timer = threading.Timer(60, names["later"])
    assert not others_look({id(names)})
    timer.start()
    try:
        while not others_look({id(names)}):  # it may not have begun to wait yet
            pass
    finally:
        timer.cancel()
        timer.join()


def test_a_thread_that_calls_and_returns_all_the_time_is_seen_each_time() -> None:
    names = made("w = jnp.ones(3)")
    with hunting(names):
        assert all(others_look({id(names)}) for _ in range(3000))


def test_an_idle_pool_does_not_count() -> None:
    names = made("w = jnp.ones(3)")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(len, "a").result()
        assert not others_look({id(names), id(names["w"])})


def test_the_monitor_of_progress_bars_does_not_count() -> None:
    tqdm = pytest.importorskip("tqdm")
    for _ in tqdm.tqdm(range(1), disable=True):
        pass
    names: dict[str, Any] = {"__name__": "__main__"}
    exec("import jax, jax.numpy as jnp\nx, empty = jnp.arange(3.0), ()\nclass K: pass\nk = K(); k.of = k, empty", names)
    others = [thread for thread in threading.enumerate() if thread.name != "tqdm_monitor"]
    if len(others) == 1:
        assert not others_look({id(item) for item in (names, names["k"], names["empty"], names["k"].of)})


def test_a_callback_writes_to_what_the_user_holds() -> None:
    names = made("log = []\ndef note(v): log.append(float(v))\nx = jnp.arange(3.0)")
    with hunting(names):
        for turn in (1, 2, 3):
            jaxnb.stage("y = x * 2\njax.debug.callback(note, y.sum())\nz = y + 1", names)
            jax.effects_barrier()
            assert names["log"] == [6.0] * turn


@pytest.mark.parametrize("frozen", [False, True])
def test_tuples_that_a_thread_is_building_are_let_alone(frozen: bool) -> None:
    """CPython cannot finish a tuple that somebody else holds, as who asks the collector for all objects does."""
    failed: list[BaseException] = []
    over = threading.Event()

    def build() -> None:
        while not over.is_set():
            try:
                tuple(sum(range(500)) for _ in range(40))
            except SystemError as error:
                failed.append(error)

    names: dict[str, Any] = {"__name__": "__main__"}
    exec("import jax, jax.numpy as jnp\nx = jnp.ones(3)", names)
    thread = threading.Thread(target=build)
    if frozen:
        gc.freeze()
    thread.start()
    try:
        for number in range(6):
            jaxnb.stage(f"y = jax.nn.relu(x) * {number}\nz = [y]", names)
    finally:
        over.set()
        thread.join()
        gc.unfreeze()
    assert failed == []
