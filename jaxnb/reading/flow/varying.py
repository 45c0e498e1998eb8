"""Over which named axes each value of a jaxpr varies: the named part of its shape.

An axis is bound by an equation, a `shard_map` over axes of a mesh or an `xmap` over names. Inside, a value may differ
from one position of the axis to the next: what an input brings in along it does, and so does `axis_index`; what
`psum`, `all_gather` and the like make does not. Outside, the axis is gone.

The analysis says "varies" where it cannot tell: an axis that is not named is one along which the value is certainly
the same. Where JAX keeps such a record in its types (`check_vma=True`), this one is never larger than the axes that
JAX calls varying or unreduced, and smaller in two places: what is only called varying (`pcast`, `pvary`) still is the
same everywhere, and so is what `all_gather` made.

What cannot be known. A `jax.vmap`, with or without `axis_name`, leaves no equation behind and no name: an axis of
it has become a dimension of the values, and nothing says which one, nor which values have it, because the equations
that do not depend on the mapped inputs bear the same mark "vmap" as those that do. So such an axis is never named. It
is known where it is still an axis: as a name of `xmap`, and where `jax.make_jaxpr(f, axis_env=[("i", 4)])` bound it
outside; the inputs of such a jaxpr then count as varying, and the size is known only if a collective says it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from jax.extend.core import Jaxpr, Literal

from jaxnb._jax import Called, Sets, body_jaxprs, open_jaxpr
from jaxnb.named import COLLECTIVES, Anonymous

__all__ = ["Varying", "varying_axes"]

# Where a collective keeps its names: those of `named`, and those that JAX binds besides.
_NAMES: Mapping[str, str] = {
    **COLLECTIVES,
    "psum_invariant": "axes",
    "unreduced_psum": "axes",
    "unreduced_pmax": "axes",
    "unreduced_pmin": "axes",
    "all_gather_invariant": "axis_name",
    "all_gather_reduced": "axis_name",
    "unreduced_reduce_scatter": "axis_name",
    "ragged_all_to_all": "axis_name",
    "pbroadcast_dynamic": "axis_name",
    "psend": "axis_name",
    "precv": "axis_name",
}
# What is the same at all positions afterwards.
_EVENS = frozenset(
    [
        "psum",
        "pmax",
        "pmin",
        "psum_invariant",
        "unreduced_psum",
        "unreduced_pmax",
        "unreduced_pmin",
        "all_gather",
        "all_gather_invariant",
        "all_gather_reduced",
        "pbroadcast",
        "named_dot",
    ]
)
_BINDERS = frozenset({"shard_map", "xmap"})
_KERNELS = frozenset({"pallas_call", "core_map", "mpmd_map"})  # they bind names of their own, and do not say which
_FROM_OUTSIDE = frozenset({"io_callback", "infeed"})  # they may give another value at every position
_READS_REF = frozenset({"get"})

Path = tuple[str, ...]


class _Axis:
    """An axis that one equation binds; equal to nothing but itself, since two may have one name."""

    __slots__ = ("name", "order", "size")

    def __init__(self, name: Any, size: int | None, order: tuple[int, int]) -> None:
        self.name, self.size, self.order = name, size, order


Axes = frozenset[_Axis]
_NONE: Axes = frozenset()


class _Scope:
    """The names that are bound somewhere, the depth of the innermost binding, and the axes of a kernel's own grid."""

    __slots__ = ("axes", "depth", "grid")

    def __init__(self, axes: Mapping[Any, _Axis], depth: int, grid: Axes = _NONE) -> None:
        self.axes, self.depth, self.grid = axes, depth, grid

    def bind(self, sizes: Mapping[Any, int | None], kernel: bool = False) -> _Scope:
        depth = self.depth + 1
        new = {name: _Axis(name, size, (depth, n)) for n, (name, size) in enumerate(sizes.items())}
        return _Scope({**self.axes, **new}, depth, frozenset(new.values()) if kernel else self.grid)

    def of(self, names: Iterable[Any]) -> Axes:
        return frozenset(self.axes[name] for name in names if name in self.axes)


