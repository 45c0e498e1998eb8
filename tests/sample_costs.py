"""A program written by hand that was counted, measured and derived: costs, time, memory, names, named axes, phases."""

from __future__ import annotations

from dataclasses import replace

from sample_programs import Writer, program

from jaxnb.program import Assigned, Level, Op, Program, Span, Timing
from jaxnb.program.occupancy import Held, Memory, Noted, Saved

__all__ = ["MEMORY", "hostile_graph", "measured", "unrolled"]

MEMORY = Memory(
    "buffers",
    "hlo",
    0,
    (40_000, 72_000, 104_000, 88_000, 40_000),
    (
        Held("images", "input", 32_000, 0, 4),
        Held("w", "input", 8_000, 0, 4),
        Held("hidden", "output", 32_000, 1, 3, (0, 1), 4),
        Held("fusion.1", "temporary", 32_000, 2, 2, (0, 2), 4),
        Held("fusion.2", "temporary", 16_000, 3, 3, (0, 3), 5),
        Held("nothing", "temporary", 0, 2, 2, (0, 2), 4),
    ),
    reserved=110_000,
    saved=(
        Saved("images", 32_000, (0, 6), 4),
        Saved("c", 320_000, (0, 6), 4, (0, 1), 4, times=10, label="hidden", policy="dots_saveable"),
        Saved("d", 64, (0, 6), 5, (0, 2), 5),
    ),
    recomputed=(Noted((0, 5), 4, 32_000), Noted((0, 6), 5, 16)),
    dead=(Noted((0, 7), 5, 4),),
    known=(Noted((0, 8), 5, 0),),
)

DIMENSIONS = {"dimension_numbers": "(((1,), (0,)), ((), ()))"}

_NAMES = (
    Assigned("w", Span(2, 0, 2, 24), "", "float32[100,20]"),
    Assigned("h", Span(4, 4, 4, 23), "f", "float32[100 | batch:20]"),
    Assigned("y", Span(8, 0, 8, 9), "", "float32[20], a pytree that is much too long to stand behind a line of a cell"),
    Assigned("other", Span(3, 0, 3, 9, "helpers.py"), "g", "float32[]"),
)


def measured() -> Program:
    """A derivative with a loop whose trips nobody knows, an op whose flops nobody knows, and a body at its own line."""
    source = "\n".join(
        [
            "%%jit --time",
            "w = init(key)",
            "def f(x, w):",
            "    h = jnp.tanh(x @ w)",
            "    return sort(h).sum()",
            "def more(c):",
            "    return c * 2",
            "y, dy = jax.vmap(jax.value_and_grad(f), axis_name='batch')(images, w)",
            "n = jax.lax.while_loop(lambda c: c < 9, more, 1.0)",
        ]
    )
    body = ("body", "k:float32[]", [("l:float32[] = mul k 2.0", 7)], "l")
    cond = ("cond", "m:float32[]", [("o:bool[] = lt m 9.0", 9)], "o")
    writer = Writer()
    writer.computation(
        "main",
        "a:float32[100,80] b:float32[80,20]",
        [
            (
                "c:float32[100,20] = dot_general a b",
                Span(4, 17, 4, 22),
                {"dimension_numbers": "(((1,), (0,)), ((), ()))"},
            ),
            ("d:float32[100,20] = tanh c", Span(4, 8, 4, 23)),
            ("e:float32[100,20] = sort d", Span(5, 11, 5, 18), {"dimension": "1", "is_stable": "True"}),
            ("f:float32[] = reduce_sum e", Span(5, 11, 5, 24), {"axes": "(0, 1)"}),
            ("g:float32[100,20] = mul d 2.0", Span(4, 8, 4, 23)),
            ("h:float32[80,20] = dot_general a g", Span(4, 17, 4, 22)),
            ("i:float32[0,20] = slice h", 8),
            ("j:float32[] = while 1.0", 9, {}, [cond, body]),
        ],
        "f h j",
        "",
        ("images", "w"),
        ("y", "dy", "n"),
    )
    level = writer.level()
    # flops, bytes, seconds, phase, times; by the name of the first result
    costs = {
        "c": (320_000, 46_400, 0.0021, "primal", 1),
        "d": (0, 16_000, 0.0004, "primal", 1),
        "e": (None, 16_000, 0.0009, "primal", 1),
        "f": (2_000, 8_004, 2e-5, "primal", 1),
        "g": (2_000, 16_000, 1e-5, "transposed", 1),
        "h": (320_000, 46_400, 0.0019, "transposed", 1),
        "i": (0, 0, None, "primal", 1),
        "j": (0, 0, None, "primal", 1),
        "l": (1, 8, 3e-9, "tangent", None),
        "o": (1, 5, None, "rematerialised", None),
    }

    def told(op: Op, inside: bool) -> Op:
        flops, moved, seconds, phase, times = costs[level.values[op.outputs[0]].name]
        scopes = () if op.line == 9 else ("while",) if inside else ("vmap", "layer<0>")
        return replace(op, flops=flops, bytes=moved, seconds=seconds, phase=phase, times=times, scopes=scopes)

    computations = tuple(
        replace(computation, ops=tuple(told(op, index > 0) for op in computation.ops))
        for index, computation in enumerate(level.computations)
    )
    axes = {"a": (("batch", 20),), "c": (("batch", 20), ("i", None)), "f": (("batch", 20),)}
    values = tuple(replace(value, axes=axes.get(value.name, ())) for value in level.values)
    whole = program(
        source,
        [(2, 2, "host"), (3, 5, "staged"), (6, 7, "staged"), (8, 8, "staged"), (9, 9, "staged")],
        Level(level.name, values, computations),
    )
    timing = Timing(0.0056, 0.0002, 30, 0.006, 0.00027)
    return replace(whole, timing=timing, _memory=(MEMORY,), _names=_NAMES)


def unrolled(number: int = 100_000) -> Program:
    """As many ops on one line, each with its cost."""
    writer = Writer()
    rows = [(f"v{i + 1}:float32[8] = sin v{i}", 2) for i in range(number)]
    writer.computation("main", "v0:float32[8]", rows, f"v{number}", "", ("x",), ("y",))
    level = writer.level()
    main = level.computations[0]
    main = replace(main, ops=tuple(replace(op, flops=8, bytes=64) for op in main.ops))
    return program("%%jit\ny = f(x)", [(2, 2, "staged")], replace(level, computations=(main,)))


def hostile_graph() -> Program:
    """Names that want to be dot, or HTML, or to end a label."""
    names = [
        '"',
        "\\",
        "<b>x</b>",
        "&lt;",
        "a\nb",
        'x" ]; evil [label="',
        "\\N\\G",
        "漢字",
        "]",
        "}",
        "--",
        "\x1b[2J",
        "%",
        "e>",
    ]
    writer = Writer()
    plain = [f"a{i}" for i in range(len(names))]
    writer.computation(
        "main",
        " ".join(f"{name}:float32[2]" for name in plain),
        [(f"b{i}:float32[2] = op{i} {name}", Span(1, file='<"evil">\\.py'), {}, []) for i, name in enumerate(plain)],
        " ".join(f"b{i}" for i in range(len(names))),
        "",
        tuple(names),
        tuple(reversed(names)),
    )
    level = writer.level()
    main = level.computations[0]
    main = replace(
        main, name=names[5], ops=tuple(replace(op, name=name) for op, name in zip(main.ops, names, strict=True))
    )
    return program("x", [(1, 1, "staged")], replace(level, computations=(main,)))
