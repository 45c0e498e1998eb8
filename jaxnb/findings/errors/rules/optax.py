"""Losses, updates, states and schedules of optax with arguments that do not go together."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import jax

from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import argument_of, bound_to, calls_named, is_of, name_called, named_like
from jaxnb.findings.errors.edits import advice, bare, dimensions, joined, put, segment, with_more, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.parts import unpacked_otherwise
from jaxnb.findings.errors.scene import Operand, Scene, Step, abstract_text, is_array
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]


def _step(scene: Scene, *names: str) -> Step | None:
    """The innermost call of one of these functions of optax."""
    return next(
        (step for step in reversed(scene.steps) if step.name in names and step.module.startswith("optax")), None
    )


def _like(scene: Scene, value: Any, given: Sequence[str] = ()) -> list[str]:
    """What in the user's names has the structure and the shapes of a tree, as it is to be written; "params" first."""
    wanted = _shapes(value)
    found: list[str] = []
    for name, other in scene.failed.frame.items():
        if name.startswith("_") or other is value:
            continue
        if is_of(other, "equinox") and not type(other).__module__.startswith("equinox._") and name not in given:
            eqx = words_of(scene, "equinox", "eqx")
            found.append(f"{eqx}.filter({name}, {eqx}.is_array)")
        elif _shapes(other) == wanted:
            found.append(name)
    return sorted(found, key=lambda name: ("param" not in name, "filter(" not in name, "grad" in name))


def _shapes(value: Any) -> Any:
    try:
        leaves, tree = jax.tree.flatten(value)
    except (TypeError, ValueError):
        return None
    return tree, [getattr(leaf, "shape", None) for leaf in leaves] if leaves else None


def _without_params(scene: Scene) -> Told | None:
    """Updates that depend on the parameters."""
    step, node = scene.steps[-1], scene.failed.node
    if not step.module.startswith("optax") or "params" not in step.names or step.names["params"] is not None:
        return None
    if not isinstance(node, ast.Call) or name_called(node) != "update":
        return None
    optimiser = segment(scene.failed, node.func.value) if isinstance(node.func, ast.Attribute) else "the optimiser"
    updates = step.names.get("updates")
    given = [scene.text(item) for item in node.args]
    names = [one for one in _like(scene, updates, given) if one not in given]
    message = (
        f"`update` of `{optimiser}` needs the parameters, params, as its weight decay or scaling depends on them, and"
        f" is given {joined([f'`{one}`' for one in given])} alone."
    )
    fixes = [with_more(scene.failed, "pass the parameters, too", node, name) for name in names[:3]]
    return Told(message, (*fixes, advice(f"pass them: {optimiser}.update(grads, state, params).")))


# --- losses ---


def _labels(scene: Scene) -> tuple[Step, Operand, Operand] | None:
    step = next((one for one in scene.steps if one.module.startswith("optax.losses")), None)
    logits, labels = scene.argument(0, "logits"), scene.argument(1, "labels")
    if step is None or logits is None or labels is None or not (logits.is_array and labels.is_array):
        return None
    return step, logits, labels


def _one_hot(scene: Scene) -> Told | None:
    found = _labels(scene)
    if found is None:
        return None
    step, logits, labels = found
    one, two = logits.shape or (), labels.shape or ()
    integers = "int" in labels.dtype
    node = scene.failed.node
    if step.name != "softmax_cross_entropy" or not integers or one[:-1] != two or not isinstance(node, ast.Call):
        return None
    message = (
        f"`softmax_cross_entropy` takes a distribution over the classes for each example, and `{labels.text}` are"
        f" integer labels: {labels.aval}, where `{logits.text}` is {dimensions(one)}."
    )
    fix = put(
        scene.failed,
        "take the loss of integer labels",
        node.func,
        f"{segment(scene.failed, node.func)}_with_integer_labels",
    )
    return Told(message, (fix, advice("take softmax_cross_entropy_with_integer_labels, or jax.nn.one_hot(labels, n).")))


def _float_labels(scene: Scene) -> Told | None:
    found = _labels(scene)
    if found is None or _step(scene, "check_subdtype") is None or "float" not in found[2].dtype:
        return None
    step, _, labels = found
    message = f"`{step.name}` takes integer labels, and `{labels.text}` is {labels.aval}."
    text = bare(labels.node, segment(scene.failed, labels.node))
    fix = put(scene.failed, "cast the labels", labels.node, f"{text}.astype(int)")
    return Told(message, (fix, advice("cast them: labels.astype(int).")))


