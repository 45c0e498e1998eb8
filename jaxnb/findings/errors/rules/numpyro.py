"""Models of numpyro whose sites, plates and arguments do not fit."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import argument_of, bound_to, calls_named, name_called
from jaxnb.findings.errors.edits import advice, dimensions, joined, put, segment, with_more, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Operand, Scene, Step, is_array
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]


def _step(scene: Scene, *names: str) -> Step | None:
    """The innermost call of one of these functions of numpyro."""
    return next(
        (step for step in reversed(scene.steps) if step.name in names and step.module.startswith("numpyro")), None
    )


def _without_key(scene: Scene) -> Told | None:
    step, node = _step(scene, "sample"), scene.failed.node
    outer = next((one for one in scene.steps if one.name == "sample" and "rng_key" in one.names), None)
    if (
        step is None
        or step is not scene.steps[-1]
        or outer is None
        or outer.names["rng_key"] is not None
        or not isinstance(node, ast.Call)
        or type(outer.names.get("sample_shape", ())) is not tuple
    ):
        return None
    site, function = str(outer.names.get("name")), scene.failed.function
    where = f" in `{function}`" if function else ""
    message = (
        f"the site {site!r}{where} has no random key: outside of inference a model is run with `seed`, or with rng_key."
    )
    fixes: list[Fix] = []
    caller = next((place for place in scene.callers if name_called(place.node) == function), None)
    if caller is not None and isinstance(caller.node, ast.Call):
        word = next((key for key, value in scene.failed.frame.items() if _is_seed(value)), None)
        word = word or f"{words_of(scene, 'numpyro', 'numpyro')}.handlers.seed"
        fixes.append(
            put(caller, "run it with a seed", caller.node.func, f"{word}({segment(caller, caller.node.func)}, 0)")
        )
    key = f"rng_key={words_of(scene, 'jax', 'jax')}.random.key(0)"
    fixes.append(with_more(scene.failed, "give it a key", node, key))
    return Told(
        message, (*fixes, advice(f"run numpyro.handlers.seed({function or 'model'}, 0)(…), or pass rng_key=…."))
    )


def _sample_shape(scene: Scene) -> Told | None:
    """A number where the tuple of a shape is taken."""
    outer = next((one for one in scene.steps if one.name == "sample" and "sample_shape" in one.names), None)
    node = scene.failed.node
    shape = outer.names["sample_shape"] if outer is not None else ()
    if type(shape) in (tuple, list) or not isinstance(node, ast.Call):
        return None
    given = argument_of(node, -1, "sample_shape") or argument_of(node, 2, "sample_shape")
    text = scene.text(given) if given is not None else "sample_shape"
    message = f"sample_shape is a shape, a tuple of sizes, and `{text}` is {shape!r}, an {type(shape).__name__}."
    fixes = [put(scene.failed, "make a tuple of it", given, f"({text},)")] if given is not None else []
    return Told(message, (*fixes, advice(f"give a tuple: ({text},).")))


def _in_plates(scene: Scene) -> Told | None:
    """A distribution of another size than the plate that its site stands in."""
    step = _step(scene, "process_message", "sample")
    msg = next((one.names["msg"] for one in reversed(scene.steps) if isinstance(one.names.get("msg"), dict)), None)
    node = scene.failed.node
    if step is None or msg is None or not isinstance(node, ast.Call) or name_called(node) != "sample":
        return None
    name, known = str(msg.get("name")), getattr(msg.get("fn"), "batch_shape", None)
    plate = next(
        (one.names["self"] for one in reversed(scene.steps) if type(one.names.get("self")).__name__ == "plate"), None
    )
    size, dim = getattr(plate, "size", None), getattr(plate, "dim", -1)
    if (
        not isinstance(known, tuple)
        or size is None
        or not known
        or not -len(known) <= dim < 0
        or known[dim] in (1, size)
    ):
        return None
    made = argument_of(node, 1, "fn")
    parts = [one for one in ast.walk(made) if isinstance(one, ast.Name)] if made is not None else []
    wide = [one for one in parts if getattr(scene.failed.value_of(one), "shape", ()) == known]
    observed = argument_of(node, -1, "obs")
    text = f"`{wide[0].id}` in " if wide else ""
    shown = f"`{scene.text(made)}`" if made is not None else "its distribution"
    data = f", for `{scene.text(observed)}`" if observed is not None else ""
    message = (
        f"the site {name!r} stands in the plate {getattr(plate, 'name', '')!r} of size {size}{data}, and {text}{shown}"
        f" has the shape {dimensions(known)}: {known[dim]} along that axis."
    )
    fixes: list[Fix] = []
    for index, value in scene.failed.frame.items() if wide else ():
        if is_array(value) and tuple(value.shape) == (size,) and "int" in str(value.dtype):
            fixes.append(put(scene.failed, "take that of the group of each", wide[0], f"{wide[0].id}[{index}]"))
    return Told(message, (*fixes, advice(f"index it by the group of each item, such as [groups], or give it {size}.")))


def _is_seed(value: Any) -> bool:
    return getattr(value, "__name__", "") == "seed" and getattr(value, "__module__", "") == "numpyro.handlers"


def _model_calls(scene: Scene, word: str, name: str) -> list[ast.Call]:
    """The calls of the text that make a site or a plate of a name."""
    found = calls_named(scene.failed.tree, word)
    return [
        call
        for call in found
        if isinstance(first := argument_of(call, 0, "name"), ast.Constant) and first.value == name
    ]


def _plates(scene: Scene) -> Told | None:
    """A plate of another size than what is observed in it."""
    step = _step(scene, "_validate_model", "log_prob", "postprocess_message", "process_message")
    site = (step.names.get("site") or step.names.get("msg")) if step is not None else None
    if not isinstance(site, dict) or "cond_indep_stack" not in site:
        return None
    shape, name = tuple(getattr(site.get("value"), "shape", ())), str(site.get("name"))
    for frame in site["cond_indep_stack"]:
        size = shape[frame.dim] if -len(shape) <= frame.dim < 0 else 1
        if size in (1, frame.size):
            continue
        sampled = next(iter(_model_calls(scene, "sample", name)), None)
        observed = argument_of(sampled, -1, "obs")
        text = f"`{segment(scene.failed, observed)}`" if observed is not None else "its value"
        message = (
            f"the plate {frame.name!r} has size {frame.size}, and {text}, observed at the site {name!r} in it, has"
            f" {size} along that axis: shape {dimensions(shape)}."
        )
        fixes: list[Fix] = []
        plate = next(iter(_model_calls(scene, "plate", frame.name)), None)
        node = argument_of(plate, 1, "size")
        if node is not None and isinstance(observed, ast.Name):
            new = f"{observed.id}.shape[{frame.dim if len(shape) > 1 else 0}]"
            fixes.append(put(scene.failed, "take the size of the data", node, new))
        hint = f"make the plate as long as the data: numpyro.plate({frame.name!r}, {size})."
        return Told(message, (*fixes, advice(hint)), _data(scene))
    return None


def _data(scene: Scene) -> tuple[Operand, ...]:
    return tuple(operand for operand in scene.operands if operand.is_array and "key" not in operand.dtype)


def _twice(scene: Scene) -> Told | None:
    step, node = _step(scene, "postprocess_message"), scene.failed.node
    msg = step.names.get("msg") if step is not None else None
    if not isinstance(msg, dict) or not isinstance(node, ast.Call):
        return None
    name = str(msg.get("name"))
    others = [call for call in _model_calls(scene, name_called(node), name) if call.lineno != node.lineno]
    where = f", the other one is on line {others[0].lineno}" if others and scene.failed.file == scene.here else ""
    message = f"two sites of the model have the name {name!r}{where}: each site has to have a name of its own."
    first, statement = argument_of(node, 0, "name"), scene.failed.statement
    fixes: list[Fix] = []
    if isinstance(first, ast.Constant):
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        new = target.id if isinstance(target, ast.Name) and target.id != name else f"{name}_2"
        fixes.append(put(scene.failed, "give it another name", first, f'"{new}"'))
    return Told(message, (*fixes, advice("give it another name.")), ())


def _invalid(scene: Scene) -> Told | None:
    """Parameters that a distribution does not allow."""
    step, node = _step(scene, "validate_args"), scene.failed.node
    if step is None or "param" not in step.names or not isinstance(node, ast.Call):
        return None
    name, value, constraint = str(step.names["param"]), step.names.get("value"), step.names.get("constraint")
    kind = type(step.names.get("self")).__name__
    given = argument_of(node, -1, name)
    if given is None:
        order = list(getattr(step.names.get("self"), "arg_constraints", {}))
        given = argument_of(node, order.index(name), name) if name in order else None
    wanted = _constraint(constraint)
    shown = f"`{segment(scene.failed, given)}`" if given is not None else "what is given"
    message = f"`{name}` of `{kind}` has to be {wanted}, and {shown} is {_number(value)}."
    fixes: list[Fix] = []
    if given is not None and "positive" in wanted:
        text = segment(scene.failed, given)
        fixes.append(put(scene.failed, "make it positive", given, f"{words_of(scene)}.abs({text})"))
    return Told(message, (*fixes, advice(f"give it a {wanted} value; exp or softplus make positive ones.")))


def _constraint(constraint: Any) -> str:
    name = type(constraint).__name__.strip("_").lower()
    bounds = {key: getattr(constraint, key, None) for key in ("lower_bound", "upper_bound")}
    told = joined(
        [
            f"{word} {bounds[key]}"
            for key, word in (("lower_bound", "above"), ("upper_bound", "below"))
            if bounds[key] is not None
        ]
    )
    return name if not told or name == "positive" else f"{name} ({told})"


def _number(value: Any) -> str:
    shape = getattr(value, "shape", ())
    return f"{value}" if shape == () else f"{value.dtype}{list(shape)}" if is_array(value) else repr(value)


def _discrete(scene: Scene) -> Told | None:
    step = _step(scene, "_transforms_from_trace", "_get_model_transforms")
    site = step.names.get("v") if step is not None else None
    if not isinstance(site, dict) or "fn" not in site:
        return None
    fn = site["fn"]
    base = getattr(fn, "base_dist", fn)
    name, kind = str(site.get("name")), type(base).__name__
    model = _model(scene)
    message = (
        f"the site {name!r} of {model} is discrete ({kind}): NUTS and HMC follow gradients, so they cannot sample it,"
        " and it cannot be summed out, as it has no enumerate support."
    )
    return Told(
        message,
        (advice("marginalise it by hand, take a continuous distribution, or sample it with DiscreteHMCGibbs."),),
    )


def _model(scene: Scene) -> str:
    function = _model_function(scene)
    name = getattr(function, "__name__", "")
    return f"`{name}`" if name else "the model"


def _model_function(scene: Scene) -> Any:
    """The user's model, behind the kernel that is run."""
    for step in scene.steps:
        kernel = step.names.get("self")
        for _ in range(3):
            model = getattr(kernel, "model", None) or getattr(kernel, "_model", None)
            if inspect.isfunction(model):
                return model
            kernel = getattr(kernel, "sampler", None) or getattr(kernel, "inner_kernel", None)
    return None


