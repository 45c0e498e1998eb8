"""`jaxnb.make_mesh` and `jaxnb.show_sharding`: meshes from their axes, and which piece of an array is where."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from jaxnb import views
from jaxnb.errors import JaxnbError
from jaxnb.program import Mesh, Placement, Tree, axes_text, check_axes, read_axes
from jaxnb.reading.placement.read import is_placed, read_mesh, read_placement, read_tree

__all__ = ["Shown", "make_mesh", "show_sharding", "use_mesh"]


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
        drawn = views.render_placed(self.what, name=self.name)
        return str(drawn + "".join(views.element("p", None, note) for note in self.notes))

    @property
    def svg(self) -> str:
        """The picture as an SVG file.

        Raises:
          JaxnbError: for a pytree, which is a table.
        """
        if isinstance(self.what, Tree):
            raise JaxnbError(
                "a pytree is shown as a table, not as SVG.", fix="show one of its arrays, or take `.html`."
            )
        return str(
            views.draw_mesh(self.what)
            if isinstance(self.what, Mesh)
            else views.draw_placement(self.what, name=self.name)
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        drawn = {"text/plain": str(self), "text/html": self.html}
        if not isinstance(self.what, Tree) and not self.notes:  # a report trusts pictures, and no HTML
            drawn["image/svg+xml"] = self.svg
        return drawn

    def __str__(self) -> str:
        if isinstance(self.what, Mesh):
            text = views.render_mesh(self.what)
        elif isinstance(self.what, Placement):
            text = views.render_placement(self.what, name=self.name)
        else:
            text = views.render_tree(self.what)
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
