"""Cells as people write them in notebooks, over the libraries that they use: one module a theme, all in `PEOPLE`."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

from .cell import PersonCell

__all__ = ["PEOPLE", "PersonCell", "theme_names"]


def theme_names() -> list[str]:
    """The names of the modules that hold cells."""
    folder = f"{__name__}.themes"
    return sorted(info.name for info in pkgutil.iter_modules(importlib.import_module(folder).__path__))


def _collect() -> tuple[PersonCell, ...]:
    found: list[PersonCell] = []
    for theme in theme_names():
        cells = importlib.import_module(f"{__name__}.themes.{theme}").CELLS
        found += [dataclasses.replace(cell, theme=theme) for cell in cells]
    names = [cell.name for cell in found]
    doubled = {name for name in names if names.count(name) > 1}
    assert not doubled, f"cells of one name: {sorted(doubled)}"
    return tuple(found)


PEOPLE = _collect()
