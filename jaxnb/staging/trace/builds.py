"""How a value that a cell has bound is made anew for a run: functions of one run, a `Build` for each part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxnb.staging.objects.graph import Reached

__all__ = ["Build", "Building", "constant", "input_of", "memoized", "node_of", "set_state", "tuple_of"]

Build = Callable[["Building"], Any]


class Building:
    """One application of a recipe: the inputs and outputs of a run, and what was built so far.

    Args:
      reached: the inputs.
      outputs: of the program.
      namespace: the names.
      of_sizes: what stands for a size that has a name, or a number of a class that is computed from sizes, where there
        is no run; None in one.
    """

    __slots__ = ("made", "namespace", "of_sizes", "outputs", "reached")

    def __init__(
        self,
        reached: Reached,
        outputs: Sequence[Any],
        namespace: dict[str, Any],
        of_sizes: Callable[[Any, type | None], Any] | None = None,
    ) -> None:
        self.reached, self.outputs, self.namespace, self.of_sizes = reached, outputs, namespace, of_sizes
        self.made: dict[int, Any] = {}


def set_state(made: Any, state: Any) -> None:
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if attributes:
        made.__dict__.update(attributes)
    for name, item in (slots or {}).items():
        object.__setattr__(made, name, item)


def constant(value: Any) -> Build:
    return lambda b: value


def input_of(index: int) -> Build:
    return lambda b: b.reached.leaves[index]


def node_of(index: int) -> Build:
    return lambda b: b.reached.nodes[index]


def memoized(key: int, build: Build) -> Build:
    def once(b: Building) -> Any:
        if key not in b.made:
            b.made[key] = build(b)
        return b.made[key]

    return once


def tuple_of(kind: Build, children: list[Build], attributes: list[tuple[str, Build]]) -> Build:
    def build(b: Building) -> Any:
        made: Any = tuple.__new__(kind(b), [child(b) for child in children])
        for name, child in attributes:
            made.__dict__[name] = child(b)
        return made

    return build
