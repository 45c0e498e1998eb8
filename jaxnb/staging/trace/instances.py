"""Whose methods made an equation: its frames say which code ran, and not on which object. A traceback is the same for
each turn of `for block in self.blocks: x = block(x)`, so the objects are looked up while the equation is made.

JAX passes the traceback of an equation on to what it makes of it, so that those of a derivative are known, too.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import jax
import jax.core
import numpy as np

from jaxnb._jax import in_jax, note_tracebacks, traceback_frames
from jaxnb.reading import Instances, library_name
from jaxnb.runtime import home_of, identity, is_installed, is_own, local_of
from jaxnb.staging.cells.referents import TypeCache, reader_of, state_of

__all__ = ["InstanceLog"]

_LOOKING = frozenset({"dir", "eval", "exec", "locals", "vars"})
"""Names by which code looks at its own variables: what it was given of them would change by looking again."""
_MOST_OBJECTS = 10_000
_MOST_WALKS = 3  # of one object that grows while it is traced
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type, np.ndarray, np.generic, jax.Array, jax.core.Tracer)
_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class InstanceLog:
    """Takes down whose methods make equations, at the cost of some microseconds each; tracing one takes a hundred."""

    def __init__(self) -> None:
        self._outside = 0
        self._found: dict[int, tuple[Any, Instances]] = {}  # by the identity of a traceback, which is kept
        self._places: dict[Any, tuple[int, ...]] = {}
        self._methods: dict[int, tuple[CodeType, bool]] = {}
        self._paths: dict[int, _Paths] = {}
        self._namings = TypeCache(_naming_of)

    def of(self, traceback: Any) -> Instances:
        """What is known of the traceback of an equation."""
        known = self._found.get(identity(traceback))
        return known[1] if known is not None else ()

    @contextmanager
    def noting(self) -> Generator[InstanceLog]:
        """Takes them down in this thread."""
        self._outside = _depth(_getframe(2))
        try:
            with note_tracebacks(self._note):
                yield self
        finally:
            self._paths.clear()
            self._places.clear()
            self._methods.clear()

    def _note(self, traceback: Any) -> None:
        known = self._places.get(traceback)
        if known is None:
            inside = _depth(_getframe(1)) + 1 - self._outside  # JAX may have left out what is outside, or not
            known = self._places[traceback] = self._places_of_methods(traceback, inside)
        if not known:
            return
        objects: list[tuple[int, Any]] = []
        for n in known:  # which is how far they are from here, too; a comprehension would be one further
            objects.append((n, local_of(_getframe(n), "self")))
        self._found[identity(traceback)] = traceback, tuple(self._with_paths(objects))

    def _places_of_methods(self, traceback: Any, inside: int) -> tuple[int, ...]:
        """The frames of methods among the innermost ones of a traceback."""
        codes = [code for code, _ in traceback_frames(traceback)]
        return tuple(n for n, code in enumerate(codes[:inside]) if self._is_method(code))

    def _is_method(self, code: CodeType) -> bool:
        known = self._methods.get(identity(code))
        if known is None:
            known = self._methods[identity(code)] = code, _is_method(code)
        return known[1]

    def _with_paths(self, found: list[tuple[int, Any]]) -> Iterable[tuple[int, str]]:
        """The frames, the outermost first, and the paths from the outermost object that leads there."""
        root: _Paths | None = None
        for place, item in reversed(found):
            naming = self._namings.of(item)
            path = naming(state_of(item)) if naming is not None else None
            if path is None:
                path = root.path(item) if root is not None else None
            if path is None:
                root, path = self._from(item), ""
            yield place, path

    def _from(self, root: Any) -> _Paths | None:
        known = self._paths.get(identity(root))
        if known is None or known.root() is not root:
            try:
                known = self._paths[identity(root)] = _Paths(weakref.ref(root))
            except TypeError:  # of which there is no weak reference: nothing of ours is to keep it
                return None
        return known


class _Paths:
    """The ways from an object to what it holds."""

    def __init__(self, root: weakref.ref[Any]) -> None:
        self.root = root
        self._walks = 0
        self._found: dict[int, str] = {}
        self._missing: set[int] = set()

    def path(self, item: Any) -> str | None:
        """Where an object lies, or None where it does not."""
        key = identity(item)
        if key not in self._found and self._walks < _MOST_WALKS and key not in self._missing:
            self._walks += 1
            self._found = _paths_from(self.root())
            self._missing.add(key)
        return self._found.get(key)


def _paths_from(root: Any) -> dict[int, str]:
    """The paths to all that an object holds, the shortest to each."""
    readers = TypeCache(reader_of)
    found = {identity(root): ""}
    waiting: list[tuple[str, Any]] = [("", root)]
    for path, value in waiting:  # which grows on the way
        if len(found) > _MOST_OBJECTS:
            break
        for kind, key, child in readers.of(value)(value):
            step = _step(kind, key)
            if step and identity(child) not in found and not issubclass(type(child), _PLAIN):
                found[identity(child)] = further = f"{path}{step}" if path else step.lstrip(".")
                waiting.append((further, child))
    return found


def _step(kind: str, key: Any) -> str:
    """A step of a path as a user would write it; "" for what nobody would."""
    if kind == "attr" and isinstance(key, str) and not key.startswith("__"):
        return f"[{key}]" if key.isdigit() else f".{key}"  # flax.nnx keeps the items of a list so
    return f"[{key!r}]" if kind == "item" and (type(key) is str or type(key) is int) else ""


def _depth(frame: FrameType | None) -> int:
    count = 0
    while frame is not None:
        frame, count = frame.f_back, count + 1
    return count


def _is_method(code: CodeType) -> bool:
    """Whether code is that of a method of the user's, or of a library whose objects make up models."""
    if not code.co_argcount or code.co_varnames[0] != "self" or not _LOOKING.isdisjoint(code.co_names):
        return False
    file = code.co_filename
    if in_jax(file) or is_own(file) or file == "<string>":
        return False
    return bool(library_name(code, True)[0]) if is_installed(file) else True


Naming = Callable[[Any], str | None]


def _naming_of(kind: type) -> Naming | None:
    """What tells the path of a module of flax.linen or haiku, which makes its parts while it runs and holds none."""
    found = (_NAMING.get((home_of(base), base.__name__)) for base in kind.__mro__)
    return next((naming for naming in found if naming is not None), None)


def _linen_path(attributes: Any) -> str | None:
    path = getattr(attributes.get("scope"), "path", None)
    return "/".join(map(str, path)) if isinstance(path, tuple) else None


def _haiku_path(attributes: Any) -> str | None:
    name = attributes.get("module_name")
    return name if isinstance(name, str) else None


_NAMING: dict[tuple[str, str], Naming] = {
    ("flax.linen.module", "Module"): _linen_path,
    ("haiku._src.module", "Module"): _haiku_path,
}
