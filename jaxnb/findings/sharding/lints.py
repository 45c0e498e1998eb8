"""What is odd about how a program is spread over devices: what is gathered, copied, cut unevenly, or done many times.

Each is found once the program was compiled, from its instructions and from how its inputs and results lie. What
changes that is tried only when somebody asks (`trials`), because it takes a compilation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax

from jaxnb._jax import given_shardings, open_jaxpr
from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.lints.hlo_flow import HloFlow
from jaxnb.program import Aval, Collective, Finding, Fix, Op, Place, Placement
from jaxnb.reading import (
    Equations,
    Rematerialised,
    Spread,
    count_devices,
    placed,
    read_name,
    read_rematerialised,
    read_spread,
)
from jaxnb.staging import Piece, line_reading, render_path, root_name
from jaxnb.units import format_bytes

__all__ = ["LARGE", "MANY", "Problem", "find_problems", "is_spread", "sharding_findings", "spread_of"]

LARGE = 1 << 20
"""Bytes of a value from which on it matters that it is whole on each device."""
MANY = 1 << 16
"""Bytes that a device sends from which on they matter."""

_CALLBACKS = {
    "pure_callback": "jax.pure_callback",
    "io_callback": "io_callback",
    "debug_callback": "jax.debug.callback",
    "debug_print": "jax.debug.print",
}
_DETAIL = re.compile(r"\[[^\]]*\]|\d[\d.,]*")
_LOCAL = {"debug_print": "print", "debug_callback": "callback"}
_CONSTRAINTS = {"sharding_constraint": "sharding", "reshard": "dst_sharding"}
_LOOPS = frozenset({"scan", "while", "remat2"})
_CONTRACTIONS = frozenset({"dot_general", "conv_general_dilated", "ragged_dot_general"})


@dataclass(frozen=True)
class Problem:
    """Something odd, and what may be changed about it.

    Attributes:
      finding: what is said of it, with advice.
      gain: what a change is to make less: "sent", "peak" or "flops" of a device, "padding", or what is "moved" in each
        run.
      line: whose result may be constrained; None where that is no use.
      shape: of that result.
      inputs: names of inputs that may be spread otherwise.
      operand: the function on that line whose first argument may be constrained, with the shape of that.
      local: the function of `jax.debug` that may take the pieces of each device.
      trades: whether less may be sent for more memory.
      cuts: how the program takes the input: for each dimension the axes that cut it.
    """

    finding: Finding
    gain: str
    line: int | None = None
    shape: tuple[int, ...] = ()
    inputs: tuple[str, ...] = ()
    operand: tuple[str, tuple[int, ...]] = ("", ())
    local: str = ""
    trades: bool = False
    cuts: tuple[tuple[str, ...], ...] = ()


def sharding_findings(traced: LintContext) -> Iterator[Finding]:
    """What is odd about how a piece is spread over devices."""
    for problem in find_problems(traced):
        yield problem.finding


def find_problems(traced: LintContext, warnings: Sequence[str] = ()) -> list[Problem]:
    """The same with what may be changed, the costliest kinds first; none on a single device.

    Args:
      traced: the piece.
      warnings: what XLA wrote while it compiled the program, by lines; by default what is known of that.
    """
    spread = spread_of(traced)
    lines = warnings or getattr(traced.piece.compiled, "warnings", ())
    return [] if spread is None else _first_of_each(_Looking(traced, spread, read_rematerialised(lines)).all())


def _first_of_each(problems: Iterable[Problem]) -> list[Problem]:
    """The first of those on a line that are alike but for keys and numbers, as the unrolled layers of a model are."""
    alike: dict[Any, list[Problem]] = {}
    for problem in problems:
        said = _DETAIL.sub("", problem.finding.message)
        key = (problem.finding.line, problem.gain, problem.operand, problem.shape, said)
        alike.setdefault(key, []).append(problem)
    found: list[Problem] = []
    for first, *more in alike.values():
        if more:
            count = f"{len(more)} more {'is' if len(more) == 1 else 'are'} like it"
            message = f"{first.finding.message.removesuffix('.')}; {count}."
            first = replace(first, finding=replace(first.finding, message=message))
        found.append(first)
    return found


def spread_of(traced: LintContext) -> Spread | None:
    """A piece as a program of several devices."""
    piece = traced.piece
    return read_spread(piece.jaxpr, traced.level, piece.compiled, traced.cell.shown) if is_spread(piece) else None


def is_spread(piece: Piece) -> bool:
    """Whether a piece was compiled for several devices."""
    if piece.figures is not None and piece.figures.devices:
        return piece.figures.devices > 1
    return piece.compiled is not None and count_devices(piece.compiled) > 1


class _Looking:
    """One piece, and what several detectors need of it."""

    def __init__(self, traced: LintContext, spread: Spread, warned: Sequence[Rematerialised] = ()) -> None:
        self._traced, self._spread, self._warned = traced, spread, warned
        self._jaxpr = open_jaxpr(traced.piece.jaxpr)
        names = [render_path(path) for path in traced.piece.paths]
        self._first = len(self._jaxpr.invars) - len(names)
        self._names = [""] * self._first + names
        self._told: set[Place] = set()

    def all(self) -> Iterator[Problem]:
        yield from self._callbacks()
        yield from self._uneven()
        yield from self._gathers()
        yield from self._made_whole()
        yield from self._copied()
        yield from self._idle()

    # --- what is gathered ---

    @cached_property
    def _flow(self) -> HloFlow:
        return HloFlow(self._spread.hlo)

    @cached_property
    def _by_eqn(self) -> dict[Place | None, list[Collective]]:
        """The collectives that XLA put in, by the equation that they are for."""
        found: dict[Place | None, list[Collective]] = {}
        for item in self._spread.ledger.items:
            if not item.written:
                places = self._spread.program.linked("hlo", item.op, "jaxpr")
                found.setdefault(next(iter(places), None), []).append(item)
        return found

    def _callbacks(self) -> Iterator[Problem]:
        """What Python is called with is brought together on one device first."""
        for place, items in self._by_eqn.items():
            op = None if place is None else self._spread.op(place)
            gathered = [item for item in items if item.kind == "all-gather"]
            sent = _sent(gathered)
            if op is None or op.name not in _CALLBACKS or sent < MANY or place is None:
                continue
            self._told.add(place)
            called = _CALLBACKS[op.name]
            message = (
                f"{called} takes {self._operands(op)} whole: a device sends {format_bytes(sent)} to bring it together, "
                "and it is copied to the host, in each run."
            )
            local = _LOCAL.get(op.name, "")
            more = "; partitioned=True gives it the piece of each device" if local else ""
            fix = Fix(f"give it less, such as a sum or a few rows{more}.")
            finding = Finding("sharding", message, gathered[0].line, fix=fix)
            yield Problem(finding, "sent", gathered[0].line, local=local)

    def _operands(self, op: Op) -> str:
        values = self._spread.jaxpr.values
        largest = max(op.inputs, key=lambda index: getattr(values[index].aval, "nbytes", 0) or 0)
        return f"{values[largest].aval}"

    def _gathers(self) -> Iterator[Problem]:
        for place, items in self._by_eqn.items():
            gathers = [item for item in items if item.kind == "all-gather"]
            if place is None or place in self._told or not gathers:
                continue
            op = self._spread.op(place)
            sent = _sent(gathers)
            if sent < MANY:
                continue
            last = gathers[-1]
            made = self._spread.hlo.computations[last.op[0]].ops[last.op[1]]
            warned = self._warning(place, op)
            if warned is not None or self._flow.is_cut_again(made.outputs[0]):
                yield self._cut_again(op, items, warned)
                continue
            number = self._flow.origin(self._gathered(gathers[0]))
            name = self._input_name(number)
            if last.backward and name:
                yield self._for_backward(name, gathers, sent)
            elif last.why != "asked for by a sharding" and self._is_silent(op, made, name):
                yield self._made_large(op, made, name, gathers, sent)

    def _gathered(self, item: Collective) -> int:
        return self._spread.hlo.computations[item.op[0]].ops[item.op[1]].inputs[0]

    def _input_name(self, number: int | None) -> str:
        """What the user calls an input of the compiled program, which has none for what it does not read."""
        if number is None:
            return ""
        count = len(self._spread.hlo.computations[0].inputs)
        kept = [n for n, _ in enumerate(self._names) if count == len(self._names) or self._spread.inputs[n] is not None]
        return self._names[kept[number]] if number < len(kept) == count else ""

    @cached_property
    def _warned_of(self) -> list[tuple[Rematerialised, Place | None]]:
        """What XLA warns of, each with the equation that makes the array; None for an input."""
        if not self._warned:
            return []
        equations = Equations(self._spread.closed_jaxpr, self._spread.jaxpr)
        return [(item, equations.find(read_name(item.op_name).path)) for item in self._warned]

    def _warning(self, place: Place, op: Op) -> Rematerialised | None:
        """What XLA itself warns of at an equation, or at what makes its operands."""
        if not self._warned:
            return None
        ops, values = self._spread.jaxpr.computations[place[0]].ops, self._spread.jaxpr.values
        near = {place, *((place[0], n) for n, one in enumerate(ops) if set(one.outputs) & set(op.inputs))}
        given = {values[index].aval for index in op.inputs if index in self._spread.jaxpr.computations[place[0]].inputs}
        for item, where in self._warned_of:
            if where in near or (where is None and any(_may_be_piece(item, aval) for aval in given)):
                return item
        return None

    def _cut_again(self, op: Op, items: Sequence[Collective], warned: Rematerialised | None) -> Problem:
        """Full rematerialisation: XLA knows no way from one sharding to the other but by way of the whole."""
        value = self._spread.jaxpr.values[op.inputs[0]]
        over = ", ".join(dict.fromkeys(axis for item in items for axis in item.axes or ()))
        message = (
            f"to spread {value.aval} anew, XLA gathers it on every device{f' over {over}' if over else ''} and then "
            f"cuts it again: a device sends {format_bytes(_sent(items))}."
        )
        if warned is not None:
            message += f" XLA warns of it: {warned.said}"
        fix = Fix("keep the axes of the mesh on the dimensions where they are, or move one at a time.")
        finding = Finding("sharding", message, items[0].line, fix=fix)
        return Problem(finding, "sent", items[0].line, self._shape_of(op))

    def _for_backward(self, name: str, items: Sequence[Collective], sent: int) -> Problem:
        times = f", {items[0].times} times" if items[0].times not in (1, None) else ""
        message = (
            f"the backward pass gathers `{name}` whole on every device{times}: a device sends {format_bytes(sent)}."
        )
        fix = Fix("spread it along another dimension, or keep it whole if there is room.")
        finding = Finding("sharding", message, items[0].line, holder=name, fix=fix)
        return Problem(finding, "sent", None, (), (name,), trades=True)

    def _is_silent(self, op: Op, made: Op, name: str) -> bool:
        """Whether a large value becomes whole, and not just the smaller side of a product, which is what one wants."""
        size = getattr(self._spread.hlo.values[made.outputs[0]].aval, "nbytes", 0) or 0
        if size < LARGE or (name and op.name in _LOOPS):  # what a loop takes a part of in each turn is a parameter
            return False
        values = self._spread.jaxpr.values
        sizes = [getattr(values[index].aval, "nbytes", 0) or 0 for index in (*op.inputs, *op.outputs)]
        return op.name not in _CONTRACTIONS or size > sorted(sizes)[0]

    def _made_large(self, op: Op, made: Op, name: str, items: Sequence[Collective], sent: int) -> Problem:
        what = f"`{name}`" if name else str(self._spread.jaxpr.values[op.inputs[0]].aval)
        over = ", ".join(dict.fromkeys(axis for item in items for axis in item.axes or ()))
        size = getattr(self._spread.hlo.values[made.outputs[0]].aval, "nbytes", 0) or 0
        message = (
            f"for {op.name}, {what} is gathered{f' over {over}' if over else ''}: every device then holds "
            f"{format_bytes(size)} of it, and sends {format_bytes(sent)}."
        )
        mapped = "lay other names on the axes of the mesh: --resources auto tries all ways."
        advice = "say how the result is to be spread: jax.lax.with_sharding_constraint."
        finding = Finding(
            "sharding", message, items[0].line, holder=name, fix=Fix(mapped if op.name == "xmap" else advice)
        )
        taken = self._spread.jaxpr.values[op.inputs[0]].aval if op.inputs else None
        operand = (op.name, tuple(int(size) for size in taken.shape)) if taken is not None else ("", ())
        inputs = (name,) if name else ()
        return Problem(finding, "sent", items[0].line, self._shape_of(op), inputs, operand)

    def _shape_of(self, op: Op) -> tuple[int, ...]:
        aval = self._spread.jaxpr.values[op.outputs[0]].aval if op.outputs else None
        return tuple(int(size) for size in aval.shape) if aval is not None else ()

    # --- what is spread oddly ---

    def _uneven(self) -> Iterator[Problem]:
        """Constraints under which some devices get less than others."""
        ops = self._spread.jaxpr.computations[0].ops
        for eqn, op in zip(self._jaxpr.eqns, ops, strict=True):
            name = _CONSTRAINTS.get(eqn.primitive.name)
            lies = placed(eqn.params[name], eqn.outvars[0].aval) if name is not None else None
            if lies is None or not lies.uneven or lies.nbytes < MANY:
                continue
            wasted = 1 - lies.nbytes / (lies.most * len(lies.boxes) / max(lies.copies, 1))
            at, parts = _uneven_dimension(lies)
            message = (
                f"{lies.aval} does not divide into {parts} pieces along dim {at}: {_pieces_text(lies, at)}, so that "
                f"{100 * wasted:.2g} % of what devices hold and compute is padding."
            )
            fix = Fix(f"pad dim {at} to a multiple of {parts}, or split a dimension that divides.")
            yield Problem(Finding("sharding", message, op.line, fix=fix), "padding", op.line, lies.shape)

    def _made_whole(self) -> Iterator[Problem]:
        """Large results that every device computes for itself, out of nothing that is as large."""
        if not any(lies is not None and lies.copies < len(lies.boxes) for lies in self._spread.inputs):
            return
        computation = self._spread.jaxpr.computations[0]
        makers = {value: number for number, op in enumerate(computation.ops) for value in op.outputs}
        for name, number in self._traced.piece.results:
            lies = self._spread.results[number]
            if lies is None or lies.nbytes < LARGE or lies.copies < self._spread.devices:
                continue
            maker = makers.get(computation.outputs[number])
            if maker is None or self._is_asked(number) or self._largest_source(maker) * 2 > lies.nbytes:
                continue
            line = computation.ops[maker].line
            message = (
                f"`{name}`, {lies.aval}, is computed and held whole by each of {self._spread.devices} devices: "
                f"{format_bytes(lies.nbytes)} each."
            )
            fix = Fix("say how it is to be spread: jax.lax.with_sharding_constraint.")
            yield Problem(Finding("sharding", message, line, holder=name, fix=fix), "peak", line, lies.shape)

    def _is_asked(self, number: int) -> bool:
        var: Any = self._jaxpr.outvars[number]
        eqn = next((eqn for eqn in self._jaxpr.eqns if var in eqn.outvars), None)
        if eqn is None or eqn.primitive.name in (*_CONSTRAINTS, "shard_map"):
            return True
        wanted: Sequence[Any] = eqn.params.get("out_shardings", ())
        at = list(eqn.outvars).index(var)
        return at < len(wanted) and isinstance(wanted[at], jax.sharding.Sharding)

    def _largest_source(self, maker: int) -> int:
        """Bytes of the largest input that a value is computed from."""
        computation = self._spread.jaxpr.computations[0]
        makers = {value: number for number, op in enumerate(computation.ops) for value in op.outputs}
        waiting, seen, most = [maker], {maker}, 0
        while waiting:
            for value in computation.ops[waiting.pop()].inputs:
                if value in makers:
                    if makers[value] not in seen:
                        seen.add(makers[value])
                        waiting.append(makers[value])
                elif value in computation.inputs:
                    most = max(most, getattr(self._spread.jaxpr.values[value].aval, "nbytes", 0) or 0)
        return most

    def _copied(self) -> Iterator[Problem]:
        """Large inputs that lie elsewhere than the program takes them, and are moved in each run."""
        if self._traced.piece.simulated is not None:  # shapes lie nowhere
            return
        for number, given in enumerate(given_shardings(self._traced.piece.traced)):
            at = self._first + number
            lies = self._spread.inputs[at] if at < len(self._spread.inputs) else None
            if lies is None or len(lies.boxes) == 1 or lies.nbytes < LARGE:
                continue
            where = _lives(given)
            if not where or at >= len(self._names):
                continue
            name = self._names[at]
            line = line_reading(self._traced.statements, root_name(self._traced.piece.paths[number]))
            how = "copied whole" if lies.copies == len(lies.boxes) else "cut up and sent"
            sent = format_bytes(sum(lies.per_device))
            message = f"`{name}` lies {where}, and is {how} to {len(lies.boxes)} devices in each run: {sent}."
            spec = lies.spec or "P()"
            put = f"{name} = jax.device_put({name}, jax.NamedSharding(mesh, jax.{spec}))"
            fix = Fix(f"put it there once, in a cell above: {put}.")
            finding = Finding("sharding", message, line, holder=name, fix=fix)
            yield Problem(finding, "moved", None, (), (name,), cuts=lies.cuts)

    def _idle(self) -> Iterator[Problem]:
        """Axes of the mesh along which all devices do the same."""
        mesh = self._spread.mesh
        lying = [lies for lies in (*self._spread.inputs, *self._spread.results) if lies is not None]
        largest = max((lies for lies in lying), key=lambda lies: lies.nbytes, default=None)
        if mesh is None or largest is None or largest.nbytes < LARGE:
            return
        used = {axis for lies in lying for names in lies.cuts for axis in names} | self._named_axes()
        used |= {axis for item in self._spread.ledger.items for axis in item.axes or ()}
        if any(item.axes is None for item in self._spread.ledger.items) or not used:
            return
        for axis in mesh.axes:
            if axis.size == 1 or axis.name in used:
                continue
            splits = [n for n, lies in enumerate(self._spread.inputs) if lies is not None and any(lies.cuts)]
            name = (
                self._names[max(splits, key=lambda n: getattr(self._spread.inputs[n], "nbytes", 0))] if splits else ""
            )
            line = line_reading(self._traced.statements, name.partition("[")[0].partition(".")[0]) if name else None
            message = (
                f"nothing is split over the axis {axis.name} of the mesh: its {axis.size} devices hold and compute the "
                "same."
            )
            fix = Fix(f"split an input over {axis.name} as well, or leave the axis out of the mesh.")
            finding = Finding("sharding", message, line or self._traced.statements[0].span.line, holder=name, fix=fix)
            yield Problem(finding, "flops", None, (), (name,) if name else ())

    def _named_axes(self) -> set[str]:
        """The axes that equations speak of, a `shard_map` or a constraint."""
        found: set[str] = set()
        for part in self._traced.parts:
            for eqn in part.jaxpr.eqns:
                name = _CONSTRAINTS.get(eqn.primitive.name)
                if name is not None:
                    found |= _axes_in(getattr(eqn.params[name], "spec", ()))
                elif eqn.primitive.name == "shard_map":
                    for spec in (*eqn.params["in_specs"], *eqn.params["out_specs"]):
                        found |= _axes_in(spec)
                elif eqn.primitive.name == "xmap":
                    found |= {str(axis) for _, axes in eqn.params["plan"].spread for axis in axes}
        return found


def _may_be_piece(item: Rematerialised, aval: Aval | None) -> bool:
    """Whether what XLA warns of may be the piece of an array that a device has: the same dtype, as many dimensions."""
    dtype, _, sizes = item.aval.rstrip("]").partition("[")
    return aval is not None and dtype == aval.dtype and len(list(filter(None, sizes.split(",")))) == len(aval.shape)


def _axes_in(spec: Iterable[Any]) -> set[str]:
    entries = (entry for entry in spec if isinstance(entry, str | tuple))
    return {str(axis) for entry in entries for axis in ((entry,) if isinstance(entry, str) else entry)}


def _sent(items: Iterable[Collective]) -> int:
    return sum(item.total or 0 for item in items)


def _lives(sharding: Any) -> str:
    """Where an array lies that is not spread over devices; "" for one that is."""
    if sharding is None:
        return "on the host"
    if isinstance(sharding, jax.sharding.Sharding) and len(sharding.device_set) == 1:
        (device,) = sharding.device_set
        return f"on {device.platform}:{device.id}"
    return ""


def _uneven_dimension(lies: Placement) -> tuple[int, int]:
    """The first dimension that does not divide, and into how many pieces it is cut."""
    sizes = {axis.name: axis.size for axis in lies.mesh.axes} if lies.mesh is not None else {}
    parts = [math.prod(sizes[name] for name in names) for names in lies.cuts]
    return next((at, count) for at, count in enumerate(parts) if lies.shape[at] % count)


def _pieces_text(lies: Placement, at: int) -> str:
    lengths = [box[at][1] - box[at][0] for box in lies.boxes]
    return f"they hold {min(lengths)} to {max(lengths)} of {lies.shape[at]}"
