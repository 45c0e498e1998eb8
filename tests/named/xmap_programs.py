"""Random programs over names, each in two meanings: as the body of a map, and on whole arrays without any
names.

A whole value is an array with one dimension for each name, of size 1 where the value does not vary, and one
for its positional entries. The second meaning uses plain array functions only, and no part of jaxnb.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxnb.lax
import jaxnb.nn
import jaxnb.numpy as nnp
from jaxnb import SerialLoop

WIDTH = 3


@dataclass(frozen=True)
class Program:
    """Steps on a growing list of values; `exchanged` are the names over which positions exchange values."""

    sizes: dict
    inputs: tuple  # for each input the names that it has
    steps: tuple  # (named meaning, whole meaning, operand numbers)
    outputs: tuple  # numbers of the values returned
    exchanged: frozenset
    text: str

    def body(self, *values):
        values = list(values)
        for named, _, operands in self.steps:
            values.append(named(*(values[k] for k in operands)))
        return [values[k] for k in self.outputs]

    def whole(self, *values):
        values = list(values)
        for _, whole, operands in self.steps:
            values.append(whole(*(values[k] for k in operands)))
        return [values[k] for k in self.outputs]


@jax.custom_vjp
def clipped(x):
    return x * 1.0


clipped.defvjp(lambda x: (x * 1.0, None), lambda _, ct: (jnp.clip(ct, -0.3, 0.3),))


@jax.custom_jvp
def bent(x):
    return jnp.tanh(x)


bent.defjvp(lambda p, t: (bent(p[0]), t[0] * (1 - jnp.tanh(p[0]) ** 2) * 0.7))


def full(x, axis, n):
    """`x` with `n` entries along a dimension that it may not vary along."""
    return jnp.broadcast_to(x, (*x.shape[:axis], n, *x.shape[axis + 1 :]))


def same(full_value, x):
    """Of a value that differs only where `x` does, one entry along every other dimension.

    A rule that is not linear, as that of `clipped`, sees the whole cotangent of such a value.
    """
    return full_value[tuple(slice(0, 1) if size == 1 else slice(None) for size in x.shape)]


UNARY = {
    "sin": jnp.sin,
    "tanh": jnp.tanh,
    "square": lambda x: x * x * 0.5,
    "clipped": clipped,
    "bent": bent,
    "remat": jax.checkpoint(lambda x: jnp.sin(jnp.cos(x))),
    "jit": jax.jit(lambda x: x * 1.5 + 0.2),
}
BINARY = {"add": lambda x, y: x + y, "mul": lambda x, y: x * y, "mix": lambda x, y: jnp.tanh(x) - 0.3 * y}


def over_names(rng, sizes):
    """(text, named, whole, names) of a random function over one or two names."""
    order = list(sizes)
    chosen = [order[k] for k in rng.permutation(len(order))[: rng.integers(1, min(2, len(order)) + 1)]]
    axes = tuple(order.index(n) for n in chosen)
    names = tuple(chosen)

    def fill(x):
        return [x := full(x, a, sizes[n]) for a, n in zip(axes, names)][-1]

    pos = len(order)
    size = int(np.prod([sizes[n] for n in names]))
    weights = jnp.asarray(rng.normal(size=size))

    def listed(x):
        return jnp.moveaxis(fill(x), axes, range(len(axes))).reshape(
            size, *[1 if a in axes else s for a, s in enumerate(x.shape)]
        )

    turn = int(rng.integers(1, size))
    table = rng.permutation(size)

    def laid(w):
        return jnp.moveaxis(w.reshape([sizes[n] for n in names] + [1] * (pos + 1 - len(names))), range(len(axes)), axes)

    def unlisted(y):
        shape = [s for a, s in enumerate(y.shape[1:]) if a not in axes]
        return jnp.moveaxis(y.reshape([sizes[n] for n in names] + shape), range(len(axes)), axes)

    one, axis = names[0], axes[0]
    n = sizes[one]

    def filled(x):
        return full(x, axis, n)

    w1 = jnp.asarray(rng.normal(size=n))
    ranks = np.argsort(np.asarray(w1))

    def along(w):
        return w.reshape([n if a == axis else 1 for a in range(pos + 1)])

    both = {
        "sum": (lambda x: nnp.sum(x, names), lambda x: fill(x).sum(axes, keepdims=True)),
        "psum": (lambda x: lax.psum(x, names), lambda x: fill(x).sum(axes, keepdims=True)),
        "mean": (
            lambda x: nnp.mean(x, (*names, 0), keepdims=True),
            lambda x: fill(x).mean((*axes, pos), keepdims=True),
        ),
        "max": (lambda x: nnp.max(x, names), lambda x: extreme(jnp.max, fill(x), axes)),
        "pmax": (lambda x: lax.pmax(x, names), lambda x: extreme(jnp.max, fill(x), axes)),
        "min": (lambda x: nnp.min(x, names), lambda x: extreme(jnp.min, fill(x), axes)),
        "var": (lambda x: nnp.var(x, names), lambda x: fill(x).var(axes, keepdims=True)),
        "prod": (lambda x: nnp.prod(jnp.sin(x), names), lambda x: jnp.sin(fill(x)).prod(axes, keepdims=True)),
        "logsumexp": (
            lambda x: nnp.logsumexp(x, names),
            lambda x: jax.nn.logsumexp(fill(x), axes, keepdims=True),
        ),
        "softmax": (lambda x: nnp.softmax(x, names), lambda x: same(jax.nn.softmax(fill(x), axes), x)),
        "norm": (
            lambda x: nnp.linalg.norm(2 + jnp.sin(x), axis=names),
            lambda x: jnp.sqrt(((2 + jnp.sin(fill(x))) ** 2).sum(axes, keepdims=True)),
        ),
        "all_gather": (
            lambda x: jnp.tensordot(weights, lax.all_gather(x, names), 1),
            lambda x: jnp.tensordot(weights, listed(x), 1),
        ),
        "all_gather tiled": (
            lambda x: lax.all_gather(x, names, tiled=True)[turn : turn + WIDTH],
            lambda x: jnp.moveaxis(
                jnp.moveaxis(full(listed(x), pos + 1, WIDTH), 0, pos).reshape(*listed(x).shape[1:-1], size * WIDTH),
                -1,
                0,
            )[turn : turn + WIDTH].transpose(*range(1, pos + 1), 0),
        ),
        "psum_scatter": (
            lambda x: lax.psum_scatter(jnp.tensordot(weights, x, 0), names),
            lambda x: laid(weights) * fill(x).sum(axes, keepdims=True),
        ),
        "all_to_all": (
            lambda x: lax.all_to_all(jnp.tensordot(weights, x, 0), names, 0, 0).mean(0),
            lambda x: laid(weights) * fill(x).mean(axes, keepdims=True),
        ),
        "ppermute": (
            lambda x: lax.ppermute(x, names, [(k, (k + turn) % size) for k in range(size)]),
            lambda x: unlisted(jnp.roll(listed(x), turn, 0)),
        ),
        "ppermute some": (
            lambda x: lax.ppermute(x, names, [(k, int(table[k])) for k in range(0, size, 2)]),
            lambda x: unlisted(jnp.zeros_like(listed(x)).at[table[::2]].set(listed(x)[::2])),
        ),
        "pshuffle": (
            lambda x: lax.pshuffle(x, one, list(map(int, ranks))),
            lambda x: filled(x).take(ranks, axis),
        ),
        "axis_index": (
            lambda x: x * jnp.sin(1.0 + lax.axis_index(names)),
            lambda x: x * laid(jnp.sin(1.0 + jnp.arange(size))),
        ),
        "cumsum": (lambda x: nnp.cumsum(x, one), lambda x: jnp.cumsum(filled(x), axis)),
        "sort": (lambda x: nnp.sort(x, one), lambda x: jnp.sort(filled(x), axis)),
        "flip": (lambda x: nnp.flip(x, one), lambda x: jnp.flip(filled(x), axis)),
        "argmax": (
            lambda x: x * jaxnb.nn.one_hot(nnp.argmax(x, one), n, axis=one),
            lambda x: filled(x) * jax.nn.one_hot(filled(x).argmax(axis), n, axis=axis),
        ),
        "take": (
            lambda x: nnp.take(x, turn % n, one),
            lambda x: jnp.take(filled(x), jnp.array([turn % n]), axis),
        ),
        "scan": (
            lambda x: lax.scan(lambda c, t: (jnp.tanh(c + t * lax.psum(c, one)), None), x, jnp.asarray(w1[:2]) * 0.3)[
                0
            ],
            lambda x: step(step(filled(x), w1[0], axis), w1[1], axis) if x.shape[axis] > 1 else still(x, w1, n),
        ),
        "cond same": (
            lambda x: lax.cond(
                lax.psum(jnp.sum(lax.pmax(x, tuple(order))), one) > 0, lambda v: lax.psum(v, one), jnp.sin, x
            ),
            lambda x: jnp.where(full_max(x) > 0, filled(x).sum(axis, keepdims=True), jnp.sin(x)),
        ),
        "cond other": (
            lambda x: lax.cond(x[0] > 0, lambda v: lax.psum(v, one), lambda v: v * 2, x),
            lambda x: jnp.where(x[..., :1] > 0, filled(x).sum(axis, keepdims=True), x * 2),
        ),
        "stack": (lambda x: x * nnp.stack(list(w1), one), lambda x: x * along(w1)),
    }
    kind = list(both)[rng.integers(len(both))]
    named, whole = both[kind]
    used = (
        names
        if kind not in ("pshuffle", "cumsum", "sort", "flip", "argmax", "take", "scan", "cond other", "stack")
        else (one,)
    )
    exchanged = frozenset() if kind in ("axis_index", "stack") else frozenset(used)
    if kind == "cond same":
        exchanged = frozenset(order)
    return f"{kind}{used}", named, whole, exchanged


def step(c, t, axis):
    return jnp.tanh(c + 0.3 * t * c.sum(axis, keepdims=True))


def still(x, w, n):
    for t in w[:2]:
        x = jnp.tanh(x + 0.3 * t * n * x)
    return x


def extreme(find, x, axes):
    """A maximum or minimum whose derivative is shared by ties.

    That of `jnp.max` divides by how many entries equal the maximum, which are none where XLA computes the entries twice
    and rounds them otherwise.
    """
    best = lax.stop_gradient(find(x, axes, keepdims=True))
    hit = lax.stop_gradient(abs(x - best) <= 1e-13 * (1 + abs(best)))
    return jnp.where(hit, x, 0).sum(axes, keepdims=True) / hit.sum(axes, keepdims=True)


def full_max(x):
    return x.max(axis=tuple(range(x.ndim - 1)), keepdims=True).sum(-1, keepdims=True)


def contraction(rng, sizes):
    order = list(sizes)
    chosen = tuple(order[k] for k in rng.permutation(len(order))[: rng.integers(1, 3)])
    axes = tuple(order.index(n) for n in chosen)
    letters = "hijkl"[: len(order)]

    def whole(x, y):
        for a, n in zip(axes, chosen):
            x, y = full(x, a, sizes[n]), full(y, a, sizes[n])
        return (x * y).sum((*axes, -1), keepdims=True) * jnp.ones(WIDTH)

    if rng.integers(2):
        spec = "a{n},a{n}->".replace("n", ",".join(chosen))
        return (
            f"einsum{chosen}",
            lambda x, y: nnp.einsum(spec, x, y) * jnp.ones(WIDTH),
            whole,
            frozenset(chosen),
        )

    def named(x, y):
        return jaxnb.lax.pdot(x, y, chosen, ((0,), (0,))) * jnp.ones(WIDTH)

    return f"pdot{chosen}{letters[:0]}", named, whole, frozenset(chosen)


def generate(rng, steps):
    """A random program with its random inputs' names."""
    sizes = {"i": int(rng.choice([4, 8])), "j": int(rng.choice([2, 4])), "k": 2}
    sizes = {name: sizes[name] for name in list(sizes)[: rng.integers(2, 4)]}
    order = list(sizes)
    inputs = [tuple(n for n in order if rng.integers(3)) for _ in range(2)]
    missing = [n for n in order if not any(n in names for names in inputs)]
    inputs[0] = tuple(n for n in order if n in (*inputs[0], *missing))
    todo, text, exchanged, count = [], [], frozenset(), 2
    for _ in range(steps):
        roll = rng.integers(10)
        if roll < 2:
            kind = list(UNARY)[rng.integers(len(UNARY))]
            todo.append((UNARY[kind], UNARY[kind], (latest(rng, count),)))
        elif roll < 4:
            kind = list(BINARY)[rng.integers(len(BINARY))]
            todo.append((BINARY[kind], BINARY[kind], (latest(rng, count), latest(rng, count))))
        elif roll < 5:
            kind, named, whole, used = contraction(rng, sizes)
            todo.append((bound(named), whole_bound(whole), (latest(rng, count), latest(rng, count))))
            exchanged |= used
        else:
            kind, named, whole, used = over_names(rng, sizes)
            todo.append((bound(named), whole_bound(whole), (latest(rng, count),)))
            exchanged |= used
        text.append(f"v{count} = {kind}({', '.join(f'v{k}' for k in todo[-1][2])})")
        count += 1
    outputs = tuple(sorted({count - 1, count - 2}))
    return Program(sizes, tuple(inputs), tuple(todo), outputs, exchanged, "\n".join(text))


