"""What code was when it was staged: the functions and classes of the user that it reaches by its names, as marks."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from jaxnb.runtime import is_library_class
from jaxnb.staging.cells.code import CodeNames, code_digest, names_of
from jaxnb.staging.cells.reach import ATOMS, is_user_function
from jaxnb.staging.cells.referents import function_parts, state_of

__all__ = ["code_marks"]


def code_marks(names: CodeNames, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The functions and classes of the user that code reaches by its names, each as a mark of what it is.

    A function is marked by the digests of its own code and of what that calls; a class, or its object, by identity.
    """
    found: dict[str, Any] = {}
    for name in names.order:
        value = namespace.get(name)
        if type(value) in ATOMS:
            continue
        function = _function_behind(value)
        if function is not None:
            found[name] = tuple(_digests(function, {}).values())
            continue
        kind: Any = value if issubclass(type(value), type) else type(value)
        if not is_library_class(kind):
            found[name] = id(kind)
    return found


def _function_behind(value: Any) -> types.FunctionType | None:
    while not issubclass(type(value), types.FunctionType):
        state = state_of(value) if callable(value) else None
        value = state.get("__wrapped__") if isinstance(state, dict) else None
        if value is None:
            return None
    return value if is_user_function(value) else None


def _digests(function: types.FunctionType, found: dict[int, bytes]) -> dict[int, bytes]:
    code = function.__code__
    if id(code) not in found:
        found[id(code)] = code_digest(code)
        held = [function.__globals__.get(name) for name in names_of(code).order]
        for value in [*held, *function_parts(function)]:
            if (inner := _function_behind(value)) is not None:
                _digests(inner, found)
    return found
