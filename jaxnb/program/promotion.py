"""Why dtypes that meet become what they become: the lattice of JAX's type promotion, and the paths through it.

The lattice is that of JAX (JEP 9407, "Design of Type Promotion Semantics for JAX"): what meets becomes the first dtype
that can be reached from all of it. Python's numbers, and arrays made of them alone, are weak: `int*`, `float*` and
`complex*` stand before the dtypes to which they give way. `tests/findings/test_promote.py` holds it to the JAX that
runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from jaxnb.program.display import Displayed
from jaxnb.program.structure import Op, Place

if TYPE_CHECKING:
    from jaxnb.program.program import Program

__all__ = [
    "LATTICE",
    "PROMOTION",
    "WEAK",
    "Promoted",
    "Promotion",
    "Promotions",
    "exact_to",
    "meet",
    "path_between",
    "read_promotions",
]

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

PROMOTION = "promotion"
"""The attribute of an equation that converts what the code did not ask to be converted; its text says from what."""

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


@dataclass(frozen=True, slots=True)
class Promoted:
    """A conversion that the code did not ask for.

    Attributes:
      place: of the equation in the level "jaxpr".
      line: of the cell, None for what no line of it made.
      within: the function of the cell or of a file of the user's that the line calls, "" for the cell itself.
      meets: from what to what, as in `int32 → float32`.
      shape: of what is converted.
      bytes: that the conversions read and write, in all runs; None where that is not known.
      flops: of the equations that compute with the result, or of the product that converts by itself: they are of its
        dtype; likewise.
    """

    place: Place
    line: int | None
    within: str
    meets: str
    shape: tuple[int | str, ...]
    bytes: int | None
    flops: int | None


@dataclass(frozen=True, slots=True)
class Promotions(Displayed):
    """The implicit promotions of a program, in the order of its lines; it shows itself as a table."""

    items: tuple[Promoted, ...]
    source: str = ""

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Promoted]:
        return iter(self.items)


_PRODUCTS = frozenset({"dot_general"})
_MOVING = frozenset({"broadcast_in_dim", "reshape", "squeeze", "expand_dims", "transpose", "slice"})


def _users(value: int, users: Mapping[int, Sequence[Op]]) -> Iterator[Op]:
    """The ops that compute with a value, be it moved about."""
    for op in users.get(value, ()):
        if op.name in _MOVING and op.outputs:
            yield from _users(op.outputs[0], users)
        else:
            yield op


def read_promotions(program: Program) -> Promotions:
    """The implicit promotions of a program.

    Raises:
      KeyError: if it has no level "jaxpr".
    """
    level = program.level("jaxpr")
    found: list[Promoted] = []
    for index, computation in enumerate(level.computations):
        users: dict[int, list[Op]] = {}
        for op in computation.ops:
            for value in set(op.inputs):
                users.setdefault(value, []).append(op)
        for at, op in enumerate(computation.ops):
            meets = dict(op.attributes).get(PROMOTION)
            if meets is None or not op.outputs:
                continue
            (made,) = op.outputs
            flops = [op.flops] if op.name in _PRODUCTS else [user.flops for user in _users(made, users)]
            aval = level.values[made].aval
            total = None if None in flops else sum(one for one in flops if one is not None)
            steps = op.call.steps() if op.call is not None else ()
            within = next((step.name for step in reversed(steps) if step.kind == "function"), "")
            shape = aval.shape if aval is not None else ()
            found.append(Promoted((index, at), op.cell_line, within, meets, shape, op.bytes, total))
    found.sort(key=lambda one: (one.line is None, one.line or 0))
    return Promotions(tuple(found), program.source)
