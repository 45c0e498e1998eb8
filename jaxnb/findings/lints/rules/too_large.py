"""Programs that need more memory than their device has (`"too_large"`).

A GPU runs a program after the cell has ended: that it got no memory comes up where somebody waits for a result. What a
program needs is known when it is compiled, and how much JAX may take of the device, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax

from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.lints.lint import Lint, When
from jaxnb.findings.memory.oom import find_oom
from jaxnb.program import Finding
from jaxnb.reading import peak_bytes
from jaxnb.units import format_bytes

__all__ = ["LINT", "find_too_large", "limit_of"]


def find_too_large(traced: LintContext) -> Iterator[Finding]:
    """What a piece needs beyond what its device has.

    Args:
      traced: the piece, compiled, which has run.
    """
    (device, limit), *_ = _missed(traced)
    where = f"{device.platform}:{device.id}, which has {format_bytes(limit)}"
    said = f"the program does not fit into {where}: its results will be errors."
    yield replace(find_oom(said, traced.cell, traced.piece, traced.namespace, traced.label), kind="too_large")


def _missed(traced: LintContext) -> list[tuple[Any, int]]:
    """The devices of a piece that have less than it needs, with what they have."""
    compiled = traced.piece.compiled
    executable = compiled.runtime_executable() if compiled is not None else None
    peak = peak_bytes(compiled) if executable is not None else None
    if executable is None or peak is None:
        return []
    limits = [(device, limit_of(device)) for device in executable.local_devices()]
    return [(device, limit) for device, limit in limits if 0 < limit < peak]


def limit_of(device: Any) -> int:
    """The bytes that JAX may take of a device; 0 where it does not tell, as on CPUs."""
    return int((device.memory_stats() or {}).get("bytes_limit", 0))


LINT = Lint(
    in_piece=find_too_large,
    when=lambda traced: When.RAN if limit_of(jax.local_devices()[0]) else When.NEVER,
    later=lambda traced: bool(_missed(traced)),
)
