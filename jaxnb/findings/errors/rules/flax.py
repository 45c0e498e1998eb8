"""Modules of flax.linen that are set up, initialised or applied in the wrong way."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from jaxnb.findings.errors.calls import (
    argument_of,
    arguments_at,
    bound_to,
    is_of,
    is_raised_by,
    key_word,
    name_called,
    own,
    placed,
)
from jaxnb.findings.errors.edits import advice, bare, dimensions, joined, lines_put, put, segment, with_more, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Scene, is_array
from jaxnb.findings.place import FailedExpression
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]


def _is(scene: Scene, name: str) -> bool:
    """Whether the error is of a class of flax."""
    kind = type(scene.error)
    return kind.__name__ == name and kind.__module__.startswith("flax")


def _linen(scene: Scene) -> str:
    return words_of(scene, "flax.linen", "nn")


def _called(place: FailedExpression | None) -> str:
    """What a call is of: "`model.apply`"."""
    node = place.node if place is not None else None
    return f"`{segment(place, node.func)}`" if place is not None and isinstance(node, ast.Call) else "`apply`"


def _applying(scene: Scene) -> FailedExpression | None:
    """The call of `apply` or `init` that the module runs in, or what was called with it."""
    return placed(scene, "apply", "init", "init_with_output") or own(scene)


def _variables(place: FailedExpression) -> str | None:
    """What the user calls a dict of collections."""
    names = [
        name
        for name, value in place.frame.items()
        if not name.startswith("_") and hasattr(value, "keys") and "params" in value
    ]
    return "variables" if "variables" in names else names[-1] if names else None


# --- setting up ---


def _frozen_list(scene: Scene) -> Told | None:
    """Lists that are attributes of a module are tuples."""
    error, node = scene.error, scene.failed.node
    value = getattr(error, "obj", None)
    if not isinstance(value, tuple) or not hasattr([], str(getattr(error, "name", ""))):
        return None
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Attribute):
        return None
    if not is_of(scene.failed.value_of(node.value.value), "flax"):
        return None
    text = segment(scene.failed, node.value)
    message = (
        f"`{text}` is a tuple, which has no `{node.attr}`: linen freezes a list as soon as it is an attribute of a"
        f" module, here in `{scene.failed.function}`."
    )
    fixes = [*_local_list(scene, node.value)]
    return Told(message, (*fixes, advice("build the list first and assign it once, as a list comprehension.")), ())


def _local_list(scene: Scene, attribute: ast.Attribute) -> Iterator[Fix]:
    function = scene.failed.above(ast.FunctionDef)
    if function is None:
        return
    first, last = function.body[0].lineno, function.end_lineno
    lines = scene.failed.text.split("\n")[first - 1 : last]
    text, name = segment(scene.failed, attribute), attribute.attr
    changed = [re.sub(rf"(?<![\w.]){re.escape(text)}(?!\w)", name, line) for line in lines]
    changed.append(" " * function.body[0].col_offset + f"{text} = {name}")
    edit = lines_put(scene.failed, first, last, changed)
    yield Fix(f"build a local list `{name}` and assign it at the end: `{text} = {name}`.", edit=edit)


def _outside(scene: Scene) -> Told | None:
    """What `setup` makes is there only while the module runs."""
    step = scene.step("__getattr__")
    if step is None or not step.module.startswith("flax.linen"):
        return None
    module, name = step.names.get("self"), str(step.names.get("name"))
    setup = getattr(type(module), "setup", None)
    code = getattr(getattr(setup, "__wrapped__", setup), "__code__", None)
    node = scene.failed.node
    if code is None or name not in code.co_names or not isinstance(node, ast.Attribute):
        return None
    holder = segment(scene.failed, node.value)
    message = (
        f"`{holder}` has no `{name}` here: `setup` of `{type(module).__name__}` makes it, and runs only within `init`"
        f" or `apply`, where `{holder}` has its parameters."
    )
    fixes: list[Fix] = []
    call, variables = scene.failed.parent(), _variables(scene.failed)
    if isinstance(call, ast.Call) and call.func is node and variables is not None and not call.keywords:
        given = ", ".join([variables, *(segment(scene.failed, item) for item in call.args)])
        new = f"{holder}.apply({given}, method=lambda module, *args: module.{name}(*args))"
        fixes.append(put(scene.failed, "apply that part of the module", call, new))
    hint = f"write a method that uses it, and call {holder}.apply(variables, …, method=…)."
    return Told(message, (*fixes, advice(hint)))


def _compact(scene: Scene) -> Told | None:
    if not _is(scene, "AssignSubModuleError"):
        return None
    function, holder = scene.failed.above(ast.FunctionDef), scene.failed.above(ast.ClassDef)
    if function is None:
        return None
    made = scene.text(scene.failed.node)
    whose = f" of `{holder.name}`" if holder is not None else ""
    message = (
        f"`{made}` is made in `{function.name}`{whose}, which is no compact method: submodules are made in `setup`, or"
        f" in a method with @{_linen(scene)}.compact."
    )
    line = scene.failed.text.split("\n")[function.lineno - 1]
    indent = line[: len(line) - len(line.lstrip())]
    decorator = f"@{_linen(scene)}.compact"
    edit = lines_put(scene.failed, function.lineno, function.lineno, [indent + decorator, line])
    fixes = () if function.name == "setup" else (Fix(f"put `{decorator}` above `{function.name}`.", edit=edit),)
    return Told(message, (*fixes, advice(f"put {decorator} above the method, or make the submodules in setup.")), ())


def _in_use(scene: Scene) -> Told | None:
    if not _is(scene, "NameInUseError"):
        return None
    node, holder = scene.failed.node, scene.failed.above(ast.ClassDef)
    name = argument_of(node, -1, "name")
    shown = name.value if isinstance(name, ast.Constant) else "that name"
    whose = f" in `{holder.name}`" if holder is not None else ""
    message = (
        f"the name {shown!r} is already in use{whose}: two submodules, or a parameter and one, cannot have the same"
        " name."
    )
    fixes: list[Fix] = []
    if isinstance(name, ast.Constant):
        fixes.append(put(scene.failed, "give it another name", name, f'"{shown}_2"'))
    hint = (
        f"to share the parameters make the module once, as in {shown} = …, and call it twice; otherwise choose"
        " another name."
    )
    return Told(message, (*fixes, advice(hint)), ())


def _frozen(scene: Scene) -> Told | None:
    if not _is(scene, "SetAttributeFrozenModuleError") and not _is(scene, "SetAttributeInModuleSetupError"):
        return None
    node, function, holder = (scene.failed.node, *(scene.failed.above(k) for k in (ast.FunctionDef, ast.ClassDef)))
    if not isinstance(node, ast.Attribute):
        return None
    text = segment(scene.failed, node)
    where = f" in `{function.name}`" if function is not None else ""
    whose = f" of `{holder.name}`" if holder is not None else ""
    message = (
        f"`{text}` is set{where}{whose}, and a linen module is frozen outside of `setup`: it is called again with"
        " other values."
    )
    statement = scene.failed.statement
    fixes: list[Fix] = []
    if isinstance(statement, ast.Assign) and function is not None and segment(scene.failed, node.value) == "self":
        new = f'self.sow("intermediates", "{node.attr}", {segment(scene.failed, statement.value)})'
        fixes.append(put(scene.failed, "keep it among the intermediates", statement, new))
    hint = "return it, keep it with self.sow(…), or make it a variable of a collection: self.variable(…)."
    return Told(message, (*fixes, advice(hint)), ())


def _unsaid(scene: Scene) -> Told | None:
    """Flags that are given neither to the constructor nor to the call."""
    step = scene.step("merge_param")
    if step is None or not is_raised_by(scene, "flax"):
        return None
    name, node = str(step.names.get("name")), scene.failed.node
    layer = scene.step("__call__")
    kind = type(layer.names.get("self")).__name__ if layer is not None else "the module"
    message = f"`{kind}` is given {name} neither when it is made nor when it is called."
    call = node.func if isinstance(node, ast.Call) and isinstance(node.func, ast.Call) else node
    values = ("False", "True") if name == "use_running_average" else ("True", "False")
    fixes = [with_more(scene.failed, "say it", call, f"{name}={v}") for v in values if isinstance(call, ast.Call)]
    return Told(message, (*fixes, advice(f"pass {name}=… to one of the two.")))


# --- applying ---


def _immutable(scene: Scene) -> Told | None:
    if not _is(scene, "ModifyScopeVariableError"):
        return None
    step = scene.step("put_variable")
    if step is None:
        return None
    collection, name = str(step.names.get("col")), str(step.names.get("name"))
    path = str(getattr(step.names.get("self"), "path_text", "")).lstrip("/")
    place = _applying(scene)
    message = (
        f"`{path or 'the module'}` writes its `{name}` into the collection {collection!r}, and {_called(place)} is"
        f" called without mutable, so that the collection is immutable."
    )
    argument = f'mutable=["{collection}"]'
    fixes: list[Fix] = []
    if place is not None and isinstance(place.node, ast.Call):
        statement = place.statement
        grown = with_more(place, "let it change", place.node, argument)
        if isinstance(statement, ast.Assign) and statement.value is place.node and len(statement.targets) == 1:
            target = segment(place, statement.targets[0])
            new = f"{target}, updated = {_more(place, place.node, argument)}"
            grown = put(place, "let it change, and take what it returns", statement, new)
        fixes.append(grown)
    hint = f"pass {argument}: apply then returns the output and the updated collections."
    return Told(message, (*fixes, advice(hint)), ())


def _more(place: FailedExpression, call: ast.Call, argument: str) -> str:
    return f"{segment(place, call).rstrip()[:-1].rstrip().rstrip(',')}, {argument})"


def _no_key(scene: Scene) -> Told | None:
    if not _is(scene, "InvalidRngError"):
        return None
    step = scene.step("make_rng")
    place = _applying(scene)
    if step is None:
        return _key_first(scene)
    name = str(step.names.get("name"))
    layer = scene.step("__call__")
    module = layer.names.get("self") if layer is not None else None
    who = str(getattr(module, "name", None) or type(module).__name__ if module is not None else "the module")
    message = f"`{who}` draws from the stream {name!r}, and {_called(place)} is given no key for it in rngs."
    fixes: list[Fix] = []
    argument = f'rngs={{"{name}": {words_of(scene, "jax", "jax")}.random.key(0)}}'
    if place is not None and name_called(place.node) == "apply" and argument_of(place.node, -1, "rngs") is None:
        fixes.append(with_more(place, "give it a key", place.node, argument))  # type: ignore[arg-type]
    elif place is not None and name_called(place.node) == "apply":
        given = argument_of(place.node, -1, "rngs")
        keys = [*given.keys] if isinstance(given, ast.Dict) else []
        streams = [key.value for key in keys if isinstance(key, ast.Constant)]
        if isinstance(given, ast.Dict) and streams:
            message = f"{message[:-1]}: they are for {joined([repr(one) for one in streams])}."
            value = segment(place, given.values[0])
            fixes.append(put(place, "name the key as the stream is named", given, f'{{"{name}": {value}}}'))
    elif place is not None and name_called(place.node).startswith("init"):
        first = argument_of(place.node, 0, "rngs")
        if first is not None and not isinstance(first, ast.Dict):
            text = segment(place, first)
            fixes.append(put(place, "give it a key", first, f'{{"params": {text}, "{name}": {text}}}'))
    line = place.line if place is not None and place.file == scene.here else None
    return Told(message, (*fixes, advice(f"pass {argument}.")), (), line)


def _key_first(scene: Scene) -> Told | None:
    place = placed(scene, "init", "init_with_output") or scene.failed
    first, second = argument_of(place.node, 0, "rngs"), argument_of(place.node, 1, "")
    if first is None:
        return None
    value = place.value_of(first)
    what = scene.argument(0, "rngs")
    aval = f"{value.dtype}{list(value.shape)}".replace(" ", "") if is_array(value) else what.aval if what else ""
    text = segment(place, first)
    if is_array(value) and len(value.shape) > 0 and _holds_keys(value):
        message = f"{_called(place)} takes one random key, and `{text}` is {value.shape[0]} keys, {aval}."
        fix = put(place, "give it one of them", first, f"{bare(first, text)}[0]")
        return Told(message, (fix, advice("for parameters by each key, map over them: jax.vmap(init, (0, None)).")))
    message = f"the first argument of {_called(place)} is the random key, and `{text}` is {aval}."
    fixes: list[Fix] = []
    if second is not None:
        text = segment(place, place.node)
        swapped = text.replace(segment(place, first), "\0", 1).replace(segment(place, second), segment(place, first), 1)
        fixes.append(put(place, "put the key first", place.node, swapped.replace("\0", segment(place, second))))
    return Told(message, (*fixes, advice("call init(key, *inputs): the key first.")))


def _holds_keys(value: Any) -> bool:
    """Whether it is an array of keys, typed ones or of the old kind."""
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return True
    return value.dtype == "uint32" and value.ndim == 2 and value.shape[1] in (2, 4)


def _no_collections(scene: Scene) -> Told | None:
    if not _is(scene, "ApplyScopeInvalidVariablesTypeError"):
        return None
    place = placed(scene, "apply") or own(scene)
    given = argument_of(place.node, 0, "variables")
    step = scene.step("bind")
    value: Any = step.names.get("variables") if step is not None else None
    text = segment(place, given) if given is not None else "the first argument"
    keys = joined([f"{key!r}" for key in list(value)[:4]]) if hasattr(value, "keys") else type(value).__name__
    message = (
        f'the first argument of {_called(place)} is a dict of collections, such as {{"params": …}}, and `{text}` holds'
        f" {keys}: the parameters without their collection."
    )
    fixes = [put(place, "name the collection", given, f'{{"params": {text}}}')] if given is not None else []
    return Told(message, (*fixes, advice('pass {"params": params}.')))


def _nested(scene: Scene) -> Told | None:
    if not _is(scene, "ApplyScopeInvalidVariablesStructureError"):
        return None
    place = placed(scene, "apply") or own(scene)
    given = bound_to(place, argument_of(place.node, 0, "variables"))
    if given is None:
        return None
    inner = given.values[0] if isinstance(given, ast.Dict) and len(given.values) == 1 else None
    shown = segment(place, inner) if inner is not None else segment(place, given)
    message = (
        f"{_called(place)} is given the collection 'params' twice, one inside of the other: `{shown}` already is a dict"
        " of collections."
    )
    fixes = [put(place, "pass it as it is", given, shown)] if inner is not None else []
    return Told(message, (*fixes, advice(f'pass {shown} itself, or {shown}["params"] in that place.')))


def _unbound(scene: Scene) -> Told | None:
    if not _is(scene, "CallCompactUnboundModuleError"):
        return None
    node, place = scene.failed.node, scene.failed
    if not isinstance(node, ast.Call):
        return None
    text = segment(place, node.func)
    message = (
        f"`{text}` is a module without parameters, and is called directly: parameters come from `init`, and `apply`"
        " takes them."
    )
    given = [segment(place, item) for item in (*node.args, *node.keywords)]
    fixes: list[Fix] = []
    if (variables := _variables(place)) is not None:
        fixes.append(put(place, "apply it", node, f"{text}.apply({', '.join([variables, *given])})"))
    new = f"{text}.init_with_output({', '.join([key_word(scene, place), *given])})[0]"
    fixes.append(put(place, "initialise it, and take its output", node, new))
    return Told(message, (*fixes, advice(f"variables = {text}.init(key, x), then {text}.apply(variables, x).")), ())


def _width(scene: Scene) -> Told | None:
    """Parameters that were made for inputs of another width."""
    if not _is(scene, "ScopeParamShapeError"):
        return None
    step = scene.step("param")
    layer = scene.step("__call__")
    if step is None or layer is None:
        return None
    scope = step.names.get("self")
    path, name = str(getattr(scope, "path_text", "") or "").strip("/"), str(step.names.get("name"))
    module = layer.names.get("self")
    path = path or "/".join(getattr(module, "path", ()) or ()) or type(module).__name__
    value, wanted = step.names.get("value"), step.names.get("abs_value")
    was = tuple(getattr(value, "shape", ()))
    now = tuple(getattr(wanted, "shape", ()))
    inputs = next((layer.names[key] for key in ("inputs", "x") if is_array(layer.names.get(key))), None)
    shape = f", shape {dimensions(inputs.shape)}," if inputs is not None else ""
    facts = f"`{name}` of `{path}` is {dimensions(was)}" if was else f"`{name}` of `{path}` has another shape"
    differ = [(a, b) for a, b in zip(was, now, strict=False) if a != b]
    results = bool(was) and len(was) == len(now) and was[:-1] == now[:-1] and name in ("kernel", "bias", "embedding")
    made, hint = "", "call init again."
    if differ and results:
        kind = type(module).__name__
        made = f": it was initialised by a {kind} of {differ[0][0]} output features, and this one has {differ[0][1]}"
        hint = f"apply them by the {kind} of {differ[0][0]} features that made them, or call init of this one."
    elif differ:
        made = f": it was initialised for inputs of width {differ[0][0]}, and this one{shape} has {differ[0][1]}"
        hint = f"give it inputs of width {differ[0][0]}, or call init again with these."
    message = f"{facts}, and {dimensions(now)} is needed{made}."
    place = own(scene)
    return Told(message, (advice(hint),), (*arguments_at(place), *scene.operands))


def _lacking(scene: Scene) -> Told | None:
    """A parameter that the variables do not have."""
    step = scene.step("param")
    if not _is(scene, "ScopeParamNotFoundError") or step is None:
        return None
    name, scope = str(step.names.get("name")), step.names.get("self")
    path = [one for one in str(getattr(scope, "path_text", "") or "").split("/") if one]
    given = next((one for one in scene.operands if hasattr(one.value, "keys") and "params" in one.value), None)
    here: Any = given.value["params"] if given is not None else None
    for one in path:
        here = here.get(one) if hasattr(here, "keys") else None
    whose = f"`{given.text}`" if given is not None else "what was given"
    where = f" at `{'/'.join(path)}`" if path else ""
    message = f"{whose} has no parameter `{name}`{where}, which the module asks for"
    if hasattr(here, "keys") and len(here):
        message += f": there is {joined([f'`{key}`' for key in here])}"
    hint = f"name it `{name}`, as the module does, or make the variables with init of this module."
    return Told(f"{message}.", (advice(hint),))


def _pair(scene: Scene) -> Told | None:
    """`apply` with `mutable` returns a pair."""
    error, node, place = scene.error, scene.failed.node, scene.failed
    if not isinstance(getattr(error, "obj", None), tuple) or not isinstance(node, ast.Attribute):
        return None
    made = bound_to(place, node.value)
    given = argument_of(made, -1, "mutable")
    if name_called(made) not in ("apply", "init_with_output") or given is None or not isinstance(made, ast.Call):
        return None
    text = segment(place, node.value)
    message = (
        f"`{text}` is a tuple: `{segment(place, made.func)}` with mutable={segment(place, given)} returns the output"
        " and the updated collections."
    )
    statement = place.parent(made)
    fixes: list[Fix] = []
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        fixes.append(put(place, "unpack it", statement.targets[0], f"{text}, updated"))
    return Told(message, (*fixes, advice(f"unpack it: {text}, updated = …, or take {text}[0].")))


def _transform(scene: Scene) -> Told | None:
    """A transformation of JAX, instead of the one of linen, around a function that makes submodules."""
    if type(scene.error).__name__ not in ("UnexpectedTracerError", "JaxTransformError"):
        return None
    node = scene.failed.node
    holder = scene.failed.above(ast.ClassDef)
    words = ("scan", "while_loop", "fori_loop", "cond", "switch", "vmap", "jit", "grad", "value_and_grad", "checkpoint")
    call = node if name_called(node) in words else node.func if isinstance(node, ast.Call) else None
    word = name_called(call)
    bodies: list[ast.expr] = call.args if isinstance(call, ast.Call) else []
    if (
        word not in words
        or holder is None
        or not any(step in scene.under for step in ("wrapped_module_method", "apply", "init"))
    ):
        return None
    for body in bodies:
        made = next(_modules_of(scene.failed, body), None)
        if made is None:
            continue
        function = segment(scene.failed, body) if isinstance(body, ast.Name) else "the lambda"
        message = (
            f"`{word}` of JAX traces `{function}`, which makes the submodule `{segment(scene.failed, made)}` of"
            f" `{holder.name}`: its parameters are made inside of that trace, and leak out of it."
        )
        other = {"scan": f"{_linen(scene)}.scan or {_linen(scene)}.RNN", "checkpoint": f"{_linen(scene)}.remat"}
        return Told(
            message,
            (
                advice(
                    f"use {other.get(word, f'{_linen(scene)}.{word}')}, which lift modules through the transformation."
                ),
            ),
        )
    return None


def _modules_of(place: FailedExpression, body: ast.expr) -> Iterator[ast.Call]:
    """The submodules that a function makes."""
    function: ast.AST | None = body if isinstance(body, ast.Lambda) else None
    if isinstance(body, ast.Name):
        named = [node for node in ast.walk(place.tree) if isinstance(node, ast.FunctionDef) and node.name == body.id]
        function = named[-1] if named else None
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            root = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            kind = place.value_of(root)
            kind = getattr(kind, node.func.attr, None) if isinstance(node.func, ast.Attribute) else kind
            if isinstance(kind, type) and any(one.__module__.startswith("flax.linen") for one in kind.__mro__):
                yield node


_ATTRIBUTE: tuple[type[BaseException], ...] = (AttributeError,)
_ANY: tuple[type[BaseException], ...] = (Exception,)

EXPLAINERS = (
    Explainer("linen-transform", _ANY, _transform),
    Explainer("linen-list", _ATTRIBUTE, _frozen_list),
    Explainer("linen-outside", _ATTRIBUTE, _outside, inside=frozenset({"__getattr__"})),
    Explainer("linen-pair", _ATTRIBUTE, _pair),
    Explainer("linen-compact", _ANY, _compact),
    Explainer("linen-name", _ANY, _in_use),
    Explainer("linen-frozen", _ANY, _frozen),
    Explainer("linen-flag", (ValueError,), _unsaid, inside=frozenset({"merge_param"})),
    Explainer("linen-immutable", _ANY, _immutable),
    Explainer("linen-rngs", _ANY, _no_key),
    Explainer("linen-collections", _ANY, _no_collections),
    Explainer("linen-nested", _ANY, _nested),
    Explainer("linen-unbound", _ANY, _unbound),
    Explainer("linen-shape", _ANY, _width),
    Explainer("linen-lacking", _ANY, _lacking),
)
