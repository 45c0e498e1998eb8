"""What a session asks others for: what there is to say about its runs and errors, and plans for machines not there.

A session runs cells; whoever makes it hands it an `Observer`, which finds things out about what it does, and a
`Planner`, for cells that are planned instead of run. Without them it runs cells all the same, and says less.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from jaxnb.errors import Asking, JaxnbError
from jaxnb.options import StageOptions
from jaxnb.program import Finding
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.session.execution import Execution, Progress
from jaxnb.staging.session.run import Run
from jaxnb.staging.trace.piece import Piece

if TYPE_CHECKING:
    from jaxnb.program import RematPolicies, Search, Shardings, TargetPlans
    from jaxnb.staging.session.session import Session

__all__ = ["Elsewhere", "Explained", "Label", "Observer", "Planner"]

Label = Callable[[str], str]
"""What the user knows a file by."""


class Explained:
    """What is known of an error, read while the names are those of the moment in which it was raised; here nothing."""

    def tell(self, namespace: dict[str, Any]) -> None:
        """Attaches it to the error, once everything is as it was before the cell.

        Args:
          namespace: what the cell began with.
        """


class Observer:
    """Finds out what there is to say about what a session does. This one finds nothing."""

    def on_traced(self, cell: CellSource, piece: Piece, namespace: Mapping[str, Any], label: Label) -> None:
        """A piece was traced, and is about to be compiled."""

    def on_ran(self, execution: Execution, cell: str | bytes, shown: Container[str]) -> Sequence[Finding]:
        """The findings on a cell that has run well.

        Args:
          execution: that ran it.
          cell: its identity, which stays when it is edited.
          shown: the kinds of findings that are written out; others are folded.
        """
        return ()

    def on_nans(self, execution: Execution, entry: dict[str, Any]) -> Sequence[Finding]:
        """The findings on values that are no numbers, where these were asked for.

        Args:
          execution: that ran the cell.
          entry: the names before it ran.
        """
        return ()

    def on_retraced(self, found: Sequence[Finding], shown: str, namespace: dict[str, Any]) -> tuple[Finding, ...]:
        """The findings on a needless retrace, the fixes of which may be tried."""
        return tuple(found)

    def on_planned(
        self, cell: CellSource, piece: Piece, namespace: Mapping[str, Any], label: Label, shown: Container[str]
    ) -> tuple[Finding, ...]:
        """The findings on a piece that was planned for a mesh that is not there."""
        return ()

    def on_needed(self, asking: Asking, cell: CellSource, label: Label) -> Finding | None:
        """What there is to say about a value that a statement needs, and that Python will have."""
        return None

    def on_error(self, error: BaseException, cell: CellSource, label: Label) -> Explained:
        """What is known of an error that a cell raised, before anything is put back."""
        return Explained()

    def on_oom(
        self, error: BaseException, cell: CellSource, at: Any, namespace: Mapping[str, Any], label: Label
    ) -> None:
        """A program did not get its memory: attaches to the error what took it. `at` is where the execution stood."""

    def on_oom_earlier(
        self, error: BaseException, programs: Iterator[Piece], namespace: Mapping[str, Any], label: Label
    ) -> bool:
        """The same of a program of an earlier cell, which somebody waited for; False if there is no such."""
        return False

    def shardings(
        self,
        cell: CellSource,
        pieces: Sequence[Piece],
        namespace: Mapping[str, Any],
        label: Label,
        progress: Progress,
    ) -> Shardings:
        """How the values of a run are spread.

        Raises:
          JaxnbError: if nobody looks at that.
        """
        raise JaxnbError("nobody looks at how the values of this session are spread.")


class Planner(Protocol):
    """What stands in for running a cell where its machine is not there, or is to be chosen: `jaxnb.planning`."""

    def simulate_run(
        self, session: Session, cell: CellSource, namespace: dict[str, Any], options: StageOptions, progress: Progress
    ) -> Run:
        """Plans a cell for the mesh that a session simulates; nothing runs or is bound."""
        ...

    def search_run(
        self, session: Session, cell: CellSource, namespace: dict[str, Any], options: StageOptions, progress: Progress
    ) -> Run | tuple[Search, Any]:
        """Tries all ways to lay the names of a mapped cell on its mesh.

        Returns:
          What was found, with the mesh, if its devices are there; otherwise a run that has the best plan.
        """
        ...

    def plan_targets(
        self,
        session: Session,
        cell: CellSource,
        namespace: dict[str, Any],
        options: StageOptions,
        names: Sequence[str],
        progress: Progress,
    ) -> TargetPlans:
        """Plans a cell for several targets, one after the other."""
        ...

    def try_policies(
        self,
        session: Session,
        cell: CellSource,
        namespace: dict[str, Any],
        options: StageOptions,
        progress: Progress,
        *,
        time: bool = False,
    ) -> RematPolicies:
        """Compiles a cell that takes a gradient for every policy for what the forward pass keeps."""
        ...


class Elsewhere(Protocol):
    """What runs cells in other processes: `jaxnb.clusters`."""

    @property
    def by_default(self) -> bool:
        """Whether that is where every staged cell runs which does not say otherwise."""
        ...

    def run_cell(
        self,
        session: Session,
        cell: CellSource,
        offset: int,
        namespace: dict[str, Any],
        options: StageOptions,
        cell_id: str | None,
        progress: Progress,
        before_host: Callable[[], None],
    ) -> Run:
        """Runs a cell in all processes, and binds here what it binds there; the arguments are those of
        `Session.stage`."""
        ...
