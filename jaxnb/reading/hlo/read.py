"""An optimised HLO module as the level "hlo": one op an instruction, one computation a computation that it calls.

Parameters are inputs of their computation, constants stand as literals wherever they are used. Instructions stand in
the order in which they are run where XLA has fixed it. The values are called as XLA calls the instructions, as
profiles do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from jaxnb.program import CONTINUES, SCATTERED, Aval, Computation, Level, Op, Value
from jaxnb.reading.hlo.groups import group_text
from jaxnb.reading.hlo.module import PRIMITIVE_TYPES, Instruction, Module, Shape
from jaxnb.reading.stablehlo.read import NamedLevel

__all__ = ["MOST_OPS", "read_hlo"]

MOST_OPS = 50_000
_MOST_NAMES = 64  # of what a fusion is made of, if that is not written out
_LONGEST_TEXT = 120

# What their bodies do takes turns with what stands around them, or is left out.
_CONTROL = frozenset({"while", "conditional", "call", "async-start"})


class _Form(NamedTuple):
    """An array's aval, or the text of another shape."""

    aval: Aval | None
    text: str


def read_hlo(module: Module, input_names: Sequence[str] = (), output_names: Sequence[str] = ()) -> NamedLevel:
    """Reads a module from its entry computation down.

    A computation that several instructions call (a reducer) is written out for each of them. After `MOST_OPS`
    instructions, what is inside a fusion or a reducer is not written out any more: an attribute says how many
    instructions that are, and their names count as names of the owner.

    Args:
      module: of which everything that its entry reaches is read.
      input_names: what the user calls the inputs, one for each or none.
      output_names: likewise for the outputs.

    Raises:
      ValueError: if an instruction uses one that is not there.
    """
    reading = _Reading(module)
    reading.computation(module.entry, "main")
    computations = [made for made in reading.made if made is not None]
    computations[0] = computations[0].called(input_names, output_names)
    return NamedLevel(Level("hlo", tuple(reading.values), tuple(computations)), reading.names)


class _Reading:
    """What grows while one module is read."""

    def __init__(self, module: Module) -> None:
        self.values: list[Value] = []
        self.made: list[Computation | None] = []
        self.names: list[list[str]] = []
        self.ops = 0
        self._computations = module.computations
        self._parts = _parts_of_collectives(module)
        self._forms: dict[Shape, _Form] = {}

    def computation(self, identity: int, name: str) -> int:
        """Writes a computation out and returns its index."""
        found = self._computations[identity]
        index = len(self.made)
        self.made.append(None)
        names: list[str] = []
        self.names.append(names)
        places: dict[int, int | Instruction] = {}
        inputs = tuple(self._value(places, item) for item in found.parameters())
        ops: list[Op] = []
        for item in found.instructions.values():
            if item.opcode == "constant":
                places[item.identity] = item
            elif item.opcode != "parameter":
                ops.append(self._op(item, places, names))
        outputs = (self._used(places, found.root),) if found.root in places else ()
        self.made[index] = Computation(name, inputs, outputs, tuple(ops))
        return index

    def _op(self, item: Instruction, places: dict[int, int | Instruction], names: list[str]) -> Op:
        self.ops += 1
        names.append(item.op_name)
        inputs = tuple(self._used(places, operand) for operand in item.operands)
        attributes = _attributes(item, self._form(item.shape).text)
        if item.name in self._parts:
            attributes.append(self._parts[item.name])
        bodies: list[int] = []
        called = [identity for identity in item.called if identity in self._computations]
        if self.ops > MOST_OPS and item.opcode not in _CONTROL and called:
            inner = [one for identity in called for one in self._computations[identity].instructions.values()]
            told = dict.fromkeys(one.op_name for one in inner if one.op_name)
            names[-1] = ";".join(filter(None, (item.op_name, *list(told)[:_MOST_NAMES])))
            attributes.append(("body", f"{len(inner)} instructions"))
        else:
            bodies = [
                self.computation(identity, _part(item.opcode, number, len(called)))
                for number, identity in enumerate(called)
            ]
        output = self._value(places, item)
        return Op(item.opcode, inputs, (output,), tuple(attributes), None, tuple(bodies))

    def _value(self, places: dict[int, int | Instruction], item: Instruction) -> int:
        self.values.append(Value(item.name, self._form(item.shape).aval))
        places[item.identity] = len(self.values) - 1
        return len(self.values) - 1

    def _used(self, places: dict[int, int | Instruction], identity: int) -> int:
        if identity not in places:
            raise ValueError(f"an instruction uses {identity}, which is not there")
        known = places[identity]
        if isinstance(known, int):
            return known
        self.values.append(Value(known.literal or "[…]", self._form(known.shape).aval, literal=True))
        return len(self.values) - 1

    def _form(self, shape: Shape) -> _Form:
        if shape not in self._forms:
            self._forms[shape] = self._read_form(shape)
        return self._forms[shape]

    def _read_form(self, shape: Shape) -> _Form:
        if shape.parts is not None:
            parts = map(self._form, shape.parts)
            return _Form(None, f"({', '.join(part.text or str(part.aval) for part in parts)})")
        if shape.kind not in PRIMITIVE_TYPES:
            return _Form(None, f"type {shape.kind}")
        return _Form(Aval(PRIMITIVE_TYPES[shape.kind][0], shape.sizes, False, shape.itemsize), "")


