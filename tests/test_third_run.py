"""An unchanged cell is not traced a third time, whatever it moves on itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
import pytest

from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.staging.session.session import Session

SETUP = "import jax, jax.numpy as jnp, numpy as np\nx = jnp.array([0.5, -1.0, 2.0])\n"

CELLS = {
    "equinox function in the cell": (
        "import equinox as eqx\nm = eqx.nn.Linear(3, 3, key=jax.random.key(0))",
        "@eqx.filter_jit\ndef step(m, x):\n    return m(x) * 2\nx = step(m, x) * 0.1",
    ),
    "equinox step in the cell": (
        "import equinox as eqx\nm = eqx.nn.MLP(3, 1, 8, 1, key=jax.random.key(0))",
        """\
@eqx.filter_jit
def step(m, x):
    loss, grad = eqx.filter_value_and_grad(lambda m: jnp.sum(m(x) ** 2))(m)
    return eqx.apply_updates(m, jax.tree.map(lambda g: -0.1 * g, grad)), loss
m, loss = step(m, x)""",
    ),
    "an array that was deleted": (
        "",
        "old = jnp.copy(x)\nold.delete()\ntry:\n    z = old + 1\nexcept RuntimeError:\n    z = x * 2\n"
        "x = z * 0.45\ndel old",
    ),
    "a counter": ("step = 0", "x = x * 0.9\nstep += 1\nrate = 0.1 / step"),
    "a counter of an object": (
        "class M:\n    def __init__(self):\n        self.w, self.calls = x, 0\n    def __call__(self, a):\n"
        "        self.calls += 1\n        return self.w * a\nm = M()",
        "y = m(x)",
    ),
    "lists in a dict": (
        "from collections import defaultdict\nlog = defaultdict(list)",
        "x = x * 0.9\nlog['a'].append(x.sum())\nlog['b'].append(x[0])",
    ),
    "the last of a list": ("hist = []", "y = x * 2\nhist.append(y.sum())\nlast = hist[-1]\nx = x * 0.9"),
    "the length of a list": ("hist = []", "y = x * 2\nhist.append(y.sum())\nn = len(hist)\nx = x * 0.9"),
    "the mean of a list": ("hist = []", "x = x * 0.9\nhist.append(x.sum())\nm = jnp.mean(jnp.stack(hist))"),
    "a list in a dict": (
        "hist = {'loss': []}",
        "x = x * 0.9\nhist['loss'].append(x.sum())\nlast = hist['loss'][-1]",
    ),
    "a list that feeds itself": ("path = [x]", "y = jnp.sin(x)\npath.append(path[-1] * 0.9)\nz = y + 1"),
    "a queue": (
        "from collections import deque\nd = deque(maxlen=3)",
        "x = x * 0.9\nd.append(x.sum())\nm = sum(d) / len(d)",
    ),
    "a key by the length of a list": (
        "hist, key = [], jax.random.key(0)",
        "k = jax.random.fold_in(key, len(hist))\nhist.append(jax.random.normal(k))\nx = x * 0.9",
    ),
    "a default list": (
        "def f(x, acc=[]):\n    acc.append(x.sum())\n    return x * len(acc)",
        "y = f(x)\nx = x * 0.9",
    ),
    "a counter of a module": (
        "from flax import nnx\nclass M(nnx.Module):\n    def __init__(self, rngs):\n"
        "        self.l, self.calls = nnx.Linear(3, 3, rngs=rngs), 0\n    def __call__(self, a):\n"
        "        self.calls += 1\n        return self.l(a)\nm = M(nnx.Rngs(0))",
        "y = m(x)",
    ),
    "a counter that decides": (
        "step, log = 0, []",
        "x = x * 0.9\nstep += 1\nif step % 2 == 0:\n    log.append(x.sum())",
    ),
    "a counter that picks": ("i, data = 0, [x, x + 1, x + 2]", "b = data[i % 3]\ny = jnp.sin(b)\ni += 1"),
    "a dict by epoch": ("log, epoch = {}, 0", "x = x * 0.9\nlog[epoch] = x.sum()\nepoch += 1"),
    "a dict by text": ("log, n = {}, 0", "x = x * 0.9\nlog[f'epoch {n}'] = x.sum()\nn += 1"),
    "a dict that comes to rest": ("log = {}", "x = x * 0.9\nlog['loss'] = x.sum()\nlog['n'] = 3"),
    "a trainer": (
        "class T:\n    def __init__(self):\n        self.log, self.epoch = {}, 0\n    def fit(self, x):\n"
        "        y = jnp.sin(x)\n        self.log[self.epoch] = y.sum()\n        self.epoch += 1\n        return y\n"
        "t = T()",
        "x = t.fit(x)",
    ),
    "an object that counts in a list": (
        "class T:\n    def __init__(self):\n        self.v, self.n, self.seen = x, 0, []\n    def step(self):\n"
        "        self.v = self.v * 0.9\n        self.n += 1\n        self.seen.append(self.v.sum())\nt = T()",
        "t.step()\ny = t.v + 1",
    ),
    "a structured array": (
        "rec = np.zeros(3, dtype=[('a', 'f4'), ('b', 'i4')])",
        "y = x + jnp.asarray(rec['a'])\nrec['a'] += 1\nz = y * 2",
    ),
    "an archive": (
        "import tempfile\np = tempfile.gettempdir() + '/jaxnb_third.npz'\nnp.savez(p, a=np.ones(3, 'f4'))",
        "f = np.load(p)\ny = x + f['a']\nz = y * 2",
    ),
    "patience": (
        "best, patience = jnp.inf, 0",
        "l = jnp.sum(x ** 2)\nif l < best:\n    best, patience = l, 0\nelse:\n    patience += 1\nx = x * 0.9",
    ),
    "an average that begins with nothing": (
        "ema = None",
        "l = jnp.sum(x)\nema = l if ema is None else 0.9 * ema + 0.1 * l\nx = x * 0.9",
    ),
    "a list that Python appends to": (
        "import time\nerrs = []\ndef run():\n    time.time()\n    errs.append('a')",
        "y = x * 2\nrun()\nerrs[-1], y + 1",
    ),
    "a class of a helper's making": (
        "def make(n):\n    return type('K', (), {'n': n, 'a': jnp.ones(3)})",
        "kind = make(3); y = x * kind.n\nz = y + 1",
    ),
    "a text that Python makes": ("n = 0", "n += 1\ntext = '%d' % n\ntext, jnp.ones(2)"),
    "numbers that Python makes": (
        "step, rate = 0, lambda s: jnp.float32(s) * 0.1",
        "rates = [float(rate(step + i)) for i in range(4)]\nstep += 4\nr = rate(jnp.asarray(step))\n"
        "[round(v, 3) for v in rates], r",
    ),
    "a list of a class": (
        "class Hist(list):\n    def __init__(self):\n        super().__init__()\n        self.best = None\n"
        "    def append(self, v):\n        super().append(v)\n"
        "        self.best = v if self.best is None else jnp.minimum(self.best, v)\nh = Hist()",
        "h.append(x.sum())\nc = x.sum() + h.best\nlen(h), c",
    ),
    "a text of values": (
        "import json\nm = {'loss': x.mean(), 'hist': [x[0], x[1]]}\ndef encode(o):\n    return o.item()",
        "m['loss'] = m['loss'] * 0.5\ntext = json.dumps(m, default=encode)\nback = json.loads(text)\n"
        "text, jnp.asarray(back['hist']).sum()",
    ),
    "the type of a rate in a dict": (
        "s = {'lr': 0.5, 'n': 1, 'w': x}",
        "s = {'lr': s['lr'] * 0.9, 'n': s['n'] + 1, 'w': s['w'] * s['lr']}\n"
        "y = x * (1 if isinstance(s['lr'], float) else 2)\nkinds = [type(v).__name__ for v in s.values()]",
    ),
    "numbers among the leaves of a tuple": (
        "c = (1.0, x)",
        "c = (c[0] * 2, c[1] * c[0])\ny = x * sum(v if isinstance(v, float) else 0 for v in c)",
    ),
    "a method that asks for the type": (
        "class O:\n    lr = 0.5\n    def scale(self):\n        return 1 if isinstance(self.lr, float) else 5\no = O()\n"
        "o.lr = 0.5",
        "o.lr *= 0.9\ny = x * o.scale()",
    ),
    "items that are floats": (
        "row = {'lr': 0.5, 'w': x}",
        "row['lr'] = row['lr'] * 0.5\nfor k, v in row.items():\n    if isinstance(v, float):\n        row[k] = v + 1\n"
        "y = x * row['lr']",
    ),
    "match on the class of a number": (
        "s = {'lr': 0.5, 'n': 1}",
        "s = {'lr': s['lr'] * 0.9, 'n': s['n'] + 1}\nmatch s:\n    case {'lr': float() as v, 'n': int()}:\n"
        "        y = x * v\n    case _:\n        y = x",
    ),
    "a number that is asked for a shape": (
        "s = {'lr': 0.5, 'n': 1, 'w': x}",
        "s = {'lr': s['lr'] * 0.9, 'n': s['n'] + 1, 'w': s['w'] * s['lr']}\n"
        "y = x * s['lr']\nplain = [not hasattr(v, 'shape') for v in s.values()]",
    ),
    "scalars as NumPy and numbers see them": (
        "import numbers\ns = {'lr': 0.5, 'n': 1, 'w': x}",
        "s = {'lr': s['lr'] * 0.9, 'n': s['n'] + 1, 'w': s['w'] * s['lr']}\ny = x * s['lr']\n"
        "kinds = [(np.isscalar(v), isinstance(v, numbers.Real), np.ndim(v)) for v in s.values()]",
    ),
    "a library that asks for arrays": (
        "import equinox as eqx\ns = {'lr': 0.5, 'n': 1, 'w': x}",
        "s = {'lr': s['lr'] * 0.9, 'n': s['n'] + 1, 'w': s['w'] * s['lr']}\ny = x * s['lr']\n"
        "kinds = [eqx.is_array(v) for v in s.values()]",
    ),
    "the type of a copy": (
        "import dataclasses\n@dataclasses.dataclass\nclass S:\n    w: object\n    lr: float = 0.5\n"
        "    n: int = 0\ns = S(x)",
        "s = dataclasses.replace(s, w=s.w * s.lr, lr=s.lr * 0.9, n=s.n + 1)\nd = dataclasses.asdict(s)\n"
        "kinds = [type(v).__name__ for v in d.values()]",
    ),
    "the type of a number in a traced function": (
        "s = {'lr': 0.5}",
        "s['lr'] = s['lr'] * 0.9\nf = jax.jit(lambda v: v * (1 if isinstance(s['lr'] * 2, float) else 2))\ny = f(x)",
    ),
    "what JAX makes of a number is an array": (
        "s = {'lr': 0.5}",
        "s['lr'] = s['lr'] * 0.9\ny = jnp.sin(s['lr'] * 2) * x\na = jnp.asarray(s['lr'] * 2)\n"
        "kinds = [isinstance(a, jax.Array), isinstance(s['lr'] * 2, jax.Array)]",
    ),
    "a number that no array can hold": ("n = 2**40", "n += 1\ny = x + (n - 2**40)\nz = x * 2"),
    "a number below nothing": ("n = -3", "n += 1\ny = x + n\nz = x * 2"),
    "a number of an object that no array can hold": (
        "class S:\n    pass\ns = S()\ns.n = 2**40",
        "z = x * 2\ns.n += 1\ny = x + (s.n - 2**40)",
    ),
    "counters that a run makes": (
        "import collections\nstats = collections.Counter()",
        "for n in (1, 2):\n    y = x[:n] * 2\n    stats[n] += n",
    ),
    "counters of a class": (
        "class H:\n    acc, total = 0, 0\n    def step(self, v):\n        self.acc += v.sum() > 1\n"
        "        self.total += 1\nh = H()",
        "h.step(x)\nh.step(x)\nrate = h.acc / h.total",
    ),
    "a counter in a rule": (
        "n = 0\n@jax.custom_vjp\ndef f(v):\n    return v * 2\ndef back(res, g):\n    global n\n    n += 1\n"
        "    return (g * 2,)\nf.defvjp(lambda v: (v * 2, v), back)",
        "y, pull = jax.vjp(f, x)\na, b = pull(y), pull(y * 2)\ndel pull",
    ),
    "a list that a dict makes": (
        "log = {}",
        "for _ in range(2):\n    x = x * 0.9\n    log.setdefault('l', []).append(x.sum())",
    ),
    "a list that an object makes": (
        "class M:\n    def __init__(self):\n        self.log = {}\n    def add(self, v):\n"
        "        self.log.setdefault('l', []).extend([v, v + 1])\nm = M()",
        "m.add(x.sum())\ny = x + 1",
    ),
    "a list that a dict makes and that is read": (
        "log = {}",
        "for k in ('a', 'b'):\n    log.setdefault(k, []).append(x.sum())\nlast = log['a'][-1]\nx = x * 0.9",
    ),
    "a list of a module": (
        "import types\nmod = types.ModuleType('mod')\nmod.L = []",
        "mod.L.append(0)\ny = x * 2\nlast = mod.L, y",
    ),
    "a closure that begins with nothing": (
        "def adam():\n    m, n = None, 0\n    def step(g):\n        nonlocal m, n\n"
        "        m = g if m is None else 0.9 * m + 0.1 * g\n        n += 1\n"
        "        return -0.1 * m / (1 - 0.9 ** n)\n    return step\nopt = adam()",
        "for i in range(3):\n    x = x + opt(2 * x)",
    ),
    "a list of an object that is read": (
        "class A:\n    def __init__(self):\n        self.v, self.ops = x, []\n    def add(self, o):\n"
        "        self.v = jnp.tanh(self.v + o)\n        self.ops.append('add')\na = A()",
        "a.add(1)\na.add(2)\nlast = a.ops[-2:], a.v",
    ),
    "a list of an object that a method reads": (
        "class A:\n    def __init__(self):\n        self.v, self.ops = x, []\n    def add(self, o):\n"
        "        self.v = jnp.tanh(self.v + o)\n        self.ops.append('add')\n    def last(self):\n"
        "        return self.ops[-1]\na = A()",
        "a.add(1)\nz = a.v * 2\na.add(2)\nb = a.last()",
    ),
}


def check(name: str, setup: str, cell: str) -> list[Any]:
    """Runs a cell four times, plainly and staged, and compares the names; gives the runs."""
    plain, staged = {"__name__": "__main__"}, {"__name__": "__main__"}
    session, runs = new_session(), []
    for namespace in (plain, staged):
        exec(SETUP + setup, namespace)
    for _ in range(4):
        exec(cell, plain)
        runs.append(session.stage(cell, staged, StageOptions()))
        assert set(plain) == set(staged)
        for key in plain.keys() - {"__builtins__"}:
            compare(f"{name}: {key}", plain[key], staged[key])
    return runs


def compare(what: str, one: Any, other: Any) -> None:
    """Compares leaves and structures, and the state of objects."""
    assert type(one) is type(other) or type(one).__qualname__ == type(other).__qualname__, what
    if isinstance(one, dict | list | tuple | set):
        assert len(one) == len(other), what
        if isinstance(one, dict):
            assert list(one) == list(other), what
        pairs = (
            zip(one.values(), other.values(), strict=True) if isinstance(one, dict) else zip(one, other, strict=True)
        )
        for a, b in pairs:
            compare(what, a, b)
    elif isinstance(one, jax.Array | np.ndarray | float | int | str | bool):
        if isinstance(one, jax.Array):
            if jax.dtypes.issubdtype(one.dtype, jax.dtypes.prng_key):
                one, other = jax.random.key_data(one), jax.random.key_data(other)
            assert (one.dtype, one.shape, one.weak_type) == (other.dtype, other.shape, other.weak_type), what
        if isinstance(one, str) or getattr(one, "dtype", np.dtype(float)).names:
            assert (one == other) if isinstance(one, str) else (one == other).all(), what
        else:
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6, err_msg=what)
    elif type(one).__module__ == "__main__" and hasattr(one, "__dict__") and not isinstance(one, type):
        compare(what, vars(one), vars(other))


def test_what_comes_to_rest_stays_staged() -> None:
    runs = check("rest", *CELLS["a dict that comes to rest"])
    assert not runs[-1].on_host and runs[-1].pieces == 1


def test_only_what_reads_the_list_is_for_python() -> None:
    runs = check("last", *CELLS["the last of a list"])
    assert [line for line, _ in runs[-1].on_host] == [3] and "`hist`" in runs[-1].on_host[0][1]


@pytest.mark.parametrize("name", CELLS)
def test_a_third_run_is_reused(name: str) -> None:
    runs = check(name, *CELLS[name])
    assert all(run.reused for run in runs[2:]), [run.line for run in runs]
    assert all(finding.kind != "not-reusable" for run in runs for finding in run.findings)


@pytest.mark.parametrize("name", ["a counter", "a counter of a module", "an object that counts in a list"])
def test_what_only_counts_stays_staged(name: str) -> None:
    assert not check(name, *CELLS[name])[-1].on_host


def test_what_draws_from_the_state_of_an_object_is_for_python() -> None:
    setup = (
        "class Replay:\n    def __init__(self):\n"
        "        self.items, self.rng = [x * i for i in range(5)], np.random.default_rng(0)\n"
        "    def sample(self, n):\n"
        "        return jnp.stack([self.items[i] for i in self.rng.integers(len(self.items), size=n)])\n"
        "buffer, w = Replay(), x"
    )
    runs = check("w", setup, "batch = buffer.sample(2)\nw = w + batch.mean(0)\nn = len(buffer.items)")
    assert all(run.reused for run in runs[2:]) and "rng" in runs[-1].on_host[0][1]


def test_what_python_moves_on_is_for_python() -> None:
    runs = check("errs", *CELLS["a list that Python appends to"])
    assert [line for line, _ in runs[-1].on_host] == [3] and "`errs`" in runs[-1].on_host[0][1]


def test_what_comes_to_rest_in_python_stays_staged() -> None:
    runs = check("first", "n = 0", "first = 'yes' if n == 0 else 'no'\nn += 1\ny = x * len(first)")
    assert not runs[-1].on_host and runs[-1].pieces == 1 and all(run.reused for run in runs[2:])


@pytest.mark.parametrize(
    ("setup", "cell"),
    [
        (
            "state = {'w': x}",
            "state['w'] = state['w'] * 0.5\nout = sum(v.sum() for v in state.values())\nstate['extra'] = x + 1",
        ),
        ("state = {'w': x}", "for n in sorted(state):\n    state[n] = state[n] * 0.5\nstate['extra'] = state['w'] + 1"),
        ("class M: pass\nm = M(); m.train = True", "y = x * (2 if m.train else 3)\nm.train = False"),
        (
            "import collections",
            "def f(v: tuple[int, ...], w: int | None = None): return v * 2\nf.kind = list[int]\ny = f(x)",
        ),
    ],
)
def test_what_is_done_once_stays_staged(setup: str, cell: str) -> None:
    runs = check("once", setup, cell)
    assert not runs[-1].on_host and all(run.reused for run in runs[2:])


def test_a_mode_that_changes_in_each_turn_stays_staged() -> None:
    cell = (
        "for i in range(4):\n    m.train = True\n    y = x * (2 if m.train else 3)\n    if i % 2 == 1:\n"
        "        m.train = False\n        z = x * (2 if m.train else 3)\n        seen.append(float(z.sum()))"
    )
    runs = check("mode", "class M: pass\nm = M(); m.train = True\nseen = []", cell)
    assert {line for line, _ in runs[-1].on_host} <= {1, 4, 7} and runs[2].reused


def test_a_library_that_asks_for_the_type_of_a_rate_is_told() -> None:
    """`optax.inject_hyperparams` makes an array of what `hasattr` and `type` say is a float."""
    setup = (
        "import optax\nlr, params = 0.5, jnp.zeros(3)\ntx = optax.inject_hyperparams(optax.adam)(learning_rate=0.1)\n"
        "st = tx.init(params)"
    )
    check(
        "rate",
        setup,
        "lr = lr * 0.9\nst.hyperparams['learning_rate'] = lr\nup, st = tx.update(params + 1, st)\n"
        "params = params + up\nkind = type(st.hyperparams['learning_rate']).__name__",
    )


def test_what_somebody_else_has_changed_is_no_reason_for_python() -> None:
    session, names = new_session(), {"__name__": "__main__"}
    exec(SETUP + "track = {}", names)
    cell = "for k in ('a', 'b'):\n    track[k] = x * 2\nstate = x + 1"
    for change in ("", "", "del track['b']", "track.clear()", "track['c'] = x"):
        exec(change, names)
        run = session.stage(cell, names, StageOptions())
        assert not run.on_host, run.line


def test_a_list_that_a_dict_makes_stays_staged() -> None:
    runs = check("log", *CELLS["a list that a dict makes"])
    assert not runs[-1].on_host and runs[-1].pieces == 1


def test_a_closure_that_begins_with_nothing_stays_staged() -> None:
    runs = check("opt", *CELLS["a closure that begins with nothing"])
    assert not runs[-1].on_host and runs[-1].pieces == 1


@pytest.mark.parametrize(
    ("name", "line"), [("a list of an object that is read", 3), ("a list of an object that a method reads", 4)]
)
def test_only_what_reads_the_list_of_an_object_is_for_python(name: str, line: int) -> None:
    runs = check(name, *CELLS[name])
    assert [number for number, _ in runs[-1].on_host] == [line]


_RUN = "class R: pass\nrun = R(); run.w, run.step, run.log = x, 0, []"
_F = "def f(v):\n    f.seen.append(v.shape)\n    return jnp.sin(v)\nf.seen = []"
_BRANCH = "g = jnp.sin(run.w)\nrun.w = run.w - 0.1 * g\nrun.step += 1\nif run.step % 2 == 0: run.log.append(run.step)"
_WARM_UP = "g = jnp.sin(run.w)\nrun.step += 1\nlr = 0.1 * min(1.0, run.step / 100)\nrun.w = run.w - lr * g"
_LOOP = "for _ in range(3):\n    run.w = run.w * 0.9\n    run.step += 1\n    if run.step >= 500: print('x')"


@pytest.mark.parametrize(
    ("setup", "cell", "line"),
    [
        (_RUN, _BRANCH, 4),
        (_RUN, _WARM_UP, 3),
        (_RUN, _LOOP, 4),
        ("st = {'w': x, 'step': 0}", "st['w'] = st['w'] * 2\nst['step'] += 1\nif st['step'] % 100 == 0: print('x')", 3),
        (_F, "y = f(x)\nd = f.seen[-1]", 2),
    ],
)
def test_what_stands_beside_a_counter_is_staged(setup: str, cell: str, line: int) -> None:
    """An object that counts may hold arrays, too: only the statement that needs the number is for Python."""
    runs = check(setup, setup, cell)
    assert all(run.reused for run in runs[3:]) and [at for at, _ in runs[-1].on_host] == [line]


def test_a_number_in_the_structure_of_a_pytree_is_for_python() -> None:
    setup = (
        "from dataclasses import dataclass, replace\n@dataclass(frozen=True)\n"
        "class S:\n    h: jax.Array\n    t: float\n"
        "jax.tree_util.register_dataclass(S, data_fields=['h'], meta_fields=['t'])\ns = S(x, 0.0)"
    )
    runs = check("s", setup, "s = replace(s, h=s.h * 2, t=s.t + 0.1)")
    assert all(run.reused for run in runs[2:]) and "a number that each run changes" in runs[-1].on_host[0][1]


def test_what_staging_cannot_follow_is_for_python_from_the_third_run_on() -> None:
    setup = "import sqlite3\ndb = sqlite3.connect(':memory:')\nwith db:\n    db.execute('create table p (v real)')\n"
    cell = "y = x * sum(v for (v,) in db.execute('select v from p'))\nz = x + 1\nx = x * 0.9"
    change = "with db:\n    db.execute('insert into p values (1.5)')"
    runs = check_changes("y", setup, cell, [change, change], last="db.close()")
    assert all(run.reused for run in runs[2:]) and [line for line, _ in runs[-1].on_host] == [1]


def test_only_what_needs_a_number_that_python_moves_on_is_for_python() -> None:
    setup = "import types\nrot = types.SimpleNamespace(a=0.5)"
    runs = check("rot", setup, "y = jnp.sin(x + rot.a) * 2\nrot.a = (rot.a + 1.0) % 3\nz = y.sum(), round(rot.a, 2)")
    assert all(run.reused for run in runs[2:]) and [line for line, _ in runs[-1].on_host] == [3]


def test_what_the_user_changes_stays_staged() -> None:
    session, names = new_session(), dict[str, Any]()
    exec(SETUP + "cfg = {'mode': 'a'}", names)
    for mode in "abcd":
        names["cfg"]["mode"] = mode * ("abcd".index(mode) + 1)
        run = session.stage("text = f\"{cfg['mode']}!\"\ny = x * len(text)", names, StageOptions())
        assert not run.on_host and run.pieces == 1
        np.testing.assert_array_equal(names["y"], names["x"] * len(names["text"]))


CHANGED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "a number that becomes a NumPy array": (
        "s = 1.0",
        "a, b = jnp.asarray(s), jnp.asarray(s)\ny = x + 1\nsame = a is b",
        ("s = np.arange(3.0)", "s = s + 1"),
    ),
    "a number that becomes an array": (
        "s = 1.0",
        "a, b = jnp.asarray(s), jnp.asarray(s)\ny = x + 1\nsame = a is b",
        ("s = x + 0", "s = x + 1"),
    ),
    "a number that becomes one of NumPy": (
        "s = 1.0",
        "a, b = jnp.asarray(s), jnp.asarray(s)\ny = x + 1\nsame = a is b",
        ("s = np.float32(2)", "s = np.float32(3)", "s = np.float32(4)"),
    ),
    "a NumPy number that JAX makes an array of": (
        "r = np.arange(3.0)",
        "y = jnp.sin(x) + jnp.float32(r[0]) + jnp.asarray(r[1], jnp.float32) + jnp.asarray(r[2], jnp.complex64)",
        ("r = r + 1",),
    ),
    "a NumPy number that becomes an int": (
        "r = np.arange(3.0) + 0.99999999999",
        "y = x + jnp.int32(r[2]) + jnp.asarray(r, jnp.int32) + jnp.array(r, dtype=jnp.int8)",
        ("r = r + 1",),
    ),
}


def check_changes(name: str, setup: str, cell: str, changes: Sequence[str], last: str = "") -> list[Any]:
    """Runs a cell plainly and staged, before and after each change, and compares the names; gives the runs.

    What is left open is closed by `last`.
    """
    plain, staged = {"__name__": "__main__"}, {"__name__": "__main__"}
    session, runs = new_session(), []
    for namespace in (plain, staged):
        exec(SETUP + setup, namespace)
    for change in ("", "", *changes):
        exec(change, plain)
        exec(change, staged)
        exec(cell, plain)
        runs.append(session.stage(cell, staged, StageOptions()))
        for key in plain.keys() - {"__builtins__"}:
            compare(f"{name}: {key}", plain[key], staged[key])
    exec(last, plain)
    exec(last, staged)
    return runs


@pytest.mark.parametrize("name", CHANGED)
def test_what_changes_becomes_an_input(name: str) -> None:
    setup, cell, changes = CHANGED[name]
    runs = check_changes(name, setup, cell, (*changes, changes[-1]))
    assert runs[-1].reused, [run.line for run in runs]


def test_each_call_makes_an_array_of_what_is_none() -> None:
    cell = (
        "def f():\n    c = np.arange(3.0)\n    a, b = jnp.asarray(c), jnp.asarray(c)\n    return a, b, a is b\ny = f()"
    )
    runs = check_changes("calls", "", cell, [])
    assert runs[-1].reused and runs[-1].pieces == 1


ORDERS: dict[str, tuple[str, str, str, str]] = {
    "a dict": (
        "d = {'a': x, 'b': x}",
        "d['b'] = d.pop('b') * 2",
        "d = {'b': x, 'a': x}",
        "order = list(d)",
    ),
    "an object": (
        "class O: pass\no = O()\no.a = x\no.b = x",
        "t = o.b\ndel o.b\no.b = t * 2",
        "o = O()\no.b = x\no.a = x",
        "order = list(vars(o))",
    ),
    "sorted": (
        "d = {'a': x, 'b': x}",
        "items = sorted(d.items(), key=lambda item: item[0])\nd.clear()\nd.update(items)\nd['a'] = d['a'] * 2",
        "d = {'b': x, 'a': x}",
        "order = list(d)",
    ),
}


@pytest.mark.parametrize("name", ORDERS)
def test_a_key_is_moved_as_in_the_plain_cell(name: str) -> None:
    setup, cell, change, look = ORDERS[name]
    orders: list[list[Any]] = []
    for stages in (False, True):
        names, session, seen = {"__name__": "__main__"}, new_session(), list[Any]()
        exec(SETUP + setup, names)
        for before in ("", "", change, ""):
            exec(before, names)
            run = session.stage(cell, names, StageOptions()) if stages else exec(cell, names)
            exec(look, names)
            seen.append(names["order"])
        assert run is None or run.reused
        orders.append(seen)
    assert orders[0] == orders[1]


def test_what_is_called_by_turns_is_traced_once_each() -> None:
    """One function needs Python, the other does not: after a turn of each, nothing is traced or tried again."""
    names: dict[str, Any] = {"__name__": "__main__"}
    setup = """
