"""Arguments that are static and cannot be, arguments and results that are no arrays, and what is donated twice."""

from __future__ import annotations

import ast
import dataclasses
import difflib
import inspect
import re
from collections.abc import Iterator
from typing import Any

from jaxnb import _jax
from jaxnb._jax import RAISING
from jaxnb.findings.errors.edits import advice, bracketed, exchange, exchanged, joined, put, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import (
    bound_arguments,
    called_value,
    class_of_text,
    definition_of,
    keyword_of,
    made_static,
    making,
    name_of,
    parameter_names,
    registered,
    results_of,
    said_name,
)
from jaxnb.findings.errors.scene import Operand, Scene, is_array
from jaxnb.program import Fix
from jaxnb.staging import describe

__all__ = ["EXPLAINERS"]


# --- static arguments without a hash ---


def _unhashable(scene: Scene) -> Told | None:
    """A static argument that has no hash: JAX raises it where the call is dispatched, with no frame of its own."""
    if scene.steps and scene.steps[-1].name not in RAISING["static-hash"]:
        return None
    function, shift = called_value(scene)
    statics = _jax.statics_of(function)
    step = scene.step(*RAISING["static-hash"])
    args: tuple[Any, ...] = ()
    if step is not None:
        info, function = step.names.get("ji"), step.names.get("fun")
        statics = tuple(getattr(info, "static_argnums", ())), tuple(getattr(info, "static_argnames", ()))
        args = step.names.get("args", ())
    names = parameter_names(function)
    if statics is None and isinstance(scene.failed.node, ast.Call):
        statics, names, function = _written(scene)
    if statics is None:
        return None
    wanted = {*statics[1], *(names[number] for number in statics[0] if -len(names) <= number < len(names))}
    given = bound_arguments(scene, function, shift)
    for name, node in given.items():
        place = names.index(name) if name in names else -1
        value = args[place] if 0 <= place < len(args) else scene.failed.value_of(node)
        kind = _kind_of(scene, node, value)
        if name in wanted and kind:
            return _no_hash(scene, function, name, node, value, kind)
    return None


def _written(scene: Scene) -> tuple[Any, list[str], Any]:
    """The static arguments of a call such as `jax.jit(f, static_argnums=1)(x, [2])`, by its text."""
    for place in making(scene, "jit")[:1]:
        if isinstance(place, ast.Call) and place.args:
            function = scene.failed.value_of(place.args[0])
            found: list[Any] = []
            for name in ("static_argnums", "static_argnames"):
                literal = keyword_of(place, name)
                try:
                    value = ast.literal_eval(literal) if literal is not None else ()
                except ValueError:
                    value = ()
                found.append(tuple(value) if isinstance(value, tuple | list) else (value,))
            if function is not None and any(found):
                return (found[0], found[1]), parameter_names(function), function
    return None, [], None


def _kind_of(scene: Scene, node: ast.expr, value: Any) -> str:
    """What a value without a hash is, such as "the list [2, 3]"; "" if it has one, or if that is not known."""
    if value is None:
        if isinstance(node, ast.List | ast.Dict | ast.Set):
            return f"the {type(node).__name__.lower()} {scene.text(node)}"
        made = scene.failed.value_of(node.func) if isinstance(node, ast.Call) else None
        if isinstance(made, type) and made.__hash__ is None:
            return f"an object of the class {made.__name__}"
        return ""
    try:
        hash(value)
    except TypeError:
        if _jax.is_tracer(value):
            return f"traced here, {describe(value)}"
        if is_array(value):
            return f"an array, {describe(value)}"
        builtin = type(value) in (list, dict, set)
        return f"a {type(value).__name__}" if builtin else f"an object of the class {type(value).__name__}"
    return ""


