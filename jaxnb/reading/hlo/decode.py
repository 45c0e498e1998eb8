"""The optimised modules of a compiled program, decoded from the messages that they serialize to.

A module is decoded once for all who ask: whoever looks at a program has its level, its costs and its memory made one
after the other. The printed text of a module is never made.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from jaxnb import _jax
from jaxnb.reading.hlo.groups import GROUP_FIELDS, group_text, read_group, read_pair
from jaxnb.reading.hlo.module import (
    NO_SHAPE,
    PRIMITIVE_TYPES,
    Computation,
    ConvolutionNumbers,
    DotNumbers,
    Instruction,
    Layout,
    Module,
    Shape,
    WindowDimension,
)
from jaxnb.reading.hlo.protobuf import Field, bytes_of, fields, integer_of, read_varints, text_of
from jaxnb.reading.hlo.trips import with_trips

__all__ = ["MOST_KEPT", "read_module", "read_modules"]

MOST_KEPT = 8
"""Programs, such as the pieces of a cell, whose modules are kept: they take several times what the messages do."""

_TUPLE = 13

_Known = dict[tuple[int, bytes], Any]
"""What was read of a field's bytes, by its number and them."""

_decoded: WeakKeyDictionary[Any, tuple[Module, ...]] = WeakKeyDictionary()


def read_modules(compiled: Any) -> tuple[Module, ...]:
    """The optimised modules of a `jax.stages.Compiled`, or of what stands in its place; () where the backend has none.

    Raises:
      ChangedJax: if they cannot be had from this JAX.
      ValueError: if one is no `HloModuleProto`.
    """
    found = _decoded.get(compiled)
    if found is None:
        found = _decoded[compiled] = tuple(map(read_module, _jax.serialized_modules(compiled)))
        for old in list(_decoded)[:-MOST_KEPT]:
            _decoded.pop(old, None)
    return found


def read_module(data: bytes) -> Module:
    """Decodes an `xla::HloModuleProto`.

    Raises:
      ValueError: if the bytes are no such message.
    """
    known: _Known = {}
    entry, order, aliases = 0, dict[int, list[int]](), dict[int, int]()
    computations: dict[int, Computation] = {}
    for number, value in fields(memoryview(data)):
        if number == 3:
            identity, computation = _read_computation(value, known)
            computations[identity] = computation
        elif number == 6:
            entry = integer_of(value)
        elif number == 7:
            order = _read_schedule(value)
        elif number == 8:
            aliases = dict(_read_aliases(value))
    if entry not in computations:
        raise ValueError("a module without an entry computation")
    for identity, sequence in order.items():
        if identity in computations:
            computations[identity] = _scheduled(computations[identity], sequence)
    return with_trips(Module(computations, entry, aliases))


def _scheduled(computation: Computation, sequence: list[int]) -> Computation:
    given = computation.instructions
    if len(given) != len(sequence) or not given.keys() >= set(sequence):
        return computation
    return Computation({identity: given[identity] for identity in sequence}, computation.root)


def _read_schedule(message: Field) -> dict[int, list[int]]:
    """xla::HloScheduleProto: the ids of the instructions of each computation, in the order of execution."""
    order: dict[int, list[int]] = {}
    for number, entry in fields(message):
        if number != 1:
            continue
        computation, sequence = 0, list[int]()
        for part, value in fields(entry):
            if part == 1:
                computation = integer_of(value)
            elif part == 2:
                sequence.extend(id for inner, ids in fields(value) if inner == 1 for id in read_varints(ids))
        order[computation] = sequence
    return order


def _read_aliases(message: Field) -> Iterator[tuple[int, int]]:
    """xla::HloInputOutputAliasProto: of each entry the number of the result, and that of the parameter."""
    for number, entry in fields(message):
        if number == 1:
            result, parameter = tuple[int, ...](), 0
            for inner, value in fields(entry):
                if inner == 1:
                    result += read_varints(value)
                elif inner == 2:
                    parameter = integer_of(value)
            yield (result[0] if result else 0), parameter


