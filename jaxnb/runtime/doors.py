"""Doors: what a room offers to others, from wherever in it that is defined, loaded when it is first asked for.

The `__init__.pyi` of a room says what it offers, in the form that type checkers read, and is the only list; its
`__init__.py` holds

    __getattr__, __dir__ = door(__name__)

The form is that of Scientific Python's SPEC 1, whose library does not keep what it has found.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

__all__ = ["door", "homes"]


def door(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a room.

    Args:
      package: the room's dotted name.
    """

    @cache
    def offered() -> dict[str, tuple[str, str]]:
        with open(os.path.splitext(str(sys.modules[package].__file__))[0] + ".pyi", encoding="utf-8") as stub:
            return homes(stub.read(), package)

    def __getattr__(name: str) -> Any:
        if name == "__all__":  # of modules that it offers, `import *` would hide those of the same names
            return [name for name, (_, own) in offered().items() if own]
        if name.startswith("__") or name not in offered():
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        module, own = offered()[name]
        value = getattr(import_module(module), own) if own else import_module(module)
        setattr(sys.modules[package], name, value)  # and is not asked again
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[package]), *offered()})

    return __getattr__, __dir__


def homes(stub: str, package: str) -> dict[str, tuple[str, str]]:
    """What a stub offers: by name the module that defines it, and its name there, "" for the module itself.

    >>> homes("from .here.there import one as one, two as second\\nfrom . import here as here", "house")
    {'one': ('house.here.there', 'one'), 'second': ('house.here.there', 'two'), 'here': ('house.here', '')}
    """
    return {
        alias.asname or alias.name: (f"{package}.{node.module}", alias.name)
        if node.module
        else (f"{package}.{alias.name}", "")
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
