"""What `%jaxnb mesh`, `sharding`, `collectives`, `axes`, `kernels` and `ptx` do."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import jax

from jaxnb import staging
from jaxnb.errors import BadHeader, JaxnbError
from jaxnb.program import Kernels, Ledger, Picture, Ptx, Shardings, Timeline
from jaxnb.reading import Shown, make_mesh, read_mesh, show_sharding, use_mesh
from jaxnb.staging import Run

__all__ = [
    "axes_command",
    "collectives_command",
    "kernels_command",
    "mesh_command",
    "ptx_command",
    "sharding_command",
    "timeline_command",
]

_EXPLICIT = "--explicit"


def mesh_command(text: str) -> Any:
    """What `%jaxnb mesh TEXT` does: sets the mesh of all cells, takes it away by `off`, or shows it.

    Raises:
      BadHeader: if the text cannot be read.
      JaxnbError: as `make_mesh`.
    """
    words = text.split()
    if words == ["off"]:
        there_was = not jax.sharding.get_mesh().empty
        use_mesh(None)
        return "no mesh is set any more" if there_was else "no mesh was set"
    if not words:
        mesh = jax.sharding.get_mesh()
        if mesh.empty:
            return "no mesh is set; %jaxnb mesh x=4, y=2 sets one for all cells"
        return Shown(read_mesh(mesh))
    explicit = _EXPLICIT in words
    mesh = make_mesh(text.replace(_EXPLICIT, " " * len(_EXPLICIT)), explicit=explicit)
    use_mesh(mesh)
    idle = len(jax.devices()) - mesh.size
    note = f"{idle} of {len(jax.devices())} devices are not in it"
    return Shown(read_mesh(mesh), notes=(note,) if idle else ())


def sharding_command(
    text: str, namespace: Mapping[str, Any], run: Run | None = None, progress: Callable[[str], None] = lambda _: None
) -> Shown | Shardings:
    """What `%jaxnb sharding TEXT` does: shows where a name, or what it holds, lies; without one, how the values of the
    last run are spread.

    Args:
      text: a name with attributes and constant items behind it: `params`, `state.params["w1"]`.
      namespace: the user's names.
      run: the last run; None if there is none.
      progress: called with what is going on.

    Raises:
      BadHeader: if the text is something else, or there is no such thing.
      JaxnbError: as `show_sharding` and `Run.shardings`.
    """
    path = text.strip()
    header = f"%jaxnb sharding {path}".rstrip()
    if not path:
        if run is None or run.later.make_shardings is None:
            raise BadHeader("sharding of what?", header=header, column=len(header), fix="%jaxnb sharding params")
        return run.shardings(progress)
    try:
        tree = ast.parse(path, mode="eval").body
        value = _look_up(tree, namespace)
    except (SyntaxError, _NotRead):
        what = f"{path!r} is no name with attributes or items."
        fix = "assign it to a name first, or call jaxnb.show_sharding."
        raise BadHeader(what, header=header, column=header.index(path), width=len(path), fix=fix) from None
    except (NameError, AttributeError, LookupError, TypeError) as error:
        what = f"{path} cannot be read: {error}"
        fix = "look at the names that there are."
        raise BadHeader(what, header=header, column=header.index(path), width=len(path), fix=fix) from None
    return show_sharding(value, name=path)


def collectives_command(text: str, run: Run | None) -> Ledger:
    """What `%jaxnb collectives TEXT` does: what the devices sent one another in the last run of a staged cell.

    Args:
      text: "" or `--on h100`, for how long it would take on that hardware.
      run: that run; None if there is none.

    Raises:
      BadHeader: if the text is something else.
      JaxnbError: if there is no run, nothing was compiled in it, or there is no such hardware.
    """
    words = text.split()
    if words and (words[0] != "--on" or len(words) != 2):
        header = f"%jaxnb collectives {text.strip()}"
        what = "behind it stands hardware, or nothing."
        raise BadHeader(what, header=header, column=header.index(words[0]), width=len(text.strip()), fix="--on h100")
    fix = "put %%jit over a cell that computes with arrays on several devices."
    if run is None:
        raise staging.no_run(fix)
    if not run.pieces:
        raise JaxnbError("nothing was compiled in the last run.", fix=fix)
    return run.collectives(words[1] if words else None)


def axes_command(run: Run | None) -> Picture:
    """What `%jaxnb axes` does: the named axes of the last run of a staged cell as strands.

    Raises:
      JaxnbError: if there is none.
    """
    fix = "put %%xmap over a cell, or %%jit over one with shard_map or vmap(axis_name=...)."
    if run is None:
        raise staging.no_run(fix)
    if not run.pieces:
        raise JaxnbError("nothing was traced in the last run.", fix=fix)
    return run.program.axes_diagram()


def timeline_command(run: Run | None) -> Timeline:
    """What `%jaxnb timeline` does: what a device would compute and send side by side in the last cell.

    Raises:
      JaxnbError: if there is none, or it was not planned for hardware.
    """
    fix = "%jaxnb target v5e:2x4 above a cell under %%jit plans it for a machine that is not there."
    if run is None:
        raise staging.no_run(fix)
    if run.plan is None or run.plan.hardware is None:
        what = "the last cell ran." if run.plan is None else "nobody said what hardware the last cell was planned for."
        raise JaxnbError(what, why="a timeline is made of what the compiler of a target has ordered.", fix=fix)
    return run.plan.timeline


def kernels_command(run: Run | None) -> Kernels:
    """What `%jaxnb kernels` does: the kernels of the last run of a staged cell.

    Raises:
      JaxnbError: if there is none.
    """
    if run is None:
        raise staging.no_run()
    return run.kernels()


def ptx_command(text: str, run: Run | None) -> Ptx:
    """What `%jaxnb ptx TEXT` does: the kernels of a line or an instruction of the last cell for a GPU target; alone, a
    list of what it launches.

    Raises:
      JaxnbError: as `Program.ptx`, and if no cell was run.
    """
    if run is None:
        raise staging.no_run()
    word = text.removeprefix("line ").strip()
    return run.program.ptx(int(word) if word.isdecimal() else word or None)


class _NotRead(Exception):
    """Something that would have to be run."""


def _look_up(node: ast.expr, namespace: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        if node.id not in namespace:
            raise NameError(f"there is no {node.id}.")
        return namespace[node.id]
    if isinstance(node, ast.Attribute):
        return getattr(_look_up(node.value, namespace), node.attr)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return _look_up(node.value, namespace)[node.slice.value]
    raise _NotRead
