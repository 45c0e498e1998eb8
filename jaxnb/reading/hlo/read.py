"""An optimised HLO module as the level "hlo": one op an instruction, one computation a computation that it calls.

What is read is the message that a module serializes to, field by field; its printed text is never made. Parameters
are inputs of their computation, constants stand as literals wherever they are used. Instructions stand in the order
in which they are run where XLA has fixed it. The values are called as XLA calls the instructions, as profiles do.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jaxnb.program import Aval, Computation, Level, Op, Value
from jaxnb.reading.hlo.groups import GROUP_FIELDS, read_groups, read_pairs
from jaxnb.reading.hlo.protobuf import Message, fields, message_of, read_varints
from jaxnb.reading.hlo.wire import PRIMITIVE_TYPES, read_schedule
from jaxnb.reading.stablehlo.read import NamedLevel

__all__ = ["MOST_OPS", "read_hlo"]

MOST_OPS = 50_000
_MOST_NAMES = 64  # of what a fusion is made of, if that is not written out
_LONGEST_TEXT = 120

# The fields of xla::LiteralProto that hold one number, with how to read it.
_LITERALS: dict[int, Callable[[int | Message], object]] = {
    4: lambda value: _signed(read_varints(value)[0], 32),
    5: lambda value: _signed(read_varints(value)[0], 64),
    6: lambda value: read_varints(value)[0],
    7: lambda value: read_varints(value)[0],
    8: lambda value: f"{struct.unpack_from('<f', message_of(value))[0]:.7g}",
    9: lambda value: f"{struct.unpack_from('<d', message_of(value))[0]:.7g}",
    2: lambda value: bool(read_varints(value)[0]),
}


# What their bodies do takes turns with what stands around them, or is left out.
_CONTROL = frozenset({"while", "conditional", "call", "async-start"})


class _Shape(NamedTuple):
    """An array's aval, or the text of a tuple of shapes."""

    aval: Aval | None
    text: str


_NO_SHAPE = _Shape(None, "")


@dataclass(slots=True)
class _Instruction:
    """The fields of xla::HloInstructionProto that are used here."""

    name: str = ""
    opcode: str = ""
    shape: _Shape = _NO_SHAPE
    op_name: str = ""
    literal: str = "[…]"
    parameter: int = 0
    index: int = 0
    kind: str = ""
    target: str = ""
    sharding: str = ""
    direction: str = ""
    dot: str = ""
    groups: str = ""
    pairs: str = ""
    dimensions: list[int] = field(default_factory=list[int])
    identity: int = 0
    operands: list[int] = field(default_factory=list[int])
    called: list[int] = field(default_factory=list[int])


class _Computation(NamedTuple):
    """The fields of xla::HloComputationProto that are used here."""

    name: str
    instructions: list[_Instruction]
    root: int


def read_hlo(module: bytes, input_names: Sequence[str] = ()) -> NamedLevel:
    """Reads a module from its entry computation down.

    A computation that several instructions call (a reducer) is written out for each of them. After `MOST_OPS`
    instructions, what is inside a fusion or a reducer is not written out any more: an attribute says how many
    instructions that are, and their names count as names of the owner.

    Args:
      module: the bytes of an `HloModuleProto`.
      input_names: what the user calls the inputs, one for each or none.

    Raises:
      ValueError: if the bytes are no such message.
    """
    reading = _Reading(memoryview(module))
    reading.computation(reading.entry, "main")
    computations = [made for made in reading.made if made is not None]
    if len(input_names) == len(computations[0].inputs):
        entry = computations[0]
        computations[0] = Computation(entry.name, entry.inputs, entry.outputs, entry.ops, (), tuple(input_names))
    return NamedLevel(Level("hlo", tuple(reading.values), tuple(computations)), reading.names)


