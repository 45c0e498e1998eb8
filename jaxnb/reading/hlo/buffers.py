"""The message in which XLA says where the values of a compiled program lie.

`xla::BufferAssignmentProto` tells for each value which instruction defines it and which bytes of which allocation it
has. See `lifetimes` for when a value is needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxnb.reading.hlo.protobuf import Field, fields, read_varints

__all__ = [
    "Allocation",
    "Assignment",
    "Buffer",
    "code_bytes",
    "peak_bytes",
    "read_assignment",
]

_HOST = 5  # the memory space that stands for the host


class Allocation(NamedTuple):
    """A block of memory that the runtime takes for a run.

    Attributes:
      number: what buffers call it.
      nbytes: its size.
      parameter: whether an input lies there.
      constant: whether a part of the program lies there.
      output: whether a result may lie there.
      local: whether it is on the stack of a thread, and so no memory of the device.
      space: the memory space; 0 is the usual one.
    """

    number: int
    nbytes: int
    parameter: bool
    constant: bool
    output: bool
    local: bool
    space: int


class Buffer(NamedTuple):
    """A value's place in memory.

    Attributes:
      instruction: the id of the one that defines it.
      part: which part of that instruction's tuple it is, from the outside in; () for the whole.
      nbytes: its size.
      allocation: the number of the allocation it lies in.
      offset: the first byte there.
    """

    instruction: int
    part: tuple[int, ...]
    nbytes: int
    allocation: int
    offset: int


class Assignment(NamedTuple):
    """All allocations by their numbers, and the buffers in them."""

    allocations: dict[int, Allocation]
    buffers: list[Buffer]

    @property
    def reserved(self) -> int:
        """What a run takes on the device: inputs, results, temporaries and constants, each byte once."""
        return sum(one.nbytes for one in self.allocations.values() if self.on_device(one))

    def on_device(self, allocation: Allocation) -> bool:
        """Whether an allocation is memory of the device, and neither on a thread's stack nor on the host."""
        return not allocation.local and allocation.space != _HOST


def peak_bytes(compiled: Any) -> int | None:
    """The memory of one device that a run of a program takes: inputs, results and temporaries. It never raises.

    A runtime that measures its peak itself is not asked: the CPU's leaves out temporaries. Asking takes some 0.2 ms
    and more for a large program, since XLA hands out all that it knows: keep the answer with the executable.

    Args:
      compiled: a `jax.stages.Compiled`.

    Returns:
      Bytes; None where the backend does not tell.

    >>> import jax, jax.numpy as jnp
    >>> peak_bytes(jax.jit(jnp.sin).lower(jnp.ones(100)).compile())
    800
    """
    try:
        told: Any = compiled.memory_analysis()
        arguments, results = told.argument_size_in_bytes, told.output_size_in_bytes
        return int(arguments + results - told.alias_size_in_bytes + told.temp_size_in_bytes)
    except Exception:  # a line under a cell is not worth an error: backends differ in what they raise
        return None


def code_bytes(executable: Any) -> int:
    """What a loaded executable takes on its devices as long as it is there: its code and its constants.

    Args:
      executable: JAX's `Compiled.runtime_executable()`. Where the backend does not tell, it is 0.
    """
    try:
        told: Any = executable.get_compiled_memory_stats()
        code, assigned = int(told.generated_code_size_in_bytes), told.serialized_buffer_assignment_proto
        found = read_assignment(assigned) if assigned else None
        constants = [one for one in found.allocations.values() if one.constant] if found is not None else []
        held = sum(one.nbytes for one in constants if found is not None and found.on_device(one))
        # A GPU's code has its constants in it; the CPU's is not counted.
        return max(code, held) * len(executable.local_devices())
    except (RuntimeError, ValueError):  # a backend that does not tell, or writes its messages differently
        return 0


def read_assignment(message: bytes) -> Assignment:
    """Reads an `xla::BufferAssignmentProto`, as `compiled.memory_analysis()` has it.

    Raises:
      ValueError: if the bytes are no such message.
    """
    defined: dict[int, tuple[int, tuple[int, ...]]] = {}
    allocations: dict[int, Allocation] = {}
    placed: list[tuple[int, int, int, int]] = []
    for number, value in fields(memoryview(message)):
        if number == 1:
            identity, instruction, part = _read_logical(value)
            defined[identity] = (instruction, part)
        elif number == 3:
            allocation, assigned = _read_allocation(value)
            allocations[allocation.number] = allocation
            placed.extend(assigned)
    missing = next((identity for identity, *_ in placed if identity not in defined), None)
    if missing is not None:
        raise ValueError(f"a place for buffer {missing}, which is not there")
    buffers = [
        Buffer(*defined[identity], nbytes, allocation, offset) for identity, allocation, offset, nbytes in placed
    ]
    return Assignment(allocations, buffers)


def _read_logical(message: Field) -> tuple[int, int, tuple[int, ...]]:
    """xla::LogicalBufferProto: its id, the instruction that defines it, and which part of that it is."""
    identity, instruction, part = 0, 0, list[int]()
    for number, value in fields(message):
        if number == 1 and isinstance(value, int):
            identity = value
        elif number == 3:
            for inner, found in fields(value):
                if inner == 4 and isinstance(found, int):
                    instruction = found
                elif inner == 3:
                    part.extend(read_varints(found))
    return identity, instruction, tuple(part)


def _read_allocation(message: Field) -> tuple[Allocation, list[tuple[int, int, int, int]]]:
    """xla::BufferAllocationProto, and for each buffer there its id, the allocation, the offset and the size."""
    known: dict[int, int] = {}
    assigned: list[tuple[int, int, int]] = []
    for number, value in fields(message):
        if number == 9:
            part = {inner: found for inner, found in fields(value) if isinstance(found, int)}
            assigned.append((part.get(1, 0), part.get(2, 0), part.get(3, 0)))
        elif isinstance(value, int):
            known[number] = value
    number, nbytes, space = (known.get(field_number, 0) for field_number in (1, 2, 8))
    parameter, constant, output, local = (bool(known.get(field_number)) for field_number in (5, 12, 7, 3))
    allocation = Allocation(number, nbytes, parameter, constant, output, local, space)
    return allocation, [(identity, number, offset, size) for identity, offset, size in assigned]
