"""What `ABC.register` has made of a class: a registry that only the interpreter holds, which `isinstance` asks.

The registry is read as CPython 3.11 to 3.14 gives it to those who debug; no public function does.
"""

from __future__ import annotations

import abc
import weakref
from _abc import _get_dump  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any

from jaxnb.runtime import is_library_class
from jaxnb.staging.objects.paths import Path

if TYPE_CHECKING:
    from jaxnb.staging.objects.graph import Scan

__all__ = ["follow_registered", "registered_with"]

_of_libraries: weakref.WeakKeyDictionary[type, tuple[Any, list[weakref.ref[type]]]] = weakref.WeakKeyDictionary()


def registered_with(kind: type) -> list[weakref.ref[type]]:
    """The classes of the user that were registered with an abstract class, or with one that derives from it.

    >>> class Shape(abc.ABC): ...
    >>> class Square: ...
    >>> _ = Shape.register(Square)
    >>> [found() is Square for found in registered_with(Shape)]
    [True]
    """
    token = abc.get_cache_token()  # another one as soon as anything is registered
    known = _of_libraries.get(kind) if is_library_class(kind) else None
    if known is not None and known[0] == token:
        return known[1]
    found: dict[int, type] = {}
    seen: set[int] = set()
    stack = [kind]
    while stack:
        item = stack.pop()
        if id(item) in seen or not issubclass(type(item), abc.ABCMeta):
            continue
        seen.add(id(item))
        members = [member for reference in _get_dump(item)[0] if (member := reference()) is not None]
        found.update((id(member), member) for member in members if not is_library_class(member))
        stack += [*members, *type.__subclasses__(item)]
    ordered = sorted(found.values(), key=lambda member: (str(member.__module__), member.__qualname__))
    references = [weakref.ref(member) for member in ordered]
    if is_library_class(kind):
        _of_libraries[kind] = (token, references)
    return references


def follow_registered(scan: Scan, kind: type, path: Path) -> None:
    """Visits them, so that the key says which of the classes that the code has are among them."""
    for reference in registered_with(kind):
        if (member := reference()) is not None:
            scan.class_(member, (path, "attr", member.__qualname__), None)
