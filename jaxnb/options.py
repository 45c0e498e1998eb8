"""The options of a staged cell, shared by the magics and by `jaxnb.stage`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from jaxnb.errors import JaxnbError

__all__ = ["StageOptions"]


@dataclass(frozen=True, slots=True)
class StageOptions:
    """How a cell is staged.

    Attributes:
      static: names or paths (`cfg.n`, `params['w']`) whose value is part of the program; changing one traces again.
      dynamic: names or paths of ints or floats that are always inputs; a jax scalar is bound where they flow.
      donate: names or paths of arrays whose buffers the results may use. The cell replaces what they hold, or the names
        are unbound.
      keep: only these names are bound; None binds all, as the plain cell would.
      device: where to run: `cpu:1`, `gpu`, `cuda:0`, `tpu`.
      whole: refuse rather than run the cell in more than one compiled piece.
      block: wait for the results, so that an error of the device belongs to this cell.
      time: wait for the results and measure.
      strict: refuse where a name would be bound to a jax.Array that the plain cell makes a NumPy value.
    """

    static: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()
    donate: tuple[str, ...] = ()
    keep: tuple[str, ...] | None = None
    device: str | None = None
    whole: bool = False
    block: bool = False
    time: bool = False
    strict: bool = False

    @classmethod
    def of(cls, options: dict[str, Any]) -> StageOptions:
        """From keyword arguments; a string stands for a tuple of one.

        Raises:
          JaxnbError: naming an option that does not exist.
        """
        known = {field.name for field in fields(cls)}
        for name in options:
            if name not in known:
                raise JaxnbError(f"there is no option {name!r}.", fix=f"one of {', '.join(sorted(known))}.")
        values = dict(options)
        for name in ("static", "dynamic", "donate", "keep"):
            value = values.get(name)
            if isinstance(value, str):
                values[name] = (value,)
            elif value is not None:
                values[name] = tuple(value)
        return cls(**values)
