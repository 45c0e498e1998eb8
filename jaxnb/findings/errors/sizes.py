"""Shapes of operands: what meets, how axes are counted and said."""

from __future__ import annotations

import ast
from typing import Any

from jaxnb.findings.errors.edits import bracketed
from jaxnb.findings.errors.scene import Operand

__all__ = ["Shape", "axes_text", "clash", "constant_of", "shape_of", "size_of", "turned"]

Shape = tuple[Any, ...]


def turned(operand: Operand) -> str:
    shape = shape_of(operand)
    return f"{bracketed(operand)}.T" if len(shape) == 2 else f"{bracketed(operand)}.swapaxes(-1, -2)"


def clash(a: Shape, b: Shape) -> int | None:
    """The last axis, counted from the right, that keeps two shapes apart."""
    for axis in range(-1, -min(len(a), len(b)) - 1, -1):
        if a[axis] != b[axis] and 1 not in (a[axis], b[axis]):
            return axis
    return None


def constant_of(operand: Operand | None, default: int) -> int:
    node = operand.node if operand is not None else None
    sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return sign * inner.value if isinstance(inner, ast.Constant) and isinstance(inner.value, int) else default


def axes_text(shape: Shape) -> str:
    return "one axis" if len(shape) == 1 else "no axis" if not shape else f"{len(shape)} axes"


def size_of(shape: Shape) -> int:
    product = 1
    for size in shape:
        product *= size
    return product


def shape_of(operand: Operand) -> Shape:
    return operand.shape or ()
