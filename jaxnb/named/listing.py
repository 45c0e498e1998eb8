"""Functions of `jax.numpy` along a name for which there is no collective: the positions of the name are listed along a
new first dimension, and JAX's function works along that.

Each builder here makes, of a function of JAX, the same function whose `axis` may be a name. Without a name it is JAX's.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxnb.named.axes import check_bound, gathered, has_names, is_name, own_entry, split_axes
from jaxnb.named.errors import AxisSizeError, AxisSpecError

__all__ = ["counted", "document", "kept", "laid", "own_of", "reduced", "refused"]

_KEPT = "Along a name the result at each position is the entry that belongs there."
_COUNTED = "Along a name the entries of the result, which are not as many as positions, get a new first dimension."
_LAID = "Along a name, which has as many positions as there are entries, each position gets its entry."


def document(named: Callable[..., Any], plain: Callable[..., Any], more: str, axis: str = "a name") -> None:
    """Writes the docstring of a function that is JAX's but for its axis; `more` says what is different."""
    first = (plain.__doc__ or "").strip().split("\n")[0]
    named.__doc__ = f"`{plain.__name__}` of JAX, whose `axis` may be {axis}.\n\n    {first}\n\n    {more}\n    "


def reduced(plain: Callable[..., Any], *arrays: str, alone: bool = False) -> Any:
    """A function that works along its axes and drops them.

    Args:
      plain: JAX's function.
      arrays: the parameters that have an entry at each position; the dimensions of the first are those of `axis`.
      alone: whether it takes one axis only: a position, or names, which are then numbered together.
    """
    signature = _signature(plain, arrays)

    def over(bound: inspect.BoundArguments, positions: tuple[int, ...], names: tuple[Any, ...]) -> Any:
        given = bound.arguments
        if alone and positions:
            raise _one_axis(plain, given["axis"])
        _list(given, arrays, names)
        given["axis"] = (0, *(p + 1 for p in positions)) if positions else 0
        if "keepdims" not in signature.parameters:
            return plain(*bound.args, **bound.kwargs)
        before, stay = jnp.ndim(given[arrays[0]]), given.get("keepdims")
        given["keepdims"] = True
        out = plain(*bound.args, **bound.kwargs)

        def drop(x: Any) -> Any:  # the results of `quantile` have more dimensions, and these come first
            new = x.ndim - before
            return jnp.squeeze(x, (new, *(() if stay else (new + 1 + p for p in positions))))

        return jax.tree.map(drop, out)

    run = _where_named(plain, signature, arrays[0], over)
    document(
        run,
        plain,
        "A name has no dimension to keep, so `keepdims` and `where` speak of positions only.",
        "a name, or a tuple of names" if alone else "a name, or a tuple of positions and names",
    )
    return run


def kept(plain: Callable[..., Any], *arrays: str) -> Any:
    """A function along one axis, of whose result every position takes the entry that belongs there.

    Args:
      plain: JAX's function.
      arrays: the parameters that have an entry at each position.
    """
    return _along(plain, arrays, lambda x, name: own_entry(x, name, 0), _KEPT)


def counted(plain: Callable[..., Any], *arrays: str) -> Any:
    """A function along one axis whose result has another number of entries; they get a new first dimension."""
    return _along(plain, arrays, lambda x, name: x, _COUNTED)


def _along(plain: Callable[..., Any], arrays: Sequence[str], taken: Callable[[Any, Any], Any], more: str) -> Any:
    def over(bound: inspect.BoundArguments, positions: tuple[int, ...], names: tuple[Any, ...]) -> Any:
        if positions or len(names) != 1:
            raise _one_axis(plain, bound.arguments["axis"])
        _list(bound.arguments, arrays, names)
        bound.arguments["axis"] = 0
        return jax.tree.map(lambda x: taken(x, names[0]), plain(*bound.args, **bound.kwargs))

    run = _where_named(plain, _signature(plain, arrays), arrays[0], over)
    document(run, plain, more)
    return run


