"""The session of this process: that of the shell that loaded the extension, or else the one that `jaxnb.stage` made."""

from __future__ import annotations

from jaxnb.reading import SimulatedMesh
from jaxnb.staging.session.session import Session

__all__ = ["current_session", "simulated_mesh", "use_session"]


class _Current:
    session: Session | None = None


def use_session(session: Session | None) -> None:
    """Makes a session that of this process; None lets go of it."""
    _Current.session = session


def current_session() -> Session | None:
    """The session of this process; None while there is none."""
    return _Current.session


def simulated_mesh() -> SimulatedMesh | None:
    """The mesh that is not there for which the session of this process plans; None if cells run."""
    return _Current.session.simulated if _Current.session is not None else None
