"""Tracers of inner transformations that statements leave behind, and which of them are still there at the end."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from jaxnb import _jax
from jaxnb.errors import KeepsTraced
from jaxnb.runtime import objects_of
from jaxnb.staging.objects.paths import render_path
from jaxnb.staging.objects.referrers import paths_to

__all__ = ["LeftTracers"]


class LeftTracers:
    """What the statements of one run leave behind that Python runs for that.

    The cell may catch what comes of it, or clear it: only what is there at its end is a leak.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] | None = None
        self._kept: list[KeepsTraced] = []

    @contextmanager
    def around(self, kept: KeepsTraced) -> Generator[None]:
        """While such a statement runs.

        Args:
          kept: the error of the cell if what the statement leaves is there at its end. Where that was so in the last
            run, what it calls is traced again: otherwise the leak would be noticed but once.
        """
        if self._before is None:
            self._before = {id(item): item for item in objects_of(_jax.is_tracer_type)}
        self._kept.append(kept)
        with _jax.apart(anew=bool(kept.holder)):
            yield

    def check(self, namespace: dict[str, Any]) -> None:
        """At the end of a cell.

        Raises:
          KeepsTraced: if a name leads to a tracer that was left in this run.
        """
        if self._before is None:
            return
        left = {id(item): item for item in objects_of(_jax.is_tracer_type) if id(item) not in self._before}
        held = {number: render_path(paths[0]) for number, paths in paths_to(namespace, set(left)).items() if paths}
        if held:
            nearest = min(held, key=lambda number: len(held[number]))  # others may be held by this one
            for kept in self._kept:
                kept.holder = held[nearest]
            raise self._kept[0].again(left[nearest], held[nearest])
        for kept in self._kept:
            kept.holder = ""
