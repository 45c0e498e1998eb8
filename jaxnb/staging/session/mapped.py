"""A run of a cell with named axes: what binds it as a function, and what writes it as a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from jaxnb import named
from jaxnb.staging import export, mapped
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.session.execution import Execution

__all__ = ["bind_map_function", "of_a_map"]


def bind_map_function(execution: Execution, written: CellSource, name: str, entry: Mapping[str, Any]) -> str:
    """Binds the cell as a function, and says how it is called. A run that changes nothing keeps the function.

    Args:
      execution: the run.
      written: the cell as it is written.
      name: of the function.
      entry: the names when the run began.
    """
    spec = execution.options.xmap
    assert spec is not None
    own = tuple(ran.piece for ran in execution.ran.values() if ran.cell is execution.cell)
    around, known = mapped.surroundings_of(written, spec, entry), execution.namespace.get(name)
    made = export.as_mapped_function(written, execution.cell, spec, around, own, entry, name, known)
    execution.namespace[name] = made
    return f"{name}{inspect.signature(made)}"


def of_a_map(
    execution: Execution, written: CellSource, entry: Mapping[str, Any]
) -> tuple[str, int, Callable[[Any, str], str]]:
    """Over which names a run went, as the line says it; of how many equations; and what writes it as a file."""
    last = execution.pieces[-1].jaxpr
    return mapped.describe_map(last), mapped.count_equations(last), _source_of(execution, written, entry)


def _source_of(execution: Execution, written: CellSource, entry: Mapping[str, Any]) -> Callable[[Any, str], str]:
    """What writes a run as a file, from the names as they are then."""
    spec, namespace = execution.options.xmap, execution.namespace
    assert spec is not None
    own = tuple(ran.piece for ran in execution.ran.values() if ran.cell is execution.cell)
    around, loops, mesh = (
        mapped.surroundings_of(written, spec, entry),
        dict(named.loops_in_scope()),
        mapped.mesh_of(spec, entry),
    )

    def write(value: Any, name: str) -> str:
        del value
        before = {
            **export.remember(written, namespace),
            **{one: namespace[one] for one in spec.roots if one in namespace},
        }
        after = {one: namespace[one] for one in spec.bound if one in namespace}
        return export.to_mapped_source(
            written, spec, around, own, before, results=after, loops=loops, mesh=mesh, name=name
        )

    return write
