"""What `%jaxnb mesh` does: the mesh of all cells, of devices that are there, are made now, or are not there at all."""

from __future__ import annotations

from typing import Any

from jaxnb import reading
from jaxnb.errors import BadHeader
from jaxnb.program import find_hardware, read_axes, read_target
from jaxnb.reading import Shown, SimulatedMesh, make_mesh, read_mesh, use_mesh
from jaxnb.shell.header import MESH_OPTIONS, parse_header
from jaxnb.shell.placements import mesh_command
from jaxnb.shell.targets import show_target
from jaxnb.staging import Session, want_devices

__all__ = ["set_mesh"]

_MAGIC = "%jaxnb mesh"


def set_mesh(session: Session, text: str) -> Any:
    """Sets the mesh of a session, takes it away by `off`, or shows it.

    Args:
      session: whose cells it is for.
      text: what stands behind `mesh`: axes and options, `off`, or nothing.

    Returns:
      A text, or what shows itself.

    Raises:
      BadHeader: pointing at the word that is wrong.
      JaxnbError: for axes that cannot be, too few devices, or hardware that is not known.
    """
    now = session.simulated
    if text == "off" and now is not None:
        gone, session.simulated = session.simulated, None
        _end_worker()
        return f"{gone} is simulated no longer: cells run again"
    if not text and now is not None:
        return _shown(now) if now.target is None else show_target(session)
    there: Any = session.elsewhere  # which is a cluster, if anything
    if there is not None and there.by_default and not any(word in text for word in ("--simulate", "--target")):
        explicit = "--explicit" in text
        mesh = there.set_mesh(text.replace("--explicit", "").strip(), explicit)
        if mesh is None:
            return "no mesh is set in the processes of the cluster; %jaxnb mesh x=4, y=2 sets one for all cells"
        idle = len(there.cluster.ranks) - mesh.size
        notes = (f"{idle} of {len(there.cluster.ranks)} devices of the cluster are not in it",) if idle else ()
        return Shown(mesh, notes=notes)
    if text in ("", "off"):
        return mesh_command(text)
    start = text.find("--")
    axes = text if start < 0 else text[:start]
    options = {} if start < 0 else parse_header(text, MESH_OPTIONS, _MAGIC, start)
    if "target" in options:
        for other in ("simulate", "hardware", "devices"):
            if other in options:
                what = f"--{other} does not go with --target, which says what the devices are."
                raise _bad(text, f"--{other}", what, f"leave --{other} out.")
    if "hardware" in options and "simulate" not in options:
        raise _bad(text, "--hardware", "--hardware says what the devices of a simulated mesh are.", "add --simulate.")
    if "simulate" in options and "devices" in options:
        raise _bad(text, "--devices", "a simulated mesh has as many devices as its axes say.", "leave --devices out.")
    if "simulate" in options:
        hardware = find_hardware(options["hardware"]).name if "hardware" in options else ""
        simulated = SimulatedMesh(tuple(read_axes(axes).items()), "explicit" in options, hardware)
        reading.check_count(simulated.size)
        if not _nothing_set():
            use_mesh(None)
        session.simulated = simulated
        return _shown(simulated)
    if "target" in options or (now is not None and now.target is not None and "devices" not in options):
        target = read_target(options["target"]) if "target" in options else now.target if now is not None else None
        assert target is not None
        mesh = reading.mesh_of_target(target, read_axes(axes), "explicit" in options)
        reading.check_compiler(target.platform)
        if not _nothing_set():
            use_mesh(None)
        session.simulated = mesh
        return show_target(session)
    if "devices" in options:
        want_devices(options["devices"])
    mesh = make_mesh(axes, explicit="explicit" in options, devices=_cpus() if "devices" in options else None)
    use_mesh(mesh)
    session.simulated = None
    idle = (options.get("devices") or len(_all())) - mesh.size
    note = f"{idle} of {idle + mesh.size} devices are not in it"
    return Shown(read_mesh(mesh), notes=(note,) if idle > 0 else ())


def _shown(mesh: SimulatedMesh) -> Shown:
    on = f", of {find_hardware(mesh.hardware)}" if mesh.hardware else ""
    notes = (
        f"simulated{on}: cells under %%jit, %%grad and %%xmap are partitioned for it and shown; nothing runs",
        "jaxnb.abstract(arrays, P(...)) says how inputs lie on it; %jaxnb mesh off ends it",
    )
    return Shown(read_mesh(mesh.mesh), notes=notes)


def _bad(text: str, word: str, what: str, fix: str) -> BadHeader:
    header = f"{_MAGIC} {text}"
    return BadHeader(what, header=header, column=header.index(word), width=len(word), fix=fix)


def _nothing_set() -> bool:
    import jax

    return jax.sharding.get_mesh().empty


def _cpus() -> list[Any]:
    import jax

    return jax.devices("cpu")


def _all() -> list[Any]:
    import jax

    return jax.devices()


def _end_worker() -> None:
    reading.end_worker()