def _no_hash(scene: Scene, function: Any, name: str, node: ast.expr, value: Any, kind: str) -> Told:
    of = said_name(function)
    message = f"`{name}` is a static argument of {of} and so has to be hashable, and it is {kind}."
    text = scene.text(node)
    simple = bracketed(Operand(text, node))
    fixes: list[Fix] = []
    hint = "give what can be hashed, such as a number, a string or a tuple, or leave it out of the static arguments."
    if _jax.is_tracer(value):
        outer = scene.failed.above(ast.FunctionDef, ast.Lambda)
        if isinstance(node, ast.Name) and outer is not None:
            said = f"make `{node.id}` static in the function around it, too"
            fixes += made_static(scene, outer, node.id, said)
        fixes += _not_static(scene, function)
        hint = "make it static in the function around it, too: static_argnames=, or leave it traced in both."
    elif is_array(value):
        if getattr(value, "shape", None) == ():
            number = "float" if "float" in str(value.dtype) else "int"
            hint = f"give a Python number: `{number}({text})`; or leave it out of the static arguments."
        else:
            hint = (
                f"leave it out of the static arguments: arrays are traced; or give a tuple: `tuple({simple}.tolist())`."
            )
        fixes += _not_static(scene, function)
    elif isinstance(node, ast.List):
        fixes.append(exchange(scene, "give a tuple", (node, _as_tuple(scene, node))))
    elif isinstance(value, list):
        fixes.append(exchange(scene, "give a tuple", (node, f"tuple({text})")))
    elif isinstance(node, ast.Set) or isinstance(value, set):
        fixes.append(exchange(scene, "give a frozenset", (node, f"frozenset({text})")))
    elif isinstance(node, ast.Dict) or isinstance(value, dict):
        hint = "give its items as arguments of their own, or a hashable object: a NamedTuple or a frozen dataclass."
    else:
        cls = type(value) if value is not None else scene.failed.value_of(getattr(node, "func", node))
        fixes += _frozen(scene, cls)
        hint = "freeze its class, as with @dataclass(frozen=True), or give it __hash__ and __eq__."
    return Told(message, (*fixes, advice(hint)), (Operand(text, node, value, scene.origin(node)),))


def _as_tuple(scene: Scene, node: ast.expr) -> str:
    if not isinstance(node, ast.List):
        return scene.text(node)
    parts = [_as_tuple(scene, one) for one in node.elts]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def _frozen(scene: Scene, cls: Any) -> Iterator[Fix]:
    """`@dataclass(frozen=True)` where the class is defined."""
    node = class_of_text(scene, cls) if isinstance(cls, type) else None
    if node is None or not dataclasses.is_dataclass(cls):
        return
    for one in node.decorator_list:
        text = scene.text(one)
        if "dataclass" not in text or "register" in text:
            continue
        new = f"{text}(frozen=True)" if not isinstance(one, ast.Call) else f"{text[:-1].rstrip(', (')}"
        if isinstance(one, ast.Call):
            inner = text.partition("(")[2][:-1].strip().rstrip(",")
            new = f"{scene.text(one.func)}({f'{inner}, ' if inner else ''}frozen=True)"
        yield put(scene.failed, f"freeze `{node.name}`, which gives it a hash", one, new)


def _not_static(scene: Scene, function: Any) -> Iterator[Fix]:
    """The call of `jit` without its static arguments."""
    node = definition_of(scene, function)
    places = making(scene, "jit")
    own = [one for one in places if node is not None and one in getattr(node, "decorator_list", ())]
    for place in (own or places)[:1]:
        if not isinstance(place, ast.Call):
            continue
        kept = [one for one in place.keywords if one.arg not in ("static_argnums", "static_argnames")]
        parts = [*(scene.text(one) for one in place.args), *(f"{one.arg}={scene.text(one.value)}" for one in kept)]
        name = scene.text(place.func)
        new = f"{name}({', '.join(parts)})"
        if own and name.endswith("partial") and len(parts) == 1:
            new = parts[0]
        elif own and not parts:
            new = name
        if len(kept) < len(place.keywords):
            yield put(scene.failed, "leave it traced, without static arguments", place, new)


# --- arguments that are no arrays ---


def _argument(scene: Scene) -> Told | None:
    step = scene.step("_infer_input_type")
    if step is None:
        return None
    value, number = step.names.get("x"), step.names.get("i")
    outer = scene.step("_infer_params")
    function = step.names.get("fun")
    paths = getattr(step.names.get("dbg"), "arg_names", None)
    path = paths[number] if paths is not None and isinstance(number, int) and number < len(paths) else ""
    if not path or value is None:
        return None
    root = re.match(r"\w+", path)
    name = root[0] if root else path
    node = bound_arguments(scene, function, called_value(scene)[1]).get(name)
    args = outer.names.get("args", ()) if outer is not None else ()
    kwargs = outer.names.get("kwargs", {}) if outer is not None else {}
    whole = kwargs.get(name, _at(args, _place(function, name)))
    of = said_name(function)
    shown = (
        f"`{path}`" if node is None or scene.text(node) == name else f"`{path}` (in the call: `{_short(scene, node)}`)"
    )
    what = _what(value)
    message = f"jit takes arrays, and {shown}, an argument of {of}, is {what}."
    fixes: list[Fix] = []
    inner = path != name
    if name in ("self", "cls") and _place(function, name) == 0:
        holder = type(value).__name__ if name == "self" else value.__name__ if isinstance(value, type) else what
        message = (
            f"jit of the method {of} takes `{name}` as an argument, too, and that is {what}: `{holder}` is no array."
        )
    if inner and isinstance(whole, dict) and node is not None:
        fixes += _without_key(scene, node, path[len(name) :])
    if _is_equinox(whole):
        fixes += _filtered(scene, function)
    if _is_own_class(value) and dataclasses.is_dataclass(type(value)):
        fixes += registered(scene, type(value))
    fixes += made_static(scene, function, name)
    return Told(
        message, (*fixes, advice(_argument_hint(name, value, inner, whole))), _operands(scene, node, whole, name)
    )


