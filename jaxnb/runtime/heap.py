"""What the garbage collector knows, without a hold on what others are just making.

CPython refuses to finish a tuple that it builds item by item (`tuple(...)` of a generator, say) while anybody else
holds it, and raises `SystemError` in the thread that builds it. Who keeps the list of `gc.get_objects` for as long as
another thread may run holds all such tuples. So that list is gone through here without a single step of Python's, and
what comes out has been chosen: numbers, classes, or objects of classes that are no tuples.

The source of the rule is `_PyTuple_Resize` in CPython's `Objects/tupleobject.c`, 3.11 to 3.14.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from itertools import chain, compress
from operator import call
from typing import Any

from jaxnb.runtime.collecting import collection_put_off

__all__ = ["identities_of", "identity", "known", "objects_of"]

identity: Callable[[object], int] = object.__hash__
"""Tells living objects apart as `id` does, of whose calls every audit hook is told, which is a step of Python's."""
_LIST = (gc.get_objects,)
_type = type  # while a cell is traced, another class stands for it


def _objects() -> Iterator[Any]:
    """What the collector knows; it is asked when the first one is taken."""
    return chain.from_iterable(map(call, _LIST))


def known() -> frozenset[int]:
    """The identities of all objects that the collector knows.

    >>> kept = [1]
    >>> identity(kept) in known()
    True
    """
    with collection_put_off():  # a finalizer would be a step of Python's
        return frozenset(map(identity, _objects()))


def objects_of(wanted: Callable[[type], bool]) -> list[Any]:
    """The objects that the collector knows whose class is wanted.

    Args:
      wanted: is asked once for each class that objects have; it may say yes to tuples only where no other thread runs.

    >>> class Kept: ...
    >>> one = Kept()
    >>> objects_of(lambda kind: kind is Kept) == [one]
    True
    """
    return _picked(wanted, iter)


def identities_of(wanted: Callable[[type], bool]) -> list[int]:
    """The identities of the objects that the collector knows whose class is wanted, tuples as well; none is held."""
    return _picked(wanted, _identities)


def _identities(objects: Iterator[Any]) -> Iterator[int]:
    return map(identity, objects)


def _picked(wanted: Callable[[type], bool], give: Callable[[Iterator[Any]], Iterator[Any]]) -> list[Any]:
    with collection_put_off():
        kinds = list(map(_type, _objects()))
    chosen = {key for key, kind in dict(zip(map(identity, kinds), kinds, strict=True)).items() if wanted(kind)}
    if not chosen:
        return []
    everything: list[Any] = []
    given = give(compress(everything, map(chosen.__contains__, map(identity, map(_type, everything)))))
    objects = _objects()
    with collection_put_off():
        # Other threads get their turn after calls and where loops begin again, and here is neither.
        everything += objects
        found = [*given]
        everything *= 0
    return found