def _label_axis(scene: Scene) -> Told | None:
    found = _labels(scene)
    if found is None:
        return None
    step, logits, labels = found
    one, two = logits.shape or (), labels.shape or ()
    if "integer_labels" not in step.name or two == one[:-1]:
        return None
    message = (
        f"`{step.name}` takes one label for each row of `{logits.text}` {dimensions(one)}: labels of shape"
        f" {dimensions(one[:-1])}, and `{labels.text}` is {dimensions(two)}."
    )
    fixes: list[Fix] = []
    text = bare(labels.node, segment(scene.failed, labels.node))
    if two == (*one[:-1], 1):
        index = ", ".join([":"] * len(one[:-1]) + ["0"])
        fixes.append(put(scene.failed, "drop the last axis", labels.node, f"{text}[{index}]"))
    elif len(two) == len(one):
        fixes.append(put(scene.failed, "take the classes", labels.node, f"{text}.argmax(-1)"))
    return Told(message, (*fixes, advice("drop the axis of size 1, or reshape the labels.")))


# --- states and trees ---


def _no_state(scene: Scene) -> Told | None:
    """An optimiser where its state belongs."""
    node = scene.failed.node
    if not isinstance(node, ast.Call) or name_called(node) != "update" or _step(scene, "update_fn") is None:
        return None
    given = scene.argument(2 if isinstance(node.func, ast.Attribute) else 1, "state")
    if given is None or not (hasattr(given.value, "init") and hasattr(given.value, "update")):
        return None
    params = argument_of(node, 2, "params")
    text = segment(scene.failed, params) if params is not None else "params"
    message = (
        f"the second argument of `{scene.text(node.func)}` is the state, and `{given.text}` is the optimiser itself, a"
        f" {type(given.value).__name__}."
    )
    new = f"{given.text}.init({text})"
    fix = put(scene.failed, "begin with a new state", given.node, new)
    return Told(message, (fix, advice(f"make it once, state = {new}, and carry it from step to step.")))


def _other_state(scene: Scene) -> Told | None:
    """A state of other parameters than the updates are of."""
    step, node = _step(scene, "update_fn", "update"), scene.failed.node
    if step is None or not isinstance(node, ast.Call) or name_called(node) != "update":
        return None
    updates, state = argument_of(node, 0, "updates"), argument_of(node, 1, "state")
    outer = next((one for one in scene.steps if "updates" in one.names and "state" in one.names), None)
    if updates is None or state is None or outer is None:
        return None
    value = outer.names["updates"]
    other = next(_trees(outer.names["state"]), None)
    if other is None or jax.tree.structure(other) == jax.tree.structure(value):
        return None
    if is_array(value):
        return None  # one array: gradients by something else than the parameters
    texts = segment(scene.failed, state), segment(scene.failed, updates)
    extra = _keys(value) ^ _keys(other)
    differ = f": they differ in {joined([f'{key!r}' for key in sorted(extra, key=str)])}" if extra else ""
    message = (
        f"`{texts[0]}` was made by `init` of other parameters, {abstract_text(other)}, than `{texts[1]}` has,"
        f" {abstract_text(value)}: their structures have to be the same{differ}."
    )
    params = argument_of(node, 2, "params")
    optimiser = segment(scene.failed, node.func.value) if isinstance(node.func, ast.Attribute) else "optimiser"
    names = [segment(scene.failed, params)] if params is not None else _like(scene, value)[:1]
    new = [f"{optimiser}.init({name})" for name in names]
    fixes = [put(scene.failed, "make a state for these", state, one) for one in new]
    return Told(message, (*fixes, advice(f"make the state anew: {optimiser}.init(params).")))


def _trees(state: Any) -> Iterator[Any]:
    """The trees in a state that are shaped like the parameters."""
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        for name in getattr(state, "_fields", ()):
            value = getattr(state, name)
            if name in ("mu", "nu", "trace", "sum_of_squares"):
                yield value
            else:
                yield from _trees(value)
    elif type(state) is tuple:
        for part in state:
            yield from _trees(part)


def _keys(value: Any) -> set[Any]:
    return set(value) if isinstance(value, dict) else set()


