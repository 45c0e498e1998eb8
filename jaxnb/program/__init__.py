"""What a cell became, as one neutral, frozen structure; its laws, its JSON, and what is derived from it alone."""

from jaxnb.program.program import Maker, Program
from jaxnb.program.structure import (
    FACTS,
    LEVELS,
    PHASES,
    QUIET,
    Assigned,
    Aval,
    Computation,
    Fate,
    Finding,
    Fix,
    Level,
    Link,
    Op,
    PlacedOp,
    Span,
    Timing,
    Value,
)

__all__ = [
    "FACTS",
    "LEVELS",
    "PHASES",
    "QUIET",
    "Assigned",
    "Aval",
    "Computation",
    "Fate",
    "Finding",
    "Fix",
    "Level",
    "Link",
    "Maker",
    "Op",
    "PlacedOp",
    "Program",
    "Span",
    "Timing",
    "Value",
]
