"""How long a compiler says that a program takes: the cycles of its instructions, each as often as it runs."""

from __future__ import annotations

from typing import Any

from jaxnb.program import Cycles
from jaxnb.reading.hlo.decode import read_modules
from jaxnb.reading.hlo.module import Computation, Module

__all__ = ["count_cycles", "read_cycles"]


def read_cycles(compiled: Any) -> Cycles | None:
    """What the compiler of a `jax.stages.Compiled`, or of what stands for one, estimates; None if it does not.

    Raises:
      ChangedJax: if the modules cannot be had from this JAX.
      ValueError: if one is no `HloModuleProto`.
    """
    counted = [found for module in read_modules(compiled) if (found := count_cycles(module)) is not None]
    return counted[0] if counted else None


def count_cycles(module: Module) -> Cycles | None:
    """The sum of a module; None where the compiler writes no estimates, as that of a GPU."""
    counting = _Counting(module)
    counting.computation(module.computations[module.entry], 1)
    if not counting.counted:
        return None
    return Cycles(counting.total, counting.counted, counting.fusions, counting.endless)


class _Counting:
    """What grows while control flow is followed."""

    def __init__(self, module: Module) -> None:
        self.total = self.counted = self.fusions = 0
        self.endless = False
        self._module = module

    def computation(self, found: Computation, times: int) -> None:
        for item in found.instructions.values():
            called = [self._module.computations[one] for one in item.called if one in self._module.computations]
            if item.opcode == "while":
                self.endless = self.endless or item.trips is None
                turns = 1 if item.trips is None else item.trips
                for number, part in enumerate(called):  # the condition is asked once more than the body runs
                    self.computation(part, times * (turns + number))
            elif item.opcode == "conditional":
                self._longest(called, times)
            elif item.opcode in ("call", "async-start"):
                for part in called:
                    self.computation(part, times)
            elif item.cycles is not None:
                self.total += item.cycles * times
                self.counted += 1
            elif item.opcode == "fusion":
                self.fusions += 1

    def _longest(self, branches: list[Computation], times: int) -> None:
        """Of a choice the branch that takes longest, which nobody knows to be taken."""
        apart = [_Counting(self._module) for _ in branches]
        for counting, branch in zip(apart, branches, strict=True):
            counting.computation(branch, times)
        longest = max(apart, key=lambda counting: counting.total, default=None)
        if longest is not None:
            self.total += longest.total
            self.counted += longest.counted
            self.fusions += longest.fusions
            self.endless = self.endless or longest.endless
