"""Python's own mistakes in code that works on arrays: None, lists and text where arrays belong, what is not there."""

from __future__ import annotations

import ast
import difflib
import importlib
import re
from collections.abc import Iterator
from typing import Any, cast

import jax
import jax.numpy as jnp

from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.errors.edits import advice, bracketed, exchange, exchanged, joined, put, with_more, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.fitting import does_not_fit
from jaxnb.findings.errors.scene import Operand, Scene, is_array, parameters_of
from jaxnb.program import Fix
from jaxnb.runtime import is_library_class
from jaxnb.staging import describe, state_of

__all__ = ["EXPLAINERS"]


# --- operators ---


def _operator(scene: Scene) -> Told | None:
    node = scene.failed.node
    if not isinstance(node, ast.BinOp | ast.UnaryOp | ast.AugAssign | ast.Compare):
        return None
    sign = next((name for name in scene.called if not name[0].isalpha()), "the operator")
    values = [(operand, _kind(scene, operand)) for operand in scene.operands]
    odd = [(operand, kind) for operand, kind in values if kind]
    if not odd:
        return None
    operand, kind = odd[0]
    others = [
        f"`{other.text}` {other.aval}" if other.is_array else f"`{other.text}`"
        for other, _ in values
        if other is not operand
    ]
    with_what = f" with {joined(others)}{' (an array)' if kind == 'text' else ''}" if others else ""
    return Told(
        f"`{operand.text}` is {kind}: `{sign}` cannot combine it{with_what}.",
        (*_instead_of(scene, operand), advice(_ADVICE.get(kind.split()[-1], "make an array of it first."))),
    )


_ADVICE = {
    "None": "give it a value, or test `is None` and do without the operation there.",
    "text": "format it with an f-string, in a trace with jax.debug.print; map text to numbers outside.",
    "function": "call it.",
    "called": "call it.",
    "dict": "take one of its items, or use jax.tree.map.",
    "ShapeDtypeStruct": "call the function itself for values; of a shape alone, jnp.zeros(s.shape, s.dtype).",
}


def _kind(scene: Scene, operand: Operand) -> str:
    value = operand.value
    if isinstance(operand.node, ast.Call) and name_called(operand.node) == "eval_shape":
        return "what `eval_shape` gives, a shape without values, a ShapeDtypeStruct"
    if value is None:
        if _is_method(scene, operand.node):
            return "a method that was not called"
        return "None" if scene.is_known(operand.node) else ""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bytes | list | tuple | set | range):
        return f"a {type(value).__name__}"
    if isinstance(value, dict):
        return "a dict"
    if isinstance(value, jax.ShapeDtypeStruct):
        return "a shape without values, a ShapeDtypeStruct"
    if callable(value) and not operand.is_array:
        return "a function"
    return ""


def _is_method(scene: Scene, node: ast.AST) -> bool:
    """Whether it is a method of an array, such as `x.mean`."""
    if not isinstance(node, ast.Attribute) or not is_array(scene.failed.value_of(node.value)):
        return False
    return callable(getattr(jax.Array, node.attr, None))


def _instead_of(scene: Scene, operand: Operand) -> Iterator[Fix]:
    value, node = operand.value, scene.failed.node
    if isinstance(operand.node, ast.Call) and name_called(operand.node) == "eval_shape" and operand.node.args:
        function, *given = (scene.text(one) for one in operand.node.args)
        yield exchange(scene, "call the function itself", (operand.node, f"{function}({', '.join(given)})"))
    if isinstance(value, list | tuple | range):
        new = f"{words_of(scene)}.asarray({operand.text})"
        yield exchange(scene, "make an array of it", (operand.node, new))
    if value is None and isinstance(node, ast.BinOp):
        other = node.left if operand.node is node.right else node.right
        without = ast.get_source_segment(scene.failed.text, other) or ""
        whole = ast.get_source_segment(scene.failed.text, node) or ""
        new = f"({without} if {operand.text} is None else {whole})"
        yield exchange(scene, "leave it out where it is None", (node, new))
    if (callable(value) and not operand.is_array) or (value is None and _is_method(scene, operand.node)):
        yield exchange(scene, "call it", (operand.node, f"{bracketed(operand)}()"))
    if isinstance(node, ast.BinOp) and isinstance(operand.node, ast.Attribute) and operand.node.attr == "item":
        yield exchange(scene, "an array of one number is a number", (operand.node, scene.text(operand.node.value)))
    if isinstance(value, dict) and isinstance(node, ast.BinOp):
        tree_map = f"{words_of(scene, 'jax', 'jax')}.tree.map"
        part = Operand("p", ast.Name("p"))
        new = scene.text(node).replace(operand.text, part.text, 1)
        yield exchange(scene, "go through its leaves", (node, f"{tree_map}(lambda p: {new}, {operand.text})"))


