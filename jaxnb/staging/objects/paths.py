"""Where a value is held, and what stands for it in the key of a program."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jaxnb.staging.cells.parts import function_of_statement
from jaxnb.staging.cells.referents import Inner

__all__ = [
    "Choices",
    "Field",
    "Path",
    "Same",
    "SameClass",
    "class_part",
    "holders_of",
    "is_below",
    "is_mark",
    "item_keys",
    "moved_to",
    "render_path",
    "render_paths",
    "root_name",
    "root_of",
    "without_places",
]

Path = tuple[Any, str, Any]
"""Where something is held: (path of the holder, kind of edge, key); the holder of a name is None."""


class Field(int):
    """The position of an item that a named tuple has a name for, by which it is shown."""

    name: str


def item_keys(value: Any, count: int) -> Iterable[int]:
    """The keys of the items of a tuple, or of what is taken apart like one."""
    names = getattr(type(value), "_fields", None) if isinstance(value, tuple) else None
    if not isinstance(names, tuple) or len(names) != count:
        return range(count)
    keys = [Field(index) for index in range(count)]
    for key, name in zip(keys, names, strict=True):
        key.name = str(name)
    return keys


class _Mark:
    """A part of a key that equals only itself."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


FLOAT, COMPLEX, INT, ALIAS, ARRAY, NUMPY, CONTENT, ROOT, FUN, JIT, OBJECT, OPEN, ATTRIBUTES, GROWN = map(
    _Mark,
    [
        "float",
        "complex",
        "int",
        "alias",
        "array",
        "numpy",
        "content",
        "name",
        "function",
        "jit",
        "object",
        "cell",
        "attributes",
        "growing list",
    ],
)
CLASS_MARK = _Mark("class")


def is_mark(part: Any) -> bool:
    """Whether a part of a key is one of these."""
    return isinstance(part, _Mark)


class Same:
    """A part of a key that stands for one object by identity, without keeping it alive where that can be avoided."""

    __slots__ = ("_get", "_hash", "text")

    def __init__(self, value: Any) -> None:
        self._hash = id(value)
        self.text = f"{type(value).__name__} object"
        try:
            self._get: Callable[[], Any] = weakref.ref(value)
        except TypeError:
            self._get = lambda: value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self._hash == other._hash and self._get() is other._get() is not None

    def holds(self, value: object) -> bool:
        """Whether it stands for this object."""
        return self._get() is value

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return self.text


class SameClass:
    """A part of a key that stands for one class and for none that is equal to it."""

    __slots__ = ("kind",)

    def __init__(self, kind: type) -> None:
        self.kind = kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameClass) and self.kind is other.kind

    def __hash__(self) -> int:
        return id(self.kind)

    def __repr__(self) -> str:
        return f"{self.kind.__module__}.{self.kind.__qualname__}"


def class_part(kind: type) -> Any:
    """A class as a part of a key. One is another even where they are equal, as its metaclass may have it.

    >>> import jax, numpy as np
    >>> jax.numpy.float32 == np.float32, class_part(jax.numpy.float32) == class_part(np.float32)
    (True, False)
    """
    return kind if type(kind).__eq__ is object.__eq__ else SameClass(kind)


class Choices:
    """Which leaves are traced and which are static, where that is not a matter of type alone.

    Attributes:
      static: paths of what is part of the key with its value, whatever stands there.
      needed: paths at which a number is part of the key, because a trace needed its value; an array is an input.
      dynamic: paths of ints that are inputs.
      unsaid: static paths that nobody would expect to be inputs.
      fixed: paths that an option decided, so that they are not tried otherwise.
      needed_at: which statement needed the value of a scalar that was made static for that.
      no_growth: whether a list that the code appends to was seen to be read, too.
      on_host: whether arithmetic among traced Python scalars is done by Python, because some of them change.
      abstract: whether a `jax.ShapeDtypeStruct` stands for an array.
      lays: whether how arrays lie is part of the key, also of those that are committed to no device.
      shapes: those of inputs whose sizes have names, see `trace.sizes`; None if there are none.
      joins: whether assignments in which Python computes are part of a piece that they stand in.
      branches: whether a function is told if a number that Python computes is true, see `trace.branches`.
    """

    def __init__(self) -> None:
        self.static: set[Path] = set()
        self.needed: set[Path] = set()
        self.dynamic: set[Path] = set()
        self.unsaid: set[Path] = set()
        self.fixed: set[Path] = set()
        self.needed_at: dict[Path, int] = {}
        self.on_host = False
        self.no_growth = False
        self.abstract = False
        self.lays = False
        self.branches = True
        self.shapes: Any = None
        self.joins = False

    def copy(self) -> Choices:
        """The same decisions, to be changed on their own."""
        copy = Choices()
        copy.static, copy.needed, copy.dynamic = set(self.static), set(self.needed), set(self.dynamic)
        copy.unsaid, copy.fixed = set(self.unsaid), set(self.fixed)
        copy.on_host, copy.no_growth, copy.needed_at = self.on_host, self.no_growth, dict(self.needed_at)
        copy.abstract, copy.lays, copy.branches = self.abstract, self.lays, self.branches
        copy.shapes, copy.joins = self.shapes, self.joins
        return copy

    def changing(self, paths: Iterable[Path]) -> Choices:
        """A copy in which the scalars at these paths are inputs."""
        copy = self.copy()
        copy.static.difference_update(paths)
        copy.needed.difference_update(paths)
        copy.dynamic.update(paths)
        copy.on_host = True
        return copy

    def without_shapes(self) -> Choices:
        """A copy in which every size is a number."""
        copy = self.copy()
        copy.shapes = None
        return copy

    def make_static(self, paths: Iterable[Path], needed_at: int | None = None) -> None:
        """Makes the numbers at these paths part of the key, because the statement `needed_at` needs them."""
        for path in paths:
            if needed_at is not None:
                self.needed_at[path] = needed_at
            self.needed.add(path)
            self.dynamic.discard(path)

    def hold(self, paths: Iterable[Path]) -> None:
        """Makes what stands at these paths part of the key, whatever it is: no input can stand there."""
        for path in paths:
            self.static.add(path)
            self.dynamic.discard(path)

    def is_static(self, path: Path, number: bool = True) -> bool:
        """Whether the value at a path is part of the key by decision.

        Args:
          path: of the value.
          number: whether it is a number, of Python or NumPy.
        """
        return path in self.static or (number and path in self.needed)


