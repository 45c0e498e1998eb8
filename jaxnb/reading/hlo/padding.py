"""What tiles add to arrays: a TPU keeps them in tiles of 8 x 128, and the last of each side is filled up."""

from __future__ import annotations

from typing import Any

from jaxnb.program import Padded
from jaxnb.reading.hlo.decode import read_modules
from jaxnb.reading.hlo.module import PRIMITIVE_TYPES, Computation, Module, Shape

__all__ = ["find_padding", "read_padding"]

_CONTROL = frozenset({"while", "conditional", "call", "async-start"})
_SAME = frozenset({"bitcast", "get-tuple-element", "tuple", "while", "conditional", "call", "parameter"})


def read_padding(compiled: Any) -> tuple[Padded, ...]:
    """The arrays in the memory of a device that take more than their elements do, the most wasteful first.

    Args:
      compiled: a `jax.stages.Compiled`, or what stands for one.

    Raises:
      ChangedJax: if the modules cannot be had from this JAX.
      ValueError: if one is no `HloModuleProto`.
    """
    return tuple(one for module in read_modules(compiled) for one in find_padding(module))


def find_padding(module: Module) -> tuple[Padded, ...]:
    """Those of a module: its inputs, and what its entry and its loops compute, but not what lies in VMEM."""
    found: list[Padded] = []
    todo, seen = [module.entry], set[int]()
    while todo:
        identity = todo.pop()
        if identity in seen or identity not in module.computations:
            continue
        seen.add(identity)
        computation = module.computations[identity]
        found += _of(computation, identity == module.entry)
        for item in computation.instructions.values():
            if item.opcode in _CONTROL:
                todo += item.called
    return tuple(sorted(found, key=lambda one: one.nbytes - one.padded))


def _of(computation: Computation, is_entry: bool) -> list[Padded]:
    found: list[Padded] = []
    for item in computation.instructions.values():
        is_input = is_entry and item.opcode == "parameter"
        if (item.opcode in _SAME or item.opcode.endswith("-start")) and not is_input:
            continue  # what it gives lies where it lay, or is told of what ends it
        for leaf in item.shape.leaves():
            if leaf.padded > leaf.nbytes and leaf.layout is not None and leaf.layout.space == 0:
                told = Padded(item.op_name or item.name, _aval(leaf), leaf.nbytes, leaf.padded, is_input)
                found.append(told)
    return found


def _aval(shape: Shape) -> str:
    name = PRIMITIVE_TYPES[shape.kind][0] if shape.kind in PRIMITIVE_TYPES else f"type {shape.kind}"
    return f"{name}[{','.join(map(str, shape.sizes))}]"