# --- calls ---


def _call(scene: Scene) -> Told | None:
    node = scene.failed.node
    if not isinstance(node, ast.Call) or scene.steps:
        return None
    function = scene.failed.value_of(node.func)
    if is_array(function):
        name = scene.text(node.func)
        inside = ", ".join(scene.text(item) for item in node.args)
        fixes = [exchange(scene, "index it", (node, f"{name}[{inside}]"))] if node.args and not node.keywords else []
        shown = Operand(name, node.func, function, scene.origin(node.func))
        told = f"`{name}` is an array {describe(function)}, and arrays are not functions."
        return Told(told, (*fixes, advice("index it with [ ], or multiply with `*`.")), (shown,))
    if function is None and isinstance(node.func, ast.Name) and node.func.id in scene.failed.frame:
        return Told(f"`{node.func.id}` is None, and None cannot be called.")
    return None


# --- attributes, items ---

_METHODS_OF_OTHERS: dict[str, tuple[str, ...]] = {
    "numpy": ("np.asarray({0})",),
    "to_numpy": ("np.asarray({0})",),
    "append": ("jnp.append({0}, {1})",),
    "view": ("{0}.reshape({1})",),
    "detach": ("jax.lax.stop_gradient({0})",),
    "cpu": ("jax.device_get({0})",),
    "cuda": ("{0}",),
    "contiguous": ("{0}",),
    "clone": ("{0}.copy()",),
    "to": ("{0}.astype({1})", "jax.device_put({0}, {1})"),
    "unsqueeze": ("jnp.expand_dims({0}, {1})",),
    "permute": ("{0}.transpose({1})",),
    "expand": ("jnp.broadcast_to({0}, ({1},))",),
    "repeat_interleave": ("jnp.repeat({0}, {1})",),
    "clamp": ("jnp.clip({0}, {1})",),
    "masked_fill": ("jnp.where({1}, {0})",),
    "mm": ("{0} @ {1}",),
    "bmm": ("{0} @ {1}",),
    "matmul": ("{0} @ {1}",),
    "add_": ("{0} + {1}",),
    "mul_": ("{0} * {1}",),
    "pow": ("{0} ** {1}",),
    "t": ("{0}.T",),
    "dim": ("{0}.ndim",),
    "numel": ("{0}.size",),
    "float": ("{0}.astype(float)",),
    "long": ("{0}.astype(int)",),
    "int": ("{0}.astype(int)",),
    "bool": ("{0}.astype(bool)",),
    "half": ("{0}.astype('float16')",),
    "double": ("{0}.astype('float64')",),
    "extend": ("jnp.concatenate([{0}, {1}])",),
}
"""What lists, NumPy or PyTorch call otherwise."""

_FUNCTIONS_OF_OTHERS = {
    "cat": "concatenate",
    "unsqueeze": "expand_dims",
    "clamp": "clip",
    "mm": "matmul",
    "bmm": "matmul",
    "tensor": "array",
    "from_numpy": "asarray",
    "as_tensor": "asarray",
    "permute": "transpose",
}
"""What PyTorch calls otherwise."""

_REMOVED = {
    "product": "prod",
    "cumproduct": "cumprod",
    "alltrue": "all",
    "sometrue": "any",
    "in1d": "isin",
    "trapz": "trapezoid",
    "row_stack": "vstack",
    "round_": "round",
    "Inf": "inf",
    "NaN": "nan",
    "NAN": "nan",
    "float": "float32",
    "int": "int32",
    "bool": "bool_",
    "tree_map": "tree.map",
    "tree_leaves": "tree.leaves",
    "tree_flatten": "tree.flatten",
    "tree_unflatten": "tree.unflatten",
    "tree_structure": "tree.structure",
}
"""What JAX called otherwise, and has no more."""

