"""Carries of loops that change their type or structure, bodies and conditions that return something else."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

import jax

from jaxnb._jax import RAISING, unflattened
from jaxnb.findings.errors.edits import advice, dimensions, exchanged, joined
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Operand, Scene, abstract_text
from jaxnb.program import Fix

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
    pairs = _pairs(before, after)
    function = _function(scene, body)
    if pairs is None:
        return _structure(name, init, body, before, after)
    shown = [f"{path}{abstract_text(a)} before and {abstract_text(b)} after a turn" for path, a, b in pairs]
    differ = _how(pairs[0][1], pairs[0][2])
    told = "; ".join(shown[:3]) + (f"; {len(shown) - 3} more" if len(shown) > 3 else "")
    named = f" `{init.text}`" if init is not None and len(init.text) <= 40 else ""
    message = f"the carry{named} of `{name}` has to be of one type: {told} of `{_body_name(body)}`. {differ}"
    about = tuple(operand for operand in (init,) if operand is not None)
    return Told(message, (*_carry_fixes(scene, init, function, pairs), advice(_carry_advice(pairs[0]))), about)


def _pairs(before: Any, after: Any) -> list[tuple[str, Any, Any]] | None:
    """The components that differ, each with its path; None if the structures do."""
    paths, own = jax.tree_util.tree_flatten_with_path(before)
    leaves, other = jax.tree.flatten(after)
    if own != other:
        return None
    different = [
        (_path(path), a, b)
        for (path, a), b in zip(paths, leaves, strict=True)
        if (a.shape, a.dtype) != (b.shape, b.dtype)
    ]
    return different or [(_path(path), a, b) for (path, a), b in zip(paths, leaves, strict=True)][:1]


def _path(path: Sequence[Any]) -> str:
    return f"carry{jax.tree_util.keystr(tuple(path))} is " if path else "it is "


def _how(a: Any, b: Any) -> str:
    if a.shape != b.shape:
        return f"The shapes differ: {dimensions(a.shape)} and {dimensions(b.shape)}."
    return f"The dtypes differ: {a.dtype} and {b.dtype}."


def _carry_advice(pair: tuple[str, Any, Any]) -> str:
    _, a, b = pair
    if a.shape != b.shape:
        return f"begin with an array of shape {dimensions(b.shape)}, such as jnp.zeros, or let the body return {dimensions(a.shape)}."
    return f"begin with {b.dtype}, or cast what the body returns: .astype({_name_of(a)}.dtype)."


def _name_of(value: Any) -> str:
    return "carry"


def _structure(name: str, init: Operand | None, body: Operand | None, before: Any, after: Any) -> Told:
    shown = f" `{init.text}`" if init is not None and len(init.text) <= 40 else ""
    message = (
        f"the carry{shown} of `{name}` has to keep its structure: it is {abstract_text(before)} before and"
        f" {abstract_text(after)} after a turn of `{_body_name(body)}`."
    )
    hint = "return from the body what the carry begins with, item by item."
    if name == "scan":
        hint = "return (carry, y) from the body, with a carry like the init."
    return Told(message, (advice(hint),), (init,) if init is not None else ())


def _plain(text: str) -> str:
    return re.sub(r"ShapeDtypeStruct |ShapedArray\(([^)]*\])[^)]*\)", lambda m: m[1] or "", text)


def _body_name(body: Operand | None) -> str:
    if body is None:
        return "the body"
    return "the lambda" if isinstance(body.node, ast.Lambda) else body.text


def _function(scene: Scene, body: Operand | None) -> Any:
    """The definition of the body, if it stands in the same text."""
    if body is None:
        return None
    if isinstance(body.node, ast.Lambda):
        return body.node
    if not isinstance(body.node, ast.Name):
        return None
    found = [
        node for node in ast.walk(scene.failed.tree) if isinstance(node, ast.FunctionDef) and node.name == body.node.id
    ]
    return found[-1] if found else None


def _carry_fixes(scene: Scene, init: Operand | None, function: Any, pairs: list[tuple[str, Any, Any]]) -> Iterator[Fix]:
    """The init in the type that the body returns, then the body's result cast to that of the init."""
    if init is None or len(pairs) != 1:
        return
    path, a, b = pairs[0]
    jnp = next(
        (key for key, value in scene.failed.frame.items() if getattr(value, "__name__", "") == "jax.numpy"), "jnp"
    )
    part = _part(init.node, path)
    node = part if part is not None else init.node
    whole = part is not None or path == "it is "
    text = ast.get_source_segment(scene.failed.text, node) or ""
    made = _made_of(scene, node) if isinstance(node, ast.Name) else node
    if not whole:
        return
    dtype = f"{jnp}.{b.dtype}"
    if a.shape == b.shape:
        if (
            isinstance(made, ast.Call)
            and isinstance(made.func, ast.Attribute)
            and made.func.attr
            in ("zeros", "ones", "full", "array", "asarray", "arange", "zeros_like", "ones_like", "full_like")
        ):
            yield from _with_dtype(scene, made, dtype)
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            value = repr(float(node.value)) if "float" in str(b.dtype) else text
            yield _put(scene, f"begin with {b.dtype}", node, f"{jnp}.{b.dtype}({value})")
        yield _put(scene, f"begin with {b.dtype}", node, f"{jnp}.asarray({text}, {dtype})")
    elif a.shape == ():
        fill = f"{jnp}.full({dimensions(b.shape)}, {text}, {dtype})"
        zero = isinstance(node, ast.Constant) and node.value == 0
        yield _put(
            scene,
            "begin with the shape that a turn gives",
            node,
            f"{jnp}.zeros({dimensions(b.shape)}, {dtype})" if zero else fill,
        )
    yield from _cast_in_body(scene, function, a, b)