def _attributes(item: Instruction, shape: str) -> list[tuple[str, str]]:
    known = (
        ("kind", item.kind),
        ("target", item.target),
        ("dimensions", str(item.dimensions) if item.dimensions else ""),
        ("dot_dimension_numbers", str(((item.dot.left, item.dot.right), item.dot[2:])) if item.dot else ""),
        ("direction", item.direction),
        ("index", str(item.index) if item.opcode == "get-tuple-element" else ""),
        ("shape", shape if item.opcode != "tuple" else ""),
        ("layout", str(item.shape.layout) if item.shape.layout is not None else ""),
        ("estimated_cycles", "" if item.cycles is None else str(item.cycles)),
    )
    shared = (("replica_groups", item.groups), ("source_target_pairs", group_text(item.pairs) if item.pairs else ""))
    short = [(name, text[:_LONGEST_TEXT]) for name, text in known if text]
    return [*short, *((name, text) for name, text in shared if text)]  # of use only in full


def _parts_of_collectives(module: Module) -> dict[str, tuple[str, str]]:
    """What a collective inside of a fusion of a TPU is, by its name: a part of one that was begun, or its own kind.

    A collective that runs beside products is written into each fusion that it runs in, with the channel of all.
    """
    found: dict[str, tuple[str, str]] = {}
    begun: dict[int, str] = {}
    for computation in module.computations.values():
        here = [item for item in computation.instructions.values() if item.channel]
        if any(item.target == _BEGINS for item in computation.instructions.values()):
            begun.update({item.channel: item.name for item in here})
    for item in module.instructions():
        if item.channel in begun and item.name != begun[item.channel] and item.opcode not in ("send", "recv"):
            found[item.name] = (CONTINUES, begun[item.channel])
        if item.opcode == "fusion" and item.emitter.endswith(_SCATTERS):
            for inner in (module.computations[one] for one in item.called if one in module.computations):
                for one in inner.instructions.values():
                    if one.opcode == "all-reduce":
                        found[one.name] = (SCATTERED, "true")
    return found


_BEGINS, _SCATTERS = "AsyncCollectiveStart", "AllReduceScatterFusion"


def _part(opcode: str, number: int, count: int) -> str:
    """What a computation is to the instruction that calls it."""
    if opcode == "while":
        return ("body", "cond")[number]
    if opcode == "conditional":
        return f"branch {number}"
    return "body" if count == 1 else f"body {number}"
