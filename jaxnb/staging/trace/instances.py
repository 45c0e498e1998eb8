"""Whose methods made an equation: its frames say which code ran, and not on which object. A traceback is the same for
each turn of `for block in self.blocks: x = block(x)`, so the objects are looked up while the equation is made; and
likewise in which frames the scopes were entered that it has names of.

JAX passes the traceback of an equation on to what it makes of it, so that those of a derivative are known, too.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, NamedTuple

import jax
import jax.core
import numpy as np

from jaxnb._jax import in_jax, note_tracebacks, traceback_frames
from jaxnb.reading import Entered, Instances, Ran, library_name, public_name
from jaxnb.runtime import home_of, identity, is_installed, is_library_class, is_own, local_of
from jaxnb.staging.cells.referents import TypeCache, reader_of, state_of

__all__ = ["InstanceLog"]

_LOOKING = frozenset({"dir", "eval", "exec", "locals", "vars"})
"""Names by which code looks at its own variables: what it was given of them would change by looking again."""
_MOST_OBJECTS = 10_000
_MOST_WALKS = 3  # of one object that grows while it is traced
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type, np.ndarray, np.generic, jax.Array, jax.core.Tracer)
_CONTEXTS = contextlib.__file__
_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class _Scope(NamedTuple):
    """A scope of the user's, and the frame that entered it: how deep it is, whose code it runs, and where."""

    scope: Any
    name: str
    depth: int
    code: CodeType
    offset: int


class InstanceLog:
    """Takes down whose methods make equations, at the cost of some microseconds each; tracing one takes a hundred."""

    def __init__(self) -> None:
        self._outside = 0
        self._found: dict[int, tuple[Any, Instances]] = {}  # by the identity of a traceback, which is kept
        self._places: dict[Any, tuple[tuple[int, ...], int]] = {}
        self._methods: dict[int, tuple[CodeType, bool]] = {}
        self._paths: dict[int, _Paths] = {}
        self._namings = TypeCache(_naming_of)
        self._kinds = TypeCache(_kind_of)
        self._scopes: dict[int, _Scope] = {}  # by the identity of JAX's object

    def of(self, traceback: Any) -> Instances:
        """What is known of the traceback of an equation."""
        known = self._found.get(identity(traceback))
        return known[1] if known is not None else ()

    @contextmanager
    def noting(self) -> Generator[InstanceLog]:
        """Takes them down in this thread."""
        self._outside = _depth(_getframe(2))
        try:
            with note_tracebacks(self._note, self._enter):
                yield self
        finally:
            self._scopes.clear()
            self._paths.clear()
            self._places.clear()
            self._methods.clear()

    def _note(self, traceback: Any, scopes: tuple[Any, ...]) -> None:
        known = self._places.get(traceback)
        if known is None:
            inside = _depth(_getframe(1)) + 1 - self._outside  # JAX may have left out what is outside, or not
            known = self._places[traceback] = self._places_of_methods(traceback, inside)
        places, count = known
        objects: list[tuple[int, Any]] = []
        for n in places:  # which is how far they are from here, too; a comprehension would be one further
            objects.append((n, local_of(_getframe(n), "self")))
        entered: list[Entered] = []
        if scopes and self._scopes:
            here = _depth(_getframe(0))
            for item in scopes:
                scope = self._scopes.get(identity(item))
                if scope is not None and here > scope.depth and _getframe(here - scope.depth).f_code is scope.code:
                    entered.append(Entered(here - scope.depth, scope.name, scope.offset))
        if objects or entered:
            self._found[identity(traceback)] = traceback, (*self._with_paths(objects, count), *entered)

    def _enter(self, scope: Any) -> None:
        """Takes down a scope that the caller of our caller enters, if that is the user's code."""
        frame: FrameType | None = _getframe(2)
        while frame is not None and _hands_on(frame.f_code):
            frame = frame.f_back
        if frame is None:
            return
        code = frame.f_code
        function = local_of(frame, "func") if in_jax(code.co_filename) else None  # which the scope decorates
        file = getattr(getattr(function, "__code__", code), "co_filename", "")
        if not (in_jax(file) or is_installed(file) or is_own(file)):
            self._scopes[identity(scope)] = _Scope(scope, scope.name, _depth(frame), code, frame.f_lasti)

    def _places_of_methods(self, traceback: Any, inside: int) -> tuple[tuple[int, ...], int]:
        """The frames of methods among the innermost ones of a traceback, and how many it has."""
        codes = [code for code, _ in traceback_frames(traceback)]
        return tuple(n for n, code in enumerate(codes[:inside]) if self._is_method(code)), len(codes)

    def _is_method(self, code: CodeType) -> bool:
        known = self._methods.get(identity(code))
        if known is None:
            known = self._methods[identity(code)] = code, _is_method(code)
        return known[1]

    def _with_paths(self, found: list[tuple[int, Any]], count: int) -> list[Ran]:
        """The frames, the outermost first, and the paths from the outermost object that leads there."""
        root: _Paths | None = None
        ran: list[Ran] = []
        for place, item in reversed(found):
            naming = self._namings.of(item)
            path = naming(state_of(item)) if naming is not None else None
            if path is None:
                path = root.path(item) if root is not None else None
            if path is None:
                root = self._from(item)
                if root is not None and root.above is None:
                    root.above = self._above(item, count)
                path = "" if root is None else root.above or ""
            ran.append(Ran(place, path, self._kinds.of(item)))
        return ran

    def _above(self, item: Any, count: int) -> str:
        """The path to an object from those whose methods run outside of a traceback, which began in a body: "" if there
        is none."""
        frame: FrameType | None
        try:
            frame = _getframe(count + 2)  # `_note` is the first of it, and calls who calls us
        except ValueError:
            return ""
        around: list[Any] = []
        for _ in range(_depth(frame) - self._outside):
            if frame is not None and self._is_method(frame.f_code):
                around.append(local_of(frame, "self"))
            frame = frame.f_back if frame is not None else None
        for outer in reversed(around):
            root = self._from(outer)
            if root is not None and outer is not item and (path := root.path(item)) is not None:
                return path
        return ""

    def _from(self, root: Any) -> _Paths | None:
        known = self._paths.get(identity(root))
        if known is None or known.root() is not root:
            try:
                known = self._paths[identity(root)] = _Paths(weakref.ref(root))
            except TypeError:  # of which there is no weak reference: nothing of ours is to keep it
                return None
        return known


class _Paths:
    """The ways from an object to what it holds, and to it from what is above; None as long as nobody asked."""

    def __init__(self, root: weakref.ref[Any]) -> None:
        self.root = root
        self.above: str | None = None
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
        path = self._found.get(key)
        return path if not path or not self.above else f"{self.above}{'' if path.startswith('[') else '.'}{path}"


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


def _hands_on(code: CodeType) -> bool:
    """Whether code enters a context for another: that of `ExitStack`, or a generator under `contextmanager`."""
    return code.co_filename == _CONTEXTS or bool(code.co_flags & inspect.CO_GENERATOR)


def _kind_of(kind: type) -> str:
    """What a class of a library is called by those who use it."""
    file = getattr(sys.modules.get(home_of(kind)), "__file__", None)
    if kind is type(None) or not isinstance(file, str) or not is_library_class(kind):
        return ""
    return public_name(file, kind.__name__)


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
