"""`shard_map`: values that differ over the devices where they are said to be the same, and the axes of that."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

import jax

from jaxnb._jax import RAISING, unflattened
from jaxnb.findings.errors.calls import argument_of, bound_to, name_called, named_like
from jaxnb.findings.errors.edits import advice, joined, put, segment, with_more, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import definition_of, name_of, result_of
from jaxnb.findings.errors.scene import Scene, Step, is_array
from jaxnb.findings.place import FailedExpression
from jaxnb.program import Fix

__all__ = ["EXPLAINERS", "mapping", "quoted"]


def quoted(axes: Sequence[Any]) -> str:
    """Names of mesh axes in a sentence: "'x' and 'y'"."""
    return joined([repr(axis) for axis in axes])


def mapping(scene: Scene) -> Step | None:
    """The outermost of the `shard_map` calls: what JAX calls itself to check a result is none of the user's."""
    return next((step for step in scene.steps if step.name == "wrapped" and "out_specs" in step.names), None)


def _axes_of(aval: Any) -> frozenset[Any]:
    """The mesh axes over which a value differs from device to device."""
    manual = getattr(aval, "mat", None)
    found = getattr(manual, "varying", None)
    return frozenset(getattr(aval, "vma", None) or found or ())


def _jax_lax(scene: Scene) -> str:
    return f"{words_of(scene, 'jax.lax', '')}" or "jax.lax"


def _cast(scene: Scene, text: str, axes: Sequence[Any]) -> str:
    named = repr(axes[0]) if len(axes) == 1 else repr(tuple(axes))
    return f'{_jax_lax(scene)}.pcast({text}, {named}, to="varying")'.replace("'", '"')


def _differing(names: Any, one: str, two: str) -> list[tuple[int, frozenset[Any], frozenset[Any]]]:
    """The components whose types differ only in the axes over which they vary."""
    first, second = (_leaves(names.get(key)) for key in (one, two))
    if len(first) != len(second):
        return []
    pairs = [(n, a, b) for n, (a, b) in enumerate(zip(first, second, strict=True))]
    if any((a.shape, a.dtype) != (b.shape, b.dtype) for _, a, b in pairs):
        return []
    return [(n, _axes_of(a), _axes_of(b)) for n, a, b in pairs if _axes_of(a) != _axes_of(b)]


def _leaves(value: Any) -> list[Any]:

    leaves = jax.tree.leaves(unflattened(value))
    return [leaf for leaf in leaves if is_array(leaf)]


def _carry(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["carry"])
    differ = _differing(step.names, "in_carry", "out_carry") if step is not None else []
    if not differ:
        return None
    name = next((one for one in ("fori_loop", "while_loop", "scan") if one in scene.called), "scan")
    position, word, at, body_word = {
        "scan": (1, "init", 0, "f"),
        "while_loop": (2, "init_val", 1, "body_fun"),
        "fori_loop": (3, "init_val", 2, "body_fun"),
    }[name]
    init, body = scene.argument(position, word), scene.argument(at, body_word)
    place, before, after = differ[0]
    axes = sorted(after - before, key=str)
    function = f"`{body.text}`" if body is not None and isinstance(body.node, ast.Name) else "the body"
    shown = f" `{init.text}`" if init is not None and len(init.text) <= 40 else ""
    part = "" if len(_leaves(step.names.get("in_carry"))) == 1 else f", at item {place},"  # type: ignore[union-attr]
    message = (
        f"the carry{shown} of `{name}`{part} begins the same on all devices, and {function} returns one that varies"
        f" over the mesh axis {quoted(axes)}: inside of `shard_map` both have to be of one type."
    )
    fixes = [*_cast_items(scene, init.node if init is not None else None, [n for n, _, _ in differ], axes)]
    hint = f"let it vary from the beginning: {_cast(scene, init.text if init is not None else 'init', axes)}."
    return Told(message, (*fixes, advice(hint)), tuple(one for one in (init, body) if one is not None))


