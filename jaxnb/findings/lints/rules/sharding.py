"""Shardings that cost more than others would (`"sharding"`); what is looked for is in `findings.sharding`."""

from __future__ import annotations

from jaxnb.findings.lints.lint import Lint, When
from jaxnb.findings.sharding.lints import is_spread, sharding_findings

__all__ = ["LINT"]

LINT = Lint(sharding_findings, lambda traced: When.RAN, lambda traced: is_spread(traced.piece))
