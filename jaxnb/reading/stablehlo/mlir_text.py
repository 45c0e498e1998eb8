"""Types, attributes and constants of MLIR as short texts."""

from __future__ import annotations

import re
from typing import Any, cast

from jax.extend.mlir import ir

from jaxnb.reading.jaxpr.params import LONGEST_TEXT

__all__ = ["attribute_text", "complex_text", "constant_text", "element_type", "sharding_text"]

_MOST_ELEMENTS = 8
_SIZED = re.compile(r"(u?i|f|bf)(\d+)")
_COMPLEX = re.compile(r"complex<f(\d+)>")
_COMPLEX_ELEMENT = re.compile(r"dense<\(([^,()]+),([^,()]+)\)>")
_SMALL = re.compile(r"f(\d)(E\w+)")
_NAMES = {"u": "uint", "ui": "uint", "i": "int", "si": "int", "f": "float", "bf": "bfloat"}
_DECORATED = re.compile(r"#(?:stablehlo|chlo|mhlo)(?:<[a-z_]+|\.\w+<) ?(.*)>", re.DOTALL)


def element_type(text: str) -> tuple[str, int]:
    """The name of a dtype and the bytes of one element, from MLIR's name for it.

    >>> [element_type(text) for text in ("f32", "i1", "ui8", "bf16", "complex<f32>", "f8E4M3FN", "i4")]
    [('float32', 4), ('bool', 1), ('uint8', 1), ('bfloat16', 2), ('complex64', 8), ('float8_e4m3fn', 1), ('int4', 1)]
    """
    if text == "i1":
        return "bool", 1
    if found := _SIZED.fullmatch(text):
        bits = int(found[2])
        return f"{_NAMES[found[1]]}{bits}", max(1, bits // 8)
    if found := _COMPLEX.fullmatch(text):
        bits = 2 * int(found[1])
        return f"complex{bits}", bits // 8
    if found := _SMALL.fullmatch(text):
        return f"float{found[1]}_{found[2].lower()}", 1
    return text, 0


def constant_text(attribute: Any) -> str:
    """The value of a constant that is one number throughout; the elements of any other are elided."""
    if not isinstance(attribute, ir.DenseElementsAttr) or not (attribute.is_splat or len(attribute) == 1):
        return "[…]"
    value = cast(Any, attribute.get_splat_value() if attribute.is_splat else cast(Any, attribute)[0])
    value = getattr(value, "value", value)
    return f"{value:.7g}" if isinstance(value, float) else str(value)[:LONGEST_TEXT]


def complex_text(constant: Any) -> str:
    """The same for a constant operation of complex numbers, of which the bindings have no object (jaxlib 0.10, 0.12).

    So it is printed, without large elements and without looking at the operations around it.
    """
    printed = constant.get_asm(large_elements_limit=1, use_local_scope=True, assume_verified=True)
    found = _COMPLEX_ELEMENT.search(printed)
    if found is None:
        return "[…]"
    if "0x" in found[0]:  # infinity and NaN are printed as bits
        return f"({found[1]}, {found[2]})"
    return f"{float(found[1]):.7g}{float(found[2]):+.7g}j"


def attribute_text(attribute: Any) -> str:
    """An attribute as text, "" if it says nothing; nothing large is printed to be cut off.

    Numbers in a row become `(0, 1)`, an enumeration its word, what belongs to StableHLO loses its decoration.
    """
    if isinstance(attribute, ir.StringAttr):
        return _string(attribute.value_bytes)
    if isinstance(attribute, ir.DenseElementsAttr):
        return _short(str(attribute)) if len(attribute) <= _MOST_ELEMENTS else "[…]"
    if isinstance(attribute, ir.DenseResourceElementsAttr):
        return "[…]"
    if isinstance(attribute, (ir.DenseI64ArrayAttr, ir.DenseI32ArrayAttr, ir.DenseBoolArrayAttr)):
        items = [str(item) for item in cast(Any, attribute)]
        return _short(f"({', '.join(items)}{',' if len(items) == 1 else ''})") if items else ""
    if isinstance(attribute, ir.ArrayAttr):
        items = [attribute_text(item) for item in list(attribute)[: 2 * _MOST_ELEMENTS]]
        return _short(f"({', '.join(items)})") if any(items) and set(items) != {"DEFAULT"} else ""
    if isinstance(attribute, ir.DictAttr):
        named = [attribute[at] for at in range(min(len(attribute), _MOST_ELEMENTS))]
        return _short(", ".join(f"{item.name}={attribute_text(item.attr)}" for item in cast(Any, named)))
    if isinstance(attribute, ir.BoolAttr):
        return "True" if attribute.value else ""
    if isinstance(attribute, ir.IntegerAttr):
        return str(attribute.value)
    text = str(attribute)
    if found := _DECORATED.fullmatch(text):
        text = found[1]
    return _short(text)


def sharding_text(attribute: Any) -> str:
    """How a value is spread, in the words of Shardy (`[{"x"}, {}]`) or of XLA (`{devices=[2,1]<=[2]}`)."""
    text = str(attribute.value) if isinstance(attribute, ir.StringAttr) else str(attribute)
    found = re.search(r"<@[\w.\"]+, (\[.*\])", text)
    return _short(found[1] if found else text)


def _string(written: bytes) -> str:
    try:
        text = written.decode()
    except UnicodeDecodeError:  # a kernel of Triton is bytecode in a string
        return "[…]"
    return "[…]" if "\0" in text else _short(text[: LONGEST_TEXT + 1])


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
