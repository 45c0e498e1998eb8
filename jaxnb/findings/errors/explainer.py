"""What an explanation is, and which one tells of an error."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from jaxnb.findings.errors import rules
from jaxnb.findings.errors.scene import Operand, Scene
from jaxnb.program import Fix

__all__ = ["Explainer", "Told", "explainers", "tell"]


@dataclass(frozen=True, slots=True)
class Told:
    """What an error is about.

    Attributes:
      message: a sentence.
      fixes: edits, the likeliest first, then advice in words; none if nothing helps.
      about: the values that it is about; by default the operands of the expression.
      line: where the cause stands, if that is not the line of the expression.
      guesses: edits that are told only if they were tried and work; they are tried first.
    """

    message: str
    fixes: tuple[Fix, ...] = ()
    about: tuple[Operand, ...] | None = None
    line: int | None = None
    guesses: tuple[Fix, ...] = ()


@dataclass(frozen=True, slots=True)
class Explainer:
    """An explanation of one kind of error.

    Attributes:
      kind: its id without the prefix, such as "contraction".
      errors: the classes of errors that it may be about.
      called: names of functions or signs of operators of which the expression has to call one; empty for any.
      inside: names of functions of JAX or a library of which one has to be on the way to the error; empty for any.
      find: what there is to tell, or None.
    """

    kind: str
    errors: tuple[type[BaseException], ...]
    find: Callable[[Scene], Told | None]
    called: frozenset[str] = frozenset()
    inside: frozenset[str] = frozenset()

    def fits(self, scene: Scene) -> bool:
        """Whether an error is of the classes and comes of the functions that it is about."""
        return (
            isinstance(scene.error, self.errors)
            and (not self.called or not self.called.isdisjoint(scene.called))
            and (not self.inside or not self.inside.isdisjoint(scene.inside))
        )


@cache
def explainers() -> tuple[Explainer, ...]:
    """All of them, module by module in the order of their names."""
    names = sorted(module.name for module in pkgutil.iter_modules(rules.__path__))
    return tuple(
        explainer for name in names for explainer in importlib.import_module(f"{rules.__name__}.{name}").EXPLAINERS
    )


def tell(scene: Scene) -> tuple[str, Told] | None:
    """The kind of an error and what there is to tell of it; None if no explanation fits."""
    for explainer in explainers():
        if explainer.fits(scene) and (told := explainer.find(scene)) is not None:
            return explainer.kind, told
    return None