def _applied(scene: Scene) -> Told | None:
    step, node = _step(scene, "apply_updates"), scene.failed.node
    if step is None or not isinstance(node, ast.Call) or "params" not in step.names:
        return None
    params, updates = step.names["params"], step.names["updates"]
    nodes = [argument_of(node, 0, "params"), argument_of(node, 1, "updates")]
    if jax.tree.structure(params) == jax.tree.structure(updates) or None in nodes:
        return None
    one, two = (scene.text(item) for item in nodes if item is not None)
    kinds = type(params).__name__, type(updates).__name__
    message = (
        f"`apply_updates` takes two trees of one structure, and `{one}` is a {kinds[0]} {abstract_text(params)},"
        f" `{two}` a {kinds[1]} {abstract_text(updates)}."
    )
    fixes: list[Fix] = []
    for item in nodes:
        if isinstance(item, ast.Call) and name_called(item) in ("tuple", "list", "dict") and len(item.args) == 1:
            fixes.append(put(scene.failed, "keep its structure", item, segment(scene.failed, item.args[0])))
    swapped = [unpacked_otherwise(scene.failed, item) for item in nodes]
    guesses = tuple(one for one in swapped if one is not None)
    hint = advice("give both the same structure, the one that grad and init saw: updates, opt_state = tx.update(…).")
    return Told(message, (*fixes, hint), guesses=guesses)


def _extra(scene: Scene) -> Told | None:
    """Optimisers that search along a line, and need the loss."""
    step, node = scene.steps[-1], scene.failed.node
    functions = step.names.get("update_fns")
    if step.name != "update_fn" or not isinstance(functions, tuple) or not isinstance(node, ast.Call):
        return None
    given = {item.arg for item in node.keywords}
    needed = list(dict.fromkeys(name for function in functions for name in _keywords(function) if name not in given))
    if not needed:
        return None
    optimiser = segment(scene.failed, node.func.value) if isinstance(node.func, ast.Attribute) else "the optimiser"
    message = (
        f"`update` of `{optimiser}` also needs {joined([f'`{name}`' for name in needed])}: it searches along a line"
        " with the loss."
    )
    known = _of_value_and_grad(scene)
    hint = f"pass {', '.join(f'{name}=…' for name in needed)}."
    if all(name in known for name in needed):
        fix = with_more(scene.failed, "pass them", node, ", ".join(f"{name}={known[name]}" for name in needed))
        return Told(message, (fix, advice(hint)))
    return Told(message, (advice(hint),))


def _keywords(function: Any) -> list[str]:
    inner = inspect.unwrap(function)
    return [
        name
        for name, parameter in inspect.signature(inner).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty
    ]


def _of_value_and_grad(scene: Scene) -> dict[str, str]:
    """What `value, grads = jax.value_and_grad(f)(…)` of the text calls these."""
    for item in ast.walk(scene.failed.tree):
        value = item.value if isinstance(item, ast.Assign) else None
        made = bound_to(scene.failed, value.func) if isinstance(value, ast.Call) else None
        if isinstance(item, ast.Assign) and name_called(made) == "value_and_grad" and isinstance(made, ast.Call):
            target = item.targets[0]
            if isinstance(target, ast.Tuple) and len(target.elts) == 2 and made.args:
                parts = [segment(scene.failed, part) for part in (*target.elts, made.args[0])]
                return dict(zip(("value", "grad", "value_fn"), parts, strict=True))
    return {}


def _unknown_label(scene: Scene) -> Told | None:
    step = _step(scene, "init_fn")
    transforms, labels = (step.names.get(key) for key in ("transforms", "labels")) if step is not None else (None, None)
    if not isinstance(transforms, dict):
        return None
    unknown = sorted({str(leaf) for leaf in jax.tree.leaves(labels)} - {str(key) for key in transforms})
    if not unknown:
        return None
    call = next(calls_named(scene.failed.tree, "multi_transform", "partition"), None)
    node = argument_of(call, 1, "param_labels")
    text = f"`{segment(scene.failed, node)}`" if node is not None else "the labels"
    message = (
        f"{text} name {joined([repr(one) for one in unknown])}, and the transforms are"
        f" {joined([repr(str(key)) for key in transforms])}: no transform has that label."
    )
    near = named_like(unknown[0], transforms)
    written = bound_to(scene.failed, node)
    fixes = [
        put(scene.failed, "name a transform", item, f'"{near}"')
        for item in (ast.walk(written) if written is not None else ())
        if isinstance(item, ast.Constant) and item.value == unknown[0] and near is not None
    ]
    return Told(message, (*fixes, advice(f"label them {joined([repr(str(key)) for key in transforms], 'or')}.")))


