"""`cond` and `switch`: branches that return different types, predicates and indices that are none."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray

from jaxnb._jax import RAISING, unflattened
from jaxnb.findings.errors.edits import (
    advice,
    bare,
    bracketed,
    dimensions,
    exchange,
    joined,
    lines_put,
    put,
    segment,
    words_of,
)
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import bare_function, definition_of, result_of, said_name
from jaxnb.findings.errors.parts import differing, part_at, resolved
from jaxnb.findings.errors.scene import Operand, Scene, abstract_text
from jaxnb.program import Fix
from jaxnb.staging import describe

__all__ = ["EXPLAINERS"]


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of `cond` or `switch`.

    Attributes:
      label: what to call it in a sentence.
      function: what was given, if it is known.
      node: its syntax in the text of the failed expression; None if it does not stand there.
      out: what it returns, in the abstract.
    """

    label: str
    function: Any
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None
    out: Any = None


# --- results ---


def _branches(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["branches"])
    if step is None:
        return None
    name = "switch" if "switch" in scene.called or "switch" in scene.inside else "cond"
    given = _given(scene, name)
    one, two = (_branch(scene, step.names, given, place) for place in (1, 2))
    message = (
        f"the branches of `{name}` return different types: {one.label} {abstract_text(one.out)}, {two.label}"
        f" {abstract_text(two.out)}."
    )
    wrong, right = _odd_one(scene, name, one, two)
    result = result_of(wrong.node) if wrong is not None else None
    line = getattr(result, "lineno", None)
    hint = "let all branches return the same structure, shapes and dtypes."
    if wrong is None or right is None:
        pairs = differing(one.out, two.out) or []
        back = [(path, b, a) for path, a, b in pairs]
        fixes = [*_as_other(scene, two, one, pairs), *_as_other(scene, one, two, back)]
        if any(_is_narrower(a.dtype, b.dtype) for _, a, b in pairs[:1]):
            fixes = [*_as_other(scene, one, two, back), *_as_other(scene, two, one, pairs)]
        return Told(message, (*fixes, advice(_hint(one, two) or hint)), tuple(given))
    if result is None and wrong.out is None and isinstance(wrong.node, ast.FunctionDef):
        line = wrong.node.body[-1].lineno
    fixes = list(_repaired(scene, wrong, right))
    where = line if scene.failed.file == scene.here else None
    return Told(message, (*fixes, advice(_hint(right, wrong) or hint)), tuple(given), where)


def _is_narrower(one: Any, other: Any) -> bool:
    """Whether numbers of one dtype become those of another where they meet."""
    numbers = all(jnp.issubdtype(dtype, np.number) or dtype == np.bool_ for dtype in (one, other))
    return numbers and jnp.promote_types(one, other) != one


def _branch(scene: Scene, names: Mapping[str, Any], given: Sequence[Operand], place: int) -> Branch:
    """One of the two branches whose results were compared."""
    function, out = names.get(f"f{place}"), unflattened(names.get(f"out_avals{place}"))
    number = re.search(r"\d+", str(names.get(f"name{place}")))
    index = int(number[0]) if number else place - 1
    operand = given[index] if index < len(given) else None
    label = _label(operand) if operand is not None else said_name(function, f"branch {index}")
    node = operand.node if operand is not None and isinstance(operand.node, ast.Lambda) else None
    return Branch(label, function, node or definition_of(scene, function), out)


def _given(scene: Scene, name: str) -> list[Operand]:
    """The branches as the user wrote them."""
    if name not in scene.called:
        return []
    if name == "cond":
        found = [scene.argument(1, "true_fun"), scene.argument(2, "false_fun")]
        return [operand for operand in found if operand is not None]
    given = scene.argument(1, "branches")
    if given is None:
        return []
    if isinstance(given.node, ast.List | ast.Tuple):
        return [Operand(scene.text(item), item, scene.failed.value_of(item)) for item in given.node.elts]
    items = list(given.value) if type(given.value) in (list, tuple) else []
    return [Operand(f"{given.text}[{n}]", given.node, item) for n, item in enumerate(items)]


