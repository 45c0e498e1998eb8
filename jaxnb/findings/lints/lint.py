"""What a lint is, and which there are.

A lint is a module of `lints/rules`: its name is the kind of its findings, and its `LINT` says how they are found. There
is no other place to name it in: settings, completion and the line under a cell ask `LINT_KINDS`.
"""

from __future__ import annotations

import enum
import pkgutil
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jaxnb.program import Finding

if TYPE_CHECKING:
    from jaxnb.findings.lints.cell_text import CellText
    from jaxnb.findings.lints.context import LintContext
    from jaxnb.staging import Execution, Statement

__all__ = ["LINT_KINDS", "Lint", "Text", "Warned", "When", "lints", "only_defines"]

LINT_KINDS = frozenset(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent / "rules")]))
"""The kinds of quiet findings."""


class When(enum.Enum):
    """When a lint looks at a piece.

    Attributes:
      NEVER: there is nothing to find.
      TRACED: there may be something to find.
      RAN: that is asked once more when the piece has run.
    """

    NEVER, TRACED, RAN = range(3)


@dataclass(frozen=True, slots=True)
class Text:
    """What a lint of the text of a cell is given, after a run that ended well.

    Attributes:
      execution: the run.
      by_python: the statements that Python ran.
      calls: whether any of them does more than define something.
      hinted: whether the lint's `when` said of a piece of the cell that there may be something.
    """

    execution: Execution
    by_python: Sequence[Statement]
    calls: bool
    hinted: bool


@dataclass(frozen=True, slots=True)
class Lint:
    """How findings of a kind are found.

    Attributes:
      in_piece: what is found in a traced piece that has run.
      when: asked of each piece as it is traced; quick, and never wrong when it says `NEVER`.
      later: asked once more when the piece has run, if `when` said `RAN`.
      in_text: what is found in the text of a cell, where it was traced or calls functions.
      in_words: what is found in the words of a cell alone, plain or staged.
    """

    in_piece: Callable[[LintContext], Iterable[Finding]] | None = None
    when: Callable[[LintContext], When] = lambda traced: When.TRACED
    later: Callable[[LintContext], bool] = lambda traced: True
    in_text: Callable[[Text], Iterable[Finding]] | None = None
    in_words: Callable[[CellText], Iterable[Finding]] | None = None


@cache
def lints() -> Mapping[str, Lint]:
    """The lints by the kind of their findings."""
    return {kind: import_module(f"{__package__}.rules.{kind}").LINT for kind in sorted(LINT_KINDS)}


def only_defines(statement: Statement) -> bool:
    """Whether a statement does no more than define functions or classes."""
    return statement.defines or statement.kind in ("FunctionDef", "AsyncFunctionDef", "ClassDef")


class Warned:
    """A lint that fails says so, and nothing else fails for it: the cell has run."""

    __slots__ = ("_kind",)

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> bool:
        if not isinstance(error, Exception):
            return False
        what = f"jaxnb could not look for `{self._kind}` findings: {type(error).__name__}: {error}"
        warnings.warn(what, RuntimeWarning, stacklevel=2)
        return True
