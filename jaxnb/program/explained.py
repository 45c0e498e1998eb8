"""What was found out about an exception, kept with it until it is shown."""

from __future__ import annotations

from jaxnb.program.structure import Finding

__all__ = ["attach", "finding_of"]


def attach(error: BaseException, finding: Finding, source: str) -> None:
    """Keeps with an exception what was found out about it, and the cell as displayed."""
    error.__jaxnb_finding__ = (finding, source)  # type: ignore[attr-defined]


def finding_of(error: BaseException) -> tuple[Finding, str] | None:
    """What was found out about an exception, and about which cell; None if nothing."""
    return getattr(error, "__jaxnb_finding__", None)