class Varying(Sets):
    """What the values of one jaxpr vary over, as one equation calls it; `inside` leads to the jaxprs in it.

    A jaxpr that two equations share may have other axes in each of them.
    """

    def __init__(self, analysis: _Analysis, jaxpr: Jaxpr, scope: _Scope) -> None:
        self._analysis, self._jaxpr, self._scope = analysis, jaxpr, scope
        self._env: dict[Any, Axes] = {}
        self._bodies: dict[int, dict[Path, Varying]] = {}
        self.outs: list[Axes] = []

    def axes(self, atom: Any) -> tuple[tuple[str, int | None], ...]:
        """The named axes that a value varies over, each with its size, the outermost first.

        Args:
          atom: a variable of this jaxpr, or a literal. The size of an axis that no equation binds may be None.
        """
        if not self._env or isinstance(atom, Literal):
            return ()
        found = self._env.get(atom)
        return self._analysis.told(found) if found else ()

    def inside(self, eqn: Any, path: Path) -> Varying:
        """The same of a jaxpr in one of the equations.

        Args:
          eqn: of this jaxpr.
          path: to the jaxpr in its parameters, as `_jax.body_jaxprs` gives it; ("body",) for an `xmap`.
        """
        if not self._scope.axes:
            if eqn.primitive.name not in _BINDERS | _KERNELS:
                return self  # nothing varies here, nor there
            if id(eqn) not in self._bodies:
                self.equation(eqn, [_NONE] * len(eqn.invars))
        known = self._bodies.get(id(eqn), {}).get(path)
        if known is None:  # it is not known how the equation calls it
            body = dict(body_jaxprs(eqn.params))[path]
            known = self._analysis.walk(body, [frozenset(self._scope.axes.values())] * len(body.invars), self._scope)
        return known

    def fill(self, ins: Sequence[Axes]) -> None:
        """Goes through the equations, until what stands in references has settled."""
        env, jaxpr = self._env, self._jaxpr
        env.update(zip(jaxpr.invars, ins, strict=True))
        env.update((var, _NONE) for var in jaxpr.constvars)
        settled = False
        while not settled:
            settled = True
            for eqn in jaxpr.eqns:
                sets = self.read(eqn.invars, env)
                for var, axes in zip(eqn.outvars, self.equation(eqn, sets), strict=True):
                    env[var] = axes | env[var] if var in env and _is_reference(var) else axes
                refs = [atom for atom in eqn.invars if _is_reference(atom)]
                if refs and eqn.primitive.name not in _READS_REF:
                    bodies = self._bodies.get(id(eqn), {}).values()
                    written = _NONE.union(*sets, *(body.in_references() for body in bodies))
                    for ref in refs:
                        settled &= written <= env[ref]
                        env[ref] |= written
        self.outs = self.read(jaxpr.outvars, env)

    def in_references(self) -> Axes:
        """What the references that the jaxpr is given vary over in the end."""
        return _NONE.union(*(self._env[var] for var in self._jaxpr.invars if _is_reference(var)))

    def enter(self, eqn: Any, called: Called, ins: list[Axes]) -> list[Axes]:
        return self._enter(eqn, called.path, called.jaxpr, ins, self._scope)

    def _enter(self, eqn: Any, path: Path, jaxpr: Any, ins: list[Axes], scope: _Scope) -> list[Axes]:
        body = self._bodies.setdefault(id(eqn), {})[path] = self._analysis.walk(jaxpr, ins, scope)
        return body.outs

    def other(self, eqn: Any, ins: list[Axes]) -> list[Axes]:
        """Everything may vary over what an operand varies over, and over what the equation has to do with."""
        scope, name = self._scope, eqn.primitive.name
        found = _NONE.union(*ins, scope.of(getattr(effect, "name", None) for effect in eqn.effects))
        if name in _FROM_OUTSIDE:
            found = frozenset(scope.axes.values())
        elif name == "program_id":
            found = scope.grid
        bodies = body_jaxprs(eqn.params)
        names = {name: size for _, body in bodies for name, size in self._analysis.free(body).items()}
        found |= scope.of(names)
        own = {name: size for name, size in names.items() if name not in scope.axes}
        within = scope.bind(own, kernel=True) if own or name in _KERNELS else scope
        inner = found | within.of(own)
        for path, body in bodies:
            self._enter(eqn, path, body, [inner] * len(body.invars), within)
        return [found] * len(eqn.outvars)

    def binder(self, eqn: Any, ins: list[Axes]) -> list[Axes]:
        """The rule of an equation that binds names."""
        sizes, params = _bound(eqn), eqn.params
        within = self._scope.bind(sizes)
        if eqn.primitive.name == "xmap":
            path, jaxpr = ("body",), params["body"].opaque_jaxpr
            brought = [[name for _, name in axes] for axes in params["in_axes"]]
        else:
            path, jaxpr = ("jaxpr",), params["jaxpr"]
            brought = [_names_in_spec(spec) & sizes.keys() for spec in params["in_specs"]]
        inner = [axes | within.of(names) for axes, names in zip(ins, brought, strict=True)]
        own = within.of(sizes)
        return [axes - own for axes in self._enter(eqn, path, jaxpr, inner, within)]

    def collective(self, eqn: Any, ins: list[Axes]) -> list[Axes]:
        """The rule of an equation that acts over names."""
        kind, count = _kind(eqn), len(eqn.outvars)
        over = self._scope.of(_names_of(eqn, kind))
        if kind not in _EVENS or eqn.params.get("axis_index_groups") is not None:
            return [_NONE.union(*ins, over)] * count
        return [axes - over for axes in ins] if len(ins) == count else [_NONE.union(*ins) - over] * count

    rules: ClassVar[Mapping[str, Any]] = {
        **dict.fromkeys((*_NAMES, *(f"{name}_start" for name in _NAMES)), collective),
        **dict.fromkeys(_BINDERS, binder),
    }