class _Reading:
    """What grows while one module is read. A computation's message is taken apart when its turn comes."""

    def __init__(self, module: Message) -> None:
        self.entry = 0
        self.values: list[Value] = []
        self.made: list[Computation | None] = []
        self.names: list[list[str]] = []
        self.ops = 0
        self._messages: dict[int, Message] = {}
        self._order: dict[int, list[int]] = {}
        self._shapes: dict[bytes, _Shape] = {}
        for number, value in fields(module):
            if number == 3:
                message = message_of(value)
                self._messages[_identity(message)] = message
            elif number == 6 and isinstance(value, int):
                self.entry = value
            elif number == 7:
                self._order = read_schedule(message_of(value))
        if self.entry not in self._messages:
            raise ValueError("a module without an entry computation")

    def computation(self, identity: int, name: str) -> int:
        """Writes a computation out and returns its index."""
        found = self._read_computation(identity)
        index = len(self.made)
        self.made.append(None)
        names: list[str] = []
        self.names.append(names)
        places: dict[int, int | _Instruction] = {}
        parameters = [item for item in found.instructions if item.opcode == "parameter"]
        parameters.sort(key=lambda item: item.parameter)
        inputs = tuple(self._value(places, item) for item in parameters)
        ops: list[Op] = []
        for item in found.instructions:
            if item.opcode == "constant":
                places[item.identity] = item
            elif item.opcode != "parameter":
                ops.append(self._op(item, places, names))
        outputs = (self._used(places, found.root),) if found.root in places else ()
        self.made[index] = Computation(name or found.name, inputs, outputs, tuple(ops))
        return index

    def _op(self, item: _Instruction, places: dict[int, int | _Instruction], names: list[str]) -> Op:
        self.ops += 1
        names.append(item.op_name)
        inputs = tuple(self._used(places, operand) for operand in item.operands)
        attributes = list(_attributes(item))
        bodies: list[int] = []
        called = [identity for identity in item.called if identity in self._messages]
        if self.ops > MOST_OPS and item.opcode not in _CONTROL and called:
            inner = [inside for identity in called for inside in self._read_computation(identity).instructions]
            told = dict.fromkeys(inside.op_name for inside in inner if inside.op_name)
            names[-1] = ";".join(filter(None, (item.op_name, *list(told)[:_MOST_NAMES])))
            attributes.append(("body", f"{len(inner)} instructions"))
        else:
            bodies = [
                self.computation(identity, _part(item.opcode, number, len(called)))
                for number, identity in enumerate(called)
            ]
        output = self._value(places, item)
        return Op(item.opcode, inputs, (output,), tuple(attributes), None, tuple(bodies))

    def _value(self, places: dict[int, int | _Instruction], item: _Instruction) -> int:
        self.values.append(Value(item.name, item.shape.aval, False, item.sharding))
        places[item.identity] = len(self.values) - 1
        return len(self.values) - 1

    def _used(self, places: dict[int, int | _Instruction], identity: int) -> int:
        if identity not in places:
            raise ValueError(f"an instruction uses {identity}, which is not there")
        known = places[identity]
        if isinstance(known, int):
            return known
        self.values.append(Value(known.literal, known.shape.aval, literal=True))
        return len(self.values) - 1

    # --- the messages ---

    def _read_computation(self, identity: int) -> _Computation:
        name, root, instructions = "", 0, list[_Instruction]()
        for number, value in fields(self._messages[identity]):
            if number == 1:
                name = _text(value)
            elif number == 2:
                instructions.append(self._read_instruction(message_of(value)))
            elif number == 6 and isinstance(value, int):
                root = value
        sequence = self._order.get(identity, ())
        if len(sequence) == len(instructions):
            place = {instruction: at for at, instruction in enumerate(sequence)}
            instructions.sort(key=lambda item: place.get(item.identity, 0))
        return _Computation(name, instructions, root)

    def _read_instruction(self, message: Message) -> _Instruction:
        made = _Instruction()
        literal: Message | None = None
        for number, value in fields(message):
            if number == 1:
                made.name = _text(value)
            elif number == 2:
                made.opcode = _text(value)
            elif number == 3:
                key = bytes(message_of(value))
                if key not in self._shapes:
                    self._shapes[key] = _read_shape(message_of(value))
                made.shape = self._shapes[key]
            elif number == 7:
                made.op_name = _read_op_name(message_of(value))
            elif number == 8:
                literal = message_of(value)
            elif number == 9 and isinstance(value, int):
                made.parameter = value
            elif number == 11:
                made.kind = _text(value)
            elif number == 13 and isinstance(value, int):
                made.index = value
            elif number == 14:
                made.dimensions.extend(read_varints(value))
            elif number == 28:
                made.target = _text(value)
            elif number == 30:
                made.dot = _read_dot(message_of(value))
            elif number == 63:
                made.direction = _text(value)
            elif number == 52:
                made.pairs += read_pairs(message_of(value))
            elif number == 49:  # one group each
                made.groups = f"{{{made.groups[1:-1]}{read_groups(number, message_of(value))}}}"
            elif number in GROUP_FIELDS:
                made.groups = read_groups(number, message_of(value))
            elif number == 35 and isinstance(value, int):
                made.identity = value
            elif number == 36:
                made.operands.extend(read_varints(value))
            elif number == 38:
                made.called.extend(read_varints(value))
        if literal is not None and made.shape.aval is not None and made.shape.aval.shape == ():
            made.literal = _read_literal(literal)
        return made


