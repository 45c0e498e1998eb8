"""What objects hold where only a call gets at it, or nothing: frames, futures, iterators, contexts."""

from __future__ import annotations

import contextvars
import functools
import gc
import threading
import types
import weakref
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from jaxnb.findings.leaking.holder_text import is_written
from jaxnb.runtime import is_library, is_library_class
from jaxnb.staging import Edges, locals_of

__all__ = ["hidden_reader"]


def hidden_reader(kind: type) -> Callable[[Any], Edges] | None:
    """How objects of a type are read for what they hold besides `edges`; None where that is nothing.

    That is what a user can get at by a call, or not at all.
    """
    known = issubclass(kind, _KNOWN) or kind.__module__ in _FUTURES or _is_iterator(kind)
    return _hidden_edges if known else None


def _hidden_edges(value: Any) -> Edges:
    kind = type(value)
    if issubclass(kind, BaseException):
        for name in ("__cause__", "__context__"):
            yield "attr", name, getattr(value, name)
        if issubclass(kind, BaseExceptionGroup):
            yield "attr", "exceptions", value.exceptions
        yield from _hidden_edges(value.__traceback__)
    elif issubclass(kind, types.TracebackType):
        walk: types.TracebackType | None = value
        while walk is not None:
            yield from (("raised", name, child) for _, name, child in _read(walk.tb_frame))
            yield "raised", None, walk.tb_frame
            walk = walk.tb_next
    elif issubclass(kind, types.FrameType):
        yield from _read(value)
        yield "through", None, value.f_back
    elif issubclass(kind, types.GeneratorType | types.CoroutineType | types.AsyncGeneratorType):
        yield from _suspended(value)
    elif issubclass(kind, contextvars.ContextVar):
        yield "attr", "get()", contextvars.copy_context().get(value)
    elif issubclass(kind, contextvars.Context):
        yield from (("variable", var.name, child) for var, child in value.items())
    elif issubclass(kind, threading.local):
        if kind.__init__ is object.__init__:  # else it would be run for a thread that has not used it yet
            yield from (("attr", name, child) for name, child in _of_this_thread(value).items())
        yield from _inside(value)
    elif kind.__module__ in _FUTURES:
        yield from _of_future(value)
    elif issubclass(kind, weakref.finalize):
        yield "attr", "peek()", value.peek()
    elif issubclass(kind, types.CellType):
        yield from (("attr", "cell_contents", child) for child in gc.get_referents(value))
    elif issubclass(kind, types.MethodWrapperType):
        yield "attr", "__self__", value.__self__
    elif issubclass(kind, types.MappingProxyType):
        yield from (("through", None, child) for child in gc.get_referents(value))  # `items` could be the user's code
    elif issubclass(kind, defaultdict):
        yield "attr", "default_factory", value.default_factory
    elif issubclass(kind, type):
        if not is_library_class(type(value)):
            yield "attr", "__class__", type(value)
        for name, child in list(vars(value).items()) if not is_library_class(value) else ():
            if isinstance(child, functools.partialmethod):  # the class gives a function instead
                yield "attr", f"__dict__[{name!r}]", child
    elif issubclass(kind, property):
        yield from (("attr", name, getattr(value, name)) for name in ("fset", "fdel"))
    elif _is_iterator(kind):
        yield from _inside(value)
    if issubclass(kind, dict):
        for index, (key, child) in enumerate(list(dict.items(value))):
            yield "key", index, key
            if not is_written(key):
                yield "value", index, child


_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
_ITERATED = ("builtins", "itertools", "operator", "collections", "_collections")
_FUTURES = ("concurrent.futures._base", "_asyncio", "asyncio.futures", "asyncio.tasks")
_KNOWN = (
    *(BaseException, types.TracebackType, types.FrameType, types.CellType, types.MethodWrapperType, type, property),
    *(types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType, types.MappingProxyType, dict),
    *(contextvars.ContextVar, contextvars.Context, threading.local, weakref.finalize),
)


def _is_iterator(kind: type) -> bool:
    """Whether the interpreter's own objects of this type go through others, or are called with them."""
    module = kind.__module__
    return module in _ITERATED and (hasattr(kind, "__next__") or module == "operator" or kind in _VIEWS)


def _inside(value: Any) -> Edges:
    """What an iterator or another object of the interpreter holds, where Python has no way to ask for it."""
    return (("inside", type(value).__name__, child) for child in gc.get_referents(value) if not isinstance(child, type))


def _suspended(value: Any) -> Edges:
    """The frame of a generator or coroutine, what it waits for, and the values of the expression it stopped in."""
    prefix = {types.GeneratorType: "gi", types.CoroutineType: "cr"}.get(type(value), "ag")
    frame = getattr(value, f"{prefix}_frame")
    if frame is None:
        return
    yield "through", None, getattr(value, "gi_yieldfrom" if prefix == "gi" else f"{prefix}_await")
    named = frame.f_locals
    unnamed = [child for child in gc.get_referents(value) if child is not named and not _is_part(child, frame)]
    del named  # `locals_of` empties the copy that this has made, if nobody else holds it
    yield from _read(frame)
    yield from (("local", None, child) for child in unnamed)


def _is_part(child: Any, frame: types.FrameType) -> bool:
    """Whether the interpreter needs it to run a frame."""
    machinery = isinstance(child, types.CodeType | types.FunctionType | types.FrameType)
    return machinery or child is frame.f_globals or child is frame.f_builtins


def _of_this_thread(value: Any) -> dict[str, Any]:
    """What a `threading.local` holds for the thread that asks; its own `__getattribute__` is not run."""
    return threading.local.__getattribute__(value, "__dict__")


def _of_future(value: Any) -> Edges:
    """The result of a future or task, and its coroutine. The attributes are read: to call `exception()` would tell
    asyncio that somebody has seen it."""
    for name, shown in (("_result", "result()"), ("_exception", "exception()"), ("_coro", "get_coro()")):
        child = getattr(value, name, None)
        if child is not None:
            yield "attr", shown, child


def _read(frame: types.FrameType) -> Edges:
    """What a frame holds; the variables of a library are not named, since the user does not know them."""
    named = not is_library(frame.f_globals.get("__name__", "__main__"))
    return (("local", name if named else None, child) for name, child in locals_of(frame).items())
