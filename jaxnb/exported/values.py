"""From what a loaded cell is called with to the arrays that its program takes, and from what that gives to names."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxnb import _jax
from jaxnb.errors import JaxnbError
from jaxnb.exported.signature import OTHER, Leaf, Node, Signature, places
from jaxnb.exported.sizes import BadInput, Measure

__all__ = ["LeftOut", "Results", "bound_arguments", "build_results", "flat_inputs"]


class LeftOut:
    """Stands in a result for what no file holds, such as a function.

    >>> LeftOut("function f")
    <left out: function f>
    """

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what

    def __repr__(self) -> str:
        return f"<left out: {self.what}>"


class Results(Mapping[str, Any]):
    """What a loaded cell gave: its names with their values, as items and as attributes.

    >>> results = Results({"loss": 0.5}, None, False)
    >>> results["loss"], results.loss, results.value
    (0.5, 0.5, 0.5)

    Attributes:
      value: what the last line of the cell is; of a cell that shows nothing, the one name that it binds.
    """

    __slots__ = ("_found", "_shown", "_value")

    def __init__(self, found: dict[str, Any], value: Any, shown: bool) -> None:
        self._found, self._value, self._shown = found, value, shown

    @property
    def value(self) -> Any:
        """What the last line of the cell is; of a cell that shows nothing, the one name that it binds.

        Raises:
          JaxnbError: if there are several.
        """
        if self._shown:
            return self._value
        if len(self._found) == 1:
            return next(iter(self._found.values()))
        names = ", ".join(self._found) or "no name"
        raise JaxnbError(f"the cell shows no value, and binds {names}.", fix="ask for one of its names.")

    def __getitem__(self, name: str) -> Any:
        try:
            return self._found[name]
        except KeyError:
            raise KeyError(f"{name!r}: the cell gives {', '.join(self._found) or 'no name'}") from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._found:
            raise AttributeError(f"the cell gives no {name!r}: {', '.join(self._found) or 'it binds nothing'}")
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._found})

    def __repr__(self) -> str:
        rows = [f"  {name} = {value!r}" for name, value in self._found.items()]
        rows += [f"  value = {self._value!r}"] if self._shown else []
        return "\n".join([f"Results of {', '.join(self._found) or 'no name'}", *rows])


def _flatten(results: Results) -> tuple[Any, Any]:
    return (tuple(results.values()), results._value), (tuple(results), results._shown)  # pyright: ignore


def _unflatten(kept: Any, parts: Any) -> Results:
    return Results(dict(zip(kept[0], parts[0], strict=True)), parts[1], kept[1])


jax.tree_util.register_pytree_node(Results, _flatten, _unflatten)  # so that a loaded cell can stand under jax.jit


def bound_arguments(signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """What was given for each name.

    Raises:
      BadInput: if a name is missing, unknown, or given twice.
    """
    names = signature.names
    takes = f"it takes {', '.join(names)}." if names else "it takes nothing."
    if len(args) > len(names):
        raise BadInput(f"{len(args)} inputs were given by position, and there are {len(names)}.", why=takes)
    given = dict(zip(names, args, strict=False))
    for name in kwargs:
        if name in given:
            raise BadInput(f"`{name}` was given twice.", why="once by position, and once by its name.")
        if name not in names:
            static = next((value for known, value in signature.static if known == name), None)
            if static is None:
                raise BadInput(f"there is no input `{name}`.", why=takes)
            if repr(kwargs[name]) == static:
                continue
            raise BadInput(
                f"`{name}` is no input.",
                why=f"it is part of the program: {name} = {static}.",
                fix=f"leave it out, or export the cell with --dynamic {name}.",
            )
    given |= {name: value for name, value in kwargs.items() if name in names}
    if missing := [name for name in names if name not in given]:
        raise BadInput(
            f"`{missing[0]}` is missing.", why=takes, fix=f"{missing[0]}=..., {_wanted(signature, missing[0])}."
        )
    return given


def _wanted(signature: Signature, name: str) -> str:
    node = dict(signature.inputs)[name]
    return f"of type {signature.leaves[node.index]}" if node.kind == "leaf" else f"a {node.kind} as the signature says"


def flat_inputs(
    signature: Signature, measure: Measure, given: Mapping[str, Any]
) -> tuple[list[Any], Mapping[str, int]]:
    """The arrays that the program takes, in its order, and how large the names of sizes are.

    Raises:
      BadInput: naming what does not fit.
    """
    found: dict[int, tuple[str, Any]] = {}
    for name, node in signature.inputs:
        for place, index, value in _taken(name, node, given[name]):
            if index in found and not _same(found[index][1], value):
                first = found[index][0]
                raise BadInput(
                    f"`{first}` and `{place}` differ.",
                    why="they were one array when the cell was exported, and the program takes one.",
                    fix="give the same array for both.",
                )
            found.setdefault(index, (place, value))
    flat = [_as_leaf(*found[index], leaf) for index, leaf in enumerate(signature.leaves)]
    return flat, measure.solve([found[index] for index in range(len(flat))])


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if _jax.is_tracer(one) or _jax.is_tracer(other):
        return False
    keys = [isinstance(item, jax.Array) and jnp.issubdtype(item.dtype, jax.dtypes.prng_key) for item in (one, other)]
    if any(keys):
        return all(keys) and one.dtype == other.dtype and _same(jax.random.key_data(one), jax.random.key_data(other))
    return bool(np.array_equal(np.asarray(one), np.asarray(other)))


def _taken(place: str, node: Node, value: Any) -> Iterator[tuple[str, int, Any]]:
    """The leaves of what was given for a structure."""
    if node.kind == "leaf":
        yield place, node.index, value
        return
    if node.kind == OTHER:
        return
    if node.kind == "scalar":
        if type(value) is not type(node.value) or repr(value) != repr(node.value):
            raise BadInput(
                f"`{place}` is {_shown(value)}, and the program is for {node.value!r}.",
                why="a Python value inside a structure is part of the program.",
                fix=f"give {node.value!r} there, or export the cell with another one.",
            )
        return
    _check_structure(place, node, value)
    items = [value[key] for key in node.keys] if node.kind == "dict" else value
    for (where, part), item in zip(places(place, node), items, strict=True):
        yield from _taken(where, part, item)


def _check_structure(place: str, node: Node, value: Any) -> None:
    what = f"a {node.kind}" if node.kind != "namedtuple" else f"a {node.value}({', '.join(node.keys)})"
    if node.kind == "dict":
        if not isinstance(value, Mapping):
            raise BadInput(f"`{place}` is {_shown(value)}, and the program takes {what}.")
        lacks = [key for key in node.keys if key not in value]
        more = [key for key in value if key not in node.keys]  # pyright: ignore[reportUnknownVariableType]
        if lacks or more:
            says = [f"lacks {', '.join(map(repr, lacks))}"] * bool(lacks)
            says += [f"has {', '.join(map(repr, more))} besides"] * bool(more)  # pyright: ignore[reportUnknownArgumentType]
            raise BadInput(f"`{place}` {' and '.join(says)}.", why=f"its keys are {', '.join(map(repr, node.keys))}.")
        return
    kinds: dict[str, type] = {"list": list, "tuple": tuple, "namedtuple": tuple}
    fits = isinstance(value, kinds[node.kind])
    if node.kind == "namedtuple":
        fits = fits and getattr(value, "_fields", None) == node.keys
    if not fits:
        raise BadInput(f"`{place}` is {_shown(value)}, and the program takes {what}.")
    if len(value) != len(node.items):
        raise BadInput(f"`{place}` has {len(value)} items, and the program takes {len(node.items)}.")


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool | int | float | complex | str):
        return repr(value)[:80]
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        return str(jax.typeof(value)).removesuffix("{}") if not isinstance(value, np.ndarray) else _typed(value)
    return f"a {type(value).__name__}"


def _typed(value: Any) -> str:
    return f"{value.dtype}[{','.join(map(str, value.shape))}]"


_RANKS = ("b", "iu", "f", "c")


_NARROW = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}


def _rank(dtype: Any) -> int:
    kind = "f" if jnp.issubdtype(dtype, jnp.floating) else "i" if jnp.issubdtype(dtype, jnp.integer) else dtype.kind
    return next((rank for rank, kinds in enumerate(_RANKS) if kind in kinds), len(_RANKS))


def _as_leaf(place: str, value: Any, leaf: Leaf) -> Any:
    """A value as the program takes it."""
    if leaf.kind == "key":
        return _key_data(place, value, leaf)
    if isinstance(value, bool | int | float | complex) and not isinstance(value, np.generic):
        return _number(place, value, leaf)
    if not isinstance(value, jax.Array | np.ndarray | np.generic):
        fix = "make it an array: jnp.asarray(...)." if isinstance(value, list | tuple) else ""
        raise BadInput(f"`{place}` is {_shown(value)}, and the program takes {leaf}.", fix=fix)
    if isinstance(value, jax.Array) and not _jax.is_tracer(value) and value.is_deleted():
        raise BadInput(f"`{place}` was deleted: its buffer is gone.", why="it was donated, or deleted by hand.")
    dtype, wanted = value.dtype, jnp.dtype(leaf.dtype)
    fits = dtype == wanted
    if leaf.kind == "number":
        fits = _rank(dtype) == _rank(wanted)
    elif not fits and not isinstance(value, jax.Array):  # as JAX takes an array of NumPy
        fits = _NARROW.get(str(dtype)) == str(wanted)
    shape = _has_shape(value, leaf)
    if not (fits and shape):
        fix = f"{place}.astype({leaf.dtype!r})." if shape and not fits and str(dtype) in np.sctypeDict else ""
        of_names = any(isinstance(size, str) for size in leaf.shape)
        why = "a program has the sizes that the cell had when it was exported." if not (shape or of_names) else ""
        raise BadInput(f"`{place}` is {_typed(value)}, and the program takes {leaf}.", why=why, fix=fix)
    return value if dtype == wanted else value.astype(wanted)


def _has_shape(value: Any, leaf: Leaf) -> bool:
    """Whether a shape is the one, whatever size has a name."""
    return len(value.shape) == len(leaf.shape) and all(
        isinstance(size, str) or size == have for size, have in zip(leaf.shape, value.shape, strict=True)
    )


def _number(place: str, value: Any, leaf: Leaf) -> Any:
    dtype = jnp.dtype(leaf.dtype)
    rank = _RANKS.index({bool: "b", int: "iu", float: "f", complex: "c"}[type(value)])
    if leaf.shape or rank > _rank(dtype) or (rank == 0) != (_rank(dtype) == 0):
        raise BadInput(f"`{place}` is {_shown(value)}, and the program takes {leaf}.")
    if _rank(dtype) == 1 and not jnp.iinfo(dtype).min <= value <= jnp.iinfo(dtype).max:
        raise BadInput(f"`{place}` is {value}, which {dtype} does not hold.")
    return np.asarray(value, dtype)


def _key_data(place: str, value: Any, leaf: Leaf) -> Any:
    dtype: Any = getattr(value, "dtype", np.dtype(bool))
    if not isinstance(value, jax.Array) or not jnp.issubdtype(dtype, jax.dtypes.prng_key):
        raw = isinstance(value, jax.Array | np.ndarray) and str(dtype) == "uint32"
        fix = f"{place}=jax.random.wrap_key_data({place})." if raw else f"{place}=jax.random.key(0)."
        raise BadInput(f"`{place}` is {_shown(value)}, and the program takes {leaf}.", fix=fix)
    if str(dtype) != f"key<{leaf.key}>" or not _has_shape(value, leaf):
        raise BadInput(f"`{place}` is {_typed(value)}, and the program takes {leaf}.")
    return jax.random.key_data(value)


# --- results ---


_KEYS = {"fry": "threefry2x32", "rbg": "rbg", "urbg": "unsafe_rbg"}


def build_results(signature: Signature, measure: Measure, flat: Sequence[Any], sizes: Mapping[str, int]) -> Results:
    """The names that a cell gives, from the arrays that its program gave, and the sizes of the call."""

    def number(node: Node) -> int:
        return measure.value(node, sizes)

    arrays = [_given(value, leaf) for value, leaf in zip(flat, signature.made, strict=True)]
    found = {name: _built(node, arrays, number) for name, node in signature.results}
    value = _built(signature.value, arrays, number) if signature.value is not None else None
    return Results(found, value, signature.value is not None)


def _given(value: Any, leaf: Leaf) -> Any:
    if leaf.kind == "key":
        return jax.random.wrap_key_data(value, impl=_KEYS[leaf.key])
    if leaf.kind == "number" and not _jax.is_tracer(value):
        return value.item()
    return value


def _built(node: Node, arrays: Sequence[Any], number: Callable[[Node], int]) -> Any:
    if node.kind == "leaf":
        return arrays[node.index]
    if node.kind == "scalar":
        return node.value
    if node.kind == OTHER:
        return LeftOut(node.value)
    if node.kind == "size":
        return number(node)
    items = [_built(item, arrays, number) for item in node.items]
    if node.kind == "dict":
        return dict(zip(node.keys, items, strict=True))
    if node.kind == "namedtuple":
        return _tuple_class(node.value, node.keys)(*items)
    return items if node.kind == "list" else tuple(items)


@functools.cache
def _tuple_class(name: str, fields: tuple[str, ...]) -> Any:
    return namedtuple(name, fields)  # pyright: ignore
