"""The corpus of the differential test: cells a user might write, one module a theme, collected in `CASES`."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

from .case import PRELUDE, Case

__all__ = ["CASES", "PRELUDE", "Case"]


def _collect() -> tuple[Case, ...]:
    found: list[Case] = []
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        if module.name == "case" or module.name.startswith("_"):
            continue
        themed = importlib.import_module(f"{__name__}.{module.name}").CASES
        found += [dataclasses.replace(case, theme=module.name) for case in themed]
    names = [case.name for case in found]
    doubled = {name for name in names if names.count(name) > 1}
    assert not doubled, f"cases of one name: {sorted(doubled)}"
    return tuple(found)


CASES = _collect()