def _identity(message: Message) -> int:
    """The id of a computation."""
    for number, value in fields(message):
        if number == 5 and isinstance(value, int):
            return value
    return 0


def _attributes(item: _Instruction) -> Sequence[tuple[str, str]]:
    known = (
        ("kind", item.kind),
        ("target", item.target),
        ("dimensions", _tuple(item.dimensions) if item.dimensions else ""),
        ("dot_dimension_numbers", item.dot),
        ("direction", item.direction),
        ("index", str(item.index) if item.opcode == "get-tuple-element" else ""),
        ("shape", item.shape.text if item.opcode != "tuple" else ""),
    )
    shared = (("replica_groups", item.groups), ("source_target_pairs", f"{{{item.pairs}}}" if item.pairs else ""))
    short = [(name, text[:_LONGEST_TEXT]) for name, text in known if text]
    return [*short, *((name, text.replace("}{", "},{")) for name, text in shared if text)]  # of use only in full


def _read_dot(message: Message) -> str:
    """xla::DotDimensionNumbers, in the order in which a jaxpr has them: contracting, then batch dimensions."""
    known: dict[int, list[int]] = {1: [], 2: [], 3: [], 4: []}
    for number, value in fields(message):
        if number in known:
            known[number].extend(read_varints(value))
    left, right, left_batch, right_batch = map(_tuple, known.values())
    return f"(({left}, {right}), ({left_batch}, {right_batch}))"


def _tuple(numbers: list[int]) -> str:
    return f"({', '.join(map(str, numbers))}{',' if len(numbers) == 1 else ''})"


def _part(opcode: str, number: int, count: int) -> str:
    """What a computation is to the instruction that calls it."""
    if opcode == "while":
        return ("body", "cond")[number]
    if opcode == "conditional":
        return f"branch {number}"
    return "body" if count == 1 else f"body {number}"


def _read_shape(message: Message) -> _Shape:
    """xla::ShapeProto."""
    kind, sizes, parts = 0, list[int](), list[_Shape]()
    for number, value in fields(message):
        if number == 2 and isinstance(value, int):
            kind = value
        elif number == 3:
            sizes.extend(read_varints(value))
        elif number == 4:
            parts.append(_read_shape(message_of(value)))
    if kind == 13:
        return _Shape(None, f"({', '.join(part.text or str(part.aval) for part in parts)})")
    if kind not in PRIMITIVE_TYPES:
        return _Shape(None, f"type {kind}")
    dtype, itemsize = PRIMITIVE_TYPES[kind]
    return _Shape(Aval(dtype, tuple(sizes), False, itemsize), "")


def _read_op_name(message: Message) -> str:
    """xla::OpMetadata."""
    for number, value in fields(message):
        if number == 2:
            return _text(value)
    return ""


def _read_literal(message: Message) -> str:
    """xla::LiteralProto of one number."""
    for number, value in fields(message):
        if number in _LITERALS:
            return str(_LITERALS[number](value))
    return "[…]"


def _signed(number: int, bits: int) -> int:
    """Negative numbers are written as 64 bits, whatever their type."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _text(value: int | Message) -> str:
    return bytes(message_of(value)).decode(errors="replace")