def _read_computation(message: Field, known: _Known) -> tuple[int, Computation]:
    """xla::HloComputationProto: its id, and what it consists of."""
    identity, root, instructions = 0, 0, dict[int, Instruction]()
    for number, value in fields(message):
        if number == 2:
            instruction = _read_instruction(value, known)
            instructions[instruction.identity] = instruction
        elif number == 5:
            identity = integer_of(value)
        elif number == 6:
            root = integer_of(value)
    return identity, Computation(instructions, root)


def _read_instruction(message: Field, known: _Known) -> Instruction:
    made: dict[str, Any] = {}
    for number, value in fields(message):
        if number not in _FIELDS:
            continue
        name, read = _FIELDS[number]
        if number in _SHARED:
            key = number, bytes(bytes_of(value))
            if key not in known:
                known[key] = read(value)
            made[name] = known[key]
        elif number in _REPEATED and name in made:
            made[name] += read(value)
        else:
            made[name] = read(value)
    if "literal" in made:
        made["literal"] = _read_literal(made["literal"]) if _is_number(made.get("shape", NO_SHAPE)) else ""
    if (config := made.pop("config", None)) is not None:
        if made.get("opcode") in ("while", "custom-call"):
            made.update(_read_config(bytes(config)))
        made.update(_read_estimate(bytes(config)))
    if "listed" in made:
        made["groups"] = group_text(made.pop("listed"))
    return Instruction(**made)


# --- the fields of an instruction ---


def _read_shape(message: Field) -> Shape:
    """xla::ShapeProto."""
    kind, sizes, parts, layout = 0, tuple[int, ...](), list[Shape](), None
    for number, part in fields(message):
        if number == 2:
            kind = integer_of(part)
        elif number == 3:
            sizes += read_varints(part)
        elif number == 4:
            parts.append(_read_shape(part))
        elif number == 5:
            layout = _read_layout(part)
    if kind == _TUPLE:
        return Shape(parts=tuple(parts), kind=kind)
    return Shape(sizes, PRIMITIVE_TYPES.get(kind, ("", 0))[1], None, kind, layout)


def _read_layout(message: Field) -> Layout | None:
    """xla::LayoutProto; None for one without tiles and in the usual memory."""
    order, tiles, space = tuple[int, ...](), list[tuple[int, ...]](), 0
    for number, part in fields(message):
        if number == 1:
            order += read_varints(part)
        elif number == 6:
            tiles.append(next(iter(_read_lists(part, 1))))
        elif number == 8:
            space = integer_of(part)
    return Layout(order, tuple(tiles), space) if tiles or space else None


def _is_number(shape: Shape) -> bool:
    return shape.sizes == () and shape.kind in PRIMITIVE_TYPES


def _read_op_name(message: Field) -> str:
    """xla::OpMetadata."""
    return next((text_of(part) for number, part in fields(message) if number == 2), "")


# The fields of xla::LiteralProto that hold one number, with how to read it.
_LITERALS: dict[int, Callable[[Field], object]] = {
    4: lambda value: _signed(read_varints(value)[0], 32),
    5: lambda value: _signed(read_varints(value)[0], 64),
    6: lambda value: read_varints(value)[0],
    7: lambda value: read_varints(value)[0],
    8: lambda value: f"{struct.unpack_from('<f', bytes_of(value))[0]:.7g}",
    9: lambda value: f"{struct.unpack_from('<d', bytes_of(value))[0]:.7g}",
    2: lambda value: bool(read_varints(value)[0]),
}


def _read_literal(message: Field) -> str:
    """xla::LiteralProto of one number."""
    try:
        return next((str(_LITERALS[number](value)) for number, value in fields(message) if number in _LITERALS), "")
    except (IndexError, struct.error) as error:
        raise ValueError(f"a number is not there: {error}") from None


def _read_window(message: Field) -> tuple[WindowDimension, ...]:
    """xla::Window."""
    return tuple(_read_window_dimension(part) for at, part in fields(message) if at == 1)


