"""Cells that are traced once for all sizes: at each size they bind what the plain cell binds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb
from jaxnb.api import new_session
from jaxnb.staging import Run, use_session

SIZES = (16, 8, 16)
WHERE = ("b >= 1", "mod(b, 8) == 0")


@pytest.fixture(autouse=True)
def session() -> Iterator[None]:
    use_session(new_session())
    yield


def data(b: int) -> dict[str, Any]:
    keys = jax.random.split(jax.random.key(b), 8)
    return {
        "jax": jax,
        "jnp": jnp,
        "np": np,
        "x": jax.random.normal(keys[0], (b, 12)),
        "y": jax.random.randint(keys[1], (b,), 0, 10),
        "w": jax.random.normal(keys[2], (12, 10)) * 0.1,
        "params": {"w1": jax.random.normal(keys[2], (12, 6)), "w2": jax.random.normal(keys[3], (6, 10))},
        "images": jax.random.normal(keys[4], (b, 8, 8, 1)),
        "kernel": jax.random.normal(keys[5], (3, 3, 1, 4)),
        "half": jax.random.normal(keys[6], (b, 4), jnp.bfloat16),
        "batch": {"x": jax.random.normal(keys[7], (b, 3)), "n": 2},
        "key": jax.random.key(7),
        "seen": [],
        "rate": 0.5,
    }


def same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, jax.Array):
        assert (one.shape, one.dtype, one.weak_type) == (other.shape, other.dtype, other.weak_type)
        tolerance = 2e-2 if one.dtype == jnp.bfloat16 else 1e-5
        if jnp.issubdtype(one.dtype, jnp.inexact):
            a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
            np.testing.assert_allclose(a, b, tolerance, tolerance)
        else:
            assert np.array_equal(one, other)
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for name in one:
            same(one[name], other[name])
    elif not callable(one):
        assert one == other


def runs(source: str, shapes: dict[str, str], where: tuple[str, ...] = WHERE, sizes: Any = SIZES) -> list[Run]:
    """Runs a cell at several sizes, plainly and staged, and compares what they bind."""
    found: list[Run] = []
    for size in sizes:
        plain, staged = data(size), data(size)
        code = compile(source, "<plain>", "exec")
        exec(code, plain)
        found.append(jaxnb.stage(source, staged, shapes=shapes, where=where))
        names = set(plain) - {"__builtins__"}
        assert names == set(staged) - {"__builtins__", "__name__"}
        for name in sorted(names - {"jax", "jnp", "key", "np"}):
            same(staged[name], plain[name])
    return found


CELLS: dict[str, tuple[str, dict[str, str]]] = {
    "mlp": (
        """
def loss_of(params):
    hidden = jnp.tanh(x @ params["w1"])
    logits = jax.nn.log_softmax(hidden @ params["w2"])
    return -jnp.mean(logits[jnp.arange(len(y)), y])

loss, grads = jax.value_and_grad(loss_of)(params)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
""",
        {"x": "b, 12", "y": "b"},
    ),
    "attention": (
        """
q, k, v = x[:, :4], x[:, 4:8], x[:, 8:]
weights = jax.nn.softmax(q @ k.T / jnp.sqrt(4.0), axis=-1)
out = weights @ v
causal = jnp.where(jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool)), weights, 0)
""",
        {"x": "b, 12"},
    ),
    "shapes": (
        """
