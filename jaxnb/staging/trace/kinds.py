"""Of which classes `isinstance` asks something of the value itself, rather than of its class alone."""

from __future__ import annotations

import abc
import types
from typing import Any, Protocol, Union, get_args, get_origin

import jax

__all__ = ["looks_at_values"]

_BY_CLASS = frozenset({type, abc.ABCMeta, type(jax.Array), type(Protocol)})


def looks_at_values(kinds: Any) -> bool:
    """Whether the second argument of `isinstance` names a class whose own test tells values of one class apart.

    Such as `jaxtyping.Float[Array, "n"]`, which looks at the shape and the dtype.
    """
    if isinstance(kinds, tuple) or get_origin(kinds) in (Union, types.UnionType):
        return any(looks_at_values(kind) for kind in (kinds if isinstance(kinds, tuple) else get_args(kinds)))
    for meta in type(kinds).__mro__:
        if "__instancecheck__" in vars(meta):
            return meta not in _BY_CLASS and "__subclasscheck__" not in vars(meta)
    return False
