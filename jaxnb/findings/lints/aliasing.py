"""Which inputs of a compiled program give their buffer to a result, read from the program itself."""

from __future__ import annotations

from dataclasses import dataclass

import jax

from jaxnb.errors import ChangedJax
from jaxnb.reading import Needed, read_modules
from jaxnb.staging import Piece

__all__ = ["Aliasing", "read_aliasing"]


@dataclass(frozen=True, slots=True)
class Aliasing:
    """What became of the donated inputs of a program.

    Attributes:
      donated: the inputs that it may write over.
      unused: those of them that it does not read at all.
      taken: those that a result is written to, each with the number of that result.
      results: how many results the compiled program has.
    """

    donated: tuple[int, ...]
    unused: frozenset[int]
    taken: dict[int, int]
    results: int


def read_aliasing(piece: Piece) -> Aliasing | None:
    """What became of the donated inputs of a piece; None where it was not compiled, or where that cannot be told."""
    if piece.compiled is None:
        return None
    given = jax.tree.leaves(piece.compiled.args_info)
    donated = tuple(at for at, info in enumerate(given) if info.donated)
    if not donated:
        return Aliasing((), frozenset(), {}, 0)
    try:
        modules = read_modules(piece.compiled)
    except ChangedJax:
        return None
    if len(modules) != 1:
        return None
    (module,) = modules
    count = len(module.computations[module.entry].parameters())
    inputs = list(range(len(given)))
    if count != len(given):  # JAX leaves out the inputs that nothing reads
        jaxpr = piece.jaxpr.jaxpr
        needs = Needed().of(jaxpr).inputs[len(jaxpr.invars) - len(given) :]
        inputs = [at for at, needed in enumerate(needs) if needed]
        if count != len(inputs):
            return None
    taken = {inputs[parameter]: result for result, parameter in module.aliases.items()}
    unused = frozenset(donated) - frozenset(inputs)
    return Aliasing(donated, unused, taken, len(piece.jaxpr.jaxpr.outvars))
