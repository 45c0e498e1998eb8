"""The sizes of a program for all of them: read from its signature, and solved from what it is called with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jax import export

from jaxnb import _jax
from jaxnb.errors import JaxnbError
from jaxnb.exported.signature import Leaf, Node, Signature, Sizes
from jaxnb.named import Constraint, Measured, UnfitSizes, dims_in, read_constraint, scope_of, solve_sizes

__all__ = ["BadInput", "Measure", "NoSizes", "flat_types"]

_FIXES = {
    "two": "give arrays that have one size there.",
    "unlike": "give arrays whose sizes go together.",
    "small": "give an array that holds something.",
    "broken": "give arrays of another size, or export the cell without that constraint.",
}


class BadInput(JaxnbError):
    """What a loaded cell was called with does not fit; nothing has run."""


class NoSizes(ValueError):
    """What a signature says of sizes cannot be read."""


class _Answer(NamedTuple):
    text: str
    constraint: Constraint
    answer: bool


def flat_types(leaves: Sequence[Leaf], sizes: Sizes | None) -> list[tuple[tuple[Any, ...], str]]:
    """The shapes that a program knows, as JAX has them, and the dtypes.

    Raises:
      NoSizes: if a text is no size.
    """
    scope = scope_of(sizes.constraints if sizes is not None else ())
    try:
        return [(dims_in(scope, leaf.flat_shape), leaf.dtype) for leaf in leaves]
    except ValueError as error:
        raise NoSizes(str(error).partition("\n")[0]) from None


class Measure:
    """What the names of sizes are in a call.

    Args:
      signature: of the program.

    Raises:
      NoSizes: if what it says of sizes cannot be read.
    """

    def __init__(self, signature: Signature) -> None:
        sizes = signature.sizes
        self._names = tuple(name for name, _ in sizes.there) if sizes is not None else ()
        self._dims: list[tuple[Any, ...]] = []
        self._constraints: list[Constraint] = []
        self._answers: list[_Answer] = []
        self._scope = export.SymbolicScope()
        if sizes is None:
            return
        try:
            self._dims = [dims_in(self._scope, leaf.shape) for leaf in signature.leaves]
            self._constraints = [read_constraint(text) for text in sizes.where]
            self._answers = [_Answer(text, read_constraint(text), answer) for text, answer in sizes.answers]
        except (ValueError, JaxnbError) as error:
            raise NoSizes(str(error).partition("\n")[0]) from None
        known = set[str]().union(*(_jax.dim_variables(dim) for dims in self._dims for dim in dims))
        said = set[str]().union(*(one.names for one in (*self._constraints, *(one[1] for one in self._answers))))
        if known != {*self._names} or not said <= known:
            raise NoSizes("its sizes have other names than its shapes")

    def solve(self, given: Sequence[tuple[str, Any]]) -> dict[str, int]:
        """How large each name is.

        Args:
          given: for each array that the program takes where it was given, and itself.

        Raises:
          BadInput: if sizes contradict one another, or what the program is for.
        """
        if not self._names:
            return {}
        measured: list[Measured] = []
        for (place, value), dims in zip(given, self._dims, strict=True):
            for axis, (dim, size) in enumerate(zip(dims, getattr(value, "shape", ()), strict=False)):
                if _jax.is_dim(size):
                    why = "what the cell asked of sizes is asked again of each call."
                    raise BadInput(f"dimension {axis} of `{place}` is no number.", why=why, fix="give arrays.")
                measured.append(Measured(dim, size, f"dimension {axis} of `{place}`"))
        try:
            found = solve_sizes(measured, self._names, self._constraints)
        except UnfitSizes as unfit:
            raise BadInput(unfit.what, why=unfit.why, fix=_FIXES.get(unfit.kind, "")) from None
        for text, constraint, answer in self._answers:
            if constraint.holds(found) is not answer:
                said = ", ".join(f"{name} is {found[name]}" for name in sorted(constraint.names))
                raise BadInput(
                    f"{said}, and the program is for sizes of which `{text}` is {answer}.",
                    why="the cell asks that of its sizes, and a file holds one of the two ways on.",
                    fix="export the cell as it runs for these sizes, too.",
                )
        return found

    def value(self, node: Node, found: Mapping[str, int]) -> int:
        """The int that a size is in a call."""
        (dim,) = dims_in(self._scope, [node.value])
        return _jax.dim_value(dim, found)
