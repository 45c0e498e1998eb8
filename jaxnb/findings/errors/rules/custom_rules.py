"""Rules of one's own for derivatives that do not go with their function: `custom_vjp` and `custom_jvp`."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxnb import _jax
from jaxnb._jax import RAISING
from jaxnb.findings.errors.edits import advice, bare, dimensions, exchanged, joined, put, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import (
    bare_function,
    definition_of,
    making,
    parameter_names,
    partial_of,
    results_of,
    said_name,
)
from jaxnb.findings.errors.scene import Scene, Step, abstract_text, is_array
from jaxnb.findings.syntax import stored_names
from jaxnb.program import Fix
from jaxnb.staging import describe

__all__ = ["EXPLAINERS"]

_CUSTOM = ("custom_vjp", "custom_jvp")


# --- which function, which rule ---


def _call(scene: Scene) -> Step | None:
    """The call of a function with a rule of its own."""
    steps = (step for step in reversed(scene.steps) if step.name == "__call__")
    return next((step for step in steps if type(step.names.get("self")).__name__ in _CUSTOM), None)


def _registration(scene: Scene, rule: Any) -> ast.Call | None:
    """Where a rule is given to its function: `f.defvjp(fwd, bwd)`."""
    name = getattr(bare_function(rule), "__name__", "")
    own = definition_of(scene, rule)
    for node in ast.walk(scene.failed.tree):
        called = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        if isinstance(node, ast.Call) and called in ("defvjp", "defjvp", "defvjps", "defjvps"):
            given = [*node.args, *(one.value for one in node.keywords)]
            if any(one is own or (name and getattr(one, "id", getattr(one, "attr", "")) == name) for one in given):
                return node
    return None


def _owner(scene: Scene, rule: Any) -> str:
    """What the user calls the function that a rule is of; "" if that is not known."""
    call = _registration(scene, rule)
    if call is not None and isinstance(call.func, ast.Attribute):
        return scene.text(call.func.value)
    for one in getattr(definition_of(scene, rule), "decorator_list", ()):
        if isinstance(one, ast.Attribute) and one.attr.startswith("def"):
            return scene.text(one.value)
    for key, value in scene.failed.frame.items():
        rules = (
            [getattr(value, name, None) for name in ("fwd", "bwd", "jvp")] if type(value).__name__ in _CUSTOM else []
        )
        if any(one is not None and bare_function(one) is bare_function(rule) for one in rules):
            return key
    return ""


def _object(scene: Scene, rule: Any) -> Any:
    """The `custom_vjp` or `custom_jvp` of a rule, as far as a name of the user's stands for it."""
    for value in scene.failed.frame.values():
        if type(value).__name__ in _CUSTOM:
            rules = [getattr(value, name, None) for name in ("fwd", "bwd", "jvp")]
            if any(one is not None and bare_function(one) is bare_function(rule) for one in rules):
                return value
    return None


def _line(scene: Scene, node: ast.AST | None) -> int | None:
    return getattr(node, "lineno", None) if scene.failed.file == scene.here else None


def _told(scene: Scene, message: str, fixes: Sequence[Fix], hint: str, at: ast.AST | None) -> Told:
    return Told(message, (*fixes, advice(hint)), (), _line(scene, at))


def _of(scene: Scene, rule: Any) -> str:
    owner = _owner(scene, rule)
    return f" of `{owner}`" if owner else ""


def _put(scene: Scene, said: str, node: ast.AST, new: str) -> Fix:
    return put(scene.failed, said, node, new)


# --- no rule ---


def _missing(scene: Scene) -> Told | None:
    step = _call(scene)
    if step is None or scene.steps[-1] is not step:
        return None
    custom = step.names["self"]
    kind = type(custom).__name__
    have = [name for name in ("fwd", "bwd", "jvp") if getattr(custom, name, None)]
    if "jvp" in have or len(have) == 2:
        return None
    name = said_name(custom.fun)
    bare = name.strip("`")
    rule = "defvjp" if kind == "custom_vjp" else "defjvp"
    rules = "(forward, backward)" if rule == "defvjp" else "(rule)"
    message = f"{name} is a {kind}, and no rule is defined for it: `{rule}` was not called."
    return _told(
        scene, message, (), f"define it, `{bare}.{rule}{rules}`, or leave `{kind}` out: JAX derives it itself.", None
    )


