"""Random keys: what is none, several where one is taken, another kind of key, and keys where numbers belong."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import bound_to, name_called
from jaxnb.findings.errors.edits import advice, bracketed, dimensions, exchange, put, segment, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Operand, Scene
from jaxnb.program import Fix
from jaxnb.staging import describe

__all__ = ["EXPLAINERS"]


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray | np.generic)


def _is_key(value: Any) -> bool:
    """Whether a value is an array of typed keys."""
    return isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key)


def _is_raw(value: Any) -> bool:
    """Whether a value may be the data of keys, as `jax.random.PRNGKey` gives it."""
    return _is_array(value) and str(value.dtype) == "uint32" and value.ndim > 0


def _random(scene: Scene) -> str:
    """What the user calls `jax.random`."""
    name = words_of(scene, "jax.random", "")
    return name or f"{words_of(scene, 'jax', 'jax')}.random"


def _given(scene: Scene, value: Any, place: int = 0, name: str = "key") -> Operand | None:
    """The operand that a value is, or else the argument in its place."""
    same = [one for one in scene.operands if one.value is value and value is not None]
    argument = scene.argument(place, name)
    if same or argument is None:
        return same[0] if same else None
    return argument if argument.value is None or type(argument.value) is type(value) else None


# --- what is no key ---


def _no_key(scene: Scene) -> Told | None:
    """Something else in the place of a key."""
    step = scene.steps[-1]
    if step.name not in RAISING["prng"]:
        return None
    value: Any = step.names.get("key_data", step.names.get("key"))
    node = scene.failed.node
    if not isinstance(node, ast.Call) or (step.name == "_check_prng_key" and "wrapped_key" in step.names):
        return None
    operand = _given(scene, value)
    if operand is None:
        return None
    function, random = name_called(node) or scene.text(node.func), _random(scene)
    other = next((one for one in scene.operands if _is_key(one.value) and one is not operand), None)
    made = "" if _is_array(value) else _made(operand)
    is_what = f"and `{operand.text}`{made} is {_said(value)}" if operand.text != repr(value) else f"not {_said(value)}"
    message = f"`{function}` takes a PRNG key first, {is_what}."
    about = (operand,)
    if other is not None and operand.node is node.args[0] and other.node in node.args:
        pairs = ((operand.node, other.text), (other.node, operand.text))
        return Told(message, (exchange(scene, "give the key first", *pairs), advice("give the key first.")), about)
    if _is_array(value) and value.ndim:
        return Told(
            message + _lacks(value, getattr(step.names.get("impl"), "key_shape", None)),
            tuple(_of_data(scene, operand, value)),
            about,
        )
    if isinstance(value, int | np.integer) or (_is_array(value) and jnp.issubdtype(value.dtype, np.integer)):
        seeded = exchange(scene, "make a key of the seed", (operand.node, f"{random}.key({operand.text})"))
        return Told(message, (seeded, advice(f"make a key of the seed: {random}.key({operand.text}).")), about)
    hint = advice(f"make a key with {random}.key(seed), and give what has taken its name another one.")
    return Told(message, (*_instead(scene, operand, random), hint), about)


def _made(operand: Operand) -> str:
    """Where a name was bound, as an insertion."""
    made = operand.made
    if made.startswith("line"):
        return f", bound on {made},"
    return f", {made}," if "argument" in made else f", bound in {made}," if made else ""


def _said(value: Any) -> str:
    if _is_array(value):
        return describe(value)
    if type(value) in (int, float, bool, str, bytes, tuple, list, dict):
        shown = f"the {type(value).__name__} {value!r}"
        return shown if len(shown) <= 60 else shown[:59] + "…"
    if value is None:
        return "None"
    kind = type(value)
    of = " of NumPy" if kind.__module__.partition(".")[0] == "numpy" else ""
    return f"an object of the class {kind.__name__}{of}"


def _instead(scene: Scene, operand: Operand, random: str) -> Iterator[Fix]:
    """A key where a generator of NumPy was made, or in the place of what was given."""
    made = bound_to(scene.failed, operand.node)
    if made is not None and name_called(made) in ("default_rng", "RandomState", "Generator"):
        seed = made.args[0] if isinstance(made, ast.Call) and made.args else None
        seeded = scene.text(seed) if isinstance(seed, ast.Constant | ast.Name) else "0"
        yield put(scene.failed, "make a key", made, f"{random}.key({seeded})")
    yield exchange(scene, "give it a key", (operand.node, f"{random}.key(0)"))


def _lacks(value: Any, impl_shape: tuple[int, ...] | None) -> str:
    if str(value.dtype) != "uint32":
        computed = impl_shape is not None and value.shape[-1:] == impl_shape
        return f" The data of a key is uint32{': what is computed from it is no key any more' if computed else ''}."
    size = "" if impl_shape is None else dimensions(impl_shape)
    return f" The data of a key of the default generator has the shape {size}." if size else ""


def _of_data(scene: Scene, operand: Operand, value: Any) -> Iterator[Fix]:
    """A key of another array: what it was computed from, or one that names the generator that it is of."""
    random = _random(scene)
    made = bound_to(scene.failed, operand.node)
    if str(value.dtype) != "uint32":
        for node in ast.walk(made) if made is not None and made is not operand.node else ():
            known = scene.failed.value_of(node)
            if isinstance(node, ast.expr) and made is not None and (_is_key(known) or _is_raw(known)):
                yield put(scene.failed, "leave the key as it is", made, segment(scene.failed, node))
        yield advice(f"give a key as {random}.key, split or fold_in make it: arithmetic makes none.")
        return
    for name in ("rbg",) if value.shape[-1] == 4 else ():
        new = f'{random}.wrap_key_data({operand.text}, impl="{name}")'
        yield exchange(scene, f"say that it is of the generator {name}", (operand.node, new))
    yield advice(f'make the key with {random}.key(seed, impl="…"), which knows its generator.')


# --- several keys ---


def _batch(scene: Scene) -> Told | None:
    """Several keys, or several numbers, where a function takes one."""
    step, node = scene.steps[-1], scene.failed.node
    if step.name not in RAISING["key-shape"] or not isinstance(node, ast.Call):
        return None
    if step.name == "fold_in":
        return _several_numbers(scene, node, step.names.get("data"), 1, "data")
    if step.name == "_key":
        return _of_seed(scene, node, step.names.get("seed"))
    value: Any = step.names.get("key")
    keys: Any = step.names.get("wrapped_key")
    operand = _given(scene, value)
    if operand is None or not _is_array(keys):
        return None
    count = math.prod(keys.shape)
    message = f"`{name_called(node)}` takes a single key, and `{operand.text}` is {_said(value)}: {count} keys."
    hint = f"map over the keys: {words_of(scene, 'jax', 'jax')}.vmap, or take one: `{bracketed(operand)}[0]`."
    return Told(message, (*_each(scene, node, operand, keys.shape), advice(hint)), (operand,))


def _each(scene: Scene, node: ast.Call, operand: Operand, shape: tuple[int, ...]) -> Iterator[Fix]:
    """A call for each of several keys; of two that are not taken apart, the first."""
    one = exchange(scene, "take one of the keys", (operand.node, f"{bracketed(operand)}[0]"))
    made = bound_to(scene.failed, operand.node)
    if name_called(made) == "split" and isinstance(made, ast.Call) and len(made.args) == 1 and not made.keywords:
        yield one
    vmap = f"{words_of(scene, 'jax', 'jax')}.vmap"
    if len(shape) == 1 and node.args and operand.node is node.args[0]:
        function = segment(scene.failed, node.func)
        rest = [segment(scene.failed, item) for item in node.args[1:]]
        rest += [f"{item.arg}={segment(scene.failed, item.value)}" for item in node.keywords]
        mapped = (
            function if not rest else f"lambda key: {function}(key, {', '.join(_smaller(scene, node, shape, rest))})"
        )
        yield exchange(scene, "map over the keys", (node, f"{vmap}({mapped})({operand.text})"))


def _smaller(scene: Scene, node: ast.Call, shape: tuple[int, ...], rest: list[str]) -> list[str]:
    """The other arguments, a shape without the axis that has one key each."""
    given = next((one for one in node.args[1:2] if isinstance(one, ast.Tuple)), None)
    if given is None or not given.elts:
        return rest
    first = given.elts[0]
    size = first.value if isinstance(first, ast.Constant) else scene.failed.value_of(first)
    if type(size) is not int or size != shape[0]:
        return rest
    kept = [segment(scene.failed, item) for item in given.elts[1:]]
    return [f"({', '.join(kept)}{',' if len(kept) == 1 else ''})", *rest[1:]]


def _several_numbers(scene: Scene, node: ast.Call, value: Any, place: int, name: str) -> Told | None:
    operand = _given(scene, value, place, name)
    if operand is None or not _is_array(value) or not value.ndim:
        return None
    jax_ = words_of(scene, "jax", "jax")
    message = f"`{name_called(node)}` takes one key and a scalar, and `{operand.text}` is {_said(value)}."
    fixes: list[Fix] = []
    if len(node.args) == 2 and not node.keywords and value.ndim == 1:
        function, inner = segment(scene.failed, node.func), ", ".join(segment(scene.failed, one) for one in node.args)
        fixes.append(exchange(scene, "map over the numbers", (node, f"{jax_}.vmap({function}, (None, 0))({inner})")))
    return Told(message, (*fixes, advice(f"map over the numbers with {jax_}.vmap.")))


# --- seeds ---


def _of_seed(scene: Scene, node: ast.Call, value: Any) -> Told | None:
    operand, function = _given(scene, value, 0, "seed"), name_called(node)
    if operand is None or not _is_array(value):
        return None
    if _is_key(value):
        message = f"`{function}` makes a key of a scalar seed, and `{operand.text}` is a key already, {_said(value)}."
        same = exchange(scene, "take it as it is", (node, operand.text))
        return Told(message, (same, advice("take it as it is; jax.random.split and fold_in make other keys of it.")))
    jax_ = words_of(scene, "jax", "jax")
    message = f"`{function}` makes one key of a scalar seed, and `{operand.text}` is {_said(value)}."
    fixes: list[Fix] = []
    if len(node.args) == 1 and not node.keywords and value.ndim == 1:
        new = f"{jax_}.vmap({segment(scene.failed, node.func)})({operand.text})"
        fixes.append(exchange(scene, "map over the seeds", (node, new)))
    hint = f"map over the seeds with {jax_}.vmap, or split one key: {_random(scene)}.split(key, n)."
    return Told(message, (*fixes, advice(hint)))


def _seed(scene: Scene) -> Told | None:
    """A seed that is no integer."""
    node = scene.failed.node
    step = scene.step(*RAISING["seed"])
    if step is None or not isinstance(node, ast.Call) or name_called(node) not in ("key", "PRNGKey"):
        return None
    made = scene.step("_key")
    value: Any = made.names.get("seed") if made is not None else None
    operand = _given(scene, value, 0, "seed")
    if operand is None or isinstance(value, int) or (_is_array(value) and jnp.issubdtype(value.dtype, np.integer)):
        return None
    message = f"`{name_called(node)}` makes a key of an integer seed, and `{operand.text}` is {_said(value)}."
    fixes: list[Fix] = []
    if _is_array(value) and not _is_key(value) and value.ndim == 0:
        fixes.append(exchange(scene, "cast it", (operand.node, f"{bracketed(operand)}.astype(int)")))
    elif isinstance(value, float | str):
        fixes.append(exchange(scene, "make an integer of it", (operand.node, f"int({operand.text})")))
    return Told(message, (*fixes, advice("give an integer for the seed.")), (operand,))


# --- keys where numbers belong ---


def _key_as_number(scene: Scene) -> Told | None:
    """Arithmetic with a typed key."""
    if scene.steps[-1].name not in RAISING["key-numbers"]:
        return None
    key = next((one for one in scene.operands if _is_key(one.value)), None)
    if key is None:
        return None
    random, node = _random(scene), scene.failed.node
    sign = next((name for name in sorted(scene.called) if not name[0].isalpha()), "")
    does = f"`{sign}` is" if sign else f"`{name_called(node) or 'it'}` and arithmetic are"
    message = f"`{key.text}` is a PRNG key, {key.aval}: {does} for numbers."
    other = next((one for one in scene.operands if one is not key), None)
    fixes: list[Fix] = []
    if isinstance(node, ast.BinOp) and other is not None and not _is_key(other.value) and _is_whole(other.value):
        new = f"{random}.fold_in({key.text}, {other.text})"
        fixes.append(exchange(scene, "fold the number into the key", (node, new)))
    hint = f"make other keys with {random}.split or {random}.fold_in; {random}.key_data gives the numbers of a key."
    if scene.steps[-1].name == "_pad_dtype_rule":
        jnp_ = words_of(scene)
        hint = f"add more keys: {jnp_}.concatenate([{key.text}, {random}.split({bracketed(key)}[-1], n)])."
        padding = f", and `{other.text}` is {_said(other.value)}" if other is not None else ""
        message = f"`{key.text}` is an array of PRNG keys, {key.aval}{padding}: keys cannot be padded with numbers."
    return Told(message, (*fixes, advice(hint)))


def _is_whole(value: Any) -> bool:
    whole = _is_array(value) and jnp.issubdtype(value.dtype, np.integer) and value.ndim == 0
    return whole or type(value) is int


def _to_numpy(scene: Scene) -> Told | None:
    """A typed key that NumPy is to make an array of."""
    value: Any = scene.steps[-1].names.get("self")
    if not _is_key(value):
        return None
    random = _random(scene)
    operand = next((one for one in scene.operands if one.value is value), None)
    held, path = _holder(scene, value)
    if operand is not None:
        text = f"`{operand.text}`"
    else:
        text = (
            f"`{held.text}{path}`" if held is not None else f"a leaf of `{' '.join(scene.failed.expression.split())}`"
        )
    message = f"{text} is a PRNG key, {describe(value)}, and NumPy has no dtype for it."
    name = operand.text if operand is not None else f"{held.text}{path}" if held is not None else "key"
    hint = (
        f"give the numbers of it, {random}.key_data({name}), and make a key of them again with {random}.wrap_key_data."
    )
    return Told(message, (advice(hint),))


def _holder(scene: Scene, value: Any) -> tuple[Operand | None, str]:
    """The operand that a value is a leaf of, and its path there."""
    for operand in scene.operands:
        if type(operand.value) in (dict, list, tuple):
            for path, leaf in jax.tree_util.tree_flatten_with_path(operand.value)[0]:
                if leaf is value:
                    return operand, jax.tree_util.keystr(path)
    return None, ""


def _indexed(scene: Scene) -> Told | None:
    """An index into a typed key, whose numbers are no axis of it."""
    node = scene.failed.node
    key = next(iter(scene.operands), None)
    if key is None or not isinstance(node, ast.Subscript) or not _is_key(key.value) or key.shape != ():
        return None
    random = _random(scene)
    index = segment(scene.failed, node.slice)
    message = f"`{key.text}` is a single typed key, a scalar {key.aval}: it has no axis to index."
    fixes = (
        exchange(scene, "index its numbers", (node, f"{random}.key_data({key.text})[{index}]")),
        advice(f"take the numbers with {random}.key_data({key.text}), or make other keys with {random}.split."),
    )
    return Told(message, fixes)


def _reshaped(scene: Scene) -> Told | None:
    """Typed keys given a last axis for the two numbers that old ones have."""
    step = scene.step(*RAISING["reshape"])
    value: Any = (
        next((step.names[one] for one in ("arr", "operand", "a", "self") if one in step.names), None) if step else None
    )
    wanted = step.names.get("newshape", step.names.get("shape", step.names.get("new_sizes"))) if step else None
    node = scene.failed.node
    if not _is_key(value) or not isinstance(wanted, tuple) or not isinstance(node, ast.Call):
        return None
    sizes = wanted[0] if len(wanted) == 1 and isinstance(wanted[0], tuple) else wanted
    if len(sizes) < 2 or sizes[-1] != 2 or math.prod(sizes[:-1]) != value.size:
        return None
    holder = (
        node.func.value if isinstance(node.func, ast.Attribute) and len(node.args) != 2 else next(iter(node.args), node)
    )
    kept = dimensions(sizes[:-1])
    message = (
        f"`{scene.text(holder)}` has {value.size} typed keys, {describe(value)}, and {dimensions(sizes)} would be"
        f" {math.prod(sizes)}: the two numbers of a key are no axis of it."
    )
    fixes: list[Fix] = []
    if isinstance(node.func, ast.Attribute) and all(isinstance(one, ast.Constant) for one in node.args):
        new = f"{segment(scene.failed, node.func)}({', '.join(segment(scene.failed, one) for one in node.args[:-1])})"
        fixes.append(exchange(scene, "leave the last axis out", (node, new)))
    return Told(message, (*fixes, advice(f"leave the last axis out: {kept}.")))


_BAD = (TypeError, ValueError)

EXPLAINERS = (
    Explainer("no-key", _BAD, _no_key, inside=RAISING["prng"]),
    Explainer("keys", _BAD, _batch, inside=RAISING["key-shape"]),
    Explainer("seed", _BAD, _seed, inside=RAISING["seed"]),
    Explainer("key-number", _BAD, _key_as_number, inside=RAISING["key-numbers"]),
    Explainer("key-numpy", (TypeError,), _to_numpy, inside=RAISING["key-data"]),
    Explainer("key-index", (IndexError,), _indexed, called=frozenset({"[]"})),
    Explainer("key-reshape", _BAD, _reshaped, inside=RAISING["reshape"]),
)
