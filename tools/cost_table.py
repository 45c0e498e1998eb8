"""Measures what XLA counts for functions that it has no operation of its own for, and writes it beside the rules.

`python tools/cost_table.py` writes `jaxnb/reading/cost/jax_X.Y.toml` for the jax that runs it; with `--check` it only
says whether the file is as it should be. Each function is lowered for several sizes, and XLA's analysis of what was
lowered says what it takes: what grows with the size is its own, and the rest tells how many constants it spreads.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.extend.core import primitives

from jaxnb.reading.cost.measured import FOLDER, Each, Formula
from jaxnb.reading.cost.randomness import counters

VERSION = ".".join(map(str, jax.__version_info__[:2]))
FILE = FOLDER / f"jax_{VERSION}.toml"

REAL = """
acos acosh asin asinh atan atanh bessel_i0e bessel_i1e conj cosh digamma erf_inv erfc exp2 lgamma log2 logistic
nextafter one_minus_square polygamma sinh square zeta
"""
COMPLEX = """
abs acos acosh asin asinh atan atanh conj cos cosh exp exp2 log log1p log2 logistic max min sin sinh sqrt square
"""
BINARY = frozenset({"max", "min", "nextafter", "polygamma", "zeta"})

Program = Callable[[int], tuple[Any, ...]]
"""For n elements: the function, and what it is given."""


def xla(fun: Callable[..., Any], *args: Any) -> Each:
    """What XLA counts for a function before anything is fused."""
    found = jax.jit(fun).lower(*args).cost_analysis() or {}
    return Each(*(int(found.get(name, 0)) for name in ("flops", "bytes accessed", "transcendentals")))


def growth(program: Program, x64: bool = False) -> tuple[Each, int]:
    """What a program takes for each of n elements, and the bytes that it moves besides.

    Args:
      program: makes it for some n.
      x64: whether JAX has numbers of 64 bits meanwhile.

    Raises:
      ValueError: if that is not the same for each of them.
    """
    with jax.enable_x64(x64):
        figures = [xla(*program(n)) for n in (1000, 2000, 3000)]
    each, again = ([(b - a) / 1000 for a, b in zip(*two, strict=True)] for two in (figures[:2], figures[1:]))
    if each != again or not all(one.is_integer() for one in each):
        raise ValueError(f"{figures} do not grow evenly")
    grown = Each(*map(int, each))
    return grown, figures[0].bytes - 1000 * grown.bytes


# --- functions of each element ---


def real(name: str) -> tuple[Formula, Formula]:
    """What a function of real numbers becomes for float32 and for float64."""
    single, double = _pair(name, "float32", "float64")
    wide = name != "conj" and _is_wide(name, single)
    one = single.constants == 1 and _shares_one(name, single)
    return single._replace(wide=wide, one=one), double._replace(wide=wide and double == single, one=one)


def of_complex(name: str) -> Formula:
    """What a function of complex numbers becomes.

    Raises:
      ValueError: if that depends on how large they are.
    """
    single, double = _pair(name, "complex64", "complex128")
    if single != double:
        raise ValueError(f"{name} is {single} and {double}")
    return single


def _each(name: str, dtype: str) -> tuple[Each, int]:
    operands = 2 if name in BINARY else 1
    x64 = dtype in ("float64", "complex128")
    return growth(lambda n: (getattr(lax, name), *[jax.ShapeDtypeStruct((n,), dtype)] * operands), x64)


def _pair(name: str, small: str, large: str) -> tuple[Formula, Formula]:
    """The formulas for two dtypes.

    Where they are one, the bytes of both tell numbers from flags; otherwise flags are what does not fill a word.
    """
    size = jnp.dtype(small).itemsize // (2 if small.startswith("complex") else 1)
    (first, besides), (second, more) = _each(name, small), _each(name, large)
    moved = first.bytes - besides, second.bytes - more
    words, flags = (moved[1] - moved[0]) // size, 2 * moved[0] - moved[1]
    same = (first.flops, first.transcendentals, 2 * besides) == (second.flops, second.transcendentals, more)
    splits = [(words, flags)] * 2 if same else [divmod(moved[0], size), divmod(moved[1], 2 * size)]
    return (
        Formula(first.flops, first.transcendentals, *splits[0], besides // size),
        Formula(second.flops, second.transcendentals, *splits[1], more // (2 * size)),
    )


def _is_wide(name: str, single: Formula) -> bool:
    """Whether numbers of two bytes are turned into float32 and back."""
    each, _ = _each(name, "bfloat16")
    return each.flops > single.flops


def _shares_one(name: str, single: Formula) -> bool:
    """Whether its constant is the array that another operation makes of 1."""
    each, _ = growth(lambda n: (lambda x: getattr(lax, name)(x) + (x + 1), jax.ShapeDtypeStruct((n,), "float32")))
    both_sums = 2 * 3 * 4
    return each.bytes == single.words * 4 + single.flags + both_sums + 4


# --- other things of which XLA counts the parts ---


def steps() -> Iterator[tuple[str, Each]]:
    """What combining two elements takes in reductions that combine more than by one operation."""
    for name, fun, dtype in (
        ("argmax", lambda x: lax.argmax(x, 0, jnp.int32), "float32"),
        ("argmax_of_integers", lambda x: lax.argmax(x, 0, jnp.int32), "int32"),
        ("max_of_complex", lambda x: lax.reduce_max(x, (0,)), "complex64"),
    ):
        each, _ = growth(lambda n, fun=fun, dtype=dtype: (fun, jax.ShapeDtypeStruct((n, 2), dtype)))
        yield name, Each(each.flops // 2, 0, each.transcendentals // 2)
    two = xla(lambda x: lax.cumlogsumexp(x, 0), jax.ShapeDtypeStruct((2,), "float32"))  # each of two sums takes one
    yield "cumlogsumexp", Each(two.flops // 2, 0, two.transcendentals // 2)


def random() -> Iterator[tuple[str, Each]]:
    """What a hash takes, whose loop XLA counts once, and what drawing takes beside the hash and the counter."""
    key, words = jax.random.key(0), jax.ShapeDtypeStruct((), "uint32")
    hashed, _ = growth(lambda n: (_hash, words, words, *[jax.ShapeDtypeStruct((n,), "uint32")] * 2))
    yield "hash", hashed
    draws: dict[str, Callable[[Any, int], Any]] = {
        **{f"bits_{size}": lambda k, n, size=size: jax.random.bits(k, (n,), f"uint{size}") for size in (8, 16, 32, 64)},
        "split": jax.random.split,
    }
    counter = counters((2,)).flops - counters((1,)).flops, counters((2,)).bytes - counters((1,)).bytes
    for name, draw in draws.items():
        each, _ = growth(lambda n, draw=draw: (lambda k: draw(k, n), key), x64=name == "bits_64")
        yield name, Each(each.flops - hashed.flops - counter[0], each.bytes - hashed.bytes - counter[1])


def _hash(first: Any, second: Any, left: Any, right: Any) -> Any:
    return primitives.threefry2x32_p.bind(first, second, left, right)


# --- the file ---


def table() -> str:
    """The text of the file."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f"# Measured by tools/cost_table.py with jax {VERSION}; what it says is changed there."
    reals = {name: real(name) for name in REAL.split() if hasattr(lax, name)}
    yield from ("", "[real]  # float32, and float64 where that is no other formula")
    yield from (f"{name} = {_row(single)}" for name, (single, _) in reals.items())
    yield from ("", "[double]")
    yield from (f"{name} = {_row(double)}" for name, (single, double) in reals.items() if double != single)
    yield from ("", "[complex]")
    yield from (f"{name} = {_row(of_complex(name))}" for name in COMPLEX.split() if hasattr(lax, name))
    for title, rows in (("steps", steps()), ("random", random())):
        yield from ("", f"[{title}]", *(f"{name} = {_row(cost)}" for name, cost in rows))


def _row(what: Formula | Each) -> str:
    shown = (f"{name} = {str(value).lower()}" for name, value in what._asdict().items() if value)
    return f"{{ {', '.join(shown)} }}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    if not parser.parse_args().check:
        FILE.write_text(table(), "utf-8")
    elif not FILE.is_file() or FILE.read_text("utf-8") != table():
        raise SystemExit(f"{FILE.name} is not as it should be: run python tools/cost_table.py")


if __name__ == "__main__":
    main()
