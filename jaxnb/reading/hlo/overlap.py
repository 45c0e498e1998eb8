"""Programs that read what they have just written over it, and how they are compiled so that they do not.

XLA on CPUs updates a part of an array in place, together with what the update is computed of. Where that is another
part of the same array, it must not. That it is the same one, XLA overlooks if the shape was changed in between
(openxla/xla#49176, seen with jaxlib 0.10 to 0.12), as in `base.at[1:].set(base[:-1]).reshape(1, -1)`: the values are
wrong, and nothing says so. Without fusion there is no such thing.
"""

from __future__ import annotations

from typing import Any

import jax

from jaxnb import _jax
from jaxnb.errors import ChangedJax
from jaxnb.reading.hlo.decode import read_modules
from jaxnb.reading.hlo.module import Computation, Instruction, Module

__all__ = ["compile_lowered", "overlaps"]

_UPDATE = "dynamic-update-slice"
_WITHOUT_FUSION = {"xla_disable_hlo_passes": "fusion"}


def compile_lowered(lowered: Any) -> Any:
    """Compiles what was lowered, once more without fusion where the program would read what it has written over."""
    compiled = lowered.compile()
    if not _is_for_cpu(compiled):
        return compiled
    try:
        wrong = _jax.has_instruction(compiled, "kDynamicUpdateSlice") and any(map(overlaps, read_modules(compiled)))
    except (AttributeError, ChangedJax, ValueError):  # which is told where the program is shown
        return compiled
    return lowered.compile(compiler_options=_WITHOUT_FUSION) if wrong else compiled


def overlaps(module: Module) -> bool:
    """Whether a fusion of a module updates a part of an operand in place by another part, across a change of shape."""
    fused = {number for each in module.instructions() if each.opcode == "fusion" for number in each.called}
    return any(_overlaps(module.computations[number]) for number in fused)


def _overlaps(computation: Computation) -> bool:
    for instruction in computation.instructions.values():
        if instruction.opcode != _UPDATE:
            continue
        array, update = computation.operands(instruction)[:2]
        whole = array
        while whole.opcode in ("bitcast", "reshape"):
            (whole,) = computation.operands(whole)
        if whole is not array and whole.opcode == "parameter" and _reads(computation, update, whole):
            return True
    return False


def _reads(computation: Computation, instruction: Instruction, operand: Instruction) -> bool:
    known, todo = set[int](), [instruction]
    while todo:
        each = todo.pop()
        if each.identity == operand.identity:
            return True
        if each.identity not in known:
            known.add(each.identity)
            todo += computation.operands(each)
    return False


def _is_for_cpu(compiled: Any) -> bool:
    lies = jax.tree.leaves((compiled.input_shardings, compiled.output_shardings))
    return any(device.platform == "cpu" for sharding in lies[:1] for device in sharding.device_set)