# --- arguments ---


def _arguments(scene: Scene) -> Told | None:
    """Arguments by keyword that have no place, tracers where none may be, and what is no array."""
    step = _call(scene)
    if step is None:
        return None
    custom = step.names["self"]
    if scene.steps[-1] is step:
        return _by_keyword(scene, step, custom)
    if scene.steps[-1].name == "_check_for_tracers":
        return _traced(scene, step, custom)
    if any(one.name in RAISING["custom-typed"] for one in scene.steps[scene.steps.index(step) :]):
        return _no_array(scene, step, custom)
    return None


def _by_keyword(scene: Scene, step: Step, custom: Any) -> Told | None:
    kwargs = step.names.get("kwargs") or {}
    name = said_name(custom.fun)
    try:
        parameters = inspect.signature(custom.fun).parameters
    except (TypeError, ValueError):
        return None
    only = [key for key in kwargs if key in parameters and parameters[key].kind is inspect.Parameter.KEYWORD_ONLY]
    unknown = [key for key in kwargs if key not in parameters]
    if not only and not unknown:
        return None
    kind = type(custom).__name__
    if unknown and not only:
        message = (
            f"{name} has no argument `{unknown[0]}`: its parameters are {joined([f'`{one}`' for one in parameters])}."
        )
        return _told(scene, message, (), "give the arguments by the names of the parameters, or by position.", None)
    message = (
        f"{name} is a {kind}, which takes its arguments by position, and {joined([f'`{one}`' for one in only])} can be"
        " given by keyword only."
    )
    fixes: list[Fix] = []
    node = scene.failed.node
    if isinstance(node, ast.Call):
        same = [
            one
            for one in node.keywords
            if one.arg in only and _default(parameters[one.arg or ""], kwargs[one.arg or ""])
        ]
        if len(same) == len(only):
            rest = [scene.text(one) for one in (*node.args, *(one for one in node.keywords if one not in same))]
            new = f"{scene.text(node.func)}({', '.join(rest)})"
            said = f"leave {joined([f'`{one.arg}`' for one in same])} out, which is the default"
            fixes.append(_put(scene, said, node, new))
    hint = "make it positional, and name it in nondiff_argnums; or bind it before, in a closure or a partial."
    return _told(scene, message, fixes, hint, None)


def _default(parameter: inspect.Parameter, value: Any) -> bool:
    return type(value) in (str, int, float, bool) and parameter.default == value


def _decorator(scene: Scene, custom: Any) -> ast.expr | None:
    """Where a function is made a `custom_vjp`."""
    node = definition_of(scene, custom.fun)
    for one in getattr(node, "decorator_list", ()):
        if type(custom).__name__ in scene.text(one):
            return one
    return next(iter(making(scene, type(custom).__name__)), None)


def _traced(scene: Scene, step: Step, custom: Any) -> Told:
    number, args = step.names.get("i"), step.names.get("args", ())
    names = parameter_names(custom.fun)
    known = isinstance(number, int) and number < len(names)
    shown = f"`{names[number]}`" if known and isinstance(number, int) else f"argument {number}"
    value = args[number] if isinstance(number, int) and number < len(args) else None
    message = (
        f"{shown} of {said_name(custom.fun)} stands in nondiff_argnums={tuple(custom.nondiff_argnums)}, and it is"
        f" traced here: {describe(value)}. Only what is never traced, such as a function or a number, can stand there."
    )
    hint = (
        f"leave {shown} out of nondiff_argnums, hand it on as a residual, and give None for it from the backward rule."
    )
    return _told(scene, message, (), hint, _decorator(scene, custom))


