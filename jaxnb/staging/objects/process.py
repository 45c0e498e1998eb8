"""What belongs to the whole process and is no object that a cell reaches by a name, as it was before a cell failed."""

from __future__ import annotations

import decimal
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

__all__ = ["process_back", "set_filters"]


def process_back() -> Callable[[], None]:
    """Takes down the environment, the working folder, where modules are looked for, how NumPy and decimal numbers
    compute, which warnings are given, the levels of loggers, and how deep Python calls.

    Returns:
      what puts these back where they differ.
    """
    environment, folder = _environment(), _folder()
    lists = [(name, held, list(held)) for name, held in (("path", sys.path), ("argv", sys.argv))]
    filters, depth, errors = list(warnings.filters), sys.getrecursionlimit(), np.geterr()
    printing: dict[str, Any] = {key: item for key, item in np.get_printoptions().items() if key != "override_repr"}
    context, levels = decimal.getcontext().copy(), _levels()

    def back() -> None:
        if (now := _environment()) != environment:
            for key in now.keys() - environment.keys():
                del os.environ[os.fsdecode(key)]
            for key, value in environment.items() - now.items():
                os.environ[os.fsdecode(key)] = os.fsdecode(value)
        if folder is not None and _folder() != folder:
            os.chdir(folder)
        for name, held, items in lists:
            if getattr(sys, name) is not held or held != items:
                held[:] = items
                setattr(sys, name, held)
        if warnings.filters != filters:
            set_filters(filters)
        if np.geterr() != errors:
            np.seterr(**errors)
        if any(np.get_printoptions()[key] != item for key, item in printing.items()):
            np.set_printoptions(**printing)
        if sys.getrecursionlimit() != depth:
            sys.setrecursionlimit(depth)
        if repr(decimal.getcontext()) != repr(context):
            decimal.setcontext(context)
        for logger, level in levels.items():
            if logger.level != level:
                logger.setLevel(level)

    return back


def set_filters(filters: Iterable[Any]) -> None:
    """Makes these the filters of warnings."""
    held: Any = warnings.filters  # the list itself, which is typed as something that cannot be changed
    held[:] = filters
    with warnings.catch_warnings():
        pass  # whose end tells Python that they have changed


def _environment() -> dict[Any, Any]:
    """The environment, as the process has it where that can be had: to decode it takes longer than all the rest."""
    encoded = vars(os.environ).get("_data")
    return dict(encoded) if type(encoded) is dict else dict(os.environ)


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return None


def _levels() -> dict[logging.Logger, int]:
    """The levels of the loggers that have one, and that of the root."""
    loggers = [item for item in list(logging.root.manager.loggerDict.values()) if isinstance(item, logging.Logger)]
    return {logger: logger.level for logger in (logging.root, *loggers)}
