"""What a gradient keeps of its forward pass: policies by their words, and gradients that are taken under one.

`jax.checkpoint` and its policies are public. That all gradients of a function are taken as if what they differentiate
were in a `jax.checkpoint` is not: `jax.grad` and what is built on it, as those of flax and equinox are, asks
`jax._src.api.vjp`, which a policy is put around here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import takewhile
from types import CodeType, FunctionType
from typing import Any

import jax
import jax.numpy as jnp
from jax._src import api

from jaxnb._jax.base import as_function, in_jax
from jaxnb._jax.eqns import all_eqns, eqn_frames
from jaxnb.runtime import is_installed, is_own

__all__ = [
    "POLICIES",
    "Taken",
    "calls_of_rules",
    "checkpoint_names",
    "checkpointed_scans",
    "differentiated_in",
    "frames_differentiated",
    "gradients_taken",
    "is_checkpointed",
    "policy_of",
    "written_policy",
]

POLICIES = {
    "nothing": "nothing_saveable",
    "dots": "dots_saveable",
    "dots_without_batch": "dots_with_no_batch_dims_saveable",
    "everything": "everything_saveable",
}
"""What `jax.checkpoint_policies` calls them, by our words. "offload" and names are policies, too."""


def policy_of(words: Sequence[str]) -> Callable[..., Any]:
    """The policy that words stand for: one of `POLICIES`, "offload", or names that `checkpoint_name` gave."""
    if len(words) == 1 and words[0] in POLICIES:
        return getattr(jax.checkpoint_policies, POLICIES[words[0]])
    if tuple(words) == ("offload",):
        return jax.checkpoint_policies.offload_dot_with_no_batch_dims("device", "pinned_host")
    return jax.checkpoint_policies.save_only_these_names(*words)


def written_policy(words: Sequence[str], jax_name: str = "jax") -> str:
    """The same as it is written."""
    home = f"{jax_name}.checkpoint_policies"
    if len(words) == 1 and words[0] in POLICIES:
        return f"{home}.{POLICIES[words[0]]}"
    if tuple(words) == ("offload",):
        return f'{home}.offload_dot_with_no_batch_dims("device", "pinned_host")'
    return f"{home}.save_only_these_names({', '.join(map(repr, words))})".replace("'", '"')


def differentiated_in(wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> AbstractContextManager[None]:
    """While functions are traced inside, what `jax.grad` differentiates is `wrap` of it; the outermost gradients only.

    The trace must be apart from others, see `apart`: JAX would remember what it saw.
    """
    return _differentiating(lambda fun, primals, options: wrap(fun))


@dataclass(frozen=True, slots=True)
class Taken:
    """A gradient that was taken, as three jaxprs of the arrays that it is taken by.

    Attributes:
      forward: the function.
      linear: its derivative at the arrays, of their tangents; what it reads of the forward pass are its constants.
      transposed: that transposed: from the cotangent of the result to those of the arrays.
      given: which of these constants the function was given, or closes over, and did not compute.
      inputs: the paths of all arguments, each with its aval; those of ints, bools and keys are in none of the jaxprs.
    """

    forward: Any
    linear: Any
    transposed: Any
    given: frozenset[int]
    inputs: tuple[tuple[str, Any], ...]


def gradients_taken(note: Callable[[Taken | Exception], None]) -> AbstractContextManager[None]:
    """While functions are traced inside, each gradient is told, or the error with which it was looked at; the outermost
    ones only. The trace must be apart from others."""

    def look(fun: Callable[..., Any], primals: tuple[Any, ...], options: dict[str, Any]) -> Callable[..., Any]:
        try:
            taken, again = _take(fun, primals, bool(options.get("has_aux")))
        except Exception as error:  # then the gradient itself says what is wrong, if anything is
            note(error)
            return fun
        note(taken)
        return again

    return _differentiating(look)


def frames_differentiated(eqn: Any) -> tuple[tuple[CodeType, int], ...]:
    """The frames in which an equation of a gradient that was taken was made, as far as they are of what is
    differentiated: each as its code and a byte offset in it. Those of JAX and of jaxnb are left out, and those of
    libraries, too, where there are others."""
    inside = takewhile(lambda frame: frame[0].co_filename != __file__, eqn_frames(eqn))
    found = [(code, at) for code, at in inside if not in_jax(code.co_filename) and not is_own(code.co_filename)]
    return tuple([frame for frame in found if not is_installed(frame[0].co_filename)] or found)


def _take(fun: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool) -> tuple[Taken, Callable[..., Any]]:
    """A gradient, and the same function made of its jaxpr: modules of flax must be called but once."""
    found, structure = jax.tree_util.tree_flatten_with_path(primals)
    leaves = [leaf for _, leaf in found]
    closed, shapes = jax.make_jaxpr(fun, return_shape=True)(*primals)
    made, evaluate = jax.tree.structure(shapes), as_function(closed)
    places = [n for n, leaf in enumerate(leaves) if jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)]

    def again(*given: Any) -> Any:
        return jax.tree.unflatten(made, evaluate(*structure.flatten_up_to(given)))

    def function(*arrays: Any) -> Any:
        given = list(leaves)
        for n, array in zip(places, arrays, strict=True):
            given[n] = array
        result = again(*jax.tree.unflatten(structure, given))
        return result[0] if has_aux else result

    arrays = [leaves[n] for n in places]
    result, linear = jax.linearize(function, *arrays)
    transposed = jax.make_jaxpr(jax.linear_transpose(linear, *arrays))(result)
    inputs = tuple((jax.tree_util.keystr(path), jax.typeof(leaf)) for path, leaf in found)
    tangent = jax.make_jaxpr(linear)(*arrays)
    there = {id(value) for value in (*leaves, *closed.consts)}
    given = frozenset(n for n, const in enumerate(tangent.consts) if id(const) in there)
    return Taken(jax.make_jaxpr(function)(*arrays), tangent, transposed, given, inputs), again


@contextmanager
def _differentiating(change: Callable[..., Callable[..., Any]]) -> Generator[None]:
    """While functions are traced inside, something else is differentiated: `change` of it, its arguments, options."""
    plain, inside = api.vjp, False

    def vjp(fun: Callable[..., Any], *primals: Any, **options: Any) -> Any:
        nonlocal inside
        if inside:
            return plain(fun, *primals, **options)
        inside = True
        try:
            return plain(change(fun, primals, options), *primals, **options)
        finally:
            inside = False

    public = jax.vjp
    api.vjp = jax.vjp = vjp
    try:
        yield
    finally:
        api.vjp, jax.vjp = plain, public


@contextmanager
def calls_of_rules(note: Callable[[Any, bool], None]) -> Generator[None]:
    """While functions are traced inside, calls of those with a rule of their own, by `jax.custom_vjp`, are told.

    Args:
      note: called with the function, and whether JAX may leave out its forward rule where only the result is used.
    """
    plain = jax.custom_vjp.__call__

    def calling(rule: Any, *args: Any, **options: Any) -> Any:
        note(rule.fun, rule.optimize_remat)
        return plain(rule, *args, **options)

    type.__setattr__(jax.custom_vjp, "__call__", calling)
    try:
        yield
    finally:
        type.__setattr__(jax.custom_vjp, "__call__", plain)


@contextmanager
def checkpointed_scans() -> Generator[None]:
    """While functions are traced inside, each turn of a `jax.lax.scan` is in a `jax.checkpoint`."""
    plain = jax.lax.scan
    # It has to look like a function of JAX, into which nobody looks for what the user's code reaches.
    known = {"__name__": plain.__module__, "plain": plain, "checkpoint": jax.checkpoint}
    jax.lax.scan = FunctionType(_scan.__code__, known, "scan", _scan.__defaults__)
    try:
        yield
    finally:
        jax.lax.scan = plain


def _scan(f: Any, *args: Any, **options: Any) -> Any:
    return plain(checkpoint(f, prevent_cse=False), *args, **options)  # noqa: F821  # pyright: ignore


def checkpoint_names(jaxpr: Any) -> list[str]:
    """What `checkpoint_name` calls values in a jaxpr, each once, in their order."""
    return list(dict.fromkeys(eqn.params["name"] for eqn in all_eqns(jaxpr) if eqn.primitive.name == "name"))


def is_checkpointed(function: Any) -> bool:
    """Whether it is what `jax.checkpoint` made of a function, also below other wrappers: that has no class of its own.

    >>> import jax
    >>> is_checkpointed(jax.jit(jax.checkpoint(abs))), is_checkpointed(jax.jit(abs))
    (True, False)
    """
    for _ in range(20):
        # What filters tracebacks is around it, and says that it wraps the function of the user.
        held = [cell.cell_contents for cell in getattr(function, "__closure__", None) or () if _is_filled(cell)]
        if any(getattr(one, "__globals__", {}).get("__name__") == "jax._src.ad_checkpoint" for one in held):
            return True
        if not hasattr(function, "__wrapped__"):
            return False
        function = function.__wrapped__
    return False


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
