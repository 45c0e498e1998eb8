"""What objects hold where only a call gets at it, or nothing: frames, futures, iterators, contexts."""

from __future__ import annotations

import contextvars
import functools
import gc
import itertools
import threading
import types
import weakref
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from jaxnb.findings.leaking.holder_text import is_written
from jaxnb.runtime import is_library, is_library_class, locals_of
from jaxnb.staging import Edges, Reader

__all__ = ["hidden_reader"]


def hidden_reader(kind: type) -> Reader | None:
    """How objects of a type are read for what they hold besides `edges`; None where that is nothing.

    That is what a user can get at by a call, or not at all.
    """
    own = next((read for applies, read in _HIDDEN if applies(kind)), None)
    if not issubclass(kind, dict):
        return own
    return _of_dict if own is None else lambda value: itertools.chain(own(value), _of_dict(value))


def _of_error(value: Any) -> Edges:
    for name in ("__cause__", "__context__"):
        yield "attr", name, getattr(value, name)
    if issubclass(type(value), BaseExceptionGroup):
        yield "attr", "exceptions", value.exceptions
    yield from _of_traceback(value.__traceback__)


def _of_traceback(value: types.TracebackType | None) -> Edges:
    while value is not None:
        yield from (("raised", name, child) for _, name, child in _read(value.tb_frame))
        yield "raised", None, value.tb_frame
        value = value.tb_next


def _of_frame(value: types.FrameType) -> Edges:
    yield from _read(value)
    yield "through", None, value.f_back


def _of_variable(value: contextvars.ContextVar[Any]) -> Edges:
    yield "attr", "get()", contextvars.copy_context().get(value)


def _of_context(value: contextvars.Context) -> Edges:
    return (("variable", var.name, child) for var, child in value.items())


def _of_local(value: threading.local) -> Edges:
    if type(value).__init__ is object.__init__:  # else it would be run for a thread that has not used it yet
        yield from (("attr", name, child) for name, child in _of_this_thread(value).items())
    yield from _inside(value)


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


def _of_finalizer(value: weakref.finalize[Any, Any]) -> Edges:
    yield "attr", "peek()", value.peek()


def _of_cell(value: types.CellType) -> Edges:
    return (("attr", "cell_contents", child) for child in gc.get_referents(value))


def _of_wrapper(value: types.MethodWrapperType) -> Edges:
    yield "attr", "__self__", value.__self__


def _of_proxy(value: types.MappingProxyType[Any, Any]) -> Edges:
    return (("through", None, child) for child in gc.get_referents(value))  # `items` could be the user's code


def _of_defaults(value: defaultdict[Any, Any]) -> Edges:
    yield "attr", "default_factory", value.default_factory


def _of_class(value: type) -> Edges:
    if not is_library_class(type(value)):
        yield "attr", "__class__", type(value)
    for name, child in list(vars(value).items()) if not is_library_class(value) else ():
        if isinstance(child, functools.partialmethod):  # the class gives a function instead
            yield "attr", f"__dict__[{name!r}]", child


def _of_property(value: property) -> Edges:
    yield from (("attr", name, getattr(value, name)) for name in ("fset", "fdel"))


def _of_dict(value: dict[Any, Any]) -> Edges:
    for index, (key, child) in enumerate(list(dict.items(value))):
        yield "key", index, key
        if not is_written(key):
            yield "value", index, child


_VIEWS = (type({}.keys()), type({}.values()), type({}.items()))
_ITERATED = ("builtins", "itertools", "operator", "collections", "_collections")
_FUTURES = ("concurrent.futures._base", "_asyncio", "asyncio.futures", "asyncio.tasks")


def _derives(*kinds: type) -> Callable[[type], bool]:
    return lambda kind: issubclass(kind, kinds)


def _is_future(kind: type) -> bool:
    return kind.__module__ in _FUTURES


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


def _read(frame: types.FrameType) -> Edges:
    """What a frame holds; the variables of a library are not named, since the user does not know them."""
    named = not is_library(frame.f_globals.get("__name__", "__main__"))
    return (("local", name if named else None, child) for name, child in locals_of(frame).items())


_HIDDEN: tuple[tuple[Callable[[type], bool], Reader], ...] = (
    (_derives(BaseException), _of_error),
    (_derives(types.TracebackType), _of_traceback),
    (_derives(types.FrameType), _of_frame),
    (_derives(types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType), _suspended),
    (_derives(contextvars.ContextVar), _of_variable),
    (_derives(contextvars.Context), _of_context),
    (_derives(threading.local), _of_local),
    (_is_future, _of_future),
    (_derives(weakref.finalize), _of_finalizer),
    (_derives(types.CellType), _of_cell),
    (_derives(types.MethodWrapperType), _of_wrapper),
    (_derives(types.MappingProxyType), _of_proxy),
    (_derives(defaultdict), _of_defaults),
    (_derives(type), _of_class),
    (_derives(property), _of_property),
    (_is_iterator, _inside),
)
"""By the first that applies to a type."""
