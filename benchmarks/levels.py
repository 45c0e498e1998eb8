"""Reading a jaxpr into a program and encoding it, against JAX printing the same jaxpr, paired in one run.

Unrolled programs of about 1,000, 10,000 and 100,000 equations: a block of lines that a Python loop repeats ("flat"),
one with calls, loops and branches in it ("nested"), and the first one written out, so that it has a line for each
operation ("long"). Goals: reading and encoding take at most as long as `str(jaxpr)`, which tells nothing of lines; at
most 20 bytes an equation compressed; memory that grows with the number of equations and no faster. What is done
besides for a staged cell, costs and links to the statements, has columns of its own, and so has loading. Seconds are
those of the processor, so that other work on the machine counts little. Run with
`python benchmarks/levels.py [equations ...]`.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import time
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp

from jaxnb.program import Level, Program, Span
from jaxnb.program.codec import decode, encode
from jaxnb.program.laws import check_program
from jaxnb.reading.cost import costs_of, with_costs
from jaxnb.reading.jaxpr.jaxpr import read_jaxpr
from jaxnb.reading.jaxpr.source import link_source, read_source

CELL = "cell"
# Each line of a block is a line of the cell, as of somebody who wrote a loop over layers or time steps.
FLAT = """
def block(x, w, b, mask, step):
    h = x @ w + b
    h = jnp.tanh(h) * 0.5 + h
    mean = h.mean(-1, keepdims=True)
    centred = h - mean
    spread = (centred ** 2).mean(-1, keepdims=True)
    h = centred * jax.lax.rsqrt(spread + 1e-5)
    gate = jax.lax.select(mask, h, jnp.zeros_like(h))
    low = gate.astype(jnp.bfloat16).astype(jnp.float32)
    turned = jnp.transpose(low).reshape(4, 8)
    x = x + jnp.exp(-jnp.abs(turned)) * jnp.sin(step * 0.1)
    x = jax.lax.dynamic_update_slice(x, h[:1, 2:6], (0, 1))
    return jnp.maximum(x, -1.0), step + 1

def program(x, w, b, mask, step):
    for _ in range(count):
        x, step = block(x, w, b, mask, step)
    return x.sum(), step
"""
NESTED = """
def block(x, w, b, mask, step):
    h = jax.nn.softmax(x @ w + b)
    h = jnp.where(mask, jax.nn.relu(h), jnp.clip(x, -1.0, 1.0))
    def turn(carry, row):
        carry = jnp.tanh(carry + row)
        return carry, carry * 2.0
    last, rows = jax.lax.scan(turn, h[0], h)
    x = jax.lax.cond(step > 3, lambda a: a + last, lambda a: a - rows, x)
    x = jax.lax.fori_loop(0, 3, lambda i, a: a * 0.5 + jnp.sin(a), x)
    return jax.nn.silu(x), step + 1

def program(x, w, b, mask, step):
    for _ in range(count):
        x, step = block(x, w, b, mask, step)
    return x.sum(), step
