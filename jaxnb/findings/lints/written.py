"""What the user wrote where an equation was made: the expression in the text of a cell or file."""

from __future__ import annotations

import ast
import linecache
import sysconfig
from contextlib import suppress
from functools import lru_cache
from typing import Any

from jaxnb._jax import Place, eqn_frames, in_jax, place_of
from jaxnb.findings.lints.census import Part
from jaxnb.runtime import is_own

__all__ = ["LIBRARIES", "Written", "is_outside", "own_place"]

LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def own_place(eqn: Any) -> Place | None:
    """The innermost place outside of JAX, and of what stands in for parts of it, where an equation was made."""
    frames = ((code, offset) for code, offset in eqn_frames(eqn) if is_outside(code.co_filename))
    places = (place_of(code, offset) for code, offset in frames)
    return next((place for place in places if place is not None), None)


@lru_cache(4096)
def is_outside(file: str) -> bool:
    """Whether code of a file is neither JAX's nor this package's; asked for every frame of every equation."""
    return not in_jax(file) and not is_own(file)


class Written:
    """Finds expressions; each text is parsed once."""

    def __init__(self) -> None:
        self._expressions: dict[str, dict[tuple[int | None, ...], ast.AST]] = {}
        self._trees: dict[str, ast.Module | None] = {}
        self._places: dict[int, Place | None] = {}  # of equations, which live as long as what is looked at

    def at(self, eqn: Any, part: Part) -> ast.AST | None:
        """The expression or statement that an equation is of; None if it is of a library's.

        Args:
          eqn: the equation.
          part: that it stands in; what a library's own jaxpr computes is of the expression that calls it.
        """
        for item in (eqn, *reversed(part.owners)):
            if id(item) not in self._places:
                self._places[id(item)] = own_place(item)
            place = self._places[id(item)]
            if place is None:
                continue
            if place.file.startswith(LIBRARIES):
                return None
            return self._in(place.file).get((place.line, place.column, place.end_line, place.end_column))
        return None

    def tree(self, file: str) -> ast.Module | None:
        """The text of a file or cell, parsed; None if there is none."""
        if file not in self._trees:
            self._trees[file] = _parsed(file)
        return self._trees[file]

    def _in(self, file: str) -> dict[tuple[int | None, ...], ast.AST]:
        known = self._expressions.get(file)
        if known is None:
            tree = self.tree(file)
            known = self._expressions[file] = {}
            for node in ast.walk(tree) if tree is not None else ():
                if isinstance(node, ast.expr | ast.AugAssign):
                    place = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
                    known.setdefault(place, node)
        return known


def _parsed(file: str) -> ast.Module | None:
    text = "".join(linecache.getlines(file))
    for candidate in (text, "\n" + text.partition("\n")[2]):  # the first line of a cell may be a magic
        with suppress(SyntaxError):
            return ast.parse(candidate)
    return None
