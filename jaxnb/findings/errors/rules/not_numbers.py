"""Values that arrays of JAX cannot hold: objects, text, dates, records, rows of several lengths, wide floats."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.errors.edits import advice, bracketed, exchange, joined, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import said_name
from jaxnb.findings.errors.scene import Operand, Scene
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]

_MOST = 64
"""So many items of a list are looked at."""


def _numpy_array(scene: Scene) -> Told | None:
    """An array of NumPy whose dtype JAX does not have."""
    step = scene.steps[-1]
    if step.name not in RAISING["no-number"]:
        return None
    value = next((one for key in ("x", "arg", "object") if _is_foreign(one := step.names.get(key))), None)
    if value is None:
        return None
    operand = next((one for one in scene.operands if one.value is value), None)
    operand = operand or next((one for one in scene.operands if _is_foreign(one.value)), None)
    inner = "" if operand is not None else f" of `{' '.join(scene.failed.expression.split())}`"
    text = operand.text if operand is not None else "an array"
    node = scene.failed.node
    named = isinstance(node, ast.Call) and name_called(node)
    function = (
        "" if step.names.get("fun") is None else f"`{name_called(node)}`" if named else said_name(step.names["fun"], "")
    )
    place = f", and is given to {function}" if function and operand is not None else ""
    rule = "the widest of JAX's are float64 and complex128" if _is_wide(value.dtype) else "arrays of JAX hold numbers"
    message = f"`{text}`{inner} has the dtype {value.dtype}{_what(value.dtype)}{place}: {rule}."
    message = message.replace("`an array`", "an array")
    fixes = () if operand is None else tuple(_as_numbers(scene, operand, value))
    return Told(message, (*fixes, advice(_hint(value.dtype, text))))


def _is_foreign(value: Any) -> bool:
    """Whether a value is an array of NumPy with a dtype that JAX does not have."""
    if not isinstance(value, np.ndarray | np.generic):
        return False
    return value.dtype.names is not None or value.dtype.kind in "OUSMm" or _is_wide(value.dtype)


def _is_wide(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fc" and dtype.itemsize > (8 if dtype.kind == "f" else 16)


def _what(dtype: np.dtype[Any]) -> str:
    if dtype.names:
        return f", a record of the fields {joined([repr(name) for name in dtype.names])}"
    return {"O": ", Python objects", "U": ", text", "S": ", bytes", "M": ", dates", "m": ", spans of time"}.get(
        dtype.kind, ""
    )


def _as_numbers(scene: Scene, operand: Operand, value: Any) -> Iterator[Fix]:
    np_, simple, dtype = words_of(scene, "numpy", "np"), bracketed(operand), value.dtype
    if dtype.kind == "O":
        yield exchange(scene, "make floats of them", (operand.node, f"{simple}.astype(float)"))
    elif _is_wide(dtype):
        narrow = "float64" if dtype.kind == "f" else "complex128"
        yield exchange(scene, f"cast to {narrow}", (operand.node, f"{simple}.astype({np_}.{narrow})"))
    elif dtype.kind in "US":
        yield exchange(scene, "read the numbers", (operand.node, f"{simple}.astype(float)"))
        codes = f"{np_}.unique({operand.text}, return_inverse=True)[1]"
        yield exchange(scene, "number them, as integers", (operand.node, codes))
    elif dtype.kind in "Mm":
        unit = f'{np_}.timedelta64(1, "{np.datetime_data(dtype)[0]}")'
        since = f"({operand.text} - {simple}[0])" if dtype.kind == "M" and np.ndim(value) else simple
        if dtype.kind == "m" or np.ndim(value):
            yield exchange(scene, "give the time as floats", (operand.node, f"{since} / {unit}"))


def _hint(dtype: np.dtype[Any], text: str) -> str:
    if dtype.names:
        name = dtype.names[0]
        return (
            f'give one of its fields, `{text}["{name}"]`, or a dict of all of them: {{name: {text}[name] for name in'
            f" {text}.dtype.names}}."
        )
    if dtype.kind == "O":
        return "make numbers of it, such as .astype(float); rows have to be of the same length."
    if dtype.kind in "US":
        return (
            "number the labels outside of traced functions: np.unique(labels, return_inverse=True)[1] is of integers."
        )
    if dtype.kind in "Mm":
        return 'give numbers: (days - days[0]) / np.timedelta64(1, "D") is of floats.'
    return "cast it: .astype(np.float64), of which JAX makes float32 unless 64 bits are on."


# --- lists ---


def _list(scene: Scene) -> Told | None:
    """A list of which no array can be made: it holds text, or rows of several lengths."""
    step = scene.step("array")
    value = step.names.get("object") if step is not None else None
    if type(value) not in (list, tuple) or not value or scene.steps[-1].name not in RAISING["no-number"]:
        return None
    operand = next((one for one in scene.operands if one.value is value), None)
    if operand is None and isinstance(node := scene.failed.node, ast.Call) and node.args:
        operand = Operand(scene.text(node.args[0]), node.args[0], value, scene.origin(node.args[0]))
    text = f"`{operand.text}`" if operand is not None else f"`{' '.join(scene.failed.expression.split())}`"
    word = next((one for one in _leaves(value) if isinstance(one, str | bytes)), None)
    if word is not None:
        fixes = () if operand is None or not _are_numbers(value) else (_read(scene, operand),)
        hint = "make numbers of it before: float(text), or a number for each of the words."
        return Told(f"{text} holds text, such as {word!r}: arrays of JAX hold numbers.", (*fixes, advice(hint)))
    lengths = _lengths(value)
    if lengths is None:
        return None
    shown = joined([str(one) for one in lengths[:6]])
    message = f"the rows of {text} have the lengths {shown}: an array needs rows of one length."
    fixes = () if operand is None else tuple(_padded(scene, operand, value))
    return Told(message, (*fixes, advice("pad the rows to the same length, or keep a list of arrays.")))


def _leaves(value: Any) -> Iterator[Any]:
    for item in value[:_MOST]:
        if type(item) in (list, tuple):
            yield from _leaves(item)
        else:
            yield item


def _are_numbers(value: Sequence[Any]) -> bool:
    """Whether a list is of texts that are numbers."""
    try:
        return all(isinstance(item, str) and np.isfinite(float(item)) for item in value)
    except ValueError:
        return False


def _read(scene: Scene, operand: Operand) -> Fix:
    return exchange(scene, "read the numbers", (operand.node, f"[float(one) for one in {operand.text}]"))


def _lengths(value: Sequence[Any]) -> list[int] | None:
    """The lengths of the rows of a list, the first in which they differ; None if they do not."""
    sizes = [_size(item) for item in value[:_MOST]]
    if len(set(sizes)) > 1:
        return list(dict.fromkeys(sizes))
    inner = [_lengths(item) for item in value[:_MOST] if type(item) in (list, tuple) and item]
    return next((one for one in inner if one is not None), None)


def _size(value: Any) -> int:
    if type(value) in (list, tuple):
        return len(value)
    shape = value.shape if isinstance(value, np.ndarray | jax.Array) else ()
    return shape[0] if shape else 1


def _padded(scene: Scene, operand: Operand, value: Sequence[Any]) -> Iterator[Fix]:
    """Rows with as many zeros behind them as the longest one needs."""
    flat = all(type(row) is list and all(type(one) in (int, float) for one in row) for row in value)
    if flat and isinstance(operand.node, ast.Name | ast.Attribute):
        text = operand.text
        zeros = f"[0] * (max(len(row) for row in {text}) - len(row))"
        yield exchange(scene, "pad with zeros", (operand.node, f"[row + {zeros} for row in {text}]"))


_BAD = (TypeError, ValueError)

EXPLAINERS = (
    Explainer("no-rows", _BAD, _list, inside=RAISING["no-number"]),
    Explainer("no-numbers", _BAD, _numpy_array, inside=RAISING["no-number"]),
)
