"""Sizes that have names: which inputs have them, and how large they are in a run.

With `--shapes "images: b, 784; labels: b"` a cell is traced with `b` for the number, once for all of them. The shapes
are those of inputs of its program; in each run the names are solved from the arrays that are there, and what breaks
what is said of them is refused before anything is traced.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import export

from jaxnb import _jax
from jaxnb.errors import Refused
from jaxnb.named import Measured, UnfitSizes, read_constraint, scope_of, solve_names, solve_sizes
from jaxnb.staging.objects.graph import Scan
from jaxnb.staging.objects.paths import Path, is_below, render_path

__all__ = ["NamedSizes", "Shapes"]


_MULTIPLE = re.compile(r"\s*mod\(\s*(\w+)\s*,\s*(\d+)\s*\)\s*==\s*0\s*")


_MULTIPLE_OF_PRODUCT = re.compile(r"mod\((?:(\d+)\*)?([^\W\d]\w*),-?(?:(\d+)|(?:(\d+)\*)?floordiv\((\w+),(\d+)\))\)==0")


class NamedSizes(NamedTuple):
    """The named sizes of a run.

    Attributes:
      leaves: the inputs that have shapes with names, by number, each as the user calls it.
      parts: which parts of the key of the program for all sizes are these inputs.
      values: how large each name is.
      others: the arrays whose sizes are numbers, as the user calls them, and their shapes.
    """

    leaves: Mapping[int, str]
    parts: frozenset[int]
    values: Mapping[str, int]
    others: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def __str__(self) -> str:
        return ", ".join(f"{name}={size}" for name, size in self.values.items())


class Shapes:
    """Shapes with names, as the options of a cell give them.

    Args:
      shapes: of each input its name or path, and its sizes.
      where: what is true of the names.
      implied: what follows from that, though JAX does not see it.

    Attributes:
      texts: both as they were given.
      implied: as it was given.
      scope: of the names, for JAX.
      names: of the sizes, in their order.
      asked: what was asked of the sizes in the trace that goes on, or has failed.
    """

    asked: Any = None

    def __init__(self, shapes: Sequence[tuple[str, str]], where: Sequence[str], implied: tuple[str, ...] = ()) -> None:
        self.texts, self.implied = (tuple(shapes), tuple(map(str, where))), implied
        self.scope = scope_of((*self.texts[1], *implied))
        self._where = [read_constraint(text) for text in where]
        self._traced = {str(name): export.symbolic_shape(str(sizes), scope=self.scope) for name, sizes in shapes}
        alone = export.SymbolicScope()  # with `b == c` JAX writes one of them for both
        self._given = {str(name): export.symbolic_shape(str(sizes), scope=alone) for name, sizes in shapes}
        every = [dim for dims in self._given.values() for dim in dims]
        self.names = tuple(dict.fromkeys(name for dim in every for name in sorted(_jax.dim_variables(dim))))

    @property
    def scope_size(self) -> int:
        """How many constraints there are, with those that follow."""
        return len({*self.texts[1], *self.implied})

    def given(self, text: str) -> tuple[int | str, ...]:
        """The sizes of an array as they were given."""
        return tuple(_jax.dim_text(dim) if _jax.is_dim(dim) else int(dim) for dim in self._given[text])

    def traced(self, text: str) -> tuple[Any, ...]:
        """The sizes of an array as it is traced."""
        return tuple(self._traced[text])

    def also(self, constraint: str = "", *, shapes: Sequence[tuple[str, str]] = (), implied: str = "") -> Shapes:
        """The same with one more constraint, or shapes of more arrays, or what follows though JAX does not see it."""
        where = (*self.texts[1], constraint) if constraint else self.texts[1]
        return Shapes((*self.texts[0], *shapes), where, (*self.implied, *filter(None, (implied,))))

    def implies(self, constraint: str) -> bool:
        """Whether a constraint follows from others, for all that is looked at here: that a number of times a name is a
        multiple of a number, or of a part of it: `mod(12*b, 96) == 0`, `mod(12*b, floordiv(b, 8)) == 0`."""
        found = _MULTIPLE_OF_PRODUCT.fullmatch(constraint.replace(" ", ""))
        if found is None:
            return False
        known = [one for text in self.texts[1] if (one := _MULTIPLE.fullmatch(text)) is not None]
        factor = math.lcm(*(int(one[2]) for one in known if one[1] == found[2]))
        if found[3] is None:  # a part of the name itself: `4*floordiv(b, 8)`
            times, name, part = int(found[4] or 1), found[5], int(found[6])
            return name == found[2] and factor % part == 0 and int(found[1] or 1) * part % times == 0
        return int(found[1] or 1) * factor % int(found[3]) == 0

    def read_of(self, scan: Scan) -> set[str]:
        """Those of the names and paths with shapes that are inputs of a program."""
        paths = {render_path(path) for path in scan.paths}
        return {text for text in self._given if text.replace('"', "'") in paths}

    def read_by(self, names: Collection[str]) -> set[str]:
        """Those that begin with one of these names."""
        return {text for text in self._given if re.split(r"[.\[]", text)[0] in names}

    def solve(self, scan: Scan) -> NamedSizes:
        """The sizes of a run, given what its program reaches.

        Raises:
          Refused: if an input is not there, is no array, or has another shape.
        """
        places = {text: self._place(text, scan) for text in self._given}
        leaves = {place: text for text, place in places.items()}
        first = {path: index for index, path in scan.where}  # which a walk for a trace has
        parts = frozenset(1 + first[path] for n in leaves if (path := scan.paths[n]) in first)  # behind the device
        others = tuple(
            (render_path(path), leaf.shape)
            for n, (path, leaf) in enumerate(zip(scan.paths, scan.leaves, strict=True))
            if n not in leaves and isinstance(leaf, jax.Array)
        )
        values = self._solved({text: scan.leaves[place].shape for text, place in places.items()})
        return NamedSizes(leaves, parts, values, others)

    def values(self, leaves: Mapping[int, str], reached: Sequence[Any]) -> dict[str, int]:
        """How large the names are, given the inputs of a run.

        Args:
          leaves: as `NamedSizes` has them.
          reached: the inputs.
        """
        pairs = [pair for at, text in leaves.items() for pair in zip(self._given[text], reached[at].shape, strict=True)]
        return solve_names(pairs)[0]

    def abstract(self, leaves: Sequence[Any], sizes: NamedSizes) -> list[Any]:
        """The inputs as they are traced: shapes with names in the place of arrays that have them."""
        found = list(leaves)
        for place, text in sizes.leaves.items():
            weak = bool(getattr(leaves[place], "weak_type", False))
            found[place] = jax.ShapeDtypeStruct(self._traced[text], leaves[place].dtype, weak_type=weak)
        return found

    def _place(self, text: str, scan: Scan) -> int:
        """Which input a name or path means."""
        wanted = text.replace('"', "'")
        place = next((n for n, path in enumerate(scan.paths) if render_path(path) == wanted), None)
        if place is None:
            raise self._missing(text, scan)
        leaf = scan.leaves[place]
        if isinstance(leaf, np.ndarray):
            raise Refused(
                f"--shapes {text}: `{text}` is a NumPy array.",
                why="NumPy computes with the values themselves, which have a size.",
                fix=f"make it an array of JAX in a cell before this one: {text} = jnp.asarray({text}).",
            )
        if not isinstance(leaf, jax.Array):
            raise Refused(
                f"--shapes {text}: `{text}` is a {type(leaf).__name__}, and has no sizes.",
                why="shapes are those of arrays.",
                fix="leave it out.",
            )
        if len(leaf.sharding.device_set) > 1:
            raise Refused(
                f"--shapes {text}: `{text}` is spread over {len(leaf.sharding.device_set)} devices.",
                why="how an array is split depends on its size.",
                fix="put it on one device, or leave --shapes out.",
            )
        dims = self._given[text]
        if len(dims) != leaf.ndim:
            given = ", ".join(map(str, dims)) or "none"
            raise Refused(
                f"--shapes {text}: `{text}` has {_count(leaf.ndim, 'dimension')}, and {_count(len(dims), 'size')} "
                f"{'is' if len(dims) == 1 else 'are'} given.",
                why=f"its shape is {leaf.shape}, and the sizes are {given}.",
                fix="give each dimension a size.",
            )
        return place

    def _missing(self, text: str, scan: Scan) -> Refused:
        what = f"--shapes {text}: the program of the cell has no input `{text}`."
        below = [render_path(path) for path in scan.paths if is_below(path, text)]
        if below:
            more = f" and {len(below) - 3} more" if len(below) > 3 else ""
            why = f"it holds several: {', '.join(below[:3])}{more}."
            return Refused(what, why=why, fix=f'give the shape of each: --shapes "{below[0]}: ...".')
        there = [path for _, path in scan.where if render_path(path) == text.replace('"', "'")]
        if there:
            why = f"`{text}` is read, but is no array that goes into the program."
            return Refused(what, why=why, fix="leave it out.")
        read = ", ".join(dict.fromkeys(map(_root, scan.paths))) or "no array"
        return Refused(what, why=f"it reads {read}.", fix="check the spelling, or leave it out.")

    def _solved(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
        measured = [
            Measured(dim, size, f"dimension {axis} of `{text}`")
            for text, dims in self._given.items()
            for axis, (dim, size) in enumerate(zip(dims, shapes[text], strict=True))
        ]
        for text, dims in self._given.items():
            for axis, (dim, size) in enumerate(zip(dims, shapes[text], strict=True)):
                if not _jax.is_dim(dim) and dim != size:
                    what = f"--shapes {text}: dimension {axis} of `{text}` has {size}, not {dim}."
                    raise Refused(what, why=f"its shape is {shapes[text]}.", fix="give it a name, or the right number.")
        try:
            return solve_sizes(measured, self.names, self._where)
        except UnfitSizes as unfit:
            before, about, fix = _SAID[unfit.kind]
            raise Refused(f"{before}{unfit.what}", why=f"{about}{unfit.why}", fix=fix) from None


_SAID = {
    "untold": ("--shapes: ", "", "have one dimension that is a name alone, or a number of times a name."),
    "two": ("", "", "give one of them another name."),
    "unlike": ("", "", "check --shapes."),
    "small": ("", "", "leave --shapes out for it."),
    "broken": (
        "", "--where says so of every run, and ", "take arrays of another size, or leave the constraint out.",
    ),
}  # fmt: skip
"""What stands before an error, what before its reason, and what is to be done."""


def _root(path: Path) -> str:
    return render_path(path)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
