"""What named axes raise, and the helpers that their messages share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, Self

from jaxnb.errors import JaxnbError

__all__ = ["AxisSizeError", "AxisSpecError", "NamedAxisError", "ResourceError", "listed", "nearest"]


class NamedAxisError(JaxnbError, ValueError):
    """A named axis is used in a way that has no meaning; the base of the errors of `jaxnb.named`.

    Attributes:
      place: which argument or result it is about, if it is about one.
      name: which name, if it is about one.
    """

    place: str | None = None
    name: Any = None

    def about(self, place: str, name: Any) -> Self:
        """The same error, which says what it is about."""
        self.place, self.name = place, name
        return self


class AxisSpecError(NamedAxisError):
    """`in_axes`, `out_axes` or an axis argument does not say which dimension has which name."""


class AxisSizeError(NamedAxisError):
    """The sizes of a name disagree, or cannot be known."""


class ResourceError(NamedAxisError):
    """`axis_resources` cannot be carried out."""


def listed(names: Iterable[Any]) -> str:
    """Names as prose, in a stable order: `'a', 'b'`, or `none`.

    >>> listed({"b", "a"})
    "'a', 'b'"
    """
    return ", ".join(sorted(map(repr, names))) or "none"


def nearest(name: Any, known: Iterable[Any]) -> str:
    """A suggestion for a name that is not known: the nearest one if one is near, otherwise all of them.

    >>> nearest("bacth", ["batch", "out"])
    "did you mean 'batch'?"
    """
    choices = {str(k): k for k in known}
    close = difflib.get_close_matches(str(name), choices, n=1, cutoff=0.6)
    if close:
        return f"did you mean {choices[close[0]]!r}?"
    return f"use one of the names in scope: {listed(choices.values())}." if choices else "no name is in scope here."