def _cast_items(scene: Scene, node: ast.AST | None, positions: list[int], axes: Sequence[Any]) -> Iterator[Fix]:
    if node is None or not axes:
        return
    place, said = scene.failed, "let it vary from the beginning"
    if isinstance(node, ast.Tuple | ast.List):
        if len(positions) == 1 and positions[0] < len(node.elts):
            item = node.elts[positions[0]]
            yield put(place, said, item, _cast(scene, segment(place, item), axes))
        return
    yield put(place, said, node, _cast(scene, segment(place, node), axes))


def _branches(scene: Scene) -> Told | None:
    step = scene.step(*RAISING["branches"])
    differ = _differing(step.names, "out_avals1", "out_avals2") if step is not None else []
    if not differ or step is None:
        return None
    name = "switch" if "switch" in scene.called else "cond"
    _, one, two = differ[0]
    labels = [str(step.names.get(key) or default) for key, default in (("name1", "one branch"), ("name2", "another"))]
    less, axes = (1, sorted(one - two, key=str)) if one - two else (0, sorted(two - one, key=str))
    more = labels[1 - less]
    message = (
        f"the branches of `{name}` return different types: what {more} returns varies over the mesh axis"
        f" {quoted(axes)}, what {labels[less]} returns is the same on all devices."
    )
    operand = scene.argument(1 + less, "true_fun" if less == 0 else "false_fun") if name == "cond" else None
    fixes: list[Fix] = []
    if operand is not None:
        function = operand.node if isinstance(operand.node, ast.Lambda) else definition_of(scene, operand.value)
        value = result_of(function)
        if value is not None and not isinstance(value, ast.Tuple):
            new = _cast(scene, segment(scene.failed, value), axes)
            fixes.append(put(scene.failed, "let both vary", value, new))
    return Told(message, (*fixes, advice(f"let both vary: {_cast(scene, 'result', axes)}.")))


def _mapped_call(scene: Scene) -> tuple[FailedExpression | None, ast.Call | None]:
    """The call of `shard_map` that the failed call is of, as far as it stands in the text."""
    for place in (scene.failed, *scene.callers):
        node = place.node
        if not isinstance(node, ast.Call):
            continue
        made = bound_to(place, node.func)
        if isinstance(made, ast.Call) and name_called(made) == "shard_map":
            return place, made
    return None, None


def _replication(scene: Scene) -> Told | None:
    step = mapping(scene)
    inner = [one for one in scene.steps if one.name == "wrapped" and "fails" in one.names]
    if step is None or not inner or type(scene.error.__context__).__name__ != "_RepError":
        return None
    mesh, specs, function = (step.names.get(key) for key in ("mesh", "out_specs", "f"))
    name = name_of(function) or "the function"
    fails = [fail for fail in inner[-1].names.get("fails") or () if getattr(fail, "shape", None) is not None]
    axes = sorted(set().union(*(_axes_of(fail) for fail in fails)) or getattr(mesh, "axis_names", ()), key=str)
    axes = [axis for axis in axes if axis not in _axes_in(specs)] or axes
    message = (
        f"what `{name}` returns varies over the mesh axis {quoted(axes)}, and out_specs={specs} says that it is the"
        f" same on all devices of that axis."
    )
    place, call = _mapped_call(scene)
    value = result_of(definition_of(scene, function))
    fixes: list[Fix] = []
    gathered = value is not None and any(
        isinstance(node, ast.Call) and name_called(node) == "all_gather" for node in ast.walk(value)
    )
    if value is not None and not isinstance(value, ast.Tuple | ast.Dict) and not gathered:
        text = segment(scene.failed, value)
        lax, axis = _jax_lax(scene), repr(axes[0]).replace("'", '"')
        reduced = "pmean" if any(isinstance(n, ast.Attribute) and n.attr == "mean" for n in ast.walk(value)) else "psum"
        fixes.append(put(scene.failed, "reduce over that axis", value, f"{lax}.{reduced}({text}, {axis})"))
    if place is not None and call is not None and gathered:
        fixes.append(with_more(place, "say that it is the same, which JAX cannot tell", call, "check_vma=False"))
    if gathered:
        fixes.append(advice("if it is the same on all devices, which JAX cannot tell, pass check_vma=False."))
    fixes.append(
        advice(f"reduce with jax.lax.psum(…, {quoted(axes[:1])}), or shard the result: out_specs=P({axes[0]!r}).")
    )
    return Told(message, tuple(fixes), ())


