"""What the notebook and the processes of a cluster tell one another of a cell."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jaxnb.clusters.described import Shown
from jaxnb.clusters.values import Parcel
from jaxnb.options import StageOptions
from jaxnb.program import Finding
from jaxnb.staging import Run

__all__ = ["CellRequest", "Failure", "Report"]


@dataclass(frozen=True)
class CellRequest:
    """A cell that all processes are to run.

    Attributes:
      number: of the cell, in the order in which they are run.
      text, shown, filename, offset, cell_id, options: as of `Session.stage`.
      drop: ids of values that nobody in the notebook holds any more.
      unbind: names that the notebook has not, and the process may have.
      owned: names of the cell that the notebook holds itself, and would not see change.
      looks: whether there is to be looked for quiet findings.
      kinds: those that are written out.
      cache_size: how many programs are kept for each piece.
      label: what the user knows the cell by, such as "Cell In[5]".
      colors: of tracebacks, by IPython's name.
      drawn: the random states of Python and NumPy with which it begins, pickled; b"" of those that are here.
    """

    number: int
    text: str
    shown: str
    filename: str
    offset: int
    cell_id: str | None
    options: StageOptions
    drop: tuple[int, ...] = ()
    unbind: tuple[str, ...] = ()
    owned: tuple[str, ...] = ()
    looks: bool = True
    kinds: frozenset[str] = frozenset()
    cache_size: int = 4
    label: str = ""
    colors: str = "nocolor"
    drawn: bytes = b""


@dataclass(frozen=True)
class Failure:
    """What a process says of a cell that did not run there.

    Attributes:
      kind: "error", "elsewhere" where another one failed, "disagreed", or "interrupted".
      error: the class of the error, as "module:name".
      message: its text.
      parts: of an error of jaxnb: what, why, fix.
      line: of the cell, if that is known.
      frames: how IPython shows it, by lines.
      notes: what was added to it.
      found: what was found out about it, with the source that this is about.
      rank: which process failed, where it was another one.
      others: the processes that were about to run another program.
      program: what this one was about to run: each equation with its line.
      states: by name what tells whether processes have the same: a digest.
      made: the class of the error with its arguments and attributes, where these can be sent.
    """

    kind: str
    error: str = ""
    message: str = ""
    parts: tuple[str, str, str] | None = None
    line: int | None = None
    frames: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    found: tuple[Finding, str] | None = None
    rank: int = -1
    others: tuple[int, ...] = ()
    program: tuple[tuple[int, str], ...] = ()
    states: dict[str, str] = field(default_factory=dict[str, str])
    made: Parcel | None = None


@dataclass(frozen=True)
class Report:
    """What a process says of a cell.

    Attributes:
      failure: why it did not run; None if it did.
      run: what it came to, without values.
      bound: by name what it bound.
      unbound: names that are gone.
      value: what its last line is.
      program: the number of the program, which is the same as long as the same programs run.
      printed: what it wrote, as (stream, text).
      displayed: what it displayed, as (data, metadata).
      digests: of the values bound that lie in one process each, to be compared.
      seconds: that it took.
      received: whether what was sent with it has arrived.
      changed: names of `owned` whose objects it has changed in place.
      drawn: the random states as it left them, pickled; b"" if they are as they were.
      waited: those of them in which it waited for other processes to come as far.
    """

    failure: Failure | None = None
    run: Run | None = None
    bound: dict[str, Shown] = field(default_factory=dict[str, Shown])
    unbound: tuple[str, ...] = ()
    value: Shown | None = None
    program: int = 0
    printed: tuple[tuple[str, str], ...] = ()
    displayed: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = ()
    digests: dict[str, str] = field(default_factory=dict[str, str])
    seconds: float = 0.0
    received: bool = True
    changed: tuple[str, ...] = ()
    drawn: bytes = b""
    waited: float = 0.0
