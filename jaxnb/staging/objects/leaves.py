"""What a walk says of inputs, and of what is part of the key as it stands: arrays, NumPy values, numbers, buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jaxnb.errors import LeakedTracer
from jaxnb.staging.cells.code import Sees
from jaxnb.staging.cells.referents import has_state
from jaxnb.staging.objects import containers
from jaxnb.staging.objects.mutables import BUFFER
from jaxnb.staging.objects.paths import ARRAY, COMPLEX, CONTENT, FLOAT, INT, NUMPY, Path, Same, render_path, root_name
from jaxnb.staging.objects.slots import Slot
from jaxnb.staging.objects.static import content_of, supported

if TYPE_CHECKING:
    from jaxnb.staging.objects.graph import Scan

__all__ = [
    "FLOAT32_MAX",
    "INT32",
    "array",
    "atom",
    "buffer",
    "complex_",
    "float_",
    "int_",
    "numpy",
    "range_",
    "shape",
    "tells_number",
    "tracer",
]

INT32 = 2**31
FLOAT32_MAX = 3.4028234e38


def atom(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    scan.parts.append((type(value), value))


def range_(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    bounds = (value.start, value.stop, value.step)
    scan.parts.append((type(value), bounds, tuple(map(type, bounds))))


def array(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    if scan.alias(value, slot):
        return
    if scan.choices.static and path in scan.choices.static:
        scan.memo[id(value)] = ("node", len(scan.nodes))
        scan.nodes.append(value)
        scan.parts.append((CONTENT, value.aval, content_of(value)))
        return
    if scan.tells_apart & Sees.IDENTITY:
        scan.memo[id(value)] = ("leaf", len(scan.leaves))
    part = (ARRAY, value.aval, value.sharding) if value.committed else (ARRAY, value.aval)
    if scan.choices.lays and not value.committed:
        part = (*part, value.sharding, False)
    scan.leaf(value, path, slot, part)


def shape(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    if not scan.alias(value, slot):
        if scan.tells_apart & Sees.IDENTITY:
            scan.memo[id(value)] = ("leaf", len(scan.leaves))
        scan.leaf(value, path, slot, (ARRAY, value))


def numpy(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    if scan.alias(value, slot):
        return
    if type(value) not in (np.ndarray, np.memmap) and isinstance(value, np.ndarray):
        scan.nodes.append(value)
        scan.parts.append(Same(value))
        scan.living(path, f"a {type(value).__name__} has operators of its own")
        return
    if value.dtype == object:
        containers.objects(scan, value, path, slot)
        return
    static = scan.tells_apart & Sees.CLASSES or scan.choices.is_static(path, isinstance(value, np.generic))
    if supported(value.dtype) and not static:
        if scan.tells_apart & Sees.IDENTITY:
            scan.memo[id(value)] = ("leaf", len(scan.leaves))
        scan.leaf(value, path, slot, (NUMPY, type(value), value.dtype, value.shape))
        return
    scan.memo[id(value)] = ("node", len(scan.nodes))
    scan.nodes.append(value)
    if value.dtype.hasobject:
        scan.parts.append(Same(value))
        scan.living(path, "a structured array of objects is out of reach")
    else:
        scan.parts.append((CONTENT, type(value), value.dtype, value.shape, content_of(value)))
        if value.flags.writeable:
            scan.hold(value, BUFFER)


def tells_number(scan: Scan, path: Path) -> bool:
    """Whether the code could tell a number of Python's from what would stand for it.

    Where a number changes from run to run, what stands for it answers as the number would, if it is asked at all.
    """
    return bool(scan.tells_apart & (Sees.BARE_TYPES if path in scan.choices.dynamic else Sees.TYPES))


def float_(scan: Scan, value: float, path: Path, slot: Slot | None) -> None:
    beyond = scan.in_library or (not -FLOAT32_MAX <= value <= FLOAT32_MAX and value - value == 0)
    if beyond or tells_number(scan, path) or scan.choices.is_static(path):
        scan.parts.append((float, value.hex(), *scan.fixed))
    else:
        scan.leaf(value, path, slot, FLOAT)


def complex_(scan: Scan, value: complex, path: Path, slot: Slot | None) -> None:
    if scan.in_library or scan.choices.is_static(path):
        scan.parts.append((complex, repr(value)))
    else:
        scan.leaf(value, path, slot, COMPLEX)


def int_(scan: Scan, value: int, path: Path, slot: Slot | None) -> None:
    if scan.choices.dynamic and path in scan.choices.dynamic and 0 <= value < INT32 and not tells_number(scan, path):
        scan.leaf(value, path, slot, INT)
    else:
        scan.parts.append((int, value, *scan.fixed))


def buffer(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    if not scan.node(value, slot):
        scan.parts.append((CONTENT, type(value), memoryview(value).tobytes()))
        scan.hold(value, BUFFER)
        if has_state(value):
            scan.state(value, path)


def tracer(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    leaked = LeakedTracer(
        f"`{render_path(path)}` is a tracer that leaked out of an earlier transformation.",
        why="it stands for a value that existed only while a function was traced.",
        fix=f"run the cell that set `{render_path(path)}` again, returning the value from the function instead.",
    )
    leaked.tracer, leaked.root = value, root_name(path) or ""
    raise leaked
