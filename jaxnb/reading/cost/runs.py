"""What one run of an equation does with the jaxprs that it holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxnb.reading.cost.value import Cost

__all__ = ["Runs"]

Path = tuple[str, ...]


class Runs(NamedTuple):
    """What one run of an equation does.

    Attributes:
      own: the cost besides its bodies.
      times: how often each body runs, by its path in the parameters (as `body_jaxprs` gives it); others never run.
      open_ended: the bodies run at least that often; nobody knows how often.
      one_of: only the dearest of the bodies runs.
      scalar: the bodies combine single elements, so that their flops count but not their bytes.
      inlined: the lowered program has no call: the bodies share constants with the jaxpr around the equation.
      hidden: a jaxpr that is not in the parameters; what it costs is the equation's own.
      told: the equations of `hidden` say by their names of which equations of the bodies they are, see `mapped`.
      called: the bodies are functions that somebody wrote, and not parts of a loop or a branch.
    """

    own: Cost
    times: Mapping[Path, int]
    open_ended: bool = False
    one_of: bool = False
    scalar: bool = False
    called: bool = False
    inlined: bool = False
    hidden: Any = None
    told: bool = False