def smooth(x):
    return x * 2
def stepped(x):
    if x[0] > 0:
        for i in range(2):
            x = x + i
    return x
"""
    exec(SETUP + setup, names)
    session = new_session()
    for run in range(8):
        names["f"] = names[("smooth", "stepped")[run % 2]]
        report = session.stage("z = x * 3\ny = f(z)\nw = y + 1", names, StageOptions())
        expected = names["f"](names["x"] * 3) + 1
        np.testing.assert_allclose(names["w"], expected)
        if run > 2:
            assert report.reused, f"run {run}: {report.line}"
        assert bool(report.on_host) == (run % 2 == 1)


def test_a_number_of_the_cell_that_the_user_has_changed_once_is_traced_for_once() -> None:
    runs = check_changes(
        "w", "lam = 6", "mu = lam // 2\nw = jnp.arange(1, mu + 1) * 2.0", ["lam = 8", "", "", "lam = 4"]
    )
    assert [run.reused for run in runs] == [False, True, False, True, True, False]
    assert not any(run.on_host for run in runs)


def test_a_number_beside_what_changes_its_type_by_turns_becomes_an_input() -> None:
    setup = (
        "class F:\n    def __init__(f): f.w, f.n = jnp.ones(4) / 4, 0\n"
        "    def resample(f): f.w = jnp.full(4, 0.25); f.n += 1\nf = F()"
    )
    cell = (
        "for t in range(3):\n    f.w = jax.nn.softmax(jnp.log(f.w) + jnp.arange(4.0))\n"
        "    if 1 / jnp.sum(f.w ** 2) < 2: f.resample()\n    m = f.w @ jnp.arange(4.0)"
    )
    runs = check("f", setup, cell)
    assert all(run.reused for run in runs[2:]), [run.line for run in runs]
