"""The integers of a program, computed beside it by NumPy in a wider type, as far as they follow from what it is given.

What an operation makes that its dtype does not hold is marked, item by item, and the marks are followed: what a
`where` leaves out, or a mask cuts off as hashes do, was not lost. What is not computed here is not known, and nothing
is told of it. Nothing is compiled for it, and it ends after so many numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from jaxnb._jax import open_jaxpr, scan_counts

__all__ = ["Lost", "integers_lost"]


class Lost(NamedTuple):
    """An operation whose result its dtype does not hold.

    Attributes:
      eqn: the operation.
      owners: the equations that it stands in, the outermost first.
      operands: what it worked on, of the first item that is lost, as far as that is item by item.
      exact: what that item would be; None if it has no value, such as a quotient by zero.
      became: what it is instead.
      number: how many items are lost.
    """

    eqn: Any
    owners: tuple[Any, ...]
    operands: tuple[Any, ...]
    exact: Any
    became: Any
    number: int


@dataclass(slots=True)
class _Value:
    """An array that is known, which of its items are lost, and in which operations.

    Attributes:
      array: what it is; None if that is not known.
      bad: which items are lost; None if none is.
      of: the keys of the operations in which they were.
    """

    array: np.ndarray[Any, Any] | None
    bad: np.ndarray[Any, Any] | None = None
    of: frozenset[int] = frozenset()


_UNKNOWN = _Value(None)
_MOST_NUMBERS, _MOST_STEPS, _MOST_IN_ARRAY = 1 << 18, 3000, 1 << 14
"""How many numbers are computed, by how many operations, and how many one array may have."""


def integers_lost(jaxpr: Any, constants: Sequence[Any], arguments: Sequence[Any]) -> list[Lost]:
    """The operations of a program whose integers do not fit and reach a result, in their order.

    Args:
      jaxpr: the program, open.
      constants: of it.
      arguments: what it is given; None for what is not known.
    """
    walk = _Walk()
    found = walk.run(jaxpr, [*map(_known, constants), *map(_known, arguments)], ())
    for value in found:
        walk.reach(value)
    return [walk.lost[key] for key in walk.lost if key in walk.reached]


def _known(value: Any) -> _Value:
    dtype = getattr(value, "dtype", np.dtype(object))
    known = type(value) in (bool, int, float) or (isinstance(dtype, np.dtype) and dtype.kind in "iubf")
    if not known or getattr(value, "size", 1) > _MOST_IN_ARRAY:
        return _UNKNOWN  # keys are of no dtype of NumPy
    return _Value(np.asarray(value))


class _Spent(Exception):
    """Raised when as much was computed as is allowed."""


class _Walk:
    def __init__(self) -> None:
        self.lost: dict[int, Lost] = {}
        self.reached: set[int] = set()
        self._numbers = self._steps = 0

    def run(self, jaxpr: Any, given: Sequence[_Value], owners: tuple[Any, ...]) -> list[_Value]:
        """The results of a jaxpr; unknown if too much is to be computed."""
        names: dict[Any, _Value] = dict(zip([*jaxpr.constvars, *jaxpr.invars], given, strict=False))
        made_by: dict[Any, str] = {}

        def read(atom: Any) -> _Value:
            return _Value(np.asarray(atom.val)) if type(atom) is Literal else names.get(atom, _UNKNOWN)

        for eqn in jaxpr.eqns:
            operands = [read(atom) for atom in eqn.invars]
            try:
                results = self._apply(eqn, operands, owners, [made_by.get(a) for a in eqn.invars if _is_var(a)])
            except _Spent:
                results = None
            if results is None:
                for value in operands:
                    self.reach(value)
                continue
            for var, value in zip(eqn.outvars, results, strict=False):
                names[var] = value
                made_by[var] = eqn.primitive.name
        return [read(atom) for atom in jaxpr.outvars]

    def reach(self, value: _Value) -> None:
        """Takes down what was lost in a value that is used for something unknown, or is a result."""
        if value.bad is not None and value.bad.any():
            self.reached |= value.of

    def _apply(self, eqn: Any, operands: list[_Value], owners: tuple[Any, ...], made_by: Any) -> list[_Value] | None:
        """The results of an equation; None if they are not known."""
        name = eqn.primitive.name
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise _Spent
        if name in _LOOPS:
            return getattr(self, f"_{name}")(eqn, operands, owners)
        body = eqn.params.get("jaxpr") or eqn.params.get("call_jaxpr")
        if body is not None and name in _CALLS:
            return self.run(open_jaxpr(body), [*map(_known, getattr(body, "consts", ())), *operands], (*owners, eqn))
        if name == "select_n":
            return _selected(operands)
        rule = _RULES.get(name)
        if rule is None or any(value.array is None for value in operands) or len(eqn.outvars) != 1:
            return None
        aval = eqn.outvars[0].aval
        self._numbers += max(aval.size, *(value.array.size for value in operands if value.array is not None), 1)
        if self._numbers > _MOST_NUMBERS or aval.size > _MOST_IN_ARRAY:
            raise _Spent
        if aval.dtype not in _DTYPES:
            return None
        return [self._made(eqn, operands, owners, rule, made_by)]

    def _made(self, eqn: Any, operands: list[_Value], owners: tuple[Any, ...], rule: Rule, made_by: Any) -> _Value:
        name, aval = eqn.primitive.name, eqn.outvars[0].aval
        arrays: list[Any] = [value.array for value in operands]
        integer = aval.dtype.kind in "iu"
        with np.errstate(all="ignore"):
            exact = rule(eqn.params, *(_wide(one) if name in _EXACT and integer else one for one in arrays))
            exact = np.broadcast_to(exact, aval.shape) if np.shape(exact) != aval.shape else np.asarray(exact)
            result = _held(exact, aval.dtype)
        bad = _carried(name, eqn.params, operands, aval.shape)
        fresh = _unheld(name, exact, arrays, aval.dtype, made_by) if integer and name in _EXACT else None
        if name in _ZERO and integer:
            fresh = np.broadcast_to(arrays[1] == 0, aval.shape)
        of = frozenset[int]().union(*(value.of for value in operands)) if bad is not None else frozenset[int]()
        if fresh is not None and fresh.any():
            of |= {self._note(eqn, owners, arrays, exact, result, fresh)}
            bad = fresh if bad is None else bad | fresh
        return _Value(result, bad, of)

    def _note(self, eqn: Any, owners: tuple[Any, ...], arrays: list[Any], exact: Any, result: Any, fresh: Any) -> int:
        key = id(eqn)
        if key not in self.lost:
            first = tuple(int(place) for place in np.argwhere(fresh)[0])
            items = tuple(
                one[first].item() if one.shape == fresh.shape else one.item() if one.size == 1 else None
                for one in arrays
            )
            by_zero = eqn.primitive.name in _ZERO
            value: Any = None if by_zero else np.asarray(exact)[first].item()
            self.lost[key] = Lost(eqn, owners, items, value, np.asarray(result)[first].item(), int(fresh.sum()))
        return key

    # --- loops ---

    def _scan(self, eqn: Any, operands: list[_Value], owners: tuple[Any, ...]) -> list[_Value] | None:
        params = eqn.params
        body, length = params["jaxpr"], params["length"]
        first, carried = scan_counts(params)
        last = first + carried
        constants, carry, rows = operands[:first], operands[first:last], operands[last:]
        turns = range(length - 1, -1, -1) if params["reverse"] else range(length)
        made: list[list[_Value]] = []
        for turn in turns:
            given = [*map(_known, body.consts), *constants, *carry, *(_row(value, turn) for value in rows)]
            results = self.run(body.jaxpr, given, (*owners, eqn))
            carry = results[:carried]
            made.append(results[carried:])
            if self._steps > _MOST_STEPS:
                return None
        if params["reverse"]:
            made.reverse()
        return [*carry, *(_stacked(column) for column in zip(*made, strict=True))] if length else None

    def _while(self, eqn: Any, operands: list[_Value], owners: tuple[Any, ...]) -> list[_Value] | None:
        params = eqn.params
        test, body = params["cond_jaxpr"], params["body_jaxpr"]
        first, last = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        carry = operands[last:]
        while True:
            asked = self.run(test.jaxpr, [*map(_known, test.consts), *operands[:first], *carry], (*owners, eqn))[0]
            if asked.array is None or self._steps > _MOST_STEPS:
                return None
            if not asked.array.all():
                return carry
            given = [*map(_known, body.consts), *operands[first:last], *carry]
            carry = self.run(body.jaxpr, given, (*owners, eqn))

    def _cond(self, eqn: Any, operands: list[_Value], owners: tuple[Any, ...]) -> list[_Value] | None:
        index, branches = operands[0].array, eqn.params["branches"]
        if index is None:
            return None
        body = branches[min(max(int(index), 0), len(branches) - 1)]
        return self.run(body.jaxpr, [*map(_known, body.consts), *operands[1:]], (*owners, eqn))


_LOOPS = frozenset({"scan", "while", "cond"})
_CALLS = frozenset(
    "jit pjit closed_call core_call remat2 checkpoint custom_jvp_call custom_vjp_call custom_vjp_call_jaxpr".split()
)


def _is_var(atom: Any) -> bool:
    return type(atom) is not Literal


def _row(value: _Value, turn: int) -> _Value:
    if value.array is None:
        return _UNKNOWN
    return _Value(value.array[turn], None if value.bad is None else value.bad[turn], value.of)


def _stacked(values: Sequence[_Value]) -> _Value:
    if any(value.array is None for value in values):
        reached = next((value for value in values if value.bad is not None), _UNKNOWN)
        return _Value(None, reached.bad, reached.of)
    arrays = np.stack([value.array for value in values])  # type: ignore[misc]
    of = frozenset[int]().union(*(value.of for value in values))
    if not of:
        return _Value(arrays)
    none = np.zeros(arrays.shape[1:], bool)
    return _Value(arrays, np.stack([none if value.bad is None else value.bad for value in values]), of)


def _selected(operands: list[_Value]) -> list[_Value]:
    which, *cases = operands
    if which.array is None or any(case.array is None for case in cases):
        of = frozenset[int]().union(*(case.of for case in cases))
        known = [case.bad for case in cases if case.bad is not None]
        return [_Value(None, np.asarray(any(bad.any() for bad in known)), of) if known else _UNKNOWN]
    index = which.array.astype(int)
    shape: tuple[int, ...] = cases[0].array.shape  # type: ignore[union-attr]
    index = np.broadcast_to(index, shape)
    array = np.choose(index, [case.array for case in cases])  # type: ignore[list-item]
    if all(case.bad is None for case in cases):
        return [_Value(array)]
    bad = np.choose(index, [np.zeros(shape, bool) if case.bad is None else case.bad for case in cases])
    of = frozenset[int]().union(*(case.of for n, case in enumerate(cases) if (index == n).any()))
    return [_Value(array, bad, of)]


# --- what does not fit ---

_EXACT = frozenset(
    "add sub mul neg shift_left integer_pow dot_general reduce_sum reduce_prod cumsum cumprod convert_element_type"
    " abs".split()
)
"""Operations that are computed in a wider type."""
_ZERO = frozenset({"div", "rem"})
_CUTTING = frozenset("and xor shift_right_logical shift_right_arithmetic rem population_count not".split())
"""What is done to integers that are meant modulo a power of two, as in hashes."""
_MODULAR = frozenset({"add", "sub", "mul", "shift_left", "dot_general", "reduce_sum", "reduce_prod"})


def _wide(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "b":
        return array.astype(np.int64)
    if kind == "f":
        return array.astype(np.float64)
    return array.astype(np.int64) if size < 8 else array.astype(np.float64)


def _held(exact: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    """What a dtype makes of numbers: integers modulo a power of two, floats rounded towards zero and cut off."""
    if dtype.kind not in "iu":
        return exact.astype(dtype)
    info = np.iinfo(dtype)
    if exact.dtype.kind != "f":
        return exact.astype(dtype)
    size = 1 << info.bits
    cut = np.nan_to_num(np.trunc(exact), nan=0.0, posinf=float(info.max), neginf=float(info.min))
    wrapped = np.vectorize(lambda one: (int(one) - info.min) % size + info.min, otypes=[object])(cut)
    return wrapped.astype(dtype)


def _unheld(name: str, exact: Any, arrays: list[Any], dtype: Any, made_by: Sequence[str | None]) -> Any:
    """Which items a dtype does not hold, of those that are not meant modulo a power of two."""
    info, source = np.iinfo(dtype), arrays[0].dtype
    if name == "convert_element_type":
        if source.kind == "f":
            return np.isnan(exact)
        cut = made_by and made_by[0] in _CUTTING | {"iota"}
        if (
            source.kind == "b"
            or cut
            or (dtype.kind == "u" and info.bits > 16)
            or (source.kind == "u" and info.bits > 16)
        ):
            return None
        if source.itemsize < dtype.itemsize or (source.kind == "u" and source.itemsize >= 4):
            return None
    elif dtype.kind == "u" and info.bits > 16 and name != "neg":
        return None  # where numbers are hashed
    elif dtype.kind == "u" and (name == "sub" or (name == "add" and any(_is_minus(one) for one in arrays))):
        return None  # modulo 2^n that is a difference that may be meant
    if exact.dtype.kind == "f":
        return (exact > float(info.max)) | (exact < float(info.min))
    over = (exact > info.max) | (exact < info.min)
    if name == "shift_left":
        over = over | ((arrays[1] >= info.bits) & (arrays[0] != 0))
    return over


def _is_minus(array: np.ndarray[Any, Any]) -> bool:
    """Whether it is one number of the upper half of an unsigned dtype, as a negative one becomes."""
    return array.size == 1 and array.dtype.kind == "u" and bool(array.reshape(()) > np.iinfo(array.dtype).max // 2)


def _carried(name: str, params: Mapping[str, Any], operands: list[_Value], shape: tuple[int, ...]) -> Any:
    """Which items of a result are made of such as are lost; None if none is."""
    if name in _CUTTING or all(value.bad is None for value in operands):
        return None
    masks = [np.zeros(np.asarray(v.array).shape, bool) if v.bad is None else v.bad for v in operands]
    if name in _MOVING:
        moved = np.asarray(_RULES[name](params, *masks))
        return moved if moved.shape == shape else np.broadcast_to(moved, shape)
    if name in _REDUCING:
        axes = tuple(params["axes"]) if "axes" in params else None
        return np.broadcast_to(masks[0].any(axis=axes), shape) if axes is not None else np.full(shape, masks[0].any())
    if all(np.shape(mask) in (shape, ()) for mask in masks):
        return np.broadcast_to(np.logical_or.reduce([np.broadcast_to(mask, shape) for mask in masks]), shape)
    return np.full(shape, any(mask.any() for mask in masks))


# --- the operations ---

Rule = Callable[..., Any]


def _of(function: Callable[..., Any]) -> Rule:
    return lambda params, *arrays: function(*arrays)


def _shifted(params: Any, a: Any, b: Any) -> Any:
    inside = b < 63
    return np.where(inside, a.astype(np.int64) << np.where(inside, b, 0).astype(np.int64), 0)


def _shifted_right(params: Any, a: Any, b: Any) -> Any:
    bits = a.dtype.itemsize * 8
    words = a.view(f"u{a.dtype.itemsize}")
    return np.where(b < bits, words >> np.minimum(b, bits - 1).astype(words.dtype), 0).astype(words.dtype).view(a.dtype)


def _quotient(params: Any, a: Any, b: Any) -> Any:
    if a.dtype.kind == "f":
        return a / b
    safe = np.where(b == 0, 1, b)
    return np.where(b == 0, -1, np.trunc(a / safe)).astype(a.dtype)


def _remainder(params: Any, a: Any, b: Any) -> Any:
    return np.where(b == 0, a, np.fmod(a, np.where(b == 0, 1, b)))


def _broadcast(params: Any, a: Any, *more: Any) -> Any:
    shape = [1] * len(params["shape"])
    for place, size in zip(params["broadcast_dimensions"], a.shape, strict=True):
        shape[place] = size
    return np.broadcast_to(a.reshape(shape), params["shape"])


def _sliced(params: Any, a: Any) -> Any:
    steps = params["strides"] or (1,) * a.ndim
    pairs = zip(params["start_indices"], params["limit_indices"], steps, strict=True)
    return a[tuple(slice(*one) for one in pairs)]


def _rounded(params: Any, a: Any) -> Any:
    to_even = int(params.get("rounding_method", 1)) == 1
    return np.rint(a) if to_even else np.trunc(a + np.copysign(0.5, a))


def _dotted(params: Any, a: Any, b: Any) -> Any:
    (left, right), (batch, other) = params["dimension_numbers"]
    if batch or other:
        letters = [chr(97 + n) for n in range(a.ndim + b.ndim)]
        ours, theirs = letters[: a.ndim], letters[a.ndim :]
        for one, two in [*zip(left, right, strict=True), *zip(batch, other, strict=True)]:
            theirs[two] = ours[one]
        kept = [ours[n] for n in batch]
        kept += [c for n, c in enumerate(ours) if n not in (*left, *batch)]
        kept += [c for n, c in enumerate(theirs) if n not in (*right, *other)]
        return np.einsum(f"{''.join(ours)},{''.join(theirs)}->{''.join(kept)}", a, b)
    return np.tensordot(a, b, axes=(list(left), list(right)))


def _iota(params: Any) -> Any:
    shape, axis = params["shape"], params["dimension"]
    sizes = [1] * len(shape)
    sizes[axis] = shape[axis]
    return np.broadcast_to(np.arange(shape[axis]).reshape(sizes), shape)


def _along(function: Callable[..., Any]) -> Rule:
    def run(params: Any, a: Any) -> Any:
        axis = params["axis"]
        return np.flip(function(np.flip(a, axis), axis=axis), axis) if params["reverse"] else function(a, axis=axis)

    return run


def _over(function: Callable[..., Any]) -> Rule:
    return lambda params, a, *more: function(a, axis=tuple(params["axes"]))


_RULES: dict[str, Rule] = {
    "add": _of(np.add),
    "sub": _of(np.subtract),
    "mul": _of(np.multiply),
    "neg": _of(np.negative),
    "abs": _of(np.abs),
    "sign": _of(np.sign),
    "max": _of(np.maximum),
    "min": _of(np.minimum),
    "and": _of(np.bitwise_and),
    "or": _of(np.bitwise_or),
    "xor": _of(np.bitwise_xor),
    "not": _of(np.invert),
    "eq": _of(np.equal),
    "ne": _of(np.not_equal),
    "lt": _of(np.less),
    "le": _of(np.less_equal),
    "gt": _of(np.greater),
    "ge": _of(np.greater_equal),
    "floor": _of(np.floor),
    "ceil": _of(np.ceil),
    "is_finite": _of(np.isfinite),
    "copy": _of(np.asarray),
    "copy_p": _of(np.asarray),
    "stop_gradient": _of(np.asarray),
    "convert_element_type": _of(np.asarray),
    "integer_pow": lambda params, a: np.power(a.astype(np.float64), params["y"]),
    "square": _of(np.square),
    "round": _rounded,
    "div": _quotient,
    "rem": _remainder,
    "shift_left": _shifted,
    "shift_right_logical": _shifted_right,
    "shift_right_arithmetic": lambda params, a, b: np.right_shift(a, np.minimum(b, a.dtype.itemsize * 8 - 1)),
    "clamp": lambda params, low, a, high: np.clip(a, low, high),
    "broadcast_in_dim": _broadcast,
    "reshape": lambda params, a, *more: a.reshape(params["new_sizes"]),
    "squeeze": lambda params, a: np.squeeze(a, tuple(params["dimensions"])),
    "expand_dims": lambda params, a: np.expand_dims(a, tuple(params["dimensions"])),
    "transpose": lambda params, a: np.transpose(a, params["permutation"]),
    "rev": lambda params, a: np.flip(a, tuple(params["dimensions"])),
    "slice": _sliced,
    "concatenate": lambda params, *arrays: np.concatenate(arrays, axis=params["dimension"]),
    "iota": _iota,
    "reduce_sum": _over(np.sum),
    "reduce_prod": _over(np.prod),
    "reduce_max": _over(np.max),
    "reduce_min": _over(np.min),
    "reduce_or": _over(np.any),
    "reduce_and": _over(np.all),
    "cumsum": _along(np.cumsum),
    "cumprod": _along(np.cumprod),
    "dot_general": _dotted,
}
_MOVING = frozenset(
    "broadcast_in_dim reshape squeeze expand_dims transpose rev slice concatenate copy copy_p stop_gradient"
    " convert_element_type".split()
)
_REDUCING = frozenset("reduce_sum reduce_prod reduce_max reduce_min reduce_or reduce_and".split())
_DTYPES = frozenset(
    np.dtype(getattr(jnp, name))
    for name in "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()
)
