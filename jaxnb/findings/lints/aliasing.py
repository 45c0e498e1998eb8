"""Which inputs of a compiled program give their buffer to a result, read from the program itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax

from jaxnb._jax import serialized_modules
from jaxnb.errors import ChangedJax
from jaxnb.reading import Message, Needed, fields, read_instructions, read_varints
from jaxnb.staging import Piece

__all__ = ["Aliasing", "read_aliases", "read_aliasing"]


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
        modules = serialized_modules(piece.compiled)
    except ChangedJax:
        return None
    if len(modules) != 1:
        return None
    count = _parameters(modules[0])
    inputs = list(range(len(given)))
    if count != len(given):  # JAX leaves out the inputs that nothing reads
        jaxpr = piece.jaxpr.jaxpr
        needs = Needed().of(jaxpr).inputs[len(jaxpr.invars) - len(given) :]
        inputs = [at for at, needed in enumerate(needs) if needed]
        if count != len(inputs):
            return None
    aliases = read_aliases(modules[0])
    taken = {inputs[parameter]: result for result, parameter in aliases.items()}
    unused = frozenset(donated) - frozenset(inputs)
    return Aliasing(donated, unused, taken, len(piece.jaxpr.jaxpr.outvars))


def read_aliases(module: bytes) -> dict[int, int]:
    """The results of an `HloModuleProto` that are written to the buffer of a parameter, each with that parameter.

    Raises:
      ValueError: if the bytes are no such message.
    """
    found: dict[int, int] = {}
    for number, value in fields(memoryview(module)):
        if number != 8 or isinstance(value, int):  # xla::HloInputOutputAliasProto
            continue
        for inner, entry in fields(value):
            if inner == 1 and not isinstance(entry, int):
                result, parameter = _entry(entry)
                found[result] = parameter
    return found


def _entry(message: Message) -> tuple[int, int]:
    """xla::HloInputOutputAliasProto::AliasEntryProto: the number of the result, and that of the parameter."""
    result, parameter = list[int](), 0
    for number, value in fields(message):
        if number == 1:
            result.extend(read_varints(value))
        elif number == 2 and isinstance(value, int):
            parameter = value
    return (result[0] if result else 0), parameter


def _parameters(module: bytes) -> int:
    known = read_instructions(module)
    entry: Any = known.computations[known.entry]
    return sum(1 for instruction in entry.instructions if instruction.opcode == "parameter")
