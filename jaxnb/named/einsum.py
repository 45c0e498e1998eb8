"""Einsum with names beside letters: `einsum("b{i},{i,j}->b{j}", x, y)`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax

from jaxnb.named.axes import check_bound, is_name
from jaxnb.named.dot import named_dot
from jaxnb.named.errors import AxisSpecError

__all__ = ["dot", "einsum", "pdot", "xeinsum"]


@dataclass(frozen=True)
class _Term:
    letters: str
    names: tuple[str, ...]


_TERM = re.compile(r"([A-Za-z.]*)(?:\{([^{}]*)\})?([A-Za-z.]*)")


def _read_term(text: str, spec: str) -> _Term:
    match = _TERM.fullmatch(text.strip().replace(" ", ""))
    if match is None:
        raise AxisSpecError(
            f"einsum: {text!r} in {spec!r} cannot be read.",
            why="an operand is letters for positions and one pair of braces with names.",
            fix="write for example 'ab{i,j}'.",
        )
    letters = match[1] + match[3]
    if "." in letters:
        raise AxisSpecError(
            f"einsum: {text!r} in {spec!r} has dots.",
            why="beside names every position needs a letter.",
            fix="write the letters out.",
        )
    names = tuple(name for name in (match[2] or "").split(",") if name)
    return _Term(letters, names)


def _read_spec(spec: str, count: int) -> tuple[list[_Term], _Term]:
    left, arrow, right = spec.partition("->")
    # commas inside braces separate names, the others operands
    operands = [_read_term(text, spec) for text in re.split(r",(?![^{}]*\})", left)]
    if not arrow:
        raise AxisSpecError(
            f"einsum: {spec!r} has no '->'.",
            why="with names the result must be written out.",
            fix="add '->' and the letters and names of the result.",
        )
    if len(operands) != count:
        raise AxisSpecError(
            f"einsum: {spec!r} has {len(operands)} operands, and {count} were passed.",
            why="each operand has a part of its own.",
            fix="separate the operands by commas outside of braces.",
        )
    return operands, _read_term(right, spec)


def einsum(
    subscripts: Any, /, *operands: Any, precision: Any = None, preferred_element_type: Any = None, **kw: Any
) -> Any:
    """`jax.numpy.einsum`, with names in braces beside the letters.

    Letters stand for positions as always. Names stand in braces: those of an operand that the result lacks
    are contracted, in a real dot where two operands have them. Names that are written nowhere are left alone.

    Args:
      subscripts: for example `"b{i},{i,j}->b{j}"`; without braces this is `jax.numpy.einsum`.
      *operands: the arrays; an operand has one dimension for each of its letters.
      precision, preferred_element_type: as in `jax.numpy.einsum`.

    Raises:
      AxisSpecError: the subscripts cannot be read, do not fit the operands, or use a name that is not bound.

    >>> float(einsum("a,a->", jnp.ones(3), jnp.ones(3)))
    3.0
    """
    if not isinstance(subscripts, str) or "{" not in subscripts:
        return jnp.einsum(
            subscripts, *operands, precision=precision, preferred_element_type=preferred_element_type, **kw
        )
    terms, result = _read_spec(subscripts, len(operands))
    for term, operand in zip(terms, operands, strict=True):
        if len(term.letters) != jnp.ndim(operand):
            raise AxisSpecError(
                f"einsum: {subscripts!r} gives {len(term.letters)} letters to an operand of "
                f"{jnp.ndim(operand)} dimensions.",
                why="each positional dimension has a letter; named dimensions are in the braces.",
                fix="write one letter for each positional dimension.",
            )
        for name in term.names:
            check_bound(name, f"einsum({subscripts!r})")
    missing = set(result.letters) - set("".join(term.letters for term in terms))
    missing |= set(result.names) - {name for term in terms for name in term.names}
    if missing:
        raise AxisSpecError(
            f"einsum: the result of {subscripts!r} has {sorted(missing)[0]!r}, which no operand has.",
            why="the result keeps letters and names of the operands.",
            fix="remove it, or add it to an operand.",
        )
    dtype = jnp.result_type(*operands)
    values = [jnp.asarray(operand, dtype) for operand in operands]
    options = {"precision": precision, "accumulate": preferred_element_type}
    value, term = values[0], terms[0]
    value, term = _reduce_alone(value, term, terms[1:], result)
    for k in range(1, len(values)):
        other, other_term = _reduce_alone(values[k], terms[k], [term, *terms[k + 1 :]], result)
        value, term = _contract(value, term, other, other_term, terms[k + 1 :], result, options)
    value, term = _reduce_alone(value, term, [], result)
    return lax.transpose(value, [term.letters.index(letter) for letter in result.letters])


def _wanted(others: Sequence[_Term], result: _Term) -> tuple[set[str], set[str]]:
    letters = set(result.letters).union(*(term.letters for term in others))
    names = set(result.names).union(*(term.names for term in others))
    return letters, names


def _reduce_alone(value: Any, term: _Term, others: Sequence[_Term], result: _Term) -> tuple[Any, _Term]:
    """Takes diagonals of repeated letters, and sums letters and names that nothing else has."""
    distinct = "".join(dict.fromkeys(term.letters))
    letters, names = _wanted(others, result)
    kept = "".join(letter for letter in distinct if letter in letters)
    if kept != term.letters:
        value = jnp.einsum(f"{term.letters}->{kept}", value)
    alone = tuple(dict.fromkeys(name for name in term.names if name not in names))
    if alone:
        value = lax.psum(value, alone)
    return value, _Term(kept, tuple(dict.fromkeys(name for name in term.names if name in names)))


def _contract(
    x: Any, tx: _Term, y: Any, ty: _Term, others: Sequence[_Term], result: _Term, options: Any
) -> tuple[Any, _Term]:
    letters, names = _wanted(others, result)
    shared = [letter for letter in tx.letters if letter in ty.letters]
    batch = [letter for letter in shared if letter in letters]
    contracted = [letter for letter in shared if letter not in letters]
    over = [name for name in dict.fromkeys((*tx.names, *ty.names)) if name not in names]
    dims = (
        (tuple(map(tx.letters.index, contracted)), tuple(map(ty.letters.index, contracted))),
        (tuple(map(tx.letters.index, batch)), tuple(map(ty.letters.index, batch))),
    )
    out = named_dot(x, y, over, dims, **options)
    free = [letter for letter in tx.letters if letter not in shared] + [
        letter for letter in ty.letters if letter not in shared
    ]
    left = tuple(name for name in dict.fromkeys((*tx.names, *ty.names)) if name in names)
    return out, _Term("".join([*batch, *free]), left)


xeinsum = einsum


def pdot(
    x: Any,
    y: Any,
    axis_name: Any,
    pos_contract: Any = ((), ()),
    pos_batch: Any = ((), ()),
    precision: Any = None,
) -> Any:
    """The product of two arrays summed over names, and over positions if wanted, as one dot.

    Args:
      x, y: arrays.
      axis_name: a name, or a tuple of names, to contract.
      pos_contract: (dimensions of x, dimensions of y) to contract.
      pos_batch: (dimensions of x, dimensions of y) to pair.
      precision: as in `jax.lax.dot_general`.

    Returns:
      An array with the paired dimensions, then the rest of x's, then the rest of y's.

    >>> from jaxnb import xmap
    >>> float(xmap(lambda x, y: pdot(x, y, "i"), (["i"], ["i"]), [])(jnp.ones(3), jnp.ones(3)))
    3.0
    """
    names = tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)
    for name in names:
        check_bound(name, "pdot(axis_name=...)")
    dtype = jnp.result_type(x, y)
    return named_dot(jnp.asarray(x, dtype), jnp.asarray(y, dtype), names, (pos_contract, pos_batch), precision, None)


def dot(a: Any, b: Any, axis: Any = None, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """`jax.numpy.dot`, which with `axis` contracts names instead: `dot(x, y, "i")`.

    Args:
      a, b: arrays; with `axis` their positional dimensions are all free.
      axis: a name, or a tuple of names.
      precision, preferred_element_type: as in `jax.numpy.dot`.

    >>> float(dot(jnp.ones(3), jnp.ones(3)))
    3.0
    """
    if axis is None:
        return jnp.dot(a, b, precision=precision, preferred_element_type=preferred_element_type)
    if not is_name(axis) and not isinstance(axis, (tuple, list)):
        raise AxisSpecError(
            f"dot(axis={axis!r}): a position.",
            why="`axis` takes names; positions are contracted by jax.numpy.tensordot or einsum.",
            fix="pass a name or a tuple of names.",
        )
    return pdot(a, b, axis, precision=precision)
