"""A small program at all four levels, written by hand: the same whatever jax is installed."""

from __future__ import annotations

from sample_programs import aval

from jaxnb.program import Computation, Fate, Level, Link, Op, Program, Span, Value
from jaxnb.reading.jaxpr.source import link_source, read_source

__all__ = ["neuron"]


def _values(*texts: str) -> tuple[Value, ...]:
    """`name:type`, with `=` in front of a literal and `@sharding` behind."""
    made = []
    for text in texts:
        text, _, sharding = text.partition("@")
        name, _, kind = text.removeprefix("=").partition(":")
        made.append(Value(name, aval(kind) if kind else None, text.startswith("="), sharding))
    return tuple(made)


def neuron() -> Program:
    """`y = tanh(x @ w + 2 * 3)` in a named scope: the product of the two numbers is folded, the rest one fusion."""
    source = "%%jit\nwith jax.named_scope('neuron'):\n    y = jnp.tanh(x @ w + c * 3)"
    upper = read_source(source, [(Span(2, 0, 3, 31), "staged")])
    dot, number, add, tanh = Span(3, 17, 3, 22), Span(3, 25, 3, 30), Span(3, 17, 3, 30), Span(3, 8, 3, 31)
    scope = ("neuron",)
    jaxpr = Level(
        "jaxpr",
        _values(
            "a:float32[8]@P('d',)",
            "b:float32[8]",
            "c:float32[]",
            "=2.0:float32[]",
            "=3.0:float32[]",
            "d:float32[]",
            "e:float32[]",
            "f:float32[]",
        ),
        (
            Computation(
                "main",
                (0, 1),
                (7,),
                (
                    Op(
                        "dot_general",
                        (0, 1),
                        (2,),
                        (("dimension_numbers", "(((0,), (0,)), ((), ()))"),),
                        dot,
                        (),
                        scopes=scope,
                    ),
                    Op("mul", (3, 4), (5,), (), number, scopes=scope),
                    Op("add", (2, 5), (6,), (), add, scopes=scope),
                    Op("tanh", (6,), (7,), (), tanh, (), "transposed", scope),
                ),
                (),
                ("x", "w"),
                ("y",),
            ),
        ),
    )
    stablehlo = Level(
        "stablehlo",
        _values(
            '%arg0:float32[8]@[{"d"}]',
            "%arg1:float32[8]",
            "%0:float32[]",
            "=2:float32[]",
            "=3:float32[]",
            "%1:float32[]",
            "%2:float32[]",
            "%3:float32[]",
        ),
        (
            Computation(
                "main",
                (0, 1),
                (7,),
                (
                    Op("dot_general", (0, 1), (2,), (), dot, scopes=scope),
                    Op("multiply", (3, 4), (5,), (), number, scopes=scope),
                    Op("add", (2, 5), (6,), (), add, scopes=scope),
                    Op("tanh", (6,), (7,), (), tanh, (), "transposed", scope),
                ),
                (),
                ("x", "w"),
            ),
        ),
    )
    hlo = Level(
        "hlo",
        _values(
            "x.1:float32[8]",
            "w.1:float32[8]",
            "dot.2:float32[]",
            "add_tanh_fusion:float32[]",
            "p.0:float32[]",
            "=6:float32[]",
            "add.3:float32[]",
            "tanh.4:float32[]",
        ),
        (
            Computation(
                "main",
                (0, 1),
                (3,),
                (
                    Op("dot", (0, 1), (2,), (), dot, scopes=scope),
                    Op("fusion", (2,), (3,), (("kind", "kLoop"),), tanh, (1,), "transposed", scope),
                ),
                (),
                ("x", "w"),
            ),
            Computation(
                "body",
                (4,),
                (7,),
                (
                    Op("add", (4, 5), (6,), (), add, scopes=scope),
                    Op("tanh", (6,), (7,), (), tanh, (), "transposed", scope),
                ),
            ),
        ),
    )
    down = tuple(Link("jaxpr", (0, at), "stablehlo", (0, at)) for at in range(4))
    further = (
        Link("stablehlo", (0, 0), "hlo", (0, 0)),
        Link("stablehlo", (0, 2), "hlo", (1, 0)),
        Link("stablehlo", (0, 3), "hlo", (0, 1), exact=False),
        Link("stablehlo", (0, 3), "hlo", (1, 1)),
    )
    fates = (Fate((0, 1), "folded"), Fate((0, 2), "fused", (0, 1)), Fate((0, 3), "fused", (0, 1)))
    levels = (upper, jaxpr, stablehlo, hlo)
    return Program(source, levels, (*link_source(upper, jaxpr), *down, *further), (), fates)
