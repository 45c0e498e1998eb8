"""The sizes that names have, from the shapes of arrays: solved from dimensions that say them, checked by the others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jax import export

from jaxnb import _jax
from jaxnb.errors import JaxnbError
from jaxnb.named.symbolic import Constraint

__all__ = ["Measured", "UnfitSizes", "dims_in", "scope_of", "solve_names", "solve_sizes"]

_MOST_DIVISORS = 30
_MULTIPLE = re.compile(r"\s*mod\(\s*(\w+)\s*,\s*(\d+)\s*\)\s*==\s*0\s*")


class Measured(NamedTuple):
    """One dimension of an array.

    Attributes:
      dim: a number, or an expression of names.
      size: that it has.
      origin: where it stands, as messages say it.
    """

    dim: Any
    size: int
    origin: str


class UnfitSizes(JaxnbError):
    """Sizes that do not go together.

    Attributes:
      kind: "number", "untold", "two", "unlike", "small" or "broken".
    """

    def __init__(self, kind: str, what: str, why: str) -> None:
        super().__init__(what, why=why)
        self.kind = kind


def scope_of(where: Sequence[str]) -> export.SymbolicScope:
    """A scope for constraints, with what JAX does not see to follow from them: a multiple of 8 is at least 8, and one
    of 2 and of 4."""
    multiples = [(found[1], int(found[2])) for text in where if (found := _MULTIPLE.fullmatch(text)) is not None]
    divisors = [(name, part) for name, number in multiples for part in range(2, number) if number % part == 0]
    known = {(name, number) for name, number in multiples}
    told = [f"mod({name}, {part}) == 0" for name, part in dict.fromkeys(divisors) if (name, part) not in known]
    return export.SymbolicScope(
        [*where, *(f"{name} >= {number}" for name, number in multiples), *told[:_MOST_DIVISORS]]
    )


def dims_in(scope: export.SymbolicScope, shape: Sequence[int | str]) -> tuple[Any, ...]:
    """A shape of numbers and texts as JAX has it.

    Raises:
      ValueError: if a text is no size.
    """
    return tuple(export.symbolic_shape(size, scope=scope)[0] if isinstance(size, str) else size for size in shape)


def solve_sizes(
    measured: Sequence[Measured], names: Sequence[str], constraints: Sequence[Constraint]
) -> dict[str, int]:
    """How large each name is.

    Args:
      measured: the dimensions.
      names: all that there are, in the order of the result.
      constraints: what is true of them.

    Raises:
      UnfitSizes: if that cannot be told, or contradicts itself.
    """
    for dim, size, origin in measured:
        if not _jax.is_dim(dim) and dim != size:
            raise UnfitSizes("number", f"{origin} has {size}, not {dim}.", "")
    values, found_at = solve_names([(dim, size) for dim, size, _ in measured])
    origins = {name: measured[at].origin for name, at in found_at.items()}
    for name in names:
        if name not in values:
            where = next(one.origin for one in measured if name in _jax.dim_variables(one.dim))
            why = f"in {where} it stands in an expression that does not say what it is."
            raise UnfitSizes("untold", f"`{name}` cannot be told from the sizes.", why)
    for dim, size, origin in measured:
        if (other := _jax.dim_value(dim, values)) != size:
            text = _jax.dim_text(dim)
            if text in values:
                what = f"`{text}` has two sizes: {other} in {origins[text]}, and {size} in {origin}."
                raise UnfitSizes("two", what, "a name is one size in a run.")
            told = (f"`{name}` is {values[name]} in {origins[name]}" for name in sorted(_jax.dim_variables(dim)))
            raise UnfitSizes("unlike", f"{origin} has {size}, where `{text}` is {other}.", f"{', '.join(told)}.")
    for name, size in values.items():
        if size < 1:
            why = "JAX takes it that a size with a name is at least 1."
            raise UnfitSizes("small", f"`{name}` is {size} in {origins[name]}.", why)
    for constraint in constraints:
        if not constraint.holds(values):
            said = ", ".join(f"{name} is {values[name]}" for name in sorted(constraint.names))
            by = ", ".join(origins[name] for name in sorted(constraint.names))
            raise UnfitSizes("broken", f"{said}, and that breaks `{constraint.text}`.", f"{said} here by {by}.")
    return {name: values[name] for name in names}


def solve_names(pairs: Sequence[tuple[Any, int]]) -> tuple[dict[str, int], dict[str, int]]:
    """The names, from dimensions and their sizes, and by which pair each was found; those that can be found."""
    values: dict[str, int] = {}
    found_at: dict[str, int] = {}
    progress = True
    while progress:
        progress = False
        for at, (dim, size) in enumerate(pairs):
            unknown = _jax.dim_variables(dim) - values.keys()
            if len(unknown) == 1 and (value := _root_of(dim, size, name := min(unknown), values)) is not None:
                values[name], found_at[name] = value, at
                progress = True
    return values, found_at


def _root_of(dim: Any, size: int, name: str, values: Mapping[str, int]) -> int | None:
    """What a name must be for a dimension to have a size; None where that is no linear matter."""
    first, second, third = (_jax.dim_value(dim, {**values, name: at}) for at in (1, 2, 1001))
    slope = second - first
    if slope == 0 or third != first + 1000 * slope:
        return None
    return 1 + (size - first) // slope