def _where_named(
    plain: Callable[..., Any],
    signature: inspect.Signature,
    first: str,
    over: Callable[[inspect.BoundArguments, tuple[int, ...], tuple[Any, ...]], Any],
) -> Callable[..., Any]:
    """`plain`, but for a call whose `axis` has names: `over`, with the call, the positions and the names."""

    @wraps(plain)
    def run(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        axis = bound.arguments.get("axis")
        if not has_names(axis):
            return plain(*args, **kwargs)
        positions, names = split_axes(axis, jnp.ndim(bound.arguments[first]), f"{plain.__name__}(axis=...)")
        return over(bound, positions, names)

    return run


def laid(plain: Callable[..., Any]) -> Any:
    """A function that makes `num` entries along `axis`: along a name, one at each position."""
    signature = _signature(plain, ("num",))

    @wraps(plain)
    def run(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        name = bound.arguments.get("axis")
        if not has_names(name):
            return plain(*args, **kwargs)
        check_bound(name, f"{plain.__name__}(axis=...)")
        bound.arguments["axis"] = 0
        made = plain(*bound.args, **bound.kwargs)
        if bound.arguments.get("retstep"):
            return own_of(made[0], name, plain.__name__), made[1]
        return own_of(made, name, plain.__name__)

    document(run, plain, _LAID)
    return run


def own_of(x: Any, name: Any, where: str) -> Any:
    """The entry of `x` along its first dimension that belongs to one's own position of a name.

    Raises:
      AxisSizeError: there are more or fewer entries than positions.
    """
    size = lax.axis_size(name)
    if x.shape[0] != size:
        raise AxisSizeError(
            f"{where}(axis={name!r}): there are {x.shape[0]} entries, and {name!r} has {size} positions.",
            why="every position gets one entry.",
            fix="pass one entry for each position, or use a positional axis.",
        )
    return lax.dynamic_index_in_dim(x, lax.axis_index(name), 0, keepdims=False)


def refused(plain: Callable[..., Any], *axes: str) -> Any:
    """A function that has no meaning along a name, with an error that says so.

    Args:
      plain: JAX's function.
      axes: its parameters that are axes.
    """
    signature = _signature(plain, axes)

    @wraps(plain)
    def run(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        for parameter in axes:
            if _holds_name(given.get(parameter)):
                raise AxisSpecError(
                    f"{plain.__name__}({parameter}={given[parameter]!r}): this function takes positions only.",
                    why="a name has no place among the dimensions, and its size stays as it is.",
                    fix="list the name along a dimension with jax.lax.all_gather(x, name), and use that.",
                )
        return plain(*args, **kwargs)

    return run


def _holds_name(axes: Any) -> bool:
    """Whether there is a name among axes, which may be those of two arrays, as `tensordot` has them."""
    return any(map(_holds_name, axes)) if isinstance(axes, (tuple, list)) else is_name(axes)


def _signature(plain: Callable[..., Any], needed: Sequence[str]) -> inspect.Signature:
    signature = inspect.signature(plain)
    assert set(needed) <= set(signature.parameters), (plain, needed)
    return signature


def _list(given: dict[str, Any], arrays: Sequence[str], names: Sequence[Any]) -> None:
    """Replaces the arrays among the arguments by all entries along the names, in a new first dimension."""
    shape = jnp.shape(given[arrays[0]])
    for parameter in arrays:
        value = given.get(parameter)
        if value is not None:
            whole = jnp.broadcast_to(value, shape) if parameter == "where" else value
            given[parameter] = gathered(whole, names, 0)


def _one_axis(plain: Callable[..., Any], axis: Any) -> AxisSpecError:
    return AxisSpecError(
        f"{plain.__name__}(axis={axis!r}): there is more than one axis.",
        why="this function works along one.",
        fix="pass one position or one name.",
    )