def _no_array(scene: Scene, step: Step, custom: Any) -> Told | None:
    args: Any = step.names.get("args", ())
    names = parameter_names(custom.fun)
    for number, value in enumerate(args):
        if number in tuple(custom.nondiff_argnums):
            continue
        odd = [leaf for leaf in jax.tree.leaves(value) if not _is_array(leaf)]
        if not odd:
            continue
        name = names[number] if number < len(names) else f"argument {number}"
        what = f"the str {odd[0]!r}" if isinstance(odd[0], str) else f"the function `{_function_name(odd[0])}`"
        what = what if isinstance(odd[0], str) or callable(odd[0]) else f"a {type(odd[0]).__name__}"
        kind = type(custom).__name__
        message = (
            f"`{name}` of {said_name(custom.fun)} is {what}, and a {kind} derives by all of its arguments,"
            " which have to be arrays."
        )
        fixes = _as_nondiff(scene, custom, number, name)
        hint = f"name it in nondiff_argnums=({number},): the rule then takes it first, and gives no cotangent for it."
        return _told(scene, message, fixes, hint, None)
    return None


def _function_name(value: Any) -> str:
    return str(getattr(value, "__name__", type(value).__name__))


def _is_array(value: Any) -> bool:
    return is_array(value) or isinstance(value, bool | int | float | complex) or _jax.is_tracer(value)


def _as_nondiff(scene: Scene, custom: Any, number: int, name: str) -> list[Fix]:
    """`nondiff_argnums` in the decorator, the argument first in the backward rule, and no cotangent for it."""
    place = _decorator(scene, custom)
    rule = getattr(custom, "bwd", None) or getattr(custom, "jvp", None)
    definition = definition_of(scene, rule)
    if place is None or isinstance(place, ast.Call) or definition is None or custom.nondiff_argnums:
        return []
    first = next(iter(definition.args.args), None)
    results = results_of(definition)
    if first is None or not results:
        return []
    parts: list[tuple[ast.AST, str]] = [
        (place, f"{partial_of(scene)}({scene.text(place)}, nondiff_argnums=({number},))"),
        (first, f"{name}, {scene.text(first)}"),
    ]
    count = len(parameter_names(custom.fun))
    last = results[-1]
    if getattr(custom, "bwd", None) is not None:
        if not isinstance(last, ast.Tuple) or len(last.elts) != count:
            return []
        kept = [scene.text(one) for n, one in enumerate(last.elts) if n != number]
        parts.append((last, f"({kept[0]},)" if len(kept) == 1 else ", ".join(kept)))
    text = f"name it in nondiff_argnums, and take `{name}` first in {said_name(rule)}: `nondiff_argnums=({number},)`."
    return [Fix(text, edit=exchanged(scene.failed.text, parts))]


# --- the forward rule ---


def _forward(scene: Scene) -> Told | None:
    step = scene.step("_flatten_fwd")
    if step is None or scene.steps[-1] is not step:
        return None
    rule, pair = step.names.get("f"), step.names.get("pair_out")
    call = _call(scene)
    custom = call.names["self"] if call is not None else None
    rule = custom.fwd if custom is not None else rule
    of = f" of {said_name(custom.fun)}" if custom is not None else _of(scene, rule)
    definition = definition_of(scene, rule)
    last = next(reversed(results_of(definition)), None)
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        shown = f"a tuple of {len(pair)}" if isinstance(pair, list | tuple) else abstract_text(pair)
        message = f"{said_name(rule)}, the forward rule{of}, has to return a pair (result, residuals), not {shown}."
        fixes: list[Fix] = []
        if last is not None and not isinstance(pair, list | tuple):
            names = [one.arg for one in definition.args.args] if definition is not None else []
            text = scene.text(last)
            rest = names[0] if len(names) == 1 else f"({', '.join(names)})"
            for residuals in (rest, "None"):
                new = f"{text}, {residuals}" if not isinstance(definition, ast.Lambda) else f"({text}, {residuals})"
                fixes.append(_put(scene, "return the residuals, too", last, new))
        hint = "return (result, residuals): what the backward rule needs, or None."
        return _told(scene, message, fixes, hint, last)
    wanted, got = step.names.get("ty_tree_"), step.names.get("ty_tree")
    return _other_result(scene, rule, of, last, got, wanted) if got is not None else None


