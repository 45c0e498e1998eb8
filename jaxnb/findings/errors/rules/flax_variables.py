"""What modules of flax.linen are given: collections that are left out, initializers of another form, inputs of another
dtype, window sizes that are one number."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from jaxnb.findings.errors.calls import argument_of, name_called, own, placed
from jaxnb.findings.errors.edits import advice, bracketed, exchange, joined, put, segment, with_more, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Scene, is_array
from jaxnb.findings.errors.signatures import Argument, operand_of, read_call
from jaxnb.findings.place import FailedExpression
from jaxnb.program import Fix
from jaxnb.staging import describe

__all__ = ["EXPLAINERS"]


def _of_linen(scene: Scene, *names: str) -> Any:
    """The innermost call of a function of flax below the expression."""
    found = (step for step in reversed(scene.steps) if step.name in names and step.module.startswith("flax."))
    return next(found, None)


def _applied(scene: Scene) -> FailedExpression:
    return placed(scene, "apply", "init", "init_with_output") or own(scene)


# --- collections ---


def _left_out(scene: Scene) -> Told | None:
    """A collection that `apply` was not given."""
    kind, step = type(scene.error), _of_linen(scene, "variable", "get_variable", "param")
    if kind.__name__ != "ScopeCollectionNotFound" or step is None:
        return None
    collection, name = str(step.names.get("col", "params")), str(step.names.get("name"))
    place, layer = _applied(scene), _of_linen(scene, "__call__")
    module = layer.names.get("self") if layer is not None else None
    who = str(getattr(module, "name", None) or "the module") if module is not None else "the module"
    called = segment(place, place.node.func) if isinstance(place.node, ast.Call) else "apply"
    message = f"`{who}` reads its `{name}` from the collection {collection!r}, which `{called}` was not given."
    given = argument_of(place.node, 0, "variables")
    fixes = list(_with_collection(place, given, collection)) if given is not None else []
    hint = f'give it the collection, too: {{"params": …, "{collection}": variables["{collection}"]}}.'
    return Told(message, (*fixes, advice(hint)), ())


def _with_collection(place: FailedExpression, given: ast.expr, collection: str) -> Iterator[Fix]:
    names = [name for name, value in place.frame.items() if _has(value, collection) and not name.startswith("_")]
    if not names:
        return
    name = "variables" if "variables" in names else names[-1]
    more = f'"{collection}": {name}["{collection}"]'
    text = segment(place, given)
    new = (
        f"{text.rstrip()[:-1].rstrip().rstrip(',')}, {more}}}"
        if isinstance(given, ast.Dict)
        else f"{{**{text}, {more}}}"
    )
    yield put(place, "give it the collection, too", given, new)


def _has(value: Any, collection: str) -> bool:
    return isinstance(value, Mapping) and collection in value


def _no_variables(scene: Scene) -> Told | None:
    """`apply` with the inputs where the variables belong."""
    step = _of_linen(scene, "apply")
    node = scene.failed.node
    value = step.names.get("variables") if step is not None else None
    if name_called(node) != "apply" or not isinstance(node, ast.Call) or not is_array(value):
        return None
    first = argument_of(node, 0, "variables")
    if first is None:
        return None
    text, called = scene.text(first), scene.text(node.func)
    message = f"the first argument of `{called}` are the variables, and `{text}` is an array, {describe(value)}."
    found = [name for name, one in scene.failed.frame.items() if _has(one, "params") and not name.startswith("_")]
    fixes: list[Fix] = []
    if found:
        name = "variables" if "variables" in found else found[-1]
        others = [scene.text(item) for item in node.args if scene.text(item) != name]
        named = [scene.text(item) for item in node.keywords]
        fixes.append(
            put(scene.failed, "give the variables first", node, f"{called}({', '.join([name, *others, *named])})")
        )
    return Told(message, (*fixes, advice(f"give the variables first: {called}(variables, …).")))


def _no_inputs(scene: Scene) -> Told | None:
    """`init` or `apply` without what the module's own function needs."""
    step = _of_linen(scene, "_call_wrapped_method")
    place = _applied(scene)
    if step is None or step is not scene.steps[-1] or not isinstance(place.node, ast.Call) or place is not scene.failed:
        return None
    function, args = step.names.get("fun"), step.names.get("args")
    if not callable(function) or not isinstance(args, tuple) or name_called(place.node) not in ("init", "apply"):
        return None
    parameters = list(inspect.signature(function).parameters.values())[1:]
    needed = [one.name for one in parameters if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    named = {item.arg for item in place.node.keywords}
    missing = [name for name in needed[len(args) :] if name not in named]
    if not missing:
        return None
    called, own_name = segment(place, place.node.func), f"{type(step.names.get('self')).__name__}.__call__"
    after = "the key" if name_called(place.node) == "init" else "the variables"
    listed = joined([f"`{name}`" for name in missing])
    message = f"`{called}` hands on what follows {after} to `{own_name}`, which needs {listed}."
    fixes: list[Fix] = []
    if all(is_array(place.frame.get(name)) for name in missing):
        fixes.append(with_more(place, f"give it {joined(missing)}", place.node, ", ".join(missing)))
    return Told(message, (*fixes, advice(f"give it {joined(missing)} behind {after}.")))


# --- initializers ---


def _initializer(scene: Scene) -> Told | None:
    """`param` calls its function with a key first, and `variable` calls it without."""
    node = scene.failed.node
    step = _of_linen(scene, "param", "variable")
    name = name_called(node)
    if step is None or name not in ("param", "variable") or not isinstance(node, ast.Call):
        return None
    place = 1 if name == "param" else 2
    given, function = argument_of(node, place, "init_fn"), step.names.get("init_fn")
    if given is None or not callable(function) or isinstance(given, ast.Lambda):
        return None
    text, known = scene.text(given), str(getattr(function, "__name__", ""))
    takes_key = str(getattr(function, "__module__", "")).endswith("initializers")
    rest = ", ".join(scene.text(item) for item in node.args[place + 1 :])
    linen = words_of(scene, "flax.linen", "nn")
    variable = segment(scene.failed, node.args[place - 1]) if node.args else "it"
    fixes: list[Fix] = []
    if name == "param" and not takes_key:
        message = (
            f"`param` makes {variable} by `{text}(key, {rest})`, with a random key first, and `{text}` takes no key."
        )
        if hasattr(jax.nn.initializers, known):
            fixes.append(exchange(scene, "take the initializer", (given, f"{linen}.initializers.{known}")))
        fixes.append(exchange(scene, "leave the key aside", (given, f"lambda key, *args: {text}(*args)")))
        hint = f"give an initializer, such as {linen}.initializers.ones, or lambda key, shape: …."
    elif name == "variable" and takes_key:
        message = (
            f"`variable` makes {variable} by `{text}({rest})`, without a random key, and `{text}` takes a key first."
        )
        if hasattr(jnp, known):
            fixes.append(exchange(scene, "take the function without a key", (given, f"{words_of(scene)}.{known}")))
        drawn = f'lambda *args: {text}(self.make_rng("params"), *args)'
        fixes.append(exchange(scene, "draw a key for it", (given, drawn)))
        hint = "give a function without a key, such as jnp.zeros, or draw one: self.make_rng(…)."
    else:
        return None
    return Told(message, (*fixes, advice(hint)), ())


# --- inputs and sizes ---


def _float_indices(scene: Scene) -> Told | None:
    """An embedding that is asked for floats."""
    step = scene.steps[-1] if scene.steps else None
    if step is None or step.name not in ("__call__", "attend") or not step.module.startswith("flax."):
        return None
    module = step.names.get("self")
    value: Any = step.names.get("inputs")
    if type(module).__name__ != "Embed" or not is_array(value) or jnp.issubdtype(value.dtype, jnp.integer):
        return None
    found = next((one for one in scene.operands if one.value is value), None)
    text = found.text if found is not None else "the input"
    message = f"`{text}` is {describe(value)}, and an Embed takes integers: each is the number of a row."
    fixes = [exchange(scene, "cast it to int", (found.node, f"{bracketed(found)}.astype(int)"))] if found else []
    return Told(message, (*fixes, advice("cast it: .astype(int).")), (found,) if found is not None else ())


_TUPLES = frozenset({"window_shape", "kernel_size", "strides", "window_strides", "input_dilation", "kernel_dilation"})


def _one_size(scene: Scene) -> Told | None:
    """One number where a size for each axis is taken."""
    node = scene.failed.node
    if not isinstance(node, ast.Call):
        return None
    calls = [node, *([node.func] if isinstance(node.func, ast.Call) else [])]
    for call in calls:
        read = read_call(scene, call)
        found = next((one for one in read.arguments if _is_size(one)), None) if read is not None else None
        if read is None or found is None or found.parameter is None:
            continue
        inputs = next((one.value for one in scene.arrays if len(one.shape or ()) > 2), None)
        ranks = [max(1, getattr(inputs, "ndim", 4) - 2)]
        name = found.parameter.name
        message = f"`{name}` of `{read.name}` is a tuple with a size for each axis, and `{found.text}` is one number."
        fixes = [
            exchange(scene, "give one for each axis", (found.node, f"({', '.join([found.text] * n)}{',' * (n == 1)})"))
            for n in ranks
        ]
        return Told(
            message,
            (*fixes, advice("give one for each axis, such as (2, 2).")),
            (*scene.arrays, operand_of(scene, found)),
        )
    return None


def _is_size(one: Argument) -> bool:
    return one.parameter is not None and one.parameter.name in _TUPLES and one.is_integer


_ANY: tuple[type[BaseException], ...] = (Exception,)

EXPLAINERS = (
    Explainer("linen-left-out", _ANY, _left_out),
    Explainer("linen-order", (TypeError,), _no_variables, inside=frozenset({"apply"})),
    Explainer("linen-inputs", (TypeError,), _no_inputs, inside=frozenset({"_call_wrapped_method"})),
    Explainer("linen-initializer", (TypeError, ValueError), _initializer, inside=frozenset({"param", "variable"})),
    Explainer("embedding", (ValueError, TypeError), _float_indices),
    Explainer("one-size", (TypeError, ValueError), _one_size),
)