def _operands(scene: Scene, node: ast.expr | None, value: Any, name: str) -> tuple[Operand, ...]:
    if node is None:
        return ()
    return (Operand(scene.text(node), node, value, scene.origin(node)),)


def _short(scene: Scene, node: ast.expr) -> str:
    text = scene.text(node)
    return text if len(text) <= 30 else text[:29] + "…"


def _place(function: Any, name: str) -> int:
    names = parameter_names(function)
    return names.index(name) if name in names else -1


def _at(values: Any, place: int) -> Any:
    return values[place] if 0 <= place < len(values) else None


def _what(value: Any) -> str:
    if isinstance(value, str | bytes):
        return f"the {type(value).__name__} {value[:30]!r}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if callable(value) and hasattr(value, "__name__"):
        return f"the function `{value.__name__}`"
    return f"an object of type {type(value).__name__}"


def _is_own_class(value: Any) -> bool:
    module = str(getattr(type(value), "__module__", ""))
    return module == "__main__" or module.partition(".")[0] not in (
        "builtins",
        "jax",
        "jaxlib",
        "numpy",
        "flax",
        "optax",
    )


def _argument_hint(name: str, value: Any, inner: bool, whole: Any) -> str:
    if _is_equinox(whole):
        return "use equinox.filter_jit, which leaves what is no array in place."
    if inner and isinstance(whole, dict):
        return "give a dict without it: only arrays can be traced."
    if inner:
        return f"make `{name}` static, or use it from outside of the function, as a closure."
    if name in ("self", "cls"):
        return f"make `{name}` static, static_argnums=0, or register its class as a pytree."
    if isinstance(value, str | bytes) or callable(value):
        return f"make `{name}` static: static_argnames=."
    return f"give its arrays as arguments, make `{name}` static, or register its class as a pytree."


def _without_key(scene: Scene, node: ast.expr, path: str) -> Iterator[Fix]:
    """The dict of an argument without the key of what is no array."""
    key = re.match(r"\['(\w+)'\]", path)
    if key is None:
        return
    text = scene.text(node)
    if isinstance(node, ast.Name | ast.Attribute):
        new = f'{{k: v for k, v in {text}.items() if k != "{key[1]}"}}'
        yield exchange(scene, f'give it without "{key[1]}"', (node, new))
    elif isinstance(node, ast.Dict):
        kept = [
            f"{scene.text(one)}: {scene.text(value)}"
            for one, value in zip(node.keys, node.values, strict=True)
            if one is not None and not (isinstance(one, ast.Constant) and one.value == key[1])
        ]
        yield exchange(scene, f'give it without "{key[1]}"', (node, "{" + ", ".join(kept) + "}"))


def _is_equinox(value: Any) -> bool:
    return any(base.__module__.startswith("equinox") and base.__name__ == "Module" for base in type(value).__mro__)


def _filtered(scene: Scene, function: Any) -> Iterator[Fix]:
    """`eqx.filter_jit` in the place of `jax.jit`."""
    node = definition_of(scene, function)
    places = making(scene, "jit")
    own = [one for one in places if node is not None and one in getattr(node, "decorator_list", ())]
    words = words_of(scene, "equinox", "eqx")
    for place in (own or places)[:1]:
        head = place.func if isinstance(place, ast.Call) else place
        if scene.text(head).endswith("jit"):
            yield put(scene.failed, "trace its arrays only", head, f"{words}.filter_jit")


# --- options that name no argument ---