def _other_result(scene: Scene, rule: Any, of: str, last: ast.expr | None, got: Any, wanted: Any) -> Told:
    message = (
        f"the first result of {said_name(rule)}, the forward rule{of}, has to be of the same structure as what the"
        f" function returns: it is {_types(got)}, and the function returns {_types(wanted)}."
    )
    fixes: list[Fix] = []
    first = last.elts[0] if isinstance(last, ast.Tuple) and len(last.elts) == 2 else None
    if isinstance(first, ast.Tuple) and first.elts and not isinstance(wanted, tuple):
        fixes.append(_put(scene, "return the result only", first, scene.text(first.elts[0])))
    hint = "return the same as the function does, then the residuals, in a pair: (result, residuals)."
    return _told(scene, message, fixes, hint, last)


def _types(tree: Any) -> str:
    return str(tree).replace("'", "")


def _first_result(scene: Scene) -> Told | None:
    """A gradient that finds no scalar because the forward rule returns more than its function does."""
    step = scene.step("value_and_grad_f")
    custom: Any = step.names.get("fun") if step is not None else None
    if step is None or type(custom).__name__ != "custom_vjp" or not getattr(custom, "fwd", None):
        return None
    checked = scene.step(*RAISING["gradient-output"])
    value = checked.names.get("x") if checked is not None else None
    args = step.names.get("args", ())
    try:
        wanted = jax.eval_shape(custom.fun, *args)
    except Exception:
        return None
    if jax.tree.structure(wanted) == jax.tree.structure(value) or jax.tree.structure(wanted).num_leaves != 1:
        return None
    last = next(reversed(results_of(definition_of(scene, custom.fwd))), None)
    of = f" of {said_name(custom.fun)}"
    got = abstract_text(value)
    return _other_result(scene, custom.fwd, of, last, got, abstract_text(wanted))


# --- the backward rule ---


def _backward(scene: Scene) -> Told | None:
    step = scene.step("_flatten_bwd")
    if step is None:
        return None
    rule = bare_function(step.names.get("f"))
    definition = definition_of(scene, rule)
    last = next(reversed(results_of(definition)), None)
    of = _of(scene, rule)
    name = said_name(rule)
    names = _differentiated(scene, rule, step)
    if "py_cts_in" not in step.names:
        return _arity(scene, step, rule, definition, of)
    value, tree = step.names["py_cts_in"], step.names["in_tree"]
    count = len(tree.children())
    wanted = f"({', '.join(names)})" if len(names) == count else f"{count} arguments"
    if scene.steps[-1] is not step and scene.steps[-1].name != "tree_map":
        return None
    if not isinstance(value, tuple):
        message = (
            f"{name}, the backward rule{of}, has to return a tuple with a cotangent for each argument {wanted}, and it"
            f" returns {abstract_text(value)}."
        )
        fixes: list[Fix] = []
        if last is not None and count == 1:
            fixes.append(_put(scene, "return a tuple", last, f"({scene.text(last)},)"))
        return _told(scene, message, fixes, "return a tuple with one entry for each argument, None for zero.", last)
    if len(value) != count:
        return _entries(scene, name, of, value, tree.children(), wanted, last)
    return _entry(scene, step, name, of, names, last)


def _differentiated(scene: Scene, rule: Any, step: Step) -> list[str]:
    """The names of the arguments that a backward rule gives cotangents for, as far as they are known."""
    custom = _object(scene, rule)
    owner = _owner(scene, rule).rpartition(".")[2]
    if custom is not None:
        skipped = tuple(custom.nondiff_argnums)
        return [one for n, one in enumerate(parameter_names(custom.fun)) if n not in skipped]
    for node in ast.walk(scene.failed.tree):
        if isinstance(node, ast.FunctionDef) and node.name == owner:
            found = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
            return found if len(found) == len(step.names["in_tree"].children()) else []
    return []