def _label(operand: Operand) -> str:
    return f"`{' '.join(operand.text.split())}`" if len(operand.text) <= 40 else f"`{operand.text[:39]}…`"


def _odd_one(scene: Scene, name: str, one: Branch, two: Branch) -> tuple[Branch | None, Branch | None]:
    """The branch that has to change and the other one, if that can be told: the one that returns nothing, or another
    structure than what goes in, or less of it."""
    pairs = ((one, two), (two, one))
    for wrong, right in pairs:
        if wrong.out is None and right.out is not None:
            return wrong, right
    inputs = _inputs(scene, name)
    for wrong, right in pairs:
        if inputs is not None and _same(right.out, inputs) and not _same(wrong.out, inputs):
            return wrong, right
    for wrong, right in pairs:
        if len(jax.tree.leaves(wrong.out)) < len(jax.tree.leaves(right.out)):
            return wrong, right
    return None, None


def _inputs(scene: Scene, name: str) -> Any:
    """What goes into the branches, in the abstract: the only operand, or all of them; None if that is not known."""
    step = scene.step("switch", "cond") if name in scene.inside else None
    operands: Any = step.names.get("operands") if step is not None else None
    if not isinstance(operands, tuple) or not operands:
        return None
    return operands[0] if len(operands) == 1 else operands


