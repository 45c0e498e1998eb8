"""The kernels of a program for a GPU as its compiler wrote them: PTX, registers, spills, shared memory.

Each belongs to the instruction of the level "hlo" that launches it, such as a fusion. What libraries, the driver or
the collectives of NCCL do has no PTX in the program, and says so.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from jaxnb.errors import JaxnbError
from jaxnb.program.display import Displayed
from jaxnb.program.structure import Level, Op

__all__ = ["Launch", "Ptx", "PtxMaker", "choose_launches"]


@dataclass(frozen=True, slots=True)
class Launch:
    """What an instruction of a program for a GPU has the device do.

    Attributes:
      op: the name of the instruction in the level "hlo".
      kernel: the name of the kernel; "" where there is none.
      ptx: its text; "" where there is none, or nobody asked for it.
      why: why there is no kernel in the program, as a sentence.
      grid: how many blocks.
      threads: of a block.
      shared: bytes of shared memory of a block, what is asked for at the launch and what the kernel has; None where
        that is not known.
      registers: of a thread, as the assembler says; None where it was not asked.
      spilled: bytes that a thread writes to memory and reads back because registers do not suffice; likewise.
      line: of the cell.
    """

    op: str
    kernel: str = ""
    ptx: str = field(default="", repr=False)
    why: str = ""
    grid: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    shared: int | None = None
    registers: int | None = None
    spilled: tuple[int, int] | None = None
    line: int | None = None


class PtxMaker(Protocol):
    """Compiles a program once more, and keeps what its compiler wrote."""

    def launches(self) -> Sequence[Launch]:
        """Everything that the program launches, in its order, with the PTX of kernels."""
        ...

    def assembled(self, launch: Launch) -> Launch:
        """The same with what the assembler says of its kernel."""
        ...


@dataclass(frozen=True, slots=True)
class Ptx(Displayed):
    """Kernels of a program for a GPU; it shows itself as their PTX, or as a table of all kernels.

    Attributes:
      items: in the order in which they are launched.
      asked: the instruction or the line that was asked for; None for all.
      source: the text of the cell.
    """

    items: tuple[Launch, ...]
    asked: str | int | None = None
    source: str = ""

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, at: int) -> Launch:
        return self.items[at]


def choose_launches(
    levels: tuple[Level, Level], maker: PtxMaker, asked: str | int | None, *, most: int = 64
) -> tuple[Launch, ...]:
    """What an instruction, a line or the whole program launches, with what the assembler says of it.

    Args:
      levels: "jaxpr" and "hlo".
      maker: of the PTX.
      asked: the name of an instruction or of a kernel, a line of the cell, or None for everything.
      most: so many kernels are assembled at most.

    Raises:
      JaxnbError: if there is no such instruction, or the line makes none.
    """
    level = levels[1]
    ops = {level.values[value].name: op for op in level.ops() for value in op.outputs}
    launches = [replace(one, line=_line(ops, one.op)) for one in maker.launches()]
    if isinstance(asked, int):
        launches = _of_line(levels, ops, launches, asked)
    elif asked is not None:
        launches = _of_op(level, ops, launches, asked)
    kernels = [one.op for one in launches if one.ptx][:most]
    return tuple(maker.assembled(one) if one.op in kernels else one for one in launches)


_Ops = dict[str, Op]


def _line(ops: _Ops, name: str) -> int | None:
    return ops[name].cell_line if name in ops else None


def _inside(level: Level, op: Op) -> set[str]:
    """The names of everything in the bodies of an op."""
    inner = (one for body in op.bodies for one in _ops_within(level, body))
    return {level.values[value].name for one in inner for value in one.outputs}


def _of_line(levels: tuple[Level, Level], ops: _Ops, launches: Sequence[Launch], line: int) -> list[Launch]:
    jaxpr, level = levels
    lines = {line, *_calls_around(jaxpr, line)}
    names = {name for name, op in ops.items() if op.cell_line in lines}

    def makes(one: Launch) -> bool:
        op = ops.get(one.op)
        # A fusion is of one line, and what it is made of may be of others.
        return op is not None and (
            one.op in names or (op.name == "fusion" and not names.isdisjoint(_inside(level, op)))
        )

    found = [one for one in launches if makes(one)]
    if not found:
        others = sorted({one.line for one in launches if one.line is not None and one.ptx})
        why = "the compiler made nothing of it that is launched." if names else "no instruction comes from it."
        shown = ", ".join(map(str, others))
        raise JaxnbError(
            f"line {line} has no kernels.", why=why, fix=f"kernels are of lines {shown}." if others else ""
        )
    return found


def _calls_around(jaxpr: Level, line: int) -> set[int]:
    """The lines of the calls of Pallas in whose kernels a line stands."""
    return {
        call.cell_line
        for call in jaxpr.ops()
        if call.name == "pallas_call" and call.cell_line is not None
        for body in call.bodies
        if any(op.line == line for op in _ops_within(jaxpr, body))
    }


def _ops_within(level: Level, computation: int) -> Iterator[Op]:
    for op in level.computations[computation].ops:
        yield op
        for body in op.bodies:
            yield from _ops_within(level, body)


def _of_op(level: Level, ops: _Ops, launches: Sequence[Launch], name: str) -> list[Launch]:
    name = name.lstrip("%")
    found = [one for one in launches if name in (one.op, one.kernel)]
    if found:
        return found
    if name not in ops:
        known = [*dict.fromkeys(text for one in launches for text in (one.op, one.kernel) if text)]
        near = difflib.get_close_matches(name, known, 3)
        fix = f"did you mean {' or '.join(near)}?" if near else "%jaxnb ptx lists what is launched."
        raise JaxnbError(f'the level "hlo" has no instruction {name!r}.', fix=fix)
    op = ops[name]
    within = _inside(level, op)
    if found := [one for one in launches if one.op in within]:  # a loop: what its body launches
        return found
    around = [one for one in launches if one.op in ops and name in _inside(level, ops[one.op])]
    if around:  # a part of a fusion: all of it is one kernel
        return around
    return [Launch(name, why=f"{op.name} launches nothing: it only says where a value lies.", line=op.cell_line)]