def _entries(
    scene: Scene, name: str, of: str, value: tuple[Any, ...], own: Sequence[Any], wanted: str, last: ast.expr | None
) -> Told:
    """Another number of cotangents than of arguments, `own` being the structures of these."""
    count = len(own)
    message = (
        f"{name}, the backward rule{of}, has to return a cotangent for each of the {count} argument{'s' * (count != 1)}"
        f" {wanted if wanted.startswith('(') else ''}".rstrip()
        + f", and it returns {len(value)}."
    )
    fixes: list[Fix] = []
    if count == 1 and own[0].num_leaves > 1:
        said = f"`{wanted.strip('()')}` is one argument" if wanted.startswith("(") else "there is one argument"
        message += f" {said}, whose cotangent is a pytree of the same structure."
        if last is not None and jax.tree.structure(value) == own[0]:
            whole = ast.unparse(last) if isinstance(last, ast.Tuple) else scene.text(last)
            fixes.append(_put(scene, "return a tuple of the one cotangent", last, f"({whole},)"))
        return _told(scene, message, fixes, "return a tuple with one entry, which is built like the argument.", last)
    if isinstance(last, ast.Tuple) and len(last.elts) == len(value):
        texts = [scene.text(one) for one in last.elts]
        if len(value) < count:
            new = [*texts, *["None"] * (count - len(value))]
            fixes.append(_put(scene, "give each argument one; None stands for zero", last, f"({', '.join(new)})"))
        else:
            kept = [text for text, item in zip(texts, value, strict=True) if item is not None]
            kept = kept if len(kept) == count else texts[:count]
            new_text = f"({kept[0]},)" if len(kept) == 1 else f"({', '.join(kept)})"
            fixes.append(_put(scene, "leave out what is over", last, new_text))
    hint = "return one entry for each argument that is not in nondiff_argnums, in their order; None stands for zero."
    return _told(scene, message, fixes, hint, last)


def _entry(scene: Scene, step: Step, name: str, of: str, names: list[str], last: ast.expr | None) -> Told | None:
    """A cotangent of another shape, dtype or structure than its argument."""
    path: Any = step.names.get("kp")
    got, wanted = step.names.get("a_"), step.names.get("a")
    if got is None or wanted is None or not path:
        value, tree = step.names["py_cts_in"], step.names["in_tree"]
        for n, (one, own) in enumerate(zip(value, tree.children(), strict=True)):
            if one is not None and jax.tree.structure(one) != own and own.num_leaves != 1:
                item = names[n] if n < len(names) else f"argument {n}"
                message = (
                    f"{name}, the backward rule{of}, gives {abstract_text(one)} for `{item}`: a cotangent has the"
                    " structure of its argument."
                )
                return _told(scene, message, (), "return the same structure as the argument has, leaf by leaf.", last)
        return None
    number = int(getattr(path[0], "idx", 0))
    item = f"`{names[number]}`" if number < len(names) else f"argument {number}"
    message = (
        f"{name}, the backward rule{of}, gives {describe(_struct(got))} as the cotangent of {item}, which is"
        f" {describe(_struct(wanted))}: both have to be of one shape and dtype."
    )
    part = last.elts[number] if isinstance(last, ast.Tuple) and number < len(last.elts) else None
    fixes = _converted(scene, part, got, wanted) if part is not None and len(path) == 1 else []
    hint = "sum over the axes that are too many, or broadcast; give a cotangent of the same shape as the argument."
    return _told(scene, message, fixes, hint, last)


def _struct(aval: Any) -> Any:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def _converted(scene: Scene, node: ast.expr, got: Any, wanted: Any) -> list[Fix]:
    """An expression in another shape or dtype."""
    text = bare(node, scene.text(node))
    words = words_of(scene)
    fixes: list[Fix] = []
    cast = "" if got.dtype == wanted.dtype else f".astype({words}.{wanted.dtype})"
    if got.shape == wanted.shape:
        return [_put(scene, f"cast it to {wanted.dtype}", node, f"{text}{cast}")]
    if wanted.shape == ():
        fixes.append(_put(scene, "sum it up", node, f"{text}.sum(){cast}"))
    elif len(got.shape) > len(wanted.shape) and got.shape[len(got.shape) - len(wanted.shape) :] == wanted.shape:
        axes = tuple(range(len(got.shape) - len(wanted.shape)))
        shown = str(axes[0]) if len(axes) == 1 else str(axes)
        fixes.append(_put(scene, "sum over the axes that are too many", node, f"{text}.sum({shown}){cast}"))
    elif _broadcasts(got.shape, wanted.shape):
        new = f"{words}.broadcast_to({scene.text(node)}, {dimensions(wanted.shape)}){cast}"
        fixes.append(_put(scene, "broadcast it", node, new))
    return fixes


