"""What was differentiated, equation by equation: what is known ahead, what carries a tangent, and its transpose."""

from __future__ import annotations

from dataclasses import dataclass

from jaxnb.program.display import Displayed
from jaxnb.program.structure import Aval

__all__ = ["Counted", "DifferentiatedPart", "DifferentiatedProgram", "Gradients", "has_tangent"]

Counted = tuple[str, int]
"""What an equation is called, and how often it is there."""


def has_tangent(aval: Aval) -> bool:
    """Whether values of a type have a tangent; that of ints, bools and keys is of type float0, which holds nothing.

    >>> has_tangent(Aval("bfloat16")), has_tangent(Aval("int32")), has_tangent(Aval("float0"))
    (True, False, False)
    """
    return aval.dtype.startswith(("float", "bfloat", "complex")) and aval.dtype != "float0"


@dataclass(frozen=True, slots=True)
class DifferentiatedPart:
    """The equations that one expression of the user's became, forward and backward.

    Attributes:
      line: of the cell; None for what is in another file.
      file: what the other file is called, with the line; "" for the cell.
      text: of that line.
      forward: the equations, as they are called.
      types: of what they make, each once; that of the last result is the last.
      depends: whether they depend on what is differentiated by; the others are known ahead.
      passes: whether its last result has a tangent; where there is no equation for that it is the operand's, as it is.
      rule: the function whose own rule is used, by `jax.custom_jvp` or `jax.custom_vjp`; "" if there is none.
      kept: bytes that the backward pass reads of them, or of what they read.
      tangent: the equations of the derivative, which are linear; none where there is no derivative.
      transposed: what these are in the backward pass.
    """

    line: int | None
    file: str
    text: str
    forward: tuple[Counted, ...]
    types: tuple[Aval, ...]
    depends: bool
    passes: bool = True
    rule: str = ""
    kept: int = 0
    tangent: tuple[Counted, ...] = ()
    transposed: tuple[Counted, ...] = ()

    @property
    def what(self) -> str:
        """What partial evaluation makes of it, in words."""
        if not self.depends:
            return "known ahead"
        if self.rule:
            return f"own rule: {self.rule}"
        if self.tangent:
            return ""
        return "tangent as it is" if self.passes else "no derivative"


@dataclass(frozen=True, slots=True)
class DifferentiatedProgram:
    """One gradient.

    Attributes:
      parts: in the order of the forward pass.
      inputs: what it is taken by: the path of each argument and its type.
      floating: how many of these have a tangent; ints, bools and keys have one of type float0.
      equations: of the forward pass, of the derivative, and of its transpose.
      kept: bytes that the backward pass reads of the forward pass.
    """

    parts: tuple[DifferentiatedPart, ...]
    inputs: tuple[tuple[str, Aval], ...]
    floating: int
    equations: tuple[int, int, int]
    kept: int


@dataclass(frozen=True, slots=True)
class Gradients(Displayed):
    """The gradients that a cell takes, in their order. It shows itself as a table for each.

    Attributes:
      gradients: those that could be looked at.
      refused: why others could not.
    """

    gradients: tuple[DifferentiatedProgram, ...]
    refused: tuple[str, ...] = ()
