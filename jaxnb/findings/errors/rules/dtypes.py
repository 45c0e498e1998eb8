"""Dtypes that an operation does not take, that do not go together, that do not exist, and numbers beyond them."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray

from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.errors.edits import advice, bracketed, exchange, joined, segment, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.parts import compared_apart
from jaxnb.findings.errors.scene import Operand, Scene
from jaxnb.program import Fix
from jaxnb.staging import describe

__all__ = ["EXPLAINERS"]


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray | np.generic)


def _is_numeric(dtype: Any) -> bool:
    """Whether a dtype is of numbers or booleans: keys have one of their own, and so have derivatives of integers."""
    return jnp.issubdtype(dtype, np.number) or jnp.issubdtype(dtype, np.bool_)


def _raised_by(scene: Scene, check: str) -> Any:
    """The names of the check that raised, if it is this one."""
    step = scene.steps[-1] if scene.steps else None
    return step.names if step is not None and step.name in RAISING[check] else None


def _dtype_of(operand: Operand) -> str:
    """The dtype that an operand has among arrays; "" of what is none."""
    if _is_array(operand.value):
        return operand.dtype
    if type(operand.value) in (bool, int, float, complex):
        return str(jax.dtypes.canonicalize_dtype(np.result_type(operand.value)))
    return ""


def _of_dtype(scene: Scene, dtype: Any) -> list[Operand]:
    return [operand for operand in scene.operands if _dtype_of(operand) == str(dtype)]


def _function(scene: Scene) -> str:
    """What the failed expression does: the sign of an operator, or the function as the user calls it."""
    node = scene.failed.node
    if isinstance(node, ast.Call):
        return scene.text(node.func)
    return next((name for name in sorted(scene.called) if not name[0].isalpha()), min(scene.called, default="it"))


def _each_is(operands: Iterable[Operand]) -> str:
    """Operands with what they are: "`x` is float32[3] and `n` is int32[3]"."""
    return joined([f"`{one.text}` is {_plain(one)}" for one in operands])


def _plain(operand: Operand) -> str:
    if _is_array(operand.value):
        return operand.aval
    return f"the {type(operand.value).__name__} {operand.value!r}"


def _cast(operand: Operand, kind: str) -> tuple[ast.AST, str]:
    """An operand cast to one of Python's kinds of numbers, as a pair for `exchange`."""
    if _is_array(operand.value):
        return operand.node, f"{bracketed(operand)}.astype({kind})"
    return operand.node, f"{kind}({operand.text})"


# --- what an operation takes ---


_KINDS: tuple[tuple[Any, str], ...] = (
    (np.bool_, "booleans"),
    (np.integer, "integers"),
    (np.floating, "floats"),
    (np.complexfloating, "complex numbers"),
)


def _accepted(types: Iterable[Any]) -> list[Any]:
    """The kinds of numbers that a set of classes of dtypes has, in their order."""
    known = list(types)
    return [kind for kind, _ in _KINDS if any(jnp.issubdtype(kind, one) for one in known)]


def _not_accepted(scene: Scene) -> Told | None:
    """An operation on a dtype that its rule does not accept."""
    names = _raised_by(scene, "accepted-dtype")
    if names is None:
        return None
    avals: Any = names.get("avals") or (names.get("aval"),)
    accepted: Any = names.get("accepted_dtypes", ())
    place = names.get("i", 0)
    takes = _accepted(accepted[place] if isinstance(accepted, list | tuple) else accepted)
    aval = avals[place] if place < len(avals) else None
    if aval is None or not takes or not _is_numeric(aval.dtype):
        return None
    said = joined([text for kind, text in _KINDS if kind in takes], "or")
    wrong = _of_dtype(scene, aval.dtype)
    function, does = _function(scene), str(names.get("name", ""))
    if not wrong:
        flat = " ".join(scene.failed.expression.split())
        return Told(
            f"`{flat}` computes `{does}` of {aval.str_short()}, which takes {said}.", (advice(_cast_hint(takes)),)
        )
    compared = compared_apart(scene.failed, scene.failed.parent())
    if compared is not None and does in ("and", "or"):
        message = f"`{function}` binds closer than a comparison: it takes {said}, and {_each_is(wrong)}."
        return Told(message, (compared, advice("put each comparison in brackets: (a > 0) & (b < 1).")))
    message = f"`{function}` takes {said}, and {_each_is(wrong)}."
    return Told(message, (*_casts(scene, does, wrong, aval.dtype, takes), advice(_hint(does, aval.dtype, takes))))