"""


def written_out(source: str, count: int) -> str:
    """The same program without its function and its loop: the lines of the block, again and again."""
    _, head, *block, last = source.partition("\n\n")[0].splitlines()
    results = last.strip().removeprefix("return ")
    lines = [*block, f"    x, step = {results}"] * count
    return "\n".join(["", head.replace("block", "program"), *lines, "    return x.sum(), step"])


def traced(source: str, count: int) -> Any:
    """A program of that many blocks as a jaxpr."""
    namespace: dict[str, Any] = {"jax": jax, "jnp": jnp, "count": count}
    exec(compile(source, CELL, "exec"), namespace)
    args = (jnp.ones((4, 8)), jnp.ones((8, 8)), jnp.ones(8), jnp.ones((4, 8), bool), 0)
    return jax.make_jaxpr(namespace["program"])(*args)


def size(jaxpr: Any) -> int:
    """How many equations the level has that is read of a jaxpr, those of bodies included."""
    return sum(1 for _ in read_jaxpr(jaxpr, cell_file=CELL).ops())


def sized(source: str, equations: int) -> int:
    """How many blocks make about so many equations."""
    few, more = (size(traced(source, n)) for n in (4, 8))
    return max(1, round((equations - few) / (more - few) * 4) + 4)


def measure(source: str, equations: int, turns: int, long: bool) -> dict[str, Any]:
    blocks = sized(source, equations)
    source = written_out(source, blocks) if long else source
    jaxpr = traced(source, blocks)
    count = size(jaxpr)
    gc.collect()
    spans = [(Span(2, 0, source.count("\n"), 20), "staged")]
    level = Level("jaxpr")
    program, data, text = Program(""), {}, ""

    def read() -> None:
        nonlocal level
        level = read_jaxpr(jaxpr, cell_file=CELL, source=source)

    def write() -> None:
        nonlocal data, program
        program = Program(source, (level,))
        data = encode(program)

    def dump() -> None:
        nonlocal text
        text = json.dumps(data, separators=(",", ":"))

    def load() -> None:
        assert decode(json.loads(text)) == program

    steps: dict[str, Callable[[], Any]] = {
        "str": lambda: str(jaxpr),
        "read": read,
        "lines": lambda: jaxpr.pretty_print(source_info=True),
        "encode": write,
        "json": dump,
        "cost": lambda: with_costs(level, costs_of(jaxpr)),
        "link": lambda: link_source(read_source(source, spans), level),
        "ops": lambda: sum(1 for _ in program.ops("jaxpr")),
        "check": lambda: check_program(program),
        "load": load,
    }
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(turns):
        level, program, data, text = Level("jaxpr"), Program(""), {}, ""  # what the last turn made is let go here
        gc.collect()
        for name, step in steps.items():
            if name == "lines" and turn:
                continue  # where every line is another one, it takes as long as the square of their number
            start = time.process_time()
            step()
            seconds[name].append(time.process_time() - start)
    ours = [sum(times) for times in zip(seconds["read"], seconds["encode"], seconds["json"], strict=True)]
    ratios = [own / printed for own, printed in zip(ours, seconds["str"], strict=True)]
    raw = text.encode()
    return {
        **{name: statistics.median(found) for name, found in seconds.items()},
        "equations": count,
        "ratio": statistics.median(ratios),
        "raw": len(raw) / count,
        "compressed": len(zlib.compress(raw, 6)) / count,
        **memory(jaxpr, source, count),
    }


def memory(jaxpr: Any, source: str, count: int) -> dict[str, float]:
    """The most that reading and encoding hold at a time, and what the level holds in the end, in bytes an equation."""
    gc.collect()
    tracemalloc.start()
    level = read_jaxpr(jaxpr, cell_file=CELL, source=source)
    kept, _ = tracemalloc.get_traced_memory()
    text = json.dumps(encode(Program(source, (level,))), separators=(",", ":"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del text
    return {"kept": kept / count, "peak": peak / count, "megabytes": peak / 2**20}


COLUMNS = (
    ("equations", "{:d}"),
    ("str", "{:.3f}"),
    ("lines", "{:.3f}"),
    ("read", "{:.3f}"),
    ("encode", "{:.3f}"),
    ("json", "{:.3f}"),
    ("ratio", "{:.2f}"),
    ("cost", "{:.3f}"),
    ("link", "{:.3f}"),
    ("ops", "{:.3f}"),
    ("check", "{:.3f}"),
    ("load", "{:.3f}"),
    ("raw", "{:.1f}"),
    ("compressed", "{:.1f}"),
    ("kept", "{:.0f}"),
    ("peak", "{:.0f}"),
    ("megabytes", "{:.0f}"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("equations", nargs="*", type=int, default=[1_000, 10_000, 100_000])
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    print(f"jax {jax.__version__}; medians of {options.turns} turns; seconds; bytes an equation; peak in MB at the end")
    print(" | ".join(["program", *(name.rjust(9) for name, _ in COLUMNS)]))
    for name, source in (("flat", FLAT), ("nested", NESTED), ("long", FLAT)):
        for equations in options.equations:
            row = measure(source, equations, options.turns, name == "long")
            cells = [shape.format(row[column]).rjust(9) for column, shape in COLUMNS]
            print(" | ".join([name.ljust(7), *cells]), flush=True)


if __name__ == "__main__":
    main()