_UPDATES = {
    "index_update": "set",
    "index_add": "add",
    "index_mul": "multiply",
    "index_min": "min",
    "index_max": "max",
}
"""Functions of `jax.ops` that were removed, and the methods of `at` that do the same."""


def _attribute(scene: Scene) -> Told | None:
    error = scene.error
    name, holder = getattr(error, "name", None), getattr(error, "obj", None)
    node = scene.failed.node
    module = scene.failed.value_of(node.value) if isinstance(node, ast.Attribute) else None
    if isinstance(node, ast.Attribute) and type(module).__name__ == "module":
        return _of_module(scene, module, node)
    if scene.steps:
        step = scene.steps[0]
        name, holder = step.names.get("name"), step.names.get("self")
        if step.name != "__getattr__":
            return None
    if not isinstance(name, str):
        return None
    node = next(
        (one for one in ast.walk(scene.failed.node) if isinstance(one, ast.Attribute) and one.attr == name), None
    )
    if node is None:
        return None
    text = scene.text(node.value)
    if type(holder).__name__ == "module":
        return _of_module(scene, holder, node)
    array = is_array(holder)
    shown = Operand(text, node.value, holder, scene.origin(node.value))
    fixes: list[Fix] = []
    if array or (type(holder) in (int, float, bool, list, tuple) and hasattr(jnp, name)):
        fixes += _as_function(scene, node, bracketed(shown))
    close = difflib.get_close_matches(name, [one for one in dir(holder) if not one.startswith("_")], 1, 0.75)
    if close:
        fixes.append(exchange(scene, f"take `{close[0]}`", (node, f"{bracketed(shown)}.{close[0]}")))
    if not array and (scene.failed.frame.get("self") is holder or is_library_class(type(holder))):
        held = _held_names(scene, holder)
        other = _NAMED_IN_FLAX.get(name, "")
        if other in held:
            fixes.append(exchange(scene, f"it is called `{other}` here", (node, f"{bracketed(shown)}.{other}")))
        listed = joined([f"`{one}`" for one in held[:6]], "or")
        kind = type(holder).__name__
        hint = [advice(f"take {listed}, which it has.")] if held else []
        return Told(f"`{text}` is a {kind}, and has no attribute `{name}`.", (*fixes, *hint), (shown,))
    kind = type(holder).__name__
    what = f"an array {describe(holder)}" if array else "None" if holder is None else f"a {kind}"
    hint = (
        [advice(f"make an array of it first: {words_of(scene)}.asarray({text}).{name}.")]
        if name in dir(jax.Array)
        else []
    )
    if array and name in _METHODS_OF_OTHERS:
        form = _METHODS_OF_OTHERS[name][0].replace("{0}", bracketed(shown)).replace("{1}", "…")
        hint = [advice(f"JAX arrays are not those of PyTorch, nor lists: `{form}`.")]
    elif array and name in ("backward", "grad", "requires_grad", "requires_grad_", "zero_grad"):
        hint = [advice("arrays of JAX keep no gradients: functions have them, jax.grad(loss)(params).")]
    return Told(f"`{text}` is {what}, and has no attribute `{name}`.", (*fixes, *hint), (shown,))


_NAMED_IN_FLAX = {"weight": "kernel", "in_channels": "in_features", "out_channels": "out_features"}


def _held_names(scene: Scene, holder: Any) -> list[str]:
    """The names of what an object holds, or that a class of the cell gives its objects."""
    state = state_of(holder)
    names = [name for name in state if not name.startswith("_")] if isinstance(state, dict) else []
    own = next(
        (
            one
            for one in ast.walk(scene.failed.tree)
            if isinstance(one, ast.ClassDef) and one.name == type(holder).__name__
        ),
        None,
    )
    for one in ast.walk(own) if own is not None else ():
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and ast.unparse(one.value) == "self":
            names.append(one.attr)
    return [name for name in dict.fromkeys(names) if name not in ("parent", "name", "scope")]


