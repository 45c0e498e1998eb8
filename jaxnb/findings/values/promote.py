"""Which dtype comes of several that meet, and by which rule: `%jaxnb promote bfloat16 int32 weak-float`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from jaxnb.errors import JaxnbError
from jaxnb.program import LATTICE, WEAK, Promotion, exact_to, meet

__all__ = ["promote"]

_WEAK = {"weak-int": "int*", "weak-float": "float*", "weak-complex": "complex*"}
_WORDS = {**_WEAK, "int": "int*", "float": "float*", "complex": "complex*", "bool_": "bool", "pred": "bool"}
_KINDS = (("bf", "bfloat"), ("f", "float"), ("i", "int"), ("u", "uint"), ("c", "complex"))
_SHORT = {f"{short}{bits}": f"{name}{bits}" for short, name in _KINDS for bits in (2, 4, 8, 16, 32, 64, 128)}
_DEFAULT = {"int*": "int64", "float*": "float64", "complex*": "complex128"}


def promote(*operands: Any) -> Promotion:
    """Says which dtype an operation gives that all of these go into. It shows itself as the lattice of JAX's types.

    Args:
      *operands: dtypes such as jnp.bfloat16, "bfloat16" or "bf16"; arrays; Python's numbers and types, which are weak:
        "weak-int", "weak-float" and "weak-complex" (or "int", "float", "complex") stand for them.

    Raises:
      JaxnbError: if there is no such dtype, none was given, or JAX does not promote them.

    >>> found = promote("int32", "weak-float", "bfloat16")
    >>> found.dtype, found.paths[0]
    ('bfloat16', ('int32', 'int64', 'float*', 'bfloat16'))
    """
    if not operands:
        raise JaxnbError("promote needs dtypes.", fix="for example: %jaxnb promote bfloat16 int32 weak-float")
    nodes = [_node(operand) for operand in operands]
    met = [nodes[0]]
    for one, other in zip(nodes[1:], _meeting(nodes), strict=True):
        if other is None:
            text = f"{_text(met[-1])} and {_text(one)} are not promoted implicitly."
            why = "dtypes of a few bits stand beside the lattice: only Python's numbers take theirs."
            raise JaxnbError(text, why=why, fix="cast one of them by `.astype`.")
        met.append(other)
    rules = dict.fromkeys([*_cuts(nodes), *_steps(nodes, met), *_losses(nodes, met[-1])])
    weak = met[-1] in WEAK
    # Of an array and a number comes an array, of the dtype that JAX has for the number; of numbers comes a number.
    dtype = met[-1].removesuffix("*") if WEAK.issuperset(nodes) else _canonical(_DEFAULT.get(met[-1], met[-1]))
    return Promotion(tuple(map(_text, nodes)), tuple(nodes), met[-1], dtype, weak, tuple(rules))


def _meeting(nodes: Sequence[str]) -> Iterator[str | None]:
    """Where the first two meet, the first three, and so on."""
    return (meet(nodes[: count + 1]) for count in range(1, len(nodes)))


def _node(operand: Any) -> str:
    """Where something stands in the lattice."""
    import numpy as np

    if isinstance(operand, str):
        return _read(operand)
    kind = operand if isinstance(operand, type) else type(operand)
    if kind in (bool, int, float, complex):
        return _WORDS.get(kind.__name__, kind.__name__)
    try:
        name = np.dtype(operand if kind is operand else getattr(operand, "dtype", operand)).name
    except TypeError:
        name = str(getattr(operand, "dtype", ""))
    if name not in LATTICE:
        what = f"{name} is never promoted" if name else f"an object of {type(operand).__name__} has no dtype"
        raise JaxnbError(f"{what}.", fix="name dtypes, such as bfloat16, int32 and weak-float, or give arrays.")
    weak = bool(getattr(operand, "weak_type", False))
    return next(node for node, wide in _DEFAULT.items() if name.lstrip("u")[:3] == wide[:3]) if weak else name


def _read(name: str) -> str:
    word = name.strip().lower().strip("'\",").removeprefix("jnp.").removeprefix("np.")
    word = _WORDS.get(word, _SHORT.get(word, word))
    if word not in LATTICE:
        known = [*(one for one in LATTICE if one not in WEAK), *_WEAK]
        close = difflib.get_close_matches(word, known, n=1)
        fix = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}."
        raise JaxnbError(f"there is no dtype {name!r}.", fix=fix)
    return word


def _cuts(nodes: Sequence[str]) -> Iterator[str]:
    """That 64 bits are off, where that changes a dtype."""
    for node in nodes:
        if node not in WEAK and (cut := _canonical(node)) != node:
            yield f"{node} is cut to {cut}: 64 bits are off (jax_enable_x64)."


def _steps(nodes: Sequence[str], met: Sequence[str]) -> Iterator[str]:
    """What the operands give one after the other, with the rules."""
    for before, one, result in zip(met, nodes[1:], met[1:], strict=False):
        pair, weak = f"{_text(before)} and {_text(one)}", (before in WEAK, one in WEAK)
        if all(weak):
            yield f"{pair} are Python numbers: {_text(result)}, which gives way to arrays."
        elif before == one:
            yield f"{pair}: the same."
        elif any(weak):
            number, array = (before, one) if weak[0] else (one, before)
            kind = number.removesuffix("*")
            if result == array:
                yield f"{pair}: a Python {kind} takes the dtype of the array, {_canonical(array)}."
            else:
                wide = _canonical(_DEFAULT.get(result, result))
                gives = ", which gives way to other arrays" if result in WEAK else ""
                yield f"{pair}: {array} holds no {kind}, so the result is JAX's default for it, {wide}{gives}."
        else:
            yield f"{pair}: {_rule(before, one, result)}"


def _rule(one: str, other: str, result: str) -> str:
    floats = ["float" in item or "complex" in item for item in (one, other)]
    if _canonical(result) != result and result not in (one, other):
        return f"{result} would hold both, and is cut to {_canonical(result)}: 64 bits are off (jax_enable_x64)."
    if result in WEAK:
        wide = _canonical(_DEFAULT[result])
        return f"no integer holds both, so the result is a float as weak as Python's, {wide}."
    if result in (one, other):
        if any(floats) and not all(floats):
            return f"an integer or bool takes the dtype of the float, however narrow: {result}."
        return f"{result} is the wider one."
    why = "neither holds the other" if all(floats) else "signed and unsigned need one that holds both"
    return f"{why}, so the result is {result}."


def _losses(nodes: Sequence[str], result: str) -> Iterator[str]:
    """What numbers lose on the way."""
    found = _canonical(_DEFAULT.get(result, result))
    for node in nodes:
        most = exact_to(_canonical(node) if node not in WEAK else node, found)
        if most is not None:
            yield f"{found} has whole numbers up to {most:,} exactly: larger ones of {node} are rounded."
    if "uint32" in nodes and found == "int32":
        yield "a uint32 above 2,147,483,647 becomes negative in int32."


def _canonical(dtype: str) -> str:
    import jax

    return str(jax.dtypes.canonicalize_dtype(dtype)) if dtype not in WEAK else dtype


def _text(node: str) -> str:
    return f"weak-{node.removesuffix('*')}" if node in WEAK else node
