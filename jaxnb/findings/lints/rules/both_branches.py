"""Conditionals over a batch (`"both_branches"`): under vmap `lax.cond` and `lax.switch` compute every branch.

Source: https://docs.jax.dev/en/latest/_autosummary/jax.lax.cond.html, which says that vmap turns it into a select.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxnb._jax import open_jaxpr
from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.lints.census import jaxprs_of
from jaxnb.findings.lints.context import LintContext, Part
from jaxnb.findings.lints.lint import Lint, When
from jaxnb.program import Finding

__all__ = ["LINT", "batched_conditionals"]

_CHOOSING = ("cond", "switch")


def batched_conditionals(traced: LintContext) -> Iterator[Finding]:
    """The conditionals of a piece that have become selects, one finding for each.

    Args:
      traced: the piece.
    """
    written, seen = traced.written, set[int]()
    for jaxpr, census, _ in jaxprs_of(open_jaxpr(traced.piece.jaxpr)):
        part = Part(jaxpr, (), (), census)
        for eqn in census.chosen:
            node = written.at(eqn, part)
            if not isinstance(node, ast.Call) or name_called(node) not in _CHOOSING or id(node) in seen:
                continue
            seen.add(id(node))
            name = name_called(node)
            count = "both" if name == "cond" else "all"
            message = (
                f"`{name}` of a whole batch, under vmap, computes {count} branches for every element and selects: "
                "nothing is left out."
            )
            fix = "if a branch is dear, loop over the batch with lax.map, or decide outside of vmap by one scalar."
            yield traced.finding("both_branches", message, eqn, part, fix)


LINT = Lint(batched_conditionals, lambda traced: When.TRACED if traced.census.selects else When.NEVER)