def latest(rng, count):
    """One of the last three values."""
    return int(max(0, count - 1 - rng.integers(0, min(3, count))))


def bound(named):
    """`named` with its result kept small: derivatives of large values are not comparable to many digits."""
    return lambda *xs: jnp.broadcast_to(jnp.sin(0.5 * named(*xs)), (WIDTH,))


def whole_bound(whole):
    def run(*xs):
        out = jnp.sin(0.5 * whole(*xs))
        return jnp.broadcast_to(out, (*out.shape[:-1], WIDTH))

    return run


def schedules(rng, program, count):
    """Random resources that fit a program: a mesh axis for one name, loops where nothing is exchanged."""
    found = []
    for _ in range(count):
        free, resources = ["x", "y"], {}
        for name, size in sorted(program.sizes.items(), key=lambda item: rng.random()):
            options = [()]
            options += [(a,) for a in free if size % {"x": 4, "y": 2}[a] == 0]
            if len(free) == 2 and size % 8 == 0:
                options += [("x", "y"), ("y", "x")]
            axes = options[rng.integers(len(options))]
            free = [a for a in free if a not in axes]
            left = size // int(np.prod([{"x": 4, "y": 2}[a] for a in axes] or [1]))
            loop = (SerialLoop(2),) if name not in program.exchanged and left % 2 == 0 and rng.integers(2) else ()
            if axes or loop:
                resources[name] = (*axes, *loop)
        # XLA's partitioner ends the process on some derivatives of a sort (a failed check in its HandleScatter).
        lowering = "spmd" if rng.integers(4) == 0 and "sort" not in program.text else "manual"
        fake = bool(rng.integers(4) == 0)
        found.append((resources, lowering, fake))
    return found
