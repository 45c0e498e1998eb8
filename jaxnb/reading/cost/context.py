"""What a rule is told besides the equation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jax.extend import core as jax_core

from jaxnb.reading.cost.sizes import itemsize
from jaxnb.reading.cost.value import Cost

__all__ = ["Constant", "Context", "Rule"]

Constant = bool | int | float


@dataclass(frozen=True, slots=True)
class Context:
    """What a rule must know of the count and of the jaxpr in which its equation stands.

    Attributes:
      once: count as XLA does (see `cost_of`).
      results: the variables that the jaxpr gives back.
      spread: the constants that earlier equations of the jaxpr have spread over an array: JAX lowers one such array
        for all that use it.
      constants: the variables all of whose elements are one number, and that number.
    """

    once: bool
    results: frozenset[Any] = frozenset()
    spread: set[tuple[Any, ...]] = field(default_factory=set[tuple[Any, ...]])
    constants: dict[Any, Constant] = field(default_factory=dict[Any, Constant])

    def spreading(self, value: Any, aval: Any, shape: tuple[int, ...]) -> int:
        """The bytes of spreading a scalar over an array of some shape: it is read, and the array written.

        Args:
          value: the number, where it is a constant that others may share; None otherwise.
          aval: of the scalar.
          shape: of the array.
        """
        if not shape:
            return 0
        if value is not None:
            # Numbers are compared by their text: NaN is one, too.
            key = (aval.dtype, str(value.item() if hasattr(value, "item") else value), shape)
            if key in self.spread:
                return 0
            self.spread.add(key)
        return (math.prod(shape) + 1) * itemsize(aval)

    def spreading_of(self, operand: Any, shape: tuple[int, ...]) -> int:
        """The same for an operand of an equation."""
        known = operand.val if isinstance(operand, jax_core.Literal) else self.constants.get(operand)
        return self.spreading(known, operand.aval, shape)


Rule = Callable[[Any, Context], Cost]
"""The cost of one run of an equation."""
