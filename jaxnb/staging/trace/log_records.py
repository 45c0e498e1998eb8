"""Log records that code makes while it is traced: what of them is kept, and whether it may be said later."""

from __future__ import annotations

import logging
import logging.handlers
import os
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.staging.cells.mutation import keeps_what_it_gets
from jaxnb.staging.cells.reach import ATOMS

__all__ = ["handle_again", "is_read_back", "logging_state", "taken_apart", "what_is_said"]

_TOLD = frozenset({"msg", "args", "exc_info"})
"""What a log record says; the rest is where and when it was logged."""

_KEEPING = (logging.handlers.BufferingHandler, logging.handlers.QueueHandler)
"""Handlers that keep records, to be looked at."""


class _Place(NamedTuple):
    """Where a value stands in what a record says."""

    number: int


def taken_apart(item: Any, values: list[Any]) -> Any:
    """What a record says, with places for the tracers in it, which are added to `values`.

    `NotImplemented` where there is anything in it but numbers, text, arrays, and lists, tuples and dicts of such.
    """
    if _jax.is_tracer(item):
        values.append(item)
        return _Place(len(values) - 1)
    kind = type(item)
    if kind is np.ndarray and not item.dtype.hasobject:
        return item.copy()
    if kind in ATOMS or isinstance(item, np.generic | jax.Array):
        return item
    if kind is not dict and kind is not list and kind is not tuple:
        return NotImplemented
    parts = [taken_apart(part, values) for part in (item.values() if kind is dict else item)]
    if any(part is NotImplemented for part in parts):
        return NotImplemented
    return dict(zip(item, parts, strict=True)) if kind is dict else kind(parts)


def _filled(item: Any, values: Sequence[Any]) -> Any:
    """What `taken_apart` took apart, with the values in their places."""
    kind = type(item)
    if kind is _Place:
        return values[item.number]
    if kind is dict:
        return {key: _filled(part, values) for key, part in item.items()}
    return kind(_filled(part, values) for part in item) if kind is list or kind is tuple else item


def what_is_said(record: logging.LogRecord) -> tuple[Any, Any, dict[str, Any]]:
    """The message, its arguments, and all else that a record has."""
    return record.msg, record.args, {key: value for key, value in vars(record).items() if key not in _TOLD}


def handle_again(logger: logging.Logger, said: Any, *values: Any) -> None:
    """Logs once more what was logged, as of now.

    Args:
      logger: that logged it.
      said: by the record, taken apart.
      *values: in their places.
    """
    message, args, fields = _filled(said, values)
    now = time.time()
    times = {"created": now, "msecs": (now - int(now)) * 1000}
    logger.handle(logging.makeLogRecord({**fields, **times, "msg": message, "args": args, "exc_info": None}))


def logging_state() -> Any:
    """Where records go: what loggers have handlers or filters or do not pass records on, with these."""
    found: list[Any] = [logging.root.manager.disable]
    for name, logger in (("", logging.root), *list(logging.root.manager.loggerDict.items())):
        if isinstance(logger, logging.Logger) and (logger.handlers or logger.filters or not logger.propagate):
            handlers = [(id(handler), handler.level, *map(id, handler.filters)) for handler in logger.handlers]
            found.append((name, handlers, list(map(id, logger.filters)), logger.propagate, logger.disabled))
    return found


def is_read_back(logger: logging.Logger) -> bool:
    """Whether one of its handlers keeps what it is given where the code can look at it."""
    current: logging.Logger | None = logger
    while current is not None:
        if any(_keeps(handler) for handler in current.handlers):
            return True
        current = current.parent if current.propagate else None
    return False


def _keeps(handler: logging.Handler) -> bool:
    if isinstance(handler, _KEEPING) or keeps_what_it_gets(type(handler)):
        return True
    if type(handler) is not logging.StreamHandler:
        return False
    stream: Any = handler.stream
    return stream not in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__) and not _goes_out(stream)


def _goes_out(stream: Any) -> bool:
    """Whether a stream leads to a file of the system, and not into memory."""
    try:
        os.fstat(stream.fileno())
    except (AttributeError, OSError, ValueError):
        return False
    return True
