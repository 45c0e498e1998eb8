"""Loops as people write them: each written out where it is small, and once more run in turns."""

from __future__ import annotations

from dataclasses import replace

from .case import Case

__all__ = ["CASES"]

DATA = """\
rng = np.random.default_rng(0)
batches = [(rng.normal(size=(8, 3)).astype(np.float32), rng.normal(size=8).astype(np.float32)) for _ in range(6)]
ragged = [*batches[:3], (batches[3][0][:5], batches[3][1][:5])]
def loss_fn(v, a, b):
    return jnp.mean((jnp.tanh(a @ w) @ v - b) ** 2)
def step(v, a, b, rate=0.1):
    value, grad = jax.value_and_grad(loss_fn)(v, a, b)
    return v - rate * grad, value
v = x
losses, log = [], {}
"""

WRITTEN = [
    Case("loop-over-batches", cell="for a, b in batches:\n    v, value = step(v, a, b)\n    losses.append(value)"),
    Case("loop-over-ragged-batches", cell="for a, b in ragged:\n    v, value = step(v, a, b)"),
    Case(
        "loop-with-enumerate", cell="for i, (a, b) in enumerate(batches):\n    v, value = step(v, a, b, 0.1 / (i + 1))"
    ),
    Case("loop-over-a-zip", cell="for a, (b, c) in zip(w, batches):\n    v = v + a * jnp.mean(b @ a)"),
    Case(
        "loop-with-a-float-total",
        cell="total = 0.0\nfor a, b in batches:\n    total += loss_fn(v, a, b)\nmean = total / 6",
    ),
    Case(
        "loop-with-an-int-count",
        cell="n = 0\nfor a, b in batches:\n    v, _ = step(v, a, b)\n    n += len(b)\nu = v * n",
    ),
    Case(
        "loop-that-logs-now-and-then",
        cell="for i in range(6):\n    v, u = step(v, *batches[i])\n    if i % 2 == 0:\n        losses.append(u)",
    ),
    Case(
        "loop-that-fills-a-dict",
        cell="for i, (a, b) in enumerate(batches):\n    v, value = step(v, a, b)\n    log[i] = value",
    ),
    Case(
        "loop-that-fills-a-dict-of-lists",
        setup="from collections import defaultdict\nseen = defaultdict(list)",
        cell="for a, b in batches:\n    v, u = step(v, a, b)\n    seen['loss'].append(u)\n    seen['v'].append(v[0])",
    ),
    Case("loop-with-text-keys", cell="for i in range(4):\n    v = v * 0.9\n    log[f'step {i}'] = v.sum()"),
    Case(
        "loop-that-stops-early",
        cell="""\
best = np.inf
for i, (a, b) in enumerate(batches):
    v, value = step(v, a, b)
    if value > best:
        break
    best = float(value)""",
    ),
    Case(
        "loop-that-skips",
        cell="for i, (a, b) in enumerate(batches):\n    if i == 2:\n        continue\n    v, value = step(v, a, b)",
    ),
    Case(
        "loop-with-an-else",
        cell="for a, b in batches:\n    v, value = step(v, a, b)\nelse:\n    u = v * 2",
    ),
    Case("loop-of-while", cell="i = 0\nwhile i < 5:\n    v = jnp.sin(v) + i\n    i += 1"),
    Case(
        "loop-of-while-on-a-value",
        cell="y = jnp.sum(x ** 2)\nwhile y > 0.1:\n    y = y * 0.5\n    losses.append(y)",
    ),
    Case(
        "loop-with-a-schedule",
        cell="rate = 0.5\nfor i, (a, b) in enumerate(batches):\n    v, _ = step(v, a, b, rate)\n    rate *= 0.9",
    ),
    Case(
        "loop-with-keys",
        setup="key = jax.random.key(0)",
        cell="for i in range(4):\n    key, sub = jax.random.split(key)\n    v = v + jax.random.normal(sub, (3,))",
    ),
    Case(
        "loop-with-folded-keys",
        setup="key = jax.random.key(0)",
        cell="for i in range(4):\n    v = v + jax.random.normal(jax.random.fold_in(key, i), (3,))",
    ),
    Case("loop-that-indexes", cell="y = jnp.zeros(6)\nfor i in range(6):\n    y = y.at[i].set(x[i % 3] * i)"),
    Case("loop-with-powers", cell="y = 0\nfor k in range(5):\n    y = y + x ** k"),
    Case("loop-over-sizes", cell="for n in (2, 3, 4):\n    losses.append(jnp.ones(n).sum() + x[0])"),
    Case("loop-over-names", cell="for name in ('a', 'b'):\n    log[name] = jnp.sum(x) * len(name)"),
    Case("loop-over-a-dict", cell="p = {'a': x, 'b': w}\nfor name, leaf in p.items():\n    p[name] = leaf * 0.5"),
    Case(
        "loop-over-floats",
        cell="for rate in (0.1, 0.2, 0.3):\n    u, value = step(v, *batches[0], rate)\n    losses.append(value)",
    ),
    Case("loop-over-numpy", cell="for t in np.linspace(0, 1, 5):\n    losses.append(jnp.sum(x * t))"),
    Case("loop-over-an-array", cell="for row in w:\n    v = v + row"),
    Case("loop-over-a-range-of-numpy", cell="for i in np.arange(4):\n    v = v * i + 1"),
    Case(
        "loop-in-a-loop",
        cell="""\
for epoch in range(2):
    total = 0.0
    for a, b in batches:
        v, value = step(v, a, b)
        total += value
    log[epoch] = total / len(batches)""",
    ),
    Case(
        "loop-in-a-loop-with-both-counters",
        cell="for i in range(3):\n    for j in range(3):\n        v = v + i * j * x\n    losses.append((i, v.sum()))",
    ),
    Case(
        "loop-with-a-branch-on-the-counter",
        cell="for i in range(4):\n    if i < 2:\n        v = v * 2\n    else:\n        v = v - 1",
    ),
    Case(
        "loop-that-prints",
        cell="for i, (a, b) in enumerate(batches):\n    v, value = step(v, a, b)\n    if i % 3 == 0:\n        print(i)",
    ),
    Case("loop-over-a-generator", cell="for a, b in (pair for pair in batches):\n    v, value = step(v, a, b)"),
    Case(
        "loop-over-a-loader",
        setup="""\
class Loader:
    def __init__(self, data):
        self.data = data
    def __len__(self):
        return len(self.data)
    def __iter__(self):
        for a, b in self.data:
            yield jnp.asarray(a), jnp.asarray(b)
loader = Loader(batches)""",
        cell="for a, b in loader:\n    v, value = step(v, a, b)\n    losses.append(value)",
    ),
    Case(
        "loop-that-moves-an-object-on",
        setup="""\
class State:
    def __init__(self):
        self.v, self.count, self.seen = x, 0, []
    def update(self, a, b):
        self.v, value = step(self.v, a, b)
        self.count += 1
        self.seen.append(value)
state = State()""",
        cell="for a, b in batches:\n    state.update(a, b)",
        probes=("state.count", "len(state.seen)"),
    ),
    Case(
        "loop-that-rebinds-a-list", cell="ys = [x]\nfor i in range(4):\n    ys = [*ys, ys[-1] * 0.5]\nu = jnp.stack(ys)"
    ),
    Case(
        "loop-that-reads-what-it-appended",
        cell="ys = [x]\nfor i in range(4):\n    ys.append(ys[-1] * 0.5)\nu = jnp.stack(ys)",
    ),
    Case(
        "loop-that-makes-functions",
        cell="fs = []\nfor i in range(3):\n    fs.append(lambda a, i=i: a * i)\nu = fs[2](x)",
    ),
    Case(
        "loop-with-a-try",
        cell="for i in range(3):\n    try:\n        v = v / i\n    except ZeroDivisionError:\n        v = v + 1",
    ),
    Case("loop-in-a-with", cell="with jax.named_scope('s'):\n    for i in range(3):\n        v = v + i"),
    Case("loop-that-binds-its-counter", cell="for i in range(3):\n    last = i\n    v = v + i\npair = (i, last)"),
    Case("loop-of-swaps", cell="a, b = x, x * 2\nfor _ in range(5):\n    a, b = b, a + b"),
    Case("loop-without-a-turn", cell="for a, b in batches[:0]:\n    v, value = step(v, a, b)\nu = v + 1"),
    Case("loop-with-one-turn", cell="for a, b in batches[:1]:\n    v, value = step(v, a, b)"),
    Case(
        "loop-that-slices-inside-of-a-call",
        cell="for i in range(3):\n    v, u = step(v, *batches[i])\n    losses.append(u * jnp.sum(w[i : i + 2]))",
    ),
    Case(
        "loop-that-slices-by-two-counters",
        setup="rows = jnp.arange(36.0).reshape(12, 3)",
        cell="for _ in range(2):\n    for i in range(3):\n        v = v + jnp.sum(rows[i * 4 : (i + 1) * 4]) * w[i]",
    ),
    Case(
        "loop-that-pops-before-it-reads",
        setup="todo = [3.0, 2.0, 1.0, 0.0]",
        cell="for i in range(2):\n    v = v * todo.pop() + todo[i]",
        again="todo[:] = [3.0, 2.0, 1.0, 0.0]",
    ),
    Case(
        "loop-whose-index-is-out-of-range",
        cell="for i in range(9):\n    v, value = step(v, *batches[i])",
        raises="IndexError",
    ),
    Case("loop-that-deletes", cell="for i in range(3):\n    t = x * i\n    v = v + t\n    del t"),
]

CASES = [
    case
    for written in WRITTEN
    for base in [replace(written, setup=DATA + str(written.setup), reused2=None, tolerance=1e-4, rule=7)]
    for case in (base, replace(base, name=f"{base.name}-in-turns", options={"roll": True}))
]
