"""Carries of loops that change their type or structure, bodies and conditions that return something else."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from typing import Any, cast

import jax
import jax.numpy as jnp

from jaxnb._jax import RAISING, unflattened
from jaxnb.findings.errors.calls import bound_to, calls_named, name_called
from jaxnb.findings.errors.edits import (
    advice,
    bare,
    bracketed,
    dimensions,
    exchange,
    exchanged,
    joined,
    put,
    segment,
    with_more,
    words_of,
)
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import definition_of, result_of, said_name
from jaxnb.findings.errors.parts import differing, part_at, resolved
from jaxnb.findings.errors.scene import Operand, Scene, abstract_text
from jaxnb.findings.errors.trees import first_difference, kind_of
from jaxnb.program import Fix
from jaxnb.staging import describe

__all__ = ["EXPLAINERS"]

_LOOPS = {
    "scan": (1, "init", 0, "f"),
    "while_loop": (2, "init_val", 1, "body_fun"),
    "fori_loop": (3, "init_val", 2, "body_fun"),
}


def _loop(scene: Scene) -> tuple[str, Operand | None, Operand | None]:
    """Which loop it is, its init and its body, as the user wrote them."""
    for name in ("fori_loop", "while_loop", "scan"):
        if name in scene.called or name in scene.inside:
            place, word, body, body_word = _LOOPS[name]
            if name not in scene.called:
                return name, None, None
            return name, scene.argument(place, word), scene.argument(body, body_word)
    return "loop", None, None


def _carry(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["carry"])
    if step is None:
        return None
    name, init, body = _loop(scene)
    before, after = unflattened(step.names.get("in_carry")), unflattened(step.names.get("out_carry"))
    if name == "fori_loop" and isinstance(before, tuple) and isinstance(after, tuple):
        before, after = before[1], after[1]  # beside the index
    made = _given_function(scene, name)
    function = definition_of(scene, made)
    known = _body_name(body) if body is not None else said_name(made, "the body")
    pairs = differing(before, after)
    if pairs is None:
        return _structure(scene, name, init, known, function, before, after)
    if not pairs:
        return None
    path, a, b = pairs[0]
    shown = [
        f"{f'`carry{where}`' if where else 'it'} is {abstract_text(one)} before and {abstract_text(two)} after a turn"
        for where, one, two in pairs[:3]
    ]
    more = f", and {len(pairs) - 3} more differ" if len(pairs) > 3 else ""
    named = f" `{init.text}`" if init is not None and len(init.text) <= 40 else ""
    message = f"the carry{named} of `{name}` has to be of one type: {'; '.join(shown)} of {known}{more}. {_how(a, b)}"
    node, line = _component(scene, name, function, path)
    if _is_key(a) or _is_key(b):
        return Told(message, (*_keys(scene, init, path, function, node, b), advice(_KEYS)), _as_operands(init), line)
    fixes = [
        *_carry_fixes(scene, init, pairs),
        *_cast_in_body(scene, name, function, node, a, b),
    ]
    if len(a.shape) < len(b.shape) and len(pairs) == 1:
        fixes = list(_either(scene, name, function, node, b, fixes))
    about = _as_operands(init)
    if 0 < len(a.shape) < len(b.shape) and b.shape[-len(a.shape) :] == a.shape:
        line = _line_of_init(scene, init, path) or line  # it was broadcast by what a turn adds, which has more axes
    swapped = name == "scan" and not path and a.shape != b.shape
    guesses = tuple(_swapped(scene, result_of(function), function)) if swapped else ()
    return Told(message, (*fixes, advice(_carry_advice(a, b))), about, line, guesses)


_BODIES = {"scan": "f", "while_loop": "body_fun", "fori_loop": "body_fun"}


def _given_function(scene: Scene, name: str, argument: str = "") -> Any:
    """A function that a loop was given: its body, or what the argument of another name was."""
    step = scene.step(name)
    return step.names.get(argument or _BODIES.get(name, "")) if step is not None else None


def _component(scene: Scene, name: str, function: Any, path: str) -> tuple[ast.expr | None, int | None]:
    """The expression of the new carry at a path in what a body returns, and the line on which it is made."""
    value = result_of(function)
    if value is None:
        return None, getattr(function, "lineno", None)
    carry = value.elts[0] if name == "scan" and isinstance(value, ast.Tuple) and value.elts else value
    node = part_at(resolved(scene.failed, function, carry), path) if path else carry
    node = node if node is not None else carry
    return node, resolved(scene.failed, function, node).lineno


def _line_of_init(scene: Scene, init: Operand | None, path: str) -> int | None:
    """The line on which a part of the initial carry is made, if that stands in the text of the loop."""
    if init is None or scene.failed.file != scene.here:
        return None
    made = bound_to(scene.failed, init.node)
    node = part_at(made, path) if path else made
    node = bound_to(scene.failed, node) or node if node is not None else made
    return getattr(node, "lineno", None)


def _is_key(aval: Any) -> bool:
    return jnp.issubdtype(aval.dtype, jax.dtypes.prng_key)


_KEYS = "begin with a key of the same kind, jax.random.key(seed), or keep what jax.random.split gives as it is."


def _keys(
    scene: Scene, init: Operand | None, path: str, function: Any, node: ast.expr | None, after: Any
) -> Iterator[Fix]:
    """Keys of one kind: what a turn gives without the call that wraps or unwraps it, and the initial key wrapped."""
    made = resolved(scene.failed, function, node)
    if isinstance(made, ast.Call) and name_called(made) in ("wrap_key_data", "key_data") and made.args:
        said = f"keep the key as it is, without {name_called(made)}"
        yield put(scene.failed, said, made, segment(scene.failed, made.args[0]))
    first = None if init is None else part_at(init.node, path) if path else init.node
    if isinstance(first, ast.expr):
        name = "wrap_key_data" if _is_key(after) else "key_data"
        new = f"{words_of(scene, 'jax', 'jax')}.random.{name}({segment(scene.failed, first)})"
        yield put(scene.failed, "begin with a key of the same kind", first, new)


def _how(a: Any, b: Any) -> str:
    if _is_key(a) != _is_key(b):
        return "One is a typed key, the other one the numbers of a key."
    if a.shape != b.shape:
        return f"The shapes differ: {dimensions(a.shape)} and {dimensions(b.shape)}."
    return f"The dtypes differ: {a.dtype} and {b.dtype}."


def _carry_advice(a: Any, b: Any) -> str:
    if a.shape != b.shape:
        shape = dimensions(b.shape)
        return (
            f"begin with an array of shape {shape}, such as jnp.zeros({shape}), or let a turn return the same shape"
            f" {dimensions(a.shape)}: sum or reshape what it adds."
        )
    return (
        f"begin with {b.dtype}: jnp.zeros(…, dtype=jnp.{b.dtype}), or cast what a turn gives: .astype(jnp.{a.dtype})."
    )


def _structure(
    scene: Scene, name: str, init: Operand | None, known: str, function: Any, before: Any, after: Any
) -> Told:
    shown = f" `{init.text}`" if init is not None and len(init.text) <= 40 else ""
    message = (
        f"the carry{shown} of `{name}` has to keep its structure: it is {abstract_text(before)} before and"
        f" {abstract_text(after)} after a turn of {known}."
    )
    value = result_of(function)
    line = getattr(value, "lineno", getattr(function, "lineno", None))
    fixes = tuple(_structure_fixes(scene, name, value, before, after))
    hint = advice(_structure_advice(name, known, function, before, after))
    guesses = tuple(_swapped(scene, value, function)) if name == "scan" else ()
    return Told(message, (*fixes, hint), (init,) if init is not None else (), line, guesses)


def _swapped(scene: Scene, value: Any, function: Any) -> Iterator[Fix]:
    """A pair (y, carry) in the order that `scan` takes; not where the first is computed from the carry, and the second
    is that as it came."""
    carry = next((item.arg for item in function.args.args), "") if function is not None else ""
    if not isinstance(value, ast.Tuple) or len(value.elts) != 2:
        return
    first, second = value.elts
    made = resolved(scene.failed, function, first)
    goes_on = carry in {node.id for node in ast.walk(made) if isinstance(node, ast.Name)}
    if not goes_on or resolved(scene.failed, function, second) is not second or scene.text(second) != carry:
        new = f"{segment(scene.failed, second)}, {segment(scene.failed, first)}"
        yield put(scene.failed, "return the carry first", value, new)


def _structure_advice(name: str, known: str, function: Any, before: Any, after: Any) -> str:
    if after is None and before is not None:
        return f"return the new carry: {known} returns None."
    if isinstance(before, dict) and isinstance(after, dict):
        extra, missing = sorted(set(after) - set(before)), sorted(set(before) - set(after))
        said = [f"add {joined([repr(key) for key in extra])} to the initial carry, or return it as y"] if extra else []
        said += [f"return {joined([repr(key) for key in missing])}, too"] if missing else []
        return f"use the same keys: {', and '.join(said)}."
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) != len(after):
        named = _unpacked(function)
        more = f" It is unpacked as {named}." if named else ""
        return f"return as many items as the carry begins with: {len(before)}, not {len(after)}.{more}"
    difference = first_difference(before, after)
    if difference is not None and difference.path and isinstance(difference.first, dict | list | tuple):
        return f"return {kind_of(difference.first)} at `carry{difference.path}`, as the carry begins with."
    if name == "scan":
        return "return (carry, y) from the body, carry first, with the same structure as the initial carry."
    if isinstance(after, tuple) and not isinstance(before, tuple):
        return f"return only the carry from the body of `{name}`; lax.scan collects results besides."
    return "return from the body what the carry begins with, item by item."


def _structure_fixes(scene: Scene, name: str, value: Any, before: Any, after: Any) -> Iterator[Fix]:
    pair = value if isinstance(value, ast.Tuple) and len(value.elts) == 2 else None
    carry = pair.elts[0] if pair is not None and name == "scan" else value
    if {type(before), type(after)} == {list, tuple} and isinstance(carry, ast.Tuple | ast.List):
        inner = ", ".join(segment(scene.failed, item) for item in carry.elts)
        kind, new = ("list", f"[{inner}]") if isinstance(before, list) else ("tuple", f"({inner},)")
        yield put(scene.failed, f"return a {kind}, as the carry is one", carry, new)
    yield from _whole_part(scene, carry, before, after)
    if pair is None:
        return
    first, second = (segment(scene.failed, item) for item in pair.elts)
    if name == "scan" and before is None:
        yield put(scene.failed, "return None as the carry, as it begins", pair, f"None, {second}")
    elif name != "scan" and isinstance(after, tuple) and not isinstance(before, tuple):
        yield put(scene.failed, "return only the carry", pair, first)


def _whole_part(scene: Scene, carry: Any, before: Any, after: Any) -> Iterator[Fix]:
    """All of a container of which a turn returns one item, where the carry begins with the container."""
    difference = first_difference(before, after)
    node = part_at(carry, difference.path) if difference is not None and difference.path else carry
    if difference is not None and isinstance(node, ast.Subscript) and isinstance(difference.first, dict | list | tuple):
        holder = segment(scene.failed, node.value)
        yield put(scene.failed, f"return all of `{holder}`", node, holder)


def _unpacked(function: Any) -> str:
    """The names into which a body takes its carry apart, such as "i, x, x_old"."""
    arguments = [item.arg for item in getattr(getattr(function, "args", None), "args", ())]
    for item in ast.walk(function) if function is not None else ():
        if isinstance(item, ast.Assign) and isinstance(item.value, ast.Name) and item.value.id in arguments:
            return ast.unparse(item.targets[0]).strip("()")
    return ""


def _plain(text: str) -> str:
    return re.sub(r"ShapeDtypeStruct |ShapedArray\(([^)]*\])[^)]*\)", lambda m: m[1] or "", text)


def _body_name(body: Operand | None) -> str:
    if body is None:
        return "the body"
    return "the lambda" if isinstance(body.node, ast.Lambda) else f"`{body.text}`"


_MAKERS = frozenset("zeros ones full array asarray arange zeros_like ones_like full_like".split())


def _carry_fixes(scene: Scene, init: Operand | None, pairs: list[tuple[str, Any, Any]]) -> Iterator[Fix]:
    """The init in the type that the body returns."""
    if init is None or len(pairs) != 1:
        return
    path, a, b = pairs[0]
    words = words_of(scene)
    node = part_at(init.node, path) if path else init.node
    if node is None and isinstance(init.node, ast.Name):
        node = part_at(bound_to(scene.failed, init.node), path)
    if node is None:
        return
    text = segment(scene.failed, node)
    made = bound_to(scene.failed, node) or node
    maker = made.func.attr if isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) else ""
    dtype = f"{words}.{b.dtype}"
    if a.shape == b.shape and jnp.promote_types(a.dtype, b.dtype) == b.dtype:
        if isinstance(made, ast.Call) and maker in _MAKERS:
            yield from _with_dtype(scene, made, dtype)
        elif isinstance(made, ast.Call) and maker == str(a.dtype):
            yield put(scene.failed, f"begin with {b.dtype}", made.func, dtype)
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            value = repr(float(cast(float, node.value))) if "float" in str(b.dtype) else text
            yield put(scene.failed, f"begin with {b.dtype}", node, f"{dtype}({value})")
        else:
            yield put(scene.failed, f"begin with {b.dtype}", node, f"{words}.asarray({text}, {dtype})")
    elif a.shape == () and b.shape != ():
        zero = isinstance(node, ast.Constant) and node.value == 0
        shape = dimensions(b.shape)
        new = f"{words}.zeros({shape}, {dtype})" if zero else f"{words}.full({shape}, {text}, {dtype})"
        yield put(scene.failed, "begin with the shape that a turn gives", node, new)
    elif isinstance(made, ast.Call) and maker in ("zeros", "ones", "full", "empty") and made.args:
        yield put(scene.failed, "begin with the shape that a turn gives", made.args[0], dimensions(b.shape))


_REDUCING = {"maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any", "multiply": "prod"}
"""How what two arrays are combined by is done to all of one."""


def _either(scene: Scene, name: str, function: Any, node: ast.expr | None, b: Any, fixes: list[Fix]) -> Iterator[Fix]:
    """A carry that gains axes: it begins with too few, or a turn lacks a reduction. Both run and mean different things,
    and both are told; what only keeps the shape comes first."""
    grown = [one for one in fixes if "shape that a turn gives" in one.text]
    if not grown:
        yield from fixes
        return
    yield from (one for one in fixes if one not in grown)
    reduced = _reduced(scene, name, function, node)
    begin = grown[0].text.rpartition(": ")[2].rstrip(".")
    inside = f"reduce what a turn adds to it, such as {reduced}" if reduced else "reduce what a turn adds to it"
    yield advice(f"if one value is meant, {inside}; if a carry {dimensions(b.shape)} is meant, begin with {begin}.")


def _reduced(scene: Scene, name: str, function: Any, node: ast.expr | None) -> str:
    """What a turn adds to the carry, reduced, such as "`error.sum()`"; "" if that cannot be told."""
    if function is None or node is None:
        return ""
    parameters = [item.arg for item in function.args.args]
    carry = parameters[1] if name == "fori_loop" and len(parameters) > 1 else next(iter(parameters), "")
    made = resolved(scene.failed, function, node)
    parts: list[ast.expr] = []
    how = "sum"
    if isinstance(made, ast.BinOp):
        parts, how = [made.left, made.right], "prod" if isinstance(made.op, ast.Mult) else "sum"
    elif isinstance(made, ast.Call):
        parts, how = made.args, _REDUCING.get(name_called(made), "sum")
    names = {carry, ast.unparse(node)}
    others = [one for one in parts if not (isinstance(one, ast.Name) and one.id in names)]
    if len(others) != 1 or len(parts) != 2:
        return ""
    return f"`{bare(others[0], segment(scene.failed, others[0]))}.{how}()`"


def _with_dtype(scene: Scene, call: ast.Call, dtype: str) -> Iterator[Fix]:
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "dtype"), None)
    places = dict.fromkeys(("zeros", "ones", "array", "asarray", "zeros_like", "ones_like"), 1)
    places |= {"full": 2, "full_like": 2}
    place = places.get(call.func.attr if isinstance(call.func, ast.Attribute) else "", 99)
    given = call.args[place] if given is None and len(call.args) > place else given
    if given is not None:
        yield put(scene.failed, f"begin with {dtype.rpartition('.')[2]}", given, dtype)
        return
    yield with_more(scene.failed, f"begin with {dtype.rpartition('.')[2]}", call, f"dtype={dtype}")


def _cast_in_body(scene: Scene, name: str, function: Any, node: ast.expr | None, a: Any, b: Any) -> Iterator[Fix]:
    """What a turn gives, cast to what the carry is; in another shape where axes of size 1 are all that differs."""
    if function is None or node is None:
        return
    made = resolved(scene.failed, function, node)
    text = segment(scene.failed, made)
    parameters = [item.arg for item in function.args.args]
    carry = parameters[1] if name == "fori_loop" and len(parameters) > 1 else next(iter(parameters), "")
    value = result_of(function)
    alone = value is node or (name == "scan" and isinstance(value, ast.Tuple) and value.elts[0] is node)
    dtype = f"{carry}.dtype" if alone and carry else f"{words_of(scene)}.{a.dtype}"
    if a.shape == b.shape:
        yield put(scene.failed, "cast what a turn gives", made, f"{bare(made, text)}.astype({dtype})")
        return
    yield from _reshaped_to(scene, function, a, b)
    if [n for n in a.shape if n != 1] == [n for n in b.shape if n != 1]:
        yield put(scene.failed, "keep the shape", made, f"{bare(made, text)}.reshape({dimensions(a.shape)})")


def _reshaped_to(scene: Scene, function: Any, a: Any, b: Any) -> Iterator[Fix]:
    """A reshape in the body to the shape that a turn gives, to the shape of the carry."""
    for call in calls_named(function, "reshape"):
        sizes = call.args[0].elts if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple) else call.args
        written = tuple(one.value if isinstance(one, ast.Constant) else None for one in sizes)
        if written == b.shape and isinstance(call.func, ast.Attribute) and math.prod(a.shape) == math.prod(b.shape):
            new = f"{segment(scene.failed, call.func)}({dimensions(a.shape)})"
            yield put(scene.failed, "reshape to what the carry is", call, new)


# --- what goes into a loop ---


def _no_arrays(scene: Scene) -> Told | None:
    """A function, a range or a text in the carry or among the xs of a loop."""
    step = scene.steps[-1]
    name, init, body = _loop(scene)
    call = scene.step(name)
    value: Any = step.names.get("x")
    if step.name not in RAISING["typed"] or call is None or name not in scene.called:
        return None
    xs = scene.argument(2, "xs") if name == "scan" else None
    of = f"`{name}` of {_body_name(body)}"
    for operand, word in ((init, _LOOPS[name][1]), (xs, "xs")):
        held = call.names.get(word, unflattened(call.names.get(f"{word}_flat")))
        path = _path_to(held, value) if operand is not None else None
        if operand is None or path is None:
            continue
        node = part_at(operand.node, path) if path else operand.node
        shown = scene.text(node) if node is not None else f"{operand.text}{path}"
        where = f", one of the xs of {of}," if operand is xs else f" in the carry of {of}"
        if not path and operand is xs:
            where = f", the xs of {of},"
        message = f"`{shown}`{where} is {_said(value)}, and what a loop goes through or hands on are arrays."
        return Told(message, (*_as_arrays(scene, node, value), advice(_outside(value, operand is xs))), (operand,))
    return None


def _path_to(holder: Any, value: Any, path: str = "") -> str | None:
    """Where a value stands in a container of Python, such as "[0]['f']"; "" for the container itself."""
    if holder is value:
        return path
    items: list[tuple[Any, Any]] = []
    if type(holder) is dict:
        items = list(holder.items())
    elif isinstance(holder, list | tuple):
        items = list(enumerate(holder))
    found = (_path_to(item, value, f"{path}[{key!r}]") for key, item in items)
    return next((one for one in found if one is not None), None)


def _said(value: Any) -> str:
    if isinstance(value, range):
        return f"a range of Python, {value}"
    if isinstance(value, str | bytes):
        return f"the {type(value).__name__} {value!r}"
    if callable(value):
        return "a function"
    return f"an object of the class {type(value).__name__}"


def _as_arrays(scene: Scene, node: Any, value: Any) -> Iterator[Fix]:
    if isinstance(value, range) and isinstance(node, ast.Call) and name_called(node) == "range":
        yield exchange(scene, "go through an array", (node.func, f"{words_of(scene)}.arange"))
    elif isinstance(value, range) and isinstance(node, ast.expr):
        yield exchange(scene, "go through an array", (node, f"{words_of(scene)}.asarray({scene.text(node)})"))


def _outside(value: Any, is_xs: bool) -> str:
    if isinstance(value, range):
        return "give jnp.arange(n), or no xs and length=n."
    if callable(value) and not is_xs:
        return "leave it out of the carry, and call it from the body as a closure, or bound by functools.partial."
    return "give arrays, and use the rest from the body as a closure."


def _turned_around(scene: Scene) -> Told | None:
    """A body of `fori_loop` that takes the carry first and indexes with what it takes for the index."""
    function = scene.failed.above(ast.FunctionDef, ast.Lambda)
    if function is None or "fori_loop" not in scene.under or scene.steps[-1].name not in RAISING["indexer"]:
        return None
    parameters = [item.arg for item in function.args.args]
    if len(parameters) != 2:
        return None
    first, second = parameters
    index, carry = scene.failed.frame.get(first), scene.failed.frame.get(second)
    if carry is not scene.steps[-1].names.get("idx") or not isinstance(index, jax.Array):
        return None
    if index.shape or not jnp.issubdtype(index.dtype, jnp.integer):
        return None
    known = f"`{function.name}`" if isinstance(function, ast.FunctionDef) else "the lambda"
    message = (
        f"`fori_loop` calls its body with the index first and then the carry, and {known} takes ({first}, {second}): so"
        f" `{second}` is the carry, {describe(carry)}, and no integer to index with."
    )
    arguments = function.args.args
    edit = exchanged(scene.failed.text, [(arguments[0], second), (arguments[1], first)])
    name = getattr(function, "name", "lambda")
    fixes = (Fix(f"take the index first: `{name}({second}, {first})`.", edit=edit), advice("take the index first."))
    return Told(message, fixes, None, function.lineno if scene.failed.file == scene.here else None)


# --- bodies and conditions ---


def _body(scene: Scene) -> Told | None:
    name, _, body = _loop(scene)
    said = str(scene.error)
    if name == "scan" and scene.steps[-1].name in RAISING["body"]:
        function = definition_of(scene, _given_function(scene, name))
        value = result_of(function)
        line = getattr(value, "lineno", getattr(function, "lineno", None))
        got = re.search(r"got (.*?)\.?$", said.split("\n")[0])
        shown = f": it returned {_plain(got[1])}" if got else ""
        fixes: list[Fix] = []
        if value is not None and not isinstance(value, ast.Tuple):
            text = segment(scene.failed, value)
            new = f"{text}, None" if isinstance(function, ast.FunctionDef) else f"({text}, None)"
            fixes.append(put(scene.failed, "return a pair", value, new))
        message = f"the body {_body_name(body)} of `scan` has to return a pair (carry, y){shown}."
        return Told(message, (*fixes, advice("return carry, y; y may be None.")), _as_operands(body), line)
    if name == "while_loop" and scene.steps[-1].name in RAISING["body"]:
        condition = scene.argument(0, "cond_fun")
        value = result_of(definition_of(scene, _given_function(scene, name, "cond_fun")))
        got = re.search(r"got output type\(s\) (.*?)\.?$", said)
        shown = f": it is {_plain(got[1].strip('[]'))}" if got else ""
        fixes = []
        if value is not None:
            text = segment(scene.failed, value)
            fixes = [
                put(scene.failed, "reduce it", value, f"{words_of(scene)}.{how}({text})") for how in ("any", "all")
            ]
        message = f"the condition {_body_name(condition)} of `while_loop` has to return one boolean, a scalar{shown}."
        hint = advice("reduce it with jnp.all or jnp.any.")
        return Told(message, (*fixes, hint), _as_operands(condition), getattr(value, "lineno", None))
    return None


def _as_operands(*operands: Operand | None) -> tuple[Operand, ...]:
    return tuple(operand for operand in operands if operand is not None)


def _length(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["scan-length"])
    xs = scene.argument(2, "xs")
    if step is None:
        return None
    flat = step.names.get("xs_flat") or ()
    avals = step.names.get("xs_avals") or ()
    shapes = [dimensions(getattr(item, "shape", ())) for item in (flat or avals)]
    length = step.names.get("length")
    given = f", and length={length}" if length is not None else ""
    named = [operand for operand in scene.operands if xs is not None and _inside(operand.node, xs.node)]
    shown = joined([f"`{o.text}` {dimensions(o.shape or ())}" for o in named if o.is_array]) or joined(shapes)
    message = f"`scan` goes along the first axis of all of its xs, and they differ there: {shown}{given}."
    hint = "give xs one leading size: slice the longer one, such as [:-1], or leave length out."
    if not shapes and length is None:
        body = scene.argument(0, "f")
        message = f"`scan` of {_body_name(body)} knows no length: it has no xs (None) and no length."
        hint = "say how many turns it makes: length=."
    fixes = list(_sliced(scene, named)) if len(set(shapes)) == 2 else []
    return Told(message, (*fixes, advice(hint)), None if named else ())


def _sliced(scene: Scene, named: list[Operand]) -> Iterator[Fix]:
    arrays = [operand for operand in named if operand.is_array and operand.shape]
    if len(arrays) >= 2:
        longest = max(arrays, key=lambda one: (one.shape or (0,))[0])
        shortest = min((one.shape or (0,))[0] for one in arrays)
        yield exchange(scene, "take as many", (longest.node, f"{bracketed(longest)}[:{shortest}]"))


def _inside(node: ast.AST, whole: ast.AST) -> bool:
    return any(item is node for item in ast.walk(whole))


EXPLAINERS = (
    Explainer("carry", (TypeError, ValueError), _carry, inside=RAISING["carry"]),
    Explainer("carried", (TypeError,), _no_arrays, inside=RAISING["typed"]),
    Explainer("loop-order", (TypeError,), _turned_around, inside=RAISING["indexer"]),
    Explainer("scan-length", (TypeError, ValueError), _length, inside=RAISING["scan-length"]),
    Explainer("body", (TypeError, ValueError), _body, inside=RAISING["body"]),
)