def _casts(scene: Scene, does: str, wrong: list[Operand], dtype: Any, takes: list[Any]) -> Iterator[Fix]:
    node = scene.failed.node
    if dtype == np.bool_:
        if does == "neg" and isinstance(node, ast.UnaryOp):
            yield exchange(scene, "invert it", (node, f"~{bracketed(wrong[0])}"))
        elif does == "sub" and isinstance(node, ast.BinOp):
            new = f"{segment(scene.failed, node.left)} ^ {segment(scene.failed, node.right)}"
            yield exchange(scene, "say where they differ", (node, f"({new})" if _is_inside(scene) else new))
    for kind in _targets(dtype, takes):
        if kind == "real":
            words = words_of(scene)
            yield exchange(scene, "take the magnitude", *((one.node, f"{words}.abs({one.text})") for one in wrong))
            yield exchange(scene, "take the real part", *((one.node, f"{bracketed(one)}.real") for one in wrong))
        else:
            yield exchange(scene, f"cast to {kind}", *(_cast(one, kind) for one in wrong))


def _is_inside(scene: Scene) -> bool:
    """Whether the failed expression is a part of one of operators."""
    return isinstance(scene.failed.parent(), ast.BinOp | ast.UnaryOp | ast.Compare | ast.Attribute | ast.Subscript)


def _targets(dtype: Any, takes: Sequence[Any]) -> list[str]:
    """The kinds that a dtype may be cast to, the likeliest first."""
    if jnp.issubdtype(dtype, np.complexfloating):
        return ["real"] if np.floating in takes else ["int"]
    if jnp.issubdtype(dtype, np.floating):
        return [
            name
            for kind, name in ((np.bool_, "bool"), (np.integer, "int"), (np.complexfloating, "complex"))
            if kind in takes
        ]
    return [
        name
        for kind, name in ((np.integer, "int"), (np.floating, "float"), (np.complexfloating, "complex"))
        if kind in takes
    ]


def _hint(does: str, dtype: Any, takes: list[Any]) -> str:
    if dtype == np.bool_ and does == "neg":
        return "invert it with `~`, or cast it: .astype(int)."
    if dtype == np.bool_ and does == "sub":
        return "use `^` for where two masks differ, `a & ~b` for what is in one only, or cast both: .astype(int)."
    if np.bool_ in takes and jnp.issubdtype(dtype, np.inexact):
        return "compare it first, such as `x > 0`, or cast it: .astype(bool)."
    return _cast_hint(takes)


def _cast_hint(takes: list[Any]) -> str:
    names = {np.bool_: "bool", np.integer: "int", np.floating: "float", np.complexfloating: "complex"}
    return f"cast it before: {joined([f'.astype({names[kind]})' for kind in takes], 'or')}."


# --- arrays of one dtype ---

_ORDERS = frozenset("max min lt le gt ge clamp".split())


def _of_one_dtype(scene: Scene) -> Told | None:
    """A function of `lax` that promotes nothing, given several dtypes."""
    names = _raised_by(scene, "same-dtype")
    if names is None:
        return None
    avals: Any = names.get("avals") or (names.get("operand"), names.get("padding_value"))
    if any(not _is_numeric(one.dtype) for one in avals):
        return None
    does = str(names.get("name", "pad"))
    found = _met(scene, avals)
    function = _function(scene)
    if found is None:
        shown = joined([one.str_short() for one in avals])
        return Told(
            f"`{function}` takes arrays of one dtype, and gets {shown}.", (advice("cast one of them: .astype."),)
        )
    odd = [one for n, one in enumerate(found) if _dtype_of(one) not in [_dtype_of(other) for other in found[:n]]]
    message = f"`{function}` takes arrays of one dtype, and {_each_is(odd)}."
    fixes = list(_one_dtype(scene, does, names.get("equiv"), found))
    return Told(message, (*fixes, advice("cast one of them: `.astype(other.dtype)`; jnp promotes, lax does not.")))


