"""A door to private JAX: where values lie, which equations name devices, and what an operation by itself would choose.

Checked on jax 0.10.2 and 0.12.0. Each entry says what is missing in public.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jax._src import (
    config as _config,  # what enters jax.default_device and the like, which tell nobody that they were set
    core as _core,  # the jaxprs inside an equation; `jaxprs_in_params` of jax.extend is no other
    dispatch as _dispatch,  # what jax.effects_barrier waits for
    pjit as _pjit,  # the primitive of jitted functions, to see what is written out of them
    pmap as _pmap,  # what jax.pmap makes of a function
)
from jax._src.array import ArrayImpl as _ArrayImpl  # no public function makes an array that is not committed
from jax._src.interpreters import (
    batching as _batching,  # which primitives work element by element is not public
    partial_eval as _partial_eval,  # how a primitive is staged
)
from jax._src.lax import lax as _lax  # jnp.zeros and the like, which forget their sharding while tracing
from jax._src.numpy import indexing as _indexing  # asks whether an array lies on several devices
from jax.interpreters.batching import fancy_primitive_batchers
from jax.interpreters.partial_eval import dce_jaxpr
from jax.ref import AbstractRef as _AbstractRef

from jaxnb._jax.base import INLINE_EARLY, REFUSING, as_function, current_trace, is_tracer, trace_of, with_parts
from jaxnb._jax.identity import array_of
from jaxnb.runtime import Undo

__all__ = [
    "Label",
    "Notes",
    "Written",
    "ask_shardings",
    "can_be_asked_for",
    "computed",
    "constraint_of",
    "counting",
    "default_device",
    "devices_of",
    "eqn_key",
    "has_inner_put",
    "in_default_memory",
    "in_shardings_of",
    "is_elementwise",
    "is_explicit",
    "is_variable",
    "label_of",
    "labelled",
    "moves_between_memories",
    "named_shardings",
    "note_placements",
    "on_one_device",
    "out_shardings_of",
    "puts_of",
    "replicated",
    "shape_of",
    "sharding_of",
    "typed_sharding",
    "uncommitted",
    "unreduced_kind",
    "weakly_typed",
    "whole_like",
]

PUT = "device_put"
CONSTRAINT = "sharding_constraint"


def is_variable(atom: Any) -> bool:
    """Whether this is a variable of a jaxpr, no literal."""
    return not hasattr(atom, "val")


def default_device() -> Any:
    """The device on which an operation runs whose operands are committed to none."""
    device = jax.config.jax_default_device  # type: ignore[attr-defined]
    if isinstance(device, str):
        return jax.local_devices(backend=device)[0]
    return device if device is not None else jax.local_devices()[0]


def devices_of(sharding: jax.sharding.Sharding) -> tuple[Any, ...]:
    """The devices of a sharding in their order; `Sharding.device_set` has none."""
    return tuple(sharding._device_assignment)  # type: ignore[attr-defined]


def on_one_device(sharding: jax.sharding.Sharding) -> bool:
    """Whether a sharding says nothing but one device, and the memory that it has by default."""
    return isinstance(sharding, jax.sharding.SingleDeviceSharding) and in_default_memory(sharding)


def in_default_memory(sharding: jax.sharding.Sharding) -> bool:
    """Whether a sharding names the memory that its devices use by default."""
    kind = sharding.memory_kind
    return kind is None or kind == devices_of(sharding)[0].default_memory().kind


def can_be_asked_for(sharding: jax.sharding.Sharding) -> bool:
    """Whether a program can be told to lay a result so; XLA itself has other ways, for what Python computes."""
    return isinstance(sharding, jax.sharding.NamedSharding | jax.sharding.SingleDeviceSharding)


def replicated(devices: Sequence[Any]) -> jax.sharding.Sharding:
    """Whole on each of these devices."""
    if len(devices) == 1:
        return jax.sharding.SingleDeviceSharding(devices[0])
    mesh = jax.sharding.Mesh(list(devices), ("all",))
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())


def whole_like(sharding: jax.sharding.Sharding) -> jax.sharding.Sharding:
    """Whole on each device of a sharding, in its words."""
    if isinstance(sharding, jax.sharding.NamedSharding):
        return jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec(), memory_kind=sharding.memory_kind)
    return sharding if isinstance(sharding, jax.sharding.SingleDeviceSharding) else replicated(devices_of(sharding))


def uncommitted(array: Any, device: Any) -> Any:
    """What an array holds as one that lies on a device without being bound to it.

    Args:
      array: whole on each of its devices.
      device: where the result lies; nothing is copied if the array is there, too.
    """
    if type(array) is not _ArrayImpl:  # an array of keys, around one of numbers
        impl = jax.random.key_impl(array)
        return jax.random.wrap_key_data(uncommitted(jax.random.key_data(array), device), impl=impl)
    shards = [shard.data for shard in array.addressable_shards if shard.device == device]
    one: Any = shards[0] if shards else jax.device_put(array.addressable_data(0), device)
    aval = array.aval.update(sharding=None)  # it speaks of the mesh
    return _ArrayImpl(aval, jax.sharding.SingleDeviceSharding(device), [one], committed=False, _skip_checks=True)


class Put(NamedTuple):
    """What a `device_put` does with one operand.

    Attributes:
      operand: the variable, or a literal.
      result: the variable.
      target: a sharding; None if the value stays where it is, or if that is not known.
      known: whether `target` says where the result lies.
      reuses: whether a value that lies there is handed back as it is.
      source: where the value was put, of which this is the cotangent; None for one that is not.
      device: of the target, where JAX was given that and no sharding; it makes an Array also of one that lies there.
    """

    operand: Any
    result: Any
    target: jax.sharding.Sharding | None
    known: bool
    reuses: bool
    source: jax.sharding.Sharding | None
    device: Any

    @property
    def goes(self) -> Any:
        """The target as JAX was given it."""
        return self.target if self.device is None else self.device


def puts_of(eqn: Any) -> list[Put] | None:
    """What an equation that is a `device_put` does; None for any other, and for one that moves values between the
    memories of a device, as policies that offload do: they stay on their devices."""
    if eqn.primitive.name != PUT or moves_between_memories(eqn):
        return None
    found: list[Put] = []
    names = ("devices", "srcs", "copy_semantics")
    parts = zip(eqn.invars, eqn.outvars, *(eqn.params[name] for name in names), strict=True)
    for operand, result, device, before, copies in parts:
        known = device is None or isinstance(device, jax.Device | jax.sharding.Sharding)
        target = sharding_of(device)
        source = sharding_of(before) if device is None and copies.name == "ALWAYS_COPY" else None
        donates = copies.name == "DONATE_INPUT"
        one = device if isinstance(device, jax.Device) else None
        reuses = copies.name == "REUSE_INPUT" and one is None
        found.append(Put(operand, result, target if known else None, known and not donates, reuses, source, one))
    return found


def moves_between_memories(eqn: Any) -> bool:
    """Whether an equation moves values from one memory of their devices to another, and does nothing else."""
    return eqn.primitive.name == PUT and all(isinstance(device, jax.memory.Space) for device in eqn.params["devices"])


def sharding_of(device: Any) -> Any:
    """The sharding of what `jax.device_put` may be given; that itself, if it is no device."""
    return jax.sharding.SingleDeviceSharding(device) if isinstance(device, jax.Device) else device


def constraint_of(eqn: Any, lies: jax.sharding.Sharding | None) -> jax.sharding.Sharding | None:
    """The sharding that a `sharding_constraint` gives its operand, if that says all.

    Args:
      eqn: any equation.
      lies: how the operand lies, which has the devices where the constraint has names of axes only.

    Raises:
      ValueError: if the operand does not lie on a mesh with these axes.
    """
    if eqn.primitive.name != CONSTRAINT or eqn.params["layout"] is not None or eqn.params["unconstrained_dims"]:
        return None
    sharding = eqn.params["sharding"]
    mesh = getattr(sharding, "mesh", None)
    if not isinstance(mesh, jax.sharding.AbstractMesh):
        return sharding
    if not isinstance(lies, jax.sharding.NamedSharding) or lies.mesh.shape_tuple != mesh.shape_tuple:
        raise ValueError("the operand does not lie on the mesh that the constraint names")
    return jax.sharding.NamedSharding(lies.mesh, sharding.spec)


def named_shardings(eqn: Any) -> Iterator[jax.sharding.Sharding]:
    """The shardings that an equation, or one inside of it, names."""
    if eqn.primitive.name == PUT:  # one of a function that is compiled moves nothing, but JAX heeds its devices
        yield from (item for item in eqn.params["devices"] if isinstance(item, jax.sharding.Sharding))
        return
    mesh = eqn.params.get("mesh")
    if isinstance(mesh, jax.sharding.Mesh) and not mesh.empty:
        yield jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    for name in ("sharding", "in_shardings", "out_shardings", "dst_sharding", "out_sharding"):
        value = eqn.params.get(name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, jax.sharding.Sharding) and not isinstance(
                getattr(item, "mesh", None), jax.sharding.AbstractMesh
            ):
                yield item
    for inner in _core.jaxprs_in_params(eqn.params):
        for each in _eqns(inner):
            yield from named_shardings(each)


def out_shardings_of(eqn: Any) -> list[jax.sharding.Sharding | None]:
    """How a jitted function was told to lay each of its results; None for what it was not told."""
    return _shardings_told(eqn, "out_shardings", "out_layouts", len(eqn.outvars))


def in_shardings_of(eqn: Any) -> list[jax.sharding.Sharding | None]:
    """How a jitted function was told that each of its arguments lies; None for what it was not told."""
    return _shardings_told(eqn, "in_shardings", "in_layouts", len(eqn.invars))


def _shardings_told(eqn: Any, shardings: str, among: str, count: int) -> list[jax.sharding.Sharding | None]:
    told = eqn.params.get(shardings)
    if eqn.primitive.name != "jit" or not isinstance(told, tuple):
        return [None] * count
    layouts = eqn.params.get(among) or (None,) * len(told)
    return [
        item
        if isinstance(item, jax.sharding.Sharding)
        and layout is None
        and not isinstance(getattr(item, "mesh", None), jax.sharding.AbstractMesh)
        else None
        for item, layout in zip(told, layouts, strict=True)
    ]


class Label(NamedTuple):
    """Of what JAX takes the words for how XLA laid the results of a jitted function: its first argument on a mesh.

    Attributes:
      sharding: of that argument.
      ndim: how many dimensions that has.
    """

    sharding: jax.sharding.NamedSharding
    ndim: int


def label_of(eqn: Any, shardings: Sequence[Any]) -> Label | None:
    """Of which argument of a jitted function its results have their words; None where all arguments have the same.

    Args:
      eqn: the call.
      shardings: of its arguments.
    """
    inner = getattr(eqn.params["jaxpr"], "jaxpr", eqn.params["jaxpr"])
    used = {id(var) for each in inner.eqns for var in each.invars} | {id(var) for var in inner.outvars}
    parts = zip(eqn.invars, inner.invars, shardings, strict=True)
    named = [
        (var, item) for var, own, item in parts if id(own) in used and isinstance(item, jax.sharding.NamedSharding)
    ]
    if not named or all(_without_end(item.spec) == item.spec for _, item in named):
        return None
    return Label(named[0][1], named[0][0].aval.ndim)


def _without_end(spec: jax.sharding.PartitionSpec) -> jax.sharding.PartitionSpec:
    """A spec as JAX reads it from a program: without dimensions at its end that are not split."""
    parts = list(spec)
    while parts and parts[-1] is None:
        parts.pop()
    return jax.sharding.PartitionSpec(*parts)


def labelled(array: Any, label: Label) -> Any:
    """An array whose sharding says the same in the words in which JAX would have said it."""
    sharding = array.sharding
    if type(array) is not _ArrayImpl or not isinstance(sharding, jax.sharding.NamedSharding):
        return array
    said = label.sharding
    if array.ndim != label.ndim or sharding.mesh != said.mesh or not said.is_equivalent_to(sharding, array.ndim):
        said = jax.sharding.NamedSharding(sharding.mesh, _without_end(sharding.spec), memory_kind=sharding.memory_kind)
    if said == sharding:
        return array
    shards: Any = [shard.data for shard in array.addressable_shards]
    return _ArrayImpl(array.aval, said, shards, committed=True, _skip_checks=True)


def unreduced_kind(spec: jax.sharding.PartitionSpec) -> str:
    """How the parts of a value along its unreduced axes make the whole: "sum", the only way before jax 0.12."""
    return getattr(getattr(spec, "unreduced_kind", None), "name", "sum")


def mapped_shardings(eqn: Any) -> list[jax.sharding.Sharding] | None:
    """How the results of `jax.shard_map` over a whole mesh lie, which it says; None for anything else."""
    mesh = eqn.params.get("mesh")
    if eqn.primitive.name != "shard_map" or not isinstance(mesh, jax.sharding.Mesh):
        return None
    if set(eqn.params["newly_manual_axes"]) != set(mesh.axis_names):
        return None
    return [jax.sharding.NamedSharding(mesh, spec) for spec in eqn.params["out_specs"]]


def reads_reference(eqn: Any) -> bool:
    """Whether an equation reads a mutable array, whose value is committed to where the array is."""
    return any(isinstance(getattr(var, "aval", None), _AbstractRef) for var in eqn.invars)


def is_explicit(aval: Any) -> bool:
    """Whether the type of a value says how it lies along the axes of a mesh."""
    sharding = getattr(aval, "sharding", None)
    return sharding is not None and not sharding.mesh.empty and sharding.mesh.are_all_axes_explicit


def typed_sharding(aval: Any, sharding: Any) -> jax.sharding.Sharding | None:
    """How a value lies by its type, on the mesh of a sharding; None if the type does not say, or of another mesh."""
    mesh = getattr(sharding, "mesh", None)
    if not is_explicit(aval) or mesh is None or mesh.abstract_mesh != aval.sharding.mesh:
        return None
    typed = computed(jax.sharding.NamedSharding(mesh, aval.sharding.spec), aval.ndim)
    return typed if in_default_memory(sharding) else None


def computed(sharding: Any, ndim: int) -> Any:
    """How JAX writes the sharding of a result: where types say how values lie, it names all dimensions."""
    mesh = getattr(sharding, "mesh", None)
    if mesh is None or mesh.empty or not mesh.are_all_axes_explicit:
        return sharding
    spec = (*sharding.spec, *(None,) * (ndim - len(sharding.spec)))
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec), memory_kind=sharding.memory_kind)


_EAGER = frozenset({"custom_jvp_call", "custom_vjp_call", "remat2"})
"""What is, outside of a trace, computed equation by equation."""


def has_inner_put(eqn: Any) -> bool:
    """Whether something in an equation places values that would, outside of a trace, really be placed."""
    if eqn.primitive.name not in _EAGER:
        return False
    return any(_puts(each) for inner in _core.jaxprs_in_params(eqn.params) for each in _eqns(inner))


def _eqns(jaxpr: Any) -> Any:
    return getattr(jaxpr, "jaxpr", jaxpr).eqns


def _puts(eqn: Any) -> bool:
    if eqn.primitive.name == PUT:
        return any(device is not None for device in eqn.params["devices"]) and not moves_between_memories(eqn)
    return has_inner_put(eqn)


def is_elementwise(eqn: Any) -> bool:
    """Whether JAX says of a primitive that it works on each element by itself."""
    rule = fancy_primitive_batchers.get(eqn.primitive)
    return isinstance(rule, partial) and rule.func in (_batching.vectorized_batcher, _batching.broadcast_batcher)


def counting(closed: Any, eqn: Any) -> list[Any]:
    """The variables among the operands of an equation that decide where its results lie.

    JAX leaves out what a function under `jit`, or the body of a loop or a branch, does not use. What a function under
    `jit` has closed over is a constant of it, which is bound to no device.

    Args:
      closed: the closed jaxpr that it stands in.
      eqn: any equation.
    """
    variables = list(dict.fromkeys(var for var in eqn.invars if is_variable(var)))
    if not any(True for _ in _core.jaxprs_in_params(eqn.params)) or eqn.params.get("keep_unused"):
        return variables
    given = set(variables)
    if eqn.primitive.name == "jit":
        names = getattr(eqn.params["jaxpr"], "jaxpr", eqn.params["jaxpr"]).debug_info.arg_names
        if names is not None and len(names) == len(eqn.invars):  # what is closed over has none
            given = {var for var, name in zip(eqn.invars, names, strict=True) if name and is_variable(var)}
    return [var for var in _used(closed, eqn, variables) if var in given]


def _used(closed: Any, eqn: Any, variables: Sequence[Any]) -> Sequence[Any]:
    """The operands that results of an equation, or its effects, need; none of them left out where JAX cannot tell."""
    alone = with_parts(closed, variables, [eqn], eqn.outvars)
    try:
        _, used = dce_jaxpr(alone.jaxpr, [True] * len(eqn.outvars), instantiate=False)
    except Exception:  # a rule of somebody else's primitive
        return variables
    return [var for var, is_used in zip(variables, used, strict=True) if is_used]


def ask_shardings(
    closed: Any, eqn: Any, operands: Sequence[Any], results: Sequence[Any], shardings: Sequence[Any]
) -> list[jax.sharding.Sharding]:
    """How XLA lays the results of one operation by itself, as it does outside of a trace. It is compiled for that.

    Args:
      closed: the closed jaxpr that it stands in.
      eqn: the operation.
      operands: its variables, each once.
      results: those of its results that are wanted.
      shardings: of the operands; None for what is committed to no device.

    Raises:
      Exception: what JAX raises for it, such as a ValueError for operands that lie on different devices.
    """
    shapes = [shape_of(var.aval, sharding) for var, sharding in zip(operands, shardings, strict=True)]
    given, bind = _by_arguments(eqn)
    if bind is not None:
        lies = dict(zip(operands, shapes, strict=True))
        shapes = [lies[item] if is_variable(item) else shape_of(item.aval, None) for item in given]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = dict(zip(eqn.outvars, out_shardings_of(eqn), strict=True))
        function = bind if bind is not None else as_function(with_parts(closed, operands, [eqn], results))
        jitted = (
            jax.jit(function, out_shardings=[told[var] for var in results]) if any(told.values()) else jax.jit(function)
        )
        compiled = jitted.lower(*shapes).compile()
    return list(compiled.output_shardings)


def _by_arguments(eqn: Any) -> tuple[list[Any], Callable[..., list[Any]] | None]:
    """How a slice is computed outside of a trace: where it begins is given to the program.

    Returns:
      its operands, and what computes it of them; None for what is computed as it stands.
    """
    if eqn.primitive is jax.lax.slice_p and eqn.params["strides"] is None:
        starts, ends = eqn.params["start_indices"], eqn.params["limit_indices"]
        begins = [_core.Literal(start, jax.typeof(start)) for start in map(np.int32, starts)]
        sizes = tuple(int(end) - int(start) for start, end in zip(starts, ends, strict=True))
        return [*eqn.invars, *begins], lambda x, *at: [jax.lax.dynamic_slice_p.bind(x, *at, slice_sizes=sizes)]
    if eqn.primitive in (jax.lax.dynamic_slice_p, jax.lax.dynamic_update_slice_p):
        return list(eqn.invars), lambda *at: [eqn.primitive.bind(*at, **eqn.params)]
    return [], None


def shape_of(aval: Any, sharding: Any) -> jax.ShapeDtypeStruct:
    """What stands for a value of this type that lies so; a sharding of None is committed to nothing."""
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding, weak_type=aval.weak_type)


_MOST_TEXT = 20_000


def eqn_key(eqn: Any) -> Any:
    """What two equations have in common of which one need be asked; None where that would be long."""
    bodies = list(_core.jaxprs_in_params(eqn.params))
    if sum(len(_eqns(body)) for body in bodies) > 60:
        return None
    text = str(sorted((name, str(value)) for name, value in eqn.params.items()))
    literals = tuple(str(var) for var in eqn.invars if hasattr(var, "val"))
    return (eqn.primitive, text, literals) if len(text) < _MOST_TEXT else None


# --- while tracing -----------------------------------------------------------------------------------


class Written(NamedTuple):
    """A function under `jit` that JAX wrote out where it was called, and which outside of a trace is one program.

    Attributes:
      params: of the call.
      args: the variables and literals that it was given.
      results: the variables that it gave; one of its own for what it handed on.
    """

    params: dict[str, Any]
    args: tuple[Any, ...]
    results: tuple[Any, ...]

    def call(self, eqn: Any) -> Any:
        """The call, as an equation with the same line as one that was written out of it."""
        effects = getattr(self.params["jaxpr"], "jaxpr", self.params["jaxpr"]).effects
        invars, outvars = list(self.args), list(self.results)
        return eqn.replace(primitive=_pjit.jit_p, params=self.params, invars=invars, outvars=outvars, effects=effects)


class Notes:
    """What a trace forgets of where values would lie.

    Attributes:
      placed: for variables, the sharding that a function was told to make them with.
      like: for variables, the one whose placement they were made with.
      beside: for what came out of a function under `jit` which JAX writes out, and was computed of a part of its
        arguments, all of these.
      spread: for variables that were indexed, whether they were taken to be on several devices.
      written: the functions under `jit` that JAX wrote out, in order.
    """

    def __init__(self) -> None:
        self.placed: dict[Any, Any] = {}
        self.like: dict[Any, Any] = {}
        self.beside: dict[Any, tuple[Any, ...]] = {}
        self.spread: dict[Any, bool] = {}
        self.written: list[Written] = []


class _Watching(NamedTuple):
    notes: Notes
    trace: Callable[[], object]
    on_setting: Callable[[str], None]
    is_spread: Callable[[Any], bool]
    commits: bool
    thread: int


_watching: list[_Watching] = []
_hooks = Undo()
"""What is replaced while anybody watches, whichever thread."""


@contextmanager
def note_placements(
    trace: Callable[[], object],
    on_setting: Callable[[str], None],
    is_spread: Callable[[Any], bool] = lambda tracer: False,
    commits: bool = False,
) -> Generator[Notes]:
    """Notes what `jnp.zeros(..., device=d)` and `jnp.zeros_like(x)` forget while tracing.

    Args:
      trace: gives the trace whose values count, once it has begun.
      on_setting: called when code of this thread is about to set another default device, or has JAX look for nans,
        or waits for callbacks, of which a jaxpr knows nothing; told what that is, may raise.
      is_spread: whether a tracer of that trace is taken to stand for an array on several devices.
      commits: whether any input of the trace is committed to devices.
    """
    watching = _Watching(Notes(), trace, on_setting, is_spread, commits, threading.get_ident())
    with Undo() as undo:
        undo.add(_forget, watching)
        if not _watching:
            _install()
        _watching.append(watching)
        yield watching.notes


def _forget(watching: _Watching) -> None:
    _watching[:] = [item for item in _watching if item is not watching]
    if not _watching:
        _hooks.close()


def _install() -> None:
    for name, make in (("full", _full_hook), ("full_like", _full_like_hook)):
        hook = make(getattr(_lax, name))
        _hooks.patch(_lax, name, hook)
        _hooks.patch(jax.lax, name, hook)
    _hooks.patch(_indexing.NDIndexer, "is_sharded", staticmethod(_sharded_hook(_indexing.NDIndexer.is_sharded)))
    rules: Any = _partial_eval.custom_staging_rules
    _hooks.add(rules.__setitem__, _pjit.jit_p, rules[_pjit.jit_p])
    rules[_pjit.jit_p] = _inlining_hook(rules[_pjit.jit_p])
    _hooks.patch(_pmap, _MAPPED, _pmap_hook(getattr(_pmap, _MAPPED)))
    manager = _config.StateContextManager
    _hooks.patch(manager, "__enter__", _enter_hook(manager.__enter__))
    tokens = type(_dispatch.runtime_tokens)
    _hooks.patch(tokens, "block_until_ready", _barrier_hook(tokens.block_until_ready))


def _noting(result: Any) -> Notes | None:
    """Where to note something of a tracer, if it belongs to the trace that is watched."""
    if not _watching or not is_tracer(result):
        return None
    watching = _watching[-1]
    ours = watching.thread == threading.get_ident() and trace_of(result) is watching.trace()
    return watching.notes if ours else None


def _full_hook(original: Any) -> Any:
    def full(shape: Any, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
        result = original(shape, fill_value, dtype, sharding=sharding)
        if sharding is not None and (notes := _noting(result)) is not None and sharding._is_concrete:
            if result.aval.weak_type:  # what is made on devices is not
                result = _as_strong(result)
            result = _as_variable(result)
            notes.placed[result.val] = sharding
        return result

    return full


def _as_strong(tracer: Any) -> Any:
    convert: Any = _lax._convert_element_type  # pyright: ignore[reportPrivateUsage]
    return convert(tracer, tracer.dtype, weak_type=False)


def _as_variable(tracer: Any) -> Any:
    """The same value, made by an equation: a scalar may be a literal, which stands for itself wherever it is read."""
    return tracer if is_variable(tracer.val) else array_of(tracer)


def _full_like_hook(original: Any) -> Any:
    def full_like(x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None) -> Any:
        result = original(x, fill_value, dtype, shape, sharding)
        notes = _noting(result) if sharding is None and is_tracer(x) else None
        if notes is None or _noting(x) is not notes or (dtype is None and x.aval.weak_type):
            return result
        if is_variable(x.val):  # a literal lies nowhere in particular
            result = _as_variable(result)
            notes.like[result.val] = x.val
        return result

    return full_like


def _sharded_hook(original: Any) -> Any:
    """JAX takes parts of an array on several devices by another operation."""

    def is_sharded(arr: Any) -> bool:
        notes = _noting(arr)
        if notes is None:
            return original(arr)
        if is_variable(arr.val):
            notes.spread[arr.val] = _watching[-1].is_spread(arr)
        return notes.spread.get(arr.val, False) if is_variable(arr.val) else False

    return is_sharded


_MAPPED = "_cached_shard_map"  # makes what jax.pmap then calls


def _pmap_hook(original: Any) -> Any:
    """`jax.pmap` says how its arguments and results lie only where nothing is traced, as in the plain cell."""

    def cached_shard_map(*args: Any) -> Any:
        made = original(*args)
        watching = _watching[-1] if _watching else None
        if watching is None or watching.thread != threading.get_ident() or current_trace() is not watching.trace():
            return made
        return made._replace(jitted_f=made.jitted_f_with_shardings)

    return cached_shard_map


def _inlining_hook(original: Any) -> Any:
    """What a function under `jit` gives lies where its arguments do, also what was not computed of all of them.

    How it lies there is what XLA chooses for the function as a whole.
    """

    def rule(trace: Any, source_info: Any, *args: Any, **params: Any) -> Any:
        results = original(trace, source_info, *args, **params)
        notes = _noting(results[0]) if results and _watching and _watching[-1].commits else None
        if notes is None or params["inline"] is not INLINE_EARLY:
            return results
        jaxpr = getattr(params["jaxpr"], "jaxpr", params["jaxpr"])
        own = {var: frozenset([place]) for place, var in enumerate(jaxpr.invars)}
        of = dict[Any, frozenset[int]](own)
        for eqn in jaxpr.eqns:
            read = [of.get(var, frozenset()) for var in eqn.invars if is_variable(var)]
            of.update((var, frozenset[int]().union(*read)) for var in eqn.outvars)
        used = frozenset[int]().union(*(of.get(var, frozenset()) for var in jaxpr.outvars if is_variable(var)))
        given = tuple(args[place].val for place in sorted(used) if is_variable(args[place].val))
        for index, var in enumerate(jaxpr.outvars if given else ()):
            if not is_variable(var) or (var not in own and of.get(var, frozenset()) != used):
                results[index] = _as_variable(results[index])
                notes.beside[results[index].val] = given
        made = [var if var in own else item.val for var, item in zip(jaxpr.outvars, results, strict=True)]
        if len(jaxpr.eqns) > 1 and all(map(is_variable, made)):
            notes.written.append(Written(params, tuple(arg.val for arg in args), tuple(made)))
        return results

    return rule


_GUARDS = (
    jax.transfer_guard_host_to_device,
    jax.transfer_guard_device_to_device,
    jax.transfer_guard_device_to_host,
)


def _setting(state: Any, value: Any) -> str:
    if state is jax.default_device and value != state.value:
        return "it sets the default device"
    if state is jax.enable_x64:  # the NumPy values that the cell reads have become JAX's by now
        return "it sets how wide numbers are" if bool(value) != bool(state.value) else ""
    if state in _GUARDS:
        return "it has JAX watch over transfers" if value in REFUSING and value != state.value else ""
    if not value or state.value:
        return ""
    if state is jax.debug_nans or state is jax.debug_infs:
        return "it has JAX look for nans"
    return "it has JAX look at the use of keys" if state is jax.debug_key_reuse else ""


def _barrier_hook(original: Any) -> Any:
    """Of `jax.effects_barrier`: while tracing, no callback has run of which it waits for the end."""

    def block_until_ready(self: Any) -> Any:
        if _watching and _watching[-1].thread == threading.get_ident():
            _watching[-1].on_setting("it waits for what callbacks do")
        return original(self)

    return block_until_ready


def _enter_hook(original: Any) -> Any:
    def __enter__(self: Any) -> Any:
        told = _setting(self.state, self.new_val) if _watching else ""
        if told and _watching[-1].thread == threading.get_ident():
            _watching[-1].on_setting(told)
        return original(self)

    return __enter__


def weakly_typed(array: jax.Array) -> jax.Array:
    """An array as a Python scalar's result has its dtype: it gives way to that of what it meets."""
    made: Any = _lax._convert_element_type(array, array.dtype, weak_type=True)  # pyright: ignore[reportPrivateUsage]
    return made