twice = jnp.concatenate([x, x[::-1]])
tiles = x.reshape(x.shape[0] // 8, 8, 12)
flat = x.reshape(x.shape[0] // 8, 8 * 12).T
stacked = jnp.stack([x, x], axis=1).reshape(2 * x.shape[0], -1)
padded = jnp.pad(x, ((1, 2), (0, 0)))
tail, head, every = x[-3:], x[:8], x[::2]
""",
        {"x": "b, 12"},
    ),
    "numbers": (
        """
n = x.shape[0]
share = 1 / n
pair = (n, n * 2, [n // 8, {"n": n}], -n, n % 3)
root, most, half = n**0.5, 100.0 - n, n / 2
total = jnp.sum(x) / n
scaled = x * (2.0 / n)
seen.append(n)
size, rank, shape = x.size, x.ndim, x.shape
count = len(x) + len(params)
kind = isinstance(n, int), type(n), isinstance(n, float)
large = n >= 8
least, greatest, three = min(n, 12), max(20, n), min(1, 2, 3)
some = x[: min(n, 12)]
if n % 8:
    odd = True
whole = bool(n)
""",
        {"x": "b, 12"},
    ),
    "means": (
        """
mean, var, std = x.mean(0), x.var(axis=0), jnp.std(x)
normal = (x - mean) / jnp.sqrt(var + 1e-5)
most, where_most, order = x.max(0), jnp.argmax(x, 0), jnp.argsort(x, 0)
sums = jnp.cumsum(x, 0)
hot = jax.nn.one_hot(y, 10)
correct = jnp.mean(jnp.argmax(x @ w, -1) == y)
""",
        {"x": "b, 12", "y": "b"},
    ),
    "scan": (
        """
def step(carry, row):
    carry = 0.9 * carry + row
    return carry, carry.sum()

last, sums = jax.lax.scan(step, jnp.zeros(12), x)
mapped = jax.vmap(lambda row, label: row.sum() * label)(x, y)
looped = jax.lax.fori_loop(0, x.shape[0], lambda i, s: s + x[i].sum(), 0.0)
""",
        {"x": "b, 12", "y": "b"},
    ),
    "conv": (
        """
out = jax.lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
pooled = jax.lax.reduce_window(out, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
flat = jax.nn.relu(pooled).reshape(images.shape[0], -1)
""",
        {"images": "b, 8, 8, 1"},
    ),
    "random": (
        """
noise = jax.random.normal(key, x.shape)
noisy, keep = x + noise, jax.random.bernoulli(key, 0.5, x.shape)
""",
        {"x": "b, 12"},
    ),
    "low": ("z = half * 2 + 1\ns = half.sum()\nm = jnp.mean(half, dtype=jnp.float32)\n", {"half": "b, 4"}),
    "leaf": ("out = batch['x'] * batch['n']\nbatch['mean'] = out.mean(0)\n", {"batch['x']": "b, 3"}),
    "alias": ("z = x\nt = (x, [z])\ndel w\n", {"x": "b, 12"}),
    "expression": ("z = x[:, None, :] * 2\nm = z.sum()\n", {"x": "8*k, 12"}),
    "made": (
        """
e, a = jnp.eye(x.shape[0]), jnp.arange(x.shape[0]) / len(x)
r, s = jnp.sqrt(x.shape[0]), jnp.asarray(x.shape[0])
""",
        {"x": "b, 12"},
    ),
    "einsum": (
        """
g, h = jnp.einsum("bi,bj->ij", x, x), jnp.einsum("bi,io->bo", x, w)
r = jnp.repeat(x, 2, axis=0)
""",
        {"x": "b, 12"},
    ),
    "jitted": (
        """
f = jax.jit(lambda v: v / v.shape[0])
z = f(x)
c = jax.checkpoint(lambda v: jnp.sin(v).sum())(x)
""",
        {"x": "b, 12"},
    ),
    "scalars": (
        """
step = rate / x.shape[0]
part, double = x.shape[0] * rate, rate * 2
w = w - step * w
rest, odd = divmod(part, 0.3), abs(-part)
kinds = isinstance(step, float), type(part), isinstance(rest[0], int)
less = step < 3
""",
        {"x": "b, 12"},
    ),
    "rest": ("t = x.reshape(-1, 8, 12)\nu = x.reshape(x.shape[0] // 8, -1)\nv = x.reshape(8, -1)\n", {"x": "b, 12"}),
    "objects": (
        """
class Model:
    def __init__(self, rows):
        self.rows, self.half = rows, rows / 2

def rows_of(v):
    return lambda: v.shape[0] * 2

model = Model(x.shape[0])
z = x * model.half
rows, half, made = model.rows, model.half, rows_of(x)
doubled = made()
seen.append((len(x), z.sum()))
params["rows"] = x.shape
like = jax.ShapeDtypeStruct(x.shape, x.dtype).shape
del model, Model, made
""",
        {"x": "b, 12"},
    ),
    "flow": (
        """
z = jax.lax.cond(x.sum() > 0, lambda v: v * 2, lambda v: v, x)
turned = jax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2), (0, x))
grads = jax.grad(lambda v: jnp.sum(v * v) / v.shape[0])(x)
outer = jax.jit(lambda v, n: v / n, static_argnums=1)(x, x.shape[0])
""",
        {"x": "b, 12"},
    ),
    "numpy of shapes": (
        """
n = np.prod(x.shape)
m, k, total, only = n * 2, n // 4 + 1, np.sum(x.shape), np.prod(y.shape)
z, u, small = x.reshape(np.prod(x.shape)), x / np.prod(x.shape), y.astype(jnp.int8) * n
asked = isinstance(n, int), isinstance(n, np.integer), isinstance(m, np.int64)
del np
""",
        {"x": "b, 12", "y": "b"},
    ),
    "math": (
        """
import math
root = math.sqrt(x.shape[0])
scale, z = 1 / math.sqrt(12 * len(x) + 1.0), x / root
more, whole, kind = math.log(len(x)) * 2, math.ceil(len(x)), isinstance(root, float)
del math
""",
        {"x": "b, 12"},
    ),
    "large": (
        "n = x.shape[0] * 1000\nN = n**9\nq, r, least = N // 7, N % 1000, min(N, 5)\nz = x * 2\n",
        {"x": "b, 12"},
    ),
    "parts": (
        "a, b = jnp.split(x, 2), jnp.array_split(x, 4)\nc = x if x.shape[0] % 4 == 0 else w\n",
        {"x": "b, 12"},
    ),
    "said": ("z = x * 2\nprint(f'{x.shape[0]} rows', x.shape, len(x))\n", {"x": "b, 12"}),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_binds_at_each_size_what_the_plain_cell_binds(name: str) -> None:
    source, shapes = CELLS[name]
    where = WHERE if any("b" in sizes for sizes in shapes.values()) else ()
    found = runs(source, shapes, where)
    assert [run.reused for run in found] == [False, True, True]
    assert [bool(run.all_sizes) for run in found] == [True, True, False]


def test_what_is_printed_is_printed_at_each_size(capsys: pytest.CaptureFixture[str]) -> None:
    for size in (16, 8, 16):
        jaxnb.stage(CELLS["said"][0], data(size), shapes={"x": "b, 12"})
        assert capsys.readouterr().out == f"{size} rows ({size}, 12) {size}\n"


def test_what_stands_before_the_arrays_may_be_a_program_of_its_own() -> None:
    source = "s = jnp.float32(2) * rate\nprint('now')\nz = x * s\nlast = [1, 2]\nprint('then')\n"
    found = runs(source, {"x": "b, 12"}, (), (4, 8, 4))
    assert [run.reused for run in found] == [False, True, True] and found[0].pieces == 2


def test_two_names_may_be_equal() -> None:
    found = runs("z = x[:, 0] + y\n", {"x": "b, 12", "y": "c"}, ("b == c",), (4, 6))
    assert [run.reused for run in found] == [False, True]


def test_the_cell_is_traced_once_for_all_sizes_and_compiled_once_for_each() -> None:
    lines, traced, compiled = list[str](), list[bool](), list[bool]()
    for size in (16, 8, 16, 24, 8):
        run = jaxnb.stage("z = jnp.tanh(x)", data(size), shapes={"x": "b, 12"})
        lines.append(str(run))
        traced.append(run.timings.trace > 0)
        compiled.append(run.timings.compile > 0)
    assert traced == [True, False, False, False, False]
    assert compiled == [True, True, False, True, False]
    assert "● traced for all b · trace " in lines[0] and "for b=16, dispatched" in lines[0]
    assert "✓ traced for all b · compile" in lines[1] and "for b=8, dispatched" in lines[1]
    assert "✓ reused · dispatched" in lines[2] and "✓ reused · dispatched" in lines[4]
    assert "✓ traced for all b · compile" in lines[3] and "trace " not in lines[3]


def test_what_the_cell_compares_is_answered_for_the_sizes_that_are_there() -> None:
    source = "n = x.shape[0]\nz = x * 2 if n == 16 else x\nq = n in (8, 24)\n"
    found = runs(source, {"x": "b, 12"}, (), (4, 16, 8, 32, 16))
    assert "b=16 alone: line 2 asks whether b == 16" in str(found[1])
    assert "b=8 alone: line 3 asks whether b == 8" in str(found[2])
    assert found[3].reused and found[4].reused


def test_a_number_that_a_program_cannot_hold_is_answered_for_the_sizes_that_are_there() -> None:
    found = runs("n = x.shape[0] * 1000\nN = n**3\nz = x * (1 / N)\n", {"x": "b, 12"}, (), (1, 16, 1, 16))
    assert found[0].all_sizes and "b=16 alone: 1000000000*b^3 is 4096000000000, more than int32 holds" in str(found[1])
    assert found[2].reused and found[3].reused


@pytest.mark.parametrize("magic", ["gradient", "donate", "name", "keep", "time"])
def test_other_options_go_with_it(magic: str) -> None:
    options: dict[str, dict[str, Any]] = {
        "gradient": {"loss": "loss", "wrt": "w"},
        "donate": {"donate": "w"},
        "name": {"name": "f"},
        "keep": {"keep": "loss"},
        "time": {"time": True},
    }
    for size in (16, 8, 16):
        names = data(size)
        x, weights = names["x"], jnp.asarray(np.asarray(names["w"]))
        source = "loss = jnp.mean((x @ w) ** 2)\nw = w * 2\n"
        run = jaxnb.stage(source, names, shapes={"x": "b, 12"}, **options[magic])
        np.testing.assert_allclose(names["loss"], jnp.mean((x @ weights) ** 2), rtol=1e-5)
        if magic == "gradient":
            wanted = jax.grad(lambda w, x=x: jnp.mean((x @ w) ** 2))(weights)
            np.testing.assert_allclose(names["d_w"], wanted, rtol=1e-4, atol=1e-5)
        if magic == "name":
            other = data(24)
            assert names["f"](x=other["x"], w=other["w"])["loss"].shape == ()
        assert run.sizes == f"b={size}"


def test_a_dtype_that_changes_traces_again_and_the_line_says_why() -> None:
    jaxnb.stage("z = x @ w", data(16), shapes={"x": "b, 12"})
    other = {**data(8), "w": data(8)["w"].astype(jnp.bfloat16)}
    run = jaxnb.stage("z = x @ w", other, shapes={"x": "b, 12"})
    assert not run.reused and "retraced: w float32[12,10] → bfloat16[12,10]" in str(run)
