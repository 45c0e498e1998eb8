"""What `jaxnb.named` needs of JAX and JAX does not export, in one place; checked on jax 0.10.2 and 0.12.0.

- `partial_eval_jaxpr_nounits` splits a linearised body into what is known and what is linear. Exported by
  0.12 (`jax.interpreters.partial_eval`), not by 0.10.
- `convert_constvars_jaxpr` turns the constants of a body into arguments. Exported by 0.12, not by 0.10.
- `no_axis_name` tells a `vmap` without `axis_name` from one with it in a batching rule. No public name.
- `thread_resources` finds the mesh of `with mesh:`; `jax.sharding.get_mesh` sees `jax.set_mesh` only.
- `get_concrete_mesh` finds the devices of `jax.set_mesh` inside a `jax.jit` too, where `get_mesh` refuses.
- `config._check_vma`: inside a checking `jax.shard_map`, `lax.psum` binds other primitives. No public switch.
- `extend_axis_env_nd` binds names around `partial_eval_jaxpr_nounits` and `dce_jaxpr`. No public name.
- `device_context` holds the mesh of `jax.set_mesh`, which then forbids the specs that a body names by `PartitionSpec`s
  where the mesh is hidden; 0.12 has moved it. No public switch.
- `get_bind_params` makes of the parameters of an equation those that bind it again. No public name.
- `JaxprEqn.ctx` says where an equation is computed, `compute_on_context_manager` has others computed there; the public
  `compute_on` is a context on 0.10 and a transformation on 0.12.
- `ShapedArray.update` and `mat` write and read what a value varies over inside a checking `jax.shard_map`. No public
  name.
- The rules of `dce_rules` are given one argument more by 0.12, in the middle.
- `get_axis_env` tells the names that enclosing maps have bound, to check shadowing and misspelt names. No
  public name.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax
from jax._src import config, mesh as mesh_lib
from jax._src.core import extend_axis_env_nd, get_axis_env, no_axis_name
from jax._src.interpreters.partial_eval import convert_constvars_jaxpr, partial_eval_jaxpr_nounits
from jax._src.mesh import get_concrete_mesh, thread_resources
from jax.extend import source_info_util
from jax.extend.core import ClosedJaxpr
from jax.interpreters import partial_eval
from jax.sharding import AxisType, ManualAxisType

from jaxnb._jax.eqns import eqn_scope, eqn_traceback

__all__ = [
    "bind_again",
    "bound_axes",
    "concrete_mesh",
    "hoist_constants",
    "is_anonymous",
    "made_like",
    "mesh_of_specs",
    "retyped",
    "rule_of_dead_results",
    "split_known",
    "tangent_type",
    "unchecked_collectives",
    "varying_names",
    "without_dead",
]


def hoist_constants(closed: Any, names: Mapping[Any, int]) -> tuple[Any, list[Any]]:
    """(the same jaxpr with its constants as leading inputs, the constants); `names` are bound meanwhile."""
    with extend_axis_env_nd(list(names.items())):
        return _hoist(closed)


def _hoist(closed: Any) -> tuple[Any, list[Any]]:
    constants = list(closed.consts)
    if isinstance(closed.jaxpr, ClosedJaxpr):  # jax 0.12: a jaxpr holds its own constants
        return convert_constvars_jaxpr(closed), constants
    return ClosedJaxpr(convert_constvars_jaxpr(closed.jaxpr), ()), constants


def split_known(
    closed: Any, unknown: Sequence[bool], instantiate: Sequence[bool], names: Mapping[Any, int]
) -> tuple[Any, Any, list[bool], int]:
    """Splits a jaxpr by what depends on its `unknown` inputs; `names` are bound meanwhile.

    Returns (known jaxpr, unknown jaxpr, which outputs are unknown, number of residuals). The known jaxpr
    gives the known outputs and then the residuals; the unknown one takes the residuals and then the unknown
    inputs.
    """
    with extend_axis_env_nd(list(names.items())):
        known, unknown_jaxpr, out_unknown, residuals = partial_eval_jaxpr_nounits(
            closed, tuple(unknown), tuple(instantiate)
        )
    return known, unknown_jaxpr, list(out_unknown), len(residuals)


def without_dead(jaxpr: Any, used: Sequence[bool], names: Mapping[Any, int]) -> tuple[Any, list[bool]]:
    """(an open jaxpr with only what the `used` outputs need, which inputs those are); `names` are bound meanwhile."""
    with extend_axis_env_nd(list(names.items())):
        smaller, needed = partial_eval.dce_jaxpr(jaxpr, list(used))
    return smaller, list(needed)


def bind_again(eqn: Any, values: Sequence[Any]) -> list[Any]:
    """The results of an equation as it stands, of other operands."""
    out = eqn.primitive.bind(*values, **eqn.primitive.get_bind_params(eqn.params))
    return list(out) if eqn.primitive.multiple_results else [out]


@contextmanager
def made_like(eqn: Any) -> Generator[None]:
    """What is traced meanwhile counts as made where an equation was, in its scope, and is computed where that is."""
    scope: Any = eqn_scope(eqn)
    name_stack = source_info_util.current_name_stack() + scope
    place, where = config.compute_on_context_manager, eqn.ctx.compute_type
    before = place.get_local()
    with source_info_util.user_context(eqn_traceback(eqn), name_stack=name_stack):
        place.set_local(before if where is None else where)
        try:
            yield
        finally:
            place.set_local(before)


def varying_names(aval: Any) -> frozenset[Any]:
    """The names that a value varies over by its type, which says so inside of a `jax.shard_map` that checks it."""
    manual = getattr(aval, "mat", None)
    return frozenset() if manual is None else frozenset(manual.varying)


def retyped(aval: Any, shape: tuple[int, ...], varying: frozenset[Any] | None = None, sharding: Any = None) -> Any:
    """A type of another shape, and of other `varying_names` and another sharding where they are given."""
    manual = {} if varying is None else {"manual_axis_type": ManualAxisType(varying=varying)}
    return aval.update(shape=shape, **manual, **({} if sharding is None else {"sharding": sharding}))


def tangent_type(aval: Any) -> Any:
    """The type of the tangents of values of a type."""
    return aval.to_tangent_aval()


def rule_of_dead_results(primitive: Any, rule: Callable[[Sequence[bool], Any], tuple[list[bool], Any]]) -> None:
    """Has JAX ask a rule which operands an equation needs, and for an equation without the results that are dead.

    Args:
      primitive: of the equations.
      rule: is given which results are used, and the equation.
    """
    partial_eval.dce_rules[primitive] = lambda used, *more: rule(used, more[-1])


def is_anonymous(name: Any) -> bool:
    """Whether a batching rule was called by a `vmap` that names no axis."""
    return name is no_axis_name or name is None


def bound_axes() -> Mapping[Any, int]:
    """The names that the enclosing maps have bound, with their sizes."""
    return get_axis_env().axis_sizes


def concrete_mesh() -> jax.sharding.Mesh | None:
    """The mesh, with devices, of the enclosing `with mesh:` or `jax.set_mesh(mesh)`; inside `jax.jit` too."""
    of_manager, of_context = thread_resources.env.physical_mesh, get_concrete_mesh()
    if not of_manager.empty:
        return of_manager
    return None if of_context.empty else of_context


@contextmanager
def unchecked_collectives() -> Generator[None]:
    """Traces collectives in their plain form, whatever an enclosing `jax.shard_map` checks of them."""
    with config._check_vma(False):  # pyright: ignore[reportPrivateUsage]
        yield


@contextmanager
def mesh_of_specs(mesh: Any) -> Generator[None]:
    """Lets `PartitionSpec`s mean this mesh, while the mesh of the context is hidden from the types of values."""
    if not isinstance(mesh, jax.sharding.Mesh) or any(kind != AxisType.Auto for kind in mesh.axis_types):
        yield
        return
    context: Any = getattr(config, "device_context", None) or mesh_lib.device_context  # pyright: ignore
    stack, before = thread_resources.stack, context.swap_local(mesh_lib.empty_concrete_mesh)
    stack.append(stack[-1].with_mesh(mesh))
    thread_resources.env = stack[-1]
    try:
        yield
    finally:
        stack.pop()
        thread_resources.env = stack[-1]
        context.set_local(before)
