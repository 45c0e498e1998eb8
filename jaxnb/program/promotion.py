"""Why dtypes that meet become what they become: the lattice of JAX's type promotion, and the paths through it.

The lattice is that of JAX (JEP 9407, "Design of Type Promotion Semantics for JAX"): what meets becomes the first dtype
that can be reached from all of it. Python's numbers, and arrays made of them alone, are weak: `int*`, `float*` and
`complex*` stand before the dtypes to which they give way. `tests/test_promotion.py` holds it to the JAX that runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from jaxnb.program.display import Displayed

__all__ = ["LATTICE", "WEAK", "Promotion", "exact_to", "meet", "path_between"]

_INTEGERS = {
    "uint8": ("uint16", "int16"),
    "uint16": ("uint32", "int32"),
    "uint32": ("uint64", "int64"),
    "uint64": ("float*",),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": ("float*",),
}
_NARROW_INTEGERS = ("int2", "int4", "uint2", "uint4")
_NARROW_FLOATS = (
    *("float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz"),
    *("float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"),
)
LATTICE: Mapping[str, tuple[str, ...]] = {
    "bool": ("int*",),
    "int*": ("uint8", "int8", *_NARROW_INTEGERS),
    **_INTEGERS,
    "float*": ("bfloat16", "float16", "complex*", *_NARROW_FLOATS),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float32": ("float64", "complex64"),
    "float64": ("complex128",),
    "complex*": ("complex64",),
    "complex64": ("complex128",),
    "complex128": (),
    **dict.fromkeys((*_NARROW_INTEGERS, *_NARROW_FLOATS), ()),
}
"""Each dtype with those that come directly above it."""

WEAK = frozenset({"int*", "float*", "complex*"})
"""What gives way: the dtypes of Python's numbers."""

_DIGITS = {"bfloat16": 8, "float16": 11, "float32": 24, "float64": 53, "complex64": 24, "complex128": 53}
"""How many binary digits a float has, the hidden one included: whole numbers up to 2 to that are exact."""


@dataclass(frozen=True, slots=True)
class Promotion(Displayed):
    """What some dtypes become where they meet; it shows itself as a text, and in a notebook as the lattice.

    Attributes:
      given: the names, "weak-int" and the like being Python's numbers.
      nodes: of each where it stands in `LATTICE`.
      meets: where they meet in it.
      dtype: the result as JAX has it, cut to 32 bits where 64 are off; "int", "float" or "complex" where all of them
        are Python's numbers.
      weak: whether it still gives way to others.
      rules: one sentence for each step, and for what is lost.
    """

    given: tuple[str, ...]
    nodes: tuple[str, ...]
    meets: str
    dtype: str
    weak: bool
    rules: tuple[str, ...]

    @property
    def paths(self) -> tuple[tuple[str, ...], ...]:
        """For each operand the way from its dtype to where they meet."""
        return tuple(path_between(node, self.meets) for node in self.nodes)


def path_between(below: str, above: str) -> tuple[str, ...]:
    """The shortest way up from one dtype to another, both included; () if there is none.

    >>> path_between("int32", "bfloat16")
    ('int32', 'int64', 'float*', 'bfloat16')
    """
    ways: list[tuple[str, ...]] = [(below,)]
    for way in ways:
        if way[-1] == above:
            return way
        ways += [(*way, one) for one in LATTICE[way[-1]]]
    return ()


@cache
def _from(dtype: str) -> frozenset[str]:
    """Everything that can be reached from a dtype, itself included."""
    return frozenset({dtype}).union(*map(_from, LATTICE[dtype]))


def meet(dtypes: Iterable[str]) -> str | None:
    """Where dtypes meet; None where they never do.

    >>> meet(["int32", "float*", "bfloat16"]), meet(["int4", "int32"])
    ('bfloat16', None)
    """
    common = frozenset.intersection(*map(_from, dtypes))
    return max(common, key=lambda one: len(_from(one)), default=None)


def exact_to(dtype: str, result: str) -> int | None:
    """Up to which number a float has all whole numbers that an integer may be; None where it has all of them.

    >>> exact_to("int32", "bfloat16"), exact_to("int8", "bfloat16")
    (256, None)
    """
    digits = _DIGITS.get(result)
    if digits is None or dtype not in _INTEGERS:
        return None
    bits = int(dtype.lstrip("uint")) - (not dtype.startswith("u"))
    return 2**digits if bits > digits else None
