"""The exceptions that a user can see, and the one form of their messages.

A message says what happened, where (which argument, or which line of the cell), why, and what to do:

>>> print(Refused("line 3 needs the value of `loss`.", why="print() shows it.", fix="move it to a cell of its own."))
line 3 needs the value of `loss`.
  Why: print() shows it.
  Try: move it to a cell of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = [
    "Asking",
    "BadHeader",
    "ChangedJax",
    "JaxnbError",
    "KeepsTraced",
    "LeakedTracer",
    "Leaves",
    "LeftBehind",
    "NeedsConcrete",
    "Refused",
    "RunByPython",
    "unexplained",
]


def unexplained(fault: Exception) -> str:
    """What is said where an explanation fails itself: the error that it was about is what counts."""
    return f"jaxnb could not explain this: {type(fault).__name__}: {fault}"


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


class ChangedJax(JaxnbError):
    """JAX has no longer, or has under another name, what jaxnb asks of it beside its public interface."""


class Refused(JaxnbError):
    """The cell was not staged, and nothing has changed: names and objects are as before."""


class KeepsTraced(Refused):
    """Something keeps a traced value of an inner transformation. Plainly it may be a number that stayed one.

    Attributes:
      tracer: it, as long as nobody has asked about it.
      holder: by which names it was held, such as "history[0]"; "" if that is not known.
    """

    tracer: Any = None
    holder: str = ""

    def again(self, tracer: Any = None, holder: str = "") -> KeepsTraced:
        """The same error, without frames, about another tracer."""
        made = KeepsTraced(self.what, why=self.why, fix=self.fix, line=self.line)
        made.tracer, made.holder = tracer, holder
        return made


class LeakedTracer(Refused):
    """The cell reads a tracer that leaked out of an earlier transformation.

    Attributes:
      tracer: it, as long as nobody has asked about it.
      root: the name that leads to it.
    """

    tracer: Any = None
    root: str = ""


class LeftBehind(JaxnbError):
    """A cell left tracers behind, and `--strict` or the setting `findings` makes that an error."""


class RunByPython(Refused):
    """A statement that cannot be part of a program, though Python can run it.

    Args:
      what: what happened, in one sentence.
      short: the reason in a few words.
      **more: as for every message.

    Attributes:
      index: which statement of its cell, if that is known.
      stack: the user's functions that were being called then, if any were.
      rolls: whether it is nothing but a loop that is too long to be written out.
    """

    index: int | None = None
    stack: tuple[Any, ...] = ()
    rolls: bool = False

    def __init__(self, what: str, *, short: str = "it cannot be traced", **more: Any) -> None:
        super().__init__(what, **more)
        self.short = short


class Leaves(RunByPython):
    """A statement leaves a traced value of an inner transformation somewhere, as far as the cell has come.

    Attributes:
      kept: the error of a cell at whose end it is still there, without the value.
    """

    def __init__(self, kept: KeepsTraced) -> None:
        super().__init__(kept.what, short="it leaves a traced value behind")
        self.kept = kept.again()


class Asking(NamedTuple):
    """How a concrete value was asked for.

    Attributes:
      error: the exception, with its frames.
      inputs: what the cell calls the tracers that stand for its inputs, by their ids.
      names: what the names of the cell stood for at that moment.
    """

    error: BaseException
    inputs: Mapping[int, str]
    names: dict[str, Any]


class NeedsConcrete(RunByPython):
    """A staged statement needs the concrete value of something that is traced.

    Attributes:
      final: whether Python would not get the value either, as inside a function under `jax.vmap`.
      asked: how it was asked for, as long as nobody has read it.
    """

    final: bool = False
    asked: Asking | None = None


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