def _as_function(scene: Scene, node: ast.Attribute, text: str) -> Iterator[Fix]:
    above = scene.failed.parent(node) if node is not scene.failed.node else scene.failed.parent()
    call = above if isinstance(above, ast.Call) and above.func is node else None
    if call is None:
        return
    named = [f"{_NAMED_OTHERWISE.get(str(one.arg), one.arg)}={scene.text(one.value)}" for one in call.keywords]
    inner = [*(scene.text(item) for item in call.args), *named]
    words = {"jnp": words_of(scene), "np": words_of(scene, "numpy", "np")}
    given = [form for form in _METHODS_OF_OTHERS.get(node.attr, ()) if ("{1}" in form) == bool(inner)]
    for form in given:
        new = (
            form.format(text, ", ".join(inner))
            .replace("jnp.", f"{words['jnp']}.")
            .replace("np.as", f"{words['np']}.as")
        )
        yield Fix(f"use `{new}`.", edit=exchanged(scene.failed.text, [(call, new)]))
    home = next(_homes_of(scene, node.attr), None)
    if not given and home is not None:
        new = f"{home}.{node.attr}({', '.join([text, *inner])})"
        yield Fix(f"call it as a function: `{new}`.", edit=exchanged(scene.failed.text, [(call, new)]))


_NAMED_OTHERWISE = {"dim": "axis", "keepdim": "keepdims"}
_HOMES = ("jax.numpy", "jax.nn", "jax.lax", "jax", "jax.random", "jax.numpy.linalg", "jax.scipy.special", "jax.tree")
"""Modules of JAX whose functions are looked for in one another."""


def _homes_of(scene: Scene, name: str) -> Iterator[str]:
    """The modules of JAX that have a public name, as the user would write them."""
    for home in _HOMES:
        module = importlib.import_module(home)
        if name in dir(module) and not name.startswith("_"):
            own = words_of(scene, home, "")
            parent, _, last = home.rpartition(".")
            default = {"jax.numpy": "jnp", "jax": "jax"}.get(parent, parent)
            yield own or (f"{words_of(scene, parent, default)}.{last}" if parent else last)


def _of_module(scene: Scene, module: Any, node: ast.Attribute) -> Told:
    name = module.__name__
    of_jax = name.partition(".")[0] == "jax"
    shown = scene.text(node.value)
    fixes: list[Fix] = []
    removed = of_jax and (
        node.attr in _REMOVED or node.attr in _UPDATES or (name == "jax.ops" and node.attr == "index")
    )
    other = {**_FUNCTIONS_OF_OTHERS, **_REMOVED}.get(node.attr, "") if of_jax else ""
    if removed and not other:
        return _updated(scene, node)
    if other and other.partition(".")[0] in dir(module):
        fixes.append(exchange(scene, f"`{name}` calls it `{other}`", (node, f"{shown}.{other}")))
    if of_jax:
        for home in _homes_of(scene, node.attr):
            fixes.append(exchange(scene, f"it is in `{home}`", (node, f"{home}.{node.attr}")))
    close = difflib.get_close_matches(node.attr, dir(module), 1, 0.7)
    fixes += [exchange(scene, f"`{name}` has `{close[0]}`", (node, f"{shown}.{close[0]}"))] if close else []
    more = " any more: it was removed" if removed else ""
    return Told(f"`{name}` has no `{node.attr}`{more}.", tuple(fixes), ())


def _updated(scene: Scene, node: ast.Attribute) -> Told:
    """`jax.ops.index_update(x, jax.ops.index[i], y)`, which is `x.at[i].set(y)` now."""
    message = f"`{scene.text(node)}` was removed from JAX: an array has `.at[…]` for it, whose methods make a new one."
    fixes: list[Fix] = []
    call = scene.failed.parent(node)
    how = _UPDATES.get(node.attr, "set")
    if isinstance(call, ast.Call) and call.func is node and len(call.args) == 3 and node.attr in _UPDATES:
        holder, index, value = call.args
        inner = index.slice if isinstance(index, ast.Subscript) and scene.text(index.value).endswith("index") else index
        text = bracketed(Operand(scene.text(holder), holder))
        new = f"{text}.at[{scene.text(inner)}].{how}({scene.text(value)})"
        fixes.append(put(scene.failed, "update the array by `at`", call, new))
    return Told(message, (*fixes, advice(f"write x.at[index].{how}(value), whose result is a new array.")), ())


