"""What is data, and no machinery: of this a library may keep some in its modules, and it can be followed by content."""

from __future__ import annotations

import collections
import contextvars
import enum
import functools
import itertools
import logging
import random
import threading
import types
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.runtime import is_closed_package
from jaxnb.staging.cells.reach import ATOMS, hides
from jaxnb.staging.cells.referents import slots_of, state_of
from jaxnb.staging.objects.alive import is_alive

__all__ = ["is_data"]

_MOST_ITEMS = 100


def is_data(value: Any) -> bool:
    """Whether a value is data of Python, NumPy or JAX, or an object of a plain class that holds such, and not much.

    Functions, classes and modules may be among it.
    """
    queue, seen = [value], set[int]()
    for item in queue:  # which grows meanwhile
        kind = type(item)
        if kind in ATOMS or id(item) in seen or issubclass(kind, _ITSELF):
            continue
        seen.add(id(item))
        if hides(item):
            return False
        if isinstance(item, np.ndarray | np.generic):
            if item.dtype.hasobject or item.nbytes > _MOST_BYTES:
                return False
        elif isinstance(item, jax.Array):
            if _jax.is_tracer(item):
                return False
        elif isinstance(item, dict):
            if not all(isinstance(key, _KEYS) for key in dict.keys(item)):
                return False  # what is kept by shapes, functions or ids is a cache
            queue += dict.values(item)
        elif isinstance(item, list | tuple | set | frozenset | collections.deque):
            queue += item
        elif isinstance(item, functools.partial):
            queue += [item.func, item.args, item.keywords]
        elif isinstance(item, types.MethodType):
            queue.append(item.__self__)
        elif (not issubclass(kind, _STATES) and is_closed_package(kind.__module__)) or is_alive(item):
            return False
        else:
            queue += [*(state_of(item) or {}).values(), *(child for _, child in slots_of(item))]
        if len(queue) > _MOST_ITEMS:
            return False
    return True


_ITSELF = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, logging.Logger)
_STATES = (
    types.SimpleNamespace,
    enum.Enum,
    random.Random,
    np.random.Generator,
    np.random.RandomState,
    itertools.count,
    contextvars.ContextVar,
    threading.local,
)
_KEYS = (str, int, float, type, enum.Enum)
_MOST_BYTES = 1 << 20