def _broadcasts(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    try:
        return jnp.broadcast_shapes(a, b) == b
    except ValueError:
        return False


def _arity(scene: Scene, step: Step, rule: Any, definition: Any, of: str) -> Told | None:
    """A rule that takes another number of arguments than it is given."""
    inner = scene.step(*RAISING["static-first"])
    static: Sequence[Any] = inner.names.get("static_args", ()) if inner is not None else ()
    given = len(static) + 2
    names = parameter_names(rule)
    if not names or len(names) == given or scene.steps[-1] not in (step, inner):
        return None
    custom = _object(scene, rule)
    first = [] if custom is None else [parameter_names(custom.fun)[n] for n in custom.nondiff_argnums]
    first = first if len(first) == len(static) else [f"argument {n}" for n in range(len(static))]
    backward = step.name == "_flatten_bwd"
    rest = ["the residuals", "the cotangent"] if backward else ["the primals", "the tangents"]
    order = joined([*(f"`{one}` (of nondiff_argnums)" for one in first), *rest])
    kind = "backward rule" if backward else "rule"
    message = (
        f"{said_name(rule)}, the {kind}{of}, takes {len(names)} arguments ({', '.join(names)}), and it is given"
        f" {given}: {order}, in this order."
    )
    fixes: list[Fix] = []
    own = definition.args.args if definition is not None else []
    if own and len(names) + len(static) == given and custom is not None:
        fixes.append(_put(scene, "take them first", own[0], f"{', '.join(first)}, {own[0].arg}"))
        shown = ", ".join([*first, *names])
        fixes = [Fix(f"take it first: `({shown})`.", edit=fixes[0].edit)]
    return _told(scene, message, fixes, "take the arguments of nondiff_argnums first, then the others.", definition)


# --- the JVP rule ---


def _forward_mode(scene: Scene) -> Told | None:
    """`jvp` of a function that has a rule for reverse mode only."""
    call = _call(scene)
    custom = call.names["self"] if call is not None else None
    name = said_name(custom.fun) if custom is not None else "the function"
    message = f"{name} is a custom_vjp: its rule is for reverse mode, and forward mode (jvp) is asked for here."
    fixes: list[Fix] = []
    for node in ast.walk(scene.failed.node):
        if isinstance(node, ast.Attribute | ast.Name):
            text = scene.text(node)
            for forward, reverse in (("jacfwd", "jacrev"),):
                if text.rpartition(".")[2] == forward:
                    new = f"{text.removesuffix(forward)}{reverse}"
                    fixes.append(_put(scene, "take reverse mode", node, new))
    hint = "take reverse mode (jacrev, grad, vjp), or give the function a custom_jvp, which serves both."
    return _told(scene, message, fixes, hint, None)


def _jvp(scene: Scene) -> Told | None:
    step = scene.step("_flatten_jvp")
    if step is None:
        return None
    call = _call(scene)
    custom = call.names["self"] if call is not None else None
    rule = custom.jvp if custom is not None else bare_function(step.names.get("f"))
    of = _of(scene, rule) or (f" of {said_name(custom.fun)}" if custom is not None else "")
    definition = definition_of(scene, rule)
    last = next(reversed(results_of(definition)), None)
    name = said_name(rule)
    if "pair_out" not in step.names:
        return _arity(scene, step, rule, definition, of)
    if scene.steps[-1] is not step:
        return None
    pair = step.names["pair_out"]
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        shown = f"a tuple of {len(pair)}" if isinstance(pair, list | tuple) else abstract_text(pair)
        message = f"{name}, the JVP rule{of}, has to return a pair (result, tangent), and it returns {shown}."
        fixes: list[Fix] = []
        owner, parameters = _owner(scene, rule), parameter_names(rule)
        if last is not None and owner and parameters and not isinstance(pair, list | tuple):
            first = parameters[-2] if len(parameters) > 1 else parameters[0]
            new = f"{owner}(*{first}), {scene.text(last)}"
            new = f"({new})" if isinstance(definition, ast.Lambda) else new
            fixes.append(_put(scene, "return the pair (primal result, tangent)", last, new))
        return _told(scene, message, fixes, "return the result of the function first, then its tangent.", last)
    wanted: Any = step.names.get("expected_tangent_avals_out")
    got: Any = step.names.get("tangent_avals_out")
    if wanted is None or got is None:
        return _jvp_structure(scene, step, name, of, last)
    pairs = [(a, b) for a, b in zip(wanted, got, strict=False) if (a.shape, a.dtype) != (b.shape, b.dtype)]
    if not pairs:
        return None
    a, b = pairs[0]
    message = (
        f"{name}, the JVP rule{of}, gives a tangent {describe(_struct(b))} with a result whose tangent is"
        f" {describe(_struct(a))}: both have to be of one shape and dtype."
    )
    part = last.elts[1] if isinstance(last, ast.Tuple) and len(last.elts) == 2 else None
    linear = jnp.issubdtype(b.dtype, jnp.inexact)  # what went through integers cannot be made linear by a cast
    fixes = _converted(scene, part, b, a) if linear and part is not None and not isinstance(part, ast.Tuple) else []
    hint = "compute the tangent from the given tangents, linearly, in the same shape and float dtype as the result."
    return _told(scene, message, fixes, hint, last)


def _jvp_structure(scene: Scene, step: Step, name: str, of: str, last: ast.expr | None) -> Told | None:
    own, other = step.names.get("ty_tree"), step.names.get("ty_tree_")
    if own is not None and other is not None:
        message = (
            f"the first result of {name}, the JVP rule{of}, has to be what the function returns: it is {_types(own)},"
            f" and the function returns {_types(other)}."
        )
        return _told(scene, message, (), "return the result of the function itself first, then its tangent.", last)
    result, tangent = step.names["pair_out"]
    message = (
        f"{name}, the JVP rule{of}, gives {abstract_text(result)} and the tangent {abstract_text(tangent)}: both have"
        " to be of one structure."
    )
    return _told(scene, message, (), "return a tangent for each item of the result.", last)


# --- what a rule closes over ---


def _closed(scene: Scene) -> Told | None:
    """A function with a rule of its own that reads a traced value from around it."""
    if RAISING["custom-call"].isdisjoint(scene.under):
        return None
    inner = scene.failed.above(ast.FunctionDef, ast.Lambda)
    outer = scene.failed.above_of(inner, ast.FunctionDef, ast.Lambda) if inner is not None else None
    if inner is None or outer is None:
        return None
    own = {one.arg for one in (*inner.args.posonlyargs, *inner.args.args, *inner.args.kwonlyargs)}
    own |= stored_names(inner)
    names = [one.id for one in ast.walk(scene.failed.node) if isinstance(one, ast.Name) and one.id not in own]
    traced = [name for name in dict.fromkeys(names) if _jax.is_tracer(scene.failed.frame.get(name))]
    if not traced:
        return None
    name = getattr(inner, "name", "")
    shown = f"`{name}`" if name else "the lambda"
    message = (
        f"{shown} has a rule of its own for its derivative, and closes over `{traced[0]}`, which is traced outside of"
        " it: it may depend on its arguments only."
    )
    rules = [
        node
        for node in ast.walk(outer)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and scene.text(node.func.value) == name
    ]
    rules = [node for node in rules if isinstance(node.func, ast.Attribute) and node.func.attr.startswith("def")]
    hint = f"make `{traced[0]}` an argument of {shown}, and give it a cotangent in the rule, too."
    return _told(scene, message, (), hint, rules[0] if rules else None)


_BAD = (TypeError, ValueError)

EXPLAINERS = (
    Explainer("rule-missing", (AttributeError,), _missing, inside=RAISING["custom"]),
    Explainer("rule-forward", _BAD, _forward, inside=RAISING["custom-forward"]),
    Explainer("rule-backward", _BAD, _backward, inside=RAISING["custom-backward"]),
    Explainer("rule-jvp", _BAD, _jvp, inside=RAISING["custom-jvp"]),
    Explainer("rule-result", (TypeError,), _first_result, inside=RAISING["gradient-output"]),
    Explainer("rule-mode", (TypeError,), _forward_mode, inside=RAISING["custom-mode"]),
    Explainer("rule-argument", (*_BAD, jax.errors.UnexpectedTracerError), _arguments, inside=RAISING["custom"]),
    Explainer("rule-closure", (jax.errors.UnexpectedTracerError,), _closed),
)
