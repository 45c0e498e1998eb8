"""Shapes with names for sizes: `images: b, 784; labels: b`, and what is true of the names: `mod(b, 8) == 0`.

A size is written as for `jax.export.symbolic_shape`, a constraint as for `jax.export.SymbolicScope`. What is wrong with
one is found here, before anything runs, and said with the place where it stands in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jax import export

from jaxnb import _jax
from jaxnb.errors import JaxnbError

__all__ = ["BadShape", "Constraint", "Placed", "check_shapes", "read_constraint", "read_shapes", "read_where"]

_PATH = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*|\[[^\]]*\])*")
_COMPARED = re.compile(r"[=!<>]+")
_GOOD = ("==", ">=", "<=")


class Placed(str):
    """A text that knows where it stood in the header that it was read from; None where it was given alone."""

    at: int | None = None

    @classmethod
    def of(cls, text: str, at: int | None) -> Placed:
        """The text without blanks around it, which begins at a place."""
        made = cls(text.strip())
        if at is not None:
            made.at = at + len(text) - len(text.lstrip())
        return made

    def within(self, part: str, start: int) -> Placed:
        """A part of this text, which begins at a place of it."""
        return Placed.of(part, None if self.at is None else self.at + start)


class BadShape(JaxnbError):
    """A size or a constraint that cannot be read or be true.

    Attributes:
      word: what is wrong; its place is that in the header, where it was read from one.
    """

    def __init__(self, what: str, word: str, *, why: str = "", fix: str = "") -> None:
        super().__init__(what, why=why, fix=fix)
        self.word = word

    @property
    def at(self) -> int | None:
        """Where the word begins; None where that is not known."""
        return getattr(self.word, "at", None)


def read_shapes(text: str, at: int | None = None) -> tuple[tuple[str, str], ...]:
    """The shapes in a text, each as a name or path and its sizes.

    Args:
      text: such as `images: b, 784; labels: b`.
      at: where it begins in a longer one.

    Raises:
      BadShape: saying which word is wrong.

    >>> read_shapes("images: b, 784; labels: b")
    (('images', 'b, 784'), ('labels', 'b'))
    """
    found: dict[str, tuple[str, str]] = {}
    for part in _parts(Placed.of(text, at), ";"):
        name, colon, sizes = _at_colon(part)
        path = _PATH.fullmatch(name)
        if not colon:
            raise BadShape(f"{str(part)!r} is no shape of a name.", part, fix=_EXAMPLE)
        if path is None:
            raise BadShape(f"{str(name)!r} is no name, or path to an array.", name or part, fix=_EXAMPLE)
        if name in found:
            raise BadShape(f"`{name}` is given twice.", name)
        found[name] = name, sizes
    if not found:
        raise BadShape("there is no shape.", Placed.of(text, at), fix=_EXAMPLE)
    return tuple(found.values())


_EXAMPLE = "write images: b, 784; labels: b."


def read_where(text: str, at: int | None = None) -> tuple[str, ...]:
    """The constraints in a text, which stand between commas: `b >= 1, mod(b, 8) == 0`."""
    found = tuple(_parts(Placed.of(text, at), ",;"))
    if not found:
        raise BadShape("there is no constraint.", Placed.of(text, at), fix="write b >= 1, mod(b, 8) == 0.")
    return found


class Constraint:
    """A constraint: two sizes and how they compare.

    Attributes:
      text: as it was given.
      names: the names of sizes in it.
    """

    def __init__(self, text: str, left: Any, sign: str, right: Any) -> None:
        self.text, self._left, self._sign, self._right = text, left, sign, right
        self.names = _jax.dim_variables(left) | _jax.dim_variables(right)

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether it is true of these sizes."""
        left, right = (_jax.dim_value(side, sizes) for side in (self._left, self._right))
        return left == right if self._sign == "==" else left >= right if self._sign == ">=" else left <= right


def read_constraint(text: str) -> Constraint:
    """Reads a constraint.

    Raises:
      BadShape: if it is none.
    """
    signs = list(_COMPARED.finditer(text))
    if len(signs) != 1 or signs[0].group() not in _GOOD:
        raise BadShape(f"{str(text)!r} is no constraint.", text, fix=_meant(text, signs))
    sign = signs[0]
    ends = (text[: sign.start()], 0), (text[sign.end() :], sign.end())
    sides = [_sizes(_inside(text, part, start), export.SymbolicScope()) for part, start in ends]  # to be evaluated
    if any(len(side) != 1 for side in sides):
        raise BadShape(f"{str(text)!r} is no constraint.", text, fix=_meant(text, signs))
    return Constraint(str(text), sides[0][0], sign.group(), sides[1][0])


