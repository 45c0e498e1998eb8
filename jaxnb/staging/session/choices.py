"""What the options of a cell say of its inputs, as paths."""

from __future__ import annotations

from typing import Any

import jax

from jaxnb.errors import Refused
from jaxnb.options import StageOptions
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.objects.graph import Scan
from jaxnb.staging.objects.paths import Choices, is_below, render_path
from jaxnb.staging.objects.slots import Slots
from jaxnb.staging.session.plan import make_plan
from jaxnb.staging.trace.sizes import Shapes

__all__ = ["apply_options"]


def apply_options(cell: CellSource, namespace: dict[str, Any], options: StageOptions, choices: Choices) -> None:
    """Turns `--static`, `--dynamic` and `--donate` into paths, and adds them and `--shapes` to `choices`.

    Raises:
      Refused: for a name that the cell does not read.
    """
    if options.shapes and choices.abstract:
        what = "--shapes is for arrays that are there, and the mesh is not."
        raise Refused(what, fix="leave --shapes out, or %jaxnb mesh --simulate.")
    if options.shapes and choices.shapes is None:
        choices.shapes, choices.joins = Shapes(options.shapes, options.where), True
    if not (options.static or options.dynamic or options.donate or options.wrt):
        return
    plan = make_plan(cell, 0, len(cell.statements), frozenset(cell.reads))
    every = Choices()
    every.abstract = choices.abstract
    scan = Scan(namespace, plan.roots, plan.names, every, frozenset(), Slots())
    for name in options.wrt:  # what is differentiated by must not become static
        numbers = {path for index, path in enumerate(scan.paths) if type(scan.leaves[index]) is float}
        paths = {path for path in numbers if is_below(path, name)}
        choices.dynamic |= paths
        choices.fixed |= paths
    for option, wanted, target in (
        ("static", options.static, choices.static),
        ("dynamic", options.dynamic, choices.dynamic),
        ("donate", options.donate, set[Any]()),
    ):
        for text in wanted:
            paths = {path for _, path in scan.where if is_below(path, text)}
            if not paths:
                read = ", ".join(sorted({render_path(path) for _, path in scan.where if path[1] == "name"}))
                raise Refused(
                    f"--{option} {text}: the cell does not read `{text}`.",
                    why=f"it reads {read or 'no name at all'}.",
                    fix="check the spelling, or leave the option out.",
                )
            if option == "donate":
                _check_arrays(text, scan)
                continue
            target |= paths
            choices.fixed |= paths


def _check_arrays(text: str, scan: Scan) -> None:
    if not any(isinstance(scan.leaves[index], jax.Array | jax.ShapeDtypeStruct) for index in scan.leaves_below(text)):
        raise Refused(
            f"--donate {text}: `{text}` holds no JAX array.",
            why="only arrays on a device have a buffer that results can be written to.",
            fix="leave it out.",
        )
