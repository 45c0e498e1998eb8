"""Functions and modules of haiku that are run without a transform, or initialised and applied in the wrong way."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
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
    placed,
)
from jaxnb.findings.errors.edits import advice, dimensions, exchanged, joined, lines_put, put, segment, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import making
from jaxnb.findings.errors.scene import Scene, is_array
from jaxnb.findings.place import FailedExpression
from jaxnb.program import Fix
from jaxnb.staging import describe

__all__ = ["EXPLAINERS"]

_RUNNING = frozenset({"apply_fn", "init_fn"})
"""The functions of haiku that a transformed function runs in."""


def _is(scene: Scene, name: str) -> bool:
    """Whether the error is of a class of haiku."""
    kind = type(scene.error)
    return kind.__name__ == name and kind.__module__.startswith("haiku")


def _haiku(scene: Scene) -> str:
    return words_of(scene, "haiku", "hk")


def _is_key(value: Any) -> bool:
    """Whether it is one random key, typed or of the old kind."""
    if not is_array(value):
        return False
    if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return value.shape == ()
    return str(value.dtype) == "uint32" and tuple(value.shape) in ((2,), (4,))


def _is_transformed(value: Any) -> bool:
    return any(is_of(value, "haiku", name) for name in ("Transformed", "TransformedWithState"))


def _called_with(place: FailedExpression, args: list[str]) -> str:
    node = place.node
    assert isinstance(node, ast.Call)
    named = [segment(place, item) for item in node.keywords]
    return f"{segment(place, node.func)}({', '.join([*args, *named])})"


def _texts(place: FailedExpression) -> list[str]:
    node = place.node
    return [segment(place, item) for item in node.args] if isinstance(node, ast.Call) else []


def _values(scene: Scene, place: FailedExpression) -> list[Any]:
    """What the positional arguments of a call stand for, as far as it is known."""
    node = place.node
    if not isinstance(node, ast.Call):
        return []
    given = scene.given[0] if place is scene.failed else ()
    found = [place.value_of(item) for item in node.args]
    return [given[n] if value is None and n < len(given) else value for n, value in enumerate(found)]


# --- outside of a transform ---


def _outside(scene: Scene) -> Told | None:
    """What makes or reads parameters, with no transformed function around it."""
    if not scene.steps or not scene.steps[-1].module.startswith("haiku"):
        return None
    if not _RUNNING.isdisjoint({*scene.under, *scene.inside}):
        return None
    made, hk = scene.text(scene.failed.node), _haiku(scene)
    function, caller = scene.failed.function, next(iter(scene.callers), None)
    message = f"`{made}` needs the parameters of a function that runs under `{hk}.transform`, and none is around it"
    if function and caller is not None:
        message += (
            f": `{scene.text(caller.node) if caller.file == scene.failed.file else function}` calls `{function}` itself"
        )
        fixes = list(_transformed(scene, caller, function))
    else:
        fixes = []
    hint = (
        f"make a function of it, and transform that: net = {hk}.transform(f), params = net.init(key, x), and then"
        " net.apply(params, key, x)."
    )
    return Told(f"{message}.", (*fixes, advice(hint)), ())


def _transformed(scene: Scene, caller: FailedExpression, function: str) -> Iterator[Fix]:
    node, statement = caller.node, caller.statement
    plain = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords
    if not plain or caller.file != scene.failed.file or statement.lineno != statement.end_lineno:
        return
    key = key_word(scene, caller)
    texts = _texts(caller)
    line = caller.text.split("\n")[statement.lineno - 1]
    indent = line[: len(line) - len(line.lstrip())]
    changed = exchanged(caller.text, [(node, f"net.apply({', '.join(['params', key, *texts])})")])
    if changed is None:
        return
    new = [f"net = {_haiku(scene)}.transform({function})", f"params = net.init({', '.join([key, *texts])})"]
    edit = lines_put(caller, statement.lineno, statement.lineno, [*(indent + one for one in new), changed[2]])
    yield Fix(f"transform it, initialise it, and apply it: `{'; '.join([*new, changed[2].strip()])}`.", edit=edit)


# --- keys ---


def _no_key(scene: Scene) -> Told | None:
    """`init` or `apply` with something else where the random key belongs."""
    step = scene.step("to_prng_sequence")
    place = placed(scene, "init", "apply")
    if step is None or place is None or not step.module.startswith("haiku"):
        return None
    name = name_called(place.node)
    node, texts, values = place.node, _texts(place), _values(scene, place)
    assert isinstance(node, ast.Call)
    where = next((n for n, value in enumerate(values) if value is step.names.get("rng")), 0 if name == "init" else 1)
    state = len(values) > 1 and where == 2
    order = "(key, …)" if name == "init" else "(params, state, key, …)" if state else "(params, key, …)"
    which = ("first", "second", "third")[min(where, 2)]
    given = texts[where] if where < len(texts) else "what it is given"
    aval = describe(step.names.get("rng"))
    message = (
        f"the {which} argument of `{segment(place, node.func)}` is the random key, {order}, and `{given}` is {aval}."
    )
    fixes: list[Fix] = []
    keys = [n for n, value in enumerate(values) if n != where and _is_key(value)]
    if keys:
        order_ = [*texts[:where], texts[keys[0]], *(t for n, t in enumerate(texts) if n >= where and n != keys[0])]
        fixes.append(put(place, "put the key in its place", node, _called_with(place, order_)))
    else:
        words = [key_word(scene, place)] if name == "init" else ["None", key_word(scene, place)]
        for word in words:
            said = "give it None, as nothing is drawn" if word == "None" else "give it a key"
            fixes.append(put(place, said, node, _called_with(place, [*texts[:where], word, *texts[where:]])))
    return Told(message, (*fixes, advice(f"give the key in its place: {segment(place, node.func)}{order}.")))


def _drawn(scene: Scene) -> Told | None:
    """A key that is drawn where `apply` was given none."""
    if not _is(scene, "MissingRNGError"):
        return None
    place = placed(scene, "apply", "init")
    drawn, inside = scene.text(scene.failed.node), scene.failed.function
    where = f" in `{inside}`" if inside else ""
    if place is None or not isinstance(place.node, ast.Call):
        return Told(f"`{drawn}`{where} draws a random key, and none was given.", (advice("give apply a key."),), ())
    function = segment(place, place.node.func)
    texts = _texts(place)
    empty = [n for n, item in enumerate(place.node.args) if isinstance(item, ast.Constant) and item.value is None]
    key = key_word(scene, place)
    message = f"`{drawn}`{where} draws a random key, and `{function}` is given {'None for it' if empty else 'none'}."
    fixes: list[Fix] = []
    if empty:
        new = [key if n == empty[0] else text for n, text in enumerate(texts)]
        fixes.append(put(place, "give it a key", place.node, _called_with(place, new)))
    for made in making(scene, "without_apply_rng")[:1] if not empty else []:
        if isinstance(made, ast.Call) and made.args:
            pair = (place.node, _called_with(place, [*texts[:1], key, *texts[1:]]))
            edit = exchanged(place.text, [(made, segment(place, made.args[0])), pair])
            fixes.append(Fix(f"do without `without_apply_rng`, and give a key: `{pair[1]}`.", edit=edit))
    return Told(message, (*fixes, advice(f"give a key as the argument before the inputs: {key}.")), ())


def _too_many(scene: Scene) -> Told | None:
    """A key for a function of `without_apply_rng`, which takes none."""
    place = placed(scene, "apply")
    rng = next((step for step in scene.steps if "check_rng_kwarg" in step.names), None)
    last = scene.steps[-1] if scene.steps else None
    if place is None or rng is None or last is None or last.name not in _RUNNING:
        return None
    texts, values = _texts(place), _values(scene, place)
    assert isinstance(place.node, ast.Call)
    keys = [n for n, value in enumerate(values) if n and (_is_key(value) or texts[n] == "None")]
    if not keys:
        return None
    function = segment(place, place.node.func)
    message = (
        f"`{function}` takes no random key, because of `without_apply_rng`, and so hands `{texts[keys[0]]}` to the"
        " function as its first input."
    )
    new = [text for n, text in enumerate(texts) if n != keys[0]]
    fix = put(place, "give no key", place.node, _called_with(place, new))
    return Told(message, (fix, advice("leave the key out, or leave without_apply_rng out.")))


# --- state ---


def _stateful(scene: Scene) -> Told | None:
    """A function with state under the transform for those without."""
    if not _is(scene, "NonEmptyStateError"):
        return None
    step, hk = scene.steps[-1] if scene.steps else None, _haiku(scene)
    state = step.names.get("state") if step is not None else None
    names = [f"`{name}`" for name in list(state)[:3]] if isinstance(state, Mapping) else ["a module"]
    made = next(iter(making(scene, "transform")), None)
    what = f"`{scene.text(made)}`" if made is not None else f"`{hk}.transform`"
    keeps = "keep" if len(names) > 1 else "keeps"
    message = (
        f"{joined(names)} {keeps} state, and {what} is for functions without: its `init` gives the parameters alone."
    )
    fixes: list[Fix] = []
    statement = scene.failed.statement
    inner = scene.text(made.args[0]) if isinstance(made, ast.Call) and made.args else "f"
    if isinstance(made, ast.Call):
        pairs: list[tuple[ast.AST, str]] = [(made.func, f"{hk}.transform_with_state")]
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            pairs.append((statement.targets[0], f"{statement.targets[0].id}, state"))
        said = "; ".join(f"{text}" for _, text in pairs)
        fixes.append(Fix(f"keep the state beside the parameters: `{said}`.", edit=exchanged(scene.failed.text, pairs)))
    hint = (
        f"use {hk}.transform_with_state({inner}): params, state = net.init(key, x), and"
        " y, state = net.apply(params, state, key, x)."
    )
    return Told(message, (*fixes, advice(hint)), ())


def _no_mapping(scene: Scene) -> Told | None:
    """`apply` with something else where the parameters or the state belong."""
    step, place = scene.step("check_mapping"), placed(scene, "apply")
    if step is None or place is None or not step.module.startswith("haiku"):
        return None
    node, name, value = place.node, str(step.names.get("name")), step.names.get("mapping")
    assert isinstance(node, ast.Call)
    function, texts, values = segment(place, node.func), _texts(place), _values(scene, place)
    stateful = any("uses_state" in one.names and one.names.get("uses_state") for one in scene.steps)
    where = next((n for n, one in enumerate(values) if one is value), 0 if name == "params" else 1)
    given = texts[where] if where < len(texts) else name
    order = "(params, state, key, …)" if stateful or name == "state" else "(params, key, …)"
    pair = name == "params" and isinstance(value, tuple) and len(value) == 2
    is_what = "a pair, the parameters and the state" if pair else describe(value)
    belongs = "belong" if name == "params" else "belongs"
    message = f"`{function}` takes {order}, and `{given}`, where the {name} {belongs}, is {is_what}."
    fixes: list[Fix] = []
    if name == "state":
        state = _state_name(place)
        if state is not None:
            new = [*texts[:where], state, *texts[where:]]
            fixes.append(put(place, f"give it `{state}`, too", node, _called_with(place, new)))
    elif pair:
        fixes += _unpacked(place, node, given, texts)
    hint = f"give them in this order: {function}{order}."
    return Told(message, (*fixes, advice(hint)))


def _state_name(place: FailedExpression) -> str | None:
    """The second name that the result of `init` was given."""
    for item in ast.walk(place.tree):
        if isinstance(item, ast.Assign) and name_called(item.value) == "init":
            target = item.targets[0]
            if isinstance(target, ast.Tuple) and len(target.elts) == 2:
                return segment(place, target.elts[1])
    return "state" if isinstance(place.frame.get("state"), Mapping) else None


def _unpacked(place: FailedExpression, node: ast.Call, given: str, texts: list[str]) -> Iterator[Fix]:
    """The pair taken apart where it is made."""
    for item in ast.walk(place.tree):
        if not isinstance(item, ast.Assign) or name_called(item.value) != "init":
            continue
        target = item.targets[0]
        if isinstance(target, ast.Name) and target.id == given:
            pairs: list[tuple[ast.AST, str]] = [(target, f"{given}, state")]
            second = node.args[1] if len(node.args) > 1 else None
            if isinstance(second, ast.Dict) and not second.keys:
                pairs.append((second, "state"))
            new = f"{given}, state = {segment(place, item.value)}"
            yield Fix(f"take the pair apart: `{new}`.", edit=exchanged(place.text, pairs))
    if len(texts) > 1:
        yield put(place, "take its first part", node.args[0], f"{given}[0]")


# --- what is called, and with which parameters ---


def _uncallable(scene: Scene) -> Told | None:
    """`net(x)`: what `transform` gives is a pair of functions."""
    node = scene.failed.node
    if scene.steps or not isinstance(node, ast.Call) or not _is_transformed(scene.failed.value_of(node.func)):
        return None
    text, place = scene.text(node.func), scene.failed
    stateful = is_of(place.value_of(node.func), "haiku", "TransformedWithState")
    params = _params_name(place) or "params"
    before = [params, _state_name(place) or "state"] if stateful else [params]
    texts = _texts(place)
    message = (
        f"`{text}` is no function: `{_haiku(scene)}.transform` gives a pair of them, `{text}.init` and `{text}.apply`."
    )
    fixes: list[Fix] = []
    for key in ("None", key_word(scene, place)):
        new = f"{text}.apply({', '.join([*before, key, *texts])})"
        fixes.append(put(place, "apply it to its parameters", node, new))
    return Told(message, (*fixes, advice(f"call {text}.apply({', '.join([*before, 'key'])}, …).")), ())


def _params_name(place: FailedExpression) -> str | None:
    """The first name that the result of `init` was given."""
    for item in ast.walk(place.tree):
        if isinstance(item, ast.Assign) and name_called(item.value) == "init":
            target = item.targets[0]
            first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
            return segment(place, first)
    return "params" if isinstance(place.frame.get("params"), Mapping) else None


def _parameter(scene: Scene) -> Told | None:
    """A parameter that has another shape, or that is not there."""
    step = scene.step("get_parameter")
    if step is None or not is_raised_by(scene, "haiku"):
        return None
    names = step.names
    name, module, shape = str(names.get("name")), str(names.get("bundle_name")), names.get("shape")
    place = placed(scene, "apply") or _own_call(scene) or scene.failed
    given = place.node.args[0] if isinstance(place.node, ast.Call) and place.node.args else None
    line = place.line if place.file == scene.here else None
    text = segment(place, given) if given is not None else "what was given"
    params = getattr(names.get("frame"), "params", None)
    found: Any = names.get("param")
    if not is_array(found):
        there = [str(key) for key in params] if isinstance(params, Mapping) else []
        listed = joined([f"`{one}`" for one in there]) or "none"
        message = f"`{text}` has no parameter `{name}` of `{module}`: it has {listed}."
        fixes = list(_renamed(place, given, module, there))
        hint = f"name it `{module}`, as the module does, or make the parameters with init of this function."
        return Told(message, (*fixes, advice(hint)), (), line)
    was, now = tuple(found.shape), tuple(shape) if isinstance(shape, list | tuple) else ()
    message = f"`{name}` of `{module}` is {dimensions(was)} in `{text}`, and {dimensions(now)} is needed"
    differ = [n for n, (a, b) in enumerate(zip(was, now, strict=False)) if a != b]
    hint = "call init again."
    if len(was) == len(now) and differ and differ[0] < len(was) - 1:
        a, b = was[differ[0]], now[differ[0]]
        message += f": it was initialised for inputs of width {a}, and this one has {b}"
        hint = f"give it inputs of width {a}, or call init again with these."
    elif differ:
        a, b = was[differ[0]], now[differ[0]]
        message += f": it was initialised with {a} outputs, and this module has {b}"
        hint = f"apply them by the module of {a} outputs that made them, or call init of this one."
    inputs = [one for one in arguments_at(place) if one.text != text]
    return Told(f"{message}.", (*_again(place, given), advice(hint)), (*inputs, *scene.operands), line)


def _own_call(scene: Scene) -> FailedExpression | None:
    """The call of the cell that hands parameters on, such as one of what `jit` made of `apply`."""
    for place in scene.callers:
        first = argument_of(place.node, 0, "params")
        if first is not None and isinstance(place.value_of(first), Mapping):
            return place
    return None


def _again(place: FailedExpression, given: ast.AST | None) -> Iterator[Fix]:
    """The parameters initialised with the inputs that they are applied to."""
    made = bound_to(place, given)
    inner = list(place.node.args) if isinstance(place.node, ast.Call) else []
    if name_called(made) != "init" or not isinstance(made, ast.Call) or len(made.args) != 2 or not inner:
        return
    old, new = segment(place, made.args[1]), segment(place, inner[-1])
    if old != new and len(inner) in (2, 3):
        text = f"{segment(place, made.func)}({segment(place, made.args[0])}, {new})"
        yield put(place, "initialise it with these inputs", made, text)


def _renamed(place: FailedExpression, given: ast.AST | None, module: str, there: list[str]) -> Iterator[Fix]:
    made = bound_to(place, given)
    if isinstance(made, ast.Dict) and len(there) == 1:
        keys = [key for key in made.keys if isinstance(key, ast.Constant) and key.value == there[0]]
        if keys:
            yield put(place, f"name them `{module}`", keys[0], f'"{module}"')


_ANY: tuple[type[BaseException], ...] = (Exception,)

EXPLAINERS = (
    Explainer("haiku-key", (ValueError,), _no_key, inside=frozenset({"to_prng_sequence"})),
    Explainer("haiku-drawn", (ValueError,), _drawn),
    Explainer("haiku-arguments", (TypeError,), _too_many),
    Explainer("haiku-state", (ValueError,), _stateful),
    Explainer("haiku-order", (TypeError,), _no_mapping, inside=frozenset({"check_mapping"})),
    Explainer("haiku-called", (TypeError,), _uncallable),
    Explainer("haiku-parameter", (ValueError,), _parameter, inside=frozenset({"get_parameter"})),
    Explainer("haiku-outside", _ANY, _outside),
)
