"""Questions that code asks of tracers while a cell is traced, and that JAX answers, or refuses, by itself.

A door to private JAX, as `_jax.py`: there is no public hook for any of these. Checked on jax 0.10.2 and 0.12.0.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
from jax._src import core as _core  # jax.core.Tracer is deprecated
from jax._src import custom_derivatives as _custom_derivatives

from jaxnb._jax import TRACING_ERRORS, in_jax
from jaxnb.cells.libraries import is_jax_module, is_library, is_own

__all__ = ["Question", "TraceWatch", "watch_trace"]

Question = Callable[[Any, str, FrameType], None]
"""Told of a tracer, of what code of the user asks it for, and of the frame that asks. May raise."""


class TraceWatch:
    """What happened to tracers during a trace that JAX itself lets pass.

    Attributes:
      filename: of the cell.
      foreign: ids of the tracers that stand for something other than a JAX array.
      errors: for each tracing error that was made, whether or not somebody caught it, the line of the cell.
      on_text: called when the text or the hash of a tracer is asked for.
      on_missing: called when an attribute is read that a tracer lacks.
    """

    def __init__(self, filename: str, on_text: Question, on_missing: Question, foreign: Collection[int]) -> None:
        self.filename = filename
        self.foreign = foreign
        self.errors: list[int | None] = []
        self.on_text, self.on_missing = on_text, on_missing


_watch: list[TraceWatch] = []


@contextmanager
def watch_trace(
    filename: str, on_text: Question, on_missing: Question, foreign: Collection[int] = ()
) -> Generator[TraceWatch]:
    """Reports what a plain cell would answer with a value and a trace with something else.

    `on_text(tracer, method, frame)` is called when user code asks for `str`, `repr`, `format` or `hash` of a tracer,
    `on_missing(tracer, name, frame)` when it reads an attribute that tracers lack. Tracing errors are recorded when
    they are made. There is no public hook for any of these.
    """
    watch = TraceWatch(filename, on_text, on_missing, foreign)
    if not _watch:
        _install_hooks()
    _watch.append(watch)
    try:
        yield watch
    finally:
        _watch.pop()
        if not _watch:
            _remove_hooks()


_CONVERT = "_closure_convert_for_avals"  # its cache keeps every function for ever, and with it what that holds


_saved: list[tuple[Any, str, Any]] = []


_MISSING = object()


def _patch(owner: Any, name: str, value: Any) -> None:
    _saved.append((owner, name, owner.__dict__.get(name, _MISSING)))
    setattr(owner, name, value)


def _install_hooks() -> None:
    for name in ("__repr__", "__str__", "__format__", "__hash__"):
        _patch(_core.Tracer, name, _text_hook(name))
    _patch(_core.Tracer, "__getattr__", _attribute_hook(_core.Tracer.__getattr__))
    for kind in TRACING_ERRORS:
        if "__init__" in kind.__dict__:
            _patch(kind, "__init__", _error_hook(kind.__init__))

    _patch(type(jax.Array), "__subclasscheck__", _subclass_hook(type(jax.Array).__subclasscheck__))
    _patch(_custom_derivatives, _CONVERT, getattr(_custom_derivatives, _CONVERT).__wrapped__)
    for name in ("asarray", "array"):
        _patch(jnp, name, _array_hook(getattr(jnp, name)))


def _subclass_hook(original: Any) -> Any:
    """`isinstance(x, Union[jax.Array, ...])` asks for the class of a value only: a tracer's counts as an array's."""

    def hook(cls: Any, kind: Any) -> bool:
        tracer = cls is jax.Array and isinstance(kind, type) and issubclass(kind, _core.Tracer)
        return tracer or original(cls, kind)

    return hook


def _array_hook(original: Any) -> Any:
    """`jnp.asarray` hands a tracer back as it is. Where that stands for a NumPy value or a Python scalar, the plain
    cell would have got a new array, so that a new tracer of the same variable must come out."""

    @functools.wraps(original)
    def hook(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if _watch and id(result) in _watch[-1].foreign:
            result = original(result, copy=True)
        return result

    return hook


def _remove_hooks() -> None:
    while _saved:
        owner, name, value = _saved.pop()
        if value is _MISSING:
            delattr(owner, name)
        else:
            setattr(owner, name, value)


def _text_hook(name: str) -> Callable[..., Any]:
    original = getattr(_core.Tracer, name)

    def hook(self: Any, *args: Any) -> Any:
        frame = user_caller(_caller())
        if frame is not None and _watch:
            _watch[-1].on_text(self, name, frame)
        return original(self, *args)

    return hook


def _attribute_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    def hook(self: Any, name: str) -> Any:
        try:
            return original(self, name)
        except AttributeError:
            frame = user_caller(_caller()) if _watch and not name.startswith("_") else None
            if frame is not None:
                _watch[-1].on_missing(self, name, frame)
            raise

    return hook


def _error_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _watch and not _expected_by_jax(_caller()):
            _watch[-1].errors.append(_line_in(_caller(), _watch[-1].filename))
        return original(self, *args, **kwargs)

    return hook


def _caller() -> FrameType:
    """The frame that called the function which calls this one. It holds no frame in a name of its own: that would be a
    cycle, and keep all frames above alive, and what they hold."""
    return sys._getframe(2)  # pyright: ignore[reportPrivateUsage]


_CATCHERS = ("control_flow/loops.py", "ad_checkpoint.py", "sparse/bcoo.py")
"""Where JAX itself asks for a value and goes on without it."""


def _expected_by_jax(frame: FrameType | None) -> bool:
    while frame is not None and in_jax(frame.f_code.co_filename):
        if frame.f_code.co_filename.endswith(_CATCHERS):
            return True
        frame = frame.f_back
    return False


def _line_in(frame: FrameType | None, filename: str) -> int | None:
    while frame is not None and frame.f_code.co_filename != filename:
        frame = frame.f_back
    return frame.f_lineno if frame is not None else None


def user_caller(frame: FrameType | None) -> FrameType | None:
    """The frame of the user that asked, perhaps through a library; None if JAX, or a library built on it, asked."""
    while frame is not None:
        path, module = frame.f_code.co_filename, frame.f_globals.get("__name__", "__main__")
        if is_own(path) or is_jax_module(module):
            return None
        if not is_library(module):
            return frame
        frame = frame.f_back
    return None
