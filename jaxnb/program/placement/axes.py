"""The axes of a mesh as a user writes them: `x=4, y=2`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from jaxnb.errors import BadHeader, JaxnbError

__all__ = ["axes_text", "check_axes", "read_axes"]

_AXIS = re.compile(r"\s*(?P<name>[^\W\d]\w*)\s*=\s*(?P<size>[^\s,]+)\s*(?:,|$)")


def read_axes(text: str) -> dict[str, int]:
    """`x=4, y=2` as names and sizes.

    Raises:
      BadHeader: pointing at the word that is wrong.
      JaxnbError: if there is no axis.

    >>> read_axes("x=4, y=2")
    {'x': 4, 'y': 2}
    """
    header, sizes, position = text.strip(), dict[str, int](), 0
    while position < len(header):
        found = _AXIS.match(header, position)
        if found is None:
            what = "an axis is written as name=size."
            raise BadHeader(what, header=header, column=position, width=len(header) - position, fix="x=4, y=2")
        name, size = found["name"], found["size"]
        if name in sizes:
            what = f"the axis {name} is there twice."
            column = found.start("name")
            raise BadHeader(
                what, header=header, column=column, width=len(name), fix="every axis has a name of its own."
            )
        if not re.fullmatch(r"[1-9][0-9]*", size):
            what = f"{size} is no number of devices."
            column = found.start("size")
            raise BadHeader(what, header=header, column=column, width=len(size), fix="a count from 1: x=4")
        sizes[name], position = int(size), found.end()
    return check_axes(sizes)


def check_axes(sizes: Mapping[str, int]) -> dict[str, int]:
    """The same names and sizes.

    Raises:
      JaxnbError: if there is none, or one is no count.
    """
    if not sizes:
        raise JaxnbError("a mesh needs an axis.", fix="jaxnb.make_mesh('x=4, y=2')")
    for name, size in sizes.items():
        if type(size) is not int or size < 1:
            raise JaxnbError(f"the axis {name} has the size {size!r}.", why="a size is a number of devices, from 1.")
    return dict(sizes)


def axes_text(sizes: Mapping[str, int]) -> str:
    """As it is written: `x=4, y=2`."""
    return ", ".join(f"{name}={size}" for name, size in sizes.items())