def root_of(path: Path) -> Path:
    """Where a path begins: a name of the cell's namespace or of a module."""
    while isinstance(path[0], tuple):
        path = path[0]
    return path


def root_name(path: Path) -> str | None:
    """The name in the cell's namespace where a path begins, or None."""
    root = root_of(path)
    return root[2] if root[1] == "name" else None


def holders_of(path: Path) -> Iterator[Path]:
    """The paths of what holds it, from the inside out."""
    while isinstance(path[0], tuple):
        path = path[0]
        yield path


def is_below(path: Path, outer: str) -> bool:
    """Whether a path is what a user wrote as `outer`, or leads to something that this holds."""
    texts = {render_path(path), render_path(path, whole=True)}
    return any(text == outer or text.startswith((f"{outer}[", f"{outer}.")) for text in texts)


def moved_to(path: Path, name: str) -> Path:
    """The same path from another name."""
    return (moved_to(path[0], name), *path[1:]) if isinstance(path[0], tuple) else (None, "name", name)


def _outside(path: Path) -> Path:
    """What holds a path on the way from its name, before the first closure."""
    outside = path
    for holder in (path, *holders_of(path)):
        if holder[1] == "closure":
            outside = holder[0]
    return outside


def render_path(path: Path, whole: bool = False) -> str:
    """A path as a user would write it: `params['w1']`, `cfg.n`, `helper (closure scale)`.

    Args:
      path: what to write.
      whole: also where it leads into what a library's object keeps to itself, which stands for the object otherwise.
    """
    holder, kind, key = path
    if kind == "name":
        return str(key)
    if kind == "global":
        return f"{holder}.{key}"
    outer = render_path(holder, whole)
    if kind == "item":
        if isinstance(key, Field):
            return f"{outer}.{key.name}"
        if holder[1] == "attributes" and isinstance(key, str):
            return f"{outer}.{key}"
        return f"{outer}[{', '.join(map(repr, key)) if isinstance(key, tuple) and key else repr(key)}]"
    if kind == "attr":
        if isinstance(key, Inner) and not whole:
            return outer
        return f"{outer}[{key}]" if str(key).isdigit() else f"{outer}.{key}"  # flax.nnx keeps the items of a list so
    if kind == "closure":
        # of closures inside closures the outermost one is named: that is what the user holds
        outside = render_path(_outside(holder), whole)
        function = function_of_statement(outside)
        return f"{key} (in {function})" if function else f"{key} (closure of {outside})"
    if kind == "defaults":
        return f"{outer} (defaults)"
    if kind == "local":
        return f"{key} (in {outer})"
    if kind == "attributes":
        return outer
    if kind == "cached":
        return f"{outer} (cache)"
    return f"{outer} (member)"


def render_paths(paths: Iterable[Path]) -> list[str]:
    """Paths as a user would write them; those that would look alike are written whole."""
    paths = list(paths)
    texts = [render_path(path) for path in paths]
    often = {text for text, count in Counter(texts).items() if count > 1}
    return [render_path(path, whole=True) if text in often else text for path, text in zip(paths, texts, strict=True)]


def without_places(path: Any) -> Any:
    """A path that is the same for all items of a list, or at the same place in all of its items."""
    if not isinstance(path, tuple):
        return path
    holder, kind, key = path
    return without_places(holder), kind, None if kind == "item" and type(key) is int else key
