"""The collectives of a compiled program: what each device sends, over which axes of the mesh, how often, and why.

Bytes are what one device sends to others in one run, by the ring that moves least, for `n` devices in a group and `b`
bytes of operands on a device; a fraction of a byte counts as one:

    all-reduce                      2 b (n - 1) / n      every piece goes around twice, less one step
    reduce-scatter                    b (n - 1) / n
    all-gather                        b (n - 1)          `b` is the piece that a device has before
    all-to-all                        b (n - 1) / n
    collective-permute, -broadcast    b                  if anything leaves a device at all

A start is counted, the done that belongs to it is not. Operands that are literals are counted like others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jaxnb.placement.data import Mesh
from jaxnb.placement.groups import axes_of_groups, axes_of_pairs, parse_groups
from jaxnb.program import Aval, Level, Op, PlacedOp, Program

__all__ = ["Collective", "Ledger", "read_ledger"]

_SENT: Mapping[str, Callable[[int, int], int]] = {
    "all-reduce": lambda b, n: -(-2 * b * (n - 1) // n),
    "reduce-scatter": lambda b, n: -(-b * (n - 1) // n),
    "all-gather": lambda b, n: b * (n - 1),
    "all-to-all": lambda b, n: -(-b * (n - 1) // n),
    "ragged-all-to-all": lambda b, n: -(-b * (n - 1) // n),
    "collective-permute": lambda b, n: b if n > 1 else 0,
    "collective-broadcast": lambda b, n: b if n > 1 else 0,
}
_WRITTEN = frozenset(
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

    @property
    def total(self) -> int | None:
        """Bytes that a device sends in all runs; where nobody knows how many there are, in one."""
        return None if self.sent is None else self.sent * (1 if self.times is None else self.times)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The collectives of a program in the order in which they stand."""

    items: tuple[Collective, ...]
    mesh: Mesh | None = None

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


def read_ledger(program: Program, mesh: Mesh | None = None) -> Ledger:
    """Reads the collectives of a program. The level "hlo" is made if it was not yet.

    XLA merges collectives of several equations into one, and names one of them. An all-reduce that sends several values
    is taken for those `psum` of the program, too, that have no instruction and a value of that shape; its line is that
    of the equation that XLA names.

    Args:
      program: whose collectives.
      mesh: on which it was compiled, for the names of axes; without one only sizes are known.

    Raises:
      KeyError: if the program has no level "hlo" and none can be made.
    """
    level = program.level("hlo")
    lost = _lost(program)
    return Ledger(tuple(_read(program, level, op, mesh, lost) for op in program.ops("hlo") if _kind(op) in _SENT), mesh)


def _kind(op: Op) -> str:
    return op.name.removesuffix("-start")


def _read(program: Program, level: Level, op: PlacedOp, mesh: Mesh | None, lost: list[tuple[Op, str]]) -> Collective:
    kind, attributes = _kind(op), dict(op.attributes)
    eqns = _eqns(program, op.place)
    if kind == "all-reduce" and len(op.inputs) > 1:
        eqns = [*eqns, *_merged(level, op, lost)]
    names = tuple(dict.fromkeys(_USER.get(eqn.name, eqn.name) for eqn in eqns))
    text = attributes.get("source_target_pairs", "") or attributes.get("replica_groups", "")
    groups = parse_groups(text)
    if kind == "collective-permute":
        moved = [pair for pair in groups if pair[0] != pair[-1]]
        size = 2 if moved else 1
        axes = axes_of_pairs(moved, mesh) if mesh is not None else None
    else:
        size = max(map(len, groups), default=mesh.size if mesh is not None else None)
        axes = axes_of_groups(groups, mesh) if mesh is not None else None
    payload = _payload(level, op)
    sent = None if size is None or payload is None else _SENT[kind](payload, size)
    lines = [op.line, *(eqn.line for eqn in eqns)]
    written = any(eqn.name in _WRITTEN for eqn in eqns)
    return Collective(
        kind=kind,
        values=1 if kind == "all-to-all" else len(op.inputs),
        op=op.place,
        line=next((line for line in lines if line is not None), None),
        eqns=names,
        axes=axes,
        group=size,
        payload=payload,
        sent=sent,
        times=op.times,
        backward=op.phase in ("transposed", "rematerialised"),
        written=written,
        why=_why(names, next((_USER.get(eqn.name, eqn.name) for eqn in eqns if eqn.name in _WRITTEN), "")),
    )


def _eqns(program: Program, place: tuple[int, int]) -> Sequence[Op]:
    if "jaxpr" not in program.level_names:
        return ()
    computations = program.level("jaxpr").computations
    return [computations[where].ops[index] for where, index in program.linked("hlo", place, "jaxpr")]


def _payload(level: Level, op: Op) -> int | None:
    total = 0
    for index in op.inputs:
        aval = level.values[index].aval
        if aval is None or aval.nbytes is None:
            return None
        total += aval.nbytes
    return total


def _lost(program: Program) -> list[tuple[Op, str]]:
    """The sums over devices that no instruction bears, each with the aval of what it sums."""
    if "jaxpr" not in program.level_names:
        return []
    values = program.level("jaxpr").values
    found = [op for op in program.ops("jaxpr") if op.name in _SUMS and not program.linked("jaxpr", op.place, "hlo")]
    return [(op, _plain(values[index].aval)) for op in found for index in op.outputs]


def _merged(level: Level, op: Op, lost: list[tuple[Op, str]]) -> list[Op]:
    """Those lost sums that are among the values of an all-reduce; each is found once."""
    found: list[Op] = []
    for index in op.inputs:
        aval = _plain(level.values[index].aval)
        match = next((item for item in lost if item[1] == aval), None)
        if match is not None:
            lost.remove(match)
            found.append(match[0])
    return found


def _plain(aval: Aval | None) -> str:
    return "" if aval is None else f"{aval.dtype}{list(aval.shape)}"


def _why(names: Sequence[str], written: str) -> str:
    if written:
        return written
    if any(name in _CONTRACTIONS for name in names):
        return "contraction over a sharded axis"
    if any(name.startswith(_REDUCTIONS) for name in names):
        return "reduction over a sharded axis"
    if any(name in _CONSTRAINTS for name in names):
        return "asked for by a sharding"
    return f"resharding for {names[0]}" if names else "resharding"