def _read_window_dimension(message: Field) -> WindowDimension:
    # Fields that are 0 are not written, whatever would be usual.
    found = dict.fromkeys(range(1, 7), 0)
    for number, value in fields(message):
        if number in found:
            found[number] = _signed(integer_of(value), 64)
    return WindowDimension(*found.values())


def _read_lists(message: Field, *numbers: int) -> Iterator[tuple[int, ...]]:
    """Those fields of a message that hold integers."""
    found = dict.fromkeys(numbers, tuple[int, ...]())
    for number, value in fields(message):
        if number in found:
            found[number] += read_varints(value)
    yield from found.values()


def _read_convolution(message: Field) -> ConvolutionNumbers:
    """xla::ConvolutionDimensionNumbers."""
    kernel, batch, feature, result, spatial, output = _read_lists(message, 6, 7, 8, 10, 11, 12)
    batch, feature, result = (some[0] if some else 0 for some in (batch, feature, result))
    return ConvolutionNumbers(batch, feature, result, spatial, kernel, output)


def _read_config(config: bytes) -> dict[str, Any]:
    """What the backend was told of a loop, `{"known_trip_count":{"n":"10"}}`, or of a library's product."""
    made: dict[str, Any] = {}
    with suppress(ValueError, KeyError, TypeError):
        known: Any = json.loads(config)
        if "known_trip_count" in known:
            made["trips"] = int(known["known_trip_count"]["n"])
        elif "gemm_backend_config" in known:
            axes = known["gemm_backend_config"]["dot_dimension_numbers"]
            lists = (tuple(map(int, axes.get(f"{side}_dimensions", ()))) for side in _SIDES)
            made["dot"] = DotNumbers(*lists)
    return made


def _read_estimate(config: bytes) -> dict[str, Any]:
    """What a TPU's compiler wrote of an instruction: its estimate of the time, and how it writes collectives."""
    made: dict[str, Any] = {}
    if (cycles := _CYCLES.search(config)) is not None:
        made["cycles"] = int(cycles[1])
    if (emitter := _EMITTER.search(config)) is not None:
        made["emitter"] = str(emitter[1], "ascii")
    return made


_CYCLES = re.compile(rb'"estimated_cycles":"(\d+)"')  # of large modules, whose configs are most of the bytes
_EMITTER = re.compile(rb'"collective_algorithm_config":\{"emitter":"(\w+)"')
_SIDES = ("lhs_contracting", "rhs_contracting", "lhs_batch", "rhs_batch")  # as in DotNumbers


def _signed(number: int, bits: int) -> int:
    """Negative numbers are written as 64 bits, whatever their type."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _count(value: Field) -> int:
    return max(integer_of(value), 1)


# By the numbers of xla::HloInstructionProto: what they are called here, and how they are read.
_FIELDS: dict[int, tuple[str, Callable[[Field], Any]]] = {
    1: ("name", text_of),
    2: ("opcode", text_of),
    3: ("shape", _read_shape),
    7: ("op_name", _read_op_name),
    8: ("literal", bytes_of),
    9: ("parameter", integer_of),
    11: ("kind", text_of),
    13: ("index", integer_of),
    14: ("dimensions", read_varints),
    15: ("window", _read_window),
    16: ("convolution", _read_convolution),
    26: ("channel", integer_of),
    28: ("target", text_of),
    30: ("dot", lambda value: DotNumbers(*_read_lists(value, 1, 2, 3, 4))),
    32: ("fft_length", read_varints),
    35: ("identity", integer_of),
    36: ("operands", read_varints),
    38: ("called", read_varints),
    43: ("config", bytes_of),  # of the backend
    49: ("listed", lambda value: (read_group(value),)),
    50: ("feature_groups", _count),
    52: ("pairs", lambda value: (read_pair(value),)),
    58: ("batch_groups", _count),
    63: ("direction", text_of),
    **{number: ("groups", read) for number, read in GROUP_FIELDS.items()},
}
_REPEATED = frozenset({14, 32, 36, 38, 49, 52})
_SHARED = frozenset({2, 3, 7})  # most opcodes, shapes and names of a module are a few
