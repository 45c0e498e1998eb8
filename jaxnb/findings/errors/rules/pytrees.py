"""Pytrees that differ, that cannot be flattened, or that are put together from other leaves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import jax

from jaxnb._jax import RAISING
from jaxnb.findings.errors.edits import advice, dimensions, exchange, exchanged, joined
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import put_keyword
from jaxnb.findings.errors.parts import unpacked_otherwise
from jaxnb.findings.errors.scene import Operand, Scene, is_array
from jaxnb.findings.errors.trees import Difference, first_difference, kind_of, named_in, place_in, trees_of_class
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]

_MAPPING = frozenset({"map", "tree_map", "tree_multimap", "map_with_path", "tree_map_with_path", "tmap"})


def _called(scene: Scene) -> bool:
    """Whether the failed expression itself calls `jax.tree.map`."""
    return isinstance(scene.failed.node, ast.Call) and not _MAPPING.isdisjoint(scene.called)


def _trees(scene: Scene) -> list[Operand]:
    """The trees of a call of `jax.tree.map`, in the order of the call; none if an argument is starred."""
    node = scene.failed.node
    if not isinstance(node, ast.Call) or any(isinstance(one, ast.Starred) for one in node.args):
        return []
    step = scene.step("map", "tree_map")
    values = [step.names.get("tree"), *step.names.get("rest", ())] if step is not None else []
    parts = node.args[1:]
    parts += [one.value for one in node.keywords if one.arg == "tree"]
    if len(values) != len(parts):
        return []
    return [
        Operand(scene.text(part), part, value, scene.origin(part)) for part, value in zip(parts, values, strict=True)
    ]


# --- trees that differ ---


def _differing(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["tree"])
    if step is None or "rest" not in step.names:
        return None
    tree = step.names.get("tree")
    for number, other in enumerate(step.names["rest"]):
        difference = first_difference(tree, other)
        if difference is not None:
            return _told(scene, tree, other, number, difference)
    return None


def _told(scene: Scene, tree: Any, other: Any, number: int, difference: Difference) -> Told:
    trees = _trees(scene) if _called(scene) else []
    if len(trees) > number + 1:
        first, second = trees[0], trees[number + 1]
        names = first.text, second.text
    else:
        known = [named_in(scene, one) for one in (tree, other)]
        first, second = (one[0] if one is not None else None for one in known)
        words = [f"{one[0].text}{one[1]}" if one is not None else "" for one in known]
        names = words[0] or "the first tree", words[1] or f"tree {number + 2}"
    a, b = _short(names[0]), _short(names[1])
    at = f" at `{difference.path}`" if difference.path else ""
    if difference.only_first or difference.only_second:
        message = f"the trees `{a}` and `{b}` differ in their keys{at}: {_keys(a, b, difference)}."
        if not _named_keys(difference):
            message = (
                f"the trees `{a}` and `{b}` differ{at}: `{a}` has {kind_of(difference.first)}, and `{b}`"
                f" {kind_of(difference.second)}."
            )
    else:
        message = (
            f"the trees `{a}` and `{b}` differ in structure{at}: `{a}` has {kind_of(difference.first)}, and `{b}` has"
            f" {kind_of(difference.second)}."
        )
    fixes = list(_alike(scene, first, second, difference)) if first is not None and second is not None else []
    about = tuple(one for one in (first, second) if one is not None)
    swapped = [unpacked_otherwise(scene.failed, one.node) for one in about]
    guesses = tuple(one for one in swapped if one is not None)
    return Told(message, (*fixes, advice(_hint(a, b, difference))), about or None, guesses=guesses)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def _named_keys(difference: Difference) -> bool:
    return any(isinstance(key, str) for key in (*difference.only_first, *difference.only_second))


def _keys(a: str, b: str, difference: Difference) -> str:
    parts: list[str] = []
    for name, keys in ((a, difference.only_first), (b, difference.only_second)):
        if keys:
            shown = joined([repr(key) for key in keys[:5]])
            parts.append(f"only `{name}` has the key{'s' * (len(keys) != 1)} {shown}")
    return " and ".join(parts)


def _hint(a: str, b: str, difference: Difference) -> str:
    first, second = difference.first, difference.second
    if first is None or second is None:
        none, other = (a, b) if first is None else (b, a)
        return (
            f"None is an empty tree, not a leaf: put zeros into `{none}`, or None into `{other}`, or give"
            " is_leaf=lambda x: x is None to a function that takes None."
        )
    if is_array(second) and "grad" in b.lower():
        return f"make `{b}` of the same structure: take the gradients with respect to `{a}` (argnums=)."
    if is_array(second):
        return (
            f"make `{b}` of the same structure, say by is_leaf= what of `{a}` is to count as a leaf, or go through both"
            " with zip."
        )
    if difference.only_first or difference.only_second:
        return f"give both the same keys and the same length: the same structure as `{a}`."
    return f"make `{b}` of the same type as `{a}`: {type(first).__name__}."


def _alike(scene: Scene, first: Operand, second: Operand, difference: Difference) -> Iterator[Fix]:
    """The second tree in the structure of the first one."""
    a, b = difference.first, difference.second
    if difference.path:
        return
    text = second.text
    if type(a) in (list, tuple, dict) and type(b) is not type(a) and not is_array(b) and b is not None:
        named = hasattr(b, "_fields") or type(b).__name__ == "FrozenDict"
        fits = type(a) is not dict or named or isinstance(b, dict)
        if fits and (not hasattr(b, "_fields") or type(a) is not dict):
            yield exchange(scene, f"make it a {type(a).__name__}", (second.node, f"{type(a).__name__}({text})"))
        if hasattr(b, "_fields") and isinstance(a, list | tuple):
            yield exchange(scene, f"make it a {type(b).__name__}", (first.node, f"{type(b).__name__}(*{first.text})"))
    if hasattr(a, "_fields") and isinstance(b, list | tuple) and len(b) == len(a):
        yield exchange(scene, f"make it a {type(a).__name__}", (second.node, f"{type(a).__name__}(*{text})"))
    if type(a).__name__ == "FrozenDict" and isinstance(b, dict):
        name = next((key for key, item in scene.failed.frame.items() if getattr(item, "__name__", "") == "freeze"), "")
        new = f"{name}({text})" if name else f"type({first.text})({text})"
        yield exchange(scene, "make it a FrozenDict", (second.node, new))
    if difference.only_second and not difference.only_first and isinstance(b, dict) and type(a) is type(b):
        new = f"{{key: {text}[key] for key in {first.text}}}"
        over = joined([repr(key) for key in difference.only_second[:3]])
        yield exchange(scene, f"leave {over} out", (second.node, new))
    if is_array(b):
        yield from _by_other(scene, first, second)


def _by_other(scene: Scene, first: Operand, second: Operand) -> Iterator[Fix]:
    """`argnums=` where gradients by another argument were taken."""
    for node in ast.walk(scene.failed.tree):
        value = node.value if isinstance(node, ast.Assign) and node.lineno <= scene.failed.line else None
        if value is None or not any(scene.text(one) == second.text for one in getattr(node, "targets", ())):
            continue
        inner = value.func if isinstance(value, ast.Call) else None
        if isinstance(value, ast.Call) and isinstance(inner, ast.Call) and scene.text(inner.func).endswith("grad"):
            texts = [scene.text(one) for one in value.args]
            if first.text in texts:
                said = f"derive by `{first.text}`"
                yield put_keyword(scene, said, inner, "argnums", str(texts.index(first.text)))


# --- arguments in another order, trees that cannot be flattened ---


def _swapped(scene: Scene) -> Told | None:
    """`jax.tree.map(tree, f)`."""
    step = scene.step("tree_map", "map")
    node = scene.failed.node
    if step is None or not isinstance(node, ast.Call) or len(node.args) < 2 or callable(step.names.get("f")):
        return None
    tree, function = node.args[0], node.args[1]
    value = step.names.get("f")
    call = scene.text(node.func)
    message = (
        f"`{call}` takes the function first, and `{scene.text(tree)}` is {kind_of(value)}, which cannot be called."
    )
    fixes: list[Fix] = []
    if callable(step.names.get("tree")):
        fixes.append(exchange(scene, "exchange them", (tree, scene.text(function)), (function, scene.text(tree))))
    about = (Operand(scene.text(tree), tree, value, scene.origin(tree)),)
    return Told(message, (*fixes, advice("give the function first, then the trees, in this order.")), about)


def _keys_of_types(scene: Scene) -> Told | None:
    """A dict whose keys cannot be sorted."""
    if scene.steps and scene.steps[-1].name not in RAISING["flattening"]:
        return None
    step = scene.step(*RAISING["flattening"])
    trees = [step.names["tree"]] if step is not None and "tree" in step.names else []
    for tree in [*trees, *(operand.value for operand in scene.operands)]:
        for value in trees_of_class(tree, _unsorted):
            kinds = list(dict.fromkeys(type(key).__name__ for key in value))
            known = place_in(scene, value)
            whose = f"`{known[0].text}{known[1]}`" if known is not None else "a dict"
            shown = joined([repr(key) for key in list(value)[:4]])
            message = (
                f"{whose} has keys of several types, {joined(kinds)}: {shown}. JAX sorts the keys of a dict, and these"
                " do not compare."
            )
            fixes = list(_as_text(scene, value))
            hint = "give all keys the same type, such as str."
            return Told(message, (*fixes, advice(hint)), (known[0],) if known is not None else ())
    return None


def _unsorted(value: Any) -> bool:
    if type(value) is not dict:
        return False
    try:
        sorted(value)
    except TypeError:
        return True
    return False


def _as_text(scene: Scene, value: dict[Any, Any]) -> Iterator[Fix]:
    """The literal of a dict with all keys as text."""
    for node in ast.walk(scene.failed.tree):
        if isinstance(node, ast.Dict) and all(isinstance(one, ast.Constant) for one in node.keys):
            keys = [one for one in node.keys if isinstance(one, ast.Constant)]
            if [one.value for one in keys] == list(value):
                new = [(one, f'"{one.value}"') for one in keys if not isinstance(one.value, str)]
                if new:
                    edit = exchanged(scene.failed.text, new)
                    yield Fix(f"make all of them str: {joined([f'`{text}`' for _, text in new])}.", edit=edit)


def _leaves(scene: Scene) -> Told | None:
    """Too few or too many leaves for a structure."""
    step = scene.step(*RAISING["unflattening"])
    node = scene.failed.node
    if step is None or scene.steps[-1] is not step or not isinstance(node, ast.Call) or len(node.args) < 2:
        return None
    structure, leaves = step.names.get("treedef"), step.names.get("leaves")
    wanted = getattr(structure, "num_leaves", None)
    first, second = scene.text(node.args[0]), scene.text(node.args[1])
    if wanted is None:
        if hasattr(leaves, "num_leaves"):
            message = f"`{scene.text(node.func)}` takes the structure first, and then the leaves."
            fix = exchange(scene, "exchange them", (node.args[0], second), (node.args[1], first))
            return Told(message, (fix, advice("give the treedef first, then the leaves.")))
        return None
    known = scene.failed.value_of(node.args[1])
    count = len(known) if isinstance(known, list | tuple | dict) else None
    if count is None or count == wanted:
        return None
    message = f"`{first}` is a structure with {wanted} leaves, and `{second}` has {count}."
    hint = f"give the same number of leaves, {wanted}: change each, leave none out, as jax.tree.map does."
    return Told(message, (advice(hint),))


# --- a function of leaves that do not go together ---


def _stacked(scene: Scene) -> Told | None:
    """`jax.tree.map(lambda *x: jnp.stack(x), *trees)` of trees whose leaves differ in shape."""
    if RAISING["tree-function"].isdisjoint(scene.under) or not scene.callers:
        return None
    caller = scene.callers[0]
    node = caller.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
        return None
    trees: list[tuple[str, Any]] = []
    for part in node.args[1:]:
        value = caller.value_of(part.value if isinstance(part, ast.Starred) else part)
        text = ast.unparse(part.value if isinstance(part, ast.Starred) else part)
        if isinstance(part, ast.Starred) and isinstance(value, list | tuple):
            trees += [(f"{text}[{n}]", one) for n, one in enumerate(value)]
        elif value is not None:
            trees.append((text, value))
    if len(trees) < 2 or any(jax.tree.structure(trees[0][1]) != jax.tree.structure(one) for _, one in trees):
        return None
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(trees[0][1])[0]]
    for number, path in enumerate(paths):
        shapes = [(name, tuple(getattr(jax.tree.leaves(one)[number], "shape", ()))) for name, one in trees]
        if len({shape for _, shape in shapes}) > 1:
            other = next(one for one in shapes if one[1] != shapes[0][1])
            a, b = (f"`{name}{path}` is {dimensions(shape)}" for name, shape in (shapes[0], other))
            operands = joined([f"`{one.text}`" for one in scene.operands[:2]])
            message = (
                f"the leaves that `{ast.unparse(node.func)}` puts together as {operands} differ in shape: {a} and {b},"
                f" and `{min(scene.called, default='stack')}` takes arrays of one shape."
            )
            hint = "give all trees leaves of the same shape, or use jnp.concatenate along the axis that differs."
            line = caller.line if caller.file == scene.here else None
            return Told(message, (advice(hint),), None, line)
    return None


_BAD = (TypeError, ValueError)

EXPLAINERS = (
    Explainer("tree-order", (TypeError,), _swapped, inside=frozenset({"tree_map"})),
    Explainer("tree-structure", (*_BAD, AttributeError), _differing, inside=RAISING["tree"]),
    Explainer("tree-keys", _BAD, _keys_of_types),
    Explainer("tree-leaves", _BAD, _leaves, inside=RAISING["unflattening"]),
    Explainer("tree-shapes", _BAD, _stacked, called=frozenset({"stack", "vstack", "hstack", "concatenate"})),
)
