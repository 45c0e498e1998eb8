"""Modules, optimizers and states of flax.nnx that do not go together."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from typing import Any

import jax

from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import bound_to, is_of, name_called, named_like, required
from jaxnb.findings.errors.edits import advice, dimensions, joined, put, segment, with_more, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Operand, Scene, Step, is_array
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]


def _nnx(scene: Scene) -> str:
    return words_of(scene, "flax.nnx", "nnx")


def _step(scene: Scene, *names: str) -> Step | None:
    """The innermost call of one of these functions of nnx."""
    return next(
        (step for step in reversed(scene.steps) if step.name in names and step.module.startswith("flax.nnx")), None
    )


def _plain_list(scene: Scene) -> Told | None:
    step = _step(scene, "_check_value")
    if step is None:
        return None
    key, value = str(step.names.get("key")), step.names.get("value")
    kinds = {list: "List", dict: "Dict", tuple: "List"}
    found = list(dict.fromkeys(type(leaf).__name__ for leaf in _data(value)))
    held = joined([f"`{name}`" for name in found[:3]]) or "arrays"
    message = (
        f"`{scene.text(scene.failed.node)}` is a plain {type(value).__name__} that holds modules or arrays ({held}):"
        f" nnx takes the attribute `{key}` for static, and its data would not be seen."
    )
    statement, fixes = scene.failed.statement, list[Fix]()
    word = kinds.get(type(value))  # type: ignore[arg-type]
    if isinstance(statement, ast.Assign) and word is not None:
        new = f"{_nnx(scene)}.{word}({segment(scene.failed, statement.value)})"
        fixes.append(put(scene.failed, "keep them in a container of nnx", statement.value, new))
    return Told(message, (*fixes, advice("wrap it: nnx.List([…]), nnx.Dict({…}) or nnx.data(…).")), ())


def _data(value: Any) -> Iterator[Any]:
    for leaf in jax.tree.leaves(value, is_leaf=lambda one: is_of(one, "flax")):
        if is_of(leaf, "flax") or is_array(leaf):
            yield leaf


def _models(scene: Scene) -> list[str]:
    """The names that stand for modules, those of the function first."""
    frame = scene.failed.frame
    return [name for name in reversed(list(frame)) if is_of(frame[name], "flax") and not name.startswith("_")]


def _wrt(scene: Scene) -> Told | None:
    node = scene.failed.node
    if _step(scene, "_check_wrt_wrapper") is None or not isinstance(node, ast.Call):
        return None
    message = "`nnx.Optimizer` has to be told with wrt which variables of the model it updates."
    fix = with_more(scene.failed, "update the parameters", node, f"wrt={_nnx(scene)}.Param")
    return Told(message, (fix, advice("pass wrt=nnx.Param.")))


def _grads(scene: Scene) -> Told | None:
    node = scene.failed.node
    if _step(scene, "_check_grads_wrapper") is None or not isinstance(node, ast.Call):
        return None
    given = [scene.text(item) for item in node.args]
    lacking = re.search(r"missing \d+ required keyword-only arguments?: (.*)", str(scene.error))
    if lacking is not None:  # of the transform's own `update`
        names = re.findall(r"'(\w+)'", lacking[1])
        called = joined([f"`{name}`" for name in names])
        message = f"`{scene.text(node.func)}` needs {called}, too: its transform asks for more than gradients."
        more = ", ".join(f"{name}=..." for name in names)
        return Told(message, (advice(f"pass {'it' if len(names) == 1 else 'them'} by name: {more}."),))
    message = (
        f"`{scene.text(node.func)}` takes (model, grads), and is given"
        f" {joined([f'`{one}`' for one in given]) or 'nothing'} alone."
    )
    models = [name for name in _models(scene) if name not in given]
    new = [f"{scene.text(node.func)}({', '.join([name, *given])})" for name in models[:2]]
    fixes = [put(scene.failed, "pass the model, too", node, one) for one in new]
    return Told(message, (*fixes, advice("pass the model first: optimizer.update(model, grads).")))


def _trace_level(scene: Scene) -> Told | None:
    if type(scene.error).__name__ != "TraceContextError":
        return None
    node = scene.failed.node
    holder = node.value if isinstance(node, ast.Attribute | ast.Subscript) else node
    text, function = segment(scene.failed, holder), scene.failed.function
    step = _step(scene, "__setattr__", "_check_can_update", "__setitem__")
    kind = type(step.names.get("self")).__name__ if step is not None else "object"
    if step is None and isinstance(node, ast.Call):
        text = segment(scene.failed, node.func)
    root = text.split(".")[0].split("[")[0]
    made = scene.origin(holder)
    where = f", {made}," if made else ""
    inner = f"`{function}`" if function else "a function"
    message = (
        f"`{text}`, a {kind} that was made outside{where} is changed in {inner}, which is traced: the change would not"
        " leave the trace."
    )
    line, place = None, scene.failed
    for caller in scene.callers if root == "self" else ():  # the call of the module that `self` is
        if isinstance(caller.node, ast.Call) and caller.file == scene.here:
            place, line = caller, caller.line
            text = segment(caller, caller.node.func)
            root = text.split(".")[0].split("[")[0]
            if root != "self":
                break
    around = place.function if place is not scene.failed else function
    transform, better = _transform(scene, kind)
    if place is not scene.failed:
        message = (
            f"`{text}` is a module that was made outside of `{around}`, and `{segment(scene.failed, holder)}` in it"
            f" changes a {kind}{f' under `{transform}`' if transform else ''}, in the trace of `{around}`: the change"
            " would not leave the trace."
        )
    hint = f"pass `{root}` as an argument, and trace with {better}, which carries changes out."
    return Told(message, (*_by_nnx(scene, transform), advice(hint)), None, line)


_TRANSFORMS = {
    "scan": "nnx.scan",
    "vmap_f": "nnx.vmap",
    "grad_f": "nnx.grad",
    "value_and_grad_f": "nnx.value_and_grad",
    "cond": "nnx.cond",
    "switch": "nnx.switch",
    "fori_loop": "nnx.fori_loop",
    "while_loop": "nnx.while_loop",
    "fun_remat": "nnx.remat",
    "_trace_for_jit": "nnx.jit",
}


def _transform(scene: Scene, kind: str) -> tuple[str, str]:
    """The transformation of JAX that the object is changed under, and that of nnx."""
    names = [name for name in (*scene.under, *(step.name for step in scene.steps)) if name in _TRANSFORMS]
    name = next((one for one in names if one != "_trace_for_jit"), names[0] if names else "")
    better = _TRANSFORMS.get(name, "nnx.jit, nnx.grad or nnx.vmap")
    return (better.rpartition(".")[2] if name else ""), better


def _by_nnx(scene: Scene, transform: str) -> Iterator[Fix]:
    """The transformation of nnx in the place of that of JAX."""
    nnx = _nnx(scene)
    for place in (scene.failed, *scene.callers):
        for call in ast.walk(place.node):
            if isinstance(call, ast.Call) and name_called(call) == transform and isinstance(call.func, ast.Attribute):
                if scene.text(call.func.value).split(".")[0] != nnx:
                    yield put(place, "transform by nnx", call.func, f"{nnx}.{transform}")
                return


def _merge(scene: Scene) -> Told | None:
    step = _step(scene, "unflatten")
    node = scene.failed.node
    if step is None or not isinstance(node, ast.Call) or name_called(node) != "merge":
        return None
    graph, leaves = step.names.get("graphdef"), step.names.get("leaves")
    wanted, got = getattr(graph, "num_leaves", None), len(leaves) if isinstance(leaves, list) else None
    if wanted is None or got is None:
        return None
    given = [scene.text(item) for item in node.args]
    states = joined([f"`{one}`" for one in given[1:]])
    message = (
        f"`merge` needs {wanted} arrays for `{given[0] if given else 'graphdef'}`, and {states or 'the state'} has"
        f" {got}"
    )
    frame = scene.failed.frame
    others = {
        name: value
        for name, value in frame.items()
        if type(value).__name__ == "State" and name not in given and not name.startswith("_")
    }
    fits = [name for name, value in others.items() if len(jax.tree.leaves(value)) == wanted - got]
    if fits:
        message += f": `{fits[0]}` with {_paths(others[fits[0]])} is missing"
    fixes = [with_more(scene.failed, "pass it, too", node, name) for name in fits]
    hint = "pass all states that `nnx.split` gave: nnx.merge(graphdef, params, rest)."
    return Told(f"{message}.", (*fixes, advice(hint)))


def _paths(state: Any) -> str:
    paths = [
        ".".join(
            str(getattr(key, "key", getattr(key, "name", key))) for key in path if getattr(key, "name", "") != "value"
        )
        for path, _ in jax.tree_util.tree_leaves_with_path(state)
    ]
    return joined([f"`{path}`" for path in paths[:3]]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


def _split(scene: Scene) -> Told | None:
    step = _step(scene, "split")
    node, rest = scene.failed.node, step.names.get("rest") if step is not None else None
    if not rest or not isinstance(node, ast.Call):
        return None
    given = [scene.text(item) for item in node.args]
    flat = dict(rest) if not hasattr(rest, "flat_state") else dict(rest.flat_state())
    left = [f"`{'.'.join(map(str, path))}` ({type(value).__name__})" for path, value in flat.items()]
    shown = joined(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
    filters = joined([f"`{one}`" for one in given[1:]])
    message = f"`split` of `{given[0]}` by {filters or 'no filter'} leaves {shown} over: no filter matches them."
    statement, fixes = scene.failed.statement, list[Fix]()
    if isinstance(statement, ast.Assign) and statement.value is node and isinstance(statement.targets[0], ast.Tuple):
        call = f"{scene.text(node)[:-1]}, ...)"
        new = f"{segment(scene.failed, statement.targets[0]).strip('()')}, rest = {call}"
        fixes.append(put(scene.failed, "take the rest, too", statement, new))
    return Told(message, (*fixes, advice("add ... as the last filter: it matches the rest.")))


def _rngs(scene: Scene) -> Told | None:
    """A layer that was made without rngs."""
    step = _step(scene, "_pytree_meta_construct", "_graph_node_meta_call")
    node = scene.failed.node
    if step is None or not isinstance(node, ast.Call):
        return None
    kind, given = step.names.get("cls"), step.names.get("kwargs") or {}
    if not isinstance(kind, type) or not required(kind.__init__, "rngs", tuple(step.names.get("args") or ()), given):
        return None
    message = f"`{kind.__name__}` needs rngs, from which it draws its initial parameters, and is given none."
    fix = with_more(scene.failed, "pass them on", node, f"rngs={_rngs_word(scene)}")
    return Told(message, (fix, advice("pass rngs=rngs, an nnx.Rngs(seed).")))


def _rngs_word(scene: Scene) -> str:
    names = [name for name, value in scene.failed.frame.items() if is_of(value, "flax", "Rngs")]
    return "rngs" if "rngs" in names else names[0] if names else f"{_nnx(scene)}.Rngs(0)"


def _called_without(scene: Scene) -> Told | None:
    """A layer that draws, such as Dropout, and has no stream to draw from."""
    step, layer = _step(scene, "first_from"), _step(scene, "__call__")
    node = scene.failed.node
    if step is None or layer is None or not isinstance(node, ast.Call):
        return None
    module, text = layer.names.get("self"), scene.text(node.func)
    kind = type(module).__name__
    if getattr(module, "rngs", None) is not None or "rngs" not in layer.names:
        return None
    message = (
        f"`{text}` is a {kind} that is not deterministic, and has no rngs to draw from: neither its constructor nor"
        " the call is given any."
    )
    made, fixes = bound_to(scene.failed, node.func), list[Fix]()
    if isinstance(made, ast.Call) and name_called(made) == kind:
        scope = next(
            (f for f in ast.walk(scene.failed.tree) if isinstance(f, ast.FunctionDef) and made in ast.walk(f)), None
        )
        names = [item.arg for item in (*scope.args.args, *scope.args.kwonlyargs)] if scope is not None else []
        word = "rngs" if "rngs" in names else _rngs_word(scene)
        fixes.append(with_more(scene.failed, "give it rngs when it is made", made, f"rngs={word}"))
    else:
        fixes.append(with_more(scene.failed, "give it rngs", node, f"rngs={_rngs_word(scene)}"))
    return Told(message, (*fixes, advice("pass rngs=rngs, or deterministic=True.")))


def _sequential(scene: Scene) -> Told | None:
    layer = _step(scene, "__call__")
    module = layer.names.get("self") if layer is not None else None
    node = scene.failed.node
    if type(module).__name__ != "Sequential" or not isinstance(node, ast.Call):
        return None
    text = scene.text(node.func)
    layers = list(getattr(module, "layers", ()))
    odd = next((one for one in layers if not callable(one)), None)
    if odd is None:
        return None
    message = (
        f"`{text}` is a Sequential of a list ({type(odd).__name__}), which is not callable: it takes each layer as an"
        " argument of its own."
    )
    made, fixes = bound_to(scene.failed, node.func), list[Fix]()
    if isinstance(made, ast.Call) and name_called(made) == "Sequential" and len(made.args) == 1:
        item = made.args[0]
        inner = item.args[0] if isinstance(item, ast.Call) and item.args else item
        fixes.append(put(scene.failed, "unpack the list", item, f"*{segment(scene.failed, inner)}"))
    return Told(message, (*fixes, advice("unpack it: nnx.Sequential(*layers).")))


def _width(scene: Scene) -> Told | None:
    """A layer whose input has another width than it was made for."""
    layer = _step(scene, "__call__")
    module = layer.names.get("self") if layer is not None else None
    inputs = layer.names.get("inputs") if layer is not None else None
    takes, gives = getattr(module, "in_features", None), getattr(inputs, "shape", ())
    node = scene.failed.node
    if not isinstance(takes, int) or not gives or gives[-1] == takes or not isinstance(node, ast.Call):
        return None
    text = scene.text(node.func)
    operand = scene.argument(0, "inputs")
    what = f"`{scene.text(node.args[0])}`" if node.args else "the input"
    kind = type(module).__name__
    message = f"`{text}` is a {kind} of {takes} input features, and {what} has {gives[-1]}: shape {dimensions(gives)}."
    made, fixes = bound_to(scene.failed, node.func), list[Fix]()
    if node.args and len(gives) > 2 and math.prod(gives[1:]) == takes:
        bare = what.strip("`")
        flat = (
            f"{bare}.reshape({bare}.shape[0], -1)"
            if isinstance(node.args[0], ast.Name)
            else f"({bare}).reshape({gives[0]}, -1)"
        )
        fixes.append(put(scene.failed, f"flatten all but its first axis, which gives {takes}", node.args[0], flat))
    cell = scene.failed.value_of(node.func)
    swapped = len(node.args) == 2 and cell is not None and cell is not module
    if isinstance(made, ast.Call) and name_called(made) == kind and made.args and not swapped:
        fixes.append(put(scene.failed, "make it for that width", made.args[0], str(gives[-1])))
    about = (Operand(scene.text(node.args[0]), node.args[0], inputs),) if node.args else (operand,) if operand else ()
    hint = f"make it for {gives[-1]}: {kind}({gives[-1]}, {getattr(module, 'out_features', '…')}, …)."
    return Told(message, (*fixes, advice(hint)), about)


def _stream(scene: Scene) -> Told | None:
    step = _step(scene, "_get_stream")
    node = scene.failed.node
    if step is None or not isinstance(node, ast.Attribute | ast.Subscript):
        return None
    rngs, name = step.names.get("self"), str(step.names.get("name"))
    known = [key for key, value in vars(rngs).items() if type(value).__name__ == "RngStream"]
    text = segment(scene.failed, node.value)
    shown = joined([f"'{one}'" for one in known])
    message = f"`{text}` has no stream {name!r}: the nnx.Rngs has {shown or 'none'}, and no default."
    fixes = [
        put(scene.failed, "draw from a stream that it has", node, f"{text}.{one}")
        for one in [named_like(name, known) or (known[0] if known else "")]
        if one and isinstance(node, ast.Attribute)
    ]
    return Told(
        message, (*fixes, advice(f"make it with that stream, nnx.Rngs({name}=1), or with a default: nnx.Rngs(0)."))
    )


def _plain_array(scene: Scene) -> Told | None:
    """`.value` of an attribute of a module that is an array and no variable."""
    error, node = scene.error, scene.failed.node
    name = str(getattr(error, "name", "") or "")
    attribute = node.value if isinstance(node, ast.Attribute) else None
    if name not in ("value", "get_value", "set_value", "raw_value") or not isinstance(attribute, ast.Attribute):
        return None
    module = scene.failed.value_of(attribute.value)
    if not is_of(module, "flax"):
        return None
    text, kind = scene.text(attribute), type(module).__name__
    made = bound_to(scene.failed, attribute)
    nnx = words_of(scene, "flax.nnx", "nnx")
    message = f"`{text}` of `{kind}` is a plain array, and no variable: it has no `{name}`, and nnx does not train it."
    fixes: list[Fix] = []
    if made is not None:
        fixes.append(put(scene.failed, "make a parameter of it", made, f"{nnx}.Param({scene.text(made)})"))
    return Told(message, (*fixes, advice(f"wrap it where it is made: {nnx}.Param(…).")), ())


EXPLAINERS = (
    Explainer("nnx-variable", (AttributeError,), _plain_array),
    Explainer("nnx-list", (ValueError,), _plain_list, inside=frozenset({"_check_value"})),
    Explainer("nnx-optimizer", (TypeError,), _wrt, inside=frozenset({"_check_wrt_wrapper"})),
    Explainer("nnx-update", (TypeError,), _grads, inside=frozenset({"_check_grads_wrapper"})),
    Explainer("nnx-trace", (Exception,), _trace_level),
    Explainer("nnx-merge", (ValueError,), _merge, inside=frozenset({"unflatten"})),
    Explainer("nnx-split", (ValueError,), _split, inside=frozenset({"split"})),
    Explainer("nnx-rngs", (TypeError,), _rngs, inside=frozenset({"_graph_node_meta_call"})),
    Explainer("nnx-stream", (ValueError,), _called_without, inside=frozenset({"first_from"})),
    Explainer("nnx-sequential", (TypeError,), _sequential, inside=frozenset({"__call__"})),
    Explainer("nnx-width", (TypeError, ValueError), _width, inside=RAISING["contraction"]),
    Explainer("nnx-stream", (AttributeError, KeyError), _stream, inside=frozenset({"_get_stream"})),
)