def _met(scene: Scene, avals: Sequence[Any]) -> list[Operand] | None:
    """The operands that avals are of, in their order; None if one is not among those of the expression."""
    left = [operand for operand in scene.operands if _dtype_of(operand)]
    found: list[Operand] = []
    for aval in avals:
        fits = [one for one in left if _dtype_of(one) == str(aval.dtype)]
        best = next((one for one in fits if one.shape == tuple(aval.shape)), next(iter(fits), None))
        if best is None:
            return None
        left.remove(best)
        found.append(best)
    return found


def _one_dtype(scene: Scene, does: str, equivalent: Any, found: list[Operand]) -> Iterator[Fix]:
    node, words = scene.failed.node, words_of(scene)
    numbers = [one for one in found if jnp.issubdtype(_dtype_of(one), np.complexfloating)]
    if numbers and does in _ORDERS:
        yield exchange(scene, "compare magnitudes", *((one.node, f"{words}.abs({one.text})") for one in numbers))
        yield exchange(scene, "compare real parts", *((one.node, f"{bracketed(one)}.real") for one in numbers))
    if isinstance(equivalent, str) and hasattr(jnp, equivalent) and isinstance(node, ast.Call):
        yield exchange(scene, "use the function that promotes", (node.func, f"{words}.{equivalent}"))
    fixed = does in ("dynamic_update_slice", "scatter", "pad")
    wanted = found[0].dtype if fixed else str(jnp.result_type(*(_dtype_of(one) for one in found)))
    source = next((one for one in found if one.dtype == wanted), None)
    if source is None:
        return
    pairs: list[tuple[ast.AST, str]] = []
    for one in found:
        if _dtype_of(one) != wanted and _is_array(one.value):
            pairs.append((one.node, f"{bracketed(one)}.astype({bracketed(source)}.dtype)"))
        elif not _is_array(one.value):
            pairs.append((one.node, f"{words}.array({one.text}, {bracketed(source)}.dtype)"))
    if pairs:
        yield exchange(scene, f"cast to {wanted}", *pairs)


# --- indices ---


def _starts(scene: Scene) -> Told | None:
    """Starts of `dynamic_slice` and `dynamic_update_slice` that are no integers, or several kinds of these."""
    names = _raised_by(scene, "starts")
    starts: Any = None if names is None else names.get("start_indices")
    if not starts:
        return None
    whole = [one.dtype for one in starts if jnp.issubdtype(one.dtype, np.integer)]
    wrong = [one.dtype for one in starts if one.dtype not in whole]
    wanted = "int32" if not wrong else ""
    odd = {str(one) for one in wrong} or {str(one) for one in whole} - {wanted}
    operands = [one for one in scene.operands if _dtype_of(one) in odd and one.shape == ()]
    function = _function(scene)
    hint = advice("cast the starts to int32: .astype(int), or index with integers from the beginning.")
    if not operands:
        shown = joined([str(one.dtype) for one in starts])
        return Told(f"the starts of `{function}` have to be integers of one dtype, and are {shown}.", (hint,))
    message = f"the starts of `{function}` have to be integers of one dtype, and {_each_is(operands)}."
    return Told(message, (exchange(scene, "cast to int", *(_cast(one, "int") for one in operands)), hint))


