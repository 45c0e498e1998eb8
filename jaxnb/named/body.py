"""`Body`: the logical jaxpr of a map, with names and without resources."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax

from jaxnb._jax import all_eqns, hoist_constants, open_jaxpr, unchecked_collectives
from jaxnb.named.flow import Names, axis_names

__all__ = ["Body", "collective_names", "primitives", "trace", "without_mesh"]


class Body:
    """A closed jaxpr without constants, hidden from JAX's own walks over jaxprs, which do not know the names
    in it.

    Two bodies are equal only if they are the same object, as with JAX's jaxprs.
    """

    __slots__ = ("__weakref__", "closed")

    def __init__(self, closed: Any) -> None:
        self.closed = closed

    @property
    def opaque_jaxpr(self) -> Any:
        """The jaxpr, for the walks of this package."""
        return self.closed

    def with_jaxpr(self, closed: Any) -> Body:
        """A body of another jaxpr, such as the same one with other names for its equations."""
        return Body(closed)

    @property
    def out_avals(self) -> Sequence[Any]:
        """The type of each output at one position."""
        return self.closed.out_avals

    def __repr__(self) -> str:
        jaxpr = open_jaxpr(self.closed)
        return f"<body of {len(jaxpr.invars)} inputs, {len(jaxpr.eqns)} equations, {len(jaxpr.outvars)} outputs>"


@contextmanager
def without_mesh() -> Generator[None]:
    """Hides the mesh of the context, and the checks of an enclosing `shard_map`, while a body is traced."""
    # With the mesh of the context every type would carry it, and inside shard_map it is another one.
    with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), ())), unchecked_collectives():
        yield


def trace(fun: Callable[..., Any], avals: Sequence[Any], sizes: Mapping[Any, int]) -> tuple[Body, list[Any]]:
    """Traces `fun` with names bound.

    Args:
      fun: takes one positional argument for each of `avals`, returns a list of arrays.
      avals: anything with shape and dtype, for one position.
      sizes: the names to bind.

    Returns:
      (body, constants): the body takes the constants first; they may be tracers of an enclosing trace.
    """
    structs = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=getattr(a, "weak_type", False)) for a in avals]
    with without_mesh():
        closed = jax.make_jaxpr(fun, axis_env=list(sizes.items()))(*structs)
        jaxpr, constants = hoist_constants(closed, sizes)
    return Body(jaxpr), constants


def collective_names(jaxpr: Any) -> Names:
    """The names over which positions exchange values anywhere in a jaxpr; `axis_index` exchanges nothing."""
    exchanging = (eqn for eqn in all_eqns(jaxpr) if eqn.primitive.name != "axis_index")
    return frozenset(name for eqn in exchanging for name in axis_names(eqn))


def primitives(jaxpr: Any) -> frozenset[str]:
    """The names of all primitives anywhere in a jaxpr."""
    return frozenset(eqn.primitive.name for eqn in all_eqns(jaxpr))