def _options(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["argnames"])
    outer = scene.step("resolve_argnums")
    if step is None or scene.steps[-1] is not step:
        return None
    function = outer.names.get("fun") if outer is not None else None
    of = said_name(function)
    names = list(step.names["sig"].parameters) if isinstance(step.names.get("sig"), inspect.Signature) else []
    parameters = joined([f"`{name}`" for name in names]) if names else "none"
    option = str(step.names.get("argnames_name", step.names.get("argnums_name", "static_argnums")))
    literals = [
        one
        for place in [scene.failed.node, *making(scene, "jit")]
        for one in ast.walk(place)
        if isinstance(one, ast.Constant) or _negative(one) is not None
    ]
    fixes: list[Fix] = []
    if step.name == "_validate_argnames":
        wrong = [one for one in step.names.get("argnames", ()) if one not in names]
        if not wrong:
            return None
        message = (
            f'{option} names "{wrong[0]}", and {of} has no argument of that name: its parameters are {parameters}.'
        )
        near = difflib.get_close_matches(wrong[0], names, 1, 0.4)
        for literal in literals:
            if isinstance(literal, ast.Constant) and literal.value == wrong[0] and near:
                fixes.append(put(scene.failed, "take the name that it has", literal, f'"{near[0]}"'))
        return Told(message, (*fixes[:1], advice("give the names of parameters as they stand in the function.")), ())
    count = int(step.names.get("n_pos_args", len(names)))
    given: tuple[int, ...] = tuple(step.names.get("argnums", ()))
    beyond = [one for one in given if not -count <= one < count]
    if not beyond:
        return None
    message = (
        f"{option} names argument {beyond[0]}, and {of} has {count} parameter{'s' * (count != 1)}, {parameters}: they"
        " are counted from 0."
    )
    for literal in literals:
        value = literal.value if isinstance(literal, ast.Constant) else _negative(literal)
        if type(value) is not int:
            continue
        if value == beyond[0] and value - 1 not in given and count and value - 1 < count:
            fixes.append(put(scene.failed, "count from 0", literal, str(value - 1)))
    return Told(message, (*fixes[:1], advice(f"count from 0: the last one is {option}={max(count - 1, 0)}.")), ())


def _negative(node: ast.AST) -> int | None:
    inner = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else None
    return -inner.value if isinstance(inner, ast.Constant) and isinstance(inner.value, int) else None


# --- results, functions, buffers ---


def _result(scene: Scene) -> Told | None:
    """A jitted function that returns what is no array."""
    step = scene.step(*RAISING["returned"])
    if step is None:
        return None
    value, number = step.names.get("x"), step.names.get("i")
    outer = scene.step("_infer_params")
    function = outer.names.get("fun") if outer is not None else None
    paths = getattr(step.names.get("p"), "strip", None)
    where = str(step.names.get("p", "")) if paths is not None else ""
    of = said_name(function)
    item = f"item {where} of its result" if where else "its result"
    message = f"what jit traces has to return arrays, and {of} returns {_what(value)}: {item}."
    node = definition_of(scene, function)
    results = results_of(node)
    line = results[-1].lineno if results else None
    fixes: list[Fix] = []
    last = results[-1] if results else None
    index = re.fullmatch(r"\[(\d+)\]", where)
    if isinstance(last, ast.Tuple) and index and int(index[1]) < len(last.elts):
        kept = [scene.text(one) for n, one in enumerate(last.elts) if n != int(index[1])]
        new = kept[0] if len(kept) == 1 else ", ".join(kept)
        fixes.append(Fix(f"return the arrays only: `{new}`.", edit=exchanged(scene.failed.text, [(last, new)])))
    del number
    here = line if scene.failed.file == scene.here else None
    hint = "return arrays only, and take the rest from outside of the function."
    if _is_own_class(value) and not callable(value):
        name = type(value).__name__
        fixes += registered(scene, type(value)) if dataclasses.is_dataclass(type(value)) else []
        hint = f"return a tuple or a NamedTuple of arrays, or register `{name}` as a pytree."
    return Told(message, (*fixes, advice(hint)), (), here)


def _no_function(scene: Scene) -> Told | None:
    """A transformation of what cannot be called."""
    step = scene.step(*RAISING["callable"])
    node = scene.failed.node
    if step is None or scene.steps[-1] is not step or not isinstance(node, ast.Call):
        return None
    value = step.names.get("fun")
    call = scene.text(node.func)
    target = scene.failed.statement
    names = [one.id for one in getattr(target, "targets", []) if isinstance(one, ast.Name)]
    whose = f" of `{names[0]}`" if names else ""
    what = describe(value) if is_array(value) else f"the {type(value).__name__} {value!r}"[:80]
    first = next(iter(node.args), None)
    message = f"`{call}`{whose} takes a function to call, and was given {what}."
    fixes: list[Fix] = []
    hint = "give it a function, by its name, or written out with lambda or def."
    if isinstance(first, ast.Call):
        message = f"`{call}`{whose} takes a function, and `{scene.text(first)}` has called it: that is {what}."
        inner = ", ".join(scene.text(one) for one in [*first.args])
        more = ", ".join(f"{one.arg}={scene.text(one.value)}" for one in first.keywords)
        rest = ", ".join([scene.text(first.func), *[scene.text(one) for one in node.args[1:]]])
        options = "".join(f", {one.arg}={scene.text(one.value)}" for one in node.keywords)
        new = f"{call}({rest}{options})({', '.join(one for one in (inner, more) if one)})"
        fixes.append(put(scene.failed, "transform the function, then call it", node, new))
        hint = "give the function itself, and call the result."
    return Told(message, (*fixes, advice(hint)), ())


