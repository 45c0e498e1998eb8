"""A program of eight devices written by hand: a product whose contracted axis is split, inside a `shard_map`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sample_programs import Writer

from jaxnb.program import Level, Program, Span
from jaxnb.program.placement.data import Axis, Device, Mesh, Placement, cut_boxes
from jaxnb.program.placement.layout import Layout, Placed
from jaxnb.program.placement.ledger import Collective
from jaxnb.reading.jaxpr.source import link_source, read_source

__all__ = ["MESH", "named", "sharded"]

MESH = Mesh(
    (Axis("x", 4, "explicit"), Axis("y", 2)), tuple(Device(n, n // 4, "tpu", "TPU v5e", n < 4) for n in range(8))
)
SOURCE = """%%jit
def f(a, w):
    h = jax.lax.psum(a @ w, "y")
    return jnp.tanh(h)
y = jax.shard_map(f, mesh=mesh, in_specs=(P("x", "y"), P("y")), out_specs=P("x"))(a, w)
z = y.sum()"""


def named(shape: tuple[int, ...], *cuts: str, spec: str, mesh: Mesh = MESH, **more: Any) -> Placement:
    """A float32 array on a mesh; each dimension is cut by the axes of one text, such as "x y"."""
    axes = tuple(tuple(names.split()) for names in cuts)
    boxes = cut_boxes(mesh, axes, shape)
    known = {"dtype": "float32", "itemsize": 4, "cuts": axes, "devices": mesh.devices, "mesh": mesh}
    return Placement("named", shape, boxes, spec, **{**known, **more})


def sharded() -> Program:
    """As it is saved: with its levels "source" and "jaxpr", and where everything lives."""
    writer = Writer()
    body = (
        "body",
        "c:float32[2,4] d:float32[4,6]",
        [
            ("e:float32[2,6] = dot_general c d", Span(3, 21, 3, 26)),
            ("f:float32[2,6] = psum e", Span(3, 8, 3, 32), {"axes": "('y',)"}),
            ("g:float32[2,6] = tanh f", Span(4, 11, 4, 22)),
        ],
        "g",
    )
    writer.computation(
        "main",
        "a:float32[8,8] b:float32[8,6]",
        [
            ("h:float32[8,6] = shard_map a b", Span(5, 4, 5, 90), {"newly_manual_axes": "x, y"}, [body]),
            ("i:float32[] = reduce_sum h", Span(6, 4, 6, 11)),
        ],
        "h i",
        "",
        ("a", "w"),
        ("y", "z"),
    )
    varies = {"c": "xy", "d": "y", "e": "xy", "f": "x", "g": "x"}
    sizes = {axis.name: axis.size for axis in MESH.axes}
    axes = [tuple((name, sizes[name]) for name in varies.get(value.name, "")) for value in writer.values]
    values = tuple(replace(value, axes=own) for value, own in zip(writer.values, axes, strict=True))
    jaxpr = Level("jaxpr", values, tuple(filter(None, writer.computations)))
    number = {value.name: at for at, value in enumerate(values)}
    host = named((8, 6), "y", "", spec="P('y', None)", memory="pinned_host")
    lone = Placement("single device", (), ((),), dtype="float32", itemsize=4, devices=MESH.devices[:1])
    placed = (
        Placed(number["a"], "input", named((8, 8), "x", "y", spec="P('x', 'y')")),
        Placed(number["b"], "input", host),
        Placed(number["h"], "result", named((8, 6), "x", "", spec="P('x', None)")),
        Placed(number["i"], "result", lone),
    )
    sums = Collective(
        *("all-reduce", 1, (0, 2), 3, ("psum",), ("y",), 2, 48, 48, 1, False, True, "psum"),
        lines=(3,),
        places=((1, 1),),
    )
    reduced = Collective(
        *("all-reduce", 1, (0, 5), 6, ("reduce_sum",), ("x",), 4, 4, 6, 1, False, False),
        why="reduction over a sharded axis",
        lines=(6,),
        places=((0, 1),),
    )
    moved = Collective(
        *("all-gather", 1, (0, 6), None, (), None, None, 64, None, None, True, False, "resharding"),
    )
    source = read_source(
        SOURCE, [(Span(2, 0, 4, 22), "host"), (Span(5, 0, 5, 90), "staged"), (Span(6, 0, 6, 11), "staged")]
    )
    layout = Layout((MESH,), placed, (sums, reduced, moved))
    return Program(SOURCE, (source, jaxpr), link_source(source, jaxpr), _layout=layout)
