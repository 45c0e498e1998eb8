"""Whose code it is: that of this package, of a library, of JAX, or the user's own."""

from __future__ import annotations

import functools
import importlib.machinery
import os
import sys
import sysconfig
import types
from typing import Any

__all__ = [
    "OWN_FOLDER",
    "function_of",
    "home_of",
    "is_closed_package",
    "is_installed",
    "is_jax_module",
    "is_library",
    "is_library_class",
    "is_on_jax",
    "is_own",
    "name_of",
]

_LIBRARY_FOLDERS = tuple(
    path for name in ("stdlib", "platstdlib", "purelib", "platlib") if (path := sysconfig.get_paths().get(name))
)
_JAX = ("jax", "jaxlib")
_ON_JAX = frozenset(
    "flax optax equinox opt_einsum haiku chex jaxtyping diffrax lineax optimistix numpyro orbax".split()
)
_CLOSED = frozenset({"jax", "jaxlib", "numpy", "jaxnb"})
_EXTENSIONS = tuple(importlib.machinery.EXTENSION_SUFFIXES)
OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
"""The folder of this package."""

_jax_packages: dict[tuple[str, int], bool] = {}  # by name, and how many of its modules are loaded
_known_packages: dict[str, bool] = {}


def is_on_jax(module: str) -> bool:
    """Whether a module is of a library that stands on JAX: its errors are told like those of JAX.

    >>> is_on_jax("flax.linen.module"), is_on_jax("jax.numpy"), is_on_jax("flaxen")
    (True, False, False)
    """
    return module.partition(".")[0] in _ON_JAX


def is_library_class(kind: type) -> bool:
    """Whether a class is a library's own, and not one that a library made of what the user wrote.

    What `nn.remat`, `dataclasses.make_dataclass` or `types.new_class` make says that it is of the library's module, and
    cannot be found there; it is the user's if one of its bases or its functions is. Nothing of the class is run.

    >>> import dataclasses
    >>> class Own: ...
    >>> is_library_class(dict), is_library_class(dataclasses.make_dataclass("Made", ["x"], bases=(Own,)))
    (True, False)
    """
    module = home_of(kind)
    if module and not is_library(module):
        return False
    home = sys.modules.get(module)
    if isinstance(home, types.ModuleType) and vars(home).get(kind.__name__) is kind:
        return True
    functions = map(function_of, list(vars(kind).values()))
    return all(is_library(home_of(base) or None) for base in kind.__mro__) and all(
        is_library(function.__globals__.get("__name__", "__main__"))
        for function in functions
        if type(function) is types.FunctionType
    )


def function_of(item: Any) -> Any:
    """What a class calls for one of its items: of methods and properties the function behind, else the item itself."""
    if isinstance(item, staticmethod | classmethod):
        return item.__func__
    if isinstance(item, property):
        return item.fget
    if isinstance(item, functools.cached_property):
        return item.func
    return item


def is_own(file: str) -> bool:
    """Whether a file belongs to this package."""
    return file.startswith(OWN_FOLDER)


def is_installed(file: str) -> bool:
    """Whether a file of code belongs to this package, or lies where packages are installed."""
    if file.startswith("<frozen ") or is_own(file):
        return True
    return file.startswith(_LIBRARY_FOLDERS) or "site-packages" in file or "dist-packages" in file


def is_library(module_name: object) -> bool:
    """Whether a module is installed or built in, rather than the user's own or the notebook itself."""
    if type(module_name) is not str:
        return True
    if module_name == "__main__":
        return False
    package = module_name.partition(".")[0]
    known = _known_packages.get(package)
    if known is None:
        known = _is_library_package(package)
        if known or package in sys.modules:  # what is imported later may be installed
            _known_packages[package] = known
    return known


def _is_library_package(package: str) -> bool:
    if package in sys.stdlib_module_names:
        return True
    module = sys.modules.get(package)
    file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), None)
    if not isinstance(file, str):
        return False
    return is_installed(file) and not is_own(file)


def home_of(value: Any) -> str:
    """The name of the module of a class or function; "" where that is no text, as it may be anything, or raise."""
    try:
        name = value.__module__
    except Exception:
        return ""
    return name if type(name) is str else ""


def name_of(module: types.ModuleType) -> str:
    """The name of a module; "" where it has none, or something that is no text."""
    name = object.__getattribute__(module, "__dict__").get("__name__")
    return name if type(name) is str else ""


_compiled: dict[tuple[str, int], bool] = {}  # by package, and how many modules are loaded


def is_compiled(module_name: str) -> bool:
    """Whether a package has compiled code of its own loaded, which may act without Python being told."""
    package = module_name.partition(".")[0]
    key = (package, len(sys.modules))
    known = _compiled.get(key)
    if known is None:
        parts = (part for name, part in list(sys.modules.items()) if name == package or name.startswith(package + "."))
        files = (getattr(part, "__file__", None) for part in parts)
        known = _compiled[key] = any(isinstance(file, str) and file.endswith(_EXTENSIONS) for file in files)
    return known


def is_closed_package(name: str) -> bool:
    """Whether a module is of JAX, NumPy, the standard library or this package: only plain values of these count."""
    package = name.partition(".")[0]
    return package in _CLOSED or package in sys.stdlib_module_names


def is_jax_module(module_name: object) -> bool:
    """Whether a module is JAX or belongs to a package built on it: one of its loaded modules holds something of JAX."""
    if type(module_name) is not str or module_name == "__main__":
        return False
    package = module_name.partition(".")[0]
    if package in _JAX:
        return True
    if package in sys.stdlib_module_names or package == "numpy":
        return False
    if not is_library(module_name):
        return _holds_jax(sys.modules.get(module_name))
    key = (package, len(sys.modules))
    known = _jax_packages.get(key)
    if known is None:
        parts = [m for name, m in list(sys.modules.items()) if name == package or name.startswith(package + ".")]
        known = _jax_packages[key] = any(_holds_jax(part) for part in parts)
    return known


def _holds_jax(module: types.ModuleType | None) -> bool:
    for value in list(vars(module).values()) if module is not None else []:
        name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name.partition(".")[0] in _JAX:
            return True
    return False