def _indexer(scene: Scene) -> Told | None:
    """An index that is neither an integer nor a mask."""
    names = _raised_by(scene, "indexer")
    if names is None:
        return None
    value: Any = names.get("idx", names.get("indices"))
    nodes, holder = _indices(scene)
    operands = [Operand(scene.text(one), one, _value(scene, one), scene.origin(one)) for one in nodes]
    operand = _matching(operands, value) or _matching(scene.operands, value)
    what = _said(value)
    if what is None:
        return None
    if operand is None:
        return Told(
            f"`{_function(scene)}` takes integers or a mask for its indices, and gets {what}.", (advice(_INDEX),)
        )
    what = operand.aval if isinstance(value, ShapedArray) and _is_array(operand.value) else what
    of = f" of `{holder}`" if holder else f" of `{_function(scene)}`"
    message = f"`{operand.text}`, an index{of}, is {what}: indices are integers, and masks are booleans."
    return Told(message, (*_whole(scene, operand, value), advice(_INDEX if not isinstance(value, str) else _TEXT)))


_INDEX = "index with integers: .astype(int) of an array, int() of a number, // in the place of /."
_TEXT = "arrays have no named parts: keep a dict of arrays, or index with an integer."


def _indices(scene: Scene) -> tuple[list[ast.expr], str]:
    """What stands in the brackets of the failed expression, and what is indexed; with `.at[...]`, too."""
    node = scene.failed.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    if not isinstance(node, ast.Subscript):
        return [], ""
    holder = node.value
    holder = holder.value if isinstance(holder, ast.Attribute) and holder.attr == "at" else holder
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice], scene.text(holder)


def _value(scene: Scene, node: ast.expr) -> Any:
    return node.value if isinstance(node, ast.Constant) else scene.failed.value_of(node)


def _matching(operands: Sequence[Operand], value: Any) -> Operand | None:
    """The operand that a value is of; the only one whose value is not known."""
    known = [one for one in operands if one.value is not None and one.value is value]
    if not known and _is_array(value):
        known = [one for one in operands if _is_array(one.value) and one.aval == describe(value)]
    if not known and isinstance(value, ShapedArray):
        known = [one for one in operands if one.shape is not None and one.dtype == str(value.dtype)]
    if not known and isinstance(value, int | float | str):
        known = [one for one in operands if type(one.value) is type(value) and one.value == value]
    unknown = [
        one
        for one in operands
        if one.value is None and not isinstance(one.node, ast.Constant | ast.Slice) and not isinstance(value, str)
    ]
    return known[-1] if known else unknown[0] if len(unknown) == 1 else None


def _said(value: Any) -> str | None:
    if _is_array(value):
        return describe(value)
    if isinstance(value, ShapedArray):
        return value.str_short()
    if isinstance(value, str | float | complex):
        return f"the {type(value).__name__} {value!r}"
    return f"a {type(value).__name__}" if isinstance(value, list | tuple | dict) else None


def _whole(scene: Scene, operand: Operand, value: Any) -> Iterator[Fix]:
    """An index as an integer."""
    node = operand.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        left, right = segment(scene.failed, node.left), segment(scene.failed, node.right)
        yield exchange(scene, "divide to a whole number", (node, f"{left} // {right}"))
    if isinstance(value, ShapedArray) or (_is_array(value) and not isinstance(value, np.generic)):
        yield exchange(scene, "cast it", (node, f"{bracketed(operand)}.astype(int)"))
    elif isinstance(value, float):
        yield exchange(scene, "make an integer of it", (node, f"int({operand.text})"))


# --- powers, overflow ---


def _power(scene: Scene) -> Told | None:
    """An integer to a negative power."""
    names = _raised_by(scene, "integer-power")
    if names is None:
        return None
    aval, power = names.get("x"), names.get("y")
    base = next(iter(_of_dtype(scene, getattr(aval, "dtype", ""))), None)
    if base is None:
        return None
    message = f"`{base.text}` is {_plain(base)}, and an integer to the negative power {power} is no integer."
    return Told(
        message, (exchange(scene, "take the power of floats", _cast(base, "float")), advice("cast it: .astype(float)."))
    )