def _key(scene: Scene) -> Told | None:
    node = scene.failed.node
    if not isinstance(node, ast.Subscript):
        return None
    holder = scene.failed.value_of(node.value)
    if not isinstance(holder, dict):
        return None
    text = scene.text(node.value)
    keys = [key for key in holder if isinstance(key, str | int)]
    asked = scene.error.args[0] if scene.error.args else None
    listed = joined([f"{key!r}" for key in keys[:6]]) + (f" and {len(keys) - 6} more" if len(keys) > 6 else "")
    close = difflib.get_close_matches(str(asked), [str(key) for key in keys], 1, 0.6)
    fixes = [exchange(scene, f"take {close[0]!r}", (node.slice, repr(close[0])))] if close else []
    fixes += [advice(f"take one of {listed}, or put {asked!r} into `{text}` where it is made.")] if listed else []
    shown = Operand(text, node.value, holder, scene.origin(node.value))
    return Told(f"`{text}` has no key {asked!r}: it has {listed or 'none at all'}.", tuple(fixes), (shown,))


def _name(scene: Scene) -> Told | None:
    name = getattr(scene.error, "name", None)
    if not isinstance(name, str):
        return None
    known = [one for one in scene.failed.frame if not one.startswith("_")]
    close = difflib.get_close_matches(name, known, 1, 0.7)
    node = scene.failed.node
    fixes = [exchange(scene, f"take `{close[0]}`", (node, close[0]))] if close and isinstance(node, ast.Name) else []
    if scene.inside:  # of a library's code
        return None
    return Told(
        f"`{name}` is not defined.", tuple(fixes) or (advice(f"define `{name}`, or run the cell that does."),), ()
    )


