"""What a program calls while it runs: functions given to `jax.debug.callback`, `io_callback` and `pure_callback`.

They are part of the program, as the very objects that they were when it was traced, and what they change is changed by
no replay. So a program serves while what they come to is the same, by identity; and a function that comes to what each
run makes anew, or to a value that only the trace has, cannot be part of one.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from jaxnb import _jax
from jaxnb.staging.cells.reach import ATOMS, is_user_function
from jaxnb.staging.cells.referents import closure_of
from jaxnb.staging.objects.graph import Scan
from jaxnb.staging.objects.met import met_from
from jaxnb.staging.trace.recorder import NumpyValue

__all__ = ["CalledBack", "NotCalled", "read_called_back"]


class NotCalled(Exception):
    """A program cannot call this function.

    Attributes:
      eqn: the equation that would.
      short: why not, as a clause.
    """

    def __init__(self, eqn: Any, short: str) -> None:
        super().__init__(short)
        self.eqn, self.short = eqn, short


class CalledBack(NamedTuple):
    """The functions that a program calls.

    What they look up by a global name is looked up when they run, and is not among what they hold.

    Attributes:
      functions: what they are.
      nodes: of the walk that was traced, the objects that they hold, each with its position.
      leaves: the inputs that they hold, as well.
      home: the namespace in which the cell was traced.
      changes: the first equation that calls one of them which may change what statements after it read, or None.
    """

    functions: tuple[Any, ...]
    nodes: tuple[tuple[int, Any], ...]
    leaves: tuple[tuple[int, Any], ...]
    home: dict[str, Any]
    changes: Any = None

    def serves(self, nodes: Sequence[Any], leaves: Sequence[Any], namespace: Mapping[str, Any]) -> bool:
        """Whether a run in this namespace, of which a walk met these nodes and leaves, would call the same."""
        same_nodes = all(nodes[place] is item for place, item in self.nodes)
        same_leaves = all(_is_same(leaves[place], item) for place, item in self.leaves)
        return namespace is self.home and same_nodes and same_leaves


def _is_same(leaf: Any, other: Any) -> bool:
    return leaf is other or (type(leaf) is type(other) and type(leaf) in ATOMS and leaf == other)


def read_called_back(
    eqns: Iterable[Any],
    scan: Scan,
    home: dict[str, Any],
    was_there: Callable[[Any], bool],
    inputs: Mapping[int, int],
) -> CalledBack | None:
    """What the equations of a trace call; None if nothing. To be asked while what was traced is still in its place.

    Args:
      eqns: of the trace.
      scan: the walk that was traced.
      home: the namespace of the cell.
      was_there: whether an object was there before the trace.
      inputs: positions of the leaves, by the id of what stands in their place now.

    Raises:
      NotCalled: if a function comes to what each run makes anew, or to a traced value.
    """
    found = list(_jax.called_back(eqns))
    if not found:
        return None
    known = {id(node): place for place, node in enumerate(scan.nodes)}
    seen: dict[int, Any] = {}
    held: dict[int, Any] = {}
    changes: Any = None
    for eqn, function in found:
        for root in _own(function, was_there, set()):
            deque(met_from(root, held, by_name=False), 0)
            before = len(seen)
            deque(met_from(root, seen), 0)
            for item in list(seen.values())[before:]:  # also what hides what it is, such as a stand-in
                kind = type(item)
                leaf = scan.leaves[inputs[id(item)]] if id(item) in inputs else None
                if isinstance(item, _MADE_WITH_IT) or issubclass(kind, types.ModuleType) or isinstance(leaf, jax.Array):
                    continue
                if leaf is None and (kind is NumpyValue or _jax.is_tracer_type(kind)):
                    raise NotCalled(eqn, "a callback reads what the cell computes")
                if leaf is None and not (id(item) in known or was_there(item)):
                    raise NotCalled(eqn, "a callback holds what each run makes anew")
                changes = changes or eqn
    nodes = [(known[key], item) for key, item in held.items() if key in known and not isinstance(item, _CODE)]
    leaves = [(inputs[key], scan.leaves[inputs[key]]) for key in held if key in inputs]
    return CalledBack(tuple(function for _, function in found), tuple(nodes), tuple(leaves), home, changes)


_CODE = (types.FunctionType, types.MethodType, types.CellType)
"""What the key knows by content: another of the same content does the same, with what it holds."""
_MADE_WITH_IT = (
    *(*_CODE, functools.partial, types.BuiltinMethodType, types.CodeType, type),
    *(tuple, frozenset, staticmethod, classmethod),
)
"""What only says which function it is, and holds nothing that would change."""


def _own(item: Any, was_there: Callable[[Any], bool], seen: set[int]) -> Iterator[Any]:
    """What the user gave, out of what a library has wrapped around it with closures of its own."""
    if id(item) in seen:
        return
    seen.add(id(item))
    if isinstance(item, types.FunctionType) and not is_user_function(item):
        for _, held in closure_of(item):
            yield from _own(held, was_there, seen)
    elif isinstance(item, types.FunctionType | types.MethodType) or callable(item) or was_there(item):
        yield item
