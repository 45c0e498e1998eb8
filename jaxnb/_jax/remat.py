"""What a gradient keeps of its forward pass: policies by their words, and gradients that are taken under one.

`jax.checkpoint` and its policies are public. That all gradients of a function are taken as if what they differentiate
were in a `jax.checkpoint` is not: `jax.grad` and what is built on it, as those of flax and equinox are, asks
`jax._src.api.vjp`, which a policy is put around here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import jax
from jax._src import api

from jaxnb._jax.eqns import all_eqns

__all__ = [
    "POLICIES",
    "calls_of_rules",
    "checkpoint_names",
    "checkpointed_scans",
    "differentiated_in",
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


@contextmanager
def differentiated_in(wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Generator[None]:
    """While functions are traced inside, what `jax.grad` differentiates is `wrap` of it; the outermost gradients only.

    The trace must be apart from others, see `apart`: JAX would remember what it saw.
    """
    plain, inside = api.vjp, False

    def vjp(fun: Callable[..., Any], *primals: Any, **options: Any) -> Any:
        nonlocal inside
        if inside:
            return plain(fun, *primals, **options)
        inside = True
        try:
            return plain(wrap(fun), *primals, **options)
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
