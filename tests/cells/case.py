"""What one hand-written cell of the differential test consists of.

>>> Case("add", cell="y = x + 1")
Case(name='add', ...)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["PRELUDE", "Case"]

PRELUDE = """\
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.array([0.5, -1.0, 2.0])
w = jnp.array([[1.0, 0.5, -0.5], [0.25, 2.0, 0.0], [-1.0, 0.75, 1.5]])
"""


@dataclass(frozen=True, repr=False)
class Case:
    """A cell, the state that it finds, and what a user is promised about it.

    Args:
      name: the test's id, unique over the corpus.
      setup: plain Python run first (after `PRELUDE`), as one cell or as several.
      cell: the source that is run plainly in one namespace and staged in another.
      rule: the rule of docs/semantics.md that it mainly shows.
      again: plain Python run before the second run, where the cell takes away what it needs.
      change: plain Python run after the second run and before a third; a tuple gives further runs.
      reused: what `Run.reused` must be after each change; None is not checked. One value stands for all.
      reason: a fragment that `Run.retrace.reasons` must hold after each change that is not reused.
      reused2: what `Run.reused` must be on the second, unchanged run; None is not checked.
      options: keyword arguments of `stage`.
      refused: a fragment of the message, for a cell that cannot be one program (`--whole`).
      may_refuse: the staged cell may be refused, but not answered otherwise than the plain one.
      raises: the name of the exception that the plain cell raises, the staged one with it.
      same_message: False where the message names the class of an array, which is a tracer's there.
      numpy_becomes_jax: names under which a NumPy value may be a jax.Array, as in what a cell is exported to.
      loose_identity: names under which plain JAX itself does not define which object is bound.
      probes: expressions whose values must agree afterwards; they may call functions that the cell made.
      stale: JAX's own cache of traced functions gives the plain cell the old value of a global; rule 4
        promises the new one, so the cache is cleared before each plain run.
      gives_up: it donates buffers of the user, which cannot come back when it fails (rule 8).
      x64: run everything with 64-bit types enabled.
      tolerance: relative tolerance in place of the dtype's own.
    """

    name: str
    cell: str
    setup: str | tuple[str, ...] = ""
    rule: int = 1
    again: str = ""
    change: str | tuple[str, ...] = ()
    reused: bool | None | tuple[bool | None, ...] = True
    reason: str = ""
    reused2: bool | None = True
    options: Mapping[str, Any] = field(default_factory=dict)
    refused: str = ""
    may_refuse: bool = False
    raises: str = ""
    same_message: bool = True
    numpy_becomes_jax: tuple[str, ...] = ()
    loose_identity: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
    stale: bool = False
    x64: bool = False
    tolerance: float | None = None
    gives_up: bool = False
    theme: str = ""

    def __repr__(self) -> str:
        return f"Case({self.name!r}, ...)"  # what failed is shown in full by the harness

    @property
    def setups(self) -> tuple[str, ...]:
        given = (self.setup,) if isinstance(self.setup, str) else self.setup
        return (PRELUDE, *given)

    @property
    def changes(self) -> tuple[tuple[str, bool | None], ...]:
        """The sources to run between the later runs, each with the `reused` expected after it."""
        sources = ((self.change,) if self.change else ()) if isinstance(self.change, str) else self.change
        flags = self.reused if isinstance(self.reused, tuple) else (self.reused,) * len(sources)
        assert len(flags) == len(sources), f"{self.name}: one `reused` for each change"
        return tuple(zip(sources, flags, strict=True))
