"""The collectives of a compiled program: what each device sends, over which axes of the mesh, how often, and why.

Bytes are what one device sends to others in one run, by the ring that moves least, for `n` devices in a group and `b`
bytes of operands on a device; a fraction of a byte counts as one:

    all-reduce                      2 b (n - 1) / n      every piece goes around twice, less one step
    reduce-scatter                    b (n - 1) / n
    all-gather                        b (n - 1)          `b` is the piece that a device has before
    all-to-all                        b (n - 1) / n
    collective-permute, -broadcast    b                  if anything leaves a device at all

A start is counted, the done that belongs to it is not; and of a collective that a TPU fuses with the products beside
which it runs, the fusion that begins it. An all-reduce of which every device keeps a piece is a reduce-scatter.
Operands that are literals are counted like others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from jaxnb.program import BACKWARD, Aval, Level, Op, PlacedOp, Program
from jaxnb.program.placement.data import Axis, Mesh
from jaxnb.program.placement.groups import axes_of_groups, axes_of_pairs, parse_groups

if TYPE_CHECKING:
    from jaxnb.program.placement.estimate import Estimate
from jaxnb.program.display import Displayed

__all__ = ["CONTINUES", "SCATTERED", "WRITTEN", "Collective", "Ledger", "count_traffic", "read_ledger"]

CONTINUES, SCATTERED = "continues", "scattered"
"""Attributes of a collective in a fusion of a TPU: of which one it is a part, as one that runs beside products is
written into each of them; and of an all-reduce that every device keeps a piece of its result alone."""

_SENT: Mapping[str, Callable[[int, int], int]] = {
    "all-reduce": lambda b, n: -(-2 * b * (n - 1) // n),
    "reduce-scatter": lambda b, n: -(-b * (n - 1) // n),
    "all-gather": lambda b, n: b * (n - 1),
    "all-to-all": lambda b, n: -(-b * (n - 1) // n),
    "ragged-all-to-all": lambda b, n: -(-b * (n - 1) // n),
    "collective-permute": lambda b, n: b if n > 1 else 0,
    "collective-broadcast": lambda b, n: b if n > 1 else 0,
}
WRITTEN = frozenset(
    {
        *("psum", "psum2", "psum_invariant", "unreduced_psum", "pmax", "pmin", "pbroadcast", "ppermute", "pgather"),
        *("all_gather", "all_gather_invariant", "all_gather_reduced", "all_to_all", "ragged_all_to_all"),
        *("reduce_scatter", "unreduced_reduce_scatter"),
    }
)
"""Primitives that are collectives, as they stand in a jaxpr."""
_SUMS = frozenset({"psum", "psum2", "psum_invariant", "unreduced_psum", "pmax", "pmin"})
_USER = {
    "psum2": "psum",
    "psum_invariant": "psum",
    "unreduced_psum": "psum",
    "all_gather_invariant": "all_gather",
    "all_gather_reduced": "all_gather",
    "reduce_scatter": "psum_scatter",
    "unreduced_reduce_scatter": "psum_scatter",
}
"""What the user calls a primitive, where that is another name."""
_SUMMING = frozenset({"all-reduce", "reduce-scatter"})
_CONTRACTIONS = frozenset({"dot_general", "conv_general_dilated", "ragged_dot_general"})
_REDUCTIONS = ("reduce_", "argm", "cum")
_CONSTRAINTS = frozenset({"sharding_constraint", "reshard", "device_put", "mesh_cast"})


@dataclass(frozen=True, slots=True)
class Collective:
    """One collective of a program.

    Attributes:
      kind: `all-reduce`, `all-gather` and so on.
      values: how many arrays it sends together; XLA merges what it can.
      op: its place in the level "hlo".
      line: of the cell, if it is known.
      eqns: the primitives that it comes from.
      axes: of the mesh, along which it sends; None if they are not those of the mesh, or no mesh is known.
      group: how many devices take part together; None if it is not known.
      payload: bytes of its operands on one device.
      sent: bytes that a device sends in one run; None if `group` or the payload is not known.
      times: how often it runs; None inside of a `while` whose count nobody knows.
      backward: whether it belongs to the backward pass.
      written: whether the user wrote it, or one of those that were merged into it; otherwise XLA put it in.
      why: for what, in a few words.
      lines: those of all that XLA merged into it, `line` among them; none where none is known.
      places: of its equations in the level "jaxpr".
    """

    kind: str
    values: int
    op: tuple[int, int]
    line: int | None
    eqns: tuple[str, ...]
    axes: tuple[str, ...] | None
    group: int | None
    payload: int | None
    sent: int | None
    times: int | None
    backward: bool
    written: bool
    why: str
    lines: tuple[int, ...] = ()
    places: tuple[tuple[int, int], ...] = ()

    @property
    def total(self) -> int | None:
        """Bytes that a device sends in all runs; where nobody knows how many there are, in one."""
        return None if self.sent is None else self.sent * (1 if self.times is None else self.times)


@dataclass(frozen=True, slots=True, repr=False)
class Ledger(Displayed):
    """The collectives of a program in the order in which they stand. It shows itself as a table.

    Attributes:
      items: the collectives.
      mesh: whose axes they are told by; None if none is known.
      source: the cell, whose lines stand beside them.
      estimate: how long they would take on given hardware, and the computation beside them; None if nobody asked.
    """

    items: tuple[Collective, ...]
    mesh: Mesh | None = None
    source: str = ""
    estimate: Estimate | None = field(default=None, compare=False)

    @property
    def total(self) -> int:
        """Bytes that a device sends, of those collectives of which it is known."""
        return sum(item.total or 0 for item in self.items)

    @property
    def complete(self) -> bool:
        """Whether `total` is all; otherwise it is at least so much."""
        return all(item.total is not None and item.times is not None for item in self.items)

    def by_axes(self) -> dict[tuple[str, ...] | None, int]:
        """The total for each combination of axes, the largest first."""
        sums: dict[tuple[str, ...] | None, int] = {}
        for item in self.items:
            sums[item.axes] = sums.get(item.axes, 0) + (item.total or 0)
        return dict(sorted(sums.items(), key=lambda pair: -pair[1]))

    def by_reach(self) -> tuple[int, int] | None:
        """Bytes that a device sends by collectives within one process, and by those between several, which cross
        hosts where these are on several; None where all devices belong to one process."""
        mesh = self.mesh
        if mesh is None or mesh.processes < 2:
            return None
        sums = [0, 0]
        for item in self.items:
            axes = tuple(axis.name for axis in mesh.axes) if item.axes is None else item.axes
            sums[mesh.crosses(axes)] += item.total or 0
        return sums[0], sums[1]

    @property
    def written(self) -> tuple[Collective, ...]:
        """Those that the user wrote; the others XLA put in."""
        return tuple(item for item in self.items if item.written)


def count_traffic(level: Level, devices: int) -> tuple[int, int | None]:
    """How many collectives there are, and the bytes that a device sends in all; None where that is not known.

    Args:
      level: "hlo", with how often each instruction runs.
      devices: for how many it was compiled.

    >>> count_traffic(Level("hlo"), 8)
    (0, 0)
    """
    mesh = Mesh((Axis("devices", devices),))
    found = [op for op in level.ops() if _sends(op)]
    sent = [_sent(_kind(op), _payload(level, op), _members(op, (mesh,))[1]) for op in found]
    told = [count * op.times for op, count in zip(found, sent, strict=True) if count is not None and op.times]
    return len(found), sum(told) if len(told) == len(found) else None


def read_ledger(program: Program, mesh: Mesh | Iterable[Mesh] | None = None) -> Ledger:
    """Reads the collectives of a program. The level "hlo" is made if it was not yet.

    XLA merges collectives of several equations into one, and names one of them. An all-reduce that sends several values
    is taken for those `psum` of the program, too, that have no instruction and a value of that shape; its line is that
    of the equation that XLA names.

    Args:
      program: whose collectives.
      mesh: on which it was compiled, for the names of axes; without one only sizes are known. Of several, the first
        whose axes are those of a collective.

    Raises:
      KeyError: if the program has no level "hlo" and none can be made.
    """
    level = program.level("hlo")
    lost = _lost(program)
    meshes = () if mesh is None else (mesh,) if isinstance(mesh, Mesh) else tuple(mesh)
    items = tuple(_read(program, level, op, meshes, lost) for op in program.ops("hlo") if _sends(op))
    return Ledger(items, meshes[0] if meshes else None, program.source)


def _kind(op: Op) -> str:
    kind = op.name.removesuffix("-start")
    return "reduce-scatter" if kind == "all-reduce" and _has(op, SCATTERED) else kind


def _sends(op: Op) -> bool:
    """Whether an instruction is a collective, and not a part of one that stands elsewhere."""
    return _kind(op) in _SENT and not _has(op, CONTINUES)


def _has(op: Op, attribute: str) -> bool:
    return any(name == attribute for name, _ in op.attributes)


def _read(
    program: Program, level: Level, op: PlacedOp, meshes: Sequence[Mesh], lost: list[tuple[PlacedOp, str]]
) -> Collective:
    kind = _kind(op)
    places = _eqns(program, op.place)
    eqns = [program.level("jaxpr").computations[where].ops[index] for where, index in places]
    if kind == "all-reduce" and len(op.inputs) > 1:
        merged = _merged(level, op, lost)
        eqns, places = [*eqns, *merged], [*places, *(eqn.place for eqn in merged)]
    names = tuple(dict.fromkeys(_USER.get(eqn.name, eqn.name) for eqn in eqns))
    axes, size = _members(op, meshes)
    payload = _payload(level, op)
    lines = [op.line, *(eqn.line for eqn in eqns)]
    return Collective(
        kind=kind,
        values=1 if kind == "all-to-all" else len(op.inputs),
        op=op.place,
        line=next((line for line in lines if line is not None), None),
        eqns=names,
        axes=axes,
        group=size,
        payload=payload,
        sent=_sent(kind, payload, size),
        times=op.times,
        backward=_is_backward(op, eqns),
        written=any(eqn.name in WRITTEN for eqn in eqns),
        why=_why(kind, names, next((_USER.get(eqn.name, eqn.name) for eqn in eqns if eqn.name in WRITTEN), "")),
        lines=tuple(sorted({line for line in lines if line is not None})),
        places=tuple(dict.fromkeys(places)),
    )


def _is_backward(op: Op, eqns: Sequence[Op]) -> bool:
    """Whether a collective belongs to the backward pass; one that was merged does if most of it does."""
    phases = [eqn.phase for eqn in eqns] if len(eqns) > 1 else [op.phase]
    return 2 * sum(phase in BACKWARD for phase in phases) > len(phases)


def _members(op: Op, meshes: Sequence[Mesh]) -> tuple[tuple[str, ...] | None, int | None]:
    """Along which axes a collective sends, and how many devices take part together."""
    attributes = dict(op.attributes)
    text = attributes.get("source_target_pairs", "") or attributes.get("replica_groups", "")
    return _read_members(text, _kind(op) == "collective-permute", tuple(meshes))


@lru_cache(maxsize=256)  # a program has few different groups, which are many numbers
def _read_members(text: str, permutes: bool, meshes: tuple[Mesh, ...]) -> tuple[tuple[str, ...] | None, int | None]:
    groups = parse_groups(text)
    if permutes:
        moved = [pair for pair in groups if pair[0] != pair[-1]]
        found = (axes_of_pairs(moved, mesh) for mesh in meshes)
        size = 2 if moved else 1
    else:
        found = (axes_of_groups(groups, mesh) for mesh in meshes)
        size = max(map(len, groups), default=meshes[0].size if meshes else None)
    return next((axes for axes in found if axes is not None), None), size


def _sent(kind: str, payload: int | None, size: int | None) -> int | None:
    return None if size is None or payload is None else _SENT[kind](payload, size)


def _eqns(program: Program, place: tuple[int, int]) -> list[tuple[int, int]]:
    return list(program.linked("hlo", place, "jaxpr")) if "jaxpr" in program.level_names else []


def _payload(level: Level, op: Op) -> int | None:
    total = 0
    for index in op.inputs:
        aval = level.values[index].aval
        if aval is None or aval.nbytes is None:
            return None
        total += aval.nbytes
    return total


def _lost(program: Program) -> list[tuple[PlacedOp, str]]:
    """The sums over devices that no instruction bears, each with the aval of what it sums."""
    if "jaxpr" not in program.level_names:
        return []
    values = program.level("jaxpr").values
    found = [op for op in program.ops("jaxpr") if op.name in _SUMS and not program.linked("jaxpr", op.place, "hlo")]
    return [(op, _plain(values[index].aval)) for op in found for index in op.outputs]


def _merged(level: Level, op: Op, lost: list[tuple[PlacedOp, str]]) -> list[PlacedOp]:
    """Those lost sums that are among the values of an all-reduce; each is found once."""
    found: list[PlacedOp] = []
    for index in op.inputs:
        aval = _plain(level.values[index].aval)
        match = next((item for item in lost if item[1] == aval), None)
        if match is not None:
            lost.remove(match)
            found.append(match[0])
    return found


def _plain(aval: Aval | None) -> str:
    return "" if aval is None else f"{aval.dtype}{list(aval.shape)}"


def _why(kind: str, names: Sequence[str], written: str) -> str:
    if written:
        return written
    if any(name in _CONSTRAINTS for name in names):
        return "asked for by a sharding"
    if kind in _SUMMING and any(name in _CONTRACTIONS for name in names):
        return "contraction over a sharded axis"
    if kind in _SUMMING and any(name.startswith(_REDUCTIONS) for name in names):
        return "reduction over a sharded axis"
    return f"resharding for {names[0]}" if names else "resharding"
