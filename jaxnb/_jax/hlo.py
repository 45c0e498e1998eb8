"""The door to what JAX lowers and XLA compiles: names of equations, locations of operations, modules of executables.

Each entry says what is missing in public. All were checked on jax 0.10.2 and 0.12.0. When a name is gone, importing
this module raises `ImportError`, rather than degrading silently. When an attribute of an object is gone, a warning or
an error names it: a program still runs, and what else is known of it is still shown.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import jax
from jax._src import (
    core as jax_core,  # as in `eqns`
    linear_util as lu,  # what JAX wraps rules for derivatives in
)
from jax._src.dispatch import prim_requires_devices_during_lowering as _wanting  # nobody else tells, or can change it
from jax._src.source_info_util import (
    NameStack as _NameStack,  # `new_name_stack` makes only stacks of one scope
    Scope as _Scope,  # the parts of a stack have no public types
    Transform as _Transform,
)
from jaxlib.mlir import ir

from jaxnb._jax.eqns import body_jaxprs, is_jaxpr, open_jaxpr
from jaxnb.errors import ChangedJax

__all__ = [
    "drop_consts",
    "given_shardings",
    "has_instruction",
    "input_shardings",
    "is_opaque",
    "kept_inputs",
    "location_name",
    "lower_elsewhere",
    "module_names",
    "name_parts",
    "named_eqn",
    "serialized_modules",
    "warn_of_change",
    "with_changed",
    "with_eqns",
    "with_jaxpr",
    "without_rules",
]

_RULES = frozenset({"jvp_jaxpr_fun", "fwd_jaxpr_thunk", "bwd"})
"""Parameters of equations that hold the rules of `jax.custom_jvp` and `jax.custom_vjp`."""


def warn_of_change(error: AttributeError, lost: str) -> None:
    """Warns that JAX has no longer what was asked of it, and says what is lost by that."""
    warnings.warn(f"{_missing(error)}: {lost}", stacklevel=3)


def _missing(error: AttributeError) -> str:
    return f"jax {jax.__version__} has no {type(error.obj).__name__}.{error.name}"


def named_eqn(eqn: Any, name: str, params: Mapping[str, Any]) -> Any:
    """A copy of an equation whose name in the lowered program ends in `name`, with these parameters.

    What stood in the name before stands in it as before: `jvp(mine)` becomes `jvp(mine)/name`, `jvp()` becomes
    `jvp()/name` (not `jvp(name)`, which a scope that is only appended would give).
    """
    # `JaxprEqn.replace` and `SourceInfo.replace` are methods of exported or handed-out objects, but documented nowhere.
    stack = eqn.source_info.name_stack.stack
    own = (_Scope(""), _Scope(name)) if stack and type(stack[-1]) is _Transform else (_Scope(name),)
    info = eqn.source_info.replace(name_stack=_NameStack((*stack, *own)))
    return eqn.replace(params=dict(params), source_info=info)


def name_parts(eqn: Any) -> Iterator[tuple[bool, str]]:
    """What the name of an equation is made of, from the outside in: whether it is a transformation, and its name."""
    for part in eqn.source_info.name_stack.stack:
        yield type(part) is _Transform, part.name


def is_opaque(eqn: Any) -> bool:
    """Whether the jaxprs of an equation are a kernel, which has a compiler and caches of its own."""
    name = eqn.primitive.name
    return name.startswith(("pallas", "core_map", "mpmd_map")) or name in ("custom_partitioning", "run_scoped")


def with_eqns(jaxpr: Any, eqns: Sequence[Any]) -> Any:
    """A copy of a jaxpr, open or closed, with other equations."""
    # `replace` is a method of both classes, documented for neither; on 0.12 they are one class.
    if isinstance(jaxpr, jax_core.Jaxpr):
        return cast(Any, jaxpr).replace(eqns=list(eqns))
    return jaxpr.replace(jaxpr=jaxpr.jaxpr.replace(eqns=list(eqns)))


def with_changed(jaxpr: Any, change: Callable[[Any, Any, int, Mapping[str, Any]], Any]) -> Any:
    """A copy of a jaxpr with every equation changed, those of the jaxprs in it first; one that many call stays one.

    Args:
      jaxpr: which is left as it is.
      change: gets an equation, the open jaxpr that it stands in, its index there, and its parameters, in which jaxprs
        are changed already; it returns the equation that stands there instead.
    """
    made: dict[int, Any] = {}

    def changed(jaxpr: Any) -> Any:
        if id(jaxpr) not in made:
            inner = open_jaxpr(jaxpr)
            if inner is not jaxpr and id(inner) in made:
                made[id(jaxpr)] = jaxpr.replace(jaxpr=made[id(inner)])
                return made[id(jaxpr)]
            eqns = [
                change(eqn, inner, index, eqn.params if is_opaque(eqn) else _replaced(eqn.params, changed))
                for index, eqn in enumerate(cast(Any, inner).eqns)
            ]
            made[id(jaxpr)] = with_eqns(jaxpr, eqns)
            made[id(inner)] = open_jaxpr(made[id(jaxpr)])
        return made[id(jaxpr)]

    return changed(jaxpr)


def _replaced(value: Any, change: Callable[[Any], Any]) -> Any:
    """A parameter with its jaxprs changed, and whatever holds none as the very same object."""
    if is_jaxpr(value):
        return change(value)
    if isinstance(value, (tuple, list)):
        items = [_replaced(item, change) for item in cast(Any, value)]
        if all(new is old for new, old in zip(items, cast(Any, value), strict=True)):
            return cast(Any, value)
        make = getattr(cast(Any, value), "_make", type(cast(Any, value)))
        return make(items)
    if hasattr(value, "opaque_jaxpr"):  # the body of an `xmap`
        return value.with_jaxpr(change(value.opaque_jaxpr))
    if isinstance(value, dict):
        changed = {key: _replaced(item, change) for key, item in cast(Any, value).items()}
        return cast(Any, value) if all(changed[key] is old for key, old in cast(Any, value).items()) else changed
    return value


def drop_consts(jaxpr: Any, lost: Callable[[Any], bool]) -> None:
    """Puts None for each constant, in a jaxpr and in those inside, that is lost: nothing could be computed with it.

    Since jax 0.12 every jaxpr has its constants, also one whose owner has taken them out of it.
    """
    stack, seen = [jaxpr], set[int]()
    while stack:
        item = stack.pop()
        if id(item) not in seen:
            seen.add(id(item))
            consts = getattr(item, "consts", None)
            if isinstance(consts, list) and any(map(lost, cast(Any, consts))):
                consts[:] = [None if lost(value) else value for value in cast(Any, consts)]
            stack += [body for eqn in open_jaxpr(item).eqns for _, body in body_jaxprs(eqn.params)]


def without_rules(jaxpr: Any) -> Any:
    """A copy of a jaxpr whose functions with derivatives of their own have none any more: it can run, and no more.

    The rules are closures of whoever made them, which hold what they like: equinox keeps in them the jaxpr of a
    function that was traced inside, and on jax 0.12 with it the tracers that were its constants.
    """

    def bare(eqn: Any, jaxpr: Any, index: int, params: Mapping[str, Any]) -> Any:
        return eqn.replace(params={name: _gone(value) if name in _RULES else value for name, value in params.items()})

    return with_changed(jaxpr, bare)


def _gone(rule: Any) -> Any:
    if isinstance(rule, lu.WrappedFun):
        return lu.wrap_init(_no_rule, debug_info=rule.debug_info)
    return _no_rule if callable(rule) else rule


def _no_rule(*arguments: Any, **options: Any) -> Any:
    raise TypeError("the rules for derivatives of this program were let go: it can only run")


def with_jaxpr(traced: Any, jaxpr: Any) -> Any:
    """A copy of a `jax.stages.Traced` that lowers another jaxpr of the same inputs and results.

    There is no public way but to trace again a function that evaluates the jaxpr, which takes as long as
    tracing and loses what is known of the arguments. `Traced.with_consts_as_arg` of 0.12 does the same as here.
    """
    changed = copy.copy(traced)
    try:
        changed._params = dict(traced._params, jaxpr=jaxpr)
    except AttributeError as error:
        warn_of_change(error, "what is lowered is not linked to its equations")
        return traced
    changed._lojax = None  # what was made of the old jaxpr
    return changed


def lower_elsewhere(traced: Any, platforms: tuple[str, ...]) -> Any:
    """Lowers a `jax.stages.Traced` for platforms, where no device need be there: callbacks are lowered, too.

    JAX refuses callbacks without devices, because one can be placed on a certain device. What is lowered here never
    runs, and JAX's own rule for them works all the same, unless such a device is named.
    """
    with _callbacks_allowed():
        return traced.lower(lowering_platforms=platforms)


@contextmanager
def _callbacks_allowed() -> Generator[None]:
    taken = [primitive for primitive in _wanting if primitive.name in ("pure_callback", "io_callback")]
    _wanting.difference_update(taken)
    try:
        yield
    finally:
        _wanting.update(taken)


def given_shardings(traced: Any) -> list[Any]:
    """How each input of a `jax.stages.Traced` was spread over devices when it was traced: a sharding, or None for what
    lay on no device, such as a NumPy array. Empty where that is not known.
    """
    # `Traced.args_info` knows of shapes, dtypes and donation alone.
    try:
        return [kind.sharding for kind in traced._meta_tys_flat]
    except AttributeError as error:
        warn_of_change(error, "it is not known how inputs are spread over devices")
        return []


def input_shardings(traced: Any) -> list[str]:
    """How each input of a `jax.stages.Traced` is spread over several devices, such as `P('x',)`.

    "" for one that is on one device, whole on each, or wherever it is put.
    """
    specs = [getattr(sharding, "spec", None) for sharding in given_shardings(traced)]
    return [str(spec) if spec is not None and any(part is not None for part in spec) else "" for spec in specs]


def kept_inputs(lowered: Any) -> list[int] | None:
    """Which inputs of a function its lowered program takes, in their order: JAX leaves out those that nothing uses.

    None where that is not known.
    """
    # `Lowered.args_info` describes all arguments and does not tell which were kept.
    try:
        kept = lowered._lowering.compile_args.get("kept_var_idx")
    except AttributeError as error:
        warn_of_change(error, "it is not known which inputs are used")
        return None
    return sorted(kept) if kept is not None else None


def location_name(location: Any) -> str:
    """The name that JAX gave an operation, such as `jit(f)/jvp()/sin`; "" where it has none."""
    # The classes of locations are in the public `ir`, their attributes are MLIR's own Python bindings.
    while True:
        if isinstance(location, ir.NameLoc):
            name, child = str(location.name_str), location.child_loc
            if name.endswith(":") and isinstance(child, ir.NameLoc):
                location = child  # "sin:" around "jit(f)/sin" is there for other readers
                continue
            return name
        if isinstance(location, ir.CallSiteLoc):
            location = location.callee
        elif isinstance(location, ir.FusedLoc) and location.locations:
            location = location.locations[0]
        else:
            return ""


def serialized_modules(compiled: Any) -> list[bytes]:
    """The optimised modules of a `jax.stages.Compiled`, each as an `HloModuleProto`; [] where the backend has none.

    Raises:
      ChangedJax: if they cannot be had from this JAX.
    """
    # `Compiled.as_text` prints them. The objects of `hlo_modules` name neither an instruction's metadata nor
    # what it calls, and on 0.10 not its shape; the message that they serialize to has all of it.
    try:
        executable = compiled.runtime_executable()
        if executable is None:
            return []
        return [module.as_serialized_hlo_module_proto() for module in executable.hlo_modules()]
    except AttributeError as error:
        raise ChangedJax(
            "the optimised program cannot be read.",
            why=f"{_missing(error)}.",
            fix="use a version of JAX that jaxnb knows; the other levels are there.",
        ) from error


def has_instruction(compiled: Any, kind: str) -> bool:
    """Whether there is an instruction of a kind, such as "kFusion", in an optimised program; nothing is copied."""
    executable = compiled.runtime_executable()
    return executable is not None and any(
        instruction.opcode.name == kind
        for module in executable.hlo_modules()
        for computation in module.computations()
        for instruction in computation.instructions()
    )


def module_names(compiled: Any) -> frozenset[str]:
    """The names of the optimised modules of a `jax.stages.Compiled`, as profiles have them; none where it has none."""
    # `Compiled.as_text` has them, too, on the first line of a text that may have millions.
    executable = compiled.runtime_executable()
    return frozenset(module.name for module in executable.hlo_modules()) if executable is not None else frozenset()
