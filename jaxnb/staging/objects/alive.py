"""Which objects are alive: they act by themselves, or for somebody on the outside, whatever code is traced meanwhile.

A lock, a thread, a file or a socket is alive, and so is what a library has built around one: an event loop, a queue, an
executor, a handler of logs, a checkpointer. What such an object holds is nothing that a program computes with: other
threads use it at any time, so that no tracer may stand there.

Others are moved on by whoever uses them, such as iterators, and some never change.
"""

from __future__ import annotations

import contextvars
import io
import logging
import random
import re
import selectors
import socket
import threading
import types
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.runtime import home_of, is_library, is_library_class
from jaxnb.staging.cells.reach import ATOMS
from jaxnb.staging.cells.referents import attributes_of

__all__ = ["LOCKS", "is_alive", "is_machinery", "is_stateful", "is_unchanging"]

LOCKS = (type(threading.Lock()), type(threading.RLock()))
_ALIVE = (
    *LOCKS,
    threading.Thread,
    threading.local,
    io.IOBase,
    socket.socket,
    selectors.BaseSelector,
    logging.Filterer,
    logging.Manager,
    types.FrameType,
    types.TracebackType,
)
_DEVICES = (io.IOBase, socket.socket, selectors.BaseSelector, logging.Handler, types.FrameType, types.TracebackType)
_KERNELS = ("IPython", "ipykernel", "traitlets", "zmq", "tornado", "jupyter_client", "comm", "debugpy", "jaxnb")
_LOOPS = ("asyncio.base_events", "asyncio.selector_events", "asyncio.unix_events", "asyncio.windows_events")
_NEVER = (*ATOMS, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type, jax.Array)
_DEPTH = 4
"""How far a library's objects are followed: a checkpointer holds a store that holds the lock."""


def is_alive(value: Any) -> bool:
    """Whether an object is alive: by its class, or, if its class is a library's, by what it holds.

    >>> import queue
    >>> is_alive(queue.Queue()), is_alive([threading.Lock()]), is_alive(1.5)
    (True, False, False)
    """
    kind = type(value)
    if issubclass(kind, threading.local):  # what it holds for this thread is a state as any other
        return kind is not threading.local and is_library_class(kind)
    if issubclass(kind, _ALIVE):
        return True
    return _is_built(kind) and _leads_to_life(value, _DEPTH, set())


def is_machinery(value: Any) -> bool:
    """Whether an object is a stream, a lock or a part of what runs the cells, whose insides no cell means to change.

    From the stream of a logger the way leads to the kernel, and so to all that there is.

    >>> is_machinery(io.StringIO()), is_machinery([])
    (True, False)
    """
    kind = type(value)
    if issubclass(kind, (*LOCKS, *_DEVICES)):
        return True
    module = str(kind.__module__)
    return module in _LOOPS or (module.partition(".")[0] in _KERNELS and not module.startswith("jaxnb.named"))


def _is_built(kind: type) -> bool:
    """Whether a class is a library's, other than JAX's own, whose objects may be built around something alive."""
    module = kind.__module__
    return is_library(module) and str(module).partition(".")[0] not in (*_jax.JAX_PACKAGES, "numpy", "builtins")


def _leads_to_life(value: Any, depth: int, seen: set[int]) -> bool:
    seen.add(id(value))
    for child in _children(value):
        kind = type(child)
        if kind in _PLAIN or id(child) in seen:
            continue
        if issubclass(kind, _ALIVE):
            return True
        if depth and not issubclass(kind, _NEVER):
            contained = kind in (list, tuple, dict, set) and len(child) <= _FEW
            if (contained or _is_built(kind)) and _leads_to_life(child, depth - 1, seen):
                return True
    return False


_PLAIN = frozenset({*ATOMS, np.ndarray, _jax.Array, types.FunctionType, types.ModuleType})
_FEW = 16
"""Items of a container in which something alive is looked for; what a library counts by the thousand is data."""


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, list | tuple | set):
        return list(value)
    if type(value) is dict:
        return list(value.values())
    return [child for _, child in attributes_of(value)]


def is_stateful(value: Any) -> bool:
    """Whether using an object moves it on: random states, files, iterators."""
    kind = type(value)
    stateful = issubclass(kind, random.Random | io.IOBase | contextvars.ContextVar)
    return stateful or home_of(kind).startswith("numpy.random") or hasattr(kind, "__next__")


_UNCHANGING = (
    types.CodeType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GenericAlias,
    types.UnionType,
    re.Pattern,
)
_UNCHANGING_MODULES = frozenset(
    [
        *("jax", "jaxlib", "typing", "abc", "dataclasses", "enum", "datetime", "decimal", "fractions", "uuid"),
        *("zoneinfo", "operator"),
    ]
)


def is_unchanging(value: Any) -> bool:
    """Whether an object whose content is out of reach is known never to change."""
    kind = type(value)
    room = kind.__basicsize__ - 8 * (kind.__weakrefoffset__ > 0)
    if (
        isinstance(value, _UNCHANGING)
        or room <= object.__basicsize__
        or kind.__name__ in ("lock", "RLock", "_thread._local")
    ):
        return True
    return kind.__module__.partition(".")[0] in _UNCHANGING_MODULES
