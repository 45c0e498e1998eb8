"""Jaxprs of scalars at every step of a grid at once: an index map, or what of a kernel's body follows from the step.

A scalar is an array with one element a step, or None where it is not known: it depends on what the kernel is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jax.extend import core as jax_core
from numpy.typing import NDArray

from jaxnb._jax import CALLS, called_jaxprs, open_jaxpr

__all__ = ["Scalars", "grid_indices", "scalars_of", "step_values", "value_of"]

Scalars = dict[Any, "NDArray[Any] | None"]
"""The values of variables, one for each step; of those that are missing nothing is known."""

Known = Sequence["NDArray[Any] | None"]


def grid_indices(grid: Sequence[int], most: int) -> tuple[NDArray[np.int32], ...]:
    """The index of each of the first steps along each dimension of a grid, the last one the fastest.

    Args:
      grid: the sizes.
      most: how many steps at most.

    >>> [indices.tolist() for indices in grid_indices((2, 3), 4)]
    [[0, 0, 0, 1], [0, 1, 2, 0]]
    """
    steps = np.arange(min(math.prod(grid), most), dtype=np.int64)
    behind = [math.prod(grid[axis + 1 :]) for axis in range(len(grid))]
    return tuple((steps // fast % size).astype(np.int32) for size, fast in zip(grid, behind, strict=True))


def step_values(jaxpr: Any, inputs: Known, grid: Sequence[int] = (), indices: Known = ()) -> list[NDArray[Any] | None]:
    """The results of a jaxpr at every step.

    Args:
      jaxpr: open or closed, of scalars; what it has besides of arrays and references is not known.
      inputs: its arguments.
      grid: the sizes of the grid, for `num_programs`.
      indices: of the steps, for `program_id`.
    """
    opened = open_jaxpr(jaxpr)
    known: Scalars = dict(zip(opened.invars, inputs, strict=True))
    scalars_of(opened, known, grid, indices)
    return [value_of(atom, known) for atom in opened.outvars]


def scalars_of(jaxpr: Any, known: Scalars, grid: Sequence[int], indices: Known) -> None:
    """Adds to the known values those that the equations of a jaxpr make, as far as they follow."""
    for eqn in jaxpr.eqns:
        made = _made(eqn, [value_of(atom, known) for atom in eqn.invars], grid, indices)
        known.update(zip(eqn.outvars, made, strict=False))


def value_of(atom: Any, known: Scalars) -> NDArray[Any] | None:
    """What is known of a variable or a literal."""
    if isinstance(atom, jax_core.Literal):
        aval: Any = atom.aval
        return np.asarray(atom.val, aval.dtype) if not aval.shape else None
    return known.get(atom)


def _made(eqn: Any, operands: Known, grid: Sequence[int], indices: Known) -> Known:
    name = eqn.primitive.name
    if name == "program_id":
        axis = eqn.params["axis"]
        return (indices[axis],) if axis < len(indices) else ()
    if name == "num_programs":
        axis = eqn.params["axis"]
        return (np.asarray(grid[axis], np.int32),) if axis < len(grid) else ()
    if name in CALLS:
        (called,) = called_jaxprs(eqn)
        return step_values(called.jaxpr, operands, grid, indices)
    if name == "cond":
        return _chosen(eqn, operands, grid, indices)
    rule = _RULES.get(name)
    (aval, *others) = [atom.aval for atom in eqn.outvars] or [None]
    if rule is None or others or getattr(aval, "shape", None) != () or any(operand is None for operand in operands):
        return ()
    with np.errstate(all="ignore"):  # what is out of range is what the kernel would get, too
        return (np.asarray(rule(*operands)).astype(aval.dtype, copy=False),)


def _chosen(eqn: Any, operands: Known, grid: Sequence[int], indices: Known) -> Known:
    which, *given = operands
    if which is None:
        return ()
    results = [step_values(branch, given, grid, indices) for branch in eqn.params["branches"]]
    return [
        None if any(branch is None for branch in branches) else _select(which, *branches)
        for branches in zip(*results, strict=True)
    ]


def _select(which: Any, *cases: Any) -> Any:
    return np.choose(np.clip(which.astype(np.int64), 0, len(cases) - 1), cases)


def _divided(a: Any, b: Any) -> Any:
    """Integers are divided towards zero, as XLA does; by zero they become -1."""
    if not np.issubdtype(a.dtype, np.integer):
        return a / b
    safe = np.where(b == 0, 1, b)
    return np.where(b == 0, -1, np.sign(a) * np.sign(safe) * (np.abs(a) // np.abs(safe)))


def _remainder(a: Any, b: Any) -> Any:
    return np.where(b == 0, a, np.fmod(a, np.where(b == 0, 1, b)))


def _negated(a: Any) -> Any:
    return ~a


def _as_it_is(a: Any) -> Any:
    return a


_RULES: Mapping[str, Callable[..., Any]] = {
    **{"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": _divided, "rem": _remainder},
    **{"max": np.maximum, "min": np.minimum, "neg": np.negative, "sign": np.sign, "abs": np.abs},
    **{"floor": np.floor, "ceil": np.ceil, "clamp": lambda low, a, high: np.minimum(np.maximum(a, low), high)},
    **{"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater},
    **{"ge": np.greater_equal, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": _negated},
    **{"shift_left": np.left_shift, "shift_right_arithmetic": np.right_shift, "select_n": _select},
    **dict.fromkeys(("convert_element_type", "copy", "stop_gradient", "squeeze", "reshape"), _as_it_is),
    **dict.fromkeys(("broadcast_in_dim", "multiple_of", "pvary", "copy_p"), _as_it_is),
}
"""Of primitives whose operands and result are scalars."""