def _arguments(scene: Scene) -> Told | None:
    """Arguments of the model that `run` was not given."""
    step = _step(scene, "run", "init", "update", "get_trace")
    function, node = _model_function(scene), scene.failed.node
    outer = next((one for one in scene.steps if one.name in ("run", "init", "get_trace") and "args" in one.names), step)
    if function is None or outer is None or not isinstance(node, ast.Call):
        return None
    given, named = outer.names.get("args") or (), outer.names.get("kwargs") or {}
    parameters = inspect.signature(function).parameters
    positional = [
        name for name, one in parameters.items() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    missing = [
        name
        for place, name in enumerate(positional)
        if place >= len(given) and name not in named and parameters[name].default is inspect.Parameter.empty
    ]
    if not missing:
        return None
    call = scene.text(node.func)
    message = (
        f"the model `{function.__name__}` has the argument{'s' if len(missing) > 1 else ''}"
        f" {joined([f'`{name}`' for name in missing])}, and `{call}` is not given"
        f" {'them' if len(missing) > 1 else 'it'}: what follows the key goes to the model."
    )
    fixes: list[Fix] = []
    if all(name in scene.failed.frame for name in missing) and node.args:
        last = node.args[-1]
        new = ", ".join([segment(scene.failed, last), *missing])
        fixes.append(put(scene.failed, "pass it on", last, new))
    return Told(message, (*fixes, advice(f"pass {', '.join(f'{name}=…' for name in missing)}.")))


def _width(scene: Scene) -> Told | None:
    """A sampled vector that is as long as another design has columns."""
    if not any(name in scene.under for name in ("get_trace", "log_density", "postprocess_message", "init")):
        return None
    arrays = [one for one in scene.arrays if one.shape]
    if len(arrays) != 2:
        return None
    for sampled, other in (arrays, arrays[::-1]):
        made = bound_to(scene.failed, sampled.node)
        sample = next((call for call in calls_named(made, "sample")), None) if made is not None else None
        if made is None or sample is None or not sampled.shape or not other.shape:
            continue
        last = sampled is arrays[1]
        axis = len(other.shape) - 1 if last else 0
        size, wanted = sampled.shape[0 if last else -1], other.shape[axis]
        site = argument_of(sample, 0, "name")
        named = f" site {site.value!r}," if isinstance(site, ast.Constant) else ""
        message = (
            f"`{sampled.text}`,{named} is drawn with {size} entries, and `{other.text}` {dimensions(other.shape)} has"
            f" {wanted} along the axis that is summed over."
        )
        sizes = [node for node in ast.walk(made) if isinstance(node, ast.Constant) and node.value == size]
        fixes = [
            put(scene.failed, "draw as many as there are", node, f"{other.text}.shape[{axis}]") for node in sizes[:1]
        ]
        return Told(message, (*fixes, advice(f"draw {wanted}, as {other.text}.shape[{axis}] says.")), (sampled, other))
    return None


EXPLAINERS = (
    Explainer("numpyro-key", (AssertionError, TypeError), _without_key, inside=frozenset({"sample"})),
    Explainer("numpyro-shape", (AssertionError, TypeError), _sample_shape, inside=frozenset({"sample"})),
    Explainer("numpyro-plate", (ValueError, TypeError), _in_plates, inside=RAISING["broadcast"]),
    Explainer("numpyro-plate", (ValueError, TypeError), _plates, inside=RAISING["broadcast"]),
    Explainer("numpyro-site", (AssertionError,), _twice, inside=frozenset({"postprocess_message"})),
    Explainer("numpyro-parameter", (ValueError,), _invalid, inside=frozenset({"validate_args"})),
    Explainer("numpyro-discrete", (RuntimeError,), _discrete),
    Explainer("numpyro-arguments", (TypeError,), _arguments, inside=frozenset({"run", "init", "get_trace", "update"})),
    Explainer("numpyro-width", (TypeError, ValueError), _width, inside=RAISING["contraction"]),
)