def _boundaries(scene: Scene) -> Told | None:
    """One number where `join_schedules` takes the steps at which it goes on to the next one."""
    step = next((one for one in scene.steps if "boundaries" in one.names and one.module.startswith("optax")), None)
    value = step.names["boundaries"] if step is not None else None
    call = next(iter(calls_named(scene.failed.tree, "join_schedules")), None)
    node = argument_of(call, 1, "boundaries")
    if type(value) is not int or call is None or node is None:
        return None
    text = segment(scene.failed, node)
    message = (
        f"boundaries of `join_schedules` is a list of steps, one for each change of schedule, and `{text}` is an int."
    )
    statement = next(
        (one for one in ast.walk(scene.failed.tree) if isinstance(one, ast.Assign) and one.value is call), None
    )
    if statement is not None:
        message += f" It made `{segment(scene.failed, statement.targets[0])}`."
    fix = put(scene.failed, "make a list of it", node, f"[{text}]")
    return Told(message, (fix, advice(f"give a list: [{text}].")), (), call.lineno)


def _hyperparams(scene: Scene) -> Told | None:
    """`state.hyperparams` of an optimiser that was not made by `inject_hyperparams`."""
    name, node = getattr(scene.error, "name", ""), scene.failed.node
    found = next((one for one in ast.walk(node) if isinstance(one, ast.Attribute) and one.attr == name), None)
    if name not in ("hyperparams", "learning_rate") or found is None:
        return None
    state: Any = scene.failed.value_of(found.value)
    if not isinstance(state, tuple) or "optax" not in {
        type(one).__module__.partition(".")[0] for one in (state, *state)
    }:
        return None
    text = scene.text(found.value)
    frame = scene.failed.frame
    owner = next((key for key, one in frame.items() if type(one).__name__.startswith("GradientTransformation")), "")
    made = f" of `{owner}`" if owner else ""
    message = (
        f"`{text}` is the state{made}, a {type(state).__name__} without `{name}`: only the state of what"
        " `optax.inject_hyperparams` has made holds its hyperparameters."
    )
    hint = "make it so that they are in its state: optax.inject_hyperparams(optax.adam)(learning_rate=…)."
    return Told(message, (advice(hint),), ())


def _schedule(scene: Scene) -> Told | None:
    """A schedule in the place of a rate."""
    for operand in scene.operands:
        module = str(getattr(operand.value, "__module__", ""))
        if callable(operand.value) and module.startswith("optax"):
            frame = scene.failed.frame
            names = [name for name in ("step", "count", "i", "epoch", "t") if isinstance(frame.get(name), int)]
            step = names[0] if names else "0"
            message = (
                f"`{operand.text}` is a schedule of optax, a function of the step, and no number: it has to be called."
            )
            fix = put(scene.failed, "call it", operand.node, f"{operand.text}({step})")
            return Told(message, (fix, advice(f"call it with the step: {operand.text}(step).")))
    return None


_ANY = (TypeError, ValueError)

EXPLAINERS = (
    Explainer("optax-params", (ValueError,), _without_params, inside=frozenset({"update_fn", "update"})),
    Explainer("optax-labels", _ANY, _one_hot, inside=RAISING["broadcast"]),
    Explainer("optax-labels", _ANY, _float_labels, inside=frozenset({"check_subdtype"})),
    Explainer("optax-labels", _ANY, _label_axis, inside=frozenset({"softmax_cross_entropy_with_integer_labels"})),
    Explainer("optax-state", (AttributeError, *_ANY), _no_state, inside=frozenset({"update_fn"})),
    Explainer("optax-state", _ANY, _other_state, inside=frozenset({"tree_map"})),
    Explainer("optax-updates", _ANY, _applied, inside=frozenset({"apply_updates"})),
    Explainer("optax-arguments", (TypeError,), _extra, inside=frozenset({"update_fn"})),
    Explainer("optax-transforms", (ValueError,), _unknown_label, inside=frozenset({"init_fn"})),
    Explainer("optax-schedule", (TypeError,), _schedule),
    Explainer("optax-schedule", (TypeError,), _boundaries, inside=frozenset({"schedule"})),
    Explainer("optax-hyperparams", (AttributeError,), _hyperparams),
)
