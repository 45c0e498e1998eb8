"""The named axes of a mapped function as strands: which values have which, and where they end or meet.

It is read from the level "jaxpr" of a program, whose values know the named axes that they vary over. What is drawn is
the body of an `xmap` or of a `shard_map`, or of a function under `vmap(axis_name=...)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from jaxnb.program import Computation, Level, Op
from jaxnb.views.rows import short_type

__all__ = ["AxisFlow", "Bundle", "Knot", "NamedAxis", "axis_flow_of", "read_axis_flow"]

_MAPS = frozenset({"xmap", "shard_map"})
_RESOURCE = re.compile(r"([^\s=,]+)=(?:\(([^)]*)\)|(loop\(\d+\))|([^\s,()]+))")
_CALLED = {
    "named_dot": "dot",
    "dot_general": "dot",
    "psum_invariant": "psum",
    "psum2": "psum",
    "all_gather_invariant": "all_gather",
    "reduce_scatter": "psum_scatter",
}
_NOTHING = frozenset({"pvary", "pcast", "pbroadcast", "copy"})  # what is only called otherwise behind it
_MOST_FOLDED = 3


@dataclass(frozen=True, slots=True)
class NamedAxis:
    """A named axis.

    Attributes:
      name: of the axis.
      size: None if it is not known.
      mesh: the axes of the mesh that it is spread over.
    """

    name: str
    size: int | None = None
    mesh: tuple[str, ...] = ()

    def __str__(self) -> str:
        size = "" if self.size is None else f":{self.size}"
        over = f" on {'×'.join(self.mesh)}" if self.mesh and self.mesh != (self.name,) else ""
        return f"{self.name}{size}{over}"


@dataclass(frozen=True, slots=True)
class Bundle:
    """A value: its name, its type at one position, its named axes, and how many dimensions it has besides.

    `value` is its index in the level that it was read from.
    """

    name: str
    type: str
    named: tuple[str, ...]
    rank: int
    value: int = -1


@dataclass(frozen=True, slots=True)
class Knot:
    """What is done with values, at one place of the flow.

    Attributes:
      kind: "input", "op" or "result".
      text: what it does, such as `dot` or `tanh, mul`.
      takes: the values that go in, by number.
      makes: the values that come out.
      ends: the named axes that end here.
      begins: the named axes that begin here.
      line: of the cell, if it is known.
      places: of the equations that it stands for, in the level that it was read from.
    """

    kind: str
    text: str
    takes: tuple[int, ...] = ()
    makes: tuple[int, ...] = ()
    ends: tuple[str, ...] = ()
    begins: tuple[str, ...] = ()
    line: int | None = None
    places: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class AxisFlow:
    """The flow of one mapped function. `kind` is "xmap", "shard_map" or "vmap"."""

    kind: str
    names: tuple[NamedAxis, ...]
    bundles: tuple[Bundle, ...]
    knots: tuple[Knot, ...]
    line: int | None = None


def read_axis_flow(level: Level) -> tuple[AxisFlow, ...]:
    """The maps of a level "jaxpr", in their order.

    >>> read_axis_flow(Level("jaxpr"))
    ()
    """
    found: list[AxisFlow] = []
    for computation in level.computations:
        for op in computation.ops:
            if op.name in _MAPS and op.bodies:
                found.append(_read_map(level, computation, op))
    return tuple(found)


def axis_flow_of(
    level: Level, *, kind: str, resources: Mapping[str, tuple[str, ...]] | None = None, line: int | None = None
) -> AxisFlow:
    """The flow of a computation by itself: the first one of a level.

    Args:
      level: "jaxpr".
      kind: what maps it.
      resources: for each name the axes of the mesh that it is spread over.
      line: of the cell where it is mapped.
    """
    body = level.computations[0]
    return _Reading(level, body, body.input_names, body.output_names).read(kind, resources or {}, line)


def _read_map(level: Level, around: Computation, op: Op) -> AxisFlow:
    body = level.computations[op.bodies[0]]
    attributes = dict(op.attributes)
    if op.name == "xmap":
        resources = _resources(attributes.get("plan", ""))
    else:
        axes = [name for value in body.inputs for name, _ in level.values[value].axes]
        axes += re.findall(r"\w+", attributes.get("newly_manual_axes", ""))
        resources = {name: (name,) for name in axes}
    inputs = [_outer_name(level, around, value) for value in op.inputs]
    outputs = [_result_name(around, value) for value in op.outputs]
    names = dict(zip(body.inputs[max(len(body.inputs) - len(inputs), 0) :], inputs, strict=False))
    while len(body.ops) == 1 and body.ops[0].name == "remat2" and body.ops[0].bodies:  # a loop computes each turn again
        (only,) = body.ops
        inner = level.computations[only.bodies[0]]
        if only.outputs != body.outputs or len(only.inputs) != len(inner.inputs):
            break
        names = {to: names.get(value, "") for to, value in zip(inner.inputs, only.inputs, strict=True)}
        body = inner
    told = [names.get(value, "") for value in body.inputs]
    return _Reading(level, body, told, outputs).read(op.name, resources, op.line)


def _resources(text: str) -> dict[str, tuple[str, ...]]:
    """Names with the mesh axes they are spread over, from `b=x, o=(x, y)`; loops spread nothing."""
    found: dict[str, tuple[str, ...]] = {}
    for name, several, loop, one in _RESOURCE.findall(text):
        if not loop:
            found[name] = tuple(part.strip() for part in several.split(",")) if several else (one,)
    return found


def _outer_name(level: Level, around: Computation, value: int) -> str:
    """What the user calls what goes into a map."""
    makers = {made: op for op in around.ops for made in op.outputs}
    while value in makers and makers[value].name in ("copy", "convert_element_type") and makers[value].inputs:
        value = makers[value].inputs[0]
    if around.input_names and value in around.inputs:
        return around.input_names[around.inputs.index(value)] or level.values[value].name
    return level.values[value].name


def _result_name(around: Computation, value: int) -> str:
    if around.output_names and value in around.outputs:
        return around.output_names[around.outputs.index(value)]
    return ""


class _Reading:
    """What grows while the body of a map is read."""

    def __init__(self, level: Level, body: Computation, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        self._level, self._body = level, body
        self._inputs, self._outputs = inputs, outputs
        self._numbers: dict[int, int] = {}
        self._bundles: list[Bundle] = []
        self._sizes: dict[str, int | None] = {}
        self._order: list[str] = []

    def read(self, kind: str, resources: Mapping[str, tuple[str, ...]], line: int | None) -> AxisFlow:
        knots = [*self._entries(), *self._steps(), *self._results()]
        names = [name for name in self._order if name != "vmap"]
        strands = tuple(NamedAxis(name, self._sizes[name], resources.get(name, ())) for name in names)
        return AxisFlow(kind, strands, tuple(self._bundles), tuple(self._folded(knots)), line)

    def _entries(self) -> Iterator[Knot]:
        names = list(self._inputs) + [""] * (len(self._body.inputs) - len(self._inputs))
        for value, name in zip(self._body.inputs, names, strict=True):
            number = self._new(value, name)
            if number is not None:
                yield Knot("input", self._bundles[number].name, makes=(number,))

    def _steps(self) -> Iterator[Knot]:
        home = self._level.computations.index(self._body)
        for at, op in enumerate(self._body.ops):
            takes = self._known(op.inputs)
            if op.name in _NOTHING and len(takes) == 1 and len(op.outputs) == 1:
                self._numbers[op.outputs[0]] = takes[0]
                continue
            makes = tuple(number for value in op.outputs if (number := self._new(value)) is not None)
            before = dict.fromkeys(name for number in takes for name in self._bundles[number].named)
            after = dict.fromkeys(name for number in makes for name in self._bundles[number].named)
            ends = tuple(name for name in before if name not in after)
            begins = tuple(name for name in after if name not in before)
            called = dict(op.attributes).get("name", op.name) if op.name == "jit" else op.name
            yield Knot("op", _CALLED.get(called, called), takes, makes, ends, begins, op.line, ((home, at),))

    def _results(self) -> Iterator[Knot]:
        names = list(self._outputs) + [""] * (len(self._body.outputs) - len(self._outputs))
        for value, name in zip(self._body.outputs, names, strict=True):
            for number in self._known((value,)):
                yield Knot("result", name or self._bundles[number].name, takes=(number,))

    def _known(self, values: Sequence[int]) -> tuple[int, ...]:
        """The values that are no literals, each once."""
        found = dict.fromkeys(value for value in values if not self._level.values[value].literal)
        return tuple(dict.fromkeys(self._numbers[value] for value in found if value in self._numbers))

    def _new(self, value: int, name: str = "") -> int | None:
        known = self._level.values[value]
        if known.aval is None:
            return None
        for axis, size in known.axes:
            if axis not in self._sizes:
                self._order.append(axis)
            self._sizes[axis] = self._sizes.get(axis) or size
        self._numbers[value] = len(self._bundles)
        named = tuple(axis for axis, _ in known.axes)
        self._bundles.append(Bundle(name or known.name, short_type(known.aval), named, len(known.aval.shape), value))
        return self._numbers[value]

    def _folded(self, knots: Sequence[Knot]) -> list[Knot]:
        """Steps in a row that only change the elements of one value as one knot."""
        uses: dict[int, int] = {}
        for knot in knots:
            for number in knot.takes:
                uses[number] = uses.get(number, 0) + 1
        found: list[Knot] = []
        for knot in knots:
            last = found[-1] if found else None
            if last is not None and self._follows(last, knot, uses):
                found[-1] = replace(
                    last, text=f"{last.text}, {knot.text}", makes=knot.makes, places=last.places + knot.places
                )
            else:
                found.append(knot)
        return found

    def _follows(self, last: Knot, knot: Knot, uses: Mapping[int, int]) -> bool:
        if not (last.kind == knot.kind == "op" and last.line == knot.line and len(last.makes) == len(knot.makes) == 1):
            return False
        if knot.takes != last.makes or uses[last.makes[0]] > 1 or knot.ends or knot.begins or last.ends or last.begins:
            return False
        before, after = self._bundles[last.makes[0]], self._bundles[knot.makes[0]]
        return before.rank == after.rank and before.named == after.named and last.text.count(",") < _MOST_FOLDED - 1