def _overflow(scene: Scene) -> Told | None:
    """A Python integer that its dtype does not hold."""
    node = scene.failed.node
    value = _too_large(scene)
    if value is None:
        return None
    dtype = _dtype_beyond(scene, value)
    limits = jnp.iinfo(dtype)
    side = f"whose largest is {limits.max}" if value > 0 else f"whose smallest is {limits.min}"
    shown = _short(scene)
    wide = str(dtype) == str(jax.dtypes.canonicalize_dtype(np.int64))
    why = ", and JAX holds Python integers in it while 64 bits are off" if wide and str(dtype) == "int32" else ""
    message = f"{value} in `{shown}` does not fit into {dtype}, {side}{why}."
    fixes: list[Fix] = []
    hint = f"give a number between {limits.min} and {limits.max}, or cast to a wider dtype before."
    if wide:
        hint = (
            'turn on 64 bits before the first array is made, jax.config.update("jax_enable_x64", True), or give a float'
            " if it may be rounded."
        )
    constant = next((one for one in ast.walk(node) if isinstance(one, ast.Constant) and one.value == value), None)
    if wide and constant is not None and isinstance(node, ast.BinOp) and 0 < value < 1 << 32:
        fixes += _unsigned(scene, node, constant)
        hint = "compute with uint32, which holds it: .astype(jnp.uint32) of both; or " + hint
    elif not wide and value < 0 and limits.min == 0:
        fixes += _complement(scene, value, limits.bits)
        hint = f"unsigned numbers have no sign: give {value & limits.max:#x}, the same bits, or use ~."
    return Told(message, (*fixes, advice(hint)))


def _too_large(scene: Scene) -> int | None:
    """The integer that did not fit: what the check was about, else one that stands in the expression."""
    names: Any = scene.steps[-1].names if scene.steps else {}
    for key in ("arg", "x", "object"):
        if type(names.get(key)) is int:
            return names[key]
    written = [_number(one) for one in ast.walk(scene.failed.node)]
    found = [one for one in [*written, *(operand.value for operand in scene.operands)] if type(one) is int]
    return max(found, key=lambda one: one if one >= 0 else 1 << 40, default=None)


