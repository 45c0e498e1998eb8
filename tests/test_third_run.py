"""An unchanged cell is not traced a third time, whatever it moves on itself."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from jaxnb.options import StageOptions
from jaxnb.running.session import Session

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
}


def check(name: str, setup: str, cell: str) -> list[Any]:
    """Runs a cell four times, plainly and staged, and compares the names; gives the runs."""
    plain, staged = {"__name__": "__main__"}, {"__name__": "__main__"}
    session, runs = Session(), []
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


def test_what_the_user_changes_stays_staged() -> None:
    session, names = Session(), dict[str, Any]()
    exec(SETUP + "cfg = {'mode': 'a'}", names)
    for mode in "abcd":
        names["cfg"]["mode"] = mode * ("abcd".index(mode) + 1)
        run = session.stage("text = f\"{cfg['mode']}!\"\ny = x * len(text)", names, StageOptions())
        assert not run.on_host and run.pieces == 1
        np.testing.assert_array_equal(names["y"], names["x"] * len(names["text"]))
