"""Cells that use a PRNG key twice, each with the same cell in order; and cells that only look as if they did."""

from __future__ import annotations

from findings.quietly import Case

__all__ = ["CLEAN", "SETUP", "TWICE"]

SETUP = """
import functools
import jax, jax.numpy as jnp
from jax import lax, random
key, raw, rbg = random.key(0), random.PRNGKey(0), random.key(0, impl="rbg")
x = jnp.arange(1.0, 9.0)
def noisy(k, v): return v + random.normal(k, v.shape)
@jax.jit
def jitted(k, v): return v + random.normal(k, v.shape)
class Net:
    def __init__(self): self.key = random.key(1)
net = Net()
"""

_SPLIT = "jax.random.split(key)"

TWICE: dict[str, Case] = {
    "two draws": Case(
        "a = random.normal(key, (3,))\nb = random.uniform(key, (3,))",
        2,
        "`key` was used on line 1 already",
        _SPLIT,
        "key, sub = random.split(key)\na = random.normal(key, (3,))\nb = random.uniform(sub, (3,))",
    ),
    "the same draw twice": Case(
        "a = random.normal(key)\nb = random.normal(key)",
        2,
        "on line 1",
        _SPLIT,
        "k1, k2 = random.split(key)\na = random.normal(k1)\nb = random.normal(k2)",
    ),
    "raw key": Case(
        "a = random.normal(raw, (3,))\nb = random.bernoulli(raw)",
        2,
        "`raw` was used on line 1 already",
        "jax.random.split(raw)",
        "k1, k2 = random.split(raw)\na = random.normal(k1, (3,))\nb = random.bernoulli(k2)",
    ),
    "another implementation": Case(
        "a = random.normal(rbg)\nb = random.normal(rbg)",
        2,
        "on line 1",
        "jax.random.split(rbg)",
        "k1, k2 = random.split(rbg)\na = random.normal(k1)\nb = random.normal(k2)",
    ),
    "draw behind a split": Case(
        "key2, sub = random.split(key)\na = random.normal(key)",
        2,
        "`key` was used on line 1 already",
        _SPLIT,
        "key2, sub = random.split(key)\na = random.normal(sub)",
    ),
    "split twice": Case(
        "a, b = random.split(key)\nc, d = random.split(key)",
        2,
        "on line 1",
        _SPLIT,
        "a, b, c, d = random.split(key, 4)",
    ),
    "one of several twice": Case(
        "ks = random.split(key, 3)\na = random.normal(ks[0])\nb = random.normal(ks[1])\nc = random.uniform(ks[0])",
        4,
        "`ks[0]` was used on line 2 already",
        _SPLIT,
        "ks = random.split(key, 3)\na = random.normal(ks[0])\nb = random.normal(ks[1])\nc = random.uniform(ks[2])",
    ),
    "all, and then one of them": Case(
        "ks = random.split(key, 3)\na = jax.vmap(random.normal)(ks)\nb = random.normal(ks[1])",
        3,
        "`ks[1]` was used on line 2 already",
        _SPLIT,
        "*ks, last = random.split(key, 4)\na = jax.vmap(random.normal)(jnp.stack(ks))\nb = random.normal(last)",
    ),
    "one, and then all of them": Case(
        "ks = random.split(key, 3)\nb = random.normal(ks[1])\na = lax.map(random.normal, ks)",
        3,
        "on line 2",
        _SPLIT,
        "ks = random.split(key, 4)\nb = random.normal(ks[0])\na = lax.map(random.normal, ks[1:])",
    ),
    "helper that is called twice": Case(
        "def noise(k):\n    return random.normal(k, (3,))\na = noise(key)\nb = noise(key)",
        4,
        "`key` was used on line 3 already",
        _SPLIT,
        "def noise(k):\n    return random.normal(k, (3,))\nk1, k2 = random.split(key)\na = noise(k1)\nb = noise(k2)",
    ),
    "helper of another cell": Case(
        "a = noisy(key, x)\nb = noisy(key, x)",
        2,
        "on line 1",
        _SPLIT,
        "k1, k2 = random.split(key)\na = noisy(k1, x)\nb = noisy(k2, x)",
    ),
    "jitted function that is called twice": Case(
        "a = jitted(key, x)\nb = jitted(key, x)",
        2,
        "`key` was used on line 1 already",
        _SPLIT,
        "k1, k2 = random.split(key)\na = jitted(k1, x)\nb = jitted(k2, x)",
    ),
    "jitted function that draws twice": Case(
        "@jax.jit\ndef f(k):\n    a = random.normal(k)\n    return a * random.normal(k)\ny = f(key)",
        4,
        "`k` was used on line 3 already",
        "jax.random.split(k)",
        "@jax.jit\ndef f(k):\n    one, two = random.split(k)\n    return random.normal(one) * random.normal(two)\n"
        "y = f(key)",
    ),
    "comprehension": Case(
        "ys = [random.normal(key) for _ in range(3)]",
        1,
        "`key` is used in every turn of a loop",
        "jax.random.split(key, n)",
        "ys = [random.normal(k) for k in random.split(key, 3)]",
    ),
    "a helper in a loop of Python": Case(
        "def drop(k, v):\n    return v * random.bernoulli(k, 0.5, v.shape)\nfor i in range(3):\n    x = drop(key, x)",
        4,
        "`key` is used in every turn of a loop",
        "jax.random.fold_in(key, i)",
        "def drop(k, v):\n    return v * random.bernoulli(k, 0.5, v.shape)\n"
        "for i in range(3):\n    x = drop(random.fold_in(key, i), x)",
    ),
    "a loop in a helper": Case(
        "def noisy(k, v):\n    for i in range(3):\n        v = v + random.normal(k, v.shape)\n    return v\n"
        "y = noisy(key, x)",
        3,
        "`k` is used in every turn of a loop",
        "jax.random.fold_in(k, i)",
        "def noisy(k, v):\n    for i in range(3):\n        v = v + random.normal(random.fold_in(k, i), v.shape)\n"
        "    return v\ny = noisy(key, x)",
    ),
    "on one line": Case(
        "y = random.normal(key) + random.uniform(key)",
        1,
        "more than once on this line",
        _SPLIT,
        "k1, k2 = random.split(key)\ny = random.normal(k1) + random.uniform(k2)",
    ),
    "same number folded in": Case(
        "a = random.normal(random.fold_in(key, 1))\nb = random.uniform(random.fold_in(key, 1))",
        2,
        "on line 1",
        _SPLIT,
        "a = random.normal(random.fold_in(key, 1))\nb = random.uniform(random.fold_in(key, 2))",
    ),
    "in a scan": Case(
        "def step(c, v):\n    return c + v * random.normal(key), v\ny, _ = lax.scan(step, 0.0, x)",
        2,
        "every turn of a loop",
        "jax.random.split(key, n)",
        "def step(c, item):\n    v, k = item\n    return c + v * random.normal(k), v\n"
        "y, _ = lax.scan(step, 0.0, (x, random.split(key, 8)))",
    ),
    "carried unchanged": Case(
        "def step(k, v):\n    return k, v * random.normal(k)\n_, y = lax.scan(step, key, x)",
        2,
        "`k` is used in every turn of a loop",
        "jax.random.split(key, n)",
        "def step(k, v):\n    k, sub = random.split(k)\n    return k, v * random.normal(sub)\n"
        "_, y = lax.scan(step, key, x)",
    ),
    "in a fori_loop": Case(
        "y = lax.fori_loop(0, 5, lambda i, c: c + random.normal(key), 0.0)",
        1,
        "every turn of a loop",
        "jax.random.fold_in(key, i)",
        "y = lax.fori_loop(0, 5, lambda i, c: c + random.normal(random.fold_in(key, i)), 0.0)",
    ),
    "before and inside a scan": Case(
        "a = random.normal(key)\nks = random.split(key, 8)\ny = lax.map(random.normal, ks)",
        2,
        "on line 1",
        _SPLIT,
        "first, *ks = random.split(key, 9)\na = random.normal(first)\ny = lax.map(random.normal, jnp.stack(ks))",
    ),
    "behind a branch": Case(
        "a = lax.cond(x[0] > 0, lambda: random.normal(key), lambda: 0.0)\nb = random.normal(key)",
        2,
        "on line 1",
        _SPLIT,
        "k1, k2 = random.split(key)\na = lax.cond(x[0] > 0, lambda: random.normal(k1), lambda: 0.0)\n"
        "b = random.normal(k2)",
    ),
    "held by an object": Case(
        "a = random.normal(net.key)\nb = random.normal(net.key)",
        2,
        "`net.key` was used on line 1 already",
        _SPLIT,
        "k1, k2 = random.split(net.key)\na = random.normal(k1)\nb = random.normal(k2)",
    ),
    "in vmap": Case(
        "y = jax.vmap(lambda k: random.normal(k) + random.uniform(k))(random.split(key, 4))",
        1,
        "more than once",
        "jax.random.split(k)",
        "y = jax.vmap(lambda k: random.normal(k) + random.uniform(random.fold_in(k, 1)))(random.split(key, 4))",
    ),
    "in a gradient": Case(
        "def loss(w):\n    a = random.normal(key, (8,)) * w\n    return (a * random.normal(key, (8,))).sum()\n"
        "g = jax.grad(loss)(x)",
        3,
        "on line 2",
        _SPLIT,
        "k1, k2 = random.split(key)\ndef loss(w):\n    a = random.normal(k1, (8,)) * w\n"
        "    return (a * random.normal(k2, (8,))).sum()\ng = jax.grad(loss)(x)",
    ),
    "in another cell": Case(
        "b = random.normal(key)",
        1,
        "`key` was used in Cell In[1], line 1 already",
        "each cell a key of its own",
        "b = random.normal(random.fold_in(key, 1))",
        before=("a = random.normal(key)",),
    ),
    "made and used in another cell": Case(
        "b = random.normal(k1)",
        1,
        "`k1` was used in Cell In[1], line 2 already",
        "each cell a key of its own",
        "b = random.normal(k2)",
        before=("k1, k2 = random.split(key)\na = random.normal(k1)",),
    ),
    "one of an array, in another cell": Case(
        "b = random.normal(ks[1])",
        1,
        "in Cell In[2], line 1",
        "each cell a key of its own",
        "b = random.normal(ks[2])",
        before=("ks = random.split(key, 3)", "a = random.normal(ks[1])"),
    ),
}