def check_shapes(shapes: Sequence[tuple[str, str]], where: Sequence[str] = ()) -> None:
    """Whether shapes and constraints can be read, and be true together.

    Raises:
      BadShape: saying which word is wrong.
    """
    names: set[str] = set()
    for _, sizes in shapes:
        for size in _sizes(sizes, export.SymbolicScope()):
            names |= _jax.dim_variables(size)
    constraints = [read_constraint(text) for text in where]
    if not shapes:
        if where:
            raise BadShape("where says something of sizes, and no shape has a name for one.", where[0], fix=_BOTH)
        return
    if not names:
        raise BadShape("every size is a number: nothing is left open.", shapes[0][1], fix=_BOTH)
    for text, constraint in zip(where, constraints, strict=True):
        if strange := sorted(constraint.names - names):
            what = f"`{strange[0]}` is no size of any shape."
            found = re.search(rf"\b{strange[0]}\b", text)
            word = _inside(text, strange[0], found.start() if found is not None else 0)
            raise BadShape(what, word, why=f"the shapes name {', '.join(sorted(names))}.", fix="check the spelling.")
    for count, text in enumerate(where, start=1):
        if not _can_be(where[:count], names):
            others = ", ".join(where[: count - 1])
            why = f"the constraints before it say {others}." if others else "a size is at least 1."
            raise BadShape(f"no size is such that {text}.", text, why=why, fix="leave one of them out.")


_BOTH = "give a size a name: images: b, 784; labels: b."


def _can_be(where: Sequence[str], names: Iterable[str]) -> bool:
    try:
        scope = export.SymbolicScope([str(text) for text in where])
        for size in export.symbolic_shape(", ".join(sorted(names)), scope=scope):
            least, most = _jax.dim_bounds(size)
            if least > most or most < 1:
                return False
    except ValueError:
        return False
    return True


def _sizes(text: str, scope: export.SymbolicScope) -> tuple[Any, ...]:
    """The sizes in a text, each of which is read alone, so that the one that is wrong is known."""
    parts = list(_parts(text[1:-1] if text.startswith("(") and text.endswith(")") else text, ",", empty=True))
    if parts and not parts[-1]:
        parts.pop()  # `b,`
    found: list[Any] = []
    for part in parts:
        if not part or "..." in part or part == "_":
            raise BadShape(f"{str(part)!r} is no size." if part else "a size is missing.", part or text, fix=_FULL)
        try:
            (size,) = export.symbolic_shape(str(part), scope=scope)
        except ValueError as error:
            why = str(error).partition("Parsed")[0].rpartition(": ")[2].strip() if "syntax error" in str(error) else ""
            raise BadShape(f"{str(part)!r} is no size.", part, why=why, fix=_GRAMMAR) from None
        if not _jax.is_dim(size) and size < 0:
            raise BadShape(f"{str(part)!r} is no size.", part, why="it is less than 0.")
        found.append(size)
    return tuple(found)


_FULL = "give every dimension a name, a number, or an expression such as 2*b."
_GRAMMAR = "write a name, a number, or an expression of them: 2*b, b + 1, floordiv(b, 2), mod(b, 8), max(b, 4)."


def _meant(text: str, signs: Sequence[re.Match[str]]) -> str:
    if len(signs) == 1 and signs[0].group() in ("<", ">", "="):
        sign = signs[0].group()
        left, right = text[: signs[0].start()].strip(), text[signs[0].end() :].strip()
        if sign == "=":
            return f"write {left} == {right}."
        by = 1 if sign == ">" else -1
        return f"write {left} {sign}= {int(right) + by if right.isdecimal() else f'{right} {by:+d}'}."
    return "write sizes on both sides of ==, >= or <=: b >= 1, mod(b, 8) == 0."


def _inside(text: str, part: str, start: int) -> str:
    return text.within(part, start) if isinstance(text, Placed) else part.strip()


def _at_colon(part: str) -> tuple[str, str, str]:
    """A part before and behind the colon, which is none in brackets."""
    depth = 0
    for at, sign in enumerate(part):
        depth += (sign in "[(") - (sign in "])")
        if sign == ":" and not depth:
            return _inside(part, part[:at], 0), ":", _inside(part, part[at + 1 :], at + 1)
    return part, "", ""


def _parts(text: str, separators: str, empty: bool = False) -> Iterator[str]:
    """The parts of a text between separators that stand in no brackets; each knows its place, if the text does."""
    depth = start = 0
    for at, sign in enumerate(text + separators[0]):
        depth += (sign in "[(") - (sign in "])")
        if sign in separators and (depth <= 0 or at == len(text)):
            if empty or text[start:at].strip():
                yield _inside(text, text[start:at], start)
            start = at + 1
