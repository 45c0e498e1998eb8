"""`jaxnb.make_mesh` and `jaxnb.show_sharding`, and what `%jaxnb mesh`, `sharding` and `collectives` do."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from jaxnb.errors import BadHeader, JaxnbError
from jaxnb.placement.asked import Shardings
from jaxnb.placement.axes import axes_text, check_axes, read_axes
from jaxnb.placement.data import Mesh, Placement, Tree
from jaxnb.placement.ledger import Ledger
from jaxnb.placement.read import is_placed, read_mesh, read_placement, read_tree
from jaxnb.running.run import Run
from jaxnb.staging.elsewhere import SimulatedMesh
from jaxnb.staging.elsewhere import abstract as abstract_on
from jaxnb.views.axes_diagram import AxesDiagram

__all__ = [
    "Shown",
    "abstract",
    "axes_command",
    "collectives_command",
    "make_mesh",
    "mesh_command",
    "sharding_command",
    "show_sharding",
    "use_mesh",
]

_EXPLICIT = "--explicit"


@dataclass(frozen=True)
class Shown:
    """A mesh, the placement of an array, or that of each leaf of a pytree, which shows itself.

    Attributes:
      what: the plain data that is drawn.
      name: what the user calls it.
      notes: lines below the text.
    """

    what: Mesh | Placement | Tree
    name: str = ""
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    @property
    def html(self) -> str:
        """The picture, or the table of a pytree, as HTML."""
        from jaxnb.views.escape import element
        from jaxnb.views.placement_html import render_placed

        drawn = render_placed(self.what, name=self.name)
        return str(drawn + "".join(element("p", None, note) for note in self.notes))

    @property
    def svg(self) -> str:
        """The picture as an SVG file.

        Raises:
          JaxnbError: for a pytree, which is a table.
        """
        from jaxnb.views.placement_svg import draw_mesh, draw_placement

        if isinstance(self.what, Tree):
            raise JaxnbError(
                "a pytree is shown as a table, not as SVG.", fix="show one of its arrays, or take `.html`."
            )
        return str(draw_mesh(self.what) if isinstance(self.what, Mesh) else draw_placement(self.what, name=self.name))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        drawn = {"text/plain": str(self), "text/html": self.html}
        if not isinstance(self.what, Tree) and not self.notes:  # a report trusts pictures, and no HTML
            drawn["image/svg+xml"] = self.svg
        return drawn

    def __str__(self) -> str:
        from jaxnb.views.placement_text import render_mesh, render_placement, render_tree

        if isinstance(self.what, Mesh):
            text = render_mesh(self.what)
        elif isinstance(self.what, Placement):
            text = render_placement(self.what, name=self.name)
        else:
            text = render_tree(self.what)
        return "\n".join([text, *self.notes])

    __repr__ = __str__


def make_mesh(
    axes: str | Mapping[str, int], *, explicit: bool = False, devices: Sequence[Any] | None = None
) -> jax.sharding.Mesh:
    """A mesh of jax from names and sizes. `jax.set_mesh` makes it that of all cells, as `%jaxnb mesh x=4, y=2` does.

    Args:
      axes: `"x=4, y=2"` or `{"x": 4, "y": 2}`, the axis whose devices lie closest together last.
      explicit: whether the types of values say how they lie along the axes; otherwise the compiler decides.
      devices: to be used, by default those that there are; what is left over stays idle.

    Raises:
      JaxnbError: for sizes that are no counts, names that come twice, too few devices, devices of two platforms.

    >>> dict(make_mesh("x=1").shape)
    {'x': 1}
    """
    sizes = read_axes(axes) if isinstance(axes, str) else check_axes(axes)
    there_are = list(jax.devices() if devices is None else devices)
    platforms = list(dict.fromkeys(device.platform for device in there_are))
    if len(platforms) > 1:
        what = f"the devices are of {len(platforms)} platforms: {' and '.join(platforms)}."
        raise JaxnbError(what, why="one program runs on devices of one platform.", fix="pass those of one of them.")
    wanted, told = math.prod(sizes.values()), axes_text(sizes)
    if wanted > len(there_are):
        raise JaxnbError(
            f"a mesh of {told} takes {wanted} devices, and there {_are(len(there_are))}.",
            why=f"the sizes of its axes multiply to {wanted}.",
            fix=_fitting(sizes, len(there_are)),
        )
    kind = jax.sharding.AxisType.Explicit if explicit else jax.sharding.AxisType.Auto
    names, shape = tuple(sizes), tuple(sizes.values())
    return jax.make_mesh(shape, names, axis_types=(kind,) * len(names), devices=there_are[:wanted])


def show_sharding(value: Any, shape: Sequence[int] | None = None, dtype: Any = None, *, name: str = "") -> Shown:
    """Shows which piece of an array is on which device; for a pytree a table of its leaves, for a mesh its devices.

    Args:
      value: an array, a `jax.ShapeDtypeStruct`, a mesh, a pytree of arrays, or a sharding together with a shape.
      shape: of the array, where `value` is a sharding.
      dtype: likewise.
      name: what to call it.

    Raises:
      JaxnbError: if it lives on no device: no array, deleted, without a sharding; or if the sharding does not fit.
    """
    if isinstance(value, jax.sharding.Mesh | jax.sharding.AbstractMesh):
        return Shown(read_mesh(value), name)
    if isinstance(value, jax.sharding.Sharding) or is_placed(value):
        return Shown(read_placement(value, shape, dtype), name)
    tree = read_tree(value, name)
    if len(tree.leaves) == 1 and not tree.leaves[0].path:
        kind = type(value).__name__
        where = "in the memory of Python" if isinstance(value, np.ndarray | np.generic) else "no array"
        raise JaxnbError(
            f"{name or 'the value'} is {'an' if kind[0] in 'aeiou' else 'a'} {kind}, {where}.",
            why="only arrays of JAX lie on devices.",
            fix="jax.device_put(value, sharding) puts it there.",
        )
    return Shown(tree, name)


def abstract(value: Any, spec: Any = None, mesh: Any = None) -> Any:
    """The same pytree with shapes where the arrays are: what a cell that is simulated takes in. Nothing is allocated.

    Args:
      value: a pytree of arrays or `jax.ShapeDtypeStruct`s, such as `jax.eval_shape` gives. Anything else in it stays.
      spec: a `PartitionSpec` for all of them, or a pytree of them whose leaves stand for whole parts of `value`; None
        leaves the spreading to the compiler.
      mesh: `"x=16, y=16"`, or a mesh of JAX; by default that of `%jaxnb mesh`.

    Raises:
      JaxnbError: if there is no mesh or it has no such axis, or the two pytrees do not go together.

    >>> from jax.sharding import PartitionSpec as P
    >>> placed = abstract(jax.ShapeDtypeStruct((8, 4), "float32"), P("x"), "x=4")
    >>> print(show_sharding(placed).what.most)
    32
    """
    from jaxnb.api import current_session

    simulated = current_session().simulated
    if isinstance(mesh, str):
        mesh = SimulatedMesh(tuple(read_axes(mesh).items())).mesh
    elif mesh is None:
        mesh = simulated.mesh if simulated is not None else jax.sharding.get_mesh()
    if spec is not None and mesh.empty:
        raise JaxnbError(
            "there is no mesh to spread the arrays over.",
            fix='%jaxnb mesh x=16, y=16 --simulate, or mesh="x=16, y=16".',
        )
    return abstract_on(value, spec, mesh)


def use_mesh(mesh: Any) -> None:
    """Makes a mesh the one of all that follows; None takes it away.

    Raises:
      JaxnbError: inside of a traced function.
    """
    try:
        # A mesh without axes is JAX's own word for none; set_mesh(None) is not documented.
        jax.set_mesh(jax.sharding.Mesh(np.empty((), object), ()) if mesh is None else mesh)
    except ValueError as error:
        raise JaxnbError("the mesh cannot be set here.", why=str(error).split("\n")[0]) from error


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
        if run is None or run.make_shardings is None:
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
    if run is None or not run.pieces:
        what = "no cell was staged yet." if run is None else "nothing was compiled in the last run."
        raise JaxnbError(what, fix="put %%jit over a cell that computes with arrays on several devices.")
    return run.collectives(words[1] if words else None)


def axes_command(run: Run | None) -> AxesDiagram:
    """What `%jaxnb axes` does: the named axes of the last run of a staged cell as strands.

    Raises:
      JaxnbError: if there is none.
    """
    if run is None or not run.pieces:
        what = "no cell was staged yet." if run is None else "nothing was traced in the last run."
        raise JaxnbError(what, fix="put %%xmap over a cell, or %%jit over one with shard_map or vmap(axis_name=...).")
    return run.program.axes_diagram()


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


def _fitting(sizes: Mapping[str, int], count: int) -> str:
    """What would fit: the last axis as long as it may be."""
    *outer, last = sizes
    rest = math.prod(sizes[name] for name in outer)
    more = (
        f"or plan for it: %jaxnb mesh {axes_text(sizes)} --simulate; or, first of all in a new kernel, "
        f"%jaxnb mesh {axes_text(sizes)} --devices {math.prod(sizes.values())}."
    )
    if rest <= count:
        return f"{axes_text({**sizes, last: count // rest})}, {more}"
    return f"{axes_text({next(iter(sizes)): count})}, {more}"


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"
