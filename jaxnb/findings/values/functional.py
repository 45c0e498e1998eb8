"""Libraries whose functions and modules a fix may be tried with: they compute, and change nothing they are given."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from types import CodeType
from typing import Any

from jaxnb.runtime import is_library
from jaxnb.staging import CodeNames, is_user_function, names_of, state_of

__all__ = [
    "METHODS",
    "METHODS_OF_OBJECTS",
    "functions_of_modules",
    "gives_attributes_only",
    "held_by",
    "is_functional",
    "is_module_of_users",
    "is_object",
    "is_of_objects",
    "own_attributes",
]

_FUNCTIONAL = frozenset({"flax", "equinox", "optax", "haiku", "diffrax", "lineax", "optimistix"})
_CHANGING = ("flax.nnx", "flax.experimental", "flax.training.checkpoints", "equinox.debug", "haiku.experimental")
"""Parts of them whose objects are changed by what is done with them, or that act on the outside."""
METHODS = frozenset({"init", "apply", "init_with_output"})
"""Methods of what they make."""
METHODS_OF_OBJECTS = METHODS | frozenset(
    "update apply_gradients replace bind split merge train eval init_cache initialize_carry value compile".split()
)
"""Methods of what they make that change nothing else than the object, of which a trial has copies."""
_MAKING = frozenset({"setup", "__init__", "__post_init__", "__check_init__"})
"""Methods that give a new object, or a copy of one, its attributes."""


def is_functional(module: str) -> bool:
    """Whether a module is of one of these libraries.

    >>> is_functional("flax.linen.module"), is_functional("flax.nnx.module"), is_functional("diffrax")
    (True, False, False)
    """
    return module.partition(".")[0] in _FUNCTIONAL and not module.startswith(_CHANGING)


def is_of_objects(module: str) -> bool:
    """Whether a module is of a library whose functions change objects that they are given, and nothing else."""
    return module.startswith("flax.nnx")


def is_object(value: Any) -> bool:
    """Whether a value is an object of such a library that is changed, or of a class that derives from one of its: a
    module, an optimiser, a state, a variable."""
    return any(
        base.__name__ in ("Pytree", "Variable") and is_of_objects(base.__module__) for base in type(value).__mro__
    )


def is_module_of_users(kind: type, objects: bool = False) -> bool:
    """Whether a class is the user's, and derives from one of these libraries and from nothing else but their own.

    Args:
      kind: the class.
      objects: whether libraries count, too, whose objects change.
    """

    def known(module: str) -> bool:
        return is_functional(module) or (objects and is_of_objects(module))

    bases = [base for base in kind.__mro__ if base is not object]
    libraries = [base for base in bases if is_library(base.__module__)]
    allowed = all(known(base.__module__) or base.__module__ in _PLAIN for base in libraries)
    return len(libraries) < len(bases) and any(known(base.__module__) for base in libraries) and allowed


_PLAIN = ("typing", "abc", "builtins", "collections.abc")


def held_by(value: Any) -> Iterator[Any]:
    """What a function or an object of these libraries holds: what it closes over, defaults, its state, its items."""
    if isinstance(value, types.FunctionType):
        for cell in value.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # it is empty
                continue
        yield from value.__defaults__ or ()
        yield from (value.__kwdefaults__ or {}).values()
    elif isinstance(value, types.MethodType):
        yield from (value.__self__, value.__func__)
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value
    elif not isinstance(value, type):
        state = state_of(value)
        yield from state.values() if isinstance(state, dict) else ()


def functions_of_modules(kind: type) -> Iterator[tuple[types.FunctionType, bool]]:
    """The user's functions in a class and in those that it derives from, and whether each gives an object its
    attributes."""
    for base in kind.__mro__:
        for name, item in list(vars(base).items()) if not is_library(base.__module__) else ():
            function = getattr(item, "__func__", getattr(item, "fget", item))
            while hasattr(function, "__wrapped__"):
                function = function.__wrapped__
            if isinstance(function, types.FunctionType) and is_user_function(function):
                yield function, name in _MAKING


def own_attributes(kind: type, value: Any) -> frozenset[str]:
    """The attributes that the functions of a class may read of their object."""
    state = state_of(value) if not isinstance(value, type) else None
    made = {chain[-1] for function, _ in functions_of_modules(kind) for chain in names_of(function.__code__).sets}
    return frozenset({*dir(kind), *(state if isinstance(state, dict) else ()), *made})


def gives_attributes_only(names: CodeNames, code: CodeType) -> bool:
    """Whether code changes nothing but attributes of the first argument of a method."""
    changing = any(
        one.opname in ("STORE_SUBSCR", "STORE_SLICE", "DELETE_SUBSCR", "DELETE_ATTR") or _in_place(one)
        for one in _all(code)
    )
    return not changing and not names.assigns


def _in_place(one: dis.Instruction) -> bool:
    return one.opname == "BINARY_OP" and "=" in one.argrepr


def _all(code: CodeType) -> Iterator[dis.Instruction]:
    yield from dis.get_instructions(code)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _all(inner)
