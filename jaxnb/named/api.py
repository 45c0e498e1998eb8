"""`xmap`: a function of arrays with named dimensions, from a function of what stands at one position."""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

from jaxnb._jax import INLINE_EARLY, bound_axes
from jaxnb.named import checks, probe
from jaxnb.named.binding import bind_map
from jaxnb.named.errors import AxisSizeError, ResourceError
from jaxnb.named.primitive import mapped, xmap_p
from jaxnb.named.remade import own_spec, programs_of, weakly
from jaxnb.named.resources import FakeMesh, current_mesh, loops_in_scope, make_plan
from jaxnb.named.show import render_body
from jaxnb.named.specs import LeafSpec, check_name, check_rank, declared_names, read_prefix, sizes_of

__all__ = ["Mapped", "xmap"]


def xmap(
    fun: Callable[..., Any],
    in_axes: Any,
    out_axes: Any,
    *,
    axis_sizes: Mapping[Any, int] | None = None,
    axis_resources: Mapping[Any, Any] | None = None,
    donate_argnums: int | Sequence[int] = (),
    backend: str | None = None,
    mesh: Any = None,
    lowering: str = "manual",
) -> Mapped:
    """Maps `fun` over named axes.

    `fun` is written for one position along every name: it does not see the named dimensions. Collectives such
    as `jax.lax.psum(x, "batch")`, and the functions of `jaxnb.numpy` with a name for an axis, work across
    positions.

    A map that is made anew of the same function with the same specs is traced no more often than one that is kept: as
    with `jax.jit`, what the function reads from outside is what it was when it was traced.

    Args:
      fun: a function of positional arguments that are pytrees of arrays.
      in_axes: for each argument which dimension has which name: `["batch", None]` (and no further dimension),
        `["batch", ...]`, `{0: "batch"}`, `{}`, or a pytree prefix of such specs.
      out_axes: the same for the results. A name that is not in them must not matter to the result.
      axis_sizes: sizes of names; needed for names that no argument has.
      axis_resources: what each name is spread over: a mesh axis, a `SerialLoop`, the name of a `serial_loop`,
        or a tuple of them. Resources never change a value or a gradient.
      donate_argnums: arguments whose memory the results may take, as in `jax.jit`.
      backend: the XLA backend, as in `jax.jit`.
      mesh: the mesh, or a `fake_mesh`; by default that of the context.
      lowering: `"manual"` writes the collectives of `fun` out; `"spmd"` lets XLA's partitioner choose them. On some
        derivatives of a sort that partitioner ends the process (as of jaxlib 0.10 and 0.12); `"manual"` has no need of
        it.

    Returns:
      A `Mapped`: call it, differentiate it, `jit` it, or look at it with `.lower(*args).compile()`.

    Raises:
      NamedAxisError: one of its kinds, at the definition or at the first call with new shapes.

    >>> import jax, jax.numpy as jnp
    >>> dot = xmap(lambda x, y: jax.lax.psum(x * y, "i"), in_axes=(["i"], ["i"]), out_axes=[])
    >>> float(dot(jnp.arange(3.0), jnp.ones(3)))
    3.0
    """
    return Mapped(
        fun,
        in_axes,
        out_axes,
        dict(axis_sizes or {}),
        dict(axis_resources or {}),
        donate_argnums,
        backend,
        mesh,
        lowering,
    )


