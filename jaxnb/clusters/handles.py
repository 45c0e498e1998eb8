"""Values that the processes of a cluster hold, as the notebook has them: by what they are, without what is in them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from jaxnb.clusters.described import Leaf, Shown
from jaxnb.errors import JaxnbError
from jaxnb.units import format_bytes
from jaxnb.views import Head, Table, table_lines

__all__ = ["Handle", "Holder"]

_SMALL = 1_000
"""Numbers of a value up to which it is fetched to be shown."""
_ROWS = 20


class Holder:
    """Who can be asked about values: a cluster."""

    def show(self, number: int, path: Sequence[tuple[str, Any]]) -> Shown:
        """What a value is."""
        raise NotImplementedError

    def fetch_value(self, number: int, path: Sequence[tuple[str, Any]]) -> Any:
        """The value itself, with its arrays as NumPy arrays."""
        raise NotImplementedError

    def let_go(self, number: int) -> None:
        """Nobody asks about a value any more."""
        raise NotImplementedError


class Handle:
    """A value that the processes of a cluster hold.

    `jaxnb.fetch` brings it here; a small one is fetched where it is shown, or a number of it is asked for. Items and
    attributes are handles, too. In cells that run on the cluster the name stands for the value itself.

    Attributes:
      shape, dtype, nbytes: of an array.
      sharding: how it is spread, as a text, such as "P('x', None) on x=4, y=2"; "" where each process has its own.
      where: by rank, (blocks, bytes) of it that the process has.
    """

    __slots__ = ("__weakref__", "_holder", "_keeps", "_number", "_path", "_shown")

    def __init__(self, holder: Holder, shown: Shown, path: Sequence[tuple[str, Any]] = (), keeps: Any = None) -> None:
        self._holder, self._number, self._path, self._keeps = holder, shown.number, tuple(path), keeps
        self._shown = shown
        if keeps is None:
            weakref.finalize(self, holder.let_go, shown.number).atexit = False

    @property
    def stands_for(self) -> tuple[Holder, int, tuple[tuple[str, Any], ...]]:
        """Who holds the value, by which number, and the path to the part of it that this stands for."""
        return self._holder, self._number, self._path

    @property
    def _whole(self) -> Shown:
        if self._shown.count < 0:
            self._shown = self._holder.show(self._number, self._path)
        return self._shown

    @property
    def _leaf(self) -> Leaf:
        whole = self._whole
        if not whole.is_array:
            kind = whole.type or "value"
            raise AttributeError(f"a {kind} on the cluster has no shape: it is no array. jaxnb.fetch brings it here.")
        return whole.leaves[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of an array."""
        return self._leaf.shape

    @property
    def ndim(self) -> int:
        """Of an array."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """How many numbers an array has."""
        return _size(self._leaf)

    @property
    def dtype(self) -> Any:
        """Of an array; of keys its name."""
        name = self._leaf.dtype
        return name if name.startswith("key<") else _dtype(name)

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array."""
        return _bytes(self._leaf)

    @property
    def sharding(self) -> str:
        """How an array is spread, as a text."""
        return self._leaf.spec

    @property
    def where(self) -> dict[int, tuple[int, int]]:
        """By rank, how many blocks of an array and how many bytes a process has."""
        return {rank: (blocks, size) for rank, blocks, size in self._leaf.where}

    def _part(self, kind: str, key: Any) -> Handle:
        return Handle(self._holder, Shown(self._number), (*self._path, (kind, key)), self._keeps or self)

    def __getitem__(self, key: Any) -> Handle:
        return self._part("item", key)

    def __getattr__(self, name: str) -> Handle:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._whole.is_array:
            raise AttributeError(f"an array on the cluster has no {name!r} here: jaxnb.fetch(x).{name} has it.")
        return self._part("attribute", name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.fetched(), dtype)

    def __float__(self) -> float:
        return float(self.fetched())

    def __int__(self) -> int:
        return int(self.fetched())

    def __bool__(self) -> bool:
        return bool(self.fetched())

    def __index__(self) -> int:
        return self.fetched().__index__()

    def __format__(self, spec: str) -> str:
        return format(self.fetched() if spec else self, spec)

    def __len__(self) -> int:
        return self.shape[0] if self._whole.is_array and self.shape else len(self.fetched())

    def __iter__(self) -> Any:
        return iter(self.fetched())

    def item(self) -> Any:
        """The number of an array of one."""
        return self.fetched().item()

    def fetched(self) -> Any:
        """The value itself, with its arrays as NumPy arrays."""
        return self._holder.fetch_value(self._number, self._path)

    def __repr__(self) -> str:
        try:
            whole = self._whole
        except JaxnbError as gone:
            return f"<{gone.what}>"
        if whole.is_array:
            leaf = whole.leaves[0]
            text = f"{_leaf_text(leaf)}: {leaf.spec or 'the same in each process'}"
            small = _size(leaf) <= _SMALL and not leaf.dtype.startswith("key<")
            return f"{text}\n{np.array2string(np.asarray(self))}" if small else text
        if not whole.leaves:
            return whole.text or f"<{whole.type} on the cluster>"
        return "\n".join(self._tree(whole))

    def _tree(self, whole: Shown) -> list[str]:
        total = sum(map(_bytes, whole.leaves))
        rows = tuple((leaf.path, _leaf_text(leaf), leaf.spec, format_bytes(_bytes(leaf))) for leaf in whole.leaves)
        heads = Head(), Head(), Head(), Head("", "number")
        lines = table_lines(Table(heads, rows[:_ROWS]))
        more = [f"and {len(rows) - _ROWS} more"] if len(rows) > _ROWS else []
        count = f"{len(rows)} array{'s' * (len(rows) > 1)}"
        return [f"{whole.type} on the cluster: {count}, {format_bytes(total)}", *lines, *more]


def _refused(name: str) -> Callable[..., Any]:
    def refuse(self: Handle, *_: Any) -> NoReturn:
        raise TypeError(
            "this value is on the cluster: compute with it in a %%jit --cluster cell, or bring it here by jaxnb.fetch."
        )

    refuse.__name__ = name
    return refuse


for _name in ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "neg", "lt", "le", "gt", "ge"):
    for _form in ("", "r"):
        setattr(Handle, f"__{_form}{_name}__", _refused(f"__{_form}{_name}__"))
setattr(Handle, "__call__", _refused("__call__"))  # noqa: B010 - a method of the class, as those above


def _dtype(name: str) -> Any:
    try:
        return np.dtype(name)
    except TypeError:
        import jax.numpy as jnp

        return jnp.dtype(name)


def _size(leaf: Leaf) -> int:
    return int(np.prod(leaf.shape, dtype=np.int64))


def _bytes(leaf: Leaf) -> int:
    return _size(leaf) * (4 if leaf.dtype.startswith("key<") else _dtype(leaf.dtype).itemsize)


def _leaf_text(leaf: Leaf) -> str:
    return f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"