def _set_item(scene: Scene) -> Told | None:
    node = scene.failed.node
    statement = scene.failed.statement
    target = next((item for item in ast.walk(node) if isinstance(item, ast.Subscript)), None)
    if isinstance(statement, ast.Assign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        target = next((item for item in targets if isinstance(item, ast.Subscript)), target)
    if target is None:
        return None
    holder, index = scene.text(target.value), scene.text(target.slice)
    shown = Operand(holder, target.value, scene.failed.value_of(target.value), scene.origin(target.value))
    fixes: list[Fix] = []
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        value = ast.get_source_segment(scene.failed.text, statement.value)
        new = f"{holder} = {holder}.at[{index}].set({value})"
        fixes.append(Fix(f"make a new array: `{new}`.", edit=exchanged(scene.failed.text, [(statement, new)])))
    elif isinstance(statement, ast.AugAssign):
        value = ast.get_source_segment(scene.failed.text, statement.value)
        names: dict[type[ast.operator], str] = {
            ast.Add: "add",
            ast.Mult: "multiply",
            ast.Div: "divide",
            ast.Pow: "power",
        }
        name = names.get(type(statement.op), "subtract" if isinstance(statement.op, ast.Sub) else "")
        if name:
            new = f"{holder} = {holder}.at[{index}].{name}({value})"
            fixes.append(Fix(f"make a new array: `{new}`.", edit=exchanged(scene.failed.text, [(statement, new)])))
    message = f"`{holder}` is a JAX array, which nothing can change: `{holder}[{index}] = …` is not possible."
    return Told(message, (*fixes, advice("use .at[index].set(value), whose result is a new array.")), (shown,))


def _iteration(scene: Scene) -> Told | None:
    step = scene.step("__iter__")
    value: Any = step.names.get("self") if step is not None else None
    if not is_array(value) or value.shape != ():
        return None
    statement = scene.failed.statement
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
        return _unpacking(scene)
    node = scene.failed.node
    text = scene.text(node)
    told = f"`{text}` is a scalar {describe(value)}: it has no axis to iterate over."
    fixes: list[Fix] = []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
        fixes.append(exchange(scene, "go through the array itself", (node, scene.text(node.func.value))))
    shown = Operand(text, node, value, scene.origin(node))
    hint = advice("go through an array that has an axis, or use the scalar itself without the loop.")
    return Told(told, (*fixes, hint), (shown,))


def _unpacking(scene: Scene) -> Told | None:
    """`a, b = value` where the value has another number of parts."""
    statement = scene.failed.statement
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Tuple | ast.List):
        return None
    targets = statement.targets[0]
    names = joined([f"`{scene.text(item)}`" for item in targets.elts])
    count = len(targets.elts)
    value: Any = scene.failed.value_of(statement.value)
    step = scene.step("__iter__")
    if value is None and step is not None:
        value = step.names["self"]
    text = " ".join(scene.text(statement.value).split())
    shown = Operand(text, statement.value, value, scene.origin(statement.value))
    if is_array(value):
        shape = tuple(cast(Any, value).shape)
        if not shape:
            message = f"`{text}` is a scalar {describe(value)}, one value, and there are {count} names for it, {names}."
            return Told(message, (advice("give it one name, or let it return a tuple: return loss, preds."),), (shown,))
        message = f"`{text}` {describe(value)} has {shape[0]} rows, and there are {count} names for them, {names}."
        fixes: list[Fix] = []
        if len(shape) == 2 and shape[1] == count:
            fixes.append(exchange(scene, "unpack its columns", (statement.value, f"{bracketed(shown)}.T")))
        return Told(message, (*fixes, advice("index the columns, such as [:, 0], or transpose it with .T.")), (shown,))
    if isinstance(value, tuple | list | dict):
        message = f"`{text}` has {len(value)} items, and there are {count} names for them, {names}."
        return Told(message, (advice(f"give {len(value)} names, or let it have {count} items."),), (shown,))
    got = re.search(r"got (\d+)|too many", str(scene.error))
    if got is None or scene.steps:
        return None
    has = f"{got[1]} parts" if got[1] else f"more than {count} parts"
    hint = "give as many names as it has parts."
    if "has_aux" in text and isinstance(targets, ast.Tuple) and count == 3:
        first, second, third = (scene.text(item) for item in targets.elts)
        hint = f"with has_aux=True it is ((loss, aux), gradients): ({first}, {second}), {third} = …"
        fixes = [exchange(scene, "take the pair apart", (targets, f"({first}, {second}), {third}"))]
        return Told(f"`{text}` has {has}, and there are {count} names for them, {names}.", (*fixes, advice(hint)), ())
    return Told(f"`{text}` has {has}, and there are {count} names for them, {names}.", (advice(hint),), ())


def _cached(scene: Scene) -> Told | None:
    """A function that remembers its results by its arguments, and is given an array."""
    node = scene.failed.node
    if not isinstance(node, ast.Call) or scene.steps:
        return None
    function = scene.failed.value_of(node.func)
    if type(function).__name__ != "_lru_cache_wrapper":
        return None
    arrays = [operand for operand in scene.operands if operand.is_array]
    name = scene.text(node.func)
    told = f"`{name}` remembers its results by its arguments (lru_cache), and {_plural(arrays)} no hash."
    return Told(told, (advice("make the argument static under jit, or do without the cache."),))


def _plural(arrays: list[Operand]) -> str:
    shown = joined([f"`{operand.text}` {operand.aval}" for operand in arrays]) or "an array"
    return f"{shown} {'has' if len(arrays) <= 1 else 'have'}"


def _no_array(scene: Scene) -> Told | None:
    """A list, a dict or None given to a function of JAX that takes arrays."""
    step = scene.steps[-1]
    typed: Any = step.names.get("x") if step.name in RAISING["typed"] else None
    for operand in scene.operands:
        if typed is not None and operand.value is not typed:
            continue
        if (kind := _kind(scene, operand)) and not isinstance(operand.node, ast.Constant):
            called = {one.removesuffix("_f") for one in scene.called}
            name = next((one for one in sorted(called) if one[0].isalpha()), "it")
            fixes = list(_instead_of(scene, operand)) if isinstance(operand.value, list | tuple | range) else []
            hint = "make an array of it: jnp.array, or jnp.stack of arrays." if "a " in kind else "give it an array."
            return Told(f"`{operand.text}` is {kind}, and `{name}` takes arrays.", (*fixes, advice(hint)))
    return None


