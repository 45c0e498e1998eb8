"""Reads what XLA writes where it knows no way from one sharding to another but by way of the whole array."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Rematerialised", "read_rematerialised"]

_WARNING = re.compile(
    r"Involuntary full rematerialization\. (?P<said>The compiler cannot go from sharding \{(?P<source>.*)\} to "
    r"\{(?P<target>.*)\} efficiently for HLO operation %(?P<name>\S+) = (?P<dtype>\w+)\[(?P<shape>[\d,]*)\])"
    r"(?:.*?op_name=\"(?P<op_name>[^\"]*)\")?"
)
_DTYPES = {"f": "float", "bf": "bfloat", "s": "int", "u": "uint", "c": "complex", "pred": "bool"}


@dataclass(frozen=True, slots=True)
class Rematerialised:
    """One warning of XLA's partitioner.

    Attributes:
      said: its own words.
      source: the sharding that the array has, as XLA writes it.
      target: the one that it is to have.
      aval: the piece of a device, as `float32[128,1024]`.
      op_name: where the array comes from: the name of an input, or of an equation with its number, see `ids`.
    """

    said: str
    source: str
    target: str
    aval: str
    op_name: str


def read_rematerialised(lines: Iterable[str]) -> tuple[Rematerialised, ...]:
    """The warnings among the lines that XLA wrote, each once.

    >>> line = (
    ...     "W1 spmd_partitioner.cc:656] Involuntary full rematerialization. The compiler cannot go from sharding "
    ...     "{devices=[4,1,2]<=[8] last_tile_dim_replicate} to {devices=[1,2,4]<=[8]} efficiently for HLO operation "
    ...     '%mul = f32[128,1024]{1,0} copy(%a), sharding={devices=[4,1,2]<=[8]}, metadata={op_name="jit(f)/eqn3/mul"}.'
    ... )
    >>> (found,) = read_rematerialised([line, "another line", line])
    >>> found.source, found.aval, found.op_name
    ('devices=[4,1,2]<=[8] last_tile_dim_replicate', 'float32[128,1024]', 'jit(f)/eqn3/mul')
    """
    found: dict[Rematerialised, None] = {}
    for line in lines:
        match = _WARNING.search(line)
        if match is not None:
            aval = f"{_dtype(match['dtype'])}[{match['shape']}]"
            said = f"{match['said']}."
            found[Rematerialised(said, match["source"], match["target"], aval, match["op_name"] or "")] = None
    return tuple(found)


def _dtype(name: str) -> str:
    """XLA's name of a dtype as NumPy's."""
    letters = name.rstrip("0123456789")
    return _DTYPES.get(letters, letters) + name[len(letters) :]
