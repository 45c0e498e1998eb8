"""What the ways to spread a model send, as their programs are compiled for chips that are not there, counted by hand.

Of `b` bytes on a device in a group of `n`, an all-reduce sends 2 b (n - 1) / n, a reduce-scatter and an all-to-all
b (n - 1) / n, an all-gather b (n - 1), and a permutation b. `target_programs` has data, tensor and fully sharded
parallelism along one axis; here they go along two, and with them are sequences, pipelines and experts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.sharding import PartitionSpec as P

import jaxnb
from jaxnb.program import Ledger, Plan, read_target
from jaxnb.reading import SimulatedMesh, mesh_of_target

TARGETS = {"v5e:4x4": {"data": 4, "model": 4}, "h100:1x8": {"data": 2, "model": 4}}
BATCH, LENGTH, D, F, LAYERS, MICRO = 16, 512, 1024, 4096, 3, 6
LOSS = 4

Sums = dict[tuple[str, tuple[str, ...], int], int]
"""By kind, axes, and how often it runs: what a device sends by all such collectives in one turn."""


def reduced(b: int, n: int) -> int:
    """By an all-reduce of so many bytes; a part of one counts as one."""
    return -(-2 * b * (n - 1) // n)


def cut(b: int, n: int) -> int:
    """By a reduce-scatter or an all-to-all of so many bytes; by an all-gather of pieces that are so many together."""
    return b * (n - 1) // n


class Way(NamedTuple):
    """A way to spread a program.

    Attributes:
      function: the program.
      inputs: shapes and specs of what it takes.
      sent: what a device sends, given the sizes of the axes and the platform.
    """

    function: Callable[..., Any]
    inputs: tuple[tuple[tuple[int, ...], Any], ...]
    sent: Callable[[int, int, str], Sums]


def learnt(loss: Callable[[Any, Any], Any], specs: Any = None) -> Callable[..., Any]:
    """A step of training by a loss of weights and of what they are given."""

    def step(*given: Any) -> Any:
        *weights, x = given
        value, grads = jax.value_and_grad(loss)(tuple(weights), x)
        kept = [w - 0.1 * g for w, g in zip(weights, grads, strict=True)]
        return value, [lax.with_sharding_constraint(w, s) for w, s in zip(kept, specs, strict=True)] if specs else kept

    return step


def squared(h: Any) -> Any:
    return jnp.mean(h.astype(jnp.float32) ** 2)


# --- along two axes: the batch over one, the layers over the other ---


def layers(weights: Any, x: Any, between: Any = P("data")) -> Any:
    def layer(h: Any, w: Any) -> tuple[Any, None]:
        inside = lax.with_sharding_constraint(jnp.tanh(h @ w[0]), P("data", None, "model"))
        return lax.with_sharding_constraint(h + inside @ w[1], between), None

    h, _ = lax.scan(layer, x, weights)
    return squared(h)


X = (BATCH, LENGTH, D), P("data")
UP, DOWN = (LAYERS, D, F), (LAYERS, F, D)
TENSOR = P(None, None, "model"), P(None, "model")
FULLY = P(None, "data", "model"), P(None, "model", "data")


def activations(d: int) -> int:
    """Bytes of the activations on a device, which along the second axis has all of them."""
    return BATCH // d * LENGTH * D * 2


def matrix(m: int) -> int:
    """Bytes of one matrix of a layer on a device, which along the first axis has all of it."""
    return D * F // m * 2


def tensor(d: int, m: int, platform: str) -> Sums:
    """A sum behind the second matrix forwards, before the first one backwards; and the sums of the gradients."""
    return {
        ("all-reduce", ("model",), LAYERS): 2 * reduced(activations(d), m),
        ("all-reduce", ("data",), LAYERS): 2 * reduced(matrix(m), d),
        ("all-reduce", ("data",), 1): reduced(LOSS, d),
    }


def sequence(d: int, m: int, platform: str) -> Sums:
    """Each of these sums is cut along the sequence. Gathered is what goes into the first matrix, in both passes, and
    backwards what comes to the second."""
    return {
        ("all-gather", ("model",), LAYERS): 3 * cut(activations(d), m),
        ("reduce-scatter", ("model",), LAYERS): 2 * cut(activations(d), m),
        ("all-reduce", ("data",), LAYERS): 2 * reduced(matrix(m), d),
        ("all-reduce", ("data", "model"), 1): reduced(LOSS, d * m),
    }


def fully(d: int, m: int, platform: str) -> Sums:
    """Both matrices are gathered in each pass, and of their gradients a piece is kept. A TPU has the pieces of the
    former go round in n - 1 steps, and those of the latter both ways, in n steps and one to end where they belong."""
    sums: Sums = {
        ("all-reduce", ("model",), LAYERS): 2 * reduced(activations(d), m),
        ("all-reduce", ("data",), 1): reduced(LOSS, d),
    }
    if platform == "tpu":
        return sums | {("collective-permute", ("data",), LAYERS): (4 * (d - 1) + 2 * (d + 1)) * matrix(m) // d}
    return sums | {
        ("all-gather", ("data",), LAYERS): 4 * cut(matrix(m), d),
        ("reduce-scatter", ("data",), LAYERS): 2 * cut(matrix(m), d),
    }


# --- written by hand ---


def pipeline(weights: Any, x: Any) -> Any:
    """Each device along the axis has one stage; pieces of the batch go through them, one behind the other."""

    def body(w: Any, x: Any) -> Any:
        at, count = lax.axis_index("model"), lax.axis_size("model")

        def turn(h: Any, number: Any) -> tuple[Any, Any]:
            h = jnp.where(at == 0, x[jnp.minimum(number, MICRO - 1)], h)
            h = jnp.tanh(h @ w[0])
            return lax.ppermute(h, "model", [(one, (one + 1) % count) for one in range(count)]), squared(h)

        first = lax.pcast(jnp.zeros_like(x[0]), "model", to="varying")
        _, losses = lax.scan(turn, first, jnp.arange(MICRO + count - 1))
        mine = jnp.where(at == count - 1, losses[count - 1 :].mean(), 0)
        return lax.psum(mine, ("data", "model")) / lax.axis_size("data")

    return jax.shard_map(body, in_specs=(P("model"), P(None, "data")), out_specs=P())(weights[0], x)


def piped(d: int, m: int, platform: str) -> Sums:
    """In each turn a piece goes on, and backwards its gradient; the last stage is done after all pieces and stages."""
    return {
        ("collective-permute", ("model",), MICRO + m - 1): 2 * (BATCH // d * D * 2),
        ("all-reduce", ("data",), 1): reduced(D * D * 2, d),
        ("all-reduce", ("data", "model"), 1): reduced(LOSS, d * m),
    }


def experts(weights: Any, x: Any) -> Any:
    """Each device along the axis has one expert; of its tokens an equal part goes to each, and comes back."""

    def body(*given: Any) -> Any:
        first, up, down, x = given
        count = lax.axis_size("model")
        h = (x @ first).reshape(count, -1, D)
        h = lax.all_to_all(h, "model", 0, 0)
        h = jnp.tanh(h @ up[0]) @ down[0]
        h = lax.all_to_all(h, "model", 0, 0)
        return lax.pmean(squared(h), ("data", "model"))

    specs = P(), P("model"), P("model"), P(("data", "model"))
    return jax.shard_map(body, in_specs=specs, out_specs=P())(*weights, x)


def routed(d: int, m: int, platform: str) -> Sums:
    """There and back in each pass. The matrix before the experts is that of all devices, theirs are of a row."""
    tokens = BATCH * LENGTH // (d * m) * D * 2
    return {
        ("all-to-all", ("model",), 1): 4 * cut(tokens, m),
        ("all-reduce", ("data",), 1): reduced(2 * D * F * 2, d),
        ("all-reduce", ("data", "model"), 1): reduced(D * D * 2, d * m) + reduced(LOSS, d * m),
    }


def ring(weights: Any, x: Any) -> Any:
    """Attention of which each device has a part of the sequence: keys and values go round."""

    def body(w: Any, x: Any) -> Any:
        q, k, v = (x @ one for one in w)
        count = lax.axis_size("model")

        def turn(carried: Any, _: Any) -> tuple[Any, None]:
            k, v, top, total, kept = carried
            scores = jnp.einsum("bqd,bkd->bqk", q, k).astype(jnp.float32) / D**0.5
            new = jnp.maximum(top, scores.max(-1))
            share, old = jnp.exp(scores - new[..., None]), jnp.exp(top - new)
            kept = kept * old[..., None] + jnp.einsum("bqk,bkd->bqd", share.astype(v.dtype), v)
            round_ = [(one, (one + 1) % count) for one in range(count)]
            k, v = (lax.ppermute(one, "model", round_) for one in (k, v))
            return (k, v, new, total * old + share.sum(-1), kept), None

        none = jnp.zeros_like(q, jnp.float32)
        begun = k, v, none[..., 0] - 1e9, none[..., 0], none
        (_, _, _, total, kept), _ = lax.scan(turn, begun, None, length=count)
        return lax.pmean(squared(kept / total[..., None]), ("data", "model"))

    return jax.shard_map(body, in_specs=(P(), P("data", "model")), out_specs=P())(weights, x)


def ringed(d: int, m: int, platform: str) -> Sums:
    """Keys and values make as many steps as there are devices along the axis, and so do their gradients."""
    return {
        ("collective-permute", ("model",), m): 2 * 2 * (activations(d) // m),
        ("all-reduce", ("data", "model"), 1): reduced(3 * D * D * 2, d * m) + reduced(LOSS, d * m),
    }


SQUARE = ((D, D), P())
WAYS = {
    "data and tensor": Way(learnt(layers), ((UP, TENSOR[0]), (DOWN, TENSOR[1]), X), tensor),
    "sequence": Way(
        learnt(partial(layers, between=P("data", "model"))),
        ((UP, TENSOR[0]), (DOWN, TENSOR[1]), (X[0], P("data", "model"))),
        sequence,
    ),
    "ring": Way(learnt(ring), (SQUARE, SQUARE, SQUARE, (X[0], P("data", "model"))), ringed),
    "fully sharded": Way(learnt(layers, FULLY), ((UP, FULLY[0]), (DOWN, FULLY[1]), X), fully),
    "pipeline": Way(learnt(pipeline), (((4, D, D), P("model")), ((MICRO, BATCH, D), P(None, "data"))), piped),
    "experts": Way(
        learnt(experts),
        (SQUARE, ((4, D, F), P("model")), ((4, F, D), P("model")), ((BATCH * LENGTH, D), P(("data", "model")))),
        routed,
    ),
}
EVERY = [
    pytest.param(target, name, marks=pytest.mark.compiled(read_target(target).platform), id=f"{target}-{name}")
    for target in TARGETS
    for name in WAYS
]


def given(way: Way, mesh: SimulatedMesh) -> list[Any]:
    return [jaxnb.abstract(jax.ShapeDtypeStruct(shape, jnp.bfloat16), spec, mesh.mesh) for shape, spec in way.inputs]


def summed(ledger: Ledger) -> Sums:
    found = Counter[Any]()
    for item in ledger.items:
        found[item.kind, item.axes, item.times] += item.sent or 0
    return found


def planned(target: str, name: str) -> Plan:
    way, mesh = WAYS[name], mesh_of_target(read_target(target), TARGETS[target])
    return jaxnb.simulate(way.function, mesh)(*given(way, mesh))


@pytest.mark.parametrize(("target", "name"), EVERY)
def test_what_is_sent_is_what_is_counted_by_hand(target: str, name: str) -> None:
    plan, (d, m) = planned(target, name), TARGETS[target].values()
    wanted = WAYS[name].sent(d, m, read_target(target).platform)
    assert summed(plan.ledger) == wanted
    assert plan.ledger.complete
    assert plan.ledger.total == sum(sent * times for (_, _, times), sent in wanted.items())
    for item in plan.ledger.items:  # the equations that were written as collectives are known for what they are
        assert item.written == (item.why in BY_HAND.get(name, ())), item


BY_HAND = {"pipeline": ("ppermute", "psum"), "ring": ("ppermute", "psum"), "experts": ("all_to_all", "psum")}
