"""What is said of a mesh, a placement and a pytree in words, the same in the text and in the picture."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jaxnb.program import Device, Leaf, Mesh, Placement, Tree
from jaxnb.units import format_bytes

__all__ = [
    "leaf_cells",
    "mesh_facts",
    "mesh_title",
    "placement_facts",
    "placement_title",
    "tree_facts",
    "tree_title",
    "where_text",
]


def mesh_title(mesh: Mesh) -> str:
    """`mesh x=4, y=2`."""
    return f"mesh {mesh}" if mesh.axes else "a mesh without axes"


def mesh_facts(mesh: Mesh) -> list[str]:
    """What there is to say beside the axes, each fact in a few words."""
    if mesh.abstract:
        return [f"{_count(mesh.size, 'device')} that need not exist", *_types(mesh)]
    facts = [f"{_count(len(mesh.devices), 'device')}, {_kinds(mesh.devices)}", *_types(mesh)]
    processes = len({device.process for device in mesh.devices})
    return [*facts, *([f"{processes} processes"] if processes > 1 else [])]


def placement_title(placement: Placement, name: str = "") -> str:
    """`w float32[8,4] · P('x', None) on x=4, y=2`."""
    named = f"{name} {placement.aval}" if name else placement.aval
    return f"{named} · {where_text(placement)}"


def placement_facts(placement: Placement) -> list[str]:
    """What there is to say of a placement, each fact in a few words, what matters most first."""
    pieces = [group for group in placement.groups if group.box is not None]
    count = len(placement.boxes)
    facts: list[str] = []
    if not pieces:
        facts.append("no elements: there is nothing to hold")
    elif placement.itemsize:
        least, most = min(placement.per_device), placement.most
        size = (
            f"{format_bytes(most)} a device"
            if least == most
            else f"{format_bytes(least)} to {format_bytes(most)} a device"
        )
        facts.append(f"{size}, {format_bytes(placement.nbytes)} in all" if count > 1 else format_bytes(most))
    if pieces:
        facts += _pieces(placement, len(pieces), count)
    if placement.uneven:
        short = sum(count < max(placement.counts) for count in placement.counts)
        facts.append(f"uneven: {_count(short, 'device')} hold{'s' * (short == 1)} less")
    if placement.pending:
        kind = re.search(r"unreduced_kind=(\w+)", placement.spec)
        what = f"reduced by {kind[1]}" if kind else "summed"
        facts.append(f"still to be {what} over {', '.join(placement.pending)}")
    manual = [axis.name for axis in placement.mesh.axes if axis.type == "manual"] if placement.mesh is not None else []
    if manual:
        facts.append(f"{', '.join(manual)} manual: devices along it may hold values of their own")
    facts += [f"dim {index} is left to the compiler" for index in placement.free]
    if placement.memory not in ("", "device"):
        facts.append(f"in {placement.memory} memory")
    if placement.elsewhere:
        facts.append(f"{placement.elsewhere} of {_count(count, 'device')} belong to other processes")
    return facts


def tree_title(tree: Tree) -> str:
    """`params · 4 arrays`."""
    arrays = _count(sum(leaf.placement is not None for leaf in tree.leaves), "array")
    return f"{tree.name} · {arrays}" if tree.name else arrays


def tree_facts(tree: Tree) -> list[str]:
    """What all leaves take together, and on which device most."""
    held = tree.by_device()
    facts = [f"{format_bytes(tree.nbytes)} in all"]
    if held:
        sizes = [count for _, count in held]
        most = max(held, key=lambda item: item[1])
        if min(sizes) == max(sizes):
            facts.append(f"{format_bytes(max(sizes))} on {'each of ' * (len(held) > 1)}{_count(len(held), 'device')}")
        else:
            facts.append(f"at most {format_bytes(most[1])} on a device ({most[0].platform}:{most[0].id})")
        kept = sum(sizes)
        if kept > tree.nbytes > 0:
            facts.append(f"{format_bytes(kept - tree.nbytes)} of copies")
    return facts


def leaf_cells(leaf: Leaf) -> tuple[str, str, str, str, str]:
    """A row of the table: path, array, sharding, bytes a device, copies."""
    placed = leaf.placement
    if placed is None:
        return leaf.path, leaf.text, leaf.note, "", ""
    size = format_bytes(placed.most) if placed.itemsize else ""
    copies = f"×{placed.copies}" if placed.copies > 1 else ""
    notes = [*(["uneven"] if placed.uneven else []), *([placed.memory] if placed.memory not in ("", "device") else [])]
    return leaf.path, leaf.text, ", ".join([where_text(placed, short=True), *notes]), size, copies


def where_text(placement: Placement, *, short: bool = False) -> str:
    """By what an array lies where it does: `P('x') on x=4, y=2`, `cpu:3`; `short`, without the mesh."""
    if placement.kind == "named":
        return placement.spec if short else f"{placement.spec} on {placement.mesh}"
    if placement.kind == "single device" and placement.devices:
        return f"{placement.devices[0].platform}:{placement.devices[0].id}"
    # XLA's own: it says which device has which tile, and no axes.
    return f"by position ({placement.kind})"


def _pieces(placement: Placement, pieces: int, count: int) -> list[str]:
    along = f" along {', '.join(placement.idle_axes)}" if placement.idle_axes else ""
    if count == 1:
        return ["whole"]
    if pieces == 1 and placement.copies == count and not placement.pending:
        return [f"replicated{along}: every device holds the whole"]
    told = _count(pieces, "piece")
    several = "copies" if _are_copies(placement) else "holders"
    if placement.pending:
        several = "partial results" if "unreduced_kind" in placement.spec else "partial sums"
    return [f"{told}, {placement.copies} {several} of each{along}" if placement.copies > 1 else told]


def _are_copies(placement: Placement) -> bool:
    """Whether devices along which nothing is cut must agree: along manual axes each does as it likes."""
    axes = placement.mesh.axes if placement.mesh is not None else ()
    return not any(axis.type == "manual" and axis.name in placement.idle_axes for axis in axes)


def _types(mesh: Mesh) -> list[str]:
    types = {axis.type for axis in mesh.axes}
    return [f"{types.pop()} axes" if len(mesh.axes) > 1 else f"{types.pop()} axis"] if len(types) == 1 else []


def _kinds(devices: Sequence[Device]) -> str:
    return ", ".join(dict.fromkeys(device.kind for device in devices))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
