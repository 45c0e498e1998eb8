"""Functions under `functools.singledispatch` in a cell that is traced: they choose by the class a tracer stands for.

Such a function, and `functools.singledispatchmethod`, asks `dispatch` for the implementation for a class, which looks
into a cache first. The cache is what is replaced: it finds the value behind the question in the frame that asks.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, NoReturn

from jaxnb import _jax
from jaxnb.runtime import Undo
from jaxnb.staging.objects.dispatchers import dispatch_cache

__all__ = ["choose_by_plain_class"]


@contextmanager
def choose_by_plain_class(
    functions: Iterable[types.FunctionType],
    class_of: Callable[[Any], type | None],
    need: Callable[[Any, str], NoReturn],
    stop: Callable[[str], NoReturn],
) -> Generator[None]:
    """While it is entered, functions under `functools.singledispatch` choose as the plain cell would.

    Args:
      functions: those under `functools.singledispatch`.
      class_of: the class of the plain cell's value for a tracer; None where it could be several.
      need: called with a tracer and a clause where the class has to be known; raises.
      stop: called where an implementation is registered, which no replay would do; raises.
    """
    with Undo() as undo:
        for function in functions:
            cell = dispatch_cache(function)
            assert cell is not None
            asking = _Asking(cell.cell_contents, function.__dict__["dispatch"], class_of, need, stop)
            undo.add(setattr, cell, "cell_contents", cell.cell_contents)
            cell.cell_contents = asking
        undo.patch(functools.singledispatchmethod, "__get__", _made_anew(functools.singledispatchmethod.__get__))
        yield


def _made_anew(original: Callable[..., Any]) -> Callable[..., Any]:
    """A method that is made of an object holds it, and `singledispatchmethod` would keep it, with what is traced."""

    def __get__(self: Any, obj: Any, cls: Any = None) -> Any:
        method = original(self, obj, cls)
        kept = vars(self).get("_method_cache")
        if kept is not None and obj is not None:
            kept.pop(obj, None)
        return method

    return __get__


class _Asking:
    """Stands for the cache of one function, of which `dispatch` asks `[]`, and `register` asks `clear`."""

    def __init__(
        self,
        cache: Any,
        dispatch: Callable[[type], Any],
        class_of: Callable[[Any], type | None],
        need: Callable[[Any, str], NoReturn],
        stop: Callable[[str], NoReturn],
    ) -> None:
        self._cache, self._dispatch = cache, dispatch
        self._class_of, self._need, self._stop = class_of, need, stop

    def __getitem__(self, kind: type) -> Any:
        if not _jax.is_tracer_type(kind):
            return self._cache[kind]
        asks = sys._getframe(1).f_back  # pyright: ignore[reportPrivateUsage]  # who called `dispatch`
        args = asks.f_locals.get("args") if asks is not None else None
        value = args[0] if isinstance(args, tuple) and args else None
        plain = self._class_of(value) if type(value) is kind else None
        if plain is None:
            self._need(value, "functools.singledispatch chooses by its class")
        return self._cache[kind] if plain is kind else self._dispatch(plain)

    def __setitem__(self, kind: type, chosen: Any) -> None:
        self._cache[kind] = chosen

    def clear(self) -> None:
        self._stop("it registers what functools.singledispatch is to choose")
