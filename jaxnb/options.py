"""The options of a staged cell, shared by the magics and by `jaxnb.stage`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from jaxnb import named
from jaxnb.errors import JaxnbError

if TYPE_CHECKING:
    from jaxnb.named import MapSpec

__all__ = ["Option", "StageOptions", "stage_options"]


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the magics. What reads it, documents it, completes it and lists it is made from this row.

    Attributes:
      kind: what follows it: nothing ("flag"), a "word", a "number", a "name", "names" and paths, ...
      text: what it does, for the help of the magics.
      magics: those that have it, as words.
      example: what may follow it.
      compiled: whether programs depend on it.
    """

    kind: str
    text: str
    magics: str
    example: str = ""
    compiled: bool = False


def _row(default: Any, kind: str, text: str, magics: str, example: str = "", *, compiled: bool = False) -> Any:
    return field(default=default, metadata={"option": Option(kind, text, magics, example, compiled)})


_CELLS = "jit grad xmap"
_ALL = "jit grad xmap jaxpr"


@dataclass(frozen=True, slots=True)
class StageOptions:
    """How a cell is staged: each field is an option of the magics, see `Option`, and an argument of `jaxnb.stage`.

    `loss`, `wrt` and `xmap` are what stands before the options of `%%grad` and `%%xmap`: a name that the cell binds to
    a number, the names by which it is differentiated, and how the cell is mapped over named axes.
    """

    static: tuple[str, ...] = _row(
        (), "names", "values that are part of the program: changing one traces again", _ALL, "a, cfg.n", compiled=True
    )
    dynamic: tuple[str, ...] = _row((), "names", "ints or floats that are always inputs", _ALL, "n", compiled=True)
    donate: tuple[str, ...] = _row(
        (),
        "names",
        "arrays whose memory the results may use: they are replaced by the cell, or unbound",
        _CELLS,
        "params",
        compiled=True,
    )
    loss: str | None = None
    wrt: tuple[str, ...] = ()
    value_and: bool = _row(False, "flag", "display (loss, gradients), as jax.value_and_grad returns them", "grad")
    has_aux: bool = _row(False, "flag", "the name holds a pair, whose first item is the loss", "grad")
    jvp: tuple[str, ...] = _row(
        (),
        "names",
        "a direction for each name: bind the derivative along them as d_loss, which may have any shape",
        "grad",
        "v1, v2",
    )
    hessian: bool = _row(
        False, "flag", "bind the second derivatives, too, as dd_w1, dd_w2: arranged as by jax.hessian", "grad"
    )
    remat: tuple[str, ...] = _row(
        (),
        "names",
        "what the forward pass keeps, and the rest is computed again: nothing, dots, dots_without_batch, everything, or"
        " names given by checkpoint_name",
        "grad",
        "dots",
    )
    xmap: MapSpec | None = None
    shapes: tuple[tuple[str, str], ...] = _row(
        (),
        "shapes",
        "arrays whose sizes have names: the cell is traced once for all sizes, and compiled for each",
        "jit grad jaxpr",
        '"images: b, 784; labels: b"',
        compiled=True,
    )
    where: tuple[str, ...] = _row(
        (),
        "where",
        "what is true of these sizes, as for jax.export.SymbolicScope",
        "jit grad jaxpr",
        '"b >= 1, mod(b, 8) == 0"',
        compiled=True,
    )
    keep: tuple[str, ...] | None = _row(None, "names", "bind only these names", _CELLS, "loss", compiled=True)
    name: str | None = _row(None, "name", "bind the cell as a pure function of its inputs, too", _CELLS, "f")
    export: str | None = _row(
        None,
        "path",
        "write the cell as a file that jaxnb.load makes a function of, elsewhere, too",
        _CELLS,
        "f.jaxexport",
    )
    platforms: tuple[str, ...] = _row(
        (), "names", "what --export lowers it for; by default the platform that runs it", _CELLS, "cpu, cuda, tpu"
    )
    device: str | None = _row(None, "word", "where to run: cpu:1, gpu, cuda:0, tpu", _CELLS, "cpu:1")
    devices: int | None = _row(
        None, "number", "how many virtual CPU devices there are to be, if JAX has not started yet", _CELLS, "8"
    )
    cluster: bool = _row(False, "flag", "run it in all processes of the cluster, on all of their devices", _CELLS)
    here: bool = _row(False, "flag", "run it in this process, though cells go to a cluster", _CELLS)
    target: str | None = _row(
        None,
        "word",
        "a machine that is not there, v5e:4x4 or h100: the cell is compiled by its compiler and shown; nothing runs or"
        " is bound",
        _ALL,
        "h100",
    )
    whole: bool = _row(
        False, "flag", "refuse to run the cell in more than one compiled piece", "jit grad", compiled=True
    )
    unroll: bool = _row(False, "flag", "write out every loop, however often it turns", "jit grad", compiled=True)
    roll: bool = _row(
        False, "flag", "write out none: the body of each is staged once and run in turns", "jit grad", compiled=True
    )
    block: bool = _row(
        False, "flag", "wait for the results, so that an error of the device belongs to this cell", _CELLS
    )
    time: bool = _row(False, "flag", "wait and measure", _CELLS)
    nans: bool = _row(
        False, "flag", "wait, and say which line, operand and iteration gave the first nan or inf", _CELLS
    )
    diff: bool = _row(
        False, "flag", "say what changed against the run of this cell before: equations, flops, bytes, memory", _CELLS
    )
    names: bool = _row(
        False,
        "flag",
        "note what every name was after each assignment, for jaxnb.last().program.names()",
        _CELLS,
        compiled=True,
    )
    strict: bool = _row(False, "flag", "refuse where a NumPy value loses bits by becoming a jax.Array", _CELLS)

    @property
    def programs(self) -> tuple[Any, ...]:
        """The options that a program depends on, what stands before them included."""
        return _of_programs(self)

    @classmethod
    def of(cls, options: dict[str, Any]) -> StageOptions:
        """From keyword arguments; a string stands for a tuple of one.

        Raises:
          JaxnbError: naming an option that does not exist.
        """
        known = {item.name for item in fields(cls)}
        for name in options:
            if name not in known:
                raise JaxnbError(f"there is no option {name!r}.", fix=f"one of {', '.join(sorted(known))}.")
        values = dict(options)
        for name in ("static", "dynamic", "donate", "wrt", "jvp", "remat", "keep", "platforms"):
            value = values.get(name)
            if isinstance(value, str):
                values[name] = (value,)
            elif value is not None:
                values[name] = tuple(value)
        if values.get("shapes") or values.get("where"):
            values["shapes"], values["where"] = _sizes_of(values.get("shapes", ()), values.get("where", ()))
            values["whole"] = True  # what comes behind a statement that Python runs has other sizes each time
        made = cls(**values)
        if (made.loss is None) != (not made.wrt):
            missing = "wrt" if made.loss is not None else "loss"
            raise JaxnbError(f"a gradient wants `loss` and `wrt`, and `{missing}` is missing.")
        if made.loss is None and (made.value_and or made.has_aux or made.jvp or made.hessian or made.remat):
            raise JaxnbError(
                "value_and, has_aux, jvp, hessian and remat go with a gradient.", fix="say `loss` and `wrt`, too."
            )
        if made.xmap is not None and made.loss is not None:
            what = "a cell that is mapped over names has no gradient of its own."
            raise JaxnbError(what, fix="bind the cell as a function by --name, and use jax.grad.")
        if made.shapes and (made.xmap is not None or made.unroll or made.roll):
            other = "xmap" if made.xmap is not None else "unroll" if made.unroll else "roll"
            what = f"shapes and {other} do not go together: a cell for all sizes is one program, of plain axes."
            raise JaxnbError(what, fix="leave one of them out.")
        if made.roll and (made.unroll or made.whole or made.xmap is not None):
            other = "unroll" if made.unroll else "whole" if made.whole else "xmap"
            what = f"roll and {other} contradict each other: a loop that is run in turns is no part of one program."
            raise JaxnbError(what, fix="leave one of them out.")
        if made.platforms and made.export is None:
            raise JaxnbError("platforms go with export.", fix="say --export f.jaxexport, too; %%jaxpr has --lower.")
        if made.cluster and (other := next((name for name in _HERE_ONLY if getattr(made, name)), "")):
            what = f"cluster and {other} do not go together: the cell runs in other processes than this one."
            raise JaxnbError(what, fix="leave one of them out.")
        if made.jvp and made.hessian:
            raise JaxnbError("a Hessian goes with a gradient, not with jvp.", fix="leave one of them out.")
        if made.jvp and made.remat:
            what = "remat goes with a gradient, not with jvp: a directional derivative keeps nothing."
            raise JaxnbError(what, fix="leave one of them out.")
        return made


def _sizes_of(shapes: Any, where: Any) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Shapes and constraints as they are kept: each may be a text, shapes a dict, and those a sequence of texts."""
    if isinstance(shapes, str):
        shapes = named.read_shapes(shapes)
    elif isinstance(shapes, Mapping):
        given = dict[Any, Any](shapes)
        shapes = tuple(
            (name, sizes if isinstance(sizes, str) else ", ".join(map(str, sizes))) for name, sizes in given.items()
        )
    where = named.read_where(where) if isinstance(where, str) else tuple(where)
    named.check_shapes(shapes, where)
    return tuple(shapes), where


def stage_options() -> dict[str, Option]:
    """The options that are fields of `StageOptions`, by their names in a header."""
    rows = {item.name.replace("_", "-"): item.metadata.get("option") for item in fields(StageOptions)}
    return {name: row for name, row in rows.items() if row is not None}


_HERE_ONLY = ("here", "device", "devices", "export")
_DERIVATIVE = ("loss", "wrt", "has_aux", "jvp", "hessian", "remat")
_of_programs = attrgetter("xmap", *_DERIVATIVE, *(name for name, row in stage_options().items() if row.compiled))
