"""More kinds of objects than `differential.look` knows: those that people hold in notebooks.

Placement, private attributes of libraries' objects, data frames, threads, files and the user's own modules are looked
at, and an object that is nothing but itself (a sentinel, a tag) has an identity.
"""

from __future__ import annotations

import collections
import enum
import functools
import io
import logging
import os
import pathlib
import queue
import re
import sys
import threading
import types
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from differential import Look, Namespace, look, name_of, plain_repr

from .side import Side

__all__ = ["look_on", "shared_by_modules"]

_PLACES = re.compile(r"memory_kind=\w+|, logical_device_ids=None")
_OPAQUE = ("jaxlib.", "jax._src.", "numpy.random", "tensorstore", "grpc", "asyncio", "matplotlib")
_NOISE = {
    "_pytree__state",
    "_trace_state",
    "_lock",
    "_thread_local",
    "__wrapped__",
    "_cached",
    "_cache",
    "_id",
    "__weakref__",
}
_LOCKS = (type(threading.Lock()), type(threading.RLock()))


def look_on(side: Side) -> Callable[[Any, Namespace], Look]:
    """The way to look at objects of a side; texts are without the name of its directory."""

    def seen(obj: Any, namespace: Namespace) -> Look:
        record = _look_here(obj, side, namespace) or look(obj, namespace)
        return _neutral(record, side)

    return seen


def _neutral(record: Look, side: Side) -> Look:
    def plain(fact: Any) -> Any:
        if isinstance(fact, str):
            return side.neutral(fact)
        return type(fact)(map(plain, fact)) if type(fact) in (list, tuple) else fact

    return replace(record, facts=plain(record.facts), volatile=plain(record.volatile))


def _look_here(obj: Any, side: Side, namespace: Namespace) -> Look | None:
    kind = name_of(type(obj))
    if isinstance(obj, jax.core.Tracer):
        return None
    if type(obj).__module__ == "__main__" and "__class__" in vars(type(obj)):  # it says that it is something else
        return Look(kind, edges=tuple((f".{name}", value) for name, value in _own(obj).items()))
    if type(obj) is float and abs(obj) < 1e38 and np.float32(obj) == obj:  # read from an array of 32 bits
        return Look(kind, numbers=np.float32(obj), identity=False)
    if isinstance(obj, jax.Array):
        record = look(obj, namespace)
        return record if obj.is_deleted() else replace(record, facts=(*record.facts, *_placed(obj)))
    if isinstance(obj, types.ModuleType):
        own = side.owns(obj) or sys.modules.get(obj.__name__) is None
        held = {k: v for k, v in vars(obj).items() if not k.startswith("__")} if own else {}
        return Look(kind, (obj.__name__,), edges=tuple(held.items()), identity=False)
    if isinstance(obj, types.FunctionType) and obj.__globals__ is not namespace:
        return replace(look(obj, namespace), facts=(obj.__qualname__, obj.__module__))
    return _look_library(obj, kind) or _look_running(obj, kind) or _look_instance(obj, kind)


def _placed(obj: jax.Array) -> tuple[Any, ...]:
    devices = tuple(sorted(device.id for device in obj.devices()))
    return _PLACES.sub("", str(obj.sharding)), devices


def _look_library(obj: Any, kind: str) -> Look | None:
    """Data frames and the like."""
    if kind.startswith("pandas.") and kind.endswith((".DataFrame", ".Series", "Index", ".MultiIndex")):
        facts = [obj.shape, repr(getattr(obj, "dtypes", None)), plain_repr(list(getattr(obj, "columns", ())))]
        facts += [getattr(obj, "name", None), plain_repr(list(getattr(obj, "index", ()))[:50])]
        facts.append([type(each).__name__ for each in np.ravel(np.asarray(obj, dtype=object))[:20]])
        columns = [obj.iloc[:, i] for i in range(obj.shape[1])] if kind.endswith("DataFrame") else [obj]
        values = [tuple(column.to_numpy()) for column in columns]  # tuples of numbers: they have no identity
        return Look(kind, tuple(facts), edges=tuple((f"[{i}]", each) for i, each in enumerate(values)))
    if kind == "flax.core.frozen_dict.FrozenDict":
        return Look(kind, edges=(("dict", obj._dict),))
    if kind.startswith("orbax."):  # full of clocks
        return Look(kind)
    if kind.startswith("h5py."):
        return Look(kind, (bool(obj), obj.name if obj else ""), identity=False)
    if kind.endswith("NpzFile"):
        return Look(kind, (tuple(obj.files),))
    if kind == "zipfile.ZipInfo":  # when it was written is left out
        return Look(kind, (obj.filename, obj.file_size, obj.CRC, obj.compress_type))
    return None


