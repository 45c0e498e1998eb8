"""From the program for all sizes to one for some: the same equations with numbers for the names.

Nothing of the cell runs for that. What is bound is built by the same recipe, from the sizes that are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax

from jaxnb import _jax
from jaxnb.reading import with_ids
from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.objects.paths import ARRAY
from jaxnb.staging.trace.piece import Piece, donated_places
from jaxnb.staging.trace.sizes import NamedSizes

__all__ = ["differs_in_sizes_alone", "sized"]


def sized(general: Piece, key: tuple[Any, ...], reached: Reached, sizes: NamedSizes) -> Piece:
    """The piece for the sizes of a run.

    Args:
      general: that for all sizes.
      key: of the run.
      reached: in the run.
      sizes: how large the names are in it.
    """
    jaxpr = _jax.with_sizes(general.jaxpr, sizes.values)
    arguments: Sequence[Any] = reached.leaves
    places = [("leaf", index) for index in range(len(arguments))]
    if general.prelude is not None:
        places = list(general.prelude.inputs)
        arguments = general.prelude.arguments(reached.leaves, general.prelude.values(reached.leaves))
    function = _jax.as_function(with_ids(jaxpr))
    traced = jax.jit(function, donate_argnums=donated_places(places, general.donation)).trace(*arguments)
    return replace(
        general,
        key=key,
        jaxpr=jaxpr,
        traced=traced,
        general=general.jaxpr,
        named=sizes,
        rebuilt=True,
        walked=reached,
        reasons=list(general.reasons),
        notes=list(general.notes),
        compiled=None,
        guard=None,
        figures=None,
        served=None,
        scanned=0,
        used=0,
    )


def differs_in_sizes_alone(general: Piece, key: tuple[Any, ...]) -> bool:
    """Whether the key of a run is that of the program for all sizes, but for the sizes that have names."""
    if general.questions is None or len(key) != len(general.key):
        return False
    sizes = general.questions.sizes
    return all(
        _same_kind(one, other) if index in sizes.parts else one == other
        for index, (one, other) in enumerate(zip(general.key, key, strict=True))
    )


def _same_kind(one: Any, other: Any) -> bool:
    """Whether two parts of keys are arrays that differ in their sizes alone."""
    if not (isinstance(one, tuple) and isinstance(other, tuple) and one[:1] == other[:1] == (ARRAY,)):
        return False
    a, b = one[1], other[1]
    return (a.dtype, a.weak_type, len(a.shape), *one[2:]) == (b.dtype, b.weak_type, len(b.shape), *other[2:])
