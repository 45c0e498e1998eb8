"""Every private name of JAX that this room relies on: where it lies, what for, and which public one is missing.

`broken` looks each of them up, which takes milliseconds and compiles nothing; `tests/contract` holds JAX to what the
names are to mean. This module imports none of its sisters: it must say what is missing when they cannot be imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

__all__ = ["CONTRACT", "EQUATIONS", "Broken", "Equation", "Name", "broken", "fails_to_load", "look_up"]


class Name(NamedTuple):
    """A private name.

    Attributes:
      path: the module and what is read of it: an attribute, one of a class, or one that its objects have. With a slash
        it is a file of JAX that is looked for in tracebacks.
      used_by: the function of this room that relies on it first of all.
      purpose: what for; it ends "jaxnb needs it to ...".
      missing: what would do in its place; it ends "JAX has no public ...".
      call: how many positional arguments it is called with, and which keywords.
      arity: how many parameters it must have, because a function of ours stands in for it; 0 where none does.
      instead: where other versions have it.
      since: the first version that has it.
      late: it lies in a module that only those load who use it, and is looked up only where that is loaded.
    """

    path: str
    used_by: str
    purpose: str
    missing: str
    call: tuple[int | str, ...] = ()
    arity: int = 0
    instead: tuple[str, ...] = ()
    since: tuple[int, int] = (0, 10)
    late: bool = False


class Equation(NamedTuple):
    """A primitive whose equations are looked into, which only a trace can tell to be as they were.

    Attributes:
      primitive: its name.
      parameters: those that are read.
      used_by: as of a `Name`.
      instead: the parameters by which other versions say the same.
      since: the first version that has the primitive.
    """

    primitive: str
    parameters: tuple[str, ...]
    used_by: str
    instead: tuple[str, ...] = ()
    since: tuple[int, int] = (0, 10)


class Broken(NamedTuple):
    """A name that is not what we rely on.

    Attributes:
      name: the name.
      what: what is wrong with it, as "there is no jax._src.core.eval_jaxpr".
    """

    name: Name
    what: str

    @property
    def module(self) -> str:
        """The module of this room that relies on it, such as "base"."""
        return self.name.used_by.partition(".")[0]


def broken(names: Iterable[Name] | None = None) -> list[Broken]:
    """The names that the JAX which is installed has no longer, or has with other parameters.

    Args:
      names: of a contract; by default all of `CONTRACT`.
    """
    found: list[Broken] = []
    lost: set[str] = set()
    version = importlib.import_module("jax").__version_info__[:2]
    for name in CONTRACT if names is None else names:
        what, at = _fault(name) if version >= name.since and _is_due(name) else ("", "")
        if what and at not in lost:  # what lies in something that is gone is gone with it
            lost.add(at)
            found.append(Broken(name, what))
    return found


def fails_to_load(module: str) -> bool:
    """Whether a module of this room, such as "base", cannot be imported, and with it nothing that stages a cell."""
    try:
        importlib.import_module(f"{__package__}.{module}")
    except (ImportError, AttributeError):
        return True
    return False


def _is_due(name: Name) -> bool:
    """Whether a name can be looked up without loading what nobody has loaded."""
    parts = name.path.split(".")
    return not name.late or any(".".join(parts[:-more]) in sys.modules for more in (1, 2))


def _fault(name: Name) -> tuple[str, str]:
    """What is wrong with a name, and how far its path leads; "" for one that is as it should be."""
    if "/" in name.path:
        return ("", "") if _is_file(name.path) else (f"there is no file {name.path}", name.path)
    at = ""
    for path in (name.path, *name.instead):
        value, missing = look_up(path)
        if not missing:
            return _misfit(name, path, value), path
        at = at or missing
    return f"there is no {at}", at


def _is_file(path: str) -> bool:
    package = importlib.util.find_spec(path.partition("/")[0])
    return package is not None and os.path.isfile(os.path.join(os.path.dirname(str(package.origin)), "..", path))


def look_up(path: str) -> tuple[Any, str]:
    """What a dotted path leads to, and the first part of it that is missing, "" if all are there.

    What only the objects of a class have leads to None.
    """
    parts = path.split(".")
    value = importlib.import_module(parts[0])
    for place, part in enumerate(parts[1:], 2):
        here = ".".join(parts[:place])
        if hasattr(value, part):
            value = getattr(value, part)
            continue
        if inspect.ismodule(value):
            try:
                value = importlib.import_module(here)
                continue
            except ImportError:
                return None, here
        if place == len(parts) and isinstance(value, type) and part in _of_objects(value):
            return None, ""
        return None, here
    return value, ""


def _of_objects(kind: type) -> Iterator[str]:
    """The attributes that the objects of a class get when they are made."""
    for base in kind.__mro__:
        yield from vars(base).get("__annotations__", ())
        for maker in ("__init__", "__new__"):
            yield from getattr(getattr(vars(base).get(maker), "__code__", None), "co_names", ())


def _misfit(name: Name, path: str, value: Any) -> str:
    try:
        signature = inspect.signature(value) if name.call or name.arity else None
    except (TypeError, ValueError):  # what is compiled does not tell
        return ""
    if signature is None:
        return ""
    if name.arity and len(signature.parameters) != name.arity:
        return f"{path} has other parameters: {signature}"
    if name.call:
        count, *keywords = name.call
        try:
            signature.bind(*range(int(count)), **dict.fromkeys(map(str, keywords)))
        except TypeError as error:
            return f"{path} has other parameters: {error}"
    return ""


def _in(module: str, *names: Name) -> tuple[Name, ...]:
    return tuple(name._replace(path=f"{module}.{name.path}") for name in names)


def _each(kind: str, attributes: str, used_by: str, purpose: str, missing: str) -> tuple[Name, ...]:
    return tuple(Name(f"{kind}.{attribute}", used_by, purpose, missing) for attribute in attributes.split())


def _of_kernels(function: str, *listed: str) -> Iterator[Name]:
    """Rows of what Pallas defines, each text a class and what is read of it."""
    for kind, _, attributes in (text.partition(": ") for text in listed):
        for name in _each(f"jax._src.{kind}", attributes, f"kernels.{function}", "read kernels", _OF_KERNEL):
            yield name._replace(late=True)


# How rows end: "JAX has no public ...".
_MAKER = "account of what made a value while it is traced"
_INSIDES = "way into the trace of a tracer"
_HOOK = "hook for it"
_STATE = "way to read or put back the settings of a thread"
_OPTIONS = "way to ask a jitted function for its options"
_WHERE = "place in the code of an equation but as text"
_EDIT = "way to change a jaxpr"
_LIGHT = "name of it that does not load Pallas"
_RULES = "say which equations have no rule on a platform"
_ASKED = "way to ask for the rule of a primitive"
_NEW = "name of it before jax 0.12"
_CLASS = "name of its class"
_ASK = "way to ask"
_ADD = "way to add one"
_LIST = "list of them"
_FORGET = "way to forget one function"
_COMPILER = "compiler for devices that are not there"
_SWITCH = "switch for it"
_LOCATION = "class of locations"
_SCOPES = "show scopes in the call tree"
_OF_BODY = "name in a jaxpr of what it was traced from"
_OF_SCAN = "account of the parameters of a scan"
_TOLD = "know how the arguments of pmap are to lie"
_LIKE_MANY = "index arrays as those on several devices are"
_AGAIN = "make a jitted function again from its options"
_KINDS, _NO_TEXT = "know which instructions a program has", "form of it but text"
_JIT_ARGUMENTS = "donate_argnames donate_argnums inline keep_unused static_argnames static_argnums"
_JIT_SHARDINGS = (
    "in_layouts_leaves in_shardings_leaves in_shardings_treedef"
    " out_layouts_leaves out_shardings_leaves out_shardings_treedef"
)
_EXPORTED = "write an exported program, and call it again"
_OWN_FORM = "form of one but its own file, for which a package more is wanted"
_LOWER = "lower a jaxpr whose equations have names"

_OF_KERNEL = "account of what a kernel reads and writes"

_JOIN = "join a job whose service is no member of it"
_NO_SERVICE = "way to join one whose service runs elsewhere"
_KEYS = "have processes agree on what they run"

CONTRACT: tuple[Name, ...] = (
    *_in(
        "jax._src.api",
        Name("vjp", "remat.differentiated_in", "try policies on gradients", "way to say what gradients keep"),
    ),
    *_in(
        "jax._src.config",
        Name("Config.values", "base.config_values", "put every setting back", "list of the settings"),
        Name("State.get_local", "base.thread_state", "put the settings of a thread back", _STATE),
        Name("State.set_local", "base.thread_state", "put the settings of a thread back", _STATE, (2,)),
        Name("State.value", "placement._setting", "see that code is about to change a setting", _HOOK),
        Name("StateContextManager", "placement._install", "see that code is about to change a setting", _HOOK),
        Name(
            "StateContextManager.__enter__", "placement._enter_hook", "see that code changes a setting", _HOOK, arity=1
        ),
        Name("StateContextManager.new_val", "placement._enter_hook", "see what a setting is set to", _HOOK),
        Name("StateContextManager.state", "placement._enter_hook", "see which setting is set", _HOOK),
        Name("UserConfig._obj", "base.thread_state", "put the context of a cell back", _STATE),
        Name("_check_vma", "named.unchecked_collectives", "trace collectives in their plain form", _SWITCH, (1,)),
        Name("compute_on_context_manager", "named.made_like", "compute an equation where it was to be", _SWITCH),
        Name(
            "device_context",
            "named.mesh_of_specs",
            "let specs mean a mesh that the types of values hide",
            _SWITCH,
            instead=("jax._src.mesh.device_context",),
        ),
        Name(
            "device_context.set_local",
            "named.mesh_of_specs",
            "give the mesh of the context back",
            _SWITCH,
            instead=("jax._src.mesh.device_context.set_local",),
        ),
        Name(
            "device_context.swap_local",
            "named.mesh_of_specs",
            "hide the mesh of the context",
            _SWITCH,
            instead=("jax._src.mesh.device_context.swap_local",),
        ),
        Name("trace_context", "base.trace_context", "know when a program serves no more", "key of JAX's caches"),
        Name("trace_context_names", "base.context_names", "say why a cell was traced again", "key of JAX's caches"),
        Name("traceback_filtering", "base.unfiltered_tracebacks", "read all frames of an error", "switch of a thread"),
    ),
    *_in(
        "jax._src.core",
        Name(
            "Primitive.impl",
            "platforms.lowered_by_others",
            "see which library made a primitive",
            "way to ask whose a primitive is",
        ),
        Name("AxisEnv.axis_sizes", "named.bound_axes", "find names of axes that hide others", "list of bound names"),
        Name(
            "ClosedJaxpr",
            "eqns.open_jaxpr",
            "open a jaxpr, which since jax 0.12 is one with its constants",
            _LIGHT,
            instead=("jax._src.core.Jaxpr",),
        ),
        Name("DebugInfo.arg_names", "history.history_of", "name the arguments of a function", _MAKER),
        Name("DebugInfo.func_name", "eqns.traced_name", "name the function of a jaxpr", _OF_BODY),
        Name("DebugInfo.func_src_info", "tracers.traced_function", "name the function that is traced", _MAKER),
        Name("DebugInfo.traced_for", "base.is_of_custom_rule", "say what a function is traced for", _MAKER),
        Name("EvalTrace", "tracers.depends_on_nothing", "tell that nothing is traced around a tracer", _INSIDES),
        Name("Jaxpr", "eqns.is_jaxpr", "find the jaxprs in an equation", _LIGHT),
        Name("Jaxpr.debug_info", "eqns.traced_name", "name the function of a jaxpr", _OF_BODY),
        Name("Jaxpr.replace", "hlo.with_eqns", "give equations their names in the program", _EDIT, (1, "eqns")),
        Name("JaxprEqn", "eqns.eqn_frames", "say what an equation is", _LIGHT),
        Name("JaxprEqn.ctx", "named.made_like", "compute an equation where it was to be", _WHERE),
        Name("JaxprEqn.effects", "eqns.has_effects", "know that an equation is needed for its own sake", _ASK),
        Name("JaxprEqn.replace", "hlo.named_eqn", "give equations their names", _EDIT, (1, "params", "source_info")),
        Name("JaxprEqn.source_info", "eqns.eqn_traceback", "find the line of an equation", _WHERE),
        Name("JaxprEqnContext.compute_type", "named.made_like", "compute an equation where it was to be", _WHERE),
        Name("Literal", "placement._by_arguments", "give the start of a slice to its program", _EDIT, (2,)),
        Name("Literal.val", "placement.is_variable", "tell a literal from a variable", "class of variables to ask"),
        Name("ManualAxisType.varying", "named.varying_names", "know what a value varies over by its type", _ASK),
        Name("NamedAxisEffect", "eqns.has_effects", "know that an equation is needed for its own sake", _CLASS),
        Name("Primitive", "hosted._hosted_p", "let Python compute a value of a program", _LIGHT),
        Name(
            "Primitive.def_abstract_eval", "hosted._abstract", "let Python compute a value of a program", _LIGHT, (2,)
        ),
        Name("Primitive.get_bind_params", "named.bind_again", "bind an equation of a body again", _EDIT, (2,)),
        Name("Primitive.multiple_results", "identity._EagerIdentity", "tell one result from several", _LIGHT),
        Name("ShapedArray.mat", "named.varying_names", "know what a value varies over by its type", _ASK),
        Name("ShapedArray.to_tangent_aval", "named.tangent_type", "differentiate a map", _ASK, (1,)),
        Name(
            "ShapedArray.update", "placement.uncommitted", "make an array that is bound to no device", "way to make one"
        ),
        Name("Trace.__init__", "tracers.TraceLog", "tell which traces began", _HOOK, arity=1),
        Name("Trace._weakref", "tracers.TraceLog", "tell which traces are alive", _INSIDES),
        Name("Trace.invalidate", "caches.let_go", "let go of what a failed trace holds", "way to end a trace", (1,)),
        Name("Trace.is_valid", "tracers.is_invalid", "tell that a trace has ended", _INSIDES, (1,)),
        Name("Trace.process_primitive", "identity._EagerIdentity", "give new tracers for new arrays", _HOOK),
        Name("Tracer", "base.is_tracer", "tell a tracer from an array", "name of it that nobody replaces"),
        Name("Tracer.__getattr__", "watch._attribute_hook", "notice what a tracer lacks", _HOOK, arity=2),
        Name("Tracer.__hash__", "watch._text_hook", "notice that a cell uses a value as a key", _HOOK),
        Name("Tracer.__iter__", "watch._walk_hook", "notice that a cell walks over a value", _HOOK, arity=1),
        Name("Tracer.__repr__", "watch._text_hook", "notice that a cell prints a value", _HOOK, arity=1),
        Name("Tracer._line_info", "tracers.made_at", "say which line made a tracer", _MAKER),
        Name("Tracer._trace", "base.trace_of", "tell whose a tracer is", _INSIDES),
        Name("extend_axis_env_nd", "named.hoist_constants", "bind the names of axes", "way to bind them", (1,)),
        Name("get_axis_env", "named.bound_axes", "find names of axes that hide others", "list of bound names", (0,)),
        Name(
            "get_opaque_trace_state",
            "base.current_trace_state",
            "know in which trace an object of flax was made",
            _INSIDES,
            (0, "convention"),
        ),
        Name("is_concrete", "watch._concrete_hook", "notice that a type depends on an exponent", _HOOK, arity=1),
        Name("jaxpr_as_fun", "base.as_function", "compute a jaxpr", "evaluator of jaxprs", (1,)),
        Name("jaxprs_in_params", "base.inner_jaxprs", "look into loops", _LIGHT, (1,)),
        Name("no_axis_name", "named.is_anonymous", "tell a vmap that names no axis", _ASK),
        Name("no_effects", "hosted._lift", "add an equation to an outer trace", _ADD),
        Name("pytype_aval_mappings", "hosted.NumpyValue", "have JAX take a value of NumPy for an array", _ADD),
        Name(
            "set_current_trace", "identity.array_of", "compute under a trace that is not the innermost", _INSIDES, (1,)
        ),
        Name("trace_ctx", "base.current_trace", "know what is being traced", _INSIDES),
        Name("trace_ctx.axis_env", "base.thread_state", "put the names of axes back", _STATE),
        Name("trace_ctx.set_axis_env", "base.thread_state", "put the names of axes back", _STATE),
        Name("trace_ctx.set_trace", "base.thread_state", "put the trace back", _STATE),
        Name("trace_ctx.trace", "base.current_trace", "know what is being traced", _INSIDES),
        Name("trace_state_clean", "base.forget_lost_place", "know that nothing is traced", _ASK, (0,)),
    ),
    *_in(
        "jax._src.distributed",
        Name("global_state", "distributed.join_job", _JOIN, _NO_SERVICE),
        *_each(
            "State", "client process_id num_processes coordinator_address", "distributed.join_job", _JOIN, _NO_SERVICE
        ),
    ),
    *_in(
        "jax._src.export.shape_poly",
        Name("BoundsPrecision.BEST", "dims.dim_bounds", "find sizes that cannot be", "way to ask before jax 0.12"),
        Name(
            "BoundsPrecision._bounds_are_sufficient",
            "dims.watch_dims",
            "say which constraint a comparison of sizes has needed",
            _HOOK,
            (3,),
        ),
        Name("SymbolicScope._normalization_rules", "dims.watch_dims", "say which constraint has told a size", _HOOK),
        Name("_DimExpr", "dims.is_dim", "know a size that is an expression from a number, and watch it", _CLASS),
        Name("_DimExpr.__jax_array__", "dims.watch_dims", "compute with a size what an int computes", _HOOK),
        Name("_DimExpr._sorted_terms", "dims.dim_value", "run the program for all sizes at some", _INSIDES),
        Name("_DimFactor.operands", "dims.dim_value", "run the program for all sizes at some", _INSIDES),
        Name("_DimTerm._factors", "dims.dim_value", "run the program for all sizes at some", _INSIDES),
        Name("_DimExpr._get_vars", "dims.dim_variables", "know the names in a size", _LIST),
        Name("_DimExpr.max", "dims.extreme_dim", "have the greater of two sizes as a size", _ASK, (2,)),
        Name("_DimExpr.min", "dims.extreme_dim", "have the lesser of two sizes as a size", _ASK, (2,)),
        Name("_bounds_decision", "dims.watch_dims", "say what a comparison of sizes has needed", _HOOK, arity=2),
    ),
    *_in(
        "jax._src.interpreters.partial_eval",
        Name("DynamicJaxprTrace", "base.surrounding_trace", "know the trace of a cell", _INSIDES),
        Name("DynamicJaxprTrace._new_const", "watch._constant_hook", "copy what becomes a constant", _HOOK, arity=4),
        Name("DynamicJaxprTrace.emit_eqn", "hosted._lift", "add an equation to an outer trace", _ADD, (7,)),
        Name("DynamicJaxprTrace.frame", "base.equations_so_far", "see the equations of a trace so far", _INSIDES),
        Name("DynamicJaxprTrace.parent_trace", "tracers.enclosing_traces", "know what surrounds a trace", _INSIDES),
        Name("DynamicJaxprTrace.process_custom_jvp_call", "identity._WithHandedOn", "hand on what JAX hands on", _HOOK),
        Name("DynamicJaxprTrace.process_custom_vjp_call", "identity._WithHandedOn", "hand on what JAX hands on", _HOOK),
        Name("DynamicJaxprTrace.stage_value", "identity._EagerIdentity", "give a new tracer for each array", _HOOK),
        Name("DynamicJaxprTracer._debug_info", "tracers.traced_function", "name the function that is traced", _MAKER),
        Name("DynamicJaxprTracer.get_const", "history.history_of", "find what a tracer stands for", _INSIDES, (1,)),
        Name("DynamicJaxprTracer.parent", "history.history_of", "find what made a tracer", _MAKER),
        Name("DynamicJaxprTracer.val", "base.sources_of", "find the variable of a tracer", _INSIDES),
        Name(
            "JaxprStackFrame.constid_to_tracer", "identity._EagerIdentity", "give a new tracer for each array", _INSIDES
        ),
        Name("JaxprStackFrame.constvar_to_val", "caches.let_go", "see that a failed trace holds something", _INSIDES),
        Name("JaxprStackFrame.debug_info", "base.is_of_custom_rule", "say what a function is traced for", _MAKER),
        Name("JaxprStackFrame.invars", "history.history_of", "find the argument that a tracer is", _INSIDES),
        Name("JaxprStackFrame.tracing_eqns", "base.EquationCount", "stop a trace that grows too long", _INSIDES),
        Name("TracingEqn.in_tracers", "base.sources_of", "find what a tracer was computed from", _MAKER),
        Name("TracingEqn.outvars", "identity.handed_on", "find which result a tracer is", _MAKER),
        Name("convert_constvars_jaxpr", "named.hoist_constants", "make constants arguments", _NEW, (1,)),
        Name("custom_staging_rules", "placement._inlining_hook", "note where inlined results lie", _HOOK),
        Name("partial_eval_jaxpr_nounits", "named.split_known", "split a gradient of a map", _NEW, (3,)),
        Name("trace_to_jaxpr", "calls.CallLog", "tell that a function was traced again", _HOOK),
    ),
    *_in(
        "jax._src.interpreters",
        Name("ad.JVPTrace.parent_trace", "base.surrounding_trace", "know what surrounds a trace", _INSIDES),
        Name("ad.JVPTracer.__init__", "tracers.TraceLog", "say which line made a tracer", _MAKER),
        Name("ad.JVPTracer.primal", "base.tracers_below", "find the tracer below a derivative", _INSIDES),
        Name("ad.JVPTracer.tangent", "base.tracers_below", "find the tracer below a derivative", _INSIDES),
        Name("ad.LinearizeTrace", "tracers.transformation_of", "say what a tracer belongs to", _INSIDES),
        Name("ad.LinearizeTrace.tangent_trace", "tracers.traces_behind", "know what surrounds a trace", _INSIDES),
        Name("mlir._lowerings", "platforms.stand_in_rules", _RULES, _ASKED),
        Name("mlir._platform_specific_lowerings", "platforms.stand_in_rules", _RULES, _ASKED),
        Name("mlir.LoweringRuleContext.set_tokens_out", "platforms.stand_in_rules", _RULES, _ASKED, (2,)),
        Name("mlir.LoweringRuleContext.tokens_in", "platforms.stand_in_rules", _RULES, _ASKED),
        Name("mlir.LoweringRuleContext.tokens_out", "platforms.stand_in_rules", _RULES, _ASKED),
        Name("mlir.ModuleContext.get_backend", "platforms.stand_in_rules", _RULES, _ASKED),
        Name("mlir.LoweringRuleEntry.inline", "platforms.stand_in_rules", _RULES, _ASKED),
        Name("mlir.LoweringRuleEntry.rule", "platforms.stand_in_rules", _RULES, _ASKED),
        Name("mlir.refine_polymorphic_shapes", "exporting.check_refined", _EXPORTED, "check of its sizes", (1,)),
        Name("batching.BatchTrace", "base.is_batched", "tell a tracer of jax.vmap", _INSIDES),
        Name("batching.BatchTracer.source_info", "tracers.made_at", "say which line made a tracer", _MAKER),
        Name("batching.BatchTracer.val", "base.tracers_below", "find the tracer below a batch", _INSIDES),
        Name("batching.broadcast_batcher", "placement.is_elementwise", "tell elementwise operations", _LIST),
        Name("batching.vectorized_batcher", "placement.is_elementwise", "tell elementwise operations", _LIST),
        Name("pxla.MeshComputation.compile_args", "hlo.kept_inputs", "know which inputs a program takes", _LIST),
        Name("pxla.MeshComputation.const_args", "compile.place_inputs", "know which inputs a program takes", _LIST),
        Name("remat.RematTrace", "tracers.transformation_of", "say what a tracer belongs to", _INSIDES),
        Name("remat.RematTrace.jaxpr_trace", "tracers.traces_behind", "know what surrounds a trace", _INSIDES),
    ),
    *_in(
        "jax._src.pjit",
        Name("MetaTy.sharding", "hlo.given_shardings", "say how inputs are spread", "list of that"),
        *_each("PjitInfo", _JIT_ARGUMENTS, "base.JIT_ARGUMENTS", _AGAIN, _OPTIONS),
        *_each("PjitInfo", _JIT_SHARDINGS, "base.jit_arguments", _AGAIN, _OPTIONS),
        *_each("PjitInfo", "backend compiler_options_kvs device", "base.jit_arguments", _AGAIN, _OPTIONS),
        *_each("PjitInfo", "fun_signature fun_sourceinfo", "base.jit_options", "compare jitted functions", _OPTIONS),
        Name("PjitInfo.use_resource_env", "base.jit_arguments", "tell what pjit made", _OPTIONS),
        Name("PjitParams.out_tree", "identity.note_jit_calls", "know the static parts of results", _HOOK),
        Name("_infer_params", "calls.CallLog", "tell why a function was traced again", _HOOK, (4,), arity=4),
        Name("_run_python_pjit", "calls.CallLog", "tell why a function was compiled again", _HOOK, (5,), arity=5),
        Name("jit_p", "placement._inlining_hook", "note where inlined results lie", _HOOK),
    ),
    *_in(
        "jax._src.export._export",
        Name(
            "_CUSTOM_CALL_TARGETS_GUARANTEED_STABLE",
            "exporting.stable_targets",
            "know what an exported program may call",
            _LIST,
        ),
        Name(
            "Exported._has_named_shardings",
            "exporting.call_of",
            _EXPORTED,
            _OWN_FORM,
            instead=("jax._src.export._export.Exported._in_named_shardings",),
        ),
        *_each(
            "Exported",
            "_get_vjp _in_named_shardings _out_named_shardings calling_convention_version"
            " mlir_module_serialized module_kept_var_idx nr_devices uses_global_constants",
            "exporting.call_of",
            _EXPORTED,
            _OWN_FORM,
        ),
    ),
    *_in(
        "jax._src.stages",
        Name("Lowered._lowering", "hlo.kept_inputs", "know which inputs a program takes", _LIST),
        Name("Traced._consts", "watch._traced_hook", "see what a function has closed over", "list of that"),
        Name("Traced._lojax", "hlo.with_jaxpr", _LOWER, _EDIT),
        Name("Traced._meta_tys_flat", "hlo.given_shardings", "say how inputs are spread", "list of that"),
        Name("Traced._params", "hlo.with_jaxpr", _LOWER, _EDIT),
    ),
    *_in(
        "jax._src.source_info_util",
        Name("ExtendNameStackContextManager.__enter__", "tracebacks.note_tracebacks", _SCOPES, _HOOK, arity=1),
        Name("NameStack", "hlo.named_eqn", "give equations their names", "stack of several scopes", (1,)),
        Name("NameStack.stack", "hlo.name_parts", "read the names of equations", "parts of a name"),
        Name("Scope", "hlo.named_eqn", "give equations their names", "scope", (1,)),
        Name("Scope.name", "hlo.name_parts", "read the names of equations", "parts of a name"),
        Name("SourceInfo.name_stack", "eqns.eqn_scope", "read the names of equations", "name of an equation"),
        Name("SourceInfo.replace", "hlo.named_eqn", "give equations their names", _EDIT, (1, "name_stack")),
        Name("SourceInfo.traceback", "eqns.eqn_traceback", "find the line of an equation", _WHERE),
        Name("Transform", "hlo.name_parts", "tell a transformation from a scope", "parts of a name"),
        Name("Transform.name", "hlo.name_parts", "read the names of equations", "parts of a name"),
        Name("_source_info_context", "base.thread_state", "put the place in the code back", _STATE),
        Name("_source_info_context.context", "base.thread_state", "put the place in the code back", _STATE),
        Name("current", "tracers.TraceLog", "say which line began a trace", _LIGHT, (0,)),
        Name("new_source_info", "base.forget_lost_place", "let go of a place that is lost", _STATE, (0,)),
        Name("register_exclusion", "base.OWN_FOLDER", "pass over frames of jaxnb", "way to add a folder", (1,)),
    ),
    *_in(
        "jax._src.custom_derivatives",
        Name("custom_vjp.fun", "remat.calls_of_rules", "say which rules run twice", "way to ask a function for it"),
        Name(
            "custom_vjp.optimize_remat",
            "remat.calls_of_rules",
            "say which rules run twice",
            "way to ask whether a rule may be left out",
        ),
        Name("_closure_convert_for_avals", "watch._CONVERT", "keep a cache from holding a cell for ever", _FORGET),
        Name(
            "_closure_convert_for_avals.__wrapped__",
            "watch._CONVERT",
            "keep a cache from holding a cell for ever",
            _FORGET,
        ),
        Name("_flatten_fwd", "tracers.traced_function", "tell a rule of jax.custom_vjp", _MAKER),
        Name("_flatten_jvp", "tracers.traced_function", "tell a rule of jax.custom_jvp", _MAKER),
    ),
    *_in(
        "jax._src.dispatch",
        Name(
            "RuntimeTokenSet.block_until_ready",
            "placement._barrier_hook",
            "see that code waits for callbacks",
            _HOOK,
            arity=1,
        ),
        Name(
            "prim_requires_devices_during_lowering",
            "hlo.lower_elsewhere",
            "lower callbacks for devices that are not there",
            _SWITCH,
        ),
        Name("runtime_tokens", "placement._barrier_hook", "see that code waits for callbacks", _HOOK),
    ),
    *_in(
        "jax._src.lax",
        Name("control_flow.loops._maybe_put", "watch._put_hook", "keep what a scan hands on", _HOOK, arity=1),
        Name(
            "lax._convert_element_type",
            "placement._full_hook",
            "note on which device an array is made",
            _HOOK,
            (2, "weak_type"),
        ),
        Name(
            "lax.full", "placement._full_hook", "note on which device an array is made", _HOOK, (3, "sharding"), arity=4
        ),
        Name("lax.full_like", "placement._full_like_hook", "note what an array is made like", _HOOK, (5,), arity=5),
    ),
    *_in(
        "jax._src.mesh",
        Name("ResourceEnv.physical_mesh", "named.concrete_mesh", "find the mesh of `with mesh:`", _ASK),
        Name("ResourceEnv.with_mesh", "named.mesh_of_specs", "let specs mean a mesh", _SWITCH, (2,)),
        Name("empty_concrete_mesh", "named.mesh_of_specs", "hide the mesh of the context", _SWITCH),
        Name("get_concrete_mesh", "named.concrete_mesh", "find the mesh inside of jax.jit", _ASK, (0,)),
        Name("thread_resources", "named.concrete_mesh", "find the mesh of `with mesh:`", _ASK),
        Name("thread_resources.env", "named.concrete_mesh", "find the mesh of `with mesh:`", _ASK),
        Name("thread_resources.stack", "named.mesh_of_specs", "let specs mean a mesh", _SWITCH),
    ),
    *_in(
        "jax._src",
        Name("api._device_get", "watch._get_hook", "notice that a tracer is to be a NumPy array", _HOOK, arity=1),
        Name("api_util.InternalFloatingPointError", "base.raise_bad_value", "say which operation gave a nan", _CLASS),
        Name(
            "api_util.InternalFloatingPointError.ty", "base.raise_bad_value", "say which operation gave a nan", _CLASS
        ),
        Name(
            "array.ArrayImpl",
            "placement.uncommitted",
            "make an array that is bound to no device",
            _CLASS,
            (3, "committed", "_skip_checks"),
        ),
        Name("array.ArrayImpl._npy_value", "waits.WaitLog", "tell what Python waits for", _HOOK),
        Name("array.ArrayImpl._value", "waits.WaitLog", "tell what Python waits for", _HOOK),
        Name("callback._FlatCallback.callback_func", "base.called_back", "find what a program calls of Python", _ASK),
        Name(
            "dtypes.register_canonicalize_value_handler",
            "hosted._given",
            "have JAX take a value of NumPy for an array",
            _ADD,
        ),
        Name("linear_util.WrappedFun", "hlo.without_rules", "let go of rules for derivatives", _CLASS),
        Name("linear_util.WrappedFun.debug_info", "hlo.without_rules", "let go of rules for derivatives", _CLASS),
        Name(
            "linear_util.wrap_init", "hlo.without_rules", "let go of rules for derivatives", _CLASS, (1, "debug_info")
        ),
        Name("named_sharding.UnspecifiedValue", "base.jit_arguments", _AGAIN, _OPTIONS),
        Name("numpy.array_methods._IndexUpdateRef", "base.made_by_operator", "tell operators from functions", _MAKER),
        Name("numpy.indexing.NDIndexer", "placement._sharded_hook", _LIKE_MANY, _HOOK),
        Name("numpy.indexing.NDIndexer.is_sharded", "placement._sharded_hook", _LIKE_MANY, _HOOK, arity=1),
        Name("pmap._cached_shard_map", "placement._pmap_hook", _TOLD, _HOOK),
        Name("pmap.CachedShardMap.jitted_f_with_shardings", "placement._pmap_hook", _TOLD, _HOOK),
        Name("random.prng.PRNGKeyArray", "base.array_class", "know the class of keys", _CLASS),
        Name("shard_map.ShardMapTrace", "tracers.transformation_of", "say what a tracer belongs to", _INSIDES),
        Name("shard_map.ShardMapTracer", "tracers.TraceLog", "say which line made a tracer", _MAKER),
        Name("shard_map.ShardMapTracer.__init__", "tracers.TraceLog", "say which line made a tracer", _MAKER),
        Name(
            "sharding_impls.parse_flatten_op_sharding",
            "compile.told_specs",
            "say how results lie",
            "reader of it",
            (2,),
        ),
        Name(
            "state.types.AbstractRef.inner_aval",
            "eqns.shape_and_dtype",
            "say what a mutable array holds",
            "attribute for it",
        ),
        Name("tree_util._registry", "base.PYTREES", "know which classes JAX takes apart", "way to ask of a class"),
        Name("util._caches", "caches.forget_staged", "forget what was seen of a cell", _FORGET),
        Name(
            "xla_bridge.backends_are_initialized",
            "backend.backend_started",
            "leave a backend alone that has not started",
            _ASK,
            (0,),
        ),
    ),
    Name("jaxlib._hlo.HloComputation.instructions", "hlo.has_instruction", _KINDS, _NO_TEXT),
    Name("jaxlib._hlo.HloInstruction.opcode", "hlo.has_instruction", _KINDS, _NO_TEXT),
    *_in(
        "jaxlib._hlo.HloModule",
        Name(
            "as_serialized_hlo_module_proto",
            "hlo.serialized_modules",
            "read the optimised program",
            "form of it but text",
        ),
        Name("computations", "hlo.has_instruction", _KINDS, _NO_TEXT),
        Name("name", "hlo.module_names", "find a program in a profile", "name of a program"),
    ),
    *_in(
        "jaxlib._jax",
        Name(
            "get_distributed_runtime_client",
            "distributed.join_job",
            _JOIN,
            _NO_SERVICE,
            (2, "init_timeout", "use_compression", "heartbeat_timeout", "shutdown_timeout", "shutdown_on_destruction"),
        ),
        Name(
            "get_distributed_runtime_service",
            "service.start_service",
            "have a service that outlives any process of its job",
            _NO_SERVICE,
            (2, "heartbeat_timeout", "shutdown_timeout", "recoverable"),
        ),
        *_each("DistributedRuntimeClient", "connect shutdown", "distributed.join_job", _JOIN, _NO_SERVICE),
        *_each(
            "DistributedRuntimeClient",
            "key_value_set blocking_key_value_get key_value_delete",
            "distributed.Keys",
            _KEYS,
            "keys of a job",
        ),
        Name("Client.compile_and_load", "compile.compile_module", "compile for other machines", _COMPILER, (4,)),
        Name("CompileOnlyPyClient.compile", "compile.compile_for_target", "compile for targets", _COMPILER, (3,)),
        Name(
            "CompileOptions.executable_build_options", "compile.compile_module", "compile for other machines", _COMPILER
        ),
        Name("Device.client", "compile.compile_module", "compile for other machines", _COMPILER),
        Name("DeviceList", "compile.compile_module", "compile for other machines", _COMPILER, (1,)),
        Name(
            "ExecutableBuildOptions.allow_spmd_sharding_propagation_to_output",
            "compile.compile_module",
            "have the compiler say how results lie",
            _COMPILER,
        ),
        Name(
            "ExecutableBuildOptions.allow_spmd_sharding_propagation_to_parameters",
            "compile.compile_module",
            "have the compiler say how inputs lie",
            _COMPILER,
        ),
        Name("Frame.file_name", "base.made_by_operator", "tell operators from functions", _WHERE),
        Name("Frame.function_name", "base.made_by_operator", "tell operators from functions", _WHERE),
        Name("LoadedExecutable.get_output_shardings", "compile.told_specs", "say how results lie", _LIST),
        Name("LoadedExecutable.get_parameter_shardings", "compile.told_specs", "say how inputs lie", _LIST),
        Name(
            "LoadedExecutable.hlo_modules",
            "hlo.serialized_modules",
            "read the optimised program",
            "form of it but text",
        ),
        Name(
            "Sharding._device_assignment", "placement.devices_of", "know the order of devices", "list of them in order"
        ),
        Name("mlir.deserialize_portable_artifact", "exporting.custom_calls", _EXPORTED, "module of one but as text"),
        Name("mlir.serialize_portable_artifact", "exporting.export_flat", _EXPORTED, "choice of the version"),
        Name("Traceback.frames", "base.made_by_operator", "tell operators from functions", _WHERE),
        Name("Traceback.raw_frames", "eqns.traceback_frames", "find the line of an equation", _WHERE),
    ),
    *_of_kernels(
        "kernel_call",
        "pallas.core.GridMapping: block_mappings grid num_dynamic_grid_bounds num_index_operands num_inputs",
        "pallas.core.CostEstimate: bytes_accessed flops transcendentals",
        "pallas.mosaic.core.CompilerParams: dimension_semantics vmem_limit_bytes",
        "state.types.AbstractRef: memory_space",
    ),
    *_of_kernels(
        "_window",
        "pallas.core.BlockMapping: array_aval block_shape index_map_jaxpr index_map_out_tree origin pipeline_mode",
        "pallas.core.Buffered: buffer_count",
        "state.indexing.Slice: start",
    ),
    *_of_kernels(
        "_dim",
        "pallas.core: Blocked BoundedSlice Element Squeezed",
        "pallas.core.Blocked: block_size",
        "pallas.core.Element: padding",
    ),
    *_in(
        "jaxlib.mlir.ir",
        Name("CallSiteLoc", "hlo.location_name", "read the names of operations", _LOCATION),
        Name("CallSiteLoc.callee", "hlo.location_name", "read the names of operations", _LOCATION),
        Name("FusedLoc", "hlo.location_name", "read the names of operations", _LOCATION),
        Name("FusedLoc.locations", "hlo.location_name", "read the names of operations", _LOCATION),
        Name("Module.parse", "compile.compile_for_target", "compile for targets", "reader of bytecode", (1,)),
        Name("Module.operation", "compile.module_of", "send a program to a worker", "bytecode of it"),
        Name("NameLoc", "hlo.location_name", "read the names of operations", _LOCATION),
        Name("NameLoc.child_loc", "hlo.location_name", "read the names of operations", _LOCATION),
        Name("NameLoc.name_str", "hlo.location_name", "read the names of operations", _LOCATION),
        Name("Operation.attributes", "exporting.custom_calls", "know what a program calls", "list of that"),
        Name("Operation.regions", "exporting.custom_calls", "know what a program calls", "list of that"),
        Name("Operation.write_bytecode", "compile.module_of", "send a program to a worker", "bytecode of it"),
    ),
    *_in(
        "jaxlib.weakref_lru_cache.WeakrefLRUCache",
        Name("WeakrefLRUCacheInfo.misses", "calls.CallLog", "tell that a function was traced again", _HOOK),
        Name("cache_clear", "caches.forget_staged", "forget what was seen of a cell", _FORGET),
        Name("cache_info", "calls.CallLog", "tell that a function was traced again", _HOOK),
        Name("cache_keys", "caches.apart", "forget what was seen of a cell", _FORGET),
        Name("evict_weakref", "caches.apart", "forget what was seen of a cell", _FORGET),
    ),
    Name(
        "jax._src.flattree.FTTuple.unpack", "bodies.scan_counts", "read the operands of a scan", _OF_SCAN, since=(0, 12)
    ),
    Name("jax.core.Tracer", "watch._TracerClass", "notice that a library asks for tracers", _HOOK),
    Name("jax.numpy.sin._jit_info", "base.jit_options", _AGAIN, _OPTIONS),
    Name("jax.sharding.Sharding._is_concrete", "placement._full_hook", "know that a sharding has devices", _ASK),
    Name("jax/_src/ad_checkpoint.py", "watch._CATCHERS", "tell errors that JAX itself expects", _HOOK),
    Name("jax/_src/lax/control_flow/loops.py", "watch._CATCHERS", "tell errors that JAX itself expects", _HOOK),
    Name("jax/_src/numpy/array_methods.py", "base.made_by_operator", "tell operators from functions", _MAKER),
    Name("jax/experimental/sparse/bcoo.py", "watch._CATCHERS", "tell errors that JAX itself expects", _HOOK),
)

EQUATIONS: tuple[Equation, ...] = (
    Equation("composite", ("jaxpr",), "bodies.called_jaxprs", instead=("call_jaxpr",)),
    Equation("cond", ("branches",), "bodies.called_jaxprs"),
    Equation("convert_element_type", (), "promotions.promotion_of"),
    Equation("copy", (), "identity.array_of"),
    Equation("custom_jvp_call", ("call_jaxpr", "jvp_jaxpr_fun"), "identity.handed_on"),
    Equation("custom_vjp_call", ("call_jaxpr", "fwd_jaxpr_thunk", "bwd"), "identity.handed_on"),
    Equation("custom_vmap_call", ("call",), "bodies.called_jaxprs"),
    Equation("debug_callback", ("callback",), "base.called_back"),
    Equation("dim_as_value", ("dim",), "dims.with_sizes"),
    Equation("device_put", ("devices", "srcs", "copy_semantics"), "placement.puts_of"),
    Equation("dot_general", (), "promotions.promotion_of"),
    Equation("eval_jaxpr", ("call_jaxpr",), "bodies.called_jaxprs", since=(0, 12)),
    Equation("io_callback", ("callback",), "base.called_back"),
    Equation(
        "jit",
        ("jaxpr", "in_shardings", "out_shardings", "out_layouts", "keep_unused", "inline"),
        "placement.out_shardings_of",
    ),
    Equation("name", (), "identity.handed_on"),
    Equation(
        "pallas_call",
        ("grid_mapping", "input_output_aliases", "compiler_params", "cost_estimate", "interpret"),
        "kernels.kernel_call",
    ),
    Equation("pure_callback", ("callback",), "base.called_back"),
    Equation("random_unwrap", (), "identity.keys_of"),
    Equation("random_wrap", (), "identity.handed_on"),
    Equation("remat2", ("jaxpr", "differentiated", "prevent_cse"), "eqns.is_kept_apart"),
    Equation("reshard", ("dst_sharding",), "placement.named_shardings"),
    Equation("scan", ("num_consts", "num_carry"), "bodies.scan_counts", instead=("ft_in",)),
    Equation("shard_map", ("mesh", "newly_manual_axes", "out_specs"), "placement.mapped_shardings"),
    Equation("sharding_constraint", ("sharding", "layout", "unconstrained_dims"), "placement.constraint_of"),
    Equation("slice", ("start_indices", "limit_indices", "strides"), "placement.ask_shardings"),
    Equation("stop_gradient", (), "identity.handed_on"),
    Equation("unstack", (), "identity.iterates_array", since=(0, 12)),
    Equation("while", ("cond_nconsts", "cond_jaxpr", "body_nconsts", "body_jaxpr"), "bodies.called_jaxprs"),
)