def _number(node: ast.AST) -> Any:
    """The value of a number with its sign."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -node.operand.value if type(node.operand.value) is int else None
    return node.value if isinstance(node, ast.Constant) else None


def _dtype_beyond(scene: Scene, value: int) -> Any:
    """The dtype that an integer should go into: of the function that makes a number, of the array beside it."""
    node = scene.failed.node
    called = name_called(node)
    names = [called, *(str(one.names.get("dtype", "")) for one in scene.steps), *map(_dtype_of, scene.arrays)]
    for name in names:
        known = name if name in _NAMES and "int" in name else ""
        if known and not jnp.iinfo(known).min <= value <= jnp.iinfo(known).max:
            return np.dtype(known)
    return np.dtype(jax.dtypes.canonicalize_dtype(np.int64))


def _short(scene: Scene) -> str:
    flat = " ".join(scene.failed.expression.split())
    return flat if len(flat) <= 60 else flat[:59] + "…"


def _unsigned(scene: Scene, node: ast.BinOp, constant: ast.Constant) -> Iterator[Fix]:
    words = words_of(scene)
    other = node.left if node.right is constant else node.right if node.left is constant else None
    if other is not None:
        cast = f"{bracketed(Operand(scene.text(other), other))}.astype({words}.uint32)"
        number = segment(scene.failed, constant)
        yield exchange(scene, "compute with uint32", (other, cast), (constant, f"{words}.uint32({number})"))


def _complement(scene: Scene, value: int, bits: int) -> Iterator[Fix]:
    """A negative number written as the bits that it has."""
    for one in ast.walk(scene.failed.node):
        if isinstance(one, ast.UnaryOp) and _number(one) == value:
            yield exchange(scene, "give the same bits", (one, f"{value & ((1 << bits) - 1):#X}".replace("0X", "0x")))
            return


# --- names of dtypes, real numbers ---

_NAMES = """
bool int4 int8 int16 int32 int64 uint4 uint8 uint16 uint32 uint64 float8_e4m3fn float8_e5m2 bfloat16 float16 float32
float64 complex64 complex128
""".split()


def _no_dtype(scene: Scene) -> Told | None:
    """What is given for a dtype, and names none that JAX has."""
    step = scene.step(*RAISING["dtype"])
    if step is None or step not in scene.steps[-2:]:
        return None
    given: Any = step.names.get("dtype")
    node = scene.failed.node
    hint = "give one of JAX's dtypes, such as jnp.float32, jnp.bfloat16 or jnp.int32."
    if isinstance(given, jax.Array):
        operand = next((one for one in scene.operands if one.value is given), None)
        shown = f"`{operand.text}`" if operand is not None else "what is given"
        fixes = (
            [exchange(scene, "give its dtype", (operand.node, f"{bracketed(operand)}.dtype"))]
            if operand is not None
            else []
        )
        return Told(f"{shown} is an array {describe(given)}, and stands where a dtype belongs.", (*fixes, advice(hint)))
    if isinstance(given, str):
        literal = next((one for one in ast.walk(node) if isinstance(one, ast.Constant) and one.value == given), None)
        close = difflib.get_close_matches(given, _NAMES, 1, 0.6)
        fixes = [exchange(scene, f"take {close[0]}", (literal, f'"{close[0]}"'))] if literal and close else []
        more = f": did you mean '{close[0]}'?" if close and not fixes else "."
        return Told(f"there is no dtype '{given}'{more}", (*fixes, advice(hint)))
    if given is object or isinstance(given, np.dtype | type):
        shown = given.__name__ if isinstance(given, type) else str(given)
        message = f"`{_short(scene)}` asks for the dtype {shown}, and arrays of JAX hold numbers and booleans only."
        hint = (
            "leave dtype out, with rows of the same length that hold numbers, or keep a list of arrays."
            if shown == "object"
            else hint
        )
        return Told(message, (*_without_dtype(scene), advice(hint)))
    return None


def _without_dtype(scene: Scene) -> Iterator[Fix]:
    node = scene.failed.node
    if isinstance(node, ast.Call) and any(one.arg == "dtype" for one in node.keywords):
        parts = [scene.text(one) for one in node.args]
        parts += [f"{one.arg}={scene.text(one.value)}" for one in node.keywords if one.arg and one.arg != "dtype"]
        yield exchange(scene, "leave the dtype out", (node, f"{scene.text(node.func)}({', '.join(parts)})"))


def _not_real(scene: Scene) -> Told | None:
    """A transform of real signals, given complex numbers."""
    names = _raised_by(scene, "transform")
    value: Any = None if names is None else names.get("x")
    node = scene.failed.node
    if not _is_array(value) or not jnp.issubdtype(value.dtype, np.complexfloating) or not isinstance(node, ast.Call):
        return None
    operand = next(iter(_of_dtype(scene, value.dtype)), None)
    name = name_called(node)
    if operand is None:
        return Told(
            f"`{_function(scene)}` takes real signals, and gets {describe(value)}.", (advice("take the real part."),)
        )
    message = f"`{operand.text}` is {operand.aval}, and `{name}` takes real signals."
    fixes: list[Fix] = []
    if isinstance(node.func, ast.Attribute) and name.startswith("rfft"):
        fixes.append(
            exchange(
                scene, "use the transform of complex signals", (node.func, f"{scene.text(node.func.value)}.{name[1:]}")
            )
        )
    fixes.append(exchange(scene, "take the real part", (operand.node, f"{bracketed(operand)}.real")))
    return Told(message, (*fixes, advice("use jnp.fft.fft for complex signals, or take the real part: .real.")))


_BAD = (TypeError, ValueError)

EXPLAINERS = (
    Explainer("dtype-refused", (TypeError,), _not_accepted, inside=RAISING["accepted-dtype"]),
    Explainer("dtypes-differ", (TypeError,), _of_one_dtype, inside=RAISING["same-dtype"]),
    Explainer("starts", (TypeError,), _starts, inside=RAISING["starts"]),
    Explainer("index-dtype", _BAD, _indexer, inside=RAISING["indexer"]),
    Explainer("integer-power", (TypeError,), _power, inside=RAISING["integer-power"]),
    Explainer("overflow", (OverflowError,), _overflow),
    Explainer("no-dtype", _BAD, _no_dtype, inside=RAISING["dtype"]),
    Explainer("not-real", (ValueError,), _not_real, inside=RAISING["transform"]),
)
