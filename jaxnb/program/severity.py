"""How much a finding matters: whether the cell fails, computes wrong numbers, is slow, or only is so."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["Severity", "severity_of"]


class Severity(IntEnum):
    """The higher, the worse.

    Attributes:
      FACT: how it is; nothing has to be done about it.
      SLOW: it costs time or memory without need.
      WRONG: the numbers, or what is kept, may not be what is meant.
      ERROR: the cell does not run.
    """

    FACT, SLOW, WRONG, ERROR = range(4)


_KNOWN = {
    Severity.FACT: "dynamic static fix remat sizes",
    Severity.SLOW: (
        "constant not-reusable retrace sharding transfer donate memory dtype unrolled both_branches straggler refetched"
    ),
    Severity.WRONG: (
        "key nans leak x64 gradient donation side_effect stale dropped all_pairs bounds too_large timing wrapped"
        " misread differs kernel"
    ),
}
_BY_KIND = {kind: severity for severity, kinds in _KNOWN.items() for kind in kinds.split()}


def severity_of(kind: str) -> Severity:
    """The severity of findings of a kind; what is told of an error has a kind for each sort of error.

    >>> severity_of("key").name, severity_of("contraction").name
    ('WRONG', 'ERROR')
    """
    return _BY_KIND.get(kind, Severity.ERROR)
