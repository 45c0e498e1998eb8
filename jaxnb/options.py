"""The options of a staged cell, shared by the magics and by `jaxnb.stage`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from jaxnb.errors import JaxnbError

if TYPE_CHECKING:
    from jaxnb.named import MapSpec

__all__ = ["StageOptions"]


@dataclass(frozen=True, slots=True)
class StageOptions:
    """How a cell is staged.

    Attributes:
      static: names or paths (`cfg.n`, `params['w']`) whose value is part of the program; changing one traces again.
      dynamic: names or paths of ints or floats that are always inputs; a jax scalar is bound where they flow.
      donate: names or paths of arrays whose buffers the results may use. The cell replaces what they hold, or the names
        are unbound.
      loss: a name that the cell binds to a number, whose gradient is wanted.
      wrt: the names that the gradient is taken by; it is bound as `d_` and the name.
      value_and: the run's value is the loss and its derivatives, as `jax.value_and_grad` returns them.
      has_aux: `loss` is bound to a tuple, whose first item is the number.
      jvp: a direction for each name in `wrt`: the directional derivative is bound as `d_` and the name of the loss.
      hessian: bind the second derivatives, too, as `dd_` and the name.
      xmap: how the cell is mapped over named axes, a `MapSpec`; see `jaxnb.xmap_cell`.
      keep: only these names are bound; None binds all, as the plain cell would.
      name: a name to which the cell is bound as a pure function of its inputs.
      device: where to run: `cpu:1`, `gpu`, `cuda:0`, `tpu`.
      devices: how many virtual CPU devices there are to be, if JAX has not started yet.
      whole: refuse rather than run the cell in more than one compiled piece.
      unroll: write out every loop that is traced, however often it turns.
      roll: write out no loop: the body of each is staged once and run in turns.
      block: wait for the results, so that an error of the device belongs to this cell.
      time: wait for the results and measure.
      nans: wait for the results, and say where the first nan or inf in them came from.
      diff: say what changed against the run of this cell before.
      names: take down what every name was after each assignment, for `Run.program.names()`.
      strict: refuse where a NumPy value loses bits as an input of the program.
    """

    static: tuple[str, ...] = ()
    dynamic: tuple[str, ...] = ()
    donate: tuple[str, ...] = ()
    loss: str | None = None
    wrt: tuple[str, ...] = ()
    value_and: bool = False
    has_aux: bool = False
    jvp: tuple[str, ...] = ()
    hessian: bool = False
    xmap: MapSpec | None = None
    keep: tuple[str, ...] | None = None
    name: str | None = None
    device: str | None = None
    devices: int | None = None
    whole: bool = False
    unroll: bool = False
    roll: bool = False
    block: bool = False
    time: bool = False
    nans: bool = False
    diff: bool = False
    names: bool = False
    strict: bool = False

    @property
    def programs(self) -> tuple[Any, ...]:
        """The options that a program depends on."""
        derivative = (self.loss, self.wrt, self.has_aux, self.jvp, self.hessian)
        loops = (self.whole, self.unroll, self.roll)
        return (self.static, self.dynamic, self.donate, self.keep, loops, self.names, derivative, self.xmap)

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
        for name in ("static", "dynamic", "donate", "wrt", "jvp", "keep"):
            value = values.get(name)
            if isinstance(value, str):
                values[name] = (value,)
            elif value is not None:
                values[name] = tuple(value)
        made = cls(**values)
        if (made.loss is None) != (not made.wrt):
            missing = "wrt" if made.loss is not None else "loss"
            raise JaxnbError(f"a gradient wants `loss` and `wrt`, and `{missing}` is missing.")
        if made.loss is None and (made.value_and or made.has_aux or made.jvp or made.hessian):
            raise JaxnbError(
                "value_and, has_aux, jvp and hessian go with a gradient.", fix="say `loss` and `wrt`, too."
            )
        if made.xmap is not None and made.loss is not None:
            what = "a cell that is mapped over names has no gradient of its own."
            raise JaxnbError(what, fix="bind the cell as a function by --name, and use jax.grad.")
        if made.roll and (made.unroll or made.whole or made.xmap is not None):
            other = "unroll" if made.unroll else "whole" if made.whole else "xmap"
            what = f"roll and {other} contradict each other: a loop that is run in turns is no part of one program."
            raise JaxnbError(what, fix="leave one of them out.")
        if made.jvp and made.hessian:
            raise JaxnbError("a Hessian goes with a gradient, not with jvp.", fix="leave one of them out.")
        return made
