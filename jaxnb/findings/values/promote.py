"""Which dtype comes of several that meet, and by which rule: `%jaxnb promote bfloat16 int32 weak-float`."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import reduce
from typing import Any

from jaxnb.errors import JaxnbError

__all__ = ["Promotion", "promote"]

_WEAK = {"weak-int": int, "weak-float": float, "weak-complex": complex, "int": int, "float": float, "complex": complex}
_KINDS = (("bf", "bfloat"), ("f", "float"), ("i", "int"), ("u", "uint"), ("c", "complex"))
_SHORT = {f"{short}{bits}": f"{name}{bits}" for short, name in _KINDS for bits in (4, 8, 16, 32, 64, 128)}
_NAMES = """
bool int4 int8 int16 int32 int64 uint4 uint8 uint16 uint32 uint64 float8_e4m3fn float8_e5m2 bfloat16 float16 float32
float64 complex64 complex128
""".split()


@dataclass(frozen=True, slots=True)
class Promotion:
    """What comes of dtypes that meet; its text is what `%jaxnb promote` prints.

    Attributes:
      given: the names, `weak-int` and the like being Python numbers.
      dtype: the result as JAX has it, cut to 32 bits where 64 are off.
      weak: whether it still gives way to others.
      rules: one sentence for each step.
    """

    given: tuple[str, ...]
    dtype: str
    weak: bool
    rules: tuple[str, ...]

    def __str__(self) -> str:
        result = f"weak-{self.dtype}" if self.weak else self.dtype
        return "\n".join([f"{', '.join(self.given)} → {result}", *(f"  {rule}" for rule in self.rules)])

    __repr__ = __str__


def promote(*names: str) -> Promotion:
    """Says which dtype an operation gives that all of these go into.

    Args:
      *names: dtypes such as "bfloat16" or "bf16"; "weak-int", "weak-float" and "weak-complex" (or "int", "float",
        "complex") stand for Python numbers.

    Raises:
      JaxnbError: if there is no such dtype, none was given, or JAX does not promote them.

    >>> promote("bfloat16", "int32", "weak-float").dtype
    'bfloat16'
    """
    import numpy as np

    if not names:
        raise JaxnbError("promote needs dtypes.", fix="for example: %jaxnb promote bfloat16 int32 weak-float")
    items = [_read(name) for name in names]
    rules = list(dict.fromkeys(cut for item in items if (cut := _cut(item))))
    given = [item if isinstance(item, type) else np.dtype(_canonical(item)) for item in items]
    result = reduce(lambda one, other: _step(one, other, rules), given)
    return Promotion(tuple(_text(item) for item in items), _dtype(result), isinstance(result, type), tuple(rules))


def _read(name: str) -> Any:
    """A Python type for a weak number, or a dtype."""
    import numpy as np
    from jax import numpy as jnp

    word = name.strip().lower().strip("'\",").removeprefix("jnp.").removeprefix("np.")
    if word in _WEAK:
        return _WEAK[word]
    word = _SHORT.get(word, word)
    found = getattr(jnp, "bool_" if word == "bool" else word, None) if word in _NAMES else None
    if found is None:
        known = [*_NAMES, *(weak for weak in _WEAK if weak.startswith("weak-"))]
        close = difflib.get_close_matches(word, known, n=1)
        fix = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}."
        raise JaxnbError(f"there is no dtype {name!r}.", fix=fix)
    return np.dtype(found)


def _step(one: Any, other: Any, rules: list[str]) -> Any:
    """What two give, with the rule."""
    from jax import numpy as jnp

    weak = isinstance(one, type), isinstance(other, type)
    if all(weak):
        result = max(one, other, key=(int, float, complex).index)
        rules.append(f"{_text(one)} and {_text(other)} are Python numbers: {_text(result)}, which gives way to arrays.")
        return result
    try:
        exact = jnp.promote_types(one, other)
    except Exception as error:
        text = f"{_text(one)} and {_text(other)} are not promoted implicitly."
        raise JaxnbError(text, why=str(error).partition("\n")[0], fix="cast one of them by `.astype`.") from None
    rules.append(_rule(one, other, exact, weak))
    return exact


def _rule(one: Any, other: Any, result: Any, weak: tuple[bool, bool]) -> str:
    from jax import numpy as jnp

    pair = f"{_text(one)} and {_text(other)}"
    if any(weak):
        number, array = (one, other) if weak[0] else (other, one)
        if result == array:
            return f"{pair}: a Python {number.__name__} takes the dtype of the array, {array.name}."
        return f"{pair}: {array.name} holds no {number.__name__}, so the result is JAX's default for it, {result.name}."
    if one == other:
        return f"{pair}: the same."
    floats = [jnp.issubdtype(item, jnp.inexact) for item in (one, other)]
    if result in (one, other):
        if one.itemsize == other.itemsize and not any(floats) and "bool" not in (one.name, other.name):
            return f"{pair}: int64 would hold both, and is cut to {result.name}: 64 bits are off (jax_enable_x64)."
        if any(floats) and not all(floats):
            return f"{pair}: an integer or bool takes the dtype of the float, however narrow: {result.name}."
        return f"{pair}: {result.name} is the wider one."
    why = "neither holds the other" if all(floats) else "signed and unsigned need one that holds both"
    return f"{pair}: {why}, so the result is {result.name}."


def _cut(item: Any) -> str:
    """That 64 bits are off, if that changes a dtype."""
    if isinstance(item, type) or (shown := _canonical(item)) == item.name:
        return ""
    return f"{item.name} is cut to {shown}: 64 bits are off (jax_enable_x64)."


def _canonical(dtype: Any) -> str:
    import jax

    return str(jax.dtypes.canonicalize_dtype(dtype))


def _dtype(result: Any) -> str:
    return result.__name__ if isinstance(result, type) else _canonical(result)


def _text(item: Any) -> str:
    return f"weak-{item.__name__}" if isinstance(item, type) else str(item.name)
