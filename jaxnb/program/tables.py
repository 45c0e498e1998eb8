"""What the codec is made of: columns, and items stored once. Whatever is wrong with data that is read is an error."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

__all__ = [
    "Interned",
    "Place",
    "at",
    "columns_of",
    "each_once",
    "indices_of",
    "pair_of",
    "pairs_of",
    "rows_of",
    "seconds_of",
    "texts_of",
    "typed",
]

T = TypeVar("T", bound=Hashable)
R = TypeVar("R")
Place = tuple[int, int]


class Interned(Generic[T]):
    """Items that are stored once; `index` adds what is new."""

    def __init__(self) -> None:
        self.places: dict[T, int] = {}

    def index(self, item: T | None) -> int:
        return -1 if item is None else self.places.setdefault(item, len(self.places))

    def indices(self, items: Iterable[T]) -> list[int]:
        places = self.places
        return [places.setdefault(item, len(places)) for item in items]

    def items(self) -> list[T]:
        return list(self.places)


def each_once(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """What a function makes of each item; it is called once for all that are one object.

    Readers share objects among the ops of a program, and to compare these by what they hold takes much longer.
    """
    known: dict[int, R] = {}
    for item in items:
        if id(item) not in known:
            known[id(item)] = function(item)
    return [known[id(item)] for item in items]


def rows_of(columns: Mapping[str, Any], names: Sequence[str]) -> Iterable[tuple[Any, ...]]:
    """The rows of some columns, which must be of one length."""
    return zip(*columns_of(columns, names), strict=True)


def columns_of(columns: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    return [columns[name] for name in names]


def seconds_of(number: Any) -> float | None:
    return None if number is None else float(typed(number, int, float))


def typed(value: Any, *types: type) -> Any:
    """The value, if it is of one of these types; True is no number here, and 1.0 no index."""
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise TypeError(f"{value!r} where {' or '.join(t.__name__ for t in types)} should be")
    return value


def at(items: Sequence[T], index: int) -> T:
    """An item of a table; a negative index is an error here, not the end of the list."""
    if index < 0:
        raise IndexError(f"index {index} into a table of {len(items)}")
    return items[index]


def indices_of(indices: Iterable[int]) -> tuple[int, ...]:
    row = tuple(indices)
    for index in row:
        if type(index) is not int:
            typed(index, int)
    return row


def texts_of(indices: Iterable[int], strings: Sequence[str]) -> tuple[str, ...]:
    return tuple(at(strings, index) for index in indices)


def pair_of(items: Sequence[int]) -> tuple[int, int]:
    first, second = indices_of(items)
    return first, second


def pairs_of(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple(zip(texts[::2], texts[1::2], strict=True))
