"""Which texts of code are only said: f-strings that are an argument of `print`, or of a method of a logger.

Whatever is formatted there may be filled in later, because nothing else ever reads the text.
"""

from __future__ import annotations

import ast
import dis
import functools
import linecache
from types import FrameType

__all__ = ["is_only_said"]

_LOGGING = frozenset({"debug", "info", "warning", "error", "critical", "log"})

Place = tuple[int, int]
"""Line and column."""


def is_only_said(frame: FrameType) -> bool:
    """Whether a frame is formatting a value of an f-string that is only printed or logged, as its source tells."""
    formats = dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("FORMAT_")
    place = _place_of(frame) if formats else None
    if place is None:
        return False
    file = frame.f_code.co_filename
    return any(begin <= place < end for begin, end in _spoken("".join(linecache.getlines(file, frame.f_globals))))


def _place_of(frame: FrameType) -> Place | None:
    for index, (line, _, column, _) in enumerate(frame.f_code.co_positions()):
        if index == frame.f_lasti // 2:
            return (line, column) if line is not None and column is not None else None
    return None


@functools.lru_cache(maxsize=64)
def _spoken(source: str) -> tuple[tuple[Place, Place], ...]:
    """Where the f-strings that are only said stand in a text."""
    lines = ["" if line.startswith("%") else line for line in source.splitlines()]  # a magic is no Python
    try:
        tree = ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return ()
    found: list[tuple[Place, Place]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _says(node.value.func):
            for text in node.value.args:
                if isinstance(text, ast.JoinedStr) and not _holds_another(text):
                    found.append(_span(text))
    return tuple(found)


def _says(function: ast.expr) -> bool:
    if isinstance(function, ast.Name):
        return function.id == "print"
    return isinstance(function, ast.Attribute) and function.attr in _LOGGING


def _holds_another(text: ast.JoinedStr) -> bool:
    """Whether an f-string, whose text something might read, stands within another one; formats do not count."""
    formats = {id(item.format_spec) for item in ast.walk(text) if isinstance(item, ast.FormattedValue)}
    inner = (item for item in ast.walk(text) if isinstance(item, ast.JoinedStr) and item is not text)
    return any(id(item) not in formats for item in inner)


def _span(node: ast.expr) -> tuple[Place, Place]:
    return (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)