_FAILED_CALL = re.compile(r"(?P<name>[\w.<>]+)\(\) (?:missing|takes|got)")


def _arguments(scene: Scene) -> Told | None:
    """A function of the user's that is called with other arguments than it takes."""
    match = _FAILED_CALL.match(str(scene.error))
    if match is None:
        return None
    name = match["name"].rpartition(".")[2]
    defined = next((n for n in ast.walk(scene.failed.tree) if isinstance(n, ast.FunctionDef) and n.name == name), None)
    value = scene.failed.frame.get(name)
    parameters = parameters_of(defined) if defined is not None else _parameters(value)
    if parameters is None:
        return None
    under = scene.under or tuple(step.name for step in scene.steps)
    by = next((one for one in ("scan", "fori_loop", "while_loop", "cond", "vmap_f", "grad_f") if one in under), "")
    takes = f"`{name}` takes {len(parameters)} argument{'s' * (len(parameters) != 1)} ({', '.join(parameters)})"
    given = _BY.get(by, "")
    said = str(scene.error).partition("() ")[2].rstrip(".")
    message = f"{takes}{f', and {given}' if given else ''}: {said}."
    fixes = list(_in_order(scene, name, defined, by))
    hint = "give it those, or bind the others before: functools.partial, a lambda, or a default value."
    return Told(message, (*fixes, advice(hint)), None, defined.lineno if defined is not None and by in _BY else None)


_BY = {
    "scan": "`scan` calls it with two, the carry and a slice of xs",
    "fori_loop": "`fori_loop` calls it with two, the index and the carry",
    "while_loop": "`while_loop` calls it with one, the carry",
}


def _parameters(value: Any) -> list[str] | None:
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    code = getattr(value, "__code__", None)
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) if code is not None else None


def _in_order(scene: Scene, name: str, defined: Any, by: str) -> Iterator[Fix]:
    """A name of the cell like the parameter that is missing, given to the call."""
    missing = re.findall(r"'(\w+)'", str(scene.error)) if "missing" in str(scene.error) else []
    node = scene.failed.node
    if isinstance(node, ast.Call) and defined is not None:
        yield from _given_twice(scene, node, parameters_of(defined))
    if by in _BY or len(missing) != 1:
        return
    if missing[0] in scene.failed.frame and isinstance(node, ast.Call):
        yield with_more(scene.failed, f"give `{missing[0]}`, too", node, missing[0])


def _given_twice(scene: Scene, node: ast.Call, names: list[str]) -> Iterator[Fix]:
    """An argument by position and by name: the name of another one that is free, or without it."""
    twice = [one for one in node.keywords if one.arg in names[: len(node.args)]]
    free = [name for name in names[len(node.args) :] if name not in {one.arg for one in node.keywords}]
    for one in twice:
        text = scene.text(one.value)
        for name in free:
            yield exchange(scene, f"give it as `{name}`", (one, f"{name}={text}"))
        kept = [scene.text(item) for item in (*node.args, *node.keywords) if item is not one]
        yield put(scene.failed, f"leave `{one.arg}=` out", node, f"{scene.text(node.func)}({', '.join(kept)})")


EXPLAINERS = (
    Explainer("immutable", (TypeError,), _set_item, inside=frozenset({"_unimplemented_setitem", "__setitem__"})),
    Explainer("iteration", (TypeError,), _iteration, inside=frozenset({"__iter__"})),
    Explainer("unpacking", (TypeError, ValueError), _unpacking),
    Explainer("operands", (TypeError,), _operator),
    Explainer("no-array", (TypeError, ValueError), _no_array, inside=RAISING["arraylike"] | RAISING["typed"]),
    Explainer("cached", (TypeError,), _cached),
    Explainer("call", (TypeError,), _call),
    Explainer("arguments", (TypeError,), does_not_fit),
    Explainer("arguments", (TypeError,), _arguments),
    Explainer("attribute", (AttributeError,), _attribute),
    Explainer("missing-key", (KeyError,), _key),
    Explainer("name", (NameError,), _name),
)
