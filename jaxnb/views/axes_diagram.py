"""The diagrams of a program's named axes, which show themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxnb.errors import JaxnbError
from jaxnb.program import Program
from jaxnb.views.axis_flow import AxisFlow, axis_flow_of, read_axis_flow
from jaxnb.views.axis_flow_svg import draw_strands
from jaxnb.views.axis_flow_text import render_strands
from jaxnb.views.escape import element

__all__ = ["AxesDiagram", "axes_of"]

_NONE = "no named axes: nothing is mapped over names"


@dataclass(frozen=True)
class AxesDiagram:
    """The named axes of each map in a program: `xmap`, `shard_map`, `vmap(axis_name=...)`.

    Attributes:
      maps: in the order of the program.
      notes: lines below.
    """

    maps: tuple[AxisFlow, ...]
    notes: tuple[str, ...] = ()

    @property
    def svg(self) -> str:
        """The picture of the first map as an SVG file.

        Raises:
          JaxnbError: if there is none.
        """
        if not self.maps:
            raise JaxnbError(f"{_NONE}.", fix="map a function with xmap, shard_map or vmap(axis_name=...).")
        return str(draw_strands(self.maps[0]))

    @property
    def html(self) -> str:
        """All pictures, one below the other."""
        drawn = [element("div", None, draw_strands(one)) for one in self.maps] or [element("p", None, _NONE)]
        notes = [element("p", {"class": "jnb-h"}, note) for note in self.notes]
        return str(element("div", {"class": "jnb"}, *drawn, *notes))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        drawn = {"text/plain": str(self), "text/html": self.html}
        if len(self.maps) == 1 and not self.notes:  # a report trusts pictures, and no HTML
            drawn["image/svg+xml"] = self.svg
        return drawn

    def __str__(self) -> str:
        return "\n\n".join([*(map(render_strands, self.maps) if self.maps else [_NONE]), *self.notes])

    __repr__ = __str__


def axes_of(program: Program) -> AxesDiagram:
    """The named axes of a program; see `Program.axes_diagram`."""
    maps, notes = read_axis_flow(program.level("jaxpr")), ()
    try:
        maps += tuple(axis_flow_of(level, kind="vmap") for _, level in program.vmapped())
    except JaxnbError as error:
        if "axis_name" in program.source:
            notes = (f"what is under vmap is not shown: {error.what}",)
    return AxesDiagram(maps, notes)