def _with_dtype(scene: Scene, call: ast.Call, dtype: str) -> Iterator[Fix]:
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "dtype"), None)
    places = {
        "zeros": 1,
        "ones": 1,
        "array": 1,
        "asarray": 1,
        "full": 2,
        "zeros_like": 1,
        "ones_like": 1,
        "full_like": 2,
    }
    place = places.get(call.func.attr if isinstance(call.func, ast.Attribute) else "", 99)
    given = call.args[place] if given is None and len(call.args) > place else given
    if given is not None:
        yield _put(scene, f"begin with {dtype.rpartition('.')[2]}", given, dtype)
        return
    text = ast.get_source_segment(scene.failed.text, call) or ""
    yield _put(
        scene, f"begin with {dtype.rpartition('.')[2]}", call, f"{text.rstrip()[:-1].rstrip(', ')}, dtype={dtype})"
    )


def _cast_in_body(scene: Scene, function: Any, a: Any, b: Any) -> Iterator[Fix]:
    if function is None or a.shape != b.shape:
        return
    parameters = [item.arg for item in function.args.args]
    returned = function.body if isinstance(function, ast.Lambda) else None
    if isinstance(function, ast.FunctionDef):
        ends = [node for node in function.body if isinstance(node, ast.Return)]
        returned = ends[-1].value if ends else None
    if returned is None or not parameters:
        return
    value = returned.elts[0] if isinstance(returned, ast.Tuple) and returned.elts else returned
    if isinstance(value, ast.Tuple):
        return
    text = ast.get_source_segment(scene.failed.text, value) or ""
    simple = isinstance(value, ast.Name | ast.Call | ast.Attribute | ast.Subscript)
    name = parameters[1] if "fori_loop" in scene.called and len(parameters) > 1 else parameters[0]
    yield _put(scene, "cast what a turn gives", value, f"{text if simple else f'({text})'}.astype({name}.dtype)")


def _put(scene: Scene, text: str, node: ast.AST, new: str) -> Fix:
    return Fix(f"{text}: `{' '.join(new.split())}`.", edit=exchanged(scene.failed.text, [(node, new)]))


