"""A door to private JAX: what Python waits for a device for, when it makes a number, a text or a truth of an array.

An array hands its numbers to Python by the property `_value` of its class, which waits until they are there, and copies
them, or by `item`; NumPy may take them by the buffer instead, and never comes here. No public hook tells of it: a
transfer guard writes its log to the process's output. Checked on jax 0.10.2 and 0.12.0.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import get_ident
from time import perf_counter
from typing import Any

from jaxnb._jax.base import Array as _ArrayImpl  # what the properties of its class do is not public

__all__ = ["WaitLog"]

_NAMES = ("_value", "item")


class WaitLog:
    """Tells a listener each time that Python gets the numbers of an array which it did not have yet.

    Whatever goes wrong in the listener, the user's code goes on; the log stops then, and `failure` says why.

    Args:
      listener: called with the seconds that it took, while the frames of who asked for them are there.
    """

    def __init__(self, listener: Callable[[float], None]) -> None:
        self._listener = listener
        self._original: tuple[Any, Any] | None = None
        self._ours: tuple[Any, Any] | None = None
        self._asking = set[int]()  # threads in `item`, which may ask for `_value` itself
        self.failure = ""

    def start(self) -> None:
        """From now on, unless JAX has changed how arrays hand out numbers: `failure` says so then."""
        if self._original is not None:
            return
        value, item = (vars(_ArrayImpl).get(name) for name in _NAMES)
        if not isinstance(value, property) or value.fget is None or not callable(item):
            self.failure = "this JAX gives numbers to Python in another way"
            return
        self._original, self._ours = (value, item), (property(self._value_hook(value.fget)), self._item_hook(item))
        for name, ours in zip(_NAMES, self._ours, strict=True):
            setattr(_ArrayImpl, name, ours)

    def stop(self) -> None:
        """No longer; JAX is as before."""
        if self._original is None or self._ours is None:
            return
        for name, ours, original in zip(_NAMES, self._ours, self._original, strict=True):
            if vars(_ArrayImpl).get(name) is ours:
                setattr(_ArrayImpl, name, original)
        self._original = self._ours = None

    def _value_hook(self, original: Any) -> Callable[[Any], Any]:
        def _value(array: Any) -> Any:
            __tracebackhide__ = True
            if array._npy_value is not None or get_ident() in self._asking:
                return original(array)
            start = perf_counter()
            found = original(array)
            self._tell(perf_counter() - start)
            return found

        return _as_of_jax(_value, original)

    def _item_hook(self, original: Any) -> Callable[..., Any]:
        def item(array: Any, *args: int) -> Any:
            __tracebackhide__ = True
            start, thread = perf_counter(), get_ident()
            self._asking.add(thread)
            try:
                found = original(array, *args)
            finally:
                self._asking.discard(thread)
            self._tell(perf_counter() - start)
            return found

        return _as_of_jax(item, original)

    def _tell(self, seconds: float) -> None:
        try:
            self._listener(seconds)
        except Exception as error:  # see the class
            self.failure = f"{type(error).__name__}: {error}"
            self.stop()


def _as_of_jax(hook: Any, original: Any) -> Any:
    """A hook whose frames are passed over as those of JAX: in tracebacks, and where it is asked who waits."""
    name = f"{hook.__name__} (watched by jaxnb)"
    hook.__code__ = hook.__code__.replace(co_filename=original.__code__.co_filename, co_name=name)
    return functools.wraps(original)(hook)
