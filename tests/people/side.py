"""One of two kernels in one process: a namespace that is `__main__`, a working directory, and the state of the process.

What a cell may change beside its names (imported modules, `sys.path`, environment, random states, settings of NumPy and
of JAX, logging) belongs to a side, too: it is put in place when the side is entered, and taken away when it is left.
"""

from __future__ import annotations

import builtins
import contextlib
import io
import logging
import os
import random
import re
import sys
import threading
import time
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax._src import config as jax_config, mesh as jax_mesh

__all__ = ["Side"]

_LIBRARIES = ("jax", "flax", "orbax", "absl", "etils", "asyncio", "matplotlib", "h5py", "numexpr", "tensorstore")
_TEMPORARY = re.compile(r"\btmp[a-z0-9_]{8}\b")
_CELL = re.compile(r"<cell [0-9a-f]+>")  # the name of its file, of which there is one a side
_CONTEXTS = {  # in `mesh` since JAX 0.12
    name: getattr(jax_config, name, None) or getattr(jax_mesh, name)
    for name in ("abstract_mesh_context_manager", "device_context")
}


class Side:
    """A kernel of its own, as far as a cell can tell.

    Args:
      place: its working directory, which exists and is empty.
      x64: whether it has 64-bit types.
    """

    def __init__(self, place: Path, x64: bool = False) -> None:
        self.place = self._here = place
        self.main = types.ModuleType("__main__")
        self.namespace: dict[str, Any] = vars(self.main)
        self.namespace.update(__builtins__=builtins, place=str(place))
        self.out, self.err = _Screen(), _Screen()
        self.records: list[tuple[str, str, str]] = []
        self.warned: list[str] = []
        self.modules: dict[str, types.ModuleType] = {}
        self._state = _fresh_state()
        self._state["config"]["jax_enable_x64"] = x64
        self._state["path"] = [str(place), *sys.path]

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Within it, what runs runs on this side."""
        outside, before = _read_state(), dict(sys.modules)
        handler = _Recorder(self.records)
        with contextlib.ExitStack() as stack:
            stack.callback(os.chdir, os.getcwd())
            stack.enter_context(contextlib.redirect_stdout(self.out))
            stack.enter_context(contextlib.redirect_stderr(self.err))
            caught = stack.enter_context(warnings.catch_warnings(record=True))
            warnings.simplefilter("always")
            stack.callback(_write_state, outside)
            os.chdir(self._here)
            sys.modules.update(self.modules)
            sys.modules["__main__"] = self.main
            sys.dont_write_bytecode, kept = True, sys.dont_write_bytecode
            _write_state(self._state)
            logging.getLogger().addHandler(handler)
            try:
                yield
            finally:
                logging.getLogger().removeHandler(handler)
                self._state, self._here = _read_state(), Path.cwd()
                sys.dont_write_bytecode = kept
                self.modules = {name: module for name, module in sys.modules.items() if self.owns(module)}
                for name in self.modules:
                    del sys.modules[name]
                sys.modules["__main__"] = before["__main__"]
                self.warned = [f"{each.category.__name__}: {each.message}" for each in caught]

    def owns(self, module: Any) -> bool:
        """Whether a module lies in this side's directory."""
        file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), "")
        return str(file).startswith(str(self.place))

    def close(self) -> None:
        """Ends threads that wait for an event called `stop`, and lets go of everything."""
        events = [each for each in self.namespace.values() if isinstance(each, threading.Event)]
        for event in events:
            event.set()
        if events:
            time.sleep(0.05)
        self.namespace.clear()

    def neutral(self, text: str) -> str:
        """A text without the names of this side's directory, of temporary files and of the cell."""
        return _CELL.sub("<cell>", _TEMPORARY.sub("tmp", text.replace(str(self.place), "<here>")))

    def world(self) -> dict[str, Any]:
        """What a cell may have changed in the process, in a form that can be compared."""
        state = dict(self._state)
        state["environ"] = {k: self.neutral(v) for k, v in state["environ"].items()}
        state["path"] = [self.neutral(entry) for entry in state["path"]]
        state["numpy random"] = [str(part) for part in state["numpy random"]]
        root, level, handlers = state.pop("logging")
        return {**state, "logging": (level, [type(each).__name__ for each in handlers])}


class _Screen(io.StringIO):
    """What is printed; it stays open, because handlers of logs keep it."""

    def taken(self) -> str:
        text = self.getvalue()
        self.seek(0)
        self.truncate()
        return text

    def close(self) -> None:
        pass


class _Recorder(logging.Handler):
    def __init__(self, records: list[tuple[str, str, str]]) -> None:
        super().__init__()
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.split(".")[0] not in _LIBRARIES:
            self._records.append((record.name, record.levelname, record.getMessage()))


def _read_state() -> dict[str, Any]:
    root = logging.getLogger()
    return {
        "environ": dict(os.environ),
        "path": list(sys.path),
        "argv": list(sys.argv),
        "random": random.getstate(),
        "numpy random": np.random.get_state(),
        "errors": np.geterr(),
        "print": np.get_printoptions(),
        "config": dict(jax.config.values),
        "contexts": {name: context.get_local() for name, context in _CONTEXTS.items()},
        "recursion": sys.getrecursionlimit(),
        "logging": (root, root.level, list(root.handlers)),
    }


def _fresh_state() -> dict[str, Any]:
    state = _read_state()
    state["random"] = random.Random(0).getstate()
    state["numpy random"] = np.random.RandomState(0).get_state()
    state["argv"] = ["ipykernel_launcher.py"]
    root, _, handlers = state["logging"]
    state["logging"] = (root, logging.WARNING, [])
    return state


def _write_state(state: dict[str, Any]) -> None:
    for key in [key for key in os.environ if key not in state["environ"]]:
        del os.environ[key]
    for key, value in state["environ"].items():
        if os.environ.get(key) != value:
            os.environ[key] = value
    sys.path[:] = state["path"]
    sys.argv[:] = state["argv"]
    random.setstate(state["random"])
    np.random.set_state(state["numpy random"])
    np.seterr(**state["errors"])
    np.set_printoptions(**{k: v for k, v in state["print"].items() if k != "override_repr"})
    for key, value in state["config"].items():
        if jax.config.values[key] is not value and jax.config.values[key] != value:
            jax.config.update(key, value)
    for name, value in state["contexts"].items():
        if _CONTEXTS[name].get_local() is not value:
            _CONTEXTS[name].set_local(value)
    sys.setrecursionlimit(state["recursion"])
    root, level, handlers = state["logging"]
    root.setLevel(level)
    root.handlers[:] = handlers