def _part(node: ast.AST, path: str) -> ast.AST | None:
    """The item of a tuple or dict that is written out, at a path such as "carry[1] is "."""
    for key in re.findall(r"\[([^]]*)\]", path):
        if isinstance(node, ast.Tuple | ast.List) and key.isdigit() and int(key) < len(node.elts):
            node = node.elts[int(key)]
        elif isinstance(node, ast.Dict):
            places = [n for n, one in enumerate(node.keys) if isinstance(one, ast.Constant) and repr(one.value) == key]
            if not places:
                return None
            node = node.values[places[0]]
        else:
            return None
    return node if path.startswith("carry") else None


def _made_of(scene: Scene, node: ast.Name) -> ast.AST | None:
    found: ast.AST | None = None
    scope = scene.failed.above(ast.FunctionDef) or scene.failed.tree
    for item in ast.walk(scope):
        if isinstance(item, ast.Assign) and item.lineno <= scene.failed.line:
            if any(isinstance(target, ast.Name) and target.id == node.id for target in item.targets):
                found = item.value
    return found


# --- bodies and conditions ---


def _body(scene: Scene) -> Told | None:
    name, _, body = _loop(scene)
    step = scene.step(*RAISING["body"], "scan", "while_loop")
    said = str(scene.error)
    function = _function(scene, body)
    if name == "scan":
        got = re.search(r"got (.*?)\.?$", said.split("\n")[0])
        shown = f": it returned {_plain(got[1])}" if got else ""
        fixes: list[Fix] = []
        value = _returned(function)
        if value is not None and not isinstance(value, ast.Tuple):
            text = ast.get_source_segment(scene.failed.text, value) or ""
            fixes.append(
                _put(
                    scene,
                    "return a pair",
                    value,
                    f"{text}, None" if isinstance(function, ast.FunctionDef) else f"({text}, None)",
                )
            )
        message = f"the body `{_body_name(body)}` of `scan` has to return a pair (carry, y){shown}."
        return Told(message, (*fixes, advice("return carry, y; y may be None.")), _as_operands(body))
    if name == "while_loop":
        condition = scene.argument(0, "cond_fun")
        got = re.search(r"got output type\(s\) (.*?)\.?$", said)
        shown = f": it is {_plain(got[1]).strip('[]')}" if got else ""
        value = _returned(_function(scene, condition))
        fixes = []
        if value is not None:
            jnp = next(
                (key for key, item in scene.failed.frame.items() if getattr(item, "__name__", "") == "jax.numpy"), "jnp"
            )
            text = ast.get_source_segment(scene.failed.text, value) or ""
            fixes = [
                _put(scene, "reduce it", value, f"{jnp}.all({text})"),
                _put(scene, "reduce it", value, f"{jnp}.any({text})"),
            ]
        message = f"the condition `{_body_name(condition)}` of `while_loop` has to return one boolean{shown}."
        return Told(message, (*fixes, advice("reduce it with jnp.all or jnp.any.")), _as_operands(condition))
    del step
    return None


def _as_operands(*operands: Operand | None) -> tuple[Operand, ...]:
    return tuple(operand for operand in operands if operand is not None)


def _returned(function: Any) -> Any:
    if isinstance(function, ast.Lambda):
        return function.body
    ends = [node for node in getattr(function, "body", ()) if isinstance(node, ast.Return)]
    return ends[-1].value if ends else None


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
    if not shapes and length is None:
        message = "`scan` knows no length: it has neither xs nor length."
    return Told(message, (advice("give xs one leading size, transpose what is turned, or leave length out."),))


def _inside(node: ast.AST, whole: ast.AST) -> bool:
    return any(item is node for item in ast.walk(whole))


EXPLAINERS = (
    Explainer("carry", (TypeError, ValueError), _carry, inside=RAISING["carry"]),
    Explainer("scan-length", (TypeError, ValueError), _length, inside=RAISING["scan-length"]),
    Explainer("body", (TypeError, ValueError), _body, inside=RAISING["body"]),
)