def _look_running(obj: Any, kind: str) -> Look | None:
    """What is alive: threads, locks, queues, files."""
    if isinstance(obj, threading.Thread):
        return Look(kind, (obj.daemon,), (obj.is_alive(),))
    if isinstance(obj, _LOCKS):
        return Look(kind, (" locked " in repr(obj),))
    if isinstance(obj, threading.Event):
        return Look(kind, volatile=(obj.is_set(),))
    if isinstance(obj, queue.Queue | queue.SimpleQueue):
        held = tuple(getattr(obj, "queue", ()))
        return Look(kind, volatile=(obj.qsize(),), edges=tuple((f"[{i}]", each) for i, each in enumerate(held)))
    if isinstance(obj, Future):
        done = obj.done() and not obj.cancelled() and obj.exception() is None
        return Look(kind, volatile=(obj.done(),), edges=(("result", obj.result()),) if done else ())
    if isinstance(obj, Executor | logging.Handler | threading.local):
        return Look(kind)
    if isinstance(obj, logging.Logger):
        return Look(kind, (obj.name, obj.level))
    if isinstance(obj, io.IOBase) and not isinstance(obj, io.StringIO):
        name = getattr(obj, "name", "")
        return Look(kind, (str(name),), (obj.closed,))
    if isinstance(obj, pathlib.PurePath):
        return Look(kind, (str(obj),), identity=False)
    if isinstance(obj, os._Environ):
        return Look(kind)
    return None


def _look_instance(obj: Any, kind: str) -> Look | None:
    """Instances: with all that they hold, and with an identity unless equality is by value."""
    cls = type(obj)
    if isinstance(obj, type | types.FunctionType | types.MethodType | BaseException | Iterator | enum.Enum):
        return None
    if isinstance(obj, jax.sharding.Mesh | jax.sharding.Sharding):
        return None  # shown in full
    if isinstance(
        obj, list | tuple | dict | set | frozenset | collections.deque | np.ndarray | np.generic | functools.partial
    ):
        return None
    if kind.startswith(_OPAQUE) or cls.__module__ == "builtins":
        return Look(kind) if type(obj) is object else None
    if isinstance(obj, collections.abc.Mapping | np.random.Generator):
        return None
    own = _own(obj)
    if not own:
        return Look(kind, (plain_repr(obj),), identity=cls.__eq__ is object.__eq__ and cls.__module__ == "__main__")
    if callable(obj) and not cls.__module__ == "__main__" and "__wrapped__" in own:
        return None
    return Look(kind, edges=tuple((f".{name}", value) for name, value in own.items()))


def _own(obj: Any) -> dict[str, Any]:
    try:
        own = dict(object.__getattribute__(obj, "__dict__"))
    except (AttributeError, TypeError):
        own = {}
    for cls in type(obj).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            name = f"_{cls.__name__.lstrip('_')}{slot}" if slot.startswith("__") and not slot.endswith("__") else slot
            try:
                own.setdefault(slot, object.__getattribute__(obj, name))
            except AttributeError:
                continue
    return {name: value for name, value in own.items() if isinstance(name, str) and name not in _NOISE}


def shared_by_modules() -> dict[int, Any]:
    """What the modules of libraries hold, by id: sentinels, tags, registries. Nothing of it may be copied."""
    found: dict[int, Any] = {}
    for name, module in list(sys.modules.items()):
        if name == "__main__" or not isinstance(module, types.ModuleType):
            continue
        for value in list(vars(module).values()):
            cls = type(value)
            if isinstance(value, types.ModuleType | type | types.FunctionType) or cls.__module__ == "builtins":
                if not isinstance(value, list | dict | set) and cls is not object:
                    continue
            found[id(value)] = value
    return found