def _twice(scene: Scene) -> Told | None:
    """One buffer in two arguments of which one is donated."""
    node = scene.failed.node
    step = scene.step(*RAISING["donated"])
    if not isinstance(node, ast.Call) or any(isinstance(one, ast.Starred) for one in node.args):
        return None
    args: Any = step.names.get("args", ()) if step is not None else scene.given[0]
    if step is not None:
        donated: Any = step.names.get("donated_invars", ())
    else:
        places = _jax.donated_of(called_value(scene)[0])
        donated = tuple(place in places for place in range(len(args)))
    same = [
        (a, b)
        for a in range(len(args))
        for b in range(a + 1, len(args))
        if args[a] is args[b] and (len(donated) > b and (donated[a] or donated[b]))
    ]
    if not same or len(args) != len(node.args):
        return None
    a, b = same[0]
    first, second = node.args[a], node.args[b]
    name = name_of(called_value(scene)[0]) or name_of(_jitted(scene))
    of = f"`{name}`" if name else "the call"
    which = "both of them are donated" if donated[a] and donated[b] else "one of them is donated"
    message = (
        f"`{scene.text(first)}` is given to {of} twice, as arguments {a} and {b}, and {which}: a buffer that may be"
        " overwritten can be used once."
    )
    words = words_of(scene)
    fixes = [exchange(scene, "give a copy", (second, f"{words}.copy({scene.text(second)})"))]
    return Told(message, (*fixes, advice("give a copy of it, or leave out donate_argnums.")))


def _jitted(scene: Scene) -> Any:
    place = next(iter(making(scene, "jit")), None)
    return scene.failed.value_of(place.args[0]) if isinstance(place, ast.Call) and place.args else None


def _static_field(scene: Scene) -> Told | None:
    """A pytree with an array in a static field, which JAX compares and hashes."""
    if scene.steps and scene.steps[-1].name not in RAISING["static-compare"]:
        return None
    if _jax.statics_of(called_value(scene)[0]) is None:
        return None
    for operand in scene.operands:
        made = operand.node if isinstance(operand.node, ast.Call) else None
        cls = type(operand.value) if operand.value is not None else scene.failed.value_of(made.func) if made else None
        if not isinstance(cls, type) or not dataclasses.is_dataclass(cls):
            continue
        for one in dataclasses.fields(cls):
            value = getattr(operand.value, one.name, None)
            arrays = is_array(value) or "rray" in str(one.type)
            if one.metadata.get("static") and arrays:
                message = (
                    f"`{one.name}` is a static field of the pytree `{cls.__name__}`, which jit hashes and compares from"
                    " call to call, and it holds an array."
                )
                hint = f"make `{one.name}` a data field, without static=True: arrays are leaves."
                return Told(message, (*_as_data(scene, cls, one.name), advice(hint)))
    return None


def _as_data(scene: Scene, cls: type, name: str) -> Iterator[Fix]:
    node = class_of_text(scene, cls)
    for one in node.body if node is not None else []:
        if isinstance(one, ast.AnnAssign) and getattr(one.target, "id", "") == name and isinstance(one.value, ast.Call):
            new = f"{name}: {scene.text(one.annotation)}"
            kept = [item for item in one.value.keywords if item.arg != "metadata"]
            if one.value.args or (kept and scene.text(one.value.func).rpartition(".")[2] != "field"):
                return
            if kept:
                inner = ", ".join(f"{item.arg}={scene.text(item.value)}" for item in kept)
                new += f" = {scene.text(one.value.func)}({inner})"
            yield put(scene.failed, "make it a data field, without static", one, new)


_BAD = (TypeError, ValueError)

EXPLAINERS = (
    Explainer("static-hash", (ValueError,), _unhashable),
    Explainer("static-field", (ValueError,), _static_field),
    Explainer("argument", (TypeError,), _argument, inside=RAISING["abstract"]),
    Explainer("static-option", (ValueError,), _options, inside=RAISING["argnames"]),
    Explainer("result", (TypeError,), _result, inside=RAISING["returned"]),
    Explainer("no-function", (TypeError,), _no_function, inside=RAISING["callable"]),
    Explainer("donated-twice", (RuntimeError, ValueError), _twice),
)