class Mapped:
    """What `xmap` returns. Call it with arrays, or `lower` it to look at it."""

    def __init__(
        self,
        fun: Callable[..., Any],
        in_axes: Any,
        out_axes: Any,
        axis_sizes: Mapping[Any, int],
        axis_resources: Mapping[Any, Any],
        donate_argnums: int | Sequence[int],
        backend: str | None,
        mesh: Any,
        lowering: str,
    ) -> None:
        if lowering not in ("manual", "spmd"):
            raise ResourceError(
                f"lowering = {lowering!r} does not exist.",
                why="'manual' writes collectives out, 'spmd' leaves them to XLA's partitioner.",
                fix="use one of the two.",
            )
        self._fun = fun
        self._in_axes, self._out_axes = own_spec(in_axes), own_spec(out_axes)
        self._axis_sizes, self._resources = axis_sizes, axis_resources
        self._donate, self._backend = donate_argnums, backend
        self._mesh, self._lowering = mesh, lowering
        specs = in_axes, out_axes, axis_sizes, axis_resources, donate_argnums, backend, mesh, lowering
        self._compiled = programs_of(fun, specs)
        functools.update_wrapper(self, fun, updated=())
        in_names = declared_names(in_axes, "in_axes")
        out_names = declared_names(out_axes, "out_axes")
        for name, size in axis_sizes.items():
            check_name(name, "axis_sizes")
            if isinstance(size, bool) or not hasattr(size, "__index__") or size < 0:
                raise AxisSizeError(
                    f"axis_sizes[{name!r}] = {size!r} is no size.",
                    why="a size is an integer, 0 or more.",
                    fix="pass the number of positions.",
                )
        checks.check_declared({**in_names, **dict.fromkeys(axis_sizes, "axis_sizes")}, out_names, axis_resources)

    def __repr__(self) -> str:
        name = getattr(self._fun, "__name__", repr(self._fun))
        return f"xmap({name}, in_axes={self._in_axes!r}, out_axes={self._out_axes!r})"

    def __call__(self, *args: Any) -> Any:
        mesh = self._current_mesh()
        if self._resources and mesh is not None and not isinstance(mesh, FakeMesh):
            self._check_placement(args, mesh)
        return self._jitted(mesh)(*args)

    def lower(self, *args: Any) -> Any:
        """The map lowered for these arguments (arrays or `jax.ShapeDtypeStruct`s): a `jax.stages.Lowered`."""
        return self._jitted(self._current_mesh()).lower(*args)

    def jaxpr_text(self, *args: Any) -> str:
        """The body for these arguments as text, with the named shape of every value: `f32[5 | batch:20]`."""
        closed = jax.make_jaxpr(lambda *xs: self._bind(self._current_mesh(), *xs))(*args)
        (eqn,) = [eqn for eqn in closed.jaxpr.eqns if eqn.primitive is xmap_p]
        params = eqn.params
        return render_body(params["body"].closed, [mapped(a) for a in params["in_axes"]], dict(params["sizes"]))

    def _current_mesh(self) -> Any:
        enclosing = probe.enclosing_mesh()
        here = self._mesh if self._mesh is not None else current_mesh()
        if enclosing is None:
            return here
        if here is not None and enclosing.mesh is not None and dict(here.shape) != dict(enclosing.mesh.shape):
            raise ResourceError(
                f"the mesh inside a map is {dict(here.shape)!r}, and outside it is {dict(enclosing.mesh.shape)!r}.",
                why="the whole map runs on one mesh.",
                fix="set the mesh outside the outermost map.",
            )
        return enclosing.mesh if here is None else here

    def _jitted(self, mesh: Any) -> Any:
        # What `jax.jit` does not know of and the result depends on.
        key = mesh, loops_in_scope(), probe.enclosing_mesh() is None
        compiled = self._compiled.get(key)
        if compiled is None:
            twin = copy.copy(self)  # the programs outlive this map, and do not keep the function
            twin._fun = weakly(self._fun)
            vars(twin)["__wrapped__"] = twin._fun
            run = functools.wraps(self._fun, updated=())(lambda *args: twin._bind(mesh, *args))
            run.__wrapped__ = twin._fun
            backend: dict[str, Any] = {} if self._backend is None else {"backend": self._backend}
            compiled = jax.jit(run, donate_argnums=self._donate, inline=INLINE_EARLY, **backend)
            self._compiled[key] = compiled
        return compiled

    def _flatten(self, args: Sequence[Any]) -> tuple[list[Any], list[str], Any, list[LeafSpec]]:
        placed, tree = jax.tree_util.tree_flatten_with_path(tuple(args))
        names = _argument_names(self._fun, len(args))
        places = [names[path[0].idx] + jax.tree_util.keystr(path[1:]) for path, _ in placed]
        leaves = [leaf for _, leaf in placed]
        specs = read_prefix(self._in_axes, tuple(args), "in_axes")
        for leaf, place, spec in zip(leaves, places, specs, strict=True):
            check_rank(spec, np.ndim(leaf), place, "in_axes")
        return leaves, places, tree, specs

    def _sizes(self, leaves: Sequence[Any], places: Sequence[str], specs: Sequence[LeafSpec]) -> dict[Any, int]:
        sizes = sizes_of(specs, [np.shape(leaf) for leaf in leaves], places, self._axis_sizes)
        missing = set(declared_names(self._in_axes, "in_axes")) - set(sizes)
        if missing:
            name = sorted(missing, key=repr)[0]
            raise AxisSizeError(
                f"the size of {name!r} is not known.",
                why=f"it is in in_axes = {self._in_axes!r}, and no argument has an array there.",
                fix=f"pass axis_sizes={{{name!r}: ...}}.",
            )
        return sizes

    def _check_placement(self, args: Sequence[Any], mesh: Any) -> None:
        if not any(isinstance(leaf, jax.Array) and not isinstance(leaf, Tracer) for leaf in jax.tree.leaves(args)):
            return
        leaves, places, _, specs = self._flatten(args)
        plan = make_plan(
            self._resources, self._sizes(leaves, places, specs), mesh, self._lowering, dict(loops_in_scope())
        )
        for leaf, place, spec in zip(leaves, places, specs, strict=True):
            checks.check_placement(leaf, place, spec.names, plan)

    def _bind(self, mesh: Any, *args: Any) -> Any:
        leaves, places, tree, specs = self._flatten(args)
        sizes = self._sizes(leaves, places, specs)
        checks.check_shadowing(sizes, bound_axes())
        plan = make_plan(self._resources, sizes, mesh, self._lowering, dict(loops_in_scope()))
        out_tree: list[Any] = []

        def body(*flat: Any) -> list[Any]:
            result = self._fun(*jax.tree.unflatten(tree, flat))
            outs, out_def = jax.tree.flatten(result)
            out_tree[:] = [out_def, result]
            return outs

        def results() -> tuple[list[LeafSpec], list[str]]:
            result = out_tree[1]
            return read_prefix(self._out_axes, result, "out_axes"), _result_places(result)

        outs = bind_map(body, leaves, places, specs, results, sizes=sizes, plan=plan, mesh=mesh)
        return jax.tree.unflatten(out_tree[0], outs)


def _argument_names(fun: Callable[..., Any], count: int) -> list[str]:
    """What to call the arguments in messages: their parameters' names where there are some."""
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for i in range(count):
        named = i < len(parameters) and parameters[i].kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        )
        names.append(f"argument {parameters[i].name!r}" if named else f"argument {i}")
    return names


def _result_places(result: Any) -> list[str]:
    placed, _ = jax.tree_util.tree_flatten_with_path(result)
    return ["result" + jax.tree_util.keystr(path) for path, _ in placed]
