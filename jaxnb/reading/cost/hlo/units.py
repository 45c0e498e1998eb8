"""What one run of each instruction of a module costs; that of a fusion depends on what stands in it."""

from __future__ import annotations

from collections.abc import Iterator

from jaxnb.reading.cost.hlo.library_calls import library_rule
from jaxnb.reading.cost.hlo.rules import RULES, UNKNOWN, Unit
from jaxnb.reading.hlo.module import Computation, Instruction, Module

__all__ = ["read_units"]

_SMALL = 8  # elements of a constant that is part of the code


def read_units(module: Module, once: bool = False) -> dict[str, Unit]:
    """What one run of each instruction of a module costs, by the names of the instructions.

    Args:
      module: whose instructions these are.
      once: take the length of each loop for unknown.
    """
    units: dict[str, Unit] = {}
    for computation in module.computations.values():
        for item in computation.instructions.values():
            if item.opcode == "fusion":
                units[item.name] = _fusion(item, computation, module)
            elif once and item.opcode == "while":
                units[item.name] = Unit(bodies=(None, None))
            else:
                rule = library_rule(item) if item.opcode == "custom-call" else RULES.get(item.opcode)
                units[item.name] = rule(item, computation) if rule is not None else _unknown(item)
    return units


def _unknown(item: Instruction) -> Unit:
    return UNKNOWN._replace(bodies=(1,) * len(item.called), inside="counted")


def _fusion(item: Instruction, around: Computation, module: Module) -> Unit:
    """What is computed in it is said by the instructions in it; what it moves are its parameters and its results."""
    body = module.computations.get(item.called[0]) if item.called else None
    if body is None:
        return UNKNOWN
    moved = sum(_written(body.instructions[body.root], body))
    users = body.users()
    for inner in body.instructions.values():
        if inner.opcode == "constant" and inner.shape.elements > _SMALL:
            moved += inner.shape.nbytes
        elif inner.opcode == "parameter":
            moved += sum(_read(leaf, users, module) for leaf in _leaves(inner, users))
    return Unit(0, moved, 0, (1,), "fused")


def _written(root: Instruction, body: Computation) -> Iterator[int]:
    """The bytes of each result: where one is an operand that was changed in part, only of that part."""
    results = body.operands(root) if root.opcode == "tuple" else [root]
    for result in results:
        if result.opcode == "dynamic-update-slice":
            yield body.operands(result)[1].shape.nbytes
        else:
            yield sum(leaf.nbytes for leaf in result.shape.leaves())


def _leaves(parameter: Instruction, users: dict[int, list[Instruction]]) -> list[Instruction]:
    """A parameter, or the parts of it that are used, if it is a tuple."""
    if parameter.shape.parts is None:
        return [parameter]
    return [user for user in users.get(parameter.identity, ()) if user.opcode == "get-tuple-element"]


def _read(parameter: Instruction, users: dict[int, list[Instruction]], module: Module) -> int:
    """The bytes read of a parameter: what slices take of it, and all of it once if anything else reads it."""
    moved, whole = 0, False
    for user in users.get(parameter.identity, ()):
        first = user.operands[0] == parameter.identity
        if user.opcode == "fusion" and user.called[0] in module.computations:
            inner = module.computations[user.called[0]]
            numbers = [at for at, operand in enumerate(user.operands) if operand == parameter.identity]
            same = [
                one for one in inner.instructions.values() if one.opcode == "parameter" and one.parameter in numbers
            ]
            moved += sum(_read(one, inner.users(), module) for one in same)
        elif user.opcode == "slice" or (user.opcode == "dynamic-slice" and first):
            moved += user.shape.nbytes
        elif user.opcode in ("broadcast", "reshape"):
            moved += parameter.shape.nbytes
        elif not whole and not (user.opcode == "dynamic-update-slice" and first):
            whole = True
            moved += parameter.shape.nbytes
    return moved
