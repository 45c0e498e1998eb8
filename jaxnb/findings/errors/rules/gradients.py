"""Gradients of what has none: integers, losses that are no scalars, functions with and without auxiliary results."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from jaxnb._jax import RAISING
from jaxnb.findings.errors.edits import (
    advice,
    bare,
    bracketed,
    exchange,
    joined,
    put,
    segment,
    words_of,
)
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import definition_of, keyword_of, making, put_keyword, result_of, said_name
from jaxnb.findings.errors.scene import Operand, Scene, abstract_text, is_array
from jaxnb.program import Fix
from jaxnb.staging import describe

__all__ = ["EXPLAINERS"]

_TRANSFORMS = frozenset(
    {"grad", "value_and_grad", "jacrev", "jacfwd", "jacobian", "hessian", "vjp", "jvp", "linearize"}
    | {"filter_grad", "filter_value_and_grad"}
)


def _transform(scene: Scene) -> str:
    """What the user called: `grad` or `value_and_grad`."""
    return "value_and_grad" if "value_and_grad_f" in scene.inside and "grad_f" not in scene.inside else "grad"


def _function(scene: Scene) -> Any:
    """The function that is derived."""
    step = scene.step("value_and_grad_f", "jacfun")
    function = step.names.get("fun") if step is not None else None
    if str(getattr(function, "__module__", "")).startswith("equinox"):  # that of equinox calls the user's
        wrappers = (one.names.get("self") for one in scene.steps if one.module.startswith("equinox"))
        return next((own for one in wrappers if (own := getattr(one, "_fun", None)) is not None), function)
    return function


def _made(scene: Scene) -> list[ast.expr]:
    """Where `jax.grad(f)` or the like stands, the likeliest first."""
    return making(scene, *_TRANSFORMS)


def _inputs(scene: Scene) -> Told | None:
    step = scene.step("value_and_grad_f", "jacfun")
    names = step.names if step is not None else {}
    argnums: Any = names.get("argnums", 0)
    args = names.get("args", ())
    wanted = argnums if isinstance(argnums, tuple) else (argnums,)
    odd: list[str] = []
    about: list[Operand] = []
    fixes: list[Fix] = []
    node = scene.failed.node
    given = node.args if isinstance(node, ast.Call) else []
    if names.get("holomorphic"):
        return None
    for number in wanted:
        if not isinstance(number, int) or number >= len(args):
            continue
        leaves = jax.tree_util.tree_flatten_with_path(args[number])[0]
        bad = [(path, leaf) for path, leaf in leaves if not _is_real(leaf)]
        text = scene.text(given[number]) if number < len(given) else f"argument {number}"
        for path, leaf in bad[:3]:
            odd.append(f"`{text}{jax.tree_util.keystr(path)}` is {_kind(leaf)}")
        if bad and number < len(given):
            about.append(Operand(text, given[number], args[number], scene.origin(given[number])))
            fixes += _as_floats(scene, given[number], leaves, bad)
    if not odd:
        return None
    if (told := _of_a_transform(scene, args)) is not None:
        return told
    floats = [n for n, value in enumerate(args) if n not in wanted and _is_real(value)]
    if floats and len(args) > 1:
        fixes += _argnums(scene, floats[0])
    shown = said_name(_function(scene), "")
    message = f"`{_transform(scene)}`{f' of {shown}' if shown else ''} derives by floats, and {joined(odd)}."
    told = "cast it to float, or derive by the arguments that are floats: argnums=."
    return Told(message, (*fixes, advice(told)), tuple(about))


def _of_a_transform(scene: Scene, args: Sequence[Any]) -> Told | None:
    """`jax.grad(jax.grad)(f)`, which derives the transform by the function."""
    node = scene.failed.node
    if not (len(args) == 1 and callable(args[0]) and isinstance(node, ast.Call) and isinstance(node.func, ast.Call)):
        return None
    inner = node.func.args[0] if node.func.args else None
    made = scene.failed.value_of(inner) if inner is not None else None
    of_jax = str(getattr(made, "__module__", "")).startswith("jax.") and getattr(made, "__name__", "") in _TRANSFORMS
    if inner is None or not of_jax or len(node.args) != 1:
        return None
    transform, function = scene.text(inner), scene.text(node.args[0])
    message = (
        f"`{scene.text(node.func)}` derives `{transform}`, and what it is given is `{function}`, a function: floats are"
        " what it can derive by."
    )
    outer = f"{scene.text(node.func.func)}({transform}({function}))"
    return Told(message, (put(scene.failed, "transform the function first", node, outer), advice(f"write {outer}.")))


def _is_real(value: Any) -> bool:
    try:
        return bool(jnp.issubdtype(jnp.result_type(value), jnp.inexact))
    except TypeError:
        return False


def _kind(leaf: Any) -> str:
    return describe(leaf) if is_array(leaf) else f"the {type(leaf).__name__} {leaf!r}"[:60]


def _as_floats(scene: Scene, node: ast.AST, leaves: Any, bad: Any) -> Iterator[Fix]:
    text = scene.text(node)
    if len(leaves) != 1 or len(bad) != 1:
        return
    leaf = bad[0][1]
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield exchange(scene, "give a float", (node, f"{float(node.value)}"))
    elif hasattr(leaf, "astype"):
        yield exchange(scene, "cast it", (node, f"{bare(node, text)}.astype(float)"))
    elif type(leaf) is int:
        yield exchange(scene, "give a float", (node, f"float({text})"))


def _argnums(scene: Scene, number: int) -> Iterator[Fix]:
    for node in _made(scene):
        if keyword_of(node, "argnums") is None:
            yield put_keyword(scene, "derive by another argument", node, "argnums", str(number))


def _output(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["gradient-output"])
    value = step.names.get("x") if step is not None else None
    shown, transform = said_name(_function(scene)), _transform(scene)
    node = result_of(definition_of(scene, _function(scene)))
    line = node.lineno if node is not None else None
    if isinstance(value, tuple | list | dict) or value is None:
        kind = "" if value is None else f"the {type(value).__name__} "
        what = "nothing (None)" if value is None else f"{kind}{abstract_text(value)}"
        message = f"`{transform}` takes a function that returns one scalar, and {shown} returns {what}."
        fixes: list[Fix] = []
        if isinstance(value, tuple) and len(value) == 2 and getattr(value[0], "shape", None) == ():
            said = "say that the second is auxiliary"
            fixes += [put_keyword(scene, said, one, "has_aux", "True") for one in _made(scene)]
            return Told(
                message,
                (*fixes, advice("give has_aux=True: the gradients then come with the second result.")),
                (),
                line,
            )
        hint = "return the loss from it." if value is None else "return one scalar, and the rest with has_aux=True."
        return Told(message, (advice(hint),), (), line)
    message = f"`{transform}` takes a function that returns one scalar, and {shown} returns {describe(value)}."
    fixes = []
    if node is not None and is_array(value):
        text = segment(scene.failed, node)
        if value.shape and all(size == 1 for size in value.shape):
            fixes.append(put(scene.failed, "drop the axes of size 1", node, f"{bare(node, text)}.squeeze()"))
        for how in ("mean", "sum"):
            fixes.append(put(scene.failed, "reduce it to one number", node, f"{words_of(scene)}.{how}({text})"))
    told = "reduce it with mean or sum; for a derivative of each item take jax.vmap(jax.grad(f)), or jax.jacobian."
    return Told(message, (*fixes, advice(told)), (), line)


def _dtype(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["gradient-dtype"])
    value = step.names.get("x") if step is not None else None
    shown, transform = said_name(_function(scene)), _transform(scene)
    node = result_of(definition_of(scene, _function(scene)))
    message = f"`{transform}` takes a function with a real result, and {shown} returns {describe(value)}."
    complex_ = "complex" in str(getattr(value, "dtype", ""))
    fixes: list[Fix] = []
    if node is not None:
        text = segment(scene.failed, node)
        if complex_:
            for how in ("real", "abs"):
                fixes.append(put(scene.failed, "take a real loss", node, f"{words_of(scene)}.{how}({text})"))
        else:
            fixes.append(put(scene.failed, "return a float", node, f"{bare(node, text)}.astype(float)"))
    told = (
        "take its real part or absolute value; holomorphic=True for functions that are holomorphic."
        if complex_
        else "return a float: integers and booleans have no derivative."
    )
    return Told(message, (*fixes, advice(told)), (), node.lineno if node is not None else None)


def _aux(scene: Scene) -> Told | None:
    outer = scene.step("value_and_grad_f")
    if outer is None or not outer.names.get("has_aux"):
        return None
    shown = said_name(outer.names.get("fun"))
    node = result_of(definition_of(scene, outer.names.get("fun")))
    fixes: list[Fix] = []
    for call in _made(scene):
        text = segment(scene.failed, call)
        if (new := re.sub(r",\s*has_aux\s*=\s*True", "", text)) != text:
            fixes.append(put(scene.failed, "leave has_aux out", call, new))
    if node is not None and not isinstance(node, ast.Tuple):
        fixes.append(put(scene.failed, "return a pair", node, f"({segment(scene.failed, node)}, None)"))
    got = re.search(r"got type <class '[\w.]*?(\w+)'>|(?:tuple|pair).*length (\d+)", str(scene.error))
    count = len(node.elts) if isinstance(node, ast.Tuple) else None
    what = f"{count} results" if count is not None else "one value, no pair" if got else "no pair"
    line = node.lineno if node is not None else None
    message = f"with has_aux=True {shown} has to return a pair (loss, auxiliary), and it returns {what}."
    return Told(message, (*fixes, advice("return (loss, aux), or leave has_aux out.")), (), line)


def _reverse_while(scene: Scene) -> Told | None:
    loops = [node for node in ast.walk(scene.failed.tree) if isinstance(node, ast.Call) and _is_loop(node)]
    shown = next((scene.text(node.func).rpartition(".")[2] for node in loops), "while_loop")
    forward = scene.forward_line
    lines = [forward] if forward is not None else [node.lineno for node in loops]
    shown = next((scene.text(n.func).rpartition(".")[2] for n in loops if n.lineno == forward), shown)
    message = (
        f"the length of `{shown}`{f' of line {lines[0]}' if lines else ''} is known only while it runs, and reverse"
        " mode would have to keep what every turn computed."
    )
    told = (
        "let it make a fixed number of turns: lax.scan, or lax.fori_loop with bounds that are Python numbers; or take"
        " jax.jacfwd or jax.jvp, which go forward."
    )
    return Told(message, (advice(told),), None, lines[0] if len(set(lines)) == 1 else None)


def _is_loop(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in ("while_loop", "fori_loop")


def _too_few(scene: Scene) -> Told | None:
    """`argnums` beyond the arguments."""
    step = scene.step("value_and_grad_f", "jacfun")
    if step is None or scene.steps[-1].name not in ("value_and_grad_f", "jacfun"):
        return None
    argnums, args = step.names.get("argnums"), step.names.get("args", ())
    most = step.names.get("max_argnum", argnums if isinstance(argnums, int) else 0)
    if not isinstance(most, int) or most < len(args):
        return None
    shown = said_name(step.names.get("fun"))
    named = step.names.get("kwargs") or {}
    by_name = f"; those by keyword ({', '.join(named)}) do not count" if named else ""
    counted = f"{len(args)} positional argument{'s' * (len(args) != 1)}"
    message = f"argnums={argnums} asks for argument {most} of {shown}, which was given {counted}{by_name}."
    return Told(message, (*_other_argnums(scene, len(args)), advice("count from 0, and give it by position.")))


def _other_argnums(scene: Scene, count: int) -> Iterator[Fix]:
    for node in _made(scene):
        if count and isinstance(keyword_of(node, "argnums"), ast.Constant):
            yield put_keyword(scene, "count from 0", node, "argnums", str(count - 1))


def _holomorphic(scene: Scene) -> Told | None:
    """Inputs of another kind than `holomorphic` says."""
    step = scene.step(*RAISING["gradient-input"], *RAISING["jacobian"])
    if step is None:
        return None
    value, holomorphic = step.names.get("x"), step.names.get("holomorphic")
    given = [
        operand for operand in scene.operands if operand.is_array and operand.dtype == str(getattr(value, "dtype", ""))
    ]
    shown = f"`{given[-1].text}` is {given[-1].aval}" if given else f"the input is {describe(value)}"
    fixes: list[Fix] = []
    if holomorphic:
        if given:
            fixes.append(
                exchange(scene, "make it complex", (given[-1].node, f"{bracketed(given[-1])}.astype(complex)"))
            )
        message = f"holomorphic=True derives by complex numbers, and {shown}."
        return Told(message, (*fixes, advice("leave holomorphic out, or give a complex input, such as x + 0j.")))
    message = f"it derives by real numbers, and {shown}."
    hint = "give holomorphic=True for a holomorphic function, derive by real and imaginary part apart, or use jax.jvp."
    return Told(message, (advice(hint),))


def _tangent(scene: Scene) -> Told | None:
    """Tangents and cotangents of other types than what they belong to."""
    primals, tangents = scene.argument(1, "primals"), scene.argument(2, "tangents")
    if "jvp" in scene.called and primals is not None and tangents is not None:
        before = [o for o in scene.operands if any(node is o.node for node in ast.walk(primals.node)) and o.is_array]
        after = [o for o in scene.operands if any(node is o.node for node in ast.walk(tangents.node)) and o.is_array]
        for one, two in zip(before, after, strict=False):
            if (one.shape, one.dtype) != (two.shape, two.dtype):
                message = f"the tangent `{two.text}` {two.aval} has to be of the type of `{one.text}`, {one.aval}."
                fix = exchange(scene, "cast it", (two.node, f"{bracketed(two)}.astype({bracketed(one)}.dtype)"))
                return Told(message, (fix, advice("give tangents like the primals: jnp.ones_like.")))
    return None


def _cotangent(scene: Scene) -> Told | None:
    node = scene.failed.node
    got = re.search(r"got ([\w\[\],]+\]), but expected ([\w\[\],]+\])", str(scene.error))
    if not isinstance(node, ast.Call) or not node.args or got is None:
        return None
    text = scene.text(node.args[0])
    name = scene.text(node.func)
    message = f"`{name}` takes a cotangent like the result of the function, {got[2]}, and `{text}` is {got[1]}."
    hint = advice(f"give it the shape and dtype of the result, {got[2]}: jnp.ones_like(y).")
    return Told(message, (hint,))


def _no_function(scene: Scene) -> Told | None:
    """`jax.grad(f(x))` for `jax.grad(f)(x)`."""
    node = scene.failed.node
    if (
        not isinstance(node, ast.Call)
        or not node.args
        or not scene.called & (_TRANSFORMS | {"jit", "vmap", "pmap", "checkpoint"})
    ):
        return None
    inner = node.args[0]
    name = scene.text(node.func)
    value = scene.failed.value_of(inner)
    what = (
        describe(value)
        if value is not None
        else "the result of a call"
        if isinstance(inner, ast.Call)
        else "no function"
    )
    fixes: list[Fix] = []
    if isinstance(inner, ast.Call):
        text = scene.text(inner)
        function = scene.text(inner.func)
        rest = "".join(f", {scene.text(item)}" for item in node.args[1:])
        named = "".join(f", {keyword.arg}={scene.text(keyword.value)}" for keyword in node.keywords)
        new = f"{name}({function}{rest}{named}){text[len(function) :]}"
        fixes.append(exchange(scene, "give it the function itself", (node, new)))
    return Told(
        f"`{name}` takes a function, and `{scene.text(inner)}` is {what}.",
        (*fixes, advice("give it the function, or a lambda.")),
    )


EXPLAINERS = (
    Explainer("gradient-input", (TypeError,), _inputs, inside=RAISING["gradient-input"] | RAISING["jacobian"]),
    Explainer("holomorphic", (TypeError,), _holomorphic, inside=RAISING["gradient-input"] | RAISING["jacobian"]),
    Explainer("tangent", (TypeError, ValueError), _tangent, called=frozenset({"jvp"})),
    Explainer("cotangent", (TypeError, ValueError), _cotangent, inside=RAISING["cotangent"]),
    Explainer("no-function", (TypeError,), _no_function, inside=RAISING["callable"]),
    Explainer("gradient-output", (TypeError,), _output, inside=RAISING["gradient-output"]),
    Explainer("gradient-dtype", (TypeError,), _dtype, inside=RAISING["gradient-dtype"]),
    Explainer("reverse-while", (ValueError,), _reverse_while, inside=RAISING["reverse-while"]),
    Explainer("has-aux", (TypeError, ValueError), _aux, inside=RAISING["linearize"]),
    Explainer("argnums", (TypeError, ValueError), _too_few, inside=RAISING["gradient"]),
)