CLEAN: dict[str, tuple[str, ...]] = {
    "split and use": ("key, sub = random.split(key)\na = random.normal(sub)\nkey, sub = random.split(key)",),
    "raw keys, split": ("k1, k2 = random.split(raw)\na = random.normal(k1)\nb = random.uniform(k2)",),
    "two branches": ("a = lax.cond(x[0] > 0, lambda: random.normal(key), lambda: random.uniform(key))",),
    "switch": ("a = lax.switch(1, [lambda: random.normal(key), lambda: random.uniform(key), lambda: 0.0])",),
    "two branches under vmap": (
        "f = lambda v: lax.cond(v > 0, lambda: random.normal(key), lambda: random.uniform(key))\na = jax.vmap(f)(x)",
    ),
    "fold in several numbers": ("ys = [random.normal(random.fold_in(key, i)) for i in range(3)]",),
    "fold in and split": ("k = random.fold_in(key, 1)\na = random.normal(k)\nk1, k2 = random.split(key)",),
    "a function and its gradient": (
        "def loss(w): return (random.normal(key, (8,)) * w).sum()\nvalue = loss(x)\ng = jax.grad(loss)(x)",
    ),
    "a gradient of a checkpoint": (
        "@jax.checkpoint\ndef f(w): return (jnp.sin(w) * random.normal(key, (8,))).sum()\ng = jax.grad(f)(x)",
    ),
    "a gradient of a scan": (
        "def step(c, k): return jnp.sin(c) * random.normal(k), c\n"
        "def f(w): return lax.scan(step, w, random.split(key, 4))[0].sum()\ng = jax.grad(f)(x)",
    ),
    "a library that uses its key twice": (
        "k1, k2, k3, k4, k5 = random.split(key, 5)\na = random.permutation(k1, 7)\nb = random.gamma(k2, 2.0)\n"
        "c = random.choice(k3, 9, (3,), replace=False)\nd = random.poisson(k4, 3.0)\ne = random.dirichlet(k5, x)",
    ),
    "a split key that scan takes apart": (
        "def step(k, v):\n    k, a, b = random.split(k, 3)\n    return k, random.normal(a) + random.normal(b) * v\n"
        "_, y = lax.scan(step, key, x)",
    ),
    "keys of a vmap": ("y = jax.vmap(random.normal)(random.split(key, 4))",),
    "data of a key": ("a = random.key_data(key)\nb = random.key_data(key)\nc = random.normal(key)",),
    "the same seed": ("a = random.normal(random.key(7))\nb = random.uniform(random.key(7))",),
    "a mask of one key in a loop": (
        "mask = random.bernoulli(key, 0.5, (8,))\ny = lax.fori_loop(0, 3, lambda i, c: c + mask * i, x)",
    ),
    "two cells, two keys": ("k1, k2 = random.split(key)", "a = random.normal(k1)", "b = random.normal(k2)"),
    "two cells that fold in": (
        "a = random.normal(random.fold_in(key, 1))",
        "b = random.normal(random.fold_in(key, 2))",
    ),
    "a key that is bound anew": ("key, sub = random.split(key)\na = random.normal(sub)",) * 2,
}
