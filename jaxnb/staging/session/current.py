"""The session of this process: that of the shell that loaded the extension, or else the one that `jaxnb.stage` made."""

from __future__ import annotations

from jaxnb.errors import JaxnbError
from jaxnb.reading import SimulatedMesh
from jaxnb.staging.objects.release import CLEAR_PROGRAMS
from jaxnb.staging.session.session import Session

__all__ = ["current_session", "no_run", "simulated_mesh", "use_session"]


class _Current:
    session: Session | None = None


def use_session(session: Session | None) -> None:
    """Makes a session that of this process; None lets go of it."""
    _Current.session = session


def current_session() -> Session | None:
    """The session of this process; None while there is none."""
    return _Current.session


def no_run(fix: str = "run a cell that begins with %%jit, and ask then.") -> JaxnbError:
    """What is raised where the last run is asked for, and there is none.

    Args:
      fix: what to do where none ever ran.
    """
    if _Current.session is not None and _Current.session.was_cleared:
        return JaxnbError(
            "nothing is known of the last run any more.",
            why=f"{CLEAR_PROGRAMS} has let go of all programs; what cells have bound is as it was.",
            fix="run the cell again, which compiles it anew, and ask then.",
        )
    return JaxnbError("no cell has been staged yet.", fix=fix)


def simulated_mesh() -> SimulatedMesh | None:
    """The mesh that is not there for which the session of this process plans; None if cells run."""
    return _Current.session.simulated if _Current.session is not None else None