def _axes_in(specs: Any) -> set[Any]:

    found: set[Any] = set()
    for spec in jax.tree.leaves(specs, is_leaf=lambda one: isinstance(one, jax.sharding.PartitionSpec)):
        for entry in spec if isinstance(spec, jax.sharding.PartitionSpec) else ():
            found |= set(entry) if isinstance(entry, tuple) else {entry}
    return found - {None}


def _unknown_axis(scene: Scene) -> Told | None:
    """A collective over an axis that the mesh around does not have, or outside of any."""
    step = scene.step(*RAISING["varying"], *RAISING["named-axis"])
    if step is None:
        return None
    collective = name_of_call(scene)
    given = step.names.get("name") or step.names.get("axis_name") or step.names.get("axes")
    mesh = step.names.get("cur_mesh")
    known = list(getattr(mesh, "axis_names", ()) or getattr(step.names.get("axis_env"), "axis_sizes", ()) or ())
    named = list(given) if isinstance(given, tuple | list | frozenset | set) else [given]
    unknown = [one for one in named if one not in known]
    if not unknown or given is None:
        return None
    axis = str(unknown[0])
    if not known:
        mapped = _mapping_call(scene)
        whose = f"`{segment(*mapped)}` does not name its axis." if mapped is not None else "`jit` alone does not."
        message = (
            f"`{collective}` is over the axis {axis!r}, and nothing around it maps over an axis of that name: {whose}"
        )
        hint = (
            f"name the axis where it is mapped, as in jax.vmap(…, axis_name={axis!r}) or jax.shard_map over a mesh with"
            f" it; or remove `{collective}`."
        )
        return Told(message, (*_named_where_mapped(scene, axis), advice(hint)))
    around = f"the axis around it is {known[0]!r}" if len(known) == 1 else f"the axes around it are {quoted(known)}"
    message = f"`{collective}` is over the axis {axis!r}, and {around}."
    near = named_like(axis, known)
    node = scene.failed.node
    written = next((n for n in ast.walk(node) if isinstance(n, ast.Constant) and n.value == axis), None)
    fixes = []
    for name in [near] if near is not None else []:
        if written is not None:
            fixes.append(put(scene.failed, "reduce over the axis that is there", written, f'"{name}"'))
    return Told(message, (*fixes, advice(f"reduce over {quoted(known)}, or rename the axis of the mesh.")))


def _mapping_call(scene: Scene) -> tuple[FailedExpression, ast.Call] | None:
    """The innermost `vmap` or `pmap` around the expression that names no axis."""
    for place in scene.callers:
        made = bound_to(place, place.node.func) if isinstance(place.node, ast.Call) else None
        unnamed = argument_of(made, -1, "axis_name") is None
        if isinstance(made, ast.Call) and name_called(made) in ("vmap", "pmap") and unnamed:
            return place, made
    return None


def _named_where_mapped(scene: Scene, axis: str) -> Iterator[Fix]:
    found = _mapping_call(scene)
    if found is not None:
        yield with_more(found[0], "name the axis where it is mapped", found[1], f'axis_name="{axis}"')


def name_of_call(scene: Scene) -> str:
    """What the expression calls, or the outermost function below it."""
    node = scene.failed.node
    name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    collectives = ("pmean", "psum", "pmax", "pmin", "all_gather", "axis_index", "ppermute", "psum_scatter")
    if name in collectives:
        return name
    return next((step.name for step in scene.steps if step.name in collectives), name or "the collective")


EXPLAINERS = (
    Explainer("varying-carry", (TypeError,), _carry, inside=RAISING["carry"]),
    Explainer("varying-branches", (TypeError,), _branches, inside=RAISING["branches"]),
    Explainer("replication", (ValueError,), _replication, inside=RAISING["shard-map"]),
    Explainer(
        "unknown-axis", (AssertionError, NameError), _unknown_axis, inside=RAISING["varying"] | RAISING["named-axis"]
    ),
)