def varying_axes(
    closed_jaxpr: Any, bound: Mapping[Any, int] | None = None, brought: Sequence[Collection[Any]] = ()
) -> Varying:
    """Which named axes each value of a jaxpr, and of all that is nested in it, varies over.

    Inside a jaxpr that binds no axis nothing is analysed, since nothing varies there.

    Args:
      closed_jaxpr: what `jax.make_jaxpr(f)(...)` or `jax.jit(f).trace(...).jaxpr` gives.
      bound: names that are bound around it, with their sizes, as `jax.vmap(axis_name=...)` does; otherwise those that
        no equation in it binds are taken to be, and all inputs to vary over them.
      brought: for each input, where `bound` is given, the names among these that it varies over.

    >>> import jax
    >>> closed = jax.make_jaxpr(lambda x: (x, jax.lax.psum(x, "i")), axis_env=[("i", 4)])(1.0)
    >>> varying = varying_axes(closed)
    >>> [varying.axes(var) for var in closed.jaxpr.outvars]
    [(('i', None),), ()]
    """
    jaxpr, analysis = open_jaxpr(closed_jaxpr), _Analysis()
    free = analysis.free(jaxpr)
    scope = _Scope({}, 0)
    if bound is not None:
        scope = scope.bind(bound)
        return analysis.walk(jaxpr, [scope.of(names) for names in brought], scope)
    if not free:
        return Varying(analysis, jaxpr, scope)
    scope = scope.bind(free)
    return analysis.walk(jaxpr, [scope.of(free)] * len(jaxpr.invars), scope)


class _Analysis:
    """What is shared by the walks of one program."""

    def __init__(self) -> None:
        self._walks: dict[tuple[int, tuple[Axes, ...], _Scope], Varying] = {}
        self._free: dict[int, Mapping[Any, int | None]] = {}
        self._told: dict[Axes, tuple[tuple[str, int | None], ...]] = {_NONE: ()}

    def told(self, axes: Axes) -> tuple[tuple[str, int | None], ...]:
        if axes not in self._told:
            ordered = sorted(axes, key=lambda axis: axis.order)
            self._told[axes] = tuple((_name_text(axis.name), axis.size) for axis in ordered)
        return self._told[axes]

    def walk(self, jaxpr: Any, ins: Sequence[Axes], scope: _Scope) -> Varying:
        """A jaxpr at these inputs, gone through once."""
        body = open_jaxpr(jaxpr)
        key = (id(body), tuple(ins), scope)
        if key not in self._walks:
            walk = Varying(self, body, scope)
            walk.fill(ins)
            self._walks[key] = walk
        return self._walks[key]

    def free(self, jaxpr: Jaxpr) -> Mapping[Any, int | None]:
        """The names in a jaxpr that no equation in it binds, with the size where a collective says it."""
        if id(jaxpr) in self._free:
            return self._free[id(jaxpr)]
        found: dict[Any, int | None] = {}
        for eqn in jaxpr.eqns:
            params = eqn.params
            if not params:
                continue
            kind = _kind(eqn)
            if kind in _NAMES:
                names = _names_of(eqn, kind)
                size = params.get("axis_size") if len(names) == 1 and not params.get("axis_index_groups") else None
                found.update((name, size) for name in names if found.get(name) is None)
            for _, body in body_jaxprs(params) if kind not in _KERNELS else ():
                inner = self.free(body)
                if inner:
                    bound = _bound(eqn) if kind in _BINDERS else {}
                    new = {name: size for name, size in inner.items() if name not in bound}
                    found.update((name, size) for name, size in new.items() if found.get(name) is None)
        self._free[id(jaxpr)] = found
        return found


def _kind(eqn: Any) -> str:
    """The name of a primitive; the first half of one that JAX splits in two counts as the whole."""
    return eqn.primitive.name.removesuffix("_start")


def _names_of(eqn: Any, kind: str) -> tuple[Any, ...]:
    """The names that a collective acts over; positions are left out."""
    value = eqn.params[_NAMES[kind]]
    names = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(name for name in names if not isinstance(name, int))


def _bound(eqn: Any) -> Mapping[Any, int]:
    """The names that an equation binds, with their sizes."""
    params = eqn.params
    if eqn.primitive.name == "xmap":
        return dict(params["sizes"])
    new = params["newly_manual_axes"]
    return {name: size for name, size in params["mesh"].shape.items() if name in new}


def _names_in_spec(spec: Any) -> set[Any]:
    """The axes along which an input is cut up, or of which each position has a part of a sum."""
    found: set[Any] = set(spec.unreduced)
    for entry in spec:
        found.update(entry if isinstance(entry, (tuple, list)) else [entry])
    return found


def _is_reference(atom: Any) -> bool:
    return hasattr(atom.aval, "inner_aval")  # the class of a reference's type is not exported


def _name_text(name: Any) -> str:
    return "vmap" if isinstance(name, Anonymous) else str(name)
