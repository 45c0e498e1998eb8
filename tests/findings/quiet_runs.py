"""Runs a cell as a session does, and keeps what detectors of quiet findings are given."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxnb.findings.lints.context import LintContext
from jaxnb.options import StageOptions
from jaxnb.staging.cells.cell import parse_cell
from jaxnb.staging.reuse.cache import CodeRecord
from jaxnb.staging.session.execution import Execution
from jaxnb.staging.session.runner import Runner

__all__ = ["names", "run_pieces", "traced_pieces"]


def names(setup: str) -> dict[str, Any]:
    """What a cell begins with."""
    found: dict[str, Any] = {"__name__": "__main__", "jax": jax, "jnp": jnp, "np": np, "lax": jax.lax}
    exec(compile(setup, "<setup>", "exec"), found)
    return found


@contextlib.contextmanager
def run_pieces(cell: str, namespace: dict[str, Any], magic: str = "", **options: Any) -> Generator[Execution]:
    """A run of a cell under a magic line; its inputs are held."""
    shown = f"{magic}\n{cell}" if magic else cell
    source = parse_cell(cell, filename="<quiet cell>", shown=shown, offset=bool(magic))
    execution = Execution(source, namespace, StageOptions.of({**options, "time": True}), CodeRecord())
    Runner(execution).run()
    yield execution


def traced_pieces(cell: str, setup: str, **options: Any) -> list[LintContext]:
    """The pieces of a cell after it ran."""
    with run_pieces(cell, names(setup), **options) as execution:
        return [LintContext.of(execution, piece) for piece in execution.pieces]
