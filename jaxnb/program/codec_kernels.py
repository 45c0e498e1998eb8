"""Kernels as part of a saved program, and back. What `program.schema.json` says of them is under "kernels".

What has its usual value is left out. Where a window starts at each step is mostly linear in the indices of the step:
then it is said by one number for each dimension of the grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from jaxnb.program.kernels import Kernel, KernelWindow, Reordered, Scratch
from jaxnb.program.tables import indices_of, pair_of, typed

__all__ = ["decode_kernels", "encode_kernels"]

_MOST_STEPS = 1 << 16  # that a saved program may have windows of


def encode_kernels(kernels: Sequence[Kernel]) -> list[dict[str, Any]]:
    """Kernels as JSON."""
    return [_encode_kernel(kernel) for kernel in kernels]


def decode_kernels(data: Sequence[Mapping[str, Any]]) -> tuple[Kernel, ...]:
    """The kernels that `encode_kernels` made the data from.

    Raises:
      TypeError, ValueError, KeyError: if it is damaged.
    """
    return tuple(map(_decode_kernel, data))


def _plain(row: Any, *without: str) -> dict[str, Any]:
    """The fields that have not their usual values."""
    found = {field.name: getattr(row, field.name) for field in fields(row) if field.name not in without}
    usual = {field.name: field.default for field in fields(row)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in found.items()
        if usual[name] is MISSING or value != usual[name]
    }


def _encode_kernel(kernel: Kernel) -> dict[str, Any]:
    data = _plain(kernel, "windows", "scratch", "prefetched", "order")
    data["windows"] = [_encode_window(window, kernel.grid) for window in kernel.windows]
    for name in ("scratch", "prefetched"):
        if rows := getattr(kernel, name):
            data[name] = [_plain(row) for row in rows]
    if kernel.order is not None:
        data["order"] = _plain(kernel.order)
    return data


def _encode_window(window: KernelWindow, grid: Sequence[int | None]) -> dict[str, Any]:
    data = _plain(window, "starts")
    if window.starts:
        sizes = [size or 0 for size in grid]
        data["steps"] = len(window.starts)
        data["starts"] = [_encode_starts([start[dim] for start in window.starts], sizes) for dim in _dims(window)]
    return data


def _dims(window: KernelWindow) -> range:
    return range(len(window.shape))


def _encode_starts(column: list[int], grid: Sequence[int]) -> dict[str, Any]:
    """Along one dimension of the array: linear in the step if it is, else one number a step."""
    behind = _behind(grid)
    ones = [step if size > 1 and step < len(column) else None for size, step in zip(grid, behind, strict=True)]
    by = [column[step] - column[0] if step is not None else 0 for step in ones]
    if column == _linear(column[0], by, grid, len(column)):
        return {"from": column[0], "by": by}
    return {"at": column}


def _behind(grid: Sequence[int]) -> list[int]:
    """How many steps one more along each dimension of a grid is."""
    return [math.prod(grid[axis + 1 :]) for axis in range(len(grid))]


def _linear(start: int, by: Sequence[int], grid: Sequence[int], steps: int) -> list[int]:
    axes = [(factor, size, fast) for factor, size, fast in zip(by, grid, _behind(grid), strict=True) if factor]
    return [start + sum(step // fast % size * factor for factor, size, fast in axes) for step in range(steps)]


Read = Callable[[Any], Any]


def _text(value: Any) -> str:
    return typed(value, str)


def _number(value: Any) -> int:
    return typed(value, int)


def _number_or_none(value: Any) -> int | None:
    return typed(value, int, type(None))


def _truth(value: Any) -> bool:
    return typed(value, bool)


def _numbers_or_none(value: Any) -> tuple[int | None, ...]:
    return tuple(map(_number_or_none, value))


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(map(_text, value))


def _three(value: Any) -> tuple[int, int, int]:
    first, second, third = indices_of(value)
    return first, second, third


_KERNEL: Mapping[str, Read] = {
    **{"name": _text, "backend": _text, "place": pair_of, "line": _number_or_none, "grid": _numbers_or_none},
    **{"semantics": _texts, "unknown": _texts, "interpret": _truth, "estimate": _three, "limit": _number_or_none},
    **dict.fromkeys(("counted", "flops", "transcendentals"), _number),
}
_WINDOW: Mapping[str, Read] = {
    **dict.fromkeys(("name", "role", "dtype", "memory", "why"), _text),
    **dict.fromkeys(("itemsize", "buffers"), _number),
    **dict.fromkeys(("alias", "blocks", "fetches", "moved", "again", "outside", "unwritten"), _number_or_none),
    **{"shape": indices_of, "block": _numbers_or_none},
}
_SCRATCH: Mapping[str, Read] = {
    **{"name": _text, "shape": indices_of, "dtype": _text, "itemsize": _number, "memory": _text}
}


def _read(data: Mapping[str, Any], kinds: Mapping[str, Read]) -> dict[str, Any]:
    return {name: read(data[name]) for name, read in kinds.items() if name in data}


def _decode_kernel(data: Mapping[str, Any]) -> Kernel:
    told = _read(data, _KERNEL)
    sizes = [size or 0 for size in told["grid"]]
    windows = tuple(_decode_window(window, sizes) for window in data["windows"])
    for name in ("scratch", "prefetched"):
        told[name] = tuple(Scratch(**_read(row, _SCRATCH)) for row in data.get(name, ()))
    if "order" in data:
        order = data["order"]
        told["order"] = Reordered(indices_of(order["axes"]), _number(order["moved"]), indices_of(order["fetches"]))
        if sorted(told["order"].axes) != list(range(len(sizes))):
            raise ValueError(f"{told['order'].axes} is no order of {len(sizes)} dimensions")
    return Kernel(windows=windows, **told)


def _decode_window(data: Mapping[str, Any], grid: Sequence[int]) -> KernelWindow:
    told = _read(data, _WINDOW)
    if told["role"] not in ("in", "out"):
        raise ValueError(f"a window of a kernel is {told['role']!r}, neither in nor out")
    if len(told["block"]) != len(told["shape"]):
        raise ValueError(f"a window of {len(told['block'])} dimensions, of an array of {len(told['shape'])}")
    if "steps" in data:
        steps = _number(data["steps"])
        if not 0 < steps <= min(math.prod(grid), _MOST_STEPS):
            raise ValueError(f"windows at {steps} steps of a grid {tuple(grid)}")
        columns = [_decode_starts(column, grid, steps) for column in data["starts"]]
        if len(columns) != len(told["shape"]):
            raise ValueError(f"starts along {len(columns)} dimensions of {len(told['shape'])}")
        told["starts"] = tuple(zip(*columns, strict=True)) if columns else ((),) * steps
    return KernelWindow(**told)


def _decode_starts(data: Mapping[str, Any], grid: Sequence[int], steps: int) -> Sequence[int]:
    if "from" in data:
        return _linear(_number(data["from"]), indices_of(data["by"]), grid, steps)
    column = indices_of(data["at"])
    if len(column) != steps:
        raise ValueError(f"{len(column)} starts of {steps} steps")
    return column
