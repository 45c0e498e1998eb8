"""What `%jaxnb target` does: the machine that is not there for which cells are compiled, and a list of those."""

from __future__ import annotations

from dataclasses import dataclass

from jaxnb import reading, views
from jaxnb.errors import JaxnbError
from jaxnb.program import TARGET_KINDS, TargetKind, find_hardware
from jaxnb.reading import Compiler, Shown, read_mesh
from jaxnb.staging import Session, target_mesh
from jaxnb.units import format_bytes, format_flops
from jaxnb.views import Head, Table

__all__ = ["TargetList", "set_target", "show_target"]

_EXAMPLES = {"tpu": {2: "4x4", 3: "4x4x4"}, "cuda": {2: "1x8"}}


@dataclass(frozen=True, slots=True)
class TargetList:
    """The kinds of machines that programs can be compiled for; its text is what `%jaxnb target` prints.

    Attributes:
      kinds: of chips.
      compilers: what there is of their compilers.
      now: the machine that cells are compiled for; "" if they run.
    """

    kinds: tuple[TargetKind, ...]
    compilers: tuple[Compiler, ...]
    now: str = ""

    def table(self) -> Table:
        """One row a kind."""
        heads = (
            Head("target", "code"),
            Head(""),
            Head("memory", "number"),
            Head("bandwidth", "number"),
            Head("bfloat16", "number"),
            Head("link", "number"),
            Head("joined", "number"),
            Head("VMEM", "number"),
        )
        return Table(heads, tuple(map(_row, self.kinds)))

    def __str__(self) -> str:
        lines = [f"cells are compiled for {self.now}" if self.now else "no target is set: cells run", ""]
        lines += views.table_lines(self.table())
        lines += ["", "of a chip; a link is one axis of a torus, or all of NVLink, one way"]
        lines += [f"compiler for {one.platform}: {one}" for one in self.compilers]
        return "\n".join(lines)

    __repr__ = __str__


def set_target(session: Session, text: str) -> TargetList | Shown | str:
    """Sets the target of a session, ends it by `off`, or lists what there is.

    Args:
      session: whose cells it is for.
      text: what stands behind `target`.

    Returns:
      A text, or what shows itself.

    Raises:
      JaxnbError: if there is no such target, or no compiler for it.
    """
    now = session.simulated
    if not text:
        told = str(now) if now is not None and now.target is not None else ""
        return TargetList(tuple(TARGET_KINDS.values()), reading.find_compilers(), told)
    if text == "off":
        if now is None or now.target is None:
            return "no target is set: cells run" if now is None else f"no target is set: cells are planned for {now}"
        session.simulated = None
        reading.end_worker(now.target.platform)
        return f"cells are compiled for {now.target} no longer: they run again"
    if len(text.split()) > 1:
        what = f"{text!r} is more than one target."
        raise JaxnbError(what, fix=f"%jaxnb target {text.split()[0]}; %jaxnb mesh x=4, y=4 --target ... names axes.")
    mesh = target_mesh(text, now)
    assert mesh.target is not None
    reading.check_compiler(mesh.target.platform)
    if not _nothing_set():
        reading.use_mesh(None)
    session.simulated = mesh
    return show_target(session)


def show_target(session: Session) -> Shown | str:
    """The target of a session, and what becomes of cells."""
    mesh = session.simulated
    assert mesh is not None and mesh.target is not None
    device = mesh.device or mesh.target.hardware
    notes = (
        f"{mesh.target}: a device is {device} with {format_bytes(device.memory)}, and none need be here",
        "cells under %%jit, %%grad and %%xmap are compiled by its own compiler and shown; nothing runs",
        "jaxnb.abstract(arrays, P(...)) says how inputs lie on it; %jaxnb target off ends it",
    )
    return Shown(read_mesh(mesh.mesh), notes=notes) if mesh.axes else "\n".join([str(mesh), *notes])


def _row(kind: TargetKind) -> tuple[str, ...]:
    table = find_hardware(kind.hardware)
    return (
        f"{kind.name}:{_EXAMPLES[kind.platform][kind.dimensions]}",
        table.title + (f", {kind.cores} devices a chip" if kind.cores > 1 else ""),
        format_bytes(table.memory),
        f"{format_bytes(int(table.bandwidth))}/s",
        f"{format_flops(table.products['bfloat16'])}/s",
        f"{format_bytes(int(table.link))}/s",
        f"{table.node:,}",
        format_bytes(table.vmem) if table.vmem is not None else "",
    )


def _nothing_set() -> bool:
    import jax

    return jax.sharding.get_mesh().empty
