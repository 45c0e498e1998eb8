"""The laws of a `Program`: what has to hold for every one, whoever made or saved it."""

from __future__ import annotations

from jaxnb.program.occupancy import KINDS, SOURCES, Memory
from jaxnb.program.program import Program
from jaxnb.program.structure import CALLS, FATES, PHASES, Call, Fate, Level

__all__ = ["check_program"]


def check_program(program: Program) -> None:
    """Checks the laws of the structure.

    Every index points to something; bodies form a forest below the entry points, so that nothing contains itself;
    spans of the cell lie inside its source, those of calls too; links name ops that exist, of neighbouring levels, and
    none occurs twice, so that going down a link and up again leads back; fates name ops that exist; what lives in
    memory does so at positions that there are; what lives on devices is a value; kernels are ops.

    Raises:
      ValueError: naming the law and the place where it does not hold.
    """
    _check_calls(program)
    names = [level.name for level in program.levels]
    if len(set(names)) != len(names):
        raise ValueError(f"two levels have one name: {names}")
    lines = program.source.count("\n") + 1
    for level in program.levels:
        _check_level(level, lines)
    by_name = {level.name: level for level in program.levels}
    seen: set[tuple[str, tuple[int, int], str, tuple[int, int]]] = set()
    for link in program.links:
        ends = (link.upper, link.upper_op, link.lower, link.lower_op)
        if ends in seen:
            raise ValueError(f"{link} occurs twice")
        seen.add(ends)
        if link.upper not in by_name or link.lower not in by_name:
            raise ValueError(f"{link} names a level that is not there")
        if names.index(link.lower) != names.index(link.upper) + 1:
            raise ValueError(f"{link} joins levels that are not neighbours")
        for name, op in ((link.upper, link.upper_op), (link.lower, link.lower_op)):
            if not _has(by_name[name], op):
                raise ValueError(f"{link} names an op that is not there")
    for fate in program.fates:
        _check_fate(fate, by_name)
    for memory in program.made_memory or ():
        _check_memory(memory)
    if program.made_layout is not None and "jaxpr" in by_name:
        values = tuple(one.value for one in program.made_layout.placed)
        _check_indices(values, len(by_name["jaxpr"].values), "what lives somewhere")
    for _, level in program.made_vmapped or ():
        _check_level(level, lines)
    for kernel in program.made_kernels or ():
        if "jaxpr" in by_name and not _has(by_name["jaxpr"], kernel.place):
            raise ValueError(f"the kernel {kernel.name!r} is at {kernel.place}, where there is no op")


def _check_calls(program: Program) -> None:
    lines, known = program.source.count("\n") + 1, set[int]()
    for op in (op for level in program.levels for op in level.ops()):
        call: Call | None = op.call
        while call is not None and id(call) not in known:
            known.add(id(call))
            if call.kind not in CALLS:
                raise ValueError(f"a call of kind {call.kind!r} is none of {', '.join(CALLS)}")
            if call.span is not None and not call.span.file and not 1 <= call.span.line <= lines:
                raise ValueError(f"the call of {call.name!r} on line {call.span.line} is not in the source")
            call = call.parent


def _check_fate(fate: Fate, levels: dict[str, Level]) -> None:
    if fate.kind not in FATES:
        raise ValueError(f"{fate} is none of {', '.join(FATES)}")
    if (fate.kind == "fused") != (fate.into is not None):
        raise ValueError(f"{fate}: what is fused, and nothing else, is fused into something")
    for name, op in (("jaxpr", fate.op), ("hlo", fate.into)):
        if op is not None and (name not in levels or not _has(levels[name], op)):
            raise ValueError(f"{fate} names an op that is not there")


def _check_memory(memory: Memory) -> None:
    if memory.source not in SOURCES:
        raise ValueError(f"memory by {memory.source!r} is none of {', '.join(SOURCES)}")
    for held in memory.held:
        if held.kind not in KINDS:
            raise ValueError(f"{held} is none of {', '.join(KINDS)}")
        if not 0 <= held.first <= held.last < len(memory.live):
            raise ValueError(f"{held} does not live within the {len(memory.live)} positions")


def _has(level: Level, place: tuple[int, int]) -> bool:
    computation, op = place
    return 0 <= computation < len(level.computations) and 0 <= op < len(level.computations[computation].ops)


def _check_level(level: Level, lines: int) -> None:
    where = f"level {level.name!r}"
    if level.entries > len(level.computations):
        raise ValueError(f"{where} has fewer computations than entry points")
    owned = set(range(level.entries))
    for index, computation in enumerate(level.computations):
        place = f"{where}, computation {index}"
        _check_indices(computation.inputs + computation.outputs + computation.constants, len(level.values), place)
        for kind, names, named in (
            ("input", computation.input_names, computation.inputs),
            ("output", computation.output_names, computation.outputs),
        ):
            if names and len(names) != len(named):
                raise ValueError(f"{place}: {len(names)} {kind} names for {len(named)} {kind}s")
        for op in computation.ops:
            _check_indices(op.inputs + op.outputs, len(level.values), f"{place}, op {op.name!r}")
            if op.phase not in PHASES:
                raise ValueError(f"{place}, op {op.name!r}: phase {op.phase!r} is none of {', '.join(PHASES)}")
            for body in op.bodies:
                if not index < body < len(level.computations) or body in owned:
                    raise ValueError(f"{place}, op {op.name!r}: body {body} is missing, shared or above it")
                owned.add(body)
            if op.span is not None and not op.span.file and not 1 <= op.span.line <= lines:
                raise ValueError(f"{place}, op {op.name!r}: line {op.span.line} is not in the source")
    if len(owned) != len(level.computations):
        raise ValueError(f"{where} has computations that nothing owns")


def _check_indices(indices: tuple[int, ...], size: int, place: str) -> None:
    for index in indices:
        if not 0 <= index < size:
            raise ValueError(f"{place}: value {index} is not there (there are {size})")
