"""The exceptions that a user can see, and the one form of their messages.

A message says what happened, where (which argument, or which line of the cell), why, and what to do:

>>> print(Refused("line 3 needs the value of `loss`.", why="print() shows it.", fix="move it to a cell of its own."))
line 3 needs the value of `loss`.
  Why: print() shows it.
  Try: move it to a cell of its own.
"""

from __future__ import annotations

from typing import Any

__all__ = ["BadHeader", "JaxnbError", "NeedsConcrete", "Refused", "RunByPython"]


class JaxnbError(Exception):
    """The base of what jaxnb raises on its own account.

    Args:
      what: what happened, in one sentence, naming the argument or the line.
      why: the reason.
      fix: what the user can do about it.
      line: the line of the cell as displayed (the magic line is 1), if there is one.
    """

    def __init__(self, what: str, *, why: str = "", fix: str = "", line: int | None = None) -> None:
        self.what, self.why, self.fix, self.line = what, why, fix, line
        parts = [what]
        if why:
            parts.append(f"  Why: {why}")
        if fix:
            parts.append(f"  Try: {fix}")
        super().__init__("\n".join(parts))

    def _render_traceback_(self) -> list[str]:
        """IPython's hook: the message alone, because the frames are jaxnb's and would tell the user nothing."""
        return [f"{type(self).__name__}: {self}"]


class Refused(JaxnbError):
    """The cell was not staged, and nothing has changed: names and objects are as before."""


class RunByPython(Refused):
    """A statement that cannot be part of a program, though Python can run it.

    Args:
      what: what happened, in one sentence.
      short: the reason in a few words.
      **more: as for every message.

    Attributes:
      index: which statement of its cell, if that is known.
    """

    index: int | None = None

    def __init__(self, what: str, *, short: str = "it cannot be traced", **more: Any) -> None:
        super().__init__(what, **more)
        self.short = short


class NeedsConcrete(RunByPython):
    """A staged statement needs the concrete value of something that is traced.

    Attributes:
      final: whether Python would not get the value either, as inside a function under `jax.vmap`.
    """

    final: bool = False


class BadHeader(JaxnbError):
    """The line of a magic could not be read; `header` and `column` say where.

    Args:
      what: what is wrong.
      header: the text of the header.
      column: where in it the offending word begins, 0 for the first character.
      width: how many characters it has.
      fix: what the user can do about it.
    """

    def __init__(self, what: str, *, header: str, column: int, width: int = 1, fix: str = "") -> None:
        self.header, self.column, self.width = header, column, width
        caret = " " * column + "^" * max(1, width)
        super().__init__(f"{what}\n    {header}\n    {caret}", fix=fix)