def _same(one: Any, other: Any) -> bool:
    if jax.tree.structure(one) != jax.tree.structure(other):
        return False
    return all(
        np.shape(a) == np.shape(b) and _dtype(a) == _dtype(b)
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


def _is_aval(value: Any) -> TypeGuard[ShapedArray]:
    return isinstance(value, ShapedArray)


def _dtype(leaf: Any) -> Any:
    known = _is_aval(leaf) or isinstance(leaf, jax.Array | np.ndarray | np.generic)
    return leaf.dtype if known else jax.dtypes.canonicalize_dtype(np.result_type(leaf))


def _hint(right: Branch, wrong: Branch) -> str:
    """What to do about two results, in words."""
    a, b = right.out, wrong.out
    if b is None:
        return f"{wrong.label} returns None: end it with a return of what {right.label} returns."
    if isinstance(a, dict) and isinstance(b, dict) and set(a) != set(b):
        keys = [repr(key) for key in a if key not in b] or [repr(key) for key in b if key not in a]
        return f"return the same keys from both: {joined(keys)}, too."
    inner = _first_dicts(a, b)
    if inner is not None:
        lacking, extra = ([repr(key) for key in one if key not in two] for one, two in (inner, inner[::-1]))
        said = f"{joined(lacking)} from {wrong.label}, too" if lacking else f"{joined(extra)} from {right.label}, too"
        return f"return the same keys from both: {said}."
    if {type(a), type(b)} == {list, tuple}:
        kind = type(a).__name__
        return f"return a {kind} from {wrong.label}, too."
    if isinstance(a, tuple) and not isinstance(b, tuple):
        return f"return a tuple of {len(a)} from {wrong.label}, too: the parts that it leaves alone as they are."
    if _is_aval(a) and _is_aval(b) and a.shape != b.shape:
        return (
            "let both branches return the same shape: pad, or mask instead of slicing; jnp.where chooses item by item."
        )
    return ""


def _first_dicts(a: Any, b: Any) -> tuple[dict[Any, Any], dict[Any, Any]] | None:
    """The first dicts at one place of two results whose keys differ."""
    if isinstance(a, dict) and isinstance(b, dict) and set(a) != set(b):
        return a, b
    if isinstance(a, tuple | list) and isinstance(b, tuple | list) and len(a) == len(b):
        return next((found for x, y in zip(a, b, strict=True) if (found := _first_dicts(x, y)) is not None), None)
    return None


# --- edits of a branch ---


def _repaired(scene: Scene, wrong: Branch, right: Branch) -> Iterator[Fix]:
    """A branch that returns what the other one does."""
    node, result = wrong.node, result_of(wrong.node)
    if wrong.out is None and isinstance(node, ast.FunctionDef) and result is None:
        yield from _returning(scene, node)
    if result is None:
        return
    a, b, text = right.out, wrong.out, segment(scene.failed, result)
    if isinstance(a, tuple) and isinstance(b, list):
        yield put(scene.failed, "return a tuple", result, _converted(result, text, "tuple"))
    elif isinstance(a, list) and isinstance(b, tuple):
        yield put(scene.failed, "return a list", result, _converted(result, text, "list"))
    elif isinstance(a, tuple) and _is_aval(b):
        yield from _with_rest(scene, node, result, a, b)
    pairs = differing(a, b)
    if pairs:
        yield from _as_other(scene, wrong, right, pairs)
    yield from _with_keys(scene, result, a, b)


def _returning(scene: Scene, function: ast.FunctionDef) -> Iterator[Fix]:
    """A `return` of what the last line binds."""
    last = function.body[-1]
    target = last.targets[0] if isinstance(last, ast.Assign) and len(last.targets) == 1 else None
    if isinstance(target, ast.Name) and last.end_lineno is not None:
        lines = scene.failed.text.split("\n")[last.lineno - 1 : last.end_lineno]
        margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
        edit = lines_put(scene.failed, last.lineno, last.end_lineno, [*lines, f"{margin}return {target.id}"])
        yield Fix(f"return what it computes: `return {target.id}`.", edit=edit)


def _converted(node: ast.expr, text: str, kind: str) -> str:
    if kind == "tuple" and isinstance(node, ast.ListComp):
        return f"tuple({text[1:-1]})"
    if isinstance(node, ast.List | ast.Tuple) and node.elts:
        inner = text.strip()[1:-1].rstrip(", ") if text.strip()[0] in "[(" else text
        return f"[{inner}]" if kind == "list" else f"({inner},)"
    return f"{kind}({text})"


def _with_rest(scene: Scene, function: Any, result: ast.expr, wanted: tuple[Any, ...], out: Any) -> Iterator[Fix]:
    """The parts of a tuple that a branch of one argument leaves alone beside the one that it returns."""
    parameters = [item.arg for item in function.args.args if item.arg != "self"]
    place = next((n for n, one in enumerate(wanted) if _same(one, out)), None)
    if place is None or len(parameters) != 1:
        return
    text = segment(scene.failed, result)
    items = [text if n == place else f"{parameters[0]}[{n}]" for n in range(len(wanted))]
    new = ", ".join(items)
    new = f"({new})" if isinstance(function, ast.Lambda) else new
    yield put(scene.failed, "return the other parts as they are", result, new)


def _with_keys(scene: Scene, result: ast.expr, wanted: Any, out: Any) -> Iterator[Fix]:
    """Zeros under the keys that a dict lacks."""
    node, words = result, words_of(scene)
    if isinstance(wanted, tuple) and isinstance(out, tuple) and len(wanted) == len(out) and isinstance(node, ast.Tuple):
        places = [n for n, (a, b) in enumerate(zip(wanted, out, strict=True)) if not _same(a, b)]
        if len(places) != 1 or places[0] >= len(node.elts):
            return
        node, wanted, out = node.elts[places[0]], wanted[places[0]], out[places[0]]
    if not isinstance(node, ast.Dict) or not isinstance(wanted, dict) or not isinstance(out, dict):
        return
    lacking = {key: leaf for key, leaf in wanted.items() if key not in out}
    if not lacking or set(out) - set(wanted) or not all(map(_is_aval, lacking.values())):
        return
    zeros = [f"{key!r}: {words}.zeros({dimensions(leaf.shape)}, {words}.{leaf.dtype})" for key, leaf in lacking.items()]
    zeros = [one.replace("'", '"', 2) for one in zeros]
    kept = segment(scene.failed, node)[1:-1].strip().rstrip(",")
    new = "{" + ", ".join([*([kept] if kept else []), *zeros]) + "}"
    yield put(scene.failed, "return zeros for what it lacks", node, new)


def _as_other(scene: Scene, branch: Branch, other: Branch, pairs: list[tuple[str, Any, Any]]) -> Iterator[Fix]:
    """The only part of a result that differs, in the dtype and the shape of that of the other branch."""
    result = result_of(branch.node)
    if result is None or len(pairs) != 1:
        return
    path, wanted, own = pairs[0]
    node = part_at(resolved(scene.failed, branch.node, result), path) if path else result
    if node is None or (isinstance(node, ast.Tuple | ast.Dict | ast.List)):
        return
    words, text = words_of(scene), segment(scene.failed, node)
    dtype = f"{words}.{wanted.dtype}"
    simple = bare(node, text)
    if wanted.shape == own.shape:
        number = isinstance(node, ast.Constant)
        yield put(scene.failed, "cast it", node, f"{dtype}({text})" if number else f"{simple}.astype({dtype})")
        yield put(scene.failed, "cast it", node, f"{words}.asarray({text}, {dtype})")
    elif own.shape == ():
        parameters = [item.arg for item in branch.node.args.args] if branch.node is not None else []
        if len(parameters) == 1 and isinstance(node, ast.Constant) and _same(_inputs_of(scene), wanted):
            yield put(scene.failed, "fill an array", node, f"{words}.full_like({parameters[0]}, {text})")
        yield put(scene.failed, "fill an array", node, f"{words}.full({dimensions(wanted.shape)}, {text}, {dtype})")
    elif [n for n in own.shape if n != 1] == [n for n in wanted.shape if n != 1] and wanted.dtype == own.dtype:
        yield put(scene.failed, "keep the shape", node, f"{simple}.reshape({dimensions(wanted.shape)})")


def _inputs_of(scene: Scene) -> Any:
    return _inputs(scene, "switch" if "switch" in scene.inside else "cond")


# --- what is chosen by ---


def _predicate(scene: Scene) -> Told | None:
    """What `cond` and `switch` choose by, and the branches themselves, if these are what they refuse."""
    step = scene.steps[-1] if scene.steps else None
    if step is not None and step.name == "cond":
        return _of_cond(scene, step.names)
    if step is not None and step.name == "switch":
        return _of_switch(scene, step.names)
    return _by_operands(scene)


def _by_operands(scene: Scene) -> Told | None:
    """The same where the frames of JAX are not known."""
    name = "cond" if "cond" in scene.called else "switch"
    operand = scene.argument(0, "pred" if name == "cond" else "index")
    if scene.steps or operand is None:
        return None
    return _of_cond(scene, {"pred": operand.value}) if name == "cond" else _of_switch(scene, {"index": operand.value})


def _of_cond(scene: Scene, names: Mapping[str, Any]) -> Told | None:
    predicate, node = names.get("pred"), scene.failed.node
    operand = scene.argument(0, "pred")
    if operand is None or not isinstance(node, ast.Call):
        return None
    functions = [names.get("true_fun"), names.get("false_fun")]
    if "true_fun" in names and not all(callable(one) for one in functions):
        return _no_branches(scene, node, functions, names.get("operands", ()))
    if callable(predicate) and not isinstance(predicate, jax.Array):
        message = f"`cond` chooses by one boolean, a scalar, and `{operand.text}` is a function: it was not called."
        arguments = ", ".join(segment(scene.failed, item) for item in node.args[3:])
        fixes = [exchange(scene, "call it", (operand.node, f"{bracketed(operand)}({arguments})"))]
        return Told(message, (*fixes, advice(f"call it: {operand.text}(…).")), (operand,))
    shape = np.shape(predicate) if isinstance(predicate, jax.Array | np.ndarray) else ()
    if shape == ():
        return None
    message = f"`cond` chooses by one boolean, a scalar, and `{operand.text}` has the shape {dimensions(shape)}."
    fixes = [exchange(scene, "reduce it", (operand.node, f"{words_of(scene)}.all({operand.text})"))]
    hint = advice("choose item by item with jnp.where, or reduce it with jnp.all or jnp.any.")
    return Told(message, (hint, *fixes), (operand,))


def _no_branches(scene: Scene, node: ast.Call, functions: list[Any], operands: Sequence[Any]) -> Told:
    """Arrays where the branches belong: values instead of functions, or operands between these."""
    texts = [segment(scene.failed, item) for item in node.args]
    place = next(n for n, one in enumerate(functions) if not callable(one))
    text = texts[place + 1] if place + 1 < len(texts) else ("true_fun", "false_fun")[place]
    told = describe(functions[place])
    told = f"an array, {told}" if isinstance(functions[place], jax.Array | np.ndarray) else told
    if callable(functions[0]) and any(callable(one) for one in operands) and len(texts) == 5:
        message = (
            f"`cond` takes both branches and then their operands, and the third argument, `{text}`, is {told}: the"
            " order is (pred, true_fun, false_fun, *operands)."
        )
        predicate, first, own, second, other = texts
        inner = f"{first}, {second}, {own}" if own == other else f"lambda: {first}({own}), lambda: {second}({other})"
        new = f"{segment(scene.failed, node.func)}({predicate}, {inner})"
        return Told(
            message, (put(scene.failed, "give the branches first", node, new), advice("give the branches first."))
        )
    message = f"the branches of `cond` are functions, and `{text}` is {told}."
    fixes: list[Fix] = []
    if len(texts) == 3 and not any(callable(one) for one in functions):
        new = f"{words_of(scene)}.where({', '.join(texts)})"
        fixes.append(put(scene.failed, "choose between values", node, new))
    hint = f"choose between values with jnp.where, or give functions: lambda: {text}."
    return Told(message, (*fixes, advice(hint)))


def _of_switch(scene: Scene, names: Mapping[str, Any]) -> Told | None:
    operand, branches = scene.argument(0, "index"), names.get("branches")
    if operand is None:
        return None
    index = names.get("index", operand.value)
    if isinstance(branches, tuple | list) and not branches:
        given = scene.argument(1, "branches")
        text = given.text if given is not None else "the sequence of branches"
        message = f"`{text}` is empty, and `switch` needs at least one branch."
        return Told(message, (advice(f"give at least one branch, or do without the switch: if {text}: …"),))
    if isinstance(index, jax.Array | np.ndarray) and index.ndim:
        message = f"`switch` chooses by one integer, a scalar, and `{operand.text}` is {describe(index)}."
        fixes: list[Fix] = []
        if isinstance(branches, tuple | list) and index.shape == (len(branches),):
            fixes.append(
                exchange(scene, "take the place of its largest item", (operand.node, f"{bracketed(operand)}.argmax()"))
            )
        vmap = f"{words_of(scene, 'jax', 'jax')}.vmap"
        hint = advice(f"give one index, such as `{bracketed(operand)}[0]`, or map over the indices with {vmap}.")
        return Told(message, (*fixes, hint), (operand,))
    dtype = str(index.dtype) if isinstance(index, jax.Array | np.ndarray | np.generic) else type(index).__name__
    if "int" in dtype or index is None:
        return None
    return Told(
        f"`switch` chooses by an integer, and `{operand.text}` is {dtype}.",
        (*_whole(scene, operand, index), advice("cast it to an integer: .astype(int), or // in the place of /.")),
        (operand,),
    )


def _whole(scene: Scene, operand: Operand, index: Any) -> Iterator[Fix]:
    node = operand.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        left, right = segment(scene.failed, node.left), segment(scene.failed, node.right)
        yield exchange(scene, "divide to a whole number", (node, f"{left} // {right}"))
    if isinstance(index, jax.Array):
        yield exchange(scene, "cast it", (node, f"{bracketed(operand)}.astype(int)"))


# --- arguments ---


def _arguments(scene: Scene) -> Told | None:
    """A branch that takes another number of arguments than there are operands."""
    node = scene.failed.node
    name = "switch" if "switch" in scene.called else "cond"
    if not isinstance(node, ast.Call) or any(isinstance(item, ast.Starred) for item in node.args):
        return None
    functions = _given(scene, name)
    step = scene.step("cond", "switch")
    values: list[Any] = [operand.value for operand in functions]
    if step is not None:
        known: Any = step.names.get("branches") or (step.names.get("true_fun"), step.names.get("false_fun"))
        values = list(known) if len(known) == len(functions) else values
    count = len(node.args) - (2 if name == "switch" else 3)
    counts = [_count(one, value) for one, value in zip(functions, values, strict=True)]
    if count < 0 or all(one is None or one[0] <= count <= one[1] for one in counts):
        return None
    takes = joined(
        [f"{_label(one)} takes {_how_many(many)}" for one, many in zip(functions, counts, strict=True) if many]
    )
    operands = f"there {'is' if count == 1 else 'are'} {count}" if count else "there are none"
    message = f"`{name}` calls its branches with its operands, of which {operands}: {takes}."
    fixes = list(_passing(scene, node, name, functions, values, counts, count))
    hint = advice("give the operands behind the branches, or let the branches take none.")
    return Told(message, (*fixes, hint), tuple(functions))


def _count(operand: Operand, value: Any) -> tuple[int, int] | None:
    """How many arguments a branch takes by position, at least and at most."""
    if isinstance(operand.node, ast.Lambda):
        given = operand.node.args
        most = len(given.args) + len(given.posonlyargs)
        return most - len(given.defaults), 1 << 30 if given.vararg else most
    function = bare_function(value)
    code = getattr(function, "__code__", None)
    if code is None or not inspect.isfunction(function):
        return None
    most = code.co_argcount - int(inspect.ismethod(value))
    variable = bool(code.co_flags & inspect.CO_VARARGS)
    return most - len(function.__defaults__ or ()), 1 << 30 if variable else most


def _how_many(many: tuple[int, int]) -> str:
    least, most = many
    if most >= 1 << 30:
        return f"at least {least}"
    return f"{least}" if least == most else f"{least} to {most}"


def _passing(
    scene: Scene,
    node: ast.Call,
    name: str,
    functions: list[Operand],
    values: list[Any],
    counts: list[tuple[int, int] | None],
    count: int,
) -> Iterator[Fix]:
    """The call without operands, if no branch takes any; with those that the branches name, if they are known here."""
    head = [segment(scene.failed, item) for item in node.args[: len(node.args) - count]]
    function = segment(scene.failed, node.func)
    if count and all(one == (0, 0) for one in counts):
        yield put(scene.failed, "give no operands", node, f"{function}({', '.join(head)})")
    names = [_parameters(one, value) for one, value in zip(functions, values, strict=True)]
    same = names[0] if not count and names and all(one == names[0] for one in names) else []
    if same and all(isinstance(scene.failed.frame.get(one), jax.Array | np.ndarray) for one in same):
        yield put(scene.failed, "give the operands", node, f"{function}({', '.join([*head, *same])})")


def _parameters(operand: Operand, value: Any) -> list[str]:
    if isinstance(operand.node, ast.Lambda):
        return [item.arg for item in operand.node.args.args]
    function = bare_function(value)
    code = getattr(function, "__code__", None) if inspect.isfunction(function) else None
    return list(code.co_varnames[: code.co_argcount]) if code is not None else []


_BAD = (TypeError, ValueError)

EXPLAINERS = (
    Explainer("branches", _BAD, _branches, inside=RAISING["branches"]),
    Explainer("predicate", _BAD, _predicate, called=frozenset({"cond", "switch"})),
    Explainer("branch-arguments", (TypeError,), _arguments, called=frozenset({"cond", "switch"})),
)
